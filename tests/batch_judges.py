"""Foreign judges of batches: whole tables of scores, made by nothing of rubriclab's.

A response has a quality on a scale of 1 to 9; a score is the rounded sum of that, what is planted and noise of
three kinds (normal; heavy-tailed; a call's own mood on top). Written as the files that people have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

FAMILIES = ("normal", "heavy", "moody", "prompts")
SQUARE = ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))
"""Williams (1949), four treatments: each at each place, and after each other, once."""


@dataclass(frozen=True)
class BatchJudge:
    """What is planted, in points: ``contrast`` a point of the response before above 5, ``drift`` from first to
    last place, ``shift`` of every score in a batch; ``slope_sd``: items' own leanings to later places."""

    family: str = "normal"
    contrast: float = 0.0
    drift: float = 0.0
    shift: float = 0.0
    slope_sd: float = 0.0
    singles: int = 2

    def table(self, items: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        quality = rng.uniform(3.0, 7.0, items)
        slope = rng.normal(0.0, self.slope_sd, items)
        if self.family == "prompts":  # two responses a prompt share their leaning
            slope = slope[np.arange(items) // 2 * 2]
        dealt = rng.permutation(items)
        rows: list[tuple[object, ...]] = []
        for b, start in enumerate(range(0, items - items % 4, 4)):
            four = dealt[start : start + 4]
            for order, line in enumerate(SQUARE):
                shown = four[list(line)]
                at = np.linspace(-0.5, 0.5, 4)
                before = np.concatenate([[5.0], quality[shown[:-1]]])
                mean = quality[shown] + self.shift + (self.drift + slope[shown]) * at
                mean = mean + self.contrast * (before - 5.0)
                rows += [
                    (f"i{i}", f"b{b}", f"o{order}", p + 1, score)
                    for p, (i, score) in enumerate(zip(shown, self._scores(mean, rng), strict=True))
                ]
        for i in range(items):
            rows += [
                (f"i{i}", None, None, None, int(self._scores(quality[i : i + 1], rng)[0])) for _ in range(self.singles)
            ]
        table = pd.DataFrame(rows, columns=["item_id", "batch", "order", "place", "score"])
        number = table["item_id"].str[1:].astype(int)
        table["human"] = quality[number]
        if self.family == "prompts":
            table["prompt"] = "p" + (number // 2).astype(str)
        return table.assign(judge="foreign", dataset="made")

    def _scores(self, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.standard_t(3, len(mean)) * 0.5 if self.family == "heavy" else rng.normal(0.0, 0.8, len(mean))
        if self.family == "moody":
            noise = noise + rng.normal(0.0, 0.8)
        return np.clip(np.rint(mean + noise), 1, 9).astype(int)
