"""Read a log that another tool wrote as a table of judgments, with prompts and replies.

The file is read in its own worker, bounded in memory and time, and its records are streamed to an
Arrow file that the caller maps. Every record becomes a judgment, or is counted with its reason.
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
from rubriclab.logs.source import MAX_LOG, Record, Source, decoded
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
"""Columns of ``data/scores.py`` that a reader may fill."""
SCHEMA = pa.schema(
    [(name, pa.large_string()) for name in (*COLUMNS, "kind", "messages", "reply", "finish")]
)
READERS = (*TOOLS, *BENCHMARKS, DECISIONS, EXCHANGES)
"""Every form that is known; the first that matches reads."""
KNOWN = tuple(reader.name for reader in READERS)
LISTED = {"scores": ("ordering", None, MAX_OPTIONS), "lists": ("order", "|", MAX_CANDIDATES)}
"""Column, sign between its entries, and how many of them are taken, by the kind of judgments."""
READ_SECONDS = 300.0
BATCH, MOST_BESIDE = 500, 50
HEAD = 1 << 16
Records = Iterable[Record | str]


@dataclass(frozen=True)
class Log:
    """The judgments of a log, a row each.

    ``format``: the tool's name; ``kind``: of judgments, scores or pairs; ``data``: Arrow texts, the
    columns of ``data/scores.py`` that the log fills, then ``messages`` (as JSON), ``reply`` and
    ``finish``, empty where none are kept; ``left``: reason -> records that are no judgment.
    """

    name: str
    format: str
    kind: str
    data: pa.Table
    left: Counter[str]

    @property
    def table(self) -> Table:
        """What ``read_judgments`` reads; its note says what was left out."""
        return Table(self.name, self.data, self.note)

    @property
    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.data.to_pandas())

    @property
    def note(self) -> str:
        left = (
            f" {count(self.left.total(), 'record is', 'records are')} none: {_listed(self.left)}."
        )
        return f"{self.format} log: {count(self.data.num_rows, 'judgment')}." + left * bool(
            self.left
        )


def read_log(source: str | Path | bytes, name: str = "", kind: str | None = None) -> Log | None:
    """The log in a file or in the bytes of one; None where it is in no form that a reader knows.

    ``kind``: of judgments, the commonest where None. A batch's input is looked for in its output's
    folder. Raises LabError for a log of a tool whose form is not read, for a broken or hostile
    file, and for a log none of whose records is a judgment, saying why.
    """
    name = name or (PurePath(str(source)).name if not isinstance(source, bytes) else "log.json")
    worker = Worker(READ_SECONDS, command=program(WORKER_MEMORY, "log"))
    with tempfile.TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True) as folder:
        file = as_file(source, name, Path(folder), MAX_LOG)
        if not _may_be(file):
            return None
        result = Path(folder, "result.arrow")
        siblings = [] if isinstance(source, bytes) else file.absolute().parent.glob("*.jsonl")
        beside = sorted(map(str, siblings))[:MOST_BESIDE]
        try:
            about = worker.run("log", file, name, result=str(result), beside=beside)
        finally:
            worker.close()
        if about.get("unknown"):
            raise unknown_log(name, about["unknown"], KNOWN)
        if about["format"] is None:
            return None
        with pa.memory_map(str(result)) as arrow:
            data = pa.ipc.open_file(arrow).read_all()
    left, kinds = Counter(about["left"]), Counter(about["kinds"])
    if not kinds:
        words = _listed(left) or "it has no records"
        raise refusal(
            name, f" is a log of {about['format']}, but none of its records is a judgment: {words}."
        )
    taken = str(kind) if kind in kinds else kinds.most_common(1)[0][0]
    for other in {*kinds} - {taken}:
        left[f"it is a judgment of {other}, and {taken} were taken (--kind {other} takes it)"] = (
            kinds[other]
        )
        data = data.filter(compute.equal(data.column("kind"), taken))
    filled = {
        name for name in COLUMNS if compute.any(compute.not_equal(data.column(name), "")).as_py()
    }
    kept = [name for name in COLUMNS if name in filled.union(REQUIRED[taken])]  # type: ignore[index]
    return Log(
        name, about["format"], taken, data.select([*kept, "messages", "reply", "finish"]), left
    )


def _taken(record: Record | str) -> Record | str:
    """The record, or why it is left out: a list longer than ``data/scores.py`` takes would have the
    whole file refused.
    """
    if isinstance(record, str) or record.kind not in LISTED:
        return record
    column, sign, most = LISTED[record.kind]
    more = len(record.cells[column].split(sign)) > most
    return f"it lists more than {most} options" if more else record


def _may_be(file: Path) -> bool:
    """Whether a look at the file lets it be a log: JSON, a zip, something packed, or a table that
    may have a prompt.
    """
    with file.open("rb") as opened:
        head = opened.read(HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()
    return re.match(rb"[{\[]|PK|PAR1|\x1f\x8b|.*(?:prompt|messages)", head, re.I | re.S) is not None


def _listed(left: Counter[str]) -> str:
    return "; ".join(f"{number:,} × {reason}" for reason, number in left.most_common(6))


# ---- in the worker


def gather(
    file: str, name: str, result: str, beside: Iterable[str], complete: Callable[[Records], Records]
) -> dict[str, Any]:
    """Writes the judgments of a log to ``result``; returns its format (None: not a log), reasons
    and kinds with counts.

    ``complete``: makes judgments of the records whose order stands in their prompts, or says why
    they are none.
    """
    source = Source(Path(file), name, Path(result).with_name("unpacked"), tuple(map(Path, beside)))
    reader = next((reader for reader in READERS if reader.matches(source)), None)
    if reader in (None, EXCHANGES):
        first = {key: decoded(value) for key, value in source.first.items()}
        nested = [key for key, value in first.items() if isinstance(value, list | dict)]
        if unknown := unknown_form(first, nested):
            return {"format": None, "unknown": unknown}
    if reader is None:
        return {"format": None}
    left, kinds, rows = Counter[str](), Counter[str](), list[Mapping[str, str]]()
    with pa.OSFile(result, "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:

        def flush() -> None:
            cells = [
                pa.array([row.get(name, "") for row in rows], pa.large_string())
                for name in SCHEMA.names
            ]
            writer.write_batch(pa.record_batch(cells, schema=SCHEMA))
            rows.clear()

        def read() -> Iterator[Record | str]:
            for record in source.records(*reader.keys):
                try:
                    yield from reader.read(record, source)
                except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
                    yield f"it has not the form of {reader.name}"

        for made in map(_taken, complete(read())):
            if isinstance(made, str):
                left[made] += 1
                continue
            kinds[made.kind] += 1
            messages = json.dumps(made.prompt, ensure_ascii=False) if made.prompt else ""
            cells = {**made.cells, "kind": made.kind, "messages": messages, "reply": made.reply}
            cells["finish"] = made.finish
            rows.append({key: storable(text) for key, text in cells.items()})
            if len(rows) >= BATCH or sum(map(len, rows[-1].values())) > HEAD:
                flush()
        flush()
    if source.broken:
        left["it is no JSON object, or only half of one"] = source.broken
    return {"format": reader.name, "left": left, "kinds": kinds}
