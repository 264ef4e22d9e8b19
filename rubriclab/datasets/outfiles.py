"""The one way out: files that are whole or not there, and CSV in which a spreadsheet runs nothing."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from rubriclab.model import LabError
from rubriclab.model.language import tr
from rubriclab.model.storable import storable_text

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
"""How a cell begins that a spreadsheet computes (OWASP, CSV Injection), or that was one before
an apostrophe was put in front of it."""
SHIELDED = r"^'+[=+\-@\t\r\n＝＋－＠]"
"""How a cell begins that ``csv_bytes`` put an apostrophe in front of; its reader takes it off."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


# ---------------------------------------------------------------- files


@contextmanager
def whole_file(path: Path, error: type[LabError] = LabError) -> Iterator[BinaryIO]:
    """A file to write that takes its name only when it is whole and on the disk.

    It grows beside ``path`` under another name; a fault on the way takes it away again and
    leaves what was at ``path`` as it was. Raises ``error`` where it cannot be written.
    """
    try:
        # A link is written through, as open() would, and stays a link.
        target = path.expanduser().resolve()
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        if target.exists() and not target.is_file():
            raise error(tr("{path} is no ordinary file. Name a file to write.", path=path))
        # The name stays within the 255 bytes of a file name, however long the target's is.
        part = target.parent / f".{secrets.token_hex(8)}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as fault:
        raise _unwritten(path, fault, error) from fault
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as fault:
        raise _unwritten(path, fault, error) from fault
    finally:
        # After the rename there is nothing of that name; a disk that fails says so above.
        with suppress(OSError):
            part.unlink()


def write_file(path: Path, content: bytes | str, error: type[LabError] = LabError) -> None:
    """``content`` (text as UTF-8) as a whole file. Raises ``error`` where it cannot be written."""
    body = content.encode() if isinstance(content, str) else content
    with whole_file(path, error) as file:
        file.write(body)


def _unwritten(path: Path, fault: OSError, error: type[LabError]) -> LabError:
    return error(
        tr(
            "{path} cannot be written: {why}. What was there before is as it was.",
            path=path,
            why=fault.strerror or fault,
        )
    )


# ---------------------------------------------------------------- CSV


def csv_bytes(frame: pd.DataFrame) -> bytes:
    """A table as CSV (UTF-8, without its index) in which a spreadsheet runs nothing.

    A text that begins as a formula does gets an apostrophe before it, which spreadsheets take
    for "this is text"; so does one that begins with apostrophes and then such a sign, so that
    ``unshielded`` gives every text back. Numbers stay as they are, also those kept as text.
    """
    shielded = frame.copy(deep=False)
    shielded.columns = pd.Index([_shielded(name) for name in frame.columns], dtype=object)
    for at in range(shielded.shape[1]):  # by place, since names may repeat
        column = frame.iloc[:, at]
        if not pd.api.types.is_numeric_dtype(column):
            cells = [_shielded(value) for value in column.astype(object)]
            shielded.isetitem(at, pd.array(cells, dtype="object"))
    # The end of a line by RFC 4180: with "\n" alone a cell that holds "\r" would not be quoted.
    return shielded.to_csv(index=False, lineterminator="\r\n").encode()


def _shielded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = storable_text(value)  # half a character has no UTF-8
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
