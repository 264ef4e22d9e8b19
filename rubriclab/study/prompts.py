"""An item, what it is judged under and an order in, the messages to send out. Texts are joined, never formatted.

Wording and layout follow the prompts that Xu et al. (v2, figure 5 and appendix B) and Li et al. (figure 3) print. A
change of any byte here is a new template name, since a name stands for the text that stored replies answered. The
score options come last, so that all orders of an item share the text above them and a server's prefix cache keeps it.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

from rubriclab.model.data import Criterion, Item
from rubriclab.model.judgment import Ordering
from rubriclab.model.text import LabError, shorten, without_invisible

Answer = Literal["score", "feedback"]
Messages = tuple[dict[str, str], ...]

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

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def fold(label: str) -> str:
    """How labels are compared: full-width forms as plain ones, no case, no outer blanks, no invisible signs."""
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
    item: Item, criterion: Criterion, ordering: Ordering, *, answer: Answer = "score", reference: int | None = None
) -> Messages:
    """The one user message that asks for ``item``'s score under ``criterion``.

    ``ordering.shown[p]`` is the score at position p + 1, ``ordering.labels[p]`` what stands for it. The item's
    reference answer, if it has one, is shown as one of the score ``reference``, None for the highest. The task names the
    labels in an order of their own (``natural_order``), so that it does not change with the ordering.
    """
    label_of, options = _options(criterion, ordering)
    best = label_of[max(label_of) if reference is None else reference]
    allowed = _allowed(ordering.labels)
    task = _feedback_task(allowed) if answer == "feedback" else _score_task(allowed)
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
    """(label of each score, the criterion's heading and one line an option as shown): all items share them."""
    about = {option.score: option.description for option in criterion.options}
    label_of = {int(score): label for score, label in zip(ordering.shown, ordering.labels, strict=True)}
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


def _feedback_task(allowed: str) -> str:
    slot = allowed.replace("an integer between", "an integer number between")
    return (
        "1. Write a detailed feedback that assesses the quality of the response strictly based on the given score "
        "rubric, not evaluating in general.\n"
        f"2. After writing a feedback, write a score that is {allowed}. You should refer to the score rubric.\n"
        '3. The output format should look as follows: "Feedback: (write a feedback for criteria) [RESULT] '
        f'({slot})"\n'
        "4. Please do not generate any other opening, closing, and explanations."
    )


def _score_task(allowed: str) -> str:
    return (
        "1. Assess the quality of the response strictly based on the given score rubric, not evaluating in general.\n"
        f"2. Answer with a score that is {allowed}. You should refer to the score rubric.\n"
        "3. Write the score alone: no feedback, no other word."
    )


@lru_cache(maxsize=1_024)
def _allowed(labels: tuple[str, ...]) -> str:
    """The labels in words: a range for three or more consecutive whole numbers, else the list of them."""
    ordered = natural_order(labels)
    whole = all(re.fullmatch(r"-?\d+", label) for label in ordered)
    if whole and _consecutive([int(label) for label in ordered]):
        return f"an integer between {int(ordered[0])} and {int(ordered[-1])}"
    return f"one of {', '.join(ordered)}"


def _consecutive(numbers: Sequence[int]) -> bool:
    return len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1))


def natural_order(labels: Sequence[str]) -> tuple[str, ...]:
    """``labels`` as they count: numbers and Roman numerals by value, others by alphabet, whatever order they come in."""
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
    return sum(-value if value < after else value for value, after in zip(values, following, strict=True))


def one_line(text: str) -> str:
    return " ".join(text.split())


def heading_of(criterion: Criterion) -> str:
    return one_line(f"{criterion.name}: {criterion.description}" if criterion.description else criterion.name)


# ---------------------------------------------------------------- a bare score, and several responses in one call


def bare_prompt(item: Item, criterion: Criterion) -> Messages:
    """The one user message that asks for a score on a scale whose options are not described, nor listed."""
    scores = criterion.scores
    given = "An instruction (might include an Input inside it), a response" if item.instruction else "A response"
    parts = [
        f"{TASK_HEADING}\n{given} to evaluate, and an evaluation criterion are given.\n"
        "1. Assess the quality of the response strictly based on the given criterion, not evaluating in general.\n"
        f"2. Answer with a score that is {_allowed(tuple(map(str, scores)))}; {scores[-1]} is best.\n"
        "3. Write the score alone: no feedback, no other word.",
        *answered(item),
        f"###Criterion:\n[{heading_of(criterion)}]",
        SCORE_ENDING,
    ]
    return user(parts)


def batch_prompt(items: Sequence[Item], criterion: Criterion) -> Messages:
    """The one user message that asks for a score for each of two or more ``items``, in this order.

    Layout and wording are those of the single call but for what several responses need, so that a difference between
    the two comes from their being asked together. An instruction that all share is shown once.
    """
    count, numbers = len(items), tuple(map(str, criterion.scores))
    shared = _shared(items)
    given = f"{count} responses to evaluate"
    if shared:
        given = f"An instruction (might include an Input inside it), {given} to it"
    elif shared is None:
        given = f"{given}, each with the instruction that it answers"
    task = (
        f"{given}, and a score rubric representing an evaluation criterion are given.\n"
        "1. Assess the quality of each response by itself, strictly based on the given score rubric, not evaluating in "
        "general.\n"
        f"2. Give each response a score that is {_allowed(numbers)}. You should refer to the score rubric.\n"
        f"3. Write {count} lines, one for each response in the order in which they stand, as “[Response 1] N”: no "
        "feedback, no other word."
    )
    options = _options(criterion, Ordering(criterion.scores, numbers))[1]
    parts = [f"{TASK_HEADING}\n{task}", *several_answered(items)]
    return user([*parts, f"###Score Rubrics:\n{options}", BATCH_ENDING])


def _shared(items: Sequence[Item]) -> str | None:
    """The instruction that all items have; None where they differ."""
    instructions = {item.instruction for item in items}
    return instructions.pop() if len(instructions) == 1 else None


def several_answered(items: Sequence[Item]) -> list[str]:
    """The paragraphs of several responses by their positions, and of what they answer: once where all share it."""
    shared = _shared(items)
    parts = [f"###The instruction to evaluate:\n{shared}"] if shared else []
    for position, item in enumerate(items, start=1):
        if shared is None and item.instruction:
            parts.append(f"###Instruction {position}:\n{item.instruction}")
        parts.append(f"###Response {position}:\n{item.response}")
    return parts


# ---------------------------------------------------------------- one response under several criteria


def criteria_prompt(item: Item, criteria: Sequence[Criterion], ordering: Ordering) -> Messages:
    """The one user message that asks for ``item``'s score under each of ``criteria``, in the order shown.

    ``ordering.shown`` holds their names by position; ``check_criteria`` has passed them.
    """
    by_name = {criterion.name: criterion for criterion in criteria}
    names = [str(name) for name in ordering.shown]
    about = "\n".join(f"- {heading_of(by_name[name])}" for name in names)
    parts = [
        f"{TASK_HEADING}\nYou are evaluating a response on multiple criteria. For each "
        f"criterion below, assign {_scale(criteria[0].scores)}. Do NOT include explanations or feedback.",
        "###Criteria (evaluate in this order):\n" + about,
        *answered(item),
        f"###Output format:\nFor each of the {len(names)} criteria, write one line:\n[Criterion] N\n"
        f"Output exactly {len(names)} lines, one per criterion. {CRITERIA_ENDING}",
    ]
    return user(parts)


def check_criteria(criteria: Sequence[Criterion]) -> None:
    """Raises LabError for criteria that one call cannot score together: unlike scales, names that a reply mixes up."""
    keys = [name_key(criterion.name) for criterion in criteria]
    for criterion, key in zip(criteria, keys, strict=True):
        if criterion.scores != criteria[0].scores:
            raise LabError(
                f"Criteria “{shorten(criteria[0].name)}” and “{shorten(criterion.name)}” have different scores "
                f"({_listed(criteria[0].scores)}; {_listed(criterion.scores)}); in one call all need the same. Change the rubric, or "
                'reorder = "options", which asks one criterion a call.'
            )
        if not key or keys.count(key) > 1:
            raise LabError(
                f"The criterion name “{shorten(criterion.name)}” cannot be told from another one in a reply: names "
                "must differ in their letters and digits. Rename it."
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
