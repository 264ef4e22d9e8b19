"""Judgments of several responses in one call, made elsewhere: a long table becomes a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rubriclab.datasets.coded import Coded, CodedTable, Floats, Ints, first_rows, joint, rank_within
from rubriclab.datasets.criteria import scales_of
from rubriclab.datasets.scores import IMPORTED, item_table, run_of
from rubriclab.model import Arm, DataError, Ordering, RunData, Variant, designs
from rubriclab.model.language import tr

REQUIRED = ("judge", "dataset", "item_id", "batch", "place", "score")
OPTIONAL = ("order", "criterion", "block", "prompt", "candidate", "task", "human", "repeat", "strategy")
MAX_SIZE = 200


def read_batches(frame: pd.DataFrame, *, name: str) -> RunData:
    """A table with one response's score of one call a row as a run called ``name``.

    Columns ``judge, dataset, item_id, batch, place, score`` and optional ``order, criterion, block,
    prompt, candidate, task, human`` (or ``human_1``, ...), ``repeat, strategy``. ``batch`` names the
    responses that were asked for together, ``order`` which order of them (one batch in several
    orders), ``place`` where the response stood, from 1. A call is one judge, batch, order, repeat and
    strategy. A blank ``batch`` is a single call: what the batches are held against. Blank scores are
    status unparsed.

    Raises DataError naming row and column: a place that is none, two responses at one place, a place
    that is left out, a score that is no whole number.
    """
    table = CodedTable(frame, required=REQUIRED, optional=OPTIONAL)
    judge, dataset = table.coded("judge", required=True), table.coded("dataset", required=True)
    items, item = item_table(table, dataset, "item_id")
    score = table.numbers("score")
    place, call = _places(table, item)
    size = np.bincount(call)[call]
    shown, ordering = _orders(items, item, place, call)
    strategy = _strategies(table, joint(judge.code, dataset.code, size)[0], ordering, shown)
    arm, first = joint(judge.code, dataset.code, strategy.code, size)
    arms = _arms(table, score, (judge, dataset, strategy), size, first)
    repeat = table.whole_numbers("repeat") if "repeat" in table else np.zeros(table.rows, dtype=np.int64)
    of_call = first_rows(call)
    read = rank_within(joint(arm[of_call], _batches(shown)[ordering[of_call]], repeat[of_call])[0], ordering[of_call])
    columns = {"arm": arm, "item": item, "ordering": ordering, "read": read[call], "repeat": repeat, "call": call}
    orders = tuple(Ordering(line) for line in shown)
    return run_of(name, arms, items, orders, columns, score, place)


def _arms(
    table: CodedTable, score: Floats, texts: tuple[Coded, Coded, Coded], size: Ints, first: Ints
) -> tuple[Arm, ...]:
    """The arm of each ``first`` row: judge, data set, strategy and how many responses a call."""
    scales = scales_of(table, score, texts[1])
    heads = [tuple(coded.texts[coded.code[row]] for coded in texts) for row in first.tolist()]
    return tuple(
        Arm(judge, dataset, strategy, "batch", scales[dataset], int(n), Variant((("batch_size", int(n)),)))
        for (judge, dataset, strategy), n in zip(heads, size[first].tolist(), strict=True)
    )


def _places(table: CodedTable, item: Ints) -> tuple[Ints, Ints]:
    """Each row's place from 1 and its call; the k-th row of an item in a call belongs to the k-th of its kind."""
    batch = table.coded("batch").code
    alone = batch < 0
    parts = [table.coded(part).code for part in ("judge", "dataset")]
    parts += [table.coded(part).code for part in ("criterion", "order", "strategy") if part in table]
    parts += [table.whole_numbers("repeat")] if "repeat" in table else []
    zeros = np.zeros(table.rows, dtype=np.int64)
    group = joint(*parts, np.where(alone, int(batch.max(initial=0)) + 1 + item, batch))[0]
    again = rank_within(joint(group, item)[0], zeros)
    call = joint(group, again)[0]
    given = table.numbers("place")
    given = np.where(alone & ~np.isfinite(given), 1.0, given)
    wrong = ~np.isfinite(given) | (given != np.floor(given)) | (given < 1) | (given > MAX_SIZE) | (alone & (given != 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            tr(
                "{at} is no place from 1 to {most}. Number the responses of a call from 1; leave batch and "
                "place blank for a single call.",
                at=table.at(row, "place"),
                most=MAX_SIZE,
            )
        )
    place = given.astype(np.int64)
    _check_whole(table, call, place)
    return place, call


def _check_whole(table: CodedTable, call: Ints, place: Ints) -> None:
    """Raises DataError where a call lacks a place or has one twice: what stood before is not known then."""
    twice = pd.Series(call * (MAX_SIZE + 1) + place).duplicated().to_numpy()
    if twice.any():
        row = int(np.argmax(twice))
        raise DataError(
            tr(
                "{at}: another response of the same call stands at place {place}. Name the orders of a batch in "
                "a column “order”, and calls that were repeated in “repeat”.",
                at=table.at(row, "place"),
                place=place[row],
            )
        )
    short = place > np.bincount(call)[call]
    if short.any():
        row = int(np.argmax(short))
        raise DataError(
            tr(
                "{at}: place {place} of a call with {held} rows. Give every response of a call a row; leave its "
                "score blank where it could not be read.",
                at=table.at(row, "place"),
                place=place[row],
                held=int(np.bincount(call)[call[row]]),
            )
        )


def _orders(items: pd.DataFrame, item: Ints, place: Ints, call: Ints) -> tuple[list[tuple[str, ...]], Ints]:
    """The different orders shown, and each row's."""
    ids = items["item_id"].astype(str).to_numpy(dtype=object)
    sorted_rows = np.lexsort((place, call))
    lines = np.split(ids[item[sorted_rows]], np.flatnonzero(np.diff(call[sorted_rows])) + 1)
    known: dict[tuple[str, ...], int] = {}
    of_call = np.array([known.setdefault(tuple(line.tolist()), len(known)) for line in lines], dtype=np.int64)
    return list(known), of_call[call]


def _batches(shown: list[tuple[str, ...]]) -> Ints:
    """(orders,): a code for the same responses, whatever their order."""
    known: dict[tuple[str, ...], int] = {}
    return np.array([known.setdefault(tuple(sorted(line)), len(known)) for line in shown], dtype=np.int64)


def _strategies(table: CodedTable, group: Ints, ordering: Ints, shown: list[tuple[str, ...]]) -> Coded:
    """As named, or recognised within judge, data set and size: fixed, Williams, else imported."""
    named = table.coded("strategy") if "strategy" in table else None
    if named is not None and bool((named.code >= 0).all()):
        return named
    batches = _batches(shown)
    found = []
    for code in range(int(group.max()) + 1):
        by_batch: dict[int, list[tuple[str, ...]]] = {}
        for used in np.unique(ordering[group == code]).tolist():
            by_batch.setdefault(int(batches[used]), []).append(shown[used])
        found.append(_recognised(list(by_batch.values())))
    texts = list(dict.fromkeys([*(named.texts if named else ()), *found]))
    by_group = np.array([texts.index(text) for text in found], dtype=np.int32)[group]
    if named is not None:
        by_group = np.where(named.code >= 0, named.code, by_group)
    return Coded("strategy", by_group, tuple(texts))


def _recognised(groups: list[list[tuple[str, ...]]]) -> str:
    if all(len(lines) == 1 for lines in groups):
        return "fixed"
    checks = [designs.balance(lines[0], lines) for lines in groups]
    size = len(groups[0][0])
    rows = size if size % 2 == 0 else 2 * size
    square = all(check.distinct == rows and check.position_balanced and check.neighbour_balanced for check in checks)
    return "williams" if square else IMPORTED
