"""Every finding that a run allows, worked out once, for the document and for the HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rubriclab.findings.alignment import AlignmentResult, Sweep, alignment, sweep
from rubriclab.findings.choice import ChoiceResult, choice
from rubriclab.findings.comparison import ComparisonResult, Predictors, comparison, predictors
from rubriclab.findings.criteria import CriteriaResult, criteria
from rubriclab.findings.debiasing import Debiasing, debiasing
from rubriclab.findings.perturbation import PerturbationResult, perturbation
from rubriclab.findings.position import PositionResult, position
from rubriclab.findings.ranking import RankingResult, ranking
from rubriclab.findings.recommendation import Recommendation, recommendation
from rubriclab.model import Arm, RunData

FORMS = ("fixed", "descending", "random")
"""Strategies that, read once an item, are forms of one prompt rather than ways to average."""


@dataclass(frozen=True)
class Gathered:
    """The findings of a run, each computed when first asked for."""

    data: RunData
    seed: int = 0

    @cached_property
    def axes(self) -> frozenset[str]:
        return frozenset(arm.axis for arm in self.data.arms)

    @cached_property
    def option_codes(self) -> tuple[int, ...]:
        """Codes of the arms on the options axis, in the order of ``position.arms``."""
        return tuple(code for code, arm in enumerate(self.data.arms) if arm.axis == "options")

    @cached_property
    def position(self) -> PositionResult:
        return position(self.data, seed=self.seed)

    @cached_property
    def alignment(self) -> AlignmentResult:
        return alignment(self.data, seed=self.seed)

    def sweep(self, factor: str) -> Sweep:
        """Agreement and bias by the levels of a factor that the run varies."""
        return sweep(self.data, factor, seed=self.seed)

    @cached_property
    def ranking(self) -> RankingResult:
        return ranking(self.data, seed=self.seed)

    @cached_property
    def criteria(self) -> CriteriaResult:
        return criteria(self.data, seed=self.seed)

    @cached_property
    def choice(self) -> ChoiceResult:
        return choice(self.data, seed=self.seed)

    @cached_property
    def debiasing(self) -> Debiasing:
        return debiasing(self.data, seed=self.seed)

    @cached_property
    def comparison(self) -> ComparisonResult:
        return comparison(self.data, seed=self.seed)

    @cached_property
    def predictors(self) -> tuple[Predictors, ...]:
        return predictors(self.comparison)

    @cached_property
    def perturbation(self) -> PerturbationResult | None:
        """None where the run does not vary the form of the prompt."""
        return perturbation(self.data, seed=self.seed) if varies_form(self.data) else None

    @cached_property
    def recommendation(self) -> tuple[Recommendation, ...]:
        options, ordered = "options" in self.axes, "criteria" in self.axes
        return recommendation(
            position=self.position if options else None,
            alignment=self.alignment if options else None,
            ranking=self.ranking if options or ordered else None,
            criteria=self.criteria if ordered else None,
        )


def varies_form(data: RunData) -> bool:
    """Does the run vary the prompt's form: score IDs, reference answers, or single orders?"""
    arms = [(code, arm) for code, arm in enumerate(data.arms) if arm.axis == "options"]
    if any(
        arm.variant.get(factor) is not None for _, arm in arms for factor in ("ids", "reference")
    ):
        return True
    single: dict[tuple[str, str, str], set[str]] = {}
    for code, arm in arms:
        if arm.strategy in FORMS and _read_once(data, code):
            single.setdefault(_setting(arm), set()).add(arm.strategy)
    return any(len(names) > 1 for names in single.values())


def _setting(arm: Arm) -> tuple[str, str, str]:
    return arm.judge, arm.dataset, str(arm.variant)


def _read_once(data: RunData, code: int) -> bool:
    items = data.judgments["item"].to_numpy()[data.judgments["arm"].to_numpy() == code]
    return len(items) > 0 and len(items) == len(set(items.tolist()))
