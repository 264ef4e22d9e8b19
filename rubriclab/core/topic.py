"""Arms in, rows out: the registry of topics, the rows they yield, and the findings of a run in one
reading.

A statistic is a file in ``topics/`` with a generator of rows, and its measures' entries in
``measures.toml``.
"""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rubriclab.core.estimate import Estimate, missing
from rubriclab.core.fairness import WITHHELD
from rubriclab.core.judgments import Arm, Judgments, grouped, widest
from rubriclab.core.variant_effects import form_verdicts, forms
from rubriclab.core.verdict import Verdicts, verdicts
from rubriclab.model.judgment import Condition, Reorder
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError, counted, shorten

_HERE = Path(__file__).parent
_WORDS: dict[str, Any] = tomllib.loads((_HERE / "measures.toml").read_text("utf-8"))
DEFINITIONS: dict[str, dict[str, str]] = tomllib.loads(
    (_HERE / "definitions.toml").read_text("utf-8")
)
"""A measure or term -> its ``sentence``, ``formula``, ``assumption``, ``source``."""
REASONS: dict[str, str] = _WORDS.pop("reasons")
"""Why there is no number, interval or verdict: key -> sentence. No other reason exists."""
CAUTIONS: dict[str, str] = _WORDS.pop("cautions")
"""What must be read before a number: kind -> sentence with the caution's own fields."""
QUESTIONS = {"favours_positions": "positions", "moves_mean": "mean", "changes_single": "single"}
"""The verdict measures and the questions of ``core/verdict.py`` that they answer."""
TESTS = {"positions": "F", "mean": "t", "single": "gate"}


@dataclass(frozen=True)
class Measure:
    """What a measure is called and how it is written; names are global, so that topics share them.

    ``name``: of the measure, in titles and tables; ``label``: of a row, with fields of ``Row.of``;
    ``form``: of a number; ``unit``: points, share, percentage points or none; ``front``: on the
    first screen; ``contrast``: may A - B be had; ``term``: key of its definition; ``question``:
    whose verdict speaks of it (a value of QUESTIONS, or gate); ``sign``: what plus and minus mean;
    ``codes``: what codes in ``Row.of`` are called; ``names``: its name where a call ``chooses`` a
    winner, or where positions lean in ``points``.
    """

    key: str
    name: str
    form: str
    label: str = ""
    unit: str = ""
    front: bool = False
    contrast: bool = True
    term: str = ""
    question: str = ""
    sign: str = ""
    codes: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


MEASURES: dict[str, Measure] = {key: Measure(key, **entry) for key, entry in _WORDS.items()}


@dataclass(frozen=True, eq=False)
class Row:
    """One number of a run.

    ``of``: what of its condition it is about (position, score, target, order, against); ``test``:
    (name, p); ``counts``: what it rests on (``n`` judgments, items, ...; ``from``: the strategy
    that sized the noise); ``level``: of its interval; ``verdict``: of rows that answer a question,
    held against ``smallest``; ``ends``: an interval that is not made by the estimate's rule.
    """

    measure: str
    estimate: Estimate
    of: Mapping[str, Any] = field(default_factory=dict)
    test: tuple[str, float] | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""
    condition: int = -1
    unit: str = ""
    level: float = 0.95
    verdict: str = ""
    smallest: float = float("nan")
    ends: tuple[float, float] | None = None

    @property
    def about(self) -> Measure:
        return MEASURES[self.measure]

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def p(self) -> float:
        return self.test[1] if self.test else float("nan")

    @cached_property
    def interval(self) -> tuple[float, float]:
        """(low, high) at ``level``; NaN where there is none, and ``why`` says why."""
        return self.ends if self.ends is not None else self.estimate.interval(self.level)

    @property
    def why(self) -> str:
        """A key of REASONS where the number or its interval is missing, or no verdict can be given;
        else empty.
        """
        if self.estimate.why:
            return self.estimate.why
        if np.isfinite(self.interval).all() or (self.test and not self.estimate.units):
            return ""
        return "too_few_units" if np.isfinite(self.value) else "undefined"

    @property
    def label(self) -> str:
        """What the row is called beside its number."""
        of = {name: self.about.codes.get(str(value), value) for name, value in self.of.items()}
        return counted(
            (self.about.label or self.about.name).format_map(defaultdict(str, of)).strip()
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """What two conditions' rows of the same kind have in common."""
        return (
            self.topic,
            self.measure,
            tuple(sorted((name, str(value)) for name, value in self.of.items())),
        )


def nothing(
    measures: Iterable[str], why: str, of: Mapping[str, Any] | None = None, **about: Any
) -> Iterator[Row]:
    """Rows without a number, and why; ``about``: what else they say, by default that they rest on
    nothing.
    """
    for measure in measures:
        yield Row(measure, missing(why), of or {}, **{"counts": {"n": 0}, **about})


@dataclass(frozen=True)
class Caution:
    """What must be read before the numbers of a condition. ``kind``: a key of CAUTIONS; ``of``: its
    fields; ``noun``: what a call gives.
    """

    kind: str
    condition: int = -1
    of: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""
    noun: str = "score"

    @property
    def sentence(self) -> str:
        return CAUTIONS[self.kind].format(noun=self.noun, **self.of)


@dataclass(frozen=True)
class Chart:
    """A generic kind of chart with the measure it shows; ``by``: the field of its axis, ``across``:
    the other one.
    """

    kind: str
    measure: str
    by: str = ""
    across: str = ""


Per = Literal["arm", "setting", "run"]
Rows = Callable[..., Iterable[Row | Caution]]
"""Of an ``Arm``, or of a list of arms: what ``Topic.per`` says."""


@dataclass(frozen=True)
class Topic:
    """``per``: what its rows are about: an ``arm``; a ``setting``: list of the arms that differ in
    their orders alone; a ``run``: list of all its arms. Lists hold arms of the topic's ``axes``
    alone, in the conditions' order, and at least one.
    """

    key: str
    axes: frozenset[Reorder]
    charts: tuple[Chart, ...]
    rows: Rows
    per: Per = "arm"

    def subjects(self, arms: Sequence[Arm]) -> list[Any]:
        """What ``rows`` is called with, one after the other."""
        spoken_of = [arm for arm in arms if arm.condition.reorder in self.axes]
        if self.per == "arm":
            return list(spoken_of)
        return list(
            grouped(spoken_of, lambda condition: condition.setting if self.per == "setting" else "")
        )

    @cached_property
    def takes_reading(self) -> bool:
        return "reading" in signature(self.rows).parameters


TOPICS: dict[str, Topic] = {}


def topic(
    key: str, *, axes: set[Reorder], charts: tuple[Chart, ...] = (), per: Per = "arm"
) -> Callable[[Rows], Rows]:
    """Registers a generator of rows (and cautions) about one arm, setting or run, for the ``axes``
    that it speaks of.

    Rows about several arms say in ``condition`` which one they are about (the first where left
    out), and in ``of.against`` which one it is held against. One that has a parameter ``reading``
    is given the run's: the smallest effects, ``epsilon``, ``cut``.
    """

    def register(function: Rows) -> Rows:
        TOPICS[key] = Topic(key, frozenset(axes), charts, function, per)
        return function

    return register


@dataclass(frozen=True, eq=False)
class Findings:
    """Every number of a run in one reading, computed once when first asked for. Import
    ``rubriclab.measures`` before: it registers the topics.
    """

    judgments: Judgments
    reading: ReadingPart = field(default_factory=ReadingPart)

    @property
    def rows(self) -> list[Row]:
        return self._everything[0]

    def of_topic(self, topic: str) -> list[Row]:
        """The rows of a topic, of “all” every one; maybe none. Raises LabError for a topic that
        there is not.
        """
        known = ["verdict", *TOPICS]
        if topic not in ("all", *known):
            raise LabError(
                f"There is no topic “{shorten(str(topic))}”. There are {', '.join(known)}; “all” "
                f"is every one."
            )
        return [row for row in self.rows if topic in ("all", row.topic)]

    @property
    def cautions(self) -> list[Caution]:
        return self._everything[1]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.judgments.conditions

    @cached_property
    def _everything(self) -> tuple[list[Row], list[Caution]]:
        if not TOPICS:
            raise RuntimeError(
                "No topic is registered: import rubriclab.measures before asking for findings."
            )
        arms = self.judgments.arms
        made: list[Iterable[Row | Caution]] = [
            *map(self._verdict_rows, grouped(arms, attrgetter("setting")))
        ]
        if any(not form.strategy for form in forms(arms)):
            made.append(self._form_rows(arms))
        alone = [spoken for spoken in TOPICS.values() if spoken.per == "arm"]
        subjects = [
            (spoken, subject)
            for arm in arms
            for spoken in alone
            for subject in spoken.subjects([arm])
        ]
        several = [spoken for spoken in TOPICS.values() if spoken.per != "arm"]
        subjects += [(spoken, subject) for spoken in several for subject in spoken.subjects(arms)]
        every = list(
            chain(*made, *(self._topic_rows(spoken, subject) for spoken, subject in subjects))
        )
        return [row for row in every if isinstance(row, Row)], [
            row for row in every if isinstance(row, Caution)
        ]

    def _topic_rows(self, spoken: Topic, subject: Any) -> Iterator[Row | Caution]:
        """What a topic says of a subject, with the topic and, where it is left out, the first
        condition written in.
        """
        first = (subject if isinstance(subject, Arm) else subject[0]).code
        for row in spoken.rows(
            subject, **({"reading": self.reading} if spoken.takes_reading else {})
        ):
            code = first if row.condition < 0 else row.condition
            if isinstance(row, Caution):
                noun = "winner" if self.conditions[code].chooses else "score"
                yield replace(row, topic=spoken.key, condition=code, noun=noun)
            else:
                yield replace(
                    row, topic=spoken.key, condition=code, unit=self.judgments.arms[code].unit_kind
                )

    def _verdict_rows(self, arms: list[Arm]) -> Iterator[Row]:
        """The gate and three questions of one judge, data set and variant; no verdict before the
        run is finished.
        """
        chosen = widest(arms)
        about = chosen.condition
        if about.reorder == "bare" or (about.reorder == "responses" and not about.joint):
            return  # nothing is listed, so there is no order
        given = verdicts(arms, self.reading.smallest) if self.judgments.finished else None
        yield from self._rows_of(given, chosen, QUESTIONS, {}, "unfinished")

    def _form_rows(self, arms: Sequence[Arm]) -> Iterator[Row]:
        """The gate and two questions of each variant held against the default; its name stands in
        ``of.variant``.
        """
        if self.judgments.finished:
            made = form_verdicts(arms, self.reading.smallest)
        else:
            made = [(form, None) for form in forms(arms) if not form.strategy]
        asked = {key: name for key, name in QUESTIONS.items() if name != "positions"}
        for form, given in made:
            why = "other_scores" if self.judgments.finished else "unfinished"
            yield from self._rows_of(given, form.arms[0], asked, {"variant": form.name}, why)

    def _rows_of(
        self,
        given: Verdicts | None,
        arm: Arm,
        questions: Mapping[str, str],
        of: Mapping[str, Any],
        why: str,
    ) -> Iterator[Row]:
        """One row a question, and one of the gate; without a number, and ``why``, where no verdict
        was ``given``.
        """
        asked = {
            key: name
            for key, name in questions.items()
            if name != "mean" or not arm.condition.chooses
        }
        common: dict[str, Any] = {"topic": "verdict", "unit": arm.unit_kind}
        if given is None:
            yield from nothing((*asked, "gate"), why, of, counts={}, condition=arm.code, **common)
            return
        common |= {"of": of, "condition": given.condition}
        size = {"n": given.items, "units": given.units}
        for measure, question in asked.items():
            answer = given.questions[question]
            yield Row(
                measure,
                Estimate(answer.value, np.zeros(0), np.zeros(0), why=answer.why),
                test=(TESTS[question], answer.p),
                counts={**size, "above_zero": answer.above_zero, **answer.more},
                verdict=answer.verdict,
                smallest=answer.smallest,
                ends=(answer.low, answer.high),
                **common,
            )
        gate = given.gate
        counts = {
            **size,
            "deals": gate.deals,
            "exact": gate.exact,
            "parts": dict(gate.parts),
            "least": gate.least,
        }
        counts["unparsed_p"] = given.unparsed_p
        test = ("permutation of calls over " + ("forms" if of else "orders"), gate.p)
        yield Row(
            "gate",
            Estimate(float("nan"), np.zeros(0), np.zeros(0)),
            test=test,
            counts=counts,
            **common,
        )

    def select(
        self,
        measure: str | None = None,
        *,
        topic: str | None = None,
        condition: int | None = None,
        **of: Any,
    ) -> list[Row]:
        """The rows of a measure, topic and condition whose ``of`` holds all that is named."""
        return [
            row
            for row in self.rows
            if (measure is None or row.measure == measure)
            and (topic is None or row.topic == topic)
            and (condition is None or row.condition == condition)
            and all(row.of.get(name) == value for name, value in of.items())
        ]

    def gate_p(self, condition: int, variant: Any = None) -> float:
        """p of the gate of a condition's setting, or of a ``variant`` held against the default; NaN
        where there is none.
        """
        setting = self.conditions[condition].setting
        for row in self.select("gate"):
            if (
                row.of.get("variant") == variant
                and self.conditions[row.condition].setting == setting
            ):
                return row.p
        return float("nan")

    def withheld(self, row: Row) -> str:
        """Return why the verdicts of a row's setting are not answered with No
        (``core/fairness.py``), or empty.
        """
        setting = self.conditions[row.condition].setting
        variant = row.of.get("variant")
        for measure in QUESTIONS:
            for other in self.select(measure):
                alike = self.conditions[other.condition].setting == setting
                if alike and other.of.get("variant") == variant and other.estimate.why in WITHHELD:
                    return other.estimate.why
        return ""
