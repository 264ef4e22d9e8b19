"""What the order does to each item in each arm of changes of a rubric: the responses of “What pulls?”."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.frame import Bools, ok_rows, on_labels, shown_table
from rubriclab.findings.shift import GIVEN
from rubriclab.model import RunData
from rubriclab.model.rubric_changes import changes_in
from rubriclab.stats.inference import Floats, Ints, sum_by
from rubriclab.stats.shift import direction

MOST_UNREAD = 0.5
"""Share of replies without a score, above which a change is one that the judge does not answer under."""

MOST_GIVEN = 0.75
"""Share of arms with token probabilities from which on the others are left out, not the probabilities."""


@dataclass(frozen=True)
class Unanswered:
    """A change under which most replies give no score. ``codes``: the run's arms that have it, whatever else they
    have; ``unread`` of ``asked`` replies there gave none."""

    key: str
    codes: tuple[int, ...]
    unread: int
    asked: int


@dataclass(frozen=True)
class ArmReads:
    """Responses (items, arms) as shares of the scale; NaN where an item was not read in two orders.

    ``order``: ascending less descending; ``spread``: two readings in different orders less two in one and the
    same, None without repeats. ``made``: each arm's changes; ``codes``: the run's arms behind each (one a scale);
    ``keys``: all changes; ``base``: an arm of the rubric as it is. ``unread``: (arms,) replies without a score.
    ``unanswered``: changes that are in none of this, with all their arms: what little is read there is the
    judge's refusals, not the order, and would take token probabilities from all other arms. ``silent``: how many
    other arms are left out, see :func:`_alike`.
    """

    rubric: str
    base: int
    items: Ints
    keys: tuple[str, ...]
    made: tuple[tuple[str, ...], ...]
    codes: tuple[tuple[int, ...], ...]
    order: Floats
    spread: Floats | None
    unread: Ints
    outcome: Literal["score", "expected"]
    some_expected: bool
    unanswered: tuple[Unanswered, ...]
    silent: int


def grouped(data: RunData) -> list[list[int]]:
    """Arms (by code) of each judge, data set and rubric that was asked about as it is and with changes."""
    found: dict[Hashable, list[int]] = {}
    for code, arm in enumerate(data.arms):
        name = arm.variant.get("rubric")
        if arm.axis == "options" and name is not None:
            others = tuple(pair for pair in arm.variant.levels if pair[0] != "rubric")
            key = (arm.judge, arm.dataset, changes_in(str(name))[0], str(others))
            found.setdefault(key, []).append(code)
    sets = {tuple(members): {_keys(data, code) for code in members} for members in found.values()}
    return [list(members) for members, made in sets.items() if () in made and len(made) > 1]


def _keys(data: RunData, code: int) -> tuple[str, ...]:
    return changes_in(str(data.arms[code].variant.get("rubric")))[1]


def arm_reads(data: RunData, members: Sequence[int]) -> ArmReads | None:
    """The responses of one group of :func:`grouped`; None where nothing was read in two orders."""
    unanswered = tuple(_unanswered(data, members))
    lost = {one.key for one in unanswered}
    answered = [code for code in members if not lost & set(_keys(data, code))]
    members = _alike(data, answered)
    made = tuple(dict.fromkeys(_keys(data, code) for code in members))
    column = {code: made.index(_keys(data, code)) for code in members}
    table = data.judgments[data.judgments["arm"].isin(list(members))]
    x, y, expected = _values(data, table)
    arm = table["arm"].map(column).to_numpy().astype(np.int64)
    unread = np.bincount(arm[~ok_rows(table)], minlength=len(made)).astype(np.int64)
    given = np.isfinite(expected)
    use = _use_expected(table, arm, given, len(made))
    value = expected if use else y
    items = np.unique(table["item"].to_numpy().astype(np.int64))
    item = np.searchsorted(items, table["item"].to_numpy().astype(np.int64))
    kept = np.isfinite(value) & np.isfinite(x)
    cell = (item * len(made) + arm)[kept]
    shape = (len(items), len(made))
    order = _slope(cell, x[kept], value[kept], len(items) * len(made)).reshape(shape)
    if not np.isfinite(order).any():
        return None
    spread = _spread(cell, table["ordering"].to_numpy()[kept], value[kept], len(items) * len(made))
    base = next(code for code in members if not _keys(data, code))
    return ArmReads(
        rubric=changes_in(str(data.arms[base].variant.get("rubric")))[0],
        base=base,
        items=items,
        keys=tuple(dict.fromkeys(key for code in answered for key in _keys(data, code))),
        made=made,
        codes=tuple(tuple(code for code in members if column[code] == place) for place in range(len(made))),
        order=order,
        spread=None if spread is None else spread.reshape(shape),
        unread=unread,
        outcome="expected" if use else "score",
        some_expected=bool(given.any()),
        unanswered=unanswered,
        silent=len(answered) - len(members),
    )


def _use_expected(table: pd.DataFrame, arm: Ints, given: Bools, n: int) -> bool:
    """Whether nearly all replies of each of ``n`` arms came with token probabilities, mostly on the labels."""
    share = np.bincount(arm[given], minlength=n) / np.maximum(np.bincount(arm[ok_rows(table)], minlength=n), 1)
    return bool((share > GIVEN).all()) and on_labels(table["mass"].to_numpy().astype(np.float64)[given])


def _unanswered(data: RunData, members: Sequence[int]) -> Iterator[Unanswered]:
    """Changes with which most replies give no score while most about the rubric as it is do, the worst first: arms
    have several changes, so each is judged by the arms that those before it leave."""
    if _unread(data, [code for code in members if not _keys(data, code)]) > MOST_UNREAD:
        return
    left = list(members)
    while True:
        found = {key: [code for code in left if key in _keys(data, code)] for code in left for key in _keys(data, code)}
        worst = max(found, key=lambda key: _unread(data, found[key]), default="")
        if not worst or _unread(data, found[worst]) <= MOST_UNREAD:
            return
        codes = found[worst]
        rows = data.judgments[data.judgments["arm"].isin(codes)]
        yield Unanswered(worst, tuple(codes), int((~ok_rows(rows)).sum()), len(rows))
        left = [code for code in left if code not in codes]


def _alike(data: RunData, members: Sequence[int]) -> list[int]:
    """Arms that were mostly read and, where nearly all of these (the rubric as it is among them) gave token
    probabilities, gave some too: one arm without would have all others read by their scores."""
    rows = data.judgments[data.judgments["arm"].isin(list(members)) & ok_rows(data.judgments)]
    given = rows["expected"].notna().groupby(rows["arm"]).mean()
    read = [code for code in members if not _keys(data, code) or _unread(data, [code]) < MOST_UNREAD]
    fine = [code for code in read if given.get(code, 0.0) > GIVEN]
    whole = len(fine) >= MOST_GIVEN * len(members) and any(not _keys(data, code) for code in fine)
    return fine if whole else read


def _unread(data: RunData, codes: Sequence[int]) -> float:
    """Share of the replies of these arms that gave no score."""
    rows = data.judgments[data.judgments["arm"].isin(list(codes))]
    return float(1.0 - ok_rows(rows).mean()) if len(rows) else 0.0


def _values(data: RunData, table: pd.DataFrame) -> tuple[Floats, Floats, Floats]:
    """Of each row how far its order ascends (-1..1), its score and its expected score as shares of the scale."""
    size = len(table)
    x, y, expected = np.full(size, np.nan), np.full(size, np.nan), np.full(size, np.nan)
    code, ordering = table["arm"].to_numpy(), table["ordering"].to_numpy().astype(np.int64)
    read = ok_rows(table)
    for arm in np.unique(code):
        mine, scores = code == arm, data.arms[int(arm)].scores
        seen, place = np.unique(ordering[mine], return_inverse=True)
        shown = shown_table(data.orderings, seen, scores)
        low, range_ = scores[0], scores[-1] - scores[0]
        x[mine] = np.where(shown[:, 0] >= 0, direction(shown), np.nan)[place]
        y[mine] = (table["score"].to_numpy()[mine] - low) / range_
        expected[mine] = (table["expected"].to_numpy()[mine] - low) / range_
    return x, np.where(read, y, np.nan), np.where(read, expected, np.nan)


def _slope(cell: Ints, x: Floats, y: Floats, n: int) -> Floats:
    """Ascending less descending within each cell: twice the slope of the score on the direction."""
    count = np.bincount(cell, minlength=n)
    mean_x, mean_y = (sum_by(cell, part, n) / np.maximum(count, 1) for part in (x, y))
    dx, dy = x - mean_x[cell], y - mean_y[cell]
    top, bottom = sum_by(cell, dx * dy, n), sum_by(cell, dx**2, n)
    return np.where(bottom > 1e-9, 2.0 * top / np.where(bottom > 1e-9, bottom, 1.0), np.nan)


def _spread(cell: Ints, order: Ints, y: Floats, n: int) -> Floats | None:
    """How far two reads in different orders are apart less two in one, by cell; None where few have both."""
    rank = pd.Series(cell).groupby(cell).cumcount().to_numpy()
    most = int(rank.max(initial=-1)) + 1
    value, shown = np.full((n, most), np.nan), np.full((n, most), -1, dtype=np.int64)
    value[cell, rank], shown[cell, rank] = y, order
    totals = np.zeros((4, n))
    for a, b in combinations(range(most), 2):
        gap = np.abs(value[:, a] - value[:, b])
        both, same = np.isfinite(gap), shown[:, a] == shown[:, b]
        for place, which in ((0, both & ~same), (2, both & same)):
            totals[place] += np.where(which, gap, 0.0)
            totals[place + 1] += which
    known = (totals[1] > 0) & (totals[3] > 0)
    if known.sum() < 0.5 * (totals[1] > 0).sum() or not known.any():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(known, totals[0] / totals[1] - totals[2] / totals[3], np.nan)
