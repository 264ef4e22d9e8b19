"""Rubrics from YAML, JSON and CSV, back to YAML, and onto another scale."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import yaml

from rubriclab.datasets.limits import MAX_PLAIN_MB, MB, reading
from rubriclab.datasets.plain import json_value, yaml_value
from rubriclab.datasets.tables import place, read_table
from rubriclab.model import MAX_OPTIONS, MIN_OPTIONS, Criterion, DataError, Rubric, RubricError, ScoreOption
from rubriclab.model.language import tr
from rubriclab.model.wording import many

MAX_SCORE_DIGITS = 9
"""With its sign and what is behind its point: a score is a small number."""
ODD_BREAKS = "\x85\u2028\u2029\ufeff"


def read_rubric(name: str, content: bytes) -> Rubric:
    """The rubric in an uploaded file: .yaml, .yml, .json, .csv, .tsv or a table of those kinds.

    Raises RubricError naming the file and the place in it.
    """
    if len(content) > MAX_PLAIN_MB * MB:
        raise RubricError(
            tr(
                "“{name}” has {size:,.1f} MB; a rubric has at most {most} MB. Is it the data?",
                name=name,
                size=len(content) / MB,
                most=MAX_PLAIN_MB,
            )
        )
    if not content.strip():
        raise RubricError(tr("“{name}” is empty: a rubric has at least one criterion.", name=name))
    with reading(name, tr("cannot be read as a rubric"), RubricError):
        return _rubric(name, content)


def _rubric(name: str, content: bytes) -> Rubric:
    path = PurePath(name)
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        value = yaml_value(name, _text(name, content), error=RubricError)
        return rubric_from_value(value, name=path.stem, where=name)
    if suffix == ".json":
        return rubric_from_value(_json(name, content), name=path.stem, where=name)
    if suffix in (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".jsonl"):
        return _from_table(name, path.stem, content)
    raise RubricError(tr("“{name}”: a rubric is a .yaml, .json or .csv file.", name=name))


def rubric_from_value(value: Any, *, name: str = "rubric", where: str = "rubric") -> Rubric:
    """A rubric from plain values, in any of three forms.

    ``{name, criteria: [{name, description, options: [{score, description, label}]}]}``; one criterion
    alone ``{name, options}``; or ``{"Relevance": {"definition": ..., "scores": {"1": ...}}}``.
    Options may also be a mapping of score to description. ``where`` starts every message.
    Raises RubricError naming the place.
    """
    if not isinstance(value, Mapping) or not value:
        raise RubricError(
            tr(
                "{where}: expected a rubric with “criteria”, or one criterion with “options”; got {kind}.",
                where=where,
                kind=type(value).__name__,
            )
        )
    if "criteria" in value:
        title = str(value.get("name") or name)
        parts = value["criteria"]
        _refuse_unknown(value, {"name", "criteria"}, where)
        if isinstance(parts, Mapping):
            parts = [{"name": key, **_mapping(part, f"{where}, {key}")} for key, part in parts.items()]
        if not isinstance(parts, list) or not parts:
            raise RubricError(tr("{where}, criteria: expected a list with at least one criterion.", where=where))
        found = [
            _criterion(part, tr("{where}, criterion {number}", where=where, number=i))
            for i, part in enumerate(parts, 1)
        ]
        return Rubric(title, tuple(found))
    if "options" in value or "scores" in value:
        part = {"name": name, **value}
        return Rubric(str(part["name"]), (_criterion(part, where),))
    places = {key: tr("{where}, “{name}”", where=where, name=key) for key in value}
    found = [_criterion({"name": key, **_mapping(part, places[key])}, places[key]) for key, part in value.items()]
    return Rubric(name, tuple(found))


def rubric_to_value(rubric: Rubric) -> dict[str, Any]:
    """The plain form that ``rubric_from_value`` reads back to an equal rubric."""
    return {
        "name": rubric.name,
        "criteria": [
            {
                "name": criterion.name,
                **({"description": criterion.description} if criterion.description else {}),
                "options": [
                    {
                        "score": option.score,
                        **({} if option.description is None else {"description": option.description}),
                        **({} if option.label is None else {"label": option.label}),
                    }
                    for option in criterion.options
                ],
            }
            for criterion in rubric.criteria
        ],
    }


def dump_rubric(rubric: Rubric) -> str:
    """The rubric as YAML that ``read_rubric`` reads back to an equal rubric."""
    value = rubric_to_value(rubric)
    # PyYAML writes these breaks raw and reads them back as spaces: escape all text then.
    text = json.dumps(value, ensure_ascii=False)
    odd = any(sign in text for sign in ODD_BREAKS)
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=not odd, width=96)


def rescale(criterion: Criterion, n: int, *, descriptions: Mapping[int, str] | None = None) -> tuple[Criterion, str]:
    """The criterion on the scale 1..n, and what was done (method: section 3, "Scales").

    New score i stands at the same share of the way up as an old one: from five descriptions
    n = 2 keeps the 1st and 5th, n = 3 the 1st, 3rd and 5th; n = 9 puts the five on the odd
    scores and leaves the even ones without a description. A shorter scale that does not fall
    on old scores takes the nearest. ``descriptions`` (by new score) fill or replace.
    The same size comes back unchanged. Raises RubricError for n outside 2..10.
    """
    own = dict(descriptions or {})
    _refuse_scale(criterion, n, own)
    old = criterion.options
    if n == len(old) and not own:
        return criterion, ""
    sources = {score: _source(score, n, len(old)) for score in range(1, n + 1)}
    # Labels go along where every new score has an old one's; half a scale of words is none.
    labelled = None not in sources.values()
    options = []
    for score, source in sources.items():
        text = None if source is None else old[source].description
        label = old[source].label if labelled and source is not None else None
        options.append(ScoreOption(score, own.get(score, text), label))
    return (
        Criterion(criterion.name, tuple(options), criterion.description),
        _rescale_note(criterion, tuple(options), own),
    )


def _refuse_scale(criterion: Criterion, n: int, own: Mapping[int, str]) -> None:
    if not MIN_OPTIONS <= n <= MAX_OPTIONS:
        raise RubricError(
            tr(
                "Criterion “{name}” cannot be put on {n} scores; choose {fewest} to {most}.",
                name=criterion.name,
                n=n,
                fewest=MIN_OPTIONS,
                most=MAX_OPTIONS,
            )
        )
    strangers = sorted(score for score in own if not 1 <= score <= n)
    if strangers:
        raise RubricError(
            tr(
                "Criterion “{name}”: descriptions for {strangers} on a scale of 1..{n}.",
                name=criterion.name,
                strangers=strangers,
                n=n,
            )
        )


def _source(score: int, n: int, m: int) -> int | None:
    """The old option (0-based) that new ``score`` takes its description from, if any."""
    numerator = (score - 1) * (m - 1)
    if numerator % (n - 1) == 0:
        return numerator // (n - 1)
    return round(numerator / (n - 1)) if n < m else None


def _rescale_note(criterion: Criterion, options: tuple[ScoreOption, ...], own: Mapping[int, str]) -> str:
    blank = [str(o.score) for o in options if o.description is None]
    parts = [
        tr(
            "“{name}”: {scores} put on {count}.",
            name=criterion.name,
            scores=many(len(criterion.options), "score"),
            count=len(options),
        )
    ]
    if own:
        parts.append(tr("Descriptions given for {scores}.", scores=", ".join(map(str, sorted(own)))))
    if blank and any(o.description for o in criterion.options):
        parts.append(tr("Shown without a description: {scores}.", scores=", ".join(blank)))
    return " ".join(parts)


def _json(name: str, content: bytes) -> Any:
    try:
        return json_value(name, _text(name, content), error=RubricError)
    except json.JSONDecodeError as error:
        raise RubricError(
            tr(
                "“{name}”, line {line}, column {column}: not JSON ({why}).",
                name=name,
                line=error.lineno,
                column=error.colno,
                why=error.msg,
            )
        ) from error


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RubricError(
            tr("“{name}”: byte {byte:,} is not UTF-8. Save the rubric as UTF-8.", name=name, byte=error.start)
        ) from error


def _from_table(name: str, stem: str, content: bytes) -> Rubric:
    """Columns criterion (may be left out for one criterion), score, description."""
    try:
        frame = read_table(name, content)
    except DataError as error:
        raise RubricError(str(error)) from error
    columns = {column.strip().lower(): column for column in frame.columns}
    if "score" not in columns:
        raise RubricError(
            tr(
                "“{name}” has no column “score”; a rubric table has criterion, score, description. Its columns: "
                "{columns}.",
                name=name,
                columns=", ".join(frame.columns),
            )
        )
    options: dict[str, list[ScoreOption]] = {}
    about: dict[str, str] = {}
    for row, record in enumerate(frame.to_dict("records")):
        cell = {key: record[column] for key, column in columns.items()}
        criterion = _blank(cell.get("criterion")) or stem
        spot = place(frame, row, columns["score"])
        option = ScoreOption(_score(cell["score"], spot), _blank(cell.get("description")), _blank(cell.get("label")))
        options.setdefault(criterion, []).append(option)
        definition = _blank(cell.get("definition")) or _blank(cell.get("criterion_description"))
        about.setdefault(criterion, definition or "")
    criteria = (_made(key, part, about[key], tr("“{name}”", name=name)) for key, part in options.items())
    return Rubric(stem, tuple(criteria))


def _criterion(value: Any, where: str) -> Criterion:
    part = _mapping(value, where)
    _refuse_unknown(part, {"name", "description", "definition", "options", "scores"}, where)
    name = _blank(part.get("name"))
    if name is None:
        raise RubricError(tr("{where}: the criterion has no name.", where=where))
    quoted = tr("“{name}”", name=name)
    where = f"{where} ({quoted})" if quoted not in where else where
    given = part.get("options", part.get("scores"))
    if isinstance(given, Mapping):
        given = [{"score": score, "description": text} for score, text in given.items()]
    if not isinstance(given, list) or not given:
        raise RubricError(tr("{where}: expected “options”, a list of {{score, description}}.", where=where))
    options = [
        _option(option, tr("{where}, option {number}", where=where, number=i)) for i, option in enumerate(given, 1)
    ]
    about = _blank(part.get("description")) or _blank(part.get("definition")) or ""
    return _made(name, options, about, where)


def _made(name: str, options: list[ScoreOption], about: str, where: str) -> Criterion:
    try:
        return Criterion(name, tuple(options), about)
    except RubricError as error:
        raise RubricError(f"{where}: {error}") from error


def _option(value: Any, where: str) -> ScoreOption:
    if isinstance(value, int | str) and not isinstance(value, bool):
        return ScoreOption(_score(value, where))
    part = _mapping(value, where)
    _refuse_unknown(part, {"score", "description", "label"}, where)
    if "score" not in part:
        raise RubricError(tr("{where}: the option has no “score”.", where=where))
    return ScoreOption(_score(part["score"], where), _blank(part.get("description")), _blank(part.get("label")))


def _score(value: Any, where: str) -> int:
    """A whole number; "3" and 3.0 are whole, "3.5", "high" and true are not."""
    text = str(value).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[+-]?\d+(\.0+)?", text):
        half = (
            tr(
                " For half points give each step a whole score and what is shown as its label, as score: "
                "{score}, label: “{label}”.",
                score=round(2 * float(text)),
                label=text,
            )
            if re.fullmatch(r"[+-]?\d{1,6}\.5", text)
            else ""
        )
        raise RubricError(
            tr("{where}: the score must be a whole number, not {text!r}.{half}", where=where, text=text[:40], half=half)
        )
    if len(text) > MAX_SCORE_DIGITS:
        raise RubricError(
            tr(
                "{where}: a score of {count:,} signs; {most} are read.",
                where=where,
                count=len(text),
                most=MAX_SCORE_DIGITS,
            )
        )
    return int(float(text))


def _blank(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and value != value):
        return None
    return str(value).strip() or None


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise RubricError(tr("{where}: expected named fields, got {value!r:.60}.", where=where, value=value))
    return {str(key): part for key, part in value.items()}


def _refuse_unknown(part: Mapping[str, Any], known: set[str], where: str) -> None:
    strange = [str(key) for key in part if key not in known]
    if strange:
        raise RubricError(
            tr(
                "{where}: unknown {fields:field|fields} {strange}; a rubric knows {known}.",
                where=where,
                fields=many(len(strange), "field"),
                strange=", ".join(strange),
                known=", ".join(sorted(known)),
            )
        )
