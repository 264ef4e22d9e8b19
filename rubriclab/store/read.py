"""A run's rows in the store in; its judgments as a table, in words, or one call word for word out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    Condition,
    JudgmentTable,
    Ordering,
    Status,
    order_text,
)
from rubriclab.model.text import LabError
from rubriclab.store.database import Database

if TYPE_CHECKING:
    from rubriclab.store.store import RunInfo

CALL_COLUMNS = (
    "call", "key", "condition", "status", "attempt", "text", "finish", "error", "kind", "tokens_in", "tokens_out",
    "cached", "seconds", "model", "asked", "sent", "note",
)  # fmt: skip
WHOLE = ("condition", "item", "ordering", "slot", "repeat", "call", "status", "position")
FRACTIONS = ("score", "expected", "mass")
# A run's items with what its data sets keep of their texts. ``runs.dataset`` names one data set, or several with blanks
# between them, whose items are told apart by their names.
ITEMS = """(SELECT i.*, t.texts FROM run_items i JOIN runs r ON r.run = i.run
    LEFT JOIN datasets d ON list_contains(string_split(r.dataset, ' '), d.dataset)
        AND (d.dataset = r.dataset OR d.name = i.dataset)
    LEFT JOIN items t ON t.dataset = d.dataset AND t.item = i.source WHERE i.run = ?)"""
LENGTHS = {"instruction": "input_length", "response": "output_length"}
# A call that was asked again has an earlier, no longer final answer, whose judgments do not count.
FINAL = "NOT EXISTS (SELECT 1 FROM calls c WHERE c.run = j.run AND c.call = j.call AND NOT c.final)"


def table(database: Database, run: RunInfo) -> JudgmentTable:
    """All judgments of final calls, sorted by condition and call; columns of numbers come through Arrow."""
    number = [run.number]
    study, made_with = database.rows("SELECT study, made_with FROM runs WHERE run = ?", number)[0]
    conditions = database.rows("SELECT body, planned FROM conditions WHERE run = ? ORDER BY condition", number)
    asked = [condition_of(json.loads(body)) for body, _ in conditions]
    again = database.rows("SELECT 1 FROM calls WHERE run = ? AND NOT final LIMIT 1", number)
    final = f" AND {FINAL}" if again else ""
    columns = database.arrow(f"SELECT {', '.join(JUDGMENT_COLUMNS)}, p FROM judgments j WHERE run = ?{final}", number)
    # After the judgments: a run that is being asked adds orderings, each with its judgments.
    orderings = database.rows("SELECT shown, labels FROM orderings WHERE run = ? ORDER BY ordering", number)
    rows, probabilities = judgment_frame(columns)
    return JudgmentTable(
        run=run.id,
        name=run.name,
        conditions=tuple(asked),
        items=_items(database, run.number, lengths=any(condition.chooses for condition in asked)),
        orderings=tuple(Ordering(tuple(json.loads(shown)), tuple(json.loads(labels))) for shown, labels in orderings),
        rows=rows,
        planned=tuple(planned for _, planned in conditions),
        probabilities=probabilities,
        state=run.state,
        made_with=json.loads(made_with),
        reading=json.loads(study).get("reading") or {},
    )


def judgment_frame(columns: pa.Table) -> tuple[pd.DataFrame, np.ndarray | None]:
    """(JUDGMENT_COLUMNS sorted by condition and call, probabilities or None) of an Arrow table with a list ``p``."""
    values: dict[str, np.ndarray] = {}
    for name in WHOLE:
        values[name] = columns.column(name).combine_chunks().to_numpy(zero_copy_only=False)
    for name in FRACTIONS:
        values[name] = columns.column(name).combine_chunks().to_numpy(zero_copy_only=False).astype(np.float64)
    probabilities = _matrix(columns.column("p").combine_chunks())
    call, condition = values["call"].astype(np.int64), values["condition"].astype(np.int64)
    key = (condition << 40) + (call << 8) + np.minimum(values["slot"].astype(np.int64), 255)
    if len(key) and bool((key[1:] < key[:-1]).any()):
        order = np.argsort(key, kind="stable")
        values = {name: column[order] for name, column in values.items()}
        probabilities = None if probabilities is None else probabilities[order]
    return pd.DataFrame({name: values[name] for name in JUDGMENT_COLUMNS}, copy=False), probabilities


def _matrix(lists: Any) -> Any:
    """(rows, longest list) with NaN where a list is missing or shorter; None where all are missing."""
    if len(lists) == lists.null_count:
        return None
    lengths = np.asarray(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    flat = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    width = int(lengths.max())
    if bool((lengths == width).all()):
        return flat.reshape(-1, width)
    matrix = np.full((len(lengths), width), np.nan)
    matrix[np.arange(width) < lengths[:, None]] = flat
    return matrix


def judgment_columns(run: int, table: JudgmentTable) -> pa.Table:
    """The rows of a table as the store keeps them."""
    rows = table.rows
    columns: dict[str, Any] = {"run": np.full(len(rows), run, dtype=np.int32)}
    for name in WHOLE:
        columns[name] = rows[name].to_numpy()
    for name in FRACTIONS:
        columns[name] = pa.array(rows[name].to_numpy(dtype=np.float64), from_pandas=True)
    return pa.table(columns | {"p": probability_lists(table.probabilities, len(rows))})


def probability_lists(matrix: np.ndarray | None, rows: int) -> pa.Array:
    """Rows of a matrix as lists: missing where nothing is known, without the NaN that fill up shorter ones."""
    if matrix is None:
        return pa.nulls(rows, pa.list_(pa.float32()))
    known = ~np.isnan(matrix)
    lengths = known.sum(axis=1)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = pa.array(matrix[known].astype(np.float32))
    offsets = pa.array(ends, mask=np.append(lengths == 0, False))
    return pa.ListArray.from_arrays(offsets, values)


def _items(database: Database, run: int, *, lengths: bool) -> pd.DataFrame:
    """``lengths``: with those of a comparison's question and answers, where their texts are kept."""
    columns, source = ", ".join((*ITEM_COLUMNS, "unit_text")), "run_items WHERE run = ?"
    if lengths:
        columns += "".join(f", length(texts->>'$.{text}') AS {name}" for text, name in LENGTHS.items())
        source = ITEMS
    frame = database.frame(f"SELECT {columns} FROM {source} ORDER BY item", [run])
    ratings = {text: json.loads(text) for text in frame["ratings"].unique()}
    frame = frame.astype(object).where(frame.notna(), None)
    return frame.assign(ratings=pd.Series([dict(ratings[text]) for text in frame["ratings"]], dtype=object))


def texts(database: Database, run: RunInfo, names: Sequence[str]) -> pd.DataFrame:
    """The named texts of a run's items in their order, empty where none is kept."""
    rows = database.rows(f"SELECT texts FROM {ITEMS} ORDER BY item", [run.number])
    kept = [json.loads(text or "{}") for (text,) in rows]
    return pd.DataFrame({name: [body.get(name, "") for body in kept] for name in names}, dtype=object)


def calls(database: Database, run: int) -> pd.DataFrame:
    """CALL_COLUMNS of the final calls in the order of their numbers."""
    return database.frame(f"SELECT {', '.join(CALL_COLUMNS)} FROM calls WHERE run = ? AND final ORDER BY call", [run])


def call_columns(run: int, frame: pd.DataFrame) -> pa.Table:
    """Calls as ``calls`` gives them, as the store keeps them."""
    columns = {name: pa.array(frame[name], from_pandas=True) for name in CALL_COLUMNS if name in frame}
    return pa.table(columns | {"run": np.full(len(frame), run), "final": np.full(len(frame), True)})


def judgments(
    database: Database,
    run: int,
    *,
    condition: int | None = None,
    item: int | str | None = None,
    position: int | None = None,
    score: float | None = None,
    status: str | int | None = None,
    ordering: str | None = None,
    criterion: str | None = None,
    text: str | None = None,
    limit: int | None = 200,
    offset: int = 0,
) -> pd.DataFrame:
    """Judgments in words, in the order of their calls.

    ``item``: its number or its id; ``position`` from 1; ``status``: ok, unparsed, refused, truncated, error, or
    “failed” for all but ok; ``ordering`` as in the column, ``3 1 2``; ``text``: part of an id, a reply or an answer,
    whatever its case. Columns: call, condition, item, item_id, criterion, ordering, labels, slot, repeat, status,
    score, position, expected, mass, reply, error, kind, note.
    """
    parts, values = ["j.run = ?", FINAL], [run]  # type: tuple[list[str], list[Any]]
    for name, value in (("j.condition", condition), ("j.position", position), ("j.score", score)):
        if value is not None:
            parts.append(f"{name} = ?")
            values.append(value)
    if item is not None:
        parts.append("j.item = ?" if isinstance(item, int) else "i.item_id = ?")
        values.append(item)
    if criterion is not None:
        parts.append("i.criterion = ?")
        values.append(criterion)
    if ordering is not None:
        rows = database.rows("SELECT ordering, shown FROM orderings WHERE run = ?", [run])
        parts.append("list_contains(?, j.ordering)")
        values.append([code for code, shown in rows if order_text(json.loads(shown)) == ordering])
    if status is not None:
        parts.append("j.status <> 0" if status == "failed" else "j.status = ?")
        values += [] if status == "failed" else [_status(status)]
    if text:
        parts.append(
            "(contains(lower(i.item_id), lower(?)) OR contains(lower(c.text), lower(?)) "
            "OR contains(lower(i.texts ->> 'response'), lower(?)))"
        )
        values += [text] * 3
    frame = database.frame(
        f"""
        SELECT j.call, j.condition, j.item, i.item_id, i.criterion, o.shown AS ordering, o.labels, j.slot, j.repeat,
               j.status, j.score, j.position, j.expected, j.mass, c.text AS reply, c.error, c.kind, c.note
        FROM judgments j
        JOIN {ITEMS} i ON i.item = j.item
        JOIN orderings o ON o.run = j.run AND o.ordering = j.ordering
        LEFT JOIN calls c ON c.run = j.run AND c.call = j.call
        WHERE {" AND ".join(parts)} ORDER BY j.call, j.slot LIMIT ? OFFSET ?
        """,
        [run, *values, 2**62 if limit is None else limit, offset],
    )
    frame["ordering"] = [order_text(json.loads(shown)) for shown in frame["ordering"]]
    frame["labels"] = [json.loads(labels) for labels in frame["labels"]]
    frame["status"] = [Status(code).name.lower() for code in frame["status"]]
    return frame


def _status(status: str | int) -> int:
    names = [value.name.lower() for value in Status]
    if isinstance(status, str) and status.lower() not in names:
        raise LabError(f"“{status[:40]}” is no status; expected one of {', '.join(names)}, failed.")
    return names.index(status.lower()) if isinstance(status, str) else int(status)


def call(database: Database, run: RunInfo, call: int) -> dict[str, Any]:
    """A call with its reply, tokens, order shown, the text it judged and what each of its items got.

    Raises LabError for a number that the run has no judgment of.
    """
    outcomes = database.arrow(
        "SELECT j.* EXCLUDE (run, call), i.criterion AS target FROM judgments j JOIN run_items i USING (run, item) "
        "WHERE run = ? AND call = ? ORDER BY slot",
        [run.number, call],
    ).to_pylist()
    if not outcomes:
        raise LabError(f"“{run.name}” has no call {call}.")
    ((shown, labels),) = database.rows(
        "SELECT shown, labels FROM orderings WHERE run = ? AND ordering = ?", [run.number, outcomes[0]["ordering"]]
    )
    kept = "SELECT * EXCLUDE (run, text), text AS reply FROM calls WHERE run = ? AND call = ?"
    facts = _first_row(database.frame(kept, [run.number, call])) or {"reply": None}
    return facts | {
        "call": call,
        "condition": outcomes[0]["condition"],
        "repeat": outcomes[0]["repeat"],
        "status": Status(facts.get("status", outcomes[0]["status"])).name.lower(),
        "shown": json.loads(shown),
        "labels": json.loads(labels),
        "ordering": order_text(json.loads(shown)),
        "item": item(database, run, outcomes[0]["item"]),
        "outcomes": [outcome | {"status": Status(outcome["status"]).name.lower()} for outcome in outcomes],
    }


def item(database: Database, run: RunInfo, item: int) -> dict[str, Any]:
    """Names, ratings and texts (response, instruction, reference, columns) of an item; texts are empty if not kept."""
    frame = _first_row(
        database.frame(f"SELECT item, {', '.join(ITEM_COLUMNS)}, texts FROM {ITEMS} WHERE item = ?", [run.number, item])
    )
    if frame is None:
        raise LabError(f"“{run.name}” has no item {item}.")
    texts = {"response": "", "instruction": "", "reference": "", "columns": {}}
    texts |= json.loads(frame.pop("texts") or "{}")
    return {**frame, "ratings": json.loads(frame["ratings"]), **texts}


def _first_row(frame: pd.DataFrame) -> dict[str, Any] | None:
    if frame.empty:
        return None
    row = frame.astype(object).where(frame.notna(), None).iloc[0]
    return {str(name): value for name, value in row.items()}


def condition_of(body: Mapping[str, Any]) -> Condition:
    """A condition from the JSON it was kept as."""
    lists = {name: tuple(body.get(name, ())) for name in ("scores", "targets")}
    return Condition(**{**body, **lists})
