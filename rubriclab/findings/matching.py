"""Two arms beside each other: can they be compared, and on which items?

Arms are compared item by item where both judged the same ones (the same data set, item id and
criterion, also across runs), and as groups of their own where they did not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from rubriclab.findings.frame import compress
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats.inference import Floats, Ints, bootstrap_sums

NAMES = {
    "options": msg("the order of score options"),
    "criteria": msg("the order of criteria"),
    "pairwise": msg("pairs"),
    "listwise": msg("lists"),
    "batch": msg("batches"),
}
ENOUGH_SHARED = 0.5
"""From this share of the smaller arm's items on, two arms are compared on the shared items."""


@dataclass(frozen=True)
class Matched:
    """The items that a difference rests on, and what is resampled.

    ``at_a``, ``at_b``: places among each arm's items; where ``paired``, the k-th of both is the
    same item and their units are the same. ``unit_a``, ``unit_b``: the unit of each place,
    0..``units_a``-1 and 0..``units_b``-1. ``left_out_a``, ``left_out_b``: items of an arm that
    are not used; ``changed``: the same id in both arms, but a text of another length.
    """

    paired: bool
    at_a: Ints
    at_b: Ints
    unit_a: Ints
    unit_b: Ints
    units_a: int
    units_b: int
    left_out_a: int
    left_out_b: int
    changed: int

    @property
    def units(self) -> int:
        """How many units the intervals rest on: those of the smaller arm."""
        return min(self.units_a, self.units_b)


def why_not(a: Arm, b: Arm) -> str:
    """Why these arms cannot be compared, in words; "" where they can."""
    if a.axis != b.axis:
        return tr("One is about {one}, the other about {other}.", one=tr(NAMES[a.axis]), other=tr(NAMES[b.axis]))
    if a.axis == "batch":
        return tr("Runs of batches are not held against each other cell by cell: each has its single calls beside it.")
    if a.axis == "options" and len(a.scores) != len(b.scores):
        return tr(
            "Another number of options, {n} against {other}: with fewer options every position is picked more often.",
            n=len(a.scores),
            other=len(b.scores),
        )
    both = a.scores and b.scores
    if a.scores != b.scores and (a.axis == "options" or (a.axis == "criteria" and both)):
        return tr("Another range of scores: {one} against {other}.", one=_range(a), other=_range(b))
    if a.n_positions != b.n_positions:
        message = (
            msg("Another number of criteria in a call: {n} against {other}.")
            if a.axis == "criteria"
            else msg("Another number of answers in a list: {n} against {other}.")
        )
        return tr(message, n=a.n_positions, other=b.n_positions)
    return ""


def item_keys(a: RunData, items_a: Ints, b: RunData, items_b: Ints) -> tuple[Ints, Ints, int]:
    """(a number for each item of a, the same for b, how many were changed).

    The same number means the same data set, id and criterion. Items whose text has another
    length in the other run get numbers of their own.
    """
    if a.run == b.run:
        return items_a, items_b, 0
    codes = np.zeros(len(items_a) + len(items_b), dtype=np.int64)
    for name in ("dataset", "item_id", "criterion"):
        if name in a.items and name in b.items:
            sides = (a.items[name].iloc[items_a], b.items[name].iloc[items_b])
            texts = _same_text_same_code(*sides)
            # Small again after every column, so that no product outgrows an integer.
            codes = pd.factorize(codes * (int(texts.max(initial=0)) + 2) + texts + 1)[0]
    codes = codes.astype(np.int64)
    key_a, key_b = codes[: len(items_a)], codes[len(items_a) :]
    _, at_a, at_b = np.intersect1d(key_a, key_b, return_indices=True)
    long_a, long_b = _lengths(a.items, items_a)[at_a], _lengths(b.items, items_b)[at_b]
    changed = key_a[at_a[(long_a != long_b) & (long_a > 0) & (long_b > 0)]]
    other = np.isin(key_b, changed)
    return key_a, np.where(other, key_b + int(codes.max(initial=0)) + 1, key_b), len(changed)


def matched(key_a: Ints, key_b: Ints, unit_a: Ints, unit_b: Ints, *, changed: int = 0) -> Matched:
    """Pair two arms on the items they share, or keep them apart.

    ``key_*``: numbers of the arms' items (``item_keys``), ``unit_*``: the unit of each. Paired
    where at least half of the smaller arm's items are shared; the coarser of the two groupings
    into units is resampled. Else apart, and items that both judged stay with the smaller arm
    alone, so that none counts on both sides.
    """
    _, at_a, at_b = np.intersect1d(key_a, key_b, return_indices=True)
    sizes = len(key_a), len(key_b)
    paired = len(at_a) > 0 and len(at_a) >= ENOUGH_SHARED * min(sizes)
    if not paired:
        every_a, every_b = (np.arange(size, dtype=np.int64) for size in sizes)
        shared_a, shared_b = at_a, at_b
        at_a = np.delete(every_a, shared_a) if sizes[0] > sizes[1] else every_a
        at_b = np.delete(every_b, shared_b) if sizes[0] <= sizes[1] else every_b
    own_a, own_b = _dense(unit_a[at_a]), _dense(unit_b[at_b])
    if paired:
        own_a = own_b = min(own_a, own_b, key=_size)
    return Matched(
        paired=paired,
        at_a=at_a,
        at_b=at_b,
        unit_a=own_a,
        unit_b=own_b,
        units_a=_size(own_a),
        units_b=_size(own_b),
        left_out_a=sizes[0] - len(at_a),
        left_out_b=sizes[1] - len(at_b),
        changed=changed,
    )


def resampled(
    a: Floats, b: Floats, *, paired: bool, n_boot: int, seed: int
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """((totals, draws) of a, the same of b) from sums by unit, (units, k) each.

    Totals are (k,), draws (n_boot, k). Paired arms share every draw, others have their own.
    """
    if not paired:
        sides = [(a, seed), (b, seed + 1)]
        drawn = [_drawn(sums, n_boot, one_seed) for sums, one_seed in sides]
        return (a.sum(axis=0), drawn[0]), (b.sum(axis=0), drawn[1])
    both = _drawn(np.hstack([a, b]), n_boot, seed)
    width = a.shape[1]
    return (a.sum(axis=0), both[:, :width]), (b.sum(axis=0), both[:, width:])


def _drawn(sums: Floats, n_boot: int, seed: int) -> Floats:
    if not len(sums):
        return np.full((n_boot, sums.shape[1]), np.nan)
    return bootstrap_sums(sums, n_boot=n_boot, seed=seed)


def _same_text_same_code(a: pd.Series, b: pd.Series) -> Ints:
    """Codes of the texts of ``a``, then of ``b``; -1 where there is none."""
    if isinstance(a.dtype, pd.CategoricalDtype) and isinstance(b.dtype, pd.CategoricalDtype):
        return np.asarray(union_categoricals([a, b]).codes, dtype=np.int64)
    whole = pd.concat([a.astype("object"), b.astype("object")], ignore_index=True)
    return np.asarray(pd.factorize(whole)[0], dtype=np.int64)


def _lengths(items: pd.DataFrame, codes: Ints) -> Floats:
    """Characters of each item's text; 0 where nothing is known."""
    if "n_chars" not in items:
        return np.zeros(len(codes))
    return np.asarray(np.nan_to_num(items["n_chars"].to_numpy(dtype=np.float64)[codes]))


def _dense(code: Ints) -> Ints:
    return compress(code, int(code.max(initial=0)) + 1)[1]


def _size(code: Ints) -> int:
    return int(code.max(initial=-1)) + 1


def _range(arm: Arm) -> str:
    return tr("{low} to {high}", low=arm.scores[0], high=arm.scores[-1]) if arm.scores else tr("none")
