"""The document of a run's findings as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rubriclab.findings.ordering import cost_said
from rubriclab.model.language import tr
from rubriclab.model.wording import beyond_noise, interval, lone_p, many, p_value
from rubriclab.report.text_batch import batch_lines
from rubriclab.report.text_beside import (
    compared_line,
    form_lines,
    one_call_lines,
    reversal_line,
    together_line,
    wording_lines,
)
from rubriclab.report.text_ratings import mean_lines, replacement_lines
from rubriclab.report.text_reliability import jury_lines, pull_lines, ranks_line, ruler_lines, study_lines
from rubriclab.report.text_words import Json, asked, effect_line, named, notes, row, span, spoken, stated


def as_text(document: Json) -> str:
    """The findings of :func:`rubriclab.report.results` for a terminal, most telling first."""
    lines = [*_head_lines(document), *_advice_lines(document["advice"])]
    judges = document.get("judges")
    for arm in [] if judges is not None else document["arms"]:
        write = _option_lines if "position" in arm else batch_lines if "batch_size" in arm else _criteria_lines
        lines.extend(["", *write(arm)])
    for judge in judges or []:
        lines.extend(["", *_judge_lines(judge)])
    lines.extend(_section(tr("On one ruler"), ruler_lines(document.get("rasch", []))))
    lines.extend(_section(tr("Scores as ranks"), map(ranks_line, document.get("ordinal", []))))
    lines.extend(_section(tr("Strategies beside each other"), map(compared_line, document.get("comparisons", []))))
    lines.extend(_section(tr("Corrected means"), mean_lines(document.get("corrected_means", []))))
    lines.extend(_section(tr("Who wins"), map(reversal_line, document.get("rank_reversal", []))))
    lines.extend(_section(tr("One corrected call"), one_call_lines(document)))
    lines.extend(_section(tr("Forms of the prompt"), form_lines(document.get("perturbations"))))
    lines.extend(_section(tr("Prompt sensitivity"), wording_lines(document.get("prompt_sensitivity", []))))
    lines.extend(_section(tr("What pulls"), pull_lines(document.get("pulls", []))))
    studies = (line for study in document.get("generalisability", []) for line in study_lines(study))
    lines.extend(_section(tr("Reliability"), studies))
    juries = (line for of in document.get("juries", []) for line in jury_lines(of))
    lines.extend(_section(tr("Several judges or several orders"), juries))
    lines.extend(_section(tr("Judges together"), map(together_line, document.get("agreement", []))))
    others = (f"  {tr(text)}" for text in document["warnings"] if text not in document["alarms"])
    lines.extend(_section(tr("Notes"), others))
    return "\n".join(lines)


def _head_lines(document: Json) -> Iterator[str]:
    yield tr("Run {run}", run=document["run"])
    if document["simulated"]:
        yield tr("SIMULATED judge: shows how the method works, not how any model behaves.")
    yield from (tr("WARNING: {text}", text=tr(text)) for text in document["alarms"])
    if left := document["unanswered"]:
        yield tr(
            "NOT FINISHED: {calls} {calls:waits|wait}. The numbers are about the others; no verdict yet.",
            calls=many(left, "call"),
        )


def _section(title: str, lines: Iterator[str]) -> list[str]:
    written = list(lines)
    return ["", title, *written] if written else []


def _advice_lines(advice: Sequence[Json]) -> Iterator[str]:
    about = ""
    for line in advice:
        name = " · ".join(filter(None, (line["judge"], line["dataset"], line["variant"])))
        if name != about:
            about = name
            yield from ("", name)
        yield f"  {asked(line['question']) + ':':<16} {spoken(line, 'verdict')}. {spoken(line, 'answer')}"


# ---------------------------------------------------------------- score options


def _option_lines(arm: Json) -> Iterator[str]:
    counts = arm["judgments"]
    yield named(arm)
    yield row(
        tr("judgments"),
        tr(
            "{read:,} read of {all:,}, {items}",
            read=counts["ok"],
            all=counts["total"],
            items=many(arm["n_items"], "item"),
        ),
    )
    scores = arm["score_distribution"]
    spread = "  ".join(
        f"{s}: {stated(share, '.0%')}" for s, share in zip(scores["scores"], scores["share"], strict=True)
    )
    yield row(tr("scores given"), spread)
    if not arm["moves_order"]:
        sd = stated(arm["within_item_sd"], ".2f")
        yield row(tr("within item"), tr("sd {sd} (the order never changed)", sd=sd))
    else:
        yield from _position_lines(arm)
    yield from _alignment_lines(arm)
    yield from replacement_lines(arm.get("replacement"))
    yield from notes(arm["warnings"])


def _position_lines(arm: Json) -> Iterator[str]:
    where, test = arm["position"], arm["position"]["test"]
    yield from _shift_lines(arm["shift"])
    shares = "  ".join(stated(share) for share in where["share"])
    yield row(tr("position 1..n"), tr("{shares}   (even: {even:.0%})", shares=shares, even=1 / arm["n_options"]))
    v = tr(
        "{v} {ends}, as in the paper {plain}; {test} {p}",
        v=stated(where["v"], ".3f"),
        ends=span(where["v_ci"]),
        plain=stated(where["cramers_v"], ".3f"),
        test=spoken(test, "name"),
        p=lone_p(test["p"]),
    )
    yield row(tr("V less noise"), v)
    cost = arm["bias_cost"]
    best, clean = cost["best"], cost["without_noise"]
    yield row(tr("Bias Cost"), _bias_cost(cost, best, clean))
    yield row(tr("within item"), tr("sd {sd}", sd=stated(arm["within_item_sd"], ".2f")))


def _bias_cost(cost: Json, best: Json, clean: Json) -> str:
    """Without noise and as in the paper; or why there is none, once."""
    if cost["why_unknown"]:
        return cost_said(None, cost["why_unknown"])
    less = _less_noise(clean, cost["why_unknown_without_noise"])
    return tr(
        "default {less}; as in the paper default {default}, best {best}",
        less=less,
        default=cost_said(cost["default"]),
        best=_cheapest(best),
    )


def _cheapest(best: Json) -> str:
    """An order is named as the best only where its cost is known; why it is not is said before."""
    if best["cost"] is None:
        return cost_said(None)
    return f"{' '.join(map(str, best['ordering']))} {cost_said(best['cost'])}"


def _less_noise(clean: Json, why: str) -> str:
    """Without noise, with its interval; or why that is not known."""
    if clean["default"] is None:
        return tr("without noise {cost}", cost=cost_said(None, why))
    ends = interval(clean["default_ci"], ".1f", brackets=True)
    return tr("{cost} {ends} without noise", cost=cost_said(clean["default"]), ends=ends)


def _outcome(shift: Json) -> str:
    """Which scores the mean is of, where the judge's probabilities say another than its choices."""
    if shift["outcome"] != "expected":
        return ""
    return tr(", of expected scores (of those chosen {shift})", shift=stated(shift["by_choice"], "+.2f"))


def _shift_lines(shift: Json) -> Iterator[str]:
    mean, by = shift["mean"], shift["mean_by"]
    verdict = tr(
        ": {verdict} (smallest effect of interest {sesoi:g})", verdict=spoken(mean, "verdict"), sesoi=mean["sesoi"]
    )
    moved = tr(
        "{shift} points {ends} ascending less descending",
        shift=stated(shift["ascending"], "+.2f"),
        ends=span(shift["ascending_ci"]),
    )
    yield row(tr("mean score"), f"{moved}{_outcome(shift)}{verdict if by == 'ascending' else ''}")
    pulls = "  ".join(stated(pull["value"], "+.2f") for pull in shift["pulls"])
    yield row(tr("pull 1..n"), tr("{pulls} points, highest instead of lowest score there", pulls=pulls))
    highest, lowest = (" ".join(map(str, shift[end])) for end in ("highest_order", "lowest_order"))
    order = tr("{highest} against {lowest}", highest=highest, lowest=lowest)
    apart = tr(
        "{shift} points {ends} apart at most: {order}",
        shift=stated(shift["extremes"], ".2f"),
        ends=span(shift["extremes_ci"]),
        order=order if highest != lowest else tr("no two orders differ"),
    )
    yield row(tr("orders"), f"{apart}{verdict if by == 'extremes' else ''}")
    yield row(tr("single score"), _single_score(shift["single"], shift["one"]))


def _single_score(single: Json, one: Json) -> str:
    permuted = tr(", by permuting scores over orders") if one["verdict"] == "effect" and one["why"] else ""
    told = {"verdict": spoken(one, "verdict"), "permuted": permuted}
    if single["source"]:
        size = beyond_noise(single["excess"], ".2f", tr("points"))
        return tr(
            "{size} {ends} beyond the judge's own noise: {verdict}{permuted}",
            size=size,
            ends=span(single["excess_ci"]),
            **told,
        )
    size = stated(single["other"], ".2f")
    return tr(
        "{size} points {ends} including the judge's own noise: {verdict}{permuted}",
        size=size,
        ends=span(single["other_ci"]),
        **told,
    )


def _alignment_lines(arm: Json) -> Iterator[str]:
    alignment = arm["alignment"]
    if alignment is None:
        return
    pearson, spearman = alignment["pearson"], alignment["spearman"]
    yield row(
        tr("with humans"),
        tr(
            "r {r} {r_ends}, rho {rho} {rho_ends}, {items} ({excluded:,} left out)",
            r=stated(pearson["r"], ".3f"),
            r_ends=span(pearson["ci"]),
            rho=stated(spearman["r"], ".3f"),
            rho_ends=span(spearman["ci"]),
            items=many(alignment["n_items"], "item"),
            excluded=alignment["excluded"],
        ),
    )
    ceiling, sure, raters = alignment.get("ceiling"), alignment.get("reliability"), alignment.get("raters")
    if sure:
        yield row(tr("dependability"), _dependable(sure))
    if ceiling and ceiling["why"]:
        yield row(tr("ceiling"), tr("unknown: {why}", why=spoken(ceiling, "why")))
    elif ceiling:
        r, ends = stated(ceiling["r"], ".3f"), span(ceiling["ci"])
        yield row(tr("ceiling"), tr("r {r} {ends}, the root of the mean rating's reliability", r=r, ends=ends))
    yield from notes(alignment.get("warnings", ()))
    if raters:
        alpha, r = stated(raters["alpha"], ".3f"), stated(raters["leave_one_out_r"], ".3f")
        yield row(tr("raters"), tr("alpha {alpha}, one against the others r {r}", alpha=alpha, r=r))


def _dependable(sure: Json) -> str:
    return tr(
        "{one} with one read, {every} with {reads}; {target:g} takes {needed} {ends} reads",
        one=stated(sure["one"], ".2f"),
        every=stated(sure["all"], ".2f"),
        reads=sure["reads"],
        target=sure["target"],
        needed=stated(sure["needed"], ".0f"),
        ends=interval(sure["needed_ci"], ".0f", brackets=True),
    )


# ---------------------------------------------------------------- criteria, pairs and lists


def _criteria_lines(arm: Json) -> Iterator[str]:
    counts, twice = arm["judgments"], arm["repeats"]
    yield named(arm)
    texts = many(arm["n_texts"], "text")
    yield row(
        tr("scores"), tr("{read:,} read of {all:,}, {items}", read=counts["ok"], all=counts["total"], items=texts)
    )
    if all(effect["first_less_last"]["estimate"] is None for effect in arm["criteria"]):
        yield row(tr("criterion"), tr("every criterion stood at one position only"))
        yield from _alignment_lines(arm)
        return
    yield row(tr("criterion"), _criterion_shift(arm))
    different, same = stated(twice["different"], ".2f"), stated(twice["same"], ".2f")
    yield row(
        tr("two reads"),
        tr(
            "{different} points apart under different orders, {same} under the same one", different=different, same=same
        ),
    )
    for effect in arm["criteria"]:
        line, places = effect["first_less_last"], effect["shift"]
        shifts = "  ".join(stated(shift, "+.2f") for shift in places)
        ends = tr("first less last {shift} {ends}: {verdict}", **_moved(line))
        yield f"    {effect['criterion'][:18]:<18} {shifts}   {ends}"
    yield row(tr("score before"), tr("a point more adds {shift} {ends} points: {verdict}", **_moved(arm["pull"])))
    yield from _alignment_lines(arm)
    yield from notes(arm["warnings"])


def _moved(line: Json) -> dict[str, str]:
    """Of an effect its number, its interval and its verdict, as text."""
    ends = span([line["low"], line["high"]])
    return {"shift": stated(line["estimate"], "+.2f"), "ends": ends, "verdict": spoken(line, "verdict")}


def _criterion_shift(arm: Json) -> str:
    rms, delta, significant = arm["rms"], arm["delta_pos"], arm["significant"]
    return tr(
        "shift over places {rms} {ends} points with noise taken off; best less worst position (Δ Pos, noise included) "
        "{delta}; Friedman's test below 0.05 on {corrected} of {tested} criteria",
        rms=stated(rms["value"], ".2f"),
        ends=span(rms["ci"]),
        delta=stated(delta["mean"], ".2f"),
        corrected=significant["corrected"],
        tested=significant["tested"],
    )


def _judge_lines(judge: Json) -> Iterator[str]:
    yield named(judge)
    yield row(tr("judgments"), _compared(judge))
    first, excess = judge["first_place"]["effect"], judge["order_excess"]
    by = _by(judge["first_place"])
    yield row(
        tr("first place"),
        tr("{effect}: wins of the first place less wins of the last{by}", effect=effect_line(first), by=by),
    )
    if excess["comparisons"]:
        change = tr(
            "{effect}: choices change in {order} across orders, {again} in the same one",
            effect=effect_line(excess["effect"]),
            order=stated(excess["order"]),
            again=stated(excess["again"]),
        )
        yield row(tr("order alone"), change)
    for place in judge["first_place"]["places"] if judge["axis"] == "listwise" else []:
        share = tr("{effect}, {share} of decided", effect=effect_line(place["effect"]), share=stated(place["share"]))
        where = tr("place {place}", place=place["place"])
        yield f"    {where:<14} {share}"
    yield from _consistency_lines(judge)
    if judge["error"] is not None:
        yield row(tr("error"), f"{stated(judge['error'], '.4f')} {span(judge['error_ci'])}")
    yield from notes(judge["warnings"])


def _compared(judge: Json) -> str:
    lists = tr("lists of {n}", n=judge["n_positions"])
    used, counts = judge["usable"], judge["judgments"]
    return tr(
        "{read:,} read of {all:,}; {series:,} comparisons ({kind}) asked in every order, {readable:,} of them read, "
        "{questions}",
        read=counts["ok"],
        all=counts["total"],
        series=used["series"],
        kind=tr("pairs") if judge["axis"] == "pairwise" else lists,
        readable=used["series"] - used["unreadable"],
        questions=many(judge["n_questions"], "question"),
    )


def _consistency_lines(judge: Json) -> Iterator[str]:
    used, test = judge["usable"], judge["pf_test"]
    spread = tr(
        "{pc} ± {sd} {ends} of {readable:,}, noise included",
        pc=stated(judge["pc"], ".4f"),
        sd=stated(judge["pc_sd"], ".4f"),
        ends=span(judge["pc_ci"]),
        readable=used["series"] - used["unreadable"],
    )
    yield row("PC", tr("unknown") if judge["pc"] is None else spread)
    tested = f"{spoken(test, 'name')} {p_value(test['p'])}" if test["p"] is not None else spoken(test, "note")
    pf, ends = stated(judge["pf"], "+.4f"), span(judge["pf_ci"])
    yield row("PF", tr("{pf} {ends}, {tested} (primacy < 0 < recency)", pf=pf, ends=ends, tested=tested))
    stable = tr(
        "{rs} ± {sd} {ends}, unbiased agreement of repeats {agreement} {agreement_ends}",
        rs=stated(judge["rs"], ".4f"),
        sd=stated(judge["rs_sd"], ".4f"),
        ends=span(judge["rs_ci"]),
        agreement=stated(judge["repeat_agreement"], ".4f"),
        agreement_ends=span(judge["repeat_agreement_ci"]),
    )
    yield row("RS", tr("unknown") if judge["rs"] is None else stable)


def _by(first: Json) -> str:
    """The design and what stands behind it, where it is not simply both orders."""
    design = "" if first["design"] == "both orders" else f", {spoken(first, 'design')}"
    if first["by_choices"] is None:
        return design
    choices = stated(first["by_choices"]["estimate"], "+.2f")
    return design + tr("; from probabilities, by the choices {choices}", choices=choices)
