"""The parts of the scoring-bias page: the answer in words, its charts and its tables."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.choice import label_odds, position_odds
from rubriclab.figures.perturbation import (
    agreement_forest,
    distribution_heatmap,
    flip_bars,
    reference_lines,
    shift_bars,
)
from rubriclab.figures.style import Chart
from rubriclab.findings.perturbation import perturbation_sentence
from rubriclab.findings.perturbation_results import (
    Fluctuation,
    Perturbation,
    PerturbationGroup,
    PerturbationResult,
    Shift,
)
from rubriclab.findings.prompt_forms import form_said
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, number, p_value
from rubriclab.store import RunInfo

HOW = msg(
    "In a study, choose the strategies **fixed**, **descending** and **random** (fixed first: it is "
    "the baseline), and under factors the **score IDs** (arabic first, then letters, roman or your "
    "own) and the **reference answer** (0 for none first, then the scores you have answers for). "
    "Leave “Every level with every other” off to change one thing at a time. Two reads or more show the judge's own "
    "randomness. To tell labels from positions, deal the labels out anew for every read."
)


def headline(group: PerturbationGroup) -> None:
    """The answer with the verdict of every form, whether any form is better, then the numbers."""
    uf.answer(perturbation_sentence(group))
    tested = [(form, form.shift) for form in group.perturbations if form.shift is not None]
    st.markdown(
        " ".join(f"{uf.badge(shift.effect.verdict)} {ui.plain(form.said)}" for form, shift in tested),
        help=ui.about("mean_shift"),
    )
    stable, best = group.most_stable, group.best_agreement
    st.markdown(
        tr("**A more stable form?** {sentence}", sentence=ui.plain(stable.sentence)), help=ui.about("stable_form")
    )
    st.markdown(
        tr("**A form that agrees better?** {sentence}", sentence=ui.plain(best.sentence)), help=ui.about("yardstick")
    )
    _numbers(group, tested)


def _numbers(group: PerturbationGroup, tested: list[tuple[Perturbation, Shift]]) -> None:
    """The largest shift, flips, change of r and the pull of the reference."""
    known = [(form, shift) for form, shift in tested if math.isfinite(shift.effect.estimate)]
    top = max(known, key=lambda pair: abs(pair[1].effect.estimate), default=None)
    flips = max(known, key=lambda pair: pair[1].flips, default=None)
    curve, change = group.reference, group.pearson_fluctuation
    uf.metrics(
        (
            tr("Largest mean shift"),
            tr("{value} points", value=number(top[1].effect.estimate if top else None, "+.2f")),
            f"{interval(top[1].effect.interval, '.2f')}; {_short(top[0].said)}" if top else tr("nothing to compare"),
            ui.about("mean_shift"),
        ),
        (
            tr("Most flips"),
            number(flips[1].flips if flips else None, ".0%"),
            f"{_noise(flips[1])}; {_short(flips[0].said)}" if flips else tr("nothing to compare"),
            ui.about("flips"),
        ),
        (
            tr("Largest change of r"),
            number(change.change if change else None, "+.3f"),
            _change_note(change),
            ui.about("change"),
        ),
        (
            tr("Pull of the reference"),
            number(curve.pull.estimate if curve else None, ".2f"),
            interval(curve.pull.interval, ".2f") if curve else tr("no reference answers"),
            ui.about("pull"),
        ),
    )


def _noise(shift: Shift) -> str:
    """What of the flips is the judge's own randomness."""
    if not math.isfinite(shift.own_flips):
        return tr("noise included")
    return tr("by chance {share:.0%}", share=shift.own_flips)


def pictures(info: RunInfo, group: PerturbationGroup, found: PerturbationResult) -> dict[str, Chart]:
    """Agreement and distributions, shifts and flips, references."""
    drawn: dict[str, Chart] = {}
    tag = f"perturbation-{found.groups.index(group)}"
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("Agreement with the yardstick"), anchor=False, help=ui.about("yardstick"))
        if group.gold is None:
            st.caption(tr("No item has a yardstick: give human ratings, or take another judge's scores as one."))
        elif not group.correlates:
            st.caption(
                tr("In every form the judge, or the yardstick, gives all items one score: there is no correlation.")
            )
        else:
            kind = uf.toggle(tr("Correlation"), ("Pearson", "Spearman"), key="perturbation-kind", address="measure")
            drawn[msg("Agreement by form")] = agreement_forest(group, "pearson" if kind == "Pearson" else "spearman")
            ui.chart(drawn["Agreement by form"], key=f"{tag}-forest-{kind}", info=info)
    with right:
        st.subheader(tr("Scores given"), anchor=False, help=ui.about("scores_given"))
        st.caption(tr("In per cent of a row, which is one form of the prompt; -1 are judgments that failed."))
        drawn[msg("Scores by form")] = distribution_heatmap(group)
        ui.chart(drawn["Scores by form"], key=f"{tag}-heat", info=info)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("Mean shift"), anchor=False, help=ui.about("mean_shift"))
        drawn[msg("Mean shift")] = shift_bars(group)
        ui.chart(drawn["Mean shift"], key=f"{tag}-shift", info=info)
    with right:
        drawn[msg("Flips")] = _flips(info, group, key=f"{tag}-flips")
    return drawn | _references(info, group, found, key=f"{tag}-references")


def _flips(info: RunInfo, group: PerturbationGroup, *, key: str) -> Chart:
    """How often scores differ, beside the judge's own noise where it is known."""
    st.subheader(tr("Flips"), anchor=False, help=ui.about("flips"))
    if any(form.shift and math.isfinite(form.shift.own_flips) for form in group.perturbations):
        st.caption(tr("The dotted line is how often two reads of the baseline itself differ."))
    else:
        st.caption(
            tr(
                "Noise included: each form was read once an item, so part of this is the judge's own randomness. "
                "Two reads a form would show it."
            )
        )
    chart = flip_bars(group)
    ui.chart(chart, key=key, info=info)
    return chart


def _references(info: RunInfo, group: PerturbationGroup, found: PerturbationResult, *, key: str) -> dict[str, Chart]:
    """All judges on the data set, read with a reference answer of each score."""
    same = [other for other in found.groups if other.dataset == group.dataset and other.reference and other.gold]
    if not same:  # without gold there is no agreement to draw
        return {}
    st.subheader(tr("With a reference answer of each score"), anchor=False, help=ui.about("pull"))
    chart = reference_lines(same, run_judges=uf.judges_of(info))
    ui.chart(chart, key=key, info=info)
    return {msg("References"): chart}


def followed(info: RunInfo, found: PerturbationResult, judge: str) -> dict[str, Chart]:
    """Position against label, where labels were dealt out anew."""
    mine = [one for one in found.followed if one.model.judge == judge]
    drawn: dict[str, Chart] = {}
    if not mine:
        return drawn
    st.subheader(tr("Position or label?"), anchor=False, help=ui.about("label_odds"))
    for one in mine:
        st.markdown(
            tr(
                "{sentence} :small[{strategy} order · position {position_p}, label {label_p} (Holm)]",
                sentence=ui.plain(one.sentence),
                strategy=ui.plain(one.model.strategy),
                position_p=p_value(one.position_p_holm),
                label_p=p_value(one.label_p_holm),
            )
        )
        uf.cautions(one.model.warnings)
    left, right = st.columns(2, gap="large")
    models, judges = [one.model for one in mine], uf.judges_of(info)
    with left:
        drawn[msg("Odds by position")] = position_odds(models, run_judges=judges)
        ui.chart(drawn["Odds by position"], key="perturbation-position", info=info)
    with right:
        drawn[msg("Odds by label")] = label_odds(models, run_judges=judges)
        ui.chart(drawn["Odds by label"], key="perturbation-label", info=info)
    return drawn


def frame(found: PerturbationResult) -> pd.DataFrame:
    """One row a form: agreement and its change, shift, flips, tests (Table 3 and more)."""
    rows = []
    for group in found.groups:
        for form in group.perturbations:
            a, s = form.agreement, form.shift
            d = a.delta_pearson
            rows.append(
                {
                    msg("judge"): group.judge,
                    msg("data set"): group.dataset,
                    msg("form"): form.name,
                    "rho": a.spearman.r,
                    "r": a.pearson.r,
                    "r low": a.pearson.ci.low,
                    "r high": a.pearson.ci.high,
                    msg("change of r"): d.delta if d else None,
                    msg("p (Holm) of r"): a.pearson_p_holm,
                    msg("items"): a.n_items,
                    msg("mean shift"): s.effect.estimate if s else None,
                    msg("low"): s.effect.low if s else None,
                    msg("high"): s.effect.high if s else None,
                    msg("verdict"): s.effect.verdict if s else msg("baseline"),
                    msg("flips"): s.flips if s else None,
                    msg("absolute shift"): s.absolute if s else None,
                    msg("flips beyond noise"): s.excess if s else None,
                    msg("p (Holm) of scores"): s.p_holm if s else None,
                    msg("failed"): form.distribution.counts[0],
                }
            )
    return pd.DataFrame(rows)


def shown(found: PerturbationResult) -> pd.DataFrame:
    """The same with the forms' names in the reader's language."""
    table = frame(found)
    return table.assign(form=table["form"].map(form_said)) if len(table) else table


FORMS = {
    "%.3f": [
        "rho",
        "r",
        "r low",
        "r high",
        "change of r",
        "mean shift",
        "low",
        "high",
        "flips",
        "absolute shift",
        "flips beyond noise",
    ],
    "%.2g": ["p (Holm) of r", "p (Holm) of scores"],
}


def _change_note(change: Fluctuation | None) -> str:
    if change is None:
        return tr("nothing to compare with")
    return tr(
        "{form}; by chance {from_noise}, {p}",
        form=_short(form_said(change.form)),
        from_noise=number(change.from_noise, ".3f"),
        p=p_value(change.p),
    )


def _short(name: str) -> str:
    return name if len(name) <= 28 else name[:27] + "…"
