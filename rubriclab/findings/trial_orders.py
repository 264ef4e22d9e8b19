"""The orders of a trial's study, and what its reads say by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rubriclab.findings.reads import Read
from rubriclab.findings.trial import Prior, Trial, trial
from rubriclab.model import Arm, Study

CANDIDATES = ("Response 1", "Response 2")
"""The names of two responses that are compared."""


def orders_of(study: Study) -> tuple[tuple[str, ...], ...]:
    """A trial's list of orders, the usual one first, as text; each of them once."""
    strategy = study.design.strategies[0]
    listed = strategy.orderings or (CANDIDATES, CANDIDATES[::-1])
    return tuple(dict.fromkeys(tuple(map(str, order)) for order in listed))


def first_reads(n: int) -> int:
    """How many orders of a trial are the balanced set over n options (2n; for 2 options both)."""
    return min(2 * n, math.factorial(n))


def trial_of(
    study: Study, arms: Sequence[Arm], reads: Sequence[Read], *, priors: Mapping[str, Prior] | None = None
) -> tuple[Trial, ...]:
    """What each judge of a trial's study has said (see :func:`rubriclab.findings.trial.trial`)."""
    orders = orders_of(study)
    return trial(reads, arms, orders=orders, first=first_reads(len(orders[0])), priors=priors)
