"""Start a real vLLM from its own button in the lab's page, judge with it, and stop it.

``.ci/vllm-cpu DIR`` makes one for the CPU. RUBRICLAB_VLLM_SERVE names its start script, next to
which its environment and its model are. Without the variable these tests are skipped; with CI=true,
that is a failure.
"""

import csv
import fcntl
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.integration.lab import Browser, running_lab, settled, visit
from tests.judges.kit import gone

pytestmark = pytest.mark.integration

READY_SECONDS = 600
"""How long the model may take to load: half a minute, and more where other work goes on."""
END_SECONDS = 300
"""How long a start that fails may take: vLLM imports its libraries before it looks at anything."""
RUN_SECONDS = 600
"""How long 120 calls may take; the first one warms the model up."""
STOP_SECONDS = 20
"""How long a stop may take while the model loads; vLLM itself would take 25 s and more."""


@dataclass(frozen=True)
class Installed:
    """A vLLM in an environment of its own: its command, a model, and settings for its CPU."""

    command: Path
    model: Path
    settings: dict[str, str]


@pytest.fixture(scope="module")
def installed() -> Installed:
    serve = Path(os.environ.get("RUBRICLAB_VLLM_SERVE", ""))
    if not serve.is_file():
        if os.environ.get("CI") == "true":
            pytest.fail("RUBRICLAB_VLLM_SERVE is not set")
        pytest.skip("RUBRICLAB_VLLM_SERVE is not set")
    settings = {}
    for line in serve.read_text("utf-8").splitlines():
        if line.startswith("export "):
            for setting in shlex.split(line)[1:]:
                name, _, value = setting.partition("=")
                settings[name] = value
    return Installed(serve.parent / "venv/bin/vllm", serve.parent / "model", settings)


@pytest.fixture(autouse=True)
def one_at_a_time(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Two labs would take each other's port while a server is stopped, and memory for two."""
    lock = tmp_path_factory.getbasetemp().parent / "vllm-button.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Form:
    """A page of a fresh lab that shows vLLM's form, and the lab's folder for temporary files."""

    page: Any
    folder: Path

    def start(self, model: str, more: str = "") -> None:
        """Fill in the form and press its button."""
        page = self.page
        field = page.get_by_role("textbox", name="Model")
        field.fill(model)
        field.press("Enter")
        settled(page)
        if more:
            page.get_by_text("Context length, memory, cards, and further arguments").click()
            further = page.get_by_role("textbox", name="Further arguments of vllm serve")
            further.fill(more)
            further.press("Enter")
            settled(page)
        page.get_by_role("button", name="Start vLLM").click()
        page.get_by_text("vLLM is loading").first.wait_for()

    def wait_until_ready(self) -> None:
        self.page.get_by_text("vLLM serves").wait_for(timeout=READY_SECONDS * 1_000)

    def ended_with(self, sentence: str) -> str:
        """Wait for the sentence that says why vLLM has ended; return all that the page shows."""
        alert = self.page.get_by_role("alert").filter(has_text=sentence)
        alert.wait_for(timeout=END_SECONDS * 1_000)
        settled(self.page)
        shown = str(self.page.locator("[data-testid=stMain]").inner_text())
        assert "is loading" not in shown
        assert self.page.get_by_role("button", name="Stop").count() == 0
        assert self.servers() == []
        return shown

    def change(self) -> None:
        """Go back to the form, which holds what was typed."""
        self.page.locator(".st-key-judge-start-change button").click()
        self.page.get_by_role("button", name="Start vLLM").wait_for()
        settled(self.page)

    def stop(self, seconds: float) -> None:
        """Press Stop. After at most so many seconds every process is gone and the form is back."""
        servers = self.servers()
        assert servers
        pressed = time.monotonic()
        self.page.get_by_role("button", name="Stop").click()
        self.page.get_by_text("vLLM has stopped.").wait_for(timeout=seconds * 1_000)
        assert time.monotonic() - pressed < seconds
        assert all(gone(server) for server in servers)
        self.page.get_by_role("button", name="Start vLLM").wait_for()
        settled(self.page)

    def servers(self) -> list[int]:
        """Return vLLM's processes of this lab, and the one that watches over them."""
        parents: dict[int, int] = {}
        watchers: set[int] = set()
        mark = f"TMPDIR={self.folder}".encode()
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            number = int(process.name)
            try:
                stat = (process / "stat").read_text("utf-8", "replace")
                command = (process / "cmdline").read_bytes()
                marked = mark in (process / "environ").read_bytes().split(b"\0")
            except OSError:  # it has ended, or is somebody else's
                continue
            parents[number] = int(stat.rpartition(") ")[2].split()[1])
            if marked and b"supervisor.py" in command and b"vllm" in command:
                watchers.add(number)
        return [number for number in parents if descends(number, watchers, parents)]


def descends(number: int, ancestors: set[int], parents: dict[int, int]) -> bool:
    """Return whether a process is one of these, or was started by one of them or their own."""
    while number in parents:
        if number in ancestors:
            return True
        number = parents[number]
    return False


def until(done: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.2)
    return done()


@contextmanager
def vllm_form(browser: Browser, folder: Path, installed: Installed) -> Iterator[Form]:
    """The form of a fresh lab, with six answers as data."""
    answers = folder / "drafts.csv"
    with answers.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["response", "instruction"])
        for journey in ("to the sea", "over the hills", "by night"):
            rows.writerow([f"We went {journey} and learned patience.", f"A journey {journey}."])
            rows.writerow([f"Good. Nice. The end, {journey}.", f"A journey {journey}."])
    with (
        # vLLM makes sockets there, whose paths may have 107 characters.
        TemporaryDirectory(prefix="vllm-") as temporary,
        running_lab(
            folder / "lab.duckdb",
            environment=installed.settings
            | {"RUBRICLAB_VLLM": str(installed.command), "TMPDIR": temporary},
            wait=180,
        ) as url,
        browser(height=1000) as page,
    ):
        visit(page, f"{url}/setup")
        page.locator("input[type=file]").first.set_input_files(str(answers))
        page.get_by_role("button", name="Use these columns").click()
        settled(page)
        page.locator(".st-key-step-3-change button").click()
        settled(page)
        page.get_by_text("vLLM", exact=True).click()
        settled(page)
        yield Form(page, Path(temporary))


def go_to(page: Any, name: str) -> None:
    """Open another page of the lab in the same visit, so that the form keeps what it holds."""
    page.locator("[data-testid=stTopNavLink]").filter(has_text=name).click()
    page.get_by_role("heading", level=1, name=re.compile(name)).wait_for()


def test_a_run_goes_on_after_vllm_was_stopped_and_started_again_from_the_page(
    browser: Browser, tmp_path: Path, installed: Installed
) -> None:
    with vllm_form(browser, tmp_path, installed) as form:
        page = form.page
        form.start(str(installed.model))
        assert page.get_by_role("button", name=re.compile(r"Launch \d+ calls")).count() == 0
        form.wait_until_ready()
        # Left free, so small a model writes no score.
        page.get_by_role("combobox", name="Constrain replies").click()
        page.get_by_role("option", name="Choice (vLLM)").click()
        launch = page.get_by_role("button", name="Launch 120 calls")
        launch.wait_for()
        page.screenshot(path=tmp_path / "ready.png", full_page=True)
        launch.click()
        page.get_by_role("heading", name="Runs", level=1).wait_for()
        page.get_by_role("button", name="Pause").click()
        row = page.locator('[class*="st-key-run-"]').filter(has_text="drafts")
        resume = row.get_by_role("button", name="Continue")
        resume.wait_for(timeout=RUN_SECONDS * 1_000)
        go_to(page, "Set up")
        form.stop(60)
        page.screenshot(path=tmp_path / "stopped.png", full_page=True)
        assert page.get_by_role("textbox", name="Model").input_value() == str(installed.model)
        page.get_by_role("button", name="Start vLLM").click()
        form.wait_until_ready()
        go_to(page, "Runs")
        resume.click()
        results = row.get_by_role("button", name="Results")
        results.click(timeout=RUN_SECONDS * 1_000)
        page.locator('[aria-label*="Heatmap"], [alt*="Heatmap"]').first.wait_for(timeout=60_000)
        settled(page)
        page.screenshot(path=tmp_path / "results.png", full_page=True)
        go_to(page, "Set up")
        form.stop(60)


def test_stop_while_the_model_loads_gives_the_form_back(
    browser: Browser, tmp_path: Path, installed: Installed
) -> None:
    with vllm_form(browser, tmp_path, installed) as form:
        form.start(str(installed.model))
        # The server and its engine, which heed no signal before the model is loaded.
        assert until(lambda: len(form.servers()) >= 3, READY_SECONDS)
        form.stop(STOP_SECONDS)
        assert form.servers() == []


def test_why_vllm_ended_is_said_with_the_last_lines_of_its_log(
    browser: Browser, tmp_path: Path, installed: Installed
) -> None:
    missing = "nobody/has-this-model"
    with vllm_form(browser, tmp_path, installed) as form:
        form.start(str(installed.model), more="--no-such-flag")
        shown = form.ended_with("This vLLM does not know --no-such-flag.")
        assert "error: unrecognized arguments: --no-such-flag" in shown
        form.page.screenshot(path=tmp_path / "flag.png", full_page=True)
        form.change()
        further = form.page.get_by_role("textbox", name="Further arguments of vllm serve")
        form.page.get_by_text("Context length, memory, cards, and further arguments").click()
        assert further.input_value() == "--no-such-flag"
        further.fill("")
        further.press("Enter")
        settled(form.page)
        form.start(missing)
        shown = form.ended_with(f"vLLM could not find “{missing}”")
        assert "LocalEntryNotFoundError" in shown
        form.page.screenshot(path=tmp_path / "missing.png", full_page=True)
        form.change()
        assert form.page.get_by_role("textbox", name="Model").input_value() == missing
