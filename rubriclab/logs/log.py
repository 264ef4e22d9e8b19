"""Read a log that another tool wrote as a table of judgments, with prompts and replies.

A separate worker reads the file, with limits on memory and time, because strangers wrote it. It
streams the records to an Arrow file, which the caller maps into memory. Every record becomes a
judgment, or is counted with the reason why it does not.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as compute

from rubriclab.data.choice_table import MAX_CANDIDATES
from rubriclab.data.limits import WORKER_MEMORY, refusal
from rubriclab.data.scores import REQUIRED
from rubriclab.data.tables import Table, as_file
from rubriclab.data.worker import Worker, program
from rubriclab.logs.benchmarks import BENCHMARKS
from rubriclab.logs.source import MAX_LOG, Reader, Record, Source, decoded
from rubriclab.logs.tools import DECISIONS, EXCHANGES, TOOLS
from rubriclab.logs.unknown import unknown_form, unknown_log
from rubriclab.model.data import MAX_OPTIONS
from rubriclab.model.text import count, storable

COLUMNS = (
    "judge",
    "dataset",
    "item_id",
    "ordering",
    "score",
    "question_id",
    "task",
    "first",
    "second",
    "choice",
    "order",
    "winner",
    "status",
    "expected",
    "gold",
    "human",
    "block",
    "candidate",
)
"""Columns of ``data/scores.py`` that a reader may fill, in the order of the table."""
SCHEMA = pa.schema(
    [(name, pa.large_string()) for name in (*COLUMNS, "kind", "messages", "reply", "finish")]
)
READERS = (*TOOLS, *BENCHMARKS, DECISIONS, EXCHANGES)
"""Every form that the lab can read; the first that matches reads the log."""
KNOWN = tuple(reader.name for reader in READERS)


@dataclass(frozen=True)
class _ListLimit:
    """Where a judgment lists its options, and how many ``data/scores.py`` accepts.

    separator: what is between two entries; None for spaces
    """

    column: str
    separator: str | None
    most: int


LIST_LIMITS = {
    "scores": _ListLimit("ordering", None, MAX_OPTIONS),
    "lists": _ListLimit("order", "|", MAX_CANDIDATES),
}
READ_SECONDS = 300.0
"""A worker that reads a log is stopped after this time: a hostile file must not run for ever."""
BATCH = 500
"""Records that are written to the Arrow file at once."""
MOST_SIBLINGS = 50
"""Files in the log's folder that may be its batch's input: a folder may hold thousands."""
HEAD = 1 << 16
"""Bytes at the beginning of a file in which we look for what makes it a log."""
LARGE = 1 << 16
"""A record with more characters is written at once, so that memory stays bounded."""
MOST_REASONS = 6
"""Reasons for records left out that one sentence lists, the commonest first."""
Records = Iterable[Record | str]


@dataclass(frozen=True)
class Log:
    """The judgments of one log, one per row.

    format: the name of the tool that wrote it
    kind: what was judged: scores, pairs or lists
    data: texts; the columns of ``data/scores.py`` that the log fills, then ``messages`` (as JSON),
        ``reply`` and ``finish``, which are empty where the log keeps none
    left: reason -> number of records that are not judgments
    """

    name: str
    format: str
    kind: str
    data: pa.Table
    left: Counter[str]

    @property
    def table(self) -> Table:
        """Return the table for ``read_judgments``; its note says what was left out."""
        return Table(self.name, self.data, self.note)

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.data.to_pandas())

    @property
    def note(self) -> str:
        """Return how many judgments were read, and what was left out and why."""
        read = f"{self.format} log: {count(self.data.num_rows, 'judgment')}."
        if not self.left:
            return read
        left = count(self.left.total(), "record is not a judgment", "records are not judgments")
        return f"{read} {left}: {_listed(self.left)}."


def read_log(source: str | Path | bytes, name: str = "", kind: str | None = None) -> Log | None:
    """Return the log in a file or in its bytes; None if it has none of the forms in ``READERS``.

    ``kind``: which judgments to read; None for the commonest. The input of a batch is looked for in
    the folder of its output. Raises LabError for a log of a tool whose form the lab cannot read,
    for a broken or hostile file, and for a log without a single judgment.
    """
    if not name:
        name = "log.json" if isinstance(source, bytes) else PurePath(str(source)).name
    with tempfile.TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True) as folder:
        file = as_file(source, name, Path(folder), MAX_LOG)
        if not _may_be(file):
            return None
        siblings = [] if isinstance(source, bytes) else _siblings(file)
        result = Path(folder, "result.arrow")
        worker = Worker(READ_SECONDS, command=program(WORKER_MEMORY, "log"))
        try:
            about = worker.run("log", file, name, result=str(result), siblings=siblings)
        finally:
            worker.close()
        if about.get("unknown"):
            raise unknown_log(name, about["unknown"], KNOWN)
        if about["format"] is None:
            return None
        with pa.memory_map(str(result)) as arrow:
            data = pa.ipc.open_file(arrow).read_all()
    return _of_one_kind(name, kind, about, data)


def _may_be(file: Path) -> bool:
    """Return whether the beginning of a file may be that of a log.

    A log is JSON, a zip, a compressed file, or a table that may have a column of prompts. No
    worker is started for anything else.
    """
    with file.open("rb") as opened:
        head = opened.read(HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    return re.match(rb"[{\[]|PK|PAR1|\x1f\x8b|.*(?:prompt|messages)", head, re.I | re.S) is not None


def _siblings(file: Path) -> list[str]:
    """Return the files in the log's folder that may be its batch's input."""
    found = sorted(str(path) for path in file.absolute().parent.glob("*.jsonl"))
    return found[:MOST_SIBLINGS]


def _of_one_kind(name: str, kind: str | None, about: Mapping[str, Any], data: pa.Table) -> Log:
    """Return the log with the judgments of one kind; the others count as left out.

    ``about``: what ``gather`` returned. Raises LabError if no record is a judgment.
    """
    left, kinds = Counter[str](about["left"]), Counter[str](about["kinds"])
    if not kinds:
        reasons = _listed(left) or "it has no records"
        raise refusal(
            name,
            f" is a log of {about['format']}, but none of its records is a judgment: {reasons}.",
        )
    taken = str(kind) if kind in kinds else kinds.most_common(1)[0][0]
    for other, records in kinds.items():
        if other != taken:
            left[
                f"it is a judgment of {other}, and {taken} were taken (--kind {other} takes it)"
            ] = records
    if len(kinds) > 1:
        data = data.filter(compute.equal(data.column("kind"), taken))
    kept = []
    for column in COLUMNS:
        filled = compute.any(compute.not_equal(data.column(column), "")).as_py()
        if filled or column in REQUIRED[taken]:  # type: ignore[index]
            kept.append(column)
    columns = [*kept, "messages", "reply", "finish"]
    return Log(name, about["format"], taken, data.select(columns), left)


def _listed(left: Counter[str]) -> str:
    """Return the commonest reasons with their numbers of records."""
    return "; ".join(f"{number:,} × {reason}" for reason, number in left.most_common(MOST_REASONS))


# ---- in the worker


def gather(
    file: str,
    name: str,
    result: str,
    siblings: Iterable[str],
    complete: Callable[[Records], Records],
) -> dict[str, Any]:
    """Write the judgments of a log to ``result``, and return what else is known about it.

    ``complete``: makes judgments of the records whose order is only in their prompts, or says why
    they are not judgments. Returns ``format`` (None: not a log), and either ``unknown`` (a tool
    whose form the lab cannot read) or ``left`` and ``kinds``, both with numbers of records.
    """
    scratch = Path(result).with_name("unpacked")
    source = Source(Path(file), name, scratch, tuple(Path(path) for path in siblings))
    reader = next((reader for reader in READERS if reader.matches(source)), None)
    if reader in (None, EXCHANGES):
        # Logs of other tools may have a prompt and a reply too, but not where we look for them.
        first = {key: decoded(value) for key, value in source.first.items()}
        nested = [key for key, value in first.items() if isinstance(value, list | dict)]
        unknown = unknown_form(first, nested)
        if unknown:
            return {"format": None, "unknown": unknown}
    if reader is None:
        return {"format": None}
    left, kinds = Counter[str](), Counter[str]()
    with pa.OSFile(result, "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        output = _Output(writer)
        for record in complete(_read(reader, source)):
            made = _within_limits(record)
            if isinstance(made, str):
                left[made] += 1
            else:
                kinds[made.kind] += 1
                output.add(made)
        output.flush()
    if source.broken:
        left["it is not a whole JSON object"] = source.broken
    return {"format": reader.name, "left": left, "kinds": kinds}


def _read(reader: Reader, source: Source) -> Iterator[Record | str]:
    """Yield what the records of a log hold, or why one holds no judgment.

    Strangers wrote the log: a field may be missing, of another type, or nested without end. That
    costs the one record, not the whole log.
    """
    for record in source.records(*reader.keys):
        try:
            yield from reader.read(record, source)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            yield f"it does not have the form of {reader.name}"


def _within_limits(record: Record | str) -> Record | str:
    """Return the record, or why it is left out: a list that is too long.

    Without this check, ``data/scores.py`` would refuse the whole file for one such record.
    """
    if isinstance(record, str) or record.kind not in LIST_LIMITS:
        return record
    limit = LIST_LIMITS[record.kind]
    entries = record.cells[limit.column].split(limit.separator)
    if len(entries) > limit.most:
        return f"it lists more than {limit.most} options"
    return record


class _Output:
    """The Arrow file of a log's judgments, written in batches so that memory stays bounded."""

    def __init__(self, writer: pa.ipc.RecordBatchFileWriter) -> None:
        self._writer = writer
        self._rows: list[dict[str, str]] = []

    def add(self, record: Record) -> None:
        """Add a judgment; a large one is written at once, with those before it."""
        messages = json.dumps(record.prompt, ensure_ascii=False) if record.prompt else ""
        cells = {
            **record.cells,
            "kind": record.kind,
            "messages": messages,
            "reply": record.reply,
            "finish": record.finish,
        }
        self._rows.append({column: storable(text) for column, text in cells.items()})
        size = sum(len(text) for text in self._rows[-1].values())
        if len(self._rows) >= BATCH or size > LARGE:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are waiting."""
        columns = []
        for column in SCHEMA.names:
            cells = [row.get(column, "") for row in self._rows]
            columns.append(pa.array(cells, pa.large_string()))
        self._writer.write_batch(pa.record_batch(columns, schema=SCHEMA))
        self._rows.clear()
