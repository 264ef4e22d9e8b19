"""The prompt that asks for the scores of several responses at once, in a given order.

Layout and wording are those of the single call (``prompts.rubric``) but for what several responses
need, so that a difference between the two comes from their being asked together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rubriclab.model import Criterion, Item, StudyError
from rubriclab.model.answers import CRITERION
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule
from rubriclab.study.prompts.rubric import RUBRIC_HEADING, TASK_HEADING

BATCH_TEMPLATE = "batch.v1"
BATCH_ENDING = "Answer with one line for each response, the score only:"
BATCH_BEGUN = "Scores:\n[Response 1] "
"""Of four beginnings tried on the smallest embedded model the one after which it wrote a line a response."""
SINGLE_BEGUN = "The score is "
RESPONSE = "{response}"
"""In the answer rule of an own prompt: the label of each response, as “Response 2”."""


def place_label(place: int) -> str:
    """What a response is called by its place, from 1: it says nothing of which one stands there."""
    return f"Response {place}"


def render_batch(items: Sequence[Item], criterion: Criterion) -> tuple[dict[str, str], ...]:
    """The messages that ask for a score for each of ``items``, in this order: one user message.

    An instruction that all share is shown once. Texts are joined, never formatted. Raises
    StudyError below two items.
    """
    if len(items) < 2:
        raise StudyError(tr("A batch needs two responses or more."))
    instructions = {item.instruction for item in items}
    shared = instructions.pop() if len(instructions) == 1 else None
    parts = [TASK_HEADING + "\n" + _task(len(items), criterion, shared)]
    if shared:
        parts.append(f"###The instruction to evaluate:\n{shared}")
    for place, item in enumerate(items, 1):
        if shared is None and item.instruction:
            parts.append(f"###Instruction {place}:\n{item.instruction}")
        parts.append(f"###{place_label(place)}:\n{item.response}")
    return ({"role": "user", "content": "\n\n".join([*parts, _rubric(criterion), BATCH_ENDING])},)


def _task(count: int, criterion: Criterion, shared: str | None) -> str:
    given = f"{count} responses to evaluate"
    if shared:
        given = f"An instruction (might include an Input inside it), {given} to it"
    elif shared is None:
        given = f"{given}, each with the instruction that it answers"
    scores = sorted(criterion.scores)
    whole = len(scores) > 2 and scores == list(range(scores[0], scores[-1] + 1))
    allowed = f"an integer between {scores[0]} and {scores[-1]}" if whole else f"one of {', '.join(map(str, scores))}"
    return "\n".join(
        [
            f"{given}, and a score rubric representing an evaluation criterion are given.",
            "1. Assess the quality of each response by itself, strictly based on the given score rubric, "
            "not evaluating in general.",
            f"2. Give each response a score that is {allowed}. You should refer to the score rubric.",
            f"3. Write {count} lines, one for each response in the order in which they stand, as "
            f"“[{place_label(1)}] N”: no feedback, no other word.",
        ]
    )


def _rubric(criterion: Criterion) -> str:
    about = f"{criterion.name}: {criterion.description}" if criterion.description else criterion.name
    lines = [f"{RUBRIC_HEADING}\n[{' '.join(about.split())}]"]
    for option in criterion.options:
        text = " ".join((option.description or "").split())
        lines.append(f"Score {option.score}: {text}" if text else f"Score {option.score}")
    return "\n".join(lines)


def batch_rule(rule: AnswerRule) -> AnswerRule:
    """The rule of an own prompt as it is applied: ``{response}`` stands where others have ``{criterion}``."""
    named = {part: getattr(rule, part).replace(RESPONSE, CRITERION) for part in ("path", "pattern", "tag")}
    return replace(rule, **named)
