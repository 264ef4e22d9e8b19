"""Try it in a real browser with the real embedded judge, and the link to it in another browser."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


def test_one_text_live(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address:
        with browser_page() as page:
            page.goto(f"{address}/trial")
            settled(page)
            page.get_by_role("button", name="Judge it").click()
            # Live: fewer orders than ten are on the page while it goes on.
            sees(page, re.compile(r"answers so far|starting|fetching"))
            start = time.monotonic()
            sees(page, "Every reply, word for word", timeout=300_000)
            print(f"judged in {time.monotonic() - start:.1f} s")
            settled(page)
            headline = page.locator("h4").first.inner_text()
            assert headline.startswith("smollm2-135m gives"), headline
            assert "10 orders" in headline
            assert page.get_by_test_id("stMetricValue").count() == 4
            # The judge was measured before, in the recorded run: one call can be corrected.
            assert page.get_by_text("prior of Recorded example").count() == 1
            link = page.url
            assert "run=try-it" in link
            strip = page.get_by_test_id("stPlotlyChart").first
            assert strip.locator(".shapelayer path").count() == 10, "one choice framed in each order"
            # The real judge is deterministic: the usual order again gives the same score.
            assert page.get_by_text("no noise seen in one repeat").count() == 1
        with browser_page() as other:
            other.goto(link)
            settled(other)
            sees(other, "Every reply, word for word")
            assert other.locator("h4").first.inner_text() == headline
            other.get_by_text("Every reply, word for word").click()
            other.wait_for_selector("h1:has-text('Judgments')")
            settled(other)
            assert other.locator('[data-testid="stException"]').count() == 0
