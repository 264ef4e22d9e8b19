"""Criteria scored in one call: sums by criterion and position in; shifts, and what follows a
criterion, out.

A row is one criterion's score in one call. Source: Xu et al. v2, setting 2 (Tables 5, 6; Figures
10, 11).
"""

from typing import NamedTuple

import numpy as np

from rubriclab.stats.resample import Floats, Ints, crossed

_TINY = 1e-9


def position_means(sums: Floats, counts: Floats) -> Floats:
    """Mean score at each position, (..., criteria, positions); NaN where a criterion was never
    shown.
    """
    return np.asarray(np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan))


def position_shifts(sums: Floats, counts: Floats) -> Floats:
    """Mean at a position less the criterion's mean over all calls, (..., criteria, positions)."""
    n = counts.sum(axis=-1)
    overall = np.where(n > 0, sums.sum(axis=-1) / np.where(n > 0, n, 1.0), np.nan)
    return np.asarray(position_means(sums, counts) - overall[..., None])


def delta_pos(sums: Floats, counts: Floats) -> Floats:
    """Best less worst position mean, (criteria,): the paper's Delta Pos; NaN below two
    positions.
    """
    mean, several = position_means(sums, counts), (counts > 0).sum(axis=-1) >= 2
    apart = np.fmax.reduce(mean, axis=-1) - np.fmin.reduce(mean, axis=-1)  # these leave NaN out
    return np.asarray(np.where(several, apart, np.nan))


class Carryover(NamedTuple):
    """What scoring a criterion just before adds to the next score, in points.

    ``effect`` (criteria,) against the mean of all criteria as predecessors; ``parts`` (texts,
    criteria): what each text adds to its error, in sum 0; ``by_criterion``: was position taken out
    criterion by criterion, or alike for all?
    """

    effect: Floats
    parts: Floats
    by_criterion: bool


def carryover(
    text: Ints,
    criterion: Ints,
    position: Ints,
    before: Ints,
    score: Floats,
    *,
    texts: int,
    criteria: int,
) -> Carryover | None:
    """Effect of the criterion scored just before, all successors pooled; None where the orders
    cannot tell it.

    Rows are scores; ``before``: the criterion one position earlier, ``criteria`` at the first
    position. Least squares of the score on text x criterion, position and predecessor, the first
    two taken out exactly. Position enters criterion by criterion where the design lets it (random
    or all orders), else alike for all, as in Williams' (1949) analysis, whose n orders put each
    criterion once at each position. Every criterion has to follow every other one, and predecessors
    to keep their rank once positions are taken out: rotations fail for four criteria or more.
    """
    known = before < criteria
    follows = crossed(before[known], criteria, criterion[known], criteria)
    if criteria < 2 or texts < 2 or not bool((follows + np.eye(criteria) > 0).all()):
        return None
    positions = int(position.max()) + 1
    for by_criterion in (True, False):
        slot = criterion * positions + position if by_criterion else position
        fitted = _predecessors(
            text * criteria + criterion, slot, before, score, texts * criteria, criteria
        )
        if fitted is not None:
            effect, inverse, pull = fitted
            centre = np.eye(criteria) - 1.0 / criteria
            by_text = pull.reshape(texts, criteria, criteria).sum(axis=1)
            return Carryover(centre @ effect, by_text @ inverse @ centre, by_criterion)
    return None


def _predecessors(
    unit: Ints, slot: Ints, before: Ints, score: Floats, units: int, criteria: int
) -> tuple[Floats, Floats, Floats] | None:
    """(effects, inverse of their normal equations, each unit's part of these (units, criteria));
    None where they lose their rank.

    A row's regressors are two indicators, its slot and its predecessor if any. Taken out: the units
    (a text under a criterion), then the slots.
    """
    slots, known = int(slot.max()) + 1, before < criteria

    def sums(values: Floats) -> Floats:
        """By unit, in each slot and after each predecessor, (units, slots + criteria)."""
        after = crossed(unit[known], units, before[known], criteria, weights=values[known])
        return np.hstack([crossed(unit, units, slot, slots, weights=values), after])

    rows = np.maximum(np.bincount(unit, minlength=units), 1).astype(np.float64)
    centred = score - (np.bincount(unit, weights=score, minlength=units) / rows)[unit]
    counts = sums(np.ones_like(score))
    cross = np.diag(counts.sum(axis=0))
    both = crossed(slot[known], slots, before[known], criteria)
    cross[:slots, slots:], cross[slots:, :slots] = both, both.T
    a, b = cross - counts.T @ (counts / rows[:, None]), sums(centred).sum(axis=0)
    of_slots = np.linalg.pinv(a[:slots, :slots], rcond=_TINY, hermitian=True)
    onto = a[slots:, :slots] @ of_slots
    normal, right = a[slots:, slots:] - onto @ a[:slots, slots:], b[slots:] - onto @ b[:slots]
    largest = max(1.0, float(np.abs(normal).max()))
    if int(np.linalg.matrix_rank(normal, tol=_TINY * largest, hermitian=True)) != criteria - 1:
        return None
    inverse = np.linalg.pinv(normal, rcond=_TINY, hermitian=True)
    effect = inverse @ right
    fitted = (of_slots @ (b[:slots] - a[:slots, slots:] @ effect))[slot] + np.append(effect, 0.0)[
        before
    ]
    mean = np.bincount(unit, weights=fitted, minlength=units) / rows
    error = sums(centred - (fitted - mean[unit]))
    return np.asarray(effect), np.asarray(inverse), error[:, slots:] - error[:, :slots] @ onto.T
