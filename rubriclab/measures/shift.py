"""Say by how many points the order changes the mean score and single scores.

A single score changes with the order and with the judge's own noise; the same order asked twice
tells them apart.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from rubriclab.core.cells import line, turn
from rubriclab.core.estimate import (
    Estimate,
    Opaque,
    Reach,
    Rule,
    Student,
    mean_over,
    missing,
    ratio,
)
from rubriclab.core.judgments import Arm, once
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.debias import row_means
from rubriclab.stats.mean_contrasts import extremes, order_cells, over_texts, within_texts
from rubriclab.stats.noise import differences, within_item_sd
from rubriclab.stats.resample import Bools, Floats, Ints, distinct, sum_by

CHARTS = (Chart("forest", "line"), Chart("forest", "order_excess"))
MOSTLY = 0.9
"""From this share of parsed replies with token probabilities on, probability-weighted scores are
worth a row.
"""
SAME = 1e-9
"""Points up to which two mean scores are the same."""
ENOUGH = 0.5
"""From this share of items with repeats on, an arm sizes its own noise; else another arm of its
setting may.
"""


@topic("shift", axes={"options", "bare", "examples"}, charts=CHARTS)
def shift(arm: Arm) -> Iterator[Row]:
    if arm.condition.reorder != "bare":  # else the judge's own noise is all there is
        yield from contrasts(arm, arm.rows, arm.value, ("line", "turn"))
        given = arm.ok & np.isfinite(arm.expected)
        if given.sum() > MOSTLY * arm.ok.sum() and not row_means(arm.mass[None, given])[0] < 0.5:
            yield from contrasts(arm, given, arm.expected, ("line_expected",))
        yield from reversed_list(arm)
        yield largest_gap(arm)
    yield from single_scores(arm)
    yield spread(arm)


def contrasts(
    arm: Arm, kept: Bools | Ints | slice, value: Floats, measures: tuple[str, ...]
) -> Iterator[Row]:
    """Yield line (ascending - descending) and turn (forward - backward, wherever a list begins).

    Each order of a text counts once.

    ``kept``: which judgments; ``value``: (rows,), what they are. The contrasts of
    ``core/verdict.py``, for this arm alone and with names of units, so that two arms can be
    compared.
    """
    cells = order_cells(arm.text[arm.item[kept]], arm.order[kept], value[kept], len(arm.shown))
    span, reach = float(np.ptp(arm.scores)), 0.0
    counts = {"n": len(arm.order[kept])}
    alone = arm.condition.drawn and arm.texts > 1 and bool((np.bincount(cells.text) <= 1).all())
    for measure in measures:
        direction = turn(arm.shown) if measure == "turn" else line(arm.shown)
        if not len(cells.text):
            estimate = missing("nothing_parsed")
        elif alone:  # one drawn order per text: texts are compared with each other, by HC3
            estimate = missing("single_order" if arm.single_order else "too_few_units")
            if (fitted := over_texts(cells, direction, span)) is not None:
                slope, influence, most = fitted
                unit, code = distinct(arm.text_unit[cells.text], arm.units)
                moves = sum_by(code, influence, len(unit)) * len(unit)
                estimate = Estimate(
                    slope, moves - moves.mean(), arm.unit_names[unit], Reach(most, moves)
                )
        elif (contrast := within_texts(cells, direction, arm.texts, span)) is None:
            several = bool((np.bincount(cells.text) > 1).any())
            estimate = missing(arm.lacking("no_contrast" if several else "no_two_orders"))
        else:
            reach = max(reach, contrast.reach)
            top, bottom = (
                sum_by(arm.text_unit, part, arm.units) for part in (contrast.top, contrast.bottom)
            )
            estimate = ratio(top, bottom, arm.unit_names, partial(Reach, reach))
        yield Row(measure, estimate, counts=counts)


def reversed_list(arm: Arm) -> Iterator[Row]:
    """Yield the list as the scale runs minus its reverse, from the calls in these two orders.

    There is no row without both.

    ``counts``: of ``n`` items judged in both, how many have another mean score in one than in the
    other (``changed``); of those asked twice in one of the two (``again``), how many then got two
    scores in the same order (``noisy``).
    """
    ascending = (arm.shown == np.arange(arm.positions)).all(axis=1)
    descending = (arm.shown == np.arange(arm.positions)[::-1]).all(axis=1)
    if arm.positions < 2 or not (ascending.any() and descending.any()):
        return
    kept = np.arange(len(arm.item))[arm.rows]
    means, again, noisy = [], np.zeros(arm.items, dtype=bool), np.zeros(arm.items, dtype=bool)
    for order in (int(ascending.argmax()), int(descending.argmax())):
        calls = kept[arm.order[kept] == order]
        count = np.bincount(arm.item[calls], minlength=arm.items)
        total = np.bincount(arm.item[calls], arm.value[calls], arm.items)
        with np.errstate(invalid="ignore"):
            mean = total / count
        apart = np.abs(arm.value[calls] - mean[arm.item[calls]]) > SAME
        again |= count > 1
        noisy |= np.bincount(arm.item[calls], apart, arm.items) > 0
        means.append(mean)
    difference = means[0] - means[1]
    held = np.isfinite(difference)
    counts = {
        "n": int(held.sum()),
        "changed": int((np.abs(difference[held]) > SAME).sum()),
        "again": int((again & held).sum()),
        "noisy": int((noisy & held).sum()),
    }
    rule = partial(Reach, float(np.ptp(arm.scores)))
    estimate = mean_over(difference, arm.unit, arm.unit_names, rule, none="no_two_orders")
    yield Row("reversed_list", estimate, counts=counts)


def largest_gap(arm: Arm) -> Row:
    """Return the highest minus the lowest mean score of an order, without the luck of the choice.

    ``counts``: ``seen``, the plain difference of the two means, which is larger by that luck.
    """
    counts = {"n": int(arm.ok.sum())}
    lacking = arm.lacking("")
    if lacking:
        return Row("largest_gap", missing(lacking), counts=counts)
    kept = arm.rows
    # What an order lists, in points: examples have none, and are told apart by their numbers.
    listed = arm.scores
    if arm.condition.reorder == "examples":
        listed = np.arange(arm.positions, dtype=np.float64)
    made = extremes(
        arm.item[kept], arm.order[kept], arm.value[kept], arm.unit, arm.units, arm.shown, listed
    )
    if made is None:
        return Row("largest_gap", missing("too_few_units"), counts=counts)
    highest, lowest = (
        " ".join(str(arm.names[s]) for s in order) for order in (made.highest, made.lowest)
    )
    estimate = Estimate(
        made.value, np.broadcast_to(0.0, arm.units), arm.unit_names, Opaque(made.interval)
    )
    more = {
        "highest": highest,
        "lowest": lowest,
        "modelled": made.modelled,
        "seen": _gap_seen(arm),
    }
    return Row("largest_gap", estimate, counts=counts | more)


def _gap_seen(arm: Arm) -> float:
    """Return the largest difference of two orders' mean scores.

    NaN where orders were not asked about the same items.
    """
    kept = arm.rows
    cells = order_cells(arm.item[kept], arm.order[kept], arm.value[kept], len(arm.shown))
    asked = np.bincount(cells.order, minlength=len(arm.shown))
    if (asked < MOSTLY * arm.items).any():
        return float("nan")
    means = np.bincount(cells.order, cells.mean) / asked
    return float(np.ptp(means))


CHANGES = ("order_change", "repeat_change", "order_excess")


def single_scores(arm: Arm, measures: tuple[str, str, str] = CHANGES) -> Iterator[Row]:
    """Yield how far two scores of an item are apart: in other orders, in the same, and the excess.

    For choices: how often two calls name different winners, a tie being one of its own. Each text
    counts once whatever its calls. ``measures`` names the rows; ``from``: the strategy whose
    repeats size the noise.
    """
    apart, own = changes(arm)
    nothing = arm.lacking("no_two_orders")
    same, source = noise_of(arm) if np.isfinite(apart).any() else (own, arm.condition.strategy)

    def row(measure: str, values: Floats, why: str) -> Row:
        return _over_texts(
            arm,
            measure,
            values,
            why,
            "" if measure == measures[0] else source,
            measure == measures[2],
        )

    yield from beside_noise(measures, apart, same, arm.texts, row, nothing)
    yield result_change(arm)


def result_change(arm: Arm) -> Row:
    """Return the share of two calls of an answer, in different orders, that say something else.

    One yardstick for all that can be asked: another score, or another winner. The judge's own noise
    is part of it (Xu et al. v2, Figure 1).
    """
    kept = arm.rows
    request = arm.repeat[kept].astype(np.int64) if arm.condition.packed else None
    several = arm.positions + 1 if arm.condition.chooses else len(arm.scores)
    apart = differences(
        arm.item[kept], arm.order[kept], arm.score[kept], several, arm.items, request
    )[0]
    values = _by_text(arm, apart)
    rule = partial(Reach, 1.0, least=0.0, most=1.0)
    why = arm.lacking("no_two_orders")
    estimate = mean_over(values, arm.text_unit, arm.unit_names, rule, none=why)
    return Row("result_change", estimate, counts={"n": int(np.isfinite(values).sum())})


def beside_noise(
    measures: tuple[str, str, str],
    change: Floats,
    same: Floats,
    texts: int,
    row: Callable[[str, Floats, str], Row],
    nothing: str,
    silent: str = "no_repeats",
) -> Iterator[Row]:
    """Yield rows of a change (n,), of that between calls in the same order, and of the excess.

    NaN where not known. The excess is over what knows both; all three are where ENOUGH of ``texts``
    do, so that they add up. ``row``: of a measure, its values, and why there are none; ``nothing``:
    why no change is known, ``silent``: why no noise.
    """
    known = np.isfinite(change - same)
    changed, repeated = np.isfinite(change).any(), np.isfinite(same).any()
    few = known.sum() < ENOUGH * texts or not known.any()
    yield row(measures[0], change if few else np.where(known, change, np.nan), nothing)
    yield row(
        measures[1],
        np.where(known, same, np.nan) if known.any() else same,
        silent if changed else nothing,
    )
    if not changed:
        why = nothing
    elif repeated:
        why = "noise_elsewhere"
    else:
        why = silent
    yield row(measures[2], change - same, why)


@once
def changes(arm: Arm) -> tuple[Floats, Floats]:
    """Return (texts,) each the mean |difference| of two calls in other orders, and in the same.

    In points.
    NaN where a text has no such calls. Of several criteria in one call: the mean over those that
    have them.
    """
    kept = arm.rows
    scores = arm.positions + 1 if arm.condition.chooses else arm.scores
    request = arm.repeat[kept].astype(np.int64) if arm.condition.packed else None
    apart = differences(
        arm.item[kept], arm.order[kept], arm.score[kept], scores, arm.items, request
    )
    return _by_text(arm, apart[0]), _by_text(arm, apart[1])


def _by_text(arm: Arm, values: Floats) -> Floats:
    known = np.isfinite(values)
    count = np.bincount(arm.text[known], minlength=arm.texts)
    total = np.bincount(arm.text[known], values[known], arm.texts)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def noise_of(arm: Arm) -> tuple[Floats, str]:
    """Return (texts,) the change in the same order, and the strategy it was measured under.

    "" where no order was asked twice.

    The arm's own where ENOUGH of its texts have it, else that of the arm of its setting that knows
    it of most texts whose change is known.
    """
    apart, own = changes(arm)
    candidates = [(own, arm.condition.strategy)]
    if np.isfinite(own).sum() < ENOUGH * arm.texts or not np.isfinite(own).any():
        for control in arm.controls()[1:]:
            whole = np.full(len(arm.run.items), np.nan)
            whole[control.text_code] = changes(control)[1]
            candidates.append((whole[arm.text_code], control.condition.strategy))
    same, source = max(
        candidates,
        key=lambda pair: (np.isfinite(pair[0] + apart).sum(), np.isfinite(pair[0]).sum()),
    )
    return same, source if np.isfinite(same).any() else ""


def _over_texts(
    arm: Arm, measure: str, values: Floats, why: str, source: str = "", beyond_noise: bool = False
) -> Row:
    """Return the mean over the texts that have a value.

    An excess scatters to one side: most texts not at all, and some far.
    """
    rule: Callable[[Floats], Rule] = partial(
        Student,
        step=arm.step,
        lopsided=beyond_noise,
        beyond_noise=beyond_noise,
        positive=not beyond_noise,
    )
    if arm.condition.chooses:
        rule = partial(Reach, 1.0, least=-1.0 if beyond_noise else 0.0, most=1.0)
    estimate = mean_over(values, arm.text_unit, arm.unit_names, rule, none=why)
    n = int(np.isfinite(values).sum())
    return Row(measure, estimate, counts={"n": n} | ({"from": source} if source and n else {}))


def spread(arm: Arm) -> Row:
    """Return the mean over items of the standard deviation of an item's scores over its calls.

    Source: Xu et al. v1, Table 3.
    """
    values = within_item_sd(arm.item[arm.rows], arm.value[arm.rows], arm.items)
    why = "no_repeats" if arm.ok.any() else "nothing_parsed"
    return _over_texts(arm, "within_item_sd", _by_text(arm, values), why)
