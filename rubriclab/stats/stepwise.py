"""An outcome of cells and what may go along with it in; the variables that AIC keeps, and what
removing each costs, out.

Bidirectional stepwise selection on least squares (Shi et al., Appendix E). AIC is n log(RSS / n) +
2 k with k the fitted parameters of the mean, which is what the paper's tables show (Table 5: n =
3,360, RSS 61.974, k = 52 gives -13,312).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rubriclab.stats.resample import Floats, Ints

ALMOST = 1e-9


class Model(NamedTuple):
    """``k`` parameters; ``rss``: residual sum of squares; ``aic``."""

    k: int
    rss: float
    aic: float


class Stepwise(NamedTuple):
    """``n`` cells; the ``chosen`` model; ``without``: the model without each variable that was
    kept; ``dropped``: the others. No model (``chosen`` None) where cells are fewer than parameters
    + 2 or the outcome never varies.
    """

    n: int
    chosen: Model | None
    without: dict[str, Model]
    dropped: tuple[str, ...]


def stepwise(y: Floats, variables: Mapping[str, Floats | Ints]) -> Stepwise:
    """From all variables, the one that lowers AIC most is removed or added until none does.

    ``y``: (cells,). ``variables``: name -> (cells,), integers are categories, floats numbers; a
    variable enters and leaves whole. Cells with a NaN are left out, and so are variables that take
    one value.
    """
    kept = np.isfinite(y) & np.all([np.isfinite(values) for values in variables.values()], axis=0)
    y = y[kept]
    blocks = {
        name: block
        for name, values in variables.items()
        if (block := _columns(values[kept])).shape[1]
    }
    parameters = 1 + sum(block.shape[1] for block in blocks.values())
    if not blocks or len(y) < parameters + 2 or np.ptp(y) == 0:
        return Stepwise(len(y), None, {}, ())
    names, current = list(blocks), _fit(y, list(blocks.values()))
    while (
        True
    ):  # AIC falls, or a variable that others imply leaves at equal AIC: no set comes twice
        moves = []
        for name in blocks:
            after = [other for other in blocks if (other in names) != (other == name)]
            moves.append((_fit(y, [blocks[other] for other in after]), name not in names, after))
        best, adds, after = min(moves, key=lambda move: round(move[0].aic, 9))
        if best.aic > current.aic + (-ALMOST if adds else ALMOST):
            break
        names, current = after, best
    without = {name: _fit(y, [blocks[other] for other in names if other != name]) for name in names}
    return Stepwise(len(y), current, without, tuple(name for name in blocks if name not in names))


def _columns(values: Floats | Ints) -> Floats:
    """(cells, k) columns of a design beside a constant; k = 0 of one value."""
    if values.dtype.kind in "iu":
        levels, code = np.unique(values, return_inverse=True)
        return np.asarray((code[:, None] == np.arange(1, len(levels))).astype(np.float64))
    spread = float(values.std()) if len(values) else 0.0
    # Lengths in the thousands beside shares would spoil the rank.
    return (
        ((values - values.mean()) / spread)[:, None] if spread > 0 else np.zeros((len(values), 0))
    )


def _fit(y: Floats, blocks: list[Floats]) -> Model:
    """Least squares on a constant and the blocks; columns that others imply cost no parameter."""
    n = len(y)
    design = np.column_stack([np.ones(n), *blocks])
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    # A perfect fit has no finite AIC; rounding is the floor that keeps models comparable.
    least = n * (np.finfo(np.float64).eps * float(np.abs(y).max())) ** 2
    rss = max(float(np.square(y - design @ solution).sum()), least)
    return Model(int(rank), rss, n * float(np.log(rss / n)) + 2 * int(rank))
