"""Visits to pages of a served lab in turns with their anchors: seconds of both sides, as they are measured."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.browsing import Choice, new_page, opened, redraw, served, visit, warm, watch
from benchmarks.contenders import bench_study
from benchmarks.server import served as fast_server
from rubriclab.model import LabError
from rubriclab.model.places import APP, EXAMPLE, TOUR
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan

Part = Literal["cold", "redraw", "first", "load"]
BARE = "bare Streamlit page"
BARE_SCRIPT = """
import plotly.graph_objects as go
import streamlit as st

st.set_page_config(layout="wide")
st.title("Bare")
chosen = st.segmented_control("Height", ["one", "two"], default="one", required=True)
times = 1 if chosen == "one" else 2
st.plotly_chart(go.Figure(go.Bar(x=[1, 2, 3], y=[times, 2 * times, 3])), key="chart")
"""
BARE_CHOICE: Choice = ("segments", "Height")
OTHER = "rubric"
"""The page that opens the store before a cold one: it works out no finding."""
NEW_STORE = "home, new store"
REDRAWS = 3
"""Changes of a choice a turn that count, after both options have been seen."""
SETTLE_MS = 8_000
"""After its first visit a lab imports what findings need."""
CALLS, CONCURRENCY = 200_000, 64
"""Of the run that is going while Home is opened: more than can be asked meanwhile."""


class Visit(NamedTuple):
    """One turn of a page: its seconds, and those of its anchor beside it."""

    page: str
    part: Part
    own: tuple[float, ...]
    anchor: tuple[float, ...]


def visits(
    browser: Any,
    folder: Path,
    *,
    pages: Sequence[str],
    first: Sequence[str],
    choices: Mapping[str, Choice],
    parts: Collection[str],
    rounds: int,
    until: float,
) -> Iterator[Visit]:
    """Every turn as soon as it is over; none begins after ``until`` (of ``time.monotonic``).

    Raises LabError where a server does not start.
    """
    kept = folder / "recorded.duckdb"
    with Store(kept) as store:
        for archive in filter(Path.exists, (EXAMPLE, *TOUR)):
            read_archive(store, archive.read_bytes())
    bare = folder / "bare.py"
    bare.write_text(BARE_SCRIPT)
    if "first" in parts:
        yield from _first(browser, folder, kept, bare, first, until)
    with served(bare, kept) as anchor:
        if "load" in parts and "home" in pages:
            yield from _under_load(browser, folder, kept, rounds, until)
        if {"cold", "redraw"} & {*parts}:
            lab = _Lab(browser, folder / "lab", kept, anchor)
            yield from lab.turns(pages, choices if "redraw" in parts else {}, rounds, until)


def _first(browser: Any, folder: Path, kept: Path, bare: Path, pages: Sequence[str], until: float) -> Iterator[Visit]:
    """First visits after a start, each beside that of a bare page on a server of its own."""
    for number, page in enumerate([*pages, *([NEW_STORE] if "home" in pages else [])]):
        if time.monotonic() > until:
            return
        store = folder / f"first{number}" / "lab.duckdb"
        store.parent.mkdir()
        if page != NEW_STORE:
            shutil.copy(kept, store)
        with served(bare, kept) as address:
            beside = visit(browser, address)
        with served(APP, store) as address:
            own = visit(browser, f"{address}/{'home' if page == NEW_STORE else page}")
        yield Visit(page, "first", (own,), (beside,))


class _Lab:
    """A lab that runs, and turns of its pages with a bare one."""

    def __init__(self, browser: Any, folder: Path, kept: Path, anchor: str) -> None:
        self._browser, self._folder, self._kept, self._anchor = browser, folder, kept, anchor
        self._copies = 0

    def turns(self, pages: Sequence[str], choices: Mapping[str, Choice], rounds: int, until: float) -> Iterator[Visit]:
        """Round by round; a choice is changed in the last round that a page comes to, at least in the first."""
        self._folder.mkdir()
        first = self._folder / "lab.duckdb"
        shutil.copy(self._kept, first)
        with served(APP, first) as address, _watched(self._browser, self._anchor) as beside:
            self._opener = new_page(self._browser)
            opened(self._opener, f"{address}/{OTHER}")
            self._opener.wait_for_timeout(SETTLE_MS)
            for _ in range(rounds):
                for page in pages:
                    if time.monotonic() > until:
                        return
                    yield from self._turn(address, page, choices.get(page), beside)

    def _turn(self, address: str, name: str, choice: Choice | None, beside: Any) -> Iterator[Visit]:
        store = self._unseen(address)
        anchor = visit(self._browser, self._anchor)
        page = new_page(self._browser)
        try:
            yield Visit(name, "cold", (opened(page, f"{address}/{name}?store={store}"),), (anchor,))
            if choice is not None:
                yield from _redrawn(name, page, choice, beside)
        finally:
            page.close()

    def _unseen(self, address: str) -> str:
        """The name of a store that the lab has opened and worked out nothing of."""
        for before in self._folder.glob("turn*.duckdb"):
            before.unlink()  # the sidebar would list it
        self._copies += 1
        name = f"turn{self._copies}"
        shutil.copy(self._kept, self._folder / f"{name}.duckdb")
        opened(self._opener, f"{address}/{OTHER}?store={name}")
        return name


@contextmanager
def _watched(browser: Any, address: str) -> Iterator[Any]:
    """A bare page both of whose options have been seen."""
    page = new_page(browser)
    opened(page, address)
    watch(page)
    warm(page, BARE_CHOICE)
    yield page
    page.close()


def _redrawn(name: str, page: Any, choice: Choice, beside: Any) -> Iterator[Visit]:
    """Changes of the page's choice in turns with the bare page's; none where the page offers no choice."""
    watch(page)
    if not warm(page, choice):
        return
    own, anchor = [], []
    for nth in range(REDRAWS):
        own.append(redraw(page, choice, 1 - nth % 2))
        anchor.append(redraw(beside, BARE_CHOICE, 1 - nth % 2))
        beside.wait_for_timeout(100)
    if REDRAWS % 2:
        redraw(beside, BARE_CHOICE, 0)
    yield Visit(name, "redraw", tuple(own), tuple(anchor))


def _under_load(browser: Any, folder: Path, kept: Path, rounds: int, until: float) -> Iterator[Visit]:
    """Home while a run is asked at full speed, in turns with Home while it is paused."""
    store = folder / "load" / "lab.duckdb"
    store.parent.mkdir()
    shutil.copy(kept, store)
    with fast_server(0.0) as url:
        prepared = plan(bench_study(url, CALLS, CONCURRENCY))
        with Store(store) as filled:
            filled.open_run(prepared, provenance(prepared))
        with served(APP, store) as address:
            runs = new_page(browser)
            opened(runs, f"{address}/runs")
            visit(browser, f"{address}/home")
            runs.wait_for_timeout(SETTLE_MS)
            for _ in range(rounds):
                if time.monotonic() > until:
                    return
                idle = visit(browser, f"{address}/home")
                _press(runs, "Go on", then="Pause")
                runs.wait_for_timeout(2_000)
                loaded = visit(browser, f"{address}/home")
                if not runs.get_by_role("button", name="Pause").count():
                    raise LabError(f"The run of {CALLS:,} calls ended while Home was measured under it.")
                _press(runs, "Pause", then="Go on")
                yield Visit("home", "load", (loaded,), (idle,))


def _press(page: Any, button: str, *, then: str) -> None:
    page.get_by_role("button", name=button).first.click()
    page.get_by_role("button", name=then).first.wait_for()
