"""A judge card: read, held against its schema and its digest, and made into the lab's own words.

A card is one JSON object (``card.schema.json``, docs/card.md). Its digest is over everything else
in it: it tells that a card was changed, not who wrote it. Standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from rubriclab.apply.schema import fault_of
from rubriclab.judges.bounded import load_json
from rubriclab.model import Axis, Criterion, Judge, LabError, Rubric, Sampling, ScoreOption, canonical_json
from rubriclab.model.answers import check_rule
from rubriclab.model.prompt import AnswerRule, PromptMessage, PromptTemplate
from rubriclab.model.wording import many

FORMAT, VERSION = "rubriclab.judge-card", 1
MAX_BYTES = 4 * 2**20
SCHEMA = "card.schema.json"
RESERVED = ("messages", "model", "stream", "n")


class CardError(LabError):
    """A card that cannot be used; the message says why and what to do."""


class ItemError(LabError):
    """An item that the card's judge cannot be asked about."""


@dataclass(frozen=True)
class Cure:
    """One way to ask. ``orders``: what stands at each place, one a call (see docs/card.md).

    ``draw``: so many of them are drawn for each item, by its text; None asks all. ``disagree``: of
    pairs, what two swapped calls that differ amount to. ``correction``: of one call.
    """

    key: str
    title: str
    calls: float
    orders: tuple[tuple[int | str, ...], ...]
    draw: int | None
    disagree: str | None
    correction: Mapping[str, Any] | None


@dataclass(frozen=True)
class Card:
    """``reference``: “best”, a score, or None: which of an item's reference answers is shown.

    ``raw`` is the whole JSON object: what was measured is read from there.
    """

    axis: Axis
    judge: Judge
    probabilities: bool
    top_logprobs: int
    begun: str
    template: str
    own: PromptTemplate | None
    tie: bool
    reference: str | int | None
    rubric: Rubric | None
    scores: tuple[int, ...]
    criteria: tuple[str, ...]
    cures: tuple[Cure, ...]
    chosen: str
    raw: Mapping[str, Any]

    def cure(self, key: str | None = None) -> Cure:
        """The cure of that key; the card's own choice without one. Raises CardError for no such cure."""
        wanted = self.chosen if key is None else key
        for cure in self.cures:
            if cure.key == wanted:
                return cure
        raise CardError(f"The card has no cure “{wanted}”; it has {', '.join(cure.key for cure in self.cures)}.")


@lru_cache(maxsize=1)
def card_schema() -> Mapping[str, Any]:
    """The published schema."""
    schema: Mapping[str, Any] = json.loads(resources.files(__package__).joinpath(SCHEMA).read_text(encoding="utf-8"))
    return schema


def digest(value: Mapping[str, Any]) -> str:
    """sha256 over the canonical JSON of everything but the digest."""
    body = {key: part for key, part in value.items() if key != "digest"}
    return "sha256:" + hashlib.sha256(canonical_json(body).encode()).hexdigest()


def sealed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The card with its digest. Raises CardError where it is no card."""
    whole = {**value, "digest": digest(value)}
    card_of(whole)
    return whole


def dumped(value: Mapping[str, Any]) -> str:
    """A card as the text of its file."""
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read_card(source: str | Path | bytes | Mapping[str, Any]) -> Card:
    """The card in a file (by its path), in its bytes, or as JSON's values.

    Raises CardError: no such file, no JSON, not a card, of another version, changed, unusable.
    """
    if isinstance(source, Mapping):
        return card_of(source)
    if isinstance(source, bytes):
        content = source
    else:
        try:
            with Path(source).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as fault:
            raise CardError(f"The card {source} cannot be read: {fault.strerror or fault}.") from fault
        except ValueError as fault:  # a path with a zero byte
            raise CardError(f"The card {str(source)!r} cannot be read: {fault}.") from fault
    if len(content) > MAX_BYTES:
        raise CardError(f"The card has more than {MAX_BYTES // 2**20} MB: it is no judge card.")
    try:
        value = load_json(content)
    except ValueError as fault:
        raise CardError(f"The card is no JSON: {fault}.") from fault
    return card_of(value)


def card_of(value: Any) -> Card:
    """The card in JSON's values. Raises CardError saying what is wrong."""
    if not isinstance(value, Mapping) or value.get("format") != FORMAT:
        raise CardError("This is no judge card: it has no “format” that says so. Write one with “rubriclab card”.")
    version = value.get("version")
    if version != VERSION or isinstance(version, bool):
        raise CardError(
            f"The card is of version {str(version)[:40]}; this code reads version {VERSION}. "
            "Write the card anew with “rubriclab card”, or copy the code that belongs to it."
        )
    value = dict(value)
    if fault := fault_of(value, card_schema()):
        raise CardError(f"The card does not follow its schema: {fault}.")
    try:
        own = digest(value)
    except ValueError as half:
        raise CardError("The card has text with half a character in it, which no digest is of.") from half
    if own != value["digest"]:
        raise CardError(
            "The card was changed after it was written: its digest is that of other content. "
            "What was measured need not hold for it; write it anew with “rubriclab card”."
        )
    try:
        return _card(value)
    except CardError:
        raise
    except (LabError, ValueError) as reason:
        raise CardError(f"The card cannot be used: {reason}") from reason


def _card(value: dict[str, Any]) -> Card:
    prompt, judge = value["prompt"], value["judge"]
    card = Card(
        axis=value["axis"],
        judge=_judge(judge),
        probabilities=judge["probabilities"],
        top_logprobs=judge["top_logprobs"],
        begun=judge["begun"],
        template=prompt["template"],
        own=None if prompt["own"] is None else _own(prompt["own"]),
        tie=prompt["tie"],
        reference=prompt["reference"],
        rubric=None if value["rubric"] is None else _rubric(value["rubric"]),
        scores=tuple(value["scores"]),
        criteria=tuple(value["criteria"]),
        cures=tuple(_cure(cure) for cure in value["cures"]),
        chosen=value["cure"],
        raw=value,
    )
    card.cure()
    for cure in card.cures:
        _check_cure(card, cure)
    if card.axis != "pairwise" and card.rubric is None:
        raise CardError(f"A card of the axis “{card.axis}” needs a rubric.")
    return card


def _judge(value: Mapping[str, Any]) -> Judge:
    sampling = Sampling(**value["sampling"])
    if taken := [word for word in RESERVED if word in sampling.extra]:
        raise CardError(f"The judge's extra body sets {', '.join(taken)}, which a call sets itself.")
    served = value["served_model"]
    return Judge(
        name=value["name"],
        kind=value["kind"],
        model=value["model"],
        base_urls=tuple(value["base_urls"]),
        key_env=value["key_env"],
        sampling=sampling,
        options={} if served is None else {"served_model": served},
        timeout=value["timeout"],
    )


def _own(value: Mapping[str, Any]) -> PromptTemplate:
    rule = AnswerRule(**value["answer"])
    check_rule(rule)
    return PromptTemplate(
        value["name"], tuple(PromptMessage(part["role"], part["text"]) for part in value["messages"]), rule
    )


def _rubric(value: Mapping[str, Any]) -> Rubric:
    return Rubric(
        value["name"],
        tuple(
            Criterion(
                part["name"],
                tuple(ScoreOption(o["score"], o.get("description"), o.get("label")) for o in part["options"]),
                part.get("description", ""),
            )
            for part in value["criteria"]
        ),
    )


def _cure(value: Mapping[str, Any]) -> Cure:
    return Cure(
        key=value["key"],
        title=value["title"],
        calls=value["calls"],
        orders=tuple(tuple(order) for order in value["orders"]),
        draw=value["draw"],
        disagree=value["disagree"],
        correction=value["correction"],
    )


def _check_cure(card: Card, cure: Cure) -> None:
    """Raises CardError for a cure that could not be asked."""
    places: tuple[int | str, ...] = (1, 2)
    if card.axis != "pairwise":
        places = card.scores if card.axis == "options" else card.criteria
    for order in cure.orders:
        if sorted(map(str, order)) != sorted(map(str, places)):
            raise CardError(f"Cure “{cure.key}” has the order {list(order)}; expected each of {list(places)} once.")
    if cure.draw is not None and cure.draw > len(cure.orders):
        raise CardError(f"Cure “{cure.key}” draws {cure.draw} of {many(len(cure.orders), 'order')}.")
    if cure.disagree is not None and (card.axis != "pairwise" or len(cure.orders) != 2):
        raise CardError(f"Cure “{cure.key}” settles a disagreement, which two calls about a pair alone have.")
    correction = cure.correction
    if correction is None:
        return
    if len(cure.orders) != 1:
        raise CardError(f"Cure “{cure.key}” corrects {many(len(cure.orders), 'call')}; a correction is of one.")
    if "prior" in correction and len(correction["prior"]) != len(places):
        raise CardError(
            f"Cure “{cure.key}” has a prior of {many(len(correction['prior']), 'place')} for {len(places)}."
        )
    if "values" in correction and sorted(correction["values"]) != sorted(map(str, card.scores)):
        raise CardError(f"Cure “{cure.key}” corrects the scores {', '.join(correction['values'])} alone.")


def key_name(name: str) -> str:
    """A variable that may hold a key. Raises CardError for another one."""
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*_API_KEY", name):
        raise CardError(
            f"The card names {repr(name[:60]) if name.isidentifier() else 'no variable'} for its key; only variables "
            "that end in _API_KEY are taken from a card. "
            "Name the variable yourself: load(…, key_env=…)."
        )
    return name
