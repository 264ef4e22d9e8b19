"""Answers of a spread on disk as they come: a line each at once, Parquet files when there are enough.

A process that is killed leaves its lines behind; :func:`whole_parts` makes a table of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubriclab.runs.answer_files import BatchError, answer_row, answer_table, write_answers
from rubriclab.runs.worker import Kept

ROWS = 4_096
"""Answers a Parquet file."""
UNFINISHED = ".lines"


class Keeper:
    """Writes the answers of a spread into its folder, and knows what each part still lacks.

    ``keep`` returns when the answers are with the operating system: they outlast the death of
    any process, though not a power cut.
    """

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name, self._files = Path(folder), name, 0
        self._keys: dict[int, set[str]] = defaultdict(set)
        self._rows: list[Mapping[str, Any]] = []
        self._lines = (self._folder / f"{name}{UNFINISHED}").open("a", encoding="utf-8")

    def keep(self, kept: Sequence[Kept]) -> None:
        """Write answers down; once this returns, none of them need ever be asked again."""
        rows = [answer_row(key, reply) for _, key, reply in kept]
        self._lines.writelines(json.dumps(row) + "\n" for row in rows)
        self._lines.flush()
        self._rows += rows
        for part, key, _ in kept:
            self._keys[part].add(key)
        if len(self._rows) >= ROWS:
            self._pack()

    def taken(self, part: int) -> set[str]:
        """Keys of a part whose answers are kept; the part is forgotten."""
        return self._keys.pop(part, set())

    def close(self) -> None:
        """All that is kept is in Parquet files afterwards."""
        self._pack()
        self._lines.close()
        Path(self._lines.name).unlink()

    def _pack(self) -> None:
        if self._rows:
            write_answers(self._folder / f"{self._name}-{self._files:06}.parquet", answer_table(self._rows))
        self._files += 1
        self._rows = []
        self._lines.truncate(0)  # only now: what is in no table yet must be in a line


def whole_parts(folder: Path) -> None:
    """Make tables of the lines that spreads left behind which were killed.

    A last line that was cut short is no answer: its call is asked again. Answers that are in a
    table too do no harm, since an import counts a key once.
    """
    for left in sorted(folder.glob(f"*{UNFINISHED}")):
        try:
            with left.open(encoding="utf-8") as lines:
                rows = list(_whole(lines))
            if rows:
                write_answers(left.with_name(f"{left.stem}-killed.parquet"), answer_table(rows))
            left.unlink()
        except OSError as error:
            raise BatchError(f"{left} cannot be read: {error.strerror or error}.") from error


def _whole(lines: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    for line in lines:
        if line.endswith("\n"):
            try:
                yield json.loads(line)
            except ValueError:
                continue
