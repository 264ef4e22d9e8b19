"""Which order to try next: a guess at every order's score from the orders read so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats.inference import Floats, Ints


class Guess(NamedTuple):
    """For each candidate order the expected score and its standard deviation, both (m,)."""

    mean: Floats
    sd: Floats


def guess(seen: Ints, values: Floats, candidates: Ints, *, noise: float = 0.15) -> Guess:
    """A Gaussian process over orders, in which orders are alike as far as they agree by position.

    ``seen``: (k, n) and ``candidates``: (m, n), option codes by position; ``values``: (k,) scores.
    The covariance of two orders is the share of positions at which both show the same option,
    times the variance of ``values``: a sum of independent effects "option at position", which
    is what a position bias makes (Rasmussen and Williams 2006, equations 2.23 and 2.24).
    ``noise``: variance of a single read as a share of that of ``values``. Raises ValueError for
    no reads.
    """
    if len(values) == 0:
        raise ValueError("nothing has been read yet: there is nothing to guess from")
    scale = float(np.var(values)) or 1.0
    alike = _agreement(seen, seen) + noise * np.eye(len(seen))
    across = _agreement(candidates, seen)
    weights = np.linalg.solve(alike, np.column_stack([values - values.mean(), across.T]))
    mean = values.mean() + across @ weights[:, 0]
    left = 1.0 - np.einsum("mk,km->m", across, weights[:, 1:])
    return Guess(np.asarray(mean), np.sqrt(scale * np.clip(left, 0.0, None)))


def next_order(
    seen: Ints, values: Floats, candidates: Ints, *, highest: bool, curiosity: float = 0.5
) -> int:
    """Which candidate (its row) to read next when looking for the highest or lowest score.

    The largest mean + curiosity * sd (for the lowest: the smallest mean - curiosity * sd;
    Srinivas et al. 2010, upper confidence bound). The first of equals.
    """
    found = guess(seen, values, candidates)
    sign = 1.0 if highest else -1.0
    return int(np.argmax(np.round(sign * found.mean + curiosity * found.sd, 9)))


def _agreement(a: Ints, b: Ints) -> Floats:
    """(rows of a, rows of b) share of positions with the same option."""
    return np.asarray((a[:, None, :] == b[None, :, :]).mean(axis=2))
