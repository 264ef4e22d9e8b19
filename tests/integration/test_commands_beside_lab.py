"""Check that commands work on a store while the lab shows it, also while a run goes on there."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import rubriclab as rl
from rubriclab.store.store import Store
from tests.integration.lab import ROOT, Browser, running_lab, settled, visit
from tests.integration.test_kill import write_study
from tests.servers import FakeServer, running
from tests.words import made

pytestmark = pytest.mark.integration


def command(*words: str, seconds: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rubriclab", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one finished run, “Rated”."""
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as opened:
        opened.add_table(
            made.options_table({"judge-7b": made.mostly_first}, items=30, name="Rated")
        )
    return path


@pytest.fixture
def slow_server() -> Iterator[FakeServer]:
    with running(FakeServer(latency=0.5)) as server:
        yield server


def test_commands_read_and_write_while_the_lab_shows_a_run(
    browser: Browser, store: Path, tmp_path: Path
) -> None:
    table = tmp_path / "more.csv"
    with running_lab(store) as url, browser() as page:
        visit(page, f"{url}/results?run=Rated")
        at_once = command("results", "Rated", "--store", str(store))
        assert at_once.returncode == 0, at_once.stderr
        exported = command("export", "Rated", "--out", str(table), "--store", str(store))
        assert exported.returncode == 0, exported.stderr
        example = str(ROOT / "data" / "example.zip")
        imported = command("import", example, "--store", str(store))
        assert imported.returncode == 0, imported.stderr
        renamed = command("runs", "Rated", "--rename", "Again", "--store", str(store))
        assert renamed.returncode == 0, renamed.stderr
        # The page that is open goes on, and sees what the command kept.
        visit(page, f"{url}/runs")
        page.get_by_text("Again", exact=True).first.wait_for()
        page.get_by_role("button", name="Results", exact=True).first.click()
        settled(page)
        assert page.get_by_role("alert").count() == 0


def test_commands_read_while_a_run_of_the_lab_goes_on(
    browser: Browser, store: Path, tmp_path: Path, slow_server: FakeServer
) -> None:
    study = write_study(tmp_path, url=slow_server.base_url, items=200)
    rl.run(study, store, max_calls=20, check=False).close()
    with running_lab(store) as url, browser() as page:
        visit(page, f"{url}/runs")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Pause").wait_for()
        before = slow_server.answered
        listed = command("runs", "--json", "--store", str(store))
        states = {run["name"]: run["state"] for run in json.loads(listed.stdout)["runs"]}
        assert states["kill"] == "running"
        for words in (
            ("results", "Rated"),
            ("results", "kill"),
            ("gate", "Rated", "--limit", "parsed_share=0.5.."),
            ("export", "Rated", "--out", str(tmp_path / "rated.html")),
            ("runs", "--backup", str(tmp_path / "saved.duckdb")),
        ):
            said = command(*words, "--store", str(store))
            assert said.returncode == 0, (words, said.stderr)
            assert said.stderr == ""  # it did not have to wait
        start = time.monotonic()
        refused = command("runs", "Rated", "--rename", "Other", "--store", str(store))
        assert refused.returncode == 1
        assert time.monotonic() - start > 9
        assert "“kill”" in refused.stderr  # for whom it waits
        assert "Pause it" in refused.stderr
        assert slow_server.answered > before  # the run was not held up
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Continue").wait_for()
        renamed = command("runs", "Rated", "--rename", "Other", "--store", str(store))
        assert renamed.returncode == 0, renamed.stderr
    assert list(store.parent.glob("*.sock")) == []


def test_a_command_that_runs_can_be_read_by_others(
    store: Path, tmp_path: Path, slow_server: FakeServer
) -> None:
    study = write_study(tmp_path, url=slow_server.base_url, items=200)
    words = ["run", str(study), "--store", str(store), "--no-check"]
    with subprocess.Popen([sys.executable, "-m", "rubriclab", *words], cwd=ROOT) as asking:
        try:
            while not slow_server.answered:
                time.sleep(0.1)
                assert asking.poll() is None
            said = command("results", "Rated", "--store", str(store))
            assert said.returncode == 0, said.stderr
            assert asking.poll() is None
        finally:
            asking.kill()
    # A socket is left behind, and costs nothing.
    assert command("results", "Rated", "--store", str(store)).returncode == 0
