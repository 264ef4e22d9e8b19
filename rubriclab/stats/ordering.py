"""A table of P(position | score) in, Bias Costs of orders and the order of least cost out (Xu et al. v1, section 5.3).

``table[s, p]``: share of position p among the judgments that chose score s. An order lists score codes as shown. Costs
are in percentage points, and are what the paper prints: noise makes them too large.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from rubriclab.stats.resample import Floats, Ints


def bias_cost(table: Floats, orders: Ints) -> Floats:
    """100 x sum over positions p of |P(p | score shown at p) - 1/n|; ``orders``: (m, n) -> (m,).

    A cell that the order needs but the data cannot give (NaN) makes its cost NaN.
    """
    n = table.shape[-1]
    return np.asarray(100.0 * np.abs(table[orders, np.arange(n)] - 1.0 / n).sum(axis=-1))


def least_bias_cost(table: Floats) -> tuple[Ints, float]:
    """(the cheapest of all n! orders, its cost).

    Each score takes one position and each pairing has its own cost, so this is a linear assignment problem and the
    answer is exact. Pairings with unknown cells are never taken; where no order avoids them the cost is NaN.
    """
    n = table.shape[-1]
    costs = np.round(np.abs(table - 1.0 / n), 12)
    forbidden = 2.0 * n  # more than any order of known cells can cost
    scores, positions = linear_sum_assignment(np.where(np.isfinite(costs), costs, forbidden))
    order = scores[np.argsort(positions)].astype(np.int64)
    return order, float(bias_cost(table, order[None])[0])
