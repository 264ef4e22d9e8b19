"""The large calibration of the lab's tests and intervals; its output is kept beside it.

    nice python -m tests.calibration.run_calibration [--studies 1000] [--seed 0] [--jobs 2]

writes results.json and results.md. About 40 minutes of one processor core. With ``--only`` a
part is worked out anew and the rest of results.json is kept. ``--runs FILE ...`` takes the checks of
whole runs from what ``check-methods --all --kept FILE`` has finished, and works out nothing else. A small version is in
tests/test_check.py; the Method check page shows what is recorded here.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rubriclab import __version__
from rubriclab.findings.check import (
    ALL_JUDGES,
    ANY_ADVICE,
    AT_LEAST_SINCE,
    COVERAGE_RANGE,
    DEFINITION,
    Check,
    Planted,
    check_of,
    loose,
    mean_rate,
    pulls_words,
    rate_error,
    standing,
    verdict_words,
)
from rubriclab.findings.plain import plain
from rubriclab.judges.families import FAMILIES
from rubriclab.runs.check import pipeline_checks
from rubriclab.runs.check_arrays import array_checks
from rubriclab.runs.check_pulls import pulls_checks, pulls_settings
from rubriclab.runs.check_verdicts import OTHERWISE, finished, together
from rubriclab.stats.nulls import NULL_JUDGES
from tests.calibration.topic_checks import agreement_checks, criteria_checks

HERE = Path(__file__).parent
ASKED = {
    "arrays": array_checks,
    "pipeline": pipeline_checks,
    "criteria": criteria_checks,
    "agreement": agreement_checks,
    "pulls": pulls_checks,
}
Cell = tuple[str, dict[str, Any]]


def cells(studies: int, seed: int) -> list[Cell]:
    """Every setting, the small and important ones first."""
    made: list[Cell] = []
    for items in (60, 600):
        for options in (2, 5, 9):
            for unread in (0.0, 0.1):
                for kind in NULL_JUDGES:
                    for first in (0.0, 0.5) if kind != "constant" else (0.0,):
                        made.append(
                            (
                                "arrays",
                                {
                                    "kind": kind,
                                    "studies": studies,
                                    "items": items,
                                    "options": options,
                                    "unread": unread,
                                    "first": first,
                                    "seed": seed,
                                },
                            )
                        )
        if items == 60:
            made += _slow_cells(studies, seed)
    return made + _pulls_cells(studies, seed)


def _pulls_cells(studies: int, seed: int) -> list[Cell]:
    """Rounds of 50 runs without a pull and of 20 with one, each on a seed of its own: whatever is done when it is
    stopped counts, and all settings are then equally far."""
    return [
        ("pulls", {**one, "studies": 20 if one.get("plant") else 50, "seed": seed + number})
        for number in range(max(1, studies // 50))
        for one in pulls_settings(whole=True)
    ]


def merged(checks: Sequence[Check]) -> list[Check]:
    """One check a setting, of the studies of all its rounds."""
    rounds: dict[tuple[object, ...], list[Check]] = {}
    for check in checks:
        rounds.setdefault((check.quantity, *_setting(check)), []).append(check)
    return [together(of) for of in rounds.values()]


def _slow_cells(studies: int, seed: int) -> list[Cell]:
    one = {"studies": studies, "seed": seed}
    none, all_three = Planted(first=0.0), Planted(first=0.5, label=0.5, neighbour=0.5)
    return [
        ("pipeline", {"planted": none, "items": 60, "options": 5, **one}),
        ("criteria", {"texts": 60, "first": 0.0, **one}),
        ("agreement", {"items": 60, **one}),
        ("pipeline", {"planted": all_three, "items": 60, "options": 5, **one}),
        ("pipeline", {"planted": Planted(first=0.0, item_sd=1.0), "items": 60, "options": 5, **one}),
        ("pipeline", {"planted": none, "items": 60, "options": 2, **one}),
        ("criteria", {"texts": 60, "first": 0.3, "studies": studies // 4, "seed": seed}),
        ("pipeline", {"planted": none, "items": 60, "options": 9, **one}),
    ]


def ask(cell: Cell) -> tuple[Check, ...]:
    name, options = cell
    return ASKED[name](**options)  # type: ignore[operator,no-any-return]


def published(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Checks of whole runs, short enough to keep: rates of any advice and every other that misses,
    power, coverage where it misses, and each interval's coverage at each size over all judges that
    can be moved and all designs."""
    whole = (ANY_ADVICE, OTHERWISE)
    kept = [c for c in checks if c.quantity == "power" or c.method in whole or c.standing == "misses"]
    groups: dict[tuple[str, int], list[Check]] = {}
    for c in checks:
        if c.quantity == "coverage" and not (c.judge in FAMILIES and FAMILIES[c.judge].constant):
            groups.setdefault((c.method, c.n_items), []).append(c)
    for (method, items), group in groups.items():
        value, studies = mean_rate(group), sum(c.studies for c in group)
        error = rate_error(value, studies)
        accepted = (COVERAGE_RANGE[0], 1.0 if loose(method) else COVERAGE_RANGE[1])
        setting = ("coverage", method, ALL_JUDGES, "runs", items, 0, 0.0, studies, value, error)
        kept.append(Check(*setting, accepted, standing(value, error, studies, accepted)))
    return tuple(kept)


def added(recorded: Sequence[Check], found: Sequence[Check]) -> tuple[Check, ...]:
    """What is recorded together with further studies ``found``; a setting's interval stays only where it misses."""
    out = {_key(c): c for c in recorded}
    new = {_key(c): c for c in (*(c for c in found if _key(c) in out), *published(found))}
    both = [together([c for c in (out.get(key), new.get(key)) if c is not None]) for key in {**out, **new}]
    return tuple(c for c in both if c.quantity != "coverage" or c.judge == ALL_JUDGES or c.standing == "misses")


def _key(check: Check) -> tuple[object, ...]:
    return (check.quantity, *_setting(check))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=ASKED, help="this part alone")
    parser.add_argument("--items", type=int, help="settings of so many items alone")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--runs", type=Path, nargs="+", metavar="FILE", help="of check-methods --all")
    parser.add_argument("--add", action="store_true", help="to the runs that are recorded, which had other seeds")
    parser.add_argument("--note", default="", help="what a reader must know of these numbers")
    given = parser.parse_args()
    if given.runs is not None:
        of_runs, kept = ([c for c in _kept(given.out) if (c.way == "runs") is runs] for runs in (True, False))
        found = finished(*given.runs)
        save([*(added(of_runs, found) if given.add else published(found)), *kept], given)
        return 0
    todo = [cell for cell in cells(given.studies, given.seed) if _wanted(cell, given)]
    partly = given.only is not None or given.items is not None
    kept = _kept(given.out) if partly else []
    found: list[Check] = []
    started = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for done, checks in enumerate(pool.imap_unordered(ask, todo, chunksize=1), start=1):
            found += checks
            seconds = time.monotonic() - started
            print(f"{done}/{len(todo)} settings, {seconds:.0f} s", file=sys.stderr, flush=True)
            fresh = {_setting(check) for check in found}
            save([*merged(found), *(check for check in kept if _setting(check) not in fresh)], given)
    return 0


def _wanted(cell: Cell, given: argparse.Namespace) -> bool:
    name, options = cell
    return given.only in (None, name) and given.items in (None, options.get("items", options.get("texts")))


def _kept(out: Path) -> list[Check]:
    """What an earlier run recorded."""
    file = out / "results.json"
    return [check_of(row) for row in json.loads(file.read_text())["checks"]] if file.exists() else []


def _setting(check: Check) -> tuple[object, ...]:
    return (check.way, check.judge, check.n_items, check.n_options, check.unread, check.method, check.design)


def save(found: list[Check], given: argparse.Namespace) -> None:
    """results.json and results.md, in an order that does not depend on who finished first."""
    order = sorted(
        found, key=lambda c: (c.way, c.design, c.n_items, c.n_options, c.judge, c.unread, c.quantity, c.method)
    )
    document = {
        "about": DEFINITION,
        "note": given.note,
        "version": __version__,
        "studies": given.studies,
        "seed": given.seed,
        "checks": [plain(check) for check in order],
    }
    (given.out / "results.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    (given.out / "results.md").write_text(readable(order, given))


def readable(checks: list[Check], given: argparse.Namespace) -> str:
    """The same as a page of Markdown: what misses first, then everything."""
    of_runs, of_pulls = ([c for c in checks if c.way == way] for way in ("runs", "what pulls"))
    checks = [c for c in checks if c.way not in ("runs", "what pulls")]
    promised = [c for c in checks if c.accepted is not None]
    out = [c for c in promised if c.standing != "holds"]
    lines = [
        "# Calibration of what runs say, and of the lab's tests and intervals",
        "",
        *(f"- {sentence}" for sentence in verdict_words(of_runs)),
        *([f"- {given.note}"] if given.note else []),
        "",
        DEFINITION,
        "",
        "## What misses",
        "",
        *_table([c for c in of_runs if c.standing == "misses"]),
        "",
        "## What runs say: rates of false verdicts",
        "",
        *_table([c for c in of_runs if c.quantity.startswith("false") and c.method in (ANY_ADVICE, OTHERWISE)]),
        "",
        "## What runs show: every interval over all families",
        "",
        *_table([c for c in of_runs if c.quantity == "coverage" and c.judge == ALL_JUDGES]),
        "",
        "Held at least as often as promised, and why not just so often:",
        "",
        *(f"- {name}: {why}." for name, why in AT_LEAST_SINCE.items()),
        "",
        "## Power of verdicts",
        "",
        *_table([c for c in of_runs if c.quantity == "power"]),
        "",
        "## What pulls?",
        "",
        *(f"- {sentence}" for sentence in pulls_words(of_pulls)),
        "",
        *_table(of_pulls),
        "",
        "## The lab's tests and intervals",
        "",
        f"{given.studies:,} simulated studies a setting, seed {given.seed}, rubriclab {__version__}. "
        f"{len(promised) - len(out)} of {len(promised)} promises hold; "
        f"{sum(c.standing == 'misses' for c in out)} miss by more than two Monte Carlo errors, "
        f"{sum(c.standing == 'cannot say' for c in out)} are outside by less.",
        "",
        "## Outside the range",
        "",
        *_table(out),
        "",
        "## Everything",
        "",
        *_table(checks),
        "",
    ]
    return "\n".join(lines)


def _table(checks: list[Check]) -> list[str]:
    head = [
        "| quantity | method | judge | way | items | options | unread | studies | value | range | |",
        "|---|---|---|---|--:|--:|--:|--:|--:|---|---|",
    ]
    rows = [
        f"| {c.quantity} | {c.method} | {c.judge} | {c.design or c.way} | {c.n_items} | {c.n_options} | "
        f"{c.unread:g} | {c.studies:,} | {c.value:.3f} ± {c.se:.3f} | {_range(c)} | {c.standing} |"
        for c in checks
    ]
    return head + rows if rows else ["None."]


def _range(check: Check) -> str:
    return "" if check.accepted is None else "{:.3f} to {:.3f}".format(*check.accepted)


if __name__ == "__main__":
    sys.exit(main())
