"""Runs of several judges whose errors hang together as planted: not the lab's own simulated judge.

A score is the text's quality, what a judge misjudges of the text (correlated between judges), what an
order does to the text (correlated between judges in the same order), and noise; on a graded scale or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.model import STATUSES, Arm, Ordering, RunData

SCORES = (1, 2, 3, 4, 5)
LINES = (*(SCORES[k:] + SCORES[:k] for k in range(5)), *(SCORES[::-1][k:] + SCORES[::-1][:k] for k in range(5)))


@dataclass(frozen=True)
class Planted:
    """Standard deviations in points; ``text``, ``order``: correlations between judges of these errors."""

    judges: int = 3
    quality: float = 0.8
    text_sd: float = 0.5
    text: float = 0.0
    order_sd: float = 0.4
    order: float = 0.0
    noise: float = 0.3
    rater: float = 0.4
    skills: tuple[float, ...] = ()
    """Factor of each judge's text_sd; all 1 by default."""


def scores_of(planted: Planted, items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """((items, judges, orders) scores, (items,) mean ratings)."""
    j, k = planted.judges, len(LINES)
    skill = np.array(planted.skills or (1.0,) * j)

    def shared(correlation: float, *shape: int) -> np.ndarray:
        common = rng.normal(size=(items, 1, *shape))
        return np.sqrt(correlation) * common + np.sqrt(1 - correlation) * rng.normal(size=(items, j, *shape))

    quality = planted.quality * rng.normal(size=items)
    score = 3.0 + quality[:, None, None] + planted.text_sd * (skill[None] * shared(planted.text))[..., None]
    score = score + planted.order_sd * shared(planted.order, k) + planted.noise * rng.normal(size=(items, j, k))
    score = score + 0.3 * np.linspace(-1, 1, max(j, 2))[None, :j, None]
    return score, 3.0 + quality + planted.rater * rng.normal(size=items)


def jury_run(
    planted: Planted, *, items: int, seed: int, orders: int = len(LINES), rated: bool = True, graded: bool = False
) -> RunData:
    """Every judge reads every text in the ten balanced orders, or the first ``orders`` of them."""
    rng = np.random.default_rng(seed)
    score, human = scores_of(planted, items, rng)
    score = score[:, :, :orders]
    if graded:
        score = np.clip(np.rint(score), 1, 5)
    i, j, o = (axis.ravel() for axis in np.indices(score.shape))
    table = pd.DataFrame(
        {
            "arm": j,
            "item": i,
            "ordering": o,
            "read": o,
            "repeat": 0,
            "call": np.arange(len(i)),
            "status": STATUSES.index("ok"),
            "score": score.ravel(),
            "position": 1,
            "expected": np.nan,
            "mass": np.nan,
        }
    )
    about = pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(items)],
            "dataset": "d",
            "criterion": None,
            "block": None,
            "prompt": None,
            "candidate": None,
            "task": None,
            "human": human if rated else np.nan,
            "raters": [(float(h),) if rated else () for h in human],
            "rater_names": [()] * items,
            "n_chars": 10,
        }
    )
    arms = tuple(Arm(f"j{n}", "d", "balanced", scores=SCORES, n_positions=5) for n in range(planted.judges))
    shown = tuple(Ordering(line, tuple(map(str, line))) for line in LINES)
    return RunData("run", "run", arms, about, shown, table)
