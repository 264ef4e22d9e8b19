"""Comparisons of a run as codes, and the p orders of each comparison brought together.

What the findings about pairs and lists start from: no statistic is computed here, and what
cannot be brought together is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.frame import compress, number_column, on_labels, status_counts
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats import comparison as stats
from rubriclab.stats.advantage import chosen
from rubriclab.stats.inference import Floats, Ints

ADVANTAGE = msg("advantage of the first place")
UNREAD = 0.2
"""With more replies unread than this no verdict is given: what is left need not be like them."""
NO_TASK = msg("(no task)")
_COUNTABLE = 1 << 25
"""Key ranges up to here are counted (a table of 256 MB at most), larger ones sorted."""


@dataclass(frozen=True)
class RunCodes:
    """Codes that all arms share: ``question`` and ``task`` of each item, candidates by ordering.

    ``question``: what intervals resample, a prompt unless the study names another ``unit``.
    ``shown``: (orderings, widest) candidate codes, -1 beyond an ordering's length. ``chars``: (items,
    widest) length of what each candidate of a comparison wrote, ascending by code; NaN not known.
    """

    question: Ints
    task: Ints
    tasks: tuple[str, ...]
    shown: Ints
    size: Ints
    names: tuple[str, ...]
    lengths: Mapping[str, Floats]
    unit: str
    chars: Floats | None = None

    @classmethod
    def of(cls, data: RunData) -> RunCodes:
        items = data.items
        unit = "question" if data.unit in ("auto", "prompt") else data.unit
        task, task_names = pd.factorize(items["task"])
        names = sorted({str(name) for ordering in data.orderings for name in ordering.shown})
        code = {name: index for index, name in enumerate(names)}
        size = np.array([len(o.shown) for o in data.orderings], dtype=np.int64)
        shown = np.full((len(size), int(size.max(initial=1))), -1, dtype=np.int64)
        for row, ordering in enumerate(data.orderings):
            shown[row, : size[row]] = [code[str(name)] for name in ordering.shown]
        return cls(
            question=_question(items, {"question": "prompt"}.get(unit, unit)),
            task=np.where(task >= 0, task, len(task_names)).astype(np.int64),
            tasks=(*map(str, task_names), tr(NO_TASK)),
            shown=shown,
            size=size,
            names=tuple(names),
            lengths=_lengths(items),
            unit=unit,
            chars=_chars(items, code, shown.shape[1]),
        )


def _question(items: pd.DataFrame, unit: str) -> Ints:
    """What is resampled, of each item: its prompt (its block) in its data set, else itself."""
    own = np.arange(len(items), dtype=np.int64)
    if unit not in items:
        return own
    shared = pd.factorize(items[unit])[0].astype(np.int64)
    dataset = pd.factorize(items["dataset"])[0].astype(np.int64) if "dataset" in items else 0
    width = int(shared.max(initial=0)) + 1
    top = (int(np.max(dataset, initial=0)) + 1) * width
    key = np.where(shared >= 0, dataset * width + shared, top + own)
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _lengths(items: pd.DataFrame) -> dict[str, Floats]:
    """Numeric length columns of the items that are known and vary."""
    columns = {}
    for column in map(str, items.columns):
        if column.endswith(("_chars", "_length")):
            values = pd.to_numeric(items[column], errors="coerce").to_numpy(dtype=np.float64)
            # Where nothing is known about a length it is kept as 0.
            values = np.where(values > 0, values, np.nan)
            if np.isfinite(values).any() and np.nanmax(values) > np.nanmin(values):
                columns[column] = values
    return columns


def _chars(items: pd.DataFrame, code: Mapping[str, int], width: int) -> Floats | None:
    """See ``RunCodes.chars``; None where no item has any."""
    if "candidate_chars" not in items or not items["candidate_chars"].map(len).any():
        return None
    chars = np.full((len(items), width), np.nan)
    for row, (names, lengths) in enumerate(zip(items["candidates"], items["candidate_chars"], strict=True)):
        if len(names) == len(lengths) <= width:
            ascending = sorted(zip((code.get(str(name), -1) for name in names), lengths, strict=True))
            chars[row, : len(names)] = [np.nan if length is None else length for _, length in ascending]
    return chars


@dataclass(frozen=True)
class ArmCalls:
    """One arm's calls as codes, those of another list length left out and counted.

    ``rank``: which of several calls with the same item, ordering and repeat this is. ``chances``:
    (calls, p) the probability of each place, what is missing to 1 a tie; NaN where not given. ``mass``:
    (calls,) what fell on labels before that.
    """

    arm: Arm
    p: int
    item: Ints
    ordering: Ints
    repeat: Ints
    rank: Ints
    position: Ints
    status: Mapping[str, int]
    single_candidate: int
    other_size: int
    mass: Floats
    chances: Floats | None = None

    @classmethod
    def of(cls, data: RunData, run: RunCodes, code: int, arm: Arm) -> ArmCalls:
        mine = data.judgments["arm"].to_numpy() == code
        frame = data.judgments[mine]
        ordering = frame["ordering"].to_numpy().astype(np.int64)
        size = run.size[ordering]
        p = arm.n_positions or int(size.max(initial=2))
        keep = (size == p) & (size > 1)
        item = frame["item"].to_numpy().astype(np.int64)[keep]
        repeat = frame["repeat"].to_numpy().astype(np.int64)[keep]
        position = frame["position"].to_numpy().astype(np.int64)[keep]
        # A place that was not shown is no choice.
        position = np.where(position > p, stats.UNREAD, position)
        key = (item * len(run.size) + ordering[keep]) * (int(repeat.max(initial=0)) + 1) + repeat
        return cls(
            arm=arm,
            p=max(p, 2),
            item=item,
            ordering=ordering[keep],
            repeat=repeat,
            rank=occurrence(key),
            position=position,
            status=status_counts(frame),
            single_candidate=int((size < 2).sum()),
            other_size=int(((size != p) & (size > 1)).sum()),
            mass=np.where(position >= stats.TIE, number_column(frame, "mass")[keep], np.nan),
            chances=None if data.probabilities is None else data.probabilities[mine][keep, : max(p, 2)],
        )

    def wins(self) -> Floats:
        """(calls, p) what each place won by the choices; NaN unread."""
        return chosen(self.position, self.p)

    def soft_wins(self) -> Floats | None:
        """The same by the probabilities, and by the choice of a call without any.

        None where fewer than half of the calls that could be read have them, or where most of the
        probability was on no label.
        """
        if self.chances is None or self.chances.shape[1] < self.p or not on_labels(self.mass):
            return None
        read, given = self.position >= stats.TIE, np.isfinite(self.chances).all(axis=1)
        if not read.any() or 2 * (read & given).sum() < read.sum():
            return None
        return np.where((read & given)[:, None], self.chances, self.wins())

    def sets(self, run: RunCodes) -> tuple[Ints, Ints, Ints]:
        """(names (calls, p) the candidate at each place, the same as 0..p-1 within its set, the set)."""
        names = run.shown[self.ordering, : self.p]
        sets = np.unique(np.sort(names, axis=1), axis=0, return_inverse=True)[1].ravel()
        return names, names.argsort(axis=1).argsort(axis=1), sets


def dense(key: Ints) -> tuple[Ints, Ints]:
    """(the distinct keys ascending, each row's rank among them); counts instead of sorting."""
    top = int(key.max(initial=0)) + 1
    if top <= _COUNTABLE:
        return compress(key, top)
    known, code = np.unique(key, return_inverse=True)
    return known, code.astype(np.int64)


def occurrence(key: Ints) -> Ints:
    """0, 1, 2, .. over the rows that share a key, in row order."""
    if int(key.max(initial=0)) < _COUNTABLE and np.bincount(key).max(initial=0) <= 1:
        return np.zeros(len(key), dtype=np.int64)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    new = np.ones(len(key), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    if new.all():
        return np.zeros(len(key), dtype=np.int64)
    start = np.maximum.accumulate(np.where(new, np.arange(len(key)), 0))
    out = np.empty(len(key), dtype=np.int64)
    out[order] = np.arange(len(key)) - start
    return out


# ------------------------------------------------------------------ series


@dataclass(frozen=True)
class ArmSeries:
    """An arm's complete series and how they were chosen.

    ``positions``: (series, p) the place picked in each order (see ``stats.classify``); ``members``: (sets, p) candidate codes of each set, ascending; ``set``: each series' set.
    ``classes.winner`` counts in that order. ``calls``: (series, p) each order's row of ``ArmCalls``.
    """

    classes: stats.Series
    item: Ints
    set: Ints
    members: Ints
    positions: Ints
    calls: Ints
    incomplete: int
    missing_calls: int
    extra: int


@dataclass(frozen=True)
class Turned:
    """Orderings as turns of a circle. ``circles``: (circles, p) candidate codes, the least first;
    ``circle``, ``slot``: of each call, its circle and which of its candidates stands first."""

    circles: Ints
    circle: Ints
    slot: Ints

    @classmethod
    def of(cls, run: RunCodes, rows: ArmCalls) -> Turned:
        p = rows.p
        used, ordering = compress(rows.ordering, len(run.size))
        shown = run.shown[used, :p]
        # Turned so that the smallest code leads: rotations of one circle become the same row.
        lead = shown.argmin(axis=1) if len(shown) else np.empty(0, dtype=np.int64)
        turned = shown[np.arange(len(shown))[:, None], (lead[:, None] + np.arange(p)) % p]
        circles, circle = np.unique(turned, axis=0, return_inverse=True)
        # A shown circle whose least candidate stands at place l has candidate (p - l) % p first.
        return cls(circles, circle.ravel()[ordering], ((p - lead) % p)[ordering])


def arm_series(run: RunCodes, rows: ArmCalls) -> ArmSeries:
    """Bring the p orders of each comparison together (see ``stats.classify``)."""
    p, turned = rows.p, Turned.of(run, rows)
    circles = turned.circles
    members, circle_set = np.unique(np.sort(circles, axis=1), axis=0, return_inverse=True)
    pair = rows.item * max(len(circles), 1) + turned.circle
    depth = int(rows.rank.max(initial=0)) + 1
    again = rows.repeat * depth + rows.rank
    key = pair * (int(again.max(initial=0)) + 1) + again
    keys, series = dense(key)
    table = np.full((len(keys), p), stats.ABSENT, dtype=np.int64)
    table[series, turned.slot] = rows.position
    calls = np.zeros(table.shape, dtype=np.int64)
    calls[series, turned.slot] = np.arange(len(series))
    absent = (table == stats.ABSENT).sum(axis=1)
    whole = np.flatnonzero(absent == 0)
    owner = keys // (int(again.max(initial=0)) + 1)
    kept, extra = _equal_repeats(owner[whole])
    whole = whole[kept]
    at_circle = owner[whole] % max(len(circles), 1)
    classes = stats.classify(table[whole])
    return ArmSeries(
        classes=classes._replace(winner=_in_set_order(classes.winner, circles, at_circle, p)),
        item=owner[whole] // max(len(circles), 1),
        set=circle_set.ravel()[at_circle],
        members=members,
        positions=table[whole],
        calls=calls[whole],
        incomplete=int((absent > 0).sum()),
        missing_calls=int(absent.sum()),
        extra=extra,
    )


def _equal_repeats(owner: Ints) -> tuple[Ints, int]:
    """Which series to use: all where every comparison has as many, else each one's first.

    ``owner`` (sorted) is the comparison of each complete series. Returns (rows kept, series
    left out).
    """
    counts = np.unique(owner, return_counts=True)[1]
    if len(owner) == 0 or counts.min() == counts.max():
        return np.arange(len(owner)), 0
    kept = np.flatnonzero(occurrence(owner) == 0)
    return kept, len(owner) - len(kept)


def _in_set_order(winner: Ints, circles: Ints, at: Ints, p: int) -> Ints:
    """Winners by circle slot -> by place in the ascending set; ties and "none" stay."""
    if len(circles) == 0:
        return winner
    rank = circles.argsort(axis=1).argsort(axis=1)
    known = (winner >= 0) & (winner < p)
    return np.where(known, rank[at, np.where(known, winner, 0)], winner)
