"""A judge with known faults: the oracle that every finding is tested against.

Its answer to a call is drawn from a choice model over what stands at each position,

    U[p] = content(what is shown at p) + position[p] + label(label at p)
           + neighbour(what stands just before p) + leaning(item, p),

softmax(U) being its probabilities. The draw depends on the call's key and the seed alone, so a
run repeated is a run repeated. Nothing it says is a model's judgment: every reply names
``simulated`` as its model.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from rubriclab.judges.choice_model import (
    comparison_utilities,
    item_quality,
    position_leaning,
    steady_uniform,
    taste,
    true_probabilities,
    utilities,
)
from rubriclab.judges.effects import FAILURES, Effects, Floats, at_places, read_effects
from rubriclab.model import (
    REVIEW_TEMPLATE,
    WRITE_TEMPLATE,
    Call,
    Comparison,
    Criterion,
    Item,
    Judge,
    LabError,
    Ordering,
    Reply,
    Study,
)
from rubriclab.model.answers import compose
from rubriclab.model.prompt import Reading
from rubriclab.model.wording import many

__all__ = ["FAILURES", "Effects", "SimulatedJudge", "read_effects"]

MODEL = "simulated"
_RUBRIC = "###Score Rubrics:"
_WRITTEN = "A simulated answer of quality "
_JUNK = ("The", " I", "\n", "**")


# ---------------------------------------------------------------- the judge


class SimulatedJudge:
    """Answers calls of ``study`` as ``judge.options`` say. Raises LabError for bad options."""

    def __init__(self, judge: Judge, study: Study) -> None:
        self.effects = read_effects(judge.options)
        self._study = study
        self._rubric = study.rubric or study.dataset.rubric
        self._quality = item_quality(study)
        self._perceived: dict[int, float] = {}
        self._probable: dict[tuple[Any, ...], tuple[Floats, Floats]] = {}

    async def ask(self, call: Call) -> Reply:
        """One answer, of the kind that the call's template asks for."""
        # Sleeping 0 s too: a judge that never waits would keep the event loop to itself.
        await asyncio.sleep(self.effects.latency_ms / 1000)
        return self.answer(call)

    async def close(self) -> None:
        """Nothing is open."""

    def answer(self, call: Call) -> Reply:
        """The reply that ``ask`` gives, without waiting: for bulk simulation."""
        rng = random.Random(_seed(self.effects.seed, call.key))
        failed = self._failure(call, rng.random())
        if failed is not None:
            return failed
        if call.template == WRITE_TEMPLATE:
            return self._reply(call, self._write_reference(call, rng))
        if call.template == REVIEW_TEMPLATE:
            return self._review_reference(call, rng)
        if isinstance(self._study.dataset.items[call.items[0]], Comparison):
            return self._compare(call, rng)
        if self._study.design.axis == "batch":
            return self._batch(call, rng)
        if isinstance(call.ordering.shown[0], str):  # names of criteria, not scores
            return self._reply(call, self._rate_criteria(call, rng))
        return self._score(call, rng)

    def perceived(self, item: int) -> float:
        """What the judge takes an item's quality to be: the latent one and its own error."""
        if item not in self._perceived:
            quality = float(self._quality[item])
            if self.effects.quality_noise:
                name = f"perceived|{self.effects.seed}|{self._study.dataset.items[item].item_id}"
                quality += random.Random(name).gauss(0.0, self.effects.quality_noise)
            self._perceived[item] = quality
        return self._perceived[item]

    def _failure(self, call: Call, drawn: float) -> Reply | None:
        edge = 0.0
        for status in FAILURES:
            edge += self.effects.failures.get(status, 0.0)
            if status == "unparsed" and self.effects.poor_unread:
                # Comparisons have no quality of their own: all of them are as the middling item.
                quality = float(np.nan_to_num(self._quality[call.items[0]], nan=0.5))
                edge += self.effects.poor_unread * (1.0 - quality)
            if drawn < edge:
                return self._failed(call, status)
        return None

    def _failed(self, call: Call, status: str) -> Reply:
        if status == "error":
            return Reply(
                error="A planted fault of the simulated judge.",
                kind="server_error",
                model=MODEL,
                latency=self.effects.latency_ms / 1000,
            )
        if status == "refused":
            text = "I'm sorry, but I can't help with rating this response."
            return self._reply(call, text, finish="content_filter")
        if status == "truncated":
            return self._reply(call, "Feedback: The response begins by", finish="length")
        return self._reply(call, "It is hard to say which description fits here.")

    def _score(self, call: Call, rng: random.Random) -> Reply:
        shown, labels = call.ordering.shown, _labels(call)
        sharp, probabilities = self._option_probabilities(call)
        label = labels[_pick(sharp, rng.random())]
        if call.reading is not None:
            text = _own_answer(call.reading, {"": label})
        elif call.template.startswith("prometheus"):
            text = (
                f"Feedback: A simulated judge read this response against {many(len(shown), 'score')}. [RESULT] {label}"
            )
        else:
            text = label
        return self._reply(call, text, top=self._top_tokens(call, labels, probabilities))

    def _write_reference(self, call: Call, rng: random.Random) -> str:
        """An answer that says how good it is: the score asked for, missed by ``quality_noise``."""
        scores = [float(score) for score in call.ordering.shown]
        meant = ((call.reference or 0) - min(scores)) / (max(scores) - min(scores))
        quality = min(1.0, max(0.0, meant + rng.gauss(0.0, self.effects.quality_noise)))
        return f"{_WRITTEN}{quality:.3f}."

    def _review_reference(self, call: Call, rng: random.Random) -> Reply:
        """A score for the answer inside the prompt, from the same choice model as any other."""
        stated = re.search(re.escape(_WRITTEN) + r"(\d\.\d+)\.", call.messages[-1]["content"])
        if stated is None:
            return self._reply(call, "This answer was not written by a simulated judge.")
        found = utilities(
            self.effects,
            shown=[cast(tuple[int, ...], call.ordering.shown)],
            scores=cast(tuple[int, ...], call.ordering.shown),
            quality=[float(stated[1])],
            labels=[_labels(call)],
        )
        chances = true_probabilities(found, noise=self._noise(call))[0]
        return self._reply(call, _labels(call)[_pick(chances, rng.random())])

    def _option_probabilities(self, call: Call) -> tuple[Floats, Floats]:
        """The probabilities that the pick is drawn from, and those at temperature 1: (n,) each."""
        reference = call.reference
        noise = self._noise(call)
        lines = _descriptions(call) if self.effects.of_text else ()
        key = (call.items[0], call.ordering, reference, noise, lines)
        if key not in self._probable:
            item = cast(Item, self._study.dataset.items[call.items[0]])
            shown = cast(tuple[int, ...], call.ordering.shown)
            found = utilities(
                self.effects,
                shown=[shown],
                scores=shown,
                quality=[self.perceived(call.items[0])],
                labels=[_labels(call)],
                leaning=self._leaning(item, len(shown))[None, :],
                reference=[reference or math.nan],
            )
            if lines:
                found += self.effects.of_lines(_labels(call), lines)
            if self.effects.taste_sd:
                liking = taste(self.effects, item.item_id, len(shown))
                found += liking[np.argsort(np.argsort(shown))]
            if len(self._probable) > 10_000:
                self._probable.clear()
            self._probable[key] = (true_probabilities(found, noise=noise)[0], true_probabilities(found)[0])
        return self._probable[key]

    def _rate_criteria(self, call: Call, rng: random.Random) -> str:
        """One line per criterion in the order shown; each may colour the one after it."""
        shown = cast(tuple[str, ...], call.ordering.shown)
        lines: list[tuple[str, int]] = []
        before, drift = "", 0.0
        for place, name in enumerate(shown):
            # The call's own scale: a study may vary it against the rubric's.
            scores = call.scores or self._criterion(name).scores
            low, high = scores[0], scores[-1]
            shift = self._criterion_shift(name, place, len(shown))
            if place and isinstance(self.effects.carryover, Mapping):
                shift += self.effects.carryover.get(before, 0.0)
            elif place:
                shift += cast(float, self.effects.carryover) * drift
            quality = self.perceived(self._item_of(call, name, place)) + shift / (high - low)
            found = utilities(
                Effects(quality_weight=self.effects.quality_weight, score=self.effects.score),
                shown=[scores],
                scores=scores,
                quality=[quality],
            )
            chances = true_probabilities(found, noise=self._noise(call))[0]
            score = scores[_pick(chances, rng.random())]
            lines.append((name, score))
            before, drift = name, score - (low + high) / 2
        if call.reading is not None:
            labels = dict(zip(call.scores, call.reading.labels, strict=True))
            return _own_answer(call.reading, {name: labels[score] for name, score in lines})
        return "\n".join(f"[{name}] {score}" for name, score in lines)

    def _batch(self, call: Call, rng: random.Random) -> Reply:
        """A score for each response in the order shown; each may colour the one after it."""
        if len(call.items) == 1 and call.reading is None:
            usual = Ordering(call.scores, tuple(map(str, call.scores)))
            return self._score(replace(call, ordering=usual), rng)
        given = self._batch_scores(call, rng)
        if call.reading is not None:
            labels = dict(zip(call.scores, call.reading.labels, strict=True))
            named = {f"Response {place}": labels[score] for place, score in enumerate(given, 1)}
            return self._reply(call, _own_answer(call.reading, named))
        return self._reply(call, "\n".join(f"[Response {place}] {score}" for place, score in enumerate(given, 1)))

    def _batch_scores(self, call: Call, rng: random.Random) -> list[int]:
        effects, n, scores = self.effects, len(call.items), call.scores
        span = scores[-1] - scores[0]
        at_place = at_places(effects.batch_position, n) + effects.batch_drift * np.linspace(0.0, 1.0, n)
        at_place += effects.batch_shift if n > 1 else 0.0
        own = [self.perceived(item) for item in call.items]
        given: list[int] = []
        for place in range(n):
            shift = at_place[place]
            if place:
                shift += effects.batch_contrast * (own[place - 1] - own[place]) * span
                if not isinstance(effects.carryover, Mapping):
                    shift += effects.carryover * (given[-1] - (scores[0] + scores[-1]) / 2)
            found = utilities(
                Effects(quality_weight=effects.quality_weight, score=effects.score),
                shown=[scores],
                scores=scores,
                quality=[own[place] + shift / span],
            )
            given.append(scores[_pick(true_probabilities(found, noise=self._noise(call))[0], rng.random())])
        return given

    def _criterion_shift(self, name: str, place: int, n: int) -> float:
        planted: Mapping[str, Any] = self.effects.criterion_position
        if isinstance(planted.get(name), Mapping):
            planted = planted[name]
        places = {key: value for key, value in planted.items() if not isinstance(value, Mapping)}
        return float(at_places(places, n)[place])

    def _criterion(self, name: str) -> Criterion:
        if self._rubric is None:
            raise LabError("The simulated judge needs a rubric to rate criteria: give the study one.")
        return self._rubric.criterion(name)

    def _item_of(self, call: Call, criterion: str, place: int) -> int:
        """The item of that criterion; by place where items name no criterion."""
        for item in call.items:
            if getattr(self._study.dataset.items[item], "criterion", None) == criterion:
                return item
        return call.items[place if place < len(call.items) else 0]

    def _compare(self, call: Call, rng: random.Random) -> Reply:
        shown, labels = cast(tuple[str, ...], call.ordering.shown), _labels(call)
        item = self._study.dataset.items[call.items[0]]
        tie = self._study.design.tie
        found = comparison_utilities(
            self.effects,
            quality=[[self.candidate_quality(item.item_id, name) for name in shown]],
            labels=[labels],
            leaning=self._leaning(item, len(shown))[None, :],
            tie=tie,
        )
        verdicts = (*labels, chr(ord("A") + len(labels))) if tie else labels
        chances = true_probabilities(found, noise=self._noise(call))[0]
        verdict = verdicts[_pick(chances, rng.random())]
        top = self._top_tokens(call, verdicts, true_probabilities(found)[0])
        if call.reading is not None:
            return self._reply(call, _own_answer(call.reading, {"": verdict}), top=top)
        if "brief" in call.template:
            return self._reply(call, verdict, top=top)
        return self._reply(call, f"A simulated judge compared the answers. [[{verdict}]]", top=top)

    def _leaning(self, item: Item | Comparison, n: int) -> Floats:
        return position_leaning(self.effects, item.item_id, n, item.prompt)

    def candidate_quality(self, item_id: str, candidate: str) -> float:
        """Latent quality 0..1 of a candidate's answer to one question, for every such judge."""
        given = self.effects.candidate_quality.get(candidate)
        return given if given is not None else steady_uniform("quality", f"{item_id}|{candidate}")

    def _noise(self, call: Call) -> float:
        if self.effects.noise == "sampling":
            return 1.0 if call.sampling.temperature is None else call.sampling.temperature
        return float(self.effects.noise)

    def _top_tokens(self, call: Call, labels: Sequence[str], chances: Floats) -> tuple[tuple[str, float], ...]:
        """Labels with their share of ``mass``, and the rest on words that are no label."""
        if not call.want_probabilities:
            return ()
        mass = self.effects.mass
        tokens = [(label, math.log(max(p * mass, 1e-30))) for label, p in zip(labels, chances, strict=True)]
        if mass < 1:
            tokens += [(word, math.log((1 - mass) / len(_JUNK))) for word in _JUNK]
        return tuple(sorted(tokens, key=lambda pair: -pair[1]))

    def _reply(self, call: Call, text: str, *, finish: str = "stop", top: tuple[tuple[str, float], ...] = ()) -> Reply:
        """Token counts are four characters a token: an estimate, as there is no tokenizer."""
        return Reply(
            text=text,
            finish=finish,
            tokens_in=sum(len(message["content"]) for message in call.messages) // 4,
            tokens_out=-(-len(text) // 4),
            latency=self.effects.latency_ms / 1000,
            top_tokens=top,
            model=MODEL,
        )


# ---------------------------------------------------------------- small steps


def _labels(call: Call) -> tuple[str, ...]:
    """The labels shown; where there are none, the scores themselves or letters in order."""
    if call.ordering.labels:
        return call.ordering.labels
    shown = call.ordering.shown
    return tuple(str(what) if isinstance(what, int) else chr(ord("A") + place) for place, what in enumerate(shown))


def _descriptions(call: Call) -> tuple[str, ...]:
    """What stands behind each score in the prompt as it was sent, in the order shown."""
    text = call.messages[0]["content"].rpartition(_RUBRIC)[2]
    found = []
    for label in _labels(call):
        line = re.search(rf"^Score {re.escape(label)}(?:: (.*))?$", text, re.MULTILINE)
        if line is None:
            raise LabError(
                f"The simulated judge finds no line “Score {label}” in the prompt: effects of wording, length and "
                "label by place are planted in the lab's own prompts of score options."
            )
        found.append(line[1] or "")
    return tuple(found)


def _own_answer(reading: Reading, answers: Mapping[str, str]) -> str:
    """The answer that a user's own prompt asks for; the labels alone where its pattern does not say."""
    return compose(reading.rule, answers) or "\n".join(answers.values())


def _pick(chances: Floats, drawn: float) -> int:
    place = int(np.searchsorted(np.cumsum(chances), drawn, side="right"))
    return min(place, len(chances) - 1)


def _seed(seed: int, key: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}|{key}".encode(), digest_size=8).digest())
