"""A table's rows as the items of a data set, under a mapping of its columns."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any

import pandas as pd

from rubriclab.datasets.coded import has_decimal_commas
from rubriclab.datasets.limits import reading
from rubriclab.datasets.mapping import ColumnMapping, cell_text, is_blank
from rubriclab.datasets.plain import json_value
from rubriclab.datasets.prometheus import RubricBook, parse_prompt, parse_score_rubric
from rubriclab.datasets.raters import LongRatings, Rated, column_raters, rater_name, refuse_rater_columns, with_ratings
from rubriclab.datasets.tables import place, table_name
from rubriclab.model import DataError, Dataset, Item
from rubriclab.model.data import MAX_RATING
from rubriclab.model.language import SOURCE, language, speaking, tr
from rubriclab.model.wording import did_you_mean, listed, many


def build_dataset(frame: pd.DataFrame, mapping: ColumnMapping, *, name: str, skip_empty: bool = False) -> Dataset:
    """The table's rows as items; a wide table gives one item per text and criterion.

    Rows of one rating each, whose rater a column names, are put together by item. Ids that repeat are
    told apart by criterion and candidate where those are mapped (the id
    is then the block, or the prompt); else both rows are named. Rows without a response are
    an error, or with ``skip_empty`` left out and counted in the data set's ``origin``; rows with
    nothing in any column are left out and counted always. Blank ratings are missing, those with
    decimal commas (6,5) are read, and the ``origin`` says so. Raises DataError naming file, line and column.
    """
    with reading(table_name(frame), tr("cannot be read as a data set")):
        return _dataset(frame, mapping, name=name, skip_empty=skip_empty)


def _dataset(frame: pd.DataFrame, mapping: ColumnMapping, *, name: str, skip_empty: bool) -> Dataset:
    _check_columns(frame, mapping)
    book = RubricBook()
    drafts: list[tuple[int, Item]] = []
    long = LongRatings(frame, own_ids=mapping.item_id is not None)
    empty: list[int] = []
    blank = 0
    columns = _Columns(frame, mapping)
    for row in range(len(frame)):
        item = _item(columns, row, book)
        if not item.response.strip():
            if all(map(is_blank, frame.iloc[row])):
                blank += 1
            else:
                empty.append(row)
            continue
        for part in _melted(columns, row, item):
            if columns.one_rater(row):
                long.add(row, part)
            else:
                drafts.append((row, part))
    drafts = sorted([*drafts, *long.items()], key=itemgetter(0))
    if empty and not skip_empty:
        raise _no_response(frame, empty, mapping.response or mapping.judge_prompt)
    if not drafts:
        raise DataError(tr("“{name}”: none of the {rows} has a response.", name=name, rows=many(len(frame), "row")))
    brings_rubric = mapping.judge_prompt is not None or mapping.score_rubric is not None
    return Dataset(
        name=name,
        items=_with_distinct_ids(frame, drafts),
        rubric=book.rubric(name) if brings_rubric else None,
        origin=_origin(frame, len(empty), blank, columns.with_commas),
    )


def _no_response(frame: pd.DataFrame, empty: Sequence[int], column: str | None) -> DataError:
    return DataError(
        tr(
            "{place}: no response; {rows} of {total:,} without. Fill them in, or leave them out: a tick on the page "
            "Data, skip_empty = true under [data] in a study file.",
            place=place(frame, empty[0], column),
            rows=many(len(empty), "row"),
            total=len(frame),
        )
    )


def _origin(frame: pd.DataFrame, empty: int, blank: int, with_commas: Sequence[str]) -> str:
    """The file, with what was left out of it and how its numbers were read."""
    with speaking(SOURCE):  # it is kept with the data, whoever reads it later
        notes = [f"{empty:,} of {many(len(frame), 'row')} left out: no response"] if empty else []
        notes += [f"{many(blank, 'row')} left out: nothing in any column"] if blank else []
        notes += [f"decimal commas read in {listed([f'“{column}”' for column in with_commas])}"] if with_commas else []
    return table_name(frame) + (f" ({'; '.join(notes)})" if notes else "")


def origin_said(origin: str) -> str:
    """Where data are from, with the notes of ``_origin`` in the reader's language."""
    if language() == SOURCE:
        return origin

    def commas(found: re.Match[str]) -> str:
        names = [f"„{name}“" for name in re.findall("“(.+?)”", found[1])]
        return tr("decimal commas read in {columns}", columns=listed(names))

    def left_out(found: re.Match[str]) -> str:
        rows = many(int(found[1].replace(",", "")), "row")
        empty = tr("{rows} left out: nothing in any column", rows=rows)
        return tr("{rows} left out: no response", rows=rows) if found[2] == "no response" else empty

    origin = re.sub(r"decimal commas read in (“[^;]+”)", commas, origin)
    return re.sub(r"([\d,]+)(?: of [\d,]+)? rows? left out: (no response|nothing in any column)", left_out, origin)


class _Columns:
    """The mapped columns as lists: a frame is slow to read cell by cell."""

    def __init__(self, frame: pd.DataFrame, mapping: ColumnMapping) -> None:
        self.frame = frame
        self.mapping = mapping
        self._cells = {column: frame[column].tolist() for column in set(mapping.columns())}
        rated = (*mapping.human, *(column for _, wide in mapping.human_by_criterion for column in wide))
        self.with_commas = [column for column in rated if has_decimal_commas(_texts(self._cells[column]))]
        for column in self.with_commas:
            self._cells[column] = [c.replace(",", ".") if isinstance(c, str) else c for c in self._cells[column]]
        self._raters = column_raters(mapping)

    def cell(self, column: str, row: int) -> Any:
        return self._cells[column][row]

    def text(self, column: str | None, row: int) -> str | None:
        return None if column is None else cell_text(self._cells[column][row])

    def one_rater(self, row: int) -> bool:
        """Does the row hold one rater's ratings, who is named beside them?"""
        if self.mapping.rater is None:
            return False
        cell = self._cells[self.mapping.rater][row]
        return not is_blank(cell) and _listed(cell) is None

    def raters(self, row: int, column: str) -> str | tuple[str, ...]:
        """Whose rating a cell of the column is, "" where nobody says; the names of a list of ratings."""
        if self.mapping.rater is None:
            return self._raters.get(column, "")
        names = _listed(self._cells[self.mapping.rater][row])
        return rater_name(self._cells[self.mapping.rater][row]) if names is None else tuple(map(rater_name, names))


def _texts(cells: Sequence[Any]) -> Iterator[str]:
    return (cell for cell in cells if isinstance(cell, str) and not is_blank(cell))


def _check_columns(frame: pd.DataFrame, mapping: ColumnMapping) -> None:
    known = frame.columns.tolist()
    missing = [column for column in mapping.columns() if column not in known]
    if missing:
        shown = ", ".join(tr("“{name}”", name=column) for column in missing)
        hint = did_you_mean(missing[0], known)
        raise DataError(
            tr(
                "“{table}” has no column {shown}.{hint} It has: {listed}.",
                table=table_name(frame),
                shown=shown,
                hint=hint,
                listed=_columns_listed(frame),
            )
        )
    if mapping.response is None and mapping.judge_prompt is None:
        raise DataError(
            tr(
                "“{table}”: no column is chosen for the response. Columns: {listed}.",
                table=table_name(frame),
                listed=_columns_listed(frame),
            )
        )
    refuse_rater_columns(mapping, table_name(frame))


def _columns_listed(frame: pd.DataFrame, most: int = 20) -> str:
    """The columns' names; of more than ``most`` those with the longest texts, among which the response is."""
    names = frame.columns.tolist()
    if len(names) <= most:
        return ", ".join(names)
    lengths = {name: sum(len(cell_text(cell) or "") for cell in frame[name].head(50)) for name in names}
    longest = sorted(names, key=lambda name: -lengths[name])[:most]
    return tr("{names} and {left:,} more", names=", ".join(longest), left=len(names) - most)


def _item(columns: _Columns, row: int, book: RubricBook) -> Item:
    """The row as one item, before it is spread over criteria."""
    mapping = columns.mapping
    item = Item(
        item_id=columns.text(mapping.item_id, row) or str(row + 1),
        instruction=columns.text(mapping.instruction, row) or "",
        response=columns.text(mapping.response, row) or "",
        criterion=columns.text(mapping.criterion, row),
        block=columns.text(mapping.block, row),
        prompt=columns.text(mapping.prompt, row),
        candidate=columns.text(mapping.candidate, row),
        task=columns.text(mapping.task, row),
        references=_references(columns, row),
        columns={name: columns.text(name, row) or "" for name in mapping.kept},
    )
    if mapping.judge_prompt is not None:
        where = place(columns.frame, row, mapping.judge_prompt)
        record = parse_prompt(columns.text(mapping.judge_prompt, row) or "", where=where)
        score = record.reference_score or mapping.reference_score
        return replace(
            item,
            instruction=record.instruction,
            response=record.response,
            criterion=book.add(record.aspect, record.options, where=where),
            references={score: record.reference} if record.reference else {},
        )
    if mapping.system is not None and columns.text(mapping.system, row):
        item = replace(item, instruction=f"{columns.text(mapping.system, row)}\n\n{item.instruction}")
    if mapping.score_rubric is not None:
        where = place(columns.frame, row, mapping.score_rubric)
        aspect, options = parse_score_rubric(columns.cell(mapping.score_rubric, row), where=where)
        item = replace(item, criterion=book.add(aspect, options, where=where))
    return item


def _references(columns: _Columns, row: int) -> dict[int, str]:
    mapping = columns.mapping
    pairs = list(mapping.references)
    if mapping.reference is not None:
        pairs.insert(0, (mapping.reference_score, mapping.reference))
    found = ((score, columns.text(column, row)) for score, column in pairs)
    return {score: text for score, text in found if text}


def _melted(columns: _Columns, row: int, item: Item) -> Iterator[Item]:
    """The item with its human ratings: one for each criterion that the ratings name."""
    mapping = columns.mapping
    by_criterion = {
        name: [r for c in wide for r in _ratings(columns, row, c)] for name, wide in mapping.human_by_criterion
    }
    flat: list[Rated] = []
    for column in mapping.human:
        cell = columns.cell(column, row)
        if isinstance(cell, Mapping):
            where = place(columns.frame, row, column)
            for name, ratings in cell.items():
                by_criterion[str(name)] = _rated(ratings, columns.raters(row, ""), where)
        else:
            flat.extend(_ratings(columns, row, column))
    if not by_criterion:
        yield with_ratings(item, flat, lambda: place(columns.frame, row))
        return
    for name, given in by_criterion.items():
        one = replace(item, item_id=f"{item.item_id}:{name}", criterion=name, block=item.block or item.item_id)
        yield with_ratings(one, given, lambda: place(columns.frame, row))


def _ratings(columns: _Columns, row: int, column: str) -> list[Rated]:
    """The ratings of a cell; where a column names the rater of a row, one rating, and not without its rater."""
    where, who = partial(place, columns.frame, row, column), columns.raters(row, column)
    cell, rater = columns.cell(column, row), columns.mapping.rater
    given = _rated(cell, who, where)
    if rater is None or not isinstance(who, str) or not given:
        return given
    if who and len(given) > 1:
        raise DataError(
            tr(
                "{where}: {ratings} by the rater “{rater}”; keep the one that counts.",
                where=where(),
                ratings=many(len(given), "rating"),
                rater=who[:60],
            )
        )
    if not who and _listed(cell) is None:
        raise DataError(
            tr(
                "{where}: a rating whose rater is not named; fill in the column “{rater}”, or choose no column "
                "of raters.",
                where=where(),
                rater=rater,
            )
        )
    return given


def _rated(cell: Any, who: str | tuple[str, ...], where: str | Callable[[], str]) -> list[Rated]:
    """A cell's ratings with their raters: of ``who``, or each of a list by one of its names."""
    if isinstance(who, str):
        numbers = _numbers(cell, where)
        return [Rated(who if len(numbers) == 1 else "", number) for number in numbers]
    parts = _listed(cell)
    parts = ([] if is_blank(cell) else [cell]) if parts is None else parts
    if len(parts) != len(who):
        spot = where if isinstance(where, str) else where()
        raise DataError(
            tr(
                "{spot}: {ratings}, and {raters} beside them. Each rating needs its own.",
                spot=spot,
                ratings=many(len(parts), "rating"),
                raters=many(len(who), "rater"),
            )
        )
    given = [(name, _numbers(part, where)) for name, part in zip(who, parts, strict=True)]
    return [Rated(name, number) for name, numbers in given for number in numbers]


def _listed(cell: Any) -> list[Any] | None:
    """The parts of a cell that is a list, also one written as JSON; None for any other."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            cell = json_value("a list", cell)
        except (json.JSONDecodeError, DataError):
            return None
    if type(cell).__name__ == "ndarray":
        cell = cell.tolist()
    return list(cell) if isinstance(cell, list | tuple) else None


def _numbers(cell: Any, where: str | Callable[[], str]) -> tuple[float, ...]:
    """A cell's ratings: none for a blank, several for a list. ``where`` names the cell."""
    if isinstance(cell, str) and cell.strip().startswith("["):
        try:
            cell = json_value("a rating", cell)
        except (json.JSONDecodeError, DataError):
            raise _not_a_rating(cell, where) from None
    if isinstance(cell, list | tuple) or type(cell).__name__ == "ndarray":
        return tuple(number for part in cell for number in _numbers(part, where))
    if is_blank(cell):
        return ()
    try:
        number = float(cell) if not isinstance(cell, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        raise _not_a_rating(cell, where) from None
    if not abs(number) <= MAX_RATING:
        raise _not_a_rating(cell, where, tr("a number from -1e9 to 1e9"))
    return (number,)


def _not_a_rating(cell: Any, where: str | Callable[[], str], wanted: str = "") -> DataError:
    spot = where if isinstance(where, str) else where()
    return DataError(
        tr(
            "{spot}: the human rating {rating!r} is not {wanted}. Correct it, or leave the cell blank where "
            "there is no rating.",
            spot=spot,
            rating=str(cell)[:60],
            wanted=wanted or tr("one number, as 4, 3.5 or 3,5"),
        )
    )


def _with_distinct_ids(frame: pd.DataFrame, drafts: Sequence[tuple[int, Item]]) -> tuple[Item, ...]:
    """The items with ids that differ. A repeated id names a text, or a prompt's candidates."""
    counts = Counter(item.item_id for _, item in drafts)
    if len(counts) == len(drafts):
        return tuple(item for _, item in drafts)
    seen: dict[tuple[str, str | None, str | None], int] = {}
    for row, item in drafts:
        key = (item.item_id, item.criterion, item.candidate)
        if key in seen:
            raise DataError(
                tr(
                    "{place}: the id “{item}” is already that of {other}. Ids must differ; map another column as "
                    "the id, or none to number the rows; or the column that names the rater, where each row is a "
                    "rater's.",
                    place=place(frame, row),
                    item=item.item_id,
                    other=place(frame, seen[key]),
                )
            )
        seen[key] = row
    many_candidates = len({item.candidate for _, item in drafts}) > 1
    many_criteria = _criteria_vary(drafts)
    return tuple(_told_apart(item, many_candidates, many_criteria) for _, item in drafts)


def _criteria_vary(drafts: Sequence[tuple[int, Item]]) -> bool:
    """True where id and candidate alone do not tell the items apart."""
    return len({(item.item_id, item.candidate) for _, item in drafts}) < len(drafts)


def _told_apart(item: Item, many_candidates: bool, many_criteria: bool) -> Item:
    text = f"{item.item_id}:{item.candidate}" if many_candidates else item.item_id
    prompt = item.prompt or (item.item_id if many_candidates else None)
    if not many_criteria:
        return replace(item, item_id=text, prompt=prompt)
    return replace(item, item_id=f"{text}:{item.criterion}", prompt=prompt, block=item.block or text)
