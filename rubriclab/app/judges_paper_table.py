"""Draw a table of judges by data sets as papers print it, with several measures side by side."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app.chart_view import palette
from rubriclab.app.forms import download
from rubriclab.app.frame import faults, safe
from rubriclab.app.judges_view import Several, View
from rubriclab.core.topic import MEASURES, Findings
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.paper_table import PaperTable, paper_table
from rubriclab.figures.marks import shade
from rubriclab.model.text import file_name
from rubriclab.words.paper_grid import MEAN, PAPER, axes_of
from rubriclab.words.phrases import readable

SCORED = ("chi2", "cramers_v", "position_share:1", "within_item_sd", "pearson", "spearman")
CRITERIA = ("friedman", "delta_pos")
CHOSEN = ("pc", "pf", "rs", "rs_sd", "error_rate", "kendall_tau")
SIGNS = {
    "chi2": "χ²",
    "cramers_v": "Cramér's V",
    "within_item_sd": "Spread within an answer",
    "pearson": "r with people",
    "spearman": "rho with people",
    "friedman": "Friedman",
    "delta_pos": "Gap of positions",
    "pc": "PC",
    "pf": "PF",
    "rs": "RS",
    "rs_sd": "Deviation of RS",
    "error_rate": "Error",
    "kendall_tau": "tau-b",
}
"""What the pills of measures say."""
SHADED = {"cramers_v": 0.0, "pc": 1.0, "delta_pos": 0.0}
"""Measures whose cells are shaded, and the number without bias: the further, the darker."""


def has(several: Several) -> bool:
    """Return whether there is a measure of the papers' tables."""
    return any(_offered(several.findings, axis) for axis in ("dataset", "target"))


def draw(several: Several) -> None:
    """Draw the choice of measures and columns, the table, its legend, and its files."""
    st.markdown(
        "**Judges by data sets** · numbers as papers print them; the lines marked "
        f"{PAPER} hold the number printed in the paper"
    )
    left, right = st.columns([2.4, 1])
    across = str(
        right.selectbox(
            "Columns",
            _axes(several.findings),
            format_func=readable,
            key=f"{several.key}-paper-columns",
        )
    )
    offered = _offered(several.findings, across)
    with left:
        chosen = st.pills(
            "Measures",
            offered,
            selection_mode="multi",
            default=offered[:4],
            format_func=_called,
            key=f"{several.key}-paper-measures-{across}",
        )
    if not chosen:
        st.caption("Choose a measure.")
        return
    with faults():
        table = paper_table(several.findings, list(chosen), across=across, papers=several.papers)
        _show(several, table)


def _called(measure: str) -> str:
    """Return how a pill calls a measure: by its sign in the papers, else by its name."""
    name, _, part = measure.partition(":")
    if name in SIGNS:
        return SIGNS[name]
    return f"Position {part}" if part else MEASURES[name].name


def _axes(findings: Findings) -> list[str]:
    """Return what columns can be made of: criteria first where every call scores several."""
    axes = [axis for axis in axes_of(findings) if axis != "strategy"] + ["strategy"]
    if all(about.joint for about in findings.conditions) and "target" in axes:
        axes.remove("target")
        axes.insert(0, "target")
    return axes


def _offered(findings: Findings, across: str) -> list[str]:
    """Return the measures of the papers' tables that have a number for such columns.

    A number that is about something else than its column needs a name that the pills do not give,
    such as the other judge of a coefficient.
    """
    known = {row.measure for row in findings.rows if not set(row.of) - {across}}
    wanted = [*SCORED, *CRITERIA, *CHOSEN]
    last = max((about.positions for about in findings.conditions), default=0)
    if last > 2:
        wanted.insert(3, f"position_share:{last}")
    shares = bool(findings.select("position_share"))
    return [
        measure
        for measure in wanted
        if measure in known or (shares and measure.startswith("position_share:"))
    ]


def _show(several: Several, table: PaperTable) -> None:
    """Draw the table with shaded cells, its legend, and its files."""
    frame = table.frame()
    heads = list(table.heads)
    config: dict[str, Any] = {name: st.column_config.Column(pinned=True) for name in heads[:1]}
    st.dataframe(
        frame.style.apply(lambda _: _styles(table, frame), axis=None),
        hide_index=True,
        width="stretch",
        column_config=config,
        key=f"{several.key}-paper-table",
    )
    st.caption(safe(" ".join(table.legend)))
    with st.container(horizontal=True):
        key = f"{several.key}-paper"
        download("CSV", csv_text(table.numbers()), file_name(table.title, ".csv"), key=f"{key}-csv")
        download("LaTeX", table.latex(), file_name(table.title, ".tex"), key=f"{key}-tex")


def _styles(table: PaperTable, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the CSS of every cell: shaded by strength, and grey where a paper printed it."""
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    colours = palette()
    first = len(table.heads)
    for at, (names, cells) in enumerate(table.lines):
        if names[0].endswith(PAPER):
            styles.iloc[at, :] = f"color: {colours.muted}"
            continue
        if names[0] == MEAN:
            continue
        for k, cell in enumerate(cells):
            if cell is None or cell.row is None or cell.row.measure not in SHADED:
                continue
            away = abs(cell.value - SHADED[cell.row.measure])
            most = _furthest(table, cell.row.measure)
            ground = shade(colours, 0.75 * away / most) if most else colours.middle
            styles.iloc[at, first + k] = f"background-color: {ground}; color: {colours.text}"
    return styles


def _furthest(table: PaperTable, measure: str) -> float:
    """Return how far the cells of a measure are from no bias, at most."""
    values: Sequence[float] = [
        abs(cell.value - SHADED[measure])
        for _, cells in table.lines
        for cell in cells
        if cell is not None and cell.row is not None and cell.row.measure == measure
    ]
    return max(values, default=0.0)


VIEW = View("Judges × data sets", has, draw)
