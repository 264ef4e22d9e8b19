"""Give a prompt template its values: the texts of an item, and what a call lists, in the order
shown.

The lab's own prompts and the user's are filled in with the same names, so that one of the lab's can
be copied and changed. All values are JSON: those of a user's template go to a child process.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rubriclab.model.data import Comparison, Criterion, Item
from rubriclab.model.judgment import Ordering
from rubriclab.study.labels import natural_order

Context = dict[str, Any]
"""What a template may name, and its value."""

NAMES = ("instruction", "response", "reference", "item", "labels")
"""What every template may name, whatever is listed."""
RUBRIC_NAMES = ("options", "criterion", "reference_label")
"""What a template may name besides where a rubric is scored."""
COMPARISON_NAMES = ("responses", "tie", "instruction_2", "reference_2")
"""What a template may name besides where candidates are compared."""
FACTS = ("item_id", "criterion", "block", "prompt", "candidate", "task")
"""Fields of an item that ``item`` holds beside its columns."""


def item_names(item: Item) -> Context:
    """Return the texts of an item; ``item`` holds them too, with its columns and its facts."""
    texts = {
        "instruction": item.instruction,
        "response": item.response,
        "reference": item.reference,
    }
    facts = {name: getattr(item, name) or "" for name in FACTS}
    return {**texts, "item": {**item.columns, **facts, **texts}}


def score_names(
    item: Item, criterion: Criterion, ordering: Ordering, reference: int | None = None
) -> Context:
    """Return the names of a prompt that asks for one score, with the options as ``ordering`` shows
    them.

    ``reference``: the score of the reference answer that is shown, None for the highest.
    """
    return {
        **item_names(item),
        **listed_options(criterion, ordering),
        "criterion": {"name": criterion.name, "description": criterion.description},
        "reference_label": _reference_label(ordering, reference),
    }


def examples_names(
    item: Item, criterion: Criterion, scale: Ordering, examples: Sequence[tuple[str, str]]
) -> Context:
    """Return the names of a prompt that shows examples, in this order, before it asks for a score.

    ``scale``: the scores with their labels. ``examples``: (text, label), the label empty for none.
    """
    listed = [{"text": text, "label": label} for text, label in examples]
    return {**score_names(item, criterion, scale), "examples": listed}


@lru_cache(maxsize=1_024)
def listed_options(criterion: Criterion, ordering: Ordering) -> Context:
    """Return ``options`` in the order shown, and ``labels``, which never change with the order.

    All items share the value, so it is made once. The sandbox lets no template change it.
    """
    about = {option.score: option.description for option in criterion.options}
    options = [
        {"label": label, "score": score, "description": about[int(score)]}
        for score, label in zip(ordering.shown, ordering.labels, strict=True)
    ]
    return {"options": options, "labels": list(natural_order(ordering.labels))}


def _reference_label(ordering: Ordering, reference: int | None) -> str:
    """Return the label of the score that a reference answer gets."""
    label_of = {
        int(score): label for score, label in zip(ordering.shown, ordering.labels, strict=True)
    }
    return label_of[max(label_of) if reference is None else reference]


def numbered(criterion: Criterion) -> Ordering:
    """Return the scores of a criterion as numbers, the lowest first: for prompts that reorder
    something else.
    """
    return Ordering(criterion.scores, tuple(map(str, criterion.scores)))


def criteria_names(
    item: Item, criteria: Sequence[Criterion], ordering: Ordering, scale: Ordering
) -> Context:
    """Return the names of a prompt that lists criteria, by their names in ``ordering``.

    ``scale``: the scores of all of them, with their labels.
    """
    about = {criterion.name: criterion.description for criterion in criteria}
    listed = [{"name": name, "description": about[str(name)]} for name in ordering.shown]
    return {**item_names(item), **listed_options(criteria[0], scale), "criteria": listed}


def batch_names(items: Sequence[Item], criterion: Criterion) -> Context:
    """Return the names of a prompt that scores several responses, in this order.

    ``instruction`` is the one that all responses share, and empty where they differ.
    """
    instructions = {item.instruction for item in items}
    responses = [
        {"label": f"Response {k}", "text": item.response, "instruction": item.instruction}
        for k, item in enumerate(items, start=1)
    ]
    return {
        **listed_options(criterion, numbered(criterion)),
        "criterion": {"name": criterion.name, "description": criterion.description},
        "instruction": instructions.pop() if len(instructions) == 1 else "",
        "responses": responses,
    }


def comparison_names(comparison: Comparison, ordering: Ordering, labels: Sequence[str]) -> Context:
    """Return the names of a prompt that compares candidates, in the order shown.

    ``labels``: one for each position, and one more where a tie may be given. A candidate's name is
    never shown: it may say which model answered.

    Data with a second turn have it in the columns ``instruction_2``, ``response_2`` and
    ``reference_2``. A turn without a text is left out: the other one takes its place.
    """
    instruction, instruction_2 = _turns(comparison.instruction, comparison, "instruction_2")
    reference, reference_2 = _turns(comparison.reference, comparison, "reference_2")
    if not comparison.reference:
        reference, reference_2 = "", ""
    by_name = {answer.candidate: answer for answer in comparison.answers}
    responses = []
    for label, name in zip(labels, ordering.shown, strict=False):
        answer = by_name[str(name)]
        text, text_2 = _turns(answer.response, answer, "response_2")
        responses.append({"label": label, "text": text, "text_2": text_2})
    return {
        **item_names(comparison),
        "instruction": instruction,
        "instruction_2": instruction_2,
        "reference": reference,
        "reference_2": reference_2,
        "responses": responses,
        "labels": list(labels),
        "tie": "".join(labels[len(ordering.shown) :]),
    }


def _turns(first: str, item: Item, column: str) -> tuple[str, str]:
    """Return the texts of the first and of the second turn, empty where there is none."""
    second = item.columns.get(column, "")
    return (first, second) if first else (second, "")
