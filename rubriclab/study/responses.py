"""Several answers a call, each scored under the same criterion: batches of items in, their calls out.

Items of one criterion are dealt into batches by the seed, so that companions are nobody's choice; those of one prompt
stay together where there are enough. Every item is asked about alone besides: what a batch does is told from the single
call on the same items.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from rubriclab.model.data import Criterion, DataSet, Item, Rubric
from rubriclab.model.judgment import Call, Ordering, Outcome, Reply
from rubriclab.model.orders import Strategy
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, count, shorten
from rubriclab.study.outcomes import alone_outcomes, batch_outcomes
from rubriclab.study.prompts import BATCH_BEGUN, BATCH_TEMPLATE, SCORE_TEMPLATE, Messages, batch_prompt, score_prompt
from rubriclab.study.protocols import Protocol, Shape, Subject, rated_items

ALONE = "alone"


class ResponsesProtocol(Protocol):
    """A subject is a batch of items of one criterion, or one item alone; a reply has a score for each."""

    def items(
        self, dataset: DataSet, rubric: Rubric, design: DesignPart
    ) -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
        return *rated_items(dataset, rubric), []

    def subjects(self, items: Sequence[Item], rubric: Rubric, design: DesignPart) -> tuple[list[Subject], list[str]]:
        by_criterion: dict[str, list[int]] = {}
        for code, item in enumerate(items):
            by_criterion.setdefault(str(item.criterion), []).append(code)
        subjects: list[Subject] = []
        left = 0
        for name, codes in by_criterion.items():
            criterion = rubric.criterion(name)
            if len(codes) < design.k:
                raise LabError(
                    f"[design] k is {design.k}, but “{shorten(name)}” has {count(len(codes), 'answer')}; a call needs "
                    f"{design.k}. Take more items or a smaller k."
                )
            batches = _dealt(items, codes, design.k, f"{design.seed}|batch|{name}")
            left += len(codes) - design.k * len(batches)
            for number, batch in enumerate(batches, start=1):
                subjects.append(_subject(items, batch, criterion, f"batch {number} of {design.k}|{name}"))
                subjects += [_subject(items, [code], criterion, f"{items[code].item_id}|{name}") for code in batch]
        return subjects, [f"{count(left, 'answer')} left out: the last call would not be full."] if left else []

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        """An item alone has one order; it is asked about as often as an order of a batch, and at least twice."""
        if shape.positions > 1:
            return list(strategies)
        return [Strategy("fixed", ALONE, max(2, *(strategy.repeats for strategy in strategies)))]

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        for order in strategy.asked(tuple(map(str, subject.options)), seed=seed, item_id=subject.id):
            yield Ordering(order, tuple(f"Response {k}" for k in range(1, len(order) + 1)))

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        return BATCH_BEGUN if subject.shape.positions > 1 else "The score is "

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        return subject.shape.positions == 1

    def template(self, subject: Subject, design: DesignPart) -> str:
        return BATCH_TEMPLATE if subject.shape.positions > 1 else SCORE_TEMPLATE

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages:
        criterion = subject.criteria[0]
        if subject.shape.positions == 1:
            numbers = tuple(map(str, criterion.scores))
            return score_prompt(subject.text, criterion, Ordering(criterion.scores, numbers))
        by_id = {item.item_id: item for item in subject.answers}
        return batch_prompt([by_id[str(name)] for name in ordering.shown], criterion)

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]:
        return batch_outcomes(call, reply) if len(call.items) > 1 else alone_outcomes(call, reply)


def _subject(items: Sequence[Item], codes: Sequence[int], criterion: Criterion, name: str) -> Subject:
    codes = sorted(codes, key=lambda code: items[code].item_id)
    answers = tuple(items[code] for code in codes)
    ids = tuple(item.item_id for item in answers)
    shape = Shape(criterion.scores, (), len(codes))
    return Subject(tuple(codes), answers[0], (criterion,), name, shape, ids, answers)


def _dealt(items: Sequence[Item], codes: Sequence[int], k: int, seed: str) -> list[list[int]]:
    """Full batches of ``k``: prompts in random order, whole batches within a prompt first, then what is over, mixed."""
    rng = random.Random(seed)
    prompts: dict[str, list[int]] = {}
    for code in codes:
        prompts.setdefault(items[code].prompt or items[code].item_id, []).append(code)
    batches, over = [], []
    for members in rng.sample(list(prompts.values()), len(prompts)):
        shuffled = rng.sample(members, len(members))
        whole = len(shuffled) - len(shuffled) % k
        batches += [shuffled[start : start + k] for start in range(0, whole, k)]
        over += shuffled[whole:]
    rng.shuffle(over)
    return batches + [over[start : start + k] for start in range(0, len(over) - k + 1, k)]
