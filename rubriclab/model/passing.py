"""Decide which of two scores passes.

A pass rate is the share of one of two scores. That is the higher one, unless ``[reading] passes``
names the other: on a scale such as 1 Pass, 2 Fail. Everything that says or draws a pass rate asks
``passing_score``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rubriclab.model.data import Criterion
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError, look_alike, shorten

GOOD, BAD = "good", "bad"
GOOD_LABELS = frozenset({"pass", "passed", "good", "yes", "correct", "met", "true", "ok"})
"""Labels that usually mean that an answer passes, as ``look_alike`` writes them."""
BAD_LABELS = frozenset(
    {"fail", "failed", "bad", "no", "incorrect", "wrong", "unmet", "notmet", "false", "notok"}
)
"""Labels that usually mean that it fails."""
MOST_LABEL = 30
"""Characters of a label in a sentence."""


@dataclass(frozen=True)
class PassRate:
    """What the mean of a scale of two scores says: the share of answers that pass.

    ``passes``, ``fails``: what sentences call the two scores: “Pass”, or “score 1”. ``score``,
    ``other``: the scores themselves.
    """

    passes: str
    fails: str
    score: float
    other: float

    @property
    def factor(self) -> float:
        """What turns points of the mean score into percentage points of the pass rate."""
        return 100 / (self.score - self.other)

    @property
    def in_shares(self) -> bool:
        """Return whether a change in points is the same number as a change of the share."""
        return self.score - self.other == 1

    def name_of(self, score: float) -> str:
        """Return what sentences call one of the two scores."""
        return self.passes if score == self.score else self.fails


def pass_rate_of(
    scores: Sequence[float], labels: Mapping[float, str], passing: float
) -> PassRate | None:
    """Return the pass rate of a scale of two scores, None of another scale.

    ``labels``: the label of each score. ``passing``: the score that passes (``passing_score``).
    """
    if len(scores) != 2:
        return None
    other = next(score for score in scores if score != passing)
    passes, fails = (_score_name(score, labels.get(score, "")) for score in (passing, other))
    return PassRate(passes, fails, passing, other)


def _score_name(score: float, label: str) -> str:
    """Return what a sentence calls a score: its label, or “score 1”."""
    return f"score {score:g}" if label in ("", f"{score:g}") else shorten(label, MOST_LABEL)


def passing_score(
    scores: Sequence[float], labels: Mapping[str, float], reading: ReadingPart
) -> float:
    """Return the score that passes.

    ``scores``: the scale. ``labels``: the score that each label stands for; a label that stands for
    several, as shuffled ones do, is left out. A scale that has not two scores passes at its upper
    end. Raises LabError for ``[reading] passes`` that is neither a label nor a score of two.
    """
    if len(scores) != 2 or not reading.passes:
        return max(scores)
    score_of = {f"{score:g}": score for score in scores}
    score_of |= {look_alike(label): score for label, score in labels.items()}
    named = score_of.get(look_alike(reading.passes))
    if named is None:
        numbers = [f"{score:g}" for score in scores]
        known = [shorten(label, MOST_LABEL) for label in labels if label not in numbers]
        raise LabError(
            f"[reading] passes is “{shorten(reading.passes)}”, which is neither a label nor a "
            f"score of this scale. Use one of {', '.join([*known, *numbers])}."
        )
    return named


def passing_of(criterion: Criterion, reading: ReadingPart) -> float:
    """Return the score of a criterion that passes, see ``passing_score``."""
    labels = {option.shown_label: float(option.score) for option in criterion.options}
    return passing_score(criterion.scores, labels, reading)


class Cut(NamedTuple):
    """Where passing begins.

    at: the value. lower: whether lower values pass. on_scale: whether ``at`` is itself a score.
    named: the score that rows name it by.
    """

    at: float
    lower: bool
    on_scale: bool
    named: float

    def passes(self, values: np.ndarray) -> np.ndarray:
        """Return 1 for what passes, 0 for what fails, 0.5 exactly between, NaN for NaN."""
        made = np.where(values < self.at, float(self.lower), float(not self.lower))
        if not self.on_scale:
            made = np.where(np.abs(values - self.at) < 1e-9, 0.5, made)
        return np.where(np.isfinite(values), made, np.nan)


def cut_at(scores: Sequence[float], passing: float, reading: ReadingPart) -> Cut | None:
    """Return where passing begins; None for a longer scale without ``[reading] cut``.

    ``passing``: the score of the scale that passes (``passing_score``).
    """
    if reading.cut is not None:
        return Cut(reading.cut, False, reading.cut in scores, reading.cut)
    if len(scores) != 2:
        return None
    return Cut(sum(scores) / 2, passing == min(scores), False, passing)


def score_of_labels(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the score of each label, without labels that stand for several scores."""
    made: dict[str, float] = {}
    several = set()
    for label, score in pairs:
        if made.setdefault(label, score) != score:
            several.add(label)
    return {label: score for label, score in made.items() if label not in several}


def check_passes(criteria: Sequence[Criterion], reading: ReadingPart) -> None:
    """Raise LabError for ``[reading] passes`` that fits no criterion, or not all with two scores.

    Criteria with the same two scores have one pass rate, so the same score has to pass in each.
    """
    if not reading.passes:
        return
    two = [criterion for criterion in criteria if len(criterion.options) == 2]
    if not two:
        raise LabError(no_two_scores(reading.passes))
    passing: dict[tuple[int, ...], tuple[float, str]] = {}
    for criterion in two:
        score = passing_of(criterion, reading)
        other, name = passing.setdefault(criterion.scores, (score, criterion.name))
        if score != other:
            raise LabError(
                f"[reading] passes is “{shorten(reading.passes)}”, which is score {other:g} of "
                f"“{shorten(name)}” and score {score:g} of “{shorten(criterion.name)}”. Give the "
                f"same label the same score in both."
            )


def check_cut(scales: Iterable[Sequence[float]], reading: ReadingPart) -> None:
    """Raise LabError for ``[reading] cut`` that splits none of these scales.

    All answers would pass, or none. A scale is split if it has a score below the cut, and another
    one from it on. Nothing is checked where there is no scale.
    """
    cut, known = reading.cut, [scale for scale in scales if scale]
    if cut is None or not known or any(min(scale) < cut <= max(scale) for scale in known):
        return
    low, high = min(known[0]), max(known[0])
    would = "none would pass" if cut > high else "all would pass"
    raise LabError(
        f"[reading] cut is {cut:g}, but scores run from {low:g} to {high:g}, so {would}. Use a "
        f"number above {low:g}, up to {high:g}."
    )


def named_by_score(criteria: Sequence[Criterion], reading: ReadingPart) -> ReadingPart:
    """Return the reading with the score that passes in place of its label.

    Results know the labels that calls show. So where calls ask for numbers, or show other labels, a
    label would name nothing. ``check_passes`` has passed ``reading``. Raises LabError if no score
    means the same in all criteria.
    """
    if not reading.passes:
        return reading
    two = [criterion for criterion in criteria if len(criterion.options) == 2]
    scores = {passing_of(criterion, reading) for criterion in two}
    named = reading.model_copy(update={"passes": f"{min(scores):g}"})
    if len(scores) > 1 or any(passing_of(criterion, named) not in scores for criterion in two):
        raise LabError(
            f"[reading] passes is “{shorten(reading.passes)}”, but not all calls show that label, "
            f"and no score stands for it in all criteria. Give the criteria with two scores the "
            f"same scores, and no label that is the number of another score."
        )
    return named


def no_two_scores(passes: str) -> str:
    """Return what is wrong with ``passes`` where no scale has two scores."""
    return (
        f"[reading] passes is “{shorten(passes)}”, but no criterion has two scores. Leave it out. "
        f"To count scores from a certain one on as passes, set cut."
    )


def known_word(label: str) -> str:
    """Return GOOD or BAD for a label that usually means that; empty for others."""
    if look_alike(label) in GOOD_LABELS:
        return GOOD
    return BAD if look_alike(label) in BAD_LABELS else ""


def looks_reversed(criterion: Criterion) -> bool:
    """Return whether of two scores the lower one alone has a label that usually means a pass."""
    if len(criterion.options) != 2:
        return False
    low, high = (known_word(option.label) == GOOD for option in criterion.options)
    return low and not high
