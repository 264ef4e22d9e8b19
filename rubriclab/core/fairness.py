"""Withhold a verdict of fairness where the calls could not have shown an order effect.

A judge that gives one score in all calls has even shares of positions and a mean that no order
changes, because it does not read. A constrained judge always answers with a label, even where it
would not have given one: held to the labels, a model with .016 of its probability on them gave
score 1 in 200 of 200 calls, and every position exactly its share. The *free mass* is that
probability, measured without the constraint (in some calls, since servers mask before they report).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.stats.resample import Ints

LEAST_FREE_MASS = 0.5
"""Median free mass below which no verdict of fairness is given: the constraint cuts away most of
what the judge would have said."""
SURE_FREE_MASS = 0.9
"""Free mass from which on there is no caution: at .93 the constrained answers were the free ones in
200 of 200 calls."""
ONE_SCORE, ONE_TIE = "one_score", "one_tie"
LOW, UNKNOWN = "free_mass_low", "free_mass_unknown"
WITHHELD = (ONE_SCORE, ONE_TIE, LOW, UNKNOWN)
"""Reasons (of ``measures.toml``) for which a question is not answered with No."""


@dataclass(frozen=True)
class FreeMass:
    """The free mass of a constrained judge.

    ``median``: over the ``calls`` for which it is known, NaN for none.
    """

    median: float
    calls: int

    @property
    def reason(self) -> str:
        """Why no verdict of fairness is given; empty where it may be."""
        if not self.calls:
            return UNKNOWN
        return LOW if self.median < LEAST_FREE_MASS else ""


def free_mass(arms: Iterable[Arm]) -> FreeMass | None:
    """Return the free mass of the arms whose replies were constrained; None where no arm's were."""
    constrained = [arm for arm in arms if arm.condition.constrain != "free"]
    if not constrained:
        return None
    mass = np.concatenate([arm.mass for arm in constrained])
    known = mass[np.isfinite(mass)]
    return FreeMass(float(np.median(known)) if len(known) else float("nan"), len(known))


def constraint_reason(arms: Sequence[Arm]) -> str:
    """Return why the arms' constraint allows no verdict of fairness; empty where one is allowed."""
    known = free_mass(arms)
    return known.reason if known is not None else ""


def one_answer(code: Ints, *, choices: bool, tie: int) -> str:
    """Return the reason where all calls gave one and the same answer.

    ``code`` (calls, k): parsed answers, as in ``Answers``. In choices, one candidate may rightly
    win every time, so only ties in all calls are a reason: ``tie`` is their code.
    """
    if not len(code) or (code != code.flat[0]).any():
        return ""
    if not choices:
        return ONE_SCORE
    return ONE_TIE if code.flat[0] == tie else ""
