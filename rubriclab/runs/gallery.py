"""Public logs that are here, read: into rows of the gallery, or into a run with every log line behind it."""

from __future__ import annotations

from pathlib import Path

from rubriclab.datasets import fetching
from rubriclab.datasets.gallery import PublicLogs
from rubriclab.datasets.logs import LOGS, Source
from rubriclab.datasets.logs.gathered import Gathered
from rubriclab.findings.gallery import LoggedAdvantage, logged_advantages
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.runs.importing import import_file
from rubriclab.store import Store


def read_public(public: PublicLogs, name: str, *, cache: Path | None = None) -> tuple[LoggedAdvantage, ...]:
    """What the log of that name says of its judges; nothing of it is kept.

    Raises DataError for a log that is not here, is broken, or has no pair that could be read.
    """
    source = Source(_path(public, name, cache))
    gathered = Gathered()
    for record in LOGS[public.kind].read(source):
        gathered.add(record)
    rows = [
        row
        for data, _ in gathered.runs(name)
        for row in logged_advantages(data, file=name, by_model=public.rows == "model")
    ]
    if not rows:
        raise DataError(tr("{title}: “{name}” has no pair that could be read.", title=public.title, name=name))
    return tuple(rows)


def open_public(store: Store, public: PublicLogs, name: str, *, cache: Path | None = None) -> str:
    """The run of that log, made where ``store`` does not have it yet. Raises DataError as ``read_public``."""
    path = _path(public, name, cache)
    return import_file(lambda: store, Source(path), kind=public.kind, name=run_name(public, name)).runs[0]


def run_name(public: PublicLogs, name: str) -> str:
    """What the run of a log is called."""
    return f"{public.title}: {public.short(name)}"


def _path(public: PublicLogs, name: str, cache: Path | None) -> Path:
    path = public.path(name, cache=cache)
    if not path.is_file():
        raise DataError(
            tr(
                "{title}: “{name}” is not here yet. Fetch it first, from {host}.",
                title=public.title,
                name=name,
                host=public.host,
            )
        )
    if fetching.altered(public.file(name), path):
        raise DataError(
            tr(
                "{title}: {path} is not the file that is known. Delete it and fetch it again.",
                title=public.title,
                path=path,
            )
        )
    return path
