"""Cells of one judge in; the exact p of "the order matters to no item" out, by dealing each item's answers anew.

Sharp null: an item's answers do not depend on which order was shown; each distinct prompt may be its own draw. Then the
mean answers of an item's orders are exchangeable over these orders, so dealing them anew gives a test that is exact at
any number of items, under skew, ties, clusters and replies unparsed without regard to the order (Fisher's randomisation
test). A judge that answers every distinct prompt by one fixed draw and prefers nothing is no order effect.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import special

from rubriclab.core.answers import FLAT, SEED, Answers, Cells, fingerprints, line, sorted_items, turn
from rubriclab.stats.resample import Floats, Ints, sum_by

ALPHA = 0.05
WEIGHTS = {"positions": 0.5, "mean": 0.25, "single": 0.25}
ENUMERATED, DEALS = 5_000, 1_999
MOST_GROUPS, MOST_CARDS = 400, 8_000
BLOCKS, PICKS, CARDS_DEALT = 200, 9_999, 50_000_000
CHUNK = 2_000_000
MOST_ORDERS = 30

Progress = Callable[[float], None]
Statistic = Callable[[Ints, Ints], Floats]


@dataclass(frozen=True)
class Gate:
    """``p`` of the sharp null; ``parts``: p of each of three directions, from the same deals.

    ``deals``: how many; ``exact``: they are all there are. ``least``: the smallest p that these answers could have
    given in any arrangement: above 0.05 no data of this size could tell.
    """

    p: float = 1.0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WEIGHTS, 1.0))
    deals: int = 1
    exact: bool = True
    least: float = 1.0


def gate(cells: Cells, progress: Progress | None = None) -> Gate:
    """The exact test of the sharp null over three directions that share the 5 %: 1/2, 1/4, 1/4.

    positions: sum over positions of the squared pooled lean (V squared). mean: the larger contrast of the mean score,
    each standardised by the deals. single: sum of the items' own squared leans. Together: the least p over its weight,
    ranked among the same deals, so that taking the least costs nothing.
    """
    cards = _cards(cells)
    if cards is None:
        return Gate()
    sums, exact = deal(cards.group, cards.statistic, progress)
    positions = np.square(sums[:, : cells.n]).sum(axis=1)
    mean = np.abs(standardised(sums[:, cells.n : -1])).max(axis=1, initial=0.0)
    parts = dict(zip(WEIGHTS, np.round([positions, mean, sums[:, -1]], 7), strict=True))
    p = {name: upper_p(values) for name, values in parts.items() if np.ptp(values) > 0}
    if not p:
        return Gate(deals=len(sums), exact=exact)
    together = upper_p(-np.round(np.min([p[name] / WEIGHTS[name] for name in p], axis=0), 9))
    found = {name: float(p[name][0]) if name in p else 1.0 for name in WEIGHTS}
    return Gate(float(together[0]), found, len(sums), exact, float(together.min()))


def unparsed(answers: Answers, progress: Progress | None = None) -> float:
    """Exact p of "whether a reply can be parsed does not depend on the order": failures dealt anew over an item's calls.

    The largest standardised sum decides, over ascending against descending, forwards against backwards, and each order
    by itself (unless there are more than 30 orders). 1 where nothing, or everything, was parsed.
    """
    shown, rank = np.unique(answers.orders, axis=0, return_inverse=True)
    order, lost = rank.ravel()[answers.order], (~answers.parsed).astype(np.int64)
    mark = fingerprints(np.column_stack([order, lost]))
    item, unit = sorted_items(answers.item, mark, answers.unit)
    losses, calls = np.bincount(item, lost, len(unit)), np.bincount(item, minlength=len(unit))
    row = np.lexsort((mark, item))
    row = row[((losses > 0) & (losses < calls))[item[row]]]
    if not len(row):
        return 1.0
    directions = [line(shown), turn(shown)]
    if len(shown) <= MOST_ORDERS:
        directions += list(np.eye(len(shown)))
    columns = [np.append(direction[order[row]], 0.0) for direction in directions]
    gone = np.append(lost[row], 0).astype(np.float64)

    def statistic(seats: Ints, dealt: Ints) -> Floats:
        return np.stack([(column[seats] * gone[dealt]).sum(axis=-1) for column in columns], axis=-1)

    sums, _ = deal(np.unique(item[row], return_inverse=True)[1], statistic, progress)
    return float(upper_p(np.abs(standardised(sums)).max(axis=1))[0])


# ------------------------------------------------------------------------------------------------- what is dealt, and how
@dataclass(frozen=True)
class Cards:
    """What is dealt: a card is the mean answer of one order, a group the orders of one item.

    Of each card: ``group`` (sorted), ``value`` (cards, n) centred in the group and divided by its size, ``score`` its
    points; of its seat: ``shown`` (cards, n) and ``contrast`` (cards, k).
    """

    group: Ints
    value: Floats
    score: Floats
    shown: Ints
    contrast: Floats
    own: bool

    def statistic(self, seats: Ints, dealt: Ints) -> Floats:
        """(deals, groups, n + k + 1): lean by position, contrasts, squared lean, of the cards ``dealt`` to ``seats``.

        ``seats`` (groups, size), ``dealt`` (deals, groups, size): indexes of cards; len(group): no card.
        """
        n = self.shown.shape[1]
        # The empty card: all 0, wherever it stands.
        value = np.append(self.value.ravel(), np.zeros(n))
        shown = np.concatenate([self.shown, np.arange(n)[None]])
        score, contrast = np.append(self.score, 0.0), np.pad(self.contrast, ((0, 1), (0, 0)))
        lean = value.take(dealt[..., None] * n + shown[seats]).sum(axis=-2)
        moves = [(column[seats] * score[dealt]).sum(axis=-1) for column in contrast.T]
        own = np.square(lean).sum(axis=-1) * self.own
        return np.concatenate([lean, np.stack([*moves, own], axis=-1)], axis=-1)


def _cards(cells: Cells) -> Cards | None:
    """The answers that can be dealt, or None where no deal changes anything.

    Items of one answer or one order are left out: they never change. Where each item was asked in one order drawn at
    random, answers are dealt over items (in groups at random where they are many), and no item has a lean of its own.
    """
    if cells.one_order_an_item:
        groups = 1 if cells.items <= MOST_CARDS else BLOCKS
        group = np.random.default_rng([SEED, 2]).integers(0, groups, cells.items)
        keep = np.argsort(group, kind="stable")
        group, size = group[keep], np.ones(cells.items, dtype=np.int64)
        value = cells.dealt - (cells.dealt.mean(axis=0) if cells.criteria else 1 / cells.n)
    else:
        keep = np.flatnonzero(cells.kept)
        value = np.zeros_like(cells.dealt)
        value[keep] = centred(cells.dealt[keep], cells.item[keep])
        moves = cells.by_item((np.abs(value).max(axis=1) > FLAT) * np.ones(len(value))) > 0
        keep = keep[moves[cells.item[keep]]]
        _, group, size = np.unique(cells.item[keep], return_inverse=True, return_counts=True)
        size = size[group]
    value, shown = value[keep], cells.shown[keep]
    if not np.abs(value).max(initial=0.0) > FLAT:
        return None
    contrast = np.stack([*cells.contrasts.values(), np.zeros(len(cells.item))], axis=1)[keep, :-1]
    if not cells.one_order_an_item:
        contrast = centred(contrast, group) / size[:, None]
    scale = size - 1 if cells.drawn and not cells.one_order_an_item else size
    score = (value * cells.weights).sum(axis=1)
    return Cards(group, value / scale[:, None], score, shown, contrast, own=not cells.one_order_an_item)


def centred(values: Floats, group: Ints) -> Floats:
    """``values`` (cards, k) less their mean over the cards of each group."""
    groups = int(group.max(initial=-1)) + 1
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    return values - (sum_by(group, values, groups) / size[:, None])[group]


def deal(group: Ints, statistic: Statistic, progress: Progress | None = None) -> tuple[Floats, bool]:
    """Sums of a statistic over groups: as seen, then with the cards of each group dealt anew.

    Returns (deals, k), the first row as seen, and whether these are all deals there are (where at most 5,000).
    Up to 400 groups: 1,999 random deals. Above, each group is dealt some 25 to 100 times and groups are put into 200
    blocks at random; a deal then picks, for each block, one of its sums (what was seen is one of them). Under the null
    what was seen is as likely as any other pick, so this is as exact, and 100,000 items take some seconds.
    """
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    if special.gammaln(sizes + 1.0).sum() <= math.log(ENUMERATED) + FLAT:
        seats, dealt = _every_deal(starts, sizes)
        return np.round(statistic(seats, dealt).sum(axis=1), 9), True
    rng = np.random.default_rng([SEED, 0])
    if len(sizes) <= MOST_GROUPS and len(group) <= MOST_CARDS:
        sums = _random_deals(rng, _seats(starts, sizes, len(group)), len(group), statistic, DEALS, progress)
        return np.round(sums, 9), False
    block = rng.integers(0, BLOCKS, len(sizes)) if len(sizes) > BLOCKS else np.arange(len(sizes))
    stored = int(np.clip(CARDS_DEALT // len(group), 20, 100)) - 1
    sums = np.zeros((1 + PICKS, 0))
    for k in range(BLOCKS):
        members = np.flatnonzero(block == k)
        if not len(members):
            continue
        seats = _seats(starts[members], sizes[members], len(group))
        block_sums = _random_deals(rng, seats, len(group), statistic, stored)
        pick = np.append(0, rng.integers(0, len(block_sums), PICKS))
        sums = sums + block_sums[pick] if sums.size else block_sums[pick]
        if progress is not None:
            progress((k + 1) / BLOCKS)
    return np.round(sums, 9), False


def _seats(starts: Ints, sizes: Ints, empty: int) -> Ints:
    """(groups, largest size): cards as they lie, ``empty`` where a group has fewer."""
    seat = np.arange(sizes.max())
    return np.where(seat < sizes[:, None], starts[:, None] + seat, empty)


def _random_deals(
    rng: np.random.Generator,
    seats: Ints,
    empty: int,
    statistic: Statistic,
    deals: int,
    progress: Progress | None = None,
) -> Floats:
    """(1 + deals, k): sums over groups as seen and of random deals."""
    sums = [statistic(seats, seats[None]).sum(axis=1)]
    chunk = max(1, CHUNK // (seats.size * sums[0].shape[1]))
    for start in range(0, deals, chunk):
        keys = rng.random((min(chunk, deals - start), *seats.shape))
        keys[:, seats == empty] = 2.0
        dealt = np.take_along_axis(seats[None], np.argsort(keys, axis=-1, kind="stable"), axis=-1)
        sums.append(statistic(seats, dealt).sum(axis=1))
        if progress is not None:
            progress(min(1.0, (start + chunk) / deals))
    return np.concatenate(sums)


def _every_deal(starts: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Seats and all deals, as they lie first: p is then a fraction that can be checked by hand."""
    empty = int(sizes.sum())
    seats = _seats(starts, sizes, empty)
    hands = [
        [(*cards, *row[size:]) for cards in itertools.permutations(row[:size])]
        for row, size in zip(seats.tolist(), sizes.tolist(), strict=True)
    ]
    return seats, np.array(list(itertools.product(*hands)))


def standardised(sums: Floats) -> Floats:
    """Columns less their mean over the deals, in their standard deviations; 0 where a column never varies."""
    deviation = sums.std(axis=0)
    varies = deviation > FLAT
    return np.asarray(np.round(np.where(varies, sums - sums.mean(axis=0), 0.0) / np.where(varies, deviation, 1.0), 7))


def upper_p(values: Floats) -> Floats:
    """Of each deal: the share of deals, itself included, with a value at least as large."""
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return np.asarray((len(values) - ranks) / len(values))
