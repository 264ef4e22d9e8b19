"""Figures inside a document of our own: the drawing library once, and each figure's data."""

from __future__ import annotations

import json
from functools import cache

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs


@cache
def library() -> str:
    """The source of plotly.js, about 5 MB, as it stands between the tags of a script."""
    return str(get_plotlyjs()).replace("\r\n", "\n").replace("\r", "\n")


def figure_data(figure: go.Figure) -> str:
    """A figure as JSON that may stand inside a script element: data and layout, no template.

    The template is the same for every figure; whoever draws them brings one. No sign in the
    text ends the element it stands in.
    """
    value = json.loads(figure.to_json())
    value["layout"].pop("template", None)
    kept = {"data": value["data"], "layout": value["layout"]}
    text = json.dumps(kept, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def height(figure: go.Figure) -> int:
    """Pixels that the figure asks for, so that its place can be kept before it is drawn."""
    return int(figure.layout.height or 360)
