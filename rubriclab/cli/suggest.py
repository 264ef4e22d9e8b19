"""The command that tries rewordings of a rubric on a bench, and says which help on items held out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EXIT_OK, add_trust, command, consent, existing_store, harmless, positive, say, tell

if TYPE_CHECKING:
    from rubriclab.findings.suggested import Help
    from rubriclab.runs.suggestions import Leaderboard, Standing
    from rubriclab.runs.workshop import Bench, Version
    from rubriclab.store import Store

FINALISTS, HELD_OUT = 3, 60


def add_suggest(parsers: Any) -> None:
    about = (
        "Try rewordings of a rubric on a bench: the lab's own rules and rubric files of yours. Those that look best on "
        "the bench's sample are tested on items that it left out; only what helps there is said to help."
    )
    made = command(parsers, "suggest", suggest, about)
    made.add_argument("bench", metavar="BENCH", help="a bench's id, or the beginning of it (see: workshop)")
    made.add_argument(
        "--rubric",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a wording of your own, as a rubric file; may be given several times",
    )
    made.add_argument(
        "--writer",
        metavar="JUDGE",
        help="a chat model of the store, or an embedded one, that rewords the rubric too; its wording is kept among the "
        "rubrics and tried from then on: with --dry-run it is printed to be read first",
    )
    made.add_argument("--base", metavar="VERSION", help="the version to reword (default: the bench's first)")
    made.add_argument(
        "--finalists", type=positive, default=FINALISTS, metavar="N", help="how many go on to the held-out items"
    )
    made.add_argument(
        "--items", type=positive, default=HELD_OUT, metavar="N", help=f"held-out items to ask (default {HELD_OUT})"
    )
    made.add_argument("--max-calls", type=positive, metavar="N", help="ask nothing where it could take more calls")
    made.add_argument("--dry-run", action="store_true", help="print the rewordings and the calls, and ask nothing")
    made.add_argument("--results", action="store_true", help="print the leaderboard as it stands, and ask nothing")
    add_trust(made)


def suggest(arguments: argparse.Namespace) -> int:
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.suggestions import calls_needed, leaderboard, own_wordings, proposals, with_held_out
    from rubriclab.runs.suggestions import suggest as tried_out
    from rubriclab.runs.workshop import open_bench

    with existing_store(arguments.store) as store:
        bench = open_bench(store, arguments.bench)
        base = bench.versions[0] if arguments.base is None else bench.version(arguments.base)
        if arguments.writer is not None:
            _write(store, bench, base, arguments)
        tried = proposals(base.rubric, {**own_wordings(store, bench, base), **_own(arguments.rubric)})
        if arguments.results:
            return _print(leaderboard(store, bench, base=base.name, tried=tried), as_json=arguments.json)
        bench = with_held_out(bench, arguments.items)
        calls = calls_needed(store, bench, base, tried, finalists=arguments.finalists)
        if arguments.dry_run:
            return _print_tried(tried, calls, as_json=arguments.json)
        _refuse(calls, arguments.max_calls)
        consent(store, (bench.judge,), trust=arguments.trust)
        say(f"At most {calls:,} calls: {len(tried)} wordings on the sample, {arguments.finalists} on held-out items.")
        found = tried_out(
            RunManager(store),
            bench,
            tried,
            base=base.name,
            finalists=arguments.finalists,
            items=arguments.items,
            told=lambda text, _: say(f"Asking: {text}"),
        )
    return _print(found, as_json=arguments.json)


def _write(store: Store, bench: Bench, base: Version, arguments: argparse.Namespace) -> None:
    """Ask the writer for a wording, and keep it among the rubrics."""
    from rubriclab.cli.trial import named_judges
    from rubriclab.runs.rewording import reword

    (writer,) = named_judges([arguments.writer], store)
    consent(store, (writer,), trust=arguments.trust)
    made = store.add_rubric(reword(bench.study, base.rubric, writer, store))
    say(f"Kept among the rubrics: {made.name}")


def _own(files: list[Path]) -> dict[str, Any]:
    """Rubrics by the names of their files. Raises LabError for a file that is none, or two of one name."""
    from rubriclab.datasets.rubrics import read_rubric
    from rubriclab.model import LabError

    own: dict[str, Any] = {}
    for path in files:
        if path.stem in own:
            raise LabError(f"Two files are called {path.stem}; versions go by the names of their files.")
        try:
            content = path.read_bytes()
        except OSError as fault:
            raise LabError(f"{path} cannot be read: {fault.strerror}.") from fault
        own[path.stem] = read_rubric(path.name, content)
    return own


def _refuse(calls: int, most: int | None) -> None:
    from rubriclab.model import LabError

    if most is not None and calls > most:
        raise LabError(f"This could take {calls:,} calls, above --max-calls {most:,}. Nothing was asked.")


def _print_tried(tried: Any, calls: int, *, as_json: bool) -> int:
    from rubriclab.datasets.rubrics import rubric_to_value

    rows = [{"key": s.key, "title": s.title, "why": s.why, "rubric": rubric_to_value(s.rubric)} for s in tried]
    if as_json:
        tell({"calls": calls, "suggestions": rows})
        return EXIT_OK
    for one in tried:
        print(harmless(f"{one.title}: {one.why}"))
        for criterion in one.rubric.criteria:
            for option in criterion.options:
                label = option.label or option.score
                print(harmless(f"  {label}: {option.description or '(no description)'}"))
    print(f"At most {calls:,} calls.")
    return EXIT_OK


def _print(found: Leaderboard, *, as_json: bool) -> int:
    if as_json:
        tell(document(found))
    else:
        print(harmless("\n".join(_lines(found))))
    return EXIT_OK


def document(found: Leaderboard) -> dict[str, Any]:
    """The leaderboard as plain JSON values; spreads in points, their changes in squared points."""
    from rubriclab.datasets.rubrics import rubric_to_value
    from rubriclab.findings.plain import picked, plain

    def row(one: Standing) -> dict[str, Any]:
        return {
            **picked(one, "name", "title", "why", "run", "held_out_run"),
            "rubric": rubric_to_value(one.rubric),
            "sample": plain(one.sample),
            "held_out": plain(one.held_out),
        }

    return {
        **picked(found, "bench", "base", "tested", "simulated", "sentence"),
        "helps": [one.name for one in found.helping],
        "standings": [row(one) for one in found.standings],
    }


def _lines(found: Leaderboard) -> Iterator[str]:
    yield f"Bench {found.bench}, against “{found.base}”{', a simulated judge' if found.simulated else ''}: {found.sentence}"
    yield ""
    yield f"  {'wording':<38}{'sample':>16}{'held out':>16}   verdict on held-out items"
    for one in found.standings:
        verdict = "not asked there" if one.held_out is None else _verdict(one.held_out)
        yield f"  {one.title:<38}{_sd(one.sample):>16}{_sd(one.held_out):>16}   {verdict}"
    yield ""
    yield (
        "  By how many points (sd) the order moves a score beyond noise, before and after. The sample chose what was "
        "tested, so it is no evidence."
    )


def _sd(found: Help | None) -> str:
    return "–" if found is None or found.spread != found.spread else f"{found.before:.2f} → {found.spread:.2f}"


def _verdict(found: Help) -> str:
    if found.helps:
        return f"effect: helps, on {found.n_items} items"
    if found.verdict == "effect":
        return "effect: the order moves scores more"
    return found.verdict + (f": {found.why}" if found.why else "")
