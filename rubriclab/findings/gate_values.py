"""What a gate holds against its limits: numbers of the findings with bounds at any chance of error.

Every number is the one that findings show of the arm that tells position best; only how sure its
interval is differs, which a gate chooses by how many conditions it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rubriclab.findings.agreement import with_people
from rubriclab.findings.agreement_panels import repeats_of
from rubriclab.findings.agreement_tables import coefficients_of, panel_table
from rubriclab.findings.alignment_arms import available_cases
from rubriclab.findings.arm_tables import ArmTables, arm_tables
from rubriclab.findings.frame import Units, ok_rows, units
from rubriclab.findings.position_arms import PlaceV
from rubriclab.findings.shift import ONE_ORDER, order_reads, readings_apart, same_order
from rubriclab.findings.topic import clarity
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import shift as shift_stat
from rubriclab.stats.human_correlation import FEWEST_UNITS, r_with_humans
from rubriclab.stats.inference import MIN_RESAMPLED, NO_INTERVAL, Floats, Interval, Ints
from rubriclab.stats.proportions import korn_graubard
from rubriclab.stats.shift import MIN_UNITS

DRAWS = 4_000
"""Resampled shares: the bounds of several conditions at once are ends of a few in a thousand."""
NO_RATINGS = msg("no item has both a rating by people and a score")
Ends = Callable[[float, float], Interval]
"""(chance that the truth lies below the first end, above the second) to the two ends."""


@dataclass(frozen=True)
class Measured:
    """A number with its bounds. ``of``: which of several; ``why``: what keeps it, or its bounds, from being known.

    ``exact``: its bounds hold however few units there are.
    """

    estimate: float = float("nan")
    ends: Ends | None = None
    units: int = 0
    unit: str = "item"
    why: str = ""
    of: str = ""
    exact: bool = False


def missing(why: str) -> Measured:
    return Measured(why=tr(why))


def two_ends(interval: Callable[[float], Interval]) -> Ends:
    """The two bounds from a two-sided interval, a function of its confidence."""

    def ends(below: float, above: float) -> Interval:
        return Interval(interval(1.0 - 2.0 * below).low, interval(1.0 - 2.0 * above).high)

    return ends


def ends_of_size(interval: Callable[[float], Interval]) -> Ends:
    """The bounds of a number's size, whatever its sign, from an interval of the number itself.

    Inside a limit by two one-sided tests (Schuirmann 1987), each at ``above``; beyond it on either
    side, each at ``below``.
    """

    def ends(below: float, above: float) -> Interval:
        sure, likely = interval(1.0 - 2.0 * below), interval(1.0 - 2.0 * above)
        if not np.isfinite([*sure, *likely]).all():
            return NO_INTERVAL
        return Interval(max(0.0, sure.low, -sure.high), max(-likely.low, likely.high))

    return ends


# ---------------------------------------------------------------- whom a gate decides on


@dataclass(frozen=True)
class Setting:
    """The arms of one judge that differ in strategy alone, by code, with their judgments."""

    data: RunData
    arms: Mapping[int, pd.DataFrame]

    @property
    def arm(self) -> Arm:
        return self.data.arms[next(iter(self.arms))]

    @cached_property
    def units(self) -> Units:
        return units(self.data.items, self.data.unit)

    def by_clarity(self) -> list[int]:
        """The codes of the arms that have judgments, that which tells position best first."""
        known = [code for code, rows in self.arms.items() if len(rows)]
        return sorted(known, key=lambda code: (clarity(self.data.arms[code]), -len(self.arms[code])))


def settings(data: RunData) -> list[Setting]:
    """Every judge in every setting of a run, on its own scale."""
    rows = {code: judgments for code, _, judgments in data.by_arm()}
    grouped: dict[tuple[object, ...], list[int]] = {}
    for code, arm in enumerate(data.arms):
        key = (arm.judge, arm.dataset, str(arm.variant), arm.axis, arm.scores, arm.n_positions)
        grouped.setdefault(key, []).append(code)
    return [Setting(data, {code: rows[code] for code in codes}) for codes in grouped.values()]


def unread(of: Setting) -> Measured:
    """The share of replies that gave no answer, over all arms, by units (Korn and Graubard 1998).

    Exact where no reply is unread: a judge may be unable to read some items whatever the order.
    """
    rows = pd.concat(list(of.arms.values()))
    if not len(rows):
        return missing(tr("nothing was asked"))
    unit = of.units.code[rows["item"].to_numpy().astype(np.int64)]
    present, code = np.unique(unit, return_inverse=True)
    lost = ~ok_rows(rows)
    if of.arm.axis == "options":
        lost |= ~np.isin(rows["score"].to_numpy(), of.arm.scores)
    top = np.bincount(code, weights=lost).astype(np.float64)
    bottom = np.bincount(code).astype(np.float64)
    share = float(lost.mean())
    ends = two_ends(lambda level: korn_graubard(top, bottom, level=level))
    return Measured(share, ends, len(present), of.units.kind, exact=True)


# ---------------------------------------------------------------- score options


class OptionsValues:
    """The numbers of one judge that gives scores, each worked out when it is asked for."""

    def __init__(self, of: Setting) -> None:
        self.of = of
        self._known: dict[int, ArmTables] = {}

    def values(self) -> Mapping[str, Callable[[], Sequence[Measured]]]:
        """What can be asked of it, by the key of the condition."""
        return {
            "max_v": lambda: [self._v()],
            "max_shift": lambda: [self._shift()],
            "max_flip": lambda: [self._flips()],
            "min_kappa": lambda: [self._kappa("kappa")],
            "min_weighted_kappa": lambda: [self._kappa("kappa_quadratic")],
            "min_r": lambda: [self._r()],
            "min_repeat": lambda: [self._repeats()],
        }

    def _tables(self, code: int) -> ArmTables:
        if code not in self._known:
            data = self.of.data
            self._known[code] = arm_tables(data, code, data.arms[code], self.of.arms[code], self.of.units, "score")
        return self._known[code]

    @cached_property
    def main(self) -> ArmTables | None:
        """The arm that tells position best; one in a single order where there is no other."""
        every = [self._tables(code) for code in self.of.by_clarity()]
        read = [work for work in every if work.rows.ok.any()]
        return next((work for work in read if not work.one_order), read[0] if read else None)

    @cached_property
    def still(self) -> ArmTables | None:
        """The arm that keeps to one order, where there is one: “fixed” before others."""
        every = [self._tables(code) for code in self.of.by_clarity()]
        kept = [work for work in every if work.one_order and work.rows.ok.any()]
        return min(kept, key=lambda work: work.arm.strategy != "fixed", default=None)

    def _v(self) -> Measured:
        work = self.main
        if work is None or work.one_order:
            return missing(ONE_ORDER if work else tr("nothing could be read"))
        of = PlaceV.drawn(work, n_boot=DRAWS)
        if not of.even:
            return missing(tr("not every score stood at every place equally often, so V is not of places"))
        n = work.units.n
        few = many(n, work.units.kind)
        why = "" if of.enough else tr("{units} are too few; {needed} are needed", units=few, needed=MIN_RESAMPLED)
        return Measured(of.value, lambda below, above: of.interval((below, above)), n, work.units.kind, why)

    def _shift(self) -> Measured:
        work = self.main
        if work is None or work.one_order:
            return missing(ONE_ORDER if work else tr("nothing could be read"))
        chosen, expected = order_reads(work)
        reads = chosen if expected is None else expected
        found = shift_stat.ascending(reads)
        if not np.isfinite(found.value):
            return missing(tr("no item was read in two orders"))
        why = _few(found.units, work.units.kind, MIN_UNITS)
        ends = ends_of_size(lambda level: shift_stat.ascending(reads, confidence=level).interval)
        return Measured(found.value, ends, found.units, work.units.kind, why)

    def _flips(self) -> Measured:
        work, still = self.main, self.still
        if work is None or work.one_order:
            return missing(ONE_ORDER if work else tr("nothing could be read"))
        size = len(self.of.data.items)
        repeats = None if still is None else same_order(still, size, nominal=True)
        other, same, source = readings_apart(work.rows, order_reads(work)[0], repeats, nominal=True)
        calls = many(2 * work.rows.n_items, "more call")
        if not source:
            return missing(
                tr("no order was read twice; {calls} would tell: each item twice in one order (“fixed”)", calls=calls)
            )
        gap = other - same
        return _mean(gap, work, lopsided=True)

    def _kappa(self, name: str) -> Measured:
        work = self.main
        if work is None:
            return missing(tr("nothing could be read"))
        table, n = with_people(self.of.data, work.arm, work.rows)
        if table is None:
            return missing(NO_RATINGS if not n else tr("ratings have too many different values for a kappa"))
        found = coefficients_of(table)
        known = found(name)
        ends = two_ends(lambda level: found(name, level).ci)
        return Measured(known.value, ends, n, work.units.kind, tr(known.why))

    def _r(self) -> Measured:
        work, data = self.main, self.of.data
        if work is None:
            return missing(tr("nothing could be read"))
        human = data.items["human"].to_numpy().astype(np.float64)
        case = available_cases(data, work.code, work.arm, self.of.arms[work.code], human, self.of.units.code)
        if not len(case.at):
            return missing(NO_RATINGS)
        r, n = r_with_humans(case.reads), len(np.unique(case.reads.unit))
        if not np.isfinite(r.value):
            return missing(tr("a side does not vary, so a correlation is not defined"))
        return Measured(
            r.value, two_ends(r.r_interval), n, work.units.kind, _few(n, work.units.kind, max(FEWEST_UNITS, MIN_UNITS))
        )

    def _repeats(self) -> Measured:
        for work in (self.still, self.main):
            reads = None if work is None else repeats_of(work.arm, work.rows, self.of.units)
            if work is None or reads is None:
                continue
            table, used = panel_table(reads[0])
            if used.any():
                found, n = coefficients_of(table), len(np.unique(reads[0].unit[used]))
                known = found("exact")
                ends = two_ends(lambda level, found=found: found("exact", level).ci)  # type: ignore[misc]
                return Measured(known.value, ends, n, work.units.kind, tr(known.why))
        items = 0 if self.main is None else self.main.rows.n_items
        return missing(tr("no order was read twice; {more_calls} would tell", more_calls=many(2 * items, "more call")))


def _few(n: int, kind: str, needed: int) -> str:
    if n >= needed:
        return ""
    return tr("{units} are too few for an interval; {needed} are needed", units=many(n, kind), needed=needed)


def _mean(values: Floats, work: ArmTables, *, lopsided: bool) -> Measured:
    """The mean over an arm's items (NaN: none) by units."""
    unit: Ints = work.units.code

    def at(level: float) -> shift_stat.Estimate:
        return shift_stat.excess(values, unit, work.units.n, confidence=level, lopsided=lopsided)

    found = at(0.95)
    if not np.isfinite(found.value):
        return missing(tr("no item has two reads in one order beside reads in two"))
    ends = two_ends(lambda level: at(level).interval)
    return Measured(found.value, ends, found.units, work.units.kind, _few(found.units, work.units.kind, MIN_UNITS))


def each(value: Mapping[str, Callable[[], Sequence[Measured]]], key: str, axis: str) -> Iterator[Measured]:
    """The numbers of a condition; why there is none, where it has no meaning for what is judged."""
    if key not in value:
        yield missing(tr("not defined for {axis}; leave it out", axis=tr(AXIS_WORDS[axis])))
        return
    yield from value[key]()


AXIS_WORDS = {
    "options": msg("score options"),
    "criteria": msg("criteria scored in one call"),
    "pairwise": msg("pairs"),
    "listwise": msg("lists"),
}
