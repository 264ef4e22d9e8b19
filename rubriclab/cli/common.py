"""What every command shares: exit codes, its parser, and how it speaks.

Imports of the lab stand inside the functions, so that ``--help`` and a wrong argument answer
at once.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rubriclab.model import LabError, UnitChoice
from rubriclab.model.language import LANGUAGES, SOURCE
from rubriclab.model.wording import many
from rubriclab.runs.terminal import consent as consent
from rubriclab.runs.terminal import say as say

if TYPE_CHECKING:
    from rubriclab.datasets.logs.log import Counted
    from rubriclab.runs.terms import Snapshot

EXIT_OK, EXIT_FAULT, EXIT_USAGE, EXIT_UNFINISHED = 0, 1, 2, 3
EXIT_FAILS, EXIT_CANNOT_TELL = 4, 5
"""Of commands whose answer is a verdict."""
EPILOG = """exit codes:
  0  done
  1  something you can mend; the message on standard error says what
  2  wrong arguments
  3  the run stopped before its end (paused, cancelled, budget); call again to go on

An API key is read from the environment variable that a judge names (key_env), never from
the command line or a file."""


def command(parsers: Any, name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = parsers.add_parser(
        name, help=about, description=about, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--store", required=True, metavar="FILE", help="the store, a .duckdb file")
    made.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    made.set_defaults(command=run)
    return made


def add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="yes, send the keys that the study's judges name to their addresses "
        "(asked for where the run was imported or an address has changed)",
    )


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return value


def _number(text: str) -> float:
    """NaN, which no bound holds, for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def above_nothing(below: float, example: str) -> Callable[[str], float]:
    """What reads a number above 0 and under ``below``; the message shows the ``example``."""

    def read(text: str) -> float:
        value = _number(text)
        if not 0 < value < below:
            raise argparse.ArgumentTypeError(f"{text} is not a number above 0, as {example}")
        return value

    return read


def tell(document: Any) -> None:
    """A document as JSON, a text as it is."""
    if isinstance(document, str):
        print(document)
    else:
        json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
        print()


def opened_store(path: str) -> Any:
    """The store of that name, made where there is none; what it has to say is said."""
    from rubriclab.store import Store

    store = Store(path)
    for notice in store.notices:
        say(f"Note: {notice}")
    return store


def existing_store(path: str) -> Any:
    """The store that is to be read. Raises LabError where there is none, and makes none."""
    if not Path(path).expanduser().exists():
        raise LabError(f"There is no store {path}. Name the .duckdb file that a run was kept in.")
    return opened_store(path)


def add_language(parser: argparse.ArgumentParser) -> None:
    """Of what is written for readers; what programs read is English always."""
    parser.add_argument(
        "--language",
        choices=list(LANGUAGES),
        default=SOURCE,
        help=f"of what is written: {', '.join(f'{code} ({name})' for code, name in LANGUAGES.items())} (default: {SOURCE})",
    )


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How answers are read: asks no call again."""
    add_interest(parser)
    parser.add_argument(
        "--epsilon",
        type=_epsilon,
        metavar="E",
        help="what a judge's being cheaper than an annotator is worth in the alternative annotator test: "
        "0.2 against experts, 0.15 (default) skilled annotators, 0.1 crowd workers",
    )
    parser.add_argument(
        "--cut", type=_cut, metavar="C", help="the lowest score that passes, for pass rates (default: mid-scale)"
    )


def add_interest(parser: argparse.ArgumentParser) -> None:
    """What verdicts are held against, and what intervals resample."""
    parser.add_argument(
        "--smallest-effect",
        type=_effect,
        metavar="S",
        help="the smallest effect of interest in steps of the scale (default: the study's, 0.1)",
    )
    parser.add_argument(
        "--unit",
        choices=get_args(UnitChoice),
        help="what intervals resample (default: the study's; auto is the prompt "
        "where items share one, else the block, else the item)",
    )


def _epsilon(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= 0.5:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to 0.5, as 0.15")
    return value


def _cut(text: str) -> float:
    value = _number(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is no score; name the lowest that passes, as 4")
    return value


def _effect(text: str) -> float:
    value = _number(text)
    if not 0 < value <= 10:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0, at most 10: steps of the scale, as 0.1")
    return value


def reading(arguments: argparse.Namespace | None) -> tuple[Any, ...]:
    """(smallest effect, unit, epsilon, cut) as the command says; None for what it leaves to the study."""
    return tuple(getattr(arguments, name, None) for name in ("smallest_effect", "unit", "epsilon", "cut"))


def say_end(last: Snapshot) -> None:
    """How a run that was watched has ended; of one that was finished before, that."""
    if last.asked == 0 and last.state == "finished":
        say(f"Run {last.run} was finished already: {many(last.done, 'call')} judged, none asked.")
    else:
        say(end_words(last))


def end_words(last: Snapshot) -> str:
    """How a run ended, how much it asked, and why it stopped."""
    reason = f". {last.reason}" if last.reason else ""
    return f"Run {last.run}: {last.state}, {many(last.asked, 'call')} asked, {last.done:,} of {last.planned:,} judged{reason}"


def document(store: Any, run: str, arguments: argparse.Namespace | None = None) -> dict[str, Any]:
    """A run's findings, read as the command says; of a log also what became of its records."""
    from rubriclab.report import results

    log = store.run(run).provenance.get("log")
    data = store.frame(run, probabilities=True).read_as(*reading(arguments))
    return {**results(data), **({"log": log} if log else {})}


def print_documents(documents: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """The findings of a run, or of several one after the other."""
    from rubriclab.report import as_text

    if as_json:
        tell(documents[0] if len(documents) == 1 else list(documents))
    else:
        print(harmless("\n\n".join(map(as_text, documents))))


def harmless(text: str) -> str:
    """Text with names of unknown origin in it: control characters, which a terminal would obey, as their codes."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda one: ascii(one.group())[1:-1], text)


def print_results(
    store: Any, run: str, as_json: bool, arguments: argparse.Namespace | None = None, **more: object
) -> None:
    print_documents([{**document(store, run, arguments), **more}], as_json=as_json)


def left_out_lines(counted: Counted, done: str) -> list[str]:
    """A line a reason why records of a log are left out; ``done``: what was not done with them."""
    lines = []
    for why, (count, first) in counted.items():
        listed = ", ".join(f"{line:,}" for line in first)
        lines.append(f"  {count:,} {done}: {why} (record {listed}{', …' if count > len(first) else ''}).")
    return lines
