"""Say how many labels it takes to certify a judge that passes or fails answers."""

from bisect import bisect_left
from functools import cache

import numpy as np
from scipy import stats

from rubriclab.stats.proportions import agresti_coull

RIGHT, LIMIT, CHANCE = 0.9, 0.8, 0.8
"""The usual question: a judge that is right about so many of each class, what it is certified at,
and how likely that is to succeed."""
MOST_LABELS = 1_000
"""The search for the number of labels of a class ends here."""


@cache
def labels_to_certify(
    right: float = RIGHT, limit: float = LIMIT, chance: float = CHANCE
) -> int | None:
    """Return how many labels of each class certify a judge; None for more than MOST_LABELS.

    The judge is right in a share ``right`` of each class. It is certified if the 95% intervals of
    both shares, of one call about independent answers (Agresti and Coull), lie above ``limit``,
    which is to happen with a ``chance``, from this number on.
    """
    if not limit < right <= 1.0:
        return None
    labels = np.arange(1, MOST_LABELS + 1)
    least = np.array([least_hits(limit, int(n)) for n in labels])
    certified = stats.binom.sf(least - 1, labels, right) ** 2
    short = labels[certified < chance]
    needed = int(short[-1]) + 1 if len(short) else 1
    return needed if needed <= MOST_LABELS else None


def least_hits(limit: float, n: int) -> int:
    """Return how many of ``n`` labels must be right for an interval above ``limit``.

    n + 1 where even all of them are too few.
    """

    def low_end(hits: int) -> float:
        return agresti_coull(float(hits), float(n))[0]

    return bisect_left(range(n + 1), limit, key=low_end)  # the lower end rises with the hits
