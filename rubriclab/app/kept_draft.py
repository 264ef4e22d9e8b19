"""Keep what Set up holds for a browser tab, for a day, so that a reload loses nothing but keys.

A draft is kept after each change: the study as it was filled in, the uploaded tables, and the texts
that were typed but not used yet. On a lab of one's own it is a folder of files beside the store
that only its owner can read. On a lab that others use, it stays in the server's memory. Keys are
never part of it: a study holds only the names of their variables.

Whoever can write into the folder can change its files, so nothing in them is trusted. Names are
never paths, sizes are bounded, and a draft that cannot be read is refused in words.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import pyarrow as pa
import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rubriclab.app import state
from rubriclab.app.browser_tab import ID
from rubriclab.app.draft import Draft
from rubriclab.data.rubrics import rubric_of
from rubriclab.data.tables import Table
from rubriclab.judges.served import served
from rubriclab.model.study import Study, validated
from rubriclab.model.text import LabError, without_invisible

KEPT_SECONDS = 24 * 3_600
"""A draft is gone so long after its last change."""
MOST_TEXT = 5_000_000
"""Bytes of the study and its texts. The largest study file has a fifth of that."""
MOST_TABLES = 200_000_000
"""Bytes of a draft's tables: an upload of the largest size, and some more."""
TYPED = ("rubric-pasted", "own-text", "own-reply")
"""Fields whose text is kept as it was typed, before it is used."""
FORM = 1
"""The version of the file. Others are refused: a lab may have been updated since."""

Count = Annotated[int, Field(ge=0, lt=1_000)]
Name = Annotated[str, Field(max_length=1_000)]


class KeptTable(BaseModel):
    """What a table has besides its cells. ``name``: the study's name for it; ``file``: a number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Name
    file: Count
    title: Name
    note: Annotated[str, Field(max_length=10_000)] = ""
    separator: Annotated[str, Field(max_length=10)] | None = None
    first_line: int | None = None
    answers: Annotated[int, Field(ge=1)] = 1
    structured: list[Name] = Field(default_factory=list)
    people: list[tuple[str, str]] | None = None


class KeptText(BaseModel):
    """A draft without its tables.

    saved: when, in seconds since 1970. opened: the open step. run: the run that is repeated, or
    whose prompts are reordered; empty for none. judged: the number of the file with finished
    judgments.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    form: int
    saved: float
    opened: Count
    study: dict[str, Any]
    tables: list[KeptTable]
    rubrics: dict[str, dict[str, Any]]
    unconfirmed: list[Name]
    suggested: Name
    run: Annotated[str, Field(max_length=200)]
    keep_wording: bool
    typed: dict[str, Annotated[str, Field(max_length=1_000_000)]]


@dataclass
class Kept:
    """A draft as it is kept: the text of its file, and its tables by number."""

    text: str
    tables: dict[int, pa.Table] = field(default_factory=dict)


# ---------------------------------------------------------------- from a draft and back


def text_of(held: Draft, *, opened: int, typed: Mapping[str, str], files: Numbers) -> KeptText:
    """Return a draft as its file holds it. Its tables get their numbers from ``files``."""
    uploads = held.uploads
    return KeptText(
        form=FORM,
        saved=0.0,
        opened=opened,
        study=held.study.model_dump(mode="json"),
        tables=[
            _kept_table(name, files.of(table), table) for name, table in uploads.tables.items()
        ],
        rubrics={name: rubric.document() for name, rubric in uploads.rubrics.items()},
        unconfirmed=sorted(held.unconfirmed),
        suggested=held.suggested,
        run=held.run,
        keep_wording=held.keep_wording,
        typed=dict(typed),
    )


class Numbers:
    """Number tables, so that each is written once, however often the draft changes."""

    def __init__(self) -> None:
        self.tables: dict[int, Table] = {}

    def of(self, table: Table) -> int:
        for number, known in self.tables.items():
            if known is table:
                return number
        number = max(self.tables, default=-1) + 1
        self.tables[number] = table
        return number

    def keep_only(self, numbers: set[int]) -> None:
        """Let go of the tables of uploads that were replaced."""
        self.tables = {number: table for number, table in self.tables.items() if number in numbers}


def _kept_table(name: str, number: int, table: Table) -> KeptTable:
    return KeptTable(
        name=name,
        file=number,
        title=table.name[:1_000],
        note=table.note,
        separator=table.separator,
        first_line=table.first_line,
        answers=table.answers,
        structured=list(table.structured),
        people=list(table.people) if table.people is not None else None,
    )


def read_text(text: str) -> KeptText:
    """Return what a draft's file says. Raises LabError for a broken one."""
    try:
        kept = KeptText.model_validate_json(text)
    except ValidationError:
        raise LabError(_broken("its file is damaged")) from None
    if kept.form != FORM:
        raise LabError(_broken("another version of the lab wrote it"))
    return kept


def _broken(why: str) -> str:
    return f"Your earlier set-up could not be restored: {why}. It was removed. Start again below."


def draft_of(kept: KeptText, tables: Mapping[int, pa.Table], held: Draft) -> Draft:
    """Return the draft that was kept.

    ``held``: a draft with what the kept one's earlier run brings along; else an empty one. Raises
    LabError for what no study can hold.
    """
    body = dict(kept.study)
    no_data, no_name = not body.get("data"), not body.get("name")
    if no_data:  # a study needs data, but a draft may have none yet
        body["data"] = [{"sample": True}]
    if no_name:
        body["name"] = "Study"
    study = validated(Study, body, _broken("its study is not valid. "))
    if no_data:
        study = study.model_copy(update={"data": ()})
    if no_name:
        study = study.model_copy(update={"name": ""})
    held.study = study
    for about in kept.tables:
        if about.file in tables:
            held.uploads.tables[without_invisible(about.name)] = _table(about, tables[about.file])
    for name, document in kept.rubrics.items():
        held.uploads.rubrics[without_invisible(name)] = rubric_of(document)
    held.uploads.version += 1
    named = {name for part in study.data for name in (part.file, *part.files)}
    held.unconfirmed = named & set(kept.unconfirmed)
    held.suggested, held.keep_wording = kept.suggested, kept.keep_wording
    return held


def _table(about: KeptTable, cells: pa.Table) -> Table:
    return Table(
        name=about.title,
        data=cells,
        note=about.note,
        separator=about.separator,
        first_line=about.first_line,
        answers=about.answers,
        structured=tuple(about.structured),
        people=tuple(about.people) if about.people is not None else None,
    )


# ---------------------------------------------------------------- where drafts are kept


def folder() -> Path:
    """Return the folder of all drafts, beside the store."""
    return state.store_path().with_name("drafts")


@st.cache_resource(show_spinner=False)
def _in_memory() -> dict[str, tuple[float, Kept]]:
    """Return the drafts of a served lab by tab, with the times of their last change."""
    return {}


def keep(id: str, kept: Kept) -> None:
    """Keep a tab's draft instead of its earlier one.

    Raises LabError if its tables are too large or the disk does not take them; nothing of it is
    kept then.
    """
    _require_id(id)
    if sum(table.nbytes for table in kept.tables.values()) > MOST_TABLES:
        forget_draft(id)
        raise LabError(
            "Your files are too large to be kept for this tab, so a reload loses them. Everything "
            "works until then."
        )
    if served():
        _in_memory()[id] = time.time(), kept
        return
    try:
        _write(folder() / id, kept)
    except OSError as fault:
        raise LabError(
            f"Your set-up cannot be kept for this tab ({fault.strerror}), so a reload loses it. "
            "Everything works until then."
        ) from None


def _write(place: Path, kept: Kept) -> None:
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.mkdir(mode=0o700, exist_ok=True)
    wanted = {f"{number}.arrow" for number in kept.tables}
    for number, table in kept.tables.items():
        path = place / f"{number}.arrow"
        if not path.exists():
            with (
                _private(path.with_suffix(".part")) as file,
                pa.ipc.new_file(
                    file, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=True)
                ) as writer,
            ):
                writer.write_table(table)
            path.with_suffix(".part").replace(path)
    part = place / "draft.part"
    with _private(part) as file:
        file.write(kept.text.encode())
    part.replace(place / "draft.json")
    for path in place.glob("*.arrow"):
        if path.name not in wanted:
            path.unlink(missing_ok=True)


def _private(path: Path) -> BinaryIO:
    """Open a new file that only its owner can read."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def kept_of(id: str) -> Kept | None:
    """Return the draft of a tab, or None if there is none or it is older than a day.

    Raises LabError for a broken one, which is removed.
    """
    _require_id(id)
    _remove_old()
    if served():
        known = _in_memory().get(id)
        return known[1] if known else None
    place = folder() / id
    path = place / "draft.json"
    if not path.is_file():
        return None
    try:
        if path.stat().st_size > MOST_TEXT:
            raise LabError(_broken("its file is larger than the lab writes it"))
        text = path.read_text("utf-8")
        numbers = {table.file for table in read_text(text).tables}
        sizes = [(place / f"{number}.arrow").stat().st_size for number in numbers]
        # Buffers are padded on the disk, by less than this.
        if sum(sizes) > 2 * MOST_TABLES:
            raise LabError(_broken("its files are larger than the lab writes them"))
        return Kept(text, {number: _read_cells(place / f"{number}.arrow") for number in numbers})
    except LabError:  # first, because it is a ValueError too
        forget_draft(id)
        raise
    except (OSError, ValueError, pa.ArrowException):  # ValueError: not UTF-8
        forget_draft(id)
        raise LabError(_broken("one of its files is damaged or missing")) from None


def _read_cells(path: Path) -> pa.Table:
    """Return a kept table. Raises ArrowInvalid if its cells are not all texts."""
    with pa.ipc.open_file(path.read_bytes()) as reader:
        table = reader.read_all()
    table.validate(full=True)
    for column in table.schema:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise pa.ArrowInvalid("a column that does not hold texts")
    return table


def forget_draft(id: str) -> None:
    """Remove a tab's draft."""
    _require_id(id)
    _in_memory().pop(id, None)
    if not served():
        shutil.rmtree(folder() / id, ignore_errors=True)


def copy_draft(id: str, new: str) -> None:
    """Give the draft of one tab to another one, which was duplicated from it."""
    kept = kept_of(id)
    if kept is not None:
        keep(new, kept)


def _remove_old() -> None:
    """Remove the drafts of this place that nobody changed for a day."""
    oldest = time.time() - KEPT_SECONDS
    drafts = _in_memory()
    for id in [id for id, (saved, _) in drafts.items() if saved < oldest]:
        del drafts[id]
    if served():
        return
    for place in _places():
        with suppress(OSError):
            path = place / "draft.json"
            changed = (path if path.exists() else place).stat().st_mtime
            if changed < oldest:
                shutil.rmtree(place, ignore_errors=True)


def _places() -> Iterator[Path]:
    with suppress(OSError):
        yield from [place for place in folder().iterdir() if ID.fullmatch(place.name)]


def _require_id(id: str) -> None:
    """Raise LabError for what is not a tab's id. It becomes the name of a folder."""
    if not ID.fullmatch(id):
        raise LabError("This tab has no valid id, so nothing is kept for it.")
