"""Decide whether a judge changed between two runs: in level, order effect or noise.

Both runs hold its calls about the same items.

Sharp null: nothing changed, so what a unit was answered in the two runs can be exchanged.
Exchanging it for units at random gives a gate that is exact at any number of units (sign flips;
Fisher 1935, The Design of Experiments, section 21); behind it each question has its own test, by
Holm's rule, and the words of ``core/verdict.py``.

A run that stopped early did so because of its answers, so the units that both runs share are no
fixed number. All tests and intervals are then at the level of its last look, and where both sides
have looks, at the stricter level of the two (``core/batches.py``): the levels of all looks together
spend the 5%.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rubriclab.core.cells import Answers, Cells, cells, from_arms
from rubriclab.core.estimate import Estimate, Reach, mean_over
from rubriclab.core.judgments import Arm
from rubriclab.core.lengths import lean_test
from rubriclab.core.permutation import ALPHA, Gate, Swaps, deal, standardised, together
from rubriclab.core.verdict import (
    MIN_UNITS,
    Verdict,
    Word,
    limits_by_question,
    reach_of_labels,
    t_test,
    word_of,
)
from rubriclab.model.study import Smallest
from rubriclab.stats.resample import Floats, sum_by
from rubriclab.stats.tests import holm

WEIGHTS = {"level": 1 / 3, "lean": 1 / 6, "contrast": 1 / 6, "noise": 1 / 3}
"""The share of the 5% that each direction of the gate may use."""
QUESTIONS = ("level", "order", "noise")


@dataclass(frozen=True, kw_only=True)
class Change(Verdict):
    """The verdict about one change, after - before.

    Level: in points. Order: of the lean that changed most, a share, at ``position`` (from 1; None
    of other changes). Noise: a share of scores.
    """

    position: int | None = None


@dataclass(frozen=True)
class Drift:
    """What changed between two runs.

    ``units``: that both runs know. ``identical``: every answer is the same in both, order by order.
    ``alpha``: what p values are compared with; intervals are drawn at 1 - alpha.
    """

    gate: Gate
    questions: dict[str, Change]
    units: int
    identical: bool
    alpha: float = ALPHA

    @property
    def word(self) -> Word:
        """Changed in any question, unchanged in all, else not known."""
        words = {change.word for change in self.questions.values()}
        if "effect" in words:
            return "effect"
        return "equivalent" if self.identical or words == {"equivalent"} else "undecided"


def drift(before: Sequence[Arm], after: Sequence[Arm], smallest: Smallest) -> Drift:
    """Decide what changed between two runs of one judge, data set and setting.

    ``before``, ``after``: the arms of each run. Orders that only one run asked are left out.
    """
    alpha = min(arm.alpha for arm in (*before, *after))
    sides = [from_arms(before), from_arms(after)]
    orders = _orders(sides[0]) & _orders(sides[1])
    tables = [cells(_asked_in(side, orders)) for side in sides]
    names = [np.asarray(side.names) for side in sides]
    shared, *where = np.intersect1d(names[0], names[1], assume_unique=True, return_indices=True)
    if not len(shared) or not all(table.items for table in tables):
        nothing = Change(why="nothing_shared")
        return Drift(Gate(), dict.fromkeys(QUESTIONS, nothing), 0, identical=False, alpha=alpha)

    contrasts = [name for name in tables[0].contrasts if name in tables[1].contrasts]
    earlier, later = (
        {name: values[rows] for name, values in _by_unit(table, contrasts, len(own)).items()}
        for table, own, rows in zip(tables, names, where, strict=True)
    )
    moved = {name: later[name] - earlier[name] for name in earlier}
    passed = replace(_gate(moved), spent=alpha)
    changes = _changes(moved, shared, sides[0], smallest, alpha)
    lacks = {
        "level": "" if tables[0].weights.any() else "no_scores",
        "order": "" if len(orders) > 1 else "no_two_orders",
        "noise": "" if np.isfinite(moved["noise"]).any() else "no_repeats",
    }
    rejected: set[str] = set()
    if passed.open:
        rejected = _rejected({name: e.p for name, e in changes.items() if not lacks[name]}, alpha)
    few_deals = alpha < ALPHA and passed.least > passed.spent
    questions = {
        name: _decided(change, lacks[name], rejected=name in rejected, few_deals=few_deals)
        for name, change in changes.items()
        if lacks[name] != "no_scores"
    }
    identical = len(shared) == max(map(len, names)) and _same_cells(*tables)
    return Drift(passed, questions, len(shared), identical, alpha)


def _orders(answers: Answers) -> set[tuple[int, ...]]:
    return {tuple(row) for row in answers.orders[np.unique(answers.order)].tolist()}


def _asked_in(answers: Answers, orders: set[tuple[int, ...]]) -> Answers:
    """The calls in these orders; all where each item has its own drawn orders."""
    if answers.drawn:
        return answers
    kept = np.array([tuple(row) in orders for row in answers.orders.tolist()], dtype=bool)[
        answers.order
    ]
    return replace(
        answers, item=answers.item[kept], order=answers.order[kept], code=answers.code[kept]
    )


def _by_unit(table: Cells, contrasts: Sequence[str], units: int) -> dict[str, Floats]:
    """Return level, lean, contrast and noise of each unit, (units, k) each.

    A unit's number is the mean over its items, NaN where none is known.
    """
    several = (table.count > 1).astype(np.float64)
    contrast = np.zeros((table.items, len(contrasts)))
    with np.errstate(invalid="ignore", divide="ignore"):
        for column, name in enumerate(contrasts):
            direction = table.contrasts[name]
            slope = table.by_item(direction * table.score) / table.by_item(direction**2)
            contrast[:, column] = 2 * slope
        noise = table.by_item((1 - table.same) * several) / table.by_item(several)
    by_item = {
        "level": (table.by_item(table.score) / table.orders)[:, None],
        "lean": table.lean,
        "contrast": contrast,
        "noise": noise[:, None],
    }
    by_unit = {}
    for name, values in by_item.items():
        known = np.isfinite(values)
        total = sum_by(table.unit, np.where(known, values, 0.0), units)
        with np.errstate(invalid="ignore", divide="ignore"):
            by_unit[name] = total / sum_by(table.unit, known * 1.0, units)
    return by_unit


def _estimate(moved: Floats, reach: float, names: np.ndarray) -> Estimate:
    """Return the mean change over units; ``moved``, ``names``: (units,)."""
    return mean_over(
        moved,
        np.arange(len(moved)),
        names,
        partial(Reach, reach, fewest=MIN_UNITS),
        none="no_repeats",
    )


def _changes(
    moved: dict[str, Floats],
    names: np.ndarray,
    answers: Answers,
    smallest: Smallest,
    alpha: float,
) -> dict[str, Change]:
    """Return each question's change. Its word is only "equivalent" or "undecided" so far.

    The tests, which can make it an effect, come later (``_decided``). ``moved``: after - before of
    each unit, (units, k) each. ``names``: (units,). ``alpha``: 1 less the level of the intervals.
    """
    estimate = partial(_estimate, names=names)
    span = float(np.ptp(answers.points))
    pass_rate = len(answers.points) == 2 and not answers.choices and not answers.in_points
    limits = limits_by_question(
        smallest, answers.points, in_points=answers.in_points, pass_rate=pass_rate
    )
    most_lean = span if answers.criteria else 1.0
    if answers.labels is not None and len(answers.labels):
        most_lean = reach_of_labels(answers.orders, answers.labels, span)
    leans = [estimate(column, most_lean) for column in moved["lean"].T]
    contrasts = [estimate(column, 2 * span) for column in moved["contrast"].T]
    largest = int(np.argmax([abs(lean.value) for lean in leans]))
    others = [*leans[:largest], *leans[largest + 1 :]]
    order = _change(
        [leans[largest], *others, *contrasts],
        [limits["positions"]] * len(leans) + [limits["mean"]] * len(contrasts),
        alpha,
    )
    # What a position of two gains is half of the contrast: one test then, not two of the same.
    order_p = _order_p(None if pass_rate and contrasts else moved["lean"], contrasts)
    return {
        "level": _change([estimate(moved["level"][:, 0], span)], [limits["mean"]], alpha),
        "order": replace(order, p=order_p, position=largest + 1),
        "noise": _change([estimate(moved["noise"][:, 0], 1.0)], [limits["single"]], alpha),
    }


def _order_p(leans: Floats | None, contrasts: list[Estimate]) -> float:
    """Return the p of "no order effect changed": the smallest over all tests, by Sidak's rule.

    ``leans``: (units, positions), tested together, or None; each contrast has a test of its own.
    """
    tests = [t_test(e) for e in contrasts]
    if leans is not None:
        known = np.asarray(np.isfinite(leans).all(axis=1), dtype=np.float64)
        tests.append(lean_test(np.nan_to_num(leans), known))
    if not np.isfinite(tests).any():
        return float("nan")
    return float(1 - (1 - np.nanmin(tests)) ** len(tests))


def _change(estimates: list[Estimate], limits: list[float], alpha: float) -> Change:
    """Return the change of the first; equivalent where every one lies within its limit."""
    low, high = estimates[0].interval(1 - alpha)
    inside = all(
        word_of(*e.interval(1 - alpha), limit, shown=False) == "equivalent"
        for e, limit in zip(estimates, limits, strict=True)
    )
    return Change(
        value=estimates[0].value,
        low=low,
        high=high,
        p=t_test(estimates[0]),
        word="equivalent" if inside else "undecided",
        smallest=limits[0],
    )


def _rejected(p_values: dict[str, float], alpha: float) -> set[str]:
    """Return the questions whose tests reject, by Holm's rule over those that have a test."""
    known = {name: p for name, p in p_values.items() if np.isfinite(p)}
    adjusted = holm(np.array([*known.values()]))
    return {name for name, p in zip(known, adjusted, strict=True) if p <= alpha}


def _decided(change: Change, lack: str, *, rejected: bool, few_deals: bool) -> Change:
    """Return the change with its word, and with the reason where something cannot be said.

    ``lack``: why the question cannot be answered at all, or empty. ``few_deals``: no data of this
    size could open the gate at the level of an early look.
    """
    few = "few_swaps" if few_deals else ""
    if not np.isfinite(change.low):
        few = "too_few_units"
    if change.word == "equivalent" and not lack:
        return change
    change = replace(change, why=lack or few)
    if rejected:
        return _on_one_side(replace(change, word="effect"))
    return replace(change, word="undecided")


def _on_one_side(change: Change) -> Change:
    """Return the change with an interval that does not pass 0.

    The test rejects "no change", so nothing on the other side of 0 is left. Where nearly all units
    move equally, the interval is an exact bound that ignores the test and passes 0.
    """
    if change.value > 0:
        return replace(change, low=max(change.low, 0.0))
    return replace(change, high=min(change.high, 0.0))


def _same_cells(first: Cells, second: Cells) -> bool:
    """Return whether two runs hold the same replies; ``cells`` sorts them by content."""
    return all(
        np.array_equal(getattr(first, part), getattr(second, part))
        for part in ("shown", "count", "mean")
    )


def _gate(moved: dict[str, Floats]) -> Gate:
    """Test the sharp null exactly: the two runs of each unit are exchanged or not."""
    parts = [np.nan_to_num(part) for part in moved.values()]
    ends = np.cumsum([part.shape[1] for part in parts])
    dealt = deal(Swaps(np.concatenate(parts, axis=1)))
    level, lean, contrast, noise = np.split(dealt.sums, ends[:-1], axis=1)
    directions = {
        name: np.abs(standardised(part)).max(axis=1, initial=0.0)
        for name, part in (("level", level), ("contrast", contrast), ("noise", noise))
    }
    directions["lean"] = np.square(lean).sum(axis=1)
    return together(directions, WEIGHTS, dealt.exact)
