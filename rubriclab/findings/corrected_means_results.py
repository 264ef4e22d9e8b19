"""What is found about a system's mean score and pass rate."""

from __future__ import annotations

from dataclasses import dataclass

from rubriclab.model import Arm
from rubriclab.stats.inference import Interval


@dataclass(frozen=True)
class OrderMean:
    """The same means with the judge read in one order (or in all of them, ``averaged``)."""

    name: str
    plain: float
    plain_ci: Interval
    corrected: float
    corrected_ci: Interval


@dataclass(frozen=True)
class Rate:
    """A pass rate at a cut: of the judge's scores, of the ratings alone, corrected.

    ``rogan``: by the judge's sensitivity and specificity; NaN where these are not known.
    """

    cut: float
    plain: float
    plain_ci: Interval
    rated: float
    rated_ci: Interval
    corrected: float
    corrected_ci: Interval
    rogan: float
    rogan_ci: Interval
    sensitivity: float
    specificity: float
    rogan_why: str


@dataclass(frozen=True)
class CurvePoint:
    """Half the width of the 95 % interval with so many ratings, with the judge and without."""

    ratings: int
    judged: float
    judged_low: float
    judged_high: float
    alone: float
    alone_low: float
    alone_high: float


@dataclass(frozen=True)
class Buying:
    """Ratings for a half-width of ``half`` points. ``judged``: with the judge's scores beside them (infinite
    where the judged items are too few), ``alone``: without. ``one_is_worth``: so many ratings without.
    What the judge adds hangs on how many items are judged in this run, so it is no estimate of the judge."""

    half: float
    judged: float
    judged_low: float
    judged_high: float
    alone: float
    alone_ci: Interval
    one_is_worth: float
    curve: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class SystemMean:
    """A mean score ``of`` all items, a candidate or a criterion, in points.

    ``plain``: of the judge over ``n_items``; ``rated``: of the ``n_rated``'s ratings; ``corrected``
    by prediction-powered inference with the judge's ``weight``; ``bias``: plain less corrected.
    ``unlike``: by how much the judge scores the rated items higher, with its p. ``why``: what keeps
    it from being corrected.
    """

    of: str
    n_items: int
    n_rated: int
    units: int
    resampled: str
    plain: float
    plain_ci: Interval
    rated: float
    rated_ci: Interval
    corrected: float
    corrected_ci: Interval
    bias: float
    bias_ci: Interval
    weight: float
    unlike: float
    unlike_p: float
    orders: tuple[OrderMean, ...]
    rate: Rate | None
    buying: Buying | None
    why: str

    @property
    def all_rated(self) -> bool:
        return self.n_rated == self.n_items


@dataclass(frozen=True)
class CorrectedArm:
    """One arm's means, of all items first."""

    code: int
    arm: Arm
    systems: tuple[SystemMean, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class CorrectedResult:
    arms: tuple[CorrectedArm, ...]
    warnings: tuple[str, ...]
