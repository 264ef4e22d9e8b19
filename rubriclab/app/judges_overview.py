"""Draw a line for every judge: which position it favours, and how strong and how good it is."""

import math
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, open_line, show
from rubriclab.core.topic import MEASURES, Findings
from rubriclab.figures.judge_pictures import balancing_helps, strength_by_dataset
from rubriclab.words.answer import TITLES
from rubriclab.words.several import (
    badge,
    dataset_if_several,
    headline,
    line,
    mean_text,
    one_a_judge,
    positions_text,
    reorders_of,
    single_text,
    whole_row,
    whom,
)
from rubriclab.words.subject import CHOICES, Subject

MOST_UNPARSED = 0.1
"""A judge with more replies that could not be parsed is marked: its numbers rest on the others."""
UNPARSED = "Unparsed"
"""The column of the plain share of replies without a choice, next to the paper's error rate."""
PERCENT = ("PC", "Error", UNPARSED, "RS", "Accuracy")
NARROW = 76
"""Width of a column of numbers, in px: all of them fit beside the verdicts."""
MOST_HIGH = 760
"""Height of the table, in px: twenty judges."""
SHORT = {
    "positions": "Favours positions?",
    "mean": "Changes the mean?",
    "single": "Changes single scores?",
}
"""The questions as headings of narrow columns."""
LISTED = ("options", "criteria", "responses", "pairs", "lists", "examples")


def has(several: Several) -> bool:
    """Return whether the calls of the run list anything."""
    return any(reorder in LISTED for reorder in reorders_of(several.findings))


def draw(several: Several) -> None:
    """Draw the sentence over the judges, their table, and the pictures of strength and gain."""
    findings = several.findings
    for reorder in reorders_of(findings):
        subjects = one_a_judge(findings, reorder, several.dataset)
        if reorder not in LISTED or not subjects:
            continue
        dataset = dataset_if_several(findings, several.dataset)
        st.header(safe(headline(subjects, dataset)) + ".", anchor=False)
        st.markdown(safe(line(subjects)))
        _table(several, reorder, subjects)
    if "options" in reorders_of(findings):
        left, right = st.columns(2, gap="large")
        with left:
            show(several, strength_by_dataset(findings), "strength")
        with right:
            show(several, balancing_helps(findings, several.dataset), "balancing")


def _table(several: Several, reorder: str, subjects: list[Subject]) -> None:
    """Draw a line for each judge. A click on a line opens that judge."""
    titles = TITLES.get(reorder, {})
    findings = several.findings
    lines = []
    for subject in subjects:
        entry: dict[str, Any] = {"Judge": _judge(findings, subject)}
        if subject.shares and not subject.in_points:
            entry["Shares of positions"] = list(subject.shares)
        texts = {
            "positions": positions_text(subject),
            "mean": mean_text(subject),
            "single": single_text(subject),
        }
        entry |= _numbers(findings, subject)
        for question, title in titles.items():
            word = badge(subject, question)
            heading = SHORT.get(question, title)
            if reorder in CHOICES:
                heading = heading.replace("single scores", "winners")
            entry[heading] = " · ".join(filter(None, (word, texts.get(question, ""))))
        lines.append(entry)
    table = pd.DataFrame(lines)
    if UNPARSED in table and table[UNPARSED].equals(table["Error"]):
        table = table.drop(columns=UNPARSED)  # nothing is lost, or whole comparisons are
    strength = next((name for name in ("V", "PC", "Gap") if name in table), None)
    if strength is not None:
        table = table.sort_values(strength, ascending=strength == "PC")
    places = [{"judge": subjects[number].judge, "tab": "Bias"} for number in table.index]
    config: dict[str, Any] = {
        "Shares of positions": st.column_config.BarChartColumn(
            width=90,
            y_min=0.0,
            y_max=max((max(s.shares, default=0.0) for s in subjects), default=1.0),
        )
    }
    for name in ("V", f"r with {whom(findings)}", "Gap"):
        form = "%.3f" if name == "V" else "%.2f"
        config[name] = st.column_config.NumberColumn(format=form, width=NARROW)
    config["PF"] = st.column_config.NumberColumn(format="%+.2f", width=NARROW)
    for name in PERCENT:
        config[name] = st.column_config.NumberColumn(format="%.1f%%", width=NARROW)
    key = f"{several.key}-judges-{reorder}"
    st.dataframe(
        table,
        key=key,
        hide_index=True,
        width="stretch",
        height=min(MOST_HIGH, 36 * (len(table) + 1) + 4),
        column_config=config,
        on_select=lambda: open_line(several, key, places),
        selection_mode="single-row",
    )
    note = "Click a heading to sort, and the box before a line to open that judge."
    if any("†" in str(name) for name in table["Judge"]):
        note += f" †: more than {MOST_UNPARSED:.0%} of its replies could not be parsed."
    if "Error" in table:
        note += f" {MEASURES['error_rate'].sign}"
    if UNPARSED in table:
        note += f" {UNPARSED}: that plain share."
    if "Gap" in table:
        note += " Gap: the verdict's own size, without noise. Positions has the paper's, with it."
    st.caption(note)


def _judge(findings: Findings, subject: Subject) -> str:
    """Return a judge's name with † where many replies are unparsed, and whether it is simulated."""
    parsed = whole_row(findings, "parsed_share", subject.condition)
    name = subject.judge
    if parsed is not None and parsed.value < 1 - MOST_UNPARSED:
        name += " †"
    return name + (" (simulated)" if subject.simulated else "")


def _numbers(findings: Findings, subject: Subject) -> dict[str, float]:
    """Return the numbers of a judge by column: of scores V and r, of choices PC, PF and others."""
    wanted = {"V": "cramers_v", f"r with {whom(findings)}": "pearson"}
    if subject.reorder in CHOICES:
        wanted = {
            "PC": "pc",
            "PF": "pf",
            "Error": "error_rate",
            "RS": "rs",
            "Accuracy": "accuracy",
        }
    numbers = {}
    for name, measure in wanted.items():
        row = whole_row(findings, measure, subject.condition)
        if row is not None and math.isfinite(row.value):
            numbers[name] = 100 * row.value if name in PERCENT else row.value
        if name == "Error":
            parsed = whole_row(findings, "parsed_share", subject.condition)
            if parsed is not None and math.isfinite(parsed.value):
                numbers[UNPARSED] = 100 * (1 - parsed.value)
    if subject.reorder == "criteria" and subject.positions is not None:
        numbers["Gap"] = subject.positions.value
    return numbers


VIEW = View("overview", "Overview", has, draw)
