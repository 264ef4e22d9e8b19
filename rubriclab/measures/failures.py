"""Warn of what a reader must know first: lost replies, one score only, few items that moved."""

from collections.abc import Iterator
from typing import get_args

import numpy as np

from rubriclab.core.estimate import FEW_MOVED, Estimate, mean_over, share, share_of
from rubriclab.core.fairness import SURE_FREE_MASS, FreeMass, free_mass
from rubriclab.core.judgments import TIE, Arm, label_of
from rubriclab.core.permutation import MOST_ORDERS
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.measures.position import one_order_each, shown_evenly
from rubriclab.measures.shift import changes
from rubriclab.model.judgment import BROKEN, FOLDED, LOWERED, TIED, UNBEGUN, Reorder, Status
from rubriclab.stats.resample import Bools, crossed

CONSTANT = 0.95
"""From this share of one score on, shares of positions look even whatever the judge does."""
NOTABLE = 0.05
"""Above this share of replies without a score, or difference of it between orders, it is said."""
NOTES = {
    TIED: "tied_labels",
    FOLDED: "folded",
    UNBEGUN: "unbegun",
    LOWERED: "lowered",
    BROKEN: "broken",
}
"""Notes on calls, and the cautions that count them."""
MANY_TIES = 0.5
"""Above this share of ties few choices are left that could show a position."""


@topic("failures", axes=set(get_args(Reorder)), charts=(Chart("bars", "score_share", by="score"),))
def failures(arm: Arm) -> Iterator[Row | Caution]:
    yield from parsed(arm)
    yield from notes(arm)
    if not arm.ok.any():
        return
    yield from ties(arm) if arm.condition.chooses else scores(arm)
    yield from labels(arm)
    if arm.condition.reorder != "bare" and not arm.condition.asked_alone:
        yield from orders(arm)
    yield from units(arm)


def parsed(arm: Arm) -> Iterator[Row | Caution]:
    """Yield the share of judgments with a score: in all, and by order where some are lost."""
    asked = len(arm.ok)
    lost, off_scale = asked - int(arm.ok.sum()), int(((arm.status == Status.OK) & ~arm.ok).sum())
    parts: list[tuple[dict[str, str], Bools]] = [({}, np.ones(asked, dtype=bool))]
    by_order = 0 < lost < asked and not arm.condition.drawn and 1 < len(arm.shown) <= MOST_ORDERS
    if by_order:
        parts += [
            ({"order": arm.order_label(order)}, arm.order == order)
            for order in range(len(arm.shown))
        ]
    for of, which in parts:
        yield Row("parsed_share", _share(arm, arm.ok, which), of, counts={"n": int(which.sum())})
    if lost == asked:
        yield Caution("nothing_parsed", of={"judgments": asked})
    else:
        if off_scale:
            yield Caution("off_scale", of={"judgments": off_scale})
        if lost > NOTABLE * asked:
            yield Caution("unparsed", of={"unparsed": lost, "judgments": asked})
    if by_order:
        rates = np.bincount(arm.order, arm.ok) / np.bincount(arm.order)
        least, most = int(rates.argmin()), int(rates.argmax())
        if rates[most] - rates[least] > NOTABLE:
            ends = {"least": float(rates[least]), "most": float(rates[most])}
            named = {"order": arm.order_label(least), "against": arm.order_label(most)}
            yield Caution("unparsed_by_order", of=ends | named)


def _share(arm: Arm, hits: Bools, trials: Bools) -> Estimate:
    """Return the share of judgments; ``hits``, ``trials``: (rows,)."""
    return share_of(hits, trials, arm.unit[arm.item], arm.unit_names)


def scores(arm: Arm) -> Iterator[Row | Caution]:
    """Yield how often each score was given.

    A judge that gives one score shows nothing about its positions.
    """
    table = crossed(arm.unit[arm.item[arm.rows]], arm.units, arm.score[arm.rows], len(arm.scores))
    total, given = table.sum(axis=1), table.sum(axis=0) / table.sum()
    names = [label_of(score) for score in arm.scores.tolist()]
    for k, name in enumerate(names):
        estimate = share(table[:, k], total, arm.unit_names)
        yield Row("score_share", estimate, {"score": name}, counts={"n": int(total.sum())})
    if given.max() >= CONSTANT:
        yield Caution(
            "constant_judge", of={"share": float(given.max()), "score": names[int(given.argmax())]}
        )


def ties(arm: Arm) -> Iterator[Row | Caution]:
    """Yield how often no candidate won."""
    tied, n = arm.ok & (arm.position == TIE), int(arm.ok.sum())
    yield Row("tie_share", _share(arm, tied, arm.ok), counts={"n": n})
    if tied.sum() > MANY_TIES * n:
        yield Caution("many_ties", of={"share": float(tied.sum() / n)})


def labels(arm: Arm) -> Iterator[Row | Caution]:
    """Yield how much of the probability was on labels of options, where the server gave any."""
    mass = np.where(arm.ok, arm.mass, np.nan)
    known = np.isfinite(mass)
    constrained = free_mass([arm])
    if constrained is not None:
        yield from constraint(constrained)
    if not known.any():
        return
    estimate = mean_over(mass, arm.unit[arm.item], arm.unit_names)
    yield Row("label_mass", estimate, counts={"n": int(known.sum())})
    mean = float(mass[known].mean())
    if mean < 0.5 and constrained is None:
        yield Caution("mass_off_labels", of={"share": mean})


def constraint(known: FreeMass) -> Iterator[Caution]:
    """Yield what a constrained judge's replies are worth; nothing where its free mass is high."""
    of = {"mass": known.median, "calls": known.calls}
    if known.reason:
        yield Caution(known.reason, of=of if known.calls else {})
    elif known.median < SURE_FREE_MASS:
        yield Caution("free_mass_partly", of=of)


def notes(arm: Arm) -> Iterator[Caution]:
    """Yield what a reader must know about some calls: tied labels, calls not sent as planned."""
    for note, kind in NOTES.items():
        calls = arm.run.table.notes.get((arm.code, note), 0)
        if calls:
            yield Caution(kind, of={"calls": calls})


def orders(arm: Arm) -> Iterator[Row | Caution]:
    """Yield what the orders of this arm allow, and how many items ever changed their score."""
    if arm.single_order:
        yield Caution("single_order")
        return
    given = crossed(arm.item[arm.rows], arm.items, arm.score[arm.rows], int(arm.score.max()) + 1)
    several, moved = given.sum(axis=1) > 1, (given > 0).sum(axis=1) > 1
    if several.any():
        estimate = share_of(moved, several, arm.unit, arm.unit_names)
        yield Row("moved_share", estimate, counts={"n": int(several.sum())})
    alone = one_order_each(arm)
    if alone:
        yield Caution("one_order_each")
    elif 0 < moved.sum() < FEW_MOVED:
        yield Caution("few_moved", of={"items": int(moved.sum())})
    if arm.condition.reorder == "options" and not shown_evenly(arm):
        yield Caution("uneven")
    if not alone and not any(np.isfinite(changes(control)[1]).any() for control in arm.controls()):
        asked_twice = any(bool((control.repeat > 0).any()) for control in arm.controls())
        yield Caution("repeats_unparsed" if asked_twice else "no_repeats")


def units(arm: Arm) -> Iterator[Caution]:
    """Yield cautions: too few independent units, or texts that several share ungrouped."""
    if arm.units < MIN_UNITS:
        yield Caution("few_units", of={"units": arm.units, "needed": MIN_UNITS})
    items = arm.run.items.iloc[arm.item_code]
    if arm.unit_kind in ("prompt", "block") or "instruction" not in items:
        return
    first = np.unique(arm.text, return_index=True)[1]
    texts = items["instruction"].iloc[first].fillna("").astype(str)
    texts = texts[texts.str.strip() != ""]
    shared = texts[texts.duplicated(keep=False)]
    if len(shared):
        yield Caution("shared_text", of={"items": len(shared), "texts": int(shared.nunique())})
