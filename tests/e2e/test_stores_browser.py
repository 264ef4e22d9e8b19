"""The chooser of stores in a real lab: a link opens its store, the sidebar another, and the address says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees
from tests.simulated_runs import run_into

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]


def test_a_link_opens_its_store_and_the_sidebar_another(tmp_path: Path) -> None:
    with Store(tmp_path / "first.duckdb") as store:
        run_into(store, "plain")
    with Store(tmp_path / "second.duckdb") as store:
        run_into(store, "pairs")
    (tmp_path / "broken.duckdb").write_text("no store")
    with running_lab(tmp_path / "first.duckdb", tmp_path / "log.txt") as address, browser_page() as page:
        page.goto(f"{address}/runs?store=second")
        sees(page, "Pairs", exact=True)
        assert "store=second" in page.url
        page.get_by_role("link", name="Report").click()
        page.get_by_role("heading", name="Report", exact=True).wait_for()
        page.wait_for_url("**/report?*store=second*")
        page.get_by_test_id("stSidebar").get_by_role("button", name="second").click()
        page.get_by_role("button", name="broken").click()
        sees(page, "is not a rubriclab store")
        page.get_by_test_id("stSidebar").get_by_role("button", name="broken").click()
        page.get_by_role("button", name="first").click()
        sees(page, "Plain", exact=True)
        assert page.get_by_text("Pairs", exact=True).count() == 0
        assert "store=" not in page.url
