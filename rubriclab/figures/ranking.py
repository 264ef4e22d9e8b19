"""Pictures of rank reversal: how often the winner changes, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import Behind, Chart, judge_color, once
from rubriclab.findings.ranking_results import RankReversal
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number


@once
def change_dots(pairs: Sequence[RankReversal]) -> Chart:
    """How often the winner changes between two strategies, and in the same order read twice.

    Both at equal numbers of reads, among prompts where both sides name one winner.
    """
    rows = [f"{_place(pair)} · {_against(pair.a, pair.b)}" for pair in pairs]
    drawing = Drawing(x=tr("Prompts whose winner changes"), height=_height(rows, ("a", "b")))
    kinds = ((tr("between the two"), "changed", 0), (tr("same order twice (noise)"), "control", 1))
    for name, field, color in kinds:
        marks = []
        for row, pair in enumerate(pairs):
            share = getattr(pair.noise, field)
            if share is not None:
                hover = f"{name}: {number(share.value, '.1%')} {interval(share.ci, '.1%', brackets=True)}"
                at = row + beside(color, 2)
                marks.append(Mark(at, share.value, share.ci, hover, _behind(pair)))
        drawing.dots(marks, name=name, color=judge_color(color), marker={"size": 10})
    drawing.rows(rows)
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    parts = [f"{row} {_noise_alt(pair)}" for row, pair in zip(rows[:8], pairs, strict=False)]
    return drawing.chart(tr("Share of prompts whose winner changes: {parts}.", parts=listed(parts, of=len(pairs))))


def _noise_alt(pair: RankReversal) -> str:
    control = pair.noise.control
    known = tr("{share:.0%} in the same order", share=control.value) if control else tr("no order read twice")
    return f"{number(pair.noise.changed.value, '.0%')}, {known}"


@once
def flip_bars(pairs: Sequence[RankReversal], *, strict: bool = False) -> Chart:
    """Share of prompts whose winner changes; a row a judge and data set, a colour a pair."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    drawing = Drawing(x=tr("Prompts whose winner changes"), height=_height(rows, kinds))

    def share(pair: RankReversal) -> Mark:
        flip = pair.top1_flip_strict if strict else pair.top1_flip
        hover = tr(
            "{share:.1%} of {prompts}<br>95 % interval {low:.1%} to {high:.1%}",
            share=flip.value,
            prompts=many(flip.n, "prompt"),
            low=flip.ci.low,
            high=flip.ci.high,
        )
        return Mark(rows.index(_place(pair)), flip.value, flip.ci, hover, _behind(pair))

    for index, (a, b) in enumerate(kinds):
        mine = [share(pair) for pair in pairs if (pair.a, pair.b) == (a, b)]
        drawing.bars(mine, name=_against(a, b), color=judge_color(index))
    drawing.rows(rows)
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(barmode="group", showlegend=bool(kinds))
    parts = [f"{_place(p)} ({_against(p.a, p.b)}) {number(share(p).value, '.0%')}" for p in pairs[:8]]
    return drawing.chart(tr("Share of prompts whose top candidate changes: {parts}.", parts=listed(parts)))


@once
def tau_dots(pairs: Sequence[RankReversal]) -> Chart:
    """Mean Kendall tau-b between the two rankings, with its interval; 1 is the same ranking."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    drawing = Drawing(x=tr("Agreement of the rankings (mean tau-b)"), height=_height(rows, kinds))

    def tau(pair: RankReversal, index: int) -> Mark:
        value = pair.kendall_tau
        hover = tr(
            "tau {tau:.2f} [{low:.2f}, {high:.2f}]<br>{n:,} prompts, {excluded:,} left out (all tied)",
            tau=value.value,
            low=value.ci.low,
            high=value.ci.high,
            n=value.n,
            excluded=pair.excluded,
        )
        at = rows.index(_place(pair)) + beside(index, len(kinds))
        return Mark(at, value.value, value.ci, hover, _behind(pair))

    for index, (a, b) in enumerate(kinds):
        mine = [tau(pair, index) for pair in pairs if (pair.a, pair.b) == (a, b)]
        drawing.dots(mine, name=_against(a, b), color=judge_color(index), marker={"size": 10})
    drawing.level(x=1)
    drawing.rows(rows)
    drawing.figure.update_layout(showlegend=bool(kinds))
    parts = [f"{_place(p)} ({_against(p.a, p.b)}) {number(p.kendall_tau.value, '.2f')}" for p in pairs[:8]]
    return drawing.chart(tr("Agreement of rankings (mean Kendall tau): {parts}.", parts=listed(parts)))


def _behind(pair: RankReversal) -> Behind:
    """A point rests on two arms; it leads to the first, from where the other is one choice away."""
    return Behind(tr("{place} · {a} (against {b})", place=_place(pair), a=pair.a, b=pair.b), arm=pair.code_a)


def _against(a: str, b: str) -> str:
    return tr("{a} vs {b}", a=a, b=b)


def _rows(pairs: Sequence[RankReversal]) -> list[str]:
    return list(dict.fromkeys(_place(pair) for pair in pairs))


def _kinds(pairs: Sequence[RankReversal]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pair.a, pair.b) for pair in pairs))


def _height(rows: Sequence[str], kinds: Sequence[object]) -> int:
    return 120 + 30 * max(1, len(rows)) * max(1, len(kinds))


def _place(pair: RankReversal) -> str:
    parts = [pair.judge, pair.dataset]
    return " · ".join([*parts, str(pair.variant)] if pair.variant.levels else parts)
