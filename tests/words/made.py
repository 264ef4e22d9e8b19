"""Small runs for tests of sinks and pages: a rule says what each item gets in each order."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.topic import Findings as Findings
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering
from rubriclab.model.orders import balanced
from tests.tables import findings as findings
from tests.tables import items_frame, rows_frame

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
    rules: dict[str, Rule],
    *,
    items: int = 12,
    repeats: int = 2,
    name: str = "Made run",
    prompts: int | None = None,
    simulated: bool = False,
    state: str = "finished",
) -> JudgmentTable:
    """Judges by name with their rules: three scores, each balanced order ``repeats`` times.

    ``prompts``: how many instructions the items share.
    """
    orders = balanced((1, 2, 3))
    made = Condition(
        "", "answers", "balanced", scores=(1.0, 2.0, 3.0), positions=3, simulated=simulated
    )
    asked = list(
        product(enumerate(rules.values()), range(items), enumerate(orders), range(repeats))
    )
    score = [rule(item, shown, repeat) for (_, rule), item, (_, shown), repeat in asked]
    rows = rows_frame(
        [code for (code, _), *_ in asked],
        [item for _, item, *_ in asked],
        [order for *_, (order, _), _ in asked],
        [np.nan if given is None else given for given in score],
        range(len(asked)),
        repeat=[k for *_, k in asked],
        position=[
            0 if k is None else shown.index(k) + 1
            for k, (*_, (_, shown), _) in zip(score, asked, strict=True)
        ],
    )
    ids = [f"answer-{k}" for k in range(items)]
    prompt = [f"prompt-{k % prompts}" if prompts else None for k in range(items)]
    return JudgmentTable(
        "0123456789ab",
        name,
        tuple(replace(made, judge=judge) for judge in rules),
        items_frame(items, item_id=ids, prompt=prompt, unit_text=[f"text of {one}" for one in ids]),
        tuple(Ordering(shown, tuple(map(str, shown))) for shown in orders),
        rows,
        planned=(len(rows) // len(rules),) * len(rules),
        state=state,
    )


def several(
    *conditions: Condition, rules: dict[str, Rule] | None = None, items: int = 12
) -> Findings:
    """One run of several conditions, each judged by the rule of its judge (by quality where none is
    named).
    """
    by = {str(k): (rules or {}).get(asked.judge, by_quality) for k, asked in enumerate(conditions)}
    full = tuple(replace(asked, scores=(1.0, 2.0, 3.0), positions=3) for asked in conditions)
    return findings(replace(options_table(by, items=items), conditions=full))


def criteria_table(
    rule: Callable[[int, int, int], int],
    *,
    items: int = 12,
    names: Sequence[str] = ("Tone", "Length", "Facts"),
) -> JudgmentTable:
    """One judge; ``rule``: (text, criterion, position from 0) -> score of 1 to 5. Every balanced
    order twice.
    """
    orders, n = balanced(tuple(names)), len(names)
    parts = [
        rows_frame(
            0,
            text * n + np.arange(n),
            order,
            [rule(text, k, shown.index(name)) for k, name in enumerate(names)],
            call,
            slot=np.arange(n),
            repeat=repeat,
            position=[shown.index(name) + 1 for name in names],
        )
        for call, (text, (order, shown), repeat) in enumerate(
            product(range(items), enumerate(orders), range(2))
        )
    ]
    ids = [f"text-{k}/{name}" for k in range(items) for name in names]
    frame = items_frame(
        items * n,
        item_id=ids,
        criterion=[*names] * items,
        block=[f"text-{k}" for k in range(items) for _ in names],
        unit_text=[f"text of {one}" for one in ids],
    )
    condition = Condition(
        "judge-7b", "answers", "balanced", "criteria", (1.0, 2.0, 3.0, 4.0, 5.0), tuple(names), n
    )
    return JudgmentTable(
        "ba9876543210",
        "Made criteria",
        (condition,),
        frame,
        tuple(Ordering(shown, shown) for shown in orders),
        pd.concat(parts, ignore_index=True),
        planned=(len(parts),),
    )
