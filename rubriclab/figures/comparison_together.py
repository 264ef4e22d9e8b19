"""Charts of several judges of the same pairs or lists, held together. Every name is a user's text and is escaped."""

from __future__ import annotations

from html import escape
from itertools import combinations

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale
from rubriclab.figures.style import ACCENT, SEQUENTIAL, Chart, once
from rubriclab.findings.comparison_together import JudgesTogether
from rubriclab.model.language import tr
from rubriclab.model.wording import many, number

_ROOM = 24
"""Characters of judges' names side by side for which a phone has room below cells; else they are numbered."""


@once
def agreement_heatmap(together: JudgesTogether, *, ties: bool = True) -> Chart:
    """Share of calls that two judges answered alike, with or without those where one said tie."""
    agreement = together.with_ties if ties else together.without_ties
    judges, n = together.judges, len(together.judges)
    share = np.asarray(agreement.share, dtype=np.float64)

    def hover(i: int, j: int) -> str:
        return tr(
            "{one} and {other}<br>{share} ({low} to {high})<br>{calls} calls",
            one=escape(judges[i]),
            other=escape(judges[j]),
            share=_percent(share[i, j]),
            low=_percent(agreement.low[i, j]),
            high=_percent(agreement.high[i, j]),
            calls=int(agreement.n[i, j]),
        )

    drawing = Drawing(height=150 + 44 * max(n, 2))
    drawing.cells(
        share,
        Scale(SEQUENTIAL, 0.0, 1.0),
        text=lambda i, j: _percent(share[i, j]),
        hover=hover,
        x=list(range(n)),  # places, not names: two shortened names may be alike
    )
    long = max(map(len, judges), default=0) * n > _ROOM
    drawing.rows([f"{k + 1} · {name}" for k, name in enumerate(judges)] if long else judges)
    across = [str(k + 1) for k in range(n)] if long else [escape(name) for name in judges]
    drawing.figure.update_xaxes(tickvals=list(range(n)), ticktext=across, tickangle=0, automargin=True, showgrid=False)
    words = "; ".join(
        tr("{one} and {other} {share}", one=judges[i], other=judges[j], share=_percent(share[i, j]))
        for i, j in combinations(range(n), 2)
    )
    if ties:
        return drawing.chart(tr("Agreement of judges, ties included: {words}.", words=words))
    return drawing.chart(tr("Agreement of judges, without ties: {words}.", words=words))


@once
def disagreement_curve(together: JudgesTogether) -> Chart:
    """Share of calls on which at most so many judgments differ from the commonest one."""
    drawing = Drawing(x=tr("Differing judgments, at most"), y=tr("Share of calls"))
    shares = [float(share) for share in together.distribution]
    drawing.dots(
        [Mark(d, s, hover=tr("at most {d}: {s:.1%}", d=d, s=s)) for d, s in enumerate(shares)],
        color=ACCENT,
        upright=True,
        joined=True,
        line={"shape": "hv"},
        marker={"size": 8},
    )
    drawing.figure.update_yaxes(range=[0, 1.03], tickformat=".0%")
    drawing.figure.update_xaxes(dtick=1)
    words = ", ".join(tr("at most {d}: {share}", d=d, share=_percent(share)) for d, share in enumerate(shares))
    return drawing.chart(
        tr(
            "Disagreement of {judges} on {calls} calls: {words}.",
            judges=many(len(together.judges), "judge"),
            calls=together.n_instances,
            words=words,
        )
    )


def _percent(value: float) -> str:
    return number(value, ".0%")
