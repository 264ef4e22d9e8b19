"""Small runs for tests of sinks and pages: a rule says what each item gets in each order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import rubriclab.topics  # noqa: F401 - registers what rows are made of
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings as Findings
from rubriclab.model.judgment import JUDGMENT_COLUMNS, Condition, JudgmentTable, Ordering, Status
from rubriclab.model.orders import balanced

Rule = Callable[[int, tuple[Any, ...], int], int | None]
"""(item, order shown, repeat) -> score, or None for an unparsed reply."""


def always_first(item: int, shown: tuple[Any, ...], repeat: int) -> int:  # noqa: ARG001
    return int(shown[0])


def by_quality(item: int, shown: tuple[Any, ...], repeat: int) -> int:  # noqa: ARG001
    return 1 + item % len(shown)


def mostly_first(item: int, shown: tuple[Any, ...], repeat: int) -> int:
    """Every second call the first option, else the item's own score; a little noise."""
    return int(shown[0]) if (item + sum(shown[:2]) + repeat) % 2 else 1 + item % len(shown)


def options_table(
    rules: dict[str, Rule], *, items: int = 12, repeats: int = 2, name: str = "Made run", **more: Any
) -> JudgmentTable:
    """Judges by name with their rules: three scores, each balanced order ``repeats`` times.

    ``more``: ``state``, ``simulated``, ``prompts`` (how many instructions the items share).
    """
    scores = (1, 2, 3)
    orders = balanced(scores)
    made = Condition(
        "", "answers", "balanced", scores=(1.0, 2.0, 3.0), positions=3, simulated=more.get("simulated", False)
    )
    rows: list[dict[str, Any]] = []
    for code, rule in enumerate(rules.values()):
        for item, (ordering, shown), repeat in product(range(items), enumerate(orders), range(repeats)):
            score = rule(item, shown, repeat)
            outcome = {"status": int(Status.UNPARSED), "score": np.nan, "position": 0}
            if score is not None:
                outcome = {"status": int(Status.OK), "score": float(score), "position": shown.index(score) + 1}
            asked = {"condition": code, "item": item, "ordering": ordering, "repeat": repeat, "call": len(rows)}
            rows.append(asked | outcome | {"slot": 0})
    return JudgmentTable(
        run="0123456789ab",
        name=name,
        conditions=tuple(replace(made, judge=judge) for judge in rules),
        items=items_frame([f"answer-{k}" for k in range(items)], more.get("prompts")),
        orderings=tuple(Ordering(shown, tuple(map(str, shown))) for shown in orders),
        rows=judgments_of(rows),
        planned=(len(rows) // len(rules),) * len(rules),
        state=more.get("state", "finished"),
    )


def several(*conditions: Condition, rules: dict[str, Rule] | None = None, items: int = 12) -> Findings:
    """One run of several conditions, each judged by the rule of its judge (by quality where none is named)."""
    by = {str(k): (rules or {}).get(asked.judge, by_quality) for k, asked in enumerate(conditions)}
    full = tuple(replace(asked, scores=(1.0, 2.0, 3.0), positions=3) for asked in conditions)
    return findings(replace(options_table(by, items=items), conditions=full))


def criteria_table(
    rule: Callable[[int, int, int], int], *, items: int = 12, names: Sequence[str] = ("Tone", "Length", "Facts")
) -> JudgmentTable:
    """One judge; ``rule``: (text, criterion, position from 0) -> score of 1 to 5. Every balanced order twice."""
    orders, n = balanced(tuple(names)), len(names)
    scores = (1.0, 2.0, 3.0, 4.0, 5.0)
    rows = [
        {
            "condition": 0, "item": text * n + slot, "ordering": ordering, "slot": slot, "repeat": repeat, "call": call,
            "status": 0, "score": float(rule(text, slot, shown.index(name))), "position": shown.index(name) + 1,
        }
        for call, (text, (ordering, shown), repeat) in enumerate(product(range(items), enumerate(orders), range(2)))
        for slot, name in enumerate(names)
    ]  # fmt: skip
    frame = items_frame([f"text-{k}/{name}" for k in range(items) for name in names], None)
    frame["criterion"] = list(names) * items
    frame["block"] = [f"text-{k}" for k in range(items) for _ in names]
    return JudgmentTable(
        run="ba9876543210",
        name="Made criteria",
        conditions=(Condition("judge-7b", "answers", "balanced", "criteria", scores, tuple(names), n),),
        items=frame,
        orderings=tuple(Ordering(shown, shown) for shown in orders),
        rows=judgments_of(rows),
        planned=(len(rows) // n,),
    )


def judgments_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as the store's columns; no judge here gives probabilities."""
    return pd.DataFrame(rows).reindex(columns=list(JUDGMENT_COLUMNS))


def items_frame(ids: Sequence[str], prompts: int | None) -> pd.DataFrame:
    """Items by their ids; ``prompts``: how many instructions they share."""
    frame = pd.DataFrame({"item_id": list(ids), "dataset": "answers"})
    for name in ("criterion", "block", "candidate", "task"):
        frame[name] = None
    frame["prompt"] = [f"prompt-{k % prompts}" if prompts else None for k in range(len(ids))]
    frame["ratings"] = [{} for _ in ids]
    frame["unit_text"] = [f"text of {name}" for name in ids]
    return frame


def findings(table: JudgmentTable) -> Findings:
    return Findings(Judgments(table))
