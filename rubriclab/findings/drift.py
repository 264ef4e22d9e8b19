"""Has the judge changed? One judge at two times on the same items in the same orders.

Four questions, one verdict each, all at once in 95 % of comparisons (Bonferroni): the judge's own
level, how far apart it sets texts, what the order does to it, how much it disagrees with itself. With
newer data a fifth: what of a change of the mean scores is the data's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rubriclab.findings.drift_reads import Paired, Reads, arm_of, cautions, item_means, paired, reads_of_setting
from rubriclab.findings.effects import ALPHA, step, too_few_units, unfinished
from rubriclab.findings.frame import units
from rubriclab.findings.plain import plain
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.stats import drift as stat
from rubriclab.stats.drift import Parts, Split, Spread
from rubriclab.stats.inference import Floats, Interval, Ints
from rubriclab.stats.shift import Estimate
from rubriclab.stats.verdict import Effect, Verdict, effect, unknown

MOST_UNREAD = 0.2
"""With a larger share of unread replies at either time nothing is concluded: what is missing may be what changed."""
QUESTIONS = {
    "level": msg("the judge's own level"),
    "spread": msg("spread of its scores"),
    "order": msg("what the order does"),
    "noise": msg("noise: same order twice"),
    "data": msg("the data"),
    "total": msg("the change seen"),
}
Key = Literal["level", "spread", "order", "noise", "data", "total"]
NO_REPEATS = msg("no order was read twice at both times")
ONE_ORDER = msg("every item was read in one order")


@dataclass(frozen=True)
class Answer:
    """One question. ``effect``: with the interval of all questions at once; ``ci``: 95 % by itself."""

    key: Key
    effect: Effect
    ci: Interval

    @property
    def title(self) -> str:
        return tr(QUESTIONS[self.key])


@dataclass(frozen=True)
class Turn:
    """What one contrast of the orders changed by, in points; ``ci_all`` holds at once with all questions."""

    name: str
    change: float
    ci: Interval
    ci_all: Interval


@dataclass(frozen=True)
class Newer:
    """The run on newer data: over how many items and units each mean is, and in how many orders.

    ``means``: of the old data then, of the new data now.
    """

    run: str
    name: str
    items: int
    units: int
    old_items: int
    orders: int
    means: tuple[float, float]


@dataclass(frozen=True)
class Drift:
    """``then``, ``now``: run, name and arm. ``by_choice``: the level by scores named, where token probabilities
    decide. ``means``: (items, 2) order-averaged score then and now, ``item``: their codes in the earlier run.
    ``squared``: the squared change of one read in parts, None where items were read in one order."""

    then: tuple[str, str, Arm]
    now: tuple[str, str, Arm]
    answers: tuple[Answer, ...]
    turns: tuple[Turn, ...]
    spread: Spread | None
    squared: Parts | None
    by_choice: Estimate | None
    newer: Newer | None
    items: int
    cells: int
    orders: int
    unit: str
    units: int
    left_out: int
    changed: int
    unread: tuple[float, float]
    outcome: str
    confidence: float
    smallest: float
    means: Floats
    item: Ints
    warnings: tuple[str, ...]

    def answer(self, key: Key) -> Answer | None:
        return next((one for one in self.answers if one.key == key), None)

    @property
    def verdict(self) -> Verdict:
        """``effect`` where any question about the judge has one; ``equivalent`` where its level is; else undecided."""
        about_judge = [one.effect.verdict for one in self.answers if one.key not in ("data", "total")]
        if "effect" in about_judge:
            return "effect"
        level = self.answer("level")
        return "equivalent" if level is not None and level.effect.verdict == "equivalent" else "undecided"


def drift(
    then: RunData,
    now: RunData,
    *,
    new: RunData | None = None,
    arm: int | None = None,
    arm_now: int | None = None,
    arm_new: int | None = None,
) -> Drift:
    """What changed between two runs that asked about the same items in the same orders.

    ``new``: a run of today's judge on other data. Read by the earlier run's smallest effect and unit. Arms
    by their numbers, where a run has several judges or settings. Raises LabError for runs that cannot be set
    beside each other, with the reason.
    """
    first = reads_of_setting(then, arm_of(then, arm))
    later = reads_of_setting(now, arm_of(now, arm_now, like=first.arm))
    if then.run == now.run and first.arm == later.arm:
        raise LabError(tr("Both times are the same run and judge: there is nothing between them."))
    both = paired(first, later)
    recent = None if new is None else reads_of_setting(new, arm_of(new, arm_new, like=first.arm))
    held = Held(then, now, first, both, with_new=recent is not None)
    answers, turns, spread = about_judge(held)
    newer, split = (None, ()) if recent is None else _newer(held, later, recent)
    return _found(held, later, (*answers, *split), turns, spread, newer)


def _found(
    held: Held,
    later: Reads,
    answers: tuple[Answer, ...],
    turns: tuple[Turn, ...],
    spread: Spread | None,
    newer: Newer | None,
) -> Drift:
    then, now, first, both = held.then, held.now, held.first, held.both
    return Drift(
        then=(then.run, then.name, first.arm),
        now=(now.run, now.name, later.arm),
        answers=answers,
        turns=turns,
        spread=spread,
        squared=stat.parts(both.cells) if held.several else None,
        by_choice=stat.level(paired(first, later, likely=False).cells) if both.likely else None,
        newer=newer,
        items=len(both.item),
        cells=both.n_cells,
        orders=both.orders,
        unit=both.unit,
        units=both.cells.n_units,
        left_out=both.left_out,
        changed=both.changed,
        unread=both.unread,
        outcome=msg("expected score") if both.likely else msg("score named"),
        confidence=held.confidence,
        smallest=held.smallest,
        means=np.column_stack([np.nanmean(both.cells.then, axis=1), np.nanmean(both.cells.now, axis=1)]),
        item=both.item,
        warnings=tuple(cautions(both, first, later)),
    )


# ---------------------------------------------------------------- the questions


@dataclass(frozen=True)
class Held:
    """What every question is held against."""

    then: RunData
    now: RunData
    first: Reads
    both: Paired
    with_new: bool = False

    @property
    def confidence(self) -> float:
        """Of each answer, so that all hold at once (Bonferroni over the questions that can be asked)."""
        repeated = bool(np.isfinite(self.both.cells.gap_then).any())
        return 1.0 - ALPHA / (1 + 2 * self.several + repeated + 2 * self.with_new)

    @property
    def several(self) -> bool:
        return bool(self.both.cells.then.shape[1] > 1)

    @property
    def smallest(self) -> float:
        return self.then.smallest_effect * step(self.first.arm.scores)

    @property
    def unit(self) -> str:
        return "points" if self.first.arm.scores else msg("share of wins")

    @property
    def why(self) -> str:
        """What keeps every question open."""
        if left := unfinished(self.now):
            return left
        most = max(self.both.unread)
        return tr("{share:.0%} of the replies could not be read", share=most) if most > MOST_UNREAD else ""

    def answer(self, key: Key, by_itself: Estimate, at_once: Estimate, why: str = "") -> Answer:
        why = self.why or tr(why) or too_few_units(at_once)
        if not why and not np.isfinite(at_once.interval.low):
            why = tr("no interval could be given")
        shown = effect(
            at_once.value, at_once.interval, self.smallest, unit=self.unit, confidence=self.confidence, why=why
        )
        return Answer(key, shown, by_itself.interval)

    def none(self, key: Key, why: str) -> Answer:
        nothing = unknown(self.smallest, self.why or tr(why), unit=self.unit, confidence=self.confidence)
        return Answer(key, nothing, nothing.interval)


def about_judge(held: Held) -> tuple[tuple[Answer, ...], tuple[Turn, ...], Spread | None]:
    """The four answers about the judge, what each contrast of the orders changed by, and the spread."""
    if not held.several:
        return (_level(held), held.none("spread", ONE_ORDER), held.none("order", ONE_ORDER), _noise(held)), (), None
    spread = stat.spread(held.both.cells, confidence=held.confidence)
    turns, order = _order(held)
    return (_level(held), _spread(held, spread), order, _noise(held)), turns, spread


def _level(held: Held) -> Answer:
    cells = held.both.cells
    return held.answer("level", stat.level(cells), stat.level(cells, confidence=held.confidence))


def _spread(held: Held, at_once: Spread) -> Answer:
    if not np.isfinite(at_once.change.value):
        return held.none("spread", msg("texts do not lie apart beyond noise"))
    return held.answer("spread", stat.spread(held.both.cells).change, at_once.change)


def _noise(held: Held) -> Answer:
    cells = held.both.cells
    if not np.isfinite(cells.gap_then).any():
        return held.none("noise", NO_REPEATS)
    return held.answer("noise", stat.noise(cells), stat.noise(cells, confidence=held.confidence))


def _order(held: Held) -> tuple[tuple[Turn, ...], Answer]:
    """The contrasts, and the one that decides: all of them within the smallest effect, or the clearest one.

    All hold at once with the other questions (Bonferroni over contrasts).
    """
    cells, names = held.both.cells, held.both.names
    level = 1.0 - (1.0 - held.confidence) / len(names)
    single, every = stat.contrasts(cells), stat.contrasts(cells, confidence=level)
    turns = tuple(
        Turn(name, one.value, one.interval, all_.interval) for name, one, all_ in zip(names, single, every, strict=True)
    )
    known = [k for k, one in enumerate(every) if np.isfinite(one.value)]
    if not known:
        return turns, held.none("order", ONE_ORDER)
    clear = [k for k in known if every[k].interval.low > 0 or every[k].interval.high < 0]
    far = [k for k in known if max(map(abs, every[k].interval)) >= held.smallest]
    among = [k for k in clear if k in far] or far or known
    worst = max(among, key=lambda k: np.nan_to_num(abs(every[k].value)))
    return turns, held.answer("order", single[worst], every[worst])


def _newer(held: Held, later: Reads, recent: Reads) -> tuple[Newer, tuple[Answer, ...]]:
    """The mean of new data now less that of the old then: the data's part, and the whole."""
    first = held.first
    shared = frozenset(first.orders) & frozenset(later.orders) & frozenset(recent.orders)
    drawn = len(first.orders) > 2 * len(first.orders[0]) and len(shared) < len(recent.orders)
    if not drawn:
        if not shared:
            raise LabError(
                tr(
                    "“{name}” was asked in none of the orders of “{earlier}”.",
                    name=recent.data.name,
                    earlier=first.data.name,
                )
            )
        first, later, recent = (reads.in_orders(shared) for reads in (first, later, recent))
    likely = first.given and later.given and recent.given
    both = paired(first, later, likely=likely)
    sides = [item_means(reads, likely=likely) for reads in (first, recent)]
    codes: dict[Any, int] = {}
    named = [_unit_names(reads, items) for reads, (_, items) in zip((first, recent), sides, strict=True)]
    named.append(_unit_names(first, both.item))
    old, new, anchors = (np.array([codes.setdefault(n, len(codes)) for n in names], dtype=np.int64) for names in named)
    cells = both.cells._replace(unit=anchors, n_units=len(codes))
    given = ((sides[0][0], old), (sides[1][0], new))
    splits = [stat.split(cells, *given, n_units=len(codes), confidence=c) for c in (0.95, held.confidence)]
    about = Newer(
        run=recent.data.run,
        name=recent.data.name,
        items=len(new),
        units=len(np.unique(new)),
        old_items=len(old),
        orders=0 if drawn else len(shared),
        means=(float(sides[0][0].mean()), float(sides[1][0].mean())),
    )
    why = unfinished(recent.data)
    return about, tuple(_split_answer(held, key, splits, why) for key in ("data", "total"))


def _split_answer(held: Held, key: Literal["data", "total"], splits: Sequence[Split], why: str) -> Answer:
    by_itself, at_once = (getattr(split, key) for split in splits)
    return held.answer(key, by_itself, at_once, why)


def _unit_names(reads: Reads, items: Ints) -> list[tuple[str, ...]]:
    """A name for the unit of each item that is the same in other runs: a prompt's own, or data set and item."""
    found = units(reads.data.items, reads.data.unit)
    frame = reads.data.items.iloc[items]
    if found.kind != "item":
        given = frame[found.kind].fillna(frame["item_id"]).astype(str)
        return [(found.kind, value) for value in given.tolist()]
    return list(
        zip(frame["dataset"].astype(str), frame["item_id"].astype(str), frame["criterion"].astype(str), strict=True)
    )


# ---------------------------------------------------------------- as JSON


def drift_json(found: Drift) -> dict[str, Any]:
    """The whole as plain values, items left out."""

    def side(of: tuple[str, str, Arm]) -> Mapping[str, Any]:
        return {
            "run": of[0],
            "name": of[1],
            "judge": of[2].judge,
            "dataset": of[2].dataset,
            "variant": str(of[2].variant),
        }

    squared = None
    if found.squared is not None:
        parts = zip(stat.PARTS, found.squared.value, found.squared.share, found.squared.interval, strict=True)
        squared = {"total": found.squared.total} | {
            name: {"value": value, "share": share, "ci": ci} for name, value, share, ci in parts
        }
    body = {
        "verdict": found.verdict,
        "then": side(found.then),
        "now": side(found.now),
        "answers": {one.key: {**plain(one.effect), "question": one.title, "ci": one.ci} for one in found.answers},
        "order": [plain(turn) for turn in found.turns],
        "spread": found.spread,
        "squared_change": squared,
        "level_by_score_named": found.by_choice,
        "new": found.newer,
    }
    names = ("items", "cells", "orders", "unit", "units", "left_out", "unread", "outcome", "confidence", "smallest")
    rest = {name: getattr(found, name) for name in (*names, "warnings")}
    whole: dict[str, Any] = plain(body | rest)
    return whole
