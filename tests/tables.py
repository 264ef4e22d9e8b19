"""Judgment tables made of arrays, and of judges and people who share a latent trait: for tests of
core, topics and sinks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

import rubriclab.measures  # noqa: F401 - registers what rows are made of
from rubriclab.core.cells import Answers
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Caution, Findings, Row
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering, Status
from rubriclab.model.orders import balanced

NAMES = ("clarity", "depth", "style", "tone", "wit")


def items_frame(n: int, **columns: Sequence[Any]) -> pd.DataFrame:
    made = {"item_id": [f"item {i}" for i in range(n)], "dataset": ["answers"] * n}
    for name in ("criterion", "block", "prompt", "candidate", "task"):
        made[name] = [None] * n
    made["ratings"] = [{} for _ in range(n)]
    return pd.DataFrame(made | {name: list(column) for name, column in columns.items()})


def rows_frame(
    condition: Any, item: Any, ordering: Any, score: Any, call: Any, **columns: Any
) -> pd.DataFrame:
    score = np.asarray(score, dtype=np.float64)
    made: dict[str, Any] = {
        "condition": condition,
        "item": item,
        "ordering": ordering,
        "slot": 0,
        "repeat": 0,
        "call": call,
        "status": np.where(np.isfinite(score), int(Status.OK), int(Status.UNPARSED)),
        "score": score,
        "position": 0,
        "expected": np.nan,
        "mass": np.nan,
    }
    return pd.DataFrame(made | columns)


def options(
    score: Any,
    orders: Any,
    order: Any = None,
    *,
    scores: Sequence[float] | None = None,
    strategy: str = "balanced",
    judge: str = "judge",
    drawn: bool = False,
    expected: Any = None,
    mass: Any = None,
    state: str = "finished",
    fixed: Any = None,
    **items: Sequence[Any],
) -> JudgmentTable:
    """``score`` (items, calls): points, NaN unparsed; ``orders`` (m, n): points as shown;
    ``order``: (calls,) or (items, calls), indexes into orders, by default all in turn. ``fixed``
    (items, repeats): a second condition, in orders[0].
    """
    score, orders = np.asarray(score, dtype=np.float64), np.asarray(orders)
    n_items, calls = score.shape
    order = np.arange(calls) % len(orders) if order is None else np.asarray(order)
    order = np.broadcast_to(order, score.shape)
    item = np.repeat(np.arange(n_items), calls)
    scale = tuple(sorted(orders[0].tolist())) if scores is None else tuple(scores)
    extra = {
        name: np.asarray(value, dtype=np.float64).ravel()
        for name, value in (("expected", expected), ("mass", mass))
        if value is not None
    }
    frames = [rows_frame(0, item, order.ravel(), score.ravel(), np.arange(score.size), **extra)]
    conditions = [
        Condition(judge, "answers", strategy, "options", scale, (), orders.shape[1], drawn=drawn)
    ]
    if fixed is not None:
        again = np.asarray(fixed, dtype=np.float64)
        item = np.repeat(np.arange(n_items), again.shape[1])
        frames.append(rows_frame(1, item, 0, again.ravel(), score.size + np.arange(again.size)))
        conditions.append(
            Condition(judge, "answers", "fixed", "options", scale, (), orders.shape[1])
        )
    shown = tuple(Ordering(tuple(row), tuple(map(str, row))) for row in orders.tolist())
    table = pd.concat(frames, ignore_index=True)
    return JudgmentTable(
        "run", "Run", tuple(conditions), items_frame(n_items, **items), shown, table, state=state
    )


def criteria(
    score: Any, orders: Any, order: Any = None, drawn: bool = False, **items: Sequence[Any]
) -> JudgmentTable:
    """``score`` (texts, calls, criteria): points, NaN unparsed; ``orders`` (m, criteria): indexes
    of NAMES as shown.

    Further ``items`` columns are given by text.
    """
    score, orders = np.asarray(score, dtype=np.float64), np.asarray(orders)
    texts, calls, n = score.shape
    order = np.broadcast_to(
        np.arange(calls) % len(orders) if order is None else np.asarray(order), (texts, calls)
    )
    item = np.arange(texts)[:, None, None] * n + np.zeros((1, calls, 1), dtype=int) + np.arange(n)
    call = np.broadcast_to(np.arange(texts * calls).reshape(texts, calls, 1), score.shape)
    place_in = np.argsort(orders, axis=1)[order]
    rows = rows_frame(
        0,
        item.ravel(),
        np.repeat(order.ravel(), n),
        score.ravel(),
        call.ravel(),
        slot=np.tile(np.arange(n), texts * calls),
        position=place_in.ravel() + 1,
    )
    by_text = {
        name: np.repeat(np.asarray(column, dtype=object), n) for name, column in items.items()
    }
    frame = items_frame(texts * n, criterion=NAMES[:n] * texts, **by_text)
    condition = Condition(
        "judge", "answers", "balanced", "criteria", (1, 2, 3, 4, 5), NAMES[:n], n, drawn=drawn
    )
    shown = tuple(
        Ordering(tuple(NAMES[k] for k in row), tuple(NAMES[k] for k in row))
        for row in orders.tolist()
    )
    return JudgmentTable("run", "Run", (condition,), frame, shown, rows)


def choices(
    score: ArrayLike,
    order: ArrayLike,
    orders: ArrayLike,
    unit: ArrayLike | None = None,
    points: ArrayLike | None = None,
    drawn: bool = False,
) -> Answers:
    """Answers from a table of codes into ``points``, NaN unparsed: (items, slots) of options
    chosen, or (texts, slots, criteria) of what criteria got.

    ``order`` (items, slots) or (slots,): indexes into ``orders`` (m, n). ``points``: 1..n where
    left out.
    """
    code = np.nan_to_num(np.asarray(score, dtype=np.float64), nan=-1.0).astype(np.int64)
    items, slots = code.shape[:2]
    shown = np.asarray(orders, dtype=np.int64)
    return Answers(
        item=np.repeat(np.arange(items), slots),
        order=np.broadcast_to(np.asarray(order, dtype=np.int64), (items, slots)).ravel(),
        code=code.reshape(items * slots, code.shape[2] if code.ndim == 3 else 1),
        orders=shown,
        unit=np.arange(items)
        if unit is None
        else np.unique(np.asarray(unit), return_inverse=True)[1],
        points=np.arange(1.0, shown.shape[1] + 1)
        if points is None
        else np.asarray(points, dtype=np.float64),
        drawn=drawn,
        criteria=code.ndim == 3,
    )


def on_two_sets(
    first: JudgmentTable, second: JudgmentTable, dataset: str = "essays"
) -> JudgmentTable:
    """Two tables of one condition each, in the same orders, as one run: the second on a data set of
    its own.
    """
    condition = replace(second.conditions[0], dataset=dataset)
    items, calls = len(first.items), len(first.rows)
    rows = second.rows.assign(
        condition=1, item=second.rows["item"] + items, call=second.rows["call"] + calls
    )
    return replace(
        first,
        conditions=(first.conditions[0], condition),
        items=pd.concat([first.items, second.items.assign(dataset=dataset)], ignore_index=True),
        rows=pd.concat([first.rows, rows], ignore_index=True),
    )


def findings(table: JudgmentTable, unit: str = "auto", **how: Any) -> Findings:
    return Findings(Judgments(table, unit), **how)


def only(found: Findings, measure: str, condition: int = 0, **of: Any) -> Row:
    """The single row of a measure."""
    (row,) = found.select(measure, condition=condition, **of)
    return row


def balanced_orders(n: int) -> np.ndarray:
    """(2n, n) points 1..n as shown."""
    return np.array(balanced(tuple(range(1, n + 1))))


ORDERS = balanced_orders(5)


def choose(
    rng: np.random.Generator,
    items: int,
    orders: np.ndarray,
    *,
    first: float = 0.0,
    repeats: int = 1,
) -> np.ndarray:
    """(items, repeats x orders): scores of a latent-quality judge that favours the first position
    by ``first`` log-odds.
    """
    n = orders.shape[1]
    quality = rng.normal((n + 1) / 2, 1.0, (items, 1, 1))
    shown = np.tile(orders, (repeats, 1))
    utility = -0.5 * (shown - quality) ** 2 + first * (np.arange(n) == 0)
    chosen = (utility + rng.gumbel(size=utility.shape)).argmax(axis=2)
    return shown[np.arange(len(shown)), chosen].astype(np.float64)


def comparisons(
    position: Any,
    orders: Any,
    order: Any = None,
    *,
    names: Any = None,
    judge: str = "judge",
    drawn: bool = False,
    strategy: str = "balanced",
    **items: Sequence[Any],
) -> JudgmentTable:
    """``position`` (comparisons, calls): who won, 1..k as shown, 0 a tie, NaN unparsed; ``orders``
    (m, k): ranks 0..k-1 of the candidates' names as shown; ``names``: (comparisons,) tuples of k
    names, else “a”, “b”, ... in all.
    """
    position, orders = np.asarray(position, dtype=np.float64), np.asarray(orders)
    n, k = len(position), orders.shape[1]
    sets = [tuple("abcdefgh"[:k])] * n if names is None else [tuple(sorted(part)) for part in names]
    order = np.broadcast_to(
        np.arange(position.shape[1]) % len(orders) if order is None else order, position.shape
    )
    known = {part: code for code, part in enumerate(dict.fromkeys(sets))}
    code = np.array([known[part] for part in sets])[:, None] * len(orders) + order
    rows = rows_frame(
        0,
        np.repeat(np.arange(n), position.shape[1]),
        code.ravel(),
        np.where(np.isnan(position), np.nan, 0).ravel(),
        np.arange(position.size),
        position=np.nan_to_num(position).astype(int).ravel(),
    ).assign(score=np.nan)
    shown = tuple(
        Ordering(tuple(part[k] for k in row), ("A", "B", "C", "D")[:k])
        for part in known
        for row in orders
    )
    condition = Condition(
        judge, "answers", strategy, "pairs" if k == 2 else "lists", (), (), k, drawn=drawn
    )
    frame = items_frame(n, **{"candidate": ["|".join(part) for part in sets]} | items)
    return JudgmentTable("run", "Run", (condition,), frame, shown, rows)


def responses(score: Any, orders: Any, alone: Any = None, **items: Sequence[Any]) -> JudgmentTable:
    """``score`` (batches, calls, k): points by slot, NaN unparsed; ``orders`` (m, k): slots 0..k-1
    as shown, in turn. ``alone`` (batches, k): a second condition that scores one answer a call.
    """
    score, orders = np.asarray(score, dtype=np.float64), np.asarray(orders)
    batches, calls, k = score.shape
    order = np.broadcast_to(np.arange(calls) % len(orders), (batches, calls))
    item = np.arange(batches)[:, None, None] * k + np.zeros((1, calls, 1), dtype=int) + np.arange(k)
    call = np.broadcast_to(np.arange(batches * calls).reshape(batches, calls, 1), score.shape)
    ordering = np.broadcast_to(
        (np.arange(batches)[:, None] * len(orders) + order)[:, :, None], score.shape
    )
    frames = [
        rows_frame(
            0,
            item.ravel(),
            ordering.ravel(),
            score.ravel(),
            call.ravel(),
            slot=np.tile(np.arange(k), batches * calls),
            position=np.argsort(orders, axis=1)[order].ravel() + 1,
        )
    ]
    names = np.array([f"item {i}" for i in range(batches * k)]).reshape(batches, k)
    shown = [
        tuple(batch[row])
        for batch in names.tolist()
        for batch in [np.array(batch)]
        for row in orders
    ]
    scale = (1.0, 2.0, 3.0, 4.0, 5.0)
    conditions = [Condition("judge", "answers", "balanced", "responses", scale, (), k)]
    if alone is not None:
        single = np.asarray(alone, dtype=np.float64).ravel()
        own = np.arange(batches * k)
        frames.append(rows_frame(1, own, len(shown) + own, single, score.size + own, position=1))
        shown += [(name,) for name in names.ravel().tolist()]
        conditions.append(Condition("judge", "answers", "alone", "responses", scale, (), 1))
    table = pd.concat(frames, ignore_index=True)
    orderings = tuple(
        Ordering(tuple(map(str, row)), tuple(map(str, range(1, len(row) + 1)))) for row in shown
    )
    return JudgmentTable(
        "run", "Run", tuple(conditions), items_frame(batches * k, **items), orderings, table
    )


def in_forms(forms: dict[Any, JudgmentTable], factor: str = "ids") -> JudgmentTable:
    """Tables of the same items as one run: conditions of a judge that differ in a level of a
    factor, the first the default.
    """
    conditions, orderings, frames = [], [], []
    for level, table in forms.items():
        rows = table.rows.assign(
            condition=table.rows["condition"] + len(conditions),
            ordering=table.rows["ordering"] + len(orderings),
            call=table.rows["call"] + sum(map(len, frames)),
        )
        conditions += [replace(part, variant={factor: level}) for part in table.conditions]
        orderings += table.orderings
        frames.append(rows)
    first = next(iter(forms.values()))
    rows = pd.concat(frames, ignore_index=True)
    return replace(first, conditions=tuple(conditions), orderings=tuple(orderings), rows=rows)


# ------------------------------------------------------------------------------------------- people
CUTS = {"even": (-1.2, -0.4, 0.4, 1.2), "skewed": (-2.2, -1.6, -1.0, -0.3)}


def study(
    rng: np.random.Generator,
    items: int,
    *,
    calls: int = 10,
    raters: int = 3,
    kind: str = "even",
    size: int = 1,
    link: float = 1.0,
    noise: float = 0.5,
    fixed: int = 0,
    lost: float = 0.0,
    unrated: float = 0.0,
) -> JudgmentTable:
    """Scores and ratings 1 to 5; ``size`` items to a prompt, half of whose trait they share;
    ``link`` 0: the judge reads something else than people. ``fixed``: calls in one order, a second
    condition of the same judge.
    """
    units = items // size
    shared = rng.normal(size=(units, 1)) * np.ones(size)
    own = rng.normal(size=(units, size))
    trait = (own if size == 1 else np.sqrt(0.5) * (shared + own)).reshape(items, 1)
    seen = link * trait + np.sqrt(1 - link**2) * rng.normal(size=(items, 1))
    cuts = np.array(CUTS[kind])
    score = 1.0 + np.searchsorted(cuts, seen + noise * rng.logistic(size=(items, calls)))
    again = (
        1.0 + np.searchsorted(cuts, seen + noise * rng.logistic(size=(items, fixed)))
        if fixed
        else None
    )
    rating = 1.0 + np.searchsorted(cuts, trait + 0.6 * rng.normal(size=(items, raters)))
    rating[rng.random(rating.shape) < unrated] = np.nan
    score = np.where(rng.random(score.shape) < lost, np.nan, score)
    people = [
        {f"rater {k}": value for k, value in enumerate(row) if np.isfinite(value)}
        for row in rating.tolist()
    ]
    prompt = [f"p{i // size}" for i in range(items)] if size > 1 else [None] * items
    return options(score, ORDERS, fixed=again, ratings=people, prompt=prompt)


def rows_of(
    table: JudgmentTable, topic: str, condition: int = 0
) -> tuple[list[Row], list[Caution]]:
    """One topic's rows and cautions of one condition; no verdict is computed."""
    made = list(TOPICS[topic].rows(Judgments(table).arms[condition]))
    return [one for one in made if isinstance(one, Row)], [
        one for one in made if isinstance(one, Caution)
    ]


def row_of(table: JudgmentTable, topic: str, measure: str, condition: int = 0, **of: Any) -> Row:
    (row,) = [
        row
        for row in rows_of(table, topic, condition)[0]
        if row.measure == measure and dict(row.of) == of
    ]
    return row
