"""Bring judgments in from files, and write a run to a file: the commands import and export."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from rubriclab.cli import common
from rubriclab.cli.common import (
    Across,
    ByStrategy,
    Json,
    Outcome,
    RunName,
    StorePath,
    Tables,
    opened,
    run_of,
)
from rubriclab.model.consent import judges_of, where_asked
from rubriclab.model.text import LabError, count

if TYPE_CHECKING:
    import pandas as pd

    from rubriclab.model.judgment import JudgmentTable
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store


@dataclass(frozen=True)
class Imported:
    """A file that was read, before it becomes a run.

    calls and study are None for a table or a log: only a run's zip has them.
    """

    table: JudgmentTable
    calls: pd.DataFrame | None = None
    study: dict[str, Any] | None = None

    def made_with(self, key: str) -> str:
        """Return a sentence that reading left for the user, or nothing."""
        value = self.table.made_with.get(key)
        return value if isinstance(value, str) else ""

    def asks(self) -> list[str]:
        """Return where the run's judges would send its texts, a sentence for each judge."""
        return where_asked(judges_of(self.study or {}))


def import_file(
    *files: Annotated[
        Path,
        Parameter(help="Tables of judgments, logs of other tools, or zips of runs."),
    ],
    kind: Annotated[
        Literal["scores", "criteria", "pairs", "lists", "responses"] | None,
        Parameter(help="What the table holds. Only needed if its columns do not show it."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        Parameter(help="Name of a column in your file, for example score=rating. Repeatable."),
    ] = None,
    name: Annotated[str | None, Parameter(help="Name of the new run.")] = None,
    looks: Annotated[
        int | None,
        Parameter(
            help="Answers that the file will hold in the end, if it grows and you read it again "
            "and again. The 5% are then shared over all looks."
        ),
    ] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Import judgments made elsewhere, or a run's zip.

    Reads tables and the logs of inspect-ai, promptfoo, lm-eval and other tools. Each file becomes
    a run. The command says what the judgments can answer about order.
    """
    if not files:
        raise LabError("Name at least one file, for example: rubriclab import judgments.csv")
    mapping = _mapping(columns or [])
    # Read every file before keeping one. A refused file then leaves no run and no store behind.
    imported = [_read(path, kind, mapping, name, looks) for path in files]
    with opened(store, must_exist=False, write=True) as lab:
        infos, grown = [], []
        for part in imported:
            grown.append(_grown(lab.store, part.table))
            id = lab.store.add_table(part.table, part.calls, part.study)
            infos.append(lab.store.run(id))
    if json:
        runs = [
            _document(info, part) | ({"warning": warning} if warning else {})
            for info, part, warning in zip(infos, imported, grown, strict=True)
        ]
        if len(runs) == 1:
            return Outcome(runs[0])
        return Outcome(runs[0] | {"runs": runs})
    lines = []
    for info, part, warning in zip(infos, imported, grown, strict=True):
        lines += [*_lines(info, part), *([warning] if warning else [])]
    return Outcome("\n".join(lines))


def _grown(store: Store, table: JudgmentTable) -> str:
    """Warn of a file that was imported before and has grown since; empty if it has not.

    With planned looks the readings share their 5%.
    """
    from rubriclab.words.looks import grown_words

    earlier = None if table.looks is not None else store.earlier_reading(table)
    return "" if earlier is None else f"{grown_words(earlier.name, earlier.done)}: --looks N."


def _mapping(columns: list[str]) -> dict[str, str]:
    """Return the lab's column names with the file's. Raises LabError for what is not a pair."""
    mapping: dict[str, str] = {}
    for text in columns:
        ours, _, theirs = (part.strip() for part in text.partition("="))
        if not ours or not theirs:
            raise LabError(
                f"--columns {text}: use the lab's name, =, and the file's name, for example "
                f"--columns score=rating."
            )
        if ours in mapping:
            raise LabError(
                f"--columns {ours} is given twice. Use human_1=…, human_2=… for the columns of "
                f"several people."
            )
        mapping[ours] = theirs
    return mapping


def _read(
    path: Path, kind: Any, mapping: dict[str, str], name: str | None, looks: int | None
) -> Imported:
    """Return what a file holds. Raises LabError for a file that cannot be read."""
    from rubriclab.api import read
    from rubriclab.runs.imported import read_run

    if path.suffix == ".zip" and looks is None:
        table, calls, study = read_run(path)
        return Imported(table, calls, study)
    made = read(path, kind, columns=mapping, name=name or path.stem, looks=looks)
    return Imported(made.table)


def _document(info: RunInfo, part: Imported) -> dict[str, Any]:
    """Return an import as JSON values."""
    from rubriclab.words.answerable import answerable

    document: dict[str, Any] = {"run": info.id, "name": info.name, "judgments": info.done}
    if part.asks():
        document["asks"] = part.asks()
    head, questions = answerable(part.table)
    document["answers"] = {
        "holds": head,
        "questions": [asdict(question) for question in questions],
    }
    for key in ("columns", "note"):
        if part.made_with(key):
            document[key] = part.made_with(key)
    return document


def _lines(info: RunInfo, part: Imported) -> list[str]:
    """Return an import as text: the columns used, what it can answer, and the next command."""
    from rubriclab.words.answerable import answerable_line

    lines = [
        part.made_with("columns"),
        answerable_line(part.table),
        f"{info.name}: {count(info.done, 'call')} · rubriclab results {info.id}",
        part.made_with("note"),
        *part.asks(),
    ]
    return [line for line in lines if line]


def export(
    run: RunName,
    *,
    out: Annotated[
        Path,
        Parameter(
            help="File to write. Its ending decides: .html report, .page.html report on one A4 "
            "sheet, .zip run, .csv or .parquet judgments, .tex table of numbers, .card.json judge "
            "card."
        ),
    ],
    texts: Annotated[bool, Parameter(help="Show one answer word for word in the report.")] = False,
    title: Annotated[str | None, Parameter(help="Title of the report.")] = None,
    table: Tables = None,
    across: Across = "dataset",
    by_strategy: ByStrategy = False,
    protocol: Annotated[
        str,
        Parameter(help="Method of the judge card: “one order” or “average of orders”."),
    ] = "",
    margin: Annotated[
        float | None,
        Parameter(
            help="Expected error of the judge card: how far, in points, its score may be from the "
            "mean over all orders."
        ),
    ] = None,
    judge: Annotated[
        str, Parameter(help="Judge of the card or of the A4 sheet, if the run has several.")
    ] = "",
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Write a run to a file: a report, tables, a judge card, or the run itself."""
    with run_of(run, store) as chosen:
        made = common.paper_table(chosen, table, across, by_strategy)
        path = chosen.export(
            out, texts=texts, title=title, table=made, protocol=protocol, margin=margin, judge=judge
        )
        document = {"run": chosen.id or "", "name": chosen.table.name, "file": str(path)}
    if json:
        return Outcome(document)
    return Outcome(f"Wrote {path} ({path.stat().st_size:,} bytes).")
