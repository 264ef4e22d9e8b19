"""What the readers of published files share: the table that a file must be, and the project's rubrics."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from importlib.resources import files

import pandas as pd

from rubriclab.datasets.rubrics import rubric_from_value
from rubriclab.datasets.tables import table_name
from rubriclab.model import DataError, Rubric
from rubriclab.model.language import tr
from rubriclab.model.wording import many


def table_with(frames: Sequence[pd.DataFrame], columns: Sequence[str], what: str) -> pd.DataFrame:
    """The one table that has all of ``columns``. Raises DataError naming the nearest miss."""
    fitting = tables_with(frames, columns)
    if fitting:
        return fitting[0]
    nearest = max(frames, key=lambda f: len(set(columns) & set(f.columns)))
    missing = [c for c in columns if c not in set(nearest.columns)]
    raise drift(
        nearest,
        tr(
            "{what} need the {columns:column|columns} {names}",
            what=what,
            columns=many(len(missing), "column"),
            names=", ".join(missing[:6]),
        ),
    )


def tables_with(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> list[pd.DataFrame]:
    """The tables that have all of ``columns``, in the order given."""
    return [frame for frame in frames if set(columns) <= set(frame.columns)]


def drift(frame: pd.DataFrame, what: str) -> DataError:
    """A file that is not what its recipe knows, with the columns that it has."""
    return DataError(
        tr(
            "“{table}” is not in the format this recipe knows: {what}. It has: {columns}. If the data set "
            "has changed, map its columns yourself.",
            table=table_name(frame),
            what=what,
            columns=", ".join(frame.columns.tolist()[:12]),
        )
    )


def own_rubric(key: str, criteria: Collection[str] | None = None) -> Rubric:
    """The project's own score descriptions for data sets that come without any; only ``criteria`` where given."""
    rubric = rubric_from_value(tomllib.loads(resource("recipe_rubrics.toml"))[key], where=key)
    if criteria is None:
        return rubric
    return Rubric(rubric.name, tuple(one for one in rubric.criteria if one.name in criteria))


def resource(name: str) -> str:
    """The text of a data file of this room."""
    return files("rubriclab.datasets").joinpath(name).read_text(encoding="utf-8")
