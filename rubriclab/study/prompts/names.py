"""What a user's own template can name: plain values, so that Jinja2 alone renders the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.model import Comparison, Criterion, Item, Ordering, StudyError
from rubriclab.model.language import tr
from rubriclab.study.prompts.batch import place_label
from rubriclab.study.prompts.comparison import next_letter
from rubriclab.study.prompts.rubric import natural_order
from rubriclab.study.prompts.sandbox import Columns

_PARTS = ("item_id", "instruction", "response", "criterion", "block", "prompt", "candidate", "task")


def option_names(
    item: Item, criterion: Criterion, ordering: Ordering, *, reference: int | None, labels: Sequence[str]
) -> dict[str, Any]:
    """One response under one criterion: ``options`` in the shown order, ``labels`` never in it."""
    return {
        **_text(item, reference),
        "criterion": {"name": criterion.name, "description": criterion.description},
        "options": [
            {"label": label, "score": score, "description": criterion.describe(score) or ""}
            for score, label in _shown(ordering)
        ],
        "labels": list(labels),
    }


def criteria_names(
    item: Item, criteria: Sequence[Criterion], ordering: Ordering, *, labels: Sequence[str]
) -> dict[str, Any]:
    """One response under all its criteria, in the shown order, each with its own options."""
    by_name = {criterion.name: criterion for criterion in criteria}
    return {
        **_text(item, max(item.references, default=None)),
        "criteria": [
            {
                "name": name,
                "description": by_name[str(name)].description,
                "options": [
                    {"label": label, "score": option.score, "description": option.description or ""}
                    for option, label in zip(by_name[str(name)].options, by_name[str(name)].labels, strict=True)
                ],
            }
            for name in ordering.shown
        ],
        "labels": list(labels),
    }


def batch_names(items: Sequence[Item], criterion: Criterion) -> dict[str, Any]:
    """Several responses under one criterion, in the shown order, each called by its place."""
    return {
        "responses": [
            {"label": place_label(place), "instruction": item.instruction, "response": item.response}
            for place, item in enumerate(items, 1)
        ],
        "criterion": {"name": criterion.name, "description": criterion.description},
        "options": [
            {"label": label, "score": option.score, "description": option.description or ""}
            for option, label in zip(criterion.options, criterion.labels, strict=True)
        ],
        "labels": list(criterion.labels),
    }


def comparison_names(comparison: Comparison, ordering: Ordering, *, tie: bool) -> dict[str, Any]:
    """Candidates' responses in the shown order, each with its letter, and the letter of a tie.

    ``text`` is the answer to the last turn, ``turns`` are the answers to all. Candidates' names are
    not there: they would tell who wrote what.
    """
    by_name = dict(zip(comparison.candidates, comparison.responses, strict=True))
    return {
        "instruction": comparison.turns[-1],
        "turns": list(comparison.turns),
        "responses": [
            {"label": label, "text": by_name[str(name)][-1], "turns": list(by_name[str(name)])}
            for name, label in zip(ordering.shown, ordering.labels, strict=True)
        ],
        "reference": comparison.references[-1] if comparison.references else "",
        "labels": list(ordering.labels),
        "tie": next_letter(ordering.labels) if tie else "",
        "item": columns_of(comparison),
    }


def fixed_order(ordering: Ordering, *, dealt: bool) -> tuple[str, ...]:
    """The labels in an order that what is shown does not change: by score, or where they are dealt
    out anew for every read as they count."""
    if dealt:
        return natural_order(ordering.labels)
    return tuple(label for _, label in sorted(_shown(ordering)))


def _shown(ordering: Ordering) -> list[tuple[int, str]]:
    return [(int(str(score)), label) for score, label in zip(ordering.shown, ordering.labels, strict=True)]


def _text(item: Item, reference: int | None) -> dict[str, Any]:
    if reference is not None and reference not in item.references:
        raise StudyError(
            tr("Item “{item_id}” has no reference answer of score {score}.", item_id=item.item_id, score=reference)
        )
    return {
        "instruction": item.instruction,
        "response": item.response,
        "reference": "" if reference is None else item.references[reference],
        "item": columns_of(item),
    }


def columns_of(item: Item | Comparison) -> Columns:
    """The item's own parts where it has them, and its other columns, which come first."""
    parts: Mapping[str, Any] = {name: getattr(item, name, None) for name in _PARTS}
    return Columns({**{name: text for name, text in parts.items() if text}, **item.columns})
