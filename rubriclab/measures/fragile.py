"""Find the scores to look at again: those most likely to change in another order.

The list is chosen on the first round of repeats, in which each order was asked once, and counted on
the other rounds. Calls that choose items cannot say how often these items change: of two calls, the
20 items that are listed changed in nearly all cases, because that is why they are listed. For the
same reason the order effect by zone is never measured on the round that made the zones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from rubriclab.core.cells import line
from rubriclab.core.estimate import Reach, missing, plain, ratio, simultaneous
from rubriclab.core.judgments import Arm, Names, hash_names, label_of, once
from rubriclab.core.topic import Findings, Row, topic
from rubriclab.measures.pass_fail import cut_of
from rubriclab.model.judgment import Reorder
from rubriclab.model.passing import Cut
from rubriclab.model.study import ReadingPart
from rubriclab.stats.fragile import chance_apart, most_likely, pairs_apart
from rubriclab.stats.mean_contrasts import order_cells, within_texts
from rubriclab.stats.resample import Bools, Floats, Ints, crossed, distinct, rank_within, sum_by

AXES: set[Reorder] = {"options", "criteria", "responses"}
"""The axes that list something and whose answers are scores."""
LISTED = 20
FEWEST = 30
"""With fewer items the list would hold most of them, and what items share is unknown."""
SAME = 1e-9
"""Chances that differ by less are the same; the rest is rounding."""
ZONES = ("none_pass", "mixed", "all_pass")


@topic("fragile", axes=AXES)
def fragile(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row]:
    if arm.single_order or not arm.ok.any():
        return
    reading = reading or ReadingPart()
    yield from promised_and_kept(arm, fragile_items(arm, reading.cut))
    if arm.condition.reorder == "options":
        yield from effect_by_zone(arm, reading)


@dataclass(frozen=True, eq=False)
class Fragile:
    """How likely each item of an arm is to change in another order, and which ones are listed.

    chance: (items,) the probability that two calls in two different orders come out differently,
        as the first round says. NaN where unknown, and for all items where ``why`` says why.
    listed: the items with the largest chance, the largest first.
    given: (items, outcomes) how often each outcome was given in the first round.
    outcomes: what these outcomes are called: the scores, or fail and pass.
    changed: (items,) the share of pairs of calls in two orders of another round that came out
        differently. NaN where no other round has a pair.
    why: a key of the reasons why there is no list; else empty.
    """

    chance: Floats
    listed: Ints
    given: Floats = field(repr=False)
    outcomes: tuple[str, ...]
    changed: Floats = field(repr=False)
    why: str = ""

    @property
    def checked(self) -> Bools:
        """(items,): whether the item has a chance and was counted in another round."""
        return np.asarray(np.isfinite(self.chance) & np.isfinite(self.changed))

    @property
    def in_list(self) -> Bools:
        """(items,): whether the item is listed."""
        inside = np.zeros(len(self.chance), dtype=bool)
        inside[self.listed] = True
        return inside

    @property
    def as_last_listed(self) -> Bools:
        """(items,): whether the chance is the same as the last listed one's."""
        if not len(self.listed):
            return np.zeros(len(self.chance), dtype=bool)
        return np.asarray(np.abs(self.chance - self.chance[self.listed[-1]]) < SAME)

    @property
    def tied(self) -> int:
        """How many items have the same chance as the last listed one, and are not listed."""
        return int((self.as_last_listed & ~self.in_list).sum())

    @property
    def share_in_list(self) -> Floats:
        """(items,): how much of an item is counted as listed.

        Items with the same chance as the last one listed share the places that are left, so that
        no name decides what the list keeps.
        """
        share = self.in_list.astype(np.float64)
        if len(self.listed):
            alike = self.as_last_listed
            share[alike] = share[alike].mean()
        return share


@once
def fragile_items(arm: Arm, cut: float | None) -> Fragile:
    """Return the fragile items of an arm.

    ``cut``: the lowest score that passes. With one, an item changes if it passes in one
    call and fails in the other; without, if its score is another one.
    """
    code, outcomes = _outcomes(arm, cut)
    given = _counts(arm, code, len(outcomes), 0)
    changed = _changed(arm, code, len(outcomes))
    apart, pairs = pairs_apart(given)
    chance = np.where(pairs > 0, chance_apart(given), np.nan)
    why = ""
    if arm.condition.packed:
        why = "packed_calls"
    elif not (pairs > 0).any():
        why = arm.lacking("no_two_orders")
    elif (pairs > 0).sum() < FEWEST:
        why = "few_for_fragile"
    elif not apart.any():
        why = "no_changes"
    if why:
        chance = np.full(arm.items, np.nan)
    listed = most_likely(chance, _tie_breaker(arm), LISTED)
    return Fragile(chance, listed, given, outcomes, changed, why)


def _outcomes(arm: Arm, cut: float | None) -> tuple[Ints, tuple[str, ...]]:
    """Return (calls,) what came out, as an index into the names that are returned with it."""
    if cut is None:
        return arm.score, tuple(f"{score:g}" for score in arm.scores)
    passes = (arm.scores >= cut).astype(np.int64)
    return np.where(arm.ok, passes[arm.score], -1), ("fail", "pass")


@once
def rounds(arm: Arm) -> Ints:
    """(calls,): how often this order had been asked about this item before."""
    cell = arm.item * len(arm.shown) + arm.order
    if len(distinct(cell, arm.items * len(arm.shown))[0]) == len(cell):
        return np.zeros(len(cell), dtype=np.int64)
    return rank_within(cell, arm.call, arm.repeat)


@once
def copied(arm: Arm) -> bool:
    """Return whether some order was asked again, and every repeat gave the same score.

    Another round is then a copy of the first (of a judge at temperature 0, or out of a cache). It
    checks nothing, and measured on it, zones would hold what sorted them.
    """
    kept = arm.rows
    cell = arm.item[kept] * len(arm.shown) + arm.order[kept]
    present, cell = distinct(cell, arm.items * len(arm.shown))
    if len(present) == len(cell):
        return False
    calls, score = np.bincount(cell), arm.score[kept].astype(np.float64)
    spread = calls * np.bincount(cell, score**2) - np.bincount(cell, score) ** 2
    return not bool((spread > 0.5).any())


def _counts(arm: Arm, code: Ints, outcomes: int, number: int) -> Floats:
    """(items, outcomes): how often each outcome was given in the round ``number``."""
    kept = np.flatnonzero(arm.ok & (rounds(arm) == number))
    return crossed(arm.item[kept], arm.items, code[kept], outcomes)


def _changed(arm: Arm, code: Ints, outcomes: int) -> Floats:
    """(items,): ``Fragile.changed``. Two calls of one round are always in two orders."""
    apart, pairs = np.zeros(arm.items), np.zeros(arm.items)
    if copied(arm):
        return np.full(arm.items, np.nan)
    for number in range(1, int(rounds(arm).max(initial=0)) + 1):
        own = pairs_apart(_counts(arm, code, outcomes, number))
        apart, pairs = apart + own[0], pairs + own[1]
    with np.errstate(invalid="ignore"):
        return np.asarray(apart / pairs)


def _tie_breaker(arm: Arm) -> Names:
    """(items,): a hash of each item's names, so that the list does not depend on the row order."""
    items = arm.run.items.iloc[arm.item_code]
    names = items["item_id"].astype(str) + "\0" + items["criterion"].astype(str)
    return hash_names(names.to_numpy(dtype=object))


def promised_and_kept(arm: Arm, made: Fragile) -> Iterator[Row]:
    """Yield what the list promises, and how often listed and other items changed.

    All three are about the items that another round counted too; the promise is about all listed
    items where there is no other round.
    """
    listed, others = made.in_list & made.checked, ~made.in_list & made.checked
    share = made.share_in_list
    promised = share * made.checked if listed.any() else share
    about = {"n": int((listed if listed.any() else made.in_list).sum())}
    about |= {"listed": len(made.listed), "tied": made.tied}
    estimate = missing(made.why)
    if not made.why:
        known = promised > 0
        estimate = plain(float(np.average(made.chance[known], weights=promised[known])), "promised")
    yield Row("fragile_promised", estimate, counts=about)
    rule = partial(Reach, 1.0, least=0.0, most=1.0)
    none = made.why or ("copied_round" if copied(arm) else "not_checked")
    changed = np.where(made.checked, made.changed, 0.0)
    for measure, which, weight in (
        ("fragile_kept", listed, share),
        ("fragile_rest", others, 1.0 - share),
    ):
        weight = weight * made.checked
        top, bottom = (sum_by(arm.unit, part, arm.units) for part in (weight * changed, weight))
        kept = ratio(top, bottom, arm.unit_names, rule, none=none)
        yield Row(measure, kept, counts={"n": int(which.sum())})


def effect_by_zone(arm: Arm, reading: ReadingPart) -> Iterator[Row]:
    """Yield the contrast ``line`` in three zones: items that never, sometimes or always pass.

    Each round makes the zones once, and the other rounds measure the contrast; the sums over all
    of these are divided once.
    """
    middle = float(arm.scores[[0, -1]].mean())
    cut = cut_of(arm, reading) or Cut(middle, lower=False, on_scale=True, named=middle)
    why = _no_zones(arm)
    about = {"cut": label_of(cut.at)}
    if why:
        for zone in ZONES:
            yield Row("order_effect_by_zone", missing(why), {"zone": zone}, counts={"n": 0} | about)
        return
    top, bottom, asked, reach = _sums_by_zone(arm, cut)
    rule = partial(Reach, reach)
    none = "no_contrast" if not bottom.any() else "empty_zone"
    made = [
        ratio(
            sum_by(arm.text_unit, own_top, arm.units),
            sum_by(arm.text_unit, own_bottom, arm.units),
            arm.unit_names,
            rule,
            none=none,
        )
        for own_top, own_bottom in zip(top, bottom, strict=True)
    ]
    level = simultaneous(made, level=arm.level)
    for name, estimate, texts in zip(ZONES, made, asked, strict=True):
        counts = {"n": int(texts.sum())} | about
        yield Row("order_effect_by_zone", estimate, {"zone": name}, counts=counts, level=level)


def _no_zones(arm: Arm) -> str:
    """Return why there are no zones (a key of the reasons), or nothing."""
    if arm.condition.packed:
        return "packed_calls"
    if arm.items < FEWEST:
        return "few_for_fragile"
    if len(_full_rounds(arm)) < 2:
        return "no_other_round"
    return "copied_round" if copied(arm) else ""


@once
def _full_rounds(arm: Arm) -> list[int]:
    """The rounds in which FEWEST items or more were asked in two orders."""
    several = []
    for number in range(int(rounds(arm).max(initial=0)) + 1):
        kept = arm.ok & (rounds(arm) == number)
        calls = np.bincount(arm.item[kept], minlength=arm.items)
        if (calls > 1).sum() >= FEWEST:
            several.append(number)
    return several


def _sums_by_zone(arm: Arm, cut: Cut) -> tuple[Floats, Floats, Bools, float]:
    """Return the contrast's numerators and denominators, (zones, texts) each, over all rounds.

    Also returns (zones, texts): whether the text was measured there, and the most that one adds.
    """
    passes = arm.ok & (cut.passes(arm.value) == 1)
    shape = len(ZONES), arm.texts
    top, bottom, reach = np.zeros(shape), np.zeros(shape), 0.0
    full = _full_rounds(arm)
    for number in full:
        own = arm.ok & (rounds(arm) == number)
        calls = np.bincount(arm.text[arm.item[own]], minlength=arm.texts)
        passed = np.bincount(arm.text[arm.item[own]], passes[own], arm.texts)
        zone = np.select([passed == 0, passed == calls], [0, 2], 1)
        others = np.flatnonzero(arm.ok & ~own & np.isin(rounds(arm), full))
        cells = order_cells(
            arm.text[arm.item[others]], arm.order[others], arm.value[others], len(arm.shown)
        )
        span = float(np.ptp(arm.scores))
        contrast = within_texts(cells, line(arm.shown), arm.texts, span)
        if contrast is None:
            continue
        known = np.flatnonzero(calls > 1)
        top[zone[known], known] += contrast.top[known]
        bottom[zone[known], known] += contrast.bottom[known]
        reach = max(reach, contrast.reach)
    return top, bottom, bottom > 0, reach


def chances(findings: Findings) -> pd.DataFrame:
    """Return the known chances of all conditions: condition, item (of the run), fragile."""
    parts = []
    for arm in findings.judgments.arms:
        if arm.condition.reorder in AXES:
            made = fragile_items(arm, findings.reading.cut)
            part = {"condition": arm.code, "item": arm.item_code, "fragile": made.chance}
            parts.append(pd.DataFrame(part).dropna())
    if not parts:
        return pd.DataFrame({"condition": [], "item": [], "fragile": []})
    return pd.concat(parts, ignore_index=True)
