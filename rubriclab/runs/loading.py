"""A study file in, its plan out: data and rubric are read from beside the file (or are the lab's own sample, or published data)."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from rubriclab.data.items import guess_columns, items_of
from rubriclab.data.published import published
from rubriclab.data.rubrics import read_rubric, rubric_of
from rubriclab.data.sample import presets, sample, sample_rubric
from rubriclab.data.tables import Table, as_list, read_table
from rubriclab.judges.kinds import Functions
from rubriclab.judges.python import function_settings, with_code
from rubriclab.judges.simulated import read_effects
from rubriclab.model.data import Criterion, DataSet, Option, Rubric
from rubriclab.model.study import DataPart, RubricPart, Study, read_study
from rubriclab.model.text import LabError, shorten
from rubriclab.study.plan import Plan, plan

SEVERAL = {"responses", "pairs", "lists"}
"""Axes that want several answers to a prompt: of the lab's own, its drafts."""
Sources = list[tuple[DataSet, Rubric]]


class Folder:
    """The files that a study names, where they lie beside it. Set up's are those that were uploaded.

    ``version`` changes with what the files hold.
    """

    version = 0

    def __init__(self, path: Path = Path()) -> None:
        self.path = path
        self._last: tuple[object, tuple[DataSet, Rubric]] | None = None

    def table(self, name: str) -> Table:
        path = self.path / name
        return read_table(path, path.name)

    def kept(self, part: DataPart) -> DataSet | None:
        """The items of a data set that need no file: those of a run that is asked again."""
        return None

    def rubric(self, name: str) -> Rubric:
        path = self.path / name
        return read_rubric(path, path.name)

    def published(self, part: DataPart) -> tuple[DataSet, Rubric]:
        """The items and the rubric of ``published``, read once for both.

        ``columns = { human = ... }`` takes another model's scores as ratings.
        """
        gold = tuple(as_list(part.columns.get("human")))
        key = (part.published, part.files, gold, self.version)
        if self._last is None or self._last[0] != key:
            self._last = key, published(str(part.published), tuple(map(self.table, part.files)), gold)
        return self._last[1]


def plan_of_file(path: str | Path, **options: Any) -> Plan:
    """The plan of a study file, of a preset or of the lab's own sample: see ``read_sources``, which takes the options."""
    study, (first, *more), folder = read_sources(path, **options)
    return plan(study, *first, more, wordings_of(study, Folder(folder)))


def read_sources(
    path: str | Path,
    *,
    items: int | None = None,
    drop: tuple[str, ...] = (),
    trust: bool = False,
    functions: Functions | None = None,
) -> tuple[Study, Sources, Path]:
    """(study, each data set with its rubric, folder) of a study file, of a preset by its name, or of ``demo``.

    ``items``: only the first so many items; ``drop``: judges that are left out; ``trust``: own code may run that a study
    names by its hash; ``functions``: a notebook's, each in place of the judge of its name, or one more judge. Raises
    LabError for whatever the file, its data or its rubric cannot be.
    """
    if str(path) == "demo":
        # The sample's answers judged by the small embedded model, options in every balanced order.
        name = "Sample" if items is None else f"Sample, {items} answers"
        study, folder = Study(name=name, data=(DataPart(sample=True),)), Path.cwd()
    else:
        path = presets().get(str(path), Path(path))
        study, folder = read_study(path), path.parent
    unknown = set(drop) - {judge.name for judge in study.judges}
    if unknown:
        known = ", ".join(judge.name for judge in study.judges)
        raise LabError(f"--drop {sorted(unknown)[0]}: the study has no such judge; it has {known}.")
    judges = tuple(judge for judge in study.judges if judge.name not in drop)
    if not judges:
        raise LabError("--drop leaves no judge: keep at least one.")
    for judge in judges:
        if judge.simulated:
            read_effects(judge)
    own = {name: function_settings(name, function) for name, function in (functions or {}).items()}
    if own and "judges" not in study.model_fields_set:
        judges = ()  # the default one was never asked for
    named = [with_code(j, folder, trust=trust) if j.kind == "python" and j.name not in own else j for j in judges]
    judges = tuple(own.pop(judge.name, judge) for judge in named) + tuple(own.values())
    study = study.model_copy(update={"judges": judges})
    files, sources = Folder(folder), []
    for number in range(len(study.data)):
        rubric = rubric_of_part(study, number, files)
        dataset = dataset_of(study, number, files, rubric)
        if items is not None:
            dataset = replace(dataset, items=dataset.items[: max(items, 1)])
        sources.append((dataset, rubric))
    return study, sources, folder


def dataset_of(study: Study, number: int, files: Folder, rubric: Rubric) -> DataSet:
    """The items of ``[[data]]``: its file's columns guessed where the part does not name them, at most ``take`` of them."""
    part = study.data[number]
    if (kept := files.kept(part)) is not None:
        dataset = kept
    elif part.sample:
        dataset = sample(drafts=not SEVERAL.isdisjoint(study.design.axes))
    elif part.published:
        dataset = files.published(part)[0]
        known = [item for item in dataset.items if item.criterion in (None, *(c.name for c in rubric.criteria))]
        dataset = replace(dataset, items=tuple(known) or dataset.items)
    else:
        table = files.table(part.file)
        dataset = items_of(table, guess_columns(table, rubric).columns | part.columns, name=PurePath(part.file).stem)
    if part.name:
        dataset = replace(dataset, name=part.name)
    if part.candidates:
        chosen = tuple(item for item in dataset.items if item.candidate in part.candidates)
        missing = {*part.candidates} - {item.candidate for item in chosen}
        if missing:
            raise LabError(f"“{dataset.name}” has no candidate “{shorten(sorted(missing)[0])}”. Check the spelling.")
        dataset = replace(dataset, items=chosen)
    return dataset if part.take is None else drawn_items(dataset, part.take, part.seed)


def drawn_items(dataset: DataSet, take: int, seed: int) -> DataSet:
    """At most ``take`` items, drawn by the seed; those of one prompt stay together, in the data's own order."""
    groups: dict[str, list[int]] = {}
    for code, item in enumerate(dataset.items):
        groups.setdefault(item.prompt or item.block or f"item {item.item_id}", []).append(code)
    kept: list[int] = []
    for name in random.Random(seed).sample(sorted(groups), len(groups)):
        if len(kept) + len(groups[name]) <= take or not kept:
            kept += groups[name]
    return replace(dataset, items=tuple(dataset.items[code] for code in sorted(kept[:take])))


def rubric_of_part(study: Study, number: int, files: Folder) -> Rubric:
    """The rubric of a data set of the study: its own, else the first wording, else that of ``[rubric]``.

    Where the study names none: the lab's own for the sample, that of published data, none for a preference.
    """
    data, axes = study.data[number], study.design.axes
    part = data.rubric or study.rubric
    if study.design.vary.wording and data.rubric is None:
        name = study.design.vary.wording[0]
        if part is not None and part.file and part.file != name:
            raise LabError(
                f"[design.vary] wording begins with “{shorten(name)}”, but [rubric] file is “{shorten(part.file)}”. The "
                "first wording is the study's own: name it first, or leave [rubric] out."
            )
        return wordings_of(study, files)[name]
    if part is None and data.published:
        return files.published(data)[1]
    if part is None:
        if {*axes} <= {"pairs", "lists"}:
            return Rubric("Preference", (Criterion("Preference", (Option(1), Option(2))),))
        if not data.sample:
            raise LabError('The study has no [rubric]; give one, as file = "rubric.yaml".')
        return sample_rubric("writing" if "criteria" in axes else "helpfulness")
    return _written(part, study.name, files)


def wordings_of(study: Study, files: Folder) -> dict[str, Rubric]:
    """The rubrics that the factor ``wording`` names: those under ``[rubrics]``, else files."""
    named = {name: study.rubrics.get(name) or RubricPart(file=name) for name in study.design.vary.wording}
    return {name: _written(part, name, files) for name, part in named.items()}


def _written(part: RubricPart, name: str, files: Folder) -> Rubric:
    if part.file:
        return files.rubric(part.file)
    return rubric_of({"name": part.name or name, "criteria": part.criteria})
