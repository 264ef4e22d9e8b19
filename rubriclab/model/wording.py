"""Small words that every account of a run shares: counts, numbers, intervals, chances, names."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import count
from typing import Any

from rubriclab.model.language import SOURCE, Counted, figure, forms, language, noun, tr

THINGS: Mapping[str, str] = dict(
    (
        noun("annotator", "annotators"),
        noun("answer", "answers"),
        noun("arm", "arms"),
        noun("attempt", "attempts"),
        noun("block", "blocks"),
        noun("call", "calls"),
        noun("candidate", "candidates"),
        noun("cell", "cells"),
        noun("change", "changes"),
        noun("column", "columns"),
        noun("comparison", "comparisons"),
        noun("condition", "conditions"),
        noun("criterion", "criteria"),
        noun("criterion score", "criterion scores"),
        noun("definition", "definitions"),
        noun("different order", "different orders"),
        noun("file", "files"),
        noun("form", "forms"),
        noun("held-out item", "held-out items"),
        noun("independent unit", "independent units"),
        noun("item", "items"),
        noun("judge", "judges"),
        noun("judgment", "judgments"),
        noun("line", "lines"),
        noun("log", "logs"),
        noun("model", "models"),
        noun("more arm", "more arms"),
        noun("more call", "more calls"),
        noun("option", "options"),
        noun("order", "orders"),
        noun("page", "pages"),
        noun("pair", "pairs"),
        noun("place", "places"),
        noun("prompt", "prompts"),
        noun("question", "questions"),
        noun("rater", "raters"),
        noun("rating", "ratings"),
        noun("read", "reads"),
        noun("record", "records"),
        noun("repeat", "repeats"),
        noun("reply", "replies"),
        noun("response", "responses"),
        noun("retry", "retries"),
        noun("row", "rows"),
        noun("run", "runs"),
        noun("score", "scores"),
        noun("score option", "score options"),
        noun("setting", "settings"),
        noun("shared candidate", "shared candidates"),
        noun("spare arm", "spare arms"),
        noun("study", "studies"),
        noun("swapped call", "swapped calls"),
        noun("test", "tests"),
        noun("text", "texts"),
        noun("unit", "units"),
        noun("version", "versions"),
        noun("wording", "wordings"),
        noun("worker", "workers"),
    )
)
"""What is counted, as one and as many: a language has forms of its own for each."""
_OF_ONE = {"are": "is", "have": "has", "were": "was", "do": "does", "carry": "carries", "had": "had"}
UNKNOWN = "–"
ROUNDING = 1e-12


def many(n: int, thing: str, verb: str = "") -> Counted:
    """As “1 item”, “2,000 items”; with a ``verb`` in its plural as “1 item is”, “2,000 items are”.

    The verb is English's alone: a catalogue bends its own (see ``language.Counted``).
    """
    words = f"{figure(n, ',')} {plural(thing, n)}"
    if verb and language() == SOURCE:
        words = f"{words} {_OF_ONE.get(verb, f'{verb}s') if n == 1 else verb}"
    return Counted(n, words)


def bare(n: int) -> Counted:
    """A count without its thing, to bend what stands behind it: ``{n} of 24 items {n:is|are}``."""
    return Counted(n, figure(n, ","))


def plural(thing: str, n: int) -> str:
    """As “items”, “criteria”; of 1 “item”."""
    one, several = forms(thing, THINGS.get(thing, f"{thing}s"))
    return one if n == 1 else several


def listed(names: Sequence[str]) -> str:
    """As “a, b and c”; of more than four the first three."""
    if len(names) > 4:
        return tr("{first} and {left} more", first=", ".join(names[:3]), left=len(names) - 3)
    if len(names) < 2:
        return "".join(names)
    return tr("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])


def did_you_mean(name: object, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """A question with the nearest of ``names``, after a space; empty where none is near."""
    near = get_close_matches(str(name), list(names), 1, cutoff)
    return tr(" Did you mean “{name}”?", name=near[0]) if near else ""


def known(value: float | None) -> bool:
    """Is this a number, not None, NaN or infinite?"""
    return value is not None and math.isfinite(value)


def number(value: float | None, form: str, *, unknown: str = UNKNOWN) -> str:
    """A number as text; ``unknown`` where there is none.

    A value that rounds to zero keeps its sign: it says on which side it lies. What only the
    rounding of floats left of a zero has no side.
    """
    if value is None or not math.isfinite(value):
        return unknown
    return figure(0.0 if abs(value) < ROUNDING else value, form)


def said(value: float | None, form: str, *, unit: str = "", bound: str = "", why: str = "", reason: bool = True) -> str:
    """What every page, figure, table and text says of a number that may be missing or a bound.

    As “71.4 percentage points”; with a ``bound`` as “at least 73.60”; where there is no number as “not
    defined: 9 prompts are too few”. Without ``reason`` the reason is left out: it then stands beside.
    """
    if not known(value):
        return tr("not defined: {why}", why=why) if why and reason else tr("not defined")
    return " ".join(filter(None, (bound, number(value, form), unit)))


def beyond_noise(value: float | None, form: str, unit: str = "") -> str:
    """What is left beyond a judge's own noise, as “0.03”; below 0 as “0.00 (measured −0.03: noise)”."""
    shown, measured = beyond_noise_parts(value, form, unit)
    return tr("{shown} ({measured}: noise)", shown=shown, measured=measured) if measured else shown


def beyond_noise_parts(value: float | None, form: str, unit: str = "") -> tuple[str, str]:
    """The number as text, and “measured −0.03” where it lies below 0.

    Truly it is never below 0 (see ``stats.verdict.effect``): a measured value below is the luck of the control.
    """
    shown, unit = number(value, form), unit and f" {unit}"
    if not known(value) or not shown.startswith("-"):
        return f"{shown}{unit if known(value) else ''}", ""
    measured = tr("measured {value}", value=shown.replace("-", "−")) if shown.strip("-0.,%\u00a0") else ""
    return f"{number(0.0, form.lstrip('+'))}{unit}", measured


def interval(ci: Sequence[float | None] | None, form: str, *, brackets: bool = False) -> str:
    """The two ends as “low to high” or “[low, high]”; says so where there is no interval."""
    low, high = (None, None) if ci is None else ci
    if not (known(low) and known(high)):
        return f"[{tr('no interval')}]" if brackets else tr("no interval")
    ends = number(low, form), number(high, form)
    if brackets:
        return f"[{ends[0]}{tr(', ')}{ends[1]}]"
    return tr("{low} to {high}", low=ends[0], high=ends[1])


def p_value(p: float | None, *, sign: bool = True) -> str:
    """As “p = 0.012” or “p < 0.001”; without ``sign`` as “0.012” or “< 0.001”."""
    if p is None or not math.isfinite(p):
        return tr("p not defined") if sign else tr("not defined")
    if p < 0.001:
        return f"{'p ' if sign else ''}< {figure(0.001, '.3f')}"
    return f"{'p = ' if sign else ''}{figure(p, '.3f')}"


def lone_p(p: float | None) -> str:
    """As “p = 0.003, a test by itself and no verdict”: one in twenty such p of an unbiased judge is below 0.05."""
    return tr("{p}, a test by itself and no verdict", p=p_value(p))


def arm_name(of: Any, *, strategy: bool = True, simulated: bool = True) -> str:
    """Judge, data set, strategy and setting: of an arm, of a finding about one, or of its JSON.

    A simulated judge is named as one, unless that is said elsewhere.
    """
    if not isinstance(of, Mapping):
        names = ("judge", "dataset", "strategy", "variant", "simulated")
        of = {name: getattr(of, name, "") for name in names}
    variant = of.get("variant") or ""
    if isinstance(variant, Mapping):
        variant = ", ".join(f"{name}={level}" for name, level in variant.items())
    mark = f" ({tr('simulated')})" if simulated and of.get("simulated") else ""
    parts = (f"{of['judge']}{mark}", of["dataset"], of["strategy"] if strategy else "", str(variant))
    return " · ".join(part for part in parts if part)


def free_name(name: str, taken: Collection[str]) -> str:
    """``name``, or with a number behind it where it is taken."""
    return next(one for n in count(1) if (one := name if n == 1 else f"{name} {n}") not in taken)
