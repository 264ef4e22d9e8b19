"""The prior of positions, and what is left of one call without it, by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rubriclab.stats.debias import divided, position_prior, shrunk

PRIOR = np.array([0.5, 0.3, 0.2])
SHOWN = np.array(list(permutations(range(3))))
AT = np.argsort(SHOWN, axis=1)


def test_a_prior_is_found_again_and_divided_out() -> None:
    rng = np.random.default_rng(0)
    content = rng.dirichlet(np.ones(3), 20)
    item, order = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    weight = content[item] * PRIOR[AT[order]]
    chances = weight / weight.sum(axis=1, keepdims=True)
    assert position_prior(SHOWN, item, order, chances) == pytest.approx(PRIOR)
    kept = rng.random(len(item)) < 0.6  # no longer balanced
    assert position_prior(SHOWN, item[kept], order[kept], chances[kept]) == pytest.approx(PRIOR)
    assert divided(chances, AT[order], PRIOR) == pytest.approx(content[item])
    one = order == 0
    assert position_prior(SHOWN, item[one], order[one], chances[one]) is None


def test_the_line_of_probe_items() -> None:
    # Calls 1, 2, 3 of items whose means are 2, 2.5, 3: start 2.5, slope 1/2, about 2.
    assert shrunk(np.array([1.0, 2, 3]), np.array([2.0, 2.5, 3])) == pytest.approx((2.5, 0.5, 2.0))
    assert shrunk(np.ones(3), np.array([1.0, 2, 3])) == pytest.approx((2.0, 0.0, 1.0))
