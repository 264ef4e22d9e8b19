"""The arms that are compared as one table, a row an arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.findings.ordering import cost_said
from rubriclab.findings.summary import ComparisonLine, CriteriaLine, Line, OptionsLine
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import arm_name, listed

COST = msg("Bias Cost (percentage points)")

# ---------------------------------------------------------------- the table


def summary_frame(told: Sequence[Line]) -> pd.DataFrame:
    """One row an arm of one axis, a column a number, intervals as low and high."""
    return pd.DataFrame([_row(line) for line in told])


def _row(line: Line) -> dict[str, Any]:
    return {
        msg("Judge"): line.arm.judge,
        msg("Strategy"): line.arm.strategy,
        msg("Setting"): str(line.arm.variant),
        **_numbers(line),
        _COUNTED[line.arm.axis]: line.n_items,
        msg("Read"): line.read,
        msg("Data set"): line.arm.dataset,
        msg("Run"): line.run_name,
        msg("Simulated"): line.arm.simulated,
    }


_COUNTED = {
    "options": msg("Items"),
    "criteria": msg("Texts"),
    "pairwise": msg("Questions"),
    "listwise": msg("Questions"),
}


def _numbers(line: Line) -> dict[str, float]:
    if isinstance(line, OptionsLine):
        return {
            msg("Reads"): line.reads,
            msg("Mean score"): line.mean_score,
            **uf.with_ends(msg("Shift"), line.shift, line.shift_ci),
            msg("Position 1"): line.first,
            **uf.with_ends("V", line.v, line.v_ci),
            COST: line.bias_cost,
            **uf.with_ends("r", line.r, line.r_ci),
            msg("Within-item sd"): line.within_item_sd,
        }
    if isinstance(line, CriteriaLine):
        return {
            msg("Criteria moved"): line.moved,
            msg("of"): line.tested,
            msg("Shift mean"): line.shift_mean,
            msg("Shift max"): line.shift_max,
            **uf.with_ends("r", line.r, line.r_ci),
        }
    if isinstance(line, ComparisonLine):
        return {
            **uf.with_ends("PC", line.pc, line.pc_ci),
            **uf.with_ends("PF", line.pf, line.pf_ci),
            **uf.with_ends("RS", line.rs, line.rs_ci),
            **uf.with_ends(msg("Unreadable"), line.error, line.error_ci),
        }
    raise TypeError(f"no columns for {type(line).__name__}")


_TERMS = {
    "Position 1": ("share", ui.PERCENT),
    "V": ("v", "%.3f"),
    "Shift": ("order_shift", "%+.2f"),
    COST: ("bias_cost", "%.1f"),
    "r": ("pearson", "%.3f"),
    "Within-item sd": ("within_sd", "%.2f"),
    "Read": ("read", ui.PERCENT),
    "Shift mean": ("delta", "%.2f"),
    "Shift max": ("delta", "%.2f"),
    "Criteria moved": ("friedman", "%d"),
    "PC": ("pc", "%.3f"),
    "PF": ("pf", "%.3f"),
    "RS": ("rs", "%.3f"),
    "Unreadable": ("error", "%.3f"),
    "Mean score": ("", "%.2f"),
}


MISSING_WIDTH = 104
"""Pixels that “not defined” takes in a cell."""
LETTER_WIDTH = 8
"""Pixels that a letter of a heading takes."""


def summary_table(told: Sequence[Line], *, key: str) -> pd.DataFrame:
    """The table on the page, sortable by every column; the whole frame for an export."""
    frame = summary_frame(told)
    idle = [name for name in ("Setting", "Simulated") if not frame[name].any()]
    idle += [name for name in frame.columns if frame[name].isna().all()]
    config: dict[str, Any] = {**uf.headings(frame), "Judge": st.column_config.TextColumn(tr("Judge"), pinned=True)}
    forms: dict[str, str] = {}
    for name in map(str, frame.columns):
        term, form = _TERMS.get(name.removesuffix(" low").removesuffix(" high"), ("", ""))
        if form:
            about = ui.about(term) if term and name in _TERMS else None
            # Streamlit makes room for the numbers alone, and would cut off the words in place of a missing one.
            needed = max(MISSING_WIDTH, LETTER_WIDTH * len(uf.heading(name)) + 2 * LETTER_WIDTH)
            width = needed if frame[name].isna().any() else None
            config[name] = ui.number_column(uf.heading(name), form, help=about, width=width)
            forms[name] = form
    # Whole per cents, as everywhere else; the export keeps every digit.
    shares = [name for name in ("Position 1", "Read") if name in frame]
    shown = frame.drop(columns=idle).round(dict.fromkeys(shares, 2))
    missing = tr("not defined")
    table = ui.written(shown, forms)
    st.dataframe(table, hide_index=True, width="stretch", key=key, column_config=config, placeholder=missing)
    if costs := missing_costs(told):
        st.caption(ui.plain(costs))
    return frame


def missing_costs(told: Sequence[Line]) -> str:
    """Which rows have no Bias Cost, and why; empty where all have one."""
    whose: dict[str, list[str]] = {}
    for line in told:
        if isinstance(line, OptionsLine) and line.bias_cost_why:
            name = arm_name(line.arm, simulated=False)
            whose.setdefault(cost_said(line.bias_cost, line.bias_cost_why), []).append(name)
    lines = "; ".join(f"{listed(names)} {why}" for why, names in whose.items())
    return tr("Bias Cost: {reasons}.", reasons=lines) if lines else ""
