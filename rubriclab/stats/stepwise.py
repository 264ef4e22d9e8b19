"""Bidirectional stepwise regression by AIC (Shi et al., Appendix E).

A variable is a column of numbers or a set of categories and enters or leaves whole. Least
squares is statsmodels' OLS. AIC is n log(RSS / n) + 2k with k the fitted mean parameters, which
is what the paper's tables show (Table 5: n = 3,360 cells, RSS 61.974, k = 52 gives -13,312); it
differs from statsmodels' own by the constant n (1 + log 2 pi) + 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from rubriclab.stats.inference import Floats, Ints, Note

NO_VARIABLE = "None"
"""The table's row in which nothing is removed, as the paper writes it."""

POST_SELECTION = (
    "The variables were chosen by the same data that the final model is fitted to: p-values and "
    "intervals of the chosen model would be too good, so none are shown. Read the order of the "
    "changes of the loss (AIC), not their significance."
)


@dataclass(frozen=True)
class Step:
    """One move: ``action`` is start, add or remove; ``aic`` is that of the model after it."""

    action: str
    variable: str
    aic: float


@dataclass(frozen=True)
class Removal:
    """The final model without one variable, as a row of the paper's table.

    ``df``: parameters the variable has. ``sum_sq``: how much the residual sum of squares
    grows. ``rss`` and ``aic``: of the model without it. ``aic_change``: against the final one.
    """

    variable: str
    df: int
    sum_sq: float
    rss: float
    aic: float
    aic_change: float


@dataclass(frozen=True)
class Stepwise:
    """What the selection came to. ``table`` is sorted by AIC, the unreduced model among it."""

    n: int
    excluded: int
    selected: tuple[str, ...]
    dropped: tuple[str, ...]
    r2: float
    steps: tuple[Step, ...]
    table: tuple[Removal, ...]
    unusable: tuple[str, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Fit:
    rss: float
    k: int
    aic: float


def stepwise(y: Floats, variables: Mapping[str, Floats | Ints]) -> Stepwise:
    """Start with every variable; add or remove the one that lowers AIC most until none does.

    ``y``: (n,) outcome, one row a cell. ``variables``: name -> (n,); integers are category
    codes (treatment coding, negative = missing), floats are numbers (NaN = missing). Rows with
    anything missing are left out and counted. Variables that take one value are ``unusable``.
    With fewer rows than the full model has parameters + 2, or an outcome that never varies, no
    model is fitted: ``selected`` and ``table`` are empty and a warning says why.
    """
    outcome = np.asarray(y, dtype=np.float64)
    keep = np.isfinite(outcome)
    for values in variables.values():
        keep &= (values >= 0) if values.dtype.kind in "iu" else np.isfinite(values)
    blocks = {name: _columns(values[keep]) for name, values in variables.items()}
    unusable = tuple(name for name, block in blocks.items() if block.shape[1] == 0)
    usable = {name: block for name, block in blocks.items() if block.shape[1] > 0}
    target = outcome[keep]
    excluded = int(len(outcome) - len(target))
    warnings = [POST_SELECTION]
    if excluded:
        warnings.append(Note.of("{rows} rows with a missing value were left out.", rows=excluded))
    if unusable:
        warnings.append(Note.of("Left out because they take one value only: {names}.", names=", ".join(unusable)))
    needed = 1 + sum(block.shape[1] for block in usable.values()) + 2
    reason = _why_not(target, usable, needed)
    if reason:
        return Stepwise(len(target), excluded, (), tuple(usable), float("nan"), (), (), unusable, (*warnings, reason))
    return _search(target, usable, excluded=excluded, unusable=unusable, warnings=warnings)


def _columns(values: NDArray[np.number[Any]]) -> Floats:
    """Design columns (n, k) of one variable: k = 0 if it takes one value only."""
    if values.dtype.kind in "iu":
        levels, code = np.unique(values, return_inverse=True)
        return np.eye(max(len(levels), 1))[code][:, 1:] if len(values) else np.empty((0, 0))
    numbers = values.astype(np.float64)
    spread = float(numbers.std()) if len(numbers) else 0.0
    # Centred and scaled: lengths in the thousands beside shares would spoil the rank.
    return ((numbers - numbers.mean()) / spread)[:, None] if spread > 0 else numbers[:, None][:, :0]


def _why_not(target: Floats, usable: Mapping[str, Floats], needed: int) -> str:
    if not usable:
        return "No variable varies, so there is nothing to select from."
    if len(target) < needed:
        return Note.of(
            "{cells} cells are too few for a model that needs at least {needed}: no regression was run. Use more "
            "judges, tasks or candidates.",
            cells=len(target),
            needed=needed,
        )
    if float(np.ptp(target)) == 0.0:
        return "The outcome is the same in every cell, so nothing can predict it."
    return ""


def _search(
    target: Floats, blocks: Mapping[str, Floats], *, excluded: int, unusable: tuple[str, ...], warnings: list[str]
) -> Stepwise:
    chosen = list(blocks)
    current = _fit(target, [blocks[name] for name in chosen])
    steps = [Step("start", ", ".join(chosen), current.aic)]
    # A move lowers AIC, or drops a variable that others imply at equal AIC: no set comes twice.
    while True:
        moves = []
        for name in blocks:
            after = [v for v in chosen if v != name] if name in chosen else [*chosen, name]
            fit = _fit(target, [blocks[v] for v in after])
            moves.append((fit.aic, name, after, fit))
        best = min(moves, key=lambda move: move[0])
        action = "remove" if best[1] in chosen else "add"
        if best[0] > current.aic + (1e-9 if action == "remove" else -1e-9):
            break
        chosen, current = best[2], best[3]
        steps.append(Step(action, best[1], current.aic))
    selected = tuple(name for name in blocks if name in chosen)
    total = float(np.square(target - target.mean()).sum())
    return Stepwise(
        n=len(target),
        excluded=excluded,
        selected=selected,
        dropped=tuple(name for name in blocks if name not in chosen),
        r2=1.0 - current.rss / total,
        steps=tuple(steps),
        table=_removals(target, blocks, chosen, current),
        unusable=unusable,
        warnings=tuple(warnings),
    )


def _removals(target: Floats, blocks: Mapping[str, Floats], chosen: list[str], current: _Fit) -> tuple[Removal, ...]:
    """What taking each chosen variable away would cost, from the lowest AIC."""
    table = [Removal(NO_VARIABLE, 0, 0.0, current.rss, current.aic, 0.0)]
    for name in chosen:
        without = _fit(target, [blocks[v] for v in chosen if v != name])
        lost, more = without.rss - current.rss, without.aic - current.aic
        table.append(Removal(name, current.k - without.k, lost, without.rss, without.aic, more))
    return tuple(sorted(table, key=lambda row: row.aic))


def _fit(target: Floats, blocks: list[Floats]) -> _Fit:
    """Least squares on an intercept and the blocks; columns that others imply are left out."""
    # Imported here: statsmodels takes half a second to load and only this function needs it.
    from statsmodels.regression.linear_model import OLS

    n = len(target)
    design = np.column_stack([np.ones(n), *blocks])
    _, triangle, order = qr(design, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    k = int((size > size[0] * max(design.shape) * np.finfo(np.float64).eps).sum())
    rss = float(OLS(target, design[:, np.sort(order[:k])]).fit().ssr)
    # A perfect fit has no finite AIC; rounding is the floor that keeps models comparable.
    floor = n * (np.finfo(np.float64).eps * float(np.abs(target).max())) ** 2
    rss = max(rss, floor)
    return _Fit(rss, k, n * float(np.log(rss / n)) + 2 * k)
