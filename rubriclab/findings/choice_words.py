"""What is said of a choice model: odds as values or bounds, tests with their reason, the sentence."""

from __future__ import annotations

import math

from rubriclab.findings.choice import UNLIMITED, ChoiceModel, PositionLevel
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, known, lone_p, p_value, said
from rubriclab.stats.inference import Interval, Test


def odds_said(model: ChoiceModel, odds: float, *, short: bool = False) -> str:
    """Odds as every place says them: “3.97”, “at least 73.60”, “at most 0.10”, or “not defined”.

    ``short``: “≥ 73.60”, for a box beside which the chip of :func:`p_said` says it in words.
    """
    least, most = ("≥", "≤") if short else (tr("at least"), tr("at most"))
    bound = (least if odds >= 1.0 else most) if model.held_back else ""
    return said(odds, ".2f", bound=bound)


def ends_said(model: ChoiceModel, ci: Interval) -> str:
    """The 95 % interval of odds from one of log-odds; why there is none."""
    if not (known(ci.low) and known(ci.high)):
        return tr("no interval: {why}", why=tr(UNLIMITED)) if model.held_back else tr("no interval")
    return interval((math.exp(ci.low), math.exp(ci.high)), ".2f")


def p_said(model: ChoiceModel, test: Test) -> str:
    """The p of one effect; that there is no test where odds are bounds or reads cannot carry one."""
    if known(test.p):
        return p_value(test.p)
    return tr("at least; no test") if model.held_back else tr("no test: {note}", note=tr(test.note))


def choice_sentence(model: ChoiceModel) -> str:
    """The surest pull of a position, with its odds; for whom it holds; or that none is shown."""
    levels = [level for level in model.position if math.isfinite(level.log_odds)]
    if not levels:
        return tr("What pulls {judge} cannot be told from this design.", judge=model.judge)
    whom = tr("On the typical item") if model.of_typical_item else tr("Taking one effect for all items")
    top = max(levels, key=lambda level: level.log_odds)
    if model.position_test is not None and model.position_test.p >= 0.05:
        return tr(
            "No pull of a position is shown in {judge}, nor ruled out{possible}.",
            judge=model.judge,
            possible=_still_possible(levels),
        )
    return tr(
        "{whom}, standing at position {position} multiplies an option's odds with {judge} by {odds}{sure}.",
        whom=whom,
        position=top.position,
        judge=model.judge,
        odds=odds_said(model, top.odds),
        sure=_sure(model),
    )


def _still_possible(levels: list[PositionLevel]) -> str:
    most = max((level.ci.high for level in levels if math.isfinite(level.ci.high)), default=0.0)
    return tr("; odds up to {odds:.2f} are still possible", odds=math.exp(most)) if most > 0 else ""


def _sure(model: ChoiceModel) -> str:
    """How sure the pull is: its test; or why none can be made."""
    test = model.position_test
    if test is not None and known(test.p):
        return f" ({lone_p(test.p)})"
    return f": {tr(UNLIMITED)}" if model.held_back else ""
