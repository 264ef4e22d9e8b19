"""The command that imports judgments made elsewhere, of whatever kind."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EXIT_OK,
    EXIT_UNFINISHED,
    add_reading,
    command,
    document,
    left_out_lines,
    opened_store,
    print_documents,
    say,
)
from rubriclab.datasets.imports import READERS
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.runs.logs import ImportedLog

COLUMNS = ("prompt", "reply", "judge", "task", "dataset", "asked")
"""What a column of a table of prompts and replies can be named for."""


def add_import(parsers: Any) -> None:
    about = "Import judgments made elsewhere: a table, a log of a tool or of a public judge, an archive."
    made = command(parsers, "import", import_judgments, about)
    made.add_argument("file", type=Path, metavar="FILE", help="CSV, TSV, JSONL, JSON, Parquet, Excel, .gz, .eval, .zip")
    made.add_argument(
        "beside", type=Path, nargs="*", metavar="MORE", help="files that belong to it, as a batch's input to its output"
    )
    kinds = [f"{kind}: {reader.columns}; " for kind, reader in READERS.items()]
    made.add_argument(
        "--kind",
        help="what the file holds, found out without it. Tables of judgments: "
        + "".join(kinds)
        + "run: an archive written by export or report, of one run or of several; a log's name: see --kinds",
    )
    made.add_argument("--kinds", action=_Kinds, help="list the kinds of logs that are read, and stop")
    made.add_argument("--name", help="a name for the run (default: the file's)")
    for name in COLUMNS:
        made.add_argument(
            f"--{name}-column", metavar="COLUMN", help=f"of a table of prompts and replies: the column of the {name}"
        )
    add_reading(made)


class _Kinds(argparse.Action):
    """Prints the kinds of logs and stops; their readers are imported only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        del arguments
        from rubriclab.datasets.logs import LOGS

        for kind, log in LOGS.items():
            print(f"{kind:<16} {log.title}\n{'':<16} known by {log.fields}")
        parser.exit()


def import_judgments(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.logs import Source
    from rubriclab.runs.importing import ANY_TABLE, ARCHIVE, import_file, kind_of
    from rubriclab.runs.logs import Stopped
    from rubriclab.runs.terminal import Signals, reading_progress

    named = {name: getattr(arguments, f"{name}_column") for name in COLUMNS}
    columns = {name: column for name, column in named.items() if column is not None}
    source = Source(arguments.file, columns=columns, beside=[Source(path) for path in arguments.beside])
    kind = arguments.kind or (ANY_TABLE if columns else kind_of(source))
    try:
        with ExitStack() as stack, Signals() as signals:
            store = _Store(arguments.store, stack)
            show = reading_progress(signals)
            imported = import_file(store.open, source, kind=kind, name=arguments.name or "", progress=show)
            for run in imported.runs:
                info = store.open().run(run)
                done = f"{info.done:,} of {many(info.planned, 'call', 'are')} here, {info.state}"
                say(f"Run {run}: {done if kind == ARCHIVE else f'{info.done:,} calls imported'}.")
            if imported.log:
                say(log_text(imported.log))
            documents = [document(store.open(), run, arguments) for run in imported.runs]
    except Stopped as stopped:
        say(f"rubriclab: {stopped}")
        return EXIT_UNFINISHED
    print_documents(documents, as_json=arguments.json)
    return EXIT_OK


class _Store:
    """The store that a file goes into: opened at once where it is there, else once the file is read."""

    def __init__(self, path: str, stack: ExitStack) -> None:
        self._path, self._stack, self._store = path, stack, None
        if Path(path).exists():
            self.open()

    def open(self) -> Any:
        if self._store is None:
            self._store = self._stack.enter_context(opened_store(self._path))
        return self._store


def log_text(log: ImportedLog) -> str:
    """What became of each record of a log, in lines."""
    from rubriclab.datasets.logs import LOGS

    sources = ", ".join(f"{origin} ({count:,})" for origin, count in log.order_from.items())
    lines = [
        f"A log of {LOGS[log.kind].title}: {log.judgments:,} of {many(log.records, 'record', 'are')} judgments. Order from: {sources}."
    ]
    return "\n".join([*lines, *left_out_lines(log.unread, "not read"), *(f"  {note}" for note in log.notes)])
