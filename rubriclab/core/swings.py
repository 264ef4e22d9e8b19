"""Compare the replies about one answer in several orders of the same list.

Nothing here is an estimate: one answer in ten orders is an example, and a run measures how often
its kind occurs. An order counts in a comparison only if every call in that order gave the same
result, because a difference between two repeats is noise and not an effect of the order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rubriclab.model.judgment import Judgment, Reorder, Status

Entry = int | str
"""What a list shows: a score, or the name of a criterion or of a candidate."""
TIE = ""
"""The winner of a comparison that no candidate won."""
Values = tuple[Entry | None, ...]
"""Result of one call: the score, the winner, or the score of each criterion in the default order.

None: it was not parsed.
"""


@dataclass(frozen=True)
class OrderResult:
    """The calls that asked one order.

    shown: the entries, from the first position to the last.
    values: the result of each call.
    live: asked in this visit, not recorded with the lab.
    """

    shown: tuple[Entry, ...]
    values: tuple[Values, ...]
    live: bool = False

    @property
    def settled(self) -> Values | None:
        """The result that every call gave; None if they differ or if nothing was parsed.

        Of several criteria, those that no call scored are None in it.
        """
        first = self.values[0]
        if any(value != first for value in self.values) or not _any_parsed(first):
            return None
        return first


@dataclass(frozen=True)
class Widest:
    """The two settled orders whose results differ most.

    target: which value differs most: 0, or the number of a criterion in the default order.
    apart: points between them; of winners 1 if they differ and 0 if not.
    """

    low: OrderResult
    high: OrderResult
    target: int
    apart: float


@dataclass(frozen=True)
class Tally:
    """How often the entry listed first was chosen.

    first: settled orders in which it was.
    orders: all settled orders.
    expected: the least and the most of these orders in which one and the same entry is listed
        first. A judge that ignores the order chooses one entry in all of them, so its number lies
        between these two; they are equal if the orders are balanced.
    """

    first: int
    orders: int
    expected: tuple[int, int]


@dataclass(frozen=True)
class Tried:
    """One answer (or two to compare) in several orders.

    entries: the list in the default order.
    orders: recorded and live results of one order are two entries of it.
    """

    reorder: Reorder
    entries: tuple[Entry, ...]
    orders: tuple[OrderResult, ...]

    @property
    def chooses(self) -> bool:
        """Return whether a call chooses one of the entries."""
        return self.reorder in ("options", "pairs")

    @cached_property
    def settled(self) -> tuple[OrderResult, ...]:
        """The orders that gave the same result every time, recorded and live together."""
        given: dict[tuple[Entry, ...], set[Values | None]] = {}
        for result in self.orders:
            given.setdefault(result.shown, set()).add(result.settled)
        return tuple(
            result
            for result in self.orders
            if result.settled is not None and len(given[result.shown]) == 1
        )

    @cached_property
    def widest(self) -> Widest | None:
        """The two settled orders that differ most; None below two.

        Several criteria: under the one with the widest range, the first of them if two are equal.
        Equal scores: the first order of the lowest score and the last of the highest, as they are
        sorted in ``in_columns``.
        """
        targets = range(len(self.orders[0].values[0])) if self.orders else range(0)
        found: Widest | None = None
        for target in targets:
            ranked: list[tuple[Entry, OrderResult]] = []
            for result in self._sorted(target, self.settled):
                value = (result.settled or ())[target]
                if value is not None:
                    ranked.append((value, result))
            if len(ranked) < 2:
                continue
            (low, first), (high, last) = ranked[0], ranked[-1]
            apart = float(low != high)
            if isinstance(low, int) and isinstance(high, int):
                apart = float(high - low)
            if found is None or apart > found.apart:
                found = Widest(first, last, target, apart)
        return found

    @property
    def in_columns(self) -> list[OrderResult]:
        """Return all orders by the score that differs most, then by order; unparsed ones last."""
        return self._sorted(self.widest.target if self.widest else 0, self.orders)

    @property
    def tally(self) -> Tally | None:
        """How often the first entry was chosen; None for criteria and where nothing is settled.

        Live orders count only if none is recorded: a visitor may choose them for what they show.
        """
        counted = [result for result in self.settled if result.live == self.all_live]
        if not self.chooses or not counted:
            return None
        tops = [result.shown[0] for result in counted]
        times = [tops.count(entry) for entry in self.entries]
        first = sum(result.settled == (result.shown[0],) for result in counted)
        return Tally(first, len(tops), (min(times), max(times)))

    @property
    def all_live(self) -> bool:
        """Return whether no order is recorded."""
        return all(result.live for result in self.orders)

    def of(self, shown: Sequence[Entry]) -> list[OrderResult]:
        """Return the results of one order: recorded, live, both, or none."""
        return [result for result in self.orders if result.shown == tuple(shown)]

    def nearest(self, shown: Sequence[Entry]) -> OrderResult | None:
        """Return the asked order in which entries have moved least; None if none was asked.

        The distance is the sum of moved positions over all entries (Spearman's footrule). Of equal
        distances, the first order counts. Orders without a parsed reply are left out.
        """
        parsed = [result for result in self.orders if any(map(_any_parsed, result.values))]
        if not parsed:
            return None
        at = {entry: position for position, entry in enumerate(shown)}

        def moved(result: OrderResult) -> tuple[int, tuple[int, ...]]:
            places = enumerate(result.shown)
            return sum(abs(p - at[entry]) for p, entry in places), self._places(result)

        return min(parsed, key=moved)

    def _sorted(self, target: int, orders: Iterable[OrderResult]) -> list[OrderResult]:
        def key(result: OrderResult) -> tuple[bool, float, tuple[int, ...], bool]:
            parsed = [value[target] for value in result.values if value[target] is not None]
            scores = [score for score in parsed if isinstance(score, int)]  # winners have no rank
            mean = sum(scores) / len(scores) if scores else 0.0
            return not parsed, mean, self._places(result), result.live

        return sorted(orders, key=key)

    def _places(self, result: OrderResult) -> tuple[int, ...]:
        """Return the order as numbers of the default order, to sort by."""
        return tuple(self.entries.index(entry) for entry in result.shown)


def tried(
    reorder: Reorder,
    entries: Sequence[Entry],
    recorded: Iterable[Judgment],
    live: Iterable[Judgment] = (),
) -> Tried:
    """Return one answer in the orders that its judgments asked."""
    orders = [*_results(reorder, recorded, live=False), *_results(reorder, live, live=True)]
    return Tried(reorder, tuple(entries), tuple(orders))


@dataclass(frozen=True)
class Swing:
    """How far one answer moved over its orders.

    name: of the answer. apart: see Widest. first: orders that chose the entry listed first.
    """

    name: str
    apart: float
    first: int


def ranked(answers: Mapping[str, Tried]) -> list[Swing]:
    """Return the answers that were asked in at least two orders, the widest swing first.

    Of equal swings, those come first whose first entry was chosen more often, then by name.
    """
    swings = []
    for name, answer in answers.items():
        if answer.widest is not None:
            first = answer.tally.first if answer.tally else 0
            swings.append(Swing(name, answer.widest.apart, first))
    return sorted(swings, key=lambda swing: (-swing.apart, -swing.first, swing.name))


FAR = 2
"""Points from which on an answer has moved far."""


@dataclass(frozen=True)
class SwingCounts:
    """How many answers moved by 2 points or more, by less, and not at all."""

    two_or_more: int
    less: int
    none: int


def count_swings(swings: Sequence[Swing]) -> SwingCounts:
    """Count the answers by how far they moved."""
    far = sum(swing.apart >= FAR for swing in swings)
    none = sum(swing.apart == 0 for swing in swings)
    return SwingCounts(far, len(swings) - far - none, none)


def values_of(reorder: Reorder, judgment: Judgment) -> Values:
    """Return the result of one call."""
    if reorder == "pairs":
        (outcome,) = judgment.outcomes
        if outcome.status != Status.OK:
            return (None,)
        winner = outcome.position or 0
        return (judgment.call.ordering.shown[winner - 1] if winner else TIE,)
    scores = {
        outcome.item: int(outcome.score)
        for outcome in judgment.outcomes
        if outcome.status == Status.OK and outcome.score is not None
    }
    return tuple(scores.get(item) for item in judgment.call.items)


def _results(
    reorder: Reorder, judgments: Iterable[Judgment], *, live: bool
) -> Iterable[OrderResult]:
    by_order: dict[tuple[Entry, ...], list[Values]] = {}
    for judgment in sorted(judgments, key=lambda judgment: judgment.call.repeat):
        shown = judgment.call.ordering.shown
        by_order.setdefault(shown, []).append(values_of(reorder, judgment))
    for shown, values in by_order.items():
        yield OrderResult(shown, tuple(values), live)


def _any_parsed(values: Values) -> bool:
    return any(value is not None for value in values)
