"""A judge's rows in; what its sentences and pictures are made of out: verdicts, shares, leans,
contrasts, counts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rubriclab.core.cells import is_full
from rubriclab.core.fairness import FreeMass, free_mass
from rubriclab.core.judgments import Arm
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import QUESTIONS, Findings, Row
from rubriclab.core.variant_effects import Form, forms
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.measures.advice import Action, decide
from rubriclab.model.judgment import Condition, level_text, variant_text
from rubriclab.words.phrases import SENTENCES, decimals_of_difference, order_title

AXES = {
    kind: SENTENCES[kind]["name"]
    for kind in ("options", "criteria", "responses", "pairs", "lists", "bare")
}
"""What a call lists, as it is read."""
IN_POINTS = ("criteria", "responses")
"""Axes whose leans are points; those of the others are shares."""
CHOICES = ("pairs", "lists")
EFFECT, EQUIVALENT, UNDECIDED = "effect", "equivalent", "undecided"
PEOPLE = {"people", "agreement", "alt_test", "corrected_means"}
"""Topics that tell of the judge beside people, and not of orders."""
MEASURE_OF = {question: measure for measure, question in QUESTIONS.items()}


@dataclass(frozen=True)
class Facts:
    """What the sentences of one judge on one data set and variant are made of.

    ``leans``: by position, of ``shares`` from ``expected`` (options: fractions; criteria: points
    from the own mean), all three the verdict's own, in which every answer counts once;
    ``averaged``: whether that is another number than the share of all calls, because answers lost
    different numbers of replies; ``intervals``: of ``leans``, the verdict's own, empty where there
    is none; ``decided``: whether the simultaneous band leaves out 0 behind the gate. ``flips``,
    ``noise``: fractions of scores that differ in other orders and in the same order. ``questions``:
    verdict rows by their question. ``repeated``: every order was asked at least twice.
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
    criterion: str = ""
    """Of criteria of one call: the one that position moves most, and by how much it does, in
    points.
    """
    criterion_size: float = math.nan
    gate: float = math.nan
    questions: Mapping[str, Row] = field(default_factory=dict)
    shares: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    leans: tuple[float, ...] = ()
    intervals: tuple[tuple[float, float], ...] = ()
    averaged: bool = False
    decided: tuple[bool, ...] = ()
    line: float = math.nan
    turn: float = math.nan
    trend: bool = False
    """Is the contrast of the mean a line through more orders than a list and its reverse?"""
    orders: int = 0
    """How many orders the verdicts rest on."""
    gap: tuple[float, float, float] | None = None
    gap_seen: float = math.nan
    """The gap of the two orders furthest apart as it was seen; ``gap`` is corrected for having
    picked them.
    """
    reversed_list: Row | None = None
    """The measured difference of the list and its reverse, made of the calls in these two orders
    alone.
    """
    flips: float = math.nan
    noise: float = math.nan
    repeated: bool = False
    typical: float = math.nan
    """Mean change of one score in another order beyond noise, points."""
    about: str = ""
    """Data set and setting, as far as the run has several."""
    variant: str = ""
    """The variant that the questions are about, held against ``default``; empty where they are
    about orders.
    """
    default: str = ""
    default_condition: int = -1
    shift: float = math.nan
    """Of a variant: its mean score - that of the default, points."""
    free_mass: FreeMass | None = None
    """Of a judge whose replies were constrained: what its labels get without that."""

    @property
    def kind(self) -> str:
        """What is asked about: the axis whose order changes, or a variant."""
        return "variant" if self.variant else self.reorder

    @property
    def in_points(self) -> bool:
        """Are leans points, not shares?"""
        return self.reorder in IN_POINTS

    @property
    def unmoved(self) -> bool:
        """Return whether no score changed with the order, so that shares are even by design."""
        return self.flips == 0.0 and all(abs(lean) < 1e-9 for lean in self.leans)

    @property
    def share_decimals(self) -> int:
        """Return with how many decimals shares are written, in percent; one number for all of a
        screen.

        As many as keep the difference that the verdict speaks of on its side of what decides it,
        and as keep a share that is neither 0 nor 100% from being written as one of them.
        """
        decimals = 0
        while decimals < 3 and any(
            round(100 * share, decimals) in (0.0, 100.0) and not math.isclose(share, round(share))
            for share in self.shares
        ):
            decimals += 1
        asked, position = self.questions.get("positions"), self.spoken
        if asked is None or position is None or not math.isfinite(self.expected[position]):
            return decimals
        sign = 1 if self.leans[position] >= 0 else -1
        ends = sorted(100 * sign * end for end in asked.interval)
        known = all(map(math.isfinite, ends))
        return decimals_of_difference(
            100 * self.shares[position],
            100 * self.expected[position],
            decimals,
            limits=(100 * asked.smallest, -100 * asked.smallest),
            inside=(ends[0], ends[1]) if known else (-math.inf, math.inf),
        )

    @property
    def spoken(self) -> int | None:
        """The position whose share is put into words: the one that may be named, else the largest
        lean.
        """
        return self.largest if self.named is None else self.named

    @property
    def gate_open(self) -> bool:
        return self.gate <= ALPHA

    @property
    def largest(self) -> int | None:
        """The position that leans furthest (from 0)."""
        return _first_largest({p: abs(lean) for p, lean in enumerate(self.leans)})

    @property
    def top(self) -> int:
        """The position that gains most: what is described where nothing is decided (criteria: that
        leans furthest).
        """
        gains = self.largest if self.in_points else _first_largest(dict(enumerate(self.leans)))
        return gains or 0

    @property
    def lead(self) -> int | None:
        """The position that may be named: the largest whose band leaves out 0."""
        return _first_largest(
            {p: abs(lean) for p, lean in enumerate(self.leans) if self.decided[p]}
        )

    @property
    def named(self) -> int | None:
        """The position that a sentence is about: of a pair the side that gains, else the one that
        may be named.
        """
        return self.lead if self.lead is None or self.reorder != "pairs" else self.top

    @property
    def by_turn(self) -> bool:
        """Is the contrast to be told that of lists running upwards, wherever they begin, and not of
        the two ends?
        """
        named = self.questions["mean"].counts.get("named") if "mean" in self.questions else None
        return (
            named == "turn"
            if named
            else not math.isfinite(self.line) or abs(self.turn) > abs(self.line)
        )

    @property
    def gap_matters(self) -> bool:
        """Behind the gate two orders differ by more than the smallest effect, whatever the two
        contrasts say.
        """
        mean = self.questions.get("mean")
        return bool(self.gate_open and self.gap and mean and self.gap[1] > mean.smallest)

    @property
    def action(self) -> Action:
        """What to do, as ``topics.advice`` decides it from the verdicts."""
        return decide(
            self.questions,
            reorder=self.reorder,
            gap_matters=self.gap_matters,
            units=self.units,
            repeated=self.repeated,
        )

    @property
    def too_few(self) -> bool:
        return self.units < MIN_UNITS

    def because(self, *whys: str) -> bool:
        """Is any of these reasons why a question has no answer?"""
        return any(row.estimate.why in whys for row in self.questions.values())

    def is_(self, word: str, *questions: str) -> bool:
        """Do all these questions have this answer?"""
        return all(
            question in self.questions and self.questions[question].verdict == word
            for question in questions
        )


def words_of(facts: Facts) -> tuple[str, ...]:
    """The tables of sentences that speak of these facts, the most special last."""
    family = {**dict.fromkeys(IN_POINTS, "points"), **dict.fromkeys(CHOICES, "choices")}.get(
        facts.reorder, "every"
    )
    return "every", family, facts.reorder, facts.kind


def _first_largest(values: Mapping[int, float]) -> int | None:
    """The key of the largest value, the first of equal ones (1e-9); None where none is known."""
    known = [(round(value, 9), -key) for key, value in values.items() if math.isfinite(value)]
    return -max(known)[1] if known else None


def settings(conditions: Sequence[Condition], judge: str, dataset: str) -> dict[str, int]:
    """The settings of one judge on one data set: name -> its first condition, in their order.

    A name says what tells a setting from the others: what a call lists, the variant (the first is
    the default), the scale, how many a call lists.
    """
    codes = [
        code
        for code in _settings(conditions)
        if (conditions[code].judge, conditions[code].dataset) == (judge, dataset)
    ]
    every = [conditions[code] for code in codes]
    own = every[0].variant if every else {}
    parts = (
        [AXES[asked.reorder] for asked in every],
        [variant_text(asked.variant, own) or "default" for asked in every],
        [f"scores {order_title(asked.scores)}" for asked in every],
        [f"{asked.positions} in a list" for asked in every],
    )
    telling: list[list[str]] = []
    for names in parts:
        if len(set(names)) > 1 and len(set(zip(*telling, strict=True))) < len(every):
            telling.append(names)
    named: dict[str, int] = {}
    for k, code in enumerate(codes):
        name = " · ".join(names[k] for names in telling) or AXES[every[k].reorder]
        named[name if name not in named else f"{name} ({k + 1})"] = code
    return named


def _settings(conditions: Sequence[Condition]) -> list[int]:
    """The first condition of every setting: a judge on a data set and variant."""
    first: dict[tuple[Any, ...], int] = {}
    for code, condition in enumerate(conditions):
        first.setdefault(condition.setting, code)
    return list(first.values())


def every_facts(findings: Findings) -> list[Facts]:
    """Facts of every setting."""
    return [facts_of(findings, code) for code in _settings(findings.conditions)]


def facts_of(findings: Findings, condition: int = 0) -> Facts:
    """What the sentences of a condition's judge are made of, on its data set and variant, read off
    the rows.
    """
    setting = findings.conditions[condition].setting
    codes = [code for code, other in enumerate(findings.conditions) if other.setting == setting]
    arms = [findings.judgments.arms[code] for code in codes]
    rows = [row for row in findings.rows if row.condition in codes]
    verdicts = {row.measure: row for row in rows if row.topic == "verdict" and not row.of}
    chosen = (
        verdicts["gate"].condition
        if "gate" in verdicts
        else max(arms, key=lambda arm: len(arm.shown)).code
    )
    counts = {key: verdicts[name].counts for key, name in MEASURE_OF.items() if name in verdicts}
    positions, contrasts = counts.get("positions", {}), counts.get("mean", {}).get("contrasts", {})
    arm, table = findings.judgments.arms[chosen], findings.judgments.table
    shares, expected, leans = _shares(rows, arm, positions)
    called = [
        row.value for row in rows if row.measure == "position_share" and row.condition == arm.code
    ]
    beside = {row.measure: row for row in rows if row.condition == chosen}
    gap, excess = beside.get("largest_gap"), beside.get("order_excess")
    shown = {tuple(order) for part in arms for order in part.shown.tolist()}
    planned = table.planned or tuple(calls_in(part.call) for part in findings.judgments.arms)
    return Facts(
        judge=arm.condition.judge,
        condition=chosen,
        reorder=arm.condition.reorder,
        scores=tuple(arm.condition.scores),
        calls=sum(calls_in(part.call[part.ok]) for part in (arms if positions else [arm])),
        asked=sum(calls_in(part.call) for part in arms),
        planned=sum(planned[code] for code in codes),
        finished=findings.judgments.finished,
        stopped=table.state in ("paused", "cancelled", "interrupted", "failed"),
        simulated=arm.condition.simulated,
        items=arm.answers,
        units=int(positions.get("units", 0)) or arm.units,
        unit=arm.unit_kind,
        **_criterion(arm, positions),
        shares=shares,
        expected=expected,
        leans=leans,
        intervals=_intervals(verdicts.get(MEASURE_OF["positions"])),
        averaged=len(called) == len(shares)
        and any(abs(a - b) > 1e-6 for a, b in zip(called, shares, strict=True)),
        decided=tuple(p in positions.get("outside", ()) for p in range(len(leans))),
        line=float(contrasts.get("line", [math.nan])[0]),
        turn=float(contrasts.get("turn", [math.nan])[0]),
        trend=len(shown) != 2 or any(order[::-1] not in shown for order in shown),
        orders=len(shown),
        gap=(gap.value, *gap.interval) if gap and all(map(math.isfinite, gap.interval)) else None,
        gap_seen=float(gap.counts.get("seen", math.nan)) if gap else math.nan,
        reversed_list=beside.get("reversed_list"),
        typical=excess.value if excess else math.nan,
        about=_about(findings.conditions, chosen),
        free_mass=free_mass(arms),
        **_judged(verdicts),
    )


def _judged(rows: Mapping[str, Row]) -> dict[str, Any]:
    """The fields of facts that verdict rows (by measure) fill: gate, questions, and what is known
    of noise.
    """
    counts: Mapping[str, Any] = (
        rows[MEASURE_OF["single"]].counts if MEASURE_OF["single"] in rows else {}
    )
    return {
        "gate": rows["gate"].p if "gate" in rows else math.nan,
        "questions": {
            key: rows[name]
            for key, name in MEASURE_OF.items()
            if name in rows and rows[name].verdict
        },
        "flips": float(counts.get("flips", math.nan)),
        "noise": float(counts.get("own_noise", math.nan)),
        "repeated": counts.get("noise") == "all",
    }


def _about(conditions: Sequence[Condition], code: int) -> str:
    """Data set and setting of a condition, as far as the run has several."""
    own = conditions[code]
    named = settings(conditions, own.judge, own.dataset)
    setting = next(
        name for name, first in named.items() if conditions[first].setting == own.setting
    )
    parts = [own.dataset] * (len({asked.dataset for asked in conditions}) > 1) + [setting] * (
        len(named) > 1
    )
    return " · ".join(parts)


def facts_to_say(findings: Findings) -> list[Facts]:
    """Every setting's own, then each variant's against the default."""
    pairs = dict.fromkeys((asked.judge, asked.dataset) for asked in findings.conditions)
    every = [facts for pair in pairs for facts in facts_by_name(findings, *pair).values()]
    return sorted(every, key=lambda facts: bool(facts.variant))


def facts_by_name(findings: Findings, judge: str, dataset: str) -> dict[str, Facts]:
    """What may be said of a judge on a data set: of the orders of each setting, then of each
    variant against the default.

    Where variants are asked in one order each, nothing can be said of orders, and those settings
    are left out.
    """
    named = settings(findings.conditions, judge, dataset)
    forms = variants_of(findings, next(iter(named.values())))
    orders = {name: facts_of(findings, code) for name, code in named.items()}
    kept = {
        name: facts for name, facts in orders.items() if not (forms and facts.because("no_orders"))
    }
    return kept | {f"{facts.variant} against {facts.default}": facts for facts in forms}


def variants_of(findings: Findings, condition: int) -> list[Facts]:
    """What may be said of each variant of a condition's judge and data set, held against the
    default.
    """
    own, arms = findings.conditions[condition], findings.judgments.arms
    mine = [
        arm
        for arm in arms
        if (arm.condition.judge, arm.condition.dataset) == (own.judge, own.dataset)
    ]
    return [_variant(findings, form) for form in forms(mine) if not form.strategy]


def _variant(findings: Findings, form: Form) -> Facts:
    """The facts of one variant from its verdict rows, which stand in one of its conditions."""
    default_of = {arm.code: base for base, arm in zip(form.base, form.arms, strict=True)}
    verdicts = findings.select(topic="verdict", variant=form.name)
    rows = {row.measure: row for row in verdicts if row.condition in default_of}
    code = next(iter(rows.values())).condition
    default, factor = default_of[code].condition, form.name.partition(" = ")[0]
    against = (
        f"{factor} = {level_text(default.variant[factor])}"
        if factor in default.variant
        else default.strategy
    )
    dataset = [default.dataset] * (len({asked.dataset for asked in findings.conditions}) > 1)
    shifts = findings.select("variant_shift", condition=code, variant=form.name)
    return replace(
        facts_of(findings, code),
        condition=code,
        units=next((int(row.counts["units"]) for row in rows.values() if "units" in row.counts), 0),
        typical=math.nan,
        gap=None,
        reversed_list=None,
        about=" · ".join([*dataset, f"{form.name} against {against}"]),
        variant=form.name,
        default=against,
        default_condition=default_of[code].code,
        shift=shifts[0].value if shifts else math.nan,
        **_judged(rows),
    )


def calls_in(call: np.ndarray[Any, Any]) -> int:
    """How many calls a column of call numbers (rows,) holds; one pass where it is sorted, as a
    run's is.
    """
    steps = np.diff(call)
    return (
        int(np.count_nonzero(steps) + min(len(call), 1))
        if bool((steps >= 0).all())
        else len(np.unique(call))
    )


def _criterion(arm: Arm, positions: Mapping[str, Any]) -> dict[str, Any]:
    """The criterion that its position moves most, where a call scores several."""
    if "sizes" not in positions:
        return {}
    furthest = positions["criterion"]
    return {
        "criterion": arm.condition.targets[furthest],
        "criterion_size": float(positions["sizes"][furthest]),
    }


def _shares(
    rows: list[Row], arm: Arm, counts: Mapping[str, Any]
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """(shares, expected shares, leans) by position; of criteria: (shifts, zeros, shifts) in points,
    over all criteria.

    Before there are verdicts shares are held against even ones, or against nothing (NaN) where not
    every score stood at every position: a share is then also that of its score.
    """
    n = arm.positions
    shares, expected, leans = (
        tuple(map(float, counts.get(key, ()))) for key in ("shares", "expected", "leans")
    )
    if arm.condition.reorder in IN_POINTS:
        shifts = [row for row in rows if row.measure == "position_shift" and np.isfinite(row.value)]
        by_position = [
            [row.value for row in shifts if row.of["position"] == p + 1] for p in range(n)
        ]
        if not leans and all(by_position):
            leans = tuple(float(np.mean(values)) for values in by_position)
        return leans, (0.0,) * len(leans), leans
    if not shares:
        shares = tuple(
            row.value
            for row in rows
            if row.measure == "position_share" and row.condition == arm.code
        )
    if len(leans) != len(shares):
        leans = tuple(share - 1 / n for share in shares)
    if len(expected) != len(shares):
        expected = (1 / n if is_full(arm.shown) else math.nan,) * len(shares)
    return shares, expected, leans


def _intervals(row: Row | None) -> tuple[tuple[float, float], ...]:
    """The intervals of leans by position, as the verdict about positions has them.

    Of an effect the position that it is about has the very ends that its sentence says.
    """
    if row is None or not math.isfinite(row.interval[1]):
        return ()
    ends = [(float(low), float(high)) for low, high in row.counts["intervals"]]
    if row.verdict == EFFECT and "sizes" not in row.counts:  # of criteria it is no lean
        low, high = row.interval
        own = (low, high) if row.counts["lean"] >= 0 else (-high, -low)
        ends[row.counts["position"]] = own
    return tuple(ends)
