"""Commands about runs: results, export."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, add_reading, command, existing_store, print_results, reading
from rubriclab.cli.report import write, write_html


def add_results(parsers: Any) -> None:
    about = "Print all findings of a run."
    made = command(parsers, "results", results, about)
    made.add_argument("run", metavar="RUN", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--html", type=Path, metavar="OUT.html", help="write all numbers and charts into one HTML file as well"
    )
    add_reading(made)


def add_export(parsers: Any) -> None:
    about = "Write a run to one archive that another lab can show, check and go on with: import it with --kind run."
    made = command(parsers, "export", export, about)
    made.add_argument("run", metavar="RUN", help="a run's name, the beginning of it, or its title")
    made.add_argument("--out", type=Path, required=True, metavar="FILE.zip")


def results(arguments: argparse.Namespace) -> int:
    with existing_store(arguments.store) as store:
        info = store.run(arguments.run)
        if arguments.html is not None:
            write_html(store, [info.run], arguments.html, read_as=reading(arguments))
        print_results(store, info.run, arguments.json, arguments)
    return EXIT_OK


def export(arguments: argparse.Namespace) -> int:
    from rubriclab.store.archive_writing import write_archive

    with existing_store(arguments.store) as store:
        run = store.run(arguments.run).run
        write(arguments.out, write_archive(store, run))
    if arguments.json:
        print(json.dumps({"run": run, "file": str(arguments.out)}))
    return EXIT_OK
