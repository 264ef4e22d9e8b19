"""Answers of ppi-python 0.2.3 (numpy 1.26), frozen in prediction_powered.json.

Run in an environment of its own: pip install ppi-python==0.2.3 "numpy<2", then this file.
"""

import json
from pathlib import Path

import numpy as np

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


if __name__ == "__main__":
    from ppi_py import ppi_mean_pointestimate

    cases, tuned = [], []
    for seed, (n, rest) in enumerate(((15, 285), (60, 240), (200, 100))):
        for kind in KINDS:
            human, judge, others = drawn(seed, n, rest, kind)
            at = {"seed": seed, "n": n, "rest": rest, "kind": kind}
            for weight in (0.0, 0.37, 1.0):
                point = float(np.squeeze(ppi_mean_pointestimate(human, judge, others, lam=weight)))
                cases.append({**at, "weight": weight, "estimate": point})
            point = float(
                np.squeeze(ppi_mean_pointestimate(human, judge, others))
            )  # at a weight that it does not tell
            weight = (point - float(human.mean())) / float(others.mean() - judge.mean())
            tuned.append({**at, "estimate": point, "weight": weight})
    answers = {"made by": "ppi-python 0.2.3", "cases": cases, "tuned": tuned}
    Path(__file__).with_suffix(".json").write_text(json.dumps(answers, indent=1) + "\n")
