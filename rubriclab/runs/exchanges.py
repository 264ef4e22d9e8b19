"""What a logged judge was asked and answered in, a judgment out: the order shown and the answer are read in the prompt.

Nothing is guessed: two answers between marks of their own, or the one list that scores are chosen from; else the record
is counted with its reason. It runs in the worker, over prompts that others wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rubriclab.logs.log import gather
from rubriclab.logs.source import Record
from rubriclab.model.study import AnswerPart
from rubriclab.model.text import digest
from rubriclab.study.from_text import Span, asked_answer, lists_in
from rubriclab.study.own_answers import read_answer

MOST_LISTS = 300
"""Lists of one log that are looked for word for word before a prompt is searched."""
PAIRS = (
    r"<(?P<tag>\w*?)(?P<a>a|A|1)>(?P<first>.*?)</(?P=tag)(?P=a)>.*?<(?P=tag)(?P<b>b|B|2)>(?P<second>.*?)</(?P=tag)(?P=b)>",
    r"The Start of (?P<tag>[\w ]*?)(?P<a>A|1)\b[^\n]*\n(?P<first>.*?)\n[^\n]*The End of (?P=tag)(?P=a)\b.*?"
    r"The Start of (?P=tag)(?P<b>B|2)\b[^\n]*\n(?P<second>.*?)\n[^\n]*The End of (?P=tag)(?P=b)\b",
    r"^(?P<tag>(?:#+|\*\*|\[+)[ \t]*\w+[ \t(]*)(?P<a>a|A|1)(?P<close>[^\w\n]*)\n(?P<first>.*?)\n\s*"
    r"^(?P=tag)(?P<b>b|B|2)(?P=close)\n(?P<second>.*?)\s*(?=^(?:#|\*\*|\[)|\Z)",
)
"""How prompts mark two answers: tags, FastChat's lines, headings."""


def log_task(file: str, name: str, result: str, beside: Sequence[str]) -> dict[str, Any]:
    """The worker's task: see ``logs.log.gather``."""
    return gather(file, name, result, beside, Exchanges().judgment)


class Exchanges:
    """The exchanges of one log: an item is what a prompt holds beside its list (or its two answers)."""

    def __init__(self) -> None:
        self._items: dict[str, str] = {}
        self._lists: dict[str, tuple[str, ...]] = {}

    def judgment(self, record: Record) -> Record | str:
        """The record with its kind and order, or why it has none."""
        prompt = "\n".join(message["content"] for message in record.prompt)
        if not prompt.strip():
            return "it keeps no prompt"
        if not record.reply.strip() and not record.verdict:
            return "it keeps no reply"
        pair = _pair(prompt)
        return self._scored(record, prompt) if pair is None else self._chosen(record, prompt, pair)

    def _item(self, parts: Sequence[str]) -> str:
        return self._items.setdefault(digest(*parts), f"prompt {len(self._items) + 1:,}")

    def _chosen(self, record: Record, prompt: str, pair: re.Match[str]) -> Record | str:
        fixed = (
            prompt[: pair.start("first")]
            + prompt[pair.end("first") : pair.start("second")]
            + prompt[pair.end("second") :]
        )
        texts = [pair["first"].strip(), pair["second"].strip()]
        if texts[0] == texts[1]:
            return "its two answers are the same text"
        labels = (pair["a"].upper(), pair["b"].upper())
        tie = "C" if "[[C]]" in fixed else "tie" if re.search(r"\btie\b", fixed, re.I) else ""
        choice = _answer(record, fixed, (*labels, tie) if tie else labels, chooses=True, tie=bool(tie))
        # Named by their texts alone, so that the same two are the same in either order.
        names = {text: f"text {k}" for k, text in enumerate(sorted(texts, key=digest), 1)}
        cells = {"question_id": self._item([fixed, *sorted(texts)]), "choice": "N" if choice is None else "ABC"[choice]}
        shown = {"first": names[texts[0]], "second": names[texts[1]]}
        return replace(record, kind="pairs", cells=record.cells | cells | shown)

    def _scored(self, record: Record, prompt: str) -> Record | str:
        block = next((block for block in self._lists if prompt.count(block) == 1), None)
        if block is None:
            span = _options(prompt)
            if isinstance(span, str):
                return span
            (start, end), labels = span
            block = prompt[start:end]
            if len(self._lists) < MOST_LISTS:
                self._lists[block] = labels
        else:
            start, labels = prompt.index(block), self._lists[block]
        fixed = prompt[:start] + prompt[start + len(block) :]
        score = _answer(record, fixed, labels)
        given = "" if score is None else labels[score]
        cells = {"item_id": self._item([fixed]), "ordering": " ".join(labels), "score": given}
        return replace(record, kind="scores", cells=record.cells | cells)


def _pair(prompt: str) -> re.Match[str] | None:
    """The two answers between marks of one of PAIRS, where they stand once."""
    for pattern in PAIRS:
        pairs = list(re.finditer(pattern, prompt, re.S | re.M))
        if len(pairs) == 1:
            return pairs[0]
    return None


def _options(prompt: str) -> tuple[Span, tuple[str, ...]] | str:
    """(where the list of scores stands, its labels as shown); why there is none, or not one alone."""
    likely = [listed for listed in lists_in(prompt) if listed.points >= 2 and listed.kind == "number"]
    if len(likely) != 1:
        several = "several lists of its prompt could be its scores'"
        return several if likely else "its prompt lists no scores and no two answers whose order could matter"
    return likely[0].span, tuple(prompt[slice(*label)] for label in likely[0].labels)


def _answer(
    record: Record, fixed: str, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """The index of the label that the tool read, else that the reply gives in the form that the prompt asks for."""
    if record.verdict in labels:
        return list(labels).index(record.verdict)
    axis = "pairs" if chooses else "options"
    asked = AnswerPart.model_validate(asked_answer(fixed, labels if chooses else (), axis))
    for rule in (asked, AnswerPart(read="label")):
        index = read_answer(record.reply, rule, labels, chooses=chooses, tie=tie)
        if index is not None:
            return index
    return None
