"""Human alignment: do the judge's scores go with the humans', and what do more orders buy?"""

from functools import partial

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import agreement, corrected_means, ordinal, replacement
from rubriclab.app.views import alignment as views
from rubriclab.app.views import common as uf
from rubriclab.figures.alignment import sweep_lines
from rubriclab.findings.alignment import ALIGNMENT, SWEEP
from rubriclab.model.language import msg, tr
from rubriclab.report.charts import drawable, factors

LEAD = msg("Do the scores go with what people say, and how many orders does it take?")


with ui.page("alignment", msg("Human alignment"), LEAD):
    info = ui.choose_run(axes=("options",), key="alignment")
    if info is None:
        ui.empty_state(
            tr("Nothing to compare with humans yet"),
            tr("Run a study of score options on data with human ratings."),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    found = ui.finding(info, ALIGNMENT)
    if not found.arms:
        ui.empty_state(
            tr("No human ratings in this run"),
            tr("Map one column a rater, or one mean, when you bring your data; then run the study again."),
            target="data",
            action=tr("To the data"),
        )
        st.stop()
    arm = uf.pick_arm(tr("Judge and strategy"), found.arms, key=f"alignment-arm-{info.run}", address="arm")
    with uf.steady():
        views.headline(found, arm)
        ordinal.line(info, arm.code, "people")
        uf.cautions(arm.warnings, found.warnings)
    drawn = views.strategies(info, found) | views.orders(info, arm, found)
    said: dict[str, str] = {}
    for factor in factors(tuple(a.arm for a in found.arms)):
        title = factor.replace("_", " ")
        st.subheader(tr("By {factor}", factor=title), anchor=False, help=ui.about("sweep"))
        table = drawable(ui.finding(info, SWEEP, factor=factor))
        left, right = st.columns(2, gap="large")
        said |= {f"r by {title}": tr("r by {factor}", factor=title), f"V by {title}": tr("V by {factor}", factor=title)}
        drawn[f"r by {title}"] = sweep_lines(table)
        drawn[f"V by {title}"] = sweep_lines(table, measure="v")
        with left:
            ui.chart(drawn[f"r by {title}"], key=f"alignment-{factor}-r", info=info)
        with right:
            ui.chart(drawn[f"V by {title}"], key=f"alignment-{factor}-v", info=info)
    with st.expander(tr("All numbers")):
        uf.table(
            views.frame(found),
            key="alignment-table",
            forms={"%.3f": ["r", "r low", "r high", "rho", "rho low", "rho high"]},
        )
    tables = {msg("Agreement"): views.frame(found)}
    for section in (partial(agreement.section, code=arm.code), replacement.section, corrected_means.section):
        with uf.steady():
            more, numbers = section(info)
        drawn, tables = drawn | more, tables | numbers
    ui.export_row(drawn, tables, info=info, key="alignment", said=said)
