"""Say what a judge's verdicts mean: a headline, a line, an answer to each question, and advice.

Page, report and command line all print these sentences. This module chooses what is said;
``sentences.toml`` holds how it is said. Every number comes from the subject's records, and is only
rounded here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.core.fairness import LOW, ONE_SCORE, ONE_TIE, UNKNOWN, WITHHELD
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.core.verdict import MIN_UNITS, Verdict
from rubriclab.model.text import count, shorten
from rubriclab.words.looks import early_words, stop_words
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
from rubriclab.words.subject import (
    AXES,
    CHOICES,
    EFFECT,
    EQUIVALENT,
    PEOPLE,
    UNDECIDED,
    Subject,
    sentence_tables,
    subjects,
)

BADGES = {EFFECT: "Yes", EQUIVALENT: "No", UNDECIDED: "Undecided"}
TITLES: dict[str, dict[str, str]] = {kind: SENTENCES[kind]["titles"] for kind in (*AXES, "variant")}
"""The questions that exist for each kind of list, and for a variant, with their titles."""
SAID_BY_QUESTIONS = {
    "few_units": "too_few_units",
    "few_moved": "too_few_units",
    "single_order": "no_orders",
    "constant_judge": ONE_SCORE,
}
"""Cautions that say the same as a question's reason, by kind. ``judged`` leaves them out then."""
MOST_NAME = 100
"""Max characters of a judge's name in a sentence."""
MOST_ABOUT = 120
"""Max characters of data set and setting in a line on a terminal."""
FLAT_POINTS = 0.005
"""A smaller number would be written as 0.00. No sentence says that scores rise or fall by that."""


@dataclass(frozen=True)
class Question:
    """One question with its answer in a sentence.

    ``badge``: Yes, No or Undecided, or empty where there is no verdict. ``verdict``: the word that
    colours the badge.
    """

    badge: str
    title: str
    sentence: str
    verdict: str = ""


@dataclass(frozen=True)
class Answer:
    """All sentences about one subject: a judge on a data set, or a variant of it.

    condition: the code of the condition that the answer is about.
    line: the sentence below the headline; ``strong`` is the part of it in bold.
    questions: empty while the run is unfinished.
    note: the difference between two single orders, about which there is no verdict.
    early: the sentence above the headline of an unfinished run.
    looked: when a run that stopped early was clear, and what that means for its numbers.
    about: the data set and setting, if the run has several.
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
    looked: str = ""
    simulated: bool = False
    about: str = ""

    def lines(self) -> list[str]:
        """Return the answer as plain lines, for a terminal."""
        head = self.headline if self.judge in self.headline else f"{self.judge}: {self.headline}"
        if self.about:
            head = f"[{shorten(self.about, MOST_ABOUT)}] {head}"
        if self.simulated:
            head += " (simulated judge)"
        out = [self.early] if self.early else []
        out += [head, self.line]
        if self.looked:
            out.append(self.looked)
        for asked in self.questions:
            colon = "" if asked.title.endswith("?") else ":"
            out.append(f"  {asked.badge:<9}  {asked.title}{colon} {asked.sentence}")
        if self.note:
            out.append(self.note)
        if self.advice:
            out.append(f"What to do: {self.advice}")
        return out + [f"Caution: {caution}" for caution in self.cautions]


def answers(findings: Findings) -> list[Answer]:
    """Return the answer about every judge, data set and setting; then about each variant."""
    return [judged(findings, subject) for subject in subjects(findings)]


def several_tests(findings: Findings) -> str:
    """Say how often at least one of several answers is Yes by chance; empty for a single one.

    Each answer is tested by itself, and nothing guards them together.
    """
    tests = sum(not row.of and math.isfinite(row.p) for row in findings.select("gate"))
    if tests < 2:
        return ""
    share = 100 * (1 - (1 - ALPHA) ** tests)
    return say("method_several", ("every",), tests=f"{tests:,}", share=f"{share:.0f}")


def judged(findings: Findings, subject: Subject) -> Answer:
    """Return the answer about a subject, with the cautions of its condition.

    What a question gives as its reason is not repeated as a caution.
    """
    whys = {verdict.why for verdict in subject.questions.values()}
    cautions = [
        caution_text(caution)
        for caution in findings.cautions
        if caution.condition in (-1, subject.condition)
        and caution.topic not in PEOPLE
        and SAID_BY_QUESTIONS.get(caution.kind) not in whys
    ]
    return compose(subject, tuple(dict.fromkeys(cautions)))


def compose(subject: Subject, cautions: tuple[str, ...] = ()) -> Answer:
    """Return the answer about a subject.

    For a judge whose replies were constrained, the line ends with its free mass: the probability
    that the judge gives to the labels without the constraint.
    """
    answer = _composed(subject, cautions)
    known = subject.free_mass
    if known is None:
        return answer
    if known.calls:
        fields = {"mass": number(known.median), "sampled": count(known.calls, "call")}
        mass = _say(subject, "free_mass", **fields)
    else:
        mass = _say(subject, "free_mass_unknown")
    return replace(answer, line=f"{answer.line} {mass}")


def _composed(subject: Subject, cautions: tuple[str, ...]) -> Answer:
    """Return the answer without a word about constrained replies. See ``compose``."""
    seen = Answer(
        shorten(subject.judge, MOST_NAME),
        subject.condition,
        headline="",
        line="",
        cautions=cautions,
        simulated=subject.simulated,
        about=subject.about,
    )
    look = subject.look
    if look is not None and not subject.variant:
        seen = replace(seen, early=early_words(look), looked=stop_words(look))
    if look is not None and not look.number:
        # Rows of an unfinished batch count in no number, so there is none to show.
        return replace(seen, headline=_say(subject, "no_look"), line=seen.early, early="")
    if not subject.calls:
        if not subject.asked:
            return replace(
                seen,
                headline=_say(subject, "no_reply"),
                line=_say(subject, "no_reply_line", planned=count(subject.planned, "call")),
                cautions=(),  # they would count what was parsed of nothing
            )
        replies = count(subject.asked, "reply", "replies")
        line = _say(subject, "nothing_line", replies=replies)
        return replace(seen, headline=_say(subject, "nothing"), line=line)
    line, strong = _line(subject)
    seen = replace(seen, line=line, strong=strong)
    if not subject.finished:
        key = "stopped" if subject.stopped else "early"
        calls = {"asked": f"{subject.asked:,}", "planned": f"{subject.planned:,}"}
        described = _described(subject, seen)
        headline = _say(subject, "so_far", headline=described.headline)
        return replace(described, headline=headline, early=_say(subject, key, **calls))
    questions = tuple(
        _question(subject, name, subject.questions[name])
        for name in TITLES[subject.kind]
        if name in subject.questions
    )
    answer = replace(
        seen,
        headline=_headline(subject),
        questions=questions,
        note=_note(subject),
        advice=_advice(subject),
    )
    return answer if answer.headline else _described(subject, answer)


def _say(subject: Subject, key: str, position: int | None = None, /, **fields: Any) -> str:
    """Return the sentence ``key`` for the subject's kind of list.

    ``position``: the position that it names, from 0. If it is None, the position that gains most.
    """
    position = subject.top if position is None else position
    listed = _listed(subject, position)
    criteria = None if subject.positions is None else subject.positions.criteria
    alone = math.nan if criteria is None else criteria.largest
    own = {
        "judge": shorten(subject.judge, MOST_NAME),
        "calls": count(subject.calls, "call"),
        "averaged": _averaged(subject),
        "items": count(subject.items, "answer"),
        "units": subject.units,
        "needed": MIN_UNITS,
        "form": shorten(subject.variant),
        "default": shorten(subject.default),
        "criterion": shorten(subject.criterion),
        "alone": f"{number(alone)}{NBSP}points",
        "position": position + 1,
        "listed": listed,
        "Listed": listed.capitalize(),
    }
    return say(key, sentence_tables(subject), **(own | fields))


def _averaged(subject: Subject) -> str:
    """Say how the verdict's share is averaged; empty if it is the plain share of all calls."""
    if not (subject.by_position.averaged and subject.finished):
        return ""
    return _said(subject, "averaged_choices" if subject.reorder in CHOICES else "averaged_scores")


def _said(subject: Subject, key: str, **fields: Any) -> str:
    """Return a sentence that names nothing of the subject. ``_say`` itself needs such sentences."""
    return say(key, sentence_tables(subject), **fields)


def _listed(subject: Subject, position: int) -> str:
    """Name what is at a position (from 0): “the option listed first”, “the answer at position
    3”, “the answer shown second”.
    """
    what = "option" if subject.reorder == "options" else "answer"
    if subject.reorder == "pairs":
        return f"the answer shown {('first', 'second')[position]}"
    if position == 0:
        return f"the {what} listed first"
    if position == len(subject.leans) - 1:
        return f"the {what} listed last"
    return f"the {what} at position {position + 1}"


def _described(subject: Subject, answer: Answer) -> Answer:
    """Return the answer with a headline that says what was measured, without any verdict."""
    if subject.variant or not subject.leans:
        return replace(answer, headline=_say(subject, "seen_calls"))
    if subject.in_points:
        return replace(answer, headline=_say(subject, "seen"))
    expected = subject.expected[subject.top]
    share = share_text(subject, subject.shares[subject.top])
    key = "even" if math.isfinite(expected) else "uneven"
    line = _say(subject, key, even=share_text(subject, expected))
    return replace(answer, headline=_say(subject, "seen", share=share), line=line, strong="")


# ---------------------------------------------------------------- the line below the headline
def _line(subject: Subject) -> tuple[str, str]:
    """Return (the line below the headline, its bold part)."""
    if subject.variant or not subject.leans:
        return _say(subject, "line_calls"), ""
    if subject.in_points:
        low, high = (number(end, "+.2f") for end in (min(subject.leans), max(subject.leans)))
        strong = f"{low} to {high}{NBSP}points"
        return _say(subject, "line_each" if subject.criterion else "line", share=strong), strong
    if subject.is_(EQUIVALENT, "positions"):
        strong, each = _range(subject, subject.shares), _range(subject, subject.expected)
        each = _say(subject, "they_would" if " to " in each else "each_would", share=each)
        return _say(subject, "line_every", share=strong, each=each), strong
    return _line_of_one_position(subject)


def _line_of_one_position(subject: Subject) -> tuple[str, str]:
    """Return (line, bold part) about the share of the position that is named, or gains most."""
    named = subject.named if subject.is_(EFFECT, "positions") else None
    position = subject.top if named is None else named
    if not math.isfinite(subject.expected[position]):
        rest = "uneven"
    elif named is None:
        rest = "even"
    else:
        rest = "without"
    strong = share_text(subject, subject.shares[position])
    even = share_text(subject, subject.expected[position])
    shown = _listed(subject, position)
    if subject.reorder == "options":
        shown = f"position {position + 1}"
    line = _say(subject, "line", share=strong, shown=shown, rest=_say(subject, rest, even=even))
    return line, strong


def share_text(subject: Subject, share: float) -> str:
    """Write a share as all surfaces write those of this subject, so that differences add up."""
    return number(share, f".{subject.share_decimals}%")


def lean_text(subject: Subject, position: int) -> str:
    """Write how far a position's share lies from the expected one, in percentage points.

    It is the difference of the two as they are shown. Empty where no expected share is known.
    """
    share, even = 100 * subject.shares[position], 100 * subject.expected[position]
    if not math.isfinite(even):
        return ""
    decimals = subject.share_decimals
    return number(abs(shown_difference(share, even, decimals)), f".{decimals}f")


def _range(subject: Subject, shares: tuple[float, ...]) -> str:
    """Write “19 to 21%”, or “20%” where all are equal as they are written."""
    low, high = share_text(subject, min(shares)), share_text(subject, max(shares))
    return high if low == high else f"{low.removesuffix('%')} to {high}"


# ---------------------------------------------------------------- what two orders showed
def _note(subject: Subject) -> str:
    """Say how two single orders differ; empty unless the permutation test found an order effect.

    No verdict is about two single orders, so these numbers have no other place.
    """
    if not subject.gate_open or subject.reorder != "options" or subject.variant:
        return ""
    reversal = _reversed_list(subject)
    if reversal and _furthest_are_reversed(subject):
        return reversal  # the gap would say the same number of the same two orders
    return " ".join(filter(None, [reversal, _gap(subject)]))


def _gap_seen(subject: Subject) -> float:
    """Return the difference of the two orders furthest apart, in points; NaN if unknown.

    This is the difference as measured. The row's own value is smaller: it is corrected for the fact
    that these two orders were picked because they differ most.
    """
    return math.nan if subject.gap is None else float(subject.gap.counts.get("seen", math.nan))


def _furthest_are_reversed(subject: Subject) -> bool:
    """Return whether the two orders furthest apart differ no more than the list and its reverse."""
    row = subject.reversed_list
    rounding = 1e-9  # the same difference, computed twice
    return row is not None and abs(row.value) >= _gap_seen(subject) - rounding


def _reversed_list(subject: Subject) -> str:
    """Say what reversing the list changed, from the calls in these two orders alone.

    Empty if a question is about these two orders already.
    """
    row = subject.reversed_list
    if row is None or not subject.trend or not row.counts["n"]:
        return ""
    changed, again = row.counts["changed"], row.counts["again"]
    fields = {
        "first": f"{subject.scores[0]:g}",
        "last": f"{subject.scores[-1]:g}",
        "changed": f"{changed:,}",
        "compared": count(row.counts["n"], "answer"),
        "again": count(again, "answer"),
        "noisy": f"{row.counts['noisy']:,}",
    }
    if not changed:
        return _say(subject, "reversed_none", **fields)
    noise = "reversed_noise" if again else "reversed_once"
    moved = _say(subject, _reversal(row), **_reversal_numbers(row), **fields)
    return f"{moved} {_say(subject, noise, **fields)}"


def _reversal(row: Row) -> str:
    """Return which sentence says by how much the list and its reverse differ.

    Only if the interval is without 0 does the sentence name a direction.
    """
    low, high = row.interval
    if low > 0:
        return "reversed_up"
    if high < 0:
        return "reversed_down"
    if max(abs(low), abs(high)) < FLAT_POINTS:
        return "reversed_even"
    return "reversed_open"


def _reversal_numbers(row: Row) -> dict[str, str]:
    """Write a difference: ``size`` and ``inside`` without sign, since words say the direction;
    ``change`` and ``either`` with their sign.
    """
    low, high = row.interval
    if row.value < 0:
        low, high = -high, -low
    missing_interval = lowered(reason(row))
    return {
        "size": f"{number(abs(row.value))}{NBSP}points",
        "inside": ends(low, high, limits=(0.0,)) or missing_interval,
        "change": f"{number(row.value, '+.2f')}{NBSP}points",
        "either": ends(*row.interval, limits=(0.0,)) or missing_interval,
    }


def _gap(subject: Subject) -> str:
    """Say how the two orders furthest apart differ: as seen, and corrected for being picked."""
    row = subject.gap
    if row is None or not all(map(math.isfinite, row.interval)) or row.interval[0] <= 0:
        return ""
    seen = _gap_seen(subject)
    fields = {
        "size": f"{number(row.value)}{NBSP}points",
        "inside": ends(*row.interval),
        "apart": f"{number(seen)}{NBSP}points",
        "orders": f"{subject.orders:,}",
    }
    return _say(subject, "gap" if math.isfinite(seen) else "gap_corrected", **fields)


# ---------------------------------------------------------------- a verdict's numbers
def _numbers(subject: Subject, question: str) -> dict[str, str]:
    """Write the numbers of a verdict. Rounding never moves an end across a limit that decides it.

    ``value``, ``upper`` (the interval's upper end) and ``smallest`` (the smallest effect that
    matters) have no unit. ``size``, ``most`` and ``limit`` are the same numbers with their unit.
    ``inside`` is the interval, empty if there is none.
    """
    verdict = subject.questions[question]
    unit, form, factor = "points", ".2f", 1.0
    if question == "single":
        unit, form, factor = "in 100", ".0f", 100.0
    elif question == "positions" and not subject.in_points:
        unit, form, factor = "percentage points", ".0f", 100.0
    limits = (0.0, verdict.smallest * factor)
    low, high = (end * factor for end in verdict.interval)
    inside = ends(low, high, form, limits=limits)
    upper = number(high, form, limits) if math.isfinite(high) else ""
    if inside and verdict.above_zero and not low:
        inside = f"above 0, at most {upper}"
    value = number(verdict.value * factor, form)
    if unit == "percentage points" and subject.spoken is not None:
        value = lean_text(subject, subject.spoken) or value
    smallest = number(limits[1], ".2f" if unit == "points" else ".3g")
    return {
        "value": value,
        "size": f"{value}{NBSP}{unit}",
        "inside": inside,
        "upper": upper,
        "most": f"{upper}{NBSP}{unit}" if upper else "",
        "smallest": smallest,
        "limit": smallest if question == "single" else f"{smallest}{NBSP}{unit}",
    }


# ---------------------------------------------------------------- the headline
def _headline(subject: Subject) -> str:
    """Return the answer in one sentence.

    Empty if there are too few units to say more than what was measured.
    """
    if subject.variant:
        return _headline_of_variant(subject)
    positions = subject.positions
    if positions is None:
        return _say(subject, "bare")
    way = "some" if subject.lead is None else _way(subject.leans[subject.lead], "up", "down")
    if positions.word == EFFECT:
        return _say(subject, way, subject.named, **_numbers(subject, "positions"))
    if positions.word == EQUIVALENT:
        if positions.above_zero:
            return _say(subject, f"lean_{way}", subject.named, **_numbers(subject, "positions"))
        return _say(subject, "no_position") + _but(subject)
    return _say(subject, _open_headline(subject))


def _but(subject: Subject) -> str:
    """Say what the order changes although it favours no position; empty if nothing is known."""
    if subject.is_(EFFECT, "mean") or subject.gap_matters:
        return _say(subject, "but_mean")
    return _say(subject, "but_single") if subject.is_(EFFECT, "single") else ""


def _open_headline(subject: Subject) -> str:
    """Return which headline says why positions are undecided: the first rule that holds."""
    if subject.because(ONE_SCORE):
        return "one_score"
    if subject.because(ONE_TIE):
        return "one_tie"
    if subject.is_(EFFECT, "mean"):
        return "mean"
    if subject.because("unparsed_by_order"):
        return "unparsed"
    if subject.gate_open or subject.is_(EFFECT, "single"):
        return "matters"
    if subject.because(LOW, UNKNOWN):
        return "constrained"
    if subject.because("no_orders", "no_two_orders"):
        return "no_orders"
    return "too_few" if subject.too_few else "open"


def _headline_of_variant(subject: Subject) -> str:
    """Return the answer about a variant in place of the default, in one sentence."""
    same = subject.is_(EQUIVALENT, "mean")
    if subject.is_(EFFECT, "mean"):
        return _say(subject, _way(subject.shift, "mean_raised", "mean_lowered", "mean"))
    if subject.gate_open or subject.is_(EFFECT, "single"):
        key = "single_too" if subject.is_(EFFECT, "single") else "matters"
        mean_same = _say(subject, "mean_same") if same else ""
        return _say(subject, key, mean_same=mean_same)
    return _say(subject, "no_position" if same else "open")


def _way(value: float, up: str, down: str, unknown: str = "") -> str:
    """Return ``up`` or ``down`` by the sign of a value, ``unknown`` where it is NaN."""
    if not math.isfinite(value):
        return unknown
    return up if value > 0 else down


# ---------------------------------------------------------------- the three questions
def _question(subject: Subject, question: str, verdict: Verdict) -> Question:
    """Return a question with its badge and the sentence that answers it."""
    numbers = _numbers(subject, question)
    if verdict.word == UNDECIDED:
        sentence = _undecided(subject, question, verdict, numbers)
    else:
        key = f"{question}_{_decided(subject, question, verdict)}"
        fields = _fields_of_decided(subject, verdict, numbers)
        sentence = _say(subject, key, subject.named, **numbers, **fields)
    title = TITLES[subject.kind][question]
    return Question(BADGES[verdict.word], title, sentence, verdict.word)


def _fields_of_decided(
    subject: Subject, verdict: Verdict, numbers: Mapping[str, str]
) -> dict[str, str]:
    """Return the fields of sentences about a decided question."""
    typical = ""
    if math.isfinite(subject.typical):
        points = f"{number(subject.typical)}{NBSP}points"
        typical = _said(subject, "typical_change", points=points)
    fields = {
        "noise": _said(subject, "noise_off" if subject.repeated else "noise_in"),
        # An unbiased estimate may lie below its interval, which ends at 0: it is not shown then.
        "seen": "" if verdict.value < verdict.low else f"{numbers['value']}, ",
        "rests": count(subject.units, "group") if subject.too_few else "this design",
        "Noun": _said(subject, "noun").capitalize(),
        "together": _together(subject),
        "orders": f"{subject.orders:,}",
        "typical": typical,
    }
    if subject.scores:
        fields |= {"first": f"{subject.scores[0]:g}", "last": f"{subject.scores[-1]:g}"}
    return fields


def _together(subject: Subject) -> str:
    """Say by how much a position changes the mean of all criteria; empty if none may be named."""
    if not subject.criterion or subject.lead is None:
        return ""
    lean = subject.leans[subject.lead]
    size = f"{number(abs(lean))}{NBSP}points"
    key = _way(lean, "together_up", "together_down")
    return _say(subject, key, subject.lead, lean=size)


def _decided(subject: Subject, question: str, verdict: Verdict) -> str:
    """Return which sentence answers a decided question: its key without the question's name."""
    if verdict.word == EQUIVALENT:
        return _equivalent(subject, question, verdict)
    if question == "positions":
        return _position_effect(subject)
    if question == "mean":
        return _mean_effect(subject)
    if not math.isfinite(verdict.high):
        return "uncounted"
    if not subject.repeated:
        return "noise"
    return "few" if verdict.value < FLAT_POINTS else "effect"


def _equivalent(subject: Subject, question: str, verdict: Verdict) -> str:
    """Return which sentence says that an effect is smaller than matters."""
    if verdict.above_zero:
        return "small"
    if question == "positions" and subject.criterion:
        return "each_equivalent"
    if question == "mean" and subject.trend and not subject.variant:
        return "trend_equivalent"
    return "equivalent"


def _position_effect(subject: Subject) -> str:
    """Return which sentence says what a position gains or loses."""
    if subject.criterion:
        return "each"
    if subject.lead is None:
        return "furthest"
    if subject.lead != subject.largest and subject.reorder != "pairs":
        return "furthest"
    return _way(subject.leans[subject.lead], "up", "down")


def _mean_effect(subject: Subject) -> str:
    """Return which sentence says how the mean changes.

    Its key names what the change is about and its direction. ``turn_``: ascending lists against
    descending ones, wherever they begin. ``trend_``: a straight line over the positions.
    """
    if subject.variant:
        return _way(subject.shift, "up", "down", "away")
    kind = ""
    if subject.by_turn and subject.kind == "options":
        kind = "turn_"
    elif subject.trend:
        kind = "trend_"
    return kind + _way(subject.turn if subject.by_turn else subject.line, "up", "down", "down")


def _undecided(
    subject: Subject, question: str, verdict: Verdict, numbers: Mapping[str, str]
) -> str:
    """Say “Up to {high} are possible; {s} would matter”, or why nothing can be said."""
    why = verdict.why
    if why == "unparsed_by_order":
        return _say(subject, why)
    if why in WITHHELD:
        return REASONS[why]
    if why == "any_prompt" and subject.single is not None:
        flips, noise = subject.single.flips, subject.single.own_noise
        fields = {"flips": number(100 * flips, ".0f"), "own_noise": number(100 * noise, ".0f")}
        return _say(subject, why, **fields)
    if why == "one_criterion":
        return _say(subject, why, **numbers)
    if not numbers["upper"]:
        if why in ("too_few_units", "few_deals", "") and subject.too_few:
            return _say(subject, "few_groups")
        return REASONS.get(why) or _say(subject, "no_interval")
    noise_in = ""
    if question == "single" and not subject.repeated:
        noise_in = ", " + _said(subject, "noise_in")
    return _say(subject, "undecided", noise=noise_in, **numbers)


# ---------------------------------------------------------------- what to do
def _advice(subject: Subject) -> str:
    """Say what to do; empty where nothing was asked."""
    key: str = subject.action
    if key == "add":
        noun = "more instruction" if subject.unit == "prompt" else "more item"
        return _say(subject, key, more=count(MIN_UNITS - subject.units, noun))
    if key == "about":
        needed = _items_that_decide(subject)
        if needed is None:
            return _say(subject, "more")
        return _say(subject, key, needed=f"{_rounded_up(needed):,}")
    return _say(subject, key) if key else ""


def _items_that_decide(subject: Subject) -> float | None:
    """Return how many answers would decide every open question; None where it is not known."""
    still_open = [v for v in subject.questions.values() if v.word == UNDECIDED]
    units = 0 if subject.verdicts is None else subject.verdicts.units
    growth = [verdict.more_units / units for verdict in still_open if verdict.more_units]
    if not growth or len(growth) < len(still_open):
        return None
    return (1 + max(growth)) * subject.items


def _rounded_up(value: float) -> int:
    """Round up to two leading digits, so that no sentence is too exact: 137 becomes 140."""
    size = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / size) * size)
