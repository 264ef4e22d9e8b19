"""A judge's verdict rows in; its answer in sentences out: headline, line, three questions, what to do.

Page, report and command line say these sentences alike. ``facts_of`` reads the rows, ``compose`` writes; beside a badge
stand only the verdict row's own ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.model.judgment import Condition
from rubriclab.model.text import LabError, count, shorten
from rubriclab.sinks.text import NBSP, beside, ends, number

EFFECT, EQUIVALENT, UNDECIDED = "effect", "equivalent", "undecided"
BADGES = {EFFECT: "Yes", EQUIVALENT: "No", UNDECIDED: "Undecided"}
QUESTIONS = {"positions": "favours_positions", "mean": "moves_mean", "single": "changes_single"}
FEWEST_UNITS = 8
CI = f"95{NBSP}% CI"
TITLES = {
    "options": {
        "positions": "Does it favour positions?",
        "mean": "Does reversing the list change the mean score?",
        "single": "Does it change single scores, beyond noise?",
    },
    "criteria": {
        "positions": "Does the position of a criterion change its score?",
        "mean": "Does listing the criteria the other way round change the mean?",
        "single": "Does it change single scores, beyond noise?",
    },
}


@dataclass(frozen=True)
class Verdict:
    """One verdict row: a magnitude with its ends, the word, and what it is held against (shares as fractions)."""

    word: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    smallest: float = 0.05
    above_zero: bool = False
    why: str = ""
    times: float = math.nan
    """How many times the units would decide; NaN where that is not known."""


@dataclass(frozen=True)
class Facts:
    """What the sentences of one judge on one data set and variant are made of.

    ``leans``: by position, of ``shares`` from ``expected`` (options: fractions; criteria: points from the own mean);
    ``decided``: whether the simultaneous band leaves out 0 behind the gate. ``flips``, ``noise``: fractions of scores
    that differ in other orders and in the same order. ``repeated``: every order was asked at least twice.
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
    gate: float = math.nan
    questions: Mapping[str, Verdict] = field(default_factory=dict)
    shares: tuple[float, ...] = ()
    expected: tuple[float, ...] = ()
    leans: tuple[float, ...] = ()
    decided: tuple[bool, ...] = ()
    line: float = math.nan
    turn: float = math.nan
    gap: tuple[float, float, float] | None = None
    flips: float = math.nan
    noise: float = math.nan
    repeated: bool = False
    typical: float = math.nan
    """Mean change of one score in another order beyond noise, points."""

    @property
    def gate_open(self) -> bool:
        return self.gate <= 0.05

    @property
    def largest(self) -> int | None:
        """The position that leans furthest (from 0); ties go to the first."""
        known = [(abs(round(lean, 9)), -p) for p, lean in enumerate(self.leans) if math.isfinite(lean)]
        return -max(known)[1] if known else None

    @property
    def top(self) -> int:
        """The position that gains most: what is described where nothing is decided (criteria: that leans furthest)."""
        if self.reorder == "criteria":
            return self.largest or 0
        known = [(round(lean, 9), -p) for p, lean in enumerate(self.leans) if math.isfinite(lean)]
        return -max(known)[1] if known else 0

    @property
    def lead(self) -> int | None:
        """The position that may be named: the largest whose band leaves out 0."""
        known = [(abs(round(lean, 9)), -p) for p, lean in enumerate(self.leans) if self.decided[p : p + 1] == (True,)]
        return -max(known)[1] if known else None

    @property
    def gap_matters(self) -> bool:
        """Behind the gate two orders differ by more than the smallest effect, whatever the two contrasts say."""
        mean = self.questions.get("mean")
        return bool(self.gate_open and self.gap and mean and self.gap[1] > mean.smallest)

    def is_(self, word: str, *questions: str) -> bool:
        return all(question in self.questions and self.questions[question].word == word for question in questions)


@dataclass(frozen=True)
class Question:
    """``badge``: Yes, No or Undecided, or empty where there is no verdict."""

    badge: str
    title: str
    sentence: str
    verdict: str = ""


@dataclass(frozen=True)
class Answer:
    """``strong``: the part of ``line`` in bold. ``early``: the sentence above the headline of an unfinished run.

    ``note``: the largest gap between two orders, which has no verdict.
    """

    judge: str
    condition: int
    headline: str
    line: str
    strong: str = ""
    questions: tuple[Question, ...] = ()
    note: str = ""
    advice: str = ""
    cautions: tuple[str, ...] = ()
    early: str = ""
    simulated: bool = False

    def lines(self) -> list[str]:
        """As plain lines, for a terminal."""
        head = self.headline if self.judge in self.headline else f"{self.judge}: {self.headline}"
        out = [self.early] if self.early else []
        out += [head + (" (simulated judge)" if self.simulated else ""), self.line]
        out += [f"  {asked.badge:<9}  {asked.title} {asked.sentence}" for asked in self.questions]
        out += [self.note] if self.note else []
        out += [f"What to do: {self.advice}"] if self.advice else []
        return out + [f"Caution: {caution}" for caution in self.cautions]


def answers(findings: Findings) -> list[Answer]:
    """The answer of every judge, on each data set and variant."""
    return [judged(findings, facts) for facts in every_facts(findings)]


def answer(
    findings: Findings, judge: str, dataset: str | None = None, variant: Mapping[str, Any] | None = None
) -> Answer:
    """What page, report and command line say of a judge. Raises LabError for a judge that the run does not have."""
    return judged(findings, facts_of(findings, judge, dataset, variant))


def judged(findings: Findings, facts: Facts) -> Answer:
    """The answer of facts that were read before, with the cautions of their conditions."""
    return compose(facts, _cautions(findings, facts))


def facts_of(
    findings: Findings, judge: str, dataset: str | None = None, variant: Mapping[str, Any] | None = None
) -> Facts:
    """What the sentences of a judge are made of, read off its rows. Raises LabError for one that is not there."""
    every = every_facts(findings, judge, dataset, variant)
    if every:
        return every[0]
    known = ", ".join(dict.fromkeys(shorten(condition.judge, 40) for condition in findings.conditions))
    raise LabError(f"This run has no judge “{shorten(judge)}”; it has {known}.")


def every_facts(
    findings: Findings, judge: str | None = None, dataset: str | None = None, variant: Mapping[str, Any] | None = None
) -> list[Facts]:
    """Facts of every setting (judge, data set, variant) that is asked for."""
    settings: dict[tuple[Any, ...], list[int]] = {}
    for code, condition in enumerate(findings.conditions):
        same = judge in (None, condition.judge) and dataset in (None, condition.dataset)
        if same and (variant is None or dict(condition.variant) == dict(variant)):
            settings.setdefault(condition.setting, []).append(code)
    return [_facts(findings, codes) for codes in settings.values()]


def _facts(findings: Findings, codes: list[int]) -> Facts:
    arms = [findings.judgments.arms[code] for code in codes]
    rows = [row for row in findings.rows if row.condition in codes]
    verdicts = {row.measure: row for row in rows if row.topic == "verdict"}
    most = max(codes, key=lambda code: len(findings.judgments.arms[code].shown))
    chosen = next((row.condition for row in verdicts.values()), most)
    arm = findings.judgments.arms[chosen]
    condition, table = arm.condition, findings.judgments.table

    def said(measure: str) -> bool:
        return measure in verdicts and bool(verdicts[measure].verdict)

    positions = verdicts.get("favours_positions")
    mean = verdicts.get("moves_mean")
    single = verdicts.get("changes_single")
    gate = verdicts.get("gate")
    shares, expected, leans = _shares(rows, condition, chosen, positions.counts if positions else {})
    outside = set(positions.counts.get("outside", ())) if positions else set()
    contrasts = mean.counts.get("contrasts", {}) if mean else {}
    gap = next((row for row in rows if row.measure == "largest_gap" and row.condition == chosen), None)
    excess = next((row for row in rows if row.measure == "order_excess" and row.condition == chosen), None)
    planned = table.planned or tuple(calls_in(arm.call) for arm in findings.judgments.arms)
    beside_single = single.counts if single else {}
    return Facts(
        judge=condition.judge,
        condition=chosen,
        reorder=condition.reorder,
        scores=tuple(condition.scores),
        calls=calls_in(arm.call[arm.ok]),
        asked=sum(calls_in(one.call) for one in arms),
        planned=sum(planned[code] for code in codes),
        finished=findings.judgments.finished,
        stopped=table.state in ("paused", "cancelled", "interrupted", "failed"),
        simulated=condition.simulated,
        items=arm.texts,
        units=int(positions.counts.get("units", arm.units)) if positions else arm.units,
        unit=arm.unit_kind,
        gate=gate.p if gate else math.nan,
        questions={key: _verdict(verdicts[measure]) for key, measure in QUESTIONS.items() if said(measure)},
        shares=shares,
        expected=expected,
        leans=leans,
        decided=tuple(p in outside for p in range(len(leans))),
        line=float(contrasts["line"][0]) if "line" in contrasts else math.nan,
        turn=float(contrasts["turn"][0]) if "turn" in contrasts else math.nan,
        gap=(gap.value, *gap.interval) if gap and all(map(math.isfinite, gap.interval)) else None,
        flips=float(beside_single.get("flips", math.nan)),
        noise=float(beside_single.get("own_noise", math.nan)),
        repeated=beside_single.get("noise") == "all",
        typical=excess.value if excess else math.nan,
    )


def calls_in(call: np.ndarray[Any, Any]) -> int:
    """How many calls a column of call numbers (rows,) holds; one pass where it is sorted, as a run's is."""
    steps = np.diff(call)
    return int(np.count_nonzero(steps) + min(len(call), 1)) if bool((steps >= 0).all()) else len(np.unique(call))


def _shares(
    rows: list[Row], condition: Condition, code: int, counts: Mapping[str, Any]
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """(shares, expected shares, leans) by position; of criteria: (shifts, zeros, shifts) in points, over all criteria."""
    n = condition.positions
    leans = tuple(map(float, counts.get("leans", ())))
    if condition.reorder == "criteria":
        if not leans:
            by_position = [
                [row.value for row in rows if row.measure == "position_shift" and row.of["position"] == p + 1]
                for p in range(n)
            ]
            known = all(by_position)
            leans = tuple(float(np.nanmean(values)) for values in by_position) if known else ()
        return leans, (0.0,) * len(leans), leans
    shares = tuple(row.value for row in rows if row.measure == "position_share" and row.condition == code)
    if len(leans) != len(shares):
        leans = tuple(share - 1 / n for share in shares)
    expected = tuple(map(float, counts.get("expected", ())))
    if len(expected) != len(shares):
        expected = (1 / n,) * len(shares) if n else ()
    return shares, expected, leans


def _verdict(row: Row) -> Verdict:
    """A verdict row as sentences need it."""
    low, high = row.interval
    more = row.counts.get("more_units")
    times = 1 + more / row.counts["units"] if more and row.counts.get("units") else math.nan
    above = bool(row.counts.get("above_zero", row.verdict == EFFECT))
    return Verdict(row.verdict, row.value, low, high, row.smallest, above, row.estimate.why, times)


def _cautions(findings: Findings, facts: Facts) -> tuple[str, ...]:
    """The cautions of the condition that the verdicts are about, each sentence once."""
    mine = [
        re.sub(r"(?<=\d)%", f"{NBSP}%", caution.sentence)
        for caution in findings.cautions
        if caution.condition in (-1, facts.condition)
    ]
    return tuple(dict.fromkeys(mine))


def compose(facts: Facts, cautions: tuple[str, ...] = ()) -> Answer:
    """The answer of one judge in the sentences of its axis."""
    judge = shorten(facts.judge, 100)
    if not facts.calls:
        line = f"0 of {count(facts.asked, 'reply', 'replies')} could be parsed. The replies stand in Judgments."
        headline = f"No score of {judge} could be read"
        return Answer(judge, facts.condition, headline, line, cautions=cautions, simulated=facts.simulated)
    position, line, strong = _line(facts)
    seen = Answer(judge, facts.condition, "", line, strong, cautions=cautions, simulated=facts.simulated)
    if not facts.finished or not facts.questions:
        return replace(seen, headline=_so_far(facts, judge, position), early=_early(facts))
    questions = tuple(_question(facts, key) for key in QUESTIONS if key in facts.questions)
    headline = _headline(facts, judge)
    return replace(seen, headline=headline, questions=questions, note=_note(facts), advice=_advice(facts))


def _note(facts: Facts) -> str:
    """Behind the gate, the two orders that differ most: beside the questions, for no verdict speaks of them."""
    if not facts.gate_open or facts.gap is None or facts.reorder != "options":
        return ""
    value, low, high = facts.gap
    if low <= 0:
        return ""
    return f"Between the two orders that differ most, the mean differs by {_points(value)} ({ends(low, high, '.2f')})."


def _listed(position: int, positions: int) -> str:
    """“listed first”, “listed last” or “at position 3” (``position`` from 0)."""
    if position == 0:
        return "listed first"
    return "listed last" if position == positions - 1 else f"at position {position + 1}"


def _percent(value: float) -> str:
    return number(value, ".0%")


def _points(value: float) -> str:
    return f"{number(value, '.2f')}{NBSP}points"


def _limit(value: float, unit: str) -> str:
    """A smallest effect with its unit: “0.25 points”, “5 percentage points”, “5 in 100”."""
    if unit == "points":
        return _points(value)
    return f"{number(100 * value, '.3g')}{NBSP}{unit}" if unit == "percentage points" else number(100 * value, ".3g")


def _unit(facts: Facts, question: str) -> tuple[str, str, float]:
    """(unit, format, factor from the row's number to the one shown) of a question's numbers."""
    if question == "single":
        return "in 100", ".0f", 100.0
    if question == "positions" and facts.reorder == "options":
        return "percentage points", ".0f", 100.0
    return "points", ".2f", 1.0


def _shown(facts: Facts, question: str) -> tuple[str, str, str, str]:
    """(value, interval, high, smallest) of a verdict row, each rounded so that none crosses what decides it."""
    verdict = facts.questions[question]
    unit, form, factor = _unit(facts, question)
    limits = (0.0, verdict.smallest * factor)
    low, high = verdict.low * factor, verdict.high * factor
    inside = ends(low, high, form, limits=limits)
    if inside and verdict.above_zero and not low:
        inside = f"above 0, at most {beside(high, limits, form)}"
    upper = beside(high, limits, form) if math.isfinite(high) else ""
    return number(verdict.value * factor, form), inside, upper, _limit(verdict.smallest, unit)


def _line(facts: Facts) -> tuple[int, str, str]:
    """(position, line below the headline, its bold part)."""
    position = facts.lead if facts.lead is not None and facts.is_(EFFECT, "positions") else facts.top
    calls = count(facts.calls, "call")
    if facts.reorder == "criteria":
        if not facts.leans:
            return position, f"{calls} were parsed.", ""
        if facts.is_(EQUIVALENT, "positions"):
            strong = f"{number(min(facts.leans), '+.2f')} to {number(max(facts.leans), '+.2f')}{NBSP}points"
            return position, f"At each position, criteria score {strong} from their own mean, in {calls}.", strong
        lean = facts.leans[position]
        strong = _points(abs(lean))
        way = "higher" if lean > 0 else "lower"
        return (
            position,
            f"At position {position + 1}, criteria score {strong} {way} than their own mean, in {calls}.",
            strong,
        )
    if not facts.shares:
        return position, f"{calls} were parsed.", ""
    share, even = _percent(facts.shares[position]), facts.expected[position] if facts.expected else math.nan
    if facts.is_(EQUIVALENT, "positions"):
        low, high = _percent(min(facts.shares)).removesuffix(NBSP + "%"), _percent(max(facts.shares))
        strong = f"{low} to {high}" if low != high.removesuffix(NBSP + "%") else high
        fewest, most = (_percent(ends(facts.expected)) for ends in (min, max)) if facts.expected else ("", "")
        without = f"each would get {most}" if fewest == most else f"they would get {fewest} to {most}"
        return position, f"Every position was chosen in {strong} of {calls}. Without position bias, {without}.", strong
    if facts.is_(EFFECT, "positions") and facts.lead is not None:
        text = f"It chose position {position + 1} in {share} of {calls}. Without position bias it would be {_percent(even)}."
    else:
        text = f"It chose position {position + 1} in {share} of {calls}; {_percent(even)} would be even."
    return position, text, share


def _early(facts: Facts) -> str:
    if facts.stopped:
        return f"Stopped after {facts.asked:,} of {facts.planned:,} calls. No answer before the end."
    return f"Early estimate from {facts.asked:,} of {facts.planned:,} calls. No answer before the end."


def _so_far(facts: Facts, judge: str, position: int) -> str:
    """The headline where there is no verdict: what was seen, without a word that judges it."""
    if facts.reorder == "criteria":
        return f"{judge}: criteria at position {position + 1} differ most from their own mean so far"
    share = _percent(facts.shares[position]) if facts.shares else "no"
    return f"{judge} chose the option {_listed(position, len(facts.shares))} in {share} of calls so far"


def _too_few(facts: Facts) -> bool:
    return facts.units < FEWEST_UNITS


def _headline(facts: Facts, judge: str) -> str:
    positions = facts.questions["positions"]
    n = len(facts.leans)
    _, _, upper, _ = _shown(facts, "positions")
    most = f"at most {upper}{NBSP}{_unit(facts, 'positions')[0]}"
    if positions.word == EFFECT:
        if facts.lead is None:
            return f"Some positions are favoured ({most}); which is not settled"
        if facts.reorder == "criteria":
            return f"Scores of {judge} depend on where a criterion is listed"
        verb = "favours" if facts.leans[facts.lead] > 0 else "avoids"
        return f"{judge} {verb} the option {_listed(facts.lead, n)}"
    if positions.word == EQUIVALENT:
        if positions.above_zero and facts.lead is not None:
            way = "leans to" if facts.leans[facts.lead] > 0 else "leans away from"
            return f"{judge} {way} position {facts.lead + 1}, less than matters ({most})"
        if positions.above_zero:
            return f"{judge} leans to some positions, less than matters ({most})"
        if facts.reorder == "criteria":
            nothing = f"{judge}: no position raises or lowers the criteria taken together"
        else:
            nothing = f"{judge} favours no position"
        if facts.is_(EFFECT, "mean") or facts.gap_matters:
            return f"{nothing}, but the order changes its mean score"
        return f"{nothing}, but the order changes single scores" if facts.is_(EFFECT, "single") else nothing
    if facts.is_(EFFECT, "mean"):
        return f"{judge}: reversing the list changes the mean score"
    if (facts.gate_open or facts.is_(EFFECT, "single")) and not _blocked(facts):
        return f"{judge}: the order matters; how is not settled"
    if _too_few(facts) and facts.reorder == "options" and facts.shares:
        share = _percent(facts.shares[facts.top])
        return f"{judge} chose the option {_listed(facts.top, n)} in {share} of {count(facts.calls, 'call')}"
    if _too_few(facts):
        return f"Undecided: too few groups to judge {judge}"
    if facts.reorder == "criteria":
        return "Undecided: no position clearly raises or lowers scores"
    return "Undecided: no position is clearly favoured"


def _blocked(facts: Facts) -> bool:
    """Unparsed replies may go with the order: nothing is said."""
    return any(verdict.why == "unparsed_by_order" for verdict in facts.questions.values())


def _question(facts: Facts, question: str) -> Question:
    verdict = facts.questions[question]
    write = {"positions": _about_positions, "mean": _about_mean, "single": _about_single}[question]
    sentence = write(facts, verdict)
    return Question(BADGES[verdict.word], TITLES[facts.reorder][question], sentence, verdict.word)


def _undecided(facts: Facts, question: str) -> str:
    """“Up to {high} are possible; {s} would matter”, or why nothing can be said."""
    verdict = facts.questions[question]
    if verdict.why == "unparsed_by_order":
        return "Unparsed replies may go with the order, so nothing can be said."
    if not math.isfinite(verdict.high):
        if verdict.why in ("too_few_units", "few_deals", "") and _too_few(facts):
            return f"Too few groups for a confidence interval: {facts.units}, {FEWEST_UNITS} are needed."
        return REASONS.get(verdict.why, "There is no interval.")
    _, _, upper, smallest = _shown(facts, question)
    unit = _unit(facts, question)[0]
    noise = ", noise included" if question == "single" and not facts.repeated else ""
    return f"Up to {upper}{NBSP}{unit} are possible{noise}; {smallest} would matter."


def _about_positions(facts: Facts, verdict: Verdict) -> str:
    value, inside, upper, smallest = _shown(facts, "positions")
    criteria = facts.reorder == "criteria"
    if verdict.word == UNDECIDED:
        return _undecided(facts, "positions")
    if verdict.word == EQUIVALENT:
        if verdict.above_zero:
            unit = _unit(facts, "positions")[0]
            return f"A lean is there, at most {upper}{NBSP}{unit}: smaller than matters ({smallest})."
        if criteria:
            return (
                f"No position raises or lowers the criteria taken together by {smallest} (largest: {value}, {inside})."
            )
        return f"No position differs from even by {smallest} or more (largest: {value}, {inside})."
    if facts.lead is None or facts.lead != facts.largest:
        where = "The furthest position"
    else:
        where = f"Position {facts.lead + 1}" if not criteria else f"At position {facts.lead + 1}"
    up = facts.lead is None or facts.leans[facts.lead] > 0
    if criteria:
        way = "higher" if up else "lower"
        if facts.lead is None or facts.lead != facts.largest:
            return f"The furthest position is {value}{NBSP}points from the criteria's own mean ({inside})."
        return f"{where} criteria score {value}{NBSP}points {way} than their own mean ({inside})."
    if facts.lead is None or facts.lead != facts.largest:
        return f"{where} is {value}{NBSP}percentage points from even ({inside})."
    return f"{where}: {value}{NBSP}percentage points {'above' if up else 'below'} even ({inside})."


def _about_mean(facts: Facts, verdict: Verdict) -> str:
    value, inside, upper, smallest = _shown(facts, "mean")
    by_turn = not math.isfinite(facts.line) or (math.isfinite(facts.turn) and abs(facts.turn) > abs(facts.line))
    ends_of_scale = f"{facts.scores[0]:g} to {facts.scores[-1]:g}" if facts.scores else "upwards"
    backwards = f"{facts.scores[-1]:g} to {facts.scores[0]:g}" if facts.scores else "downwards"
    listing = f"Listing {ends_of_scale} instead of {backwards}"
    if facts.reorder == "criteria":
        listing = "Listing the criteria forward instead of backward"
    signed = facts.turn if by_turn else facts.line
    if verdict.word == UNDECIDED:
        sentence = _undecided(facts, "mean")
    elif verdict.word == EQUIVALENT:
        if verdict.above_zero:
            sentence = f"A change is there, at most {upper}{NBSP}points: smaller than matters ({smallest})."
        else:
            sentence = f"{listing} changes it by less than {smallest} ({value}, {inside})."
    elif by_turn and facts.reorder == "options":
        way = "higher" if signed > 0 else "lower"
        sentence = (
            f"Lists that run upwards, from wherever they begin, score {value}{NBSP}points {way} than those that run "
            f"downwards ({inside})."
        )
    else:
        way = "raises" if signed > 0 else "lowers"
        sentence = f"{listing} {way} the mean by {value}{NBSP}points ({inside})."
    return sentence


def _about_single(facts: Facts, verdict: Verdict) -> str:
    value, inside, upper, smallest = _shown(facts, "single")
    if verdict.word == UNDECIDED:
        if beyond_noise_without_order(facts):
            return (
                f"In another order {number(100 * facts.flips, '.0f')} in 100 scores change; asked again in the same order "
                f"{number(100 * facts.noise, '.0f')} do. No position and no direction explains it, so any small change of "
                "the prompt may do the same: ask a reworded prompt (a variant) to find out."
            )
        return _undecided(facts, "single")
    if verdict.word == EQUIVALENT:
        if verdict.above_zero:
            return f"Some scores change with the order, at most {upper} in 100: smaller than matters ({smallest})."
        noise = "beyond noise" if facts.repeated else "noise included"
        if verdict.value < verdict.low:
            return f"Fewer than {smallest} in 100 scores change with the order, {noise} ({inside})."
        return f"Fewer than {smallest} in 100 scores change with the order, {noise} ({value}, {inside})."
    if not math.isfinite(verdict.high):
        rests = f"{count(facts.units, 'group')}" if _too_few(facts) else "this design"
        return f"The order changes single scores; how many cannot be said from {rests}."
    if not facts.repeated:
        return f"Scores change with the prompt's order: {value} in 100, noise included (at most {upper})."
    if verdict.value * 100 < 0.5:
        return f"Scores change with the order beyond noise, at most {upper} in 100."
    typical = f"; typical change of one score: {_points(facts.typical)}" if math.isfinite(facts.typical) else ""
    return f"{value} in 100 scores change with the order beyond noise ({inside}){typical}."


def beyond_noise_without_order(facts: Facts) -> bool:
    """Other orders differ more than the same order does, though no test ties it to the order (verdicts, section 0, 2)."""
    verdict = facts.questions["single"]
    return verdict.word == UNDECIDED and verdict.why == "any_prompt"


def _advice(facts: Facts) -> str:
    """What to do: the first rule that holds."""
    single = facts.questions["single"]
    if single.word == EFFECT and facts.repeated and single.low >= single.smallest:
        return "average several orders; do not use single scores."
    if facts.is_(EFFECT, "positions") and facts.is_(EQUIVALENT, "mean", "single") and not facts.gap_matters:
        return "the bias is too small to matter in scores; check again when the judge changes."
    if any(verdict.word == EFFECT for verdict in facts.questions.values()) or facts.gap_matters:
        return "average several orders, or compare only within one order."
    if beyond_noise_without_order(facts):
        return "average several orders or wordings."
    if facts.is_(EQUIVALENT, *QUESTIONS):
        return "one order is enough."
    if _blocked(facts):
        return "not decided; first make the replies parse, then ask again in a new run."
    if single.why in ("no_orders", "no_two_orders"):
        return "not decided; ask in several orders in a new run: balanced orders, each twice."
    if _too_few(facts):
        needed = FEWEST_UNITS - facts.units
        return f"not decided; add answers to at least {count(needed, 'more instruction' if facts.unit == 'prompt' else 'more item')}."
    if single.word == UNDECIDED and not facts.repeated:
        return "not decided; a new run that asks every order twice would tell the order from noise."
    times = [verdict.times for verdict in facts.questions.values() if verdict.word == UNDECIDED]
    known = [factor for factor in times if math.isfinite(factor) and factor > 1]
    if len(known) < len(times) or not known:
        return "not decided; a new run with more answers may decide."
    return f"not decided; about {_rounded(max(known) * facts.items):,} answers in a new run would decide."


def _rounded(value: float) -> int:
    """Two leading digits, upwards: 137 is about 140."""
    size = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / size) * size)
