"""Count where two judgments about the same candidates contradict each other, and where winners form
a cycle.

All functions take arrays of one question or of many. What is counted is not what a judge believes:
noise alone makes contradictions, so these numbers need the same count within one way of asking next
to them.
"""

import numpy as np

from rubriclab.stats.resample import Bools, Floats, Ints


def opposite(one: Floats, other: Floats) -> Floats:
    """Return (n, ...) 1 where one prefers the first candidate and the other the second, else 0.

    ``one``, ``other`` (n, ...): above 0 prefers the first candidate, below 0 the second, 0 is a
    tie. A tie contradicts nothing. NaN where either is NaN.
    """
    product = np.sign(one) * np.sign(other)
    return np.where(np.isnan(product), np.nan, (product < 0) * 1.0)


def stable(rounds: Floats) -> Floats:
    """Return (n,) the side that all rounds prefer, 0 where they do not agree or one is a tie.

    ``rounds`` (n, rounds): preferences as in ``opposite``. NaN where a round is NaN.
    """
    signs = np.sign(rounds)
    same = (signs == signs[:, :1]).all(axis=1)
    return np.where(np.isnan(signs).any(axis=1), np.nan, np.where(same, signs[:, 0], 0.0))


def cycles(first: Ints, second: Ints, preference: Floats) -> tuple[int, int]:
    """Return how many triples of candidates form a cycle, and how many are complete.

    Of one question: ``first``, ``second`` (pairs,) candidates 0, 1, ..., and ``preference``
    (pairs,) as in ``opposite``. A triple is complete if all three pairs are known; it is a cycle if
    each of the three beats one other (a over b, b over c, c over a). A tie makes no cycle.
    """
    candidates = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    beats = np.full((candidates, candidates), np.nan)
    beats[first, second] = np.sign(preference)
    beats[second, first] = -np.sign(preference)
    known: Bools = np.isfinite(beats)
    wins = (np.nan_to_num(beats) > 0).astype(np.int64)
    # A cycle of three is counted once for each of its three beginnings.
    found = int(np.trace(wins @ wins @ wins)) // 3
    asked = known.astype(np.int64)
    return found, int(np.trace(asked @ asked @ asked)) // 6
