"""A run, or several, as one file that another lab can read, show, check and go on with.

A zip with a folder for each run (a single run stands at its top). Of each run,
``study.json`` (data, rubric, judges and design: everything that decides the calls),
``provenance.json`` and ``judgments.parquet`` (one row per judgment, with the judge's words)
are what this lab reads back: keys tie the rows to the calls of the study, so reading an
archive is planning the study again and handing out the answers. A run that was imported has
no study; ``run.json`` and ``items.parquet`` stand in for it. The other files are the same
data for people and other tools; ``README.txt`` says what is what.
``title.json`` is there where a user gave the run a title or tags.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.datasets.limits import MAX_RATIO, SMALL, reading
from rubriclab.datasets.parquet import parquet_table
from rubriclab.datasets.plain import json_value
from rubriclab.model import STATUSES, Call, Judgment, Outcome, Reply, RunData
from rubriclab.model.language import SOURCE, speaking, tr
from rubriclab.model.storable import storable_reply
from rubriclab.model.wording import many
from rubriclab.store import P_COLUMNS, RunWriter, Store
from rubriclab.store.archive_checks import (
    ArchiveError,
    arms_and_orderings,
    dataset_of,
    json_member,
    rater_names_of,
    raters_of,
    refuse_members,
    refuse_positions,
    refuse_twice,
    storable_rows,
)
from rubriclab.store.archive_writing import CALLED, ITEMS, JUDGMENTS, MADE_WITH, RUN, STUDY, write_archive
from rubriclab.store.listing import MAX_TAGS, checked_tags, checked_title
from rubriclab.store.provenance import provenance
from rubriclab.store.rows import REPLY_TYPES
from rubriclab.study.plan import Plan, plan
from rubriclab.study.reading import study_from_dict

__all__ = ["ArchiveError", "keep", "read_archive", "write_archive"]

PARTS = (STUDY, MADE_WITH, JUDGMENTS)
MAX_BYTES = 4_000_000_000
"""Unpacked size that is still read; a run of two million judgments takes a fifth of it."""
MAX_ROWS = 20_000_000
MAX_CALLS = 5_000_000
"""Calls of a study in an archive: each of them is planned again."""


@dataclass(frozen=True)
class _Read:
    """A run as it came out of an archive, wholly checked; ``keep`` puts it into a store."""

    run: str
    keep: Callable[[Store], str]
    title: str | None = None
    tags: tuple[str, ...] = ()

    def kept(self, store: Store) -> str:
        """Put it there, called as it was; a title that the run has there already stays."""
        run = self.keep(store)
        info = store.run(run)
        if self.title is not None and info.name == info.made_as:
            store.rename_run(run, self.title)
        known = {tag.casefold() for tag in info.tags}
        fresh = [tag for tag in self.tags if tag.casefold() not in known]
        store.tag_run(run, add=fresh[: MAX_TAGS - len(known)])
        return run


def read_archive(store: Store, content: bytes, *, name: str = "") -> tuple[str, ...]:
    """Keep the runs of an archive; judgments that the store has already are left as they are.

    Returns the runs' names. Raises LabError naming the file for one that is broken in any part;
    then nothing of it is kept.
    """
    name = name or tr("the uploaded file")
    what = tr("is not a run's archive: it should be a zip with {parts}", parts=", ".join(PARTS))
    with reading(name, what, ArchiveError), zipfile.ZipFile(io.BytesIO(content)) as archive:
        refuse_members(archive)
        _check_size(archive)
        runs = [_called(_read(store, archive, folder), archive, folder) for folder in _folders(archive)]
    before = {info.run for info in store.runs(deleted=True)}
    try:
        with reading(name, tr("cannot be kept"), ArchiveError):
            return tuple(run.kept(store) for run in runs)
    except BaseException:
        for name_of_run in {info.run for info in store.runs(deleted=True)} & {r.run for r in runs} - before:
            store.delete_run(name_of_run)
        raise


def _check_size(archive: zipfile.ZipFile) -> None:
    """Refuse what would unpack to more than any run has, before any of it is unpacked."""
    packed = sum(part.compress_size for part in archive.infolist())
    whole = sum(part.file_size for part in archive.infolist())
    if whole > MAX_BYTES or (whole > SMALL and whole > MAX_RATIO * packed):
        raise ArchiveError(
            tr(
                "This archive would unpack to {whole:.1f} GB from {packed:.1f} MB, which no run does. It is not read.",
                whole=whole / 1e9,
                packed=packed / 1e6,
            )
        )


def _folders(archive: zipfile.ZipFile) -> list[str]:
    """Where the runs of an archive stand: its top, or a folder for each."""
    heads = [name for name in archive.namelist() if name.split("/")[-1] in (STUDY, RUN)]
    folders = list(dict.fromkeys(name.rpartition("/")[0] for name in heads))
    if not folders:
        raise KeyError(tr("there is no {file} in the archive", file=STUDY))
    return [f"{folder}/" if folder else "" for folder in folders]


def _read(store: Store, archive: zipfile.ZipFile, folder: str) -> _Read:
    made_with = json_member(archive, folder + MADE_WITH)
    rows, name = _table(archive.read(folder + JUDGMENTS), folder + JUDGMENTS), folder + JUDGMENTS
    imported = folder + STUDY not in archive.namelist()
    frame = storable_rows(rows, name, coded=imported)
    if imported:
        head = json_member(archive, folder + RUN)
        items = _table(archive.read(folder + ITEMS), folder + ITEMS)
        return _read_imported(store, head, items, frame, made_with)
    value = json_member(archive, folder + STUDY)
    prepared = plan(study_from_dict(value, dataset=dataset_of(value["data"])))
    if len(prepared) > MAX_CALLS:
        raise ArchiveError(
            tr(
                "The study of the archive has {calls}; {most:,} are read.",
                calls=many(len(prepared), "call"),
                most=MAX_CALLS,
            )
        )
    answers = _judgments(prepared, frame, name)

    def kept(into: Store) -> str:
        return keep(into, prepared, answers, made_with=made_with)

    return _Read(store.run_of(prepared.study), kept)


def _called(read: _Read, archive: zipfile.ZipFile, folder: str) -> _Read:
    """The run with its title and tags. Raises StoreError for what can be neither."""
    if folder + CALLED not in archive.namelist():
        return read
    value = json_member(archive, folder + CALLED)
    title, tags = value.get("title"), value.get("tags", [])
    if not isinstance(tags, list) or len(tags) > MAX_TAGS:
        raise ArchiveError(tr("{file} should name at most {most} tags as a list.", file=CALLED, most=MAX_TAGS))
    return replace(read, title=None if title is None else checked_title(title), tags=checked_tags(tags))


def _table(content: bytes, name: str) -> pd.DataFrame:
    """A Parquet file as a frame. Raises ArchiveError where it holds more than any run does."""
    table = parquet_table(name, content, max_rows=MAX_ROWS, max_bytes=MAX_BYTES, error=ArchiveError)
    return pd.DataFrame(table.to_pandas())


# ---------------------------------------------------------------- an imported run


def _read_imported(
    store: Store, head: Mapping[str, Any], items: pd.DataFrame, frame: pd.DataFrame, made_with: Mapping[str, Any]
) -> _Read:
    """Judgments without a study: arms, orders and items come with them."""
    run = str(head["run"])
    refuse_twice(frame, JUDGMENTS)
    if not re.fullmatch(r"[a-z0-9-]{1,64}", run):
        raise ValueError(tr("{run!r:.80} is no name of a run", run=run))
    data = _run_data(head, items, frame)
    kept_of_reply = [*_REPLY, *(["note"] if "note" in REPLY_TYPES else [])]
    calls = frame.drop_duplicates("call")
    replies = calls[kept_of_reply].rename(columns={"reply_kind": "kind"})
    logged = calls[["call", "line", "prompt"]] if "line" in frame else None
    if run in {info.run for info in store.runs(deleted=True)} and not _same(store.kept_frame(run), data):
        raise ArchiveError(tr("The store has another run named “{run}”, with other judgments.", run=run))

    def kept(into: Store) -> str:
        return into.import_run(data, provenance=made_with, run=run, replies=replies, texts=items, logged=logged)

    return _Read(run, kept)


_REPLY = (
    "call",
    "key",
    "arm",
    "status",
    "text",
    "finish",
    "tokens_in",
    "tokens_out",
    "cached_tokens",
    "latency",
    "model",
    "error",
    "reply_kind",
    "retryable",
    "attempts",
    "template",
    "asked",
)
_CODES = ("arm", "item", "ordering", "read", "repeat", "call", "status", "position")
_NUMBERS = ("score", "expected", "mass")


def _run_data(head: Mapping[str, Any], items: pd.DataFrame, frame: pd.DataFrame) -> RunData:
    arms, orderings = arms_and_orderings(head)
    _check_codes(frame, {"arm": len(arms), "item": len(items), "ordering": len(orderings), "status": len(STATUSES)})
    sizes = np.array([len(ordering.shown) for ordering in orderings])
    refuse_positions(sizes[frame["ordering"]], frame["position"].to_numpy(), JUDGMENTS)
    rows = pd.DataFrame(
        {name: frame[name].to_numpy().astype(np.int64) for name in _CODES}
        | {name: frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in _NUMBERS}
    )
    given = frame[list(P_COLUMNS)].to_numpy(dtype=np.float64, na_value=np.nan)
    raters = raters_of(items)
    more = [json_value("items.parquet", m, error=ArchiveError) if isinstance(m, str) else {} for m in items["more"]]
    if frame["kind"].notna().any():
        rows["kind"] = frame["kind"].astype(object).to_numpy()
    return RunData(
        run=str(head["run"]),
        name=str(head["name"]),
        arms=arms,
        items=items.assign(
            raters=pd.Series(raters, dtype=object),
            human=[float(np.mean(r)) if r else float("nan") for r in raters],
            rater_names=pd.Series(rater_names_of(raters, more), dtype=object),
            candidates=pd.Series([tuple(m.get("candidates", ())) for m in more], dtype=object),
            candidate_chars=pd.Series([tuple(m.get("candidate_chars", ())) for m in more], dtype=object),
        ),
        orderings=orderings,
        judgments=rows,
        probabilities=given if np.isfinite(given).any() else None,
        simulated=any(arm.simulated for arm in arms),
    )


def _same(one: RunData, other: RunData) -> bool:
    """Are these the same judgments, in whatever order a call's rows stand?"""
    if (one.arms, one.orderings, len(one.judgments)) != (other.arms, other.orderings, len(other.judgments)):
        return False
    names = ["call", "item", "arm", "ordering", "status", "position", "score"]
    mine, theirs = (of.judgments[names].sort_values(names[:2]).to_numpy(dtype=np.float32) for of in (one, other))
    return bool(np.array_equal(mine, theirs, equal_nan=True))


def _check_codes(frame: pd.DataFrame, bounds: Mapping[str, int]) -> None:
    for name, bound in bounds.items():
        if not frame[name].between(0, bound - 1).all():
            raise ArchiveError(
                tr(
                    "A judgment names {name} {value}, beyond the {bound:,}.",
                    name=name,
                    value=frame[name].max(),
                    bound=bound,
                )
            )


# ---------------------------------------------------------------- a run of a study


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
            tr(
                "None of the answers ({answers:,}) belongs to study “{name}”: data, rubric, judges, design or "
                "templates differ from those the calls were made with.",
                answers=len(unknown),
                name=prepared.study.name,
            )
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
    after = store.run(info.run)
    left = after.planned - after.done
    with speaking(SOURCE):  # stored
        parts = [f"{many(kept, 'answer')} read in; {many(left, 'call', 'are')} left to ask"] if left > 0 else []
        if unknown:
            parts.append(f"{many(len(unknown), 'answer', 'belong')} to no call of this study")
    store.set_state(info.run, "paused" if left > 0 else "finished", "; ".join(parts))
    return info.run


def _judgments(prepared: Plan, frame: pd.DataFrame, name: str) -> dict[str, Callable[[Call], Judgment]]:
    """For each call key, what makes its judgment out of the archived rows."""
    items = len(prepared.study.dataset)
    if not frame["item"].between(0, items - 1).all():
        raise ArchiveError(tr("A judgment names an item beyond the study's {items:,}.", items=items))
    if frame["latency"].isna().any():  # only imported judgments come without one
        raise ArchiveError(tr("{name}: a judgment has no number for its latency.", name=name))
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in frame.to_dict("records"):
        rows.setdefault(str(row["key"]), []).append({str(k): v for k, v in row.items()})
    _refuse_strangers(prepared, rows, name)

    def maker(mine: list[Mapping[str, Any]]) -> Callable[[Call], Judgment]:
        return lambda call: Judgment(call, _reply(mine[0]), tuple(_outcome(row, call) for row in mine))

    return {key: maker(mine) for key, mine in rows.items()}


def _refuse_strangers(prepared: Plan, rows: Mapping[str, list[Mapping[str, Any]]], name: str) -> None:
    """Raises ArchiveError for rows that cannot be of their call, before any of them is kept."""
    for call in prepared.calls():
        mine = rows.get(call.key, ())
        if len({row["item"] for row in mine}) < len(mine):
            raise ArchiveError(tr("{name} has an item of the call {key} twice.", name=name, key=call.key[:16]))
        for row in mine:
            if row["item"] not in call.items or row["position"] > len(call.ordering.shown):
                raise ArchiveError(
                    tr(
                        "{name}: item {item} at position {position} is not of the call {key}, which shows {shown}.",
                        name=name,
                        item=row["item"],
                        position=row["position"],
                        key=call.key[:16],
                        shown=len(call.ordering.shown),
                    )
                )


def _reply(row: Mapping[str, Any]) -> Reply:
    reply = Reply(
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
        note=_text(row["note"]),
    )
    return storable_reply(reply)


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
