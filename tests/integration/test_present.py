"""Check the presentation in a browser: one click from Results, keys, full screen, and a phone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import Browser, running_lab, sideways, violations, visit

pytestmark = pytest.mark.integration
FILLED = "() => document.fullscreenElement !== null"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_lab(tmp_path_factory.mktemp("present") / "lab.duckdb") as lab:
        yield lab


def at(page: Any, number: int) -> None:
    """Wait until this slide is shown and the address names it."""
    page.get_by_text(f"{number} of 4 ·").wait_for()
    page.wait_for_function(
        "number => new URLSearchParams(location.search).get('slide') === number", arg=str(number)
    )


def test_one_click_four_slides_by_keys_and_back(browser: Browser, address: str) -> None:
    with browser(height=900) as page:
        visit(page, f"{address}/results")
        page.get_by_role("button", name="Present").click()
        at(page, 1)
        assert page.get_by_role("heading", name="Does it score the answer").is_visible()
        assert violations(page) == []
        page.keyboard.press("ArrowRight")
        at(page, 2)
        assert page.get_by_role("heading", name="The same answer in two orders").is_visible()
        assert page.locator(".stack .first").count() == 1
        page.keyboard.press("ArrowRight")
        at(page, 3)
        assert page.locator(".slide svg").is_visible()
        assert page.get_by_text("Biased", exact=True).is_visible()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")  # there is no fifth
        at(page, 4)
        assert page.get_by_text("Average the scores of several orders").is_visible()
        page.reload()
        at(page, 4)
        page.keyboard.press("Home")
        at(page, 1)
        page.get_by_role("button", name="Next slide").click()
        at(page, 2)
        page.keyboard.press("f")
        page.wait_for_function(FILLED)
        page.keyboard.press("ArrowRight")
        at(page, 3)
        assert page.evaluate(FILLED), "a move keeps the full screen"
        page.keyboard.press("f")
        page.wait_for_function("() => document.fullscreenElement === null")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Present").wait_for()
        page.wait_for_function("() => !location.search.includes('present')")


def test_two_clicks_give_a_report_that_prints_on_a_sheet_for_each_judge(
    browser: Browser, address: str, tmp_path: Path
) -> None:
    with browser() as page:
        visit(page, f"{address}/results")
        page.get_by_role("link", name="Export").click()
        with page.expect_download() as downloaded:
            page.get_by_role("button", name="Download report").click()
        path = tmp_path / downloaded.value.suggested_filename
        downloaded.value.save_as(path)
        assert path.name.endswith(".page.html")
        page.goto(path.as_uri())
        sheets = page.locator(".sheet")
        assert sheets.count() == 2, "the recorded example has two judges"
        for sheet in sheets.all():
            assert sheet.evaluate("sheet => sheet.scrollHeight <= sheet.clientHeight")
        printed = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


def test_a_slide_fits_a_phone(browser: Browser, address: str) -> None:
    with browser(width=390, height=800) as page:
        page.goto(f"{address}/results?present=1&slide=2")
        page.locator(".slide h1").wait_for()
        assert sideways(page) == 0
        assert page.locator(".stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth")
        assert page.get_by_role("button", name="Leave").is_visible()
