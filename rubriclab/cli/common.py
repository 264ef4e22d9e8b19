"""Hold what all commands share: their options, the store, a run by its name, and progress.

A command is a function that returns an ``Outcome``. It prints nothing itself: ``main`` prints, so
that the exit code never depends on who reads the output. The modules import the rest of the
package inside their functions, because ``--help`` has to answer at once.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rubriclab.data.limits import names_file, user_path
from rubriclab.model.text import LabError, printable, shorten

if TYPE_CHECKING:
    from rubriclab.api import Lab, Run
    from rubriclab.exports.paper_table import PaperTable
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.session import Snapshot

DONE = 0
ERROR = 1
"""Something that the user can fix: a file, a setting, a server."""
ARGUMENTS = 2
STOPPED = 3
"""The work stopped before its end. The same command continues it."""
FAILS = 4
CANNOT_TELL = 5

CODES_OF_STATES = {"finished": DONE, "failed": ERROR}
"""The exit code of a run by its state. Every other state is STOPPED."""
CODES_OF_GATES = {"passes": DONE, "fails": FAILS, "unknown": CANNOT_TELL}


@dataclass(frozen=True)
class Outcome:
    """What a command prints and its exit code: text, or a document if ``--json`` was given."""

    output: str | dict[str, Any]
    code: int = DONE


RunName = Annotated[
    str,
    Parameter(
        help="Name, ID or start of the ID of a run, or a file: a table of judgments or a run's zip."
    ),
]
StudyName = Annotated[
    str,
    Parameter(
        help="Study file, for example study.toml. Also a preset such as hanna-options, demo, or a "
        "log whose prompts to repeat in other orders."
    ),
]
JudgeNames = Annotated[
    list[str] | None,
    Parameter(
        help="Judge to use instead of the study's, for example gpt-4.1@https://api.openai.com/v1, "
        "vllm:MODEL@URL or smollm2-135m-q8. Repeatable."
    ),
]
KeyName = Annotated[
    str | None,
    Parameter(help="Environment variable with the key of --judge, for example OPENAI_API_KEY."),
]
StorePath = Annotated[
    Path | None,
    Parameter(help="File with the results. Default: $RUBRICLAB_STORE, or lab.duckdb."),
]
Cut = Annotated[
    float | None, Parameter(help="Lowest score that passes. Default: the middle of the scale.")
]
Passes = Annotated[
    str | None,
    Parameter(help="Label or score that passes, of two scores. Default: the highest score."),
]
Labels = Annotated[
    Literal["random", "by label", "by verdict"] | None,
    Parameter(
        help="How the answers with people's labels were chosen: decides which numbers about pass "
        "and fail hold."
    ),
]
Json = Annotated[bool, Parameter(help="Print one JSON document for other programs.")]

Tables = Annotated[
    list[str] | None,
    Parameter(
        help="Print this measure as a table of a paper, for example cramers_v, or "
        "position_share:1 for position 1. Repeatable."
    ),
]
Across = Annotated[
    str,
    Parameter(
        help="What the columns of --table show: dataset, strategy, target, task, position, or "
        "the name of a factor.",
        show_default=True,
    ),
]
ByStrategy = Annotated[bool, Parameter(help="Give --table one line for each ordering strategy.")]


def store_path(store: Path | None) -> Path:
    """Return the file of the store: the option, or the environment's, or lab.duckdb here."""
    return store or Path(os.environ.get("RUBRICLAB_STORE") or "lab.duckdb")


def existing_store(store: Path | None) -> Path:
    """Return the file of the store. Raises LabError if it does not exist yet."""
    path = store_path(store)
    if not user_path(path).is_file():
        raise LabError(
            f"No results found at {path}. Start a run with `rubriclab run demo`, or choose another "
            f"file with --store."
        )
    return path


def opened(store: Path | None, *, must_exist: bool = True, write: bool = False) -> Lab:
    """Return the open lab at ``store``, for a ``with`` block.

    Without ``write`` it can be read while another process writes it. Raises LabError if the store
    must exist and does not.
    """
    from rubriclab.api import Lab

    path = existing_store(store) if must_exist else store_path(store)
    return Lab(path, read_only=not write, told=say_waiting)


def say_waiting(sentence: str) -> None:
    """Say on standard error what is being waited for, while a command seems to do nothing."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(printable(sentence), file=sys.stderr, flush=True)


def paper_table(
    run: Run, measures: list[str] | None, across: str, by_strategy: bool
) -> PaperTable | None:
    """Return the table that ``--table`` asks for, or None without ``--table``.

    Raises LabError if the other options of a table are given without a measure.
    """
    if measures:
        return run.paper_table(*measures, across=across, by_strategy=by_strategy)
    if across != "dataset" or by_strategy:
        raise LabError(
            "--across and --by-strategy change a table. Name a measure too, for example --table "
            "cramers_v."
        )
    return None


@contextmanager
def run_of(name: str, store: Path | None) -> Iterator[Run]:
    """Open the run that a file holds, or else a run of the store by its ID or name."""
    from rubriclab.api import read

    if _is_file(name):
        yield read(Path(name))
        return
    with opened(store) as lab:
        yield lab.run(name)


def other_run(run: Run, against: str) -> Run:
    """Return the run to compare ``run`` with: a run of its store, or the one that a file holds.

    It is read in the same way as ``run``, so that both have the same units and limits. Raises
    LabError if it is neither.
    """
    from rubriclab.api import Run, read

    if _is_file(against):
        return Run(read(Path(against)).table, run.reading)
    if run.store is None:
        raise LabError(
            f"--against {against}: a file can only be compared with another file. Export the run "
            f"as a zip first: rubriclab export {against} --out run.zip."
        )
    return Run(run.store.table(against), run.reading)


def _is_file(name: str) -> bool:
    """Return whether a name is a file's. A name without an ending is a run's."""
    path = Path(name)
    return bool(path.suffix) and names_file(path)


def progress_line(what: str = "call") -> Callable[[Snapshot], None]:
    """Return a function that keeps one line of progress on standard error.

    It counts calls, or ``what`` else is made. It prints nothing unless standard error is a
    terminal: a log file would fill with half-written lines.
    """
    from rubriclab.words.progress import progress_words

    on_terminal = sys.stderr is not None and sys.stderr.isatty()

    def show(snapshot: Snapshot) -> None:
        if not on_terminal:
            return
        # A line that wraps could not be written over.
        columns = shutil.get_terminal_size().columns - 1
        line = f"\r\x1b[K{shorten(printable(progress_words(snapshot, what)), columns)}"
        # The terminal may be closed while the work continues. That must not end the work.
        with suppress(OSError, ValueError):
            print(line, end="", file=sys.stderr, flush=True)
            if snapshot.state not in ("planned", "running", "pausing"):
                print(file=sys.stderr)

    return show


def progress_with_checks(seen: list[ReadingCheck]) -> Callable[[Any], None]:
    """Return a function that shows a run's progress and prints each reading check once.

    It adds the checks that it has printed to ``seen``.
    """
    show_progress = progress_line()

    def show(snapshot: Any) -> None:
        for check in snapshot.checks[len(seen) :]:
            seen.append(check)
            text = printable("\n".join(check.text()))
            if sys.stderr.isatty():
                text = f"\r\x1b[K{text}"  # in place of the line of progress
            print(text, file=sys.stderr, flush=True)
        show_progress(snapshot)

    return show
