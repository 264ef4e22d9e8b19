"""Pictures of responses scored together: by place, behind which response, beside the single call."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale
from rubriclab.figures.style import DIVERGING, Behind, Chart, looks_of
from rubriclab.findings.batch_results import ArmBatch, BeforeCell
from rubriclab.model.wording import interval, number
from rubriclab.stats.verdict import Effect

CELL = 46
"""Height of a heatmap row in pixels: a comfortable touch target."""
FEW = 3
"""Scores below which a cell is left blank: their mean is theirs alone."""


def place_dots(arm: ArmBatch, *, run_judges: Sequence[str] = ()) -> Chart:
    """Points from the responses' own means by place; the shaded band is too small to matter."""
    drawing = Drawing(x="Points from the own mean", height=110 + 34 * arm.size)
    drawing.room(arm.places[0].shift.sesoi if arm.places else 0.1)
    known = [one for one in arm.places if np.isfinite(one.shift.estimate)]
    drawing.dots(
        [
            Mark(
                one.place - 1,
                one.shift.estimate,
                one.shift.interval,
                f"Place {one.place}: {one.shift.estimate:+.2f} points<br>simultaneous interval "
                f"{interval(one.shift.interval, '+.2f')}<br>{one.scores:,} scores, {one.shift.verdict}",
                Behind(f"{arm.arm.judge}, place {one.place}", arm=arm.code, position=one.place),
            )
            for one in known
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([f"Place {one.place}" for one in arm.places])
    listed = "; ".join(f"place {one.place} {one.shift.estimate:+.2f}" for one in known)
    return drawing.chart(f"Points by place in the batch for {arm.arm.judge}: {listed or 'nothing to show'}.")


def before_heatmap(arm: ArmBatch) -> Chart:
    """Mean shift by what the response just before gets alone (rows) and by place (columns)."""
    names, table, cells = _table(arm)
    reach = max(float(np.nanmax(np.abs(table), initial=0.0)), 0.05)
    drawing = Drawing(x="Place in the batch", height=130 + CELL * max(1, len(names)))
    drawing.cells(
        table,
        Scale(DIVERGING, -reach, reach),
        text=lambda r, c: f"{table[r, c]:+.2f}" if np.isfinite(table[r, c]) else "",
        hover=lambda r, c: _hover(names[r], c + 1, cells.get((r, c))),
        behind=lambda r, c: _behind(arm, c + 1) if (r, c) in cells else None,
        size=11,
    )
    drawing.rows(names)
    drawing.figure.update_xaxes(dtick=1, range=[0.5, arm.size + 0.5], showgrid=False)
    drawing.figure.update_layout(showlegend=False)
    title = f"Shift of scores by the response just before and by place for {arm.arm.judge}"
    if not np.isfinite(table).any():
        return drawing.chart(f"{title}: nothing to show.")
    row, column = np.unravel_index(int(np.nanargmax(np.abs(table))), table.shape)
    return drawing.chart(f"{title}: largest {table[row, column]:+.2f} points, {names[row]} at place {column + 1}.")


def _table(arm: ArmBatch) -> tuple[list[str], np.ndarray, dict[tuple[int, int], BeforeCell]]:
    rows: list[int | None] = [None, *sorted(arm.arm.scores, reverse=True)]
    names = ["nothing before", *(f"after a {score}" for score in rows[1:])]
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
        return f"{name}, place {place}: fewer than {FEW} scores"
    return f"{name}, place {place}: {cell.shift:+.2f} points<br>{cell.scores:,} scores"


def _behind(arm: ArmBatch, place: int) -> Behind:
    return Behind(f"{arm.arm.judge}, place {place}", arm=arm.code, position=place)


def effect_forest(arm: ArmBatch, *, run_judges: Sequence[str] = ()) -> Chart:
    """Drift, neighbour and company, each with its interval; the band is too small to matter."""
    rows: list[tuple[str, Effect]] = [
        ("Last place less first", arm.drift),
        ("A point more just before", arm.contrast),
        ("… as people rate it", arm.contrast_people),
    ]
    if arm.single is not None:
        rows.append(("Together less alone", arm.single.level))
    drawing = Drawing(x="Points", height=110 + 36 * len(rows))
    drawing.room(arm.drift.sesoi)
    known = [(k, name, one) for k, (name, one) in enumerate(rows) if np.isfinite(one.estimate)]
    drawing.dots(
        [
            Mark(
                k,
                one.estimate,
                one.interval,
                f"{escape(name)}: {number(one.estimate, '+.2f')} {one.unit}<br>{100 * one.confidence:.3g} % interval "
                f"{interval(one.interval, '+.2f')}<br>{one.verdict}",
                Behind(f"{arm.arm.judge}, all of this arm", arm=arm.code),
            )
            for k, name, one in known
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([name for name, _ in rows])
    listed = "; ".join(f"{name} {one.estimate:+.2f} ({one.verdict})" for _, name, one in known)
    return drawing.chart(f"What a batch does to {arm.arm.judge}'s scores: {listed or 'nothing to show'}.")
