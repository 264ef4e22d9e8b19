"""Which order to try next, when looking for the one that gives the highest or the lowest score."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from rubriclab.stats.inference import Floats, Ints

RIDGE = 0.1
"""Pulls the preferences towards none: without it a judge that chose the same place every time
would be given an infinite one."""
NOISE = 0.15
"""The variance of one read about its order's mean, as a share of the variance of all reads."""


def next_choice(position: Ints, target: Floats, candidates: Ints, *, best: int, highest: bool) -> int:
    """Which candidate order (its row) promises most to be given a score beyond the best so far.

    ``position``: (k, n) where each option stood in the orders read; ``target``: (k, n) how much of
    each read went to each option, ascending by score (token probabilities, or 1 for the choice);
    ``candidates``: (m, n) like ``position``. ``best``: the option (its index) chosen so far that
    is the highest, or the lowest. The judge is taken to choose by the sum of a preference for
    the option and one for the place; the candidate is picked where an option beyond ``best``
    comes nearest to, or goes farthest over, all others. Raises ValueError where ``best`` is the
    end of the scale already.
    """
    n = position.shape[1]
    beyond = np.arange(n) > best if highest else np.arange(n) < best
    if not beyond.any():
        raise ValueError("the end of the scale has been chosen already: nothing lies beyond it")
    content, place = preferences(position, target)
    utility = content + place[candidates]
    lead = utility[:, beyond].max(axis=1) - utility[:, ~beyond].max(axis=1)
    return int(np.argmax(np.round(lead, 9)))


def preferences(position: Ints, target: Floats, *, ridge: float = RIDGE) -> tuple[Floats, Floats]:
    """(log-preference for each option, for each place), both (n,), from a few reads of one item.

    The multinomial logit utility[option] = content[option] + place[its position], fitted to
    ``target`` by penalised maximum likelihood (``ridge`` times half the squared preferences).
    Arrays as in :func:`next_choice`.
    """
    k, n = position.shape
    design = np.zeros((k, n, 2 * n))
    design[:, np.arange(n), np.arange(n)] = 1.0
    design[np.arange(k)[:, None], np.arange(n), n + position] = 1.0

    def cost(weights: Floats) -> tuple[float, Floats]:
        utility = design @ weights
        total = special.logsumexp(utility, axis=1)
        missed = target - np.exp(utility - total[:, None])
        value = float(total.sum() - (target * utility).sum() + 0.5 * ridge * weights @ weights)
        return value, ridge * weights - np.einsum("kn,knd->d", missed, design)

    solution = optimize.minimize(cost, np.zeros(2 * n), jac=True, method="L-BFGS-B").x
    return np.asarray(solution[:n]), np.asarray(solution[n:])


def next_mean(seen: Ints, values: Floats, candidates: Ints, *, highest: bool) -> int:
    """Which candidate order (its row) promises the highest or lowest value of a mean.

    ``seen``: (k, n) and ``candidates``: (m, n), option codes by position; ``values``: (k,). The
    mean of a Gaussian process in which orders are alike by the share of positions at which they
    show the same option: a sum of effects "this option at this position" (Rasmussen and Williams
    2006, equation 2.23). Raises ValueError for no reads.
    """
    if len(values) == 0:
        raise ValueError("nothing has been read yet: there is nothing to guess from")
    alike = _agreement(seen, seen) + NOISE * np.eye(len(seen))
    mean = _agreement(candidates, seen) @ np.linalg.solve(alike, values - values.mean())
    return int(np.argmax(np.round(mean if highest else -mean, 9)))


def _agreement(a: Ints, b: Ints) -> Floats:
    """(rows of a, rows of b) share of positions with the same option."""
    return np.asarray((a[:, None, :] == b[None, :, :]).mean(axis=2))
