"""Commands that ask elsewhere: batch files and a Ray cluster."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rubriclab.cli.common import EXIT_OK, EXIT_UNFINISHED, add_trust, command, consent, opened_store, positive, say
from rubriclab.model.wording import many


def add_batch(parsers: Any) -> None:
    about = "Ask the calls of a study through batch files (vllm run-batch, the OpenAI Batch API)."
    parts = parsers.add_parser("batch", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="export|import")
    about = "Write the calls that have no judgment yet as OpenAI batch JSONL, one folder a judge."
    made = command(parts, "export", batch_export, about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="an empty folder")
    made.add_argument("--part-size", type=positive, metavar="N", help="calls a file (default 10,000)")
    made.add_argument(
        "--retry-failed", action="store_true", help="export the calls that ended in an error, and only these"
    )
    about = "Read the answers of batch files, or answer tables, into the study's run."
    imported = command(parts, "import", batch_import, about)
    imported.add_argument("study", type=Path, metavar="STUDY.toml")
    imported.add_argument(
        "files", type=Path, nargs="+", metavar="FILE", help="answers (.jsonl, .parquet) or folders of them"
    )


def add_spread(parsers: Any) -> None:
    about = "Spread the calls of a study over the workers of a Ray cluster, then import them."
    made = command(parsers, "spread", spread, about)
    made.add_argument("study", type=Path, metavar="STUDY.toml")
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the answers are kept, as Parquet")
    made.add_argument("--workers", type=positive, default=2, metavar="N", help="how many processes ask (default 2)")
    made.add_argument(
        "--endpoint",
        action="append",
        default=[],
        metavar="URL",
        help="a server of the judge's model, instead of the judge's own; repeat for several",
    )
    made.add_argument(
        "--address", metavar="ADDRESS", help="a running Ray cluster (“auto”: this one; default: a local one)"
    )
    add_trust(made)


def batch_export(arguments: argparse.Namespace) -> int:
    from rubriclab.findings.plain import plain
    from rubriclab.runs.batch import PART_SIZE, write_batch
    from rubriclab.study.plan import plan
    from rubriclab.study.reading import load_study

    prepared = plan(load_study(arguments.study))
    with opened_store(arguments.store) as store:
        exported = write_batch(
            store, prepared, arguments.out, part_size=arguments.part_size or PART_SIZE, again=arguments.retry_failed
        )
    for judge in exported.judges:
        say(
            f"{judge.judge}: {many(judge.calls, 'call')} in {many(len(judge.parts), 'file')}, {arguments.out / judge.folder}"
        )
    for name, why in exported.left_out.items():
        say(f"{name}: left out, {why}.")
    say(f"{exported.judged:,} of {many(exported.planned, 'call', 'were')} judged already.")
    if arguments.json:
        print(json.dumps(plain(exported), ensure_ascii=False, indent=1))
    return EXIT_OK


def batch_import(arguments: argparse.Namespace) -> int:
    from rubriclab.runs.answers import import_answers
    from rubriclab.study.plan import plan
    from rubriclab.study.reading import load_study

    prepared = plan(load_study(arguments.study))
    with opened_store(arguments.store) as store:
        imported = import_answers(store, prepared, arguments.files)
    return _tell_taken(imported, as_json=arguments.json)


def spread(arguments: argparse.Namespace) -> int:
    from rubriclab.runs.spread import asked_judges, spread
    from rubriclab.study.plan import plan
    from rubriclab.study.reading import load_study

    prepared = plan(load_study(arguments.study))
    with opened_store(arguments.store) as store:
        consent(store, asked_judges(prepared, arguments.endpoint), trust=arguments.trust)
        imported = spread(
            store,
            prepared,
            arguments.out,
            workers=arguments.workers,
            endpoints=arguments.endpoint,
            address=arguments.address,
            progress=say,
        )
    return _tell_taken(imported, as_json=arguments.json)


def _tell_taken(imported: Any, *, as_json: bool) -> int:
    """Say what became of answers; every one of them is in one of the counts."""
    from rubriclab.findings.plain import plain

    say(
        f"Run {imported.run}: {imported.kept:,} of {many(imported.answers, 'answer')} kept, {imported.known:,} known "
        f"already, {imported.duplicates:,} duplicates, {imported.unknown:,} of no call of this study, "
        f"{imported.unreadable:,} unreadable."
    )
    for place in imported.places:
        say(f"  unreadable: {place}")
    for kind, count in imported.failed.items():
        say(f"  {count:,} recorded as failed: {kind}")
    for kind, count in imported.unasked.items():
        say(f"  {count:,} left to ask again: {kind}")
    say(f"{many(imported.left, 'call', 'are')} left to ask." if imported.left else "Every call has its answer.")
    if as_json:
        print(json.dumps(plain(imported), ensure_ascii=False, indent=1))
    return EXIT_OK if imported.finished else EXIT_UNFINISHED
