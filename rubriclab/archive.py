"""A run as one file that another lab can read, show, check and go on with.

A zip of ``study.json`` (data, rubric, judges and design: everything that decides the
calls), ``provenance.json`` and ``judgments.parquet`` (one row per judgment, with the
judge's words). Keys tie the rows to the calls of the study, so reading an archive is
planning the study again and handing out the answers.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.ingest.rubrics import rubric_from_value, rubric_to_value
from rubriclab.ingest.study import study_from_dict, study_to_dict
from rubriclab.model import (
    STATUSES,
    Call,
    Comparison,
    Dataset,
    Item,
    Judgment,
    LabError,
    Outcome,
    Reply,
)
from rubriclab.plan import Plan, plan
from rubriclab.provenance import provenance
from rubriclab.store import P_COLUMNS, RunWriter, Store

PARTS = ("study.json", "provenance.json", "judgments.parquet")


class ArchiveError(LabError):
    """A file that is not a run's archive, or one whose rows do not belong to its study."""


def write_archive(store: Store, run: str) -> bytes:
    """The archive of a run. Raises StoreError for an imported run, which has no study."""
    study = store.study(run)
    parts = {
        "study.json": json.dumps(
            {**study_to_dict(study), "data": _dataset_value(study.dataset)}, ensure_ascii=False
        ),
        "provenance.json": json.dumps(dict(store.run(run).provenance), ensure_ascii=False),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        table = io.BytesIO()
        store.archive_frame(run).to_parquet(table, index=False, compression="zstd")
        archive.writestr("judgments.parquet", table.getvalue())
    return buffer.getvalue()


def read_archive(store: Store, content: bytes) -> str:
    """Keep the run of an archive; judgments that the store has already are left as they are.

    Returns the run's name. Raises ArchiveError for a broken file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            value = json.loads(archive.read("study.json"))
            study = study_from_dict(value, dataset=_dataset(value["data"]))
            made_with = json.loads(archive.read("provenance.json"))
            frame = pd.read_parquet(io.BytesIO(archive.read("judgments.parquet")))
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as fault:
        raise ArchiveError(
            f"This is not a run's archive: it should be a zip with {', '.join(PARTS)} ({fault})."
        ) from fault
    prepared = plan(study)
    return keep(store, prepared, _judgments(prepared, frame), made_with=made_with)


def keep(
    store: Store,
    prepared: Plan,
    answers: Mapping[str, Callable[[Call], Judgment]],
    *,
    made_with: Mapping[str, Any] | None = None,
) -> str:
    """Store the judgments of ``answers`` (call key -> Judgment maker) that are not stored yet.

    A maker takes the Call and returns its Judgment. The run is finished when every call of
    the plan has a final reply, else paused, so that it can be gone on with.
    """
    unknown = set(answers).difference(call.key for call in prepared.calls())
    if unknown and len(unknown) == len(answers):
        raise ArchiveError(
            f"None of the {len(unknown):,} answers belongs to study “{prepared.study.name}”: "
            "data, rubric, judges, design or templates differ from those the calls were made with."
        )
    info = store.open_run(prepared, made_with or provenance(prepared))
    kept = 0
    with RunWriter(store, info.run) as writer:
        writer.flush()  # what an earlier writer had to leave
        done = store.done_keys(info.run)
        for call in prepared.calls():
            if call.key in answers and call.key not in done:
                writer.put(answers[call.key](call))
                kept += 1
    left = len(prepared) - store.run(info.run).done
    parts = [f"{kept:,} answers read in; {left:,} calls are left to ask"] if left > 0 else []
    if unknown:
        parts.append(f"{len(unknown):,} answers belong to no call of this study")
    store.set_state(info.run, "paused" if left > 0 else "finished", "; ".join(parts))
    return info.run


def _dataset_value(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "origin": dataset.origin,
        "kind": "comparisons" if isinstance(dataset.items[0], Comparison) else "items",
        "rubric": rubric_to_value(dataset.rubric) if dataset.rubric else None,
        "items": [asdict(item) for item in dataset.items],
    }


def _dataset(value: Mapping[str, Any]) -> Dataset:
    items: tuple[Item, ...] | tuple[Comparison, ...]
    if value["kind"] == "comparisons":
        items = tuple(
            Comparison(
                **{
                    **row,
                    **{name: tuple(row[name]) for name in ("turns", "candidates", "references")},
                    "responses": tuple(tuple(answers) for answers in row["responses"]),
                }
            )
            for row in value["items"]
        )
    else:
        items = tuple(
            Item(
                **{
                    **row,
                    "human": tuple(row["human"]),
                    "references": {int(k): v for k, v in row["references"].items()},
                }
            )
            for row in value["items"]
        )
    rubric = rubric_from_value(value["rubric"]) if value["rubric"] else None
    return Dataset(name=value["name"], items=items, rubric=rubric, origin=value["origin"])


def _judgments(prepared: Plan, frame: pd.DataFrame) -> dict[str, Callable[[Call], Judgment]]:
    """For each call key, what makes its judgment out of the archived rows."""
    items = len(prepared.study.dataset)
    if not frame["item"].between(0, items - 1).all():
        raise ArchiveError(f"A judgment names an item beyond the study's {items:,}.")
    if not frame["status"].between(0, len(STATUSES) - 1).all():
        raise ArchiveError("A judgment has a status that this rubriclab does not know.")
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in frame.to_dict("records"):
        rows.setdefault(str(row["key"]), []).append({str(k): v for k, v in row.items()})

    def maker(mine: list[Mapping[str, Any]]) -> Callable[[Call], Judgment]:
        return lambda call: Judgment(
            call, _reply(mine[0]), tuple(_outcome(row, call) for row in mine)
        )

    return {key: maker(mine) for key, mine in rows.items()}


def _reply(row: Mapping[str, Any]) -> Reply:
    return Reply(
        text=_text(row["text"]) or "",
        finish=_text(row["finish"]) or "",
        tokens_in=_whole(row["tokens_in"]),
        tokens_out=_whole(row["tokens_out"]),
        cached_tokens=_whole(row["cached_tokens"]),
        latency=float(row["latency"]),
        model=_text(row["model"]),
        error=_text(row["error"]),
        kind=_text(row["reply_kind"]),
        retryable=bool(row["retryable"]),
        attempts=int(row["attempts"]),
    )


def _outcome(row: Mapping[str, Any], call: Call) -> Outcome:
    n = len(call.ordering.shown)
    given = tuple(float(row[name]) for name in P_COLUMNS[:n])
    return Outcome(
        item=int(row["item"]),
        status=STATUSES[int(row["status"])],
        score=_whole(row["score"]),
        position=None if int(row["position"]) < 0 else int(row["position"]),
        probabilities=given if all(np.isfinite(given)) else None,
        mass=_number(row["mass"]),
        expected=_number(row["expected"]),
        kind=_text(row["kind"]),
    )


def _whole(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
