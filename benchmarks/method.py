"""Count how often the lab is wrong in simulated studies whose truth is known.

    python -m benchmarks method [--hours 2] [--cells PATTERN] [--processes 1]
    python -m benchmarks method --write             # docs/method-check.md and method_check.toml
    python -m benchmarks method --forget PATTERN    # after a change of a statistic

The first command continues where it was stopped, by Ctrl-C or a kill.

Studies have fixed seeds, the cell's name and the study's number, and are run in portions of 20: few
of every cell first, then 1,000 of each. A cell that says something untrue in more than .05 + 2
standard errors of its first 1,000 gets 1,000 new ones.
"""

from __future__ import annotations

import argparse
import fcntl
import math
import os
import re
import signal
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np

from benchmarks.counted import (
    DEALS,
    FULL,
    PORTION,
    RESULTS,
    RULES,
    Counted,
    Results,
    alarms,
    load,
    record_of,
    save,
)
from benchmarks.published import write
from rubriclab.core import permutation as gate

STEPS = ((20, 3.0), (100, 10.0), (300, 30.0), (FULL, 120.0), (FULL, math.inf))
"""(studies of a cell, seconds of one core): each cell gets the first number it reaches, step by
step. So every cell has some studies before any cell has many."""


# --------------------------------------------------------------------------------------- running it
@cache
def _cells() -> dict[str, Any]:
    from benchmarks.cells import all_cells

    return all_cells()


@cache
def _large(about: str) -> Any:
    """Return the truth: what very many units give. Cells that differ only in units share it."""
    return next(
        cell for name, cell in _cells().items() if cell.large and name.rsplit(" | ", 1)[0] == about
    ).large()


def run_portion(name: str, portion: int) -> tuple[str, Counted]:
    """Run 20 studies of a cell. Their seeds follow from the cell's name and the study's number."""
    cell = _cells()[name]
    truth = _large(name.rsplit(" | ", 1)[0]) if cell.large else None
    start, made = time.process_time(), Counted([portion])
    for k in range(PORTION):
        rng = np.random.default_rng([zlib.crc32(name.encode()), portion * PORTION + k])
        for key, value in cell.study(rng, truth).items():
            seen = (
                [float(value[0]), 1.0, float(value[1])]
                if isinstance(value, tuple)
                else [float(value), 1.0]
            )
            own = made.sums.setdefault(key, [0.0] * len(seen))
            made.sums[key] = [a + b for a, b in zip(own, seen, strict=True)]
    made.seconds = time.process_time() - start
    return name, made


def wanted(results: Results, names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield (cell, portion), the most useful first. ``results`` is read again for each.

    Cells that were counted under earlier rules are left alone: studies under two versions of the
    rules are never added.
    """
    planned = {
        name: {k for new in (0, 1) for k in results.get((name, new), Counted()).portions}
        for name in names
        if all(results.get((name, new), Counted()).rules == RULES for new in (0, 1))
    }
    for studies, seconds in STEPS:
        for name in planned:
            for portion in range(studies // PORTION):
                seen = results.get((name, 0), Counted())
                if seen.studies and seen.seconds >= seconds:
                    break
                if portion not in planned[name]:
                    planned[name].add(portion)
                    yield name, portion
        for name in planned:
            above = [
                key for key in alarms(results.get((name, 0))) if results[name, 0].studies >= FULL
            ]
            for portion in range(FULL // PORTION, 2 * FULL // PORTION) if above else ():
                if portion not in planned[name]:
                    planned[name].add(portion)
                    yield name, portion


def run(pattern: str, hours: float, processes: int) -> None:
    os.nice(19)
    names = [name for name in _cells() if re.search(pattern, name)]
    alone()
    results, end = load(), time.time() + 3600 * hours
    save(results)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    workers = ProcessPoolExecutor(processes, initializer=_as_worker, initargs=(os.getpid(),))
    with RESULTS.open("a", encoding="utf-8") as out, workers as pool:
        work, running = wanted(results, names), set()
        try:
            while True:
                while time.time() < end and len(running) < processes and (nxt := next(work, None)):
                    running.add(pool.submit(run_portion, *nxt))
                if not running:
                    break
                ready, running = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    name, made = future.result()
                    results.setdefault((name, made.portions[0] * PORTION // FULL), Counted()).add(
                        made
                    )
                    out.write(record_of(name, made))
                    out.flush()
                    print(
                        f"{name}: {results[name, made.portions[0] * PORTION // FULL].studies}",
                        flush=True,
                    )
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
    save(results)
    print("Stopped. Repeat the command to continue.")


def _as_worker(parent: int) -> None:
    """Prepare a worker: fewer permutations than in the lab, and an end when the parent ends.

    Ctrl-C is left to the parent, which lets portions finish.
    """
    gate.DEALS = DEALS
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def alone() -> None:
    """Lock the results file for this process. Raises SystemExit if another one has it."""
    try:
        fcntl.flock(os.open(RESULTS.parent, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit(f"Another run writes {RESULTS.name}; wait for it, or stop it.") from None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hours", type=float, default=math.inf)
    parser.add_argument(
        "--cells", default="", metavar="PATTERN", help="a regular expression of names"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--forget", metavar="PATTERN", help="leave out what was measured of these cells"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the table from what was measured"
    )
    chosen = parser.parse_args()
    if chosen.forget is not None:
        alone()
        save(
            {
                key: counted
                for key, counted in load().items()
                if not re.search(chosen.forget, key[0])
            }
        )
    elif chosen.write:
        write(load())
    else:
        run(chosen.cells, chosen.hours, chosen.processes)


if __name__ == "__main__":
    main()
