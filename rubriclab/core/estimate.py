"""Sums over units in, estimates out: one number with what each independent unit adds to it.

Intervals, contrasts and sizes all come from these; no verdict does (``core/verdict.py`` alone decides).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.core.intervals import Opaque, Student, Wilson
from rubriclab.stats.proportions import NO_INTERVAL
from rubriclab.stats.resample import Bools, Floats, Ints, sum_by


class Rule(Protocol):
    """An estimate and a level -> (low, high). ``fewest``: units; below so many there is no interval."""

    @property
    def fewest(self) -> int: ...

    def __call__(self, e: Estimate, level: float, /) -> tuple[float, float]: ...


Units = NDArray[Any]
DRAWS = 20_000
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Estimate:
    """``influence``: (units,), mean 0 (near 0 of a jackknife); its spread over root n is the standard error.

    ``unit``: (units,) their names.

    ``rule``: how an interval is made; ``why``: a key of the reasons in ``measures.toml`` where there is none.
    """

    value: float
    influence: Floats = field(repr=False)
    unit: Units = field(repr=False)
    rule: Rule = field(default=Student(), repr=False)
    why: str = ""

    @property
    def units(self) -> int:
        return len(self.influence)

    @property
    def error(self) -> float:
        """The standard error; NaN without a unit."""
        n = self.units
        square = float((self.influence.astype(np.float64, copy=False) ** 2).sum())
        return float(np.sqrt(square / (n * max(n - 1, 1)))) if n else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(low, high); NaN where ``why`` says so or the rule has too few units."""
        if self.why or self.units < self.rule.fewest or not np.isfinite(self.value):
            return NO_INTERVAL
        return self.rule(self, level)

    def __sub__(self, other: Estimate) -> Estimate:
        """a - b, paired on the units that both have, the others independent; by Student's rule."""
        every, code = np.unique(np.concatenate([self.unit, other.unit]), return_inverse=True)
        n, cut = len(every), self.units
        up = np.bincount(code[:cut], self.influence / max(cut, 1), n)
        down = np.bincount(code[cut:], other.influence / max(other.units, 1), n)
        influence = ((up - down) * n).astype(np.float64)
        return Estimate(self.value - other.value, influence, every, Student(), self.why or other.why)


def missing(why: str, unit: Units | None = None) -> Estimate:
    """No number at all: ``why`` is a key of the reasons."""
    return Estimate(float("nan"), np.zeros(0), np.zeros(0, np.uint64) if unit is None else unit[:0], why=why)


def plain(value: float, why: str, none: str = "") -> Estimate:
    """A number that has no interval, and ``why``; ``none``: why there is no number, where it is NaN."""
    reason = why if np.isfinite(value) else none or why or "undefined"
    return Estimate(value, np.zeros(0), np.zeros(0, np.uint64), why=reason)


def ratio(
    top: Floats,
    bottom: Floats,
    unit: Units,
    rule: Callable[[Floats], Rule] | None = None,
    *,
    none: str = "nothing_parsed",
) -> Estimate:
    """sum(top) / sum(bottom) over units (units,), linearised; units without a bottom say nothing.

    ``rule``: made from what each unit moved, top / mean(bottom); Student's with that where None.
    """
    used = bottom > 0
    if not used.all():  # else the arm's own array of names is shared by all its rows
        top, bottom, unit = top[used], bottom[used], unit[used]
    if not len(top):
        return missing(none, unit)
    value, part = float(top.sum() / bottom.sum()), float(bottom.mean())
    moves = top / part
    made = Student(moves=moves) if rule is None else rule(moves)
    return Estimate(value, (top - value * bottom) / part, unit, made)


def mean_over(
    values: Floats,
    unit: Ints,
    names: Units,
    rule: Callable[[Floats], Rule] | None = None,
    *,
    none: str = "nothing_parsed",
) -> Estimate:
    """The mean of ``values`` (n,) without NaN; ``unit``: (n,) an index into ``names``. ``rule`` as of ``ratio``."""
    known = np.isfinite(values)
    top, count = (sum_by(unit[known], part, len(names)) for part in (values[known], known[known]))
    return ratio(top, count, names, rule, none=none)


def share_of(
    hits: Floats | Bools,
    trials: Bools,
    unit: Ints,
    names: Units,
    *,
    balanced: bool = False,
    none: str = "nothing_parsed",
) -> Estimate:
    """The share of ``hits`` among ``trials``, (n,) each; ``unit``: (n,) an index into ``names``; ``balanced`` as there."""
    successes, count = (sum_by(unit, part, len(names)) for part in (np.where(trials, hits, 0.0), trials))
    return share(successes, count, names, balanced=balanced, none=none)


def share(
    successes: Floats, trials: Floats, unit: Units, *, balanced: bool = False, none: str = "nothing_parsed"
) -> Estimate:
    """Successes over trials, (units,) each, by Wilson's rule; ``balanced`` as there."""
    alone = bool((trials <= 1).all() and np.isin(successes, (0.0, 1.0)).all())
    return ratio(successes, trials, unit, lambda _: Wilson(float(trials.sum()), balanced, alone), none=none)


def t_p(e: Estimate) -> float:
    """Two-sided p of "it is 0" by Student's t on units - 1; NaN without an error."""
    return float(2 * special.stdtr(e.units - 1, -abs(e.value / e.error))) if e.error > 1e-9 else float("nan")


def weighted(constant: float, parts: Sequence[tuple[float, Estimate]]) -> Estimate:
    """constant + sum of weight x share, of shares of the same units, its ends made of theirs.

    Distances to the ends that lower (raise) the sum are added in squares, correlated as the units' influence is (MOVER:
    Zou and Donner 2008, Construction of Confidence Limits about Effect Measures). Win rates need it: half
    of their series count 1/p whatever the candidate. Measured: ``docs/method-check.md``.
    """
    weight, shares = np.array([part[0] for part in parts]), [part[1] for part in parts]
    influence = np.stack([e.influence for e in shares])
    size = np.sqrt(np.square(influence).sum(axis=1))
    alike = influence @ influence.T / np.maximum(size[:, None] * size, FLAT)
    np.fill_diagonal(alike, 1.0)
    value = constant + float(sum(w * e.value for w, e in parts))

    def ends(level: float) -> tuple[float, float]:
        away = np.array([[e.value - low, high - e.value] for e in shares for low, high in [e.interval(level)]])
        below = weight * np.where(weight > 0, away[:, 0], away[:, 1])
        above = weight * np.where(weight > 0, away[:, 1], away[:, 0])
        down, up = (float(np.sqrt(max(d @ alike @ d, 0.0))) for d in (below, above))
        return value - down, value + up

    return Estimate(value, weight @ influence, shares[0].unit, Opaque(ends))


def jackknife(
    statistic: Callable[..., Floats],
    parts: Sequence[Floats],
    unit: Units,
    *,
    known: Bools | None = None,
    rule: Rule | None = None,
    light: bool = False,
    none: str = "undefined",
) -> list[Estimate]:
    """Statistics (m,) of sums over units, with delete-one influence (Efron and Tibshirani 1993, chapter 11).

    ``parts``: arrays (units, ...) that add up; ``statistic`` takes their sums, or those without each unit at once, and
    gives (..., m). ``known``: (units,), does the unit bear on them? ``light``: influence in single precision; ``none``: why
    one is not defined.
    """
    totals = [part.sum(axis=0) for part in parts]
    with np.errstate(all="ignore"):
        whole = statistic(*totals)
        without = statistic(*(total - part for total, part in zip(totals, parts, strict=True)))
    if known is not None and not known.all():
        unit, without = unit[known], without[known]
    made = Student(fewest=2) if rule is None else rule
    return [
        left_out(value, without[:, k], unit, made, light=light, none=none) for k, value in enumerate(whole.tolist())
    ]


def left_out(
    value: float, without: Floats, unit: Units, rule: Rule, *, light: bool = False, none: str = "undefined"
) -> Estimate:
    """A statistic with its values ``without`` each unit (units,), as ``jackknife`` makes it."""
    n = len(unit)
    if not np.isfinite(value):
        return missing(none, unit)
    with np.errstate(all="ignore"):
        influence = (n - 1) * (value - without)
    if n < 2 or not np.isfinite(influence).all():
        return Estimate(value, np.zeros(n), unit, why="too_few_units")
    return Estimate(value, influence.astype(np.float32) if light else influence, unit, rule)


def average(estimates: Sequence[Estimate], rule: Rule) -> Estimate:
    """The mean of estimates that share units by name; where one has no number, that one: a mean over fewer is another."""
    unknown = next((e for e in estimates if not np.isfinite(e.value)), None)
    if unknown is not None:
        return unknown
    every, code = np.unique(np.concatenate([e.unit for e in estimates]), return_inverse=True)
    scaled = np.concatenate([e.influence / max(e.units, 1) for e in estimates])
    influence = np.bincount(code, scaled, len(every)) * len(every) / len(estimates)
    why = next((e.why for e in estimates if e.why), "")
    return Estimate(float(np.mean([e.value for e in estimates])), influence, every, rule, why)


def simultaneous(estimates: Sequence[Estimate]) -> float:
    """The level at which single intervals hold all at once in 95 %, to four digits.

    The largest |t| of jointly normal numbers that are correlated as the units' influence says (Hothorn, Bretz and
    Westfall 2008, Simultaneous Inference in General Parametric Models), drawn DRAWS times. Random signs of the units
    instead (a wild bootstrap) are bounded where few units bear on a number: a table of 5 x 5 shares then held at once in
    0.80 to 0.95 of studies of 15 to 100 items, of 9 x 9 in 0.62 to 0.92; so it is 0.92 to 1.0, and 0.83 to 0.97.
    """
    usable = [e for e in estimates if e.units > 1 and e.error > 1e-12]
    if len(usable) < 2:
        return 0.95
    units = {id(e.unit): e.unit for e in usable}  # rows of one arm share their names
    every = next(iter(units.values())) if len(units) == 1 else np.unique(np.concatenate(list(units.values())))
    rank = {key: np.searchsorted(every, names) if names is not every else slice(None) for key, names in units.items()}
    part = np.zeros((len(every), len(usable)))
    for k, e in enumerate(usable):
        part[rank[id(e.unit)], k] = e.influence / (e.units * e.error)
    square = part.T @ part
    size = np.sqrt(np.diag(square))
    root = np.linalg.cholesky(square / size / size[:, None] + 1e-8 * np.eye(len(usable)))  # shares sum to 1
    normal = np.random.default_rng(0).standard_normal((DRAWS, len(usable)))
    t = float(np.quantile(np.abs(normal @ root.T).max(axis=1), 0.95))
    return max(0.95, round(float(2 * special.ndtr(t) - 1), 4))
