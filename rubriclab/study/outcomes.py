"""A call and its reply in, an outcome for each item out: status, score, position, probabilities of the labels."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from rubriclab.model.judgment import Call, Condition, Ordering, Outcome, Reply, Status
from rubriclab.model.study import AnswerPart
from rubriclab.study.comparison import letters, parse_verdict
from rubriclab.study.own_answers import read_answer, read_answers
from rubriclab.study.parse import READ, looks_refused, parse_criteria, parse_label
from rubriclab.study.prompts import FEEDBACK_TEMPLATE, Answer

REFUSALS = ("content_filter", "refusal")
"""How a reply ends that the provider held back, or in which the model refused by a field of its own."""
WORD, LINE = r"\S*\Z", r"[^\n]*\Z"
"""The last word and the last line of a text."""


def outcomes(
    call: Call, reply: Reply, condition: Condition, *, tie: bool, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """What a reply says about each item of its call; never raises for what a judge wrote.

    ``tie``: may one be answered; ``rule``: how the answer to a prompt of the user's own is read.
    """
    if condition.chooses:
        return choice_outcomes(call, reply, tie=tie, rule=rule)
    if condition.joint:
        return joint_outcomes(
            call, reply, condition.targets or sorted(map(str, call.ordering.shown)), rule
        )
    if condition.reorder == "options":
        return option_outcomes(call, reply, rule)
    # An answer that is asked about alone, as the control of a batch, stands at position 1 of 1; a bare score at none.
    position = 1 if condition.reorder == "responses" else None
    if rule is None:  # the prompt shows the scale in its own order, and names no labels
        call = replace(call, ordering=Ordering(call.scores, tuple(map(str, call.scores))))
    return tuple(
        replace(outcome, position=position, p=None)
        for outcome in option_outcomes(call, reply, rule)
    )


def option_outcomes(
    call: Call, reply: Reply, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """The one outcome of a call about one item; ``call.ordering`` shows scores.

    The score is the one that the reply's words name. ``p`` and ``expected`` come from the alternatives to its first
    answer token, where the server gives them and they can be told apart.
    """
    labels = call.ordering.labels
    # The options' own probabilities, and the name of one: nothing is guessed.
    decided = call.template.startswith("decision-")
    shares = stated if decided else label_probabilities
    p, mass = shares(reply.top, labels) if reply.top else (None, None)
    status, text = _said(call, reply, WORD)
    answer: Answer = "feedback" if call.template == FEEDBACK_TEMPLATE else "score"
    whole = status is None or not text[-1:].isalnum()  # “4 or 5” may have been cut behind its 4
    read: Any = partial(read_answer, rule=rule) if rule else partial(parse_label, answer=answer)
    if decided:
        position = labels.index(text) if text in labels else None
    else:
        position = read(text, labels=labels) if text and whole else None
    if position is None:
        return (
            Outcome(
                call.items[0], 0, _without_score(reply) if status is None else status, mass=mass
            ),
        )
    scores = [float(score) for score in call.ordering.shown]
    expected = (
        sum(score * share for score, share in zip(scores, p, strict=True))
        if p is not None
        else None
    )
    return (
        Outcome(call.items[0], 0, Status.OK, scores[position], position + 1, expected, mass, p),
    )


def joint_outcomes(
    call: Call, reply: Reply, names: Sequence[str], rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """One outcome for each item of a call that scores several; ``slot`` counts from 0.

    ``names``: what stands for each of ``call.items``, in that order, in ``call.ordering.shown``: criteria, or ids of
    answers. ``position``, from 1, is where it stood, scored or not. Those that a reply scores are OK, whatever became of
    the others.
    """
    shown, labels = list(call.ordering.shown), call.ordering.labels
    status, text = _said(call, reply, LINE)
    scores = (
        read_answers(text, rule, labels, call.scores)
        if rule
        else parse_criteria(text, labels, call.scores)
    )
    if status is None:
        status = Status.UNPARSED if scores else _without_score(reply)
    scored = []
    for slot, (item, name) in enumerate(zip(call.items, names, strict=True)):
        position = shown.index(name)
        score = scores.get(labels[position])
        ended = status if score is None else Status.OK
        scored.append(
            Outcome(item, slot, ended, None if score is None else float(score), position + 1)
        )
    return tuple(scored)


def choice_outcomes(
    call: Call, reply: Reply, *, tie: bool, rule: AnswerPart | None = None
) -> tuple[Outcome, ...]:
    """The one outcome of a comparison: ``position`` of the candidate that the reply prefers, 0 for a tie.

    ``p``: probability of each position, a tie's share given to all alike; where the first token can tell.
    """
    n = len(call.ordering.labels)
    labels = letters(n, tie=tie)
    if rule is not None and rule.labels:
        labels = rule.labels if tie else call.ordering.labels
        tie = len(labels) > n
    brief = "-brief." in call.template
    status, text = _said(call, reply, WORD)
    verdict = None
    if text and rule is not None:
        index = read_answer(text, rule, labels, chooses=True, tie=tie)
        verdict = None if index is None else labels[index]
    elif text:
        verdict = parse_verdict(text, labels, tie=tie, brief=brief)
    p, mass = label_probabilities(reply.top, labels) if reply.top and brief else (None, None)
    if verdict is None:
        return (
            Outcome(
                call.items[0], 0, _without_score(reply) if status is None else status, mass=mass
            ),
        )
    shares = None if p is None else tuple(share + sum(p[n:]) / n for share in p[:n])
    position = 0 if tie and verdict == labels[-1] else labels.index(verdict) + 1
    return (Outcome(call.items[0], 0, Status.OK, None, position, mass=mass, p=shares),)


def _without_score(reply: Reply) -> Status:
    return Status.REFUSED if looks_refused(reply.text) else Status.UNPARSED


def _said(call: Call, reply: Reply, last: str) -> tuple[Status | None, str]:
    """(how a reply failed, None where it did not; what of it is parsed).

    Of an answer that the lab began and cut that is all but its ``last`` word or line, of another failed one nothing. An
    embedded model goes on and on: “The score is 5, and” is an answer, “The score is 5” and “The score is 4.” may have
    become 50 and 4.5.
    """
    if reply.error:
        return Status.ERROR, ""
    if reply.finish in REFUSALS:
        return Status.REFUSED, ""
    if reply.finish != "length":
        return None, reply.text
    begun = call.messages[-1]["role"] == "assistant"
    # Whatever another one says: “1” may have become 10.
    return Status.TRUNCATED, re.sub(last, "", reply.text[-READ:]).rstrip(" ") if begun else ""


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
