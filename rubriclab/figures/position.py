"""Pictures of position effects: selection bars, the score x position heatmap, scores given."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale, beside
from rubriclab.figures.style import Behind, Chart, centred_at, judge_color, looks_of, once
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.shift import Shift
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.inference import NO_INTERVAL, Interval

CELL = 54
ROOMY = 5
"""Up to so many places a cell has room for “16%” on a telephone too; beyond them for the number alone."""
"""Height of a heatmap row in pixels: a comfortable touch target."""


@once
def shift_forest(arms: Sequence[PositionArm], smallest: float) -> Chart:
    """By how many points the order moves each arm, with ``smallest``, the effect of interest.

    Mean score, ascending less descending; the highest against the lowest order; a single score.
    """
    drawing = Drawing(x=tr("Score points"), height=170 + 66 * max(1, len(arms)))
    for k, (kind, symbol) in enumerate(SHIFTS.items()):
        marks = []
        for row, arm in enumerate(arms):
            value, ci = _shift(arm.shift, k)
            name = arm_name(arm, arms)
            hover = tr(
                "{name}<br>{kind}: {shift:+.2f} points{ends}",
                name=escape(name),
                kind=tr(kind),
                shift=value,
                ends=_ends(ci, "+.2f"),
            )
            behind = Behind(name, arm=arm.code)
            marks.append(Mark(row + beside(k, len(SHIFTS)), value, ci, hover, behind))
        drawing.dots(marks, name=tr(kind), color=judge_color(k), marker={"symbol": symbol, "size": 10})
    drawing.rows([arm_name(arm, arms) for arm in arms])
    drawing.level(x=0.0)
    for end in (-smallest, smallest):
        drawing.level(x=end)
    words = "; ".join(f"{arm_name(a, arms)} {_signed(a.shift.ascending)}" for a in arms)
    return drawing.chart(
        tr(
            "Dots with 95 % intervals: by how many points the order moves scores; dotted lines at 0 and at "
            "the smallest effect of interest, {smallest:g}. Ascending less descending: {words}.",
            smallest=smallest,
            words=words,
        )
    )


SHIFTS = {
    msg("ascending less descending"): "circle",
    msg("highest less lowest order"): "diamond",
    msg("single score, the order's part"): "square",
}
"""The symbols of an arm's shifts."""


def _shift(shift: Shift, kind: int) -> tuple[float, Interval]:
    return (
        (shift.ascending, shift.ascending_ci),
        (shift.extremes, shift.extremes_ci),
        (shift.single.excess, shift.single.excess_ci),
    )[kind]


@once
def pull_bars(arm: PositionArm, *, run_judges: Sequence[str] = ()) -> Chart:
    """What each place does to the mean score, with intervals of all places at once."""
    drawing = Drawing(x=tr("Position shown"), y=tr("Score points"))
    marks = [
        Mark(
            pull.place,
            pull.value,
            pull.ci,
            tr(
                "Highest instead of lowest score at position {place}:<br>mean score {shift:+.2f} points{ends} "
                "(all places at once)",
                place=pull.place,
                shift=pull.value,
                ends=_ends(pull.ci, "+.2f"),
            ),
            Behind(tr("{name}, position {p}", name=arm.arm.judge, p=pull.place), arm=arm.code, position=pull.place),
        )
        for pull in arm.shift.pulls
    ]
    (look,) = looks_of([arm.arm.judge], run_judges)
    drawing.bars(marks, color=look.color, upright=True)
    drawing.level(y=0.0)
    drawing.figure.update_xaxes(dtick=1)
    words = ", ".join(f"{p.place}: {_signed(p.value)}" for p in arm.shift.pulls)
    return drawing.chart(
        tr(
            "Bars: how the mean score changes in points when the highest score stands at a position instead "
            "of the lowest. {words}.",
            words=words,
        )
    )


def _signed(value: float) -> str:
    return number(value, "+.2f")


def _ends(ci: Interval, form: str) -> str:
    return tr(", 95 % interval {ends}", ends=interval(ci, form)) if np.isfinite(ci.low) else ""


@once
def selection_bars(arms: Sequence[PositionArm], *, run_judges: Sequence[str] = ()) -> Chart:
    """Share of judgments at each position with 95 % intervals and a dotted line at 1/n.

    ``run_judges``: all of the run, in its order, for their colours.
    """
    drawing = Drawing(x=tr("Position shown"), y=tr("Share of judgments"))
    for arm, look in zip(arms, looks_of([arm.arm.judge for arm in arms], run_judges), strict=True):
        shares, name = arm.position, arm_name(arm, arms)
        picked = zip(shares.share, shares.share_ci, shares.counts, strict=True)
        marks = [
            Mark(
                p,
                value,
                ci,
                tr(
                    "Position {p}: {share:.1%} ({judgments}){ends}",
                    p=p,
                    share=value,
                    judgments=many(count, "judgment"),
                    ends=_ends(ci, ".1%"),
                ),
                Behind(tr("{name}, position {p}", name=name, p=p), arm=arm.code, position=p),
            )
            for p, (value, ci, count) in enumerate(picked, start=1)
        ]
        drawing.bars(marks, name=name, color=look.color, pattern=look.pattern, upright=True)
    for n in sorted({len(arm.arm.scores) for arm in arms}):
        drawing.level(y=1.0 / n, text=tr("even: 1/{n}", n=n))
    most = max((len(arm.arm.scores) for arm in arms), default=1)
    drawing.figure.update_xaxes(dtick=1, range=[0.4, most + 0.6])
    drawing.figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(barmode="group", showlegend=len(arms) > 1)
    return drawing.chart(_selection_alt(arms))


@once
def heatmap(arm: PositionArm) -> Chart:
    """P(position | score): colours diverge from 1/n; every cell can be clicked on.

    The cells' ``customdata`` starts with [score, position].
    """
    table = arm.table
    n = len(table.scores)
    drawing = Drawing(x=tr("Position shown"), y=tr("Score chosen"), height=120 + CELL * n)
    drawing.cells(
        table.share,
        share_scale(1.0 / n, float(np.nanmax(np.abs(table.share - 1.0 / n), initial=0.05))),
        x=[str(p) for p in table.positions],
        y=[str(s) for s in table.scores],
        text=lambda s, p: share_text(arm, s, p, "%" if n <= ROOMY else "", below=True),
        hover=lambda s, p: share_hover(arm, s, p),
        behind=lambda s, p: share_behind(arm, s, p, arm.arm.judge),
        data=lambda s, p: [table.scores[s], table.positions[p]],
        colorbar={"tickformat": ".0%", "thickness": 12, "title": {"text": tr("share<br>of score")}},
    )
    drawing.figure.update_xaxes(type="category", side="bottom")
    drawing.figure.update_yaxes(type="category", showgrid=False)
    drawing.figure.update_layout(clickmode="event+select", showlegend=False)
    return drawing.chart(_heatmap_alt(arm))


def share_scale(even: float, reach: float) -> Scale:
    """Colours of shares within ``reach`` of an ``even`` judge's, where they are neutral."""
    low, high = max(0.0, even - reach), min(1.0, even + reach)
    return Scale(centred_at((even - low) / (high - low)), low, high)


def share_text(arm: PositionArm, score: int, place: int, sign: str = "", *, below: bool = False) -> str:
    """The share; bold where it departs from 1/n beyond chance, all cells looked at together.

    ``below``: the mark of that stands under the number, as a narrow cell needs it.
    """
    share = arm.table.share[score, place]
    text = f"{100 * share:.0f}{sign}" if np.isfinite(share) else "–"
    return f"<b>{text}{'<br>' if below else ' '}●</b>" if arm.table.clear[score, place] else text


def share_hover(arm: PositionArm, score: int, place: int) -> str:
    table = arm.table
    head = tr("Score {score} at position {place}", score=table.scores[score], place=table.positions[place])
    chosen, shown = table.counts[score, place], table.exposure[score, place]
    counts = tr("chosen {chosen:,} of {shown:,} times shown there", chosen=chosen, shown=shown)
    if not np.isfinite(table.share[score, place]):
        return tr("{head}<br>{counts}<br>no share can be given", head=head, counts=counts)
    ends = _ends(table.ci[score][place], ".1%")
    return tr(
        "{head}: {share:.1%} of this score's choices{ends}<br>{counts}",
        head=head,
        share=table.share[score, place],
        ends=ends and ends + tr(" (all cells at once)"),
        counts=counts,
    )


def share_behind(arm: PositionArm, score: int, place: int, name: str, run: str | None = None) -> Behind:
    """The judgments that chose a score at a position (both from 0)."""
    chosen, position = arm.table.scores[score], arm.table.positions[place]
    cell = tr("{name}, score {score} at position {place}", name=name, score=chosen, place=position)
    return Behind(cell, arm.code, chosen, position, run=run)


@once
def score_distribution(arms: Sequence[PositionArm], *, run_judges: Sequence[str] = ()) -> Chart:
    """How often each score was given, with the unreadable share as the last bar."""
    drawing = Drawing(x=tr("Score"), y=tr("Share of all judgments"))
    for arm, look in zip(arms, looks_of([arm.arm.judge for arm in arms], run_judges), strict=True):
        given, name = arm.score_distribution, arm_name(arm, arms)

        def mark(at: str, share: float, count: int, behind: Behind) -> Mark:
            return Mark(at, share, NO_INTERVAL, f"{at}: {number(share, '.1%')} ({many(count, 'judgment')})", behind)

        marks = [
            mark(str(score), share, count, Behind(tr("{name}, score {score}", name=name, score=score), arm.code, score))
            for score, share, count in zip(given.scores, given.share, given.counts, strict=True)
        ]
        unread = Behind(tr("{name}, unread", name=name), arm.code, status="unread")
        marks.append(mark(tr("unread"), given.unread_share, given.unread, unread))
        drawing.bars(marks, name=name, color=look.color, pattern=look.pattern, upright=True)
    drawing.figure.update_layout(barmode="group", showlegend=len(arms) > 1)
    drawing.figure.update_xaxes(type="category")
    drawing.figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    return drawing.chart(" ".join(_distribution_alt(arm) for arm in arms))


def arm_name(arm: PositionArm, arms: Sequence[PositionArm]) -> str:
    """The parts of an arm's name in which the drawn ``arms`` differ; the judge where none do."""
    parts = [[a.arm.judge, a.arm.dataset, a.arm.strategy, str(a.arm.variant)] for a in arms]
    mine = [arm.arm.judge, arm.arm.dataset, arm.arm.strategy, str(arm.arm.variant)]
    differing = [mine[k] for k in range(4) if len({row[k] for row in parts}) > 1]
    name = " · ".join(part for part in differing if part) or arm.arm.judge
    return f"{name} ({tr('simulated')})" if arm.arm.simulated else name


def _selection_alt(arms: Sequence[PositionArm]) -> str:
    sentences = []
    for arm in arms:
        shares = arm.position.share
        if not np.isfinite(shares).all():
            sentences.append(tr("{name}: no readable judgment.", name=arm_name(arm, arms)))
            continue
        listed = ", ".join(f"{p + 1}: {number(share, '.0%')}" for p, share in enumerate(shares))
        sentences.append(f"{arm_name(arm, arms)}: {listed}.")
    return tr("Bars: share of judgments that chose each position. ") + " ".join(sentences)


def _heatmap_alt(arm: PositionArm) -> str:
    share = arm.table.share
    opening = tr("Heatmap: for each score, the share of its choices made at each position.")
    if not np.isfinite(share).any():
        return tr("{opening} There is no readable judgment to show.", opening=opening)
    s, p = np.unravel_index(int(np.nanargmax(share)), share.shape)
    return tr(
        "{opening} An even judge shows {even:.0%} everywhere; the largest is {most:.0%}, score "
        "{score} at position {place}. {cells} beyond chance, marked.",
        opening=opening,
        even=1.0 / len(share),
        most=share[s, p],
        score=arm.table.scores[int(s)],
        place=int(p) + 1,
        cells=many(int(arm.table.clear.sum()), "cell"),
    )


def _distribution_alt(arm: PositionArm) -> str:
    given = arm.score_distribution
    if not np.isfinite(given.unread_share):
        return tr("{judge}, {strategy}: no judgment.", judge=arm.arm.judge, strategy=arm.arm.strategy)
    listed = ", ".join(f"{s}: {number(x, '.0%')}" for s, x in zip(given.scores, given.share, strict=True))
    return tr(
        "{judge}, {strategy}: share of judgments by score: {listed}; unread {unread_share:.0%}.",
        judge=arm.arm.judge,
        strategy=arm.arm.strategy,
        listed=listed,
        unread_share=given.unread_share,
    )
