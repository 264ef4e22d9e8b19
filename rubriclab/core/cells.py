"""Tabulate what each order did to each item: cells (item x order), leans, contrasts, agreements."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rubriclab.core.fairness import constraint_reason
from rubriclab.core.judgments import Arm, widest
from rubriclab.stats.resample import Bools, Floats, Ints, crossed, distinct, sum_by

FLAT = 1e-9
"""A difference below this is rounding error."""
SEED = 20240607
"""Start of all random numbers here: the same calls always give the same p."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The calls of one judge about a set of items.

    ``item``, ``order`` (calls,): codes. ``code`` (calls, k): what was given, as indexes into
    ``points`` (ascending, in points of the scale), -1 unparsed. k = 1: the option chosen. k = n:
    what each of n criteria got in one call. ``orders`` (m, n): which option (or criterion) stands
    at each position. ``unit`` (items,): what is independent. ``choices``: the code is the candidate
    that won, n for a tie; there is no score, ``points`` only counts the winners. ``drawn``: orders
    were drawn at random for each item, not set by a design. ``names`` (units,): of units, by their
    text. ``request`` (calls,): of an item's calls, which ones went out together; None where each
    went alone. ``interchangeable``: the k answers of a call are no criteria: which of them is the
    first says nothing beyond the call. ``unsure``: why their constraint allows no verdict of
    fairness (``core/fairness.py``), or empty.
    """

    item: Ints
    order: Ints
    code: Ints
    orders: Ints
    unit: Ints
    points: Floats
    drawn: bool = False
    criteria: bool = False
    condition: int = 0
    choices: bool = False
    names: NDArray[Any] | None = None
    request: Ints | None = None
    interchangeable: bool = False
    unsure: str = ""
    labels: Floats | None = None
    """(n,): of examples, the score that each is labelled with; (0,) where nothing follows from
    their labels. None where no examples are listed: then the order is one of options.
    """
    item_code: Ints | None = None
    """(items,): the item of the run that each one is, where they are of a run."""

    @property
    def in_points(self) -> bool:
        """Return whether positions lean in points of the score, not in shares."""
        return self.criteria or self.labels is not None

    @property
    def parsed(self) -> Bools:
        """(calls,): a call of several criteria counts where all of them were scored."""
        return np.asarray((self.code >= 0).all(axis=1))


def of_items(answers: Answers, wanted: Bools) -> Answers:
    """Return the calls about the items that are ``wanted``, (items,)."""
    place = np.cumsum(wanted) - 1
    kept = wanted[answers.item]
    return replace(
        answers,
        item=place[answers.item[kept]],
        order=answers.order[kept],
        code=answers.code[kept],
        unit=answers.unit[wanted],
        request=None if answers.request is None else answers.request[kept],
        item_code=None if answers.item_code is None else answers.item_code[wanted],
    )


def in_own_orders(answers: Answers) -> Answers:
    """Return the same calls without the orders that none of them shows."""
    shown = np.unique(answers.order)
    return replace(
        answers, orders=answers.orders[shown], order=np.searchsorted(shown, answers.order)
    )


def from_arms(arms: Sequence[Arm]) -> Answers:
    """Return the calls of one judge, data set and variant.

    Its arms differ only in their ordering strategy.

    Arms of random orders take part only where no others show an item in two orders. Where an arm
    shows every option at every position equally often, its orders answer, and calls of other arms
    in these orders add to them.
    """
    chosen = _arms_that_answer(arms)
    calls = [calls_of(arm) for arm in chosen]
    starts = np.cumsum([0, *(len(arm.shown) for arm in chosen[:-1])])
    item = np.concatenate([part[0] for part in calls])
    order = np.concatenate([part[1] + start for part, start in zip(calls, starts, strict=True)])
    code = np.concatenate([part[2] for part in calls])
    orders = np.concatenate([arm.shown for arm in chosen])
    kept = _wanted_orders(chosen, orders)[order]

    run, arm = chosen[0].run, widest(chosen)
    about = arm.condition
    items, item = distinct(item[kept], len(run.items))
    units, unit = distinct(run.unit_of_item[items], len(run.unit_names))
    request = None
    if about.packed:
        # A request holds one call of each packed item, so a repeat of an arm tells it from others.
        sent = [len(chosen) * arm.repeat.astype(np.int64) + k for k, arm in enumerate(chosen)]
        request = np.concatenate(sent)[kept]
    return Answers(
        item=item,
        order=order[kept],
        code=code[kept],
        orders=orders,
        unit=unit,
        points=np.arange(arm.positions + 1.0) if about.chooses else arm.scores,
        drawn=about.drawn,
        criteria=about.joint,
        condition=arm.code,
        choices=about.chooses,
        names=run.unit_names[units],
        request=request,
        interchangeable=about.reorder == "responses",
        unsure=constraint_reason(chosen),
        labels=np.asarray(about.labels) if about.reorder == "examples" else None,
        item_code=items,
    )


def _arms_that_answer(arms: Sequence[Arm]) -> list[Arm]:
    """Return the arms of set orders; those of random ones if set orders are fewer than two."""
    fixed = [arm for arm in arms if not arm.condition.drawn]
    drawn = [arm for arm in arms if arm.condition.drawn]
    return drawn if drawn and len(_orders_of(fixed)) < 2 else fixed


def _wanted_orders(arms: Sequence[Arm], orders: Ints) -> Bools:
    """(orders,): the known ones; if some arms are balanced by themselves, their orders alone."""
    full = _orders_of([arm for arm in arms if not arm.condition.drawn and is_full(arm.shown)])
    if full:
        return np.array([tuple(row) in full for row in orders.tolist()])
    return np.asarray(orders[:, 0] >= 0)


def _orders_of(arms: Sequence[Arm]) -> set[tuple[int, ...]]:
    return {tuple(row) for arm in arms for row in arm.shown.tolist()}


def calls_of(arm: Arm) -> tuple[Ints, Ints, Ints]:
    """Return the item of the run, the order, and the code (calls, k) of each call.

    The item is the first one where a call scores several.

    k = 1 of options and candidates, else the criteria or answers that a call scores.
    """
    if not arm.condition.joint:
        return arm.item_code[arm.item], arm.order, np.where(arm.ok, arm.score, -1)[:, None]
    first, call = np.unique(arm.call, return_index=True, return_inverse=True)[1:]
    code = np.full((len(first), arm.positions), -1)
    code[call[arm.ok], arm.target[arm.item[arm.ok]]] = arm.score[arm.ok]
    return arm.run.text_of_item[arm.item_code[arm.item[first]]], arm.order[first], code


def is_full(orders: Ints) -> bool:
    """Return whether each option is at each position equally often in ``orders`` (m, n)."""
    counts = np.stack([(orders == option).sum(axis=0) for option in range(orders.shape[1])])
    return bool(len(orders) and (counts * orders.shape[1] == len(orders)).all())


# --------------------------------------------------------------------------- directions of an order
def line(orders: Ints) -> Floats:
    """(m,): how far each order ascends: 1 ascending, -1 descending, linear in between."""
    middle = (orders.shape[1] - 1) / 2
    centred = np.arange(orders.shape[1]) - middle
    slope = ((orders - middle) * centred).sum(axis=1) / max(np.square(centred).sum(), FLAT)
    return np.asarray(np.round(slope, 12))


def turn(orders: Ints) -> Floats:
    """(m,): 1 where each option is followed by the next higher one (cyclically).

    -1 where by the next lower one, else 0.
    """
    n = orders.shape[1]
    if n == 2:
        return np.asarray(np.sign(line(orders)), dtype=np.float64)
    step = np.diff(orders, axis=1) % n
    return np.asarray((step == 1).all(axis=1) * 1.0 - (step == n - 1).all(axis=1) * 1.0)


# ---------------------------------------------------------------------------------------- the cells
@dataclass(frozen=True, eq=False)
class Cells:
    """Each item in each order it was asked in, sorted by content alone.

    Nothing depends on names or on the order of rows.

    An answer is a vector (n,): 1 at the option chosen (1/n each for a tie); or what n criteria
    got, in points; or, of examples, the score times how far each label lies from their mean, so
    that its mean at a position is a covariance (``_of_examples``). Of each cell: ``item``,
    ``shown`` (cells, n), ``count`` of parsed calls, their ``mean`` (cells, n), ``same``:
    agreement of two different calls of the cell (0 where asked once), ``kept``: takes part in
    deals, with ``dealt`` (cells, n): the mean of as many calls as every kept cell of its item
    has. Of each item: ``unit``, ``cross``: agreement of calls in two different orders (NaN
    where there is one order). ``weights`` (n,): score = answer . weights, in points; all 0 of
    choices, which have no score.
    """

    item: Ints
    shown: Ints
    count: Ints
    mean: Floats
    same: Floats
    kept: Bools
    dealt: Floats
    unit: Ints
    cross: Floats
    weights: Floats
    drawn: bool
    criteria: bool
    asked: Ints
    """(cells,): calls that were sent, those included that could not be parsed."""
    interchangeable: bool = False
    labels: Floats | None = None
    """(n,): as in ``Answers``."""

    @property
    def n(self) -> int:
        return int(self.shown.shape[1])

    @property
    def in_points(self) -> bool:
        """Return whether leans are points of the score, not shares."""
        return self.criteria or self.labels is not None

    @property
    def has_leans(self) -> bool:
        """Return whether a position can gain at all: not among examples without labels."""
        return self.labels is None or len(self.labels) > 0

    @property
    def items(self) -> int:
        return len(self.unit)

    def by_item(self, values: Floats) -> Floats:
        """Sums of ``values`` (cells, ...) over the cells of each item."""
        return sum_by(self.item, values, self.items)

    @cached_property
    def orders(self) -> Floats:
        """(items,): distinct orders that an item was asked in."""
        return self.by_item(np.ones(len(self.item)))

    @cached_property
    def one_order_an_item(self) -> bool:
        """Return whether each item was asked in one random order: then only items can differ."""
        return self.drawn and self.items > 1 and bool((self.orders == 1).all())

    def at_position(self, answers: Floats) -> Floats:
        """``answers`` (cells, n) by position instead of by option."""
        return np.take_along_axis(answers, self.shown, axis=1)

    @cached_property
    def share(self) -> Floats:
        """(items, n): mean answer at each position.

        Every order counts once, however often it was asked.
        """
        return self.by_item(self.at_position(self.mean)) / self.orders[:, None]

    @cached_property
    def lean(self) -> Floats:
        """(items, n): share of each position minus what the item's own scores give there.

        The latter is what it would be without an order effect.

        For criteria: the score at a position less the criterion's own mean, in points. For
        examples: by how many points the score follows the label at a position, for the
        highest label instead of the lowest. 0 of a constant judge, whatever was not parsed.
        Of drawn orders it is what all orders would give; a single one is held against 1/n
        (or the criterion's mean over items).
        """
        if self.one_order_an_item:
            return self.at_position(
                self.mean - (self.mean.mean(axis=0) if self.in_points else 1 / self.n)
            )
        own = self.by_item(self.mean) / self.orders[:, None]
        moved = self.by_item(self.at_position(self.mean - own[self.item]))
        return moved / self._held_against[:, None]

    @cached_property
    def _held_against(self) -> Floats:
        """(items,): what a sum over an item's orders is divided by, for its mean lean.

        An item's own mean over O orders holds each order's own answer too. Of orders that a design
        sets that is meant; of O drawn out of all M = n! it is so in one part of O where it should
        be one of M: (1 - 1/O) becomes (1 - 1/M).
        """
        if not self.drawn or self.n < 2:
            return self.orders
        every = math.factorial(self.n)
        return np.maximum(self.orders - 1, 1) * every / (every - 1)

    @property
    def by_criterion(self) -> bool:
        """Return whether each column of the answers is a criterion, in several orders per item."""
        return self.criteria and not self.interchangeable and not self.one_order_an_item

    @cached_property
    def lean_of_criteria(self) -> Floats:
        """(items, n, n): each criterion's (first) score at each position minus its mean, in points.

        The mean over criteria is ``lean``: here what two criteria do against each other does not
        cancel.
        """
        own = self.by_item(self.mean) / self.orders[:, None]
        stands_at = self.shown[:, None, :] == np.arange(self.n)[:, None]
        moved = (self.mean - own[self.item])[:, :, None] * stands_at
        by_item = self.by_item(moved.reshape(len(moved), -1))
        by_item = by_item.reshape(self.items, self.n, self.n)
        return self.n * by_item / self._held_against[:, None, None]

    @cached_property
    def directions(self) -> dict[str, Floats]:
        """``contrasts`` with those that no item has, and with two that are the same."""
        if not self.weights.any():
            return {}
        centred = {"turn": turn(self.shown)}
        if not self.criteria:
            centred = {"line": line(self.shown)} | centred
        for name, values in centred.items():
            middle = (
                values.mean()
                if self.one_order_an_item
                else (self.by_item(values) / self.orders)[self.item]
            )
            centred[name] = values - middle
        return centred

    @cached_property
    def contrasts(self) -> dict[str, Floats]:
        """Contrasts of the mean score, each (cells,), centred within the item.

        ``line``: ascending against descending; ``turn``: upwards against downwards from wherever a
        list begins. One that no item has is left out, and so is one of two that are the same in
        these orders (the shorter). Choices have none.
        """
        if not self.directions:
            return {}
        centred = self.directions
        size = {name: float(np.square(values).sum()) for name, values in centred.items()}
        if min(size.values()) > FLAT and len(size) == 2:
            overlap = float((centred["line"] * centred["turn"]).sum()) ** 2
            if overlap > (1 - FLAT) * size["line"] * size["turn"]:
                size["line" if size["line"] < size["turn"] - FLAT else "turn"] = 0.0
        return {name: values for name, values in centred.items() if size[name] > FLAT}

    @property
    def score(self) -> Floats:
        """(cells,): mean score, in points."""
        return np.asarray((self.mean * self.weights).sum(axis=1))


def cells(answers: Answers) -> Cells:
    """Return the cells of the parsed calls, in an order that depends on their content alone."""
    shown, rank = np.unique(answers.orders, axis=0, return_inverse=True)
    rank = rank.ravel()
    parsed = answers.parsed
    order, code = rank[answers.order[parsed]], answers.code[parsed]
    asked = _calls_sent(answers.item * len(shown) + rank[answers.order])[parsed]
    mark = fingerprints(np.column_stack([order, code]))
    item, unit = sorted_items(answers.item[parsed], mark, answers.unit)
    row = np.lexsort((mark, item * len(shown) + order))
    item, order, code, asked = item[row], order[row], code[row], asked[row]

    starts_cell = (np.diff(item, prepend=-1) != 0) | (np.diff(order, prepend=-1) != 0)
    cell, cell_item = np.cumsum(starts_cell) - 1, item[starts_cell]
    count = np.bincount(cell, minlength=len(cell_item))
    mean = _mean_answers(answers, cell, code, count)
    same, cross = _agreements(cell, code, count, cell_item, len(unit), len(answers.points))
    if answers.request is not None:
        request = answers.request[parsed][row]
        cross = _between_requests(
            item, request, cell, code[:, 0], cell_item, cross, len(answers.points)
        )

    number = _calls_to_deal(cell_item, count, len(unit))[cell_item]
    kept = count >= number
    dealt = mean
    if (count[kept] != number[kept]).any():
        picked = _picked(cell, number)
        dealt = _mean_answers(answers, cell[picked], code[picked], number)
    return Cells(
        item=cell_item,
        shown=shown[order[starts_cell]],
        count=count,
        mean=mean,
        same=same,
        kept=kept,
        dealt=dealt,
        unit=unit,
        cross=cross,
        weights=_weights(answers),
        drawn=answers.drawn,
        criteria=answers.criteria,
        asked=asked[starts_cell],
        interchangeable=answers.interchangeable,
        labels=answers.labels,
    )


def _mean_answers(answers: Answers, cell: Ints, code: Ints, number: Ints) -> Floats:
    """(cells, n): the mean answer of calls; ``number``: (cells,) how many calls each cell has.

    Options: how often each was chosen, a tie 1/n of each. Criteria: their points. Examples: see
    ``_of_examples``.
    """
    n = answers.orders.shape[1]
    if answers.labels is not None:
        score = np.bincount(cell, answers.points[code[:, 0]], len(number)) / number
        return np.asarray(score[:, None] * _of_examples(answers.labels, n))
    if answers.criteria:
        columns = [np.bincount(cell, answers.points[column], len(number)) for column in code.T]
        return np.asarray(np.stack(columns, axis=1) / number[:, None])
    given = crossed(cell, len(number), code[:, 0], n + answers.choices)
    tied = given[:, n:].sum(axis=1, keepdims=True)
    return np.asarray((given[:, :n] + tied / n) / number[:, None])


MOST_TOGETHER = 0.6
"""Above this correlation of the labels at two positions, nobody can say which of them a score
follows. Rotations of examples that are listed by label stay below it from five examples on.
"""


def not_told_apart(shown: Ints, labels: Floats) -> list[tuple[int, int, float]]:
    """Return the pairs of positions (from 0) whose labels go together in these orders, each with
    the correlation, the closest first.

    ``shown``: (m, n) codes of examples; ``labels``: (n,). Two positions always go against each
    other; with two there is nothing else.
    """
    orders = np.unique(shown, axis=0)
    n = orders.shape[1]
    if n < 3 or not len(labels) or len(orders) < 2:
        return []
    away = labels[orders] - labels[orders].mean(axis=0)
    size = np.sqrt(np.square(away).sum(axis=0))
    together = (away[:, :, None] * away[:, None, :]).sum(axis=0)
    r = together / np.maximum(size[:, None] * size, FLAT)
    pairs = [(p, q, float(r[p, q])) for p in range(n) for q in range(p + 1, n)]
    close = [pair for pair in pairs if abs(pair[2]) > MOST_TOGETHER]
    return sorted(close, key=lambda pair: -abs(pair[2]))


def _of_examples(labels: Floats, n: int) -> Floats:
    """(n,): what the score is multiplied by, for the answer vector of a cell of examples.

    It is span x (label - mean) / variance of the labels. So the mean of an answer vector at a
    position, over the orders of an item, is the slope of its score on the label there, in points of
    score for the highest label instead of the lowest. Over positions the slopes add up to 0.
    Without labels it is 1 for each, which says nothing of positions.
    """
    if not len(labels):
        return np.ones(n)
    away = labels - labels.mean()
    return np.asarray(np.ptp(labels) * away / np.square(away).mean())


def _weights(answers: Answers) -> Floats:
    """(n,): score = answer . weights, in points; choices have no score."""
    n = answers.orders.shape[1]
    if answers.labels is not None:
        times = _of_examples(answers.labels, n)
        return np.asarray(times / np.square(times).sum())
    if answers.criteria:
        return np.full(n, 1 / n)
    if answers.choices:
        return np.zeros(n)
    return answers.points


def _calls_sent(cell: Ints) -> Ints:
    """(calls,): how many calls the cell of each call has, parsed or not."""
    _, code, count = np.unique(cell, return_inverse=True, return_counts=True)
    return np.asarray(count[code.ravel()])


def fingerprints(columns: NDArray[Any]) -> NDArray[np.uint64]:
    """(rows,): a 64-bit hash of each row of integers (splitmix64; Steele, Lea and Flood 2014)."""
    mark = np.zeros(len(columns), dtype=np.uint64)
    for column in columns.T:
        mark = (mark ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        mark = (mark ^ (mark >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mark = (mark ^ (mark >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mark = mark ^ (mark >> np.uint64(31))
    return mark


def sorted_items(item: Ints, mark: NDArray[np.uint64], unit: Ints) -> tuple[Ints, Ints]:
    """Return the item of each call and the unit of each item.

    Items that have a call are sorted by a hash of all their calls.

    Equal hashes are equal contents, and items of equal content are exchangeable.
    """
    content = np.zeros(len(unit), dtype=np.uint64)
    np.add.at(content, item, mark)
    present = np.flatnonzero(np.bincount(item, minlength=len(unit)))
    present = present[np.argsort(content[present], kind="stable")]
    rank = np.zeros(len(unit), dtype=np.int64)
    rank[present] = np.arange(len(present))
    return rank[item], unit[present]


def _agreements(
    cell: Ints, code: Ints, count: Ints, item: Ints, items: int, levels: int
) -> tuple[Floats, Floats]:
    """Return how often two calls give the same: (cells,) in one cell, (items,) in two orders.

    It is the share of columns of ``code`` that are equal.

    Every order, and every pair of orders, of an item counts once.
    """
    orders = np.bincount(item, minlength=items)
    same, cross = np.zeros(len(count)), np.zeros(items)
    for column in code.T:
        tally = crossed(cell, len(count), column, levels)
        same += np.square(tally).sum(axis=1) - count
        share = tally / count[:, None]
        cross += np.square(sum_by(item, share, items)).sum(axis=1) - sum_by(
            item, np.square(share).sum(axis=1), items
        )
    pairs, pairs_of_orders = (
        count * (count - 1) * code.shape[1],
        orders * (orders - 1) * code.shape[1],
    )
    return same / np.maximum(pairs, 1), np.where(
        orders > 1, cross / np.maximum(pairs_of_orders, 1), np.nan
    )


def _between_requests(
    item: Ints, request: Ints, cell: Ints, code: Ints, cell_item: Ints, cross: Floats, levels: int
) -> Floats:
    """Return ``cross`` of calls that did not share a request.

    Calls of one order never share one, and what all answers of a request share would look like
    agreement of its orders. Where an item has one request alone its ``cross`` stays.
    """
    most = int(request.max(initial=0)) + 1
    sent, own = np.unique(item * most + request, return_inverse=True)
    calls = np.bincount(item, minlength=len(cross)).astype(np.float64)
    pairs = np.stack([calls, calls], axis=1)  # a call with itself is taken off twice below
    for sign, group, of in (
        (1, item, np.arange(len(cross))),
        (-1, cell, cell_item),
        (-1, own, sent // most),
    ):
        tally = crossed(group, len(of), code, levels)
        both = np.stack([np.square(tally).sum(axis=1), np.square(tally.sum(axis=1))], axis=1)
        pairs += sign * sum_by(of, both, len(cross))
    return np.where(pairs[:, 1] > 0, pairs[:, 0] / np.maximum(pairs[:, 1], 1), cross)


def _calls_to_deal(item: Ints, count: Ints, items: int) -> Ints:
    """(items,): how many calls of an order are averaged and dealt.

    As many in each order, or the deals are not fair.

    Of the numbers k, the one with most k x (orders asked at least k times - 1): every order twice
    gives 2, a balanced set beside ten more calls of the default order gives 1, and an order that
    lost a call to parsing does not cost the other orders theirs.
    """
    best, most = np.ones(items, dtype=np.int64), np.zeros(items)
    for number in np.unique(count):
        gain = (np.bincount(item, count >= number, items) - 1) * number
        best, most = np.where(gain > most, number, best), np.maximum(gain, most)
    return best


def _picked(cell: Ints, number: Ints) -> Ints:
    """Return indexes of ``number`` (cells,) calls of each cell, at random where it has more.

    ``cell`` is sorted.
    """
    row = np.lexsort((np.random.default_rng([SEED, 1]).random(len(cell)), cell))
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    return row[rank < number[cell]]
