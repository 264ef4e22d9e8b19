"""A rubric's YAML, JSON or CSV in, a rubric out, and back: aliases, keys that stand twice and deep nesting are refused."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import yaml

from rubriclab.data import limits
from rubriclab.data.tables import Table, as_file, json_value, read_table
from rubriclab.data.worker import WORKER
from rubriclab.model.data import MAX_OPTIONS, Criterion, Option, Rubric
from rubriclab.model.text import LabError, look_alike, shorten, storable

NUMBER = re.compile(r"[-+]?[\d_.:xob]+")
MAX_CRITERIA = 100
MAX_TEXT = 20_000
MAX_SCORE = 1_000_000
ENDINGS = (".yaml", ".yml", ".json", ".csv", ".tsv", ".xlsx")


def read_rubric(source: str | Path | bytes, name: str = "") -> Rubric:
    """The rubric in a file or in the bytes of one; the ending of ``name`` says how it is read.

    YAML and JSON: ``name``, ``criteria: [{name, description, options: [{score, description, label}]}]``. CSV: a row an
    option, ``criterion, score, description`` and optional ``label, criterion_description``. Raises LabError.
    """
    name = name or (PurePath(str(source)).name if not isinstance(source, bytes) else "rubric.yaml")
    ending = PurePath(name.lower()).suffix
    if ending not in ENDINGS:
        raise LabError(f"“{shorten(name)}” ends in “{shorten(ending)}”; a rubric is one of {', '.join(ENDINGS)}.")
    if ending in (".csv", ".tsv", ".xlsx"):
        return _from_table(read_table(source, name), PurePath(name).stem)
    with tempfile.TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True) as folder:
        file = as_file(source, name, Path(folder), limits.MAX_PLAIN)
        return rubric_of(WORKER.run("rubric", file, name)["rubric"], name)


def rubric_task(file: str, name: str) -> dict[str, Any]:
    """In the worker: the file's plain values."""
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise LabError(f"“{shorten(name)}” is no text in UTF-8 (byte {fault.start:,}). Save it as UTF-8.") from None
    value = json_value(text, name) if name.lower().endswith(".json") else yaml_value(text, name)
    rubric_of(value, name)  # told here, before a value that JSON cannot carry goes to the parent
    return {"rubric": value}


def rubric_of(value: Any, source: str = "rubric") -> Rubric:
    """The rubric that plain values stand for. Raises LabError naming criterion, option, value and what was expected."""
    head = _table(value, {"name", "description", "criteria", "options"}, source)
    title = _text(head.get("name"), f"{source}: name") or PurePath(source).stem
    if "criteria" not in head and "options" in head:
        head = {"criteria": [head | {"name": title}]}
    criteria = head.get("criteria")
    if not isinstance(criteria, list) or not 0 < len(criteria) <= MAX_CRITERIA:
        raise LabError(f"“{shorten(source)}”: criteria is no list of 1 to {MAX_CRITERIA} criteria.")
    return Rubric(title, tuple(_criterion(body, f"{source}, criterion {k}") for k, body in enumerate(criteria, 1)))


def _criterion(value: Any, where: str) -> Criterion:
    body = _table(value, {"name", "description", "options", "criteria"}, where)
    name = _text(body.get("name"), f"{where}: name")
    options = body.get("options")
    if isinstance(options, dict):
        options = [{"score": score, "description": text} for score, text in options.items()]
    if not isinstance(options, list) or len(options) > 10 * MAX_OPTIONS:
        raise LabError(f"“{shorten(where, 90)}”: options is no list; expected score and description of each option.")
    made = []
    for k, option in enumerate(options, 1):
        place_of = f"{where}, option {k}"
        parts = _table(option, {"score", "description", "label"}, place_of)
        made.append(
            Option(
                _score(parts.get("score"), place_of),
                _text(parts.get("description"), f"{place_of}: description"),
                _text(parts.get("label"), f"{place_of}: label"),
            )
        )
    return Criterion(name, tuple(made), _text(body.get("description"), f"{where}: description"))


def _table(value: Any, known: set[str], where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise LabError(
            f"“{shorten(where, 90)}” is {shorten(repr(value), 40)}; expected a table of {', '.join(sorted(known))}."
        )
    for key in value:
        if key not in known:
            raise LabError(
                f"“{shorten(where, 90)}”: {shorten(repr(key), 40)} is not known; expected {', '.join(sorted(known))}."
            )
    return dict(value)


def _text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise LabError(f"“{shorten(where, 90)}” is {shorten(repr(value), 40)}; expected a text. Put it in quotes.")
    if len(str(value)) > MAX_TEXT:
        raise LabError(f"“{shorten(where, 90)}” has {len(str(value)):,} signs; at most {MAX_TEXT:,} are read.")
    return storable(str(value)).strip()


def _score(value: Any, where: str) -> int:
    try:
        number = float(value) if not isinstance(value, bool) else float("nan")
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not abs(number) <= MAX_SCORE or number != int(number):
        raise LabError(f"“{shorten(where, 90)}”: score is {shorten(repr(value), 40)}; expected a whole number.")
    return int(number)


def _from_table(table: Table, title: str) -> Rubric:
    """A row an option; without a column ``criterion`` there is one criterion, named as the file."""
    names = {look_alike(column): column for column in table.columns}
    missing = [role for role in ("score", "description") if role not in names]
    if missing:
        raise LabError(
            f"“{shorten(table.name)}” has no column {missing[0]}; a rubric as a table has the columns criterion, score, "
            "description and, if wanted, label and criterion_description."
        )
    roles = ("criterion", "score", "description", "label", "criterion_description")
    cells = {role: table.column(names[role]) for role in roles if role in names}
    criteria: dict[str, dict[str, Any]] = {}
    for row in range(len(table.rows)):
        name = (cells["criterion"][row].strip() if "criterion" in cells else "") or title
        body = criteria.setdefault(name, {"name": name, "description": "", "options": []})
        body["description"] = body["description"] or (
            cells["criterion_description"][row] if "criterion_description" in cells else ""
        )
        option = {"description": cells["description"][row], "label": cells["label"][row] if "label" in cells else ""}
        body["options"].append(
            option | {"score": _score(cells["score"][row].strip(), table.where(row, names["score"]))}
        )
    return rubric_of({"name": title, "criteria": list(criteria.values())}, table.name)


def rubric_to_yaml(rubric: Rubric) -> str:
    """The rubric as a file that ``read_rubric`` gives back."""

    def option(part: Option) -> dict[str, Any]:
        texts = {"description": part.description, "label": part.label}
        return {"score": part.score} | {name: text for name, text in texts.items() if text}

    criteria = [
        {"name": part.name}
        | ({"description": part.description} if part.description else {})
        | {"options": [option(each) for each in part.options]}
        for part in rubric.criteria
    ]
    return yaml.safe_dump({"name": rubric.name, "criteria": criteria}, allow_unicode=True, sort_keys=False, width=100)


# ---- YAML


def yaml_value(text: str, name: str) -> Any:
    """The value of a YAML text: no alias, no key twice, at most 64 levels, 100,000 values and 300 digits a number."""
    try:
        depth = 0
        for nodes, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            mark = event.start_mark
            where = f"“{shorten(name)}”" + (f", line {mark.line + 1:,}, column {mark.column + 1:,}" if mark else "")
            if isinstance(event, yaml.AliasEvent):
                raise LabError(f"{where}: an alias (*{event.anchor}) is not read. Write out what it stands for.")
            if depth > limits.MAX_DEPTH or nodes > limits.MAX_NODES:
                raise LabError(
                    f"{where}: nested deeper than {limits.MAX_DEPTH} levels, or too many values. Simplify it."
                )
            text_of = event.value if isinstance(event, yaml.ScalarEvent) and event.implicit[0] else ""
            if len(text_of) > limits.MAX_DIGITS and NUMBER.fullmatch(text_of):
                raise LabError(f"{where}: a number of {len(text_of):,} digits. Put it in quotes if it is a text.")
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        where = f", line {mark.line + 1:,}, column {mark.column + 1:,}" if mark else ""
        raise LabError(
            f"“{shorten(name)}”{where}: not YAML that is read ({shorten(str(fault.problem), 120)})."
        ) from None
    except (yaml.YAMLError, ValueError, OverflowError) as fault:
        if isinstance(fault, LabError):
            raise
        raise LabError(f"“{shorten(name)}” is not YAML that is read ({shorten(str(fault), 120)}).") from None


class _Loader(yaml.SafeLoader):
    """The safe loader, which also refuses a key that stands twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"the key “{shorten(key.value, 40)}” stands twice", problem_mark=key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)
