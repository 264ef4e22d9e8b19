"""A study as plain values, which a run keeps, and as files: the same calls, the same run."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from rubriclab.datasets.rubrics import dump_rubric, rubric_to_value
from rubriclab.model import Item, Judge, Rubric, Study, StudyError
from rubriclab.model.language import tr
from rubriclab.study.prompts.files import dump_template, template_to_value

DATA_FILE, STUDY_FILE = "data.jsonl", "study.toml"
_FIELDS = ("item_id", "instruction", "response", "criterion", "block", "prompt", "candidate", "task")


def study_to_dict(study: Study) -> dict[str, Any]:
    """The study in JSON's types, its data set by id; no secrets, since a study has none."""
    return {
        "name": study.name,
        "dataset": {
            "id": study.dataset.id,
            "name": study.dataset.name,
            "origin": study.dataset.origin,
            "items": len(study.dataset),
        },
        "rubric": None if study.rubric is None else rubric_to_value(study.rubric),
        "design": to_jsonable_python(study.design),
        "judges": [judge_to_value(judge) for judge in study.judges],
        **({"prompts": [template_to_value(prompt) for prompt in study.prompts]} if study.prompts else {}),
        **({"rubrics": [rubric_to_value(rubric) for rubric in study.rubrics]} if study.rubrics else {}),
    }


def judge_to_value(judge: Judge) -> dict[str, Any]:
    """The judge in JSON's types, sampling fields beside the others; what is unset is left out."""
    body: dict[str, Any] = to_jsonable_python(judge)
    body |= body.pop("sampling")
    body.pop("code_folder")  # where code may be run from is nothing that a file or a store says
    kept = {key: part for key, part in body.items() if part is not None and part not in ({}, [])}
    if judge.sampling.temperature is None:
        kept["temperature"] = "default"
    return kept


def study_files(study: Study) -> bytes:
    """A zip of ``study.toml`` and the data it names: unpack, then ``python -m rubriclab run``.

    Raises StudyError for comparisons, which a study file makes from single responses.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in study_parts(study).items():
            archive.writestr(name, text)
    return buffer.getvalue()


def study_parts(study: Study) -> dict[str, str]:
    """The files themselves, by name. Raises StudyError for comparisons."""
    items = [item for item in study.dataset.items if isinstance(item, Item)]
    if len(items) < len(study.dataset):
        raise StudyError(tr("A study of ready-made comparisons cannot be written as a study file."))
    used = [name for name in _FIELDS if any(getattr(item, name) for item in items)]
    scores = sorted({score for item in items for score in item.references})
    kept = tuple(dict.fromkeys(name for item in items for name in item.columns))
    written = partial(_column, kept=kept)
    columns: dict[str, Any] = {name: written(name) if name in used else "" for name in _FIELDS}
    # Parts that are not there are named as empty, or the reader would guess columns for them.
    columns |= {"reference": "", "system": "", "judge_prompt": "", "score_rubric": ""}
    if study.prompts:
        columns["kept"] = list(kept)
    columns["human"] = [written("human")] if any(item.human for item in items) else []
    if kept or any(item.raters for item in items):
        columns["rater"] = written("raters") if any(item.raters for item in items) else ""
    columns["references"] = {str(score): written(f"reference_{score}") for score in scores}
    lines = [json.dumps(_line(item, used, scores, written), ensure_ascii=False) for item in items]
    prompts = {name: dump_template(prompt) for name, prompt in zip(_prompt_files(study), study.prompts, strict=True)}
    rubrics = {name: dump_rubric(rubric) for name, rubric in _rubric_files(study).items()}
    return {STUDY_FILE: study_toml(study, columns), DATA_FILE: "\n".join(lines) + "\n", **prompts, **rubrics}


def _prompt_files(study: Study) -> tuple[str, ...]:
    """The names of the files that a study's own prompts are written to."""
    return tuple(f"prompt_{number}.toml" for number in range(1, len(study.prompts) + 1))


def _rubric_files(study: Study) -> dict[str, Rubric]:
    """By file name the wordings of the rubric that the factor names; none where only one is asked with."""
    levels = study.design.factors.get("rubric", ())
    known = {rubric.name: rubric for rubric in (study.rubric, *study.rubrics) if rubric is not None}
    return {f"rubric_{number}.yaml": known[level] for number, level in enumerate(levels, start=1)}


def _column(part: str, *, kept: tuple[str, ...]) -> str:
    """The column that a part of an item is written to: never one that the data had under that name."""
    while part in kept:
        part = f"{part}_"
    return part


def _line(item: Item, used: list[str], scores: list[int], written: Callable[[str], str]) -> dict[str, Any]:
    line: dict[str, Any] = {written(name): getattr(item, name) for name in used}
    if item.human:
        line[written("human")] = list(item.human)
    if item.raters:
        line[written("raters")] = list(item.raters)
    line |= {written(f"reference_{s}"): item.references[s] for s in scores if s in item.references}
    return {**line, **item.columns}


def study_toml(study: Study, columns: Mapping[str, Any]) -> str:
    """The study file over ``data.jsonl`` with these columns."""
    value = study_to_dict(study)
    tables = {
        "data": {"file": DATA_FILE, "name": study.dataset.name, "columns": columns},
        "rubric": value["rubric"],
        "design": value["design"],
    }
    files = _prompt_files(study)
    if "prompt" in value["design"]["factors"]:
        by_name = {prompt.name: name for prompt, name in zip(study.prompts, files, strict=True)}
        levels = [by_name[level] for level in value["design"]["factors"]["prompt"]]
        tables["design"] = {**value["design"], "factors": {**value["design"]["factors"], "prompt": levels}}
    elif files:
        tables["prompt"] = {"file": files[0]}
    if rubrics := _rubric_files(study):
        design = tables["design"]
        tables |= {"rubric": None, "design": {**design, "factors": {**design["factors"], "rubric": list(rubrics)}}}
    parts = [f"name = {_toml(study.name)}"]
    for name, table in tables.items():
        if table is not None:
            parts.append(f"[{name}]\n{_lines(table)}")
    parts += [f"[[judges]]\n{_lines(judge)}" for judge in value["judges"]]
    return "\n\n".join(parts) + "\n"


def _lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in table.items() if v is not None)


def _toml(value: Any) -> str:
    """A value in TOML. JSON's strings are TOML's, but for one sign that JSON leaves bare."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(k))} = {_toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(part) for part in value if part is not None) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
