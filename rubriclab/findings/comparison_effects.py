"""Does the place decide: the first place's advantage, each place's, and what the order adds.

Everything here is beyond the papers, whose numbers stand in ``comparison_judge``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rubriclab.findings.effects import confidence, unfinished
from rubriclab.findings.frame import known_mean
from rubriclab.findings.order_drawn import calls_to_turn, order_drawn
from rubriclab.findings.series import ADVANTAGE, UNREAD, ArmCalls, ArmSeries, RunCodes, Turned, dense
from rubriclab.findings.settling import settled
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats import comparison as stats
from rubriclab.stats.advantage import FEW_UNITS, Design, PlaceWins, clustered_mean, in_every_order, in_one_order
from rubriclab.stats.inference import Floats, Interval, Ints, Test
from rubriclab.stats.proportions import clustered_wilson
from rubriclab.stats.randomisation import Randomisation
from rubriclab.stats.repeats import Changes, changes
from rubriclab.stats.verdict import Effect, effect, unknown

CHANGED = msg("of choices changed by the order alone")
TESTED = msg("the first place wins as often as the last, normal by units")
Source = Literal["choices", "probabilities"]


@dataclass(frozen=True)
class Place:
    """One place. ``share`` of the decided replies that it won, against ``expected`` 1/p; ``effect``:
    its wins less the mean of all places, per comparison. Intervals hold for all places at once."""

    place: int
    share: float
    ci: Interval
    expected: float
    effect: Effect


@dataclass(frozen=True)
class FirstPlace:
    """How far the place decides. ``effect``: wins of the first place less wins of the last, per
    comparison; ``test``: that it is 0, of the same numbers as its interval; ``se``: its standard
    error by ``unit``.

    ``design``: what it is known from, its ``comparisons`` and resampled ``units``; ``left_out``:
    calls that it cannot use; ``modelled``: comparisons of pairs too seldom seen to be told apart
    without a model. ``source``: of the wins; ``by_choices``: the same by the choices, where it is
    from probabilities. ``drawn``: whether the order was random, where each comparison had one.
    ``label_mass``: probability that fell on labels, NaN where none was given.
    """

    effect: Effect
    test: Test
    places: tuple[Place, ...]
    design: Design
    comparisons: int
    units: int
    unit: str
    left_out: int
    se: float = float("nan")
    modelled: int = 0
    source: Source = "choices"
    by_choices: Effect | None = None
    drawn: Randomisation | None = None
    label_mass: float = float("nan")


@dataclass(frozen=True)
class OrderExcess:
    """How many choices change with the order, less those that change when asked again.

    ``order``, ``again``: share of pairs of calls that name different winners, in different orders
    and in the same one, over the ``comparisons`` whose every order was read twice. ``buys``: calls
    that would read every order of every comparison twice. ``source``: the strategy whose calls tell of the
    noise, where the arm's own do not: then that of the orders that it repeats, and an excess near 0 is no
    sign that the order changes nothing.
    """

    effect: Effect
    order: float
    again: float
    comparisons: int
    units: int
    buys: int
    source: str = ""


def first_place(data: RunData, run: RunCodes, rows: ArmCalls, series: ArmSeries) -> FirstPlace:
    """The advantage of the first place from the design that carries most of the calls."""
    soft, level = rows.soft_wins(), confidence(data, rows.arm.judge)
    wins, drawn, why = identified(run, rows, series, rows.wins() if soft is None else soft)
    if why:
        why = unfinished(data) or why
        nothing = unknown(data.smallest_effect, why, unit=ADVANTAGE, confidence=level)
        left_out = len(rows.position)
        return FirstPlace(nothing, _no_test(why), (), "one order", 0, 0, run.unit, left_out, drawn=drawn)
    mean, why, early = wins.first_less_last, _why_not(data, rows, wins, run.unit), settled(data, rows.arm)
    shown = _effect(data, wins, level, why)
    return FirstPlace(
        effect=early.effect if early else shown,
        test=_no_test(tr("read while the run goes on")) if early else Test(TESTED, mean.z, float("nan"), mean.p),
        places=_places(data, wins, level, why),
        design=wins.design,
        comparisons=wins.comparisons,
        units=wins.units,
        unit=run.unit,
        left_out=wins.left_out,
        se=mean.se,
        modelled=wins.modelled,
        source="choices" if soft is None or early else "probabilities",
        by_choices=None
        if soft is None or early
        else _effect(data, place_wins(run, rows, series, rows.wins()), level, why),
        drawn=drawn,
        label_mass=known_mean(rows.mass),
    )


def _effect(data: RunData, wins: PlaceWins, level: float, why: str) -> Effect:
    estimate, ends = wins.advantage(level=level)
    return effect(estimate, ends, data.smallest_effect, unit=ADVANTAGE, confidence=level, why=why)


def _no_test(why: str) -> Test:
    nan = float("nan")
    return Test(TESTED, nan, nan, nan, why)


def identified(
    run: RunCodes, rows: ArmCalls, series: ArmSeries, wins: Floats
) -> tuple[PlaceWins, Randomisation | None, str]:
    """``place_wins`` with whether the order was drawn, and why the place cannot be told: empty if it can."""
    placed = place_wins(run, rows, series, wins)
    drawn = order_drawn(run, rows) if placed.design != "both orders" else None
    if placed.comparisons and not (drawn and drawn.against):
        return placed, drawn, ""
    return placed, drawn, _not_known(run, rows, placed, drawn)


def place_wins(run: RunCodes, rows: ArmCalls, series: ArmSeries, wins: Floats) -> PlaceWins:
    """``wins``: (calls, p) what each place won; from complete series where they are most of the calls."""
    whole = series.classes.kind != stats.UNREADABLE
    if in_both_orders(rows, series):
        left_out = len(wins) - int(whole.sum()) * rows.p
        unit = run.question[series.item[whole]]
        return in_every_order(wins[series.calls[whole]], unit, left_out=left_out)
    names, within, sets = rows.sets(run)
    return in_one_order(wins, within, sets, run.question[rows.item], names)


def in_both_orders(rows: ArmCalls, series: ArmSeries) -> bool:
    """Are most of the readable calls in comparisons that were read in every order?"""
    whole = int((series.classes.kind != stats.UNREADABLE).sum())
    read = int((rows.position >= stats.TIE).sum())
    return 2 * whole * rows.p >= max(read, 1)


def _not_known(run: RunCodes, rows: ArmCalls, wins: PlaceWins, drawn: Randomisation | None) -> str:
    """Why the place is not told from what goes with it, and what would tell."""
    read, calls = (rows.position >= stats.TIE).mean() if len(rows.position) else 0.0, calls_to_turn(run, rows)
    if read < 1.0 - UNREAD:
        return _unreadable(1.0 - read)
    more = many(calls, "more call")
    tell = (
        tr("{more_calls}, each comparison in its other orders, would tell", more_calls=more)
        if rows.p > 2
        else tr("{more_calls}, each comparison in its other order, would tell", more_calls=more)
    )
    if wins.comparisons and drawn:
        return tr(
            "each comparison was shown in one order, which was not dealt at random: {against}, and a place "
            "is not told from what goes with it; {tell}",
            against=tr(drawn.against),
            tell=tell,
        )
    return tr(
        "no candidates were shown in more than one order: a liking for a place cannot be told from a "
        "liking for a candidate; {tell}",
        tell=tell,
    )


def _unreadable(share: float) -> str:
    return tr("{share:.0%} of the replies cannot be read", share=share)


def _why_not(data: RunData, rows: ArmCalls, wins: PlaceWins, unit: str) -> str:
    unread = float((rows.position == stats.UNREAD).mean()) if len(rows.position) else 0.0
    if unfinished(data):
        return unfinished(data)
    if unread > UNREAD:
        return _unreadable(unread)
    if wins.units < FEW_UNITS:
        return tr("{units}: too few to say", units=many(wins.units, unit))
    return ""


def _places(data: RunData, wins: PlaceWins, level: float, why: str) -> tuple[Place, ...]:
    p = wins.values.shape[1]
    decided = wins.values.sum(axis=1)
    units = dense(wins.unit)[1]
    places = []
    for k, (estimate, ends) in enumerate(wins.over_even(level=level)):
        won, of = (np.bincount(units, weights=p * part).astype(np.float64) for part in (wins.values[:, k], decided))
        share = float(won.sum() / of.sum()) if of.sum() > 0 else float("nan")
        ci = Interval(float("nan"), float("nan"))
        if wins.design == "both orders":
            ci = clustered_wilson(won, of, level=1.0 - (1.0 - level) / p)
        name = tr("advantage of place {place} over even", place=k + 1)
        shown = effect(estimate, ends, data.smallest_effect, unit=name, confidence=level, why=why)
        places.append(Place(k + 1, share, ci, 1.0 / p, shown))
    return tuple(places)


# ------------------------------------------------------------------ what the order adds


def order_excess(data: RunData, run: RunCodes, rows: ArmCalls, others: Sequence[ArmCalls] = ()) -> OrderExcess:
    """Changed choices beyond the judge's own noise: where every order was read twice, else by what one of the
    ``others`` (arms of the same setting) repeats."""
    source, (changed, unit, buys) = "", changed_choices(run, rows)
    for other in others:
        if not np.isfinite(changed.excess).any():
            source, (changed, unit, _) = other.arm.strategy, changed_choices(run, rows, other)
    known = np.isfinite(changed.excess)
    units = len(np.unique(unit[known]))
    level, sesoi = confidence(data, rows.arm.judge), data.smallest_effect
    if not known.any():
        why = tr("noise included: {settled}", settled=_settled_by(buys))
        nan, shown = float("nan"), unknown(sesoi, why, unit=CHANGED, confidence=level)
        return OrderExcess(shown, nan, nan, 0, 0, buys)
    why = tr("{units} asked twice: too few to say", units=many(units, run.unit)) if units < FEW_UNITS else ""
    why = unfinished(data) or why
    estimate, ends = clustered_mean(changed.excess[known], unit[known], level=level)
    shown = effect(estimate, ends, sesoi, unit=CHANGED, confidence=level, why=why, excess=True)
    if source and shown.verdict == "equivalent":
        why = tr("the judge's own noise is known from the {source} arm alone", source=source)
        shown = effect(estimate, ends, sesoi, unit=CHANGED, confidence=level, why=why, excess=True)
    return OrderExcess(
        effect=shown,
        order=float(changed.order[known].mean()),
        again=float(changed.again[known].mean()),
        comparisons=int(known.sum()),
        units=units,
        buys=buys,
        source=source,
    )


def changed_choices(run: RunCodes, rows: ArmCalls, control: ArmCalls | None = None) -> tuple[Changes, Ints, int]:
    """(changed choices by comparison, the unit of each, calls that would read every order twice).

    ``control``: an arm of the same setting whose calls tell of the noise alone.
    """
    own, every = len(rows.item), rows if control is None else _one_after_the_other(rows, control)
    turned = Turned.of(run, every)
    keys, comparison = dense(every.item * max(len(turned.circles), 1) + turned.circle)
    winner = (turned.slot + every.position - 1) % rows.p
    winner = np.where(every.position == stats.TIE, rows.p, winner)
    winner = np.where(every.position == stats.UNREAD, -1, winner)
    mine, more = slice(None, own), slice(own, None)
    changed = changes(
        comparison[mine],
        turned.slot[mine],
        winner[mine],
        shape=(len(keys), rows.p, rows.p + 1),
        repeats=None if control is None else (comparison[more], turned.slot[more], winner[more]),
    )
    unit = run.question[keys // max(len(turned.circles), 1)]
    return changed, unit, _to_buy(comparison[mine], turned.slot[mine], rows.p, len(keys))


def _one_after_the_other(rows: ArmCalls, more: ArmCalls) -> ArmCalls:
    """``rows`` with the calls of ``more`` behind, of which changed choices ask item, order and place alone."""
    return replace(
        rows,
        item=np.concatenate([rows.item, more.item]),
        ordering=np.concatenate([rows.ordering, more.ordering]),
        position=np.concatenate([rows.position, more.position]),
    )


def _to_buy(comparison: Ints, slot: Ints, p: int, n: int) -> int:
    calls = np.bincount(comparison * p + slot, minlength=n * p)
    return int(np.maximum(2 - calls, 0).sum())


def _settled_by(buys: int) -> str:
    return tr("no order was asked twice; {more_calls} would tell the two apart", more_calls=many(buys, "more call"))


# ------------------------------------------------------------------ in words


def place_sentence(who: str, first: FirstPlace, *, pairs: bool) -> str:
    """Whether the place decides, with how far the first place wins and the interval."""
    shown = first.effect
    if not np.isfinite(shown.estimate):
        return tr("Whether the place decides for {who} cannot be said: {why}.", who=who, why=tr(shown.why))
    ratio = ""
    if pairs:
        ratio = tr(", as {first:.0f} : {last:.0f}", first=50 + 50 * shown.estimate, last=50 - 50 * shown.estimate)
    ends = interval(shown.interval, "+.2f", brackets=True)
    numbers = f"{number(shown.estimate, '+.2f')} {ends}{ratio}"
    difference = tr(
        "wins of the first place less wins of the last {numbers}{from_probabilities}",
        numbers=numbers,
        from_probabilities=_from_probabilities(first),
    )
    if shown.verdict == "effect":
        if shown.estimate > 0:
            return tr(
                "{who} prefers the answer shown first, for its place: {difference}.", who=who, difference=difference
            )
        return tr("{who} prefers the answer shown last, for its place: {difference}.", who=who, difference=difference)
    if shown.verdict == "equivalent":
        alike = tr("The place hardly decides") if pairs else tr("First and last place win alike")
        return tr(
            "{alike} for {who}: {difference}, within ± {sesoi:g}, the smallest effect of interest{other_place}.",
            alike=alike,
            who=who,
            difference=difference,
            sesoi=shown.sesoi,
            other_place=_other_place(first),
        )
    why = tr(shown.why) or tr("these data fit both with none and with one of interest")
    return tr(
        "Whether the place decides for {who} is open ({why}): {difference}{other_place}.",
        who=who,
        why=why,
        difference=difference,
        other_place=_other_place(first),
    )


def _from_probabilities(first: FirstPlace) -> str:
    """The source, where it is not the choices, and what these say."""
    if first.by_choices is None:
        return ""
    return tr(", from probabilities (by the choices {estimate})", estimate=number(first.by_choices.estimate, "+.2f"))


def _other_place(first: FirstPlace) -> str:
    """A place of a list that is preferred (or avoided) though first and last win alike."""
    sure = [place for place in first.places[1:-1] if place.effect.verdict == "effect"]
    if not sure:
        return ""
    most = max(sure, key=lambda place: abs(place.effect.estimate))
    ends = interval(most.effect.interval, "+.2f", brackets=True)
    return tr(
        "; but place {place} wins {estimate:+.2f} {ends} against even",
        place=most.place,
        estimate=most.effect.estimate,
        ends=ends,
    )


def consistency_words(pc: float, design: Design, excess: OrderExcess, *, pairs: bool) -> str:
    """How often a choice stays, as a clause; never without the judge's own noise."""
    if design == "one random order":
        return tr(
            "each comparison was shown in one order, taken to be dealt at random: how often a choice would "
            "change with the order is not known"
        )
    swap = tr("the two answers change places") if pairs else tr("the list is turned round")
    if excess.comparisons:
        where = tr(" (in the {source} arm)", source=excess.source) if excess.source else ""
        start = tr(
            "its choice changes in {order:.0%} of pairs of calls when {swap} and in {repeated:.0%} when it is "
            "asked the same again{where}",
            order=excess.order,
            swap=swap,
            repeated=excess.again,
            where=where,
        )
        if excess.effect.verdict == "effect":
            return tr("{start}: the order itself changes choices", start=start)
        if excess.effect.verdict == "equivalent":
            return tr("{start}: the order itself changes hardly any", start=start)
        ends = interval(excess.effect.interval, "+.0%", brackets=True)
        why = f" ({tr(excess.effect.why)})" if excess.effect.why else ""
        return tr("{start}: how many the order alone changes is open{why}", start=start, why=why or f" {ends}")
    if not np.isfinite(pc):
        return ""
    return tr(
        "it stays with its choice in {pc:.0%} of comparisons when {swap}, its own noise included ({settled})",
        pc=pc,
        swap=swap,
        settled=_settled_by(excess.buys),
    )
