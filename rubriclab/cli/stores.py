"""Commands about a store's file: check, salvage, backup, partitions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EPILOG, EXIT_FAULT, EXIT_OK, tell
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.store.salvage import Report


def add_store(parsers: Any) -> None:
    about = "Check a store's file, save what is whole in a damaged one, make a backup, or a folder of Parquet files."
    parts = parsers.add_parser("store", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="check|salvage|backup|partitions")
    _add(parts, "check", check, "Read everything in a store once and say what is damaged.")
    saved = _add(
        parts,
        "salvage",
        salvage,
        "Write what is whole in a damaged store, and in the journals beside it, into a "
        "new one. The damaged file stays as it is.",
    )
    copied = _add(
        parts,
        "backup",
        backup,
        "Write a consistent copy. A lab that has the store open makes it itself: the button is on its Runs page.",
    )
    for made in (saved, copied):
        made.add_argument("--out", required=True, metavar="NEW.duckdb", help="a name that is free")
    parted = _add(
        parts,
        "partitions",
        partitions,
        "Write judgments as Parquet files, a folder for each run and arm, which DuckDB and others read in place.",
    )
    parted.add_argument("--run", action="append", default=[], metavar="RUN", help="only this run; repeat for several")
    parted.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="a new or empty folder")


def _add(parts: Any, name: str, run: Any, about: str) -> Any:
    made = parts.add_parser(
        name, help=about, description=about, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("file", metavar="FILE", help="the store, a .duckdb file")
    made.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    made.set_defaults(command=run)
    return made


def check(arguments: argparse.Namespace) -> int:
    from rubriclab.store.salvage import check_store

    report = check_store(arguments.file)
    if arguments.json:
        tell(_document(report))
    else:
        tell("\n".join(_lines(report)))
        tell(
            f"{arguments.file} is sound."
            if report.sound
            else f"{arguments.file} is not whole. Save what is: python -m rubriclab store salvage "
            f"{arguments.file} --out NEW.duckdb"
        )
    return EXIT_OK if report.sound else EXIT_FAULT


def salvage(arguments: argparse.Namespace) -> int:
    from rubriclab.store.salvage import salvage_store

    report = salvage_store(arguments.file, arguments.out)
    if arguments.json:
        tell({**_document(report), "out": arguments.out})
    else:
        tell("\n".join(_lines(report)))
        tell(f"Saved in {arguments.out}. {arguments.file} was not changed.")
    return EXIT_OK


def backup(arguments: argparse.Namespace) -> int:
    from rubriclab.store.salvage import backup_store

    made = backup_store(arguments.file, arguments.out)
    tell({"file": arguments.file, "out": str(made)} if arguments.json else f"Copied to {made}.")
    return EXIT_OK


def partitions(arguments: argparse.Namespace) -> int:
    from rubriclab.cli.common import existing_store, say
    from rubriclab.store.partitions import Partition, write_partitions

    def done(part: Partition) -> None:
        say(
            f"{part.folder}: {many(part.judgments, 'judgment')} in {many(part.files, 'file')}, {part.size / 1e6:,.1f} MB"
        )

    with existing_store(arguments.file) as store:
        parts = write_partitions(store, arguments.out, arguments.run, done=done)
    judgments, size = sum(part.judgments for part in parts), sum(part.size for part in parts)
    if arguments.json:
        tell({"out": str(arguments.out), "judgments": judgments, "bytes": size, "partitions": [vars(p) for p in parts]})
    else:
        tell(f"{many(judgments, 'judgment')} in {arguments.out}, {size / 1e6:,.1f} MB.")
    return EXIT_OK


def _lines(report: Report) -> list[str]:
    lines = [table.sentence() for table in report.tables]
    if report.journal_records or report.journal_unread:
        unread = f", {report.journal_unread:,} unreadable parts" if report.journal_unread else ""
        lines.append(f"journals: {many(report.journal_records, 'reply')}{unread}")
    return lines + report.notes


def _document(report: Report) -> dict[str, Any]:
    return {
        "file": report.path,
        "sound": report.sound,
        "tables": {
            t.name: {
                "rows": t.rows,
                "whole": t.whole,
                "partly": t.partly,
                "lost": t.lost,
                "lost_columns": sorted(t.columns),
            }
            for t in report.tables
        },
        "journal": {"replies": report.journal_records, "unreadable": report.journal_unread},
        "notes": report.notes,
    }
