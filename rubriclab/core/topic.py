"""Collect every number of a run as rows, topic by topic, and keep its verdicts.

A topic is a file in ``measures/``: a generator of rows that ``topic`` registers, and its measures'
entries in ``measures.toml``. ``Findings`` calls each of them once. The verdicts are made before the
topics, by ``core/verdict.py``: their records are kept for sentences and pictures, and JSON gets a
row made of each.
"""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rubriclab.core.batches import planned_looks
from rubriclab.core.company_effects import Company, company_effects
from rubriclab.core.estimate import Estimate, missing
from rubriclab.core.fairness import WITHHELD
from rubriclab.core.judgments import Arm, Judgments, grouped, widest
from rubriclab.core.looks import LastLook, Look, looks_of
from rubriclab.core.permutation import ALPHA
from rubriclab.core.variant_effects import Form, form_verdicts, forms
from rubriclab.core.verdict import Verdict, Verdicts, verdicts
from rubriclab.model.judgment import Condition, Reorder
from rubriclab.model.passing import PassRate, pass_rate_of
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError, counted, shorten

_HERE = Path(__file__).parent
_WORDS: dict[str, Any] = tomllib.loads((_HERE / "measures.toml").read_text("utf-8"))
DEFINITIONS: dict[str, dict[str, str]] = tomllib.loads(
    (_HERE / "definitions.toml").read_text("utf-8")
)
"""The ``sentence``, ``formula``, ``assumption`` and ``source`` of each measure or term."""
REASONS: dict[str, str] = _WORDS.pop("reasons")
"""The sentence for each reason why there is no number, interval or verdict. There are no others."""
CAUTIONS: dict[str, str] = _WORDS.pop("cautions")
"""The sentence for each kind of caution, with the caution's own fields in braces."""
QUESTIONS = {"favours_positions": "positions", "moves_mean": "mean", "changes_single": "single"}
"""The verdict measures, and the questions of ``core/verdict.py`` that they answer."""
TESTS = {"positions": "F", "mean": "t", "single": "gate"}
"""The name of each question's test, as rows give it."""


@dataclass(frozen=True)
class Measure:
    """What a measure is called and how its numbers are written.

    Names are global, so that topics share them. ``name``: in titles and tables. ``form``: the
    Python format of a number. ``label``: of a row, with fields of ``Row.of`` in braces. ``unit``:
    points, share, percentage points or none. ``front``: whether the first screen defines it.
    ``contrast``: whether A - B makes sense. ``term``: the key of its definition. ``question``: the
    question whose verdict is about it (a value of QUESTIONS, or gate). ``sign``: what plus and
    minus mean, or what a share counts. ``codes``: what codes in ``Row.of`` are called. ``names``:
    its name where a call ``chooses`` a winner, where leans are ``points``, or where the mean score
    is a ``pass_rate``.
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


def _of_passes(about: Measure) -> Measure:
    """Return how a measure in points is written where they are shares of passes."""
    sign = "+" if about.form.startswith("+") else ""
    counts_scores = about.key in ("order_change", "repeat_change")
    return replace(
        about,
        name=about.names["pass_rate"],
        label=about.label.replace("mean score", "pass rate"),
        form=f"{sign}.1%",
        unit="share" if counts_scores else "percentage points",
    )


OF_PASSES = {
    key: _of_passes(about) for key, about in MEASURES.items() if "pass_rate" in about.names
}
"""Measures whose points are shares of passes on a scale of two scores that are 1 apart."""


@dataclass(frozen=True, eq=False)
class Row:
    """One number of a run.

    ``of``: what of its condition it is about (position, score, target, order, against).
    ``test``: (name, p). ``counts``: what it rests on (``n`` judgments, items and so on; ``from``:
    the strategy whose repeats gave the noise). ``unit``: the kind of independent unit. ``level``:
    of its interval. ``alpha``: what its p is compared with: less than 5% at a look at part of a
    run. ``verdict``, ``smallest``: of rows that answer a question, the word and the
    smallest effect that matters. ``ends``: an interval that the estimate's rule does not make.
    ``rate``: of two scores, which one passes.
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
    alpha: float = ALPHA
    verdict: str = ""
    smallest: float = float("nan")
    ends: tuple[float, float] | None = None
    rate: PassRate | None = None

    @property
    def passes(self) -> bool:
        """Return whether points of its scale are shares of passes."""
        return self.rate is not None and self.rate.in_shares

    @property
    def about(self) -> Measure:
        if self.passes and self.measure in OF_PASSES:
            return OF_PASSES[self.measure]
        return MEASURES[self.measure]

    @property
    def in_points(self) -> bool:
        """Return whether the number is in points of the scale, however it is written."""
        return MEASURES[self.measure].unit == "points"

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def p(self) -> float:
        return self.test[1] if self.test else float("nan")

    @property
    def rejects(self) -> bool:
        """Return whether the row's test rejects."""
        return self.p <= self.alpha

    @cached_property
    def interval(self) -> tuple[float, float]:
        """(low, high) at ``level``; NaN where there is none, and then ``why`` is the reason."""
        return self.ends if self.ends is not None else self.estimate.interval(self.level)

    @property
    def why(self) -> str:
        """The key of REASONS for a missing number, interval or verdict; else empty."""
        if self.estimate.why:
            return self.estimate.why
        if np.isfinite(self.interval).all() or (self.test and not self.estimate.units):
            return ""
        return "too_few_units" if np.isfinite(self.value) else "undefined"

    @property
    def label(self) -> str:
        """What the row is called next to its number."""
        of = {name: self.about.codes.get(str(value), value) for name, value in self.of.items()}
        return counted(
            (self.about.label or self.about.name).format_map(defaultdict(str, of)).strip()
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """What rows of two conditions share if they are about the same thing."""
        return (
            self.topic,
            self.measure,
            tuple(sorted((name, str(value)) for name, value in self.of.items())),
        )


def nothing(
    measures: Iterable[str], why: str, of: Mapping[str, Any] | None = None, **about: Any
) -> Iterator[Row]:
    """Yield a row without a number for each measure, with the reason ``why``.

    ``about``: further fields; by default ``counts`` say that the rows rest on nothing.
    """
    for measure in measures:
        yield Row(measure, missing(why), of or {}, **{"counts": {"n": 0}, **about})


@dataclass(frozen=True)
class Caution:
    """What must be read before the numbers of a condition.

    ``kind``: a key of CAUTIONS. ``of``: the fields of its sentence. ``noun``: what a call gives.
    ``rate``: of two scores, which one passes.
    """

    kind: str
    condition: int = -1
    of: Mapping[str, Any] = field(default_factory=dict)
    topic: str = ""
    noun: str = "score"
    rate: PassRate | None = None

    @property
    def sentence(self) -> str:
        return CAUTIONS[self.kind].format(noun=self.noun, **self.of)


@dataclass(frozen=True)
class Chart:
    """A generic kind of chart and the measure it shows.

    ``by``: the field of ``Row.of`` along its axis. ``across``: the field of its lines or series.
    """

    kind: str
    measure: str
    by: str = ""
    across: str = ""


Per = Literal["arm", "setting", "run"]
Rows = Callable[..., Iterable[Row | Caution]]
"""A generator of rows about an ``Arm``, or about a list of arms: see ``Topic.per``."""


@dataclass(frozen=True)
class Topic:
    """A registered generator of rows.

    ``joins_judges``: its rows may rest on several judges at once. ``axes``: the kinds of lists that
    it speaks of. ``charts``: the pictures that it declares.
    ``per``: what its rows are about: an ``arm``; a ``setting``, as the list of arms that differ in
    their orders alone; or a ``run``, as the list of all its arms. A list holds only arms of the
    topic's ``axes``, in the conditions' order, and at least one.
    """

    key: str
    axes: frozenset[Reorder]
    charts: tuple[Chart, ...]
    rows: Rows
    per: Per = "arm"
    joins_judges: bool = False

    def subjects(self, arms: Sequence[Arm]) -> list[Any]:
        """Return what ``rows`` is called with, one after the other."""
        mine = [arm for arm in arms if arm.condition.reorder in self.axes]
        if self.per == "arm":
            return list(mine)
        if self.per == "setting":
            return list(grouped(mine, attrgetter("setting")))
        return [mine] if mine else []

    @cached_property
    def takes_reading(self) -> bool:
        """Return whether ``rows`` has a parameter ``reading``."""
        return "reading" in signature(self.rows).parameters


TOPICS: dict[str, Topic] = {}


def topic(
    key: str,
    *,
    axes: set[Reorder],
    charts: tuple[Chart, ...] = (),
    per: Per = "arm",
    joins_judges: bool = False,
) -> Callable[[Rows], Rows]:
    """Register a generator of rows (and cautions) about one arm, setting or run.

    ``axes``: the kinds of lists it speaks of. Rows about several arms say in ``condition`` which
    one they are about (the first where left out), and in ``of.against`` which one it is compared
    with. A generator with a parameter ``reading`` is given the run's reading: the smallest effects,
    ``epsilon``, ``cut``. ``joins_judges``: see ``Topic``.
    """

    def register(function: Rows) -> Rows:
        TOPICS[key] = Topic(key, frozenset(axes), charts, function, per, joins_judges)
        return function

    return register


@dataclass(frozen=True, eq=False)
class Findings:
    """Every number of a run in one reading, computed once when it is first asked for.

    Import ``rubriclab.measures`` before: it registers the topics.
    """

    judgments: Judgments
    reading: ReadingPart = field(default_factory=ReadingPart)

    @property
    def rows(self) -> list[Row]:
        return self._everything[0]

    @property
    def cautions(self) -> list[Caution]:
        return self._everything[1]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.judgments.conditions

    def levels(self, *codes: int) -> tuple[float, ...]:
        """Return the levels of single intervals about these conditions, or about all of the run.

        That is 0.95, or more where a condition was looked at before its end (``core/looks.py``).
        """
        arms = self.judgments.arms
        return tuple(arms[code].level for code in codes) or tuple(arm.level for arm in arms)

    def of_topic(self, topic: str) -> list[Row]:
        """Return the rows of a topic, or every row for “all”; maybe none.

        Raises LabError for a topic that does not exist.
        """
        known = ["verdict", *TOPICS]
        if topic not in ("all", *known):
            raise LabError(
                f"There is no topic “{shorten(str(topic))}”. There are {', '.join(known)}; “all” "
                f"is every one."
            )
        return [row for row in self.rows if topic in ("all", row.topic)]

    def select(
        self,
        measure: str | None = None,
        *,
        topic: str | None = None,
        condition: int | None = None,
        **of: Any,
    ) -> list[Row]:
        """Return the rows of a measure, topic and condition whose ``of`` has all that is named."""
        return [
            row
            for row in (self.rows if measure is None else self._by_measure.get(measure, []))
            if (topic is None or row.topic == topic)
            and (condition is None or row.condition == condition)
            and all(row.of.get(name) == value for name, value in of.items())
        ]

    def smallest_mean(self, condition: int) -> float:
        """Return the smallest change of the mean that matters, in points of a condition's scale."""
        return self.reading.smallest.points(self.conditions[condition].scores)

    def pass_rate(self, condition: int) -> PassRate | None:
        """Return what the mean score of a condition says as a pass rate.

        None unless its calls give one of two scores. Raises LabError for ``[reading] passes`` that
        is neither a label nor a score of them.
        """
        return self._pass_rates[condition]

    @cached_property
    def _pass_rates(self) -> list[PassRate | None]:
        made: list[PassRate | None] = []
        for code, about in enumerate(self.conditions):
            rate = None
            if about.reorder in ("options", "bare") and len(about.scores) == 2:
                labels = self.judgments.labels_of(code)
                passing = self.judgments.passing_score(code, self.reading)
                rate = pass_rate_of(about.scores, labels, passing)
            made.append(rate)
        return made

    # -------------------------------------------------------------------------------- the verdicts
    def verdicts_of(self, condition: int) -> Verdicts | None:
        """Return the verdicts about the orders of a condition's setting.

        None before the run is finished or looked at, and where nothing is listed.
        """
        return self._verdicts.get(self.conditions[condition].setting)

    def looks_of(self, condition: int) -> list[Look]:
        """Return the looks at a condition's setting; none where the run is looked at once."""
        return self._looks.get(self.conditions[condition].setting, [])

    @cached_property
    def last_looks(self) -> tuple[LastLook, ...]:
        """Where each judge is in each data set and axis; none where a run is looked at once."""
        made = []
        for known in self.judgments.looked:
            first = known.looks.conditions[0]
            units_at = known.looks.units
            plan = planned_looks(units_at[-1])
            looks = self.looks_of(first)
            words = set()
            if looks:
                words = {verdict.word for verdict in looks[-1].verdicts.questions.values()}
            made.append(
                LastLook(
                    judge=known.looks.judge,
                    scope=known.looks.scope,
                    condition=first,
                    number=known.complete,
                    units_at=units_at,
                    unit=self.judgments.arms[first].unit_kind,
                    alpha=known.alpha,
                    spent=plan.spent[max(known.complete - 1, 0)],
                    stops=bool(looks) and looks[-1].stops,
                    all_no=words == {"equivalent"},
                    needless=known.needless,
                    begun=known.begun,
                )
            )
        return tuple(made)

    @cached_property
    def forms(self) -> tuple[tuple[Form, Verdicts | None], ...]:
        """Each variant of each judge, with the verdicts about it against the default.

        None before the run is finished, and where the variant's scale has other ends.
        """
        arms = self.judgments.arms
        variants = [form for form in forms(arms) if not form.strategy]
        if not variants:
            return ()
        if self.judgments.finished:
            return tuple(form_verdicts(arms, self.reading.smallest))
        return tuple((form, None) for form in variants)

    @cached_property
    def company(self) -> tuple[Company, ...]:
        """What one call for all criteria changes, for each judge that was asked in both ways.

        Empty before the run is finished.
        """
        if not self.judgments.finished:
            return ()
        return tuple(company_effects(self.judgments.arms, self.reading.smallest))

    def gate_open(self, condition: int, variant: Any = None) -> bool | None:
        """Return whether the gate of a condition's setting is open; None where there is none.

        ``variant``: the gate of a variant against the default.
        """
        setting = self.conditions[condition].setting
        for row in self.select("gate"):
            same = self.conditions[row.condition].setting == setting
            if same and row.of.get("variant") == variant and np.isfinite(row.p):
                return row.rejects
        return None

    def withheld(self, row: Row) -> str:
        """Return why the verdicts of a row's setting are not answered with No
        (``core/fairness.py``), or empty.
        """
        setting = self.conditions[row.condition].setting
        variant = row.of.get("variant")
        for measure in QUESTIONS:
            for other in self.select(measure):
                same = self.conditions[other.condition].setting == setting
                if same and other.of.get("variant") == variant and other.estimate.why in WITHHELD:
                    return other.estimate.why
        return ""

    @cached_property
    def _verdicts(self) -> dict[tuple[Any, ...], Verdicts]:
        """The verdicts of each setting that lists something, once the run is finished."""
        given: dict[tuple[Any, ...], Verdicts] = {}
        for arms in self._settings:
            setting = arms[0].condition.setting
            if not _lists_something(arms) or not self.judgments.has_verdict(arms[0].code):
                continue
            looks = self._looks.get(setting)
            given[setting] = looks[-1].verdicts if looks else verdicts(arms, self.reading.smallest)
        return given

    @cached_property
    def _looks(self) -> dict[tuple[Any, ...], list[Look]]:
        """The looks at each setting that lists something, of a run that may stop early."""
        given = {}
        for arms in self._settings:
            looked = self.judgments.looked_of(arms[0].code)
            if looked is not None and _lists_something(arms):
                looks = looks_of(arms, looked, self.reading.smallest)
                given[arms[0].condition.setting] = looks
        return given

    @cached_property
    def _by_measure(self) -> dict[str, list[Row]]:
        """The rows of each measure: pages and pictures select by measure hundreds of times."""
        by_measure: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            by_measure[row.measure].append(row)
        return dict(by_measure)

    @property
    def _settings(self) -> list[list[Arm]]:
        return grouped(self.judgments.arms, attrgetter("setting"))

    # ------------------------------------------------------------------------------------ the rows
    @cached_property
    def _everything(self) -> tuple[list[Row], list[Caution]]:
        """(rows, cautions) of the whole run, in the order of JSON: verdicts, then topics."""
        if not TOPICS:
            raise RuntimeError(
                "No topic is registered: import rubriclab.measures before asking for findings."
            )
        rows: list[Row] = []
        cautions: list[Caution] = []
        for made in self._made():
            rate = self.pass_rate(made.condition)
            if isinstance(made, Row):
                rows.append(made if rate is None else replace(made, rate=rate))
            else:
                cautions.append(made if rate is None else replace(made, rate=rate))
        return rows, cautions

    def _made(self) -> Iterator[Row | Caution]:
        """Yield the rows of all verdicts, then of topics about an arm, then of all other topics."""
        for arms in self._settings:
            if _lists_something(arms):
                yield from self._verdict_rows(arms)
        for form, given in self.forms:
            yield from self._form_rows(form, given)
        every = self.judgments.arms
        of_an_arm = [topic for topic in TOPICS.values() if topic.per == "arm"]
        of_several = [topic for topic in TOPICS.values() if topic.per != "arm"]
        for arm in every:
            for topic in of_an_arm:
                for subject in topic.subjects([arm]):
                    yield from self._topic_rows(topic, subject)
        for topic in of_several:
            for subject in topic.subjects(every):
                yield from self._topic_rows(topic, subject)

    def _topic_rows(self, topic: Topic, subject: Any) -> Iterator[Row | Caution]:
        """Yield what a topic says of a subject, with the topic's name written in.

        A row without a condition is about the first arm.
        """
        first = subject.code if isinstance(subject, Arm) else subject[0].code
        reading = {"reading": self.reading} if topic.takes_reading else {}
        for row in topic.rows(subject, **reading):
            code = first if row.condition < 0 else row.condition
            if isinstance(row, Caution):
                noun = "winner" if self.conditions[code].chooses else "score"
                yield replace(row, topic=topic.key, condition=code, noun=noun)
            else:
                unit = self.judgments.arms[code].unit_kind
                alpha = self._alpha(row, code, subject if topic.joins_judges else ())
                level = max(row.level, 1 - alpha)
                yield replace(
                    row, topic=topic.key, condition=code, unit=unit, level=level, alpha=alpha
                )

    def _alpha(self, row: Row, condition: int, joined: Sequence[Arm]) -> float:
        """Return what a row's p is compared with: where it rests on several conditions, each at a
        look of its own, the least of theirs.
        """
        arms = [self.judgments.arms[condition], *joined]
        against = row.of.get("against")
        if isinstance(against, int) and 0 <= against < len(self.judgments.arms):
            arms.append(self.judgments.arms[against])
        return min(arm.alpha for arm in arms)

    def _verdict_rows(self, arms: Sequence[Arm]) -> Iterator[Row]:
        """Yield the questions and the gate of one judge, data set and variant."""
        arm = widest(arms)
        given = self._verdicts.get(arm.condition.setting)
        questions = [*QUESTIONS]
        if arm.condition.chooses:
            questions.remove("moves_mean")
        if given is None:
            yield from _without_verdict(questions, arm, "unfinished")
            return
        about: dict[str, Any] = {"topic": "verdict", "unit": arm.unit_kind, "condition": arm.code}
        # Examples without labels have nothing that a position could gain.
        missing = [name for name in questions if QUESTIONS[name] not in given.questions]
        yield from nothing(missing, "no_labels", {}, counts={}, **about)
        asked = [name for name in questions if name not in missing]
        yield from _rows_of(given, asked, arm.unit_kind)

    def _form_rows(self, form: Form, given: Verdicts | None) -> Iterator[Row]:
        """Yield the questions and the gate of one variant, whose name is in ``of.variant``."""
        arm = form.arms[0]
        questions = [name for name in QUESTIONS if name != "favours_positions"]
        if arm.condition.chooses:
            questions.remove("moves_mean")
        if given is None:
            why = "other_scores" if self.judgments.finished else "unfinished"
            yield from _without_verdict(questions, arm, why, form.name)
        else:
            yield from _rows_of(given, questions, arm.unit_kind, form.name)


def _lists_something(arms: Sequence[Arm]) -> bool:
    """Return whether the calls list anything, so that there is an order to speak of."""
    about = widest(arms).condition
    return about.reorder != "bare" and not about.asked_alone


def _without_verdict(
    measures: Sequence[str], arm: Arm, why: str, variant: str = ""
) -> Iterator[Row]:
    """Yield rows of verdicts that cannot be given, and of their gate."""
    of = {"variant": variant} if variant else {}
    about: dict[str, Any] = {"topic": "verdict", "unit": arm.unit_kind, "condition": arm.code}
    return nothing((*measures, "gate"), why, of, counts={}, **about)


def _rows_of(
    given: Verdicts, measures: Sequence[str], unit: str, variant: str = ""
) -> Iterator[Row]:
    """Yield the row of each verdict, and the row of their gate."""
    of = {"variant": variant} if variant else {}
    for measure in measures:
        question = QUESTIONS[measure]
        yield _verdict_row(measure, question, given.questions[question], given, unit, of)
    gate = given.gate
    yield Row(
        "gate",
        Estimate(float("nan"), np.zeros(0), np.zeros(0)),
        of=of,
        test=("permutation of calls over " + ("forms" if variant else "orders"), gate.p),
        counts={
            "n": given.items,
            "units": given.units,
            "deals": gate.deals,
            "exact": gate.exact,
            "parts": dict(gate.parts),
            "least": gate.least,
            "unparsed_p": given.unparsed_p,
        },
        topic="verdict",
        condition=given.condition,
        unit=unit,
        level=given.level,
        alpha=gate.spent,
    )


def _verdict_row(
    measure: str,
    question: str,
    verdict: Verdict,
    given: Verdicts,
    unit: str,
    of: Mapping[str, Any],
) -> Row:
    """Return the row of one verdict, as JSON and tables have it."""
    counts = {"n": given.items, "units": given.units, "above_zero": verdict.above_zero}
    return Row(
        measure,
        Estimate(verdict.value, np.zeros(0), np.zeros(0), why=verdict.why),
        of=of,
        test=(TESTS[question], verdict.p),
        counts=counts | verdict.details(),
        topic="verdict",
        condition=given.condition,
        unit=unit,
        level=given.level,
        alpha=given.alpha,
        verdict=verdict.word,
        smallest=verdict.smallest,
        ends=verdict.interval,
    )
