"""Many judged and few rated items in, means of the ratings out: prediction-powered inference.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Prediction-Powered Inference, section 2: the
mean judge score of the items not rated, corrected by how far judge and people are apart on the
rated ones. Angelopoulos, Duchi and Zrnic 2023, PPI++, section 6: the judge counts with a weight
that makes the interval as narrow as it can be, so that a poor judge does no harm.

The rated items have to be a random sample of the judged ones. What the mean is of: all items that
those judged are a sample of. Items of one unit (a prompt) count as one observation.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.resample import Floats, Ints, sum_by

FEWEST_RATED = 10
"""With fewer rated units no mean is corrected."""
SIGNIFICANT = 0.01
"""Below this p rated and unrated items are said to differ in the judge's scores."""
_TINY = 1e-12


class Part(NamedTuple):
    """A mean; ``sums``: (units,), what each unit adds to its error; ``fitted``: numbers learnt from
    them.
    """

    value: float
    sums: Floats
    fitted: int = 1


def estimate(human: Floats, judge: Floats, others: Floats, weight: float) -> float:
    """The prediction-powered mean at a given weight; ``others``: the judge on items not rated."""
    return (
        float(weight * others.mean() + (human - weight * judge).mean())
        if len(others)
        else float(human.mean())
    )


def tuned_weight(human: Floats, judge: Floats, others: Floats) -> float:
    """The weight of least variance (PPI++, equation 7), kept to 0..1; 0 where nothing is left to
    judge.
    """
    n, rest = len(human), len(others)
    spread = float(np.concatenate([judge, others]).var(ddof=1)) if n + rest > 1 else 0.0
    if n < 2 or rest == 0 or spread <= _TINY:
        return 0.0
    together = float(((human - human.mean()) * (judge - judge.mean())).mean())
    return float(np.clip(together / ((1.0 + n / rest) * spread), 0.0, 1.0))


def corrected_mean(
    human: Floats, judge: Floats, unit: Ints, units: int
) -> tuple[dict[str, Part], float]:
    """Means of all items and the judge's weight; ``human`` (items,) NaN where not rated, some are;
    ``judge`` (items,).

    ``judge``: of its scores; ``rated``: of the ratings alone; ``corrected``: of both; ``bias``:
    judge - corrected. What every item adds to the error is summed over its ``unit`` (independent
    items: 2023, Proposition 1; PPI++, equation 6).
    """

    def influence(values: Floats) -> Floats:
        return np.asarray((values - values.mean()) / len(values)) if len(values) else values

    rated = np.isfinite(human)
    y, own, rest = human[rated], judge[rated], judge[~rated]
    weight = tuned_weight(y, own, rest)
    alone, both, every = np.zeros(len(human)), np.zeros(len(human)), influence(judge)
    alone[rated], both[rated], both[~rated] = (
        influence(y),
        influence(y - weight * own),
        weight * influence(rest),
    )
    value, learnt = estimate(y, own, rest, weight), 2 if weight > 0 else 1
    parts = {
        "judge": (float(judge.mean()), every, 1),
        "rated": (float(y.mean()), alone, 1),
        "corrected": (value, both, learnt),
        "bias": (float(judge.mean()) - value, every - both, learnt),
    }
    return {
        key: Part(mean, sum_by(unit, added, units), n) for key, (mean, added, n) in parts.items()
    }, weight


def unlike(human: Floats, judge: Floats, unit: Ints, units: int) -> tuple[float, float]:
    """(mean judge score of rated - unrated items, its two-sided p by units); NaN without
    FEWEST_RATED of both.
    """
    rated = np.isfinite(human)
    groups = min(
        int((np.bincount(unit[part], minlength=units) > 0).sum()) for part in (rated, ~rated)
    )
    if groups < FEWEST_RATED:
        return float("nan"), float("nan")
    gap = float(judge[rated].mean() - judge[~rated].mean())
    influence = np.where(
        rated,
        (judge - judge[rated].mean()) / rated.sum(),
        (judge[~rated].mean() - judge) / (~rated).sum(),
    )
    error = float(np.sqrt((sum_by(unit, influence, units) ** 2).sum() * groups / (groups - 1)))
    if error <= _TINY:
        return gap, 1.0 if abs(gap) <= _TINY else 0.0
    return gap, float(2.0 * special.stdtr(groups - 1, -abs(gap) / error))
