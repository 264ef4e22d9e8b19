"""Simulate a judge with known faults, to try the lab and to test what it finds.

The option at position p gets the utility

    U[p] = -((score - target) / step)^2 + first * [p = 0] + slope * p + the item's own lean at p

and is picked with probability softmax(U / noise). In comparisons, a candidate's quality takes the
place of the first term; it is the same in every comparison. If one call scores several answers, the
first gets ``first_of_several`` points more.

No reply is a model's judgment. Every reply names ``simulated`` as its model, and results carry that
label wherever they appear.
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
"""The probability of all labels together at the first token; the rest falls on another word."""
LEAST_PROBABILITY = 1e-12
"""Stands in for 0, which has no logarithm."""
SLOT = "\ue000"
"""Where the label goes in a call's ``form``: a character that no prompt contains."""
WRITTEN = "A simulated answer worth {:.2f} points."
"""A reference answer that the judge writes, and recognises by STATED when it scores it."""
ASKED = re.compile(r"^## Score to earn: (-?\d+)", re.M)
STATED = re.compile(r"simulated answer worth (-?[\d.]+) points")


class SimulatedJudge:
    """Reply to calls as the judge's options say. The same call always gets the same reply.

    Raises LabError for bad options.
    """

    def __init__(self, settings: JudgeSettings, rubric: Rubric | None = None) -> None:
        self.effects = read_options(Effects, settings)
        self._criteria_names = [criterion.name for criterion in rubric.criteria] if rubric else []

    async def ask(self, call: Call) -> Reply:
        """Return the reply to a call after the latency."""
        # Sleep even for 0 s: a judge that never waits would keep the event loop to itself.
        await asyncio.sleep(self.effects.latency)
        return self.answer(call)

    async def close(self) -> None:
        """Do nothing: nothing is open."""

    def answer(self, call: Call) -> Reply:
        """Return the reply that ``ask`` gives, without waiting, for simulations in bulk."""
        rng = random.Random(digest("draw", self.effects.seed, call.key))
        top: tuple[tuple[str, float], ...] = ()
        if rng.random() < self.effects.unparsed:
            text = "It is hard to say which description fits here."
        elif call.template.startswith("reference"):
            text = self._reference(call, rng)
        elif _kind(call).startswith(("criteria.", "criterion.", "batch.")):
            text = self._several(call, rng)
        elif _kind(call).startswith(("pairwise", "listwise", "pairs.", "lists.")):
            text, top = self._choice(call, rng)
        else:
            label, labels, chances = self._option(call, rng)
            text, top = label, alternatives(labels, chances)
            if call.template.startswith(("prometheus", "feedback", "examples-feedback")):
                text, top = f"Feedback: A simulated judge read this response. [RESULT] {label}", ()
            elif call.template.startswith("score-then-reason"):
                text = f"Score: {label}\nReason: A simulated judge read this response."
                top = ()
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
        """Return the label that is picked, all labels (n), and their chances (n) without noise.

        A prompt may list no scores: one that asks for a bare score, or about one answer of several.
        Then no position is favoured.
        """
        effects = self.effects
        lists_options = _kind(call).startswith(("score.", "prometheus", "options."))
        listed = lists_options and isinstance(call.ordering.shown[0], int)
        shown = [float(score) for score in (call.ordering.shown if listed else call.scores)]
        labels = call.ordering.labels
        if call.scale:
            labels = call.scale
        elif not listed and not call.form:
            labels = tuple(map(str, call.scores))
        if not listed:
            effects = effects.model_copy(update={"first": 0.0, "slope": 0.0, "line": 0.0})
        n = len(shown)
        low, high, step = scale_of(shown)
        # How far the list ascends: 1 for ascending, -1 for descending, by rank correlation.
        ranks = [sorted(shown).index(score) - (n - 1) / 2 for score in shown]
        ascends = sum(rank * (p - (n - 1) / 2) for p, rank in enumerate(ranks)) / sum(
            rank * rank for rank in ranks
        )
        target = self.target(call.items[0], low, high, step) + effects.line / 2 * ascends
        if call.scale:
            target += effects.last_example * _label_of_last(call)
        utilities = [fit + effects.slope * p for p, fit in enumerate(fits(shown, target, step))]
        utilities[0] += effects.first
        if effects.item_lean:
            own = random.Random(digest("lean", effects.seed, call.items[0]))
            utilities = [value + own.gauss(0.0, effects.item_lean) for value in utilities]
        return labels[draw(utilities, effects.noise, rng)], labels, softmax(utilities)

    def _several(self, call: Call, rng: random.Random) -> str:
        """Return a line for each criterion or answer, in the order shown.

        With ``carryover``, the score of one criterion pulls the next one towards it.
        """
        effects = self.effects
        criteria = _kind(call).startswith(("criteria.", "criterion."))
        shown = [str(name) for name in call.ordering.shown]
        # The call's items are in canonical order, so that each keeps its quality in every order. A
        # data set may have a rubric of its own, whose criteria we do not know.
        known = criteria and set(shown) <= set(self._criteria_names)
        names = self._criteria_names if known else sorted(shown)
        first, carryover = effects.first_of_several, 0.0
        if criteria:
            first, carryover = effects.criteria_first, effects.carryover
        low, high, step = scale_of(call.scores)
        lines = []
        before = 0.0
        for p, name in enumerate(shown):
            item = call.items[names.index(name) % len(call.items)]
            target = self.target(item, low, high, step) + carryover * before
            if p == 0 and len(shown) > 1:  # of one by itself nothing is listed first
                target += first
            score = call.scores[draw(fits(call.scores, target, step), effects.noise, rng)]
            before = score - (low + high) / 2
            label = name if criteria else call.ordering.labels[p]
            lines.append(f"[{label}] {score}")
        # The form of the user's own prompt has a character of its own for each criterion.
        slots = {ord(SLOT) + p: line.rpartition(" ")[2] for p, line in enumerate(lines)}
        return call.form.translate(slots) or "\n".join(lines)

    def _choice(self, call: Call, rng: random.Random) -> tuple[str, tuple[tuple[str, float], ...]]:
        """Return a choice in the form that the prompt asks for.

        If the letter is the whole reply, its alternatives come with it.
        """
        effects, labels = self.effects, call.ordering.labels
        utilities = []
        for p, name in enumerate(call.ordering.shown):
            own = random.Random(digest("quality", call.items[0], name)).gauss(0.0, effects.quality)
            overall = random.Random(digest("quality", name)).gauss(0.0, effects.quality)
            utility = own + overall + effects.slope * p
            if p == 0:
                utility += effects.first
            utilities.append(utility)
        letter = labels[draw(utilities, effects.noise, rng)]
        if rng.random() < effects.ties:  # the letter after the candidates' says “tie”
            letter = chr(ord("A") + len(labels))
        if call.form:
            return call.form.replace(SLOT, letter), ()
        if "-brief." in call.template:
            return letter, alternatives(labels, softmax(utilities))
        if "-mtbench." in call.template:
            return f"[[{letter}]]", ()
        return f"Choice: {letter}\nReason: 1. Simulated.", ()

    def _reference(self, call: Call, rng: random.Random) -> str:
        """Return a reference answer that says how good it is, or the score of such an answer."""
        words, scores = call.messages[0]["content"], call.scores
        step = scale_of(scores)[2]
        asked = ASKED.search(words)
        if asked:
            return WRITTEN.format(int(asked[1]) + step * rng.gauss(0.0, self.effects.written))
        stated = STATED.search(words)
        if stated is None:
            return "This answer was not written by a simulated judge."
        return str(scores[draw(fits(scores, float(stated[1]), step), self.effects.noise, rng)])

    def target(self, item: int, low: float, high: float, step: float) -> float:
        """Return an item's right score in points, the same for all orders and simulated judges."""
        drawn = random.Random(digest("quality", item)).gauss(0.0, self.effects.quality)
        return min(high, max(low, (low + high) / 2 + step * drawn))


def _label_of_last(call: Call) -> float:
    """Return how far the label of the example listed last lies from the mean of all, in points.

    0 where one of them is no number and no label of the scale.
    """
    score_of = dict(zip(call.scale, map(float, call.scores), strict=True))
    values = []
    for label in call.ordering.labels:
        try:
            values.append(score_of[label] if label in score_of else float(label))
        except ValueError:
            return 0.0
    return values[-1] - sum(values) / len(values)


def _kind(call: Call) -> str:
    """Return a call's template, without the mark of the user's own prompts."""
    return re.sub(r"^own-\w+-", "", call.template)


def scale_of(scores: Sequence[float]) -> tuple[float, float, float]:
    """Return the lowest and the highest score of a scale, and the step between scores."""
    low, high = min(scores), max(scores)
    return low, high, (high - low) / (len(scores) - 1)


def fits(scores: Sequence[float], target: float, step: float) -> list[float]:
    """Return the log-odds of each score (n), by its distance from the right one."""
    return [-(((score - target) / step) ** 2) for score in scores]


def alternatives(labels: Sequence[str], chances: Sequence[float]) -> tuple[tuple[str, float], ...]:
    """Return (token, log-probability) at the first token: labels, and a word that is none."""
    listed = []
    for label, chance in zip(labels, chances, strict=True):
        listed.append((label, math.log(max(MASS * chance, LEAST_PROBABILITY))))
    return (*listed, ("The", math.log(1 - MASS)))


def softmax(utilities: Sequence[float]) -> list[float]:
    """Return the chances (n) of log-odds (n)."""
    top = max(utilities)  # subtracted, so that exp cannot overflow
    weights = [math.exp(value - top) for value in utilities]
    return [weight / sum(weights) for weight in weights]


def draw(utilities: Sequence[float], noise: float, rng: random.Random) -> int:
    """Return an index drawn by softmax(utilities / noise).

    Without noise it is the likeliest one, the first of equals.
    """
    # Drawn in any case, so that later draws do not depend on the noise.
    point = rng.random()
    if noise <= 0:
        return max(range(len(utilities)), key=lambda index: utilities[index])
    for index, chance in enumerate(softmax([value / noise for value in utilities])):
        point -= chance
        if point < 0:
            return index
    return len(utilities) - 1  # chances may sum to a little less than 1
