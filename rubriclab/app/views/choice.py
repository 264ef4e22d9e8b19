"""Views of the one-call debiaser: the curve, where it breaks even, all numbers."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_filters import OUTCOMES
from rubriclab.figures.choice import label_odds, neighbour_odds, position_odds
from rubriclab.figures.debiasing import debiasing_curve
from rubriclab.figures.style import Chart
from rubriclab.findings.choice import ChoiceModel, Level, PositionLevel
from rubriclab.findings.choice_words import choice_sentence, ends_said, odds_said, p_said
from rubriclab.findings.debiasing import DEBIASING_OF_ARMS
from rubriclab.findings.debiasing_results import BreakEven, Debiased, Debiasing, gain_sentence
from rubriclab.findings.topic import setting
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import many
from rubriclab.store import RunInfo


def even_words(even: BreakEven) -> str:
    if even.against == "fixed":
        return _usual_words(even)
    if not math.isfinite(even.calls):
        return tr(
            "No number of {strategy} calls up to {most} comes as near to the mean over all orders as one corrected call.",
            strategy=even.against,
            most=even.most_calls,
        )
    if even.calls <= 1:
        return tr(
            "One {strategy} call is as near already: against it the correction buys nothing here.",
            strategy=even.against,
        )
    return tr("One corrected call is worth {calls:.1f} {strategy} calls.", calls=even.calls, strategy=even.against)


def _usual_words(even: BreakEven) -> str:
    if not math.isfinite(even.calls):
        return tr(
            "No number of calls in the usual order up to {most} comes as near to the mean over all orders as one "
            "corrected call.",
            most=even.most_calls,
        )
    if even.calls <= 1:
        return tr("One call in the usual order is as near already: against it the correction buys nothing here.")
    return tr("One corrected call is worth {calls:.1f} calls in the usual order.", calls=even.calls)


def cures(info: RunInfo, found: Debiasing, mine: list[Debiased]) -> dict[str, Chart]:
    """Distance to the mean over all orders against calls, and the break-even in words."""
    one = mine[0]
    evens = [
        e
        for e in found.break_even
        if (e.judge, e.dataset, e.variant, e.source) == (one.judge, one.dataset, one.variant, one.source)
    ]
    gain = next(
        (
            g
            for g in found.gains
            if (g.judge, g.dataset, g.variant, g.source) == (one.judge, one.dataset, one.variant, one.source)
        ),
        None,
    )
    if gain is not None:
        uf.verdict(gain.nearer, gain_sentence(gain), ui.about("debiased"))
    claimed = [even for even in evens if not math.isnan(even.calls)]
    if claimed:
        st.markdown("\n".join(f"- {ui.plain(even_words(even))}" for even in claimed))
    elif evens:
        st.caption(
            tr(
                "It is not said to be worth so many calls: the control, one call drawn towards the mean without "
                "regard to the order, was not shown to be worse."
            )
        )
    else:
        st.caption(tr("No corrected call could be made here: the probe gave no position prior."))
    curve = debiasing_curve(mine)
    ui.chart(curve, info=info, key=f"choice-curve-{one.judge}-{one.variant}-{one.source}")
    return {msg("Calls and distance"): curve}


def frame(entries: list[Debiased]) -> pd.DataFrame:
    rows = [
        (e.method, e.calls_per_item, e.distance_to_all, *e.ci, e.r, e.n_items, e.total_calls, e.standing)
        for e in entries
    ]
    names = [
        msg("method"),
        msg("calls per item"),
        msg("distance"),
        msg("low"),
        msg("high"),
        msg("r with humans"),
        msg("items"),
        msg("calls in all"),
        msg("against the debiaser"),
    ]
    return pd.DataFrame(rows, columns=names)


def correction(info: RunInfo, model: ChoiceModel, source: str) -> tuple[dict[str, Chart], pd.DataFrame]:
    st.subheader(
        tr("One corrected call against many"), anchor=False, help=ui.about("debiased", also=("prior", "break_even"))
    )
    codes = tuple(c for c, arm in enumerate(uf.arms_of(info)) if setting(arm) == setting(model))
    found = ui.finding(info, DEBIASING_OF_ARMS, codes=codes)
    every = [e for e in found.entries if e.source == source and math.isfinite(e.distance_to_all)]
    most = max((e.n_items for e in every), default=0)
    mine = [e for e in every if 2 * e.n_items >= most]
    st.caption(
        tr(
            "The position prior of a few probe items, divided out of one call on every other item. Nearer to "
            "0 is better."
        ),
        help=tr(found.definition),
    )
    drawn: dict[str, Chart] = {}
    if mine:
        drawn = cures(info, found, mine)
    thin = [tr("{method}, {calls} calls", method=e.method, calls=e.calls_per_item) for e in every if e not in mine]
    uf.cautions(
        [tr("Not drawn, because under half of the items have them: {thin}.", thin=", ".join(thin))] if thin else [],
        found.warnings,
    )
    if every:
        with st.expander(tr("All numbers")):
            forms = {"%.3f": ["distance", "low", "high", "r with humans"]}
            uf.table(frame(every), key="choice-table", forms=forms, said=["method", "against the debiaser"])
    return drawn, frame(every)


LEFT_OUT = {**OUTCOMES, "off scale": msg("off scale"), "without probabilities": msg("without probabilities")}
"""Reads that a model does not learn from, by why."""
TERM = {"position": "odds", "label": "label_odds", "neighbour": "neighbour_odds"}
UNSEEN = {
    "no": msg("Every item was read in one order, so this cannot be told from the content."),
    "partly": msg("The orders moved too little to tell this apart from the rest."),
    "tied to score": msg("It always went with the same score, so it is part of what that score means."),
    "tied to position": msg("It always went with the same position, so the position effect contains it."),
}


def strongest(title: str, name: str, model: ChoiceModel) -> tuple[str, str, str, str]:
    """The level of an effect with the most pull: its odds, then its interval and test."""
    test = {"position": model.position_test, "label": model.label_test, "neighbour": model.neighbour_test}[name]
    by_name: dict[str, list[tuple[str, Level | PositionLevel]]] = {
        "position": [(tr("Odds at position {position}", position=v.position), v) for v in model.position],
        "label": [(tr("Odds with label {name}", name=v.name), v) for v in model.label],
        "neighbour": [(tr("Odds after score {name}", name=v.name), v) for v in model.neighbour],
    }
    known = [(where, v) for where, v in by_name[name] if math.isfinite(v.log_odds)]
    if not known or test is None:
        return (
            title,
            tr("not defined"),
            tr("not seen apart"),
            ui.about(TERM[name], tr(UNSEEN.get(str(model.identified.get(name)), ""))),
        )
    where, top = max(known, key=lambda pair: pair[1].log_odds)
    return (
        where,
        odds_said(model, top.odds, short=True),
        p_said(model, test),
        ui.about(
            TERM[name],
            tr(
                "95 % interval: {ends}. The p-value is of no effect at any level: {test}.",
                ends=ends_said(model, top.ci),
                test=tr(test.name),
            ),
        ),
    )


def headline(model: ChoiceModel) -> None:
    uf.answer(choice_sentence(model))
    uf.metrics(
        strongest(tr("Position"), "position", model),
        strongest(tr("Label"), "label", model),
        strongest(tr("Score read just before"), "neighbour", model),
        (
            tr("Pairs of reads"),
            figure(model.n_pairs, ","),
            tr("of {units}", units=many(model.n_informative, model.unit)),
            ui.about("informative_pairs"),
        ),
    )
    if model.of_typical_item:
        pooled = max(model.pooled, key=lambda level: level.log_odds)
        st.caption(
            tr(
                "Items lean to places by themselves, with a standard deviation of {leaning:.1f} in log-odds. One "
                "effect for all items would say {odds} at position {position}.",
                leaning=model.leaning,
                odds=odds_said(model, pooled.odds),
                position=pooled.position,
            )
        )
    learns = tr(
        "Of {reads} of {items} the model learns from the pairs that answered differently under different orders.",
        reads=many(model.n_reads, "read"),
        items=many(model.n_items, "item"),
    )
    left_out = ", ".join(f"{figure(n, ',')} {tr(LEFT_OUT.get(why, why))}" for why, n in model.excluded.items())
    st.caption(learns + (tr(" Left out: {reads}.", reads=left_out) if left_out else ""))


def odds(info: RunInfo, model: ChoiceModel) -> dict[str, Chart]:
    """One forest an effect; where the design cannot show it, why."""
    drawn: dict[str, Chart] = {}
    effects = (
        (msg("Position"), position_odds, model.position, "position"),
        (msg("Label"), label_odds, model.label, "label"),
        (msg("Score read just before"), neighbour_odds, model.neighbour, "neighbour"),
    )
    for place, (title, draw, levels, name) in zip(st.columns(3, gap="medium"), effects, strict=True):
        with place:
            st.markdown(f"**{tr(title)}**", help=ui.about(TERM[name]))
            if levels:
                drawn[title] = draw([model], run_judges=uf.judges_of(info))
                ui.chart(drawn[title], info=info, key=f"choice-{name}-{model.arm}-{model.source}")
            else:
                why = UNSEEN.get(str(model.identified.get(name)))
                st.caption(tr(why) if why else tr("This design cannot show it."))
    return drawn
