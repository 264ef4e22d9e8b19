"""Answers of ppi-python 0.2.3 (numpy 1.26), frozen in prediction_powered.json.

Run in an environment of its own: pip install ppi-python==0.2.3 "numpy<2", then this file.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

KINDS = ("scores", "binary", "noise")


def drawn(seed: int, n: int, rest: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n + rest)
    human = np.clip(np.rint(3 + quality + rng.normal(0, 0.5, n + rest)), 1, 5)
    judge = np.clip(np.rint(3.5 + quality + rng.normal(0, 0.8, n + rest)), 1, 5)
    if kind == "binary":
        human, judge = (human > 3) * 1.0, (judge > 3) * 1.0
    if kind == "noise":
        judge = rng.normal(size=n + rest)
    return human[:n], judge[:n], judge[n:]


def main() -> None:
    cases, tuned = [], []
    for seed, (n, rest) in enumerate(((15, 285), (60, 240), (200, 100))):
        for kind in KINDS:
            parts = drawn(seed, n, rest, kind)
            at = {"seed": seed, "n": n, "rest": rest, "kind": kind}
            for weight in (0.0, 0.37, 1.0):
                point = float(np.squeeze(ppi_mean_pointestimate(*parts, lam=weight)))
                low, high = (float(np.squeeze(end)) for end in ppi_mean_ci(*parts, alpha=0.05, lam=weight))
                cases.append({**at, "weight": weight, "estimate": point, "half": (high - low) / 2})
            tuned.append({**at, **by_the_package(*parts)})
    answers = {"made by": "ppi-python 0.2.3", "cases": cases, "tuned": tuned}
    Path(__file__).with_suffix(".json").write_text(json.dumps(answers, indent=1) + "\n")


def by_the_package(human: np.ndarray, judge: np.ndarray, others: np.ndarray) -> dict[str, float]:
    """The estimate at the weight that the package chooses, and that weight, which it does not tell."""
    point = float(np.squeeze(ppi_mean_pointestimate(human, judge, others)))
    apart = float(others.mean() - judge.mean())
    return {"estimate": point, "weight": (point - float(human.mean())) / apart}


if __name__ == "__main__":
    main()
