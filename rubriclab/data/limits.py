"""A file that others wrote in, the same checked out: one table of limits, held before what they
bound is built.
"""

import os
import stat
from pathlib import Path

from rubriclab.model.text import LabError, shorten

MB = 1_000_000
MAX_FILE = 100 * MB
MAX_UNPACKED = 500 * MB
MAX_PLAIN = 2 * MB
"""A rubric: what people write by hand."""
MAX_ROWS = 2_000_000
MAX_JUDGMENTS = 20_000_000
MAX_COLUMNS = 4_000
MAX_CELLS = 20_000_000
MAX_JUDGMENT_CELLS = 200_000_000
MAX_NAME = 1_000
"""Signs of a column's name."""
MAX_DEPTH = 64
MAX_DIGITS = 300
MAX_NODES = 100_000
"""Values in a YAML file."""
MAX_RATING = 1e9
MAX_CRITERIA = 100
MAX_DESCRIPTION = 20_000
MAX_CELL = 20 * MB
WORKER_MEMORY = 2_000 * MB
START_SECONDS, WORKER_SECONDS = 60.0, 10.0
LARGE, LARGE_SECONDS = 10 * MB, 30.0
"""A file of more than LARGE bytes may take LARGE_SECONDS."""


def refusal(name: str, words: str) -> LabError:
    """An error about a file of this name; ``words`` go on behind it."""
    return LabError(f"“{shorten(name)}”{words}")


HELD_FILES: set[tuple[int, int]] = set()
"""(device, inode) of the stores that are open in this process. Closing any descriptor of such a
file would drop the lock that keeps other processes out, so it is never opened a second time.
"""


def user_path(text: str | Path, use: str = "read") -> Path:
    """Return a path that a person wrote, its ``~`` expanded. Raises LabError for what no file can
    be called.

    ``use``: what is to be done with the file, for the message: read or written.
    """
    try:
        path = Path(text).expanduser()
        path.lstat()
    except FileNotFoundError:
        return path
    except (OSError, ValueError, RuntimeError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        kept = " What was there before is as it was." if use == "written" else ""
        raise refusal(str(text), f" cannot be {use}: {why}.{kept} Check the name.") from None
    return path


def names_file(text: str | Path) -> bool:
    """Return whether an existing file is called so; a text that no file can be called names
    none.
    """
    try:
        return user_path(text).is_file()
    except (LabError, OSError):
        return False


def checked_file(path: str | Path, most: int = MAX_FILE) -> Path:
    """``path`` where it is an ordinary file of at most ``most`` bytes; a pipe or a device is never
    waited for.
    """
    path = user_path(path)
    try:
        known = path.stat()
    except (OSError, ValueError) as fault:
        why = getattr(fault, "strerror", None) or str(fault)
        raise refusal(str(path), f" cannot be read: {why}. Check the name.") from None
    if (known.st_dev, known.st_ino) in HELD_FILES:
        raise refusal(
            str(path), " is the store that this lab has open, so it is no data. Name another file."
        )
    if not stat.S_ISREG(known.st_mode):
        kind = "a folder" if stat.S_ISDIR(known.st_mode) else "a pipe or a device"
        raise refusal(str(path), f" cannot be read: it is {kind}, not a file. Name a file.")
    if not os.access(path, os.R_OK):
        raise refusal(str(path), " cannot be read: permission denied.")
    refuse_size(path.name, known.st_size, most)
    return path


def refuse_size(name: str, size: int, most: int = MAX_FILE) -> None:
    """Raises LabError for nothing at all and for more than is read."""
    if size > most:
        words = f" has {size / MB:,.1f} MB; at most {most / MB:,.0f} MB are read."
        raise refusal(name, f"{words} Split it, or save it as Parquet or .gz.")
    if size == 0:
        raise refusal(name, " is empty: it has no header and no rows. Check the export.")
