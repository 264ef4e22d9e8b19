"""Cells of one judge in; the exact p of "the order matters to no item" out, by dealing each item's
answers anew.

Sharp null: an item's answers do not depend on which order was shown; each distinct prompt may be
its own draw. Then the mean answers of an item's orders are exchangeable over these orders, so
dealing them anew gives a test that is exact at any number of items, under skew, ties, clusters and
replies unparsed without regard to the order (Fisher's randomisation test). A judge that answers
every distinct prompt by one fixed draw and prefers nothing is no order effect.
"""

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from rubriclab.core.cells import (
    FLAT,
    SEED,
    Answers,
    Cells,
    fingerprints,
    line,
    sorted_items,
    turn,
)
from rubriclab.stats.resample import Floats, Ints, crossed, distinct, sum_by

ALPHA = 0.05
WEIGHTS = {"positions": 0.5, "mean": 0.25, "single": 0.25}
"""Of the 5%, what each direction may use."""
WEIGHTS_OF_CRITERIA = {"positions": 0.25, "criteria": 0.25, "mean": 0.25, "single": 0.25}
"""Of several criteria of a call: what each of them does by position must not cancel in their mean.
"""
ENUMERATED, DEALS = 5_000, 1_999
"""At most so many deals are gone through one by one; else so many are drawn: with the one seen, p
has steps of 0.0005.
"""
MOST_GROUPS, MOST_CARDS = 400, 4_000
"""Above either, deals are put together from blocks (see ``deal``)."""
BLOCKS, PICKS, CARDS_DEALT = 200, 29_999, 5_000_000
"""Blocks; deals put together from them; cards dealt in all, which sets how often a block is dealt.
"""
CHUNK = 1_000_000
"""Numbers of one batch: bounds memory, changes no result."""
MOST_ORDERS = 30
SHARED_FATE, SAME_ANSWERS = 0.5, 0.9
"""Calls of one order are copies of each other if more of those beside a lost call were lost too;
where no lost call has another beside it, if more of them gave the same answer.
"""


@dataclass(frozen=True)
class Gate:
    """``p`` of the sharp null; ``parts``: p of each of its directions, from the same deals.

    ``deals``: how many; ``exact``: they are all there are. ``least``: the smallest p that these
    answers could have given in any arrangement: above 0.05 no data of this size could tell.
    """

    p: float = 1.0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WEIGHTS, 1.0))
    deals: int = 1
    exact: bool = True
    least: float = 1.0


def gate(cells: Cells) -> Gate:
    """The exact test of the sharp null over three directions that share the 5%: 1/2, 1/4, 1/4.

    positions: sum over positions of the squared pooled lean (V squared). mean: the larger contrast
    of the mean score, each standardised by the deals. single: sum of the items' own squared leans.
    Of criteria a fourth, and each has 1/4: criteria, the sum over criteria and positions of squared
    pooled leans, in which two criteria that move against each other do not cancel. Together: the
    least p over its weight, ranked among the same deals, so that taking the least costs nothing
    (Westfall and Young 1993).
    """
    weights = WEIGHTS_OF_CRITERIA if cells.by_criterion else WEIGHTS
    cards = _cards(cells)
    if cards is None:
        return Gate(parts=dict.fromkeys(weights, 1.0))
    sums, exact = deal(cards)
    moved = sums[:, : cards.leans].reshape(len(sums), cells.n, -1)
    parts = {
        "positions": np.square(moved.sum(axis=2) + cards.constant).sum(axis=1),
        "mean": np.abs(standardised(sums[:, cards.leans : -1])).max(axis=1, initial=0.0),
        "single": np.zeros(len(sums)) if cells.one_order_an_item else sums[:, -1],
    }
    if cells.by_criterion:
        parts["criteria"] = np.square(moved).sum(axis=(1, 2))
    return together(parts, weights, exact)


def together(parts: dict[str, Floats], weights: dict[str, float], exact: bool) -> Gate:
    """The gate of several directions, (deals,) each with what was seen first; what never varies is
    left out.
    """
    rounded = {name: np.round(values, 7) for name, values in parts.items()}
    p = {name: upper_p(values) for name, values in rounded.items() if np.ptp(values) > 0}
    deals = len(next(iter(parts.values())))
    if not p:
        return Gate(1.0, dict.fromkeys(weights, 1.0), deals, exact)
    least = upper_p(-np.round(np.min([p[name] / weights[name] for name in p], axis=0), 9))
    by_part = {name: float(p[name][0]) if name in p else 1.0 for name in weights}
    return Gate(float(least[0]), by_part, deals, exact, float(least.min()))


def unparsed(answers: Answers) -> float:
    """Exact p of "whether a reply can be parsed does not depend on the order": failures dealt anew
    over an item's calls.

    The largest standardised sum decides, over ascending against descending, forwards against
    backwards, each order by itself (unless there are more than 30 orders), and each position: a
    reply may be lost for the place of its answer, which is not known, so the item's other orders
    say how often what stands there is chosen. Where calls of one order are copies of each other, as
    at temperature 0, whole orders are dealt: one failure that is asked five times is one. 1 where
    nothing, or everything, was parsed.
    """
    shown, rank = np.unique(answers.orders, axis=0, return_inverse=True)
    order, lost = rank.ravel()[answers.order], (~answers.parsed).astype(np.int64)
    given = np.where(answers.parsed, answers.code[:, 0], -1)
    mark = fingerprints(np.column_stack([order, lost, given]))
    item, unit = sorted_items(answers.item, mark, answers.unit)
    losses, calls = np.bincount(item, lost, len(unit)), np.bincount(item, minlength=len(unit))
    row = np.lexsort((mark, item))
    row = row[((losses > 0) & (losses < calls))[item[row]]]
    if not len(row):
        return 1.0
    directions = np.stack([line(shown), turn(shown)], axis=1)
    if len(shown) <= MOST_ORDERS:
        directions = np.concatenate([directions, np.eye(len(shown))], axis=1)
    seats = directions[order]
    if not answers.criteria:
        seats = np.concatenate(
            [seats, _chosen_in_other_orders(answers, item, order, shown)], axis=1
        )
    gone, cell = lost.astype(np.float64), item * len(shown) + order
    if _are_copies(given[row], cell[row]):
        _, first, own = np.unique(cell[row], return_index=True, return_inverse=True)
        gone[row[first]] = np.bincount(own.ravel(), gone[row]) / np.bincount(own.ravel())
        row = row[first]
    group = distinct(item[row])[1]
    nothing = np.zeros((len(row), 0))
    cards = Cards(
        group,
        nothing,
        nothing.astype(np.int64),
        centred(gone[row, None], group)[:, 0],
        centred(seats[row], group),
    )
    return float(upper_p(np.abs(standardised(deal(cards)[0])).max(axis=1))[0])


def _chosen_in_other_orders(answers: Answers, item: Ints, order: Ints, shown: Ints) -> Floats:
    """(calls, n): of the item's calls in its other orders, the share that chose what this call
    shows at each position.

    Not of the order's own calls: of a judge that follows the order, a lost reply would itself lower
    the share, and replies lost at random would look like replies lost by their place.
    """
    n, read = shown.shape[1], answers.parsed
    codes = n + answers.choices
    items = int(item.max(initial=-1)) + 1
    tally = crossed(item[read], items, order[read], len(shown), answers.code[read, 0], codes)[
        ..., :n
    ]
    others = tally.sum(axis=1, keepdims=True) - tally
    share = others / np.maximum(others.sum(axis=2, keepdims=True), 1)
    return np.asarray(np.take_along_axis(share[item, order], shown[order], axis=1))


def _are_copies(given: Ints, cell: Ints) -> bool:
    """Are calls of one cell (an item in an order) copies of each other, as at temperature 0?
    ``given``: -1 where lost.
    """
    code = np.unique(cell, return_inverse=True)[1].ravel()
    lost = given < 0
    calls, gone = np.bincount(code), np.bincount(code, lost)
    beside = float((gone * (calls - 1)).sum())
    if beside:
        return float((gone * (gone - 1)).sum()) > SHARED_FATE * beside
    tally = crossed(code, len(calls), given + 1, int(given.max()) + 2)
    pairs = float((calls * (calls - 1)).sum())
    return float((tally * (tally - 1)).sum()) > SAME_ANSWERS * pairs


# --------------------------------------------------------------------------- what is dealt, and how
@dataclass(frozen=True, eq=False)
class Cards:
    """What is dealt: a card is the mean answer of one order, a group the orders of one item, a seat
    an order.

    Of each card: ``group`` (sorted), ``value`` (cards, n), ``score`` its points, both less the
    group's mean. Of each seat: ``shown`` (cards, n), ``contrast`` (cards, k). ``constant`` (n,):
    what the pooled lean has in every deal. ``stretch``: standard deviation of deals over all groups
    at once, in that of deals within groups.
    """

    group: Ints
    value: Floats
    shown: Ints
    score: Floats
    contrast: Floats
    constant: Floats | float = 0.0
    stretch: float = 1.0
    stratum: Ints | None = None
    """(cards,): a card is dealt within its stratum of the group alone; cards of a group are sorted
    by it.
    """
    by_criterion: bool = False
    """Leans are summed for each criterion at each position, not for each position alone."""

    @property
    def leans(self) -> int:
        """How many leans ``sums`` gives: n, or n x n by position and criterion, the latter the
        faster.
        """
        n = int(self.value.shape[1])
        return n * n if self.by_criterion else n

    @property
    def width(self) -> int:
        """How many numbers ``sums`` gives."""
        return self.leans + int(self.contrast.shape[1]) + 1

    @cached_property
    def _padded(self) -> tuple[Floats, Ints, Floats, Floats]:
        """value, shown, score, contrast (k, cards) with one more card that is 0: it sits where a
        group has fewer.
        """
        more = ((0, 1), (0, 0))
        value, shown, contrast = (
            np.pad(self.value, more),
            np.pad(self.shown, more),
            np.pad(self.contrast, more),
        )
        # Rows as they lie in memory, or each look-up copies the whole table.
        return (
            np.ascontiguousarray(value),
            shown,
            np.append(self.score, 0),
            np.ascontiguousarray(contrast.T),
        )

    def sums(self, seats: Ints, dealt: Ints) -> Floats:
        """(deals, groups, leans + k + 1): lean by position, contrasts, squared lean, of the cards
        ``dealt`` to ``seats``.

        ``seats`` (groups, size), ``dealt`` (deals, groups, size): indexes of cards; len(group): no
        card.
        """
        value, shown, score, contrast = self._padded
        at_position = value.take(dealt[..., None] * shown.shape[1] + shown[seats])
        by_position = at_position.sum(axis=-2)
        lean = self._of_criteria(at_position, shown[seats]) if self.by_criterion else by_position
        moves = [(column[seats] * score[dealt]).sum(axis=-1) for column in contrast]
        moves.append(np.square(by_position).sum(axis=-1))
        return np.concatenate([lean, np.stack(moves, axis=-1)], axis=-1)

    def _of_criteria(self, at_position: Floats, shown: Ints) -> Floats:
        """(deals, groups, n x n): ``at_position`` (deals, groups, size, n) summed for each position
        and criterion.

        One product of matrices for each group: its seats say which criterion stands at which
        position.
        """
        groups, size, n = shown.shape
        of_criterion = shown[..., None] == np.arange(n)
        spread = of_criterion[:, :, :, None, :] * np.eye(n)[:, :, None]
        flat = np.moveaxis(at_position, 0, 1).reshape(groups, len(at_position), size * n)
        return np.moveaxis(flat @ spread.reshape(groups, size * n, n * n), 0, 1)

    def expected(self, seats: Ints) -> Floats:
        """(leans + k + 1,): the sums over these groups on average over all deals.

        0 but for the squared lean: a sum of one card a seat, dealt from a table t (seats, cards),
        has the variance sum of t~^2 / (cards - 1), t~ being t less its row and column means
        (Hoeffding 1951).
        """
        value, shown = self._padded[0][seats], self._padded[1][seats]
        n, present = shown.shape[-1], seats < len(self.group)
        size = present.sum(axis=1)
        exposed = ((shown[:, :, None] == np.arange(n)[:, None]) & present[..., None, None]).sum(
            axis=1
        )
        columns = (value[..., None] * exposed[:, None]).sum(axis=2)
        square = (
            size * np.square(value).sum(axis=(1, 2)) - np.square(columns).sum(axis=(1, 2)) / size
        )
        unmoved = np.zeros(self.leans + self.contrast.shape[1])
        return np.append(unmoved, (square / np.maximum(size - 1, 1)).sum())


def _cards(cells: Cells) -> Cards | None:
    """The answers that can be dealt, or None where no deal changes anything.

    Items of one answer or one order are left out: they never change. Where each item was asked in
    one order drawn at random, answers are dealt over items (in groups at random where they are
    many).
    """
    contrast = np.stack([*cells.contrasts.values(), np.zeros(len(cells.item))], axis=1)[:, :-1]
    if cells.one_order_an_item:
        groups = 1 if cells.items <= MOST_CARDS else BLOCKS
        group = np.random.default_rng([SEED, 2]).integers(0, groups, cells.items)
        keep = np.argsort(group, kind="stable")
    else:
        keep = np.flatnonzero(cells.kept)
        moves = np.zeros(cells.items, dtype=bool)
        moves[
            cells.item[
                keep[(np.abs(centred(cells.dealt[keep], cells.item[keep])) > FLAT).any(axis=1)]
            ]
        ] = True
        keep = keep[moves[cells.item[keep]]]
        group = cells.item
    if not len(keep):
        return None
    group = distinct(group[keep])[1]
    dealt, shown, contrast = cells.dealt[keep], cells.shown[keep], contrast[keep]
    if cells.one_order_an_item:
        own = dealt.mean(axis=0)
        away = dealt - own
        constant = (own - (own if cells.criteria else 1 / cells.n))[shown].sum(axis=0)
        stretch = math.sqrt((len(keep) - 1) / max(len(keep) - 1 - group[-1], 1))
        return Cards(
            group, away, shown, (away * cells.weights).sum(axis=1), contrast, constant, stretch
        )
    value = centred(dealt, group)
    score = (value * cells.weights).sum(axis=1)
    size = np.bincount(group)[group][:, None]
    return Cards(
        group,
        value / (size - cells.drawn),
        shown,
        score,
        centred(contrast, group) / size,
        by_criterion=cells.by_criterion,
    )


def centred(values: Floats, group: Ints) -> Floats:
    """``values`` (cards, k) less their mean over the cards of each group."""
    groups = int(group.max(initial=-1)) + 1
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    return values - (sum_by(group, values, groups) / size[:, None])[group]


def deal(cards: Cards) -> tuple[Floats, bool]:
    """Sums over groups: as seen, then with the cards of each group dealt anew.

    Returns (deals, leans + k + 1), the first row as seen, and whether these are all deals there are
    (where at most 5,000). Up to 400 groups: 1,999 random deals. Above, groups are put into 200
    blocks at random (whatever their answers), each block is dealt 25 to 200 times, its sums are
    centred on the mean of all deals and widened for having so few, and 29,999 times one of its sums
    is picked for every block. Measured: ``docs/method-check.md``.
    """
    empty, sizes = len(cards.group), np.bincount(cards.group)
    starts = np.cumsum(sizes) - sizes
    rng = np.random.default_rng([SEED, 0])
    few = len(sizes) <= MOST_GROUPS and empty <= MOST_CARDS
    if cards.stratum is None and special.gammaln(sizes + 1.0).sum() <= math.log(ENUMERATED) + FLAT:
        seats = _seats(starts, sizes, empty)
        return np.asarray(
            np.round(cards.sums(seats, _every_deal(seats, sizes)).sum(axis=1), 9)
        ), True
    if few:
        seats = _seats(starts, sizes, empty)
        seen = cards.sums(seats, seats[None]).sum(axis=1)
        sums = np.concatenate([seen, _random_deals(rng, cards, seats, DEALS)])
        return np.round(sums, 9), False
    block = rng.integers(0, BLOCKS, len(sizes)) if len(sizes) > BLOCKS else np.arange(len(sizes))
    number = int(np.clip(CARDS_DEALT // empty, 25, 200))
    sums = np.zeros((1 + PICKS, cards.width))
    for k in range(BLOCKS):
        members = np.flatnonzero(block == k)
        if not len(members):
            continue
        seats = _seats(starts[members], sizes[members], empty)
        dealt = _random_deals(rng, cards, seats, number)
        wider = cards.stretch * math.sqrt(number / (number - 1))
        dealt = (dealt - dealt.mean(axis=0)) * wider + cards.expected(seats)
        sums[0] += cards.sums(seats, seats[None])[0].sum(axis=0)
        sums[1:] += dealt[rng.integers(0, number, PICKS)]
    return np.round(sums, 9), False


def _seats(starts: Ints, sizes: Ints, empty: int) -> Ints:
    """(groups, largest size): the cards of each group as they lie, ``empty`` where it has fewer."""
    seat = np.arange(sizes.max())
    return np.where(seat < sizes[:, None], starts[:, None] + seat, empty)


def _random_deals(rng: np.random.Generator, cards: Cards, seats: Ints, deals: int) -> Floats:
    """(deals, leans + k + 1): sums over the groups of random deals."""
    sums = []
    absent = seats == len(cards.group)
    first = 0 if cards.stratum is None else np.append(cards.stratum, 0)[seats]
    chunk = max(1, CHUNK // (seats.size * (cards.value.shape[1] + 2)))
    for start in range(0, deals, chunk):
        keys = rng.random((min(chunk, deals - start), *seats.shape)) + first
        keys[:, absent] = np.inf
        dealt = np.take_along_axis(seats[None], np.argsort(keys, axis=-1, kind="stable"), axis=-1)
        sums.append(cards.sums(seats, dealt).sum(axis=1))
    return np.concatenate(sums)


def _every_deal(seats: Ints, sizes: Ints) -> Ints:
    """(deals, groups, size): all deals, as they lie first: p is then a fraction that can be checked
    by hand.
    """
    hands = [
        [(*cards, *row[size:]) for cards in itertools.permutations(row[:size])]
        for row, size in zip(seats.tolist(), sizes.tolist(), strict=True)
    ]
    return np.array(list(itertools.product(*hands)))


def standardised(sums: Floats) -> Floats:
    """Columns less their mean over the deals, in their standard deviations; 0 where a column never
    varies.
    """
    deviation = sums.std(axis=0)
    varies = deviation > FLAT
    return np.asarray(
        np.round(
            np.where(varies, sums - sums.mean(axis=0), 0.0) / np.where(varies, deviation, 1.0), 7
        )
    )


def upper_p(values: Floats) -> Floats:
    """Of each deal: the share of deals, itself included, with a value at least as large."""
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return np.asarray((len(values) - ranks) / len(values))
