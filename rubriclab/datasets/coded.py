"""Columns of imported judgments as integer codes: millions of rows without a Python loop.

Only the different values of a column are looked at one by one; every row is a code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.datasets.row_hash import AT_ONCE
from rubriclab.datasets.tables import place, table_name
from rubriclab.model import DataError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

Ints = NDArray[np.signedinteger]
"""Of whatever width: codes have 32 bits, sums and keys 64."""
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Value = TypeVar("Value")
MAX_WHOLE = 32_767
"""Of repeats, reads and arms: as the store keeps them."""
_ONE_NUMBER = re.compile(r"\s*[+-]?\d+(?:[.,]\d+)?\s*")


@dataclass(frozen=True)
class Coded:
    """``code`` (rows,): index into ``texts``, -1 for a blank cell."""

    name: str
    code: Codes
    texts: tuple[str, ...]


class CodedTable:
    """The columns of a frame by their plain names (trimmed, lower case, _ for spaces)."""

    def __init__(self, frame: pd.DataFrame, *, required: Sequence[str], optional: Sequence[str]) -> None:
        """Raises DataError naming required columns that are missing, and columns that repeat."""
        self.frame = frame
        self.rows = len(frame)
        self._column: dict[str, str] = {}
        for column in frame.columns:
            plain = str(column).strip().casefold().replace(" ", "_")
            if plain in self._column:
                raise DataError(tr("“{table}” has two columns named “{plain}”.", table=table_name(frame), plain=plain))
            self._column[plain] = column
        missing = [name for name in required if name not in self._column]
        if missing:
            raise DataError(
                tr(
                    "“{table}” lacks the {columns:column|columns} {missing}. It needs {required} and may have {optional}; it "
                    "has {given}.",
                    table=table_name(frame),
                    columns=many(len(missing), "column"),
                    missing=", ".join(missing),
                    required=", ".join(required),
                    optional=", ".join(optional),
                    given=", ".join(map(str, frame.columns[:20])),
                )
            )
        if not self.rows:
            raise DataError(tr("“{table}” has no rows below its header.", table=table_name(frame)))

    def __contains__(self, name: str) -> bool:
        return name in self._column

    def columns(self) -> tuple[str, ...]:
        return tuple(self._column)

    def coded(self, name: str, *, required: bool = False) -> Coded:
        """A column as codes. ``required``: DataError for a blank cell, naming its row."""
        codes, values = pd.factorize(self.frame[self._column[name]])
        found: dict[str, int] = {}
        lookup = np.full(len(values) + 1, -1, dtype=np.int32)
        for i, value in enumerate(values.tolist()):
            text = _text(value)
            if text:
                lookup[i] = found.setdefault(text, len(found))
        code = lookup[codes]
        if required and (blank := np.flatnonzero(code < 0)).size:
            more = tr(" ({count:,} more rows too)", count=blank.size - 1) if blank.size > 1 else ""
            raise DataError(tr("{at} is blank{more}; every row needs one.", at=self.at(int(blank[0]), name), more=more))
        return Coded(name, code, tuple(found))

    def numeric(self, name: str) -> Coded:
        """A column of numbers as codes; decimal commas (6,5) are points in a column that has them."""
        column = self.coded(name)
        if not has_decimal_commas(column.texts):
            return column
        return Coded(name, column.code, tuple(text.replace(",", ".") for text in column.texts))

    def at(self, row: int, name: str) -> str:
        """Where a cell stands, for messages."""
        return place(self.frame, row, self._column[name])

    def parsed(self, column: Coded, parse: Callable[[str], Value | None], expected: str) -> list[Value]:
        """Each different text of a column, parsed. Raises DataError at the first None."""
        out: list[Value] = []
        for code, text in enumerate(column.texts):
            value = parse(text)
            if value is None:
                row = int(np.argmax(column.code == code))
                raise DataError(
                    tr(
                        "{at}: “{text}” is not {expected}.",
                        at=self.at(row, column.name),
                        text=text[:60],
                        expected=expected,
                    )
                )
            out.append(value)
        return out

    def numbers(self, name: str) -> Floats:
        """A column of numbers, NaN for blanks. Raises DataError naming the first other cell."""
        column = self.numeric(name)
        values = self.parsed(column, number, "a number")
        return np.append(np.asarray(values, dtype=np.float64), np.nan)[column.code]

    def whole_numbers(self, name: str) -> Ints:
        """A column of whole numbers from 0, blanks as 0."""
        column = self.coded(name)
        values = self.parsed(column, _whole, tr("a whole number from 0 to {most:,}", most=MAX_WHOLE))
        return np.append(np.asarray(values, dtype=np.int16), np.int16(0))[column.code]

    def of_items(self, name: str, item: Ints, n: int) -> Coded:
        """An attribute of items: (n,) codes, the one value that an item's rows give.

        Raises DataError where two rows of an item disagree.
        """
        column = self.coded(name)
        given = np.flatnonzero(column.code >= 0)
        code = np.full(n, -1, dtype=np.int32)
        # Written from the last row to the first, so that the first one stays.
        code[item[given[::-1]]] = column.code[given[::-1]]
        odd = given[code[item[given]] != column.code[given]]
        if odd.size:
            row = int(odd[0])
            raise DataError(
                tr(
                    "{at}: “{text}”, but an earlier row of the same item says “{before}”. An item has one.",
                    at=self.at(row, name),
                    text=column.texts[int(column.code[row])][:60],
                    before=column.texts[int(code[item[row]])][:60],
                )
            )
        return Coded(name, code, column.texts)


def joint(*codes: Ints) -> tuple[Codes, Ints]:
    """One code (rows,) for rows alike in every column, by appearance, and each one's first row."""
    out = pd.factorize(codes[0])[0].astype(np.int32)
    for code in codes[1:]:
        if int(code.min()) == int(code.max()):
            continue
        both = out.astype(np.int64)
        both *= int(code.max()) + 2
        both += code
        out = pd.factorize(both)[0].astype(np.int32)
    return out, first_rows(out)


def first_rows(code: Ints) -> Ints:
    """The first row of each code 0..n-1, all of which occur."""
    first = np.empty(int(code.max()) + 1, dtype=np.int64)
    for start in reversed(range(0, len(code), AT_ONCE)):
        part = code[start : start + AT_ONCE]
        first[part[::-1]] = np.arange(start + len(part) - 1, start - 1, -1)
    return first


def rank_within(group: Ints, by: Ints) -> Codes:
    """Each row's place 0, 1, ... within its group, in order of ``by``, then of the rows."""
    key = group.astype(np.int64)
    key *= int(by.max()) + 1
    key += by
    order = np.argsort(key, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(np.append(starts, len(ordered)))
    rank = np.empty(len(group), dtype=np.int32)
    rank[order] = np.arange(len(group)) - np.repeat(starts, sizes)
    return rank


def labels(column: Coded) -> pd.Series[str]:
    """The texts of a column of codes as an object series, None for blanks."""
    table = np.array([*column.texts, None], dtype=object)
    return pd.Series(table[column.code], dtype=object)


def has_decimal_commas(texts: Iterable[str]) -> bool:
    """Is every text one number, and some with a comma for its point? Of “4,5,3” none is."""
    known = list(texts)
    return any("," in text for text in known) and all(map(_ONE_NUMBER.fullmatch, known))


def number(text: str) -> float | None:
    """The finite number that a text is; None for any other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _whole(text: str) -> int | None:
    value = number(text)
    if value is None or not 0 <= value <= MAX_WHOLE or value != int(value):
        return None
    return int(value)


def _text(value: object) -> str:
    """A cell as trimmed text; missing is empty, whole floats lose their .0."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
