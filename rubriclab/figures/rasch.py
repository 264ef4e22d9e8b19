"""The ruler of a Rasch model (Wright map), and its places beside those of the choice model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from rubriclab.figures.marks import GRID, Drawing, Mark, beside, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, JUDGE_COLORS, Behind, Chart, judge_color, looks_of, once
from rubriclab.findings.rasch_results import Element, Place, RaschArm, RaschScale
from rubriclab.findings.rasch_words import fit_words
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number

LOGITS = msg("logits")
BINS, WIDTH = 24, 5.0
"""Of the items' column: bars, and its width in slots (a mark has one)."""
MOST = 12
"""Elements of a column that a phone has room for."""
GAP = 1.0
NARROWEST = 3.4
"""Slots that a column's name needs on a phone."""


class Column(NamedTuple):
    """Where a facet's column stands: its first slot, its name above, what stands below each slot."""

    start: float
    name: str
    ticks: tuple[str, ...]


class _Ruler:
    """Columns from left to right on one axis of logits."""

    def __init__(self) -> None:
        self.drawing = Drawing(y=tr(LOGITS), height=520)
        self.columns: list[Column] = []
        self.next = 0.0

    def column(self, name: str, ticks: Sequence[str], width: float | None = None) -> float:
        start = self.next
        self.columns.append(Column(start, name, tuple(ticks)))
        self.next += max(NARROWEST, len(ticks) if width is None else width) + GAP
        return start

    def finished(self, alt: str) -> Chart:
        figure = self.drawing.figure
        at = [(column.start + k, tick) for column in self.columns for k, tick in enumerate(column.ticks)]
        figure.update_xaxes(
            tickvals=[x for x, _ in at],
            ticktext=[escape(tick) for _, tick in at],
            range=[-0.8, self.next - GAP],
            tickangle=0,
            fixedrange=True,
        )
        figure.update_yaxes(showgrid=True, gridcolor=GRID, zeroline=True, zerolinecolor=EVEN_LINE)
        for column in self.columns:
            figure.add_annotation(
                x=column.start - 0.5,
                y=1.0,
                yref="paper",
                yanchor="bottom",
                xanchor="left",
                text=f"<b>{escape(column.name)}</b>",
                showarrow=False,
                font={"size": 11},
            )
            figure.add_vline(x=column.start - 0.5 - GAP / 2, line={"color": GRID, "width": 1})
        figure.update_layout(legend={"y": -0.08, "yanchor": "top"}, margin={"t": 36, "b": 72}, barmode="overlay")
        return self.drawing.chart(alt)


@once
def ruler(scale: RaschScale, *, run_judges: Sequence[str] = ()) -> Chart:
    """Items, judges, people, settings, places and thresholds on one axis; higher is better, or more severe."""
    one = _Ruler()
    _items(one, scale)
    judges = [e for e in scale.elements if e.facet == "judge"]
    looks = looks_of([e.name for e in judges], run_judges)
    color = {e.name: look.color for e, look in zip(judges, looks, strict=True)}
    _judges(one, judges, color)
    _others(one, tr("people"), [e for e in scale.elements if e.facet == "person"], JUDGE_COLORS[-1])
    _others(one, tr("setting"), [e for e in scale.elements if e.facet == "setting"], JUDGE_COLORS[3])
    _places(one, scale, color)
    _thresholds(one, scale, color)
    return one.finished(_alt(scale))


def _items(one: _Ruler, scale: RaschScale) -> None:
    known = scale.items.theta[np.isfinite(scale.items.theta)]
    start = one.column(tr("items"), (), WIDTH)
    if not known.size:
        return
    counts, edges = np.histogram(known, bins=BINS)
    middle, height = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    some = counts > 0
    one.drawing.figure.add_bar(
        x=(counts[some] / counts.max() * (WIDTH - 0.4)).tolist(),
        base=start - 0.5,
        y=middle[some].tolist(),
        width=0.9 * height,
        orientation="h",
        marker={"color": ACCENT, "opacity": 0.55},
        hovertext=[
            tr("{items} at {logits:+.2f}", items=many(n, "item"), logits=y)
            for n, y in zip(counts[some], middle[some], strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _judges(one: _Ruler, judges: Sequence[Element], color: dict[str, str]) -> None:
    """One slot a judge, in the colour that its places have too; the legend names it."""
    judges = judges[:MOST]
    start = one.column(tr("judges"), [""] * len(judges))
    for k, element in enumerate(judges):
        severity = element.severity if np.isfinite(element.severity) else 0.0
        mark = Mark(start + k, severity, element.severity_ci, _hover(element))
        one.drawing.dots([mark], color=color[element.name], name=element.name, upright=True)


def _others(one: _Ruler, name: str, elements: Sequence[Element], color: str) -> None:
    known = [e for e in elements if np.isfinite(e.severity)][:MOST]
    if not known:
        return
    start = one.column(name, [str(k + 1) for k in range(len(known))] if len(known) > 1 else [""])
    marks = [Mark(start + k, e.severity, e.severity_ci, _hover(e)) for k, e in enumerate(known)]
    one.drawing.dots(marks, color=color, upright=True, marker={"symbol": "diamond"})


def _places(one: _Ruler, scale: RaschScale, color: dict[str, str]) -> None:
    """One slot a place, the judges side by side in it."""
    drawn = [judge for judge in scale.places if judge.places][:MOST]
    if not drawn:
        return
    start = one.column(tr("places"), [str(place.position) for place in drawn[0].places])
    for k, judge in enumerate(drawn):
        marks = [
            Mark(
                start + place.position - 1 + beside(k, len(drawn)),
                place.logit,
                place.ci,
                _place_hover(judge.name, place),
            )
            for place in judge.places
        ]
        one.drawing.dots(marks, color=color[judge.name], upright=True, marker={"symbol": "square", "size": 7})


def _thresholds(one: _Ruler, scale: RaschScale, color: dict[str, str]) -> None:
    """Where each score begins, of the only judge or of all."""
    start = one.column(tr("scores"), [str(score) for score in scale.scores[1:]])
    known = [t for t in scale.thresholds if np.isfinite(t.measure)]
    marks = [
        Mark(
            start + scale.scores.index(t.score) - 1,
            t.measure,
            t.ci,
            tr(
                "{whose} score {score} from {measure:+.2f} ({ends})",
                whose=escape(t.whose),
                score=t.score,
                measure=t.measure,
                ends=interval(t.ci, "+.2f"),
            ),
        )
        for t in known
    ]
    if marks:
        shade = color.get(known[0].whose, JUDGE_COLORS[-1])
        one.drawing.dots(marks, color=shade, upright=True, marker={"symbol": "line-ew-open", "size": 11})


def _hover(element: Element) -> str:
    value = f"{number(element.severity, '+.2f')} ({interval(element.severity_ci, '+.2f')})"
    fit = tr(
        "infit {infit}, outfit {outfit}",
        infit=number(element.fit.infit, ".2f"),
        outfit=number(element.fit.outfit, ".2f"),
    )
    return tr(
        "{name}: severity {severity}<br>{fit}: {words}",
        name=escape(element.name),
        severity=value,
        fit=fit,
        words=fit_words(element.fit.infit),
    )


def _place_hover(name: str, place: Place) -> str:
    return tr(
        "{name}, position {place}: {logit:+.2f} ({ends})",
        name=escape(name),
        place=place.position,
        logit=place.logit,
        ends=interval(place.ci, "+.2f"),
    )


def _alt(scale: RaschScale) -> str:
    known = scale.items.theta[np.isfinite(scale.items.theta)]
    if not known.size:
        why = tr(scale.why) or tr("no item has a measure")
        return tr("No ruler of {dataset}: {why}.", dataset=scale.dataset, why=why)
    severe = [f"{e.name} {number(e.severity, '+.2f')}" for e in scale.elements if np.isfinite(e.severity)]
    places = [_most_added(judge.name, judge.places) for judge in scale.places if judge.places]
    return tr(
        "Ruler of {dataset} in logits. {items} from {lowest:+.1f} to {highest:+.1f}. Severity: {severe}. "
        "Place that adds most: {places}.",
        dataset=scale.dataset,
        items=many(len(known), "item"),
        lowest=known.min(),
        highest=known.max(),
        severe=listed(severe[:4], of=len(severe)),
        places=listed(places[:4], of=len(places)),
    )


def _most_added(name: str, places: Sequence[Place]) -> str:
    return tr("{name} position {place}", name=name, place=max(places, key=lambda p: p.logit).position)


# ---------------------------------------------------------------- beside the choice model


@once
def places_forest(arm: RaschArm) -> Chart:
    """Each place's log-odds by the Rasch model (scores as ranks) and by the choice model (as names)."""
    lines: tuple[tuple[str, tuple[Place, ...]], ...] = (
        (tr("Rasch model"), arm.places),
        (tr("choice model"), arm.choice),
    )
    drawing = Drawing(x=tr("log-odds against the mean place"), height=120 + 52 * max(len(arm.places), 1))
    drawing.level(x=0)
    for index, (name, places) in enumerate(lines):
        marks = [
            Mark(
                row + beside(index, len(lines)),
                place.logit,
                place.ci,
                _place_hover(name, place),
                Behind(
                    tr("{name}, position {p}", name=arm.arm, p=place.position), arm=arm.code, position=place.position
                ),
            )
            for row, place in enumerate(places)
            if np.isfinite(place.logit)
        ]
        drawing.dots(marks, name=name, color=judge_color(index))
    drawing.rows([tr("position {place}", place=place.position) for place in arm.places])
    top = [_most_added(name, places) for name, places in lines if places]
    return drawing.chart(tr("Places of {arm} by two models; most is added at: {top}.", arm=arm.arm, top=listed(top)))
