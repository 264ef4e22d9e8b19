"""The command runs: the list of a store's runs, searched, and one or several of them kept in order."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from rubriclab.cli.common import EXIT_OK, command, existing_store, harmless, say, tell
from rubriclab.cli.report import write
from rubriclab.model import Axis
from rubriclab.model.wording import many

if TYPE_CHECKING:  # the commands start faster without them
    from rubriclab.store import RunInfo

STATES = ("planned", "running", "paused", "interrupted", "cancelled", "finished", "imported")
CHANGES = ("title", "tag", "untag", "archive", "restore", "delete", "for_good", "study")
LOOKS = ("search", "state", "kind", "since", "until", "shelf")


def add_runs(parsers: Any) -> None:
    about = (
        "List the runs of a store, searched and filtered; with RUN, keep these in order: title, tags, archive, "
        "delete and restore. A run's name in addresses, files and archives stays what it was."
    )
    made = command(parsers, "runs", runs, about)
    made.add_argument("runs", nargs="*", metavar="RUN", help="a run's name, the beginning of it, or its title")
    tags = "with RUN: put this tag on it; else list runs that have it (may be given more than once)"
    made.add_argument("--tag", action="append", default=[], metavar="TAG", help=tags)
    looked = made.add_argument_group("which runs are listed")
    looked.add_argument(
        "--search", metavar="WORDS", help="words of a title, name, tag, judge or data set; all must stand"
    )
    looked.add_argument("--state", action="append", choices=STATES, help="may be given more than once")
    kinds = (*get_args(Axis), "trial")
    looked.add_argument(
        "--kind", action="append", choices=kinds, help="what was varied; trial: one text that was tried"
    )
    looked.add_argument("--since", type=_day, metavar="DAY", help="made on that day or later, as 2026-01-31")
    looked.add_argument("--until", type=_day, metavar="DAY", help="made on that day or before")
    shelves = looked.add_mutually_exclusive_group()
    for shelf, text in (("archived", "archived runs"), ("deleted", "deleted runs"), ("all", "all runs")):
        shelves.add_argument(f"--{shelf}", action="store_const", const=shelf, dest="shelf", help=f"{text} instead")
    changed = made.add_argument_group("what is done with RUN")
    changed.add_argument("--title", metavar="TEXT", help="words to show for it; empty: the name that it was made with")
    changed.add_argument("--untag", action="append", default=[], metavar="TAG", help="take this tag off")
    changed.add_argument("--study", type=Path, metavar="FILE.zip", help="write its study as a study file with its data")
    moves = changed.add_mutually_exclusive_group()
    moves.add_argument("--archive", action="store_true", help="take it out of the lists; its addresses go on working")
    moves.add_argument("--restore", action="store_true", help="put it back into the lists, archived or deleted")
    moves.add_argument("--delete", action="store_true", help="delete it; --restore takes it back, until --for-good")
    moves.add_argument("--for-good", action="store_true", help="delete it for good, if it is deleted already")
    made.set_defaults(refuse=made.error)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no day; write it as 2026-01-31") from None


def runs(arguments: argparse.Namespace) -> int:
    _refuse_mixed(arguments)
    with existing_store(arguments.store) as store:
        if arguments.runs:
            names = list(dict.fromkeys(store.run(run).run for run in arguments.runs))
            shown = _change(store, names, arguments)
        else:
            shown = _listed(store, arguments)
        judges = store.judges_by_run()
    if arguments.json:
        tell({"runs": [_document(info, judges.get(info.run_no, ())) for info in shown]})
    elif shown:
        print(harmless("\n".join(_line(info) for info in shown)))
    else:
        say("No run is here." if arguments.runs else "No run is found.")
    return EXIT_OK


def _refuse_mixed(arguments: argparse.Namespace) -> None:
    """A change needs a run, and a search none: exit code 2 otherwise."""
    given = {name for name in (*CHANGES, *LOOKS) if getattr(arguments, name) not in (None, False, [])}
    needless = sorted(given & set(LOOKS)) if arguments.runs else sorted(given & set(CHANGES) - {"tag"})
    if needless:
        option = f"--{(arguments.shelf if needless[0] == 'shelf' else needless[0]).replace('_', '-')}"
        arguments.refuse(f"{option} is for a list: leave out RUN" if arguments.runs else f"{option} needs a RUN")
    if len(arguments.runs) > 1 and given & {"title", "study"}:
        arguments.refuse("--title and --study are for one RUN")


def _listed(store: Any, arguments: argparse.Namespace) -> Sequence[RunInfo]:
    from rubriclab.runs.listed import RunFilter

    wanted = RunFilter(
        words=arguments.search or "",
        tags=arguments.tag,
        states=arguments.state or (),
        kinds=arguments.kind or (),
        since=arguments.since,
        until=arguments.until,
        shelf=arguments.shelf or "listed",
    )
    return wanted.found(store.runs(deleted=True), store.judges_by_run())


def _change(store: Any, names: list[str], arguments: argparse.Namespace) -> Sequence[RunInfo]:
    """Do what is asked with all of these runs, or with none; what is left of them."""
    if arguments.study is not None:
        from rubriclab.study.writing import study_files

        write(arguments.study, study_files(store.study(names[0])))
    moves = ("archive", "restore", "delete", "for_good")
    move = next((name for name in moves if getattr(arguments, name)), None)
    store.organise(names, title=arguments.title, add=arguments.tag, remove=arguments.untag, move=move)
    return [] if arguments.for_good else [store.run(name) for name in names]


def _line(info: RunInfo) -> str:
    from rubriclab.runs.listed import local, shelf_of

    shelf = shelf_of(info)
    state = info.state if shelf == "listed" else f"{info.state}, {shelf}"
    parts = [state, info.dataset, f"{info.done:,} of {many(info.planned, 'call')}", f"{local(info.created):%d %b %Y}"]
    parts += ["simulated"] if info.simulated else []
    tags = "".join(f" #{tag}" for tag in info.tags)
    return f"{info.run}  {info.name}{tags}\n    {' · '.join(part for part in parts if part)}"


def _document(info: RunInfo, judges: Sequence[str]) -> dict[str, Any]:
    from rubriclab.runs.listed import kind_of

    return {
        "run": info.run,
        "title": info.name,
        "made_as": info.made_as,
        "kind": kind_of(info),
        "dataset": info.dataset,
        "judges": list(judges),
        "simulated": info.simulated,
        "state": info.state,
        "done": info.done,
        "planned": info.planned,
        "tags": list(info.tags),
        **{name: _moment(getattr(info, name)) for name in ("created", "archived", "deleted")},
    }


def _moment(value: Any) -> str | None:
    """UTC, to the second."""
    return None if value is None else f"{value.isoformat(timespec='seconds')}Z"
