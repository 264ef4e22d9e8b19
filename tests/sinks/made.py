"""Small runs for tests of sinks and pages: a rule says what each item gets in each order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
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
    rules: dict[str, Rule], *, items: int = 12, n: int = 3, repeats: int = 2, name: str = "Made run", **more: Any
) -> JudgmentTable:
    """Judges by name with their rules, each in every balanced order ``repeats`` times."""
    scores = tuple(range(1, n + 1))
    orders = balanced(scores)
    conditions = tuple(
        Condition(
            judge,
            "answers",
            "balanced",
            scores=tuple(map(float, scores)),
            positions=n,
            simulated=more.get("simulated", False),
        )
        for judge in rules
    )
    rows = []
    for code, rule in enumerate(rules.values()):
        for item in range(items):
            for ordering, shown in enumerate(orders):
                for repeat in range(repeats):
                    score = rule(item, shown, repeat)
                    position = 0 if score is None else shown.index(score) + 1
                    status = Status.UNPARSED if score is None else Status.OK
                    value = np.nan if score is None else float(score)
                    rows.append(
                        (code, item, ordering, 0, repeat, len(rows), int(status), value, position, np.nan, np.nan)
                    )
    frame = pd.DataFrame(rows, columns=list(JUDGMENT_COLUMNS))
    return JudgmentTable(
        run="0123456789ab",
        name=name,
        conditions=conditions,
        items=items_frame([f"answer-{k}" for k in range(items)], more.get("prompts")),
        orderings=tuple(Ordering(shown, tuple(map(str, shown))) for shown in orders),
        rows=frame,
        planned=(len(frame) // len(rules),) * len(rules),
        state=more.get("state", "finished"),
    )


def criteria_table(
    rule: Callable[[int, int, int], int], *, items: int = 12, names: Sequence[str] = ("Tone", "Length", "Facts")
) -> JudgmentTable:
    """One judge; ``rule``: (text, criterion, position from 0) -> score of 1 to 5. Every balanced order twice."""
    orders = balanced(tuple(names))
    condition = Condition(
        "judge-7b",
        "answers",
        "balanced",
        "criteria",
        scores=(1.0, 2.0, 3.0, 4.0, 5.0),
        targets=tuple(names),
        positions=len(names),
    )
    rows: list[tuple[Any, ...]] = []
    call = 0
    for text in range(items):
        for ordering, shown in enumerate(orders):
            for repeat in range(2):
                for slot, name in enumerate(names):
                    position = shown.index(name)
                    score = float(rule(text, slot, position))
                    rows.append(
                        (
                            0,
                            text * len(names) + slot,
                            ordering,
                            slot,
                            repeat,
                            call,
                            0,
                            score,
                            position + 1,
                            np.nan,
                            np.nan,
                        )
                    )
                call += 1
    frame = items_frame([f"text-{k}/{name}" for k in range(items) for name in names], None)
    frame["criterion"] = [name for _ in range(items) for name in names]
    frame["block"] = [f"text-{k}" for k in range(items) for _ in names]
    return JudgmentTable(
        run="ba9876543210",
        name="Made criteria",
        conditions=(condition,),
        items=frame,
        orderings=tuple(Ordering(shown, shown) for shown in orders),
        rows=pd.DataFrame(rows, columns=list(JUDGMENT_COLUMNS)),
        planned=(call,),
    )


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


def renamed(table: JudgmentTable, run: str) -> JudgmentTable:
    """The table as a run with this id."""
    return replace(table, run=run)
