"""Several responses a call, each scored under the same criterion; the responses change places.

Items of one criterion are dealt into batches at random, so that companions are nobody's choice. Within
a batch a Williams square shows each response at each place, and right after each other one, equally
often (Williams 1949). Every item is asked about alone besides, twice: what a batch does is told
from the single call on the same items, and the judge's own noise from the call repeated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar

from rubriclab.model import (
    Arm,
    Axis,
    Call,
    Criterion,
    Design,
    Item,
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
from rubriclab.model.prompt import AnswerRule
from rubriclab.model.wording import many
from rubriclab.study.prompts.batch import (
    BATCH_BEGUN,
    BATCH_TEMPLATE,
    SINGLE_BEGUN,
    batch_rule,
    place_label,
    render_batch,
)
from rubriclab.study.prompts.names import batch_names
from rubriclab.study.prompts.outcomes_batch import batch_outcomes, single_outcome
from rubriclab.study.prompts.rubric import SCORE_TEMPLATE, render_rubric
from rubriclab.study.protocols.base import Prompt, Protocol, Unit, criterion_of

SIZE = "batch_size"
MAX_SIZE = 50
SINGLE_READS = 2
"""Of an item alone: the same call twice is the noise that everything is held against."""


TWICE = msg("{items} {items:stands|stand} in two batches of {size}, so that the last is full.")
TWICE_OF = msg("{items} of “{criterion}” {items:stands|stand} in two batches of {size}, so that the last is full.")


class Batch(Protocol):
    """A unit is a batch of items of one criterion, or one item alone; its reply has a score for each."""

    axis: ClassVar[Axis] = "batch"
    title = msg("Several responses a call")
    about = msg("Responses scored together, each under the same rubric; they change places. Beside them, single calls.")
    begun = BATCH_BEGUN
    one_label = False
    strategies: ClassVar[tuple[StrategyKind, ...]] = ("williams", "fixed", "random", "balanced")
    settings = frozenset({SIZE, "batch_draws"})
    usual = (Strategy("williams"), Strategy("fixed", reads=2))

    def factors(self, design: Design) -> Mapping[str, tuple[Any, ...]]:
        """The sizes of batches, the single call last; what else the design varies behind them."""
        given = dict(design.factors)
        if unused := sorted({"ids", "reference", "answer"} & given.keys()):
            raise StudyError(
                tr(
                    "Factor “{factor}” means nothing where several responses share a call; leave it out.",
                    factor=unused[0],
                )
            )
        sizes = tuple(size for size in given.pop(SIZE, (design.batch_size,)) if size is True or size != 1)
        return {SIZE: (*(_checked(size) for size in sizes or (design.batch_size,)), 1), **given}

    def reads(self, arm: Arm, strategy: Strategy) -> int:
        return SINGLE_READS if arm.n_positions == 1 else super().reads(arm, strategy)

    def begins(self, arm: Arm) -> str:
        return SINGLE_BEGUN if arm.n_positions == 1 else self.begun

    def asks_one_label(self, arm: Arm) -> bool:
        return arm.n_positions == 1

    def units(self, study: Study) -> tuple[tuple[Unit, ...], tuple[str, ...]]:
        groups: dict[tuple[str | None, tuple[int, ...]], list[int]] = {}
        for i, item in enumerate(study.dataset.items):
            if isinstance(item, Item):
                criterion = criterion_of(study, i, Variant())
                groups.setdefault((item.criterion, criterion.scores), []).append(i)
        units: dict[str, Unit] = {}
        notes: list[str] = []
        for size in self.factors(study.design)[SIZE][:-1]:
            for (criterion_name, _), members in groups.items():
                batches, again = _dealt(study, size, str(criterion_name), members)
                if again:
                    said = TWICE_OF if criterion_name else TWICE
                    notes.append(tr(said, items=many(again, "item"), criterion=criterion_name, size=size))
                for unit in chain.from_iterable(_with_singles(study, batch) for batch in batches):
                    units.setdefault(unit.id, unit)
        return tuple(units.values()), tuple(notes)

    def shape(self, study: Study, unit: Unit, variant: Variant) -> tuple[tuple[int, ...], int] | None:
        if variant.get(SIZE) != len(unit.items):
            return None
        return criterion_of(study, unit.items[0], variant).scores, len(unit.items)

    def lines(
        self, arm: Arm, strategy: Strategy, unit: Unit, *, seed: int = 0
    ) -> tuple[tuple[int, ...], ...] | tuple[tuple[str, ...], ...]:
        if len(unit.options) == 1:
            return (unit.options,) * SINGLE_READS
        return super().lines(arm, strategy, unit, seed=seed)

    def orderings(self, study: Study, arm: Arm, strategy: Strategy, unit: Unit) -> tuple[Ordering, ...]:
        lines = self.lines(arm, strategy, unit, seed=study.design.seed)
        return tuple(Ordering(shown=line) for line in lines)

    def names(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> dict[str, Any]:
        criterion = criterion_of(study, unit.items[0], arm.variant)
        return batch_names([_item(study, i) for i in _as_shown(unit, ordering)], criterion)

    def rule(self, rule: AnswerRule) -> AnswerRule:
        return batch_rule(rule)

    def named(self, unit: Unit) -> tuple[str, ...]:
        return tuple(place_label(place) for place in range(1, len(unit.items) + 1))

    def answers(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> tuple[str, ...]:
        del ordering
        return criterion_of(study, unit.items[0], arm.variant).labels

    def prompt(self, study: Study, arm: Arm, unit: Unit, ordering: Ordering) -> Prompt:
        shown = _as_shown(unit, ordering)
        if (own := study.prompt_of(arm.variant)) is not None:
            template, messages, reading = self.own_prompt(own, study, arm, unit, ordering)
            reading = replace(reading, names=self.named(unit))
            return Prompt(template, messages, shown, scores=arm.scores, reading=reading)
        criterion = criterion_of(study, unit.items[0], arm.variant)
        if len(shown) == 1:
            usual = _numbered(criterion)
            messages = render_rubric(_item(study, shown[0]), criterion, usual, answer="score")
            return Prompt(SCORE_TEMPLATE, messages, shown, scores=arm.scores)
        messages = render_batch([_item(study, i) for i in shown], criterion)
        return Prompt(BATCH_TEMPLATE, messages, shown, scores=arm.scores)

    def parsed(self, call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
        del tie
        alone = len(call.items) == 1 and call.reading is None
        return (single_outcome(call, reply),) if alone else batch_outcomes(call, reply)


def _checked(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 2 <= size <= MAX_SIZE:
        raise StudyError(
            tr(
                "batch_size is {size!r}; give whole numbers from 2 to {most}. Single calls are asked besides.",
                size=size,
                most=MAX_SIZE,
            )
        )
    return size


def _dealt(study: Study, size: int, criterion: str, members: Sequence[int]) -> tuple[list[Unit], int]:
    """The batches of all draws, and how many items fill up the last one of each draw."""
    if len(members) < size:
        raise StudyError(
            tr(
                "A batch of {size} needs {size} items of one criterion; “{criterion}” has {n}. "
                "Take more items or a smaller batch_size.",
                size=size,
                criterion=criterion,
                n=len(members),
            )
        )
    batches = []
    missing = -len(members) % size
    for draw in range(study.design.batch_draws):
        rng = random.Random(f"{study.design.seed}|batch|{criterion}|{size}|{draw}")
        dealt = rng.sample(list(members), len(members))
        dealt += rng.sample(dealt[: len(members) - (len(members) % size)], missing)
        for start in range(0, len(dealt), size):
            items = tuple(dealt[start : start + size])
            filled = missing > 0 and start + size == len(dealt)
            ids = tuple(study.dataset.items[i].item_id for i in items)
            name = f"batch of {size}, draw {draw + 1}, {start // size + 1}, {criterion}"
            batches.append(Unit(items, ids, name, turn=2 * draw + filled))
    return batches, missing


def _with_singles(study: Study, batch: Unit) -> Iterator[Unit]:
    """A batch, then each of its items alone: a run that stops early has both of the same items."""
    yield batch
    for i in batch.items:
        item_id = study.dataset.items[i].item_id
        yield Unit((i,), (item_id,), item_id)


def _as_shown(unit: Unit, ordering: Ordering) -> tuple[int, ...]:
    by_id = dict(zip(unit.options, unit.items, strict=True))
    return tuple(by_id[str(item_id)] for item_id in ordering.shown)


def _numbered(criterion: Criterion) -> Ordering:
    """The usual, ascending order of the scores under their own numbers, as a batch shows them."""
    return Ordering(criterion.scores, tuple(map(str, criterion.scores)))


def _item(study: Study, index: int) -> Item:
    item = study.dataset.items[index]
    if not isinstance(item, Item):
        raise StudyError(tr("“{item}” is a comparison: it is not scored in a batch.", item=item.item_id))
    return item
