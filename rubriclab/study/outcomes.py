"""Say what a reply gives each item of its call: status, score, position, probabilities of the
labels, or why nothing.
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
MOST_TEXT = 10_000
"""Characters, from the end, of a reply that was cut and may still be read."""
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

    ``tie``: whether one may be given; ``rule``: how the answer to a prompt of the user's own is
    read; ``reports_free``: a constrained reply itself says what its labels get without the
    constraint, so no call for a free token was made.
    """
    if UNBEGUN in reply.note and call.begun:  # the server did not go on behind the begun answer
        call = replace(call, messages=call.messages[:-1])
    given = _outcomes(call, as_constrained(call, reply), condition, tie=tie, rule=rule)
    given = tuple(replace(outcome, reader=READER) for outcome in given)
    if call.constrain == "free" or reports_free:
        return given
    mass = label_probabilities(reply.free_top, call.labels)[1] if reply.free_top else None
    return tuple(replace(outcome, mass=mass) for outcome in given)


def described(call: Call, given: Sequence[Outcome]) -> dict[str, str]:
    """Return the status of a call's outcomes, and what was read, in words."""
    read = []
    for outcome in given:
        value: Any = outcome.score
        if value is None and outcome.position:
            value = call.ordering.shown[outcome.position - 1]
        read.append("nothing" if value is None else level_text(value))
    status = min(outcome.status for outcome in given)
    return {"status": status.name.lower(), "read": ", ".join(read)}


def breaks_constraint(call: Call, reply: Reply) -> bool:
    """Return whether a whole reply is none of the labels that it was held to."""
    if not _was_constrained(call, reply):
        return False
    return constrained_label(reply.text, call.constrain, call.labels, call.begun) is None


def as_constrained(call: Call, reply: Reply) -> Reply:
    """Return a constrained reply with the bare label as its text, or with none where it breaks its
    constraint.

    A server that no longer holds the constraint (another one behind a router) gives another judge's
    answers: they are not read as if it did.
    """
    if not _was_constrained(call, reply):
        return reply
    label = constrained_label(reply.text, call.constrain, call.labels, call.begun)
    return replace(reply, text=label or "")


def _was_constrained(call: Call, reply: Reply) -> bool:
    """Return whether a reply is whole and was held to its labels. One that is not whole has another
    reason not to be read.
    """
    if call.constrain == "free" or reply.error:
        return False
    return ending_of(reply.finish) == "whole"


def _outcomes(
    call: Call, reply: Reply, condition: Condition, *, tie: bool, rule: AnswerPart | None
) -> tuple[Outcome, ...]:
    if condition.chooses:
        return choice_outcomes(call, reply, tie=tie, rule=rule)
    if condition.joint:
        return joint_outcomes(
            call, reply, condition.targets or sorted(map(str, call.ordering.shown)), rule
        )
    if condition.reorder == "options":
        return option_outcomes(call, reply, rule)
    # An answer that is asked about alone, to compare with a batch, is at position 1 of 1. A bare
    # score has no position.
    position = 1 if condition.reorder == "responses" else None
    if condition.reorder == "responses":  # what is ordered are answers: the scores are numbers
        call = replace(call, ordering=Ordering(call.scores, tuple(map(str, call.scores))))
    return tuple(
        replace(outcome, position=position, p=None)
        for outcome in option_outcomes(call, reply, rule)
    )


def option_outcomes(
    call: Call, reply: Reply, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """The one outcome of a call about one item; ``call.ordering`` shows scores.

    The score is the one that the reply's words name. ``p`` and ``expected`` come from the
    alternatives to its first answer token, where the server gives them and they can be told apart.
    """
    labels = call.ordering.labels
    # The options' own probabilities, and the name of one: nothing is guessed.
    decided = call.template.startswith("decision-")
    shares = stated if decided else label_probabilities
    p, mass = shares(reply.top, labels) if reply.top else (None, None)
    status, text, why = _said(call, reply, WORD)
    whole = status is None or not text[-1:].isalnum()  # “4 or 5” may have been cut behind its 4
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
    """One outcome for each item of a call that scores several; ``slot`` counts from 0.

    ``names``: what stands for each of ``call.items``, in that order, in ``call.ordering.shown``:
    criteria, or ids of answers. ``position``, from 1, is where it stood, scored or not. Those that
    a reply scores are OK, whatever became of the others.
    """
    shown, labels = list(call.ordering.shown), call.ordering.labels
    status, text, why = _said(call, reply, LINE)
    readings = dict.fromkeys(labels, Reading(None))
    if text:
        readings = answer_readings(text, rule or answer_rule(call.template), labels, call.scores)
    some = any(reading.label is not None for reading in readings.values())
    if status is None and some:
        status = Status.UNPARSED  # of those that it leaves out; it does not decline
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
    """The one outcome of a comparison: ``position`` of the candidate that the reply prefers, 0 for
    a tie.

    ``p``: probability of each position, a tie's share given to all alike; where the first token can
    tell.
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
    """Return the outcome of an item without a score. ``status``, ``why``: of a reply that is not
    whole, else None and "".
    """
    why = why or reading.why
    if status is None:
        status = Status.UNPARSED
        if looks_refused(reply.text):
            status, why = Status.REFUSED, REFUSED
    return Outcome(item, slot, status, mass=mass, why=why)


def _said(call: Call, reply: Reply, last: str) -> tuple[Status | None, str, str]:
    """Return how a reply failed (None where it is whole), what of it is read, and why it is not
    whole.

    Of an answer that the lab began and cut, all but its ``last`` word or line is read, of any other
    failed one nothing. An embedded model goes on and on: “The score is 5, and” is an answer, “The
    score is 5” and “The score is 4.” may have become 50 and 4.5.
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
    # Whatever another one says: “1” may have become 10.
    rest = re.sub(last, "", reply.text[-MOST_TEXT:]).rstrip(" ") if begun else ""
    return Status.TRUNCATED, rest, why


# ---------------------------------------------------------------- probabilities

_SPACE_MARKS = "▁Ġ \t\r\n"
"""What tokenizers put before a word: a space, or the sign of SentencePiece or GPT-2 for one."""
LONGEST_TOKEN = 40
"""Signs: what is longer is no token of a tokenizer."""
_ENGLISH_WORDS = frozenset({"a", "A", "i", "I"})


def stated(
    top: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...], float]:
    """As ``label_probabilities``, of a judge that names each label with its probability."""
    chances = {label: math.exp(logprob) for label, logprob in top}
    total = math.fsum(chances.values())
    return tuple(chances[label] / total for label in labels), min(total, 1.0)


def label_probabilities(
    top: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...] | None, float]:
    """Probabilities of ``labels`` by shown position (they sum to 1), and the mass that fell on
    labels before that.

    ``top``: (token, natural log-probability) at the first answer token. Every token that is a label
    once outer space and space marks are off counts for it, so "3", " 3" and "▁3" add up. A label as
    written always counts; in another case ("b" for "B") unless it is an English word of its own,
    since "a" for "A" more often starts a sentence. NaN is ignored; labels not among the tokens get
    0.

    The probabilities are None where the first token cannot tell: nothing fell on a label, or a
    label that starts with another label (10 after 1, ii after i) or with a token that is no label
    was not seen as one whole token itself. A tokenizer that writes such a label in pieces lets its
    first piece stand for several labels; one that shows it whole does not, since it would never
    write the pieces.
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
    """Which label (by shown position) a token is, and its text as the beginning of one."""
    token = _plain(text)
    if token in names:
        return names.index(token), token.casefold()
    folded = [name.casefold() for name in names]
    key = token.casefold()
    single = token not in _ENGLISH_WORDS and folded.count(key) == 1
    return folded.index(key) if single else None, key


@lru_cache(maxsize=4_096)
def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text.strip(_SPACE_MARKS)).strip(_SPACE_MARKS)


def _ambiguous(names: Sequence[str], seen: set[int], pieces: set[str]) -> bool:
    """Whether an unseen label may hide behind a shorter label or behind a piece of itself."""
    folded = [name.casefold() for name in names]
    starts = {*pieces, *folded}
    unseen = [name for index, name in enumerate(folded) if index not in seen]
    return any(name.startswith(start) for name in unseen for start in starts - {name})
