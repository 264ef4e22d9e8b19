"""Rubric: set-up page."""

from rubriclab import ui

LEAD = "What the judge is to look for, and what each score stands for."

with ui.page("rubric", "Rubric", LEAD):
    ui.empty_state("Nothing here yet", "Run the demo first.", target="home", action="To the demo")
