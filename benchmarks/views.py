"""How long each view of Results takes on millions of judgments, cold, and how much memory.

``python -m benchmarks views`` makes judgments of six judges under two strategies (twelve arms),
imports them as a table made elsewhere would be, and takes every view in a process of its own on
two cores: opening the store, reading the run's frame, and the finding with its default intervals.
``item`` is the page of one item: what was judged of it under every arm. Importing Python
libraries is timed apart: a page finds them loaded. Memory is the most that the process ever held.
Each line is printed as soon as it is known, and beside it whether its bar is met.

The same statistics in plain pandas, scipy and statsmodels are timed beside it; what would take too
long there is run for one arm and for a share of its draws or items and multiplied up, as the
printed note says.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.generated import LAYOUTS, generated_criteria, generated_scores

OPTION_VIEWS = ("position", "alignment", "ranking", "choice", "debiasing")
VIEWS = ("perturbation", "item", *OPTION_VIEWS, "criteria")
ROWS = 2_160_000
SECONDS, MEMORY = 10.0, 4_000.0
"""The bar of every view at twenty million judgments, in seconds and MB."""
SOONER = {"perturbation": 1.5, "item": 1.0}
"""The bars of two views at 2.1 million judgments, in seconds."""


@dataclass(frozen=True)
class Timed:
    """One view in a fresh process; seconds on the clock, ``cpu`` over all its threads, ``peak`` in MB."""

    view: str
    libraries: float
    frame: float
    finding: float
    wall: float
    cpu: float
    load: float
    peak: float
    plain: float | None = None
    plain_note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.plain is None else self.plain / self.wall


def bar(view: str, rows: int) -> float:
    """Seconds within which a view should answer."""
    return SOONER.get(view, SECONDS) if rows <= 2 * ROWS else SECONDS


# ---------------------------------------------------------------- one view, cold


def import_one(store: str, rows: int, kind: str, *, layout: str, seed: int = 0) -> dict[str, Any]:
    """A generated table in a Parquet file, brought into ``store`` as by the command: the run's name, seconds, MB.

    The file is there before the clock and the memory are looked at; ``before``: what the process held then.
    """
    from rubriclab.datasets.logs import Source
    from rubriclab.runs.importing import import_file
    from rubriclab.store import Store

    file = Path(store).with_suffix(f".{kind}.parquet")
    made = generated_scores(rows, layout=layout, seed=seed) if kind == "scores" else generated_criteria(rows, seed=seed)
    made.to_parquet(file, index=False)
    judgments = len(made)
    del made
    before = _forget_peak()
    start, busy = time.perf_counter(), time.process_time()
    with Store(store) as kept:
        (run,) = import_file(lambda: kept, Source(file), kind=kind, name=f"bench {kind}").runs
        wall, cpu, peak = time.perf_counter() - start, time.process_time() - busy, _peak()
        arms = len(kept.usage_by_arm(run))
    table = file.stat().st_size / 1e6
    file.unlink()  # a store that was named stays, and nothing beside it
    return {
        "run": run,
        "rows": judgments,
        "arms": arms,
        "wall": wall,
        "cpu": cpu,
        "before": before,
        "peak": peak,
        "table": table,
        "file": Path(store).stat().st_size / 1e6,
    }


def _peak() -> float:
    """The most memory that this process ever held, in MB."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1000
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _forget_peak() -> float:
    """What this process holds now, in MB; its peak counts from here, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def time_view(view: str, run: str, store: str, *, profile: str | None = None) -> dict[str, float]:
    """Seconds to open the store, read the frame and work out ``view``, from a fresh process."""
    start = time.perf_counter()
    finding = _finding(view)
    from rubriclab.store import Store

    libraries = time.perf_counter() - start
    profiler = _profiler() if profile else None
    start, busy = time.perf_counter(), time.process_time()
    with Store(store) as kept:
        if view == "item":
            framed = time.perf_counter() - start
            _look_at_an_item(kept, run)
        else:
            data = kept.frame(run, probabilities=view in ("choice", "debiasing"))
            framed = time.perf_counter() - start
            finding(data)
        wall = time.perf_counter() - start
    if profiler:
        profiler.disable()
        profiler.dump_stats(profile)
    return {
        "libraries": libraries,
        "frame": framed,
        "finding": wall - framed,
        "wall": wall,
        "cpu": time.process_time() - busy,
        "peak": _peak(),
    }


def _look_at_an_item(kept: Any, run: str) -> None:
    """All that the Judgments page asks about one item in the middle: its text, neighbours, judgments by arm."""

    offered = kept.offered(run)
    page = kept.items_behind(run, sort="spread", limit=25, offset=25).page
    item = int(page["item"].iloc[0])
    kept.items_beside(run, item, sort="spread")
    kept.item_text(run, item)
    found = [kept.judgments_behind(run, item=item, arm=arm) for arm in offered.used]
    if len(found) < 8 or not all(map(len, found)):
        raise RuntimeError(f"Item {item} was to be judged under eight arms or more, and was under {len(found)}.")


def _profiler() -> Any:
    import cProfile

    profiler = cProfile.Profile()
    profiler.enable()
    return profiler


def _finding(view: str) -> Callable[..., Any]:
    """The entry function of a view; nothing else is imported."""
    from importlib import import_module

    if view == "item":
        return _look_at_an_item
    found: Callable[..., Any] = getattr(import_module(f"rubriclab.findings.{view}"), view)
    return found


def in_fresh_process(view: str, run: str, store: str, *, cores: int, profile: str | None = None) -> Timed:
    """``time_view`` in a process of its own that may use ``cores`` cores."""
    more = ["--profile", profile] if profile else []
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return Timed(view=view, load=load, **_apart("--one", view, run, store, *more, cores=cores))


def _apart(*arguments: str, cores: int) -> dict[str, Any]:
    """What this module prints for ``arguments`` in a fresh process on ``cores`` cores."""
    limit = {name: str(cores) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.views", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **limit, "RUBRICLAB_BENCH_CORES": str(cores)},
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} stopped with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _keep_to_cores() -> None:
    """Bind this process to the first cores it may use, where the system can."""
    wanted = int(os.environ.get("RUBRICLAB_BENCH_CORES", "0"))
    if wanted and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:wanted])


# ---------------------------------------------------------------- the command


def main(argv: Sequence[str] | None = None) -> int:
    """Generate, import and time every view, printing as it goes; 0 where every bar is met, else 1."""
    arguments = _parser().parse_args(argv)
    if arguments.one or arguments.fill:
        _keep_to_cores()
        print(json.dumps(_part(arguments)))
        return 0
    say: Callable[[str], None] = (lambda _: None) if arguments.json else (lambda line: print(line, flush=True))
    with tempfile.TemporaryDirectory() as folder:
        report = measured(arguments, arguments.store or str(Path(folder) / "views.duckdb"), say)
    if arguments.json:
        print(json.dumps(report, indent=1))
    return 0 if all(one["met"] for one in report["views"]) else 1


def _part(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own is asked for: one view, or one import."""
    if arguments.one:
        view, run, store = arguments.one
        return dict(time_view(view, run, store, profile=arguments.profile))
    kind, store = arguments.fill
    return import_one(store, arguments.rows, kind, layout=arguments.layout)


def measured(arguments: argparse.Namespace, store: str, say: Callable[[str], None]) -> dict[str, Any]:
    """Everything that the command prints, as plain values."""
    rows, cores, layout = arguments.rows, arguments.cores, arguments.layout
    views = arguments.views or VIEWS
    kinds = {view: "criteria" if view == "criteria" else "scores" for view in views}
    imports = {}
    for kind in dict.fromkeys(kinds.values()):
        imports[kind] = _apart("--fill", kind, store, "--rows", str(rows), "--layout", layout, cores=cores)
        say(_import_line(kind, imports[kind]))
    say(f"Each view in a fresh process on {cores} cores, seconds; libraries apart. MB: the most it held.")
    say(" ".join(f"{name:>{12 if name == 'view' else 9}}" for name in HEAD))
    tables = {}
    if not arguments.no_plain:
        made = {"scores": generated_scores(rows, layout=layout), "criteria": generated_criteria(rows)}
        tables = {kind: _in_words(frame) for kind, frame in made.items()}
    timed = []
    for view, kind in kinds.items():
        one = in_fresh_process(view, imports[kind]["run"], store, cores=cores)
        if tables and view in COMPARED:
            one = _beside(one, tables)
        found = {**asdict(one), "ratio": one.ratio, "bar": bar(view, rows)}
        found["met"] = one.wall <= found["bar"] and one.peak <= MEMORY
        timed.append(found)
        say(_view_line(found))
    return {"rows": rows, "layout": layout, "cores": cores, "imports": imports, "views": timed}


HEAD = ("view", "frame", "finding", "wall", "CPU", "MB", "libraries", "load", "bar", "", "plain", "x")
COMPARED = (*OPTION_VIEWS, "criteria")


def _in_words(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts instead of categories, as a file gives them."""
    return frame.astype({name: "str" for name in frame if isinstance(frame[name].dtype, pd.CategoricalDtype)})


def _beside(one: Timed, tables: Mapping[str, pd.DataFrame]) -> Timed:
    from benchmarks.plainly import seconds

    plain, note = seconds(one.view, tables)
    return replace(one, plain=plain, plain_note=note)


def _import_line(kind: str, one: Mapping[str, Any]) -> str:
    return (
        f"import --kind {kind}: {one['rows']:,} judgments, {one['arms']} arms, from a Parquet file of "
        f"{one['table']:,.0f} MB in {one['wall']:.1f} s (CPU {one['cpu']:.1f} s); {one['peak']:,.0f} MB at most, of which "
        f"{one['before']:,.0f} before; the store {one['file']:,.0f} MB"
    )


def _view_line(one: Mapping[str, Any]) -> str:
    numbers = (one["frame"], one["finding"], one["wall"], one["cpu"])
    cells = [f"{one['view']:>12}"[:12], *(f"{value:9.2f}" for value in numbers), f"{one['peak']:9,.0f}"]
    cells += [f"{one['libraries']:9.2f}", f"{one['load']:9.1f}", f"{one['bar']:9.1f}"]
    cells.append(f"{'met' if one['met'] else 'MISSED':>9}")
    if one["plain"] is not None:
        cells += [f"{one['plain']:9.1f}", f"{one['ratio']:9.0f}  {one['plain_note']}"]
    return " ".join(cells)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks views",
        description="Time every view of Results on generated judgments, beside plain pandas.",
    )
    parser.add_argument("--rows", type=int, default=ROWS, help=f"judgments (default {ROWS:,})")
    parser.add_argument(
        "--layout",
        choices=LAYOUTS,
        default=LAYOUTS[0],
        help="strategies: same items balanced and fixed; shared: same items, balanced; apart: "
        "each judge its own items and data set (default strategies)",
    )
    parser.add_argument("--views", nargs="+", choices=VIEWS, help="only these views")
    parser.add_argument("--cores", type=int, default=2, help="cores a view may use (default 2)")
    parser.add_argument("--no-plain", action="store_true", help="leave out plain pandas")
    parser.add_argument("--store", metavar="FILE", help="keep the store in this file")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--one", nargs=3, metavar=("VIEW", "RUN", "STORE"), help=argparse.SUPPRESS)
    parser.add_argument("--fill", nargs=2, metavar=("KIND", "STORE"), help=argparse.SUPPRESS)
    parser.add_argument("--profile", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
