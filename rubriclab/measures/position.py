"""Say which position is chosen, how strongly, and with which score.

Sources: Xu et al. v1 section 5, v2 setting 1.

Shares, chi-square, V and Bias Cost are the paper's. Its chi-square treats the calls of one item as
independent, which they are not: verdicts come from ``core/verdict.py``, and intervals here keep the
calls of a unit together. Positions and scores are 0-based codes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import linear_sum_assignment

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
from rubriclab.stats.mean_contrasts import judged_alone
from rubriclab.stats.proportions import NO_INTERVAL
from rubriclab.stats.resample import (
    MIN_RESAMPLED,
    Bools,
    Floats,
    Ints,
    bootstrap_sums,
    stretch,
    sum_by,
)

# ---------------------------------------------------------------- shares, V and P(position | score)
FLAT = 1e-9
"""Relative size below which a difference is rounding error."""


class Selection(NamedTuple):
    """Pooled choices by position. ``p`` is the paper's chi-square p, not a valid test."""

    share: Floats
    chi2: float
    p: float
    v: float


def selection(counts: Floats) -> Selection:
    """Return shares, chi-square and Cramér's V from pooled counts (n,).

    chi2 = sum (n_p - N/n)^2 / (N/n) on n - 1 degrees of freedom.

    Source: Xu et al. v2, setting 1. NaN without a choice.
    """
    n, total = len(counts), float(np.sum(counts))
    if total == 0:
        return Selection(np.full(n, np.nan), float("nan"), float("nan"), float("nan"))
    chi2 = float(np.sum((counts - total / n) ** 2) / (total / n))
    share = counts / total
    return Selection(share, chi2, float(special.chdtrc(n - 1, chi2)), float(cramers_v(share)))


def cramers_v(share: Floats) -> Floats:
    """V = sqrt(chi2 / (N (n - 1))) = sqrt(n / (n - 1) sum_p (share_p - 1/n)^2).

    (..., n) -> (...).
    """
    n = share.shape[-1]
    return np.asarray(np.sqrt(n / (n - 1) * np.sum((share - 1.0 / n) ** 2, axis=-1)))


def v_from_noise(unit_counts: Floats) -> float:
    """Return the V to expect without an average position effect; NaN below two units.

    It depends on how much the units differ.

    ``unit_counts``: (units, n) choices. The pooled shares are ratios of sums, whose covariance C
    follows from the units' residuals (linearisation); without an effect E[V^2] = n/(n-1) trace(C),
    whose root is returned.
    """
    used = unit_counts[unit_counts.sum(axis=1) > 0]
    units, n = used.shape
    if units < 2:
        return float("nan")
    calls = used.sum(axis=1, keepdims=True)
    residual = (used - calls * (used.sum(axis=0) / calls.sum())) / calls.sum()
    return float(np.sqrt(n / (n - 1) * units / (units - 1) * float(np.sum(residual**2))))


def v_interval(share: Floats, resampled: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return an interval for V that may reach 0, by inverting a bootstrap test.

    ``share``: (n,); ``resampled``: (n_boot, n) shares of resampled units. V is the length of the
    deviation from 1/n, up to a factor; a plain percentile interval of a length is pushed upward
    twice (by the data's noise, and by the resampling). So: for true deviations t u along the
    observed direction u, an observed length c is reached when |t u + z| >= c, z being a
    resampled error; each z has its own t, and t belongs to the interval unless a length as great as
    c is too rare under it, or one as small. How the 5% are shared out depends on t: all for "as
    great" at t = 0, where no length is too small, half and half a few errors away (the idea of
    Feldman and Cousins 1998). So 0 is left out when the same bootstrap rejects "no effect" at 0.05,
    neither more nor less often. Covered V in 0.93 to 0.97 of simulated studies of 15 to 100 items;
    0.89 where fewer than 15 items moved.
    """
    n = len(share)
    scale = np.sqrt(n / (n - 1))
    deviation = share - 1.0 / n
    length = float(np.linalg.norm(deviation))
    if not np.isfinite(length) or len(resampled) < 2:
        return NO_INTERVAL
    error = share - resampled
    direction = deviation / length if length >= FLAT else np.eye(n)[0] - 1.0 / n
    along = error @ (direction / np.linalg.norm(direction))
    square = np.sum(error**2, axis=1)
    low, high = _accepted(
        along, along**2 - square + length**2, float(np.sqrt(square.mean())), round(1 - level, 12)
    )
    return float(min(1.0, scale * low)), float(min(1.0, scale * high))


def _accepted(along: Floats, inside: Floats, spread: float, alpha: float) -> tuple[float, float]:
    """The least and the greatest t >= 0 under which the observed length is not too rare.

    |t u + z| >= c where t is at least ``-along`` + root(``inside``), or at most ``-along`` -
    root(``inside``), or anywhere if ``inside`` is negative; ``spread``: the errors' size.
    """
    always = int(np.sum(inside < 0))
    root = np.sqrt(inside[inside >= 0])
    after = np.sort(-along[inside >= 0] + root)
    until = np.sort(-along[inside >= 0] - root)
    t = np.unique(np.concatenate([[0.0], after[after > 0], until[until > 0]]))
    if spread <= 0.0:
        return float(t[-1]), float(t[-1])
    rare = alpha / 2 * (1.0 + np.exp(-((t / spread) ** 2)))

    def reached(slack: float, first: str, second: str) -> Floats:
        past = np.searchsorted(after, t + slack, side=first)  # type: ignore[call-overload]
        still = len(until) - np.searchsorted(until, t - slack, side=second)  # type: ignore[call-overload]
        return np.asarray((always + past + still) / len(along))

    kept = t[
        (reached(FLAT, "right", "left") > rare)
        & (1.0 - reached(-FLAT, "left", "right") > alpha - rare)
    ]
    return (float(kept[0]), float(kept[-1])) if kept.size else (0.0, 0.0)


def position_given_score(counts: Floats, exposure: Floats) -> Floats:
    """Return P(p | s): how the choices of a score spread over positions, (..., positions).

    Source: Xu et al. v1, Table 5.

    Choices of the score at p over times it was shown at p, then normalised over p. NaN for a score
    never chosen, for a position where it was never shown, and for a score only ever shown at one
    position, whose share is 1 there by construction.
    """
    shown = exposure > 0
    shown = shown & (np.count_nonzero(shown, axis=-1, keepdims=True) > 1)
    rate = np.where(shown, counts / np.where(shown, exposure, 1.0), 0.0)
    total = rate.sum(axis=-1, keepdims=True)
    known = shown & (total > 0)
    return np.asarray(np.where(known, rate / np.where(total > 0, total, 1.0), np.nan))


def is_balanced(exposure: Floats) -> bool:
    """Return whether every score was at every position about equally often.

    ``exposure``: (scores, positions) totals.

    True when no cell is further from 1/n of the total than 4.5 standard errors of independent
    uniform orders: orders drawn afresh for each item pass, a short list of unbalanced orders shared
    by all items does not.
    """
    n, calls = len(exposure), exposure.sum() / len(exposure)
    if calls == 0:
        return False
    error = np.sqrt(calls * (1.0 / n) * (1.0 - 1.0 / n))
    return bool(np.max(np.abs(exposure - calls / n)) <= 4.5 * error + 1.0)


# ---------------------------------------------------------------------------------------- Bias Cost
def bias_cost(table: Floats, orders: Ints) -> Floats:
    """Return 100 x sum over positions p of |P(p | score shown at p) - 1/n|, (m,).

    ``orders``: (m, n), score codes as shown.

    ``table[s, p]``: P(p | s). In percentage points, as the paper prints it (Xu et al. v1, section
    5.3): noise makes it too large. A cell that the order needs but the data cannot give (NaN) makes
    its cost NaN.
    """
    n = table.shape[-1]
    return np.asarray(100.0 * np.abs(table[orders, np.arange(n)] - 1.0 / n).sum(axis=-1))


def least_bias_cost(table: Floats) -> tuple[Ints, float]:
    """(the cheapest of all n! orders, its cost).

    Each score takes one position and each pairing has its own cost, so this is a linear assignment
    problem and the answer is exact. Pairings with unknown cells are never taken; where no order
    avoids them the cost is NaN.
    """
    n = table.shape[-1]
    costs = np.round(np.abs(table - 1.0 / n), 12)
    forbidden = 2.0 * n  # more than any order of known cells can cost
    scores, positions = linear_sum_assignment(np.where(np.isfinite(costs), costs, forbidden))
    order = scores[np.argsort(positions)].astype(np.int64)
    return order, float(bias_cost(table, order[None])[0])


# --------------------------------------------------------------------------------- the topic's rows
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
    """Yield the share of each position among all parsed choices; a tie is 1/p of each."""
    tied = arm.by_unit(sum_by(arm.item, arm.ok & (arm.position == TIE), arm.items))
    chosen = arm.by_unit(arm.counts.sum(axis=1)) + tied[:, None] / arm.positions
    calls = chosen.sum(axis=1)
    for p in range(arm.positions):
        estimate = share(chosen[:, p], calls, arm.unit_names, balanced=True)
        yield Row(
            "position_share", estimate, {"position": p + 1}, counts={"n": round(float(calls.sum()))}
        )


def distances(arm: Arm) -> Iterator[Row]:
    """Yield V and chi-square as in the paper, and V without what noise adds."""
    chosen = arm.by_unit(arm.counts.sum(axis=1))
    pooled = selection(chosen.sum(axis=0))
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


def v_without_noise(arm: Arm, chosen: Floats, pooled: Selection) -> Estimate:
    """Return the root of V^2 minus what units that differ make of it on average; 0 below 0.

    V is of positions only where every score stood at every position about equally often. Else it
    shows what scores are given; in one order nothing else.
    """
    if arm.single_order:
        return missing("single_order")
    if not shown_evenly(arm):
        return missing("uneven")
    noise = v_from_noise(chosen)
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
        Opaque(partial(v_interval, pooled.share, draws), fewest=10),
    )


@once
def one_order_each(arm: Arm) -> bool:
    """Return whether most of the judged texts were judged in one order only."""
    return judged_alone(arm.text[arm.item[arm.rows]], arm.order[arm.rows], arm.texts)[1]


@once
def shown_evenly(arm: Arm) -> bool:
    """Return whether every score was at every position about equally often.

    Repeats of an item's one order do not count as other orders.
    """
    exposure = arm.exposure
    if one_order_each(arm):
        calls = exposure[:, 0].sum(axis=1)
        shown = calls > 0
        return is_balanced((exposure[shown] / calls[shown, None, None]).sum(axis=0))
    return is_balanced(exposure.sum(axis=0))


def scores_by_position(arm: Arm) -> tuple[Floats, list[Row]]:
    """Return P(position | score) as a table (scores, positions), and its rows.

    The intervals of all cells hold at once.

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
        for p, estimate in enumerate(jackknife(position_given_score, parts, arm.unit_names, **how)):
            rows.append(
                Row(
                    "position_given_score",
                    estimate,
                    {"score": name, "position": p + 1},
                    counts={"n": n},
                )
            )
    enough = [k for k, row in enumerate(rows) if row.estimate.units >= MIN_RESAMPLED]
    of_enough = [known[k] for k in enough]
    level = simultaneous([rows[k].estimate for k in enough], of_enough, arm.level)
    table = np.array([row.value for row in rows]).reshape(len(arm.names), arm.positions)
    return table, [replace(row, level=level) for row in rows]


def bias_costs(arm: Arm, table: Floats) -> Iterator[Row]:
    """Yield the paper's Bias Cost of the design's orders, of 1..n, n..1, and the least of all."""
    none = "single_order" if arm.single_order else "missing_cells"

    def name(order: Iterable[int]) -> str:
        return " ".join(str(arm.names[s]) for s in order)

    upwards = tuple(range(arm.positions))
    orders = [tuple(shown) for shown in arm.shown.tolist() if shown[0] >= 0]
    wanted = list(dict.fromkeys([*orders[:MOST_ORDERS], upwards, upwards[::-1]]))
    counts = {"n": int(arm.counts.sum())}
    for order, cost in zip(wanted, bias_cost(table, np.array(wanted)).tolist(), strict=True):
        yield Row(
            "bias_cost", plain(cost, "distances", none), {"order": name(order)}, counts=counts
        )
    cheapest, least = least_bias_cost(table)
    named = {"order": name(cheapest)} if np.isfinite(least) else {}
    yield Row("least_bias_cost", plain(least, "distances", none), counts=counts | named)
