"""In a real browser, on a small screen: a run gets a title and a tag of one's own, is deleted, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, running_lab, sees, settled, width_of
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
