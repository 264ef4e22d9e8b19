"""Views of the agreement with people: by strategy, what more orders buy, single orders."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.alignment import budget_curves, difference_forest, forest, ordering_dots, reliability_curves
from rubriclab.figures.style import Chart
from rubriclab.findings.alignment import AlignmentResult, alignment_sentence
from rubriclab.findings.alignment_advice import budget_sentence, why_no_dependability
from rubriclab.findings.alignment_arms import ArmAlignment
from rubriclab.findings.topic import setting
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.store import RunInfo


def headline(found: AlignmentResult, arm: ArmAlignment) -> None:
    uf.answer(alignment_sentence(found, arm))
    uf.metrics(*_numbers(arm))
    if arm.expected is not None:
        st.caption(
            tr(
                "With expected scores from token probabilities r is {r} ({ci}).",
                r=number(arm.expected.r, ".3f"),
                ci=interval(arm.expected.ci, ".3f"),
            )
        )
    if arm.reads > 1:
        st.caption(ui.plain(budget_sentence(arm)))


def _numbers(arm: ArmAlignment) -> list[tuple[str, str, str, str]]:
    """The judge's correlations, and what can be expected of any judge and of one rater."""
    ceiling, raters = arm.ceiling, arm.raters
    return [
        (
            tr("Linear (Pearson r)"),
            number(arm.pearson.r, ".3f"),
            interval(arm.pearson.ci, ".3f"),
            ui.about("pearson", also=("interval",)),
        ),
        (
            tr("By rank (Spearman rho)"),
            number(arm.spearman.r, ".3f"),
            interval(arm.spearman.ci, ".3f"),
            ui.about("spearman"),
        ),
        (
            tr("Ceiling of r"),
            number(ceiling.r if ceiling else None, ".3f"),
            (ceiling.why or interval(ceiling.ci, ".3f")) if ceiling else tr("one rating an item"),
            ui.about("ceiling"),
        ),
        (
            tr("One rater"),
            number(raters.leave_one_out_r if raters else None, ".3f"),
            tr("agree (alpha) {alpha}, {raters} raters", alpha=number(raters.alpha, ".2f"), raters=raters.raters)
            if raters
            else tr("one rating an item"),
            ui.about("one_rater", also=("alpha",)),
        ),
        (tr("Items"), figure(arm.n_items, ","), tr("{excluded:,} left out", excluded=arm.excluded), ui.about("used")),
    ]


def strategies(info: RunInfo, found: AlignmentResult) -> dict[str, Chart]:
    """All arms beside the humans, and every two strategies on the same items."""
    drawn: dict[str, Chart] = {}
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("By strategy"), anchor=False, help=ui.about("strategy"))
        measure = uf.toggle(
            tr("Correlation"),
            ("Pearson", "Spearman"),
            key="alignment-measure",
            address="measure",
            about=ui.about("spearman"),
        )
        drawn[msg("By strategy")] = forest(found.arms, measure="pearson" if measure == "Pearson" else "spearman")
        ui.chart(drawn["By strategy"], key="alignment-forest", info=info)
    with right:
        st.subheader(tr("Difference at equal reads"), anchor=False, help=ui.about("paired"))
        if not found.comparisons:
            st.caption(tr("Two strategies of one judge are needed to compare them."))
            return drawn
        st.caption(tr("Right of the line the first-named strategy agrees better; same items, same number of reads."))
        drawn[msg("Differences")] = difference_forest(found.comparisons)
        ui.chart(drawn["Differences"], key="alignment-differences")
    return drawn


def orders(info: RunInfo, arm: ArmAlignment, found: AlignmentResult) -> dict[str, Chart]:
    """What averaging more orders buys, and how single orders fare."""
    about = [a for a in found.arms if setting(a.arm) == setting(arm.arm)]
    left, right = st.columns(2, gap="large")
    with left:
        drawn = _more_orders(info, arm, [a for a in about if len(a.budget) > 1])
    with right:
        drawn |= _single_orders(info, arm)
    return drawn


def _more_orders(info: RunInfo, arm: ArmAlignment, mine: list[ArmAlignment]) -> dict[str, Chart]:
    st.subheader(tr("What more orders buy"), anchor=False, help=ui.about("budget"))
    if not mine:
        if arm.reads < 2 or arm.n_items < 2:
            st.caption(tr("There is no curve: {why}.", why=ui.plain(why_no_dependability(arm))))
        else:
            st.caption(tr("There is no curve: it takes two items or more that were read in full."))
        return {}
    view = uf.toggle(
        tr("Measure"),
        (msg("Dependability"), msg("r with humans")),
        key="alignment-buys",
        address="buys",
        about=ui.about("reliability"),
    )
    drawn: dict[str, Chart] = {}
    if any(arm.reliability for arm in mine):
        drawn[msg("Dependability")] = reliability_curves(mine)
    if any(arm.correlates for arm in mine):
        drawn[msg("Budget")] = budget_curves(mine)
    if view == "Dependability" and view not in drawn:
        st.caption(tr("All items have the same mean score, or none has two scores: more reads tell no items apart."))
    elif view == "Dependability":
        st.caption(tr("Of the mean over so many reads, with its interval; the line is the target."))
        ui.chart(drawn["Dependability"], key="alignment-reliability", info=info)
    elif "Budget" not in drawn:
        st.caption(tr("All items have the same score or the same rating, so no correlation is defined."))
    else:
        st.caption(
            tr(
                "The papers' curve: mean r over choices of k reads of items read in full; the band holds 95 % of the "
                "choices."
            )
        )
        ui.chart(drawn["Budget"], key="alignment-budget", info=info)
    return drawn


def _single_orders(info: RunInfo, arm: ArmAlignment) -> dict[str, Chart]:
    st.subheader(tr("Single orders"), anchor=False, help=ui.about("order_rank"))
    if len(arm.ordering_rank) < 2:
        st.caption(tr("Choose a strategy that shows every item in the same several orders."))
        return {}
    st.caption(
        tr(
            "Each order by itself against the humans, with the ranks and intervals that hold for all at once; ◆ is the "
            "usual order."
        )
    )
    drawn = {msg("Single orders"): ordering_dots(arm)}
    ui.chart(drawn["Single orders"], key="alignment-orders", info=info)
    return drawn


def frame(found: AlignmentResult) -> pd.DataFrame:
    return pd.DataFrame([_row(arm) for arm in found.arms])


def _row(arm: ArmAlignment) -> dict[str, object]:
    return {
        msg("judge"): arm.arm.judge,
        msg("data set"): arm.arm.dataset,
        msg("strategy"): arm.arm.strategy,
        msg("setting"): str(arm.arm.variant),
        **uf.with_ends("r", arm.pearson.r, arm.pearson.ci),
        **uf.with_ends("rho", arm.spearman.r, arm.spearman.ci),
        msg("items"): arm.n_items,
        msg("left out"): arm.excluded,
    }
