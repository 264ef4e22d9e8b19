"""Withhold the verdict “equivalent” if the calls could not have shown an order effect.

There are two such judges. The first gives the same score in all calls. Its shares are even and no
order changes its mean, but only because it does not read the answers. The second is a constrained
judge that would mostly not have given a label. One model gave the labels a probability of .016.
With a constraint it gave score 1 in 200 of 200 calls, so that every position had exactly its share.

The *free mass* is the probability of all labels, measured without the constraint. It is known for
some calls only, since servers report probabilities after they have applied the constraint.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.stats.resample import Ints

LEAST_FREE_MASS = 0.5
"""Below this median free mass the verdict is withheld: without the constraint, the judge would
mostly have replied with something else."""
SURE_FREE_MASS = 0.9
"""From this free mass on there is no caution either. At .93, a judge gave the same scores with and
without the constraint in 200 of 200 calls."""
ONE_SCORE, ONE_TIE = "one_score", "one_tie"
LOW, UNKNOWN = "free_mass_low", "free_mass_unknown"
WITHHELD = (ONE_SCORE, ONE_TIE, LOW, UNKNOWN)
"""The reasons for withholding “equivalent”. Their sentences are in ``measures.toml``."""


@dataclass(frozen=True)
class FreeMass:
    """The free mass of a constrained judge.

    median: from 0 to 1, over the calls for which it is known; NaN if there are none.
    calls: the number of these calls.
    """

    median: float
    calls: int

    @property
    def reason(self) -> str:
        """Why “equivalent” is withheld; empty if it is not."""
        if not self.calls:
            return UNKNOWN
        return LOW if self.median < LEAST_FREE_MASS else ""


def free_mass(arms: Iterable[Arm]) -> FreeMass | None:
    """Return the free mass of the arms whose replies were constrained; None if there are none."""
    constrained = [arm for arm in arms if arm.condition.constrain != "free"]
    if not constrained:
        return None
    mass = np.concatenate([arm.mass for arm in constrained])
    known = mass[np.isfinite(mass)]
    return FreeMass(float(np.median(known)) if len(known) else float("nan"), len(known))


def constraint_reason(arms: Sequence[Arm]) -> str:
    """Return why “equivalent” is withheld for a constrained judge; empty if it is not."""
    known = free_mass(arms)
    return known.reason if known is not None else ""


def one_answer(code: Ints, *, choices: bool, tie: int) -> str:
    """Return the reason to withhold “equivalent” if all calls gave the same result, else "".

    ``code`` (calls, k): what was parsed, as codes. In choices one candidate may rightly win every
    time, so only ties in all calls are a reason. ``tie`` is the code of a tie.
    """
    if not len(code) or (code != code.flat[0]).any():
        return ""
    if not choices:
        return ONE_SCORE
    return ONE_TIE if code.flat[0] == tie else ""
