"""Texts inside the objects of a table's cells, as columns of their own: ``{"text": …}`` under “output” is “output.text”."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from rubriclab.datasets.prometheus import is_score_rubric

DEEPEST, MOST = 3, 40
"""Levels that are looked into, and columns that are added."""
LIKELY = ("text", "content", "output", "response", "answer", "completion", "message")
"""Where a text mostly lies in an object, the likeliest first."""


def with_texts_inside(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with a column for each text inside its cells' objects; its own columns stay as they are."""
    added: dict[str, list[str | None]] = {}
    for column in frame.columns:
        if not any(isinstance(cell, Mapping) for cell in frame[column].head(50).tolist()):
            continue
        for row, cell in enumerate(frame[column].tolist()):
            for path, text in _texts(cell, 1):
                name = f"{column}.{path}"
                if name in added or (len(added) < MOST and name not in frame.columns):
                    added.setdefault(name, [None] * len(frame))[row] = text
    if not added:
        return frame
    more = pd.DataFrame({name: pd.Series(texts, dtype=object) for name, texts in added.items()})
    return pd.concat([frame, more], axis=1)


def _texts(cell: Any, level: int) -> Iterator[tuple[str, str]]:
    if not isinstance(cell, Mapping) or is_score_rubric(cell):
        return
    for key, value in cell.items():
        if isinstance(value, str):
            yield str(key), value
        elif level < DEEPEST:
            yield from ((f"{key}.{path}", text) for path, text in _texts(value, level + 1))


def likely_text(frame: pd.DataFrame, column: str) -> str:
    """The column that holds the text of ``column``: itself, or the likeliest text inside its objects."""
    inside = [str(name) for name in frame.columns if str(name).startswith(f"{column}.")]
    if not inside or not any(isinstance(cell, Mapping) for cell in frame[column].head(50)):
        return column
    return next((f"{column}.{key}" for key in LIKELY if f"{column}.{key}" in inside), inside[0])
