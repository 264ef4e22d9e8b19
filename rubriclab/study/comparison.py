"""Candidates' answers and an order in, the messages that ask for the best of them out; a reply in, its verdict out.

Three families, worded in ``prompts.toml``: ``mtbench`` (a system prompt, conversations in marked blocks, reasoning, then
``[[A]]``), ``devbench`` (criteria first, options listed, ``Choice: A`` and the reasons) and ``brief``, the letter alone.
"""

import re
from collections.abc import Sequence
from typing import Literal

from rubriclab.model.data import Comparison, Item
from rubriclab.model.judgment import Ordering
from rubriclab.study.parse import answer_part, readable
from rubriclab.study.prompts import WORDING, Messages, user

Family = Literal["brief", "mtbench", "devbench"]
START, END = "<<<START OF", "<<<END OF"
ENDING = "Now judge. Keep to the output format given above."
BRIEF_ENDING = "Your verdict (one letter):"


def template_of(family: Family, candidates: int) -> str:
    """The versioned name of a template; a tie changes the text, which is part of a call's key, not the name."""
    return f"{'pairwise' if candidates == 2 else 'listwise'}-{family}.v1"


def letters(candidates: int, *, tie: bool) -> tuple[str, ...]:
    """What stands for each position, and behind them for a tie."""
    return tuple(chr(ord("A") + k) for k in range(candidates + tie))


def comparison_prompt(
    comparison: Comparison, ordering: Ordering, *, tie: bool, family: Family
) -> Messages:
    """The messages that ask for the best of the candidates in the order shown; their names are never shown."""
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
            ending=ENDING,
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
        ending = ENDING
    else:
        words = f" Answer {tied} if no assistant is clearly ahead." if tied else ""
        system = WORDING["brief"].format(best=best, tied=words, labels=offered)
        ending = f"Which assistant is {best}? {BRIEF_ENDING}"
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
        blocks.append(f"{START} REFERENCE ANSWERS>>>\n{lines}\n{END} REFERENCE ANSWERS>>>")
    by_name = {answer.candidate: answer for answer in comparison.answers}
    for shown, label in zip(ordering.shown, ordering.labels, strict=True):
        lines = _dialogue(
            turns, _turns(by_name[str(shown)], "response"), f"{noun.capitalize()} {label}"
        )
        blocks.append(f"{START} {noun} {label}>>>\n{lines}\n{END} {noun} {label}>>>")
    return "\n\n".join(blocks)


def _dialogue(turns: Sequence[str], answers: Sequence[str], speaker: str) -> str:
    """The turns with an answer under each; a turn without one stands alone."""
    parts = []
    for index, turn in enumerate(turns or [""]):
        parts += [f"### User:\n{turn}"] if turn else []
        if index < len(answers):
            parts.append(f"### {speaker}:\n{answers[index]}")
    return "\n\n".join(parts)


# ---------------------------------------------------------------- verdicts

_NOUN = r"(?:assistant|response|answer|candidate|option|model)"
_ANNOUNCED = re.compile(
    r"\b(?:final|verdict|conclu\w+|therefore|overall|choice|decision|in\s+summary)\b", re.I
)
_BRACKETED = re.compile(rf"\[\[\s*(?:{_NOUN}\s+)?([^\[\]\n]{{1,12}}?)\s*\]\]", re.IGNORECASE)


def parse_verdict(text: str, labels: Sequence[str], *, tie: bool, brief: bool) -> str | None:
    """The letter that ``text`` gives as its verdict, or None where it cannot be told; ``labels``: with the tie's last.

    Verdicts in double brackets decide. If they all agree, that is it; if they differ, the last one counts only where its
    line announces it ("My final verdict: [[B]]") and no other line announces another one. A bracketed letter that was
    not offered contradicts too. Without brackets "Choice: A" and its like under the same rule, then a reply or last line
    that is only the letter. A ``brief`` reply may also open with it. A repeated prompt is cut off first, so that verdicts
    inside candidates' texts do not count.
    """
    body = readable(_own_words(answer_part(text)), labels).strip()
    if not body:
        return None
    token = "|".join(re.escape(label) for label in labels)
    # “A or B”, “A/B” and “A, B” name nobody.
    other = rf"[\[(\"'{{]*(?:{_NOUN}\s+)?(?-i:{token})(?!\w)"
    single = rf"(?!\s*(?:[/|&=<>–-]|\(?\s*(?:or|and)\b(?:\s+also)?)\s*{other}|\s*,\s*{other}\W*$)"
    phrase = re.compile(
        rf"\b(?:choice|verdict|answer|winner|decision)\b[\"')]*\s*(?:is|:|=|-)\s*[\[(\"'{{]*\s*"
        rf"(?:{_NOUN}\s+)?(?!(?-i:[ai])[ \t]+\w)((?:{token}|[a-z]|tie)(?!\w))(?!['’]\w){single}",
        re.IGNORECASE,
    )
    for pattern in (_BRACKETED, phrase):
        verdicts = list(_verdicts(pattern, body, labels, tie))
        if verdicts:
            return _agreed(verdicts)
    lines = [_label(_bare(line), labels, tie) for line in body.splitlines()]
    alone = {label for label in lines if label is not None}
    if lines[-1] in alone or (brief and lines[0] in alone):
        return alone.pop() if len(alone) == 1 else None
    # "A. Because", "B: it is": as written, so that an English "a" is none.
    opening = (
        re.match(rf"[\[(\"']*({token})[\])\"']*{single}\s*(?:[.:;,)\-–—]|\n)", body)
        if brief
        else None
    )
    return opening[1] if opening else None


def _verdicts(
    pattern: re.Pattern[str], body: str, labels: Sequence[str], tie: bool
) -> list[tuple[str | None, bool]]:
    """(letter, or None for one that was not offered; whether its line announces it) of every match."""
    out = []
    for line in body.splitlines():
        announcing = _ANNOUNCED.search(line)
        for match in pattern.finditer(line):
            announced = announcing is not None and announcing.end() <= match.end()
            out.append((_label(match[1], labels, tie), announced))
    return out


def _bare(line: str) -> str:
    """A line without what surrounds a letter that stands alone on it."""
    bare = line.strip().strip("[](){}<>\"'.,:;!#- \t")
    return re.sub(rf"^{_NOUN}\s+(?=\S+$)", "", bare, flags=re.IGNORECASE)


def _agreed(verdicts: Sequence[tuple[str | None, bool]]) -> str | None:
    if len({label for label, _ in verdicts}) == 1:
        return verdicts[0][0]
    final = {label for label, announced in verdicts if announced}
    return verdicts[-1][0] if len(final) == 1 and verdicts[-1][1] else None


def _label(written: str, labels: Sequence[str], tie: bool) -> str | None:
    key = written.strip().casefold()
    if tie and key in {"tie", "draw"}:
        return labels[-1]
    return next((label for label in labels if label.casefold() == key), None)


def _own_words(text: str) -> str:
    """What the judge wrote itself: behind a repeated prompt, outside its marked blocks."""
    for ending in (ENDING, BRIEF_ENDING):
        if ending in text:
            text = text[text.rfind(ending) + len(ending) :]
    if START in text:
        # From the first mark to the last: a candidate's text may hold forged marks.
        end = text.rfind(END)
        tail = text[end:].partition("\n")[2] if end > text.rfind(START) else ""
        text = f"{text[: text.find(START)]}\n{tail}"
    return text
