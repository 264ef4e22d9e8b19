"""Reliability as text for a terminal: parts of the variance, how calls are best spent, juries, rulers, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubriclab.findings.ordinal import CONCLUSIONS
from rubriclab.model.wording import interval, listed, many, number, p_value

Json = Mapping[str, Any]


def study_lines(study: Json) -> Iterator[str]:
    """One study of ``generalisability``: its parts, one call, the run's own design, the best mixes."""
    who = " · ".join(filter(None, (listed(study["judges"]), study["dataset"], study["variant"])))
    spread = "" if study["sd"] is None else f", sd {number(study['sd'], '.2f')} points"
    yield f"  {who}: {study['design']}{spread}"
    for one in study["components"]:
        ends = f"[no interval: {one['why']}]" if one["why"] else interval(one["share_ci"], ".1%", brackets=True)
        yield f"    {one['name']} ({one['key']}): {number(one['share'], '.1%')} of the variance {ends}"
    asked = "rating" if study["people"] else "call"
    for one in study["plans"]:
        what = f"one {asked}" if one["key"] == "one call" else f"{one['key']}, {one['name']}"
        yield f"    {what}: {_reliable(one)}"
    for one in study["best"]:
        level = f"; not told apart from {'; '.join(one['not_told_apart'][:3])}" if one["not_told_apart"] else ""
        yield f"    {many(one['calls'], asked)}, best spent as {one['name']}: {_reliable(one)}{level}"
    yield from (f"    note: {text}" for text in study["warnings"])


def _reliable(one: Json) -> str:
    relative = f"{number(one['relative'], '.2f')} {interval(one['relative_ci'], '.2f', brackets=True)}"
    absolute = f"{number(one['absolute'], '.2f')} {interval(one['absolute_ci'], '.2f', brackets=True)}"
    return f"reliability {relative}, dependability {absolute}"


def jury_lines(of: Json) -> Iterator[str]:
    """One of ``juries``: the verdict, the mix to take, and how errors hang together."""
    name = " · ".join(filter(None, (listed(of["judges"]), of["dataset"], of["variant"])))
    yield f"  {name}: {many(of['orders'], 'order')} each, {many(of['n_items'], 'item')}"
    if of["targets"][0]["target"] == "people":
        yield f"    {of['targets'][0]['gain']['verdict']}: {of['sentence']}"
    else:
        yield f"    {of['sentence']}"
    for one in of["targets"]:
        yield f"    held against {'people' if one['target'] == 'people' else 'all judges'}: {one['sentence']}"
    if of["aligned"]:
        yield (
            f"    order errors of two judges in the same order correlate by {number(of['order_errors'], '.2f')} "
            f"{interval(of['order_errors_ci'], '.2f', brackets=True)}: one read of each is worth "
            f"{number(of['order_votes'], '.1f')} that err independently"
        )
    yield from (f"    note: {text}" for text in of["warnings"])


def ruler_lines(scales: Sequence[Json]) -> Iterator[str]:
    """Severities and places in logits, each with its interval."""
    for scale in scales:
        for element in scale["elements"]:
            if element["severity"] is not None:
                severity = _logits(element["severity"], element["severity_ci"])
                infit = number(element["fit"]["infit"], ".2f")
                yield f"  {element['name']}: severity {severity} logits, infit {infit} (1: as the model expects)"
        for judge in scale["places"]:
            places = "  ".join(_logits(place["logit"], place["ci"]) for place in judge["places"])
            yield f"  {judge['name']}: places {f'{places} logits' if places else 'not told apart'}"


def _logits(value: float | None, ci: Sequence[float | None]) -> str:
    return f"{number(value, '+.2f')} {interval(ci, '+.2f', brackets=True)}"


UNITS = {
    "order": ("numbers", "points ascending less descending, of the scores chosen", "ranks", "P(higher) − P(lower)"),
    "place": ("numbers", "V less noise", "ranks", "places from the middle"),
    "people": ("numbers", "r", "ranks", "tau-b"),
    "judges": ("points", "points", "leniency", "logits"),
}
"""Of each question the two numbers' keys, each with what it is."""


def ranks_line(line: Json) -> str:
    """One question answered with scores as numbers, then as ranks, each with its interval and unit."""
    name = " · ".join(filter(None, (line["judge"], line["dataset"], line["strategy"], line["variant"])))
    first, unit, second, rank_unit = UNITS[line["asked"]]
    if line["asked"] == "place":
        sure = f"({p_value(line['p'])})"
    else:
        sure = interval(line[f"{first}_ci"], "+.2f", brackets=True)
    ranks = f"{number(line[second], '+.2f')} {interval(line[f'{second}_ci'], '+.2f', brackets=True)} {rank_unit}"
    return (
        f"  {name}, {line['asked']}: {number(line[first], '+.2f')} {sure} {unit}; as ranks {ranks}: "
        f"{CONCLUSIONS[line['answer']]}"
    )


def pull_lines(groups: Sequence[Json]) -> Iterator[str]:
    """Every change of a rubric in words, the largest first."""
    for group in groups:
        yield (
            f"  {group['judge']} · {group['dataset']} · {group['rubric']}: {len(group['changes'])} changes in "
            f"{group['n_arms']} arms, {group['n_calls']:,} calls"
        )
        yield from (f"    {one['sentence']}" for one in group["changes"])
        yield from (f"    note: {text}" for text in group["warnings"])
