"""The command that decides whether a judge may stay: limits held against a run, by interval."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rubriclab.cli.common import (
    EXIT_CANNOT_TELL,
    EXIT_FAILS,
    EXIT_OK,
    add_trust,
    command,
    consent,
    end_words,
    existing_store,
    harmless,
    opened_store,
    positive,
    reading,
    say,
    tell,
)
from rubriclab.model import LabError, UnitChoice
from rubriclab.model.gate import CONDITIONS

if TYPE_CHECKING:
    from rubriclab.findings.gate import GateResult
    from rubriclab.model.gate_limits import GateLimits
    from rubriclab.store import Store

EXITS = {"passes": EXIT_OK, "fails": EXIT_FAILS, "cannot tell": EXIT_CANNOT_TELL}
EPILOG = """exit codes:
  0  passes: every condition is shown to hold
  4  fails: some condition is shown not to hold
  5  cannot tell: neither, or the run is not finished; more items or calls would tell
  1  something you can mend; the message on standard error says what
  2  wrong arguments

See docs/gate.md for what each condition measures, and how often a gate is wrong."""


def add_gate(parsers: Any) -> None:
    about = (
        "Hold a judge against limits: passes, fails or cannot tell, by interval. Runs a study file first (or goes on "
        "with it; nothing is asked twice). A study's [gate] table may hold the limits; options go before it."
    )
    made = command(parsers, "gate", gate, about)
    made.epilog = EPILOG
    made.add_argument("what", metavar="STUDY.toml|RUN", help="a study file, or the name of a run that is there")
    for condition in CONDITIONS.values():
        kind = "at least" if condition.least else "at most"
        unit = f", in {condition.unit}" if condition.unit else ""
        made.add_argument(
            condition.option, type=float, metavar="X", help=f"{condition.title}, {kind}{unit}: {condition.about}"
        )
    made.add_argument(
        "--max-calls", type=positive, metavar="N", help="stop after N calls; an unfinished run cannot tell"
    )
    made.add_argument(
        "--retry-failed", action="store_true", help="ask again, and only, the calls that ended in an error"
    )
    made.add_argument("--unit", choices=get_args(UnitChoice), help="what intervals resample (default: the study's)")
    made.add_argument("--limits", type=Path, metavar="STUDY.toml", help="for a run that is there: whose [gate] table")
    made.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML, a case for each condition")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also add a summary to FILE, as $GITHUB_STEP_SUMMARY"
    )
    made.add_argument(
        "--undecided",
        choices=("skip", "fail", "pass"),
        default="skip",
        help="what “cannot tell” is in JUnit: skipped (default), an error, or no news; the exit code stays",
    )
    add_trust(made)


def gate(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.gate import gate as decide
    from rubriclab.model.gate_limits import gate_limits

    named = {key: getattr(arguments, key) for key in CONDITIONS if getattr(arguments, key) is not None}
    own = gate_limits(named, "gate")
    study = Path(arguments.what) if arguments.what.endswith(".toml") else None
    limits = own.over(_table(study or arguments.limits))
    if not limits.given():
        options = ", ".join(condition.option for condition in CONDITIONS.values())
        raise LabError(f"The gate has no limit: name one or more of {options}, or write a [gate] table into the study.")
    with existing_store(arguments.store) if study is None else opened_store(arguments.store) as store:
        run = store.run(arguments.what).run if study is None else _run(study, arguments, store)
        result = decide(store.frame(run, probabilities=True).read_as(*reading(arguments)), limits)
    _write(result, arguments)
    return EXITS[result.outcome]


def _table(path: Path | None) -> GateLimits:
    from rubriclab.model.gate_limits import GateLimits
    from rubriclab.study.reading import load_gate

    return GateLimits() if path is None else load_gate(path)


def _run(path: Path, arguments: argparse.Namespace, store: Store) -> str:
    """Run the study to its end, or as far as may be; its name."""
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.terminal import Signals, show_progress, watch
    from rubriclab.runs.terms import Limits
    from rubriclab.study.reading import load_study

    study = load_study(path)
    consent(store, study.judges, trust=arguments.trust)
    with Signals() as signals:
        run = RunManager(store).start(
            study, limits=Limits(max_calls=arguments.max_calls), only_failed=arguments.retry_failed
        )
        last = watch(run, signals, show_progress if sys.stderr.isatty() else None)
    say(end_words(last))
    return last.run


def _write(result: GateResult, arguments: argparse.Namespace) -> None:
    from rubriclab.datasets.outfiles import write_file
    from rubriclab.report.gate import gate_json, gate_junit, gate_markdown, gate_text

    if arguments.junit is not None:
        write_file(arguments.junit, gate_junit(result, at=datetime.now(UTC), undecided=arguments.undecided))
    if arguments.markdown is not None:
        # Added to what is there: a step's summary may have parts of other steps.
        before = arguments.markdown.read_text(encoding="utf-8") if arguments.markdown.exists() else ""
        write_file(arguments.markdown, before + gate_markdown(result))
    if arguments.json:
        tell(gate_json(result))
    else:
        print(harmless(gate_text(result)))
