"""Criteria scored in one call: sums by criterion and position in; shifts, and what follows a criterion, out.

A row is one criterion's score in one call. Source: Xu et al. v2, setting 2 (Tables 5, 6; Figures 10, 11).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats.resample import Floats, Ints

_TINY = 1e-9


def position_means(sums: Floats, counts: Floats) -> Floats:
    """Mean score at each position, (..., criteria, positions); NaN where a criterion was never shown."""
    return np.asarray(np.where(counts > 0, sums / np.where(counts > 0, counts, 1.0), np.nan))


def position_shifts(sums: Floats, counts: Floats) -> Floats:
    """Mean at a position less the criterion's mean over all calls, (..., criteria, positions)."""
    n = counts.sum(axis=-1)
    overall = np.where(n > 0, sums.sum(axis=-1) / np.where(n > 0, n, 1.0), np.nan)
    return np.asarray(position_means(sums, counts) - overall[..., None])


def delta_pos(sums: Floats, counts: Floats) -> Floats:
    """Best less worst position mean, (criteria,): the paper's Delta Pos; NaN below two positions."""
    mean, several = position_means(sums, counts), (counts > 0).sum(axis=-1) >= 2
    apart = np.fmax.reduce(mean, axis=-1) - np.fmin.reduce(mean, axis=-1)  # these leave NaN out
    return np.asarray(np.where(several, apart, np.nan))


class Carryover(NamedTuple):
    """What scoring a criterion just before adds to the next score, in points.

    ``effect`` (criteria,) against the mean of all criteria as predecessors; ``parts`` (texts, criteria): what each text
    adds to its error, in sum 0; ``by_criterion``: was position taken out criterion by criterion, or alike for all?
    """

    effect: Floats
    parts: Floats
    by_criterion: bool


def carryover(
    text: Ints, criterion: Ints, position: Ints, before: Ints, score: Floats, *, texts: int, criteria: int
) -> Carryover | None:
    """Effect of the criterion scored just before, all successors pooled; None where the orders cannot tell it.

    Rows are scores; ``before``: the criterion one position earlier, ``criteria`` at the first position. Least squares of
    the score on text x criterion, position and predecessor, the first two taken out exactly. Position enters criterion
    by criterion where the design lets it (random or all orders), else alike for all, as in Williams' (1949) analysis,
    whose n orders put each criterion once at each position. Every criterion has to follow every other one, and
    predecessors to keep their rank once positions are taken out: rotations fail for four criteria or more.
    """
    follows = np.zeros((criteria, criteria))
    known = before < criteria
    np.add.at(follows, (before[known], criterion[known]), 1.0)
    if criteria < 2 or texts < 2 or not bool((follows + np.eye(criteria) > 0).all()):
        return None
    positions = int(position.max()) + 1
    for by_criterion in (True, False):
        slot = criterion * positions + position if by_criterion else position
        fit = _Fit.of_rows(
            text * criteria + criterion, slot, before, score, texts * criteria, int(slot.max()) + 1, criteria
        )
        largest = max(1.0, float(np.abs(fit.normal).max()))
        if int(np.linalg.matrix_rank(fit.normal, tol=_TINY * largest, hermitian=True)) == criteria - 1:
            inverse = np.linalg.pinv(fit.normal, rcond=_TINY, hermitian=True)
            effect = inverse @ fit.right
            pull = fit.pull(effect).reshape(texts, criteria, criteria).sum(axis=1)
            centre = np.eye(criteria) - 1.0 / criteria
            return Carryover(centre @ effect, pull @ inverse @ centre, by_criterion)
    return None


class _Fit(NamedTuple):
    """Normal equations of the predecessors, with the rows' units (a text under a criterion) and slots taken out."""

    normal: Floats
    right: Floats
    unit: Ints
    slot: Ints
    before: Ints
    centred: Floats
    rows: Floats
    a: Floats
    b: Floats
    onto: Floats

    @classmethod
    def of_rows(
        cls, unit: Ints, slot: Ints, before: Ints, score: Floats, units: int, slots: int, criteria: int
    ) -> _Fit:
        """A row's regressors are two indicators: its slot, and its predecessor if any."""
        width = slots + criteria
        rows = np.maximum(np.bincount(unit, minlength=units), 1).astype(np.float64)
        centred = score - (np.bincount(unit, weights=score, minlength=units) / rows)[unit]
        counts = _indicator_sums(unit, slot, before, np.ones_like(score), units, slots, width)
        cross = np.diag(counts.sum(axis=0))
        known = before < criteria
        both = np.bincount(slot[known] * criteria + before[known], minlength=slots * criteria).reshape(slots, criteria)
        cross[:slots, slots:], cross[slots:, :slots] = both, both.T
        a = cross - counts.T @ (counts / rows[:, None])
        b = _indicator_sums(unit, slot, before, centred, units, slots, width).sum(axis=0)
        onto = a[slots:, :slots] @ np.linalg.pinv(a[:slots, :slots], rcond=_TINY, hermitian=True)
        normal, right = a[slots:, slots:] - onto @ a[:slots, slots:], b[slots:] - onto @ b[:slots]
        return cls(normal, right, unit, slot, before, centred, rows, a, b, onto)

    def pull(self, effect: Floats) -> Floats:
        """Each unit's part of the estimating equations at ``effect``, (units, criteria)."""
        slots, units = len(self.b) - len(effect), len(self.rows)
        inverse = np.linalg.pinv(self.a[:slots, :slots], rcond=_TINY, hermitian=True)
        by_slot = inverse @ (self.b[:slots] - self.a[:slots, slots:] @ effect)
        fitted = by_slot[self.slot] + np.append(effect, 0.0)[self.before]
        mean = np.bincount(self.unit, weights=fitted, minlength=units) / self.rows
        error = self.centred - (fitted - mean[self.unit])
        sums = _indicator_sums(self.unit, self.slot, self.before, error, units, slots, len(self.b))
        return np.asarray(sums[:, slots:] - sums[:, :slots] @ self.onto.T)


def _indicator_sums(unit: Ints, slot: Ints, before: Ints, values: Floats, units: int, slots: int, width: int) -> Floats:
    """Sums of ``values`` by unit in each slot and after each predecessor, (units, width)."""
    table = np.bincount(unit * width + slot, weights=values, minlength=units * width)
    known = before + slots < width
    after = unit[known] * width + slots + before[known]
    table = table + np.bincount(after, weights=values[known], minlength=units * width)
    return np.asarray(table.reshape(units, width), dtype=np.float64)
