"""The choice model: two orders by hand, planted effects found again, effects that a design cannot
tell, no finite odds.
"""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Row
from rubriclab.measures.choice import Effect, fit_choice, layout
from rubriclab.model.judgment import JudgmentTable, Ordering
from tests.tables import balanced_orders, choose, options

EVERY = np.array(list(permutations(range(1, 5))))
POSITION, NEIGHBOUR, LABEL = (
    np.array([0.6, 0.0, -0.2, -0.4]),
    np.array([0.5, 0.1, -0.2, -0.4]),
    np.array([0.4, -0.3, 0.1, -0.2]),
)


def rows_of(table: JudgmentTable) -> list[Row]:
    (arm,) = Judgments(table).arms
    return list(TOPICS["choice"].rows(arm))


def odds(rows: list[Row], measure: str) -> np.ndarray:
    return np.array([row.value for row in rows if row.measure == measure])


def test_two_orders_by_hand() -> None:
    """Two options, forward and backward once each. Of 12 items that answer both times otherwise 9
    take the first position and 3 the last one: a pair's odds are exp(2 (b1 - b2)) = 3, so b1 - b2 =
    ln 3 / 2, b1 = ln 3 / 4: odds 3^(1/4).
    """
    score = np.array([[1, 2]] * 9 + [[2, 1]] * 3 + [[2, 2]] * 5)
    rows = rows_of(options(score, [[1, 2], [2, 1]]))
    assert odds(rows, "position_odds") == pytest.approx([3**0.25, 3**-0.25])
    # Variance of a pair's ln 3 / 4: (1/9 + 1/3) / 16 x 12 / 11 (units - 1), and Student's t on 11
    # degrees of freedom.
    reach = 2.200985 * np.sqrt((1 / 9 + 1 / 3) / 16 * 12 / 11)
    assert rows[0].interval == pytest.approx(
        (3**0.25 * np.exp(-reach), 3**0.25 * np.exp(reach)), rel=1e-6
    )


def test_planted_effects_are_found_again() -> None:
    """All 24 orders of four options, labels drawn anew for each: 300 items, all three effects at
    once.
    """
    rng = np.random.default_rng(3)
    labels = np.stack([rng.permutation(4) for _ in EVERY])
    before = np.concatenate([np.full((24, 1), 4), EVERY[:, :-1] - 1], axis=1)
    own = rng.normal(0, 1.2, (300, 1, 4))
    utility = own[:, :, :].repeat(24, axis=1)[:, np.arange(24)[:, None], EVERY - 1]
    utility = utility + POSITION + np.append(NEIGHBOUR, 0)[before] + LABEL[labels]
    picked = (utility + rng.gumbel(size=utility.shape)).argmax(axis=2)
    table = options(EVERY[np.arange(24), picked], EVERY)
    named = zip(table.orderings, np.array(list("ABCD"))[labels], strict=True)
    rows = rows_of(
        replace(table, orderings=tuple(Ordering(part.shown, tuple(row)) for part, row in named))
    )
    for measure, truth in (
        ("position_odds", POSITION),
        ("neighbour", NEIGHBOUR),
        ("label_odds", LABEL),
    ):
        found = np.log(odds(rows, measure))
        assert found == pytest.approx(truth - truth.mean(), abs=0.15), measure
        assert found.sum() == pytest.approx(0.0, abs=1e-9)


def test_error_of_few_items_is_that_of_leaving_them_out() -> None:
    shown = balanced_orders(5) - 1
    item, order = (code.ravel() for code in np.indices((12, len(shown))))
    pick = choose(np.random.default_rng(8), 12, shown + 1, first=0.5).astype(int).ravel() - 1

    def fit(kept: np.ndarray) -> Effect:
        return fit_choice(
            layout(shown), item[kept], order[kept], pick[kept], np.arange(12)
        ).effects["neighbour"]

    left_out = np.array([fit(item != k).log_odds for k in range(12)])
    error = np.sqrt(11 / 12 * np.square(left_out - left_out.mean(axis=0)).sum(axis=0))
    assert np.sqrt(np.square(fit(item >= 0).influence).sum(axis=0) / (12 * 11)) == pytest.approx(
        error, rel=0.2
    )


def test_what_the_orders_do_not_tell_and_odds_that_are_not_finite() -> None:
    orders = balanced_orders(5)
    fixed = rows_of(
        options(choose(np.random.default_rng(0), 20, orders[:1], repeats=3), orders[:1])
    )
    assert [row.why for row in fixed] == ["single_order"]
    # In rotations of one direction every score follows the same one: no neighbour; labels go with
    # the score.
    rows = rows_of(options(choose(np.random.default_rng(0), 40, orders[:5], repeats=2), orders[:5]))
    assert {row.measure for row in rows} == {"position_odds"}
    orders = balanced_orders(5)
    always = rows_of(options(np.tile(orders[:, 0], (20, 1)), orders))
    assert [(row.why, np.isnan(row.value)) for row in always] == [("separated", True)]
    constant = rows_of(options(np.full((20, 10), 3.0), orders))
    assert [row.why for row in constant] == ["no_changes"]


def test_odds_of_drawn_pairs_are_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that takes the first option in 40% and is no logit otherwise: of very many items the
    same two orders were compared for all of them, which gave log-odds up to 0.21 away.
    """
    rng, orders = np.random.default_rng(4), balanced_orders(5)
    trait = 1.4 - rng.exponential(1.1, (1_500, 1)) + rng.normal(0, 0.3, (1_500, 10))
    score = 1.0 + np.searchsorted([-1.5, -0.5, 0.5, 1.5], trait)
    table = options(np.where(rng.random(trait.shape) < 0.4, orders[:, 0], score), orders)
    every = np.log(odds(rows_of(table), "position_odds"))
    monkeypatch.setattr("rubriclab.measures.choice.MOST_PAIRS", 1)
    assert np.log(odds(rows_of(table), "position_odds")) == pytest.approx(every, abs=0.1)
