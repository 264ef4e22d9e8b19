"""The command that checks the lab itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EXIT_OK, positive, tell
from rubriclab.model import LabError

if TYPE_CHECKING:
    from rubriclab.findings.check import Check


def add_check(parsers: Any) -> None:
    about = "Check the lab's own methods on simulated judges with known effects."
    made = parsers.add_parser("check-methods", help=about, description=about)
    made.add_argument(
        "--studies",
        type=positive,
        metavar="N",
        help="simulated studies through the whole pipeline (default 200; with --all 100 a setting)",
    )
    made.add_argument("--quick", action="store_true", help="few studies: seconds, rough numbers")
    _add_all(made)
    made.add_argument("--items", type=positive, default=60, metavar="N")
    made.add_argument("--options", type=positive, default=5, metavar="N", help="score options")
    for name, what in (
        ("first", "what stands first"),
        ("last", "what stands last"),
        ("label", "the label 1"),
        ("neighbour", "what follows the highest score"),
    ):
        made.add_argument(
            f"--{name}",
            type=float,
            default=0.5 if name == "first" else 0.0,
            metavar="X",
            help=f"planted log-odds for {what}",
        )
    made.add_argument(
        "--item-sd", type=float, default=0.0, metavar="S", help="sd of items' own leanings to positions, in log-odds"
    )
    made.add_argument(
        "--unread", type=float, default=0.1, metavar="R", help="share of replies that cannot be read (default 0.1)"
    )
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(command=check_methods)


def _add_all(made: argparse.ArgumentParser) -> None:
    whole = made.add_argument_group(
        "everything a run says",
        "held against the truth, for families of judges that the lab does "
        "not fit: hours; a check that was stopped goes on where it was",
    )
    whole.add_argument("--all", action="store_true", help="also check all advice and all intervals")
    whole.add_argument(
        "--kept",
        type=Path,
        default=Path("check-methods.jsonl"),
        metavar="FILE",
        help="where finished settings are kept (default %(default)s)",
    )
    for name, of in (("family", "family of judges"), ("design", "design")):
        whole.add_argument(f"--{name}", action="append", metavar="NAME", help=f"this {of} alone; may be given again")
    whole.add_argument("--sizes", type=positive, nargs="+", metavar="N", help="items of a study")
    whole.add_argument("--no-coverage", action="store_true", help="advice alone, not intervals")


def check_methods(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.check import Planted, as_text
    from rubriclab.findings.plain import plain
    from rubriclab.runs.check import check_methods

    terminal = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if terminal:
            print(f"\r{done:,} of {total:,} steps\x1b[K", end="", file=sys.stderr, flush=True)

    of_runs = _check_runs(arguments, progress) if arguments.all else ()
    result = check_methods(
        studies=12 if arguments.quick else arguments.studies or 200,
        array_studies=100 if arguments.quick else 1_000,
        pulls_runs=4 if arguments.quick else 100 if arguments.all else 20,
        pulls_whole=arguments.all,
        pulls_kept=arguments.kept if arguments.all else None,
        items=arguments.items,
        options=arguments.options,
        seed=arguments.seed,
        planted=Planted(
            arguments.first, arguments.last, arguments.label, arguments.neighbour, arguments.item_sd, arguments.unread
        ),
        progress=progress,
    )
    if terminal:
        print(file=sys.stderr)
    result = replace(result, checks=(*of_runs, *result.checks))
    tell(plain(result) if arguments.json else as_text(result))
    return EXIT_OK


def _check_runs(arguments: argparse.Namespace, progress: Callable[[int, int], None]) -> tuple[Check, ...]:
    """The part of ``--all``. Raises LabError for a family or a design that is none."""
    from rubriclab.judges.families import FAMILIES
    from rubriclab.runs.check_truth import ITEMS, cells
    from rubriclab.runs.check_verdicts import check_verdicts
    from rubriclab.runs.foreign import DESIGNS

    chosen = {}
    for what, given, known in (("families", arguments.family, FAMILIES), ("designs", arguments.design, DESIGNS)):
        for name in given or ():
            if name not in known:
                raise LabError(f"“{name}” is none of the {what}: {', '.join(known)}.")
        chosen[what] = tuple(given or known)
    wanted = cells(items=arguments.sizes or ITEMS, **chosen)
    return check_verdicts(
        wanted,
        studies=4 if arguments.quick else arguments.studies or 100,
        seed=arguments.seed,
        kept=arguments.kept,
        coverage=not arguments.no_coverage,
        progress=progress,
    )
