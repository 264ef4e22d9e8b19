"""Two versions of a rubric on the same items: version a less version b, read under the same orders.

Both are runs of one bench. Only reads that both have count, the same item in the same order as often in
both, so a version that is still being asked is set against as much of the other. Once both are finished
the difference is that of any two arms (:mod:`rubriclab.findings.contrast`).

Before, one may look as often as one likes. An order and its reverse are asked of all items before the next
two. While the first pair is under way the mean has a confidence sequence over items
(:mod:`rubriclab.stats.sequential`), which holds at every look at once; from then on the interval changes
only when a pair is complete, so there are no more looks than pairs. Each pair's interval is Student's t over
the units of that moment, and all of one question together err in 2.5 % at most (Bonferroni; group
sequential looks as in Pocock 1977, but with room for any dependence).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from rubriclab.findings import effects
from rubriclab.findings.alignment import alignment
from rubriclab.findings.alignment_arms import ArmAlignment
from rubriclab.findings.contrast import contrast
from rubriclab.findings.contrast_results import Contrast, Delta
from rubriclab.findings.frame import Bools, mixed, ok_rows, units
from rubriclab.findings.matching import item_keys, why_not
from rubriclab.findings.position import position
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.topic import Question
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import tr
from rubriclab.stats.inference import Floats, Ints, ratio, sum_by
from rubriclab.stats.sequential import mean_interval
from rubriclab.stats.shift import mean_over_units
from rubriclab.stats.verdict import Effect, effect, unknown

QUESTIONS = 2
ALPHA = 0.05 / QUESTIONS
"""Of each question of a version that is still being asked: its mean score, and what the order does to it."""
SHARED_OUT = "balanced"
RATED = 3
"""Items that people rated, from which on agreement with them is worked out."""


@dataclass(frozen=True)
class Running:
    """What may be said while a version is being asked, however often one looks. ``score``: difference of mean
    scores over the ``orders`` that were read of ``units`` prompts or items; ``shift``: of what listing
    ascending instead of descending does."""

    score: Effect
    shift: Effect
    orders: int
    units: int


@dataclass(frozen=True)
class VersionDifference:
    """Version a less version b. ``reads``: pairs of reads that it rests on, of ``items`` items;
    ``unread``: pairs of which one could not be read, left out on both sides.

    ``pair``: every difference with its interval; its verdicts are open while one of the two is
    ``unfinished`` (why, in words). ``running``: what may be said until then. ``why_not``: why there is
    no difference.
    """

    pair: Contrast | None
    why_not: str
    reads: int = 0
    unread: int = 0
    items: int = 0
    unfinished: str = ""
    running: Running | None = None

    def of(self, kind: str) -> Delta | None:
        """The first difference of that kind (score, shift, agreement, share, strength)."""
        return next((delta for delta in self.pair.deltas if delta.kind == kind), None) if self.pair else None

    def effect(self, kind: str) -> Effect | None:
        """The verdict on the score or the shift: of a version that is being asked one that holds at every look."""
        if self.running is not None:
            return self.running.score if kind == "score" else self.running.shift
        delta = self.of(kind)
        return delta.effect if delta else None


def version_difference(data: RunData, *, b: RunData, criterion: str | None = None) -> VersionDifference:
    """The run ``data`` less the run ``b``, of one ``criterion`` or of all that both have."""
    try:
        one, two = _side(data, criterion), _side(b, criterion)
    except LabError as fault:
        return VersionDifference(None, str(fault))
    arm = one.arms[one.code]
    if why := why_not(arm, two.arms[two.code]):
        return VersionDifference(None, why)
    both = _paired(one.data, two.data)
    if not len(both.score_a):
        return VersionDifference(None, tr("No item has been read by both in the same order yet."))
    waits = effects.unfinished(data) or effects.unfinished(b)
    made = contrast(_only(one.data, both.rows_a), one.code, _only(two.data, both.rows_b), two.code)
    if waits:
        made = replace(made, deltas=tuple(_left_open(delta, waits) for delta in made.deltas))
    items = len(np.unique(both.item))
    running = _running(one.data, arm, both) if waits else None
    return VersionDifference(made, "", len(both.score_a), both.unread, items, waits, running)


@dataclass(frozen=True)
class VersionAlone:
    """One version by itself: where it picks and what the order moves; ``agreement`` with people where they rated."""

    arm: PositionArm
    agreement: ArmAlignment | None


def version_alone(data: RunData, *, criterion: str | None = None) -> VersionAlone | None:
    """Of one ``criterion`` or of all; None while nothing was answered. Resamples less while a run goes on."""
    rows = data.judgments
    if criterion is not None:
        rows = rows[rows["item"].isin(np.flatnonzero(data.items["criterion"] == criterion))]
    mine = replace(data, judgments=rows, planned=data.planned if data.unanswered else ())
    if not ok_rows(rows).any():
        return None
    found = position(mine, n_boot=200 if data.unanswered else 1000)
    arm = next((arm for arm in found.arms if arm.arm.strategy == SHARED_OUT and arm.n_used), None)
    if arm is None:
        return None
    rated = not data.unanswered and int(data.items["human"].notna().sum()) >= RATED
    agreed = [one for one in alignment(mine).arms if one.code == arm.code] if rated else []
    return VersionAlone(arm, agreed[0] if agreed else None)


VERSIONS = Question("difference of two versions", version_difference)
ALONE = Question("one version by itself", version_alone)


def difference_sentence(found: VersionDifference, a: str, b: str) -> str:
    """What version ``a`` does that ``b`` does not, in a sentence; both are names."""
    score, shift = found.effect("score"), found.effect("shift")
    said = []
    if score is not None and score.verdict == "effect":
        said.append(
            tr("{a} scores {size:.2f} points higher than {b}", a=a, size=score.estimate, b=b)
            if score.estimate > 0
            else tr("{a} scores {size:.2f} points lower than {b}", a=a, size=-score.estimate, b=b)
        )
    if shift is not None and shift.verdict == "effect":
        told = {"a": a, "b": b, "size": abs(shift.estimate)}
        more = (
            tr(
                "in {a} ascending instead of descending order raises the score by {size:.2f} points more than in {b}",
                **told,
            )
            if shift.estimate > 0
            else tr(
                "in {a} ascending instead of descending order raises the score by {size:.2f} points less than in {b}",
                **told,
            )
        )
        said.append(more if said else f"{more[0].upper()}{more[1:]}")
    if said:
        return f"{'; '.join(said)}."
    verdicts = {effect.verdict for effect in (score, shift) if effect is not None}
    if verdicts == {"equivalent"}:
        return tr("{a} and {b} score alike, and the order does the same to both.", a=a, b=b)
    if score is not None and score.verdict == "equivalent":
        return tr("{a} and {b} score alike; whether the order does the same to both is undecided.", a=a, b=b)
    return tr("Undecided whether {a} scores otherwise than {b}.", a=a, b=b)


def _left_open(delta: Delta, why: str) -> Delta:
    return delta if delta.effect is None else replace(delta, effect=replace(delta.effect, verdict="undecided", why=why))


# ---------------------------------------------------------------- reads that both have


class _Side(NamedTuple):
    data: RunData
    code: int

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.data.arms


def _side(data: RunData, criterion: str | None) -> _Side:
    """The judgments of the arm that moves the order, of one criterion. Raises LabError for none."""
    counts = np.bincount(data.judgments["arm"].to_numpy(), minlength=len(data.arms))
    able = [code for code, arm in enumerate(data.arms) if arm.axis == "options" and counts[code]]
    if not able:
        raise LabError(tr("One of the two has no answer yet."))
    code = min(able, key=lambda k: (data.arms[k].strategy != SHARED_OUT, k))
    rows = data.judgments[data.judgments["arm"] == code]
    items = data.items
    if criterion is not None:
        rows = rows[rows["item"].isin(np.flatnonzero(items["criterion"] == criterion))]
        if not len(rows):
            raise LabError(tr("One of the two has no answer about “{criterion}”.", criterion=criterion))
    items = items.assign(wanted=True if criterion is None else (items["criterion"] == criterion).to_numpy())
    if items["criterion"].nunique() == 1:  # renamed, it is still the one that both are about
        items = items.assign(criterion=pd.Categorical([""] * len(items)))
    return _Side(replace(data, judgments=rows.reset_index(drop=True), items=items), code)


@dataclass(frozen=True)
class _Paired:
    """Reads that both have, in step: ``item`` codes of run a, ``order`` codes of its orderings, scores of both.

    ``rows_a``, ``rows_b``: their places among the rows of either. ``asked``: (items, orders of a), pairs
    that both were asked, read or not; of these ``unread`` have an answer of one side that could not be read.
    ``shared``: (items,) items that both are about.
    """

    item: Ints
    order: Ints
    score_a: Floats
    score_b: Floats
    rows_a: Ints
    rows_b: Ints
    asked: Ints
    unread: int
    shared: Bools


def _paired(a: RunData, b: RunData) -> _Paired:
    every_a, every_b = (np.arange(len(data.items), dtype=np.int64) for data in (a, b))
    key_a, key_b, _ = item_keys(a, every_a, b, every_b)
    shown = {ordering.shown: code for code, ordering in enumerate(a.orderings)}
    known = np.array([shown.get(ordering.shown, -1) for ordering in b.orderings], dtype=np.int64)
    first = {ordering.shown: code for code, ordering in reversed(list(enumerate(a.orderings)))}
    same = np.array([first[ordering.shown] for ordering in a.orderings], dtype=np.int64)
    known = np.where(known >= 0, same[known], -1) if len(same) else known
    left, right = _keyed(a, key_a, same), _keyed(b, key_b, known)
    both = left.merge(right[right["order"] >= 0], on=["key", "order", "time"], suffixes=("_a", "_b"))
    asked = np.zeros((len(a.items), len(a.orderings)), dtype=np.int64)
    np.add.at(asked, (both["item_a"].to_numpy(), both["order"].to_numpy()), 1)
    read = both[both["ok_a"] & both["ok_b"]]
    item, order, score_a, score_b, row_a, row_b = (
        read[name].to_numpy() for name in ("item_a", "order", "score_a", "score_b", "row_a", "row_b")
    )
    return _Paired(
        item,
        order,
        score_a,
        score_b,
        row_a,
        row_b,
        asked,
        len(both) - len(read),
        np.isin(key_a, key_b) & a.items["wanted"].to_numpy(),
    )


def _keyed(data: RunData, key: Ints, order: Ints) -> pd.DataFrame:
    """Rows with the item's key, the order's code, and which time it was asked so."""
    rows = data.judgments
    item = rows["item"].to_numpy().astype(np.int64)
    frame = pd.DataFrame(
        {
            "key": key[item],
            "order": order[rows["ordering"].to_numpy()],
            "item": item,
            "score": rows["score"].to_numpy(dtype=np.float64),
            "ok": ok_rows(rows),
            "row": np.arange(len(rows), dtype=np.int64),
        }
    )
    return frame.assign(time=frame.groupby(["key", "order"]).cumcount())


def _only(data: RunData, rows: Ints) -> RunData:
    """These judgments alone, as if nothing else had been planned."""
    return replace(data, judgments=data.judgments.iloc[np.sort(rows)], planned=(), probabilities=None)


# ---------------------------------------------------------------- while it is being asked


@dataclass(frozen=True)
class _Look:
    """What a pair of orders and those before it say. ``values``: of every unit that was asked in all of them,
    in the mixed order of the items, up to the first that waits; ``whole``: none does."""

    values: Floats
    whole: bool


def _running(whole: RunData, arm: Arm, both: _Paired) -> Running:
    """The questions of a version that is being asked, after the newest pair of orders that all were read in."""
    pairs = _pairs(whole, both)
    sesoi, reach = whole.smallest_effect * effects.step(arm.scores), float(arm.scores[-1] - arm.scores[0])
    looks = 1 + max(len(arm.scores), len(pairs))  # balanced orders are a pair for each option
    score = unknown(sesoi, tr("no item has been read in an order and its reverse yet"), confidence=1 - ALPHA)
    orders = counted = 0
    for number in range(len(pairs)):
        seen = _look(whole, both, [order for pair in pairs[: number + 1] for order in pair])
        if not len(seen.values) or (number and not seen.whole):
            break
        orders, counted = 2 * (number + 1), len(seen.values)
        score = _effect(seen, reach, sesoi, ALPHA / looks)
    code = _codes(whole)
    ends = code.get(arm.scores, -1), code.get(arm.scores[::-1], -1)
    turned = (
        _look(whole, both, list(ends), np.array([1.0, -1.0])) if min(ends) >= 0 else _Look(np.empty(0), whole=False)
    )
    shift = unknown(sesoi, tr("no item has been read ascending and descending yet"), confidence=1 - ALPHA)
    if len(turned.values):
        shift = _effect(turned, 2.0 * reach, sesoi, ALPHA / 2)
    return Running(score, shift, orders, counted)


def _effect(seen: _Look, reach: float, sesoi: float, alpha: float) -> Effect:
    """Of units that go on coming in by a confidence sequence, of all of them by Student's t."""
    if not seen.whole:
        ends = mean_interval(seen.values, reach=reach, sesoi=sesoi, alpha=alpha)
        return effect(float(seen.values.mean()), ends, sesoi, confidence=1 - ALPHA)
    ones = np.ones(len(seen.values))
    found = mean_over_units(seen.values, ones, confidence=1 - alpha, step=10.0 * sesoi)
    return effect(found.value, found.interval, sesoi, confidence=1 - ALPHA, why=effects.too_few_units(found))


def _codes(data: RunData) -> dict[tuple[int, ...] | tuple[str, ...], int]:
    """The first code of every order, by what it shows."""
    return {ordering.shown: number for number, ordering in reversed(list(enumerate(data.orderings)))}


def _pairs(data: RunData, both: _Paired) -> list[tuple[int, int]]:
    """Orders with their reverse, as codes, in the order in which they were first asked."""
    code, used = _codes(data), set(np.unique(both.order).tolist())
    found = ((number, code.get(shown[::-1], -1)) for shown, number in code.items())
    return sorted((a, b) for a, b in found if a in used and b in used and a < b)


def _look(whole: RunData, both: _Paired, orders: list[int], weight: Floats | None = None) -> _Look:
    """Of every unit whose items were all asked in all ``orders``: a less b, their mean or weighted sum."""
    size = len(whole.items)
    at = {order: place for place, order in enumerate(orders)}
    place = np.array([at.get(order, -1) for order in both.order.tolist()], dtype=np.int64)
    mine = place >= 0
    cell = both.item[mine] * len(orders) + place[mine]
    total = np.bincount(cell, weights=(both.score_a - both.score_b)[mine], minlength=size * len(orders))
    table = ratio(total, np.bincount(cell, minlength=size * len(orders))).reshape(size, len(orders))
    value = np.asarray(table @ weight) if weight is not None else _mean(table)
    found = units(whole.items, whole.unit)
    waits = both.shared & ~(both.asked[:, orders] > 0).all(axis=1)
    known = np.isfinite(value)
    means = ratio(
        sum_by(found.code, np.where(known, value, 0.0), found.n), np.bincount(found.code[known], minlength=found.n)
    )
    shared = mixed(whole.items)[both.shared[mixed(whole.items)]]
    sequence = list(_whole_units(found.code[shared], set(found.code[waits].tolist())))
    values = means[np.array(sequence, dtype=np.int64)]
    return _Look(np.asarray(values[np.isfinite(values)]), whole=not waits.any())


def _mean(table: Floats) -> Floats:
    """Of each row what is known; NaN where nothing is."""
    known = np.isfinite(table)
    return ratio(np.where(known, table, 0.0).sum(axis=1), known.sum(axis=1))


def _whole_units(order: Ints, waiting: set[int]) -> Iterator[int]:
    """Units in their order, up to the first that waits."""
    for one in dict.fromkeys(order.tolist()):
        if one in waiting:
            return
        yield one
