"""A judge's rows about protocols in; how many calls in which orders, and what else helps, in
sentences out.

Of pairs and lists: how many winners stand in every order, and what asking in all of them gains
where a winner is named.

That something helps is said from an interval above 0 and only behind the gate: without an order
effect nothing can.
"""

import math
from dataclasses import replace

from rubriclab.core.permutation import ALPHA
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.figures.marks import Picture
from rubriclab.figures.pictures import forest_of, generic, mark, smallest_mean
from rubriclab.measures.advice import AVERAGING, ONE_WILL_DO, Advice, advice_of
from rubriclab.measures.gold import DEFAULT, MAJORITY, STANDS
from rubriclab.measures.protocols import AVERAGE, BEST, BEYOND, CORRECTED, FORMS
from rubriclab.measures.reliability import MOST_CALLS
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import BADGES, Answer, Question
from rubriclab.words.facts import (
    CHOICES,
    EFFECT,
    EQUIVALENT,
    UNDECIDED,
    Facts,
    every_facts,
    variants_of,
    words_of,
)
from rubriclab.words.phrases import ci, inside, lowered, number, reason, row_numbers, say

HELPS = BADGES | {EFFECT: "Helps"}
REMEDIES = {
    AVERAGE: "Several orders, averaged",
    BEYOND: "Correct one call for its position",
    BEST: "One better order",
    FORMS: "Several forms of the prompt, averaged",
}
WORDS = ("helps",)


def row_of(findings: Findings, facts: Facts, measure: str, protocol: str = "") -> Row | None:
    """Of any condition of the setting: rows stand in that with most orders, those about forms in
    the first one.
    """
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
    """How many calls reach a dependability of 0.9 (of choices: how many winners stand), and
    remedies at equal calls.
    """
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
    """(headline, line below it): the advice again, and only here how many calls it takes."""
    advice = advice_of(findings, facts.condition)
    needed = advice.needed
    if needed is None or not (math.isfinite(needed.value) or needed.why == "not_reached"):
        return say("not_known", WORDS), reason(needed)
    line = _needed(findings, facts, advice)
    if advice.orders is None:
        return say("not_reached", WORDS, most=MOST_CALLS), line
    fields = {"orders": count(advice.orders, "order")}
    if advice.one_will_do:
        single = math.isfinite(needed.value) and needed.value <= 1
        return say("one_call" if single else "one_order", WORDS, **fields), line
    if advice.action == "wordings":
        return say("wordings", WORDS, **fields), line
    return say("average" if advice.averages else "meanwhile", WORDS, **fields), line


def _needed(findings: Findings, facts: Facts, advice: Advice) -> str:
    """How many calls reach a dependability of 0.9, in different orders and in one, each with its
    interval.
    """
    needed, again = advice.needed, advice.again
    if needed is None or needed.why == "not_reached":
        return say("not_reached_line", WORDS, most=MOST_CALLS)
    calls = int(needed.value)
    fields = {"calls": count(calls, "call"), "number": f"{calls:,}", "inside": _counted(needed)}
    line = say("line", WORDS, **fields)
    if advice.orders is not None and 1 < advice.orders < calls:
        # What the run asked does not get there: say how far it does.
        reached = _dependability(findings, needed.condition, advice.orders)
        if reached is not None:
            line = say(
                "line_reached",
                WORDS,
                reached=number(reached.value),
                reached_inside=inside(reached),
                **fields,
            )
    if again is None or calls == 1:
        return line
    if math.isfinite(again.value):
        return line + say("line_again", WORDS, again=f"{again.value:,.0f}", inside=_counted(again))
    if again.why == "not_reached":
        same = "line_same" if facts.noise == 0.0 else "line_never"
        return line + say(same, WORDS, most=str(MOST_CALLS))
    return line


def _counted(needed: Row) -> str:
    """The interval of a number of calls, or why it has none."""
    low, high = needed.interval
    if not math.isfinite(low):
        return lowered(reason(needed))
    if high >= MOST_CALLS:
        return f"{ci(needed.level)} {low:,.0f} or more"
    return f"{ci(needed.level)} {low:,.0f} to {high:,.0f}"


def _dependability(findings: Findings, condition: int, calls: int) -> Row | None:
    """The row about the mean of so many calls in different orders, where there is one."""
    rows = findings.select("dependability", condition=condition, calls=calls)
    return next((row for row in rows if "protocol" not in row.of), None)


def _winners(findings: Findings, facts: Facts) -> tuple[str, str]:
    """(headline, line below it) about winners that stand in every order."""
    stands, words = row_of(findings, facts, "pc"), (*words_of(facts), *WORDS)
    orders = "both orders" if len(facts.leans) == 2 else "all orders"
    if stands is None or not math.isfinite(stands.value):
        return say("orders_not_known", words), reason(stands)
    headline = "orders_not_known"
    if facts.action in AVERAGING:
        headline = "ask_orders"
    elif facts.action in ONE_WILL_DO:
        headline = "order_enough"
    line = say(
        "stands", words, orders=orders, share=number(stands.value, ".0%"), inside=inside(stands)
    )
    right = row_of(findings, facts, "protocol_accuracy", STANDS)
    if right is not None and math.isfinite(right.value):
        line += say("stands_right", words, share=number(right.value, ".0%"), inside=inside(right))
    return say(headline, words, orders=orders), line


def _majority(findings: Findings, facts: Facts) -> Question | None:
    """As ``_remedy``, of how often the commonest winner is the gold one; None where no winner is
    named.
    """
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
    """Helps: the interval is above 0, behind the gate. No: it ends below the smallest effect. Else
    undecided.

    No badge speaks against the advice: averaging orders is what the advice is about, so it is
    measured as the distance from the mean over all orders, and a word that would contradict the
    advice gives way to the number alone.
    """
    row = row_of(findings, facts, "gain_pearson", protocol)
    by_r = protocol != AVERAGE and row is not None and math.isfinite(row.interval[0])
    if not by_r:
        instead = CORRECTED if protocol == BEYOND else AVERAGE
        row = row_of(findings, facts, "gain", protocol) or row_of(findings, facts, "gain", instead)
    if row is None or (protocol == FORMS and row.of["protocol"] != FORMS):
        return None
    low, high = row.interval
    smallest = findings.reading.smallest.r if by_r else smallest_mean(findings, row.condition)
    forms = protocol == FORMS
    averages = protocol == AVERAGE and facts.action in AVERAGING
    # Any change of the prompt changes scores: then averaging changed prompts helps, whatever the
    # order does.
    behind = _forms_matter(findings, facts) if forms else facts.gate_open or averages
    fields = {
        **row_numbers(row, smallest),
        "over": say("beyond", WORDS) if protocol == BEYOND else "",
        "what": say("r" if by_r else "distance", WORDS),
        "sign": "worse" if row.value < 0 else "better",
        "open": "" if behind else say("form_open" if forms else "order_open", WORDS),
        "units": str(facts.units),
        "calls": count(int(row.counts.get("calls", 1)), "call"),
    }
    word, key = UNDECIDED, "undecided"
    surely = low > 0 and behind
    if not math.isfinite(low):
        key = "few_for_best" if row.why == "few_for_best_order" else ""
    elif averages:
        if surely:
            word, key = EFFECT, "nearer"
    elif high < smallest:
        word = key = EQUIVALENT
    elif surely and protocol == AVERAGE and facts.action in ONE_WILL_DO:
        key = "undecided"
    elif surely:
        word, key = EFFECT, "rises" if by_r else "nearer"
    sentence = say(key, WORDS, **fields) if key else reason(row)
    if protocol == AVERAGE:
        sentence += _gain_of_r(findings, facts)
    return Question(HELPS[word], REMEDIES[protocol], sentence, word)


def _gain_of_r(findings: Findings, facts: Facts) -> str:
    """What averaging orders does to r with the ratings, where there are any: a number beside the
    word.
    """
    row = row_of(findings, facts, "gain_pearson", AVERAGE)
    if row is None or not math.isfinite(row.interval[0]):
        return ""
    return say(
        "gain_of_r",
        WORDS,
        value=number(row.value, "+.2f"),
        inside=inside(row),
        calls=count(int(row.counts["calls"]), "call"),
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
