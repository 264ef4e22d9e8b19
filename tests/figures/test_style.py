"""The colours: apart for colour-blind eyes, visible in light and dark, their inks readable."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import pkgutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
import pytest

import rubriclab.figures
from rubriclab.figures.style import (
    DIVERGING,
    JUDGE_COLORS,
    SEQUENTIAL,
    Chart,
    centred_at,
    color_at,
    contrast,
    ink_on,
    new_figure,
    once,
    still,
    with_behind,
)
from rubriclab.model.language import speaking, tr

# Machado, Oliveira and Fernandes (2009), Table 1, severity 1.0; they act on linear RGB.
SEEN = {
    "as it is": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
THEME = tomllib.loads((Path(__file__).resolve().parents[2] / ".streamlit/config.toml").read_text())
BACKGROUNDS = [THEME["theme"][mode]["backgroundColor"] for mode in ("light", "dark")]
SCALES = {"sequential": SEQUENTIAL, "diverging": DIVERGING, "off centre": centred_at(0.2)}


def lab(color: str, eye: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """CIELAB (D65) of an sRGB colour as ``eye`` sees it."""
    rgb = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = xyz @ np.clip(SEEN[eye] @ linear, 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    fx, fy, fz = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def apart(one: str, other: str, eye: str) -> float:
    """Distance of two colours (CIE 1976); about 2.3 can just be told apart side by side."""
    return float(np.linalg.norm(lab(one, eye) - lab(other, eye)))


def test_lab_of_known_colours() -> None:
    assert lab("#ffffff", "as it is") == pytest.approx([100, 0, 0], abs=0.1)
    assert lab("#ff0000", "as it is") == pytest.approx([53.2, 80.1, 67.2], abs=0.2)


@pytest.mark.parametrize("eye", SEEN)
def test_judges_stay_apart(eye: str) -> None:
    for one, other in itertools.pairwise(JUDGE_COLORS):
        assert apart(one, other, eye) > 15, (one, other)
    for one, other in itertools.combinations(JUDGE_COLORS, 2):
        assert apart(one, other, eye) > 9, (one, other)


@pytest.mark.parametrize("eye", SEEN)
def test_the_sides_of_a_shift_stay_apart(eye: str) -> None:
    colors = [str(color) for _, color in DIVERGING]
    assert apart(colors[0], colors[-1], eye) > 60
    assert apart(colors[1], colors[-2], eye) > 50
    assert apart(colors[0], colors[2], eye) > 40


@pytest.mark.parametrize("color", JUDGE_COLORS)
def test_marks_stand_out_in_light_and_dark(color: str) -> None:
    """WCAG 2, 1.4.11: parts of a graphic against what they stand on."""
    for background in BACKGROUNDS:
        assert contrast(color, background) >= 3.0


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", SCALES)
def test_numbers_on_cells_can_be_read(name: str) -> None:
    for at in np.linspace(0.0, 1.0, 201):
        fill = color_at(SCALES[name], float(at))
        assert contrast(ink_on(SCALES[name], float(at)), fill) >= 4.5


def test_color_at_mixes_and_stops_at_the_ends() -> None:
    scale = [[0.0, "#000000"], [0.5, "#ff0000"], [1.0, "#ffffff"]]
    assert color_at(scale, 0.25) == "#800000"
    assert color_at(scale, -1.0) == "#000000"
    assert color_at(scale, 2.0) == "#ffffff"


def test_a_still_figure_keeps_all_but_its_drag_mode() -> None:
    figure = new_figure(x="a", y="b").add_scatter(x=[1], y=[2])
    told = still(figure).to_dict()
    assert told["layout"]["dragmode"]  # what Streamlit would overrule if it were false
    assert told["layout"]["template"]["layout"]["dragmode"] is False
    assert figure.layout.dragmode is False
    assert go.Figure(figure).to_dict()["data"] == told["data"]


class Found(NamedTuple):
    """Stands for a result: told by which object it is."""

    value: float


def test_the_same_results_are_drawn_once_and_others_anew() -> None:
    drawn: list[tuple[object, ...]] = []

    @once
    def dots(found: Sequence[Found], *, title: str = "") -> Chart:
        drawn.append((found, title))
        return Chart(go.Figure(), tr("Order"))

    kept = Found(1.0), Found(1.0)
    first = dots(list(kept), title="a")
    assert dots(list(kept), title="a") is first, "another list of the same results"
    assert dots(list(kept[::-1]), title="a") is not first, "equal results, but others, in this order"
    assert dots(list(kept), title="b") is not first
    with speaking("de"):
        assert dots(list(kept), title="a").alt != first.alt
    assert len(drawn) == 4


def test_true_and_one_and_what_is_gone_are_not_taken_for_each_other() -> None:
    @once
    def said(value: object) -> Chart:
        return Chart(go.Figure(), repr(value))

    assert [said(value).alt for value in (1, True, 1.0, "1")] == ["1", "True", "1.0", "'1'"]
    # An object that nobody holds leaves its place in memory to the next: it must not leave its chart.
    assert [said(SimpleNamespace(number=number)).alt for number in range(300)] == [
        f"namespace(number={number})" for number in range(300)
    ]


def test_arrays_are_drawn_each_time() -> None:
    @once
    def line(values: np.ndarray) -> Chart:
        return Chart(go.Figure(), str(values.sum()))

    values = np.ones(3)
    first = line(values)
    values += 1.0
    assert (first.alt, line(values).alt) == ("3.0", "6.0")


def test_every_figure_is_drawn_once() -> None:
    """One rule for all: whoever writes a figure need not think of it again."""
    names = [module.name for module in pkgutil.iter_modules(rubriclab.figures.__path__)]
    for module in (importlib.import_module(f"rubriclab.figures.{name}") for name in names):
        for name, draw in vars(module).items():
            own = inspect.isfunction(draw) and draw.__module__ == module.__name__ and not name.startswith("_")
            if own and inspect.signature(draw).return_annotation == "Chart" and name != with_behind.__name__:
                assert hasattr(draw, "__wrapped__"), f"{module.__name__}.{name} lacks @once"


def test_a_still_figure_is_written_down_once_and_its_own_figure_is_let_be() -> None:
    figure = new_figure(x="x")
    written = still(figure).to_dict()
    assert still(figure).to_dict() is written
    assert figure.to_dict()["layout"]["dragmode"] is False
    assert json.loads(figure.to_json())["layout"]["dragmode"] is False
