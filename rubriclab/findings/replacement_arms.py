"""One arm in the alternative annotator test: as single reads, averaged, corrected, in every order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rubriclab.findings.frame import OptionRows, Units, count_table
from rubriclab.findings.ratings import Ratings
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number, plural
from rubriclab.stats import replacement as stats
from rubriclab.stats.extremes import apart
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints

Nearness = Literal["minus RMSE", "accuracy"]
MOST_ORDERS = 40
"""Of more orders than this none is tested by itself: each was then seen on few items."""
SINGLE, AVERAGED, CORRECTED, CONTROL, CONSTANT = (
    msg("one read"),
    msg("mean over reads"),
    msg("one corrected call"),
    msg("one call drawn towards the mean, order ignored"),
    msg("the ratings' mean for every item"),
)


@dataclass(frozen=True)
class Annotator:
    """The judge against one annotator, on the items that they and at least one other rated.

    ``judge``: how often the judge is at least as near to the others as they are, ``human``: how
    often they are at least as near as the judge. ``p``: one-sided, of human - judge >= epsilon,
    ``p_by`` corrected over the annotators; ``beaten``: it is below 0.05. ``p_paper``: by the
    paper's own test. NaN for one with too few units, who is not tested.
    """

    name: str
    n_items: int
    units: int
    judge: float
    human: float
    p: float
    p_by: float
    beaten: bool
    p_paper: float

    @property
    def tested(self) -> bool:
        return bool(np.isfinite(self.p))


@dataclass(frozen=True)
class Version:
    """The test of one way to use the judge: a read, their mean, a corrected call, one order.

    ``advantage``: the judge's mean wins over the annotators tested. ``winning_rate``: the share of
    them that are beaten, ``passes`` at stats.PASSES; NaN and None for fewer than three of them.
    ``winning_rate_paper``: the same by the paper's own tests.
    """

    name: str
    n_items: int
    advantage: float
    advantage_ci: Interval
    winning_rate: float
    passes: bool | None
    winning_rate_paper: float
    annotators: tuple[Annotator, ...]

    @property
    def tested(self) -> int:
        return sum(one.tested for one in self.annotators)


@dataclass(frozen=True)
class ReplacementArm:
    """One arm. ``persons``: the columns of ratings are persons, else slots taken for raters.

    ``single``: a read drawn at random (wins are means over an item's reads). ``averaged``: the mean
    of an item's reads. ``corrected``: one call with the position prior of other items divided out,
    ``control``: a call drawn towards the mean as far without regard to the order, ``constant``: a
    judge that reads nothing and gives every item the mean of all ratings. ``orders``: a
    read in each order; ``spread``: how far their advantages are apart, the ends chosen on other
    units than compared. ``why``: what keeps the test from being made.
    """

    code: int
    arm: Arm
    epsilon: float
    nearness: Nearness
    persons: bool
    n_items: int
    resampled: str
    n_units: int
    single: Version
    averaged: Version
    corrected: Version | None
    control: Version | None
    constant: Version
    orders: tuple[Version, ...]
    spread: float
    spread_ci: Interval
    why: str
    warnings: tuple[str, ...]

    @property
    def passing_orders(self) -> int:
        return sum(bool(order.passes) for order in self.orders)


class _Judged(NamedTuple):
    """The judge's versions over the arm's items: (items, v, n) shares of the scores that a read has,
    and (items, w) values, NaN where unknown; with their names, the shares' first."""

    shares: Floats
    values: Floats
    names: tuple[str, ...]


class _Test(NamedTuple):
    """Of one annotator: the test that decides and, (versions,), the paper's p."""

    own: stats.Against
    paper: Floats


class Case(NamedTuple):
    """What an arm's test is made from. ``others``: values by item of the corrected call and its control.

    ``unfinished``: why no verdict is given yet, empty for a finished run.
    """

    code: int
    arm: Arm
    rows: OptionRows
    ratings: Ratings
    units: Units
    others: Mapping[str, Floats]
    unfinished: str


def arm_replacement(case: Case, epsilon: float, seed: int) -> ReplacementArm:
    """All versions of one arm; ``case.ratings`` are those of the arm's items."""
    judged = _judged(case)
    named = len(case.arm.scores) == 2
    annotators, sums = _tests(case, judged, epsilon, named)
    several = np.isfinite(case.ratings.values).sum(axis=1) > 1
    versions = _versions(judged, annotators, sums, _known(judged)[several].sum(axis=0))
    orders = tuple(versions[name] for name in judged.names[1 : judged.shares.shape[1]])
    spread, spread_ci = float("nan"), NO_INTERVAL
    if len(orders) > 1:
        at = slice(1, 1 + len(orders))
        spread, spread_ci = apart(sums.top[:, at], sums.bottom[:, at], seed=seed)
    several &= np.isfinite(judged.values[:, 0])
    found = ReplacementArm(
        code=case.code,
        arm=case.arm,
        epsilon=epsilon,
        nearness=msg("accuracy") if named else msg("minus RMSE"),
        persons=case.ratings.named,
        n_items=int(several.sum()),
        resampled=case.units.kind,
        n_units=len(np.unique(case.units.code[several])),
        single=versions[SINGLE],
        averaged=versions[AVERAGED],
        corrected=versions.get(CORRECTED),
        control=versions.get(CONTROL),
        constant=versions[CONSTANT],
        orders=orders,
        spread=spread,
        spread_ci=spread_ci,
        why="",
        warnings=(),
    )
    found = replace(found, why=_why_not(found), warnings=_warnings(case, found))
    return _open(found, case.unfinished) if case.unfinished else found


def _open(arm: ReplacementArm, why: str) -> ReplacementArm:
    """The same numbers without a verdict."""
    names = ("single", "averaged", "corrected", "control", "constant")
    versions = {name: getattr(arm, name) for name in names}
    left = {name: version and replace(version, passes=None) for name, version in versions.items()}
    return replace(arm, orders=tuple(replace(order, passes=None) for order in arm.orders), why=why, **left)


# ---------------------------------------------------------------- the judge's versions


def _judged(case: Case) -> _Judged:
    rows, n = case.rows, case.rows.n
    ok = rows.ok
    item, score, ordering = rows.item[ok], rows.score[ok], rows.ordering[ok]
    given = count_table((item, rows.n_items), (score, n))
    kept = orders_kept(item, ordering, len(rows.shown))
    place = np.full(len(rows.shown), -1)
    place[kept] = np.arange(len(kept))
    at = place[ordering] >= 0
    by_order = count_table((item[at], rows.n_items), (place[ordering[at]], len(kept)), (score[at], n))
    tables = np.concatenate([given[:, None, :], by_order.reshape(rows.n_items, len(kept), n)], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = tables / tables.sum(axis=2, keepdims=True)
    scores = np.asarray(case.arm.scores, dtype=np.float64)
    known = case.ratings.values[np.isfinite(case.ratings.values)]
    constant = np.where(given.sum(axis=1) > 0, known.mean() if len(known) else np.nan, np.nan)
    values = np.stack([shares[:, 0] @ scores, *case.others.values(), constant], axis=1)
    orders = [" ".join(str(case.arm.scores[s]) for s in rows.shown[k]) for k in kept]
    return _Judged(shares, values, (SINGLE, *orders, AVERAGED, *case.others, CONSTANT))


def orders_kept(item: Ints, ordering: Ints, n_orders: int) -> Ints:
    """The orders that half of the items or more were read in, the usual one first; none if one or too many."""
    count = np.bincount(np.unique(item * n_orders + ordering) % n_orders, minlength=n_orders)
    often = np.flatnonzero(count >= max(stats.FEWEST_UNITS, 0.5 * len(np.unique(item))))
    return often if 1 < len(often) <= MOST_ORDERS else often[:0]


# ---------------------------------------------------------------- tests


def _tests(case: Case, judged: _Judged, epsilon: float, named: bool) -> tuple[dict[str, _Test], stats.Tops]:
    """Every annotator's test of all versions, by name, and the sums that the advantages are made of."""
    scale = np.asarray(case.arm.scores, dtype=np.float64)
    low, step = (scale[0], scale[1] - scale[0]) if named else (0.0, 1.0)
    ratings, scores = (case.ratings.values - low) / step, (scale - low) / step
    values = (judged.values - low) / step
    found: dict[str, _Test] = {}
    sums = stats.Tops.none(case.units.n, len(judged.names))
    several = np.isfinite(ratings).sum(axis=1) > 1
    for rater, name in enumerate(case.ratings.names):
        at = np.flatnonzero(several & np.isfinite(ratings[:, rater]))
        if not len(at):
            continue
        mine = ratings[at]
        single = stats.wins(np.broadcast_to(scores, (len(at), len(scores))), mine, rater, named=named)
        other = stats.wins(values[at], mine, rater, named=named)
        shares = judged.shares[at]
        won = stats.Wins(
            *(
                np.concatenate([np.einsum("ivn,in->iv", shares, one), more], axis=1)
                for one, more in zip(single, other, strict=True)
            )
        )
        unit = case.units.code[at]
        test = stats.against(won, unit, epsilon)
        found[name] = _Test(test, stats.as_in_the_paper(won, epsilon, np.isfinite(test.p)))
        sums = sums.plus(won, unit)
    return found, sums


def _versions(judged: _Judged, annotators: Mapping[str, _Test], sums: stats.Tops, items: Ints) -> dict[str, Version]:
    """Each version of the judge over all annotators, corrected over these; ``items``: (versions,)."""
    advantages = sums.advantages(items)
    found = {}
    for k, name in enumerate(judged.names):
        tests = list(annotators.values())
        p = np.array([test.own.p[k] for test in tests])
        p_by = stats.benjamini_yekutieli(p)
        paper = stats.benjamini_yekutieli(np.array([test.paper[k] for test in tests]))
        each = tuple(
            Annotator(
                name=who,
                n_items=int(test.own.items[k]),
                units=int(test.own.units[k]),
                judge=float(test.own.judge[k]),
                human=float(test.own.human[k]),
                p=float(p[j]),
                p_by=float(p_by[j]),
                beaten=bool(p_by[j] < stats.FALSE_DISCOVERIES),
                p_paper=float(test.paper[k]),
            )
            for j, (who, test) in enumerate(annotators.items())
        )
        found[name] = _version(name, int(items[k]), advantages[k], each, paper)
    return found


def _version(name: str, items: int, advantage: stats.Advantage, each: Sequence[Annotator], paper: Floats) -> Version:
    tested = sum(one.tested for one in each)
    rate = rate_paper = float("nan")
    if tested >= stats.FEWEST_ANNOTATORS:
        rate = sum(one.beaten for one in each) / tested
        rate_paper = float((paper < stats.FALSE_DISCOVERIES).sum()) / tested
    passes = None if np.isnan(rate) else rate >= stats.PASSES
    return Version(name, items, advantage.value, advantage.interval, rate, passes, rate_paper, tuple(each))


def _known(judged: _Judged) -> Ints:
    """(items, versions): 1 where a version of the judge says something of an item."""
    known = np.isfinite(np.concatenate([judged.shares[:, :, 0], judged.values], axis=1))
    return np.asarray(known, dtype=np.int64)


# ---------------------------------------------------------------- what cannot be said


def _why_not(arm: ReplacementArm) -> str:
    """What keeps the test from being made; empty where it was made."""
    tested, rated = arm.single.tested, len(arm.single.annotators)
    if tested >= stats.FEWEST_ANNOTATORS:
        return ""
    if rated < 2:
        return tr("no item has ratings of two annotators, so there is nobody to be nearer to")
    two = tr(": with two it only says which of them the judge is nearer to") if tested == 2 else ""
    return tr(
        "the test takes at least {annotators} annotators with {n} {units} or more each, and {tested} of {rated} "
        "have so many{two}",
        annotators=stats.FEWEST_ANNOTATORS,
        n=stats.FEWEST_UNITS,
        units=plural(arm.resampled, 2),
        tested=tested,
        rated=rated,
        two=two,
    )


def _warnings(case: Case, arm: ReplacementArm) -> tuple[str, ...]:
    return (*_of_raters(arm), *_of_scores(case, arm))


def _of_raters(arm: ReplacementArm) -> Iterator[str]:
    if not arm.persons and arm.single.annotators:
        yield tr(
            "The data do not say who gave which rating: the first, second and third rating of an item were "
            "taken for raters. Each of these is then a mixture of people, so the test asks whether the judge "
            "may replace one rating of an item, not whether it may replace a certain person."
        )
    if arm.constant.passes:
        yield tr(
            "A judge that gave every item the mean of all ratings would pass as well (its advantage is "
            "{advantage}): on these items passing does not show that a judge reads.",
            advantage=number(arm.constant.advantage, ".2f"),
        )
    untested = len(arm.single.annotators) - arm.single.tested
    if untested and not arm.why:
        yield tr(
            "{annotators} with fewer than {n} {units} were not tested.",
            annotators=many(untested, "annotator"),
            n=stats.FEWEST_UNITS,
            units=plural(arm.resampled, 2),
        )


def _of_scores(case: Case, arm: ReplacementArm) -> Iterator[str]:
    known, scores = case.ratings.values[np.isfinite(case.ratings.values)], case.arm.scores
    if len(known) and (known.min() < min(scores) or known.max() > max(scores)):
        yield tr(
            "Ratings run from {low:g} to {high:g}, the judge's scores from {lowest} to {highest}: on different "
            "scales nearness means nothing.",
            low=known.min(),
            high=known.max(),
            lowest=min(scores),
            highest=max(scores),
        )
    if arm.corrected is not None and arm.corrected.n_items < arm.single.n_items:
        yield tr(
            "The corrected call is known on {n:,} of {items}.",
            n=arm.corrected.n_items,
            items=many(arm.single.n_items, "item"),
        )
