"""In a real browser, on a small screen: a run gets a title and a tag of one's own, is deleted, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.runs.manager import RunManager
from rubriclab.runs.terms import Limits
from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, page_beside, running_lab, sees, settled, width_of
from tests.labkit import study

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
TITLE = "May & <b>June</b>: the drafts that were judged under every order"


def test_a_run_is_named_tagged_deleted_and_taken_back_at_390_pixels(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store(path) as store:
        runs = [RunManager(store).start(study(2, name=name)).wait(60.0).run for name in ("Drafts", "Replies")]
    with running_lab(path, tmp_path / "log") as address, browser_page(width=390) as page:
        page.goto(f"{address}/runs?search=drafts")
        settled(page)
        page.get_by_role("button", name="More").click()
        page.get_by_role("textbox", name="Title").fill(TITLE)
        page.get_by_role("combobox", name="Tags").last.fill("mine alone")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")  # closes the list of tags, which lies over the button
        page.get_by_role("button", name="Save title and tags").click()
        sees(page, TITLE, exact=True)
        sees(page, "mine alone")
        page.goto(f"{address}/runs?tag=mine+alone")
        settled(page)
        sees(page, "1 run found.")
        assert width_of(page) <= 390
        page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        sees(page, "is deleted.")
        page.get_by_role("button", name="Undo").click()
        sees(page, "1 run found.")
        assert page.locator('[data-testid="stException"]').count() == 0
    with Store(path) as store:
        info = store.run(runs[0])
        assert (info.name, info.tags, info.deleted, info.made_as) == (TITLE, ("mine alone",), None, "Drafts")


def test_a_tab_that_another_one_has_overtaken_says_so_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store(path) as store:
        paused = RunManager(store).start(study(4, name="Drafts"), limits=Limits(max_calls=3)).wait(60.0)
        assert paused.state == "paused"
    with running_lab(path, tmp_path / "log") as address, browser_page() as behind:
        behind.goto(f"{address}/runs")
        settled(behind)
        sees(behind, "paused")
        with page_beside(behind) as ahead:
            ahead.goto(f"{address}/runs")
            settled(ahead)
            ahead.get_by_role("button", name="Go on").click()
            sees(ahead, "finished")
        behind.get_by_role("button", name="Go on").wait_for(state="detached", timeout=20_000)
        sees(behind, "finished")
        assert behind.locator('[data-testid="stException"]').count() == 0
