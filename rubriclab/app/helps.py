"""The tab What helps: how many calls in which orders, what else helps, and the numbers behind it."""

from __future__ import annotations

import streamlit as st

from rubriclab.app.charts import chart
from rubriclab.app.frame import safe, show_questions
from rubriclab.app.people import fold
from rubriclab.core.topic import Findings
from rubriclab.sinks.facts import EFFECT, EQUIVALENT, UNDECIDED, Facts
from rubriclab.sinks.helps import calls_curve, helps_answer, row_of
from rubriclab.sinks.text import NBSP

COLOURS = {EFFECT: "green", EQUIVALENT: "orange", UNDECIDED: "gray"}
FOLDS = {
    "r against the number of orders": ("budget_pearson",),
    "Single orders": ("order_pearson", "order_rank"),
    "All protocols at equal calls": ("gain", "gain_pearson", "budget_gain"),
    "What scores vary with": ("variance_share", "dependability", "calls_needed"),
    "Odds of positions, neighbours and labels": ("position_odds", "neighbour", "label_odds"),
    "Who wins": ("kendall_tau", "top1_changed", "top1_changed_strict", "top1_excess"),
}
"""A fold's title -> its measures."""


def shown(findings: Findings, facts: Facts) -> bool:
    """Is there anything to say?"""
    return not facts.variant and row_of(findings, facts, "calls_needed") is not None


def tab(findings: Findings, facts: Facts) -> None:
    """Draws the tab."""
    answer = helps_answer(findings, facts)
    left, right = st.columns([1.12, 1], gap="large")
    with left:
        st.header(safe(answer.headline), anchor=False)
        st.markdown(safe(answer.line))
        show_questions(answer.questions, COLOURS, "helps")
    curve = calls_curve(findings, facts)
    if curve is not None:
        with right, st.container(key="pictures-helps"):
            st.header("Calls per item, and how dependable their mean is", anchor=False)
            chart(curve, key=f"calls-{facts.condition}")
            st.caption(f"Dotted: 0.9, enough for single answers. Lines on points: 95{NBSP}% CI.")
    own = findings.conditions[facts.condition].setting
    rows = [row for row in findings.rows if findings.conditions[row.condition].setting == own]
    for label, measures in FOLDS.items():
        fold(label, findings, [row for row in rows if row.measure in measures])
