"""The replies to one request in several orders as one chat completion in the same format (see ``proxied_request``).

Scores: the mean over orders; what is returned is a real reply, word for word, the one whose score is nearest to it.
Pairs: the verdict over both orders; where no reply says it in the request's own terms, the verdict in one of them is
replaced, nothing else, and that is said.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rubriclab.datasets.logs.replies import NOUN, Answered, answered
from rubriclab.judges.reading import MAX_TEXT, alternatives, token_of
from rubriclab.model.prompt import AnswerRule
from rubriclab.model.wording import many
from rubriclab.study.prompts.probabilities import label_probabilities
from rubriclab.study.proxied_request import Orders

ENOUGH = 0.8
"""Of the orders, as in a judge card: with more than a fifth unread, their mean is one over other orders."""
FIELD = "rubriclab"
SHORT = 40
"""Signs of a reply that is read once for all."""
_EVEN = 1e-9
_NOUN_BEFORE = re.compile(rf"\b{NOUN}[ \t_]+\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Read:
    """One reply to the request in ``order``.

    ``place``: that it names, from 1, 0 a tie, None where it is not read; ``at``: where in the text. ``value``: the
    score of its entry; of a pair the share of the first response, 0 to 1. ``chances``: of the entries (then of
    a tie) by index, summing to 1; ``mass``: of the tokens on which they fell.
    """

    order: tuple[int, ...]
    payload: Mapping[str, Any]
    text: str = ""
    at: Answered | None = None
    value: float | None = None
    chances: tuple[float, ...] | None = None
    mass: float = 0.0

    @property
    def place(self) -> int | None:
        return None if self.at is None else self.at.place


@dataclass(frozen=True)
class Result:
    """One reply made of several. ``about``: what was done, for the header and the body's own field; None in
    ``payload`` where no answer can be given: ``why`` says so."""

    payload: dict[str, Any] | None
    about: Mapping[str, Any]
    why: str = ""


def read(asked: Orders, order: tuple[int, ...], payload: Mapping[str, Any]) -> Read:
    """What one reply says; whatever it holds, it does not raise."""
    text = _content(payload)
    if text is None:
        return Read(order, payload)
    ties = (*_ties(asked),) if asked.pair else ()
    for names in asked.labels(order):
        look = _short_answer if len(text) <= SHORT else answered
        at = look(text, names, rule=asked.parts.rule, ties=ties)
        if at is not None:
            chances, mass = _chances(asked, order, payload, text, at, names)
            return Read(order, payload, text, at, _value(asked, order, at.place, chances), chances, mass)
    return Read(order, payload, text)


def undecided(asked: Orders, reads: Sequence[Read]) -> tuple[int, ...] | None:
    """The order in which a pair is to be asked once more: both orders disagree, the prompt offers no tie, and
    probabilities do not tell. By the prompt's coin, so that over many pairs neither place gains. None else."""
    known = [one for one in reads if one.value is not None]
    if not asked.pair or asked.tie or len(reads) < 2 or len(known) < len(reads):
        return None
    if _verdict(asked, known)[0] is not None:
        return None
    return asked.usual if asked.coin else asked.usual[::-1]


def combined(asked: Orders, reads: Sequence[Read], *, faults: int = 0) -> Result:
    """One completion of all reads. ``faults``: calls that brought no reply."""
    known = [one for one in reads if one.value is not None]
    about: dict[str, Any] = {"orders": len(reads) + faults, "read": len(known)}
    if faults:
        about["faults"] = faults
    if not known or len(known) < ENOUGH * (len(reads) + faults):
        why = f"{len(known)} of {len(reads) + faults} replies could be read"
        return Result(None, about, why)
    return _compared(asked, known, reads, about) if asked.pair else _scored(asked, known, reads, about)


@lru_cache(maxsize=1024)
def _short_answer(text: str, names: tuple[str, ...], *, rule: AnswerRule, ties: tuple[str, ...]) -> Answered | None:
    """Kept, since replies of a label alone come again and again."""
    return answered(text, names, rule=rule, ties=ties)


def as_it_came(payload: Mapping[str, Any], about: Mapping[str, Any], reads: Sequence[Read]) -> dict[str, Any]:
    """A reply without a change but for the sum of the calls and what was done."""
    return {**payload, **_usage(reads), FIELD: dict(about)}


# ---------------------------------------------------------------- one reply


def _content(payload: Mapping[str, Any]) -> str | None:
    """The text of a completion's only choice; None for a refusal, a call of a tool, or none."""
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict) or choice.get("finish_reason") == "content_filter":
        return None
    text = message.get("content")
    if not isinstance(text, str) or len(text) > MAX_TEXT or message.get("refusal") or message.get("tool_calls"):
        return None
    return text


def _ties(asked: Orders) -> tuple[str, ...]:
    """What a reply may say for a tie: only what the prompt offers, and the plain words for it."""
    return tuple(dict.fromkeys(filter(None, (asked.tie, "tie", "draw"))))


def _chances(
    asked: Orders, order: tuple[int, ...], payload: Mapping[str, Any], text: str, at: Answered, names: Sequence[str]
) -> tuple[tuple[float, ...] | None, float]:
    """The chances of the entries by index (and of a tie), from the alternatives at the answer's token."""
    logprobs = payload["choices"][0].get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    place = token_of(content, text, at.start, at.end) if isinstance(content, list) and content else None
    if place is None or at.compared or not isinstance(content, list):
        return None, 0.0
    pairs, usable = alternatives(content, place)
    every = (*names, asked.tie) if asked.pair and asked.tie else tuple(names)
    by_place, mass = label_probabilities(pairs, every) if usable else (None, 0.0)
    if by_place is None:
        return None, 0.0
    known = dict(zip(order, by_place, strict=False))
    return (*(known[k] for k in asked.usual), *by_place[len(order) :]), mass


def _value(asked: Orders, order: tuple[int, ...], place: int, chances: tuple[float, ...] | None) -> float:
    if asked.pair:
        return 0.5 if place == 0 else float(order[place - 1] == 0)
    if chances is None:
        return asked.values[order[place - 1]]
    return sum(value * chance for value, chance in zip(asked.values, chances, strict=True))


def _named(asked: Orders, one: Read) -> float:
    """The score that a reply names."""
    return asked.values[one.order[(one.place or 1) - 1]]


# ---------------------------------------------------------------- scores


def _scored(asked: Orders, known: Sequence[Read], reads: Sequence[Read], about: dict[str, Any]) -> Result:
    mean = statistics.fmean(one.value for one in known if one.value is not None)
    # Half-way between two scores, always the lower one or always the higher would be a bias of its own.
    chosen = min(
        known,
        key=lambda one: (
            round(abs(_named(asked, one) - mean), 9),
            _named(asked, one) * (1 if asked.coin else -1),
            one.order != asked.usual,
        ),
    )
    likely = sum(one.chances is not None for one in known)
    about["score"] = round(mean, 6)
    if likely:
        about["probabilities"] = likely
    about |= {"returned": _number(_named(asked, chosen)), "shown": _shown(asked, chosen)}
    about["reads"] = [_told(asked, one) for one in reads]
    payload = {**chosen.payload, **_usage(reads)}
    if any(one.chances for one in known):
        shares = [one.chances or _certain(asked, one) for one in known]
        payload["choices"] = [_with_chances(asked, chosen, chosen.at, known, _mean(shares))]
    return Result({**payload, FIELD: about}, about)


def _certain(asked: Orders, one: Read) -> tuple[float, ...]:
    """The chances of a reply without any: all on what it names."""
    size = len(asked.usual) + bool(asked.pair and asked.tie)
    entry = one.order[one.place - 1] if one.place else len(asked.usual)
    return tuple(float(k == entry) for k in range(size))


def _mean(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(statistics.fmean(column) for column in zip(*rows, strict=True))


def _told(asked: Orders, one: Read) -> dict[str, Any]:
    names = asked.parts.answers[0]
    told: dict[str, Any] = {"shown": [names[k] for k in one.order]}
    if asked.pair:
        told["shown"] = [f"response {k + 1}" for k in one.order]
        told["prefers"] = None if one.place is None else 0 if one.place == 0 else one.order[one.place - 1] + 1
    else:
        told["score"] = None if one.place is None else _number(_named(asked, one))
        if one.chances is not None and one.value is not None:
            told["expected"] = round(one.value, 6)
    if asked.pair and one.chances is not None:
        told["chances"] = [round(chance, 6) for chance in one.chances]
    return told


def _shown(asked: Orders, one: Read) -> str:
    """The order under which the returned reply was given."""
    return " ".join(asked.parts.answers[0][k] for k in one.order)


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value


# ---------------------------------------------------------------- pairs


def _compared(asked: Orders, known: Sequence[Read], reads: Sequence[Read], about: dict[str, Any]) -> Result:
    winner, how = _verdict(asked, known)
    share = statistics.fmean(one.value for one in known if one.value is not None)
    about |= {"share": round(share, 6), **({"disagree": how} if how else {})}
    if winner is None:
        about["reads"] = [_told(asked, one) for one in reads]
        return Result(None, about, "both orders disagree, and nothing tells which of them is right")
    names = asked.parts.answers[0]
    about |= {"prefers": winner, "returned": names[winner - 1] if winner else asked.tie or "tie"}
    real = next((one for one in known if _says(one, winner)), None)
    if real is not None:
        chosen, choice = real, dict(real.payload["choices"][0])
        spot = real.at
    else:
        chosen = next((one for one in known if _winner_of(one) == winner), known[0])
        edit = _edited(asked, chosen, winner)
        if edit is None:
            about["reads"] = [_told(asked, one) for one in reads]
            return Result(None, about, "the verdict of both orders could not be written into a reply")
        text, spot = edit
        choice = dict(chosen.payload["choices"][0])
        choice["message"] = {**choice["message"], "content": text}
        about["edited"] = True
    about |= {"shown": " ".join(f"response {k + 1}" for k in chosen.order)}
    about["reads"] = [_told(asked, one) for one in reads]
    if any(one.chances for one in known):
        shares = [one.chances or _certain(asked, one) for one in known]
        choice = _with_chances(asked, chosen, spot, known, _mean(shares), choice)
    return Result({**chosen.payload, **_usage(reads), "choices": [choice], FIELD: about}, about)


def _winner_of(one: Read) -> int:
    """The response that a reply prefers, from 1, 0 for a tie."""
    return one.order[one.place - 1] + 1 if one.place else 0


def _says(one: Read, winner: int) -> bool:
    """Does a reply give this verdict in the terms of the request's own order?"""
    return one.place == winner == 0 or (one.place == winner and _winner_of(one) == winner)


def _verdict(asked: Orders, known: Sequence[Read]) -> tuple[int | None, str]:
    """(1, 2, 0 for a tie or None for none, by what a disagreement was settled)."""
    share = statistics.fmean(one.value for one in known if one.value is not None)
    alike = len({_winner_of(one) for one in known}) == 1
    if abs(share - 0.5) > _EVEN:
        return (1 if share > 0.5 else 2), "" if alike else f"most of {many(len(known), 'reply')}"
    if alike:
        return 0, ""
    if asked.tie:
        return 0, "tie"
    leans = [_lean(one) for one in known]
    likely = [lean for lean in leans if lean is not None]
    if len(likely) == len(known) and abs(statistics.fmean(likely) - 0.5) > _EVEN:
        return (1 if statistics.fmean(likely) > 0.5 else 2), "probabilities"
    return None, "nothing"


def _lean(one: Read) -> float | None:
    """The chance of the first response among the two."""
    if one.chances is None or sum(one.chances[:2]) <= 0:
        return None
    return one.chances[0] / sum(one.chances[:2])


def _edited(asked: Orders, one: Read, winner: int) -> tuple[str, Answered] | None:
    """The reply with another verdict at the place of its own, and where that stands; None where it is not read so."""
    if one.at is None:
        return None
    names = tuple(_cased(name, one.text[one.at.start : one.at.end]) for name in asked.parts.answers[0])
    label = names[winner - 1] if winner else asked.tie
    start, end = one.at.start, one.at.end
    if winner == 0 and (noun := _NOUN_BEFORE.search(one.text, 0, start)) is not None:
        start = noun.start()  # “Assistant A” is a tie, and not “Assistant tie”
    for words in _written(one, names, label, winner):
        text = f"{one.text[:start]}{words}{one.text[end:]}"
        at = answered(text, names, rule=asked.parts.rule, ties=_ties(asked))
        if at is not None and at.place == winner and at.start <= start + len(words) and at.end >= start:
            return text, at
    return None


def _cased(label: str, words: str) -> str:
    """A letter in the case in which replies write it: of <response_a> a judge says “A”."""
    if len(label) != 1:
        return label
    return label.upper() if words.isupper() else label.lower() if words.islower() else label


def _written(one: Read, names: Sequence[str], label: str, winner: int) -> list[str]:
    """How the verdict may be written where another one stands."""
    if one.at is None:
        return []
    if one.at.compared:
        sign = re.sub(r"[^<>=]", "", one.text[one.at.start : one.at.end])
        strong = ">" * max(1, len(sign)) if sign[:1] in "<>" else ">"
        return [f"{names[winner - 1]}{strong}{names[2 - winner]}" if winner else f"{names[0]}={names[1]}"]
    if one.at.bare and not re.fullmatch(r"-?\d+", label):
        return [json.dumps(label), label]
    return [label] if label else []


# ---------------------------------------------------------------- probabilities


def _with_chances(
    asked: Orders,
    chosen: Read,
    spot: Answered | None,
    known: Sequence[Read],
    chances: Sequence[float],
    choice: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The choice with the mean chances of the labels at the token of its answer.

    Alternatives there that are no label are left out: they are another order's. The labels' chances add up to the mean
    mass that fell on labels.
    """
    choice = dict(choice or chosen.payload["choices"][0])
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    at = chosen.at
    place = token_of(content, chosen.text, at.start, at.end) if isinstance(content, list) and at is not None else None
    if place is None or spot is None or at is None or not isinstance(content, list) or not isinstance(logprobs, dict):
        return choice
    mass = statistics.fmean(one.mass if one.chances else 1.0 for one in known)
    words = chosen.text[at.start : at.end]
    names = [
        *(_cased(name, words) for name in asked.parts.answers[0]),
        *([asked.tie] if asked.pair and asked.tie else []),
    ]
    stated = choice["message"]["content"][spot.start : spot.end]
    entry = dict(content[place.token])
    listed = []
    for name, chance in sorted(zip(names, chances, strict=True), key=lambda pair: -pair[1]):
        if chance * mass > 0:
            token = f"{place.before}{name}{place.after}"
            listed.append({"token": token, "logprob": math.log(chance * mass), "bytes": list(token.encode())})
    if chosen.text != choice["message"]["content"]:
        token = f"{place.before}{stated}{place.after}"
        entry |= {"token": token, "bytes": list(token.encode(errors="replace"))}
    own = [one["logprob"] for one in listed if str(one["token"]).strip() == str(entry.get("token", "")).strip()]
    entry |= {"top_logprobs": listed, "logprob": own[0] if own else entry.get("logprob")}
    changed = [*content[: place.token], entry, *content[place.token + 1 :]]
    return {**choice, "logprobs": {**logprobs, "content": changed}}


# ---------------------------------------------------------------- tokens


def _usage(reads: Sequence[Read]) -> dict[str, Any]:
    """The sum of what all calls took, where they say it."""
    told = [one.payload.get("usage") for one in reads]
    counted = [usage for usage in told if isinstance(usage, dict)]
    return {"usage": _sum(counted)} if counted else {}


def _sum(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for name in dict.fromkeys(key for part in parts for key in part):
        values = [part[name] for part in parts if name in part]
        inner = [value for value in values if isinstance(value, dict)]
        figures = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        total[name] = _sum(inner) if inner else sum(figures) if figures else values[0]
    return total
