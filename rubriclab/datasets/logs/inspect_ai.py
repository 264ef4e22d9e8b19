"""inspect-ai's logs, ``.eval`` (a zip of JSON) and ``.json``: what its model-graded scorers kept.

``samples[].scores.<scorer>.metadata.grading`` holds the grader's messages, the last of them its reply
(inspect_ai 0.3, ``scorer/_model.py``); ``value`` is the grade that the scorer read in it. The scorer of a judge
card keeps ``metadata.judge_card`` instead (``card_record``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.card_record import card_record, recorded
from rubriclab.datasets.logs.exchange import Exchange, messages_in, text_in
from rubriclab.datasets.logs.log import LogFormat, Logged, Records, Unread
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.source import ZIP, Source
from rubriclab.datasets.logs.zipped import members, records_of
from rubriclab.model.language import msg

NO_SCORE = msg("the sample has no score: it failed, or was not scored")
NO_GRADING = msg("its scorer kept no prompt of a grader (metadata.grading)")
_JSON = re.compile(r'"eval"\s*:\s*\{\s*(?:"eval_id"|"run_id"|"created"|"task")\s*:')
_TASK = re.compile(r'"task"\s*:\s*"((?:[^"\\]|\\.){1,200})"')


def _matches(source: Source) -> bool:
    if source.magic == ZIP:
        return bool({"header.json", "_journal/start.json"} & set(members(source)))
    return source.head.startswith("{") and _JSON.search(source.head) is not None


def _read(source: Source) -> Records:
    return judgments(_exchanges(source))


def _exchanges(source: Source) -> Iterator[Exchange | Logged | Unread]:
    if source.magic == ZIP:
        samples, task = records_of(source, "samples/"), _task_in_zip(source)
    else:
        named = _TASK.search(source.head)
        samples, task = source.records("samples"), named[1] if named else ""
    for line, sample in samples:
        scores = sample.get("scores")
        if not isinstance(scores, Mapping) or not scores:
            yield Unread(line, NO_SCORE)
            continue
        for score in scores.values():
            record = card_record(score.get("metadata")) if isinstance(score, Mapping) else None
            if record is None:
                yield _exchange(line, score, task)
            else:
                yield from recorded(line, record, task)


def _exchange(line: int, score: object, task: str) -> Exchange | Unread:
    metadata = score.get("metadata") if isinstance(score, Mapping) else None
    grading = metadata.get("grading") if isinstance(metadata, Mapping) else None
    if not isinstance(score, Mapping) or not isinstance(grading, list) or len(grading) < 2:
        return Unread(line, NO_GRADING)
    *asked, answered = grading
    value: Any = score.get("value")
    return Exchange(
        line=line,
        messages=messages_in(asked),
        reply=text_in(answered),
        judge=str(answered.get("model") or "") if isinstance(answered, Mapping) else "",
        verdict=value if isinstance(value, str) else "",
        dataset=task,
    )


def _task_in_zip(source: Source) -> str:
    for name in ("header.json", "_journal/start.json"):
        for _, header in records_of(source, name):
            known = header.get("eval")
            return str(known.get("task") or "") if isinstance(known, Mapping) else ""
    return ""


INSPECT_AI = LogFormat(
    msg("inspect-ai: a log of model-graded scores (.eval, .json)"),
    msg("eval and samples[].scores.*.metadata.grading"),
    _matches,
    _read,
)
