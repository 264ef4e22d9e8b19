"""Arguments in, an answer on standard output and an exit code out; the code is decided before anything is printed.

0 done · 1 something you can mend · 2 wrong arguments · 3 stopped before its end · 4 fails · 5 cannot tell.
"""

import contextlib
import json
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from rubriclab import __version__
from rubriclab.cli.common import ARGUMENTS, DONE, MEND, STOPPED, Outcome
from rubriclab.model.text import LabError, printable


def command_line() -> App:
    """All commands. Their functions import what they need when they are called: ``--help`` answers at once."""
    from rubriclab.cli import files, gate, results, studies

    app = App(
        name="rubriclab",
        version=__version__,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=()),
        help="Does your LLM judge read the rubric, or the order it is in? Measure it on your own data.",
        help_epilogue="Exit codes: 0 done, 1 something you can mend, 2 wrong arguments, 3 stopped before its end, "
        "4 fails, 5 cannot tell.",
    )
    commands = (
        studies.lab,
        studies.plan,
        studies.run,
        results.results,
        results.judgments,
        files.export,
        gate.gate,
        results.runs,
        studies.judges,
    )
    for command in commands:
        app.command(command)
    app.command(files.import_file, name="import")
    return app


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and give its exit code. Nothing that a user can mend ends in a traceback."""
    try:
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


def _print(text: str, code: int, *, error: bool = False) -> int:
    """Print for a terminal; a reader that has gone does not change the exit code."""
    stream = sys.stderr if error else sys.stdout
    try:
        for part in printable(text).splitlines() or [""]:
            print(part, file=stream)
        stream.flush()
    except BrokenPipeError:
        # What Python would still flush at its end must go nowhere, or the exit code would become 120.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except UnicodeEncodeError:
        coding = stream.encoding or "ascii"
        print(text.encode(coding, "backslashreplace").decode(coding), file=stream)
    return code
