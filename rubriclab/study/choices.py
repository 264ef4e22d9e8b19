"""Pairs and lists: answers of several candidates to one prompt in, calls that ask for the best of them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from rubriclab.model.data import Comparison, DataSet, Item, Rubric, preference
from rubriclab.model.judgment import Call, Ordering, Outcome, Reply
from rubriclab.model.orders import Strategy, rotations
from rubriclab.model.study import DesignPart
from rubriclab.model.text import LabError, count, shorten
from rubriclab.study.comparison import Family, comparison_prompt, letters, template_of
from rubriclab.study.outcomes import choice_outcomes
from rubriclab.study.prompts import Messages
from rubriclab.study.protocols import Protocol, Shape, Subject

MAX_COMPARISONS = 200_000


class PairsProtocol(Protocol):
    """Two candidates' answers to one prompt a call; which is better? The candidates are reordered."""

    def size(self, design: DesignPart) -> int:
        """Candidates of a comparison."""
        return 2

    def items(
        self, dataset: DataSet, rubric: Rubric, design: DesignPart
    ) -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
        return comparisons(dataset, self.size(design), design.baseline)

    def subjects(self, items: Sequence[Item], rubric: Rubric, design: DesignPart) -> tuple[list[Subject], list[str]]:
        shape = Shape((), (), self.size(design))
        return [
            Subject((code,), item, (), item.item_id, shape, item.names)
            for code, item in enumerate(items)
            if isinstance(item, Comparison)
        ], []

    def orders(self, subject: Subject, strategy: Strategy, seed: int) -> Iterator[Ordering]:
        """Balanced are the rotations: each candidate at each position once, the fewest calls that show it there."""
        names = tuple(map(str, subject.options))
        if strategy.kind == "balanced":
            strategy = replace(strategy, kind="custom", orders=tuple(rotations(names)))
        elif strategy.kind in ("custom", "min-bias"):  # orders of candidates whose names differ: by their rank
            ranks = {str(rank): name for rank, name in enumerate(names, start=1)}
            orders = tuple(tuple(ranks.get(str(part), part) for part in order) for order in strategy.orders)
            strategy = replace(strategy, orders=orders)
        for order in strategy.asked(names, seed=seed, item_id=subject.id):
            yield Ordering(order, letters(len(order), tie=False))

    def begins(self, subject: Subject, ordering: Ordering, design: DesignPart) -> str:
        return "Verdict: Assistant" if self.brief(subject, design) else ""

    def brief(self, subject: Subject, design: DesignPart) -> bool:
        return family_of(design) == "brief"

    def template(self, subject: Subject, design: DesignPart) -> str:
        return template_of(family_of(design), subject.shape.positions)

    def messages(self, subject: Subject, ordering: Ordering, design: DesignPart) -> Messages:
        if not isinstance(subject.text, Comparison):
            raise LabError(f"“{shorten(subject.text.item_id)}” is one answer; a comparison needs several.")
        return comparison_prompt(subject.text, ordering, tie=design.tie, family=family_of(design))

    def parse(self, call: Call, reply: Reply, targets: Sequence[str], design: DesignPart) -> tuple[Outcome, ...]:
        return choice_outcomes(call, reply, tie=design.tie)


class ListsProtocol(PairsProtocol):
    """As pairs, with ``k`` candidates; which is best?"""

    def size(self, design: DesignPart) -> int:
        return design.k


def family_of(design: DesignPart) -> Family:
    """The prompts that are used: those that the study names, else the letter alone (the MT-Bench ones for feedback)."""
    return design.template or ("brief" if design.answer == "score" else "mtbench")


def comparisons(dataset: DataSet, size: int, baseline: str = "") -> tuple[tuple[Item, ...], tuple[int, ...], list[str]]:
    """Every set of ``size`` candidates of a prompt as an item; only those with ``baseline`` where that is named.

    (items, the data's item that each one's first answer comes from, notes). Answers without a prompt share one where
    their instructions are equal. Raises LabError where nothing can be compared, and for a candidate that answers a
    prompt twice in different words.
    """
    groups, without = _by_prompt(dataset)
    if baseline and not any(baseline in answers for answers in groups.values()):
        known = list(dict.fromkeys(name for answers in groups.values() for name in answers))
        raise LabError(
            f"[design] baseline is “{shorten(baseline)}”, which is no candidate of “{shorten(dataset.name)}”; it has "
            f"{', '.join(shorten(name, 30) for name in known[:8])}."
        )
    made: list[tuple[Comparison, int]] = []
    skipped = 0
    for answers in groups.values():
        sets = [chosen for chosen in combinations(sorted(answers), size) if not baseline or baseline in chosen]
        skipped += not sets
        made += [_comparison([answers[name] for name in chosen]) for chosen in sets]
        if len(made) > MAX_COMPARISONS:
            raise LabError(
                f"“{shorten(dataset.name)}” gives more than {MAX_COMPARISONS:,} comparisons. Name a baseline candidate, "
                "or take fewer items."
            )
    if not made:
        raise LabError(
            f"No prompt of “{shorten(dataset.name)}” has answers of {count(size, 'candidate')}"
            f"{f' with “{shorten(baseline)}” among them' if baseline else ''}. Name the column that says which answers "
            "belong to one prompt, and the column of candidates."
        )
    notes = []
    if skipped:
        notes.append(f"{count(skipped, 'prompt')} of {len(groups):,} left out: no {size} candidates to compare.")
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
            raise LabError(
                f"Candidate “{shorten(item.candidate)}” answers the prompt of “{shorten(item.item_id)}” twice, in "
                f"different words (also “{shorten(known.item_id)}”). Give each answer a candidate of its own."
            )
    return groups, without


def _comparison(chosen: Sequence[tuple[int, Item]]) -> tuple[Comparison, int]:
    first = chosen[0][1]
    answers = tuple(replace(item, candidate=str(item.candidate).replace("|", "/")) for _, item in chosen)
    names = [str(answer.candidate) for answer in answers]
    prompt = first.prompt or first.instruction[:200] or first.item_id
    return (
        Comparison(
            item_id=f"{prompt}: {'|'.join(names)}"[:1_000],
            response="\n\n".join(f"{answer.candidate}:\n{answer.response}" for answer in answers),
            instruction=first.instruction,
            reference=first.reference,
            prompt=prompt,
            candidate="|".join(names),
            task=first.task,
            ratings=preference({str(answer.candidate): answer.ratings for answer in answers}),
            columns=first.columns,
            answers=answers,
        ),
        chosen[0][0],
    )
