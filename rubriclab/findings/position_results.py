"""What is known about position in the arms of the options axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rubriclab.findings.arm_tables import Outcome
from rubriclab.findings.ordering import BiasCost
from rubriclab.findings.shift import Shift
from rubriclab.model import Arm
from rubriclab.model.language import msg
from rubriclab.stats import position as stat
from rubriclab.stats.inference import Floats, Interval, Ints, Test

NOT_TESTABLE = msg("not testable")
"""The name of a test that one order, or no readable reply, leaves nothing for."""


@dataclass(frozen=True)
class PositionShares:
    """Selected positions of one arm, pooled over its readable judgments.

    ``v``: Cramér's V without what noise adds to it, with the interval of the true V. ``chi2``,
    ``chi2_p`` and ``cramers_v`` are the papers' statistics: the first treat reads of one item as
    independent, the last is too large on little data, by chance alone about ``v_from_noise``.
    ``test`` (average effect) and ``any_order`` respect items. ``p_holm`` and
    ``any_order_p_holm`` are adjusted over the arms of the same judge, ``n_tests`` of each kind. ``probability_share``: mean token probability by position, where given.
    """

    counts: Ints
    share: Floats
    share_ci: tuple[Interval, ...]
    v: float
    v_ci: Interval
    chi2: float
    df: int
    chi2_p: float
    cramers_v: float
    v_from_noise: float
    test: Test
    any_order: Test
    probability_share: Floats | None = None
    p_holm: float = float("nan")
    any_order_p_holm: float = float("nan")
    n_tests: int = 0


@dataclass(frozen=True)
class ScoreTable:
    """P(position | score): rows scores, columns positions; NaN where the data are silent.

    ``counts``: choices; ``exposure``: how often the score was shown at the position. ``ci``: 95 %
    intervals of all cells at once; ``clear``: it leaves out 1/n. None for a score that too few
    units were ever given.
    """

    scores: tuple[int, ...]
    positions: tuple[int, ...]
    share: Floats
    ci: tuple[tuple[Interval, ...], ...]
    exposure: Ints
    counts: Ints
    clear: NDArray[np.bool_]


@dataclass(frozen=True)
class ScoreDistribution:
    """How often each score was given; shares are of all judgments, unread ones included."""

    scores: tuple[int, ...]
    counts: Ints
    share: Floats
    unread: int
    unread_share: float


@dataclass(frozen=True)
class NoiseFloor:
    """The judge's own randomness, from an arm that never changes the order.

    ``disagreement`` is the chance that two reads of one item give different scores: in the
    unchanged order (``own``), in this arm (``reordered``), and the difference (``excess``,
    paired over ``n_items`` items read at least twice in both arms; unlike a difference of
    standard deviations it does not hang on how many reads there are). ``v``: the Cramér's V
    that the own randomness alone would make here.
    """

    strategy: str
    n_items: int
    n_excluded: int
    own: float
    reordered: float
    excess: float
    excess_ci: Interval
    v: float


@dataclass(frozen=True)
class PositionArm:
    """Everything about position in one arm, by how much the order moves its scores (``shift``)
    first. ``unit`` says what intervals resample; ``unfinished``: why no verdict is given yet, if none is."""

    code: int
    arm: Arm
    judgments: dict[str, int]
    n_used: int
    n_excluded: int
    n_items: int
    n_units: int
    unit: str
    shift: Shift
    position: PositionShares
    table: ScoreTable
    bias_cost: BiasCost
    score_distribution: ScoreDistribution
    outcome: Outcome
    mean_score: float
    within_item_sd: stat.Spread
    noise_floor: NoiseFloor | None
    smallest_visible_effect: stat.Visible
    label_mass: float
    unfinished: str
    warnings: tuple[str, ...]

    @property
    def moves_order(self) -> bool:
        """Was the order varied, so that positions can be told from scores?"""
        return not self.n_used or self.position.test.name != NOT_TESTABLE


@dataclass(frozen=True)
class PositionResult:
    """All options-axis arms of a run; ``n_tests`` tests of each kind were made."""

    arms: tuple[PositionArm, ...]
    n_tests: int
    warnings: tuple[str, ...] = ()
