"""Words and tables of the position findings, and the judgments behind a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar, cast

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import browse
from rubriclab.figures.style import Chart
from rubriclab.findings.effects import words
from rubriclab.findings.ordering import cost_said
from rubriclab.findings.position import position_sentence
from rubriclab.findings.position_results import NoiseFloor, PositionArm
from rubriclab.findings.shift import Single, mean_words, one_words
from rubriclab.model import STATUSES, Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import beyond_noise, beyond_noise_parts, interval, known, many, number, p_value
from rubriclab.store import RunInfo

T = TypeVar("T")

NO_VERDICT = msg(
    "A p is no verdict. Each of these tests comes out below 0.05 for one in twenty judges that the "
    "order does not move, whatever else was tested; the verdicts above hold for all that is said of "
    "a judge together."
)
MOST = 100
"""Judgments of a cell that are listed below it."""
ANY = ""
"""No choice among the parts of a cell. None would not do: a browser shows it as nothing chosen."""


def table_frame(arm: PositionArm) -> pd.DataFrame:
    """The score × position table as a long table: one row a cell."""
    table = arm.table
    rows = [
        (score, position, table.counts[s, p], table.exposure[s, p], table.share[s, p], *table.ci[s][p])
        for s, score in enumerate(table.scores)
        for p, position in enumerate(table.positions)
    ]
    names = ["score", "position", "chosen", "shown", "share", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def cell_browser(info: RunInfo, code: int, arm: Arm, event: Any, *, key: str) -> None:
    """The judgments of the clicked (or chosen) cell, each with its prompt, reply and ordering."""
    clicked = [p["customdata"] for p in event.selection.points if p.get("customdata")] if event else []
    wanted = (int(clicked[0][0]), int(clicked[0][1])) if clicked else (None, None)
    tag = f"{key}-{code}-{wanted}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = _part(tr("Score"), arm.scores, wanted[0], key=f"{tag}-score")
        position = _part(tr("Position"), range(1, arm.n_positions + 1), wanted[1], key=f"{tag}-position")
        status = _part(tr("Outcome"), STATUSES, None, key=f"{tag}-status")
    if score is None and position is None and status is None:
        st.caption(tr("Click a cell, or choose a score, a position or an outcome."))
        return
    frame = ui.store().judgments_behind(info.run, arm=code, score=score, position=position, status=status, limit=MOST)
    listed = many(len(frame), "judgment")
    st.caption(tr("The first {judgments}.", judgments=listed) if len(frame) == MOST else f"{listed}.")
    browse(info, frame, key=tag)


def _part(label: str, options: Iterable[T], first: T | None, *, key: str) -> T | None:
    """One of ``options`` or any; it starts where the clicked cell says."""
    offered: list[T | str] = [ANY, *options]
    chosen = st.selectbox(
        label,
        offered,
        index=0 if first is None else offered.index(first),
        key=key,
        format_func=lambda o: tr("any") if o == ANY else tr(str(o)),
    )
    return None if chosen == ANY else cast(T, chosen)


def headline(arm: PositionArm) -> None:
    """The answer first: in words, then in score points."""
    shift, single = arm.shift, arm.shift.single
    uf.answer(position_sentence(arm))
    pull = shift.pulls[0]
    order, below = _single(single)
    uf.metrics(
        (
            tr("Ascending less descending"),
            _points(shift.ascending, "+.2f"),
            interval(shift.ascending_ci, "+.2f"),
            ui.about("order_shift", also=("sesoi", "expected")),
        ),
        (
            tr("Highest less lowest order"),
            _points(shift.extremes),
            interval(shift.extremes_ci, ".2f"),
            ui.about("extremes"),
        ),
        (
            tr("Highest score first"),
            _points(pull.value, "+.2f"),
            interval(pull.ci, "+.2f"),
            ui.about("place_pull", also=("simultaneous",)),
        ),
        (tr("Single score, other order"), order, below, ui.about("single_shift")),
    )
    _read_of(arm)


def _read_of(arm: PositionArm) -> None:
    """What the numbers above rest on."""
    shift = arm.shift
    choice = (
        tr(
            " From expected scores; from choices alone {points} ({ends}).",
            points=_points(shift.by_choice, "+.2f"),
            ends=interval(shift.by_choice_ci, "+.2f"),
        )
        if shift.outcome == "expected"
        else ""
    )
    st.caption(
        tr(
            "Score points. 95 % intervals over {units}; {used:,} of {all:,} judgments read.{choice}",
            units=many(arm.n_units, arm.unit),
            used=arm.n_used,
            all=arm.n_used + arm.n_excluded,
            choice=choice,
        ),
        help=ui.about("read", also=("interval", "mass")),
    )


def answers(arm: PositionArm) -> None:
    """Both questions with their verdicts; their intervals hold at once, so they are wider."""
    shift = arm.shift
    told = (
        (tr("Does the order move the mean score?"), shift.mean, mean_words(shift)),
        (tr("Does the order move single scores?"), shift.one, one_words(shift)),
    )
    for place, (question, found, text) in zip(st.columns(2), told, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{question}** {uf.badge(found.verdict)}")
            st.markdown(ui.plain(text))
            st.caption(ui.plain(words(found)), help=ui.about("sesoi"))


def _single(single: Single) -> tuple[str, str]:
    """How far another order moves a single score, and what stands below it."""
    if not single.source:
        return _points(single.other), tr("{ends}; noise included", ends=interval(single.other_ci, ".2f"))
    shown, measured = beyond_noise_parts(single.excess, ".2f")
    value = tr("{value} points", value=shown) if known(single.excess) else shown
    return value, "; ".join(filter(None, (interval(single.excess_ci, ".2f"), tr("noise taken out"), measured)))


def _points(value: float, form: str = ".2f") -> str:
    return tr("{value} points", value=number(value, form))


def where_it_picks(cells: Chart, key: str) -> Any:
    """The table of scores and positions; what was clicked in it."""
    st.subheader(tr("Where it picks"), anchor=False, help=ui.about("table", also=("ordering",)))
    st.caption(tr("Score × position; ● beyond chance. Click a cell to read its judgments."))
    event = ui.chart(cells, key=key, select=True)
    if event and event.selection.points:
        st.markdown(tr(":material/arrow_downward: [Read this cell's judgments](#cell-judgments)"))
    return event


def how_strong(arm: PositionArm) -> None:
    """The sizes of what position does, then whether it is chance."""
    about = ui.about("v", also=("v_interval", "v_noise", "bias_cost", "average_effect", "any_order", "chi2", "holm"))
    st.subheader(tr("How strong, and is it chance?"), anchor=False, help=about)
    _strength(arm)
    _tests(arm)


def _strength(arm: PositionArm) -> None:
    """V and Bias Cost without noise, and the papers' numbers beside them."""
    where, cost, clean = arm.position, arm.bias_cost, arm.bias_cost.without_noise
    numbers = pd.DataFrame(
        [
            (
                tr("Uneven picking (Cramér's V)"),
                number(where.v, ".3f"),
                interval(where.v_ci, ".2f"),
                tr(
                    "{measured} (noise alone {noise})",
                    measured=number(where.cramers_v, ".3f"),
                    noise=number(where.v_from_noise, ".2f"),
                ),
            ),
            (
                tr("Bias Cost, default order"),
                cost_said(clean.default, reason=False),
                interval(clean.default_ci, ".1f"),
                cost_said(cost.default.cost, reason=False),
            ),
            (
                tr("Bias Cost, best order"),
                cost_said(clean.best, reason=False),
                interval(clean.best_ci, ".1f"),
                cost_said(cost.best.cost, reason=False),
            ),
        ],
        columns=[tr("Strength"), tr("Without noise"), tr("95 % interval"), tr("As in the paper")],
    )
    st.table(numbers.set_index(tr("Strength")))
    if cost.missing:
        st.caption(ui.plain(tr("Bias Cost {missing}.", missing=cost.missing)))


def _tests(arm: PositionArm) -> None:
    """Both tests, the papers' chi-square beside them, and what this run could have seen."""
    where = arm.position
    any_order = where.any_order
    rows = [
        (tr("A common direction"), where.test.name, where.test.p, where.p_holm, where.test.note),
        (tr("Any sensitivity to order"), any_order.name, any_order.p, where.any_order_p_holm, any_order.note),
        (
            tr("Evenness as in the paper (chi²)"),
            tr("chi-square test (chi² {chi2}, {df} degrees of freedom)", chi2=number(where.chi2, ".1f"), df=where.df),
            where.chi2_p,
            float("nan"),
            tr("Takes the reads of one item as independent; not a valid test."),
        ),
    ]
    written = [
        (question, ui.plain(_in_words(name)), p_value(p, sign=False), p_value(holm, sign=False))
        for question, name, p, holm, _ in rows
    ]
    columns = [tr("Question"), tr("Test"), tr("Chance alone (p)"), tr("For all tests at once (Holm)")]
    st.table(pd.DataFrame(written, columns=columns).set_index(columns[0]))
    st.caption(tr(NO_VERDICT))
    for question, *_, note in rows:
        if note:
            st.caption(ui.plain(f"{question}: {tr(note)}"))
    st.caption(" ".join(_reach(arm, where.n_tests)), help=ui.about("visible", also=("power", "interval")))
    if arm.noise_floor is not None:
        st.caption(_floor_words(arm.noise_floor), help=ui.about("noise_floor", also=("within_sd",)))


def _reach(arm: PositionArm, tests: int) -> Iterator[str]:
    """What the tests hold for and what they could see; nothing of what is not known."""
    if tests:
        yield tr("The last column holds for {tests} of each kind of this judge at once.", tests=many(tests, "test"))
    yield tr("Intervals resample {units}.", units=many(arm.n_units, arm.unit))
    visible = arm.smallest_visible_effect
    if known(visible.share):
        yield tr(
            "With 80 % power this run could see a departure of {points} percentage points at one position (an "
            "unevenness, V, of about {v}).",
            points=number(100 * visible.share, ".1f"),
            v=number(visible.v, ".2f"),
        )


_PLAIN_TESTS = {"Hotelling's T²": msg("all positions at once (Hotelling's T²)")}
"""Tests whose names say nothing to whoever has not met them."""


def _in_words(test: str) -> str:
    return tr(_PLAIN_TESTS.get(test, test))


def _floor_words(floor: NoiseFloor) -> str:
    ends = interval(tuple(100 * end for end in floor.excess_ci), ".0f")
    return tr(
        "Noise floor, from the reads in {strategy} order: two reads of one item in one order differ "
        "{own} of the time; across orders {reordered}, so the order itself adds {excess}; 95 % interval "
        "{ends}.",
        strategy=floor.strategy,
        own=number(floor.own, ".0%"),
        reordered=number(floor.reordered, ".0%"),
        excess=beyond_noise(100 * floor.excess, ".0f", tr("points of a hundred")),
        ends=ends,
    )
