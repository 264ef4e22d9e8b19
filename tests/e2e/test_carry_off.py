"""A key cannot be carried off: not by a page that rebinds its name, not by a bundle."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rubriclab.model import Judge
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from tests.e2e.lab import ARGUMENTS, CHROMIUM, browser_page, calm, running_lab, sees, settled
from tests.labkit import study
from tests.servers import SteadyServer, running

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium"),
]
KEY, NAME = "carry0me0off0secret", "PRECIOUS_API_KEY"
STRIKE = """async ([address, upload]) => {
  const tried = {};
  tried.stream = await new Promise(done => {
    const socket = new WebSocket(address.replace('http', 'ws') + '/_stcore/stream');
    socket.onopen = () => done('open');
    socket.onerror = () => done('refused');
  });
  for (const [name, path, how] of [['page', '/', {}], ['upload', upload, {method: 'PUT', body: 'x'}]])
    tried[name] = await fetch(address + path, how).then(answer => answer.status, () => 'refused');
  return tried;
}"""
UPLOAD = "/_stcore/upload_file/session/file"


@contextmanager
def foreign_site() -> Iterator[int]:
    """The port of a web server with a page of somebody else's."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>Kittens</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_a_page_that_rebinds_its_name_cannot_drive_the_lab(tmp_path: Path) -> None:
    """evil.example stands for 127.0.0.1 in this browser, as after a rebinding."""
    from playwright.sync_api import sync_playwright

    with (
        running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as lab,
        foreign_site() as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*ARGUMENTS, "--host-resolver-rules=MAP evil.example 127.0.0.1"]
        )
        try:
            page = browser.new_page()
            port = lab.rpartition(":")[2]
            rebound = f"http://evil.example:{port}"
            # The first visit after the start is the attacker's: no page of the lab has run yet.
            first = page.goto(f"{rebound}/judges")
            assert first is not None
            assert first.status == 403
            assert "this lab does not answer" in page.inner_text("body")
            assert page.locator("[data-testid=stApp]").count() == 0
            same = page.evaluate(STRIKE, [rebound, UPLOAD])
            assert same == {"stream": "refused", "page": 403, "upload": 403}
            page.goto(f"http://evil.example:{site}/")
            for target in (rebound, lab, f"http://localhost:{port}"):
                tried = page.evaluate(STRIKE, [target, UPLOAD])
                assert tried == {"stream": "refused", "page": "refused", "upload": "refused"}
            # Nor in a frame, where a click on something else could be a click on “Go on”.
            page.evaluate(
                """lab => new Promise(done => {
                  const frame = document.createElement('iframe');
                  frame.onload = done; frame.src = lab; document.body.append(frame); })""",
                f"{lab}/runs",
            )
            page.wait_for_timeout(1_000)
            assert [frame.url for frame in page.frames[1:]] == ["chrome-error://chromewebdata/"]
            page.goto(lab)
            page.wait_for_selector("h1")
            own = page.evaluate(STRIKE, [lab, UPLOAD])
            assert (own["stream"], own["page"]) == ("open", 200)
            assert own["upload"] == 403, "an upload without the page's own token"
        finally:
            browser.close()


def test_a_bundle_asks_before_it_sends_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, KEY)
    store = tmp_path / "lab.duckdb"
    with running(SteadyServer()) as server:
        thief = Judge("nice", "openai", "test-model", (server.base_url,), key_env=NAME)
        about = study(1, judges=(thief,), name="A gift")
        with Store(":memory:") as elsewhere:
            prepared = plan(about)
            run = elsewhere.open_run(prepared, provenance(prepared)).run
            gift = write_archive(elsewhere, run)
        with Store(store) as own:
            read_archive(own, gift)
        with running_lab(store, tmp_path / "log") as lab, browser_page() as page:
            page.goto(f"{lab}/runs")
            settled(page)
            page.get_by_role("button", name="Go on").click()
            dialog = page.get_by_role("dialog")
            sees(dialog, NAME)
            assert server.base_url in dialog.inner_text().replace("\u2060", "")
            page.screenshot(path=tmp_path / "asked.png")
            dialog.get_by_role("button", name="No, send and run nothing").click()
            dialog.wait_for(state="detached")
            calm(page)
            assert server.headers == []
            sees(page, "paused", exact=True)
            page.get_by_role("button", name="Go on").click()
            dialog.get_by_role("button", name="Yes, go on").click()
            dialog.wait_for(state="detached")
            sees(page, "20 of 20 calls")
        sent = {head.get("Authorization") for head in server.headers}
        assert sent == {f"Bearer {KEY}"}
        with Store(store) as own:
            assert own.consents() == {(server.base_url, NAME)}


def test_a_served_lab_says_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_HOSTS", "lab.example.org")
    with running_lab(tmp_path / "lab.duckdb", tmp_path / "log") as lab, browser_page() as page:
        page.goto(f"{lab}/judges")
        settled(page)
        page.get_by_role("tab", name="vLLM").click()
        sees(page, "Starting vLLM here is for whoever sits at the machine")
        assert page.get_by_label("Model to serve").count() == 0
        calm(page)
        page.screenshot(path=tmp_path / "vllm.png", full_page=True)
        page.get_by_label("Look at a running server").fill("http://127.0.0.1:9/v1")
        page.get_by_label("Look at a running server").press("Enter")
        calm(page)
        page.get_by_role("button", name="Watch").click()
        sees(page, "it sends nothing there")
        page.get_by_role("tab", name="Own GGUF file").click()
        sees(page, "A GGUF file by its path is for whoever")
        assert page.get_by_label("GGUF file: its path, or its name on Hugging Face").count() == 0
        page.screenshot(path=tmp_path / "gguf.png")
