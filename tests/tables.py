"""Judgment tables made of arrays, for tests of core and topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

import rubriclab.topics  # noqa: F401 - registers what rows are made of
from rubriclab.core.answers import Answers
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering, Status
from rubriclab.model.orders import balanced

NAMES = ("clarity", "depth", "style", "tone", "wit")


def items_frame(n: int, **columns: Sequence[Any]) -> pd.DataFrame:
    made = {"item_id": [f"item {i}" for i in range(n)], "dataset": ["answers"] * n}
    for name in ("criterion", "block", "prompt", "candidate", "task"):
        made[name] = [None] * n
    made["ratings"] = [{} for _ in range(n)]
    return pd.DataFrame(made | {name: list(column) for name, column in columns.items()})


def rows_frame(condition: int, item: Any, ordering: Any, score: Any, call: Any, **columns: Any) -> pd.DataFrame:
    score = np.asarray(score, dtype=np.float64)
    made: dict[str, Any] = {
        "condition": condition, "item": item, "ordering": ordering, "slot": 0, "repeat": 0, "call": call,
        "status": np.where(np.isfinite(score), int(Status.OK), int(Status.UNPARSED)), "score": score, "position": 0,
        "expected": np.nan, "mass": np.nan,
    }  # fmt: skip
    return pd.DataFrame(made | columns)


def options(
    score: Any, orders: Any, order: Any = None, *, scores: Sequence[float] | None = None, strategy: str = "balanced",
    judge: str = "judge", drawn: bool = False, expected: Any = None, mass: Any = None, state: str = "finished",
    fixed: Any = None, **items: Sequence[Any],
) -> JudgmentTable:  # fmt: skip
    """``score`` (items, calls): points, NaN unparsed; ``orders`` (m, n): points as shown; ``order``: (calls,) or (items,
    calls), indexes into orders, by default all in turn. ``fixed`` (items, repeats): a second condition, in orders[0].
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
    conditions = [Condition(judge, "answers", strategy, "options", scale, (), orders.shape[1], drawn=drawn)]
    if fixed is not None:
        again = np.asarray(fixed, dtype=np.float64)
        item = np.repeat(np.arange(n_items), again.shape[1])
        frames.append(rows_frame(1, item, 0, again.ravel(), score.size + np.arange(again.size)))
        conditions.append(Condition(judge, "answers", "fixed", "options", scale, (), orders.shape[1]))
    shown = tuple(Ordering(tuple(row), tuple(map(str, row))) for row in orders.tolist())
    table = pd.concat(frames, ignore_index=True)
    return JudgmentTable("run", "Run", tuple(conditions), items_frame(n_items, **items), shown, table, state=state)


def criteria(
    score: Any, orders: Any, order: Any = None, *, drawn: bool = False, **items: Sequence[Any]
) -> JudgmentTable:
    """``score`` (texts, calls, criteria): points, NaN unparsed; ``orders`` (m, criteria): indexes of NAMES as shown.

    Further ``items`` columns are given by text.
    """
    score, orders = np.asarray(score, dtype=np.float64), np.asarray(orders)
    texts, calls, n = score.shape
    order = np.broadcast_to(np.arange(calls) % len(orders) if order is None else np.asarray(order), (texts, calls))
    item = np.arange(texts)[:, None, None] * n + np.zeros((1, calls, 1), dtype=int) + np.arange(n)
    call = np.broadcast_to(np.arange(texts * calls).reshape(texts, calls, 1), score.shape)
    place_in = np.argsort(orders, axis=1)[order]
    rows = rows_frame(
        0, item.ravel(), np.repeat(order.ravel(), n), score.ravel(), call.ravel(), slot=np.tile(np.arange(n), texts * calls),
        position=place_in.ravel() + 1,
    )  # fmt: skip
    by_text = {name: np.repeat(np.asarray(column, dtype=object), n) for name, column in items.items()}
    frame = items_frame(texts * n, criterion=NAMES[:n] * texts, **by_text)
    condition = Condition("judge", "answers", "balanced", "criteria", (1, 2, 3, 4, 5), NAMES[:n], n, drawn=drawn)
    shown = tuple(Ordering(tuple(NAMES[k] for k in row), tuple(NAMES[k] for k in row)) for row in orders.tolist())
    return JudgmentTable("run", "Run", (condition,), frame, shown, rows)


def choices(
    score: ArrayLike, order: ArrayLike, orders: ArrayLike, unit: ArrayLike | None = None,
    points: ArrayLike | None = None, drawn: bool = False,
) -> Answers:  # fmt: skip
    """Answers from a table of codes into ``points``, NaN unparsed: (items, slots) of options chosen, or (texts, slots,
    criteria) of what criteria got.

    ``order`` (items, slots) or (slots,): indexes into ``orders`` (m, n). ``points``: 1..n where left out.
    """
    code = np.nan_to_num(np.asarray(score, dtype=np.float64), nan=-1.0).astype(np.int64)
    items, slots = code.shape[:2]
    shown = np.asarray(orders, dtype=np.int64)
    return Answers(
        item=np.repeat(np.arange(items), slots),
        order=np.broadcast_to(np.asarray(order, dtype=np.int64), (items, slots)).ravel(),
        code=code.reshape(items * slots, code.shape[2] if code.ndim == 3 else 1),
        orders=shown,
        unit=np.arange(items) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1],
        points=np.arange(1.0, shown.shape[1] + 1) if points is None else np.asarray(points, dtype=np.float64),
        drawn=drawn,
        criteria=code.ndim == 3,
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


def choose(
    rng: np.random.Generator, items: int, orders: np.ndarray, *, first: float = 0.0, repeats: int = 1
) -> np.ndarray:
    """(items, repeats x orders): scores of a latent-quality judge that favours the first position by ``first`` log-odds."""
    n = orders.shape[1]
    quality = rng.normal((n + 1) / 2, 1.0, (items, 1, 1))
    shown = np.tile(orders, (repeats, 1))
    utility = -0.5 * (shown - quality) ** 2 + first * (np.arange(n) == 0)
    chosen = (utility + rng.gumbel(size=utility.shape)).argmax(axis=2)
    return shown[np.arange(len(shown)), chosen].astype(np.float64)
