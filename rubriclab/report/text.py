"""The document of a run's findings as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubriclab.findings.ordering import cost_said
from rubriclab.model.wording import arm_name, beyond_noise, interval, lone_p, many, number, p_value
from rubriclab.report.text_batch import batch_lines
from rubriclab.report.text_ratings import mean_lines, replacement_lines
from rubriclab.report.text_reliability import jury_lines, pull_lines, ranks_line, ruler_lines, study_lines

Json = Mapping[str, Any]


def as_text(document: Json) -> str:
    """The findings of :func:`rubriclab.report.results` for a terminal, most telling first."""
    lines = [f"Run {document['run']}"]
    if document["simulated"]:
        lines.append("SIMULATED judge: shows how the method works, not how any model behaves.")
    lines.extend(f"WARNING: {text}" for text in document["alarms"])
    if left := document["unanswered"]:
        lines.append(f"NOT FINISHED: {many(left, 'call', 'wait')}. The numbers are about the others; no verdict yet.")
    lines.extend(_advice_lines(document["advice"]))
    judges = document.get("judges")
    for arm in [] if judges is not None else document["arms"]:
        write = _option_lines if "position" in arm else batch_lines if "batch_size" in arm else _criteria_lines
        lines.extend(["", *write(arm)])
    for judge in judges or []:
        lines.extend(["", *_judge_lines(judge)])
    lines.extend(_section("On one ruler", ruler_lines(document.get("rasch", []))))
    lines.extend(_section("Scores as ranks", map(ranks_line, document.get("ordinal", []))))
    lines.extend(_section("Strategies beside each other", map(_compared, document.get("comparisons", []))))
    lines.extend(_section("Corrected means", mean_lines(document.get("corrected_means", []))))
    lines.extend(_section("Who wins", map(_reversal, document.get("rank_reversal", []))))
    lines.extend(_section("One corrected call", _one_call(document)))
    lines.extend(_section("Forms of the prompt", _forms(document.get("perturbations"))))
    lines.extend(_section("Prompt sensitivity", _wordings(document.get("prompt_sensitivity", []))))
    lines.extend(_section("What pulls", pull_lines(document.get("pulls", []))))
    studies = (line for study in document.get("generalisability", []) for line in study_lines(study))
    lines.extend(_section("Reliability", studies))
    juries = (line for of in document.get("juries", []) for line in jury_lines(of))
    lines.extend(_section("Several judges or several orders", juries))
    lines.extend(_section("Judges together", map(_together, document.get("agreement", []))))
    lines.extend(_section("Notes", (f"  {text}" for text in document["warnings"] if text not in document["alarms"])))
    return "\n".join(lines)


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
        yield f"  {line['question'] + ':':<16} {line['verdict']}. {line['answer']}"


# ---------------------------------------------------------------- score options


def _option_lines(arm: Json) -> Iterator[str]:
    counts = arm["judgments"]
    yield _name(arm)
    yield f"  judgments      {counts['ok']:,} read of {counts['total']:,}, {many(arm['n_items'], 'item')}"
    scores = arm["score_distribution"]
    spread = "  ".join(
        f"{s}: {_number(share, '.0%')}" for s, share in zip(scores["scores"], scores["share"], strict=True)
    )
    yield f"  scores given   {spread}"
    if not arm["moves_order"]:
        yield f"  within item    sd {_number(arm['within_item_sd'], '.2f')} (the order never changed)"
    else:
        yield from _position_lines(arm)
    yield from _alignment_lines(arm)
    yield from replacement_lines(arm.get("replacement"))
    yield from (f"  note           {warning}" for warning in arm["warnings"])


def _position_lines(arm: Json) -> Iterator[str]:
    where, test = arm["position"], arm["position"]["test"]
    yield from _shift_lines(arm["shift"])
    shares = "  ".join(_number(share) for share in where["share"])
    yield f"  position 1..n  {shares}   (even: {1 / arm['n_options']:.0%})"
    yield (
        f"  V less noise   {_number(where['v'], '.3f')} {_interval(where['v_ci'])}, as in the paper "
        f"{_number(where['cramers_v'], '.3f')}; {test['name']} {lone_p(test['p'])}"
    )
    cost = arm["bias_cost"]
    best, clean = cost["best"], cost["without_noise"]
    yield f"  Bias Cost      {_bias_cost(cost, best, clean)}"
    yield f"  within item    sd {_number(arm['within_item_sd'], '.2f')}"


def _bias_cost(cost: Json, best: Json, clean: Json) -> str:
    """Without noise and as in the paper; or why there is none, once."""
    if cost["why_unknown"]:
        return cost_said(None, cost["why_unknown"])
    less = _less_noise(clean, cost["why_unknown_without_noise"])
    return f"default {less}; as in the paper default {cost_said(cost['default'])}, best {_cheapest(best)}"


def _cheapest(best: Json) -> str:
    """An order is named as the best only where its cost is known; why it is not is said before."""
    if best["cost"] is None:
        return cost_said(None)
    return f"{' '.join(map(str, best['ordering']))} {cost_said(best['cost'])}"


def _less_noise(clean: Json, why: str) -> str:
    """Without noise, with its interval; or why that is not known."""
    if clean["default"] is None:
        return f"without noise {cost_said(None, why)}"
    return f"{cost_said(clean['default'])} {interval(clean['default_ci'], '.1f', brackets=True)} without noise"


def _outcome(shift: Json) -> str:
    """Which scores the mean is of, where the judge's probabilities say another than its choices."""
    if shift["outcome"] != "expected":
        return ""
    return f", of expected scores (of those chosen {_number(shift['by_choice'], '+.2f')})"


def _shift_lines(shift: Json) -> Iterator[str]:
    mean, one, single = shift["mean"], shift["one"], shift["single"]
    verdict = f": {mean['verdict']} (smallest effect of interest {mean['sesoi']:g})"
    by = shift["mean_by"]
    yield (
        f"  mean score     {_number(shift['ascending'], '+.2f')} points "
        f"{_interval(shift['ascending_ci'])} ascending less descending{_outcome(shift)}"
        f"{verdict if by == 'ascending' else ''}"
    )
    pulls = "  ".join(_number(pull["value"], "+.2f") for pull in shift["pulls"])
    yield f"  pull 1..n      {pulls} points, highest instead of lowest score there"
    highest, lowest = (" ".join(map(str, shift[end])) for end in ("highest_order", "lowest_order"))
    order = f"{highest} against {lowest}" if highest != lowest else "no two orders differ"
    yield (
        f"  orders         {_number(shift['extremes'], '.2f')} points "
        f"{_interval(shift['extremes_ci'])} apart at most: {order}"
        f"{verdict if by == 'extremes' else ''}"
    )
    known = single["source"]
    size = beyond_noise(single["excess"], ".2f", "points") if known else f"{_number(single['other'], '.2f')} points"
    ends = single["excess_ci"] if known else single["other_ci"]
    yield (
        f"  single score   {size} {_interval(ends)} "
        f"{'beyond' if known else 'including'} the judge's own noise: {one['verdict']}"
        f"{', by permuting scores over orders' if one['verdict'] == 'effect' and one['why'] else ''}"
    )


def _alignment_lines(arm: Json) -> Iterator[str]:
    alignment = arm["alignment"]
    if alignment is None:
        return
    pearson, spearman = alignment["pearson"], alignment["spearman"]
    yield (
        f"  with humans    r {_number(pearson['r'], '.3f')} {_interval(pearson['ci'])}, rho "
        f"{_number(spearman['r'], '.3f')} {_interval(spearman['ci'])}, {many(alignment['n_items'], 'item')} "
        f"({alignment['excluded']:,} left out)"
    )
    ceiling, sure, raters = alignment.get("ceiling"), alignment.get("reliability"), alignment.get("raters")
    if sure:
        ends = sure["needed_ci"]
        yield (
            f"  dependability  {_number(sure['one'], '.2f')} with one read, {_number(sure['all'], '.2f')} "
            f"with {sure['reads']}; {sure['target']:g} takes {_number(sure['needed'], '.0f')} "
            f"{interval(ends, '.0f', brackets=True)} reads"
        )
    if ceiling and ceiling["why"]:
        yield f"  ceiling        unknown: {ceiling['why']}"
    elif ceiling:
        yield (
            f"  ceiling        r {_number(ceiling['r'], '.3f')} {_interval(ceiling['ci'])}, the root of "
            "the mean rating's reliability"
        )
    yield from (f"  note           {text}" for text in alignment.get("warnings", ()))
    if raters:
        yield (
            f"  raters         alpha {_number(raters['alpha'], '.3f')}, one against the others r "
            f"{_number(raters['leave_one_out_r'], '.3f')}"
        )


# ---------------------------------------------------------------- criteria, pairs and lists


def _criteria_lines(arm: Json) -> Iterator[str]:
    counts, delta, significant = arm["judgments"], arm["delta_pos"], arm["significant"]
    yield _name(arm)
    yield f"  scores         {counts['ok']:,} read of {counts['total']:,}, {many(arm['n_texts'], 'text')}"
    if all(effect["first_less_last"]["estimate"] is None for effect in arm["criteria"]):
        yield "  criterion      every criterion stood at one position only"
        yield from _alignment_lines(arm)
        return
    rms, twice = arm["rms"], arm["repeats"]
    yield (
        f"  criterion      shift over places {_number(rms['value'], '.2f')} {_interval(rms['ci'])} "
        f"points with noise taken off; best less worst position (Δ Pos, noise included) "
        f"{_number(delta['mean'], '.2f')}; Friedman's test below 0.05 on {significant['corrected']} of "
        f"{significant['tested']} criteria"
    )
    yield (
        f"  two reads      {_number(twice['different'], '.2f')} points apart under different orders, "
        f"{_number(twice['same'], '.2f')} under the same one"
    )
    for effect in arm["criteria"]:
        line, places = effect["first_less_last"], effect["shift"]
        shifts = "  ".join(_number(shift, "+.2f") for shift in places)
        yield (
            f"    {effect['criterion'][:18]:<18} {shifts}   first less last "
            f"{_number(line['estimate'], '+.2f')} {_interval([line['low'], line['high']])}: "
            f"{line['verdict']}"
        )
    pull = arm["pull"]
    yield (
        f"  score before   a point more adds {_number(pull['estimate'], '+.2f')} "
        f"{_interval([pull['low'], pull['high']])} points: {pull['verdict']}"
    )
    yield from _alignment_lines(arm)
    yield from (f"  note           {warning}" for warning in arm["warnings"])


def _judge_lines(judge: Json) -> Iterator[str]:
    kind = "pairs" if judge["axis"] == "pairwise" else f"lists of {judge['n_positions']}"
    used, test = judge["usable"], judge["pf_test"]
    readable = used["series"] - used["unreadable"]
    yield _name(judge)
    yield (
        f"  judgments      {judge['judgments']['ok']:,} read of {judge['judgments']['total']:,}; "
        f"{used['series']:,} comparisons ({kind}) asked in every order, {readable:,} of them read, "
        f"{many(judge['n_questions'], 'question')}"
    )
    first, excess = judge["first_place"]["effect"], judge["order_excess"]
    yield f"  first place    {_effect(first)}: wins of the first place less wins of the last{_by(judge['first_place'])}"
    if excess["comparisons"]:
        yield (
            f"  order alone    {_effect(excess['effect'])}: choices change in "
            f"{_number(excess['order'])} across orders, {_number(excess['again'])} in the same one"
        )
    for place in judge["first_place"]["places"] if judge["axis"] == "listwise" else []:
        yield f"    place {place['place']:<8} {_effect(place['effect'])}, {_number(place['share'])} of decided"
    spread = f"{_number(judge['pc'], '.4f')} ± {_number(judge['pc_sd'], '.4f')} {_interval(judge['pc_ci'])} of {readable:,}, noise included"
    yield f"  PC             {'unknown' if judge['pc'] is None else spread}"
    tested = f"{test['name']} {p_value(test['p'])}" if test["p"] is not None else test["note"]
    yield (
        f"  PF             {_number(judge['pf'], '+.4f')} {_interval(judge['pf_ci'])}, {tested} (primacy < 0 < recency)"
    )
    stable = (
        f"{_number(judge['rs'], '.4f')} ± {_number(judge['rs_sd'], '.4f')} "
        f"{_interval(judge['rs_ci'])}, unbiased agreement of repeats "
        f"{_number(judge['repeat_agreement'], '.4f')} {_interval(judge['repeat_agreement_ci'])}"
    )
    yield f"  RS             {'unknown' if judge['rs'] is None else stable}"
    if judge["error"] is not None:
        yield f"  error          {_number(judge['error'], '.4f')} {_interval(judge['error_ci'])}"
    yield from (f"  note           {warning}" for warning in judge["warnings"])


def _by(first: Json) -> str:
    """The design and what stands behind it, where it is not simply both orders."""
    design = "" if first["design"] == "both orders" else f", {first['design']}"
    if first["by_choices"] is None:
        return design
    return f"{design}; from probabilities, by the choices {_number(first['by_choices']['estimate'], '+.2f')}"


# ---------------------------------------------------------------- beside each other


def _compared(pair: Json) -> str:
    return (
        f"  {_name(pair, strategy=False)}: r of {pair['a']} less r of {pair['b']} "
        f"{_number(pair['delta_r'], '+.3f')} {_interval(pair['ci'])}, {many(pair['n_items'], 'item')}"
        f"{_equal_reads(pair)}"
    )


def _equal_reads(pair: Json) -> str:
    orders = pair.get("orders")
    return f", {pair['reads']} reads each: {orders['verdict']}" if orders else ""


def _reversal(reversal: Json) -> str:
    noise = reversal["noise"]
    control = f"{_number((noise['control'] or {}).get('value'))} in the same order read twice"
    if noise["calls"]:
        control = "no order read twice"
    start = (
        f"  {_name(reversal, strategy=False)}: {reversal['a']} against {reversal['b']}, the winner changes on "
        f"{_number(noise['changed']['value'])} at equal reads, {control}: {noise['excess']['verdict']}; "
    )
    if reversal["excluded"] == reversal["prompts"]:
        return f"{start}over all reads one side ties all candidates in each of {many(reversal['prompts'], 'prompt')}"
    return (
        f"{start}over all reads, noise included, on "
        f"{_number(reversal['top1_flip'])} of {reversal['prompts']:,} prompts (by the strict count "
        f"{_number(reversal['top1_flip_strict'])}), tau {_number(reversal['kendall_tau'], '.2f')}"
    )


def _one_call(document: Json) -> Iterator[str]:
    """What it does more than drawing a call towards the mean, and the calls that is worth."""
    for gain in document.get("debiasing_gain", []):
        shown = gain["nearer"]
        yield (
            f"  {_name(gain, strategy=False)} ({gain['source']}): nearer than one call drawn towards "
            f"the mean by {_number(shown['estimate'], '+.2f')} points "
            f"{_interval([shown['low'], shown['high']])}: {shown['verdict']}"
        )
    yield from (_break_even(one) for one in document.get("break_even", []) if one["claimed"])


def _break_even(gain: Json) -> str:
    where = f"  {_name(gain, strategy=False)} ({gain['source']}): as near to the mean of all orders as"
    if gain["calls"] is None:
        return f"{where} no number of {gain['against']} calls tried (up to {gain['most_calls']})"
    return f"{where} {gain['calls']:.1f} {gain['against']} calls"


def _forms(forms: Json | None) -> Iterator[str]:
    for group in (forms or {}).get("groups", []):
        for form in group["perturbations"]:
            shift = form["shift"]
            change = "the baseline" if shift is None else _form_moved(shift)
            yield f"  {group['judge']} · {form['name']}: {change}"
        for name in ("most_stable", "best_agreement"):
            yield f"  {group['judge']}: {group[name]['sentence']}"
    for followed in (forms or {}).get("position_or_label", []):
        yield f"  {followed['judge']}: {followed['sentence']}"


def _form_moved(shift: Json) -> str:
    moved, noise = shift["effect"], shift["own_flips"]
    own = "noise included" if noise is None else f"{_number(noise)} by chance"
    return (
        f"{moved['verdict']}, mean shift {_number(moved['estimate'], '+.2f')} "
        f"{_interval([moved['low'], moved['high']])} points, flips {_number(shift['flips'])} ({own})"
    )


def _wordings(groups: Sequence[Json]) -> Iterator[str]:
    for group in groups:
        yield (
            f"  {group['judge']} · {group['dataset']}: {len(group['wordings'])} wordings in the same orders, "
            f"{many(group['n_items'], 'item')}, sd {_number(group['sd'], '.2f')} points"
        )
        for one in group["components"]:
            ends = interval(one["ci"], ".1%", brackets=True)
            yield f"    {one['name']:<26} {_number(one['share'])} {ends} of the variance"
        for one in group["shifts"]:
            moved = one["effect"]
            ends = _interval([moved["low"], moved["high"]])
            yield f"    {one['wording']}: {_number(moved['estimate'], '+.2f')} points {ends}: {moved['verdict']}"
        yield from (f"    note: {text}" for text in group["warnings"])


def _together(group: Json) -> str:
    judges, agreement = group["judges"], group["with_ties"]
    kappa = agreement["beyond_chance"][0]
    pairs = ", ".join(
        f"{judges[i]} and {judges[j]} {_number(agreement['share'][i][j])} (beyond chance, "
        f"{kappa['name']} {_number(kappa['value'][i][j], '.2f')})"
        for i in range(len(judges))
        for j in range(i + 1, len(judges))
    )
    return (
        f"  {group['dataset']}: agree on {pairs}; Krippendorff's alpha of all "
        f"{_number(agreement['alpha'], '.2f')}; majority PC {_number(group['majority_pc'], '.3f')}"
    )


# ---------------------------------------------------------------- words and numbers


def _name(of: Json, *, strategy: bool = True) -> str:
    return arm_name(of, strategy=strategy, simulated=False)  # which the head of the text says


def _number(value: float | None, form: str = ".1%") -> str:
    return number(value, form, unknown="unknown")


def _effect(shown: Json) -> str:
    if shown["estimate"] is None:
        return f"unknown ({shown['why']})"
    ends = _interval([shown["low"], shown["high"]])
    return f"{_number(shown['estimate'], '+.3f')} {ends}, {shown['verdict']}"


def _interval(ci: list[float | None]) -> str:
    return interval(ci, ".3f", brackets=True)
