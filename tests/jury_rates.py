"""How often what is said of juries is wrong: judges whose errors hang together as planted, against their own truth.

``python -m tests.jury_rates --runs 200`` prints a line a setting.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

from rubriclab.findings.effects import SMALLEST_R
from rubriclab.findings.jury import jury
from rubriclab.findings.jury_results import Measured
from tests.juries import LINES, Planted, jury_run

SETTINGS: Mapping[str, Planted] = {
    # All misjudge the same, orders and noise are each judge's own: ten calls are worth the same however spent.
    "no jury helps": Planted(judges=3, text_sd=0.5, text=1.0, order_sd=0.4, order=0.0, noise=0.3),
    # Order errors shared too: a mix of fewer orders is the worse one.
    "orders shared": Planted(judges=3, text_sd=0.2, text=1.0, order_sd=0.8, order=0.9, noise=0.2),
    "judges misjudge apart": Planted(judges=3, text_sd=0.7, text=0.0, order_sd=0.4, order=0.0, noise=0.3),
    "one good judge": Planted(judges=3, text_sd=0.9, text=0.0, skills=(0.2, 1.0, 1.0), order_sd=0.4, noise=0.3),
}


def errors_of(planted: Planted, judges: Sequence[int], orders: int, *, shared: bool) -> float:
    """Variance of a mix's mean about the text's quality, from what is planted; orders drawn from the ten."""
    k, n = len(judges), len(LINES)
    skill = [(planted.skills or (1.0,) * planted.judges)[j] for j in judges]
    own, common = sum(s * s for s in skill) / k**2, (sum(skill) / k) ** 2
    text = planted.text_sd**2 * ((1 - planted.text) * own + planted.text * common)
    # Two judges' draws of their own meet in an order once in n pairs of reads.
    meet = 1 / orders if shared else 1 / n
    order = planted.order_sd**2 * (1 / (k * orders) + (k - 1) / k * planted.order * meet)
    return text + order + planted.noise**2 / (k * orders)


def r_of(planted: Planted, judges: Sequence[int], orders: int, *, shared: bool) -> float:
    signal = planted.quality**2
    return signal / sqrt((signal + errors_of(planted, judges, orders, shared=shared)) * (signal + planted.rater**2))


def told(planted: Planted, found: Measured) -> str:
    """The verdict on juries, and whether it is wrong."""
    assert found.single is not None
    assert found.several is not None
    true = _r(planted, found, found.several) - _r(planted, found, found.single)
    verdict, sign = found.gain.verdict, found.gain.estimate
    if verdict == "effect":
        return "false effect" if sign * true <= 1e-9 else "effect"
    if verdict == "equivalent":
        return "false equivalent" if abs(true) > SMALLEST_R else "equivalent"
    return "undecided"


def _r(planted: Planted, found: Measured, place: int) -> float:
    mix = found.mixes[place]
    return r_of(planted, [int(name[1:]) for name in mix.judges], mix.orders, shared=mix.shared)


def falsely_enough(planted: Planted, found: Measured) -> bool:
    """Is the cheaper mix that was chosen truly farther from the best than the margin?"""
    assert found.chosen is not None
    assert found.best is not None
    rated = planted.quality**2 + planted.rater**2
    added = rated * (_r(planted, found, found.best) ** 2 - _r(planted, found, found.chosen) ** 2)
    return added > found.margin**2


def rates(setting: str, items: int, runs: int, *, margin: float = 0.25, seed: int = 0) -> Counter[str]:
    """How often each was said, in so many runs; ``margin`` in points."""
    counted: Counter[str] = Counter(runs=runs)
    for k in range(runs):
        result = jury(jury_run(SETTINGS[setting], items=items, seed=seed + k), margin=margin).juries[0]
        found = result.people
        assert found is not None
        counted[told(SETTINGS[setting], found)] += 1
        cheaper = found.chosen != found.best
        counted["cheaper"] += cheaper
        counted["falsely enough"] += cheaper and falsely_enough(SETTINGS[setting], found)
    return counted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--items", type=int, nargs="+", default=[60, 150, 400])
    parser.add_argument("--margin", type=float, default=0.25)
    asked = parser.parse_args()
    for setting in SETTINGS:
        for items in asked.items:
            print(setting, items, json.dumps(rates(setting, items, asked.runs, margin=asked.margin)), flush=True)


if __name__ == "__main__":
    main()
