"""What is known about the forms of a judge's prompt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rubriclab.findings.choice import ChoiceModel
from rubriclab.findings.prompt_forms import Gold, form_said
from rubriclab.model import Arm
from rubriclab.model.language import msg
from rubriclab.stats.alignment import Correlation, Difference
from rubriclab.stats.inference import Interval, Test
from rubriclab.stats.verdict import Effect, Verdict


@dataclass(frozen=True)
class Distribution:
    """Judgments by score. ``counts[0]`` are the failed ones (score -1), then the scores."""

    scores: tuple[int, ...]
    counts: tuple[int, ...]
    share: tuple[float, ...]


@dataclass(frozen=True)
class Agreement:
    """A form beside gold, and its change against the baseline on the items both have.

    ``excluded`` = ``no_gold`` + ``incomplete`` (a read gave no score). Changes are None for
    the baseline; ``n_paired`` items carry them, ``p_holm`` is over the whole result.
    """

    n_items: int
    no_gold: int
    incomplete: int
    pearson: Correlation
    spearman: Correlation
    n_paired: int = 0
    delta_pearson: Difference | None = None
    delta_spearman: Difference | None = None
    pearson_p_holm: float = float("nan")
    spearman_p_holm: float = float("nan")
    test: str = msg("paired bootstrap over items")


@dataclass(frozen=True)
class Shift:
    """How far scores move against the baseline; every rate is a mean over ``n_items`` items.

    ``effect``: the mean shift in score points, at the judge's simultaneous confidence. ``single``:
    how much further apart, in points, a read of the form and one of the baseline lie than two
    reads of one form: what happens to single items. ``flips``: the chance that a read differs
    from a read of the baseline; ``absolute``: how far, in points; the judge's own noise is in
    both. ``own_flips``: flips between two reads of the baseline itself; ``excess``: flips beyond
    the randomness of both forms; both NaN where the forms were read once an item. ``test``: do
    the two forms have one distribution of scores? ``excess_test``: are there flips beyond
    randomness? Each is corrected with Holm over the judge's own forms.
    """

    effect: Effect
    single: Effect
    n_items: int
    n_excluded: int
    n_units: int
    flips: float
    flips_ci: Interval
    absolute: float
    absolute_ci: Interval
    own_flips: float
    excess: float
    excess_ci: Interval
    test: Test
    excess_test: Test
    p_holm: float = float("nan")
    excess_p_holm: float = float("nan")


@dataclass(frozen=True)
class Perturbation:
    """One form. ``family``: baseline, order, ids, reference, a factor's name, or several."""

    code: int
    arm: Arm
    name: str
    family: str
    level: Any
    judgments: dict[str, int]
    reads: int
    distribution: Distribution
    agreement: Agreement
    shift: Shift | None
    warnings: tuple[str, ...]

    @property
    def said(self) -> str:
        """The name in the reader's language."""
        return form_said(self.name)


@dataclass(frozen=True)
class Fluctuation:
    """The form whose agreement with gold departs most from the baseline's.

    ``ci`` holds for all forms at once. ``from_noise``: how large the largest of ``n_forms`` departures is by chance (median over
    resampled items); ``p``: how often chance makes one as large.
    """

    form: str
    change: float
    ci: Interval
    from_noise: float
    p: float
    n_forms: int
    test: str = msg("bootstrap of the largest change")


@dataclass(frozen=True)
class ReferencePoint:
    """Agreement and mean score with a reference answer of ``score`` shown (0: none), in arm ``code``."""

    code: int
    score: int
    pearson: Correlation
    spearman: Correlation
    mean: float
    n_items: int


@dataclass(frozen=True)
class ReferenceCurve:
    """Figure 5 of Li et al., and the pull: points of score per point of the reference's score.

    ``pull`` is 0 for a judge that references do not pull and 1 for one that copies them; it
    rests on the ``n_items`` items read with a reference of every score. NaN below two scores.
    """

    points: tuple[ReferencePoint, ...]
    pull: Effect
    test: Test
    n_items: int


@dataclass(frozen=True)
class Recommendation:
    """Is any form better than the usual one? ``gain``: of the best form, 0 where none is better.

    ``form`` comes first on all items, with ``value``, which the best of several also does by
    chance. ``clear``: no other form could be as good, by bands that hold at once; ``tied``: forms
    that could be; ``ruled_out``: those that are worse; ``not_compared``: forms with too little
    data. ``form`` is None where nothing is known.
    """

    form: str | None
    value: float
    gain: Effect
    clear: bool
    tied: tuple[str, ...]
    ruled_out: tuple[str, ...]
    not_compared: tuple[str, ...]
    n_items: int
    sentence: str


@dataclass(frozen=True)
class PerturbationGroup:
    """One judge on one data set and scale: the baseline first, then every other form."""

    judge: str
    dataset: str
    scores: tuple[int, ...]
    simulated: bool
    unit: str
    n_units: int
    gold: Gold | None
    perturbations: tuple[Perturbation, ...]
    pearson_fluctuation: Fluctuation | None
    spearman_fluctuation: Fluctuation | None
    reference: ReferenceCurve | None
    most_stable: Recommendation
    best_agreement: Recommendation
    warnings: tuple[str, ...]

    @property
    def baseline(self) -> Perturbation:
        return self.perturbations[0]

    @property
    def correlates(self) -> bool:
        """Is the agreement of some form with the yardstick defined: do the scores and the yardstick vary?"""
        return any(math.isfinite(form.agreement.pearson.r) for form in self.perturbations)


@dataclass(frozen=True)
class Followed:
    """Position against label in an arm whose labels were dealt out anew for every read.

    ``position_spread``, ``label_spread``: sd of the effects over their levels, in log-odds;
    NaN where the design does not show the effect. p are corrected over the judge's own arms.
    ``position``, ``label``: is an effect shown? Tests never say that there is none.
    """

    model: ChoiceModel
    position_spread: float
    label_spread: float
    position_p_holm: float
    label_p_holm: float
    position: Verdict
    label: Verdict
    sentence: str


@dataclass(frozen=True)
class PerturbationResult:
    """All groups of a run. ``n_tests``: forms that were tested against their baseline."""

    groups: tuple[PerturbationGroup, ...]
    followed: tuple[Followed, ...]
    n_tests: int
    n_boot: int
    seed: int
    warnings: tuple[str, ...]
