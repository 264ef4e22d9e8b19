"""Say whether the position decides who wins a pair or a list.

Source: Shi et al. (PC, PF, RS, error).

PC, PF and what is made of them count series: a comparison in every rotation of its candidates, one
call each.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product

import numpy as np
import pandas as pd

from rubriclab.core.estimate import (
    Estimate,
    Reach,
    missing,
    plain,
    ratio,
    share,
    share_of,
    weighted,
)
from rubriclab.core.judgments import Arm, once
from rubriclab.core.topic import Chart, Row, nothing, topic
from rubriclab.measures.position import shares
from rubriclab.measures.shift import single_scores
from rubriclab.model.judgment import Condition
from rubriclab.stats import pairwise as stats
from rubriclab.stats.resample import Bools, Floats, Ints, distinct, rank_within, sum_by
from rubriclab.stats.tests import holm

CHARTS = (
    Chart("bars", "position_share", by="position"),
    Chart("forest", "win_rate", by="candidate"),
)
MOST_SHOWN = 10
MOST_CELLS = 600
"""With more candidates, or cells of candidates and tasks, none has rows of its own."""


@topic("pairs", axes={"pairs", "lists"}, charts=CHARTS)
def pairs(arm: Arm) -> Iterator[Row]:
    made = compared(arm)
    yield from rates(made)
    yield from shares(arm)
    yield first_advantage(made)
    yield from win_rates_by_position(made)
    yield from stability(arm)
    yield from single_scores(arm, ("choice_change", "choice_repeat_change", "choice_excess"))
    yield from win_rates(made)
    yield from cells(made)
    yield from parabolas(made)


@dataclass(frozen=True, eq=False)
class Compared:
    """An arm's calls as series, and its series as cells.

    A cell is a set of candidates under a task; where a baseline is in every comparison, its other
    candidate under a task.

    ``calls``: (series, p), the row of the call in which the j-th candidate of a circle was first;
    repeats in turn. Of each series, (series,): ``item``; ``unit``; ``parsed`` in every order;
    ``consistent``; ``net``, 1 recency, -1 primacy; ``winner`` of every order by the rank of its
    name, p for a tie in all, -1 for neither; ``won`` (series, p), 1 for that candidate, 1/p each of
    a tie or an inconsistent series; ``set`` and ``task``, indexes into ``sets`` (sorted names) and
    ``tasks``; ``cell``, of those that have a series.
    """

    arm: Arm
    calls: Ints
    series: stats.Series
    item: Ints
    unit: Ints
    parsed: Bools
    consistent: Bools
    net: Floats
    winner: Ints
    won: Floats
    set: Ints
    sets: list[tuple[str, ...]]
    task: Ints
    tasks: list[str]
    cell: Ints

    @property
    def p(self) -> int:
        return self.arm.positions

    @cached_property
    def every(self) -> Bools:
        return np.ones(len(self.item), dtype=bool)

    @cached_property
    def baseline(self) -> str | None:
        """The one candidate in every set; None where there is none, or one set only."""
        common = set(self.sets[0]).intersection(*self.sets) if len(self.sets) > 1 else set()
        return common.pop() if len(common) == 1 else None

    def set_name(self, code: int) -> str:
        """Return the candidate that is compared with the baseline, or all of a set."""
        names = self.sets[code]
        if len(names) == 2:
            names = tuple(name for name in names if name != self.baseline)
        return "|".join(names)

    @cached_property
    def count(self) -> Floats:
        """(cells,): series."""
        return np.bincount(self.cell).astype(np.float64)

    @cached_property
    def first(self) -> Ints:
        """(cells,): a series of each."""
        return np.unique(self.cell, return_index=True)[1]

    def by_cell(self, values: Floats | Bools) -> Floats:
        """Sums of ``values`` (series, ...) by cell."""
        return sum_by(self.cell, values, len(self.count))

    def share(self, hits: Floats | Bools, trials: Bools, *, balanced: bool = False) -> Estimate:
        """The share of the series ``trials`` that are ``hits``."""
        return share_of(hits, trials, self.unit, self.arm.unit_names, balanced=balanced)

    def pc(self, which: Bools) -> Estimate:
        """Consistent series among those parsed in every order."""
        return self.share(self.consistent, which & self.parsed)

    def pf(self, which: Bools) -> Estimate:
        """Return the mean over cells of (recency - primacy) / series, unparsed ones included.

        Source: Shi et al.
        """
        if not which.any():
            return missing("nothing_parsed")
        weight = 1.0 / self.count[self.cell] / len(np.unique(self.cell[which]))
        own = (self.by_cell(self.net) / self.count)[self.cell]
        unit, code = distinct(self.unit[which], self.arm.units)
        parts = (self.net * weight, own * weight, weight)
        top, expected, bottom = (sum_by(code, part[which], len(unit)) for part in parts)
        influence = (top - expected) * len(unit)
        # A unit's own PF, whatever it weighs: units of few series weigh little and are not moved by
        # that.
        return Estimate(
            float(top.sum()), influence, self.arm.unit_names[unit], _signed(top / bottom)
        )

    def sign_p(self, which: Bools) -> float:
        """Return the p of the exact test of PF = 0 over the series ``which``."""
        net = sum_by(self.unit[which], stats.nets(self.series, self.p)[which], self.arm.units)
        return stats.sign_flip_p(net.round().astype(np.int64))


_signed = partial(Reach, 1.0, least=-1.0, most=1.0)
SIGN_TEST = "exact sign test over inconsistent series, by unit"


@once
def compared(arm: Arm) -> Compared:
    calls, p = series_of(arm), arm.positions
    item, series = arm.item[calls[:, 0]], stats.classify(arm.position[calls] + 1)
    parsed, winner = np.asarray(series.kind != stats.LOST), series.winner
    first = arm.shown[arm.order[calls[:, 0]], np.clip(winner, 0, p - 1)]
    winner = np.where((winner >= 0) & (winner < p), first, winner)
    shared = parsed & ((winner < 0) | (winner == p))
    won = (winner[:, None] == np.arange(p)) + shared[:, None] / p

    def named(column: str, default: str) -> tuple[Ints, list[str]]:
        """(code of each series, the names in order)."""
        names = arm.run.items[column].iloc[arm.item_code]
        code, every = pd.factorize(names.where(names.notna(), default).astype(str), sort=True)
        return code.astype(np.int64)[item], list(every)

    candidates, sets = named("candidate", "|".join(str(k + 1) for k in range(p)))
    task, tasks = named("task", "")
    net = (series.kind == stats.RECENCY) * 1.0 - (series.kind == stats.PRIMACY) * 1.0
    return Compared(
        arm,
        calls,
        series,
        item,
        arm.unit[item],
        parsed,
        series.kind == stats.CONSISTENT,
        net,
        winner,
        won,
        candidates,
        [tuple(name.split("|")) for name in sets],
        task,
        tasks,
        distinct(candidates * len(tasks) + task, len(sets) * len(tasks))[1],
    )


def but_judge(about: Condition) -> tuple[object, ...]:
    """Return what conditions share that differ only in their judge and data set."""
    return about.reorder, about.positions, about.strategy, about.variant_key


def series_of(arm: Arm) -> Ints:
    """``Compared.calls``."""
    p = arm.positions
    if not len(arm.item) or not (arm.shown[:, 0] >= 0).any():
        return np.zeros((0, max(p, 1)), dtype=np.int64)
    lead = arm.shown.argmin(axis=1)
    around = np.take_along_axis(arm.shown, (lead[:, None] + np.arange(p)) % p, axis=1)
    circle = np.unique(around, axis=0, return_inverse=True)[1].ravel()[arm.order]
    again = rank_within(arm.item * len(arm.shown) + arm.order, arm.call, arm.repeat)
    series = (arm.item * (circle.max() + 1) + circle) * (again.max() + 1) + again
    code = np.unique(series, return_inverse=True)[1]
    table = np.full((code.max() + 1, p), -1, dtype=np.int64)
    known = arm.shown[arm.order, 0] >= 0
    table[code[known], ((p - lead) % p)[arm.order[known]]] = np.flatnonzero(known)
    return table[(table >= 0).all(axis=1)]


def rates(made: Compared) -> Iterator[Row]:
    """Yield PC, PF and error with the paper's spreads over cells, and the share of each class.

    PF has the exact sign test of its inconsistent series.
    """
    counts = {"n": int(made.parsed.sum()), "series": len(made.item)}
    why = "nothing_parsed" if len(made.item) else "no_two_orders"
    if not counts["n"]:
        yield from nothing(("pc", "pc_sd", "pf", "pf_sd"), why, counts=counts)
    else:
        yield Row("pc", made.pc(made.every), counts=counts)
        yield Row(
            "pf", made.pf(made.every), test=(SIGN_TEST, made.sign_p(made.every)), counts=counts
        )
        # In the paper's spread a cell of which nothing was parsed counts as 0.
        pc = made.by_cell(made.consistent) / np.maximum(made.by_cell(made.parsed), 1)
        for measure, values in (("pc_sd", pc), ("pf_sd", made.by_cell(made.net) / made.count)):
            yield Row(measure, plain(float(values.std()), "as_in_paper"), counts=counts)
    asked = made.series.lost + made.p * made.parsed
    lost, all_asked = (
        sum_by(made.unit, part, made.arm.units) for part in (made.series.lost, asked)
    )
    yield Row(
        "error_rate",
        share(lost, all_asked, made.arm.unit_names, none=why),
        counts={"n": int(asked.sum())},
    )
    for kind, name in enumerate(stats.CLASSES):
        if name != "neutral" or made.p > 2:
            known = len(made.item) > 0
            estimate = (
                made.share(made.series.kind == kind, made.every, balanced=True)
                if known
                else missing(why)
            )
            yield Row("class_share", estimate, {"class": name}, counts={"n": len(made.item)})


def first_advantage(made: Compared) -> Row:
    """Return wins of the first position minus wins of the last.

    What the candidates are worth cancels over a series.

    Where every comparison was asked in one order, drawn at random, it cancels over comparisons: of
    a set of two it is P(a wins | shown first) - P(a wins | shown last).
    """
    arm = made.arm
    won = (
        2.0 * first_wins(arm) - 1.0
        if arm.positions == 2
        else (arm.position == 0) * 1.0 - (arm.position == arm.positions - 1)
    )
    if made.parsed.any():
        values, unit = np.where(made.parsed, won[made.calls].mean(axis=1), np.nan), made.unit
    elif arm.condition.drawn and arm.ok.any():
        values, unit = standardised(arm, np.where(arm.ok, won, np.nan)), arm.unit[arm.item]
    else:
        return Row(
            "first_advantage",
            missing("no_two_orders" if arm.ok.any() else "nothing_parsed"),
            counts={"n": 0},
        )
    known = np.isfinite(values)
    top, bottom = (sum_by(unit[known], part, arm.units) for part in (values[known], known[known]))
    own = top[bottom > 0] / bottom[bottom > 0]  # a unit's own, whatever it weighs
    estimate = ratio(top, bottom, arm.unit_names, lambda _: _signed(own))
    return Row("first_advantage", estimate, counts={"n": int(known.sum())})


def first_wins(arm: Arm) -> Floats:
    """(calls,): what the first of two candidates won.

    The soft preference where there is one, else 1, 0, or 1/2 for a tie.
    """
    hard = np.select([arm.position == 0, arm.position == 1], [1.0, 0.0], 0.5)
    return np.where(np.isfinite(arm.expected), arm.expected, hard)


def sets_of(arm: Arm) -> tuple[Ints, list[list[str]]]:
    """(calls,): an index into the sets of candidates that are compared, each its names in order."""
    code, names = pd.factorize(arm.run.items["candidate"].iloc[arm.item_code].astype(str))
    return code.astype(np.int64)[arm.item], [name.split("|") for name in names]


def standardised(arm: Arm, won: Floats) -> Floats:
    """(calls,): values with the mean and the spread that a mean over two orders has.

    Over a set's calls.

    Direct standardisation to orders shown equally often, linearised; sets that were not shown at
    least twice in either order keep their own values, as do lists.
    """
    table = pd.DataFrame({"set": sets_of(arm)[0], "order": arm.order, "won": won})
    orders = table.groupby(["set", "order"])["won"]
    calls, mean = orders.transform("count"), orders.transform("mean")
    sets = table.assign(part=won / calls.clip(1) / 2.0, fewest=calls).groupby("set")
    whole, level = sets["won"].transform("count"), sets["part"].transform("sum")
    rich = (
        (arm.positions == 2)
        & (sets["order"].transform("nunique") == 2)
        & (sets["fewest"].transform("min") >= 2)
    )
    values = (level + whole / (2.0 * calls.clip(1)) * (won - mean)).where(rich, won)
    return np.asarray(values, dtype=np.float64)


def win_rates_by_position(made: Compared) -> Iterator[Row]:
    """Yield how often a candidate wins where it is first, and where it is second.

    For pairs that were shown in one random order each.
    """
    arm, (code, sets) = made.arm, sets_of(made.arm)
    names = sorted({name for members in sets for name in members})
    if (
        made.parsed.any()
        or not arm.condition.drawn
        or arm.positions != 2
        or len(names) > MOST_SHOWN
    ):
        return
    shown = np.array([[names.index(name) for name in members] for members in sets])[
        code[:, None], arm.shown[arm.order]
    ]
    won = np.stack([first_wins(arm), 1.0 - first_wins(arm)], axis=1)
    for k, position in product(range(len(names)), range(2)):
        trials = arm.ok & (shown[:, position] == k)
        estimate = share_of(won[:, position], trials, arm.unit[arm.item], arm.unit_names)
        of = {"candidate": names[k], "position": position + 1}
        yield Row("win_rate_by_position", estimate, of, counts={"n": int(trials.sum())})


def stability(arm: Arm) -> Iterator[Row]:
    """Yield repetition stability: the share of the commonest choice when an order is repeated."""
    query, code = np.unique(arm.item * len(arm.shown) + arm.order, return_inverse=True)
    again, sd = stats.stability(code, arm.position + 1, len(query), arm.positions)
    known = np.isfinite(again)
    if not known.any():
        yield from nothing(("rs", "rs_sd"), "no_repeats")
        return
    unit, counts = arm.unit[query // len(arm.shown)], {"n": int(known.sum())}
    yield Row("rs", share_of(again, known, unit, arm.unit_names, balanced=True), counts=counts)
    yield Row("rs_sd", plain(float(sd[known].mean()), "as_in_paper"), counts=counts)


def win_rates(made: Compared) -> Iterator[Row]:
    """Yield the overall win rate of each candidate over its series.

    (wins in all orders + (ties + inconsistent) / p) / series.
    """
    code, names = pd.factorize(
        np.array([name for members in made.sets for name in members], dtype=object), sort=True
    )
    if not len(made.item) or len(names) > MOST_CELLS:
        return
    members = code.reshape(len(made.sets), -1)[made.set]
    for k, name in enumerate(names):
        here = members == k
        which = here.any(axis=1) & made.parsed
        if which.any():
            wins = (made.won * here).sum(axis=1)
            first, second = (made.share(wins == end, which) for end in (1.0, 0.0))
            estimate = weighted(1 / made.p, [(1 - 1 / made.p, first), (-1 / made.p, second)])
            yield Row("win_rate", estimate, {"candidate": name}, counts={"n": int(which.sum())})


def cells(made: Compared) -> Iterator[Row]:
    """Yield PC and PF by task, by candidate and by both.

    With the sign test of each task's PF = 0, by Holm over tasks.
    """
    if not made.parsed.any():
        return
    tasks = {
        name: made.task == task for task, name in enumerate(made.tasks) if (made.task == task).any()
    }
    if len(tasks) > 1:
        p = [made.sign_p(which) for which in tasks.values()]
        for (name, which), own, adjusted in zip(tasks.items(), p, holm(np.array(p)), strict=True):
            pc, pf = _cell(made, which, {"task": name})
            yield pc
            yield replace(
                pf, test=(SIGN_TEST, own), counts={**pf.counts, "p_holm": float(adjusted)}
            )
    named = np.array([made.set_name(code) for code in range(len(made.sets))], dtype=object)[
        made.set
    ]
    candidates = (
        {name: named == name for name in sorted(set(named))}
        if len(made.count) <= MOST_CELLS
        else {}
    )
    if len(candidates) > 1:
        for name, which in candidates.items():
            yield from _cell(made, which, {"candidate": name})
        for (name, which), task in product(
            candidates.items(), tasks if len(made.tasks) > 1 else ()
        ):
            if (which & tasks[task]).any():
                yield from _cell(made, which & tasks[task], {"task": task, "candidate": name})


def _cell(made: Compared, which: Bools, of: dict[str, str]) -> tuple[Row, Row]:
    counts = {"n": int((which & made.parsed).sum())}
    return Row("pc_cell", made.pc(which), of, counts=counts), Row(
        "pf_cell", made.pf(which), of, counts=counts
    )


def points_of(made: Compared) -> stats.Cells:
    """Return the cells of one judge, and the points that a parabola goes through.

    A pair is a point by its candidate beside the baseline (else the first by name); of a list each
    candidate is one.
    """
    won, parsed, consistent = (
        made.by_cell(part) for part in (made.won, made.parsed, made.consistent)
    )
    of_cell, task_of = made.set[made.first], made.task[made.first]
    cell, candidate = (part.ravel() for part in np.indices(won.shape))
    if made.p == 2:
        other = np.array([members[0] == made.baseline for members in made.sets])
        cell, candidate = np.arange(len(parsed)), other[of_cell] * 1
    sets, tasks = (np.unique(codes, return_inverse=True)[1] for codes in (of_cell, task_of))
    pf = made.by_cell(made.net) / made.count
    points = stats.Points(cell, candidate, sets, tasks)
    return stats.Cells(consistent, parsed, won, pf, points)


def names_of_cells(made: Compared) -> list[tuple[tuple[str, ...], str]]:
    """Return the candidates and the task of each cell."""
    return [
        (made.sets[each], made.tasks[task])
        for each, task in zip(made.set[made.first], made.task[made.first], strict=True)
    ]


def parabolas(made: Compared) -> Iterator[Row]:
    """Yield PC and PF of cells by win rate, their quality gaps, and the parabola through them."""
    if not made.parsed.any():
        return
    judge = points_of(made)
    parsed, candidate = judge.parsed, judge.points.candidate
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = judge.won / parsed[:, None]
    names = names_of_cells(made)
    of_cell = made.set[made.first]
    for c in np.flatnonzero(parsed) if 1 < len(parsed) <= MOST_CELLS else []:
        of = {"task": names[c][1], "candidate": made.set_name(of_cell[c])}
        counts = {"n": int(parsed[c])}
        yield Row(
            "quality_gap",
            plain(float(np.abs(rate[c] - 1 / made.p).max()), "as_in_paper"),
            of,
            counts=counts,
        )
        if made.p == 2:
            yield Row(
                "cell_win_rate",
                plain(float(rate[c, candidate[c]]), "as_in_paper"),
                of,
                counts=counts,
            )
            continue
        for member, name in enumerate(names[c][0]):
            yield Row(
                "cell_win_rate",
                plain(float(rate[c, member]), "as_in_paper"),
                {**of, "candidate": name, "set": of["candidate"]},
                counts=counts,
            )
    yield from rows_of_parabolas("parabola", stats.parabolas([judge]))


TERMS = ("level", "slope", "curvature")
"""The terms of a parabola, by their power of the win rate."""


def rows_of_parabolas(
    measure: str,
    fits: tuple[stats.Parabola, stats.Parabola],
    *,
    condition: int = -1,
    judges: int = 1,
) -> Iterator[Row]:
    """Yield a row for each term of the parabolas of PC and of PF.

    ``by_chance``: the term's mean if consistency had nothing to do with quality. ``low_by_chance``,
    ``high_by_chance``: the middle 95% of the curvature then.
    """
    for outcome, fit in zip(("PC", "PF"), fits, strict=True):
        for term, by_chance in zip(TERMS, fit.by_chance, strict=True):
            chance = {
                "n": fit.n,
                "judges": judges,
                "low_by_chance": fit.low,
                "high_by_chance": fit.high,
                "by_chance": by_chance,
            }
            known = term == "curvature" and np.isfinite(fit.p)
            test = (
                ("curvature against cells whose consistency was dealt anew", fit.p)
                if known
                else None
            )
            value = plain(getattr(fit, term), "least_squares", "few_win_rates")
            of = {"outcome": outcome, "term": term}
            yield Row(measure, value, of, test, chance, condition=condition)
