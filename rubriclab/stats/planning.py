"""How many items and reads a position effect needs, and when to stop asking.

Power is that of the average-position-effect test (Hotelling's T2 on the units' shares, method:
section 3): under an effect d, units d' S^-1 d is the noncentrality of its F reference, with S
the covariance of one unit's shares over K reads. S = between + within / K: the leaning an item
has of its own stays however often it is read, the rest averages out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats import distributions
from rubriclab.stats.inference import Floats, Interval, Note

Shape = Literal["first", "last", "linear", "hardest"]
MAX_UNITS = 1_000_000
KNOWN = "V is known to within {reach:.3f} (asked: {target:.3f})."
KNOWN_ONLY = "V is known to within {reach:.3f} only (asked: {target:.3f})."
STOP_METHOD = (
    "Hotelling region for the mean shares at every look, its error spent as "
    "alpha x 6 / (pi^2 look^2): valid however often one looks"
)
_FLAT = 1e-9


@dataclass(frozen=True)
class Noise:
    """Covariances of a unit's position shares, (n, n) each.

    ``within`` is that of one replicate of ``reads_each`` reads (1: one read; n: a balanced
    half), ``between`` that of the units' own leanings.
    """

    between: Floats
    within: Floats
    reads_each: int = 1

    def covariance(self, reads: int) -> Floats:
        """The covariance of a unit's shares over ``reads`` reads."""
        return np.asarray(self.between + self.within * (self.reads_each / reads))


class DesignCost(NamedTuple):
    """A design that reaches the power asked for; ``calls`` = items x reads."""

    strategy: str
    items: int
    reads: int
    calls: int
    power: float


class Stop(NamedTuple):
    """The state at one look. ``interval``: for V, valid together with all other looks.

    ``shares``: (n, 2) intervals for the position shares, valid likewise.
    """

    stop: bool
    v: float
    interval: Interval
    half_width: float
    target: float
    look: int
    level_now: float
    n_units: int
    shares: Floats
    method: str
    reason: str


def noise_from_replicates(shares: Floats, *, reads_each: int = 1) -> Noise:
    """Noise from a pilot, by the analysis of variance of its replicates.

    ``shares``: (units, replicates, n), position shares of each replicate: single reads of a
    random design (one-hot), or the two balanced halves of a balanced one. within = the mean
    covariance of replicates inside a unit; between = that of unit means less within /
    replicates, cut to no less than nothing in any direction. Raises ValueError for fewer than
    two units or replicates.
    """
    units, replicates, _ = shares.shape
    if units < 2 or replicates < 2:
        raise ValueError("a pilot needs at least two units and two replicates of each")
    means = shares.mean(axis=1)
    inside = shares - means[:, None, :]
    within = np.einsum("urp,urq->pq", inside, inside) / (units * (replicates - 1))
    total = np.cov(means, rowvar=False)
    return Noise(_positive(total - within / replicates), within, reads_each)


def _positive(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.clip(values, 0.0, None)) @ vectors.T)


def noise_from_level(n: int, *, randomness: float = 1.0, item_sd: float = 0.0) -> Noise:
    """Noise as stated, without a pilot.

    ``randomness``: 0..1, the share of reads whose position is as good as drawn; 1 for randomly
    drawn orderings (the position of any content is then uniform); for a balanced design the
    judge's own noise floor, the share of reads that leave an item's usual score. ``item_sd``:
    standard deviation over items of an item's own share at one position.
    """
    if not 0 <= randomness <= 1 or item_sd < 0:
        raise ValueError("randomness lies in 0..1 and item_sd is not negative")
    centre = np.eye(n) - 1.0 / n
    return Noise(centre * item_sd**2 * n / (n - 1), randomness * centre / n)


def effect_vector(v: float, n: int, shape: Shape, covariance: Floats | None = None) -> Floats:
    """Deviation of the mean shares from 1/n with Cramer's V of ``v``, (n,), summing to 0.

    ``first``, ``last``: one position gains, the others lose alike. ``linear``: an even slope,
    first high. ``hardest``: the direction of the greatest variance in ``covariance``.
    """
    if shape == "hardest":
        if covariance is None:
            raise ValueError("the hardest direction is that of a covariance: give one")
        raw = np.linalg.eigh(covariance)[1][:, -1]
    elif shape == "linear":
        raw = np.linspace(1.0, -1.0, n)
    else:
        raw = np.eye(n)[0 if shape == "first" else n - 1]
    raw = raw - raw.mean()
    return np.asarray(raw / np.linalg.norm(raw) * v * np.sqrt((n - 1) / n))


def power(effect: Floats, covariance: Floats, units: int, *, alpha: float = 0.05) -> float:
    """Chance that the average-effect test rejects at ``alpha`` with so many units.

    ``effect``: (n,) deviation of the mean shares. An effect along directions that never vary is
    seen for certain. NaN where units do not exceed the directions that vary.
    """
    values, vectors = np.linalg.eigh(covariance)
    varies = values > max(_FLAT * float(values[-1]), 1e-15)
    along = (vectors.T @ effect) ** 2
    rank = int(varies.sum())
    if float(along[~varies].sum()) > 1e-12:
        return 1.0
    if rank == 0:
        return alpha
    if units <= rank:
        return float("nan")
    noncentrality = units * float((along[varies] / values[varies]).sum())
    critical = float(distributions.f.isf(alpha, rank, units - rank))
    # Far out the noncentral F's series gives NaN; there the power is 1 to many digits.
    missed = float(special.ncfdtr(rank, units - rank, noncentrality, critical))
    return 1.0 - missed if np.isfinite(missed) else 1.0


def units_needed(effect: Floats, covariance: Floats, *, target: float = 0.8, alpha: float = 0.05) -> int | None:
    """Fewest units that reach ``target`` power; None beyond MAX_UNITS.

    At least 3n, below which the test falls back on a rougher one.
    """
    low = 3 * len(effect)
    if not power(effect, covariance, MAX_UNITS, alpha=alpha) >= target:
        return None
    high = low
    while power(effect, covariance, high, alpha=alpha) < target:
        low, high = high, min(2 * high, MAX_UNITS)
    while high - low > 1:
        middle = (low + high) // 2
        if power(effect, covariance, middle, alpha=alpha) >= target:
            high = middle
        else:
            low = middle
    return high


def designs(
    effect_v: float,
    shape: Shape,
    options: dict[str, tuple[Noise, tuple[int, ...]]],
    *,
    target: float = 0.8,
    alpha: float = 0.05,
    max_items: int | None = None,
) -> tuple[DesignCost, ...]:
    """Designs that reach the power, cheapest first; empty if none does.

    ``options``: strategy name to its noise and the reads per item to try. ``max_items``: the
    items there are. Among designs of equal cost the one with fewer items comes first.
    """
    costs = []
    for name, (noise, reads_to_try) in options.items():
        for reads in reads_to_try:
            covariance = noise.covariance(reads)
            effect = effect_vector(effect_v, len(covariance), shape, covariance)
            items = units_needed(effect, covariance, target=target, alpha=alpha)
            if items is None or (max_items is not None and items > max_items):
                continue
            reached = power(effect, covariance, items, alpha=alpha)
            costs.append(DesignCost(name, items, reads, items * reads, reached))
    return tuple(sorted(costs, key=lambda design: (design.calls, design.items)))


def stop_rule(shares: Floats, *, target: float, look: int, alpha: float = 0.05) -> Stop:
    """Stop when the interval on V is at most ``target`` to either side; look as often as you like.

    ``shares``: (units, n) position shares of the units read so far. ``look``: 1 at the first
    look, 2 at the second, and so on, whether or not anything was stopped. At look k a Hotelling
    region of level 1 - alpha 6 / (pi^2 k^2) holds the mean shares; the errors of all looks add
    up to alpha (a union bound), so every interval ever shown holds with 1 - alpha together, and
    stopping on their width cannot spoil them. That each region holds its level rests on the
    central limit theorem over units: below 3n units the rule says "not yet".
    """
    units, n = shares.shape
    if look < 1 or target <= 0:
        raise ValueError("look counts from 1 and target is positive")
    spent = alpha * 6 / (np.pi**2 * look**2)
    nothing = np.full((n, 2), np.nan)
    if units < 3 * n:
        wide = Interval(float("nan"), float("nan"))
        reason = Note.of("{units} units are too few to judge: at least {least}.", units=units, least=3 * n)
        return Stop(
            False, float("nan"), wide, float("inf"), target, look, 1 - spent, units, nothing, STOP_METHOD, reason
        )
    mean = shares.mean(axis=0)
    covariance = np.cov(shares, rowvar=False)
    values = np.linalg.eigvalsh(covariance)
    rank = max(1, int(np.sum(values > max(_FLAT * float(values[-1]), 1e-15))))
    quantile = float(distributions.f.isf(spent, rank, units - rank))
    radius2 = rank * (units - 1) / (units - rank) * quantile / units
    scale = float(np.sqrt(n / (n - 1)))
    v = scale * float(np.linalg.norm(mean - 1 / n))
    # The region's longest half-axis: how far the true deviation can be from the one seen.
    reach = scale * float(np.sqrt(radius2 * max(float(values[-1]), 0.0)))
    interval = Interval(max(0.0, v - reach), min(1.0, v + reach))
    side = np.sqrt(radius2 * np.clip(np.diag(covariance), 0, None))
    bands = np.stack([np.clip(mean - side, 0, 1), np.clip(mean + side, 0, 1)], axis=1)
    enough = reach <= target
    reason = Note.of(KNOWN if enough else KNOWN_ONLY, reach=reach, target=target)
    return Stop(enough, v, interval, reach, target, look, 1 - spent, units, bands, STOP_METHOD, reason)
