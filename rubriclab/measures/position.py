"""Score options in; which position is chosen, how strongly, with which score, out (Xu et al. v1
section 5, v2 setting 1).

Shares, V and Bias Cost are the paper's; intervals keep the calls of a unit together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rubriclab.core.estimate import (
    Estimate,
    Opaque,
    Wilson,
    jackknife,
    missing,
    plain,
    share,
    simultaneous,
)
from rubriclab.core.judgments import TIE, Arm, once
from rubriclab.core.topic import Chart, Row, nothing, topic
from rubriclab.stats import position as stats
from rubriclab.stats.contrasts import judged_alone
from rubriclab.stats.resample import MIN_RESAMPLED, Bools, Floats, bootstrap_sums, stretch, sum_by

CHARTS = (
    Chart("bars", "position_share", by="position"),
    Chart("cells", "position_given_score", by="position", across="score"),
)
MOST_ORDERS = 150
"""Bias Costs are listed for a design's own orders, up to so many."""
N_BOOT = 1_000


@topic("position", axes={"options"}, charts=CHARTS)
def position(arm: Arm) -> Iterator[Row]:
    yield from shares(arm)
    yield from distances(arm)
    table, rows = scores_by_position(arm)
    yield from rows
    yield from bias_costs(arm, table)


def shares(arm: Arm) -> Iterator[Row]:
    """Share of each position among all parsed choices; a tie is 1/p of each."""
    tied = arm.by_unit(sum_by(arm.item, arm.ok & (arm.position == TIE), arm.items))
    chosen = arm.by_unit(arm.counts.sum(axis=1)) + tied[:, None] / arm.positions
    calls = chosen.sum(axis=1)
    for p in range(arm.positions):
        estimate = share(chosen[:, p], calls, arm.unit_names, balanced=True)
        yield Row(
            "position_share", estimate, {"position": p + 1}, counts={"n": round(float(calls.sum()))}
        )


def distances(arm: Arm) -> Iterator[Row]:
    """V and chi-square as in the paper, and V without what noise adds."""
    chosen = arm.by_unit(arm.counts.sum(axis=1))
    pooled = stats.selection(chosen.sum(axis=0))
    n = {"n": int(chosen.sum())}
    if not n["n"]:
        yield from nothing(("cramers_v", "chi2", "v_without_noise"), "nothing_parsed")
        return
    yield Row("cramers_v", plain(pooled.v, "as_in_paper"), counts=n)
    yield Row(
        "chi2",
        plain(pooled.chi2, "statistic"),
        test=("chi-square, as in the paper", pooled.p),
        counts=n,
    )
    yield Row("v_without_noise", v_without_noise(arm, chosen, pooled), counts=n)


def v_without_noise(arm: Arm, chosen: Floats, pooled: stats.Selection) -> Estimate:
    """The root of V^2 less what units that differ make of it on average; 0 below 0.

    V is of positions only where every score stood at every position about equally often. Else it
    shows what scores are given; in one order nothing else.
    """
    if arm.single_order:
        return missing("single_order")
    if not shown_evenly(arm):
        return missing("uneven")
    noise = stats.v_from_noise(chosen)
    if not np.isfinite(noise):
        return missing("too_few_units")
    calls, n = chosen.sum(axis=1), arm.positions
    draws = np.zeros((0, n))
    if arm.units >= MIN_RESAMPLED:
        sums = bootstrap_sums(chosen, N_BOOT)
        sums = sums[sums.sum(axis=1) > 0]
        errors = sums / sums.sum(axis=1, keepdims=True) - pooled.share
        draws = pooled.share + stretch(arm.units, 0.95) * errors
    value = float(np.sqrt(max(pooled.v**2 - noise**2, 0.0)))
    away = (pooled.share - 1 / n) * n / (n - 1) / max(pooled.v, 1e-9)
    influence = (chosen - calls[:, None] * pooled.share) / calls.mean() @ away
    return Estimate(
        value,
        influence,
        arm.unit_names,
        Opaque(partial(stats.v_interval, pooled.share, draws), fewest=10),
    )


@once
def one_order_each(arm: Arm) -> bool:
    """Were most of the texts that were judged, judged in one order only?"""
    return judged_alone(arm.text[arm.item[arm.rows]], arm.order[arm.rows], arm.texts)[1]


@once
def shown_evenly(arm: Arm) -> bool:
    """Did every score stand at every position about equally often? Repeats of an item's one order
    are no other deal.
    """
    exposure = arm.exposure
    if one_order_each(arm):
        calls = exposure[:, 0].sum(axis=1)
        shown = calls > 0
        return stats.is_balanced((exposure[shown] / calls[shown, None, None]).sum(axis=0))
    return stats.is_balanced(exposure.sum(axis=0))


def scores_by_position(arm: Arm) -> tuple[Floats, list[Row]]:
    """P(position | score), its table (scores, positions) and its rows, whose intervals hold for all
    cells at once.

    How sure a cell is comes from leaving out each unit that chose the score; the interval is a
    share's (Wilson's at that error): an error either way ends at 0, and a position that was never
    chosen is not for that certain never to be.
    """
    chosen, shown = arm.by_unit(arm.counts), arm.by_unit(arm.exposure)
    none = "single_order" if arm.single_order else "missing_cells"
    rows: list[Row] = []
    known: list[Bools] = []
    for s, name in enumerate(arm.names):
        n, parts = int(chosen[:, s].sum()), (chosen[:, s], shown[:, s])
        known += [chosen[:, s].sum(axis=1) > 0] * arm.positions
        rule = Wilson(n, balanced=True, exact=True)
        how: dict[str, Any] = {"known": known[-1], "rule": rule, "light": True, "none": none}
        for p, estimate in enumerate(
            jackknife(stats.position_given_score, parts, arm.unit_names, **how)
        ):
            rows.append(
                Row(
                    "position_given_score",
                    estimate,
                    {"score": name, "position": p + 1},
                    counts={"n": n},
                )
            )
    enough = [k for k, row in enumerate(rows) if row.estimate.units >= MIN_RESAMPLED]
    level = simultaneous([rows[k].estimate for k in enough], [known[k] for k in enough])
    table = np.array([row.value for row in rows]).reshape(len(arm.names), arm.positions)
    return table, [replace(row, level=level) for row in rows]


def bias_costs(arm: Arm, table: Floats) -> Iterator[Row]:
    """The paper's Bias Cost of the design's own orders, of the ascending and the descending one,
    and the least of all.
    """
    none = "single_order" if arm.single_order else "missing_cells"

    def name(order: Iterable[int]) -> str:
        return " ".join(str(arm.names[s]) for s in order)

    upwards = tuple(range(arm.positions))
    orders = [tuple(shown) for shown in arm.shown.tolist() if shown[0] >= 0]
    wanted = list(dict.fromkeys([*orders[:MOST_ORDERS], upwards, upwards[::-1]]))
    counts = {"n": int(arm.counts.sum())}
    for order, cost in zip(wanted, stats.bias_cost(table, np.array(wanted)).tolist(), strict=True):
        yield Row(
            "bias_cost", plain(cost, "distances", none), {"order": name(order)}, counts=counts
        )
    cheapest, least = stats.least_bias_cost(table)
    named = {"order": name(cheapest)} if np.isfinite(least) else {}
    yield Row("least_bias_cost", plain(least, "distances", none), counts=counts | named)
