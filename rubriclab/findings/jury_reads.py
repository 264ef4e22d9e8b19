"""The scores that juries are made of: the same texts by several judges, each in several orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.cure_reads import Order, Reads, reads_of
from rubriclab.findings.effects import unfinished
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.stats.inference import Floats, Ints


@dataclass(frozen=True)
class Panel:
    """``scores``: (items, judges, orders), all of them known. ``human``: (items,) mean rating, NaN where nobody
    rated. ``unit``: (items,). ``aligned``: in one column all judges saw a text in one order. ``fixed``: so
    did all texts. ``arms``: a code of each judge's. ``left_out``: items that some judge did not read in
    every order; ``unlike``: judges that read in one order only, or not at all, and why.
    """

    judges: tuple[str, ...]
    arms: tuple[int, ...]
    arm: Arm
    scores: Floats
    human: Floats
    unit: Ints
    aligned: bool
    fixed: bool
    left_out: int
    expected: bool
    unlike: tuple[str, ...]


def panels(data: RunData, *, seed: int = 0) -> Iterator[Panel]:
    """Every data set, scale and setting that two judges or more read in two orders or more."""
    groups: dict[tuple[object, ...], dict[str, int]] = {}
    for code, arm in enumerate(data.arms):
        if arm.scores and arm.axis in ("options", "criteria"):
            where = (*setting(arm)[1:], arm.axis, arm.scores, arm.n_positions)
            groups.setdefault(where, {}).setdefault(arm.judge, code)
    for codes in groups.values():
        if len(codes) > 1 and (panel := _panel(data, codes, seed)) is not None:
            yield panel


def _panel(data: RunData, codes: dict[str, int], seed: int) -> Panel | None:
    known: dict[str, Reads] = {}
    unlike = []
    for judge, code in codes.items():
        try:
            known[judge] = reads_of(data, code, seed=seed)
        except LabError as why:
            unlike.append(tr("{judge} is left out: {why}", judge=judge, why=why))
    if len(known) < 2:
        return None
    every = list(known.values())
    item = every[0].item
    for reads in every[1:]:
        item = np.intersect1d(item, reads.item)
    if len(item) < 2:
        return None
    rows = [np.searchsorted(reads.item, item) for reads in every]
    columns, aligned = _columns(every, rows)
    if len(columns[0]) < 2:
        return None
    expected = all(reads.likely is not None for reads in every)
    scores = [
        (reads.value if expected else reads.named)[np.ix_(row, column)]
        for reads, row, column in zip(every, rows, columns, strict=True)
    ]
    first = every[0]
    return Panel(
        judges=tuple(known),
        arms=tuple(reads.code for reads in every),
        arm=first.arm,
        scores=np.stack(scores, axis=1),
        human=first.human[rows[0]],
        unit=np.unique(first.unit[rows[0]], return_inverse=True)[1].astype(np.int64),
        aligned=aligned,
        fixed=all(reads.orders for reads in every),
        left_out=max(len(reads.item) + reads.left_out for reads in every) - len(item),
        expected=expected,
        unlike=tuple(unlike),
    )


def _columns(every: Sequence[Reads], rows: Sequence[Ints]) -> tuple[list[Ints], bool]:
    """Of each judge the calls to take, as many of each, and whether one column is one order for all judges.

    Orders that all judges share, where there are two; else the first calls of each.
    """
    if all(reads.orders for reads in every):
        shared = [{reads.orders[c]: int(c) for c in reads.first[::-1]} for reads in every]
        common = [order for order in shared[0] if all(order in one for one in shared[1:])][::-1]
        if len(common) > 1:
            return [np.array([one[order] for order in common], dtype=np.int64) for one in shared], True
    least = min(len(reads.first) for reads in every)
    columns = [reads.first[:least] for reads in every]
    number: dict[Order, int] = {}
    seen = []
    for reads, row, column in zip(every, rows, columns, strict=True):
        code = np.array([number.setdefault(order, len(number)) for order in reads.patterns], dtype=np.int64)
        seen.append(code[reads.shown[np.ix_(row, column)]])
    return columns, all(bool((one == seen[0]).all()) for one in seen[1:])


def cautions(data: RunData, panel: Panel) -> list[str]:
    """What must be known of the reads."""
    told = list(panel.unlike)
    if panel.left_out:
        told.append(
            tr(
                "{items} {items:was|were} not read by every judge in every order and {items:is|are} left out.",
                items=many(panel.left_out, "item"),
            )
        )
    if not panel.aligned:
        told.append(
            tr("The judges were not asked in the same orders: whether these pull them the same way is not known.")
        )
    if why := unfinished(data):
        told.append(tr("No mix is recommended: {why}.", why=why))
    return told
