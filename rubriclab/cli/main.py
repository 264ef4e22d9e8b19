"""Run one command: parse its arguments, print its answer, and return its exit code.

The code is decided before anything is printed, so no reader of the output can change it:
0 done · 1 an error that you can fix · 2 wrong arguments · 3 stopped early · 4 fails ·
5 cannot tell.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any

from cyclopts import App, CycloptsError, Parameter

from rubriclab import __version__
from rubriclab.cli.common import ARGUMENTS, DONE, ERROR, STOPPED, Outcome
from rubriclab.model.text import LabError, printable

SAME_SIGNAL_SECONDS = 2.0
"""Signals that arrive within this time count as one. ``timeout`` and terminals send theirs twice,
to the process and to its group."""


def command_line() -> App:
    """Return the parser with all commands.

    The commands import what they need when they are called, so ``--help`` answers at once.
    """
    from rubriclab.cli import files, gate, local, planning, show, studies

    app = App(
        name="rubriclab",
        version=__version__,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=(), show_default=False),
        help="Does your LLM judge read the rubric, or the order it is listed in? Measure it with "
        "your own data.",
        help_epilogue="Without a command, rubriclab starts the lab. Exit codes: 0 done, 1 an error "
        "that you can fix, 2 wrong arguments, 3 stopped early, 4 the gate fails, 5 the "
        "gate cannot tell.",
    )
    app.command(local.lab)
    app.command(planning.plan)
    app.command(studies.run)
    app.command(show.results)
    app.command(show.judgments)
    app.command(files.import_file, name="import")
    app.command(files.export)
    app.command(gate.gate)
    app.command(show.runs)
    app.command(local.judges)
    return app


def _with_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, with the command ``lab`` in front if they name none."""
    first = next(iter(arguments), "")
    about_all = first in ("--help", "-h", "--version")
    named = bool(first) and not first.startswith("-")
    return list(arguments) if named or about_all else ["lab", *arguments]


def run_command(arguments: Sequence[str]) -> int:
    """Run one command, print what it says, and return its exit code.

    An error that a user can fix never ends in a traceback.
    """
    try:
        with stopped_by_signals():
            outcome = command_line()(
                _with_command(arguments),
                exit_on_error=False,
                print_error=False,
                help_on_error=False,
                result_action="return_value",
            )
    except CycloptsError as fault:
        return _print(f"{fault}\nTry rubriclab --help.", ARGUMENTS, error=True)
    except LabError as fault:
        return _print(str(fault), ERROR, error=True)
    except KeyboardInterrupt:
        return _print(
            "Stopped. All judgments so far are kept. Repeat the command to continue.",
            STOPPED,
            error=True,
        )
    if not isinstance(outcome, Outcome):
        return DONE
    if isinstance(outcome.output, dict):
        return _print(json.dumps(outcome.output, allow_nan=False, default=str), outcome.code)
    return _print(outcome.output, outcome.code)


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM (a batch system, ``timeout``) and SIGHUP (a closed terminal) act like Ctrl-C.

    Both often arrive twice at once. Only one that comes later counts as a second Ctrl-C, which
    drops the calls in flight. A signal that the caller ignores (``nohup``) stays ignored.
    """
    stopped = -SAME_SIGNAL_SECONDS

    def stop(_number: int, _frame: object) -> None:
        nonlocal stopped
        before, stopped = stopped, time.monotonic()
        if stopped - before >= SAME_SIGNAL_SECONDS:
            raise KeyboardInterrupt

    handled: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                handled[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


def _print(text: str, code: int, *, error: bool = False) -> int:
    """Print for a terminal and return ``code``. A fault of printing does not change it."""
    stream = sys.stderr if error else sys.stdout
    if stream is None:  # the caller closed it: ``>&-``
        return code
    try:
        for part in printable(text).splitlines() or [""]:
            print(part, file=stream)
        stream.flush()
    except UnicodeEncodeError:  # a terminal of another encoding: escape what it cannot show
        coding = stream.encoding or "ascii"
        with contextlib.suppress(OSError, ValueError):
            print(text.encode(coding, "backslashreplace").decode(coding), file=stream)
    except (OSError, ValueError) as fault:  # the reader is gone, the disk full, the file closed
        if not isinstance(fault, BrokenPipeError) and not error and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                print(f"Could not write the output: {fault}", file=sys.stderr)
        _silence(stream)
    return code


def _silence(stream: IO[str]) -> None:
    """Discard what Python would still flush when it ends. A fault there would exit with 120."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
