"""Tables of what a judge gave in; the same as calls out: where tests of verdicts start."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rubriclab.core.answers import Answers


def choices(
    score: ArrayLike,
    order: ArrayLike,
    orders: ArrayLike,
    unit: ArrayLike | None = None,
    points: ArrayLike | None = None,
    drawn: bool = False,
) -> Answers:
    """Answers from a table of codes into ``points``, NaN unparsed: (items, slots) of options chosen, or (texts, slots,
    criteria) of what criteria got.

    ``order`` (items, slots) or (slots,): indexes into ``orders`` (m, n). ``points``: 1..n where left out.
    """
    code = np.nan_to_num(np.asarray(score, dtype=np.float64), nan=-1.0).astype(np.int64)
    items, slots = code.shape[:2]
    shown = np.asarray(orders, dtype=np.int64)
    return Answers(
        item=np.repeat(np.arange(items), slots),
        order=np.broadcast_to(np.asarray(order, dtype=np.int64), (items, slots)).ravel(),
        code=code.reshape(items * slots, code.shape[2] if code.ndim == 3 else 1),
        orders=shown,
        unit=np.arange(items) if unit is None else np.unique(np.asarray(unit), return_inverse=True)[1],
        points=np.arange(1.0, shown.shape[1] + 1) if points is None else np.asarray(points, dtype=np.float64),
        drawn=drawn,
        criteria=code.ndim == 3,
    )
