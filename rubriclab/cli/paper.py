"""The command that writes what a paper or a talk takes from a run: methods, tables, references, figures, data."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, add_reading, command, existing_store, reading, say
from rubriclab.model.wording import many

FORMATS = ("svg", "png", "pdf")
SIZES = ("column", "page", "slide")


def add_paper(parsers: Any) -> None:
    about = (
        "Write what a paper or a talk takes from a run: its methods and result tables as LaTeX and Markdown, the "
        "works they cite as BibTeX, figures, and its judgments as tables that R reads."
    )
    made = command(parsers, "paper", paper, about)
    made.add_argument("runs", metavar="RUN", nargs="+", help="a run's name, the beginning of it, or its title")
    made.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="a new folder, or a file that ends in .zip"
    )
    made.add_argument(
        "--figures",
        type=formats,
        default=(),
        metavar="svg,png,pdf",
        help="also draw the charts (needs a Chromium or Chrome)",
    )
    made.add_argument("--size", choices=SIZES, default="column", help="of the figures (default: column)")
    add_reading(made)


def formats(text: str) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if not named or set(named) - set(FORMATS):
        raise argparse.ArgumentTypeError(f"{text} should be some of {','.join(FORMATS)}, with commas between")
    return named


def paper(arguments: argparse.Namespace) -> int:
    from rubriclab.model import LabError
    from rubriclab.report.paper import of_runs
    from rubriclab.report.paper import paper as of_run

    out: Path = arguments.out
    packed = out.suffix.lower() == ".zip"
    if not packed and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise LabError(f"{out} is there already and not empty. Name a new folder, or remove that one first.")
    names = ("smallest_effect", "unit", "epsilon", "cut")
    with existing_store(arguments.store) as store:
        runs = list(dict.fromkeys(store.run(name).run for name in arguments.runs))
        papers = [of_run(store, run, **dict(zip(names, reading(arguments), strict=True))) for run in runs]
    files = of_runs(papers, arguments.figures, arguments.size)
    _written(out, files, packed=packed)
    if arguments.json:
        sizes = {path: len(body) for path, body in files.items()}
        print(json.dumps({"runs": runs, "out": str(out), "files": sizes}, ensure_ascii=False))
    else:
        say(f"{out}: {many(len(files), 'file')}, {sum(map(len, files.values())) / 1e6:.1f} MB. See docs/papers.md.")
    return EXIT_OK


def _written(out: Path, files: dict[str, bytes], *, packed: bool) -> None:
    """Raises LabError where a file cannot be written."""
    from rubriclab.datasets.outfiles import write_file
    from rubriclab.model import LabError
    from rubriclab.report.paper import zipped

    if packed:
        write_file(out, zipped(files))
        return
    for inside, body in files.items():
        path = out / inside
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise LabError(f"{path.parent} cannot be made: {fault.strerror or fault}.") from fault
        write_file(path, body)
