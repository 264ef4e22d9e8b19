"""Arms of one judge in; how far the mean of so many calls can be relied on, in different orders and
in one, out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.estimate import Estimate, Opaque, missing
from rubriclab.core.judgments import Arm, Names, widest
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.components import PARTS, Components, components
from rubriclab.stats.resample import Floats, Ints, distinct

TARGET = 0.9
"""What is called dependable enough for decisions about single items (Nunnally 1978, Psychometric
Theory, page 245).
"""
CALLS = np.array((1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20))
MOST_CALLS = 200
"""More calls an item than these are no advice."""
ONE_ORDER = "one order"
FEWEST, FEWEST_AGAIN, FEWEST_ORDERS = 20, 100, 4
"""Units, second calls of an item in an order (of what hangs on noise) and orders (of what they do
to all items), from which on intervals are given: with 15 units they held too seldom; many repeats
agree to the point, so few of them make all of the noise; of two orders 0.80 held, of three 0.90, of
four 0.93 to 0.95. Measured: ``docs/method-check.md``.
"""


@dataclass(frozen=True, eq=False)
class Pooled:
    """All parsed calls of arms that differ in their orders alone.

    Of each call: ``item`` 0..n-1, ``order`` a row of ``shown``, ``value``, ``call``, and its index
    in the arms' own rows joined (``kept``). Of each item: its code in the run, ``unit``, an index
    into ``names``. ``widest``: the arm with most orders, which rows are about.
    """

    widest: Arm
    item: Ints
    order: Ints
    value: Floats
    call: Floats
    kept: Ints | slice
    item_code: Ints
    unit: Ints
    names: Names
    shown: Ints

    @property
    def items(self) -> int:
        return len(self.item_code)


def pooled(arms: Sequence[Arm]) -> Pooled:
    """Arms of one setting together."""
    run, ok = arms[0].run, np.concatenate([arm.ok for arm in arms])
    parsed = slice(None) if ok.all() else np.flatnonzero(ok)
    shown, alike = np.unique(
        np.concatenate([arm.shown for arm in arms]), axis=0, return_inverse=True
    )
    of_arm = np.split(alike.ravel(), np.cumsum([len(arm.shown) for arm in arms]))
    columns = [
        (a.item_code[a.item], rank[a.order], a.value, a.call)
        for a, rank in zip(arms, of_arm, strict=False)
    ]
    code, order, value, call = (
        (part[0] if len(part) == 1 else np.concatenate(part))[parsed]
        for part in zip(*columns, strict=True)
    )
    items, item = distinct(code, len(run.items))
    units, unit = distinct(run.unit_of_item[items], len(run.unit_names))
    return Pooled(
        widest(arms), item, order, value, call, parsed, items, unit, run.unit_names[units], shown
    )


@topic(
    "reliability",
    axes={"options", "criteria"},
    charts=(Chart("curve", "dependability", "calls", "protocol"),),
    per="setting",
)
def reliability(arms: Sequence[Arm]) -> Iterator[Row]:
    calls = pooled(arms)
    criterion = (
        pd.factorize(calls.widest.run.items["criterion"].iloc[calls.item_code])[0].astype(np.int64)
        + 1
    )
    made = components(calls.item, calls.order, calls.value, calls.unit, criterion)
    about: dict[str, Any] = {
        "condition": calls.widest.code,
        "counts": {"n": len(calls.value), "items": calls.items},
    }
    if made is None or not np.isfinite(made.shares).any():
        why = "constant_scores" if made else "no_repeats" if len(calls.value) else "nothing_parsed"
        yield Row("dependability", missing(why), {"calls": 1}, **about)
        yield Row("calls_needed", missing(why), **about)
        return
    noise_why = "" if made.repeats >= FEWEST_AGAIN else "few_repeats"

    for k, part in enumerate(PARTS):
        if np.isfinite(made.shares[k]):
            why = {
                "noise": noise_why,
                "order": "few_orders" if len(calls.shown) < FEWEST_ORDERS else "",
            }.get(part, "")
            estimate = _of_all(calls, float(made.shares[k]), partial(made.share_ends, k), why)
            yield Row("variance_share", estimate, {"term": part}, **about)
    orders = bool(np.isfinite(made.variances[0, 1:3]).any())
    for same in (False, True) if orders else (True,):
        of, why = ({"protocol": ONE_ORDER}, noise_why) if same else ({}, "")
        if same and orders and not np.isfinite(made.variances[0, 3]):
            yield Row("calls_needed", missing("no_repeats"), of, **about)
            continue
        for k, value in enumerate(made.dependability(CALLS, one_order=same).tolist()):
            ends = partial(made.ends, CALLS[k : k + 1], one_order=same)
            estimate = (
                _of_all(calls, value, ends, why) if np.isfinite(value) else missing("no_repeats")
            )
            yield Row("dependability", estimate, {"calls": int(CALLS[k])} | of, **about)
        yield Row("calls_needed", calls_needed(calls, made, same, why), of, **about)
    if not orders:
        yield Row("calls_needed", missing("single_order"), **about)


def _of_all(
    calls: Pooled, value: float, ends: Callable[[float], tuple[Floats, Floats]], why: str
) -> Estimate:
    """A number of all units together that no single one is a part of; ``ends``: (1,) each."""

    def rule(level: float) -> tuple[float, float]:
        low, high = ends(level)
        return float(low[0]), float(high[0])

    return Estimate(
        value, np.broadcast_to(0.0, len(calls.names)), calls.names, Opaque(rule, fewest=FEWEST), why
    )


def calls_needed(calls: Pooled, made: Components, one_order: bool, why: str) -> Estimate:
    """The fewest calls whose mean reaches TARGET; from where the upper end of dependability does to
    where the lower one does: MOST_CALLS where that is nowhere up to there.
    """
    every = np.arange(1, MOST_CALLS + 1)

    def fewest(values: Floats) -> Floats:
        reached = np.flatnonzero(values >= TARGET - 1e-9)
        return np.array([every[reached[0]] if len(reached) else np.inf], dtype=np.float64)

    value = float(fewest(made.dependability(every, one_order=one_order))[0])
    if not np.isfinite(value):
        return missing("not_reached")

    def ends(level: float) -> tuple[Floats, Floats]:
        low, high = made.ends(every, level, one_order=one_order)
        return (
            (fewest(high), np.minimum(fewest(low), MOST_CALLS))
            if np.isfinite(low).any()
            else (low, high)
        )

    return _of_all(calls, value, ends, why)
