"""Conclusions with scores as numbers and as ranks, on one axis whatever their units."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import Behind, Chart, judge_color, once
from rubriclab.findings.ordinal import CONCLUSIONS, NAMES, OrdinalArm, OrdinalResult, Twice
from rubriclab.findings.rasch_words import rater_said
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.inference import Interval

SERIES = (msg("scores as numbers"), msg("scores as ranks"))
SHORT = {"order": msg("order"), "people": msg("people")}


class _Row(NamedTuple):
    name: str
    sides: tuple[float, float]
    words: tuple[str, str]
    code: int | None
    answer: str


def in_half_widths(value: float, ci: Interval) -> float:
    """How far an estimate lies from 0 in the half of its interval that reaches towards 0.

    Beyond 1 (or -1) the interval leaves out 0.
    """
    half = value - ci.low if value >= 0 else ci.high - value
    return float(np.clip(value / half, -8.0, 8.0)) if np.isfinite(half) and half > 0 else float("nan")


def told_twice(result: OrdinalResult) -> bool:
    """Has any question an interval both ways? Else there is nothing to draw."""
    return bool(_drawn(result))


def _drawn(result: OrdinalResult) -> list[_Row]:
    rows = [row for arm in result.arms for row in _of_arm(arm)] + list(_gaps(result))
    return [row for row in rows if np.isfinite(row.sides).all()]


@once
def twice_forest(result: OrdinalResult) -> Chart:
    """A row a question and arm: beyond the dotted lines an interval leaves out 0."""
    rows = _drawn(result)
    drawing = Drawing(x=tr("half intervals from 0"), height=120 + 58 * max(len(rows), 1))
    for edge in (-1.0, 1.0):
        drawing.level(x=edge)
    for index, name in enumerate(SERIES):
        marks = [
            Mark(
                place + beside(index, len(SERIES)),
                row.sides[index],
                hover=f"{escape(row.name)}: {row.words[index]}<br>{tr(row.answer)}",
                behind=None if row.code is None else Behind(row.name, arm=row.code),
            )
            for place, row in enumerate(rows)
        ]
        drawing.dots(marks, name=tr(name), color=judge_color(index))
    drawing.rows([row.name for row in rows])
    changed = [row.name for row in rows if row.answer == CONCLUSIONS["changes"]]
    told = (
        tr("The conclusion changes for {changed}.", changed=listed(changed))
        if changed
        else tr("No conclusion changes.")
    )
    if any(row.answer == CONCLUSIONS["open"] for row in rows):
        told = tr("The run is not finished: none is a verdict.")
    return drawing.chart(
        tr(
            "{questions} answered with scores as numbers and as ranks. {told}",
            questions=many(len(rows), "question"),
            told=told,
        )
    )


def _of_arm(arm: OrdinalArm) -> Sequence[_Row]:
    whose = [arm.arm.judge, arm.arm.strategy, str(arm.arm.variant)]
    pairs = [(name, one) for name, one in (("order", arm.order), ("people", arm.people)) if one is not None]
    return [_row(" · ".join(filter(None, (*whose, tr(SHORT[name])))), one, arm.code) for name, one in pairs]


def _row(name: str, one: Twice, code: int) -> _Row:
    _, numbers, ranks = NAMES[one.asked]
    words = (
        f"{tr(numbers)} {number(one.numbers, '+.2f')} ({interval(one.numbers_ci, '+.2f')})",
        f"{tr(ranks)} {number(one.ranks, '+.2f')} ({interval(one.ranks_ci, '+.2f')})",
    )
    sides = in_half_widths(one.numbers, one.numbers_ci), in_half_widths(one.ranks, one.ranks_ci)
    return _Row(name, sides, words, code, CONCLUSIONS[one.answer])


def _gaps(result: OrdinalResult) -> Sequence[_Row]:
    return [
        _Row(
            tr("{first} less {second}", first=rater_said(gap.first), second=rater_said(gap.second)),
            (in_half_widths(gap.points, gap.points_ci), in_half_widths(gap.leniency, gap.leniency_ci)),
            (
                tr("{points:+.2f} points ({ends})", points=gap.points, ends=interval(gap.points_ci, "+.2f")),
                tr(
                    "leniency {leniency} logits ({ends})",
                    leniency=number(gap.leniency, "+.2f"),
                    ends=interval(gap.leniency_ci, "+.2f"),
                ),
            ),
            None,
            CONCLUSIONS[gap.answer],
        )
        for _, gap in result.gaps
    ]
