"""Check the tables of stepwise regression: hand-made cells, data sets, a paper's numbers."""

from dataclasses import replace
from math import isnan, log

import numpy as np
import pytest

from rubriclab.core.topic import Findings
from rubriclab.data.sample import presets
from rubriclab.model.study import read_study
from rubriclab.words.factor_table import absent_lengths, factor_tables
from tests.measures.test_pairs import BOTH, beside, judged
from tests.tables import comparisons, findings, on_two_sets

TIE, FIRST = [0, 0], [1, 1]


def two_judges(**items: list[float]) -> Findings:
    """Two judges, three tasks of two questions. PC of the first: 1, 1, 1/2; of the other: 0, 0,
    1/2. Ties and flips are half a win for each, so that no cell has a quality gap.
    """
    choices = ([TIE] * 4 + [TIE, FIRST], [FIRST] * 4 + [TIE, FIRST])
    tasks = ["x", "x", "y", "y", "z", "z"]
    tables = [
        comparisons(won, BOTH, judge=f"j{k}", task=tasks, **items) for k, won in enumerate(choices)
    ]
    return findings(beside(*tables))


@pytest.mark.papers(58)
def test_a_regression_by_hand_with_the_papers_numbers_below() -> None:
    """The judges' means are 5/6 and 1/6: RSS 2 (2/36 + 4/36) = 1/3 with the judge. All mean 1/2:
    RSS 4 / 4 = 1 without. Tasks have the mean 1/2 each, so that they explain nothing.
    """
    papers = read_study(presets()["shi-pairs"]).paper
    found = two_judges()
    (table,) = factor_tables(found, "PC", found.conditions[0].dataset, papers)
    assert (table.cells, table.dropped, table.name) == (6, ("the task",), "")
    assert set(table.tried) == {"the judge", "the task"}
    assert table.source == "Shi et al., Table 5, MTBench"
    ours = [line for line in table.lines if not line.paper]
    assert [line.name for line in ours] == ["nothing left out", "the judge"]
    kept, judge = ours
    with_judge, without = 6 * log(1 / 18) + 4, 6 * log(1 / 6) + 2
    assert (kept.rss, kept.aic) == pytest.approx((1 / 3, with_judge))
    assert isnan(kept.df)
    assert (judge.df, judge.sum_sq, judge.rss, judge.aic) == pytest.approx((1, 2 / 3, 1, without))
    assert judge.rises == pytest.approx(without - with_judge)
    # The paper's line of the judge stands below ours; what it alone has comes last.
    names = [(line.name, line.paper) for line in table.lines]
    assert names[:4] == [
        ("nothing left out", False),
        ("nothing left out", True),
        ("the judge", False),
        ("the judge", True),
    ]
    assert {name for name, paper in names[4:] if paper} == {
        "the answers' length",
        "the candidate",
        "the task",
        "the quality gap",
    }
    printed = table.lines[3]
    assert (printed.df, printed.sum_sq, printed.rss, printed.rises) == (13, 15.3637, 77.338, 718)


@pytest.mark.thorough
@pytest.mark.papers(58)
def test_each_data_set_has_its_table_and_together_the_data_set_is_a_variable() -> None:
    """The judge is consistent in 90% of one data set and 30% of the other; their tasks have the
    same names. Where every data set has tasks of its own, the tasks imply it.
    """
    table = on_two_sets(
        judged(np.random.default_rng(0), 0.9, "j"), judged(np.random.default_rng(1), 0.3, "j")
    )
    found = findings(table)
    own = {
        name: factor_tables(found, "PC", name) for name in (found.conditions[0].dataset, "essays")
    }
    assert [len(tables) for tables in own.values()] == [1, 1]
    assert {tables[0].cells for tables in own.values()} == {15}
    assert not any("data set" in line.name for tables in own.values() for line in tables[0].lines)
    (together,) = factor_tables(found, "PC", "all")
    assert together.cells == 30
    (of_set,) = [line for line in together.lines if line.name == "the data set"]
    assert of_set.df == 1
    assert of_set.rises == max(line.rises for line in together.lines[1:])

    on_essays = table.items["dataset"] == "essays"
    tasks = table.items["task"].where(~on_essays, "of essays: " + table.items["task"].astype(str))
    (implied,) = factor_tables(
        findings(replace(table, items=table.items.assign(task=tasks))), "PC", "all"
    )
    kept = {line.name for line in implied.lines}
    assert len(kept & {"the data set", "the task"}) == 1  # the other one adds nothing to it


@pytest.mark.papers(59)
def test_the_table_says_which_lengths_are_missing_and_why() -> None:
    found = two_judges()
    dataset = found.conditions[0].dataset
    said = absent_lengths(found, dataset)
    assert said[0].startswith("The question's length is not known, so it is not among")
    assert said[1].endswith("needs a column output_length, or first_response and second_response.")
    equal = two_judges(input_length=[7.0] * 6, output_length=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert absent_lengths(equal, dataset) == [
        "The question's length is the same in all comparisons."
    ]


@pytest.mark.papers(58)
@pytest.mark.parametrize("name", ["shi-pairs", "shi-devbench"])
def test_printed_regressions_agree_with_themselves(name: str) -> None:
    """Growth of AIC is a difference of printed AICs, and the sum of squares one of printed RSS."""
    parts = [part for part in read_study(presets()[name]).paper if part.regression]
    assert len(parts) == {"shi-pairs": 4, "shi-devbench": 2}[name]
    for part in parts:
        lines = dict(part.regression)
        whole = lines.pop("nothing left out")
        (numbers,) = part.numbers.values()
        assert {term: line.aic - whole.aic for term, line in lines.items()} == pytest.approx(
            numbers, abs=0.01
        )
        for line in lines.values():
            assert line.sum_sq == pytest.approx(line.rss - whole.rss, abs=0.011)
