"""Commands about runs: results, import, export."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.commands.common import (
    EXIT_OK,
    command,
    existing_store,
    print_results,
    say,
)
from rubriclab.model import LabError


def add_results(parsers: Any) -> None:
    about = "Print all findings of a run."
    made = command(parsers, "results", results, about)
    made.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    made.add_argument("--html", type=Path, metavar="OUT.html",
                         help="write all numbers and charts into one HTML file as well")  # fmt: skip


def add_import(parsers: Any) -> None:
    about = "Import judgments made elsewhere, one a row."
    made = command(parsers, "import", import_file, about)
    made.add_argument(
        "file", type=Path, metavar="FILE", help="CSV, TSV, JSONL, JSON, Parquet, Excel"
    )
    made.add_argument("--kind", required=True, choices=("scores", "criteria", "pairs", "run"),
                      help="scores: judge, dataset, item_id, ordering, score; "
                      "criteria: judge, dataset, text_id, ordering, criterion, score; "
                      "pairs: judge, question_id, task, first, second, choice; "
                      "run: an archive written by export")  # fmt: skip
    made.add_argument("--name", help="a name for the run (default: the file's)")


def add_export(parsers: Any) -> None:
    about = (
        "Write a run to one archive that another lab can show, check and go on with: "
        "import it with --kind run."
    )
    made = command(parsers, "export", export, about)
    made.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    made.add_argument("--out", type=Path, required=True, metavar="FILE.zip")


def results(arguments: argparse.Namespace) -> int:
    with existing_store(arguments.store) as store:
        info = store.run(arguments.run)
        if arguments.html is not None:
            _write_html(store, info, arguments.html)
        print_results(store, info.run, arguments.json)
    return EXIT_OK


def _write_html(store: Any, info: Any, path: Path) -> None:
    """The run as one HTML file. Raises LabError where it cannot be written."""
    from rubriclab.report import html_report

    page = html_report(store.frame(info.run, probabilities=True), provenance=info.provenance)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as fault:
        raise LabError(f"{path} cannot be written: {fault.strerror}.") from fault
    say(f"{path}: {len(page.encode()) / 1e6:.1f} MB, opens without a network.")


def import_file(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.imports import read_judgments
    from rubriclab.provenance import import_provenance
    from rubriclab.store import Store

    try:
        content = arguments.file.read_bytes()
    except OSError as fault:
        raise LabError(f"{arguments.file} cannot be read: {fault.strerror}.") from fault
    if arguments.kind == "run":
        return _import_archive(content, arguments)
    name = arguments.name or arguments.file.name.split(".")[0]
    data = read_judgments(arguments.kind, arguments.file.name, content, name=name)
    with Store(arguments.store) as store:
        run = store.import_run(data, provenance=import_provenance(arguments.file.name, content))
        say(f"Run {run}: {len(data.judgments):,} judgments imported.")
        print_results(store, run, arguments.json)
    return EXIT_OK


def _import_archive(content: bytes, arguments: argparse.Namespace) -> int:
    from rubriclab.archive import read_archive
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        info = store.run(read_archive(store, content))
        say(f"Run {info.run}: {info.done:,} of {info.planned:,} calls are here, {info.state}.")
        print_results(store, info.run, arguments.json)
    return EXIT_OK


def export(arguments: argparse.Namespace) -> int:
    from rubriclab.archive import write_archive

    with existing_store(arguments.store) as store:
        run = store.run(arguments.run).run
        try:
            arguments.out.write_bytes(write_archive(store, run))
        except OSError as fault:
            raise LabError(f"{arguments.out} cannot be written: {fault.strerror}.") from fault
    if arguments.json:
        print(json.dumps({"run": run, "file": str(arguments.out)}))
    else:
        say(f"Run {run} written to {arguments.out}.")
    return EXIT_OK
