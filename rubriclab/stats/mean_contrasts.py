"""Estimate how orders move the mean score: contrasts, and the largest gap between two orders.

The gap is freed of luck: noise that is chosen along with the largest of several means.

Arrays in, numbers out, in points. Orders are assigned by the design, so what is regressed on them
is caused by them. What comes from the units' own sums holds whatever goes on within a unit (Liang
and Zeger 1986).
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rubriclab.stats.proportions import NO_INTERVAL
from rubriclab.stats.resample import (
    Bools,
    Floats,
    Ints,
    by_content,
    crossed,
    distinct,
    in_groups,
    stretch,
    sum_by,
)

MIN_UNITS = 8
"""With fewer units nothing here has an interval."""
SPLITS = 6
"""Random halvings of the units that the largest gap is averaged over."""
DRAWS = 1_000
"""Random signs of the units' errors (wild bootstrap) per split."""
GROUPS = 200
"""More units than this are first summed in this many random groups: bounds the time."""
_FLAT = 1e-9


# ---------------------------------------------------------------------------------------- contrasts
class OrderCells(NamedTuple):
    """The mean score of each text in each order that it was judged in.

    text, order, mean: (cells,) each.
    """

    text: Ints
    order: Ints
    mean: Floats


def order_cells(text: Ints, order: Ints, value: Floats, orders: int) -> OrderCells:
    """Return the cells of calls (calls,); ``orders``: how many there are."""
    present, cell = distinct(text * orders + order)
    return OrderCells(
        present // orders, present % orders, np.bincount(cell, value) / np.bincount(cell)
    )


class Contrast(NamedTuple):
    """A contrast of the mean score: the sum of ``top`` over the sum of ``bottom``, in points.

    top, bottom: (texts,) each.
    reach: the most that a single text can add.
    """

    top: Floats
    bottom: Floats
    reach: float


def within_texts(cells: OrderCells, direction: Floats, texts: int, span: float) -> Contrast | None:
    """Return the contrast of scores along ``direction`` (orders,), centred within each text.

    Every order of a text counts once.

    top = mean of c y, bottom = mean of c^2 / 2 over a text's orders: a line's end-to-end
    difference, or forward less backward mean. ``span``: of the scale. None where no text was judged
    in orders of different directions.
    """
    orders = np.bincount(cells.text, minlength=texts)
    share = 1.0 / np.maximum(orders, 1)
    c = direction[cells.order]
    c = c - (np.bincount(cells.text, c, texts) * share)[cells.text]
    bottom = np.bincount(cells.text, c**2, texts) * share / 2
    held = bottom > _FLAT
    if not held.any():
        return None
    top = np.where(
        held, np.bincount(cells.text, c * (cells.mean - cells.mean.mean()), texts) * share, 0.0
    )
    width = np.bincount(cells.text, np.abs(c), texts) * share
    reach = max(span, span * float((width[held] / bottom[held]).max()) / 2)
    return Contrast(top, np.where(held, bottom, 0.0), reach)


def over_texts(
    cells: OrderCells, direction: Floats, span: float
) -> tuple[float, Floats, float] | None:
    """Return (end-to-end slope, influence of each cell, reach) where a text has one random order.

    Twice the least-squares slope of the score on ``direction``, with HC3 influence (MacKinnon and
    White 1985: residuals over one less their leverage). None where fewer than MIN_UNITS texts, on
    which all would rest, have a direction.
    """
    c = direction[cells.order] - direction[cells.order].mean()
    square, n = float((c**2).sum()), len(c)
    if square < _FLAT or (np.abs(c - np.median(c)) > _FLAT).sum() < MIN_UNITS:
        return None
    score = cells.mean - cells.mean.mean()
    slope = float((c * score).sum()) / square
    rest = (score - slope * c) / np.maximum(1 - 1 / n - c**2 / square, _FLAT)
    return 2 * slope, 2 * c * rest / square, span * float(np.abs(c).max()) * n / square


# ----------------------------------------------------------------------- the two ends of all orders
@dataclass(frozen=True, eq=False)
class Extremes:
    """The order with the highest mean less the one with the lowest.

    The largest of several means is too large, since noise is chosen along with it. So the two
    orders are chosen on one half of the units and compared on the other half, and the other way
    round, over several splits (cross-fitting). ``value``: not below 0. ``highest``, ``lowest``:
    orders (score codes as shown), chosen on all units. ``modelled``: by pulls of positions that add
    up, since hardly any order was shared by the items.
    """

    top: Floats
    bottom: Floats
    compare: Callable[[Floats, Floats], Floats]
    highest: Ints
    lowest: Ints
    modelled: bool
    folds: Floats
    signs: Floats

    @property
    def value(self) -> float:
        return max(0.0, self._observed)

    @cached_property
    def _observed(self) -> float:
        profiles = np.stack([self._profile(fold) for fold in self.folds])
        return float(self.compare(profiles, _swapped(profiles)).mean())

    def _profile(self, kept: Floats) -> Floats:
        return _solved(kept @ self.top, np.tensordot(kept, self.bottom, axes=1))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Inverts a test: profiles that are the observed one stretched to a range t, with the
        units' errors given random signs (wild bootstrap: Wu 1986), are split, chosen and compared
        alike. t belongs to the interval unless a difference as great as the observed one is too
        rare under it, or one as small; all of the error goes to "as great" at t = 0, half of it
        farther away (Feldman and Cousins 1998). Errors are stretched to Student's t.
        """
        whole = self._profile(np.ones(len(self.top)))
        chosen = self._errors(whole, level)
        errors = chosen.reshape(-1, len(whole)), _swapped(chosen).reshape(-1, len(whole))
        size = float(self.compare(whole[None], whole[None])[0])
        unit = whole / size if size > 0 else np.zeros_like(whole)

        def drawn(t: float) -> Floats:
            each = self.compare(t * unit + errors[0], t * unit + errors[1])
            return np.asarray(each.reshape(-1, DRAWS).mean(axis=0))

        low, high = _inverted(self._observed, drawn, 1.0 - level)
        # Halves may choose other orders than all units do: what all units show is not ruled out.
        return low, max(high, size)

    def _errors(self, whole: Floats, level: float) -> Floats:
        """(folds, DRAWS, m) errors of the folds' profiles, from the units' own at random signs."""
        error = self.top - (self.bottom * whole if self.bottom.ndim == 2 else self.bottom @ whole)
        wider = stretch(len(self.top), level)
        return np.stack(
            [
                wider * _solved((self.signs * f) @ error, np.tensordot(f, self.bottom, axes=1))
                for f in self.folds
            ]
        )


def extremes(
    item: Ints, order: Ints, value: Floats, unit: Ints, n_units: int, shown: Ints, scores: Floats
) -> Extremes | None:
    """Return the two ends of all orders.

    ``item``, ``order``, ``value``: (calls,); ``unit``: (items,); ``shown``: (orders, n) score
    codes; ``scores``: in points.

    An order takes part if it was asked at least half as often as the most asked one, and MIN_UNITS
    times; where these are not half of the calls, pulls of positions are fitted instead. None with
    fewer than MIN_UNITS units or two orders.
    """
    count = np.bincount(order, minlength=len(shown))
    often = np.flatnonzero(count >= max(MIN_UNITS, count.max(initial=0) / 2))
    modelled = bool(len(often) < 2 or count[often].sum() < 0.5 * count.sum())
    if not len(value) or (modelled and np.count_nonzero(count) < 2):
        return None
    rng = np.random.default_rng(0)
    alone, between = judged_alone(item, order, len(unit))
    if modelled:
        top, bottom = _by_position(
            item, order, value, unit, n_units, scores[shown], alone, between, rng
        )
        compare = _ends_of_positions(scores)
    else:
        column = np.full(len(shown), -1)
        column[often] = np.arange(len(often))
        kept = column[order] >= 0
        if not kept.all():
            item, order, value = item[kept], order[kept], value[kept]
            alone, between = judged_alone(item, order, len(unit))
        y = centred(item, value[:, None], alone, between)[:, 0]
        cells = unit[item], n_units, column[order], len(often)
        scores_of_units, calls_of_units = crossed(*cells, weights=y), crossed(*cells)
        ranked = by_content(np.hstack([scores_of_units, calls_of_units]))
        top, bottom = in_groups([scores_of_units[ranked], calls_of_units[ranked]], GROUPS, rng)
        compare = ends
    if len(top) < MIN_UNITS:
        return None
    whole = _solved(top.sum(axis=0), bottom.sum(axis=0))
    if not np.isfinite(whole).all():
        return None
    if modelled:
        rank = np.argsort(np.argsort(rounded_ties(whole), kind="stable"), kind="stable")
        high, low = rank, len(rank) - 1 - rank
    else:
        means = rounded_ties(whole)
        high, low = shown[often[means.argmax()]], shown[often[means.argmin()]]
    halves = np.zeros((SPLITS, len(top)))
    for half in halves:
        half[rng.permutation(len(top))[: len(top) // 2]] = 1.0
    folds = np.concatenate([halves, 1.0 - halves])  # the i-th and the i + SPLITS-th: one split
    signs = rng.choice([-1.0, 1.0], size=(DRAWS, len(top)))
    made = Extremes(top, bottom, compare, high, low, modelled, folds, signs)
    return made if np.isfinite(made._observed) else None


def judged_alone(item: Ints, order: Ints, items: int) -> tuple[Bools, bool]:
    """Return (items,) whether each was judged in one order only, and whether most items were.

    Only items can be compared then.
    """
    first = np.zeros(items, dtype=np.int64)
    first[item] = order
    several = np.zeros(items, dtype=bool)
    several[item[first[item] != order]] = True
    judged = np.bincount(item, minlength=items) > 0
    alone = judged & ~several
    return alone, bool(2 * alone.sum() > judged.sum())


def centred(item: Ints, values: Floats, alone: Bools, between: bool) -> Floats:
    """Return ``values`` (calls, k) minus their item's mean.

    Where most items were judged in one order only (``between``), those ``alone`` are centred on the
    mean of all such items, which orders drawn at random allow: within them there is nothing to
    compare.
    """
    count = np.maximum(np.bincount(item, minlength=len(alone)), 1)[:, None]
    sums = sum_by(item, values, len(alone))
    means = sums / count
    if between:
        means[alone] = sums[alone].sum(axis=0) / count[alone].sum()
        return np.asarray(values - means[item])
    return np.asarray(np.where(alone[item][:, None], 0.0, values - means[item]))


def _by_position(
    item: Ints,
    order: Ints,
    value: Floats,
    unit: Ints,
    n_units: int,
    shows: Floats,
    alone: Bools,
    between: bool,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Return the normal equations of the score on the points shown at each position.

    (groups, n) and (groups, n, n).
    """
    x = centred(item, shows[order], alone, between)
    y = centred(item, value[:, None], alone, between)
    of_call = unit[item]
    group = np.empty(n_units, dtype=np.int64)
    ranked = by_content(sum_by(of_call, x * y, n_units))
    groups = min(n_units, GROUPS)
    if n_units > GROUPS:
        starts = np.arange(GROUPS) * n_units // GROUPS
        group[ranked[rng.permutation(n_units)]] = (
            np.searchsorted(starts, np.arange(n_units), side="right") - 1
        )
    else:
        group[ranked] = np.arange(n_units)
    of_call = group[of_call]
    together = np.argsort(of_call, kind="stable")
    x, y = x[together], y[together]
    cuts = np.searchsorted(of_call[together], np.arange(groups + 1))
    parts = [(x[a:b].T @ y[a:b, 0], x[a:b].T @ x[a:b]) for a, b in itertools.pairwise(cuts)]
    return np.stack([top for top, _ in parts]), np.stack([bottom for _, bottom in parts])


def rounded_ties(means: Floats) -> Floats:
    """Return means in which rounding errors do not choose between two orders."""
    return np.round(means, 9)


def ends(chosen: Floats, valued: Floats) -> Floats:
    """Return the highest minus the lowest entry, chosen in ``chosen``, valued in ``valued``.

    Row by row; of ties (1e-9) the first counts.
    """
    row, settled = np.arange(len(chosen)), rounded_ties(chosen)
    return np.asarray(valued[row, settled.argmax(axis=1)] - valued[row, settled.argmin(axis=1)])


def _ends_of_positions(scores: Floats) -> Callable[[Floats, Floats], Floats]:
    """Return a function that compares the two ends of a sum of pulls.

    High scores where the pull is strong, minus the reverse.
    """
    apart = scores - scores[::-1]

    def compare(chosen: Floats, valued: Floats) -> Floats:
        rank = rounded_ties(chosen).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        return np.asarray(np.einsum("km,km->k", apart[rank], valued))

    return compare


def _inverted(
    observed: float, drawn: Callable[[float], Floats], alpha: float
) -> tuple[float, float]:
    """The t >= 0 under which ``observed`` is neither too great nor too small, by bisection.

    No t is below 0, so an ``observed`` there is luck and no sign of a small t: nothing is then too
    small that would not be at 0 (a power-constrained limit: Cowan et al. 2011).
    """
    observed = max(0.0, observed)
    spread = float(drawn(0.0).std())
    if not np.isfinite(spread):
        return NO_INTERVAL
    if spread <= 1e-12:
        return observed, observed

    def rare(t: float) -> float:
        return float(alpha / 2 * (1.0 + np.exp(-((t / spread) ** 2))))

    def great(t: float) -> bool:
        return bool(np.mean(drawn(t) >= observed) > rare(t))

    def small(t: float) -> bool:
        return bool(np.mean(drawn(t) <= observed) > alpha - rare(t))

    far = observed + 8.0 * spread
    low = 0.0 if great(0.0) else _edge(great, 0.0, far)
    high = _edge(lambda t: not small(t), 0.0, far) if small(0.0) else 0.0
    return min(low, observed), max(high, observed)


def _edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return where ``holds`` changes from false to true."""
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2


def _swapped(folds: Floats) -> Floats:
    """For every fold the other half of the same split."""
    return np.roll(folds, SPLITS, axis=0)


def _solved(top: Floats, bottom: Floats) -> Floats:
    if bottom.ndim == 1:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(top / bottom)
    return np.asarray(top @ np.linalg.pinv(bottom, hermitian=True))
