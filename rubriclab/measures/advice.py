"""Decide what to do about a judge, once for every page, text, report, file and card.

Nothing here becomes a row of the results. ``decide`` says what to do, ``advice_of`` adds how many
calls that takes, and the room ``words`` puts it into sentences.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rubriclab.core.fairness import LOW, ONE_SCORE, ONE_TIE, UNKNOWN
from rubriclab.core.judgments import widest
from rubriclab.core.ladder import LadderWord, ladder_word
from rubriclab.core.topic import Findings, Row
from rubriclab.core.verdict import MIN_UNITS, Verdict, Verdicts
from rubriclab.measures.expected_error import ExpectedError, error_by_orders
from rubriclab.measures.reliability import ONE_ORDER, pooled
from rubriclab.model.text import LabError

Action = Literal[
    "",
    "several_orders",
    "small",
    "average",
    "wordings",
    "enough",
    "other_judge",
    "unconstrained",
    "parse",
    "ask_orders",
    "add",
    "ask_twice",
    "about",
]
"""What to do; empty where there is no question. Those that are neither in AVERAGING nor in
ONE_WILL_DO ask for a new run.
"""
AVERAGING = ("several_orders", "average", "wordings")
"""Average several orders (for choices: ask them). With ``wordings``, any changed prompt will do."""
ONE_WILL_DO = ("small", "enough")
"""One order is enough, because the order changes nothing that matters."""
CARDED = ("options", "criteria")
"""Kinds of lists with scores of single answers. Only these can be averaged over several calls."""


@dataclass(frozen=True)
class Advice:
    """What to do about one judge on one data set, with one kind of list and one variant.

    orders: in how many orders to ask about each answer, once in each; None where we do not know.
    asked: how many orders the run asked. We cannot advise more than that.
    needed: the row with the number of calls in different orders for a dependability of 0.9.
    again: the row with the number of calls in one order for the same dependability.
    """

    action: Action
    orders: int | None = None
    asked: int = 0
    needed: Row | None = None
    again: Row | None = None

    @property
    def averages(self) -> bool:
        """Return whether to average (for choices: ask) several orders."""
        return self.action in AVERAGING

    @property
    def one_will_do(self) -> bool:
        """Return whether one order is enough."""
        return self.action in ONE_WILL_DO


def decide(
    questions: Mapping[str, Verdict],
    *,
    reorder: str,
    gap_matters: bool,
    units: int,
    repeated: bool,
) -> Action:
    """Return what to do, from the verdicts. The first rule that applies decides.

    ``questions``: verdicts by question. ``reorder``: the kind of list. ``gap_matters``: the gate is
    open and two orders differ by more than matters. ``units``: how many were judged. ``repeated``:
    every order was asked twice, so that we can tell effects on single scores from noise.
    """
    if not questions:
        return ""
    words = {name: verdict.word for name, verdict in questions.items()}
    whys = {verdict.why for verdict in questions.values()}
    if "unparsed_by_order" in whys:
        # It blocks every question, and a gap between orders may be one of lost replies.
        return "parse"
    single = questions.get("single")
    surely_matters = single is not None and single.low >= single.smallest
    if words.get("single") == "effect" and repeated and surely_matters:
        return "several_orders"
    harmless = words.get("mean") == words.get("single") == "equivalent"
    if reorder == "options" and words.get("positions") == "effect" and harmless and not gap_matters:
        # For criteria, position bias is itself a change of scores, so it is never small.
        return "small"
    if gap_matters or "effect" in words.values():
        return "average"
    open_single = words.get("single") == "undecided"
    if open_single and "any_prompt" in whys:
        return "wordings"
    if set(words.values()) == {"equivalent"}:
        return "enough"
    if whys & {ONE_SCORE, ONE_TIE}:
        return "other_judge"
    if whys & {LOW, UNKNOWN}:
        return "unconstrained"
    if whys & {"no_orders", "no_two_orders"}:
        return "ask_orders"
    if units < MIN_UNITS:
        return "add"
    if open_single and not repeated:
        return "ask_twice"
    return "about"


def orders_to_average(
    action: Action, errors: Mapping[int, ExpectedError], wanted: float, needed: float
) -> int:
    """Return how many orders to average, with one call in each.

    Return 1 where one order is enough. Otherwise return the smallest number whose expected error is
    at most ``wanted`` points at the upper end of its interval (all orders if none is), but at least
    ``needed``, the number for a dependability of 0.9 (NaN where we do not know it). Return at least
    2 where the advice is to average, and never more than the run asked.
    ``errors``: expected errors by number of orders, from 1 on.
    """
    if action in ONE_WILL_DO:
        return 1
    near = [number for number, error in errors.items() if error.high <= wanted]
    number = near[0] if near else len(errors)
    if math.isfinite(needed):
        number = max(number, int(needed))
    if action in AVERAGING:
        number = max(number, 2)
    return min(number, len(errors))


def advice_of(findings: Findings, condition: int) -> Advice:
    """Return the advice for a condition's judge, data set, kind of list and variant."""
    about = findings.conditions[condition]
    arms = [arm for arm in findings.judgments.arms if arm.condition.setting == about.setting]
    codes = {arm.code for arm in arms}
    rows = [row for row in findings.rows if row.condition in codes]
    given = findings.verdicts_of(condition)
    action: Action = ""
    if given is not None:
        action = decide(
            given.questions,
            reorder=about.reorder,
            gap_matters=_gap_of_run_matters(findings, given),
            units=given.units or arms[0].units,
            repeated=given.single is not None and given.single.repeated,
        )
    if about.reorder not in CARDED:
        return Advice(action)
    needed, again = (
        next(
            (
                row
                for row in rows
                if row.measure == "calls_needed" and row.of.get("protocol", "") == protocol
            ),
            None,
        )
        for protocol in ("", ONE_ORDER)
    )
    fixed = [arm for arm in arms if not arm.condition.drawn] or arms
    calls = pooled(fixed)
    wanted = findings.reading.smallest.points(about.scores)
    least = needed.value if needed is not None else math.nan
    try:
        _, errors = error_by_orders(calls, widest(fixed))
    except LabError:
        asked = len(calls.shown)
        known = min(max(int(least), 2), asked) if math.isfinite(least) and asked > 1 else None
        return Advice(action, 1 if action in ONE_WILL_DO else known, asked, needed, again)
    number = orders_to_average(action, errors, wanted, least)
    return Advice(action, number, len(errors), needed, again)


def gap_matters(given: Verdicts | None, gap: Row | None) -> bool:
    """Return whether the gate is open and two orders surely differ by more than matters.

    ``gap``: the row of the two orders that differ most. Its interval decides, even where the
    verdict on the mean does not find an effect.
    """
    if given is None or given.mean is None or gap is None or not given.gate.open:
        return False
    return bool(gap.interval[0] > given.mean.smallest)


def word_of_setting(findings: Findings, condition: int) -> LadderWord | None:
    """Return the word of the ladder for a condition's setting; None where nothing is judged."""
    given = findings.verdicts_of(condition)
    if given is None:
        return None
    return ladder_word(given, gap_matters=_gap_of_run_matters(findings, given))


def _gap_of_run_matters(findings: Findings, given: Verdicts) -> bool:
    gaps = findings.select("largest_gap", condition=given.condition)
    return gap_matters(given, gaps[-1] if gaps else None)
