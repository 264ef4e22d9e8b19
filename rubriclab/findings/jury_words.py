"""Juries in words, and as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.findings.effects import still_possible
from rubriclab.findings.jury_results import Jury, JuryOf, Measured
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import DocumentPart, Json, Sentence
from rubriclab.model import RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, known, listed, many, number

TARGETS = {"people": msg("the mean rating of people"), "panel": msg("the mean of all judges in all orders")}


def mix_words(judges: Sequence[str], orders: int, shared: bool, every: int) -> str:
    """As “A in 10 orders”, “A and B, each in 2 orders of its own”; ``every``: orders that were read."""
    how = "alone" if len(judges) == 1 else "every" if orders == every else "shared" if shared else "own"
    return tr(_MIXES[how][orders > 1], judges=_all(judges), orders=many(orders, "order"))


_MIXES = {
    # (in one order, in several)
    "alone": (msg("{judges} in one order"), msg("{judges} in {orders}")),
    "every": (msg("{judges}, each in one order"), msg("{judges}, each in all {orders}")),
    "shared": (msg("{judges}, all in the same order"), msg("{judges}, all in the same {orders}")),
    "own": (msg("{judges}, each in one order of its own"), msg("{judges}, each in {orders} of its own")),
}


def _all(judges: Sequence[str]) -> str:
    if len(judges) < 4:
        return listed(judges)
    return tr("{judges} ({names})", judges=many(len(judges), "judge"), names=listed(judges))


def budget_words(of: JuryOf) -> str:
    """As “10 calls an item”, “3.2 of money for 1,000 items”."""
    if of.money:
        return tr("{budget:g} of money for 1,000 items", budget=of.budget)
    return tr("one call an item") if of.budget == 1 else tr("{budget:g} calls an item", budget=of.budget)


def verdict_sentence(of: JuryOf) -> str:
    """Whether a jury agrees better with people than one judge at the budget, in the three answers."""
    found = of.people
    if found is None:
        return tr(
            "Nobody rated the texts of {name}: whether several judges are nearer the truth than one cannot be said.",
            name=of.name,
        )
    gain = found.gain
    if found.single is None or found.several is None:
        why = tr(gain.why) or tr("no mix is to be had")
        return tr("At {budget}: {why}.", budget=budget_words(of), why=why)
    one, more = found.mixes[found.single], found.mixes[found.several]
    ends = interval(gain.interval, "+.2f")
    why = tr(gain.why) or tr("95 % interval {ends}{possible}", ends=ends, possible=still_possible(gain))
    key = ("better" if gain.estimate > 0 else "worse") if gain.verdict == "effect" else gain.verdict
    return tr(
        _VERDICTS[key],
        budget=budget_words(of),
        jury=more.name,
        one=one.name,
        numbers=tr("r {r} against {other}", r=number(more.agreement, ".2f"), other=number(one.agreement, ".2f")),
        why=why,
        ends=f"{number(gain.estimate, '+.2f')}, {ends}",
        sesoi=gain.sesoi,
    )


_VERDICTS = {
    "undecided": msg(
        "At {budget} it is undecided whether the jury of {jury}, agrees better with people than {one}: {numbers}; {why}."
    ),
    "equivalent": msg(
        "At {budget} the jury of {jury}, agrees as well with people as {one}: {numbers} ({ends}), equivalent within "
        "{sesoi:g}."
    ),
    "better": msg("At {budget} the jury of {jury}, agrees better with people than {one}: {numbers} ({ends})."),
    "worse": msg("At {budget} the jury of {jury}, agrees worse with people than {one}: {numbers} ({ends})."),
}


def choice_sentence(of: JuryOf, found: Measured) -> str:
    """Which mix to take for the budget, and what that rests on."""
    if found.best is None:
        return tr("Nothing is to be had for {budget}.", budget=budget_words(of))
    best = found.mixes[found.best]
    if found.chosen is None:
        return tr("No mix is recommended: {why}.", why=found.why)
    mix = found.mixes[found.chosen]
    goal = tr(TARGETS[found.target])
    if mix == best:
        return tr(
            "Nearest to {goal} within {budget}: {name}; no cheaper mix was shown to be within {margin:g} points of it.",
            goal=goal,
            budget=budget_words(of),
            name=mix.name,
            margin=found.margin,
        )
    return tr(
        "Enough is {name} ({calls} calls an item): at most {bound} points farther from {goal} than "
        "{best}, within the margin of {margin:g}.",
        name=mix.name,
        calls=mix.calls,
        bound=number(mix.bound, ".2f"),
        goal=goal,
        best=best.name,
        margin=found.margin,
    )


def errors_sentence(of: JuryOf) -> str:
    """What the judges' errors have in common."""
    if not of.aligned or not known(of.order_errors):
        return tr("Whether orders pull these judges the same way is not known.")
    return tr(
        "In the same order the order errors of two judges correlate by {order_errors} "
        "({order_errors_ci}): one read of each of the {judges} is worth {order_votes} reads that err "
        "independently by their order.",
        order_errors=number(of.order_errors, ".2f"),
        order_errors_ci=interval(of.order_errors_ci, ".2f"),
        judges=len(of.judges),
        order_votes=number(of.order_votes, ".1f"),
    )


def sentences(result: Jury) -> Iterator[Sentence]:
    for of in result.juries:
        found = of.people
        if found is None:
            yield Sentence(of.name, errors_sentence(of))
        else:
            yield Sentence(of.name, f"{verdict_sentence(of)} {choice_sentence(of, found)}")


def limits(result: Jury) -> Iterator[str]:
    for of in result.juries:
        yield from (f"{of.name}: {text}" for text in of.warnings)


def document(result: Jury, data: RunData) -> DocumentPart:
    """Errors in points, agreement as r; mixes with the fewest judges and orders first."""
    del data
    return DocumentPart(beside={"juries": [_json(of) for of in result.juries]})


def _json(of: JuryOf) -> Json:
    return {
        **picked(of, "judges", "dataset", "axis", "variant", "simulated", "orders", "aligned", "expected"),
        **picked(of, "n_items", "n_units", "unit", "left_out", "budget", "money"),
        **picked(of, "order_errors", "order_errors_ci", "order_votes", "pairs", "errors"),
        "targets": [_target_json(of, one) for one in of.targets],
        "sentence": verdict_sentence(of),
        "warnings": list(of.warnings),
    }


def _target_json(of: JuryOf, one: Measured) -> Json:
    return {**plain(one), "sentence": choice_sentence(of, one)}
