"""Say how many calls in how many orders are enough, and which remedies help.

For pairs and lists: how many winners stay the same in every order, and what asking in all orders
gains where the data name a winner. Something helps if its interval lies above 0 and the order is
shown to matter (the gate): without an order effect nothing can help.
"""

import math
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.core.verdict import word_of
from rubriclab.measures.advice import AVERAGING, ONE_WILL_DO, Advice, advice_of
from rubriclab.measures.gold import DEFAULT, MAJORITY, STANDS
from rubriclab.measures.protocols import AVERAGE, BEST, BEYOND, CORRECTED, FORMS
from rubriclab.measures.reliability import MOST_CALLS
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import BADGES, MOST_NAME, Answer, Question
from rubriclab.words.phrases import ci, inside, lowered, number, reason, row_numbers, say
from rubriclab.words.subject import (
    CHOICES,
    EFFECT,
    EQUIVALENT,
    UNDECIDED,
    Subject,
    sentence_tables,
    subjects_of_orders,
    subjects_of_variants,
)

HELPS = BADGES | {EFFECT: "Helps"}
REMEDIES = {
    AVERAGE: "Several orders, averaged",
    BEYOND: "Correct one call for its position",
    BEST: "One better order",
    FORMS: "Several forms of the prompt, averaged",
}
"""The remedies that are compared at equal numbers of calls, in the order of the page."""
WORDS = ("helps",)


def row_of(findings: Findings, subject: Subject, measure: str, protocol: str = "") -> Row | None:
    """Return the row of ``measure`` for this judge's setting, None where there is none.

    A setting's rows are stored on its condition with the most orders; rows about forms of the
    prompt are stored on the first one.
    """
    own = findings.conditions[subject.condition]
    for row in findings.select(measure):
        about = findings.conditions[row.condition]
        if protocol == FORMS:
            same = (about.judge, about.dataset) == (own.judge, own.dataset)
        else:
            same = about.setting == own.setting
        if same and row.of.get("protocol", "") == protocol:
            return row
    return None


def has_help(findings: Findings, subject: Subject) -> bool:
    """Return whether several calls about one answer of this subject can be combined.

    Of a form of the prompt: whether averaging forms was measured.
    """
    if subject.variant:
        return row_of(findings, subject, "gain", FORMS) is not None
    measure = "pc" if subject.reorder in CHOICES else "calls_needed"
    return row_of(findings, subject, measure) is not None


def helps_answers(findings: Findings) -> list[Answer]:
    """Return the answer about each setting whose calls can be combined."""
    return [
        helps_answer(findings, subject)
        for subject in subjects_of_orders(findings)
        if has_help(findings, subject)
    ]


def helps_answer(findings: Findings, subject: Subject) -> Answer:
    """Say how many calls reach a dependability of 0.9, and compare remedies at equal calls.

    For choices: how many winners stay the same instead.
    """
    if subject.variant:
        forms = _remedy(findings, subject, FORMS)
        word = UNDECIDED if forms is None else forms.verdict
        headline, line = say(f"forms_{word}", WORDS), say("forms_line", WORDS)
        remedies = [forms]
    elif subject.reorder in CHOICES:
        headline, line = _winners(findings, subject)
        remedies = [_majority(findings, subject)]
    else:
        headline, line = _calls(findings, subject)
        remedies = [_remedy(findings, subject, protocol) for protocol in REMEDIES]
    answer = Answer(
        shorten(subject.judge, MOST_NAME),
        subject.condition,
        headline,
        line,
        about=subject.about,
        simulated=subject.simulated,
    )
    if not subject.finished:
        return replace(answer, headline=say("early", WORDS))
    return replace(answer, questions=tuple(remedy for remedy in remedies if remedy is not None))


# ---------------------------------------------------------------- how many calls
def _calls(findings: Findings, subject: Subject) -> tuple[str, str]:
    """Return (headline, line below it): the advice, and how many calls it takes."""
    advice = advice_of(findings, subject.condition)
    needed = advice.needed
    if needed is None or not (math.isfinite(needed.value) or needed.why == "not_reached"):
        return say("not_known", WORDS), reason(needed)
    line = _needed(findings, subject, advice)
    if advice.orders is None:
        return say("not_reached", WORDS, most=MOST_CALLS), line
    return say(_headline(advice, needed), WORDS, orders=count(advice.orders, "order")), line


def _headline(advice: Advice, needed: Row) -> str:
    """Return which headline says the advice."""
    if advice.one_will_do:
        single = math.isfinite(needed.value) and needed.value <= 1
        return "one_call" if single else "one_order"
    if advice.action == "wordings":
        return "wordings"
    return "average" if advice.averages else "meanwhile"


def _needed(findings: Findings, subject: Subject, advice: Advice) -> str:
    """Say how many calls reach a dependability of 0.9, in different orders and in one order."""
    needed = advice.needed
    if needed is None or needed.why == "not_reached":
        return say("not_reached_line", WORDS, most=MOST_CALLS)
    calls = int(needed.value)
    fields = {"calls": count(calls, "call"), "number": f"{calls:,}", "inside": _counted(needed)}
    line = say("line", WORDS, **fields)
    if advice.orders is not None and 1 < advice.orders < calls:
        # What the run asked does not get there: say how far it does.
        reached = _dependability(findings, needed.condition, advice.orders)
        if reached is not None:
            fields["reached"] = number(reached.value)
            fields["reached_inside"] = inside(reached)
            line = say("line_reached", WORDS, **fields)
    if advice.again is None or calls == 1:
        return line
    return line + _in_one_order(subject, advice.again)


def _in_one_order(subject: Subject, again: Row) -> str:
    """Say how many calls in one order reach a dependability of 0.9; empty where unknown."""
    if math.isfinite(again.value):
        return say("line_again", WORDS, again=f"{again.value:,.0f}", inside=_counted(again))
    if again.why == "not_reached":
        own_noise = math.nan if subject.single is None else subject.single.own_noise
        key = "line_same" if own_noise == 0.0 else "line_never"
        return say(key, WORDS, most=str(MOST_CALLS))
    return ""


def _counted(needed: Row) -> str:
    """Write the interval of a number of calls, or why it has none."""
    low, high = needed.interval
    if not math.isfinite(low):
        return lowered(reason(needed))
    if high >= MOST_CALLS:
        return f"{ci(needed.level)} {low:,.0f} or more"
    return f"{ci(needed.level)} {low:,.0f} to {high:,.0f}"


def _dependability(findings: Findings, condition: int, calls: int) -> Row | None:
    """Return the row about the mean of so many calls in different orders, where there is one."""
    for row in findings.select("dependability", condition=condition, calls=calls):
        if "protocol" not in row.of:
            return row
    return None


# ---------------------------------------------------------------- winners
def _winners(findings: Findings, subject: Subject) -> tuple[str, str]:
    """Return (headline, line below it) about winners that stay the same in every order."""
    same, words = row_of(findings, subject, "pc"), (*sentence_tables(subject), *WORDS)
    orders = "both orders" if len(subject.leans) == 2 else "all orders"
    if same is None or not math.isfinite(same.value):
        return say("orders_not_known", words), reason(same)
    headline = "orders_not_known"
    if subject.action in AVERAGING:
        headline = "ask_orders"
    elif subject.action in ONE_WILL_DO:
        headline = "order_enough"
    share = number(same.value, ".0%")
    line = say("stands", words, orders=orders, share=share, inside=inside(same))
    right = row_of(findings, subject, "protocol_accuracy", STANDS)
    if right is not None and math.isfinite(right.value):
        line += say("stands_right", words, share=number(right.value, ".0%"), inside=inside(right))
    return say(headline, words, orders=orders), line


def _majority(findings: Findings, subject: Subject) -> Question | None:
    """Compare the commonest winner over all orders with one call; None where no winner is named."""
    gain = row_of(findings, subject, "gain_accuracy", MAJORITY)
    made = row_of(findings, subject, "protocol_accuracy", MAJORITY)
    default = row_of(findings, subject, "protocol_accuracy", DEFAULT)
    if gain is None or made is None or default is None:
        return None
    smallest = 100 * findings.reading.smallest.share
    shown = gain.interval[0] > 0 and subject.gate_open
    word = _word_of_gain(gain, smallest, shown=shown)
    fields = {
        "share": number(made.value, ".0%"),
        "default": number(default.value, ".0%"),
        "inside": inside(gain),
        "limit": f"{smallest:g}",
        "open": "" if subject.gate_open else say("order_open", WORDS),
    }
    title = "The commonest winner over all orders"
    return Question(HELPS[word], title, say(f"gold_{word}", WORDS, **fields), word)


def _word_of_gain(gain: Row, smallest: float, *, shown: bool) -> str:
    """Return the word for a gain. A loss is no gain: the low end counts as 0 at least."""
    low, high = gain.interval
    return word_of(max(low, 0.0) if math.isfinite(high) else low, high, smallest, shown=shown)


# ---------------------------------------------------------------- remedies
def _remedy(findings: Findings, subject: Subject, protocol: str) -> Question | None:
    """Say what a remedy gains at equal calls; None where it was not measured.

    Helps: the interval is above 0, behind the gate. No: it ends below the smallest effect. No badge
    speaks against the advice. Averaging orders is what the advice is about, so it is measured as
    the distance from the mean over all orders, and a word that would contradict the advice gives
    way to the number alone.
    """
    row, by_r = _gain(findings, subject, protocol)
    if row is None:
        return None
    limits = findings.reading.smallest
    smallest = limits.r if by_r else findings.smallest_mean(row.condition)
    averages = protocol == AVERAGE and subject.action in AVERAGING
    if protocol == FORMS:
        # Any change of the prompt changes scores: then averaging changed prompts helps, whatever
        # the order does.
        behind, shut = _forms_matter(findings, subject), "form_open"
    else:
        behind, shut = subject.gate_open or averages, "order_open"
    word, key = _word_of_remedy(
        row, smallest, subject, protocol, averages=averages, behind=behind, by_r=by_r
    )
    fields = row_numbers(row, smallest, subject.rate) | {
        "over": say("beyond", WORDS) if protocol == BEYOND else "",
        "what": say("r" if by_r else "distance", WORDS),
        "sign": "worse" if row.value < 0 else "better",
        "open": "" if behind else say(shut, WORDS),
        "units": str(subject.units),
        "calls": count(int(row.counts.get("calls", 1)), "call"),
    }
    sentence = say(key, WORDS, **fields) if key else reason(row)
    if protocol == AVERAGE:
        sentence += _gain_of_r(findings, subject)
    return Question(HELPS[word], REMEDIES[protocol], sentence, word)


def _gain(findings: Findings, subject: Subject, protocol: str) -> tuple[Row | None, bool]:
    """Return (the row of what a remedy gains, whether it is in r with the ratings).

    Without ratings, and for averaging orders, it is the gain in points. A remedy that was not
    measured by itself has the gain of the one it is made of.
    """
    by_ratings = row_of(findings, subject, "gain_pearson", protocol)
    if protocol != AVERAGE and by_ratings is not None and math.isfinite(by_ratings.interval[0]):
        return by_ratings, True
    row = row_of(findings, subject, "gain", protocol)
    if row is None and protocol != FORMS:
        row = row_of(findings, subject, "gain", CORRECTED if protocol == BEYOND else AVERAGE)
    return row, False


def _word_of_remedy(
    row: Row,
    smallest: float,
    subject: Subject,
    protocol: str,
    *,
    averages: bool,
    behind: bool,
    by_r: bool,
) -> tuple[str, str]:
    """Return (the word, the key of its sentence; empty where the row's reason is said)."""
    if not math.isfinite(row.interval[0]):
        return UNDECIDED, "few_for_best" if row.why == "few_for_best_order" else ""
    surely = row.interval[0] > 0 and behind
    if averages:
        return (EFFECT, "nearer") if surely else (UNDECIDED, "undecided")
    word = _word_of_gain(row, smallest, shown=surely)
    if word == EQUIVALENT:
        return word, word
    if word == EFFECT and not (protocol == AVERAGE and subject.action in ONE_WILL_DO):
        return word, "rises" if by_r else "nearer"
    return UNDECIDED, "undecided"


def _gain_of_r(findings: Findings, subject: Subject) -> str:
    """Say what averaging orders does to r with the ratings; empty where there are none."""
    row = row_of(findings, subject, "gain_pearson", AVERAGE)
    if row is None or not math.isfinite(row.interval[0]):
        return ""
    return say(
        "gain_of_r",
        WORDS,
        value=number(row.value, "+.2f"),
        inside=inside(row),
        calls=count(int(row.counts["calls"]), "call"),
    )


def _forms_matter(findings: Findings, subject: Subject) -> bool:
    """Return whether any form of the prompt changes scores, by its gate (Bonferroni)."""
    gates = [
        variant.verdicts.gate
        for variant in subjects_of_variants(findings, subject.condition)
        if variant.verdicts is not None
    ]
    return any(gate.p * len(gates) <= gate.spent for gate in gates)
