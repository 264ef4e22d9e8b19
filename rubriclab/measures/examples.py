"""Say how scores move with which example is at which position.

Whether that is an effect is decided in ``core/verdict.py``: there the score's slope on the label at
each position is tested. The rows here are the picture of it, and what is left where examples have
no labels. Recency, a pull towards the last examples, was described by Zhao et al. 2021 (Calibrate
Before Use, ICML).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from rubriclab.core.cells import not_told_apart
from rubriclab.core.estimate import Reach, mean_over, simultaneous
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.model.judgment import Condition
from rubriclab.stats.mean_contrasts import order_cells
from rubriclab.stats.resample import Ints

CHARTS = (Chart("cells", "example_shift", by="position", across="example"),)


@topic("examples", axes={"examples"}, charts=CHARTS)
def examples(arm: Arm) -> Iterator[Row | Caution]:
    yield from shifts(arm)
    if not arm.condition.labels:
        yield Caution("no_labels")
        return
    close = not_told_apart(arm.shown, np.asarray(arm.condition.labels))
    if close:
        one, other, r = close[0]
        yield Caution("positions_together", of={"one": one + 1, "other": other + 1, "r": r})


def kinds_of(condition: Condition) -> tuple[tuple[str, ...], Ints]:
    """Return the names of the kinds of examples, and (n,) the kind of each example.

    Examples of one label are one kind, the lowest label first. Without labels each is its own.
    """
    if not condition.labels:
        count = condition.positions
        return tuple(f"example {k}" for k in range(1, count + 1)), np.arange(count)
    values, kind = np.unique(np.asarray(condition.labels), return_inverse=True)
    if condition.passages:
        names = tuple("with the answer" if value else "without it" for value in values)
    else:
        names = tuple(f"label {value:g}" for value in values)
    return names, kind.ravel()


def shifts(arm: Arm) -> Iterator[Row]:
    """Yield each answer's mean score with a kind of example at a position, minus its own mean.

    Each order of an answer counts once, and each answer once. The intervals hold all at once.
    """
    names, kind = kinds_of(arm.condition)
    kept = arm.rows
    cells = order_cells(arm.item[kept], arm.order[kept], arm.value[kept], len(arm.shown))
    orders = np.bincount(cells.text, minlength=arm.items)
    own = np.bincount(cells.text, cells.mean, arm.items) / np.maximum(orders, 1)
    away = cells.mean - own[cells.text]
    rule = partial(Reach, float(np.ptp(arm.scores)))
    made: list[Row] = []
    for code, name in enumerate(names):
        for position in range(arm.positions):
            at = kind[arm.shown[cells.order, position]] == code
            seen = np.bincount(cells.text[at], minlength=arm.items)
            moved = np.bincount(cells.text[at], away[at], arm.items)
            # An answer that was asked in one order alone cannot move.
            known = (seen > 0) & (orders > 1)
            values = np.where(known, moved / np.maximum(seen, 1), np.nan)
            estimate = mean_over(
                values, arm.unit, arm.unit_names, rule, none=arm.lacking("no_two_orders")
            )
            of = {"example": name, "position": position + 1}
            made.append(Row("example_shift", estimate, of, counts={"n": int(known.sum())}))
    known_rows = [row.estimate for row in made if not row.estimate.why]
    level = simultaneous(known_rows, level=arm.level) if known_rows else arm.level
    yield from (replace(row, level=level) for row in made)
