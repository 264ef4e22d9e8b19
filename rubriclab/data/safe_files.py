"""Write files that are whole or unchanged, and CSV in which a spreadsheet runs nothing."""

import os
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd

from rubriclab.data.limits import user_path
from rubriclab.model.text import LabError, storable

# A spreadsheet runs a cell that begins like a formula, also one that a stranger's answer or a
# judge's reply brought. An apostrophe before it prevents that. Apostrophes that lead to a formula
# get one more, so that taking one off gives every text back.
FORMULA = re.compile(r"'*[=+\-@\t\r]")
SHIELDED = r"^'+[=+\-@\t\r]"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV without its index.

    A text that begins like a formula gets an apostrophe; numbers stay numbers.
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
    """Return a cell for a CSV file: texts that a spreadsheet would compute get an apostrophe."""
    if not isinstance(value, str):
        return value
    text = storable(value)
    return f"'{text}" if FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def read_shielded(text: str) -> str:
    """Return the text that ``shield`` was given."""
    return text[1:] if re.match(SHIELDED, text) else text


def write_atomically(path: str | Path, content: bytes) -> Path:
    """Write ``content`` to ``path`` completely or not at all, and return the path.

    If the process is killed or the disk is full, the previous file is unchanged. Raises LabError.
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
            f"{path} cannot be written: {why}. The previous file is unchanged. Choose another "
            "place, or free some space."
        ) from None
    return path
