"""What is made of single responses: items under each criterion of a rubric, and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from rubriclab.model import Comparison, DataError, Dataset, Item, Rubric, RubricError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

MAX_COMPARISONS = 200_000


def judged(dataset: Dataset, rubric: Rubric) -> Dataset:
    """The items as this rubric judges them; judging it again changes nothing.

    Items that name no criterion are judged under each of the rubric's criteria (block = the
    item, so its texts are resampled together; an overall human rating stays with each).
    Raises RubricError naming criteria that the rubric does not have.
    """
    items = [item for item in dataset.items if isinstance(item, Item)]
    if len(items) < len(dataset.items):
        raise DataError(tr("Data set “{name}” holds comparisons; a rubric cannot judge them.", name=dataset.name))
    named = [item for item in items if item.criterion is not None]
    if not named:
        return replace(dataset, items=tuple(_under_each(items, rubric)))
    if len(named) < len(items):
        without = next(item for item in items if item.criterion is None)
        raise DataError(
            tr(
                "Data set “{name}”: item “{item}” names no criterion and “{other}” does. Name one for "
                "every item, or for none.",
                name=dataset.name,
                item=without.item_id,
                other=named[0].item_id,
            )
        )
    known = {criterion.name for criterion in rubric.criteria}
    missing = [c for c in dict.fromkeys(str(item.criterion) for item in named) if c not in known]
    if missing:
        raise RubricError(_missing_criteria(dataset, rubric, missing))
    return dataset


@dataclass(frozen=True)
class Paired:
    """Comparisons made from single responses, and what was left out of them.

    ``skipped_prompts``: prompts with too few candidates (or without the baseline).
    ``skipped_items``: items that name no candidate. ``notes`` say both in words.
    """

    dataset: Dataset
    n_prompts: int
    skipped_prompts: int
    skipped_items: int
    notes: tuple[str, ...]


def comparisons(
    dataset: Dataset, *, baseline: str | None = None, candidates: int = 2, all_pairs: bool = True
) -> Paired:
    """Comparisons of ``candidates`` responses each, from items that share a prompt.

    Items without a ``prompt`` share one where their instructions are equal. Every set of
    candidates of a prompt is compared, or only those with ``baseline``, which is then listed
    first; ``all_pairs=False`` takes one comparison a prompt: its first candidates. Raises
    DataError where nothing can be compared, or one candidate answers a prompt twice.
    """
    if candidates < 2:
        raise DataError(tr("A comparison needs at least 2 candidates, not {candidates}.", candidates=candidates))
    groups, skipped_items = _by_prompt(dataset)
    made: list[Comparison] = []
    skipped = 0
    for prompt, answers in groups.items():
        sets = _candidate_sets(list(answers), baseline, candidates)
        if not all_pairs:
            sets = sets[:1]
        skipped += not sets
        made.extend(_comparison(prompt, answers, chosen) for chosen in sets)
        if len(made) > MAX_COMPARISONS:
            raise DataError(
                tr(
                    "“{name}” gives more than {most:,} comparisons; choose a baseline candidate, or fewer candidates.",
                    name=dataset.name,
                    most=MAX_COMPARISONS,
                )
            )
    if not made:
        raise DataError(_nothing_to_compare(dataset, baseline, candidates, groups))
    notes = _paired_notes(len(groups), skipped, skipped_items, baseline, candidates)
    paired = replace(dataset, items=tuple(made), rubric=None)
    return Paired(paired, len(groups), skipped, skipped_items, notes)


# ---------------------------------------------------------------- criteria


def _under_each(items: Sequence[Item], rubric: Rubric) -> Iterator[Item]:
    if len(rubric.criteria) == 1:
        yield from (replace(item, criterion=rubric.criteria[0].name) for item in items)
        return
    for item in items:
        for criterion in rubric.criteria:
            yield replace(
                item,
                item_id=f"{item.item_id}:{criterion.name}",
                criterion=criterion.name,
                block=item.block or item.item_id,
            )


def _missing_criteria(dataset: Dataset, rubric: Rubric, missing: Sequence[str]) -> str:
    known = [criterion.name for criterion in rubric.criteria]
    folded = {name.casefold(): name for name in known}
    near = [
        tr("“{name}” is “{there}” there", name=m, there=folded[m.casefold()]) for m in missing if m.casefold() in folded
    ]
    shown = ", ".join(tr("“{name}”", name=name) for name in missing[:8])
    return tr(
        "Rubric “{name}” lacks {criteria} of data set “{dataset}”: {shown}. It has: {known}. "
        "{near}Rename them in the data or add them to the rubric.",
        name=rubric.name,
        criteria=many(len(missing), "criterion"),
        dataset=dataset.name,
        shown=shown + (", ..." if len(missing) > 8 else ""),
        known=", ".join(known[:8]),
        near="; ".join(near[:3]) + ". " if near else "",
    )


# ---------------------------------------------------------------- comparisons


def _by_prompt(dataset: Dataset) -> tuple[dict[str, dict[str, Item]], int]:
    """Candidates' items by prompt, in order of appearance, and how many items name none."""
    groups: dict[str, dict[str, Item]] = {}
    skipped = 0
    for item in dataset.items:
        if not isinstance(item, Item):
            raise DataError(tr("Data set “{name}” holds comparisons already.", name=dataset.name))
        if item.candidate is None:
            skipped += 1
            continue
        answers = groups.setdefault(item.prompt or item.instruction, {})
        known = answers.setdefault(item.candidate, item)
        if known.response != item.response:
            raise DataError(
                tr(
                    "Data set “{name}”: candidate “{candidate}” answers the prompt of item “{item}” twice (also "
                    "item “{other}”), with different words.",
                    name=dataset.name,
                    candidate=item.candidate,
                    item=item.item_id,
                    other=known.item_id,
                )
            )
    return groups, skipped


def _candidate_sets(names: Sequence[str], baseline: str | None, size: int) -> list[tuple[str, ...]]:
    if baseline is None:
        return list(combinations(names, size))
    if baseline not in names:
        return []
    others = [name for name in names if name != baseline]
    return [(baseline, *rest) for rest in combinations(others, size - 1)]


def _comparison(prompt: str, answers: Mapping[str, Item], chosen: tuple[str, ...]) -> Comparison:
    first = answers[chosen[0]]
    best = max(first.references, default=None)
    return Comparison(
        item_id=f"{first.prompt or first.item_id}:{'|'.join(chosen)}",
        turns=(first.instruction,),
        candidates=chosen,
        responses=tuple((answers[name].response,) for name in chosen),
        prompt=prompt,
        task=first.task,
        references=() if best is None else (first.references[best],),
        columns={
            name: text
            for name, text in first.columns.items()
            if all(answers[other].columns.get(name) == text for other in chosen)
        },
    )


def _nothing_to_compare(
    dataset: Dataset, baseline: str | None, size: int, groups: Mapping[str, Mapping[str, Item]]
) -> str:
    if not groups:
        return tr(
            "Data set “{name}” names no candidate for any item. Map the column that says who wrote the response.",
            name=dataset.name,
        )
    known = list(dict.fromkeys(name for answers in groups.values() for name in answers))
    if baseline is not None and baseline not in known:
        return tr(
            "Data set “{name}” has no candidate “{baseline}”. It has: {known}.",
            name=dataset.name,
            baseline=baseline,
            known=", ".join(known[:12]),
        )
    return tr(
        "Data set “{name}”: none of its prompts ({prompts:,}) has {size} candidates to compare. Map the "
        "column that says which items answer the same prompt.",
        name=dataset.name,
        prompts=len(groups),
        size=size,
    )


def _paired_notes(n_prompts: int, skipped: int, skipped_items: int, baseline: str | None, size: int) -> tuple[str, ...]:
    notes = []
    if skipped:
        without = tr(" or not “{baseline}”", baseline=baseline) if baseline is not None else ""
        notes.append(
            tr(
                "{skipped:,} of {prompts} left out: fewer than {size} candidates{without}.",
                skipped=skipped,
                prompts=many(n_prompts, "prompt"),
                size=size,
                without=without,
            )
        )
    if skipped_items:
        notes.append(tr("{items} left out: they name no candidate.", items=many(skipped_items, "item")))
    return tuple(notes)
