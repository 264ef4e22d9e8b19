"""The difference of two arms that reorder score options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.contrast_results import (
    FEW,
    MEAN_SCORE,
    R_WITH_HUMANS,
    STRENGTH,
    Cells,
    Contrast,
    Drawn,
    Side,
    cells_of,
    delta_of,
    differing,
    judged,
    made_contrast,
    measure_at,
)
from rubriclab.findings.frame import Bools, ItemTables, OptionRows, item_tables, option_rows, side_by_side, units
from rubriclab.findings.matching import Matched, item_keys, matched, resampled
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.stats import alignment as agree
from rubriclab.stats import contrast as stats
from rubriclab.stats.inference import Floats, Ints, sum_by
from rubriclab.stats.position import is_separable, position_given_score
from rubriclab.stats.shift import OrderReads, turning_sums

SHIFT = msg("ascending less descending")


@dataclass(frozen=True)
class _Options:
    """One arm of the options axis.

    ``reads``: the most an item was asked; ``read``: how many of them were readable, ``mean`` and
    ``variance`` of their scores, ``human``, all (items,). ``rated``: read, with a human rating.
    ``slope``: (items, 2) sums of x times score and of x squared, x being how far an order ascends,
    both less their mean over the item's reads.
    """

    rows: OptionRows
    tables: ItemTables
    reads: int
    read: Floats
    mean: Floats
    variance: Floats
    human: Floats
    rated: Bools
    slope: Floats

    @classmethod
    def of(cls, side: Side) -> _Options:
        rows = option_rows(side.data, side.arm, side.judgments)
        tables = item_tables(rows)
        reads = int(np.bincount(rows.item).max(initial=0))
        read, scores = tables.by_score.sum(axis=1), np.asarray(side.arm.scores, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = tables.by_score @ scores / read
            squares = tables.by_score @ scores**2 / read
            variance = np.maximum(squares - mean**2, 0.0) * read / (read - 1)
        human = np.full(len(side.data.items), np.nan)
        if "human" in side.data.items:
            human = side.data.items["human"].to_numpy().astype(np.float64)
        human = human[rows.item_code]
        rated = np.isfinite(human) & (read > 0)
        return cls(rows, tables, reads, read, mean, variance, human, rated, _slopes(rows))

    def sums(self, at: Ints, unit: Ints, n_units: int, kept: Bools, reads: int) -> Floats:
        """(units, 2 n² + 8): choices, exposures, slopes and moments with humans of the items ``at``.

        ``kept``: which of them are rated; the others have no moments. These are of means of
        ``reads`` reads, so that a longer arm is not ahead by its length: a mean of k of an item's K
        reads lies about that of all with variance s² (1/k - 1/K) (Cochran 1977, section 2.5).
        """
        n = self.rows.n
        moments, mine = np.zeros((len(at), 6)), at[kept]
        moments[kept] = agree.moments(self.mean[mine], self.human[mine])
        fewer = np.minimum(reads, self.read[mine])
        moments[kept, 3] += np.where(
            fewer < self.read[mine], self.variance[mine] * (1 / fewer - 1 / self.read[mine]), 0.0
        )
        parts = [self.tables.counts[at], self.tables.item_seen[at]]
        table = np.hstack([*(part.reshape(len(at), n * n) for part in parts), self.slope[at], moments])
        # An item a unit: which row is whose does not matter, as long as paired arms agree.
        return table if n_units == len(at) else sum_by(unit, table, n_units)


def _slopes(rows: OptionRows) -> Floats:
    """(items, 2): see ``_Options.slope``."""
    item, size, scores = rows.item[rows.ok], rows.n_items, np.arange(float(rows.n))
    where = item, rows.ordering[rows.ok], rows.value[rows.ok]
    reads = OrderReads(*where, np.arange(size), size, rows.shown, scores)
    return np.stack(turning_sums(reads), axis=1)


def options_contrast(a: Side, b: Side, seed: int, n_boot: int) -> Contrast:
    one, two = side_by_side(_Options.of, (a, b))
    key_a, key_b, changed = item_keys(a.data, one.rows.item_code, b.data, two.rows.item_code)
    by_a, by_b = (units(side.data.items, side.data.unit) for side in (a, b))
    unit_a, unit_b = by_a.code[one.rows.item_code], by_b.code[two.rows.item_code]
    match = matched(key_a, key_b, unit_a, unit_b, changed=changed)
    rated_a, rated_b = one.rated[match.at_a], two.rated[match.at_b]
    if match.paired:
        rated_a = rated_b = rated_a & rated_b
    reads = min(one.reads, two.reads)
    sums_a = one.sums(match.at_a, match.unit_a, match.units_a, rated_a, reads)
    sums_b = two.sums(match.at_b, match.unit_b, match.units_b, rated_b, reads)
    drawn_a, drawn_b = resampled(sums_a, sums_b, paired=match.paired, n_boot=n_boot, seed=seed)
    n = one.rows.n
    side_a, side_b = _Table.of(*drawn_a, n), _Table.of(*drawn_b, n)
    moved = is_separable(side_a.seen) and is_separable(side_b.seen)
    cells = _option_cells(a.arm, side_a, side_b, sums_a, sums_b, match) if moved else None
    rated = int(min(rated_a.sum(), rated_b.sum()))
    deltas = _deltas(a.arm, (side_a, sums_a), (side_b, sums_b), match, moved, rated)
    warnings = list(_option_warnings(one, two, moved, rated))
    unit = by_a.kind if match.units_a < len(match.at_a) else "item"
    every = judged(a, b, match.units, unit, deltas)
    return made_contrast(a, b, match, unit, seed, n_boot, cells, every, warnings)


def _deltas(
    arm: Arm, one: tuple[_Table, Floats], two: tuple[_Table, Floats], match: Matched, moved: bool, rated: int
) -> list[Drawn]:
    """Of places where both arms vary the order, in score points, and of agreement with humans."""
    (a, sums_a), (b, sums_b) = one, two
    items = min(len(match.at_a), len(match.at_b))
    scores, n = np.asarray(arm.scores, dtype=np.float64), len(arm.scores)
    deltas = _position_deltas(a, b, items, match) if moved else []
    if moved and min(a.slope[1], b.slope[1]) > 0:
        at = 2 * n * n
        slopes = [(2.0 * s[:, at], s[:, at + 1]) for s in (sums_a, sums_b)]
        differ = differing(slopes[0], slopes[1], match)
        deltas.append(delta_of(SHIFT, "shift", a.shift(), b.shift(), items, match.units, differ))
    square = n * n
    totals = [(s[:, :square] @ np.repeat(scores, n), s[:, :square].sum(axis=1)) for s in (sums_a, sums_b)]
    means = a.mean(scores), b.mean(scores)
    differ = differing(totals[0], totals[1], match)
    deltas.append(delta_of(MEAN_SCORE, "score", *means, items, match.units, differ))
    if rated > 1:
        deltas.append(delta_of(R_WITH_HUMANS, "agreement", a.r, b.r, rated, match.units))
    return deltas


@dataclass(frozen=True)
class _Table:
    """Totals of one arm and their draws: choices, exposures (n, n), slopes (2), moments (6)."""

    counts: Floats
    seen: Floats
    counts_drawn: Floats
    seen_drawn: Floats
    slope: Floats
    slope_drawn: Floats
    r: tuple[float, Floats]

    @classmethod
    def of(cls, totals: Floats, draws: Floats, n: int) -> _Table:
        square = n * n
        r = float(agree.r_of_moments(totals[-6:]))
        return cls(
            counts=totals[:square].reshape(n, n),
            seen=totals[square : 2 * square].reshape(n, n),
            counts_drawn=draws[:, :square].reshape(-1, n, n),
            seen_drawn=draws[:, square : 2 * square].reshape(-1, n, n),
            slope=totals[2 * square : 2 * square + 2],
            slope_drawn=draws[:, 2 * square : 2 * square + 2],
            r=(r, agree.r_of_moments(draws[:, -6:])),
        )

    def share(self) -> tuple[Floats, Floats]:
        """Share of judgments at each position, and its draws."""
        by_position, drawn = self.counts.sum(axis=0), self.counts_drawn.sum(axis=1)
        with np.errstate(invalid="ignore"):
            return by_position / by_position.sum(), drawn / drawn.sum(axis=1, keepdims=True)

    def shift(self) -> tuple[float, Floats]:
        """Mean score in the ascending order less that in the descending one: twice the slope."""
        (top, bottom), drawn = self.slope, self.slope_drawn
        with np.errstate(invalid="ignore", divide="ignore"):
            return float(2.0 * top / bottom), 2.0 * drawn[:, 0] / drawn[:, 1]

    def mean(self, scores: Floats) -> tuple[float, Floats]:
        by_score, drawn = self.counts.sum(axis=1), self.counts_drawn.sum(axis=2)
        with np.errstate(invalid="ignore"):
            return float(by_score @ scores / by_score.sum()), drawn @ scores / drawn.sum(axis=1)


def _option_cells(arm: Arm, a: _Table, b: _Table, sums_a: Floats, sums_b: Floats, match: Matched) -> Cells:
    n = len(arm.scores)
    draws = position_given_score(a.counts_drawn, a.seen_drawn)
    draws = draws - position_given_score(b.counts_drawn, b.seen_drawn)
    by_score = np.repeat(np.eye(n), n, axis=0)
    chosen = [(sums[:, : n * n] @ by_score > 0).sum(axis=0) for sums in (sums_a, sums_b)]
    usable = np.repeat((np.minimum(*chosen) >= FEW)[:, None], n, axis=1)
    table_a = position_given_score(a.counts, a.seen)
    table_b = position_given_score(b.counts, b.seen)
    rows = [str(score) for score in arm.scores]
    return cells_of("score", rows, table_a, table_b, draws, usable, match.units, most=1.0)


def _position_deltas(a: _Table, b: _Table, items: int, match: Matched) -> list[Drawn]:
    (share_a, draws_a), (share_b, draws_b) = a.share(), b.share()
    deltas = [
        delta_of(
            measure_at(p + 1),
            "share",
            (float(share_a[p]), draws_a[:, p]),
            (float(share_b[p]), draws_b[:, p]),
            items,
            match.units,
        )
        for p in range(len(share_a))
    ]
    v_a, v_b = stats.without_noise(share_a, draws_a), stats.without_noise(share_b, draws_b)
    return [*deltas, delta_of(STRENGTH, "strength", v_a, v_b, items, match.units)]


def _option_warnings(one: _Options, two: _Options, moved: bool, whole: int) -> Iterator[str]:
    if not moved:
        yield tr(
            "One of the two kept to one order, so position and score cannot be told apart in it: positions "
            "are not compared."
        )
    if whole > 1 and one.reads != two.reads:
        yield tr(
            "The budgets differ, {first} against {second} reads an item, and more reads alone raise "
            "agreement with humans: r is that of means of {reads} in both.",
            first=one.reads,
            second=two.reads,
            reads=min(one.reads, two.reads),
        )
    unread = 1.0 - one.rows.ok.mean(), 1.0 - two.rows.ok.mean()
    if max(unread) > 0.05:
        yield tr(
            "Replies that could not be read are left out: {first:.0%} of the first arm, {second:.0%} of the second.",
            first=unread[0],
            second=unread[1],
        )
