"""The lab in Python: a file, a frame, a study or a store in; runs with their rows, sentences, charts and exports out.

``import rubriclab as rl`` gives ``rl.read``, ``rl.open`` and ``rl.run``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import rubriclab.topics  # noqa: F401  every topic registers itself
from rubriclab.core.judgments import Judgments
from rubriclab.core.operations import contrast
from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart, read_reading
from rubriclab.model.text import LabError

if TYPE_CHECKING:
    from rubriclab.runs.runner import Snapshot
    from rubriclab.sinks.paper_table import PaperTable
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store

Kind = Literal["scores", "criteria", "pairs", "lists", "responses"]


class Run:
    """A run's judgments and all that they say. ``store`` and ``id`` are None for a run that is in no store."""

    def __init__(
        self,
        table: JudgmentTable,
        reading: ReadingPart | None = None,
        *,
        store: Store | None = None,
        id: str | None = None,
    ) -> None:
        self.table, self.store, self.id = table, store, id
        self.reading = reading or read_reading(table.reading, table.name)

    def __repr__(self) -> str:
        return f"Run({self.table.name!r}, {len(self.table.rows):,} judgments, {self.table.state})"

    def info(self) -> RunInfo:
        """Name, state and counts as the store has them. Raises LabError for a run that is in no store."""
        if self.store is None or self.id is None:
            raise LabError(f"“{self.table.name}” is in no store: it was read from a file.")
        return self.store.run(self.id)

    def close(self) -> None:
        """Let go of the store, so that another process can open it."""
        if self.store is not None:
            self.store.close()

    @cached_property
    def findings(self) -> Findings:
        """Every number of the run, computed once."""
        return Findings(Judgments(self.table, self.reading.unit), self.reading)

    def rows(self, topic: str | None = None, measure: str | None = None, condition: int | None = None) -> pd.DataFrame:
        """One row a number: topic, measure, condition, what it is about, value, low, high, level, units, n, p, verdict."""
        from rubriclab.sinks.table import frame

        rows = frame(self.findings)
        for column, wanted in (("topic", topic), ("measure", measure), ("condition", condition)):
            if wanted is not None:
                rows = rows[rows[column] == wanted]
        return rows.reset_index(drop=True)

    def text(self) -> str:
        """The answer in words, then every number: what ``results`` prints."""
        from rubriclab.sinks.text import findings_text

        return findings_text(self.findings)

    def paper_table(self, *measures: str, across: str = "dataset", by_strategy: bool = False) -> PaperTable:
        """Measures as papers print them: lines judges, columns data sets or levels of what ``across`` names.

        “position_share:1” takes the number about position 1. What the study's ``[paper]`` names of a measure stands beside
        it. The table has ``frame()``, ``numbers()``, ``latex()``.
        """
        from rubriclab.model.study import printed_beside
        from rubriclab.sinks.paper_table import paper_table

        papers = () if self.store is None or self.id is None else printed_beside(self.store.study(self.id))
        return paper_table(self.findings, measures, across=across, by_strategy=by_strategy, papers=papers)

    def chart(self, measure: str, *, judge: str | None = None) -> Any:
        """A Plotly figure of one measure. Raises LabError for a measure that no chart shows here."""
        from rubriclab.sinks.charts import chart_of

        return chart_of(self.findings, measure, judge=judge)

    def judgments(self, **filters: Any) -> pd.DataFrame:
        """One row a judgment: item_id, condition, ordering, score, expected, position, status (and the reply, from a store).

        ``filters``: condition, item (an item_id), position, score, status, limit.
        """
        if self.store is not None and self.id is not None:
            return self.store.judgments(self.id, **filters)
        from rubriclab.store.store import Store

        with TemporaryDirectory() as folder, Store.open(Path(folder) / "lab.duckdb") as store:
            return store.judgments(store.add_table(self.table), **filters)

    def read_as(
        self,
        unit: str | None = None,
        smallest: float | None = None,
        *,
        share: float | None = None,
        single: float | None = None,
        epsilon: float | None = None,
        cut: float | None = None,
    ) -> Run:
        """The same judgments under another unit, other smallest effects (mean in steps of the scale), epsilon or cut."""
        changes = {"mean": smallest, "share": share, "single": single}
        sizes = self.reading.smallest.model_dump() | {key: value for key, value in changes.items() if value is not None}
        own = {"unit": unit, "epsilon": epsilon, "cut": cut}
        own = self.reading.model_dump() | {key: value for key, value in own.items() if value is not None}
        reading = read_reading(own | {"smallest": sizes}, "reading")
        return Run(self.table, reading, store=self.store, id=self.id)

    def minus(self, other: Run) -> Contrast:
        """A - B, number by number, paired on the units that both have."""
        return Contrast(contrast(self.findings.rows, other.findings.rows))

    def _judged_text(self, call: int) -> str:
        """The text that a call judged; empty where it is not known."""
        if self.store is not None and self.id is not None:
            return str(self.store.call(self.id, call)["item"]["response"])
        items, rows = self.table.items, self.table.rows
        item = int(rows.loc[rows["call"] == call, "item"].iloc[0])
        return str(items["response"].iloc[item] or "") if "response" in items else ""

    def export(
        self, path: str | Path, *, texts: bool = False, title: str | None = None, table: PaperTable | None = None
    ) -> Path:
        """Write the run to a file; the ending decides: .html report, .zip run, .csv judgments, .tex table of numbers.

        ``texts``: the report shows one answer word for word; ``table``: it alone is written, as .tex or .csv. A file that
        was there stays whole until the new one is.
        """
        from rubriclab.data.outfiles import csv_text, write_atomically

        path = Path(path)
        if table is not None:
            if path.suffix not in (".tex", ".csv"):
                raise LabError(f"{path.name} ends in “{path.suffix}”; a table is written as .tex or .csv.")
            content = (table.latex() if path.suffix == ".tex" else csv_text(table.numbers())).encode()
        elif path.suffix == ".html":
            from rubriclab.sinks.report import report_html

            title = title or self.table.name
            content = report_html(self.findings, title=title, texts=texts, text_of=self._judged_text).encode()
        elif path.suffix == ".zip":
            from rubriclab.sinks.table import frame
            from rubriclab.store.bundle import bundle_bytes

            content = bundle_bytes(self.table, self.store, self.id, csv_text(frame(self.findings)))
        elif path.suffix == ".csv":
            content = csv_text(self.judgments(limit=None)).encode()
        elif path.suffix == ".tex":
            from rubriclab.sinks.table import latex

            content = latex(self.findings).encode()
        else:
            raise LabError(f"{path.name} ends in “{path.suffix}”; expected .html, .zip, .csv or .tex.")
        write_atomically(path, content)
        return path


class Contrast:
    """The differences of two runs (or of two conditions): rows as a frame."""

    def __init__(self, differences: list[Row]) -> None:
        self.differences = differences

    def rows(self) -> pd.DataFrame:
        from rubriclab.sinks.table import frame_of_rows

        return frame_of_rows(self.differences)


class Lab:
    """A store of runs, made where there is none. Use it in a ``with`` block, or call ``close``: one process has it at a time."""

    def __init__(self, path: str | Path = "lab.duckdb") -> None:
        from rubriclab.store.store import Store

        self.store = Store.open(Path(path))

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    def runs(self) -> pd.DataFrame:
        """One row a run: id, name, state, judges, planned and done calls, when."""
        columns = ("id", "name", "state", "reorder", "judges", "planned", "done", "created", "reason")
        return pd.DataFrame(
            [{name: getattr(run, name) for name in columns} for run in self.store.runs()], columns=columns
        )

    def run(self, name: str) -> Run:
        """A run by its id, a unique beginning of it, or its name. Raises LabError where there is none."""
        info = self.store.run(name)
        return Run(self.store.table(info.id), store=self.store, id=info.id)


def read(
    source: str | Path | pd.DataFrame,
    kind: Kind | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Run:
    """A run from judgments made elsewhere (a table of scores or choices, or a frame) or from a run's zip.

    ``kind`` and ``columns`` (ours = theirs) only where the columns do not tell. Raises LabError naming row and column.
    """
    from rubriclab.data.scores import read_judgments
    from rubriclab.data.tables import read_table, table_of_frame
    from rubriclab.store.bundle import read_bundle

    if isinstance(source, pd.DataFrame):
        table = table_of_frame(source, name or "frame")
    else:
        path = Path(source)
        if path.suffix == ".zip":
            return Run(read_bundle(path))
        table = read_table(path, path.name)
    judged = read_judgments(table, kind=kind, columns=dict(columns or {}))
    return Run(judged if name is None else replace(judged, name=name))


def run(
    study: str | Path,
    store: str | Path = "lab.duckdb",
    *,
    items: int | None = None,
    drop: tuple[str, ...] = (),
    max_calls: int | None = None,
    max_money: float | None = None,
    retry_failed: bool = False,
    secrets: Mapping[str, str] | None = None,
    progress: Callable[[Snapshot], None] | None = None,
) -> Run:
    """Ask what a study has not asked yet, and come back with the run; its store stays open until ``Run.close``.

    ``study``: a TOML file, or ``demo`` for the sample with the embedded judge. ``progress`` is called twice a second.
    Stopped by Ctrl-C the run pauses: calls in flight are waited for, then KeyboardInterrupt goes on.
    """
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import Run as Running
    from rubriclab.store.store import Store

    plan = plan_of_file(study, items=items, drop=drop)
    opened = Store.open(Path(store))
    try:
        running = Running(
            opened, plan, secrets=secrets, max_calls=max_calls, max_money=max_money, retry_failed=retry_failed
        ).start()
        _waited(running, progress)
        return Run(opened.table(running.id), store=opened, id=running.id)
    except BaseException:
        opened.close()
        raise


def write_references(
    study: str | Path,
    out: str | Path,
    store: str | Path = "lab.duckdb",
    *,
    items: int | None = None,
    drop: tuple[str, ...] = (),
    secrets: Mapping[str, str] | None = None,
    progress: Callable[[Any], None] | None = None,
) -> dict[str, Any]:
    """Write reference answers of each score for a study's data into ``out``, a CSV file that a study can name as its data.

    ``[references]`` of the study names who writes and who reviews. The same call goes on where it was stopped. Returns
    counts: wanted, accepted, failed, attempts, by_score, state, reason, notes. Raises LabError for what cannot work.
    """
    from rubriclab.data.outfiles import csv_text, write_atomically
    from rubriclab.runs.loading import read_sources
    from rubriclab.runs.references import ReferenceJob, references_table
    from rubriclab.store.store import Store

    if Path(out).suffix != ".csv":
        raise LabError(f"{Path(out).name} is no name for the answers; expected one that ends in .csv.")
    asked, sources, folder = read_sources(study, items=items, drop=drop)
    if len(sources) > 1:
        raise LabError(f"The study has {len(sources)} data sets; write reference answers for one of them at a time.")
    if any(part.file and (folder / part.file).resolve() == Path(out).resolve() for part in asked.data):
        raise LabError(f"{out} is the study's own data, which is never written over. Choose another name.")
    with Store.open(Path(store)) as opened:
        job = ReferenceJob(opened, asked, *sources[0], secrets=secrets).start()
        _waited(job, progress)
        said = job.document()
    if said["accepted"]:
        write_atomically(out, csv_text(references_table(job.result())).encode())
    return said | {"file": str(out) if said["accepted"] else None}


def _waited(running: Any, progress: Callable[[Any], None] | None) -> None:
    """Until what was started has ended or paused; Ctrl-C pauses it and goes on as KeyboardInterrupt."""
    try:
        while running.wait(0.5).state in ("planned", "running"):
            if progress is not None:
                progress(running.snapshot())
    except KeyboardInterrupt:
        running.pause("stopped by Ctrl-C")
        try:
            running.wait(60)
        except KeyboardInterrupt:
            # A second Ctrl-C: calls in flight are dropped, and the store is let go of before it closes.
            running.cancel()
            with contextlib.suppress(KeyboardInterrupt):
                running.wait(10)
        raise
    if progress is not None:
        progress(running.snapshot())
