"""Rows in, words out: the one writer of a number, its unit and its interval, for pages, reports, charts and terminals."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.model.judgment import Condition
from rubriclab.model.text import printable, shorten

MINUS, NBSP = "\u2212", "\u00a0"
UNKNOWN = "unknown"
MOST_SHOWN = 40


def number(value: float, form: str = ".2f") -> str:
    """``value`` in a Python format, with a true minus, a no-break space before %, and never a negative zero."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = format(value, form)
    digits = text.strip("+-%")
    if not digits.strip("0.,"):
        text = text.lstrip("+-")
    return text.replace("-", MINUS).replace("%", NBSP + "%")


def beside(value: float, limits: Iterable[float], form: str) -> str:
    """As ``number``, with as many decimals (up to three more) as keep it on its side of every limit.

    An end of 4.8 beside a smallest effect of 5 is “4.8”, not “5”; a low end of 0.004 is “0.004”, not “0.00”.
    """
    kind = form[-1]
    decimals = int(form[:-1].rpartition(".")[2] or 0)
    scale = 100 if kind == "%" else 1
    for more in range(4):
        rounded = round(value * scale, decimals + more)
        if all((value > x) == (rounded > x * scale) and (value < x) == (rounded < x * scale) for x in limits):
            break
    return number(value, f"{form[:-1].rpartition('.')[0]}.{decimals + more}{kind}")


def ends(low: float, high: float, form: str = ".2f", level: float = 0.95, limits: Iterable[float] = ()) -> str:
    """“95 % CI 0.19 to 0.49”, with the level that it is at; empty where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    limits = tuple(limits)
    lower, upper = beside(low, limits, form), beside(high, limits, form)
    return f"{100 * level:.4g}{NBSP}% CI {lower.removesuffix(NBSP + '%')} to {upper}"


def p_value(p: float | None) -> str:
    """“p = 0.031”, “p < 0.001”; empty where there is none."""
    if p is None or not math.isfinite(p):
        return ""
    return f"p{NBSP}<{NBSP}0.001" if p < 0.001 else f"p{NBSP}={NBSP}{p:.3f}" if p < 0.1 else f"p{NBSP}={NBSP}{p:.2f}"


def with_unit(text: str, unit: str) -> str:
    """A number with its unit behind a no-break space; shares carry their % in the format."""
    return f"{text}{NBSP}{unit}" if unit in ("points", "percentage points") and text != UNKNOWN else text


def name(row: Row) -> str:
    """What the row is about: its label, and whatever of it the label leaves out."""
    label = row.about.label or row.about.name
    beside_it = [
        f"{key} {shorten(str(value), MOST_SHOWN)}" for key, value in row.of.items() if f"{{{key}}}" not in label
    ]
    return row.label + (f" ({', '.join(beside_it)})" if beside_it else "")


def interval(row: Row) -> str:
    """“95 % CI 0.19 to 0.49” of a row, at the row's own level; empty where it has none."""
    return ends(*row.interval, form=row.about.form, level=row.level)


def reason(row: Row) -> str:
    """Why a row has no number, interval or verdict, in words; empty where it has."""
    return REASONS[row.why] if row.why else ""


def value_text(row: Row) -> str:
    """A row's number with its unit: “0.62 points”, “61 %”."""
    return with_unit(number(row.value, row.about.form), row.about.unit)


def row_text(row: Row) -> str:
    """A row's number with interval and test: “0.62 points (95 % CI 0.51 to 0.70), F: p < 0.001”."""
    inside = interval(row) or reason(row).rstrip(".")
    tested = f", {row.test[0]}: {p_value(row.p)}" if row.test and p_value(row.p) else ""
    return value_text(row) + (f" ({inside})" if inside else "") + tested


def condition_name(condition: Condition, beside: Iterable[Condition] = ()) -> str:
    """Judge, data set, strategy and variant, as far as they tell this condition from those ``beside`` it."""
    others = list(beside) or [condition]
    parts = [condition.judge]
    if len({other.dataset for other in others}) > 1:
        parts.append(condition.dataset)
    if len({other.strategy for other in others}) > 1:
        parts.append(condition.strategy)
    parts += [f"{key} = {value}" for key, value in condition.variant.items()]
    return " · ".join(shorten(part, MOST_SHOWN) for part in parts)


def findings_text(findings: Findings, topic: str | None = None) -> str:
    """A run's findings for a terminal: the answer for each judge, then the rows by topic; control signs escaped.

    ``topic``: only the rows of this one.
    """
    from rubriclab.sinks.answer import answers

    blocks = ["\n".join(answer.lines()) for answer in answers(findings)]
    rows = [row for row in findings.rows if topic in (None, row.topic)]
    kinds = dict.fromkeys((row.topic, row.condition) for row in rows)
    for kind in kinds:
        head = f"{kind[0].capitalize()} · {condition_name(findings.conditions[kind[1]], findings.conditions)}"
        mine = [row for row in rows if (row.topic, row.condition) == kind]
        blocks.append(f"{head}\n{rows_text(mine)}")
    return printable("\n\n".join(blocks) + "\n")


def rows_text(rows: Iterable[Row]) -> str:
    """One line a row, for a terminal: its name, its number, its interval."""
    return printable("\n".join(f"  {name(row)}: {row_text(row)}" for row in rows))
