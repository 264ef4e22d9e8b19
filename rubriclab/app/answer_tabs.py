"""An answer in; its headline, line and badges on a page out; and the tabs With people and What
helps, which are such answers, each beside a picture and above its numbers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from rubriclab.app.chart_view import chart
from rubriclab.app.frame import PAGES, fold, labelled, safe
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.exports.table import spoken
from rubriclab.figures.pictures import Shown, generic
from rubriclab.figures.tab_pictures import calls_curve, protocol_forest, reach_forest
from rubriclab.words.answer import Answer
from rubriclab.words.phrases import ci
from rubriclab.words.subject import CHOICES, EFFECT, EQUIVALENT, Subject
from rubriclab.words.what_helps import helps_answer
from rubriclab.words.with_people import GOOD, POOR, intended_levels, people_answer

MOST_CAUTIONS = 2
COLOURS = {
    "bias": {EFFECT: "orange", EQUIVALENT: "green"},
    "people": {POOR: "orange", GOOD: "green"},
    "helps": {EFFECT: "green", EQUIVALENT: "orange"},
    "compare": {EFFECT: "orange", EQUIVALENT: "green"},
}
"""Of badges: what is found is bad news of a judge, and good of a remedy; an open question is grey.
"""
PEOPLE = {
    "All coefficients": ("people", "agreement", "alt_test"),
    "Human by judge": ("confusion",),
    "Limits of agreement": ("limit_low", "limit_high", "mean_difference"),
    "Corrected means": ("corrected_means",),
    "Order by order": ("accuracy", "gold_accuracy", "accuracy_all_orders"),
}
HELPS = {
    "r against the number of orders": ("budget_pearson",),
    "Single orders": ("order_pearson", "order_rank"),
    "All protocols at equal calls": (
        "gain",
        "gain_pearson",
        "budget_gain",
        "protocol_accuracy",
        "gain_accuracy",
    ),
    "What scores vary with": ("variance_share", "dependability", "calls_needed"),
    "Odds of positions, neighbours and labels": ("position_odds", "neighbour", "label_odds"),
    "Who wins": ("kendall_tau", "top1_changed", "top1_changed_strict", "top1_excess"),
}
"""A fold's title -> its measures, or its topics for measures that no fold names."""


def show_answer(answer: Answer, kind: str = "bias") -> None:
    """Headline, line, questions with their badges, what to do, cautions. ``kind``: of COLOURS; the
    page's own is ``bias``.
    """
    own = kind == "bias"
    if answer.early:
        st.markdown(f":gray[:material/hourglass_top: {safe(answer.early)}]")
    (st.title if own else st.header)(
        labelled(answer.headline, answer.simulated and own), anchor=False
    )
    st.markdown(emphasised(answer.line, answer.strong))
    if answer.questions:
        with st.container(key=f"questions-{kind}"):
            for number, asked in enumerate(answer.questions):
                with st.container(key=f"question-{kind}{number}"):
                    badge, words = st.columns([1, 3.6], gap="small")
                    badge.markdown(
                        f":{COLOURS[kind].get(asked.verdict, 'gray')}-badge[{asked.badge}]"
                    )
                    words.header(asked.title, anchor=False)
                    words.markdown(f":gray[{safe(asked.sentence)}]")
    if answer.advice:
        st.markdown(f"**What to do:** {safe(answer.advice)}")
    show_cautions(answer.cautions[:MOST_CAUTIONS])


def show_cautions(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        st.caption(f":material/info: {safe(sentence)}")


def emphasised(line: str, strong: str) -> str:
    """A line of an answer as markdown, its number in bold."""
    before, bold, after = line.partition(strong) if strong else (line, "", "")
    return f"{safe(before)}**{safe(bold)}**{safe(after)}" if bold else safe(line)


def beside(
    answer: Answer,
    kind: str,
    shown: Shown,
    key: str,
    on_click: Callable[[], None] | None = None,
    *,
    below: Callable[[], None] | None = None,
) -> None:
    """An answer left, with what ``below`` draws under it, its picture with title and note right."""
    left, right = st.columns([1.12, 1], gap="large")
    with left:
        show_answer(answer, kind)
        if below is not None:
            below()
    if shown.picture is not None:
        with right, st.container(key=f"pictures-{kind}"):
            st.header(shown.title, anchor=False)
            show_picture(shown, key, on_click)


def show_picture(shown: Shown, key: str, on_click: Callable[[], None] | None) -> None:
    """A picture above its note; nothing where it could not be drawn. ``on_click``: of a heatmap,
    whose cells lead on.
    """
    if shown.picture is not None:
        clicked = on_click if shown.picture.kind == "cells" else None
        chart(shown.picture, key=key, on_select=clicked, note=shown.note)


def with_people(findings: Findings, subject: Subject) -> None:
    """The tab With people: how the judge compares with another person, and every number about
    it.
    """
    whom = "the intended levels" if intended_levels(findings, subject.condition) else "people"
    alone = whom != "people" or not findings.select("people_pearson", condition=subject.condition)
    title = f"Agreement with {whom} (r)" + ("" if alone else ", compared with one person")
    person = ""
    if not alone:
        person = " Compare the last two: r of one call, and of one person, with the other raters."
    note = f"Lines: {ci()}.{person} More calls raise r."
    if subject.reorder in CHOICES:
        title, note = (
            "How often the better answer is chosen",
            f"Lines: {ci()}. Position: where it stood.",
        )
    shown = Shown(title, reach_forest(findings, subject), note)
    beside(people_answer(findings, subject), "people", shown, f"reach-{subject.condition}")
    _folds(findings, findings.select(condition=subject.condition), PEOPLE)


def what_helps(findings: Findings, subject: Subject, below: Callable[[], None]) -> None:
    """The tab What helps: how many calls in which orders, what else helps, ``below`` it the way on,
    and the numbers.
    """
    curve, note = calls_curve(findings, subject), "Dotted: 0.9, enough for single answers."
    note += (
        f" Lines on points: {ci()}."
        if curve and any(point.has_interval for point in curve.points)
        else ""
    )
    shown = Shown("Calls per item, and how dependable their mean is", curve, note)
    if subject.reorder in CHOICES:
        note = f"Lines: {ci()}. As many calls each."
        shown = Shown(
            "How often the better answer is chosen", protocol_forest(findings, subject), note
        )
    beside(
        helps_answer(findings, subject), "helps", shown, f"calls-{subject.condition}", below=below
    )
    own = findings.conditions[subject.condition].setting
    rows = [row for row in findings.rows if findings.conditions[row.condition].setting == own]
    _folds(findings, rows, HELPS)


def _folds(findings: Findings, rows: Sequence[Row], folds: Mapping[str, Collection[str]]) -> None:
    fold_of = {name: label for label, names in folds.items() for name in names}
    for label in folds:
        mine = [row for row in rows if fold_of.get(row.measure, fold_of.get(row.topic)) == label]
        if mine:
            draw = _confusion if mine[0].measure == "confusion" else number_table
            fold(label, partial(draw, findings, mine))


def _confusion(findings: Findings, rows: Sequence[Row]) -> None:
    """Human scores by the judge's, as cells; as numbers where nothing can be drawn."""
    cells = generic(TOPICS["agreement"].charts[0], findings, rows[0].condition)
    if cells is None:
        number_table(findings, rows)
    else:
        chart(cells, key=f"confusion-{rows[0].condition}")


def number_table(findings: Findings, rows: Sequence[Row]) -> None:
    """Rows as a table; whose they are stands there where they are of several conditions."""
    table: Any = spoken(findings, list(rows))
    if table["Condition"].nunique() == 1:
        table = table.drop(columns="Condition")
    st.dataframe(table, hide_index=True, width="stretch")
    terms = dict.fromkeys(row.about.term or row.measure for row in rows)
    query = {"tab": "Definitions", "find": ", ".join(terms)}
    st.page_link(
        PAGES / "learn.py",
        label="What these numbers mean",
        icon=":material/help:",
        query_params=query,
    )


def show_definition(entry: Mapping[str, str]) -> None:
    """Formula, assumption and source of a term, below its sentence."""
    parts = [
        f"{key.capitalize()}: {entry[key]}"
        for key in ("formula", "assumption", "source")
        if key in entry
    ]
    st.caption("  \n".join(safe(part) for part in parts))
