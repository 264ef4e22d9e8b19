"""The main path in a real browser, with the real embedded judge; and every page's cold deep link."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.app.ui import MOVED, NAVIGATION, Entry
from rubriclab.model.places import EXAMPLE, TOUR
from tests.e2e.lab import CHROMIUM, browser_page, place_of, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
DIALOGS = """window.__dialogs = [];
new MutationObserver(() => document.querySelectorAll('[role=dialog]').forEach(
  box => window.__dialogs.push(box.innerText))).observe(document, {childList: true, subtree: true});
"""
"""What every dialog said that a page has shown since it was opened."""
ENTRIES = [entry for entries in NAVIGATION.values() for entry in entries]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.file)
def test_cold_deep_link(entry: Entry, tmp_path: Path) -> None:
    """The first visitor after a start opens a page's own address, and gets that page."""
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/{entry.file}")
        settled(page)
        page.wait_for_selector('[data-testid="stSidebarNav"] >> text=Judges')
        selected = page.locator('[data-testid="stSidebarNavLink"][aria-current="page"]')
        if entry.listed:
            assert selected.inner_text().split()[-len(entry.title.split()) :] == entry.title.split()
        else:
            page.get_by_role("heading", name=entry.title, exact=True).first.wait_for()
            assert selected.count() == 0
        assert page.locator('[data-testid="stException"]').count() == 0
        assert "Traceback" not in page.inner_text("body")


def test_old_addresses_lead_to_their_pages_with_what_they_asked(tmp_path: Path) -> None:
    """The first of them on a server that nobody has visited; the others on one that is warm.

    Never, not for a moment either, does Streamlit say that there is no such page.
    """
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.add_init_script(DIALOGS)
        for before, now in MOVED.items():
            page.goto(f"{address}/{before}?arm=1&mark=kept&mark=too")
            page.wait_for_url(f"{address}/{now}?**", timeout=60_000)
            settled(page)
            assert {"mark=kept", "mark=too"} <= set(page.url.partition("?")[2].split("&")), page.url
            assert page.evaluate("window.__dialogs") == []
            assert page.locator('[data-testid="stException"]').count() == 0
            shown = page.locator('[data-testid="stSidebarNavLink"]').all_inner_texts()
            assert not any(text.split()[-1] == before for text in shown)


def test_home_demo_results_cell(tmp_path: Path) -> None:
    """Home -> demo -> Results -> a cell's judgments, on a real model's answers."""
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(address)
        settled(page)
        page.get_by_role("button", name="Run the demo").click()
        page.wait_for_selector("h1:has-text('Runs')")
        sees(page, "Demo")
        # The recorded runs are finished from the start; the demo, newest, stands above them.
        finished = page.locator('[data-testid="stMain"]').get_by_text("finished", exact=True)
        finished.nth(len((EXAMPLE, *TOUR))).wait_for(timeout=600_000)
        settled(page)
        page.get_by_role("button", name="Results", exact=True).first.click()
        page.wait_for_selector("h1:has-text('Results')")
        settled(page)
        sees(page, "smollm2-135m")
        chosen = page.locator('[data-testid="stSelectbox"] input').first.input_value()
        assert chosen.startswith("Demo"), chosen
        cells = page.locator('[data-testid="stPlotlyChart"]').nth(1)  # below what each place does
        settled(page)
        cells.evaluate("chart => chart.scrollIntoView({block: 'center'})")
        points = cells.locator(".scatterlayer .trace .point")
        points.first.wait_for(state="attached")
        assert points.count() == 25
        # Score 5 at position 1, a cell that this judge fills: cells come score by score.
        points.nth(20).click(force=True)
        page.get_by_role("link", name="Read this cell's judgments").wait_for()
        settled(page)
        box = place_of(page, '[data-testid="stDataFrame"]')
        page.mouse.click(box["x"] + 14, box["y"] + 54)
        sees(page, "Sent to the judge")
        sees(page, "###Score Rubrics:")
        assert page.locator('[data-testid="stException"]').count() == 0
