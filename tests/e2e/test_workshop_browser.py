"""The Workshop in a real browser with the real embedded judge: one description changed, the paired difference seen."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees, settled
from tests.e2e.test_unkept_browser import TABLE

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
ITEMS = int(os.environ.get("WORKSHOP_ITEMS", "4"))
LONG = float(os.environ.get("WORKSHOP_SECONDS", "600")) * 1000
"""An embedded judge shares its processor with whatever else the machine does."""


def test_one_description_is_changed_and_the_paired_difference_is_seen(tmp_path: Path) -> None:
    store, calls = tmp_path / "lab.duckdb", 12 * ITEMS
    with running_lab(store, tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/workshop")
        settled(page)
        page.get_by_label("Items", exact=True).fill(str(ITEMS))
        page.keyboard.press("Tab")
        settled(page)
        page.get_by_role("button", name="Set up the bench").click()
        start = time.monotonic()
        sees(page, "“as it was” by itself", timeout=LONG)
        print(f"first picture of a first version after {time.monotonic() - start:.1f} s")
        sees(page, f"{calls} of {calls} calls answered", timeout=LONG)
        settled(page)
        options = page.locator(TABLE).nth(1)
        options.evaluate("table => table.scrollIntoView({block: 'center'})")
        settled(page)
        box = options.bounding_box()
        page.mouse.dblclick(box["x"] + 200, box["y"] + 80)
        page.locator("#portal textarea").fill("Bad.")
        page.keyboard.press("Enter")
        sees(page, "Your edit")
        sees(page, f"{calls} calls: {calls} to ask")
        page.get_by_role("button", name="Try it", exact=True).click()
        start = time.monotonic()
        sees(page, "hold at every look at once", timeout=LONG)
        print(f"first paired difference of a poke after {time.monotonic() - start:.1f} s")
        sees(page, "Intervals hold all at once", timeout=LONG)
        print(f"the whole poke took {time.monotonic() - start:.1f} s ({calls} calls)")
        settled(page)
        assert page.get_by_text(f"Paired: {10 * ITEMS} reads of each on the same {ITEMS} items").count() == 1
        assert "version=version+2" in page.url or "version=version%202" in page.url, page.url
        assert page.locator('[data-testid="stException"]').count() == 0
    with Store(store) as kept:
        runs = [info for info in kept.runs() if "workshop" in info.provenance]
        assert [info.done for info in runs] == [calls, calls]
