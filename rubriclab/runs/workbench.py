"""A few real replies to a prompt, before a run is paid for: asked, shown, kept nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rubriclab.judges import check_settings, open_judge
from rubriclab.judges.keys import KeepsConsent, require_consent
from rubriclab.model import Call, Reply, Strategy, Study, StudyError
from rubriclab.model.answers import Spot, answer_words
from rubriclab.model.language import tr
from rubriclab.model.prompt import AnswerRule, Reading
from rubriclab.study.plan import plan
from rubriclab.study.prompts.own_answer import read_answer, read_criterion
from rubriclab.study.protocols import PROTOCOLS

REPLIES = 4
Progress = Callable[[int, int, str], None]


class Asked(NamedTuple):
    """One call and what came back."""

    call: Call
    reply: Reply


class Read(NamedTuple):
    """What one rule reads in one reply: the label (None: nothing) and where it stands; or why not.

    ``guessed``: the words are no answer, and the label is the likeliest by token probabilities.
    """

    label: str | None
    spot: Spot | None
    why: str
    guessed: bool = False


@dataclass(frozen=True)
class Offer:
    """A way to read the answer, in words, and how many of the replies it reads."""

    rule: AnswerRule
    name: str
    reads: int


def first_calls(study: Study, *, n: int = REPLIES) -> tuple[Call, ...]:
    """The first ``n`` items of a study, each in an order of its own, for its first judge."""
    once = replace(study.design, strategies=(Strategy("random", reads=1),), repeats=1, factors={})
    planned = plan(replace(study, design=once, judges=study.judges[:1]))
    calls = tuple(call for call, _ in zip(planned.calls(0), range(n), strict=False))
    if not calls:
        raise StudyError(
            tr("There is nothing to ask: {why}", why=" ".join(planned.notes) or tr("the data set has no item."))
        )
    return calls


def first_replies(
    study: Study,
    store: KeepsConsent,
    *,
    n: int = REPLIES,
    secrets: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    heard: Callable[[Asked], None] | None = None,
) -> tuple[Asked, ...]:
    """Ask the study's first judge ``n`` calls of its own, one after the other; nothing is stored.

    ``heard`` is told each reply as it comes. A fault is a reply too. Raises LabError where the judge
    cannot be had, ConsentNeeded where a key would go to an address that nobody has said yes to.
    """
    calls, judge = first_calls(study, n=n), study.judges[0]
    check_settings(judge, secrets)
    require_consent((judge,), store)
    return asyncio.run(_ask(study, calls, secrets, progress, heard))


async def _ask(
    study: Study,
    calls: Sequence[Call],
    secrets: Mapping[str, str] | None,
    progress: Progress | None,
    heard: Callable[[Asked], None] | None,
) -> tuple[Asked, ...]:
    asking = open_judge(study.judges[0], study, secrets, progress)
    answered = []
    try:
        for call in calls:
            one = Asked(call, await asking.ask(call))
            answered.append(one)
            if heard is not None:
                heard(one)
    finally:
        await asking.close()
    return tuple(answered)


def reads(text: str, rule: AnswerRule, labels: Sequence[str], *, criterion: str = "") -> Read:
    """What ``rule`` reads in a reply."""
    reading = Reading(rule, tuple(labels))
    got = read_criterion(text, reading, criterion) if criterion else read_answer(text, reading)
    return Read(None, got.spot, got.why) if got.index is None else Read(labels[got.index], got.spot, "")


def outcome(study: Study, one: Asked, rule: AnswerRule) -> Read:
    """What a run of ``study`` would make of a reply under ``rule``: also from token probabilities."""
    call = one.call
    if call.reading is not None:
        call = replace(call, reading=Reading(rule, call.reading.labels))
    labels = call.reading.labels if call.reading is not None else call.ordering.labels
    if one.reply.error is not None:
        return Read(None, None, tr("no reply"))
    got = reads(one.reply.text, rule, labels, criterion=_criterion(call))
    if got.label is not None:
        return got
    (first, *_) = PROTOCOLS[study.design.axis].read(call, one.reply, tie=study.design.tie)
    if first.status != "ok" or first.position is None or first.kind is None:
        return got
    shown = call.ordering.labels[first.position - 1] if first.position and call.ordering.labels else None
    return Read(shown, got.spot, first.kind, guessed=True)


def _criterion(call: Call) -> str:
    """The first criterion shown, where one call asks for several."""
    return "" if call.ordering.labels else str(call.ordering.shown[0])


def offers(own: AnswerRule, replies: Sequence[str], labels: Sequence[str], *, criterion: str = "") -> tuple[Offer, ...]:
    """The prompt's own way to read first, then those that need no more to be said, with what each reads."""
    known = {own: tr("As the prompt says: {how}", how=answer_words(own))}
    for rule in (AnswerRule("label"), AnswerRule("last_label")):
        known.setdefault(rule, tr("Read {how}", how=answer_words(rule)))
    return tuple(
        Offer(rule, name, sum(reads(text, rule, labels, criterion=criterion).label is not None for text in replies))
        for rule, name in known.items()
    )


def failed(asked: Sequence[Asked]) -> Iterator[str]:
    """What went wrong with calls that got no reply, each once."""
    yield from dict.fromkeys(one.reply.error for one in asked if one.reply.error is not None)
