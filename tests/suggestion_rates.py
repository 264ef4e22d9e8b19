"""How often a wording is falsely said to help: judges for which none does, and one where one helps by a known amount.

``python -m tests.suggestion_rates --runs 400`` prints a line a setting. The judge is not the lab's simulated one: a
score is the text's quality, what the order does to all texts and to this one, and noise, on the graded scale.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.suggested import helped
from rubriclab.model import STATUSES, Arm, Ordering, RunData
from tests.juries import LINES, SCORES

CANDIDATES, FINALISTS, SAMPLE = 8, 3, 16


@dataclass(frozen=True)
class Wording:
    """Standard deviations in points. ``common``: of what an order does to all texts; ``own``: to this one;
    ``tails``: degrees of freedom of the latter's size by text; ``misjudged``: of a text, whatever the order."""

    common: float = 0.2
    own: float = 0.5
    noise: float = 0.3
    misjudged: float = 0.3
    tails: float = np.inf


@dataclass(frozen=True)
class Setting:
    base: Wording
    others: Wording
    last: Wording | None = None
    """The one that is better, where there is one."""


SETTINGS: Mapping[str, Setting] = {
    "nothing helps": Setting(Wording(), Wording()),
    "nothing helps, few texts moved much": Setting(Wording(tails=3), Wording(tails=3)),
    "quieter, order as before": Setting(Wording(noise=0.5), Wording(noise=0.2)),
    "order does nothing": Setting(Wording(common=0.0, own=0.0), Wording(common=0.0, own=0.0)),
    "less order, less agreement": Setting(Wording(), Wording(own=0.2, common=0.0, misjudged=0.66)),
    "one helps": Setting(Wording(), Wording(), Wording(own=0.25, common=0.1)),
    "one helps much": Setting(Wording(own=0.8, common=0.3), Wording(own=0.8, common=0.3), Wording(own=0.1, common=0.0)),
}


def asked(wording: Wording, quality: np.ndarray, human: np.ndarray, rng: np.random.Generator) -> RunData:
    """A version's run: every text in the ten balanced orders, and twice in the usual one."""
    n, k = len(quality), len(LINES)
    size = np.ones(n) if np.isinf(wording.tails) else rng.standard_t(wording.tails, size=n) / np.sqrt(3.0)
    moves = wording.common * rng.normal(size=k) + wording.own * size[:, None] * rng.normal(size=(n, k))
    true = (quality + wording.misjudged * rng.normal(size=n))[:, None] + moves
    every = np.concatenate([true, true[:, :1], true[:, :1]], axis=1)
    score = np.clip(np.rint(every + wording.noise * rng.normal(size=every.shape)), 1, 5)
    i, read = (axis.ravel() for axis in np.indices(score.shape))
    table = pd.DataFrame(
        {
            "arm": (read >= k).astype(int),
            "item": i,
            "ordering": np.where(read >= k, 0, read),
            "read": np.where(read >= k, read - k, read),
            "repeat": np.where(read >= k, read - k, 0),
            "call": np.arange(len(i)),
            "status": STATUSES.index("ok"),
            "score": score.ravel(),
            "position": 1,
            "expected": np.nan,
            "mass": np.nan,
        }
    )
    about = pd.DataFrame({"item_id": [f"i{m}" for m in range(n)], "dataset": "d", "human": human})
    about = about.assign(criterion="q", block=None, prompt=None, candidate=None, task=None, n_chars=10)
    about = about.assign(raters=[(float(h),) for h in human], rater_names=[()] * n)
    arms = tuple(Arm("j", "d", name, scores=SCORES, n_positions=5) for name in ("balanced", "fixed"))
    orders = tuple(Ordering(line, tuple(map(str, line))) for line in LINES)
    return RunData("run", "run", arms, about, orders, table)


def texts(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    quality = 3.0 + 0.9 * rng.normal(size=n)
    return quality, quality + 0.4 * rng.normal(size=n)


def told(setting: Setting, items: int, rng: np.random.Generator) -> list[int]:
    """Places of the candidates that are said to help: tried on a sample, the best tested on held-out items."""
    wordings = [setting.others] * (CANDIDATES - 1) + [setting.last or setting.others]
    few, held = texts(SAMPLE, rng), texts(items, rng)
    before = asked(setting.base, *few, rng)
    seen = [helped(asked(one, *few, rng), before).change for one in wordings]
    going = [k for k in np.argsort(seen).tolist() if seen[k] < 0][:FINALISTS]
    start = asked(setting.base, *held, rng)
    found = [(k, helped(asked(wordings[k], *held, rng), start, tested=len(going))) for k in going]
    return [k for k, one in found if one.helps]


def rates(name: str, items: int, runs: int, *, seed: int = 0) -> Counter[str]:
    """``false``: runs in which a wording that does not help is said to; ``found``: in which the one that does is."""
    counted: Counter[str] = Counter(runs=runs)
    for k in range(runs):
        setting = SETTINGS[name]
        helping = told(setting, items, np.random.default_rng([seed, k]))
        counted["false"] += any(place < CANDIDATES - 1 or setting.last is None for place in helping)
        counted["found"] += setting.last is not None and CANDIDATES - 1 in helping
    return counted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--items", type=int, nargs="+", default=[60])
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    wanted = parser.parse_args()
    for name in wanted.settings:
        for items in wanted.items:
            print(name, items, json.dumps(rates(name, items, wanted.runs)), flush=True)


if __name__ == "__main__":
    main()
