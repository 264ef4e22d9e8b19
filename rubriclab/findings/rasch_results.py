"""What the Rasch model gives of a run: the ruler of each data set and scale, and every arm's places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rubriclab.model import Arm
from rubriclab.stats.inference import Floats, Interval, Ints, Test
from rubriclab.stats.ordinal import Answer
from rubriclab.stats.rasch import Bools
from rubriclab.stats.rasch_measures import NO_FIT, Fit, Separation

Facet = Literal["judge", "person", "setting"]
Concluded = Answer | Literal["open"]
"""``open``: the run is not finished, so nothing is concluded."""


@dataclass(frozen=True)
class Element:
    """One judge, person or setting: how severe it is in logits (0: their mean), and its mean squares."""

    facet: Facet
    name: str
    severity: float
    severity_ci: Interval
    fit: Fit


@dataclass(frozen=True)
class Place:
    """What standing at ``position`` (1-based) adds to a score's log-odds, against the mean place."""

    position: int
    logit: float
    ci: Interval


@dataclass(frozen=True)
class JudgePlaces:
    """One judge's places on the ruler. ``turn``: how far turning the order from descending to ascending
    moves it, in logits; ``places`` are empty where only some differences between places can be told."""

    name: str
    turn: float
    turn_ci: Interval
    places: tuple[Place, ...]
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class Threshold:
    """The measure at which ``score`` is as likely as the one below it, for an average judge."""

    whose: str
    score: int
    measure: float
    ci: Interval


@dataclass(frozen=True)
class Gap:
    """The first of ``judges`` (people may be one) less the second: mean scores in points, and leniency in
    logits (severity turned round)."""

    judges: tuple[str, str]
    n_items: int
    points: float
    points_ci: Interval
    leniency: float
    leniency_ci: Interval
    answer: Concluded

    @property
    def first(self) -> str:
        return self.judges[0]

    @property
    def second(self) -> str:
        return self.judges[1]


@dataclass(frozen=True)
class ItemMeasures:
    """Of each item: ``code`` in the run, ``theta`` and its ``error`` in logits, is it ``extreme``? (items,).

    ``noisy``, ``tame``: items whose infit is above 1.5, below 0.5, of ``fitted``.
    """

    code: Ints
    theta: Floats
    error: Floats
    extreme: Bools
    noisy: int
    tame: int
    fitted: int


@dataclass(frozen=True)
class RaschScale:
    """The model of all reads of one data set on one scale. Empty ``elements`` and ``why``: nothing can be said.

    ``own``: thresholds are those of the only judge (partial credit), else all share them (rating scale).
    ``of_items``: of how many ``items`` is a random part. ``off_scale``: ratings that are no score.
    ``unfinished``: why nothing is concluded yet.
    """

    judges: tuple[str, ...]
    dataset: str
    scores: tuple[int, ...]
    unit: str
    why: str
    items: ItemMeasures
    separation: Separation
    n_items: int = 0
    of_items: int = 0
    n_reads: int = 0
    n_units: int = 0
    off_scale: int = 0
    own: bool = False
    elements: tuple[Element, ...] = ()
    places: tuple[JudgePlaces, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    gaps: tuple[Gap, ...] = ()
    fit: Fit = NO_FIT
    warnings: tuple[str, ...] = ()
    unfinished: str = ""


@dataclass(frozen=True)
class RaschArm:
    """One arm's places by the Rasch model, from its own reads alone, beside the choice model's.

    ``turn``: ascending less descending, in logits; ``test``: are all places alike? ``choice``: the places
    by the choice model of one effect for all items, ``choice_test`` its test. ``agrees``: do the two models
    say the same (None: one of them says nothing)? ``n_units``: units that the intervals rest on.
    ``unfinished``: why nothing is concluded yet.
    """

    code: int
    arm: Arm
    n_items: int
    n_reads: int
    n_units: int
    unit: str
    turn: float
    turn_ci: Interval
    places: tuple[Place, ...]
    test: Test | None
    choice: tuple[Place, ...]
    choice_test: Test | None
    agrees: bool | None
    why: str
    unfinished: str = ""


@dataclass(frozen=True)
class RaschResult:
    scales: tuple[RaschScale, ...]
    arms: tuple[RaschArm, ...]
