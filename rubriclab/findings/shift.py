"""By how many score points the order moves a judge in one arm: the first thing an arm tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rubriclab.findings.arm_tables import ArmTables
from rubriclab.findings.effects import confidence as simultaneous_level
from rubriclab.findings.effects import in_points, step, too_few_units, unfinished
from rubriclab.findings.frame import OptionRows, on_labels
from rubriclab.findings.settling import settled
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, plural
from rubriclab.stats import shift as stat
from rubriclab.stats.extremes import extremes
from rubriclab.stats.inference import MIN_RESAMPLED, NO_INTERVAL, Floats, Interval
from rubriclab.stats.verdict import Effect, times_to_settle

ONE_ORDER = msg("the options were always shown in one order")
NOT_TURNED = msg("no item was read in two orders")
NO_REPEATS = msg("noise included: no item was read twice in one order")
LINE = msg(" (by a straight line over all orders: not every item was read under these two)")
HIGHER = msg(
    "Yes: with the scores in ascending order the mean is {estimate:.2f} points higher than in descending order{line}."
)
LOWER = msg(
    "Yes: with the scores in ascending order the mean is {estimate:.2f} points lower than in descending order{line}."
)
TURN_EACH = msg("Not settled: no item was read in two orders. {calls} would tell: each in another order.")
TURN_AND_REPEAT = msg(
    "Not settled: no item was read in two orders. {calls} would tell: each again in its order, and in another."
)
GIVEN = 0.9
"""From this share of readable replies with token probabilities on, the expected score is used."""


@dataclass(frozen=True)
class Pull:
    """How the mean score changes when the highest score stands at ``place`` and not the lowest.

    ``ci``: of all places at once (95 %); ``clear``: it excludes 0.
    """

    place: int
    value: float
    ci: Interval
    clear: bool


@dataclass(frozen=True)
class Single:
    """How far two readings of one item are apart, in points, over ``n_items``.

    ``other``: read under different orders; ``same``: twice under one order (NaN where nobody
    did); ``excess``: the first less the second, the order's own part. ``source``: where the
    repeats are from, "" without any. ``repeats_needed``: calls that would give every item two
    readings in one order.
    """

    other: float
    other_ci: Interval
    same: float
    excess: float
    excess_ci: Interval
    n_items: int
    source: str
    repeats_needed: int


@dataclass(frozen=True)
class Shift:
    """The headline of an options arm, in score points; intervals are 95 %, each by itself.

    ``ascending``: mean score under the ascending order less that under the descending one (by a
    straight line over all orders where ``by_line``: items were not read under both), from
    expected scores where ``outcome`` says so, ``by_choice`` from the choices. ``extremes``: the
    order that gives the highest mean less the one that gives the lowest, cross-fitted. ``mean``,
    ``one``: does the order move the mean score, does it move single scores; both hold at once
    with the judge's other primary answers; ``mean_by``: which of the two decided. ``more_items``: how many times as many items would
    settle ``mean`` if its estimate stayed, 0 where that cannot be said.
    """

    ascending: float
    ascending_ci: Interval
    by_line: bool
    by_choice: float
    by_choice_ci: Interval
    extremes: float
    extremes_ci: Interval
    highest_order: tuple[int, ...]
    lowest_order: tuple[int, ...]
    modelled: bool
    pulls: tuple[Pull, ...]
    single: Single
    n_units: int
    unit: str
    moved: int
    more_items: int
    outcome: str
    mean: Effect
    mean_by: Literal["ascending", "extremes"]
    one: Effect


@dataclass(frozen=True)
class Repeats:
    """An arm that keeps to one order: same-order differences by the run's item codes."""

    name: str
    same: Floats


def shift_of(data: RunData, work: ArmTables, repeats: Repeats | None, any_order_p: float, *, seed: int) -> Shift:
    """Ascending against descending, pulls of places, extremes and single scores of one arm."""
    arm, one_order = work.arm, work.one_order
    chosen, expected = order_reads(work)
    reads = chosen if expected is None else expected
    level = simultaneous_level(data, arm.judge)
    by_choice = stat.ascending(chosen)
    slope = by_choice if expected is None else stat.ascending(reads)
    farthest = extremes(reads, seed=seed)
    single, excess = _single(arm, work.rows, chosen, repeats, level)
    mean, mean_by = _mean(data, arm, reads, slope, level, seed, one_order=one_order)
    return Shift(
        ascending=slope.value,
        ascending_ci=slope.interval,
        by_line=not stat.read_both_ways(reads),
        by_choice=by_choice.value,
        by_choice_ci=by_choice.interval,
        extremes=farthest.value,
        extremes_ci=farthest.interval,
        highest_order=tuple(arm.scores[s] for s in farthest.highest),
        lowest_order=tuple(arm.scores[s] for s in farthest.lowest),
        modelled=farthest.modelled,
        pulls=_pulls(reads),
        single=single,
        n_units=work.units.n,
        unit=work.units.kind,
        moved=slope.moved,
        more_items=_whole(times_to_settle(mean)),
        outcome="score" if expected is None else "expected",
        mean=mean,
        mean_by=mean_by,
        one=_one(data, arm, single, excess, any_order_p, level, one_order=one_order),
    )


def order_reads(work: ArmTables) -> tuple[stat.OrderReads, stat.OrderReads | None]:
    """An arm's readable reads by their scores, and by expected scores where these were given."""
    rows, scores = work.rows, np.asarray(work.arm.scores, dtype=np.float64)

    def reads(kept: np.ndarray, values: Floats) -> stat.OrderReads:
        where = rows.item[kept], rows.ordering[kept], values[kept]
        return stat.OrderReads(*where, work.units.code, work.units.n, rows.shown, scores)

    given = rows.ok & np.isfinite(rows.expected)
    enough = given.sum() > GIVEN * rows.ok.sum() and on_labels(rows.mass[given])
    return reads(rows.ok, rows.value), reads(given, rows.expected) if enough else None


def same_order(work: ArmTables, size: int, *, nominal: bool = False) -> Repeats:
    """What an arm's repeats of one order say, at the run's item codes (``size`` of them)."""
    same = np.full(size, np.nan)
    same[work.rows.item_code] = stat.differences(order_reads(work)[0], nominal=nominal).same
    return Repeats(work.arm.strategy, same)


def readings_apart(
    rows: OptionRows, reads: stat.OrderReads, repeats: Repeats | None, *, nominal: bool = False
) -> tuple[Floats, Floats, str]:
    """How far two readings of each item are apart: (in other orders, in one and the same, the source of those).

    Repeats are the arm's own where half of its items have some, else those of ``repeats``. ``nominal``: 1
    for two different scores, so that means are shares.
    """
    apart = stat.differences(reads, nominal=nominal)
    own = np.isfinite(apart.same)
    if own.sum() >= 0.5 * len(own) and own.any():
        return apart.other, apart.same, tr("this arm")
    if repeats is None:
        return apart.other, apart.same, ""
    same = repeats.same[rows.item_code]
    return apart.other, same, tr("the {name} arm", name=repeats.name) if np.isfinite(same).any() else ""


def _mean(
    data: RunData, arm: Arm, reads: stat.OrderReads, slope: stat.Estimate, level: float, seed: int, *, one_order: bool
) -> tuple[Effect, Literal["ascending", "extremes"]]:
    """Does the order move the mean score: from the slope and from the extremes, half the error each.

    An effect where either shows one; equivalent only where both are.
    """
    each = 1.0 - (1.0 - level) / 2
    if (early := settled(data, arm)) is not None:
        return early.effect, "ascending"
    why = ONE_ORDER if one_order else too_few_units(slope)
    if why:
        value = float("nan") if one_order else slope.value
        kept = in_points(data, arm, value, NO_INTERVAL, confidence=each, why=why)
        return kept, "ascending"
    slope = stat.ascending(reads, confidence=each)
    farthest = extremes(reads, confidence=each, seed=seed)
    first = in_points(data, arm, slope.value, slope.interval, confidence=each)
    second = in_points(data, arm, farthest.value, farthest.interval, confidence=each)
    if first.verdict == "undecided" and not first.why and slope.moved < stat.FEW_MOVED:
        first = replace(
            first, why=tr("only {moved} of {units} ever moved", moved=slope.moved, units=many(slope.units, "unit"))
        )
    for wanted in ("effect", "undecided"):
        if first.verdict == wanted:
            return first, "ascending"
        if second.verdict == wanted:
            return second, "extremes"
    wider = max(-first.low, first.high) >= second.high
    return (first, "ascending") if wider else (second, "extremes")


def _one(
    data: RunData, arm: Arm, single: Single, excess: stat.Estimate, any_order_p: float, level: float, *, one_order: bool
) -> Effect:
    """Does the order move single scores: by the excess over repeats, or by a permutation test.

    Without repeats the difference of two readings holds the judge's own noise, and with few units
    it has no interval, so nothing is concluded from its size. That the order matters can still be
    shown, by permuting the scores of each item over its orders, which needs neither.
    """
    if one_order:
        return in_points(data, arm, float("nan"), NO_INTERVAL, confidence=level, why=ONE_ORDER)
    why = too_few_units(excess) if single.source else tr(NO_REPEATS)
    why = why if np.isfinite(single.other) else tr(NOT_TURNED)
    shown = in_points(data, arm, excess.value, excess.interval, confidence=level, why=why, excess=bool(single.source))
    proven = bool(why) and any_order_p < 1.0 - level and not unfinished(data)
    return replace(shown, verdict="effect") if proven else shown


def _single(
    arm: Arm, rows: OptionRows, reads: stat.OrderReads, repeats: Repeats | None, level: float
) -> tuple[Single, stat.Estimate]:
    """The differences of two readings, and at ``level`` the excess (or, without repeats, all)."""
    other, same, source = readings_apart(rows, reads, repeats)
    gap, size = other - same if source else other, step(arm.scores)

    def over_units(values: Floats, confidence: float = 0.95, lopsided: bool = False) -> stat.Estimate:
        where = reads.unit, reads.n_units
        return stat.excess(values, *where, confidence=confidence, step=size, lopsided=lopsided)

    known = np.isfinite(gap)
    whole, more = over_units(np.where(known, other, np.nan)), over_units(gap, lopsided=bool(source))
    nothing = float("nan"), NO_INTERVAL
    left = int((~np.isfinite(same)).sum()) if source else rows.n_items
    turned = np.isfinite(other).any() or len(reads.order) == 0 or np.ptp(reads.order) == 0
    turns = 0 if turned or not source else rows.n_items
    single = Single(
        whole.value,
        whole.interval,
        float(same[known].mean()) if source and known.any() else nothing[0],
        *((more.value, more.interval) if source else nothing),
        n_items=int(known.sum()),
        source=source,
        repeats_needed=turns or left * (1 if repeats is not None and not source else 2),
    )
    return single, over_units(gap, level, lopsided=bool(source))


def _whole(times: float) -> int:
    return int(np.ceil(times)) if np.isfinite(times) else 0


def _pulls(reads: stat.OrderReads) -> tuple[Pull, ...]:
    """Each place's pull with what its units say of it, Bonferroni's share of the 5 % to each place."""
    pulls = stat.pulls(reads)
    n, size = len(pulls.value), step(reads.scores.tolist())
    each = 1.0 - 0.05 / n
    ends = [
        stat.mean_over_units(top, bottom, confidence=each, step=size).interval
        if reads.n_units >= MIN_RESAMPLED
        else NO_INTERVAL
        for top, bottom in zip(pulls.top.T, pulls.bottom.T, strict=True)
    ]
    return tuple(
        Pull(p + 1, float(pulls.value[p]), ci, bool(ci.low > 0.0 or ci.high < 0.0)) for p, ci in enumerate(ends)
    )


# ---------------------------------------------------------------- in words


def order_words(ordering: tuple[int, ...]) -> str:
    return " ".join(map(str, ordering))


def mean_words(shift: Shift) -> str:
    """The answer to “Does the order move the mean score?”."""
    mean = shift.mean
    if mean.verdict == "effect":
        if shift.mean_by == "extremes":
            return tr(
                "Yes: the mean score is {estimate:.2f} points higher in the order {highest} than in {lowest}.",
                estimate=mean.estimate,
                highest=order_words(shift.highest_order),
                lowest=order_words(shift.lowest_order),
            )
        line = tr(LINE) if shift.by_line else ""
        return tr(HIGHER if mean.estimate > 0 else LOWER, estimate=abs(mean.estimate), line=line)
    if mean.verdict == "equivalent":
        return tr(
            "No, not by as much as {sesoi:g} points, from ascending to descending order or between any two "
            "orders compared.",
            sesoi=mean.sesoi,
        )
    if mean.why == ONE_ORDER:
        return tr("Not known: the options were always shown in one order. Run balanced orders.")
    text = tr("Not settled: it may move the mean by {sesoi:g} points or more, or not at all.", sesoi=mean.sesoi)
    if 1 < shift.more_items < 1000 and not mean.why:
        text += tr(
            " If the estimate stays, about {times} times as many {units} would settle it.",
            times=shift.more_items,
            units=plural(shift.unit, 2),
        )
    return text


def one_words(shift: Shift) -> str:
    """The answer to “Does the order move single scores?”."""
    effect, single = shift.one, shift.single
    if effect.why == ONE_ORDER:
        return tr("Not known: the options were always shown in one order. Run balanced orders.")
    if not np.isfinite(single.other) and not single.n_items:
        return tr(TURN_EACH if single.source else TURN_AND_REPEAT, calls=many(single.repeats_needed, "call"))
    if not single.source:
        return _without_repeats(shift)
    readings = tr(
        "two readings in different orders differ by {other:.2f} points, in one and the same order by {same:.2f}",
        other=single.other,
        same=single.same,
    )
    if effect.verdict == "effect" and effect.why:
        return tr(
            "Yes: scores change with the order by more than chance, as permuting each item's scores over its "
            "orders shows. By how much beyond the judge's own noise is not known: {why}. Here {readings}.",
            why=tr(effect.why),
            readings=readings,
        )
    lead = {
        "effect": tr("Yes"),
        "equivalent": tr("No, not by as much as {sesoi:g} points", sesoi=effect.sesoi),
        "undecided": tr("Not settled"),
    }[effect.verdict]
    return f"{lead}: {readings}."


def _without_repeats(shift: Shift) -> str:
    readings = tr(
        "Two readings in different orders differ by {other:.2f} points on average, the judge's own noise included.",
        other=shift.single.other,
    )
    if shift.one.verdict == "effect":
        return tr("Yes: scores change with the order by more than chance. {readings}", readings=readings)
    return tr(
        "Not settled: {readings} {calls} would tell them apart: every item twice in one order.",
        readings=readings,
        calls=many(shift.single.repeats_needed, "call"),
    )
