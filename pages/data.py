"""Data: set-up page."""

from rubriclab import ui

LEAD = "Bring the responses to judge, with human ratings if you have them."

with ui.page("data", "Data", LEAD):
    ui.empty_state("Nothing here yet", "Run the demo first.", target="home", action="To the demo")
