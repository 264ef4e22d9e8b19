"""Judges: set-up page."""

from rubriclab import ui

LEAD = "Who is to judge: a small model on this machine, your own server, or an API."

with ui.page("judges", "Judges", LEAD):
    ui.empty_state("Nothing here yet", "Run the demo first.", target="home", action="To the demo")
