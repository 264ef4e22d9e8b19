"""What one call asks about: score options of one criterion, all criteria of one text, or a bare score.

A protocol makes the run's items from the data, groups them into subjects (what one order is about), and turns a
subject and an order into messages. A new one is a class and its line in ``study/axes.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol as Interface

from rubriclab.model.data import Criterion, DataSet, Item, Rubric
from rubriclab.model.judgment import Call, Ordering, Outcome, Reply
from rubriclab.model.orders import Strategy
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, count, look_alike, shorten
from rubriclab.study.outcomes import bare_outcomes, criteria_outcomes, option_outcomes
from rubriclab.study.prompts import (
    BARE_TEMPLATE,
    CRITERIA_TEMPLATE,
    FEEDBACK_TEMPLATE,
    SCORE_TEMPLATE,
    Messages,
    bare_prompt,
    check_criteria,
    criteria_prompt,
    score_prompt,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What subjects of one condition share. ``targets``: the criteria of one call; empty where it is about one item."""

    scores: tuple[int, ...]
    targets: tuple[str, ...]
    positions: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What one order is about. ``items``: codes into the run's items; ``criteria``: theirs; ``id`` seeds its draws.

    ``options``: what is ordered, in the default order: scores, names of criteria or candidates, ids of items.
    ``reference``: the score of the reference answer that is shown; None for the highest.
    """

    items: tuple[int, ...]
    text: Item
    criteria: tuple[Criterion, ...]
    id: str
    shape: Shape
    options: tuple[int, ...] | tuple[str, ...]
    answers: tuple[Item, ...] = ()
    reference: int | None = None


class Protocol(Interface):
    """What an axis has to say; the methods with a body are what most say."""

    def items(
        self, dataset: DataSet, rubric: Rubric, design: DesignPart
    ) -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
        """(the run's items, which of the data's items each comes from, notes on what was left out)."""

    def subjects(self, items: Sequence[Item], rubric: Rubric, design: DesignPart) -> tuple[list[Subject], list[str]]:
        """(subjects in the data's order, notes on what was left out). Raises LabError where none is left."""

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        """Those under which subjects of a shape are asked."""
        return list(strategies)

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """The ordering of every call of a subject under a strategy, repeats in, in the design's order."""

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        """How the answer of an embedded judge is begun for it; empty where it is left to itself."""

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        """Whether the whole reply is one label."""

    def template(self, subject: Subject, design: DesignPart) -> str: ...

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages: ...

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]: ...


def rated_items(dataset: DataSet, rubric: Rubric) -> tuple[tuple[Item, ...], tuple[int, ...]]:
    """(items each under one criterion of the rubric, the data's item that each comes from).

    Items that name no criterion are judged under each one; where there are several, the block is the item's own, or
    the item itself, so that its criteria are resampled together. Raises LabError where some items name a criterion and
    others do not, and for names that the rubric does not have.
    """
    named = [item for item in dataset.items if item.criterion]
    if named and len(named) < len(dataset.items):
        without = next(item for item in dataset.items if not item.criterion)
        raise LabError(
            f"Item “{shorten(without.item_id)}” names no criterion and “{shorten(named[0].item_id)}” does. Name one "
            "for every item, or for none."
        )
    several = len(rubric.criteria) > 1
    made = []
    for code, item in enumerate(dataset.items):
        if named:
            made.append((replace(item, criterion=rubric.criterion(item.criterion).name), code))
            continue
        block = item.block or (item.item_id if several else None)
        made += [(replace(item, criterion=criterion.name, block=block), code) for criterion in rubric.criteria]
    return tuple(item for item, _ in made), tuple(code for _, code in made)


class OptionsProtocol(Protocol):
    """One response under one criterion a call; the score options are reordered."""

    def items(
        self, dataset: DataSet, rubric: Rubric, design: DesignPart
    ) -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
        return *rated_items(dataset, rubric), []

    def subjects(self, items: Sequence[Item], rubric: Rubric, design: DesignPart) -> tuple[list[Subject], list[str]]:
        shapes = {criterion.name: Shape(criterion.scores, (), len(criterion.options)) for criterion in rubric.criteria}
        subjects = []
        for code, item in enumerate(items):
            criterion = rubric.criterion(item.criterion)
            name = f"{item.item_id}|{criterion.name}"
            subjects.append(Subject((code,), item, (criterion,), name, shapes[criterion.name], criterion.scores))
        return subjects, []

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        labels = {option.score: option.shown_label for option in subject.criteria[0].options}
        for order in strategy.asked(subject.shape.scores, seed=seed, item_id=subject.id):
            yield Ordering(order, tuple(labels[score] for score in order))

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        return "The score is " if design.answer == "score" else ""

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        return design.answer == "score"

    def template(self, subject: Subject, design: DesignPart) -> str:
        return FEEDBACK_TEMPLATE if design.answer == "feedback" else SCORE_TEMPLATE

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages:
        return score_prompt(
            subject.text, subject.criteria[0], ordering, answer=design.answer, reference=subject.reference
        )

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]:
        return option_outcomes(call, reply)


class BareProtocol(OptionsProtocol):
    """One response, a score on a named scale, and no list: nothing is reordered (Xu et al. v2, figure 1)."""

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        return [Strategy("fixed", "bare", max(strategy.repeats for strategy in strategies))]

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """The scale as its numbers, which the prompt names and does not list."""
        scores = subject.shape.scores
        yield from [Ordering(scores, tuple(map(str, scores)))] * (strategy.calls or strategy.repeats)

    def template(self, subject: Subject, design: DesignPart) -> str:
        return BARE_TEMPLATE

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages:
        return bare_prompt(subject.text, subject.criteria[0])

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        return "The score is "

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        return True

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]:
        return bare_outcomes(call, reply)


class CriteriaProtocol(Protocol):
    """One response under all its criteria in one call; the criteria are reordered."""

    def items(
        self, dataset: DataSet, rubric: Rubric, design: DesignPart
    ) -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
        """Criteria of one text stand together, in the rubric's order; the block is the text."""
        items, sources = rated_items(dataset, rubric)
        rank = {criterion.name: k for k, criterion in enumerate(rubric.criteria)}
        first: dict[str, int] = {}
        start = [first.setdefault(_text_of(item), code) for code, item in enumerate(items)]
        order = sorted(range(len(items)), key=lambda k: (start[k], rank[str(items[k].criterion)]))
        names = [items[code].block or items[code].item_id for code in start]
        return tuple(replace(items[k], block=names[k]) for k in order), tuple(sources[k] for k in order), []

    def subjects(self, items: Sequence[Item], rubric: Rubric, design: DesignPart) -> tuple[list[Subject], list[str]]:
        texts: dict[str, list[int]] = {}
        for code, item in enumerate(items):
            texts.setdefault(str(item.block), []).append(code)
        subjects, notes = [], []
        for block, codes in texts.items():
            criteria = tuple(rubric.criterion(items[code].criterion) for code in codes)
            names = tuple(criterion.name for criterion in criteria)
            if len(set(names)) < len(names):
                raise LabError(
                    f"Text “{shorten(block)}” has a criterion twice. Give each row of a text its own criterion, or "
                    "each text its own block."
                )
            if len(names) < 2:
                notes.append(f"Text “{shorten(block)}” has one criterion and is left out: there is nothing to reorder.")
                continue
            check_criteria(criteria)
            shape = Shape(criteria[0].scores, names, len(names))
            subjects.append(Subject(tuple(codes), items[codes[0]], criteria, block, shape, names))
        if not subjects:
            raise LabError(
                "No text has two or more criteria, so there is no criterion order to vary. Choose a rubric with "
                'several criteria, or reorder = "options".'
            )
        if len(notes) > 3:
            notes = [f"{count(len(notes), 'text')} with one criterion are left out: there is nothing to reorder."]
        labelled = [option for criterion in rubric.criteria for option in criterion.options if option.label]
        if labelled:
            notes.append(
                f"With all criteria in one call scores are asked for as numbers; labels as “{labelled[0].label}” are "
                "not shown."
            )
        return subjects, notes

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        for order in strategy.asked(subject.shape.targets, seed=seed, item_id=subject.id):
            yield Ordering(order, order)

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        return f"Scores:\n[{ordering.shown[0]}]" if design.answer == "score" else ""

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        return False

    def template(self, subject: Subject, design: DesignPart) -> str:
        return CRITERIA_TEMPLATE

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages:
        return criteria_prompt(subject.text, subject.criteria, ordering)

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]:
        return criteria_outcomes(call, reply, targets)


def _text_of(item: Item) -> str:
    """What rows about one text have in common."""
    return look_alike(item.block) if item.block else f"{item.instruction}\0{item.response}"
