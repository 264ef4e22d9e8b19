"""A run in words: the answer that a reader meets first, what to do, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.findings.position import PositionArm
from rubriclab.findings.recommendation import QUESTIONS, clearest
from rubriclab.findings.sentences import (
    alignment_sentence,
    comparison_sentence,
    criteria_sentence,
    perturbation_sentence,
    position_sentence,
    ranking_sentence,
)
from rubriclab.model import STATUSES
from rubriclab.report.gather import Gathered
from rubriclab.report.source import Source
from rubriclab.wording import many

LEVELS = {"fine": "Fine", "watch": "Watch", "act": "Act", "unknown": "Cannot say"}
UNREAD = {
    "unparsed": "no score could be read from the reply",
    "refused": "the judge refused",
    "truncated": "the reply was cut off",
    "error": "the call failed",
}


@dataclass(frozen=True)
class Answer:
    """What was found about one judge on one data set, in one setting of the factors."""

    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """One line of advice. ``level`` is a word of LEVELS."""

    about: str
    question: str
    answer: str
    level: str


def answers(found: Gathered) -> tuple[Answer, ...]:
    """The findings as sentences, one group a judge, the most telling sentence first."""
    told: dict[str, list[str]] = {}
    for about, sentence in _told(found):
        told.setdefault(about, []).append(sentence)
    return tuple(Answer(about, tuple(dict.fromkeys(said))) for about, said in told.items())


def _told(found: Gathered) -> Iterator[tuple[str, str]]:
    if "options" in found.axes:
        yield from _told_options(found)
    if "criteria" in found.axes:
        clear = sorted(found.criteria.arms, key=lambda arm: (not arm.tested, -arm.reads))
        first = {about(arm.arm): arm for arm in reversed(clear)}
        for name in dict.fromkeys(about(arm.arm) for arm in found.criteria.arms):
            yield name, criteria_sentence(first[name])
    if found.axes & {"options", "criteria"}:
        pairs = {about(pair): pair for pair in reversed(found.ranking.pairs) if pair.prompts}
        for name, pair in reversed(pairs.items()):
            yield name, ranking_sentence(pair)
    for judge in found.comparison.judges if found.axes & {"pairwise", "listwise"} else ():
        yield about(judge), comparison_sentence(judge)


def _told_options(found: Gathered) -> Iterator[tuple[str, str]]:
    """Where each judge picks; what the prompt's form does first, where the order never changed."""
    forms = found.perturbation.groups if found.perturbation else ()
    said = {
        f"{group.judge} · {group.dataset}": perturbation_sentence(group)
        for group in forms
        if len(group.perturbations) > 1
    }
    aligned = {str(arm.arm): arm for arm in found.alignment.arms}
    for name, arms in by_setting(found.position.arms).items():
        arm = clearest(arms)
        if arm is None and name in said:
            yield name, said.pop(name)
        shown = arm or arms[0]
        yield name, position_sentence(shown)
        if str(shown.arm) in aligned:
            yield name, alignment_sentence(found.alignment, aligned[str(shown.arm)])
    yield from said.items()


def by_setting(arms: Iterable[PositionArm]) -> dict[str, list[PositionArm]]:
    """Arms that differ in their strategy only, together."""
    grouped: dict[str, list[PositionArm]] = {}
    for arm in arms:
        grouped.setdefault(about(arm.arm), []).append(arm)
    return grouped


def about(of: Any) -> str:
    """Judge, data set and setting: what a sentence is about, whatever the strategy."""
    return " · ".join(part for part in (of.judge, of.dataset, str(of.variant)) if part)


def summary(found: Gathered) -> str:
    """The whole run in one sentence, where it has more judges or settings than fit on a page."""
    parts = []
    if "options" in found.axes:
        judged = [clearest(arms) for arms in by_setting(found.position.arms).values()]
        usable = [arm for arm in judged if arm is not None]
        leaning = sum(arm.position.verdict == "a common direction" for arm in usable)
        if usable:
            parts.append(f"{leaning} of {len(usable)} judges or settings lean towards one position")
    if "criteria" in found.axes:
        tested = [arm for arm in found.criteria.arms if arm.tested]
        moved = sum(arm.significant_holm > 0 for arm in tested)
        if tested:
            parts.append(f"the order of the criteria moves scores in {moved} of {len(tested)} arms")
    if found.axes & {"pairwise", "listwise"}:
        judges = found.comparison.judges
        leaning = sum(judge.pf_p_holm < 0.05 for judge in judges)
        parts.append(f"{leaning} of {len(judges)} judges prefer an answer for its place")
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def steps(found: Gathered) -> tuple[Step, ...]:
    """What to do, for every judge and setting that there is advice for."""
    given: list[Step] = []
    if found.axes & {"options", "criteria"}:
        for one in found.recommendation:
            name = about(one)
            given += [
                Step(name, QUESTIONS[advice.question], advice.answer, LEVELS[advice.level])
                for advice in one.advice
            ]
    for group in found.perturbation.groups if found.perturbation else ():
        if len(group.perturbations) > 1:
            name = f"{group.judge} · {group.dataset}"
            for title, best in (
                ("Which form of the prompt is most stable?", group.most_stable),
                ("Which form agrees best with the reference scores?", group.best_agreement),
            ):
                level = "fine" if best.clear else "unknown" if best.form is None else "watch"
                given.append(Step(name, title, best.sentence, LEVELS[level]))
    return tuple(given)


# ---------------------------------------------------------------- what cannot be said


def limits(found: Gathered, of: Source) -> tuple[str, ...]:
    """What this run cannot say, with its numbers: the first thing a careful reader looks for."""
    data = found.data
    told = [_about_whom(found)]
    if of.planned and of.done < of.planned:
        told.append(
            f"The run is not finished: {of.done:,} of {of.planned:,} calls have an answer. The "
            "numbers are about these."
        )
    told += _left_out(data.judgments["status"].to_numpy())
    if not np.isfinite(data.items["human"].to_numpy()).any() and not (
        found.axes & {"pairwise", "listwise"}
    ):
        told.append(
            "No item has a human rating: nothing here says whether the scores are right, only "
            "whether the order moves them."
        )
    if "options" in found.axes:
        told += _power(found.position.arms)
    tests = found.position.n_tests if "options" in found.axes else 0
    if tests > 1:
        told.append(f"{tests} tests of a kind were made; their p-values are corrected with Holm.")
    return tuple(told)


def _about_whom(found: Gathered) -> str:
    data = found.data
    judges = len({arm.judge for arm in data.arms})
    items = len(np.unique(data.judgments["item"].to_numpy()))
    unit = "comparisons" if found.axes & {"pairwise", "listwise"} else "items"
    return (
        f"About {many(judges, 'judge')} and {items:,} {unit}, and about no other: "
        "position bias differs between models, prompts and data in size and in direction."
    )


def _left_out(status: np.ndarray[Any, Any]) -> Iterator[str]:
    counts = np.bincount(status, minlength=len(STATUSES))
    left = {name: int(n) for name, n in zip(STATUSES, counts, strict=True) if n and name != "ok"}
    total = int(counts.sum())
    if left:
        why = ", ".join(f"{n:,} because {UNREAD[name]}" for name, n in left.items())
        yield (
            f"Left out of {total:,} judgments: {why}. If a judge fails more often in some orders "
            "than in others, what is left is no fair sample."
        )


def _power(arms: Sequence[PositionArm]) -> Iterator[str]:
    """What the run could have seen at all, and what its own noise looks like."""
    for name, mine in by_setting(arms).items():
        arm = clearest(mine)
        if arm is None:
            yield f"{name}: one order only, so a pull of the position cannot be told from the score."
            continue
        seen = arm.smallest_visible_effect
        if np.isfinite(seen.share):
            yield (
                f"{name}: with {arm.n_units:,} {arm.unit}s and 80 % power this run could see a "
                f"departure of {100 * seen.share:.1f} percentage points at one position (V about "
                f"{seen.v:.2f}). A smaller one may be there, unseen."
            )
        floor = arm.noise_floor
        if floor is None:
            yield (
                f"{name}: no order was read twice, so part of every change between orders may be "
                "the judge's own randomness."
            )
        elif np.isfinite(floor.own):
            yield (
                f"{name}: two reads in one and the same order differ {floor.own:.0%} of the time, "
                f"across orders {floor.reordered:.0%}; only what is beyond the first is the order's."
            )


def warnings(body: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What the findings themselves warn of, each said once with the arms it is about."""
    told: dict[str, list[str]] = {text: [] for text in body["warnings"]}
    for one in body.get("judges", body["arms"]):
        for text in one.get("warnings", ()):
            told.setdefault(text, []).append(arm_label(one))
    return {text: tuple(arms) for text, arms in told.items()}


def arm_label(one: Mapping[str, Any]) -> str:
    """Who an object of the document is about; its variant is a mapping of levels or a text."""
    variant = one["variant"]
    if isinstance(variant, Mapping):
        variant = ", ".join(f"{name}={level}" for name, level in variant.items())
    judge = f"{one['judge']} (simulated)" if one.get("simulated") else one["judge"]
    parts = (judge, one["dataset"], one["strategy"], variant)
    return " · ".join(str(part) for part in parts if part)
