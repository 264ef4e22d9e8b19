"""What a log of judgments made elsewhere gives: one logged judgment a record, or why there is none."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rubriclab.datasets.logs.source import Source
from rubriclab.model import Axis
from rubriclab.model.language import figure, msg, tr


@dataclass(frozen=True, slots=True)
class Logged:
    """One logged judgment.

    ``line``: the record's number in the file, from 1. ``question``: what was judged, the same in every
    order. ``shown``: candidates, scores or criteria in shown order. ``chosen``: of comparisons and options,
    the place from 1, 0 a tie, None unread (it stays in the run as unparsed). ``scores``: of criteria, the
    score of each one shown. ``probabilities``: of each place; what is missing to 1 is a tie. A soft
    preference is one too. ``human``: one rating a rater. ``responses``: the candidates' answers as shown,
    or the one answer that was scored. ``asked``: when, as ISO 8601. ``order_from``: what says the order, in
    words that follow “order from”.
    """

    axis: Axis
    judge: str
    line: int
    question: str
    shown: tuple[str, ...]
    chosen: int | None = None
    scores: tuple[float | None, ...] = ()
    probabilities: tuple[float, ...] | None = None
    task: str = ""
    dataset: str = ""
    criterion: str = ""
    block: str = ""
    candidate: str = ""
    human: tuple[float, ...] = ()
    prompt: str = ""
    reply: str = ""
    instruction: str = ""
    responses: tuple[str, ...] = ()
    asked: str = ""
    order_from: str = msg("the file's own fields")


@dataclass(frozen=True, slots=True)
class Unread:
    """A record that gives no judgment, and why: in one of few sentences, so that they are counted by it."""

    line: int
    why: str


Records = Iterator[Logged | Unread]
Counted = Mapping[str, tuple[int, tuple[int, ...]]]
"""Of each reason why a record is left out, the commonest first: how many are, and the first of them."""


class Reasons:
    """Why records of a log are left out, counted."""

    FIRST = 3
    """Records that are named for each reason."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, list[int]] = {}

    def add(self, line: int, why: str) -> None:
        self._count[why] += 1
        first = self._first.setdefault(why, [])
        if len(first) < self.FIRST:
            first.append(line)

    @property
    def total(self) -> int:
        return self._count.total()

    def counted(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        return {why: (count, tuple(self._first[why])) for why, count in self._count.most_common()}

    def words(self) -> str:
        """The five commonest, for a message that nothing is left."""
        return "; ".join(f"{figure(n, ',')} x {tr(why)}" for why, n in self._count.most_common(5)) or tr(
            "it has no records"
        )


@dataclass(frozen=True)
class LogFormat:
    """A kind of log. ``title``: what a record is, for a form; ``fields``: by which it is known, for people.

    ``matches(source)`` looks at the beginning of a file only, and never at its name. ``read(source)``
    gives each record of the file in turn, judged or not, and raises DataError with its place where the
    file is broken.
    """

    title: str
    fields: str
    matches: Callable[[Source], bool]
    read: Callable[[Source], Records]


LONGEST_ID = 80


def question_of(text: str) -> str:
    """A short name for a text: itself, or its beginning with a hash where it is long."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_ID and line:
        return line
    return f"{line[: LONGEST_ID - 12]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def text_of(value: object) -> str:
    """A field that may be missing or null as text; whatever is no text as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
