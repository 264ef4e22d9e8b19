"""Simulate a judge with known faults, to try the lab and to test what it finds.

What stands at position p gets the utility

    U[p] = -((score - target) / step)^2 + first * [p = 0] + slope * p + own leaning of the item at p

and is picked with probability softmax(U / noise). A candidate's answer has its own quality in place
of the first term, the same in every comparison; of several answers in one call the first gets
``first_of_several`` points more. Nothing it says is a model's judgment: every reply names
``simulated`` as its model, and results carry the label wherever they show.
"""

import asyncio
import math
import random
import re
from collections.abc import Sequence

from rubriclab.model.data import Rubric
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_options import Effects
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import digest

MODEL = "simulated"
MASS = 0.97
"""Of the probability of the first token: what falls on labels at all."""
SLOT = "\ue000"
"""In a call's ``form``: the label."""
WRITTEN = "A simulated answer worth {:.2f} points."
ASKED, STATED = (
    re.compile(r"^## Score to earn: (-?\d+)", re.M),
    re.compile(r"simulated answer worth (-?[\d.]+) points"),
)


class SimulatedJudge:
    """Answers calls as the judge's options say; the same call gets the same answer. Raises LabError
    for bad options.
    """

    def __init__(self, settings: JudgeSettings, rubric: Rubric | None = None) -> None:
        self.effects = read_options(Effects, settings)
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
        elif call.template.startswith("reference"):
            text = self._reference(call, rng)
        elif _kind(call).startswith(("criteria.", "batch.")):
            text = self._several(call, rng)
        elif _kind(call).startswith(("pairwise", "listwise", "pairs.", "lists.")):
            text, top = self._choice(call, rng)
        else:
            label, labels, chances = self._option(call, rng)
            text, top = label, alternatives(labels, chances)
            if call.template.startswith(("prometheus", "feedback")):
                text, top = f"Feedback: A simulated judge read this response. [RESULT] {label}", ()
            text = call.form.replace(SLOT, label) or text
        words = len(text.split())
        return Reply(
            text=text,
            top=top,
            model=MODEL,
            tokens_in=0,
            tokens_out=words,
            seconds=self.effects.latency,
        )

    def _option(self, call: Call, rng: random.Random) -> tuple[str, tuple[str, ...], list[float]]:
        """The label that is picked, all labels, and their chances (n,) without ``noise``.

        Of a bare score, or an answer asked about alone, nothing is listed, so no position is
        favoured.
        """
        effects = self.effects
        listed = _kind(call).startswith(("score.", "prometheus", "options.")) and isinstance(
            call.ordering.shown[0], int
        )
        shown = [float(score) for score in (call.ordering.shown if listed else call.scores)]
        labels = call.ordering.labels if listed or call.form else tuple(map(str, call.scores))
        effects = (
            effects
            if listed
            else effects.model_copy(update={"first": 0.0, "slope": 0.0, "line": 0.0})
        )
        n = len(shown)
        low, high, step = scale_of(shown)
        # How far the list ascends: 1 for ascending, -1 for descending, by rank correlation.
        ranks = [sorted(shown).index(score) - (n - 1) / 2 for score in shown]
        ascends = sum(rank * (p - (n - 1) / 2) for p, rank in enumerate(ranks)) / sum(
            rank * rank for rank in ranks
        )
        target = self.target(call.items[0], low, high, step) + effects.line / 2 * ascends
        utilities = [fit + effects.slope * p for p, fit in enumerate(fits(shown, target, step))]
        utilities[0] += effects.first
        if effects.item_lean:
            own = random.Random(digest("lean", effects.seed, call.items[0]))
            utilities = [value + own.gauss(0.0, effects.item_lean) for value in utilities]
        return labels[draw(utilities, effects.noise, rng)], labels, softmax(utilities)

    def _several(self, call: Call, rng: random.Random) -> str:
        """One line a criterion or an answer in the order shown; a criterion's score may colour the
        one after it.
        """
        effects, criteria = self.effects, _kind(call).startswith("criteria.")
        shown = [str(name) for name in call.ordering.shown]
        # The call's items are in canonical order, so that each keeps its quality in every order.
        own = criteria and {*shown} <= {
            *self._criteria_names
        }  # else of a data set with a rubric of its own
        names = self._criteria_names if own else sorted(shown)
        first, carryover = (
            (effects.criteria_first, effects.carryover)
            if criteria
            else (effects.first_of_several, 0.0)
        )
        low, high, step = scale_of(call.scores)
        lines, before = [], 0.0
        for p, name in enumerate(shown):
            item = call.items[names.index(name) % len(call.items)]
            target = (
                self.target(item, low, high, step) + carryover * before + (first if p == 0 else 0.0)
            )
            score = call.scores[draw(fits(call.scores, target, step), effects.noise, rng)]
            before = score - (low + high) / 2
            lines.append(f"[{name if criteria else call.ordering.labels[p]}] {score}")
        # In the form of an own prompt each criterion has a sign of its own.
        signs = {ord(SLOT) + p: line.rpartition(" ")[2] for p, line in enumerate(lines)}
        return call.form.translate(signs) or "\n".join(lines)

    def _choice(self, call: Call, rng: random.Random) -> tuple[str, tuple[tuple[str, float], ...]]:
        """A verdict in the form that the prompt asks for, with the alternatives to its letter where
        that is all.
        """
        effects, labels = self.effects, call.ordering.labels
        utilities = []
        for p, name in enumerate(call.ordering.shown):
            own = random.Random(digest("quality", call.items[0], name)).gauss(0.0, effects.quality)
            overall = random.Random(digest("quality", name)).gauss(0.0, effects.quality)
            utilities.append(own + overall + effects.slope * p + (effects.first if p == 0 else 0.0))
        letter = labels[draw(utilities, effects.noise, rng)]
        if rng.random() < effects.ties:
            letter = chr(ord("A") + len(labels))
        if call.form:
            return call.form.replace(SLOT, letter), ()
        if "-brief." in call.template:
            return letter, alternatives(labels, softmax(utilities))
        return (
            f"[[{letter}]]"
            if "-mtbench." in call.template
            else f"Choice: {letter}\nReason: 1. Simulated."
        ), ()

    def _reference(self, call: Call, rng: random.Random) -> str:
        """A reference answer that says how good it is, or the score of such an answer."""
        words, scores = call.messages[0]["content"], call.scores
        step = scale_of(scores)[2]
        if asked := ASKED.search(words):
            return WRITTEN.format(int(asked[1]) + step * rng.gauss(0.0, self.effects.written))
        stated = STATED.search(words)
        if stated is None:
            return "This answer was not written by a simulated judge."
        return str(scores[draw(fits(scores, float(stated[1]), step), self.effects.noise, rng)])

    def target(self, item: int, low: float, high: float, step: float) -> float:
        """The right score of an item, in points; the same for every order and every simulated
        judge.
        """
        drawn = random.Random(digest("quality", item)).gauss(0.0, self.effects.quality)
        return min(high, max(low, (low + high) / 2 + step * drawn))


def _kind(call: Call) -> str:
    """Its template; of a prompt of the user's own, what it lists."""
    return re.sub(r"^own-\w+-", "", call.template)


def scale_of(scores: Sequence[float]) -> tuple[float, float, float]:
    """Lowest and highest score of a scale, and one step of it."""
    low, high = min(scores), max(scores)
    return low, high, (high - low) / (len(scores) - 1)


def fits(scores: Sequence[float], target: float, step: float) -> list[float]:
    """Log-odds of each score by its distance from the right one."""
    return [-(((score - target) / step) ** 2) for score in scores]


def alternatives(labels: Sequence[str], chances: Sequence[float]) -> tuple[tuple[str, float], ...]:
    """The first token's alternatives with their log-probabilities: labels, and a word that is
    none.
    """
    on_labels = tuple(
        (label, math.log(max(MASS * p, 1e-12))) for label, p in zip(labels, chances, strict=True)
    )
    return (*on_labels, ("The", math.log(1 - MASS)))


def softmax(utilities: Sequence[float]) -> list[float]:
    """Chances (n,) of log-odds (n,)."""
    top = max(utilities)
    weights = [math.exp(value - top) for value in utilities]
    return [weight / sum(weights) for weight in weights]


def draw(utilities: Sequence[float], noise: float, rng: random.Random) -> int:
    """An index drawn by softmax(utilities / noise); the likeliest (the first of equals) at
    noise 0.
    """
    point = rng.random()
    if noise <= 0:
        return max(range(len(utilities)), key=lambda index: utilities[index])
    for index, chance in enumerate(softmax([value / noise for value in utilities])):
        point -= chance
        if point < 0:
            return index
    return len(utilities) - 1
