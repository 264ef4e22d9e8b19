"""OpenAI's batches: the input's requests with the answers of the output, joined by ``custom_id``.

The two are files of their own and the answers come in any order, so the requests wait in a file for theirs.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from rubriclab.datasets.logs.exchange import FAILED, Exchange, messages_in, reply_in
from rubriclab.datasets.logs.log import LogFormat, Records, Unread, text_of
from rubriclab.datasets.logs.prompted import judgments
from rubriclab.datasets.logs.source import Source
from rubriclab.model import DataError
from rubriclab.model.language import msg, tr

NO_ANSWER = msg("the batch's output has no answer to it")
NO_REQUEST = msg("the batch's input has no request of its custom_id")
_AT_ONCE = 1_000


def _matches(source: Source) -> bool:
    return source.has("custom_id", "response") or source.has("custom_id", "body")


def _read(source: Source) -> Records:
    files = (source, *source.beside)
    if source.has("custom_id", "response") and (source.has("custom_id", "body") or source.has("custom_id", "request")):
        return judgments(_joined(line, record, record) for line, record in source.records())
    requests = [one for one in files if one.has("custom_id", "body")]
    answers = [one for one in files if one.has("custom_id", "response")]
    if not requests or not answers:
        raise DataError(_half(source.name, answers=bool(answers)))
    return judgments(_both(requests, answers))


def _half(name: str, *, answers: bool) -> str:
    if answers:
        return tr(
            "“{name}” is one half of a batch: it holds answers, no prompts. Give its input beside it, as import {name} "
            "INPUT.jsonl.",
            name=name,
        )
    return tr(
        "“{name}” is one half of a batch: it holds requests, no replies. Give its output beside it, as import {name} "
        "OUTPUT.jsonl.",
        name=name,
    )


def _both(requests: list[Source], answers: list[Source]) -> Iterator[Exchange | Unread]:
    with tempfile.TemporaryDirectory(prefix="rubriclab-batch-") as folder:
        waiting = sqlite3.connect(Path(folder) / "requests.sqlite")
        try:
            waiting.execute("PRAGMA journal_mode = OFF")
            waiting.execute("PRAGMA synchronous = OFF")
            waiting.execute("CREATE TABLE request (id TEXT PRIMARY KEY, line INTEGER, body TEXT, answered INTEGER)")
            _keep(waiting, requests)
            yield from _answered(waiting, answers)
            for (line,) in waiting.execute("SELECT line FROM request WHERE answered = 0 ORDER BY line"):
                yield Unread(line, NO_ANSWER)
        finally:
            waiting.close()


def _keep(waiting: sqlite3.Connection, requests: list[Source]) -> None:
    for source in requests:
        records = (
            (text_of(record.get("custom_id")), line, json.dumps(record.get("body")), 0)
            for line, record in source.records()
        )
        while some := list(islice(records, _AT_ONCE)):
            waiting.executemany("INSERT OR IGNORE INTO request VALUES (?, ?, ?, ?)", some)


def _answered(waiting: sqlite3.Connection, answers: list[Source]) -> Iterator[Exchange | Unread]:
    for source in answers:
        for line, record in source.records():
            name = text_of(record.get("custom_id"))
            asked = waiting.execute("SELECT body FROM request WHERE id = ?", (name,)).fetchone()
            waiting.execute("UPDATE request SET answered = 1 WHERE id = ?", (name,))
            yield Unread(line, NO_REQUEST) if asked is None else _joined(line, {"body": json.loads(asked[0])}, record)


def _joined(line: int, request: Mapping[str, Any], answer: Mapping[str, Any]) -> Exchange | Unread:
    asked = request.get("body") or request.get("request")
    response = answer.get("response")
    body = response.get("body", response) if isinstance(response, Mapping) else None
    status = response.get("status_code", 200) if isinstance(response, Mapping) else 0
    if answer.get("error") or not isinstance(body, Mapping) or status != 200:
        return Unread(line, FAILED)
    model = body.get("model") or (asked.get("model") if isinstance(asked, Mapping) else "")
    return Exchange(line=line, messages=messages_in(asked), reply=reply_in(body), judge=text_of(model))


OPENAI_BATCH = LogFormat(
    msg("OpenAI batch: the output with its input beside it"),
    msg("custom_id with body, custom_id with response"),
    _matches,
    _read,
)
