"""Two conditions' differences in; the sentence, the badges and two pictures out. Of three or more:
a table, unranked.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from rubriclab.core.differences import Pair
from rubriclab.core.topic import Findings, Row
from rubriclab.figures.marks import Picture, Point, picture
from rubriclab.figures.pictures import forest_of, mark, share_bars, undecided_within
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import Answer, Question
from rubriclab.words.facts import CHOICES, EFFECT, EQUIVALENT, UNDECIDED, facts_of
from rubriclab.words.phrases import (
    MINUS,
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

WORDS = ("compare",)
COLUMNS = {
    "Top position": ("position_share",),
    "Change of the mean": ("line", "first_minus_last"),
    "Change of one score": ("order_excess", "choice_excess"),
    "r with people": ("pearson",),
}
"""Of the table of three or more, and the measures that stand in each: the largest number of the
first that there is.
"""


def pair_names(pair: Pair, runs: tuple[str, str] = ("", "")) -> tuple[str, str]:
    """What the two are called: by judge, data set, strategy and variant as far as they differ, else
    by their runs too.
    """
    asked = [arm.condition for arm in pair.arms]
    first, second = (condition_name(condition, asked) for condition in asked)
    if first == second:
        first, second = (
            f"{name} ({shorten(run, 40)})" for name, run in zip((first, second), runs, strict=True)
        )
    return first, second


def compare_answer(pair: Pair, names: tuple[str, str], rows: Sequence[Row]) -> Answer:
    """The answer about two conditions called ``names``; ``rows``: their ``differences``."""
    fields, words = (
        dict(zip("ab", names, strict=True)),
        {row.counts["question"]: row.verdict for row in rows},
    )
    effects = [
        question for question in ("single", "positions", "mean") if words.get(question) == EFFECT
    ]
    line, key = say("line", WORDS, texts=count(pair.texts, "answer")), "undecided"
    if pair.why or "" in words.values():
        whys = [pair.why, *(row.why for row in rows if not row.verdict)]
        key, line = (
            "sizes" if pair.why else "early",
            say(f"line_{next(filter(None, whys))}", WORDS, line=line),
        )
    elif effects:
        row = next(row for row in rows if row.counts["question"] == effects[0])
        way, fields["position"] = "more" if row.value > 0 else "fewer", str(row.of.get("position"))
        shares = row.measure == "position_share"
        key = way if effects[0] == "single" else f"positions_{way}" if shares else effects[0]
    elif set(words.values()) == {EQUIVALENT}:
        key = "small" if any(row.counts["above_zero"] for row in rows) else "alike"
    questions = tuple(_question(pair, row, fields) for row in rows)
    simulated = any(arm.condition.simulated for arm in pair.arms)
    headline = say(key, WORDS, **fields)
    return Answer(
        names[0], pair.arms[0].code, headline, line, questions=questions, simulated=simulated
    )


def _question(pair: Pair, row: Row, names: dict[str, str]) -> Question:
    points, scores = row.about.unit == "points", pair.arms[0].condition.scores
    unit, form, factor = ("points", ".2f", 1.0) if points else ("percentage points", ".0f", 100.0)
    limits = (0.0, row.smallest * factor, -row.smallest * factor)
    low, high = (end * factor for end in row.interval)
    limit, most = (
        f"{number(size * factor, form, limits)}{NBSP}{unit}"
        for size in (row.smallest, row.counts["most"])
    )
    x, y, size = _sides(row, factor, int(form[1]), limits)
    if points:
        x, y = f"{x}{NBSP}points", f"{y}{NBSP}points"
    several = row.counts["question"] == "positions" and row.counts["parts"] > 1
    fields = names | {
        "x": x,
        "y": y,
        "way": "more" if row.value > 0 else "less",
        "why": reason(row),
        "limit": limit,
        "most": most,
        "groups": count(row.estimate.units, "group"),
        "inside": ends(low, high, form, limits=limits),
        "size": f"{size}{NBSP}{unit}",
        "position": str(row.of.get("position", "")),
        "target": shorten(str(row.of.get("target", ""))),
        "first": f"{scores[0]:g}" if scores else "",
        "last": f"{scores[-1]:g}" if scores else "",
        "none": say("none_of_several", WORDS) if several else "",
    }
    key = "why" if row.why and row.verdict == UNDECIDED else row.verdict
    forward = row.counts["question"] == "mean" and pair.arms[0].condition.reorder != "options"
    title = say("title_listed" if forward else f"title_{row.measure}", WORDS, **fields)
    badge = say(f"badge_{row.verdict}", WORDS) if row.verdict else ""
    return Question(badge, title, say(f"said_{key}", WORDS, **fields), row.verdict)


def _sides(
    row: Row, factor: float, decimals: int, limits: tuple[float, ...]
) -> tuple[str, str, str]:
    """(A's number, B's number, the size of their difference) as they are written, so that they add
    up.

    ``row``: a difference in fractions or points; ``factor``: 100 where it is written in percentage
    points.
    """
    a, b = (row.counts[side] for side in "ab")
    low, high = row.interval
    known = math.isfinite(low) and math.isfinite(high)
    inside = (low * factor, high * factor) if known else (-math.inf, math.inf)
    # Answers that one side lost may leave a difference that is not that of the two means.
    if math.isclose(a - b, row.value, abs_tol=1e-9):
        decimals = decimals_of_difference(
            a * factor, b * factor, decimals, limits=limits, inside=inside
        )
        size = shown_difference(a * factor, b * factor, decimals)
    else:
        size = row.value * factor
    form = row.about.form
    written = f"{form[: form.index('.')]}.{decimals}{form[-1]}"
    return number(a, written), number(b, written), number(abs(size), f".{decimals}f")


def shares_beside(pair: Pair, names: tuple[str, str]) -> Picture | None:
    """How often each position was chosen, or won, a bar for each of the two; None where calls
    choose no position.
    """
    points: dict[tuple[str, str], Point] = {}
    for findings, arm, name in zip(pair.findings, pair.arms, names, strict=True):
        chosen = arm.condition.reorder in ("options", *CHOICES)
        facts = facts_of(findings, arm.code)
        drawn = share_bars(findings, facts, arm.code, called=True) if chosen else None
        for point in drawn.points if drawn is not None else ():
            points[name, point.label] = replace(point, decided=False, hover=(name, *point.hover))
    said = "; ".join(
        f"{name} {', '.join(p.text for (own, _), p in points.items() if own == name)}"
        for name in names
    )
    alt = f"Bar chart of how often each position was chosen: {said}."
    return picture("bars", points, alt, axes=("Position in the list", ""))


def difference_forest(rows: Sequence[Row], names: tuple[str, str]) -> Picture | None:
    """The differences in points, or where there are none in shares, with the band of small ones."""
    known = [row for row in rows if math.isfinite(row.value)]
    kept = [row for row in known if row.about.unit == "points"] or known
    unit = "Points" if kept and kept[0].about.unit == "points" else "Share"
    axis = f"{unit}, {shorten(names[0], 16)} {MINUS} {shorten(names[1], 16)}"
    points = []
    for row in kept:
        label, text = (
            say(f"label_{row.counts['question']}", WORDS),
            number(row.value, row.about.form),
        )
        points.append(
            mark(
                row,
                label,
                f"{label}: {text}",
                axis,
                ends(*row.interval, row.about.form) or reason(row),
            )
        )
    without = not kept or any(undecided_within(row, row.verdict, row.smallest) for row in kept)
    return forest_of(points, axis, math.nan if without else kept[0].smallest)


def sizes_table(subjects: Sequence[tuple[str, Findings, int]]) -> pd.DataFrame:
    """A line each, in the order given: nothing is ranked. ``subjects``: (name, findings,
    condition).
    """
    lines = []
    for name, findings, code in subjects:
        line = {"Name": name, "Answers": f"{findings.judgments.arms[code].answers:,}"}
        rows = [
            row
            for row in findings.select(condition=code)
            if "against" not in row.of and math.isfinite(row.value)
        ]
        for column, measures in COLUMNS.items():
            mine = next(
                filter(
                    None, ([row for row in rows if row.measure == measure] for measure in measures)
                ),
                [],
            )
            top = max(mine, key=lambda row: (not row.of, abs(row.value)), default=None)
            about = f"{next(iter(top.of.values()))}: " if top is not None and top.of else ""
            line[column] = about + row_text(top) if top is not None else "–"
        lines.append(line)
    return pd.DataFrame(lines)
