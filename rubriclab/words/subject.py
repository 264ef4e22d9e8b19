"""Gather what the sentences and pictures about one judge are made of: verdicts, rows, and counts.

Nothing is estimated here. A ``Subject`` holds the records of ``core/verdict.py`` and rows of
topics as they were made, and its properties choose which of them sentences speak of.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rubriclab.core.cells import is_full
from rubriclab.core.estimate import share
from rubriclab.core.fairness import FreeMass, free_mass
from rubriclab.core.judgments import Arm, widest
from rubriclab.core.ladder import (
    LadderWord,
    QuestionWord,
    ladder_word,
    question_words,
    units_of_new_run,
)
from rubriclab.core.looks import LastLook
from rubriclab.core.topic import QUESTIONS, Findings, Row
from rubriclab.core.variant_effects import Form, forms
from rubriclab.core.verdict import (
    MIN_UNITS,
    Interval,
    MeanVerdict,
    PositionVerdict,
    SingleVerdict,
    Verdict,
    Verdicts,
)
from rubriclab.measures.advice import Action, decide, gap_matters
from rubriclab.model.judgment import Condition, level_text, variant_text
from rubriclab.model.passing import PassRate
from rubriclab.words.phrases import SENTENCES, decimals_of_difference, order_title

AXES = {
    kind: SENTENCES[kind]["name"]
    for kind in ("options", "criteria", "responses", "pairs", "lists", "bare", "examples")
}
"""The name of each kind of list that a call may show."""
IN_POINTS = ("criteria", "responses", "examples")
"""Kinds of lists whose leans are points. Those of the others are shares."""
CHOICES = ("pairs", "lists")
"""Kinds of lists from which a call chooses a winner."""
EFFECT, EQUIVALENT, UNDECIDED = "effect", "equivalent", "undecided"
PEOPLE = {"people", "agreement", "alt_test", "corrected_means", "pass_fail"}
"""Topics about the judge and people, which say nothing of orders."""
MEASURE_OF = {question: measure for measure, question in QUESTIONS.items()}
LEAST_DECIMALS = 1
"""Decimals of a share in percent: its difference from an even share is read off the two."""
OUTDONE = 2
"""A position is not named where another one leans more than so many times as far."""
MOST_DECIMALS = 3
"""Decimals of a share in percent, at most: a share of 0.001% is not written as 0%."""


@dataclass(frozen=True)
class ByPosition:
    """What each position of the list got.

    ``shares``, ``expected`` and ``leans`` (share - expected) as in ``PositionVerdict``; for lists
    IN_POINTS the shares are the leans. ``expected`` is NaN where not every score was at every
    position. ``intervals``: of the leans, empty where there are none. ``outside``: the positions
    that surely lean. ``averaged``: whether the shares differ from those of all calls taken
    together, because answers lost different numbers of replies.
    """

    shares: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    leans: tuple[float, ...] = ()
    intervals: tuple[Interval, ...] = ()
    outside: tuple[int, ...] = ()
    averaged: bool = False


@dataclass(frozen=True)
class Subject:
    """What one answer on the screen is about: a judge on one data set, in one setting.

    ``condition``: the one with the most orders, which the verdicts are about. ``calls``: parsed
    ones; ``asked``: those that were answered at all; ``planned``: all. ``items``: answers judged.
    ``criterion``: of several criteria in a call, the one that positions move most. ``trend``:
    whether the contrast of the mean is a line through more orders than a list and its reverse.
    ``orders``: how many orders the verdicts rest on. ``gap``: the row of the two orders furthest
    apart; ``reversed_list``: the row of the list and its reverse, from the calls in these two
    orders alone. ``rate``: of two scores, which one passes. ``pass_rates``: its share where it is
    listed first and where it is listed last, with ``pass_intervals``. ``about``: data set and
    setting, as far as the run has several. ``free_mass``: of a constrained judge. ``look``: the
    last one, if the run may stop early. ``passages``: the examples are passages, of which some hold
    the answer.

    Where the verdicts are about a variant: ``variant`` and ``default``, what it is compared with;
    ``default_condition``: where that was asked; ``shift``: the variant's mean score - the
    default's, in points.
    """

    judge: str
    condition: int
    reorder: str = "options"
    scores: tuple[float, ...] = ()
    calls: int = 0
    asked: int = 0
    planned: int = 0
    finished: bool = True
    stopped: bool = False
    simulated: bool = False
    items: int = 0
    units: int = 0
    unit: str = "item"
    verdicts: Verdicts | None = None
    by_position: ByPosition = field(default_factory=ByPosition)
    criterion: str = ""
    trend: bool = False
    orders: int = 0
    gap: Row | None = None
    reversed_list: Row | None = None
    pass_rates: tuple[float, float] = (math.nan, math.nan)
    pass_intervals: tuple[Interval, ...] = ()
    rate: PassRate | None = None
    about: str = ""
    variant: str = ""
    default: str = ""
    default_condition: int = -1
    shift: float = math.nan
    free_mass: FreeMass | None = None
    look: LastLook | None = None
    passages: bool = False

    @property
    def kind(self) -> str:
        """What is asked about: the kind of list whose order changes, or a variant.

        On a scale of two scores, positions and the mean are one question: the pass rate. Examples
        of which some hold the answer are passages.
        """
        if self.variant:
            return "variant"
        if self.passages:
            return "passages"
        return "pass_rate" if self.has_pass_rate else self.reorder

    @property
    def has_pass_rate(self) -> bool:
        """Return whether a call lists two scores, so that the mean is a pass rate."""
        return self.reorder == "options" and self.rate is not None

    @property
    def rate_moved(self) -> float:
        """How much more often an answer passes if the score that passes is listed first.

        In percentage points, as the verdict's contrast says it; NaN where there is none.
        """
        if self.rate is None:
            return math.nan
        # The contrast is of the list from low to high.
        first_in_it = self.rate.score < self.rate.other
        moved = self.rate.factor * self.line
        return moved if first_in_it else -moved

    @property
    def level(self) -> float:
        """The level of the verdicts' intervals: 0.95, or more after an earlier look at the run."""
        return 0.95 if self.verdicts is None else self.verdicts.level

    @property
    def in_points(self) -> bool:
        """Return whether leans are points, not shares."""
        return self.reorder in IN_POINTS

    # ------------------------------------------------------------------------------ the verdicts
    @property
    def questions(self) -> Mapping[str, Verdict]:
        return {} if self.verdicts is None else self.verdicts.questions

    @property
    def positions(self) -> PositionVerdict | None:
        return None if self.verdicts is None else self.verdicts.positions

    @property
    def mean(self) -> MeanVerdict | None:
        return None if self.verdicts is None else self.verdicts.mean

    @property
    def single(self) -> SingleVerdict | None:
        return None if self.verdicts is None else self.verdicts.single

    @property
    def word(self) -> LadderWord | None:
        """The word of the ladder (``core/ladder.py``).

        None before there are verdicts, and for a variant: the ladder is about orders.
        """
        if self.verdicts is None or self.variant or not self.finished:
            return None
        return ladder_word(self.verdicts, gap_matters=self.gap_matters)

    @property
    def words(self) -> Mapping[str, QuestionWord]:
        """The word of each question, by its name."""
        return {} if self.verdicts is None else question_words(self.verdicts)

    @property
    def units_of_new_run(self) -> int | None:
        """About how many units a new run needs to decide; None where that is not known."""
        return None if self.verdicts is None else units_of_new_run(self.verdicts)

    @property
    def gate_open(self) -> bool:
        return self.verdicts is not None and self.verdicts.gate.open

    @property
    def repeated(self) -> bool:
        """Return whether every order was asked at least twice, so that noise is known."""
        return self.single is not None and self.single.repeated

    @property
    def too_few(self) -> bool:
        return self.units < MIN_UNITS

    def because(self, *whys: str) -> bool:
        """Return whether any of these reasons limits a question."""
        return any(verdict.why in whys for verdict in self.questions.values())

    def is_(self, word: str, *questions: str) -> bool:
        """Return whether all these questions have this verdict."""
        return all(
            question in self.questions and self.questions[question].word == word
            for question in questions
        )

    @property
    def gap_matters(self) -> bool:
        """Return whether two orders surely differ by more than matters, whatever the contrasts
        say.
        """
        return gap_matters(self.verdicts, self.gap)

    @property
    def action(self) -> Action:
        """What to do, as ``measures/advice.py`` decides it from the verdicts."""
        return decide(
            self.questions,
            reorder=self.reorder,
            gap_matters=self.gap_matters,
            units=self.units,
            repeated=self.repeated,
        )

    # ------------------------------------------------------------------------------ the positions
    @property
    def shares(self) -> tuple[float, ...]:
        return self.by_position.shares

    @property
    def expected(self) -> tuple[float, ...]:
        return self.by_position.expected

    @property
    def leans(self) -> tuple[float, ...]:
        return self.by_position.leans

    @property
    def before_first_look(self) -> bool:
        """Return whether the run may stop early and has not been looked at yet."""
        return self.look is not None and not self.look.number

    @property
    def unmoved(self) -> bool:
        """Return whether no score changed with the order, so that shares are even by design."""
        flips = self.single.flips if self.single is not None else math.nan
        return flips == 0.0 and all(abs(lean) < 1e-9 for lean in self.leans)

    @property
    def largest(self) -> int | None:
        """The position that leans furthest (from 0)."""
        return _first_largest({p: abs(lean) for p, lean in enumerate(self.leans)})

    @property
    def top(self) -> int:
        """The position that is described where nothing is decided: the one that gains most, or
        leans furthest where leans are points.
        """
        gains = self.largest if self.in_points else _first_largest(dict(enumerate(self.leans)))
        return gains or 0

    @property
    def lead(self) -> int | None:
        """The position that may be named: the largest that surely leans, or to whose side every
        unit leans.

        There is none where another position, which is not sure, leans more than OUTDONE times as
        far: naming the smaller one would hide what every picture shows.
        """
        named = {*self.by_position.outside}
        if self.positions is not None:
            named |= {*self.positions.unanimous}
        lead = _first_largest({p: abs(self.leans[p]) for p in named})
        if lead is None or self.largest is None:
            return None
        furthest = abs(self.leans[self.largest])
        return None if furthest > OUTDONE * abs(self.leans[lead]) else lead

    @property
    def unanimous(self) -> bool:
        """Return whether the position is named only because every unit leans to its side."""
        if self.positions is None or self.lead in self.by_position.outside:
            return False
        return self.lead in self.positions.unanimous

    @property
    def named(self) -> int | None:
        """The position that a sentence is about: of a pair the side that gains, else the one that
        may be named.
        """
        if self.lead is not None and self.reorder == "pairs":
            return self.top
        return self.lead

    @property
    def spoken(self) -> int | None:
        """The position whose share is put into words: the one that may be named, else the largest
        lean.

        Of more than two positions it is the largest one also where a smaller one is named: the
        question is about the furthest position, and its interval is that position's.
        """
        if self.named is None or (self.reorder != "pairs" and self.named != self.largest):
            return self.largest
        return self.named

    @property
    def share_decimals(self) -> int:
        """The number of decimals of shares in percent, one for all of a screen.

        As many as keep the difference that the verdict speaks of on its side of what decides it,
        and as keep a share that is neither 0 nor 100% from being written as one of them.
        """
        decimals = LEAST_DECIMALS
        while decimals < MOST_DECIMALS and _written_as_all_or_none(self.shares, decimals):
            decimals += 1
        position = self.spoken
        if self.positions is None or position is None:
            return decimals
        if not math.isfinite(self.expected[position]):
            return decimals
        sign = 1 if self.leans[position] >= 0 else -1
        low, high = sorted(100 * sign * end for end in self.positions.interval)
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high = -math.inf, math.inf
        limit = 100 * self.positions.smallest
        return decimals_of_difference(
            100 * self.shares[position],
            100 * self.expected[position],
            decimals,
            limits=(limit, -limit),
            inside=(low, high),
            off=1.0,  # two roundings: one decimal is enough for the difference to be read off
        )

    # ------------------------------------------------------------------------- the mean's contrast
    @property
    def line(self) -> float:
        return self._contrast("line")

    @property
    def turn(self) -> float:
        return self._contrast("turn")

    @property
    def by_turn(self) -> bool:
        """Return whether sentences are about lists that run upwards, wherever they begin, and not
        about the two ends.
        """
        if self.mean is not None and self.mean.named:
            return self.mean.named == "turn"
        return not math.isfinite(self.line) or abs(self.turn) > abs(self.line)

    def _contrast(self, name: str) -> float:
        contrasts = {} if self.mean is None else self.mean.contrasts
        return contrasts[name].value if name in contrasts else math.nan


def sentence_tables(subject: Subject) -> tuple[str, ...]:
    """Return the tables of sentences that speak of a subject, the most special last."""
    family = "every"
    if subject.in_points:
        family = "points"
    elif subject.reorder in CHOICES:
        family = "choices"
    tables = ["every", family, subject.reorder, subject.kind]
    if subject.variant and subject.rate is not None:
        tables.append("variant_pass_rate")
    return tuple(tables)


def end_of_list(reorder: str, position: int, positions: int) -> str:
    """Return “first”, “last” or, of a pair, “second”; empty for a position (from 0) between."""
    if position == 0:
        return "first"
    if position == positions - 1:
        return "second" if reorder == "pairs" else "last"
    return ""


def place_text(reorder: str, position: int, positions: int) -> str:
    """Say where something is in the list: “listed first”, “shown second”, “listed at position 3”.

    ``position``: from 0.
    """
    verb = "shown" if reorder == "pairs" else "listed"
    return f"{verb} {end_of_list(reorder, position, positions) or f'at position {position + 1}'}"


def _written_as_all_or_none(shares: Sequence[float], decimals: int) -> bool:
    """Return whether a share would be written as 0 or 100% without being that."""
    return any(
        round(100 * share, decimals) in (0.0, 100.0) and not math.isclose(share, round(share))
        for share in shares
    )


def _first_largest(values: Mapping[int, float]) -> int | None:
    """Return the key of the largest value, the first of equal ones (1e-9); None where none is
    known.
    """
    known = [(round(value, 9), -key) for key, value in values.items() if math.isfinite(value)]
    return -max(known)[1] if known else None


# ---------------------------------------------------------------- the settings of a run
def settings(conditions: Sequence[Condition], judge: str, dataset: str) -> dict[str, int]:
    """Return the settings of one judge on one data set: name -> its first condition, in order.

    A name says what tells a setting from the others: what a call lists, the variant (the first is
    the default), the scale, how many a call lists.
    """
    codes = [
        code
        for code in _first_conditions(conditions)
        if (conditions[code].judge, conditions[code].dataset) == (judge, dataset)
    ]
    every = [conditions[code] for code in codes]
    default = every[0].variant if every else {}
    parts = (
        [AXES[about.reorder] for about in every],
        [variant_text(about.variant, default) or "default" for about in every],
        [f"scores {order_title(about.scores)}" for about in every],
        [f"{about.positions} in a list" for about in every],
    )
    telling: list[list[str]] = []
    for names in parts:
        told_apart = len(set(zip(*telling, strict=True))) == len(every)
        if len(set(names)) > 1 and not told_apart:
            telling.append(names)
    named: dict[str, int] = {}
    for k, code in enumerate(codes):
        name = " · ".join(names[k] for names in telling) or AXES[every[k].reorder]
        if name in named:
            name = f"{name} ({k + 1})"
        named[name] = code
    return named


def _first_conditions(conditions: Sequence[Condition]) -> list[int]:
    """Return the first condition of every setting.

    What was asked about one criterion by itself has no orders: ``words/company.py`` speaks of it.
    """
    first: dict[tuple[Any, ...], int] = {}
    for code, condition in enumerate(conditions):
        if not condition.criterion_alone:
            first.setdefault(condition.setting, code)
    return list(first.values())


_SUBJECTS: WeakKeyDictionary[Findings, tuple[Subject, ...]] = WeakKeyDictionary()
"""The subjects of findings, for as long as somebody holds the findings. A subject holds rows and
verdicts, and so never the findings themselves."""


def subjects_of_orders(findings: Findings) -> list[Subject]:
    """Return a subject for every setting: the orders of its lists.

    Each is made once for the same findings: a page of several judges asks for them many times.
    """
    known = _SUBJECTS.get(findings)
    if known is None:
        codes = _first_conditions(findings.conditions)
        known = _SUBJECTS[findings] = tuple(subject_of(findings, code) for code in codes)
    return list(known)


def subjects(findings: Findings) -> list[Subject]:
    """Return every subject: each setting's own, then each variant against the default."""
    pairs = dict.fromkeys((about.judge, about.dataset) for about in findings.conditions)
    every = [subject for pair in pairs for subject in subjects_by_name(findings, *pair).values()]
    return sorted(every, key=lambda subject: bool(subject.variant))


def subjects_by_name(findings: Findings, judge: str, dataset: str) -> dict[str, Subject]:
    """Return the subjects of a judge on a data set: the orders of each setting, then each variant.

    Where variants are asked in one order each, nothing can be said of orders, and those settings
    are left out.
    """
    named = settings(findings.conditions, judge, dataset)
    variants = subjects_of_variants(findings, min(named.values()))
    orders = {name: subject_of(findings, code) for name, code in named.items()}
    if variants:
        orders = {
            name: subject for name, subject in orders.items() if not subject.because("no_orders")
        }
    return orders | {f"{of.variant} against {of.default}": of for of in variants}


def subjects_of_variants(findings: Findings, condition: int) -> list[Subject]:
    """Return each variant of a condition's judge and data set, compared with the default."""
    own = findings.conditions[condition]
    mine = [
        (form, given)
        for form, given in findings.forms
        if form.arms[0].condition.judge == own.judge
        and form.arms[0].condition.dataset == own.dataset
    ]
    # In the order of the conditions, whatever the order in which they were tested.
    order = [form.arms[0].code for form in forms(findings.judgments.arms)]
    mine.sort(key=lambda pair: order.index(pair[0].arms[0].code))
    return [_variant(findings, form, given) for form, given in mine]


# ---------------------------------------------------------------- one subject
def subject_of(findings: Findings, condition: int = 0) -> Subject:
    """Return the subject of a condition's setting: judge, data set, kind of list and variant."""
    setting = findings.conditions[condition].setting
    arms = [arm for arm in findings.judgments.arms if arm.condition.setting == setting]
    verdicts = findings.verdicts_of(condition)
    arm = widest(arms) if verdicts is None else findings.judgments.arms[verdicts.condition]
    own = {row.measure: row for row in findings.rows if row.condition == arm.code}
    positions = None if verdicts is None else verdicts.positions
    criterion = ""
    if positions is not None and positions.criteria is not None:
        criterion = arm.condition.targets[positions.criteria.criterion]
    table = findings.judgments.table
    planned = table.planned or tuple(calls_in(part.call) for part in findings.judgments.arms)
    shown = {tuple(order) for part in arms for order in part.shown.tolist()}
    rate = findings.pass_rate(arm.code)
    pass_rates, pass_intervals = _pass_rates(arms, verdicts, rate)
    return Subject(
        judge=arm.condition.judge,
        condition=arm.code,
        reorder=arm.condition.reorder,
        scores=tuple(arm.condition.scores),
        calls=sum(calls_in(part.call[part.ok]) for part in (arms if positions else [arm])),
        asked=sum(calls_in(part.call) for part in arms),
        planned=sum(planned[part.code] for part in arms),
        finished=findings.judgments.has_verdict(arm.code),
        stopped=table.state in ("paused", "cancelled", "interrupted", "failed"),
        simulated=arm.condition.simulated,
        items=arm.answers,
        units=(0 if verdicts is None else verdicts.units) or arm.units,
        unit=arm.unit_kind,
        verdicts=verdicts,
        by_position=_by_position(findings, arm, arms, positions),
        criterion=criterion,
        trend=len(shown) != 2 or any(order[::-1] not in shown for order in shown),
        orders=len(shown),
        gap=own.get("largest_gap"),
        reversed_list=own.get("reversed_list"),
        pass_rates=pass_rates,
        pass_intervals=pass_intervals,
        rate=rate,
        about=_about(findings.conditions, arm.code),
        free_mass=free_mass(arms),
        look=_look(findings, arm.condition),
        passages=arm.condition.passages,
    )


def _look(findings: Findings, condition: Condition) -> LastLook | None:
    """Return the last look at a condition's judge; None if the run is looked at once."""
    for look in findings.last_looks:
        if (look.judge, look.scope) == (condition.judge, condition.scope):
            return look
    return None


def _variant(findings: Findings, form: Form, given: Verdicts | None) -> Subject:
    """Return the subject of one variant, whose rows are stored on one of its conditions."""
    code = form.arms[0].code if given is None else given.condition
    default_of = {arm.code: base for base, arm in zip(form.base, form.arms, strict=True)}
    default, factor = default_of[code].condition, form.name.partition(" = ")[0]
    against = default.strategy
    if factor in default.variant:
        against = f"{factor} = {level_text(default.variant[factor])}"
    about = [f"{form.name} against {against}"]
    if len({condition.dataset for condition in findings.conditions}) > 1:
        about.insert(0, default.dataset)
    shifts = findings.select("variant_shift", condition=code, variant=form.name)
    return replace(
        subject_of(findings, code),
        condition=code,
        units=0 if given is None else given.units,
        verdicts=given,
        gap=None,
        reversed_list=None,
        about=" · ".join(about),
        variant=form.name,
        default=against,
        default_condition=default_of[code].code,
        shift=shifts[0].value if shifts else math.nan,
    )


def _about(conditions: Sequence[Condition], code: int) -> str:
    """Return data set and setting of a condition, as far as the run has several."""
    own = conditions[code]
    parts = []
    if len({condition.dataset for condition in conditions}) > 1:
        parts.append(own.dataset)
    named = settings(conditions, own.judge, own.dataset)
    if len(named) > 1 and not own.criterion_alone:
        names = {conditions[first].setting: name for name, first in named.items()}
        parts.append(names[own.setting])
    return " · ".join(parts)


def _pass_rates(
    arms: Sequence[Arm], verdicts: Verdicts | None, rate: PassRate | None
) -> tuple[tuple[float, float], tuple[Interval, ...]]:
    """Return the pass rates where the score that passes is listed first, and where it is last; and
    their intervals, none where there is no rate.

    Each answer counts once. The difference of the two is the one that the verdict is about.
    """
    nothing = (math.nan, math.nan), ()
    mean = None if verdicts is None else verdicts.mean
    if rate is None or verdicts is None or mean is None or mean.named not in mean.contrasts:
        return nothing
    points = np.concatenate([arm.value[arm.ok] for arm in arms])
    texts = np.concatenate([arm.item_code[arm.item[arm.ok]] for arm in arms])
    units = np.concatenate([arm.unit[arm.item[arm.ok]] for arm in arms])
    # Names start with the lower score: code 0.
    lists = np.concatenate([arm.shown[arm.order[arm.ok], 0] for arm in arms])
    passed = (points - rate.other) / (rate.score - rate.other)
    last = lists == (1 if rate.score < rate.other else 0)
    _, first_row, text = np.unique(texts, return_index=True, return_inverse=True)
    cell = 2 * text + last
    cells = 2 * len(first_row)
    with np.errstate(invalid="ignore"):
        shares = np.bincount(cell, passed, cells) / np.bincount(cell, minlength=cells)
    of_text = shares.reshape(-1, 2)
    both = np.isfinite(of_text).all(axis=1)  # asked in both orders
    if not both.any():
        return nothing
    middle = float(of_text[both].mean())
    # The contrast is of the list from low to high: there the higher score is last.
    half = mean.contrasts[mean.named].value / abs(rate.score - rate.other) / 2
    present, unit = np.unique(units[first_row][both], return_inverse=True)
    trials = np.bincount(unit).astype(np.float64)
    intervals = []
    for column in of_text[both].T:
        passes = np.bincount(unit, column).astype(np.float64)
        estimate = share(passes, trials, present.astype(np.int64))
        intervals.append(estimate.interval(1 - verdicts.alpha))
    return (middle - half, middle + half), tuple(intervals)


def calls_in(call: NDArray[Any]) -> int:
    """Return how many calls a column of call numbers (rows,) holds.

    One pass where it is sorted, as a run's is.
    """
    steps = np.diff(call)
    if bool((steps >= 0).all()):
        return int(np.count_nonzero(steps) + min(len(call), 1))
    return len(np.unique(call))


# ---------------------------------------------------------------- what each position got
def _by_position(
    findings: Findings, arm: Arm, arms: Sequence[Arm], verdict: PositionVerdict | None
) -> ByPosition:
    """Return what each position got: the verdict's own numbers, else those of the rows.

    Shares, expected shares and leans all have the same source, so that they add up.
    """
    if verdict is None or not verdict.leans:
        if arm.condition.reorder in IN_POINTS:
            return _shifts_of_rows(findings, arm, arms)
        return _shares_of_rows(findings, arm)
    if arm.condition.reorder in IN_POINTS:
        shares, expected = verdict.leans, (0.0,) * len(verdict.leans)
    else:
        shares, expected = verdict.shares, verdict.expected
    of_calls = _shares_of_rows(findings, arm).shares
    averaged = len(of_calls) == len(shares) and any(
        abs(a - b) > 1e-6 for a, b in zip(of_calls, shares, strict=True)
    )
    return ByPosition(
        shares=shares,
        expected=expected,
        leans=verdict.leans,
        intervals=verdict.drawn_intervals,
        outside=verdict.outside,
        averaged=averaged,
    )


def _shares_of_rows(findings: Findings, arm: Arm) -> ByPosition:
    """Return the shares of an arm's calls, compared with even ones.

    Without an expected share where not every score was at every position: a position's share is
    then also the share of its score.
    """
    rows = findings.select("position_share", condition=arm.code)
    even = 1 / arm.positions
    shares = tuple(row.value for row in rows)
    return ByPosition(
        shares=shares,
        expected=(even if is_full(arm.shown) else math.nan,) * len(shares),
        leans=tuple(share - even for share in shares),
    )


def _shifts_of_rows(findings: Findings, arm: Arm, arms: Sequence[Arm]) -> ByPosition:
    """Return how far scores at each position lie from their own mean, in points, over criteria."""
    codes = {part.code for part in arms}
    by_position: list[list[float]] = [[] for _ in range(arm.positions)]
    for row in findings.select("position_shift"):
        if row.condition in codes and math.isfinite(row.value):
            by_position[row.of["position"] - 1].append(row.value)
    if not all(by_position):
        return ByPosition()
    leans = tuple(float(np.mean(values)) for values in by_position)
    return ByPosition(shares=leans, expected=(0.0,) * len(leans), leans=leans)
