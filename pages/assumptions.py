"""For experts: what each number is a number of, what it assumes, and what it cannot say."""

from rubriclab.app import ui
from rubriclab.app.views import estimands as views
from rubriclab.model.language import msg

LEAD = msg(
    "What is averaged over what, what is taken as independent, what the lab sets itself and may "
    "therefore call a cause, and what it cannot. Each with its reference."
)

with ui.page("assumptions", msg("Assumptions"), LEAD):
    views.verdicts()
    views.table()
    views.entries()
