"""The command line: the same path as the pages, with no page in it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rubriclab import __version__, commands
from rubriclab.commands import EXIT_FAULT, EXIT_OK
from rubriclab.model import LabError

EPILOG = """exit codes:
  0  done
  1  something you can mend; the message on standard error says what
  2  wrong arguments
  3  the run stopped before its end (paused, cancelled, budget); call again to go on

An API key is read from the environment variable that a judge names (key_env), never from
the command line or a file."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except LabError as fault:
        print(f"rubriclab: {fault}", file=sys.stderr)
        return EXIT_FAULT
    except BrokenPipeError:
        return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rubriclab",
        description="Measure the order effects of LLM judges, and what takes them out.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rubriclab {__version__}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_demo(parsers)
    _add_plan(parsers)
    _add_run(parsers)
    _add_results(parsers)
    _add_import(parsers)
    _add_batch(parsers)
    _add_spread(parsers)
    _add_export(parsers)
    _add_check(parsers)
    _add_references(parsers)
    return parser


def _add_plan(parsers: Any) -> None:
    about = "Say what a study will take (calls, tokens, money, time) and what it can see (power)."
    made = parsers.add_parser("plan", help=about, description=about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--store", metavar="FILE",
                      help="a store with earlier runs: their tokens, rates and noise are used")  # fmt: skip
    made.add_argument("--effect", type=float, default=0.1, metavar="V",
                      help="the Cramér's V to be seen (default 0.1)")  # fmt: skip
    made.add_argument("--pilot", metavar="RUN", help="a run in the store to take the noise from")
    made.add_argument("--randomness", type=float, default=1.0, metavar="R",
                      help="stated noise: share of reads whose position is as good as drawn, 0..1 "
                      "(default 1, the worst)")  # fmt: skip
    made.add_argument("--item-sd", type=float, default=0.0, metavar="S",
                      help="stated noise: sd over items of an item's own share at a position")  # fmt: skip
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(command=commands.plan)


def _add_check(parsers: Any) -> None:
    about = "Check the lab's own methods on simulated judges with known effects."
    made = parsers.add_parser("check-methods", help=about, description=about)
    made.add_argument("--studies", type=_positive, default=200, metavar="N",
                      help="simulated studies through the whole pipeline (default 200)")  # fmt: skip
    made.add_argument("--quick", action="store_true", help="few studies: seconds, rough numbers")
    made.add_argument("--items", type=_positive, default=60, metavar="N")
    made.add_argument("--options", type=_positive, default=5, metavar="N", help="score options")
    for name, what in (
        ("first", "what stands first"),
        ("last", "what stands last"),
        ("label", "the label 1"),
        ("neighbour", "what follows the highest score"),
    ):
        made.add_argument(f"--{name}", type=float, default=0.5 if name == "first" else 0.0,
                          metavar="X", help=f"planted log-odds for {what}")  # fmt: skip
    made.add_argument("--item-sd", type=float, default=0.0, metavar="S",
                      help="sd of items' own leanings to positions, in log-odds")  # fmt: skip
    made.add_argument("--unread", type=float, default=0.1, metavar="R",
                      help="share of replies that cannot be read (default 0.1)")  # fmt: skip
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(command=commands.check_methods)


def _command(
    parsers: Any, name: str, run: Callable[[argparse.Namespace], int], about: str
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = parsers.add_parser(
        name, help=about, description=about, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("--store", required=True, metavar="FILE", help="the store, a .duckdb file")
    made.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else"
    )
    made.set_defaults(command=run)
    return made


def _add_demo(parsers: Any) -> None:
    about = "Run the sample data and rubric through an embedded judge and print the findings."
    demo = _command(parsers, "demo", commands.demo, about)
    demo.add_argument("--items", type=_positive, default=12, metavar="N",
                      help="how many sample items to judge (default 12)")  # fmt: skip
    demo.add_argument("--judge", action="append", metavar="MODEL",
                      help="an embedded model's name or a GGUF file (default smollm2-135m); "
                      "may be given more than once")  # fmt: skip
    demo.add_argument("--name", default="Demo", help="the run's name (default Demo)")


def _add_run(parsers: Any) -> None:
    about = "Run a study file. A finished study asks nothing again; an interrupted one goes on."
    run = _command(parsers, "run", commands.run, about)
    run.add_argument("study", type=Path, metavar="STUDY.toml")
    run.add_argument("--max-calls", type=_positive, metavar="N", help="stop after N calls")
    run.add_argument("--max-money", type=float, metavar="M",
                     help="stop when M is spent, at the judges' prices")  # fmt: skip
    run.add_argument("--retry-failed", action="store_true",
                     help="ask again, and only, the calls that ended in an error")  # fmt: skip
    run.add_argument("--stop-at-width", type=_width, metavar="W",
                     help="pause once every arm's 95 %% interval on Cramér's V is at most W wide "
                     "(valid however often it looks)")  # fmt: skip


def _add_results(parsers: Any) -> None:
    about = "Print all findings of a run."
    results = _command(parsers, "results", commands.results, about)
    results.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    results.add_argument("--html", type=Path, metavar="OUT.html",
                         help="write all numbers and charts into one HTML file as well")  # fmt: skip


def _add_import(parsers: Any) -> None:
    about = "Import judgments made elsewhere, one a row."
    made = _command(parsers, "import", commands.import_file, about)
    made.add_argument(
        "file", type=Path, metavar="FILE", help="CSV, TSV, JSONL, JSON, Parquet, Excel"
    )
    made.add_argument("--kind", required=True, choices=("scores", "criteria", "pairs", "run"),
                      help="scores: judge, dataset, item_id, ordering, score; "
                      "criteria: judge, dataset, text_id, ordering, criterion, score; "
                      "pairs: judge, question_id, task, first, second, choice; "
                      "run: an archive written by export")  # fmt: skip
    made.add_argument("--name", help="a name for the run (default: the file's)")


def _add_export(parsers: Any) -> None:
    about = (
        "Write a run to one archive that another lab can show, check and go on with: "
        "import it with --kind run."
    )
    export = _command(parsers, "export", commands.export, about)
    export.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    export.add_argument("--out", type=Path, required=True, metavar="FILE.zip")


def _add_batch(parsers: Any) -> None:
    about = "Ask the calls of a study through batch files (vllm run-batch, the OpenAI Batch API)."
    parts = parsers.add_parser("batch", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="export|import")
    about = "Write the calls that have no judgment yet as OpenAI batch JSONL, one folder a judge."
    export = _command(parts, "export", commands.batch_export, about)
    export.add_argument("study", type=Path, metavar="STUDY.toml")
    export.add_argument("--out", type=Path, required=True, metavar="DIR", help="an empty folder")
    export.add_argument("--part-size", type=_positive, metavar="N",
                        help="calls a file (default 10,000)")  # fmt: skip
    export.add_argument("--retry-failed", action="store_true",
                        help="export the calls that ended in an error, and only these")  # fmt: skip
    about = "Read the answers of batch files, or answer tables, into the study's run."
    taken = _command(parts, "import", commands.batch_import, about)
    taken.add_argument("study", type=Path, metavar="STUDY.toml")
    taken.add_argument("files", type=Path, nargs="+", metavar="FILE",
                       help="answers (.jsonl, .parquet) or folders of them")  # fmt: skip


def _add_spread(parsers: Any) -> None:
    about = "Spread the calls of a study over the workers of a Ray cluster, then import them."
    spread = _command(parsers, "spread", commands.spread, about)
    spread.add_argument("study", type=Path, metavar="STUDY.toml")
    spread.add_argument("--out", type=Path, required=True, metavar="DIR",
                        help="where the answers are kept, as Parquet")  # fmt: skip
    spread.add_argument("--workers", type=_positive, default=2, metavar="N",
                        help="how many processes ask (default 2)")  # fmt: skip
    spread.add_argument("--endpoint", action="append", default=[], metavar="URL",
                        help="a server of the judge's model, instead of the judge's own; "
                        "repeat for several")  # fmt: skip
    spread.add_argument("--address", metavar="ADDRESS",
                        help="a running Ray cluster (“auto”: this one; default: a local one)")  # fmt: skip


def _add_references(parsers: Any) -> None:
    about = (
        "Write reference answers of every score for a study's data: a writer model writes to the "
        "score's description, a reviewer must agree. Call again to go on where it stopped."
    )
    made = _command(parsers, "references", commands.references, about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--writer", required=True, metavar="JUDGE",
                      help="a judge of the study, else of the store")  # fmt: skip
    made.add_argument("--reviewer", required=True, metavar="JUDGE")
    made.add_argument("--limit", type=_positive, default=5, metavar="N",
                      help="attempts for each answer (default 5)")  # fmt: skip
    made.add_argument("--out", type=Path, metavar="FILE.csv",
                      help="also write the data with its reference answers as a table")  # fmt: skip


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return value


def _width(text: str) -> float:
    value = float(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a width between 0 and 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
