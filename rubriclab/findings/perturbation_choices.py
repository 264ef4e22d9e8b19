"""Is another form of the prompt better than the usual one? A maximum is not an estimate.

The form that comes first among several does so by chance too. What the best form gains over the usual
one is therefore bounded by bands that hold for all forms at once, and so are the forms that could be as
good. The usual answer is that no form is shown to be better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.effects import SMALLEST_R, in_points, step, unfinished
from rubriclab.findings.perturbation_results import Recommendation
from rubriclab.findings.prompt_forms import Form, form_said
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, listed
from rubriclab.stats import form_choice, shift
from rubriclab.stats import perturbation as stat
from rubriclab.stats.human_correlation import difference
from rubriclab.stats.inference import Floats, Interval
from rubriclab.stats.verdict import Effect, effect, unknown

SHARED = 0.5
"""A form takes part where it was read for at least this share of items."""
NOT_COMPARED = msg("the usual form and another one are not read on the same items")
TOO_FEW = msg("too few units for an interval of every form's gain")


@dataclass(frozen=True)
class _Asked:
    """One such question in the words of its four sentences; of their values the largest is best, or the smallest."""

    too_little: str
    shown: str
    not_shown: str
    here: str
    largest: bool


STABLE = _Asked(
    msg("Too little data to say whether a form is more stable: fewer than two can be compared."),
    msg("{shown} is shown to be more stable than the usual form: the best form gains {gain:+.2f} {unit} {ends}."),
    msg("No form is shown to be more stable than the usual one."),
    msg(" Here {form} is nearest to all others ({value:.2f} points from the others), which some form always is."),
    False,
)
AGREES = _Asked(
    msg(
        "Too little data to say whether a form is better in agreement with the yardstick: fewer than two can be "
        "compared."
    ),
    msg(
        "{shown} is shown to be better in agreement with the yardstick than the usual form: the best form gains "
        "{gain:+.2f} {unit} {ends}."
    ),
    msg("No form is shown to be better in agreement with the yardstick than the usual one."),
    msg(" Here {form} is first in r ({value:.2f} Pearson r), which some form always is."),
    True,
)


def most_stable(data: RunData, labels: Sequence[str], forms: Sequence[Form], draws: stat.Draws) -> Recommendation:
    """By how near a form's scores lie to those of all other forms, on the items all share."""
    chosen = _compared([stat.shares(form.counts)[:, 0] for form in forms])
    rows = form_choice.instability([forms[i].counts for i in chosen], forms[0].values)
    arm, others = forms[0].arm, [k for k, form in enumerate(chosen) if form]

    def bands(level: float) -> list[Interval]:
        size = int(draws.unit.max(initial=-1)) + 1
        nearer = (rows[:, 0] - rows[:, k] for k in others)
        return [
            shift.excess(points, draws.unit, size, confidence=level, step=step(arm.scores)).interval
            for points in nearer
        ]

    gain = form_choice.best_gain(bands) if 0 in chosen else None
    n = int(np.isfinite(rows).all(axis=1).sum()) if chosen else 0
    if gain is None:
        shown = unknown(data.smallest_effect * step(arm.scores), tr(_lacking(chosen, n)))
    else:
        shown = in_points(data, arm, gain.value, gain.interval)
    best = None if gain is None else others[gain.form]
    return _recommendation(labels, chosen, stat.means(rows), draws.means(rows), n, STABLE, shown, best)


def best_agreement(
    data: RunData, labels: Sequence[str], scores: Floats, gold: Floats, draws: stat.Draws
) -> Recommendation:
    """By Pearson r with gold, on the items that all compared forms share; ``scores`` (forms, items)."""
    if not np.isfinite(gold).any():
        nothing = unknown(SMALLEST_R, tr("there is no yardstick to agree with"), unit="r")
        why = tr("There is no yardstick to agree with, so no form can be preferred for it.")
        return Recommendation(None, float("nan"), nothing, False, (), (), tuple(labels), 0, why)
    chosen = _compared(scores)
    whole = np.isfinite(scores[chosen]).all(axis=0)
    fit = stat.gold_fit(np.where(whole, scores[chosen], np.nan), gold, draws)
    # A form that scores every item alike has no r: it cannot be better.
    others = [k for k, form in enumerate(chosen) if form and np.isfinite(fit.r[k])]

    def bands(level: float) -> list[Interval]:
        return [difference(fit.without[k][0], fit.without[0][0], level=level).ci for k in others]

    gain = form_choice.best_gain(bands) if 0 in chosen and np.isfinite(fit.r[0]) else None
    n = int((whole & np.isfinite(gold)).sum()) if chosen else 0
    if gain is None:
        shown = unknown(SMALLEST_R, tr(_lacking(chosen, n)), unit="r")
    else:
        shown = effect(gain.value, gain.interval, SMALLEST_R, unit="r", why=unfinished(data))
    best = None if gain is None else others[gain.form]
    return _recommendation(labels, chosen, fit.r, fit.r_draws, n, AGREES, shown, best)


def _lacking(chosen: Sequence[int], n_items: int) -> str:
    """Why there is no gain: nothing to compare with, or too little of it."""
    return TOO_FEW if 0 in chosen and len(chosen) > 1 and n_items else NOT_COMPARED


def _compared(usable: Sequence[Floats] | Floats) -> list[int]:
    """The forms with enough items to be compared: ``usable`` marks each form's items, NaN not."""
    sizes = np.array([np.isfinite(values).sum() for values in usable])
    return np.flatnonzero(sizes >= max(2.0, SHARED * sizes.max(initial=0))).tolist()


def _recommendation(
    labels: Sequence[str],
    chosen: Sequence[int],
    values: Floats,
    draws: Floats,
    n_items: int,
    asked: _Asked,
    gain: Effect,
    shown: int | None,
) -> Recommendation:
    """``shown``: which of the ``chosen`` forms is shown to be better, where ``gain`` is an effect."""
    names = [labels[i] for i in chosen]
    skipped = tuple(name for i, name in enumerate(labels) if i not in chosen)
    choice = form_choice.best_of(values, draws, largest=asked.largest)
    if choice is None:
        return Recommendation(None, float("nan"), gain, False, (), (), skipped, n_items, tr(asked.too_little))
    tied = tuple(names[i] for i in choice.tied)
    known = [i for i in range(len(names)) if np.isfinite(values[i])]
    worse = tuple(names[i] for i in known if i != choice.form and i not in choice.tied)
    lost = tuple(name for i, name in enumerate(names) if i not in known)
    best, value = names[choice.form], float(values[choice.form])
    sentence = _sentence(best, value, tied, worse, asked, gain, "" if shown is None else names[shown])
    return Recommendation(best, value, gain, not tied, tied, worse, (*skipped, *lost), n_items, sentence)


def _sentence(
    best: str, value: float, tied: Sequence[str], worse: Sequence[str], asked: _Asked, gain: Effect, shown: str
) -> str:
    if gain.verdict == "effect":
        ends = interval(gain.interval, ".2f", brackets=True)
        sentence = tr(asked.shown, shown=form_said(shown), gain=gain.estimate, unit=tr(gain.unit), ends=ends)
    else:
        sentence = tr(asked.not_shown)
        if gain.verdict == "equivalent":
            sentence += tr(" None gains as much as {sesoi:g} {unit}.", sesoi=gain.sesoi, unit=tr(gain.unit))
        sentence += tr(asked.here, form=_called([best])[0], value=value)
    if tied:
        sentence += tr(" As good may be: {forms}.", forms=listed(_called(tied)))
    return sentence + tr(" Ruled out: {forms}.", forms=listed(_called(worse))) if worse else sentence


def _called(names: Sequence[str]) -> list[str]:
    """Forms as sentences call them."""
    return [tr("the usual form") if name == "Baseline" else form_said(name) for name in names]
