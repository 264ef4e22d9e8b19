"""A browser that looks at a served page: how soon it stands, and how soon it is drawn again after a choice.

A page stands when the server has nothing more to run and every chart on it is drawn. Times are those of the
page's own clock, from the request on.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from rubriclab.model import LabError
from rubriclab.model.places import HOME

Choice = tuple[str, str]
"""A choice on a page that draws it again: its kind of widget ("select" or "segments") and its label."""
QUIET_MS = 600
# A page that stood for QUIET_MS on end stood from the beginning of that time: this is what counts.
STANDS = f"""() => {{
  const app = document.querySelector('[data-testid=stApp]');
  const stands = app && app.getAttribute('data-test-script-state') === 'notRunning'
    && document.querySelector('h1') && !document.querySelector('[data-testid=stSkeleton]')
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(
         chart => chart.querySelector('.main-svg'));
  if (!stands) {{ window.__since = 0; return false; }}
  window.__since = window.__since || performance.now();
  return performance.now() - window.__since > {QUIET_MS} && window.__since;
}}"""
# A redraw counts from the click to the last change of the page; quiet for QUIET_MS means over.
WATCH = """() => {
  window.__clicked = 0; window.__changed = 0;
  document.addEventListener('click', () => { window.__clicked = performance.now(); }, true);
  new MutationObserver(changes => {
    const app = document.querySelector('[data-testid=stApp]');
    // Within its canvas a table keeps a hidden copy for screen readers, written when it has time.
    if (changes.some(c => c.target !== app
                          && !c.target.closest?.('[data-testid=data-grid-canvas]')))
      window.__changed = performance.now();
  }).observe(document.querySelector('[data-testid=stMain]'),
             {childList: true, subtree: true, characterData: true,
              attributes: true, attributeFilter: ['d', 'transform', 'points', 'width', 'height']});
}"""
QUIET = f"""() => window.__changed > 0 && performance.now() - window.__changed > {QUIET_MS}
  && document.querySelector('[data-testid=stApp]').getAttribute('data-test-script-state')
     === 'notRunning'"""


def new_page(browser: Any) -> Any:
    """A page in a context that has seen nothing: no cookies, nothing cached."""
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.set_default_timeout(120_000)
    return page


def opened(page: Any, address: str) -> float:
    """Open an address; the seconds from the request until the page stood."""
    page.goto(address, wait_until="commit")
    stood = page.wait_for_function(STANDS, polling=20)
    return float(stood.json_value()) / 1000


def visit(browser: Any, address: str) -> float:
    """Seconds until an address stands in a browser that has seen nothing."""
    page = new_page(browser)
    try:
        return opened(page, address)
    finally:
        page.close()


def watch(page: Any) -> None:
    """Once a page has settled: note from now on when it is clicked, and when it changes."""
    page.wait_for_timeout(1_000)
    page.evaluate(WATCH)


def warm(page: Any, choice: Choice) -> bool:
    """See the first two options of a choice once, ending with the first; False where the page offers no two.

    Nothing changes where an option was chosen already, so this waits for no change.
    """
    for option in (1, 0):
        if not _choose(page, *choice, option=option):
            return False
        page.wait_for_timeout(500)
        page.wait_for_function(STANDS, polling=50)
    return True


def redraw(page: Any, choice: Choice, option: int) -> float:
    """Seconds from the click on an option that is not chosen to the last change of a watched page."""
    _choose(page, *choice, option=option)
    page.wait_for_function(QUIET, polling=50)
    clicked, changed = page.evaluate("() => [window.__clicked, window.__changed]")
    return float(changed - clicked) / 1000


def _choose(page: Any, kind: str, label: str, *, option: int) -> bool:
    """Choose another option of a widget; False where the page does not offer it here."""
    if kind == "segments":
        offered = page.get_by_role("radiogroup", name=label).get_by_role("radio")
        if offered.count() < 2:
            return False
    else:
        box = page.get_by_role("combobox", name=label)
        if box.count() == 0:
            return False
        box.first.click()
        page.wait_for_timeout(400)
        offered = page.get_by_role("option")
        if offered.count() < 2:
            return False
    page.evaluate("() => { window.__changed = 0; }")
    offered.nth(option).click()
    return True


@contextmanager
def chromium() -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as fault:
        raise LabError("This needs Playwright: pip install playwright.") from fault
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise LabError("This needs Chromium: apt-get install chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser
        finally:
            with suppress(Exception):  # Ctrl-C ends it before we do
                browser.close()


@contextmanager
def served(script: Path, store: Path, *, log: int | IO[bytes] = subprocess.DEVNULL) -> Iterator[str]:
    """``streamlit run`` on a free port of 127.0.0.1, cold; its address. Stopped at the end.

    ``log``: where what it says goes. Raises LabError where it does not come up within a minute.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)],
        cwd=HOME,
        env={**os.environ, "RUBRICLAB_STORE": str(store)},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C is the benchmark's: it says what it has, then ends the server
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, process)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise LabError(f"The server ended with {process.returncode} before it was ready.")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    raise LabError("The server was not ready within a minute.")
