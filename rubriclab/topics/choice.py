"""One arm in; the odds with which a position, a label or the score listed just before is chosen out (method: section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rubriclab.core.arm import Arm
from rubriclab.core.estimate import Estimate, missing
from rubriclab.core.intervals import Opaque, Student
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.choice import fit_choice, layout
from rubriclab.stats.resample import Floats, Ints

MEASURES = {"position": "position_odds", "neighbour": "neighbour", "label": "label_odds"}


@topic("choice", axes={"options"}, charts=(Chart("forest", "position_odds"),))
def choice(arm: Arm) -> Iterator[Row]:
    """Odds against the average level, an option's own worth held constant; of labels where they do not hang on the score."""
    names, labels = label_codes(arm)
    whole = arm.shown[:, 0] >= 0
    kept = np.flatnonzero(arm.ok & whole[arm.order])
    fit = fit_choice(
        layout(np.where(whole[:, None], arm.shown, np.arange(arm.positions)), labels),
        arm.item[kept], arm.order[kept], arm.score[kept], arm.unit,
    )  # fmt: skip
    counts = {"n": len(kept)}
    if not fit.effects:
        yield Row("position_odds", missing(fit.why), {"position": 1}, counts=counts)
        return
    levels: dict[str, tuple[str, list[Any]]] = {
        "position": ("position", list(range(1, arm.positions + 1))),
        "neighbour": ("before", list(arm.names)),
        "label": ("label", names),
    }
    for effect, made in fit.effects.items():
        field, every = levels[effect]
        for k, level in enumerate(every):
            estimate = odds(float(made.log_odds[k]), made.influence[:, k], arm.unit_names[fit.units])
            yield Row(MEASURES[effect], estimate, {field: level}, counts=counts)


def odds(log_odds: float, influence: Floats, names: Any) -> Estimate:
    """exp of a log-odds, with the ends of Student's interval of it: held in 0.92 to 0.97 of 600 studies a cell of 30 and 100
    items of mixed logit and ordinal judges, positions and neighbours (``benchmarks/helps.py``)."""
    plain = Estimate(log_odds, influence, names, Student())

    def ends(level: float) -> tuple[float, float]:
        low, high = np.exp(plain.interval(level))
        return float(low), float(high)

    return Estimate(float(np.exp(log_odds)), influence * np.exp(log_odds), names, Opaque(ends))


def label_codes(arm: Arm) -> tuple[list[str], Ints | None]:
    """(labels, their code at each position in each order); None where orderings name none."""
    shown = [arm.run.orderings[k].labels for k in arm.order_code]
    names = sorted({label for row in shown for label in row})
    if not names or {len(row) for row in shown} != {arm.positions}:
        return [], None
    return names, np.array([[names.index(label) for label in row] for row in shown], dtype=np.int64)
