"""lm-eval's samples (``--log_samples``) of tasks that ask a model to judge: one sample a line.

``arguments.gen_args_0.arg_0`` is the prompt, a text or JSON of messages; ``resps`` the replies, one a
repeat; ``filtered_resps`` what the task's filter read in them (lm-eval 0.4). The file names no model. Where a
judge card scored the samples, ``judge_card`` is read instead (``card_record``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.card_record import card_record, recorded
from rubriclab.datasets.logs.exchange import Exchange, messages_in, text_in
from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.source import Source
from rubriclab.model.language import msg

LIKELIHOODS = msg("a sample of likelihoods, in which no reply was written")
FIELDS = ("doc_id", "doc", "arguments", "resps", "filtered_resps")


def _read(source: Source) -> Records:
    return judgments(one for line, record in source.records() for one in _exchanges(line, record))


def _exchanges(line: int, record: Mapping[str, Any]) -> Iterator[Exchange | Logged | Unread]:
    if (card := card_record(record)) is not None:
        yield from recorded(line, card)
        return
    asked, replies = _asked(record.get("arguments")), record.get("resps")
    first = replies[0] if isinstance(replies, list) and replies else None
    repeats = [one for one in (first if isinstance(first, list) else [first]) if isinstance(one, str)]
    if asked is None or not repeats:
        yield Unread(line, LIKELIHOODS)
        return
    filtered = record.get("filtered_resps")
    verdict = text_in(filtered[0]) if isinstance(filtered, list) and filtered and len(repeats) == 1 else ""
    for reply in repeats:
        yield Exchange(line=line, messages=messages_in(asked), reply=reply, verdict=verdict)


def _asked(arguments: object) -> object | None:
    """The prompt of a sample that has one; None of one with a choice of continuations."""
    if isinstance(arguments, Mapping):
        if len(arguments) != 1:
            return None
        first = next(iter(arguments.values()))
        prompt = first.get("arg_0") if isinstance(first, Mapping) else None
        return prompt[0] if isinstance(prompt, list) and len(prompt) == 1 else prompt
    if isinstance(arguments, list) and len(arguments) == 1 and isinstance(arguments[0], list) and arguments[0]:
        return arguments[0][0] if isinstance(arguments[0][0], str) else None
    return None


LM_EVAL = LogFormat(msg("lm-eval: samples of a task that judges"), ", ".join(FIELDS), lambda s: s.has(*FIELDS), _read)
