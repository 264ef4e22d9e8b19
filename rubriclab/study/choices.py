"""Pairs and lists: answers of several candidates to one prompt in, the comparisons between them out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from rubriclab.model.data import Comparison, DataSet, Item, preference
from rubriclab.model.text import LabError, count, shorten

Made = tuple[tuple[Item, ...], tuple[int, ...], list[str]]
"""(a run's items, which of the data's items each comes from, notes on what was left out)."""

MAX_COMPARISONS = 200_000


def comparisons(dataset: DataSet, size: int, baseline: str = "") -> Made:
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
    named = [baseline] if baseline else []
    compared = {
        prompt: sorted(name for name in answers if name != baseline)
        for prompt, answers in groups.items()
        if (not baseline or baseline in answers) and len(answers) >= size
    }
    if sum(comb(len(others), size - len(named)) for others in compared.values()) > MAX_COMPARISONS:
        raise LabError(
            f"“{shorten(dataset.name)}” gives more than {MAX_COMPARISONS:,} comparisons. Name a baseline candidate, or "
            "take fewer items."
        )
    made = [
        _comparison([groups[prompt][name] for name in sorted([*named, *chosen])])
        for prompt, others in compared.items()
        for chosen in combinations(others, size - len(named))
    ]
    if not made:
        raise LabError(
            f"No prompt of “{shorten(dataset.name)}” has answers of {count(size, 'candidate')}"
            f"{f' with “{shorten(baseline)}” among them' if baseline else ''}. Name the column that says which answers "
            "belong to one prompt, and the column of candidates."
        )
    notes = []
    if skipped := len(groups) - len(compared):
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
