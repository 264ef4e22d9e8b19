"""Pictures of juries: what judges and orders are worth by what they cost, and how order errors hang together."""

from __future__ import annotations

from html import escape

from rubriclab.figures.marks import Drawing, Mark, listed
from rubriclab.figures.style import EVEN_LINE, Behind, Chart, judge_color, once
from rubriclab.findings.jury_results import JuryOf, Measured, Mix
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number


@once
def budget_curves(of: JuryOf, found: Measured, *, shared: bool = False) -> Chart:
    """By what an item costs, agreement with people (or the error from the mean of all judges), a line a number of judges.

    ``shared``: juries in the same orders, else each judge in orders of its own; dotted: the budget.
    """
    people = found.target == "people"
    drawing = Drawing(
        x=tr("Money for 1,000 items") if of.money else tr("Calls an item"),
        y=tr("Agreement with people (r)") if people else tr("Error, points"),
        height=420,
    )
    drawing.level(x=of.budget, text=tr("budget"))
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
            told.append(_best(name, within[-1], people))
    drawing.figure.update_xaxes(rangemode="tozero")
    if people:
        return drawing.chart(tr("Agreement with people by budget. {told}.", told=listed(told)))
    return drawing.chart(tr("Error by budget. {told}.", told=listed(told)))


def _best(judges: str, best: Mix, people: bool) -> str:
    words = {"judges": judges, "orders": many(best.orders, "order")}
    if people:
        return tr("{judges}: r {r} in {orders}", r=number(best.agreement, ".2f"), **words)
    return tr("{judges}: {error} points in {orders}", error=number(best.error, ".2f"), **words)


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


@once
def order_forest(of: JuryOf) -> Chart:
    """Of every two judges how their order errors correlate, with intervals; 0: they err independently."""
    pairs = sorted(of.pairs, key=lambda pair: -pair.correlation)
    drawing = Drawing(x=tr("Correlation of order errors in the same order"), height=110 + 34 * max(1, len(pairs)))
    drawing.level(x=0.0)
    codes = dict(zip(of.judges, of.arms, strict=True))
    drawing.dots(
        [
            Mark(
                row,
                pair.correlation,
                pair.correlation_ci,
                tr(
                    "{one} and {other}<br>{correlation}, {ends}",
                    one=escape(pair.one),
                    other=escape(pair.other),
                    correlation=number(pair.correlation, ".2f"),
                    ends=interval(pair.correlation_ci, ".2f"),
                ),
                Behind(tr("{judge}, all judgments", judge=pair.one), arm=codes[pair.one]),
            )
            for row, pair in enumerate(pairs)
        ],
        color=EVEN_LINE,
    )
    drawing.rows([f"{pair.one} · {pair.other}" for pair in pairs])
    drawing.figure.update_layout(showlegend=False)
    told = [
        tr("{one} and {other} {share}", one=pair.one, other=pair.other, share=number(pair.correlation, ".2f"))
        for pair in pairs
    ]
    return drawing.chart(tr("How order errors of two judges correlate. {told}.", told=listed(told)))


def _behind(of: JuryOf, mix: Mix) -> Behind:
    """A jury's judgments are those of its judges; the way down leads to its first."""
    codes = dict(zip(of.judges, of.arms, strict=True))
    return Behind(tr("{judge}, all judgments", judge=mix.judges[0]), arm=codes[mix.judges[0]])


def _hover(mix: Mix) -> str:
    votes = tr("<br>worth {votes:.1f} reads that err independently", votes=mix.votes) if mix.votes == mix.votes else ""
    return tr(
        "{mix}<br>{calls} an item<br>r {agreement}, {agreement_ci}<br>error {error} points{votes}",
        mix=escape(mix.name),
        calls=many(mix.calls, "call"),
        agreement=number(mix.agreement, ".2f"),
        agreement_ci=interval(mix.agreement_ci, ".2f"),
        error=number(mix.error, ".2f"),
        votes=votes,
    )
