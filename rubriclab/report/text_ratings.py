"""What a run says against people's ratings, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubriclab.model.wording import arm_name, interval, many, number

Json = Mapping[str, Any]


def replacement_lines(test: Json | None) -> Iterator[str]:
    """The alternative annotator test; nothing where no item has two ratings."""
    if test is None:
        return
    if test["passes"] is None:
        yield f"  as a rater     no verdict: {test['why']}"
        return
    ways = (("one read", test), ("mean", test["averaged"]), ("corrected", test["corrected"]))
    told = (f"{name} {_stands_in(way)}" for name, way in ways if way is not None)
    yield f"  as a rater     epsilon {test['epsilon']:g}: {'; '.join(told)}"
    yield from (f"  note           {text}" for text in test["warnings"])
    if test["orders"]:
        yield (
            f"                 passes in {test['orders_passing']} of {many(len(test['orders']), 'order')}, whose advantages are "
            f"{number(test['spread'], '.2f')} {interval(test['spread_ci'], '.2f', brackets=True)} apart"
        )


def _stands_in(way: Json) -> str:
    advantage, beaten = way["advantage"], sum(one["beaten"] for one in way["annotators"])
    ends = interval([advantage["low"], advantage["high"]], ".2f", brackets=True)
    verdict = "passes" if way["passes"] else "does not pass"
    return (
        f"{verdict}, beats {beaten} of {len(way['annotators'])}, advantage {number(advantage['value'], '.2f')} {ends}"
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
    error = f"{told['error']} apart" if entry["bias"]["value"] is not None else f"not compared: {entry['why']}"
    return (
        f"  {name}: all {many(entry['n_items'], 'item', 'are')} rated, so there is nothing to correct: judge {told['judge']}, "
        f"ratings {told['ratings']} points, {error}"
    )


def _mean_line(name: str, entry: Json, why: str) -> str:
    """One system's three means."""
    told = ", ".join(f"{name} {value}" for name, value in _values(entry))
    rated = f"{entry['n_rated']:,} of {entry['n_items']:,} rated"
    return f"  {name}, {entry['of']}: {told} points; {rated}{f'; {why}' if why else ''}"


def _values(entry: Json) -> Iterator[tuple[str, str]]:
    """Names and numbers with their intervals; a correction that cannot be made has neither."""
    names = (("judge", "plain", ".2f"), ("ratings", "rated", ".2f"), ("corrected", "corrected", ".2f"))
    for name, key, form in (*names, ("error", "bias", "+.2f")):
        of = entry[key]
        if of["value"] is None:
            yield name, "unknown"
        else:
            yield name, f"{number(of['value'], form)} {interval([of['low'], of['high']], '.2f', brackets=True)}"
