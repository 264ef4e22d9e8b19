"""What a reply says about each response of its batch, and about a response asked about alone."""

from __future__ import annotations

from dataclasses import replace

from rubriclab.model import Call, Ordering, Outcome, Reply
from rubriclab.model.prompt import Reading
from rubriclab.study.prompts.batch import BATCH_BEGUN, place_label
from rubriclab.study.prompts.outcomes import option_outcome, unread
from rubriclab.study.prompts.own_answer import read_criterion
from rubriclab.study.prompts.parse_batch import parse_batch


def single_outcome(call: Call, reply: Reply) -> Outcome:
    """The score of an item that was asked about alone: read as every single call, at place 1 of 1."""
    usual = Ordering(call.scores, tuple(map(str, call.scores)))
    read = option_outcome(replace(call, ordering=usual), reply)
    return replace(read, position=1, probabilities=None)


def batch_outcomes(call: Call, reply: Reply) -> tuple[Outcome, ...]:
    """The score of each response in the order shown: every one is read, or has a status that says why not."""
    if call.reading is not None:
        return _own(call, reply, call.reading)
    begun = call.messages[-1]["role"] == "assistant" and call.messages[-1]["content"] == BATCH_BEGUN
    found = parse_batch(reply.text, len(call.items), call.scores, begun=begun)
    note = "responses that were not shown are named" if found.unknown else None
    return tuple(
        Outcome(item, "ok", found.scores[place], place, kind=note)
        if place in found.scores
        else Outcome(item, unread(reply), None, place, kind=found.why[place])
        for place, item in enumerate(call.items, start=1)
    )


def _own(call: Call, reply: Reply, reading: Reading) -> tuple[Outcome, ...]:
    """What a reply to the user's own prompt says of each; labels are as many as scores."""
    outcomes = []
    for place, item in enumerate(call.items, start=1):
        own = read_criterion(reply.text, reading, place_label(place))
        if own.index is None:
            outcomes.append(Outcome(item, unread(reply), None, place, kind=own.why))
        else:
            outcomes.append(Outcome(item, "ok", call.scores[own.index], place))
    return tuple(outcomes)
