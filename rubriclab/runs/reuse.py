"""Nothing is asked twice: answers that other runs of a store have are carried over into a run, where it is asked for.

A call's key is made of all that decides its answer (see :mod:`rubriclab.study.terms`): the judge, the
sampling, the template, every message, the item, and which repeat of the same words it is. Two calls of
one key are one question. Runs carry over only when told to: a study that measures whether a judge has
changed, or how it scatters, must ask again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rubriclab.model import Call, Judgment, Outcome
from rubriclab.store import REUSED, Answered, RunWriter, Store
from rubriclab.study.plan import Plan

Known = Mapping[str, Answered]
"""Answers of other runs by the key of their call."""


def known_answers(store: Store, prepared: Plan, run: str, *, not_from: Collection[str] = ()) -> Known:
    """What other runs have answered of the plan's calls; nothing that ``run`` has an answer to itself.

    Failed calls are no answers. ``not_from``: runs whose answers do not count, wherever they were carried on to.
    """
    done = store.done_keys(run) if store.holds(run) else set()
    wanted = {call.key: call for call in prepared.calls() if call.key not in done}
    found = store.answered(wanted, but={run, *not_from})
    return {key: answer for key, answer in found.items() if carried(wanted[key], answer) is not None}


def carry_over(store: Store, prepared: Plan, run: str, known: Known) -> int:
    """Write ``known`` answers into ``run`` as its own judgments, each with a note; returns how many."""
    if not known:
        return 0
    with RunWriter(store, run) as writer:
        for judgment in _judgments(prepared, known):
            writer.put(judgment)
    return len(known)


def _judgments(prepared: Plan, known: Known) -> Iterator[Judgment]:
    for call in prepared.calls():
        answer = known.get(call.key)
        judgment = None if answer is None else carried(call, answer)
        if judgment is not None:
            yield judgment


def carried(call: Call, answer: Answered) -> Judgment | None:
    """``answer`` as the judgment of ``call``; None where it cannot be told what it would be.

    The messages are the same, so what was picked stands at the same position. Which score that is, is
    the new call's to say: a rubric may give other numbers to the same words.
    """
    shown, was = call.ordering.shown, answer.outcome
    scores = [place for place in shown if isinstance(place, int)]
    if len(call.items) != 1 or len(scores) != len(shown) or (was.position or 0) > len(shown):
        return None
    chances = was.probabilities
    expected = None
    if chances is not None:
        if len(chances) != len(scores):
            return None
        expected = sum(score * chance for score, chance in zip(scores, chances, strict=True))
    outcome = Outcome(
        item=call.items[0],
        status=was.status,
        score=scores[was.position - 1] if was.position else None,
        position=was.position,
        probabilities=chances,
        mass=was.mass,
        expected=expected,
        kind=was.kind,
    )
    return Judgment(call, answer.reply, (outcome,))


__all__ = ["REUSED", "Known", "carried", "carry_over", "known_answers"]
