"""Cells of a table of comparisons, and what is said of one that cannot be read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rubriclab.model import DataError
from rubriclab.model.language import tr


def no_blanks(table: pd.DataFrame, column: str) -> None:
    blank = np.flatnonzero((table[column] == "").to_numpy())
    if len(blank):
        raise DataError(
            tr(
                "Row {row}, column “{column}” is empty{more}. Every row needs a {column}.",
                row=blank[0] + 2,
                column=column,
                more=and_more(len(blank) - 1),
            )
        )


def and_more(count: int) -> str:
    return tr(" (and {count} more rows)", count=count) if count else ""


def fault(row: int, column: str, value: str, expected: str) -> DataError:
    return DataError(
        tr(
            "Row {row}, column “{column}”: “{value}” is not {expected}.",
            row=row + 2,
            column=column,
            value=value,
            expected=expected,
        )
    )


def numbers(table: pd.DataFrame, column: str, expected: str) -> np.ndarray:
    """A column of numbers, NaN for blank cells."""
    values = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values) & (table[column] != "").to_numpy())
    if len(bad):
        raise fault(int(bad[0]), column, str(table[column].iloc[bad[0]])[:60], expected)
    return values
