"""Results in a browser: from a cell of the heatmap to the judgment word for word; nothing of a stranger's text runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.store.store import Store
from tests.integration.lab import Browser, running_lab, settled, sideways, strays_of, visit
from tests.sinks import made

pytestmark = pytest.mark.integration

HOSTILE = "<img src=x onerror=window.__ran=1> **b** $x^2$ [c](javascript:alert(1))"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("results") / "lab.duckdb"
    with Store.open(path) as store:
        two = {"judge-7b": made.mostly_first, "other": made.by_quality}
        hostile_criteria = (f"{HOSTILE} {'n' * 10_000}", "B\u202e", "C")
        for name, table in {
            "options": made.options_table(two, items=40, name="Options"),
            "criteria": made.criteria_table(lambda text, slot, at: 2 + (text + slot) % 2 if at else 4, items=20),
            "hostile": made.options_table({HOSTILE: made.always_first}, items=9, name=HOSTILE),
            "hostile-criteria": made.criteria_table(lambda *at: 4 - (at[2] > 0), items=9, names=hostile_criteria),
        }.items():
            calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]].reset_index(drop=True)
            calls = calls.assign(key=calls["call"].astype(str), attempt=1, text=f"{name} {HOSTILE}")
            store.add_table(replace(table, run=name), calls)
    with running_lab(path) as address:
        yield address


def cell(page: Any, chart: int, x: float, y: float) -> None:
    """Click into a chart, at a share of the width and height of what it draws."""
    drawn = page.locator("[data-testid=stPlotlyChart]").nth(chart).locator(".nsewdrag").first
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.wait_for_selector(".hoverlayer .hovertext")
    page.mouse.down()
    page.mouse.up()


def test_a_cell_leads_to_its_judgments_and_their_words(browser: Browser, address: str) -> None:
    with browser() as page:
        visit(page, f"{address}/results?run=options")
        assert "judge-7b favours the option listed first" in page.inner_text("h1")
        # Score by position: score 3 is on top, position 1 at the left.
        cell(page, 1, 1 / 6, 1 / 6)
        page.wait_for_function("() => new URLSearchParams(location.search).get('score') === '3'")
        settled(page)
        asked = page.evaluate("() => Object.fromEntries(new URLSearchParams(location.search))")
        assert asked["tab"] == "Judgments"
        assert asked["position"] == "1"
        words = page.inner_text("[data-testid=stMain]")
        assert "chose 3, at position 1" in words
        page.get_by_text("Reply", exact=True).click()
        settled(page)
        assert page.inner_text("[data-testid=stCode]").strip() == f"options {HOSTILE}"
        # J goes on to the next call, K back.
        first = page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0")
        page.keyboard.press("j")
        settled(page)
        assert page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0") != first
        page.keyboard.press("k")
        settled(page)
        assert page.inner_text("[data-testid=stMain] p:has-text('at position 1') >> nth=0") == first


def test_a_judge_and_a_run_stand_in_the_address(browser: Browser, address: str) -> None:
    with browser() as page:
        visit(page, f"{address}/results?run=options&judge=other")
        assert "other" in page.inner_text("h1") or "Undecided" in page.inner_text("h1")
        page.get_by_text("judge-7b", exact=True).click()
        settled(page)
        assert "judge=judge-7b" in page.url
        assert "judge-7b favours" in page.inner_text("h1")


def test_the_first_screen_holds_the_answer(browser: Browser, address: str) -> None:
    with browser() as page:
        visit(page, f"{address}/results?run=options")
        advice = page.get_by_text("What to do:").bounding_box()
        assert advice["y"] + advice["height"] < 800
        levels = page.evaluate("() => [...document.querySelectorAll('h1, h2, h3')].map(h => +h.tagName[1])")
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
        charts = page.locator("[data-testid=stPlotlyChart]")
        assert charts.count() == page.locator("[data-testid=stPlotlyChart][aria-label]").count() == 3


def test_a_name_without_end_does_not_move_sideways_at_390(browser: Browser, address: str) -> None:
    with browser(width=390, height=844) as page:
        for name in ("results", "runs", "export"):
            visit(page, f"{address}/{name}?run=hostile-criteria")
            assert sideways(page) <= 0, name


@pytest.mark.parametrize("run", ["hostile", "hostile-criteria"])
@pytest.mark.parametrize("page_name", ["results?tab=Bias", "results?tab=Judgments", "export?for=Data", "export?"])
def test_hostile_names_run_nothing_and_call_nowhere(browser: Browser, address: str, page_name: str, run: str) -> None:
    with browser() as page:
        strays = strays_of(page)
        visit(page, f"{address}/{page_name}&run={run}")
        if page_name.endswith("Bias"):
            page.get_by_text("More numbers").click()
            settled(page)
        assert page.evaluate("() => window.__ran") is None
        assert not page.query_selector_all("[data-testid=stMain] img[src=x], [data-testid=stMain] a[href^=javascript]")
        assert not strays
        if page.locator("[data-testid=stDataFrame]").count():
            # Cells that begin with = would be formulas in the table's own file; ours has an apostrophe before them.
            page.locator("[data-testid=stDataFrame]").first.hover()
            assert page.get_by_role("button", name="Fullscreen").first.is_visible()
            assert not page.get_by_role("button", name=re.compile("Download as CSV")).first.is_visible()
        if page_name == "export?":  # the file itself, in a frame without an origin
            assert "<img src=x" in page.frame_locator("iframe").locator("body").inner_text()


def test_a_report_opens_without_a_network_and_runs_nothing(browser: Browser, address: str, tmp_path: Path) -> None:
    with browser() as page:
        visit(page, f"{address}/export?run=hostile")
        with page.expect_download() as download:
            page.get_by_text("Download report (HTML)").click()
        path = tmp_path / "report.html"
        download.value.save_as(path)
    with browser() as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert requests == [path.as_uri()]
        assert page.evaluate("() => window.__ran") is None
        assert "favours the option listed first" in page.inner_text("body")
        assert page.locator("svg[role=img]").count() == 2
