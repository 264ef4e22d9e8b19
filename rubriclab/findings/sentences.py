"""What a finding says, in one sentence a stakeholder understands: for pages and reports alike.

A function a kind of finding; each takes the result and returns plain text. Texts of others
(names of judges, of forms) stand in them as they are: whoever shows a sentence escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.findings.alignment import AlignmentResult, ArmAlignment, StrategyDifference
from rubriclab.findings.choice import ChoiceModel
from rubriclab.findings.comparison import JudgeComparison
from rubriclab.findings.criteria import ArmCriteria
from rubriclab.findings.perturbation import PerturbationGroup
from rubriclab.findings.position import PositionArm
from rubriclab.findings.ranking import RankReversal
from rubriclab.model import Arm
from rubriclab.stats.inference import Interval


def position_sentence(arm: PositionArm) -> str:
    """Where this arm's judge picks."""
    who, where = arm.arm.judge, arm.position
    n = len(where.share)
    if where.verdict == "a common direction":
        top = int(where.share.argmax())
        return (
            f"{who} leans towards position {top + 1}: it picks there {where.share[top]:.0%} of the "
            f"time, where an even judge would {1 / n:.0%}."
        )
    if where.verdict == "effects that cancel out":
        return f"The order moves {who}'s scores, but not in one common direction: items differ."
    if where.verdict == "no effect seen":
        return f"No effect of the order seen in {who}, in data that could have shown one."
    if where.verdict == "not enough data to say":
        return f"Not enough data to say whether the order moves {who}."
    return f"{who} always saw one order here, so position and score cannot be told apart."


def alignment_sentence(found: AlignmentResult, arm: ArmAlignment) -> str:
    """How well this arm agrees with people, and how its strategy compares with the fixed order."""
    who, how = arm.arm.judge, arm.arm.strategy
    if not math.isfinite(arm.pearson.r):
        return f"{who}'s agreement with humans cannot be computed under {how} orders."
    said = f"{who} agrees with the humans at r = {arm.pearson.r:.2f} under {how} orders"
    here = [c for c in found.comparisons if _setting(c) == _setting(arm.arm)]
    against = next((c for c in here if {c.a, c.b} == {how, "fixed"}), None)
    if against is None or not math.isfinite(against.delta_r):
        return f"{said}."
    sign = 1 if against.a == how else -1
    low, high = sorted((sign * against.ci.low, sign * against.ci.high))
    if low <= 0 <= high:
        return f"{said}; no difference from the fixed order can be seen at this size."
    word = "higher" if sign * against.delta_r > 0 else "lower"
    return f"{said}, {abs(against.delta_r):.3f} {word} than in the fixed order."


def ranking_sentence(pair: RankReversal) -> str:
    """Does the winner change between two strategies, and how often?"""
    flip = pair.top1_flip
    if not pair.prompts:
        return "No prompt has two candidates that both strategies could score."
    return (
        f"Between {pair.a} and {pair.b} orders the winner changes on {pair.flip_count:,} of "
        f"{pair.prompts:,} prompts ({flip.value:.0%}, interval {_span(flip.ci, '.0%')})."
    )


def criteria_sentence(arm: ArmCriteria) -> str:
    """How many criteria the order moves, and where they are scored highest."""
    who, tested = arm.arm.judge, arm.tested
    if not tested:
        return f"{who} always saw the criteria in one order here, so nothing can be said about it."
    if not arm.significant_holm:
        return f"No effect of the order can be seen in {who}'s scores, on any of {tested} criteria."
    shift = np.array([effect.shift for effect in arm.criteria], dtype=np.float64)
    means = np.nanmean(shift, axis=0)
    top = int(np.argmax(means))
    return (
        f"The order moves {who}'s scores on {arm.significant_holm} of {tested} criteria: at position "
        f"{top + 1} they are {means[top]:+.2f} points from their average."
    )


def choice_sentence(model: ChoiceModel) -> str:
    """The strongest pull of a position, with its odds."""
    known = [level for level in model.position if math.isfinite(level.log_odds)]
    if not known:
        return f"What pulls {model.judge} cannot be told from this design."
    test = model.position_test
    if test is not None and test.p >= 0.05:
        return f"No pull of the position can be seen in {model.judge}, everything else held equal."
    top = max(known, key=lambda level: level.log_odds)
    return (
        f"Standing at position {top.position} multiplies an option's odds with {model.judge} by "
        f"{top.odds:.2f}, everything else held equal."
    )


def comparison_sentence(judge: JudgeComparison) -> str:
    """How often the same candidate wins, and which place gains."""
    who, pc = judge.judge, judge.pc
    if pc != pc:
        return f"{who} gave no comparison that can be read in every order."
    swap = (
        "when the two answers change places"
        if judge.axis == "pairwise"
        else "in every order of the list"
    )
    said = f"{who} stays with its choice in {pc:.0%} of comparisons {swap}"
    if judge.pf_p_holm >= 0.05 or judge.pf_p_holm != judge.pf_p_holm:
        return f"{said}; no lean to one place can be told from chance."
    place = "last" if judge.pf > 0 else "first"
    return f"{said}; where it changes, the answer shown {place} gains."


def perturbation_sentence(group: PerturbationGroup) -> str:
    """What the forms of the prompt do to this judge."""
    who = group.judge
    tested = group.perturbations[1:]
    shifted = [form.name for form in tested if form.verdict == "scores shift"]
    mixed = [form.name for form in tested if form.verdict == "items move in different directions"]
    if shifted:
        said = f"{who}'s scores shift with {_listed(shifted)}"
        return f"{said}; items move both ways with {_listed(mixed)}." if mixed else f"{said}."
    if mixed:
        return f"{who} changes single scores with {_listed(mixed)}, up and down alike."
    if all(form.verdict == "not enough data to say" for form in tested):
        return f"Not enough data to say whether the form of the prompt moves {who}."
    return f"No effect of the prompt's form is seen in {who}'s scores."


def _setting(of: Arm | StrategyDifference) -> tuple[str, str, str]:
    return of.judge, of.dataset, str(of.variant)


def _span(ci: Interval, form: str) -> str:
    if not (math.isfinite(ci.low) and math.isfinite(ci.high)):
        return "no interval"
    return f"{ci.low:{form}} to {ci.high:{form}}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
