"""Say what a run showed to people who have not seen the lab: four steps, and the facts of a page.

The presentation and the one-page report show the same words. What they claim comes from the answer
(``words/answer.py``); what was asked is counted here, and nothing is estimated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Findings
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.study import Study
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import FLAT_POINTS, Answer, Question, asked_about, judged
from rubriclab.words.phrases import NBSP, number, say
from rubriclab.words.subject import EFFECT, Subject, sentence_tables

MOST_NAME = 60
"""Max characters of a name in a fact."""
TIMES = {1: "once", 2: "twice"}


@dataclass(frozen=True)
class Presented:
    """What a presentation and a page say about one judge.

    kicker, question: what the run asked, as a heading with a line above it.
    asked: what was done, in two or three sentences.
    calls, limits: how many calls the answer rests on, and what else it depends on.
    single: the question about single scores, and ``changed``, its number for a large print, with
        the words below it; None and empty where there is none.
    facts: what was asked whom, as (name, value).
    """

    answer: Answer
    kicker: str
    question: str
    asked: str
    what_to_do: str
    calls: str
    limits: str
    single: Question | None
    changed: str
    below_changed: str
    facts: tuple[tuple[str, str], ...]


def presented(findings: Findings, subject: Subject, study: Study | None = None) -> Presented:
    """Return the words about one judge. ``study``: the plan of the run; an import has none."""
    arm = findings.judgments.arms[subject.condition]
    answer = judged(findings, subject)
    arms = _arms_of(findings, subject)
    single = answer.questions[-1] if answer.questions else None  # it is always the last
    changed = _changed(subject)
    return Presented(
        answer=answer,
        kicker=_say(subject, "kicker"),
        what_to_do=_say(subject, "what_to_do"),
        question=_say(subject, "question"),
        asked=_say(
            subject,
            "asked",
            judge=shorten(subject.judge, MOST_NAME),
            things=asked_about(subject),
            orders=count(subject.orders, "order"),
            times=_times(arms),
            low=f"{min(subject.scores, default=0):g}",
            high=f"{max(subject.scores, default=0):g}",
        ),
        calls=count(subject.calls, "call"),
        limits=_say(subject, "limits", things=asked_about(subject)),
        single=single,
        changed=changed,
        below_changed=_below(subject, changed, single.sentence) if single else "",
        facts=tuple(_facts(subject, arm, arms, study)),
    )


def _say(subject: Subject, key: str, **fields: str) -> str:
    tables = ("presented", f"presented_{subject.reorder}", f"presented_{subject.kind}")
    return say(key, tables, **fields)


def _arms_of(findings: Findings, subject: Subject) -> list[Arm]:
    """Return the judgments that the answer is about: one arm for each ordering strategy."""
    own = findings.conditions[subject.condition]
    return [
        arm
        for arm in findings.judgments.arms
        if arm.condition.setting == own.setting and arm.condition.variant == own.variant
    ]


def _times(arms: Sequence[Arm]) -> str:
    """Say how often each order of an item was asked: “, each twice”; empty where that differs.

    Several judgments of one call count once.
    """
    numbers: set[int] = set()
    for arm in arms:
        calls = np.unique(np.stack([arm.text[arm.item], arm.order, arm.call]), axis=1)
        _, times = np.unique(calls[:2], axis=1, return_counts=True)
        numbers |= set(times.tolist())
    if len(numbers) != 1:
        return ""
    times_asked = numbers.pop()
    return ", each " + TIMES.get(times_asked, f"{times_asked} times")


def _changed(subject: Subject) -> str:
    """Return how many single scores the order changes: “40 in 100”; empty unless it surely does.

    It is the number that the verdict is about. The share that changes in another order would accuse
    a noisy judge that the order does not move.
    """
    single = subject.single
    if single is None or single.word != EFFECT or not math.isfinite(single.high):
        return ""
    if single.value < FLAT_POINTS:
        return ""
    return f"{number(100 * single.value, '.0f')} in 100"


def _below(subject: Subject, changed: str, sentence: str) -> str:
    """Return a sentence below the number in large print, which is not said twice."""
    if not changed or not sentence.startswith(changed):
        return sentence
    noun = say("noun", sentence_tables(subject))
    return f"single {noun}s{sentence.removeprefix(changed)}"


def _facts(
    subject: Subject, arm: Arm, arms: Sequence[Arm], study: Study | None
) -> list[tuple[str, str]]:
    """Return what was asked whom, as far as it is known."""
    settings = _settings_of(study, subject.judge)
    facts = [("Judge", _judge(subject, settings))]
    if study is not None and study.rubric is not None and study.rubric.name:
        facts.append(("Rubric", shorten(study.rubric.name, MOST_NAME)))
    else:
        criteria = arm.run.items["criterion"].iloc[arm.item_code].dropna().unique()
        if len(criteria):
            names = ", ".join(str(name) for name in criteria)
            facts.append(("Judged by", shorten(names, MOST_NAME)))
    if settings is not None:
        facts.append(("Settings", _temperature(settings)))
    about = asked_about(subject)
    if arm.condition.dataset:
        about += f" of “{shorten(arm.condition.dataset, MOST_NAME)}”"
    if subject.units != subject.items:
        about += f", {count(subject.units, subject.unit)}"
    strategies = dict.fromkeys(shorten(other.condition.strategy, MOST_NAME) for other in arms)
    facts.append(("Asked about", about))
    facts.append(("Orders", f"{subject.orders} ({', '.join(strategies)}){_times(arms)}"))
    facts.append(("Calls", _calls(subject)))
    return facts


def _settings_of(study: Study | None, judge: str) -> JudgeSettings | None:
    judges = () if study is None else study.judges
    return next((settings for settings in judges if settings.name == judge), None)


def _judge(subject: Subject, settings: JudgeSettings | None) -> str:
    """Return the judge's name, its model if that is another name, and where it was asked."""
    parts = [shorten(subject.judge, MOST_NAME)]
    if subject.simulated:
        return f"{parts[0]}, simulated"
    if settings is not None:
        if settings.model != subject.judge:
            parts.append(shorten(settings.model, MOST_NAME))
        parts.append("asked over HTTP" if settings.served else "on this machine")
    return ", ".join(parts)


def _temperature(settings: JudgeSettings) -> str:
    if settings.temperature is None:
        return "the server's own temperature"
    return f"temperature {settings.temperature:g}"


def _calls(subject: Subject) -> str:
    """Say how many calls were parsed, and of how many if that is not all."""
    if subject.calls == subject.planned == subject.asked:
        return f"{subject.calls:,}, all parsed"
    return f"{subject.calls:,} parsed, {subject.asked:,} asked, {subject.planned:,} planned"


def written_date(moment: datetime | None) -> str:
    """Write “28 November 2026” with no-break spaces; empty if it is not known."""
    return "" if moment is None else f"{moment.day}{NBSP}{moment:%B}{NBSP}{moment.year}"
