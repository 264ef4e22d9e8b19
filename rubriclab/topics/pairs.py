"""Pairs and lists: does the position decide who wins (Shi et al.: PC, PF, RS, error; and against a gold winner)?

PC, PF and what is made of them count series: a comparison in every rotation of its candidates, one call each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import multimode
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.arm import TIE, Arm
from rubriclab.core.estimate import Estimate, missing, plain, ratio, share
from rubriclab.core.intervals import Reach
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats import comparison as stats
from rubriclab.stats.resample import Bools, Floats, Ints, distinct, sum_by
from rubriclab.stats.tests import holm
from rubriclab.topics.shift import single_scores

CHARTS = (Chart("bars", "position_share", by="position"), Chart("forest", "win_rate", by="candidate"))
MOST_CELLS = 600
"""More candidates, or cells of candidates and tasks, are not told one by one."""


@topic("pairs", axes={"pairs", "lists"}, charts=CHARTS)
def pairs(arm: Arm) -> Iterator[Row]:
    made = Compared(arm)
    yield from rates(made)
    yield from classes(made)
    yield from shares(arm)
    yield first_advantage(made)
    yield from stability(arm)
    yield from single_scores(arm, ("choice_change", "choice_repeat_change", "choice_excess"))
    yield from win_rates(made)
    yield from cells(made)
    yield from parabolas(made)
    yield from gold(made)


@dataclass(frozen=True, eq=False)
class Compared:
    """An arm's calls put together as series, and its series as cells: a set of candidates, or the candidate beside the
    baseline that is in every comparison, under a task."""

    arm: Arm

    @property
    def p(self) -> int:
        return self.arm.positions

    @cached_property
    def calls(self) -> Ints:
        """(series, p): the row of the call in which the j-th candidate of a circle stood first; repeats in turn."""
        arm = self.arm
        if not len(arm.item) or not (arm.shown[:, 0] >= 0).any():
            return np.zeros((0, max(self.p, 1)), dtype=np.int64)
        lead = arm.shown.argmin(axis=1)
        around = np.take_along_axis(arm.shown, (lead[:, None] + np.arange(self.p)) % self.p, axis=1)
        circle = np.unique(around, axis=0, return_inverse=True)[1].ravel()[arm.order]
        key = arm.item * len(arm.shown) + arm.order
        row = np.lexsort((arm.call, arm.repeat, key))
        again = np.empty(len(key), dtype=np.int64)
        again[row] = np.arange(len(key)) - np.searchsorted(key[row], key[row])
        series = (arm.item * (circle.max() + 1) + circle) * (again.max() + 1) + again
        code = np.unique(series, return_inverse=True)[1]
        table = np.full((code.max() + 1, self.p), -1, dtype=np.int64)
        known = arm.shown[arm.order, 0] >= 0
        table[code[known], ((self.p - lead) % self.p)[arm.order[known]]] = np.flatnonzero(known)
        return table[(table >= 0).all(axis=1)]

    @cached_property
    def series(self) -> stats.Series:
        return stats.classify(self.arm.position[self.calls] + 1)

    @cached_property
    def parsed(self) -> Bools:
        return np.asarray(self.series.kind != stats.LOST)

    @cached_property
    def item(self) -> Ints:
        """(series,)"""
        return self.arm.item[self.calls[:, 0]]

    @cached_property
    def winner(self) -> Ints:
        """(series,): the candidate that won every order, by the rank of its name; p for a tie in all, -1 for neither."""
        winner, first = self.series.winner, self.arm.order[self.calls[:, 0]]
        won = self.arm.shown[first, np.clip(winner, 0, self.p - 1)]
        return np.where((winner >= 0) & (winner < self.p), won, winner)

    @cached_property
    def _sets(self) -> tuple[Ints, list[tuple[str, ...]]]:
        """((items,) set of candidates, names of each set, sorted)."""
        names = self.arm.run.items["candidate"].iloc[self.arm.item_code]
        ranks = "|".join(str(k + 1) for k in range(self.p))
        code, sets = pd.factorize(names.where(names.notna(), ranks).astype(str), sort=True)
        return code.astype(np.int64), [tuple(name.split("|")) for name in sets]

    @property
    def sets(self) -> list[tuple[str, ...]]:
        return self._sets[1]

    @cached_property
    def set(self) -> Ints:
        """(series,)"""
        return self._sets[0][self.item]

    @cached_property
    def baseline(self) -> str | None:
        """The one candidate in every set; None where there is none, or one set only."""
        common = set(self.sets[0]).intersection(*self.sets) if len(self.sets) > 1 else set()
        return common.pop() if len(common) == 1 else None

    def set_name(self, code: int) -> str:
        """The candidate beside the baseline, or all of a set."""
        names = self.sets[code]
        return "|".join(name for name in names if name != self.baseline) if len(names) == 2 else "|".join(names)

    @cached_property
    def tasks(self) -> list[str]:
        return self._tasks[1]

    @cached_property
    def _tasks(self) -> tuple[Ints, list[str]]:
        names = self.arm.run.items["task"].iloc[self.arm.item_code]
        code, tasks = pd.factorize(names.where(names.notna(), "").astype(str), sort=True)
        return code.astype(np.int64), list(tasks)

    @cached_property
    def task(self) -> Ints:
        """(series,)"""
        return self._tasks[0][self.item]

    @cached_property
    def cell(self) -> Ints:
        """(series,): its set of candidates x task, of those that have a series."""
        return distinct(self.set * len(self.tasks) + self.task, len(self.sets) * len(self.tasks))[1]

    @cached_property
    def count(self) -> Floats:
        """(cells,): series."""
        return np.bincount(self.cell).astype(np.float64)

    @cached_property
    def net(self) -> Floats:
        """(series,): 1 recency, -1 primacy."""
        return np.asarray((self.series.kind == stats.RECENCY) * 1.0 - (self.series.kind == stats.PRIMACY) * 1.0)

    def by_unit(self, which: Bools, *columns: Any) -> tuple[Any, ...]:
        """Sums over the series ``which`` by unit, of those that have one: (columns..., names)."""
        unit, code = distinct(self.arm.unit[self.item[which]], self.arm.units)
        return (*(sum_by(code, column[which], len(unit)) for column in columns), self.arm.unit_names[unit])

    def pc(self, which: Bools) -> Estimate:
        """Consistent series among those parsed in every order."""
        return share(*self.by_unit(which & self.parsed, self.series.kind == stats.CONSISTENT, self.parsed))

    def pf(self, which: Bools) -> Estimate:
        """Mean over cells of (recency - primacy) / series, those that were not parsed included (Shi et al.'s formula)."""
        if not which.any():
            return missing("nothing_parsed")
        weight = 1.0 / self.count[self.cell] / len(np.unique(self.cell[which]))
        own = (np.bincount(self.cell, self.net) / self.count)[self.cell]
        top, expected, unit = self.by_unit(which, self.net * weight, own * weight)
        moves = top * len(unit)
        return Estimate(float(top.sum()), moves - expected * len(unit), unit, _signed(moves))


def _signed(moves: Floats) -> Reach:
    return Reach(1.0, moves, least=-1.0, most=1.0)


def rates(made: Compared) -> Iterator[Row]:
    """PC, PF and error with the paper's spreads over cells; PF with the exact sign test of its inconsistent series."""
    every, series = np.ones(len(made.item), dtype=bool), made.series
    counts = {"n": int(made.parsed.sum()), "series": len(made.item)}
    why = "nothing_parsed" if len(made.item) else "no_two_orders"
    if not counts["n"]:
        for measure in ("pc", "pc_sd", "pf", "pf_sd"):
            yield Row(measure, missing(why), counts=counts)
    else:
        yield Row("pc", made.pc(every), counts=counts)
        p = stats.sign_flip_p(made.by_unit(every, stats.nets(series, made.p))[0].round().astype(np.int64))
        yield Row("pf", made.pf(every), test=("exact sign test over inconsistent series, by unit", p), counts=counts)
        consistent, parsed = (np.bincount(made.cell, part) for part in (series.kind == stats.CONSISTENT, made.parsed))
        # In the paper's spread a cell of which nothing was parsed counts as 0.
        yield Row("pc_sd", plain(float((consistent / np.maximum(parsed, 1)).std()), "as_in_paper"), counts=counts)
        yield Row(
            "pf_sd", plain(float((np.bincount(made.cell, made.net) / made.count).std()), "as_in_paper"), counts=counts
        )
    lost = series.lost.astype(np.float64)
    estimate = share(*made.by_unit(every, lost, lost + made.p * made.parsed)) if len(made.item) else missing(why)
    yield Row("error_rate", estimate, counts={"n": int((lost + made.p * made.parsed).sum())})


def classes(made: Compared) -> Iterator[Row]:
    """Share of each class among all series."""
    every = np.ones(len(made.item), dtype=bool)
    for kind, name in enumerate(stats.CLASSES):
        if name != "neutral" or made.p > 2:
            estimate = share(*made.by_unit(every, made.series.kind == kind, every), balanced=True)
            yield Row("class_share", estimate, {"class": name}, counts={"n": len(every)})


def shares(arm: Arm) -> Iterator[Row]:
    """Share of each position among all parsed choices; a tie is 1/p of each."""
    tied = arm.by_unit(sum_by(arm.item, arm.ok & (arm.position == TIE), arm.items))
    chosen = arm.by_unit(arm.counts.sum(axis=1)) + tied[:, None] / arm.positions
    calls = chosen.sum(axis=1)
    for p in range(arm.positions):
        estimate = share(chosen[:, p], calls, arm.unit_names, balanced=True)
        yield Row("position_share", estimate, {"position": p + 1}, counts={"n": round(float(calls.sum()))})


def first_advantage(made: Compared) -> Row:
    """Wins of the first position less wins of the last: what the candidates are worth cancels over a series.

    Where every comparison was asked in one order, drawn at random, it cancels over comparisons.
    """
    arm = made.arm
    won = (arm.position == 0) * 1.0 - (arm.position == arm.positions - 1)
    if made.parsed.any():
        values = won[made.calls].mean(axis=1)
        top, bottom, unit = made.by_unit(made.parsed, values, made.parsed)
    elif arm.condition.drawn and arm.ok.any():
        of = arm.unit[arm.item[arm.ok]]
        top, bottom, unit = sum_by(of, won[arm.ok], arm.units), sum_by(of, arm.ok[arm.ok], arm.units), arm.unit_names
    else:
        return Row("first_advantage", missing("no_two_orders" if arm.ok.any() else "nothing_parsed"), counts={"n": 0})
    counts = {"n": int(bottom.sum())}
    return Row("first_advantage", ratio(top, bottom, unit, _signed), counts=counts)


def stability(arm: Arm) -> Iterator[Row]:
    """Repetition stability: of each comparison in one order asked again, the share of its commonest choice."""
    query, code = np.unique(arm.item * len(arm.shown) + arm.order, return_inverse=True)
    again = stats.stability(code, arm.position + 1, len(query), arm.positions)
    known = np.isfinite(again.share)
    if not known.any():
        yield Row("rs", missing("no_repeats"), counts={"n": 0})
        yield Row("rs_sd", missing("no_repeats"), counts={"n": 0})
        return
    unit = arm.unit[(query // len(arm.shown))[known]]
    top, count = sum_by(unit, again.share[known], arm.units), sum_by(unit, known[known], arm.units)
    counts = {"n": int(known.sum())}
    yield Row("rs", share(top, count, arm.unit_names, balanced=True), counts=counts)
    yield Row("rs_sd", plain(float(again.sd[known].mean()), "as_in_paper"), counts=counts)


def _won(made: Compared) -> Floats:
    """(series, p): 1 for the candidate that won every order; 1/p each of a tie or an inconsistent series."""
    shared = made.parsed & ((made.winner < 0) | (made.winner == made.p))
    return np.asarray((made.winner[:, None] == np.arange(made.p)) + shared[:, None] / made.p)


def win_rates(made: Compared) -> Iterator[Row]:
    """Overall win rate of each candidate over its series: (wins in all orders + (ties + inconsistent) / p) / series."""
    code, names = pd.factorize(np.array([name for members in made.sets for name in members], dtype=object), sort=True)
    if not len(made.item) or len(names) > MOST_CELLS:
        return
    won, members = _won(made), code.reshape(len(made.sets), -1)[made.set]
    for k, name in enumerate(names):
        here = members == k
        which = here.any(axis=1) & made.parsed
        if not which.any():
            continue
        wins = (won * here).sum(axis=1)
        estimate = share(*made.by_unit(which, wins, which), balanced=True)
        yield Row("win_rate", estimate, {"candidate": name}, counts={"n": int(which.sum())})


def cells(made: Compared) -> Iterator[Row]:
    """PC and PF by task, by candidate and by both; the sign test of each task's PF = 0, by Holm over tasks."""
    if not made.parsed.any():
        return
    yield from _tasks(made)
    if len(made.count) > MOST_CELLS:
        return
    named = np.array([made.set_name(code) for code in range(len(made.sets))], dtype=object)[made.set]
    candidates = sorted(set(named))
    parts: list[tuple[dict[str, str], Bools]] = []
    if len(candidates) > 1:
        parts = [({"candidate": name}, named == name) for name in candidates]
        if len(made.tasks) > 1:
            parts += [({"task": made.tasks[task], **of}, which & (made.task == task)) for of, which in parts
                      for task in np.unique(made.task[which])]  # fmt: skip
    for of, which in parts:
        counts = {"n": int((which & made.parsed).sum())}
        yield Row("pc_cell", made.pc(which), of, counts=counts)
        yield Row("pf_cell", made.pf(which), of, counts=counts)


def _tasks(made: Compared) -> Iterator[Row]:
    tasks = [task for task in range(len(made.tasks)) if (made.task == task).any()]
    if len(tasks) < 2:
        return
    net = stats.nets(made.series, made.p)
    p = [stats.sign_flip_p(made.by_unit(made.task == task, net)[0].round().astype(np.int64)) for task in tasks]
    for task, own, adjusted in zip(tasks, p, holm(np.array(p)), strict=True):
        which, of = made.task == task, {"task": made.tasks[task]}
        counts = {"n": int((which & made.parsed).sum())}
        yield Row("pc_cell", made.pc(which), of, counts=counts)
        test = ("exact sign test over inconsistent series, by unit", own)
        yield Row("pf_cell", made.pf(which), of, test=test, counts={**counts, "p_holm": float(adjusted)})


def parabolas(made: Compared) -> Iterator[Row]:
    """PC and PF of cells against overall win rates, each cell's quality gap, and the parabola through them.

    A pair is a point by its candidate beside the baseline (else the first by name); of a list each candidate is one.
    """
    if not made.parsed.any():
        return
    set_of, task_of = (np.zeros(len(made.count), dtype=np.int64) for _ in range(2))
    set_of[made.cell], task_of[made.cell] = distinct(made.set, len(made.sets))[1], made.task
    won = sum_by(made.cell, _won(made), len(made.count))
    parsed, consistent, pf = (
        sum_by(made.cell, part, len(won)) for part in (made.parsed, made.series.kind == stats.CONSISTENT, made.net)
    )
    pf /= made.count
    cell, candidate = (part.ravel() for part in np.indices(won.shape))
    if made.p == 2:
        other = np.array([members[0] == made.baseline for members in made.sets])[np.unique(made.set)]
        cell, candidate = np.arange(len(parsed)), other[set_of] * 1
    if len(parsed) <= MOST_CELLS:
        names = [made.set_name(code) for code in np.unique(made.set)]
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = won / parsed[:, None]
        for c in np.flatnonzero(parsed) if len(parsed) > 1 else []:
            of = {"task": made.tasks[task_of[c]], "candidate": names[set_of[c]]}
            counts = {"n": int(parsed[c])}
            gap = float(np.abs(rate[c] - 1 / made.p).max())
            yield Row("quality_gap", plain(gap, "as_in_paper"), of, counts=counts)
            if made.p == 2:
                yield Row("cell_win_rate", plain(float(rate[c, candidate[c]]), "as_in_paper"), of, counts=counts)
    at = stats.Points(cell, candidate, set_of, np.unique(task_of, return_inverse=True)[1])
    for outcome, fit in zip(("PC", "PF"), stats.parabolas(consistent, parsed, won, pf, at), strict=True):
        chance = {"n": fit.n, "low_by_chance": fit.low, "high_by_chance": fit.high}
        for term in ("level", "slope", "curvature"):
            value = getattr(fit, term)
            made_of = plain(value, "least_squares") if np.isfinite(value) else missing("few_win_rates")
            known = term == "curvature" and np.isfinite(fit.p)
            test = ("curvature against cells whose consistency was dealt anew", fit.p) if known else None
            yield Row("parabola", made_of, {"outcome": outcome, "term": term}, test=test, counts=chance)


def gold_winner(arm: Arm) -> Ints:
    """(items,): the winner by rank of name that most raters name; -1 without a rating, at a tie, or no single mode."""
    winner = np.full(arm.items, -1, dtype=np.int64)
    for item, ratings in enumerate(arm.run.items["ratings"].iloc[arm.item_code]):
        votes = multimode(value for value in ratings.values() if pd.notna(value)) if ratings else []
        if len(votes) == 1 and 1 <= votes[0] <= arm.positions:
            winner[item] = int(votes[0]) - 1
    return winner


def gold(made: Compared) -> Iterator[Row]:
    """How often the gold winner is chosen: in all, by its position, by order, and in every order of a series."""
    arm, best = made.arm, gold_winner(made.arm)
    kept = arm.ok & (best[arm.item] >= 0) & (arm.shown[arm.order, 0] >= 0)
    if not kept.any():
        return
    right = kept & (arm.score == best[arm.item])
    at = (arm.shown[arm.order] == best[arm.item][:, None]).argmax(axis=1)

    def row(measure: str, which: Bools, of: dict[str, Any]) -> Row:
        top, count = (sum_by(arm.unit[arm.item], part, arm.units) for part in (right & which, kept & which))
        return Row(measure, share(top, count, arm.unit_names), of, counts={"n": int((kept & which).sum())})

    yield row("accuracy", kept, {})
    for p in range(arm.positions):
        yield row("gold_accuracy", at == p, {"position": p + 1})
    for order in range(len(arm.shown)) if len(arm.shown) <= 2 * arm.positions else []:
        yield row("accuracy", arm.order == order, {"order": arm.order_label(order)})
    known = made.parsed & (best[made.item] >= 0)
    if known.any():
        both = share(*made.by_unit(known, made.winner == best[made.item], known))
        yield Row("accuracy_all_orders", both, counts={"n": int(known.sum())})
