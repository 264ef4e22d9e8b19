"""Say what one call is about, by what it lists: options, criteria, answers, candidates, or nothing.

A protocol makes the run's items from the data, groups them into subjects (what one order is about),
and turns a subject and an order into a prompt. To add one, write a class and its line in
``PROTOCOLS``. ``outcomes`` says what its replies mean.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

from rubriclab.model.data import INTENDED, Comparison, Criterion, DataSet, Item, Rubric, preference
from rubriclab.model.judgment import Ordering, Reorder
from rubriclab.model.orders import Strategy, rotations
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, count, look_alike, shorten
from rubriclab.study import prompts
from rubriclab.study.labels import check_criteria, letters, natural_order
from rubriclab.study.placeholders import numbered

SCORE_BEGUN = "The score is "
ALONE = "alone"
"""The strategy under which answers that one call scores together are also asked about one by one.
"""
MAX_COMPARISONS = 200_000
Made = tuple[tuple[Item, ...], tuple[int, ...], list[str]]
"""(a run's items, which of the data's items each comes from, notes on what was left out)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What subjects of one condition share. ``targets``: the criteria of one call; empty where it
    is about one item.
    """

    scores: tuple[int, ...]
    targets: tuple[str, ...]
    positions: int


@dataclass(frozen=True, slots=True)
class Subject:
    """What one order is about. ``items``: codes into the run's items; ``criteria``: theirs; ``id``
    seeds its draws.

    ``options``: what is ordered, in the default order: scores, names of criteria or candidates, ids
    of items. ``reference``: the score of the reference answer that is shown; None for the highest.
    """

    items: tuple[int, ...]
    text: Item
    criteria: tuple[Criterion, ...]
    id: str
    shape: Shape
    options: tuple[int, ...] | tuple[str, ...]
    answers: tuple[Item, ...] = ()
    reference: int | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent. ``brief``: the whole reply is one label; ``begun``: how an embedded judge's
    answer is begun for it.

    ``labels``: all that a brief reply may be, in an order of their own, which the order shown does
    not change.
    """

    messages: prompts.Messages
    template: str
    begun: str = ""
    brief: bool = False
    labels: tuple[str, ...] = ()


class Protocol:
    """What an axis has to say; the methods with a body are what most say."""

    def items(self, dataset: DataSet, rubric: Rubric, design: DesignPart) -> Made:
        """(the run's items, which of the data's items each comes from, notes on what was left
        out).
        """
        return rated_items(dataset, rubric)

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        """(subjects in the data's order, notes on what was left out). Raises LabError where none is
        left.
        """
        raise NotImplementedError

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        """Those under which subjects of a shape are asked."""
        return list(strategies)

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """The ordering of every call of a subject under a strategy, repeats in, in the design's
        order.
        """
        options: Sequence[Any] = subject.options
        for order in strategy.asked(options, seed=seed, item_id=subject.id):
            yield self.ordering(subject, order)

    def ordering(self, subject: Subject, order: tuple[Any, ...]) -> Ordering:
        """An order with what stands for each part of it."""
        return Ordering(order, self.labels(subject, order))

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        """What stands for each of ``order`` in prompt and reply."""
        return order

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        raise NotImplementedError


def rated_items(dataset: DataSet, rubric: Rubric) -> Made:
    """(items each under one criterion of the rubric, the data's item that each comes from, notes on
    their ratings).

    Items that name no criterion are judged under each one; where there are several, the block is
    the item's own, or the item itself, so that its criteria are resampled together. A rating whose
    column names a criterion is of that one alone. Raises LabError where some items name a criterion
    and others do not, and for names that the rubric does not have.
    """
    named = [item for item in dataset.items if item.criterion]
    if named and len(named) < len(dataset.items):
        without = next(shorten(item.item_id) for item in dataset.items if not item.criterion)
        words = f"and “{shorten(named[0].item_id)}” does. Name one for every item, or for none."
        raise LabError(f"Item “{without}” names no criterion {words}")
    several = len(rubric.criteria) > 1
    raters = {rater for item in dataset.items for rater in item.ratings}
    about = {rater: own for rater in raters if (own := rubric.criterion_named(rater))}
    made = []
    for code, item in enumerate(dataset.items):
        if named:
            made.append((replace(item, criterion=rubric.criterion(item.criterion).name), code))
            continue
        block = item.block or (item.item_id if several else None)
        for name in (criterion.name for criterion in rubric.criteria):
            given = (
                (about.get(rater, (name, rater)), score) for rater, score in item.ratings.items()
            )
            ratings = (
                {rater: score for (own, rater), score in given if own == name}
                if about
                else item.ratings
            )
            made.append((replace(item, criterion=name, block=block, ratings=ratings), code))
    unnamed, notes = len(raters - {*about, INTENDED}), []
    if unnamed and several and not named:
        notes = [
            f"Human scores of {count(unnamed, 'rater')} name no criterion: they are held against "
            f"each of the "
            f"{len(rubric.criteria)} criteria. Name a column after the one that it rates, as "
            f"“{rubric.criteria[0].name}”."
        ]
    return tuple(item for item, _ in made), tuple(code for _, code in made), notes


class OptionsProtocol(Protocol):
    """One response under one criterion a call; the score options are reordered."""

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        shapes = {
            criterion.name: Shape(criterion.scores, (), len(criterion.options))
            for criterion in rubric.criteria
        }
        subjects = []
        for code, item in enumerate(items):
            criterion = rubric.criterion(item.criterion)
            name = f"{item.item_id}|{criterion.name}"
            subjects.append(
                Subject((code,), item, (criterion,), name, shapes[criterion.name], criterion.scores)
            )
        return subjects, []

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        label_of = {option.score: option.shown_label for option in subject.criteria[0].options}
        return tuple(label_of[score] for score in order)

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        messages = prompts.score_prompt(
            subject.text,
            subject.criteria[0],
            ordering,
            answer=design.answer,
            reference=subject.reference,
        )
        if design.answer == "feedback":
            return Prompt(messages, prompts.lab_prompt("feedback").name)
        labels = natural_order(ordering.labels)
        template = prompts.lab_prompt("score").name
        return Prompt(messages, template, SCORE_BEGUN, brief=True, labels=labels)


class BareProtocol(OptionsProtocol):
    """One response, a score on a named scale, and no list: nothing is reordered (Xu et al. v2,
    figure 1).
    """

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        return [Strategy("fixed", "bare", max(strategy.repeats for strategy in strategies))]

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        """The scale as its numbers, which the prompt names and does not list."""
        return tuple(map(str, order))

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        messages = prompts.bare_prompt(subject.text, subject.criteria[0])
        labels = tuple(map(str, sorted(ordering.shown)))
        template = prompts.lab_prompt("bare").name
        return Prompt(messages, template, SCORE_BEGUN, brief=True, labels=labels)


class CriteriaProtocol(Protocol):
    """One response under all its criteria in one call; the criteria are reordered."""

    def items(self, dataset: DataSet, rubric: Rubric, design: DesignPart) -> Made:
        """Criteria of one text stand together, in the rubric's order; the block is the text."""
        items, sources, notes = rated_items(dataset, rubric)
        rank = {criterion.name: k for k, criterion in enumerate(rubric.criteria)}
        first: dict[str, int] = {}
        start = [first.setdefault(_text_of(item), code) for code, item in enumerate(items)]
        order = sorted(range(len(items)), key=lambda k: (start[k], rank[str(items[k].criterion)]))
        names = [items[code].block or items[code].item_id for code in start]
        return (
            tuple(replace(items[k], block=names[k]) for k in order),
            tuple(sources[k] for k in order),
            notes,
        )

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        texts: dict[str, list[int]] = {}
        for code, item in enumerate(items):
            texts.setdefault(str(item.block), []).append(code)
        subjects, notes = [], []
        for block, codes in texts.items():
            criteria = tuple(rubric.criterion(items[code].criterion) for code in codes)
            names = tuple(criterion.name for criterion in criteria)
            if len(set(names)) < len(names):
                cure = "Give each row of a text its own criterion, or each text its own block."
                raise LabError(f"Text “{shorten(block)}” has a criterion twice. {cure}")
            if len(names) < 2:
                notes.append(
                    f"Text “{shorten(block)}” has one criterion and is left out: there is nothing "
                    f"to reorder."
                )
                continue
            check_criteria(criteria)
            shape = Shape(criteria[0].scores, names, len(names))
            subjects.append(Subject(tuple(codes), items[codes[0]], criteria, block, shape, names))
        if not subjects:
            cure = 'Choose a rubric with several criteria, or reorder = "options".'
            raise LabError(
                f"No text has two or more criteria, so there is no criterion order to vary. {cure}"
            )
        if len(notes) > 3:
            notes = [
                f"{count(len(notes), 'text')} with one criterion are left out: there is nothing to "
                f"reorder."
            ]
        labelled = [
            option for criterion in rubric.criteria for option in criterion.options if option.label
        ]
        if labelled:
            notes.append(
                f"With all criteria in one call scores are asked for as numbers; labels as "
                f"“{labelled[0].label}” are "
                "not shown."
            )
        return subjects, notes

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        begun = f"Scores:\n[{ordering.shown[0]}]" if design.answer == "score" else ""
        messages = prompts.criteria_prompt(subject.text, subject.criteria, ordering)
        return Prompt(messages, prompts.lab_prompt("criteria").name, begun)


def _text_of(item: Item) -> str:
    """What rows about one text have in common."""
    return look_alike(item.block) if item.block else f"{item.instruction}\0{item.response}"


class ResponsesProtocol(Protocol):
    """Several answers a call, each scored under the same criterion; or one of them alone, to tell
    what company does.

    Items of one criterion are dealt into batches by the seed, so that companions are nobody's
    choice; those of one prompt stay together where there are enough.
    """

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        by_criterion: dict[str, list[int]] = {}
        for code, item in enumerate(items):
            by_criterion.setdefault(str(item.criterion), []).append(code)
        subjects: list[Subject] = []
        left = 0
        for name, codes in by_criterion.items():
            if len(codes) < design.k:
                few = (
                    f"“{shorten(name)}” has {count(len(codes), 'answer')}; a call needs {design.k}"
                )
                raise LabError(
                    f"[design] k is {design.k}, but {few}. Take more items or a smaller k."
                )
            criterion = rubric.criterion(name)
            batches = _dealt(items, codes, design.k, f"{design.seed}|batch|{name}")
            left += len(codes) - design.k * len(batches)
            for number, batch in enumerate(batches, start=1):
                subjects.append(
                    _batch(items, batch, criterion, f"batch {number} of {design.k}|{name}")
                )
                subjects += [
                    _batch(items, [code], criterion, f"{items[code].item_id}|{name}")
                    for code in batch
                ]
        return subjects, [
            f"{count(left, 'answer')} left out: the last call would not be full."
        ] if left else []

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        """An item alone has one order; it is asked about as often as an order of a batch, and at
        least twice.
        """
        if shape.positions > 1:
            return list(strategies)
        return [Strategy("fixed", ALONE, max(2, *(strategy.repeats for strategy in strategies)))]

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(f"Response {k}" for k in range(1, len(order) + 1))

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        (criterion,) = subject.criteria
        if subject.shape.positions == 1:
            numbers = numbered(criterion)
            messages = prompts.score_prompt(subject.text, criterion, numbers)
            labels = natural_order(numbers.labels)
            template = prompts.lab_prompt("score").name
            return Prompt(messages, template, SCORE_BEGUN, brief=True, labels=labels)
        by_id = {item.item_id: item for item in subject.answers}
        messages = prompts.batch_prompt([by_id[str(name)] for name in ordering.shown], criterion)
        return Prompt(
            messages, prompts.lab_prompt("batch").name, f"Scores:\n[{ordering.labels[0]}] "
        )


def _batch(items: Sequence[Item], codes: Sequence[int], criterion: Criterion, name: str) -> Subject:
    """Answers sorted by their ids, so that a batch has one default order."""
    codes = sorted(codes, key=lambda code: items[code].item_id)
    answers = tuple(items[code] for code in codes)
    shape = Shape(criterion.scores, (), len(codes))
    ids = tuple(item.item_id for item in answers)
    return Subject(tuple(codes), answers[0], (criterion,), name, shape, ids, answers)


def _dealt(items: Sequence[Item], codes: Sequence[int], k: int, seed: str) -> list[list[int]]:
    """Full batches of ``k``: prompts in random order, whole batches within a prompt first, then
    what is over, mixed.
    """
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


def comparisons(dataset: DataSet, size: int, baseline: str = "") -> Made:
    """Every set of ``size`` candidates of a prompt as an item; only those with ``baseline`` where
    that is named.

    (items, the data's item that each one's first answer comes from, notes). Answers without a
    prompt share one where their instructions are equal. Raises LabError where nothing can be
    compared, and for a candidate that answers a prompt twice in different words.
    """
    groups, without = _by_prompt(dataset)
    if baseline and not any(baseline in answers for answers in groups.values()):
        known = list(
            dict.fromkeys(shorten(name, 30) for answers in groups.values() for name in answers)
        )
        words = f"no candidate of “{shorten(dataset.name)}”; it has {', '.join(known[:8])}."
        raise LabError(f"[design] baseline is “{shorten(baseline)}”, {words}")
    named = [baseline] if baseline else []
    compared = {
        prompt: sorted(name for name in answers if name != baseline)
        for prompt, answers in groups.items()
        if (not baseline or baseline in answers) and len(answers) >= size
    }
    if sum(comb(len(others), size - len(named)) for others in compared.values()) > MAX_COMPARISONS:
        cure = "Name a baseline candidate, or take fewer items."
        raise LabError(
            f"“{shorten(dataset.name)}” gives more than {MAX_COMPARISONS:,} comparisons. {cure}"
        )
    made = [
        _comparison([groups[prompt][name] for name in sorted([*named, *chosen])])
        for prompt, others in compared.items()
        for chosen in combinations(others, size - len(named))
    ]
    if not made:
        among = f" with “{shorten(baseline)}” among them" if baseline else ""
        cure = (
            "Name the column that says which answers belong to one prompt, and the column of "
            "candidates."
        )
        few = f"No prompt of “{shorten(dataset.name)}” has answers of {count(size, 'candidate')}"
        raise LabError(f"{few}{among}. {cure}")
    notes = []
    if skipped := len(groups) - len(compared):
        notes.append(
            f"{count(skipped, 'prompt')} of {len(groups):,} left out: no {size} candidates to "
            f"compare."
        )
    if without:
        notes.append(f"{count(without, 'answer')} left out: no candidate is named.")
    return tuple(item for item, _ in made), tuple(source for _, source in made), notes


def _by_prompt(dataset: DataSet) -> tuple[dict[str, dict[str, tuple[int, Item]]], int]:
    """(code and answer of each candidate by prompt, how many answers name no candidate)."""
    groups: dict[str, dict[str, tuple[int, Item]]] = {}
    without = 0
    for code, item in enumerate(dataset.items):
        if not item.candidate:
            without += 1
            continue
        answers = groups.setdefault(item.prompt or item.instruction, {})
        known = answers.setdefault(item.candidate.replace("|", "/"), (code, item))[1]
        if known.response != item.response:
            both = (
                f"“{shorten(item.item_id)}” twice, in different words (also "
                f"“{shorten(known.item_id)}”)"
            )
            who = shorten(item.candidate)
            raise LabError(
                f"Candidate “{who}” answers the prompt of {both}. Give each answer a candidate of "
                f"its own."
            )
    return groups, without


def _comparison(chosen: Sequence[tuple[int, Item]]) -> tuple[Comparison, int]:
    code, first = chosen[0]
    answers = tuple(
        replace(item, candidate=str(item.candidate).replace("|", "/")) for _, item in chosen
    )
    names = "|".join(str(answer.candidate) for answer in answers)
    prompt = first.prompt or first.instruction[:200] or first.item_id
    made = Comparison(
        f"{prompt}: {names}"[:1_000],
        "\n\n".join(f"{answer.candidate}:\n{answer.response}" for answer in answers),
        first.instruction,
        first.reference,
        prompt=prompt,
        candidate=names,
        task=first.task,
        columns=first.columns,
        ratings=preference({str(answer.candidate): answer.ratings for answer in answers}),
        answers=answers,
    )
    return made, code


class ComparisonProtocol(Protocol):
    """Answers of two candidates (of lists, ``k``) to one prompt a call; which is best? The
    candidates are reordered.
    """

    def items(self, dataset: DataSet, rubric: Rubric, design: DesignPart) -> Made:
        return comparisons(dataset, 2 if design.axes[0] == "pairs" else design.k, design.baseline)

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        shape, subjects = Shape((), (), 2 if design.axes[0] == "pairs" else design.k), []
        for code, item in enumerate(items):
            assert isinstance(item, Comparison)
            names = tuple(str(answer.candidate) for answer in item.answers)
            subjects.append(Subject((code,), item, (), item.item_id, shape, names))
        return subjects, []

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """Balanced are the rotations: each candidate at each position once, the fewest calls that
        show it there.
        """
        names = tuple(map(str, subject.options))
        if strategy.kind == "balanced":
            strategy = replace(strategy, kind="custom", orders=tuple(rotations(names)))
        elif (
            strategy.orders
        ):  # of candidates whose names differ from prompt to prompt: by their rank
            ranks = {str(rank): name for rank, name in enumerate(names, start=1)}
            orders = tuple(
                tuple(ranks.get(str(part), part) for part in order) for order in strategy.orders
            )
            strategy = replace(strategy, orders=orders)
        return super().orders(subject, strategy, seed)

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        return letters(len(order), tie=False)

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        """In the family that the study names, else asking for the letter alone (MT-Bench's for
        feedback).
        """
        family = design.template or ("brief" if design.answer == "score" else "mtbench")
        assert isinstance(subject.text, Comparison)
        messages = prompts.comparison_prompt(subject.text, ordering, tie=design.tie, family=family)
        brief = family == "brief"
        begun = "Verdict: Assistant" if brief else ""
        labels = letters(subject.shape.positions, tie=design.tie) if brief else ()
        template = prompts.comparison_template(family, subject.shape.positions)
        return Prompt(messages, template, begun, brief=brief, labels=labels)


PROTOCOLS: dict[Reorder, Protocol] = {
    "options": OptionsProtocol(),
    "criteria": CriteriaProtocol(),
    "responses": ResponsesProtocol(),
    "pairs": ComparisonProtocol(),
    "lists": ComparisonProtocol(),
    "bare": BareProtocol(),
}
"""The values of ``[design] reorder``."""
