"""A lab in its own process for browser tests, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


@contextmanager
def running_lab(store: Path, log: Path) -> Iterator[str]:
    """``streamlit run app.py`` on a free port of 127.0.0.1, cold; its address. Stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env={**os.environ, "RUBRICLAB_STORE": str(store)},
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_healthy(f"http://127.0.0.1:{port}", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _wait_healthy(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(120):
        if process.poll() is not None:
            raise RuntimeError(f"the lab ended with {process.returncode} before it was ready")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise RuntimeError("the lab was not ready within a minute")


@contextmanager
def browser_page(*, width: int = 1280, dark: bool = False) -> Iterator[Any]:
    """A page in headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            page = browser.new_page(
                viewport={"width": width, "height": 1000},
                color_scheme="dark" if dark else "light",
            )
            page.set_default_timeout(60_000)
            yield page
        finally:
            browser.close()


def settled(page: Any) -> None:
    """Wait until Streamlit has drawn the page: a title, and nothing running."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-testid="stStatusWidget"]', state="detached", timeout=120_000)


def place_of(page: Any, selector: str) -> dict[str, float]:
    """Where the last element of ``selector`` stands once it is in view and keeps still."""
    before = None
    for _ in range(60):
        element = page.locator(selector).last
        element.evaluate("part => part.scrollIntoView({block: 'center'})")
        page.wait_for_timeout(500)
        box = element.bounding_box()
        if box is not None and box == before:
            return dict(box)
        before = box
    raise RuntimeError(f"{selector} never kept still")
