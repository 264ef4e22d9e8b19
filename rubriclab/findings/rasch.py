"""Many-facet Rasch: items, judges, people, settings and places on one ruler of log-odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from rubriclab.findings.choice import ChoiceModel, choice_of
from rubriclab.findings.effects import unfinished
from rubriclab.findings.frame import Units, side_by_side, units
from rubriclab.findings.plain import plain
from rubriclab.findings.rasch_design import PEOPLE, Facets, facets, whole_places
from rubriclab.findings.rasch_gaps import gaps
from rubriclab.findings.rasch_results import (
    Element,
    Facet,
    ItemMeasures,
    JudgePlaces,
    Place,
    RaschArm,
    RaschResult,
    RaschScale,
    Threshold,
)
from rubriclab.findings.rasch_words import arm_sentence, scale_sentence, scale_warnings
from rubriclab.findings.topic import DocumentPart, Json, Sentence, Topic, clearest
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats.inference import NO_INTERVAL, Floats, Test
from rubriclab.stats.rasch import MIN_UNITS, Bools, RaschFit, fit_rasch
from rubriclab.stats.rasch_measures import (
    Fit,
    Measures,
    Residuals,
    Separation,
    mean_squares,
    measures,
    moments,
    place_squares,
    residuals,
    separation,
)

NOISY, TAME = 1.5, 0.5
"""Mean squares beyond which an element is noisier, or more predictable, than is good for measuring
(Linacre 2002, What do Infit and Outfit mean? Rasch Measurement Transactions 16:2)."""
ONE_ORDER = msg("the options were always shown in one order")
NOTHING_READ = msg("no judgment could be read")
NOT_MOVED = msg("no item has two scores that could have been exchanged")

Reading = tuple[int, Arm, pd.DataFrame]


def rasch(data: RunData, *, seed: int = 0) -> RaschResult:
    """The ruler of every data set and scale of the options axis, and the places of every arm.

    Intervals are the sandwich's over units; ``seed`` matters only where a random part of the items is used.
    """
    everyone, mine = units(data.items, data.unit), _readings(data)
    arms = side_by_side(lambda one: _arm(data, one, everyone, seed), mine)
    return RaschResult(rulers(data, seed=seed), tuple(arms))


def rulers(data: RunData, *, seed: int = 0) -> tuple[RaschScale, ...]:
    """The rulers alone, which is less work than all of :func:`rasch`."""
    everyone, why = units(data.items, data.unit), unfinished(data)
    groups: dict[tuple[str, tuple[int, ...]], list[Reading]] = {}
    for one in _readings(data):
        groups.setdefault((one[1].dataset, one[1].scores), []).append(one)
    scales = side_by_side(lambda group: _scale(data, group, everyone, seed), groups.values())
    return tuple(_open(scale, why) if why else scale for scale in scales)


def _open(scale: RaschScale, why: str) -> RaschScale:
    return replace(scale, gaps=tuple(replace(gap, answer="open") for gap in scale.gaps), unfinished=why)


def _readings(data: RunData) -> list[Reading]:
    return [one for one in data.by_arm() if one[1].axis == "options" and len(one[2])]


# ---------------------------------------------------------------- the ruler


def _scale(data: RunData, group: Sequence[Reading], everyone: Units, seed: int) -> RaschScale:
    """All reads of one data set and scale, with the ratings of the same items."""
    arm = group[0][1]
    judges = tuple(dict.fromkeys(one.judge for _, one, _ in group))
    of = facets(data, [(one, rows) for _, one, rows in group], everyone.code, seed=seed)
    if of is None:
        return _empty(judges, arm, everyone.kind)
    fit = fit_rasch(of.reads, of.x, of.allowed)
    eta = np.where(of.allowed, of.x @ fit.phi, -np.inf)
    known = measures(of.reads, eta)
    left = residuals(of.reads, eta, known)
    judged = np.unique(np.concatenate([rows["item"].to_numpy() for *_, rows in group]))
    scale = RaschScale(
        judges,
        arm.dataset,
        arm.scores,
        everyone.kind,
        _why(fit),
        _items(of, known, left),
        separation(known.theta, known.error),
        n_items=len(of.items),
        of_items=len(judged),
        n_reads=len(of.reads.item),
        n_units=fit.n_units,
        off_scale=of.off_scale,
        own=not of.shared,
        elements=tuple(_elements(of, fit, left)),
        places=tuple(_places(of, fit, eta, known)),
        thresholds=tuple(_thresholds(of, fit, arm.scores)),
        gaps=gaps(of, fit, arm.scores),
        fit=mean_squares(left, np.ones(len(left.kept), dtype=bool)),
    )
    return scale_warnings(scale, fit, of)


def _why(fit: RaschFit) -> str:
    if not fit.n_pairs:
        return tr(NOT_MOVED)
    return (
        ""
        if fit.n_units >= MIN_UNITS
        else tr(
            "{units} {units:is|are} too few for an interval; {needed} are needed",
            units=many(fit.n_units, "unit"),
            needed=MIN_UNITS,
        )
    )


def _empty(judges: tuple[str, ...], arm: Arm, unit: str) -> RaschScale:
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    items = ItemMeasures(none, nothing, nothing, none.astype(bool), 0, 0, 0)
    return RaschScale(judges, arm.dataset, arm.scores, unit, tr(NOTHING_READ), items, separation(nothing, nothing))


def _elements(of: Facets, fit: RaschFit, left: Residuals) -> Iterator[Element]:
    """Judges and people, then settings, each with the reads that are its own."""
    people = {kind.rater for kind in of.kinds if kind.rater}
    whose = np.array([of.raters.index(kind.rater or kind.judge) for kind in of.kinds])[of.reads.kind]
    for code, name in enumerate(of.raters):
        facet: Facet = "person" if name in people else "judge"
        called = tr(name) if name == PEOPLE else name
        yield _element(facet, called, of.severity.get(name), fit, mean_squares(left, whose == code))
    if len(of.settings) < 2:
        return
    settings = np.array([-1 if kind.rater else of.settings.index(kind.setting) for kind in of.kinds])[of.reads.kind]
    for code, name in enumerate(of.settings):
        own = mean_squares(left, settings == code)
        yield _element("setting", name or tr("as usual"), of.setting.get(name), fit, own)


def _element(facet: Facet, name: str, weights: Floats | None, fit: RaschFit, own: Fit) -> Element:
    value, ci = fit.linear(np.zeros(len(fit.phi)) if weights is None else weights)
    return Element(facet, name, value, ci, own)


def _places(of: Facets, fit: RaschFit, eta: Floats, known: Measures) -> Iterator[JudgePlaces]:
    """Places of a judge whose thresholds are its own, or of those whose orders are even (see ``even``)."""
    for judge in of.place:
        if of.shared and not even(of, judge):
            continue
        turn, turn_ci = fit.linear(of.turn[judge])
        whole = whole_places(of, judge)
        yield JudgePlaces(
            judge,
            turn,
            turn_ci,
            _levels(of.place[judge], fit) if whole else (),
            tuple(_place_fits(of, judge, eta, known)) if whole else (),
        )


def even(of: Facets, judge: str) -> bool:
    """Was every score of this judge about as often at every place as at any other, repeats counted once?

    Only then do thresholds that are shared with others, and so do not quite fit this judge, leave its
    places alone: what is amiss with a score falls on all places alike.
    """
    mine = [row for row, kind in enumerate(of.kinds) if kind.judge == judge and kind.shown]
    read = np.unique(of.reads.item * len(of.kinds) + of.reads.kind) % len(of.kinds)
    count = np.bincount(read, minlength=len(of.kinds))[mine]
    place = np.argsort(np.array([of.kinds[row].shown for row in mine]), axis=1)
    n = of.x.shape[1]
    table = np.stack([np.bincount(place[:, score], weights=count, minlength=n) for score in range(n)])
    return bool(np.abs(table / table.sum(axis=1, keepdims=True) - 1.0 / n).max() < 0.1 / n)


def _levels(weights: Floats, fit: RaschFit) -> tuple[Place, ...]:
    return tuple(Place(position + 1, *fit.linear(row)) for position, row in enumerate(weights))


def _place_fits(of: Facets, judge: str, eta: Floats, known: Measures) -> Iterator[Fit]:
    """Was each place picked as the model expects, in reads of items that are not extreme?"""
    mine = np.array([kind.judge == judge and bool(kind.shown) for kind in of.kinds])[of.reads.kind]
    rows = np.flatnonzero(mine & ~known.extreme[of.reads.item])
    kind = of.reads.kind[rows]
    chance = moments(eta, kind, known.theta[of.reads.item[rows]]).chance
    empty = tuple(range(of.x.shape[1]))
    place = np.argsort(np.array([one.shown or empty for one in of.kinds]), axis=1)[kind]
    by_place = np.zeros_like(chance)
    np.put_along_axis(by_place, place, chance, axis=1)
    picked = np.take_along_axis(place, of.reads.score[rows][:, None], axis=1)[:, 0]
    for position in empty:
        yield place_squares(picked == position, by_place[:, position])


def _thresholds(of: Facets, fit: RaschFit, scores: Sequence[int]) -> Iterator[Threshold]:
    """Where each score begins, of the one judge or of all; severities are not in it."""
    whose = "" if of.shared else of.kinds[0].judge
    for step, row in enumerate(of.threshold):
        value, ci = (0.0, NO_INTERVAL) if len(scores) == 2 else fit.linear(row)
        yield Threshold(whose, scores[step + 1], value, ci)


def _items(of: Facets, known: Measures, left: Residuals) -> ItemMeasures:
    """The measures with how many items' own infit lies beyond the usual bounds."""
    size = len(of.items)
    kept: Bools = left.kept
    square, expects = (
        np.bincount(of.reads.item[kept], weights=part[kept], minlength=size) for part in (left.square, left.expects)
    )
    enough = (np.bincount(of.reads.item[kept], minlength=size) >= 5) & (expects > 0)
    infit = square[enough] / expects[enough]
    return ItemMeasures(
        of.items,
        known.theta,
        known.error,
        known.extreme,
        noisy=int((infit > NOISY).sum()),
        tame=int((infit < TAME).sum()),
        fitted=int(enough.sum()),
    )


# ---------------------------------------------------------------- single arms, beside the choice model


def _arm(data: RunData, one: Reading, everyone: Units, seed: int) -> RaschArm:
    """Places from the reads of one arm: what other judges do changes nothing about them."""
    code, arm, judgments = one
    of = facets(data, [(arm, judgments)], everyone.code, people=False, seed=seed)
    nan = float("nan")
    turned = of is not None and arm.judge in of.place
    if of is None or not turned:
        why = tr(NOTHING_READ if of is None else ONE_ORDER)
        return RaschArm(code, arm, 0, 0, 0, everyone.kind, nan, NO_INTERVAL, (), None, (), None, None, why)
    fit = fit_rasch(of.reads, of.x, of.allowed)
    turn, turn_ci = fit.linear(of.turn[arm.judge])
    whole = whole_places(of, arm.judge)
    model = choice_of(data, code, arm, judgments, leanings=False, seed=seed)
    other = tuple(Place(level.position, level.log_odds, level.ci) for level in model.pooled)
    test = fit.together(of.place[arm.judge]) if whole else None
    places = _levels(of.place[arm.judge], fit) if whole else ()
    return RaschArm(
        code,
        arm,
        len(of.items),
        len(of.reads.item),
        fit.n_units,
        everyone.kind,
        turn,
        turn_ci,
        places,
        test,
        other,
        model.position_test,
        _agrees(places, test, model),
        _why(fit),
        unfinished(data),
    )


def _agrees(places: tuple[Place, ...], test: Test | None, model: ChoiceModel) -> bool | None:
    """Do both tests leave out 0, or neither, and do the places then go the same way?"""
    other = model.position_test
    if test is None or other is None or not np.isfinite(other.p) or not places:
        return None
    shown = test.p < 0.05
    if shown != (other.p < 0.05):
        return False
    here = np.array([place.logit for place in places])
    there = np.array([level.log_odds for level in model.pooled])
    return bool(not shown or here @ there > 0)


# ---------------------------------------------------------------- the topic


def _document(result: RaschResult, data: RunData) -> DocumentPart:
    """``rasch``: one object a data set and scale; under each arm its places, with the choice model's."""
    del data
    arms = {one.code: {"rasch": _arm_json(one)} for one in result.arms}
    warnings = tuple(dict.fromkeys(text for scale in result.scales for text in scale.warnings))
    return DocumentPart(arms, {"rasch": [_scale_json(scale) for scale in result.scales]}, warnings=warnings)


def _arm_json(one: RaschArm) -> Json:
    names = ("n_items", "n_reads", "n_units", "unit", "turn", "turn_ci", "places", "test", "agrees", "why")
    return {name: plain(getattr(one, name)) for name in names} | {
        "choice": plain(one.choice),
        "choice_test": plain(one.choice_test),
    }


def _scale_json(scale: RaschScale) -> Json:
    """All of the scale but the measures of single items, whose spread is given."""
    left_out = ("items", "separation", "fit")
    body = {name: value for name, value in plain(scale).items() if name not in left_out}
    known = scale.items.theta[np.isfinite(scale.items.theta)]
    some = known.size > 1
    items = {
        "mean": float(known.mean()) if some else None,
        "sd": float(known.std(ddof=1)) if some else None,
        "extreme": int(scale.items.extreme.sum()),
        **{name: getattr(scale.items, name) for name in ("noisy", "tame", "fitted")},
    }
    apart: Separation = scale.separation
    return {**body, "items": items, "separation": plain(apart), "fit": plain(scale.fit)}


def _sentences(result: RaschResult) -> Iterator[Sentence]:
    """One a judge and setting, of the arm that shows position most clearly; then one a ruler."""
    for name, one in clearest(one for one in result.arms if arm_sentence(one)).items():
        yield Sentence(name, arm_sentence(one))
    for scale in result.scales:
        if text := scale_sentence(scale):
            yield Sentence(scale.dataset, text)


RASCH = Topic(
    "rasch", rasch, title=msg("Many-facet Rasch"), axes=frozenset({"options"}), document=_document, sentences=_sentences
)
