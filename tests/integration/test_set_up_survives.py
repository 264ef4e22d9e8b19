"""Check in a browser what a reload keeps, where a pasted key goes, and that pages change safely."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.integration.lab import Browser, running_lab, settled, visit
from tests.integration.test_main_path import spanish_file
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration
KEY = "sk-pasted-in-a-browser-4417aa"
SLOWER = 6
"""How many times slower than this machine the browser is: then timers of a page that was left still
fire while the server draws the next one."""
SWITCHES = 4
STUDY = """
name = "{name}"
[[data]]
sample = true
take = {items}
[[judges]]
name = "leaning"
kind = "simulated"
concurrency = 1
options = {{ first = 1.2, noise = 0.5, latency = {latency} }}
"""


@pytest.fixture
def keyed() -> Iterator[FakeServer]:
    with running(FakeServer(text="3", key=KEY)) as server:
        yield server


def key_field(page: Any) -> Any:
    return page.locator('input[aria-label="Paste a key for this session"]')


def returned(page: Any) -> None:
    page.locator(".st-key-returned").wait_for()
    settled(page)


def with_key(page: Any, url: str, server: FakeServer, answers: Path) -> None:
    """Fill Set up: a file, a server, and a pasted key that may go there."""
    visit(page, f"{url}/setup")
    page.locator("input[type=file]").first.set_input_files(str(answers))
    page.get_by_role("button", name="Use these columns").click()
    settled(page)
    page.locator(".st-key-step-3-change button").click()
    settled(page)
    page.get_by_text("API or server", exact=True).click()
    settled(page)
    page.get_by_role("textbox", name="Base URL").fill(server.base_url)
    page.keyboard.press("Tab")
    settled(page)
    key_field(page).fill(KEY)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Send the key").click()
    page.get_by_role("button", name="Forget").wait_for()
    settled(page)


def test_a_reload_keeps_all_but_the_key_which_is_never_on_the_disk(
    browser: Browser, tmp_path: Path, keyed: FakeServer
) -> None:
    lab = tmp_path / "lab"
    lab.mkdir()
    answers = spanish_file(tmp_path / "my-answers.csv")
    with running_lab(lab / "lab.duckdb") as url, browser() as page:
        with_key(page, url, keyed, answers)
        assert key_field(page).input_value() == ""
        page.reload()
        returned(page)
        assert page.url == f"{url}/setup"
        said = page.locator(".st-key-returned").inner_text()
        assert "is back. my-answers.csv, the rubric and the judge are as you left them." in said
        assert page.get_by_role("textbox", name="Base URL").input_value() == keyed.base_url
        assert page.get_by_text("It is not kept over a reload").count() == 1
        other = page.context.new_page()
        visit(other, f"{url}/setup")
        assert other.locator(".st-key-returned").count() == 0
        other.close()
        key_field(page).fill(KEY)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Send the key").click()
        page.get_by_role("button", name="Forget").wait_for()
        settled(page)
        page.get_by_role("button", name="Launch 80 calls").click()
        row = page.locator('[class*="st-key-run-"]').filter(has_text="my-answers")
        row.get_by_role("button", name="Results").wait_for(timeout=120_000)
        assert not [place for place in (lab / "drafts").iterdir() if place.is_dir()]
    assert {headers["Authorization"] for headers in keyed.headers} == {f"Bearer {KEY}"}
    files = [path for path in lab.rglob("*") if path.is_file()]
    assert any(path.name == "lab.log" for path in files)
    assert [path.name for path in files if KEY.encode() in path.read_bytes()] == []


def test_a_broken_draft_costs_one_sentence(browser: Browser, tmp_path: Path) -> None:
    answers = spanish_file(tmp_path / "my-answers.csv")
    with running_lab(tmp_path / "lab.duckdb") as url, browser() as page:
        visit(page, f"{url}/setup")
        page.locator("input[type=file]").first.set_input_files(str(answers))
        page.get_by_role("button", name="Use these columns").click()
        settled(page)
        (draft,) = (tmp_path / "drafts").glob("*/draft.json")
        draft.write_text("{", "utf-8")
        page.reload()
        page.get_by_text("Your earlier set-up could not be restored").wait_for()
        settled(page)
        assert page.get_by_role("heading", name="Data").count() == 1
        assert not draft.parent.exists()


def test_pages_change_while_a_run_is_live(browser: Browser, tmp_path: Path) -> None:
    store = tmp_path / "lab.duckdb"
    with Store.open(store) as opened:
        for name, items, latency in (("quick", 5, 0.0), ("slow", 60, 0.5)):
            study = tmp_path / f"{name}.toml"
            study.write_text(STUDY.format(name=name, items=items, latency=latency), "utf-8")
            run = Run(opened, plan_of_file(study)).start()
            run.wait(30 if name == "quick" else 1)
            run.pause()
            run.wait(30)
    with running_lab(store) as url, browser() as page:
        visit(page, f"{url}/runs")
        slow = page.locator('[class*="st-key-run-"]').filter(has_text="slow")
        slow.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Pause", exact=True).wait_for()
        page.set_default_timeout(240_000)
        throttled = page.context.new_cdp_session(page)
        throttled.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        for _ in range(SWITCHES):
            page.goto(f"{url}/runs")
            quick = page.locator('[class*="st-key-run-"]').filter(has_text="quick").first
            quick.wait_for()
            page.wait_for_timeout(1_200)
            # Playwright clicks only what is still for two frames. On a machine that others use too,
            # a page slowed this much and drawn every second is not, so the events are sent.
            quick.locator('[class*="st-key-menu-"] button').first.dispatch_event("click")
            page.get_by_role("button", name="Run with changes").first.dispatch_event("click")
            page.get_by_role("heading", name="Set up a run").wait_for()
            page.locator(".st-key-launch").wait_for()
            page.wait_for_timeout(2_500)  # late timers of the page before have come by now
            assert page.locator(".st-key-launch").is_visible()
