"""How soon each page stands in a real browser, and how soon it is drawn again after a choice.

All seconds are told as ratios to an anchor that was measured in the same minutes, in turns: a bare Streamlit page
with one Plotly chart and one choice. What that takes is Streamlit's own and the browser's.

- cold: a browser that has seen nothing opens a page of a lab that runs; of the store it is about, nothing was worked
  out yet. Every turn looks at a copy of its own of a store with the recorded runs.
- redraw: from the click on another option to the last change of the page, both options having been seen once.
- first: the first visit after the start of a server, when everything has yet to be imported and the store opened;
  Home also with no store at all, which the lab makes and fills with its recorded runs.
- load: Home while a run asks a server on this machine as fast as both can, beside Home while that run is paused.

Turns go on, all pages once before any twice, until there are --rounds of each or --minutes are over. Of each side the
best round counts. Ctrl-C ends it and prints what is known so far.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.browsing import Choice, chromium
from benchmarks.visits import BARE, Part, Visit, visits
from rubriclab.model import LabError

BARS: Mapping[Part, tuple[float, str]] = {
    "cold": (1.3, "every page stands cold within 1.3 times of the bare page"),
    "redraw": (2.0, "every choice is redrawn within 2 times of the bare page's"),
    "load": (1.5, "Home stands under a run at full speed within 1.5 times of Home while it is paused"),
}
"""Ratios to the anchor."""
SECONDS: Mapping[Part, tuple[float, str]] = {
    "redraw": (0.3, "every choice is redrawn within 300 ms"),
    "first": (4.0, "a first visit after a start stands within 4 s"),
}
"""For a machine that does nothing else."""
IDLE = 0.5
"""Load a processor, before anything is measured, up to which a machine counts as idle."""
CHOICES: dict[str, Choice] = {
    "guide": ("segments", "Judge in the cards and in pictures 1 and 4"),
    "rubric": ("select", "Order"),
    "runs": ("select", "State"),
    "position": ("select", "Judge and strategy"),
    "alignment": ("select", "Judge and strategy"),
    "reliability": ("select", "Whose scores"),
    "ranking": ("select", "Judge"),
    "criteria": ("select", "Judge and strategy"),
    "batch": ("select", "Judge and strategy"),
    "choice": ("select", "Judge and strategy"),
    "perturbation": ("segments", "Correlation"),
    "comparison": ("segments", "Against"),
    "compare": ("select", "less the second (b)"),
    "judgments": ("segments", "Items in order"),
    "report": ("segments", "Size"),
    "definitions": ("segments", "Topic"),
    "check": ("segments", "Items"),
}
"""A choice on a page that draws it again: its kind of widget and its label."""
FIRST = ("home", "position", "study")
"""Pages whose first visit after a start is measured where none are named."""


@dataclass
class Measured:
    """Seconds of one page in one part: its own, and its anchor's in the same turns."""

    page: str
    part: Part
    own: list[float] = field(default_factory=list)
    anchor: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(self.own)

    @property
    def ratio(self) -> float:
        return min(self.own) / min(self.anchor)


Found = dict[tuple[str, Part], Measured]


def add(found: Found, visit: Visit) -> Measured:
    """Take a turn into what is known; returns all that is known of its page and part."""
    known = found.setdefault((visit.page, visit.part), Measured(visit.page, visit.part))
    known.own.extend(visit.own)
    known.anchor.extend(visit.anchor)
    return known


def table(found: Found) -> str:
    """A line a page: seconds, and as ratios to the anchor of the same turns."""
    parts: tuple[Part, ...] = ("cold", "redraw", "first", "load")
    lines = [f"{'page':18} {'cold s':>7} {'x bare':>7} {'redraw ms':>10} {'x bare':>7} {'first s':>8} {'x bare':>7}"]
    lines[0] += f" {'load s':>7} {'x idle':>7}"
    widths = {"cold": 7, "redraw": 10, "first": 8, "load": 7}
    for page in dict.fromkeys(page for page, _ in found):
        line = f"{page:18}"
        for part in parts:
            one = found.get((page, part))
            told = "-" if one is None else f"{1000 * one.best:.0f}" if part == "redraw" else f"{one.best:.2f}"
            line += f" {told:>{widths[part]}} {'-' if one is None else f'{one.ratio:.2f}':>7}"
        lines.append(line)
    anchors = {part: [s for one in found.values() if one.part == part for s in one.anchor] for part in parts}
    best = {part: f"{min(taken):.2f} s" for part, taken in anchors.items() if taken and part != "load"}
    lines.append(f"{BARE}, best of all turns: " + ", ".join(f"{part} {told}" for part, told in best.items()))
    return "\n".join(lines)


def verdicts(found: Found, *, idle: bool) -> dict[str, bool | None]:
    """Each bar in words, and whether all that was measured keeps to it; None: this machine cannot tell.

    Seconds are told only of an idle machine, ratios of any.
    """
    told: dict[str, bool | None] = {}
    for part, (most, words) in BARS.items():
        known = [one for one in found.values() if one.part == part]
        if known:
            worst = max(known, key=lambda one: one.ratio)
            over = sum(one.ratio > most for one in known)
            told[f"{words} (worst: {worst.page}, {worst.ratio:.2f}; {over} of {len(known)} over)"] = not over
    for part, (most, words) in SECONDS.items():
        known = [one for one in found.values() if one.part == part]
        if known:
            worst = max(known, key=lambda one: one.best)
            told[f"{words} (worst: {worst.page}, {worst.best:.2f} s)"] = worst.best < most if idle else None
    return told


def main(argv: Sequence[str]) -> int:
    """Measure and print; 0 where no bar is missed, 1 where one is or nothing could be measured, 130 after Ctrl-C."""
    options = _parser().parse_args(argv)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    idle = load <= IDLE
    print(f"Load {load:.1f} a processor: {_machine(idle)}.", file=sys.stderr, flush=True)
    found: Found = {}
    stopped = False
    try:
        _measure(found, options)
    except LabError as fault:
        print(f"benchmarks: {fault}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        stopped = True
        print("Stopped; this is what was measured so far.", file=sys.stderr)
    bars = verdicts(found, idle=idle)
    if options.json:
        rows = [{**vars(one), "best": one.best, "ratio": one.ratio} for one in found.values()]
        print(json.dumps({"load": load, "idle": idle, "pages": rows, "bars": bars, "stopped": stopped}))
    elif found:
        words = {True: "met     ", False: "MISSED  ", None: "not told"}
        print(table(found))
        print("\n".join(f"{words[met]}  {bar}" for bar, met in bars.items()))
        print(f"The machine before: load {load:.1f} a processor, {_machine(idle)}.")
    return 130 if stopped else int(not found or any(met is False for met in bars.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", nargs="+", metavar="PAGE", default=[], help="files of pages (default: all)")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("cold", "redraw", "first", "load"),
        default=["cold", "redraw", "first", "load"],
        help="what of it (default: all)",
    )
    parser.add_argument("--rounds", type=int, default=2, help="turns a page at most")
    parser.add_argument("--minutes", type=float, default=9.0, help="no turn begins later")
    parser.add_argument("--json", action="store_true")
    return parser


def _machine(idle: bool) -> str:
    return "an idle machine" if idle else "not idle, so that seconds are told against no bar and ratios are rough"


def _measure(found: Found, options: argparse.Namespace) -> None:
    """Turn by turn into ``found``, with a line on stderr for each; ends when the time is over."""
    from rubriclab.app.ui import NAVIGATION

    known = [entry.file for entries in NAVIGATION.values() for entry in entries]
    if unknown := [page for page in options.pages if page not in known]:
        raise LabError(f"There is no page “{unknown[0]}”. There are: {', '.join(known)}.")
    pages = options.pages or known
    first = [page for page in pages if options.pages or page in FIRST]
    started = time.monotonic()
    until = started + 60 * options.minutes
    steps = len(first) + ("home" in first) if "first" in options.parts else 0
    steps += len(pages) * options.rounds if {"cold", "redraw"} & {*options.parts} else 0
    steps += options.rounds if "load" in options.parts and "home" in pages else 0
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        turns = visits(
            browser,
            Path(folder),
            pages=pages,
            first=first,
            choices={page: CHOICES[page] for page in pages if page in CHOICES},
            parts=options.parts,
            rounds=options.rounds,
            until=until,
        )
        for visit in _told(turns, found, started=started, until=until, steps=steps):
            add(found, visit)


def _told(turns: Iterator[Visit], found: Found, *, started: float, until: float, steps: int) -> Iterator[Visit]:
    """Each turn once it is over, told on stderr: what it took, the time gone and what is left at this pace."""
    done = 0
    for visit in turns:
        yield visit
        done += visit.part != "redraw" or (visit.page, "cold") not in found
        gone = time.monotonic() - started
        left = min(gone / done * (steps - done), max(until - gone - started, 0.0)) if done else 0.0
        one = found[visit.page, visit.part]
        print(
            f"[{done:3}/{steps}] {visit.page:16} {visit.part:6} {min(visit.own):6.2f} s, "
            f"{min(visit.own) / min(visit.anchor):5.2f} x {'idle' if visit.part == 'load' else 'bare'} "
            f"(best {one.ratio:.2f})   {gone:4.0f} s gone, about {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )
