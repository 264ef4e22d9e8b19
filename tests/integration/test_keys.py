"""Check in a browser that no key goes to a stranger's server before the user agrees."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rubriclab.store.bundle import import_bundle
from rubriclab.store.store import Store
from tests.app.test_keys import KEY, stolen
from tests.integration.lab import Browser, running_lab, settled, visit
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration


@pytest.fixture
def stranger() -> Iterator[FakeServer]:
    with running(FakeServer()) as server:
        yield server


def test_a_stranger_gets_nothing_before_the_user_says_yes(
    browser: Browser, tmp_path: Path, stranger: FakeServer
) -> None:
    zipped = stolen(tmp_path, stranger.base_url)
    store = tmp_path / "lab.duckdb"
    with Store.open(store) as opened:
        run = import_bundle(opened, zipped)
    study = tmp_path / "theirs.toml"
    study.write_text(
        'name = "Theirs"\n[[data]]\nsample = true\ntake = 2\n[[judges]]\nname = "j"\nkind = '
        '"openai"\n'
        f'model = "m"\nbase_urls = ["{stranger.base_url}"]\nkey_env = "OPENAI_API_KEY"\n'
    )
    stranger.headers.clear()
    asked = stranger.asked
    connections = len(stranger.senders)
    with (
        running_lab(store, environment={"OPENAI_API_KEY": KEY}) as address,
        browser() as page,
    ):
        for entry in ("", "runs", f"results?run={run}", "try", f"setup?again={run}"):
            visit(page, f"{address}/{entry}")
        page.locator(".st-key-step-3-change button").click()
        settled(page)
        page.locator(".st-key-judge-change-0 button").click()
        settled(page)
        assert page.get_by_text("would be sent to").count()
        # A loaded study file: its form, and Launch.
        visit(page, f"{address}/setup")
        page.get_by_text("study.toml · Load a study").click()
        settled(page)
        page.locator(".st-key-launch input[type=file], input[type=file]").last.set_input_files(
            study
        )
        settled(page)
        page.locator(".st-key-step-3-change button").click()
        settled(page)
        if page.locator(".st-key-judge-change-0 button").count():
            page.locator(".st-key-judge-change-0 button").click()
            settled(page)
        page.get_by_role("button", name="Launch").click()
        settled(page)
        visit(page, f"{address}/runs")
        page.locator(f".st-key-resume-{run} button").click()
        settled(page)
        assert page.get_by_text("nobody has agreed to that on this machine").count()
        assert (stranger.asked, len(stranger.senders)) == (asked, connections)
        assert not stranger.headers
        page.get_by_role("button", name="Send the key").click()
        settled(page)
        assert stranger.asked == asked  # the yes alone sends nothing
        page.locator(f".st-key-resume-{run} button").click()
        until = time.monotonic() + 60
        while stranger.asked == asked and time.monotonic() < until:
            page.wait_for_timeout(100)
    assert stranger.asked > asked
    assert stranger.headers[-1]["Authorization"] == f"Bearer {KEY}"
