"""Forecast, before the first call, what a plan takes and what it can detect.

It takes calls, time, tokens and money. Tokens (characters / 4), time and spreads are guesses, and
the sentences say so, until a pilot run has measured them.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from rubriclab.core.batches import planned_looks
from rubriclab.core.certification import CHANCE, LIMIT, RIGHT, labels_to_certify
from rubriclab.core.judgments import ItemUnits, units_of
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import MIN_UNITS, units_needed
from rubriclab.model.data import INTENDED, Criterion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, step_of, variant_text
from rubriclab.model.looks import unit_noun
from rubriclab.model.passing import cut_at, passing_of
from rubriclab.model.study import Smallest
from rubriclab.model.text import between, count, duration, shared_beginning, shorten
from rubriclab.runs.pace import seconds_at_work
from rubriclab.study.decisions import packs
from rubriclab.study.parts import PlanPart
from rubriclab.study.plan import Plan
from rubriclab.study.plan_looks import scope_of
from rubriclab.study.subjects import Shape

SIGNS_PER_TOKEN = 4.0
TOKENS_OUT = {"score": 3.0, "feedback": 200.0, "score-then-reason": 80.0}
TOKENS_A_CRITERION = 7.0
"""Of an answer: a label; a feedback; a label and a short reason; a line “[Clarity] 4”."""
SAMPLED_CALLS = 40
"""Calls of each part whose prompts are measured. They show the frame around the texts; the texts
themselves are measured for all items."""
LONG_REPLY = 30
"""Tokens from which on a reply counts as long."""
POWER = 0.8
"""The chance with which an effect is to be detected, as is usual in planning."""
MOST_GROUPS = 1_000_000
"""The search for the number of units that an effect takes ends here."""
NOISE_STEPS, EFFECT_STEPS = 0.8, 0.5
"""Assumed, in steps of the scale: the standard deviation of one answer's scores between calls, and
over answers of the effect of the order. Two small models on 24 answers had 0.7 and 1.2, and 0 and
0.7."""
NOISE_PASS, EFFECT_PASS = 0.43, 0.25
"""The same for a scale of two scores, where a score is at most half a step from its mean. With two
orders, each asked twice, the change of an answer has a standard deviation of 0.5."""
FEW_SCORES = 5
"""With fewer scores the smallest change that matters is so small beside the noise that the noise
sets what “No” takes."""
STRONG = 15.0
"""Percentage points that a position gains with a strong bias; on scores without a list of options,
per cent of the scale."""
EFFECT_SHARE = 10.0
"""Assumed standard deviation, over answers, of the share that a position gains with score options,
in percentage points. With it, 10 prompts of one answer detect 13; simulated judges whose answers
all lean alike were detected in 86 of 100 studies of 10 prompts at 9."""
CHOICES = ("pairs", "lists")
DISCORDANT = 0.3
"""Assumed share of comparisons whose winner changes with the order."""
SCALE_OF_CONTRAST = {"line": 1.0, "first_minus_last": 1.0, "first_advantage": 50.0}
"""Measures that give a pilot's spread, with what turns their unit into that of ``Pilot.spread``. A
first advantage of 1 is a position that gains 50 percentage points."""


class MachinePace(NamedTuple):
    """How fast a small model answered on this machine.

    run: the name of the run that shows it.
    rate: short calls per second, as ``Speed.of_model`` has them for another machine.
    """

    run: str
    rate: float


class Pilot(NamedTuple):
    """What a run showed. Spread and time hold for runs of the same design.

    spread: standard deviation, over units, of what the order does, in points (for choices, of the
        share that a position gains, in percentage points). None if the run shows too little.
    seconds, tokens_out: of a call on average, by judge.
    at_work: seconds in which a judge was at work, for each of its calls. Less than ``seconds``
        where calls overlap.
    """

    name: str
    spread: float | None
    seconds: Mapping[str, float]
    tokens_out: Mapping[str, float]
    at_work: Mapping[str, float] = MappingProxyType({})


def measured(findings: Findings, calls: pd.DataFrame) -> Pilot:
    """Return what a run showed.

    ``calls``: the run's, with ``condition``, ``asked``, ``seconds`` and ``tokens_out``. The spread
    is that of the first condition that has a contrast.
    """
    spread = None
    for row in findings.rows:
        if row.measure in SCALE_OF_CONTRAST and row.estimate.units >= MIN_UNITS:
            of_unit = row.estimate.error * math.sqrt(row.estimate.units)
            spread = SCALE_OF_CONTRAST[row.measure] * of_unit
            break
    judges = [condition.judge for condition in findings.conditions]
    judge = calls["condition"].map(judges.__getitem__)
    means: Any = calls.groupby(judge)[["seconds", "tokens_out"]].mean()
    timed = calls.dropna(subset=["asked", "seconds"])
    at_work = {
        str(name): seconds_at_work(own) / len(own)
        for name, own in timed.groupby(judge.loc[timed.index])
    }
    return Pilot(
        name=findings.judgments.table.name,
        spread=spread,
        seconds=means["seconds"].dropna().to_dict(),
        tokens_out=means["tokens_out"].dropna().to_dict(),
        at_work=at_work,
    )


@dataclass(frozen=True)
class Power:
    """What can be detected about one data set and axis.

    answers: answers (or comparisons) that are asked about. groups: independent units.
    unit: what a group is called.
    smallest: the mean change, in points (for choices, a position's gain, in percentage points),
        that the run detects with a chance of POWER. None if it shows one order or has too few
        units.
    groups_for_no: from how many units on the answer No is within reach for all questions.
    groups_for_effect: from how many on the change that was asked about is detected with a chance
        of POWER.
    enough: in a sentence or two, whether a strong bias is detected, and what ruling one out takes;
        empty if no order effect can be detected at all.
    """

    answers: int
    groups: int
    unit: str
    smallest: float | None
    groups_for_no: int
    sentence: str
    groups_for_effect: int | None
    enough: str


@dataclass(frozen=True)
class Estimate(Power):
    """What can be detected about the first data set and axis, and what the whole takes.

    seconds: of the slowest judge, since judges work side by side.
    price: None if no judge has one.
    others: the sentences of the further data sets and axes.
    shares: calls by data set, axis and level.
    rests_on: where the pace of the slowest judge comes from: a run, another machine, or a guess.
    looks: after how many units of the first data set and axis a study that may stop early is
        looked at; empty for other studies.
    at_least: what such a study takes if every judge stops at its first look.
    labels: how many of people's labels certify a judge that passes or fails answers; empty for
        other scales.
    """

    calls: int
    seconds: float
    tokens_in: int
    tokens_out: int
    price: float | None
    others: tuple[str, ...]
    shares: tuple[tuple[str, int], ...]
    rests_on: str
    looks: tuple[int, ...] = ()
    at_least: "AtLeast | None" = None
    labels: str = ""
    ways: tuple["WayCost", ...] = ()

    def sentences(self, busy: str = "") -> list[str]:
        """Return the estimate in lines of text. ``busy``: what to say of the machine."""
        lines = self._calls_and_time()
        if busy:
            lines.append(busy)
        tokens = (
            f"About {self.tokens_in:,} tokens in and {self.tokens_out:,} out, guessed from the "
            "number of characters"
        )
        if self.at_least is not None:
            tokens = f"At most {tokens[0].lower()}{tokens[1:]}"
        if self.price is None:
            lines.append(f"{tokens}.")
        elif self.at_least is None or self.at_least.price is None:
            lines.append(f"{tokens}: {self.price:,.2f} at your prices.")
        else:
            price = between(f"{self.at_least.price:,.2f}", f"{self.price:,.2f}")
            lines.append(f"{tokens}: {price} at your prices.")
        lines += [f"{name}: {count(calls, 'call')}." for name, calls in self.shares]
        lines += [way.sentence for way in self.ways]
        lines += [self.sentence, *self.others]
        if self.labels:
            lines.append(self.labels)
        return lines

    def _calls_and_time(self) -> list[str]:
        """Return the numbers of calls and the time; of a study that may stop early, the ranges."""
        if self.at_least is None:
            calls = count(self.calls, "call")
            return [f"{calls}, about {duration(self.seconds)} ({self.rests_on})."]
        *early, last = (f"{units:,}" for units in self.looks)
        return [
            f"At least {self.at_least.calls:,}, at most {count(self.calls, 'call')}: each judge "
            f"stops as soon as its answer is clear (looked at after {', '.join(early)} and {last} "
            f"of {last} {self.unit}s).",
            "A judge that clearly favours a position ends near the lower number, an unbiased one "
            "near the upper.",
            f"About {between(duration(self.at_least.seconds), duration(self.seconds))} "
            f"({self.rests_on}).",
        ]


@dataclass(frozen=True)
class WayCost:
    """What one way to ask for several criteria takes: all in one call, or each by itself.

    texts: how often all criteria of a text are scored once, over all judges.
    """

    way: str
    calls: int
    tokens_in: int
    tokens_out: int
    texts: int

    @property
    def sentence(self) -> str:
        each = round((self.tokens_in + self.tokens_out) / max(self.texts, 1))
        return (
            f"{self.way}: {count(self.calls, 'call')}, about {each:,} tokens to score a text once."
        )


@dataclass(frozen=True)
class AtLeast:
    """What a study that may stop early takes if every judge stops at its first look."""

    calls: int
    seconds: float
    price: float | None


def estimate(
    plan: Plan,
    seen: Pilot | None = None,
    effect: float | None = None,
    paces: Mapping[str, MachinePace] = MappingProxyType({}),
) -> Estimate:
    """Return what ``plan`` takes and can detect.

    ``effect``: a change that it should detect, in the unit of ``Power.smallest``.
    ``paces``: of judges on this machine, by name.
    """
    baselines = _baselines(plan)
    costs = _costs(plan, seen, plan.planned, paces)
    looks, at_least = _looks(plan, seen, paces)
    powers = [_power(plan, part, seen, effect) for part in baselines]
    sentences = [power.sentence for power in powers]
    if len(powers) > 1:
        named = zip(baselines, sentences, strict=True)
        sentences = [f"{_name_of(plan, part)}: {sentence}" for part, sentence in named]
    shares = _calls_by_part(plan)
    return Estimate(
        **asdict(replace(powers[0], sentence=sentences[0])),
        calls=len(plan),
        seconds=max(costs.seconds.values()),
        tokens_in=round(costs.tokens_in),
        tokens_out=round(costs.tokens_out),
        price=sum(costs.prices) if costs.prices else None,
        others=tuple(sentences[1:]),
        shares=tuple(shares.items()) if len(shares) > 1 else (),
        rests_on=_rests_on(plan, costs, seen, paces),
        looks=looks,
        at_least=at_least,
        labels=_labels_sentence(plan, baselines),
        ways=_ways(plan, costs) if plan.study.design.alone else (),
    )


def _ways(plan: Plan, costs: "_Costs") -> tuple[WayCost, ...]:
    """Return what all criteria in one call take, and each by itself."""
    ways = []
    for alone, name in ((False, "All criteria in one call"), (True, "Each criterion by itself")):
        calls = texts = 0
        for condition, code, planned in zip(
            plan.conditions, plan.part_of, plan.planned, strict=True
        ):
            if condition.asked_alone == alone:
                criteria = max(shape.positions for shape in plan.parts[code].by_shape)
                calls += planned
                texts += round(planned / criteria) if alone else planned
        tokens_in, tokens_out = costs.by_way[alone]
        ways.append(WayCost(name, calls, round(tokens_in), round(tokens_out), texts))
    return tuple(ways)


def _rests_on(
    plan: Plan, costs: "_Costs", seen: Pilot | None, paces: Mapping[str, MachinePace]
) -> str:
    """Return where the time comes from: the pace of the judge that takes the longest."""
    slowest = max(plan.study.judges, key=lambda judge: costs.seconds[judge.name])
    if seen is not None:
        return f"as in {shorten(seen.name)}"
    if slowest.name in paces:
        return f"taken from the pace of “{shorten(paces[slowest.name].run, 40)}”"
    if slowest.model in slowest.about.speed.of_model:
        return "as on a quiet machine with 2 cores"
    return "assumed, not measured"


def _looks(
    plan: Plan, seen: Pilot | None, paces: Mapping[str, MachinePace]
) -> tuple[tuple[int, ...], AtLeast | None]:
    """Return the looks of the first data set and axis, and what the first look takes."""
    if plan.looks is None or all(len(looks.units) < 2 for looks in plan.looks.scopes.values()):
        return (), None
    first_batch = [calls[0] for calls in plan.looks.planned]
    costs = _costs(plan, seen, first_batch, paces)
    at_least = AtLeast(
        calls=sum(first_batch),
        seconds=max(costs.seconds.values()),
        price=sum(costs.prices) if costs.prices else None,
    )
    return plan.looks.scopes[plan.scopes[0]].units, at_least


def _baselines(plan: Plan) -> list[PlanPart]:
    """Return the first part of each data set and axis: the one with the factors' first levels."""
    first: dict[tuple[str, ...], PlanPart] = {}
    for part in plan.parts:
        first.setdefault(part.scope, part)
    return list(first.values())


@dataclass
class _Costs:
    """What a plan takes: tokens, seconds by judge, and a price for each part of a priced judge.

    by_way: tokens in and out of calls that score several, and of what is asked by itself.
    """

    tokens_in: float
    tokens_out: float
    seconds: dict[str, float]
    prices: list[float]
    by_way: dict[bool, tuple[float, float]]


def _costs(
    plan: Plan, seen: Pilot | None, planned: Sequence[int], paces: Mapping[str, MachinePace]
) -> _Costs:
    """Return what a plan takes. ``planned``: the calls of each condition that are asked.

    Settings of the factors count as alike, except that replies of another format are longer.
    """
    firsts: dict[tuple[tuple[str, ...], str], PlanPart] = {}
    for part in plan.parts:
        firsts.setdefault((part.scope, part.design.answer), part)
    asked: Counter[tuple[str, tuple[str, ...], str, bool]] = Counter()
    for condition, code, calls in zip(plan.conditions, plan.part_of, planned, strict=True):
        part = plan.parts[code]
        asked[condition.judge, part.scope, part.design.answer, condition.asked_alone] += calls
    seconds = dict.fromkeys((judge.name for judge in plan.study.judges), 0.0)
    by_way = {False: (0.0, 0.0), True: (0.0, 0.0)}
    costs = _Costs(0.0, 0.0, seconds, [], by_way)
    for judge in plan.study.judges:
        priced = judge.price_input is not None or judge.price_output is not None
        for ((scope, answer_format), part), alone in product(firsts.items(), (False, True)):
            calls = asked[judge.name, scope, answer_format, alone]
            if not calls:
                continue
            prompts = _prompts(plan, part, judge, alone=alone)
            sent = prompts.sent / SIGNS_PER_TOKEN
            answer = _answer_tokens(part, alone=alone)
            if seen is not None:
                answer = seen.tokens_out.get(judge.name, answer)
            rate = calls_per_second(
                judge,
                seen,
                paces.get(judge.name),
                long_answer=answer > LONG_REPLY,
                signs_read=prompts.read,
            )
            costs.tokens_in += calls * sent
            costs.tokens_out += calls * answer
            before_in, before_out = by_way[alone]
            by_way[alone] = before_in + calls * sent, before_out + calls * answer
            costs.seconds[judge.name] += calls / rate
            if priced:
                costs.prices.append(calls * price_of(judge, sent, answer))
    return costs


def _calls_by_part(plan: Plan) -> Counter[str]:
    """Return the calls by data set, axis and level, under the name of each."""
    factors = plan.study.design.vary.factors()
    base = {name: levels[0] for name, levels in factors.items()}
    calls_of: Counter[str] = Counter()
    for code, calls in zip(plan.part_of, plan.planned, strict=True):
        part = plan.parts[code]
        level = [variant_text(part.variant, base) or "baseline"] if base else []
        calls_of[_name_of(plan, part, *level)] += calls
    return calls_of


def _name_of(plan: Plan, part: PlanPart, *level: str) -> str:
    """Return a part's name: whatever of data set, axis and level differs between parts."""
    words = []
    if len(plan.sources) > 1:
        words.append(part.dataset.name)
    if len(plan.study.design.axes) > 1:
        words.append(part.axis)
    return " · ".join([*words, *level])


# ---------------------------------------------------------------- what it can detect, in words


@dataclass(frozen=True)
class PartUnits:
    """Independent units of a part. ``noun``: what they are called."""

    number: int
    noun: str


@dataclass(frozen=True)
class _Search:
    """How the effect that a part detects is found.

    find: the smallest effect that a number of units detects; None for one order or too few units.
    needed: units that the answer No takes.
    answers: what is asked about, and its noun.
    effect: how the effect is called; {size} is filled in.
    rate: of two scores, what turns points into percentage points of the pass rate; else NaN.
    """

    find: Callable[[int], float | None]
    needed: int
    answers: int
    noun: str
    effect: str
    rate: float = math.nan


def _power(plan: Plan, part: PlanPart, seen: Pilot | None, effect: float | None) -> Power:
    """Return what the first judge's calls about a part can detect."""
    units = units_of_part(plan, part)
    spread = None if seen is None else seen.spread
    level = _last_level(plan, part)
    if part.axis in CHOICES:
        search = _search_choices(plan, part, units, spread, level)
    else:
        search = _search_scores(plan, part, units, spread, level)
    smallest = search.find(units.number)
    sentence = _power_sentence(part, units, search, smallest)
    for_effect = None
    if effect is not None and search.find(MOST_GROUPS) is not None:
        for_effect = _units_for(search, effect)
        sentence += f" {_effect_sentence(part, search, units, effect, for_effect)}"
    return Power(
        answers=search.answers,
        groups=units.number,
        unit=units.noun,
        smallest=smallest,
        groups_for_no=search.needed,
        sentence=sentence,
        groups_for_effect=for_effect,
        enough=_enough(units, search, _sees_strong(plan, part, units, smallest, level)),
    )


def _enough(units: PartUnits, search: _Search, sees_strong: bool | None) -> str:
    """Say whether a strong bias is detected, and what it takes to rule one out."""
    if sees_strong is None:
        return ""
    can = "Enough" if sees_strong else "Too few"
    least = count(search.needed, units.noun)
    if search.needed <= units.number:
        return f"{can} to see a strong bias. Ruling one out is within reach too."
    return f"{can} to see a strong bias. To rule one out you need at least {least}."


def _sees_strong(
    plan: Plan, part: PlanPart, units: PartUnits, smallest: float | None, level: float
) -> bool | None:
    """Return whether a strong bias is detected with a chance of POWER; None for no order effect.

    ``smallest``: the change that is detected, in the unit of ``Power.smallest``. With score options
    a position's share is looked at instead. An answer's share has the noise of its calls, p(1 - p)
    / calls, besides EFFECT_SHARE over answers.
    """
    if smallest is None:
        return None
    if part.axis in CHOICES:
        return smallest <= STRONG
    shape = part.subjects[0].shape
    if part.axis != "options":
        return smallest <= STRONG / 100 * (max(shape.scores) - min(shape.scores))
    even = 1 / shape.positions
    judge = plan.study.judges[0].name
    asked = sum(
        calls
        for condition, code, calls in zip(plan.conditions, plan.part_of, plan.planned, strict=True)
        if plan.parts[code] is part and condition.judge == judge
    )
    noise = 100 * math.sqrt(even * (1 - even) * len(part.subjects) / max(asked, 1))
    per_group = len(part.subjects) / units.number
    spread = math.sqrt(noise**2 / max(per_group, 1.0) + EFFECT_SHARE**2)
    return _detected(spread, units.number, level) <= STRONG


def _last_level(plan: Plan, part: PlanPart) -> float:
    """Return what the p values of a part are compared with when all its calls are in.

    Looks before the end have spent some of the 5%.
    """
    if plan.looks is None:
        return ALPHA
    return planned_looks(plan.looks.scopes[scope_of(part)].units[-1]).levels[-1]


def _search_choices(
    plan: Plan, part: PlanPart, units: PartUnits, spread: float | None, level: float
) -> _Search:
    limits = plan.study.reading.smallest
    shares = [units_needed(limits.share, 1 - 1 / shape.positions, level) for shape in _shapes(part)]
    per_group = len(part.subjects) / units.number
    return _Search(
        find=partial(_smallest_share, part, per_group=per_group, spread=spread, level=level),
        needed=max(*shares, units_needed(limits.single, 1.0, level)),
        answers=len(part.subjects),
        noun="comparison",
        effect="a position that wins {size} percentage points more than its share",
    )


def _search_scores(
    plan: Plan, part: PlanPart, units: PartUnits, spread: float | None, level: float
) -> _Search:
    limits = plan.study.reading.smallest
    # What is asked by itself, to compare with calls that list several, has no order to detect.
    listed = sum(len(part.by_shape[shape]) for shape in _shapes(part))
    per_group = listed / units.number
    lines = {shape: _contrasts(part, plan.study.judges[0], shape) for shape in _shapes(part)}

    def find(number: int) -> float | None:
        changes = []
        for shape, line in lines.items():
            change = _smallest_change(shape, line, number, per_group, spread, level)
            if change is not None:
                changes.append(change)
        return min(changes, default=None)

    needed = [
        _groups_for_no(shape, line, limits, per_group, spread, level)
        for shape, line in lines.items()
    ]
    return _Search(
        find=find,
        needed=max(needed, default=0),
        answers=len(part.dataset.items),
        noun="answer",
        effect="a change of the mean of {size} points or more",
        rate=_pass_rate_factor(part),
    )


def _pass_rate_factor(part: PlanPart) -> float:
    """Return what turns points into percentage points of the pass rate; NaN without a pass rate."""
    scales = {shape.scores for shape in _shapes(part)}
    two = part.axis == "options" and scales and all(len(scores) == 2 for scores in scales)
    spans = {scores[-1] - scores[0] for scores in scales} if two else set()
    return 100 / spans.pop() if len(spans) == 1 else math.nan


def _shapes(part: PlanPart) -> list[Shape]:
    """Return the shapes of a part in which anything is reordered."""
    if part.axis == "bare":
        return []
    return [shape for shape in part.by_shape if shape.positions > 1]


def _power_sentence(
    part: PlanPart, units: PartUnits, search: _Search, smallest: float | None
) -> str:
    if part.axis == "bare":
        return (
            "Nothing is listed, so nothing is reordered. Ask the same answers with a rubric too, "
            "to compare."
        )
    more = MIN_UNITS - units.number
    if more > 0:
        what = f"at least {count(more, f'more {units.noun}')}"
        add = f"Add answers to {what}" if units.noun == "prompt" else f"Add {what}"
        verb = "is" if units.number == 1 else "are"
        return f"{count(units.number, units.noun)} {verb} too few for error bars. {add}."
    if smallest is None:
        return (
            "Every answer is shown in one order only, so no order effect can be detected. Add "
            "another strategy."
        )
    given = count(search.answers, search.noun)
    if units.noun != search.noun:
        given += f" {'to' if search.noun == 'answer' else 'about'} "
        given += count(units.number, units.noun)
    effect = search.effect.format(size=f"{smallest:.2g}")
    if math.isfinite(search.rate):
        size = f"{smallest * search.rate:.2g}"
        effect = f"a change of the pass rate of {size} percentage points or more"
    can = f"With {given}, this run can detect {effect}."
    least = count(search.needed, units.noun)
    if search.needed > units.number:
        return f"{can} It is too small to rule out a bias, which takes at least {least}."
    return f"{can} Ruling out a bias takes at least {least}."


def _units_for(search: _Search, effect: float) -> int:
    """Return the fewest units that detect an effect; MOST_GROUPS if it takes that many or more."""
    # The smallest effect falls with the number of units, so its negative can be bisected.
    numbers = range(MIN_UNITS, MOST_GROUPS)
    index = bisect_left(numbers, -effect, key=lambda number: -(search.find(number) or math.inf))
    return MIN_UNITS + index


def _effect_sentence(
    part: PlanPart, search: _Search, units: PartUnits, effect: float, needed: int
) -> str:
    unit = "percentage points" if part.axis in CHOICES else "points"
    if math.isfinite(search.rate):
        effect, unit = effect * search.rate, "percentage points"
    number = f"{needed:,} {units.noun}s"
    if needed >= MOST_GROUPS:
        number = f"more than {MOST_GROUPS:,} {units.noun}s"
    return f"Detecting {effect:g} {unit} with a chance of {POWER:.0%} takes {number}."


# ---------------------------------------------------------------- how many labels it takes


def _labels_sentence(plan: Plan, baselines: Sequence[PlanPart]) -> str:
    """Say how many of people's labels certify a judge, and how many the data have."""
    about = [
        part for part in baselines if part.axis not in CHOICES and _passes_or_fails(plan, part)
    ]
    needed = labels_to_certify()
    if not about or needed is None:
        return ""
    passed, failed = _labelled(plan, about)
    said = (
        f"To certify at {LIMIT:.0%}, with a chance of {CHANCE:.0%}, a judge that is right about "
        f"{RIGHT:.0%} of people's passes and fails, people need to label about {needed} passes and "
        f"as many fails."
    )
    if passed + failed:
        said += f" Labelled: {count(passed, 'pass', 'passes')} and {count(failed, 'fail')}."
    return said


def _passes_or_fails(plan: Plan, part: PlanPart) -> bool:
    """Return whether scores of a part are passes or fails."""
    if plan.study.reading.cut is not None:
        return True
    return all(len(criterion.options) == 2 for criterion in part.rubric.criteria)


def _labelled(plan: Plan, parts: Sequence[PlanPart]) -> tuple[int, int]:
    """Return how many items of these parts people pass, and how many they fail."""
    reading, passed, failed = plan.study.reading, 0, 0
    means: dict[Criterion, list[float]] = {}
    # Several axes ask about the same items, whose labels count once.
    part_of = {code: part for part in parts for code in part.of_item}
    for code, part in part_of.items():
        item = plan.items[code]
        given = [x for rater, x in item.ratings.items() if rater != INTENDED and math.isfinite(x)]
        if given:
            criterion = part.rubric.criterion(item.criterion)
            means.setdefault(criterion, []).append(sum(given) / len(given))
    for criterion, of_items in means.items():
        cut = cut_at(criterion.scores, passing_of(criterion, reading), reading)
        if cut is not None:
            labels = cut.passes(np.array(of_items))
            passed += int((labels == 1).sum())
            failed += int((labels == 0).sum())
    return passed, failed


# ---------------------------------------------------------------- what it takes


def price_of(judge: JudgeSettings, tokens_in: float, tokens_out: float) -> float:
    """Return what these tokens cost at the judge's prices per million; 0 without a price."""
    return (tokens_in * (judge.price_input or 0.0) + tokens_out * (judge.price_output or 0.0)) / 1e6


def price_of_reply(judge: JudgeSettings, call: Call, reply: Reply, together: int = 1) -> float:
    """Return what a reply costs by the server's counts.

    A server that counts nothing is guessed by the characters, or a limit of money would not hold.
    A failed call without a count costs nothing.

    ``together``: how many calls shared the request, and with it what its first message says.
    """
    sent = written = 0.0
    if not reply.error:
        state, *more = (len(message["content"]) for message in call.messages)
        sent = (state / together + sum(more)) / SIGNS_PER_TOKEN
        written = len(reply.text) / SIGNS_PER_TOKEN
    return price_of(judge, reply.tokens_in or sent, reply.tokens_out or written)


def calls_per_second(
    judge: JudgeSettings,
    seen: Pilot | None,
    pace: MachinePace | None = None,
    *,
    long_answer: bool,
    signs_read: float = 0.0,
) -> float:
    """As in a pilot run, else at this machine's pace, else guessed; never above the judge's rpm.

    ``long_answer``, ``signs_read``: see ``Speed.guess``.
    """
    speed = judge.about.speed
    if seen is not None and not speed.at_once and seen.at_work.get(judge.name):
        rate = 1 / seen.at_work[judge.name]
    elif seen is not None and seen.seconds.get(judge.name):
        rate = judge.concurrency / seen.seconds[judge.name]
    else:
        if pace is not None:
            speed = replace(speed, of_model={judge.model: pace.rate})
        rate = speed.guess(
            judge.model, judge.concurrency, long_answer=long_answer, signs_read=signs_read
        )
    return min(rate, judge.rpm / 60) if judge.rpm else rate


class _Prompts(NamedTuple):
    """The mean number of characters of a prompt, by call.

    sent: all of them. read: those that it does not share with the call before, from which on a
    server on this machine reads anew.
    """

    sent: float
    read: float


def _prompts(plan: Plan, part: PlanPart, judge: JudgeSettings, *, alone: bool) -> _Prompts:
    """Return how much a call sends, and how much of it is new.

    ``alone``: of the calls about one criterion or answer by itself, or of the others.

    It is the frame of the first calls around the texts of all items. Orders that share a request
    send their first message, the state, once, and each a question of its own.
    """
    texts = {}
    for code in part.of_item:
        item = plan.items[code]
        texts[code] = len(item.instruction) + len(item.response) + len(item.reference)
    every = plan.calls(judge.name, scope_of(part))
    of_kind = (call for call in every if plan.conditions[call.condition].asked_alone == alone)
    calls = list(islice(of_kind, SAMPLED_CALLS))
    frames = questions = 0
    for call in calls:
        lengths = [len(message["content"]) for message in call.messages]
        question = sum(lengths[1:]) if call.pack else 0
        questions += question
        frames += sum(lengths) - question - texts.get(call.items[0], 0)
    number = max(len(calls), 1)
    requests = len(list(packs(calls))) / number
    state = frames / number + sum(texts.values()) / len(texts)
    sent = questions / number + requests * state
    return _Prompts(sent, sent * _new_share(calls))


def _new_share(calls: Sequence[Call]) -> float:
    """Return which share of the characters of these calls differs from the call before."""
    new = total = 0
    before = ""
    for call in calls:
        text = call.prompt
        new += len(text) - shared_beginning(before, text)
        total += len(text)
        before = text
    return new / max(total, 1)


def _answer_tokens(part: PlanPart, *, alone: bool) -> float:
    """Return the tokens of a reply, as guessed from what is asked for.

    ``alone``: of a call about one criterion or answer by itself.
    """
    if part.axis in ("criteria", "responses"):
        several = max(shape.positions for shape in part.by_shape)
        if not alone:
            return TOKENS_A_CRITERION * several
        return TOKENS_A_CRITERION if part.axis == "criteria" else TOKENS_OUT["score"]
    if part.axis in CHOICES and part.design.template in ("mtbench", "devbench"):
        return TOKENS_OUT["feedback"]
    return TOKENS_OUT[part.design.answer]


# ---------------------------------------------------------------- what it can detect


def units_of_part(plan: Plan, part: PlanPart) -> PartUnits:
    """Return the independent units of a part, as the results of the run will count them."""
    units = planned_units(plan)
    number = len(np.unique(units.code[list(part.of_item)]))
    # A prompt or text that no two items of this part share is called by what it holds.
    kind = "item" if number == len(part.of_item) else units.kind
    return PartUnits(number, unit_noun(kind, part.axis))


def planned_units(plan: Plan) -> ItemUnits:
    """Return the units of a plan's items, by the rule and the choice that its results are read by.

    What one call scores together is known from the plan here, and from the calls in a run.
    """
    text_of_item = np.arange(len(plan.items), dtype=np.int64)
    for part in plan.parts:
        for subject in part.subjects:
            items = list(subject.items)
            text_of_item[items] = text_of_item[items].min()
    columns = {
        "item_id": [item.item_id for item in plan.items],
        "dataset": [plan.sources[number][0].name for number, _ in plan.origins],
        "prompt": [item.prompt for item in plan.items],
        "block": [item.block for item in plan.items],
    }
    return units_of(pd.DataFrame(columns), text_of_item, plan.study.reading.unit)


def _contrasts(part: PlanPart, judge: JudgeSettings, shape: Shape) -> np.ndarray:
    """Return what the line of score on position gives each call, from 1 to -1.

    Shape: (targets, calls of one item over all strategies). For options it is the correlation of
    score with position, so 1 for ascending; for criteria and answers, 1 if one is listed first.
    Centred over the calls, so all 0 if one order is shown.
    """
    subject = part.subjects[part.by_shape[shape][0]]
    asked = [
        part.asked_as(strategy, judge, len(part.subjects))
        for strategy in part.asked_of(judge, shape)
    ]
    orders = [ordering.shown for strategy in asked for ordering in part.orders(subject, strategy)]
    if isinstance(subject.options[0], str):
        where = np.array(
            [[order.index(name) for order in orders] for name in subject.options], dtype=float
        )
        lines = 1.0 - 2.0 * where / (shape.positions - 1)
    else:
        scores = np.array(orders, dtype=float)
        steps = np.arange(shape.positions) - (shape.positions - 1) / 2
        centred = scores - scores.mean(axis=1, keepdims=True)
        lines = (centred @ steps / np.sqrt((centred**2).sum(axis=1) * (steps**2).sum()))[None, :]
    return np.asarray(lines - lines.mean(axis=1, keepdims=True))


def _smallest_change(
    shape: Shape,
    lines: np.ndarray,
    groups: int,
    per_group: float,
    spread: float | None,
    level: float,
) -> float | None:
    """Return the mean change, from end to end of the list, that is detected with POWER at a level.

    In points; None for one order. ``spread``: of a pilot run, else as ``_spread_of_mean`` assumes.
    """
    if groups < MIN_UNITS or not ((lines**2).sum(axis=1) > 1e-9).all():
        return None
    if spread is None:
        spread = _spread_of_mean(shape, lines, per_group)
    return _detected(spread, groups, level)


def _spread_of_mean(shape: Shape, lines: np.ndarray, per_group: float) -> float:
    """Return the assumed standard deviation, over units, of what the order does to the mean.

    In points. An item's line is 2 sum(c y) / sum(c^2), so the variance of its noise is
    4 s^2 / sum(c^2). The variance of a unit of m items is 4 s^2 / sum(c^2) / m + e^2. The values of
    s and e are assumed: NOISE_STEPS and EFFECT_STEPS, or with two scores NOISE_PASS and
    EFFECT_PASS.
    """
    squares = (lines**2).sum(axis=1)
    noise, effect = NOISE_STEPS, EFFECT_STEPS
    if len(shape.scores) == 2:
        noise, effect = NOISE_PASS, EFFECT_PASS
    of_item = 4 * noise**2 * float(np.mean(1 / squares)) / len(squares)
    return step_of(shape.scores) * math.sqrt(of_item / max(per_group, 1.0) + effect**2)


def _smallest_share(
    part: PlanPart, groups: int, per_group: float, spread: float | None, level: float
) -> float | None:
    """Return the share that a position gains, as ``_smallest_change``, in percentage points.

    Without a pilot's spread, DISCORDANT choices are assumed to change with the order.
    """
    first = part.subjects[0]
    orders = {
        order.shown
        for strategy in part.asked(first.shape)
        for order in part.orders(first, strategy)
    }
    if groups < MIN_UNITS or len(orders) < 2:
        return None
    if spread is None:
        spread = 100 * math.sqrt(DISCORDANT / 4 / per_group)
    return _detected(spread, groups, level)


def _detected(spread: float, groups: int, level: float) -> float:
    """Return the mean over units that is detected with POWER at a level.

    ``spread``: the standard deviation of a unit.
    """
    reach = student.ppf(1 - level / 2, groups - 1) + student.ppf(POWER, groups - 1)
    return float(reach * spread / math.sqrt(groups))


def _groups_for_no(
    shape: Shape,
    lines: np.ndarray,
    smallest: Smallest,
    per_group: float,
    spread: float | None,
    level: float,
) -> int:
    """Return how many units “No” takes for all three questions, at the study's smallest effects.

    ``level``: what p values are compared with when all calls are in.

    Positions of criteria move means, as question 2 asks, so they have no shares of their own. The
    exact bound of ``core/verdict.py`` is the least that “No” takes with any data. With few scores
    the interval of the mean is wider: if no effect is seen, it ends below the limit m if
    1.96 sd / sqrt(units) < m.
    """
    squares = (lines**2).sum(axis=1)
    several = bool(squares.min() > 1e-9)
    step, limit = step_of(shape.scores), smallest.points(shape.scores)
    reach = (shape.scores[-1] - shape.scores[0]) / step
    if not shape.targets and several:
        reach *= float(np.max(np.abs(lines).sum(axis=1) / squares))
    pass_rate = len(shape.scores) == 2 and not shape.targets
    needed = [units_needed(limit / step, reach, level), units_needed(smallest.single, 1.0, level)]
    if not shape.targets and not pass_rate:
        needed.append(units_needed(smallest.share, 1 - 1 / shape.positions, level))
    if len(shape.scores) < FEW_SCORES and several:
        if spread is None:
            spread = _spread_of_mean(shape, lines, per_group)
        needed.append(math.ceil((student.ppf(1 - level / 2, math.inf) * spread / limit) ** 2))
    return max(needed)
