"""Draw an answer with its badges and its picture, and the tabs With people and What helps.

All three have the same form: an answer on the left, its picture on the right, and the numbers
behind it in folds below.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app.chart_view import chart
from rubriclab.app.frame import PAGES, fold, safe
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.exports.table import spoken as spoken_table
from rubriclab.figures.judge_pictures import balanced_against_fixed, orders_enough
from rubriclab.figures.marks import Picture
from rubriclab.figures.pictures import CLICK, Shown, generic
from rubriclab.figures.tab_pictures import (
    calls_curve,
    pass_fail_forest,
    protocol_forest,
    reach_forest,
)
from rubriclab.words.answer import Answer, Question
from rubriclab.words.compact import OrderLine, order_lines, order_sentence
from rubriclab.words.pass_fail import (
    has_pass_fail,
    pass_fail_answer,
    pass_fail_lines,
    spoken,
    ways_to_choose,
)
from rubriclab.words.phrases import ci_of
from rubriclab.words.several import whole_row
from rubriclab.words.subject import CHOICES, EFFECT, EQUIVALENT, Subject
from rubriclab.words.what_helps import helps_answer
from rubriclab.words.with_people import GOOD, POOR, people_answer
from rubriclab.words.yardstick import intended_levels, model_yardstick, whom

MOST_HIGH = 470
"""Pixels of a table of orders: twelve lines, and longer ones scroll."""
MOST_LINE = 900
"""Characters of a line about pass or fail: its labels may be long."""
MOST_CAUTIONS = 2
"""Cautions shown with the answer. The others follow among the numbers."""
WITH_CELLS = ("cells", "bars_over_cells")
"""Kinds of pictures whose cells lead to their calls."""
COLOURS = {
    "people": {POOR: "orange", GOOD: "green"},
    "helps": {EFFECT: "green", EQUIVALENT: "orange"},
    "compare": {EFFECT: "orange", EQUIVALENT: "green"},
}
"""Colours of badges: an effect is bad news about a judge and good news about what helps.

Undecided questions are grey.
"""
PEOPLE = {
    "All coefficients": ("people", "agreement", "alt_test"),
    "Human scores by judge scores": ("confusion",),
    "Limits of agreement": ("limit_low", "limit_high", "mean_difference"),
    "Corrected means": ("corrected_means",),
    "Pass or fail, all numbers": ("pass_fail",),
    "Order by order": ("accuracy", "gold_accuracy", "accuracy_all_orders"),
}
HELPS = {
    "Correlation by number of orders": ("budget_pearson", "orders_enough"),
    "All methods at equal cost": (
        "gain",
        "gain_pearson",
        "budget_gain",
        "protocol_accuracy",
        "gain_accuracy",
    ),
    "What makes scores vary": ("variance_share", "dependability", "calls_needed"),
    "Odds of positions, neighbours and labels": ("position_odds", "neighbour", "label_odds"),
    "Who wins": ("kendall_tau", "top1_changed", "top1_changed_strict", "top1_excess"),
}
"""Title of a fold -> its measures, or topics for measures that no fold names."""


def show_answer(answer: Answer, kind: str) -> None:
    """Draw headline, line, questions with badges, what to do, and cautions.

    ``kind``: a key of COLOURS. The page's own answer is drawn by ``first_screen.py``.
    """
    st.header(safe(answer.headline), anchor=False)
    st.markdown(emphasised(answer.line, answer.strong))
    if answer.questions:
        with st.container(key=f"questions-{kind}"):
            for number, asked in enumerate(answer.questions):
                colour = COLOURS[kind].get(asked.verdict, "gray")
                show_question(asked, colour, key=f"question-{kind}{number}")
    if answer.advice:
        st.markdown(f"**What to do:** {safe(answer.advice)}")
    show_cautions(answer.cautions[:MOST_CAUTIONS])


def show_question(asked: Question, colour: str, *, key: str) -> None:
    """Draw a question with its badge in ``colour`` on its left, and its sentence below."""
    with st.container(key=key):  # style.css puts the badge to its left
        st.markdown(f":{colour}-badge[{asked.badge}]")
        st.header(asked.title, anchor=False)
        st.markdown(f":gray[{safe(asked.sentence)}]")


def show_cautions(sentences: Sequence[str]) -> None:
    for sentence in sentences:
        st.caption(f":material/info: {safe(sentence)}")


def emphasised(line: str, strong: str) -> str:
    """Return a line of an answer as markdown, with its number in bold."""
    if not strong or strong not in line:
        return safe(line)
    before, bold, after = line.partition(strong)
    return f"{safe(before)}**{safe(bold)}**{safe(after)}"


def answer_with_picture(
    answer: Answer,
    kind: str,
    shown: Shown,
    key: str,
    *,
    below: Callable[[], None] | None = None,
) -> None:
    """Draw an answer on the left, with ``below`` under it, and its picture on the right."""
    left, right = st.columns([1.12, 1], gap="large")
    with left:
        show_answer(answer, kind)
        if below is not None:
            below()
    if shown.picture is not None:
        with right, st.container(key=f"pictures-{kind}"):
            st.header(shown.title, anchor=False)
            show_picture(shown, key, None)


def leads_to_calls(picture: Picture) -> bool:
    """Return whether a click on a cell of a picture opens the calls that it is about."""
    hovers = (point.hover for point in picture.points)
    return picture.kind in WITH_CELLS and any(CLICK in hover for hover in hovers)


def show_picture(shown: Shown, key: str, on_click: Callable[[], None] | None) -> None:
    """Draw a picture with its note, or nothing if it could not be drawn.

    ``on_click``: called after a click on a cell. Only heatmaps have cells.
    """
    if shown.picture is not None:
        clicked = on_click if leads_to_calls(shown.picture) else None
        chart(shown.picture, key=key, on_select=clicked, note=shown.note)


def with_people(
    findings: Findings,
    subject: Subject,
    choose_labels: Callable[[Mapping[str, str], str, str], None],
) -> None:
    """Draw the tab With people: how the judge compares with another person, and why.

    ``choose_labels``: asks how the labelled answers were chosen. It takes the names of the ways,
    the label of the field, and its help.
    """
    intended = intended_levels(findings, subject.condition)
    level = ci_of(findings, subject.condition)
    # Of several criteria each has its own row, and the picture draws what is about them all.
    several_people = whole_row(findings, "people_pearson", subject.condition)
    if subject.reorder in CHOICES:
        title = "How often the better answer is chosen"
        note = f"Lines: {level}. Position: where the better answer was listed."
    elif intended:
        title = "Agreement with the intended levels (r)"
        note = f"Lines: {level}. r of several calls is that of their mean."
    elif several_people is None or not math.isfinite(several_people.value):
        title = f"Agreement with {whom(findings)} (r)"
        note = f"Lines: {level}. r of several calls is that of their mean."
    else:
        one, others = "one person", "the other raters"
        if model := model_yardstick(findings):
            one, others = f"one score of {model}", "its other scores"
        title = f"Agreement with {whom(findings)} (r), compared with {one}"
        note = (
            f"Lines: {level}. The last two compare: r of one call, and of {one}, with {others}. "
            "r of several calls is that of their mean."
        )
    shown = Shown(title, reach_forest(findings, subject), note)
    key = f"reach-{subject.condition}"
    answer_with_picture(people_answer(findings, subject), "people", shown, key)
    if has_pass_fail(findings, subject.condition):
        _pass_fail(findings, subject, choose_labels)
    _by_strategy(findings, subject)
    _folds(findings, findings.select(condition=subject.condition), PEOPLE)


def _pass_fail(
    findings: Findings,
    subject: Subject,
    choose_labels: Callable[[Mapping[str, str], str, str], None],
) -> None:
    """Draw how often a judge that passes or fails answers is right, beside its picture."""
    condition = subject.condition

    def words(key: str, **fields: str) -> str:
        return spoken(findings, condition, key, **fields)

    answer = pass_fail_answer(findings, subject)
    st.header(safe(answer.headline), anchor=False)
    left, right = st.columns([1.12, 1], gap="large")
    with left:
        for line in pass_fail_lines(findings, condition):
            st.markdown(safe(line, MOST_LINE))
        show_cautions(answer.cautions)
        choose_labels(ways_to_choose(words), words("asked"), words("choice_help"))
    picture = pass_fail_forest(findings, condition)
    if picture is not None:
        with right, st.container(key="pictures-pass-fail"):
            shown = Shown(
                words("picture"), picture, words("picture_note", ci=ci_of(findings, condition))
            )
            st.header(shown.title, anchor=False)
            show_picture(shown, f"pass-fail-{condition}", None)


def _by_strategy(findings: Findings, subject: Subject) -> None:
    """Draw r by ordering strategy with its paired differences, and the table of single orders."""
    if subject.reorder in CHOICES:
        return
    about = findings.conditions[subject.condition]
    shown = balanced_against_fixed(findings, about.reorder, about.dataset, about.judge)
    if shown.picture is not None and len(shown.picture.panels) > 1:
        st.markdown(shown.title)
        chart(shown.picture, key=f"strategies-{subject.condition}", note=safe(shown.note, 900))
    own = [code for code, other in enumerate(findings.conditions) if other.setting == about.setting]
    lines = order_lines(findings, own)
    if lines:
        _single_orders(lines)


def _single_orders(lines: Sequence[OrderLine]) -> None:
    """Draw r of each order next to its rank, below a sentence that names the best and the worst."""
    st.markdown("**Single orders** · r of each alone, and its rank")
    st.markdown(safe(order_sentence(lines)))
    table = pd.DataFrame(
        [
            {
                "Order": line.name,
                "r": line.r,
                "Rank": f"{line.rank:.0f} of {line.among}" if math.isfinite(line.rank) else "",
                "Interval of r": line.interval,
                "Ordering strategy": line.strategy,
            }
            for line in lines
        ]
    )
    if table["Ordering strategy"].nunique() == 1:
        table = table.drop(columns="Ordering strategy")
    height = min(MOST_HIGH, 36 * (len(lines) + 1) + 4)
    config = {"r": st.column_config.NumberColumn(format="%.2f")}
    st.dataframe(table, hide_index=True, width="content", height=height, column_config=config)
    st.caption("Intervals hold for all orders of a strategy together. A rank has no interval.")


def what_helps(findings: Findings, subject: Subject, below: Callable[[], None]) -> None:
    """Draw the tab What helps: how many calls in which orders, and what else helps.

    ``below`` draws the next step under the answer.
    """
    level = ci_of(findings, subject.condition)
    if subject.reorder in CHOICES:
        note = f"Lines: {level}. All methods use the same number of calls."
        picture = protocol_forest(findings, subject)
        shown = Shown("How often the better answer is chosen", picture, note)
    else:
        curve, note = calls_curve(findings, subject), "Dotted: 0.9, enough for single answers."
        if curve is not None and any(point.has_interval for point in curve.points):
            note += f" Lines on points: {level}."
        shown = Shown("How dependable the mean of several calls is", curve, note)
    answer, key = helps_answer(findings, subject), f"calls-{subject.condition}"
    answer_with_picture(answer, "helps", shown, key, below=below)
    about = findings.conditions[subject.condition]
    enough = orders_enough(findings, about.reorder, about.dataset, about.judge)
    if enough.picture is not None and not subject.variant:
        st.markdown(enough.title)
        chart(enough.picture, key=f"enough-{subject.condition}", note=safe(enough.note, 900))
    own = about.setting
    rows = [row for row in findings.rows if findings.conditions[row.condition].setting == own]
    _folds(findings, rows, HELPS)


def _folds(findings: Findings, rows: Sequence[Row], folds: Mapping[str, Collection[str]]) -> None:
    """Draw a fold for each title that has rows. ``folds``: see PEOPLE and HELPS."""
    fold_of = {name: label for label, names in folds.items() for name in names}
    for label in folds:
        mine = [row for row in rows if fold_of.get(row.measure, fold_of.get(row.topic)) == label]
        if mine:
            draw = _confusion if mine[0].measure == "confusion" else number_table
            fold(label, partial(draw, findings, mine))


def _confusion(findings: Findings, rows: Sequence[Row]) -> None:
    """Draw human scores by the judge's scores as cells, or as numbers if that is impossible."""
    cells = generic(TOPICS["agreement"].charts[0], findings, rows[0].condition)
    if cells is None:
        number_table(findings, rows)
    else:
        chart(cells, key=f"confusion-{rows[0].condition}")


def number_table(findings: Findings, rows: Sequence[Row]) -> None:
    """Draw rows as a table. Conditions are named only if there are several."""
    table: Any = spoken_table(findings, list(rows))
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
    """Draw formula, assumption, and source of a term, below its sentence."""
    parts = ("formula", "assumption", "source")
    lines = [safe(f"{part.capitalize()}: {entry[part]}") for part in parts if part in entry]
    st.caption("  \n".join(lines))
