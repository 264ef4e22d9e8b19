"""Say in which order a judge is asked, batch by batch, so that a run can stop early.

``core/looks.py`` decides what can be said after each batch.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Stop = Literal["known", "decided"]
"""When a run stops.

known: the order is shown to matter, and how it matters is said or was looked at once more; or no
question is left open. decided: no question is left open.
"""
USUAL_ALPHA = 0.05
"""What p values are compared with where a run is looked at once; intervals are drawn at 1 - it."""


@dataclass(frozen=True, eq=False)
class Asking:
    """In which order one judge is asked about the units of a data set, on one axis.

    rank: (items of the run,) the place of the item's unit in the order of asking, from 0; -1 of
        items that are not asked about (``core/looks.py:asking_order``).
    planned: (conditions of the run, units) how many calls are planned about each unit, in the order
        of asking; 0 for the conditions of other judges, data sets and axes.
    stop: the rule by which the run stops.
    batches: how many batches are in; None where nobody has counted yet.
    alpha: of the last look: what p values are compared with.
    """

    rank: NDArray[np.int64]
    planned: NDArray[np.int64]
    stop: Stop = "known"
    batches: int | None = None
    alpha: float = USUAL_ALPHA

    @property
    def units(self) -> int:
        return int(self.planned.shape[1])

    @property
    def conditions(self) -> list[int]:
        """The conditions that are asked in this order, by their codes."""
        return np.flatnonzero(self.planned.sum(axis=1)).tolist()
