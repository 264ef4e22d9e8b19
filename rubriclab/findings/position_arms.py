"""Position in one arm, from its judgments: shares, tests, the table, costs and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rubriclab.findings.arm_tables import ArmTables
from rubriclab.findings.effects import unfinished
from rubriclab.findings.frame import ItemTables, OptionRows, known_mean, mean_by, on_labels
from rubriclab.findings.ordering import CONFOUNDED, bias_costs, resampled_tables, table_warnings
from rubriclab.findings.position_results import NOT_TESTABLE, PositionArm, PositionShares, ScoreDistribution, ScoreTable
from rubriclab.findings.shift import Repeats, shift_of
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.stats import position as stat
from rubriclab.stats.contrast import simultaneous
from rubriclab.stats.inference import (
    MIN_RESAMPLED,
    NO_INTERVAL,
    Floats,
    Interval,
    Test,
    bootstrap_sums,
    sum_by,
    widened,
)
from rubriclab.stats.missing import turned
from rubriclab.stats.proportions import clustered_wilson, wilson_by_error
from rubriclab.stats.shift import direction

FEW_MOVED = 15
"""Below so many items with two different scores the interval on V was seen to hold in 0.89 to 0.93
of simulated studies (tests/calibration: 2 options, skewed scores)."""
ONE_SCORE = 0.95
"""From this share of one score on, position counts look even whatever the judge does."""


UNEVEN = msg(
    "Not every score was at every position equally often: the table is divided by exposure and the test compares "
    "each item with its own scores in its other reads. V and the shares of places are not, so they also show which "
    "scores were given."
)
UNEVEN_ONE_EACH = msg(
    "Not every score was at every position equally often: the table is divided by exposure and the test compares "
    "each item that has any with its own scores in its other reads. V and the shares of places are not, so they "
    "also show which scores were given."
)


def arm_result(data: RunData, work: ArmTables, repeats: Repeats | None, *, seed: int, n_boot: int) -> PositionArm:
    """One arm without its noise floor and without correction over arms."""
    arm, rows, mine = work.arm, work.rows, work.units
    totals, resampled = resampled_tables(work.items, mine.code, mine.n, seed=seed, n_boot=n_boot)
    table, tables = stat.position_given_score(*totals), stat.position_given_score(*resampled)
    vectors, plain_shares = _unit_vectors(work)
    headline = _headline(work, vectors, plain_shares, seed)
    shares = _shares(work, totals, resampled[0], headline, seed)
    return PositionArm(
        code=work.code,
        arm=arm,
        judgments=work.judgments,
        n_used=int(rows.ok.sum()),
        n_excluded=int((~rows.ok).sum()),
        n_items=rows.n_items,
        n_units=mine.n,
        unit=mine.kind,
        shift=shift_of(data, work, repeats, shares.any_order.p, seed=seed),
        position=replace(shares, probability_share=probability_share(data, work)),
        table=_score_table(table, tables, totals, work),
        bias_cost=bias_costs(table, work.items, mine, arm.scores, seed=seed),
        score_distribution=_distribution(arm.scores, totals[0].sum(axis=1), len(rows.ok)),
        outcome=work.outcome,
        mean_score=known_mean(work.values),
        within_item_sd=stat.spread(work.sd),
        noise_floor=None,
        smallest_visible_effect=stat.smallest_visible_effect(vectors[:0] if work.one_order else vectors),
        label_mass=known_mean(rows.mass),
        unfinished=unfinished(data),
        warnings=_warnings(work, totals),
    )


def _unit_vectors(work: ArmTables) -> tuple[Floats, bool]:
    """((units, n) mean deviation of each unit's items from no effect, are they plain shares).

    The comparison is 1/n where items read a balanced set in full or most have one random order
    each, and the item's own scores over the orderings it was read under elsewhere.
    """
    vectors, plain_shares = _item_vectors(work.items)
    known = np.isfinite(vectors[:, 0])
    if work.units.kind == "item":
        return np.asarray(vectors[known]), plain_shares
    means = mean_by(work.units.code[known], vectors[known], work.units.n)
    return np.asarray(means[np.isfinite(means[:, 0])]), plain_shares


def _item_vectors(tables: ItemTables) -> tuple[Floats, bool]:
    reads = tables.by_position.sum(axis=1)
    read_in_full = stat.balanced_items(tables.exposure)
    if np.all((read_in_full > 0) | (reads == 0)):
        return stat.deviations(tables.by_position), True
    still = stat.one_order_items(tables.exposure)
    if _one_order_each(tables) and stat.is_balanced(_dealt(tables)):
        return stat.deviations(tables.by_position), True
    if still.sum() == (reads > 0).sum():  # nothing to compare an item's reads with
        return np.full(tables.by_position.shape, np.nan), False
    planned = float(stat.balanced_items(tables.item_seen).mean()) >= 0.5
    vectors = stat.corrected_deviations(tables.by_score, tables.by_position, tables.exposure, others_only=not planned)
    return vectors, False


def _one_order_each(tables: ItemTables) -> bool:
    """Were most items read, once or often, under one order only?"""
    return bool(2 * stat.one_order_items(tables.exposure).sum() > (tables.by_position.sum(axis=1) > 0).sum())


def _dealt(tables: ItemTables) -> Floats:
    """(scores, positions) over items, each counting once: repeats of an item's order are no other deal."""
    reads = tables.by_position.sum(axis=1)
    read = reads > 0
    return np.asarray((tables.exposure[read] / reads[read, None, None]).sum(axis=0))


def _shown_evenly(tables: ItemTables, exposure: Floats) -> bool:
    """Did every score stand at every place about equally often?"""
    return stat.is_balanced(_dealt(tables) if _one_order_each(tables) else exposure)


@dataclass(frozen=True)
class PlaceV:
    """Cramér's V of an arm: ``value`` without what ``noise`` adds, NaN unless it is of places (``even``).

    ``draws``: resampled shares; ``enough``: there are the units for an interval.
    """

    pooled: stat.Selection
    noise: float
    draws: Floats
    enough: bool
    even: bool

    @classmethod
    def of(cls, work: ArmTables, totals: tuple[Floats, Floats], by_position: Floats) -> PlaceV:
        """``by_position``: (n_boot, n) resampled selections."""
        counts, exposure = totals
        pooled = stat.selection(counts.sum(axis=0).astype(np.int64))
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = by_position / by_position.sum(axis=1, keepdims=True)
        draws = widened(pooled.share, draws[np.isfinite(draws[:, 0])], work.units.n)
        enough = work.units.n >= MIN_RESAMPLED and pooled.counts.sum() > 0
        even = not work.one_order and _shown_evenly(work.items, exposure)
        return cls(pooled, stat.v_from_noise(_unit_counts(work)), draws, bool(enough), even)

    @classmethod
    def drawn(cls, work: ArmTables, *, n_boot: int, seed: int = 0) -> PlaceV:
        """The same of an arm of which nothing else is asked."""
        items = work.items
        draws = bootstrap_sums(_unit_counts(work), n_boot=n_boot, seed=seed) if work.units.n else np.zeros((0, 1))
        return cls.of(work, (items.counts.sum(axis=0), items.seen), draws)

    @property
    def value(self) -> float:
        return stat.v_without_noise(self.pooled.v, self.noise) if self.even else float("nan")

    def interval(self, tails: tuple[float, float] | None = None) -> Interval:
        """``tails``: see ``stats.position.v_interval``."""
        if not (self.enough and self.even):
            return NO_INTERVAL
        return stat.v_interval(self.pooled.share, self.draws, tails=tails)


def _unit_counts(work: ArmTables) -> Floats:
    """(units, n): how often each place was picked."""
    counts = work.items.by_position
    return counts if work.units.n == len(counts) else sum_by(work.units.code, counts, work.units.n)


def _shares(
    work: ArmTables, totals: tuple[Floats, Floats], resampled: Floats, headline: Test, seed: int
) -> PositionShares:
    """Pooled selections with their intervals and both tests; ``totals``: choices and exposure.

    V is of places only where every score stood at every place about equally often. Else it shows
    what scores are given (in one order nothing else), and is left to the paper.
    """
    of, n = PlaceV.of(work, totals, resampled.sum(axis=1)), work.rows.n
    pooled, unit_counts = of.pooled, _unit_counts(work)
    enough, reads = of.enough, unit_counts.sum(axis=1)
    return PositionShares(
        counts=pooled.counts,
        share=pooled.share,
        share_ci=tuple(
            clustered_wilson(unit_counts[:, p], reads, balanced=True) if enough else NO_INTERVAL for p in range(n)
        ),
        v=of.value,
        v_ci=of.interval(),
        chi2=pooled.chi2,
        df=pooled.df,
        chi2_p=pooled.p,
        cramers_v=pooled.v,
        v_from_noise=of.noise,
        test=headline,
        any_order=_any_order(work, seed),
    )


def _headline(work: ArmTables, vectors: Floats, plain_shares: bool, seed: int) -> Test:
    nan = float("nan")
    if work.one_order:
        return Test(NOT_TESTABLE, nan, nan, nan, CONFOUNDED)
    return stat.average_effect_test(vectors, seed=seed, shares=plain_shares)


def _any_order(work: ArmTables, seed: int) -> Test:
    nan, rows = float("nan"), work.rows
    if work.one_order:
        return Test(NOT_TESTABLE, nan, nan, nan, CONFOUNDED)
    if not rows.ok.any():
        return Test(NOT_TESTABLE, nan, nan, nan, msg("No reply could be read."))
    reads = stat.Reads(
        rows.item[rows.ok], rows.score[rows.ok], rows.ordering[rows.ok], stat.positions_of(rows.shown), rows.n_items
    )
    tables = work.items
    return stat.any_order_test(reads, tables.by_score, tables.by_position, tables.exposure, seed=seed)


def _score_table(table: Floats, resampled: Floats, totals: tuple[Floats, Floats], work: ArmTables) -> ScoreTable:
    """The table with intervals of all its cells at once: 25 of them would else mark one by luck.

    How sure each cell has to be for that comes from the resampled units, the interval itself is a
    share's: an error of the share either way ends at 0, below which no share is, and a place that
    was never chosen is not for that certain never to be.
    """
    scores, chosen = work.arm.scores, work.items.by_score > 0
    n = len(scores)
    units_with = sum_by(work.units.code, chosen.astype(np.float64), work.units.n)
    # A row of the table rests on the units that chose its score, not on all.
    carried = np.repeat((units_with > 0).sum(axis=0)[:, None], n, axis=1)
    bands = simultaneous(table, resampled, units=carried, usable=carried >= MIN_RESAMPLED)
    counts, exposure = (total.astype(np.int64) for total in totals)
    chosen_at_all = counts.sum(axis=1)

    def ends(s: int, p: int) -> Interval:
        if carried[s, p] < MIN_RESAMPLED or not np.isfinite(table[s, p]):
            return NO_INTERVAL
        share, error = float(table[s, p]), float(bands.error[s, p])
        units, trials = int(carried[s, p]), int(chosen_at_all[s])
        return wilson_by_error(share, error, units=units, trials=trials, level=bands.level)

    ci = tuple(tuple(ends(s, p) for p in range(n)) for s in range(n))
    clear = np.array([[end.low > 1.0 / n or end.high < 1.0 / n for end in row] for row in ci])
    places = tuple(range(1, n + 1))
    return ScoreTable(scores, places, table, ci, exposure, counts, clear)


def _distribution(scores: tuple[int, ...], counts: Floats, total: int) -> ScoreDistribution:
    unread = total - int(counts.sum())
    share = counts / total if total else np.full(len(scores), np.nan)
    return ScoreDistribution(scores, counts.astype(np.int64), share, unread, unread / total if total else float("nan"))


def probability_share(data: RunData, work: ArmTables) -> Floats | None:
    """Mean probability of each position over the judgments that came with probabilities."""
    if data.probabilities is None:
        return None
    mine = data.judgments["arm"].to_numpy() == work.code
    given = data.probabilities[mine][:, : work.rows.n]
    given = given[work.rows.ok & np.isfinite(given).all(axis=1)]
    return np.asarray(given.mean(axis=0)) if len(given) else None


def _warnings(work: ArmTables, totals: tuple[Floats, Floats]) -> tuple[str, ...]:
    """Plain words about what limits this arm's findings."""
    arm, rows, counts = work.arm, work.rows, totals[0]
    used, total = int(rows.ok.sum()), len(rows.ok)
    warnings: list[str] = [tr(one) for one in table_warnings(totals)]
    if 0 < work.units.n < MIN_RESAMPLED:
        warnings.append(
            tr(
                "Only {units}: too few to resample, so shares, V and places have no interval.",
                units=many(work.units.n, work.units.kind),
            )
        )
    if used == 0:
        warnings.append(tr("None of the {total} judgments could be read.", total=total))
        return tuple(warnings)
    if not work.one_order:
        warnings += _of_the_design(work, totals[1])
    if (total - used) / total > 0.05:
        warnings.append(tr("{unread} of {total} judgments could not be read.", unread=total - used, total=total))
        warnings += _might_have_said(arm, rows)
    if rows.off_scale:
        warnings.append(tr("{n} readable judgments were off this scale and are left out.", n=rows.off_scale))
    top = int(np.argmax(counts.sum(axis=1)))
    share = float(counts.sum(axis=1)[top]) / used
    if share >= ONE_SCORE:
        warnings.append(
            tr(
                "{share:.0%} of the judgments are score {score}: even position counts do not show that this "
                "judge is unbiased.",
                share=share,
                score=arm.scores[top],
            )
        )
    if work.outcome == "expected" and not np.isfinite(work.values).any():
        warnings.append(tr("This judge gave no token probabilities: there is no expected score."))
    if not on_labels(rows.mass):
        warnings.append(tr("Only {share:.0%} of the probability was on the labels.", share=known_mean(rows.mass)))
    return tuple(warnings)


def _of_the_design(work: ArmTables, exposure: Floats) -> Iterator[str]:
    """What the orders that items were read in allow."""
    each = _one_order_each(work.items)
    if each:
        yield tr(
            "Most items were read in one order each: what is said compares items that were dealt different "
            "orders, and is right if these were dealt at random."
        )
    if not _shown_evenly(work.items, exposure):
        yield tr(UNEVEN_ONE_EACH if each else UNEVEN)
    if not each:
        yield from _few_moved(_moved(work), work.rows.n_items)


def _might_have_said(arm: Arm, rows: OptionRows) -> Iterator[str]:
    """What unread replies might have changed about the headline."""
    directions, seen = direction(rows.shown), rows.seen
    way = np.where(np.abs(directions) > 1 - 1e-9, np.sign(directions), 0).astype(np.int64)
    ends = float(arm.scores[0]), float(arm.scores[-1])
    lost = turned(rows.item[seen], way[rows.ordering[seen]], rows.value[seen], ends)
    if lost is not None:
        weighted = number(lost.weighted, "+.2f", unknown=tr("not defined"))
        yield tr(
            "{share:.0%} of the replies in ascending or descending order are unread. With items weighted by "
            "how seldom they were read, ascending less descending is {weighted} points; whatever the unread "
            "replies said, it lies between {low:+.2f} and {high:+.2f}.",
            share=lost.share,
            weighted=weighted,
            low=lost.low,
            high=lost.high,
        )


def _few_moved(moved: int, items: int) -> Iterator[str]:
    if 0 < moved < FEW_MOVED:
        carried = (
            msg(
                "There are only {moved} items: all that is said about position rests on them, and 95 % intervals "
                "may hold less often."
            )
            if moved == items
            else msg(
                "Only {moved} of {items} items were ever given two different scores: all that is said about "
                "position rests on them, and 95 % intervals may hold less often."
            )
        )
        yield tr(carried, moved=moved, items=items)


def _moved(work: ArmTables) -> int:
    """Items that did not get the same score in all their reads."""
    by_score = work.items.by_score
    return int(np.sum(by_score.max(axis=1) < by_score.sum(axis=1)))
