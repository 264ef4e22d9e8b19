"""Commands about a store's file: check, salvage, backup."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EPILOG, EXIT_FAULT, EXIT_OK, tell
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.store.salvage import Report


def add_store(parsers: Any) -> None:
    about = "Check a store's file, save what is whole in a damaged one, or make a backup."
    parts = parsers.add_parser("store", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="check|salvage|backup")
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
