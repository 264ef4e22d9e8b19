"""Imported scores: rows with known counts become the arrays that findings start from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubriclab.datasets.scores import read_scores
from rubriclab.datasets.tables import read_table
from rubriclab.model import STATUSES, DataError, RunData, Strategy, StrategyKind, designs

HEAD = "judge,dataset,item_id,ordering,score"


def run(text: str) -> RunData:
    return read_scores(read_table("s.csv", text.encode()), name="s")


def test_rows_become_codes_positions_and_items() -> None:
    data = run(
        HEAD + ",criterion,block,prompt,candidate,human,strategy\n"
        "j1,D,a,3 1 2,3,Style,B,P,m,2.5,own\n"
        "j1,D,a,3 1 2,,Style,B,P,m,,own\n"
        "j1,D,b,1 2 3,2,Style,B,P,n,,own\n"
        'j2,D,a,"2,3,1",1,Style,B,P,m,2.5,own\n'
    )
    rows = data.judgments
    assert rows["position"].tolist() == [1, -1, 2, 3]
    assert rows["score"].tolist()[2:] == [2.0, 1.0]
    assert [STATUSES[code] for code in rows["status"]] == ["ok", "unparsed", "ok", "ok"]
    assert rows["item"].tolist() == [0, 0, 1, 0]
    assert rows["arm"].tolist() == [0, 0, 0, 1]
    assert rows["read"].tolist() == [0, 1, 0, 0]
    assert rows["call"].tolist() == [0, 1, 2, 3]
    assert np.isnan(rows["expected"]).all()
    assert [o.shown for o in data.orderings] == [(3, 1, 2), (1, 2, 3), (2, 3, 1)]
    assert [(arm.judge, arm.strategy, arm.scores, arm.n_positions) for arm in data.arms] == [
        ("j1", "own", (1, 2, 3), 3),
        ("j2", "own", (1, 2, 3), 3),
    ]
    assert data.planned == (3, 1)
    items = data.items
    assert items["item_id"].tolist() == ["a", "b"]
    assert items[["criterion", "block", "prompt"]].values.tolist() == [["Style", "B", "P"]] * 2
    assert items["candidate"].tolist() == ["m", "n"]
    assert items["raters"].tolist() == [(2.5,), ()]
    assert items["human"].tolist()[0] == 2.5
    assert np.isnan(items["human"].tolist()[1])


def test_decimal_commas_are_read_where_the_whole_column_has_them() -> None:
    """As a spreadsheet in German writes them, with semicolons between the columns."""
    head = HEAD.replace(",", ";") + ";human\n"
    items = run(head + "j;D;a;1 2;1,0;6,5\nj;D;b;1 2;2,0;7\nj;D;c;1 2;;\n").items
    assert items["human"].tolist()[:2] == [6.5, 7.0]
    with pytest.raises(DataError, match="“6,5”"):
        run(head + "j;D;a;1 2;1;6,5\nj;D;b;1 2;1;1.234,5\n")


def test_an_id_under_two_criteria_is_two_items_of_one_block() -> None:
    data = run(HEAD + ",criterion\nj,D,a,1 2,1,Style\nj,D,a,1 2,1,Depth\nj,D,b,1 2,2,Style\n")
    assert data.items["item_id"].tolist() == ["a:Style", "a:Depth", "b"]
    assert data.items["block"].tolist() == ["a", "a", "b"]


def test_scales_of_other_sizes_are_other_arms() -> None:
    data = run(HEAD + "\nj,D,a,1 2,1\nj,D,b,1 2 3,1\nj,E,a,1 2,1\n")
    assert [(arm.dataset, arm.scores) for arm in data.arms] == [("D", (1, 2)), ("D", (1, 2, 3)), ("E", (1, 2))]
    assert data.items["dataset"].tolist() == ["D", "D", "E"]


def test_several_raters_and_repeats() -> None:
    data = run(HEAD + ",human_1,human_2,repeat\nj,D,a,1 2,1,2,4,0\nj,D,a,1 2,2,2,4,1\n")
    assert data.items["raters"].tolist() == [(2.0, 4.0)]
    assert data.items["human"].tolist() == [3.0]
    assert data.judgments["repeat"].tolist() == [0, 1]
    assert data.judgments["read"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("fixed", (1, 2, 3)),
        ("descending", (1, 2, 3)),
        ("balanced", (1, 2)),
        ("balanced", (1, 2, 3, 4, 5)),
        ("williams", (1, 2, 3, 4)),
        ("all", (1, 2, 3, 4)),
    ],
)
def test_the_design_is_recognised(kind: StrategyKind, options: tuple[int, ...]) -> None:
    lines = designs.orderings(Strategy(kind), options)
    rows = [f"j,D,{item},{' '.join(map(str, line))},1\n" for item in "ab" for line in lines]
    data = run(HEAD + "\n" + "".join(rows))
    assert [arm.strategy for arm in data.arms] == [kind]
    # The same read is the same ordering for every item, however the rows lie.
    turned = run(HEAD + "\n" + "".join(rows[: len(lines)] + rows[: len(lines) - 1 : -1]))
    by_read = turned.judgments.groupby("read")["ordering"].nunique()
    assert (by_read == 1).all()


def test_an_incomplete_design_is_only_called_imported() -> None:
    lines = designs.orderings(Strategy("balanced"), (1, 2, 3))[:-1]
    rows = "".join(f"j,D,a,{' '.join(map(str, line))},1\n" for line in lines)
    assert run(HEAD + "\n" + rows).arms[0].strategy == "imported"


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("j,D,a,1 2,three\n", ["s.csv", "line 2", "“score”", "“three”"]),
        ("j,D,a,1 2,1\nj,D,a,1 2,7\n", ["line 3", "score 7", "“1 2”"]),
        ("j,D,a,1 2,1.5\n", ["line 2", "1.5"]),
        ("j,D,a,1 1,1\n", ["line 2", "“ordering”", "“1 1”"]),
        ("j,D,a,A B,1\n", ["line 2", "“A B”"]),
        ("j,D,a,1,1\n", ["line 2", "“1”"]),
        ("j,D,a,1 2,1\n,D,a,1 2,1\n", ["line 3", "“judge”", "blank"]),
    ],
)
def test_faults_name_the_row(rows: str, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        run(HEAD + "\n" + rows)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("judge,dataset,item_id,score\nj,D,a,1\n", ["lacks", "ordering"]),
        (HEAD + ",human\nj,D,a,1 2,1,2\nj,D,a,2 1,1,3\n", ["line 3", "“human”", "“3”", "“2”"]),
        (HEAD + ",human\nj,D,a,1 2,1,good\n", ["line 2", "“human”", "“good”"]),
        (HEAD + ",block\nj,D,a,1 2,1,x\nj,D,a,2 1,1,y\n", ["line 3", "“block”", "“y”", "“x”"]),
        (HEAD + ",repeat\nj,D,a,1 2,1,-1\n", ["“repeat”", "“-1”"]),
    ],
)
def test_columns_that_do_not_fit(text: str, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        run(text)
    for word in words:
        assert word in str(caught.value)


def test_native_types_and_other_spellings_of_columns() -> None:
    frame = pd.DataFrame(
        {
            "Judge": ["j", "j"],
            "dataset": ["D", "D"],
            "Item ID": [7, 7],
            "ordering": ["[2, 1]", "1 2"],
            "score": [1.0, np.nan],
        }
    )
    data = read_scores(frame, name="s")
    assert data.judgments["position"].tolist() == [2, -1]
    assert data.items["item_id"].tolist() == ["7"]


cell = st.tuples(
    st.sampled_from("jk"),
    st.sampled_from("DE"),
    st.sampled_from("abc"),
    st.permutations([1, 2, 3]),
    st.sampled_from(["1", "2", "3", ""]),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(cell, min_size=1, max_size=25))
def test_every_row_is_kept_and_can_be_read_back(cells: list[tuple[str, str, str, list[int], str]]) -> None:
    lines = [f"{j},{d},{i},{' '.join(map(str, o))},{s}\n" for j, d, i, o, s in cells]
    data = run(HEAD + "\n" + "".join(lines))
    assert sum(data.planned) == len(cells)
    back = []
    for row in data.judgments.itertuples():
        arm, shown = data.arms[row.arm], data.orderings[row.ordering].shown
        score = "" if row.position < 0 else str(shown[row.position - 1])
        assert score == ("" if np.isnan(row.score) else str(int(row.score)))
        item = data.items["item_id"].iloc[row.item]
        assert arm.dataset == data.items["dataset"].iloc[row.item]
        back.append((arm.judge, arm.dataset, item, list(shown), score))
    assert back == cells
    reads = data.judgments[["arm", "item", "read"]]
    assert not reads.duplicated().any()
