"""Pictures of criterion order: the criterion x position heatmap, the neighbours' effect."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale, verdict_said
from rubriclab.figures.style import DIVERGING, Behind, Chart, looks_of, once
from rubriclab.findings.criteria_results import ArmCriteria
from rubriclab.model.language import tr
from rubriclab.model.wording import number
from rubriclab.stats.inference import Floats

CELL = 54
"""Height of a heatmap row in pixels: a comfortable touch target."""


@once
def shift_heatmap(arm: ArmCriteria, *, limit: float | None = None) -> Chart:
    """Shift of each criterion's mean score by position, colours centred on 0 (v2 Figure 10).

    ``limit``: the shift at the ends of the colours, to share a scale between several judges.
    """
    shift = shifts(arm)
    reach = max(float(np.nanmax(np.abs(shift), initial=0.0)), 0.05) if limit is None else limit
    names = [effect.criterion for effect in arm.criteria]
    drawing = Drawing(x=tr("Position of the criterion"), height=120 + CELL * max(1, len(names)))
    drawing.cells(
        shift,
        Scale(DIVERGING, -reach, reach),
        text=lambda c, p: shift_text(shift[c, p]),
        hover=lambda c, p: shift_hover(arm, c, p),
        behind=lambda c, p: shift_behind(arm, c, p, arm.arm.judge),
        size=11,
    )
    drawing.rows(names)
    drawing.figure.update_xaxes(dtick=1, range=[0.5, arm.arm.n_positions + 0.5], showgrid=False)
    drawing.figure.update_layout(showlegend=False)
    return drawing.chart(_shift_alt(arm, shift))


@once
def place_forest(arm: ArmCriteria, *, run_judges: Sequence[str] = ()) -> Chart:
    """Points each criterion gains by being read first instead of last; the band does not matter."""
    rows = [(criterion.criterion, criterion.first_less_last) for criterion in arm.criteria]
    known = [(row, name, effect) for row, (name, effect) in enumerate(rows) if np.isfinite(effect.low)]
    drawing = Drawing(x=tr("Points, first place less last"), height=110 + 32 * max(1, len(rows)))
    if rows:
        drawing.room(rows[0][1].sesoi)
    drawing.dots(
        [
            Mark(
                row,
                effect.estimate,
                effect.interval,
                tr(
                    "{name}: {estimate:+.2f} points<br>simultaneous interval {low:+.2f} to {high:+.2f}<br>{verdict}",
                    name=escape(name),
                    estimate=effect.estimate,
                    low=effect.low,
                    high=effect.high,
                    verdict=verdict_said(effect.verdict),
                ),
                Behind(f"{arm.arm.judge}, {name}", arm=arm.code, criterion=name),
            )
            for row, name, effect in known
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([name for name, _ in rows])
    told = [f"{name} {number(effect.estimate, '+.2f')} ({verdict_said(effect.verdict)})" for _, name, effect in known]
    words = "; ".join(told) or tr("no criterion stood at two places")
    return drawing.chart(
        tr("Points gained at the first place against the last for {judge}: {words}.", judge=arm.arm.judge, words=words)
    )


def shifts(arm: ArmCriteria) -> Floats:
    """(criteria, positions) shifts in score points; NaN where a criterion never stood."""
    return np.array([effect.shift for effect in arm.criteria], dtype=np.float64)


def shift_text(value: float) -> str:
    return number(value, "+.2f")


def shift_hover(arm: ArmCriteria, criterion: int, place: int) -> str:
    effect = arm.criteria[criterion]
    head = tr("{name} at position {place}", name=escape(effect.criterion), place=place + 1)
    if not np.isfinite(effect.shift[place]):
        return tr("{head}: never stood there", head=head)
    low, high = effect.shift_ci[place]
    return tr(
        "{head}: {shift:+.2f} points<br>simultaneous interval {low:+.2f} to {high:+.2f}<br>{exposure:,} scores",
        head=head,
        shift=effect.shift[place],
        low=low,
        high=high,
        exposure=effect.exposure[place],
    )


def shift_behind(arm: ArmCriteria, criterion: int, place: int, name: str, run: str | None = None) -> Behind | None:
    """The scores of a criterion at a position (both from 0); None where it never stood there."""
    effect = arm.criteria[criterion]
    if not effect.exposure[place]:
        return None
    name_of_cell = tr("{name}, {criterion} at position {place}", name=name, criterion=effect.criterion, place=place + 1)
    return Behind(name_of_cell, arm.code, position=place + 1, criterion=effect.criterion, run=run)


@once
def carryover_forest(arm: ArmCriteria, *, run_judges: Sequence[str] = ()) -> Chart:
    """What reading each criterion just before adds to the next score, with its interval."""
    rows = arm.carryover
    drawing = Drawing(x=tr("Points added to the next score (95 %)"), height=110 + 30 * max(1, len(rows)))
    behind = Behind(tr("{judge}, all that this effect is worked out from", judge=arm.arm.judge), arm=arm.code)
    drawing.dots(
        [
            Mark(
                index,
                row.effect,
                row.ci,
                tr(
                    "after {name}: {effect:+.2f} [{low:+.2f}, {high:+.2f}]<br>p (Holm) {p_holm:.3f}",
                    name=escape(row.before),
                    effect=row.effect,
                    low=row.ci.low,
                    high=row.ci.high,
                    p_holm=row.p_holm,
                ),
                behind,
            )
            for index, row in enumerate(rows)
        ],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.level(x=0)
    drawing.rows([row.before for row in rows])
    if not rows:
        return drawing.chart(tr("Effect of the criterion read just before: this design cannot show it."))
    top = max(rows, key=lambda row: abs(row.effect))
    words = tr("largest after {before}, {effect:+.2f} points", before=top.before, effect=top.effect)
    return drawing.chart(tr("Effect of the criterion read just before on the next score: {words}.", words=words))


def _shift_alt(arm: ArmCriteria, shift: Floats) -> str:
    title = tr("Shift of mean scores by criterion and position for {judge}", judge=arm.arm.judge)
    if not np.isfinite(shift).any():
        return tr("{title}: nothing to show.", title=title)
    row, column = np.unravel_index(int(np.nanargmax(np.abs(shift))), shift.shape)
    return tr(
        "{title}: largest {shift:+.2f} points, {criterion} at position {place}.",
        title=title,
        shift=shift[row, column],
        criterion=arm.criteria[row].criterion,
        place=column + 1,
    )
