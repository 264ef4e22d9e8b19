"""A run in words: the answer that a reader meets first, what to do, and what cannot be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.findings.topic import Sentence
from rubriclab.findings.topics import Findings
from rubriclab.model import STATUSES
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import arm_name, many, plural
from rubriclab.report.source import Source

UNREAD = {
    "unparsed": msg("no score could be read from the reply"),
    "refused": msg("the judge refused"),
    "truncated": msg("the reply was cut off"),
    "error": msg("the call failed"),
}


@dataclass(frozen=True)
class Answer:
    """What was found about one judge on one data set, in one setting of the factors."""

    about: str
    sentences: tuple[str, ...]


def answers(findings: Findings) -> tuple[Answer, ...]:
    """The findings as sentences, one group a judge, the most telling sentence first."""
    groups: dict[str, list[Sentence]] = {}
    for topic in findings.topics:
        for sentence in topic.sentences(findings.of(topic)):
            groups.setdefault(sentence.about, []).append(sentence)
    return tuple(
        Answer(name, tuple(dict.fromkeys(s.text for s in sorted(group, key=lambda s: s.rank))))
        for name, group in groups.items()
    )


def summary(findings: Findings) -> str:
    """The whole run in one sentence, where it has more judges or settings than fit on a page."""
    clauses = "; ".join(filter(None, (tr(topic.summary(findings.of(topic))) for topic in findings.topics)))
    return f"{clauses[:1].upper()}{clauses[1:]}." if clauses else ""


# ---------------------------------------------------------------- what cannot be said


def limits(findings: Findings, of: Source) -> tuple[str, ...]:
    """What this run cannot say, with its numbers: the first thing a careful reader looks for."""
    data = findings.data
    limiting = [scope(findings)]
    if of.planned and of.done < of.planned:
        limiting.append(
            tr(
                "The run is not finished: {done:,} of {calls} {calls:has|have} an answer. The numbers are about these.",
                done=of.done,
                calls=many(of.planned, "call"),
            )
        )
    limiting += map(str, data.dropped)
    limiting += _left_out(data.judgments["status"].to_numpy())
    if not np.isfinite(data.items["human"].to_numpy()).any() and not (findings.axes & {"pairwise", "listwise"}):
        limiting.append(
            tr(
                "No item has a human rating: nothing here says whether the scores are right, only whether the "
                "order moves them."
            )
        )
    for topic in findings.topics:
        limiting += topic.limits(findings.of(topic))
    return tuple(limiting)


def scope(findings: Findings) -> str:
    """Whom and what a run is about, and that it is about no other."""
    data = findings.data
    judges = len({arm.judge for arm in data.arms})
    items = len(np.unique(data.judgments["item"].to_numpy()))
    unit = plural("comparison" if findings.axes & {"pairwise", "listwise"} else "item", 2)
    return tr(
        "About {judges} and {items:,} {units}, and about no other: position bias differs between models, "
        "prompts and data in size and in direction.",
        judges=many(judges, "judge"),
        items=items,
        units=unit,
    )


def _left_out(status: np.ndarray[Any, Any]) -> Iterator[str]:
    counts = np.bincount(status, minlength=len(STATUSES))
    left = {name: int(n) for name, n in zip(STATUSES, counts, strict=True) if n and name != "ok"}
    total = int(counts.sum())
    if left:
        why = ", ".join(tr("{n:,} because {reason}", n=n, reason=tr(UNREAD[name])) for name, n in left.items())
        yield (
            tr(
                "Left out of {judgments}: {why}. If a judge fails more often in some orders than in others, what "
                "is left is no fair sample.",
                judgments=many(total, "judgment"),
                why=why,
            )
        )


def warnings(body: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What the findings themselves warn of, each said once with the arms it is about."""
    by_text: dict[str, list[str]] = {text: [] for text in body["warnings"]}
    for part in body.get("judges", body["arms"]):
        for text in part.get("warnings", ()):
            by_text.setdefault(text, []).append(arm_name(part))
    return {text: tuple(arms) for text, arms in by_text.items()}
