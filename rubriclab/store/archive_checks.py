"""The rows and values of an archive: checked, and made storable, before anything is kept.

Whoever made the file may have written anything. A count that no column holds is left out and
the reply's ``note`` says so; what would falsify a result (a score of inf, a position beyond the
options) is refused in words that name file, row and column.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from rubriclab.datasets.plain import json_value
from rubriclab.datasets.rubrics import rubric_from_value
from rubriclab.model import STATUSES, Arm, Axis, Comparison, Dataset, Item, LabError, Ordering
from rubriclab.model.data import MAX_RATING, rater_names
from rubriclab.model.language import tr
from rubriclab.model.storable import MAX_COUNT
from rubriclab.model.wording import many, plural
from rubriclab.store import P_COLUMNS
from rubriclab.store.objects import arm_of

MAX_SMALL = 32_767
"""The largest number of the store's 16-bit columns."""
MAX_SCORE, MAX_SHOWN = 1_000_000, 1_000
TOKENS = ("tokens_in", "tokens_out", "cached_tokens")
TEXTS = ("key", "text", "finish", "model", "error", "reply_kind", "kind", "template")
_WHOLE: Mapping[str, tuple[int, int]] = {
    "call": (0, 2**53),
    "arm": (0, MAX_SMALL),
    "item": (0, MAX_COUNT),
    "ordering": (0, MAX_COUNT),
    "read": (0, MAX_SMALL),
    "repeat": (0, MAX_SMALL),
    "status": (0, len(STATUSES) - 1),
    "position": (-1, MAX_SMALL),
    "attempts": (0, MAX_SMALL),
}
_NUMBERS: Mapping[str, tuple[float, float]] = {
    "score": (-MAX_SCORE, MAX_SCORE),
    "expected": (-MAX_SCORE, MAX_SCORE),
    # A sum of probabilities as a computer adds them up.
    **dict.fromkeys(("mass", *P_COLUMNS), (-1e-6, 1.001)),
}
CODES = ("call", "arm", "ordering", "read", "repeat")
"""Columns that only an imported run needs: where there is a study, its calls say them. Archives of
the first version do without."""
REQUIRED = (*_WHOLE, *_NUMBERS, *TOKENS, *TEXTS, "latency", "retryable", "asked")


class ArchiveError(LabError):
    """A file that is not a run's archive, or one whose rows do not belong to its study."""


# ---------------------------------------------------------------- members


def refuse_members(archive: zipfile.ZipFile) -> None:
    """Refuse names that stand twice (which one counts?) or lead out of the archive."""
    names = archive.namelist()
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ArchiveError(tr("The archive holds “{name}” twice. It is not read.", name=name[:80]))
        seen.add(name)
        if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
            raise ArchiveError(tr("The archive holds “{name}”, which leads out of it. It is not read.", name=name[:80]))


def json_member(archive: zipfile.ZipFile, name: str) -> Mapping[str, Any]:
    """A JSON object in the archive. Raises ArchiveError where it is beyond the limits."""
    value = json_value(name, archive.read(name).decode("utf-8-sig"), error=ArchiveError)
    if not isinstance(value, dict):
        raise ArchiveError(tr("{name} holds a {kind}, not a table of values.", name=name, kind=type(value).__name__))
    return value


# ---------------------------------------------------------------- rows


def storable_rows(frame: pd.DataFrame, name: str, *, coded: bool) -> pd.DataFrame:
    """Rows of judgments in the types of the store, with a column ``note``; else ArchiveError.

    ``coded``: the run has no study, so its rows must bring the CODES too.
    """
    missing = [column for column in REQUIRED if column not in frame and (coded or column not in CODES)]
    if missing:
        raise ArchiveError(
            tr(
                "{name} lacks the {columns} {missing}.",
                name=name,
                columns=plural("column", len(missing)),
                missing=", ".join(missing[:6]),
            )
        )
    rows = frame.reset_index(drop=True)
    notes = rows["note"].to_list() if "note" in rows else [None] * len(rows)
    made: dict[str, Any] = {}
    for column, (low, high) in _WHOLE.items():
        if column in rows:
            made[column] = _whole(rows, column, low, high, name)
    for column, (least, most) in _NUMBERS.items():
        values = made[column] = _numbers(rows, column, name)
        beyond = ~np.isnan(values) & ~((values >= least) & (values <= most))
        _refuse(rows, column, name, beyond, tr("a number from {least:g} to {most:g}", least=least, most=most))
    for column in TOKENS:
        tokens = pd.Series(_possible(rows, column, name, notes, whole=True, instead=np.nan))
        made[column] = tokens.astype("Int64").astype(object).where(tokens.notna(), None)
    made["latency"] = _possible(rows, "latency", name, notes, whole=False, instead=0.0)
    for column in TEXTS:
        made[column] = _texts(rows, column, name)
    again = _numbers(rows, "retryable", name)
    made["retryable"] = np.nan_to_num(again) != 0
    made["asked"] = _times(rows["asked"])
    if "line" in rows:  # only judgments read from a log have them
        made["line"] = _whole(rows.assign(line=rows["line"].fillna(0)), "line", 0, 2**53, name)
        made["prompt"] = _texts(rows, "prompt", name) if "prompt" in rows else None
    made["note"] = [text if isinstance(text, str) else None for text in notes]
    return pd.DataFrame(made)


def refuse_twice(rows: pd.DataFrame, name: str) -> None:
    """Raises ArchiveError where two rows give one item of one call a score."""
    again = np.flatnonzero(rows.duplicated(["call", "item"]).to_numpy())
    if again.size:
        row = rows.iloc[int(again[0])]
        raise ArchiveError(
            tr(
                "{name}, row {row:,}: call {call} and item {item} stand in an earlier row already.",
                name=name,
                row=again[0] + 1,
                call=row["call"],
                item=row["item"],
            )
        )


def _numbers(rows: pd.DataFrame, column: str, name: str) -> np.ndarray:
    """A column as floats, NaN for what is missing. Raises ArchiveError for anything else."""
    cells = rows[column]
    values = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    _refuse(rows, column, name, np.isnan(values) & cells.notna().to_numpy(), tr("a number"))
    return np.asarray(values)


def _possible(
    rows: pd.DataFrame, column: str, name: str, notes: list[Any], *, whole: bool, instead: float
) -> np.ndarray:
    """A column of counts, ``instead`` of what is none; ``notes`` say of those rows what was left out."""
    values = _numbers(rows, column, name)
    fits = (values >= 0) & (values <= MAX_COUNT)
    odd = ~np.isnan(values) & ~(fits & (values == np.floor(values)) if whole else fits)
    _note(notes, rows, column, odd)
    return np.where(odd, instead, values)


def _whole(rows: pd.DataFrame, column: str, low: int, high: int, name: str) -> np.ndarray:
    values = _numbers(rows, column, name)
    fits = (values >= low) & (values <= high) & (values == np.floor(values))
    _refuse(rows, column, name, ~fits, tr("a whole number from {low} to {high:,}", low=low, high=high))
    return values.astype(np.int64)


def _refuse(rows: pd.DataFrame, column: str, name: str, bad: np.ndarray, expected: str) -> None:
    at = np.flatnonzero(bad)
    if at.size:
        more = tr(" ({others:,} more rows too)", others=at.size - 1) if at.size > 1 else ""
        cell = rows[column].iloc[int(at[0])]
        raise ArchiveError(
            tr(
                "{name}, row {row:,}, column “{column}”: “{cell!s:.60}” is not {expected}{more}.",
                name=name,
                row=at[0] + 1,
                column=column,
                cell=cell,
                expected=expected,
                more=more,
            )
        )


def _note(notes: list[Any], rows: pd.DataFrame, column: str, odd: np.ndarray) -> None:
    """Say of each odd row what was left out, beside what its note says already."""
    for row in np.flatnonzero(odd).tolist():
        words = f"{column} was {str(rows[column].iloc[row])[:40]}, which is no count; left out"
        before = notes[row] if isinstance(notes[row], str) and notes[row] else None
        notes[row] = words if before is None or words in before else f"{before}; {words}"


def _texts(rows: pd.DataFrame, column: str, name: str) -> list[str | None]:
    cells = rows[column].astype(object).where(rows[column].notna(), None).to_list()
    odd = np.array([cell is not None and not isinstance(cell, str) for cell in cells], dtype=bool)
    _refuse(rows, column, name, odd, tr("a text"))
    return cells


def _times(cells: pd.Series[Any]) -> pd.Series[Any]:
    """When each call was asked; a time that none can be is not known."""
    times = pd.to_datetime(cells, errors="coerce", utc=True)
    return times.dt.tz_localize(None).astype("datetime64[us]")


# ---------------------------------------------------------------- an imported run


def arms_and_orderings(head: Mapping[str, Any]) -> tuple[tuple[Arm, ...], tuple[Ordering, ...]]:
    """What ``run.json`` says was compared, in the ranges that the findings are made for."""
    arms = tuple(_arm(body) for body in head["arms"])
    orderings = tuple(_ordering(body) for body in head["orderings"])
    if not 0 < len(arms) <= MAX_SMALL:
        raise ArchiveError(
            tr("run.json names {arms}; 1 to {most:,} are read.", arms=many(len(arms), "arm"), most=MAX_SMALL)
        )
    return arms, orderings


def _arm(body: Mapping[str, Any]) -> Arm:
    arm = arm_of(body)
    texts = (arm.judge, arm.dataset, arm.strategy)
    if not all(isinstance(text, str) for text in texts) or arm.axis not in get_args(Axis):
        raise ArchiveError(tr("run.json: {body} is no arm: names are texts, axis known.", body=str(body)[:80]))
    if not _is_whole(arm.n_positions, 0, MAX_SHOWN) or len(arm.scores) > MAX_SHOWN:
        raise ArchiveError(
            tr(
                "run.json: an arm of “{judge}” has {positions} positions and {scores}; at most {most:,} are read.",
                judge=arm.judge[:40],
                positions=str(arm.n_positions)[:40],
                scores=many(len(arm.scores), "score"),
                most=MAX_SHOWN,
            )
        )
    if not all(_is_whole(score, -MAX_SCORE, MAX_SCORE) for score in arm.scores):
        raise ArchiveError(
            tr(
                "run.json: a score of an arm of “{judge}” is no whole number within {most:,}.",
                judge=arm.judge[:40],
                most=MAX_SCORE,
            )
        )
    return arm


def _ordering(body: Mapping[str, Any]) -> Ordering:
    shown, labels = tuple(body["shown"]), tuple(body["labels"])
    plain = all(isinstance(s, str) or _is_whole(s, -MAX_SCORE, MAX_SCORE) for s in shown)
    if not 0 < len(shown) <= MAX_SHOWN or len(labels) not in (0, len(shown)) or not plain:
        raise ArchiveError(tr("run.json: {body} is no ordering of scores or names.", body=str(body)[:80]))
    if not all(isinstance(label, str) for label in labels):
        raise ArchiveError(tr("run.json: the labels of {body} are not texts.", body=str(body)[:80]))
    return Ordering(shown, labels)


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def raters_of(items: pd.DataFrame) -> list[tuple[float, ...]]:
    """The ratings of each item. Raises ArchiveError for one that is no number."""
    raters = []
    for row, given in enumerate(items["human"]):
        ratings = tuple(map(float, given)) if isinstance(given, np.ndarray | list) else ()
        if not all(abs(rating) <= MAX_RATING for rating in ratings):
            raise ArchiveError(
                tr("Item {row} of the archive has a rating that is no number from -1e9 to 1e9.", row=row)
            )
        raters.append(ratings)
    return raters


def rater_names_of(raters: Sequence[Sequence[float]], more: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The names of each item's raters. Raises ArchiveError unless one text a rating."""
    names = []
    for row, (given, parts) in enumerate(zip(raters, more, strict=True)):
        try:
            names.append(rater_names(parts.get("raters"), given))
        except ValueError as fault:
            raise ArchiveError(tr("Item {row} of the archive has {fault}.", row=row, fault=fault)) from None
    return names


def refuse_positions(shown: Iterable[int], positions: np.ndarray, name: str) -> None:
    """Raises ArchiveError for a position beyond what was shown in a row."""
    beyond = np.flatnonzero(positions > np.fromiter(shown, dtype=np.int64))
    if beyond.size:
        raise ArchiveError(
            tr(
                "{name}, row {row:,}: position {position:,} is beyond what was shown.",
                name=name,
                row=beyond[0] + 1,
                position=positions[beyond[0]],
            )
        )


# ---------------------------------------------------------------- a study's data


def dataset_of(value: Mapping[str, Any]) -> Dataset:
    """The data set that a study was made with, its texts texts and its ratings numbers."""
    items: tuple[Item, ...] | tuple[Comparison, ...]
    if value["kind"] == "comparisons":
        items = tuple(_comparison(row) for row in value["items"])
    else:
        items = tuple(_item(row) for row in value["items"])
    rubric = rubric_from_value(value["rubric"]) if value["rubric"] else None
    return Dataset(name=str(value["name"]), items=items, rubric=rubric, origin=str(value["origin"]))


def _comparison(row: Mapping[str, Any]) -> Comparison:
    listed = {name: tuple(row[name]) for name in ("turns", "candidates", "references")}
    responses = tuple(tuple(answers) for answers in row["responses"])
    texts = [*(text for part in listed.values() for text in part), *(t for r in responses for t in r)]
    _refuse_no_text(row, [row["item_id"], *texts], [row.get("prompt"), row.get("task")])
    return Comparison(**{**row, **listed, "responses": responses, "columns": _columns(row)})


def _item(row: Mapping[str, Any]) -> Item:
    human = tuple(row["human"])
    references = {int(score): text for score, text in row["references"].items()}
    plain = [row[name] for name in ("item_id", "instruction", "response")]
    others = [row.get(name) for name in ("criterion", "block", "prompt", "candidate", "task")]
    _refuse_no_text(row, [*plain, *references.values()], others)
    if not all(isinstance(r, int | float) and abs(r) <= MAX_RATING for r in human):
        raise ArchiveError(
            tr("Item {item!r} has a rating that is no number from -1e9 to 1e9.", item=row["item_id"][:60])
        )
    try:
        names = rater_names(row.get("raters"), human)
    except ValueError as fault:
        raise ArchiveError(tr("Item {item!r} has {fault}.", item=row["item_id"][:60], fault=fault)) from None
    return Item(**{**row, "human": human, "references": references, "columns": _columns(row), "raters": names})


def _columns(row: Mapping[str, Any]) -> dict[str, str]:
    """An item's other columns; none in what was written before there were any."""
    columns = dict(row.get("columns") or {})
    _refuse_no_text(row, [*columns, *columns.values()], [])
    return columns


def _refuse_no_text(row: Mapping[str, Any], texts: list[Any], others: list[Any]) -> None:
    if all(isinstance(t, str) for t in texts) and all(t is None or isinstance(t, str) for t in others):
        return
    raise ArchiveError(tr("Item {item!r} has a part that is no text.", item=str(row["item_id"])[:60]))
