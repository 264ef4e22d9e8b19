"""What a judge can be asked for: how well people agree among themselves, and the ceiling that sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.ratings import ratings_of
from rubriclab.model.language import msg, tr
from rubriclab.stats import alignment as stats
from rubriclab.stats.alignment import Agreement
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints
from rubriclab.stats.reliability import rating_reliability

NO_CEILING = msg("the raters were not found to agree beyond chance")


@dataclass(frozen=True)
class Ceiling:
    """What a judge can be asked for: the highest r that is to be expected with the mean rating.

    ``reliability`` of the mean rating; ``r`` is its root. ``why``: what keeps it from being known.
    """

    r: float
    ci: Interval
    reliability: float
    why: str = ""


class Raters:
    """The raters' own agreement on an arm's items and the ceiling, once per set of items."""

    def __init__(self, items: pd.DataFrame, unit: Ints) -> None:
        self._ratings, self._unit = ratings_of(items).values, unit
        self._known: dict[bytes, tuple[Agreement | None, Ceiling | None]] = {}

    def on(self, item: Ints) -> tuple[Agreement | None, Ceiling | None]:
        """None where no item has two ratings."""
        key = item.tobytes()
        if key not in self._known:
            mine = self._ratings[item]
            agreement = stats.rater_agreement(mine)
            several = bool(agreement.items)
            self._known[key] = (agreement, ceiling(mine, self._unit[item])) if several else (None, None)
        return self._known[key]


def ceiling(ratings: Floats, unit: Ints) -> Ceiling | None:
    """The root of the mean rating's reliability, with the interval of that."""
    agreed = rating_reliability(ratings, unit)
    if not np.isfinite(agreed.value):
        return None
    if agreed.value <= 0.0:
        # The root of 0 is no ceiling: judges above it would be called better than the best there can be.
        return Ceiling(float("nan"), NO_INTERVAL, agreed.value, tr(NO_CEILING))
    low, high = (float(np.sqrt(end)) for end in agreed.ci)
    return Ceiling(float(np.sqrt(agreed.value)), Interval(low, high), agreed.value)
