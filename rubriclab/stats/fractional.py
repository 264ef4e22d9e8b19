"""Many two-level changes in few arms: a screening design, and what each effect is mixed up with.

Where any changes can be made together, a Plackett-Burman design: k changes in the next multiple of four
above k, every effect estimated from all arms (Plackett and Burman 1946, The Design of Optimum Multifactorial
Experiments; the matrices are Sylvester's and Paley's). Folded over, each arm with its mirror image, no effect
holds any part of what two changes do together (Box and Wilson 1951). Where some exclude each other, arms are
chosen by exchange so that the determinant of the information is largest (Meyer and Nachtsheim 1995, The
Coordinate-Exchange Algorithm).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from rubriclab.stats.inference import Floats, Ints

Bools = NDArray[np.bool_]
SPARE = 8
"""Arms beyond the changes and the rubric as it is: what two changes do only together shows in them."""
STARTS, SWEEPS = 5, 30
_SINGULAR = 1e-9
_NOTABLE = 0.25


@dataclass(frozen=True)
class Screening:
    """``arms``: (arms, k) 1 where a change is made; the first arm makes none.

    ``variance``: (k,) of each effect, where the response of one arm has variance 1; made one at a time it
    is 2. ``folded``: no effect is mixed up with what two changes do together.
    """

    arms: Ints
    variance: Floats
    folded: bool

    @property
    def economy(self) -> float:
        """How many times the calls one-at-a-time arms take for effects as precise, on average."""
        k, taken = self.arms.shape[1], len(self.arms)
        return float((k + 1) / taken * 2.0 / self.variance.mean())


@dataclass(frozen=True)
class Alias:
    """The estimate of change ``of`` also holds ``share`` of what changes ``a`` and ``b`` do only together."""

    of: int
    a: int
    b: int
    share: float


def screening(k: int, apart: Bools | None = None, *, arms: int | None = None, seed: int = 0) -> Screening:
    """A design for ``k`` changes. ``apart``: (k, k), which two exclude each other.

    ``arms``: at most so many, at least k + 1; None: SPARE more than that, to tell by whether changes add up. Twice those that a Plackett-Burman design
    takes fold it over. Raises ValueError for too few arms and for no change.
    """
    least = max(4, 4 * -(-(k + 1 + SPARE) // 4))
    if k < 1:
        raise ValueError("There is no change to try.")
    if arms is not None and arms < k + 1:
        raise ValueError(f"{k} changes take at least {k + 1} arms, not {arms}.")
    if apart is not None and apart.any():
        return _finished(_exchanged(k, apart, least if arms is None else arms, seed), folded=False)
    square = hadamard(least if arms is None or arms >= least else max(4, 4 * -(-(k + 1) // 4)))
    if arms is not None and len(square) > arms:
        return _finished(_exchanged(k, np.zeros((k, k), dtype=bool), arms, seed), folded=False)
    made = (square[:, _columns(len(square))[:k]] < 0).astype(np.int64)
    folded = arms is not None and arms >= 2 * len(made)
    return _finished(np.concatenate([made, 1 - made]) if folded else made, folded=folded)


def _columns(size: int) -> list[int]:
    """Columns of a Hadamard matrix in the order in which they are taken.

    Of Sylvester's first those that make the others, then products of many before products of few: rows are
    all different, and effects are mixed up with as many changes at once as can be.
    """
    every = range(1, size)
    if size & (size - 1):
        return list(every)
    return sorted(every, key=lambda column: (column.bit_count() > 1, -column.bit_count(), column))


def hadamard(n: int) -> Ints:
    """The smallest Hadamard matrix of ``n`` rows or more that is known here, its first row and column all 1.

    Sylvester's for powers of two, else Paley's (1933), for one more than a prime that leaves 3 over 4.
    """
    size = max(1, n)
    while size & (size - 1) and not (size % 4 == 0 and _prime(size - 1)):
        size += 1
    if not size & (size - 1):
        return np.asarray(linalg.hadamard(size), dtype=np.int64)
    q = size - 1
    squares = np.unique(np.arange(1, q) ** 2 % q)
    sign = np.where(np.isin(np.arange(q), squares), 1, -1)
    sign[0] = 0
    inner = sign[np.subtract.outer(np.arange(q), np.arange(q)) % q]
    skew = np.block([[np.zeros((1, 1)), np.ones((1, q))], [-np.ones((q, 1)), inner]])
    whole = (np.eye(size) + skew).astype(np.int64)
    whole = whole * whole[0]
    return np.asarray(whole * whole[:, :1])


def aliases(arms: Ints) -> list[Alias]:
    """Of each change the pair that its estimate holds most of, where that is a quarter or more.

    The alias matrix (X'X)^-1 X'Z of Box and Wilson: Z the products of two changes made together in some arm.
    """
    k = arms.shape[1]
    pairs = [(a, b) for a, b in combinations(range(k), 2) if (arms[:, a] & arms[:, b]).any()]
    if not pairs:
        return []
    # An interaction is what is left of a product once it is centred: both changes coded -1/2 and 1/2.
    coded = arms - 0.5
    model = np.column_stack([np.ones(len(arms)), coded])
    together = np.column_stack([coded[:, a] * coded[:, b] * 2.0 for a, b in pairs])
    held = (np.linalg.pinv(model) @ together)[1:]
    found = []
    for of in range(k):
        free = [place for place, pair in enumerate(pairs) if of not in pair]
        if free:
            most = max(free, key=lambda place: abs(held[of, place]))
            if abs(held[of, most]) >= _NOTABLE:
                found.append(Alias(of, *pairs[most], float(held[of, most])))
    return found


def effects_variance(arms: Ints) -> Floats:
    """(k,) the variance of each effect by least squares; infinite for those that cannot be told apart."""
    x = np.column_stack([np.ones(len(arms)), arms]).astype(np.float64)
    information = x.T @ x
    inverse = np.linalg.pinv(information)
    known = np.abs(inverse @ information - np.eye(len(information))).max(axis=1) < 1e-6
    return np.where(known, np.diag(inverse), np.inf)[1:]


def _finished(arms: Ints, *, folded: bool) -> Screening:
    """Each arm once: of few changes a design holds all that can be made of them, some twice."""
    arms = arms[np.sort(np.unique(arms, axis=0, return_index=True)[1])]
    return Screening(arms, effects_variance(arms), folded)


def _prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


# ---------------------------------------------------------------- exchange


def _exchanged(k: int, apart: Bools, arms: int, seed: int) -> Ints:
    """The best of some starts, each improved one change of one arm at a time until none helps."""
    rng = np.random.default_rng(seed)
    best, most = np.zeros((arms, k), dtype=np.int64), -np.inf
    for _ in range(STARTS):
        found = _improved(_start(k, apart, arms, rng), apart)
        if (value := _information(found)) > most + _SINGULAR:
            best, most = found, value
    return best


def _start(k: int, apart: Bools, arms: int, rng: np.random.Generator) -> Ints:
    """Each change alone in one arm, so that all can be estimated; others in arms at random."""
    drawn = np.zeros((arms, k), dtype=np.int64)
    for row in range(1, arms):
        first = [row - 1] if row <= k else []
        for change in (*first, *(c for c in rng.permutation(k).tolist() if rng.random() < 0.5)):
            if not (apart[change] & (drawn[row] > 0)).any():
                drawn[row, change] = 1
    return drawn


def _improved(arms: Ints, apart: Bools) -> Ints:
    value = _information(arms)
    for _ in range(SWEEPS):
        before = value
        for row in range(1, len(arms)):
            for change in range(arms.shape[1]):
                kept = arms[row].copy()
                if kept[change]:
                    arms[row, change] = 0
                else:
                    arms[row, apart[change]] = 0
                    arms[row, change] = 1
                new = _information(arms)
                if new > value + _SINGULAR:
                    value = new
                else:
                    arms[row] = kept
        if value <= before + _SINGULAR:
            break
    return arms


def _information(arms: Ints) -> float:
    x = np.column_stack([np.ones(len(arms)), arms]).astype(np.float64)
    sign, value = np.linalg.slogdet(x.T @ x + _SINGULAR * np.eye(x.shape[1]))
    return float(value) if sign > 0 else float("-inf")
