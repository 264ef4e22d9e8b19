"""Ratings as a table of items and raters: persons where the data name them, slots elsewhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings import ratings
from rubriclab.findings.ratings import other_scale, ratings_of

NAN = np.nan


def test_ratings_without_names_stand_by_slot() -> None:
    given = ratings_of(pd.DataFrame({"raters": [(1.0, 2.0), (), None, (3.0,)]}))
    np.testing.assert_array_equal(given.values, [[1, 2], [NAN, NAN], [NAN, NAN], [3, NAN]])
    assert (given.names, given.named) == (("rating 1", "rating 2"), False)


def test_a_named_rater_has_one_column_wherever_the_rating_stands() -> None:
    items = pd.DataFrame(
        {"raters": [(1.0, 2.0), (), (3.0,), (4.0, 5.0)], "rater_names": [("ann", "bob"), (), ("bob",), ("Zoë", "ann")]}
    )
    given = ratings_of(items)
    assert (given.names, given.named) == (("ann", "bob", "Zoë"), True)
    np.testing.assert_array_equal(given.values, [[1, 2, NAN], [NAN, NAN, NAN], [NAN, 3, NAN], [5, NAN, 4]])


def test_one_rating_without_a_name_makes_all_of_them_slots() -> None:
    items = pd.DataFrame({"raters": [(1.0, 2.0), (3.0,)], "rater_names": [("ann", "bob"), ()]})
    given = ratings_of(items)
    assert not given.named
    np.testing.assert_array_equal(given.values, [[1, 2], [3, NAN]])


@pytest.mark.parametrize("items", [pd.DataFrame({"item_id": ["a", "b"]}), pd.DataFrame({"raters": [(), ()]})])
def test_no_ratings_are_no_columns(items: pd.DataFrame) -> None:
    given = ratings_of(items)
    assert given.values.shape == (2, 0)
    assert (given.names, given.named) == ((), False)


def test_a_crowd_is_kept_by_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 raters of three ratings each would be a table that is nearly empty."""
    who = [tuple(f"worker {item * 3 + k}" for k in range(3)) for item in range(3_334)]
    items = pd.DataFrame({"raters": [(1.0, 2.0, 3.0)] * len(who), "rater_names": who})
    assert ratings_of(items).values.shape == (3_334, 3)
    few = items.head(300)
    assert ratings_of(few).values.shape == (300, 900)
    monkeypatch.setattr(ratings, "MOST_CELLS", 300 * 900 - 1)
    assert not ratings_of(few).named


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1, 5, ""), (2, 4, ""), (0, 100, "from 0 to 100"), (0, 1, "from 0 to 1"), (1, 10, "from 1 to 10")],
)
def test_ratings_of_another_scale_are_told(low: int, high: int, words: str) -> None:
    values = np.round(np.linspace(low, high, 41))[:, None]
    why = other_scale(values, (1, 2, 3, 4, 5))
    assert bool(why) == bool(words)
    assert words in why


def test_a_slip_or_half_a_step_is_no_other_scale() -> None:
    values = np.tile([[1.0, 2.0, 3.0, 4.0, 5.5]], (20, 1))
    assert other_scale(values, (1, 2, 3, 4, 5)) == ""
    values[0, 0] = 55.0  # a slip of the key
    assert other_scale(values, (1, 2, 3, 4, 5)) == ""
    assert other_scale(np.full((3, 1), np.nan), (1, 2)) == ""
