"""An item, what it is judged under and an order in, the messages to send out; their wording stands
in ``prompts.toml``.

Texts of others are filled in or joined, never read as templates. The score options come last, so
that all orders of an item share the text above them and a server's prefix cache keeps it.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from rubriclab.model.data import Criterion, Item
from rubriclab.model.judgment import Ordering
from rubriclab.model.text import LabError, shorten, without_invisible

Answer = Literal["score", "feedback"]
Messages = tuple[dict[str, str], ...]
WORDING: Mapping[str, str] = tomllib.loads(
    Path(__file__).with_name("prompts.toml").read_text("utf-8")
)

SCORE_TEMPLATE = "score.v1"
FEEDBACK_TEMPLATE = "prometheus.v1"
CRITERIA_TEMPLATE = "criteria.v1"
BATCH_TEMPLATE = "batch.v1"
BARE_TEMPLATE = "bare.v1"

TASK_HEADING = "###Task Description:"
RESPONSE_HEADING = "###Response to evaluate:"
FEEDBACK_ENDING = "###Feedback:"
SCORE_ENDING = "Answer with the score only:"
BATCH_ENDING = "Answer with one line for each response, the score only:"
CRITERIA_ENDING = "Do not include any feedback, explanation, or extra text."
COMPARISON_ENDING = "Now judge. Keep to the output format given above."
VERDICT_ENDING = "Your verdict (one letter):"
TEXT_START, TEXT_END = "<<<START OF", "<<<END OF"
"""What marks a candidate's text in a comparison; the text itself may hold the same words."""

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def fold(label: str) -> str:
    """How labels are compared: full-width forms as plain ones, no case, no outer blanks, no
    invisible signs.
    """
    return without_invisible(unicodedata.normalize("NFKC", label)).strip().casefold()


def user(parts: Sequence[str]) -> Messages:
    """One message of paragraphs."""
    return ({"role": "user", "content": "\n\n".join(parts)},)


def answered(item: Item) -> list[str]:
    """The paragraphs of an instruction, if there is one, and of its response."""
    asked = [f"###The instruction to evaluate:\n{item.instruction}"] if item.instruction else []
    return [*asked, f"{RESPONSE_HEADING}\n{item.response}"]


# ---------------------------------------------------------------- one response under one criterion


def score_prompt(
    item: Item,
    criterion: Criterion,
    ordering: Ordering,
    *,
    answer: Answer = "score",
    reference: int | None = None,
) -> Messages:
    """The one user message that asks for ``item``'s score under ``criterion``.

    ``ordering.shown[p]`` is the score at position p + 1, ``ordering.labels[p]`` what stands for it.
    The item's reference answer, if it has one, is shown as one of the score ``reference``, None for
    the highest. The task names the labels in an order of their own (``natural_order``), so that it
    does not change with the ordering.
    """
    label_of, options = _options(criterion, ordering)
    best = label_of[max(label_of) if reference is None else reference]
    allowed = _allowed(ordering.labels)
    slot = allowed.replace("an integer between", "an integer number between")
    task = WORDING[f"{answer}_task"].format(allowed=allowed, slot=slot)
    parts = [
        f"{TASK_HEADING}\n{_given(item, best)}\n{task}",
        *answered(item),
        *([f"###Reference Answer (Score {best}):\n{item.reference}"] if item.reference else []),
        "###Score Rubrics:\n" + options,
        FEEDBACK_ENDING if answer == "feedback" else SCORE_ENDING,
    ]
    return user(parts)


@lru_cache(maxsize=1_024)
def _options(criterion: Criterion, ordering: Ordering) -> tuple[Mapping[int, str], str]:
    """(label of each score, the criterion's heading and one line an option as shown): all items
    share them.
    """
    about = {option.score: option.description for option in criterion.options}
    label_of = {
        int(score): label for score, label in zip(ordering.shown, ordering.labels, strict=True)
    }
    lines = [f"[{heading_of(criterion)}]"]
    for score, label in label_of.items():
        description = one_line(about[score])
        lines.append(f"Score {label}: {description}" if description else f"Score {label}")
    return label_of, "\n".join(lines)


def _given(item: Item, best: str) -> str:
    """The sentence that lists what is given, in step with what is shown."""
    given = ["a response to evaluate"]
    if item.instruction:
        given.insert(0, "an instruction (might include an Input inside it)")
    if item.reference:
        given.append(f"a reference answer that gets a score of {best}")
    last = "a score rubric representing an evaluation criterion are given."
    sentence = ", ".join(given) + (", and " if len(given) > 1 else " and ") + last
    return sentence[0].upper() + sentence[1:]


@lru_cache(maxsize=1_024)
def _allowed(labels: tuple[str, ...]) -> str:
    """The labels in words: a range for three or more consecutive whole numbers, else the list of
    them.
    """
    ordered = natural_order(labels)
    whole = all(re.fullmatch(r"-?\d+", label) for label in ordered)
    if whole and _consecutive([int(label) for label in ordered]):
        return f"an integer between {int(ordered[0])} and {int(ordered[-1])}"
    return f"one of {', '.join(ordered)}"


def _consecutive(numbers: Sequence[int]) -> bool:
    return len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1))


def natural_order(labels: Sequence[str]) -> tuple[str, ...]:
    """``labels`` as they count: numbers and Roman numerals by value, others by alphabet, whatever
    order they come in.
    """
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return tuple(sorted(labels, key=int))
    if is_roman(labels):
        return tuple(sorted(labels, key=_roman_value))
    return tuple(sorted(labels, key=lambda label: (fold(label), label)))


def is_roman(labels: Sequence[str]) -> bool:
    """Whether ``labels`` are Roman numerals; lone letters such as C and D do not make them so."""
    return any(len(label) > 1 for label in labels) and all(
        re.fullmatch(r"[ivxlcdm]+", fold(label)) for label in labels
    )


def _roman_value(label: str) -> int:
    values = [_ROMAN[letter] for letter in fold(label)]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )


def one_line(text: str) -> str:
    return " ".join(text.split())


def heading_of(criterion: Criterion) -> str:
    return one_line(
        f"{criterion.name}: {criterion.description}" if criterion.description else criterion.name
    )


# -------------------------------------------------- a bare score, and several responses in one call


def bare_prompt(item: Item, criterion: Criterion) -> Messages:
    """The one user message that asks for a score on a scale whose options are not described, nor
    listed.
    """
    given = (
        "An instruction (might include an Input inside it), a response"
        if item.instruction
        else "A response"
    )
    allowed = _allowed(tuple(map(str, criterion.scores)))
    task = WORDING["bare_task"].format(given=given, allowed=allowed, best=criterion.scores[-1])
    return user(
        [
            f"{TASK_HEADING}\n{task}",
            *answered(item),
            f"###Criterion:\n[{heading_of(criterion)}]",
            SCORE_ENDING,
        ]
    )


def batch_prompt(items: Sequence[Item], criterion: Criterion) -> Messages:
    """The one user message that asks for a score for each of two or more ``items``, in this order.

    Layout and wording are those of the single call but for what several responses need, so that a
    difference between the two comes from their being asked together. An instruction that all share
    is shown once.
    """
    count, numbers = len(items), tuple(map(str, criterion.scores))
    shared = _shared(items)
    given = f"{count} responses to evaluate"
    if shared:
        given = f"An instruction (might include an Input inside it), {given} to it"
    elif shared is None:
        given = f"{given}, each with the instruction that it answers"
    task = WORDING["batch_task"].format(given=given, allowed=_allowed(numbers), count=count)
    options = _options(criterion, Ordering(criterion.scores, numbers))[1]
    parts = [f"{TASK_HEADING}\n{task}", *several_answered(items)]
    return user([*parts, f"###Score Rubrics:\n{options}", BATCH_ENDING])


def _shared(items: Sequence[Item]) -> str | None:
    """The instruction that all items have; None where they differ."""
    instructions = {item.instruction for item in items}
    return instructions.pop() if len(instructions) == 1 else None


def several_answered(items: Sequence[Item]) -> list[str]:
    """The paragraphs of several responses by their positions, and of what they answer: once where
    all share it.
    """
    shared = _shared(items)
    parts = [f"###The instruction to evaluate:\n{shared}"] if shared else []
    for position, item in enumerate(items, start=1):
        if shared is None and item.instruction:
            parts.append(f"###Instruction {position}:\n{item.instruction}")
        parts.append(f"###Response {position}:\n{item.response}")
    return parts


# -------------------------------------------------------------- one response under several criteria


def criteria_prompt(item: Item, criteria: Sequence[Criterion], ordering: Ordering) -> Messages:
    """The one user message that asks for ``item``'s score under each of ``criteria``, in the order
    shown.

    ``ordering.shown`` holds their names by position; ``check_criteria`` has passed them.
    """
    by_name = {criterion.name: criterion for criterion in criteria}
    listed = "\n".join(f"- {heading_of(by_name[str(name)])}" for name in ordering.shown)
    text = WORDING["criteria"].format(
        scale=_scale(criteria[0].scores),
        listed=listed,
        answered="\n\n".join(answered(item)),
        n=len(ordering.shown),
        ending=CRITERIA_ENDING,
    )
    return user([text])


def check_criteria(criteria: Sequence[Criterion]) -> None:
    """Raises LabError for criteria that one call cannot score together: unlike scales, names that a
    reply mixes up.
    """
    keys = [name_key(criterion.name) for criterion in criteria]
    for criterion, key in zip(criteria, keys, strict=True):
        if criterion.scores != criteria[0].scores:
            both = f"“{shorten(criteria[0].name)}” and “{shorten(criterion.name)}”"
            scores = (
                f"({_listed(criteria[0].scores)}; {_listed(criterion.scores)}); in one call "
                f"all need the same"
            )
            cure = 'Change the rubric, or reorder = "options", which asks one criterion a call.'
            raise LabError(f"Criteria {both} have different scores {scores}. {cure}")
        if not key or keys.count(key) > 1:
            cure = "names must differ in their letters and digits. Rename it."
            name = shorten(criterion.name)
            raise LabError(
                f"The criterion name “{name}” cannot be told from another one in a reply: {cure}"
            )


def name_key(name: str) -> str:
    """How criterion names are compared in replies: letters and digits only, no case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))


def _scale(scores: tuple[int, ...]) -> str:
    """The scale in words: a range for three or more consecutive scores, else the list of them."""
    if _consecutive(scores):
        return f"an integer score on a {scores[0]}-{scores[-1]} scale"
    return f"one of the scores {_listed(scores)}"


def _listed(scores: tuple[int, ...]) -> str:
    return ", ".join(map(str, scores))
