"""Judgments out of a log: read as a stream, kept whole or not at all."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rubriclab.datasets.limits import MB
from rubriclab.datasets.logs import LOGS, Logged, Source
from rubriclab.datasets.logs.gathered import Gathered
from rubriclab.datasets.logs.log import Counted
from rubriclab.model import DataError, LabError
from rubriclab.model.language import tr
from rubriclab.model.storable import storable_text
from rubriclab.model.wording import many
from rubriclab.store import Store
from rubriclab.store.logged import WORDS, Words
from rubriclab.store.provenance import import_provenance

AT_ONCE = 8 * MB
"""Signs of words that are held before they are written down."""
HEARD = 0.3
"""Seconds between two words of progress."""


class Stopped(LabError):
    """The reading of a log was stopped; nothing of it was kept."""


@dataclass(frozen=True)
class Progress:
    """How far a log is read: ``done`` of ``size`` bytes, the ``records`` so far, ``seconds`` it took."""

    done: int
    size: int
    records: int
    seconds: float

    @property
    def left(self) -> float:
        """Seconds that the rest takes at this pace; NaN before there is one."""
        return self.seconds * (self.size / self.done - 1.0) if self.done and self.size else float("nan")


@dataclass(frozen=True)
class ImportedLog:
    """What became of a log: its runs, one an axis, and every record in one of the counts.

    ``unread``: of each reason why a record gives no judgment, how many and the first of them;
    ``order_from``: what says the order, of how many judgments; ``prompts``: how many have their prompt.
    """

    kind: str
    runs: tuple[str, ...]
    records: int
    judgments: int
    unread: Counted
    order_from: Mapping[str, int]
    notes: tuple[str, ...]
    prompts: int = 0


def import_log(
    into: Callable[[], Store],
    source: Source,
    *,
    kind: str,
    name: str = "",
    progress: Callable[[Progress], bool] | None = None,
) -> ImportedLog:
    """Keep the judgments of a log as runs of the store that ``into`` gives, one an axis.

    ``kind``: a key of ``LOGS``. ``progress`` is told how far the
    reading is several times a second; where it returns False the reading stops.

    Raises DataError for a file that is broken at any place, or that has no judgment at all,
    and Stopped; then nothing is kept.
    """
    gathered = Gathered()
    with tempfile.TemporaryDirectory(prefix="rubriclab-log-") as folder:
        words = Path(folder) / "words.parquet"
        _gather(source, kind, gathered, words, progress)
        if not gathered.records:
            raise DataError(_nothing(source, kind, gathered))
        runs = _kept(into, source, kind, gathered, name or source.name.split(".")[0], words)
    return ImportedLog(
        kind=kind,
        runs=runs,
        records=gathered.records + gathered.unread.total,
        judgments=gathered.records,
        unread=gathered.unread.counted(),
        order_from=dict(gathered.order_from),
        notes=tuple(source.notes),
        prompts=gathered.prompts,
    )


def _gather(
    source: Source, kind: str, gathered: Gathered, words: Path, progress: Callable[[Progress], bool] | None
) -> None:
    """Read the log to its end: judgments into ``gathered``, their words into a file."""
    heard = started = time.monotonic()
    with _WordsFile(words) as file:
        for count, record in enumerate(LOGS[kind].read(source), start=1):
            number = gathered.add(record)
            if number is not None and isinstance(record, Logged):
                file.add(number, record)
            if progress is not None and (now := time.monotonic()) - heard > HEARD:
                heard = now
                if not progress(Progress(source.read, source.size, count, now - started)):
                    raise Stopped(
                        tr(
                            "Stopped after {records} of “{name}”; nothing of it was kept.",
                            records=many(count, "record"),
                            name=source.name,
                        )
                    )


def _kept(
    into: Callable[[], Store], source: Source, kind: str, gathered: Gathered, name: str, words: Path
) -> tuple[str, ...]:
    read = {"kind": kind, "unread": gathered.unread.counted(), "order_from": dict(gathered.order_from)}
    with source.open() as file:
        made_with = {**import_provenance(source.name, file), "log": read}
    runs = [(data, Words(words, calls)) for data, calls in gathered.runs(name)]
    return into().import_log(runs, provenance=made_with)


def _nothing(source: Source, kind: str, gathered: Gathered) -> str:
    return tr(
        "“{name}” ({kind}) has no judgment that could be read: {words}.",
        name=source.name,
        kind=kind,
        words=gathered.unread.words(),
    )


class _WordsFile:
    """The words of records, written to a Parquet file some megabytes at a time."""

    def __init__(self, path: Path) -> None:
        self._file = pq.ParquetWriter(path, WORDS, compression="zstd")
        self._rows: list[dict[str, object]] = []
        self._size = 0

    def __enter__(self) -> _WordsFile:
        return self

    def __exit__(self, *fault: object) -> None:
        self._write()
        self._file.close()

    def add(self, number: int, record: Logged) -> None:
        texts = (record.prompt, record.reply, record.instruction, *record.responses)
        prompt, reply, instruction, *responses = (storable_text(text) for text in texts)
        self._rows.append(
            {
                "record": number,
                "line": record.line,
                "prompt": prompt or None,
                "reply": reply or None,
                "asked": record.asked or None,
                "instruction": instruction,
                "responses": responses,
            }
        )
        self._size += sum(map(len, texts))
        if self._size > AT_ONCE:
            self._write()

    def _write(self) -> None:
        if self._rows:
            self._file.write_table(pa.Table.from_pylist(self._rows, schema=WORDS))
        self._rows, self._size = [], 0
