"""Drift between two runs, and limits that a run derives: how often each says what is true.

    python -m benchmarks drift [--studies 300] [--items 24 60] [--seed 11]

The same texts are judged twice by a latent judge that nothing was done to, or whose level, lean to the first option or noise was
changed (Gumbel utilities, none of the lab's simulated judge); each order twice. What was seen stands in ``MEASURED``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import numpy as np

from rubriclab.core.drift import QUESTIONS, drift
from rubriclab.core.judgments import Judgments
from rubriclab.core.operations import check, derived
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from tests.tables import ORDERS, comparisons, criteria, findings, options

MEASURED = """
300 pairs of runs a cell, seed 11, 24 / 60 texts. Nothing changed: told .037 / .023; of pairs .017 / .040, of criteria .023 / .020.
Level + 0.5 points: 1.000 / 1.000. First option + 0.8 log-odds: .967 / 1.000 (noise is told in .200 / .470 of them: a judge that
leans more varies less). Noise x 2: .250 / .667. Derived limits that the same judge, asked anew about the same texts, passes: .927
of 300 / .903 of 300.
"""

CHANGES: dict[str, dict[str, float]] = {
    "nothing": {}, "level +0.5": {"level": 0.5}, "first +0.8": {"first": 0.8}, "noise x 2": {"noise": 2.0},
}  # fmt: skip
TWICE = np.tile(np.arange(10), 2)


def judged(
    rng: np.random.Generator, quality: np.ndarray, *, level: float = 0.0, first: float = 0.5, noise: float = 1.0
) -> JudgmentTable:
    """One run about the texts of ``quality`` (items,)."""
    shown = np.tile(ORDERS, (2, 1))
    utility = -0.5 * (shown - quality[:, None, None] - level) ** 2 + first * (np.arange(5) == 0)
    chosen = (utility + noise * rng.gumbel(size=utility.shape)).argmax(axis=2)
    return options(shown[np.arange(len(shown)), chosen].astype(float), ORDERS, TWICE)


def axes(rng: np.random.Generator, items: int) -> dict[str, tuple[JudgmentTable, JudgmentTable]]:
    """Pairs and criteria of a judge that nothing was done to, in two runs."""
    strength, orders = rng.normal(0, 1, items), np.array([[0, 1], [1, 0]])
    own = rng.normal(3, 1, (items, 1, 3))
    turns = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]])

    def pair() -> JudgmentTable:
        chance = 1 / (1 + np.exp(-(strength[:, None] * np.array([1, -1]) + 0.5)))
        return comparisons(np.where(rng.random((items, 2)) < chance, 1, 2), orders)

    def criterion() -> JudgmentTable:
        return criteria(np.clip(np.rint(own + rng.normal(0, 0.7, (items, 6, 3))), 1, 5), turns)

    return {"pairs": (pair(), pair()), "criteria": (criterion(), criterion())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--items", type=int, nargs="+", default=[24, 60])
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args()
    n = chosen.studies
    for items in chosen.items:
        for name, change in CHANGES.items():
            told: Counter[str] = Counter()
            for k in range(n):
                rng = np.random.default_rng([chosen.seed, items, k])
                quality = rng.normal(3, 1, items)
                after = {
                    "first": 0.5 + change.get("first", 0.0),
                    **{key: change[key] for key in change if key != "first"},
                }
                runs = [Judgments(judged(rng, quality, **how), "auto").arms for how in ({}, after)]
                made = drift(*runs, Smallest())
                told.update([made.word, *(q for q, asked in made.questions.items() if asked.verdict == "effect")])
                print(f"\r{items} {name}: {k + 1} of {n} ", end="", file=sys.stderr, flush=True)
            words = ", ".join(f"{key} {told[key] / n:.3f}" for key in ("effect", "equivalent", *QUESTIONS))
            print(f"\r{items} items, changed {name}: {words}")
        told = Counter()
        for k in range(n):
            for axis, pair in axes(np.random.default_rng([chosen.seed, items, k, 1]), items).items():
                told[axis] += drift(*(Judgments(table, "auto").arms for table in pair), Smallest()).word == "effect"
        print(f"{items} items, nothing changed: " + ", ".join(f"{axis} told {told[axis] / n:.3f}" for axis in told))
        passed = total = 0
        for k in range(n // 3):
            rng = np.random.default_rng([chosen.seed, items, k, 2])
            quality = rng.normal(3, 1, items)
            first, again = (findings(judged(rng, quality)) for _ in range(2))
            checked = check(again, [limit for limit, _ in derived(first)])
            passed, total = passed + sum(made.word == "passes" for made in checked), total + len(checked)
        print(
            f"{items} items: derived limits passed by the same judge asked anew {passed / max(total, 1):.3f} of {total}"
        )


if __name__ == "__main__":
    main()
