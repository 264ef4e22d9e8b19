"""Compare two conditions of any runs, or list the effects of three or more in a table."""

import math
from typing import NamedTuple

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
"""Conditions in one table: more do not fit on a screen, and each takes seconds to compute."""


class Side(NamedTuple):
    """A condition that is compared: its name on the page, its run, and its code in that run."""

    name: str
    run: str
    code: int


def page() -> None:
    """Draw the page. A condition is named “run:code” in the address and in the code below."""
    infos = {info.id: info for info in state.listed()}
    latest = state.run_choice()
    conditions = {**state.examples().conditions(), **state.store().conditions()}
    if latest is None:
        nothing("Compare")
        return
    st.title("Compare", anchor=False)
    names: dict[str, str] = {}
    for run in infos:
        for code, condition in enumerate(conditions[run]):
            name = condition_name(condition, conditions[run])
            names[f"{run}:{code}"] = plain_name(f"{infos[run].name}: {name}")
    judges = [condition.judge for condition in conditions[latest.id]]
    chosen = _choose(names, [f"{latest.id}:{code}" for code in _first_two(judges)])
    sides = [_side(name, names[name]) for name in chosen]
    if len(sides) < 2:
        st.markdown("Choose two.")
        return
    with st.spinner("Computing…", show_time=True, width="content"):
        comparable = False
        if len(sides) == 2:
            first, second = sides
            contents = (infos[first.run].content, infos[second.run].content)
            pair = _pair(first.run, first.code, second.run, second.code, contents)
            _two(pair, pair_names(pair, (infos[first.run].name, infos[second.run].name)))
            comparable = not pair.why
        if not comparable:
            _sizes(sides)
    fold(
        "Score by position, side by side",
        lambda: _cells(sides),
        icon="grid_on",
        key="compare-cells",
    )


def _first_two(judges: list[str]) -> list[int]:
    """Return the codes to start with: of the first two judges, else of the first two conditions."""
    firsts = [judges.index(judge) for judge in dict.fromkeys(judges)]
    if len(firsts) > 1:
        return firsts[:2]
    return [0, 1][: len(judges)]


def _side(key: str, name: str) -> Side:
    run, _, code = key.rpartition(":")
    return Side(name, run, int(code))


def _sizes(sides: list[Side]) -> None:
    """Draw a table of effects, each side on its own answers."""
    table = sizes_table([(side.name, state.findings(side.run), side.code) for side in sides])
    st.dataframe(table, hide_index=True, width="stretch")
    caption = (
        f"In brackets: {ci()}, unless another level is named. Each row uses its own answers, so "
        "the rows are not ranked."
    )
    if len(sides) > 2:
        caption += " Choose only two to see their difference."
    st.caption(caption)
    download("Download table", csv_text(table), "compare.csv")


def _choose(names: dict[str, str], start: list[str]) -> list[str]:
    """Ask what to compare. The choice is kept in the address as ``with``.

    A name in the address that no run has is ignored.
    """
    wanted = [name for name in dict.fromkeys(st.query_params.get_all("with")) if name in names]
    st.session_state["compare-with"] = (wanted or start)[:MOST]

    def keep(step: int = 1) -> None:
        st.query_params.from_dict({"with": st.session_state["compare-with"][::step]})

    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Runs or judges to compare",
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
    """Pair two conditions. The contents of their runs are only there as keys of the cache."""
    return paired(state.findings(run_a), code_a, state.findings(run_b), code_b)


def _two(pair: Pair, names: tuple[str, str]) -> None:
    """Draw the difference between two conditions: the answer, two pictures, and all measures."""
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
            if picture is None:
                continue
            if math.isfinite(picture.smallest):
                title += " · green: too small to matter"
            with column:
                st.header(title, anchor=False)
                chart(picture, key=f"compare-{picture.kind}")

    def measures() -> None:
        mine, theirs = (
            both.select(condition=arm.code)
            for both, arm in zip(pair.findings, pair.arms, strict=True)
        )
        number_table(pair.findings[0], contrast(mine, theirs, names[1]))

    fold("All measures in one table", measures, key="compare-all")


def _cells(sides: list[Side]) -> None:
    """Draw the heatmaps of all that are compared, two in a row, each below its name."""
    for first in range(0, len(sides), 2):
        columns = st.columns(2, gap="large")
        for column, side in zip(columns, sides[first : first + 2], strict=False):
            findings = state.findings(side.run)
            cells = target_cells if findings.conditions[side.code].joint else score_cells
            picture = cells(findings, side.code)
            with column:
                st.markdown(f"**{safe(side.name, 80)}**")
                if picture is None:
                    st.caption("These calls give no score by position.")
                else:
                    chart(picture, key=f"{side.run}-{side.code}")
