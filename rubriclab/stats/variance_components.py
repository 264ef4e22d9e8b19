"""How much of the variance of scores is the item, the judge, the order, two of them together, noise.

A score is the grand mean plus one effect for every set of facets (item; judge; order; item and
judge; ...) plus noise. The components, the variances of these effects, are estimated from pairs of
scores (Koch 1967, A General Approach to the Estimation of Variance Components; symmetric sums):
half the squared difference of two scores has as its mean the sum of the components in which they
differ, so the kinds of pairs, by which facets the two share, give the components, without bias for
any pattern of missing scores. On complete data these are the estimates of the analysis of variance
(Searle, Casella and McCulloch 1992, Variance Components, section 4.3).

A facet may be nested in another (orders of their own for every item): a pair that shares the inner
one then shares the outer one too, and both effects of the inner one are one component. Items are a
sample; the levels of the other facets are those given. A component of judges is then
sum_j (mu_j - mu)^2 / (J - 1) of these J judges (Cornfield and Tukey 1956). Estimates may fall below
0, as any unbiased estimate of 0 must in half of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rubriclab.stats.inference import DIRECT_LIMIT, GROUPS, Floats, Ints, sum_by

FacetSet = frozenset[int]
"""Facets by their place among the columns of ``Cells.codes``."""
OBJECT = 0
"""The place of the object of measurement: the item."""
_NOTHING = 1e-12
_ROOMY = 4
"""A table may have so many places a cell before codes are looked up by sorting instead."""


@dataclass(frozen=True)
class Cells:
    """Scores by facets: one row a cell that has a score.

    ``codes``: (cells, facets), levels from 0, the first column the object of measurement; ``unit``,
    ``stratum``: (cells,), what is left out together, and within what scores are compared; ``mean``:
    of the cell's reads, ``square``: of their squares, ``reads``: how many.
    """

    codes: Ints
    unit: Ints
    stratum: Ints
    mean: Floats
    square: Floats
    reads: Ints


@dataclass(frozen=True)
class Components:
    """The component of each of ``sets``, in squared points, and last that of noise.

    ``variances``: (1 + units, sets + 1), of all units and then without each of them (of very many:
    without each of GROUPS groups of them); NaN where not to be told apart. Where no cell was read twice the noise is NaN and in the component of the last
    set. ``levels``: of each facet; ``repeated``: cells read twice or more.
    """

    sets: tuple[FacetSet, ...]
    variances: Floats
    levels: tuple[int, ...]
    repeated: int
    again: int

    @property
    def units(self) -> int:
        return len(self.variances) - 1

    @property
    def noisy(self) -> bool:
        """Is the noise known apart from the rest?"""
        return bool(np.isfinite(self.variances[0, -1]))


def cells_of(codes: Ints, unit: Ints, score: Floats, stratum: Ints | None = None) -> Cells:
    """One row a read becomes one row a cell; ``codes``: (reads, facets) from 0, scores finite."""
    within = np.zeros(len(score), dtype=np.int64) if stratum is None else stratum
    whole = np.concatenate([codes, within[:, None]], axis=1)
    code = _from_zero(joined(whole, range(whole.shape[1])))
    first = np.zeros(_codes(code), dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    sums = sum_by(code, np.stack([np.ones(len(score)), score, score**2], axis=1), len(first))
    reads = sums[:, 0]
    return Cells(
        codes[first], unit[first], within[first], sums[:, 1] / reads, sums[:, 2] / reads, reads.astype(np.int64)
    )


def components(cells: Cells) -> Components:
    """The components of ``cells``; facets of one level belong left out before."""
    facets = cells.codes.shape[1]
    codes = np.stack([_from_zero(cells.codes[:, k]) for k in range(facets)], axis=1) if facets else cells.codes
    unit = _from_zero(cells.unit)
    if _codes(unit) > DIRECT_LIMIT:
        unit = unit % GROUPS
    # Centred: keeps the sums of squares from cancelling.
    centre = float(cells.mean.mean()) if len(cells.mean) else 0.0
    square = cells.square - 2 * centre * cells.mean + centre**2
    centred = replace(
        cells, codes=codes, unit=unit, stratum=_from_zero(cells.stratum), mean=cells.mean - centre, square=square
    )
    sets = closed_sets(codes)
    levels = tuple(_codes(codes[:, k]) for k in range(facets))
    return Components(
        sets[1:], _solved(centred, sets), levels, int((cells.reads > 1).sum()), int((cells.reads - 1).sum())
    )


def nested(codes: Ints) -> tuple[tuple[int, int], ...]:
    """Pairs (inner, outer) of facets: every level of the inner one stands with one level of the outer."""
    facets = codes.shape[1]
    alone = [distinct(codes[:, k]) for k in range(facets)]
    return tuple(
        (a, b) for a in range(facets) for b in range(facets) if a != b and distinct(joined(codes, (a, b))) == alone[a]
    )


def closed_sets(codes: Ints) -> tuple[FacetSet, ...]:
    """The sets of facets that two scores can share: with each facet all that it is nested in; smallest first."""
    facets = codes.shape[1]
    outer: dict[int, FacetSet] = {k: frozenset({k}) for k in range(facets)}
    for a, b in nested(codes):
        outer[a] |= {b}
    every = (set(chosen) for size in range(facets + 1) for chosen in combinations(range(facets), size))
    closed = {frozenset().union(*(outer[k] for k in chosen)) for chosen in every}
    return tuple(sorted(closed, key=lambda one: (len(one), sorted(one))))


def shares_left_out(of: Components) -> Floats:
    """(1 + units, sets + 1): shares of the total variance, raw: below 0 where a component is."""
    known = np.isfinite(of.variances)
    total = np.where(known.any(axis=1), np.where(known, of.variances, 0.0).sum(axis=1), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(total[:, None] > _NOTHING, of.variances / total[:, None], np.nan))


def shares(of: Components) -> Floats:
    """Of the total variance of all units, (sets + 1,): they add up to 1. NaN throughout where scores do not vary.

    A component estimated below 0 is 0, in the total too (Brennan 2001, Generalizability Theory, section 3.4):
    left in the total, it would make of the others more than all there is.
    """
    known = np.maximum(of.variances[0], 0.0)
    total = float(np.nansum(known))
    return np.asarray(known / total if total > _NOTHING else np.full(known.shape, np.nan))


# ---------------------------------------------------------------- kinds of pairs


def _solved(cells: Cells, sets: tuple[FacetSet, ...]) -> Floats:
    """(1 + units, sets): the components of all sets but the empty one, then the noise."""
    apart, known = _differences(cells, sets)
    parts = sets[1:]
    # A pair differs in every component that is not of what it shares alone; noise is in each.
    mean = np.array([[0.0 if part <= shared else 1.0 for part in parts] + [1.0] for shared in sets])
    if not known[-1]:
        mean = mean[:, :-1]  # nothing tells the noise from the last component
    inverse = np.linalg.pinv(mean[known])
    told = np.isclose(inverse @ mean[known], np.eye(mean.shape[1]), atol=1e-9).all(axis=1)
    found = np.full((len(apart), len(sets)), np.nan)
    found[:, np.flatnonzero(told)] = (apart[:, known] @ inverse.T)[:, told]
    return found


def _differences(cells: Cells, sets: tuple[FacetSet, ...]) -> tuple[Floats, NDArray[np.bool_]]:
    """Mean half squared differences (1 + units, sets) of pairs that share exactly a set; which are known.

    The last set is every facet: two reads of one cell. A kind that rests on one unit (of more than two) is not known.
    """
    units = _codes(cells.unit)
    # Pairs that share a set *at least*; those that share it exactly follow by inclusion and exclusion.
    least = np.stack([_pairs_within(cells, one, units) for one in sets[:-1]] or [np.zeros((1 + units, 2))], axis=-1)
    holds = np.array([[float(one <= other) for other in sets[:-1]] for one in sets[:-1]])
    exact = least @ np.rint(np.linalg.inv(holds)).T if len(holds) else least[..., :0]
    both = np.concatenate([exact, _noise(cells, units)[..., None]], axis=-1)
    some = both[:, 1] > 0.5
    known = np.asarray(some.all(axis=0) if units > 2 else some[0])
    return np.where(some, both[:, 0] / np.where(some, both[:, 1], 1.0), np.nan), known


def _pairs_within(cells: Cells, shared: FacetSet, units: int) -> Floats:
    """(1 + units, 2): half the summed squared differences of pairs of cells that share ``shared``; the pairs."""
    within = np.concatenate([cells.codes, cells.stratum[:, None]], axis=1)
    group = _compact(joined(within, [*sorted(shared), within.shape[1] - 1]))
    size = _codes(group)
    moments = np.stack([np.ones(len(cells.mean)), cells.square, cells.mean, cells.mean**2], axis=1)
    sums = sum_by(group, moments, size)
    if OBJECT in shared:  # what lies within one item lies within one unit
        unit_of = np.zeros(size, dtype=np.int64)
        unit_of[group] = cells.unit
        return _left_out(sum_by(unit_of, _pairs(sums), units))
    both = _compact(joined(np.stack([cells.unit, group], axis=1), (0, 1)))
    own = _codes(both)
    mine = sum_by(both, moments, own)
    group_of, unit_of = np.zeros(own, dtype=np.int64), np.zeros(own, dtype=np.int64)
    group_of[both], unit_of[both] = group, cells.unit
    whole = _pairs(sums)
    total = whole.sum(axis=0)
    # Leaving a unit out changes the groups that it has cells in, and no other.
    lost = sum_by(unit_of, whole[group_of] - _pairs(sums[group_of] - mine), units)
    return np.concatenate([total[None], total - lost], axis=0)


def _pairs(sums: Floats) -> Floats:
    """(groups, 2) from sums of moments (groups, 4): over pairs of different cells, each counts once."""
    count, square, mean, squared = sums.T
    apart = (count - 1.0) * square - (mean**2 - squared)
    return np.stack([apart / 2.0, count * (count - 1.0) / 2.0], axis=1)


def _noise(cells: Cells, units: int) -> Floats:
    """(1 + units, 2): squared deviations of reads from their cell's mean, and degrees of freedom."""
    inside = np.maximum(cells.reads * (cells.square - cells.mean**2), 0.0)
    return _left_out(sum_by(cells.unit, np.stack([inside, cells.reads - 1.0], axis=1), units))


def _left_out(sums: Floats) -> Floats:
    """The total over the first axis, then the total without each of its rows."""
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums], axis=0)


# ---------------------------------------------------------------- codes


def _codes(code: Ints) -> int:
    return int(code.max(initial=-1)) + 1


def _from_zero(code: Ints) -> Ints:
    """The same from 0 and without gaps, in their order."""
    if _codes(code) <= _ROOMY * len(code) + 1000:
        return np.asarray((np.cumsum(np.bincount(code) > 0) - 1)[code])
    return np.unique(code, return_inverse=True)[1].astype(np.int64)


def joined(codes: Ints, columns: range | list[int] | tuple[int, ...]) -> Ints:
    """One code for the levels of several columns together, in their order; gaps may be left."""
    out = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        width = _codes(codes[:, column])
        if _codes(out) * max(width, 1) > 2**62:
            out = _from_zero(out)
        out = out * width + codes[:, column]
    return out


def distinct(code: Ints) -> int:
    """How many different codes there are; without sorting where they lie close."""
    if _codes(code) <= _ROOMY * len(code) + 1000:
        return int((np.bincount(code) > 0).sum())
    return len(np.unique(code))


def _compact(code: Ints) -> Ints:
    """The same without gaps where there are many; a few do no harm and save sorting."""
    return code if _codes(code) <= _ROOMY * len(code) + 1000 else _from_zero(code)
