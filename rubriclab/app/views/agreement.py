"""View of agreement beyond chance: with people, by order, and inside the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.agreement import coefficient_dots, confusion_cells, order_dots
from rubriclab.figures.style import Chart
from rubriclab.findings.agreement import AGREEMENT
from rubriclab.findings.agreement_results import AgreementResult, ArmAgreement, Coefficients, OfMeans, Panel
from rubriclab.findings.agreement_words import agreement_sentence, averaging_sentence
from rubriclab.findings.topic import setting
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.wording import interval, known, number
from rubriclab.stats.agreement_intervals import Estimated
from rubriclab.store import RunInfo


def section(info: RunInfo, code: int) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """Agreement of the arm ``code``, beside the same judge's other arms; charts and tables to carry off."""
    found = ui.finding(info, AGREEMENT)
    st.header(tr("Chance-corrected agreement"), anchor=False, help=ui.about("single_read", also=("raters_own",)))
    arm = next((one for one in found.arms if one.code == code), None)
    if arm is None:
        st.caption(tr("No item of this arm has both a rating and a score."))
        return {}, {}
    with uf.steady():
        uf.answer(agreement_sentence(arm))
        _numbers(arm)
    uf.cautions(arm.warnings)
    drawn = _charts(info, found, arm)
    with speaking(SOURCE):  # as files have it
        tables = {
            msg("Chance-corrected agreement"): frame(found),
            msg("Agreement inside the run"): between_frame(found),
        }
    with st.expander(tr("All numbers of agreement")):
        uf.table(frame(found), key="agreement-table", forms={"%.3f": ENDS})
        if found.between:
            st.caption(tr("Between judges, orders, repeats and wordings of the prompt."))
            uf.table(
                tables["Agreement inside the run"], key="agreement-between", forms={"%.3f": ENDS}, said=["between"]
            )
    return drawn, tables


def _numbers(arm: ArmAgreement) -> None:
    """What a measurement person asks for first; the others are in the table."""
    one, means, own = arm.one_read, arm.means, arm.raters_own
    people = own.one_read if own is not None else None
    uf.metrics(
        _box(tr("Exact share"), one.exact, ".0%", ui.about("exact", also=("within_one",))),
        _box(tr("Beyond chance (kappa)"), one.kappa_quadratic, ".2f", ui.about("kappa", also=("alpha_levels",))),
        _box(tr("Beyond chance (AC2)"), one.ac2, ".2f", ui.about("ac")),
        _box(tr("Of means (ICC(2,1))"), means.icc2_1, ".2f", ui.about("icc", also=("tau_b",))),
        _box(tr("Mean difference"), means.bias, "+.2f", ui.about("limits_of_agreement")),
        (
            tr("People's own (kappa)"),
            number(people.kappa_quadratic.value if people else None, ".2f"),
            _ends(people.kappa_quadratic, ".2f") if people else tr("one rating an item"),
            ui.about("raters_own"),
        ),
    )
    text = tr(
        "Exact share, kappa and AC2 are of a single read with a single rating, averaged over both; ICC "
        "and the difference (judge less people) are of the mean over reads with the mean rating."
    )
    if known(means.limit_low.value):
        text += tr(
            " 95 % of items lie between {low} and {high} points.",
            low=number(means.limit_low.value, "+.2f"),
            high=number(means.limit_high.value, "+.2f"),
        )
    st.caption(text, help=ui.about("single_read", also=("interval",)))
    if text := averaging_sentence(arm):
        st.caption(ui.plain(text))


def _box(title: str, of: Estimated, form: str, about: str) -> tuple[str, str, str, str]:
    return title, number(of.value, form), _ends(of, form), about


def _ends(of: Estimated, form: str) -> str:
    return interval(of.ci, form) if of.ci.low == of.ci.low else tr(of.why)


def _charts(info: RunInfo, found: AgreementResult, arm: ArmAgreement) -> dict[str, Chart]:
    drawn: dict[str, Chart] = {}
    beside = [one for one in found.arms if setting(one.arm) == setting(arm.arm)]
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("By strategy"), anchor=False, help=ui.about("raters_own"))
        st.caption(tr("Bars in the background: people among themselves."))
        drawn[msg("Coefficients of agreement")] = coefficient_dots(beside)
        ui.chart(drawn["Coefficients of agreement"], key="agreement-dots", info=info)
    with right:
        st.subheader(tr("Who gave what"), anchor=False, help=ui.about("confusion"))
        st.caption(tr("Items by people's rating and judge's score. Click a cell to read the judgments of its score."))
        drawn[msg("Who gave what")] = confusion_cells(arm)
        ui.chart(drawn["Who gave what"], key="agreement-cells", info=info)
    if len(arm.orderings) > 1:
        st.subheader(tr("Each order by itself"), anchor=False, help=ui.about("kappa"))
        drawn[msg("Agreement by order")] = order_dots(arm, run_judges=uf.judges_of(info))
        ui.chart(drawn["Agreement by order"], key="agreement-orders", info=info)
    return drawn


# ---------------------------------------------------------------- tables

NUMBERS = [f.name for part in (Coefficients, OfMeans) for f in fields(part)]
ENDS = [f"{name}{end}" for name in NUMBERS for end in ("", " low", " high")]


def frame(found: AgreementResult) -> pd.DataFrame:
    """Every arm, its averaged score and the raters' own, a row each."""
    return pd.DataFrame([row for arm in found.arms for row in _rows(arm)])


def _rows(arm: ArmAgreement) -> Iterator[dict[str, object]]:
    about = {msg("judge"): arm.arm.judge, msg("data set"): arm.arm.dataset, msg("strategy"): arm.arm.strategy}
    about[msg("setting")] = str(arm.arm.variant)
    yield {**about, msg("of"): tr("single reads, means"), msg("items"): arm.n_items, **_cells(arm.one_read, arm.means)}
    yield {**about, "of": tr("mean at its nearest option"), "items": arm.n_items, **_cells(arm.averaged, OfMeans())}
    if arm.raters_own is not None:
        yield {**about, "of": tr("people"), "items": arm.raters_own.n_items, **_panel_cells(arm.raters_own)}
    for order in arm.orderings:
        name = tr("order {order}", order=" ".join(map(str, order.ordering)))
        yield {**about, "of": name, "items": order.n_items, **_cells(order.one_read, order.means)}


PANELS = {"judges": msg("judges"), "orders": msg("orders"), "repeats": msg("repeats"), "prompts": msg("prompts")}
"""What the members of a panel are, by its kind."""


def between_frame(found: AgreementResult) -> pd.DataFrame:
    """Every panel of the run, a row each."""
    return pd.DataFrame(
        [
            {
                msg("between"): PANELS.get(one.kind, one.kind),
                "judge": one.judge,
                "data set": one.dataset,
                "strategy": one.strategy,
                "setting": one.variant,
                "items": one.panel.n_items,
                **_panel_cells(one.panel),
            }
            for one in found.between
        ]
    )


def _panel_cells(panel: Panel) -> dict[str, float]:
    return _cells(panel.one_read, panel.means)


def _cells(one: Coefficients, means: OfMeans) -> dict[str, float]:
    cells: dict[str, float] = {}
    for part in (one, means):
        for f in fields(part):
            of = getattr(part, f.name)
            cells |= uf.with_ends(f.name, of.value, of.ci)
    return cells
