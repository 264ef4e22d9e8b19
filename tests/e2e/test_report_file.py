"""The report as a reader gets it: opened from the file system in a real browser, without a network."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model import Criterion, Dataset, Design, Item, Rubric, ScoreOption, Strategy, Study
from rubriclab.report import source
from rubriclab.report.page import html_report
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page
from tests.e2e.test_accessibility import AXE, AXE_VARIABLE
from tests.simulated_runs import run_into, simulated

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
ATTACK = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"
HOSTILE = {
    "tags": ATTACK,
    "closing": "</script></style></title><b>out",
    "markdown": "**bold** [link](http://evil.example) | cell | `code`",
    "long": "w" * 400,
    "right to left": "שלום \u202eevil\u202c עולם",
    "controls": "a\x00b\x07c\x1b[31m\x7f\x85",
    "emoji": "🙂" * 20,
    "formula": '=HYPERLINK("http://evil.example")',
}


def hostile_study() -> Study:
    items = tuple(
        Item(name, f"{name}: {text}", text, prompt=text[:40], candidate=candidate, human=(3.0,))
        for candidate in ("one", "two")
        for name, text in ((f"{k} {candidate} {v}", v) for k, v in HOSTILE.items())
    )
    options = tuple(ScoreOption(score, f"{score} {ATTACK}") for score in range(1, 6))
    return Study(
        name=f"{ATTACK} & “{HOSTILE['right to left']}”",
        dataset=Dataset(HOSTILE["long"], items),
        judges=(simulated(ATTACK, position={"first": 1.5}), simulated(HOSTILE["controls"])),
        rubric=Rubric(ATTACK, (Criterion(ATTACK, options, ATTACK),)),
        design=Design(strategies=(Strategy("balanced"), Strategy("fixed"))),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of several runs and one of hostile text, as files."""
    folder = tmp_path_factory.mktemp("reports")
    with Store(":memory:") as store:
        names = run_into(store, "options", "criteria", "pairs")
        run = RunManager(store).start(hostile_study())
        assert run.wait(60).state == "finished"
        pages = {
            "several": html_report([source(store, name) for name in names.values()]),
            "one": html_report([source(store, names["pairs"])]),
            "hostile": html_report([source(store, run.info.run)]),
        }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def until(page: Any, said: str, *, within: float = 20.0) -> None:
    """Wait until an expression holds. (Playwright's own waiting evaluates text as code, which
    the report's policy forbids.)"""
    end = time.monotonic() + within
    while not page.evaluate(said):
        assert time.monotonic() < end, f"never true: {said}"
        page.wait_for_timeout(100)


DRAWN = "document.querySelectorAll('.plot > .plot-container').length"


class Opened:
    """A report in the browser, with whatever it asked for and complained about."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page = page
        self.asked: list[str] = []
        self.said: list[str] = []
        page.route("**/*", self._gate)
        page.on("console", lambda m: self.said.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda fault: self.said.append(str(fault)))
        page.on("dialog", lambda dialog: self.said.append(dialog.message))
        page.goto(file.as_uri())
        until(page, f"{DRAWN} > 0")

    def _gate(self, route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            self.asked.append(route.request.url)
            route.abort()

    def drawn(self) -> int:
        """Scroll through the whole document; how many charts are drawn then."""
        self.page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        count = self.page.locator(".plot").count()
        until(self.page, f"{DRAWN} === {count}")
        return int(count)


@pytest.fixture
def opened(files: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Opened]:
    name, options = request.param
    with browser_page(**options) as page:
        yield Opened(page, files[name])


@pytest.mark.parametrize(
    "opened", [("several", {}), ("one", {"width": 390, "dark": True}), ("hostile", {"width": 390})], indirect=True
)
def test_everything_draws_and_nothing_is_asked_for(opened: Opened) -> None:
    assert opened.drawn() >= 5
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate("typeof window.hacked") == "undefined"
    assert page.locator("img, iframe, link, main script, header script").count() == 0
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    targets = page.evaluate("[...document.querySelectorAll('nav a')].map(a => !!document.querySelector(a.hash))")
    assert targets
    assert all(targets)
    assert opened.asked == []
    assert opened.said == []


@pytest.mark.parametrize("opened", [("one", {})], indirect=True)
def test_a_chart_hovers_zooms_and_follows_the_theme(opened: Opened) -> None:
    page = opened.page
    plot = page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    bar = plot.locator(".barlayer .point path").first.bounding_box()
    page.mouse.move(bar["x"] + bar["width"] / 2 - 4, bar["y"] + bar["height"] / 2)
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    until(page, "document.querySelectorAll('.plot .hoverlayer .hovertext').length > 0")
    ranges = "JSON.stringify(['xaxis', 'yaxis'].map(a => document.querySelector('.plot')._fullLayout[a].range))"
    before = page.evaluate(ranges)
    plot.locator(".modebar-btn[data-title='Zoom in'], .modebar-btn[aria-label='Zoom in']").click()
    until(page, f"{ranges} !== {json.dumps(before)}")
    ink = "document.querySelector('.plot')._fullLayout.font.color"
    light = page.evaluate(ink)
    page.emulate_media(color_scheme="dark")
    until(page, f"{ink} !== {json.dumps(light)}")
    assert opened.said == []


@pytest.mark.parametrize("opened", [("one", {})], indirect=True)
def test_the_keyboard_reaches_contents_and_tables(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('nav') !== null")
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#part-1"
    assert page.locator(".wide[tabindex='0'][role='group']").count() >= 1


@pytest.mark.parametrize("opened", [("one", {"dark": True})], indirect=True)
def test_on_paper_it_is_dark_on_light_and_whole(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    until(page, f"{DRAWN} === document.querySelectorAll('.plot').length")
    assert page.evaluate("document.querySelector('.plot')._fullLayout.font.color") == "#1d232b"
    assert page.evaluate("document.querySelector('.plot')._fullLayout.width <= 640")
    page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 50_000


def test_the_hostile_text_is_there_as_text(files: dict[str, Path]) -> None:
    page = files["hostile"].read_text(encoding="utf-8")
    assert "<script>window.hacked" not in page
    assert "onerror='" not in page
    assert "&lt;script&gt;window.hacked=1&lt;/script&gt;" in page
    assert "\x00" not in page
    assert "␀" in page
    assert "\u202e" not in page


@pytest.mark.skipif(not AXE.is_file(), reason=f"no {AXE}: npm install axe-core, or name the file in {AXE_VARIABLE}")
@pytest.mark.parametrize("opened", [("several", {"dark": True}), ("hostile", {"width": 390})], indirect=True)
def test_axe_finds_nothing_to_mend(opened: Opened) -> None:
    opened.drawn()
    opened.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = opened.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], one["nodes"][0]["target"]) for one in found["violations"]] == []
