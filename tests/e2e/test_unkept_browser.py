"""What was typed or uploaded and not kept yet outlives a change of page; a criterion is renamed in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rubriclab.store import Store
from tests.e2e.lab import CHROMIUM, browser_page, pick, running_lab, sees, settled

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
TABLE = '[data-testid="stDataFrame"]'


def go(page: Any, title: str) -> None:
    page.locator('[data-testid="stSidebarNavLink"]').get_by_text(title, exact=True).click()
    page.wait_for_selector(f"h1:has-text('{title}')")
    settled(page)


def choose(page: Any, label: str, option: str) -> None:
    box = page.locator('[data-testid="stSelectbox"]').filter(has_text=label).first.locator("input")
    pick(page, box, option)
    settled(page)


def rename_first(page: Any, name: str) -> None:
    """Type into the first cell of the first table, as a user does."""
    table = page.locator(TABLE).first
    table.evaluate("table => table.scrollIntoView({block: 'center'})")
    settled(page)
    box = table.bounding_box()
    page.mouse.dblclick(box["x"] + 60, box["y"] + 60)
    page.locator("#portal textarea").fill(name)
    page.keyboard.press("Enter")
    settled(page)


def test_a_new_rubric_is_named_left_and_kept(tmp_path: Path) -> None:
    store = tmp_path / "lab.duckdb"
    with running_lab(store, tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/rubric")
        settled(page)
        choose(page, "Rubric", "A new rubric")
        rename_first(page, "Verständlichkeit")
        assert "there is no criterion" not in page.inner_text("body")
        sees(page, "Changes that are not kept yet")
        go(page, "Judges")
        go(page, "Rubric")
        sees(page, "Changes that are not kept yet")
        page.get_by_role("button", name="Keep this rubric").click()
        sees(page, "Kept “My rubric”")
    with Store(store) as kept:
        (rubric,) = kept.rubrics()
        assert [criterion.name for criterion in rubric.criteria] == ["Verständlichkeit"]
        assert rubric.criteria[0].scores == (1, 2, 3, 4, 5)


def test_an_uploaded_file_and_its_columns_are_there_after_another_page(tmp_path: Path) -> None:
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as address, browser_page() as page:
        page.goto(f"{address}/data")
        settled(page)
        table = {"name": "eigene.csv", "mimeType": "text/csv", "buffer": b"frage,antwort\nWarum?,Darum.\nWie?,So.\n"}
        uploader = page.locator('[data-testid="stFileUploader"]').filter(has_text="A file with one response a row")
        uploader.locator('input[type="file"]').set_input_files(files=[table])
        sees(page, "Which column is which?")
        settled(page)
        choose(page, "Response", "antwort")
        sees(page, "This gives 2 items")
        go(page, "Rubric")
        go(page, "Data")
        sees(page, "is still here, and not kept yet")
        sees(page, "This gives 2 items")
        page.get_by_role("button", name="Let it go").click()
        page.get_by_text("Which column is which?").wait_for(state="detached")
        assert page.locator('[data-testid="stException"]').count() == 0
