"""What each unit says of a settling question, in the order in which units may count.

One number a unit (of criteria one a criterion), bounded, the same in expectation whichever unit
comes next: what a confidence sequence needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from rubriclab.findings.criteria_rows import Layout
from rubriclab.findings.frame import mixed, ok_rows, units
from rubriclab.findings.series import ADVANTAGE, UNREAD, ArmCalls, RunCodes, Turned
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats.inference import Floats, Ints, ratio, sum_by

Group = Sequence[tuple[int, Arm]]
ASK_FOR = {
    "options": msg(
        "Whether a shift is settled can be told where items are read under both the ascending and the descending "
        "order of the score options: use balanced, or fixed and descending."
    ),
    "pairwise": msg(
        "Whether a shift is settled can be told where items are read with each candidate first: use balanced."
    ),
    "listwise": msg(
        "Whether a shift is settled can be told where items are read with each candidate first: use balanced."
    ),
    "criteria": msg(
        "Whether a shift is settled can be told where items are read with a criterion first and last: use balanced."
    ),
}


@dataclass(frozen=True)
class Values:
    """``table``: (units, parts) in order, NaN where a unit says nothing; each within ± ``reach``.

    ``places``: (units, parts, places), how far each place moves the score, within ± ``places_reach``;
    no places where ``table`` says all. ``why``: no verdict is given, for this reason.
    """

    question: str
    names: tuple[str, ...]
    table: Floats
    reach: float
    none_yet: str
    unit: str = "points"
    probabilities: bool = False
    why: str = ""
    places: Floats = field(default_factory=lambda: np.empty((0, 1, 0)))
    places_reach: float = 1.0

    @property
    def units(self) -> int:
        return int(np.isfinite(self.table).any(axis=1).sum())

    def of(self, part: int) -> Floats:
        return _known(self.table[:, part])

    def places_of(self, part: int) -> Iterator[Floats]:
        return (_known(self.places[:, part, place]) for place in range(self.places.shape[2]))


def _known(column: Floats) -> Floats:
    return np.asarray(column[np.isfinite(column)])


def unit_values(data: RunData, group: Group) -> Values:
    """The values of a judge in one setting. Raises LabError where its orders cannot tell."""
    mine = np.isin(data.judgments["arm"].to_numpy(), [code for code, _ in group])
    if group[0][1].axis not in _AXES:
        raise LabError(tr("No stop rule is known for several responses a call: run the study without one."))
    return _AXES[group[0][1].axis](data, group, data.judgments[mine])


# ---------------------------------------------------------------- which items count, in which order


def asked_in_full(data: RunData, group: Group, rows: pd.DataFrame) -> Ints:
    """Items in their mixed order, up to the first that waits for a read of this group.

    An item that the judge was asked about in other arms alone keeps nothing waiting: it has no place
    in this group. In a finished run nothing waits.
    """
    size = len(data.items)
    reads = np.bincount(rows["item"].to_numpy().astype(np.int64), minlength=size)
    judge = [code for code, arm in enumerate(data.arms) if arm.judge == group[0][1].judge]
    elsewhere = np.isin(np.arange(size), data.judgments["item"][data.judgments["arm"].isin(judge)].to_numpy())
    # Criteria share a call, so that calls planned say nothing of items; the fullest item does.
    planned = sum(data.planned[code] for code, _ in group) if data.planned else 0
    planned *= group[0][1].n_positions if group[0][1].axis == "criteria" else 1
    wanted = max(int(reads.max(initial=0)), -(-planned // size))
    order = mixed(data.items)
    left_out = (reads == 0) & elsewhere
    waits = ((reads < wanted) & ~left_out & (data.unanswered > 0))[order]
    until = int(waits.argmax()) if waits.any() else size
    return np.asarray(order[:until])


def _by_unit(values: Floats, unit: Ints, counted: Ints) -> Floats:
    """Means of ``values`` (items, ..) over the items of each unit that is counted whole, in order."""
    size = int(unit.max(initial=-1)) + 1
    whole = np.bincount(unit[counted], minlength=size) == np.bincount(unit, minlength=size)
    counted = counted[whole[unit[counted]]]
    known = np.isfinite(values[counted])
    first = pd.unique(unit[counted])
    rank = np.full(size, -1, dtype=np.int64)
    rank[first] = np.arange(len(first))
    row = rank[unit[counted]]
    total = sum_by(row, np.where(known, values[counted], 0.0), len(first))
    return ratio(total, sum_by(row, known.astype(np.float64), len(first)))


def _refuse_unless(possible: bool, counted: Ints, axis: str) -> None:
    if len(counted) and not possible:
        raise LabError(tr(ASK_FOR[axis]))


def _cells(cell: Ints, value: Floats, shape: tuple[int, ...]) -> Floats:
    """Means of ``value`` by ``cell`` (a flat index into ``shape``); NaN where there is none."""
    size = int(np.prod(shape))
    return ratio(sum_by(cell, value, size), np.bincount(cell, minlength=size)).reshape(shape)


# ---------------------------------------------------------------- by what is reordered


def _options(data: RunData, group: Group, rows: pd.DataFrame) -> Values:
    """Ascending less descending, of expected scores where every readable reply has one."""
    arm = group[0][1]
    scores = arm.scores
    way: dict[tuple[int, ...] | tuple[str, ...], int] = {scores: 0, scores[::-1]: 1}
    turned = np.array([way.get(ordering.shown, -1) for ordering in data.orderings], dtype=np.int64)
    counted = asked_in_full(data, group, rows)
    seen = turned[rows["ordering"].to_numpy()]
    _refuse_unless({0, 1} <= set(np.unique(seen).tolist()), counted, "options")
    read = ok_rows(rows) & (seen >= 0)
    given = rows["expected"].to_numpy(dtype=np.float64)
    expected = bool(ok_rows(rows).any()) and bool(np.isfinite(given[ok_rows(rows)]).all())
    value = given if expected else rows["score"].to_numpy(dtype=np.float64)
    cell = rows["item"].to_numpy().astype(np.int64) * 2 + seen
    mean = _cells(cell[read], value[read], (len(data.items), 2))
    return Values(
        question=tr("ascending less descending"),
        names=("",),
        table=_by_unit((mean[:, 0] - mean[:, 1])[:, None], units(data.items, data.unit).code, counted),
        reach=float(scores[-1] - scores[0]),
        none_yet=tr("no item has been read under both the ascending and the descending order yet"),
        probabilities=expected,
    )


def _compared(data: RunData, group: Group, rows: pd.DataFrame) -> Values:
    """Wins of the first place less wins of the last, of comparisons read with each candidate first."""
    run, axis = RunCodes.of(data), group[0][1].axis
    calls = _together([ArmCalls.of(data, run, code, arm) for code, arm in group])
    turned, item, position, p = Turned.of(run, calls), calls.item, calls.position, calls.p
    slot = turned.slot
    keys, comparison = np.unique(np.stack([item, turned.circle]), axis=1, return_inverse=True)
    comparison = comparison.ravel()
    counted = asked_in_full(data, group, rows)
    shown = np.zeros((keys.shape[1], p), dtype=bool)
    shown[comparison, slot] = True
    _refuse_unless(bool(shown.all(axis=1).any()), counted, axis)
    ok = position >= 0
    won = (position == 1) * 1.0 - (position == p)
    mean = _cells((comparison * p + slot)[ok], won[ok], shown.shape).mean(axis=1)
    known = np.isfinite(mean)
    value = _cells(keys[0][known], mean[known], (len(data.items), 1))
    unread = float((~ok).mean()) if len(ok) else 0.0
    return Values(
        question=tr("first place less last"),
        names=("",),
        table=_by_unit(value, run.question, counted),
        reach=1.0,
        none_yet=tr("no comparison has been read with each candidate first yet"),
        unit=ADVANTAGE,
        why=tr("{unread:.0%} of the replies cannot be read", unread=unread) if unread > UNREAD else "",
    )


def _together(arms: Sequence[ArmCalls]) -> ArmCalls:
    """The calls of several strategies as if of one."""
    item, ordering, position = (
        np.concatenate([getattr(one, name) for one in arms]) for name in ("item", "ordering", "position")
    )
    return replace(arms[0], item=item, ordering=ordering, position=position)


def _criteria(data: RunData, group: Group, rows: pd.DataFrame) -> Values:
    """Of each criterion a line over places, its first end less its last, text by text.

    Where an inner place is missing the first place less the last. Items are criteria of a text.
    """
    layout, arm = Layout.of(data), group[0][1]
    places, size = arm.n_positions, len(data.items)
    item = rows["item"].to_numpy().astype(np.int64)
    at = layout.place[rows["ordering"].to_numpy(), layout.criterion[item]]
    counted = asked_in_full(data, group, rows)
    ends = np.zeros((size, 2), dtype=bool)
    ends[item[at == 0], 0] = ends[item[at == places - 1], 1] = True
    _refuse_unless(bool(ends.all(axis=1).any()), counted, "criteria")
    ok = ok_rows(rows) & (at >= 0) & (at < places)
    mean = _cells((item * places + at)[ok], rows["score"].to_numpy(dtype=np.float64)[ok], (size, places))
    off = np.arange(places) - (places - 1) / 2.0
    weight = -(places - 1) * off / (off @ off)
    line, whole = mean @ weight, np.isfinite(mean).all(axis=1)
    value = np.where(whole, line, mean[:, 0] - mean[:, -1])
    moved = mean - _known_mean(mean)[:, None]
    found = units(data.items, data.unit)
    unit = found.code if found.kind != "item" else np.unique(layout.text, return_inverse=True)[1].astype(np.int64)
    span = float(arm.scores[-1] - arm.scores[0])
    present = np.unique(layout.criterion[item])
    return Values(
        question=tr("first less last place"),
        names=tuple(layout.names[c] for c in present),
        table=_by_unit(_apart(value, layout.criterion, present), unit, counted),
        reach=span * max(1.0, float(np.abs(weight).sum()) / 2.0),
        none_yet=tr("no text has been read with a criterion first and last yet"),
        places=_by_unit(_apart(moved, layout.criterion, present), unit, counted),
        places_reach=span,
    )


def _known_mean(table: Floats) -> Floats:
    known = np.isfinite(table)
    number = known.sum(axis=1)
    return ratio(np.where(known, table, 0.0).sum(axis=1), np.where(number > 1, number, 0))


def _apart(values: Floats, criterion: Ints, present: Ints) -> Floats:
    """(items, ..) as (items, criteria ``present``, ..): each item stands under its own alone."""
    own = criterion[:, None] == present
    return np.where(own.reshape(*own.shape, *[1] * (values.ndim - 1)), values[:, None], np.nan)


_AXES = {"options": _options, "pairwise": _compared, "listwise": _compared, "criteria": _criteria}
