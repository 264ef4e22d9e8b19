"""Charts for paper and slide: nothing cut, told apart in grey, the same bytes, and a reason where nothing can draw."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import struct
from pathlib import Path

import plotly.graph_objects as go
import pytest

from rubriclab.figures import printed as module
from rubriclab.figures.printed import SIZES, NoPrinter, Wanted, browser, laid_out, printed
from rubriclab.figures.style import new_figure
from rubriclab.model import LabError

LONG_NAME = "a judge with a very long name indeed, on a data set of a long name too · balanced · temperature=0.7"


def chart(names: tuple[str, ...] = ("one", LONG_NAME), *, bars: bool = False) -> go.Figure:
    figure = new_figure(x="A title of an axis that is longer than a narrow column of a paper is wide, in points", y="y")
    for number, name in enumerate(names):
        color = ("#0072b2", "#d55e00", "#009e73")[number % 3]
        if bars:
            figure.add_bar(x=[1, 2], y=[number + 1, 2], name=name, marker_color=color)
        else:
            figure.add_scatter(x=[1, 2], y=[number, 2], name=name, mode="lines+markers", marker_color=color)
    return figure


@pytest.mark.parametrize("size", SIZES)
def test_a_chart_has_the_width_and_the_letters_of_its_place(size: str) -> None:
    wanted = SIZES[size]
    figure, scale = laid_out(Wanted(chart(), "A caption"), wanted)
    layout = figure["layout"]
    assert layout["width"] * scale / 96 == pytest.approx(wanted.width, abs=0.01)
    letters = layout["font"]["size"] * scale / 96 * 72
    assert letters >= 7
    if wanted.height:
        assert layout["width"] / layout["height"] == pytest.approx(wanted.width / wanted.height, rel=0.01)
        assert letters > 14
        assert layout["title"]["text"] == "A caption"
    else:
        assert "title" not in layout or not layout["title"].get("text")
    assert layout["paper_bgcolor"] == "#ffffff"


def test_long_names_and_titles_are_broken_into_lines_and_get_room() -> None:
    short, _ = laid_out(Wanted(chart(("one", "two"))), SIZES["column"])
    figure, _ = laid_out(Wanted(chart()), SIZES["column"])
    room = figure["layout"]["width"] / module.LETTER
    for trace in figure["data"]:
        assert max(map(len, trace["name"].split("<br>"))) < room
    assert "<br>" in figure["data"][1]["name"]
    assert "<br>" in figure["layout"]["xaxis"]["title"]["text"]
    assert figure["layout"]["height"] > short["layout"]["height"] > 360
    assert figure["layout"]["margin"]["t"] > short["layout"]["margin"]["t"]


def test_what_colour_tells_apart_a_sign_or_a_hatching_tells_apart_too() -> None:
    points, _ = laid_out(Wanted(chart(("one", "two", "three"))), SIZES["column"])
    assert len({trace["marker"]["symbol"] for trace in points["data"]}) == 3
    bars, _ = laid_out(Wanted(chart(("one", "two", "three"), bars=True)), SIZES["column"])
    hatched = [trace["marker"].get("pattern", {}).get("shape", "") for trace in bars["data"]]
    assert len(set(hatched)) == 3
    assert bars["data"][1]["marker"]["pattern"]["fillmode"] == "overlay"  # the colour stays below the hatching


def test_the_chart_of_the_page_is_left_as_it_is() -> None:
    figure = chart()
    before = figure.to_json()
    laid_out(Wanted(figure, "A caption"), SIZES["slide"])
    assert figure.to_json() == before


def test_without_a_browser_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(module, "MAC", tmp_path / "none")
    with pytest.raises(NoPrinter, match="install Chromium or Chrome"):
        browser()
    monkeypatch.setenv("CHROME", str(tmp_path / "chrome"))
    with pytest.raises(NoPrinter, match="CHROME names"):
        browser()
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.delenv("CHROME")
    assert browser() == str(program)


def test_without_kaleido_the_message_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "browser", lambda: "chromium")
    monkeypatch.setitem(__import__("sys").modules, "kaleido", None)
    with pytest.raises(NoPrinter, match="kaleido"):
        printed([Wanted(chart())], "column", ["png"])


def test_times_and_random_names_are_taken_out() -> None:
    pdf = b"/CreationDate (D:20261122191352+00'00')\n/ModDate (D:20261122191352+00'00')"
    assert module._steady("pdf", pdf).count(b"D:20000101000000") == 2
    assert len(module._steady("pdf", pdf)) == len(pdf)
    assert module._steady("svg", b'<defs id="defs-dc367f"><g id="clipdc367fxy"/>').count(b"figure") == 2


@pytest.mark.integration
@pytest.mark.skipif(
    not (shutil.which("chromium") and importlib.util.find_spec("kaleido")),
    reason="needs Chromium (apt-get install chromium) and kaleido",
)
def test_a_real_browser_draws_every_size_and_kind_the_same_twice() -> None:
    for size, wanted in SIZES.items():
        first, again = (printed([Wanted(chart(), "A caption")], size, module.FORMATS)[0] for _ in range(2))
        for form in module.FORMATS:
            assert hashlib.sha256(first[form]).digest() == hashlib.sha256(again[form]).digest(), (size, form)
        width, _ = struct.unpack(">II", first["png"][16:24])
        assert width == pytest.approx(wanted.width * module.DPI, abs=6)
        box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", first["pdf"])
        assert box is not None
        assert float(box[1]) == pytest.approx(wanted.width * 72, abs=2)
        assert b"A title of an axis" in first["svg"]


@pytest.mark.integration
@pytest.mark.skipif(importlib.util.find_spec("kaleido") is None, reason="needs kaleido")
def test_a_browser_that_draws_nothing_is_a_fault_with_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("CHROME", str(program))
    monkeypatch.setattr(module, "START_SECONDS", 10.0)
    monkeypatch.setattr(module, "IMAGE_SECONDS", 5.0)
    with pytest.raises(LabError, match=r"cannot draw|did not draw"):
        printed([Wanted(chart())], "column", ["png"])
