"""In a real browser: from a bar to the reply behind it, and a link that opens the same reply."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.lab import CHROMIUM, browser_page, page_beside, place_of, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


def address_of(page: Any) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def click_point(page: Any, chart: int, point: str) -> None:
    """Click the middle of a chart's mark; several marks fit, the first is taken."""
    whole = page.locator('[data-testid="stPlotlyChart"]').nth(chart)
    mark = whole.locator(point).first
    mark.wait_for(state="attached")
    box = place_of(page, mark)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def which(page: Any) -> str:
    """Which of an item's judgments is read, as the page says it."""
    return str(page.get_by_text(re.compile(r"^Judgment \d+ of \d+$")).first.inner_text())


def words_of(page: Any) -> list[str]:
    """The prompt and the reply that are shown, word for word."""
    sees(page, "All judgments of this item")  # stands below them
    settled(page)
    shown = page.locator('[data-testid="stCode"]:visible')
    shown.nth(1).wait_for()
    return [code.inner_text() for code in shown.all()]


def test_from_a_bar_to_a_reply_and_back_by_its_link(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/position")
        page.wait_for_selector("h1:has-text('Results')")
        settled(page)
        click_point(page, 3, ".barlayer .trace .point path")  # places, table, points, shares
        page.get_by_role("link", name="Judgments behind").first.click()
        page.wait_for_selector("h1:has-text('Judgments')")
        settled(page)
        asked = address_of(page)
        assert asked["position"] == "1"
        assert "arm" in asked
        assert "item" not in asked
        box = place_of(page, '[data-testid="stDataFrame"]')
        page.mouse.click(box["x"] + 14, box["y"] + 54)
        sees(page, "Across all orders")
        settled(page)
        assert "item" in address_of(page)
        # The first judgment shown meets the filter: its answer stood first.
        assert "at position 1" in page.locator('[data-testid="stMain"]').inner_text()
        first = words_of(page)
        before = which(page)
        # The last column of the strip is another call.
        click_point(page, 0, ".scatterlayer .trace:last-child .point:last-child")
        page.wait_for_url("**call=*")
        page.wait_for_function("n => !document.body.innerText.includes(n)", arg=before)
        read, told = words_of(page), which(page)
        assert "###Score Rubrics:" in read[0]
        assert read != first
        with page_beside(page) as other:
            other.goto(page.url)
            other.wait_for_selector("h1:has-text('Judgments')")
            assert words_of(other) == read
            assert which(other) == told
            assert other.locator('[data-testid="stException"]').count() == 0
        page.get_by_role("button", name="All items").click()
        sees(page, "Choose a row to read the item")
        assert "item" not in address_of(page)
        assert address_of(page)["position"] == "1"


def test_a_cold_link_keeps_its_filters(tmp_path: Path) -> None:
    """The first visitor after a start opens a link to an item: the item is what is shown."""
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/judgments?item=0&score=3")
        page.wait_for_selector("h1:has-text('Judgments')")
        sees(page, "Across all orders")
        settled(page)
        asked = address_of(page)
        assert (asked["item"], asked["score"]) == ("0", "3")
