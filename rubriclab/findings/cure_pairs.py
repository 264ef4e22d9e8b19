"""The ways of asking about two candidates: one call, one corrected call, two swapped ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from rubriclab.findings.cure_reads import Order, Reads
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr
from rubriclab.stats.excess import excess
from rubriclab.stats.inference import Floats, Ints

BOTH: tuple[Order, Order] = ((1, 2), (2, 1))
SAME = msg("measured against the same two calls; calls that are repeated would tell more")
_TIE = (
    "swapped-tie",
    msg("Two swapped calls; a disagreement is a tie"),
    msg("the place cancels; what the two calls differ on is left open"),
    2,
    BOTH,
)
_LEAN = (
    "swapped-lean",
    msg("Two swapped calls; a disagreement goes by the chances"),
    msg("the candidate that the two calls together give the greater chance"),
    2,
    BOTH,
)
_FLOOR = 1e-6


@dataclass(frozen=True)
class PairWay:
    """As ``cure_methods.Way``; ``loss``: how far the verdict is from the target's, a tie half way."""

    key: str
    title: str
    why: str
    calls: float
    orders: tuple[Order, ...]
    loss: Floats
    estimate: Floats
    disagree: str | None = None
    correction: Mapping[str, object] | None = None
    allowed: bool = True
    note: str = ""


def pair_ways(reads: Reads, rounds: tuple[Ints, ...]) -> Iterator[PairWay]:
    """Raises LabError where the pairs were not all asked in both orders."""
    if not set(BOTH) <= set(reads.orders):
        raise LabError(
            tr("The pairs were not each asked in both orders in the same calls: use the strategy “balanced”.")
        )
    there, swapped = (np.array([c for c, order in enumerate(reads.orders) if order == way]) for way in BOTH)
    repeats = min(len(there), len(swapped))
    one, two = reads.named[:, there[0]], reads.named[:, swapped[0]]
    fresh = np.concatenate([part[min(repeats - 1, 2) : repeats] for part in (there, swapped)])
    target = _target(reads, fresh)
    note = SAME if repeats == 1 else ""
    way = partial(_way, target)
    yield way("usual", tr("One call, as the pair comes"), tr("what is asked today"), 1, BOTH[:1], one)
    if reads.likely is not None:
        yield _corrected(reads, rounds, int(there[0]), int(swapped[0]), target)
    both = side((one + two) / 2)
    yield way(*_TIE, both, disagree="tie", note=note)
    if reads.likely is not None:
        lean = side((reads.likely[:, there[0]] + reads.likely[:, swapped[0]]) / 2)
        yield way(*_LEAN, np.where(both == 0.5, lean, both), disagree="lean", note=note)
    if repeats > 2:
        thirds = [
            np.where(one == two, both, side((one + two + reads.named[:, part[1]]) / 3)) for part in (there, swapped)
        ]
        yield _third(thirds, target, float((one != two).mean()))


def side(share: Floats) -> Floats:
    """1 for the first candidate, 0 for the second, a half where they are level."""
    return np.where(np.abs(share - 0.5) < 1e-9, 0.5, (share > 0.5).astype(np.float64))


def _target(reads: Reads, columns: Ints) -> Floats:
    """The verdict of calls in both orders that the ways do not use, where there are any."""
    return side((reads.named if reads.likely is None else reads.likely)[:, columns].mean(axis=1))


def _way(
    target: Floats,
    key: str,
    title: str,
    why: str,
    calls: float,
    orders: tuple[Order, ...],
    verdict: Floats,
    *,
    disagree: str | None = None,
    note: str = "",
) -> PairWay:
    loss = np.abs(verdict - target)
    return PairWay(key, tr(title), tr(why), calls, orders, loss, verdict, disagree=disagree, note=tr(note))


def _third(thirds: list[Floats], target: Floats, share: float) -> PairWay:
    loss = np.mean([np.abs(verdict - target) for verdict in thirds], axis=0)
    return PairWay(
        "swapped-third",
        tr("Two swapped calls; a third settles a disagreement"),
        tr("{share:.0f} % of the pairs took a third call, its order drawn by the text", share=100 * share),
        2 + share,
        BOTH,
        loss,
        np.mean(thirds, axis=0),
        disagree="third",
    )


def _corrected(reads: Reads, rounds: tuple[Ints, ...], there: int, swapped: int, target: Floats) -> PairWay:
    """One call with the prior of the places divided out, learnt on the other folds."""
    assert reads.likely is not None
    logits = special.logit(np.clip(reads.likely[:, [there, swapped]], _FLOOR, 1 - _FLOOR))
    pull = (logits[:, 0] - logits[:, 1]) / 2
    verdicts = []
    for fold in rounds:
        learnt = np.empty(len(pull))
        for k in np.unique(fold):
            learnt[fold == k] = pull[fold != k].mean()
        verdicts.append(side(special.expit(logits[:, 0] - learnt)))
    loss = np.mean([np.abs(verdict - target) for verdict in verdicts], axis=0)
    plain = np.abs(reads.named[:, there] - target)
    helps = excess(loss - plain, reads.unit, alpha=0.05).bound < 0
    first = float(special.expit(pull.mean()))
    return PairWay(
        "corrected",
        tr("One call corrected for its places"),
        tr("the judge's prior of the first place, learnt from the run, is divided out of one call"),
        1,
        BOTH[:1],
        loss,
        np.mean(verdicts, axis=0),
        correction={"prior": [first, 1 - first], "line": None},
        allowed=helps,
        note="" if helps else tr("not shown to be nearer than the plain call"),
    )
