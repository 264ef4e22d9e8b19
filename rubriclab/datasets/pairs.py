"""Tables of comparisons judged elsewhere -> a run: pairs (first, second, choice) and lists.

A row is one call. Rows are counted as a spreadsheet counts them: the header is row 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from rubriclab.datasets.coded import MAX_WHOLE
from rubriclab.datasets.pair_cells import and_more, fault, no_blanks, numbers
from rubriclab.model import STATUSES, Arm, Axis, DataError, Ordering, RunData
from rubriclab.model import fingerprint as fingerprint_of
from rubriclab.model.language import tr

PAIR_COLUMNS = ("judge", "question_id", "first", "second", "choice")
LIST_COLUMNS = ("judge", "question_id", "order", "winner")
LENGTH_ENDINGS = ("_length", "_chars")
"""Optional columns with these endings are numbers about the comparison, averaged per item."""
ANSWER_CHARS = ("first_chars", "second_chars")
"""Optional columns of pairs: how long the answer at each place is."""

STRATEGY = "imported"
Orders = list[tuple[str, ...]]
"""The candidates of each row in shown order."""

_UNREAD = {"n", "", "nan", "none"}
_TIE = {"tie", "draw"}
_OK, _UNPARSED = STATUSES.index("ok"), STATUSES.index("unparsed")


def read_pairs(frame: pd.DataFrame, *, name: str) -> RunData:
    """A table of pairwise or list-wise judgments as a run called ``name``.

    ``frame`` holds text in every cell. Pairs: ``judge, question_id, first, second, choice``
    with A = first, B = second, C = tie, N or empty = cannot be read (status unparsed). Lists:
    ``judge, question_id, order, winner`` where ``order`` has the names in shown order between
    bars and ``winner`` is a name, a letter by place, "tie" (or the letter after the last
    place), N or empty. Optional: ``task``, ``dataset`` (else ``name``), ``rep`` (a whole
    number; repeats of the same order), lengths such as ``prompt_length``, and for pairs ``p_first``:
    the probability that the first wins, a tie as half, kept beside the choice (a blank choice is
    then the likelier one) and ``first_chars``, ``second_chars``: how long the two answers are.

    An item is one question x task x set of candidates; a judge's rows on one data set are one
    arm. Raises DataError naming row and column for anything else, and for two rows of one
    judge with the same order and rep.
    """
    table = _clean(frame)
    axis = _protocol(table)
    shown = _pair_orders(table) if axis == "pairwise" else _list_orders(table)
    chances = _chances(table) if axis == "pairwise" else None
    position = _choices(table, chances) if axis == "pairwise" else _winners(table, shown)
    datasets = table["dataset"] if "dataset" in table else pd.Series([name] * len(table))
    datasets = datasets.where(datasets != "", name)
    items, item = _items(table, datasets, shown)
    if axis == "pairwise" and all(column in table for column in ANSWER_CHARS):
        items["candidate_chars"] = _answer_chars(table, shown, items["candidates"], item)
    arms, arm = _arms(table, datasets, shown, axis)
    orderings, ordering = _orderings(shown)
    return RunData(
        run=fingerprint_of({"name": name, "rows": table.to_dict("list")}),
        name=name,
        arms=arms,
        items=items,
        orderings=orderings,
        judgments=_judgments(arm, item, ordering, _repeats(table), position),
        probabilities=chances,
        planned=tuple(np.bincount(arm, minlength=len(arms)).tolist()),
    )


def _judgments(
    arm: np.ndarray, item: np.ndarray, ordering: np.ndarray, repeat: np.ndarray, position: np.ndarray
) -> pd.DataFrame:
    _no_duplicates(arm, item, ordering, repeat)
    return pd.DataFrame(
        {
            "arm": arm,
            "item": item,
            "ordering": ordering,
            "read": _reads(item, ordering),
            "repeat": repeat,
            "call": np.arange(len(item)),
            "status": np.where(position >= 0, _OK, _UNPARSED),
            "score": np.nan,
            "position": position,
            "expected": np.nan,
            "mass": np.nan,
        }
    )


# ------------------------------------------------------------------ the columns


def _clean(frame: pd.DataFrame) -> pd.DataFrame:
    """Trimmed text under lower-case names; missing cells are empty text."""
    names = [str(column).strip().casefold().replace(" ", "_") for column in frame.columns]
    for column in names:
        if names.count(column) > 1:
            raise DataError(tr("Column “{column}” appears more than once; name each column once.", column=column))
    if frame.empty:
        raise DataError(tr("The table has no rows below its header."))
    columns = [
        frame.iloc[:, index].astype(object).where(frame.iloc[:, index].notna(), "") for index in range(len(names))
    ]
    cells = [column.astype(str).str.strip().reset_index(drop=True) for column in columns]
    return pd.DataFrame(dict(zip(names, cells, strict=True)))


def _protocol(table: pd.DataFrame) -> Axis:
    """Which of the two kinds of table this is. Raises DataError naming the missing columns."""
    pair_missing = [c for c in PAIR_COLUMNS if c not in table]
    list_missing = [c for c in LIST_COLUMNS if c not in table]
    if not pair_missing and not list_missing:
        raise DataError(
            tr(
                "The table has the columns of pairs (first, second, choice) and of lists (order, winner). Import "
                "pairs and lists as two files."
            )
        )
    if pair_missing and list_missing:
        wanted, missing = (
            (LIST_COLUMNS, list_missing) if "order" in table or "winner" in table else (PAIR_COLUMNS, pair_missing)
        )
        raise DataError(
            tr(
                "Column “{column}” is missing: this kind of table needs {wanted}. It has {columns}.",
                column=missing[0],
                wanted=", ".join(wanted),
                columns=", ".join(table.columns),
            )
        )
    axis: Axis = "listwise" if pair_missing else "pairwise"
    for column in LIST_COLUMNS[:3] if pair_missing else PAIR_COLUMNS[:4]:
        no_blanks(table, column)
    return axis


# ------------------------------------------------------------------ orders and choices


def _pair_orders(table: pd.DataFrame) -> Orders:
    same = np.flatnonzero((table["first"] == table["second"]).to_numpy())
    if len(same):
        value = str(table["second"].iloc[same[0]])
        raise fault(int(same[0]), "second", value, tr("another candidate than “first”"))
    return list(zip(table["first"].tolist(), table["second"].tolist(), strict=True))


def _list_orders(table: pd.DataFrame) -> Orders:
    parsed: dict[str, tuple[str, ...]] = {}
    codes, texts = pd.factorize(table["order"])
    for code, text in enumerate(texts):
        names = tuple(part.strip() for part in str(text).split("|"))
        if len(names) < 2 or len(set(names)) < len(names) or "" in names:
            row = int(np.flatnonzero(codes == code)[0])
            raise fault(row, "order", str(text), tr("two or more different names separated by |"))
        parsed[str(text)] = names
    return [parsed[text] for text in table["order"]]


def _chances(table: pd.DataFrame) -> np.ndarray | None:
    """(rows, 2) the probability of each place, a tie as half each; NaN for a blank cell."""
    if "p_first" not in table:
        return None
    values = numbers(table, "p_first", tr("a probability from 0 to 1"))
    outside = np.flatnonzero((values < 0.0) | (values > 1.0))
    if len(outside):
        row = int(outside[0])
        raise fault(row, "p_first", str(table["p_first"].iloc[row]), tr("a probability from 0 to 1"))
    return np.column_stack([values, 1.0 - values]) if np.isfinite(values).any() else None


def _choices(table: pd.DataFrame, chances: np.ndarray | None) -> np.ndarray:
    """1, 2, 0 (tie) or -1 (unread) of each row of a table of pairs."""
    choice = _written(table)
    if chances is None:
        return choice
    likelier = np.where(chances[:, 0] == 0.5, 0, np.where(chances[:, 0] > 0.5, 1, 2))
    open_ = (table["choice"] == "").to_numpy() & np.isfinite(chances[:, 0])
    return np.where(open_, likelier, choice)


def _written(table: pd.DataFrame) -> np.ndarray:
    """The column ``choice`` as 1, 2, 0 (tie) or -1 (unread)."""
    meaning = {"a": 1, "b": 2, "c": 0, **dict.fromkeys(_UNREAD, -1)}
    codes, texts = pd.factorize(table["choice"].str.casefold())
    for code, text in enumerate(texts):
        if text not in meaning:
            row = int(np.flatnonzero(codes == code)[0])
            value = str(table["choice"].iloc[row])
            raise fault(row, "choice", value, tr("A (first), B (second), C (tie) or N (unreadable)"))
    return np.array([meaning[text] for text in texts], dtype=np.int64)[codes]


def _winners(table: pd.DataFrame, shown: Orders) -> np.ndarray:
    """The winner's place from 1, 0 (tie) or -1 (unread) of each row of a table of lists."""
    known: dict[tuple[tuple[str, ...], str], int] = {}
    out = np.empty(len(table), dtype=np.int64)
    for row, (order, winner) in enumerate(zip(shown, table["winner"], strict=True)):
        key = (order, winner)
        if key not in known:
            place = _place(winner, order)
            if place is None:
                expected = tr("one of {names}, a letter of their places, “tie” or “N”", names=", ".join(order))
                raise fault(row, "winner", winner, expected)
            known[key] = place
        out[row] = known[key]
    return out


def _place(winner: str, order: Sequence[str]) -> int | None:
    """A name comes before a letter, so that a candidate may be called “A”, “N” or “tie”."""
    if winner in order:
        return order.index(winner) + 1
    key = winner.casefold()
    if key in _UNREAD and (key != "n" or len(order) < ord("n") - ord("a")):
        return -1
    if key in _TIE:
        return 0
    place = ord(key) - ord("a") + 1 if len(key) == 1 else 0
    if 1 <= place <= len(order):
        return place
    return 0 if place == len(order) + 1 else None


def _repeats(table: pd.DataFrame) -> np.ndarray:
    if "rep" not in table:
        return np.zeros(len(table), dtype=np.int64)
    codes, texts = pd.factorize(table["rep"])
    values = []
    for code, text in enumerate(texts):
        digits = str(text).removesuffix(".0") or "0"
        if not digits.isdecimal() or len(digits) > 5 or int(digits) > MAX_WHOLE:
            row = int(np.flatnonzero(codes == code)[0])
            raise fault(row, "rep", str(text)[:60], tr("a whole number from 0 to {most:,}", most=MAX_WHOLE))
        values.append(int(digits))
    return np.array(values, dtype=np.int64)[codes]


# ------------------------------------------------------------------ items, arms, orderings


def _items(table: pd.DataFrame, datasets: pd.Series[str], shown: Orders) -> tuple[pd.DataFrame, np.ndarray]:
    """One item a (data set, task, question, set of candidates), in order of appearance."""
    task = table["task"] if "task" in table else pd.Series([""] * len(table))
    orders, order_list = pd.factorize(pd.Series(shown, dtype=object))
    sets = pd.factorize(pd.Series([tuple(sorted(o)) for o in order_list], dtype=object))[0][orders]
    key = _joint(pd.factorize(datasets)[0], pd.factorize(task)[0], pd.factorize(table["question_id"])[0], sets)
    code = pd.factorize(key)[0]
    first = np.flatnonzero(~pd.Series(code).duplicated().to_numpy())
    candidates = [shown[row] for row in first]
    question = table["question_id"].iloc[first].tolist()
    ids = [f"{q}: {' | '.join(c)}" for q, c in zip(question, candidates, strict=True)]
    if len(set(ids)) < len(ids):
        where = zip(datasets.iloc[first], task.iloc[first], ids, strict=True)
        ids = ["/".join(part for part in parts if part) for parts in where]
    items = pd.DataFrame(
        {
            "item_id": ids,
            "dataset": datasets.iloc[first].to_numpy(),
            "criterion": None,
            "block": None,
            "prompt": pd.Series(question, dtype=object),
            "candidate": None,
            "task": [text or None for text in task.iloc[first]],
            "human": np.nan,
            "raters": [()] * len(first),
            "n_chars": 0,
            "candidates": pd.Series(candidates, dtype=object),
        }
    )
    for column, mean in _lengths(table, code, len(first)).items():
        items[column] = mean
    if "prompt_length" in items and "n_chars" not in table:
        items["n_chars"] = items["prompt_length"]
    # A whole number in every store: 0 stands for "not known".
    items["n_chars"] = items["n_chars"].fillna(0).round().astype(np.int64)
    return items, np.asarray(code, dtype=np.int64)


def _joint(*codes: np.ndarray) -> np.ndarray:
    """One code for several code columns of equal length."""
    flat = np.asarray(codes[0], dtype=np.int64)
    for code in codes[1:]:
        flat = pd.factorize(flat * (int(code.max()) + 1) + code)[0].astype(np.int64)
    return flat


def _lengths(table: pd.DataFrame, item: np.ndarray, n_items: int) -> dict[str, np.ndarray]:
    """The mean over an item's rows of each length column; NaN where every cell is empty."""
    found = {}
    for column in table.columns:
        if not column.endswith(LENGTH_ENDINGS) or column in ANSWER_CHARS:
            continue
        values = numbers(table, column, tr("a number"))
        given = np.isfinite(values)
        total = np.bincount(item[given], weights=values[given], minlength=n_items)
        count = np.bincount(item[given], minlength=n_items)
        found[column] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return found


def _answer_chars(table: pd.DataFrame, shown: Orders, candidates: pd.Series, item: np.ndarray) -> pd.Series:
    """Of each item, how long each of its ``candidates`` is: the mean over its rows, NaN unknown."""
    first, second = (numbers(table, column, tr("a number")) for column in ANSWER_CHARS)
    turned = np.array([order != candidates[code] for order, code in zip(shown, item, strict=True)])
    by_candidate = np.column_stack([np.where(turned, second, first), np.where(turned, first, second)])
    known, n = np.isfinite(by_candidate), len(candidates)
    total = [np.bincount(item, np.where(known[:, k], by_candidate[:, k], 0.0), n) for k in (0, 1)]
    count = [np.bincount(item, known[:, k], n) for k in (0, 1)]
    mean = [np.where(of > 0, sum_ / np.maximum(of, 1), np.nan) for sum_, of in zip(total, count, strict=True)]
    return pd.Series(list(zip(*(part.tolist() for part in mean), strict=True)), dtype=object)


def _arms(
    table: pd.DataFrame, datasets: pd.Series[str], shown: Orders, axis: Axis
) -> tuple[tuple[Arm, ...], np.ndarray]:
    """One arm a (judge, data set, number of candidates), in order of appearance."""
    sizes = np.array([len(order) for order in shown], dtype=np.int64)
    code = _joint(pd.factorize(table["judge"])[0], pd.factorize(datasets)[0], sizes)
    code = pd.factorize(code)[0].astype(np.int64)
    first = np.flatnonzero(~pd.Series(code).duplicated().to_numpy())
    arms = tuple(
        Arm(
            judge=str(table["judge"].iloc[row]),
            dataset=str(datasets.iloc[row]),
            strategy=STRATEGY,
            axis=axis,
            n_positions=int(sizes[row]),
        )
        for row in first
    )
    return arms, code


def _orderings(shown: Orders) -> tuple[tuple[Ordering, ...], np.ndarray]:
    codes, orders = pd.factorize(pd.Series(shown, dtype=object))
    made = tuple(
        Ordering(tuple(order), tuple(chr(ord("A") + place) for place in range(len(order)))) for order in orders
    )
    return made, codes.astype(np.int64)


def _reads(item: np.ndarray, ordering: np.ndarray) -> np.ndarray:
    """The rank of each row's ordering among its item's orderings, by code."""
    width = int(ordering.max()) + 1
    pairs, back = np.unique(item * width + ordering, return_inverse=True)
    owner = pairs // width
    start = np.searchsorted(owner, owner)
    return np.asarray((np.arange(len(pairs)) - start)[back], dtype=np.int64)


def _no_duplicates(arm: np.ndarray, item: np.ndarray, ordering: np.ndarray, repeat: np.ndarray) -> None:
    key = pd.DataFrame({"arm": arm, "item": item, "ordering": ordering, "repeat": repeat})
    again = np.flatnonzero(key.duplicated().to_numpy())
    if len(again):
        row = int(again[0])
        before = int(np.flatnonzero((key == key.iloc[row]).all(axis=1).to_numpy())[0])
        raise DataError(
            tr(
                "Row {row} repeats row {before}: the same judge, question, order and rep{more}. If it is a "
                "repeated call, number the repeats in column “rep”.",
                row=row + 2,
                before=before + 2,
                more=and_more(len(again) - 1),
            )
        )
