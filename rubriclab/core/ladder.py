"""Say in one of five words what a judge's verdicts mean together: the ladder.

Every page, report, file and command shows these words, and nothing else makes them. Nothing is
estimated here. A word of the ladder claims no more than its verdicts do: ``No bias seen yet`` means
that nothing was seen, not that nothing is there. So it is never shortened, and the size that is
still possible is shown with it. How often each word is given to judges whose bias is known:
``docs/method-check.md``.
"""

import math
from collections.abc import Iterable
from typing import Literal

from rubriclab.core.fairness import WITHHELD
from rubriclab.core.verdict import LEAST_GROWTH, Verdict, Verdicts

LadderWord = Literal[
    "Biased",
    "Bias too small to matter",
    "No bias that matters",
    "No bias seen yet",
    "Can't tell yet",
]
QuestionWord = Literal[
    "Yes", "Yes, size unclear", "Too small to matter", "No", "Not seen yet", "Can't tell yet"
]
NOT_BY_SIZE = (
    "unparsed_by_order",
    "any_prompt",
    "one_order_an_item",
    "nothing_parsed",
    "no_orders",
    "no_two_orders",
    "no_contrast",
    *WITHHELD,
)
"""Reasons that more prompts do not change."""
CANNOT_SHOW = (*NOT_BY_SIZE, "few_deals", "one_criterion")
"""Reasons with which “not seen” would mean nothing: these calls could hardly have shown it."""


def question_word(verdict: Verdict, *, gate_open: bool) -> QuestionWord:
    """Return the word of one question.

    ``gate_open``: the permutation test rejects, so that something changes with the order. Then
    nothing is “not seen yet”.
    """
    if verdict.word == "effect":
        return "Yes" if verdict.low >= verdict.smallest else "Yes, size unclear"
    if verdict.word == "equivalent":
        return "Too small to matter" if verdict.above_zero else "No"
    unseen = _seen(verdict) < verdict.smallest and math.isfinite(verdict.high)
    if unseen and not gate_open and verdict.why not in CANNOT_SHOW:
        return "Not seen yet"
    return "Can't tell yet"


def question_words(verdicts: Verdicts) -> dict[str, QuestionWord]:
    """Return the word of each question, by its name."""
    gate_open = verdicts.gate.open
    return {
        name: question_word(verdict, gate_open=gate_open)
        for name, verdict in verdicts.questions.items()
    }


def ladder_word(verdicts: Verdicts, *, gap_matters: bool = False) -> LadderWord | None:
    """Return the word of a judge; None where there is no question, as without a list.

    ``gap_matters``: two orders surely differ by more than matters (``measures/advice.py``). No
    question is about two single orders, so this denies, and does not claim.
    """
    words = list(question_words(verdicts).values())
    if not words:
        return None
    if "Yes" in words or "Yes, size unclear" in words:
        return "Biased"
    if "Can't tell yet" in words or gap_matters:
        return "Can't tell yet"
    if "Not seen yet" in words:
        return "No bias seen yet"
    if "Too small to matter" in words:
        return "Bias too small to matter"
    return "No bias that matters"


def units_of_new_run(verdicts: Verdicts) -> int | None:
    """Return about how many units a new run needs to decide, if all stays as seen.

    None where nothing is open, and where no number of units is known to decide it. A judge of whom
    we can't tell is decided by the questions of which we can't; otherwise every open question has
    to be. The number is of a whole new run: no calls are added to one that has been looked at.
    """
    words = question_words(verdicts)
    lacking: QuestionWord = (
        "Can't tell yet" if "Can't tell yet" in words.values() else "Not seen yet"
    )
    return _most(
        _units_that_decide(verdicts.questions[name], verdicts.units)
        for name, word in words.items()
        if word == lacking
    )


def _most(numbers: Iterable[int | None]) -> int | None:
    known: list[int] = []
    for number in numbers:
        if number is None:
            return None
        known.append(number)
    return max(known, default=None)


def _seen(verdict: Verdict) -> float:
    """Return the largest size that was seen: of all, or of the one part that moves most."""
    return max(verdict.value, verdict.furthest)


def _units_that_decide(verdict: Verdict, units: int) -> int | None:
    """Return how many units would decide one open question, if it stays as it was seen.

    Below the smallest effect that matters: the units at which it could be called “No”. The interval
    shrinks with the root of the units; where hardly any moved it shrinks with their number (Clopper
    and Pearson's bound). Otherwise: those at which its test could show the effect
    (``core/verdict.py``).
    """
    if verdict.why in NOT_BY_SIZE:
        return None
    if not math.isfinite(verdict.high) or not _seen(verdict) < verdict.smallest:
        return None if verdict.more_units is None else units + verdict.more_units
    power = 1 if verdict.few_moved else 2
    room = verdict.smallest - max(verdict.value, 0.0)
    growth = ((verdict.high - verdict.value) / room) ** power
    needed = units * max(LEAST_GROWTH, growth, verdict.units_needed / units)
    return math.ceil(round(needed, 9))
