"""Keep every number and word of the results of all recorded runs, and compare them after a change.

``python -m benchmarks frozen --save FILE`` before a change of the code that should change no
result, ``python -m benchmarks frozen --against FILE`` after it. Only the command line is used, so
that nothing inside the package has to keep its name. Numbers may differ by 1e-12 of their size,
and everything else (verdicts, reasons, advice, sentences in the JSON) not at all.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = [*sorted((ROOT / "data").glob("example*.zip"))]
RUNS += sorted((ROOT / "tests" / "oracle" / "cases").glob("*.zip"))
READINGS = ([], ["--smallest", "1.5"], ["--unit", "item"])
"""As the run is read by default; with a smallest effect so large that "no" is said; by items."""
TOLERANCE = 1e-12
SHOWN = 20
"""Differences that are printed. The rest is counted."""


def results_of(run: Path, reading: list[str]) -> Any:
    """Return what ``results RUN --topic all --json`` prints, or its error as text."""
    command = [sys.executable, "-m", "rubriclab", "results", str(run), "--topic", "all", "--json"]
    done = subprocess.run(
        [*command, *reading], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def all_results() -> dict[str, Any]:
    """Return the results of every run in every reading, by a name that says which."""
    jobs = {
        " ".join([run.relative_to(ROOT).as_posix(), *reading]): (run, reading)
        for run in RUNS
        for reading in READINGS
    }
    with ThreadPoolExecutor(max_workers=2) as pool:
        made = pool.map(lambda job: results_of(*job), jobs.values())
        return dict(zip(jobs, made, strict=True))


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Yield a line for every leaf that differs, with the path that leads to it."""
    numbers = (int, float)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            if key in before and key in after:
                yield from differences(before[key], after[key], f"{where}.{key}")
            else:
                yield f"{where}.{key}: only {'before' if key in before else 'after'}"
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{where}[{number}]")
    elif isinstance(before, numbers) and isinstance(after, numbers):
        if not math.isclose(before, after, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {before!r} before, {after!r} after"
    elif before != after:
        yield f"{where}: {before!r:.200} before, {after!r:.200} after"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks frozen", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--save", type=Path, metavar="FILE")
    what.add_argument("--against", type=Path, metavar="FILE")
    wanted = parser.parse_args()
    if wanted.save:
        wanted.save.write_text(json.dumps(all_results()), "utf-8")
        return
    lines = list(differences(json.loads(wanted.against.read_text("utf-8")), all_results()))
    print(*lines[:SHOWN], sep="\n")
    print(f"{len(lines)} differences in {len(RUNS) * len(READINGS)} results")
    sys.exit(1 if lines else 0)
