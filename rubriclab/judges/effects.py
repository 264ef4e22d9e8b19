"""What can be planted in a simulated judge, and the reading of it from ``Judge.options``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from rubriclab.model import LabError
from rubriclab.model.validation import Table, validated

Floats = npt.NDArray[np.float64]

Failure = Literal["unparsed", "refused", "truncated", "error"]
FAILURES: tuple[Failure, ...] = get_args(Failure)


def _by_place(value: Any) -> Any:
    """A list says one number a position."""
    listed = isinstance(value, list | tuple)
    return {str(place): part for place, part in enumerate(value, 1)} if listed else value


def _known_places(planted: dict[str, float]) -> dict[str, float]:
    for name in planted:
        if name not in ("first", "last") and not (name.isdigit() and int(name) >= 1):
            raise ValueError(f"no position “{name}”: use first, last or a number from 1, or give a list.")
    return planted


def _up_to_one(rates: dict[str, float]) -> dict[str, float]:
    if sum(rates.values()) > 1:
        raise ValueError("the rates add up to more than 1.")
    return rates


def _degrees_of_freedom(df: float) -> float:
    if 0 < df <= 2:
        raise ValueError("must be above 2, or 0 for a normal distribution.")
    return df


def _kind(value: Any) -> str:
    """Which of two forms a value has: that of a table, or that of a number."""
    return "[table]" if isinstance(value, Mapping) else "[number]"


def _nested(value: Any) -> str:
    parts = value.values() if isinstance(value, Mapping) else ()
    return "[criteria]" if any(isinstance(part, Mapping | list | tuple) for part in parts) else "[all]"


Number = Annotated[float, Field(strict=True)]
Amount = Annotated[float, Field(strict=True, ge=0)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Numbers = dict[str, Number]
Places = Annotated[Numbers, BeforeValidator(_by_place), AfterValidator(_known_places)]
NumberOrNumbers = Annotated[
    Annotated[Number, Tag("[number]")] | Annotated[Numbers, Tag("[table]")], Discriminator(_kind)
]


class Effects(Table):
    """What is planted: one field per key of ``Judge.options``. The defaults plant no bias.

    Log-odds (added to an option's utility):
      position: by position, a list, or {"first": x, "last": y, "3": z}; 0 where not given.
      label: by the label shown, as {"A": 0.5}.
      score: by canonical score, as {"5": 1.0}: a lenient or skewed judge.
      wording: by a part of the description, as {"Excellent": 0.5}; length: times by how many hundred
        characters the description is longer than the rubric's mean.
      label_by_place, wording_by_place, length_by_place: the same where it stands first, taken off
        where it stands last, in equal steps between: dependences that act through the order.
      neighbour: by what stands just before, as {"5": 0.4}; or one number, times how much
        higher the option before stands than this one (both on the scale 0..1).
      item_position_sd: sd of each item's own position leanings; they cancel out over items.
      prompt_position_sd: the same, shared by all items of a prompt.
      leaning_df: degrees of freedom of the t distribution that leanings come from, above 2 (their
        sd stays as planted); 0: the normal one.
      taste_sd: sd of each item's own liking of each score: a mixed logit.
      primacy, recency: comparisons, for the candidate shown first or last.
      tie: comparisons, a tie against the mean utility of the candidates.

    Content:
      quality_weight: log-odds lost one step away from the right score on a five-step scale
        (grows with the square of the distance); for comparisons the log-odds gained per such
        step of quality. 0: the judge does not see quality.
      trait_sd: above 0, no choice among options but a latent trait: a logistic variable of this
        scale, in steps, around the item's quality, cut into scores. ``position`` and leanings are
        then no log-odds but how many steps the trait is pulled towards the end of the scale that
        stands there (half of them for an end, none for the middle).
      quality_noise: sd of the judge's own error about an item's quality (scale 0..1).
      candidate_quality: comparisons, a candidate's quality 0..1 in place of the drawn one.
      reference_pull: 0..1, how far the right score moves to that of the reference shown.

    Criterion order, in score points added to the right score:
      criterion_position: by position, as ``position``; or {criterion: by position}.
      carryover: by the criterion read just before, as {"style": 0.5}; or one number, times the
        distance of the score given just before from the middle of its scale (in a batch, too).

    Several responses a call, in score points added to the right score of each:
      batch_position: by place, as ``position``.
      batch_drift: what the last place has more than the first, the others in even steps between.
      batch_contrast: times how much better than this one the response just before is, in points; below
        0 a good answer is marked down after a better one, above 0 it is drawn along.
      batch_shift: of every response that is not asked about alone.

    The draw: ``noise`` divides the utilities (1: drawn from the probabilities, 0: always the
    likeliest, "sampling": the call's own temperature); ``mass`` is what falls on the labels;
    ``failures`` are rates by status; ``poor_unread`` is added to that of unparsed replies for an
    item of quality 0, less by its quality for others; ``latency_ms`` is how long an answer takes;
    ``seed`` makes another judge of the same effects.
    """

    position: Places = Field(default_factory=dict)
    label: Numbers = Field(default_factory=dict)
    score: Numbers = Field(default_factory=dict)
    wording: Numbers = Field(default_factory=dict)
    length: Number = 0.0
    label_by_place: Numbers = Field(default_factory=dict)
    wording_by_place: Numbers = Field(default_factory=dict)
    length_by_place: Number = 0.0
    neighbour: NumberOrNumbers = 0.0
    item_position_sd: Amount = 0.0
    prompt_position_sd: Amount = 0.0
    leaning_df: Annotated[Amount, AfterValidator(_degrees_of_freedom)] = 0.0
    taste_sd: Amount = 0.0
    trait_sd: Amount = 0.0
    primacy: Number = 0.0
    recency: Number = 0.0
    tie: Number = -1.0
    quality_weight: Number = 1.0
    quality_noise: Amount = 0.0
    candidate_quality: Numbers = Field(default_factory=dict)
    reference_pull: Share = 0.0
    criterion_position: Annotated[
        Annotated[Places, Tag("[all]")] | Annotated[dict[str, Places], Tag("[criteria]")], Discriminator(_nested)
    ] = Field(default_factory=dict)
    carryover: NumberOrNumbers = 0.0
    batch_position: Places = Field(default_factory=dict)
    batch_drift: Number = 0.0
    batch_contrast: Number = 0.0
    batch_shift: Number = 0.0
    noise: Annotated[
        Annotated[Amount, Tag("[number]")] | Annotated[Literal["sampling"], Tag("[word]")],
        Discriminator(lambda value: "[word]" if isinstance(value, str) else "[number]"),
    ] = 1.0
    mass: Share = 0.98
    failures: Annotated[dict[Failure, Share], AfterValidator(_up_to_one)] = Field(default_factory=dict)
    poor_unread: Share = 0.0
    latency_ms: Amount = 0.0
    seed: Annotated[int, Field(strict=True)] = 0

    @property
    def of_text(self) -> bool:
        """Does anything depend on what the rubric says beside the scores?"""
        return bool(self.wording or self.length or self.label_by_place or self.wording_by_place or self.length_by_place)

    def of_lines(self, labels: Sequence[str], descriptions: Sequence[str]) -> Floats:
        """What labels and descriptions add at each position, (n,) log-odds: by themselves, and by place."""
        n = len(labels)
        place = np.linspace(1.0, -1.0, n) if n > 1 else np.zeros(1)
        size = np.array([len(text) for text in descriptions], dtype=np.float64) / 100.0
        longer = size - size.mean()
        found = self.length * longer + self.length_by_place * longer * place
        for planted, by in ((self.wording, np.ones(n)), (self.wording_by_place, place)):
            for part, pull in planted.items():
                found += pull * by * np.array([part in text for text in descriptions])
        return np.asarray(found + place * np.array([self.label_by_place.get(label, 0.0) for label in labels]))

    def at_positions(self, n: int) -> Floats:
        """The planted position effect, (n,) log-odds."""
        return at_places(self.position, n)


def read_effects(options: Mapping[str, Any]) -> Effects:
    """``Judge.options`` as Effects. Raises LabError naming an unknown key or a bad value."""
    return validated(Effects, options, "Options of the simulated judge", LabError)


def at_places(planted: Mapping[str, float], n: int) -> Floats:
    """{"first": x, "last": y, "3": z} over n positions; "first" and "1" add up."""
    found = np.zeros(n)
    for name, value in planted.items():
        place = {"first": 0, "last": n - 1}.get(name, -1 if not name.isdigit() else int(name) - 1)
        if 0 <= place < n:
            found[place] += value
    return found
