"""Say whether the probabilities that a judge gives to scores come true, by order.

This is for any judge whose replies have probabilities. What comes true is what a person gave; each
of several raters counts as a share. Ratings between two scores of the scale are left out.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from rubriclab.core.estimate import Estimate, Reach, Student, mean_over, ratio, simultaneous
from rubriclab.core.judgments import Arm, score_index
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.measures.people import MOST_ORDERS
from rubriclab.measures.rated import ENOUGH, rated
from rubriclab.stats.resample import Bools, Floats, Ints, sum_by

BINS = 10
EPSILON = float(np.finfo(np.float64).eps)
"""Replaces a probability of 0 in the log loss, as in scikit-learn."""


@topic(
    "calibration",
    axes={"options"},
    charts=(Chart("curve", "agreed_share", by="stated"), Chart("forest", "brier", by="order")),
)
def calibration(arm: Arm) -> Iterator[Row]:
    """Yield Brier score and log loss of all calls and by order, and the reliability curve."""
    people, given = rated(arm), by_score(arm)
    if people is None or given is None or not people.comparable:
        return
    scores = score_index(people.ratings.ravel(), arm.scores).reshape(people.ratings.shape)
    counts = (scores[:, :, None] == np.arange(len(arm.scores))).sum(axis=1).astype(np.float64)
    rateable = counts.sum(axis=1) > 0
    known = arm.ok & (arm.shown[arm.order, 0] >= 0)
    kept = np.flatnonzero(known & np.isfinite(given).all(axis=1) & rateable[arm.item])
    if not len(kept):
        return
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    item, p, came = arm.item[kept], given[kept], shares[arm.item[kept]]
    brier = np.square(p).sum(axis=1) - 2 * (p * came).sum(axis=1) + 1
    loss = -(came * np.log(np.clip(p, EPSILON, 1 - EPSILON))).sum(axis=1)
    yield Row("brier", _of_calls(arm, item, brier, 2.0), counts={"n": len(kept)})
    yield Row("log_loss", _of_calls(arm, item, loss), counts={"n": len(kept)})
    first = p.argmax(axis=1)
    surer = p.max(axis=1) - came[np.arange(len(kept)), first]
    yield Row("overconfidence", _of_calls(arm, item, surer, 1.0), counts={"n": len(kept)})
    yield from by_order(arm, kept, brier, loss)
    yield from reliability(arm, item, p, came)


def by_score(arm: Arm) -> Floats | None:
    """(rows, scores): the probability of each score of the scale; None where no answer has any."""
    if arm.probabilities is None:
        return None
    columns = np.argsort(arm.shown, axis=1)[arm.order]
    return np.take_along_axis(
        arm.probabilities[:, : arm.positions].astype(np.float64), columns, axis=1
    )


def _of_calls(arm: Arm, item: Ints, values: Floats, reach: float | None = None) -> Estimate:
    """Return the mean over items of the mean over their calls.

    ``reach``: the most that a call can have.
    """
    present, code = np.unique(item, return_inverse=True)
    means = sum_by(code, values, len(present)) / np.bincount(code)
    rule = (
        partial(Student, lopsided=True, positive=True) if reach is None else partial(Reach, reach)
    )
    return mean_over(means, arm.unit[present], arm.unit_names, lambda moves: rule(moves=moves))


def by_order(arm: Arm, kept: Ints, brier: Floats, loss: Floats) -> Iterator[Row]:
    """Yield rows about the calls in each order that half of the items were asked in."""
    order = arm.order[kept]
    asked = {code: order == code for code in np.unique(order).tolist()}
    least = ENOUGH * len(np.unique(arm.item[kept]))
    asked = {
        code: rows for code, rows in asked.items() if len(np.unique(arm.item[kept][rows])) >= least
    }
    if not 1 < len(asked) <= MOST_ORDERS:
        return
    for measure, values, reach in (("brier", brier, 2.0), ("log_loss", loss, None)):
        made = {
            code: _of_calls(arm, arm.item[kept][rows], values[rows], reach)
            for code, rows in asked.items()
        }
        level = simultaneous([*made.values()], level=arm.level)
        for code, estimate in made.items():
            of = {"order": arm.order_label(code)}
            yield Row(measure, estimate, of, counts={"n": int(asked[code].sum())}, level=level)


def reliability(arm: Arm, item: Ints, p: Floats, came: Floats) -> Iterator[Row]:
    """Yield how often a score came true, by its stated probability in tenths.

    ``stated``: the mean probability of a tenth.
    """
    tenth = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    rows, unit, names = [], arm.unit[item], arm.unit_names
    for number in range(BINS):
        inside: Bools = tenth == number
        if not inside.any():
            continue
        count, hits = (
            sum_by(unit, part.sum(axis=1), len(names)) for part in (inside * 1.0, inside * came)
        )
        stated = float(p[inside].mean())
        reach = float(count.max() / count[count > 0].mean())
        estimate = ratio(hits, count, names, partial(Reach, reach, least=0.0, most=1.0))
        rows.append((round(stated, 2), estimate, int(inside.sum())))
    level = simultaneous([estimate for _, estimate, _ in rows], level=arm.level)
    for stated, estimate, n in rows:
        yield Row("agreed_share", estimate, {"stated": stated}, counts={"n": n}, level=level)
