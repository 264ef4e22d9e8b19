"""The study that is being set up in this visit: the study file's own tables, and the uploads that they name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from pydantic import BaseModel, ValidationError

from rubriclab.data.published import sources
from rubriclab.data.sample import sample_rubric
from rubriclab.data.tables import Table
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.study import DataPart, RubricPart, Study, problems
from rubriclab.model.text import LabError, shorten
from rubriclab.runs.loading import SEVERAL, Folder, dataset_of, rubric_of_part, wordings_of

if TYPE_CHECKING:
    from rubriclab.runs.estimate import Estimate
    from rubriclab.study.plan import Plan

P = TypeVar("P", bound=BaseModel)
Uploaded = TypeVar("Uploaded")


def made(model: type[P], values: Mapping[str, Any]) -> P:
    """A table of the study. Raises LabError in words for what its model refuses."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as fault:
        raise LabError(problems(fault)) from None


def changed(part: P, **values: Any) -> P:
    """The table with other values. Raises LabError."""
    return made(type(part), dict(part) | values)


def written(rubric: Rubric) -> RubricPart:
    """A rubric as the study file holds it."""
    return RubricPart(name=shorten(rubric.name, 200), criteria=rubric.criteria_document())


class Uploads(Folder):
    """The files that were uploaded in this visit, by the names that the study gives them.

    Nothing else is read: a study that somebody loads may name any path of this machine. ``version`` counts the uploads:
    what was made of the files before is made again.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.rubrics: dict[str, Rubric] = {}
        self.version = 0

    def table(self, name: str) -> Table:
        return _uploaded(self.tables, name, "step 1")

    def rubric(self, name: str) -> Rubric:
        return _uploaded(self.rubrics, name, "step 2")


def _uploaded(files: Mapping[str, Uploaded], name: str, where: str) -> Uploaded:
    if name not in files:
        raise LabError(f"The study names “{shorten(name)}”, which is on your machine: upload it in {where}.")
    return files[name]


@dataclass
class Draft:
    """``study``: what the steps filled in so far, unchecked, its data perhaps none. Loading, editing and launching are
    one path: what no step shows stays in it.

    ``unconfirmed``: numbers of data sets whose columns the user has not confirmed; ``problems``: by step, why the study
    cannot be launched as it stands.
    """

    study: Study = field(
        default_factory=lambda: Study.model_construct(name="", data=(), rubric=written(sample_rubric()))
    )
    uploads: Uploads = field(default_factory=Uploads)
    unconfirmed: set[int] = field(default_factory=set)
    problems: dict[int, str] = field(default_factory=dict)
    _read: dict[str, tuple[str, Any]] = field(default_factory=dict)
    _planned: tuple[str, Plan, Estimate] | None = None

    def change(self, **parts: Any) -> None:
        """Put tables of the study in place of what they were."""
        self.study = self.study.model_copy(update=parts)

    def set_rubric(self, part: RubricPart | None) -> None:
        """The study's rubric, also where it is the first wording."""
        first, rubrics = self.study.design.vary.wording[:1], self.study.rubrics
        if part is not None and first and first[0] in rubrics:
            rubrics = rubrics | {first[0]: part}
        self.change(rubric=part, rubrics=rubrics)

    def set_data(self, number: int, part: DataPart, *, confirmed: bool) -> None:
        """Put a data set in place of the one of that number, or behind all."""
        self.change(data=(*self.study.data[:number], part, *self.study.data[number + 1 :]))
        (self.unconfirmed.discard if confirmed else self.unconfirmed.add)(number)

    def remove_data(self, number: int) -> None:
        self.change(data=self.study.data[:number] + self.study.data[number + 1 :])
        self.unconfirmed = {k - (k > number) for k in self.unconfirmed if k != number}
        named = {name for part in self.study.data for name in (part.file, *part.files)}
        self.uploads.tables = {name: table for name, table in self.uploads.tables.items() if name in named}
        self._read.clear()

    def checked(self) -> Study:
        """The study as a file could hold it. Raises LabError in words for what its models refuse."""
        if not self.study.data:
            raise LabError("First add your answers in step 1.")
        return changed(self.study, name=shorten(self.study.name, 200) or "Study")

    def rubric(self, number: int | None = 0) -> Rubric:
        """The rubric of a data set; of None, and before there are data, the study's. Raises LabError without its file."""
        study, code = self.study, number or 0
        if number is None or not study.data:
            study = study.model_copy(update={"data": (DataPart(sample=True),)})
        part = study.data[code]
        read: Rubric = self._made(f"rubric {number}", part, lambda: rubric_of_part(study, code, self.uploads))
        return read

    def dataset(self, number: int = 0) -> DataSet:
        """The items of a data set. Raises LabError where its file is not here or not as the study says."""
        part, rubric = self.study.data[number], self.rubric(number)
        drafts = not {*SEVERAL}.isdisjoint(self.study.design.axes)
        make = lambda: dataset_of(part, self.uploads, rubric, drafts=drafts)  # noqa: E731
        read: DataSet = self._made(f"data {number}", part, make, rubric.id)
        return read

    def missing_rubrics(self) -> list[str]:
        """Files of rubrics that the study names and that were not uploaded yet."""
        study = self.study
        parts = [study.rubric, *study.rubrics.values(), *(part.rubric for part in study.data)]
        names = [part.file for part in parts if part is not None]
        names += [name for name in study.design.vary.wording if name not in study.rubrics]
        return [name for name in dict.fromkeys(names) if name and name not in self.uploads.rubrics]

    def here(self, number: int) -> bool:
        """Whether a data set can be read as the study says."""
        try:
            return bool(self.dataset(number).items)
        except LabError:
            return False

    def _made(self, what: str, part: DataPart, make: Callable[[], Any], by: str = "") -> Any:
        """What is read of files, made once for each state of what decides it. Nothing is fetched but by its button."""
        tables, design = self.study.model_dump_json(include={"rubric", "rubrics"}), self.study.design
        key = f"{by} {self.uploads.version} {part.model_dump_json()} {tables} {design.axes} {design.vary.wording}"
        if self._read.get(what, ("", None))[0] != key:
            about = sources()[part.published] if part.published and not part.files else None
            if about is not None and not all(file.here() for file in about.files):
                raise LabError(f"{about.title} is not on this machine yet: fetch it, or upload your copy, in step 1.")
            self._read[what] = key, make()
        return self._read[what][1]

    def plan(self) -> tuple[Plan, Estimate]:
        """The calls that a launch would make, what they take and can find; once for each state of the draft.

        Raises LabError.
        """
        from rubriclab.runs.estimate import estimate
        from rubriclab.study.plan import plan

        study = self.checked()
        key = f"{self.uploads.version} {study.model_dump_json()}"
        if self._planned is None or self._planned[0] != key:
            first, *more = [(self.dataset(number), self.rubric(number)) for number in range(len(study.data))]
            made = plan(study, *first, more, wordings_of(study, self.uploads))
            self._planned = key, made, estimate(made)
        return self._planned[1:]


def draft() -> Draft:
    """The draft of this visit."""
    if "setup draft" not in st.session_state:
        st.session_state["setup draft"] = Draft()
    held: Draft = st.session_state["setup draft"]
    return held


def study_toml(study: Study) -> str:
    """The study as the file that ``read_study`` reads: what differs from the defaults, with rubric and judges."""
    body = study.model_dump(mode="json", exclude_defaults=True)
    body["judges"] = [judge.model_dump(mode="json", exclude_defaults=True) for judge in study.judges]
    for judge in body["judges"]:
        if judge.get("temperature", 0.0) is None:
            judge["temperature"] = "server"
    head, tables = [], []
    for key, value in body.items():
        if isinstance(value, dict):
            tables.append(f"[{key}]\n" + _lines(value))
        elif isinstance(value, list):
            tables += [f"[[{key}]]\n" + _lines(part) for part in value]
        else:
            head.append(f"{key} = {_value(value)}\n")
    return "\n".join(["".join(head), *tables])


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in table.items() if value is not None)


def _value(value: Any) -> str:
    """One TOML value: tables inline, arrays of tables one a line."""
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_key(name)} = {_value(part)}" for name, part in value.items() if part is not None)
            + " }"
        )
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return "[\n" + "".join(f"  {_value(part)},\n" for part in value) + "]"
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):  # JSON's escapes are TOML's, but for the delete sign
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)
