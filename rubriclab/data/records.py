"""Find the records in a JSON document, however the tool that wrote it nests them.

We know lists of records, each orientation of ``DataFrame.to_json``, and the full exports of Label
Studio and Argilla, whose ratings become columns. A form that can be read in two ways is refused,
because a wrong guess would swap rows and columns without a trace.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.data.limits import refusal
from rubriclab.model.text import LabError, count, shorten

Json = dict[str, Any]
RATING = re.compile(r"[-+]?\d{1,9}([.,]\d{1,9})?")
"""A label that is a rating."""
NO_RATINGS = ("draft", "discarded", "pending", "missing")
"""States of an Argilla response that its author has not submitted, or has withdrawn."""
AS_RECORDS = 'Save it again with df.to_json(path, orient="records").'
REGION = ("start", "end", "startOffset", "x", "y")
"""Keys of a Label Studio result that is about a part of the text."""


@dataclass(frozen=True)
class Found:
    """The records of one document.

    people: (column, question) of each person's ratings; None where no tool names them
    note: what the user should know about the file
    """

    records: list[Any]
    people: tuple[tuple[str, str], ...] | None = None
    note: str = ""


def records_in(value: Any, name: str) -> Found:
    """Return the records of a whole JSON document.

    Raises LabError, with what to do, for a document whose records are uncertain.
    """
    records = value if isinstance(value, list) else _of_object(value, name)
    if records and all(isinstance(record, list) for record in records):
        raise refusal(
            name,
            " holds rows without the names of their columns, as DataFrame.to_json writes them with "
            f'orient="values". {AS_RECORDS}',
        )
    return annotated(records, name)


def annotated(records: list[Any], name: str) -> Found:
    """Return records with the ratings of an annotation tool as columns; others as they are."""
    given = [record for record in records if isinstance(record, dict)]
    if not given or len(given) < len(records):
        return Found(records)
    if all(_is_task(record) for record in given):
        return _rated("Label Studio", [*map(_of_task, given)], name)
    if all(isinstance(record.get("fields"), dict) and "responses" in record for record in given):
        return _rated("Argilla", [*map(_of_argilla, given)], name)
    questions = _argilla_questions(given)
    if questions:
        return _rated("Argilla", [_of_flat_argilla(record, questions) for record in given], name)
    return Found(records)


# ---- objects that hold records


def _of_object(value: Any, name: str) -> list[Any]:
    """Return the records of a JSON object. Raises LabError for other values and unknown forms."""
    if not isinstance(value, dict):
        raise refusal(name, f" holds a JSON {_json_kind(value)}; expected a list of records.")
    columns, data, rows = value.get("columns"), value.get("data"), value.get("rows")
    if isinstance(columns, list) and isinstance(data, list) and "index" in value:
        return _of_split(columns, data, name)
    if isinstance(data, list):
        return data
    if isinstance(rows, list) and rows and all(_has_row(row) for row in rows):
        return [row["row"] for row in rows]
    parts = [*value.values()]
    if parts and all(isinstance(part, dict) for part in parts):
        return _of_named(value, name)
    lengths = {len(part) for part in parts if isinstance(part, list)}
    if len(parts) > 1 and len(lengths) == 1 and all(isinstance(part, list) for part in parts):
        if any(isinstance(cell, dict) for part in parts for cell in part if _is_record(cell)):
            raise _several(value, name)
        return [dict(zip(value, cells, strict=True)) for cells in zip(*parts, strict=True)]
    raise _several(value, name)


def _json_kind(value: Any) -> str:
    """Return what JSON calls a value that is not a list or an object."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "truth value"
    return "null" if value is None else "number"


def _has_row(row: Any) -> bool:
    """Return whether a row is one of a Hugging Face data set's viewer."""
    return isinstance(row, dict) and isinstance(row.get("row"), dict)


def _is_record(cell: Any) -> bool:
    """Return whether a cell of a list is a record rather than a message or a part of one."""
    return isinstance(cell, dict) and not {"role", "from", "value"} & {*cell}


def _several(value: Json, name: str) -> LabError:
    """Return the error for an object in which several lists, or none, may be the records."""
    lists = [key for key, part in value.items() if isinstance(part, list)]
    listed = ", ".join(f"“{shorten(key, 30)}”" for key in lists[:6])
    where = ""
    if lists:
        where = f" Its lists are under {listed}. Save only the one with the answers."
    return refusal(name, f" holds a JSON object; expected a list of records.{where}")


def _of_split(columns: list[Any], data: list[Any], name: str) -> list[Any]:
    """Return the records of a frame with orient="split". Raises LabError for a row that differs."""
    names = [*map(str, columns)]
    for number, row in enumerate(data, 1):
        if not isinstance(row, list) or len(row) != len(names):
            raise refusal(
                name,
                f", row {number:,} of “data”: expected a list of {len(names)} cells, one for each "
                f"of “columns”. {AS_RECORDS}",
            )
    return [dict(zip(names, row, strict=True)) for row in data]


def _of_named(value: Json, name: str) -> list[Any]:
    """Return the records of an object of objects, which may hold columns or rows.

    ``to_json`` writes columns first: every column then has the same keys, those of the rows. Two
    things tell rows from columns: a number is never the name of a column here, and the values of
    one column have one kind. Raises LabError where neither decides.
    """
    parts = [*value.values()]
    inner = [*parts[0]]
    same = bool(inner) and all([*part] == inner for part in parts)
    numbered = all(key.lstrip("-").isdigit() for key in value)
    rows_numbered = same and all(key.lstrip("-").isdigit() for key in inner)
    by_row = [_kinds(part.values()) for part in parts]
    by_column = [_kinds(part[key] for part in parts) for key in inner] if same else []
    if not same or (numbered and not rows_numbered):
        return _keyed(value)
    if rows_numbered and not numbered:
        return _turned(value, inner)
    mixed_rows, mixed_columns = max(by_row) > 1, max(by_column) > 1
    if not numbered and mixed_rows != mixed_columns:
        return _keyed(value) if mixed_rows else _turned(value, inner)
    raise refusal(
        name,
        f" holds objects in an object (“{shorten(next(iter(value)), 30)}”, in it "
        f"“{shorten(inner[0], 30)}”): rows or columns? {AS_RECORDS}",
    )


def _kinds(cells: Any) -> int:
    """Return how many kinds of values there are: texts, numbers, truth values, structures."""
    kinds = set()
    for cell in cells:
        if cell is not None:
            number = isinstance(cell, int | float) and not isinstance(cell, bool)
            kinds.add("number" if number else type(cell).__name__)
    return len(kinds)


def _turned(value: Json, rows: Sequence[str]) -> list[Any]:
    """Return the records of an object of columns."""
    records = [{column: cells[row] for column, cells in value.items()} for row in rows]
    return _with_key(records, rows)


def _keyed(value: Json) -> list[Any]:
    """Return the records of an object of rows."""
    return _with_key([*value.values()], [*value])


def _with_key(records: list[Any], keys: Sequence[str]) -> list[Any]:
    """Return records with their keys as ``id``, unless the keys only number the rows."""
    counted = list(keys) == [str(number) for number in range(len(keys))]
    known = {"id", "item_id", "index"} & {key for record in records for key in record}
    if counted or known:
        return records
    return [{"id": key, **record} for key, record in zip(keys, records, strict=True)]


# ---- annotation tools


@dataclass
class _Task:
    """One text and its ratings. given: (question, rater, value) of each."""

    cells: Json
    given: list[tuple[str, str, Any]]


def _rated(tool: str, tasks: list[_Task], name: str) -> Found:
    """Return a record for each task, with a column for each question and rater.

    Values that are not numbers (a label, a text, a ranking) share the column “annotations”, which
    is never taken for an answer. Raises LabError if one rater rated a question twice.
    """
    ratings: list[dict[tuple[str, str], Any]] = []
    others: list[dict[str, Any]] = []
    for number, task in enumerate(tasks, 1):
        rated, other = dict[tuple[str, str], Any](), dict[str, Any]()
        for question, rater, value in task.given:
            score = _number(value)
            if score is None:
                other.setdefault(question, {})[rater] = value
                continue
            if rated.setdefault((question, rater), score) != score:
                raise refusal(
                    name,
                    f", record {number:,}: {rater} rated “{shorten(question)}” twice, "
                    f"{rated[question, rater]} and {score}. Keep the rating that counts.",
                )
        ratings.append(rated)
        others.append(other)
    keys = [*dict.fromkeys(key for rated in ratings for key in rated)]
    taken = {column for task in tasks for column in task.cells}
    names = _rating_names(keys, taken)
    records = []
    for task, rated, other in zip(tasks, ratings, others, strict=True):
        record = task.cells | {names[key]: rated.get(key) for key in keys}
        records.append(record | ({"annotations": other} if any(others) else {}))
    people = tuple((names[key], key[0]) for key in keys)
    found = "no ratings"
    if keys:
        raters = count(len({rater for _, rater in keys}), "person", "people")
        questions = count(len({question for question, _ in keys}), "question")
        found = f"ratings of {raters} on {questions}"
    return Found(records, people, f"Export of {tool}: {found}.")


def _rating_names(keys: Sequence[tuple[str, str]], taken: set[str]) -> dict[tuple[str, str], str]:
    """Return the column of each question and rater: the shortest name that is not ambiguous."""
    raters, questions = {rater for _, rater in keys}, {question for question, _ in keys}
    names = {}
    for question, rater in keys:
        column = f"{question} {rater}"
        if len(raters) == 1:
            column = question
        elif len(questions) == 1:
            column = rater
        names[question, rater] = f"{column} (rating)" if column in taken else column
    return names


def _number(value: Any) -> Any:
    """Return the number of a rating or of a choice that is a number; None for anything else."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and RATING.fullmatch(value.strip()):
        return value.strip()
    return None


def _is_task(record: Json) -> bool:
    """Return whether a record is a task of Label Studio's full export."""
    annotations = record.get("annotations", record.get("completions"))
    return isinstance(record.get("data"), dict) and isinstance(annotations, list)


def _of_task(record: Json) -> _Task:
    """Return the text and the ratings of a Label Studio task, without cancelled annotations."""
    cells = dict(record["data"])
    given: list[tuple[str, str, Any]] = []
    for key, value in record.items():
        plain = not isinstance(value, list | dict)
        if plain and key not in ("data", "annotations", "completions"):
            cells.setdefault(key if key not in cells else f"task {key}", value)
    for annotation in record.get("annotations", record.get("completions")) or ():
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        rater = _rater(annotation.get("completed_by"))
        for result in annotation.get("result") or ():
            if isinstance(result, dict) and isinstance(result.get("value"), dict):
                given += _of_result(result, rater)
    return _Task(cells, given)


def _of_result(result: Json, rater: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the value of one control of Label Studio.

    A value about a part of the text stays an object, so that it is not a rating of the whole text.
    """
    question, value = str(result.get("from_name") or result.get("type")), result["value"]
    kind = str(result.get("type"))
    if kind in ("rating", "number", "choices") and kind in value and not {*REGION} & {*value}:
        yield question, rater, value[kind]
    else:
        yield question, rater, value


def _rater(given: Any) -> str:
    """Return the name of a rater, which an export gives as an object, a number or a text."""
    if isinstance(given, dict):
        given = given.get("email") or given.get("username") or given.get("id")
    return "annotator" if given is None else f"annotator {given}"


def _of_argilla(record: Json) -> _Task:
    """Return a record of Argilla: version 1 has responses by user, version 2 by question."""
    cells = dict(record["fields"])
    for key, value in record.items():
        if key not in ("fields", "responses") and not isinstance(value, list):
            cells.setdefault(key if key not in cells else f"record {key}", value)
    given: list[tuple[str, str, Any]] = []
    responses = record["responses"] or ()
    if isinstance(responses, dict):
        for question, answers in responses.items():
            for answer in answers or ():
                given += _of_response(str(question), answer)
    else:
        for response in responses:
            values = response.get("values") if isinstance(response, dict) else None
            for question, answer in (values or {}).items():
                value = answer.get("value") if isinstance(answer, dict) else answer
                given += _of_response(str(question), {**response, "value": value})
    return _Task(cells, given)


def _of_response(question: str, answer: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the value of an Argilla response, unless its author has not submitted it."""
    if not isinstance(answer, dict) or answer.get("value") is None:
        return
    status = str(answer.get("status") or "").rpartition(".")[2].lower()
    if status not in NO_RATINGS:
        yield question, _rater(answer.get("user_id")), answer["value"]


def _argilla_questions(records: list[Json]) -> dict[str, str]:
    """Return each question's column of responses, in a flat export or one from the hub."""
    columns = [*dict.fromkeys(key for record in records for key in record)]
    flat = {
        column.removesuffix(".responses"): column
        for column in columns
        if column.endswith(".responses") and f"{column}.users" in columns
    }
    if flat:
        return flat
    hub = {}
    for column in columns:
        cells = [record.get(column) for record in records if record.get(column)]
        if cells and all(_is_hub_cell(cell) for cell in cells):
            hub[column] = column
    return hub


def _is_hub_cell(cell: Any) -> bool:
    parts = cell if isinstance(cell, list) else [cell]
    return all(
        isinstance(part, dict) and {"user_id", "value", "status"} <= {*part} for part in parts
    )


def _of_flat_argilla(record: Json, questions: Mapping[str, str]) -> _Task:
    """Return the text and the ratings of a flat Argilla record. ``questions``: their columns."""
    given: list[tuple[str, str, Any]] = []
    used = {*questions.values()}
    for question, column in questions.items():
        if column.endswith(".responses"):
            used |= {f"{column}.users", f"{column}.status"}
            answers = _of_flat_columns(record, column)
        else:
            answers = _of_hub_cell(record.get(column))
        for answer in answers:
            given += _of_response(question, answer)
    return _Task({key: value for key, value in record.items() if key not in used}, given)


def _of_flat_columns(record: Json, column: str) -> list[Json]:
    """Return the responses in a column of values, a column of users and a column of states."""
    users = record.get(f"{column}.users") or []
    states = record.get(f"{column}.status") or []
    answers = []
    for k, value in enumerate(record.get(column) or ()):
        user = users[k] if k < len(users) else None
        status = states[k] if k < len(states) else None
        answers.append({"value": value, "user_id": user, "status": status})
    return answers


def _of_hub_cell(cell: Any) -> list[Any]:
    """Return the responses in a cell from the hub: a list of them, or one object of lists."""
    if isinstance(cell, dict) and isinstance(cell["value"], list):
        rows = zip(*cell.values(), strict=False)
        return [dict(zip(cell, parts, strict=False)) for parts in rows]
    return cell if isinstance(cell, list) else []


def as_json(text: str) -> Any:
    """Return the value of a JSON text that is a list or an object; None for any other text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None
