"""Which column of a table means what: a guess by names and cells, and what the user says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pandas as pd

from rubriclab.datasets.limits import reading
from rubriclab.datasets.nested import likely_text
from rubriclab.datasets.prometheus import is_prompt, is_score_rubric
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.model.wording import did_you_mean

REFERENCE_SCORE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMapping:
    """The column (by its name) that holds each part of an item; None where there is none.

    ``reference`` stands for ``reference_score``; ``references`` are (score, column) pairs.
    ``human`` is one column a rater or one mean; a cell may hold a list of ratings, or ratings
    by criterion. ``human_by_criterion`` are (criterion, columns) of a wide table. ``rater`` names
    who gave the rating of a row, and rows of one item become one item; or holds a list of names
    beside a list of ratings.
    ``system`` goes before the instruction. ``judge_prompt`` holds whole Prometheus-Eval
    prompts and ``score_rubric`` rubric objects: either brings the rubric along. ``kept``: columns
    that items keep under their own names, for own prompts that ask for them; a study that does not
    name them keeps those that its prompts ask for.
    """

    item_id: str | None = None
    instruction: str | None = None
    response: str | None = None
    reference: str | None = None
    reference_score: int = REFERENCE_SCORE
    references: tuple[tuple[int, str], ...] = ()
    criterion: str | None = None
    block: str | None = None
    prompt: str | None = None
    candidate: str | None = None
    task: str | None = None
    human: tuple[str, ...] = ()
    human_by_criterion: tuple[tuple[str, tuple[str, ...]], ...] = ()
    rater: str | None = None
    system: str | None = None
    judge_prompt: str | None = None
    score_rubric: str | None = None
    kept: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        """Every column that is used."""
        single = (getattr(self, name) for name in SINGLE_COLUMNS)
        wide = (column for _, columns in self.human_by_criterion for column in columns)
        listed = (column for _, column in self.references)
        return (*(c for c in single if c is not None), *self.human, *wide, *listed, *self.kept)


SINGLE_COLUMNS = (
    "item_id",
    "instruction",
    "response",
    "reference",
    "criterion",
    "block",
    "prompt",
    "candidate",
    "task",
    "rater",
    "system",
    "judge_prompt",
    "score_rubric",
)

_SYNONYMS: dict[str, tuple[str, ...]] = {  # English names, then German ones
    "item_id": (
        "item_id",
        "id",
        "item",
        "uid",
        "example_id",
        "sample_id",
        "record_id",
        "story_id",
        "essay_id",
        "row_id",
        "idx",
        "kennung",
    ),
    "response": (
        "response",
        "answer",
        "output",
        "completion",
        "model_output",
        "generation",
        "reply",
        "decoded",
        "summary",
        "story",
        "essay",
        "translation",
        "text",
        "antwort",
        "antworttext",
        "modellantwort",
        "ausgabe",
        "zusammenfassung",
        "geschichte",
        "aufsatz",
        "uebersetzung",
    ),
    "instruction": (
        "instruction",
        "prompt",
        "question",
        "query",
        "input",
        "prompt_text",
        "article",
        "source",
        "context",
        "anweisung",
        "frage",
        "aufgabenstellung",
        "eingabe",
    ),
    "reference": (
        "reference",
        "reference_answer",
        "reference_response",
        "gold_answer",
        "ideal_answer",
        "ref",
        "referenzantwort",
        "musterantwort",
        "musterloesung",
    ),
    "criterion": ("criterion", "criteria", "aspect", "dimension", "metric", "kriterium", "aspekt"),
    "block": ("block", "block_id", "text_id", "article_id", "doc_id", "document_id", "story_id"),
    "prompt": ("prompt_id", "question_id", "instruction_id", "prompt_group", "prompt", "frage_id", "frage_nr"),
    "candidate": (
        "candidate",
        "model",
        "model_name",
        "response_model_name",
        "response_source",
        "system_name",
        "generator",
        "model_id",
        "writer",
        "author",
        "kandidat",
        "modell",
        "modellname",
    ),
    "task": ("task", "category", "domain", "capability", "subset", "kategorie", "aufgabe"),
    "system": ("system_prompt",),
    "score_rubric": ("score_rubric",),
}
_PEOPLE = ("rater", "annotator", "worker", "coder", "grader", "expert", "assessor")
_RATER_IDS = (
    *(f"{who}{part}" for part in ("_id", "_name", "", "s", "_ids", "_names") for who in _PEOPLE),
    *("workerid", "rated_by", "annotated_by", "graded_by", "bewerter", "bewerterin", "gutachter", "gutachterin"),
)
_RATINGS = ("rating", "score", "grade", "bewertung", "note")
"""Columns that are a person's ratings where another column says which person's."""
_RATER = r"(human|rater|annotator|expert|grader|coder|ratings?|mensch|bewerter|bewertung|gutachter)"
_MEAN = r"(score|rating|ratings|mean|avg|average|mean_score|mean_rating)"


def guess_mapping(frame: pd.DataFrame) -> ColumnMapping:
    """A sensible guess by the columns' names and first cells; the user has the last word."""
    names = {_plain(column): column for column in reversed(frame.columns.tolist())}
    first = {c: _first_cell(frame[c]) for c in frame.columns}
    whole = next((c for c in frame.columns if is_prompt(first[c])), None)
    taken: set[str] = {whole} if whole else set()
    found: dict[str, Any] = {"judge_prompt": whole}
    wanted = dict(_SYNONYMS)
    if whole:
        for part in ("instruction", "response", "reference", "score_rubric"):
            wanted.pop(part)
    for part, synonyms in wanted.items():
        column = next((names[s] for s in synonyms if names.get(s, whole) not in taken | {None}), None)
        if part == "score_rubric" and column and not is_score_rubric(first[column]):
            column = None
        if column is not None:
            found[part] = likely_text(frame, column) if part in ("instruction", "response", "reference") else column
            taken |= {column, found[part]}
    found["references"] = _guess_references(frame, taken)
    found["rater"], found["human"], found["human_by_criterion"] = _guess_ratings(frame, names, taken)
    return ColumnMapping(**found)


def mapping_from_value(value: Mapping[str, Any], *, base: ColumnMapping, where: str = "columns") -> ColumnMapping:
    """``base`` with the parts that ``value`` names: part -> column.

    ``human`` may be one column, a list of them, or {criterion: column(s)}; ``references``
    is {score: column}. "" takes a part out. Raises DataError naming ``where`` and the key.
    """
    known = [f.name for f in fields(ColumnMapping)]
    changes: dict[str, Any] = {}
    for key, given in value.items():
        if key not in known:
            hint = did_you_mean(key, known)
            raise DataError(
                tr(
                    "{where}: no such part “{key}”.{hint} Known: {known}.",
                    where=where,
                    key=key,
                    hint=hint,
                    known=", ".join(known),
                )
            )
        with reading(f"{where}, {key}"):
            changes |= _part(key, given)
    return replace(base, **changes)


def _part(key: str, given: Any) -> dict[str, Any]:
    """The fields of a mapping that one part changes."""
    if key == "human":
        wide = isinstance(given, Mapping)
        return {"human": () if wide else _names(given), "human_by_criterion": _by_criterion(given) if wide else ()}
    if key == "kept":
        return {key: _names(given)}
    if key == "human_by_criterion":
        return {key: _by_criterion(dict(given))}
    if key == "references":
        return {key: tuple((int(score), str(column)) for score, column in dict(given).items())}
    if key == "reference_score":
        return {key: int(given)}
    return {key: str(given) if given else None}


# ---------------------------------------------------------------- guessing


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def _plain(column: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", column.lower().translate(_UMLAUTS)).strip("_")


def _first_cell(column: pd.Series[Any]) -> Any:
    return next((cell for cell in column.head(50).tolist() if not is_blank(cell)), None)


def _guess_references(frame: pd.DataFrame, taken: set[str]) -> tuple[tuple[int, str], ...]:
    """Columns like ``reference_3``: the reference answer of score 3."""
    found = []
    for column in frame.columns:
        match = re.fullmatch(r"(?:reference|reference_answer|ref)_(?:score_)?(\d+)", _plain(column))
        if match and column not in taken:
            found.append((int(match.group(1)), column))
            taken.add(column)
    return tuple(found)


def _guess_ratings(
    frame: pd.DataFrame, names: Mapping[str, str], taken: set[str]
) -> tuple[str | None, tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """(column of raters, rater columns, columns by criterion).

    A column such as “annotator” names the raters where another one holds their ratings, one column
    (a criterion); else it may hold ratings itself.
    """
    rater = next((names[plain] for plain in _RATER_IDS if plain in names and names[plain] not in taken), None)
    if rater is not None:
        human, wide = _guess_human(frame, taken | {rater})
        if not human and not wide:
            given = (names[plain] for plain in _RATINGS if plain in names and names[plain] not in taken)
            human = tuple(given)[:1]
        if (human or wide) and len(human) < 2 and all(len(columns) == 1 for _, columns in wide):
            return rater, human, wide
    return None, *_guess_human(frame, taken)


def _guess_human(
    frame: pd.DataFrame, taken: set[str]
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """(rater columns, columns by criterion): raters win over a column of their mean."""
    raters, means = [], []
    wide: dict[str, list[str]] = {}
    for column in frame.columns:
        plain = _plain(column)
        if column in taken:
            continue
        if re.fullmatch(rf"{_RATER}(_{_MEAN})?_?\d+", plain):
            raters.append(column)
        elif re.fullmatch(rf"{_RATER}(_{_MEAN})?|{_MEAN}_{_RATER}|gold_score", plain):
            means.append(column)
        else:
            part = re.fullmatch(r"(?:human|rater|annotator|expert)[\s_-]*\d*[\s_-]+(.+)", column, re.I)
            if part:
                wide.setdefault(part.group(1).strip(), []).append(column)
    if raters or means:
        return tuple(raters or means[:1]), ()
    return (), tuple((name, tuple(columns)) for name, columns in wide.items())


def _names(given: Any) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, list | tuple) else ((str(given),) if given else ())


def _by_criterion(given: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((str(name), _names(columns)) for name, columns in given.items())


def is_blank(cell: Any) -> bool:
    return (
        cell is None
        or cell is pd.NA
        or (isinstance(cell, float) and cell != cell)
        or (isinstance(cell, str) and not cell.strip())
    )


def cell_text(cell: Any) -> str | None:
    """A cell as text: whole floats lose their .0, lists and objects become JSON."""
    if is_blank(cell):
        return None
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False)
    return str(cell)
