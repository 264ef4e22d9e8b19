"""What must be read before a number: replies without a score, one score only, few items that moved, shared texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from rubriclab.core.arm import TIE, Arm
from rubriclab.core.estimate import Estimate, missing, ratio, share
from rubriclab.core.gate import MOST_ORDERS
from rubriclab.core.intervals import FEW_MOVED
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.model.judgment import Reorder, Status
from rubriclab.stats.resample import Bools, has_repeats, sum_by
from rubriclab.topics.position import one_order_each, shown_evenly
from rubriclab.topics.shift import mean_of_known

CONSTANT = 0.95
"""From this share of one score on, shares of positions look even whatever the judge does."""
NOTABLE = 0.05
"""Above this share of replies without a score, or difference of it between orders, it is said."""
MANY_TIES = 0.5
"""Above this share of ties few choices are left that could show a position."""


@topic("failures", axes=set(get_args(Reorder)), charts=(Chart("bars", "score_share", by="score"),))
def failures(arm: Arm) -> Iterator[Row | Caution]:
    yield from parsed(arm)
    if not arm.ok.any():
        return
    yield from ties(arm) if arm.condition.chooses else scores(arm)
    yield from labels(arm)
    if arm.condition.joint or arm.condition.reorder not in ("responses", "bare"):
        yield from orders(arm)
    yield from units(arm)


def parsed(arm: Arm) -> Iterator[Row | Caution]:
    """Share of judgments with a score: in all, and in each order where not all have one."""
    asked = len(arm.ok)
    lost = asked - int(arm.ok.sum())
    yield Row("parsed_share", _share_of(arm, arm.ok, np.ones(asked, dtype=bool)), counts={"n": asked})
    off_scale = int(((arm.status == Status.OK) & ~arm.ok).sum())
    if lost == asked:
        yield Caution("nothing_parsed", of={"judgments": asked})
        return
    if off_scale:
        yield Caution("off_scale", of={"judgments": off_scale})
    if lost > NOTABLE * asked:
        yield Caution("unparsed", of={"unparsed": lost, "judgments": asked})
    if not lost or arm.condition.drawn or not 1 < len(arm.shown) <= MOST_ORDERS:
        return
    rates = np.bincount(arm.order, arm.ok) / np.bincount(arm.order)
    for order in range(len(rates)):
        here = arm.order == order
        of, counts = {"order": arm.order_label(order)}, {"n": int(here.sum())}
        yield Row("parsed_share", _share_of(arm, arm.ok & here, here), of, counts=counts)
    least, most = int(rates.argmin()), int(rates.argmax())
    if rates[most] - rates[least] > NOTABLE:
        ends = {"least": float(rates[least]), "most": float(rates[most])}
        yield Caution(
            "unparsed_by_order", of={**ends, "order": arm.order_label(least), "against": arm.order_label(most)}
        )


def _share_of(arm: Arm, hits: Bools, trials: Bools) -> Estimate:
    if not len(hits):
        return missing("nothing_parsed")
    unit = arm.unit[arm.item]
    return share(sum_by(unit, hits, arm.units), sum_by(unit, trials, arm.units), arm.unit_names)


def scores(arm: Arm) -> Iterator[Row | Caution]:
    """How often each score was given; a judge that gives one score shows nothing of its positions."""
    unit, score = arm.unit[arm.item[arm.rows]], arm.score[arm.rows]
    given = np.bincount(unit * len(arm.scores) + score, minlength=arm.units * len(arm.scores))
    table = given.reshape(arm.units, -1).astype(np.float64)
    total = table.sum(axis=1)
    names = [int(value) if value.is_integer() else value for value in arm.scores.tolist()]
    for k, name in enumerate(names):
        estimate = share(table[:, k], total, arm.unit_names)
        yield Row("score_share", estimate, {"score": name}, counts={"n": int(total.sum())})
    top = int(table.sum(axis=0).argmax())
    largest = float(table[:, top].sum() / total.sum())
    if largest >= CONSTANT:
        yield Caution("constant_judge", of={"share": largest, "score": names[top]})


def ties(arm: Arm) -> Iterator[Row | Caution]:
    """How often no candidate won."""
    kept = arm.ok
    tied = arm.position == TIE
    yield Row("tie_share", _share_of(arm, tied, kept), counts={"n": int(kept.sum())})
    if tied.sum() > MANY_TIES * kept.sum():
        yield Caution("many_ties", of={"share": float(tied.sum() / kept.sum())})


def labels(arm: Arm) -> Iterator[Row | Caution]:
    """How much of the probability fell on labels of options, where the server gave any."""
    kept = arm.ok & np.isfinite(arm.mass)
    if not kept.any():
        return
    unit = arm.unit[arm.item[kept]]
    top, count = sum_by(unit, arm.mass[kept], arm.units), sum_by(unit, kept[kept], arm.units)
    yield Row("label_mass", ratio(top, count, arm.unit_names), counts={"n": int(kept.sum())})
    mean = mean_of_known(arm.mass[kept])
    if mean < 0.5:
        yield Caution("mass_off_labels", of={"share": mean})


def orders(arm: Arm) -> Iterator[Row | Caution]:
    """What the orders of this arm allow, and how many items ever changed their score."""
    if arm.single_order:
        yield Caution("single_order")
        return
    kept = arm.rows
    item, score = arm.item[kept], arm.score[kept]
    calls = np.bincount(item, minlength=arm.items)
    low, high = np.full(arm.items, score.max()), np.full(arm.items, -1)
    np.minimum.at(low, item, score)
    np.maximum.at(high, item, score)
    several = calls > 1
    moved = several & (high > low)
    if several.any():
        estimate = share(sum_by(arm.unit, moved, arm.units), sum_by(arm.unit, several, arm.units), arm.unit_names)
        yield Row("moved_share", estimate, counts={"n": int(several.sum())})
    alone = one_order_each(arm)
    if alone:
        yield Caution("one_order_each")
    elif 0 < moved.sum() < FEW_MOVED:
        yield Caution("few_moved", of={"items": int(moved.sum())})
    if arm.condition.reorder == "options" and not shown_evenly(arm):
        yield Caution("uneven")
    if not alone and not any(_repeats(control) for control in arm.controls()):
        yield Caution("no_repeats")


def _repeats(arm: Arm) -> bool:
    """Was any item judged in the same order twice?"""
    key = arm.item[arm.rows] * len(arm.shown) + arm.order[arm.rows]
    return has_repeats(key, arm.items * len(arm.shown))


def units(arm: Arm) -> Iterator[Caution]:
    """Too few independent units, or a text that several share while nothing groups them."""
    if arm.units < MIN_UNITS:
        yield Caution("few_units", of={"units": arm.units, "needed": MIN_UNITS})
    items = arm.run.items.iloc[arm.item_code]
    if arm.unit_kind in ("prompt", "block") or "instruction" not in items:
        return
    first = np.unique(arm.text, return_index=True)[1]
    texts = items["instruction"].iloc[first].fillna("").astype(str)
    texts = texts[texts.str.strip() != ""]
    shared = int(texts.duplicated(keep=False).sum())
    if shared:
        yield Caution("shared_text", of={"items": shared, "texts": int(texts[texts.duplicated(keep=False)].nunique())})
