"""A judge's rows about protocols in; how many calls in which orders, and what else helps, in sentences out.

Of pairs and lists: how many winners stand in every order, and what asking in all of them gains where a winner is named.

That something helps is said from an interval above 0 and only behind the gate: without an order effect nothing can.
"""

import math
from dataclasses import replace

from rubriclab.core.gate import ALPHA
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.model.text import count, shorten
from rubriclab.sinks.answer import BADGES, Answer, Question
from rubriclab.sinks.facts import (
    CHOICES,
    EFFECT,
    EQUIVALENT,
    UNDECIDED,
    Facts,
    every_facts,
    variants_of,
    words_of,
)
from rubriclab.sinks.marks import Picture
from rubriclab.sinks.pictures import forest_of, generic, mark, smallest_mean
from rubriclab.sinks.text import ci, inside, lowered, number, reason, row_numbers, say
from rubriclab.topics.gold import DEFAULT, MAJORITY, STANDS
from rubriclab.topics.protocols import AVERAGE, BEST, BEYOND, CORRECTED, FORMS
from rubriclab.topics.reliability import MOST_CALLS, ONE_ORDER

HELPS = BADGES | {EFFECT: "Helps"}
REMEDIES = {
    AVERAGE: "Several orders, averaged",
    BEYOND: "Correct one call for its position",
    BEST: "One better order",
    FORMS: "Several forms of the prompt, averaged",
}
WORDS = ("helps",)


def row_of(findings: Findings, facts: Facts, measure: str, protocol: str = "") -> Row | None:
    """Of any condition of the setting: rows stand in that with most orders, those about forms in the first one."""
    own = findings.conditions[facts.condition]
    for row in findings.select(measure):
        asked = findings.conditions[row.condition]
        same = asked.setting == own.setting
        if protocol == FORMS:
            same = (asked.judge, asked.dataset) == (own.judge, own.dataset)
        if same and row.of.get("protocol", "") == protocol:
            return row
    return None


def has_help(findings: Findings, facts: Facts) -> bool:
    """Can calls of this judge, data set and setting be put together?"""
    return row_of(findings, facts, "pc" if facts.reorder in CHOICES else "calls_needed") is not None


def helps_answers(findings: Findings) -> list[Answer]:
    """Of every judge, data set and setting whose calls can be put together."""
    return [
        helps_answer(findings, facts)
        for facts in every_facts(findings)
        if has_help(findings, facts)
    ]


def helps_answer(findings: Findings, facts: Facts) -> Answer:
    """How many calls reach a dependability of 0.9 (of choices: how many winners stand), and remedies at equal calls."""
    chooses = facts.reorder in CHOICES
    headline, line = (_winners if chooses else _calls)(findings, facts)
    judge = shorten(facts.judge, 100)
    answer = Answer(
        judge, facts.condition, headline, line, about=facts.about, simulated=facts.simulated
    )
    if not facts.finished:
        return replace(answer, headline=say("early", WORDS))
    if chooses:
        remedies = iter((_majority(findings, facts),))
    else:
        remedies = (_remedy(findings, facts, protocol) for protocol in REMEDIES)
    return replace(answer, questions=tuple(remedy for remedy in remedies if remedy is not None))


def _calls(findings: Findings, facts: Facts) -> tuple[str, str]:
    """(headline, line below it) about the number of calls."""
    needed, single = (
        row_of(findings, facts, "calls_needed", protocol) for protocol in ("", ONE_ORDER)
    )
    if needed is None or not math.isfinite(needed.value):
        if needed is not None and needed.why == "not_reached":
            return say("not_reached", WORDS, most=MOST_CALLS), say("not_reached_line", WORDS)
        return say("not_known", WORDS), reason(needed)
    low, high = needed.interval
    bracketed = lowered(reason(needed))
    if math.isfinite(low):
        to = f"{low:.0f} or more" if high >= MOST_CALLS else f"{low:.0f} to {high:.0f}"
        bracketed = f"{ci(needed.level)} for the number of calls: {to}"
    calls, again = int(needed.value), single.value if single is not None else math.nan
    enough = calls == 1 or (again <= calls and facts.is_(EQUIVALENT, *facts.questions))
    headline, more = "average", "not_shown"
    if enough:
        headline, more = "one_call" if calls == 1 else "one_order", "nothing"
    elif facts.gate_open:
        never = single is not None and single.why == "not_reached"
        headline = "average" if again <= calls else "orders"
        more = "never" if never else "again" if math.isfinite(again) else "nothing"
    fields = {"calls": count(calls, "call"), "most": str(MOST_CALLS), "again": f"{again:.0f}"}
    return say(headline, WORDS, **fields), say("line", WORDS, inside=bracketed) + say(
        f"line_{more}", WORDS, **fields
    )


def _winners(findings: Findings, facts: Facts) -> tuple[str, str]:
    """(headline, line below it) about winners that stand in every order."""
    stands, words = row_of(findings, facts, "pc"), (*words_of(facts), *WORDS)
    orders = "both orders" if len(facts.leans) == 2 else "all orders"
    if stands is None or not math.isfinite(stands.value):
        return say("orders_not_known", words), reason(stands)
    enough = facts.is_(EQUIVALENT, *facts.questions)
    headline = "ask_orders" if facts.gate_open else "order_enough" if enough else "orders_not_known"
    line = say(
        "stands", words, orders=orders, share=number(stands.value, ".0%"), inside=inside(stands)
    )
    right = row_of(findings, facts, "protocol_accuracy", STANDS)
    if right is not None and math.isfinite(right.value):
        line += say("stands_right", words, share=number(right.value, ".0%"), inside=inside(right))
    return say(headline, words, orders=orders), line


def _majority(findings: Findings, facts: Facts) -> Question | None:
    """As ``_remedy``, of how often the commonest winner is the gold one; None where no winner is named."""
    gain = row_of(findings, facts, "gain_accuracy", MAJORITY)
    made, default = (
        row_of(findings, facts, "protocol_accuracy", protocol) for protocol in (MAJORITY, DEFAULT)
    )
    if gain is None or made is None or default is None:
        return None
    (low, high), smallest = gain.interval, 100 * findings.reading.smallest.share
    effect = low > 0 and facts.gate_open
    word = EQUIVALENT if high < smallest else EFFECT if effect else UNDECIDED
    fields = {
        "share": number(made.value, ".0%"),
        "default": number(default.value, ".0%"),
        "inside": inside(gain),
        "limit": f"{smallest:g}",
        "open": "" if facts.gate_open else say("order_open", WORDS),
    }
    return Question(
        HELPS[word],
        "The commonest winner over all orders",
        say(f"gold_{word}", WORDS, **fields),
        word,
    )


def _remedy(findings: Findings, facts: Facts, protocol: str) -> Question | None:
    """Helps: the interval is above 0, behind the gate. No: it ends below the smallest effect. Else undecided."""
    row = row_of(findings, facts, "gain_pearson", protocol)
    by_r = row is not None and math.isfinite(row.interval[0])
    if not by_r:
        instead = CORRECTED if protocol == BEYOND else AVERAGE
        row = row_of(findings, facts, "gain", protocol) or row_of(findings, facts, "gain", instead)
    if row is None or (protocol == FORMS and row.of["protocol"] != FORMS):
        return None
    low, high = row.interval
    smallest = findings.reading.smallest.r if by_r else smallest_mean(findings, row.condition)
    forms = protocol == FORMS
    behind = _forms_matter(findings, facts) if forms else facts.gate_open
    fields = {
        **row_numbers(row, smallest),
        "over": say("beyond", WORDS) if protocol == BEYOND else "",
        "what": say("r" if by_r else "distance", WORDS),
        "sign": "worse" if row.value < 0 else "better",
        "open": "" if behind else say("form_open" if forms else "order_open", WORDS),
        "units": str(facts.units),
    }
    word, key = UNDECIDED, "undecided"
    if not math.isfinite(low):
        key = "few_for_best" if row.why == "few_for_best_order" else ""
    elif high < smallest:
        word = key = EQUIVALENT
    elif low > 0 and behind:
        word, key = EFFECT, "rises" if by_r else "nearer"
    return Question(
        HELPS[word], REMEDIES[protocol], say(key, WORDS, **fields) if key else reason(row), word
    )


def _forms_matter(findings: Findings, facts: Facts) -> bool:
    """Does any form change scores, by its gate (Bonferroni over forms)?"""
    gates = [
        form.gate for form in variants_of(findings, facts.condition) if math.isfinite(form.gate)
    ]
    return bool(gates) and min(gates) * len(gates) <= ALPHA


def protocol_forest(findings: Findings, facts: Facts) -> Picture | None:
    """Of pairs and lists: how often the gold winner is chosen, by protocol."""
    rows = findings.select("protocol_accuracy", condition=facts.condition)
    return forest_of([mark(row, row.of["protocol"]) for row in rows], say("chosen", ("people",)))


def calls_curve(findings: Findings, facts: Facts) -> Picture | None:
    """Dependability against calls an item, in different orders and in one; dotted: 0.9."""
    row = row_of(findings, facts, "calls_needed")
    drawn = (
        None if row is None else generic(TOPICS["reliability"].charts[0], findings, row.condition)
    )
    if drawn is None or drawn.kind != "curves":
        return None
    curves = tuple(
        replace(curve, name=f"in {curve.name or 'different orders'}") for curve in drawn.series
    )
    return replace(
        drawn, series=curves, axes=("Calls per item", "Dependability of the mean"), target=0.9
    )
