"""A judge's verdict rows in; its answer in sentences out: headline, line, three questions, what to
do.

Page, report and command line say these sentences alike; beside a badge stand only the verdict row's
own ends. What is said is chosen here, how it is said stands in ``sentences.toml``.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.core.fairness import LOW, ONE_SCORE, ONE_TIE, UNKNOWN, WITHHELD
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.core.verdict import MIN_UNITS
from rubriclab.model.text import count, shorten
from rubriclab.words.facts import (
    AXES,
    CHOICES,
    EFFECT,
    EQUIVALENT,
    PEOPLE,
    UNDECIDED,
    Facts,
    facts_to_say,
    words_of,
)
from rubriclab.words.phrases import (
    NBSP,
    SENTENCES,
    caution_text,
    ends,
    lowered,
    number,
    reason,
    say,
    shown_difference,
)

BADGES = {EFFECT: "Yes", EQUIVALENT: "No", UNDECIDED: "Undecided"}
TITLES: dict[str, dict[str, str]] = {kind: SENTENCES[kind]["titles"] for kind in (*AXES, "variant")}
"""Of each axis, and of a variant held against the default: the questions that exist there."""
SAID_BY_QUESTIONS = {
    "few_units": "too_few_units",
    "few_moved": "too_few_units",
    "single_order": "no_orders",
    "constant_judge": ONE_SCORE,
}
"""Cautions that say again what a question gives as its reason: kind -> reason."""


@dataclass(frozen=True)
class Question:
    """``badge``: Yes, No or Undecided, or empty where there is no verdict."""

    badge: str
    title: str
    sentence: str
    verdict: str = ""


@dataclass(frozen=True)
class Answer:
    """``strong``: the part of ``line`` in bold. ``early``: the sentence above the headline of an
    unfinished run.

    ``note``: the largest gap between two orders, which has no verdict. ``about``: data set and
    setting, as far as the run has several.
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

    def lines(self) -> list[str]:
        """As plain lines, for a terminal."""
        head = self.headline if self.judge in self.headline else f"{self.judge}: {self.headline}"
        head = f"[{shorten(self.about, 120)}] {head}" if self.about else head
        out = [self.early] if self.early else []
        out += [head + (" (simulated judge)" if self.simulated else ""), self.line]
        titles = [
            asked.title + ("" if asked.title.endswith("?") else ":") for asked in self.questions
        ]
        named = zip(titles, self.questions, strict=True)
        out += [f"  {asked.badge:<9}  {title} {asked.sentence}" for title, asked in named]
        out += [self.note] if self.note else []
        out += [f"What to do: {self.advice}"] if self.advice else []
        return out + [f"Caution: {caution}" for caution in self.cautions]


def answers(findings: Findings) -> list[Answer]:
    """The answer of every judge, on each data set and variant; then that of each variant against
    the default.
    """
    return [judged(findings, facts) for facts in facts_to_say(findings)]


def several_tests(findings: Findings) -> str:
    """How often at least one of several answers is Yes by chance, as nothing guards them together;
    empty of one.
    """
    tests = sum(not row.of and math.isfinite(row.p) for row in findings.select("gate"))
    if tests < 2:
        return ""
    share = 100 * (1 - (1 - ALPHA) ** tests)
    return say("method_several", ("every",), tests=f"{tests:,}", share=f"{share:.0f}")


def judged(findings: Findings, facts: Facts) -> Answer:
    """The answer of facts that were read before, with the cautions of the condition that the
    verdicts are about.

    What a question gives as its reason is no caution beside it.
    """
    whys = {row.estimate.why for row in facts.questions.values()}
    cautions = [
        caution_text(caution)
        for caution in findings.cautions
        if caution.condition in (-1, facts.condition)
        and caution.topic not in PEOPLE
        and SAID_BY_QUESTIONS.get(caution.kind) not in whys
    ]
    return compose(facts, tuple(dict.fromkeys(cautions)))


def compose(facts: Facts, cautions: tuple[str, ...] = ()) -> Answer:
    """The answer of one judge in the sentences of its axis; beside constrained figures stands the
    free mass.
    """
    answer = _composed(facts, cautions)
    known = facts.free_mass
    if known is None:
        return answer
    if known.calls:
        fields = {"mass": number(known.median), "sampled": count(known.calls, "call")}
        said = _say(facts, "free_mass", **fields)
    else:
        said = _say(facts, "free_mass_unknown")
    return replace(answer, line=f"{answer.line} {said}")


def _composed(facts: Facts, cautions: tuple[str, ...]) -> Answer:
    """The answer, whether replies were constrained or not."""
    judge = shorten(facts.judge, 100)
    seen = Answer(
        judge,
        facts.condition,
        "",
        "",
        cautions=cautions,
        simulated=facts.simulated,
        about=facts.about,
    )
    if not facts.calls:
        line = (
            f"0 of {count(facts.asked, 'reply', 'replies')} could be parsed. The replies stand "
            f"in Judgments."
        )
        return replace(seen, headline=_say(facts, "nothing"), line=line)
    line, strong = _line(facts)
    seen = replace(seen, line=line, strong=strong)
    if not facts.finished:
        what = "Stopped after" if facts.stopped else "Early estimate from"
        early = f"{what} {facts.asked:,} of {facts.planned:,} calls. No answer before the end."
        return replace(_described(facts, seen, " so far"), early=early)
    asked = {key: facts.questions[key] for key in TITLES[facts.kind] if key in facts.questions}
    questions = tuple(_question(facts, key, row) for key, row in asked.items())
    answer = replace(
        seen,
        headline=_headline(facts),
        questions=questions,
        note=_note(facts),
        advice=_advice(facts),
    )
    return answer if answer.headline else _described(facts, answer)


def _say(facts: Facts, key: str, position: int | None = None, /, **fields: Any) -> str:
    """The sentence ``key`` of the facts' axis, about a position (from 0; the one that gains most
    where none is named).
    """
    position = facts.top if position is None else position
    listed = _listed(facts, position)
    own = {
        "judge": shorten(facts.judge, 100),
        "calls": count(facts.calls, "call"),
        "averaged": _say_averaged(facts),
        "items": count(facts.items, "answer"),
        "units": facts.units,
        "needed": MIN_UNITS,
        "form": shorten(facts.variant),
        "default": shorten(facts.default),
        "criterion": shorten(facts.criterion),
        "alone": f"{number(facts.criterion_size)}{NBSP}points",
        "position": position + 1,
        "listed": listed,
        "Listed": listed.capitalize(),
    }
    return say(key, words_of(facts), **(own | fields))


def _say_averaged(facts: Facts) -> str:
    """How the verdict's share differs from the plain share of calls, where it does."""
    if not (facts.averaged and facts.finished):
        return ""
    if facts.reorder in CHOICES:
        return ", a tie counting as a share of a win"
    return ", averaged over answers and orders"


def _listed(facts: Facts, position: int) -> str:
    """“the option listed first”, “the answer at position 3” (``position`` from 0), “the answer
    shown second”.
    """
    what = "option" if facts.reorder == "options" else "answer"
    if facts.reorder == "pairs":
        return f"the answer shown {('first', 'second')[position]}"
    if position in (0, len(facts.leans) - 1):
        return f"the {what} listed {'first' if position == 0 else 'last'}"
    return f"the {what} at position {position + 1}"


def _described(facts: Facts, answer: Answer, so_far: str = "") -> Answer:
    """The answer whose headline says what was seen, without a word that judges it."""
    if facts.variant or not facts.leans:
        return replace(answer, headline=_say(facts, "seen_calls") + so_far)
    if facts.in_points:
        return replace(answer, headline=_say(facts, "seen") + so_far)
    share, even = (
        share_text(facts, values[facts.top]) for values in (facts.shares, facts.expected)
    )
    line = _say(facts, "even" if math.isfinite(facts.expected[facts.top]) else "uneven", even=even)
    return replace(answer, headline=_say(facts, "seen", share=share) + so_far, line=line, strong="")


def _line(facts: Facts) -> tuple[str, str]:
    """(line below the headline, its bold part)."""
    if facts.variant or not facts.leans:
        return _say(facts, "line_calls"), ""
    if facts.in_points:
        strong = (
            f"{number(min(facts.leans), '+.2f')} to {number(max(facts.leans), '+.2f')}{NBSP}points"
        )
        return _say(facts, "line_each" if facts.criterion else "line", share=strong), strong
    if facts.is_(EQUIVALENT, "positions"):
        strong, each = _range(facts, facts.shares), _range(facts, facts.expected)
        each = f"{'they' if ' to ' in each else 'each'} would get {each}"
        return _say(facts, "line_every", share=strong, each=each), strong
    named = facts.named if facts.is_(EFFECT, "positions") else None
    position = facts.top if named is None else named
    strong = share_text(facts, facts.shares[position])
    even = share_text(facts, facts.expected[position])
    rest = (
        "uneven"
        if not math.isfinite(facts.expected[position])
        else "even"
        if named is None
        else "without"
    )
    shown = f"position {position + 1}" if facts.reorder == "options" else _listed(facts, position)
    return _say(facts, "line", share=strong, shown=shown, rest=_say(facts, rest, even=even)), strong


def share_text(facts: Facts, share: float) -> str:
    """A share as every surface writes those of these facts, so that their differences add up."""
    return number(share, f".{facts.share_decimals}%")


def lean_text(facts: Facts, position: int, otherwise: str = "") -> str:
    """How far a position's share lies from the expected one, in percentage points: the shown minus
    the shown.

    ``otherwise``: what is written where no expected share is known.
    """
    share, even = 100 * facts.shares[position], 100 * facts.expected[position]
    if not math.isfinite(even):
        return otherwise
    decimals = facts.share_decimals
    return number(abs(shown_difference(share, even, decimals)), f".{decimals}f")


def _range(facts: Facts, shares: tuple[float, ...]) -> str:
    """“19 to 21%”, or “20%” where all are equal as they are written."""
    low, high = share_text(facts, min(shares)), share_text(facts, max(shares))
    return high if low == high else f"{low.removesuffix('%')} to {high}"


def _note(facts: Facts) -> str:
    """Behind the gate, what was measured in two orders: beside the questions, for no verdict speaks
    of them.
    """
    if not facts.gate_open or facts.reorder != "options" or facts.variant:
        return ""
    reversal = _reversed_list(facts)
    if reversal and _furthest_are_reversed(facts):
        return reversal  # the gap would say the same number of the same two orders
    return " ".join(filter(None, [reversal, _gap(facts)]))


def _furthest_are_reversed(facts: Facts) -> bool:
    """Return whether the list and its reverse differ by as much as the two orders furthest
    apart.
    """
    row = facts.reversed_list
    return row is not None and abs(row.value) >= facts.gap_seen - 1e-9


def _reversed_list(facts: Facts) -> str:
    """What reversing exactly this list did, from the calls in the two orders; empty where a
    question says it.
    """
    row = facts.reversed_list
    if row is None or not facts.trend or not row.counts["n"]:
        return ""
    changed, items = row.counts["changed"], row.counts["n"]
    fields = {
        "first": f"{facts.scores[0]:g}",
        "last": f"{facts.scores[-1]:g}",
        "changed": f"{changed:,}",
        "compared": count(items, "answer"),
        "again": count(row.counts["again"], "answer"),
        "noisy": f"{row.counts['noisy']:,}",
        "size": f"{number(abs(row.value))}{NBSP}points",
        "inside": _unsigned(row),
    }
    if not changed:
        return _say(facts, "reversed_none", **fields)
    noise = "reversed_noise" if row.counts["again"] else "reversed_once"
    key = _way(row.value, "reversed_up", "reversed_down", "")
    if abs(row.value) < 0.005:
        key = "reversed_even"
    return f"{_say(facts, key, **fields)} {_say(facts, noise, **fields)}"


def _unsigned(row: Row) -> str:
    """The interval of a difference whose direction is said in words, or why it has none."""
    low, high = row.interval
    if row.value < 0:
        low, high = -high, -low
    return ends(low, high, limits=(0.0,)) or lowered(reason(row))


def _gap(facts: Facts) -> str:
    """The two orders that differ most: as seen, and without the luck of having picked them."""
    if facts.gap is None or facts.gap[1] <= 0:
        return ""
    value, low, high = facts.gap
    fields = {
        "size": f"{number(value)}{NBSP}points",
        "inside": ends(low, high),
        "apart": f"{number(facts.gap_seen)}{NBSP}points",
        "orders": f"{facts.orders:,}",
    }
    return _say(facts, "gap" if math.isfinite(facts.gap_seen) else "gap_corrected", **fields)


def _numbers(facts: Facts, question: str) -> dict[str, str]:
    """A verdict row as it is written, each number rounded so that none crosses what decides it.

    ``value``, ``upper`` end and ``smallest`` effect, and the same with their unit: ``size``,
    ``most``, ``limit``; ``inside``: the interval. Empty where there is none.
    """
    row = facts.questions[question]
    unit, form, factor = "points", ".2f", 1.0
    if question == "single":
        unit, form, factor = "in 100", ".0f", 100.0
    elif question == "positions" and not facts.in_points:
        unit, form, factor = "percentage points", ".0f", 100.0
    limits = (0.0, row.smallest * factor)
    low, high = (end * factor for end in row.interval)
    inside = ends(low, high, form, limits=limits)
    upper = number(high, form, limits) if math.isfinite(high) else ""
    if inside and row.counts.get("above_zero") and not low:
        inside = f"above 0, at most {upper}"
    value = number(row.value * factor, form)
    if unit == "percentage points" and facts.spoken is not None:
        value = lean_text(facts, facts.spoken, value)
    smallest = number(limits[1], ".2f" if unit == "points" else ".3g")
    limit = smallest if question == "single" else f"{smallest}{NBSP}{unit}"
    return {
        "value": value,
        "size": f"{value}{NBSP}{unit}",
        "inside": inside,
        "upper": upper,
        "most": upper and f"{upper}{NBSP}{unit}",
        "smallest": smallest,
        "limit": limit,
    }


# ---------------------------------------------------------------- the headline
def _headline(facts: Facts) -> str:
    """The answer in one sentence; empty where there are too few groups to say more than what was
    seen.
    """
    if facts.variant:
        return _headline_of_variant(facts)
    if "positions" not in facts.questions:
        return _say(facts, "bare")
    numbers, single = _numbers(facts, "positions"), facts.is_(EFFECT, "single")
    way = "some" if facts.lead is None else "up" if facts.leans[facts.lead] > 0 else "down"
    if facts.is_(EFFECT, "positions"):
        return _say(facts, way, facts.named, **numbers)
    if facts.is_(EQUIVALENT, "positions"):
        if facts.questions["positions"].counts.get("above_zero"):
            return _say(facts, f"lean_{way}", facts.named, **numbers)
        mean = facts.is_(EFFECT, "mean") or facts.gap_matters
        return _say(facts, "no_position") + (
            _say(facts, "but_mean" if mean else "but_single") if mean or single else ""
        )
    rules = {
        "one_score": facts.because(ONE_SCORE),
        "one_tie": facts.because(ONE_TIE),
        "mean": facts.is_(EFFECT, "mean"),
        "unparsed": facts.because("unparsed_by_order"),
        "matters": facts.gate_open or single,
        "constrained": facts.because(LOW, UNKNOWN),
        "no_orders": facts.because("no_orders", "no_two_orders"),
        "too_few": facts.too_few,
    }
    return _say(facts, next((key for key, holds in rules.items() if holds), "open"))


def _headline_of_variant(facts: Facts) -> str:
    """The answer about one form in place of the default."""
    same = facts.is_(EQUIVALENT, "mean")
    if facts.is_(EFFECT, "mean"):
        return _say(facts, _way(facts.shift, "mean_raised", "mean_lowered", "mean"))
    if facts.gate_open or facts.is_(EFFECT, "single"):
        key = "single_too" if facts.is_(EFFECT, "single") else "matters"
        return _say(facts, key, mean_same=_say(facts, "mean_same") if same else "")
    return _say(facts, "no_position" if same else "open")


def _way(value: float, up: str, down: str, unknown: str) -> str:
    return unknown if not math.isfinite(value) else up if value > 0 else down


# ---------------------------------------------------------------- the three questions
def _question(facts: Facts, question: str, row: Row) -> Question:
    numbers = _numbers(facts, question)
    if row.verdict == UNDECIDED:
        sentence = _undecided(facts, question, numbers)
    else:
        known = f"; typical change of one score: {number(facts.typical)}{NBSP}points"
        scale = (
            {"first": f"{facts.scores[0]:g}", "last": f"{facts.scores[-1]:g}"}
            if facts.scores
            else {}
        )
        fields = scale | {
            "noise": "beyond noise" if facts.repeated else "noise included",
            "seen": "" if row.value < row.interval[0] else f"{numbers['value']}, ",
            "rests": count(facts.units, "group") if facts.too_few else "this design",
            "Noun": _say(facts, "noun").capitalize(),
            "together": _together(facts),
            "orders": f"{facts.orders:,}",
            "typical": known if math.isfinite(facts.typical) else "",
        }
        sentence = _say(
            facts, f"{question}_{_decided(facts, question, row)}", facts.named, **numbers, **fields
        )
    return Question(BADGES[row.verdict], TITLES[facts.kind][question], sentence, row.verdict)


def _together(facts: Facts) -> str:
    """Of criteria: what the position that may be named does to all of them, where there is one."""
    if not facts.criterion or facts.lead is None:
        return ""
    lean = facts.leans[facts.lead]
    size = f"{number(abs(lean))}{NBSP}points"
    return _say(facts, _way(lean, "together_up", "together_down", ""), facts.lead, lean=size)


def _decided(facts: Facts, question: str, row: Row) -> str:
    """Which sentence says the answer to a question that has one."""
    if row.verdict == EQUIVALENT:
        if row.counts.get("above_zero"):
            return "small"
        if question == "positions" and facts.criterion:
            return "each_equivalent"
        trend = question == "mean" and facts.trend and not facts.variant
        return "trend_equivalent" if trend else "equivalent"
    if question == "positions":
        if facts.criterion:
            return "each"
        if facts.lead is None or (facts.lead != facts.largest and facts.reorder != "pairs"):
            return "furthest"
        return _way(facts.leans[facts.lead], "up", "down", "")
    if question == "mean":
        by_turn = facts.by_turn and facts.kind == "options"
        moved = facts.shift if facts.variant else facts.turn if facts.by_turn else facts.line
        kind = ""
        if by_turn:
            kind = "turn_"
        elif facts.trend and not facts.variant:
            kind = "trend_"
        return kind + _way(moved, "up", "down", "away" if facts.variant else "down")
    if not math.isfinite(row.interval[1]):
        return "uncounted"
    return "noise" if not facts.repeated else "few" if row.value < 0.005 else "effect"


def _undecided(facts: Facts, question: str, numbers: dict[str, str]) -> str:
    """“Up to {high} are possible; {s} would matter”, or why nothing can be said."""
    why = facts.questions[question].estimate.why
    if why == "unparsed_by_order":
        return _say(facts, why)
    if why in WITHHELD:
        return REASONS[why]
    if question == "single" and why == "any_prompt":
        flips, noise = (number(100 * value, ".0f") for value in (facts.flips, facts.noise))
        return _say(facts, why, flips=flips, own_noise=noise)
    if why == "one_criterion":
        return _say(facts, why, **numbers)
    if not numbers["upper"]:
        few = why in ("too_few_units", "few_deals", "") and facts.too_few
        return _say(facts, "few_groups") if few else REASONS.get(why) or _say(facts, "no_interval")
    noise = ", noise included" if question == "single" and not facts.repeated else ""
    return _say(facts, "undecided", noise=noise, **numbers)


# ---------------------------------------------------------------- what to do
def _advice(facts: Facts) -> str:
    """What to do, in words; empty where nothing was asked."""
    key: str = facts.action
    if key == "add":
        more = count(
            MIN_UNITS - facts.units, "more instruction" if facts.unit == "prompt" else "more item"
        )
        return _say(facts, key, more=more)
    if key != "about":
        return _say(facts, key) if key else ""
    still_open = [row.counts for row in facts.questions.values() if row.verdict == UNDECIDED]
    growth = [
        counts["more_units"] / counts["units"] for counts in still_open if counts.get("more_units")
    ]
    if not growth or len(growth) < len(still_open):
        return _say(facts, "more")
    return _say(facts, key, needed=f"{_rounded((1 + max(growth)) * facts.items):,}")


def _rounded(value: float) -> int:
    """Two leading digits, upwards: 137 is about 140."""
    size = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / size) * size)
