"""Two candidates' answers to one prompt a call; the candidates change places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from rubriclab.datasets.comparisons import comparisons
from rubriclab.model import (
    Arm,
    Axis,
    Call,
    Comparison,
    Design,
    Ordering,
    Outcome,
    Reply,
    Strategy,
    StrategyKind,
    Study,
    StudyError,
    Variant,
)
from rubriclab.model.language import msg, tr
from rubriclab.study.prompts.comparison import next_letter, render_comparison, template_name
from rubriclab.study.prompts.names import comparison_names
from rubriclab.study.prompts.outcomes import verdict_outcome
from rubriclab.study.protocols.base import Prompt, Protocol, Unit, answer_of


class Pairwise(Protocol):
    """A unit is a comparison, and a position shows one of its candidates under a letter."""

    axis: ClassVar[Axis] = "pairwise"
    title = msg("Two answers")
    about = msg("Which is better? The two change places.")
    begun = "Verdict: Assistant"
    rotations_only = True
    strategies: ClassVar[tuple[StrategyKind, ...]] = ("balanced", "fixed", "random", "all")
    settings = frozenset({"answer", "tie", "baseline_candidate"})
    rated = False

    def suits(self, candidates: int, compared: frozenset[int]) -> bool:
        return compared == {2} if compared else candidates >= 2

    def candidates(self, design: Design) -> int:
        """How many candidates a comparison has where the data have to be put together first."""
        del design
        return 2

    def judged(self, study: Study) -> tuple[Study, tuple[str, ...]]:
        if isinstance(study.dataset.items[0], Comparison):
            return study, ()
        design = study.design
        paired = comparisons(study.dataset, baseline=design.baseline_candidate, candidates=self.candidates(design))
        return replace(study, dataset=paired.dataset), tuple(paired.notes)

    def units(self, study: Study) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
        units = tuple(
            Unit((i,), item.candidates, item.item_id)
            for i, item in enumerate(study.dataset.items)
            if isinstance(item, Comparison)
        )
        return units, ()

    def shape(self, study: Study, unit: Unit, variant: Variant) -> tuple[tuple[int, ...], int]:
        del study, variant
        return (), len(unit.options)

    def orderings(self, study: Study, arm: Arm, strategy: Strategy, unit: Unit) -> tuple[Ordering, ...]:
        labels = tuple(chr(ord("A") + i) for i in range(len(unit.options)))
        lines = self.lines(arm, strategy, unit, seed=study.design.seed)
        return tuple(Ordering(shown=line, labels=labels) for line in lines)

    def names(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> dict[str, Any]:
        del arm
        return comparison_names(_comparison(study, unit), ordering, tie=study.design.tie)

    def answers(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> tuple[str, ...]:
        del arm, unit
        return (*ordering.labels, next_letter(ordering.labels)) if study.design.tie else ordering.labels

    def prompt(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Prompt:
        if (own := study.prompt_of(arm.variant)) is not None:
            template, messages, reading = self.own_prompt(own, study, arm, unit, ordering)
            return Prompt(template, messages, unit.items, reading=reading)
        comparison = _comparison(study, unit)
        tie = study.design.tie
        template = template_name(comparison, tie=tie, template=study.design.template)
        if answer_of(study, arm.variant) == "score":
            template = template_name(comparison, tie=tie, template="brief")
        messages = render_comparison(comparison, ordering, tie=tie, template=template)
        return Prompt(template, messages, unit.items)

    def parsed(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        return (verdict_outcome(call, reply, tie=tie),)


def _comparison(study: Study, unit: Unit) -> Comparison:
    comparison = study.dataset.items[unit.items[0]]
    if not isinstance(comparison, Comparison):
        raise StudyError(tr("“{item}” is one response: it has no candidates.", item=comparison.item_id))
    return comparison
