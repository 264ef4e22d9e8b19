"""Views of pairs and lists: judges beside each other, win rates, regressions, both protocols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import judgments_of
from rubriclab.figures.comparison import (
    against_win_rate,
    agreement_heatmap,
    consistency_bars,
    disagreement_curve,
    fairness_bars,
    pc_against_pf,
    task_radar,
)
from rubriclab.figures.style import Chart
from rubriclab.findings.comparison import ComparisonResult, comparison_sentence, predictors
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.findings.comparison_together import JudgesTogether
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.model.wording import arm_name, beyond_noise_parts, interval, many, number, p_value
from rubriclab.stats.inference import Interval
from rubriclab.stats.judges import Agreement
from rubriclab.stats.stepwise import POST_SELECTION, Stepwise
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
    return [
        (
            tr("Advantage of the first place"),
            number(first.estimate, "+.2f"),
            tr(
                "{interval}; of interest from {sesoi:g}{choices}",
                interval=interval(first.interval, "+.2f"),
                sesoi=first.sesoi,
                choices=choices,
            ),
            ui.about("advantage", also=("random_order",)),
        ),
        (
            tr("Choices changed by the order alone"),
            changed,
            "; ".join(filter(None, (ends, measured))) if known else tr("no order asked twice"),
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
        "consistent": used.consistent,
        "the first wins": used.primacy,
        "the last wins": used.recency,
        "neither": used.neutral,
        "unreadable": used.unreadable,
        "incomplete": used.incomplete,
    }
    listed = " · ".join(f"{n:,} {name}" for name, n in classes.items() if n)
    st.caption(
        tr(
            "As the papers define them, the judge's own noise included. {units:,} {unit}s, which intervals "
            "go by: {listed}. PF test: {value}.",
            units=judge.first_place.units,
            unit=judge.unit,
            listed=listed,
            value=test.note if math.isnan(test.p) else test.name,
        )
    )
    _places(judge)


def _paper_metrics(judge: JudgeComparison) -> list[tuple[str, str, str, str]]:
    """Consistency, fairness, stability and what could not be read, as the papers define them."""
    stable = f"{interval(judge.rs_ci, '.0%')}; unbiased {number(judge.repeat_agreement, '.0%')}"
    return [
        (
            tr("Consistency (PC)"),
            number(judge.pc, ".1%"),
            tr("{pc_ci}; ± {pc_sd} over cells", pc_ci=interval(judge.pc_ci, ".0%"), pc_sd=number(judge.pc_sd, ".2f")),
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
            stable if judge.usable.queries else tr("no query asked twice"),
            ui.about("rs"),
        ),
        ("Unreadable", number(judge.error, ".1%"), f"{many(judge.usable.series, 'comparison')}", ui.about("error")),
    ]


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
    names = ["place", tr("share of decided"), "interval", tr("over even"), tr("interval of it"), "verdict"]
    frame = pd.DataFrame(rows, columns=names)
    forms = {"%.3f": [tr("share of decided")], "%+.3f": [tr("over even")]}
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
        **uf.with_ends(tr("repeat agreement"), judge.repeat_agreement, judge.repeat_agreement_ci),
        **uf.with_ends("error", judge.error, judge.error_ci),
        "comparisons": judge.usable.series,
        "questions": judge.n_questions,
    }


def _protocol(judge: JudgeComparison) -> str:
    return "pairs" if judge.axis == "pairwise" else tr("lists of {n_positions}", n_positions=judge.n_positions)


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
    names = ["judge", "protocol", "advantage", "verdict", "PC", "PF", "RS", "error", "comparisons"]
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
    drawn = {"Consistency": consistency_bars(result), "Fairness": fairness_bars(result)}
    for place, name, about in zip(st.columns(2, gap="large"), drawn, ("pc", "pf"), strict=True):
        with place:
            st.markdown(f"**{name}**", help=ui.about(about))
            ui.chart(drawn[name], key=f"comparison-{name}", info=info)
    left, right = st.columns(2, gap="large")
    drawn["Consistency and fairness"] = pc_against_pf(result, run_judges=uf.judges_of(info))
    with left:
        st.markdown(tr("**Consistency and fairness together**"), help=ui.about("primacy"))
        ui.chart(drawn["Consistency and fairness"], key="comparison-both", info=info)
    with right:
        st.markdown(tr("**Consistency by task**"), help=ui.about("pc"))
        if len({group.name for one in result.judges for group in one.by_task}) > 2:
            drawn["By task"] = task_radar(result, run_judges=uf.judges_of(info))
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
    names = ["candidate", tr("win rate"), "low", "high", "PC", "PF", "error", "comparisons"]
    return pd.DataFrame(rows, columns=names)


def task_frame(result: ComparisonResult) -> pd.DataFrame:
    rows = [
        (judge.judge, group.name, group.pc, *group.pc_ci, group.pf, *group.pf_ci, group.error, group.series)
        for judge in result.judges
        for group in judge.by_task
    ]
    names = [
        "judge",
        "task",
        "PC",
        tr("PC low"),
        tr("PC high"),
        "PF",
        tr("PF low"),
        tr("PF high"),
        "error",
        "comparisons",
    ]
    return pd.DataFrame(rows, columns=names)


def win_rates(info: RunInfo, judges: Sequence[JudgeComparison]) -> dict[str, Chart]:
    """PC and PF of every cell against its candidate's overall win rate or the quality gap."""
    against = uf.toggle(
        tr("Against"), (tr("Win rate"), tr("Quality gap")), key="comparison-x", address="against", about=ui.about("gap")
    )
    x: Literal["owr", "gap"] = "owr" if against == "Win rate" else "gap"
    every = uf.judges_of(info)
    drawn = {
        f"PC by {against.lower()}": against_win_rate(judges, measure="pc", x=x, run_judges=every),
        f"PF by {against.lower()}": against_win_rate(judges, measure="pf", x=x, run_judges=every),
    }
    for place, (name, chart) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with place:
            ui.chart(chart, key=f"comparison-{name}", info=info)
    st.caption(
        tr(
            "A point is a candidate on a task; the curve is a parabola fitted to a judge's points. It opens "
            "upwards by arithmetic alone, so its curvature is held against chance: "
        )
        + ui.plain("; ".join(_curvature(judge) for judge in judges))
        + "."
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
        tr("Calls that a judge called a tie"), ("Counted", tr("Left out")), key="comparison-ties", address="ties"
    )
    drawn = {
        "Agreement of judges": agreement_heatmap(group, ties=ties == "Counted"),
        "Disagreement": disagreement_curve(group),
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
            "Majority vote of {judges}, scored like a judge: PC {majority_pc} ({majority_pc_ci}), PF "
            "{majority_pf} ({majority_pf_ci}). {calls} read by two judges or more; {no_majority:,} have no "
            "majority.",
            judges=many(len(group.judges), "judge"),
            majority_pc=number(group.majority_pc, ".3f"),
            majority_pc_ci=interval(group.majority_pc_ci, ".3f"),
            majority_pf=number(group.majority_pf, "+.3f"),
            majority_pf_ci=interval(group.majority_pf_ci, "+.3f"),
            calls=many(group.n_instances, "call", "were"),
            no_majority=group.no_majority,
        )
    )
    uf.cautions(group.warnings)
    _hardest(info, group, arms)
    return drawn


def chance_frame(group: JudgesTogether, counted: Agreement) -> pd.DataFrame:
    """Two judges a row: the share answered alike and the coefficients that take chance away."""
    rows = []
    for i, j in combinations(range(len(group.judges)), 2):
        cells = [(counted.share[i, j], counted.low[i, j], counted.high[i, j])]
        cells += [(c.value[i, j], c.low[i, j], c.high[i, j]) for c in counted.beyond_chance]
        told = [f"{number(v, '.2f')} {interval((lo, hi), '.2f', brackets=True)}" for v, lo, hi in cells]
        rows.append((f"{group.judges[i]} · {group.judges[j]}", *told, int(counted.n[i, j])))
    names = ["judges", "alike", *(one.name for one in counted.beyond_chance), "calls"]
    if len(group.judges) > 2:
        whole = f"{number(counted.alpha, '.2f')} {interval(counted.alpha_ci, '.2f', brackets=True)}"
        gaps = ["–"] * len(counted.beyond_chance)
        rows.append(("all", *gaps, whole, int(group.n_instances)))
    return pd.DataFrame(rows, columns=names)


def _hardest(info: RunInfo, group: JudgesTogether, arms: Sequence[Arm]) -> None:
    st.markdown(tr("**The calls judges disagree on most**"), help=ui.about("disagreement"))
    if not group.hardest:
        st.caption(tr("No call on which two judges disagree."))
        return
    rows = [
        (hard.prompt, hard.task, " | ".join(hard.shown), hard.disagreement, *hard.choices.values())
        for hard in group.hardest
    ]
    frame = pd.DataFrame(rows, columns=["prompt", "task", "shown", "differ", *group.judges])
    chosen = uf.table(frame, key="comparison-hardest", select=True)
    if chosen and chosen[0] < len(group.hardest):
        hard = group.hardest[chosen[0]]
        codes = [
            code
            for code, arm in enumerate(arms)
            if arm.judge in group.judges and arm.dataset == group.dataset and arm.axis == group.axis
        ]
        judgments_of(info, [hard.item], codes, key=f"comparison-hard-{chosen[0]}")


# ---------------------------------------------------------------- what predicts PC and PF


def regressions(result: ComparisonResult) -> None:
    """Bidirectional stepwise regressions with the paper's removal table, and what they are worth."""
    st.subheader(tr("What goes with consistency and fairness"), anchor=False, help=ui.about("predictors"))
    for found in predictors(result):
        kind = "pairs" if found.axis == "pairwise" else tr("lists of {n_positions}", n_positions=found.n_positions)
        st.info(POST_SELECTION, icon=":material/info:")
        rest = [*found.pc.warnings, *found.pf.warnings, *found.warnings]
        for name, fit in (("PC", found.pc), ("PF", found.pf)):
            _regression(f"{name}, {kind}", fit, key=f"comparison-{kind}-{name}")
        uf.cautions(text for text in rest if text != POST_SELECTION)


def _regression(title: str, fit: Stepwise, *, key: str) -> None:
    st.markdown(f"**{title}**")
    if not fit.table:
        st.caption(tr("No model could be fitted to these cells."))
        return
    kept = ", ".join(fit.selected) or "nothing"
    st.caption(
        tr(
            "Kept: {kept}. Share explained (R²) {r2} over {n:,} cells. A row is the model without that "
            "variable; the further its loss (AIC) rises, the more it is needed.",
            kept=ui.plain(kept),
            r2=number(fit.r2, ".2f"),
            n=fit.n,
        )
    )
    rows = [
        (
            row.variable if row.df else tr("nothing (the final model)"),
            row.df,
            row.sum_sq,
            row.rss,
            row.aic,
            row.aic_change,
        )
        for row in fit.table
    ]
    frame = pd.DataFrame(rows, columns=["without", "df", tr("sum of sq"), "RSS", "AIC", tr("AIC rises by")])
    uf.table(frame, key=key, forms={"%.3f": [tr("sum of sq"), "RSS"], "%.1f": ["AIC"], "%+.1f": [tr("AIC rises by")]})
