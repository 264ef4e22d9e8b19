"""Scores from batches beside those of single calls on the same items, and both beside people."""

from __future__ import annotations

import numpy as np

from rubriclab.findings.batch_results import WithSingle
from rubriclab.findings.batch_rows import BatchRows, item_means, score_counts
from rubriclab.findings.effects import SMALLEST_SHARE, confidence, in_points, in_r, step, unfinished
from rubriclab.findings.frame import compress
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats import batch as stats
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.human_correlation import ItemReads, LeftOut, difference, r_with_humans
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.verdict import Effect, effect

NO_SECOND = msg("no item was asked about alone twice, so the single call's own noise is not known")


def with_single(data: RunData, rows: BatchRows, alone: BatchRows) -> WithSingle:
    """Everything that sets one arm of batches against its single calls."""
    size = len(data.items)
    counts, singles = score_counts(rows, size), score_counts(alone, size)
    shared = np.flatnonzero((counts.sum(axis=1) > 0) & (singles.sum(axis=1) > 0)).astype(np.int64)
    batch, unit = groups(rows, size)
    apart = stats.disagreements(counts, singles)
    r, r_alone, r_loss = _with_itself(data, rows, alone, shared)
    people, people_alone, people_loss = _with_people(data, rows, alone, shared)
    return WithSingle(
        items=len(shared),
        level=_level(data, rows, item_means(alone, size)),
        exact=float(1.0 - np.mean(apart.apart[shared])) if len(shared) else float("nan"),
        exact_alone=1.0 - _mean(apart.alone[shared]),
        exact_loss=_exact_loss(data, rows, apart, batch, unit),
        r=r,
        r_alone=r_alone,
        r_loss=r_loss,
        people=people,
        people_alone=people_alone,
        people_loss=people_loss,
    )


def groups(rows: BatchRows, size: int) -> tuple[Ints, Ints]:
    """The first batch and the unit of each item of the run, (items,); -1 for one that is in none."""
    batch = np.full(size, -1, dtype=np.int64)
    unit = np.full(size, -1, dtype=np.int64)
    batch[rows.item[::-1]], unit[rows.item[::-1]] = rows.batch[::-1], rows.unit[::-1]
    return batch, unit


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _level(data: RunData, rows: BatchRows, usual: Floats) -> Effect:
    """Points that asking together adds to the single call, items weighing the same within their batch."""
    level = confidence(data, rows.arm.judge)
    cells, first = np.unique(rows.cell, return_index=True)
    count = np.bincount(rows.cell, minlength=len(cells))
    mean = np.bincount(rows.cell, weights=rows.value, minlength=len(cells)) / np.maximum(count, 1)
    added = mean - usual[rows.item[first]]
    known = np.isfinite(added)
    top = added[known][:, None]
    batch, unit = rows.batch[first][known], rows.unit[first][known]
    least = step(rows.arm.scores) / rows.arm.n_positions
    means = stats.two_way(top, np.ones_like(top), batch, unit, least=least)
    (ends,) = means.intervals(level=level)
    return in_points(data, rows.arm, float(means.estimate[0]), ends, confidence=level)


def _exact_loss(data: RunData, rows: BatchRows, apart: stats.Disagreement, batch: Ints, unit: Ints) -> Effect:
    """By how many per cent of scores two reads differ more often when one of them is from a batch."""
    both = np.flatnonzero(np.isfinite(apart.apart) & np.isfinite(apart.alone))
    why = unfinished(data) or ("" if len(both) else tr(NO_SECOND))
    top = 100.0 * (apart.alone - apart.apart)[both][:, None]
    means = stats.two_way(top, np.ones_like(top), batch[both], unit[both], least=100.0 / rows.arm.n_positions)
    (ends,) = means.intervals()
    return effect(float(means.estimate[0]), ends, SMALLEST_SHARE, unit=msg("percentage points of scores"), why=why)


# ---------------------------------------------------------------- correlations


def _with_itself(
    data: RunData, rows: BatchRows, alone: BatchRows, shared: Ints
) -> tuple[Correlation, Correlation, Effect]:
    """r of one score in a batch with one alone, that of two alone, and their difference."""
    scores = _reads(alone, len(data.items))
    twice = shared[np.isfinite(scores[shared]).sum(axis=1) > 1]
    first, others = scores[:, 0], scores[:, 1:]
    code = _left_out(rows, len(data.items))
    batch = _r(_reads(rows, len(data.items)), first, twice, code)
    single = _r(others, first, twice, code)
    return _correlation(batch), _correlation(single), _loss(data, batch, single)


def _with_people(
    data: RunData, rows: BatchRows, alone: BatchRows, shared: Ints
) -> tuple[Correlation, Correlation, Effect]:
    """r of one score in a batch with people, that of one alone, and their difference."""
    human = data.items["human"].to_numpy().astype(np.float64)
    rated = shared[np.isfinite(human[shared])]
    code = _left_out(rows, len(data.items))
    batch, single = (_r(_reads(one, len(data.items)), human, rated, code) for one in (rows, alone))
    return _correlation(batch), _correlation(single), _loss(data, batch, single)


def _reads(rows: BatchRows, size: int) -> Floats:
    """(items of the run, reads): the scores of each, readable ones first."""
    order = np.argsort(rows.item, kind="stable")
    item = rows.item[order]
    start = np.searchsorted(item, item)
    slot = np.arange(len(item)) - start
    out = np.full((size, max(int(slot.max(initial=0)) + 1, 2)), np.nan)
    out[item, slot] = rows.value[order]
    return out


def _left_out(rows: BatchRows, size: int) -> Ints:
    """What is left out together: the data's unit where it holds several items, else the batch."""
    batch, unit = groups(rows, size)
    mine = batch >= 0
    alone = len(np.unique(unit[mine])) == int(mine.sum())
    return batch if alone else unit


def _r(scores: Floats, other: Floats, items: Ints, code: Ints) -> LeftOut:
    """r at one read an item, and without each unit."""
    if len(items) < 3:
        return LeftOut(float("nan"), np.empty(0))
    return r_with_humans(
        ItemReads.of(scores[items], other[items], compress(code[items], int(code.max()) + 1)[1]), at=1.0
    )


def _correlation(r: LeftOut) -> Correlation:
    return Correlation(r.value, r.r_interval() if len(r.without) else r.interval())


def _loss(data: RunData, a: LeftOut, b: LeftOut) -> Effect:
    if not (len(a.without) and len(b.without)):
        return in_r(data, float("nan"), LeftOut(float("nan"), np.empty(0)).interval())
    found = difference(a, b)
    return in_r(data, found.delta, found.ci)
