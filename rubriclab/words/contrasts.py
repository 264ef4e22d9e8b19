"""Say whether two conditions differ: a headline and a badge for each question.

Three or more conditions get a table of their numbers, which ranks nothing.
"""

import math
from collections.abc import Sequence

import pandas as pd

from rubriclab.core.differences import Pair
from rubriclab.core.topic import Findings, Row
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import Answer, Question
from rubriclab.words.phrases import (
    NBSP,
    condition_name,
    decimals_of_difference,
    ends,
    number,
    reason,
    row_text,
    say,
    shown_difference,
)
from rubriclab.words.subject import EFFECT, EQUIVALENT, UNDECIDED

WORDS = ("compare",)
COLUMNS = {
    "Top position": ("position_share",),
    "Change of the mean": ("line", "first_minus_last"),
    "Change of one score": ("order_excess", "choice_excess"),
    "r with people": ("pearson",),
}
"""The columns of the table of three or more. Each shows the largest number of the first of its
measures that a condition has.
"""
ORDER_OF_HEADLINES = ("single", "positions", "mean")
"""The question whose difference the headline says, if several differ: single scores matter most."""
MOST_RUN = 40
"""Characters of a run's name where it tells two conditions apart."""


def pair_names(pair: Pair, runs: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """Return what the two are called: by judge, data set, strategy and variant as far as they
    differ, else by their runs too.
    """
    conditions = [arm.condition for arm in pair.arms]
    first, second = (condition_name(condition, conditions) for condition in conditions)
    if first == second:
        first = f"{first} ({shorten(runs[0], MOST_RUN)})"
        second = f"{second} ({shorten(runs[1], MOST_RUN)})"
    return first, second


def compare_answer(pair: Pair, names: tuple[str, str], rows: Sequence[Row]) -> Answer:
    """Return the answer about two conditions called ``names``; ``rows``: their ``differences``."""
    fields = {"a": names[0], "b": names[1]}
    line = say("line", WORDS, texts=count(pair.texts, "answer"))
    if pair.why or any(not row.verdict for row in rows):
        whys = [pair.why, *(row.why for row in rows if not row.verdict)]
        known = [why for why in whys if why]
        line = say(f"line_{known[0]}", WORDS, line=line)
        key = "sizes" if pair.why else "early"
    else:
        key, position = _headline(rows)
        if key == "mean" and rate_of(pair) is not None:
            key = "rate"
        fields["position"] = position
    return Answer(
        judge=names[0],
        condition=pair.arms[0].code,
        headline=say(key, WORDS, **fields),
        line=line,
        questions=tuple(_question(pair, row, fields) for row in rows),
        simulated=any(arm.condition.simulated for arm in pair.arms),
    )


def rate_of(pair: Pair) -> PassRate | None:
    """Return what mean scores of the two say as a pass rate; None unless there are two scores."""
    return pair.findings[0].pass_rate(pair.arms[0].code)


def _headline(rows: Sequence[Row]) -> tuple[str, str]:
    """Return (the headline's key, the position that it names) where every question has a word."""
    by_question = {row.counts["question"]: row for row in rows}
    for question in ORDER_OF_HEADLINES:
        row = by_question.get(question)
        if row is not None and row.verdict == EFFECT:
            return _headline_of_effect(question, row), str(row.of.get("position"))
    if {row.verdict for row in rows} == {EQUIVALENT}:
        differ = any(row.counts["above_zero"] for row in rows)
        return "small" if differ else "alike", ""
    return "undecided", ""


def _headline_of_effect(question: str, row: Row) -> str:
    """Return which headline says that a question differs."""
    way = "more" if row.value > 0 else "fewer"
    if question == "single":
        return way
    if row.measure == "position_share":
        return f"positions_{way}"
    return question


def _question(pair: Pair, row: Row, names: dict[str, str]) -> Question:
    """Return the question of one difference, with its badge."""
    question, scores = row.counts["question"], pair.arms[0].condition.scores
    rate = rate_of(pair)
    unit, form, factor = unit_of(row, rate)
    limit = row.smallest * abs(factor)
    limits = (0.0, limit, -limit)
    low, high = sorted(end * factor for end in row.interval)
    x, y, size = _sides(row, factor, int(form[1]), limits)
    if row.in_points:
        x, y = f"{x}{NBSP}{unit}", f"{y}{NBSP}{unit}"
    several = question == "positions" and row.counts["parts"] > 1
    fields = names | {
        "x": x,
        "y": y,
        "way": "more" if row.value * factor > 0 else "less",
        "why": reason(row),
        "limit": f"{number(limit, form, limits)}{NBSP}{unit}",
        "most": f"{number(row.counts['most'] * abs(factor), form, limits)}{NBSP}{unit}",
        "groups": count(row.estimate.units, "group"),
        "inside": ends(low, high, form, level=row.level, limits=limits),
        "size": f"{size}{NBSP}{unit}",
        "position": str(row.of.get("position", "")),
        "target": shorten(str(row.of.get("target", ""))),
        "first": f"{scores[0]:g}" if scores else "",
        "last": f"{scores[-1]:g}" if scores else "",
        "none": say("none_of_several", WORDS) if several else "",
    }
    if rate is not None:
        fields |= {"high": rate.passes, "low": rate.fails}
    title = f"title_{row.measure}"
    if rate is not None and row.in_points:
        title = f"title_rate_{question}"
    elif question == "mean" and pair.arms[0].condition.reorder != "options":
        title = "title_listed"
    key = "why" if row.why and row.verdict == UNDECIDED else row.verdict
    return Question(
        badge=say(f"badge_{row.verdict}", WORDS) if row.verdict else "",
        title=say(title, WORDS, **fields),
        sentence=say(f"said_{key}", WORDS, **fields),
        verdict=row.verdict,
    )


def unit_of(row: Row, rate: PassRate | None) -> tuple[str, str, float]:
    """Return (the unit of a question's numbers, their form, what turns a number into that unit).

    Points of two scores are percentage points: of the pass rate where the score that passes is
    listed first, minus that where it is listed last; and of single verdicts.
    """
    if not row.in_points:
        return "percentage points", ".0f", 100.0
    if rate is None:
        return "points", ".2f", 1.0
    factor = abs(rate.factor)
    if row.counts["question"] == "mean":
        # The row is of the list from low to high, in points. In it the higher score is last.
        factor = -factor
    return "percentage points", ".1f", factor


def _sides(
    row: Row, factor: float, decimals: int, limits: tuple[float, ...]
) -> tuple[str, str, str]:
    """Write (A's number, B's number, the size of their difference), so that they add up.

    ``row``: a difference in fractions or points. ``factor``: 100 where it is written in percentage
    points.
    """
    a, b = row.counts["a"], row.counts["b"]
    low, high = row.interval
    inside = (-math.inf, math.inf)
    if math.isfinite(low) and math.isfinite(high):
        inside = (min(low * factor, high * factor), max(low * factor, high * factor))
    # Answers that one side lost may leave a difference that is not that of the two means.
    if math.isclose(a - b, row.value, abs_tol=1e-9):
        decimals = decimals_of_difference(
            a * factor, b * factor, decimals, limits=limits, inside=inside
        )
        size = shown_difference(a * factor, b * factor, decimals)
    else:
        size = row.value * factor
    sign = "+" if row.about.form.startswith("+") else ""
    if row.in_points:
        written = f"{sign}.{decimals}f"
        a, b = a * factor, b * factor
    else:
        written = f"{sign}.{decimals}{row.about.form[-1]}"
    return number(a, written), number(b, written), number(abs(size), f".{decimals}f")


def sizes_table(subjects: Sequence[tuple[str, Findings, int]]) -> pd.DataFrame:
    """Return a line for each (name, findings, condition), in the order given: nothing is ranked."""
    lines = []
    for name, findings, code in subjects:
        line = {"Name": name, "Answers": f"{findings.judgments.arms[code].answers:,}"}
        rows = [
            row
            for row in findings.select(condition=code)
            if "against" not in row.of and math.isfinite(row.value)
        ]
        for column, measures in COLUMNS.items():
            line[column] = _largest_text(rows, measures)
        lines.append(line)
    return pd.DataFrame(lines)


def _largest_text(rows: Sequence[Row], measures: Sequence[str]) -> str:
    """Write the largest number of the first of these measures that has any, or a dash."""
    for measure in measures:
        mine = [row for row in rows if row.measure == measure]
        if not mine:
            continue
        top = max(mine, key=lambda row: (not row.of, abs(row.value)))
        parts = [str(part) for part in top.of.values()]
        return f"{parts[0]}: {row_text(top)}" if parts else row_text(top)
    return "–"
