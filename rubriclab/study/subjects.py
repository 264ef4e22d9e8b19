"""Say what one call is about, by what it lists: options, criteria, answers, candidates, or nothing.

A protocol makes the items of a run from the data, groups them into subjects (what one order is
about), and turns a subject and an order into a prompt. To add one, write a class and add it to
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
from rubriclab.model.orders import Strategy, orders_of_examples, rotations
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, count, look_alike, shorten
from rubriclab.study import prompts
from rubriclab.study.labels import check_criteria, letters, natural_order
from rubriclab.study.placeholders import numbered

SCORE_BEGUN = "The score is "
"""How the reply of an embedded judge is begun for it, so that a score comes next."""
ALONE = "alone"
"""The strategy that asks about each answer of a batch, or each criterion of a text, by itself."""
MAX_COMPARISONS = 200_000
"""Comparisons of a data set. More would take days, and most likely nobody meant them."""
Made = tuple[tuple[Item, ...], tuple[int, ...], list[str]]
"""(items of the run, the item of the data that each comes from, notes on what was left out)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the subjects of one condition have in common.

    targets: the criteria of one call; empty if the call is about one item.
    labels, passages: of examples, as in ``Condition``.
    """

    scores: tuple[int, ...]
    targets: tuple[str, ...]
    positions: int
    labels: tuple[float, ...] = ()
    passages: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """One example that a prompt shows before the answer.

    label: as it is shown; empty for none. value: the score that the label stands for, NaN if it is
    none; 1 and 0 for a passage that holds the answer or not.
    """

    text: str
    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Subject:
    """What one order is about.

    items: codes of its items in the run. criteria: the criteria of these items.
    id: seeds its random draws.
    options: what is ordered, in the default order: scores, names of criteria or candidates, or IDs.
    answers: the answers of a batch.
    reference: the score of the reference answer that is shown; None for the highest.
    examples: what is shown before the answer, in the default order.
    """

    items: tuple[int, ...]
    text: Item
    criteria: tuple[Criterion, ...]
    id: str
    shape: Shape
    options: tuple[int, ...] | tuple[str, ...]
    answers: tuple[Item, ...] = ()
    reference: int | None = None
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a judge is sent about one subject in one order.

    begun: how the reply of an embedded judge is begun for it.
    brief: whether the whole reply is one label.
    labels: every label that a brief reply may be, in an order that never changes.
    """

    messages: prompts.Messages
    template: str
    begun: str = ""
    brief: bool = False
    labels: tuple[str, ...] = ()


class Protocol:
    """How the calls of one axis are made. The methods here are right for most axes."""

    def items(self, dataset: DataSet, rubric: Rubric, design: DesignPart) -> Made:
        """Return the items of the run, the item of the data that each comes from, and notes."""
        return rated_items(dataset, rubric)

    def subjects(
        self, items: Sequence[Item], rubric: Rubric, design: DesignPart
    ) -> tuple[list[Subject], list[str]]:
        """Return the subjects in the order of the data, and notes on what was left out.

        Raises LabError if no subject is left.
        """
        raise NotImplementedError

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        """Return the strategies that apply to subjects of this shape."""
        return list(strategies)

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """Yield the ordering of every call about a subject, with its repeats."""
        options: Sequence[Any] = subject.options
        for order in strategy.asked(options, seed=seed, item_id=subject.id):
            yield self.ordering(subject, order)

    def ordering(self, subject: Subject, order: tuple[Any, ...]) -> Ordering:
        """Return an order with the label of each of its parts."""
        return Ordering(order, self.labels(subject, order))

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the label of each part of ``order`` in the prompt and the reply."""
        return order

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        """Return what a judge is sent about a subject in an order."""
        raise NotImplementedError


def rated_items(dataset: DataSet, rubric: Rubric) -> Made:
    """Return items with one criterion each, the item of the data that each comes from, and notes.

    An item that names no criterion is judged under every one. If there are several, its block (or
    the item itself) keeps them together when items are resampled. A rating whose column names a
    criterion belongs to that criterion alone.

    Raises LabError if only some items name a criterion, or if the rubric does not have it.
    """
    named = [item for item in dataset.items if item.criterion]
    if named and len(named) < len(dataset.items):
        without = next(shorten(item.item_id) for item in dataset.items if not item.criterion)
        raise LabError(
            f"Item “{without}” names no criterion, but “{shorten(named[0].item_id)}” does. Name "
            f"one for every item, or for none."
        )
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
            f"Human scores of {count(unnamed, 'rater')} name no criterion, so they are compared "
            f"with each of the {len(rubric.criteria)} criteria. Name a column after the criterion "
            f"that it rates, for example “{rubric.criteria[0].name}”."
        ]
    return tuple(item for item, _ in made), tuple(code for _, code in made), notes


class OptionsProtocol(Protocol):
    """Ask about one answer under one criterion; the score options are reordered."""

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
            sections=design.sections,
            reference=subject.reference,
        )
        template = prompts.lab_prompt(design.answer, design.sections).name
        if design.answer != "score":
            return Prompt(messages, template)
        labels = natural_order(ordering.labels)
        return Prompt(messages, template, SCORE_BEGUN, brief=True, labels=labels)


class ExamplesProtocol(OptionsProtocol):
    """Ask about one answer under one criterion; the examples before it are reordered.

    The score options keep their order. Examples are numbered from 1, and ``study/examples.py``
    gives them to the subjects.
    """

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        if strategy.kind == "balanced":
            orders = tuple(orders_of_examples(tuple(map(int, subject.options))))
            strategy = replace(strategy, kind="custom", orders=orders)
        return super().orders(subject, strategy, seed)

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the label of each example, as pages and own code see the order."""
        return tuple(example_label(subject.examples[int(k) - 1]) for k in order)

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        stem: prompts.ExamplesStem = "examples-feedback"
        if design.answer == "score":
            stem = "examples"
        scale = scale_of(subject)
        shown = [subject.examples[int(k) - 1] for k in ordering.shown]
        messages = prompts.examples_prompt(
            subject.text,
            subject.criteria[0],
            scale,
            [(example.text, example.label) for example in shown],
            stem=stem,
            passages=subject.shape.passages,
        )
        template = prompts.lab_prompt(stem).name
        if design.answer != "score":
            return Prompt(messages, template)
        return Prompt(
            messages, template, SCORE_BEGUN, brief=True, labels=natural_order(scale.labels)
        )


def example_label(example: Example) -> str:
    """Return what says which example it is: its label, or the number that a passage counts as."""
    if example.label or example.value != example.value:
        return example.label
    return f"{example.value:g}"


def scale_of(subject: Subject) -> Ordering:
    """Return the scores of a subject's criterion in their rubric order, with their labels."""
    return PROTOCOLS["options"].ordering(subject, subject.shape.scores)


class BareProtocol(OptionsProtocol):
    """Ask for a score on a named scale, without a list to reorder (Xu et al. v2, figure 1)."""

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        return [Strategy("fixed", "bare", max(strategy.repeats for strategy in strategies))]

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        """Return the numbers of the scale, which the prompt names but does not list."""
        return tuple(map(str, order))

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        messages = prompts.bare_prompt(subject.text, subject.criteria[0])
        labels = tuple(map(str, sorted(ordering.shown)))
        template = prompts.lab_prompt("bare").name
        return Prompt(messages, template, SCORE_BEGUN, brief=True, labels=labels)


class CriteriaProtocol(Protocol):
    """Ask about one answer under all its criteria; the criteria are reordered.

    With ``[design] alone`` each criterion is also asked by itself, in the same wording, to measure
    what the others change. Its calls are among those of its text, in one random order.
    """

    def items(self, dataset: DataSet, rubric: Rubric, design: DesignPart) -> Made:
        """Return the items with the criteria of a text together, in the order of the rubric.

        The block of an item is its text.
        """
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
                raise LabError(
                    f"Text “{shorten(block)}” has a criterion twice. Give each row of a text its "
                    f"own criterion, or each text its own block."
                )
            if len(names) < 2:
                notes.append(
                    f"Text “{shorten(block)}” is left out: with one criterion, there is nothing "
                    f"to reorder."
                )
                continue
            check_criteria(criteria)
            shape = Shape(criteria[0].scores, names, len(names))
            subjects.append(Subject(tuple(codes), items[codes[0]], criteria, block, shape, names))
            if design.alone:
                subjects += [
                    _criterion_alone(items[code], code, criterion, block)
                    for code, criterion in zip(codes, criteria, strict=True)
                ]
        if not subjects:
            raise LabError(
                "No text has two or more criteria, so there is no order of criteria to change. "
                'Choose a rubric with several criteria, or use reorder = "options".'
            )
        if len(notes) > 3:
            notes = [
                f"{count(len(notes), 'text')} are left out: with one criterion, there is nothing "
                f"to reorder."
            ]
        labelled = [
            option for criterion in rubric.criteria for option in criterion.options if option.label
        ]
        if labelled:
            notes.append(
                f"With all criteria in one call, judges are asked for numbers. Labels, for "
                f"example “{labelled[0].label}”, are not shown."
            )
        return subjects, notes

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        return with_alone(shape, strategies)

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        stem: prompts.CriteriaStem = "criteria"
        if subject.shape.positions == 1:
            stem = "criterion"
        begun = f"Scores:\n[{ordering.shown[0]}]" if design.answer == "score" else ""
        messages = prompts.criteria_prompt(
            subject.text, subject.criteria, ordering, sections=design.sections, stem=stem
        )
        return Prompt(messages, prompts.lab_prompt(stem, design.sections).name, begun)


def _criterion_alone(item: Item, code: int, criterion: Criterion, block: str) -> Subject:
    """Return the subject that asks about one criterion of a text by itself.

    Its ID is that of the text, so that its calls are mixed with those about all criteria.
    """
    shape = Shape(criterion.scores, (), 1)
    return Subject((code,), item, (criterion,), block, shape, (criterion.name,))


def with_alone(shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
    """Return the strategies of a call that scores several, or the only one of one by itself.

    What is asked by itself has one order. It is asked as often as an order of several, and at least
    twice, to measure the noise.
    """
    if shape.positions > 1:
        return list(strategies)
    return [Strategy("fixed", ALONE, max(2, *(strategy.repeats for strategy in strategies)))]


def _text_of(item: Item) -> str:
    """Return what identifies the text of a row."""
    return look_alike(item.block) if item.block else f"{item.instruction}\0{item.response}"


class ResponsesProtocol(Protocol):
    """Ask for the score of each of several answers in one call; the answers are reordered.

    Each answer is also asked about alone, to measure what the others change. The seed draws the
    batches, so that nobody chooses which answers are together. Answers to one prompt are kept in
    one batch if there are enough of them.
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
                raise LabError(
                    f"[design] k is {design.k}, but “{shorten(name)}” has only "
                    f"{count(len(codes), 'answer')}. Add answers, or use a smaller k."
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
        notes = []
        if left:
            notes.append(f"{count(left, 'answer')} left out: the last call would not be full.")
        return subjects, notes

    def strategies(self, shape: Shape, strategies: Sequence[Strategy]) -> list[Strategy]:
        return with_alone(shape, strategies)

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
    """Return a batch of answers, sorted by their IDs so that it has one default order."""
    codes = sorted(codes, key=lambda code: items[code].item_id)
    answers = tuple(items[code] for code in codes)
    shape = Shape(criterion.scores, (), len(codes))
    ids = tuple(item.item_id for item in answers)
    return Subject(tuple(codes), answers[0], (criterion,), name, shape, ids, answers)


def _dealt(items: Sequence[Item], codes: Sequence[int], k: int, seed: str) -> list[list[int]]:
    """Return full batches of ``k`` codes, drawn by ``seed``.

    Batches within one prompt come first, with the prompts in random order. What is left of all
    prompts is mixed.
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
    """Return every set of ``size`` candidates of a prompt as an item.

    The second value is the item of the data that the first answer comes from; the third, notes. If
    ``baseline`` is named, only sets with it are made. Answers that name no prompt share one if
    their instructions are equal.

    Raises LabError if there is nothing to compare, if there are too many comparisons, or if a
    candidate answers a prompt twice in different words.
    """
    groups, without = _by_prompt(dataset)
    if baseline and not any(baseline in answers for answers in groups.values()):
        known = list(
            dict.fromkeys(shorten(name, 30) for answers in groups.values() for name in answers)
        )
        raise LabError(
            f"[design] baseline is “{shorten(baseline)}”, which is not a candidate of "
            f"“{shorten(dataset.name)}”. Its candidates are {', '.join(known[:8])}."
        )
    named = [baseline] if baseline else []
    compared = {
        prompt: sorted(name for name in answers if name != baseline)
        for prompt, answers in groups.items()
        if (not baseline or baseline in answers) and len(answers) >= size
    }
    if sum(comb(len(others), size - len(named)) for others in compared.values()) > MAX_COMPARISONS:
        raise LabError(
            f"“{shorten(dataset.name)}” gives more than {MAX_COMPARISONS:,} comparisons. Set "
            f"baseline in [design], or use fewer answers."
        )
    made = [
        _comparison([groups[prompt][name] for name in sorted([*named, *chosen])])
        for prompt, others in compared.items()
        for chosen in combinations(others, size - len(named))
    ]
    if not made:
        among = f" with “{shorten(baseline)}” among them" if baseline else ""
        raise LabError(
            f"No prompt of “{shorten(dataset.name)}” has answers of {count(size, 'candidate')}"
            f"{among}. Name the column that says which answers belong to one prompt, and the "
            f"column of candidates."
        )
    notes = []
    if skipped := len(groups) - len(compared):
        notes.append(
            f"{count(skipped, 'prompt')} of {len(groups):,} left out: fewer than {size} "
            f"candidates to compare."
        )
    if without:
        notes.append(f"{count(without, 'answer')} left out: no candidate is named.")
    return tuple(item for item, _ in made), tuple(source for _, source in made), notes


def _by_prompt(dataset: DataSet) -> tuple[dict[str, dict[str, tuple[int, Item]]], int]:
    """Return the code and answer of each candidate by prompt, and how many answers name none."""
    groups: dict[str, dict[str, tuple[int, Item]]] = {}
    without = 0
    for code, item in enumerate(dataset.items):
        if not item.candidate:
            without += 1
            continue
        answers = groups.setdefault(item.prompt or item.instruction, {})
        known = answers.setdefault(item.candidate.replace("|", "/"), (code, item))[1]
        if known.response != item.response:
            raise LabError(
                f"Candidate “{shorten(item.candidate)}” answers the same prompt twice, in "
                f"different words (“{shorten(known.item_id)}” and “{shorten(item.item_id)}”). Give "
                f"each answer its own candidate."
            )
    return groups, without


def _comparison(chosen: Sequence[tuple[int, Item]]) -> tuple[Comparison, int]:
    """Return a comparison of answers, and the code of the first. ``chosen``: (code, answer)."""
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
    """Ask which of two (in lists, ``k``) answers to a prompt is best; they are reordered."""

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
        """Yield the ordering of every call. Balanced orders are the rotations.

        They show each candidate at each position once, in the fewest calls that can.
        """
        names = tuple(map(str, subject.options))
        if strategy.kind == "balanced":
            strategy = replace(strategy, kind="custom", orders=tuple(rotations(names)))
        elif strategy.orders:
            # Names differ from prompt to prompt, so an order may name candidates by their rank.
            ranks = {str(rank): name for rank, name in enumerate(names, start=1)}
            orders = tuple(
                tuple(ranks.get(str(part), part) for part in order) for order in strategy.orders
            )
            strategy = replace(strategy, orders=orders)
        return super().orders(subject, strategy, seed)

    def labels(self, subject: Subject, order: tuple[Any, ...]) -> tuple[str, ...]:
        return letters(len(order), tie=False)

    def prompt(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Prompt:
        """Return the prompt of the family that the study names.

        By default the letter alone is asked for; with feedback, the prompt of MT-Bench is used.
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
    "examples": ExamplesProtocol(),
}
"""The protocol of each value of ``[design] reorder``."""
