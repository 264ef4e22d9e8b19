"""Measure how long a store with many runs takes to list them.

``python -m benchmarks runs [RUNS] [--calls CALLS]``. One simulated run is made and copied with SQL,
so that a store of 1,000 runs with 400 calls each is ready in seconds. The output is seconds: of the
store's list when nothing is known yet, and of the list again after one more run was renamed. Then,
in a browser, from a click on Home's link to Runs: until the first rows are drawn, and until each
row says what its run says of its judges. A first visit computes that; a second one, and a
restarted lab, find it in the store. Goal: 1 s for the list of 1,000 runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.integration.lab import Browser, chromium, running_lab, settled, visit

T = TypeVar("T")
STUDY = """
name = "many"
[[data]]
sample = true
take = {items}
[[judges]]
name = "leaning"
kind = "simulated"
options = {{ first = 1.2, noise = 0.5 }}
"""
CLICKED = """() => document.addEventListener(
  'click', () => { window.__clicked = performance.now(); }, { capture: true, once: true }
)"""
"""Keeps the moment of the next click."""
ROWS = "() => document.querySelectorAll('[class*=st-key-open-]').length >= 20"
"""A page of the list is drawn: the button of each row."""
CALLS_PER_ITEM = 20
"""Ten balanced orders of five options, each asked twice."""


def copies(path: Path, *, runs: int, calls: int) -> None:
    """Make a store with so many runs at ``path``, all copies of one."""
    study = path.with_suffix(".toml")
    study.write_text(STUDY.format(items=calls // CALLS_PER_ITEM), "utf-8")
    with Store.open(path) as store:
        Run(store, plan_of_file(study)).start().wait(120)
        with store._db.transaction() as cursor:
            for table in ("runs", "conditions", "run_items", "orderings", "calls", "judgments"):
                changed = "new.run AS run"
                if table == "runs":
                    changed += (
                        ", t.id || '-' || new.run AS id, t.name || ' ' || new.run AS name"
                        ", t.identity || new.run AS identity, uuid()::VARCHAR AS token"
                    )
                cursor.execute(
                    f"INSERT INTO {table} BY NAME SELECT t.* REPLACE ({changed}) "
                    f"FROM {table} t, range(2, {runs + 1}) new(run) WHERE t.run = 1"
                )


def seconds_of(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", type=int, nargs="?", default=1_000)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lab.duckdb")
        copies(path, runs=asked.runs, calls=asked.calls)
        with Store.open(path) as store:
            first, infos = seconds_of(store.runs)
            again = []
            for k in range(asked.rounds):
                store.rename(infos[0].id, f"renamed {k}")
                again.append(seconds_of(store.runs)[0])
        print(f"{len(infos):,} runs of {asked.calls:,} calls")
        print(f"the list, first:            {first:6.3f} s")
        print(f"the list, after a change:   {sorted(again)[len(again) // 2]:6.3f} s")
        with chromium() as browser:
            with running_lab(path) as lab:
                _say("first visit", browser, lab)
                _say("second visit", browser, lab)
            with running_lab(path) as lab:
                _say("restarted lab", browser, lab)


def _say(when: str, browser: Browser, lab: str) -> None:
    rows, words = page_seconds(browser, lab)
    print(f"the page, {when + ':':<18}{rows:6.3f} s, with all words {words:6.3f} s")


def page_seconds(browser: Browser, lab: str) -> tuple[float, float]:
    """Return the seconds from a click on Runs until its first rows, and until all is drawn."""
    with browser() as page:
        visit(page, lab)
        page.evaluate(CLICKED)
        page.get_by_role("link", name="Runs", exact=True).click()
        page.wait_for_function(ROWS)
        rows = page.evaluate("() => performance.now() - window.__clicked")
        settled(page)
        words = page.evaluate("() => window.__still - window.__clicked")
        return rows / 1_000, words / 1_000


if __name__ == "__main__":
    main()
