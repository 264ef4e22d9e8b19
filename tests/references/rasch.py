"""What R's eRm 1.0-2 (Mair and Hatzinger 2007) estimates by conditional likelihood, frozen in rasch.json.

Run by hand where R has eRm (Debian: r-cran-erm); CI has no R. With two reads an item the pairs of reads are the
conditional likelihood itself, so estimates must be the same. Three models: two orders of one judge whose places
are turned round (LPCM), two judges with thresholds of their own (PCM), and two whose thresholds are shared (RSM
as an LPCM). Data come from a seed: see ``reads``.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ITEMS, SEED = 400, 20261122
TAU = (-1.2, -0.4, 0.3, 1.3)
PLACES = (0.4, 0.1, -0.1, -0.1, -0.3)

R = """
suppressMessages(library(eRm))
x <- as.matrix(read.csv("{data}", header = FALSE))
w <- as.matrix(read.csv("{design}", header = FALSE))
fit <- LPCM(x, W = w, se = TRUE)
cat(sprintf("%.10f", fit$etapar), "\\n")
cat(sprintf("%.10f", fit$loglik), "\\n")
"""


def reads(severity: float, places: tuple[float, ...]) -> np.ndarray:
    """(ITEMS, 2) categories 0..4: kind 0 in ascending, kind 1 in descending order and as much more severe."""
    rng = np.random.default_rng(SEED)
    theta = rng.normal(0.0, 1.2, ITEMS)
    step = np.concatenate([[0.0], -np.cumsum(TAU)])
    out = np.empty((ITEMS, 2), dtype=np.int64)
    for kind, order in enumerate((range(5), range(4, -1, -1))):
        own = step + np.array(places)[list(order)] - kind * severity * np.arange(5)
        level = theta[:, None] * np.arange(5) + own
        chance = np.exp(level - level.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        out[:, kind] = (rng.random((ITEMS, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    return out


def designs() -> dict[str, np.ndarray]:
    """(2 kinds, 5 categories, p) columns of each model; category 0 has none."""
    shared = np.zeros((2, 5, 3))
    for k in (1, 2, 3):
        shared[:, k, k - 1] = 1.0
    turned = np.zeros((2, 5, 2))
    for column, (first, last) in enumerate(((0, 4), (1, 3))):
        for kind, way in enumerate((1.0, -1.0)):
            turned[kind, first, column], turned[kind, last, column] = way, -way
    turned -= turned[:, :1]
    severe = np.zeros((2, 5, 1))
    severe[1, :, 0] = -np.arange(5)
    own = np.zeros((2, 5, 7))
    for kind in (0, 1):
        for k in (1, 2, 3):
            own[kind, k, 3 * kind + k - 1] = 1.0
    own[:, :, 6] = severe[:, :, 0]
    return {
        "places": np.concatenate([shared, turned], axis=2),
        "rating scale": np.concatenate([shared, severe], axis=2),
        "partial credit": own,
    }


def answers(name: str, design: np.ndarray) -> dict[str, object]:
    data = reads(0.0 if name == "places" else 0.6, PLACES if name == "places" else (0.0,) * 5)
    with tempfile.TemporaryDirectory() as folder:
        paths = {"data": Path(folder) / "x.csv", "design": Path(folder) / "w.csv"}
        np.savetxt(paths["data"], data, fmt="%d", delimiter=",")
        np.savetxt(paths["design"], design[:, 1:].reshape(-1, design.shape[2]), delimiter=",")
        script = Path(folder) / "fit.R"
        script.write_text(R.format(**paths))
        told = subprocess.run(["Rscript", str(script)], capture_output=True, text=True, check=True).stdout.split("\n")
    return {"phi": [float(v) for v in told[0].split()], "log_likelihood": float(told[1])}


if __name__ == "__main__":
    found = {name: answers(name, design) for name, design in designs().items()}
    document = {"made_with": "eRm 1.0-2, R 4.2.2", "items": ITEMS, "seed": SEED, "models": found}
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
