"""Every topic of the lab, and the findings of one run: the one place that says which it has."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from rubriclab.findings.agreement import AGREEMENT
from rubriclab.findings.alignment import ALIGNMENT
from rubriclab.findings.batch import BATCH
from rubriclab.findings.choice import CHOICE
from rubriclab.findings.comparison import COMPARISON, PREDICTORS
from rubriclab.findings.corrected_means import CORRECTED_MEANS
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.debiasing import DEBIASING
from rubriclab.findings.effects import gated
from rubriclab.findings.estimates import estimates, frame
from rubriclab.findings.generalisability import GENERALISABILITY
from rubriclab.findings.jury import JURY
from rubriclab.findings.leaderboard import LEADERBOARD
from rubriclab.findings.ordinal import ORDINAL
from rubriclab.findings.perturbation import PERTURBATION
from rubriclab.findings.plain import plain
from rubriclab.findings.position import POSITION
from rubriclab.findings.pulls import PULLS
from rubriclab.findings.ranking import RANKING
from rubriclab.findings.rasch import RASCH
from rubriclab.findings.replacement import REPLACEMENT
from rubriclab.findings.topic import Advice, DocumentPart, Json, Question, Topic
from rubriclab.findings.wording import WORDINGS
from rubriclab.model import RunData

R = TypeVar("R")

TOPICS: Mapping[str, Topic[Any]] = {
    topic.key: topic
    for topic in (
        POSITION,
        ALIGNMENT,
        AGREEMENT,
        CHOICE,
        RASCH,
        ORDINAL,
        DEBIASING,
        PERTURBATION,
        WORDINGS,
        PULLS,
        GENERALISABILITY,
        JURY,
        CRITERIA,
        BATCH,
        RANKING,
        COMPARISON,
        LEADERBOARD,
        PREDICTORS,
        REPLACEMENT,
        CORRECTED_MEANS,
    )
}
"""By key, in the order in which they are shown."""


class Findings:
    """What one run's judgments say, each topic worked out once, when it is first asked for."""

    def __init__(self, data: RunData, *, seed: int = 0) -> None:
        self._data, self.seed = data.sets_named(), seed
        self._known: dict[Hashable, Any] = {}

    @property
    def data(self) -> RunData:
        return self._data

    @cached_property
    def axes(self) -> frozenset[str]:
        return frozenset(arm.axis for arm in self.data.arms)

    @cached_property
    def topics(self) -> tuple[Topic[Any], ...]:
        """The topics this run has, in the order in which they are shown."""
        return tuple(topic for topic in TOPICS.values() if topic.is_in(self.data))

    def __iter__(self) -> Iterator[str]:
        return (topic.key for topic in self.topics)

    def __contains__(self, key: object) -> bool:
        return any(topic.key == key for topic in self.topics)

    def __getitem__(self, key: str) -> Any:
        """The result of the topic ``key``. Raises KeyError for a topic the run does not have."""
        if key not in self:
            raise KeyError(f"This run has no {key}; it has {', '.join(self) or 'no topic'}.")
        return self.of(TOPICS[key])

    def of(self, question: Question[R], **options: Hashable) -> R:
        """The answer to any question; an empty one for a topic that the run does not have."""
        key = (question.key, tuple(sorted(options.items())))
        if key not in self._known:
            self._known[key] = self._computed(question, options)
        answer: R = self._known[key]
        return answer

    def estimates(self) -> pd.DataFrame:
        """Every number with an interval or a test, one a row; columns as estimates.COLUMNS."""
        tables = [estimates(topic.key, self.of(topic)) for topic in self.topics]
        filled = [table for table in tables if len(table)]
        return pd.concat(filled, ignore_index=True) if filled else frame(iter(()))

    def advice(self) -> tuple[Advice, ...]:
        """All that is advised, judge by judge, the secondary answers behind the primary ones."""
        advising = [topic for topic in self.topics if topic.advises]
        every = [line for topic in advising for line in topic.advice(self.of(topic))]
        shown: dict[tuple[str, str, str], list[Advice]] = {line.of: [] for line in every}
        for line in every:
            primary = [a.effect for a in every if a.primary and a.of[:2] == line.of[:2]]
            kept = line.effect if line.primary else gated(line.effect, primary)
            shown[line.of].append(line._replace(effect=kept))
        return tuple(line for group in shown.values() for line in group)

    def alarms(self) -> tuple[str, ...]:
        """What must be read before anything else, whatever part of the run one reads."""
        alarming = [topic for topic in self.topics if topic.can_alarm]
        found = tuple(text for topic in alarming for text in topic.alarms(self.of(topic)))
        return (*map(str, self.data.dropped), *found)

    def _computed(self, question: Question[R], options: Mapping[str, Hashable]) -> R:
        compute: Callable[..., R] = question.compute
        if not isinstance(question, Topic):
            return compute(self.data, **options)
        if question.needs:
            needed = {t.key: self.of(t) if t.key in self else None for t in question.needs}
            return compute(**needed, **options)
        return compute(self.data, seed=self.seed, **options)


def document(findings: Findings) -> Json:
    """The findings of a run as one document of plain JSON values.

    ``arms`` has one object per judge, data set, strategy and variant; shares are fractions,
    Bias Costs percentage points, intervals [low, high], what is not known None. ``unanswered``:
    calls still to be made; while there are any no verdict is given. ``smallest_effect``: of
    interest, in steps of the scale. ``advice``: every verdict, judge by judge. Findings that
    compare arms stand beside it, those of pairs and lists under ``judges``.
    """
    data = findings.data
    body: Json = {
        "run": data.run,
        "name": data.name,
        "simulated": data.simulated,
        "unanswered": data.unanswered,
        "smallest_effect": data.smallest_effect,
        "n_tests": 0,
    }
    arms: dict[int, Json] = {}
    beside: Json = {}
    warnings: list[str] = []
    for topic in findings.topics:
        part: DocumentPart = topic.document(findings.of(topic), data)
        for code, keys in part.arms.items():
            arms.setdefault(code, {}).update(keys)
        for key, value in part.beside.items():
            beside[key] = [*beside[key], *value] if key in beside else value
        body["n_tests"] += part.n_tests
        warnings += part.warnings
    return {
        **body,
        "arms": list(arms.values()),
        "alarms": list(findings.alarms()),
        "warnings": [*findings.alarms(), *warnings],
        **beside,
        "advice": [_advice_json(line) for line in findings.advice()],
    }


def _advice_json(line: Advice) -> Json:
    judge, dataset, variant = line.of
    about = {"judge": judge, "dataset": dataset, "variant": variant}
    words = {"question": line.question, "title": line.title, "answer": line.answer}
    return {**about, **words, **plain(line.effect)}
