"""A call in, a drawn reply out: a judge with known faults, for trying the lab and for testing what it finds.

What stands at position p gets the utility

    U[p] = -((score - target) / step)^2 + first * [p = 0] + slope * p + own leaning of the item at p

and is picked with probability softmax(U / noise). Nothing it says is a model's judgment: every reply names
``simulated`` as its model, and results carry the label wherever they show.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubriclab.model.data import Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, digest

MODEL = "simulated"
MASS = 0.97
"""Of the probability of the first token: what falls on labels at all."""


class Effects(BaseModel):
    """What is planted: the keys of the judge's ``options``. The defaults see quality and plant no bias.

    ``first``: log-odds of what is listed first; ``slope``: log-odds a position further down; ``item_lean``: standard
    deviation of each item's own log-odds at each position (they cancel out over items). ``line``: points that an
    ascending list adds to the score, against a descending one. ``quality``: standard deviation of the items' right
    scores, in steps of the scale around its middle. ``noise`` divides all log-odds; 0 picks the likeliest. For
    criteria in one call: ``criteria_first`` points for the one listed first, ``carryover`` times the distance of the
    score just given from the middle. ``unparsed``: share of replies that name no score. ``latency``: seconds an answer
    takes. ``seed`` makes another judge of the same effects.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    first: float = Field(0.0, ge=-20, le=20)
    slope: float = Field(0.0, ge=-20, le=20)
    item_lean: float = Field(0.0, ge=0, le=20)
    line: float = Field(0.0, ge=-100, le=100)
    quality: float = Field(1.0, ge=0, le=100)
    noise: float = Field(1.0, ge=0, le=100)
    criteria_first: float = Field(0.0, ge=-100, le=100)
    carryover: float = Field(0.0, ge=-1, le=1)
    unparsed: float = Field(0.0, ge=0, le=1)
    latency: float = Field(0.0, ge=0, le=60)
    seed: int = 0


def read_effects(settings: JudgeSettings) -> Effects:
    """The planted effects of a judge. Raises LabError naming the option, its value and what is expected."""
    try:
        return Effects(**settings.options)
    except (ValidationError, TypeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": ("?",), "msg": str(error)}
        raise LabError(
            f"Option “{first['loc'][0]}” of the simulated judge “{settings.name}”: {first['msg']}. It has the options "
            f"{', '.join(Effects.model_fields)}."
        ) from error


class SimulatedJudge:
    """Answers calls as the judge's options say; the same call gets the same answer. Raises LabError for bad options."""

    def __init__(self, settings: JudgeSettings, rubric: Rubric | None = None) -> None:
        self.effects = read_effects(settings)
        self._criteria_names = [criterion.name for criterion in rubric.criteria] if rubric else []

    async def ask(self, call: Call) -> Reply:
        # Sleeping 0 s too: a judge that never waits would keep the event loop to itself.
        await asyncio.sleep(self.effects.latency)
        return self.answer(call)

    async def close(self) -> None:
        """Nothing is open."""

    def answer(self, call: Call) -> Reply:
        """The reply that ``ask`` gives, without waiting: for simulating in bulk."""
        rng = random.Random(digest("draw", self.effects.seed, call.key))
        top: tuple[tuple[str, float], ...] = ()
        if rng.random() < self.effects.unparsed:
            text = "It is hard to say which description fits here."
        elif isinstance(call.ordering.shown[0], str):
            text = self._criteria(call, rng)
        else:
            label, chances = self._option(call, rng)
            labels = call.ordering.labels
            top = tuple((name, math.log(max(MASS * p, 1e-12))) for name, p in zip(labels, chances, strict=True))
            top = (*top, ("The", math.log(1 - MASS)))
            text = label
            if call.template.startswith(("prometheus", "feedback")):
                text, top = f"Feedback: A simulated judge read this response. [RESULT] {label}", ()
        words = len(text.split())
        return Reply(text=text, top=top, model=MODEL, tokens_in=0, tokens_out=words, seconds=self.effects.latency)

    def _option(self, call: Call, rng: random.Random) -> tuple[str, list[float]]:
        """The label that is picked, and the chances (n,) of the positions without ``noise``."""
        effects = self.effects
        shown = [float(score) for score in call.ordering.shown]
        n = len(shown)
        low, high = min(shown), max(shown)
        step = (high - low) / (n - 1)
        # How far the list ascends: 1 for ascending, -1 for descending, by rank correlation.
        ranks = [sorted(shown).index(score) - (n - 1) / 2 for score in shown]
        ascends = sum(rank * (p - (n - 1) / 2) for p, rank in enumerate(ranks)) / sum(rank * rank for rank in ranks)
        target = self.target(call.items[0], low, high, step) + effects.line / 2 * ascends
        utilities = [-(((score - target) / step) ** 2) + effects.slope * p for p, score in enumerate(shown)]
        utilities[0] += effects.first
        if effects.item_lean:
            own = random.Random(digest("lean", effects.seed, call.items[0]))
            utilities = [value + own.gauss(0.0, effects.item_lean) for value in utilities]
        return call.ordering.labels[draw(utilities, effects.noise, rng)], softmax(utilities)

    def _criteria(self, call: Call, rng: random.Random) -> str:
        """One line a criterion in the order shown; a score may colour the one after it."""
        effects = self.effects
        scores = [float(score) for score in call.scores]
        low, high = min(scores), max(scores)
        step = (high - low) / (len(scores) - 1)
        names = self._criteria_names or sorted(map(str, call.ordering.shown))
        lines, before = [], 0.0
        for p, name in enumerate(call.ordering.shown):
            # An item a criterion, in canonical order, so that an item keeps its quality in every order.
            item = call.items[names.index(str(name)) % len(call.items)]
            target = self.target(item, low, high, step) + effects.carryover * before
            target += effects.criteria_first if p == 0 else 0.0
            utilities = [-(((score - target) / step) ** 2) for score in scores]
            score = call.scores[draw(utilities, effects.noise, rng)]
            before = score - (low + high) / 2
            lines.append(f"[{name}] {score}")
        return "\n".join(lines)

    def target(self, item: int, low: float, high: float, step: float) -> float:
        """The right score of an item, in points; the same for every order and every simulated judge."""
        drawn = random.Random(digest("quality", item)).gauss(0.0, self.effects.quality)
        return min(high, max(low, (low + high) / 2 + step * drawn))


def softmax(utilities: Sequence[float]) -> list[float]:
    """Chances (n,) of log-odds (n,)."""
    top = max(utilities)
    weights = [math.exp(value - top) for value in utilities]
    return [weight / sum(weights) for weight in weights]


def draw(utilities: Sequence[float], noise: float, rng: random.Random) -> int:
    """An index drawn by softmax(utilities / noise); the likeliest (the first of equals) at noise 0."""
    point = rng.random()
    if noise <= 0:
        return max(range(len(utilities)), key=lambda index: utilities[index])
    for index, chance in enumerate(softmax([value / noise for value in utilities])):
        point -= chance
        if point < 0:
            return index
    return len(utilities) - 1
