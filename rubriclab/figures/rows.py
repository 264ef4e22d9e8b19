"""A chart as the numbers in it: one row a point, for a spreadsheet or another plotting program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

COLUMNS = ("series", "x", "y", "z", "x_low", "x_high", "y_low", "y_high", "text")


def figure_rows(figure: go.Figure) -> pd.DataFrame:
    """(points, up to 9): ``series`` (a trace's name, else its number), x, y, of cells z, the ends of error bars as
    values, and the text beside a point. Columns that no trace fills are left out."""
    rows = [row for number, trace in enumerate(figure.data, 1) for row in _points(_series(trace.name, number), trace)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.loc[:, [name for name in COLUMNS if name == "series" or frame[name].notna().any()]]


def _series(name: str | None, number: int) -> str:
    """A trace's name as it was before it was folded into lines for the legend."""
    return re.sub(r"(?<=[/_-])<br>", "", str(name or number)).replace("<br>", " ")


def _points(series: str, trace: Any) -> Iterator[dict[str, Any]]:
    if getattr(trace, "z", None) is not None:
        yield from _cells(series, trace)
        return
    x, y, text = (_values(getattr(trace, part, None)) for part in ("x", "y", "text"))
    ends = {axis: _ends(getattr(trace, f"error_{axis}", None)) for axis in ("x", "y")}
    for at in range(max(len(x), len(y))):
        row: dict[str, Any] = {"series": series, "x": _at(x, at), "y": _at(y, at), "text": _at(text, at)}
        for axis, (below, above) in ends.items():
            value, low, high = row[axis], _at(below, at), _at(above, at)
            if low is not None and high is not None and isinstance(value, int | float):
                row |= {f"{axis}_low": value - low, f"{axis}_high": value + high}
        yield row


def _cells(series: str, trace: Any) -> Iterator[dict[str, Any]]:
    cells = np.asarray(trace.z, dtype=object)
    x, y = _values(trace.x), _values(trace.y)
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            yield {
                "series": series,
                "x": _at(x, column) if x else column + 1,
                "y": _at(y, row) if y else row + 1,
                "z": _plain(cells[row, column]),
            }


def _ends(bars: Any) -> tuple[list[Any], list[Any]]:
    """How far error bars reach below and above; nothing where there are none."""
    above = _values(getattr(bars, "array", None))
    below = _values(getattr(bars, "arrayminus", None))
    return below or above, above


def _values(held: Any) -> list[Any]:
    if held is None or isinstance(held, str):
        return []
    return [_plain(value) for value in np.asarray(held, dtype=object).ravel()]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _at(values: list[Any], at: int) -> Any:
    return values[at] if at < len(values) else None
