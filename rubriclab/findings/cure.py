"""Which way of asking to take along: the cheapest that is not worse than the best by a margin.

Every way of asking the reads of a run hold is measured on items that did not choose it, against the
mean over all orders; how much worse than the best it may be is the user's to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.cure_methods import Way, ways_of
from rubriclab.findings.cure_reads import Order, Reads, reads_of
from rubriclab.findings.effects import step, unfinished
from rubriclab.model import LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats.excess import Excess, excess
from rubriclab.stats.human_correlation import ItemReads, r_with_humans
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval

ALPHA = 0.05
MARGIN_STEPS, MARGIN_SHARE = 0.25, 0.05
"""Where nobody names a margin: a quarter of a step; of pairs one verdict in twenty."""
MIN_UNITS, MOST_LEFT_OUT = 20, 0.2
OF_VERDICTS = msg("of the verdicts")
"""What a margin is in where the choice is between pairs."""
METHOD = msg(
    "Items that were read in every order. Orders are chosen on two fifths of the units and measured "
    "on the others; a correction is learnt on four fifths and measured on the last fifth, in four "
    "rounds. Distance: root mean square of what it adds to the error of the best way; for pairs the "
    "share of verdicts. A way is not worse than the best where the upper end of its one-sided "
    "interval (corrected for skewness after Hall 1992, all ways together at the confidence named: "
    "Bonferroni) lies below the margin. The default is the way of fewest calls among these, the "
    "nearest of equals."
)


@dataclass(frozen=True)
class Measured:
    """One way of asking on held-out items.

    ``distance`` to the best in ``Choice.unit`` with its 95 % interval; ``bound``: its upper end at the
    level of the choice. ``agreement``: Pearson's r with people over ``n_rated`` items. ``allowed``: it
    may be chosen; ``note`` says why not. ``not_worse``: ``bound`` is below the margin.
    """

    key: str
    title: str
    why: str
    calls: float
    orders: tuple[Order, ...]
    draw: int | None
    disagree: str | None
    correction: Mapping[str, object] | None
    distance: float
    distance_ci: Interval
    bound: float
    agreement: float
    agreement_ci: Interval
    n_rated: int
    allowed: bool
    not_worse: bool
    note: str


@dataclass(frozen=True)
class Choice:
    """``best``, ``chosen``: keys of ``ways``. ``why``: what keeps a cheaper one from being chosen."""

    code: int
    ways: tuple[Measured, ...]
    best: str
    chosen: str
    margin: float
    margin_steps: float | None
    unit: str
    confidence: float
    tested: int
    items: int
    units: int
    left_out: int
    not_drawn: int
    target: str
    why: str

    @property
    def sentence(self) -> str:
        """What was chosen, and what it rests on."""
        way = next(way for way in self.ways if way.key == self.chosen)
        if self.chosen == self.best:
            return tr(
                "{title} ({calls:g} calls an item): no cheaper way was shown to be within {margin:g} {unit} of "
                "it{why}.",
                title=way.title,
                calls=way.calls,
                margin=self.margin,
                unit=tr(self.unit),
                why=f": {tr(self.why)}" if self.why else "",
            )
        calls = tr("one call") if way.calls == 1 else tr("{calls:g} calls", calls=way.calls)
        return tr(
            "{title} ({calls} an item): at most {bound:.2f} {unit} from the best way, within the margin of "
            "{margin:g}, on {items}.",
            title=way.title,
            calls=calls,
            bound=way.bound,
            unit=tr(self.unit),
            margin=self.margin,
            items=many(self.items, "item"),
        )


def cure(data: RunData, arm: int, *, margin: float | None = None, seed: int = 0) -> Choice:
    """The ways of asking of an arm's setting, measured, and the one to take.

    ``margin``: how much farther than the best one may be, in score points (of pairs a share of
    verdicts); None for the usual one. Raises LabError for a run that has no several orders, is not
    finished, and for a margin that is no positive number.
    """
    if why := unfinished(data):
        raise LabError(tr("No way of asking is chosen yet: {why}.", why=why))
    reads = reads_of(data, arm, seed=seed)
    pairs = reads.arm.axis == "pairwise"
    size = _margin(reads, margin)
    ways = ways_of(reads, seed=seed)
    n_units = int(reads.unit.max()) + 1
    why = _too_little(reads, n_units)
    best = min(ways, key=lambda way: (float(np.nanmean(way.loss)), way.calls))
    tested = max(1, sum(way.allowed for way in ways if way is not best))
    measured = tuple(_measured(reads, way, best, size, ALPHA / tested, enough=not why) for way in ways)
    passing = [way for way in measured if way.allowed and way.not_worse]
    chosen = min(passing, key=lambda way: (way.calls, way.distance))
    return Choice(
        code=reads.code,
        ways=measured,
        best=best.key,
        chosen=chosen.key,
        margin=size,
        margin_steps=None if pairs else size / step(reads.arm.scores),
        unit=OF_VERDICTS if pairs else "points",
        confidence=1 - ALPHA,
        tested=tested,
        items=len(reads.unit),
        units=n_units,
        left_out=reads.left_out,
        not_drawn=reads.not_drawn,
        target=_target(reads),
        why=why,
    )


def _margin(reads: Reads, margin: float | None) -> float:
    """The margin named, else the usual one; raises LabError for what is no positive number."""
    usual = MARGIN_SHARE if reads.arm.axis == "pairwise" else MARGIN_STEPS * step(reads.arm.scores)
    size = usual if margin is None else margin
    if not (math.isfinite(size) and size > 0):
        raise LabError(
            tr("The margin is {margin!r}; expected a number above 0, as {usual:g}.", margin=margin, usual=usual)
        )
    return size


def _too_little(reads: Reads, units: int) -> str:
    """Why nothing can be shown; empty where it can."""
    if units < MIN_UNITS:
        return _few(units)
    items = len(reads.unit) + reads.left_out
    if reads.left_out > MOST_LEFT_OUT * items:
        return tr(
            "{left_out:,} of {items} had an unread reply, and the others need not be like them",
            left_out=reads.left_out,
            items=many(items, "item"),
        )
    return ""


def _few(units: int) -> str:
    return tr(
        "{units} {units:is|are} too few to say so; {needed} are needed", units=many(units, "unit"), needed=MIN_UNITS
    )


def _measured(reads: Reads, way: Way, best: Way, margin: float, alpha: float, *, enough: bool) -> Measured:
    pairs, note = reads.arm.axis == "pairwise", way.note
    loss = way.loss - best.loss
    seen = np.isfinite(loss)
    unit = np.unique(reads.unit[seen], return_inverse=True)[1].astype(np.int64)
    if enough and int(unit.max()) + 1 < MIN_UNITS:
        enough, note = False, _few(int(unit.max()) + 1)
    more: Excess = excess(loss[seen], unit, alpha=alpha)
    root = _share if pairs else _root
    itself = way is best
    bound = 0.0 if itself else root(more.bound)
    low, high = more.ci
    r, r_ci, rated = _agreement(reads, way.estimate)
    return Measured(
        key=way.key,
        title=way.title,
        why=way.why,
        calls=way.calls,
        orders=way.orders,
        draw=way.draw,
        disagree=way.disagree,
        correction=way.correction,
        distance=root(more.mean),
        distance_ci=Interval(root(low), root(high)) if enough and not itself else NO_INTERVAL,
        bound=bound if enough or itself else float("nan"),
        agreement=r,
        agreement_ci=r_ci,
        n_rated=rated,
        allowed=way.allowed,
        not_worse=itself or (enough and bound < margin),
        note=note,
    )


def _root(squared: float) -> float:
    """A distance in points from its square."""
    return math.sqrt(max(squared, 0.0))


def _share(part: float) -> float:
    return part


def _agreement(reads: Reads, estimate: Floats) -> tuple[float, Interval, int]:
    """Pearson's r with people over the items that they rated."""
    rated = np.isfinite(reads.human) & np.isfinite(estimate)
    if rated.sum() < 3 or reads.arm.axis == "pairwise":
        return float("nan"), NO_INTERVAL, int(rated.sum())
    r = r_with_humans(ItemReads.of(estimate[rated][:, None], reads.human[rated], reads.unit[rated]))
    return r.value, r.r_interval(), int(rated.sum())


def _target(reads: Reads) -> str:
    calls = reads.named.shape[1]
    if reads.arm.axis == "pairwise":
        return (
            tr("the verdict of further calls in both orders")
            if calls > 2
            else tr("the verdict of the two calls themselves")
        )
    what = tr("expected scores") if reads.likely is not None else tr("scores named")
    return tr("the mean over all {calls} reads of an item ({what})", calls=calls, what=what)
