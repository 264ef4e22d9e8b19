"""Views of the Rasch model: the ruler, how well judges fit it, places beside the choice model."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.rasch import places_forest, ruler
from rubriclab.figures.style import Chart
from rubriclab.findings.rasch import RASCH
from rubriclab.findings.rasch_results import RaschArm, RaschScale
from rubriclab.findings.rasch_words import (
    PLACES_ALONE,
    arm_sentence,
    fit_words,
    no_ruler,
    scale_sentence,
    separation_words,
)
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.option_sets import says_its_set
from rubriclab.model.wording import arm_name, interval, many, number
from rubriclab.stats.rasch_measures import Fit
from rubriclab.store import RunInfo

FACETS = {"judge": msg("judge"), "person": msg("person"), "setting": msg("setting")}


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """All that the model says of a run; the charts and tables to carry off. Nothing for other axes."""
    found = ui.finding(info, RASCH)
    if not found.scales:
        return {}, {}
    st.subheader(tr("One ruler for texts, judges and places"), anchor="ruler", help=ui.about("rasch", also=("logit",)))
    places = list(range(len(found.scales)))
    at = uf.pick(
        tr("Data set and scale"),
        places,
        key="rasch-scale",
        address="scale",
        name=lambda k: _scale_name(found.scales[k]),
    )
    scale = found.scales[at]
    if why := no_ruler(scale):
        st.info(ui.plain(tr("No ruler: {why}.", why=why)), icon=":material/info:")
        return {}, {}
    if text := scale_sentence(scale):
        st.markdown(ui.plain(text))
    uf.cautions(scale.warnings)
    drawn = {msg("Ruler"): ruler(scale, run_judges=uf.judges_of(info))}
    st.caption(
        tr(
            "Upwards: better texts, more severe judges and people, places that add to a score; below "
            "“scores” where each begins."
        )
    )
    ui.chart(drawn["Ruler"], key=f"rasch-ruler-{at}", info=info)
    st.caption(ui.plain(separation_words(scale)), help=ui.about("separation"))
    with speaking(SOURCE):  # as files have it
        tables = {msg("Rasch facets"): facet_frame(scale)}
    _fit(scale, facet_frame(scale), at)
    drawn |= _beside(info, [arm for arm in found.arms if arm.arm.dataset == scale.dataset and arm.places])
    return drawn, tables


def _scale_name(scale: RaschScale) -> str:
    if not scale.scores or says_its_set(scale.dataset, scale.scores):
        return scale.dataset
    return tr("{dataset} · {low} to {high}", dataset=scale.dataset, low=scale.scores[0], high=scale.scores[-1])


def _fit(scale: RaschScale, table: pd.DataFrame, at: int) -> None:
    st.markdown(tr("**How well each keeps to the model**"), help=ui.about("mean_squares"))
    uf.table(table, key=f"rasch-fit-{at}", forms={"%+.2f": ["logits", "low", "high"], "%.2f": ["infit", "outfit"]})
    items = scale.items
    st.caption(
        tr(
            "Of {items} with five reads or more, {noisy:,} are noisier than the model (a mean square, infit, "
            "above 1.5) and {tame:,} more predictable (below 0.5). A mean square is a description and no "
            "verdict.",
            items=many(items.fitted, "item"),
            noisy=items.noisy,
            tame=items.tame,
        )
    )


def facet_frame(scale: RaschScale) -> pd.DataFrame:
    """Every element of every facet: its place on the ruler, its mean squares, their usual reading."""
    rows = [_row(tr(FACETS[e.facet]), e.name, e.severity, e.severity_ci, e.fit) for e in scale.elements]
    for judge in scale.places:
        for place, fit in zip(judge.places, judge.fits, strict=True):
            rows.append(_row(tr("place"), _place(judge.name, place.position), place.logit, place.ci, fit))
    columns = [
        msg("facet"),
        msg("name"),
        msg("logits"),
        msg("low"),
        msg("high"),
        msg("reads"),
        msg("infit"),
        msg("outfit"),
        msg("usual reading"),
    ]
    return pd.DataFrame(rows, columns=columns)


def _place(judge: str, position: int) -> str:
    return tr("{judge}, position {position}", judge=judge, position=position)


def _row(facet: str, name: str, value: float, ci: tuple[float, float], fit: Fit) -> tuple[object, ...]:
    return facet, name, value, *ci, fit.n, fit.infit, fit.outfit, fit_words(fit.infit)


def _beside(info: RunInfo, arms: list[RaschArm]) -> dict[str, Chart]:
    """One arm's places by both models."""
    st.markdown(
        tr("**Places by two models**: scores as ranks, scores as names"), help=ui.about("rasch_place", also=("odds",))
    )
    if not arms:
        st.caption(tr("Needs an arm that shows the scores in several orders."))
        return {}
    by_code = {arm.code: arm for arm in arms}
    code = uf.pick(
        tr("Judge and strategy"),
        list(by_code),
        key="rasch-arm",
        address="places",
        name=lambda c: arm_name(by_code[c].arm),
    )
    arm = by_code[code]
    if text := arm_sentence(arm):
        st.markdown(ui.plain(text))
    chart = places_forest(arm)
    ui.chart(chart, key=f"rasch-places-{code}", info=info)
    st.caption(
        tr(
            "Turned from descending to ascending order, scores rise by {turn} logits {ends}, over {units}.",
            turn=number(arm.turn, "+.2f"),
            ends=interval(arm.turn_ci, "+.2f", brackets=True),
            units=many(arm.n_units, arm.unit),
        )
    )
    st.caption(tr(PLACES_ALONE))
    return {msg("Places by two models"): chart}
