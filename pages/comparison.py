"""Pairs and lists: consistency, fairness and stability of judges that compare answers."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import comparison as views
from rubriclab.app.views.leaderboard import leaderboard
from rubriclab.app.views.protocols import against_rubric
from rubriclab.figures.comparison import advantage_bars
from rubriclab.findings.comparison import COMPARISON, ComparisonResult
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.leaderboard import LEADERBOARD
from rubriclab.model.language import msg, tr

LEAD = msg("Swap two answers, or turn a list round: does the same one win?")


def details(result: ComparisonResult, judge: JudgeComparison) -> None:
    with st.expander(tr("By candidate and by task")):
        st.caption(
            tr(
                "Win rates under {judge}; the baseline is {baseline}.",
                judge=ui.plain(judge.judge),
                baseline=ui.plain(judge.baseline),
            )
            if judge.baseline
            else tr("Win rates under {judge}.", judge=ui.plain(judge.judge))
        )
        names = ["win rate", "low", "high", "PC", "PF", "error"]
        uf.table(views.candidate_frame(judge), key="comparison-candidates", forms={"%.3f": names})
        names = ["PC", "PC low", "PC high", "PF", "PF low", "PF high", "error"]
        uf.table(views.task_frame(result), key="comparison-tasks", forms={"%.3f": names})


with ui.page("comparison", msg("Pairs and lists"), LEAD):
    info = ui.choose_run(axes=("pairwise", "listwise"), key="comparison")
    if info is None:
        ui.empty_state(
            tr("Nothing compared yet"),
            tr(
                "Choose the axis “pairs” or “lists” in a study of prompts with several candidates, or import "
                "judgments of pairs."
            ),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    found = ui.finding(info, COMPARISON)
    if not found.judges:
        uf.cautions(found.warnings)
        st.stop()
    by_code = {one.code: one for one in found.judges}
    judge = by_code[
        uf.pick(
            tr("Judge"),
            list(by_code),
            key=f"comparison-judge-{info.run}",
            address="arm",
            name=lambda code: views.judge_label(by_code[code]),
        )
    ]
    with uf.steady():
        views.headline(judge)
    uf.cautions(judge.warnings, found.warnings)

    st.subheader(tr("Judges beside each other"), anchor=False, help=ui.about("arm"))
    full = views.show_judges(found)
    drawn = {msg("Advantage of the first place"): advantage_bars(found)}
    st.markdown(tr("**Advantage of the first place**"), help=ui.about("advantage"))
    ui.chart(drawn["Advantage of the first place"], key="comparison-advantage", info=info)
    board = next(one for one in ui.finding(info, LEADERBOARD) if one.code == judge.code)
    with uf.steady():
        drawn |= leaderboard(info, board)
    with uf.steady():
        drawn |= views.papers(info, found)
        details(found, judge)

    st.subheader(tr("Does a better candidate make it easier?"), anchor=False, help=ui.about("win_rate"))
    drawn |= views.win_rates(info, found.judges)
    if found.together:
        st.subheader(tr("Do the judges agree?"), anchor=False, help=ui.about("agreement"))
        groups = list(range(len(found.together)))
        chosen = uf.pick(
            tr("Data set"),
            groups,
            key=f"comparison-group-{info.run}",
            address="group",
            name=lambda i: f"{found.together[i].dataset} · {found.together[i].strategy}",
        )
        drawn |= views.together(info, found.together[chosen], uf.arms_of(info))
    views.regressions(found)
    drawn |= against_rubric(info)
    ui.export_row(
        drawn,
        {msg("Judges"): full, msg("Tasks"): views.task_frame(found), msg("Candidates"): views.candidate_frame(judge)},
        info=info,
        key="comparison",
    )
