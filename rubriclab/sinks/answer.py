"""A judge's verdict rows in; its answer in sentences out: headline, line, three questions, what to do.

Page, report and command line say these sentences alike; beside a badge stand only the verdict row's own ends.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.core.topic import REASONS, Findings
from rubriclab.model.text import count, shorten
from rubriclab.sinks.facts import (
    EFFECT,
    EQUIVALENT,
    FEWEST_UNITS,
    QUESTIONS,
    UNDECIDED,
    Facts,
    Verdict,
    every_facts,
    facts_of,
)
from rubriclab.sinks.text import NBSP, beside, ends, number

__all__ = ["BADGES", "TITLES", "Answer", "Question", "answer", "answers", "compose", "facts_of", "judged"]

BADGES = {EFFECT: "Yes", EQUIVALENT: "No", UNDECIDED: "Undecided"}
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
    named = facts.is_(EFFECT, "positions") and facts.lead is not None
    position = facts.lead if named and facts.lead is not None else facts.top
    calls = count(facts.calls, "call")
    if not facts.shares:
        return position, f"{calls} were parsed.", ""
    if facts.reorder == "criteria":
        return _line_of_criteria(facts, position, calls)
    strong = _percent(facts.shares[position])
    if facts.is_(EQUIVALENT, "positions"):
        strong = _range(facts.shares)
        each = _range(facts.expected)
        without = f"each would get {each}" if " to " not in each else f"they would get {each}"
        return position, f"Every position was chosen in {strong} of {calls}. Without position bias, {without}.", strong
    even = _percent(facts.expected[position])
    without = f". Without position bias it would be {even}." if named else f"; {even} would be even."
    return position, f"It chose position {position + 1} in {strong} of {calls}{without}", strong


def _line_of_criteria(facts: Facts, position: int, calls: str) -> tuple[int, str, str]:
    if facts.is_(EQUIVALENT, "positions"):
        strong = f"{number(min(facts.leans), '+.2f')} to {number(max(facts.leans), '+.2f')}{NBSP}points"
        return position, f"At each position, criteria score {strong} from their own mean, in {calls}.", strong
    lean = facts.leans[position]
    strong, way = _points(abs(lean)), "higher" if lean > 0 else "lower"
    text = f"At position {position + 1}, criteria score {strong} {way} than their own mean, in {calls}."
    return position, text, strong


def _range(shares: tuple[float, ...]) -> str:
    """“19 to 21 %”, or “20 %” where all are equal as they are written."""
    low, high = _percent(min(shares)), _percent(max(shares))
    return high if low == high else f"{low.removesuffix(NBSP + '%')} to {high}"


def _early(facts: Facts) -> str:
    what = "Stopped after" if facts.stopped else "Early estimate from"
    return f"{what} {facts.asked:,} of {facts.planned:,} calls. No answer before the end."


def _so_far(facts: Facts, judge: str, position: int) -> str:
    """The headline where there is no verdict: what was seen, without a word that judges it."""
    if facts.reorder == "criteria":
        return f"{judge}: criteria at position {position + 1} differ most from their own mean so far"
    share = _percent(facts.shares[position]) if facts.shares else "no"
    return f"{judge} chose the option {_listed(position, len(facts.shares))} in {share} of calls so far"


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
        nothing = f"{judge} favours no position"
        if facts.reorder == "criteria":
            nothing = f"{judge}: no position raises or lowers the criteria taken together"
        if facts.is_(EFFECT, "mean") or facts.gap_matters:
            return f"{nothing}, but the order changes its mean score"
        return f"{nothing}, but the order changes single scores" if facts.is_(EFFECT, "single") else nothing
    if facts.is_(EFFECT, "mean"):
        return f"{judge}: reversing the list changes the mean score"
    if (facts.gate_open or facts.is_(EFFECT, "single")) and not facts.blocked:
        return f"{judge}: the order matters; how is not settled"
    if facts.too_few and facts.reorder == "options" and facts.shares:
        share = _percent(facts.shares[facts.top])
        return f"{judge} chose the option {_listed(facts.top, n)} in {share} of {count(facts.calls, 'call')}"
    if facts.too_few:
        return f"Undecided: too few groups to judge {judge}"
    if facts.reorder == "criteria":
        return "Undecided: no position clearly raises or lowers scores"
    return "Undecided: no position is clearly favoured"


def _question(facts: Facts, question: str) -> Question:
    verdict = facts.questions[question]
    write = {"positions": _about_positions, "mean": _about_mean, "single": _about_single}[question]
    return Question(BADGES[verdict.word], TITLES[facts.reorder][question], write(facts, verdict), verdict.word)


def _undecided(facts: Facts, question: str) -> str:
    """“Up to {high} are possible; {s} would matter”, or why nothing can be said."""
    verdict = facts.questions[question]
    if verdict.why == "unparsed_by_order":
        return "Unparsed replies may go with the order, so nothing can be said."
    if not math.isfinite(verdict.high):
        if verdict.why in ("too_few_units", "few_deals", "") and facts.too_few:
            return f"Too few groups for a confidence interval: {facts.units}, {FEWEST_UNITS} are needed."
        return REASONS.get(verdict.why, "There is no interval.")
    _, _, upper, smallest = _shown(facts, question)
    unit = _unit(facts, question)[0]
    noise = ", noise included" if question == "single" and not facts.repeated else ""
    return f"Up to {upper}{NBSP}{unit} are possible{noise}; {smallest} would matter."


def _about_positions(facts: Facts, verdict: Verdict) -> str:
    value, inside, upper, smallest = _shown(facts, "positions")
    criteria, unit = facts.reorder == "criteria", _unit(facts, "positions")[0]
    if verdict.word == UNDECIDED:
        return _undecided(facts, "positions")
    if verdict.word == EQUIVALENT:
        if verdict.above_zero:
            return f"A lean is there, at most {upper}{NBSP}{unit}: smaller than matters ({smallest})."
        differs = f"raises or lowers the criteria taken together by {smallest}"
        differs = differs if criteria else f"differs from even by {smallest} or more"
        return f"No position {differs} (largest: {value}, {inside})."
    if facts.lead is None or facts.lead != facts.largest:
        return f"The furthest position is {value}{NBSP}{unit} from {'the own mean' if criteria else 'even'} ({inside})."
    up = facts.leans[facts.lead] > 0
    if criteria:
        way = "higher" if up else "lower"
        return f"At position {facts.lead + 1} criteria score {value}{NBSP}points {way} than their own mean ({inside})."
    return f"Position {facts.lead + 1}: {value}{NBSP}{unit} {'above' if up else 'below'} even ({inside})."


def _about_mean(facts: Facts, verdict: Verdict) -> str:
    value, inside, upper, smallest = _shown(facts, "mean")
    if verdict.word == UNDECIDED:
        return _undecided(facts, "mean")
    if verdict.word == EQUIVALENT and verdict.above_zero:
        return f"A change is there, at most {upper}{NBSP}points: smaller than matters ({smallest})."
    listing = "Listing the criteria forward instead of backward"
    if facts.reorder == "options":
        first, last = f"{facts.scores[0]:g}", f"{facts.scores[-1]:g}"
        listing = f"Listing {first} to {last} instead of {last} to {first}"
    if verdict.word == EQUIVALENT:
        return f"{listing} changes it by less than {smallest} ({value}, {inside})."
    up = (facts.turn if facts.by_turn else facts.line) > 0
    if facts.by_turn and facts.reorder == "options":
        return (
            f"Lists that run upwards, from wherever they begin, score {value}{NBSP}points {'higher' if up else 'lower'} "
            f"than those that run downwards ({inside})."
        )
    return f"{listing} {'raises' if up else 'lowers'} the mean by {value}{NBSP}points ({inside})."


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
        seen = "" if verdict.value < verdict.low else f"{value}, "
        return f"Fewer than {smallest} in 100 scores change with the order, {noise} ({seen}{inside})."
    if not math.isfinite(verdict.high):
        rests = f"{count(facts.units, 'group')}" if facts.too_few else "this design"
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
    if facts.blocked:
        return "not decided; first make the replies parse, then ask again in a new run."
    if single.why in ("no_orders", "no_two_orders"):
        return "not decided; ask in several orders in a new run: balanced orders, each twice."
    if facts.too_few:
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
