"""Judgments of one score each, made elsewhere: a long table becomes a run."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rubriclab.datasets.coded import (
    MAX_WHOLE,
    Coded,
    CodedTable,
    Floats,
    Ints,
    first_rows,
    joint,
    labels,
    number,
    rank_within,
)
from rubriclab.datasets.row_hash import rows_hash
from rubriclab.model import (
    MAX_OPTIONS,
    MIN_OPTIONS,
    STATUSES,
    Arm,
    DataError,
    Ordering,
    RunData,
    Strategy,
    StrategyKind,
    designs,
    fingerprint,
)
from rubriclab.model.data import MAX_RATING
from rubriclab.model.language import tr

REQUIRED = ("judge", "dataset", "item_id", "ordering", "score")
OPTIONAL = ("criterion", "block", "prompt", "candidate", "task", "human", "repeat", "strategy")
OK, UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")
IMPORTED = "imported"
MAX_SCORE = 1_000_000
_Shown = tuple[int, ...]
Line = TypeVar("Line", bound=tuple[Any, ...])


def read_scores(frame: pd.DataFrame, *, name: str) -> RunData:
    """A table with one judgment a row as a run called ``name``.

    Columns ``judge, dataset, item_id, ordering, score`` and optional ``criterion, block,
    prompt, candidate, task, human`` (or ``human_1``, ``human_2``, ... one a rater; or ``rating_1``,
    ``rating_2``, ... where it is not known whose they are), ``repeat, strategy``. ``ordering`` is the shown order, as ``3 1 2 5 4``; ``score`` is the
    canonical score, blank where the reply could not be read (status unparsed). Numbers may have
    decimal commas.

    An item is one item_id x criterion of a data set; a judge's rows on one data set under one
    strategy and one set of options are an arm. Without ``strategy`` the design is recognised
    where it is fixed, descending, balanced, Williams or all orders, else "imported". Raises
    DataError naming row and column for anything else, and for rows of an item that disagree.
    """
    table = CodedTable(frame, required=REQUIRED, optional=OPTIONAL)
    judge, dataset = table.coded("judge", required=True), table.coded("dataset", required=True)
    ordering = table.coded("ordering", required=True)
    shown = table.parsed(
        ordering,
        _parse_ordering,
        tr(
            "{fewest} to {most} different whole scores in shown order, as “3 1 2 5 4”",
            fewest=MIN_OPTIONS,
            most=MAX_OPTIONS,
        ),
    )
    items, item = item_table(table, dataset, "item_id")
    score, position = _scores(table, ordering, shown)
    scales = set_codes(shown)[ordering.code]
    strategy = _strategies(table, ordering, shown, joint(judge.code, dataset.code, scales)[0])
    arm, first = joint(judge.code, dataset.code, strategy.code, scales)
    arms = tuple(
        Arm(*texts, axis="options", scores=tuple(sorted(line)), n_positions=len(line))
        for texts, line in arm_heads(first, (judge, dataset, strategy), ordering, shown)
    )
    orders = tuple(Ordering(line, tuple(map(str, line))) for line in shown)
    columns = {"arm": arm, "item": item, "ordering": ordering.code}
    return run_of(name, arms, items, orders, _numbered(table, columns), score, position)


def set_codes(shown: Sequence[tuple[Any, ...]]) -> Ints:
    """A code for the options of each shown order, the same for the same options; (orders,)."""
    sets = pd.Series([tuple(sorted(line)) for line in shown], dtype=object)
    return np.asarray(pd.factorize(sets)[0], dtype=np.int32)


def arm_heads(
    first: Ints, texts: tuple[Coded, Coded, Coded], ordering: Coded, shown: Sequence[Line]
) -> Iterator[tuple[tuple[str, str, str], Line]]:
    """(judge, data set, strategy) of each arm's ``first`` row, and the order shown there."""
    judge, dataset, strategy = ([coded.texts[code] for code in coded.code[first].tolist()] for coded in texts)
    lines = [shown[code] for code in ordering.code[first].tolist()]
    return zip(zip(judge, dataset, strategy, strict=True), lines, strict=True)


def item_table(table: CodedTable, dataset: Coded, key: str) -> tuple[pd.DataFrame, Ints]:
    """Items as RunData keeps them, and each row's item code.

    An id used under several criteria becomes ``id:criterion`` and groups them as a block.
    """
    ids = table.coded(key, required=True)
    criterion = table.coded("criterion") if "criterion" in table else None
    codes = [dataset.code, ids.code, *([] if criterion is None else [criterion.code])]
    item, first = joint(*codes)
    n = len(first)
    text = labels(Coded(key, ids.code[first], ids.texts))
    aspects = (
        pd.Series([None] * n, dtype=object)
        if criterion is None
        else labels(Coded("criterion", criterion.code[first], criterion.texts))
    )
    texts, _ = joint(dataset.code[first], ids.code[first])
    several = (np.bincount(texts) > 1)[texts]
    item_id = text.where(~several, text + ":" + aspects.fillna("").astype(str))
    rows: dict[str, object] = {
        "item_id": item_id,
        "dataset": labels(Coded("dataset", dataset.code[first], dataset.texts)),
        "criterion": aspects,
    }
    for part in ("block", "prompt", "candidate", "task"):
        blank = pd.Series([None] * n, dtype=object)
        rows[part] = labels(table.of_items(part, item, n)) if part in table else blank
    items = pd.DataFrame(rows)
    if "block" not in table and bool(several.any()):
        items["block"] = text
    for part, values in _human(table, item, n).items():
        items[part] = values
    items["n_chars"] = 0
    return items, item


def run_of(
    name: str,
    arms: tuple[Arm, ...],
    items: pd.DataFrame,
    orderings: tuple[Ordering, ...],
    columns: dict[str, Ints],
    score: Floats,
    position: Ints,
) -> RunData:
    """The run of coded rows: ``columns`` has arm, item, ordering, read, repeat and call.

    Raises DataError for more arms, or more reads of an item, than a store counts.
    """
    _refuse_uncounted(arms, columns)
    status = np.where(np.isfinite(score), np.int8(OK), np.int8(UNPARSED))
    nothing = np.full(len(score), np.nan, dtype=np.float32)
    whole = {**columns, "status": status, "score": score, "position": position, "expected": nothing, "mass": nothing}
    judgments = pd.DataFrame(whole, copy=False)
    rows = rows_hash(judgments)
    ids = pd.util.hash_pandas_object(items["item_id"], index=True).to_numpy().sum(dtype=np.uint64)
    calls = np.bincount(columns["arm"][first_rows(columns["call"])], minlength=len(arms))
    return RunData(
        run=fingerprint({"name": name, "rows": str(rows), "items": str(ids)}),
        name=name,
        arms=arms,
        items=items,
        orderings=orderings,
        judgments=judgments,
        planned=tuple(calls.tolist()),
    )


def _refuse_uncounted(arms: tuple[Arm, ...], columns: dict[str, Ints]) -> None:
    """A store counts arms and reads with 16 bits."""
    if len(arms) > MAX_WHOLE:
        raise DataError(
            tr(
                "These judgments have {arms:,} arms (a judge on one data set under one strategy); {most:,} are read. Is a "
                "column of ids named judge, dataset or strategy?",
                arms=len(arms),
                most=MAX_WHOLE,
            )
        )
    read = int(columns["read"].max(initial=0))
    if read > MAX_WHOLE:
        raise DataError(
            tr(
                "An item has {reads:,} reads by one judge; {most:,} are read. Is item_id the column of the items?",
                reads=read + 1,
                most=MAX_WHOLE + 1,
            )
        )


def recognised(shown: list[tuple[int, ...]], counts: Ints) -> str:
    """The design whose orderings these are, each read ``counts`` times; else "imported"."""
    options = tuple(sorted(shown[0]))
    if len(shown) == 1 and shown[0] in (options, options[::-1]):
        return "fixed" if shown[0] == options else "descending"
    whole, n = set(shown), len(options)
    kinds: tuple[StrategyKind, ...] = ("balanced", "williams", "all")
    for kind in kinds:
        if kind == "all" and (n > designs.ALL_LIMIT or len(whole) != math.factorial(n)):
            continue
        lines = designs.orderings(Strategy(kind), options)
        share = {line: lines.count(line) for line in set(lines)}
        if whole != set(lines):
            continue
        reads = {int(count) * len(lines) // share[line] for line, count in zip(shown, counts, strict=True)}
        if len(reads) == 1:
            return kind
    return IMPORTED


def _parse_ordering(text: str) -> _Shown | None:
    parts = [part for part in re.split(r"[\s,;>|]+", text.strip("[]() ")) if part]
    if not MIN_OPTIONS <= len(parts) <= MAX_OPTIONS:
        return None
    values = [number(part) for part in parts]
    if any(value is None or abs(value) > MAX_SCORE or value != int(value) for value in values):
        return None
    shown = tuple(int(value) for value in values if value is not None)
    return shown if len(set(shown)) == len(shown) else None


def _scores(table: CodedTable, ordering: Coded, shown: list[_Shown]) -> tuple[Floats, Ints]:
    """Each row's score (NaN unread) and the position 1.. it was shown at (-1 unread)."""
    score = table.numbers("score")
    width = max(map(len, shown))
    lines = np.full((len(shown), width), np.nan)
    for row, line in enumerate(shown):
        lines[row, : len(line)] = line
    position = np.full(table.rows, -1, dtype=np.int16)
    for p in range(width):
        position[lines[ordering.code, p] == score] = p + 1
    strange = np.flatnonzero(np.isfinite(score) & (position < 0))
    if strange.size:
        row = int(strange[0])
        more = tr(" ({count:,} more rows too)", count=strange.size - 1) if strange.size > 1 else ""
        raise DataError(
            tr(
                "{at}: score {score:g} is not in the ordering “{ordering}”{more}. Give the canonical score, not the "
                "position; leave it blank where the reply could not be read.",
                at=table.at(row, "score"),
                score=score[row],
                ordering=ordering.texts[ordering.code[row]],
                more=more,
            )
        )
    return score, position


def _human(table: CodedTable, item: Ints, n: int) -> dict[str, Any]:
    """Of each item: mean rating (NaN for none), the tuple of ratings, and whose they are.

    A column ``human_N`` is a rater; ``rating_N`` are an item's ratings, whoever gave them.
    """
    people = [c for c in table.columns() if re.fullmatch(r"human_\d+", c)]
    columns = people or [c for c in table.columns() if re.fullmatch(r"rating_\d+", c)]
    if not columns and "human" in table:
        columns = ["human"]
    ratings = np.full((n, max(1, len(columns))), np.nan)
    for i, column in enumerate(columns):
        one = table.of_items(column, item, n)
        whole = table.numeric(column)
        values = table.parsed(whole, _rating, tr("a number from -1e9 to 1e9; leave the cell blank where there is none"))
        ratings[:, i] = np.append(np.asarray(values, dtype=np.float64), np.nan)[one.code]
    given = np.isfinite(ratings)
    count = given.sum(axis=1)
    total = np.where(given, ratings, 0.0).sum(axis=1)
    known = given.tolist()
    return {
        "human": np.where(count > 0, total / np.maximum(count, 1), np.nan),
        "raters": [tuple(itertools.compress(r, g)) for r, g in zip(ratings.tolist(), known, strict=True)],
        "rater_names": [tuple(itertools.compress(people, g)) for g in known],
    }


def _rating(text: str) -> float | None:
    value = number(text)
    return None if value is None or abs(value) > MAX_RATING else value


def _strategies(table: CodedTable, ordering: Coded, shown: list[_Shown], group: Ints) -> Coded:
    """The strategy of each row: as named, or recognised within judge, data set and scale."""
    named = table.coded("strategy") if "strategy" in table else None
    if named is not None and bool((named.code >= 0).all()):
        return named
    n_groups, width = int(group.max()) + 1, len(shown)
    cells, counts = np.unique(group.astype(np.int64) * width + ordering.code, return_counts=True)
    found = []
    for code in range(n_groups):
        low, high = np.searchsorted(cells, [code * width, (code + 1) * width])
        lines = [shown[cell % width] for cell in cells[low:high].tolist()]
        found.append(recognised(lines, counts[low:high]))
    texts = list(dict.fromkeys([*(named.texts if named else ()), *found]))
    by_group = np.array([texts.index(text) for text in found], dtype=np.int32)[group]
    if named is None:
        return Coded("strategy", by_group, tuple(texts))
    return Coded("strategy", np.where(named.code >= 0, named.code, by_group), tuple(texts))


def _numbered(table: CodedTable, columns: dict[str, Ints]) -> dict[str, Ints]:
    """The columns with read, repeat and call. Reads are numbered by ordering within an item
    (and repeat), so that the same read of a shared design is the same ordering everywhere."""
    zeros = np.zeros(table.rows, dtype=np.int16)
    repeat = table.whole_numbers("repeat") if "repeat" in table else zeros
    group, _ = joint(columns["arm"], columns["item"], repeat)
    read = rank_within(group, columns["ordering"])
    return {**columns, "read": read, "repeat": repeat, "call": np.arange(table.rows, dtype=np.int32)}
