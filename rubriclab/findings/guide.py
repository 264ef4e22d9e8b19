"""A run told in four pictures: one answer under its orders, the same order beside other orders, the
positions picked, the means.

For arms whose strategy is balanced: every item was read under the same orders, each score
twice at each position, so that no score can be the reason why a position is picked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from rubriclab.findings.frame import by_read, count_table, option_rows, read_slots
from rubriclab.findings.topic import Question
from rubriclab.model import Arm, RunData
from rubriclab.stats.budget import MAX_SUBSETS, subsets
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints
from rubriclab.stats.noise import disagreement
from rubriclab.stats.position import selection

STRATEGY, CONTROL = "balanced", "fixed"
FEW = 10
"""Below so many answers no interval is given for what the order adds."""


@dataclass(frozen=True)
class PickedPositions:
    """What an arm's first ``items`` items add up to: readable judgments by position picked.

    ``counts``: (n,); ``share``: (n,) of all ``read`` judgments; ``v``: Cramér's V.
    """

    arm: Arm
    items: int
    of_items: int
    counts: Ints
    share: Floats
    v: float
    read: int


@dataclass(frozen=True)
class OrderBesideNoise:
    """How often two reads of an answer give different scores, in one order and in different ones.

    ``same``: in the order of the ``control`` arm, the judge's own noise; ``other``: in the orders of
    ``arm``. Both are means over the ``items`` answers that have two readable reads either way, NaN
    where there is no control; ``excess``: other - same, ``ci`` its 95 % interval, Student's t over
    answers.
    """

    arm: Arm
    control: Arm | None
    items: int
    same: float
    other: float
    excess: float
    ci: Interval


@dataclass(frozen=True)
class MeansOfReads:
    """How far the mean of ``k`` reads can lie from the mean over all ``reads`` orders, by item.

    ``names``, ``overall``, ``low``, ``high``: (items,), by the mean over all orders, ascending;
    low to high holds 95 % of the choices of k reads. ``distance``: mean absolute distance of
    such a mean from the one over all orders, over items and choices, in score points.
    ``excluded``: items left out because a read gave no score.
    """

    arm: Arm
    k: int
    reads: int
    names: tuple[str, ...]
    overall: Floats
    low: Floats
    high: Floats
    distance: float
    excluded: int


def varied_arms(data: RunData) -> tuple[int, ...]:
    """Codes of the arms the pictures can be made of: score options in balanced orders."""
    return tuple(
        code
        for code, arm in enumerate(data.arms)
        if arm.axis == "options" and arm.strategy == STRATEGY and not arm.variant.levels
    )


def picked_positions(data: RunData, *, items: int) -> tuple[PickedPositions, ...]:
    """Positions picked in the first ``items`` items of every arm, readable judgments only."""
    lines = []
    for code in varied_arms(data):
        rows = option_rows(data, data.arms[code], _rows(data, code))
        taken = rows.ok & (rows.item < items)
        counts = np.bincount(rows.position[taken], minlength=rows.n)
        picked = selection(counts)
        lines.append(
            PickedPositions(
                data.arms[code],
                min(items, rows.n_items),
                rows.n_items,
                counts,
                picked.share,
                picked.v,
                int(taken.sum()),
            )
        )
    return tuple(lines)


def order_beside_noise(data: RunData) -> tuple[OrderBesideNoise, ...]:
    """For every arm of the pictures, its reads beside those of the same judge in one order."""
    return tuple(_beside_noise(data, code) for code in varied_arms(data))


def _beside_noise(data: RunData, code: int) -> OrderBesideNoise:
    arm = data.arms[code]
    wanted = replace(arm, strategy=CONTROL)
    control = next((k for k, known in enumerate(data.arms) if known == wanted), None)
    nothing = OrderBesideNoise(arm, None, 0, np.nan, np.nan, np.nan, NO_INTERVAL)
    if control is None:
        return nothing
    other, same = _disagreement(data, code), _disagreement(data, control)
    known = np.isfinite(other) & np.isfinite(same)
    n, gained = int(known.sum()), (other - same)[known]
    if not n:
        return replace(nothing, control=wanted)
    excess, ci = float(gained.mean()), NO_INTERVAL
    if n >= FEW:
        half = float(stdtrit(n - 1, 0.975) * gained.std(ddof=1) / np.sqrt(n))
        ci = Interval(max(excess - half, -1.0), min(excess + half, 1.0))
    means = float(same[known].mean()), float(other[known].mean())
    return OrderBesideNoise(arm, wanted, n, *means, excess, ci)


def _disagreement(data: RunData, arm: int) -> Floats:
    """Of every item of the run: the chance that two reads under an arm differ; NaN below two."""
    rows = option_rows(data, data.arms[arm], _rows(data, arm))
    counts = count_table((rows.item[rows.ok], rows.n_items), (rows.score[rows.ok], rows.n))
    spread = np.full(len(data.items), np.nan)
    spread[rows.item_code] = disagreement(counts)
    return spread


def means_of_reads(data: RunData, *, arm: int, k: int, seed: int = 0) -> MeansOfReads:
    """Means of ``k`` of an item's reads beside the mean of all, over every choice of k reads.

    Above MAX_SUBSETS choices a seeded sample of them. Raises ValueError for a k that the reads
    do not have.
    """
    codes, scores = _grid(data, arm)
    reads = scores.shape[1]
    if not 1 <= k <= reads:
        raise ValueError(f"{k} of {reads} reads cannot be chosen")
    whole = np.isfinite(scores).all(axis=1)
    used = scores[whole]
    overall = used.mean(axis=1)
    order = np.argsort(overall, kind="stable")
    chosen = subsets(reads, k, MAX_SUBSETS, np.random.default_rng(seed))
    means = chosen @ used.T / k
    low, high = np.quantile(means, [0.025, 0.975], axis=0) if len(used) else (np.empty(0), np.empty(0))
    names = data.items["item_id"].to_numpy()[codes[whole]]
    return MeansOfReads(
        data.arms[arm],
        k,
        reads,
        tuple(map(str, names[order])),
        overall[order],
        low[order],
        high[order],
        float(np.abs(means - overall).mean()) if len(used) else float("nan"),
        int((~whole).sum()),
    )


def _rows(data: RunData, arm: int) -> pd.DataFrame:
    mine = np.flatnonzero(data.judgments["arm"].to_numpy() == arm)
    return data.judgments.iloc[mine].reset_index(drop=True)


def _grid(data: RunData, arm: int) -> tuple[Ints, Floats]:
    """(item codes, (items, reads) scores of an arm, NaN where unread)."""
    judgments = _rows(data, arm)
    rows = option_rows(data, data.arms[arm], judgments)
    slot = read_slots(rows.item, judgments)
    return rows.item_code, by_read(rows.item, slot, np.where(rows.ok, rows.value, np.nan), rows.n_items)


VARIED_ARMS = Question("arms of the guide", varied_arms)
PICKED_POSITIONS = Question("positions of the guide", picked_positions)
ORDER_BESIDE_NOISE = Question("noise of the guide", order_beside_noise)
MEANS_OF_READS = Question("means of the guide", means_of_reads)
