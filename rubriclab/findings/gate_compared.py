"""What a gate holds against its limits for pairs and lists, and for criteria scored in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from rubriclab.findings.comparison_cells import share_interval
from rubriclab.findings.comparison_effects import changed_choices, identified
from rubriclab.findings.comparison_judge import repeats_alike
from rubriclab.findings.criteria_agreement import Aligned, macro_of
from rubriclab.findings.criteria_order import NO_REPEATS, ONE_PLACE, reads_apart
from rubriclab.findings.criteria_rows import Layout, Rows, arm_rows
from rubriclab.findings.effects import step
from rubriclab.findings.gate_values import NO_RATINGS, Measured, Setting, ends_of_size, missing, two_ends
from rubriclab.findings.series import ArmCalls, RunCodes, arm_series
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import criteria_order as stats
from rubriclab.stats.advantage import FEW_UNITS, PlaceWins, clustered_mean
from rubriclab.stats.human_correlation import r_with_humans
from rubriclab.stats.inference import Floats, Interval, Ints
from rubriclab.stats.shift import MIN_UNITS
from rubriclab.stats.unit_means import intervals, mean_of

NOTHING = msg("nothing could be read")


class ComparedValues:
    """The numbers of one judge of pairs or lists."""

    def __init__(self, of: Setting) -> None:
        self.of = of
        self.run = RunCodes.of(of.data)
        self.arms = [ArmCalls.of(of.data, self.run, code, of.data.arms[code]) for code in of.by_clarity()]

    def values(self) -> Mapping[str, Callable[[], Sequence[Measured]]]:
        """What can be asked of it. Cramér's V of two places is the size of the first one's advantage:

        with shares (1 + a) / 2 and (1 - a) / 2, V = root of 2 ((a / 2)^2 + (a / 2)^2) = |a|.
        """
        asked: dict[str, Callable[[], Sequence[Measured]]] = {
            "max_place": lambda: [self._place()],
            "max_flip": lambda: [self._flips()],
            "min_repeat": lambda: [self._repeats()],
        }
        if self.of.arm.axis == "pairwise":
            asked["max_v"] = lambda: [replace(self._place(), estimate=abs(self._place().estimate))]
        return asked

    @cached_property
    def placed(self) -> tuple[PlaceWins | None, str]:
        """The wins of places in the arm that shows them best, and why they cannot be told."""
        whys = []
        for rows in self.arms:
            soft = rows.soft_wins()
            wins, _, why = identified(self.run, rows, arm_series(self.run, rows), rows.wins() if soft is None else soft)
            if not why:
                return wins, ""
            whys.append(why)
        return None, next(iter(whys), NOTHING)

    def _place(self) -> Measured:
        wins, why = self.placed
        if wins is None:
            return missing(why)
        ends = ends_of_size(lambda level: wins.advantage(level=level)[1])
        return Measured(wins.advantage()[0], ends, wins.units, self.run.unit, _few(wins.units, self.run.unit))

    def _flips(self) -> Measured:
        calls = 0
        for rows in self.arms:
            changed, unit, buys = changed_choices(self.run, rows)
            known = np.isfinite(changed.excess)
            if known.any():
                return _mean_by(changed.excess[known], unit[known], self.run.unit)
            calls = calls or buys
        return _asked_once(calls)

    def _repeats(self) -> Measured:
        for rows in self.arms:
            alike, unit = repeats_alike(self.run, rows)
            if len(alike):
                return _share(alike, unit, self.run.unit)
        return _asked_once(sum(len(rows.position) for rows in self.arms))


def _asked_once(calls: int) -> Measured:
    """Nothing is known of repeats; ``calls`` that would tell, where any was read."""
    if not calls:
        return missing(NOTHING)
    return missing(tr("no order was asked twice; {more_calls} would tell", more_calls=many(calls, "more call")))


def _mean_by(values: Floats, unit: Ints, kind: str) -> Measured:
    n = len(np.unique(unit))

    def interval(level: float) -> Interval:
        return clustered_mean(values, unit, level=level)[1]

    return Measured(float(values.mean()), two_ends(interval), n, kind, _few(n, kind))


def _share(values: Floats, unit: Ints, kind: str) -> Measured:
    n, ones = len(np.unique(unit)), np.ones(len(values))

    def interval(level: float) -> Interval:
        return share_interval(values, ones, unit, level=level)

    return Measured(float(values.mean()), two_ends(interval), n, kind, _few(n, kind))


def _few(n: int, kind: str, needed: int = FEW_UNITS) -> str:
    if n >= needed:
        return ""
    return tr("{units} {units:is|are} too few for an interval; {needed} are needed", units=many(n, kind), needed=needed)


# ---------------------------------------------------------------- criteria


class CriteriaValues:
    """The numbers of one judge that scores all criteria of a text in one call."""

    def __init__(self, of: Setting) -> None:
        self.of = of
        layout = Layout.of(of.data)
        codes = of.by_clarity()
        self.arms = [arm_rows(of.data, layout, code, of.data.arms[code], of.arms[code]) for code in codes]

    def values(self) -> Mapping[str, Callable[[], Sequence[Measured]]]:
        """What can be asked of it, by the key of the condition."""
        return {
            "max_shift": self._shifts,
            "max_flip": lambda: [self._flips()],
            "min_r": lambda: [self._r()],
            "min_repeat": lambda: [self._repeats()],
        }

    @cached_property
    def main(self) -> Rows | None:
        """The arm whose criteria changed places; any other where none has."""
        read = [rows for rows in self.arms if len(rows.value)]
        varied = [rows for rows in read if ((rows.counts.sum(axis=0) > 0).sum(axis=1) > 1).any()]
        return next(iter(varied or read), None)

    def _shifts(self) -> Sequence[Measured]:
        rows = self.main
        if rows is None:
            return [missing(NOTHING)]
        found, least = stats.first_less_last(rows.sums, rows.counts, rows.unit), step(rows.arm.scores)
        n = len(np.unique(rows.unit))

        def of(c: int, name: str) -> Measured:
            value = float(found.estimate[c])
            if not np.isfinite(value):
                return replace(missing(ONE_PLACE), of=name)
            ends = ends_of_size(lambda level: intervals(found, level=level, least=least)[c])
            return Measured(value, ends, n, "text", _few(n, "text", MIN_UNITS), name)

        return [of(c, name) for c, name in enumerate(rows.names)]

    def _apart(self) -> tuple[Rows | None, Floats, Floats]:
        """(the arm, differing reads in other orders, in the same one): shares by text of the run, NaN unknown."""
        rows, data = self.main, self.of.data
        if rows is None:
            return None, np.zeros(0), np.zeros(0)
        every = [reads_apart(data, one, nominal=True) for one in (rows, *self.arms)]
        same = next(
            (apart[:, 1] for apart in every if np.isfinite(apart[:, 1]).any()), np.full(len(data.items), np.nan)
        )
        return rows, every[0][:, 0], same

    def _flips(self) -> Measured:
        rows, other, same = self._apart()
        if rows is None:
            return missing(NOTHING)
        return self._mean(rows, other - same, -1.0)

    def _repeats(self) -> Measured:
        rows, _, same = self._apart()
        if rows is None:
            return missing(NOTHING)
        return self._mean(rows, 1.0 - same, 0.0)

    def _mean(self, rows: Rows, values: Floats, lowest: float) -> Measured:
        """The mean over texts by units, within ``lowest`` and 1."""
        unit = np.full(len(values), -1, dtype=np.int64)
        unit[rows.text_code] = rows.unit
        known = np.isfinite(values) & (unit >= 0)
        if not known.any():
            return missing(NO_REPEATS)
        found = mean_of(values[known][:, None], unit[known])

        def interval(level: float) -> Interval:
            low, high = intervals(found, level=level, least=1.0)[0]
            return Interval(max(low, lowest), min(high, 1.0))

        n = int(found.units[0])
        return Measured(float(found.estimate[0]), two_ends(interval), n, "text", _few(n, "text", MIN_UNITS))

    def _r(self) -> Measured:
        rows = self.main
        if rows is None:
            return missing(NOTHING)
        human = self.of.data.items["human"].to_numpy().astype(np.float64)
        aligned = Aligned.of(rows, human)
        if aligned is None or not np.isfinite(aligned.each).any():
            return missing(NO_RATINGS)
        r, n = macro_of(aligned, r_with_humans), len(np.unique(aligned.text_code))
        return Measured(r.value, two_ends(r.r_interval), n, "text", _few(n, "text", MIN_UNITS))
