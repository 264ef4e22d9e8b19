"""Write the messages that ask a judge for the best of several candidates' answers, in the order in
which it sees them.

Three families, worded in ``prompts.toml``: ``mtbench`` (a system prompt, conversations in marked
blocks, reasoning, then ``[[A]]``), ``devbench`` (criteria first, options listed, ``Choice: A`` and
the reasons) and ``brief``, the letter alone.
"""

from collections.abc import Sequence
from typing import Literal

from rubriclab.model.data import Comparison, Item
from rubriclab.model.judgment import Ordering
from rubriclab.study.prompts import (
    COMPARISON_ENDING,
    TEXT_END,
    TEXT_START,
    VERDICT_ENDING,
    WORDING,
    Messages,
    user,
)

Family = Literal["brief", "mtbench", "devbench"]


def template_of(family: Family, candidates: int) -> str:
    """The versioned name of a template; a tie changes the text, which is part of a call's key, not
    the name.
    """
    return f"{'pairwise' if candidates == 2 else 'listwise'}-{family}.v1"


def letters(candidates: int, *, tie: bool) -> tuple[str, ...]:
    """What stands for each position, and behind them for a tie."""
    return tuple(chr(ord("A") + k) for k in range(candidates + tie))


def comparison_prompt(
    comparison: Comparison, ordering: Ordering, *, tie: bool, family: Family
) -> Messages:
    """The messages that ask for the best of the candidates in the order shown; their names are
    never shown.
    """
    labels = ordering.labels
    best, several = ("better", "two") if len(labels) == 2 else ("best", str(len(labels)))
    tied = letters(len(labels), tie=True)[-1] if tie else ""
    offered = ", ".join(filter(None, [*labels, tied]))
    if family == "devbench":
        task = comparison.task
        criteria = (
            f"how well the response does on “{task}”"
            if task
            else "how well the response does what was asked"
        )
        options = [f"- {label}. Response {label} is the {best} one." for label in labels]
        options += [f"- {tied}. No response is clearly ahead (a tie)."] if tied else []
        text = WORDING["devbench"].format(
            several=several,
            criteria=criteria,
            answers=marked_answers(comparison, ordering, noun="RESPONSE"),
            options="\n".join(options),
            labels=offered,
            ending=COMPARISON_ENDING,
        )
        return user([text])
    if family == "mtbench":
        verdicts = [f'"[[{label}]]" if assistant {label} is {best}' for label in labels]
        verdicts += [f'"[[{tied}]]" if no assistant is clearly ahead (a tie)'] if tied else []
        focus = WORDING["mtbench_focus"] if len(_turns(comparison, "instruction")) > 1 else ""
        aim = WORDING["mtbench_aim_reference" if comparison.reference else "mtbench_aim"]
        system = WORDING["mtbench"].format(
            several=several, aim=aim, focus=focus, verdicts="; ".join(verdicts)
        )
        ending = COMPARISON_ENDING
    else:
        words = f" Answer {tied} if no assistant is clearly ahead." if tied else ""
        system = WORDING["brief"].format(best=best, tied=words, labels=offered)
        ending = f"Which assistant is {best}? {VERDICT_ENDING}"
    return {"role": "system", "content": system}, *user(
        [marked_answers(comparison, ordering), ending]
    )


def _turns(item: Item, part: str) -> list[str]:
    """A text of the first turn and, where the data have one, of the second."""
    first = getattr(item, part)
    second = item.columns.get(f"{part}_2", "")
    return [text for text in (first, second) if text]


def marked_answers(comparison: Comparison, ordering: Ordering, *, noun: str = "ASSISTANT") -> str:
    """Reference answers, then each candidate's conversation, between marked lines."""
    turns = _turns(comparison, "instruction")
    blocks = []
    if comparison.reference:
        lines = _dialogue(turns, _turns(comparison, "reference"), "Reference answer")
        blocks.append(
            f"{TEXT_START} REFERENCE ANSWERS>>>\n{lines}\n{TEXT_END} REFERENCE ANSWERS>>>"
        )
    by_name = {answer.candidate: answer for answer in comparison.answers}
    for shown, label in zip(ordering.shown, ordering.labels, strict=True):
        lines = _dialogue(
            turns, _turns(by_name[str(shown)], "response"), f"{noun.capitalize()} {label}"
        )
        blocks.append(f"{TEXT_START} {noun} {label}>>>\n{lines}\n{TEXT_END} {noun} {label}>>>")
    return "\n\n".join(blocks)


def _dialogue(turns: Sequence[str], answers: Sequence[str], speaker: str) -> str:
    """The turns with an answer under each; a turn without one stands alone."""
    parts = []
    for index, turn in enumerate(turns or [""]):
        parts += [f"### User:\n{turn}"] if turn else []
        if index < len(answers):
            parts.append(f"### {speaker}:\n{answers[index]}")
    return "\n\n".join(parts)
