"""Measure the first minute: from Launch to the first live cells, and to the first look.

``python -m benchmarks first [--answers 20]``. A cold lab with an empty store gets a file with the
first answers of the sample, in a browser, and asks the small model that comes with the lab. Its
weights must be on this machine. Goals on a quiet machine with two cores: first live cells after
30 s, first look after 90 s.

The clock starts with the click on Launch. A stage is over when a visitor sees it. Next to the clock
stands the CPU time that the lab has taken: on a busy machine the clock says little, and CPU time
divided by the cores is the least that a quiet machine needs.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubriclab.judges.weights import CATALOGUE
from rubriclab.model.study import DEFAULT_JUDGE
from tests.integration.lab import ARGUMENTS, CHROMIUM, ROOT, running_lab, settled

MOST_SECONDS = 1_800
"""After this time (s) a stage counts as not reached."""
GOALS = {"first live cells": 30.0, "first look": 90.0}
"""Seconds after the click, on a quiet machine with two cores."""


@dataclass(frozen=True)
class Stage:
    """When something was seen: seconds after the click, and CPU seconds of the lab by then."""

    name: str
    seconds: float
    cpu: float


class Watch:
    """Notes stages from the click on. ``pid``: the lab's process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._start, self._cpu = time.monotonic(), cpu_seconds(pid)
        self.stages: list[Stage] = []

    def seen(self, name: str) -> None:
        seconds = time.monotonic() - self._start
        self.stages.append(Stage(name, seconds, cpu_seconds(self._pid) - self._cpu))
        print(f"{name:<22} {seconds:7.1f} s   {self.stages[-1].cpu:7.1f} s of CPU", flush=True)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time (s) of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def lab_process() -> int:
    """Return the process of the lab that this one has started."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    for child in map(int, children):
        if b"streamlit" in Path(f"/proc/{child}/cmdline").read_bytes():
            return child
    raise SystemExit("The lab's process was not found. This benchmark needs Linux.")


def answers_file(folder: Path, answers: int) -> Path:
    """Write the first answers of the sample as somebody's own file."""
    with (ROOT / "data" / "sample.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))[:answers]
    path = folder / "answers.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["instruction", "response"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def launch(page: Any, address: str, file: Path) -> Watch:
    """Set up a run of the file with the lab's own judge, and launch it."""
    page.goto(f"{address}/setup")
    settled(page)
    page.locator("input[type=file]").first.set_input_files(str(file))
    page.get_by_role("button", name="Use these columns").click()
    settled(page)
    button = page.get_by_role("button", name=re.compile("Launch "))
    print(button.inner_text().splitlines()[-1])
    watch = Watch(lab_process())
    button.click()
    return watch


def follow(page: Any, watch: Watch) -> None:
    """Note what a visitor sees on Runs until the first look has been made."""
    page.get_by_role("heading", name="Runs", level=1).wait_for()
    watch.seen("page Runs")
    main = page.locator("[data-testid=stMain]")
    page.get_by_text(re.compile(r"\b[1-9]\d* of (at most )?[\d,]+ calls")).first.wait_for()
    watch.seen("first reply")
    # The heatmap is there from the start, with a dash in each cell.
    number = page.locator("[data-testid=stPlotlyChart] .textpoint", has_text="%")
    number.first.wait_for()
    watch.seen("first live cells")
    looked = re.compile(r"Looked at after|Clear after|answer clear, stopped early")
    page.get_by_text(looked).first.wait_for()
    watch.seen("first look")
    print(re.search(rf".*({looked.pattern}).*", main.inner_text())[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=20, help="answers in the file")
    answers = parser.parse_args().answers
    if not CATALOGUE[DEFAULT_JUDGE.model].present():
        raise SystemExit("The weights are not on this machine. Run: rubriclab run demo --items 1")
    from playwright.sync_api import sync_playwright

    load = os.getloadavg()[0]
    print(f"load before: {load:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            with running_lab(folder / "lab.duckdb") as address:
                page = browser.new_page()
                page.set_default_timeout(MOST_SECONDS * 1_000)
                watch = launch(page, address, answers_file(folder, answers))
                follow(page, watch)
        finally:
            browser.close()
    for stage in watch.stages:
        if stage.name in GOALS:
            goal = GOALS[stage.name]
            kept = "kept" if stage.seconds <= goal else "missed"
            print(f"{stage.name}: {stage.seconds:.0f} s, goal {goal:.0f} s: {kept}")


if __name__ == "__main__":
    main()
