"""Views of pairs and lists: judges beside each other, win rates, regressions, both protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.comparison_calls import chance_frame, hardest
from rubriclab.app.views.comparison_fit import regression
from rubriclab.figures.comparison import against_win_rate, consistency_bars, fairness_bars, pc_against_pf, task_radar
from rubriclab.figures.comparison_together import agreement_heatmap, disagreement_curve
from rubriclab.figures.style import Chart
from rubriclab.findings.comparison import ComparisonResult, comparison_sentence, predictors
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.comparison_together import JudgesTogether
from rubriclab.model import Arm
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import arm_name, beyond_noise_parts, interval, many, number, p_value, plural
from rubriclab.stats.inference import Interval
from rubriclab.stats.stepwise import POST_SELECTION
from rubriclab.store import RunInfo


def judge_label(judge: JudgeComparison) -> str:
    return f"{arm_name(judge)} · {_protocol(judge)}"


def _place_metrics(judge: JudgeComparison) -> list[tuple[str, str, str, str]]:
    """The lab's own numbers: how far the place decides, and what the order adds to the noise."""
    first, excess = judge.first_place.effect, judge.order_excess
    known = excess.comparisons > 0
    by = judge.first_place.by_choices
    choices = tr("; by the choices {estimate}", estimate=number(by.estimate, "+.2f")) if by else ""
    changed, measured = beyond_noise_parts(excess.effect.estimate, "+.0%")
    ends = interval(excess.effect.interval, "+.0%")
    noise = tr("noise of the {source} arm", source=excess.source) if excess.source else ""
    return [
        (
            tr("Advantage of the first place"),
            number(first.estimate, "+.2f"),
            tr(
                "{ends}; of interest from {smallest:g}{choices}",
                ends=interval(first.interval, "+.2f"),
                smallest=first.sesoi,
                choices=choices,
            ),
            ui.about("advantage", also=("random_order",)),
        ),
        (
            tr("Choices changed by the order alone"),
            changed,
            "; ".join(filter(None, (ends, measured, noise))) if known else tr("no order asked twice"),
            ui.about("order_excess"),
        ),
    ]


def headline(judge: JudgeComparison) -> None:
    """The lab's own numbers, then the papers', then what both rest on."""
    uf.answer(comparison_sentence(judge))
    uf.metrics(*_place_metrics(judge))
    uf.metrics(*_paper_metrics(judge))
    used, test = judge.usable, judge.pf_test
    classes = {
        tr("consistent"): used.consistent,
        tr("the first wins"): used.primacy,
        tr("the last wins"): used.recency,
        tr("neither"): used.neutral,
        tr("unreadable"): used.unreadable,
        tr("incomplete"): used.incomplete,
    }
    listed = " · ".join(f"{figure(n, ',')} {name}" for name, n in classes.items() if n)
    st.caption(
        tr(
            "As the papers define them, the judge's own noise included. {units}, which intervals "
            "go by: {classes}. PF test: {test}.",
            units=f"{figure(judge.first_place.units, ',')} {plural(judge.unit, 2)}",
            classes=listed,
            test=tr(test.note if math.isnan(test.p) else test.name),
        )
    )
    _places(judge)


def _paper_metrics(judge: JudgeComparison) -> list[tuple[str, str, str, str]]:
    """Consistency, fairness, stability and what could not be read, as the papers define them."""
    alike = number(judge.repeat_agreement, ".0%")
    stable = tr("{ends}; unbiased {share}", ends=interval(judge.rs_ci, ".0%"), share=alike)
    return [
        (
            tr("Consistency (PC)"),
            number(judge.pc, ".1%"),
            tr("{ends}; ± {sd} over cells", ends=interval(judge.pc_ci, ".0%"), sd=number(judge.pc_sd, ".2f")),
            ui.about("pc"),
        ),
        (
            tr("Fairness (PF)"),
            number(judge.pf, "+.3f"),
            f"{interval(judge.pf_ci, '+.2f')}; {p_value(judge.pf_p_holm)}",
            ui.about("pf"),
        ),
        (
            tr("Stability (RS)"),
            number(judge.rs, ".1%"),
            stable if judge.usable.queries else _not_repeated(judge),
            ui.about("rs"),
        ),
        (tr("Unreadable"), number(judge.error, ".1%"), many(judge.usable.series, "comparison"), ui.about("error")),
    ]


def _not_repeated(judge: JudgeComparison) -> str:
    """Why an arm has no stability, with the arm that asked again and tells of the noise: the sentence above names it."""
    mine = tr("the {strategy} arm asked no query twice", strategy=judge.strategy)
    other = judge.order_excess.source
    return tr("{mine}; the {source} arm did", mine=mine, source=other) if other else mine


def _places(judge: JudgeComparison) -> None:
    """Each place of a list; for pairs the advantage says it all."""
    if judge.axis != "listwise" or not judge.first_place.places:
        return
    rows = [
        (
            one.place,
            one.share,
            interval(one.ci, ".1%"),
            one.effect.estimate,
            interval(one.effect.interval, "+.3f"),
            one.effect.verdict,
        )
        for one in judge.first_place.places
    ]
    names = [msg("place"), msg("share of decided"), msg("interval"), msg("over even"), msg("interval of it"), "verdict"]
    frame = pd.DataFrame(rows, columns=names)
    forms = {"%.3f": ["share of decided"], "%+.3f": ["over even"]}
    st.markdown(tr("**Each place**, intervals for all places at once"), help=ui.about("advantage"))
    uf.table(frame, key="comparison-places", forms=forms)


def judge_frame(result: ComparisonResult) -> pd.DataFrame:
    """The advantage of the first place, then the paper's Table 2 with intervals: a row a judge."""
    return pd.DataFrame([_judge_row(judge) for judge in result.judges])


def _judge_row(judge: JudgeComparison) -> dict[str, object]:
    first, excess = judge.first_place.effect, judge.order_excess.effect
    return {
        "judge": judge.judge,
        "data set": judge.dataset,
        "protocol": _protocol(judge),
        **uf.with_ends("advantage", first.estimate, first.interval),
        "verdict": first.verdict,
        "changed by order": excess.estimate,
        "changed low": excess.low,
        "changed high": excess.high,
        **uf.with_ends("PC", judge.pc, judge.pc_ci),
        "PC ±": judge.pc_sd,
        **uf.with_ends("PF", judge.pf, judge.pf_ci),
        "PF p": judge.pf_test.p,
        "PF p (Holm)": judge.pf_p_holm,
        **uf.with_ends("RS", judge.rs, judge.rs_ci),
        "RS ±": judge.rs_sd,
        **uf.with_ends("repeat agreement", judge.repeat_agreement, judge.repeat_agreement_ci),
        **uf.with_ends("error", judge.error, judge.error_ci),
        "comparisons": judge.usable.series,
        "questions": judge.n_questions,
    }


def _protocol(judge: JudgeComparison) -> str:
    return tr("pairs") if judge.axis == "pairwise" else tr("lists of {places}", places=judge.n_positions)


def show_judges(result: ComparisonResult) -> pd.DataFrame:
    """The table on the page: an interval stands with its number, so that it fits a screen."""
    rows = []
    for judge in result.judges:
        first = judge.first_place.effect
        rows.append(
            (
                judge.judge,
                _protocol(judge),
                _with_ends(first.estimate, first.interval, "+.2f"),
                first.verdict,
                _with_ends(judge.pc, judge.pc_ci, ".2f"),
                _with_ends(judge.pf, judge.pf_ci, "+.2f"),
                _with_ends(judge.rs, judge.rs_ci, ".2f") if judge.usable.queries else tr("not asked twice"),
                number(judge.error, ".3f"),
                judge.first_place.comparisons,
            )
        )
    names = [
        msg("judge"),
        msg("protocol"),
        msg("advantage"),
        msg("verdict"),
        "PC",
        "PF",
        "RS",
        msg("error"),
        msg("comparisons"),
    ]
    shown = pd.DataFrame(rows, columns=names)
    if shown["protocol"].nunique() == 1:
        shown = shown.drop(columns="protocol")
    uf.table(shown, key="comparison-judges")
    return judge_frame(result)


def _with_ends(value: float, ends: Interval, form: str) -> str:
    return f"{number(value, form)} {interval(ends, form, brackets=True)}" if math.isfinite(value) else "–"


def papers(info: RunInfo, result: ComparisonResult) -> dict[str, Chart]:
    """Charts of the papers' numbers, where any comparison was read in every order."""
    if not any(math.isfinite(judge.pc) for judge in result.judges):
        st.caption(tr("No comparison was read in every order: no consistency and no fairness to draw."))
        return {}
    drawn = {msg("Consistency"): consistency_bars(result), msg("Fairness"): fairness_bars(result)}
    for place, name, about in zip(st.columns(2, gap="large"), drawn, ("pc", "pf"), strict=True):
        with place:
            st.markdown(f"**{tr(name)}**", help=ui.about(about))
            ui.chart(drawn[name], key=f"comparison-{name}", info=info)
    left, right = st.columns(2, gap="large")
    drawn[msg("Consistency and fairness")] = pc_against_pf(result, run_judges=uf.judges_of(info))
    with left:
        st.markdown(tr("**Consistency and fairness together**"), help=ui.about("primacy"))
        ui.chart(drawn["Consistency and fairness"], key="comparison-both", info=info)
    with right:
        st.markdown(tr("**Consistency by task**"), help=ui.about("pc"))
        if len({group.name for one in result.judges for group in one.by_task}) > 2:
            drawn[msg("By task")] = task_radar(result, run_judges=uf.judges_of(info))
            ui.chart(drawn["By task"], key="comparison-radar", info=info)
        else:
            st.caption(tr("Three tasks or more make a radar; this run has fewer."))
    return drawn


def candidate_frame(judge: JudgeComparison) -> pd.DataFrame:
    """Every candidate with its win rate, consistency and fairness under one judge."""
    groups = {group.name: group for group in judge.by_candidate}
    rows = []
    for rate in judge.win_rates:
        group = groups.get(rate.candidate)
        rows.append(
            (
                rate.candidate,
                rate.owr,
                *rate.ci,
                group and group.pc,
                group and group.pf,
                group and group.error,
                rate.series,
            )
        )
    names = [msg("candidate"), msg("win rate"), "low", "high", "PC", "PF", "error", "comparisons"]
    return pd.DataFrame(rows, columns=names)


def task_frame(result: ComparisonResult) -> pd.DataFrame:
    rows = [
        (judge.judge, group.name, group.pc, *group.pc_ci, group.pf, *group.pf_ci, group.error, group.series)
        for judge in result.judges
        for group in judge.by_task
    ]
    names = ["judge", msg("task"), "PC", "PC low", "PC high", "PF", "PF low", "PF high", "error", "comparisons"]
    return pd.DataFrame(rows, columns=names)


def win_rates(info: RunInfo, judges: Sequence[JudgeComparison]) -> dict[str, Chart]:
    """PC and PF of every cell against its candidate's overall win rate or the quality gap."""
    against = uf.toggle(
        tr("Against"),
        (msg("Win rate"), msg("Quality gap")),
        key="comparison-x",
        address="against",
        about=ui.about("gap"),
    )
    x: Literal["owr", "gap"] = "owr" if against == "Win rate" else "gap"
    every = uf.judges_of(info)
    names = (
        (msg("PC by win rate"), msg("PF by win rate"))
        if x == "owr"
        else (msg("PC by quality gap"), msg("PF by quality gap"))
    )
    drawn = {
        names[0]: against_win_rate(judges, measure="pc", x=x, run_judges=every),
        names[1]: against_win_rate(judges, measure="pf", x=x, run_judges=every),
    }
    for place, (name, chart) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with place:
            ui.chart(chart, key=f"comparison-{name}", info=info)
    st.caption(
        tr(
            "A point is a candidate on a task; the curve is a parabola fitted to a judge's points. It opens "
            "upwards by arithmetic alone, so its curvature is held against chance: {judges}.",
            judges=ui.plain("; ".join(_curvature(judge) for judge in judges)),
        )
    )
    return drawn


def _curvature(judge: JudgeComparison) -> str:
    fit = judge.pc_parabola
    if not math.isfinite(fit.curvature):
        return tr("{judge}: too few points for a curve of PC", judge=judge.judge)
    return tr(
        "{judge}: PC {curvature:+.1f}, chance alone {by_chance} ({p})",
        judge=judge.judge,
        curvature=fit.curvature,
        by_chance=interval(fit.by_chance, "+.1f"),
        p=p_value(fit.test.p),
    )


# ---------------------------------------------------------------- judges together


def together(info: RunInfo, group: JudgesTogether, arms: Sequence[Arm]) -> dict[str, Chart]:
    """Agreement, disagreement, the majority's own scores, and the hardest calls, openable."""
    ties = uf.toggle(
        tr("Calls that a judge called a tie"), (msg("Counted"), msg("Left out")), key="comparison-ties", address="ties"
    )
    drawn = {
        msg("Agreement of judges"): agreement_heatmap(group, ties=ties == "Counted"),
        msg("Disagreement"): disagreement_curve(group),
    }
    titles = (
        (tr("How often two judges answer alike"), "agreement"),
        (tr("How many judges differ from the commonest answer"), "disagreement"),
    )
    for place, (title, key), (name, chart) in zip(st.columns(2, gap="large"), titles, drawn.items(), strict=True):
        with place:
            st.markdown(f"**{title}**", help=ui.about(key))
            ui.chart(chart, key=f"comparison-{name}")
    counted = group.with_ties if ties == "Counted" else group.without_ties
    st.markdown(tr("**Agreement beyond chance**"), help=ui.about("beyond_chance"))
    uf.table(chance_frame(group, counted), key="comparison-chance")
    st.caption(
        tr(
            "Majority vote of {judges}, scored like a judge: PC {pc} ({pc_ends}), PF {pf} ({pf_ends}). "
            "{calls} {calls:was|were} read by two judges or more; {no_majority:,} have no "
            "majority.",
            judges=many(len(group.judges), "judge"),
            pc=number(group.majority_pc, ".3f"),
            pc_ends=interval(group.majority_pc_ci, ".3f"),
            pf=number(group.majority_pf, "+.3f"),
            pf_ends=interval(group.majority_pf_ci, "+.3f"),
            calls=many(group.n_instances, "call"),
            no_majority=group.no_majority,
        )
    )
    uf.cautions(group.warnings)
    hardest(info, group, arms)
    return drawn


# ---------------------------------------------------------------- what predicts PC and PF


def regressions(result: ComparisonResult) -> None:
    """Bidirectional stepwise regressions with the paper's removal table, and what they are worth."""
    st.subheader(tr("What goes with consistency and fairness"), anchor=False, help=ui.about("predictors"))
    for found in predictors(result):
        pairs = found.axis == "pairwise"
        kind = tr("pairs") if pairs else tr("lists of {places}", places=found.n_positions)
        st.info(tr(POST_SELECTION), icon=":material/info:")
        rest = [*found.pc.warnings, *found.pf.warnings, *found.warnings]
        for name, fit in (("PC", found.pc), ("PF", found.pf)):
            regression(f"{name}, {kind}", fit, key=f"comparison-{found.axis}-{found.n_positions}-{name}")
        uf.cautions(text for text in rest if text != POST_SELECTION)
