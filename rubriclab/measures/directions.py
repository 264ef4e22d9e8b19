"""Test whether a judge favours the same positions on each data set.

Source: Xu et al. v2, section 5.1.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy import special

from rubriclab.core.cells import cells, from_arms
from rubriclab.core.estimate import plain
from rubriclab.core.judgments import Arm, grouped
from rubriclab.core.topic import Row, topic
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.stats.resample import Floats, distinct, sum_by
from rubriclab.stats.tests import holm


@topic("directions", axes={"options"}, per="run")
def directions(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield how far apart a judge's leans on two data sets are, for every two data sets.

    Both were asked in the same way.
    """
    for group in grouped(arms, lambda about: (about.judge, about.variant_key, about.positions)):
        parts = grouped(group, lambda about: about.dataset)
        sets = [(part[0].code, leans_of_units(part)) for part in parts if len(parts) > 1]
        pairs = list(combinations(sets, 2))
        tests = [difference(first, second) for (_, first), (_, second) in pairs]
        adjusted = holm(np.array([p for _, p in tests]))
        for ((code, first), (against, second)), (size, p), p_holm in zip(
            pairs, tests, adjusted, strict=True
        ):
            known = np.isfinite(p)
            counts = {"n": len(first) + len(second), "p_holm": float(p_holm)} if known else {}
            apart, test = plain(size, "statistic", "too_few_units"), ("F", p) if known else None
            yield Row(
                "direction_difference", apart, {"against": against}, test, counts, condition=code
            )


def leans_of_units(arms: list[Arm]) -> Floats:
    """(units, positions): each unit's mean lean.

    The share of each position minus what its scores give there without an order effect.
    """
    table = cells(from_arms(arms))
    if not table.items:
        return np.zeros((0, table.n))
    usable = np.full(table.items, table.one_order_an_item) | (table.orders > 1)
    units, unit = distinct(table.unit[usable])
    return sum_by(unit, table.lean[usable], len(units)) / np.bincount(unit)[:, None]


def difference(first: Floats, second: Floats) -> tuple[float, float]:
    """Return the length of the difference of two mean leans without noise, and its p.

    On the scale of V; p of "they are the same".

    ``first``, ``second`` (units, n). F = |m1 - m2|^2 / trace S, S = S1/N1 + S2/N2, on trace(S)^2 /
    trace(S^2) and trace(S)^2 / sum_k trace((S_k/N_k)^2) / (N_k - 1) degrees of freedom: the
    ANOVA-type statistic for two samples (Brunner, Dette and Munk 1997); with two options Welch's t
    test. NaN where a data set has fewer than 8 units. 1,000 studies a cell, 15 to 300 units, units
    with and without leans of their own: p <= .05 in .036 to .056 where both lean alike; first .6
    against last .6 of log-odds, 60 units each: 1.000 (.956 with own leans of .8).
    """
    if min(len(first), len(second)) < MIN_UNITS:
        return float("nan"), float("nan")
    parts = [np.atleast_2d(np.cov(group, rowvar=False)) / len(group) for group in (first, second)]
    total = parts[0] + parts[1]
    length = float(np.square(first.mean(axis=0) - second.mean(axis=0)).sum())
    trace, n = float(np.trace(total)), first.shape[1]
    size = float(np.sqrt(n / (n - 1) * max(0.0, length - trace)))
    if trace < 1e-12:
        return size, 1.0 if length < 1e-12 else 0.0
    square = [
        float(np.square(part).sum()) / (len(side) - 1)
        for part, side in zip(parts, (first, second), strict=True)
    ]
    upper, lower = trace**2 / float(np.square(total).sum()), trace**2 / max(sum(square), 1e-300)
    f = length / trace
    return size, float(special.betainc(lower / 2, upper / 2, lower / (lower + upper * f)))
