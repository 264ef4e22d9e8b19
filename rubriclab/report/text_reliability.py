"""Reliability as text for a terminal: parts of the variance, and how calls are best spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.model.wording import interval, listed, number

Json = Mapping[str, Any]


def study_lines(study: Json) -> Iterator[str]:
    """One study of ``generalisability``: its parts, one call, the run's own design, the best mixes."""
    who = " · ".join(filter(None, (listed(study["judges"]), study["dataset"], study["variant"])))
    yield f"  {who}: {study['design']}, sd {number(study['sd'], '.2f')} points"
    for one in study["components"]:
        ends = one["why"] or interval(one["share_ci"], ".1%", brackets=True)
        yield f"    {one['name']} ({one['key']}): {number(one['share'], '.1%')} {ends} of the variance"
    for one in study["plans"]:
        yield f"    {one['key']}, {one['name']}: {_reliable(one)}"
    for one in study["best"]:
        level = f"; not told apart from {'; '.join(one['not_told_apart'][:3])}" if one["not_told_apart"] else ""
        yield f"    {one['calls']} calls, best spent as {one['name']}: {_reliable(one)}{level}"
    yield from (f"    note: {text}" for text in study["warnings"])


def _reliable(one: Json) -> str:
    relative = f"{number(one['relative'], '.2f')} {interval(one['relative_ci'], '.2f', brackets=True)}"
    absolute = f"{number(one['absolute'], '.2f')} {interval(one['absolute_ci'], '.2f', brackets=True)}"
    return f"reliability {relative}, dependability {absolute}"
