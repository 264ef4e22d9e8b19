"""Files of answers, read one answer at a time: batch output (JSONL) and answer tables (Parquet)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from rubriclab.datasets.limits import MAX_FILE_MB, MB, read_file, reading, regular_file
from rubriclab.datasets.outfiles import whole_file
from rubriclab.datasets.parquet import parquet_table
from rubriclab.judges.addresses import answers_as
from rubriclab.judges.bounded import MAX_REPLY_BYTES, load_json
from rubriclab.judges.faults import FAULTS, Fault, fault, from_response, redact
from rubriclab.judges.reading import MAX_TEXT, read_completion, too_long
from rubriclab.model import Call, Judge, LabError, Reply
from rubriclab.model.prompt import Reading
from rubriclab.model.storable import storable_count, storable_reply, storable_text
from rubriclab.runs.pace import FATAL_KINDS

MAX_LINE = MAX_REPLY_BYTES
"""Bytes of one line of answers: as much as the client reads of one answer."""
PASSING_KINDS = FATAL_KINDS | {"wrong_model"}
"""Faults of a route's settings: the calls themselves have not been answered."""


class BatchError(LabError):
    """Files that cannot be written or read, or answers that belong to another study."""


def says_nothing(reply: Reply) -> bool:
    """Whether a fault is the route's and not the call's."""
    return reply.retryable or reply.kind in PASSING_KINDS


class Answers:
    """Where the answer to each key lies; the answers themselves are read when they are needed.

    Of several answers to one call the first that is no passing fault counts, so that a
    second attempt's file may simply be given along.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self.keys: dict[str, tuple[int, int]] = {}
        self.lines = self.duplicates = self.unreadable = 0
        self.places: list[str] = []
        self._weak: set[str] = set()
        self._open: list[_AnswerFile] = []
        try:
            for number, path in enumerate(files):
                self._open.append(_open_file(path))
                self._index(path, number, self._open[number])
        except LabError:
            self.close()
            raise

    def __enter__(self) -> Answers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return key in self.keys

    def close(self) -> None:
        for source in self._open:
            source.close()

    def reply(self, call: Call, judge: Judge) -> Reply:
        number, place = self.keys[call.key]
        return self._open[number].reply(place, call, judge)

    def _index(self, path: Path, number: int, source: _AnswerFile) -> None:
        for line, (place, key, passing) in enumerate(source.places(), start=1):
            self.lines += 1
            if key is None:
                self.unreadable += 1
                if len(self.places) < 5:
                    self.places.append(f"{path.name}, line {line}")
                continue
            if key in self.keys:
                self.duplicates += 1
                if key not in self._weak or passing:
                    continue
                self._weak.discard(key)
            elif passing:
                self._weak.add(key)
            self.keys[key] = (number, place)


def _open_file(path: Path) -> _AnswerFile:
    if path.exists() and not path.is_file():
        raise BatchError(f"{path} is no regular file: give the file that the batch wrote.")
    try:
        return _TableFile(path) if path.suffix == ".parquet" else _BatchFile(path)
    except OSError as error:
        raise BatchError(f"{path} cannot be read: {error.strerror or error}.") from error


class _AnswerFile(ABC):
    """A file of answers."""

    @abstractmethod
    def places(self) -> Iterator[tuple[int, str | None, bool]]:
        """For each answer its place, its key (None: unreadable) and whether it is a fault that
        says nothing about the call."""

    @abstractmethod
    def reply(self, place: int, call: Call, judge: Judge) -> Reply: ...

    @abstractmethod
    def close(self) -> None: ...


# ---------------------------------------------------------------- batch answers, one a line


class _BatchFile(_AnswerFile):
    """Answers as ``vllm run-batch`` and the OpenAI Batch API write them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = regular_file(path, error=BatchError).open("rb")

    def places(self) -> Iterator[tuple[int, str | None, bool]]:
        while raw := self._file.readline(MAX_LINE):
            place = self._file.tell() - len(raw)
            if raw.strip():
                answer = _answer(raw) if self._whole(raw) else None
                if answer is not None and "response" not in answer and "body" in answer:
                    raise BatchError(
                        f"{self._path.name} holds requests, not answers: it is the file that was "
                        "exported. Give the file that the batch wrote."
                    )
                key = None if answer is None else str(answer["custom_id"])
                reply = None if answer is None else read_answer(answer)
                if key is not None:
                    key = storable_text(key)
                yield (place, key, reply is not None and reply.error is not None and says_nothing(reply))

    def _whole(self, raw: bytes) -> bool:
        """Whether ``raw`` is all of its line; if not, the rest is read over."""
        if len(raw) < MAX_LINE or raw.endswith(b"\n"):
            return True
        while rest := self._file.readline(MAX_LINE):
            if rest.endswith(b"\n"):
                break
        return False

    def reply(self, place: int, call: Call, judge: Judge) -> Reply:
        self._file.seek(place)
        answer = _answer(self._file.readline(MAX_LINE))
        if answer is None:
            raise BatchError(f"{self._path} changed while it was read; try again.")
        return read_answer(
            answer,
            want_probabilities=call.want_probabilities,
            expected=lambda served: answers_as(judge, served),
            reading=call.reading,
        )

    def close(self) -> None:
        self._file.close()


def _answer(raw: bytes) -> dict[str, Any] | None:
    """A line as an object with a custom_id; None for a cut line or anything else."""
    try:
        value = load_json(raw)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("custom_id"), str):
        return None
    return value


def read_answer(
    answer: Mapping[str, Any],
    *,
    want_probabilities: bool = False,
    expected: Callable[[str], bool] | None = None,
    reading: Reading | None = None,
) -> Reply:
    """One line of a batch's output as the Reply that the client would have made of it.

    A failed request has its error in ``response.body`` (OpenAI) or in ``error`` (vLLM). A
    request that was never sent (expired, cancelled) has an ``error`` and no response.
    """
    response, error = answer.get("response"), answer.get("error")
    if not isinstance(response, dict):
        return _kept(fault("unavailable", f"The batch did not ask it: {_words(error)}"))
    body, status = response.get("body"), response.get("status_code", 200)
    status = status if isinstance(status, int) else 500
    if 200 <= status < 300 and isinstance(body, dict) and not error:
        return read_completion(body, want_probabilities=want_probabilities, expected=expected, reading=reading)
    if 200 <= status < 300:
        return _kept(fault("bad_json", f"No answer in the response: {_words(error)}"))
    payload = body if isinstance(body, dict) and body else error
    if not isinstance(payload, dict):
        payload = {"error": {"message": _words(payload)}}
    return _kept(from_response(status, {}, json.dumps(payload).encode()))


def _kept(found: Fault) -> Reply:
    return storable_reply(found.reply())


def _words(error: Any) -> str:
    """What a line says went wrong, without anything that looks like a key."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("code") or error
    return redact(str(error or "no reason given"))


# ---------------------------------------------------------------- answers as a table

ANSWER_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("text", pa.string()),
        ("finish", pa.string()),
        ("tokens_in", pa.int64()),
        ("tokens_out", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("latency", pa.float64()),
        ("top_tokens", pa.list_(pa.struct([("token", pa.string()), ("logprob", pa.float64())]))),
        ("model", pa.string()),
        ("error", pa.string()),
        ("kind", pa.string()),
        ("attempts", pa.int64()),
        ("note", pa.string()),
    ]
)
"""The columns of an answer table, one row a call. ``key`` and ``text`` are enough; a missing
``finish`` counts as "stop". ``kind`` of an error is one of ``judges.faults.FAULTS``."""


def answer_row(key: str, reply: Reply) -> dict[str, Any]:
    """A Reply as a row of an answer table."""
    row = {name: getattr(reply, name) for name in ANSWER_SCHEMA.names if name != "key"}
    row["top_tokens"] = [{"token": t, "logprob": value} for t, value in reply.top_tokens]
    return {"key": key, **row}


def answer_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of :func:`answer_row` as an Arrow table."""
    return pa.Table.from_pylist([dict(row) for row in rows], schema=ANSWER_SCHEMA)


def write_answers(path: Path, table: pa.Table) -> None:
    """An answer table as a Parquet file that is either whole or not there."""
    with whole_file(path, BatchError) as file:
        pq.write_table(table, file, compression="zstd")


class _TableFile(_AnswerFile):
    """Answers as rows: what a spread writes, or any other program with the same columns."""

    def __init__(self, path: Path) -> None:
        content = read_file(path, error=BatchError)
        self._rows = parquet_table(str(path), content, max_bytes=MAX_FILE_MB * MB, error=BatchError)
        for name in ("key", "text"):
            if name not in self._rows.column_names:
                raise BatchError(
                    f"{path} has no column “{name}”; an answer table needs key and text. "
                    f"It has {', '.join(self._rows.column_names)}."
                )
        for at, name in enumerate(self._rows.column_names):
            # Counts stay as they are: one that is none is left out of its own reply only.
            if name in ANSWER_SCHEMA.names and name not in _COUNTS:
                wanted = ANSWER_SCHEMA.field(name).type
                what = f"has a column “{name}” that is not of the type {wanted}"
                with reading(str(path), what, BatchError):
                    column = self._rows.column(at).cast(wanted)
                self._rows = self._rows.set_column(at, name, column)

    def places(self) -> Iterator[tuple[int, str | None, bool]]:
        kinds = self._column("kind")
        errors = self._column("error")
        for place, key in enumerate(self._rows.column("key").to_pylist()):
            failed = errors[place] is not None
            yield place, key, failed and _kind(kinds[place], failed)[1]

    def reply(self, place: int, call: Call, judge: Judge) -> Reply:
        row = self._rows.slice(place, 1).to_pylist()[0]
        known = {name: row[name] for name in ANSWER_SCHEMA.names if row.get(name) is not None}
        known.pop("key")
        for name in _COUNTS & known.keys():
            known[name] = _count(known[name])
        if storable_count(known.get("attempts", 1)) is None:
            known["attempts"] = 1
        pairs = known.pop("top_tokens", ()) if call.want_probabilities else ()
        top = tuple((t["token"], t["logprob"]) for t in pairs if t is not None)
        known.pop("top_tokens", None)
        if len(known.get("text", "")) > MAX_TEXT:
            return too_long(known["text"]).reply()
        reply = Reply(**{**known, "top_tokens": top})
        if reply.error is not None:
            kind, passing = _kind(reply.kind, True)
            return replace(reply, finish="error", kind=kind, retryable=passing)
        if reply.model and not answers_as(judge, reply.model):
            return _kept(fault("wrong_model", f"The server answered as “{reply.model}”"))
        return reply

    def close(self) -> None:
        return None

    def _column(self, name: str) -> list[Any]:
        if name in self._rows.column_names:
            values: list[Any] = self._rows.column(name).to_pylist()
            return values
        return [None] * len(self._rows)


_COUNTS = frozenset({"tokens_in", "tokens_out", "cached_tokens", "attempts"})


def _count(value: Any) -> Any:
    """A count as pandas writes it beside missing ones, 7.0 or NaN, as 7 or None."""
    if isinstance(value, float) and (value.is_integer() or value != value):
        return int(value) if value == value else None
    return value


def _kind(kind: Any, failed: bool) -> tuple[str, bool]:
    """A fault's kind, and whether it says nothing about the call; unknown kinds say nothing."""
    known = FAULTS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return "server_error", failed
    return known.name, known.retryable or known.name in PASSING_KINDS
