"""Define what a study asks and what comes back: conditions, orderings, calls, replies, judgments.

The table is what every number starts from, whether a run made it, a file brought it or the store
kept it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import IntEnum
from itertools import pairwise
from statistics import median
from typing import Any, Literal

import pandas as pd

from rubriclab.model.constraint import Constraint
from rubriclab.model.looks import RunLooks

Reorder = Literal["options", "criteria", "responses", "pairs", "lists", "bare", "examples"]
"""What a call lists in an order of its own: score options, criteria, several answers to score, two
answers or a list of them to choose from; examples (or passages) shown before the answer; or nothing
(a bare score).
"""
RULES = 2
"""The version of the rules by which verdicts are decided; raise it whenever a verdict may change.

Runs, results, cards and limits for CI carry it. Verdicts of a stored run are computed again from
its judgments, so only what was handed out (a card, a limit) can be of older rules. What carries no
version was made under rules 1.
"""


class Status(IntEnum):
    """How a call ended. A failure is a row like any other; only ``OK`` has a score."""

    OK = 0
    UNPARSED = 1
    REFUSED = 2
    TRUNCATED = 3
    ERROR = 4


@dataclass(frozen=True, slots=True)
class Ordering:
    """What one order shows.

    shown[p]: the score (or criterion) at position p + 1. ``labels[p]``: its label there.
    """

    shown: tuple[int | str, ...]
    labels: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What people know each entry by: its label, or where some have none, what it is."""
        return self.labels if all(self.labels) else tuple(map(str, self.shown))


def order_text(shown: Sequence[Any]) -> str:
    """Return an order as files have it: ``3 1 2`` for scores, ``Clarity|Depth`` for criteria."""
    if all(isinstance(part, int | float) for part in shown):
        return " ".join(f"{part:g}" for part in shown)
    return "|".join(map(str, shown))


def step_of(scores: Sequence[float]) -> float:
    """Return one step of an ascending scale, in points; 1 where there are none.

    It is the median distance of neighbouring scores.
    """
    return float(median(b - a for a, b in pairwise(scores))) if len(scores) > 1 else 1.0


def level_text(level: Any) -> str:
    """Return a level of a factor, or what a row is about, as people read it: “0.5”, “letters”."""
    return (
        f"{level:g}"
        if isinstance(level, int | float) and not isinstance(level, bool)
        else str(level)
    )


def variant_text(variant: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """Return the factors of a variant that differ from the baseline's ``own``: “ids = letters”.

    Empty where none does.
    """
    return ", ".join(
        f"{key} = {level_text(level)}" for key, level in variant.items() if level != own.get(key)
    )


@dataclass(frozen=True)
class Condition:
    """Judge x data set x strategy x variant: what one arm of the results is about.

    ``scores``: the scale, ascending; ``targets``: the criteria that one call scores (empty for
    score options); ``positions``: how many options or criteria a list shows; ``drawn``: orders were
    drawn at random for each item; ``packed``: those of one repeat shared a request. ``constrain``:
    how the server held replies to the labels. ``labels``: of examples, the score that each is
    labelled with, in the default order (1 and 0 for passages that hold the answer or not); empty
    where they have none, or all have the same. ``passages``: the examples are passages, of which
    some hold the answer.
    """

    judge: str
    dataset: str
    strategy: str
    reorder: Reorder = "options"
    scores: tuple[float, ...] = ()
    targets: tuple[str, ...] = ()
    positions: int = 0
    variant: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = False
    simulated: bool = False
    packed: bool = False
    constrain: Constraint = "free"
    labels: tuple[float, ...] = ()
    passages: bool = False

    def document(self) -> dict[str, Any]:
        """Return the condition as it is kept.

        A field of later versions appears only where it is used, so that older documents stay the
        same.
        """
        body = asdict(self)
        if self.constrain == "free":
            del body["constrain"]
        if self.reorder != "examples":
            del body["labels"], body["passages"]
        return body

    @property
    def scope(self) -> tuple[str, str]:
        """The data set (by name) and what is reordered. Looks are planned for each."""
        return self.dataset, self.reorder

    @property
    def setting(self) -> tuple[Any, ...]:
        """What conditions share that differ only in their orders: each may be another's control."""
        return (
            self.judge,
            self.dataset,
            self.reorder,
            self.variant_key,
            self.scores,
            self.targets,
            self.positions,
            self.labels,
            self.passages,
        )

    @property
    def chooses(self) -> bool:
        """Return whether a call chooses between candidates: it has a position and no score then."""
        return self.reorder in ("pairs", "lists")

    @property
    def joint(self) -> bool:
        """Return whether a call scores several items: criteria of a text, or several answers."""
        return self.reorder in ("criteria", "responses") and not self.asked_alone

    @property
    def in_points(self) -> bool:
        """Return whether a position leans in points of the score, not in a share of choices."""
        return self.joint or self.reorder == "examples"

    @property
    def asked_alone(self) -> bool:
        """Return whether a call scores one criterion or answer of several by itself: the others
        are in calls of their own, to compare with all in one call.
        """
        return self.reorder in ("criteria", "responses") and self.positions == 1

    @property
    def criterion_alone(self) -> bool:
        """Return whether a call scores one criterion by itself. Such calls list nothing, and are
        only there to be compared with calls about all criteria.
        """
        return self.reorder == "criteria" and self.asked_alone

    @property
    def variant_key(self) -> tuple[tuple[str, str], ...]:
        """The variant as something to compare and to sort by."""
        return tuple(sorted((str(key), str(value)) for key, value in self.variant.items()))


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a judge.

    ``items``: codes into the run's items: one, or one a criterion in canonical order. ``scores``:
    the scale. ``key``: sha256 over judge identity, sampling, template, messages, seed and repeat.
    ``extra``: further fields of the request, where the judge's own are varied; ``form``: what a
    reply to a prompt of the user's own looks like, with U+E000 in place of the label (of criteria
    the signs from it on). ``pack``: may it go out in one request with the other orders of its
    condition (``packed``, ``reversed``), or empty. ``labels``: all that a reply may be where it is
    one label alone, in an order of their own. ``sampled``: where its reply is constrained, one
    token is asked for free as well. ``scale``: the label of each of ``scores``, where examples are
    what is listed.
    """

    key: str
    condition: int
    items: tuple[int, ...]
    ordering: Ordering
    repeat: int
    messages: tuple[Mapping[str, str], ...]
    template: str
    scores: tuple[int, ...]
    max_tokens: int
    temperature: float | None = 0.0
    reasoning_effort: str | None = None
    seed: int | None = None
    extra: Mapping[str, Any] | None = None
    form: str = ""
    pack: str = ""
    labels: tuple[str, ...] = ()
    constrain: Constraint = "free"
    sampled: bool = False
    scale: tuple[str, ...] = ()

    @property
    def scored(self) -> Ordering:
        """The scores that a reply may give, with their labels: those listed, or the scale where
        examples are listed.
        """
        return Ordering(self.scores, self.scale) if self.scale else self.ordering

    @property
    def prompt(self) -> str:
        """All its messages as one text, with what the answer is begun with."""
        return "\n".join(message["content"] for message in self.messages)

    @property
    def begun(self) -> str:
        """The words that the judge's answer is begun with, or empty."""
        last = self.messages[-1] if self.messages else {}
        return last["content"] if last.get("role") == "assistant" else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, or why nothing did; not parsed yet.

    ``top``: (token, log-probability) pairs at the first answer token; ``free_top``: those of the
    token that came when a constrained call was also asked without its constraint. ``thought``:
    reasoning came beside the text. ``kind``: of an error, a word of ``judges/faults.py``;
    ``retryable``: asking again can help; ``retry_after``: seconds the server asked for.
    """

    text: str = ""
    finish: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None
    seconds: float = 0.0
    top: tuple[tuple[str, float], ...] = ()
    model: str | None = None
    error: str = ""
    kind: str = ""
    retryable: bool = False
    retry_after: float | None = None
    attempt: int = 1
    note: str = ""
    free_top: tuple[tuple[str, float], ...] = ()
    thought: bool = False

    def noted(self, *notes: str) -> "Reply":
        """Return the reply with these notes behind its own; empty ones are left out."""
        if not any(notes):
            return self
        parts = filter(None, [self.note, *notes])
        return replace(self, note="; ".join(dict.fromkeys(parts)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one item got out of a reply.

    ``position``: from 1, where the chosen option (or the scored criterion) stood; None where
    nothing was parsed and options are reordered. ``p``: probability of the option at each position;
    ``mass``: what fell on labels at all, of a constrained call without its constraint, where that
    is known. ``why``: of one without a score, the reason in at most 120 characters, the same words
    for every reply of that kind; ``form``: of a score, the form of words that gave it; ``reader``:
    the version of the reader, None where it is not known.
    """

    item: int
    slot: int
    status: Status
    score: float | None = None
    position: int | None = None
    expected: float | None = None
    mass: float | None = None
    p: tuple[float, ...] | None = None
    why: str = ""
    form: str = ""
    reader: int | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """One call with its reply and outcomes: what the store keeps."""

    call: Call
    reply: Reply
    outcomes: tuple[Outcome, ...]

    @property
    def status(self) -> Status:
        """The call's own: OK where any outcome was parsed."""
        return min(outcome.status for outcome in self.outcomes)


TIED = "its two best labels tie exactly"
FOLDED = "the system message was sent inside the user's"
UNBEGUN = "asked without the begun answer"
LOWERED = "max_tokens was brought down"
BROKEN = "the reply breaks the constraint"
NOTED = (TIED, FOLDED, UNBEGUN, LOWERED, BROKEN)
"""Notes on calls that results count (``JudgmentTable.notes``): what a reader of their numbers has
to know.
"""

ITEM_COLUMNS = (
    "item_id",
    "dataset",
    "criterion",
    "block",
    "prompt",
    "candidate",
    "task",
    "ratings",
)
JUDGMENT_COLUMNS = (
    "condition",
    "item",
    "ordering",
    "slot",
    "repeat",
    "call",
    "status",
    "score",
    "position",
    "expected",
    "mass",
)


LENGTHS = ("input_length", "output_length", "prompt_length")
"""Columns of comparisons: characters of the question, of all answers together, and of the whole
prompt; an import may count tokens instead."""


@dataclass(frozen=True, slots=True)
class TokensOfCalls:
    """What a server counted of a condition's calls: how many calls it counted, and their tokens."""

    calls: int
    tokens_in: int
    tokens_out: int

    @property
    def of_a_call(self) -> float:
        """Tokens in and out of one call, on average."""
        return (self.tokens_in + self.tokens_out) / self.calls


@dataclass(frozen=True)
class JudgmentTable:
    """A run's judgments as columns.

    ``items``: one row an item, its index the item's code: ITEM_COLUMNS (``ratings``: dict rater ->
    score, may be empty), and ``unit_text``: a hash of the text that names the item in other runs.
    Of pairs and lists an item is one comparison: ``prompt`` its question, ``candidate`` the names
    of its candidates, sorted, joined with “|”, and a rating says whom a person prefers: the 1-based
    rank of that name, 0 a tie; LENGTHS, where they are known. ``orderings[k]``: what ordering k
    shows. ``rows``: JUDGMENT_COLUMNS, one row a judgment about one item, sorted by condition and
    call: codes into conditions, items, orderings; ``position`` from 1 (0: none), ``status`` of
    Status, ``score``, ``expected``, ``mass`` NaN where unknown; of pairs ``expected`` is a soft
    preference, 1 for the first. ``probabilities``: (rows, positions) or None. ``planned``: calls by
    condition. ``calls``: of a log what is known of each (call, condition, status, ``text`` its
    reply, ``prompt`` its messages as JSON), or None. ``notes``: (condition, one of NOTED) -> calls
    that have it.
    ``looks``: when the run was to be looked at; None if only at its end.
    ``tokens``: by condition, where a server counted them.
    """

    run: str
    name: str
    conditions: tuple[Condition, ...]
    items: pd.DataFrame
    orderings: tuple[Ordering, ...]
    rows: pd.DataFrame
    planned: tuple[int, ...] = ()
    probabilities: Any = None
    state: str = "finished"
    made_with: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    calls: pd.DataFrame | None = None
    notes: Mapping[tuple[int, str], int] = field(default_factory=dict)
    looks: RunLooks | None = None
    tokens: Mapping[int, TokensOfCalls] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return any(condition.simulated for condition in self.conditions)


def count_notes(given: Iterable[tuple[Any, ...]]) -> dict[tuple[int, str], int]:
    """Return how many calls of each condition have each of NOTED.

    ``given``: (condition, note of a call, calls with it).
    """
    counted: dict[tuple[int, str], int] = {}
    for condition, note, calls in given:
        for known in NOTED:
            if isinstance(note, str) and known in note:
                key = int(condition), known
                counted[key] = counted.get(key, 0) + int(calls)
    return counted
