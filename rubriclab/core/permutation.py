"""Test whether the order matters to any item, exactly, by dealing each item's answers again.

Sharp null: an item's answers do not depend on which order was shown; each distinct prompt may be
its own draw. Then the mean answers of an item's orders are exchangeable over these orders. Dealing
them again gives a test that is exact at any number of items, under skew, ties, clusters and replies
that are unparsed without regard to the order (Fisher's randomisation test). A judge that answers
every distinct prompt by one fixed draw and prefers nothing has no order effect.

One engine (``deal``) serves three tests: the order (``gate``, ``unparsed``), the form of a prompt
(``core/variant_effects.py``) and a change between two runs (``core/drift.py``). It takes one batch
of what can be exchanged and returns sums that can be added up over batches.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from scipy import special

from rubriclab.core.cells import (
    FLAT,
    SEED,
    Answers,
    Cells,
    fingerprints,
    line,
    of_items,
    sorted_items,
    turn,
)
from rubriclab.model.looks import ALPHA as USUAL_ALPHA
from rubriclab.stats.resample import Floats, Ints, crossed, distinct, sum_by

ALPHA = USUAL_ALPHA
"""The share of unbiased judges that may be accused of anything."""
WEIGHTS = {"positions": 0.5, "mean": 0.25, "single": 0.25}
"""The share of ALPHA that each direction of the gate may use."""
WEIGHTS_OF_CRITERIA = {"positions": 0.25, "criteria": 0.25, "mean": 0.25, "single": 0.25}
"""The same for several criteria per call: what a position does to each must not cancel."""
ENUMERATED = 5_000
"""Enumerate up to this many deals: their p is a fraction that can be checked by hand."""
DEALS = 1_999
"""Above ENUMERATED, draw this many at random: with the observed one, p has steps of 0.0005."""
ENUMERATED_UNITS = 10
"""Enumerate the swaps of up to this many units: 2^10 = 1,024 deals."""
MOST_GROUPS = 400
"""Above this many groups, deals are put together from blocks: dealing all takes too long."""
MOST_CARDS = 4_000
"""Above this many cards too, for the same reason."""
BLOCKS = 200
"""Groups are put into this many blocks: enough that the sum of one pick per block is varied."""
PICKS = 29_999
"""Deals put together from those of blocks. A pick is cheap, so there are more than DEALS."""
CARDS_DEALT = 5_000_000
"""Cards dealt in all blocks together: bounds the time, and sets how often a block is dealt."""
FEWEST_DEALS_OF_A_BLOCK = 25
"""A block is dealt at least this often: fewer deals give no picture of their spread."""
MOST_DEALS_OF_A_BLOCK = 200
"""A block is dealt at most this often: more change nothing in the sum over blocks."""
NUMBERS_AT_ONCE = 1_000_000
"""Numbers of one chunk of deals of cards: bounds memory, changes no result."""
SIGNS_AT_ONCE = 20_000_000
"""Signs of one chunk of swaps: bounds memory, changes no result."""
MOST_ORDERS = 30
"""Above this many orders, lost replies are not looked at order by order: each has too few calls."""
SHARED_FATE = 0.5
"""Calls of one order are copies if more than this share of a lost call's neighbours are lost."""
SAME_ANSWERS = 0.9
"""Where no lost call has another next to it: copies if more than this share of pairs agree."""


# ----------------------------------------------------------------------------------------- the gate
@dataclass(frozen=True)
class Gate:
    """The result of a permutation test over several directions.

    p: of the sharp null.
    parts: p of each direction, from the same deals.
    deals: how many there were. ``exact``: these are all deals there are.
    least: the smallest p that these answers could have given in any arrangement. Above ``spent``,
        no data of this size could show an effect.
    spent: what p is compared with: 0.05, or what a run may spend by one of several looks.
    """

    p: float = 1.0
    parts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WEIGHTS, 1.0))
    deals: int = 1
    exact: bool = True
    least: float = 1.0
    spent: float = ALPHA

    @property
    def open(self) -> bool:
        """Return whether the test rejects, so that something may be claimed at all."""
        return self.p <= self.spent


@dataclass(frozen=True)
class Directions:
    """What the gate over orders is made of: the columns that ``Cards`` sum, and their weights.

    n: positions. by_criterion: leans are summed by criterion and position. one_order: each item was
    asked in one order, drawn at random.
    """

    n: int
    by_criterion: bool
    one_order: bool

    @property
    def leans(self) -> int:
        """How many leans there are; contrasts and the squared lean come after them."""
        return self.n * self.n if self.by_criterion else self.n

    @property
    def weights(self) -> Mapping[str, float]:
        return WEIGHTS_OF_CRITERIA if self.by_criterion else WEIGHTS

    def parts(self, sums: Floats) -> dict[str, Floats]:
        """Return the statistic of each direction, (deals,), of sums (deals, width)."""
        leans, contrasts, squared = np.split(sums, [self.leans, sums.shape[1] - 1], axis=1)
        leans = leans.reshape(len(leans), self.n, -1)
        parts = {
            "positions": np.square(leans.sum(axis=2)).sum(axis=1),
            "mean": np.abs(standardised(contrasts)).max(axis=1, initial=0.0),
            # One order per item says nothing about how its own answers differ between orders.
            "single": np.zeros(len(leans)) if self.one_order else squared[:, 0],
        }
        if self.by_criterion:
            parts["criteria"] = np.square(leans).sum(axis=(1, 2))
        return parts


def gate(cells: Cells) -> Gate:
    """Test the sharp null exactly over three directions that share the 5%: 1/2, 1/4, 1/4.

    positions: the sum over positions of the squared pooled lean (V squared).
    mean: the larger contrast of the mean score, each standardised by the deals.
    single: the sum of the items' own squared leans.
    criteria: with several criteria per call there is a fourth direction, and each has 1/4. It is
        the sum over criteria and positions of squared pooled leans, in which two criteria that move
        against each other do not cancel.
    """
    directions = Directions(cells.n, cells.by_criterion, cells.one_order_an_item)
    cards = order_cards(cells)
    if cards is None:
        return Gate(parts=dict.fromkeys(directions.weights, 1.0))
    dealt = deal(cards)
    sums = cards.with_constant(dealt.sums)
    return together(directions.parts(sums), directions.weights, dealt.exact)


def together(parts: Mapping[str, Floats], weights: Mapping[str, float], exact: bool) -> Gate:
    """Combine several directions, (deals,) each with the observed one first, into one gate.

    The statistic is the least p over its weight. It is ranked among the same deals, so that taking
    the least costs nothing (Westfall and Young 1993). A direction that never varies is left out.
    """
    by_part, weighted = weighted_p(parts, weights)
    combined = upper_p(-weighted)
    least = float(combined.min())
    return Gate(float(combined[0]), by_part, len(weighted), exact, least)


def weighted_p(
    parts: Mapping[str, Floats], weights: Mapping[str, float]
) -> tuple[dict[str, float], Floats]:
    """Return the observed p of each direction, and (deals,) the least p over weight of each deal.

    A direction that never varies has p = 1 and no part in the least.
    """
    p: dict[str, Floats] = {}
    for name, values in parts.items():
        rounded = np.round(values, 7)  # equal sums may differ in their last bits: those are ties
        if np.ptp(rounded) > 0:
            p[name] = upper_p(rounded)
    by_part = {name: float(p[name][0]) if name in p else 1.0 for name in weights}
    if not p:
        return by_part, np.ones(max(len(values) for values in parts.values()))
    least = np.min([p[name] / weights[name] for name in p], axis=0)
    return by_part, np.round(least, 9)


def order_cards(cells: Cells, contrasts: Mapping[str, Floats] | None = None) -> "Cards | None":
    """Return the answers that can be dealt over orders, or None where no deal changes anything.

    contrasts: of the mean score, each (cells,); those that the cells have where left out.
    """
    if contrasts is None:
        contrasts = cells.contrasts
    contrast = np.zeros((len(cells.item), len(contrasts)))
    for column, values in enumerate(contrasts.values()):
        contrast[:, column] = values
    if cells.one_order_an_item:
        return _cards_over_items(cells, contrast)
    return _cards_within_items(cells, contrast)


def _cards_within_items(cells: Cells, contrast: Floats) -> "Cards | None":
    """Return the mean answers of each item's orders, to be dealt within the item.

    Items of one answer or one order never change, so they are left out.
    """
    kept = np.flatnonzero(cells.kept)
    away = centred(cells.dealt[kept], cells.item[kept])
    differs = (np.abs(away) > FLAT).any(axis=1)
    moves = np.zeros(cells.items, dtype=bool)
    moves[cells.item[kept[differs]]] = True
    kept = kept[moves[cells.item[kept]]]
    if not len(kept):
        return None
    group = distinct(cells.item[kept])[1]
    value = centred(cells.dealt[kept], group)
    size = np.bincount(group)[group][:, None]
    return Cards(
        group=group,
        value=value / (size - cells.drawn),
        shown=cells.shown[kept],
        score=(value * cells.weights).sum(axis=1),
        contrast=centred(contrast[kept], group) / size,
        by_criterion=cells.by_criterion,
        by_example=not cells.has_leans,
    )


def _cards_over_items(cells: Cells, contrast: Floats) -> "Cards | None":
    """Return the answers of items that were asked in one random order each, to be dealt over items.

    Many items are put into groups at random, and dealt within these.
    """
    groups = 1 if cells.items <= MOST_CARDS else BLOCKS
    drawn_group = np.random.default_rng([SEED, 2]).integers(0, groups, cells.items)
    kept = np.argsort(drawn_group, kind="stable")
    if not len(kept):
        return None
    group = distinct(drawn_group[kept])[1]
    dealt, shown = cells.dealt[kept], cells.shown[kept]
    own = dealt.mean(axis=0)
    expected = own if cells.in_points else 1 / cells.n
    away = dealt - own
    degrees = len(kept) - 1
    return Cards(
        group=group,
        value=away,
        shown=shown,
        score=(away * cells.weights).sum(axis=1),
        contrast=contrast[kept],
        constant=(own - expected)[shown].sum(axis=0),
        stretch=math.sqrt(degrees / max(degrees - group[-1], 1)),
    )


# -------------------------------------------------------------------------- replies that were lost
def unparsed(answers: Answers, batch: Ints | None = None) -> float:
    """Return the exact p of "whether a reply can be parsed does not depend on the order".

    Failures are dealt over an item's calls. The largest standardised sum decides, over ascending
    against descending, forwards against backwards, each order by itself (unless there are more than
    MOST_ORDERS), and each position: a reply may be lost for the position of its answer, which is
    not known, so the item's other orders say how often what is there is chosen. 1 where nothing, or
    everything, was parsed.

    batch: (items,) from 0, where the deals of several batches are added up (``core/looks.py``).
    """
    parts = [answers]
    if batch is not None:
        parts = [of_items(answers, batch == k) for k in range(int(batch.max(initial=-1)) + 1)]
    stakes = [_at_stake(part) for part in parts]
    copies = _are_copies(stakes)
    sums = None
    for number, stake in enumerate(stakes, 1):
        if not len(stake.item):
            continue
        cards = _loss_cards(stake, copies=copies)
        dealt = deal(cards) if batch is None else deal(cards, deals=DEALS, number=number)
        sums = dealt.sums if sums is None else sums + dealt.sums
    if sums is None:
        return 1.0
    largest = np.abs(standardised(sums)).max(axis=1)
    return float(upper_p(largest)[0])


@dataclass(frozen=True, eq=False)
class _Stake:
    """The calls of the items that lost some of their replies, sorted by content.

    item, cell: (calls,) codes; a cell is an item in an order. given: (calls,) what was parsed, -1
    where the reply was lost. seats: (calls, k) how far a call goes into each direction of loss.
    """

    item: Ints
    cell: Ints
    given: Ints
    seats: Floats


def _at_stake(answers: Answers) -> _Stake:
    """Return the calls whose losses can be dealt: items that lost all or none are left out."""
    shown, rank = np.unique(answers.orders, axis=0, return_inverse=True)
    order = rank.ravel()[answers.order]
    lost = (~answers.parsed).astype(np.int64)
    given = np.where(answers.parsed, answers.code[:, 0], -1)
    mark = fingerprints(np.column_stack([order, lost, given]))
    item, unit = sorted_items(answers.item, mark, answers.unit)
    losses = np.bincount(item, lost, len(unit))
    calls = np.bincount(item, minlength=len(unit))
    lost_some = (losses > 0) & (losses < calls)
    row = np.lexsort((mark, item))
    row = row[lost_some[item[row]]]
    seats = _directions_of_loss(answers, item, order, shown)
    cell = item * len(shown) + order
    return _Stake(item[row], cell[row], given[row], seats[row])


def _loss_cards(stake: _Stake, *, copies: bool) -> "Cards":
    """Return lost replies as cards; at temperature 0 a whole order is one card.

    One failure that is asked five times is one then.
    """
    gone = (stake.given < 0).astype(np.float64)
    row = np.arange(len(gone))
    if copies:
        _, row, own = np.unique(stake.cell, return_index=True, return_inverse=True)
        gone = np.bincount(own.ravel(), gone) / np.bincount(own.ravel())
    group = distinct(stake.item[row])[1]
    no_answers = np.zeros((len(row), 0))
    return Cards(
        group=group,
        value=no_answers,
        shown=no_answers.astype(np.int64),
        score=centred(gone[:, None], group)[:, 0],
        contrast=centred(stake.seats[row], group),
    )


def _directions_of_loss(answers: Answers, item: Ints, order: Ints, shown: Ints) -> Floats:
    """(calls, k): how far each call goes into each direction in which replies may be lost."""
    directions = np.stack([line(shown), turn(shown)], axis=1)
    if len(shown) <= MOST_ORDERS:
        directions = np.concatenate([directions, np.eye(len(shown))], axis=1)
    of_call = directions[order]
    if answers.criteria:
        return np.asarray(of_call)
    if answers.labels is not None:
        # A reply may be lost for the label of the example at a position.
        at_position = answers.labels[shown] if len(answers.labels) else np.zeros((len(shown), 0))
        return np.concatenate([of_call, at_position[order]], axis=1)
    chosen = _chosen_in_other_orders(answers, item, order, shown)
    return np.concatenate([of_call, chosen], axis=1)


def _chosen_in_other_orders(answers: Answers, item: Ints, order: Ints, shown: Ints) -> Floats:
    """(calls, n): how often the item's other orders chose what this call shows at each position.

    Calls of the same order do not count: with a judge that follows the order, a lost reply would
    itself lower the share, and replies lost at random would look like replies lost by position. All
    calls of an item get 0 if one of them has no parsed call in another order, as when two orders
    are asked once each: then only the lost call would have a share, because it was lost.
    """
    n, parsed = shown.shape[1], answers.parsed
    codes = n + answers.choices
    items = int(item.max(initial=-1)) + 1
    tally = crossed(item[parsed], items, order[parsed], len(shown), answers.code[parsed, 0], codes)[
        ..., :n
    ]
    others = tally.sum(axis=1, keepdims=True) - tally
    seen = others.sum(axis=2, keepdims=True)
    share = others / np.maximum(seen, 1)
    asked = crossed(item, items, order, len(shown)) > 0
    informed = (seen[..., 0] > 0) | ~asked
    share *= informed.all(axis=1)[:, None, None]
    return np.asarray(np.take_along_axis(share[item, order], shown[order], axis=1))


def _are_copies(stakes: Sequence[_Stake]) -> bool:
    """Return whether calls of one cell are copies of each other, as they are at temperature 0."""
    next_to_lost = lost_pairs = pairs = equal_pairs = 0.0
    for stake in stakes:
        if not len(stake.cell):
            continue
        code = np.unique(stake.cell, return_inverse=True)[1].ravel()
        calls, gone = np.bincount(code), np.bincount(code, stake.given < 0)
        tally = crossed(code, len(calls), stake.given + 1, int(stake.given.max()) + 2)
        next_to_lost += float((gone * (calls - 1)).sum())
        lost_pairs += float((gone * (gone - 1)).sum())
        pairs += float((calls * (calls - 1)).sum())
        equal_pairs += float((tally * (tally - 1)).sum())
    if next_to_lost:
        return lost_pairs > SHARED_FATE * next_to_lost
    return equal_pairs > SAME_ANSWERS * pairs


# --------------------------------------------------------------------------------------- the engine
class Exchangeable(Protocol):
    """One batch of answers, and what can be exchanged within what if the null hypothesis holds.

    A batch consists of groups (an item's orders, an item's calls, a unit's two runs). Answers are
    exchanged within a group. A batch gives (width,) sums over its groups; those of several batches
    can be added up before a statistic is made of them.
    """

    stream: ClassVar[int]
    """Number of the random stream that its deals are drawn from."""

    def every_deal(self) -> Floats | None:
        """(deals, width): the sums of all deals, the observed one first; None if they are many."""

    def random_deals(self, rng: np.random.Generator, deals: int | None) -> Floats:
        """(1 + deals, width): the observed sums, then those of random deals.

        None: as many deals as this kind of batch draws by itself.
        """


@dataclass(frozen=True, eq=False)
class Deals:
    """Sums of a batch: as observed, and as they would be if its answers were dealt otherwise.

    sums: (1 + deals, width), the observed ones first.
    exact: these are all deals there are.
    """

    sums: Floats
    exact: bool = False

    def plus(self, other: "Deals") -> "Deals":
        """Return the deals of two batches together, each deal of one with a deal of the other.

        Raises ValueError unless both were drawn with the same number of deals.
        """
        if self.exact or other.exact or self.sums.shape != other.sums.shape:
            raise ValueError("Only batches with the same number of random deals can be added up.")
        return Deals(self.sums + other.sums)


def deal(batch: Exchangeable, *, deals: int | None = None, number: int = 0) -> Deals:
    """Return the sums of a batch as observed, then with its answers dealt again.

    deals: None for one batch by itself: all deals where these are few, else as many random ones as
        suit its size. A number: that many random deals, so that batches can be added up.
    number: which of several batches this is; each draws from its own random numbers.
    """
    if deals is None:
        every = batch.every_deal()
        if every is not None:
            return Deals(every, exact=True)
    seed = [SEED, batch.stream]
    if number > 0:
        seed.append(number)
    return Deals(batch.random_deals(np.random.default_rng(seed), deals))


def upper_p(values: Floats) -> Floats:
    """(deals,): the share of deals, itself included, with a value at least as large. Ties count."""
    ranks = np.searchsorted(np.sort(values), values, side="left")
    return np.asarray((len(values) - ranks) / len(values))


def standardised(sums: Floats) -> Floats:
    """Return columns (deals, k) in standard deviations from their mean over the deals.

    A column that never varies becomes 0.
    """
    deviation = sums.std(axis=0)
    varies = deviation > FLAT
    away = np.where(varies, sums - sums.mean(axis=0), 0.0)
    return np.asarray(np.round(away / np.where(varies, deviation, 1.0), 7))


def centred(values: Floats, group: Ints) -> Floats:
    """Return ``values`` (cards, k) minus their mean over the cards of each group."""
    groups = int(group.max(initial=-1)) + 1
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    return values - (sum_by(group, values, groups) / size[:, None])[group]


# ------------------------------------------------------------------------------- what can be dealt
@dataclass(frozen=True, eq=False)
class Cards:
    """Answers that are dealt over the orders of their item.

    A card is the mean answer of one order, a group holds the orders of one item, a seat is an order
    that a card is dealt to.

    group: (cards,) of each card; cards are sorted by it.
    value: (cards, n) its answer, minus the group's mean.
    score: (cards,) its points, minus the group's mean.
    shown: (cards, n) what the seat shows at each position.
    contrast: (cards, k) the seat's directions.
    constant: (n,) what the pooled lean has in every deal.
    stretch: standard deviation of deals over all groups at once, in that of deals within groups.
    stratum: (cards,) a card is dealt only within its stratum of the group; the cards of a group are
        sorted by it.
    by_criterion: leans are summed for each criterion at each position, not for each position alone.
    by_example: the squared lean is that of scores by example and position, since no label says what
        a position could gain.
    """

    group: Ints
    value: Floats
    shown: Ints
    score: Floats
    contrast: Floats
    constant: Floats | float = 0.0
    stretch: float = 1.0
    stratum: Ints | None = None
    by_criterion: bool = False
    by_example: bool = False

    stream: ClassVar[int] = 0

    @property
    def leans(self) -> int:
        """How many leans ``sums`` gives: n, or n x n by position and criterion (the faster one)."""
        n = int(self.value.shape[1])
        return n * n if self.by_criterion else n

    @property
    def width(self) -> int:
        """How many numbers ``sums`` gives: leans, contrasts, and the squared lean."""
        return self.leans + int(self.contrast.shape[1]) + 1

    @cached_property
    def sizes(self) -> Ints:
        """(groups,): how many cards each group has."""
        return np.bincount(self.group)

    def with_constant(self, sums: Floats) -> Floats:
        """Return sums (deals, width) with what the pooled lean has in every deal."""
        sums = sums.copy()
        sums[:, : self.leans] += self.constant
        return sums

    def seats(self, groups: Ints | slice = slice(None)) -> Ints:
        """(groups, largest size): the cards of each group as observed.

        Where a group has fewer cards, ``len(group)`` stands for an empty seat.
        """
        starts = (np.cumsum(self.sizes) - self.sizes)[groups]
        sizes = self.sizes[groups]
        seat = np.arange(sizes.max())
        return np.where(seat < sizes[:, None], starts[:, None] + seat, len(self.group))

    def every_deal(self) -> Floats | None:
        """(deals, width): sums of all deals; None if there are more than ENUMERATED."""
        log_deals = special.gammaln(self.sizes + 1.0).sum()
        if self.stratum is not None or log_deals > math.log(ENUMERATED) + FLAT:
            return None
        seats = self.seats()
        dealt = every_hand(seats, self.sizes)
        return np.asarray(np.round(self.sums(seats, dealt).sum(axis=1), 9))

    def random_deals(self, rng: np.random.Generator, deals: int | None) -> Floats:
        """(1 + deals, width): the observed sums, then DEALS random ones (PICKS if in blocks)."""
        if len(self.sizes) > MOST_GROUPS or len(self.group) > MOST_CARDS:
            return self._dealt_in_blocks(rng, PICKS if deals is None else deals)
        seats = self.seats()
        observed = self.sums(seats, seats[None]).sum(axis=1)
        drawn = self._dealt_at_random(rng, seats, DEALS if deals is None else deals)
        return np.round(np.concatenate([observed, drawn]), 9)

    def _dealt_in_blocks(self, rng: np.random.Generator, deals: int) -> Floats:
        """(1 + deals, width): sums of deals that are put together from those of blocks of groups.

        Groups are put into BLOCKS blocks at random, whatever their answers. Each block is dealt 25
        to 200 times. Its sums are centred on the mean of all deals, and widened for being so few.
        For every deal, one of its sums is picked. Measured: ``docs/method-check.md``.
        """
        groups = len(self.sizes)
        block = rng.integers(0, BLOCKS, groups) if groups > BLOCKS else np.arange(groups)
        number = int(
            np.clip(CARDS_DEALT // len(self.group), FEWEST_DEALS_OF_A_BLOCK, MOST_DEALS_OF_A_BLOCK)
        )
        wider = self.stretch * math.sqrt(number / (number - 1))
        sums = np.zeros((1 + deals, self.width))
        for k in range(BLOCKS):
            members = np.flatnonzero(block == k)
            if not len(members):
                continue
            seats = self.seats(members)
            dealt = self._dealt_at_random(rng, seats, number)
            dealt = (dealt - dealt.mean(axis=0)) * wider + self.expected(seats)
            sums[0] += self.sums(seats, seats[None])[0].sum(axis=0)
            sums[1:] += dealt[rng.integers(0, number, deals)]
        return np.round(sums, 9)

    def _dealt_at_random(self, rng: np.random.Generator, seats: Ints, deals: int) -> Floats:
        """(deals, width): sums over the groups of ``seats`` of random deals."""
        empty = seats == len(self.group)
        first: Ints | int = 0
        if self.stratum is not None:
            first = np.append(self.stratum, 0)[seats]
        chunk = max(1, NUMBERS_AT_ONCE // (seats.size * (self.value.shape[1] + 2)))
        sums = []
        for start in range(0, deals, chunk):
            # Cards sorted by random numbers; whole numbers before the point keep strata apart.
            keys = rng.random((min(chunk, deals - start), *seats.shape)) + first
            keys[:, empty] = np.inf
            ranked = np.argsort(keys, axis=-1, kind="stable")
            dealt = np.take_along_axis(seats[None], ranked, axis=-1)
            sums.append(self.sums(seats, dealt).sum(axis=1))
        return np.concatenate(sums)

    @cached_property
    def _padded(self) -> tuple[Floats, Ints, Floats, Floats]:
        """value, shown, score, contrast (k, cards), with one more card of zeros for empty seats."""
        one_more_row = ((0, 1), (0, 0))
        value = np.pad(self.value, one_more_row)
        shown = np.pad(self.shown, one_more_row)
        contrast = np.pad(self.contrast, one_more_row)
        # Rows in the order of memory, or each look-up copies the whole table.
        return (
            np.ascontiguousarray(value),
            shown,
            np.append(self.score, 0),
            np.ascontiguousarray(contrast.T),
        )

    def sums(self, seats: Ints, dealt: Ints) -> Floats:
        """(deals, groups, width): lean by position, contrasts, and squared lean, of each deal.

        seats: (groups, size), dealt: (deals, groups, size) the card that each seat gets; both are
        indexes of cards, ``len(group)`` for none.
        """
        value, shown, score, contrast = self._padded
        at_position = value.take(dealt[..., None] * shown.shape[1] + shown[seats])
        by_position = at_position.sum(axis=-2)
        lean = by_position
        if self.by_criterion:
            lean = self._lean_of_criteria(at_position, shown[seats])
        rest = [(column[seats] * score[dealt]).sum(axis=-1) for column in contrast]
        if self.by_example:
            by_position = self._scores_of_examples(score[dealt], shown[seats], seats)
        rest.append(np.square(by_position).sum(axis=-1))
        return np.concatenate([lean, np.stack(rest, axis=-1)], axis=-1)

    def _lean_of_criteria(self, at_position: Floats, shown: Ints) -> Floats:
        """(deals, groups, n x n): ``at_position`` (deals, groups, size, n), also by criterion.

        One matrix product per group: its seats say which criterion is at which position.
        """
        groups, size, n = shown.shape
        of_criterion = shown[..., None] == np.arange(n)
        spread = of_criterion[:, :, :, None, :] * np.eye(n)[:, :, None]
        flat = np.moveaxis(at_position, 0, 1).reshape(groups, len(at_position), size * n)
        return np.moveaxis(flat @ spread.reshape(groups, size * n, n * n), 0, 1)

    def _scores_of_examples(self, score: Floats, shown: Ints, seats: Ints) -> Floats:
        """(deals, groups, n x n): the mean score, of an item's own, with an example at a position.

        score: (deals, groups, size) of the card that each seat gets. Where examples have no labels
        to follow, this says whether an item's scores follow which of them stands where.
        """
        groups, size, n = shown.shape
        held = (seats < len(self.group))[..., None, None]
        stands = (shown[..., None] == np.arange(n)) & held
        flat = stands.reshape(groups, size, n * n) / held.sum(axis=1)
        return np.moveaxis(np.moveaxis(score, 0, 1) @ flat, 0, 1)

    def expected(self, seats: Ints) -> Floats:
        """(width,): the mean over all deals of the sums of these groups.

        0 but for the squared lean. A sum of one card per seat, dealt from a table t (seats, cards),
        has the variance sum of t~^2 / (cards - 1), where t~ is t minus its row and column means
        (Hoeffding 1951).
        """
        padded_value, padded_shown, _, _ = self._padded
        value, shown = padded_value[seats], padded_shown[seats]
        n = shown.shape[-1]
        present = seats < len(self.group)
        size = present.sum(axis=1)
        is_shown = (shown[:, :, None] == np.arange(n)[:, None]) & present[..., None, None]
        exposed = is_shown.sum(axis=1)
        if self.by_example:
            # A score's own table: its square, times how a position's showings scatter over seats.
            scores = np.square(self._padded[2][seats]).sum(axis=1)
            scatter = (exposed - np.square(exposed) / size[:, None, None]).sum(axis=(1, 2))
            square_of_scores = scores * scatter / np.square(size) / np.maximum(size - 1, 1)
            return np.append(np.zeros(self.width - 1), square_of_scores.sum())
        columns = (value[..., None] * exposed[:, None]).sum(axis=2)
        squares = size * np.square(value).sum(axis=(1, 2))
        square = squares - np.square(columns).sum(axis=(1, 2)) / size
        of_leans_and_contrasts = np.zeros(self.width - 1)
        return np.append(of_leans_and_contrasts, (square / np.maximum(size - 1, 1)).sum())


def every_hand(seats: Ints, sizes: Ints) -> Ints:
    """(deals, groups, size): all deals, the observed one first."""
    hands = []
    for row, size in zip(seats.tolist(), sizes.tolist(), strict=True):
        empty = row[size:]
        hands.append([(*cards, *empty) for cards in itertools.permutations(row[:size])])
    return np.array(list(itertools.product(*hands)))


@dataclass(frozen=True, eq=False)
class Swaps:
    """Units that were answered in two runs, which are exchanged or not.

    If nothing changed between the runs, a unit's change is as likely as its opposite.

    change: (units, k) after minus before, 0 where it is not known.
    """

    change: Floats

    stream: ClassVar[int] = 3

    def every_deal(self) -> Floats | None:
        """(2^units, k): sums of all swaps; None if there are more than ENUMERATED_UNITS units."""
        units = len(self.change)
        if units > ENUMERATED_UNITS:
            return None
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=units)))
        return _without_rounding_errors(signs @ self.change)

    def random_deals(self, rng: np.random.Generator, deals: int | None) -> Floats:
        """(1 + deals, k): the observed sums, then DEALS random ones."""
        deals = DEALS if deals is None else deals
        units = len(self.change)
        chunk = max(1, SIGNS_AT_ONCE // units)
        sums = [self.change.sum(axis=0)[None]]
        for start in range(0, deals, chunk):
            signs = rng.choice((1.0, -1.0), (min(chunk, deals - start), units))
            sums.append(signs @ self.change)
        return _without_rounding_errors(np.concatenate(sums))


def _without_rounding_errors(sums: Floats) -> Floats:
    """Return sums with 0 for what rounding left of changes that cancel."""
    return np.asarray(np.where(np.abs(sums) < FLAT, 0.0, sums))
