"""Arguments in, an answer on standard output and an exit code out; the code is decided before
anything is printed.

0 done · 1 something you can mend · 2 wrong arguments · 3 stopped before its end · 4 fails · 5
cannot tell.
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
from rubriclab.cli.common import ARGUMENTS, DONE, MEND, STOPPED, Outcome
from rubriclab.model.text import LabError, printable

SAME_SIGNAL_SECONDS = 2.0
"""Signals that come within so long are one: ``timeout`` and terminals send theirs twice."""


def command_line() -> App:
    """All commands. Their functions import what they need when they are called: ``--help`` answers
    at once.
    """
    from rubriclab.cli import files, gate, show, studies

    app = App(
        name="rubriclab",
        version=__version__,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=()),
        help="Does your LLM judge read the rubric, or the order it is in? Measure it on your own "
        "data.",
        help_epilogue="Exit codes: 0 done, 1 something you can mend, 2 wrong arguments, 3 stopped "
        "before its end, "
        "4 fails, 5 cannot tell.",
    )
    commands = (
        studies.lab,
        studies.plan,
        studies.run,
        show.results,
        show.judgments,
        files.export,
        gate.gate,
        show.runs,
        studies.judges,
    )
    for command in commands:
        app.command(command)
    app.command(files.import_file, name="import")
    return app


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code. Nothing that a user can mend ends in a traceback."""
    try:
        with stopped_by_signals():
            outcome = command_line()(
                list(arguments),
                exit_on_error=False,
                print_error=False,
                help_on_error=False,
                result_action="return_value",
            )
    except CycloptsError as fault:
        return _print(f"{fault}\nTry: rubriclab --help", ARGUMENTS, error=True)
    except LabError as fault:
        return _print(str(fault), MEND, error=True)
    except KeyboardInterrupt:
        return _print(
            "Stopped. What was judged is kept; the same command goes on.", STOPPED, error=True
        )
    if not isinstance(outcome, Outcome):
        return DONE
    if isinstance(outcome.said, dict):
        return _print(json.dumps(outcome.said, allow_nan=False, default=str), outcome.code)
    return _print(outcome.said, outcome.code)


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM (a batch system, ``timeout``) and SIGHUP (a closed terminal) stop a command as
    Ctrl-C does.

    Both often come twice at once, to the process and to its group: only one that comes later counts
    as a second Ctrl-C, which drops calls in flight. What the caller ignores (``nohup``) stays
    ignored.
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
    """Print for a terminal and return the exit code, which was decided before: no fault of printing
    changes it.
    """
    stream = sys.stderr if error else sys.stdout
    if stream is None:  # closed by the caller: ``>&-``
        return code
    try:
        for part in printable(text).splitlines() or [""]:
            print(part, file=stream)
        stream.flush()
    except UnicodeEncodeError:
        coding = stream.encoding or "ascii"
        with contextlib.suppress(OSError, ValueError):
            print(text.encode(coding, "backslashreplace").decode(coding), file=stream)
    except (OSError, ValueError) as fault:  # a reader that has gone, a full disk, a closed file
        if not isinstance(fault, BrokenPipeError) and not error and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                print(f"The output could not be written: {fault}", file=sys.stderr)
        _silence(stream)
    return code


def _silence(stream: IO[str]) -> None:
    """Let what Python would still flush at its end go nowhere, or the exit code would become
    120.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
