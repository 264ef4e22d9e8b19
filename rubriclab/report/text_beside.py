"""What a run says of its parts beside each other, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many
from rubriclab.report.text_words import Json, named, span, spoken, stated


def compared_line(pair: Json) -> str:
    difference = tr(
        "r of {a} less r of {b} {delta_r} {ends}, {items}",
        a=pair["a"],
        b=pair["b"],
        delta_r=stated(pair["delta_r"], "+.3f"),
        ends=span(pair["ci"]),
        items=many(pair["n_items"], "item"),
    )
    return f"  {named(pair, strategy=False)}: {difference}{_equal_reads(pair)}"


def _equal_reads(pair: Json) -> str:
    orders = pair.get("orders")
    return (
        tr(", {reads} reads each: {verdict}", reads=pair["reads"], verdict=spoken(orders, "verdict")) if orders else ""
    )


def reversal_line(reversal: Json) -> str:
    noise = reversal["noise"]
    control = tr("{share} in the same order read twice", share=stated((noise["control"] or {}).get("value")))
    start = tr(
        "  {name}: {a} against {b}, the winner changes on {share} at equal reads, {control}: {verdict}; ",
        name=named(reversal, strategy=False),
        a=reversal["a"],
        b=reversal["b"],
        share=stated(noise["changed"]["value"]),
        control=tr("no order read twice") if noise["calls"] else control,
        verdict=spoken(noise["excess"], "verdict"),
    )
    if reversal["excluded"] == reversal["prompts"]:
        prompts = many(reversal["prompts"], "prompt")
        return start + tr("over all reads one side ties all candidates in each of {prompts}", prompts=prompts)
    return start + tr(
        "over all reads, noise included, on {share} of {prompts:,} prompts (by the strict count {strict}), tau {tau}",
        share=stated(reversal["top1_flip"]),
        prompts=reversal["prompts"],
        strict=stated(reversal["top1_flip_strict"]),
        tau=stated(reversal["kendall_tau"], ".2f"),
    )


def one_call_lines(document: Json) -> Iterator[str]:
    """What it does more than drawing a call towards the mean, and the calls that is worth."""
    for gain in document.get("debiasing_gain", []):
        shown = gain["nearer"]
        yield tr(
            "  {name} ({source}): nearer than one call drawn towards the mean by {shift} points {ends}: {verdict}",
            name=named(gain, strategy=False),
            source=spoken(gain, "source"),
            shift=stated(shown["estimate"], "+.2f"),
            ends=span([shown["low"], shown["high"]]),
            verdict=spoken(shown, "verdict"),
        )
    yield from (_break_even(one) for one in document.get("break_even", []) if one["claimed"])


def _break_even(gain: Json) -> str:
    name, against = f"  {named(gain, strategy=False)} ({spoken(gain, 'source')})", spoken(gain, "against")
    if gain["calls"] is None:
        return tr(
            "{name}: as near to the mean of all orders as no number of {against} calls tried (up to {most})",
            name=name,
            against=against,
            most=gain["most_calls"],
        )
    return tr(
        "{name}: as near to the mean of all orders as {calls:.1f} {against} calls",
        name=name,
        calls=gain["calls"],
        against=against,
    )


def form_lines(forms: Json | None) -> Iterator[str]:
    for group in (forms or {}).get("groups", []):
        for form in group["perturbations"]:
            shift = form["shift"]
            change = tr("the baseline") if shift is None else _form_moved(shift)
            yield f"  {group['judge']} · {spoken(form, 'name')}: {change}"
        for name in ("most_stable", "best_agreement"):
            yield f"  {group['judge']}: {spoken(group[name], 'sentence')}"
    for followed in (forms or {}).get("position_or_label", []):
        yield f"  {followed['judge']}: {followed['sentence']}"


def _form_moved(shift: Json) -> str:
    moved, noise = shift["effect"], shift["own_flips"]
    own = tr("noise included") if noise is None else tr("{share} by chance", share=stated(noise))
    return tr(
        "{verdict}, mean shift {shift} {ends} points, flips {flips} ({own})",
        verdict=spoken(moved, "verdict"),
        shift=stated(moved["estimate"], "+.2f"),
        ends=span([moved["low"], moved["high"]]),
        flips=stated(shift["flips"]),
        own=own,
    )


def wording_lines(groups: Sequence[Json]) -> Iterator[str]:
    for group in groups:
        same = tr(
            "{n} wordings in the same orders, {items}, sd {sd} points",
            n=len(group["wordings"]),
            items=many(group["n_items"], "item"),
            sd=stated(group["sd"], ".2f"),
        )
        yield f"  {group['judge']} · {group['dataset']}: {same}"
        for one in group["components"]:
            share, ends = stated(one["share"]), interval(one["ci"], ".1%", brackets=True)
            of_whole = tr("{share} {ends} of the variance", share=share, ends=ends)
            yield f"    {spoken(one, 'name'):<26} {of_whole}"
        for one in group["shifts"]:
            moved = one["effect"]
            shift = tr(
                "{shift} points {ends}: {verdict}",
                shift=stated(moved["estimate"], "+.2f"),
                ends=span([moved["low"], moved["high"]]),
                verdict=spoken(moved, "verdict"),
            )
            yield f"    {one['wording']}: {shift}"
        yield from (tr("    note: {text}", text=tr(text)) for text in group["warnings"])


def together_line(group: Json) -> str:
    judges, agreement = group["judges"], group["with_ties"]
    kappa = agreement["beyond_chance"][0]
    pairs = ", ".join(
        tr(
            "{one} and {other} {share} (beyond chance, {kappa} {beyond})",
            one=judges[i],
            other=judges[j],
            share=stated(agreement["share"][i][j]),
            kappa=spoken(kappa, "name"),
            beyond=stated(kappa["value"][i][j], ".2f"),
        )
        for i in range(len(judges))
        for j in range(i + 1, len(judges))
    )
    return tr(
        "  {dataset}: agree on {pairs}; Krippendorff's alpha of all {alpha}; majority PC {majority}",
        dataset=group["dataset"],
        pairs=pairs,
        alpha=stated(agreement["alpha"], ".2f"),
        majority=stated(group["majority_pc"], ".3f"),
    )
