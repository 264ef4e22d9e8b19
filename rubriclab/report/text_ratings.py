"""What a run says against people's ratings, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.model.language import msg, tr
from rubriclab.model.wording import arm_name, interval, many, number
from rubriclab.report.text_words import Json, notes, row, spoken


def replacement_lines(test: Json | None) -> Iterator[str]:
    """The alternative annotator test; nothing where no item has two ratings."""
    if test is None:
        return
    if test["passes"] is None:
        yield row(tr("as a rater"), tr("no verdict: {why}", why=spoken(test, "why")))
        return
    ways = ((tr("one read"), test), (tr("mean"), test["averaged"]), (tr("corrected"), test["corrected"]))
    told = "; ".join(f"{name} {_stands_in(way)}" for name, way in ways if way is not None)
    yield row(tr("as a rater"), tr("epsilon {epsilon:g}: {told}", epsilon=test["epsilon"], told=told))
    yield from notes(test["warnings"])
    if test["orders"]:
        orders = tr(
            "passes in {passing} of {orders}, whose advantages are {spread} {ends} apart",
            passing=test["orders_passing"],
            orders=many(len(test["orders"]), "order"),
            spread=number(test["spread"], ".2f"),
            ends=interval(test["spread_ci"], ".2f", brackets=True),
        )
        yield row("", orders)


def _stands_in(way: Json) -> str:
    advantage, beaten = way["advantage"], sum(one["beaten"] for one in way["annotators"])
    ends = interval([advantage["low"], advantage["high"]], ".2f", brackets=True)
    return tr(
        "{verdict}, beats {beaten} of {annotators}, advantage {advantage} {ends}",
        verdict=tr("passes") if way["passes"] else tr("does not pass"),
        beaten=beaten,
        annotators=len(way["annotators"]),
        advantage=number(advantage["value"], ".2f"),
        ends=ends,
    )


def mean_lines(entries: Sequence[Json]) -> Iterator[str]:
    """Each arm's means. Of an arm whose items are all rated only the whole: nothing is corrected there."""
    arms: dict[str, list[Json]] = {}
    for entry in entries:
        arms.setdefault(arm_name(entry), []).append(entry)
    for name, systems in arms.items():
        whole, *parts = systems
        if whole["n_rated"] == whole["n_items"]:
            yield _all_rated(name, whole)
            continue
        yield _mean_line(name, whole, whole["why"])
        yield from (_mean_line(name, part, "" if part["why"] == whole["why"] else part["why"]) for part in parts)


def _all_rated(name: str, entry: Json) -> str:
    told = dict(_values(entry))
    apart = tr("{error} apart", error=told["error"])
    return tr(
        "  {name}: all {items} {items:is|are} rated, so there is nothing to correct: judge {judge}, "
        "ratings {ratings} points, {apart}",
        name=name,
        items=many(entry["n_items"], "item"),
        judge=told["judge"],
        ratings=told["ratings"],
        apart=apart if entry["bias"]["value"] is not None else tr("not compared: {why}", why=spoken(entry, "why")),
    )


def _mean_line(name: str, entry: Json, why: str) -> str:
    """One system's three means."""
    return tr(
        "  {name}, {of}: {told} points; {rated:,} of {items:,} rated{why}",
        name=name,
        of=spoken(entry, "of"),
        told=", ".join(f"{tr(NAMES[key])} {value}" for key, value in _values(entry)),
        rated=entry["n_rated"],
        items=entry["n_items"],
        why=f"; {tr(why)}" if why else "",
    )


NAMES = {"judge": msg("judge"), "ratings": msg("ratings"), "corrected": msg("corrected"), "error": msg("error")}
"""The numbers of a system, as a line names them."""


def _values(entry: Json) -> Iterator[tuple[str, str]]:
    """Keys of NAMES and numbers with their intervals; a correction that cannot be made has neither."""
    names = (("judge", "plain", ".2f"), ("ratings", "rated", ".2f"), ("corrected", "corrected", ".2f"))
    for name, key, form in (*names, ("error", "bias", "+.2f")):
        of = entry[key]
        if of["value"] is None:
            yield name, tr("unknown")
        else:
            yield name, f"{number(of['value'], form)} {interval([of['low'], of['high']], '.2f', brackets=True)}"
