"""Effects of places on the typical item: what its intervals take for one."""

from __future__ import annotations

import numpy as np

from rubriclab.stats.choice_design import contrasts
from rubriclab.stats.choice_mixed import Mixed, Reads, fit_mixed

ORDERS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
WIDE = contrasts(3)
POSITION = slice(2, 4)


def leaning_items(items: int, seed: int) -> Reads:
    """Items with contents and leanings of their own, each read in every order twice."""
    rng = np.random.default_rng(seed)
    place = np.argsort(ORDERS, axis=1)
    x = np.concatenate([np.broadcast_to(WIDE, (6, 3, 2)), WIDE[place]], axis=2)
    own = rng.normal(0.0, 1.0, (items, 4)) + np.array([0.0, 0.0, 0.8, -0.2])
    ordering = np.tile(np.arange(6), (items, 2))
    utility = np.einsum("irsk,ik->irs", x[ordering], own)
    choice = (utility + rng.gumbel(size=utility.shape)).argmax(axis=2)
    return Reads(x, np.zeros((6, 3)), ordering, choice)


def fitted(reads: Reads, cluster: np.ndarray) -> Mixed:
    fit = fit_mixed(reads, POSITION, cluster)
    assert fit is not None
    return fit


def test_items_that_are_one_count_once() -> None:
    """Every item twice says no more than once: by cluster the errors were half as large, and held in 0.71."""
    once = leaning_items(50, seed=1)
    twice = once._replace(ordering=np.tile(once.ordering, (2, 1)), choice=np.tile(once.choice, (2, 1)))
    alone = fitted(once, np.arange(50))
    by_cluster, by_item = fitted(twice, np.tile(np.arange(50), 2)), fitted(twice, np.arange(100))
    error = {
        name: np.sqrt(np.trace(fit.covariance))
        for name, fit in (("alone", alone), ("cluster", by_cluster), ("item", by_item))
    }
    np.testing.assert_allclose(error["cluster"], error["alone"], rtol=0.1)
    np.testing.assert_allclose(error["item"], error["alone"] / np.sqrt(2.0), rtol=0.1)
