"""What batches do, in words: the sentence, the advice, what they save and cost, the document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from rubriclab.findings.batch_results import ArmBatch, WithSingle
from rubriclab.findings.criteria_order import noise_sentence
from rubriclab.findings.effects import still_possible
from rubriclab.findings.frame import status_counts
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import Advice, Json, arm_json, clarity, setting
from rubriclab.model.wording import interval, number
from rubriclab.stats.verdict import Effect


def place_effect(arm: ArmBatch) -> tuple[str, Effect]:
    """What decides whether the place matters, and its effect: drift, or the place that stands out.

    Of several that are shown, drift where it is among them, else the surest; "equivalent" needs all.
    """
    named = [("from the first place to the last", arm.drift)]
    named += [(f"at place {one.place}", one.shift) for one in arm.places]
    shown = [pair for pair in named if pair[1].verdict == "effect"]
    if shown:
        return shown[0] if shown[0][0] == named[0][0] else max(shown, key=lambda pair: _distance(pair[1]))
    known = [pair for pair in named if np.isfinite(pair[1].low)]
    still_open = [pair for pair in known if pair[1].verdict != "equivalent"]
    if not known:
        return named[0]
    return max(still_open or known, key=lambda pair: max(abs(pair[1].low), abs(pair[1].high)))


def _distance(shown: Effect) -> float:
    return max(shown.low, -shown.high)


def place_sentence(arm: ArmBatch) -> str:
    """Does the place in the batch move the score?"""
    if arm.scores == arm.unread:
        return f"Nothing could be read of {arm.arm.judge}'s answers about {arm.size} responses at once."
    if not arm.varied:
        return f"{arm.arm.judge} always saw each response at one place of its batch, so nothing can be said of places."
    where, found = place_effect(arm)
    if found.verdict == "effect":
        side = "higher" if found.estimate > 0 else "lower"
        return (
            f"The place in a batch of {arm.size} moves {arm.arm.judge}'s scores: {where} they are "
            f"{abs(found.estimate):.2f} points {side}."
        )
    if found.verdict == "equivalent":
        return f"The place in a batch of {arm.size} does not move {arm.arm.judge}'s scores by {found.sesoi:g} points."
    return f"Whether the place in a batch of {arm.size} moves {arm.arm.judge}'s scores is not settled{_reach(found)}."


def contrast_sentence(arm: ArmBatch) -> str:
    """Does a good response just before lower the next, or draw it along?"""
    found = arm.contrast
    if arm.scores == arm.unread:
        return ""
    if not np.isfinite(found.estimate):
        return f"What the response just before does cannot be seen: {found.why}."
    ends = f"{number(found.estimate, '+.2f')} {interval(found.interval, '.2f', brackets=True)}"
    if found.verdict == "effect" and found.estimate < 0:
        return f"A response is marked down after a better one: a point more just before takes {ends} points."
    if found.verdict == "effect":
        return f"A response is drawn along by the one before: a point more just before adds {ends} points."
    if found.verdict == "equivalent":
        return f"The response just before hardly matters: a point more there adds {ends} points."
    return f"Whether the response just before matters is not settled: a point more there adds {ends} points."


def level_sentence(arm: ArmBatch) -> str:
    """Are scores higher or lower together than alone?"""
    if arm.single is None or arm.scores == arm.unread:
        return ""
    found = arm.single.level
    if found.verdict == "effect":
        side = "higher" if found.estimate > 0 else "lower"
        return f"Asked together, responses score {abs(found.estimate):.2f} points {side} than alone."
    if found.verdict == "equivalent":
        return f"On average responses score the same together and alone, to within {found.sesoi:g} points."
    return f"Whether responses score higher together or alone is not settled{_reach(found)}."


def batch_sentence(arm: ArmBatch) -> str:
    return " ".join(filter(None, (place_sentence(arm), contrast_sentence(arm), level_sentence(arm))))


def _reach(found: Effect) -> str:
    return still_possible(found) or (f": {found.why}" if found.why else "")


def savings_sentence(arm: ArmBatch) -> str:
    """What a batch saves, and what it costs in agreement with the single call and with people."""
    single = arm.single
    saves = f"A batch of {arm.size} takes one call where {arm.size} single ones would be needed"
    if single is None or not np.isfinite(single.exact):
        return f"{saves}."
    parts = [f"{saves}. {single.exact:.0%} of its scores are those of a single call"]
    if np.isfinite(single.exact_alone):
        parts.append(f", where two single calls agree in {single.exact_alone:.0%}")
    if np.isfinite(single.people.r) and np.isfinite(single.people_alone.r):
        parts.append(f"; r with people is {single.people.r:.2f}, of single calls {single.people_alone.r:.2f}")
    return "".join(parts) + "."


def batch_advice(arms: Sequence[ArmBatch]) -> Iterator[Advice]:
    """By setting, from the arm whose orders show most."""
    for key in dict.fromkeys(setting(arm.arm) for arm in arms):
        mine = [arm for arm in arms if setting(arm.arm) == key]
        arm = min(mine, key=lambda arm: (not arm.varied, clarity(arm.arm)))
        place = place_effect(arm)[1]
        if arm.scores == arm.unread:
            title = "Does the place in a batch move scores?"
            yield Advice(key, "place in the batch", title, place_sentence(arm), place, primary=True)
            continue
        yield Advice(
            key,
            "place in the batch",
            "Does the place in a batch move scores?",
            place_sentence(arm) + _then(place, " Turn the order of a batch, or ask one response a call."),
            place,
            primary=True,
        )
        yield Advice(
            key,
            "contrast in the batch",
            "Does the response just before move the next score?",
            contrast_sentence(arm) + _then(arm.contrast, " Ask one response a call where single scores matter."),
            arm.contrast,
            primary=True,
        )
        if arm.single is not None:
            yield from _against_single(key, arm, arm.single)
        if noise := noise_sentence(arm.repeats).replace("one text", "one response").replace(" text", " response"):
            yield Advice(
                key,
                "order in the batch, single scores",
                "Does the order move single scores?",
                noise,
                arm.repeats.excess,
            )


def _against_single(key: tuple[str, str, str], arm: ArmBatch, single: WithSingle) -> Iterator[Advice]:
    level = level_sentence(arm) + _then(single.level, " Do not mix batches and single calls in one comparison.")
    yield Advice(
        key, "batch or single", "Do responses score the same together and alone?", level, single.level, primary=True
    )
    yield Advice(
        key, "agreement with single", "Do batches agree with single calls?", savings_sentence(arm), single.exact_loss
    )
    if np.isfinite(single.people_loss.estimate):
        words = (
            f"One score from a batch has r = {single.people.r:.3f} with people, one alone {single.people_alone.r:.3f}."
        )
        yield Advice(key, "people, batch or single", "Do batches agree with people less?", words, single.people_loss)


def _then(found: Effect, cure: str) -> str:
    return {"effect": cure, "undecided": " More batches would settle it."}.get(found.verdict, "")


# ---------------------------------------------------------------- the document


def arm_document(arm: ArmBatch, judgments: pd.DataFrame) -> Json:
    """One arm's object in ``results --json``: points, and points a point; shares as fractions."""
    return {
        **arm_json(arm.arm),
        "batch_size": arm.size,
        "n_items": arm.items,
        "batches": arm.batches,
        "calls": arm.calls,
        "judgments": status_counts(judgments),
        **picked(arm, "drift", "contrast", "contrast_people", "repeats"),
        "contrast_by": arm.by,
        "places": [plain(one) for one in arm.places],
        "before": [plain(one) for one in arm.before],
        "single": plain(arm.single),
        "calls_saved": 1.0 - 1.0 / arm.size,
        "tokens_saved": plain(arm.tokens_saved),
        "a_score": {"together": plain(arm.cost), "alone": plain(arm.cost_alone)},
        **picked(arm, "warnings"),
    }
