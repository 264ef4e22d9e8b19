"""Judges that people know, from their published logs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rubriclab.cli.common import EXIT_OK, EXIT_USAGE, opened_store, say, tell
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.datasets.gallery import PublicLogs
    from rubriclab.findings.gallery import GalleryResult


def add_gallery(parsers: Any) -> None:
    about = "What published logs say of judges that people know: no call, no key."
    made = parsers.add_parser("gallery", help=about, description=about)
    made.add_argument("judge", nargs="?", metavar="JUDGE", help="a key of the list; without one the list is printed")
    made.add_argument("--fetch", action="store_true", help="fetch its logs from their public place first")
    made.add_argument("--all", action="store_true", help="all that the source lists, not only those to begin with")
    made.add_argument("--only", action="append", default=[], metavar="LOG", help="this log; repeat for several")
    made.add_argument("--store", metavar="FILE", help="make runs of the logs in this store: every log line behind them")
    made.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    made.set_defaults(command=gallery)


def gallery(arguments: argparse.Namespace) -> int:
    from rubriclab.datasets.gallery import GALLERY, every_name, fetch, public_logs

    if arguments.judge is None:
        if arguments.fetch or arguments.all or arguments.only or arguments.store:
            print("rubriclab gallery: name a JUDGE of the list.", file=sys.stderr)
            return EXIT_USAGE
        tell([_stock(public) for public in GALLERY.values()] if arguments.json else _listed(GALLERY.values()))
        return EXIT_OK
    public = public_logs(arguments.judge)
    wanted = arguments.only or (every_name(public) if arguments.all else [file.name for file in public.files])
    if arguments.fetch:
        say(_announced(public, wanted))
        fetched = fetch(public, wanted, progress=_Line())
        for name in fetched.missing:
            say(f"Not at that commit: {name}.")
    here = [name for name in public.here() if not arguments.only or name in arguments.only]
    if not here:
        say(f"{_announced(public, wanted)} Nothing of it is here: add --fetch.")
        tell({**_stock(public), "rows": []} if arguments.json else public.about)
        return EXIT_OK
    _tell_result(public, here, as_json=arguments.json)
    if arguments.store:
        _open(public, here, arguments.store)
    return EXIT_OK


def _tell_result(public: PublicLogs, here: Sequence[str], *, as_json: bool) -> None:
    from rubriclab.findings.gallery import gallery
    from rubriclab.runs.gallery import read_public

    rows = [row for name in here for row in read_public(public, name)]
    result = gallery(rows, one_judge=public.rows == "model")
    tell(_document(public, result) if as_json else _text(public, result))


def _open(public: PublicLogs, names: Sequence[str], path: str) -> None:
    from rubriclab.runs.gallery import open_public

    with opened_store(path) as store:
        for name in names:
            say(f"Run {open_public(store, public, name)}: {name}.")


class _Line:
    """Progress on standard error, a line a file."""

    def __init__(self) -> None:
        self._said = -1

    def __call__(self, done: int, of: int, name: str, got: int, total: int | None) -> None:
        del got, total
        if done != self._said:
            self._said = done
            say(f"{done + 1} of {of}: {name}")


def _announced(public: PublicLogs, names: Sequence[str]) -> str:
    known = sum(public.file(name).sha256 is not None for name in names)
    return (
        f"{public.title}: {many(len(names), 'log')}, about {public.bytes_of(names) / 1e6:,.0f} MB, from {public.host} "
        f"(commit {public.commit[:7]}; {public.licence}); {known} checked by a known hash, the others by that of "
        "their first fetch."
    )


def _stock(public: PublicLogs) -> dict[str, Any]:
    names = [file.name for file in public.files]
    missing = [name for name in names if name not in public.here()]
    return {
        "key": public.key,
        "title": public.title,
        "about": public.about,
        "source": public.source,
        "commit": public.commit,
        "licence": public.licence,
        "host": public.host,
        "here": list(public.here()),
        "to_fetch": missing,
        "bytes": public.bytes_of(missing),
    }


def _listed(shelves: Any) -> str:
    lines = []
    for public in shelves:
        stock = _stock(public)
        lines.append(
            f"{public.key:16} {public.title}\n{'':16} {many(len(stock['here']), 'log')} here, {len(stock['to_fetch'])} to "
            f"fetch ({stock['bytes'] / 1e6:,.0f} MB, {public.host}); {public.licence}"
        )
    return "\n".join(lines)


def _document(public: PublicLogs, result: GalleryResult) -> dict[str, Any]:
    from rubriclab.findings.plain import plain

    rows = [
        {
            "log": row.file,
            "name": row.name,
            "judge": row.judge,
            "first_place": {
                "value": row.value,
                "low": row.first.effect.low,
                "high": row.first.effect.high,
                "p": row.first.test.p,
                "n": row.first.comparisons,
                "design": row.first.design,
                "verdict": row.first.effect.verdict,
            },
            "win_rate": row.win_rate,
        }
        for row in result.rows
    ]
    document: dict[str, Any] = plain({**_stock(public), "rows": rows, "pooled": result.pooled, "by_gap": result.by_gap})
    return document


def _text(public: PublicLogs, result: GalleryResult) -> str:
    from rubriclab.findings.gallery import between, gap_sentence, points, pooled_sentence, spread_sentence

    told = [pooled_sentence(result, public.title), spread_sentence(result), gap_sentence(result)]
    lines = [*(sentence for sentence in told if sentence), ""]
    for row in result.rows:
        ends = between(row.first.effect.interval)
        lines.append(f"{points(row.value):>7}  {ends:18} {row.first.comparisons:6,}  {public.short(row.name)}")
    if result.pooled is not None:
        ends = between(result.pooled.interval)
        lines.append(f"{points(result.pooled.value):>7}  {ends:18} {'':6}  all, pooled")
    return "\n".join(lines)
