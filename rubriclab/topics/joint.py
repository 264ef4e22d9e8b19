"""Criteria scored in one call: does a criterion's position change its score (Xu et al. v2, setting 2)?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from rubriclab.core.arm import Arm
from rubriclab.core.estimate import Estimate, jackknife, missing, plain, simultaneous
from rubriclab.core.intervals import Student
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats import joint as stats
from rubriclab.stats.resample import Bools, Floats, crossed, distinct, sum_by
from rubriclab.stats.tests import friedman, holm
from rubriclab.topics.shift import contrasts, single_scores

CHARTS = (
    Chart("cells", "position_shift", by="position", across="target"),
    Chart("forest", "first_minus_last", by="target"),
)


@topic("joint", axes={"criteria"}, charts=CHARTS)
def joint(arm: Arm) -> Iterator[Row]:
    counts, sums = tables(arm)
    yield from shifts(arm, counts, sums)
    yield from extremes_of_positions(arm, counts, sums)
    yield from neighbours(arm)
    yield from contrasts(arm, complete(arm), arm.value, ("turn",))
    yield from single_scores(arm)


def tables(arm: Arm) -> tuple[Floats, Floats]:
    """(texts, criteria, positions): how many scores, and their sum."""
    kept = arm.rows
    item = arm.item[kept]
    cells = arm.text[item], arm.texts, arm.target[item], len(arm.names), arm.position[kept], arm.positions
    return crossed(*cells), crossed(*cells, weights=arm.value[kept])


def complete(arm: Arm) -> Bools:
    """(rows,): judgments of calls in which every criterion was scored."""
    call = distinct(arm.call.astype(np.int64), int(arm.call.max(initial=-1)) + 1)[1]
    return np.asarray(np.bincount(call, arm.ok)[call] == len(arm.names)) & arm.ok if len(call) else arm.ok


def shifts(arm: Arm, counts: Floats, sums: Floats) -> Iterator[Row]:
    """Mean at a position less the criterion's mean; first less last position. Each table's intervals hold at once."""
    by_unit = [sum_by(arm.text_unit, part, arm.units) for part in (sums, counts)]
    scored = by_unit[1].sum(axis=2) > 0
    positions = counts.sum(axis=0) > 0
    why = "nothing_parsed" if not counts.any() else "single_order" if arm.single_order else "missing_cells"
    rule = Student(least=arm.step)
    found_shifts, found_ends = [], []
    for k, name in enumerate(arm.names):
        parts = [part[:, k] for part in by_unit]
        each = jackknife(stats.position_shifts, parts, arm.unit_names, known=scored[:, k], rule=rule, light=True)
        moved = positions[k].sum() > 1  # else its shift is 0 by definition
        for p, estimate in enumerate(each):
            made = estimate if moved and np.isfinite(estimate.value) else missing(why)
            n = {"n": int(counts[:, k, p].sum())}
            found_shifts.append(Row("position_shift", made, {"target": name, "position": p + 1}, counts=n))
        (end,) = jackknife(_first_minus_last, parts, arm.unit_names, known=scored[:, k], rule=rule)
        made = end if arm.positions > 1 and np.isfinite(end.value) else missing(why)
        n = {"n": int(counts[:, k].sum())}
        found_ends.append(Row("first_minus_last", made, {"target": name}, counts=n))
    for rows in (found_shifts, found_ends):
        level = simultaneous([row.estimate for row in rows if not row.estimate.why])
        yield from (Row(row.measure, row.estimate, row.of, counts=row.counts, level=level) for row in rows)


def _first_minus_last(sums: Floats, counts: Floats) -> Floats:
    means = stats.position_means(sums, counts)
    return np.asarray(means[..., :1] - means[..., -1:])


def extremes_of_positions(arm: Arm, counts: Floats, sums: Floats) -> Iterator[Row]:
    """Delta Pos as in the paper, and Friedman's test, by criterion."""
    delta = stats.delta_pos(sums.sum(axis=0), counts.sum(axis=0))
    shown = [counts[:, k].sum(axis=0) > 0 for k in range(len(arm.names))]
    cells = [stats.position_means(sums[:, k][:, seen], counts[:, k][:, seen]) for k, seen in enumerate(shown)]
    tests = [friedman(part) for part in cells]
    adjusted = holm(np.array([test.p for test in tests]))
    why = "nothing_parsed" if not counts.any() else "single_order" if arm.single_order else "undefined"
    for k, (name, test) in enumerate(zip(arm.names, tests, strict=True)):
        of = {"target": name}
        n = {"n": int(counts[:, k].sum())}
        made = plain(float(delta[k]), "maximum") if np.isfinite(delta[k]) else missing(why)
        yield Row("delta_pos", made, of, counts=n)
        known = np.isfinite(test.statistic)
        yield Row(
            "friedman",
            plain(test.statistic, "statistic") if known else missing(why),
            of,
            test=("Friedman", test.p) if known else None,
            counts={"n": test.blocks, "left_out": test.excluded, "p_holm": float(adjusted[k])},
        )


def neighbours(arm: Arm) -> Iterator[Row]:
    """What the criterion scored just before adds to the next score, against the mean of all predecessors."""
    kept = arm.rows
    item, position, order = arm.item[kept], arm.position[kept], arm.order[kept]
    n = len(arm.names)
    before = np.where(position > 0, arm.shown[order, np.maximum(position - 1, 0)], n)
    fitted = (
        stats.carryover(
            arm.text[item], arm.target[item], position, before, arm.value[kept], texts=arm.texts, criteria=n
        )
        if len(item)
        else None
    )
    if fitted is None:
        yield Row("carryover", missing("not_separable" if len(item) else "nothing_parsed"))
        return
    scored = np.flatnonzero(np.bincount(arm.text[item], minlength=arm.texts))
    unit, code = distinct(arm.text_unit[scored], arm.units)
    influence = sum_by(code, fitted.parts[scored], len(unit)) * len(unit)
    for k, name in enumerate(arm.names):
        estimate = Estimate(float(fitted.effect[k]), influence[:, k], arm.unit_names[unit], Student())
        t = estimate.value / estimate.error if estimate.error > 1e-9 else float("nan")
        p = float(2 * special.stdtr(len(unit) - 1, -abs(t)))
        test = ("t", p) if np.isfinite(p) else None
        counts = {"n": len(scored), "by_criterion": fitted.by_criterion}
        yield Row("carryover", estimate, {"before": name}, test=test, counts=counts)
