"""Find the order and the verdict of a logged call in its prompt and reply.

Nothing is guessed. There are two answers between their own marks, or exactly one list that scores
are chosen from; otherwise the record is counted with its reason. It runs in the worker, because
strangers wrote the prompts.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from rubriclab.logs.log import gather
from rubriclab.logs.source import Record
from rubriclab.model.ending import lost_status
from rubriclab.model.study import MAX_TEXT, AnswerPart
from rubriclab.model.text import digest
from rubriclab.study.from_text import Listed, Span, asked_answer, score_lists, tie_label
from rubriclab.study.own_answers import read_answer

MOST_LISTS = 300
"""Lists of one log that are looked for word for word before a prompt is searched."""
FIRST, FIRST_SIGNS = 500, 20_000_000
"""Records, and signs of their prompts, that say which lists are the template's."""
Entries = tuple[tuple[str, str], ...]
_HEAD = re.compile(
    r"(?P<mark><|^\W{0,4}The Start of |^(?:#{1,6}|\*\*|\[{1,2})(?!The )[ \t]*)"
    r"(?P<whose>[\w \t(-]{0,40}?"
    r"(?:answer|response|output|assistant|candidate|model|option|text|summary|reply)"
    r"[\w \t(-]{0,20}?)"
    r"(?P<label>a|1)(?P<rest>>|(?!\w)[^\n]*\n)",
    re.M | re.I,
)
"""What begins the first of two answers in a prompt: a tag, FastChat's line, a heading."""
MOST_HEADS = 50


def log_task(file: str, name: str, result: str, siblings: Sequence[str]) -> dict[str, Any]:
    """The worker's task: see ``logs.log.gather``."""
    return gather(file, name, result, siblings, Exchanges().judgments)


class Pair(NamedTuple):
    """Where two answers stand in a prompt, and what stands for them there."""

    first: Span
    second: Span
    labels: tuple[str, str]


class Exchanges:
    """The exchanges of one log: an item is what a prompt holds beside its list (or its two
    answers).

    A template's list stands in several prompts, one of a text that is judged in one alone: where
    the first prompts share lists, only those count.
    """

    def __init__(self) -> None:
        self._items: dict[str, str] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}
        self._shared: set[Entries] = set()

    def judgments(self, records: Iterable[Record | str]) -> Iterator[Record | str]:
        """Each record with its kind and order, or why it has none."""
        stream = iter(records)
        first, size = list[Record | str](), 0
        for record in stream:
            first.append(record)
            size += len(text_of(record))
            if len(first) >= FIRST or size > FIRST_SIGNS:
                break
        prompts = {
            text
            for text in map(text_of, first)
            if 0 < len(text) <= MAX_TEXT and pair_in(text) is None
        }
        seen = Counter(entries for text in prompts for entries in {own for own, _ in _lists(text)})
        least = max(2.0, max(seen.values(), default=0) / 2)
        self._shared = {entries for entries, number in seen.items() if number >= least}
        yield from map(self._judgment, itertools.chain(first, stream))

    def _judgment(self, record: Record | str) -> Record | str:
        if isinstance(record, str) or record.kind:
            return record
        prompt = text_of(record)
        if not prompt.strip():
            return "it keeps no prompt"
        if len(prompt) > MAX_TEXT:
            return f"its prompt has more than {MAX_TEXT:,} signs"
        if not record.reply.strip() and not record.verdict:
            return "it keeps no reply"
        if lost := lost_status(record.finish):
            record = replace(record, cells=record.cells | {"status": lost})
        pair = pair_in(prompt)
        return self._scored(record, prompt) if pair is None else self._chosen(record, prompt, pair)

    def _item(self, *parts: str) -> str:
        return self._items.setdefault(digest(*parts), f"prompt {len(self._items) + 1:,}")

    def _chosen(self, record: Record, prompt: str, pair: Pair) -> Record | str:
        (start, middle), (second, end), shown = pair
        fixed = "\0".join([prompt[:start], prompt[middle:second], prompt[end:]])
        texts = [prompt[start:middle].strip(), prompt[second:end].strip()]
        if texts[0] == texts[1]:
            return "its two answers are the same text"
        labels = (*shown, *tie_label(fixed, "B"))
        choice = _answer(record, fixed, labels, chooses=True, tie=len(labels) > 2)
        # Named by their texts alone, so that the same two are the same in either order.
        names = {text: f"text {k}" for k, text in enumerate(sorted(texts, key=digest), 1)}
        cells = {
            "question_id": self._item(fixed, *sorted(texts)),
            "choice": "N" if choice is None else "ABC"[choice],
            "first": names[texts[0]],
            "second": names[texts[1]],
        }
        return replace(record, kind="pairs", cells=record.cells | cells)

    def _scored(self, record: Record, prompt: str) -> Record | str:
        block = next((block for block in self._blocks if prompt.count(block) == 1), None)
        if block is None:
            likely = [
                pair for pair in _lists(prompt) if not self._shared or pair[0] in self._shared
            ]
            if len(likely) != 1:
                several = "several lists of its prompt could be its scores'"
                return (
                    several
                    if likely
                    else "its prompt lists no scores and no two answers whose order could matter"
                )
            ((_, listed),) = likely
            block, labels = (
                prompt[slice(*listed.span)],
                tuple(label for label, _ in listed.entries(prompt)),
            )
            if len(self._blocks) < MOST_LISTS and self._shared:
                self._blocks[block] = labels
        labels = self._blocks.get(block) or labels
        fixed = prompt.replace(block, "\0", 1)
        score = _answer(record, fixed, labels)
        cells = {"ordering": " ".join(labels), "score": "" if score is None else labels[score]}
        return replace(
            record, kind="scores", cells=record.cells | cells | {"item_id": self._item(fixed)}
        )


def text_of(record: Record | str) -> str:
    """The messages of a record's prompt, one under the other; empty where its order stands
    elsewhere.
    """
    if isinstance(record, str) or record.kind:
        return ""
    return "\n".join(message["content"] for message in record.prompt)


def pair_in(prompt: str) -> Pair | None:
    """The two answers between marks of their own and what stands for them, where the prompt has one
    such pair.
    """
    pairs: list[Pair] = []
    for head in itertools.islice(_HEAD.finditer(prompt), MOST_HEADS):
        label = head["label"]
        again = head["mark"] + head["whose"] + chr(ord(label) + 1) + head["rest"]
        second = prompt.find(again, head.end())
        if second < 0:
            continue
        start, middle, end = second + len(again), second, -1
        if head["mark"] == "<" or "Start" in head["mark"]:
            closing = [
                text.replace("Start", "End") if "Start" in text else f"</{text[1:]}"
                for text in (head[0], again)
            ]
            middle, end = (
                prompt.find(closing[0].strip(), head.end(), second),
                prompt.find(closing[1].strip(), start),
            )
        else:
            end = prompt.find("\n" + head["mark"].strip(), start) % (len(prompt) + 1)
        if middle >= 0 and end >= 0:
            pairs.append(
                Pair(
                    (head.end(), middle), (start, end), (label.upper(), chr(ord(label) + 1).upper())
                )
            )
    if not pairs:
        return None
    inner = min(pairs, key=lambda pair: pair.first[1] - pair.first[0])
    # Marks within marks are one pair.
    around = [
        spans
        for pair in pairs
        for spans in ((pair.first, inner.first), (pair.second, inner.second))
    ]
    return inner if all(a[0] <= b[0] and b[1] <= a[1] for a, b in around) else None


def _lists(prompt: str) -> list[tuple[Entries, Listed]]:
    """The lists of a prompt that could be its scores', each with its labels and texts whatever
    their order.
    """
    return [(tuple(sorted(listed.entries(prompt))), listed) for listed in score_lists(prompt)]


def _answer(
    record: Record, fixed: str, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """The index of the label that the tool read, else that the reply gives in the form that the
    prompt asks for; none where the reply is not whole, whatever was read in it.
    """
    if lost_status(record.finish):
        return None
    if record.verdict in labels and not (
        chooses and record.verdict.isdigit()
    ):  # a pass is 1, and no candidate
        return list(labels).index(record.verdict)
    axis: Literal["pairs", "options"] = "pairs" if chooses else "options"
    asked = AnswerPart.model_validate(asked_answer(fixed, labels if chooses else (), axis))
    for rule in (asked, AnswerPart(read="label")):
        index = read_answer(record.reply, rule, labels, chooses=chooses, tie=tie)
        if index is not None:
            return index
    return None
