"""The Rasch model's findings in words: the ruler, an arm's places, what a mean square says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rubriclab.findings.rasch_design import MOST_PERSONS, PEOPLE, Facets
from rubriclab.findings.rasch_results import RaschArm, RaschScale
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, listed, lone_p, many, number
from rubriclab.stats.rasch import MIN_UNITS, RaschFit

FEW_UNITS = 30
PLACES_ALONE = msg(
    "Each interval is a 95 % one by itself, so of several places of a judge that the order does not "
    "move one may well lie off 0; their joint test may, too, one time in twenty. Neither is a verdict: "
    "verdicts stand with the answers, at the head of the results."
)


def fit_words(mean_square: float) -> str:
    """The usual reading of a mean square (Linacre 2002); no verdict."""
    if not np.isfinite(mean_square):
        return tr("too few reads to say")
    if mean_square > 2.0:
        return tr("much noisier than the model: this blurs the ruler")
    if mean_square > 1.5:
        return tr("noisier than the model")
    if mean_square < 0.5:
        return tr("more predictable than the model")
    return tr("as the model expects")


def rater_said(name: str) -> str:
    """A judge by its name; people, who have none, in the reader's language."""
    return tr(name) if name == PEOPLE else name


def scale_sentence(scale: RaschScale) -> str:
    """How severe judges are beside each other, or beside people; nothing where that cannot be said."""
    told = [gap for gap in scale.gaps if np.isfinite(gap.leniency)]
    if not told:
        return ""
    gap = max(told, key=lambda gap: (gap.second == PEOPLE, abs(gap.leniency)))
    apart = tr(
        "{leniency:+.2f} of log-odds (logits) {ends}",
        leniency=gap.leniency,
        ends=interval(gap.leniency_ci, "+.2f", brackets=True),
    )
    first, second = map(rater_said, (gap.first, gap.second))
    if scale.unfinished:
        return tr(
            "On one ruler for all (Rasch model) {first} less {second} in leniency: {apart}; no verdict: {why}.",
            first=first,
            second=second,
            apart=apart,
            why=scale.unfinished,
        )
    held = gap.leniency_ci.low <= 0.0 <= gap.leniency_ci.high
    if held:
        said = msg(
            "On one ruler for all (Rasch model) {first} is not shown to be more lenient or severe than {second}: {apart}."
        )
    elif gap.leniency > 0:
        said = msg("On one ruler for all (Rasch model) {first} is more lenient than {second}: {apart}.")
    else:
        said = msg("On one ruler for all (Rasch model) {first} is more severe than {second}: {apart}.")
    return tr(said, first=first, second=second, apart=apart)


def arm_sentence(one: RaschArm) -> str:
    """What places do by the Rasch model, and whether the choice model says the same."""
    if one.agrees is None or one.test is None:
        return ""
    if one.unfinished:
        return tr("By the Rasch model nothing is said of places yet: {why}.", why=one.unfinished)
    top = max(one.places, key=lambda place: place.logit)
    if one.test.p < 0.05:
        pull = tr(
            "By the Rasch model a score gains most at position {position} ({logit:+.2f} logits, {p})",
            position=top.position,
            logit=top.logit,
            p=lone_p(one.test.p),
        )
    else:
        pull = tr("By the Rasch model no pull of a place is shown, nor ruled out")
    return f"{pull}; {choice_words(one)}."


def choice_words(one: RaschArm) -> str:
    """Does the choice model, which takes scores as names, say the same?"""
    if one.agrees is None:
        return tr("the two models cannot be compared here")
    if one.agrees:
        return tr("the choice model, which takes scores as names, says the same")
    return tr("the choice model, which takes scores as names, says otherwise")


def arm_why(one: RaschArm) -> str:
    return tr("The Rasch model cannot say what places do: {why}.", why=tr(one.why)) if one.why else ""


def _intervals_warning(scale: RaschScale, fit: RaschFit) -> str:
    if scale.why:
        return tr("The Rasch model of {dataset} has no intervals: {why}.", dataset=scale.dataset, why=tr(scale.why))
    if fit.unbounded:
        return tr(
            "Some effect of the Rasch model of {dataset} has no bound (a judge never errs one way): the "
            "values are held back by a penalty and have no interval.",
            dataset=scale.dataset,
        )
    if not fit.converged:
        return tr("The Rasch fit of {dataset} did not converge; do not use its numbers.", dataset=scale.dataset)
    if scale.n_units < FEW_UNITS:
        units = many(scale.n_units, scale.unit)
        return tr("Only {units} carry the Rasch model's intervals; read them with care.", units=units)
    return ""


def scale_warnings(scale: RaschScale, fit: RaschFit, of: Facets) -> RaschScale:
    """The same with what a reader must know before believing it."""
    texts = [text] if (text := _intervals_warning(scale, fit)) else []
    if of.sampled:
        texts.append(
            tr(
                "The Rasch model uses {n:,} of {items}, drawn at random.",
                n=scale.n_items,
                items=many(scale.of_items, "item"),
            )
        )
    if any(kind.rater == PEOPLE and kind.slot == MOST_PERSONS - 1 for kind in of.kinds):
        texts.append(tr("Of an item's ratings the first {n} at most are on the ruler.", n=MOST_PERSONS))
    if of.off_scale:
        texts.append(
            tr(
                "{ratings} {ratings:is|are} no score of the scale and not on the ruler.",
                ratings=many(of.off_scale, "rating"),
            )
        )
    apart = [e.name for e in scale.elements if e.facet != "setting" and not np.isfinite(e.severity)]
    if apart and len([e for e in scale.elements if e.facet != "setting"]) > 1 and fit.n_units >= MIN_UNITS:
        texts.append(
            tr("{names} share no items with the others, so their severity cannot be compared.", names=listed(apart))
        )
    return replace(scale, warnings=tuple(texts))


def separation_words(scale: RaschScale) -> str:
    """What the reliability of the measures says, and what not."""
    apart = scale.separation
    extreme = int(scale.items.extreme.sum())
    text = tr(
        "Items spread {ratio} times as far as their measures err: about {strata} levels can be told "
        "apart (reliability {reliability}).",
        ratio=number(apart.ratio, ".1f"),
        strata=number(apart.strata, ".0f"),
        reliability=number(apart.reliability, ".2f"),
    )
    if extreme:
        text += tr(
            " {items} got one end of the scale in every read; their measures are Warm's.", items=many(extreme, "item")
        )
    return text
