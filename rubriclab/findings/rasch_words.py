"""The Rasch model's findings in words: the ruler, an arm's places, what a mean square says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rubriclab.findings.rasch_design import MOST_PERSONS, PEOPLE, Facets
from rubriclab.findings.rasch_results import RaschArm, RaschScale
from rubriclab.model.wording import interval, listed, lone_p, many, number
from rubriclab.stats.rasch import MIN_UNITS, RaschFit

FEW_UNITS = 30


def fit_words(mean_square: float) -> str:
    """The usual reading of a mean square (Linacre 2002); no verdict."""
    if not np.isfinite(mean_square):
        return "too few reads to say"
    if mean_square > 2.0:
        return "much noisier than the model: this blurs the ruler"
    if mean_square > 1.5:
        return "noisier than the model"
    if mean_square < 0.5:
        return "more predictable than the model"
    return "as the model expects"


def scale_sentence(scale: RaschScale) -> str:
    """How severe judges are beside each other, or beside people; nothing where that cannot be said."""
    told = [gap for gap in scale.gaps if np.isfinite(gap.leniency)]
    if not told:
        return ""
    gap = max(told, key=lambda gap: (gap.second == PEOPLE, abs(gap.leniency)))
    more = "more lenient" if gap.leniency > 0 else "more severe"
    apart = f"{gap.leniency:+.2f} of log-odds (logits) {interval(gap.leniency_ci, '+.2f', brackets=True)}"
    if scale.unfinished:
        return f"On one ruler for all (Rasch model) {gap.first} less {gap.second} in leniency: {apart}; no verdict: {scale.unfinished}."
    held = gap.leniency_ci.low <= 0.0 <= gap.leniency_ci.high
    lead = "is not shown to be more lenient or severe than" if held else f"is {more} than"
    return f"On one ruler for all (Rasch model) {gap.first} {lead} {gap.second}: {apart}."


def arm_sentence(one: RaschArm) -> str:
    """What places do by the Rasch model, and whether the choice model says the same."""
    if one.agrees is None or one.test is None:
        return ""
    if one.unfinished:
        return f"By the Rasch model nothing is said of places yet: {one.unfinished}."
    top = max(one.places, key=lambda place: place.logit)
    if one.test.p < 0.05:
        pull = (
            f"By the Rasch model a score gains most at position {top.position} ({top.logit:+.2f} logits, "
            f"{lone_p(one.test.p)})"
        )
    else:
        pull = "By the Rasch model no pull of a place is shown, nor ruled out"
    return f"{pull}; {choice_words(one)}."


def choice_words(one: RaschArm) -> str:
    """Does the choice model, which takes scores as names, say the same?"""
    if one.agrees is None:
        return "the two models cannot be compared here"
    if one.agrees:
        return "the choice model, which takes scores as names, says the same"
    return "the choice model, which takes scores as names, says otherwise"


def arm_why(one: RaschArm) -> str:
    return f"The Rasch model cannot say what places do: {one.why}." if one.why else ""


def scale_warnings(scale: RaschScale, fit: RaschFit, of: Facets) -> RaschScale:
    """The same with what a reader must know before believing it."""
    texts: list[str] = []
    if scale.why:
        texts.append(f"The Rasch model of {scale.dataset} has no intervals: {scale.why}.")
    elif fit.unbounded:
        texts.append(
            f"Some effect of the Rasch model of {scale.dataset} has no bound (a judge never errs one way): the "
            "values are held back by a penalty and have no interval."
        )
    elif not fit.converged:
        texts.append(f"The Rasch fit of {scale.dataset} did not converge; do not use its numbers.")
    elif scale.n_units < FEW_UNITS:
        texts.append(f"Only {many(scale.n_units, scale.unit)} carry the Rasch model's intervals; read them with care.")
    if of.sampled:
        texts.append(f"The Rasch model uses {scale.n_items:,} of {many(scale.of_items, 'item')}, drawn at random.")
    if any(kind.rater == PEOPLE and kind.slot == MOST_PERSONS - 1 for kind in of.kinds):
        texts.append(f"Of an item's ratings the first {MOST_PERSONS} at most are on the ruler.")
    if of.off_scale:
        texts.append(f"{many(of.off_scale, 'rating')} are no score of the scale and not on the ruler.")
    apart = [e.name for e in scale.elements if e.facet != "setting" and not np.isfinite(e.severity)]
    if apart and len([e for e in scale.elements if e.facet != "setting"]) > 1 and fit.n_units >= MIN_UNITS:
        texts.append(f"{listed(apart)} share no items with the others, so their severity cannot be compared.")
    return replace(scale, warnings=tuple(texts))


def separation_words(scale: RaschScale) -> str:
    """What the reliability of the measures says, and what not."""
    apart = scale.separation
    extreme = int(scale.items.extreme.sum())
    text = (
        f"Items spread {number(apart.ratio, '.1f')} times as far as their measures err: about "
        f"{number(apart.strata, '.0f')} levels can be told apart (reliability {number(apart.reliability, '.2f')})."
    )
    if extreme:
        text += f" {many(extreme, 'item')} got one end of the scale in every read; their measures are Warm's."
    return text
