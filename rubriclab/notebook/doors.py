"""The three ways to a run: judgments made elsewhere, a store, a study that is judged now."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from rubriclab.datasets.imports import frame_file
from rubriclab.datasets.logs import Source
from rubriclab.model import LabError
from rubriclab.model.wording import many
from rubriclab.notebook.lab import Lab, Run, opened
from rubriclab.runs.importing import ARCHIVE, checked_kind, import_file, kind_of
from rubriclab.runs.manager import RunManager
from rubriclab.runs.terminal import Signals, consent, say, show_progress, watch
from rubriclab.runs.terms import Limits
from rubriclab.store import Store
from rubriclab.study.reading import load_study


def read(
    source: str | Path | pd.DataFrame, *, kind: str | None = None, name: str = "", store: str | Path | None = None
) -> Run:
    """Judgments made elsewhere as a run: a file's path, or a table with the same columns.

    ``kind`` is found by what the file holds, or said: ``scores`` (judge, dataset, item_id, ordering,
    score), ``criteria`` (judge, dataset, text_id, ordering, criterion, score), ``pairs`` (judge,
    question_id, task, first, second, choice), the name of a log as ``import --help`` lists them, or
    ``run``: an archive written by ``export`` or ``report``. ``name`` is the new run's (default: the
    file's); of a file that becomes several runs, the one that is wanted. ``store`` keeps it in a
    .duckdb file; without one it is kept in memory, for as long as the run is used.

    Raises LabError for an unknown kind, and for a file or table that cannot be read, with the
    place of the fault.

    >>> import pandas as pd
    >>> import rubriclab as rl
    >>> table = pd.DataFrame({"judge": "j", "dataset": "d", "item_id": ["a", "a"],
    ...                       "ordering": ["1 2 3", "3 2 1"], "score": [1, 3]})
    >>> rl.read(table, kind="scores", name="By hand")
    <Run by-hand-... “By hand”: 2 of 2 calls, imported>
    """
    if kind == "run" and isinstance(source, pd.DataFrame):
        raise LabError("A run is read from an archive (.zip), not from a table: give its path.")
    wanted = checked_kind(kind)
    file = _source(source)
    chosen = wanted or kind_of(file)
    lab: list[Lab] = []

    def into() -> Store:
        lab.append(opened(store))
        return lab[0].store

    imported = import_file(into, file, kind=chosen, name="" if chosen == ARCHIVE else name)
    return _one_of(lab[0], imported.runs, name if chosen == ARCHIVE or len(imported.runs) > 1 else "", file.name)


def _source(source: str | Path | pd.DataFrame) -> Source:
    if isinstance(source, pd.DataFrame):
        name, content = frame_file(source)
        return Source(content, name=name)
    return Source(Path(source).expanduser())


def _one_of(lab: Lab, runs: tuple[str, ...], name: str, file: str) -> Run:
    """The run of an archive that ``name`` names or begins, else its only one."""
    asked = [run for run in runs if run.startswith(name)] if name else list(runs)
    exact = [run for run in asked if run == name or lab.store.run(run).name == name]
    if not asked:
        asked = [run for run in runs if lab.store.run(run).name == name]
    if len(exact or asked) != 1:
        raise LabError(
            f"“{file}” holds {many(len(runs), 'run')} and “{name}” names {len(asked)} of them. "
            f"Say which one with name=…: {', '.join(runs)}."
        )
    return lab.run((exact or asked)[0])


def open(path: str | Path) -> Lab:
    """The lab in a store, a .duckdb file. Raises LabError where there is none, and makes none.

    A store that this process has open already is given again, so that a cell can be run twice.
    A store belongs to one process: :meth:`Lab.close` it, or use ``with``, before the pages or
    another notebook open it.
    """
    if not Path(path).expanduser().exists():
        raise LabError(f"There is no store {path}. Name the .duckdb file that a run was kept in.")
    return opened(path)


def run(
    study: str | Path,
    *,
    store: str | Path | None = None,
    max_calls: int | None = None,
    max_money: float | None = None,
    retry_failed: bool = False,
    trust: bool = False,
) -> Run:
    """Run a study file to its end and return the run; progress goes to standard error.

    A finished study asks nothing again, an interrupted one goes on where it was. Ctrl-C (a
    notebook's stop button) pauses: calls on their way are waited for and kept, and the run is
    returned as it is then. ``store``: the .duckdb file that keeps it, made where there is none;
    without one it is kept in memory. ``max_calls``, ``max_money``: stop there. ``retry_failed``:
    ask again, and only, the calls that ended in an error. ``trust``: a yes to sending keys to
    addresses that came with a run from elsewhere.

    Raises LabError for a study that cannot be run.
    """
    loaded = load_study(Path(study).expanduser())
    lab = opened(store)
    consent(lab.store, loaded.judges, trust=trust)
    with Signals() as signals:
        limits = Limits(max_calls=max_calls, max_money=max_money)
        going = RunManager(lab.store).start(loaded, limits=limits, only_failed=retry_failed)
        try:
            last = watch(going, signals, show_progress)
        except KeyboardInterrupt:  # a notebook that runs cells in a thread throws it in
            going.pause("stopped in the notebook")
            last = going.wait()
    if last.state != "finished":
        say(f"Run {last.run}: {last.state}. {last.reason}".rstrip() + " The same cell goes on.")
    return lab.run(last.run)
