"""Classify choices between candidates: consistency, fairness, stability and votes of judges.

Source: Shi et al., Judging the Judges, sections 2.2, 2.3, C and E, with the definitions that give
its Table 2. A *series* is one comparison shown in p orders, each candidate first once; for p = 2
the swapped pair. Codes of a choice: 1..p the position that won, 0 a tie, -1 not parsed, -2 not
asked.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.resample import Floats, Ints, crossed

UNASKED = -2
NOT_PARSED = -1
NO_WINNER = 0
"""Codes of a choice that is not a position; NO_WINNER is a tie."""
CLASSES = ("consistent", "primacy", "recency", "neutral", "unparsed")
CONSISTENT, PRIMACY, RECENCY, NEUTRAL, LOST = range(5)
"""Classes of a series. Neutral exists only for p > 2: several winners, but the candidate shown
first won exactly as often as without a preference.
"""
_EXACT = 1 << 13
"""Sign flips whose absolute sum is below this are counted exactly (4 times that for few units)."""
_PATTERNS = 100_000
"""Random sign patterns where neither the exact count nor the normal limit can be used."""


class Series(NamedTuple):
    """What each series came to; every array is (series,).

    ``kind``: one of CLASSES. ``winner``: the index of the candidate that won every order, p for a
    tie in all, -1 else. ``first``: orders won by the candidate shown first; ``decided``: orders
    with a winner; ``lost``: not parsed.
    """

    kind: Ints
    winner: Ints
    first: Ints
    decided: Ints
    lost: Ints


def classify(position: Ints) -> Series:
    """Series as consistent, primacy, recency (Shi et al., section 2.2), from choices (series, p).

    Column j is the order in which candidate j stood first and the others followed cyclically.
    Consistent: the same candidate wins all p orders, or all tie. Else, with m decided orders of
    which the candidate shown first won F: primacy if F > m/p, recency if F < m/p, neutral if equal.
    For p = 2 that is {AA, AC, CA} and {BB, BC, CB}; for p > 2 the paper's "one vs. all", held
    against what a judge without a preference gives the first position.
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
    """Return what each series adds to the test of PF = 0; above 0 leans to recency.

    p = 2: recency less primacy. p > 2: decided - p x orders won by the first, whose mean is 0 for a
    judge without a preference whatever its noise; classes are not (with p = 3 a coin gives 8
    recency to 7 primacy).
    """
    if p == 2:
        return np.asarray((series.kind == RECENCY) * 1 - (series.kind == PRIMACY) * 1)
    return np.where(series.kind == LOST, 0, series.decided - p * series.first)


def sign_flip_p(net: Ints) -> float:
    """Return the exact two-sided p of "no lean to either side", by flipping signs of whole units.

    ``net``: (units,) integers.

    Under the null a unit is as likely to lean by +d as by -d, so what is inside a unit may depend
    on each other in any way. With one inconsistent pair a unit it is the ordinary sign test. In
    full by the inverse transform of prod cos(w d / 2); a sum beyond _EXACT by its normal limit, or
    by random signs where one unit dominates. 1 where nothing leans.
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
    """Return the repetition stability of each query, and its standard deviation, (queries,) each.

    Stability is the share of the commonest choice (Shi et al., equation 1); the standard deviation
    is of "equals the commonest". NaN where a query was asked once. ``query``: code of a comparison
    in one order.

    A reply that was not parsed never counts as a choice but stays in the denominator. The sd has
    ddof 1.
    """
    trials = np.bincount(query, minlength=queries)
    parsed = position >= NO_WINNER
    mode = crossed(query[parsed], queries, position[parsed], p + 1).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(trials > 1, mode / trials, np.nan)
        return share, np.sqrt(share * (1 - share) * trials / (trials - 1))


class Votes(NamedTuple):
    """The judges' vote on each instance, (instances,).

    ``choice``: the commonest, NOT_PARSED where two share the lead or nobody could be parsed;
    ``off``: judgments that differ from a commonest one; ``judges``: parsed judgments.
    """

    choice: Ints
    off: Ints
    judges: Ints


def votes(choices: Ints, p: int) -> Votes:
    """Return majority vote and disagreement of choices (instances, judges) (Shi et al., C.2)."""
    counts = np.stack([(choices == k).sum(axis=1) for k in range(p + 1)], axis=1)
    top, judges = counts.max(axis=1), counts.sum(axis=1)
    sole = ((counts == top[:, None]).sum(axis=1) == 1) & (judges > 0)
    return Votes(np.where(sole, counts.argmax(axis=1), NOT_PARSED), judges - top, judges)


# ------------------------------------------------------------ consistency against overall win rates
class Parabola(NamedTuple):
    """y = level + slope (x - 1/p) + curvature (x - 1/p)^2 by least squares over ``n`` points.

    ``low``, ``high``: where 95% of curvatures lie if y has nothing to do with how far a candidate
    is from an even win rate; ``p``: of the curvature against that.
    """

    level: float
    slope: float
    curvature: float
    n: int
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")


class Points(NamedTuple):
    """The points of a parabola.

    cell, candidate: (points,) the cell of each, and its candidate in the cell's set.
    set, task: (cells,) the set of candidates and the task of each cell.
    """

    cell: Ints
    candidate: Ints
    set: Ints
    task: Ints


STUDIES = 500
"""Random studies in which consistency has nothing to do with quality."""
CELLS_DRAWN = 5_000_000
"""Cells of all these studies together: with more than 10,000 cells there are fewer, at least 50."""


def parabolas(
    consistent: Floats, parsed: Floats, won: Floats, pf: Floats, points: Points
) -> tuple[Parabola, Parabola]:
    """Fit PC, and PF, on the overall win rate, and compare with cells of random consistency.

    ``consistent``, ``parsed``, ``pf`` (cells,): series, and PF; ``won`` (cells, p): consistent wins
    of each candidate and 1/p of each tie and inconsistent series. An inconsistent series counts as
    a tie, so a cell with a low PC has a win rate near 1/p whatever its candidates are worth, and a
    parabola opens upwards by arithmetic alone.
    """
    p = won.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        pc, rate = consistent / parsed, won / parsed[:, None]
    x = rate[points.cell, points.candidate]
    drawn, drawn_pc, drawn_pf = _unrelated(consistent, parsed, won, pf, points)
    fits = []
    for y, null in ((pc[points.cell], drawn_pc), (pf[points.cell], drawn_pf)):
        level, slope, curvature = _quadratic(x[None] - 1 / p, y[None])[0]
        made = Parabola(
            float(level),
            float(slope),
            float(curvature),
            int((np.isfinite(x) & np.isfinite(y)).sum()),
        )
        known = _quadratic(drawn - 1 / p, null)[:, 2]
        known = known[np.isfinite(known)]
        if np.isfinite(curvature) and len(known) >= 20:
            low, high = np.quantile(known, [0.025, 0.975])
            tail = min((known >= curvature).sum(), (known <= curvature).sum())
            made = made._replace(
                low=float(low),
                high=float(high),
                p=min(1.0, 2.0 * (tail + 1.0) / (len(known) + 1.0)),
            )
        fits.append(made)
    return fits[0], fits[1]


def _unrelated(
    consistent: Floats, parsed: Floats, won: Floats, pf: Floats, points: Points
) -> tuple[Floats, Floats, Floats]:
    """Draw win rates, PC and PF of points where consistency has nothing to do with quality.

    (studies, points) each.

    PC and PF of each cell are dealt to other cells, whole sets and whole tasks at a time where
    every set meets every task; who wins a consistent series stays with the cell, drawn anew from a
    Dirichlet posterior whose prior is fitted to all cells; win rates follow.
    """
    rng, p = np.random.default_rng(0), won.shape[1]
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
    studies = int(np.clip(CELLS_DRAWN // len(parsed), 50, STUDIES))
    cells, sets, tasks = len(parsed), int(points.set.max()) + 1, int(points.task.max()) + 1
    if cells == sets * tasks:
        table = np.empty((sets, tasks), dtype=np.int64)
        table[points.set, points.task] = np.arange(cells)
        rows = rng.permuted(np.tile(np.arange(sets), (studies, 1)), axis=1)
        columns = rng.permuted(np.tile(np.arange(tasks), (studies, 1)), axis=1)
        dealt = table[rows[:, points.set], columns[:, points.task]]
    else:
        dealt = rng.permuted(np.tile(np.arange(cells), (studies, 1)), axis=1)
    count = np.rint(pc[dealt] * parsed).astype(np.int64)
    chances = rng.gamma(worth, size=(studies, *worth.shape))
    wins = rng.multinomial(count, chances / chances.sum(axis=2, keepdims=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        new = count / parsed
        rate = wins / parsed[:, None] + (1.0 - new)[:, :, None] / p
    return rate[:, points.cell, points.candidate], new[:, points.cell], pf[dealt][:, points.cell]


def _quadratic(z: Floats, y: Floats) -> Floats:
    """Coefficients (batch, 3) of y on 1, z, z^2 by normal equations; NaN points have no weight."""
    keep = np.isfinite(z) & np.isfinite(y)
    z, y = np.where(keep, z, 0.0), np.where(keep, y, 0.0)
    powers = np.stack([np.where(keep, z**k, 0.0) for k in range(3)], axis=1)
    left, right = powers @ powers.swapaxes(1, 2), (powers @ y[..., None])[..., 0]
    out = np.full(right.shape, np.nan)
    solvable = np.abs(np.linalg.det(left)) > 1e-12
    out[solvable] = np.linalg.solve(left[solvable], right[solvable][..., None])[..., 0]
    return out
