"""One arm beside the humans: r and rho over what was read, reliability, what is missing, orders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings.alignment_ceiling import Ceiling, Raters
from rubriclab.findings.effects import in_r
from rubriclab.findings.frame import Bools, OptionRows, Units, by_read, option_rows, read_slots, side_by_side
from rubriclab.model import Arm, RunData
from rubriclab.model.language import Counted, tr
from rubriclab.model.wording import bare, many, number
from rubriclab.stats import alignment as stats
from rubriclab.stats.alignment import Agreement, Correlation
from rubriclab.stats.budget import BudgetPoint, budget_curve
from rubriclab.stats.human_correlation import (
    FEWEST_UNITS,
    ItemReads,
    LeftOut,
    below_by_chance,
    gain,
    r_with_humans,
    rho_with_humans,
)
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints
from rubriclab.stats.missing import Sensitivity, sensitivity
from rubriclab.stats.ranks import MIN_RANKED, RankSets, rank_sets
from rubriclab.stats.reliability import Reliability, own_share, reliability
from rubriclab.stats.verdict import Effect

FEW_ITEMS = 30
MOST_RANKED = 40
"""Of more orderings than this no rank sets are given: each was then seen on few items."""


@dataclass(frozen=True)
class OrderingRank:
    """One ordering's r with humans over ``n`` single calls; rank 1 is the best.

    ``ci``: of r, all orderings at once; ``rank_low`` to ``rank_high``: the ranks that the data
    leave open, likewise at once; None where there are too few data.
    """

    ordering: tuple[int, ...]
    r: float
    ci: Interval
    rank: int | None
    n: int
    canonical: bool
    rank_low: int | None = None
    rank_high: int | None = None


@dataclass(frozen=True)
class ArmAlignment:
    """One arm beside the humans, every item with a score and a rating in it.

    ``excluded`` = ``no_human`` + ``unread`` (rated by a human, but no read gave a score).
    ``missing``: replies without a score among the items that humans rated, out of ``asked``;
    ``incomplete``: items with some. ``expected``: r of the expected scores where the judge gave
    probabilities. ``one_read``: r with one read an item, ``more``: what all of them add to
    that. ``budget``: the papers' curve, over items without a gap. ``against``: the
    judge runs against people (see ``_against``). ``resampled``: "item" or "block", ``n_units``.
    """

    code: int
    arm: Arm
    reads: int
    n_items: int
    excluded: int
    no_human: int
    unread: int
    incomplete: int
    missing: int
    asked: int
    resampled: str
    n_units: int
    pearson: Correlation
    one_read: float
    more: Effect | None
    spearman: Correlation
    expected: Correlation | None
    raters: Agreement | None
    ceiling: Ceiling | None
    reliability: Reliability | None
    sensitivity: Sensitivity | None
    against: bool
    ordering_rank: tuple[OrderingRank, ...]
    canonical_rank: int | None
    budget: tuple[BudgetPoint, ...]
    warnings: tuple[str, ...]

    @property
    def correlates(self) -> bool:
        """Is r defined somewhere on the budget's curve: did scores and ratings differ at all?"""
        return any(math.isfinite(point.mean_r) for point in self.budget)


PERMUTED = 20_000
"""Items up to which ratings change places; of more the interval is as good and the draws take long."""


@dataclass(frozen=True)
class Cases:
    """An arm's reads. ``scores``: (items of ``rows``, K), NaN where unread or not asked;
    ``order``, alike, a code of the order shown; ``asked``, alike, where there was a call; ``item``: run-wide codes of the items with a score
    and a rating, at the places ``at``; ``reads`` and ``expected`` are of these."""

    code: int
    arm: Arm
    rows: OptionRows
    most: int
    scores: Floats
    order: Floats
    asked: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    human: Floats
    at: Ints
    item: Ints
    reads: ItemReads
    expected: ItemReads | None


def available_cases(data: RunData, code: int, arm: Arm, judgments: pd.DataFrame, human: Floats, unit: Ints) -> Cases:
    """Every item that a human rated and that has a score, by the mean of the scores it has."""
    rows = option_rows(data, arm, judgments)
    slot = read_slots(rows.item, judgments)
    scores = by_read(rows.item, slot, rows.value, rows.n_items)
    order = by_read(rows.item, slot, rows.ordering.astype(np.float64), rows.n_items)
    asked: Bools = np.zeros_like(scores, dtype=bool)
    asked[rows.item, slot] = True
    rating = human[rows.item_code]
    at = np.flatnonzero(np.isfinite(rating) & np.isfinite(scores).any(axis=1))
    units = unit[rows.item_code]
    expected = None
    if np.isfinite(rows.expected).any():
        means = by_read(rows.item, slot, rows.expected, rows.n_items)
        rated = np.flatnonzero(np.isfinite(rating) & np.isfinite(means).any(axis=1))
        expected = ItemReads.of(means[rated], rating[rated], units[rated])
    reads = ItemReads.of(scores[at], rating[at], units[at])
    return Cases(
        code, arm, rows, scores.shape[1], scores, order, asked, rating, at, rows.item_code[at], reads, expected
    )


# ---------------------------------------------------------------- results


def arms_of(data: RunData, group: Sequence[Cases], raters: Raters, units: Units, seed: int) -> list[ArmAlignment]:
    for case in group:
        raters.on(case.rows.item_code)  # so that no two arms work them out at the same time
    several = {key: sum(case_setting(c) == key for c in group) for key in map(case_setting, group)}
    return side_by_side(lambda case: _arm(data, case, raters, units, several[case_setting(case)], seed), group)


def _arm(data: RunData, case: Cases, raters: Raters, units: Units, strategies: int, seed: int) -> ArmAlignment:
    r, single = r_with_humans(case.reads), r_with_humans(case.reads, at=1.0)
    more = gain(r, single)
    agreement, ceiling = raters.on(case.rows.item_code)
    ranks = _ordering_ranks(case, seed)
    lost, n_units = _lost(case), len(np.unique(case.reads.unit))
    return ArmAlignment(
        code=case.code,
        arm=case.arm,
        reads=case.most,
        n_items=len(case.at),
        **lost._asdict(),
        resampled=units.kind,
        n_units=n_units,
        pearson=_correlation(r),
        one_read=single.value,
        more=None if case.most < 2 else in_r(data, more.value, more.interval()),
        spearman=_correlation(rho_with_humans(case.reads)),
        expected=_correlation(r_with_humans(case.expected)) if case.expected else None,
        raters=agreement,
        ceiling=ceiling,
        reliability=reliability(case.reads, own_share(case.scores[case.at], case.order[case.at])),
        sensitivity=_sensitivity(case),
        against=_against(case.reads, r, strategies),
        ordering_rank=ranks,
        canonical_rank=next((o.rank for o in ranks if o.canonical), None),
        budget=budget_curve(case.scores[case.at], case.human[case.at], seed=seed),
        warnings=tuple(_warnings(case, r.value, lost, n_units, units.kind)),
    )


class _Lost(NamedTuple):
    """Items left out and replies without a score; fields as in :class:`ArmAlignment`."""

    excluded: int
    no_human: int
    unread: int
    incomplete: int
    missing: int
    asked: int


def _lost(case: Cases) -> _Lost:
    rated = np.isfinite(case.human)
    gaps = case.asked[rated] & ~np.isfinite(case.scores[rated])
    return _Lost(
        excluded=len(rated) - len(case.at),
        no_human=int((~rated).sum()),
        unread=int(rated.sum()) - len(case.at),
        incomplete=int(gaps.any(axis=1).sum()),
        missing=int(gaps.sum()),
        asked=int(case.asked[rated].sum()),
    )


def _correlation(of: LeftOut) -> Correlation:
    return Correlation(of.value, of.r_interval())


def _against(reads: ItemReads, r: LeftOut, strategies: int) -> bool:
    """Does the judge run against people? r is below 0, and surely so for all its arms at once: by its interval, and
    by changing the ratings' places, which a judge that nearly always gives one score needs."""
    error = 0.05 / max(strategies, 1)
    if not r.r_interval(1.0 - error).high < 0:
        return False
    return len(reads.human) > PERMUTED or below_by_chance(reads) <= error / 2


def _sensitivity(case: Cases) -> Sensitivity | None:
    """Of the items that every read was asked of; what was never asked is not missing."""
    whole = np.isfinite(case.human) & case.asked.all(axis=1)
    if whole.sum() < 2:
        return None
    ends = float(min(case.arm.scores)), float(max(case.arm.scores))
    return sensitivity(case.scores[whole], case.human[whole], ends)


def _ordering_ranks(case: Cases, seed: int) -> tuple[OrderingRank, ...]:
    """r of each distinct shown order (whatever labels stood beside it), best first."""
    rows, scores = case.rows, case.arm.scores
    shown, code = np.unique(rows.shown, axis=0, return_inverse=True)
    human = np.full(rows.n_items, np.nan)
    human[case.at] = case.reads.human
    unit = np.zeros(rows.n_items, dtype=np.int64)
    unit[case.at] = case.reads.unit
    rating, ordering = human[rows.item], code.ravel()[rows.ordering]
    ranked = stats.ordering_ranks(rows.value, rating, ordering, len(shown))
    known = [o.ordering for o in ranked if o.rank is not None]
    sets, ends = None, {}
    if 1 < len(known) <= MOST_RANKED:
        values, without = stats.orderings_without(rows.value, rating, ordering, unit[rows.item], known)
        sets = rank_sets(values, without, seed=seed)
        ends = dict(zip(known, _rank_ends(values, sets), strict=True))
    return tuple(
        OrderingRank(
            ordering=tuple(scores[i] for i in shown[o.ordering]),
            r=o.r,
            ci=ends[o.ordering][0] if sets and o.rank else NO_INTERVAL,
            rank=o.rank,
            n=o.n,
            canonical=shown[o.ordering].tolist() == list(range(len(scores))),
            rank_low=ends[o.ordering][1] if sets and o.rank else None,
            rank_high=ends[o.ordering][2] if sets and o.rank else None,
        )
        for o in ranked
    )


def _rank_ends(values: Floats, sets: RankSets | None) -> list[tuple[Interval, int | None, int | None]]:
    """The interval of r and the ranks left open, from ``values`` on Fisher's z."""
    if sets is None:
        return [(NO_INTERVAL, None, None)] * len(values)
    low, high = np.tanh(values - sets.reach), np.tanh(values + sets.reach)
    return [(Interval(float(low[k]), float(high[k])), int(sets.low[k]), int(sets.high[k])) for k in range(len(values))]


def _warnings(case: Cases, r: float, lost: _Lost, n_units: int, kind: str) -> Iterator[str]:
    items = many(case.rows.n_items, "item")
    if lost.unread:
        yield tr(
            "{unread} of {items} {unread:is|are} left out because none of {unread:its|their} reads gave a score.",
            unread=bare(lost.unread),
            items=items,
        )
    if lost.no_human:
        yield tr(
            "{no_human} of {items} {no_human:is|are} left out because no human rated {no_human:it|them}.",
            no_human=bare(lost.no_human),
            items=items,
        )
    if lost.incomplete > lost.unread:
        yield tr(
            "{gaps} of {total} items count with fewer than {most} reads, since some gave no score; each by the mean "
            "of those it has.",
            gaps=lost.incomplete - lost.unread,
            total=items.n,
            most=case.most,
        )
    if missing := _sensitivity(case):
        yield missing_sentence(missing, r)
    yield from _too_little(case, r, many(n_units, kind))


def _too_little(case: Cases, r: float, units: Counted) -> Iterator[str]:
    """What keeps r, its interval or the ranks of orderings from being known."""
    if len(case.at) < 2:
        yield tr("Fewer than two items have a score: a correlation cannot be computed.")
    elif not np.isfinite(r) and np.ptp(case.reads.mean) == 0:
        yield tr("The judge's mean score is the same for every item: a correlation is not defined.")
    elif not np.isfinite(r):
        yield tr("The human rating is the same for every item: a correlation is not defined.")
    elif units.n < FEWEST_UNITS:
        yield tr("{units} {units:is|are} too few for an interval; at least {fewest}.", units=units, fewest=FEWEST_UNITS)
    elif units.n < FEW_ITEMS:
        yield tr("Only {units} {units:carries|carry} the interval; read it with care.", units=units)
    if FEWEST_UNITS <= units.n < MIN_RANKED:
        yield tr(
            "{units} {units:is|are} too few to say which ranks of orderings are open; at least {fewest}.",
            units=units,
            fewest=MIN_RANKED,
        )


def missing_sentence(missing: Sensitivity, r: float) -> str:
    """How far r hangs on the replies that could not be read."""
    weighted = number(missing.weighted, ".2f", unknown=tr("not known (none was read on some)"))
    return tr(
        "{share:.0%} of the reads gave no score. r is {r} as read; {weighted} if the scores read stand "
        "for those missing on items that humans rated alike; {worst} if every missing score went against "
        "the humans.",
        share=missing.share,
        r=number(r, ".2f"),
        weighted=weighted,
        worst=number(missing.worst, ".2f"),
    )


def case_setting(case: Cases) -> tuple[str, str, tuple[int, ...]]:
    return case.arm.judge, repr(case.arm.variant.levels), case.arm.scores
