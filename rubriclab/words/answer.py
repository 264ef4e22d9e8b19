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
from rubriclab.core.ladder import LadderWord
from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.core.verdict import MIN_UNITS, SingleVerdict, Verdict
from rubriclab.measures.advice import AVERAGING, ONE_WILL_DO
from rubriclab.model.looks import unit_noun
from rubriclab.model.text import count, shorten
from rubriclab.words.looks import early_words, stop_words
from rubriclab.words.phrases import (
    NBSP,
    SENTENCES,
    capital,
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
    LEAST_DECIMALS,
    PEOPLE,
    UNDECIDED,
    Subject,
    end_of_list,
    place_text,
    sentence_tables,
    subjects,
)

BADGES = {EFFECT: "Yes", EQUIVALENT: "No", UNDECIDED: "Undecided"}
"""Badges of questions that are not about orders, by their verdicts."""
TITLES: dict[str, dict[str, str]] = {
    kind: SENTENCES[kind]["titles"]
    for kind in (*AXES, "passages", "pass_rate", "variant", "variant_pass_rate")
}
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
PERCENTAGE_POINTS = "percentage points"
FLAT_POINTS = 0.005
"""A smaller number would be written as 0.00. No sentence says that scores rise or fall by that."""


@dataclass(frozen=True)
class Question:
    """One question with its answer in a sentence.

    ``badge``: its word (``core/ladder.py``), or empty where there is no verdict. ``verdict``:
    effect, equivalent or undecided.
    """

    badge: str
    title: str
    sentence: str
    verdict: str = ""


@dataclass(frozen=True)
class Answer:
    """All sentences about one subject: a judge on a data set, or a variant of it.

    condition: the code of the condition that the answer is about.
    word: of the ladder; None where nothing is judged, as while a run is unfinished.
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
    word: LadderWord | None = None

    @property
    def line_parts(self) -> tuple[str, str, str]:
        """The line: before, in and after its bold part."""
        return self.line.partition(self.strong) if self.strong else (self.line, "", "")

    def lines(self) -> list[str]:
        """Return the answer as plain lines, for a terminal."""
        head = self.headline if self.judge in self.headline else f"{self.judge}: {self.headline}"
        if self.word:
            head = f"{self.word}: {head}"
        if self.about:
            head = f"[{shorten(self.about, MOST_ABOUT)}] {head}"
        if self.simulated:
            head += " (simulated judge)"
        out = [self.early] if self.early else []
        out += [head, self.line]
        if self.looked:
            out.append(self.looked)
        widest = max((len(asked.badge) for asked in self.questions), default=0)
        for asked in self.questions:
            colon = "" if asked.title.endswith("?") else ":"
            out.append(f"  {asked.badge:<{widest}}  {asked.title}{colon} {asked.sentence}")
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
    if subject.before_first_look:
        # Rows of an unfinished batch count in no number, so there is none to show or to doubt.
        headline = _say(subject, "no_look")
        return replace(seen, headline=headline, line=seen.early, early="", cautions=())
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
        headline = _say(subject, "nothing")
        return replace(seen, headline=headline, line=line, word=subject.word)
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
        word=subject.word,
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
    criteria = None if subject.positions is None else subject.positions.criteria
    alone = math.nan if criteria is None else criteria.largest
    own = {
        "judge": shorten(subject.judge, MOST_NAME),
        "calls": count(subject.calls, "call"),
        "averaged": _averaged(subject),
        "items": count(subject.items, "answer"),
        "units": subject.units,
        "needed": MIN_UNITS,
        "units_asked": _plural(subject),
        "asked_about": asked_about(subject),
        "form": shorten(subject.variant),
        "default": shorten(subject.default),
        "criterion": shorten(subject.criterion),
        "alone": f"{number(alone)}{NBSP}points",
        "position": position + 1,
        **_places(subject, position),
        **_scores_named(subject),
    }
    return say(key, sentence_tables(subject), **(own | fields))


def _scores_named(subject: Subject) -> dict[str, str]:
    """Name the score that passes and the one that fails; nothing where there is no pass rate."""
    if subject.rate is None:
        return {}
    high, low = subject.rate.passes, subject.rate.fails
    return {"high": high, "low": low, "High": capital(high)}


def _averaged(subject: Subject) -> str:
    """Say how the verdict's share is averaged; empty if it is the plain share of all calls."""
    if not (subject.by_position.averaged and subject.finished):
        return ""
    return _said(subject, "averaged_choices" if subject.reorder in CHOICES else "averaged_scores")


def _said(subject: Subject, key: str, **fields: Any) -> str:
    """Return a sentence that names nothing of the subject. ``_say`` itself needs such sentences."""
    return say(key, sentence_tables(subject), **fields)


def _places(subject: Subject, position: int) -> dict[str, str]:
    """Name a position (from 0): ``listed``, “the option listed first”; ``shown``, the same below a
    headline, “the first option”; ``at`` and ``Place``, “listed first”.
    """
    thing = "option" if subject.reorder == "options" else "answer"
    where = subject.reorder, position, len(subject.leans)
    end, at = end_of_list(*where), place_text(*where)
    between = f"the {thing} at position {position + 1}"
    return {
        "listed": f"the {thing} {at}" if end else between,
        "shown": f"the {end} {thing}" if end else between,
        "at": at,
        "Place": at.capitalize(),
    }


def _plural(subject: Subject) -> str:
    """Return what the subject's units are called, in the plural: “prompts”."""
    return count(2, unit_noun(subject.unit, subject.reorder)).removeprefix("2 ")


def asked_about(subject: Subject) -> str:
    """Count what was asked about in several orders: “30 answers”, “144 pairs”."""
    return count(subject.items, unit_noun("", subject.reorder))


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
    if subject.finished:
        said = _line_of_word(subject)
        if said[0]:
            return said
    if subject.in_points:
        low, high = (number(end, "+.2f") for end in (min(subject.leans), max(subject.leans)))
        strong = f"{low} to {high}{NBSP}points"
        return _say(subject, "line_each" if subject.criterion else "line", share=strong), strong
    if subject.is_(EQUIVALENT, "positions"):
        strong, each = _range(subject, subject.shares), _range(subject, subject.expected)
        each = _say(subject, "they_would" if " to " in each else "each_would", share=each)
        return _say(subject, "line_every", share=strong, each=each), strong
    return _line_of_one_position(subject)


def _line_of_word(subject: Subject) -> tuple[str, str]:
    """Return (line, bold part) that go with the word of the ladder; empty if there is none."""
    if subject.has_pass_rate and all(map(math.isfinite, subject.pass_rates)):
        first, last = (100 * rate for rate in subject.pass_rates)
        strong = f"{number(first, '.1f')}%"
        apart = number(abs(shown_difference(first, last, 1)), ".1f")
        fields = {
            "other": f"{number(last, '.1f')}%",
            "apart": f"{apart}{NBSP}percentage points",
        }
        return _say(subject, "line_rates", share=strong, **fields), strong
    if subject.word == "No bias seen yet" and subject.unmoved:
        strong = f"0 of {count(subject.calls, 'call')}"
        orders = count(subject.orders, "order")
        return _say(subject, "line_same", share=strong, orders=orders), strong
    if subject.because("unparsed_by_order") and subject.asked > subject.calls:
        strong = f"{subject.asked - subject.calls:,} of {count(subject.asked, 'reply', 'replies')}"
        return _say(subject, "line_unparsed", lost=strong), strong
    if subject.word == "Can't tell yet" and not subject.gate_open:
        return _line_of_chance(subject)
    if subject.is_(EFFECT, "positions"):
        if subject.in_points and subject.lead is not None:
            return _line_of_one_lean(subject, subject.lead)
        if not subject.in_points and subject.lead is None:
            # The pictures show what was seen, so the sentence says it, and what it does not show.
            seen, strong = _line_of_one_position(subject)
            counted = _counted_units(subject, subject.units)
            return f"{seen} {_say(subject, 'line_some', counted=counted)}", strong
    return "", ""


def _line_of_chance(subject: Subject) -> tuple[str, str]:
    """Return (line, bold part) about the first size that would matter but may be chance."""
    for name, verdict in subject.questions.items():
        open_ = subject.words[name] == "Can't tell yet" and not verdict.why
        if open_ and verdict.value >= verdict.smallest:
            strong = _say(subject, "chance")
            size = _numbers(subject, name)["size"]
            position = subject.largest if name == "positions" else None
            line = _say(subject, f"line_chance_{name}", position, size=size, share=strong)
            return line, strong
    return "", ""


def _line_of_one_lean(subject: Subject, position: int) -> tuple[str, str]:
    """Return (line, bold part) about the position that is named, where leans are points."""
    lean = subject.leans[position]
    others = [other for k, other in enumerate(subject.leans) if k != position]
    low, high = number(min(others), "+.2f"), number(max(others), "+.2f")
    strong = f"{number(abs(lean))}{NBSP}points"
    fields = {
        "others": low if low == high else f"{low} to {high}",
        "for_all": _say(subject, "for_all") if subject.unanimous else "",
    }
    key = _way(lean, "line_one_up", "line_one_down")
    return _say(subject, key, position, share=strong, **fields), strong


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
    line = _say(subject, "line", position, share=strong, rest=_say(subject, rest, even=even))
    if named is not None and subject.unanimous:
        # It is named because of the units at hand, so the sentence is about them.
        line += _say(subject, _way(subject.leans[position], "in_all_up", "in_all_down"))
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

    No verdict is about two single orders, so these numbers have no other place. Where unparsed
    replies block the verdicts they say as little.
    """
    if not subject.gate_open or subject.kind != "options":
        return ""  # of two scores the verdict is about the two orders already
    if subject.because("unparsed_by_order"):
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
        "inside": ends(low, high, level=row.level, limits=(0.0,)) or missing_interval,
        "change": f"{number(row.value, '+.2f')}{NBSP}points",
        "either": ends(*row.interval, level=row.level, limits=(0.0,)) or missing_interval,
    }


def _gap(subject: Subject) -> str:
    """Say how the two orders furthest apart differ: as seen, and corrected for being picked."""
    row = subject.gap
    if row is None or not all(map(math.isfinite, row.interval)) or row.interval[0] <= 0:
        return ""
    seen = _gap_seen(subject)
    fields = {
        "size": f"{number(row.value)}{NBSP}points",
        "inside": ends(*row.interval, level=row.level),
        "apart": f"{number(seen)}{NBSP}points",
        "orders": f"{subject.orders:,}",
    }
    key = "gap_corrected"
    if math.isfinite(seen):
        key = "gap_same" if fields["apart"] == fields["size"] else "gap"
    return _say(subject, key, **fields)


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
        unit, form, factor = PERCENTAGE_POINTS, f".{LEAST_DECIMALS}f", 100.0
    elif question == "mean" and subject.rate is not None:
        unit, form, factor = PERCENTAGE_POINTS, f".{LEAST_DECIMALS}f", abs(subject.rate.factor)
    limits = (0.0, verdict.smallest * factor)
    low, high = (end * factor for end in verdict.interval)
    inside = ends(low, high, form, level=subject.level, limits=limits)
    upper = number(high, form, limits) if math.isfinite(high) else ""
    if inside and verdict.above_zero and not low:
        inside = f"above 0, at most {upper}"
    value = _value(subject, question, form, factor)
    smallest = number(limits[1], ".2f" if unit == "points" else ".3g")
    seen = value if verdict.value > 0 else number(0.0, form)
    surely = subject.words[question] != "Yes, size unclear"
    return {
        "value": value,
        "size": f"{value}{NBSP}{unit}",
        "seen_size": f"{seen}{NBSP}{unit}",
        "inside": inside,
        "upper": upper,
        "most": f"{upper}{NBSP}{unit}" if upper else "",
        "smallest": smallest,
        "limit": smallest if question == "single" else f"{smallest}{NBSP}{unit}",
        "matters": "" if surely else _said(subject, "matters_too", smallest=smallest),
    }


def _value(subject: Subject, question: str, form: str, factor: float) -> str:
    """Write the size of an effect: the difference of two numbers that are shown, where it is."""
    verdict = subject.questions[question]
    if question == "positions" and not subject.in_points and subject.spoken is not None:
        return lean_text(subject, subject.spoken) or number(verdict.value * factor, form)
    if question == "mean" and subject.kind == "pass_rate":
        first, last = (100 * rate for rate in subject.pass_rates)
        if math.isfinite(first):
            return number(abs(shown_difference(first, last, LEAST_DECIMALS)), form)
    if isinstance(verdict, SingleVerdict) and verdict.repeated:
        apart = shown_difference(100 * verdict.flips, 100 * verdict.own_noise, 0)
        # Of orders that weigh unequally it is no difference of the two.
        if abs(apart - 100 * verdict.value) <= 1:
            return number(apart, form)
    return number(verdict.value * factor, form)


# ---------------------------------------------------------------- the headline
def _headline(subject: Subject) -> str:
    """Return the answer in one sentence, which claims no more than the word of the ladder."""
    if subject.variant:
        return _headline_of_variant(subject)
    match subject.word:
        case None:
            return _say(subject, "bare")
        case "Biased":
            key = _key_of_bias(subject)
        case "Bias too small to matter":
            key = _key_of_small_bias(subject)
        case "No bias that matters":
            key = "none"
        case "No bias seen yet":
            key = "same" if subject.unmoved else "unseen"
        case _:
            key = _key_of_open(subject)
    return _say(subject, key, subject.named)


def _key_of_bias(subject: Subject) -> str:
    """Return which headline says what an order effect is about."""
    if subject.kind == "pass_rate" and subject.is_(EFFECT, "mean"):
        return _way(subject.rate_moved, "up", "down")
    if subject.is_(EFFECT, "positions"):
        return "some" if subject.lead is None else _way(subject.leans[subject.lead], "up", "down")
    return "mean" if subject.is_(EFFECT, "mean") else "single"


def _key_of_small_bias(subject: Subject) -> str:
    """Return which headline says that a bias is there, and smaller than matters."""
    if subject.kind == "pass_rate" and math.isfinite(subject.line):
        return _way(subject.rate_moved, "lean_up", "lean_down")
    positions = subject.positions
    if positions is None or not positions.above_zero or subject.lead is None:
        return "lean_some"
    return _way(subject.leans[subject.lead], "lean_up", "lean_down")


def _key_of_open(subject: Subject) -> str:
    """Return which headline says why nothing can be told: the first rule that holds."""
    if subject.because(ONE_SCORE):
        return "one_score"
    if subject.because(ONE_TIE):
        return "one_tie"
    if subject.because("unparsed_by_order", "nothing_parsed"):
        return "unparsed"
    if subject.because("no_orders", "no_two_orders"):
        return "no_orders"
    if subject.gate_open:
        return "matters"
    if subject.because(LOW, UNKNOWN):
        return "constrained"
    return "any_prompt" if subject.because("any_prompt") else "too_few"


def _headline_of_variant(subject: Subject) -> str:
    """Return the answer about a variant in place of the default, in one sentence."""
    same = subject.is_(EQUIVALENT, "mean")
    if subject.is_(EFFECT, "mean"):
        return _say(subject, _way(_shift_up(subject), "mean_raised", "mean_lowered", "mean"))
    if subject.gate_open and subject.is_(EQUIVALENT, *subject.questions):
        return _say(subject, "small")
    if subject.gate_open or subject.is_(EFFECT, "single"):
        key = "single_too" if subject.is_(EFFECT, "single") else "matters"
        mean_same = _say(subject, "mean_same") if same else ""
        return _say(subject, key, mean_same=mean_same)
    return _say(subject, "no_position" if same else "open")


def _shift_up(subject: Subject) -> float:
    """Return by how much a variant moves the mean score, or the pass rate: its sign is of use."""
    return subject.shift if subject.rate is None else subject.shift * subject.rate.factor


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
    titles = TITLES[subject.kind]
    if subject.variant and subject.rate is not None:
        titles = TITLES["variant_pass_rate"]
    title = titles[question]
    return Question(subject.words[question], title, sentence, verdict.word)


def _fields_of_decided(
    subject: Subject, verdict: Verdict, numbers: Mapping[str, str]
) -> dict[str, str]:
    """Return the fields of sentences about a decided question."""
    fields = {
        "noise": _said(subject, "noise_off" if subject.repeated else "noise_in"),
        # An unbiased estimate may lie below its interval, which ends at 0: it is not shown then.
        "seen": "" if verdict.value < verdict.low else f"{numbers['value']}, ",
        "rests": _counted_units(subject, subject.units) if subject.too_few else "this design",
        "together": _together(subject),
        "orders": f"{subject.orders:,}",
        **_flips(subject),
    }
    if subject.scores:
        fields |= {"first": f"{subject.scores[0]:g}", "last": f"{subject.scores[-1]:g}"}
    return fields


def _flips(subject: Subject) -> dict[str, str]:
    """Write how many single scores change in another order, and in the same order again."""
    if subject.single is None:
        return {}
    flips, noise = subject.single.flips, subject.single.own_noise
    return {"flips": number(100 * flips, ".0f"), "own_noise": number(100 * noise, ".0f")}


def _counted_units(subject: Subject, units: int) -> str:
    """Count units: “48 prompts”."""
    return count(units, unit_noun(subject.unit, subject.reorder))


def _together(subject: Subject) -> str:
    """Say by how much a position changes the mean of all criteria; empty if none may be named.

    Where it is named because all units lean to its side, the line below the headline says that.
    """
    if not subject.criterion or subject.lead is None or subject.unanimous:
        return ""
    lean = subject.leans[subject.lead]
    size = f"{number(abs(lean))}{NBSP}points"
    return _say(subject, f"together_{_way(lean, 'up', 'down')}", subject.lead, lean=size)


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
    if not subject.repeated or subject.single is None:
        return "noise"
    if verdict.value < FLAT_POINTS:
        return "few"
    return "effect" if subject.single.own_noise else "quiet"


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
    named = subject.lead if subject.named is None else subject.named
    return _way(subject.leans[named], "up", "down")


def _mean_effect(subject: Subject) -> str:
    """Return which sentence says how the mean changes.

    Its key names what the change is about and its direction. ``turn_``: ascending lists against
    descending ones, wherever they begin. ``trend_``: a straight line over the positions.
    """
    if subject.variant:
        return _way(_shift_up(subject), "up", "down", "away")
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
    if why == "any_prompt":
        return _say(subject, "any_prompt_seen", **_flips(subject))
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
    if not key:
        return ""
    if key in (*AVERAGING, *ONE_WILL_DO):
        return _say(subject, key)
    fields: dict[str, str] = {}
    if key == "add":
        fields = {"needed_units": _counted_units(subject, MIN_UNITS)}
    elif key == "about":
        needed = subject.units_of_new_run
        if needed is None:
            key = "more"
        else:
            needed = _rounded_up(needed)
            fields = {
                "about_units": _counted_units(subject, needed),
                "extra": f"{needed - subject.units:,}",
            }
    todo = _say(subject, key, **fields)
    seen_nothing = "Not seen yet" in subject.words.values() and (
        "Can't tell yet" not in subject.words.values()
    )
    frame = "nothing_yet" if seen_nothing else "untested"
    return _say(subject, frame, todo=todo, Todo=todo[:1].upper() + todo[1:])


def _rounded_up(value: float) -> int:
    """Round up to two leading digits, so that no sentence is too exact: 137 becomes 140."""
    size = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / size) * size)
