"""Pictures of juries: what judges and orders are worth by what they cost, and how order errors hang together."""

from __future__ import annotations

from html import escape

from rubriclab.figures.marks import Drawing, Mark, listed
from rubriclab.figures.style import EVEN_LINE, Behind, Chart, judge_color
from rubriclab.findings.jury_results import JuryOf, Measured, Mix
from rubriclab.model.wording import interval, many, number


def budget_curves(of: JuryOf, found: Measured, *, shared: bool = False) -> Chart:
    """By what an item costs, agreement with people (or the error from the mean of all judges), a line a number of judges.

    ``shared``: juries in the same orders, else each judge in orders of its own; dotted: the budget.
    """
    people = found.target == "people"
    drawing = Drawing(
        x="Money for 1,000 items" if of.money else "Calls an item",
        y="Agreement with people (r)" if people else "Error, points",
        height=420,
    )
    drawing.level(x=of.budget, text="budget")
    told = []
    for size in range(1, len(of.judges) + 1):
        line = curve(found, size, shared=shared, every=of.orders)
        if not line:
            continue
        name = many(size, "judge")
        drawing.dots(
            [
                Mark(mix.cost, mix.agreement if people else mix.error, hover=_hover(mix), behind=_behind(of, mix))
                for mix in line
            ],
            color=judge_color(size - 1),
            name=name,
            upright=True,
            joined=True,
            marker={"size": 7},
        )
        within = [mix for mix in line if mix.affordable]
        if within:
            best = within[-1]
            value = f"r {number(best.agreement, '.2f')}" if people else f"{number(best.error, '.2f')} points"
            told.append(f"{name}: {value} in {many(best.orders, 'order')}")
    drawing.figure.update_xaxes(rangemode="tozero")
    return drawing.chart(f"{'Agreement with people' if people else 'Error'} by budget. {listed(told)}.")


def curve(found: Measured, size: int, *, shared: bool, every: int) -> list[Mix]:
    """The mixes of so many judges, the fewest orders first; ``every`` order is the same for all."""
    mine = [
        mix
        for mix in found.mixes
        if len(mix.judges) == size and (size == 1 or mix.orders == every or mix.shared == shared)
    ]
    kept: dict[float, Mix] = {}
    for mix in sorted(mine, key=lambda mix: (mix.cost, mix.error)):
        kept.setdefault(mix.cost, mix)
    return list(kept.values())


def order_forest(of: JuryOf) -> Chart:
    """Of every two judges how their order errors correlate, with intervals; 0: they err independently."""
    pairs = sorted(of.pairs, key=lambda pair: -pair.correlation)
    drawing = Drawing(x="Correlation of order errors in the same order", height=110 + 34 * max(1, len(pairs)))
    drawing.level(x=0.0)
    codes = dict(zip(of.judges, of.arms, strict=True))
    drawing.dots(
        [
            Mark(
                row,
                pair.correlation,
                pair.correlation_ci,
                f"{escape(pair.one)} and {escape(pair.other)}<br>{number(pair.correlation, '.2f')}, "
                f"{interval(pair.correlation_ci, '.2f')}",
                Behind(f"{pair.one}, all judgments", arm=codes[pair.one]),
            )
            for row, pair in enumerate(pairs)
        ],
        color=EVEN_LINE,
    )
    drawing.rows([f"{pair.one} · {pair.other}" for pair in pairs])
    drawing.figure.update_layout(showlegend=False)
    told = [f"{pair.one} and {pair.other} {number(pair.correlation, '.2f')}" for pair in pairs]
    return drawing.chart(f"How order errors of two judges correlate. {listed(told)}.")


def _behind(of: JuryOf, mix: Mix) -> Behind:
    """A jury's judgments are those of its judges; the way down leads to its first."""
    codes = dict(zip(of.judges, of.arms, strict=True))
    return Behind(f"{mix.judges[0]}, all judgments", arm=codes[mix.judges[0]])


def _hover(mix: Mix) -> str:
    return (
        f"{escape(mix.name)}<br>{many(mix.calls, 'call')} an item<br>r {number(mix.agreement, '.2f')}, "
        f"{interval(mix.agreement_ci, '.2f')}<br>error {number(mix.error, '.2f')} points"
        + (f"<br>worth {number(mix.votes, '.1f')} reads that err independently" if mix.votes == mix.votes else "")
    )
