"""The command line: the same path as the pages, with no page in it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rubriclab import __version__
from rubriclab.model import LabError

EXIT_OK, EXIT_FAULT, EXIT_USAGE, EXIT_UNFINISHED = 0, 1, 2, 3
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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_demo(commands)
    _add_plan(commands)
    _add_run(commands)
    _add_results(commands)
    _add_import(commands)
    _add_batch(commands)
    _add_spread(commands)
    _add_export(commands)
    _add_check(commands)
    _add_references(commands)
    return parser


def _add_plan(commands: Any) -> None:
    about = "Say what a study will take (calls, tokens, money, time) and what it can see (power)."
    made = commands.add_parser("plan", help=about, description=about)
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
    made.set_defaults(command=_plan)


def _add_check(commands: Any) -> None:
    about = "Check the lab's own methods on simulated judges with known effects."
    made = commands.add_parser("check-methods", help=about, description=about)
    made.add_argument("--studies", type=_positive, default=200, metavar="N",
                      help="simulated studies through the whole pipeline (default 200)")  # fmt: skip
    made.add_argument("--quick", action="store_true", help="few studies: seconds, rough numbers")
    made.add_argument("--items", type=_positive, default=60, metavar="N")
    made.add_argument("--options", type=_positive, default=5, metavar="N", help="score options")
    for name, what in (("first", "what stands first"), ("last", "what stands last"),
                       ("label", "the label 1"), ("neighbour", "what follows the highest score")):
        made.add_argument(f"--{name}", type=float, default=0.5 if name == "first" else 0.0,
                          metavar="X", help=f"planted log-odds for {what}")  # fmt: skip
    made.add_argument("--item-sd", type=float, default=0.0, metavar="S",
                      help="sd of items' own leanings to positions, in log-odds")  # fmt: skip
    made.add_argument("--unread", type=float, default=0.1, metavar="R",
                      help="share of replies that cannot be read (default 0.1)")  # fmt: skip
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", action="store_true", help="print one JSON document")
    made.set_defaults(command=_check_methods)


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], int], about: str
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=about, description=about, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("--store", required=True, metavar="FILE", help="the store, a .duckdb file")
    made.add_argument(
        "--json", action="store_true", help="print one JSON document and nothing else"
    )
    made.set_defaults(command=run)
    return made


def _add_demo(commands: Any) -> None:
    about = "Run the sample data and rubric through an embedded judge and print the findings."
    demo = _command(commands, "demo", _demo, about)
    demo.add_argument("--items", type=_positive, default=12, metavar="N",
                      help="how many sample items to judge (default 12)")  # fmt: skip
    demo.add_argument("--judge", action="append", metavar="MODEL",
                      help="an embedded model's name or a GGUF file (default smollm2-135m); "
                      "may be given more than once")  # fmt: skip
    demo.add_argument("--name", default="Demo", help="the run's name (default Demo)")


def _add_run(commands: Any) -> None:
    about = (
        "Run a study file. A finished study asks nothing again; an interrupted one goes on."
    )
    run = _command(commands, "run", _run, about)
    run.add_argument("study", type=Path, metavar="STUDY.toml")
    run.add_argument("--max-calls", type=_positive, metavar="N", help="stop after N calls")
    run.add_argument("--max-money", type=float, metavar="M",
                     help="stop when M is spent, at the judges' prices")  # fmt: skip
    run.add_argument("--retry-failed", action="store_true",
                     help="ask again, and only, the calls that ended in an error")  # fmt: skip
    run.add_argument("--stop-at-width", type=_width, metavar="W",
                     help="pause once every arm's 95 %% interval on Cramér's V is at most W wide "
                     "(valid however often it looks)")  # fmt: skip


def _add_results(commands: Any) -> None:
    about = "Print all findings of a run."
    results = _command(commands, "results", _results, about)
    results.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    results.add_argument("--html", type=Path, metavar="OUT.html",
                         help="write all numbers and charts into one HTML file as well")  # fmt: skip


def _add_import(commands: Any) -> None:
    about = "Import judgments made elsewhere, one a row."
    made = _command(commands, "import", _import, about)
    made.add_argument("file", type=Path, metavar="FILE", help="CSV, TSV, JSONL, JSON, Parquet, Excel")
    made.add_argument("--kind", required=True, choices=("scores", "criteria", "pairs", "run"),
                      help="scores: judge, dataset, item_id, ordering, score; "
                      "criteria: judge, dataset, text_id, ordering, criterion, score; "
                      "pairs: judge, question_id, task, first, second, choice; "
                      "run: an archive written by export")  # fmt: skip
    made.add_argument("--name", help="a name for the run (default: the file's)")


def _add_export(commands: Any) -> None:
    about = (
        "Write a run to one archive that another lab can show, check and go on with: "
        "import it with --kind run."
    )
    export = _command(commands, "export", _export, about)
    export.add_argument("run", metavar="RUN", help="a run's name or the beginning of it")
    export.add_argument("--out", type=Path, required=True, metavar="FILE.zip")


def _add_batch(commands: Any) -> None:
    about = "Ask the calls of a study through batch files (vllm run-batch, the OpenAI Batch API)."
    parts = commands.add_parser("batch", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="export|import")
    about = "Write the calls that have no judgment yet as OpenAI batch JSONL, one folder a judge."
    export = _command(parts, "export", _batch_export, about)
    export.add_argument("study", type=Path, metavar="STUDY.toml")
    export.add_argument("--out", type=Path, required=True, metavar="DIR", help="an empty folder")
    export.add_argument("--part-size", type=_positive, metavar="N",
                        help="calls a file (default 10,000)")  # fmt: skip
    export.add_argument("--retry-failed", action="store_true",
                        help="export the calls that ended in an error, and only these")  # fmt: skip
    about = "Read the answers of batch files, or answer tables, into the study's run."
    taken = _command(parts, "import", _batch_import, about)
    taken.add_argument("study", type=Path, metavar="STUDY.toml")
    taken.add_argument("files", type=Path, nargs="+", metavar="FILE",
                       help="answers (.jsonl, .parquet) or folders of them")  # fmt: skip


def _add_spread(commands: Any) -> None:
    about = "Spread the calls of a study over the workers of a Ray cluster, then import them."
    spread = _command(commands, "spread", _spread, about)
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


def _add_references(commands: Any) -> None:
    about = (
        "Write reference answers of every score for a study's data: a writer model writes to the "
        "score's description, a reviewer must agree. Call again to go on where it stopped."
    )
    made = _command(commands, "references", _references, about)
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


# ---------------------------------------------------------------- commands


def _plan(arguments: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from rubriclab.estimate import plan_json, plan_text, study_plan
    from rubriclab.ingest.study import load_study
    from rubriclab.store import Store

    if arguments.store and not Path(arguments.store).exists():
        raise LabError(f"There is no store {arguments.store}; leave --store out to plan without one.")
    with Store(arguments.store) if arguments.store else nullcontext() as store:
        found = study_plan(
            load_study(arguments.study), store=store, effect_v=arguments.effect,
            pilot=arguments.pilot, randomness=arguments.randomness, item_sd=arguments.item_sd,
        )  # fmt: skip
    _tell(plan_json(found) if arguments.json else plan_text(found))
    return EXIT_OK


def _check_methods(arguments: argparse.Namespace) -> int:
    from rubriclab.check import check_methods
    from rubriclab.findings.check import Planted, as_text
    from rubriclab.findings.plain import plain

    terminal = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if terminal:
            print(f"\r{done:,} of {total:,} steps\x1b[K", end="", file=sys.stderr, flush=True)

    found = check_methods(
        studies=12 if arguments.quick else arguments.studies,
        array_studies=100 if arguments.quick else 1_000,
        items=arguments.items, options=arguments.options, seed=arguments.seed,
        planted=Planted(arguments.first, arguments.last, arguments.label, arguments.neighbour,
                        arguments.item_sd, arguments.unread),
        progress=progress,
    )  # fmt: skip
    if terminal:
        print(file=sys.stderr)
    _tell(plain(found) if arguments.json else as_text(found))
    return EXIT_OK


def _tell(document: Any) -> None:
    """A document as JSON, a text as it is."""
    if isinstance(document, str):
        print(document)
    else:
        json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
        print()


def _demo(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.sample import demo_study, embedded_judge

    judges = tuple(embedded_judge(name) for name in arguments.judge or ["smollm2-135m"])
    study = demo_study(items=arguments.items, judges=judges, name=arguments.name)
    return _run_study(study, arguments)


def _run(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.study import load_study

    return _run_study(load_study(arguments.study), arguments)


def _run_study(study: Any, arguments: argparse.Namespace) -> int:
    """Run to its end with a progress line, then print the findings."""
    from rubriclab.runner import Limits, RunManager
    from rubriclab.sequential import StopAtWidth
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        limits = Limits(
            max_calls=getattr(arguments, "max_calls", None),
            max_money=getattr(arguments, "max_money", None),
        )
        manager = RunManager(store)
        run = manager.start(
            study, limits=limits, only_failed=getattr(arguments, "retry_failed", False)
        )
        width = getattr(arguments, "stop_at_width", None)
        rule = StopAtWidth(run, store, width=width).start() if width is not None else None
        last = _watch(run)
        if rule is not None and rule.error is not None:
            _say(f"The stop rule could not look: {rule.error}")
        if last.asked == 0 and last.state == "finished":
            _say(f"Run {last.run} was finished already: {last.done:,} calls judged, none asked.")
        else:
            _say(f"Run {last.run}: {last.state}, {last.asked:,} calls asked, {last.done:,} of "
                 f"{last.planned:,} judged{'. ' + last.reason if last.reason else ''}")  # fmt: skip
        if last.done:
            _print_results(store, last.run, arguments.json, asked=last.asked, state=last.state)
        return EXIT_OK if last.state == "finished" else EXIT_UNFINISHED


def _watch(run: Any) -> Any:
    """Wait for a run, with a progress line on a terminal; Ctrl-C pauses it."""
    terminal = sys.stderr.isatty()
    try:
        while True:
            shown = run.wait(0.5 if terminal else 60.0)
            if terminal:
                print("\r" + _progress_line(shown) + "\x1b[K", end="", file=sys.stderr, flush=True)
            if not shown.active:
                if terminal:
                    print(file=sys.stderr)
                return shown
    except KeyboardInterrupt:
        _say("\nPausing: waiting for the calls in flight. Call again to go on.")
        run.pause()
        return run.wait(120.0)


def _progress_line(shown: Any) -> str:
    if shown.stage:
        return str(shown.stage)
    width = 28
    share = shown.done / shown.planned if shown.planned else 1.0
    bar = "█" * round(width * share) + "░" * (width - round(width * share))
    eta = f", {shown.eta:.0f} s left" if shown.eta is not None else ""
    unread = sum(n for name, n in shown.counts.items() if name != "ok")
    return f"{bar} {shown.done:,}/{shown.planned:,}  {shown.rate:.1f}/s{eta}, {unread} unread"


def _results(arguments: argparse.Namespace) -> int:
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        info = store.run(arguments.run)
        if arguments.html is not None:
            _write_html(store, info, arguments.html)
        _print_results(store, info.run, arguments.json)
    return EXIT_OK


def _write_html(store: Any, info: Any, path: Path) -> None:
    """The run as one HTML file. Raises LabError where it cannot be written."""
    from rubriclab.report import html_report

    page = html_report(store.frame(info.run, probabilities=True), provenance=info.provenance)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as fault:
        raise LabError(f"{path} cannot be written: {fault.strerror}.") from fault
    _say(f"{path}: {len(page.encode()) / 1e6:.1f} MB, opens without a network.")


def _import(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.imports import read_judgments
    from rubriclab.provenance import import_provenance
    from rubriclab.store import Store

    try:
        content = arguments.file.read_bytes()
    except OSError as fault:
        raise LabError(f"{arguments.file} cannot be read: {fault.strerror}.") from fault
    if arguments.kind == "run":
        return _import_archive(content, arguments)
    name = arguments.name or arguments.file.name.split(".")[0]
    data = read_judgments(arguments.kind, arguments.file.name, content, name=name)
    with Store(arguments.store) as store:
        run = store.import_run(data, provenance=import_provenance(arguments.file.name, content))
        _say(f"Run {run}: {len(data.judgments):,} judgments imported.")
        _print_results(store, run, arguments.json)
    return EXIT_OK


def _import_archive(content: bytes, arguments: argparse.Namespace) -> int:
    from rubriclab.archive import read_archive
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        info = store.run(read_archive(store, content))
        _say(f"Run {info.run}: {info.done:,} of {info.planned:,} calls are here, {info.state}.")
        _print_results(store, info.run, arguments.json)
    return EXIT_OK


def _export(arguments: argparse.Namespace) -> int:
    from rubriclab.archive import write_archive
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        run = store.run(arguments.run).run
        try:
            arguments.out.write_bytes(write_archive(store, run))
        except OSError as fault:
            raise LabError(f"{arguments.out} cannot be written: {fault.strerror}.") from fault
    if arguments.json:
        print(json.dumps({"run": run, "file": str(arguments.out)}))
    else:
        _say(f"Run {run} written to {arguments.out}.")
    return EXIT_OK


def _batch_export(arguments: argparse.Namespace) -> int:
    from rubriclab.batch import PART_SIZE, write_batch
    from rubriclab.findings.plain import plain
    from rubriclab.ingest.study import load_study
    from rubriclab.plan import plan
    from rubriclab.store import Store

    prepared = plan(load_study(arguments.study))
    with Store(arguments.store) as store:
        exported = write_batch(
            store,
            prepared,
            arguments.out,
            part_size=arguments.part_size or PART_SIZE,
            again=arguments.retry_failed,
        )
    for judge in exported.judges:
        _say(f"{judge.judge}: {judge.calls:,} calls in {len(judge.parts)} file(s), "
             f"{arguments.out / judge.folder}")  # fmt: skip
    for name, why in exported.left_out.items():
        _say(f"{name}: left out, {why}.")
    _say(f"{exported.judged:,} of {exported.planned:,} calls were judged already.")
    if arguments.json:
        print(json.dumps(plain(exported), ensure_ascii=False, indent=1))
    return EXIT_OK


def _batch_import(arguments: argparse.Namespace) -> int:
    from rubriclab.answers import take_in
    from rubriclab.ingest.study import load_study
    from rubriclab.plan import plan
    from rubriclab.store import Store

    prepared = plan(load_study(arguments.study))
    with Store(arguments.store) as store:
        taken = take_in(store, prepared, arguments.files)
    return _tell_taken(taken, as_json=arguments.json)


def _spread(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.study import load_study
    from rubriclab.plan import plan
    from rubriclab.spread import spread
    from rubriclab.store import Store

    prepared = plan(load_study(arguments.study))
    with Store(arguments.store) as store:
        taken = spread(
            store,
            prepared,
            arguments.out,
            workers=arguments.workers,
            endpoints=arguments.endpoint,
            address=arguments.address,
            progress=_say,
        )
    return _tell_taken(taken, as_json=arguments.json)


def _tell_taken(taken: Any, *, as_json: bool) -> int:
    """Say what became of answers; every one of them is in one of the counts."""
    from rubriclab.findings.plain import plain

    _say(f"Run {taken.run}: {taken.kept:,} of {taken.answers:,} answers kept, {taken.known:,} known "
         f"already, {taken.duplicates:,} duplicates, {taken.unknown:,} of no call of this study, "
         f"{taken.unreadable:,} unreadable.")  # fmt: skip
    for place in taken.places:
        _say(f"  unreadable: {place}")
    for kind, count in taken.failed.items():
        _say(f"  {count:,} recorded as failed: {kind}")
    for kind, count in taken.unasked.items():
        _say(f"  {count:,} left to ask again: {kind}")
    _say(f"{taken.left:,} calls are left to ask." if taken.left else "Every call has its answer.")
    if as_json:
        print(json.dumps(plain(taken), ensure_ascii=False, indent=1))
    return EXIT_OK if taken.finished else EXIT_UNFINISHED


def _references(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.plain import plain
    from rubriclab.ingest.study import load_study
    from rubriclab.references import references_table, run_references
    from rubriclab.store import Store

    with Store(arguments.store) as store:
        found = run_references(
            load_study(arguments.study),
            writer=arguments.writer,
            reviewer=arguments.reviewer,
            store=store,
            limit=arguments.limit,
            progress=_references_line if sys.stderr.isatty() else None,
        )
    if arguments.out is not None:
        references_table(found.dataset).to_csv(arguments.out, index=False)
    told = {
        "dataset": found.dataset.id,
        "by_score": found.by_score,
        "existing": found.existing,
        "skipped": found.skipped,
        "state": found.progress.state,
        "reason": found.progress.reason,
        "notes": list(found.notes),
    }
    if arguments.json:
        _tell(plain(told))
    else:
        _say(f"\nReference answers: {found.progress.state}. {found.progress.reason}".rstrip())
        for note in found.notes:
            _say(note)
    return EXIT_OK if found.progress.state == "finished" else EXIT_UNFINISHED


def _references_line(shown: Any) -> None:
    text = f"{shown.accepted} accepted, {shown.failed} given up, of {shown.wanted}"
    print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


def _print_results(store: Any, run: str, as_json: bool, **more: object) -> None:
    from rubriclab.report import as_text, results

    document = {**results(store.frame(run, probabilities=True)), **more}
    if as_json:
        json.dump(document, sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        print(as_text(document))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
