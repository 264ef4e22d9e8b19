"""What a reply says about each item of its call: one reading for the lab and for a judge card.

Standard library alone; what is here travels with a judge card (see ``rubriclab.apply``).
"""

from __future__ import annotations

from functools import lru_cache

from rubriclab.model import MOSTLY, AnswerMode, Call, Outcome, Reply, Status
from rubriclab.model.prompt import Reading
from rubriclab.study.prompts.comparison import parse_verdict
from rubriclab.study.prompts.own_answer import is_tie, read_answer, read_criterion
from rubriclab.study.prompts.parse import Parsed, looks_refused, parse_label
from rubriclab.study.prompts.parse_criteria import parse_criteria
from rubriclab.study.prompts.probabilities import label_probabilities
from rubriclab.study.prompts.rubric import SCORE_TEMPLATE


def no_answer(call: Call, reply: Reply) -> tuple[Outcome, ...] | None:
    """The outcomes of a reply that is a fault or a refusal; None for one that is to be read."""
    if reply.error is not None:
        return tuple(Outcome(item=i, status="error", kind=reply.kind) for i in call.items)
    if reply.finish in ("content_filter", "refusal"):
        return tuple(Outcome(item=i, status="refused", kind=reply.finish) for i in call.items)
    return None


def unread(reply: Reply) -> Status:
    """Why nothing could be read from a reply that did arrive."""
    if reply.finish == "length":
        return "truncated"
    return "refused" if looks_refused(reply.text) else "unparsed"


# ---------------------------------------------------------------- one response, one criterion


FIRST_WORD = "read from probabilities"
"""Why a reply whose words name no label has one: how likely each was as its first word."""
ON_NO_LABEL = "most of the probability on no label"
"""Why it has none."""


def option_outcome(call: Call, reply: Reply) -> Outcome:
    """The score that a reply names, and what it would have named (``call.ordering`` shows scores)."""
    labels = call.ordering.labels
    index, kind = _answered(call, reply)
    probabilities, mass = label_probabilities(reply.top_tokens, labels)
    if index is None and probabilities is not None:
        # The judge began to chat, but said how likely each label was as its first word.
        index = _likeliest(probabilities, mass)
        kind = ON_NO_LABEL if index is None else FIRST_WORD
    if index is None:
        return Outcome(item=call.items[0], status=unread(reply), mass=_kept(reply, mass), kind=kind)
    scores = [int(s) for s in call.ordering.shown]
    expected = None
    if probabilities:
        expected = sum(s * p for s, p in zip(scores, probabilities, strict=True))
    return Outcome(
        item=call.items[0],
        status="ok",
        score=scores[index],
        position=index + 1,
        probabilities=probabilities,
        mass=_kept(reply, mass),
        expected=expected,
        kind=kind,
    )


def _likeliest(probabilities: tuple[float, ...], mass: float) -> int | None:
    """The place of the likeliest label; None where most of the probability was on something else."""
    return None if mass < MOSTLY else max(range(len(probabilities)), key=lambda i: probabilities[i])


def _kept(reply: Reply, mass: float) -> float | None:
    """What fell on labels, of a reply that says so: kept whether or not it was read."""
    return mass if reply.top_tokens else None


def _answered(call: Call, reply: Reply) -> tuple[int | None, str | None]:
    """The position (0-based) of the label that a reply gives, or None and why not."""
    labels = call.ordering.labels
    if call.reading is not None:
        own = read_answer(reply.text, call.reading)
        position = None if own.index is None else labels.index(call.reading.labels[own.index])
        return position, None if position is not None else own.why
    answer: AnswerMode = "score" if call.template == SCORE_TEMPLATE else "feedback"
    parsed = _label_in(reply.text, labels, answer)
    return parsed.index, None if parsed.index is not None else str(parsed.reason)


def _label_in(text: str, labels: tuple[str, ...], answer: AnswerMode) -> Parsed:
    """``parse_label`` by shown position, read in one order of the labels whatever is shown.

    A grammar takes milliseconds to build and a million replies of one label are a few
    different texts: both are kept, and one order makes that once per set of labels.
    """
    known = tuple(sorted(labels))
    read = _short_label if len(text) <= 40 else parse_label
    parsed = read(text, known, answer=answer)
    if parsed.index is None:
        return parsed
    return Parsed(labels.index(known[parsed.index]), parsed.reason)


@lru_cache(maxsize=4096)
def _short_label(text: str, labels: tuple[str, ...], *, answer: AnswerMode) -> Parsed:
    return parse_label(text, labels, answer=answer)


# ---------------------------------------------------------------- candidates


def verdict_outcome(call: Call, reply: Reply, *, tie: bool) -> Outcome:
    """The candidate that a reply prefers; position 0 is a tie."""
    labels = call.ordering.labels
    tied = chr(ord("A") + len(labels)) if tie else None
    unread_kind = None
    if call.reading is not None:
        verdict, unread_kind = _own_verdict(reply.text, call.reading, tied)
    else:
        verdict = parse_verdict(reply.text, labels, tied, brief="brief" in call.template)
    every = (*labels, tied) if tied else labels
    probabilities, mass = label_probabilities(reply.top_tokens, every)
    kind = None
    if verdict is None and probabilities is not None:
        place = _likeliest(probabilities, mass)
        verdict, kind = (None, None) if place is None else (every[place], FIRST_WORD)
        unread_kind = ON_NO_LABEL if place is None else unread_kind
    if verdict is None:
        return Outcome(item=call.items[0], status=unread(reply), mass=_kept(reply, mass), kind=unread_kind)
    return Outcome(
        item=call.items[0],
        status="ok",
        position=0 if verdict == tied else labels.index(verdict) + 1,
        probabilities=probabilities[: len(labels)] if probabilities else None,
        mass=_kept(reply, mass),
        kind=kind,
    )


def _own_verdict(text: str, reading: Reading, tied: str | None) -> tuple[str | None, str | None]:
    """The label that a reply to the user's own prompt gives, or None and why not; “tie” is a tie."""
    own = read_answer(text, reading)
    if own.index is not None:
        return reading.labels[own.index], None
    if tied and is_tie(own):
        return tied, None
    return None, own.why


# ---------------------------------------------------------------- all criteria in one call


def criteria_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """The score of each criterion, in the order shown."""
    if call.reading is not None:
        return _own_criteria(call, reply, call.reading)
    names = [str(name) for name in call.ordering.shown]
    found = parse_criteria(reply.text, names, call.scores)
    outcomes = []
    for position, (item, name) in enumerate(zip(call.items, names, strict=True), start=1):
        if name in found.scores:
            kind = "unknown criteria in the reply" if found.unknown else None
            outcomes.append(Outcome(item, "ok", found.scores[name], position, kind=kind))
        else:
            kind = "repeated" if name in found.repeated else "missing"
            outcomes.append(Outcome(item, unread(reply), None, position, kind=kind))
    return tuple(outcomes)


def _own_criteria(call: Call, reply: Reply, reading: Reading) -> tuple[Outcome, ...]:
    """What a reply to the user's own prompt says about each criterion; labels are as many as scores."""
    outcomes = []
    for position, (item, name) in enumerate(zip(call.items, call.ordering.shown, strict=True), start=1):
        own = read_criterion(reply.text, reading, str(name))
        if own.index is None:
            outcomes.append(Outcome(item, unread(reply), None, position, kind=own.why))
        else:
            outcomes.append(Outcome(item, "ok", call.scores[own.index], position))
    return tuple(outcomes)
