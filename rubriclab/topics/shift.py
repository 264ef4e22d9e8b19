"""By how many points the order changes scores: the mean (two contrasts, the largest gap), and the single score.

A single score changes with the order and with the judge's own noise; the same order asked twice tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rubriclab.core.answers import line, turn
from rubriclab.core.arm import Arm
from rubriclab.core.estimate import Estimate, Rule, missing, ratio
from rubriclab.core.intervals import Opaque, Reach, Student
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.noise import differences, within_item_sd
from rubriclab.stats.resample import Bools, Floats, sum_by
from rubriclab.stats.shift import OrderCells, extremes, order_cells, over_texts, within_texts

CHARTS = (Chart("forest", "line"), Chart("forest", "order_excess"))
MOSTLY = 0.9
"""From this share of parsed replies with token probabilities on, probability-weighted scores are worth a row."""
ENOUGH = 0.5
"""From this share of items with repeats on, an arm sizes its own noise; else another arm of its setting may."""


@topic("shift", axes={"options", "bare"}, charts=CHARTS)
def shift(arm: Arm) -> Iterator[Row]:
    if arm.condition.reorder == "bare":  # nothing is listed: the judge's own noise is all there is
        yield from single_scores(arm)
        yield spread(arm)
        return
    yield from contrasts(arm, arm.ok, arm.value, ("line", "turn"))
    given = arm.ok & np.isfinite(arm.expected)
    if given.any() and given.sum() > MOSTLY * arm.ok.sum() and not mean_of_known(arm.mass[given]) < 0.5:
        yield from contrasts(arm, given, arm.expected, ("line_expected",))
    yield largest_gap(arm)
    yield from single_scores(arm)
    yield spread(arm)


def mean_of_known(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


# ------------------------------------------------------------------------------------------------------ the mean score
def contrasts(arm: Arm, kept: Bools, value: Floats, measures: tuple[str, ...]) -> Iterator[Row]:
    """Line: ascending - descending; turn: forward - backward, wherever a list begins. Each order of a text counts once.

    ``kept``, ``value``: (rows,), which judgments and what they are. The contrasts of ``core/verdict.py``, of this arm
    alone and with names of units, so that two arms can be held against each other.
    """
    cells = order_cells(arm.text[arm.item[kept]], arm.order[kept], value[kept], len(arm.shown))
    span, reach = float(np.ptp(arm.scores)), 0.0
    counts = {"n": int(kept.sum())}
    alone = arm.condition.drawn and arm.texts > 1 and bool((np.bincount(cells.text) <= 1).all())
    for measure in measures:
        direction = turn(arm.shown) if measure == "turn" else line(arm.shown)
        if not len(cells.text):
            estimate = missing("nothing_parsed")
        elif alone:
            estimate = _between_texts(arm, cells, direction, span)
        elif (contrast := within_texts(cells, direction, arm.texts, span)) is None:
            several = bool((np.bincount(cells.text) > 1).any())
            estimate = missing("single_order" if arm.single_order else "no_contrast" if several else "no_two_orders")
        else:
            reach = max(reach, contrast.reach)
            top, bottom = (sum_by(arm.text_unit, part, arm.units) for part in (contrast.top, contrast.bottom))
            estimate = ratio(top, bottom, arm.unit_names, _reaching(reach))
        yield Row(measure, estimate, counts=counts)


def _reaching(reach: float) -> Callable[[Floats], Rule]:
    def rule(moves: Floats) -> Reach:
        return Reach(reach, moves)

    return rule


def _between_texts(arm: Arm, cells: OrderCells, direction: Floats, span: float) -> Estimate:
    """One drawn order a text: texts are held against each other, by HC3."""
    fitted = over_texts(cells, direction, span)
    if fitted is None:
        return missing("single_order")
    slope, influence, reach = fitted
    unit, code = np.unique(arm.text_unit[cells.text], return_inverse=True)
    moves = sum_by(code, influence, len(unit)) * len(unit)
    return Estimate(slope, moves - moves.mean(), arm.unit_names[unit], Reach(reach, moves))


def largest_gap(arm: Arm) -> Row:
    """The order with the highest mean score less the one with the lowest, without the luck of having chosen them."""
    counts = {"n": int(arm.ok.sum())}
    if not counts["n"] or arm.single_order:
        return Row("largest_gap", missing("single_order" if counts["n"] else "nothing_parsed"), counts=counts)
    kept = arm.rows
    made = extremes(arm.item[kept], arm.order[kept], arm.value[kept], arm.unit, arm.units, arm.shown, arm.scores)
    if made is None:
        return Row("largest_gap", missing("too_few_units"), counts=counts)
    orders = {
        name: " ".join(str(arm.names[s]) for s in order)
        for name, order in (("highest", made.highest), ("lowest", made.lowest))
    }
    nothing = np.broadcast_to(0.0, arm.units)
    estimate = Estimate(made.value, nothing, arm.unit_names, Opaque(made.interval))
    return Row("largest_gap", estimate, counts={**counts, **orders, "modelled": made.modelled})


# --------------------------------------------------------------------------------------------------------- single scores
CHANGES = ("order_change", "repeat_change", "order_excess")


def single_scores(arm: Arm, measures: tuple[str, str, str] = CHANGES) -> Iterator[Row]:
    """How far two scores of one item lie apart in different orders, in the same order, and how much of it is the order's.

    Of choices: how often two calls name different winners, a tie being one of its own; ``measures`` names the rows. By text, each counts once whatever its calls; all three over the same texts where ENOUGH of them know their noise.
    ``from``: the strategy whose repeats size the noise.
    """
    apart, own = changes(arm)
    same, source = noise_of(arm, own)
    known = np.isfinite(apart - same) if source else np.isfinite(apart)
    change, repeat, excess = measures
    nothing = "nothing_parsed" if not arm.ok.any() else "single_order" if arm.single_order else "no_two_orders"
    if not known.any() and np.isfinite(own).any():
        yield Row(change, missing(nothing), counts={"n": 0})
        yield _over_texts(arm, repeat, own, arm.condition.strategy)
        yield Row(excess, missing(nothing), counts={"n": 0})
        return
    if not known.any():
        for measure in measures:
            yield Row(measure, missing(nothing), counts={"n": 0})
        return
    few = known.sum() < ENOUGH * arm.texts
    yield _over_texts(arm, change, apart if few else np.where(known, apart, np.nan))
    if not source:
        yield Row(repeat, missing("no_repeats"), counts={"n": 0})
        yield Row(excess, missing("no_repeats"), counts={"n": 0})
        return
    yield _over_texts(arm, repeat, np.where(known, same, np.nan), source)
    yield _over_texts(arm, excess, apart - same, source, beyond_noise=True)


def changes(arm: Arm) -> tuple[Floats, Floats]:
    """(texts,) each, in points: mean |difference| of two calls in different orders, and in the same order.

    NaN where a text has no such calls. Of several criteria in one call: the mean over those that have them.
    """
    kept = arm.rows
    scores = 1.0 - np.eye(arm.positions + 1) if arm.condition.chooses else arm.scores
    apart = differences(arm.item[kept], arm.order[kept], arm.score[kept], scores, arm.items)
    return _by_text(arm, apart.other), _by_text(arm, apart.same)


def _by_text(arm: Arm, values: Floats) -> Floats:
    known = np.isfinite(values)
    count = np.bincount(arm.text[known], minlength=arm.texts)
    total = np.bincount(arm.text[known], values[known], arm.texts)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def noise_of(arm: Arm, own: Floats) -> tuple[Floats, str]:
    """((texts,) change in the same order, the strategy it was measured under; "" where no order was asked twice).

    The arm's own where ENOUGH of its texts have it, else that of the arm of its setting that knows most texts.
    """
    candidates = [(own, arm.condition.strategy)]
    if np.isfinite(own).sum() < ENOUGH * arm.texts or not np.isfinite(own).any():
        for control in arm.controls()[1:]:
            whole = np.full(len(arm.run.items), np.nan)
            whole[control.text_code] = changes(control)[1]
            candidates.append((whole[arm.text_code], control.condition.strategy))
    known = [int(np.isfinite(values).sum()) for values, _ in candidates]
    best = int(np.argmax(known))
    return (candidates[best][0], candidates[best][1]) if known[best] else (own, "")


def _over_texts(arm: Arm, measure: str, values: Floats, source: str = "", *, beyond_noise: bool = False) -> Row:
    """The mean over the texts that have a value; an excess scatters to one side, most texts not at all and some far."""
    known = np.isfinite(values)
    unit = arm.text_unit[known]
    top, count = sum_by(unit, values[known], arm.units), sum_by(unit, known[known], arm.units)

    def rule(moves: Floats) -> Rule:
        if arm.condition.chooses:
            return Reach(1.0, moves, least=-1.0 if beyond_noise else 0.0, most=1.0)
        return Student(
            step=arm.step, moves=moves, lopsided=beyond_noise, beyond_noise=beyond_noise, positive=not beyond_noise
        )

    estimate = ratio(top, count, arm.unit_names, rule)
    return Row(measure, estimate, counts={"n": int(known.sum())} | ({"from": source} if source else {}))


def spread(arm: Arm) -> Row:
    """Standard deviation of an item's scores over its calls, mean over items (Xu et al. v1, Table 3)."""
    kept = arm.rows
    values = within_item_sd(arm.item[kept], arm.value[kept], arm.items)
    if not np.isfinite(values).any():
        return Row("within_item_sd", missing("no_repeats" if arm.ok.any() else "nothing_parsed"), counts={"n": 0})
    return _over_texts(arm, "within_item_sd", _by_text(arm, values))
