"""What a finding is to everyone who shows it: a question that judgments answer, and its words.

A :class:`Question` is anything worked out from one run's judgments. A :class:`Topic` is a
question with a place in every account of a run: pages, ``results --json``, texts, reports and
comparisons go through the topics that a run has and know none of them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from rubriclab.findings.plain import plain
from rubriclab.model import Arm, RunData
from rubriclab.stats.verdict import Effect

R = TypeVar("R")
Json = dict[str, Any]


@dataclass(frozen=True)
class DocumentPart:
    """What a topic adds to the document of a run, all of it plain JSON values.

    ``arms``: by the code of an arm, keys of its object. ``beside``: keys of the document itself;
    lists that two topics give under one key are joined. ``warnings``: of the whole topic.
    """

    arms: Mapping[int, Json] = field(default_factory=dict)
    beside: Json = field(default_factory=dict)
    n_tests: int = 0
    warnings: tuple[str, ...] = ()


class Sentence(NamedTuple):
    """One thing found. ``about``: judge, data set and setting; ``rank``: the lowest is said first.

    -1: what must be read before anything else; 0: the answer of a run that varies it; 1: the answer where nothing else was varied; 2: what
    stands beside an answer; 3: that nothing can be said.
    """

    about: str
    text: str
    rank: int = 2


class Advice(NamedTuple):
    """One answer about one judge in one setting, with the effect that it rests on.

    ``of``: judge, data set and setting; ``question``: its key; ``title``: as one would ask it;
    ``primary``: whether the order (or the form) moves the scores at all, which everything else
    that is advised depends on (see ``findings.effects``).
    """

    of: tuple[str, str, str]
    question: str
    title: str
    answer: str
    effect: Effect
    primary: bool = False

    @property
    def about(self) -> str:
        return " · ".join(filter(None, self.of))


def _no_part(result: Any, data: RunData) -> DocumentPart:
    del result, data
    return DocumentPart()


def _nothing(result: Any) -> tuple[Any, ...]:
    del result
    return ()


def _no_words(result: Any) -> str:
    del result
    return ""


def _always(data: RunData) -> bool:
    del data
    return True


@dataclass(frozen=True)
class Question(Generic[R]):
    """``compute(data, **options)`` under a name of its own, by which its answers are kept.

    ``probabilities``: it takes the token probabilities into account where there are any.
    """

    key: str
    compute: Callable[..., R]
    probabilities: bool = False


@dataclass(frozen=True)
class Topic(Question[R]):
    """A finding that runs on ``axes`` have.

    ``needs``: topics whose results it is made of; ``compute`` then takes those by their keys
    (None where the run has no such topic) instead of the judgments. ``applies``: what else the
    judgments must have. ``document``: its part of ``results --json``. ``sentences``: what it
    says of each judge; ``summary``: of all judges in a few words; ``advice``: what to do;
    ``alarms``: what must be read before anything else; ``limits``: what it cannot say.
    """

    title: str = ""
    axes: frozenset[str] = frozenset()
    needs: tuple[Topic[Any], ...] = ()
    applies: Callable[[RunData], bool] = _always
    document: Callable[[R, RunData], DocumentPart] = _no_part
    sentences: Callable[[R], Iterable[Sentence]] = _nothing
    summary: Callable[[R], str] = _no_words
    advice: Callable[[R], Iterable[Advice]] = _nothing
    alarms: Callable[[R], Iterable[str]] = _nothing
    limits: Callable[[R], Iterable[str]] = _nothing

    @property
    def advises(self) -> bool:
        """Has it anything to advise? Those that have not need not be worked out for it."""
        return self.advice is not _nothing

    def is_in(self, data: RunData) -> bool:
        """Has a run with these judgments this topic?"""
        return any(arm.axis in self.axes for arm in data.arms) and self.applies(data)

    @property
    def can_alarm(self) -> bool:
        """Is there anything to be worked out for alarms at all?"""
        return self.alarms is not _nothing


VARIED = ("balanced", "williams", "all", "random")
"""Strategies that show position apart from score, the clearest first."""


def clarity(arm: Arm) -> int:
    """How well an arm's strategy shows position apart from score: 0 is best."""
    return VARIED.index(arm.strategy) if arm.strategy in VARIED else len(VARIED)


def clearest(findings: Iterable[R]) -> dict[str, R]:
    """By judge and setting (``about``) the finding of the arm that shows position best, the clearest first."""
    shown: dict[str, R] = {}
    for arm, one in sorted(_with_arms(findings), key=lambda pair: clarity(pair[0])):
        shown.setdefault(about(arm), one)
    return shown


def _with_arms(findings: Iterable[Any]) -> list[tuple[Arm, Any]]:
    return [(one.arm, one) for one in findings]


def setting(of: Any) -> tuple[str, str, str]:
    """What an arm (or a finding about one) is about apart from its strategy."""
    return of.judge, of.dataset, str(of.variant)


def about(of: Any) -> str:
    """Judge, data set and setting in one text: what a sentence is about."""
    return " · ".join(part for part in setting(of) if part)


def arm_json(arm: Arm) -> Json:
    """Which arm an object of the document is about."""
    return {
        "judge": arm.judge,
        "dataset": arm.dataset,
        "strategy": arm.strategy,
        "variant": {name: plain(level) for name, level in arm.variant.levels},
        "simulated": arm.simulated,
    }
