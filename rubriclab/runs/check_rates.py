"""What the outcomes of many studies come to: rates, their errors, and what is promised of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rubriclab.findings.check import (
    COVERAGE_RANGE,
    LEVEL_RANGE,
    ORDER_TEST,
    PAPERS_TEST,
    Check,
    Quantity,
    Way,
    standing,
)
from rubriclab.stats.inference import Floats

ALPHA = 0.05


def rejects(p: float) -> float:
    return float(p < ALPHA) if np.isfinite(p) else float("nan")


def holds(limits: Floats, true: Floats) -> float:
    """The share of intervals (k, 2) that hold their true values (k,); NaN without any."""
    known = np.isfinite(limits).all(axis=1)
    if not known.any():
        return float("nan")
    inside = (limits[:, 0] - 1e-9 <= true) & (true <= limits[:, 1] + 1e-9)
    return float(inside[known].mean())


@dataclass(frozen=True)
class About:
    judge: str
    way: Way
    n_items: int
    n_options: int
    unread: float

    def check(
        self,
        quantity: Quantity,
        method: str,
        value: float,
        se: float,
        n: int,
        accepted: tuple[float, float] | None,
        *,
        rate: bool = True,
        design: str = "",
    ) -> Check:
        """What ``n`` studies of this setting gave for ``method``, held against what is ``accepted``."""
        setting = (self.judge, self.way, self.n_items, self.n_options, self.unread)
        return Check(
            quantity, method, *setting, n, value, se, accepted, standing(value, se, n, accepted, rate=rate), design
        )


def summary(about: About, outcomes: pd.DataFrame, *, null: bool, leaning: bool = False) -> Iterable[Check]:
    for column in outcomes:
        kind, method = str(column).split("|", 1)
        values = outcomes[column].to_numpy().astype(np.float64)
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        mean = float(values.mean())
        se = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
        yield _check(about, kind, method, mean, se, len(values), null=null, leaning=leaning)


def _check(
    about: About, kind: str, method: str, value: float, se: float, n: int, *, null: bool, leaning: bool
) -> Check:
    """A Check with what is promised of it."""
    quantity: Quantity = "coverage"
    accepted: tuple[float, float] | None = COVERAGE_RANGE
    if kind == "reject":
        # Items that lean are order sensitivity: rejecting it is right, not an error.
        quantity = "type-I error" if null and not (leaning and method == ORDER_TEST) else "power"
        accepted = LEVEL_RANGE if quantity == "type-I error" and method != PAPERS_TEST else None
        if accepted and about.judge == "constant":
            accepted = (0.0, 0.0)
    elif kind == "bias":
        quantity, accepted = "recovery", (-3.0 * se, 3.0 * se)
    if leaning and "log-odds" in method and not null:
        accepted = None
    if about.judge == "constant" and quantity == "coverage":
        accepted = (COVERAGE_RANGE[0], 1.0)
    return about.check(quantity, method, value, se, n, accepted, rate=kind != "bias")
