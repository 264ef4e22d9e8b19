"""Limit what a file of a stranger may cost, and check it before it is opened.

All limits are here, so that they can be reviewed together. Each is checked before the thing that
it bounds is built.
"""

import os
import stat
from pathlib import Path

from rubriclab.model.text import LabError, shorten

MB = 1_000_000
MAX_FILE = 100 * MB
"""Bytes of an upload as it comes."""
MAX_UNPACKED = 500 * MB
"""Bytes of a file once it is unpacked: a quarter of the worker's memory. A bomb ends here."""
MAX_PLAIN = 2 * MB
"""Bytes of a rubric or another file that people write by hand."""
MAX_ROWS = 2_000_000
"""Rows of a table of answers: each becomes an item in memory."""
MAX_JUDGMENTS = 20_000_000
"""Rows of a table of judgments, which stay in compact columns."""
MAX_COLUMNS = 4_000
"""Columns of a table; more are a table that was turned on its side."""
MAX_CELLS = 20_000_000
"""Values of a JSON text or cells of a sheet: each is a Python object of some hundred bytes."""
MAX_JUDGMENT_CELLS = 200_000_000
"""Cells of a table in compact columns."""
MAX_NAME = 1_000
"""Characters of a column's name; a longer one is a text, so that the header is missing."""
MAX_DEPTH = 64
"""Levels of lists and objects in each other. Python's own recursion ends at some hundreds."""
MAX_DIGITS = 300
"""Digits of a number. Reading many takes quadratic time, and a float ends at 1e308."""
MAX_NODES = 100_000
"""Values of a YAML file, whose reader is slow."""
MAX_RATING = 1e9
"""Largest size of a score, so that sums of squares stay exact enough."""
MAX_CRITERIA = 100
"""Criteria of a rubric."""
MAX_DESCRIPTION = 20_000
"""Characters of a name or description in a rubric: all of them are in every judge prompt."""
MAX_CELL = 20 * MB
"""Bytes of one cell. Whole books fit; a file without a closing quote does not."""
WORKER_MEMORY = 2_000 * MB
"""Address space of the process that reads files of strangers."""
START_SECONDS = 60.0
"""Time for that process to load its libraries, on a slow disk too."""
WORKER_SECONDS = 10.0
"""Time to read a small file."""
LARGE = 10 * MB
"""Bytes above which a file may take LARGE_SECONDS instead."""
LARGE_SECONDS = 30.0


def refusal(name: str, words: str) -> LabError:
    """Return an error that begins with the name of the file and continues with ``words``."""
    return LabError(f"“{shorten(name)}”{words}")


HELD_FILES: set[tuple[int, int]] = set()
"""(device, inode) of the stores that are open in this process. Closing any descriptor of such a
file would drop the lock that keeps other processes out, so it is never opened a second time.
"""


def user_path(text: str | Path, use: str = "read") -> Path:
    """Return a path that a person wrote, with its ``~`` expanded.

    ``use``: what will be done with the file, for the message: read or written. Raises LabError for
    a name that no file can have.
    """
    try:
        path = Path(text).expanduser()
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, ValueError, RuntimeError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        kept = " The previous file is unchanged." if use == "written" else ""
        raise refusal(str(text), f" cannot be {use}: {why}.{kept} Check the name.") from None
    return path


def names_file(text: str | Path) -> bool:
    """Return whether this is the name of an existing file; no text is refused."""
    try:
        return user_path(text).is_file()
    except (LabError, OSError):
        return False


def checked_file(path: str | Path, most: int = MAX_FILE) -> Path:
    """Return the path of an ordinary file of at most ``most`` bytes. Raises LabError for others.

    A pipe or a device could block for ever, or never end.
    """
    path = user_path(path)
    try:
        known = path.stat()
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise refusal(str(path), f" cannot be read: {why}. Check the name.") from None
    if (known.st_dev, known.st_ino) in HELD_FILES:
        raise refusal(
            str(path), " is the store that this lab has open, not data. Name another file."
        )
    if not stat.S_ISREG(known.st_mode):
        kind = "a folder" if stat.S_ISDIR(known.st_mode) else "a pipe or a device"
        raise refusal(str(path), f" cannot be read: it is {kind}, not a file. Name a file.")
    if not os.access(path, os.R_OK):
        raise refusal(str(path), " cannot be read: permission denied. Change its permissions.")
    refuse_size(path.name, known.st_size, most)
    return path


def refuse_size(name: str, size: int, most: int = MAX_FILE) -> None:
    """Raise LabError for an empty file and for one beyond the limit."""
    if size > most:
        words = f" has {size / MB:,.1f} MB; the limit is {most / MB:,.0f} MB."
        raise refusal(name, f"{words} Split it, or save it as Parquet or .gz.")
    if size == 0:
        raise refusal(name, " is empty: it has no header and no rows. Check the export.")
