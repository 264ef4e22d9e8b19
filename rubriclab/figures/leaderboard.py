"""The leaderboard as logged and as it would be under both orders. Names are users' texts, escaped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, Behind, Chart
from rubriclab.findings.leaderboard import Candidate, Leaderboard
from rubriclab.model.wording import many

MOST = 40
"""Candidates in one picture: the best under both orders."""


NARROW = 0.05
"""Win rates closer together than that are told with a digit behind the point."""


def win_rate_dots(board: Leaderboard) -> Chart:
    """Each candidate's win rate under both orders with its interval, and as logged beside it."""
    shown = board.candidates[:MOST]
    drawing = Drawing(x="Win rate", height=150 + 40 * max(len(shown), 1))
    behind = Behind(f"{board.judge} · {board.dataset} · {board.strategy}", arm=board.code)
    for index, (name, field, color) in enumerate(
        (("under both orders", "corrected", ACCENT), ("as logged", "logged", EVEN_LINE))
    ):
        marks = [
            Mark(row + beside(index, 2), getattr(one, field), getattr(one, f"{field}_ci"), _hover(one), behind)
            for row, one in enumerate(shown)
        ]
        drawing.dots(marks, name=name, color=color, marker={"size": 9 if index == 0 else 7})
    drawing.rows([one.candidate for one in shown])
    drawing.level(x=1.0 / board.n_positions)
    drawing.figure.update_xaxes(tickformat=_per_cents(shown))
    words = [f"{one.candidate} {one.corrected:.1%}, as logged {one.logged:.1%}" for one in shown[:8]]
    return drawing.chart(
        f"Win rates under {board.judge}, under both orders and as logged: {listed(words, of=len(board.candidates))}."
    )


def _per_cents(shown: Sequence[Candidate]) -> str:
    """Whole per cents, but where all lie within few: the same number would stand at several ticks."""
    drawn = [value for one in shown for value in (one.corrected, one.logged, *one.corrected_ci, *one.logged_ci)]
    finite = [value for value in drawn if math.isfinite(value)]
    return ".1%" if finite and max(finite) - min(finite) < NARROW else ".0%"


def _hover(one: Candidate) -> str:
    low, high = one.corrected_ci
    return (
        f"{escape(one.candidate)}<br>under both orders {one.corrected:.1%} ({low:.1%} to {high:.1%})<br>"
        f"as logged {one.logged:.1%}, over {many(one.calls, 'call')}, first in {one.first:.0%} of them"
    )
