"""A question mark's way to its definition, and the guide's sliders, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rubriclab.report.definitions import term
from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


def test_help_leads_to_its_definition_and_a_slider_to_its_own_address(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/position")
        settled(page)
        metric = page.locator('[data-testid="stMetric"]', has_text="Ascending less descending")
        metric.locator('[data-testid="stTooltipIcon"]').hover()
        link = page.locator('[data-testid="stTooltipContent"] a').first
        # Relative, so that it holds wherever the lab is put under another path.
        assert link.get_attribute("href") == "definitions?term=order_shift"
        with page.context.expect_page() as opened:
            link.click()
        there = opened.value
        settled(there)
        asked = there.locator(".st-key-definitions-asked")
        assert asked.locator("h3").inner_text().strip() == term("order_shift").name
        asked.locator(".katex-display").wait_for()
        there.close()

        page.goto(f"{address}/guide?judge=smollm2-135m&k=4")
        settled(page)
        sees(page, "4 calls an answer")
        first = page.get_by_role("slider", name="Order shown")
        first.focus()
        first.press("ArrowRight")
        sees(page, "As the judge read it, order 2")
        page.wait_for_url(re.compile(r"order=2"))
        assert "k=4" in page.url
        assert "judge=smollm2-135m" in page.url
