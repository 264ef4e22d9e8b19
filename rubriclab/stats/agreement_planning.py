"""How many rated items an interval on agreement takes: kappa, weighted kappa, intraclass correlation.

Kappa by its large-sample variance (Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72, 323-327,
equation 13; of equal weights it is plain kappa's), which needs the whole table of two raters. Where
only kappa and the raters' marginals are guessed, the table is that of two normals cut at the
marginals (as in a polychoric correlation), correlated so that it has the kappa guessed.

The intraclass correlation by Bonett (2002, Statistics in Medicine 21, 1331-1335).
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from scipy import special
from scipy.optimize import brentq

from rubriclab.stats.inference import Floats

Weights = Literal["plain", "quadratic"]
MOST_LIKE = 0.999
"""The highest correlation of the two normals that is tried; at 1 there is no disagreement left."""


def weights_of(n: int, kind: Weights) -> Floats:
    """Agreement weights, (n, n): 1 on the diagonal; quadratic ones fall with the squared distance."""
    if kind == "plain":
        return np.eye(n)
    place = np.arange(n)
    return np.asarray(1.0 - (place[:, None] - place[None, :]) ** 2 / (n - 1) ** 2)


def kappa(table: Floats, kind: Weights) -> float:
    """Weighted kappa of a table of shares, (n, n); NaN where chance alone agrees wholly."""
    weights = weights_of(len(table), kind)
    chance = float(table.sum(axis=1) @ weights @ table.sum(axis=0))
    return (float((weights * table).sum()) - chance) / (1.0 - chance) if chance < 1 else float("nan")


def kappa_variance(table: Floats, kind: Weights) -> float:
    """n times the large-sample variance of kappa over n items whose cells have these shares."""
    weights = weights_of(len(table), kind)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    chance = float(rows @ weights @ columns)
    if chance >= 1:
        return float("nan")
    value = kappa(table, kind)
    of_row, of_column = weights @ columns, weights.T @ rows
    each = weights - (of_row[:, None] + of_column[None, :]) * (1.0 - value)
    spread = float((table * each**2).sum()) - (value - chance * (1.0 - value)) ** 2
    return max(spread, 0.0) / (1.0 - chance) ** 2


def guessed_table(value: float, rows: Floats, columns: Floats, kind: Weights) -> Floats | None:
    """The table of two raters with these marginals, (n,) each, and this kappa; None where there is none.

    Marginals that differ bound kappa: the most that the two normals reach may lie below ``value``.
    """
    made = partial(_table, rows / rows.sum(), columns / columns.sum())

    def missed(correlation: float) -> float:
        return kappa(made(correlation), kind) - value

    if not missed(-MOST_LIKE) < 0 < missed(MOST_LIKE):
        return None
    return made(float(brentq(missed, -MOST_LIKE, MOST_LIKE, xtol=1e-6)))


def _table(rows: Floats, columns: Floats, correlation: float) -> Floats:
    """Shares of two standard normals cut into categories of these shares."""
    # Imported here: scipy.stats takes a third of a second to load, and only this function needs it.
    from scipy import stats

    cuts = [special.ndtri(np.clip(np.cumsum(p)[:-1], 1e-9, 1 - 1e-9)) for p in (rows, columns)]
    a, b = np.meshgrid(*cuts, indexing="ij")
    inner = stats.multivariate_normal.cdf(np.stack([a, b], axis=-1), [0, 0], [[1, correlation], [correlation, 1]])
    whole = np.zeros((len(rows) + 1, len(columns) + 1))
    whole[1:-1, 1:-1] = np.reshape(inner, a.shape)
    whole[-1, 1:], whole[1:, -1] = np.cumsum(columns), np.cumsum(rows)
    table = np.clip(np.diff(np.diff(whole, axis=0), axis=1), 0.0, None)
    return np.asarray(table / table.sum())


def kappa_half_width(table: Floats, kind: Weights, items: int, *, level: float = 0.95) -> float:
    """Half the width of the interval on kappa over ``items`` items."""
    return _normal(level) * float(np.sqrt(kappa_variance(table, kind) / items)) if items > 0 else float("nan")


def items_for_kappa(table: Floats, kind: Weights, half_width: float, *, level: float = 0.95) -> int:
    """Fewest items of which the interval on kappa is expected to be at most so wide to either side."""
    return _whole(_normal(level) ** 2 * kappa_variance(table, kind) / half_width**2)


def items_for_icc(icc: float, ratings: int, half_width: float, *, level: float = 0.95) -> int:
    """Fewest items for the interval on the agreement of single ratings, ``ratings`` of each item.

    Bonett's equation for a width of twice ``half_width``, with 5 icc more items for two ratings of an
    icc of 0.7 or more, as he found by simulation.
    """
    wide = 2.0 * half_width
    items = 8.0 * _normal(level) ** 2 * _icc_spread(icc, ratings) / wide**2 + 1.0
    return _whole(items + (5.0 * icc if ratings == 2 and icc >= 0.7 else 0.0))


def icc_half_width(icc: float, ratings: int, items: int, *, level: float = 0.95) -> float:
    """Half the width of that interval over ``items`` items: the same equation, solved for the width."""
    left = items - 1.0 - (5.0 * icc if ratings == 2 and icc >= 0.7 else 0.0)
    return _normal(level) * float(np.sqrt(2.0 * _icc_spread(icc, ratings) / left)) if left > 0 else float("nan")


def _icc_spread(icc: float, ratings: int) -> float:
    return (1.0 - icc) ** 2 * (1.0 + (ratings - 1) * icc) ** 2 / (ratings * (ratings - 1))


def single_rating_icc(values: Floats) -> tuple[float, float]:
    """(agreement of single ratings, ratings an item) of ``values`` (items, raters), NaN where none.

    One-way analysis of variance over items with two ratings or more, n0 ratings each where they
    differ in number (Shrout & Fleiss 1979; Searle, Casella & McCulloch 1992, 3.6). NaN for fewer
    than two items or where nothing varies.
    """
    known = np.isfinite(values)
    values, known = values[known.sum(axis=1) > 1], known[known.sum(axis=1) > 1]
    count = known.sum(axis=1).astype(np.float64)
    total = count.sum()
    if len(count) < 2:
        return float("nan"), float("nan")
    filled = np.where(known, values, 0.0)
    mean = filled.sum(axis=1) / count
    between = float((count * (mean - filled.sum() / total) ** 2).sum()) / (len(count) - 1)
    within = float((np.where(known, values - mean[:, None], 0.0) ** 2).sum()) / (total - len(count))
    n0 = float((total - (count**2).sum() / total) / (len(count) - 1))
    varies = between + (n0 - 1.0) * within
    return ((between - within) / varies if varies > 0 else float("nan")), n0


def _normal(level: float) -> float:
    return -float(special.ndtri((1.0 - level) / 2.0))


def _whole(items: float) -> int:
    return max(int(np.ceil(items - 1e-9)), 2)
