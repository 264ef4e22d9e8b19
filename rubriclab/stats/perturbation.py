"""Scoring bias: how far scores move when the prompt changes in a way that should not matter.

Arrays in, numbers out. A *form* is one way to write the judge's prompt; ``counts`` (items, n)
say how often each score was read for an item under a form, ``values`` (n,) what the scores
are worth. Units (items, or blocks that share a text) are what is resampled.

Several reads of an item are draws from one distribution, so every read of one form is paired
with every read of the other, not read 1 with read 1: the same expectation with less noise, and
for one read each exactly the paper's comparison. An item weighs the same whatever its reads.
Source: method section 6; Li et al., "Metrics"; the noise floor and the tests are our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.stats import distributions
from rubriclab.stats.alignment import (
    EXACT_RANK_LIMIT,
    Correlation,
    Difference,
    moments,
    r_of_moments,
    reranked_rho,
    rho_of_parts,
    rho_parts,
)
from rubriclab.stats.human_correlation import ItemReads, LeftOut, difference, r_with_humans, rho_with_humans
from rubriclab.stats.inference import (
    DIRECT_LIMIT,
    GROUPS,
    Floats,
    Ints,
    Test,
    resample_weights,
    sum_by,
    sum_by_unit,
    widened,
)
from rubriclab.stats.position import average_effect_test

SHIFT, FLIP, ABSOLUTE = range(3)
"""Columns of ``shift_rows``."""
T_TEST = "t test over units"
_FLAT = 1e-12


# ---------------------------------------------------------------- one draw for everything


class Draws:
    """Resamples of the units (items or blocks), drawn once and shared by every statistic.

    ``unit``: (items,). Sharing makes all differences paired and costs one draw, however many
    forms and statistics there are. Above DIRECT_LIMIT units random groups of units are
    resampled in their place (see ``inference.bootstrap_sums``).
    """

    def __init__(self, unit: Ints, *, n_boot: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        code = np.unique(unit, return_inverse=True)[1].astype(np.int64)
        self.n_units = int(code.max(initial=-1)) + 1
        if self.n_units > DIRECT_LIMIT:
            code = (rng.permutation(self.n_units) % GROUPS)[code]
        self.n_boot, self.unit, self._code = n_boot, unit, code
        self._size = int(code.max(initial=-1)) + 1
        self._weights = resample_weights(max(self._size, 1), n_boot, rng)

    def totals(self, parts: Sequence[tuple[Floats, Ints]]) -> list[Floats]:
        """Resampled sums of tables (r, k), each with the items (r,) its rows are about.

        One matrix product serves all of them: a list of (n_boot, k).
        """
        if self._size == 0 or not any(rows.shape[1] for rows, _ in parts):
            return [np.zeros((self.n_boot, rows.shape[1])) for rows, _ in parts]
        sums = [sum_by(self._code[item], rows, self._size) for rows, item in parts]
        sums_of_draws = self._weights @ np.hstack(sums)
        ends = np.cumsum([rows.shape[1] for rows, _ in parts])
        return np.split(sums_of_draws, ends[:-1], axis=1)

    def means(self, rows: Floats) -> Floats:
        """Resampled column means of ``rows`` (items, k), NaN left out by column: (n_boot, k)."""
        known = np.isfinite(rows)
        table = np.hstack([np.where(known, rows, 0.0), known.astype(np.float64)])
        (totals,) = self.totals([(table, np.arange(len(rows)))])
        k = rows.shape[1]
        with np.errstate(invalid="ignore"):
            return np.asarray(totals[:, :k] / totals[:, k:])

    def weights(self, item: Ints) -> Floats:
        """How often each of the items ``item`` is drawn, (n_boot, r)."""
        return np.asarray(self._weights[:, self._code[item]])


# ---------------------------------------------------------------- scores against scores


def shares(counts: Floats) -> Floats:
    """Each item's distribution over the scores, (items, n); NaN for an item without a read."""
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def shift_rows(a: Floats, b: Floats, values: Floats) -> Floats:
    """How an item's scores under form a differ from those under form b, (items, 3).

    With p, q the item's shares under a and b: the mean shift sum_s v_s (p_s - q_s); the flip
    rate 1 - sum_s p_s q_s; the absolute shift sum_st p_s q_t |v_s - v_t|. NaN where either
    form has no read of the item.
    """
    p, q = shares(a), shares(b)
    distance = np.abs(values[:, None] - values[None, :])
    flips = 1.0 - (p * q).sum(axis=1)
    return np.stack([(p - q) @ values, flips, ((p @ distance) * q).sum(axis=1)], axis=1)


def own_flips(counts: Floats) -> Floats:
    """The chance that two different reads of an item under one form differ, (items,).

    1 - sum_s c_s (c_s - 1) / (K (K - 1)): the flip rate that the judge's own randomness
    makes. NaN for an item read fewer than twice.
    """
    reads = counts.sum(axis=1)
    same = (counts * (counts - 1.0)).sum(axis=1)
    pairs = reads * (reads - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, 1.0 - same / pairs, np.nan)


def excess_flips(a: Floats, b: Floats) -> Floats:
    """Flips between two forms beyond the judge's own randomness under each, (items,).

    1 - p.q less the mean of 1 - p.p and 1 - q.q, that is half the squared distance of p and
    q; pairs of different reads make it unbiased, so it is 0 on average for a judge that the
    form does not move. NaN for an item read fewer than twice under either form.
    """
    flips = 1.0 - (shares(a) * shares(b)).sum(axis=1)
    return np.asarray(flips - (own_flips(a) + own_flips(b)) / 2.0)


def own_distance(counts: Floats, values: Floats) -> Floats:
    """Mean |difference| in points of two different reads of an item under one form, (items,)."""
    reads = counts.sum(axis=1)
    distance = np.abs(values[:, None] - values[None, :])
    total = ((counts @ distance) * counts).sum(axis=1)
    pairs = reads * (reads - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, total / pairs, np.nan)


def excess_distance(a: Floats, b: Floats, values: Floats) -> Floats:
    """How much further apart, in points, a read of a and one of b lie than reads of one form.

    Half the energy distance (Székely and Rizzo 2013) of the item's two distributions, unbiased: 0
    on average for a judge that the form does not move, whatever its noise. NaN for an item read
    fewer than twice under either form.
    """
    across = shift_rows(a, b, values)[:, ABSOLUTE]
    return np.asarray(across - (own_distance(a, values) + own_distance(b, values)) / 2.0)


def means(rows: Floats) -> Floats:
    """Column means of ``rows`` (items, k) without NaN; NaN for a column that has nothing else."""
    known = np.isfinite(rows)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, rows, 0.0).sum(axis=0) / known.sum(axis=0))


def distribution_test(a: Floats, b: Floats, unit: Ints, *, seed: int) -> Test:
    """Do the scores have another distribution under form a than under form b?

    One vector a unit, its mean difference of shares; Hotelling's T² that the mean vector is
    zero, with the fallbacks of ``average_effect_test``. This is the Stuart-Maxwell test of
    marginal homogeneity with shares of reads in the place of single answers. It sees a mean
    shift as well as a pull towards the middle.
    """
    gap = shares(a) - shares(b)
    known = np.isfinite(gap).all(axis=1)
    vectors = _unit_means(gap[known], unit[known])
    test = average_effect_test(vectors, seed=seed, shares=False)
    if np.all(np.abs(vectors) < _FLAT) and len(vectors) > 1:
        return test._replace(note="Not one item got another score.")
    return test


def mean_test(values: Floats, unit: Ints, *, one_sided: bool = False) -> Test:
    """Student's t that the units' mean value is 0 (``one_sided``: that it is not above 0).

    NaN values are left out. Where all units agree there is no variance to go by, and a sign
    test answers; all of them 0: p = 1. Fewer than two units: NaN.
    """
    known = np.isfinite(values)
    per_unit = _unit_means(values[known][:, None], unit[known])[:, 0]
    size, nan = len(per_unit), float("nan")
    if size < 2:
        return Test(T_TEST, nan, nan, nan, "Too few units.")
    spread, mean = float(per_unit.std(ddof=1)), float(per_unit.mean())
    sides = 1 if one_sided else 2
    if spread < _FLAT:
        moved = mean > _FLAT if one_sided else abs(mean) > _FLAT
        p = sides * 0.5**size if moved else 1.0
        return Test("sign test over units", mean, nan, p, "Every unit has the same value.")
    t = mean / (spread / np.sqrt(size))
    p = sides * float(distributions.t.sf(t if one_sided else abs(t), size - 1))
    return Test(T_TEST, float(t), size - 1.0, p)


def _unit_means(rows: Floats, unit: Ints) -> Floats:
    """Means of ``rows`` (items, k) within each unit that occurs, (units, k)."""
    size = np.unique(unit, return_counts=True)[1]
    if len(size) == len(unit):  # every unit has one row: nothing to average
        return rows
    return np.asarray(sum_by_unit(unit, rows) / size[:, None])


# ---------------------------------------------------------------- scores against gold


class GoldFit(NamedTuple):
    """Agreement of k forms with gold. ``r``, ``rho`` (k,) and their resamples (n_boot, k).

    ``items``: how many each rests on. ``without``: of each form, r and rho without each unit, which
    its intervals come from; the resamples, stretched for few units, are for bands of all forms.
    """

    r: Floats
    rho: Floats
    r_draws: Floats
    rho_draws: Floats
    items: Ints
    without: tuple[tuple[LeftOut, LeftOut], ...]

    def pearson(self, form: int) -> Correlation:
        return Correlation(float(self.r[form]), self.without[form][0].r_interval())

    def spearman(self, form: int) -> Correlation:
        return Correlation(float(self.rho[form]), self.without[form][1].r_interval())

    def less(self, a: int, b: int) -> tuple[Difference, Difference]:
        """(r, rho) of form a less those of form b, paired; both must rest on the same items."""
        r, rho = (difference(one, other) for one, other in zip(self.without[a], self.without[b], strict=True))
        return r, rho


def gold_fit(scores: Floats, gold: Floats, draws: Draws) -> GoldFit:
    """r and rho of each row of ``scores`` (k, items) with ``gold`` (items,), and resamples.

    NaN in either leaves the item out of that form. Up to EXACT_RANK_LIMIT items every
    resample of rho is ranked anew, above it rho is linearised (see
    ``stats.alignment.rho_parts``). Not defined, so NaN: fewer than two items or
    units, a side that never varies.
    """
    used = [np.flatnonzero(np.isfinite(row) & np.isfinite(gold)) for row in scores]
    cases = [(row[at], gold[at], at) for row, at in zip(scores, used, strict=True)]
    without = tuple(_without(x, y, draws.unit[at]) for x, y, at in cases)
    r, rho = (np.array([both[side].value for both in without]) for side in (0, 1))
    r_draws = np.full((draws.n_boot, len(scores)), np.nan)
    rho_draws = r_draws.copy()
    if draws.n_units > 1:
        totals = draws.totals([(moments(x, y), at) for x, y, at in cases])
        for k, part in enumerate(totals):
            r_draws[:, k] = r_of_moments(part)
        for k, column in _resampled_rho(cases, draws):
            rho_draws[:, k] = column
    r_draws, rho_draws = widened(r, r_draws, draws.n_units), widened(rho, rho_draws, draws.n_units)
    sizes = np.array([len(at) for at in used], dtype=np.int64)
    return GoldFit(r, rho, r_draws, rho_draws, sizes, without)


def _without(x: Floats, y: Floats, unit: Ints) -> tuple[LeftOut, LeftOut]:
    """r and rho of x with y, (items,), and without each unit."""
    once = np.ones(len(x))
    reads = ItemReads(x, once, np.zeros(len(x)), y, unit)
    return r_with_humans(reads), rho_with_humans(reads)


def _resampled_rho(cases: Sequence[tuple[Floats, Floats, Ints]], draws: Draws) -> Iterator[tuple[int, Floats]]:
    """(form, its resampled rho) of every form with two items or more."""
    forms = [k for k, (x, _, _) in enumerate(cases) if len(x) > 1]
    if len(draws.unit) > EXACT_RANK_LIMIT:
        fitted = [rho_parts(cases[k][0], cases[k][1]) for k in forms]
        parts = [(rows, cases[k][2]) for k, (rows, _) in zip(forms, fitted, strict=True)]
        for k, total, (_, at) in zip(forms, draws.totals(parts), fitted, strict=True):
            yield k, rho_of_parts(total, at)
        return
    for k in forms:
        x, y, item = cases[k]
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = reranked_rho(x, y, draws.weights(item))
        yield k, rho


def majority(counts: Floats, values: Floats) -> tuple[Floats, Floats]:
    """An item's commonest score, and where several are commonest: (gold, tied), (items,) each.

    Scores that tie for commonest count with their mean (the paper is silent; dropping such
    items would keep only those the gold judge is sure about). NaN for an item without a read.
    """
    top = counts.max(axis=1, initial=0.0)
    commonest = (counts == top[:, None]) & (top[:, None] > 0)
    size = commonest.sum(axis=1).astype(np.float64)
    with np.errstate(invalid="ignore"):
        gold = np.where(size > 0, (commonest @ values) / size, np.nan)
    return gold, (size > 1).astype(np.float64)


def pull_slopes(means_by_level: Floats, levels: Floats) -> Floats:
    """Points of score per point of the reference's score, per item: a least-squares slope.

    ``means_by_level``: (items, levels), the item's mean score beside a reference of each
    score. 0 on average for a judge that references do not pull, 1 for one that copies them.
    NaN for an item that lacks a level, and with fewer than two levels.
    """
    centred = levels - levels.mean() if len(levels) else levels
    square = float((centred**2).sum())
    if square == 0:
        return np.full(len(means_by_level), np.nan)
    return np.asarray(means_by_level @ centred / square)
