"""Reliability as text for a terminal: parts of the variance, how calls are best spent, juries, rulers, ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.findings.ordinal import CONCLUSIONS
from rubriclab.findings.rasch_words import PLACES_ALONE
from rubriclab.model.language import msg, tr
from rubriclab.model.option_sets import says_its_set
from rubriclab.model.wording import interval, listed, many, number, p_value
from rubriclab.report.text_words import Json, spoken


def study_lines(study: Json) -> Iterator[str]:
    """One study of ``generalisability``: its parts, one call, the run's own design, the best mixes."""
    who = " · ".join(filter(None, (listed(study["judges"]), study["dataset"], study["variant"])))
    spread = "" if study["sd"] is None else tr(", sd {sd} points", sd=number(study["sd"], ".2f"))
    yield f"  {who}: {spoken(study, 'design')}{spread}"
    for one in study["components"]:
        ends = interval(one["share_ci"], ".1%", brackets=True)
        yield tr(
            "    {name} ({key}): {share} of the variance {ends}",
            name=spoken(one, "name"),
            key=one["key"],
            share=number(one["share"], ".1%"),
            ends=tr("[no interval: {why}]", why=spoken(one, "why")) if one["why"] else ends,
        )
    alone = tr("one rating") if study["people"] else tr("one call")
    for one in study["plans"]:
        what = alone if one["key"] == "one call" else f"{spoken(one, 'key')}, {spoken(one, 'name')}"
        yield f"    {what}: {_reliable(one)}"
    for one in study["best"]:
        yield _best_spent(one, "rating" if study["people"] else "call")
    yield from _notes(study["warnings"])


def _best_spent(one: Json, asked: str) -> str:
    others = "; ".join(one["not_told_apart"][:3])
    return tr(
        "    {calls}, best spent as {mix}: {reliable}{level}",
        calls=many(one["calls"], asked),
        mix=one["name"],
        reliable=_reliable(one),
        level=tr("; not told apart from {others}", others=others) if others else "",
    )


def _notes(texts: Sequence[str]) -> Iterator[str]:
    return (tr("    note: {text}", text=tr(text)) for text in texts)


def _reliable(one: Json) -> str:
    relative = f"{number(one['relative'], '.2f')} {interval(one['relative_ci'], '.2f', brackets=True)}"
    absolute = f"{number(one['absolute'], '.2f')} {interval(one['absolute_ci'], '.2f', brackets=True)}"
    return tr("reliability {relative}, dependability {absolute}", relative=relative, absolute=absolute)


def jury_lines(of: Json) -> Iterator[str]:
    """One of ``juries``: the verdict, the mix to take, and how errors hang together."""
    name = " · ".join(filter(None, (listed(of["judges"]), of["dataset"], of["variant"])))
    orders, items = many(of["orders"], "order"), many(of["n_items"], "item")
    yield tr("  {name}: {orders} each, {items}", name=name, orders=orders, items=items)
    if of["targets"][0]["target"] == "people":
        yield f"    {spoken(of['targets'][0]['gain'], 'verdict')}: {spoken(of, 'sentence')}"
    else:
        yield f"    {spoken(of, 'sentence')}"
    for one in of["targets"]:
        told = spoken(one, "sentence")
        people = one["target"] == "people"
        yield (
            tr("    held against people: {told}", told=told)
            if people
            else tr("    held against all judges: {told}", told=told)
        )
    if of["aligned"]:
        yield tr(
            "    order errors of two judges in the same order correlate by {errors} {ends}: one read of each is worth "
            "{votes} that err independently",
            errors=number(of["order_errors"], ".2f"),
            ends=interval(of["order_errors_ci"], ".2f", brackets=True),
            votes=number(of["order_votes"], ".1f"),
        )
    yield from _notes(of["warnings"])


def ruler_lines(scales: Sequence[Json]) -> Iterator[str]:
    """Severities and places in logits, each with its interval."""
    several = any(says_its_set(scale["dataset"], tuple(scale["scores"])) for scale in scales)
    for scale in scales:
        if several:
            yield f"  {scale['dataset']}"
        for element in scale["elements"]:
            if element["severity"] is not None:
                severity = _logits(element["severity"], element["severity_ci"])
                yield tr(
                    "  {name}: severity {severity} logits, infit {infit} (1: as the model expects)",
                    name=element["name"],
                    severity=severity,
                    infit=number(element["fit"]["infit"], ".2f"),
                )
        for judge in scale["places"]:
            places = "  ".join(_logits(place["logit"], place["ci"]) for place in judge["places"])
            if places:
                yield tr("  {name}: places {places} logits", name=judge["name"], places=places)
            else:
                yield tr("  {name}: places not told apart", name=judge["name"])
    if any(judge["places"] for scale in scales for judge in scale["places"]):
        yield f"  {tr(PLACES_ALONE)}"


def _logits(value: float | None, ci: Sequence[float | None]) -> str:
    return f"{number(value, '+.2f')} {interval(ci, '+.2f', brackets=True)}"


UNITS = {
    "order": (
        "numbers",
        msg("points ascending less descending, of the scores chosen"),
        "ranks",
        msg("P(higher) − P(lower)"),
    ),
    "place": ("numbers", msg("V less noise"), "ranks", msg("places from the middle")),
    "people": ("numbers", "r", "ranks", "tau-b"),
    "judges": ("points", msg("points"), "leniency", msg("logits")),
}
ASKED = {"order": msg("order"), "place": msg("place"), "people": msg("people"), "judges": msg("judges")}
"""Of each question the two numbers' keys, each with what it is."""


def ranks_line(line: Json) -> str:
    """One question answered with scores as numbers, then as ranks, each with its interval and unit."""
    name = " · ".join(filter(None, (line["judge"], line["dataset"], line["strategy"], line["variant"])))
    question, conclusion = ASKED[line["asked"]], CONCLUSIONS[line["answer"]]
    first, unit, second, rank_unit = UNITS[line["asked"]]
    if line["asked"] == "place":
        sure = f"({p_value(line['p'])})"
    else:
        sure = interval(line[f"{first}_ci"], "+.2f", brackets=True)
    ranks = f"{number(line[second], '+.2f')} {interval(line[f'{second}_ci'], '+.2f', brackets=True)} {tr(rank_unit)}"
    return tr(
        "  {name}, {asked}: {estimate} {sure} {unit}; as ranks {ranks}: {conclusion}",
        name=name,
        asked=tr(question),
        estimate=number(line[first], "+.2f"),
        sure=sure,
        unit=tr(unit),
        ranks=ranks,
        conclusion=tr(conclusion),
    )


def pull_lines(groups: Sequence[Json]) -> Iterator[str]:
    """Every change of a rubric in words, the largest first."""
    for group in groups:
        found = tr(
            "{changes} changes in {arms} arms, {calls:,} calls",
            changes=len(group["changes"]),
            arms=group["n_arms"],
            calls=group["n_calls"],
        )
        yield f"  {group['judge']} · {group['dataset']} · {group['rubric']}: {found}"
        yield from (f"    {spoken(one, 'sentence')}" for one in group["changes"])
        yield from _notes(group["warnings"])
