"""An item as a mapping becomes the lab's own item, and in one order the lab's own prompt.

Every text comes from the modules that the lab renders with; a user's own prompt needs Jinja2, as
in the lab.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.apply.card import Card, CardError, ItemError
from rubriclab.model import AnswerMode, Comparison, Criterion, Item, LabError, Ordering
from rubriclab.model.prompt import PromptTemplate, Reading
from rubriclab.study.prompts.comparison import next_letter, render_comparison
from rubriclab.study.prompts.criteria import CRITERIA_TEMPLATE, render_criteria
from rubriclab.study.prompts.rubric import SCORE_TEMPLATE, render_rubric

_TEXTS = ("item_id", "instruction", "response", "criterion", "block", "prompt", "candidate", "task")
_OTHER = ("references", "turns", "responses", "columns")


@dataclass(frozen=True)
class Subject:
    """What is judged. ``text``: what its draws are made from."""

    item: Item | Comparison
    criteria: tuple[Criterion, ...]
    text: tuple[str, ...]


@dataclass(frozen=True)
class Prompt:
    """One order, rendered; ``reading``: how a reply to an own prompt is read."""

    ordering: Ordering
    messages: tuple[Mapping[str, str], ...]
    template: str
    reading: Reading | None


def subject_of(card: Card, value: Mapping[str, Any]) -> Subject:
    """Raises ItemError for an item that the card's judge cannot be asked about."""
    if not isinstance(value, Mapping):
        raise ItemError(f"An item is a mapping with an instruction and a response, not {type(value).__name__}.")
    if card.axis == "pairwise":
        return _pair(value)
    texts = {name: _text(value, name) for name in _TEXTS}
    response = texts.pop("response")
    if not response:
        raise ItemError("The item has no “response”: there is nothing to judge.")
    criterion = texts["criterion"] or None
    item = Item(
        item_id=texts["item_id"],
        instruction=texts["instruction"],
        response=response,
        criterion=criterion,
        block=texts["block"] or None,
        prompt=texts["prompt"] or None,
        candidate=texts["candidate"] or None,
        task=texts["task"] or None,
        references=_references(value.get("references") or {}),
        columns=_columns(value),
    )
    return Subject(item, _criteria(card, criterion), (item.instruction, item.response, criterion or ""))


def _criteria(card: Card, name: str | None) -> tuple[Criterion, ...]:
    if card.rubric is None:
        return ()
    try:
        if card.axis == "criteria":
            return tuple(card.rubric.criterion(one) for one in card.criteria)
        criterion = card.rubric.criterion(name)
    except LabError as fault:
        raise ItemError(f"The item's criterion: {fault}") from fault
    if criterion.scores != card.scores:
        raise ItemError(
            f"Criterion “{criterion.name}” has the scores {', '.join(map(str, criterion.scores))}; "
            f"the card was measured with {', '.join(map(str, card.scores))}."
        )
    return (criterion,)


def _pair(value: Mapping[str, Any]) -> Subject:
    responses = value.get("responses")
    if isinstance(responses, str) or not isinstance(responses, Sequence) or len(responses) != 2:
        raise ItemError("A pair has “responses”, a list of two.")
    turns = value.get("turns")
    turns = (_text(value, "instruction"),) if turns is None else tuple(map(str, turns))
    answers = tuple((one,) if isinstance(one, str) else tuple(map(str, one)) for one in responses)
    if not turns[-1:] or any(len(answer) != len(turns) for answer in answers):
        raise ItemError(f"A pair of {len(turns)} turns has an answer to each of them from both candidates.")
    references = value.get("references") or ()
    comparison = Comparison(
        item_id=_text(value, "item_id"),
        turns=turns,
        candidates=("1", "2"),
        responses=answers,
        prompt=_text(value, "prompt") or None,
        task=_text(value, "task") or None,
        references=(references,) if isinstance(references, str) else tuple(map(str, references)),
        columns=_columns(value),
    )
    return Subject(comparison, (), (*turns, *answers[0], *answers[1]))


def _text(value: Mapping[str, Any], name: str) -> str:
    part = value.get(name)
    if _blank(part):
        return ""
    if isinstance(part, str | int | float) and not isinstance(part, bool):
        try:
            return str(part)
        except ValueError as fault:
            raise ItemError(f"The item's “{name}” is a number of too many digits; expected text.") from fault
    raise ItemError(f"The item's “{name}” is {type(part).__name__}; expected text.")


def _blank(part: Any) -> bool:
    """None, or NaN: an empty cell of a table."""
    return part is None or (isinstance(part, float) and math.isnan(part))


def _references(value: Any) -> dict[int, str]:
    try:
        return {int(score): str(text) for score, text in dict(value).items()}
    except (TypeError, ValueError) as fault:
        raise ItemError("The item's “references” are texts by score, as {5: “…”}.") from fault


def _columns(value: Mapping[str, Any]) -> dict[str, str]:
    """Other columns of the item, as text; under “columns” those that have the name of a part of it."""
    own = {name: str(part) for name, part in value.items() if name not in (*_TEXTS, *_OTHER) and not _blank(part)}
    columns = value.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise ItemError(f"The item's “columns” is {type(columns).__name__}; expected texts by name.")
    return own | {str(name): str(part) for name, part in columns.items()}


# ---------------------------------------------------------------- one order


def prompt_of(card: Card, subject: Subject, order: tuple[int | str, ...]) -> Prompt:
    """The messages for one order, begun as the lab begins them. Raises ItemError where they cannot be made."""
    try:
        prompt = _MAKERS[card.axis](card, subject, order)
    except CardError:
        raise
    except LabError as fault:
        raise ItemError(str(fault)) from fault
    if not card.begun:
        return prompt
    begun = card.begun.replace("{first}", str(prompt.ordering.shown[0]))
    messages = (*prompt.messages, {"role": "assistant", "content": begun})
    return Prompt(prompt.ordering, messages, prompt.template, prompt.reading)


def _options(card: Card, subject: Subject, order: tuple[int | str, ...]) -> Prompt:
    (criterion,), item = subject.criteria, subject.item
    assert isinstance(item, Item)
    label = dict(zip(criterion.scores, criterion.labels, strict=True))
    shown = tuple(int(score) for score in order)
    ordering = Ordering(shown, tuple(label[score] for score in shown))
    reference = _shown_reference(card, criterion, item)
    if card.own is not None:
        from rubriclab.study.prompts.names import option_names

        labels = criterion.labels
        names = option_names(item, criterion, ordering, reference=reference, labels=labels)
        return _own(card.own, names, ordering, labels)
    answer: AnswerMode = "score" if card.template == SCORE_TEMPLATE else "feedback"
    messages = render_rubric(item, criterion, ordering, answer=answer, reference_score=reference)
    return Prompt(ordering, messages, card.template, None)


def _shown_reference(card: Card, criterion: Criterion, item: Item) -> int | None:
    if card.reference == "best":
        best = max(criterion.scores)
        return best if best in item.references else None
    return None if card.reference is None else int(card.reference)


def _criteria_prompt(card: Card, subject: Subject, order: tuple[int | str, ...]) -> Prompt:
    item = subject.item
    assert isinstance(item, Item)
    ordering = Ordering(tuple(map(str, order)))
    if card.own is not None:
        from rubriclab.study.prompts.names import criteria_names

        labels = subject.criteria[0].labels
        names = criteria_names(item, subject.criteria, ordering, labels=labels)
        return _own(card.own, names, ordering, labels)
    messages = render_criteria(item, subject.criteria, ordering, scale=card.scores)
    return Prompt(ordering, messages, CRITERIA_TEMPLATE, None)


def _verdict(card: Card, subject: Subject, order: tuple[int | str, ...]) -> Prompt:
    comparison = subject.item
    assert isinstance(comparison, Comparison)
    ordering = Ordering(tuple(map(str, order)), ("A", "B"))
    if card.own is not None:
        from rubriclab.study.prompts.names import comparison_names

        labels = (*ordering.labels, next_letter(ordering.labels)) if card.tie else ordering.labels
        return _own(card.own, comparison_names(comparison, ordering, tie=card.tie), ordering, labels)
    messages = render_comparison(comparison, ordering, tie=card.tie, template=card.template)
    return Prompt(ordering, messages, card.template, None)


def _own(template: PromptTemplate, names: Mapping[str, Any], ordering: Ordering, labels: tuple[str, ...]) -> Prompt:
    from rubriclab.study.prompts.template import render_template

    return Prompt(ordering, render_template(template, names), f"own.{template.id}", Reading(template.answer, labels))


def needs_jinja(card: Card) -> None:
    """Raises CardError where the card's own prompt cannot be rendered for want of Jinja2."""
    if card.own is None:
        return
    try:
        import jinja2  # noqa: F401
    except ImportError as fault:
        raise CardError(
            f"The card's prompt “{card.own.name}” is a Jinja2 template, and Jinja2 is not installed here: "
            "pip install jinja2."
        ) from fault


_MAKERS = {"options": _options, "criteria": _criteria_prompt, "pairwise": _verdict}
