"""Judgments made elsewhere become the table that every number starts from; faults by row."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubriclab.data.coded import recognised
from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import Table, delimited, table_of_frame
from rubriclab.model.judgment import Condition, JudgmentTable
from rubriclab.model.orders import balanced, williams
from rubriclab.model.text import LabError
from rubriclab.store.bundle import read_bundle

SCORES = "judge,dataset,item_id,ordering,score\n"
HUMAN = "item_id,ordering,score,human\n"
CRITERIA = "judge,dataset,text_id,ordering,criterion,score\n"
PAIRS, LISTS = "judge,question_id,first,second,choice\n", "judge,question_id,order,winner\n"
GOLD, BATCHES = "gold," + PAIRS, "kind," + SCORES


def table(text: str) -> Table:
    return delimited(text.encode(), "x.csv")


def read(text: str, **more: Any) -> JudgmentTable:
    return read_judgments(table(text), **more)


def test_scores_become_judgments() -> None:
    made = read(SCORES + "j,d,a,3 1 2,1\nj,d,a,1 2 3,\nk,d,b,[1;2;3],3\nj,d,b,3 1 2,3\n")
    assert made.conditions == (
        Condition("j", "d", "custom", scores=(1, 2, 3), positions=3),
        Condition("k", "d", "fixed", scores=(1, 2, 3), positions=3),
    )
    assert made.rows["condition"].tolist() == [0, 0, 0, 1]
    assert made.rows["call"].tolist() == [0, 1, 2, 3]
    assert made.rows["item"].tolist() == [0, 0, 1, 1]
    assert made.rows["position"].tolist() == [2, 0, 1, 3]  # 1 stands second in 3 1 2; nothing was read; 3 first; 3 last
    assert made.rows["status"].tolist() == [0, 1, 0, 0]
    assert np.isnan(made.rows["score"][1])
    assert made.planned == (3, 1)
    assert [ordering.shown for ordering in made.orderings] == [(3, 1, 2), (1, 2, 3), (1, 2, 3)]


def test_criteria_of_one_call_stand_together() -> None:
    text = CRITERIA + "".join(
        f"j,d,t{t},{order},{name},{score}\n"
        for t in range(2)
        for order in ("Style|Depth", "Depth|Style")
        for name, score in (("Depth", 2), ("Style", 4))
    )
    made = read(text)
    assert made.conditions == (Condition("j", "d", "balanced", "criteria", (1, 2, 3, 4), ("Style", "Depth"), 2),)
    assert made.rows["call"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert made.rows["slot"].tolist() == [0, 1] * 4  # Style, then Depth, in each call
    assert made.rows["position"].tolist()[:4] == [1, 2, 2, 1]
    assert made.items["criterion"].tolist() == ["Depth", "Style", "Depth", "Style"]
    assert made.items["block"].tolist() == ["t0", "t0", "t1", "t1"]
    assert made.planned == (4,)


def test_optional_columns() -> None:
    text = (
        "judge,dataset,item_id,ordering,score,prompt,candidate,human_1,human_2,repeat,strategy,response\n"
        'j,d,a,1 2,1,p,m,1,,0,mine,Hello\nj,d,a,1 2,2,p,m,1,"2,5",1,mine,Hello\nj,d,b,2 1,2,p,,,,0,mine,Bye\n'
    )
    made = read(text)
    assert made.items["ratings"].tolist() == [{"human_1": 1.0, "human_2": 2.5}, {}]
    assert made.items["candidate"].tolist() == ["m", None]
    assert made.items["response"].tolist() == ["Hello", "Bye"]
    assert made.items["unit_text"].notna().all()
    assert made.rows["repeat"].tolist() == [0, 1, 0]
    told_by_order = read(SCORES + "j,d,a,1 2,1\nj,d,a,2 1,1\nj,d,a,1 2,2\n")
    assert told_by_order.rows["repeat"].tolist() == [0, 0, 1]
    assert made.conditions[0].strategy == "mine"


def test_theirs_by_name_and_by_choice() -> None:
    frame = pd.DataFrame({"model": "j", "id": ["a", "b"], "order": ["1 2", "2 1"], "rating": [1, 2], "score": 2})
    guessed = read_judgments(table_of_frame(frame.drop(columns="score")))
    assert (guessed.conditions[0].judge, guessed.conditions[0].dataset) == ("j", "frame")
    chosen = read_judgments(table_of_frame(frame), columns={"score": "rating", "human": "score"})
    assert chosen.rows["score"].tolist() == [1, 2]
    assert chosen.items["ratings"].tolist() == [{"score": 2.0}, {"score": 2.0}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("judge,item_id,score\nj,a,1\n", "Name it, as ordering=THEIRS"),
        (SCORES + "j,d,a,1 2,1\nj,d,b,1 2,3\n", "line 3, column “score”: “3” is not in the ordering “1 2”"),
        (SCORES + "j,d,a,1 1,1\n", "line 2, column “ordering”: “1 1” is not 2 to 10 different scores"),
        (SCORES + "j,d,a,1 2,nan\n", "“nan” is not a score; leave the cell empty"),
        (SCORES + "j,d,a,1 2," + "1" * 23 + "\n", "is not a score"),
        (SCORES + "j,d,,1 2,1\n", "column “item_id”: the cell is empty"),
        (SCORES + "j,d,a,1 2,1\nj,d,A,1 2,1\n", "line 3, column “item_id”: “A” looks like “a” in line 2"),
        (CRITERIA + "j,d,t,Style|Depth,Tone,1\n", "“Tone” is not in the ordering “Style|Depth”"),
        (CRITERIA + "j,d,t,Style|Style,Style,1\n", "is not two or more different criteria"),
        (CRITERIA + "j,d,t,Style|Depth,Style,1.5\n", "1.5 is not a whole number"),
        (CRITERIA + "j,d,t,Style|Depth,Style,900\n", "no rubric's scale"),
        (CRITERIA + "j,d,t,Style|Depth,Style,\n", "no row has a score"),
        (HUMAN + "a,1 2,1,3\na,2 1,1,4\n", "line 3, column “human”: “4”, but an earlier row of the same item has “3”"),
        (HUMAN + "a,1 2,1,inf\n", "“inf” is not a number from -1e9"),
        ("item_id,ordering,score,repeat\na,1 2,1,1.5\n", "“1.5” is not a whole number from 0"),
        (SCORES + "".join(f"j{k},d,a,1 2,1\n" for k in range(32_768)), "32,768 conditions"),
        (CRITERIA + "j,d,t," + "|".join(f"c{k}" for k in range(300)) + ",c1,1\n", "1,389 signs"),
        ("judge,question_id,first,second,choice,winner\nj,1,a,a,A,a\n", "line 2, column “second”: “a” is the first"),
        (PAIRS + "j,1,a,b,A\nj,1,b,a,D\n", "line 3, column “choice”: “D” is not A (the first wins), B"),
        (PAIRS + "j,1,a|c,b,A\n", "column “first”: “a|c” is not a candidate's name without"),
        (PAIRS + "j,1,a,,A\n", "column “second”: the cell is empty"),
        (PAIRS + "j,q1,a,b,A\nj,Q1,b,a,A\n", "“Q1” looks like “q1” in line 2"),
        (GOLD + "b,j,1,a,b,A\na,j,1,b,a,A\n", "line 3, column “gold”: “a”, but an"),
        (GOLD + "b,j,1,a,b,A\nc,j,2,b,a,A\n", "line 3, column “gold”: “c” is none"),
        (GOLD + "N,j,1,a,b,A\n", "column “gold”: “N” is none of what was compared"),
        (LISTS + "j,1,a|b|a,a\n", "column “order”: “a|b|a” is not 2 to 26 different candidates"),
        (LISTS + "j,1,a|b,c\n", "line 2, column “winner”: “c” is none of what was compared; expected one of a, b, “t"),
        (LISTS + "j,1,a|b,B\n", "“B” is none"),
        ("judge,question_id,order\nj,1,a|b\n", "has no column"),
        (BATCHES + "x,j,d,a1,a1|a2,3\nx,j,d,a9,a1|a2,3\n", "line 3, column “item_id”: “a9” is not in the ordering"),
        (SCORES + "J,d,a,1 2,1\nj,d,a,1 2,1\n", "line 3, column “judge”: “j” looks like “J” in line 2"),
        (PAIRS + "j,1,a,b,A\nj,1,b\u200b,a,A\n", "line 3, column “first”: “b\u200b” looks like “b” in line 2"),
        (
            "repeat," + PAIRS + "1,j,1,a,b,A\n1,j,1,a,b,B\n",
            "column “repeat”: the same judge, item, order and repeat as",
        ),
        (BATCHES + "x,j,d,a1,a1|a2,3.5\n", "3.5 is not a whole number, as scores of responses"),
    ],
)
def test_faults_by_row(text: str, words: str) -> None:
    with pytest.raises(LabError) as caught:
        read(text, kind="responses" if text.startswith(BATCHES) else None)
    assert words in str(caught.value)


def test_an_unknown_kind_and_unknown_columns() -> None:
    for more, words in (
        ({"kind": "pair"}, "no kind of judgments"),
        ({"columns": {"scored": "score"}}, "is no role of a column"),
        ({"columns": {"score": "x"}}, "no column “x” for score"),
    ):
        with pytest.raises(LabError, match=words):
            read(SCORES + "j,d,a,1 2,1\n", **more)


def test_orders_that_all_differ_take_no_table_of_all_by_all() -> None:
    """5,000 orders and as many scores: 25,000,000 cells of eight bytes, were each looked up in each."""
    text = SCORES + "".join(f"j,d,i,{k} {k + 1},{k}\n" for k in range(5_000))
    tracemalloc.start()
    made = read(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (made.rows["position"] == 1).all()
    assert most < 50_000_000


def test_designs_are_recognised_by_their_orders() -> None:
    line = (1, 2, 3, 4)
    orders = {"fixed": [line], "descending": [line[::-1]], "balanced": balanced(line), "williams": williams(line)}
    assert {name: recognised(shown, line) for name, shown in orders.items()} == {name: name for name in orders}
    assert recognised(balanced(line)[1:], line) == "custom"
    assert recognised([("B", "A"), ("A", "B")], ("A", "B")) == "balanced"


def test_orders_drawn_for_each_item_are_told_from_a_design() -> None:
    """40 items in 3 random orders of 120 each: nearly all orders differ. The same 10 orders for all are a design."""
    rng = np.random.default_rng(1)
    drawn = [[rng.permutation(5) + 1 for _ in range(3)] for _ in range(40)]
    for orders, wanted in ((drawn, (True, "custom")), ([balanced((1, 2, 3, 4, 5))] * 40, (False, "balanced"))):
        lines = [f"j,d,i{k},{' '.join(map(str, order))},3\n" for k, asked in enumerate(orders) for order in asked]
        (made,) = read(SCORES + "".join(lines)).conditions
        assert (made.drawn, made.strategy) == wanted


@pytest.mark.parametrize("case", ["import_scores", "import_scores_plain", "import_criteria"])
def test_recorded_imports_give_the_same_judgments(case: str) -> None:
    """The tables that the old lab imported: the same conditions, calls, scores and positions, whatever the codes."""
    path = Path(__file__).parents[1] / "oracle" / "cases" / f"{case}.zip"
    made = read_judgments(delimited(zipfile.Path(path, "source.csv").read_bytes(), "source.csv"))
    wanted = read_bundle(path)

    def in_words(judged: JudgmentTable) -> pd.DataFrame:
        rows = judged.rows[["item", "condition", "score", "position", "status", "ordering"]]
        frame = rows.join(judged.items[["item_id", "criterion", "prompt", "candidate"]], on="item").drop(columns="item")
        frame["ordering"] = [str(judged.orderings[code].shown) for code in frame["ordering"]]
        return frame.sort_values([*frame.columns], na_position="first").reset_index(drop=True)

    pd.testing.assert_frame_equal(in_words(made), in_words(wanted), check_dtype=False)
    assert made.planned == wanted.planned
    assert made.items["ratings"].tolist() == wanted.items["ratings"].tolist()
    assert [condition.scores for condition in made.conditions] == [condition.scores for condition in wanted.conditions]
