"""The same candidates by pairs and by rubric: both protocols of a judge beside each other."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.protocols import protocols
from rubriclab.figures.style import Chart
from rubriclab.findings.protocols import PROTOCOLS, ProtocolComparison
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.store import RunInfo


def against_rubric(info: RunInfo) -> dict[str, Chart]:
    """The same candidates by pairs and by rubric: a second run is chosen here."""
    st.subheader(tr("Pairs against rubric"), anchor=False, help=ui.about("protocols"))
    if info.axis != "pairwise":
        st.caption(tr("Choose a run of pairs to set it beside rubric scores."))
        return {}
    runs = ui.judged_runs(("options",))
    if not runs:
        st.caption(tr("Run the same prompts and candidates by rubric too, and both protocols meet here."))
        return {}
    same = sorted(runs, key=lambda run: runs[run].dataset != info.dataset)
    chosen = ui.choose(
        tr("The same answers, scored by rubric"),
        ["", *same],
        address="rubric",
        key=f"comparison-rubric-{info.run}",
        name=lambda run: ui.run_label(runs[run]) if run else tr("choose a run"),
    )
    if not chosen:
        return {}
    other = runs[chosen]
    compared = ui.finding(info, PROTOCOLS, rubric=other)
    if not compared:
        st.caption(tr("No judge is in both runs."))
        return {}
    names = [judge.judge for judge in compared]
    judge = uf.pick(tr("Judge"), names, key=f"comparison-rubric-judge-{chosen}", address="judge")
    both = compared[names.index(judge)]
    st.markdown(ui.plain(_sentence(both)))
    uf.cautions(both.warnings)
    drawn = {msg("Pairs against rubric"): protocols(both)}
    ui.chart(drawn["Pairs against rubric"], key="comparison-protocols")
    return drawn


def _sentence(both: ProtocolComparison) -> str:
    top = tr("the same candidate comes first") if both.same_best else tr("another candidate comes first")
    better = (
        tr("per call spent pairs buys more stable decisions")
        if both.pairs.stable_per_call > both.rubric.stable_per_call
        else tr("per call spent the rubric buys more stable decisions")
    )
    return tr(
        "Both ways {top}; Kendall's tau of the two rankings is {tau} ({tau_ci}) over {prompts}. Shown in "
        "another order, {pairs_flip} of decisions by pairs flip and {rubric_flip} of those by rubric, the "
        "judge's own noise included; {better} "
        "({by_pairs} by pairs, {by_rubric} by rubric).",
        top=top,
        tau=number(both.tau, ".2f"),
        tau_ci=interval(both.tau_ci, ".2f"),
        prompts=many(both.n_prompts, "prompt"),
        pairs_flip=number(both.pairs.flip_rate, ".0%"),
        rubric_flip=number(both.rubric.flip_rate, ".0%"),
        better=better,
        by_pairs=number(both.pairs.stable_per_call, ".2f"),
        by_rubric=number(both.rubric.stable_per_call, ".2f"),
    )
