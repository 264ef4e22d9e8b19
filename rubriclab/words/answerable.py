"""Say what an imported table of judgments can answer, and how many more calls the rest takes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import JudgmentTable, Status
from rubriclab.model.text import count

NOUNS = {"pairs": "pair", "lists": "list", "criteria": "text"}
"""What a judgment is about, by kind of list; else an answer."""


@dataclass(frozen=True)
class Answerable:
    """One question, and whether the judgments answer it.

    ``lacks``: what is missing, empty where nothing is. ``calls``: how many more would tell, None
    where no number of calls would, or none is needed.
    """

    question: str
    answered: bool
    lacks: str = ""
    calls: int | None = None

    def line(self) -> str:
        """Return “consistency, no: 205 more calls would tell”."""
        return f"{self.question}, {'yes' if self.answered else f'no: {self.lacks}'}"


def answerable(table: JudgmentTable) -> tuple[str, list[Answerable]]:
    """Return (what there is, as “205 pairs, one order each”; each question).

    Counted over items that have a parsed judgment.
    """
    # A call about several criteria or answers is one thing: the first of its items names it.
    first = table.rows.groupby(["condition", "call"])["item"].transform("min")
    asked_about = table.rows.assign(about=first)
    rows = asked_about[asked_about["status"] == Status.OK]
    if not table.conditions or rows.empty:
        return "no judgment that could be read", []
    reorder = table.conditions[0].reorder
    noun = NOUNS.get(reorder, "answer")
    seen = rows.groupby(["condition", "about"])
    # One entry for each of them under one judge and strategy.
    orders, calls = seen["ordering"].nunique(), seen["call"].nunique()
    items = np.unique(rows["item"])
    if reorder not in ("pairs", "lists"):  # under several criteria it is one
        items = table.items["item_id"].iloc[items].unique()
    # A lost reply was asked in its order all the same.
    asked = asked_about.groupby(["condition", "about"])["ordering"].nunique()
    asked = asked.loc[orders.index]
    each = _orders_of_each(int(asked.min()), int(asked.max()), pairs=reorder == "pairs")
    return f"{count(len(items), noun)}, {each} each", list(_questions(table, rows, orders, calls))


def answerable_line(table: JudgmentTable) -> str:
    """Return both in one line: “205 pairs, one order each: which side is favoured, yes; …”."""
    head, questions = answerable(table)
    if not questions:
        return head
    return f"{head}: {'; '.join(question.line() for question in questions)}"


def _orders_of_each(low: int, high: int, *, pairs: bool) -> str:
    """Say in how many orders the items were judged, from ``low`` to ``high``."""
    if pairs and low == high == 2:
        return "both orders"
    if low < high:
        return f"{low} to {high} orders"
    return "one order" if low == 1 else f"{low} orders"


def _questions(
    table: JudgmentTable, rows: pd.DataFrame, orders: pd.Series, calls: pd.Series
) -> Iterator[Answerable]:
    """Yield each question; ``orders``, ``calls``: how many each item has under one judge."""
    about = table.conditions[0]
    single = int((orders == 1).sum())
    moved, again = single < len(orders), bool((calls > orders).any())
    drawn = any(condition.drawn for condition in table.conditions)
    several_lists = about.reorder == "options" and rows["ordering"].nunique() > 1
    favoured = moved or drawn or several_lists
    side = "which side is favoured" if about.reorder == "pairs" else "which positions are favoured"
    yield _of_calls(side, favoured, single)
    changes = "consistency" if about.chooses else "whether single scores change with the order"
    yield _of_calls(changes, moved, single)
    yield _of_calls("the judge's own noise", again, len(orders), ", of the same orders again,")
    raters = {rater for ratings in table.items["ratings"] for rater in ratings} - {INTENDED}
    known = "accuracy against the known winner" if raters == {"gold"} else "agreement with people"
    yield Answerable(known, bool(raters), "" if raters else "it has no people's ratings")


def _of_calls(question: str, answered: bool, calls: int, which: str = "") -> Answerable:
    """Return a question that more calls would answer."""
    if answered:
        return Answerable(question, answered=True)
    lacks = f"{count(calls, 'more call')}{which} would tell"
    return Answerable(question, answered=False, lacks=lacks, calls=calls)
