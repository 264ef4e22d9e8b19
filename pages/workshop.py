"""Workshop: one rubric, poked at until it is sound."""

from rubriclab.app import ui
from rubriclab.app.views import pulls as pulls_view
from rubriclab.app.views import suggestions as suggestions_view
from rubriclab.app.views import workshop as bench_view
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Change a word, a label, an order or the scale, and see within seconds what it does: each saved "
    "state of the rubric is judged on the same few items in the same orders, and only what has "
    "changed is asked."
)
SECTIONS = {
    "bench": (msg("Bench"), bench_view.section),
    "pulls": (msg("What pulls?"), pulls_view.section),
    "suggestions": (msg("Suggestions"), suggestions_view.section),
}

with ui.page("workshop", msg("Workshop"), LEAD):
    bench = bench_view.choose()
    if bench is not None:
        part = ui.choose(
            tr("Section"),
            list(SECTIONS),
            key="workshop-section",
            address="section",
            name=lambda key: tr(SECTIONS[key][0]),
            segments=True,
        )
        SECTIONS[part][1](bench)
