"""Judgments made elsewhere into a store, whatever file they lie in: one door for pages, command line, notebook."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass

from rubriclab.datasets.imports import READERS, kind_of_table, read_judgments
from rubriclab.datasets.limits import read_file
from rubriclab.datasets.logs import LOGS, Source, detect
from rubriclab.datasets.logs.rows import first_row
from rubriclab.datasets.logs.source import PARQUET
from rubriclab.datasets.tables import read_table
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.runs.logs import ImportedLog, Progress, import_log
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import RUN, STUDY
from rubriclab.store.provenance import import_provenance

ARCHIVE = "run"
ANY_TABLE = "table"
"""Of the logs, what is known by nothing but columns that could be a prompt and a reply."""


def kinds() -> tuple[str, ...]:
    """What a file can hold: tables of judgments, logs, an archive of runs."""
    return (*READERS, *LOGS, ARCHIVE)


def checked_kind(kind: str | None) -> str | None:
    """``kind`` itself. Raises DataError for one that there is not."""
    if kind is not None and kind not in kinds():
        raise DataError(
            tr(
                "“{kind}” is no kind of judgments; expected one of {kinds}, or none.",
                kind=kind,
                kinds=", ".join(kinds()),
            )
        )
    return kind


@dataclass(frozen=True)
class Imported:
    """The runs that a file became; ``log``: what became of each record, where it was a log."""

    kind: str
    runs: tuple[str, ...]
    log: ImportedLog | None = None


def import_file(
    into: Callable[[], Store],
    source: Source,
    *,
    kind: str | None = None,
    name: str = "",
    progress: Callable[[Progress], bool] | None = None,
) -> Imported:
    """Keep the judgments of a file as runs of the store that ``into`` gives.

    It is asked for only once the file is read, so that a faulty one leaves no new store behind.
    ``kind``: one of ``kinds()``; without one it is found by what the file holds. ``name``: of the run, without
    one the file's. ``progress``: as of :func:`import_log`, for logs. Raises LabError for a file of no kind, and
    for one that cannot be read whole; then nothing is kept.
    """
    chosen = checked_kind(kind) or kind_of(source)
    if chosen in LOGS:
        log = import_log(into, source, kind=chosen, name=name, progress=progress)
        return Imported(chosen, log.runs, log)
    content = source.place if isinstance(source.place, bytes) else read_file(source.place)
    if chosen == ARCHIVE:
        return Imported(chosen, read_archive(into(), content, name=source.name))
    data = read_judgments(chosen, source.name, content, name=name or source.name.split(".")[0])
    run = into().import_run(data, provenance=import_provenance(source.name, content))
    return Imported(chosen, (run,))


def kind_of(source: Source) -> str:
    """Which of ``kinds()`` a file is, by what it holds. Raises DataError where it is none of them."""
    if _is_archive(source):
        return ARCHIVE
    found = detect(source)
    if found in (None, ANY_TABLE):
        found = kind_of_table(_columns(source)) or found
    if found is None:
        raise DataError(_unknown(source))
    return found


def _is_archive(source: Source) -> bool:
    if not source.is_zip:
        return False
    try:
        with source.open() as file, zipfile.ZipFile(file) as archive:
            return any(name.split("/")[-1] in (STUDY, RUN) for name in archive.namelist())
    except zipfile.BadZipFile as fault:
        raise DataError(
            tr("“{name}” is not a whole zip file ({fault}). Is it cut off?", name=source.name, fault=fault)
        ) from fault


def _columns(source: Source) -> tuple[str, ...]:
    """The fields of the first records, or the columns of a table."""
    if source.first:
        return tuple(dict.fromkeys(name for record in source.first for name in record))
    if source.head[:1] in ("{", "["):
        return ()
    if source.head or source.magic == PARQUET:
        return tuple(first_row(source))
    content = source.place if isinstance(source.place, bytes) else read_file(source.place)
    return tuple(map(str, read_table(source.name, content).columns))


def _unknown(source: Source) -> str:
    """In words: what was seen, and what would be read."""
    columns = ", ".join(_columns(source)[:12])
    seen = tr(" It has {columns}.", columns=columns) if columns else ""
    tables = "; ".join(f"{kind}: {reader.columns}" for kind, reader in READERS.items())
    logs = "; ".join(f"{kind}: {log.fields}" for kind, log in LOGS.items())
    return tr(
        "“{name}” holds no judgments of a known kind.{seen} Tables have the columns {tables}. Logs are "
        "known by their fields, {logs}.",
        name=source.name,
        seen=seen,
        tables=tables,
        logs=logs,
    )
