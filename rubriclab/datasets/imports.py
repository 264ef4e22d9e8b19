"""Judgments made elsewhere, by kind: which reader takes which table."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubriclab.model import DataError, RunData
from rubriclab.model.language import msg, tr

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Reader:
    """One kind of table that becomes a run.

    ``read(frame, name=...)`` gives the run or raises DataError with the place of a fault.
    ``title``: what a row is, for a form. ``columns``: those that it wants; ``more``: what else
    a person should know of them; ``needs``: each set of columns that makes a table one of this kind;
    ``coded``: it reads columns of categories.
    """

    read: Callable[..., RunData]
    title: str
    columns: str
    more: str = ""
    needs: tuple[frozenset[str], ...] = ()
    coded: bool = True


def read_judgments(kind: str, file: str, content: bytes, *, name: str, limit_mb: int | None = None) -> RunData:
    """The judgments in a file of that ``kind``. Raises DataError naming the place of a fault."""
    from rubriclab.datasets.limits import reading
    from rubriclab.datasets.tables import read_table

    reader = READERS[kind]
    frame = read_table(file, content, limit_mb=limit_mb, coded=reader.coded)
    with reading(file, tr("cannot be read as judgments ({kind})", kind=kind)):
        return reader.read(frame, name=name)


def frame_file(frame: pd.DataFrame) -> tuple[str, bytes]:
    """A table in memory as the name and content of a file, so that it is read like any other.

    Lists in cells (an ordering) become text. Raises DataError for a table without rows, with a
    column twice, or with values that no file holds.
    """
    from rubriclab.datasets.limits import reading

    if frame.empty:
        raise DataError(tr("The table has no rows. Give one judgment a row."))
    twice = sorted(str(name) for name in frame.columns[frame.columns.duplicated()])
    if twice:
        raise DataError(tr("The table has the column “{column}” twice; names must differ.", column=twice[0]))
    out = io.BytesIO()
    with reading(tr("the table")):
        plain = frame.reset_index(drop=True).rename(columns=str)
        mixed: list[str] = list(plain.select_dtypes(["object", "category"], exclude="str"))
        for column in mixed:
            texts = plain[column].astype("object").map(_cell, na_action="ignore")
            plain[column] = texts.astype("str")
        plain.to_parquet(out, index=False)
    return "table.parquet", out.getvalue()


def _cell(value: object) -> str:
    """A list as text, its parts apart by a bar: names of criteria may hold blanks."""
    if isinstance(value, list | tuple):
        return "|".join(map(str, value))
    return str(value)


# ---------------------------------------------------------------- the kinds, imported when used


def _scores(frame: pd.DataFrame, *, name: str) -> RunData:
    from rubriclab.datasets.scores import read_scores

    return read_scores(frame, name=name)


def _criteria(frame: pd.DataFrame, *, name: str) -> RunData:
    from rubriclab.datasets.criteria import read_criteria

    return read_criteria(frame, name=name)


def _batches(frame: pd.DataFrame, *, name: str) -> RunData:
    from rubriclab.datasets.batches import read_batches

    return read_batches(frame, name=name)


def _pairs(frame: pd.DataFrame, *, name: str) -> RunData:
    from rubriclab.datasets.pairs import read_pairs

    return read_pairs(frame, name=name)


READERS: Mapping[str, Reader] = {
    "scores": Reader(
        _scores,
        msg("Scores: one judgment a row"),
        "judge, dataset, item_id, ordering, score",
        msg(
            "`ordering` is the shown order, as `3 1 2 5 4`. Optional: `criterion, block, prompt, candidate, "
            "human, repeat, strategy`."
        ),
        (frozenset({"judge", "dataset", "item_id", "ordering", "score"}),),
    ),
    "criteria": Reader(
        _criteria,
        msg("Criterion order: one criterion's score a row"),
        "judge, dataset, text_id, ordering, criterion, score",
        msg("`ordering` is the order in which the criteria stood in the call."),
        (frozenset({"judge", "dataset", "text_id", "ordering", "criterion", "score"}),),
    ),
    "batches": Reader(
        _batches,
        msg("Several responses a call: one response's score a row"),
        "judge, dataset, item_id, batch, place, score",
        msg(
            "`batch` names the responses asked for together, `place` where one stood, from 1; both are blank "
            "for a single call. Optional: `order` (which order of the batch), `repeat, criterion, prompt, "
            "human, strategy`."
        ),
        (frozenset({"judge", "dataset", "item_id", "batch", "place", "score"}),),
    ),
    "pairs": Reader(
        _pairs,
        msg("Comparisons: one verdict a row"),
        "judge, question_id, task, first, second, choice",
        needs=(
            frozenset({"judge", "question_id", "first", "second", "choice"}),
            frozenset({"judge", "question_id", "order", "winner"}),
        ),
        coded=False,
    ),
}
"""Every kind, in the order in which forms offer them: a new one is a reader and a line here."""


def kind_of_table(columns: Iterable[object]) -> str | None:
    """The kind that a table with these columns is of; None where no kind or more than one fits."""
    has = {str(column).strip().casefold().replace(" ", "_") for column in columns}
    fitting = [kind for kind, reader in READERS.items() if any(needed <= has for needed in reader.needs)]
    return fitting[0] if len(fitting) == 1 else None
