"""What the steps of Set up say and the files uploaded in this visit in; a study, its plan and its
file out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from pydantic import BaseModel

from rubriclab.data.published import sources
from rubriclab.data.sample import sample_rubric
from rubriclab.data.tables import Table
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.study import DataPart, RubricPart, Study, validated
from rubriclab.model.text import LabError, look_alike, shorten
from rubriclab.runs.loading import Folder, dataset_of, rubric_of_part, wordings_of
from rubriclab.study.options import FACTORS

if TYPE_CHECKING:
    from rubriclab.runs.forecast import Estimate
    from rubriclab.store.read import Reader
    from rubriclab.study.plan import Plan

P = TypeVar("P", bound=BaseModel)
T = TypeVar("T")
MOST_LOOKED_UP = 50_000
"""Calls of a plan that are looked up one by one in the run before, some 20 µs each."""


def changed(part: P, **values: Any) -> P:
    """The table with other values. Raises LabError."""
    return validated(type(part), dict(part) | values)


def written(rubric: Rubric) -> RubricPart:
    """A rubric as the study file holds it."""
    return RubricPart(**rubric.document())


class Uploads(Folder):
    """The files that were uploaded in this visit, by the names that the study gives them.

    Nothing else is read: a study that somebody loads may name any path of this machine. ``version``
    counts the uploads: what was made of the files before is made again.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[str, Table] = {}
        self.rubrics: dict[str, Rubric] = {}
        self.version = 0

    def table(self, name: str) -> Table:
        return _uploaded(self.tables, name, "step 1")

    def rubric(self, name: str) -> Rubric:
        return _uploaded(self.rubrics, name, "step 2")

    def published(self, part: DataPart) -> tuple[DataSet, Rubric]:
        """As they were published; nothing is fetched but by its button."""
        about = sources()[str(part.published)]
        if not part.files and not all(file.here() for file in about.files):
            raise LabError(
                f"{about.title} is not on this machine yet: fetch it, or upload your copy, in step "
                f"1."
            )
        return super().published(part)


def _uploaded(files: Mapping[str, T], name: str, where: str) -> T:
    if name not in files:
        raise LabError(
            f"The study names “{shorten(name)}”, which is on your machine: upload it in {where}."
        )
    return files[name]


@dataclass(frozen=True)
class Before:
    """A run that is asked again with changes: where it is kept, and its study."""

    store: Reader
    id: str
    study: Study


def with_wording(study: Study, before: Study) -> Study:
    """The study whose changed rubric is one more level of the factor wording; the first is that of
    ``before``.

    As it is where the rubric has the same words; where its criteria or scores are others, or data
    sets have rubrics of their own, the two cannot be held against each other answer by answer.
    """
    old, new, design = before.rubric, study.rubric, study.design
    if old is None or new is None or any(part.rubric for part in study.data):
        return study
    if old.criteria == new.criteria:  # another name alone changes no call
        return study.model_copy(update={"rubric": old})
    shapes = [
        [(c["name"], [o["score"] for o in c["options"]]) for c in part.criteria]
        for part in (old, new)
    ]
    if shapes[0] != shapes[1] or not {*FACTORS["wording"]} & {*design.axes}:
        return study
    levels, name = (
        design.vary.wording or (old.name or "before",),
        f"{shorten(new.name, 190)}, changed",
    )
    while look_alike(name) in map(look_alike, levels):
        name = f"{name} again"
    vary = design.vary.model_copy(update={"wording": (*levels, name)})
    rubrics = study.rubrics | {levels[0]: old, name: new}
    design = design.model_copy(update={"vary": vary})
    return study.model_copy(update={"rubric": old, "rubrics": rubrics, "design": design})


@dataclass
class Draft:
    """``study``: what the steps filled in so far, unchecked, its data perhaps none. Loading,
    editing and launching are one path: what no step shows stays in it.

    ``unconfirmed``: files whose columns the user has not confirmed; ``judged``: a file of finished
    judgments, before it is a run; ``problems``: by step, why the study cannot be launched as it
    stands; ``suggested``: a name for it; ``before``: the run that is asked again; ``beside``: a
    rubric whose words are changed since stands beside the run's own.
    """

    study: Study = field(
        default_factory=lambda: Study.model_construct(
            name="", data=(), rubric=written(sample_rubric())
        )
    )
    uploads: Uploads = field(default_factory=Uploads)
    unconfirmed: set[str] = field(default_factory=set)
    judged: Table | None = None
    problems: dict[int, str] = field(default_factory=dict)
    suggested: str = ""
    before: Before | None = None
    beside: bool = True
    _known: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def change(self, **parts: Any) -> None:
        """Put tables of the study in place of what they were."""
        self.study = self.study.model_copy(update=parts)

    def set_rubric(self, part: RubricPart | None) -> None:
        """The study's rubric, also where it is the first wording."""
        first, rubrics = self.study.design.vary.wording[:1], self.study.rubrics
        if part is not None and first and first[0] in rubrics:
            rubrics = rubrics | {first[0]: part}
        self.change(rubric=part, rubrics=rubrics)

    def set_data(self, number: int, part: DataPart | None) -> None:
        """Put a data set in place of the one of that number, or behind all; None removes it, and
        what it alone names.
        """
        data = self.study.data
        self.change(data=(*data[:number], *([part] if part else ()), *data[number + 1 :]))
        named = {name for kept in self.study.data for name in (kept.file, *kept.files)}
        self.unconfirmed &= named
        self.uploads.tables = {
            name: table for name, table in self.uploads.tables.items() if name in named
        }
        if part is None:
            self._known.clear()

    def checked(self) -> Study:
        """The study as a file could hold it. Raises LabError in words for what its models
        refuse.
        """
        if not self.study.data:
            raise LabError("First add your answers in step 1.")
        study = self.study
        if self.before is not None and self.beside:
            study = with_wording(study, self.before.study)
        return changed(study, name=shorten(study.name, 200) or "Study")

    def rubric(self, number: int | None = 0) -> Rubric:
        """The rubric of a data set; of None, and before there are data, the study's. Raises
        LabError without its file.
        """
        study, code = self.study, number or 0
        if number is None or not study.data:
            study = study.model_copy(update={"data": (DataPart(sample=True),)})
        return self._read(
            f"rubric {number}", study.data[code], lambda: rubric_of_part(study, code, self.uploads)
        )

    def dataset(self, number: int = 0) -> DataSet:
        """The items of a data set. Raises LabError where its file is not here or not as the study
        says.
        """
        study, rubric = self.study, self.rubric(number)
        return self._read(
            f"data {number}",
            study.data[number],
            lambda: dataset_of(study, number, self.uploads, rubric),
        )

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

    def _read(self, what: str, part: DataPart, make: Callable[[], T]) -> T:
        tables, design = (
            self.study.model_dump_json(include={"rubric", "rubrics"}),
            self.study.design,
        )
        return self._made(
            what,
            f"{part.model_dump_json()} {tables} {design.axes} {design.vary.wording} "
            f"{self.study.prompt is None}",
            make,
        )

    def _made(self, what: str, key: str, make: Callable[[], T]) -> T:
        """What is made of the uploads and of what ``key`` says, once for each state of both."""
        key = f"{self.uploads.version} {key}"
        if self._known.get(what, ("", None))[0] != key:
            self._known[what] = key, make()
        made: T = self._known[what][1]
        return made

    def plan(self) -> tuple[Plan, Estimate]:
        """The calls that a launch would make, what they take and can find. Raises LabError."""
        from rubriclab.runs.forecast import estimate
        from rubriclab.study.plan import plan

        study = self.checked()

        def make() -> tuple[Plan, Estimate]:
            numbers = range(len(study.data))
            first, *more = [
                (self.dataset(k), rubric_of_part(study, k, self.uploads)) for k in numbers
            ]
            planned = plan(study, *first, more, wordings_of(study, self.uploads))
            return planned, estimate(planned)

        agreed = [judge.folder for judge in study.judges]  # own code that may run
        return self._made("plan", f"{study.model_dump_json()} {agreed}", make)

    def answered(self, plan: Plan) -> int | None:
        """How many calls of a plan the run that is asked again has answers to; None where they are
        too many to look.
        """
        before = self.before
        if before is None or len(plan) > MOST_LOOKED_UP:
            return None if before else 0

        def look() -> int:
            known = before.store.final_keys(before.id)
            return sum(call.key in known for call in plan.calls())

        return self._made("answered", f"{before.id} {plan.identity}", look)


def draft() -> Draft:
    if "setup draft" not in st.session_state:
        st.session_state["setup draft"] = Draft()
    held: Draft = st.session_state["setup draft"]
    return held


def study_toml(study: Study) -> str:
    """The study as the file that ``read_study`` reads: what differs from the defaults, with rubric
    and judges.
    """
    body = study.model_dump(mode="json", exclude_defaults=True, exclude={"name", "judges"})
    body["judges"] = [
        judge.model_dump(mode="json", exclude_defaults=True) for judge in study.judges
    ]
    for judge in body["judges"]:
        if judge.get("temperature", 0.0) is None:
            judge["temperature"] = "server"
    text = f"name = {_value(study.name)}\n"
    for key, value in body.items():
        heading, parts = (f"[[{key}]]", value) if isinstance(value, list) else (f"[{key}]", [value])
        for part in parts:
            text += "\n".join(["", heading, *_lines(part), ""])
    return text


def _lines(table: Mapping[str, Any]) -> list[str]:
    plain = re.compile(r"[A-Za-z0-9_-]+")
    return [
        f"{name if plain.fullmatch(name) else _value(name)} = {_value(value)}"
        for name, value in table.items()
        if value is not None
    ]


def _value(value: Any) -> str:
    """One TOML value: tables inline, arrays of tables one a line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(_lines(value)) + " }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"  {_value(part)},\n" for part in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )  # JSON's escapes are TOML's, but for this
