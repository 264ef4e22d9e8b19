"""The guide's two cards and a presentation in a real browser: keys, progress, full screen, the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rubriclab.report.presentation import presentation, story
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.e2e.lab import CHROMIUM, EXAMPLE, browser_page, calm, page_beside, running_lab, settled, width_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
SHOWN = "() => document.querySelector('.step.here').id"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talk") / "talk.html"
    with Store(":memory:") as store:
        read_archive(store, EXAMPLE.read_bytes())
        path.write_text(presentation(story(store, store.runs()[0].run)), encoding="utf-8")
    return path


def order_of(page: Any) -> list[str]:
    return [row.get_attribute("data-row") for row in page.locator("#rows > li").all()]


def test_a_presentation_goes_on_and_back_by_keys_and_clicks(file: Path) -> None:
    with browser_page() as page:
        page.goto(file.as_uri())
        assert page.evaluate(SHOWN) == "step-1"
        for key, step in (("ArrowRight", 2), (" ", 3), ("ArrowLeft", 2), ("Home", 1), ("End", 3), ("Escape", 1)):
            page.keyboard.press(key)
            assert page.evaluate(SHOWN) == f"step-{step}", key
            assert page.locator('.stop[aria-current="step"]').get_attribute("data-step") == str(step)
        page.locator("#next").click()
        # The orders play by themselves, from where they were left: another order, and the score that it got.
        before = page.locator("#count").inner_text()
        page.wait_for_function("before => document.getElementById('count').textContent !== before", arg=before)
        page.keyboard.press("p")
        page.wait_for_timeout(1_000)
        paused = int(page.locator("#count").inner_text().split()[1])
        page.keyboard.press("ArrowUp")
        page.wait_for_function(f"() => document.getElementById('count').textContent === 'Order {paused - 1} of 10'")
        first = order_of(page)
        page.locator(".dot").nth(7).click()
        page.wait_for_function("() => document.getElementById('count').textContent.startsWith('Order 8 of 10')")
        assert order_of(page) != first
        lit = page.locator("#rows > li.lit b").inner_text()
        assert page.locator("#big").inner_text() == lit
        assert f"score {lit}," in str(page.locator(".dot").nth(7).get_attribute("aria-label"))
        page.locator("#full").click()
        page.wait_for_function("() => document.fullscreenElement !== null")


def test_a_presentation_keeps_still_where_motion_is_not_wanted_and_fits_a_telephone(file: Path) -> None:
    with browser_page() as page, page_beside(page, width=390, dark=True, reduced_motion="reduce") as other:
        other.goto(file.as_uri())
        for step in (1, 2, 3):
            assert other.evaluate(SHOWN) == f"step-{step}"
            assert other.evaluate("() => document.documentElement.scrollWidth") <= 390
            if step == 2:
                assert other.locator("#count").inner_text() == "Order 1 of 10"
                other.wait_for_timeout(2_500)
                assert other.locator("#count").inner_text() == "Order 1 of 10", "it plays although nobody asked"
                assert (
                    other.locator("#rows > li").first.evaluate("row => getComputedStyle(row).transitionDuration")
                    == "0s"
                )
            other.keyboard.press("ArrowRight")


def test_the_guide_shows_two_cards_without_a_click_and_leads_to_a_presentation(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/guide")
        calm(page)
        assert page.locator(".rl-answer").all_inner_texts() == ["1", "5"]
        card, chart = page.locator(".rl-card").first, page.get_by_test_id("stPlotlyChart").first
        above, below = card.bounding_box(), chart.bounding_box()
        assert above is not None
        assert below is not None
        assert above["y"] + above["height"] < min(1000, below["y"]), (
            "the cards stand above all charts, on the first screen"
        )
        page.get_by_role("button", name="Copy").first.click()
        with page.expect_download() as coming:
            page.get_by_role("button", name="Save it as PNG").click()
        coming.value.save_as(tmp_path / "cards.png")
        assert (tmp_path / "cards.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Present", exact=True).click()
        page.wait_for_url(re.compile(r"/presentation\?run=recorded"))
        settled(page)
        frame = page.frame_locator("iframe").first
        frame.locator("#step-1.here").wait_for()
        frame.locator("#next").click()
        frame.locator("#step-2.here").wait_for()
        frame.locator("#full").click()
        page.wait_for_function("() => document.fullscreenElement !== null")
        page.evaluate("() => document.exitFullscreen()")
        with page.expect_download() as coming:
            page.get_by_role("button", name="The presentation (HTML)").click()
        coming.value.save_as(tmp_path / "talk.html")
        assert "step-3" in (tmp_path / "talk.html").read_text()
        page.set_viewport_size({"width": 390, "height": 900})
        calm(page)
        assert width_of(page) <= 390
