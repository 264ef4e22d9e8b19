"""Probabilities against what people gave: scikit-learn's numbers, a judge that says what is so, and ends that hold."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.topic import Row
from rubriclab.model.judgment import JudgmentTable
from tests.tables import ORDERS, options
from tests.tables import rows_of as topic_rows

rng = np.random.default_rng


def truths(seed: int, items: int) -> np.ndarray:
    """(items, 5): how likely a person gives each score."""
    odds = rng(seed).normal(0, 1.5, (items, 5))
    return np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)


def stated(
    seed: int, items: int, sharper: float = 1.0, raters: int = 1, first: float = 0.0, **columns: object
) -> JudgmentTable:
    """A judge that states the truth to a power, with a lean to the first option, in all balanced orders."""
    true, shown = truths(seed, items), ORDERS - 1
    given = true[:, shown] ** sharper * np.exp(first * (np.arange(5) == 0))
    given /= given.sum(axis=-1, keepdims=True)
    score = np.take_along_axis(np.broadcast_to(shown, given.shape), given.argmax(axis=-1)[..., None], -1)[..., 0] + 1
    people = rng(seed + 10**6)
    drawn = np.stack([people.choice(5, raters, p=row) + 1.0 for row in true])
    ratings = [{f"rater {k}": x for k, x in enumerate(row)} for row in drawn.tolist()]
    made = options(score, ORDERS, ratings=ratings, **columns)
    return replace(made, probabilities=given.reshape(-1, 5).astype(np.float32))


def rows_of(table: JudgmentTable, measure: str) -> dict[str, Row]:
    made = topic_rows(table, "calibration")[0]
    return {str(next(iter(row.of.values()), "")): row for row in made if row.measure == measure}


RATED, BRIER, LOG_LOSS = [1, 5, 2, 4, 4, 2, 5, 3], 0.7755065122146926, 1.7136842827447425


def test_numbers_are_scikit_learns() -> None:
    """brier_score_loss (scale_by_half=False) and log_loss of scikit-learn 1.9.1 on this very table: one call an item, one rater."""
    made = stated(3, 40, sharper=2.0)
    rated = np.array([row["rater 0"] for row in made.items["ratings"]]).astype(int)
    assert rated[:8].tolist() == RATED
    assert rows_of(made, "brier")[""].value == pytest.approx(BRIER, abs=1e-6)
    assert rows_of(made, "log_loss")[""].value == pytest.approx(LOG_LOSS, abs=1e-6)
    for fewer in (replace(made, probabilities=None), replace(made, items=made.items.assign(ratings=[{}] * 40))):
        assert not rows_of(fewer, "brier")


def test_an_order_that_leans_is_worse_calibrated_and_says_so() -> None:
    made = stated(5, 200, first=2.0, raters=3)
    whole, by_order = rows_of(made, "brier")[""], rows_of(made, "brier")
    assert len(by_order) == 11
    assert np.mean([row.value for name, row in by_order.items() if name]) == pytest.approx(whole.value)
    assert whole.value > rows_of(stated(5, 200, raters=3), "brier")[""].value
    assert rows_of(stated(5, 200, sharper=3.0), "overconfidence")[""].interval[0] > 0
    curve = rows_of(stated(5, 400, raters=3), "agreed_share")
    assert all(row.interval[0] - 0.02 <= float(name) <= row.interval[1] + 0.02 for name, row in curve.items())
