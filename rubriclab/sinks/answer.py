"""A judge's verdict rows in; its answer in sentences out: headline, line, three questions, what to do.

Page, report and command line say these sentences alike; beside a badge stand only the verdict row's own ends.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from rubriclab.core.topic import REASONS, Findings
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.model.text import count, shorten
from rubriclab.sinks.facts import CHOICES, EFFECT, EQUIVALENT, PEOPLE, UNDECIDED, Facts, Verdict, facts_to_say
from rubriclab.sinks.text import NBSP, beside, ends, number

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
    "responses": {
        "positions": "Does the position of an answer in the call change its score?",
        "mean": "Does reversing the list change the mean?",
        "single": "Does it change single scores, beyond noise?",
    },
    "pairs": {
        "positions": "Does it favour a side?",
        "single": "Does swapping the answers change winners, beyond noise?",
    },
    "lists": {"positions": "Does it favour positions?", "single": "Does the order change winners, beyond noise?"},
    "bare": {},
    "variant": {
        "mean": "Does this form change the mean score?",
        "single": "Does it change single scores, beyond noise?",
    },
}
"""Of each axis, and of a variant held against the default: the questions that exist there."""
SAID_BY_QUESTIONS = {"few_units": "too_few_units", "few_moved": "too_few_units", "single_order": "no_orders"}
"""Cautions that say again what a question gives as its reason: kind -> reason."""
NO_EVEN_SHARE = "These orders do not show every score at every position equally often, so this is also about which scores are given."


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
    about: str = ""
    """Data set and setting, as far as the run has several."""

    def lines(self) -> list[str]:
        """As plain lines, for a terminal."""
        head = self.headline if self.judge in self.headline else f"{self.judge}: {self.headline}"
        head = f"[{shorten(self.about, 120)}] {head}" if self.about else head
        out = [self.early] if self.early else []
        out += [head + (" (simulated judge)" if self.simulated else ""), self.line]
        out += [f"  {asked.badge:<9}  {asked.title} {asked.sentence}" for asked in self.questions]
        out += [self.note] if self.note else []
        out += [f"What to do: {self.advice}"] if self.advice else []
        return out + [f"Caution: {caution}" for caution in self.cautions]


def answers(findings: Findings) -> list[Answer]:
    """The answer of every judge, on each data set and variant; then that of each variant against the default."""
    return [judged(findings, facts) for facts in facts_to_say(findings)]


def judged(findings: Findings, facts: Facts) -> Answer:
    """The answer of facts that were read before, with the cautions of the condition that the verdicts are about.

    What a question gives as its reason is no caution beside it.
    """
    whys = {verdict.why for verdict in facts.questions.values()}
    cautions = [
        _mended(caution.sentence)
        for caution in findings.cautions
        if caution.condition in (-1, facts.condition)
        and caution.topic not in PEOPLE
        and SAID_BY_QUESTIONS.get(caution.kind) not in whys
    ]
    return compose(facts, tuple(dict.fromkeys(cautions)))


def _mended(sentence: str) -> str:
    """A caution with “1 item” for “1 items” and a no-break space before %."""
    singular = re.sub(r"\b1 ((?:independent )?(?:item|group|judgment|instruction))s\b", r"1 \1", sentence)
    return re.sub(r"(?<=\d)%", f"{NBSP}%", singular)


def compose(facts: Facts, cautions: tuple[str, ...] = ()) -> Answer:
    """The answer of one judge in the sentences of its axis."""
    judge = shorten(facts.judge, 100)
    seen = Answer(judge, facts.condition, "", "", cautions=cautions, simulated=facts.simulated, about=facts.about)
    if not facts.calls:
        line = f"0 of {count(facts.asked, 'reply', 'replies')} could be parsed. The replies stand in Judgments."
        return replace(seen, headline=f"No {_noun(facts)} of {judge} could be read", line=line)
    line, strong = _line(facts)
    seen = replace(seen, line=line, strong=strong)
    if not facts.finished:
        what = "Stopped after" if facts.stopped else "Early estimate from"
        early = f"{what} {facts.asked:,} of {facts.planned:,} calls. No answer before the end."
        return replace(_described(facts, seen, " so far"), early=early)
    asked = TITLES["variant" if facts.variant else facts.reorder]
    questions = tuple(_question(facts, key, facts.questions[key]) for key in asked if key in facts.questions)
    answer = replace(
        seen, headline=_headline(facts, judge), questions=questions, note=_note(facts), advice=_advice(facts)
    )
    return answer if answer.headline else _described(facts, answer)


def _described(facts: Facts, answer: Answer, so_far: str = "") -> Answer:
    """The answer whose headline says what was seen, without a word that judges it."""
    if facts.variant or not facts.leans:
        what = f" of {facts.variant}" if facts.variant else ""
        return replace(answer, headline=f"{answer.judge}: {count(facts.calls, 'call')}{what} parsed{so_far}")
    if facts.in_points:
        what = "criteria" if facts.reorder == "criteria" else "answers"
        headline = f"{answer.judge}: {what} at position {facts.top + 1} differ most from their own mean{so_far}"
        return replace(answer, headline=headline)
    share, even = _percent(facts.shares[facts.top]), facts.expected[facts.top]
    headline = f"{answer.judge} chose {_listed(facts, facts.top)} in {share} of {count(facts.calls, 'call')}{so_far}"
    line = f"{_percent(even)} would be even." if math.isfinite(even) else NO_EVEN_SHARE
    return replace(answer, headline=headline, line=line, strong="")


def _note(facts: Facts) -> str:
    """Behind the gate, the two orders that differ most: beside the questions, for no verdict speaks of them."""
    if not facts.gate_open or facts.gap is None or facts.reorder != "options" or facts.gap[1] <= 0:
        return ""
    value, low, high = facts.gap
    return f"Between the two orders that differ most, the mean differs by {_points(value)} ({ends(low, high, '.2f')})."


def _listed(facts: Facts, position: int) -> str:
    """“the option listed first”, “the answer at position 3” (``position`` from 0), “the answer shown second”."""
    what, last = "option" if facts.reorder == "options" else "answer", len(facts.leans) - 1
    if facts.reorder == "pairs":
        return f"the answer shown {('first', 'second')[position]}"
    if position in (0, last):
        return f"the {what} listed {'first' if position == 0 else 'last'}"
    return f"the {what} at position {position + 1}"


def _noun(facts: Facts) -> str:
    """What a call gives: a score, or a winner."""
    return "winner" if facts.reorder in CHOICES else "score"


def _percent(value: float) -> str:
    return number(value, ".0%")


def _points(value: float) -> str:
    return f"{number(value, '.2f')}{NBSP}points"


class Shown(NamedTuple):
    """A verdict row as it is written: value, interval, upper end, smallest effect, unit; see ``_shown``."""

    value: str
    inside: str
    upper: str
    smallest: str
    unit: str


def _shown(facts: Facts, question: str) -> Shown:
    """A verdict row's numbers, each rounded so that none crosses what decides it."""
    verdict = facts.questions[question]
    unit, form, factor = "points", ".2f", 1.0
    if question == "single":
        unit, form, factor = "in 100", ".0f", 100.0
    elif question == "positions" and not facts.in_points:
        unit, form, factor = "percentage points", ".0f", 100.0
    limits = (0.0, verdict.smallest * factor)
    low, high = verdict.low * factor, verdict.high * factor
    inside = ends(low, high, form, limits=limits)
    upper = beside(high, limits, form) if math.isfinite(high) else ""
    if inside and verdict.above_zero and not low:
        inside = f"above 0, at most {upper}"
    smallest = number(verdict.smallest * factor, ".2f" if unit == "points" else ".3g")
    return Shown(number(verdict.value * factor, form), inside, upper, smallest, unit)


def _line(facts: Facts) -> tuple[str, str]:
    """(line below the headline, its bold part)."""
    calls = count(facts.calls, "call")
    if facts.variant:
        return (
            f"Held against {facts.default}, on {count(facts.items, 'answer')}; all else in the prompt stayed the same.",
            "",
        )
    if facts.reorder == "bare":
        return f"{calls} were parsed. Nothing was listed, so there is no order to speak of.", ""
    if not facts.leans:
        return f"{calls} were parsed.", ""
    if facts.in_points:
        strong = f"{number(min(facts.leans), '+.2f')} to {number(max(facts.leans), '+.2f')}{NBSP}points"
        what = "criteria" if facts.reorder == "criteria" else "answers"
        return f"By position, {what} score {strong} off their own mean, in {calls}.", strong
    if facts.is_(EQUIVALENT, "positions"):
        strong, each = _range(facts.shares), _range(facts.expected)
        without = f"each would get {each}" if " to " not in each else f"they would get {each}"
        return f"Every position was chosen in {strong} of {calls}. Without position bias, {without}.", strong
    named = facts.lead if facts.is_(EFFECT, "positions") else None
    named = facts.top if named is not None and facts.reorder == "pairs" else named
    position = facts.top if named is None else named
    strong, even = _percent(facts.shares[position]), facts.expected[position]
    rest = NO_EVEN_SHARE
    if math.isfinite(even):
        rest = f"Without position bias it would be {_percent(even)}."
        rest = f"{_percent(even)} would be even." if named is None else rest
    shown = f"position {position + 1}" if facts.reorder == "options" else _listed(facts, position)
    return f"It chose {shown} in {strong} of {calls}. {rest}", strong


def _range(shares: tuple[float, ...]) -> str:
    """“19 to 21 %”, or “20 %” where all are equal as they are written."""
    low, high = _percent(min(shares)), _percent(max(shares))
    return high if low == high else f"{low.removesuffix(NBSP + '%')} to {high}"


def _headline(facts: Facts, judge: str) -> str:
    """The answer in one sentence; empty where there are too few groups to say more than what was seen."""
    if facts.variant:
        return _headline_of_variant(facts, judge)
    if "positions" not in facts.questions:
        return f"{judge} scored {count(facts.items, 'answer')} without a list" if facts.reorder == "bare" else ""
    positions, lead = facts.questions["positions"], facts.lead
    shown = _shown(facts, "positions")
    most = f"at most {shown.upper}{NBSP}{shown.unit}"
    up = lead is not None and facts.leans[lead] > 0
    if positions.word == EFFECT:
        if lead is None:
            return f"Some positions {'change scores' if facts.in_points else 'are favoured'} ({most}); which is not settled"
        if facts.in_points:
            what = "a criterion is listed" if facts.reorder == "criteria" else "an answer stands in the call"
            return f"Scores of {judge} depend on where {what}"
        if facts.reorder == "pairs":
            return f"{judge} picks {_listed(facts, facts.top)}"
        return f"{judge} {'favours' if up else 'avoids'} {_listed(facts, lead)}"
    if positions.word == EQUIVALENT:
        if positions.above_zero and facts.reorder == "pairs":
            return f"{judge} leans to {_listed(facts, facts.top)}, less than matters ({most})"
        if positions.above_zero and lead is None:
            return f"{judge} leans to some positions, less than matters ({most})"
        if positions.above_zero and lead is not None:
            return f"{judge} leans {'to' if up else 'away from'} position {lead + 1}, less than matters ({most})"
        return _no_position(facts, judge)
    if facts.is_(EFFECT, "mean"):
        return f"{judge}: reversing the list changes the mean score"
    if facts.because("unparsed_by_order"):
        return "Undecided: unparsed replies may go with the order"
    if facts.gate_open or facts.is_(EFFECT, "single"):
        return f"{judge}: the order matters; how is not settled"
    if facts.because("no_orders", "no_two_orders"):
        return f"Undecided: {judge} did not judge {_judged_text(facts)} in two orders"
    if facts.too_few:
        return f"Undecided: too few groups to judge {judge}" if facts.in_points else ""
    if facts.in_points:
        return "Undecided: no position clearly raises or lowers scores"
    return f"Undecided: {'neither side' if facts.reorder == 'pairs' else 'no position'} is clearly favoured"


def _judged_text(facts: Facts) -> str:
    """What is asked about again in another order."""
    return {"pairs": "a pair", "lists": "a list"}.get(facts.reorder, "an answer")


def _no_position(facts: Facts, judge: str) -> str:
    """The headline where no position matters, with what the order changes nevertheless."""
    nothing = f"{judge} favours {'neither side' if facts.reorder == 'pairs' else 'no position'}"
    if facts.in_points:
        what = "the criteria taken together" if facts.reorder == "criteria" else "the answers of a call taken together"
        nothing = f"{judge}: no position raises or lowers {what}"
    if facts.is_(EFFECT, "mean") or facts.gap_matters:
        return f"{nothing}, but the order changes its mean score"
    return f"{nothing}, but the order changes single {_noun(facts)}s" if facts.is_(EFFECT, "single") else nothing


def _headline_of_variant(facts: Facts, judge: str) -> str:
    """The answer about one form in place of the default."""
    form = shorten(facts.variant, 60)
    if facts.is_(EFFECT, "mean"):
        way = "changes" if not math.isfinite(facts.shift) else "raises" if facts.shift > 0 else "lowers"
        return f"{judge}: {form} {way} the mean score"
    if facts.gate_open or facts.is_(EFFECT, "single"):
        mean = "does not change the mean score, but " if facts.is_(EQUIVALENT, "mean") else ""
        return f"{judge}: {form} {mean}{'changes single scores' if facts.is_(EFFECT, 'single') else 'matters; how is not settled'}"
    if facts.is_(EQUIVALENT, "mean"):
        return f"{judge}: {form} does not change the mean score"
    return f"Undecided: whether {form} changes scores of {judge}"


def _question(facts: Facts, question: str, verdict: Verdict) -> Question:
    shown = _shown(facts, question)
    sentence = _undecided(facts, question, shown)
    if verdict.word != UNDECIDED:
        write = {"positions": _about_positions, "mean": _about_mean, "single": _about_single}[question]
        sentence = write(facts, verdict, shown)
    title = TITLES["variant" if facts.variant else facts.reorder][question]
    return Question(BADGES[verdict.word], title, sentence, verdict.word)


def _undecided(facts: Facts, question: str, shown: Shown) -> str:
    """“Up to {high} are possible; {s} would matter”, or why nothing can be said."""
    why = facts.questions[question].why
    if why == "unparsed_by_order":
        return "Unparsed replies may go with the order, so nothing can be said."
    if question == "single" and why == "any_prompt":
        other, same = ("form", "form") if facts.variant else ("order", "order")
        return (
            f"In another {other} {number(100 * facts.flips, '.0f')} in 100 {_noun(facts)}s change; asked again in the same "
            f"{same} {number(100 * facts.noise, '.0f')} do. No position and no direction explains it, so any small change of "
            "the prompt may do the same: reword the rubric in a new run to find out."
        )
    if not shown.upper:
        if why in ("too_few_units", "few_deals", "") and facts.too_few:
            return f"Too few groups for a confidence interval: {facts.units}, {MIN_UNITS} are needed."
        return REASONS.get(why, "There is no interval.")
    noise = ", noise included" if question == "single" and not facts.repeated else ""
    return f"Up to {shown.upper}{NBSP}{shown.unit} are possible{noise}; {_limit(shown)} would matter."


def _limit(shown: Shown) -> str:
    """A smallest effect with its unit, where that is not “in 100”."""
    return shown.smallest if shown.unit == "in 100" else f"{shown.smallest}{NBSP}{shown.unit}"


def _about_positions(facts: Facts, verdict: Verdict, shown: Shown) -> str:
    lead = facts.lead
    if verdict.word == EQUIVALENT:
        if verdict.above_zero:
            return f"A lean is there, at most {shown.upper}{NBSP}{shown.unit}: smaller than matters ({_limit(shown)})."
        nothing = f"No position differs from even by {_limit(shown)} or more"
        if facts.reorder == "pairs":
            nothing = f"Neither side wins {shown.smallest} in 100 more than even"
        if facts.in_points:
            what = "the criteria taken together" if facts.reorder == "criteria" else "the answers of a call"
            nothing = f"No position raises or lowers {what} by {_limit(shown)}"
        return f"{nothing} (largest: {shown.value}, {shown.inside})."
    if facts.reorder == "pairs" and lead is not None:
        side = _listed(facts, facts.top).capitalize()
        return f"{side} wins {shown.value}{NBSP}{shown.unit} more than even ({shown.inside})."
    if lead is None or lead != facts.largest:
        middle = "the own mean" if facts.in_points else "even"
        return f"The furthest position is {shown.value}{NBSP}{shown.unit} from {middle} ({shown.inside})."
    up = facts.leans[lead] > 0
    if facts.in_points:
        way = f"{shown.value}{NBSP}points {'higher' if up else 'lower'}"
        what = "criteria score" if facts.reorder == "criteria" else "answers score"
        return f"At position {lead + 1} {what} {way} than their own mean ({shown.inside})."
    away = "above" if up else "below"
    return f"Position {lead + 1}: {shown.value}{NBSP}{shown.unit} {away} even ({shown.inside})."


def _about_mean(facts: Facts, verdict: Verdict, shown: Shown) -> str:
    if verdict.word == EQUIVALENT and verdict.above_zero:
        return f"A change is there, at most {shown.upper}{NBSP}points: smaller than matters ({_limit(shown)})."
    if facts.variant:
        return _about_form(facts, verdict, shown)
    what = "criteria" if facts.reorder == "criteria" else "answers"
    listing = f"Listing the {what} forward instead of backward"
    if facts.reorder == "options":
        first, last = f"{facts.scores[0]:g}", f"{facts.scores[-1]:g}"
        listing = f"Listing {first} to {last} instead of {last} to {first}"
    if verdict.word == EQUIVALENT:
        return f"{listing} changes it by less than {_limit(shown)} ({shown.value}, {shown.inside})."
    up = (facts.turn if facts.by_turn else facts.line) > 0
    if facts.by_turn and facts.reorder == "options":
        way = f"{shown.value}{NBSP}points {'higher' if up else 'lower'}"
        lists = "Lists that run upwards, from wherever they begin,"
        return f"{lists} score {way} than those that run downwards ({shown.inside})."
    return f"{listing} {'raises' if up else 'lowers'} the mean by {shown.value}{NBSP}points ({shown.inside})."


def _about_form(facts: Facts, verdict: Verdict, shown: Shown) -> str:
    """Of a variant: how far its mean score is from that of the default."""
    instead = f"{shorten(facts.variant, 60)} instead of {shorten(facts.default, 60)}"
    if verdict.word == EQUIVALENT:
        return f"{instead} changes it by less than {_limit(shown)} ({shown.value}, {shown.inside})."
    way = "away" if not math.isfinite(facts.shift) else "higher" if facts.shift > 0 else "lower"
    return f"{instead}: {shown.value}{NBSP}points {way} ({shown.inside})."


def _about_single(facts: Facts, verdict: Verdict, shown: Shown) -> str:
    scores, order = f"{_noun(facts)}s", "form" if facts.variant else "order"
    if verdict.word == EQUIVALENT:
        if verdict.above_zero:
            most = f"at most {shown.upper} in 100"
            return f"Some {scores} change with the {order}, {most}: smaller than matters ({shown.smallest})."
        noise = "beyond noise" if facts.repeated else "noise included"
        seen = "" if verdict.value < verdict.low else f"{shown.value}, "
        return f"Fewer than {shown.smallest} in 100 {scores} change with the {order}, {noise} ({seen}{shown.inside})."
    if not shown.upper:
        rests = count(facts.units, "group") if facts.too_few else "this design"
        return f"The {order} changes single {scores}; how many cannot be said from {rests}."
    if not facts.repeated:
        return f"{scores.capitalize()} change with the prompt's {order}: {shown.value} in 100, noise included (at most {shown.upper})."
    if verdict.value * 100 < 0.5:
        return f"{scores.capitalize()} change with the {order} beyond noise, at most {shown.upper} in 100."
    typical = f"; typical change of one score: {_points(facts.typical)}" if math.isfinite(facts.typical) else ""
    return f"{shown.value} in 100 {scores} change with the {order} beyond noise ({shown.inside}){typical}."


def _advice(facts: Facts) -> str:
    """What to do: the first rule that holds; empty where nothing was asked."""
    if not facts.questions:
        return ""
    single = facts.questions.get("single")
    average, one = "average several orders", "compare only within one order"
    if facts.reorder in CHOICES:
        average = (
            "ask both orders and count a win only where they agree"
            if facts.reorder == "pairs"
            else ("ask several orders and take the candidate that wins most of them")
        )
    if facts.variant:
        average, one = "keep one form throughout", "average over forms"
    if single and single.word == EFFECT and facts.repeated and single.low >= single.smallest:
        return f"{average}; {_not_single(facts)}."
    small = facts.is_(EFFECT, "positions") and facts.is_(EQUIVALENT, "mean", "single") and not facts.gap_matters
    if small and facts.reorder == "options":  # positions of criteria are about scores themselves
        return "the bias is too small to matter in scores; check again when the judge changes."
    if any(verdict.word == EFFECT for verdict in facts.questions.values()) or facts.gap_matters:
        return f"{average}, or {one}."
    if single and single.word == UNDECIDED and single.why == "any_prompt":  # any_prompt of core/verdict.py
        return "average several orders or wordings."
    if facts.is_(EQUIVALENT, *facts.questions):
        return "either form will do." if facts.variant else "one order is enough."
    return _not_decided(facts, single)


def _not_single(facts: Facts) -> str:
    if facts.variant:
        return "scores given in different forms do not compare"
    return "do not trust a single call" if facts.reorder in CHOICES else "do not use single scores"


def _not_decided(facts: Facts, single: Verdict | None) -> str:
    """What would decide."""
    if facts.because("unparsed_by_order"):
        return "not decided; first make the replies parse, then ask again in a new run."
    if facts.because("no_orders", "no_two_orders"):
        return "not decided; ask in several orders in a new run: balanced orders, each twice."
    if facts.too_few:
        more = count(MIN_UNITS - facts.units, "more instruction" if facts.unit == "prompt" else "more item")
        return f"not decided; add {'questions' if facts.reorder in CHOICES else 'answers'} to at least {more}."
    if single and single.word == UNDECIDED and not facts.repeated:
        what = "in each form" if facts.variant else "every order"
        return f"not decided; a new run that asks {what} twice would tell the {'form' if facts.variant else 'order'} from noise."
    times = [verdict.times for verdict in facts.questions.values() if verdict.word == UNDECIDED]
    what = {"pairs": "pairs", "lists": "lists"}.get(facts.reorder, "answers")
    if not times or not all(factor > 1 for factor in times):  # a factor that is not known is NaN
        return f"not decided; a new run with more {what} may decide."
    return f"not decided; about {_rounded(max(times) * facts.items):,} {what} in a new run would decide."


def _rounded(value: float) -> int:
    """Two leading digits, upwards: 137 is about 140."""
    size = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / size) * size)
