"""Arms of any runs side by side: what is chosen, the table, small multiples, one difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.ui.charts import behind_point, judgments_address
from rubriclab.app.views import common as uf
from rubriclab.app.views.compare_arms import Chosen, code_of
from rubriclab.figures import contrast as draw
from rubriclab.figures.style import Chart
from rubriclab.findings.contrast import CONTRAST, contrast_words
from rubriclab.findings.contrast_results import ALONE, FEW, Contrast
from rubriclab.findings.matching import why_not
from rubriclab.findings.summary import ComparisonLine, Line, arm_result, moves, scales, short_names
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import many, plural
from rubriclab.store import RunInfo

SECTIONS = {
    "options": msg("Order of score options"),
    "criteria": msg("Order of criteria"),
    "pairwise": msg("Pairs"),
    "listwise": msg("Lists"),
}

RATES = {"pairwise": msg("Consistency and fairness, pairs"), "listwise": msg("Consistency and fairness, lists")}
NOTHING = msg("Nothing of these two can be compared: there is too little that could be read.")


def simulated_note(chosen: Chosen) -> None:
    """Which of the chosen judges are simulated, said once."""
    judges = list(dict.fromkeys(line.arm.judge for line in chosen.lines if line.arm.simulated))
    if judges:
        listed = ", ".join(ui.plain(name) for name in judges)
        st.warning(
            tr(
                "**Simulated**: {judges}. Their numbers show how the method works, not how any model behaves.",
                judges=listed,
            ),
            icon=":material/science:",
        )


# ---------------------------------------------------------------- small multiples


def together(chosen: Chosen, told: Sequence[Line], axis: str) -> dict[str, Chart]:
    """The chosen arms of one axis, drawn on shared scales."""
    groups = scales(told)
    index = 0
    if len(groups) > 1:
        index = ui.choose(
            tr("Scale"),
            list(range(len(groups))),
            key=f"compare-scale-{axis}",
            address=f"scale-{axis}",
            segments=True,
            name=lambda i: _scale_name(groups[i][0]),
        )
        other = next(group for k, group in enumerate(groups) if k != index)
        st.caption(
            tr("Drawn apart, because they cannot be compared. {why}", why=why_not(groups[index][0].arm, other[0].arm))
        )
    group = groups[index]
    info = chosen.infos[group[0].run]
    tag = f"{axis}-{index}"
    if axis == "options":
        return _options_together(chosen, group, info, tag)
    if axis == "criteria":
        return _criteria_together(chosen, group, info, tag)
    some = [line for line in group if isinstance(line, ComparisonLine)]
    drawn = draw.rates(some, [chosen.names[code_of(line)] for line in some])
    ui.chart(drawn, key=f"compare-rates-{tag}", info=info)
    return {RATES[axis]: drawn}


def _options_together(chosen: Chosen, group: Sequence[Line], info: RunInfo, tag: str) -> dict[str, Chart]:
    moved = [line for line in group if moves(line)]
    _left_out(
        chosen,
        [line for line in group if line not in moved],
        tr("kept to one order, so position and score cannot be told apart"),
    )
    if not moved:
        return {}
    facets = _facets(chosen, moved)
    cells, lines_drawn = draw.heatmaps(facets), draw.shares(facets, run_judges=_judges(chosen))
    left, right = st.columns(2, gap="large")
    with left:
        even = 1.0 / len(moved[0].arm.scores)
        st.markdown(
            tr("**Score × position** in per cent, one scale; even is {even:.0f}", even=100 * even),
            help=ui.about("table"),
        )
        ui.chart(cells, key=f"compare-cells-{tag}", info=info)
    with right:
        st.markdown(tr("**Position selected**, 95 % intervals"), help=ui.about("share"))
        ui.chart(lines_drawn, key=f"compare-shares-{tag}", info=info)
    return {msg("Score by position"): cells, msg("Positions"): lines_drawn}


def _judges(chosen: Chosen) -> list[str]:
    return [name for info in chosen.infos.values() for name in uf.judges_of(info)]


def _criteria_together(chosen: Chosen, group: Sequence[Line], info: RunInfo, tag: str) -> dict[str, Chart]:
    moved = [line for line in group if moves(line)]
    _left_out(chosen, [line for line in group if line not in moved], tr("kept every criterion at one place"))
    if not moved:
        return {}
    cells = draw.shift_heatmaps(_facets(chosen, moved))
    st.markdown(tr("**Criterion × position**, points from the criterion's mean, one scale"), help=ui.about("shift"))
    ui.chart(cells, key=f"compare-shifts-{tag}", info=info)
    return {msg("Criterion by position"): cells}


def _facets(chosen: Chosen, told: Sequence[Line]) -> list[draw.Facet]:
    names = short_names(told)
    return [
        draw.Facet(line.run, name, arm_result(chosen.findings[line.run], line))
        for line, name in zip(told, names, strict=True)
    ]


def _left_out(chosen: Chosen, told: Sequence[Line], why: str) -> None:
    if told:
        listed = "; ".join(ui.plain(chosen.label(line)) for line in told)
        st.caption(tr("Not drawn: {arms} ({why}).", arms=listed, why=why))


def _scale_name(line: Line) -> str:
    arm = line.arm
    if arm.axis == "options":
        options = many(len(arm.scores), "option")
        return tr("{options}, {low} to {high}", options=options, low=arm.scores[0], high=arm.scores[-1])
    if arm.axis == "criteria":
        if not arm.scores:
            return tr("{places} criteria", places=arm.n_positions)
        low, high = arm.scores[0], arm.scores[-1]
        return tr("{places} criteria, scores {low} to {high}", places=arm.n_positions, low=low, high=high)
    return tr("lists of {places}", places=arm.n_positions)


# ---------------------------------------------------------------- one difference


def difference(chosen: Chosen) -> tuple[dict[str, Chart], pd.DataFrame | None]:
    """Two arms chosen, one less the other; its charts and its table."""
    by_code = {code_of(line): line for line in chosen.lines}
    partners = {code: _partners(line, chosen.lines) for code, line in by_code.items()}
    able = [code for code in by_code if partners[code]]
    if not able:
        st.caption(
            tr(
                "Choose two judges or strategies that can be compared: the same axis, the same number of options "
                "and the same range of scores."
            )
        )
        return {}, None
    first = next((code for code in able if moves(by_code[code])), able[0])
    left, right = st.columns(2)
    with left:
        a = by_code[_side(tr("First (a)"), able, first, "a", chosen, by_code)]
    others = [code_of(line) for line in partners[code_of(a)]]
    with right:
        second = _natural(a, [by_code[code] for code in others])
        b = by_code[_side(tr("less the second (b)"), others, second, "b", chosen, by_code)]
    _refused(chosen, a)
    found = ui.finding(chosen.infos[a.run], CONTRAST, code_a=a.code, b=chosen.infos[b.run], code_b=b.code)
    answer, *more = contrast_words(found, chosen.label(a), chosen.label(b)) or (tr(NOTHING),)
    uf.answer(answer)
    for text in more:
        st.markdown(ui.plain(text))
    st.caption(_basis(found))
    uf.cautions(found.warnings)
    return _difference_charts(found, a, b), difference_frame(found)


def _side(
    label: str, codes: Sequence[str], default: str, address: str, chosen: Chosen, by_code: Mapping[str, Line]
) -> str:
    return ui.choose(
        label,
        codes,
        key=f"compare-{address}",
        address=address,
        default=default,
        name=lambda code: chosen.label(by_code[code]),
    )


def _partners(line: Line, every: Sequence[Line]) -> list[Line]:
    return [one for one in every if one is not line and not why_not(line.arm, one.arm)]


def _natural(a: Line, others: Sequence[Line]) -> str:
    """The arm one would first set ``a`` against: another judge, in the same way."""
    return code_of(
        min(
            others,
            key=lambda line: (
                not moves(line),
                (line.arm.judge, line.run) == (a.arm.judge, a.run),
                line.arm.strategy != a.arm.strategy,
            ),
        )
    )


def _refused(chosen: Chosen, a: Line) -> None:
    """Why the other chosen arms are not on offer against ``a``."""
    whys: dict[str, list[str]] = {}
    for line in chosen.lines:
        why = why_not(a.arm, line.arm)
        if why:
            whys.setdefault(why, []).append(ui.plain(chosen.label(line)))
    for why, names in whys.items():
        st.caption(tr("Not offered against it: {names}. {why}", names="; ".join(names), why=why))


def _basis(found: Contrast) -> str:
    """On how many items the difference rests, and how they were brought together."""
    thing = "comparison" if found.arm_a.axis in ("pairwise", "listwise") else "item"
    judged = f"{figure(found.n_a, ',')} {plural(thing, 2)}"
    out = tr(" None left out.")
    if found.left_out_a or found.left_out_b:
        out = tr(" Left out: {of_a:,} of a, {of_b:,} of b.", of_a=found.left_out_a, of_b=found.left_out_b)
    if found.paired:
        how = tr("Paired: both judged the same {items}.", items=judged)
    else:
        how = tr("Independent: {items} of a against {others:,} others of b.", items=judged, others=found.n_b)
    return tr(
        "{how}{out} Intervals resample {units}, {times:,} times.",
        how=how,
        out=out,
        units=f"{figure(found.units, ',')} {plural(found.unit, 2)}",
        times=found.n_boot,
    )


def _difference_charts(found: Contrast, a: Line, b: Line) -> dict[str, Chart]:
    tag = f"{code_of(a)}-{code_of(b)}"
    drawn: dict[str, Chart] = {}
    forest = draw.difference_forest(found)
    if found.cells is None:
        drawn[msg("Differences")] = forest
        _two_ways(forest, a, b, key=f"compare-forest-{tag}")
        st.caption(_forest_words(found))
        return drawn
    drawn[msg("Difference by cell")] = draw.difference_heatmap(found)
    drawn["Differences"] = forest
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(tr("**Cell by cell**, a less b in points"), help=ui.about("simultaneous"))
        _two_ways(drawn["Difference by cell"], a, b, key=f"compare-difference-{tag}")
        st.caption(
            tr(
                "Outlined: 0 lies outside the interval, those of all {tested} cells taken at once ({clear} "
                "here). Orange: more in a; blue: more in b. Without a colour: fewer than {few} {units} to go by "
                "in one of the two.",
                tested=found.cells.tested,
                clear=int(found.cells.clear.sum()),
                few=FEW,
                units=plural(found.unit, FEW),
            )
        )
    with right:
        st.markdown(
            tr("**Overall**, a less b with 95 % intervals"), help=ui.about("arm_difference", also=("interval", "sesoi"))
        )
        _two_ways(forest, a, b, key=f"compare-forest-{tag}")
        st.caption(_forest_words(found))
    return drawn


def _forest_words(found: Contrast) -> str:
    """What the colours and the band of a forest say, and what they do not."""
    held = next((one.effect for one in found.deltas if one.effect is not None), None)
    alone = any(one.kind in ALONE for one in found.deltas)
    band = tr(" Band: less than the smallest effect of interest, {sesoi:g}.", sesoi=held.sesoi) if held else ""
    once = tr("Intervals hold all at once, those of V and r each for itself.") if alone else ""
    once = once or tr("Intervals hold all at once.")
    grey = tr(" Grey: 0 or too little to matter is still possible, which does not show that the two are alike.")
    return once + band + grey


@st.fragment  # a click redraws the chart and its links, not the page
def _two_ways(shown: Chart, a: Line, b: Line, *, key: str) -> None:
    """A chart of two arms: a clicked point leads to the judgments of either."""
    event = ui.chart(shown, key=key, select=True)
    for point in event.selection.points[:3]:
        behind = behind_point(shown, point)
        if behind is None:
            continue
        st.caption(ui.plain(behind.name))
        for letter, line in (("a", a), ("b", b)):
            mine = replace(behind, arm=line.code, run=line.run)
            st.page_link(
                "pages/judgments.py",
                label=tr("Judgments of {letter} behind this", letter=letter),
                icon=":material/arrow_forward:",
                query_params=judgments_address(mine, line.run),
            )


def difference_frame(found: Contrast) -> pd.DataFrame:
    """Every difference with its interval: rates first, then the cells of the table."""
    rows: list[dict[str, Any]] = [
        {
            msg("measure"): one.measure,
            msg("row"): "",
            msg("position"): None,
            "a": one.a,
            "b": one.b,
            msg("difference"): one.delta,
            msg("low"): one.ci.low,
            msg("high"): one.ci.high,
            msg("low, all at once"): one.ci_all.low,
            msg("high, all at once"): one.ci_all.high,
            msg("verdict"): one.effect.verdict if one.effect else "",
            msg("smallest effect of interest"): one.effect.sesoi if one.effect else None,
        }
        for one in found.deltas
    ]
    cells = found.cells
    if cells is not None:
        rows += [
            {
                "measure": cells.kind,
                "row": name,
                "position": position,
                "a": cells.a[r, c],
                "b": cells.b[r, c],
                "difference": cells.delta[r, c],
                "low": cells.low[r, c],
                "high": cells.high[r, c],
                "low, all at once": cells.low_all[r, c],
                "high, all at once": cells.high_all[r, c],
            }
            for r, name in enumerate(cells.rows)
            for c, position in enumerate(cells.positions)
        ]
    return pd.DataFrame(rows)
