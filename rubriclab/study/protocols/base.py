"""What a protocol is: from a data set the things to ask about, from each of them the prompts,
from a reply what it says about each item."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, ClassVar

from rubriclab.datasets.comparisons import judged
from rubriclab.datasets.rubrics import rescale
from rubriclab.model import (
    AnswerMode,
    Arm,
    Axis,
    Call,
    Comparison,
    Criterion,
    Design,
    Item,
    Ordering,
    Outcome,
    Reply,
    Rubric,
    Strategy,
    StrategyKind,
    Study,
    StudyError,
    Variant,
    designs,
)
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule, PromptTemplate, Reading
from rubriclab.study.prompts.outcomes import no_answer
from rubriclab.study.prompts.template import render_template


@dataclass(frozen=True)
class Unit:
    """What one ordering is about: an item, a text with all its criteria, or a comparison.

    ``options`` change places within it, in canonical order; none where the arm's scores do.
    ``turn``: an item that stands in several units of an arm is numbered by them: its reads in the
    second one go on where those in the first end.
    """

    items: tuple[int, ...]
    options: tuple[str, ...]
    id: str
    turn: int = 0


@dataclass(frozen=True)
class Prompt:
    """A unit in one ordering, rendered.

    ``items``: those that the reply is about, in the order in which it is. ``reference``: the
    score of the reference answer shown. ``scores``: the scale of a reply about several items.
    ``reading``: how a reply to the user's own prompt is read.
    """

    template: str
    messages: tuple[Mapping[str, str], ...]
    items: tuple[int, ...]
    reference: int | None = None
    scores: tuple[int, ...] = ()
    reading: Reading | None = None


class Protocol(ABC):
    """One way of asking a judge, and the only thing that knows which axis it is on.

    ``title`` and ``about`` are how a form offers it. ``begun`` is how the answer of an embedded judge is begun for it in score mode (“{first}”:
    what stands first). ``one_label``: a reply in score mode is one label, so it is short and
    its first token has probabilities. ``rotations_only``: balanced orders leave the reversed
    half out. ``strategies``: those a form offers, None for all.
    ``settings``: what of the design means something here and not everywhere (fields, and factors
    that are no field of the sampling). ``rated``: what is judged is rated under a rubric.
    ``usual``: the strategies of a study that names none.
    """

    axis: ClassVar[Axis]
    title: ClassVar[str]
    about: ClassVar[str]
    begun: ClassVar[str]
    one_label: ClassVar[bool] = True
    rotations_only: ClassVar[bool] = False
    strategies: ClassVar[tuple[StrategyKind, ...] | None] = None
    settings: ClassVar[frozenset[str]] = frozenset()
    rated: ClassVar[bool] = True
    usual: ClassVar[tuple[Strategy, ...]] = (Strategy("balanced"), Strategy("fixed"))

    def suits(self, candidates: int, compared: frozenset[int]) -> bool:
        """Whether a form offers it for data of so many candidates.

        ``compared``: how many stand in each ready-made comparison; empty for single responses.
        """
        del candidates
        return not compared

    def judged(self, study: Study) -> tuple[Study, tuple[str, ...]]:
        """The study with its data as they are judged, and notes on what was left out.

        As it stands here: single responses, spread over the criteria of the rubric. Raises
        StudyError for other data and for no rubric.
        """
        if isinstance(study.dataset.items[0], Comparison):
            raise StudyError(
                tr(
                    "Data set “{dataset}” holds comparisons; the axis “{axis}” needs single responses. Choose the axis "
                    "pairwise or listwise, or another data set.",
                    dataset=study.dataset.name,
                    axis=self.axis,
                )
            )
        rubric = study.rubric or study.dataset.rubric
        if rubric is None:
            raise StudyError(
                tr("Study “{study}” has no rubric and its data set brings none. Choose a rubric.", study=study.name)
            )
        return replace(study, rubric=rubric, dataset=judged(study.dataset, rubric)), ()

    @abstractmethod
    def units(self, study: Study) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
        """What the calls are about, in the data's order, and notes on what was left out."""

    @abstractmethod
    def shape(self, study: Study, unit: Unit, variant: Variant) -> tuple[tuple[int, ...], int] | None:
        """The scores and the number of positions of a unit's arm; None where it is not asked under a variant."""

    def factors(self, design: Design) -> Mapping[str, tuple[Any, ...]]:
        """What is varied: the design's factors, and what the protocol itself always varies."""
        return design.factors

    def reads(self, arm: Arm, strategy: Strategy) -> int:
        """How often a unit is read under one arm, before repeats."""
        return designs.n_reads(strategy, arm.n_positions, rotations_only=self.rotations_only)

    def begins(self, arm: Arm) -> str:
        """How the answer of an embedded judge is begun for it in this arm."""
        del arm
        return self.begun

    def asks_one_label(self, arm: Arm) -> bool:
        """Whether a reply in score mode is one label in this arm."""
        del arm
        return self.one_label

    def fits(self, study: Study, arm: Arm, unit: Unit) -> bool:
        """Whether a unit is asked about in this arm: on its own scale alone."""
        return self.shape(study, unit, arm.variant) == (arm.scores, arm.n_positions)

    def check(self, arm: Arm, strategy: Strategy, units: Sequence[Unit]) -> None:
        """Raises StudyError for orders that cannot be shown, before the first call.

        ``units``: those of the arm.
        """
        for unit in {unit.options: unit for unit in units}.values():
            self.lines(arm, strategy, unit)

    def lines(
        self, arm: Arm, strategy: Strategy, unit: Unit, *, seed: int = 0
    ) -> tuple[tuple[int, ...], ...] | tuple[tuple[str, ...], ...]:
        """The orders of one unit under one arm."""
        draw = partial(designs.orderings, strategy, seed=seed, item_id=unit.id, rotations_only=self.rotations_only)
        return draw(unit.options) if unit.options else draw(arm.scores)

    @abstractmethod
    def orderings(self, study: Study, arm: Arm, strategy: Strategy, unit: Unit) -> tuple[Ordering, ...]:
        """The orders of one unit under one arm, with the labels that stand beside them."""

    @abstractmethod
    def prompt(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Prompt | None:
        """What is sent; None for a unit that cannot be asked about in this arm."""

    @abstractmethod
    def names(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Mapping[str, Any]:
        """What a user's own prompt can name of a unit in one order (see ``prompts.names``)."""

    @abstractmethod
    def answers(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> tuple[str, ...]:
        """The labels that may be answered, in an order that does not depend on what is shown."""

    def rule(self, rule: AnswerRule) -> AnswerRule:
        """How a reply to a user's own prompt is read, from what its file says."""
        return rule

    def named(self, unit: Unit) -> tuple[str, ...]:
        """What one reply answers for by name, as criteria; none where a label is the answer."""
        del unit
        return ()

    def own_prompt(
        self, template: PromptTemplate, study: Study, arm: Arm, unit: Unit, ordering: Ordering
    ) -> tuple[str, tuple[Mapping[str, str], ...], Reading]:
        """A user's own prompt: its id (part of a call's key), its messages, and how a reply is read."""
        messages = render_template(template, self.names(study, arm, unit, ordering))
        reading = Reading(self.rule(template.answer), self.answers(study, arm, unit, ordering))
        return f"own.{template.id}", messages, reading

    def read(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        """What a reply says about each item of its call; never raises for what a judge wrote."""
        return no_answer(call, reply) or self.parsed(call, reply, tie=tie)

    @abstractmethod
    def parsed(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        """What a reply that did arrive says about each item of its call."""


def answer_of(study: Study, variant: Variant) -> AnswerMode:
    """How the judge answers under a variant: of an own prompt, whether its label is the whole reply."""
    if (own := study.prompt_of(variant)) is not None:
        return "score" if own.answer.read == "label" else "feedback"
    answer: AnswerMode = variant.get("answer", study.design.answer)
    return answer


def criterion_of(study: Study, item: int, variant: Variant) -> Criterion:
    """What an item (by its index) is judged under: in the wording and on the scale that the variant names."""
    rubric = study.rubric_of(variant)
    if rubric is None:
        raise StudyError(tr("Study “{study}” has no rubric.", study=study.name))
    subject = study.dataset.items[item]
    name = subject.criterion if isinstance(subject, Item) else None
    return _criterion(rubric, name, variant.get("scale"))


@lru_cache(maxsize=4096)
def _criterion(rubric: Rubric, name: str | None, scale: int | None) -> Criterion:
    criterion = rubric.criterion(name)
    if scale is None or scale == len(criterion.options):
        return criterion
    return rescale(criterion, scale)[0]
