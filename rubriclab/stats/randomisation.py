"""Was the order drawn at random? What a drawn order cannot go with, tested.

One row a comparison, in the order of the file. Under the null each candidate of a set stands first
with the same chance, whatever else is known. Comparisons of one unit (a question) may share a draw,
as where it is seeded by the question: so units are what is independent. Pairs have the exact sign
test over units; lists and trends Student's t of the units' sums. What the data cannot carry is left
out. Holm's correction over the tests that are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats import distributions
from rubriclab.stats.comparison import clustered_sign_test
from rubriclab.stats.correlation import rankdata
from rubriclab.stats.inference import Floats, Ints, Test, holm

ALARM = 0.01
"""A p, corrected over the tests, below which the order was not drawn at random: so many drawn ones
in a hundred are accused at most."""
FEWEST = 10
"""Units for a test."""


class Dealt(NamedTuple):
    """What the order is held against; every array has a row a comparison.

    ``names``: (n, p) the candidate at each place, codes; ``group``: its set of candidates;
    ``order``: code of the order shown; ``unit``, ``task``: (n,); ``lengths``: (n, p) of what stood
    at each place, NaN where not known.
    """

    names: Ints
    group: Ints
    order: Ints
    unit: Ints
    task: Ints
    lengths: Floats

    @property
    def p(self) -> int:
        return int(self.names.shape[1])

    @property
    def first(self) -> Ints:
        """p - 1 where the commonest candidate of its set stood first, else -1: 0 on average."""
        often = np.bincount(self.names.ravel())
        rank = np.argsort(np.argsort(-often, kind="stable"))[self.names]
        return np.where(rank[:, 0] == rank.min(axis=1), self.p - 1, -1)


class Randomisation(NamedTuple):
    """The tests with their p corrected; ``comparisons`` that they saw."""

    tests: tuple[Test, ...]
    p_holm: tuple[float, ...]
    comparisons: int

    @property
    def against(self) -> str:
        """What the order goes with, in words; empty where nothing speaks against chance."""
        pairs = sorted(zip(self.p_holm, self.tests, strict=True), key=lambda pair: pair[0])
        return pairs[0][1].note if pairs and pairs[0][0] < ALARM else ""


def check(dealt: Dealt) -> Randomisation:
    """All tests of one judge's comparisons that were shown in one order each."""
    tests = tuple(_tests(dealt)) if len(dealt.names) else ()
    p = holm(np.array([test.p for test in tests], dtype=np.float64))
    return Randomisation(tests, tuple(p.tolist()), len(dealt.names))


def _tests(dealt: Dealt) -> Iterator[Test]:
    at = float("nan")
    each = "each candidate stands first as often as chance has it"
    yield _each(each, list(_candidates(dealt)), dealt.p, "some candidates stand first too often")
    if len(np.unique(dealt.task)) > 1:
        tasks = [(dealt.first[mine], dealt.unit[mine]) for mine in _of_each(dealt.task)]
        yield _each(
            "in each task the commonest stands first as often as chance has it", tasks, dealt.p, "it goes with the task"
        )
    known = np.isfinite(dealt.lengths).all(axis=1)
    if known.any():
        yield _lengths(dealt.lengths[known], dealt.unit[known], dealt.p)
    if len(np.unique(dealt.unit)) >= FEWEST and not _sorted_by_order(dealt.order):
        row = np.arange(len(dealt.names), dtype=np.float64) - (len(dealt.names) - 1) / 2.0
        trend = _clustered(row * dealt.first, dealt.unit, 0)
        yield Test("trend over the rows of the file", at, at, trend, "it changes over the file")
        yield _runs(dealt)


def _of_each(code: Ints) -> Iterator[Ints]:
    """The rows of each code that occurs."""
    order = np.argsort(code, kind="stable")
    return iter(np.split(order, np.unique(code[order], return_index=True)[1][1:]))


def _candidates(dealt: Dealt) -> Iterator[tuple[Ints, Ints]]:
    """Each candidate at the first place, over all its sets and in each of them.

    Of a pair the two are one test.
    """
    p, flat = dealt.p, dealt.names.ravel()
    stood = np.where(np.arange(len(flat)) % p == 0, p - 1, -1)
    sets = list(_of_each(dealt.group))
    if len(sets) > 1:
        yield from ((stood[mine], dealt.unit[mine // p]) for mine in _of_each(flat))
    for rows in sets:
        for name in np.unique(dealt.names[rows[0]])[: 1 if p == 2 else p]:
            first = np.where(dealt.names[rows, 0] == name, p - 1, -1)
            yield first, dealt.unit[rows]


def _each(name: str, scores: list[tuple[Ints, Ints]], p: int, note: str) -> Test:
    """The smallest p of many, Bonferroni; those of few units show nothing and are not counted."""
    chances = [_clustered(values, unit, p) for values, unit in scores if len(np.unique(unit)) >= FEWEST]
    nan = float("nan")
    smallest = min(1.0, len(chances) * min(chances)) if chances else nan
    return Test(name, float(len(chances)), nan, smallest, note)


def _clustered(values: Floats | Ints, unit: Ints, p: int) -> float:
    """Two-sided p of ``values`` being 0 on average: exact for pairs, else Student's t over units."""
    sums = np.bincount(np.unique(unit, return_inverse=True)[1], weights=values)
    if p == 2:
        return clustered_sign_test(np.rint(sums).astype(np.int64)).p
    spread = float(np.sqrt(np.square(sums).sum()))
    return float(2.0 * special.stdtr(len(sums) - 1, -abs(float(sums.sum())) / spread)) if spread else 1.0


def _lengths(lengths: Floats, unit: Ints, p: int) -> Test:
    """Twice the rank of the length of what stood first less the mean rank."""
    rank = rankdata(lengths)
    away = np.rint(2.0 * rank[:, 0] - (p + 1)).astype(np.int64)
    longer = away.sum() > 0
    note = "the longer answer stands first too often" if longer else "the shorter answer stands first too often"
    return _each("length of what stands first", [(away, unit)], p, note)


def _runs(dealt: Dealt) -> Test:
    """Neighbouring units that are alike: too many are runs, too few take turns. Exact
    binomial for pairs, where one draw is like the one before with the same chance whatever came."""
    start = np.sort(np.unique(dealt.unit, return_index=True)[1])
    first = dealt.first[start] > 0
    pairs, even = len(start) - 1, 1.0 / dealt.p
    alike, expected = int((first[1:] == first[:-1]).sum()), even**2 + (1.0 - even) ** 2
    tail = min(distributions.binom.cdf(alike, pairs, expected), distributions.binom.sf(alike - 1, pairs, expected))
    kind = "it comes in runs" if alike > pairs * expected else "it takes turns from row to row"
    return Test("neighbouring questions alike", float(alike), float(pairs), float(min(1.0, 2.0 * tail)), kind)


def _sorted_by_order(order: Ints) -> bool:
    """Is the file sorted by the order shown? Then its rows are no time."""
    return int((order[1:] != order[:-1]).sum()) + 1 == len(np.unique(order))
