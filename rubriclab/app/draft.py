"""Hold what the steps of Set up say, and turn it into a study, its plan, and its file.

A draft may be incomplete: it is checked only when somebody asks for the study or the plan. Files
live in the visit's memory; the lab never opens a path that a study names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from pydantic import BaseModel

from rubriclab.app import state
from rubriclab.data.published import sources
from rubriclab.data.sample import sample_rubric
from rubriclab.data.tables import Table
from rubriclab.model.data import DataSet, Rubric
from rubriclab.model.study import DataPart, DesignPart, RubricPart, Study, validated
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
"""Up to this many calls are looked up in the earlier run, at 20 µs each; more would be slow."""


def changed(part: P, **values: Any) -> P:
    """Return the table with other values. Raises LabError."""
    return validated(type(part), dict(part) | values)


def written(rubric: Rubric) -> RubricPart:
    """Return a rubric as the study file holds it."""
    return RubricPart(**rubric.document())


class Uploads(Folder):
    """The files that were uploaded in this visit, by the names that the study gives them.

    Nothing else is opened: a study that somebody loads may name any path of this machine.
    ``version`` counts the uploads, so that whatever was made of earlier files is made again.
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
        """Return a data set as it was published. Only its button downloads anything."""
        about = sources()[str(part.published)]
        if not part.files and not all(file.here() for file in about.files):
            raise LabError(
                f"{about.title} is not on this machine yet. Download it or upload your copy in "
                "step 1."
            )
        return super().published(part)


def _uploaded(files: Mapping[str, T], name: str, where: str) -> T:
    if name not in files:
        raise LabError(f"The study names the file “{shorten(name)}”. Upload it in {where}.")
    return files[name]


@dataclass(frozen=True)
class Before:
    """A run that is repeated with changes: the store that holds it, its id, and its study."""

    store: Reader
    id: str
    study: Study


def with_wording(study: Study, before: Study) -> Study:
    """Return the study with its changed rubric as a second level of the factor wording.

    The first level is the rubric of ``before``, so both are asked about the same answers. The
    study is returned as it is if the rubric's words are the same, or if answers could not be
    compared: criteria or scores differ, or data sets have rubrics of their own.
    """
    old, new, design = before.rubric, study.rubric, study.design
    if old is None or new is None or any(part.rubric for part in study.data):
        return study
    if old.criteria == new.criteria:  # a new name alone changes no call
        return study.model_copy(update={"rubric": old})
    if _scales(old) != _scales(new) or not {*FACTORS["wording"]} & {*design.axes}:
        return study
    levels = design.vary.wording or (old.name or "before",)
    name = f"{shorten(new.name, 190)}, changed"
    while look_alike(name) in map(look_alike, levels):
        name = f"{name} again"
    vary = design.vary.model_copy(update={"wording": (*levels, name)})
    rubrics = study.rubrics | {levels[0]: old, name: new}
    design = design.model_copy(update={"vary": vary})
    return study.model_copy(update={"rubric": old, "rubrics": rubrics, "design": design})


def _scales(rubric: RubricPart) -> list[tuple[str, list[Any]]]:
    """Return the name and the scores of each criterion."""
    return [
        (criterion["name"], [option["score"] for option in criterion["options"]])
        for criterion in rubric.criteria
    ]


@dataclass
class Draft:
    """What the steps of Set up say so far.

    Loading, editing, and launching are one path: a part of the study that no step shows stays in
    it.

    study: what is filled in, unchecked; it may have no data yet. uploads: the files of this visit.
    unconfirmed: files whose columns the user has not confirmed. judged: a file of finished
    judgments, before it becomes a run. problems: by step, why the study cannot be launched.
    suggested: the name that the page suggested last. before: the run that is repeated with changes.
    keep_wording: whether changed words of the rubric are compared with that run's own words.
    run: the id of the run that brought the data along, whether repeated or imported; else empty.
    """

    study: Study = field(
        default_factory=lambda: Study.model_construct(
            name="",
            data=(),
            rubric=written(sample_rubric()),
            design=DesignPart(stop="known"),
        )
    )
    uploads: Uploads = field(default_factory=Uploads)
    unconfirmed: set[str] = field(default_factory=set)
    judged: Table | None = None
    problems: dict[int, str] = field(default_factory=dict)
    suggested: str = ""
    before: Before | None = None
    keep_wording: bool = True
    run: str = ""
    _known: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def change(self, **parts: Any) -> None:
        """Replace tables of the study."""
        self.study = self.study.model_copy(update=parts)

    def set_rubric(self, part: RubricPart | None) -> None:
        """Set the study's rubric; it is also the first wording, if wordings are compared."""
        first, rubrics = self.study.design.vary.wording[:1], self.study.rubrics
        if part is not None and first and first[0] in rubrics:
            rubrics = rubrics | {first[0]: part}
        self.change(rubric=part, rubrics=rubrics)

    def set_data(self, number: int, part: DataPart | None) -> None:
        """Replace the data set of this number, or add it after all others.

        None removes the data set, together with the uploads that only it names.
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
        """Return the study as a file could hold it. Raises LabError if a model refuses it."""
        if not self.study.data:
            raise LabError("Add your answers in step 1 first.")
        study = self.study
        if self.before is not None and self.keep_wording:
            study = with_wording(study, self.before.study)
        return changed(study, name=shorten(study.name, 200) or "Study")

    def rubric(self, number: int | None = 0) -> Rubric:
        """Return the rubric of a data set; the study's own for None or if there are no data.

        Raises LabError if its file was not uploaded.
        """
        study, code = self.study, number or 0
        if number is None or not study.data:
            study = study.model_copy(update={"data": (DataPart(sample=True),)})
        return self._read(
            f"rubric {number}", study.data[code], lambda: rubric_of_part(study, code, self.uploads)
        )

    def dataset(self, number: int = 0) -> DataSet:
        """Return the items of a data set.

        Raises LabError if its file was not uploaded or does not fit what the study says.
        """
        return self._items("data", number, self.study)

    def whole(self, number: int = 0) -> DataSet:
        """Return the items of a data set before any are drawn. Raises LabError like ``dataset``."""
        part = self.study.data[number]
        if part.take is None:
            return self.dataset(number)
        data = (
            *self.study.data[:number],
            changed(part, take=None),
            *self.study.data[number + 1 :],
        )
        return self._items("whole", number, self.study.model_copy(update={"data": data}))

    def _items(self, what: str, number: int, study: Study) -> DataSet:
        rubric = self.rubric(number)
        return self._read(
            f"{what} {number}",
            study.data[number],
            lambda: dataset_of(study, number, self.uploads, rubric),
        )

    def missing_rubrics(self) -> list[str]:
        """Return the rubric files that the study names and nobody has uploaded yet."""
        study = self.study
        parts = [study.rubric, *study.rubrics.values(), *(part.rubric for part in study.data)]
        names = [part.file for part in parts if part is not None]
        names += [name for name in study.design.vary.wording if name not in study.rubrics]
        return [name for name in dict.fromkeys(names) if name and name not in self.uploads.rubrics]

    def here(self, number: int) -> bool:
        """Return whether a data set can be loaded as the study says."""
        try:
            return bool(self.dataset(number).items)
        except LabError:
            return False

    def _read(self, what: str, part: DataPart, make: Callable[[], T]) -> T:
        """Return what ``make`` makes of a data set, once per state of it and of the rubrics."""
        tables, design = (
            self.study.model_dump_json(include={"rubric", "rubrics"}),
            self.study.design,
        )
        return self._made(
            what,
            f"{part.model_dump_json()} {tables} {design.axes} {design.vary.wording} "
            f"{self.study.prompt is None} {self.study.examples}",
            make,
        )

    def _made(self, what: str, key: str, make: Callable[[], T]) -> T:
        """Return what ``make`` makes, once for each state of the uploads and of ``key``.

        A page runs again after every click, and reading the files each time would take seconds.
        """
        key = f"{self.uploads.version} {key}"
        if self._known.get(what, ("", None))[0] != key:
            self._known[what] = key, make()
        made: T = self._known[what][1]
        return made

    def plan(self) -> tuple[Plan, Estimate]:
        """Return the calls of a launch, and what they cost and can detect. Raises LabError."""
        from rubriclab.runs.forecast import estimate
        from rubriclab.study.plan import plan

        study = self.checked()

        def make() -> Plan:
            numbers = range(len(study.data))
            first, *more = [
                (self.dataset(k), rubric_of_part(study, k, self.uploads)) for k in numbers
            ]
            return plan(study, *first, more, wordings_of(study, self.uploads))

        agreed = [judge.folder for judge in study.judges]  # own code that may run
        key = f"{study.model_dump_json()} {agreed}"
        planned = self._made("plan", key, make)
        paces = state.machine_paces(study.judges)
        estimated = self._made("estimate", f"{key} {paces}", lambda: estimate(planned, paces=paces))
        return planned, estimated

    def answered(self, plan: Plan) -> int | None:
        """Return how many calls of a plan have replies in the run that is repeated.

        None means that there are too many calls to look them up.
        """
        before = self.before
        if before is None:
            return 0
        if len(plan) > MOST_LOOKED_UP:
            return None

        def look() -> int:
            known = before.store.final_keys(before.id)
            return sum(call.key in known for call in plan.calls())

        return self._made("answered", f"{before.id} {plan.identity}", look)


def draft() -> Draft:
    """Return this visit's draft; a new one starts with the lab's own rubric and no data."""
    if "setup draft" not in st.session_state:
        st.session_state["setup draft"] = Draft()
    held: Draft = st.session_state["setup draft"]
    return held


def study_toml(study: Study) -> str:
    """Return the study as a file that ``read_study`` reads.

    It has what differs from the defaults, and always the name and the judges.
    """
    body = study.model_dump(mode="json", exclude_defaults=True, exclude={"name", "judges"})
    body["judges"] = [
        judge.model_dump(mode="json", exclude_defaults=True) for judge in study.judges
    ]
    for judge in body["judges"]:
        # TOML has no null, and here it does not mean the default.
        if judge.get("temperature", 0.0) is None:
            judge["temperature"] = "server"
    repeats_on = body.get("design", {}).get("repeats_on")
    if repeats_on is not None and repeats_on >= 1:
        body["design"]["repeats_on"] = int(repeats_on)  # a number of prompts, not a share
    text = f"name = {_value(study.name)}\n"
    for key, value in body.items():
        if isinstance(value, list):
            heading, parts = f"[[{key}]]", value
        else:
            heading, parts = f"[{key}]", [value]
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
    """Return one TOML value: tables inline, arrays of tables with one per line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(_lines(value)) + " }"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"  {_value(part)},\n" for part in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    # TOML has JSON's escapes, and demands one more.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
