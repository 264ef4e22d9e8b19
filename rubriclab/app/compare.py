"""Compare: two or more conditions of any runs in; their differences with badges, or a table of
three or more, out.
"""

import math

import streamlit as st

from rubriclab.app import state
from rubriclab.app.answer_tabs import number_table, show_answer
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import download
from rubriclab.app.frame import fold, safe
from rubriclab.app.results import nothing, plain_name
from rubriclab.core.differences import Pair, differences, paired
from rubriclab.core.operations import contrast
from rubriclab.data.safe_files import csv_text
from rubriclab.figures.pictures import score_cells, target_cells
from rubriclab.figures.tab_pictures import difference_forest, shares_of_both
from rubriclab.words.contrasts import compare_answer, pair_names, sizes_table
from rubriclab.words.phrases import ci, condition_name

MOST = 40
"""Conditions in one table."""


def page() -> None:
    """Draws the page. A condition is called “run:code” here and in the address."""
    infos, latest = {info.id: info for info in state.listed()}, state.run_choice()
    asked = {**state.examples().conditions(), **state.store().conditions()}
    if latest is None:
        nothing("Compare")
        return
    st.title("Compare", anchor=False)
    names: dict[str, str] = {}
    for run in infos:
        for code, condition in enumerate(asked[run]):
            names[f"{run}:{code}"] = plain_name(
                f"{infos[run].name}: {condition_name(condition, asked[run])}"
            )
    judges = [condition.judge for condition in asked[latest.id]]
    start = (
        sorted({judge: judges.index(judge) for judge in judges}.values())
        if len(set(judges)) > 1
        else [0, 1]
    )
    chosen = _choose(names, [f"{latest.id}:{code}" for code in start[:2] if code < len(judges)])
    sides = [
        (names[name], name.rpartition(":")[0], int(name.rpartition(":")[2])) for name in chosen
    ]
    if len(sides) < 2:
        st.markdown("Choose two.")
        return
    with st.spinner("Computing …", show_time=True, width="content"):
        if len(sides) == 2:
            (_, run_a, code_a), (_, run_b, code_b) = sides
            pair = _pair(run_a, code_a, run_b, code_b, (infos[run_a].content, infos[run_b].content))
            _two(pair, pair_names(pair, (infos[run_a].name, infos[run_b].name)))
        if len(sides) > 2 or pair.why:
            table = sizes_table([(name, state.findings(run), code) for name, run, code in sides])
            st.dataframe(table, hide_index=True, width="stretch")
            more = " Two chosen show their difference." if len(sides) > 2 else ""
            level = f"In brackets: {ci()}, unless another level is named"
            st.caption(f"{level}. Each on its own answers; nothing is ranked.{more}")
            download("Download table", csv_text(table), "compare.csv")
    fold(
        "Score by position, side by side",
        lambda: _cells(sides),
        icon="grid_on",
        key="compare-cells",
    )


def _choose(names: dict[str, str], start: list[str]) -> list[str]:
    """What is compared; it stands in the address as ``with``, and a name there that no run has is
    left out.
    """
    wanted = [name for name in dict.fromkeys(st.query_params.get_all("with")) if name in names]
    st.session_state["compare-with"] = (wanted or start)[:MOST]

    def keep(step: int = 1) -> None:
        st.query_params.from_dict({"with": st.session_state["compare-with"][::step]})

    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Runs or judges, two or more",
            list(names),
            format_func=names.__getitem__,
            key="compare-with",
            on_change=keep,
            max_selections=MOST,
            placeholder="Choose two",
            wrap=True,
        )
        if len(chosen) == 2:
            st.button("Swap", icon=":material/swap_horiz:", on_click=keep, args=(-1,))
    return chosen


@st.cache_resource(show_spinner=False, max_entries=8)
def _pair(run_a: str, code_a: int, run_b: str, code_b: int, contents: tuple[str, ...]) -> Pair:  # noqa: ARG001
    return paired(state.findings(run_a), code_a, state.findings(run_b), code_b)


def _two(pair: Pair, names: tuple[str, str]) -> None:
    rows = differences(pair)
    show_answer(compare_answer(pair, names, rows), "compare")
    if pair.why:
        return
    drawn = {
        "How often each position was chosen": shares_of_both(pair, names),
        "Difference, with its interval": difference_forest(rows, names),
    }
    with st.container(key="pictures-compare"):
        for column, (title, picture) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
            if picture is not None:
                with column:
                    band = (
                        " · green: too small to matter" if math.isfinite(picture.smallest) else ""
                    )
                    st.header(title + band, anchor=False)
                    chart(picture, key=f"compare-{picture.kind}")

    def measures() -> None:
        mine, theirs = (
            both.select(condition=arm.code)
            for both, arm in zip(pair.findings, pair.arms, strict=True)
        )
        number_table(pair.findings[0], contrast(mine, theirs, names[1]))

    fold("All measures in one table", measures, key="compare-all")


def _cells(sides: list[tuple[str, str, int]]) -> None:
    """The heatmaps of all that are compared, each below its name."""
    for first in range(0, len(sides), 2):
        for column, (name, run, code) in zip(
            st.columns(2, gap="large"), sides[first : first + 2], strict=False
        ):
            findings = state.findings(run)
            drawn = (target_cells if findings.conditions[code].joint else score_cells)(
                findings, code
            )
            with column:
                st.markdown(f"**{safe(name, 80)}**")
                if drawn is None:
                    st.caption("Its calls give no score by position.")
                else:
                    chart(drawn, key=f"{run}-{code}")
