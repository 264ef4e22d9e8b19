"""Run a lab in a process of its own, and a browser to look at it."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STILL = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  const drawn = app && app.getAttribute('data-test-script-state') === 'notRunning'
    && document.querySelector('h1') && !document.querySelector('[data-testid=stSkeleton]')
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
      .every(chart => chart.querySelector('.main-svg'));
  if (!drawn) { window.__still = 0; return false; }
  window.__still = window.__still || performance.now();
  return performance.now() - window.__still > 300;
}"""
"""The page is drawn, its charts too, and nothing has run for a while."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_lab(
    store: Path,
    *,
    environment: Mapping[str, str] | None = None,
    wait: float = 60,
    app: Path = ROOT / "app.py",
) -> Iterator[str]:
    """A cold server of the lab (or another ``app``) on a free port of this machine; its address.
    Ended, with all it started, at the end.
    """
    port = free_port()
    log = store.with_suffix(".log")
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(port)],
            cwd=app.parent,
            env={**os.environ, "RUBRICLAB_STORE": str(store), **(environment or {})},
            stdout=sink,
            stderr=sink,
        )
    try:
        end = time.monotonic() + wait
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(
                        f"the lab did not start: {log.read_text()[-2_000:]}"
                    ) from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


Browser = Callable[..., AbstractContextManager[Any]]
"""``browser(width=1280, height=800, dark=False)``: a page with cookies and storage of its own."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium, of which pages are asked one after another."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)

        @contextmanager
        def browser(*, width: int = 1280, height: int = 800, dark: bool = False) -> Iterator[Any]:
            viewport, scheme = {"width": width, "height": height}, "dark" if dark else "light"
            with started.new_context(viewport=viewport, color_scheme=scheme) as context:
                context.set_default_timeout(60_000)
                yield context.new_page()

        try:
            yield browser
        finally:
            started.close()


def settled(page: Any) -> None:
    """Wait until the page is drawn and nothing runs (a page that refreshes itself is never
    settled).
    """
    page.wait_for_selector("h1")
    page.evaluate("() => { window.__still = 0; }")
    page.wait_for_function(STILL, timeout=120_000)


def visit(page: Any, address: str) -> None:
    """Go there, and wait until the page is drawn."""
    page.goto(address)
    settled(page)


def strays_of(page: Any) -> list[str]:
    """What a hostile text must not bring about, collected from now on: requests to other machines,
    dialogs of scripts.
    """
    strays: list[str] = []
    local = (None, "", "127.0.0.1", "localhost")  # data and blobs have no host
    page.on(
        "request",
        lambda sent: strays.append(sent.url) if urlsplit(sent.url).hostname not in local else None,
    )
    page.on("dialog", lambda dialog: (strays.append(dialog.message), dialog.dismiss()))
    return strays


def violations(page: Any) -> list[str]:
    """What axe-core finds on the page as it is drawn: rule, and the first place. Streamlit's drop
    zone is not ours.
    """
    import axe_playwright_python

    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8"))
    found = page.evaluate(
        "() => axe.run({ exclude: [['[data-testid=stFileUploaderDropzone]']] }, { resultTypes: "
        "['violations'] })"
    )["violations"]
    return [
        f"{rule['id']} x {len(rule['nodes'])}: {rule['nodes'][0]['html'][:300]}" for rule in found
    ]


def sideways(page: Any) -> float:
    """Pixels by which the page's content is wider than the window."""
    drawn = page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
    return float(drawn - page.evaluate("() => document.documentElement.clientWidth"))
