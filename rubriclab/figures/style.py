"""One look for every chart: colours that survive dark mode and colour blindness, one layout."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
import plotly.graph_objects as go

from rubriclab.model.language import language, separators

P = ParamSpec("P")
Drawn = TypeVar("Drawn")

# Okabe-Ito's order, darkened a little so that lines read on white and on near-black alike.
JUDGE_COLORS = ("#0072b2", "#d55e00", "#009e73", "#b45f93", "#82992c", "#3a95c2", "#7a6ff0", "#7d7d7d")
ACCENT = "#0072b2"
EVEN_LINE = "#8a8f98"
OVER, UNDER = "#d55e00", "#0072b2"

# Diverging, centred on "what an unbiased judge would show": blue under, orange over.
DIVERGING: list[list[Any]] = [
    [0.0, "#14507f"],
    [0.25, "#6fa8d0"],
    [0.5, "#f1eee7"],
    [0.75, "#eba765"],
    [1.0, "#a84608"],
]


def centred_at(middle: float) -> list[list[float | str]]:
    """DIVERGING with its neutral colour at ``middle`` (0 to 1) of the scale, each side whole."""
    sides = (2.0 * middle, 2.0 * (1.0 - middle))
    return [
        [at * sides[0] if at <= 0.5 else middle + (at - 0.5) * sides[1], color]
        for at, color in ((float(at), str(color)) for at, color in DIVERGING)
    ]


# One-directional quantities (shares, counts, agreement).
SEQUENTIAL = [[0.0, "#f1eee7"], [0.35, "#9cc3dd"], [0.7, "#3d83b5"], [1.0, "#0d3f66"]]

DARK_INK, LIGHT_INK = "#000000", "#ffffff"
"""Text on a filled cell. The fills are the same in light and dark mode, so the inks are too; only
the two extremes give every colour of a scale a contrast of 4.5 (WCAG 2, 1.4.3) with one of them."""


def color_at(scale: Sequence[Sequence[Any]], at: float) -> str:
    """The colour of ``scale`` at ``at`` (0 to 1; beyond: its ends), mixed as Plotly mixes it."""
    stops = [float(stop) for stop, _ in scale]
    parts = np.array([[int(str(c)[k : k + 2], 16) for k in (1, 3, 5)] for _, c in scale])
    return "#" + "".join(f"{round(np.interp(at, stops, part)):02x}" for part in parts.T)


def ink_on(scale: Sequence[Sequence[Any]], at: float) -> str:
    """The ink that reads better on the colour of ``scale`` at ``at`` (0 to 1)."""
    fill = color_at(scale, at)
    return max((DARK_INK, LIGHT_INK), key=lambda ink: contrast(ink, fill))


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    """Relative luminance of an sRGB colour (WCAG 2.2)."""
    channels = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


FADED = 0.5
"""Opacity of the points beside a clicked one."""


X_AXIS = {"showgrid": False, "zeroline": False}
Y_AXIS = {"gridcolor": "rgba(128,128,128,0.18)", "zeroline": False, "automargin": True}


@dataclass(frozen=True, slots=True)
class Behind:
    """Which judgments one point of a chart was made of: what is not None is a condition.

    ``arm``: its code in the run; ``item``: an item's code; ``status``: an outcome, or "unread"
    for all but ok; ``ordering``: what was shown, from the first position on, as text. ``run``
    only where a chart shows several runs. ``name``: the point in words, for the link to its
    judgments.
    """

    name: str
    arm: int | None = None
    score: int | None = None
    position: int | None = None
    item: int | None = None
    criterion: str | None = None
    ordering: str | None = None
    run: str | None = None
    status: str | None = None


class Chart(NamedTuple):
    """A figure and the sentence that says what it shows to whoever cannot see it.

    ``behind[trace][point]``: the judgments behind a point of a trace, where it has any; these
    points can be clicked on.
    """

    figure: go.Figure
    alt: str
    behind: Mapping[int, Sequence[Behind | None]] = MappingProxyType({})


_KEPT: OrderedDict[tuple[Any, ...], tuple[Any, Any]] = OrderedDict()
_MOST_KEPT = 128
_KEEPING = Lock()


def once(draw: Callable[P, Drawn]) -> Callable[P, Drawn]:
    """``draw``, which draws the same results in the same language only once; no chart may be changed later.

    A page runs anew at every click, mostly on the very results that a cache keeps for it, and Plotly
    takes longer to make ten charts than all else on the page takes. Results are told apart by which
    object they are. What is given frames or arrays, which are made anew each time, is drawn each time.
    """

    @wraps(draw)
    def drawn(*given: P.args, **options: P.kwargs) -> Drawn:
        try:
            key = (draw, language(), _known_by(given), _known_by(options))
        except TypeError:
            return draw(*given, **options)
        with _KEEPING:
            found = _KEPT.get(key)
            if found is not None:
                _KEPT.move_to_end(key)
                kept: Drawn = found[1]
                return kept
        chart = draw(*given, **options)
        with _KEEPING:
            # What was given is kept with it: else its place in memory could become another object's.
            _KEPT[key] = ((given, options), chart)
            while len(_KEPT) > _MOST_KEPT:
                _KEPT.popitem(last=False)
        return chart

    return drawn


def _known_by(value: Any) -> Any:
    """What tells ``value`` from others without comparing numbers. Raises TypeError for frames and arrays."""
    if value is None or isinstance(value, str | int | float):
        return type(value), value
    if type(value) in (list, tuple):
        return type(value), tuple(map(_known_by, value))
    if isinstance(value, Mapping):
        return tuple((name, _known_by(part)) for name, part in value.items())
    if hasattr(value, "__array__"):
        raise TypeError(f"{type(value).__name__} is made anew each time")
    return id(value)


def with_behind(figure: go.Figure, alt: str, behind: Mapping[int, Sequence[Behind | None]]) -> Chart:
    """A chart whose points lead to their judgments.

    Plotly fades all that was not clicked to a fifth; here it stays readable.
    """
    for trace in figure.data:
        drawn = trace.type == "bar" or "markers" in str(getattr(trace, "mode", ""))
        if drawn and trace.unselected.marker.opacity is None:
            own = trace.marker.opacity
            faded = FADED * (own if isinstance(own, int | float) else 1.0)
            trace.selected.marker.opacity, trace.unselected.marker.opacity = 1, faded
    return Chart(figure, alt, behind)


def new_figure(*, x: str = "", y: str = "", height: int = 360, **layout: Any) -> go.Figure:
    """An empty figure in the house style: no title (the page has it), quiet grid, wide margins.

    ``x`` and ``y`` are the axis titles, with units. Made in one piece: Plotly takes ten times as
    long to change a figure as to make one.
    """
    axes = {
        "xaxis": {**layout.pop("xaxis", {}), **X_AXIS, "title": {"text": x}},
        "yaxis": {**layout.pop("yaxis", {}), **Y_AXIS, "title": {"text": y}},
    }
    return go.Figure(layout=go.Layout(**_house(height), **axes, **layout))


def house_style(figure: go.Figure, *, height: int, **layout: Any) -> go.Figure:
    """The look of every figure, whatever its panels; returns the same figure."""
    figure.update_layout(**_house(height), **layout)
    figure.update_xaxes(X_AXIS)
    figure.update_yaxes(Y_AXIS)
    return figure


def _house(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 56, "r": 16, "t": 28, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": 13},
        "hoverlabel": {"font": {"size": 13}},
        "separators": separators(),
        "dragmode": False,  # a finger or a wheel over a chart moves the page
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
    }


def judge_color(index: int) -> str:
    """The index-th colour of a series that is no judge: a method, a strategy, a kind of number."""
    return JUDGE_COLORS[index % len(JUDGE_COLORS)]


DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon")
PATTERNS = ("", "/", ".", "x", "-", "+")


class Look(NamedTuple):
    """A judge's colour, and what tells lines, dots and bars apart without it."""

    color: str
    dash: str
    symbol: str
    pattern: str


def looks_of(drawn: Sequence[str], judges: Sequence[str] = ()) -> list[Look]:
    """A look for each judge in ``drawn`` (by name; a name a series): the same on every page of a run.

    ``judges``: all of the run, in its order, whatever is drawn; those that it lacks come after them.
    A judge keeps its colour. Its second, third, … series has another dash, symbol and pattern, and
    so have other judges (bars: no pattern, as they do not cross).
    """
    places = {judge: place for place, judge in enumerate(dict.fromkeys([*judges, *drawn]))}
    seen: dict[str, int] = {}
    looks = []
    for judge in drawn:
        place, nth = places[judge], seen.get(judge, 0)
        seen[judge] = nth + 1
        at = place + nth + place // len(JUDGE_COLORS)  # the ninth judge has the first's colour, and another mark
        marks = (DASHES[at % len(DASHES)], SYMBOLS[at % len(SYMBOLS)], PATTERNS[nth % len(PATTERNS)])
        looks.append(Look(judge_color(place), *marks))
    return looks


_STILL, _WRITTEN = "_rubriclab_still", "_rubriclab_written"
"""Where a figure keeps its still view, and that what it was written down as."""


class _Still(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """A figure that leaves dragging to the page although its points can be clicked on.

    It is written down once: a chart does not change, and Plotly copies all of it every time. Streamlit takes ``dragmode=False`` for "not set" where points can be selected, and sets
    "pan", which catches every finger. A mode that Plotly does not know passes Streamlit; Plotly
    then falls back on the template's, which is False.
    """

    def to_dict(self) -> dict[str, Any]:
        written: dict[str, Any] | None = self.__dict__.get(_WRITTEN)
        if written is not None:
            return written
        document: dict[str, Any] = super().to_dict()
        document["layout"]["dragmode"] = "none"
        document["layout"].setdefault("template", {}).setdefault("layout", {})["dragmode"] = False
        self.__dict__[_WRITTEN] = document
        return document


def still(figure: go.Figure) -> go.Figure:
    """``figure`` for a place where its points are clicked on: a drag over it moves the page.

    A view of the same figure, not a copy: Plotly takes longer to copy one than to make it.
    """
    view = figure.__dict__.get(_STILL)
    if view is None:
        view = object.__new__(_Still)
        view.__dict__.update(figure.__dict__)
        figure.__dict__[_STILL] = view
    return view
