"""What is known about scores of responses that were asked for together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.findings.criteria_order import SameOrder
from rubriclab.model import Arm
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.verdict import Effect


@dataclass(frozen=True)
class PlaceShift:
    """Points from a response's own mean in its batch at a ``place`` (from 1), over ``scores`` scores."""

    place: int
    shift: Effect
    scores: int


@dataclass(frozen=True)
class BeforeCell:
    """Scores at a ``place`` behind a response that alone gets about ``before`` (None: the first place).

    ``shift``: mean points from the responses' own means in their batch; ``scores``: of how many.
    """

    before: int | None
    place: int
    shift: float
    scores: int


@dataclass(frozen=True)
class WithSingle:
    """A batch beside single calls on the same items, ``items`` of them.

    ``level``: points that asking together adds. ``exact``: share of pairs of a score in a batch and one
    alone that are equal; ``exact_alone``: of two alone, the ceiling; ``exact_loss``: the first less the
    second, per cent. ``r``: of one score in a batch with one alone; ``r_alone``: of two alone.
    ``r_loss``: of these two. ``people``, ``people_alone``: r of one score with people; ``people_loss``.
    """

    items: int
    level: Effect
    exact: float
    exact_alone: float
    exact_loss: Effect
    r: Correlation
    r_alone: Correlation
    r_loss: Effect
    people: Correlation
    people_alone: Correlation
    people_loss: Effect


@dataclass(frozen=True)
class ScoreCost:
    """What one score took, over the replies of an arm: calls, tokens in and out, seconds; NaN where not known."""

    calls: float
    tokens_in: float
    tokens_out: float
    seconds: float


@dataclass(frozen=True)
class ArmBatch:
    """One arm of batches. ``scores`` asked for, ``unread`` of them not readable.

    ``drift``: points from the first place to the last, on a line. ``contrast``: points that one point
    more of the response just before adds, by its score alone (``by`` says where that is from);
    ``contrast_people``: by its rating by people. ``single``: None without single calls. ``repeats``: reads
    under different orders beside the same order twice. ``cost`` of a score here, ``cost_alone`` in the single
    calls; None where no replies were kept.
    """

    code: int
    arm: Arm
    size: int
    items: int
    batches: int
    calls: int
    scores: int
    unread: int
    drift: Effect
    places: tuple[PlaceShift, ...]
    contrast: Effect
    contrast_people: Effect
    by: str
    before: tuple[BeforeCell, ...]
    repeats: SameOrder
    single: WithSingle | None
    single_code: int | None
    cost: ScoreCost | None
    cost_alone: ScoreCost | None
    warnings: tuple[str, ...]

    @property
    def varied(self) -> bool:
        """Did responses stand at several places?"""
        return bool(np.isfinite(self.drift.estimate))

    @property
    def tokens_saved(self) -> float:
        """Share of the tokens in for a score that the batch saves, below 0 where it takes more; NaN where not known."""
        if self.cost is None or self.cost_alone is None:
            return float("nan")
        return 1.0 - self.cost.tokens_in / self.cost_alone.tokens_in


@dataclass(frozen=True)
class BatchResult:
    """All arms that ask for several responses at once."""

    arms: tuple[ArmBatch, ...]
    warnings: tuple[str, ...]
