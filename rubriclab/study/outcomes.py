"""Turn a reply into an outcome for each item of its call: a score, a choice, or why there is none.

An outcome also holds the position, and the probabilities of the labels if the server gives them.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rubriclab.model.constraint import constrained_label
from rubriclab.model.ending import ending_of, why_not_whole
from rubriclab.model.judgment import (
    UNBEGUN,
    Call,
    Condition,
    Ordering,
    Outcome,
    Reply,
    Status,
    level_text,
)
from rubriclab.model.study import AnswerPart
from rubriclab.study.labels import letters
from rubriclab.study.own_answers import answer_reading, answer_readings
from rubriclab.study.own_words import looks_refused
from rubriclab.study.prompts import answer_rule
from rubriclab.study.reading import READER, Reading

REFUSED = "the judge declines"
"""Why there is no score in a reply that refuses to judge."""
MOST_TEXT = 10_000
"""Characters, from its end, of a reply that was cut but may still be parsed."""
WORD, LINE = r"\S*\Z", r"[^\n]*\Z"
"""The last word and the last line of a text."""


def outcomes(
    call: Call,
    reply: Reply,
    condition: Condition,
    *,
    tie: bool,
    rule: AnswerPart | None = None,
    reports_free: bool = False,
) -> tuple[Outcome, ...]:
    """Return what a reply says about each item of its call. It never raises for what a judge wrote.

    ``tie``: whether a tie is allowed. ``rule``: how replies to a user's own prompt are parsed.
    ``reports_free``: whether a constrained reply itself reports the probabilities without the
    constraint, so that no call for a free token was made.
    """
    if UNBEGUN in reply.note and call.begun:  # the server did not continue the begun reply
        call = replace(call, messages=call.messages[:-1])
    given = _outcomes(call, as_constrained(call, reply), condition, tie=tie, rule=rule)
    given = tuple(replace(outcome, reader=READER) for outcome in given)
    if call.constrain == "free" or reports_free:
        return given
    mass = label_probabilities(reply.free_top, call.labels)[1] if reply.free_top else None
    return tuple(replace(outcome, mass=mass) for outcome in given)


def described(call: Call, given: Sequence[Outcome]) -> dict[str, str]:
    """Return the status of a call's outcomes and the parsed values, as texts."""
    read = []
    for outcome in given:
        value: Any = outcome.score
        if value is None and outcome.position:
            value = call.ordering.shown[outcome.position - 1]
        read.append("nothing" if value is None else level_text(value))
    status = min(outcome.status for outcome in given)
    return {"status": status.name.lower(), "read": ", ".join(read)}


def breaks_constraint(call: Call, reply: Reply) -> bool:
    """Return whether a complete reply is not one of the labels that it was constrained to."""
    if not _was_constrained(call, reply):
        return False
    return constrained_label(reply.text, call.constrain, call.labels, call.begun) is None


def as_constrained(call: Call, reply: Reply) -> Reply:
    """Return a constrained reply with its label as the text, or none if it breaks its constraint.

    A server that ignores the constraint (for example another one behind a router) is in effect
    another judge. Its replies are not parsed as if they had been constrained.
    """
    if not _was_constrained(call, reply):
        return reply
    label = constrained_label(reply.text, call.constrain, call.labels, call.begun)
    return replace(reply, text=label or "")


def _was_constrained(call: Call, reply: Reply) -> bool:
    """Return whether a reply is complete and was constrained to its labels.

    An incomplete reply has another reason for being unparsed.
    """
    if call.constrain == "free" or reply.error:
        return False
    return ending_of(reply.finish) == "whole"


def _outcomes(
    call: Call, reply: Reply, condition: Condition, *, tie: bool, rule: AnswerPart | None
) -> tuple[Outcome, ...]:
    if condition.chooses:
        return choice_outcomes(call, reply, tie=tie, rule=rule)
    if condition.joint or condition.reorder == "criteria":
        return joint_outcomes(
            call, reply, condition.targets or sorted(map(str, call.ordering.shown)), rule
        )
    if condition.reorder == "options":
        return option_outcomes(call, reply, rule)
    if condition.reorder == "examples":  # a score has no place among the examples
        call = replace(call, ordering=call.scored)
    # An answer that is asked about alone, to compare with a batch, is at position 1 of 1. A score
    # without a list has no position.
    position = 1 if condition.reorder == "responses" else None
    if condition.reorder == "responses":  # answers are ordered, so the labels are the scores
        call = replace(call, ordering=Ordering(call.scores, tuple(map(str, call.scores))))
    return tuple(
        replace(outcome, position=position, p=None)
        for outcome in option_outcomes(call, reply, rule)
    )


def option_outcomes(
    call: Call, reply: Reply, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """Return the one outcome of a call about one item; ``call.ordering`` shows scores.

    The score comes from the text of the reply. ``p`` and ``expected`` come from the alternatives to
    its first token, if the server gives them and they can be distinguished.
    """
    labels = call.ordering.labels
    # A decision endpoint names one option and gives the probability of each: nothing is guessed.
    decided = call.template.startswith("decision-")
    shares = stated if decided else label_probabilities
    p, mass = shares(reply.top, labels) if reply.top else (None, None)
    status, text, why = _said(call, reply, WORD)
    whole = status is None or not text[-1:].isalnum()  # “4 or 5” may have been cut after its 4
    if decided:
        reading = Reading(text if text in labels else None, form="decision")
    elif not text or not whole:
        reading = Reading(None)
    else:
        reading = answer_reading(text, rule or answer_rule(call.template), labels)
    if reading.label is None:
        return (_without_score(call.items[0], 0, status, why, reply, reading, mass=mass),)
    position = labels.index(reading.label)
    scores = [float(score) for score in call.ordering.shown]
    expected = None
    if p is not None:
        expected = sum(score * share for score, share in zip(scores, p, strict=True))
    return (
        Outcome(
            call.items[0],
            0,
            Status.OK,
            scores[position],
            position + 1,
            expected,
            mass,
            p,
            form=reading.form,
        ),
    )


def joint_outcomes(
    call: Call, reply: Reply, names: Sequence[str], rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """Return an outcome for each item of a call that scores several; ``slot`` counts from 0.

    ``names``: the name of each of ``call.items`` in ``call.ordering.shown``: criteria, or IDs of
    answers. ``position`` counts from 1 and is known even without a score. An item with a score is
    OK, also if other items have none.
    """
    shown, labels = list(call.ordering.shown), call.ordering.labels
    status, text, why = _said(call, reply, LINE)
    readings = dict.fromkeys(labels, Reading(None))
    if text:
        readings = answer_readings(text, rule or answer_rule(call.template), labels, call.scores)
    some = any(reading.label is not None for reading in readings.values())
    if status is None and some:
        status = (
            Status.UNPARSED
        )  # for the items that it leaves out: a reply with scores is not a refusal
    scored = []
    for slot, (item, name) in enumerate(zip(call.items, names, strict=True)):
        position = shown.index(name)
        reading = readings[labels[position]]
        if reading.label is None:
            lost = _without_score(item, slot, status, why, reply, reading)
            scored.append(replace(lost, position=position + 1))
            continue
        score = float(reading.label)
        scored.append(Outcome(item, slot, Status.OK, score, position + 1, form=reading.form))
    return tuple(scored)


def choice_outcomes(
    call: Call, reply: Reply, *, tie: bool, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """Return the one outcome of a comparison: the position that the reply prefers, 0 for a tie.

    ``p``: the probability of each position, if the first token shows it. The probability of a tie
    is divided equally among the positions.
    """
    n = len(call.ordering.labels)
    labels = letters(n, tie=tie)
    rule = rule or answer_rule(call.template)
    if rule.labels:
        labels = rule.labels if tie else call.ordering.labels
        tie = len(labels) > n
    brief = "-brief." in call.template
    status, text, why = _said(call, reply, WORD)
    reading = Reading(None)
    if text:
        reading = answer_reading(text, rule, labels, chooses=True, tie=tie)
    p, mass = label_probabilities(reply.top, labels) if reply.top and brief else (None, None)
    if reading.label is None:
        return (_without_score(call.items[0], 0, status, why, reply, reading, mass=mass),)
    shares = None if p is None else tuple(share + sum(p[n:]) / n for share in p[:n])
    position = labels.index(reading.label) + 1
    if tie and reading.label == labels[-1]:
        position = 0
    return (
        Outcome(
            call.items[0], 0, Status.OK, None, position, mass=mass, p=shares, form=reading.form
        ),
    )


def _without_score(
    item: int,
    slot: int,
    status: Status | None,
    why: str,
    reply: Reply,
    reading: Reading,
    mass: float | None = None,
) -> Outcome:
    """Return the outcome of an item without a score.

    ``status`` and ``why`` belong to an incomplete reply, and are None and "" for a complete one.
    """
    why = why or reading.why
    if status is None:
        status = Status.UNPARSED
        if looks_refused(reply.text):
            status, why = Status.REFUSED, REFUSED
    return Outcome(item, slot, status, mass=mass, why=why)


def _said(call: Call, reply: Reply, last: str) -> tuple[Status | None, str, str]:
    """Return how a reply failed (None if it is complete), what of it may be parsed, and the reason.

    An embedded model does not stop by itself, so a reply that we began and cut is parsed without
    its ``last`` word or line. “The score is 5, and” has a score, but “The score is 5” and “The
    score is 4.” might have become 50 and 4.5. No other incomplete reply is parsed.
    """
    if reply.error:
        return Status.ERROR, "", ""
    ending = ending_of(reply.finish)
    if ending == "whole":
        return None, reply.text, ""
    why = why_not_whole(reply.finish)
    if ending == "held back":
        return Status.REFUSED, "", why
    if ending == "failed":
        return Status.ERROR, "", why
    begun = call.messages[-1]["role"] == "assistant"
    # In any other reply that was cut, “1” might have become 10.
    rest = re.sub(last, "", reply.text[-MOST_TEXT:]).rstrip(" ") if begun else ""
    return Status.TRUNCATED, rest, why


# ---------------------------------------------------------------- probabilities

_SPACE_MARKS = "▁Ġ \t\r\n"
"""What tokenizers put before a word: a space, or its mark in SentencePiece or GPT-2."""
LONGEST_TOKEN = 40
"""Characters of a token. A longer text did not come from a tokenizer."""
_ENGLISH_WORDS = frozenset({"a", "A", "i", "I"})


def stated(
    top: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...], float]:
    """Return ``label_probabilities`` of a judge that names each label with its probability."""
    chances = {label: math.exp(logprob) for label, logprob in top}
    total = math.fsum(chances.values())
    return tuple(chances[label] / total for label in labels), min(total, 1.0)


def label_probabilities(
    top: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...] | None, float]:
    """Return the probability of each label by position (they sum to 1), and their mass before that.

    ``top``: (token, natural log-probability) at the first token of the reply. A token counts for a
    label if it is the label after space marks are removed, so "3", " 3" and "▁3" add up. The label
    in another case ("b" for "B") counts too, unless it is an English word: "a" more often starts a
    sentence than it means "A". NaN is ignored. Labels that are not among the tokens get 0.

    The probabilities are None if the first token does not decide. Either no label is among the
    tokens, or a label that begins with another label (10 with 1, ii with i) or with another token
    is not among them as a whole. A tokenizer that splits such a label would let its first piece
    count for several labels. One that has it as a whole token would never produce the pieces.
    """
    names = tuple(map(_plain, labels))
    mass = [0.0] * len(names)
    pieces: set[str] = set()
    seen: set[int] = set()
    for text, logprob in top:
        if logprob is None or math.isnan(logprob) or len(text) > LONGEST_TOKEN:
            continue
        index, piece = _token(text, names)
        if index is not None:
            mass[index] += math.exp(min(logprob, 0.0))
            seen.add(index)
        elif piece:
            pieces.add(piece)
    total = sum(mass)
    if total <= 0.0 or _ambiguous(names, seen, pieces):
        return None, min(total, 1.0)
    return tuple(part / total for part in mass), min(total, 1.0)


@lru_cache(maxsize=4_096)
def _token(text: str, names: tuple[str, ...]) -> tuple[int | None, str]:
    """Return which label (by position) a token is, and its text as the beginning of a label."""
    token = _plain(text)
    if token in names:
        return names.index(token), token.casefold()
    folded = [name.casefold() for name in names]
    key = token.casefold()
    single = token not in _ENGLISH_WORDS and folded.count(key) == 1
    return folded.index(key) if single else None, key


@lru_cache(maxsize=4_096)
def _plain(text: str) -> str:
    """Return a token or label without spaces and space marks, in NFKC."""
    return unicodedata.normalize("NFKC", text.strip(_SPACE_MARKS)).strip(_SPACE_MARKS)


def _ambiguous(names: Sequence[str], seen: set[int], pieces: set[str]) -> bool:
    """Return whether an unseen label may begin with a shorter label, or with a piece of itself."""
    folded = [name.casefold() for name in names]
    starts = {*pieces, *folded}
    unseen = [name for index, name in enumerate(folded) if index not in seen]
    return any(name.startswith(start) for name in unseen for start in starts - {name})
