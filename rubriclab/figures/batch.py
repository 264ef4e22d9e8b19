"""Pictures of responses scored together: by place, behind which response, beside the single call."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale, listed, verdict_said
from rubriclab.figures.style import DIVERGING, Behind, Chart, looks_of, once
from rubriclab.findings.batch_results import ArmBatch, BeforeCell
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number
from rubriclab.stats.verdict import Effect

CELL = 46
"""Height of a heatmap row in pixels: a comfortable touch target."""
FEW = 3
"""Scores below which a cell is left blank: their mean is theirs alone."""


@once
def place_dots(arm: ArmBatch, *, run_judges: Sequence[str] = ()) -> Chart:
    """Points from the responses' own means by place; the shaded band is too small to matter."""
    drawing = Drawing(x=tr("Points from the own mean"), height=110 + 34 * arm.size)
    drawing.room(arm.places[0].shift.sesoi if arm.places else 0.1)
    known = [one for one in arm.places if np.isfinite(one.shift.estimate)]
    drawing.dots(
        [
            Mark(
                one.place - 1,
                one.shift.estimate,
                one.shift.interval,
                tr(
                    "Place {place}: {estimate:+.2f} points<br>simultaneous interval {interval}<br>{scores:,} scores, "
                    "{verdict}",
                    place=one.place,
                    estimate=one.shift.estimate,
                    interval=interval(one.shift.interval, "+.2f"),
                    scores=one.scores,
                    verdict=verdict_said(one.shift.verdict),
                ),
                _behind(arm, one.place),
            )
            for one in known
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([tr("Place {place}", place=one.place) for one in arm.places])
    told = [tr("place {place} {shift:+.2f}", place=one.place, shift=one.shift.estimate) for one in known]
    return drawing.chart(
        tr("Points by place in the batch for {judge}: {told}.", judge=arm.arm.judge, told=listed(told))
    )


@once
def before_heatmap(arm: ArmBatch) -> Chart:
    """Mean shift by what the response just before gets alone (rows) and by place (columns)."""
    names, table, cells = _table(arm)
    reach = max(float(np.nanmax(np.abs(table), initial=0.0)), 0.05)
    drawing = Drawing(x=tr("Place in the batch"), height=130 + CELL * max(1, len(names)))
    drawing.cells(
        table,
        Scale(DIVERGING, -reach, reach),
        text=lambda r, c: number(table[r, c], "+.2f", unknown=""),
        hover=lambda r, c: _hover(names[r], c + 1, cells.get((r, c))),
        behind=lambda r, c: _behind(arm, c + 1) if (r, c) in cells else None,
        size=11,
    )
    drawing.rows(names)
    drawing.figure.update_xaxes(dtick=1, range=[0.5, arm.size + 0.5], showgrid=False)
    drawing.figure.update_layout(showlegend=False)
    title = tr("Shift of scores by the response just before and by place for {judge}", judge=arm.arm.judge)
    if not np.isfinite(table).any():
        return drawing.chart(tr("{title}: nothing to show.", title=title))
    row, column = np.unravel_index(int(np.nanargmax(np.abs(table))), table.shape)
    return drawing.chart(
        tr(
            "{title}: largest {shift:+.2f} points, {name} at place {place}.",
            title=title,
            shift=table[row, column],
            name=names[row],
            place=column + 1,
        )
    )


def _table(arm: ArmBatch) -> tuple[list[str], np.ndarray, dict[tuple[int, int], BeforeCell]]:
    rows: list[int | None] = [None, *sorted(arm.arm.scores, reverse=True)]
    names = [tr("nothing before"), *(tr("after a {score}", score=score) for score in rows[1:])]
    table = np.full((len(rows), arm.size), np.nan)
    cells = {}
    for cell in arm.before:
        at = rows.index(cell.before), cell.place - 1
        if cell.scores >= FEW:
            table[at] = cell.shift
            cells[at] = cell
    return names, table, cells


def _hover(name: str, place: int, cell: BeforeCell | None) -> str:
    if cell is None:
        return tr("{name}, place {place}: fewer than {few} scores", name=name, place=place, few=FEW)
    return tr(
        "{name}, place {place}: {shift:+.2f} points<br>{scores:,} scores",
        name=name,
        place=place,
        shift=cell.shift,
        scores=cell.scores,
    )


def _behind(arm: ArmBatch, place: int) -> Behind:
    return Behind(tr("{judge}, place {place}", judge=arm.arm.judge, place=place), arm=arm.code, position=place)


@once
def effect_forest(arm: ArmBatch, *, run_judges: Sequence[str] = ()) -> Chart:
    """Drift, neighbour and company, each with its interval; the band is too small to matter."""
    rows: list[tuple[str, Effect]] = [
        (tr("Last place less first"), arm.drift),
        (tr("A point more just before"), arm.contrast),
        (tr("… as people rate it"), arm.contrast_people),
    ]
    if arm.single is not None:
        rows.append((tr("Together less alone"), arm.single.level))
    drawing = Drawing(x=tr("Points"), height=110 + 36 * len(rows))
    drawing.room(arm.drift.sesoi)
    known = [(k, name, one) for k, (name, one) in enumerate(rows) if np.isfinite(one.estimate)]
    drawing.dots(
        [
            Mark(
                k,
                one.estimate,
                one.interval,
                tr(
                    "{name}: {estimate} {unit}<br>{confidence:.3g} % interval {interval}<br>{verdict}",
                    name=escape(name),
                    estimate=number(one.estimate, "+.2f"),
                    unit=tr(one.unit),
                    confidence=100 * one.confidence,
                    interval=interval(one.interval, "+.2f"),
                    verdict=verdict_said(one.verdict),
                ),
                Behind(tr("{judge}, all of this arm", judge=arm.arm.judge), arm=arm.code),
            )
            for k, name, one in known
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([name for name, _ in rows])
    told = [f"{name} {number(one.estimate, '+.2f')} ({verdict_said(one.verdict)})" for _, name, one in known]
    return drawing.chart(tr("What a batch does to {judge}'s scores: {told}.", judge=arm.arm.judge, told=listed(told)))
