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
"""Lists of one log that we remember and look for in a prompt before we search it: a search is slow.
"""
FIRST, FIRST_CHARACTERS = 500, 20_000_000
"""Records at the beginning, and characters of their prompts, that show which lists are shared.

They are held in memory, which is why both are limited.
"""
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
"""Such beginnings that are tried in one prompt: a hostile prompt may have thousands."""


def log_task(file: str, name: str, result: str, siblings: Sequence[str]) -> dict[str, Any]:
    """Do the worker's task: see ``logs.log.gather``."""
    return gather(file, name, result, siblings, Exchanges().judgments)


class Pair(NamedTuple):
    """Where two answers are in a prompt, and which labels it gives them."""

    first: Span
    second: Span
    labels: tuple[str, str]


class Exchanges:
    """The prompts and replies of one log.

    An item is a prompt without its list (or without the order of its two answers). A template's
    list is in several prompts; a list in a text that is judged is in one. Where the first prompts
    share lists, only those count as scores.
    """

    def __init__(self) -> None:
        self._items: dict[str, str] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}
        self._shared: set[Entries] = set()

    def judgments(self, records: Iterable[Record | str]) -> Iterator[Record | str]:
        """Yield each record with its kind and order, or why it has none."""
        stream = iter(records)
        first, size = list[Record | str](), 0
        for record in stream:
            first.append(record)
            size += len(text_of(record))
            if len(first) >= FIRST or size > FIRST_CHARACTERS:
                break
        self._shared = _shared_lists(first)
        for record in itertools.chain(first, stream):
            yield self._judgment(record)

    def _judgment(self, record: Record | str) -> Record | str:
        """Return the record with its kind and order, or why it has none."""
        if isinstance(record, str) or record.kind:
            return record
        prompt = text_of(record)
        if not prompt.strip():
            return "it keeps no prompt"
        if len(prompt) > MAX_TEXT:
            return f"its prompt has more than {MAX_TEXT:,} characters"
        if not record.reply.strip() and not record.verdict:
            return "it keeps no reply"
        if lost := lost_status(record.finish):
            record = replace(record, cells=record.cells | {"status": lost})
        pair = pair_in(prompt)
        if pair is None:
            return self._scored(record, prompt)
        return self._chosen(record, prompt, pair)

    def _item(self, *parts: str) -> str:
        """Return the name of the item with these texts, the same for the same texts."""
        return self._items.setdefault(digest(*parts), f"prompt {len(self._items) + 1:,}")

    def _chosen(self, record: Record, prompt: str, pair: Pair) -> Record | str:
        """Return the choice between two answers, or why the record is not one."""
        (start, middle), (second, end), shown = pair
        fixed = "\0".join([prompt[:start], prompt[middle:second], prompt[end:]])
        texts = [prompt[start:middle].strip(), prompt[second:end].strip()]
        if texts[0] == texts[1]:
            return "its two answers are the same text"
        labels = (*shown, *tie_label(fixed, "B"))
        choice = _answer(record, fixed, labels, chooses=True, tie=len(labels) > 2)
        # Number the answers by their texts, so that both orders give them the same names.
        names = {text: f"text {k}" for k, text in enumerate(sorted(texts, key=digest), 1)}
        cells = {
            "question_id": self._item(fixed, *sorted(texts)),
            "choice": "N" if choice is None else "ABC"[choice],
            "first": names[texts[0]],
            "second": names[texts[1]],
        }
        return replace(record, kind="pairs", cells=record.cells | cells)

    def _scored(self, record: Record, prompt: str) -> Record | str:
        """Return the score from the prompt's list, or why the record has none."""
        found = self._known_list(prompt) or self._searched_list(prompt)
        if isinstance(found, str):
            return found
        block, labels = found
        fixed = prompt.replace(block, "\0", 1)
        score = _answer(record, fixed, labels)
        cells = {
            "ordering": " ".join(labels),
            "score": "" if score is None else labels[score],
            "item_id": self._item(fixed),
        }
        return replace(record, kind="scores", cells=record.cells | cells)

    def _known_list(self, prompt: str) -> tuple[str, tuple[str, ...]] | None:
        """Return (text, labels) of a known list that the prompt has exactly once."""
        for block, labels in self._blocks.items():
            if prompt.count(block) == 1:
                return block, labels
        return None

    def _searched_list(self, prompt: str) -> tuple[str, tuple[str, ...]] | str:
        """Return (text, labels) of the one list that can be the scores, or why there is not one."""
        likely = []
        for entries, listed in _lists(prompt):
            if not self._shared or entries in self._shared:
                likely.append(listed)
        if not likely:
            return "its prompt lists no scores and no two answers whose order could matter"
        if len(likely) > 1:
            return "several lists of its prompt could be its scores"
        block = prompt[slice(*likely[0].span)]
        labels = tuple(label for label, _ in likely[0].entries(prompt))
        if len(self._blocks) < MOST_LISTS and self._shared:
            self._blocks[block] = labels
        return block, labels


def _shared_lists(records: Sequence[Record | str]) -> set[Entries]:
    """Return the lists of the template: those in at least half as many prompts as the commonest.

    A list in only one prompt is never shared. The same list in another order is the same.
    """
    seen = Counter[Entries]()
    for text in {text_of(record) for record in records}:
        if 0 < len(text) <= MAX_TEXT and pair_in(text) is None:
            seen.update({entries for entries, _ in _lists(text)})
    least = max(2.0, max(seen.values(), default=0) / 2)
    return {entries for entries, number in seen.items() if number >= least}


def text_of(record: Record | str) -> str:
    """Return the messages of a record's prompt, joined; "" where a field already has the order."""
    if isinstance(record, str) or record.kind:
        return ""
    return "\n".join(message["content"] for message in record.prompt)


def pair_in(prompt: str) -> Pair | None:
    """Return the two answers between their marks and their labels; None unless there is one pair.

    Marks inside marks count as one pair, the inner one.
    """
    found = []
    for head in itertools.islice(_HEAD.finditer(prompt), MOST_HEADS):
        pair = _pair_from(prompt, head)
        if pair is not None:
            found.append(pair)
    if not found:
        return None
    inner = min(found, key=lambda pair: pair.first[1] - pair.first[0])
    for pair in found:
        if not (_holds(pair.first, inner.first) and _holds(pair.second, inner.second)):
            return None
    return inner


def _pair_from(prompt: str, head: re.Match[str]) -> Pair | None:
    """Return the pair whose first answer this mark begins; None if the second or an end is missing.

    The mark of the second answer is the same with the next label.
    """
    label, following = head["label"], chr(ord(head["label"]) + 1)
    mark = head["mark"] + head["whose"] + following + head["rest"]
    middle = prompt.find(mark, head.end())
    if middle < 0:
        return None
    start = middle + len(mark)
    if head["mark"] == "<" or "Start" in head["mark"]:
        # The first answer ends at its own closing mark, which comes before the second begins.
        middle = prompt.find(_closing(head[0]), head.end(), middle)
        end = prompt.find(_closing(mark), start)
        if middle < 0 or end < 0:
            return None
    else:
        # A heading ends where the next one of its kind begins, or at the end of the prompt.
        end = prompt.find("\n" + head["mark"].strip(), start)
        if end < 0:
            end = len(prompt)
    return Pair((head.end(), middle), (start, end), (label.upper(), following.upper()))


def _closing(mark: str) -> str:
    """Return the mark that ends what this one begins: “The End of …” or “</…>”."""
    closing = mark.replace("Start", "End") if "Start" in mark else f"</{mark[1:]}"
    return closing.strip()


def _holds(outer: Span, inner: Span) -> bool:
    """Return whether one span is within the other."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _lists(prompt: str) -> list[tuple[Entries, Listed]]:
    """Return the lists of a prompt that could be its scores, each with its entries sorted.

    Sorted entries are equal for the same list in another order.
    """
    return [(tuple(sorted(listed.entries(prompt))), listed) for listed in score_lists(prompt)]


def _answer(
    record: Record, fixed: str, labels: Sequence[str], *, chooses: bool = False, tie: bool = False
) -> int | None:
    """Return the index of the label that the reply gives; None if it gives none or was cut off.

    What the tool itself parsed counts first, then the form that the prompt asks for, then a bare
    label.
    """
    if lost_status(record.finish):
        return None
    # Where answers are compared, a verdict of 1 may mean “passed” rather than answer 1.
    ambiguous = chooses and record.verdict.isdigit()
    if record.verdict in labels and not ambiguous:
        return list(labels).index(record.verdict)
    axis: Literal["pairs", "options"] = "pairs" if chooses else "options"
    asked = AnswerPart.model_validate(asked_answer(fixed, labels if chooses else (), axis))
    for rule in (asked, AnswerPart(read="label")):
        index = read_answer(record.reply, rule, labels, chooses=chooses, tie=tie)
        if index is not None:
            return index
    return None
