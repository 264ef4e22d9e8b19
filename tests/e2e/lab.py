"""A lab in its own process for browser tests, and a browser to look at it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from streamlit.testing.v1 import AppTest

from benchmarks.browsing import served
from rubriclab.app.ui import NAVIGATION
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.simulated_runs import run_into, studies

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


EXAMPLE = ROOT / "data" / "example_run.zip"
RECORDED = "recorded"
"""The kind of the recorded example among the kinds of simulated runs."""
RUNS_OF: Mapping[str, tuple[str, ...]] = {
    "position": (RECORDED, "options"),
    "alignment": ("options", "sweep"),
    "reliability": ("options", "criteria"),
    "ranking": ("options",),
    "criteria": ("criteria",),
    "batch": ("batch",),
    "choice": ("options",),
    "perturbation": ("forms",),
    "comparison": ("pairs", "lists"),
    "judgments": ("options", "criteria", "pairs", "batch"),
}
"""Kinds of runs a page is looked at with; a page of findings that is not listed: "options"."""
OF_A_RUN = ("Findings", "Look closer")
STILL = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  if (!app || app.getAttribute('data-test-script-state') !== 'notRunning') { window.__stillSince = 0; return false; }
  window.__stillSince = window.__stillSince || performance.now();
  return performance.now() - window.__stillSince > 200;
}"""
"""Nothing has run for a fifth of a second: between a click and its run there is a moment when nothing runs."""
CALM = """() => {
  const app = document.querySelector('[data-testid=stApp]');
  const drawn = app && app.getAttribute('data-test-script-state') === 'notRunning'
    && document.querySelector('h1') && !document.querySelector('[data-testid=stSkeleton]')
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(
         chart => chart.querySelector('.main-svg'));
  if (!drawn) { window.__calmSince = 0; return false; }
  window.__calmSince = window.__calmSince || performance.now();
  return performance.now() - window.__calmSince > 500;
}"""


class View(NamedTuple):
    """A page on one run: its file and its address after the server's."""

    name: str
    file: str
    address: str


def filled_store(path: Path) -> dict[str, str]:
    """A store with the recorded example and simulated runs of every kind; run names by kind."""
    with Store(path) as store:
        read_archive(store, EXAMPLE.read_bytes())
        return {RECORDED: store.runs()[0].run, **run_into(store, *studies())}


def views(runs: Mapping[str, str], *, kinds: Mapping[str, tuple[str, ...]] = RUNS_OF) -> list[View]:
    """Every page of the navigation; a page of findings once for each kind of run it shows."""
    found = []
    for section, entries in NAVIGATION.items():
        for entry in entries:
            if section not in OF_A_RUN:
                found.append(View(entry.file, entry.file, entry.file))
                continue
            for kind in kinds.get(entry.file, ("options",)):
                address = f"{entry.file}?run={runs[kind]}"
                found.append(View(f"{entry.file} {kind}", entry.file, address))
    return found


@contextmanager
def running_lab(store: Path, log: Path, *, script: Path = ROOT / "app.py") -> Iterator[str]:
    """A lab that has run nothing yet, on a free port of 127.0.0.1; its address."""
    with log.open("wb") as sink, served(script, store, log=sink) as address:
        yield address


@contextmanager
def browser_page(*, width: int = 1280, dark: bool = False) -> Iterator[Any]:
    """A page in headless Chromium. One at a time: ``page_beside`` opens more."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield _new_page(browser, width=width, dark=dark)
        finally:
            browser.close()


@contextmanager
def page_beside(page: Any, *, width: int = 1280, dark: bool = False, **context: Any) -> Iterator[Any]:
    """Another page in the browser of ``page``, with a context (cookies, caches) of its own."""
    other = _new_page(page.context.browser, width=width, dark=dark, **context)
    try:
        yield other
    finally:
        other.close()


def _new_page(browser: Any, *, width: int, dark: bool, **context: Any) -> Any:
    page = browser.new_page(
        viewport={"width": width, "height": 1000}, color_scheme="dark" if dark else "light", **context
    )
    page.set_default_timeout(60_000)
    return page


def settled(page: Any) -> None:
    """Wait until Streamlit has drawn the page: a title, and nothing running."""
    page.wait_for_selector("h1")
    page.wait_for_selector('[data-testid="stStatusWidget"]', state="detached", timeout=120_000)
    page.evaluate("() => { window.__stillSince = 0; }")
    page.wait_for_function(STILL, timeout=120_000)


def sees(where: Any, text: str | re.Pattern[str], *, exact: bool = False, timeout: float | None = None) -> None:
    """Wait until ``text`` stands on the page, or in a part of it: once or more often."""
    where.get_by_text(text, exact=exact).filter(visible=True).first.wait_for(timeout=timeout)


def place_of(page: Any, what: Any) -> dict[str, float]:
    """Where ``what`` (a locator, or the last element of a selector) keeps still, once in view."""
    before = None
    for _ in range(60):
        element = page.locator(what).last if isinstance(what, str) else what
        element.evaluate("part => part.scrollIntoView({block: 'center'})")
        page.wait_for_timeout(500)
        box = element.bounding_box()
        if box is not None and box == before:
            return dict(box)
        before = box
    raise RuntimeError(f"{what} never kept still")


def calm(page: Any) -> None:
    """Wait until nothing runs and every chart is drawn, for half a second on end."""
    page.evaluate("() => { window.__calmSince = 0; }")
    page.wait_for_function(CALM, timeout=120_000)


def pick(page: Any, box: Any, option: str) -> None:
    """Choose ``option`` from the list that ``box`` opens; a redraw that shuts the list meanwhile is waited out."""
    from playwright.sync_api import TimeoutError as NotThere

    choice = page.get_by_role("option", name=option, exact=True)
    for _ in range(5):
        calm(page)
        box.click()
        try:
            choice.click(timeout=10_000)
            return
        except NotThere:
            page.keyboard.press("Escape")
    raise RuntimeError(f"no {option!r} in the list")


def open_all(page: Any) -> None:
    """Open every expander, also those within others."""
    closed = '[data-testid="stExpander"] details:not([open]) > summary'
    for _ in range(4):
        opened = page.evaluate(
            "closed => { const parts = [...document.querySelectorAll(closed)];"
            " parts.forEach(part => part.click()); return parts.length; }",
            closed,
        )
        if not opened:
            return
        page.wait_for_timeout(300)
        calm(page)


def width_of(page: Any) -> float:
    """How many pixels the page's content is wide."""
    return float(
        page.evaluate(
            """() => Math.max(document.documentElement.scrollWidth,
                 document.querySelector('[data-testid=stMain]').scrollWidth)"""
        )
    )


def healthy(app: AppTest) -> AppTest:
    """The page ran to its end, and shows no error."""
    assert not app.exception
    assert [error.value for error in app.error] == []
    return app
