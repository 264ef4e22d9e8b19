"""What a command was given in; what all commands share out: store, run by name, progress, outcome
and exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from rubriclab.data.limits import names_file, user_path
from rubriclab.model.text import LabError, printable

if TYPE_CHECKING:
    from rubriclab.api import Lab, Run
    from rubriclab.exports.paper_table import PaperTable
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.session import Snapshot

DONE, MEND, ARGUMENTS, STOPPED, FAILS, CANNOT_TELL = range(6)
CODES_OF_STATES = {"finished": DONE, "failed": MEND}
"""Of a run; any other state is STOPPED."""
CODES = {"passes": DONE, "fails": FAILS, "unknown": CANNOT_TELL}


@dataclass(frozen=True)
class Outcome:
    """What a command says (text, or a document where --json asked for one) and its exit code."""

    said: str | dict[str, Any]
    code: int = DONE


RunName = Annotated[
    str, Parameter(help="A run (id, beginning of it, name), or a file: a table or a run's zip.")
]
StudyName = Annotated[
    str, Parameter(help="A study file (TOML), a preset, demo, or a log that is asked again.")
]
JudgeNames = Annotated[
    list[str] | None,
    Parameter(help="In place of the study's: MODEL, MODEL@http://HOST:PORT/v1, KIND:MODEL; again."),
]
KeyName = Annotated[str | None, Parameter(help="The environment variable with the key of --judge.")]
StorePath = Annotated[
    Path | None, Parameter(help="The store; RUBRICLAB_STORE or lab.duckdb where left out.")
]
Json = Annotated[bool, Parameter(help="Print one JSON document.")]

Tables = Annotated[
    list[str] | None,
    Parameter(
        help="A measure as papers print it (position_share:1: of position 1); again for more."
    ),
]
Across = Annotated[
    str, Parameter(help="Columns of --table: dataset, strategy, a factor, target, task, position.")
]
ByStrategy = Annotated[bool, Parameter(help="A line of --table for each ordering strategy.")]


def store_path(store: Path | None) -> Path:
    """The store's file: the option, else the environment's, else lab.duckdb here."""
    return store or Path(os.environ.get("RUBRICLAB_STORE") or "lab.duckdb")


def existing_store(store: Path | None) -> Path:
    """As ``store_path``. Raises LabError where no store is there yet."""
    path = store_path(store)
    if not user_path(path).is_file():
        raise LabError(
            f"There is no store at {path}. Make a run first (rubriclab run demo), or name one with "
            f"--store."
        )
    return path


def opened(store: Path | None, *, must_exist: bool = True) -> Lab:
    """The lab at ``store``, for a ``with`` block. Raises LabError where a store is needed and none
    is there.
    """
    from rubriclab.api import Lab

    return Lab(existing_store(store) if must_exist else store_path(store))


def paper_table(
    run: Run, measures: list[str] | None, across: str, by_strategy: bool
) -> PaperTable | None:
    """What --table asks for, if anything. Raises LabError for the options of a table without
    one.
    """
    if measures:
        return run.paper_table(*measures, across=across, by_strategy=by_strategy)
    if across != "dataset" or by_strategy:
        raise LabError(
            "--across and --by-strategy are of a table: name a measure, as --table cramers_v."
        )
    return None


@contextmanager
def run_of(name: str, store: Path | None) -> Iterator[Run]:
    """A run of the store by id, beginning or name; else the run that a file holds (a table of
    judgments, a run's zip).
    """
    from rubriclab.api import read

    path = Path(name)
    if path.suffix and names_file(path):
        yield read(path)
        return
    with opened(store) as lab:
        yield lab.run(name)


def other_run(run: Run, against: str) -> Run:
    """What a run is held against, read as it is: a run of its store, or a file of one. Raises
    LabError for neither.
    """
    from rubriclab.api import Run, read

    path = Path(against)
    if path.suffix and names_file(path):
        return Run(read(path).table, run.reading)
    if run.store is None:
        raise LabError(
            f"--against {against}: what a file is held against has to be a file too, as its run's "
            f"zip."
        )
    return Run(run.store.table(against), run.reading)


def progress_line(what: str = "call") -> Callable[[Snapshot], None]:
    """A function that keeps one line of progress (of calls, or ``what`` is made) on standard error,
    on a terminal.
    """
    shown = sys.stderr is not None and sys.stderr.isatty()

    def show(snapshot: Snapshot) -> None:
        if not shown:
            return
        left = (
            "" if snapshot.seconds_left is None else f", about {snapshot.seconds_left:,.0f} s left"
        )
        stage = f" · {snapshot.stage}" if snapshot.stage else ""
        line = f"\r\x1b[K{snapshot.done:,} of {snapshot.planned:,} {what}s{left}{stage}"
        with suppress(OSError, ValueError):  # the terminal was closed: the work goes on to its end
            print(line, end="", file=sys.stderr, flush=True)
            if snapshot.state not in ("planned", "running", "pausing"):
                print(file=sys.stderr)

    return show


def watched(made: list[ReadingCheck]) -> Callable[[Any], None]:
    """As ``progress_line``, for a run: prints its reading checks too, and adds them to ``made``."""
    progress = progress_line()

    def show(snapshot: Any) -> None:
        for check in snapshot.checks[len(made) :]:
            made.append(check)
            start = "\r\x1b[K" if sys.stderr.isatty() else ""
            print(f"{start}{printable(chr(10).join(check.text()))}", file=sys.stderr, flush=True)
        progress(snapshot)

    return show
