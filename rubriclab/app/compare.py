"""Compare two conditions of any runs; draw three or more as the judges of one run are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from rubriclab.app import call_browser, judges_tab, state
from rubriclab.app.answer_tabs import number_table, show_answer
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import download
from rubriclab.app.frame import fold, go, safe
from rubriclab.app.judges_view import Several
from rubriclab.app.results import VIEW, choice, nothing, plain_name
from rubriclab.core.differences import Pair, differences, paired
from rubriclab.core.joined import Joined, joined
from rubriclab.core.joined import Side as Joinable
from rubriclab.core.operations import contrast
from rubriclab.data.safe_files import csv_text
from rubriclab.figures.pictures import example_cells, score_cells, target_cells
from rubriclab.figures.tab_pictures import difference_forest, shares_of_both
from rubriclab.model.judgment import Condition
from rubriclab.model.text import LabError, shorten
from rubriclab.words.contrasts import compare_answer, pair_names, rate_of, sizes_table
from rubriclab.words.phrases import ci, condition_name

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo

ALL = "all"
"""What an address has in place of a condition's code to name all of a run."""
KEPT = ("view", "dataset")
"""What the address keeps when something else is compared."""
WANTED = "compare-open"
"""Where a click leaves what Results is to open."""
MOST = 40
"""Conditions in one table: more do not fit on a screen, and each takes seconds to compute."""


class Side(NamedTuple):
    """A condition that is compared: its name on the page, its run, and its code in that run."""

    name: str
    run: str
    code: int


class Member(NamedTuple):
    """A condition that is joined: its run, its code in that run, the run's name and content."""

    run: str
    code: int
    name: str
    content: str


def page() -> None:
    """Draw the page.

    A condition is named “run:code” in the address and in the code below, a whole run “run:all”.
    """
    if place := st.session_state.pop(WANTED, None):
        # Widgets bound to the address keep their values until the page is opened again.
        for name in (*call_browser.FILTERS, *VIEW):
            st.session_state.pop(name, None)
        go("results", **place)
    infos = {info.id: info for info in state.listed()}
    latest = state.run_choice()
    conditions = {**state.examples().conditions(), **state.store().conditions()}
    if latest is None:
        nothing("Compare")
        return
    st.title("Compare", anchor=False)
    names: dict[str, str] = {}
    for run in infos:
        own = conditions[run]
        if len(own) > 1:
            names[f"{run}:{ALL}"] = plain_name(f"{infos[run].name}: all {len(own)} conditions")
        for code, condition in enumerate(own):
            name = condition_name(condition, own)
            names[f"{run}:{code}"] = plain_name(f"{infos[run].name}: {name}")
    judges = [condition.judge for condition in conditions[latest.id]]
    chosen = _choose(names, [f"{latest.id}:{code}" for code in _first_two(judges)])
    each = [one for name in chosen for one in _each(name, conditions)]
    sides = [_side(name, names[name]) for name in dict.fromkeys(each)]
    if len(sides) > MOST:
        st.caption(f"Only the first {MOST} of {len(sides)} conditions are compared.")
        sides = sides[:MOST]
    if len(sides) < 2:
        st.markdown("Choose two.")
        return
    union: Joined | None = None
    with st.spinner("Computing…", show_time=True, width="content"):
        if len(sides) > 2 or not _pair_drawn(sides, infos):
            _sizes(sides)
            union = _union(
                tuple(
                    Member(side.run, side.code, infos[side.run].name, infos[side.run].content)
                    for side in sides
                )
            )
    if union is not None:
        _together(union, sides)
    fold(
        "Score by position, side by side",
        lambda: _cells(sides),
        icon="grid_on",
        key="compare-cells",
    )


def _each(name: str, conditions: Mapping[str, Sequence[Condition]]) -> list[str]:
    """Return the conditions that a name stands for: itself, or all of a run."""
    run, _, code = name.rpartition(":")
    if code != ALL:
        return [name]
    return [f"{run}:{number}" for number in range(len(conditions[run]))]


def _pair_drawn(sides: Sequence[Side], infos: Mapping[str, RunInfo]) -> bool:
    """Draw what two conditions differ in, and return whether they can be compared at all."""
    first, second = (infos[side.run] for side in sides)
    (run_a, code_a), (run_b, code_b) = ((side.run, side.code) for side in sides)
    pair = _pair(run_a, code_a, run_b, code_b, (first.content, second.content))
    _two(pair, pair_names(pair, (first.name, second.name)))
    return not pair.why


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
        f"In brackets: {ci(0.95)}, unless another level is named. Each row uses its own answers, "
        "so the rows are not ranked."
    )
    if len(sides) > 2:
        caption += " Choose only two to see their difference."
    st.caption(caption)
    download("Download table", csv_text(table), "compare.csv")


def _choose(names: dict[str, str], start: list[str]) -> list[str]:
    """Ask what to compare. The choice is kept in the address as ``with``.

    A name in the address that no run has is ignored.
    """
    asked = []
    for name in st.query_params.get_all("with"):
        # All of a run that has one condition is that condition.
        one = name.removesuffix(ALL) + "0" if name.endswith(f":{ALL}") else name
        asked.append(name if name in names else one)
    wanted = [name for name in dict.fromkeys(asked) if name in names]
    st.session_state["compare-with"] = (wanted or start)[:MOST]

    def keep(step: int = 1) -> None:
        kept = {name: st.query_params[name] for name in KEPT if name in st.query_params}
        st.query_params.from_dict({"with": st.session_state["compare-with"][::step], **kept})

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


@st.cache_resource(show_spinner=False, max_entries=4)
def _union(members: tuple[Member, ...]) -> Joined:
    """Join conditions, once for each content of their runs."""
    return joined(
        [Joinable(member.name, state.findings(member.run), member.code) for member in members]
    )


def place_in_run(union: Joined, sides: Sequence[Side], place: Mapping[str, str]) -> dict[str, str]:
    """Return a place of the union as an address of Results: its run, and the run's own names.

    ``place``: as Results has it, with the judge and the data set of the union. Where it names none,
    the first one's is taken.
    """
    for about, origin in zip(union.findings.conditions, union.origins, strict=True):
        names = (place.get("judge", about.judge), place.get("dataset", about.dataset))
        if names == (about.judge, about.dataset):
            run = sides[origin.side].run
            own = state.findings(run).conditions[origin.code]
            found = {**place, "run": run, "judge": own.judge, "dataset": own.dataset}
            if "differ" in place:
                found.pop("differ")
                # Calls of two runs cannot be listed side by side: those of the first are opened.
                found |= _differing(union, sides, run, place["differ"])
            return found
    raise LabError(f"Nothing that is compared is called “{shorten(str(dict(place)))}”.")


def _differing(union: Joined, sides: Sequence[Side], run: str, judge: str) -> dict[str, str]:
    """Return the filter of a joined judge that is of this run too; empty if it is not."""
    for about, origin in zip(union.findings.conditions, union.origins, strict=True):
        if about.judge == judge and sides[origin.side].run == run:
            return {"differ": state.findings(run).conditions[origin.code].judge}
    return {}


def _together(union: Joined, sides: list[Side]) -> None:
    """Draw the views of the tab Judges for conditions of one run or of several."""

    def leave_place(place: Mapping[str, str]) -> None:
        """Leave what was clicked to the next drawing, which opens it. This is a callback."""
        st.session_state[WANTED] = place_in_run(union, sides, place)

    datasets = list(dict.fromkeys(about.dataset for about in union.findings.conditions))
    several = Several(union.findings, datasets[0], "compare", open=leave_place)
    if not judges_tab.is_shown(several):
        return
    st.header("All of them together", anchor=False)
    st.caption(
        "Each brings all orders of its setting. Answers that two runs judged count as the same. "
        "All are read as the first run is. A click on a mark opens its run."
    )
    chosen = choice("Data set", datasets, "dataset")
    judges_tab.draw(replace(several, dataset=chosen))


def _two(pair: Pair, names: tuple[str, str]) -> None:
    """Draw the difference between two conditions: the answer, two pictures, and all measures."""
    rows = differences(pair)
    show_answer(compare_answer(pair, names, rows), "compare")
    if pair.why:
        return
    drawn = {
        "How often each position was chosen": shares_of_both(pair, names),
        "Difference, with its interval": difference_forest(rows, names, rate_of(pair)),
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
            asked = findings.conditions[side.code]
            cells = target_cells if asked.joint else score_cells
            if asked.reorder == "examples":
                cells = example_cells
            picture = cells(findings, side.code)
            with column:
                st.markdown(f"**{safe(side.name, 80)}**")
                if picture is None:
                    st.caption("These calls give no score by position.")
                else:
                    chart(picture, key=f"{side.run}-{side.code}")
