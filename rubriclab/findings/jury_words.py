"""Juries in words, and as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.findings.effects import still_possible
from rubriclab.findings.jury_results import Jury, JuryOf, Measured
from rubriclab.findings.plain import picked, plain
from rubriclab.findings.topic import DocumentPart, Json, Sentence
from rubriclab.model import RunData
from rubriclab.model.wording import interval, known, listed, number

TARGETS = {"people": "the mean rating of people", "panel": "the mean of all judges in all orders"}


def mix_words(judges: Sequence[str], orders: int, shared: bool, every: int) -> str:
    """As “A in 10 orders”, “A and B, each in 2 orders of its own”; ``every``: orders that were read."""
    if len(judges) == 1:
        return f"{judges[0]} in {_orders(orders)}"
    if orders == every:
        return f"{_all(judges)}, each in {'all ' if orders > 1 else ''}{_orders(orders)}"
    if shared:
        return f"{_all(judges)}, all in the same {'order' if orders == 1 else _orders(orders)}"
    return f"{_all(judges)}, each in {_orders(orders)} of its own"


def _all(judges: Sequence[str]) -> str:
    return listed(judges) if len(judges) < 4 else f"{len(judges)} judges ({listed(judges)})"


def _orders(n: int) -> str:
    return "one order" if n == 1 else f"{n} orders"


def budget_words(of: JuryOf) -> str:
    """As “10 calls an item”, “3.2 of money for 1,000 items”."""
    if of.money:
        return f"{of.budget:g} of money for 1,000 items"
    return "one call an item" if of.budget == 1 else f"{of.budget:g} calls an item"


def verdict_sentence(of: JuryOf) -> str:
    """Whether a jury agrees better with people than one judge at the budget, in the three answers."""
    found = of.people
    if found is None:
        return (
            f"Nobody rated the texts of {of.name}: whether several judges are nearer the truth than one cannot be said."
        )
    gain = found.gain
    if found.single is None or found.several is None:
        return f"{_start(of)}: {gain.why or 'no mix is to be had'}."
    one, more = found.mixes[found.single], found.mixes[found.several]
    numbers = f"r {number(more.agreement, '.2f')} against {number(one.agreement, '.2f')}"
    ends = f"{number(gain.estimate, '+.2f')}, {interval(gain.interval, '+.2f')}"
    if gain.verdict == "undecided":
        why = gain.why or f"95 % interval {interval(gain.interval, '+.2f')}{still_possible(gain)}"
        return (
            f"{_start(of)} it is undecided whether the jury of {more.name}, agrees better with people than {one.name}: "
            f"{numbers}; {why}."
        )
    if gain.verdict == "equivalent":
        return (
            f"{_start(of)} the jury of {more.name}, agrees as well with people as {one.name}: {numbers} ({ends}), "
            f"equivalent within {gain.sesoi:g}."
        )
    than = "better" if gain.estimate > 0 else "worse"
    return f"{_start(of)} the jury of {more.name}, agrees {than} with people than {one.name}: {numbers} ({ends})."


def _start(of: JuryOf) -> str:
    return f"At {budget_words(of)}"


def choice_sentence(of: JuryOf, found: Measured) -> str:
    """Which mix to take for the budget, and what that rests on."""
    if found.best is None:
        return f"Nothing is to be had for {budget_words(of)}."
    best = found.mixes[found.best]
    if found.chosen is None:
        return f"No mix is recommended: {found.why}."
    mix = found.mixes[found.chosen]
    goal = TARGETS[found.target]
    if mix == best:
        return f"Nearest to {goal} within {budget_words(of)}: {mix.name}; no cheaper mix was shown to be within {found.margin:g} points of it."
    return (
        f"Enough is {mix.name} ({mix.calls} calls an item): at most {number(mix.bound, '.2f')} points farther from "
        f"{goal} than {best.name}, within the margin of {found.margin:g}."
    )


def errors_sentence(of: JuryOf) -> str:
    """What the judges' errors have in common."""
    if not of.aligned or not known(of.order_errors):
        return "Whether orders pull these judges the same way is not known."
    return (
        f"In the same order the order errors of two judges correlate by {number(of.order_errors, '.2f')} "
        f"({interval(of.order_errors_ci, '.2f')}): one read of each of the {len(of.judges)} is worth "
        f"{number(of.order_votes, '.1f')} reads that err independently by their order."
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
