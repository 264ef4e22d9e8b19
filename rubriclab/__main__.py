"""The command line: the same path as the pages, with no page in it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rubriclab import __version__
from rubriclab.cli import (
    card,
    check,
    compare,
    drift,
    elsewhere,
    gallery,
    gate,
    imports,
    judges,
    judgments,
    jury,
    lab,
    listing,
    paper,
    present,
    prompts,
    proxy,
    pulls,
    replay,
    report,
    runs,
    share,
    stores,
    studies,
    suggest,
    trial,
    workshop,
)
from rubriclab.cli.common import EPILOG, EXIT_FAULT, EXIT_OK, EXIT_UNFINISHED
from rubriclab.model import LabError

COMMANDS = (
    lab.add_lab,
    studies.add_demo,
    judges.add_judges,
    trial.add_try,
    workshop.add_workshop,
    pulls.add_pulls,
    studies.add_plan,
    studies.add_run,
    listing.add_runs,
    runs.add_results,
    report.add_report,
    present.add_present,
    share.add_share,
    card.add_card,
    paper.add_paper,
    drift.add_drift,
    gate.add_gate,
    proxy.add_proxy,
    suggest.add_suggest,
    compare.add_compare,
    jury.add_jury,
    gallery.add_gallery,
    judgments.add_judgments,
    imports.add_import,
    replay.add_replay,
    elsewhere.add_batch,
    elsewhere.add_spread,
    runs.add_export,
    check.add_check,
    prompts.add_prompt,
    studies.add_references,
    stores.add_store,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except LabError as fault:
        print(f"rubriclab: {fault}", file=sys.stderr)
        return EXIT_FAULT
    except KeyboardInterrupt:
        print("Stopped. What was received is kept; the same command goes on.", file=sys.stderr)
        return EXIT_UNFINISHED
    except BrokenPipeError:
        return EXIT_OK


def _called() -> str:
    """The words the user called this with: the installed script or the module."""
    script = Path(sys.argv[0]).stem
    return script if script == "rubriclab" else "python -m rubriclab"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_called(),
        description="Measure the order effects of LLM judges, and what takes them out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rubriclab {__version__}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(parsers)
    return parser


if __name__ == "__main__":
    sys.exit(main())
