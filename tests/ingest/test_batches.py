"""Batch scores made elsewhere: a table becomes a run, and a fault is named with its place."""

from __future__ import annotations

import pandas as pd
import pytest

from rubriclab.datasets.batches import read_batches
from rubriclab.datasets.imports import kind_of_table
from rubriclab.model import DataError
from tests.batch_judges import BatchJudge


def rows(*lines: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(lines, columns=["item_id", "batch", "order", "place", "score"]).assign(judge="j", dataset="d")


WHOLE = (("a", "b1", "x", 1, 4), ("b", "b1", "x", 2, 3), ("b", "b1", "y", 1, 2), ("a", "b1", "y", 2, None))


def test_calls_orders_and_single_calls_are_told_apart() -> None:
    data = read_batches(rows(*WHOLE, ("a", None, None, None, 5), ("a", None, None, None, 4)), name="r")
    assert [(arm.strategy, arm.n_positions, str(arm.variant)) for arm in data.arms] == [
        ("williams", 2, "batch_size=2"),
        ("fixed", 1, "batch_size=1"),
    ]
    assert [ordering.shown for ordering in data.orderings] == [("a", "b"), ("b", "a"), ("a",)]
    found = data.judgments
    assert found["call"].nunique() == 4
    assert found["position"].tolist() == [1, 2, 1, 2, 1, 1]
    assert found["status"].tolist() == [0, 0, 0, 1, 0, 0]
    assert data.planned == (2, 2)


def test_a_file_of_batches_is_known_by_its_columns() -> None:
    assert kind_of_table(BatchJudge().table(8, 0).columns) == "batches"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ((("a", "b1", "x", 0, 4), ("b", "b1", "x", 2, 3)), "place"),
        ((("a", "b1", "x", 1, 4), ("b", "b1", "x", 1, 3)), "stands at place 1"),
        ((("a", "b1", "x", 1, 4), ("b", "b1", "x", 3, 3)), "place 3 of a call with 2 rows"),
        ((("a", None, None, 2, 4), ("b", None, None, 1, 3)), "single call"),
        ((("a", "b1", "x", 1, 4.5), ("b", "b1", "x", 2, 3)), "whole number"),
    ],
)
def test_faults_are_named(lines: tuple[tuple[object, ...], ...], fault: str) -> None:
    with pytest.raises(DataError, match=fault):
        read_batches(rows(*lines), name="r")
