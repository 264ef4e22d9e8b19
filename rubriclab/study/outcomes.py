"""A call and its reply in, an outcome for each item out: status, score, position, probabilities of the labels."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rubriclab.model.judgment import Call, Ordering, Outcome, Reply, Status
from rubriclab.study.comparison import letters, parse_verdict
from rubriclab.study.parse import READ, looks_refused, parse_criteria, parse_label
from rubriclab.study.prompts import FEEDBACK_TEMPLATE, Answer

REFUSALS = ("content_filter", "refusal")
"""How a reply ends that the provider held back, or in which the model refused by a field of its own."""


def option_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """The one outcome of a call about one item; ``call.ordering`` shows scores.

    The score is the one that the reply's words name. ``p`` and ``expected`` come from the alternatives to its first
    answer token, where the server gives them and they can be told apart.
    """
    labels = call.ordering.labels
    p, mass = label_probabilities(reply.top, labels) if reply.top else (None, None)
    status, position = failure_of(reply), None
    text = reply.text if status is None else _begun_and_cut(call, reply, r"\S*\Z").rstrip(" ")
    if text and (status is None or not text[-1].isalnum()):
        answer: Answer = "feedback" if call.template == FEEDBACK_TEMPLATE else "score"
        position = parse_label(text, labels, answer).label
    if position is not None:
        status = Status.OK
    status = _without_score(reply) if status is None else status
    if position is None:
        return (Outcome(call.items[0], 0, status, mass=mass),)
    scores = [float(score) for score in call.ordering.shown]
    expected = sum(score * share for score, share in zip(scores, p, strict=True)) if p is not None else None
    return (Outcome(call.items[0], 0, status, scores[position], position + 1, expected, mass, p),)


def criteria_outcomes(call: Call, reply: Reply, criteria: Sequence[str]) -> tuple[Outcome, ...]:
    """One outcome for each of ``criteria``, which are those of ``call.items`` in that order; ``slot`` counts from 0.

    ``call.ordering`` shows criteria. ``position``, from 1, is where the criterion stood, scored or not. Those that a
    reply scores are OK, whatever became of the others.
    """
    shown = [str(name) for name in call.ordering.shown]
    status = failure_of(reply)
    text = reply.text if status is None else _begun_and_cut(call, reply, r"[^\n]*\Z")
    scores = parse_criteria(text, shown, call.scores)
    if status is None:
        status = Status.UNPARSED if scores else _without_score(reply)
    return tuple(
        Outcome(item, slot, Status.OK, float(scores[name]), shown.index(name) + 1)
        if name in scores
        else Outcome(item, slot, status, None, shown.index(name) + 1)
        for slot, (item, name) in enumerate(zip(call.items, criteria, strict=True))
    )


def bare_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """The score of an answer that was asked for without a list: parsed as any other, at no position."""
    return tuple(replace(outcome, position=None, p=None) for outcome in option_outcomes(call, reply))


def alone_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """The score of an answer that was asked about alone, as the control of a batch: at position 1 of 1."""
    numbers = Ordering(call.scores, tuple(map(str, call.scores)))
    return tuple(
        replace(outcome, position=1, p=None) for outcome in option_outcomes(replace(call, ordering=numbers), reply)
    )


def batch_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """One outcome for each item of a batch; ``position`` is where its answer stood.

    ``call.ordering`` shows the items' ids and calls them “Response 1” and so on by position; ``call.items`` are sorted by
    these ids.
    """
    labels = call.ordering.labels
    status = failure_of(reply)
    text = reply.text if status is None else _begun_and_cut(call, reply, r"[^\n]*\Z")
    scores = parse_criteria(text, labels, call.scores)
    if status is None:
        status = Status.UNPARSED if scores else _without_score(reply)
    shown = [str(name) for name in call.ordering.shown]
    position_of = [shown.index(name) for name in sorted(shown)]
    return tuple(
        Outcome(item, slot, Status.OK, float(scores[labels[position]]), position + 1)
        if labels[position] in scores
        else Outcome(item, slot, status, None, position + 1)
        for slot, (item, position) in enumerate(zip(call.items, position_of, strict=True))
    )


def choice_outcomes(call: Call, reply: Reply, *, tie: bool) -> tuple[Outcome, ...]:
    """The one outcome of a comparison: ``position`` of the candidate that the reply prefers, 0 for a tie.

    ``p``: probability of each position, a tie's share given to all alike; where the first token can tell.
    """
    labels = letters(len(call.ordering.labels), tie=tie)
    brief = "-brief." in call.template
    status = failure_of(reply)
    text = reply.text if status is None else _begun_and_cut(call, reply, r"\S*\Z").rstrip(" ")
    verdict = parse_verdict(text, labels, tie=tie, brief=brief) if text else None
    p, mass = label_probabilities(reply.top, labels) if reply.top and brief else (None, None)
    if verdict is None:
        return (Outcome(call.items[0], 0, _without_score(reply) if status is None else status, mass=mass),)
    n = len(call.ordering.labels)
    shares = None if p is None else tuple(share + sum(p[n:]) / n for share in p[:n])
    position = 0 if tie and verdict == labels[-1] else labels.index(verdict) + 1
    return (Outcome(call.items[0], 0, Status.OK, None, position, mass=mass, p=shares),)


def failure_of(reply: Reply) -> Status | None:
    """The status of a reply that is not parsed at all; None for one that is."""
    if reply.error:
        return Status.ERROR
    if reply.finish in REFUSALS:
        return Status.REFUSED
    if reply.finish == "length":
        return Status.TRUNCATED  # whatever it says: "1" may have become 10
    return None


def _without_score(reply: Reply) -> Status:
    return Status.REFUSED if looks_refused(reply.text) else Status.UNPARSED


def _begun_and_cut(call: Call, reply: Reply, last: str) -> str:
    """What can be read of an answer that the lab began and cut: all but its ``last`` word or line; else nothing.

    An embedded model goes on and on. “The score is 5, and” is an answer, “The score is 5” and “The score is 4.” may
    have become 50 and 4.5.
    """
    if call.messages[-1]["role"] != "assistant" or reply.error or reply.finish != "length":
        return ""
    return re.sub(last, "", reply.text[-READ:])


# ---------------------------------------------------------------- probabilities

_SPACE_MARKS = "▁Ġ \t\r\n"
"""What tokenizers put before a word: a space, or the sign of SentencePiece or GPT-2 for one."""
LONGEST_TOKEN = 40
"""Signs: what is longer is no token of a tokenizer."""
_ENGLISH_WORDS = frozenset({"a", "A", "i", "I"})


def label_probabilities(
    top: Sequence[tuple[str, float]], labels: Sequence[str]
) -> tuple[tuple[float, ...] | None, float]:
    """Probabilities of ``labels`` by shown position (they sum to 1), and the mass that fell on labels before that.

    ``top``: (token, natural log-probability) at the first answer token. Every token that is a label once outer space
    and space marks are off counts for it, so "3", " 3" and "▁3" add up. A label as written always counts; in another
    case ("b" for "B") unless it is an English word of its own, since "a" for "A" more often starts a sentence. NaN is
    ignored; labels not among the tokens get 0.

    The probabilities are None where the first token cannot tell: nothing fell on a label, or a label that starts with
    another label (10 after 1, ii after i) or with a token that is no label was not seen as one whole token itself. A
    tokenizer that writes such a label in pieces lets its first piece stand for several labels; one that shows it
    whole does not, since it would never write the pieces.
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
    if total <= 0.0:
        return None, 0.0
    if _ambiguous(names, seen, pieces):
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
    return any(
        index not in seen and name.startswith(start) for index, name in enumerate(folded) for start in starts - {name}
    )
