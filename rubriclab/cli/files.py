"""Files in, runs out, and the other way: the commands that import judgments or runs, and export
reports, tables, runs.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

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


def import_file(
    *files: Path,
    kind: Annotated[
        Literal["scores", "criteria", "pairs", "lists", "responses"] | None,
        Parameter(help="What the table holds, where its columns do not tell."),
    ] = None,
    columns: Annotated[list[str] | None, Parameter(help="ours=theirs, again and again.")] = None,
    name: Annotated[str | None, Parameter(help="The run's name.")] = None,
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Bring in judgments made elsewhere (a table, a log of inspect-ai, promptfoo, lm-eval and
    others) or a run's zip.

    Each file becomes a run. First it says what they can answer, and how many calls more the rest
    would take.
    """
    from rubriclab.api import read
    from rubriclab.store.bundle import read_parts
    from rubriclab.words.answerable import answerable, answerable_line

    if not files:
        raise LabError("Name at least one file, as: rubriclab import judgments.csv")
    mapping: dict[str, str] = {}
    for text in columns or []:
        ours, _, theirs = map(str.strip, text.partition("="))
        if not ours or not theirs:
            raise LabError(f"--columns {text}: expected ours=theirs, as --columns score=rating.")
        if ours in mapping:
            raise LabError(
                f"--columns {ours} is given twice. Columns of several people are human_1=…, "
                f"human_2=…."
            )
        mapping[ours] = theirs
    # All are read before any is kept: a refused file leaves no run and no store behind.
    made = [
        read_parts(path)
        if path.suffix == ".zip"
        else (read(path, kind, columns=mapping, name=name or path.stem).table, None, None)
        for path in files
    ]
    with opened(store, must_exist=False) as lab:
        infos = [lab.store.run(lab.store.add_table(*parts)) for parts in made]
    imported: list[dict[str, Any]] = [
        {"run": info.id, "name": info.name, "judgments": info.done} for info in infos
    ]
    for entry, (table, _, study) in zip(imported, made, strict=True):
        if asks := where_asked(judges_of(study or {})):
            entry["asks"] = asks
        head, questions = answerable(table)
        entry |= {
            "answers": {"holds": head, "questions": [asdict(question) for question in questions]}
        }
        for key in ("columns", "note"):
            if isinstance(table.made_with.get(key), str):
                entry[key] = table.made_with[key]
    if json:
        return Outcome(imported[0] if len(imported) == 1 else imported[0] | {"runs": imported})
    lines = []
    for entry, (table, *_) in zip(imported, made, strict=True):
        calls = count(entry["judgments"], "call")
        lines += [entry["columns"]] if "columns" in entry else []
        lines += [answerable_line(table)]
        lines += [f"{entry['name']}: {calls} · rubriclab results {entry['run']}"]
        lines += [entry["note"]] if "note" in entry else []
        lines += entry.get("asks", ())
    return Outcome("\n".join(lines))


def export(
    run: RunName,
    *,
    out: Annotated[
        Path,
        Parameter(
            help="Its ending decides: .html report, .zip run, .csv or .parquet judgments, .tex "
            "table, .card.json judge card."
        ),
    ],
    texts: Annotated[bool, Parameter(help="Show one answer word for word in the report.")] = False,
    title: str | None = None,
    table: Tables = None,
    across: Across = "dataset",
    by_strategy: ByStrategy = False,
    protocol: Annotated[str, Parameter(help="Of a card: “one order” or “average of orders”.")] = "",
    margin: Annotated[
        float | None,
        Parameter(
            help="Of a card: the distance from the mean over all orders that is promised, points."
        ),
    ] = None,
    judge: Annotated[str, Parameter(help="Of a card: which of the run's judges.")] = "",
    store: StorePath = None,
    json: Json = False,
) -> Outcome:
    """Carry a run out as a file."""
    with run_of(run, store) as chosen:
        made = common.paper_table(chosen, table, across, by_strategy)
        path = chosen.export(
            out, texts=texts, title=title, table=made, protocol=protocol, margin=margin, judge=judge
        )
        said = {"run": chosen.id or "", "name": chosen.table.name, "file": str(path)}
    return Outcome(said if json else f"Wrote {path} ({path.stat().st_size:,} bytes).")
