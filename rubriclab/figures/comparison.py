"""Charts of pairwise and list-wise results. Every name is a user's text and is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

import numpy as np

from rubriclab.figures.comparison_names import judge_names as judge_names
from rubriclab.figures.comparison_names import names as _names
from rubriclab.figures.marks import Drawing, Mark, folded, verdict_said
from rubriclab.figures.style import (
    ACCENT,
    EVEN_LINE,
    OVER,
    UNDER,
    Behind,
    Chart,
    Look,
    looks_of,
    new_figure,
    once,
    with_behind,
)
from rubriclab.findings.comparison import ComparisonResult
from rubriclab.findings.comparison_cells import Point
from rubriclab.findings.comparison_judge import JudgeComparison
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import number, p_value, plural
from rubriclab.stats.comparison import Parabola
from rubriclab.stats.inference import Interval

Measure = Literal["pc", "pf"]
_PC = msg("Position consistency (PC)")
_TITLES = {"pc": _PC, "pf": msg("Preference fairness (PF)")}
_PF = msg("PF (primacy < 0 < recency)")


@once
def advantage_bars(result: ComparisonResult) -> Chart:
    """How far the first place wins by judge, with the band of what is of no interest."""
    marks = [
        Mark(
            row,
            judge.first_place.effect.estimate,
            judge.first_place.effect.interval,
            _advantage_hover(judge),
            _behind(judge),
        )
        for row, judge in enumerate(result.judges)
    ]
    drawing = Drawing(x=tr("Wins of the first place less wins of the last"), height=110 + 38 * max(len(marks), 1))
    drawing.bars(marks, color=[UNDER if mark.value < 0 else OVER for mark in marks])
    drawing.rows(_names(result.judges))
    sesoi = max((judge.first_place.effect.sesoi for judge in result.judges), default=0.1)
    ends = [abs(end) for mark in marks for end in (mark.value, *mark.interval) if np.isfinite(end)]
    reach = 1.1 * max([2 * sesoi, *ends])
    drawing.figure.update_xaxes(range=[-reach, reach])
    drawing.level(x=0)
    drawing.figure.add_vrect(x0=-sesoi, x1=sesoi, line_width=0, fillcolor="gray", opacity=0.15)
    words = "; ".join(
        tr(
            "{judge} {advantage} ({low} to {high}, at {confidence:.1%}), {verdict}",
            judge=judge.judge,
            advantage=_number(mark.value),
            low=_number(mark.interval[0]),
            high=_number(mark.interval[1]),
            confidence=judge.first_place.effect.confidence,
            verdict=verdict_said(judge.first_place.effect.verdict),
        )
        for judge, mark in zip(result.judges, marks, strict=True)
    )
    return drawing.chart(
        tr(
            "Advantage of the first place with its interval; of no interest within {sesoi:g}: {words}.",
            sesoi=sesoi,
            words=words or tr("none"),
        )
    )


def _advantage_hover(judge: JudgeComparison) -> str:
    first, shown = judge.first_place, judge.first_place.effect
    return tr(
        "{judge}<br>{advantage} ({low} to {high}): {verdict}<br>{comparisons} comparisons, {units} {things}",
        judge=escape(judge.judge),
        advantage=_number(shown.estimate),
        low=_number(shown.low),
        high=_number(shown.high),
        verdict=verdict_said(shown.verdict),
        comparisons=first.comparisons,
        units=first.units,
        things=plural(first.unit, 2),
    )


@once
def consistency_bars(result: ComparisonResult) -> Chart:
    """PC of each judge with its 95 % interval; the number in the hover."""
    return _bars(result.judges, "pc")


@once
def fairness_bars(result: ComparisonResult) -> Chart:
    """PF of each judge with its 95 % interval: left of 0 primacy, right of 0 recency."""
    return _bars(result.judges, "pf")


def _bars(judges: Sequence[JudgeComparison], measure: Measure) -> Chart:
    marks: list[Mark] = []
    for row, judge in enumerate(judges):
        interval: Interval = getattr(judge, f"{measure}_ci")
        value = float(getattr(judge, measure))
        marks.append(Mark(row, value, interval, _hover(judge, interval), _behind(judge)))
    sides = [UNDER if mark.value < 0 else OVER for mark in marks]
    drawing = Drawing(x=tr(_TITLES[measure]), height=110 + 38 * max(len(judges), 1))
    drawing.bars(marks, color=ACCENT if measure == "pc" else sides)
    drawing.rows(_names(judges))
    if measure == "pc":
        drawing.figure.update_xaxes(range=[0, 1.02], tickformat=".0%")
    else:
        ends = [abs(end) for mark in marks for end in (mark.value, *mark.interval)]
        reach = 1.1 * max([0.1, *(end for end in ends if np.isfinite(end))])
        drawing.figure.update_xaxes(range=[-reach, reach], title_text=tr(_PF))
        drawing.level(x=0)
    words = "; ".join(
        tr(
            "{judge} {measured} ({low} to {high})",
            judge=judge.judge,
            measured=_number(mark.value),
            low=_number(mark.interval[0]),
            high=_number(mark.interval[1]),
        )
        for judge, mark in zip(judges, marks, strict=True)
    )
    title = tr(_TITLES[measure])
    return drawing.chart(
        tr("{title} of each judge with 95 % interval: {words}.", title=title, words=words or tr("none"))
    )


@once
def pc_against_pf(result: ComparisonResult, *, run_judges: Sequence[str] = ()) -> Chart:
    """Each judge's PF over its PC (large), with its cells behind it (small)."""
    looks = _looks(result.judges, run_judges)
    drawing = Drawing(x=tr(_PC), y=tr(_PF), height=400)
    for index, (judge, name) in enumerate(zip(result.judges, _names(result.judges), strict=True)):
        behind, group, look = _behind(judge), str(index), looks[index]
        cells = [
            Mark(
                cell.pc,
                cell.pf,
                hover=tr(
                    "{cell}<br>PC {pc:.2f}, PF {pf:+.2f}",
                    cell=escape(f"{cell.candidate}, {cell.task}"),
                    pc=cell.pc,
                    pf=cell.pf,
                ),
                behind=behind,
            )
            for cell in judge.cells
        ]
        small = {"size": 5, "opacity": 0.25, "symbol": look.symbol}
        drawing.dots(cells, color=look.color, upright=True, marker=small, legendgroup=group)
        whole = Mark(judge.pc, judge.pf, hover=tr("PC {pc:.3f}, PF {pf:+.3f}", pc=judge.pc, pf=judge.pf), behind=behind)
        large = {"size": 13, "symbol": look.symbol, "line": {"width": 1.5, "color": EVEN_LINE}}
        drawing.dots([whole], name=name, color=look.color, upright=True, marker=large, legendgroup=group)
    drawing.level(y=0)
    drawing.figure.update_xaxes(range=[-0.03, 1.03])
    words = "; ".join(
        tr("{judge} PC {pc}, PF {pf}", judge=j.judge, pc=_number(j.pc), pf=_number(j.pf)) for j in result.judges
    )
    return drawing.chart(tr("PF against PC, one large point a judge: {words}.", words=words or tr("none")))


@once
def against_win_rate(
    judges: Sequence[JudgeComparison],
    *,
    measure: Measure = "pc",
    x: Literal["owr", "gap"] = "owr",
    run_judges: Sequence[str] = (),
) -> Chart:
    """PC or PF of each cell against its candidate's overall win rate, or the quality gap.

    Against the win rate each judge's fitted parabola is drawn over the range of its points.
    """
    title = tr("Overall win rate") if x == "owr" else tr("Quality gap |win rate − 1/p|")
    drawing = Drawing(x=title, y=tr(_TITLES[measure]), height=400)
    names, looks = _names(judges), _looks(judges, run_judges)
    for index, (judge, look) in enumerate(zip(judges, looks, strict=True)):
        known = [point for point in judge.points if np.isfinite(point.owr)]
        drawing.dots(
            [_cell_mark(judge, point, getattr(point, x), getattr(point, measure)) for point in known],
            color=look.color,
            upright=True,
            marker={"size": 6, "opacity": 0.45, "symbol": look.symbol},
            name=names[index],
            legendgroup=str(index),
        )
        fit = judge.pc_parabola if measure == "pc" else judge.pf_parabola
        if x == "owr" and np.isfinite(fit.curvature):
            reach = (min(p.owr for p in known), max(p.owr for p in known))
            _fitted(drawing, fit, reach, names[index], str(index), look)
    drawing.figure.update_xaxes(range=[-0.03, 1.03])  # both are shares
    if measure == "pc":
        drawing.figure.update_yaxes(range=[-0.03, 1.03])
    told = {"title": tr(_TITLES[measure])}
    told["words"] = "; ".join(_parabola_words(judge, measure) for judge in judges) or tr("No judge")
    if x == "owr":
        return drawing.chart(tr("{title} against overall win rate by cell. {words}.", **told))
    return drawing.chart(tr("{title} against quality gap |win rate − 1/p| by cell. {words}.", **told))


def _cell_mark(judge: JudgeComparison, cell: Point, x: float, y: float) -> Mark:
    name = escape(f"{cell.candidate}, {cell.task}")
    return Mark(x, y, hover=tr("{name}<br>{x:.2f}, {y:.2f}", name=name, x=x, y=y), behind=_behind(judge))


def _fitted(drawing: Drawing, fit: Parabola, reach: tuple[float, float], name: str, group: str, look: Look) -> None:
    """A judge's parabola over the win rates of its points."""
    grid = np.linspace(*reach, 60)
    away = grid - fit.centre
    drawing.figure.add_scatter(
        x=grid.tolist(),
        y=(fit.level + fit.slope * away + fit.curvature * away**2).tolist(),
        mode="lines",
        line={"color": look.color, "width": 2.5, "dash": look.dash},
        legendgroup=group,
        showlegend=False,
        name=escape(name),
        hovertemplate=tr(
            "%{{fullData.name}}: curvature {curvature:+.2f}, R² {r_squared:.2f}<extra></extra>",
            curvature=fit.curvature,
            r_squared=fit.r2,
        ),
    )


def _parabola_words(judge: JudgeComparison, measure: Measure) -> str:
    fit = judge.pc_parabola if measure == "pc" else judge.pf_parabola
    if not np.isfinite(fit.curvature):
        return tr("{judge}: {n} points, too few for a parabola", judge=judge.judge, n=fit.n)
    ends = fit.by_chance
    return tr(
        "{judge}: {n} points, curvature {curvature}, by chance alone {low} to {high} ({p})",
        judge=judge.judge,
        n=fit.n,
        curvature=_number(fit.curvature),
        low=_number(ends.low),
        high=_number(ends.high),
        p=p_value(fit.test.p),
    )


@once
def task_radar(result: ComparisonResult, *, run_judges: Sequence[str] = ()) -> Chart:
    """PC by task, one closed line a judge; a task that a judge lacks is a gap."""
    tasks = sorted({group.name for judge in result.judges for group in judge.by_task})
    figure = new_figure(height=430)
    names = judge_names(result.judges)
    around = [folded(task, 13) for task in (*tasks, *tasks[:1])]
    looks = _looks(result.judges, run_judges)
    for index, (judge, look) in enumerate(zip(result.judges, looks, strict=True)):
        by_task = {group.name: group.pc for group in judge.by_task}
        figure.add_scatterpolar(
            r=[by_task.get(task, float("nan")) for task in (*tasks, *tasks[:1])],
            theta=around,
            name=names[index],
            line={"color": look.color, "width": 2, "dash": look.dash},
            marker={"symbol": look.symbol, "size": 7},
            hovertemplate="%{fullData.name}<br>%{theta}: %{r:.2f}<extra></extra>",
        )
    figure.update_layout(
        polar={
            "bgcolor": "rgba(0,0,0,0)",
            "radialaxis": {
                "range": [0, 1],
                "gridcolor": "rgba(128,128,128,0.3)",
                "angle": 90,
                "tickfont": {"size": 10},
            },
            "angularaxis": {"gridcolor": "rgba(128,128,128,0.3)"},
        },
        margin={"l": 84, "r": 84, "t": 40, "b": 40},
    )
    words = "; ".join(
        f"{judge.judge}: " + ", ".join(f"{group.name} {_number(group.pc)}" for group in judge.by_task)
        for judge in result.judges
    )
    behind: dict[int, list[Behind | None]] = {
        index: [_behind(judge) for _ in around] for index, judge in enumerate(result.judges)
    }
    return with_behind(figure, tr("Position consistency by task. {words}.", words=words or tr("No judge")), behind)


def _looks(judges: Sequence[JudgeComparison], run_judges: Sequence[str]) -> list[Look]:
    return looks_of([judge.judge for judge in judges], run_judges)


def _behind(judge: JudgeComparison) -> Behind:
    return Behind(f"{judge.judge} · {judge.dataset} · {judge.strategy}", arm=judge.code)


def _hover(judge: JudgeComparison, interval: Interval) -> str:
    used = judge.usable
    return tr(
        "{judge}<br>PC {pc} ± {pc_sd}, PF {pf}<br>95 % interval {low} to {high}<br>"
        "{series} comparisons, {unreadable} unreadable",
        judge=escape(judge.judge),
        pc=_number(judge.pc),
        pc_sd=_number(judge.pc_sd),
        pf=_number(judge.pf),
        low=_number(interval.low),
        high=_number(interval.high),
        series=used.series,
        unreadable=used.unreadable,
    )


def _number(value: float) -> str:
    return number(value, ".3f", unknown=tr("not known"))
