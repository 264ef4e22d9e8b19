"""A plan in; what it will take (calls, time, tokens, price) and what it can find out, before the first call.

Tokens (signs / 4) and time are guesses, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy.stats import t as student

from rubriclab.core.gate import ALPHA
from rubriclab.core.verdict import MIN_UNITS, units_needed
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Ordering, step_of
from rubriclab.model.study import Smallest
from rubriclab.model.text import count, duration
from rubriclab.study.plan import Plan, asked_as
from rubriclab.study.protocols import Shape, Subject

SIGNS_PER_TOKEN = 4.0
TOKENS_OUT = {"score": 3.0, "feedback": 200.0}
TOKENS_A_CRITERION = 7.0
"""Of an answer: a label; a feedback; a line “[Clarity] 4”."""
EMBEDDED_RATE = {"smollm2-135m": 3.2, "qwen2.5-coder-0.5b": 1.4}
OTHER_EMBEDDED_RATE, LONG_ANSWER_SLOWDOWN, SIMULATED_RATE = 1.0, 10.0, 1_000.0
"""Calls a second on two cores, as measured with short answers to one item after the other; longer answers are slower."""
SERVED_SECONDS, SERVED_SECONDS_LONG = 1.0, 8.0
"""Assumed seconds of an answer of a server that was not measured."""
SAMPLED_CALLS = 40
POWER = 0.8
NOISE_STEPS, EFFECT_STEPS = 0.8, 0.5
"""Assumed, in steps of the scale: standard deviation of one answer's scores between calls, and over answers of the
order's effect. Two small models on 24 answers had 0.7 and 1.2, and 0 and 0.7."""
DISCORDANT = 0.3
"""Assumed share of comparisons whose winner changes with the order."""


@dataclass(frozen=True)
class Estimate:
    """``price``: None where no judge has one. ``seconds``: judges work side by side, so the slowest judge's.

    ``smallest``: the change of the mean, in points (of choices: a position's share, in percentage points), that the run finds with a chance of 0.8; None where it shows one
    order or has too few groups. ``groups_for_no``: from how many groups on the answer No is within reach for all
    questions.
    """

    calls: int
    seconds: float
    tokens_in: int
    tokens_out: int
    price: float | None
    answers: int
    groups: int
    smallest: float | None
    groups_for_no: int
    sentence: str

    def sentences(self) -> list[str]:
        """The estimate in lines of text."""
        lines = [f"{count(self.calls, 'call')}, about {duration(self.seconds)} (assumed, not measured)."]
        tokens = f"About {self.tokens_in:,} tokens in and {self.tokens_out:,} out, guessed from the signs"
        lines.append(f"{tokens}: {self.price:,.2f} at your prices." if self.price is not None else f"{tokens}.")
        return [*lines, self.sentence]

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def estimate(plan: Plan) -> Estimate:
    """What ``plan`` takes and can find."""
    seconds, tokens_in, tokens_out, prices = [], 0.0, 0.0, []
    for judge in plan.study.judges:
        calls = sum(n for c, n in zip(plan.conditions, plan.planned, strict=True) if c.judge == judge.name)
        signs, answer = _prompt_signs(plan, judge), _answer_tokens(plan)
        tokens_in += calls * signs / SIGNS_PER_TOKEN
        tokens_out += calls * answer
        seconds.append(calls / calls_per_second(judge, long_answer=answer > 30))
        if judge.price_input is not None or judge.price_output is not None:
            paid = signs / SIGNS_PER_TOKEN * (judge.price_input or 0) + answer * (judge.price_output or 0)
            prices.append(calls * paid / 1e6)
    groups, answers, limits = _groups(plan), len(plan.dataset.items), plan.study.reading.smallest
    shapes = {subject.shape for subject in plan.subjects if subject.shape.positions > 1}
    if plan.study.design.reorder in ("pairs", "lists"):
        smallest = _smallest_share(plan, groups)
        shares = [units_needed(limits.share, 1 - 1 / shape.positions) for shape in shapes]
        needed = max(*shares, units_needed(limits.single, 1.0))
        answers = len(plan.subjects)
    else:
        shapes = set() if plan.study.design.reorder == "bare" else shapes
        lines = {shape: _contrasts(plan, plan.study.judges[0], shape) for shape in shapes}
        changes = [_smallest_change(shape, line, groups, len(plan.subjects) / groups) for shape, line in lines.items()]
        smallest = min((change for change in changes if change is not None), default=None)
        needed = max((_groups_for_no(shape, line, limits) for shape, line in lines.items()), default=0)
    return Estimate(
        calls=len(plan),
        seconds=max(seconds),
        tokens_in=round(tokens_in),
        tokens_out=round(tokens_out),
        price=sum(prices) if prices else None,
        answers=answers,
        groups=groups,
        smallest=smallest,
        groups_for_no=needed,
        sentence=_sentence(plan, answers, groups, smallest, needed),
    )


# ---------------------------------------------------------------- what it takes


def calls_per_second(judge: JudgeSettings, *, long_answer: bool) -> float:
    """From stated guesses; never above the judge's rpm."""
    if judge.kind == "simulated":
        rate = SIMULATED_RATE
    elif judge.kind in ("openai", "vllm"):
        rate = judge.concurrency / (SERVED_SECONDS_LONG if long_answer else SERVED_SECONDS)
    else:
        rate = EMBEDDED_RATE.get(judge.model, OTHER_EMBEDDED_RATE) / (LONG_ANSWER_SLOWDOWN if long_answer else 1.0)
    return min(rate, judge.rpm / 60) if judge.rpm else rate


def _prompt_signs(plan: Plan, judge: JudgeSettings) -> float:
    """Mean signs of a prompt: the frame as in the first calls, around the texts of all items."""
    texts = [len(item.instruction) + len(item.response) + len(item.reference) for item in plan.items]
    calls = list(islice(plan.calls(judge.name), SAMPLED_CALLS))
    frames = [sum(len(message["content"]) for message in call.messages) - texts[call.items[0]] for call in calls]
    return sum(frames) / max(len(frames), 1) + sum(texts) / len(texts)


def _answer_tokens(plan: Plan) -> float:
    design = plan.study.design
    if design.reorder in ("criteria", "responses"):
        return TOKENS_A_CRITERION * max(condition.positions for condition in plan.conditions)
    if design.template in ("mtbench", "devbench"):
        return TOKENS_OUT["feedback"]
    return TOKENS_OUT[design.answer]


# ---------------------------------------------------------------- what it can find


def _groups(plan: Plan) -> int:
    """Independent groups as results take them: prompts, else blocks, where every item has one; else items."""
    for name in ("prompt", "block"):
        values = [getattr(item, name) for item in plan.items]
        if all(values) and len(set(values)) < len(values):
            return len(set(values))
    return len(plan.items)


def _contrasts(plan: Plan, judge: JudgeSettings, shape: Shape) -> np.ndarray:
    """(targets, calls of one item over all strategies): what the line of score on position gives a call, from 1 to -1.

    Options: the correlation of score with position, so 1 for ascending. Criteria and answers: 1 where one stands first.
    Centred over the calls; all 0 where one order is shown.
    """
    subject = next(subject for subject in plan.subjects if subject.shape == shape)
    orders = [ordering.shown for ordering in _orders(plan, subject, judge)]
    if isinstance(subject.options[0], str):
        where = np.array([[order.index(name) for order in orders] for name in subject.options], dtype=float)
        lines = 1.0 - 2.0 * where / (shape.positions - 1)
    else:
        scores, steps = np.array(orders, dtype=float), np.arange(shape.positions) - (shape.positions - 1) / 2
        centred = scores - scores.mean(axis=1, keepdims=True)
        lines = (centred @ steps / np.sqrt((centred**2).sum(axis=1) * (steps**2).sum()))[None, :]
    return np.asarray(lines - lines.mean(axis=1, keepdims=True))


def _orders(plan: Plan, subject: Subject, judge: JudgeSettings | None = None) -> Iterator[Ordering]:
    """The ordering of every call about a subject, over all strategies; ``judge``: as that one is asked."""
    for strategy in plan.protocol.strategies(subject.shape, plan.study.design.plans()):
        asked = strategy if judge is None else asked_as(strategy, judge, len(plan.subjects))
        yield from plan.protocol.orders(subject, asked, plan.study.design.seed)


def _smallest_change(shape: Shape, lines: np.ndarray, groups: int, per_group: float) -> float | None:
    """The change of the mean in points, end to end of the list, that is found with POWER at ALPHA; None for one order.

    An item's line is 2 sum(c y) / sum(c^2), so its noise is 4 s^2 / sum(c^2); over g groups of m items each the mean
    has the variance (4 s^2 / sum(c^2) / m + e^2) / g, with s and e assumed (NOISE_STEPS, EFFECT_STEPS).
    """
    squares = (lines**2).sum(axis=1)
    if groups < MIN_UNITS or not (squares > 1e-9).all():
        return None
    reach = student.ppf(1 - ALPHA / 2, groups - 1) + student.ppf(POWER, groups - 1)
    noise = 4 * NOISE_STEPS**2 * float(np.mean(1 / squares)) / len(squares)
    return float(step_of(shape.scores) * reach * math.sqrt((noise / max(per_group, 1.0) + EFFECT_STEPS**2) / groups))


def _smallest_share(plan: Plan, groups: int) -> float | None:
    """As ``_smallest_change``, the share that a position gains, percentage points; assumed: DISCORDANT choices change."""
    if groups < MIN_UNITS or len({ordering.shown for ordering in _orders(plan, plan.subjects[0])}) < 2:
        return None
    reach = student.ppf(1 - ALPHA / 2, groups - 1) + student.ppf(POWER, groups - 1)
    return float(100 * reach * math.sqrt(DISCORDANT / 4 / len(plan.subjects)))


def _groups_for_no(shape: Shape, lines: np.ndarray, smallest: Smallest) -> int:
    """For all three questions at the study's smallest effects; positions of criteria move means, as question 2 does."""
    squares = (lines**2).sum(axis=1)
    reach = (shape.scores[-1] - shape.scores[0]) / step_of(shape.scores)
    if not shape.targets and squares.min() > 1e-9:
        reach *= float(np.max(np.abs(lines).sum(axis=1) / squares))
    positions = 1 if shape.targets else units_needed(smallest.share, 1 - 1 / shape.positions)
    return max(positions, units_needed(smallest.mean, reach), units_needed(smallest.single, 1.0))


def _sentence(plan: Plan, answers: int, groups: int, smallest: float | None, needed: int) -> str:
    if plan.study.design.reorder == "bare":
        return "Nothing is listed, so nothing is reordered: ask the same answers with a rubric beside it."
    if groups < MIN_UNITS:
        more = MIN_UNITS - groups
        return (
            f"{count(groups, 'group')} {'is' if groups == 1 else 'are'} too few for an interval: add answers to at "
            f"least {more} more {'instruction' if more == 1 else 'instructions'}."
        )
    if smallest is None:
        return "Every answer is shown in one order only, so no order effect can be found: add another strategy."
    size = f"a change of the mean of {smallest:.2g} points or more"
    asked = count(answers, "answer")
    if plan.study.design.reorder in ("pairs", "lists"):
        size = f"a position that wins {smallest:.2g} percentage points more than its share"
        asked = count(answers, "comparison")
    return f"With {asked} in {count(groups, 'group')}, this run can find {size}. No can be answered from {needed} groups on."
