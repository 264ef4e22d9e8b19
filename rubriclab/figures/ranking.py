"""Pictures of rank reversal: how often the winner changes, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Sequence

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import Behind, Chart, judge_color
from rubriclab.findings.ranking_results import RankReversal
from rubriclab.model.wording import many


def change_dots(pairs: Sequence[RankReversal]) -> Chart:
    """How often the winner changes between two strategies, and in the same order read twice.

    Both at equal numbers of reads, among prompts where both sides name one winner.
    """
    rows = [f"{_place(pair)} · {pair.a} vs {pair.b}" for pair in pairs]
    drawing = Drawing(x="Prompts whose winner changes", height=_height(rows, ("a", "b")))
    kinds = (("between the two", "changed", 0), ("same order twice (noise)", "control", 1))
    for name, field, color in kinds:
        marks = []
        for row, pair in enumerate(pairs):
            share = getattr(pair.noise, field)
            if share is not None:
                hover = f"{name}: {share.value:.1%} [{share.ci.low:.1%}, {share.ci.high:.1%}]"
                at = row + beside(color, 2)
                marks.append(Mark(at, share.value, share.ci, hover, _behind(pair)))
        drawing.dots(marks, name=name, color=judge_color(color), marker={"size": 10})
    drawing.rows(rows)
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    parts = [f"{row} {_noise_alt(pair)}" for row, pair in zip(rows[:8], pairs, strict=False)]
    return drawing.chart(f"Share of prompts whose winner changes: {listed(parts, of=len(pairs))}.")


def _noise_alt(pair: RankReversal) -> str:
    control = pair.noise.control
    known = f"{control.value:.0%} in the same order" if control else "no order read twice"
    return f"{pair.noise.changed.value:.0%}, {known}"


def flip_bars(pairs: Sequence[RankReversal], *, strict: bool = False) -> Chart:
    """Share of prompts whose winner changes; a row a judge and data set, a colour a pair."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    drawing = Drawing(x="Prompts whose winner changes", height=_height(rows, kinds))

    def share(pair: RankReversal) -> Mark:
        flip = pair.top1_flip_strict if strict else pair.top1_flip
        hover = f"{flip.value:.1%} of {many(flip.n, 'prompt')}<br>95 % interval {flip.ci.low:.1%} to {flip.ci.high:.1%}"
        return Mark(rows.index(_place(pair)), flip.value, flip.ci, hover, _behind(pair))

    for index, (a, b) in enumerate(kinds):
        mine = [share(pair) for pair in pairs if (pair.a, pair.b) == (a, b)]
        drawing.bars(mine, name=f"{a} vs {b}", color=judge_color(index))
    drawing.rows(rows)
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(barmode="group", showlegend=bool(kinds))
    parts = [f"{_place(p)} ({p.a} vs {p.b}) {share(p).value:.0%}" for p in pairs[:8]]
    return drawing.chart(f"Share of prompts whose top candidate changes: {listed(parts)}.")


def tau_dots(pairs: Sequence[RankReversal]) -> Chart:
    """Mean Kendall tau-b between the two rankings, with its interval; 1 is the same ranking."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    drawing = Drawing(x="Agreement of the rankings (mean tau-b)", height=_height(rows, kinds))

    def tau(pair: RankReversal, index: int) -> Mark:
        value = pair.kendall_tau
        hover = (
            f"tau {value.value:.2f} [{value.ci.low:.2f}, {value.ci.high:.2f}]<br>{value.n:,} "
            f"prompts, {pair.excluded:,} left out (all tied)"
        )
        at = rows.index(_place(pair)) + beside(index, len(kinds))
        return Mark(at, value.value, value.ci, hover, _behind(pair))

    for index, (a, b) in enumerate(kinds):
        mine = [tau(pair, index) for pair in pairs if (pair.a, pair.b) == (a, b)]
        drawing.dots(mine, name=f"{a} vs {b}", color=judge_color(index), marker={"size": 10})
    drawing.level(x=1)
    drawing.rows(rows)
    drawing.figure.update_layout(showlegend=bool(kinds))
    parts = [f"{_place(p)} ({p.a} vs {p.b}) {p.kendall_tau.value:.2f}" for p in pairs[:8]]
    return drawing.chart(f"Agreement of rankings (mean Kendall tau): {listed(parts)}.")


def _behind(pair: RankReversal) -> Behind:
    """A point rests on two arms; it leads to the first, from where the other is one choice away."""
    return Behind(f"{_place(pair)} · {pair.a} (against {pair.b})", arm=pair.code_a)


def _rows(pairs: Sequence[RankReversal]) -> list[str]:
    return list(dict.fromkeys(_place(pair) for pair in pairs))


def _kinds(pairs: Sequence[RankReversal]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pair.a, pair.b) for pair in pairs))


def _height(rows: Sequence[str], kinds: Sequence[object]) -> int:
    return 120 + 30 * max(1, len(rows)) * max(1, len(kinds))


def _place(pair: RankReversal) -> str:
    parts = [pair.judge, pair.dataset]
    return " · ".join([*parts, str(pair.variant)] if pair.variant.levels else parts)
