"""From judgments and ratings to tables of pairs: which values count, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rubriclab.findings.agreement_results import Coefficients, OfMeans, Panel, unknown
from rubriclab.findings.effects import step
from rubriclab.findings.frame import Bools, OptionRows, count_table
from rubriclab.findings.ratings import ratings_of
from rubriclab.model.language import tr
from rubriclab.stats.agreement import COEFFICIENTS, SHARES, PairTable, alone, coefficients, coefficients_without, paired
from rubriclab.stats.agreement_intervals import Estimated, of_coefficient, of_limits, of_mean, of_share
from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import DIRECT_LIMIT, GROUPS, Floats, Ints, sum_by
from rubriclab.stats.intraclass import intraclass, mean_difference, tau_b

MOST_MEMBERS = 100
"""Of more members no table of items by members is made."""
WEIGHED_BY_SPREAD = ("kappa", "kappa_linear", "kappa_quadratic", "alpha_nominal", "alpha_ordinal", "alpha_interval")
"""Coefficients whose denominator is made by the values outside the commonest pair."""


@dataclass(frozen=True)
class Grouped:
    """The unit that each item is left out with, 0..n-1, for the jackknife.

    More than DIRECT_LIMIT units are left out in GROUPS random groups: the same variance to first
    order at a bounded cost (Politis, Romano and Wolf 1999, Subsampling, section 1.5).
    """

    code: Ints
    n: int

    @classmethod
    def of(cls, unit: Ints) -> Grouped:
        """From the run-wide units of the items that count."""
        present, code = np.unique(unit, return_inverse=True)
        n = len(present)
        if n <= DIRECT_LIMIT:
            return cls(code.astype(np.int64), n)
        place = np.random.default_rng(0).permutation(n) % GROUPS
        return cls(place[code].astype(np.int64), GROUPS)


def own_ratings(items: pd.DataFrame) -> Floats:
    """(items, most raters), NaN where an item has fewer; where only a mean is known, that."""
    ratings = ratings_of(items).values
    human = items["human"].to_numpy().astype(np.float64)
    bare = ~np.isfinite(ratings).any(axis=1) & np.isfinite(human)
    if not bare.any():
        return ratings
    if ratings.shape[1] == 0:
        return human[:, None]
    ratings[bare, 0] = human[bare]
    return ratings


def categories(scores: Sequence[int], ratings: Floats) -> Floats:
    """The values of both sides, ascending: the rubric's scores and whatever people gave."""
    given = ratings[np.isfinite(ratings)]
    return np.unique(np.concatenate([np.asarray(scores, dtype=np.float64), np.round(given, 6)]))


def value_counts(values: Floats, known: Floats) -> Floats:
    """(rows, k): how often each of ``known`` stands in a row of ``values`` (rows, m), NaN left out."""
    row, _ = np.nonzero(np.isfinite(values))
    at = np.searchsorted(known, np.round(values[np.isfinite(values)], 6))
    return count_table((row.astype(np.int64), len(values)), (at.astype(np.int64), len(known)))


def score_counts(rows: OptionRows, which: Bools, scores: Sequence[int], known: Floats) -> Floats:
    """(items, k): how often the judge gave each of ``known`` in the reads ``which``."""
    place = np.searchsorted(known, np.asarray(scores, dtype=np.float64)).astype(np.int64)
    return count_table((rows.item[which], rows.n_items), (place[rows.score[which]], len(known)))


# ---------------------------------------------------------------- numbers from tables


def single_values(table: PairTable) -> Coefficients:
    """All coefficients of a table, each with its interval."""
    found = coefficients_of(table)
    return Coefficients(**{name: found(name) for name in COEFFICIENTS})


def coefficients_of(table: PairTable) -> Callable[..., Estimated]:
    """``found(name, level=0.95)``: a coefficient of a table with its interval."""
    value, without = coefficients(table), coefficients_without(table)
    total = table.pairs.sum(axis=0)
    spread = float(total.sum() - total.max(initial=0.0))

    def found(name: str, level: float = 0.95) -> Estimated:
        place = COEFFICIENTS.index(name)
        of = LeftOut(float(value[place]), without[:, place])
        if place < SHARES:
            return of_share(of, level=level)
        return of_coefficient(of, spread=spread if name in WEIGHED_BY_SPREAD else np.inf, level=level)

    return found


def no_categories(why: str) -> Coefficients:
    return Coefficients(**dict.fromkeys(COEFFICIENTS, unknown(why)))


def of_means(judge: Floats, people: Floats, units: Grouped, spread: float = np.inf) -> OfMeans:
    """Agreement of two numbers an item."""
    code, n = units.code, units.n
    one, several, consistent = intraclass(np.column_stack([judge, people]), unit=code, units=n)
    tau = tau_b(judge, people, unit=code, units=n)
    mean, low, high = mean_difference(judge, people, unit=code, units=n)
    lower, upper = of_limits(mean, low, high)
    absolute, of_k, relative, ranks = (of_coefficient(part, spread=spread) for part in (one, several, consistent, tau))
    return OfMeans(absolute, of_k, relative, ranks, of_mean(mean), lower, upper)


# ---------------------------------------------------------------- panels


@dataclass(frozen=True)
class Reads:
    """Values given by members of a panel, all of one length but what is by item.

    ``item``: 0..n-1; ``apart``: reads of an item are only paired within one of these (an order, for
    repeats); ``member``: 0..; ``at``: place of the value among ``known``; ``unit``: (n,) run-wide.
    """

    item: Ints
    apart: Ints
    member: Ints
    at: Ints
    known: Floats
    step: float
    unit: Ints

    @cached_property
    def groups(self) -> tuple[Ints, Ints, Ints]:
        """(group of each read, its item by group, cell of each read): a cell is a member of a group."""
        width = int(self.apart.max(initial=0)) + 1
        key, group = np.unique(self.item * width + self.apart, return_inverse=True)
        members = int(self.member.max(initial=0)) + 1
        cell = np.unique(group * members + self.member, return_inverse=True)[1]
        return group.astype(np.int64), (key // width).astype(np.int64), cell.astype(np.int64)


def panel(reads: Reads, *, complete: bool = True) -> Panel | None:
    """The panel's agreement; None where no item has values of two members.

    ``complete``: intraclass correlations are made of the items that every member read.
    """
    table, used = panel_table(reads)
    if not used.any():
        return None
    one = single_values(table)
    members, means, whole = _rows(reads, used, complete)
    return Panel(int(used.sum()), members, whole, one, means)


def panel_table(reads: Reads) -> tuple[PairTable, Bools]:
    """All pairs of two different members, and which items have any."""
    k, n = len(reads.known), len(reads.unit)
    group, item_of, cell = reads.groups
    counts = count_table((group, len(item_of)), (reads.at, k))
    own = _within_members(reads.at, cell, group, len(item_of), k)
    among = counts.sum(axis=1) ** 2 - own.sum(axis=(1, 2))
    used = np.bincount(item_of, weights=among, minlength=n) > 0.5
    units = Grouped.of(reads.unit[used])
    code = np.zeros(n, dtype=np.int64)
    code[used] = units.code
    table = paired(counts, own, reads.known, step=reads.step, unit=code, units=max(units.n, 1), group=item_of)
    return table, used


def _within_members(at: Ints, cell: Ints, group: Ints, groups: int, k: int) -> Floats:
    """(groups, k, k): pairs of a member's own values, each value with itself among them."""
    cells = int(cell.max(initial=-1)) + 1
    if cells == len(at):
        return alone(count_table((group, groups), (at, k)))
    counts = count_table((cell, cells), (at, k))
    of = np.zeros(cells, dtype=np.int64)
    of[cell] = group
    own = np.empty((groups, k, k))
    for a in range(k):
        for b in range(a, k):
            own[:, a, b] = own[:, b, a] = np.bincount(of, weights=counts[:, a] * counts[:, b], minlength=groups)
    return own


def _rows(reads: Reads, used: Bools, complete: bool) -> tuple[int, OfMeans, int]:
    """(most members on an item, intraclass correlations, items that every member read)."""
    n, members = len(reads.unit), int(reads.member.max(initial=0)) + 1
    if members > MOST_MEMBERS:
        most = np.bincount(np.unique(reads.item * members + reads.member) // members).max(initial=0)
        none = unknown(tr("{members} members are too many for one table", members=members))
        return int(most), OfMeans(none, none, none), 0
    cell = reads.item * members + reads.member
    count = np.bincount(cell, minlength=n * members).reshape(n, members)
    most = int((count > 0).sum(axis=1).max(initial=0))
    here = count.any(axis=0)
    whole = used & (count[:, here] > 0).all(axis=1)
    if not complete or whole.sum() < 2:
        why = (
            tr("no two items were read by every member")
            if complete
            else tr("members are not the same from item to item")
        )
        none = unknown(why)
        return most, OfMeans(none, none, none), int(whole.sum()) if complete else 0
    total = sum_by(cell, reads.known[reads.at][:, None], n * members).reshape(n, members)
    rows = total[whole][:, here] / count[whole][:, here]
    units = Grouped.of(reads.unit[whole])
    one, several, consistent = map(of_coefficient, intraclass(rows, unit=units.code, units=units.n))
    return most, OfMeans(one, several, consistent), int(whole.sum())


def rater_reads(ratings: Floats, known: Floats, scale: Sequence[int], unit: Ints) -> Reads:
    """The ratings (items, raters) as a panel."""
    row, rater = np.nonzero(np.isfinite(ratings))
    at = np.searchsorted(known, np.round(ratings[row, rater], 6))
    item = row.astype(np.int64)
    return Reads(item, np.zeros_like(item), rater.astype(np.int64), at.astype(np.int64), known, step(scale), unit)
