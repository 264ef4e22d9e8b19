"""Who gave a rating: by the column it stands in, by a column that names the rater, or nobody says."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

import pandas as pd

from rubriclab.datasets.mapping import ColumnMapping, cell_text
from rubriclab.datasets.tables import place
from rubriclab.model import DataError, Item
from rubriclab.model.language import tr

_SLOT = re.compile(r"ratings?[\s_.-]*\d+", re.I)
"""“Rating 2” is an item's second rating, whoever gave it; “rater 2” is a person."""
_SEPARATORS = r"[\s_.:/-]+"


class Rated(NamedTuple):
    """A rating and the name of who gave it; "" where nobody says."""

    rater: str
    rating: float


def with_ratings(item: Item, given: Sequence[Rated], where: Callable[[], str]) -> Item:
    """The item with these ratings, and their raters where each has one. Raises DataError for one that has two."""
    names = tuple(one.rater for one in given)
    named = all(names)
    if named and len(set(names)) < len(names):
        raise DataError(tr("{where}: two ratings of one rater for one item; keep the one that counts.", where=where()))
    return replace(item, human=tuple(one.rating for one in given), raters=names if named else ())


def rater_name(cell: Any) -> str:
    """A rater's name as it is compared: whole numbers without .0, letters composed, no blanks around it."""
    return unicodedata.normalize("NFC", cell_text(cell) or "").strip()


def column_raters(mapping: ColumnMapping) -> Mapping[str, str]:
    """The rater of each rating column; "" where it may be a mean, or is a slot (“rating 2”).

    One column alone may be anybody's, or a mean. Of a wide table the name is what is left of the
    column without what names its criterion: “ann_style” and “ann_depth” are both ann's.
    """
    raters = dict.fromkeys((*mapping.human, *(c for _, columns in mapping.human_by_criterion for c in columns)), "")
    if len(mapping.human) > 1:
        raters |= {column: column for column in mapping.human}
    wide = {criterion: columns for criterion, columns in mapping.human_by_criterion if len(columns) > 1}
    everywhere = _shared(tuple(column for columns in wide.values() for column in columns))
    for criterion, columns in wide.items():
        words = _shared(columns) - everywhere | {criterion.casefold()}
        short = [_without(column, words) for column in columns]
        distinct = len(set(short)) == len(columns) and all(short)
        raters |= dict(zip(columns, short if distinct else columns, strict=True))
    return {column: "" if _SLOT.fullmatch(name.strip()) else name for column, name in raters.items()}


def _shared(columns: Sequence[str]) -> set[str]:
    """The words that all columns have."""
    words = [set(re.split(_SEPARATORS, column.casefold())) for column in columns]
    return set.intersection(*words) if words else set()


def _without(column: str, words: set[str]) -> str:
    """The column without these words at its ends."""
    name = column
    for word in sorted(words - {""}, key=len, reverse=True):
        ends = rf"^{re.escape(word)}(?:{_SEPARATORS}|$)|(?:^|{_SEPARATORS}){re.escape(word)}$"
        name = re.sub(ends, "", name, flags=re.I)
    return name.strip(" _-.:/")


def refuse_rater_columns(mapping: ColumnMapping, name: str) -> None:
    """Raises DataError for rating columns that stand twice, and for several beside a column of raters."""
    groups = [("human", mapping.human), *mapping.human_by_criterion]
    for part, columns in groups:
        twice = next((column for column, count in Counter(columns).items() if count > 1), None)
        if twice is not None:
            raise DataError(
                tr(
                    "“{name}”: the column “{column}” is named twice as ratings ({part}); name it once.",
                    name=name,
                    column=twice,
                    part=part,
                )
            )
        if mapping.rater is not None and len(columns) > 1:
            raise DataError(
                tr(
                    "“{name}”: “{rater}” names who gave the rating of a row, and {count} columns hold ratings "
                    "({columns}). Name the one column of ratings, or no column of raters.",
                    name=name,
                    rater=mapping.rater,
                    count=len(columns),
                    columns=", ".join(columns[:4]),
                )
            )


class LongRatings:
    """Rows of one rating each, put together: an item rated by three people is three rows.

    Rows are of one item where they have the same id (without ids: the same texts), criterion and
    candidate. ``own_ids``: the data have ids. All else that an item has must be the same in each.
    """

    def __init__(self, frame: pd.DataFrame, *, own_ids: bool) -> None:
        self._frame, self._own_ids = frame, own_ids
        self._rows: dict[tuple[object, ...], list[tuple[int, Item]]] = {}

    def add(self, row: int, item: Item) -> None:
        text: tuple[object, ...] = (item.item_id,) if self._own_ids else (item.instruction, item.response)
        self._rows.setdefault((*text, item.criterion, item.candidate), []).append((row, item))

    def items(self) -> list[tuple[int, Item]]:
        """(first row, item), in the order of first rows.

        Raises DataError naming the places where the rows of an item differ, or one rater rated it twice.
        """
        return [(rows[0][0], self._together(rows)) for rows in self._rows.values()]

    def _together(self, rows: list[tuple[int, Item]]) -> Item:
        first, item = rows[0]
        if len(rows) == 1:
            return item
        by_rater: dict[str, int] = {}
        for row, other in rows:
            self._refuse_other(first, item, row, other)
            for rater in other.raters:
                if rater in by_rater:
                    raise DataError(
                        tr(
                            "{place}: a second rating of “{item}” by the rater “{rater}”, after {other}. Keep the one "
                            "that counts: which it is, or whether their mean, is nothing that the lab can know.",
                            place=place(self._frame, row),
                            item=item.item_id[:60],
                            rater=rater[:60],
                            other=place(self._frame, by_rater[rater]),
                        )
                    )
                by_rater[rater] = row
        human = tuple(rating for _, other in rows for rating in other.human)
        return replace(item, human=human, raters=tuple(by_rater))

    def _refuse_other(self, first: int, item: Item, row: int, other: Item) -> None:
        parts = [field.name for field in fields(Item) if field.name not in ("human", "raters")]
        own = parts if self._own_ids else [part for part in parts if part not in ("item_id", "block")]
        differing = [part for part in own if getattr(item, part) != getattr(other, part)]
        if differing:
            raise DataError(
                tr(
                    "{place}: the item “{item}” has another {part} here than in {other}. Rows of one item's "
                    "raters differ in rater and rating alone; give other items other ids.",
                    place=place(self._frame, row),
                    item=item.item_id[:60],
                    part=differing[0],
                    other=place(self._frame, first),
                )
            )
