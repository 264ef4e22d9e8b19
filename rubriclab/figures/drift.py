"""One judge at two times: each item then and now, and every answer with its interval."""

from __future__ import annotations

from html import escape

import numpy as np
from plotly.subplots import make_subplots

from rubriclab.figures.marks import Drawing, Mark, verdict_said
from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, UNDER, Behind, Chart, house_style, once
from rubriclab.findings.drift import Answer, Drift
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number

ROW, ITEMS = 34, 320
"""Height in pixels of an answer's line, and of the panel of items."""


@once
def then_and_now(found: Drift) -> Chart:
    """Above: an item's mean over orders then (across) and now (up); on the dotted line nothing changed. Below: what
    each part changed by with the interval of all at once; shaded what is too small to be of interest."""
    known = [one for one in found.answers if np.isfinite(one.effect.estimate)]
    body = ROW * max(len(known), 1) + 16
    whole = ITEMS + body
    figure = make_subplots(
        rows=2, cols=1, row_heights=[ITEMS / whole, body / whole], vertical_spacing=72 / (whole + 72)
    )
    drawing = Drawing(house_style(figure, height=whole + 72 + 76, showlegend=False))
    above, below = {"row": 1, "col": 1}, {"row": 2, "col": 1}
    then, now = found.means.T
    ends = [float(np.nanmin(found.means)), float(np.nanmax(found.means))]
    line = {"dash": "dot", "color": EVEN_LINE, "width": 1.5}
    figure.add_scatter(x=ends, y=ends, mode="lines", line=line, hoverinfo="skip", showlegend=False, **above)
    marks = [
        Mark(
            float(x), float(y), hover=tr("then {x:.2f}, now {y:.2f}", x=x, y=y), behind=_behind(found, int(item), x, y)
        )
        for x, y, item in zip(then, now, found.item, strict=True)
    ]
    drawing.dots(marks, color=ACCENT, upright=True, place=above, marker={"size": 8, "opacity": 0.6})
    unit = tr(found.answers[0].effect.unit)
    figure.update_xaxes(title_text=tr("Then, {unit}", unit=unit), **above)
    figure.update_yaxes(title_text=tr("Now, {unit}", unit=unit), **above)
    rows = [Mark(row, one.effect.estimate, one.effect.interval, _hover(one)) for row, one in enumerate(known)]
    drawing.dots(rows, color=[_color(one) for one in known], place=below, marker={"size": 10})
    # After the marks: Plotly leaves shapes out of a panel that is still empty.
    drawing.room(found.smallest, place=below)
    drawing.level(x=0, place=below)
    drawing.rows([tr(one.title) for one in known], place=below)
    figure.update_xaxes(title_text=tr("Change, {unit}; intervals hold at once", unit=unit), **below)
    words = "; ".join(_alt(one) for one in known) or tr("no change could be worked out")
    return drawing.chart(_higher(found) + tr("Changes with intervals that hold at once: {words}.", words=words))


def _higher(found: Drift) -> str:
    then, now = found.means.T
    items = many(len(then), "item")
    return tr("{items} then and now, {higher:,} of them higher now. ", items=items, higher=int((now > then).sum()))


def _behind(found: Drift, item: int, then: float, now: float) -> Behind:
    return Behind(
        tr("an item that had {then:.2f} then and {now:.2f} now: its judgments then", then=then, now=now),
        item=item,
        run=found.then[0],
    )


def _hover(one: Answer) -> str:
    why = f"<br>{escape(tr(one.effect.why))}" if one.effect.why else ""
    estimate, ends = number(one.effect.estimate, "+.3f"), interval(one.effect.interval, "+.3f")
    return f"{escape(tr(one.title))}<br>{estimate} ({ends})<br>{verdict_said(one.effect.verdict)}{why}"


def _color(one: Answer) -> str:
    if one.effect.verdict != "effect":
        return EVEN_LINE
    return OVER if one.effect.estimate > 0 else UNDER


def _alt(one: Answer) -> str:
    ends = interval(one.effect.interval, "+.2f")
    return f"{tr(one.title)} {number(one.effect.estimate, '+.2f')} ({ends}), {verdict_said(one.effect.verdict)}"
