"""Make the calls that write and review a reference answer for each score.

The reviewer scores the answer without knowing which score was wanted, because a judge that is
asked “is this a 2?” tends to say yes. Li et al. (“Datasets”, figure 4) do the same but print no
prompt, so the wording in ``judge_prompts`` is the lab's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.model.data import Criterion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Ordering, Reply, Status
from rubriclab.model.text import digest
from rubriclab.study.outcomes import option_outcomes
from rubriclab.study.placeholders import listed_options, numbered
from rubriclab.study.prompts import Messages, filled_in, lab_prompt
from rubriclab.study.subjects import SCORE_BEGUN
from rubriclab.study.tokens import (
    EMBEDDED_FEEDBACK_TOKENS,
    LABEL_TOKENS,
    REASONING_TOKENS,
    answer_is_begun,
)

WRITE_TEMPLATE = lab_prompt("reference-write").name
REVIEW_TEMPLATE = lab_prompt("reference-review").name
REVIEW_ENDING = "Which score does the answer get? Reply with the score alone:"
"""How the review prompt ends. A reply may repeat it."""
WRITE_TOKENS = 800
"""Tokens of a reference answer."""
WRITE_TEMPERATURE = 0.8
"""Temperature of a writer whose own is 0, which would write the same answer at every attempt."""


@dataclass(frozen=True, slots=True)
class Task:
    """One instruction under one criterion, for which reference answers are written.

    number: counts the tasks. id: names the instruction and the criterion.
    """

    number: int
    id: str
    instruction: str
    criterion: Criterion


def write_prompt(task: Task, score: int, earlier: Sequence[int | None] = ()) -> Messages:
    """Return the message that asks for an answer which earns exactly ``score``.

    ``earlier``: the scores that earlier attempts got; None if the review could not be parsed.
    """
    about = {option.score: option.description for option in task.criterion.options}
    names = _names(task) | {
        "score": score,
        "about": about[score] or "No description.",
        "earlier": [verdict for verdict in earlier if verdict is not None],
    }
    return filled_in("reference-write", names)


def review_prompt(task: Task, answer: str) -> Messages:
    """Return the message that asks for the score of ``answer``, not naming the one wanted."""
    return filled_in("reference-review", _names(task) | {"response": answer})


def _names(task: Task) -> dict[str, Any]:
    """Return what both prompts may name."""
    criterion = task.criterion
    return {
        "instruction": task.instruction,
        "criterion": {"name": criterion.name, "description": criterion.description},
        **listed_options(criterion, numbered(criterion)),
    }


# ---------------------------------------------------------------- calls and replies


def write_call(judge: JudgeSettings, task: Task, score: int, earlier: Sequence[int | None]) -> Call:
    """Return the writer's call for its next attempt. ``earlier``: the score of each earlier one."""
    tokens = EMBEDDED_FEEDBACK_TOKENS if judge.about.small_model else WRITE_TOKENS
    messages = write_prompt(task, score, earlier)
    call = _call(judge, task, WRITE_TEMPLATE, messages, tokens, [score, len(earlier)])
    seed = None if judge.seed is None else judge.seed + len(earlier)
    return replace(
        call,
        seed=seed,
        temperature=WRITE_TEMPERATURE if judge.temperature == 0 else judge.temperature,
    )


def review_call(judge: JudgeSettings, task: Task, answer: str, attempt: int) -> Call:
    """Return the reviewer's call about an answer.

    The reply of an embedded reviewer is begun for it, like the reply of an embedded judge.
    """
    messages = review_prompt(task, answer)
    if answer_is_begun(judge):
        messages = (*messages, {"role": "assistant", "content": SCORE_BEGUN})
    return _call(judge, task, REVIEW_TEMPLATE, messages, LABEL_TOKENS, [attempt])


def _call(
    judge: JudgeSettings,
    task: Task,
    template: str,
    messages: Messages,
    tokens: int,
    attempt: Sequence[int],
) -> Call:
    scores = task.criterion.scores
    if judge.max_tokens is not None:
        tokens = judge.max_tokens
    elif judge.reasoning_effort is not None:
        tokens = REASONING_TOKENS
    return Call(
        digest(judge.identity(), template, messages, attempt),
        0,
        (task.number,),
        Ordering(scores, tuple(map(str, scores))),
        0,
        messages,
        template,
        scores,
        tokens,
        judge.temperature,
        judge.reasoning_effort,
        judge.seed,
    )


def written_answer(reply: Reply) -> str:
    """Return the answer in a writer's reply, without the reasoning before it, or ""."""
    text = reply.text
    if "<think>" in text and "</think>" not in text:
        return ""
    return text.rpartition("</think>")[2].strip()


def review_score(call: Call, reply: Reply) -> tuple[int | None, Status]:
    """Return the score that a review gives, and how its call ended.

    If the reply repeats the prompt first, only the text after it counts.
    """
    said = replace(reply, text=reply.text.rpartition(REVIEW_ENDING)[2])
    outcome = option_outcomes(call, said)[0]
    return (None if outcome.score is None else int(outcome.score)), outcome.status
