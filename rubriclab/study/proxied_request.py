"""A request to a chat endpoint as requests in several orders of what changes places in its prompt, or why it is
to be left alone. Bytes in, bytes out; the list is found as in a log's prompts (``datasets.logs.taken_apart``)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import Any, Literal

from rubriclab.datasets.listed import number
from rubriclab.datasets.logs import LOGS, Source, detect
from rubriclab.datasets.logs.exchange import Exchange, Messages, messages_in
from rubriclab.datasets.logs.log import Logged, Unread
from rubriclab.datasets.logs.prompted import LEARNT, ListReader, no_prompt
from rubriclab.datasets.logs.taken_apart import TakenApart, in_parts
from rubriclab.judges.bounded import load_json
from rubriclab.model import DataError, Strategy, StudyError, designs
from rubriclab.model.language import tr
from rubriclab.study.replay import NO_SCALE, SAME_TEXTS

MAX_PROMPT = 100_000
"""Signs of a prompt in which a list is looked for: some 25,000 tokens, beside which a rubric is lost."""
MAX_LINES = 2_000
MOST_ORDERS = 200
"""Calls that one request may become: all orders of five options are 120."""

NOT_JSON = "its body is no JSON object with messages"
STREAMED = "it asks for a streamed reply"
SEVERAL_REPLIES = "it asks for several replies"
TOOLS = "it has tools, whose calls are not put together"
SOUND = "it asks for a reply in sound"
NOT_TEXT = "a message of it is not one text"
ROLE = "a message of it is of another role than system, user and assistant"
LONG = f"its prompt has more than {MAX_PROMPT:,} signs or {MAX_LINES:,} lines"
THREE = "its list has three candidates or more"
OPEN_END = "its prompt alone does not say where its last option or response ends"
BLANK = "one of its two responses is empty"

Spec = int | Literal["balanced", "all", "fixed"]
"""Which orders: each entry at each place equally often; every one; so many; the prompt's own, once."""

_ROLES = ("system", "developer", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Untouched:
    """A request that is passed on as it came, and why."""

    why: str


@dataclass(frozen=True)
class Orders:
    """A request whose list was found.

    ``values``: of options what each entry of ``parts`` is worth, in the order that the prompt shows; empty for a
    pair. ``tie``: the label of a tie, "" where the prompt offers none. ``orders``: which entry (an index)
    stands at each place, one a call. ``coin``: even odds, the same for the same prompt in any order.
    """

    body: Mapping[str, Any]
    parts: TakenApart
    values: tuple[float, ...]
    tie: str
    orders: tuple[tuple[int, ...], ...]
    coin: bool

    @property
    def usual(self) -> tuple[int, ...]:
        """The order of the prompt itself."""
        return tuple(range(len(self.parts.entries)))

    @property
    def pair(self) -> bool:
        return not self.values

    def labels(self, order: Sequence[int]) -> tuple[tuple[str, ...], ...]:
        """What a reply to the prompt in that order may name at each place: labels, or the scores beside them."""
        if self.pair:  # labels stay while the responses change places
            return self.parts.answers
        return tuple(tuple(names[k] for k in order) for names in self.parts.answers)

    def asked(self, order: Sequence[int]) -> bytes:
        """The request's body with its entries in that order."""
        fixed, entries = self._written
        return fixed[0] + b"".join(entries[k] + after for k, after in zip(order, fixed[1:], strict=True))

    @cached_property
    def _written(self) -> tuple[list[bytes], list[bytes]]:
        """What is around the entries in the body's bytes, and the entries, as inside a text of JSON: it is written
        sign by sign, so parts can be written one by one, once for all orders."""
        mark = f"rubriclab {hashlib.sha256(repr(self.body).encode('utf-8', 'replace')).hexdigest()}"
        messages = list(self.body["messages"])
        messages[self.parts.at] = _with_text(messages[self.parts.at], mark)
        head, tail = json.dumps({**self.body, "messages": messages}).split(mark)
        fixed = [json.dumps(text)[1:-1] for text in self.parts.fixed]
        fixed[0], fixed[-1] = head + fixed[0], fixed[-1] + tail
        entries = [json.dumps(entry.text)[1:-1] for entry in self.parts.entries]
        return [text.encode() for text in fixed], [text.encode() for text in entries]


def learnt_from(source: Source) -> ListReader:
    """What a log's prompts have in common, by which the end of an open response is known.

    Raises DataError for no log that is known, and for one without prompts.
    """
    kind = detect(source)
    records = LOGS[kind].read(source) if kind is not None else iter(())
    prompts = (messages_in(one.prompt) for one in records if isinstance(one, Logged) and one.prompt)
    sample = list(islice(filter(None, prompts), LEARNT))
    if not sample:
        raise DataError(
            tr("“{name}” is no log with prompts that is known. rubriclab import --kinds lists them.", name=source.name)
        )
    return ListReader(sample)


def in_orders(body: bytes, spec: Spec = "balanced", learnt: ListReader | None = None) -> Orders | Untouched:
    """The request in the orders of ``spec``, or why it is passed on untouched.

    A function of the body and of ``learnt`` alone: what was asked before does not matter. Balanced orders where
    ``all`` are too many.
    """
    request = _request(body)
    if isinstance(request, Untouched):
        return request
    messages = _messages(request["messages"])
    if isinstance(messages, Untouched):
        return messages
    parts = _parts(messages, str(request.get("model") or ""), learnt)
    if isinstance(parts, Untouched):
        return parts
    values = _values(parts) if parts.logged.axis == "options" else ()
    key = _key(parts)
    orders = orders_of(spec, len(parts.entries), key, pair=not values)
    return Orders(request, parts, values, "" if values else _tie(parts), orders, bool(key % 2))


# ---------------------------------------------------------------- the request


def _request(body: bytes) -> dict[str, Any] | Untouched:
    try:
        request = load_json(body)
    except ValueError:
        return Untouched(NOT_JSON)
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list) or not request["messages"]:
        return Untouched(NOT_JSON)
    if request.get("stream"):
        return Untouched(STREAMED)
    if request.get("n") not in (None, 1):
        return Untouched(SEVERAL_REPLIES)
    if request.get("tools") or request.get("functions"):
        return Untouched(TOOLS)
    return Untouched(SOUND) if request.get("audio") or request.get("modalities") not in (None, ["text"]) else request


def _messages(listed: Sequence[Any]) -> Messages | Untouched:
    """(role, text) of each message, at the same index."""
    made = []
    for message in listed:
        text = _text(message.get("content")) if isinstance(message, dict) else None
        if text is None or message.get("tool_calls") or message.get("audio"):
            return Untouched(NOT_TEXT)
        role = message.get("role")
        if role not in _ROLES:
            return Untouched(ROLE)
        made.append(("system" if role == "developer" else role, text))
    return tuple(made)


def _text(content: Any) -> str | None:
    """A message's text, also where it is its only part; None for anything else."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        content = content[0].get("text") if content[0].get("type") == "text" else None
    return content if isinstance(content, str) else None


def _with_text(message: Mapping[str, Any], text: str) -> dict[str, Any]:
    if isinstance(message["content"], str):
        return {**message, "content": text}
    return {**message, "content": [{**message["content"][0], "text": text}]}


# ---------------------------------------------------------------- its list


def _parts(messages: Messages, model: str, learnt: ListReader | None) -> TakenApart | Untouched:
    why = no_prompt(messages)
    texts = [text for _, text in messages]
    if why is None and (sum(map(len, texts)) > MAX_PROMPT or sum(text.count("\n") for text in texts) > MAX_LINES):
        why = LONG
    if why is not None:
        return Untouched(why)
    reader = learnt if learnt is not None and _ends_known(learnt, messages) else ListReader([messages])
    shown = reader.shown(Exchange(1, messages, "", judge=model))
    parts = shown if isinstance(shown, Unread) else in_parts(shown, reader)
    if isinstance(parts, Unread):
        return Untouched(parts.why)
    why = _unfit(parts, messages)
    return Untouched(why) if why else parts


def _ends_known(learnt: ListReader, messages: Messages) -> bool:
    """Does the log say between which fixed texts this prompt's responses stand?"""
    form, found = learnt.listed(messages)
    return form is not None and bool(form.anchors) and found is not None and not found.open_end


def _unfit(parts: TakenApart, messages: Messages) -> str:
    """Why the list is not one whose entries may change places here, "" where it is."""
    if parts.logged.axis not in ("options", "pairwise"):
        return THREE
    texts = [entry.text for entry in parts.entries]
    if parts.messages != messages:
        return NOT_TEXT
    if parts.open_end:
        return OPEN_END
    if len(set(texts)) < len(texts):
        return SAME_TEXTS
    if not all(map(str.strip, texts)):
        return BLANK
    labels = {entry.label.strip().casefold() for entry in parts.entries}
    return "" if len(labels) == len(texts) and all(labels) else NO_SCALE


def _values(parts: TakenApart) -> tuple[float, ...]:
    """What each option is worth: its label where all labels are numbers, else its rank by the words."""
    labels = [number(entry.label) for entry in parts.entries]
    known = [value for value in labels if value is not None]
    return tuple(known) if len(known) == len(labels) else tuple(float(score) for score in parts.logged.shown)


_TIE_WORDS = ("tie", "Tie", "TIE", "draw", "equal")


def _tie(parts: TakenApart) -> str:
    """The label by which the prompt lets a reply say that neither is better."""
    if parts.offered:
        return parts.offered[0]
    around = "\n".join([*parts.fixed, *(text for k, (_, text) in enumerate(parts.messages) if k != parts.at)])
    marks = (('"', '"'), ("'", "'"), ("“", "”"), ("`", "`"), ("[[", "]]"), ("<", ">"))
    return next((word for word in _TIE_WORDS for a, b in marks if f"{a}{word}{b}" in around), "")


def _key(parts: TakenApart) -> int:
    """A number of the prompt's own, the same in whatever order it shows its entries."""
    others = [text for k, (_, text) in enumerate(parts.messages) if k != parts.at]
    whole = "\0".join([*others, *parts.fixed, *sorted(entry.text for entry in parts.entries)])
    return int.from_bytes(hashlib.sha256(whole.encode("utf-8", "replace")).digest()[:8], "big")


# ---------------------------------------------------------------- orders


def orders_of(spec: Spec, n: int, key: int, *, pair: bool) -> tuple[tuple[int, ...], ...]:
    """The orders of n entries, each an index by place; the prompt's own comes first wherever it is one of them.

    So many orders are rotations evenly apart, from one that ``key`` decides, each with its mirror image: over many
    prompts each entry is at each place equally often, and of one prompt a pull that grows along the list
    cancels out if their number is even. More than a balanced round begins it again.
    """
    own = tuple(range(n))
    if spec == "fixed":
        return (own,)
    whole = tuple(dict.fromkeys(designs.orderings(Strategy("balanced"), own, rotations_only=pair)))
    if spec == "all" and not pair:
        try:
            return designs.orderings(Strategy("all"), own)
        except StudyError:  # so many that they are not offered
            return whole
    if not isinstance(spec, int) or spec == len(whole):
        return whole
    chosen = list(islice(cycle(_mirrored(n, min(spec, len(whole)), key >> 1, pair=pair)), spec))
    return tuple(sorted(chosen, key=lambda order: order != own))


def _mirrored(n: int, k: int, start: int, *, pair: bool) -> list[tuple[int, ...]]:
    turned = designs.rotations(range(n))
    if pair:
        return [turned[(start + step) % 2] for step in range(k)]
    half = -(-k // 2)
    forward = [turned[(start + step * n // half) % n] for step in range(half)]
    return list(dict.fromkeys(order for one in forward for order in (one, one[::-1])))[:k]
