"""Views of juries: which judges and orders a budget is best spent on, and what their errors have in common."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.jury import budget_curves, order_forest
from rubriclab.figures.style import Chart
from rubriclab.findings.jury import JURY
from rubriclab.findings.jury_results import JuryOf, Measured
from rubriclab.findings.jury_words import choice_sentence, errors_sentence, verdict_sentence
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.store import RunInfo

GOALS = {"people": msg("people's ratings"), "panel": msg("the mean of all judges")}
OWN, SAME = msg("each judge its own orders"), msg("all the same orders")
ASSUMES = msg("""
- **Which judges** make a mix of each size is chosen on two fifths of the texts (or prompts), and everything shown
  is measured on the others, so that no mix shines by luck.
- A mix's scores are plain means. A line, learnt where judges were chosen, carries them over to the target: a milder
  judge, or one that uses less of the scale, is not further away for that.
- Orders are drawn from those that were read, not chosen; a chosen set may do better: see the page Your pipeline.
- The error holds what people's own ratings err by, which is the same for every mix.
- Held against the mean of all judges, more judges are nearer by nature: that compares mixes, not their truth.
""")


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """All of a run's juries; the charts and tables to carry off. Nothing for a run of one judge."""
    known = ui.finding(info, JURY).juries
    if not known:
        return {}, {}
    st.subheader(
        tr("Several judges or several orders?"), anchor="juries", help=ui.about("jury", also=("effective_votes",))
    )
    at = uf.pick(
        tr("Judges and data"), list(range(len(known))), key="jury-of", address="jury", name=lambda k: known[k].name
    )
    most = known[at].orders * len(known[at].judges)
    calls = ui.slide(
        tr("Calls an item, for all judges together"),
        [n for n in (*range(1, 21), 25, 30, 40, 50, 60, 80, 100) if n <= most],
        key=f"jury-calls-{at}",
        address="votes",
        default=known[at].orders,
    )
    of = ui.finding(info, JURY, budget=float(calls)).juries[at]
    if of.people is not None:
        uf.verdict(of.people.gain, tr("Do several judges agree better with people than one?"), ui.about("jury"))
    st.markdown(ui.plain(verdict_sentence(of)))
    uf.cautions(of.warnings)
    drawn, tables = _mixes(info, of, at)
    if of.aligned:
        st.markdown(tr("**Do orders pull these judges the same way?**"), help=ui.about("effective_votes"))
        st.markdown(ui.plain(errors_sentence(of)))
        drawn[msg("Order errors of two judges")] = order_forest(of)
        ui.chart(drawn["Order errors of two judges"], key=f"jury-orders-{at}", info=info)
    if of.errors is not None:
        st.caption(_errors_words(of))
    with st.expander(tr("What this assumes")):
        st.markdown(tr(ASSUMES))
    return drawn, tables


def _mixes(info: RunInfo, of: JuryOf, at: int) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """Curves by budget, the mix to take, and a table of every mix."""
    targets = {one.target: one for one in of.targets}
    goal = uf.pick(
        tr("Held against"), list(targets), key=f"jury-goal-{at}", address="against", name=lambda one: tr(GOALS[one])
    )
    found = targets[goal]
    if not found.mixes:
        st.info(ui.plain(tr("No mix is measured: {why}.", why=found.why)), icon=":material/info:")
        return {}, {}
    st.markdown(f"**{ui.plain(choice_sentence(of, found))}**")
    shared = (
        of.aligned and uf.toggle(tr("Orders of a jury"), [OWN, SAME], key=f"jury-shared-{at}", address="orders") == SAME
    )
    drawn = {msg("Agreement or error by budget"): budget_curves(of, found, shared=shared)}
    ui.chart(drawn["Agreement or error by budget"], key=f"jury-curves-{at}-{goal}-{shared}", info=info)
    with speaking(SOURCE):  # as files have it
        tables = {msg("Juries"): mix_frame(found)}
    with st.expander(tr("Every mix in numbers")):
        forms = {"%.3f": ["error", "r"], "%.1f": ["votes"]}
        uf.table(mix_frame(found), key=f"jury-mixes-{at}-{goal}", forms=forms)
        st.caption(
            tr(
                "Chosen on {items}, measured on {n_items:,} others ({units}); {tested:,} cheaper mixes are "
                "tested at once.",
                items=many(found.n_choosing, "item"),
                n_items=found.n_items,
                units=many(found.n_units, of.unit),
                tested=found.tested,
            )
        )
    return drawn, tables


COLUMNS = [
    msg("mix"),
    msg("calls"),
    msg("error"),
    msg("interval"),
    "r",
    msg("interval of r"),
    msg("votes"),
    msg("note"),
]


def mix_frame(found: Measured) -> pd.DataFrame:
    """Every mix, the cheapest first; what it is against the best one for the budget."""
    rows = [
        (
            mix.name,
            mix.calls,
            mix.error,
            interval(mix.error_ci, ".2f"),
            mix.agreement,
            interval(mix.agreement_ci, ".2f"),
            mix.votes,
            tr("best for the budget") if k == found.best else tr("enough") if mix.not_worse else "",
        )
        for k, mix in sorted(enumerate(found.mixes), key=lambda pair: (pair[1].cost, pair[1].error))
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _errors_words(of: JuryOf) -> str:
    """How errors from people's ratings correlate, as one line."""
    assert of.errors is not None
    e = of.errors
    parts = [
        tr(
            "one judge in two orders {within} ({within_ci})",
            within=number(e.within, ".2f"),
            within_ci=interval(e.within_ci, ".2f"),
        )
    ]
    if of.aligned:
        parts.append(
            tr(
                "two judges in one order {same} ({same_ci})",
                same=number(e.same, ".2f"),
                same_ci=interval(e.same_ci, ".2f"),
            )
        )
    parts.append(
        tr(
            "two judges in two orders {other} ({other_ci})",
            other=number(e.other, ".2f"),
            other_ci=interval(e.other_ci, ".2f"),
        )
    )
    return tr("Errors from people's ratings correlate: {parts}.", parts="; ".join(parts))
