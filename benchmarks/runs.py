"""Measure how long a store with many runs takes to list them.

``python -m benchmarks runs [RUNS] [--calls CALLS]``. One simulated run is made and copied with SQL,
so that a store of 1,000 runs with 400 calls each is ready in seconds. The output is seconds: of the
store's list when nothing is known yet, of the list again after one more run was renamed, and of the
page Runs, drawn without a browser: the first time, when it computes what the runs say of their
judges; again; and in a lab that was started anew, which finds that in the store. Goal: 1 s for the
list of 1,000 runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.integration.lab import ROOT

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
        os.environ["RUBRICLAB_STORE"] = str(path)
        from streamlit.testing.v1 import AppTest

        from rubriclab.app import run_rows

        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
        page, _ = seconds_of(app.switch_page("pages/runs.py").run)
        redrawn, _ = seconds_of(app.run)
        print(f"the page Runs, first:       {page:6.3f} s")
        print(f"the page Runs, redrawn:     {redrawn:6.3f} s")
        run_rows._words.clear()
        anew, _ = seconds_of(app.run)
        print(f"the page Runs, kept words:  {anew:6.3f} s")


if __name__ == "__main__":
    main()
