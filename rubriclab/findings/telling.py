"""The item that shows best what an order can do: the same text, two orders, the most different answers.

An extreme on purpose, and whoever shows it says so: it tells what happens, not how often.
"""

from __future__ import annotations

import pandas as pd

from rubriclab.findings.topic import Question, clarity
from rubriclab.model import STATUSES, RunData
from rubriclab.model.option_sets import says_its_set

CHOSEN = ("pairwise", "listwise")
"""Axes whose answer is a candidate and no score."""


def telling_item(data: RunData, *, arm: int) -> int:
    """The code of the item whose answer the order moves most; ties go to the first item.

    Of scores: the widest range of the means by order, then the most different means. Of choices: an
    item that gives one answer to one order, then the most different candidates chosen. Raises
    ValueError for an arm without a readable judgment.
    """
    rows = data.judgments[data.judgments["arm"] == arm]
    rows = rows[rows["status"] == STATUSES.index("ok")]
    rows = _chosen(data, rows) if data.arms[arm].axis in CHOSEN else rows.assign(answer=rows["score"])
    if rows.empty:
        raise ValueError(f"arm {arm} has no readable judgment")
    if data.arms[arm].axis in CHOSEN:
        by_order = rows.groupby(["item", "ordering"])["answer"].agg(["first", "nunique"]).reset_index()
        by_item = by_order.groupby("item").agg(moved=("first", "nunique"), wavers=("nunique", "max"))
        ranked = by_item.assign(wavers=by_item["wavers"] > 1).sort_values(
            ["wavers", "moved"], ascending=[True, False], kind="stable"
        )
        return int(ranked.index[0])
    means = rows.groupby(["item", "ordering"])["answer"].mean().groupby("item")
    ranked = pd.DataFrame({"range": means.max() - means.min(), "several": means.nunique()})
    return int(ranked.sort_values(["range", "several"], ascending=False, kind="stable").index[0])


def _chosen(data: RunData, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the candidate that each chose; ties are left out."""
    rows = rows[rows["position"] > 0]
    shown = zip(rows["ordering"], rows["position"], strict=True)
    return rows.assign(answer=[str(data.orderings[order].shown[place - 1]) for order, place in shown])


def turning_arms(data: RunData) -> tuple[int, ...]:
    """Codes of the arms that show what the order does, one a judge and axis, in the run's order; of a
    judge with several scales in one data set one a scale.

    Some item of theirs was read in two orders; of several arms the one without other changes to the
    prompt, whose strategy tells position best.
    """
    readable = data.judgments[data.judgments["status"] == STATUSES.index("ok")]
    orders = readable.groupby(["arm", "item"])["ordering"].nunique().groupby("arm").max()
    best: dict[tuple[str, str, str], int] = {}
    turned = [code for code in range(len(data.arms)) if orders.get(code, 0) > 1]
    for code in sorted(turned, key=lambda code: (bool(data.arms[code].variant.levels), clarity(data.arms[code]))):
        arm = data.arms[code]
        scale = arm.dataset if says_its_set(arm.dataset, arm.scores) else ""
        best.setdefault((arm.judge, arm.axis, scale), code)
    return tuple(sorted(best.values()))


def control_arm(data: RunData, *, arm: int) -> int | None:
    """The code of the arm that kept to one order, of the same judge in the same setting."""
    mine = data.arms[arm]
    for code, other in enumerate(data.arms):
        same = (other.judge, other.dataset, other.variant, other.axis) == (
            mine.judge,
            mine.dataset,
            mine.variant,
            mine.axis,
        )
        if same and other.strategy == "fixed" and code != arm:
            return code
    return None


TELLING_ITEM = Question("telling item", telling_item)
TURNING_ARMS = Question("arms whose order turns", turning_arms)
CONTROL_ARM = Question("arm of one order", control_arm)
