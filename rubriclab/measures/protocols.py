"""Say what each method of combining calls gains at equal calls.

Methods: averaging orders, a better order, a corrected call, averaging variants.

A gain is how much closer a protocol's score is to the mean over all orders than as many calls in
the default order: the difference of two root mean square distances, each without the noise of the
mean that it is measured from. What is chosen or learnt (an order, a position prior) is chosen on
one half of the units and measured on the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rubriclab.core.estimate import Estimate, Fisher, Opaque, Student, average, mean_over, missing
from rubriclab.core.judgments import Arm, grouped
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.measures.calibration import by_score
from rubriclab.measures.rated import ENOUGH, rated
from rubriclab.measures.reliability import Pooled, pooled
from rubriclab.stats import correlation, debias
from rubriclab.stats.debias import Grid, grid_of, row_means
from rubriclab.stats.resample import Bools, Floats, Ints, by_content, distinct, spread_out, sum_by

AVERAGE = "average of orders"
BEST = "best order"
FORMS = "average of forms"
CORRECTED = "corrected call"
SHRUNK = "shrunk call"
BEYOND = "corrected beyond shrinking"
"""Protocols: a mean over orders; one order chosen; one call with its position divided out, one
drawn towards the mean as that one is but with positions that all count alike, and the one against
the other; a mean over variants of the prompt.
"""
MOST = 10
"""At most this many calls are averaged: more are rarely asked per answer."""
SPLITS = 6
"""Random halvings of the units that a choice is averaged over."""
FEWEST = 30
"""With fewer units no best order is chosen: half of them choose it, half try it."""
BUDGETS = (2, 3, 5, 10)
BOTH_ROLES = 2**0.5
"""Units both choose the order and try it, and are left out where they try it alone, which is half
of the variance.
"""


@dataclass(frozen=True, eq=False)
class Asked:
    """Calls of one setting.

    column: (calls,) what is averaged over: the order, or the form. ``grid``: scores by it.
    human: (items,) mean ratings, None without any.
    """

    calls: Pooled
    column: Ints
    grid: Grid
    human: Floats | None

    @property
    def enough(self) -> bool:
        """Return whether most items are known well enough."""
        return bool(self.grid.usable.sum() >= ENOUGH * self.calls.items)

    @cached_property
    def rounds(self) -> Floats:
        """(rounds, items, columns): scores, one round of repeats after the other.

        NaN where there is none.
        """
        calls, shape = self.calls, self.grid.count.shape
        cells = calls.item * shape[1] + self.column
        return np.moveaxis(
            spread_out(cells, self.grid.count.size, calls.call, calls.value).reshape(*shape, -1),
            2,
            0,
        )

    def row(self, measure: str, estimate: Estimate, calls: int, protocol: str = "") -> Row:
        of = {"protocol": protocol} if protocol else {"calls": calls}
        counts = {"n": int(self.grid.usable.sum()), "calls": calls}
        return Row(measure, estimate, of, counts=counts, condition=self.calls.widest.code)


def asked(calls: Pooled, column: Ints, columns: int, default: int) -> Asked:
    grid, given = (
        grid_of(calls.item, calls.items, column, columns, calls.value, default),
        rated(calls.widest),
    )
    human = calls.widest.of_run(given.human)[calls.item_code] if given else None
    return Asked(calls, column, grid, human)


@topic(
    "protocols",
    axes={"options", "criteria"},
    charts=(Chart("forest", "gain", by="protocol"),),
    per="run",
)
def protocols(arms: Sequence[Arm]) -> Iterator[Row]:
    listing = [arm for arm in arms if not arm.condition.criterion_alone]
    for group in grouped(listing, lambda condition: condition.setting):
        part = [arm for arm in group if not arm.condition.drawn] or group
        calls = pooled(part)
        often = np.bincount(calls.order, minlength=len(calls.shown))
        why = ""
        if not len(calls.value):
            why = "nothing_parsed"
        elif len(often) < 2:
            why = "single_order"
        if why or (often < ENOUGH * max(calls.items, 1)).any():
            unknown = missing(why or "own_orders")
            yield Row("gain", unknown, {"protocol": AVERAGE}, condition=calls.widest.code)
            continue
        ascending = (calls.shown == np.arange(calls.shown.shape[1])).all(axis=1)
        of = asked(
            calls, calls.order, len(often), int((ascending if ascending.any() else often).argmax())
        )
        yield from averaged(of, AVERAGE)
        if of.enough:
            for number in (number for number in BUDGETS if number <= len(often)):
                sides = (
                    of.grid.column_distance(number)[:, of.grid.default],
                    of.grid.average_distance(number),
                )
                yield of.row("budget_gain", gain(of, *sides), number)
            halves = list(halvings(of))
            yield from best_order(of, halves)
            if calls.widest.condition.reorder == "options":
                yield from corrected(of, halves, probabilities(calls, part))
    yield from forms(arms)


def gain(of: Asked, default: Floats, protocol: Floats, stretch: float = 1.0) -> Estimate:
    """Return the root mean square distance in the default order minus that of the protocol.

    In points; ``default``, ``protocol``: (items,) squared distances.

    Its ends are those of the difference of the two means, which is a plain mean over units, on the
    scale of roots: the smaller mean is held as it is. ``stretch``: of their error. Measured for
    averages and a best order (``docs/method-check.md``), not for a corrected call.
    """
    known = np.isfinite(default) & np.isfinite(protocol) & of.grid.usable
    if not known.any():
        return missing("no_repeats")
    sides = [
        mean_over(np.where(known, side, np.nan), of.calls.unit, of.calls.names)
        for side in (default, protocol)
    ]
    a, b = (max(side.value, 0.0) for side in sides)
    influence = stretch * (sides[0].influence - sides[1].influence)
    difference = replace(
        sides[0], value=a - b, influence=influence, rule=Student(lopsided=True, heavy=True)
    )

    def root(by: float) -> float:
        return float(np.sqrt(min(a, b) + max(by, 0.0)) - np.sqrt(min(a, b) + max(-by, 0.0)))

    def ends(level: float) -> tuple[float, float]:
        low, high = difference.interval(level)
        return root(low), root(high)

    return Estimate(root(a - b), influence, difference.unit, Opaque(ends))


def averaged(of: Asked, protocol: str) -> Iterator[Row]:
    """Yield the gain of calls in different columns (at most MOST) over as many in one column."""
    grid = of.grid
    if not of.enough:
        yield of.row("gain", missing("no_repeats"), 1, protocol)
        return
    k = min(grid.count.shape[1], MOST)
    yield of.row(
        "gain",
        gain(of, grid.column_distance(k)[:, grid.default], grid.average_distance(k)),
        k,
        protocol,
    )
    if of.human is not None:
        rounds, again = of.rounds, int(np.median(grid.count[grid.usable, grid.default]))
        k = min(k, again)
        sides = [budget_r(of, table, k) for table in (rounds, rounds[:, :, grid.default].T[None])]
        yield of.row("gain_pearson", sides[0] - sides[1], k, protocol)


def budget_r(of: Asked, table: Floats, calls: int, kept: Bools | None = None) -> Estimate:
    """Return r of the mean of ``calls`` calls with people, over all subsets.

    ``table``: (rounds, items, K).
    """
    human = np.full(of.calls.items, np.nan) if of.human is None else of.human
    which = np.flatnonzero(of.grid.usable & np.isfinite(human) & (True if kept is None else kept))
    unit, code = distinct(of.calls.unit[which])
    if len(which) < 2:
        return missing("nothing_rated")
    full = table[np.isfinite(table[:, which]).mean(axis=(1, 2)) >= ENOUGH][:, which]
    full = full if len(full) else table[:1, which]
    (made,) = correlation.budget(full, human[which], code, len(unit), [calls])
    if not np.isfinite(made.r.value):
        return missing("constant_side")
    influence = (len(unit) - 1) * (made.r.value - made.r.without)
    why = "" if np.isfinite(influence).all() else "constant_side"
    influence = np.nan_to_num(influence - influence.mean())
    return Estimate(made.r.value, influence, of.calls.names[unit], Fisher(), why)


def halvings(of: Asked) -> Iterator[Bools]:
    """Yield (items,) one half of the units, then the other, SPLITS times.

    Which units are in a half depends on their content alone.
    """
    unit, units = of.calls.unit, len(of.calls.names)
    scores = np.nan_to_num(of.grid.mean, nan=-1.0)
    ranked = by_content(sum_by(unit, np.concatenate([scores, scores**2], axis=1), units))
    rng = np.random.default_rng(0)
    for _ in range(SPLITS):
        half = np.zeros(units, dtype=bool)
        half[ranked[rng.permutation(units)[: units // 2]]] = True
        yield half[unit]
        yield ~half[unit]


def best_order(of: Asked, halves: list[Bools]) -> Iterator[Row]:
    """Yield the gain of one call in the best order, which the other half of the units chose.

    The best order is nearest to the mean over all, or agrees best with people.
    """
    grid, gains = of.grid, []
    if len(distinct(of.calls.unit[grid.usable])[0]) < FEWEST:
        yield of.row("gain", missing("few_for_best_order"), 1, BEST)
        return
    distance, tried = grid.column_distance(), []
    for half in halves:
        chosen = int(np.round(row_means(distance[grid.usable & half].T), 9).argmin())
        tried.append(np.where(half, np.nan, distance[:, chosen]))
        if of.human is not None:
            orders = [of.rounds[:, :, [k]] for k in range(grid.count.shape[1])]
            r = [budget_r(of, table, 1, half).value for table in orders]
            best = int(np.round(np.nan_to_num(r, nan=-2.0), 9).argmax())
            gains.append(
                budget_r(of, orders[best], 1, ~half) - budget_r(of, orders[grid.default], 1, ~half)
            )
    yield of.row(
        "gain",
        gain(of, distance[:, grid.default], row_means(np.stack(tried, axis=1)), BOTH_ROLES),
        1,
        BEST,
    )
    if gains:
        gained = average(gains, Student())
        yield of.row(
            "gain_pearson", replace(gained, influence=BOTH_ROLES * gained.influence), 1, BEST
        )


def corrected(of: Asked, halves: list[Bools], chances: Floats | None) -> Iterator[Row]:
    """Yield the gain of one call in the default order, corrected for its position.

    The position prior is learnt on the other half of the units. Each call is compared with the
    mean over all orders without itself, so the default order has to be asked twice.
    """
    calls, grid = of.calls, of.grid
    which = np.flatnonzero(
        (of.column == grid.default) & ((grid.count[:, grid.default] > 1) & grid.usable)[calls.item]
    )
    learnt = (
        []
        if chances is None
        else [made for half in halves if (made := learn(of, half, chances, which))]
    )
    if len(learnt) < len(halves):
        yield of.row(
            "gain", missing("no_probabilities" if chances is None else "no_prior"), 1, CORRECTED
        )
        return
    items, value = calls.item[which], calls.value[which]
    guesses = {
        name: np.stack([half[name] for half in learnt], axis=1) for name in (CORRECTED, SHRUNK)
    }
    guesses["default"] = np.repeat(value[:, None], len(halves), axis=1)
    count, away = grid.count[items, grid.default], value - grid.mean[items, grid.default]
    centre = grid.centre[items] - away / (count - 1) / grid.m[items]
    fewer = grid.noise[items, grid.default] / (count * (count - 1))
    own = row_means(grid.error)[items] / grid.m[items] + fewer / grid.m[items] ** 2
    distance, r = {}, {}
    for name, every in guesses.items():
        away = row_means((every - centre[:, None]) ** 2) - own
        distance[name] = row_means(spread_out(items, calls.items, calls.call[which], away))
        guess = row_means(every[:, :2])  # the first halving: each call has one guess
        r[name] = budget_r(of, spread_out(items, calls.items, calls.call[which], guess)[None], 1)
    for name, first in {CORRECTED: "default", SHRUNK: "default", BEYOND: SHRUNK}.items():
        second = CORRECTED if name == BEYOND else name
        yield of.row("gain", gain(of, distance[first], distance[second]), 1, name)
        if of.human is not None:
            yield of.row("gain_pearson", r[second] - r[first], 1, name)


def learn(of: Asked, half: Bools, chances: Floats, which: Ints) -> dict[str, Floats] | None:
    """Return the calls ``which`` of other items, corrected or shrunk as those of ``half`` teach."""
    calls, taught = of.calls, half & of.grid.usable
    probe = np.flatnonzero(taught[calls.item])
    prior = debias.position_prior(
        calls.shown, calls.item[probe], calls.order[probe], chances[probe]
    )
    if prior is None:
        return None
    out, position, mine = (
        {},
        np.argsort(calls.shown, axis=1)[calls.order[which]],
        taught[calls.item[which]],
    )
    for name, weights in ((CORRECTED, prior), (SHRUNK, np.full(len(prior), 1 / len(prior)))):
        expected = debias.divided(chances[which], position, weights) @ calls.widest.scores
        start, slope, middle = debias.shrunk(
            expected[mine], of.grid.centre[calls.item[which][mine]]
        )
        out[name] = np.where(half[calls.item[which]], np.nan, start + slope * (expected - middle))
    return out


def probabilities(calls: Pooled, arms: list[Arm]) -> Floats | None:
    """(calls, options): of each score, by what stood where; None where some call has none."""
    given = [part for arm in arms if (part := by_score(arm)) is not None]
    joined = np.concatenate(given)[calls.kept] if len(given) == len(arms) else np.full(1, np.nan)
    return joined if np.isfinite(joined).all() else None


def forms(arms: Sequence[Arm]) -> Iterator[Row]:
    """Yield the gain of a mean over forms, one call each, over as many calls in the first form.

    All calls are in the default order.
    """
    for group in grouped(
        arms, lambda about: (about.judge, about.dataset, about.reorder, about.scores, about.targets)
    ):
        names = list(dict.fromkeys(arm.condition.variant_key for arm in group))
        if len(names) < 2:
            continue
        calls = pooled(group)
        form = [np.full(len(arm.item), names.index(arm.condition.variant_key)) for arm in group]
        code = np.concatenate(form)[calls.kept]
        default = np.flatnonzero((calls.shown == np.arange(calls.shown.shape[1])).all(axis=1))
        kept = np.isin(calls.order, default)
        own = {name: getattr(calls, name)[kept] for name in ("item", "order", "value", "call")}
        part = replace(calls, widest=group[0], **own)
        yield from averaged(asked(part, code[kept], len(names), 0), FORMS)
