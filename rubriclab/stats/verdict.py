"""Three answers, never two: an effect, equivalence, or neither shown yet.

One interval is held against one smallest effect of interest (Lakens 2017, Equivalence Tests;
Wellek 2010, Testing Statistical Hypotheses of Equivalence and Noninferiority, chapter 3): data
that merely fail to show an effect never pass for its absence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rubriclab.stats.inference import NO_INTERVAL, Interval

Verdict = Literal["effect", "equivalent", "undecided"]


@dataclass(frozen=True)
class Effect:
    """An estimate with its interval and what these say of the smallest effect of interest.

    ``estimate``, ``low``, ``high`` and ``sesoi`` (the smallest effect of interest, above 0) are in
    ``unit``; NaN where the data cannot carry them. ``confidence``: of the interval. ``why``: what
    keeps the verdict open where it is not the width of the interval.
    """

    estimate: float
    low: float
    high: float
    sesoi: float
    unit: str
    verdict: Verdict
    confidence: float = 0.95
    why: str = ""

    @property
    def interval(self) -> Interval:
        return Interval(self.low, self.high)


def decide(interval: Interval, sesoi: float) -> Verdict:
    """``equivalent``: the interval lies within ± ``sesoi``; ``effect``: else, if it leaves out 0.

    An effect too small to be of interest is thus equivalent, however sure its sign is.
    """
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return "undecided"
    if -sesoi < low and high < sesoi:
        return "equivalent"
    return "effect" if low > 0 or high < 0 else "undecided"


def times_to_settle(of: Effect) -> float:
    """How many times the data would settle what is undecided, if the estimate stayed: a half-width falls with their root.

    The lesser of what would leave out 0 and what would lie within ± ``sesoi``. NaN where it is settled,
    where something else keeps it open, and where no number would do.
    """
    if of.verdict != "undecided" or of.why or not math.isfinite(of.low) or not math.isfinite(of.high):
        return float("nan")
    size, half = abs(of.estimate), (of.high - of.low) / 2
    room = max(size, of.sesoi - size)
    return (half / room) ** 2 if room > 0 else float("nan")


def effect(
    estimate: float,
    interval: Interval,
    sesoi: float,
    *,
    unit: str = "points",
    confidence: float = 0.95,
    why: str = "",
    excess: bool = False,
) -> Effect:
    """The estimate with its verdict; ``why`` (it must not be decided) leaves it undecided.

    ``excess``: what other orders (or forms) add to the judge's own noise. It is truly never below 0:
    draws of two distributions lie at least as far apart as two of one do on average (the energy
    distance: Szekely and Rizzo 2013). An interval below 0 is luck of the control, or the control is of
    one order that happens to be a noisy one; it shows no effect, so it reaches up to 0.
    """
    if excess:
        interval = Interval(interval.low, max(interval.high, 0.0))
    verdict: Verdict = "undecided" if why else decide(interval, sesoi)
    return Effect(estimate, *interval, sesoi, unit, verdict, confidence, why)


def unknown(sesoi: float, why: str, *, unit: str = "points", confidence: float = 0.95) -> Effect:
    """No number can be given, for the reason ``why``."""
    return effect(float("nan"), NO_INTERVAL, sesoi, unit=unit, confidence=confidence, why=why)
