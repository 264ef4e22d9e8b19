"""Seconds until the command line answers, beside Python that does nothing and Python that imports pandas.

Rounds take every command in turns; of each the best round counts, on the clock and in processor time (its own and
that of what it starts). A round's clock says nothing on a machine that does other things; the ratio to pandas does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rubriclab.model import LabError
from rubriclab.model.places import EXAMPLE, HOME

NOTHING, PANDAS = "python -c pass", "python -c 'import pandas'"
HELP, RESULTS = "rubriclab --help", "rubriclab results, recorded example"
BARS: Mapping[str, float] = {HELP: 0.3, RESULTS: 1.5}
"""Seconds on an idle machine."""
IDLE = 0.5
"""Load a processor, before anything is measured, up to which a machine counts as idle."""


@dataclass(frozen=True)
class Took:
    """The best round of a command: seconds on the clock, and of processor time."""

    command: str
    seconds: float
    cpu: float


def measure(rounds: int) -> list[Took]:
    """Every command ``rounds`` times in turns, with a line a round on stderr. Raises LabError where one fails."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "lab.duckdb"
        lab = [sys.executable, "-m", "rubriclab"]
        commands = {
            NOTHING: [sys.executable, "-c", "pass"],
            PANDAS: [sys.executable, "-c", "import pandas"],
            HELP: [*lab, "--help"],
            RESULTS: [*lab, "results", _example(store), "--store", str(store)],
        }
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for nth in range(rounds):
            for name, command in commands.items():
                taken[name].append(_timed(command))
            said = ", ".join(f"{name} {taken[name][-1][0]:.2f} s" for name in commands)
            print(f"[{nth + 1}/{rounds}] {said}", file=sys.stderr, flush=True)
    return [Took(name, min(s for s, _ in rows), min(cpu for _, cpu in rows)) for name, rows in taken.items()]


def table(found: Sequence[Took]) -> str:
    """A line a command: seconds on the clock and of processor time, and both as ratios to importing pandas."""
    pandas = next(took for took in found if took.command == PANDAS)
    lines = [f"{'command':38} {'s':>6} {'x pandas':>9} {'cpu s':>6} {'x pandas':>9}"]
    for took in found:
        ratios = f"{took.seconds / pandas.seconds:9.2f} {took.cpu:6.2f} {took.cpu / pandas.cpu:9.2f}"
        lines.append(f"{took.command:38} {took.seconds:6.2f} {ratios}")
    return "\n".join(lines)


def verdicts(found: Sequence[Took], *, idle: bool) -> dict[str, bool | None]:
    """Each bar in words, and whether it is kept to; None on a machine that is not idle and missed it."""
    seconds = {took.command: took.seconds for took in found}
    return {
        f"{name} within {most:g} s": True if seconds[name] < most else False if idle else None
        for name, most in BARS.items()
    }


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks commands", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    try:
        found = measure(options.rounds)
    except LabError as fault:
        print(f"benchmarks: {fault}", file=sys.stderr)
        return 1
    bars = verdicts(found, idle=load <= IDLE)
    if options.json:
        print(json.dumps({"load": load, "commands": [asdict(took) for took in found], "bars": bars}))
    else:
        words = {True: "met     ", False: "MISSED  ", None: "not told"}
        print(table(found))
        print("\n".join(f"{words[met]}  {bar}" for bar, met in bars.items()))
        print(f"The machine before: load {load:.1f} a processor, {'idle' if load <= IDLE else 'not idle'}.")
    return int(any(met is False for met in bars.values()))


def _example(store: Path) -> str:
    """The recorded example in a store of its own; its name there."""
    from rubriclab.store import Store
    from rubriclab.store.archive import read_archive

    with Store(store) as opened:
        read_archive(opened, EXAMPLE.read_bytes())
        return opened.runs()[0].run


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Seconds on the clock and of processor time of a command that must succeed."""
    # An installed package has its bytecode: where none may be written every command would be compiled anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, started = _children_cpu(), time.perf_counter()
    done = subprocess.run(command, cwd=HOME, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise LabError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return seconds, _children_cpu() - before


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
