"""What a run says against people's ratings, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.model.wording import arm_name, interval, number

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
    if test["orders"]:
        yield (
            f"                 passes in {test['orders_passing']} of {len(test['orders'])} orders, whose advantages are "
            f"{number(test['spread'], '.2f')} {interval(test['spread_ci'], '.2f', brackets=True)} apart"
        )


def _stands_in(way: Json) -> str:
    advantage, beaten = way["advantage"], sum(one["beaten"] for one in way["annotators"])
    ends = interval([advantage["low"], advantage["high"]], ".2f", brackets=True)
    verdict = "passes" if way["passes"] else "does not pass"
    return (
        f"{verdict}, beats {beaten} of {len(way['annotators'])}, advantage {number(advantage['value'], '.2f')} {ends}"
    )


def mean_line(entry: Json) -> str:
    """One system's three means."""
    told = (
        f"{name} {number(of['value'], '.2f')} {interval([of['low'], of['high']], '.2f', brackets=True)}"
        for name, of in _means(entry)
    )
    why = f"; {entry['why']}" if entry["why"] else ""
    return f"  {arm_name(entry)}, {entry['of']}: {', '.join(told)}; {entry['n_rated']:,} of {entry['n_items']:,} rated{why}"


def _means(entry: Json) -> Iterator[tuple[str, Json]]:
    names = (("judge", "plain"), ("ratings", "rated"), ("corrected", "corrected"), ("error", "bias"))
    return ((name, entry[key]) for name, key in names)
