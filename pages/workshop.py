"""Workshop: one rubric, poked at until it is sound."""

from rubriclab.app import ui
from rubriclab.app.views import pulls as pulls_view
from rubriclab.app.views import suggestions as suggestions_view
from rubriclab.app.views import workshop as bench_view

LEAD = (
    "Change a word, a label, an order or the scale, and see within seconds what it does: each saved state of the "
    "rubric is judged on the same few items in the same orders, and only what has changed is asked."
)
SECTIONS = {
    "bench": ("Bench", bench_view.section),
    "pulls": ("What pulls?", pulls_view.section),
    "suggestions": ("Suggestions", suggestions_view.section),
}

with ui.page("workshop", "Workshop", LEAD):
    bench = bench_view.choose()
    if bench is not None:
        part = ui.choose(
            "Section",
            list(SECTIONS),
            key="workshop-section",
            address="section",
            name=lambda key: SECTIONS[key][0],
            segments=True,
        )
        SECTIONS[part][1](bench)
