"""Bias Cost of score orderings, from the score x position table of each arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.findings.frame import ItemTables, Units
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, plural, said
from rubriclab.stats import ordering as costs
from rubriclab.stats.inference import MIN_RESAMPLED, Floats, bootstrap_sums, sum_by
from rubriclab.stats.position import is_separable, position_given_score

CONFOUNDED = msg(
    "Position and score cannot be told apart here: no score was seen at more than one position. Use "
    "a balanced, random or Williams design to measure position effects."
)
MISSING_CELLS = msg(
    "Some score was never chosen, or never shown at some position, so part of the score × position "
    "table is empty; Bias Costs of orderings that need those cells are unknown."
)


ONE_PLACE = msg("every score stood at one place, so place and score cannot be told apart")
NO_CELLS = msg("some score was never given, or not shown at every place")
"""Why a cost is not known: where a score is given says nothing of a score that never is."""
UNIT = msg("percentage points")


@dataclass(frozen=True)
class Costed:
    """An ordering (scores as shown) with its Bias Cost in percentage points, as the paper counts it.

    Noise makes it too large, the more the smaller the data, and choosing the least makes that
    one too small: ``BiasCost.without_noise`` is what can be relied on.
    """

    ordering: tuple[int, ...]
    cost: float


@dataclass(frozen=True)
class BiasCost:
    """The default (ascending) order, the best of the rotations and the best of all n! orders.

    ``without_noise``: the costs of the default and of an order chosen on other units, and what
    the choice saves, cross-fitted. ``why``, ``why_noisy``: why the paper's costs, and those without
    noise, are not known; empty where they are.
    """

    default: Costed
    cyclic_best: Costed
    best: Costed
    rotations: tuple[Costed, ...]
    without_noise: costs.Gain
    why: str = ""
    why_noisy: str = ""

    @property
    def missing(self) -> str:
        """What has no number and why, as every place that shows these costs says it; empty where all have one."""
        if self.why:
            return cost_said(float("nan"), self.why)
        if not self.why_noisy:
            return ""
        return tr("without noise {cost}", cost=cost_said(float("nan"), self.why_noisy))


def cost_said(value: float | None, why: str = "", *, unit: bool = True, reason: bool = True) -> str:
    """One Bias Cost as it is said everywhere: a number of percentage points, or not defined and why."""
    return said(value, ".1f", unit=tr(UNIT) if unit else "", why=tr(why), reason=reason)


def resampled_tables(
    tables: ItemTables, unit: np.ndarray, n_units: int, *, seed: int, n_boot: int
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """((counts, exposure) totals, the same resampled over units with n_boot first)."""
    size, n = len(tables.counts), tables.counts.shape[1]
    totals, resampled = [], []
    for part in (tables.counts, tables.item_seen):
        flat = part.reshape(size, n * n)
        totals.append((np.ones(size) @ flat).reshape(n, n))
        if n_units < size:
            flat = sum_by(unit, flat, n_units)
        draws = bootstrap_sums(flat, n_boot=n_boot, seed=seed) if n_units else np.full((n_boot, n * n), np.nan)
        resampled.append(draws.reshape(-1, n, n))
    return (totals[0], totals[1]), (resampled[0], resampled[1])


def bias_costs(
    table: Floats, tables: ItemTables, mine: Units, scores: tuple[int, ...], *, seed: int, confidence: float = 0.95
) -> BiasCost:
    """Costs of the named orderings; ``table``: (scores, positions) shares P(p | s)."""
    n = len(scores)

    def costed(order: tuple[int, ...]) -> Costed:
        return Costed(tuple(scores[s] for s in order), float(costs.bias_cost(table, order)))

    counts, seen = tables.counts, tables.item_seen
    if mine.n < len(counts):
        counts, seen = (sum_by(mine.code, part, mine.n) for part in (counts, seen))
    known = np.isfinite(table).all()
    why = "" if known else NO_CELLS if is_separable(seen.sum(axis=0)) else ONE_PLACE
    clean = costs.cross_fitted_gain(counts if known else counts[:0], seen, confidence=confidence, seed=seed)
    return BiasCost(
        default=costed(costs.canonical(n)),
        cyclic_best=costed(costs.cyclic_best(table).ordering),
        best=costed(costs.best(table).ordering),
        rotations=tuple(costed(order) for order in costs.rotations(n)),
        without_noise=clean,
        why=why,
        why_noisy="" if np.isfinite(clean.gain) else why or _too_few(mine),
    )


def _too_few(mine: Units) -> str:
    least = 3 * MIN_RESAMPLED
    if mine.n < least:
        return tr(
            "{units} are too few to choose an order on some and look at it on others; {least} would do",
            units=many(mine.n, mine.kind),
            least=least,
        )
    return tr("a third of the {n:,} {units} leaves some score without a choice", n=mine.n, units=plural(mine.kind, 2))


def table_warnings(totals: tuple[Floats, Floats]) -> tuple[str, ...]:
    """What a reader of the score x position table must know."""
    counts, exposure = totals
    if not is_separable(exposure):
        return (CONFOUNDED,)
    if np.isnan(position_given_score(counts, exposure)).any():
        return (MISSING_CELLS,)
    return ()
