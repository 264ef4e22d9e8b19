"""A table of judgments in; what it can answer about order, what it cannot, and how many calls more
would tell, out.
"""

from dataclasses import dataclass

import numpy as np

from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import JudgmentTable, Status
from rubriclab.model.text import count

NOUNS = {"pairs": "pair", "lists": "list", "criteria": "text"}


@dataclass(frozen=True)
class Answerable:
    """One question, whether the judgments answer it, and what they lack (empty: nothing);
    ``calls``: that would tell.
    """

    question: str
    answered: bool
    lacks: str = ""
    calls: int | None = None

    def line(self) -> str:
        """“consistency, no: 205 more calls would tell”."""
        return f"{self.question}, {'yes' if self.answered else f'no: {self.lacks}'}"


def answerable(table: JudgmentTable) -> tuple[str, list[Answerable]]:
    """(what there is, “205 pairs, one order each”; each question). Counted over items, of those
    with a judgment that was read.
    """
    rows = table.rows[table.rows["status"] == Status.OK]
    about = table.conditions[0] if table.conditions else None
    if about is None or rows.empty:
        return "no judgment that could be read", []
    pairs = about.reorder == "pairs"
    noun, seen = NOUNS.get(about.reorder, "answer"), rows.groupby(["condition", "item"])["ordering"]
    # A case: an item under one judge and strategy.
    orders, calls = seen.nunique(), seen.size()
    low, high, cases = int(orders.min()), int(orders.max()), len(orders)
    each = f"{low} to {high} orders" if low < high else "one order" if low == 1 else f"{low} orders"
    if pairs and low == high == 2:
        each = "both orders"
    single, drawn = int((orders == 1).sum()), any(condition.drawn for condition in table.conditions)
    moved, again = single < cases, bool((calls > orders).any())
    favoured = moved or drawn or (about.reorder == "options" and rows["ordering"].nunique() > 1)
    raters = {rater for ratings in table.items["ratings"] for rater in ratings} - {INTENDED}
    known = "accuracy against the known winner" if raters == {"gold"} else "agreement with people"
    questions = (
        (
            "which side is favoured" if pairs else "which positions are favoured",
            favoured,
            single,
            "",
        ),
        (
            "consistency" if about.chooses else "whether single scores change with the order",
            moved,
            single,
            "",
        ),
        ("the judge's own noise", again, cases, ", of the same orders again,"),
        (known, bool(raters), None, ""),
    )
    asked = []
    for question, answered, lacking, which in questions:
        lacks = (
            "it has no people's ratings"
            if lacking is None
            else f"{count(lacking, 'more call')}{which} would tell"
        )
        asked.append(
            Answerable(question, answered, "" if answered else lacks, None if answered else lacking)
        )
    items = np.unique(rows["item"])
    if noun == "answer":  # under several criteria it is one
        items = table.items["item_id"].iloc[items].unique()
    return f"{count(len(items), noun)}, {each} each", asked


def answerable_line(table: JudgmentTable) -> str:
    """Both in one line: “205 pairs, one order each: which side is favoured, yes; consistency, no:
    205 more calls …”.
    """
    head, questions = answerable(table)
    return head + ": " * bool(questions) + "; ".join(question.line() for question in questions)
