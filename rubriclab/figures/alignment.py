"""Pictures of agreement with humans: forests, budget curves, sweeps, ordering ranks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import isfinite
from typing import Literal

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import Behind, Chart, judge_color, once
from rubriclab.findings.alignment import StrategyDifference, Sweep
from rubriclab.findings.alignment_arms import ArmAlignment, OrderingRank
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.budget import BudgetPoint
from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.reliability import TARGET

ROW = 30
"""Height of one line of a forest plot in pixels."""


@once
def forest(arms: Sequence[ArmAlignment], *, measure: Literal["pearson", "spearman"] = "pearson") -> Chart:
    """r (or rho) with its interval, a row per judge and data set, a colour per strategy."""
    rows = list(dict.fromkeys(_place(arm.arm) for arm in arms))
    strategies = list(dict.fromkeys(arm.arm.strategy for arm in arms))
    title, sign = (
        (tr("Linear agreement (Pearson r) with humans"), "r")
        if measure == "pearson"
        else (tr("Agreement by rank (Spearman rho) with humans"), "rho")
    )
    drawing = Drawing(x=title, height=_height(len(rows), len(strategies)))

    def mark(arm: ArmAlignment, index: int) -> Mark:
        row, value = _place(arm.arm), getattr(arm, measure)
        hover = tr(
            "{name}<br>{sign} = {r:.3f} [{low:.3f}, {high:.3f}]<br>{items}, {excluded:,} left out",
            name=escape(row),
            sign=sign,
            r=value.r,
            low=value.ci.low,
            high=value.ci.high,
            items=many(arm.n_items, "item"),
            excluded=arm.excluded,
        )
        at = rows.index(row) + beside(index, len(strategies))
        return Mark(at, value.r, value.ci, hover, _arm_behind(arm))

    for index, strategy in enumerate(strategies):
        mine = [mark(arm, index) for arm in arms if arm.arm.strategy == strategy]
        drawing.dots(mine, name=strategy, color=judge_color(index))
    drawing.rows(rows)
    drawing.figure.update_layout(showlegend=len(strategies) > 1)
    told = listed([_correlated(arm, getattr(arm, measure).r) for arm in arms[:8]], of=len(arms))
    if measure == "pearson":
        return drawing.chart(tr("Linear correlation of mean scores with human ratings: {told}.", told=told))
    return drawing.chart(tr("Agreement correlation of mean scores with human ratings: {told}.", told=told))


def _correlated(arm: ArmAlignment, r: float) -> str:
    return tr("{strategy} on {place} {r}", strategy=arm.arm.strategy, place=_place(arm.arm), r=number(r, ".2f"))


@once
def difference_forest(found: Sequence[StrategyDifference]) -> Chart:
    """Paired differences in r with their intervals and the line at no difference.

    A row per judge and data set, a colour per pair of strategies.
    """
    rows = list(dict.fromkeys(_place(difference) for difference in found))
    pairs = list(dict.fromkeys((difference.a, difference.b) for difference in found))
    drawing = Drawing(x=tr("Difference in r at equal reads (95 % interval)"), height=_height(len(rows), len(pairs)))

    def mark(difference: StrategyDifference, index: int) -> Mark:
        row = _place(difference)
        hover = tr(
            "{name}<br>{delta_r:+.3f} [{low:+.3f}, {high:+.3f}]<br>{items}, p (Holm) {p_holm:.3f}",
            name=escape(row),
            delta_r=difference.delta_r,
            low=difference.ci.low,
            high=difference.ci.high,
            items=many(difference.n_items, "item"),
            p_holm=difference.p_holm,
        )
        return Mark(rows.index(row) + beside(index, len(pairs)), difference.delta_r, difference.ci, hover)

    for index, pair in enumerate(pairs):
        mine = [mark(difference, index) for difference in found if (difference.a, difference.b) == pair]
        drawing.dots(mine, name=f"{pair[0]} − {pair[1]}", color=judge_color(index))
    drawing.level(x=0)
    drawing.rows(rows)
    drawing.figure.update_layout(showlegend=bool(pairs))
    parts = [
        tr("{place}, {a} less {b}: {delta_r:+.3f}", place=_place(each), a=each.a, b=each.b, delta_r=each.delta_r)
        for each in found[:8]
    ]
    return drawing.chart(tr("Paired differences in correlation: {parts}.", parts=listed(parts, of=len(found))))


@once
def reliability_curves(arms: Sequence[ArmAlignment]) -> Chart:
    """Dependability of a mean over so many reads, with its interval, and the target."""
    drawn = [arm for arm in arms if arm.reliability is not None]
    drawing = Drawing(x=tr("Reads averaged per item"), y=tr("Dependability of the mean"))
    several = len({_place(arm.arm) for arm in drawn}) > 1
    parts = []
    for index, arm in enumerate(drawn):
        sure = arm.reliability
        if sure is None:
            continue
        needed = sure.needed()[0]
        reads = sorted({*range(1, sure.reads + 1), min(int(needed), 2 * sure.reads + 1)})
        curve = [(k, *sure.at(k)) for k in reads]
        strategy, color = arm.arm.strategy, judge_color(index)
        name = f"{_place(arm.arm)} · {strategy}" if several else strategy
        if all(map(isfinite, sure.noise_ci)):
            lows, highs = [ci.low for *_, ci in curve], [ci.high for *_, ci in curve]
            drawing.band(reads, lows, highs, color=color, legendgroup=str(index))
        marks = [Mark(k, value, NO_INTERVAL, _reads_hover(k, value, ci), _arm_behind(arm)) for k, value, ci in curve]
        drawing.dots(marks, name=name, color=color, upright=True, joined=True, legendgroup=str(index))
        parts.append(
            tr(
                "{strategy} on {place} {one:.2f} with 1, {needed:.0f} for {target:g}",
                strategy=strategy,
                place=_place(arm.arm),
                one=sure.one,
                needed=needed,
                target=TARGET,
            )
        )
    drawing.level(y=TARGET)
    drawing.figure.update_yaxes(range=[0, 1.02])
    told = listed(parts[:6], of=len(parts))
    return drawing.chart(tr("Dependability by number of reads: {told}.", told=told))


def _reads_hover(k: int, value: float, ci: Interval) -> str:
    ends = interval(ci, ".2f", brackets=True)
    return tr("{k} reads: {dependable:.2f} {ends}", k=k, dependable=value, ends=ends)


@once
def budget_curves(arms: Sequence[ArmAlignment]) -> Chart:
    """Mean r against the number of orders averaged, with the band over subsets of reads."""
    drawing = Drawing(x=tr("Orders averaged per item"), y=tr("Pearson r with humans"))
    drawn = [arm for arm in arms if arm.budget]
    several = len({_place(arm.arm) for arm in drawn}) > 1
    for index, arm in enumerate(drawn):
        color, strategy = judge_color(index), arm.arm.strategy
        drawing.band(
            [point.k for point in arm.budget],
            [point.low for point in arm.budget],
            [point.high for point in arm.budget],
            color=color,
            legendgroup=str(index),
        )
        drawing.dots(
            [Mark(p.k, p.mean_r, NO_INTERVAL, _budget_hover(p), _arm_behind(arm)) for p in arm.budget],
            name=f"{_place(arm.arm)} · {strategy}" if several else strategy,
            color=color,
            upright=True,
            joined=True,
            legendgroup=str(index),
            line={"dash": "dot" if strategy == "fixed" else "solid"},
        )
    few = max((f.reads for f in drawn), default=0) <= 12
    drawing.figure.update_xaxes(dtick=1 if few else None)
    parts = [
        tr(
            "{strategy} on {place} from {first} with 1 to {last} with {k}",
            strategy=arm.arm.strategy,
            place=_place(arm.arm),
            first=number(arm.budget[0].mean_r, ".2f"),
            last=number(arm.budget[-1].mean_r, ".2f"),
            k=arm.budget[-1].k,
        )
        for arm in drawn[:6]
    ]
    told = listed(parts, of=len(drawn))
    return drawing.chart(tr("Correlation by number of orders averaged: {told}.", told=told))


@once
def ordering_dots(arm: ArmAlignment, *, most: int = 24) -> Chart:
    """r of every single ordering, best on top, the canonical one marked; at most ``most``."""
    ranked = [o for o in arm.ordering_rank if o.rank is not None]
    shown = ranked[:most]
    canonical = next((o for o in ranked if o.canonical), None)
    if canonical is not None and canonical not in shown:
        shown = [*shown[:-1], canonical]
    orders = [" ".join(map(str, o.ordering)) for o in shown]
    drawing = Drawing(x=tr("r of single calls with humans"), height=110 + 24 * max(1, len(shown)))
    marks = []
    for row, (o, order) in enumerate(zip(shown, orders, strict=True)):
        usual = tr("the usual order") if o.canonical else ""
        behind = Behind(tr("{judge}, order {order}", judge=arm.arm.judge, order=order), arm=arm.code, ordering=order)
        ranks = "" if o.rank_low is None else tr("<br>rank {low} to {high}", low=o.rank_low, high=o.rank_high)
        hover = tr(
            "r = {r:.3f} over {calls}{ranks}<br>{usual}", r=o.r, calls=many(o.n, "call"), ranks=ranks, usual=usual
        )
        marks.append(Mark(row, o.r, o.ci, hover, behind))
    drawing.dots(
        marks,
        color=[judge_color(1 if o.canonical else 0) for o in shown],
        marker={
            "size": [13 if o.canonical else 9 for o in shown],
            "symbol": ["diamond" if o.canonical else "circle" for o in shown],
            "opacity": 1,
        },
    )
    drawing.rows([f"{_ranks(o)}. {order}" for o, order in zip(shown, orders, strict=True)])
    best = (
        tr("Highest as read, which chance decides too: {orders} with r = {r:.3f}. ", orders=orders[0], r=shown[0].r)
        if shown
        else tr("No ordering. ")
    )
    usual = _usual_rank(canonical, len(ranked))
    return drawing.chart(tr("Correlation with humans of each single ordering. {best}{usual}", best=best, usual=usual))


def _usual_rank(canonical: OrderingRank | None, ranked: int) -> str:
    if canonical is None:
        return ""
    if canonical.rank_low is None:
        known = {"rank": canonical.rank, "ranked": ranked}
        return tr("The usual order is number {rank} of {ranked} as read; its rank is not known.", **known)
    return tr("The usual order ranks {ranks} of {ranked}.", ranks=_ranks(canonical), ranked=ranked)


@once
def sweep_lines(table: Sweep, *, measure: str = "r") -> Chart:
    """A line per judge over a factor's levels: ``measure`` "r" with intervals, or "v"."""
    title = tr("Agreement with humans (Pearson r)") if measure == "r" else tr("Uneven picking of places (Cramér's V)")
    drawing = Drawing(x=escape(tr(table.factor.replace("_", " "))), y=title)
    lines = dict.fromkeys((p.judge, p.dataset, p.strategy, p.others) for p in table.points)
    ends = []
    for index, line in enumerate(lines):
        name = " · ".join(part for part in line if part)
        marks = []
        for p in table.points:
            if (p.judge, p.dataset, p.strategy, p.others) != line:
                continue
            value = p.pearson if measure == "r" else Correlation(p.cramers_v, NO_INTERVAL)
            hover = tr(
                "{name}: {r:.3f}<br>{items} with humans, {judgments}, {n_options} options",
                name=escape(str(p.level)),
                r=value.r,
                items=many(p.n_items, "item"),
                judgments=many(p.judgments, "judgment"),
                n_options=p.n_options,
            )
            behind = Behind(f"{name}, {tr(table.factor)} {p.level}", arm=p.code)
            marks.append(Mark(str(p.level), value.r, value.ci, hover, behind))
        drawing.dots(marks, name=name, color=judge_color(index), upright=True, joined=True)
        ends.append(tr("{name} from {first:.3f} to {last:.3f}", name=name, first=marks[0].value, last=marks[-1].value))
    order = [str(level) for level in table.levels]
    drawing.figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    told = {"factor": tr(table.factor), "told": listed(ends[:6], of=len(ends))}
    if measure == "r":
        return drawing.chart(tr("Agreement with humans (Pearson r) by {factor}: {told}.", **told))
    return drawing.chart(tr("Uneven picking of places (Cramér's V) by {factor}: {told}.", **told))


def _ranks(of: OrderingRank) -> str:
    """The ranks that the data leave open; where that is not known the rank alone."""
    if of.rank_low is None or of.rank_low == of.rank_high:
        return f"{of.rank}"
    return f"{of.rank_low}–{of.rank_high}"


def _height(rows: int, series: int) -> int:
    return 110 + ROW * max(1, rows) * max(1, series)


def _budget_hover(point: BudgetPoint) -> str:
    return tr(
        "{k} orders: r = {mean_r:.3f}<br>95 % of {subsets:,} choices: {low:.3f} to {high:.3f}",
        k=point.k,
        mean_r=point.mean_r,
        subsets=point.subsets,
        low=point.low,
        high=point.high,
    )


def _arm_behind(arm: ArmAlignment) -> Behind:
    return Behind(f"{_place(arm.arm)} · {arm.arm.strategy}", arm=arm.code)


def _place(of: Arm | StrategyDifference) -> str:
    parts = [of.judge, of.dataset]
    return " · ".join([*parts, str(of.variant)] if of.variant.levels else parts)
