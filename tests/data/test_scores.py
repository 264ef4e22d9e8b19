"""Scores, pairs, lists and batches judged elsewhere become the table that every number starts from;
faults by row.
"""

import json
import resource
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rubriclab as rl
from rubriclab.data.judgment_table import joint, recognised
from rubriclab.data.scores import column_names, guess_kind, read_judgments
from rubriclab.data.tables import Table, delimited, read_table, table_of_frame
from rubriclab.data.worker import WORKER
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering
from rubriclab.model.orders import balanced, williams
from rubriclab.model.text import LabError
from rubriclab.store.bundle import read_bundle
from rubriclab.store.store import Store

CASES = json.loads((Path(__file__).parents[1] / "golden" / "refused.json").read_text("utf-8"))
SCORES = "judge,dataset,item_id,ordering,score\n"
CRITERIA = "judge,dataset,text_id,ordering,criterion,score\n"
PAIRS, LISTS = "judge,question_id,first,second,choice\n", "judge,question_id,order,winner\n"
BATCHES = "kind," + SCORES


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
    assert made.rows["position"].tolist() == [
        2,
        0,
        1,
        3,
    ]  # 1 stands second in 3 1 2; nothing was read; 3 first; 3 last
    assert made.rows["status"].tolist() == [0, 1, 0, 0]
    assert np.isnan(made.rows["score"][1])
    assert made.planned == (3, 1)
    assert [ordering.shown for ordering in made.orderings] == [(3, 1, 2), (1, 2, 3), (1, 2, 3)]


def test_criteria_of_one_call_stand_together() -> None:
    asked = [
        f"j,d,t{text},{order}" for text in range(2) for order in ("Style|Depth", "Depth|Style")
    ]
    text = CRITERIA + "".join(f"{call},Depth,2\n{call},Style,4\n" for call in asked)
    made = read(text)
    assert made.conditions == (
        Condition("j", "d", "balanced", "criteria", (1, 2, 3, 4), ("Style", "Depth"), 2),
    )
    assert made.rows["call"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert made.rows["slot"].tolist() == [0, 1] * 4  # Style, then Depth, in each call
    assert made.rows["position"].tolist()[:4] == [1, 2, 2, 1]
    assert made.items["criterion"].tolist() == ["Depth", "Style", "Depth", "Style"]
    assert made.items["block"].tolist() == ["t0", "t0", "t1", "t1"]
    assert made.planned == (4,)


def test_optional_columns() -> None:
    text = (
        "judge,dataset,item_id,ordering,score,prompt,candidate,human_1,human_2,repeat,strategy,response\n"
        'j,d,a,1 2,1,p,m,1,,0,mine,Hello\nj,d,a,1 2,2,p,m,1,"2,5",1,mine,Hello\nj,d,b,2 '
        "1,2,p,,,,0,mine,Bye\n"
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
    frame = pd.DataFrame(
        {"model": "j", "id": ["a", "b"], "order": ["1 2", "2 1"], "rating": [1, 2], "score": 2}
    )
    guessed = read_judgments(table_of_frame(frame.drop(columns="score")))
    assert (guessed.name, guessed.conditions[0].judge, guessed.conditions[0].dataset) == (
        "frame",
        "j",
        "frame",
    )
    chosen = read_judgments(
        table_of_frame(frame), columns={"score": "rating", "human": "score"}, name="mine"
    )
    assert chosen.name == "mine"
    assert chosen.rows["score"].tolist() == [1, 2]
    assert chosen.items["ratings"].tolist() == [{"score": 2.0}, {"score": 2.0}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *CASES["judgments"],
        (SCORES + "j,d,a,1 2," + "1" * 23 + "\n", "is not a score"),
        (SCORES + "".join(f"j{k},d,a,1 2,1\n" for k in range(32_768)), "32,768 conditions"),
        (
            CRITERIA + "j,d,t," + "|".join(f"c{k}" for k in range(300)) + ",c1,1\n",
            "1,389 characters",
        ),
    ],
)
def test_faults_by_row(text: str, words: str) -> None:
    with pytest.raises(LabError) as caught:
        read(text, kind="responses" if text.startswith(BATCHES) else None)
    assert words in str(caught.value)


def test_an_unknown_kind_and_unknown_columns() -> None:
    for more, words in (
        ({"kind": "pair"}, "not a kind of judgments"),
        ({"columns": {"scored": "score"}}, "is not a column role"),
        ({"columns": {"score": "x"}}, "no column “x” for score"),
    ):
        with pytest.raises(LabError, match=words):
            read(SCORES + "j,d,a,1 2,1\n", **more)


@pytest.mark.thorough
def test_orders_that_all_differ_take_no_table_of_all_by_all() -> None:
    """5,000 orders and as many scores: 25,000,000 cells of eight bytes, were each looked up in
    each.
    """
    text = SCORES + "".join(f"j,d,i,{k} {k + 1},{k}\n" for k in range(5_000))
    tracemalloc.start()
    made = read(text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (made.rows["position"] == 1).all()
    assert most < 50_000_000


def test_designs_are_recognised_by_their_orders() -> None:
    line = (1, 2, 3, 4)
    orders = {
        "fixed": [line],
        "descending": [line[::-1]],
        "balanced": balanced(line),
        "williams": williams(line),
    }
    assert {name: recognised(shown, line) for name, shown in orders.items()} == {
        name: name for name in orders
    }
    assert recognised(balanced(line)[1:], line) == "custom"
    assert recognised([("B", "A"), ("A", "B")], ("A", "B")) == "balanced"


def test_orders_drawn_for_each_item_are_told_from_a_design() -> None:
    """40 items in 3 random orders of 120 each: nearly all orders differ. The same 10 orders for all
    are a design.
    """
    rng = np.random.default_rng(1)
    drawn = [[rng.permutation(5) + 1 for _ in range(3)] for _ in range(40)]
    for orders, wanted in (
        (drawn, (True, "custom")),
        ([balanced((1, 2, 3, 4, 5))] * 40, (False, "balanced")),
    ):
        lines = [
            f"j,d,i{k},{' '.join(map(str, order))},3\n"
            for k, asked in enumerate(orders)
            for order in asked
        ]
        (made,) = read(SCORES + "".join(lines)).conditions
        assert (made.drawn, made.strategy) == wanted


@pytest.mark.parametrize("case", ["import_scores", "import_scores_plain", "import_criteria"])
def test_recorded_imports_give_the_same_judgments(case: str) -> None:
    """The tables that the old lab imported: the same conditions, calls, scores and positions,
    whatever the codes.
    """
    path = Path(__file__).parents[1] / "oracle" / "cases" / f"{case}.zip"
    made = read_judgments(delimited(zipfile.Path(path, "source.csv").read_bytes(), "source.csv"))
    wanted = read_bundle(path)

    def in_words(judged: JudgmentTable) -> pd.DataFrame:
        rows = judged.rows[["item", "condition", "score", "position", "status", "ordering"]]
        frame = rows.join(
            judged.items[["item_id", "criterion", "prompt", "candidate"]], on="item"
        ).drop(columns="item")
        frame["ordering"] = [str(judged.orderings[code].shown) for code in frame["ordering"]]
        return frame.sort_values([*frame.columns], na_position="first").reset_index(drop=True)

    pd.testing.assert_frame_equal(in_words(made), in_words(wanted), check_dtype=False)
    assert made.planned == wanted.planned
    assert made.items["ratings"].tolist() == wanted.items["ratings"].tolist()
    assert [condition.scores for condition in made.conditions] == [
        condition.scores for condition in wanted.conditions
    ]


# ------------------------------------------------------------ pairs, lists, answers scored together
SHI = Path(__file__).resolve().parents[3] / "shared" / "data" / "shi"


@pytest.mark.papers(44)
def test_pairs_become_comparisons() -> None:
    made = read(
        "judge,question_id,task,first,second,choice,gold\n"
        "j,1,math,m2,m1,A,m2\nj,1,math,m1,m2,b,m2\nj,1,math,m1,m3,tie,tie\nj,1,math,m3,m1,N,\nj,1,coding,m1,m2,,m1\nj,1,coding,m2,m1,C,\n"
    )
    assert made.conditions == (Condition("j", "x", "balanced", "pairs", positions=2),)
    assert made.orderings[:2] == (
        Ordering(("m2", "m1"), ("A", "B")),
        Ordering(("m1", "m2"), ("A", "B")),
    )
    assert made.rows["position"].tolist() == [1, 2, 0, 0, 0, 0]
    assert made.rows["status"].tolist() == [
        0,
        0,
        0,
        1,
        1,
        0,
    ]  # N and an empty cell are unparsed, a tie is an answer
    assert made.rows["score"].isna().all()
    assert made.rows["item"].tolist() == [0, 0, 1, 1, 2, 2]
    assert made.items["candidate"].tolist() == ["m1|m2", "m1|m3", "m1|m2"]
    # m2 is the second of m1, m2; a tie is 0; of the coding question one row says m1, the other
    # nothing.
    assert made.items["ratings"].tolist() == [{"gold": 2.0}, {"gold": 0.0}, {"gold": 1.0}]
    # The number 1 stands for two questions, one a task.
    assert made.items["prompt"].tolist() == ["math/1", "math/1", "coding/1"]
    assert made.items["item_id"].tolist() == ["math/1: m1|m2", "math/1: m1|m3", "coding/1: m1|m2"]
    assert made.planned == (6,)


def test_lists_and_people_who_chose() -> None:
    rows = "j,1,b|a|c,b,c,tie\nj,1,a|c|b,tie,c,\nj,1,c|b|a,,,\nj,2,a|b,b,,\n"
    made = read("judge,question_id,order,winner,human_1,human_2\n" + rows)
    assert made.conditions == (
        Condition("j", "x", "custom", "lists", positions=3),
        Condition("j", "x", "fixed", "lists", positions=2),
    )
    assert made.rows["position"].tolist() == [1, 0, 0, 2]
    assert made.rows["status"].tolist() == [0, 0, 1, 0]
    assert made.items["ratings"].tolist() == [{"human_1": 3.0, "human_2": 0.0}, {}]
    assert made.orderings[0] == Ordering(("b", "a", "c"), ("A", "B", "C"))


def test_a_candidate_may_be_called_tie_or_none() -> None:
    made = read(LISTS + "j,1,tie|none,tie\nj,1,none|tie,none\n")
    assert made.rows["position"].tolist() == [1, 1]


def test_repeats_of_a_pair() -> None:
    again = PAIRS + "j,1,a,b,A\nj,1,b,a,A\nj,1,a,b,B\n"
    assert read(again).rows["repeat"].tolist() == [0, 0, 1]
    counted = read(
        again.replace("choice\n", "choice,rep\n").replace("A\n", "A,1\n").replace("B\n", "B,2\n")
    )
    assert counted.rows["repeat"].tolist() == [1, 1, 2]


def test_one_drawn_order_a_pair_is_told_from_a_baseline_that_always_stands_first() -> None:
    """Model z wins its place by the names' order alone when the baseline m is always first: nothing
    was drawn.
    """
    others = [f"{letter}{k}" for k in range(10) for letter in "az"]
    fixed = PAIRS + "".join(f"j,{k},m,{name},A\n" for k, name in enumerate(others))
    shown = [f"m,{name}" if k % 3 else f"{name},m" for k, name in enumerate(others)]
    drawn = PAIRS + "".join(f"j,{k},{pair},A\n" for k, pair in enumerate(shown))
    assert [read(text).conditions[0].drawn for text in (fixed, drawn)] == [False, True]


@pytest.mark.papers(44)
def test_responses_of_one_call_stand_together() -> None:
    made = read(
        SCORES + "j,d,a2,a2|a1|a3,4\nj,d,a1,a2|a1|a3,2\nj,d,a3,a2|a1|a3,\n"
        "j,d,a1,a1|a3|a2,3\nj,d,a3,a1|a3|a2,5\nj,d,a2,a1|a3|a2,5\nj,d,a1,a1,1\n"
    )
    assert made.conditions == (
        Condition("j", "d", "custom", "responses", (1, 2, 3, 4, 5), positions=3),
        Condition("j", "d", "alone", "responses", (1, 2, 3, 4, 5), positions=1),
    )
    assert made.planned == (2, 1)
    # Canonical order of the batch: as its ids first come, a2, a1, a3; sorted by slot within a call.
    assert made.items["item_id"].tolist() == ["a2", "a1", "a3"]
    assert made.rows["item"].tolist() == [0, 1, 2, 0, 1, 2, 1]
    assert made.rows["slot"].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert made.rows["position"].tolist() == [1, 2, 3, 3, 1, 2, 1]
    assert made.rows["status"].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert made.orderings[0].shown == ("a2", "a1", "a3")


def test_batches_in_all_their_rotations_are_a_design() -> None:
    """Two batches of two, each in both orders: one balanced design, not four orders of four ids."""
    lines = [
        f"j,d,{own},{one}|{two},3\n"
        for b in "xy"
        for one, two in ((f"{b}1", f"{b}2"), (f"{b}2", f"{b}1"))
        for own in (one, two)
    ]
    (made,) = read(SCORES + "".join(lines)).conditions
    assert (made.strategy, made.positions, made.drawn) == ("balanced", 2, False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PAIRS + "j,1,a,b,A\n", "pairs"),
        (LISTS + "j,1,a|b,a\n", "lists"),
        (LISTS.replace("order", "ordering") + "j,1,a|b,a\n", "lists"),
        (SCORES + "j,d,a1,a1|a2,3\n", "responses"),
        (SCORES + "j,d,7,7|8,3\n", "responses"),
        (
            SCORES + "j,d,1,1|2|3,3\n",
            "scores",
        ),  # ids and scores look alike: scores, unless --kind says otherwise
        (SCORES + "j,d,a1,3 1 2,3\n", "scores"),
        ("judge,dataset,text_id,ordering,criterion,score\nj,d,t,Depth|Tone,Tone,3\n", "criteria"),
        ("judge,item_id,ordering,criterion,score\nj,a1,a1|a2,Tone,3\n", "responses"),
        ("judge,item_id,ordering,criterion,score\nj,a1,1 2 3,Tone,3\n", "scores"),
    ],
)
def test_the_kind_is_guessed_from_the_columns(text: str, kind: str) -> None:
    table = delimited(text.encode(), "x.csv")
    assert guess_kind(table, column_names(table, None, None)) == kind
    assert read(text).conditions[0].reorder == {"scores": "options"}.get(kind, kind)


@pytest.mark.papers(39, 44)
def test_the_judgments_of_shi_are_read() -> None:
    """4,800 judgments of 2,400 pairs in both orders; counted in the file: 2,194 A, 2,437 B, 150 C,
    19 N.
    """
    path = SHI / "mtbench_gpt-3.5-turbo-1106_pairs.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    made = read_judgments(read_table(path))
    (condition,) = made.conditions
    assert (condition.strategy, condition.reorder, condition.drawn) == ("balanced", "pairs", False)
    assert (len(made.rows), len(made.items)) == (4_800, 2_400)
    assert np.bincount(made.rows["item"]).tolist() == [2] * 2_400
    chosen = made.rows["position"].where(made.rows["status"] == 0, -1)
    assert chosen.value_counts().to_dict() == {1: 2_194, 2: 2_437, 0: 150, -1: 19}
    assert made.items["task"].nunique() == 8
    repeated = read_judgments(read_table(SHI / "mtbench_gpt-3.5-turbo-1106_repetition.csv.gz"))
    assert np.bincount(repeated.rows["repeat"]).tolist() == [0, 192, 192, 192]


def test_rows_of_one_combination_share_a_code_however_many_combinations_there_might_be() -> None:
    rng = np.random.default_rng(1)
    codes = [
        rng.integers(0, high, 200) * step
        for high, step in ((3, 1 << 20), (2, 1 << 30), (1, 0), (4, 1 << 25))
    ]
    code, first = joint(*codes)
    rows = [*zip(*map(np.ndarray.tolist, codes), strict=True)]
    known = [*dict.fromkeys(rows)]
    assert code.tolist() == [known.index(row) for row in rows]
    assert first.tolist() == [rows.index(row) for row in known]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case",
    [
        "data/example",
        "data/example-variants",
        "data/example-pairs",
        "oracle/criteria_balanced_4",
        "oracle/unparsed_5",
    ],
)
def test_the_csv_of_a_run_gives_its_conditions_and_verdicts_again(
    case: str, tmp_path: Path
) -> None:
    folder, _, name = case.partition("/")
    root = Path(__file__).parents[1]
    run = rl.read(
        (root / "oracle" / "cases" if folder == "oracle" else root.parent / "data") / f"{name}.zip"
    )
    (tmp_path / "judgments.csv").write_bytes(run.content(".csv"))
    again = rl.read(tmp_path / "judgments.csv")
    asked, made = (
        [
            (about.judge, about.dataset, about.strategy, dict(about.variant), about.scores)
            for about in each.table.conditions
        ]
        for each in (run, again)
    )
    assert made == asked
    assert again.table.rows["status"].tolist() == run.table.rows["status"].tolist()
    verdicts = [
        each.rows(topic="verdict")[["value", "low", "high", "p"]].to_numpy(np.float64)
        for each in (run, again)
    ]
    np.testing.assert_allclose(*verdicts, atol=1e-9)


@pytest.mark.integration
def test_two_million_judgments(tmp_path: Path) -> None:
    """100,000 items in ten orders, twice: the score is 1 + (item + order) mod 5."""
    orders = [" ".join(map(str, order)) for order in balanced((1, 2, 3, 4, 5))]
    path = tmp_path / "judgments.csv"
    asked = [(k, order, repeat) for repeat in (0, 1) for k, order in enumerate(orders)]
    with path.open("w") as file:
        file.write("judge,dataset,item_id,ordering,score,repeat\n")
        for item in range(100_000):
            file.writelines(
                f"judge,drafts,item-{item},{o},{1 + (item + k) % 5},{repeat}\n"
                for k, o, repeat in asked
            )
    others = resource.getrusage(
        resource.RUSAGE_CHILDREN
    ).ru_maxrss  # the largest child of other tests in this process
    table = read_judgments(read_table(path))
    WORKER.close()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(others, 2_000_000)  # kB
    assert len(table.rows) == 2_000_000
    assert (table.conditions[0].strategy, table.conditions[0].drawn) == ("balanced", False)
    assert np.bincount(table.rows["score"].astype(int)).tolist() == [0, *[400_000] * 5]
    with Store.open(tmp_path / "lab.duckdb") as store:
        kept = store.table(store.add_table(table))
        assert kept.rows["position"].to_numpy().sum() == table.rows["position"].to_numpy().sum()
        assert len(kept.items) == 100_000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2_000_000


@pytest.mark.thorough
@pytest.mark.parametrize("repeat", [True, False])
def test_no_number_hangs_on_the_order_of_rows(repeat: bool) -> None:
    """The default order five times, balanced orders once, people's ratings: rows shuffled within
    each strategy.
    """
    rng = np.random.default_rng(1)
    orders = [" ".join(map(str, order)) for order in balanced((1, 2, 3))]
    rows = [
        (
            "fixed" if k < 5 else "balanced",
            f"i{item}",
            orders[0 if k < 5 else k - 5],
            k % 5,
            item % 3 + 1,
        )
        for k in range(5 + len(orders))
        for item in range(24)
    ]
    frame = pd.DataFrame(rows, columns=["strategy", "item_id", "ordering", "repeat", "human_1"])
    frame.insert(0, "judge", "j")
    noisy = frame["human_1"] + rng.normal(0, 0.8, len(frame))
    frame["score"] = noisy.round().clip(1, 3).astype(int)
    frame.loc[frame["strategy"] == "balanced", "repeat"] = 0
    if not repeat:
        frame = frame.drop(columns="repeat")
    parts = [
        part.sample(frac=1, random_state=3) for _, part in frame.groupby("strategy", sort=False)
    ]

    def numbers(given: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
        return {
            f"{row.condition} {row.measure} {row.of}": (row.value, *row.interval)
            for row in rl.read(given).findings.rows
        }

    before, after = numbers(frame), numbers(pd.concat(parts))
    assert before.keys() == after.keys()
    assert any("budget_pearson" in key and key.startswith("0") for key in before)
    for key, values in before.items():
        assert after[key] == pytest.approx(values, abs=1e-9, nan_ok=True), key
