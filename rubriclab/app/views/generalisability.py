"""Views of reliability: what scores vary with, what more calls buy, how a budget is best spent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.generalisability import component_bars, design_curves, mix_forest
from rubriclab.figures.style import Chart
from rubriclab.findings.decision_study import Ranked, curves, ranked_mixes
from rubriclab.findings.facets import PLURAL
from rubriclab.findings.generalisability import GENERALISABILITY, best_words, study_sentence
from rubriclab.findings.generalisability_results import GStudy
from rubriclab.findings.generalisability_words import term_words
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.wording import interval, many
from rubriclab.store import RunInfo

CALLS = (*range(1, 21), 25, 30, 40, 50, 60)
NAMED = ("judge", "wording", "labels")
ORDER, SCORE = msg("put texts in order"), msg("stand by themselves")
ASSUMES = msg("""
- **Texts are a sample** of texts like these; intervals leave one out after the other. Judges, orders and
  wordings are those of the run: the intervals are not about others, and where there are fewer than five
  of a kind, none is given for what these alone do.
- **A judge, an order or a wording that is added is like those of the run**, and every added call is made
  under the same conditions. Choose “only those of this run” where no other is meant.
- **Every text meets every judge in the same orders**, unless each judge gets orders of its own.
- Effects add up, and are as large on one text as on the next, on average. Scores count as numbers.
- “, e” behind a part: noise is in it, since nothing was read twice under the same conditions.
- Parts estimated below 0 count as 0 (Brennan 2001).
""")


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """All of a run's reliability; the charts and tables to carry off."""
    studies = ui.finding(info, GENERALISABILITY).studies
    if not studies:
        st.info(tr("No reply of this run gave a score."), icon=":material/info:")
        return {}, {}
    places = list(range(len(studies)))
    at = uf.pick(tr("Whose scores"), places, key="reliability-study", address="of", name=lambda k: studies[k].name)
    study = studies[at]
    uf.answer(study_sentence(study))
    uf.cautions(study.warnings)
    drawn: dict[str, Chart] = {}
    with speaking(SOURCE):  # as files have it
        tables = {msg("Parts of the variance"): source_frame(study)}
    shown = {"Parts of the variance": source_frame(study)}
    shown["Parts of the variance"]["term"] = [term_words(one.key) for one in study.sources]
    if study.sources:
        st.subheader(tr("What scores vary with"), anchor=False, help=ui.about("variance_component"))
        drawn[msg("What scores vary with")] = component_bars(study)
        ui.chart(drawn["What scores vary with"], key=f"reliability-parts-{at}", info=info)
    if study.plans:
        more, mixes = _decision(info, study, at)
        drawn |= more
        shown[msg("Mixes")] = mix_frame(mixes)
        with speaking(SOURCE):
            tables["Mixes"] = mix_frame(mixes)
    with st.expander(tr("What this assumes")):
        st.markdown(tr(ASSUMES))
    with st.expander(tr("All numbers")):
        for name, table in shown.items():
            forms = {"%.3f": ["variance", "share", "reliability"]}
            uf.table(table, key=f"reliability-{name}-{at}", forms=forms, said=["what", "note", "against the best"])
    return drawn, tables


def _decision(info: RunInfo, study: GStudy, at: int) -> tuple[dict[str, Chart], tuple[Ranked, ...]]:
    """What more calls would buy, and the best mixes of the chosen budget."""
    st.subheader(tr("What more calls buy"), anchor=False, help=ui.about("decision_study"))
    what = tr("Ratings an item") if study.people else tr("Calls an item")
    calls = ui.slide(what, CALLS, key=f"reliability-calls-{at}", address="calls", default=10)
    absolute, fixed, own = _choices(study, at)
    st.caption(_price(info, study, calls))
    lines = curves(study, most=max(30, calls), fixed=fixed, own=own)
    drawn = {msg("What more calls buy"): design_curves(lines, calls=calls, absolute=absolute)}
    ui.chart(drawn["What more calls buy"], key=f"reliability-curves-{at}", info=info)
    mixes = ranked_mixes(study, calls, absolute=absolute, fixed=fixed, own=own)
    st.subheader(tr("{calls} an item, best spent", calls=many(calls, "call")), anchor=False, help=ui.about("best_mix"))
    st.markdown(f"**{ui.plain(best_words(study, mixes))}**")
    drawn[msg("Mixes of the budget")] = mix_forest(mixes, absolute=absolute)
    ui.chart(drawn["Mixes of the budget"], key=f"reliability-mixes-{at}", info=info)
    return drawn, mixes


def _choices(study: GStudy, at: int) -> tuple[bool, tuple[str, ...], bool]:
    """(absolute error?, fixed facets, orders of their own?)"""
    used = ui.choose(
        tr("The scores are to"),
        [ORDER, SCORE],
        key=f"reliability-use-{at}",
        address="use",
        name=tr,
        about=ui.about("dependability"),
    )
    named = [key for key in study.numbered if key in NAMED]
    fixed: list[str] = []
    if named:
        fixed = ui.choose_many(
            tr("Only those of this run, and no others"),
            named,
            key=f"reliability-fixed-{at}",
            address="only",
            name=lambda key: tr(PLURAL[key]),
            about=ui.about("fixed_facet"),
        )
    own = False
    if named and "order" in study.numbered:
        own = st.toggle(
            tr("Each gets orders of its own"),
            key=f"reliability-own-{at}",
            help=tr("Instead of the same orders for every judge, wording and label set: as many calls, more orders."),
        )
    return used == SCORE, tuple(fixed), own


SOURCE_COLUMNS = [msg("what"), msg("term"), msg("variance"), msg("share"), msg("interval"), msg("note")]


def source_frame(study: GStudy) -> pd.DataFrame:
    rows = [
        (one.name, one.key, one.variance, one.share, interval(one.share_ci, ".3f"), one.why) for one in study.sources
    ]
    return pd.DataFrame(rows, columns=SOURCE_COLUMNS)


def mix_frame(mixes: Sequence[Ranked]) -> pd.DataFrame:
    rows = [
        (
            one.plan.name,
            one.plan.calls,
            one.plan.relative,
            interval(one.plan.relative_ci, ".2f"),
            one.plan.absolute,
            interval(one.plan.absolute_ci, ".2f"),
            msg("the best") if not place else msg("not told apart") if one.open else msg("less"),
        )
        for place, one in enumerate(mixes)
    ]
    names = [
        msg("mix"),
        msg("calls"),
        msg("reliability"),
        msg("interval"),
        msg("dependability"),
        msg("interval of dependability"),
        msg("against the best"),
    ]
    return pd.DataFrame(rows, columns=names)


def _price(info: RunInfo, study: GStudy, calls: int) -> str:
    """What the budget comes to: calls for the texts of this run, and money where prices are known."""
    total = calls * study.n_items
    if study.people:
        return tr(
            "{ratings} for the {items} of this run.", ratings=many(total, "rating"), items=many(study.n_items, "item")
        )
    asked, items, one = many(total, "call"), many(study.n_items, "item"), price_of_call(info)
    if not math.isfinite(one):
        return tr("{calls} for the {items} of this run.", calls=asked, items=items)
    return tr(
        "{calls} for the {items} of this run, about {money:,.2f} at the prices of its study.",
        calls=asked,
        items=items,
        money=total * one,
    )


def price_of_call(info: RunInfo) -> float:
    """Money a call, from the run's own tokens and the mean price of its judges; NaN where one has none."""
    judges = info.provenance.get("judges", [])
    prices = [(judge.get("price_input"), judge.get("price_output")) for judge in judges]
    if not prices or any(price is None for pair in prices for price in pair):
        return math.nan
    used = ui.store().usage(info.run)
    if not used["calls"]:
        return math.nan
    into, out = (sum(pair[k] for pair in prices) / len(prices) for k in (0, 1))
    return float(into * used["tokens_in"] + out * used["tokens_out"]) / used["calls"] / 1e6
