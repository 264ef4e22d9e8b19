"""Frames and bytes in, files out: CSV in which a spreadsheet runs nothing, and files that are whole
or as before.
"""

import os
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

from rubriclab.data.limits import user_path
from rubriclab.model.text import LabError, storable

# An apostrophe stands before what a spreadsheet would take for a formula, and before apostrophes
# that lead to one, so that taking one off gives every text back.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
SHIELDED = r"^'+[=+\-@\t\r]"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV without its index; a text that begins as a formula gets an apostrophe, numbers
    stay numbers.
    """
    columns = {}
    for k in range(frame.shape[1]):  # by position, since names may repeat
        column = frame.iloc[:, k].reset_index(drop=True)
        numeric = pd.api.types.is_numeric_dtype(column)
        columns[k] = (
            column if numeric else pd.Series([shield(cell) for cell in column], dtype=object)
        )
    # The end of a line by RFC 4180: with "\n" alone a cell that holds "\r" would not be quoted.
    header = [str(shield(str(name))) for name in frame.columns]
    return pd.DataFrame(columns, copy=False).to_csv(
        index=False, header=header, lineterminator="\r\n"
    )


def shield(value: Any) -> Any:
    """A cell for a CSV file: texts storable, and shielded where a spreadsheet would compute
    them.
    """
    if not isinstance(value, str):
        return value
    text = storable(value)
    return f"'{text}" if FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def read_shielded(text: str) -> str:
    """The text that ``shield`` was given."""
    return text[1:] if re.match(SHIELDED, text) else text


def write_atomically(path: str | Path, content: bytes) -> Path:
    """``content`` at ``path``: killed or on a full disk, what was there before is as it was. Raises
    LabError.
    """
    path = user_path(path, "written")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name[:40]}.{uuid4().hex}.part")
        try:
            with aside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise LabError(
            f"{path} cannot be written: {why}. What was there before is as it was."
        ) from None
    return path
