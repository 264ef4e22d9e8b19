"""How often drift errs: planted changes of a judge, of its orders, of its noise and of the data, counted.

``python -m tests.drift_rates`` prints a line of JSON a cell and batch of 100 runs; docs/drift.md has their sums.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from unittest.mock import patch

import numpy as np
from scipy import stats

from rubriclab.findings.drift import Answer, Turn, about_judge
from rubriclab.stats.drift import PARTS, Parts, parts
from tests.drifting import JUDGES, Plant, Truth, cells_of, held_of, split_of, truth

SMALLEST = 0.1
OLD = 240
"""Items of the earlier run, where there are newer data."""


@dataclass
class Counts:
    """Of so many ``runs``: how often an interval held the truth, by part; and the verdicts of each part."""

    runs: int = 0
    held: Counter[str] = field(default_factory=Counter)
    given: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    at_once: int = 0
    accused: int = 0

    def coverage(self, part: str) -> float:
        return self.held[part] / self.given[part] if self.given[part] else float("nan")

    def share(self, part: str, verdict: str) -> float:
        return self.verdicts[part, verdict] / self.runs


def count(judge: str, plant: Plant, *, anchors: int, runs: int, newer: int = 0, seed: int = 0) -> Counts:
    """``runs`` studies of ``anchors`` units each; with ``newer`` also a run of so many new units."""
    counts, real = Counts(), truth(judge, plant)
    each = JUDGES[judge].per_prompt
    for number in range(runs):
        rng = np.random.default_rng(1_000_003 * (seed + 1) + number)
        if newer:
            held, one, two = split_of(
                judge, plant, items=OLD * each, newer=newer * each, anchors=anchors * each, rng=rng
            )
            added = [held.answer(key, getattr(one, key), getattr(two, key)) for key in ("data", "total")]
        else:
            held, added = held_of(judge, cells_of(judge, plant, items=anchors * each, rng=rng)), []
        answers, turns, _ = about_judge(held)
        _add(counts, (*answers, *added), turns, real)
        _add_shares(counts, parts(held.both.cells), real)
    return counts


def _add(counts: Counts, answers: Sequence[Answer], turns: Sequence[Turn], real: Truth) -> None:
    counts.runs += 1
    every = True
    truths = {"level": real.level, "spread": real.spread, "noise": real.noise, "data": real.data}
    truths["total"] = real.level + real.data
    for answer in answers:
        counts.verdicts[answer.key, answer.effect.verdict] += 1
        if answer.key in truths and np.isfinite(answer.ci.low):
            counts.given[answer.key] += 1
            counts.held[answer.key] += bool(answer.ci.low <= truths[answer.key] <= answer.ci.high)
            every &= answer.effect.low <= truths[answer.key] <= answer.effect.high
    for turn, value in zip(turns, real.contrasts, strict=True):
        if np.isfinite(turn.ci.low):
            counts.given["order"] += 1
            counts.held["order"] += bool(turn.ci.low <= value <= turn.ci.high)
            every &= turn.ci_all.low <= value <= turn.ci_all.high
    counts.at_once += bool(every)
    counts.accused += any(one.effect.verdict == "effect" for one in answers if one.key not in ("data", "total"))


def _add_shares(counts: Counts, found: Parts, real: Truth) -> None:
    for name, ci, share in zip(PARTS, found.interval, real.shares, strict=True):
        if np.isfinite(ci.low):
            counts.given[f"share {name}"] += 1
            counts.held[f"share {name}"] += bool(ci.low <= share <= ci.high)


@lru_cache(maxsize=256)
def planted(judge: str, what: str, size: float) -> Plant:
    """The plant that changes one thing by ``size`` points: level, order (its largest contrast), noise, data."""
    made: dict[str, Callable[[float], Plant]] = {
        "level": lambda x: Plant(level=x),
        "order": lambda x: Plant(pull=x),
        "noise": lambda x: Plant(noise=1.0 + x),
        "data": lambda x: Plant(data=x),
    }
    reached: dict[str, Callable[[Truth], float]] = {
        "level": lambda t: t.level,
        "order": lambda t: float(np.abs(t.contrasts).max()),
        "noise": lambda t: t.noise,
        "data": lambda t: t.data,
    }
    if what == "nothing":
        return Plant()
    low, high = 0.0, 1.0
    while reached[what](truth(judge, made[what](high), population=4_000)) < size:
        high *= 2.0
        if high > 64.0:
            raise ValueError(f"no plant changes the {what} of “{judge}” by {size:g}")
    for _ in range(12):
        middle = (low + high) / 2.0
        low, high = (
            (middle, high)
            if reached[what](truth(judge, made[what](middle), population=4_000)) < size
            else (low, middle)
        )
    return made[what](high)


FULL = ("latent trait", "mixed logit", "middling")
"""Judges that everything is planted in; in the others nothing, and the level."""


def cells(sizes: Sequence[int]) -> Iterator[tuple[str, str, float, int, int]]:
    """(judge, what is planted, its size in points, anchors, newer units)."""
    for n, judge in product(sizes, JUDGES):
        yield judge, "nothing", 0.0, n, 0
        yield judge, "level", 2.0 * SMALLEST, n, 0
        if judge not in FULL:
            continue
        yield judge, "order", 2.0 * SMALLEST, n, 0
        if not JUDGES[judge].probabilities:  # expected scores have no noise of reading
            yield judge, "noise", 2.0 * SMALLEST, n, 0
        yield judge, "data", 3.0 * SMALLEST, n, 120
        yield judge, "level", 3.0 * SMALLEST, n, 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="of each batch")
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--anchors", type=int, nargs="*", default=[15, 30, 60, 100])
    options = parser.parse_args()
    # The same few quantiles are asked for again and again.
    quantile = lru_cache(maxsize=None)(stats.t.ppf)
    with patch("rubriclab.stats.shift.stats.t.ppf", quantile):
        for batch, (judge, what, size, n, newer) in product(range(options.batches), cells(options.anchors)):
            plant = planted(judge, what, size)
            got = count(judge, plant, anchors=n, runs=options.runs, newer=newer, seed=batch)
            head = {"judge": judge, "planted": what, "size": size, "anchors": n, "newer": newer}
            print(json.dumps(head | raw(got)), flush=True)


def raw(got: Counts) -> dict[str, object]:
    """Plain counts, which batches add up."""
    verdicts = {f"{part}: {verdict}": times for (part, verdict), times in sorted(got.verdicts.items())}
    plain = {"runs": got.runs, "at_once": got.at_once, "accused": got.accused}
    return plain | {"held": dict(got.held), "given": dict(got.given), "verdicts": verdicts}


if __name__ == "__main__":
    main()
