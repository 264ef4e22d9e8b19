"""The judgments of a run in files of bounded size: tables to compute with, and pages to look into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.datasets.outfolder import Manifest
from rubriclab.model import Arm
from rubriclab.model.language import figure, msg, tr
from rubriclab.report.template import file, render_page
from rubriclab.report.withheld import Scrub
from rubriclab.store import Store

ROWS, MOST_PAGES = 250, 400
"""Judgments on a page, and pages of a run: beyond them the tables go on."""
LONGEST = 300
"""Characters of a reply on a page; the tables have all of it."""
COLUMNS: dict[str, pa.DataType] = {
    "call": pa.int64(),
    "judge": pa.string(),
    "dataset": pa.string(),
    "strategy": pa.string(),
    "variant": pa.string(),
    "item_id": pa.string(),
    "criterion": pa.string(),
    "candidate": pa.string(),
    "shown": pa.string(),
    "labels": pa.string(),
    "read": pa.int64(),
    "repeat": pa.int64(),
    "status": pa.string(),
    "fault": pa.string(),
    "score": pa.float64(),
    "position": pa.int64(),
    "expected": pa.float64(),
    "mass": pa.float64(),
    "human": pa.float64(),
    "tokens_in": pa.int64(),
    "tokens_out": pa.int64(),
    "seconds": pa.float64(),
}
"""One row a judgment; read and repeat count from 1, position 1 is the first shown, 0 a tie, missing unread."""
WORDS: dict[str, pa.DataType] = {"reply": pa.string()}
_PANDAS = {pa.int64(): "Int64", pa.float64(): "float64", pa.string(): "object"}


class Page(NamedTuple):
    """A page of judgments: its file, and the first and last item on it."""

    path: str
    first: str
    last: str


class Leaf(NamedTuple):
    """What a page of judgments links to: itself and its neighbours, by number from 1; 0: none."""

    number: int
    of: int
    before: int
    after: int


def judgments(
    store: Store, run: str, arms: Sequence[Arm], scrub: Scrub, *, texts: bool, rows: int = ROWS
) -> Iterator[pd.DataFrame]:
    """Tables of COLUMNS (with ``texts`` also WORDS), at most ``rows`` judgments each, all but the last full.

    Neither the errors of servers are in them nor what they call their models: both may say where these are.
    """
    kept: pd.DataFrame | None = None
    for part in store.judgments_in_parts(run):
        made = _columns(part, arms, scrub, texts=texts)
        table = made if kept is None else pd.concat([kept, made], ignore_index=True)
        whole = len(table) // rows * rows
        yield from (table.iloc[at : at + rows].reset_index(drop=True) for at in range(0, whole, rows))
        kept = table.iloc[whole:].reset_index(drop=True)
    if kept is not None and len(kept):
        yield kept


def _columns(part: pd.DataFrame, arms: Sequence[Arm], scrub: Scrub, *, texts: bool) -> pd.DataFrame:
    arm = part["arm"].to_numpy()
    position = part["position"].astype("Int64")
    columns = {
        **{field: _of_arm(arms, field, scrub)[arm] for field in ("judge", "dataset", "strategy", "variant")},
        **{name: part[name] for name in ("call", "item_id", "criterion", "candidate", "status", "expected", "mass")},
        "shown": _listed(part["shown"]),
        "labels": _listed(part["labels"]),
        "read": part["read"] + 1,
        "repeat": part["repeat"] + 1,
        "fault": part["kind"],
        "score": part["score"],
        "position": position.mask(position < 0),
        "human": part["human"],
        "tokens_in": part["tokens_in"],
        "tokens_out": part["tokens_out"],
        "seconds": part["latency"],
        "reply": part["text"],
    }
    wanted = {**COLUMNS, **WORDS} if texts else COLUMNS
    table = pd.DataFrame({name: columns[name] for name in wanted}).astype(
        {name: _PANDAS[kind] for name, kind in wanted.items()}
    )
    objects = [name for name, kind in wanted.items() if kind == pa.string()]
    table[objects] = table[objects].where(table[objects].notna(), None)
    return table


def _of_arm(arms: Sequence[Arm], field: str, scrub: Scrub) -> np.ndarray:
    return np.array([scrub.text(str(getattr(arm, field))) for arm in arms] or [""], dtype=object)


def _listed(column: pd.Series) -> list[str | None]:
    """An ordering of the store as one reads it: names with a bar between where a name has a blank."""
    known: dict[str, str] = {}
    found: list[str | None] = []
    for text in column:
        if not isinstance(text, str):
            found.append(None)
            continue
        if text not in known:
            names = [str(name) for name in json.loads(text)]
            known[text] = (" | " if any(" " in name for name in names) else " ").join(names)
        found.append(known[text])
    return found


# ---------------------------------------------------------------- files


def write_csv(out: Manifest, path: str, tables: Iterator[pd.DataFrame]) -> int:
    """All tables as one CSV; how many rows it has."""
    written = 0
    with out.file(path) as sink:
        for table in tables:
            body = csv_bytes(table)
            sink.write(body.split(b"\r\n", 1)[1] if written else body)
            written += len(table)
    return written


def write_parquet(out: Manifest, path: str, tables: Iterator[pd.DataFrame], *, texts: bool) -> None:
    """All tables as one file of Parquet, a group of rows each."""
    schema = pa.schema({**COLUMNS, **WORDS} if texts else COLUMNS)
    with out.file(path) as sink, pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(pa.Table.from_pandas(table, schema=schema, preserve_index=False))


def write_pages(
    out: Manifest, folder: str, name: str, tables: Iterator[pd.DataFrame], total: int, *, simulated: bool
) -> list[Page]:
    """Pages of ROWS judgments, each linked with its neighbours; what they are and which items they hold."""
    pages = min(-(-total // ROWS), MOST_PAGES)
    style = Markup(file("report.css") + file("share.css"))
    found = []
    for number, table in zip(range(1, pages + 1), tables, strict=False):
        head, rows, numeric = _shown(table)
        leaf = Leaf(number, pages, number - 1, number + 1 if number < pages else 0)
        path = f"judgments/{number}.html"
        body = render_page(
            "share_judgments.html.jinja",
            [],
            style=style,
            title=tr("Judgments of {name}", name=name),
            leaf=leaf,
            head=head,
            rows=rows,
            numeric=numeric,
            first=(number - 1) * ROWS + 1,
            last=(number - 1) * ROWS + len(table),
            total=total,
            simulated=simulated,
        )
        out.put(f"{folder}/{path}", body)
        found.append(Page(path, str(table["item_id"].iloc[0]), str(table["item_id"].iloc[-1])))
    return found


def _shown(table: pd.DataFrame) -> tuple[list[str], list[tuple[str, ...]], list[int]]:
    """A table as a page shows it: its head, its rows as text, and which columns are numbers."""
    several = [
        (name, tr(label)) for name, label in _SOMETIMES if table[name].notna().any() and (table[name] != "").any()
    ]
    columns = [
        ("item_id", tr("Item")),
        *several[:2],
        ("judge", tr("Judge")),
        ("strategy", tr("Strategy")),
        *several[2:],
    ]
    columns += [
        ("shown", tr("Order shown")),
        ("score", tr("Score")),
        ("position", tr("Position")),
        ("status", tr("Outcome")),
    ]
    if "reply" in table:
        columns.append(("reply", tr("Reply")))
    cells = [[_cell(value) for value in table[name]] for name, _ in columns]
    numeric = [at for at, (name, _) in enumerate(columns) if name in ("score", "position")]
    return [label for _, label in columns], list(zip(*cells, strict=True)), numeric


_SOMETIMES = (("criterion", msg("Criterion")), ("candidate", msg("Candidate")), ("variant", msg("Setting")))


def _cell(value: object) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, float | int | np.number):
        return figure(value, "g")
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
