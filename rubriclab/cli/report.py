"""The command that writes a run, or several, as a document and as a bundle of data."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, add_language, add_reading, command, existing_store, reading, say
from rubriclab.model.language import speaking

KINDS = (".html", ".zip")


def add_report(parsers: Any) -> None:
    about = (
        "Write a run, or several beside each other, as one HTML file that opens without a "
        "network, or as a bundle of data that another lab imports."
    )
    made = command(parsers, "report", report, about)
    add_language(made)
    made.add_argument("runs", metavar="RUN", nargs="+", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--out",
        type=_target,
        action="append",
        required=True,
        metavar="FILE",
        help="FILE.html: the report; FILE.zip: the bundle (import it with --kind run); may be given twice",
    )
    made.add_argument("--title", default="", help="a title for the report (default: the run's)")
    add_reading(made)


def _target(text: str) -> Path:
    path = Path(text)
    if path.suffix.lower() not in KINDS:
        raise argparse.ArgumentTypeError(f"{text} should end in {' or '.join(KINDS)}")
    return path


def report(arguments: argparse.Namespace) -> int:
    from rubriclab.store.archive_writing import write_archive

    with existing_store(arguments.store) as store:
        runs = list(dict.fromkeys(store.run(name).run for name in arguments.runs))
        sizes = {}
        for path in arguments.out:
            if path.suffix.lower() == ".zip":
                sizes[str(path)] = write(path, write_archive(store, *runs))
            else:
                with speaking(arguments.language):
                    sizes[str(path)] = write_html(store, runs, path, title=arguments.title, read_as=reading(arguments))
    if arguments.json:
        print(json.dumps({"runs": runs, "files": sizes}, ensure_ascii=False))
    return EXIT_OK


def write_html(store: Any, runs: list[str], path: Path, *, title: str = "", read_as: tuple[Any, ...] = ()) -> int:
    """Runs as one HTML file; its size in bytes. Raises LabError where it cannot be written."""
    from rubriclab.report import source
    from rubriclab.report.page import html_report

    page = html_report([source(store, run, *read_as) for run in runs], title=title)
    return write(path, page.encode())


def write(path: Path, content: bytes) -> int:
    """Write a file and say so; its size in bytes. Raises LabError where it cannot be written."""
    from rubriclab.datasets.outfiles import write_file

    write_file(path, content)
    opens = ", opens without a network" if path.suffix.lower() == ".html" else ""
    say(f"{path}: {len(content) / 1e6:.1f} MB{opens}.")
    return len(content)
