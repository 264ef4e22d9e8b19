"""The prompt for one item under one criterion, its score options in a given order.

Wording and layout follow the Prometheus-Eval prompt that both papers print (Xu et al. v2,
Figure 5; Li et al., Figure 3). The score rubric comes last, so that all orderings of an
item share everything above it and a server's prefix cache can keep it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from rubriclab.model import AnswerMode, Criterion, Item, Ordering, StudyError
from rubriclab.model.answers import fold
from rubriclab.model.language import tr
from rubriclab.model.wording import many

FEEDBACK_TEMPLATE = "prometheus.v1"
SCORE_TEMPLATE = "score.v1"

TASK_HEADING = "###Task Description:"
RUBRIC_HEADING = "###Score Rubrics:"
FEEDBACK_ENDING = "###Feedback:"
SCORE_ENDING = "Answer with the score only:"
"""The last line of each template: what a judge that repeats its prompt repeats last."""

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def template_name(answer: AnswerMode) -> str:
    """The versioned name of the template that ``render_rubric`` uses for ``answer``."""
    return FEEDBACK_TEMPLATE if answer == "feedback" else SCORE_TEMPLATE


def render_rubric(
    item: Item, criterion: Criterion, ordering: Ordering, *, answer: AnswerMode, reference_score: int | None = None
) -> tuple[dict[str, str], ...]:
    """The messages that ask for ``item``'s score under ``criterion``: one user message.

    ``ordering.shown[p]`` is the canonical score at position p, ``ordering.labels[p]`` the
    label beside it. ``reference_score`` k shows ``item.references[k]`` under k's label;
    None shows no reference. The task description names the labels in an order of their own
    (``natural_order``), never in the shown one, so that it does not change with the ordering.
    Texts are joined, never formatted: braces and headings inside them are only text.

    Raises StudyError where ordering and criterion do not fit or the reference is missing.
    """
    label_of, rubric = _shown(criterion, ordering)
    reference = _reference(item, label_of, reference_score)
    allowed = _allowed(ordering.labels)
    describe = _feedback_task if answer == "feedback" else _score_task
    ending = FEEDBACK_ENDING if answer == "feedback" else SCORE_ENDING
    parts = [
        TASK_HEADING + "\n" + _given(item, reference) + "\n" + describe(allowed),
        *([f"###The instruction to evaluate:\n{item.instruction}"] if item.instruction else []),
        f"###Response to evaluate:\n{item.response}",
        *([f"###Reference Answer (Score {reference[0]}):\n{reference[1]}"] if reference else []),
        RUBRIC_HEADING + "\n" + rubric,
        ending,
    ]
    return ({"role": "user", "content": "\n\n".join(parts)},)


@lru_cache(maxsize=1024)
def _shown(criterion: Criterion, ordering: Ordering) -> tuple[Mapping[int, str], str]:
    """The label of each score and the rubric's text: all items of a study share them."""
    label_of = _labels_by_score(criterion, ordering)
    return label_of, _rubric(criterion, label_of)


def _labels_by_score(criterion: Criterion, ordering: Ordering) -> dict[int, str]:
    """The label of each score, in the shown order; raises StudyError for an ordering that cannot be shown."""
    shown, labels = ordering.shown, ordering.labels
    if len(labels) != len(shown):
        raise StudyError(
            tr(
                "The ordering “{ordering}” shows {scores} but has {n} labels; give every shown score one label.",
                ordering=ordering,
                scores=many(len(shown), "score"),
                n=len(labels),
            )
        )
    known = set(criterion.scores)
    label_of: dict[int, str] = {}
    for score, label in zip(shown, labels, strict=True):
        if not isinstance(score, int) or score not in known:
            raise StudyError(
                tr(
                    "The ordering “{ordering}” shows “{score}”, which is not a score of “{name}” ({known}).",
                    ordering=ordering,
                    score=score,
                    name=criterion.name,
                    known=", ".join(map(str, criterion.scores)),
                )
            )
        label_of[score] = label
    if len(set(shown)) < len(shown):
        raise StudyError(tr("The ordering “{ordering}” shows a score more than once.", ordering=ordering))
    folded = [fold(label) for label in labels]
    for label, key in zip(labels, folded, strict=True):
        if not key or folded.count(key) > 1:
            raise StudyError(
                tr(
                    "The score label “{label}” is empty or used twice (upper and lower case count as one); every "
                    "label must differ, or replies cannot be read.",
                    label=label,
                )
            )
    return label_of


def _reference(item: Item, label_of: Mapping[int, str], score: int | None) -> tuple[str, str] | None:
    """(label, text) of the reference answer to show, or None for no reference."""
    if score is None:
        return None
    if score not in label_of:
        raise StudyError(
            tr(
                "A reference answer of score {score} cannot be shown: the rubric shows only {shown}.",
                score=score,
                shown=", ".join(map(str, sorted(label_of))),
            )
        )
    if score not in item.references:
        raise StudyError(
            tr(
                "Item “{item_id}” has no reference answer of score {score}; add one to the data or leave that "
                "level out of the study.",
                item_id=item.item_id,
                score=score,
            )
        )
    return label_of[score], item.references[score]


def _given(item: Item, reference: tuple[str, str] | None) -> str:
    """The sentence that lists what is given, in step with what is shown."""
    given = ["a response to evaluate"]
    if item.instruction:
        given.insert(0, "an instruction (might include an Input inside it)")
    if reference:
        given.append(f"a reference answer that gets a score of {reference[0]}")
    last = "a score rubric representing an evaluation criterion are given."
    sentence = ", ".join(given) + (", and " if len(given) > 1 else " and ") + last
    return sentence[0].upper() + sentence[1:]


def _feedback_task(allowed: str) -> str:
    slot = allowed.replace("an integer between", "an integer number between")
    return "\n".join(
        [
            "1. Write a detailed feedback that assesses the quality of the response strictly "
            "based on the given score rubric, not evaluating in general.",
            f"2. After writing a feedback, write a score that is {allowed}. You should refer to the score rubric.",
            "3. The output format should look as follows: "
            f'"Feedback: (write a feedback for criteria) [RESULT] ({slot})"',
            "4. Please do not generate any other opening, closing, and explanations.",
        ]
    )


def _score_task(allowed: str) -> str:
    return "\n".join(
        [
            "1. Assess the quality of the response strictly based on the given score rubric, "
            "not evaluating in general.",
            f"2. Answer with a score that is {allowed}. You should refer to the score rubric.",
            "3. Write the score alone: no feedback, no other word.",
        ]
    )


@lru_cache(maxsize=1024)
def _allowed(labels: tuple[str, ...]) -> str:
    """The labels in words: a range for consecutive whole numbers, else the list of them."""
    ordered = natural_order(labels)
    if all(re.fullmatch(r"-?\d+", label) for label in ordered):
        numbers = [int(label) for label in ordered]
        if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
            return f"an integer between {numbers[0]} and {numbers[-1]}"
    return f"one of {', '.join(ordered)}"


def natural_order(labels: Sequence[str]) -> tuple[str, ...]:
    """``labels`` as they count: numbers and Roman numerals by value, others by alphabet.

    Depends on the set of labels only, not on their order.
    """
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return tuple(sorted(labels, key=int))
    if is_roman(labels):
        return tuple(sorted(labels, key=_roman_value))
    return tuple(sorted(labels, key=lambda label: (fold(label), label)))


def is_roman(labels: Sequence[str]) -> bool:
    """Whether ``labels`` are Roman numerals; lone letters such as C and D do not make them so."""
    return any(len(label) > 1 for label in labels) and all(re.fullmatch(r"[ivxlcdm]+", fold(label)) for label in labels)


def _roman_value(label: str) -> int:
    values = [_ROMAN[letter] for letter in fold(label)]
    following = [*values[1:], 0]
    return sum(-v if v < after else v for v, after in zip(values, following, strict=True))


def _rubric(criterion: Criterion, label_of: Mapping[int, str]) -> str:
    """The criterion's heading and one line an option, in the shown order."""
    name, about = criterion.name, criterion.description
    lines = [f"[{_one_line(f'{name}: {about}' if about else name)}]"]
    for score, label in label_of.items():
        description = _one_line(criterion.describe(score) or "")
        lines.append(f"Score {label}: {description}" if description else f"Score {label}")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())
