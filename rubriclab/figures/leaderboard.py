"""The leaderboard as logged and as it would be under both orders. Names are users' texts, escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, Behind, Chart, once
from rubriclab.findings.leaderboard import Candidate, Leaderboard
from rubriclab.model.language import tr
from rubriclab.model.wording import many

MOST = 40
"""Candidates in one picture: the best under both orders."""


NARROW = 0.05
"""Win rates closer together than that are told with a digit behind the point."""


@once
def win_rate_dots(board: Leaderboard) -> Chart:
    """Each candidate's win rate under both orders with its interval, and as logged beside it."""
    shown = board.candidates[:MOST]
    drawing = Drawing(x=tr("Win rate"), height=150 + 40 * max(len(shown), 1))
    behind = Behind(f"{board.judge} · {board.dataset} · {board.strategy}", arm=board.code)
    for index, (name, field, color) in enumerate(
        ((tr("under both orders"), "corrected", ACCENT), (tr("as logged"), "logged", EVEN_LINE))
    ):
        marks = [
            Mark(row + beside(index, 2), getattr(one, field), getattr(one, f"{field}_ci"), _hover(one), behind)
            for row, one in enumerate(shown)
        ]
        drawing.dots(marks, name=name, color=color, marker={"size": 9 if index == 0 else 7})
    drawing.rows([one.candidate for one in shown])
    drawing.level(x=1.0 / board.n_positions)
    drawing.figure.update_xaxes(tickformat=_per_cents(shown))
    words = [
        tr(
            "{candidate} {corrected:.1%}, as logged {logged:.1%}",
            candidate=one.candidate,
            corrected=one.corrected,
            logged=one.logged,
        )
        for one in shown[:8]
    ]
    return drawing.chart(
        tr(
            "Win rates under {judge}, under both orders and as logged: {words}.",
            judge=board.judge,
            words=listed(words, of=len(board.candidates)),
        )
    )


def _per_cents(shown: Sequence[Candidate]) -> str:
    """Whole per cents, but where all lie within few: the same number would stand at several ticks."""
    drawn = [value for one in shown for value in (one.corrected, one.logged, *one.corrected_ci, *one.logged_ci)]
    finite = [value for value in drawn if math.isfinite(value)]
    return ".1%" if finite and max(finite) - min(finite) < NARROW else ".0%"


def _hover(one: Candidate) -> str:
    low, high = one.corrected_ci
    return tr(
        "{name}<br>under both orders {corrected:.1%} ({low:.1%} to {high:.1%})<br>as logged "
        "{logged:.1%}, over {calls}, first in {first:.0%} of them",
        name=escape(one.candidate),
        corrected=one.corrected,
        low=low,
        high=high,
        logged=one.logged,
        calls=many(one.calls, "call"),
        first=one.first,
    )
