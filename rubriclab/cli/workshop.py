"""The commands of the bench: versions of one rubric, tried on the same few items."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EXIT_OK,
    EXIT_UNFINISHED,
    add_trust,
    command,
    consent,
    existing_store,
    harmless,
    opened_store,
    positive,
    say,
    say_end,
    tell,
)
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.findings.versions import VersionDifference
    from rubriclab.model import Rubric
    from rubriclab.runs.terms import Snapshot
    from rubriclab.runs.workshop import Bench, Version
    from rubriclab.store import Store

SAMPLE = "sample"


def add_workshop(parsers: Any) -> None:
    about = "Work on one rubric: try versions of it on the same few items and see what each changes."
    parts = parsers.add_parser("workshop", help=about, description=about)
    parts = parts.add_subparsers(required=True, metavar="new|try|show")
    made = command(parts, "new", new, "Draw the items, keep the rubric as the first version, and ask it.")
    made.add_argument("data", metavar="DATA", help="the data, a table; or the word sample")
    made.add_argument("--rubric", type=Path, required=True, metavar="FILE", help="YAML, JSON or CSV")
    made.add_argument("--judge", required=True, metavar="NAME", help="a judge of the store, or an embedded model")
    made.add_argument("--criterion", metavar="C", help="one of the rubric's (default: all of them, one a call)")
    made.add_argument("--items", type=positive, metavar="N", help="how many items are judged (default 16)")
    made.add_argument("--seed", type=int, default=0, metavar="S", help="of the draw and of the orders (default 0)")
    tried = command(parts, "try", try_it, "Ask what a changed rubric changes, and nothing that was asked before.")
    tried.add_argument("bench", metavar="BENCH", help="its id, or how that begins")
    tried.add_argument("rubric", type=Path, metavar="RUBRIC", help="the changed rubric: YAML, JSON or CSV")
    tried.add_argument(
        "--from", dest="parent", metavar="VERSION", help="the version it comes from (default: the newest)"
    )
    tried.add_argument("--name", metavar="N", help="of this version (default: the file's name)")
    for one in (made, tried):
        one.add_argument("--budget", type=positive, metavar="CALLS", help="ask at most so many calls")
        add_trust(one)
    shown = command(parts, "show", show, "The versions of a bench, where each came from and what it changed.")
    shown.add_argument(
        "bench", nargs="?", default="", metavar="BENCH", help="its id, or how that begins (default: the newest)"
    )


def new(arguments: argparse.Namespace) -> int:
    from rubriclab.cli.trial import named_judges
    from rubriclab.datasets.sample import sample_dataset
    from rubriclab.runs.workshop import ITEMS, new_bench
    from rubriclab.study.reading import load_dataset

    dataset = sample_dataset() if arguments.data == SAMPLE else load_dataset(Path(arguments.data))
    rubric = _rubric(arguments.rubric)
    with opened_store(arguments.store) as store:
        (judge,) = named_judges([arguments.judge], store)
        consent(store, (judge,), trust=arguments.trust)
        bench = new_bench(
            store,
            dataset,
            rubric,
            judge,
            criterion=arguments.criterion,
            items=arguments.items or ITEMS,
            seed=arguments.seed,
        )
        first = bench.versions[0]
        return _asked(store, bench, first.rubric, first.name, None, arguments)


def try_it(arguments: argparse.Namespace) -> int:
    from rubriclab.runs.workshop import open_bench

    with existing_store(arguments.store) as store:
        bench = open_bench(store, arguments.bench)
        parent = bench.version(arguments.parent) if arguments.parent else bench.versions[-1]
        rubric = _rubric(arguments.rubric)
        only = [criterion.name for criterion in bench.versions[0].rubric.criteria]
        if len(only) == 1 and len(rubric.criteria) > 1:
            from rubriclab.model import Rubric

            rubric = Rubric(rubric.name, (rubric.criterion(only[0]),))
        name = arguments.name or arguments.rubric.stem
        return _asked(store, bench, rubric, name, parent.run, arguments)


def show(arguments: argparse.Namespace) -> int:
    from rubriclab.runs.workshop import benches, open_bench

    with existing_store(arguments.store) as store:
        bench = open_bench(store, arguments.bench or next(iter(benches(store)), ""))
        document = _document(store, bench)
        tell(document if arguments.json else harmless("\n".join(_lines(store, bench, document))))
    return EXIT_OK


def _rubric(path: Path) -> Rubric:
    from rubriclab.datasets.limits import read_file
    from rubriclab.datasets.rubrics import read_rubric
    from rubriclab.model import RubricError

    return read_rubric(path.name, read_file(path, error=RubricError))


def _asked(
    store: Store, bench: Bench, rubric: Rubric, name: str, parent: str | None, arguments: argparse.Namespace
) -> int:
    """Ask a version, and print what it took and what it changed."""
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.terminal import Signals, watch
    from rubriclab.runs.terms import Limits
    from rubriclab.runs.workshop import open_bench, poke, try_version

    consent(store, bench.study.judges, trust=arguments.trust)
    takes = poke(store, bench, rubric)
    say(takes.sentence())
    limits = Limits(max_calls=arguments.budget)
    with Signals() as signals:
        run = try_version(RunManager(store), bench, rubric, name=name, parent=parent, limits=limits)
        ended = watch(run, signals)
    say_end(ended)
    bench = open_bench(store, bench.id)
    document = _document(store, bench, only=ended.run)
    took = {"calls": takes.calls, "reused": takes.known, "asked": ended.asked, "money": ended.money}
    if arguments.json:
        tell({**document, "took": took})
    else:
        tell(harmless("\n".join(_lines(store, bench, document))))
    return EXIT_OK if _finished(ended) else EXIT_UNFINISHED


def _finished(ended: Snapshot) -> bool:
    return ended.done >= ended.planned


# ---------------------------------------------------------------- what there is


def _document(store: Store, bench: Bench, *, only: str | None = None) -> dict[str, Any]:
    """The bench as JSON's values; ``only``: of its versions the one of that run."""
    return {
        "bench": bench.id,
        "judge": bench.judge.name,
        "simulated": bench.judge.simulated,
        "items": len(bench.study.dataset),
        "held_out": len(bench.held_out) if bench.held_out else 0,
        "sample": bench.sample,
        "versions": [
            _version(store, bench, version, depth) for depth, version in bench.tree() if only in (None, version.run)
        ],
    }


def _version(store: Store, bench: Bench, version: Version, depth: int) -> dict[str, Any]:
    from rubriclab.datasets.rubric_diff import rubric_diff
    from rubriclab.runs.workshop import difference

    info = store.run(version.run)
    parent = bench.version(version.parent) if version.parent else None
    told: dict[str, Any] = {
        "version": version.name,
        "run": version.run,
        "from": parent.name if parent else None,
        "depth": depth,
        "calls": info.planned,
        "answered": info.done,
        "reused": store.reused(version.run),
        "changes": [change.marked() for change in rubric_diff(parent.rubric, version.rubric)] if parent else [],
        "difference": None,
    }
    if parent is not None:
        told["difference"] = _difference(difference(store, version.run, parent.run), version.name, parent.name)
    return told


def _difference(found: VersionDifference, a: str, b: str) -> dict[str, Any]:
    """``anytime``: the verdicts hold however often one looks, since the version is not finished."""
    from rubriclab.findings.contrast import contrast_json
    from rubriclab.findings.plain import plain
    from rubriclab.findings.versions import difference_sentence

    if found.pair is None:
        return {"why_not": found.why_not}
    return {
        "sentence": difference_sentence(found, f"“{a}”", f"“{b}”"),
        "reads": found.reads,
        "items": found.items,
        "unread": found.unread,
        "anytime": found.running is not None,
        "score": plain(found.effect("score")),
        "shift": plain(found.effect("shift")),
        "contrast": contrast_json(found.pair),
    }


def _lines(store: Store, bench: Bench, document: dict[str, Any]) -> Iterator[str]:
    from rubriclab.findings.effects import words
    from rubriclab.runs.workshop import difference

    mark = "SIMULATED judge " if bench.judge.simulated else "judge "
    yield f"Bench {bench.id}: {mark}{bench.judge.name}, {many(document['items'], 'item')}, {document['held_out']} held out"
    yield f"  {bench.sample}"
    for told in document["versions"]:
        pad = "  " * (told["depth"] + 1)
        reused = f", {told['reused']:,} reused" if told["reused"] else ""
        yield f"{pad}{told['version']}: {told['answered']:,} of {told['calls']:,} calls answered{reused} (run {told['run']})"
        yield from (f"{pad}  {change}" for change in told["changes"])
        if told["from"] is None:
            continue
        found = difference(store, told["run"], bench.version(told["from"]).run)
        if found.pair is None:
            yield f"{pad}  less {told['from']}: {found.why_not}"
            continue
        yield f"{pad}  less {told['from']}: {told['difference']['sentence']}"
        for title, kind in (("mean score", "score"), ("ascending less descending", "shift")):
            effect = found.effect(kind)
            if effect is not None:
                yield f"{pad}    {title}: {effect.verdict}, {words(effect)}"
        if found.running is not None:
            yield f"{pad}    These intervals hold at every look at once; when all is asked, the last ones follow."
