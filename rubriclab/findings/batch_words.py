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
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number
from rubriclab.stats.verdict import Effect


def place_effect(arm: ArmBatch) -> tuple[str, Effect]:
    """What decides whether the place matters, and its effect: drift, or the place that stands out.

    Of several that are shown, drift where it is among them, else the surest; "equivalent" needs all.
    """
    named = [(tr("from the first place to the last"), arm.drift)]
    named += [(tr("at place {place}", place=one.place), one.shift) for one in arm.places]
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
        return tr(
            "Nothing could be read of {judge}'s answers about {size} responses at once.",
            judge=arm.arm.judge,
            size=arm.size,
        )
    if not arm.varied:
        return tr(
            "{judge} always saw each response at one place of its batch, so nothing can be said of places.",
            judge=arm.arm.judge,
        )
    where, found = place_effect(arm)
    if found.verdict == "effect":
        said = {"size": arm.size, "judge": arm.arm.judge, "where": where, "points": abs(found.estimate)}
        if found.estimate > 0:
            return tr(
                "The place in a batch of {size} moves {judge}'s scores: {where} they are {points:.2f} points higher.",
                **said,
            )
        return tr(
            "The place in a batch of {size} moves {judge}'s scores: {where} they are {points:.2f} points lower.", **said
        )
    if found.verdict == "equivalent":
        return tr(
            "The place in a batch of {size} does not move {judge}'s scores by {sesoi:g} points.",
            size=arm.size,
            judge=arm.arm.judge,
            sesoi=found.sesoi,
        )
    return tr(
        "Whether the place in a batch of {size} moves {judge}'s scores is not settled{reach}.",
        size=arm.size,
        judge=arm.arm.judge,
        reach=_reach(found),
    )


def contrast_sentence(arm: ArmBatch) -> str:
    """Does a good response just before lower the next, or draw it along?"""
    found = arm.contrast
    if arm.scores == arm.unread:
        return ""
    if not np.isfinite(found.estimate):
        return tr("What the response just before does cannot be seen: {why}.", why=tr(found.why))
    ends = f"{number(found.estimate, '+.2f')} {interval(found.interval, '.2f', brackets=True)}"
    if found.verdict == "effect" and found.estimate < 0:
        return tr(
            "A response is marked down after a better one: a point more just before takes {ends} points.", ends=ends
        )
    if found.verdict == "effect":
        return tr(
            "A response is drawn along by the one before: a point more just before adds {ends} points.", ends=ends
        )
    if found.verdict == "equivalent":
        return tr("The response just before hardly matters: a point more there adds {ends} points.", ends=ends)
    return tr(
        "Whether the response just before matters is not settled: a point more there adds {ends} points.", ends=ends
    )


def level_sentence(arm: ArmBatch) -> str:
    """Are scores higher or lower together than alone?"""
    if arm.single is None or arm.scores == arm.unread:
        return ""
    found = arm.single.level
    if found.verdict == "effect":
        if found.estimate > 0:
            return tr("Asked together, responses score {points:.2f} points higher than alone.", points=found.estimate)
        return tr("Asked together, responses score {points:.2f} points lower than alone.", points=-found.estimate)
    if found.verdict == "equivalent":
        return tr(
            "On average responses score the same together and alone, to within {sesoi:g} points.", sesoi=found.sesoi
        )
    return tr("Whether responses score higher together or alone is not settled{reach}.", reach=_reach(found))


def batch_sentence(arm: ArmBatch) -> str:
    return " ".join(filter(None, (place_sentence(arm), contrast_sentence(arm), level_sentence(arm))))


def _reach(found: Effect) -> str:
    return still_possible(found) or (f": {tr(found.why)}" if found.why else "")


def savings_sentence(arm: ArmBatch) -> str:
    """What a batch saves, and what it costs in agreement with the single call and with people."""
    single = arm.single
    saves = tr("A batch of {size} takes one call where {size} single ones would be needed", size=arm.size)
    if single is None or not np.isfinite(single.exact):
        return f"{saves}."
    parts = [tr("{saves}. {exact:.0%} of its scores are those of a single call", saves=saves, exact=single.exact)]
    if np.isfinite(single.exact_alone):
        parts.append(tr(", where two single calls agree in {exact_alone:.0%}", exact_alone=single.exact_alone))
    if np.isfinite(single.people.r) and np.isfinite(single.people_alone.r):
        parts.append(
            tr(
                "; r with people is {r:.2f}, of single calls {r_alone:.2f}",
                r=single.people.r,
                r_alone=single.people_alone.r,
            )
        )
    return "".join(parts) + "."


def batch_advice(arms: Sequence[ArmBatch]) -> Iterator[Advice]:
    """By setting, from the arm whose orders show most."""
    for key in dict.fromkeys(setting(arm.arm) for arm in arms):
        mine = [arm for arm in arms if setting(arm.arm) == key]
        arm = min(mine, key=lambda arm: (not arm.varied, clarity(arm.arm)))
        place = place_effect(arm)[1]
        if arm.scores == arm.unread:
            title = tr("Does the place in a batch move scores?")
            yield Advice(key, "place in the batch", title, place_sentence(arm), place, primary=True)
            continue
        yield Advice(
            key,
            "place in the batch",
            tr("Does the place in a batch move scores?"),
            place_sentence(arm) + _then(place, tr(" Turn the order of a batch, or ask one response a call.")),
            place,
            primary=True,
        )
        yield Advice(
            key,
            "contrast in the batch",
            tr("Does the response just before move the next score?"),
            contrast_sentence(arm) + _then(arm.contrast, tr(" Ask one response a call where single scores matter.")),
            arm.contrast,
            primary=True,
        )
        if arm.single is not None:
            yield from _against_single(key, arm, arm.single)
        if noise := noise_sentence(arm.repeats, thing="response"):
            yield Advice(
                key,
                "order in the batch, single scores",
                tr("Does the order move single scores?"),
                noise,
                arm.repeats.excess,
            )


def _against_single(key: tuple[str, str, str], arm: ArmBatch, single: WithSingle) -> Iterator[Advice]:
    level = level_sentence(arm) + _then(single.level, tr(" Do not mix batches and single calls in one comparison."))
    yield Advice(
        key, "batch or single", tr("Do responses score the same together and alone?"), level, single.level, primary=True
    )
    yield Advice(
        key,
        "agreement with single",
        tr("Do batches agree with single calls?"),
        savings_sentence(arm),
        single.exact_loss,
    )
    if np.isfinite(single.people_loss.estimate):
        words = tr(
            "One score from a batch has r = {r:.3f} with people, one alone {r_alone:.3f}.",
            r=single.people.r,
            r_alone=single.people_alone.r,
        )
        yield Advice(
            key, "people, batch or single", tr("Do batches agree with people less?"), words, single.people_loss
        )


def _then(found: Effect, cure: str) -> str:
    return {"effect": cure, "undecided": tr(" More batches would settle it.")}.get(found.verdict, "")


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
