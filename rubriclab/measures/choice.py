"""One arm in; the odds with which a position, a label or the score listed just before is chosen out
(method: section 7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rubriclab.core.estimate import Estimate, Opaque, missing
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.choice import fit_choice, layout


@topic("choice", axes={"options"}, charts=(Chart("forest", "position_odds"),))
def choice(arm: Arm) -> Iterator[Row]:
    """Odds against the average level, an option's own worth held constant; of labels where they do
    not hang on the score.

    exp of log-odds, with the ends of Student's interval of them. Measured:
    ``docs/method-check.md``.
    """
    shown = [arm.run.orderings[k].labels for k in arm.order_code]
    names, labels = sorted({label for row in shown for label in row}), None
    if names and {len(row) for row in shown} == {arm.positions}:
        labels = np.array([[names.index(label) for label in row] for row in shown], dtype=np.int64)
    whole = arm.shown[:, 0] >= 0
    kept = np.flatnonzero(arm.ok & whole[arm.order])
    fit = fit_choice(
        layout(np.where(whole[:, None], arm.shown, np.arange(arm.positions)), labels),
        arm.item[kept],
        arm.order[kept],
        arm.score[kept],
        arm.unit,
    )
    counts = {"n": len(kept)}
    if not fit.effects:
        yield Row("position_odds", missing(fit.why), {"position": 1}, counts=counts)
        return
    levels: dict[str, tuple[str, str, Sequence[Any]]] = {
        "position": ("position_odds", "position", range(1, arm.positions + 1)),
        "neighbour": ("neighbour", "before", arm.names),
        "label": ("label_odds", "label", names),
    }
    for effect, made in fit.effects.items():
        measure, field, every = levels[effect]
        for k, level in enumerate(every):
            influence, why = made.influence[:, k], ""
            if not np.isfinite(influence).all():
                influence, why = np.zeros(len(influence)), "too_few_units"
            logs = Estimate(float(made.log_odds[k]), influence, arm.unit_names[fit.units], why=why)
            value = float(np.exp(logs.value))
            estimate = replace(
                logs,
                value=value,
                influence=logs.influence * value,
                rule=Opaque(partial(_ends, logs)),
            )
            yield Row(measure, estimate, {field: level}, counts=counts)


def _ends(logs: Estimate, level: float) -> tuple[float, float]:
    low, high = np.exp(logs.interval(level))
    return float(low), float(high)
