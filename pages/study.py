"""Study: set-up page."""

from rubriclab import ui

LEAD = "Choose what is reordered and how often, see what it will take, and launch."

with ui.page("study", "Study", LEAD):
    ui.empty_state("Nothing here yet", "Run the demo first.", target="home", action="To the demo")
