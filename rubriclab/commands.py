"""What each command does: one function a command, from parsed arguments to an exit code.

Imports stand inside the functions, so that ``--help`` and a wrong argument answer at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rubriclab.model import LabError

EXIT_OK, EXIT_FAULT, EXIT_USAGE, EXIT_UNFINISHED = 0, 1, 2, 3


def plan(arguments: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from rubriclab.estimate import plan_json, plan_text, study_plan
    from rubriclab.ingest.study import load_study
    from rubriclab.store import Store

    if arguments.store and not Path(arguments.store).exists():
        raise LabError(
            f"There is no store {arguments.store}; leave --store out to plan without one."
        )
    with Store(arguments.store) if arguments.store else nullcontext() as store:
        found = study_plan(
            load_study(arguments.study), store=store, effect_v=arguments.effect,
            pilot=arguments.pilot, randomness=arguments.randomness, item_sd=arguments.item_sd,
        )  # fmt: skip
    _tell(plan_json(found) if arguments.json else plan_text(found))
    return EXIT_OK


def check_methods(arguments: argparse.Namespace) -> int:
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


def demo(arguments: argparse.Namespace) -> int:
    from rubriclab.ingest.sample import demo_study, embedded_judge

    judges = tuple(embedded_judge(name) for name in arguments.judge or ["smollm2-135m"])
    study = demo_study(items=arguments.items, judges=judges, name=arguments.name)
    return _run_study(study, arguments)


def run(arguments: argparse.Namespace) -> int:
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


def results(arguments: argparse.Namespace) -> int:
    with _existing_store(arguments.store) as store:
        info = store.run(arguments.run)
        if arguments.html is not None:
            _write_html(store, info, arguments.html)
        _print_results(store, info.run, arguments.json)
    return EXIT_OK


def _existing_store(path: str) -> Any:
    """The store that is to be read. Raises LabError where there is none, and makes none."""
    from rubriclab.store import Store

    if not Path(path).expanduser().is_file():
        raise LabError(f"There is no store {path}. Name the .duckdb file that a run was kept in.")
    return Store(path)


def _write_html(store: Any, info: Any, path: Path) -> None:
    """The run as one HTML file. Raises LabError where it cannot be written."""
    from rubriclab.report import html_report

    page = html_report(store.frame(info.run, probabilities=True), provenance=info.provenance)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as fault:
        raise LabError(f"{path} cannot be written: {fault.strerror}.") from fault
    _say(f"{path}: {len(page.encode()) / 1e6:.1f} MB, opens without a network.")


def import_file(arguments: argparse.Namespace) -> int:
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


def export(arguments: argparse.Namespace) -> int:
    from rubriclab.archive import write_archive

    with _existing_store(arguments.store) as store:
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


def batch_export(arguments: argparse.Namespace) -> int:
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


def batch_import(arguments: argparse.Namespace) -> int:
    from rubriclab.answers import take_in
    from rubriclab.ingest.study import load_study
    from rubriclab.plan import plan
    from rubriclab.store import Store

    prepared = plan(load_study(arguments.study))
    with Store(arguments.store) as store:
        taken = take_in(store, prepared, arguments.files)
    return _tell_taken(taken, as_json=arguments.json)


def spread(arguments: argparse.Namespace) -> int:
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


def references(arguments: argparse.Namespace) -> int:
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
