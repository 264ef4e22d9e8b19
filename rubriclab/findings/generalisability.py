"""Reliability: what scores vary with, and what more judges, orders, wordings or repeats would buy.

The generalisability study of a run (Cronbach, Gleser, Nanda and Rajaratnam 1972; Brennan 2001,
Generalizability Theory) over every facet that the run varied, and the decision study that follows
from it; beside it that of the people who rated the same items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rubriclab.findings.decision_study import Ranked, best_mix, plan_of
from rubriclab.findings.effects import unfinished
from rubriclab.findings.facets import Faceted, Members, by_facets, criteria_of, faceted, members_of, pooled
from rubriclab.findings.frame import Units, dataset_items, units
from rubriclab.findings.generalisability_results import FEW, FEWEST_UNITS, Best, Generalisability, GStudy, Plan, Source
from rubriclab.findings.generalisability_words import NOISE, facets_words, plural, source_words, term_words
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.ratings import ratings_of
from rubriclab.findings.topic import DocumentPart, Json, Sentence, Topic
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, listed, many, number
from rubriclab.model.wording import plural as plural_of
from rubriclab.stats.generalisability import share_intervals
from rubriclab.stats.inference import NO_INTERVAL
from rubriclab.stats.variance_components import OBJECT, Components, components, distinct, joined, shares

BUDGETS = (5, 10, 20)
"""Calls an item for which the best mix is given."""
FEWEST_AGAIN = 100
"""Fewer second reads than this give no interval for the noise and what is told from it: many repeats
agree to the point, so that few of them make the whole variance (coverage 0.80 to 0.91 measured)."""
MOST_ORDERS = 120
"""Orders of which the study thinks there are, at most."""


def generalisability(data: RunData, *, seed: int = 0) -> Generalisability:
    """The studies of all data sets, scales and settings of a run."""
    del seed  # nothing is drawn
    every = units(data.items, data.unit)
    judged = (_judged(data, members, every) for members in members_of(data.arms))
    waiting = unfinished(data)
    open_ = (one and _left_open(one, waiting) if waiting else one for one in judged)
    return Generalisability(tuple(one for one in (*open_, *_rated(data, every)) if one is not None))


def _left_open(study: GStudy, why: str) -> GStudy:
    told = tr("No mix of calls is recommended: {why}.", why=why)
    return replace(study, unfinished=why, warnings=(*study.warnings, told))


def _judged(data: RunData, members: Members, every: Units) -> GStudy | None:
    found = faceted(data, members, every)
    if found is None:
        return None
    arm = members.first
    about = GStudy(
        judges=members.judges,
        people=False,
        dataset=arm.dataset,
        axis=arm.axis,
        variant=members.setting,
        simulated=any(data.arms[code].simulated for code in members.arms),
        orders=min(MOST_ORDERS, math.factorial(min(arm.n_positions or len(arm.scores), 6))),
        **_counts(found, every),
    )
    study = _studied(about, found)
    told = pooled(data, members) if study.plans else ""
    return replace(study, warnings=(*study.warnings, told)) if told else study


def _rated(data: RunData, every: Units) -> Iterator[GStudy]:
    """The people's study of each data set with ratings: raters are crossed with items where the data name them, else slots within items."""
    given = ratings_of(data.items)
    values = given.values
    for dataset, mine in dataset_items(data).items():
        row, slot = np.nonzero(np.isfinite(values[mine]))
        item = mine[row]
        if not len(item):
            continue
        criterion = criteria_of(data.items)[item]
        columns = {
            "item": item.astype(np.int64),
            "rater": (slot if given.named else item * values.shape[1] + slot).astype(np.int64),
        }
        found = by_facets(columns, values[item, slot], every.code[item], criterion)
        about = GStudy(
            judges=("people",),
            people=True,
            dataset=dataset,
            axis="",
            variant="",
            simulated=data.simulated,
            orders=0,
            **_counts(found, every),
        )
        yield _studied(about, found)


def _counts(found: Faceted, every: Units) -> Json:
    """Fields of a study that say what it rests on; the rest is filled by ``_studied``."""
    cells = found.cells
    n_items, n_units = distinct(cells.codes[:, OBJECT]), distinct(cells.unit)
    return {
        "facets": found.facets,
        "alone": found.alone,
        "n_items": n_items,
        "n_units": n_units,
        "unit": "item" if n_units == n_items else every.kind,
        "n_reads": found.n_reads,
        "left_out": found.left_out,
        "repeated": int((cells.reads > 1).sum()),
        "sd": float("nan"),
        "sources": (),
        "plans": (),
        "budgets": (),
        "warnings": found.notes,
    }


def _studied(about: GStudy, found: Faceted) -> GStudy:
    """With components, and the designs that follow from them where all are known."""
    if about.n_items < 2 or (len(found.facets) < 2 and not about.repeated):
        why = (
            tr("Each item has one score: what else would have been said of it is not known.")
            if about.n_items > 1
            else tr("One item cannot be told from any other.")
        )
        return replace(about, warnings=(*about.warnings, why))
    parts = components(found.cells)
    total = np.nansum(np.maximum(parts.variances[0], 0.0))
    study = replace(about, parts=parts, sd=float(np.sqrt(total)))
    sources = tuple(_sources(study, parts))
    whole = len(sources) == len(parts.sets) + parts.noisy and total > 0
    study = replace(study, sources=sources, parts=parts if whole else None)
    if whole:
        study = replace(study, plans=tuple(_plans(study, found)))
        study = replace(study, budgets=tuple(_budgets(study)))
    return replace(study, warnings=(*about.warnings, *_warnings(study, parts, whole)))


def _budgets(study: GStudy) -> Iterator[Best]:
    """The best mix of each budget; no second time the mix of a smaller one, where no more can be bought."""
    before = None
    for calls in BUDGETS if study.numbered else ():
        best = best_mix(study, calls)
        if best.best.numbers != before:
            yield best
        before = best.best.numbers


def _sources(study: GStudy, parts: Components) -> Iterator[Source]:
    """Components that are known, in the order of their sets."""
    value_of, ends = shares(parts), share_intervals(parts)
    last = len(parts.sets) - 1
    for place, value in enumerate(parts.variances[0].tolist()):
        if not math.isfinite(value):
            continue
        if place == len(parts.sets):
            name, key, few = tr(NOISE[0]), NOISE[1], False
        else:
            of = [study.facets[k] for k in sorted(parts.sets[place])]
            name, key = source_words(of, noise=not parts.noisy and place == last)
            few = of[0].key != "item" and min(one.levels for one in of) < FEW
        why = ""
        if study.n_units < FEWEST_UNITS:
            why = tr("{n} {units} are too few to say", n=study.n_units, units=plural_of(study.unit, 2))
        elif place >= last and parts.noisy and parts.again < FEWEST_AGAIN:
            why = tr("{repeats} are too few to say", repeats=many(parts.again, "repeat"))
        elif few:
            facet = min((one for one in of if one.key != "item"), key=lambda one: one.levels)
            why = tr("{n} {units} are too few to say", n=facet.levels, units=facet.plural)
        ci = NO_INTERVAL if why else ends[place]
        yield Source(key, name, value, float(value_of[place]), ci, why)


def _plans(study: GStudy, found: Faceted) -> Iterator[Plan]:
    """One call; the run's own design; the same for the judges and wordings of the run and no others."""
    if not study.numbered:
        return
    yield plan_of(study, "one call", np.ones(len(study.numbered), dtype=np.int64))
    codes = found.cells.codes
    own = [one.levels for one in study.facets[1:]]
    if "order" in study.numbered and not study.facets[-1].within_item:
        others = np.bincount(joined(codes, range(codes.shape[1] - 1)))
        own[-1] = int(np.median(others[others > 0]))
    repeats = [int(np.median(found.cells.reads))] if "repeat" in study.numbered else []
    numbers = np.array(own + repeats, dtype=np.int64)
    yield plan_of(study, "as read", numbers)
    held = tuple(one.key for one in study.facets[1:] if one.key in ("judge", "wording", "labels"))
    if held:
        alone = plan_of(study, "as read, of these alone", numbers, fixed=held)
        if math.isfinite(alone.relative):
            yield alone


def _warnings(study: GStudy, parts: Components, whole: bool) -> Iterator[str]:
    few = [one for one in study.facets[1:] if one.levels < FEW and not one.within_item]
    for one in few:
        yield tr(
            "{n} {facets} are too few to say how much any other {facet} would move the scores: what is "
            "shown is about these {n}.",
            n=one.levels,
            facets=one.plural,
            facet=term_words(one.key),
        )
    if study.n_units < FEWEST_UNITS:
        yield tr(
            "{units} are too few for intervals: {needed} would do.",
            units=many(study.n_units, study.unit),
            needed=FEWEST_UNITS,
        )
    if not parts.noisy and not study.people:
        yield tr("Nothing was read twice in one order, so the judge's own noise is not told from the rest.")
    if "judge" in study.alone and len(study.judges) != 1:
        yield tr("All reads share one judge: what another judge would add is not known.")
    if "order" in study.alone:
        yield tr("All reads share one order: what another order would add is not known.")
    if not np.nansum(np.maximum(parts.variances[0], 0.0)) > 0:
        yield tr("All scores are the same: there is nothing to be reliable about.")
    elif not whole:
        yield tr(
            "Too little was read under the same conditions to tell every part from the others: no design can "
            "be compared."
        )
    below = [one.term for one in study.sources if one.variance < 0]
    if below:
        yield tr("Estimated below 0, which is chance, and counted as 0: {parts}.", parts=", ".join(below))


# ---------------------------------------------------------------- words


# Of a judge's calls, and of people's ratings.
_NO_TEXTS = (
    msg(
        "The scores of {name} are not shown to vary with the texts at all, but with {source} ({share:.0%} of their "
        "variance): no number of calls is known to help."
    ),
    msg(
        "The scores of {name} are not shown to vary with the texts at all, but with {source} ({share:.0%} of their "
        "variance): no number of ratings is known to help."
    ),
)
_TEXTS = (
    msg(
        "Of the variance of scores of {name}, {share:.0%} is what the texts differ by ({others}). One call puts texts "
        "in order with a reliability of {relative} ({relative_ci}), {absolute} where the score itself counts."
    ),
    msg(
        "Of the variance of scores of {name}, {share:.0%} is what the texts differ by ({others}). One rating puts "
        "texts in order with a reliability of {relative} ({relative_ci}), {absolute} where the score itself counts."
    ),
)


def study_sentence(study: GStudy) -> str:
    """What the scores vary with most, and how reliable one call and the best mix are."""
    if not study.plans:
        return tr("Too little was read to say how reliable the scores of {name} are.", name=study.name)
    item = next(one for one in study.sources if one.key.startswith("item"))
    rest = sorted((one for one in study.sources if one is not item), key=lambda one: -one.share)[:2]
    one = study.plans[0]
    if item.variance <= 0:
        return tr(_NO_TEXTS[study.people], name=study.name, source=rest[0].term, share=rest[0].share)
    return tr(
        _TEXTS[study.people],
        name=study.name,
        share=item.share,
        others=", ".join(f"{one.term} {number(one.share, '.0%')}" for one in rest),
        relative=number(one.relative, ".2f"),
        relative_ci=interval(one.relative_ci, ".2f"),
        absolute=number(one.absolute, ".2f"),
    )


def best_sentence(best: Best) -> str:
    """How so many calls are best spent, and what is as good."""
    if not best.best.relative > 0:
        return tr("With {calls} an item no mix is known to be reliable.", calls=many(best.calls, "call"))
    if not math.isfinite(best.best.relative_ci.low):
        return tr(
            "Too little was read to say how {calls} an item are best spent; {name} has the highest "
            "reliability as estimated ({relative}, no interval).",
            calls=many(best.calls, "call"),
            name=best.best.name,
            relative=number(best.best.relative, ".2f"),
        )
    told = tr(
        "{calls} an item are best spent as {name} (reliability {relative}, {relative_ci}{extrapolated}).",
        calls=many(best.calls, "call"),
        name=best.best.name,
        relative=number(best.best.relative, ".2f"),
        relative_ci=interval(best.best.relative_ci, ".2f"),
        extrapolated=extrapolated(best.best),
    )
    if best.open:
        told += tr(" Not told apart from it: {mixes}.", mixes="; ".join(best.open[:3]))
    return told


def extrapolated(plan: Plan) -> str:
    """What a mix takes for granted that goes beyond what was read, as the end of a clause."""
    named = listed([plural(key) for key in plan.beyond])
    return tr("; extrapolated, if other {facets} are like those read", facets=named) if plan.beyond else ""


def best_words(study: GStudy, mixes: Sequence[Ranked]) -> str:
    """The best mix, and which others are not told apart from it; none of an unfinished run, or without intervals."""
    best, *others = mixes
    if study.unfinished:
        return tr("Left open: {why}.", why=study.unfinished)
    if not math.isfinite(best.plan.relative):
        return tr("Nothing was read twice in one order, so how reliable these alone are is not known.")
    if not best.plan.relative > 0:
        return tr("No mix is known to be reliable: the scores are not shown to vary with the texts.")
    open = [one.plan.name for one in others if one.open]
    if not others:
        return tr("Only {name} can be had for this.", name=best.plan.name)
    if not math.isfinite(best.plan.relative_ci.low):
        return tr("{name} comes first as estimated, but too little was read for an interval.", name=best.plan.name)
    if not open:
        return tr(
            "{name} is more reliable than all others{extrapolated}.",
            name=best.plan.name,
            extrapolated=extrapolated(best.plan),
        )
    return tr(
        "{name} comes first, but is not told apart from {mixes}{extrapolated}.",
        name=best.plan.name,
        mixes="; ".join(open),
        extrapolated=extrapolated(best.plan),
    )


def _sentences(result: Generalisability) -> Iterator[Sentence]:
    for study in result.studies:
        said = study_sentence(study)
        if study.budgets and not study.people:
            best = best_sentence(study.budgets[len(study.budgets) // 2])
            why = study.unfinished
            said += tr(" How calls are best spent is open: {why}.", why=why) if why else f" {best}"
        yield Sentence(study.name, said, 2 if study.plans else 3)


def _limits(result: Generalisability) -> Iterator[str]:
    for study in result.studies:
        for text in study.warnings:
            yield f"{study.name}: {text}"


def _document(result: Generalisability, data: RunData) -> DocumentPart:
    """Shares and coefficients as fractions, variances in squared points."""
    del data
    return DocumentPart(beside={"generalisability": [_json(study) for study in result.studies]})


def _json(study: GStudy) -> Json:
    return {
        **picked(study, "judges", "people", "dataset", "axis", "variant", "simulated", "alone"),
        **picked(study, "n_items", "n_units", "unit", "n_reads", "left_out", "repeated", "sd"),
        "design": facets_words(study.facets),
        "facets": [plain(one) for one in study.facets],
        "components": [plain(one) for one in study.sources],
        "plans": [_plan_json(one) for one in study.plans],
        "best": [
            {"calls": one.calls, **_plan_json(one.best), "not_told_apart": list(one.open)} for one in study.budgets
        ],
        "warnings": list(study.warnings),
    }


def _plan_json(one: Plan) -> Json:
    return {**plain(one), "numbers": dict(one.numbers)}


def _varies(data: RunData) -> bool:
    """Is there a score at all?"""
    return any(arm.scores for arm in data.arms) and bool(len(data.judgments))


GENERALISABILITY = Topic(
    "generalisability",
    generalisability,
    title=msg("Reliability: what scores vary with, and what more reads buy"),
    axes=frozenset({"options", "criteria"}),
    applies=_varies,
    document=_document,
    sentences=_sentences,
    limits=_limits,
)
"""What judges, orders, wordings, label sets, repeats and raters add to the variance of scores."""
