"""One arm less another: the differences, and what every axis needs to make them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.effects import step, unfinished
from rubriclab.findings.frame import Bools
from rubriclab.findings.matching import Matched
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import contrast as stats
from rubriclab.stats.inference import Floats, Interval
from rubriclab.stats.proportions import clopper_pearson
from rubriclab.stats.verdict import Effect, effect

Kind = Literal["share", "strength", "shift", "score", "agreement", "rate", "fairness", "advantage"]
UNITS: dict[Kind, str] = {"shift": "points", "score": "points", "advantage": msg("advantage of the first place")}
"""Differences that are held against the smallest effect of interest, and what they are in."""
ALONE: frozenset[Kind] = frozenset({"strength", "agreement"})
"""Differences whose interval stands for itself: their draws are far from a normal curve's."""
FEW_MOVED = 5
"""Below so many units that differ, their mean is far from normal: the usual five of a proportion."""
_TINY = 1e-9
FEW = 10
"""A cell needs so many units with its score (criterion and place) in either arm. On simulated
judges without a difference some cell was then marked in 0 to 6 % of 300 studies each (24 to 400
items, even, skewed and clustered; 2 and 5 options; paired or not), of criteria in 5 to 7 % of 400
(12 to 100 texts). With every cell counted it was up to 18 %, where a score is rare."""


@dataclass(frozen=True)
class Delta:
    """One number of both arms and its difference a - b with a 95 % interval of its own.

    ``n_items``: items (comparisons) that it rests on, of either arm where they are not paired.
    ``ci_all``: the interval that holds at once with those of the contrast's other shares, rates and
    points (its own where it stands alone); ``effect``: that one against the smallest effect of
    interest, None for what is not in score points.
    """

    measure: str
    kind: Kind
    a: float
    b: float
    delta: float
    ci: Interval
    n_items: int
    ci_all: Interval
    effect: Effect | None = None

    @property
    def clear(self) -> bool:
        """Does the interval of all at once leave 0 out?"""
        return self.ci_all.low > 0 or self.ci_all.high < 0


MEAN_SCORE, R_WITH_HUMANS, STRENGTH = msg("mean score"), msg("r with humans"), msg("V, noise taken out")
_POSITION, _OF = "position ", ", "


def measure_at(place: int) -> str:
    """The name of how often a place (from 1) is picked."""
    return f"{_POSITION}{place}"


def measure_of(criterion: str) -> str:
    """The name of a criterion's mean score."""
    return f"{MEAN_SCORE}{_OF}{criterion}"


def measure_said(measure: str) -> str:
    """What a difference is of, in the reader's language."""
    if measure.startswith(_POSITION):
        return tr("position {place}", place=measure.removeprefix(_POSITION))
    if measure.startswith(f"{MEAN_SCORE}{_OF}"):
        return tr("mean score, {criterion}", criterion=measure.removeprefix(f"{MEAN_SCORE}{_OF}"))
    return tr(measure)


class Moved(NamedTuple):
    """How many units differ between two paired arms, and by how much at most."""

    units: int
    most: float


class Drawn(NamedTuple):
    """A difference with its draws, (n_boot,); ``moved``: None where units are not paired."""

    delta: Delta
    draws: Floats
    moved: Moved | None = None


@dataclass(frozen=True)
class Cells:
    """A table of differences a - b: scores by position, or criteria by position.

    ``low``, ``high``: 95 % intervals of each cell by itself; ``low_all``, ``high_all``: of all
    ``tested`` cells at once (``critical`` standard errors), ``clear`` where those exclude 0.
    NaN where an arm has too little to say.
    """

    kind: Literal["score", "criterion"]
    rows: tuple[str, ...]
    positions: tuple[int, ...]
    a: Floats
    b: Floats
    delta: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats
    clear: Bools
    tested: int
    critical: float


@dataclass(frozen=True)
class Contrast:
    """Arm a less arm b. ``unit``: what was resampled, ``units`` of them in the smaller arm.

    ``n_a``, ``n_b``: items used (comparisons for pairs and lists), equal where ``paired``;
    ``left_out_*``: the arm's other items.
    """

    run_a: str
    code_a: int
    arm_a: Arm
    run_b: str
    code_b: int
    arm_b: Arm
    paired: bool
    n_a: int
    n_b: int
    left_out_a: int
    left_out_b: int
    unit: str
    units: int
    n_boot: int
    seed: int
    cells: Cells | None
    deltas: tuple[Delta, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One arm with the rows of its judgments."""

    data: RunData
    code: int
    arm: Arm
    judgments: pd.DataFrame

    @classmethod
    def of(cls, data: RunData, code: int) -> Side:
        for known, arm, judgments in data.by_arm():
            if known == code and len(judgments):
                return cls(data, code, arm, judgments)
        raise LabError(tr("Run {run} has no judgments in an arm {code}.", run=data.run, code=code))


def made_contrast(
    a: Side,
    b: Side,
    match: Matched,
    unit: str,
    seed: int,
    n_boot: int,
    cells: Cells | None,
    deltas: Iterable[Delta],
    warnings: Sequence[str],
) -> Contrast:
    """What is left of a contrast once its numbers are known."""
    return Contrast(
        run_a=a.data.run,
        code_a=a.code,
        arm_a=a.arm,
        run_b=b.data.run,
        code_b=b.code,
        arm_b=b.arm,
        paired=match.paired,
        n_a=len(match.at_a),
        n_b=len(match.at_b),
        left_out_a=match.left_out_a,
        left_out_b=match.left_out_b,
        unit=unit,
        units=match.units,
        n_boot=n_boot,
        seed=seed,
        cells=cells,
        deltas=tuple(deltas),
        warnings=(*_match_warnings(a, b, match, unit), *warnings),
    )


def judged(a: Side, b: Side, n_units: int, unit: str, deltas: Sequence[Drawn]) -> Iterator[Delta]:
    """The differences with their intervals at once, and verdicts on those in score points."""
    family = [drawn for drawn in deltas if drawn.delta.kind not in ALONE]
    at_once: dict[str, Interval] = {}
    if family:
        estimates = np.array([drawn.delta.delta for drawn in family])
        draws = np.stack([drawn.draws for drawn in family], axis=1)
        bands = stats.simultaneous(estimates, draws, units=n_units)
        at_once = {
            drawn.delta.measure: Interval(float(low), float(high))
            for drawn, low, high in zip(family, bands.low_all, bands.high_all, strict=True)
        }
    for drawn in deltas:
        every = at_once.get(drawn.delta.measure, drawn.delta.ci)
        yield _against_interest(a, b, n_units, unit, drawn._replace(delta=replace(drawn.delta, ci_all=every)))


def _against_interest(a: Side, b: Side, n_units: int, unit: str, drawn: Drawn) -> Delta:
    """A difference, with its verdict where it is in score points.

    Where fewer than FEW_MOVED units differ between paired arms, or all by the same, resampling sees too
    little: the interval is widened to what units that were not drawn may add, the largest share of
    them that may be otherwise (Clopper and Pearson 1934) by the most that was seen, one step where
    nothing was. An arm less itself is known.
    """
    delta = drawn.delta
    if delta.kind not in UNITS:
        return delta
    same = (a.data.run, a.code) == (b.data.run, b.code)
    size = step(a.arm.scores)
    low, high = delta.ci_all
    if drawn.moved is not None and n_units > 0 and not same:
        alike = bool(np.ptp(drawn.draws) == 0.0)  # every unit differs by the same: NaN draws are not
        low, high = (delta.delta, delta.delta) if alike else (low, high)
        if alike or drawn.moved.units < FEW_MOVED:
            share = clopper_pearson(0 if alike else drawn.moved.units, n_units).high
            reach = share * (size if alike else drawn.moved.most)
            low, high = min(low, delta.delta - reach), max(high, delta.delta + reach)
    return held(a, b, n_units, unit, replace(delta, ci_all=Interval(low, high)))


def held(a: Side, b: Side, n_units: int, unit: str, delta: Delta) -> Delta:
    """A difference with the verdict of its interval at once, where its kind has one."""
    if delta.kind not in UNITS:
        return delta
    why = unfinished(a.data) or unfinished(b.data)
    if n_units < FEW and (a.data.run, a.code) != (b.data.run, b.code):
        why = why or tr("only {units} {units:carries|carry} it", units=many(n_units, unit))
    interest = a.data.smallest_effect * step(a.arm.scores)
    made = effect(delta.delta, delta.ci_all, interest, unit=UNITS[delta.kind], why=why)
    return replace(delta, effect=made)


def _match_warnings(a: Side, b: Side, match: Matched, unit: str) -> Iterator[str]:
    if a.data.smallest_effect != b.data.smallest_effect:
        yield tr(
            "The runs name different smallest effects of interest, {first:g} and "
            "{second:g} steps of the scale: that of the first is used.",
            first=a.data.smallest_effect,
            second=b.data.smallest_effect,
        )
    if not match.paired:
        yield tr(
            "The two arms have too few items in common to be compared item by item, so they are compared as "
            "groups: a difference between their items is part of every difference."
        )
    if match.changed:
        yield tr(
            "{changed} items have the same id in both runs but texts of another length: they count as different items.",
            changed=match.changed,
        )
    if match.units < FEW:
        yield tr(
            "Only {units} {units:carries|carry} the intervals; read them with care.", units=many(match.units, unit)
        )
    if a.arm.simulated != b.arm.simulated:
        yield tr("One of the two is a simulated judge: the difference says nothing about a model.")


def delta_of(
    measure: str,
    kind: Kind,
    of_a: tuple[float, Floats],
    of_b: tuple[float, Floats],
    n_items: int,
    n_units: int,
    moved: Moved | None = None,
) -> Drawn:
    """``of_*``: a number and its draws; ``moved``: how many units the two differ in."""
    (a, draws_a), (b, draws_b) = of_a, of_b
    ci = stats.difference_interval(a - b, draws_a - draws_b, units=n_units)
    return Drawn(Delta(measure, kind, a, b, a - b, ci, n_items, ci), draws_a - draws_b, moved)


def differing(a: tuple[Floats, Floats], b: tuple[Floats, Floats], match: Matched) -> Moved | None:
    """Of the units' top / bottom in paired arms: how many differ, and by how much at most."""
    if not match.paired:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(a[0] / a[1] - b[0] / b[1])
    return Moved(int((apart > _TINY).sum()), float(np.nanmax(apart, initial=0.0)))


def cells_of(
    kind: Literal["score", "criterion"],
    rows: Sequence[str],
    a: Floats,
    b: Floats,
    draws: Floats,
    usable: Bools,
    n_units: int,
    *,
    most: float,
) -> Cells:
    """``draws``: (n_boot, rows, positions) of a - b; no difference is beyond ``most``."""
    bands = stats.simultaneous(a - b, draws, units=n_units, usable=usable)
    limits = (bands.low, bands.high, bands.low_all, bands.high_all)
    low, high, low_all, high_all = (np.clip(limit, -most, most) for limit in limits)
    return Cells(
        kind=kind,
        rows=tuple(rows),
        positions=tuple(range(1, a.shape[1] + 1)),
        a=a,
        b=b,
        delta=a - b,
        low=low,
        high=high,
        low_all=low_all,
        high_all=high_all,
        clear=bands.clear,
        tested=bands.cells,
        critical=bands.critical,
    )
