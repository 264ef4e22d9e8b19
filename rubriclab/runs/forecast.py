"""A plan in; what it will take (calls, time, tokens, price) and what it can find out, before the
first call.

Tokens (signs / 4), time and spreads are guesses, and say so, until a pilot run has measured them.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import MIN_UNITS, units_needed
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, step_of, variant_text
from rubriclab.model.study import Smallest
from rubriclab.model.text import count, duration, shorten
from rubriclab.study.decisions import packs
from rubriclab.study.parts import PlanPart
from rubriclab.study.plan import Plan
from rubriclab.study.subjects import Shape

SIGNS_PER_TOKEN = 4.0
TOKENS_OUT = {"score": 3.0, "feedback": 200.0}
TOKENS_A_CRITERION = 7.0
"""Of an answer: a label; a feedback; a line “[Clarity] 4”."""
EMBEDDED_RATE = {"smollm2-135m": 3.2, "qwen2.5-coder-0.5b": 1.4}
OTHER_EMBEDDED_RATE, LONG_ANSWER_SLOWDOWN, SIMULATED_RATE = 1.0, 10.0, 1_000.0
"""Calls a second on two cores, as measured with short answers to one item after the other; longer
answers are slower.
"""
SERVED_SECONDS, SERVED_SECONDS_LONG = 1.0, 8.0
"""Assumed seconds of an answer of a server that was not measured."""
SAMPLED_CALLS = 40
POWER, MOST_GROUPS = 0.8, 1_000_000
NOISE_STEPS, EFFECT_STEPS = 0.8, 0.5
"""Assumed, in steps of the scale: standard deviation of one answer's scores between calls, and over
answers of the order's effect. Two small models on 24 answers had 0.7 and 1.2, and 0 and 0.7.
"""
NOISE_PASS, EFFECT_PASS = 0.43, 0.25
"""The same of a scale of two scores, where a score is at most half a step from its mean: with two
orders, each asked twice, an answer's change has a standard deviation of 0.5.
"""
FEW_SCORES = 5
"""Below, the smallest change that matters is so small beside the noise that noise sets what “No”
takes.
"""
CHOICES = ("pairs", "lists")
DISCORDANT = 0.3
"""Assumed share of comparisons whose winner changes with the order."""


class Pilot(NamedTuple):
    """What a run showed. ``spread``: standard deviation over groups of what its order does, in
    points (of choices: of the share that a position gains, percentage points), None where it shows
    too little; ``seconds``, ``tokens_out``: of a call on average, by judge. Spread and time hold
    for runs of the same design.
    """

    name: str
    spread: float | None
    seconds: Mapping[str, float]
    tokens_out: Mapping[str, float]


def measured(findings: Findings, calls: pd.DataFrame) -> Pilot:
    """``calls``: the run's, with ``condition``, ``seconds`` and ``tokens_out``. The first condition
    that has a contrast counts.
    """
    scale = {"line": 1.0, "first_minus_last": 1.0, "first_advantage": 50.0}
    rows = [
        row for row in findings.rows if row.measure in scale and row.estimate.units >= MIN_UNITS
    ]
    spread = None
    if rows:
        spread = scale[rows[0].measure] * rows[0].estimate.error * math.sqrt(rows[0].estimate.units)
    judge = calls["condition"].map(
        [condition.judge for condition in findings.conditions].__getitem__
    )
    means: Any = calls.groupby(judge)[["seconds", "tokens_out"]].mean()
    return Pilot(
        findings.judgments.table.name, spread, *(means[name].dropna().to_dict() for name in means)
    )


@dataclass(frozen=True)
class Power:
    """What can be found about one data set and axis.

    ``smallest``: the change of the mean, in points (of choices: a position's share, in percentage
    points), that the run finds with a chance of 0.8; None where it shows one order or has too few
    groups. ``groups_for_no``: from how many groups on the answer No is within reach for all
    questions. ``groups_for_effect``: from how many on the change that was asked about is found with
    a chance of 0.8.
    """

    answers: int
    groups: int
    smallest: float | None
    groups_for_no: int
    sentence: str
    groups_for_effect: int | None


@dataclass(frozen=True)
class Estimate(Power):
    """What can be found about the first data set and axis, and what the whole takes.

    ``price``: None where no judge has one. ``seconds``: judges work side by side, so the slowest
    judge's. ``others``: the sentences of the further data sets and axes; ``shares``: calls by data
    set, axis and level; ``rests_on``: is it assumed or measured?
    """

    calls: int
    seconds: float
    tokens_in: int
    tokens_out: int
    price: float | None
    others: tuple[str, ...]
    shares: tuple[tuple[str, int], ...]
    rests_on: str

    def sentences(self) -> list[str]:
        """The estimate in lines of text."""
        lines = [f"{count(self.calls, 'call')}, about {duration(self.seconds)} ({self.rests_on})."]
        tokens = (
            f"About {self.tokens_in:,} tokens in and {self.tokens_out:,} out, guessed from "
            f"the signs"
        )
        lines.append(
            f"{tokens}: {self.price:,.2f} at your prices."
            if self.price is not None
            else f"{tokens}."
        )
        lines += [f"{name}: {count(calls, 'call')}." for name, calls in self.shares]
        return [*lines, self.sentence, *self.others]


def estimate(plan: Plan, seen: Pilot | None = None, effect: float | None = None) -> Estimate:
    """What ``plan`` takes and can find. ``effect``: a change that it should find, in the unit of
    ``Power.smallest``.
    """
    baselines = list({part.scope: part for part in reversed(plan.parts)}.values())[::-1]
    asked: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for condition, code, calls in zip(plan.conditions, plan.part_of, plan.planned, strict=True):
        asked[condition.judge, plan.parts[code].scope] += calls
    tokens_in, tokens_out, prices = 0.0, 0.0, []
    seconds = dict.fromkeys((judge.name for judge in plan.study.judges), 0.0)
    for judge in plan.study.judges:
        priced = judge.price_input is not None or judge.price_output is not None
        for part in baselines:
            calls, signs, answer = (
                asked[judge.name, part.scope],
                _prompt_signs(plan, part, judge),
                _answer_tokens(part),
            )
            tokens_in += calls * signs / SIGNS_PER_TOKEN
            answer = seen.tokens_out.get(judge.name, answer) if seen else answer
            tokens_out += calls * answer
            seconds[judge.name] += calls / calls_per_second(judge, seen, long_answer=answer > 30)
            prices += [calls * price_of(judge, signs / SIGNS_PER_TOKEN, answer)] * priced
    powers = [_power(plan, part, seen, effect) for part in baselines]
    sentences = [power.sentence for power in powers]
    if len(powers) > 1:
        sentences = [
            f"{_name_of(plan, part)}: {said}"
            for part, said in zip(baselines, sentences, strict=True)
        ]
    by_part: Counter[str] = Counter()
    for code, calls in zip(plan.part_of, plan.planned, strict=True):
        part, base = (
            plan.parts[code],
            {name: levels[0] for name, levels in plan.study.design.vary.factors().items()},
        )
        level = [variant_text(part.variant, base) or "baseline"] if base else []
        by_part[_name_of(plan, part, *level)] += calls
    return Estimate(
        **asdict(replace(powers[0], sentence=sentences[0])),
        calls=len(plan),
        seconds=max(seconds.values()),
        tokens_in=round(tokens_in),
        tokens_out=round(tokens_out),
        price=sum(prices) if prices else None,
        others=tuple(sentences[1:]),
        shares=tuple(by_part.items()) if len(by_part) > 1 else (),
        rests_on=f"as in {shorten(seen.name)}" if seen else "assumed, not measured",
    )


def _name_of(plan: Plan, part: PlanPart, *level: str) -> str:
    """A part by what tells it from the others: data set, axis and level."""
    words = [part.dataset.name] * (len(plan.sources) > 1) + [part.axis] * (
        len(plan.study.design.axes) > 1
    )
    return " · ".join([*words, *level])


def _power(plan: Plan, part: PlanPart, seen: Pilot | None, effect: float | None) -> Power:
    """What the first judge's calls about a part can find."""
    groups, limits, spread = (
        _groups(plan, part),
        plan.study.reading.smallest,
        None if seen is None else seen.spread,
    )
    shapes = [shape for shape in part.by_shape if shape.positions > 1 and part.axis != "bare"]
    per_group = len(part.subjects) / groups
    find: Callable[[int], float | None]
    if part.axis in CHOICES:
        answers, asked = len(part.subjects), "comparison"
        find = partial(_smallest_share, part, per_group=per_group, spread=spread)
        shares = [units_needed(limits.share, 1 - 1 / shape.positions) for shape in shapes]
        needed = max(*shares, units_needed(limits.single, 1.0))
        smallest = find(groups)
        size = (
            f"a position that wins {smallest:.2g} percentage points more than its share"
            if smallest
            else ""
        )
    else:
        answers, asked = len(part.dataset.items), "answer"
        lines = {shape: _contrasts(part, plan.study.judges[0], shape) for shape in shapes}

        def find(number: int) -> float | None:
            changes = [
                _smallest_change(shape, line, number, per_group, spread)
                for shape, line in lines.items()
            ]
            return min((change for change in changes if change is not None), default=None)

        smallest = find(groups)
        needed = max(
            (
                _groups_for_no(shape, line, limits, per_group, spread)
                for shape, line in lines.items()
            ),
            default=0,
        )
        size = f"a change of the mean of {smallest:.2g} points or more" if smallest else ""
    more = MIN_UNITS - groups
    if part.axis == "bare":
        said = (
            "Nothing is listed, so nothing is reordered: ask the same answers with a rubric "
            "beside it."
        )
    elif more > 0:
        said = (
            f"{count(groups, 'group')} {'is' if groups == 1 else 'are'} too few for an interval: "
            f"add answers to at "
            f"least {more} more {'instruction' if more == 1 else 'instructions'}."
        )
    elif smallest is None:
        said = (
            "Every answer is shown in one order only, so no order effect can be found: add "
            "another strategy."
        )
    else:
        said = (
            f"With {count(answers, asked)} in {count(groups, 'group')}, this run can find {size}. "
            f"The answer “No” "
            f"takes {needed} groups or more."
        )
    for_effect = None
    if effect is not None and find(MOST_GROUPS) is not None:
        smallest_by = range(MIN_UNITS, MOST_GROUPS)
        for_effect = MIN_UNITS + bisect_left(
            smallest_by, -effect, key=lambda number: -(find(number) or math.inf)
        )
        number = (
            f"{for_effect:,} groups"
            if for_effect < MOST_GROUPS
            else f"more than {MOST_GROUPS:,} groups"
        )
        unit = "percentage points" if part.axis in CHOICES else "points"
        said += f" To find {effect:g} {unit} with a chance of {POWER:g} takes {number}."
    return Power(answers, groups, smallest, needed, said, for_effect)


# ---------------------------------------------------------------- what it takes
def price_of(judge: JudgeSettings, tokens_in: float, tokens_out: float) -> float:
    """What these tokens cost at the judge's prices per million; 0 where no price is given."""
    return (tokens_in * (judge.price_input or 0.0) + tokens_out * (judge.price_output or 0.0)) / 1e6


def price_of_reply(judge: JudgeSettings, call: Call, reply: Reply, together: int = 1) -> float:
    """What a reply costs by the server's counts; by the signs where it gives none, or a limit of
    money would not hold.

    ``together``: how many calls shared the request, and with it what its first message says.
    """
    state, *more = (len(message["content"]) for message in call.messages)
    sent, written = (0.0, 0) if reply.error else (state / together + sum(more), len(reply.text))
    return price_of(
        judge,
        reply.tokens_in or sent / SIGNS_PER_TOKEN,
        reply.tokens_out or written / SIGNS_PER_TOKEN,
    )


def calls_per_second(judge: JudgeSettings, seen: Pilot | None, *, long_answer: bool) -> float:
    """As in a pilot run, else from stated guesses; never above the judge's rpm."""
    if seen is not None and seen.seconds.get(judge.name):
        rate = judge.concurrency / seen.seconds[judge.name]
    elif judge.kind == "simulated":
        rate = SIMULATED_RATE
    elif judge.kind in ("openai", "vllm", "decisions"):
        rate = judge.concurrency / (SERVED_SECONDS_LONG if long_answer else SERVED_SECONDS)
    else:
        rate = EMBEDDED_RATE.get(judge.model, OTHER_EMBEDDED_RATE) / (
            LONG_ANSWER_SLOWDOWN if long_answer else 1.0
        )
    return min(rate, judge.rpm / 60) if judge.rpm else rate


def _prompt_signs(plan: Plan, part: PlanPart, judge: JudgeSettings) -> float:
    """Mean signs that a call sends: the frame as in the first calls, around the texts of all
    items.
    """
    items = {code: plan.items[code] for code in part.of_item}
    texts = {
        code: len(item.instruction) + len(item.response) + len(item.reference)
        for code, item in items.items()
    }
    calls = list(islice(plan.calls(judge.name, part.scope), SAMPLED_CALLS))
    sent = len(list(packs(calls))) / max(
        len(calls), 1
    )  # orders that share a request send the state once
    lengths = [[len(message["content"]) for message in call.messages] for call in calls]
    own = [sum(signs[1:]) if call.pack else 0 for call, signs in zip(calls, lengths, strict=True)]
    frames = [
        sum(signs) - more - texts.get(call.items[0], 0)
        for call, signs, more in zip(calls, lengths, own, strict=True)
    ]
    mean = sum(frames) / max(len(frames), 1) + sum(texts.values()) / len(texts)
    return sum(own) / max(len(own), 1) + sent * mean


def _answer_tokens(part: PlanPart) -> float:
    if part.axis in ("criteria", "responses"):
        return TOKENS_A_CRITERION * max(shape.positions for shape in part.by_shape)
    if part.axis in CHOICES and part.design.template in ("mtbench", "devbench"):
        return TOKENS_OUT["feedback"]
    return TOKENS_OUT[part.design.answer]


# ---------------------------------------------------------------- what it can find
def _groups(plan: Plan, part: PlanPart) -> int:
    """Independent groups as results take them: prompts, else blocks, where every item has one; else
    items.
    """
    items = [plan.items[code] for code in part.of_item]
    for name in ("prompt", "block"):
        values = [getattr(item, name) for item in items]
        if all(values) and len(set(values)) < len(values):
            return len(set(values))
    return len(items)


def _contrasts(part: PlanPart, judge: JudgeSettings, shape: Shape) -> np.ndarray:
    """(targets, calls of one item over all strategies): what the line of score on position gives a
    call, from 1 to -1.

    Options: the correlation of score with position, so 1 for ascending. Criteria and answers: 1
    where one stands first. Centred over the calls; all 0 where one order is shown.
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
        scores, steps = (
            np.array(orders, dtype=float),
            np.arange(shape.positions) - (shape.positions - 1) / 2,
        )
        centred = scores - scores.mean(axis=1, keepdims=True)
        lines = (centred @ steps / np.sqrt((centred**2).sum(axis=1) * (steps**2).sum()))[None, :]
    return np.asarray(lines - lines.mean(axis=1, keepdims=True))


def _smallest_change(
    shape: Shape, lines: np.ndarray, groups: int, per_group: float, spread: float | None
) -> float | None:
    """The change of the mean in points, end to end of the list, that is found with POWER at ALPHA;
    None for one order.

    ``spread``: of a pilot run, else as ``_spread_of_mean`` assumes.
    """
    if groups < MIN_UNITS or not ((lines**2).sum(axis=1) > 1e-9).all():
        return None
    return _detected(_spread_of_mean(shape, lines, per_group) if spread is None else spread, groups)


def _spread_of_mean(shape: Shape, lines: np.ndarray, per_group: float) -> float:
    """The standard deviation over groups of what the order does to the mean, in points, as assumed.

    An item's line is 2 sum(c y) / sum(c^2), so its noise is 4 s^2 / sum(c^2); of a group of m items
    the variance is 4 s^2 / sum(c^2) / m + e^2, with s and e assumed (NOISE_STEPS, EFFECT_STEPS; of
    two scores NOISE_PASS, EFFECT_PASS).
    """
    squares = (lines**2).sum(axis=1)
    noise, effect = NOISE_STEPS, EFFECT_STEPS
    if len(shape.scores) == 2:
        noise, effect = NOISE_PASS, EFFECT_PASS
    of_item = 4 * noise**2 * float(np.mean(1 / squares)) / len(squares)
    return step_of(shape.scores) * math.sqrt(of_item / max(per_group, 1.0) + effect**2)


def _smallest_share(
    part: PlanPart, groups: int, per_group: float, spread: float | None
) -> float | None:
    """As ``_smallest_change``, the share that a position gains, percentage points; assumed:
    DISCORDANT choices change.
    """
    first = part.subjects[0]
    orders = {
        order.shown
        for strategy in part.asked(first.shape)
        for order in part.orders(first, strategy)
    }
    if groups < MIN_UNITS or len(orders) < 2:
        return None
    return _detected(
        100 * math.sqrt(DISCORDANT / 4 / per_group) if spread is None else spread, groups
    )


def _detected(spread: float, groups: int) -> float:
    """The mean over groups that is found with POWER at ALPHA; ``spread``: standard deviation of a
    group.
    """
    reach = student.ppf(1 - ALPHA / 2, groups - 1) + student.ppf(POWER, groups - 1)
    return float(reach * spread / math.sqrt(groups))


def _groups_for_no(
    shape: Shape, lines: np.ndarray, smallest: Smallest, per_group: float, spread: float | None
) -> int:
    """For all three questions at the study's smallest effects; positions of criteria move means, as
    question 2 does.

    The exact bound of ``core/verdict.py`` is the least that "No" takes of any data. Of few scores
    the interval of the mean is the wider: it ends below the limit m where no effect is seen if 1.96
    sd / root(groups) < m.
    """
    squares = (lines**2).sum(axis=1)
    several = bool(squares.min() > 1e-9)
    step, limit = step_of(shape.scores), smallest.points(shape.scores)
    reach = (shape.scores[-1] - shape.scores[0]) / step
    if not shape.targets and several:
        reach *= float(np.max(np.abs(lines).sum(axis=1) / squares))
    pass_rate = len(shape.scores) == 2 and not shape.targets
    needed = [units_needed(limit / step, reach), units_needed(smallest.single, 1.0)]
    if not shape.targets and not pass_rate:
        needed.append(units_needed(smallest.share, 1 - 1 / shape.positions))
    if len(shape.scores) < FEW_SCORES and several:
        spread = _spread_of_mean(shape, lines, per_group) if spread is None else spread
        needed.append(math.ceil((student.ppf(1 - ALPHA / 2, math.inf) * spread / limit) ** 2))
    return max(needed)
