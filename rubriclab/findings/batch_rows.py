"""The scores of responses that were asked for together, as codes: cells, batches, places, neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.frame import Bools, compress, ok_rows, score_index, units
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, RunData
from rubriclab.stats.inference import Floats, Ints

SIZE = "batch_size"


@dataclass(frozen=True)
class BatchRows:
    """One arm's readable rows, (rows,) each.

    ``item``: code in the run. ``batch``: the same responses asked for together, whatever their
    order; ``cell``: an item within its batch. ``unit``: of the data. ``place`` from 0. ``before``:
    code of the item just before, -1 at the first place. ``score``: its index among the arm's scores.
    """

    code: int
    arm: Arm
    item: Ints
    batch: Ints
    cell: Ints
    unit: Ints
    order: Ints
    place: Ints
    before: Ints
    value: Floats
    score: Ints
    asked: int
    calls: int

    @property
    def items(self) -> int:
        return len(np.unique(self.item))

    @property
    def batches(self) -> int:
        return len(np.unique(self.batch))

    def only(self, which: Bools) -> tuple[Ints, Ints, Ints, Floats]:
        """Cell, batch, unit and score of some rows; cells numbered anew."""
        cell = np.unique(self.cell[which], return_inverse=True)[1].astype(np.int64)
        return cell, self.batch[which], self.unit[which], self.value[which]


def batch_rows(data: RunData, code: int, arm: Arm, judgments: pd.DataFrame) -> BatchRows:
    """The rows of one arm, those of single calls as batches of one."""
    order_all = judgments["ordering"].to_numpy().astype(np.int64)
    present, order = compress(order_all, len(data.orderings))
    item = judgments["item"].to_numpy().astype(np.int64)
    batch_of, before_of = _orders(data, present, order, item, judgments)
    value = judgments["score"].to_numpy().astype(np.float64)
    place = judgments["position"].to_numpy().astype(np.int64) - 1
    score = score_index(value, arm.scores)
    ok = ok_rows(judgments) & (score >= 0) & (place >= 0)
    batch = batch_of[order][ok]
    return BatchRows(
        code=code,
        arm=arm,
        item=item[ok],
        batch=batch,
        cell=np.unique(np.stack([batch, item[ok]]), axis=1, return_inverse=True)[1].ravel().astype(np.int64),
        unit=units(data.items, data.unit).code[item[ok]],
        order=order[ok],
        place=place[ok],
        before=before_of[ok],
        value=value[ok],
        score=score[ok],
        asked=len(judgments),
        calls=int(judgments["call"].nunique()),
    )


def _orders(data: RunData, present: Ints, order: Ints, item: Ints, judgments: pd.DataFrame) -> tuple[Ints, Ints]:
    """(orders,): the batch that each order is of; (rows,): the item just before each row's, -1 for none.

    Within one call an item stands once, so a call's item at a place is the one with that position.
    """
    known: dict[tuple[str, ...], int] = {}
    batch = np.zeros(len(present), dtype=np.int64)
    for k, code in enumerate(present.tolist()):
        batch[k] = known.setdefault(tuple(sorted(map(str, data.orderings[code].shown))), len(known))
    call = np.unique(judgments["call"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    place = judgments["position"].to_numpy().astype(np.int64)
    width = int(place.max(initial=0)) + 2
    at = np.full((int(call.max(initial=-1)) + 1) * width, -1, dtype=np.int64)
    at[call * width + np.maximum(place, 0)] = item
    before = np.where(place > 1, at[call * width + np.maximum(place - 1, 0)], -1)
    del order
    return batch, before.astype(np.int64)


def alone_of(arms: dict[int, Arm], code: int) -> int | None:
    """The arm that asks about the same items alone: the same setting but for the size of its batches."""
    mine = _without_size(arms[code])
    for other, arm in arms.items():
        if arm.n_positions == 1 and _without_size(arm) == mine:
            return other
    return None


def _without_size(arm: Arm) -> tuple[object, ...]:
    judge, dataset, _ = setting(arm)
    levels = tuple((name, level) for name, level in arm.variant.levels if name != SIZE)
    return judge, dataset, repr(levels), arm.scores


def score_counts(rows: BatchRows, items: int) -> Floats:
    """(items of the run, scores): how often each was given."""
    n = len(rows.arm.scores)
    return np.bincount(rows.item * n + rows.score, minlength=items * n).reshape(items, n).astype(np.float64)


def item_means(rows: BatchRows, items: int) -> Floats:
    """(items of the run,): mean score, NaN where none could be read."""
    count = np.bincount(rows.item, minlength=items)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(rows.item, weights=rows.value, minlength=items) / count)


def batch_arms(data: RunData) -> Iterator[tuple[int, Arm, pd.DataFrame]]:
    for code, arm, rows in data.by_arm():
        if arm.axis == "batch" and len(rows):
            yield code, arm, rows
