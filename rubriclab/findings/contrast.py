"""One arm less another: every cell, place and rate with an interval for the difference.

Arms may be of one run or of two; see ``matching`` for which items a difference rests on.
Intervals resample items (blocks where items share a text, texts for criteria, questions for
pairs and lists), both arms under the same draws where they are paired. What is in score points gets
one of three verdicts, and all that a sentence says rests on intervals that hold at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rubriclab.findings.contrast_comparison import comparison_contrast
from rubriclab.findings.contrast_criteria import criteria_contrast
from rubriclab.findings.contrast_options import options_contrast
from rubriclab.findings.contrast_results import Contrast, Delta, Side, measure_said
from rubriclab.findings.effects import words
from rubriclab.findings.matching import why_not
from rubriclab.findings.plain import plain
from rubriclab.findings.topic import Question
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number


def contrast(a: RunData, code_a: int, b: RunData, code_b: int, *, seed: int = 0, n_boot: int = 2_000) -> Contrast:
    """Arm ``code_a`` of run ``a`` less arm ``code_b`` of run ``b``.

    Raises LabError where the two are on other scales or axes, or have no judgments.
    """
    sides = [Side.of(a, code_a), Side.of(b, code_b)]
    why = why_not(sides[0].arm, sides[1].arm)
    if why:
        raise LabError(tr("These two cannot be compared. {why}", why=why))
    work = {"options": options_contrast, "criteria": criteria_contrast}.get(sides[0].arm.axis, comparison_contrast)
    return work(sides[0], sides[1], seed, n_boot)


def contrast_json(pair: Contrast) -> dict[str, Any]:
    """The difference as ``compare --json`` shows it."""

    def side(run: str, code: int, arm: Arm, n: int, left_out: int) -> dict[str, Any]:
        return {
            "run": run,
            "arm": code,
            "judge": arm.judge,
            "dataset": arm.dataset,
            "strategy": arm.strategy,
            "variant": str(arm.variant),
            "simulated": arm.simulated,
            "n": n,
            "left_out": left_out,
        }

    return {
        "a": side(pair.run_a, pair.code_a, pair.arm_a, pair.n_a, pair.left_out_a),
        "b": side(pair.run_b, pair.code_b, pair.arm_b, pair.n_b, pair.left_out_b),
        "paired": pair.paired,
        "unit": pair.unit,
        "units": pair.units,
        "n_boot": pair.n_boot,
        "seed": pair.seed,
        "differences": [_delta_json(delta) for delta in pair.deltas],
        "cells": plain(pair.cells),
        "warnings": list(pair.warnings),
    }


def _delta_json(delta: Delta) -> dict[str, Any]:
    """``estimate``, ``low``, ``high``: with the interval of all at once; a verdict in points alone."""
    row = plain(delta)
    effect = row.pop("effect")
    bare = {
        "estimate": row["delta"],
        "low": row["ci_all"][0],
        "high": row["ci_all"][1],
        "sesoi": None,
        "unit": delta.kind,
        "verdict": None,
        "confidence": 0.95,
        "why": "",
    }
    return {**row, **(effect or bare)}


# ---------------------------------------------------------------- in words


def contrast_sentence(pair: Contrast, a: str, b: str) -> str:
    """All that :func:`contrast_words` says, as one text."""
    return " ".join(contrast_words(pair, a, b))


def contrast_words(pair: Contrast, a: str, b: str) -> tuple[str, ...]:
    """What can be told from chance, and the verdict in points; ``a``, ``b``: the arms' names.

    What is said of places, rates and cells rests on intervals that hold all at once.
    """
    if (pair.run_a, pair.code_a) == (pair.run_b, pair.code_b):
        return (tr("This is one arm on both sides: every difference is exactly 0."),)
    parts = [_by_place(pair, a, b), _by_rate(pair, a, b), _by_cell(pair, a, b)]
    by_kind = {delta.kind: delta for delta in reversed(pair.deltas) if delta.effect is not None}
    main = next((by_kind[kind] for kind in ("shift", "advantage", "score") if kind in by_kind), None)
    if main is not None:
        parts.append(_verdict(main, a, b))
    return tuple(part for part in parts if part)


def _by_place(pair: Contrast, a: str, b: str) -> str:
    places = [delta for delta in pair.deltas if delta.kind == "share"]
    clear = [delta for delta in places if delta.clear]
    if clear:
        top = max(clear, key=lambda delta: abs(delta.delta))
        return tr(
            "{a} picks {measure} in {share_a:.0%} of judgments, {b} in {share_b:.0%}: {points}.",
            a=a,
            measure=measure_said(top.measure),
            share_a=top.a,
            b=b,
            share_b=top.b,
            points=_points(top),
        )
    ends = [abs(end) for delta in places for end in delta.ci_all]
    if ends and np.isfinite(ends).all():
        return tr(
            "No place is picked more often by one of the two by more than {most:.0f} points.", most=100 * max(ends)
        )
    return ""


def _by_rate(pair: Contrast, a: str, b: str) -> str:
    rates = [delta for delta in pair.deltas if delta.kind in ("rate", "fairness")]
    clear = [delta for delta in rates if delta.clear]
    if clear:
        text = "; ".join(_rate_words(delta, a, b) for delta in clear[:2])
        return f"{text[0].upper()}{text[1:]}."
    if not rates:
        return ""
    delta = rates[0]
    ends = interval(tuple(100 * end for end in delta.ci_all), "+.0f")
    return tr(
        "Whether {measure} is another in {a} than in {b} is undecided: {ends} points.",
        measure=measure_said(delta.measure),
        a=a,
        b=b,
        ends=ends,
    )


def _by_cell(pair: Contrast, a: str, b: str) -> str:
    cells = pair.cells
    if cells is None or cells.kind != "criterion":
        return ""
    if cells.clear.any():
        return tr(
            "The order of the criteria acts on {a} otherwise than on {b} in {clear} of {tested} cells.",
            a=a,
            b=b,
            clear=int(cells.clear.sum()),
            tested=cells.tested,
        )
    return tr(
        "Whether the order of the criteria acts on {a} otherwise than on {b} is undecided: none of "
        "{cells} tells, and none shows them alike.",
        a=a,
        b=b,
        cells=many(cells.tested, "cell"),
    )


def _verdict(delta: Delta, a: str, b: str) -> str:
    """One of three answers about a difference in points."""
    if delta.effect is None:
        return ""
    shown, about = words(delta.effect), ABOUT[delta.kind]
    if delta.effect.verdict == "effect":
        sides = tr(
            "{value_a} for {a} and {value_b} for {b}",
            value_a=number(delta.a, about.form),
            a=a,
            value_b=number(delta.b, about.form),
            b=b,
        )
        return tr(about.differ, sides=sides, shown=shown)
    if delta.effect.verdict == "equivalent":
        return tr(about.alike, a=a, b=b, sesoi=delta.effect.sesoi, shown=shown)
    return tr(about.undecided, a=a, b=b, shown=shown)


class _About(NamedTuple):
    differ: str
    alike: str
    undecided: str
    form: str


ABOUT: Mapping[str, _About] = {
    "shift": _About(
        msg("Listed ascending instead of descending the mean score changes by {sides}: a difference of {shown}."),
        msg(
            "Listed ascending instead of descending the mean score changes by the same for {a} and {b}, to within "
            "{sesoi:g}: {shown}."
        ),
        msg(
            "Undecided whether listing ascending instead of descending changes the mean score by the same for {a} "
            "and {b}: {shown}."
        ),
        "+.2f",
    ),
    "score": _About(
        msg("The mean score is {sides}: a difference of {shown}."),
        msg("The mean score is the same for {a} and {b}, to within {sesoi:g}: {shown}."),
        msg("Undecided whether the mean score is the same for {a} and {b}: {shown}."),
        ".2f",
    ),
    "advantage": _About(
        msg("The first place's lead is {sides}: a difference of {shown}."),
        msg("The first place's lead is the same for {a} and {b}, to within {sesoi:g}: {shown}."),
        msg("Undecided whether the first place's lead is the same for {a} and {b}: {shown}."),
        "+.2f",
    ),
}
"""How a verdict speaks of what it is about, by the kind of the difference."""


def _points(delta: Delta) -> str:
    low, high = sorted((abs(100 * delta.ci_all.low), abs(100 * delta.ci_all.high)))
    said = {"points": abs(100 * delta.delta), "low": low, "high": high}
    if delta.delta > 0:
        return tr("{points:.0f} points more ({low:.0f} to {high:.0f})", **said)
    return tr("{points:.0f} points fewer ({low:.0f} to {high:.0f})", **said)


def _rate_words(delta: Delta, a: str, b: str) -> str:
    form = "+.2f" if delta.kind == "fairness" else ".0%"
    return tr(
        "{measure} is {value_a} in {a} and {value_b} in {b}",
        measure=measure_said(delta.measure),
        value_a=number(delta.a, form),
        a=a,
        value_b=number(delta.b, form),
        b=b,
    )


CONTRAST = Question("difference of two arms", contrast)
