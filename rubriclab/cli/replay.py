"""The command that asks a log's prompts again in other orders."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import (
    EPILOG,
    EXIT_OK,
    add_trust,
    left_out_lines,
    opened_store,
    positive,
    print_documents,
    say,
    tell,
)
from rubriclab.cli.studies import run_study
from rubriclab.model import Judge, LabError
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.datasets.logs import Source
    from rubriclab.model import Strategy
    from rubriclab.runs.replay import Prepared, Same
    from rubriclab.study.replay import Replays


def add_replay(parsers: Any) -> None:
    about = (
        "Ask a log's prompts again in other orders: the log becomes a study, and its own replies count as first "
        "reads where judge and settings are the same."
    )
    made = parsers.add_parser(
        "replay", help=about, description=about, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("log", type=Path, metavar="LOG", help="a log that keeps its prompts; see import --kinds")
    made.add_argument("beside", type=Path, nargs="*", metavar="MORE", help="files that belong to it")
    made.add_argument("--store", metavar="FILE", help="ask now, and keep the answers in this store")
    made.add_argument("--out", type=Path, metavar="DIR", help="write the study as files instead, and ask nothing")
    made.add_argument("--kind", help="what the log is; found out without it")
    made.add_argument("--name", default="", help="of the study (default: the log's)")
    _add_judges(made)
    made.add_argument(
        "--orders",
        nargs="+",
        default=["balanced"],
        metavar="ORDER",
        help="balanced, williams, all, fixed or random, a number before one is its reads: --orders balanced 3 fixed "
        "(default balanced; the other orders are made from the logged one)",
    )
    made.add_argument("--items", type=positive, metavar="N", help="only the first N things judged")
    made.add_argument("--max-calls", type=positive, metavar="N", help="stop after N calls")
    made.add_argument("--max-money", type=float, metavar="M", help="stop when M is spent, at the judges' prices")
    made.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    add_trust(made)
    made.set_defaults(command=replay)


def _add_judges(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--judge",
        action="append",
        required=True,
        metavar="JUDGE",
        help="a judge of the store, an embedded model, a GGUF file; with --model also an address or the name of a "
        "provider (see: rubriclab judges); may be given more than once",
    )
    made.add_argument("--model", metavar="NAME", help="the model at the judge's address")
    made.add_argument("--key-env", metavar="VARIABLE", help="the variable that holds the key of an address")
    made.add_argument(
        "--temperature", type=float, metavar="T", help="of all judges, as the log was made (default 0, or the judge's)"
    )
    same = made.add_mutually_exclusive_group()
    same.add_argument(
        "--same-judge",
        action="store_true",
        help="the log's judge is this one with the same settings: its replies count as reads (without it they do "
        "where the log names the judge's model)",
    )
    same.add_argument("--other-judge", action="store_true", help="it is another, or set otherwise: ask everything")


def replay(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.logs import Source
    from rubriclab.runs.replay import prepared, replays_of

    if (arguments.store is None) == (arguments.out is None):
        raise LabError("Give --store FILE to ask now, or --out DIR to write the study as files.")
    source = Source(arguments.log, beside=[Source(path) for path in arguments.beside])
    made = replays_of(
        source,
        _judges(arguments),
        _strategies(arguments.orders),
        kind=arguments.kind,
        name=arguments.name,
        items=arguments.items,
    )
    same = _same(arguments, made)
    studies = [prepared(one, same) for one in made.studies]
    say(_told(made, studies))
    if arguments.out is not None:
        return _write(arguments, studies, source)
    return _run(arguments, studies, source)


def _run(arguments: argparse.Namespace, studies: Sequence[Prepared], source: Source) -> int:
    from rubriclab.runs.replay import keep_logged

    documents: list[dict[str, Any]] = []
    codes = []
    for one in studies:
        with opened_store(arguments.store) as store:
            keep_logged(store, one, source)
        codes.append(run_study(one.replay.study, arguments, documents))
    if documents:
        print_documents(documents, as_json=arguments.json)
    return max(codes)


def _write(arguments: argparse.Namespace, studies: Sequence[Prepared], source: Source) -> int:
    from rubriclab.runs.replay import ANSWERS_FILE, in_numbers, write_study

    documents = []
    for number, one in enumerate(studies, start=1):
        folder = arguments.out if len(studies) == 1 else arguments.out / f"{number}-{one.replay.study.design.axis}"
        files = list(write_study(folder, one, source))
        documents.append({**in_numbers(one), "files": [str(path) for path in files]})
        if one.answers:
            say(f"rubriclab batch import {folder / 'study.toml'} {folder / ANSWERS_FILE} --store FILE")
        say(f"rubriclab run {folder / 'study.toml'} --store FILE")
    if arguments.json:
        tell(documents)
    return EXIT_OK


# ---------------------------------------------------------------- what is asked, and whom


def _strategies(words: Sequence[str]) -> list[Strategy]:
    """The ways of ordering: names, each with its reads before it where a number stands there."""
    from rubriclab.model import Strategy
    from rubriclab.model.designs import STRATEGIES

    made: list[Strategy] = []
    reads: int | None = None
    for word in words:
        if word.isdecimal() and reads is None:
            reads = int(word)
            continue
        kind = next((kind for kind, scheme in STRATEGIES.items() if kind == word and not scheme.listed), None)
        if kind is None:
            known = ", ".join(kind for kind, scheme in STRATEGIES.items() if not scheme.listed)
            raise LabError(
                f"--orders: “{word}” is no way of ordering; there are {known}, each after a number of reads."
            )
        made.append(Strategy(kind, reads=reads))
        reads = None
    if reads is not None or len({strategy.name for strategy in made}) < len(made):
        raise LabError("--orders: a number stands before a way of ordering, and each of them is named once.")
    return made


def _judges(arguments: argparse.Namespace) -> list[Judge]:
    from rubriclab.datasets.sample import embedded_judge
    from rubriclab.judges.servers import local_servers, providers

    kept: dict[str, Judge] = {}
    if arguments.store is not None and Path(arguments.store).exists():
        with opened_store(arguments.store) as store:
            kept = {judge.name: judge for judge in store.judges()}
    presets = {preset.name.casefold(): preset for preset in (*local_servers(), *providers())}
    made = []
    for name in arguments.judge:
        preset = presets.get(name.casefold())
        if name in kept:
            judge = kept[name]
        elif preset is not None or "://" in name:
            judge = _served(name, preset, arguments)
        else:
            judge = embedded_judge(name)
        if arguments.temperature is not None:
            judge = replace(judge, sampling=replace(judge.sampling, temperature=arguments.temperature))
        made.append(judge)
    return made


def _served(name: str, preset: Any, arguments: argparse.Namespace) -> Judge:
    from rubriclab.study.tables import judge_from_value

    if not arguments.model:
        raise LabError(f"--judge {name}: name the model there, --model NAME.")
    value = {"name": arguments.model, "kind": "openai", "model": arguments.model, "base_url": name}
    if preset is not None:
        value |= {"kind": preset.kind, "base_url": preset.base_url}
    key = arguments.key_env or (preset.key_env if preset is not None else "")
    return judge_from_value({**value, **({"key_env": key} if key else {})}, where=f"--judge {name}")


def _same(arguments: argparse.Namespace, made: Replays) -> Same:
    """Which judge is the log's own."""
    if not arguments.same_judge:
        return "no" if arguments.other_judge else "named"
    named = sorted({read.judge for one in made.studies for read in one.reads})
    if len(named) > 1 or len(arguments.judge) > 1:
        raise LabError(
            f"--same-judge is of one judge, and here are {len(arguments.judge)}, in the log {len(named)} "
            f"({', '.join(named[:5])}). Without it replies count where the log names the judge's model."
        )
    return "yes"


def _told(made: Replays, studies: Sequence[Prepared]) -> str:
    """What becomes of the log, in lines: every record in one of the counts."""
    left = sum(count for count, _ in made.unread.values())
    lines = [f"{made.records - left:,} of {many(made.records, 'record')} can be asked again."]
    lines += left_out_lines(made.unread, "not")
    for one in studies:
        study = one.replay.study
        lines.append(
            f"“{study.name}” ({study.design.axis}): {one.plan.n_units:,} things judged, {many(len(one.plan), 'call')}, "
            f"{len(one.answers):,} of them answered in the log by the same judge."
        )
        if one.unused:
            lines.append(f"  {one.unused:,} logged replies of it stand in orders, or reads, that are not asked for.")
        if one.replay.otherwise:
            lines.append(f"  {one.replay.otherwise:,} logged replies are read otherwise than the log says: no reads.")
    if any(one.answers for one in studies):
        lines.append("The log does not say all settings of its judge; where they differ, give --other-judge.")
    if not any(message.role == "system" for one in studies for message in one.replay.study.prompts[0].messages):
        lines.append("The log holds no system message; one that was sent and not logged is not sent again.")
    return "\n".join(lines)
