"""Study files (TOML) and the plain form of a study that a run keeps.

Every key is checked: an unknown one is named with its place and the nearest known one. Keys
of servers are named by their environment variable and never written into a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from rubriclab.datasets.items import build_dataset
from rubriclab.datasets.limits import MAX_PLAIN_MB, read_file, reading
from rubriclab.datasets.mapping import guess_mapping, mapping_from_value
from rubriclab.datasets.plain import refuse_depth, toml_value
from rubriclab.datasets.recipes import load_recipe
from rubriclab.datasets.rubrics import read_rubric, rubric_from_value
from rubriclab.datasets.tables import read_table
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.code_entry import pinned
from rubriclab.model import DataError, Dataset, Design, Judge, Rubric, RubricError, Study, StudyError
from rubriclab.model.gate_limits import GateLimits, gate_limits
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.model.validation import Table, Text, validated
from rubriclab.study.prompts.files import load_template, prompts_from_value, template_from_value
from rubriclab.study.prompts.template import asked_columns
from rubriclab.study.tables import DataTable, design_from_value, judge_from_value, judges_from_value


class _File(Table):
    """A study file as a whole; its tables are read one by one."""

    name: Text = None
    data: Any = None
    rubric: Any = None
    design: Any = Field(default_factory=dict)
    judges: Any = None
    prompt: Any = None
    gate: Any = None

    @model_validator(mode="after")
    def _whole(self) -> _File:
        for part in ("data", "judges"):
            if getattr(self, part) is None:
                raise ValueError(tr("no [{part}]; a study needs [data] and [[judges]].", part=part))
        return self


class _RubricFile(Table):
    """[rubric] of a file: which, and which of its criteria."""

    file: str
    criteria: tuple[str, ...] | None = None


def load_study(path: Path) -> Study:
    """The study in a TOML file; files it names are relative to it.

    Raises StudyError, DataError or RubricError naming the file, the table and the key.
    """
    with reading(path.name, tr("cannot be read as a study"), StudyError):
        return _study(_toml(path), path)


def load_gate(path: Path) -> GateLimits:
    """The limits in a study file's [gate] table; none without one. Raises StudyError as ``load_study``."""
    with reading(path.name, tr("cannot be read as a study"), StudyError):
        value = _toml(path)
        return gate_limits(value.get("gate", {}), f"{path.name}, [gate]")


def _toml(path: Path) -> Mapping[str, Any]:
    content = read_file(path, limit_mb=MAX_PLAIN_MB, error=StudyError)
    try:
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError(
            tr("{name}: byte {place} is not UTF-8; save it as UTF-8.", name=path.name, place=error.start)
        ) from error
    return toml_value(path.name, decoded, error=StudyError)


def _study(value: Mapping[str, Any], path: Path) -> Study:
    where = path.name
    file = validated(_File, value, where)
    gate_limits(file.gate or {}, f"{where}, [gate]")  # no part of the study: it decides no call
    design, prompts = _design_and_prompts(file, path.parent, where)
    dataset, brought = _data(file.data, path.parent, f"{where}, [data]", asked=asked_by(prompts))
    design, rubric, rubrics = _rubrics(file, design, path.parent, where)
    return Study(
        name=file.name or path.stem,
        dataset=dataset,
        rubric=rubric or brought,
        design=design,
        judges=tuple(_with_code(judge, path.parent) for judge in judges_from_value(file.judges, where=where)),
        prompts=prompts,
        rubrics=rubrics,
    )


def _with_code(judge: Judge, folder: Path) -> Judge:
    """A judge of own code runs what stands beside its study file: whoever runs the file says yes to that."""
    if not JUDGE_KINDS[judge.kind].code:
        return judge
    return pinned(replace(judge, code_folder=str(folder.absolute())))


def study_from_dict(value: Mapping[str, Any], *, dataset: Dataset) -> Study:
    """The study that ``study_to_dict`` wrote, on its data set.

    Raises StudyError where ``dataset`` is another one than the study was made with.
    """
    refuse_depth(tr("the stored study"), value, StudyError)
    if value["dataset"]["id"] != dataset.id:
        raise StudyError(
            tr(
                "Study “{study}” was made with data set “{made_with}” ({made_with_id}), not “{name}” ({id}).",
                study=value["name"],
                made_with=value["dataset"]["name"],
                made_with_id=value["dataset"]["id"][:8],
                name=dataset.name,
                id=dataset.id[:8],
            )
        )
    rubric = value["rubric"]
    return Study(
        name=str(value["name"]),
        dataset=dataset,
        rubric=None if rubric is None else rubric_from_value(rubric, where=tr("stored rubric")),
        design=design_from_value(value["design"], where=tr("stored design")),
        judges=tuple(judge_from_value(judge, where=tr("stored judge")) for judge in value["judges"]),
        prompts=prompts_from_value(value),
        rubrics=tuple(rubric_from_value(one, where=tr("stored rubric")) for one in value.get("rubrics", ())),
    )


# ---------------------------------------------------------------- [prompt]


class _PromptFile(Table):
    """[prompt]: the file of an own prompt."""

    file: str


def _design_and_prompts(file: _File, folder: Path, where: str) -> tuple[Design, tuple[PromptTemplate, ...]]:
    """The design and the study's own prompts; a factor “prompt” names their files, an arm their names."""
    design = design_from_value(file.design, where=f"{where}, [design]")
    files = design.factors.get("prompt", ())
    if not files:
        return design, () if file.prompt is None else (_prompt(file.prompt, folder, f"{where}, [prompt]"),)
    place = f"{where}, [design], factors, prompt"
    if file.prompt is not None:
        raise StudyError(
            tr("{place}: the prompts are named here and under [prompt]; take one of the two out.", place=place)
        )
    prompts = tuple(_prompt({"file": level}, folder, place) for level in files)
    factors = {**design.factors, "prompt": tuple(prompt.name for prompt in prompts)}
    return replace(design, factors=factors), prompts


def _prompt(value: Any, folder: Path, where: str) -> PromptTemplate:
    part = {"file": value} if isinstance(value, str) else value
    if not isinstance(part, Mapping) or "file" not in part:
        return template_from_value(part, where=where)
    return load_template(_existing(folder, validated(_PromptFile, part, where).file, where))


# ---------------------------------------------------------------- [data] and [rubric]


def _data(value: Any, folder: Path, where: str, *, asked: tuple[str, ...]) -> tuple[Dataset, Rubric | None]:
    """``asked``: columns that a prompt asks for; those that the data have are kept with its items."""
    table = validated(DataTable, value, where)
    paths = [_existing(folder, name, where) for name in table.files or table.file]
    if table.recipe is not None:
        made = load_recipe(table.recipe, files=paths or None)
        dataset = replace(made, name=table.name or made.name)
    elif len(paths) == 1:
        dataset = _dataset_of_file(paths[0], table, where, asked)
    else:
        raise StudyError(tr("{where}: name one “file”, or a “recipe”.", where=where))
    if table.items is not None and table.items < len(dataset):
        origin = f"{dataset.origin} (first {table.items:,} of {len(dataset):,} items)"
        dataset = replace(dataset, items=dataset.items[: table.items], origin=origin)
    return dataset, dataset.rubric


def load_dataset(path: Path, *, prompts: Sequence[PromptTemplate] = ()) -> Dataset:
    """The data in a file, its columns guessed; those that ``prompts`` ask for are kept with its items.

    Raises DataError naming the file and the place in it, StudyError for a prompt that is no template.
    """
    return _dataset_of_file(path, DataTable(), path.name, asked_by(prompts))


def asked_by(prompts: Sequence[PromptTemplate]) -> tuple[str, ...]:
    """The columns of the data that prompts ask for."""
    return tuple(dict.fromkeys(column for prompt in prompts for column in asked_columns(prompt)))


def _dataset_of_file(path: Path, table: DataTable, where: str, asked: tuple[str, ...]) -> Dataset:
    frame = read_table(path.name, read_file(path), delimiter=table.delimiter, limit_mb=None)
    guess = guess_mapping(frame)
    mapping = mapping_from_value(table.columns, base=guess, where=f"{where}, columns")
    if "kept" not in table.columns:
        mapping = replace(mapping, kept=tuple(column for column in asked if column in frame.columns))
    name = table.name or path.name.split(".")[0]
    return build_dataset(frame, mapping, name=name, skip_empty=table.skip_empty)


def _existing(folder: Path, name: str, where: str) -> Path:
    path = folder / Path(name).expanduser()
    if not path.exists():
        raise DataError(
            tr("{where}: there is no file “{path}”. Paths start at the study file's folder.", where=where, path=path)
        )
    return path


def _rubrics(file: _File, design: Design, folder: Path, where: str) -> tuple[Design, Rubric | None, tuple[Rubric, ...]]:
    """The rubric and its other wordings; a factor “rubric” names their files, an arm their names."""
    files = design.factors.get("rubric", ())
    if not files:
        return design, _rubric(file.rubric, folder, f"{where}, [rubric]"), ()
    place = f"{where}, [design], factors, rubric"
    if file.rubric is not None:
        raise StudyError(
            tr("{place}: the rubrics are named here and under [rubric]; take one of the two out.", place=place)
        )
    first, *others = (rubric for level in files if (rubric := _rubric(level, folder, place)) is not None)
    factors = {**design.factors, "rubric": (first.name, *(rubric.name for rubric in others))}
    return replace(design, factors=factors), first, tuple(others)


def _rubric(value: Any, folder: Path, where: str) -> Rubric | None:
    if value is None:
        return None
    part = {"file": value} if isinstance(value, str) else value
    if not isinstance(part, Mapping) or "file" not in part:
        return rubric_from_value(part, where=where)
    table = validated(_RubricFile, part, where)
    path = _existing(folder, table.file, where)
    rubric = read_rubric(path.name, read_file(path, error=RubricError))
    if table.criteria is None:
        return rubric
    return Rubric(rubric.name, tuple(rubric.criterion(name) for name in table.criteria))
