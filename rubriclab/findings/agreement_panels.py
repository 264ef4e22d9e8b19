"""Agreement inside a run, without people: judges, orders of one judge, repeats, wordings of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from rubriclab.findings.agreement_results import Between, Coefficients, Panel
from rubriclab.findings.agreement_tables import Grouped, Reads, of_means, panel, score_counts, single_values
from rubriclab.findings.effects import step
from rubriclab.findings.frame import OptionRows, Units, mean_by
from rubriclab.findings.prompt_forms import WORDING, wordings_of
from rubriclab.model import Arm, RunData
from rubriclab.stats.agreement import crossed
from rubriclab.stats.inference import Floats, Ints

MOST_JUDGES = 8
"""Of more judges pairs are not shown."""
FEWEST_ITEMS = 2
Read = tuple[int, Arm, OptionRows]


def between(data: RunData, read: Sequence[Read], units: Units) -> Iterator[Between]:
    """Every panel of the run that has two members on some item."""
    yield from _judges(read, units)
    for code, arm, rows in read:
        del code
        for kind, reads in (("orders", _orders(arm, rows, units)), ("repeats", repeats_of(arm, rows, units))):
            if reads is not None:
                yield from _found(kind, arm, arm.judge, str(arm.variant), panel(reads[0], complete=reads[1]))
    yield from _prompts(data, read, units)


def _found(
    kind: str, arm: Arm, judge: str, variant: str, of: Panel | None, strategy: str | None = None
) -> list[Between]:
    how = arm.strategy if strategy is None else strategy
    return [] if of is None else [Between(kind, judge, arm.dataset, how, variant, of)]


# ---------------------------------------------------------------- one judge


def _reads_of(arm: Arm, rows: OptionRows, units: Units, apart: Ints, member: Ints) -> Reads:
    """The readable reads of an arm; ``apart`` and ``member`` of each of its rows."""
    ok = rows.ok
    known = np.asarray(arm.scores, dtype=np.float64)
    return Reads(
        rows.item[ok], apart[ok], member[ok], rows.score[ok], known, step(arm.scores), units.code[rows.item_code]
    )


def _shown(rows: OptionRows) -> Ints:
    """The shown order of each row, whatever labels stood beside it, 0.."""
    code = np.unique(rows.shown, axis=0, return_inverse=True)[1].ravel()
    return code[rows.ordering].astype(np.int64)


def _orders(arm: Arm, rows: OptionRows, units: Units) -> tuple[Reads, bool] | None:
    """Different orders as members; False where items were not all read in the same few."""
    order = _shown(rows)
    n = int(order.max(initial=0)) + 1
    return (_reads_of(arm, rows, units, np.zeros_like(order), order), True) if n > 1 else None


def repeats_of(arm: Arm, rows: OptionRows, units: Units) -> tuple[Reads, bool] | None:
    """Reads of one item in one order as members: the judge's own noise."""
    order = _shown(rows)
    n = int(order.max(initial=0)) + 1
    cell = rows.item * n + order
    if np.bincount(cell[rows.ok]).max(initial=0) < 2:
        return None
    member = np.zeros(len(cell), dtype=np.int64)
    sorted_rows = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[sorted_rows], prepend=-1))
    sizes = np.diff(np.append(starts, len(cell)))
    member[sorted_rows] = np.arange(len(cell)) - np.repeat(starts, sizes)
    return _reads_of(arm, rows, units, order, member), n == 1


# ---------------------------------------------------------------- wordings of a prompt


def _prompts(data: RunData, read: Sequence[Read], units: Units) -> Iterator[Between]:
    """Wordings as members: pairs of reads of one item in one order under different ones."""
    by_code = {code: (arm, rows) for code, arm, rows in read}
    for group in wordings_of(enumerate(data.arms)):
        of = {code: place for place, codes in enumerate(group.values()) for code in codes if code in by_code}
        strategies = dict.fromkeys(by_code[code][0].strategy for code in of)
        for strategy in strategies:
            mine = {code: place for code, place in of.items() if by_code[code][0].strategy == strategy}
            if len(mine) > 1:
                arm = by_code[next(iter(mine))][0]
                reads = _wordings([(by_code[code][1], place) for code, place in mine.items()], arm, units)
                others = ", ".join(f"{name}={level}" for name, level in arm.variant.levels if name != WORDING)
                yield from _found("prompts", arm, arm.judge, others, panel(reads))


def _wordings(mine: Sequence[tuple[OptionRows, int]], arm: Arm, units: Units) -> Reads:
    shown = np.unique(np.concatenate([rows.shown for rows, _ in mine]), axis=0, return_inverse=True)[1].ravel()
    cuts = np.cumsum([0, *(len(rows.shown) for rows, _ in mine)])
    item, apart, member, at = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (
                    rows.item_code[rows.item[rows.ok]],
                    shown[cuts[k] : cuts[k + 1]][rows.ordering[rows.ok]],
                    np.full(int(rows.ok.sum()), place),
                    rows.score[rows.ok],
                )
                for k, (rows, place) in enumerate(mine)
            ),
            strict=True,
        )
    )
    known = np.asarray(arm.scores, dtype=np.float64)
    return Reads(item, apart.astype(np.int64), member, at, known, step(arm.scores), units.code)


# ---------------------------------------------------------------- judges


def _judges(read: Sequence[Read], units: Units) -> Iterator[Between]:
    """Every two judges on the same data under one strategy and variant: all pairs of their reads."""
    groups: dict[tuple[str, str, str, tuple[int, ...]], list[Read]] = {}
    for one in read:
        arm = one[1]
        groups.setdefault((arm.dataset, arm.strategy, repr(arm.variant.levels), arm.scores), []).append(one)
    for members in groups.values():
        if len(members) > MOST_JUDGES:
            continue
        for (_, first, mine), (_, second, theirs) in combinations(members, 2):
            of = _pair(first, mine, theirs, units)
            yield from _found("judges", first, f"{first.judge} · {second.judge}", str(first.variant), of)


def _pair(arm: Arm, mine: OptionRows, theirs: OptionRows, units: Units) -> Panel | None:
    known = np.asarray(arm.scores, dtype=np.float64)
    shared, at_mine, at_theirs = np.intersect1d(mine.item_code, theirs.item_code, return_indices=True)
    sides = [_side(rows, at, arm, known) for rows, at in ((mine, at_mine), (theirs, at_theirs))]
    both = np.isfinite(sides[0][1]) & np.isfinite(sides[1][1])
    if both.sum() < FEWEST_ITEMS:
        return None
    code = Grouped.of(units.code[shared[both]])
    table = crossed(sides[0][0][both], sides[1][0][both], known, step=step(arm.scores), unit=code.code, units=code.n)
    one: Coefficients = single_values(table)
    means = of_means(sides[0][1][both], sides[1][1][both], code)
    return Panel(int(both.sum()), 2, int(both.sum()), one, means)


def _side(rows: OptionRows, at: Ints, arm: Arm, known: Floats) -> tuple[Floats, Floats]:
    """(counts (items, k), mean score) of the items at ``at``; NaN where none was read."""
    counts = score_counts(rows, rows.ok, arm.scores, known)[at]
    means = mean_by(rows.item[rows.ok], rows.value[rows.ok], rows.n_items)[at]
    return counts, means
