"""Classify choices between candidates: consistency, fairness, stability and votes of judges.

The source is Shi et al., Judging the Judges, sections 2.2, 2.3, C and E. Where the text leaves a
definition open, we use the one that reproduces its Table 2. A *series* is one comparison shown in p
orders, each candidate first once. For p = 2 that is the swapped pair. A choice is coded as 1..p for
the position that won, 0 for a tie, -1 for not parsed, and -2 for not asked. PC is the paper's
position consistency and PF its preference fairness.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.resample import Floats, Ints, crossed

UNASKED = -2
NOT_PARSED = -1
NO_WINNER = 0
"""Codes of a choice that is not a position. NO_WINNER is a tie."""
CLASSES = ("consistent", "primacy", "recency", "neutral", "unparsed")
CONSISTENT, PRIMACY, RECENCY, NEUTRAL, LOST = range(5)
"""Indices into CLASSES.

Neutral exists only for p > 2. It means several winners, while the candidate shown first won exactly
as often as with a judge that has no preference for a position.
"""
_EXACT = 1 << 13
"""Count sign flips exactly if the absolute values add up to less (4 times this for few units)."""
_PATTERNS = 100_000
"""Random sign patterns to draw where neither the exact count nor the normal limit can be used."""


class Series(NamedTuple):
    """The outcome of each series. Every array is (series,).

    kind: index into CLASSES.
    winner: index of the candidate that won every order; p if all orders tie, otherwise -1.
    first: number of orders that the candidate shown first won.
    decided: number of orders with a winner.
    lost: number of orders that were not parsed or not asked.
    """

    kind: Ints
    winner: Ints
    first: Ints
    decided: Ints
    lost: Ints


def classify(position: Ints) -> Series:
    """Classify series of choices (series, p) by Shi et al., section 2.2.

    Column j is the order with candidate j first and the others after it cyclically. A series is
    consistent if the same candidate wins all p orders, or all tie. Otherwise let the candidate
    shown first win F of m decided orders. The class is primacy if F > m/p, recency if F < m/p, and
    neutral if they are equal. For p = 2, primacy is {AA, AC, CA} and recency {BB, BC, CB}. For
    p > 2 it is the paper's "one vs. all", compared with a judge that prefers no position.
    """
    p = position.shape[1]
    parsed = (position >= NO_WINNER).all(axis=1)
    candidate = np.where(position > 0, (np.arange(p) + position - 1) % p, p)
    same = (candidate == candidate[:, :1]).all(axis=1) & parsed
    first, decided = (position == 1).sum(axis=1), (position > 0).sum(axis=1)
    kind = np.full(len(position), NEUTRAL)
    kind[p * first > decided] = PRIMACY
    kind[p * first < decided] = RECENCY
    kind[same] = CONSISTENT
    kind[~parsed] = LOST
    return Series(
        kind,
        np.where(same, candidate[:, 0], -1),
        first,
        decided,
        (position < NO_WINNER).sum(axis=1),
    )


def nets(series: Series, p: int) -> Ints:
    """Return what each series adds to the test of PF = 0, (series,). Above 0 means recency.

    For p = 2 it is 1 for recency and -1 for primacy. For p > 2 it is ``decided`` minus p times
    ``first``. That has a mean of 0 for any judge that prefers no position, however noisy it is.
    Counts of classes do not: with p = 3, choices at random give 8 recency to 7 primacy.
    """
    if p == 2:
        return np.asarray((series.kind == RECENCY) * 1 - (series.kind == PRIMACY) * 1)
    return np.where(series.kind == LOST, 0, series.decided - p * series.first)


def sign_flip_p(net: Ints) -> float:
    """Return the two-sided p of "no preference", by flipping the signs of whole units.

    ``net``: the sum of ``nets`` of each unit, (units,) integers. Under the null hypothesis a unit
    is as likely to have +d as -d, so the series of a unit may depend on each other in any way. With
    one inconsistent pair per unit, this is the ordinary sign test. Return 1 where all are 0.

    The p is exact up to _EXACT, from the inverse transform of prod cos(w d / 2). Above that we use
    the normal limit, or random signs where one unit dominates or there are fewer than 100 units.
    """
    sizes, reached = np.abs(net[net != 0]).astype(np.int64), abs(int(net.sum()))
    if not len(sizes):
        return 1.0
    total = int(sizes.sum())
    if total < _EXACT * (4 if len(sizes) < 100 else 1):
        half = np.pi * np.arange(total + 1) / (total + 1)
        transform = np.exp(-1j * half * total)
        for value, count in zip(*np.unique(sizes, return_counts=True), strict=True):
            transform *= np.cos(half * value) ** int(count)
        mass = np.clip(np.fft.ifft(transform).real, 0.0, 1.0)
        return float(min(1.0, mass[np.abs(total - 2 * np.arange(total + 1)) >= reached].sum()))
    spread = float(np.sqrt(np.square(sizes.astype(np.float64)).sum()))
    if len(sizes) >= 100 and sizes.max() < 0.2 * spread:
        return float(2 * special.ndtr(-reached / spread))
    signs = np.random.default_rng(0).integers(
        0, 2, (_PATTERNS // 1_000, 1_000, len(sizes)), dtype=np.int8
    )
    hits = sum(int((np.abs((part * 2 - 1) @ sizes) >= reached).sum()) for part in signs)
    return (hits + 1) / (_PATTERNS + 1)


def stability(query: Ints, position: Ints, queries: int, p: int) -> tuple[Floats, Floats]:
    """Return the repetition stability of each query and its standard deviation, (queries,) each.

    Stability is the share of the most frequent choice (Shi et al., equation 1). The standard
    deviation is that of "equals the most frequent choice", with ddof 1. Both are NaN where a query
    was asked once. ``query``: the code of a comparison in one order, (calls,). A reply that was not
    parsed is never a choice, but it stays in the denominator.
    """
    trials = np.bincount(query, minlength=queries)
    parsed = position >= NO_WINNER
    mode = crossed(query[parsed], queries, position[parsed], p + 1).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(trials > 1, mode / trials, np.nan)
        return share, np.sqrt(share * (1 - share) * trials / (trials - 1))


class Votes(NamedTuple):
    """The judges' vote on each instance. Every array is (instances,).

    choice: the most frequent choice; NOT_PARSED where two lead together or nothing was parsed.
    off: number of judgments that differ from the most frequent choice.
    judges: number of parsed judgments.
    """

    choice: Ints
    off: Ints
    judges: Ints


def votes(choices: Ints, p: int) -> Votes:
    """Return the majority vote and the disagreement (Shi et al., C.2).

    ``choices``: codes of choices, (instances, judges).
    """
    counts = np.stack([(choices == k).sum(axis=1) for k in range(p + 1)], axis=1)
    top, judges = counts.max(axis=1), counts.sum(axis=1)
    sole = ((counts == top[:, None]).sum(axis=1) == 1) & (judges > 0)
    return Votes(np.where(sole, counts.argmax(axis=1), NOT_PARSED), judges - top, judges)


# ------------------------------------------------------------ consistency against overall win rates
class Parabola(NamedTuple):
    """A least-squares fit of y = level + slope (x - 1/p) + curvature (x - 1/p)^2.

    n: number of points.
    low, high: the middle 95% of curvatures if y does not depend on the distance to an even win
        rate; NaN where we cannot tell.
    p: p-value of the curvature under the same hypothesis; NaN where we cannot tell.
    by_chance: mean level, slope and curvature under the same hypothesis; NaN where we cannot tell.
    """

    level: float
    slope: float
    curvature: float
    n: int
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    by_chance: tuple[float, float, float] = (float("nan"),) * 3


class Points(NamedTuple):
    """The points of a parabola.

    cell, candidate: the cell of each point, and the index of its candidate in it, (points,).
    set, task: the set of candidates and the task of each cell, (cells,).
    """

    cell: Ints
    candidate: Ints
    set: Ints
    task: Ints


class Cells(NamedTuple):
    """The cells of one judge: what a set of candidates got on one task.

    consistent, parsed: numbers of series, (cells,).
    won: the consistent wins of each candidate plus 1/p for each tie and inconsistent series,
        (cells, p).
    pf: PF, (cells,).
    points: which cells and candidates are points.
    """

    consistent: Floats
    parsed: Floats
    won: Floats
    pf: Floats
    points: Points


STUDIES = 500
"""Draw this many random studies in which consistency has nothing to do with quality."""
CELLS_DRAWN = 5_000_000
"""Limit the cells of all these studies together, for memory.

With more than 10,000 cells we draw fewer studies, but at least 50.
"""
LEAST_STUDIES = 20
"""Say nothing about chance where fewer studies have a parabola."""


def parabolas(judges: Sequence[Cells], *, same_cells: bool = False) -> tuple[Parabola, Parabola]:
    """Fit PC and PF on the overall win rate, and compare with cells of random consistency.

    The points of all ``judges`` are fitted together. ``same_cells``: they have the same sets and
    tasks in the same order. Judges then find the same cells hard, so that random studies deal the
    cells of all judges in one way; otherwise each judge's are dealt on their own.

    An inconsistent series counts as a tie, so a cell with a low PC has a win rate near 1/p however
    good its candidates are. Arithmetic alone therefore makes a parabola open upwards, and only the
    comparison with random cells has a meaning.
    """
    p = judges[0].won.shape[1]
    made = [_measured(judge) for judge in judges]
    x, *outcomes = (np.concatenate(part) for part in zip(*made, strict=True))
    drawn, *nulls = _unrelated(judges, same_cells)
    fits = []
    for y, null in zip(outcomes, nulls, strict=True):
        level, slope, curvature = _quadratic(x[None] - 1 / p, y[None])[0]
        fit = Parabola(
            float(level),
            float(slope),
            float(curvature),
            int((np.isfinite(x) & np.isfinite(y)).sum()),
        )
        terms = _quadratic(drawn - 1 / p, null)
        terms = terms[np.isfinite(terms).all(axis=1)]
        if np.isfinite(curvature) and len(terms) >= LEAST_STUDIES:
            known = terms[:, 2]
            low, high = np.quantile(known, [0.025, 0.975])
            tail = min((known >= curvature).sum(), (known <= curvature).sum())
            of_level, of_slope, of_curvature = terms.mean(axis=0).tolist()
            fit = fit._replace(
                low=float(low),
                high=float(high),
                p=min(1.0, 2.0 * (tail + 1.0) / (len(known) + 1.0)),
                by_chance=(of_level, of_slope, of_curvature),
            )
        fits.append(fit)
    return fits[0], fits[1]


def _measured(judge: Cells) -> tuple[Floats, Floats, Floats]:
    """Return (win rates, PC, PF) of a judge's points, (points,) each."""
    cell, candidate, *_ = judge.points
    with np.errstate(invalid="ignore", divide="ignore"):
        pc, rate = judge.consistent / judge.parsed, judge.won / judge.parsed[:, None]
    return rate[cell, candidate], pc[cell], judge.pf[cell]


def _unrelated(judges: Sequence[Cells], same_cells: bool) -> tuple[Floats, Floats, Floats]:
    """Draw points where consistency has nothing to do with quality.

    Return (win rates, PC, PF), (studies, points) each. PC and PF of each cell are moved to another
    cell of the judge. The winners of consistent series stay with their cell: we draw them from a
    Dirichlet posterior, whose prior is fitted to all cells. The win rates follow from both.
    """
    rng = np.random.default_rng(0)
    studies = int(np.clip(CELLS_DRAWN // sum(len(judge.parsed) for judge in judges), 50, STUDIES))
    dealt = _dealt(rng, judges[0], studies)
    drawn = []
    for number, judge in enumerate(judges):
        if number and not same_cells:
            dealt = _dealt(rng, judge, studies)
        drawn.append(_redrawn(rng, judge, dealt))
    rate, pc, pf = (np.concatenate(part, axis=1) for part in zip(*drawn, strict=True))
    return rate, pc, pf


def _dealt(rng: np.random.Generator, judge: Cells, studies: int) -> Ints:
    """Return which cell each cell gets its PC and PF from, (studies, cells).

    Whole sets and whole tasks move together where every set meets every task.
    """
    points, cells = judge.points, len(judge.parsed)
    sets, tasks = int(points.set.max()) + 1, int(points.task.max()) + 1
    if cells != sets * tasks:
        return rng.permuted(np.tile(np.arange(cells), (studies, 1)), axis=1)
    table = np.empty((sets, tasks), dtype=np.int64)
    table[points.set, points.task] = np.arange(cells)
    rows = rng.permuted(np.tile(np.arange(sets), (studies, 1)), axis=1)
    columns = rng.permuted(np.tile(np.arange(tasks), (studies, 1)), axis=1)
    return np.asarray(table[rows[:, points.set], columns[:, points.task]])


def _redrawn(rng: np.random.Generator, judge: Cells, dealt: Ints) -> tuple[Floats, Floats, Floats]:
    """Return (win rates, PC, PF) of a judge's points with PC and PF dealt to other cells.

    ``dealt``: (studies, cells); what is returned is (studies, points) each.
    """
    consistent, parsed, won, pf, points = judge
    p = won.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (won - (parsed - consistent)[:, None] / p) / consistent[:, None]
        pc = np.nan_to_num(consistent / parsed)
    known = consistent > 1
    prior = float(p)
    if known.any():
        noise = share[known] * (1.0 - share[known]) / (consistent[known, None] - 1.0)
        between = float((np.square(share[known] - 1.0 / p) - noise).mean())
        prior = float(np.clip((1.0 - 1.0 / p) / p / max(between, 1e-9) - 1.0, 0.2, 1e3))
    worth = np.nan_to_num(share * consistent[:, None]).clip(0.0) + prior / p
    count = np.rint(pc[dealt] * parsed).astype(np.int64)
    chances = rng.gamma(worth, size=(len(dealt), *worth.shape))
    wins = rng.multinomial(count, chances / chances.sum(axis=2, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        new = count / parsed
        rate = wins / parsed[:, None] + (1.0 - new)[:, :, None] / p
    return rate[:, points.cell, points.candidate], new[:, points.cell], pf[dealt][:, points.cell]


def _quadratic(z: Floats, y: Floats) -> Floats:
    """Return the coefficients of y on 1, z and z^2, (batch, 3), by normal equations.

    ``z``, ``y``: (batch, points). NaN points have no weight. NaN where there is no solution.
    """
    keep = np.isfinite(z) & np.isfinite(y)
    z, y = np.where(keep, z, 0.0), np.where(keep, y, 0.0)
    powers = np.stack([np.where(keep, z**k, 0.0) for k in range(3)], axis=1)
    left, right = powers @ powers.swapaxes(1, 2), (powers @ y[..., None])[..., 0]
    out = np.full(right.shape, np.nan)
    solvable = np.abs(np.linalg.det(left)) > 1e-12
    out[solvable] = np.linalg.solve(left[solvable], right[solvable][..., None])[..., 0]
    return out
