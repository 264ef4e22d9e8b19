"""Write numbers, units, intervals, and names: the only place that formats a number for people.

The sentences are in ``sentences.toml``; ``say`` fills in their fields.
"""

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rubriclab.core.topic import REASONS, Caution, Findings, Measure, Row
from rubriclab.model.judgment import Condition, order_text, variant_text
from rubriclab.model.passing import PassRate
from rubriclab.model.text import counted, shorten

MINUS, NBSP = "\u2212", "\u00a0"
UNKNOWN = "unknown"
MOST_SHOWN = 40
"""Characters of a name from outside, so that a sentence stays readable."""
MORE_DECIMALS = 3
"""Decimals that a number may have beyond its form, to stay on its side of a limit."""
SMALLEST_P = 0.001
"""A smaller p is written as “p < 0.001”: its digits mean nothing."""
SENTENCES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "sentences.toml").read_text("utf-8")
)
"""Tables of sentences by their keys; see the file."""
PROTOCOLS = {
    "bare": "a bare scale",
    "options": "reordered options",
    "examples": "reordered examples",
    "criteria": "reordered criteria",
    "responses": "several answers in one call",
    "pairs": "pairs",
    "lists": "lists",
}
"""What conditions are called that differ in what their calls list."""
ONE_ORDER = ("fixed", "descending", "ascending", "min-bias")
"""Ordering strategies that ask every item in one order."""
READABLE = {
    "dataset": "Data set",
    "strategy": "Ordering strategy",
    "target": "Criterion",
    "ids": "Score labels",
    "pass_fail": "Pass or fail",
}
"""Keys of rows, axes and topics that are not read as they are written."""


def number(value: float, form: str = ".2f", limits: Iterable[float] = ()) -> str:
    """Write ``value`` in a Python format, with a true minus and never a negative zero.

    It has as many decimals (up to MORE_DECIMALS more) as keep it on its side of every limit: an end
    of 4.8 with a smallest effect of 5 is “4.8”, not “5”; a low end of 0.004 with the limit 0 is
    “0.004”; and a share that is neither 0 nor 1 is not written as 0% or 100%.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    before, _, after = form[:-1].rpartition(".")
    decimals, kind = int(after or 0), form[-1]
    scale, limits = 1, tuple(limits)
    if kind == "%":
        scale, limits = 100, (*limits, -1.0, 0.0, 1.0)
    exact = round(value, 12)
    for more in range(MORE_DECIMALS + 1):
        rounded = round(exact * scale, decimals + more)
        if all(_same_side(exact, rounded, limit, limit * scale) for limit in limits):
            break
    text = format(value, f"{before}.{decimals + more}{kind}")
    zero = not text.strip("+-%").strip("0.,")
    if zero:
        text = text.lstrip("+-")
    return text.replace("-", MINUS)


def _same_side(exact: float, shown: float, limit: float, shown_limit: float) -> bool:
    """Return whether a number as shown is above, at or below a limit as the exact one is."""
    return (exact > limit) == (shown > shown_limit) and (exact < limit) == (shown < shown_limit)


def decimals_of_difference(
    a: float,
    b: float,
    decimals: int = 0,
    *,
    limits: Iterable[float] = (),
    inside: tuple[float, float] = (-math.inf, math.inf),
    off: float = 0.5,
) -> int:
    """Return how many decimals ``a`` and ``b`` need for their difference to be read off them as
    shown.

    Numbers on one screen add up, so a difference is that of the two rounded numbers. It needs as
    many decimals (``decimals`` to MORE_DECIMALS more) as keep it on the side of every limit where
    the exact difference is, and ``inside`` its interval as that is rounded; one more where it is
    ``off`` by more than so much of the last digit.
    """
    exact = round(a - b, 9)
    limits = (0.0, *limits)
    for shown_decimals in range(decimals, decimals + MORE_DECIMALS + 1):
        shown = shown_difference(a, b, shown_decimals)
        low, high = (round(end, shown_decimals) for end in inside)
        sides = all(_same_side(exact, shown, limit, limit) for limit in limits)
        within = low <= shown <= high or not low <= exact <= high
        # Two numbers rounded each for itself may stay a last digit off at any precision: one more
        # is enough.
        rounded = shown_decimals > decimals or abs(shown - exact) <= off * 10.0**-decimals + 1e-9
        if rounded and sides and within:
            return shown_decimals
    return shown_decimals


def shown_difference(a: float, b: float, decimals: int) -> float:
    """Return the difference of two numbers as they are shown, so that the three of them add up."""
    return round(round(a, decimals) - round(b, decimals), decimals)


def ci(level: float, *others: float) -> str:
    """Return what intervals at these levels are called: “95% CI”, or “95% to 98.23% CI”."""
    every = (level, *others)
    lowest, highest = level_text(min(every)), level_text(max(every))
    return f"{lowest} CI" if lowest == highest else f"{lowest} to {highest} CI"


def level_text(level: float) -> str:
    """Write the level of an interval: “98.23%”."""
    return f"{100 * level:.4g}%"


def ci_of(findings: Findings, *codes: int) -> str:
    """Return what intervals about these conditions are called, or about all of the run."""
    return ci(*findings.levels(*codes))


def ends(
    low: float, high: float, form: str = ".2f", *, level: float, limits: Iterable[float] = ()
) -> str:
    """Write “95% CI 0.19 to 0.49”, with the level that it is at; empty where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    limits = tuple(limits)
    lower, upper = number(low, form, limits), number(high, form, limits)
    return f"{ci(level)} {lower.removesuffix('%')} to {upper}"


class _Fields(dict[str, Any]):
    """The fields of a sentence: those that were given, else other ``words`` of its tables, which
    have fields of their own.
    """

    words: Mapping[str, str]

    def __missing__(self, key: str) -> str:
        return self.words[key].format_map(self)


def say(key: str, tables: Iterable[str], **fields: Any) -> str:
    """Return the sentence ``key`` of the last of these tables that has it, with its fields filled
    in.

    A field that is not given is another word of the tables.
    """
    given = _Fields(fields)
    given.words = {
        name: words for table in tables for name, words in SENTENCES.get(table, {}).items()
    }
    text = given.words[key].format_map(given)
    return re.sub(r"(?<=\d) (?=(?:points\b|percentage points\b))", NBSP, text)


def caution_text(caution: Caution) -> str:
    """Return a caution as a sentence, its numbers counted and its orders and scores named."""
    of = dict(caution.of)
    for key in {"order", "against"} & of.keys():
        of[key] = order_name(of[key], caution.rate)
    if caution.rate is not None and "score" in of:
        of["score"] = score_name(of["score"], caution.rate)
    return counted(replace(caution, of=of).sentence)


def cautions_about(
    findings: Findings, condition: int, topics: Collection[str], said: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the cautions of these topics about a condition, each once.

    ``said``: the kinds that something else says already.
    """
    sentences = [
        caution_text(caution)
        for caution in findings.cautions
        if caution.condition == condition and caution.topic in topics and caution.kind not in said
    ]
    return tuple(dict.fromkeys(sentences))


def readable(key: str) -> str:
    """Return a key of rows, axes or topics as it is read: “Data set”, “What goes along”."""
    return READABLE.get(key) or key.replace("_", " ").capitalize()


def p_value(p: float | None) -> str:
    """Write “p = 0.031” or “p < 0.001”; empty where there is none."""
    if p is None or not math.isfinite(p):
        return ""
    if p < SMALLEST_P:
        return f"p{NBSP}<{NBSP}0.001"
    return f"p{NBSP}={NBSP}{p:.3f}" if p < 0.1 else f"p{NBSP}={NBSP}{p:.2f}"


def order_title(shown: Sequence[Any]) -> str:
    """Write an order as it is read: “1 to 5” where scores run through, “4 3 2 1 5”, “Clarity |
    Depth”.
    """
    numbers = all(isinstance(part, int | float) for part in shown)
    if numbers and len(shown) > 2 and len(set(np.sign(np.diff(shown)))) == 1:
        return f"{shown[0]:g} to {shown[-1]:g}"
    return order_text(shown).replace("|", " | ")


def order_name(order: str, rate: PassRate | None) -> str:
    """Return what lists, tables and charts call an order: “Fail first”, or the order as it is.

    ``order``: as rows have it. ``rate``: of two scores, which are named by their labels.
    """
    return order if rate is None else f"{first_listed(order, rate)} first"


def in_order(order: str, rate: PassRate | None) -> str:
    """Say in which order: “when Fail is listed first”, or “in order 5 4 3 2 1”."""
    if rate is None:
        return f"in order {order}"
    return f"when {first_listed(order, rate)} is listed first"


def first_listed(order: str, rate: PassRate) -> str:
    """Return what sentences call the score that an order of two lists first."""
    return rate.name_of(float(order.split()[0]))


def score_name(score: float, rate: PassRate | None) -> str:
    """Return what a sentence calls a score: “score 4”, or the label of one of two scores."""
    if rate is None or score not in (rate.score, rate.other):
        return f"score {score:g}"
    return rate.name_of(score)


def measure_of(row: Row, conditions: Sequence[Condition] = ()) -> Measure:
    """Return how a row is called and written in its condition.

    Leans of criteria are points, those of options are shares. Choices have winners, not scores.
    """
    about = row.about
    if not conditions:
        return about
    condition = conditions[row.condition]
    if condition.reorder == "examples" and "examples" in about.names:
        return replace(about, name=about.names["examples"], form=".2f", unit="points")
    if condition.joint and "points" in about.names:
        return replace(about, name=about.names["points"], form=".2f", unit="points")
    if condition.chooses and "chooses" in about.names:
        return replace(about, name=about.names["chooses"])
    return about


def name(row: Row, conditions: Sequence[Condition] = ()) -> str:
    """Return what a row is about: its label, and whatever of it the label leaves out.

    Another condition that the row is compared with has a name where ``conditions`` are given.
    """
    about = measure_of(row, conditions)
    against = against_name(row, conditions)
    if against:
        row = replace(row, of={**row.of, "against": against})
    label = about.label or about.name
    more = [
        f"{key} {shorten(str(value), MOST_SHOWN)}"
        for key, value in row.of.items()
        if f"{{{key}}}" not in label
    ]
    title = replace(row, of=_in_words(row)).label if about.label else label
    if label.startswith("{score}"):
        title = capital(title)
    return f"{title} ({', '.join(more)})" if more else title


def _in_words(row: Row) -> dict[str, Any]:
    """Return what a row is about, with the words for its order and its scores."""
    made = dict(row.of)
    if "order" in made:
        made["order"] = in_order(str(made["order"]), row.rate)
    if isinstance(made.get("score"), int | float):
        made["score"] = score_name(made["score"], row.rate)
    if row.rate is not None and made.get("rating") in (row.rate.score, row.rate.other):
        made["rating"] = row.rate.name_of(made["rating"])
    return made


def against_name(row: Row, conditions: Sequence[Condition], *, brief: bool = False) -> str:
    """Return what a row is compared with: how that condition differs from the row's own.

    Judge, data set, what is reordered, ordering strategy, variant, and scale, in this order and
    only as far as the two differ: “GPT-4o”, “the fixed order”. Empty where the row is compared with
    no condition of these. ``brief``: strategies by their names alone, as heads of columns are:
    “fixed”.
    """
    against = row.of.get("against")
    if not isinstance(against, int) or not 0 <= against < len(conditions):
        return ""
    own, other = conditions[row.condition], conditions[against]
    parts = []
    if other.judge != own.judge:
        parts.append(shorten(other.judge, MOST_SHOWN))
    if other.dataset != own.dataset:
        parts.append(shorten(other.dataset, MOST_SHOWN))
    if other.reorder != own.reorder:
        parts.append(PROTOCOLS[other.reorder])
    if other.strategy != own.strategy:
        whole = strategy_name(other.strategy)
        parts.append(shorten(other.strategy, MOST_SHOWN) if brief else whole)
    if other.variant_key != own.variant_key:
        parts.append(_variant_name(other, own))
    elif other.scores != own.scores:
        parts.append(f"scores {other.scores[0]:g} to {other.scores[-1]:g}")
    if parts:
        return ", ".join(parts)
    return f"{shorten(other.judge, MOST_SHOWN)} (second)"


def strategy_name(strategy: str) -> str:
    """Return an ordering strategy as a sentence names it: “the fixed order”."""
    if strategy in ONE_ORDER:
        return f"the {strategy} order"
    return f"the {shorten(strategy, MOST_SHOWN)} orders"


def _variant_name(other: Condition, own: Condition) -> str:
    """Return the levels of a variant that differ from those of the condition it is beside."""
    text = variant_text(other.variant, own.variant)
    return shorten(text, MOST_SHOWN) if text else "the default form"


def reason(row: Row | None) -> str:
    """Say why a row has no number, interval or verdict; empty where it has, and for no row."""
    return REASONS[row.why] if row is not None and row.why else ""


def inside(row: Row, about: Measure | None = None) -> str:
    """Write the interval of a row as it is put in brackets, or why there is none."""
    about = about or row.about
    known = ends(*row.interval, about.form, level=row.level)
    if _of_shares(about):
        known = known.removesuffix("%")
    return known or lowered(reason(row))


def _of_shares(about: Measure) -> bool:
    """Return whether a measure is a difference of shares, which is written in points of 100."""
    signed = about.form.startswith("+") or about.unit == "percentage points"
    return signed and about.form.endswith("%")


def lowered(sentence: str) -> str:
    """Return a sentence as a part of another: no full stop, no capital at its start."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def capital(text: str) -> str:
    """Return a text as a sentence begins: its first letter is a capital, the others stay."""
    return text[:1].upper() + text[1:]


def row_numbers(row: Row, smallest: float = 0.0, rate: PassRate | None = None) -> dict[str, str]:
    """Write what a sentence says of a row, each number with its unit and on its side of what
    decides.

    ``size``: its number without sign; ``inside``: its interval, or why there is none; ``limit``:
    the ``smallest`` effect that matters. ``rate``: of two scores, whose points are written as
    percentage points of the pass rate.
    """
    unit, form, factor = "", ".2f", 1.0
    if row.in_points:
        unit = f"{NBSP}points"
    if row.in_points and rate is not None:
        unit, form, factor = f"{NBSP}percentage points", ".1f", abs(rate.factor)
    limit = smallest * abs(factor)
    low, high = (factor * end for end in row.interval)
    known = ends(low, high, form, level=row.level, limits=(0.0, limit, -limit))
    return {
        "size": f"{number(abs(row.value * factor), form)}{unit}",
        "inside": known or lowered(reason(row)),
        "limit": f"{number(limit, form if rate is None else '.3g')}{unit}",
    }


def size_numbers(row: Row, smallest: float, rate: PassRate) -> dict[str, str]:
    """Write what a sentence says of a change of the pass rate that names its direction in words.

    As ``row_numbers``; but ``inside`` is the interval of the size, so an end beyond 0 is negative.
    """
    numbers = row_numbers(row, smallest, rate)
    factor = abs(rate.factor) if row.value >= 0 else -abs(rate.factor)
    limit = smallest * abs(factor)
    low, high = sorted(factor * end for end in row.interval)
    known = ends(low, high, ".1f", level=row.level, limits=(0.0, limit, -limit))
    return numbers | {"inside": known or numbers["inside"]}


def value_text(row: Row, about: Measure | None = None) -> str:
    """Write a row's number with its unit: “0.62 points”, “61%” (the format of shares has the %),
    “+5 percentage points” for a difference of shares.
    """
    about = about or row.about
    text = number(row.value, about.form)
    if _of_shares(about) and text != UNKNOWN:
        return f"{text.removesuffix('%')}{NBSP}percentage points"
    if about.unit in ("points", "percentage points") and text != UNKNOWN:
        return f"{text}{NBSP}{about.unit}"
    return text


def row_text(row: Row, conditions: Sequence[Condition] = ()) -> str:
    """Write a row's number with interval and test: “0.62 points (95% CI 0.51 to 0.70), F: p <
    0.001”.

    A row that is a test alone has no number. An unbiased estimate may lie below its interval, which
    is cut at 0: that is said, so that no number lies outside its interval without a word.
    """
    about = measure_of(row, conditions)
    tested = f"{row.test[0]}: {p_value(row.p)}" if row.test and p_value(row.p) else ""
    if tested and not row.why and not math.isfinite(row.value):
        return tested
    text, in_brackets = value_text(row, about), inside(row, about)
    if row.value < row.interval[0]:
        in_brackets += "; below 0 only by chance"
    if in_brackets:
        text += f" ({in_brackets})"
    return f"{text}, {tested}" if tested else text


def condition_name(condition: Condition, others: Iterable[Condition] = ()) -> str:
    """Return judge, data set, strategy and variant, as far as they tell a condition from
    ``others``.
    """
    every = list(others) or [condition]
    parts = [condition.judge]
    if len({other.dataset for other in every}) > 1:
        parts.append(condition.dataset)
    if len({other.strategy for other in every}) > 1:
        parts.append(condition.strategy)
    parts += [f"{key} = {value}" for key, value in condition.variant.items()]
    return " · ".join(shorten(part, MOST_SHOWN) for part in parts)
