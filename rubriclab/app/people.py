"""The tab With people: how the judge compares with another person, and every number about it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rubriclab.app.charts import chart
from rubriclab.app.frame import emphasised, safe, show_questions
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.sinks.facts import UNDECIDED, Facts
from rubriclab.sinks.people import GOOD, POOR, has_people, intended_levels, people_answer, reach_forest
from rubriclab.sinks.pictures import generic
from rubriclab.sinks.table import spoken
from rubriclab.sinks.text import NBSP

COLOURS = {GOOD: "green", POOR: "orange", UNDECIDED: "gray"}
MOST_CAUTIONS = 2
LIMITS = ("limit_low", "limit_high", "mean_difference")
MISSING = (
    "No human scores: name their columns in Set up, step 1, or as human, human_1, human_2 … in a table of judgments."
)


def shown(findings: Findings, condition: int) -> bool:
    """Is there anything to say of people?"""
    return has_people(findings, condition)


def tab(findings: Findings, facts: Facts) -> None:
    """Draws the tab."""
    answer = people_answer(findings, facts)
    left, right = st.columns([1.12, 1], gap="large")
    with left:
        st.header(safe(answer.headline), anchor=False)
        st.markdown(emphasised(answer.line, answer.strong))
        show_questions(answer.questions, COLOURS, "people")
        for caution in answer.cautions[:MOST_CAUTIONS]:
            st.caption(f":material/info: {safe(caution)}")
    forest = reach_forest(findings, facts)
    if forest is not None:
        with right, st.container(key="pictures-people"):
            intended = intended_levels(findings, facts.condition)
            title = "with the intended levels (r)" if intended else "with people (r), beside what people reach"
            st.header(f"Agreement {title}", anchor=False)
            chart(forest, key=f"reach-{facts.condition}")
            person = "" if intended else " One person: r of a rater with the mean of the others."
            st.caption(f"Lines: 95{NBSP}% CI.{person} More calls raise r.")
    rows = findings.select(condition=facts.condition)
    fold("All coefficients", findings, [row for row in rows if row.topic in ("people", "agreement", "alt_test")])
    fold("Human by judge", findings, [row for row in rows if row.measure == "confusion"], facts.condition)
    fold("Limits of agreement", findings, [row for row in rows if row.measure in LIMITS and "against" not in row.of])
    fold("Corrected means", findings, [row for row in rows if row.topic == "corrected_means"])


def fold(label: str, findings: Findings, rows: Sequence[Row], drawn: int | None = None) -> None:
    """Computed only when opened; ``drawn``: the condition whose table of cells stands above the numbers."""
    if not rows:
        return
    fold = st.expander(label, icon=":material/table_rows:", key=f"people-{label}", on_change="rerun")
    if not fold.open:
        return
    with fold:
        if drawn is not None:
            cells = generic(TOPICS["agreement"].charts[0], findings, drawn)
            if cells is not None:
                chart(cells, key=f"confusion-{drawn}")
                return
        kept = [row for row in rows if row.measure != "confusion"]
        st.dataframe(spoken(findings, kept).drop(columns="Condition"), hide_index=True, width="stretch")
