"""From a number and its interval to one of three answers: the rules every topic shares.

One reader asks several questions of one judge in one run, and all answers together may accuse an
unbiased judge in at most 5 % of runs. So the *primary* questions (does the order move the mean,
does it move single texts, does a form of the prompt) are answered with simultaneous intervals
(Bonferroni, over that judge's questions only: what other judges do changes nothing), and a
*secondary* one (does varying help, does the winner change, which order is best) may say
``effect`` only where a primary one did (serial gatekeeping: Dmitrienko and Tamhane 2007).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rubriclab.findings.prompt_forms import forms_asked, wordings_asked
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, RunData
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import interval as interval_words
from rubriclab.model.wording import many
from rubriclab.stats.inference import Interval
from rubriclab.stats.shift import MIN_UNITS, Estimate
from rubriclab.stats.verdict import Effect, Verdict, effect
from rubriclab.stats.winners import WinnerChange

ALPHA = 0.05
PRIMARY = {"options": 2, "criteria": 1, "pairwise": 1, "listwise": 1, "batch": 3}
"""Primary questions of a judge in one setting, by what is reordered: options have two, batches three (place,
neighbour, company; the single calls beside them none). So have
pairs and lists whose calls were repeated: whether the order changes choices beyond noise."""
SMALLEST_R = 0.02
"""Smallest difference in r with humans that is of interest: near r = 0.6, where LLM judges lie,
2 to 3 % more or less of the variance of the human ratings (r squared moves by 0.024)."""
SMALLEST_SHARE, FEWEST_DECIDED = 5.0, 10
"""Smallest excess of changed winners that is of interest: one prompt in twenty, in per cent; and
how many prompts must have one winner on both sides for anything to be said."""
CLOSED = msg("the order was not shown to move this judge")
VERDICTS: Mapping[Verdict, str] = {
    "effect": msg("effect"),
    "equivalent": msg("equivalent"),
    "undecided": msg("undecided"),
}
UNITS = (msg("points"), msg("percentage points of prompts"))
"""Units of effects that are words."""


def confidence(data: RunData, judge: str) -> float:
    """Of each primary interval of ``judge``, so that all of them hold at once in 95 % of runs.

    Counted over settings that have a readable judgment; forms and wordings of the prompt are questions too.
    """
    mine = [code for code in sorted(data.readable_arms) if data.arms[code].judge == judge]
    arms = [data.arms[code] for code in mine]
    settings = {setting(arm): arm.axis for arm in arms if arm.n_positions > 1}
    again = {setting(data.arms[code]) for code in mine if _asked_again(data, code)}
    asked = sum(PRIMARY[axis] for axis in settings.values()) + forms_asked(data, arms) + len(again)
    asked += wordings_asked(arms)
    return 1.0 - ALPHA / max(1, asked)


def _asked_again(data: RunData, code: int) -> bool:
    """Was a comparison of this arm shown twice in the same order?"""
    if data.arms[code].axis not in ("pairwise", "listwise"):
        return False
    rows = data.judgments[data.judgments["arm"].to_numpy() == code]
    return bool(rows.duplicated(["item", "ordering"]).any())


def step(scores: Sequence[float]) -> float:
    """One step of a scale in points: the median distance of neighbouring scores; 1 without any."""
    gaps = np.diff(np.sort(np.asarray(scores, dtype=np.float64)))
    return float(np.median(gaps)) if len(gaps) else 1.0


def in_points(
    data: RunData,
    arm: Arm,
    estimate: float,
    interval: Interval,
    *,
    confidence: float = 0.95,
    why: str = "",
    excess: bool = False,
) -> Effect:
    """An effect in score points, held against the run's smallest effect of interest.

    ``excess``: it is a distance beyond noise, see :func:`rubriclab.stats.verdict.effect`.
    """
    sesoi = data.smallest_effect * step(arm.scores)
    why = why or unfinished(data)
    return effect(estimate, interval, sesoi, confidence=confidence, why=why, excess=excess)


def too_few_units(estimate: Estimate) -> str:
    """Why a mean over units has no interval; nothing where it has one."""
    if estimate.units >= MIN_UNITS:
        return ""
    return tr(
        "{units} {units:is|are} too few for an interval; {needed} are needed",
        units=many(estimate.units, "unit"),
        needed=MIN_UNITS,
    )


def in_r(data: RunData, estimate: float, interval: Interval, *, why: str = "") -> Effect:
    """A difference of correlations with humans, held against SMALLEST_R."""
    why = why or unfinished(data)
    if not why and not np.isfinite(estimate):
        why = tr("a correlation is not defined")
    elif not why and not np.isfinite(interval).all():
        why = tr("too few units for an interval")
    return effect(estimate, interval, SMALLEST_R, unit="r", why=why)


def of_prompts(data: RunData, change: WinnerChange, calls: int) -> Effect:
    """How many more prompts in a hundred change their winner than by noise, against SMALLEST_SHARE.

    An effect that exchanging reads between the arms makes as often as 1 time in 20 is not shown.
    ``calls``: what a control would cost where there is none.
    """
    why = unfinished(data)
    if not why and not change.repeated:
        why = tr("noise included: no order was read twice; {calls:,} more calls would tell", calls=calls)
    elif not why and (change.decided < FEWEST_DECIDED or not np.isfinite(change.excess)):
        why = tr(
            "{decided:.0f} of {prompts} prompts have one winner on both sides",
            decided=change.decided,
            prompts=change.prompts,
        )
    interval = Interval(100.0 * change.excess_ci.low, 100.0 * change.excess_ci.high)
    if not why and interval.low > 0 and change.p > ALPHA:
        why = tr("exchanging reads between the two gives as much (p = {p:.2f})", p=change.p)
    return effect(
        100.0 * change.excess, interval, SMALLEST_SHARE, unit="percentage points of prompts", why=why, excess=True
    )


def unfinished(data: RunData) -> str:
    """Why no verdict is given yet; empty for a finished run."""
    left = data.unanswered
    if not left:
        return ""
    calls = many(sum(data.planned), "call")
    return tr("the run is not finished: {left:,} of {calls} {calls:waits|wait}", left=left, calls=calls)


def gated(secondary: Effect, primary: Sequence[Effect]) -> Effect:
    """``secondary``, left open unless one of the ``primary`` effects was shown."""
    if secondary.verdict != "effect" or any(p.verdict == "effect" for p in primary):
        return secondary
    return replace(secondary, verdict="undecided", why=CLOSED)


def words(shown: Effect, *, digits: int = 2) -> str:
    """``+0.12 points [0.03, 0.21], smallest effect of interest 0.1``; why it is open, if it is.

    An interval that holds at once with others is wider than a 95 % one of the same number, and
    says so: ``[0.03, 0.21] (97.5 %)``.
    """
    unit = tr(shown.unit)
    number = f"{figure(shown.estimate, f'+.{digits}f')} {unit}" if np.isfinite(shown.estimate) else ""
    ends = interval_words(shown.interval, f".{digits}f", brackets=True) if number else ""
    if ends and np.isfinite(shown.interval).all() and shown.confidence > 0.95:
        ends += f" ({figure(100 * shown.confidence, '.3g')} %)"
    parts = [
        f"{number} {ends}".strip(),
        tr("smallest effect of interest {sesoi:g}", sesoi=shown.sesoi) + ("" if number else f" {unit}"),
        tr(shown.why),
    ]
    return ", ".join(part for part in parts if part)


def still_possible(shown: Effect) -> str:
    """How far an open question still reaches, behind a colon; empty where there is no interval."""
    ends = [abs(end) for end in shown.interval if np.isfinite(end)]
    return tr(": up to {most:.2f} {unit} is still possible", most=max(ends), unit=tr(shown.unit)) if ends else ""
