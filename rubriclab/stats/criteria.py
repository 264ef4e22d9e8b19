"""Does the place of a criterion among the others, or its neighbour, move its score?

Arrays in, numbers out. One call scores all criteria of a text; a row is one criterion's score
in one call. Source: method section 4; Xu et al. v2, setting 2 (Tables 5, 6; Figures 10, 11).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats import distributions
from rubriclab.stats.correlation import rankdata
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints

_TINY = 1e-9


class Shifts(NamedTuple):
    """Criterion by position, (..., criteria, positions); NaN where never shown there.

    ``shift``: mean score at the position less the criterion's overall mean. ``delta``
    (..., criteria): best less worst position mean, NaN below two positions.
    """

    mean: Floats
    shift: Floats
    delta: Floats


class Friedman(NamedTuple):
    """Friedman's test of no position effect, blocks being texts.

    ``excluded``: blocks left out because a position is missing. ``note`` names what a reader
    must know; all blocks tied gives statistic 0 and p = 1 (the score never moved).
    """

    statistic: float
    df: int
    p: float
    blocks: int
    excluded: int
    note: str = ""


class Carryover(NamedTuple):
    """What reading a criterion just before adds to the next score, in score points.

    ``effect``: (criteria,) against the mean of all criteria as predecessors; ``se`` clustered
    by text; ``p``: t test. ``separable``: False where the design cannot tell it from position;
    then the numbers are NaN. ``follows``: (criteria, criteria) how often column followed row.
    ``adjusted``: how position was taken out, "criterion x position" or "position".
    """

    effect: Floats
    se: Floats
    ci: tuple[Interval, ...]
    p: Floats
    texts: int
    separable: bool
    follows: Ints
    adjusted: str = ""


def position_shifts(sums: Floats, counts: Floats) -> Shifts:
    """Shifts from sums and counts of scores, (..., criteria, positions)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(counts > 0, sums / counts, np.nan)
        overall = sums.sum(axis=-1) / counts.sum(axis=-1)
    several = (counts > 0).sum(axis=-1) >= 2
    top = np.where(counts > 0, mean, -np.inf).max(axis=-1)
    bottom = np.where(counts > 0, mean, np.inf).min(axis=-1)
    with np.errstate(invalid="ignore"):
        delta = np.where(several, top - bottom, np.nan)
    return Shifts(mean, mean - overall[..., None], delta)


def friedman(cells: Floats) -> Friedman:
    """Friedman's chi-square with tie correction; ``cells`` (texts, positions), NaN missing.

    chi2 = [12 / (n k (k+1)) sum R_j^2 - 3 n (k+1)] / [1 - sum (t^3 - t) / (n k (k^2 - 1))].
    NaN below two positions or two whole blocks.
    """
    whole = np.isfinite(cells).all(axis=1)
    # Means of the same scores may differ in the last bits: those are ties.
    used = np.round(cells[whole], 9)
    n, k = used.shape
    excluded = int((~whole).sum())
    nan = float("nan")
    if k < 2 or n < 2:
        return Friedman(nan, max(k - 1, 0), nan, n, excluded, "too few whole texts or positions")
    ranks = rankdata(used)
    untied = n * k * (k + 1) * (2 * k + 1) / 6.0
    # Mid-ranks lose (t^3 - t) / 12 of the sum of squares for every tie of t.
    ties = 12.0 * (untied - float((ranks**2).sum()))
    correction = 1.0 - ties / (n * k * (k**2 - 1))
    if correction < _TINY:
        return Friedman(0.0, k - 1, 1.0, n, excluded, "the score never moved with the position")
    spread = 12.0 / (n * k * (k + 1)) * float((ranks.sum(axis=0) ** 2).sum()) - 3.0 * n * (k + 1)
    statistic = max(0.0, spread / correction)
    note = "fewer than 10 texts: the chi-square reference is rough" if n < 10 else ""
    return Friedman(statistic, k - 1, float(distributions.chi2.sf(statistic, k - 1)), n, excluded, note)


def carryover(
    text: Ints, criterion: Ints, position: Ints, before: Ints, score: Floats, *, n_criteria: int
) -> Carryover:
    """Effect of the criterion read just before, all successors pooled.

    Rows are scores; ``before`` is the code of the criterion shown one place earlier,
    ``n_criteria`` at the first place. Least squares of the score on text x criterion, position
    and predecessor, the first two taken out exactly; errors clustered by text. Position enters
    criterion by criterion where the design lets it ("criterion x position": random or all
    orders); else alike for all ("position"), as in Williams' (1949) analysis, whose n orders
    put each criterion once at each place. Not separable (then NaN) unless every criterion
    follows every other one and predecessors keep their rank once positions are taken out: the
    cyclic design fails for four criteria or more.
    """
    texts = int(text.max()) + 1 if len(text) else 0
    n_positions = int(position.max()) + 1 if len(position) else 0
    follows = np.zeros((n_criteria, n_criteria), dtype=np.int64)
    known = before < n_criteria
    np.add.at(follows, (before[known], criterion[known]), 1)
    everyone = bool((follows + np.eye(n_criteria, dtype=np.int64) > 0).all())
    if n_criteria >= 2 and texts >= 2 and everyone:
        size = (texts, n_positions, n_criteria)
        apart = [
            _Block.of(text[r], position[r], before[r], score[r], *size)
            for r in (np.flatnonzero(criterion == c) for c in range(n_criteria))
        ]
        unit = criterion * texts + text
        alike = [_Block.of(unit, position, before, score, n_criteria * texts, n_positions, n_criteria)]
        for blocks, adjusted in ((apart, "criterion x position"), (alike, "position")):
            normal = np.sum([block.normal for block in blocks], axis=0)
            if _rank(normal) == n_criteria - 1:
                return _solve(blocks, normal, texts, follows, adjusted)
    nothing = np.full(n_criteria, np.nan)
    empty = (NO_INTERVAL,) * n_criteria
    return Carryover(nothing, nothing, empty, nothing, texts, False, follows)


def _rank(normal: Floats) -> int:
    largest = max(1.0, float(np.abs(normal).max()))
    return int(np.linalg.matrix_rank(normal, tol=_TINY * largest, hermitian=True))


def _solve(blocks: list[_Block], normal: Floats, texts: int, follows: Ints, adjusted: str) -> Carryover:
    """Effects against their mean, with the sandwich variance over texts."""
    n = len(follows)
    inverse = np.linalg.pinv(normal, rcond=_TINY, hermitian=True)
    effect = inverse @ np.sum([block.right for block in blocks], axis=0)
    # Units run text by text within a block, whether it holds one criterion or all.
    pulls = [block.pull(effect).reshape(-1, texts, n).sum(axis=0) for block in blocks]
    pull = np.sum(pulls, axis=0)
    variance = inverse @ (pull.T @ pull) @ inverse * texts / (texts - 1)
    centre = np.eye(n) - 1.0 / n
    effect = centre @ effect
    se = np.sqrt(np.maximum(np.diag(centre @ variance @ centre), 0.0))
    reach = float(distributions.t.ppf(0.975, texts - 1)) * se
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(se > _TINY, 2 * distributions.t.sf(np.abs(effect) / se, texts - 1), np.nan)
    ci = tuple(Interval(float(e - h), float(e + h)) for e, h in zip(effect, reach, strict=True))
    return Carryover(effect, se, ci, p, texts, True, follows, adjusted)


class _Block(NamedTuple):
    """Normal equations for the predecessors, the rows' units and positions taken out.

    A unit is a text (rows of one criterion) or a text under a criterion (rows of all).
    """

    normal: Floats
    right: Floats
    unit: Ints
    position: Ints
    before: Ints
    residual_y: Floats
    onto: Floats
    n_positions: int
    units: int
    a: Floats
    b: Floats

    @classmethod
    def of(
        cls, unit: Ints, position: Ints, before: Ints, score: Floats, units: int, n_positions: int, n_criteria: int
    ) -> _Block:
        """A row's regressors are two indicators: its position, and its predecessor if any."""
        width = n_positions + n_criteria
        reads = np.maximum(np.bincount(unit, minlength=units), 1).astype(np.float64)
        centred = score - (np.bincount(unit, weights=score, minlength=units) / reads)[unit]
        counts = _indicator_sums(unit, position, before, np.ones_like(score), units, n_positions, width)
        cross = np.zeros((width, width))
        index = np.arange(width)
        cross[index, index] = counts.sum(axis=0)
        known = before + n_positions < width
        np.add.at(cross, (position[known], before[known] + n_positions), 1.0)
        np.add.at(cross, (before[known] + n_positions, position[known]), 1.0)
        a = cross - counts.T @ (counts / reads[:, None])
        b = _indicator_sums(unit, position, before, centred, units, n_positions, width).sum(axis=0)
        place, rest = slice(None, n_positions), slice(n_positions, None)
        onto = a[rest, place] @ np.linalg.pinv(a[place, place], rcond=_TINY, hermitian=True)
        return cls(
            a[rest, rest] - onto @ a[place, rest],
            b[rest] - onto @ b[place],
            unit,
            position,
            before,
            centred,
            onto,
            n_positions,
            units,
            a,
            b,
        )

    def pull(self, effect: Floats) -> Floats:
        """Each unit's part of the estimating equations at ``effect``, (units, criteria)."""
        n = self.n_positions
        width = n + len(effect)
        places = np.linalg.pinv(self.a[:n, :n], rcond=_TINY, hermitian=True)
        at_place = places @ (self.b[:n] - self.a[:n, n:] @ effect)
        fitted = at_place[self.position] + np.append(effect, 0.0)[self.before]
        reads = np.maximum(np.bincount(self.unit, minlength=self.units), 1)
        mean = np.bincount(self.unit, weights=fitted, minlength=self.units) / reads
        error = self.residual_y - (fitted - mean[self.unit])
        sums = _indicator_sums(self.unit, self.position, self.before, error, self.units, n, width)
        return np.asarray(sums[:, n:] - sums[:, :n] @ self.onto.T)


def _indicator_sums(
    unit: Ints, position: Ints, before: Ints, values: Floats, units: int, n_positions: int, width: int
) -> Floats:
    """Sums of ``values`` by unit under each position and each predecessor, (units, width)."""
    table = np.bincount(unit * width + position, weights=values, minlength=units * width)
    known = before + n_positions < width
    at = unit[known] * width + n_positions + before[known]
    table = table + np.bincount(at, weights=values[known], minlength=units * width)
    return table.reshape(units, width).astype(np.float64)
