"""Rows in, words out: the one writer of a number, its unit and its interval."""

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.core.topic import REASONS, Caution, Measure, Row
from rubriclab.model.judgment import Condition, order_text
from rubriclab.model.text import counted, shorten

MINUS, NBSP = "\u2212", "\u00a0"
UNKNOWN = "unknown"
MOST_SHOWN = 40
SENTENCES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "sentences.toml").read_text("utf-8")
)
"""Tables of sentences by their keys; see the file."""


def number(value: float, form: str = ".2f", limits: Iterable[float] = ()) -> str:
    """``value`` in a Python format, with a true minus, a no-break space before %, and never a
    negative zero.

    It has as many decimals (up to three more) as keep it on its side of every limit: an end of 4.8
    beside a smallest effect of 5 is “4.8”, not “5”; a low end of 0.004 beside 0 is “0.004”; and a
    share that is neither 0 nor 1 is not written as 0% or 100%.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    before, _, after = form[:-1].rpartition(".")
    decimals, kind = int(after or 0), form[-1]
    scale, limits = (100, (*limits, -1.0, 0.0, 1.0)) if kind == "%" else (1, tuple(limits))
    exact = round(value, 12)
    for more in range(4):
        rounded = round(exact * scale, decimals + more)
        if all(
            (exact > x) == (rounded > x * scale) and (exact < x) == (rounded < x * scale)
            for x in limits
        ):
            break
    text = format(value, f"{before}.{decimals + more}{kind}")
    if not text.strip("+-%").strip("0.,"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def decimals_of_difference(
    a: float,
    b: float,
    decimals: int = 0,
    *,
    limits: Iterable[float] = (),
    inside: tuple[float, float] = (-math.inf, math.inf),
) -> int:
    """Return how many decimals ``a`` and ``b`` need for their difference to be read off them as
    shown.

    Numbers on one screen add up, so a difference is that of the two rounded numbers. It needs as
    many decimals (``decimals`` to three more) as keep it on the side of every limit where the exact
    difference is, and ``inside`` its interval as that is rounded; one more where whole numbers are
    no rounding of it.
    """
    exact = round(a - b, 9)
    limits = (0.0, *limits)
    for shown_decimals in range(decimals, decimals + 4):
        shown = shown_difference(a, b, shown_decimals)
        low, high = (round(end, shown_decimals) for end in inside)
        sides = all(
            (exact > limit) == (shown > limit) and (exact < limit) == (shown < limit)
            for limit in limits
        )
        # Two numbers rounded each for itself may stay a last digit off at any precision: one more
        # is enough.
        rounded = shown_decimals > decimals or abs(shown - exact) <= 0.5 * 10.0**-decimals + 1e-9
        if rounded and sides and (low <= shown <= high or not low <= exact <= high):
            return shown_decimals
    return shown_decimals


def shown_difference(a: float, b: float, decimals: int) -> float:
    """Return the difference of two numbers as they are shown, so that the three of them add up."""
    return round(round(a, decimals) - round(b, decimals), decimals)


def ci(level: float = 0.95) -> str:
    """“95% CI”: what an interval is called."""
    return f"{100 * level:.4g}% CI"


def ends(
    low: float, high: float, form: str = ".2f", level: float = 0.95, limits: Iterable[float] = ()
) -> str:
    """“95% CI 0.19 to 0.49”, with the level that it is at; empty where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    limits = tuple(limits)
    lower, upper = number(low, form, limits), number(high, form, limits)
    return f"{ci(level)} {lower.removesuffix('%')} to {upper}"


class _Fields(dict[str, Any]):
    """What stands in a sentence's braces: a given field, else one of ``words``, with fields of its
    own.
    """

    words: Mapping[str, str]

    def __missing__(self, key: str) -> str:
        return self.words[key].format_map(self)


def say(key: str, tables: Iterable[str], **fields: Any) -> str:
    """The sentence ``key`` of the last of these tables that has it, with its fields and other words
    filled in.
    """
    given = _Fields(fields)
    given.words = {
        name: words for table in tables for name, words in SENTENCES.get(table, {}).items()
    }
    return re.sub(
        r"(?<=\d) (?=(?:points\b|percentage points\b))", NBSP, given.words[key].format_map(given)
    )


def caution_text(caution: Caution) -> str:
    """Return a caution as a sentence, its numbers counted."""
    return counted(caution.sentence)


def readable(key: str) -> str:
    """A key of rows, axes or topics as it is read: “Data set”, “Temperature”, “What goes along”."""
    named = {
        "dataset": "Data set",
        "strategy": "Ordering strategy",
        "target": "Criterion",
        "ids": "Score labels",
    }
    return named.get(key) or key.replace("_", " ").capitalize()


def p_value(p: float | None) -> str:
    """“p = 0.031”, “p < 0.001”; empty where there is none."""
    if p is None or not math.isfinite(p):
        return ""
    return (
        f"p{NBSP}<{NBSP}0.001"
        if p < 0.001
        else f"p{NBSP}={NBSP}{p:.3f}"
        if p < 0.1
        else f"p{NBSP}={NBSP}{p:.2f}"
    )


def order_title(shown: Sequence[Any]) -> str:
    """An order as it is read: “1 to 5” where scores run through, else “4 3 2 1 5”; “Clarity |
    Depth”.
    """
    numbers = all(isinstance(part, int | float) for part in shown)
    if numbers and len(shown) > 2 and len(set(np.sign(np.diff(shown)))) == 1:
        return f"{shown[0]:g} to {shown[-1]:g}"
    return order_text(shown).replace("|", " | ")


def measure_of(row: Row, conditions: Sequence[Condition] = ()) -> Measure:
    """How a row is called and written: the lean of criteria is in points, that of options a share;
    choices have winners.
    """
    about, asked = row.about, conditions[row.condition] if conditions else None
    if asked and asked.joint and "points" in about.names:
        return replace(about, name=about.names["points"], form=".2f", unit="points")
    return (
        replace(about, name=about.names["chooses"])
        if asked and asked.chooses and "chooses" in about.names
        else about
    )


def name(row: Row, conditions: Sequence[Condition] = ()) -> str:
    """What the row is about: its label, and whatever of it the label leaves out."""
    about = measure_of(row, conditions)
    label = about.label or about.name
    more = [
        f"{key} {shorten(str(value), MOST_SHOWN)}"
        for key, value in row.of.items()
        if f"{{{key}}}" not in label
    ]
    return (row.label if about.label else label) + (f" ({', '.join(more)})" if more else "")


def reason(row: Row | None) -> str:
    """Why a row has no number, interval or verdict, in words; empty where it has, and of no row."""
    return REASONS[row.why] if row is not None and row.why else ""


def inside(row: Row, about: Measure | None = None) -> str:
    """The interval of a row, or why it has none, as it stands in brackets."""
    return ends(*row.interval, (about or row.about).form, row.level) or lowered(reason(row))


def lowered(sentence: str) -> str:
    """A sentence as a part of another: without its full stop and its first capital."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def row_numbers(row: Row, smallest: float = 0.0) -> dict[str, str]:
    """What a sentence says of a row: ``size``, its number without sign; ``inside``, its interval or
    why there is none; ``limit``, the smallest effect; with their unit, each on its side of what
    decides.
    """
    unit = f"{NBSP}points" if row.about.unit == "points" else ""
    known = ends(*row.interval, ".2f", row.level, (0.0, smallest, -smallest))
    size, limit = (f"{number(value)}{unit}" for value in (abs(row.value), smallest))
    return {"size": size, "inside": known or lowered(reason(row)), "limit": limit}


def value_text(row: Row, about: Measure | None = None) -> str:
    """A row's number with its unit: “0.62 points”, “61%” (shares carry their % in the format)."""
    about = about or row.about
    text = number(row.value, about.form)
    return (
        f"{text}{NBSP}{about.unit}"
        if about.unit in ("points", "percentage points") and text != UNKNOWN
        else text
    )


def row_text(row: Row, conditions: Sequence[Condition] = ()) -> str:
    """A row's number with interval and test: “0.62 points (95% CI 0.51 to 0.70), F: p < 0.001”.

    A row that is a test alone has no number. An unbiased estimate may lie below its interval, which
    is cut at 0: that is said, so that no number stands outside its interval without a word.
    """
    about = measure_of(row, conditions)
    tested = f"{row.test[0]}: {p_value(row.p)}" if row.test and p_value(row.p) else ""
    if tested and not row.why and not math.isfinite(row.value):
        return tested
    in_brackets = inside(row, about)
    if row.value < row.interval[0]:
        in_brackets += "; below 0 only by chance"
    return (
        value_text(row, about)
        + (f" ({in_brackets})" if in_brackets else "")
        + (f", {tested}" if tested else "")
    )


def condition_name(condition: Condition, beside: Iterable[Condition] = ()) -> str:
    """Judge, data set, strategy and variant, as far as they tell this condition from those
    ``beside`` it.
    """
    others = list(beside) or [condition]
    parts = [condition.judge]
    if len({other.dataset for other in others}) > 1:
        parts.append(condition.dataset)
    if len({other.strategy for other in others}) > 1:
        parts.append(condition.strategy)
    parts += [f"{key} = {value}" for key, value in condition.variant.items()]
    return " · ".join(shorten(part, MOST_SHOWN) for part in parts)
