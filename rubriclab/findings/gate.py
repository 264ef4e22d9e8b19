"""A gate: is a judge shown to keep its limits, shown not to, or neither?

Every condition is decided by an interval, never by the estimate. It *passes* where its 95 % interval lies
inside the limit: who asks for all of several conditions passes a judge that breaks one no more often than
that one is passed by itself (intersection-union test: Berger 1982, Multiparameter Hypothesis Testing and
Acceptance Sampling, theorem 1). It *fails* where an interval lies beyond the limit that is as sure as 5 %
shared out over all conditions of the judge make it (Bonferroni): a judge that keeps all limits then fails
in any at most as often as one. Holm's steps would name more failures and never another outcome: whether
any fails is the same. All else *cannot tell*.

Only one end of each interval decides, so that both errors are 2.5 % where intervals hold exactly. 5 % is
promised: of 20 to 30 items the ends of some numbers are missed in up to 7 % of runs where 5 % are due. Bounds
that are exact, of unread replies, need no such margin and use all of the 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rubriclab.findings.effects import unfinished
from rubriclab.findings.gate_compared import ComparedValues, CriteriaValues
from rubriclab.findings.gate_values import Measured, OptionsValues, Setting, each, settings, unread
from rubriclab.findings.series import UNREAD
from rubriclab.findings.topic import Question
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.gate import CONDITIONS, Condition
from rubriclab.model.gate_limits import GateLimits
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.stats.inference import NO_INTERVAL, Interval

Outcome = Literal["passes", "fails", "cannot tell"]
ALPHA = 0.05
"""Promised at most: chance of a false pass, and of any false fail among the conditions of one judge."""
FEWEST = 20
"""Of fewer units nothing is decided, but by exact bounds. From 20 units on the bounds of answers that flip, the
most lopsided of all numbers, let a judge at its limit pass in 0.02 to 0.06 of 400 runs of seven kinds of judges;
of 15 prompts in 0.09 (at nominal 0.05)."""
MOST_TIMES = 1_000
"""More times the items than this are no advice."""
_VALUES: Mapping[str, Callable[[Setting], OptionsValues | ComparedValues | CriteriaValues]] = {
    "options": OptionsValues,
    "pairwise": ComparedValues,
    "listwise": ComparedValues,
    "criteria": CriteriaValues,
}


@dataclass(frozen=True)
class Decision:
    """One condition of one judge in one setting.

    ``low`` and ``high``: of what is held against ``limit``, the size where a sign says only which way
    (``estimate`` has it). The end that must lie inside for a pass is of the interval of ``pass_confidence``,
    the one that must lie beyond for a fail of that of ``fail_confidence``. ``why``: what keeps it open; ``tell``: what would tell.
    """

    judge: str
    dataset: str
    variant: str
    simulated: bool
    condition: Condition
    of: str
    limit: float
    estimate: float
    low: float
    high: float
    fail_confidence: float
    units: int
    unit: str
    outcome: Outcome
    why: str = ""
    tell: str = ""
    pass_confidence: float = 1.0 - ALPHA

    @property
    def title(self) -> str:
        title = tr(self.condition.title)
        return f"{title}: {self.of}" if self.of else title

    @property
    def about(self) -> str:
        """Judge, data and setting; a simulated judge is called one."""
        who = tr("{judge} (simulated)", judge=self.judge) if self.simulated else self.judge
        return " · ".join(filter(None, (who, self.dataset, self.variant)))


@dataclass(frozen=True)
class GateResult:
    """``outcome``: passes where all pass, fails where any fails. ``notes``: what a reader must know."""

    run: str
    name: str
    outcome: Outcome
    decisions: tuple[Decision, ...]
    limits: GateLimits
    unanswered: int
    notes: tuple[str, ...] = ()

    @property
    def judges(self) -> dict[str, Outcome]:
        """What becomes of each judge."""
        names = dict.fromkeys(one.judge for one in self.decisions)
        return {name: together([one.outcome for one in self.decisions if one.judge == name]) for name in names}


def gate(data: RunData, limits: GateLimits) -> GateResult:
    """Hold every judge of a run against the limits. Raises LabError where none is named."""
    asked = limits.given()
    if not asked:
        options = ", ".join(condition.option for condition in CONDITIONS.values())
        raise LabError(
            tr("A gate needs a limit: name one or more of {options}, or write a [gate] table.", options=options)
        )
    data = data.sets_named()
    every = settings(data)
    decisions: list[Decision] = []
    for judge in dict.fromkeys(of.arm.judge for of in every):
        mine = [of for of in every if of.arm.judge == judge]
        decisions += _of_judge(data, mine, asked)
    outcomes = [one.outcome for one in decisions]
    return GateResult(
        data.run, data.name, together(outcomes), tuple(decisions), limits, data.unanswered, tuple(_notes(data, every))
    )


GATE = Question("gate", gate, probabilities=True)
"""As a question of a run, with its ``limits``."""


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """Passes only if all pass, fails if any fails; of nothing it cannot tell."""
    if "fails" in outcomes:
        return "fails"
    return "passes" if outcomes and set(outcomes) == {"passes"} else "cannot tell"


def _of_judge(data: RunData, mine: Sequence[Setting], asked: dict[str, float]) -> Iterator[Decision]:
    """All conditions of one judge, the 5 % of a false fail shared out over them."""
    held: list[tuple[Setting, Condition, Measured, str]] = []
    for of in mine:
        if of.arm.axis not in _VALUES:
            raise LabError(
                tr("A gate knows no conditions on several responses a call; see the run's findings instead.")
            )
        values, lost = _VALUES[of.arm.axis](of).values(), unread(of)
        stopped = unfinished(data)
        share = lost.estimate
        shaky = "" if share <= UNREAD else tr("{share:.0%} of the replies cannot be read", share=share)
        for key, condition in CONDITIONS.items():
            if key == "max_unread" and key in asked:
                held.append((of, condition, lost, stopped))
            elif key in asked:
                held += [(of, condition, value, stopped or shaky) for value in each(values, key, of.arm.axis)]
    beyond = ALPHA / max(1, len(held))
    for of, condition, value, open_for in held:
        yield _decided(of.arm, condition, value, asked[condition.key], beyond, open_for)


def _decided(arm: Arm, condition: Condition, value: Measured, limit: float, beyond: float, open_for: str) -> Decision:
    """``beyond``: the chance of a false fail; ``open_for``: why nothing is decided, whatever the bounds."""
    one_sided = 1.0 if value.exact else 2.0
    inside, outside = ALPHA / one_sided, beyond / one_sided
    below, above = (inside, outside) if condition.least else (outside, inside)
    low, high = NO_INTERVAL if value.ends is None or value.why else value.ends(below, above)
    if condition.beyond_noise:  # truly never below 0, as ``stats.verdict.effect`` has it
        high = float(np.maximum(high, 0.0))
    why = open_for or value.why
    if not why and value.units < FEWEST and not value.exact:
        units = many(value.units, value.unit)
        why = tr("{units} are too few to decide; {needed} are needed", units=units, needed=FEWEST)
    if not why and not np.isfinite([low, high]).all():
        why = tr("no interval is known")
    outcome: Outcome = "cannot tell" if why else _outcome(condition, low, high, limit)
    tell = _more(condition, value, Interval(low, high), limit) if outcome == "cannot tell" and not why else ""
    return Decision(
        judge=arm.judge,
        dataset=arm.dataset,
        variant=str(arm.variant),
        simulated=arm.simulated,
        condition=condition,
        of=value.of,
        limit=limit,
        estimate=value.estimate,
        low=low,
        high=high,
        fail_confidence=1.0 - beyond,
        units=value.units,
        unit=value.unit,
        outcome=outcome,
        why=why,
        tell=tell,
    )


def _outcome(condition: Condition, low: float, high: float, limit: float) -> Outcome:
    if condition.least:
        return "passes" if low >= limit else "fails" if high < limit else "cannot tell"
    return "passes" if high <= limit else "fails" if low > limit else "cannot tell"


def _more(condition: Condition, value: Measured, ends: Interval, limit: float) -> str:
    """How many items would do if the estimate stayed: bounds close in with the root of their number."""
    at = abs(value.estimate) if condition.sized or condition.key == "max_v" else value.estimate
    inside = (at > limit) if condition.least else (at < limit)
    towards = ends.low if inside == condition.least else ends.high
    room, reach = abs(limit - at), abs(towards - at)
    if room * math.sqrt(MOST_TIMES) <= reach:
        return tr("the estimate lies at the limit: no number of items would tell soon")
    times = (reach / room) ** 2
    if condition.key == "max_unread" and value.estimate == 0.0:  # the bound of no case falls with their number
        times = math.log(ALPHA) / math.log1p(-limit) / max(value.units, 1) if limit < 1 else 1.0
    more = many(max(math.ceil(times * value.units), value.units + 1), value.unit)
    if inside:
        return tr("about {units} in all would let it pass, if the estimate stays", units=more)
    return tr("about {units} in all would let it fail, if the estimate stays", units=more)


def _notes(data: RunData, every: Sequence[Setting]) -> Iterator[str]:
    if data.unanswered:
        yield tr(
            "The run is not finished: {left:,} of {calls} {calls:waits|wait}. Nothing is decided.",
            left=data.unanswered,
            calls=many(sum(data.planned), "call"),
        )
    if any(of.arm.simulated for of in every):
        yield tr("A simulated judge was asked: this says nothing of a model.")
    judges = len({of.arm.judge for of in every})
    if judges > 1:
        yield (
            tr(
                "{judges} judges are each decided by themselves: a false fail of any of them has a chance of at "
                "most {judges} x 5 %.",
                judges=judges,
            )
        )
