"""Which items are asked again, and how many: chosen once from the earlier run, the same ones every time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.drift_reads import Reads, item_means
from rubriclab.findings.effects import ALPHA, step
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.stats.drift import needed
from rubriclab.stats.inference import Floats, Ints, ratio, sum_by

FEWEST, MOST = 30, 200
"""Anchors that are taken where nobody names a number: at least and at most, where there are so many."""
QUESTIONS = 4
POWER = 0.8


@dataclass(frozen=True)
class AnchorPlan:
    """``needed``: anchors that show an unchanged judge to be the same within ``smallest`` points in POWER of rounds;
    None where no number would do. ``sd``: of an anchor's change where nothing but reading differs, in points;
    ``source``: where it is from. ``available``: what could be asked; ``taken``: how many are."""

    needed: int | None
    sd: float
    source: str
    smallest: float
    available: int
    taken: int

    @property
    def sentence(self) -> str:
        """What so many anchors can say."""
        wanted = tr("more than can be asked") if self.needed is None else number(self.needed, ",")
        text = tr(
            "{taken:,} of {items} {items:is|are} asked again. To show an unchanged judge to be the same to within "
            "{smallest:g} points takes {wanted} ({source}: {sd:.2f} points between two rounds of one item).",
            taken=self.taken,
            items=many(self.available, "item"),
            smallest=self.smallest,
            wanted=wanted,
            source=tr(self.source),
            sd=self.sd,
        )
        if self.needed is None or self.taken < self.needed:
            text += tr(" With fewer, “undecided” is the likely answer for a judge that did not change.")
        return text


def planned(then: Reads, *, available: int, asked: int | None, affordable: int | None) -> AnchorPlan:
    """How many anchors to take: ``asked`` where somebody did, else what is needed (FEWEST to MOST), as far as is ``affordable``."""
    sd, source = _reading_sd(then)
    smallest = then.data.smallest_effect * step(then.arm.scores)
    wanted = needed(sd, smallest, step=step(then.arm.scores), confidence=1.0 - ALPHA / QUESTIONS, power=POWER)
    taken = min(max(MOST if wanted is None else wanted, FEWEST), MOST) if asked is None else asked
    if asked is None and affordable is not None:
        taken = min(taken, affordable)
    return AnchorPlan(wanted, sd, source, smallest, available, min(taken, available))


def _reading_sd(then: Reads) -> tuple[float, str]:
    """(sd of an item's change between two rounds of an unchanged judge, what it is from).

    Of reads repeated in one order; else of reads in different orders, which is rather too large: effects of the
    order are in it and cancel between rounds.
    """
    ok, width = then.ok, len(then.orders)
    value = then.value(then.given)
    item, order, value = then.item[ok], then.order[ok], value[ok]
    known = np.isfinite(value)
    item, order, value = item[known], order[known], value[known]
    orders = len(np.unique(item * width + order)) / max(len(np.unique(item)), 1)
    for group, source in (
        (item * width + order, msg("noise of repeated reads")),
        (item, msg("spread of an item's reads")),
    ):
        variance = _within(group, value)
        if np.isfinite(variance):
            return float(np.sqrt(2.0 * variance / orders)), source
    return step(then.arm.scores), msg("one step of the scale, since no item was read twice")


def _within(group: Ints, value: Floats) -> float:
    """Pooled variance within groups; NaN where none has two reads."""
    code = np.unique(group, return_inverse=True)[1]
    n = int(code.max(initial=-1)) + 1
    count = np.bincount(code, minlength=n).astype(np.float64)
    centred = value - ratio(sum_by(code, value[:, None], n)[:, 0], count)[code]
    free = float((count - 1.0).sum())
    return float(centred @ centred) / free if free > 0 else float("nan")


def scores_of(then: Reads, groups: Sequence[Sequence[int]]) -> Floats:
    """The mean score of each group of items (what one call is about), NaN where none was read."""
    means, items = item_means(then, likely=then.given)
    whole = np.full(len(then.data.items), np.nan)
    whole[items] = means
    parts = [whole[list(group)] for group in groups]
    return np.array([float(np.nanmean(part)) if np.isfinite(part).any() else np.nan for part in parts])


def chosen(scores: Floats, hashes: Sequence[str], n: int) -> Ints:
    """``n`` of the things with a score: every so-many-th of them by score, from a start that their content decides.

    Systematic sampling from an ordered list (Cochran 1977, Sampling Techniques, section 8.2): spread over the
    scores, and each has the same chance, so that the mean change of the anchors is that of all.
    """
    able = np.flatnonzero(np.isfinite(scores))
    ranked = sorted(able.tolist(), key=lambda k: (scores[k], hashes[k]))
    n = min(n, len(ranked))
    joint = hashlib.sha256("".join(sorted(hashes)).encode()).digest()
    start = int.from_bytes(joint[:6], "big") / 2**48
    picked = [ranked[int((k + start) * len(ranked) / n)] for k in range(n)]
    return np.array(sorted(picked), dtype=np.int64)
