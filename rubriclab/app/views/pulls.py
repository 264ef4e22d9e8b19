"""The section “What pulls?” of the workshop: one press, and the ranked bar of what makes the order matter."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.ui.charts import judgments_address
from rubriclab.app.ui.consent import start_or_ask
from rubriclab.app.views import common as uf
from rubriclab.figures.pulls import pulls_bars
from rubriclab.figures.style import Behind
from rubriclab.findings.pulls import PULLS, PullsGroup, calls_sentence, order_sentence, pull_sentence, summary_sentence
from rubriclab.model import Rubric
from rubriclab.model.language import msg, tr
from rubriclab.runs.pulls import FEWEST, PullsPlan, pulls_plan
from rubriclab.runs.runner import Run
from rubriclab.runs.workshop import Bench
from rubriclab.store import RunInfo
from rubriclab.study.rubric_changes import changes_of

LOOK = 1.5
"""Seconds between two looks at a run that goes on."""
LEAD = msg(
    "Parts of the rubric are changed, several at once: each description in neutral words, all of "
    "them equally long, other labels, another scale, no descriptions, no text of the criterion. What "
    "the order does under each says which part makes it matter."
)


def section(bench: Bench) -> None:
    """What was asked of this bench, or what it would take to ask it."""
    st.markdown(tr(LEAD), help=ui.about("pull_change"))
    names = [version.name for version in reversed(bench.versions)]
    name = ui.choose(tr("Version"), names, key="pulls-version", address="pulls-version")
    rubric = _one_criterion(bench.version(name).rubric)
    done = _runs(bench, rubric)
    if not done:
        _offer(bench, rubric)
        return
    info = done[0]
    going = ui.manager().get(info.run)
    if going is not None and going.snapshot().active:
        st.fragment(_live, run_every=LOOK)(info.run)
    else:
        if info.done < info.planned:
            _go_on(info)
        _shown(bench, rubric, info)


def _one_criterion(rubric: Rubric) -> Rubric:
    if len(rubric.criteria) == 1:
        return rubric
    name = ui.choose(
        tr("Criterion"), [c.name for c in rubric.criteria], key="pulls-criterion", address="pulls-criterion"
    )
    return Rubric(rubric.name, (rubric.criterion(name),))


def _runs(bench: Bench, rubric: Rubric) -> list[RunInfo]:
    """Runs that asked this bench about this rubric, the last first."""
    wanted = {"bench": bench.id, "rubric": rubric.id}
    return [info for info in ui.store().runs() if info.provenance.get("pulls") == wanted]


def _offer(bench: Bench, rubric: Rubric, without: Sequence[str] = ()) -> None:
    """The arms and calls before anything is asked, against one change at a time; all changes but ``without``."""
    items = len(bench.study.dataset)
    titles = {change.key: change.title for change in changes_of(rubric)}
    chosen = ui.choose_many(
        tr("Changes"),
        list(titles),
        key=f"pulls-only-{len(without)}",
        address="change",
        default=[key for key in titles if key not in without] if without else (),
        name=lambda key: ui.plain(tr(titles[key])),
        about=tr("All of them where none is chosen."),
    )
    only = frozenset(chosen) or None
    with ui.faults():
        planned = pulls_plan(bench.study.dataset, rubric, bench.judge, items=items, only=only)
        least = planned.calls // max(1, items) * min(items, FEWEST)
        budget = st.number_input(
            tr("At most so many calls"),
            least,
            100 * planned.calls,
            planned.calls,
            key=f"pulls-budget-{planned.calls}",
            width=260,
        )
        if budget != planned.calls:
            planned = pulls_plan(bench.study.dataset, rubric, bench.judge, items=items, only=only, budget=int(budget))
        st.markdown(ui.plain(planned.sentence()))
        if caution := planned.caution():
            st.warning(ui.plain(caution), icon=":material/warning:")
        with st.expander(tr("The arms, and what is mixed up with what"), icon=":material/grid_on:"):
            for one in (planned.study.rubric, *planned.study.rubrics):
                st.markdown(f"- {ui.plain(one.name if one else '')}")
            for text in planned.mixed():
                st.caption(ui.plain(text))
        if st.button(tr("What pulls?"), type="primary", icon=":material/science:", key="pulls-start"):
            _start(bench, rubric, planned)


def _start(bench: Bench, rubric: Rubric, planned: PullsPlan) -> None:
    about = {"pulls": {"bench": bench.id, "rubric": rubric.id}}

    def start() -> Run:
        return ui.manager().start(planned.study, secrets=ui.secrets(), about=about, reuse=True, not_from=bench.not_from)

    start_or_ask(ui.manager(), planned.study.name, start)


def _go_on(info: RunInfo) -> None:
    left = info.planned - info.done
    st.warning(
        tr("{left:,} of {planned:,} calls wait; no verdict is given before.", left=left, planned=info.planned),
        icon=":material/hourglass_empty:",
    )
    if st.button(tr("Go on"), icon=":material/play_arrow:", key="pulls-go-on"):
        with ui.faults():
            ui.manager().go_on(info.run, secrets=ui.secrets())
            st.rerun()


def _live(run: str) -> None:
    going = ui.manager().get(run)
    shown = going.snapshot() if going is not None else None
    if going is None or shown is None or not shown.active:
        st.rerun()
    share = shown.done / max(1, shown.planned)
    st.progress(
        share,
        tr(
            "{done:,} of {planned:,} calls. {stage}",
            done=shown.done,
            planned=shown.planned,
            stage=ui.plain(tr(shown.stage)),
        ),
    )
    if st.button(tr("Stop"), icon=":material/stop:", key="pulls-stop"):
        going.cancel()


def _shown(bench: Bench, rubric: Rubric, info: RunInfo) -> None:
    result = ui.finding(info, PULLS)
    if not result.groups:
        ui.empty_state(
            tr("Nothing read yet"),
            tr("No item was read in both orders in several arms."),
            target="runs",
            action=tr("Runs"),
        )
        return
    for group in result.groups:
        uf.answer(summary_sentence(group))
        st.markdown(ui.plain(order_sentence(group)))
        uf.cautions(group.warnings)
        ui.chart(pulls_bars(group), key=f"pulls-{info.run}", info=info)
        st.caption(
            tr(
                "{calls} Intervals of all {changes} changes hold at once with 95 %; an effect is what "
                "Holm's procedure shows. At the dashed line the order would no longer move scores.",
                calls=ui.plain(calls_sentence(group)),
                changes=len(group.pulls),
            )
        )
        with st.expander(tr("Every change in words, and the judgments of its arms"), icon=":material/list:"):
            _words(group, info)
    silent = sorted({key for group in result.groups for key in group.unanswered})
    with st.expander(tr("Ask again"), icon=":material/science:", expanded=bool(silent)):
        _offer(bench, rubric, silent)


def _words(group: PullsGroup, info: RunInfo) -> None:
    for one in group.pulls:
        st.markdown(f"{uf.badge(one.effect.verdict)} {ui.plain(pull_sentence(group, one))}")
        if one.mixed:
            st.caption(ui.plain(tr("p = {p:.3f} by Holm; estimate of {mixed}.", p=one.p_holm, mixed=one.mixed)))
        if one.arms:
            behind = Behind(one.title, arm=one.arms[0])
            st.page_link(
                "pages/judgments.py",
                label=tr("Judgments of an arm"),
                icon=":material/arrow_forward:",
                query_params=judgments_address(behind, info.run),
            )
