"""A run as one zip file: written whole from a store or a table, read with nothing in it trusted.

Parts: ``study.json`` (format 2, id, name, state, study, conditions, orderings, planned, reading, made_with),
``items.parquet``, ``judgments.parquet`` (p1 ... pn where known), ``calls.parquet``, ``rows.csv``, ``made_with.json``.
"""

from __future__ import annotations

import io
import json
import stat
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

from rubriclab.data.limits import MAX_UNPACKED, MB, checked_file
from rubriclab.data.tables import json_value, parquet_table
from rubriclab.model.judgment import ITEM_COLUMNS, JUDGMENT_COLUMNS, JudgmentTable, Ordering, Reorder, Status
from rubriclab.model.study import read_reading
from rubriclab.model.text import LabError, shorten
from rubriclab.store.read import CALL_COLUMNS, WHOLE, condition_of
from rubriclab.store.store import STATES, TEXTS, Store

FORMAT = 2
MAX_JSON = 20 * MB
MAX_POSITIONS = 1_000
CALL_TEXTS = ("key", "text", "finish", "error", "kind", "model", "sent", "note")
# What each column may hold; anything else would falsify a result or not fit into the store.
RANGES: Mapping[str, tuple[float, float]] = {
    "call": (0, 2**31 - 1), "slot": (0, 32_767), "repeat": (0, 32_767), "status": (0, len(Status) - 1),
    "position": (0, MAX_POSITIONS), "score": (-1e6, 1e6), "expected": (-1e6, 1e6), "mass": (-1e-6, 1.001),
}  # fmt: skip


def bundle_bytes(table: JudgmentTable, store: Store | None = None, run: str | None = None, rows_csv: str = "") -> bytes:
    """The zip of a table of judgments; with its store also texts, replies and the study."""
    items, study = table.items, {"name": table.name}
    calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]]
    if store is not None and run is not None:
        items = items.drop(columns=[name for name in TEXTS if name in items]).join(store.texts(run))
        study = store.study(run)
        kept = store.calls(run)
        calls = kept if len(kept) else calls
    head = {
        "format": FORMAT, "id": table.run, "name": table.name, "state": table.state, "study": study,
        "conditions": [asdict(condition) for condition in table.conditions],
        "orderings": [asdict(ordering) for ordering in table.orderings],
        "planned": list(table.planned), "reading": dict(table.reading), "made_with": dict(table.made_with),
    }  # fmt: skip
    rows = table.rows
    if table.probabilities is not None:
        width = table.probabilities.shape[1]
        names = [f"p{k + 1}" for k in range(width)]
        rows = pd.concat([rows, pd.DataFrame(table.probabilities, columns=names, dtype=np.float32)], axis=1)
    ratings = [json.dumps(given, ensure_ascii=False) for given in items["ratings"]]
    parts: dict[str, bytes] = {
        "study.json": json.dumps(head, ensure_ascii=False, indent=1, default=str).encode(),
        "items.parquet": _parquet(items.assign(ratings=ratings)),
        "judgments.parquet": _parquet(rows),
        "calls.parquet": _parquet(calls),
        "rows.csv": rows_csv.encode(),
        "made_with.json": json.dumps(dict(table.made_with), ensure_ascii=False, default=str).encode(),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(
                zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED
            )  # without a time: same run, same file
    return out.getvalue()


def _parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    parquet.write_table(
        pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(), out, compression="zstd"
    )
    return out.getvalue()


def import_bundle(store: Store, path: str | Path) -> str:
    """Keep a bundle's run in a store; the same one again is there already. Returns the run's id."""
    table, calls, study = read_parts(path)
    return store.add_table(table, calls, study, origin=f"imported from {Path(path).name}")


def read_bundle(path: str | Path) -> JudgmentTable:
    """A bundle's judgments, without a store. Raises LabError naming part, row and column of what cannot be."""
    return read_parts(path)[0]


def read_parts(path: str | Path) -> tuple[JudgmentTable, pd.DataFrame, dict[str, Any]]:
    """(judgments, calls with their replies, study) of a bundle; every part bounded and checked, nothing run or sent."""
    path = checked_file(path)
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory(prefix="rubriclab-") as folder:
            _refuse_members(path.name, archive)
            head = json_value(_part(path.name, archive, "study.json", MAX_JSON).decode("utf-8-sig"), "study.json")
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise LabError(f"{path.name} is no run of this version: study.json has not the format {FORMAT}.")
            tables = {}
            for name in ("items", "judgments", "calls"):
                file = Path(folder, f"{name}.parquet")
                file.write_bytes(_part(path.name, archive, f"{name}.parquet", MAX_UNPACKED))
                tables[name] = parquet_table(file, f"{path.name}, {name}.parquet").to_pandas()
    except LabError:
        raise
    except (OSError, zipfile.BadZipFile, KeyError, UnicodeDecodeError, RuntimeError, EOFError, ValueError) as fault:
        raise LabError(
            f"{path.name} is not a whole bundle of a run: {shorten(str(fault), 200)}. Export it again."
        ) from None
    try:
        table = _table(head, tables["items"], tables["judgments"], path.name)
        calls = _calls(tables["calls"], table, path.name)
        study = dict(head.get("study") or {})
    except (TypeError, AttributeError, KeyError, ValueError, OverflowError) as fault:
        if isinstance(fault, LabError):
            raise
        raise LabError(f"{path.name}: a part of another form than a run's ({shorten(repr(fault), 120)}).") from None
    return table, calls, study


def _refuse_members(name: str, archive: zipfile.ZipFile) -> None:
    seen: set[str] = set()
    for member in archive.infolist():
        part = member.filename
        if part in seen or "/" in part or "\\" in part or part.startswith(".") or ":" in part:
            why = "stands twice" if part in seen else "leads out of the file"
            raise LabError(f"{name} is refused: “{shorten(part)}” in it {why}. Export the run again.")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise LabError(f"{name} is refused: “{shorten(part)}” in it is a link. Export the run again.")
        seen.add(part)


def _part(name: str, archive: zipfile.ZipFile, part: str, most: int) -> bytes:
    """A member's bytes, read no further than it may be long whatever the directory says of it."""
    if part not in archive.namelist():
        raise LabError(f"{name} is no bundle of a run: it has no {part}. Export the run again.")
    with archive.open(part) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise LabError(f"{name}: {part} unpacks to more than {most // MB} MB; that much is read.")
    return content


def _table(head: Mapping[str, Any], items: pd.DataFrame, rows: pd.DataFrame, name: str) -> JudgmentTable:
    conditions = tuple(condition_of(body) for body in head["conditions"])
    orderings = tuple(Ordering(tuple(part["shown"]), tuple(map(str, part["labels"]))) for part in head["orderings"])
    for condition in conditions:
        texts = (condition.judge, condition.dataset, condition.strategy)
        numbers = [condition.positions, *condition.scores]
        if condition.reorder not in get_args(Reorder) or not all(isinstance(text, str) for text in texts):
            raise LabError(f"{name}, study.json: “{shorten(str(condition), 80)}” is no condition.")
        if not all(isinstance(n, int | float) and abs(n) <= 1e6 for n in numbers) or len(numbers) > MAX_POSITIONS:
            raise LabError(f"{name}, study.json: the scale of “{shorten(condition.judge)}” is not of numbers.")
        least = 2 if condition.chooses else int(condition.reorder == "responses")
        most = 2 if condition.reorder == "pairs" else MAX_POSITIONS
        if type(condition.positions) is not int or not least <= condition.positions <= most:
            given = f"positions is {shorten(str(condition.positions))}; expected {least} to {most}"
            raise LabError(f"{name}, study.json: {given} where {condition.reorder} are reordered.")
        if not (condition.chooses or condition.scores):
            raise LabError(f"{name}, study.json: “{shorten(condition.judge)}” has no scores to choose from.")
    for ordering in orderings:
        known = all(isinstance(part, str | int | float) for part in ordering.shown)
        if not known or len(ordering.shown) > MAX_POSITIONS:
            raise LabError(f"{name}, study.json: “{shorten(str(ordering.shown), 80)}” is no ordering.")
    missing = [column for column in JUDGMENT_COLUMNS if column not in rows]
    missing += [column for column in ITEM_COLUMNS if column not in items]
    if missing:
        raise LabError(f"{name} lacks the columns {', '.join(missing[:6])}. Export the run again.")
    place_of = f"{name}, judgments.parquet"
    limits = dict(RANGES) | {
        "condition": (0, len(conditions) - 1), "item": (0, len(items) - 1), "ordering": (0, len(orderings) - 1)
    }  # fmt: skip
    checked = {column: _numbers(rows, column, limits[column], place_of) for column in JUDGMENT_COLUMNS}
    lengths = np.array([len(ordering.shown) for ordering in orderings])
    _refuse(
        rows, "position", checked["position"] > lengths[checked["ordering"]], "a position in the list shown", place_of
    )
    frame = pd.DataFrame(checked)
    asked = np.array(
        [(part.positions, *(part.reorder == axis for axis in ("responses", "criteria"))) for part in conditions]
    )
    positions, answers, criteria = asked.reshape(-1, 3)[checked["condition"]].T
    _refuse(rows, "slot", (answers > 0) & (checked["slot"] >= positions), "one of the call's answers", place_of)
    unnamed = items["criterion"].isna().to_numpy()[checked["item"]]
    _refuse(rows, "item", (criteria > 0) & unnamed, "an item under a criterion", place_of)
    twice = frame.duplicated(["call", "item"]).to_numpy()
    _refuse(rows, "call", twice, "a call that stands once for each item", place_of)
    by_call = frame.groupby("call", sort=False)["condition"]
    _refuse(
        rows, "call", (by_call.transform("min") != frame["condition"]).to_numpy(), "a call of one condition", place_of
    )
    names = [column for column in rows.columns if column[:1] == "p" and column[1:].isdigit()]
    p = [_numbers(rows, column, (-1e-6, 1.001), place_of) for column in sorted(names, key=lambda part: int(part[1:]))]
    state = str(head.get("state"))
    order = np.lexsort((frame["slot"], frame["call"], frame["condition"]))
    return JudgmentTable(
        run=str(head["id"])[:64], name=str(head["name"])[:200] or "Run", conditions=conditions,
        items=_items(items, f"{name}, items.parquet"), orderings=orderings,
        rows=frame.iloc[order].reset_index(drop=True), planned=tuple(int(n) for n in head.get("planned") or ()),
        probabilities=np.column_stack(p)[order] if p else None,
        state="interrupted" if state in ("running", "planned") or state not in STATES else state,
        made_with=dict(head.get("made_with") or {}),
        reading=read_reading(head.get("reading") or {}, f"{name}, study.json").model_dump(mode="json", exclude_unset=True),
    )  # fmt: skip


def _numbers(rows: pd.DataFrame, column: str, limits: tuple[float, float], name: str) -> np.ndarray:
    """A column as numbers within its limits: whole ones, or fractions with NaN for what is missing."""
    values = pd.to_numeric(rows[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    whole = column in WHOLE
    missing = np.isnan(values)
    odd = missing & (rows[column].notna().to_numpy() | whole)
    beyond = ~missing & ~((values >= limits[0]) & (values <= limits[1]))
    broken = whole & ~missing & (values != np.floor(values))
    kind = "a whole number" if whole else "a number"
    _refuse(rows, column, odd | beyond | broken, f"{kind} from {limits[0]:g} to {limits[1]:,g}", name)
    return values.astype(np.int64) if whole else values


def _refuse(rows: pd.DataFrame, column: str, bad: np.ndarray, expected: str, name: str) -> None:
    where = np.flatnonzero(bad)
    if where.size:
        value = shorten(str(rows[column].iloc[int(where[0])]))
        more = f", and {where.size - 1:,} more rows" if where.size > 1 else ""
        raise LabError(f"{name}, row {where[0] + 1:,}, column {column}: {value} is not {expected}{more}.")


def _items(items: pd.DataFrame, name: str) -> pd.DataFrame:
    frame = items.astype(object).where(items.notna(), None)
    people = []
    for number, text in enumerate(frame["ratings"]):
        given = json_value(text, name) if isinstance(text, str) else {}
        if not isinstance(given, dict) or not all(
            isinstance(score, int | float) and abs(score) <= 1e9 for score in given.values()
        ):
            raise LabError(f"{name}, row {number + 1:,}: “{shorten(str(text))}” are no ratings of people.")
        people.append({str(rater): float(score) for rater, score in given.items()})
    columns = [column for column in (*ITEM_COLUMNS, "unit_text", *TEXTS) if column in frame]
    _refuse(frame, "item_id", ~frame["item_id"].map(lambda text: isinstance(text, str)).to_numpy(bool), "a text", name)
    for column in set(columns) - {"ratings"}:
        odd = frame[column].map(lambda value: value is not None and not isinstance(value, str)).to_numpy(bool)
        _refuse(frame, column, odd, "a text", name)
    frame = frame[columns].assign(ratings=pd.Series(people, dtype=object))
    return frame if "unit_text" in frame else frame.assign(unit_text=frame["item_id"])


def _calls(calls: pd.DataFrame, table: JudgmentTable, name: str) -> pd.DataFrame:
    """The known columns of the calls; a reply that is a plain label has to be the score beside it."""
    place_of = f"{name}, calls.parquet"
    known = calls[[column for column in CALL_COLUMNS if column in calls]].copy()
    for column in ("call", "condition", "status"):
        limits = RANGES.get(column, (0, len(table.conditions) - 1))
        known[column] = _numbers(calls, column, limits, place_of)
    _refuse(calls, "call", known["call"].duplicated().to_numpy(), "a call that stands once", place_of)
    foreign = ~known["call"].isin(table.rows["call"]).to_numpy()
    _refuse(calls, "call", foreign, "a call that the judgments know", place_of)
    for column in ("tokens_in", "tokens_out", "cached", "attempt", "seconds"):
        if column in known:
            most = 32_767 if column == "attempt" else 2**31 - 1
            numbers = pd.to_numeric(known[column], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
            known[column] = np.where((numbers >= 0) & (numbers <= most), numbers, np.nan)
    for column in [name for name in CALL_TEXTS if name in known]:
        known[column] = known[column].astype(object).where(known[column].map(lambda cell: isinstance(cell, str)), None)
    if "asked" in known:
        known["asked"] = pd.to_datetime(known["asked"], errors="coerce").astype("datetime64[us]")
    if "text" in known:
        _refuse_other_replies(known, table, name)
    return known


def _refuse_other_replies(calls: pd.DataFrame, table: JudgmentTable, name: str) -> None:
    options = [code for code, condition in enumerate(table.conditions) if condition.reorder == "options"]
    rows = table.rows[table.rows["condition"].isin(options) & (table.rows["status"] == 0)]
    replies = rows.merge(calls[["call", "text"]], on="call")[["call", "ordering", "position", "score", "text"]]
    replies = replies[replies["text"].notna()].drop_duplicates(["ordering", "position", "score", "text"])
    for call, code, position, score, text in replies.itertuples(index=False):
        ordering = table.orderings[code]
        labels = list(ordering.labels or map(str, ordering.shown))
        if text.strip() in labels:
            where = labels.index(text.strip())
            if ordering.shown[where] != score or where + 1 != position:
                raise LabError(
                    f"{name}: call {call} has the score {score:g} at position {position}, but its reply is "
                    f"“{shorten(text, 20)}”. The file was changed; export the run again."
                )
