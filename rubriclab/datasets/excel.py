"""The first sheet of an Excel workbook as a frame, whatever its dimensions claim."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from rubriclab.datasets.limits import checked_workbook, reading, refuse_cells
from rubriclab.model.language import tr

Row = tuple[Any, ...]


def excel_rows(name: str, content: bytes, notes: list[str]) -> list[Row]:
    """The rows of the first sheet down to the last cell that is filled, the header first.

    Rows end at their last filled cell. Raises DataError beyond the limits of cells and bytes,
    counted over what is there: a workbook may claim, or have formatted, a million blank rows.
    """
    with reading(name, tr("is not a readable Excel workbook")):
        checked_workbook(name, content)
        import openpyxl  # takes long, and few ever bring a workbook

        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        # Without it every row is as wide as the sheet claims: 16,384 cells for one.
        sheet.reset_dimensions()
        rows = _filled(name, sheet.iter_rows(values_only=True))
    if len(book.sheetnames) > 1:
        others = ", ".join(book.sheetnames[1:])
        notes.append(
            tr("Read the first sheet, “{sheet}”; not read: {others}.", sheet=book.sheetnames[0], others=others)
        )
    return rows


def _filled(name: str, rows: Iterable[Row]) -> list[Row]:
    found: list[Row] = []
    width = blank = 0
    for row in rows:
        last = next((i for i in range(len(row), 0, -1) if row[i - 1] is not None), 0)
        if not last:
            blank += 1
            continue
        width = max(width, last)
        refuse_cells(name, len(found) + blank + 1, width)
        found.extend([()] * blank)
        found.append(row[:last])
        blank = 0
    return found


def excel_names(rows: Sequence[Row]) -> list[str]:
    """A name for each column: its header, trimmed, or its number."""
    width = max(map(len, rows), default=0)
    header = rows[0] if rows else ()
    given = [*header, *[None] * (width - len(header))]
    return [f"column {i + 1}" if cell is None else str(cell).strip() for i, cell in enumerate(given)]


def excel_frame(rows: Sequence[Row], names: Sequence[str]) -> pd.DataFrame:
    """The rows below the header under ``names``; what is not filled is None."""
    cells = {
        column: pd.Series([r[i] if i < len(r) else None for r in rows[1:]], dtype=object)
        for i, column in enumerate(names)
    }
    frame = pd.DataFrame(cells)
    frame.attrs["first_line"] = 2
    return frame
