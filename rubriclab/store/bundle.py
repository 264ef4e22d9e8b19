"""Carry a run as one zip file: write it from a store or a table, and read it without trust.

Parts of a zip: ``study.json`` (format 2: id, name, state, study, conditions, orderings, planned,
reading, made_with), ``items.parquet``, ``judgments.parquet`` (p1 ... pn if probabilities are
known), ``calls.parquet``, ``rows.csv`` and ``made_with.json``.

A zip may come from anybody. Reading it bounds every part before it is unpacked, runs and sends
nothing, and lets ``bundle_checks`` refuse what no run can hold.
"""

import hashlib
import io
import json
import lzma
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

from rubriclab.data.limits import MAX_UNPACKED, MB, checked_file
from rubriclab.data.sample import recorded_runs
from rubriclab.data.tables import json_value, parquet_table
from rubriclab.model.judgment import JUDGMENT_COLUMNS, JudgmentTable, count_notes
from rubriclab.model.text import LabError, digest, shorten, storable
from rubriclab.store.bundle_checks import Part, checked_calls, checked_table
from rubriclab.store.read import TEXTS
from rubriclab.store.store import Store

FORMAT = 2
MAX_JSON = 20 * MB
"""Bytes of ``study.json`` unpacked. A study with its rubrics and a thousand orders has less than
one MB."""
PARQUET_PARTS = ("items", "judgments", "calls")
NOT_WHOLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    OSError,
    EOFError,
    RuntimeError,  # zipfile: an encrypted member
    UnicodeError,
)
"""What reading a cut or damaged zip raises."""
ANOTHER_FORM = (TypeError, AttributeError, KeyError, ValueError, OverflowError)
"""What reading values of other types than a run's raises."""


class RunParts(NamedTuple):
    """What a zip holds. ``calls``: with their replies; ``study``: as the store keeps it."""

    table: JudgmentTable
    calls: pd.DataFrame
    study: dict[str, Any]


# ---- writing


def bundle_bytes(
    table: JudgmentTable, store: Store | None = None, run: str | None = None, rows_csv: str = ""
) -> bytes:
    """Return the zip of a table of judgments.

    With its store also texts, replies and the study. The same run gives the same bytes.
    """
    items, study = table.items, {"name": table.name}
    calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]]
    if store is not None and run is not None:
        own = [name for name in TEXTS if name in items]
        items = items.drop(columns=own).join(store.texts(run))
        study = store.study(run)
        kept = store.calls(run)
        calls = kept if len(kept) else calls
    head = {
        "format": FORMAT,
        "id": table.run,
        "name": table.name,
        "state": table.state,
        "study": study,
        "conditions": [condition.document() for condition in table.conditions],
        "orderings": [asdict(ordering) for ordering in table.orderings],
        "planned": list(table.planned),
        "reading": dict(table.reading),
        "made_with": dict(table.made_with),
    }
    if table.looks is not None:
        head["looks"] = table.looks.document()
    ratings = [json.dumps(given, ensure_ascii=False) for given in items["ratings"]]
    made_with = json.dumps(dict(table.made_with), ensure_ascii=False, default=str)
    return _zipped(
        {
            "study.json": json.dumps(head, ensure_ascii=False, indent=1, default=str).encode(),
            "items.parquet": _parquet(items.assign(ratings=ratings)),
            "judgments.parquet": _parquet(_judgment_rows(table, store, run)),
            "calls.parquet": _parquet(calls),
            "rows.csv": rows_csv.encode(),
            "made_with.json": made_with.encode(),
        }
    )


def _judgment_rows(table: JudgmentTable, store: Store | None, run: str | None) -> pd.DataFrame:
    """Return the judgments with what is known of their reading, and their probabilities."""
    rows = table.rows[list(JUDGMENT_COLUMNS)]
    if store is not None and run is not None and store.readers(run) - {None}:
        rows = rows.merge(store.readings(run), on=["call", "item"], how="left", validate="1:1")
    if table.probabilities is None:
        return rows
    names = [f"p{position + 1}" for position in range(table.probabilities.shape[1])]
    shares = pd.DataFrame(table.probabilities, columns=names, dtype=np.float32)
    return pd.concat([rows, shares], axis=1)


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            # A ZipInfo of our own has no time in it: the same run is the same file.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _parquet(frame: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    # The metadata would hold pandas' version.
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


# ---- reading


def import_bundle(store: Store, path: str | Path) -> str:
    """Keep a zip's run in a store, once, and return the run's ID."""
    table, calls, study = read_parts(path)
    return store.add_table(table, calls, study, origin=f"imported from {Path(path).name}")


def read_bundle(path: str | Path) -> JudgmentTable:
    """Return a zip's judgments, without a store.

    Raises LabError that names part, row and column of what no run can hold.
    """
    return read_parts(path).table


def read_parts(path: str | Path) -> RunParts:
    """Return what a zip holds, every part bounded and checked.

    Raises LabError that names part, row and column of what no run can hold.
    """
    path = checked_file(path)
    name = shorten(path.name)
    try:
        return _read_archive(path, name)
    except LabError:
        raise
    except NOT_WHOLE as fault:
        raise LabError(
            f"{name} is not a whole zip of a run: {shorten(str(fault), 200)}. Export it again."
        ) from None
    except ANOTHER_FORM as fault:
        why = shorten(f"{type(fault).__name__}: {fault}", 160)
        raise LabError(
            f"{name}: a part has another form than a run's ({why}). Export the run again."
        ) from None


def _read_archive(path: Path, name: str) -> RunParts:
    study = f"{name}, study.json"
    parts = {}
    with (
        zipfile.ZipFile(path) as archive,
        tempfile.TemporaryDirectory(prefix="rubriclab-") as folder,
    ):
        _refuse_members(name, archive)
        head = _read_head(name, archive)
        for part in PARQUET_PARTS:
            file = Path(folder, f"{part}.parquet")
            content = _content(name, archive, file.name, MAX_UNPACKED)
            if part == "judgments" and "id" in head:
                head["id"] = _free_id(head["id"], content)
            file.write_bytes(content)
            frame = parquet_table(file, f"{name}, {file.name}").to_pandas()
            parts[part] = Part(f"{name}, {file.name}", frame)
            file.unlink()  # one part on the disk at a time
    table = checked_table(_storable(head), parts["items"], parts["judgments"], study)
    for field in ("study", "made_with"):
        if not isinstance(head.get(field) or {}, dict):
            raise LabError(f"{study}: {field} is not a table. Export the run again.")
    calls = checked_calls(parts["calls"], table)
    if "note" in calls:
        noted = calls[["condition", "note"]].assign(calls=1)
        table = replace(table, notes=count_notes(noted.itertuples(index=False, name=None)))
    return RunParts(table, calls, dict(head.get("study") or {}))


def _read_head(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return ``study.json``. Raises LabError for another format."""
    text = _content(name, archive, "study.json", MAX_JSON).decode("utf-8-sig")
    head = json_value(text, f"{name}, study.json")
    if isinstance(head, dict) and head.get("format") == FORMAT:
        return head
    made = shorten(str(head.get("format"))) if isinstance(head, dict) else "none"
    raise LabError(
        f"{name} has the format {made}, and this rubriclab reads the format {FORMAT}. Update "
        "rubriclab, or export the run again."
    )


def _free_id(given: Any, judgments: bytes) -> Any:
    """Return a zip's own ID, or another one if it has that of a recorded example and is not it.

    Or a stranger's numbers could pass for the example's.
    """
    own = hashlib.sha256(judgments).hexdigest()
    if recorded_runs().get(str(given), own) == own:
        return given
    return digest(given, own)[:12]


def _refuse_members(name: str, archive: zipfile.ZipFile) -> None:
    """Raise LabError for a name that leads out of the zip, a second part of a name, and a link."""
    seen: set[str] = set()
    for member in archive.infolist():
        part = member.filename
        why = ""
        if part in seen:
            why = "appears twice"
        elif "/" in part or "\\" in part or part.startswith(".") or ":" in part:
            why = "leads out of the file"
        elif stat.S_ISLNK(member.external_attr >> 16):
            why = "is a link"
        if why:
            raise LabError(
                f"{name} is refused: “{shorten(part)}” in it {why}. Export the run again."
            )
        seen.add(part)


def _content(name: str, archive: zipfile.ZipFile, part: str, most: int) -> bytes:
    """Return a part's bytes. Raises LabError for more than ``most``.

    The directory of a zip bomb lies about its sizes, so no more than that is read.
    """
    if part not in archive.namelist():
        raise LabError(f"{name} is not a zip of a run: it has no {part}. Export the run again.")
    with archive.open(part) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise LabError(
            f"{name}: {part} unpacks to more than {most // MB} MB, which is the limit. Export the "
            "run again, or split it."
        )
    return content


def _storable(value: Any) -> Any:
    """Return a value of JSON whose texts, also the names of its fields, can be kept."""
    if isinstance(value, dict):
        return {storable(name): _storable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_storable(part) for part in value]
    return storable(value) if isinstance(value, str) else value
