"""Cells of pairs and lists (candidate x task): rates by task and candidate, win rates, parabolas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rubriclab.findings.frame import compress
from rubriclab.findings.series import ArmSeries, RunCodes
from rubriclab.stats import comparison as stats
from rubriclab.stats.advantage import clustered_mean
from rubriclab.stats.inference import Floats, Interval, Ints
from rubriclab.stats.proportions import clustered_wilson


@dataclass(frozen=True)
class Group:
    """PC, PF and error of the cells of one task or one candidate."""

    name: str
    series: int
    readable: int
    pc: float
    pc_ci: Interval
    pf: float
    pf_ci: Interval
    error: float


@dataclass(frozen=True)
class Cell:
    """One candidate (or set) x task. ``gap`` = largest \\|owr - 1/p\\| of its candidates."""

    candidate: str
    task: str
    series: int
    readable: int
    pc: float
    pf: float
    gap: float
    lengths: Mapping[str, float]


@dataclass(frozen=True)
class Point:
    """A candidate in a cell, for PC and PF against its overall win rate."""

    candidate: str
    task: str
    owr: float
    gap: float
    pc: float
    pf: float


@dataclass(frozen=True)
class WinRate:
    """A candidate's overall win rate over all its series; 1/p where nothing tells."""

    candidate: str
    series: int
    owr: float
    ci: Interval


@dataclass(frozen=True)
class Cells:
    """Cells of an arm: ``of`` each series, their set and task, and counts.

    ``unit``: what the interval resamples, of each series; ``total``: (cells, SUMS + p).
    """

    of: Ints
    set: Ints
    task: Ints
    unit: Ints
    classes: stats.Series
    total: Floats
    n_questions: int


def cells_of(run: RunCodes, series: ArmSeries, p: int) -> Cells:
    joint = series.set * len(run.tasks) + run.task[series.item]
    present, cell = compress(joint, max(len(series.members), 1) * len(run.tasks))
    questions, question = compress(run.question[series.item], int(run.question.max(initial=0)) + 1)
    none = np.zeros(len(cell), dtype=np.int64)
    return Cells(
        of=cell,
        set=present // len(run.tasks),
        task=present % len(run.tasks),
        unit=question,
        classes=series.classes,
        total=stats.cell_sums(series.classes, none, cell, shape=(1, len(present), p))[0],
        n_questions=len(questions),
    )


# ------------------------------------------------------------------ rates with their intervals


@dataclass(frozen=True)
class CellRates:
    """PC, PF and error over some cells of an arm, as the paper defines them, with intervals."""

    pc: float
    pc_ci: Interval
    pf: float
    pf_ci: Interval
    error: float
    error_ci: Interval


def rates_of(cells: Cells, which: Ints, p: int) -> CellRates:
    """Rates over the cells ``which``. Shares: Wilson's interval at the effective number of trials
    of the questions; PF, a mean of differences: see ``clustered_mean``."""
    point = stats.rates(cells.total[which], p=p)
    chosen = np.zeros(len(cells.total), dtype=bool)
    chosen[which] = True
    mine = chosen[cells.of]
    kind, unread, unit = cells.classes.kind[mine], cells.classes.unread[mine], cells.unit[mine]
    readable = kind != stats.UNREADABLE
    return CellRates(
        pc=float(point.pc),
        pc_ci=share_interval(kind == stats.CONSISTENT, readable, unit),
        pf=float(point.pf),
        pf_ci=clustered_mean(fairness_rows(cells, which)[mine], unit)[1],
        error=float(point.error),
        error_ci=share_interval(unread, unread + p * readable, unit),
    )


def fairness_rows(cells: Cells, which: Ints) -> Floats:
    """PF over the cells ``which`` as a mean over their series: its derivative, (series,)."""
    kind, cell, total = cells.classes.kind, cells.of, cells.total
    net = (kind == stats.RECENCY).astype(np.float64) - (kind == stats.PRIMACY)
    own, n = (total[:, 2] / total[:, 3])[cell], total[cell, 3]
    if not len(which):
        return np.zeros(len(net))
    pf = float((total[which, 2] / total[which, 3]).mean())
    return np.asarray(pf + float(total[which, 3].sum()) / len(which) * (net - own) / n)


def share_interval(
    top: Floats | Ints, bottom: Floats | Ints, unit: Ints, *, parted: bool = False, level: float = 0.95
) -> Interval:
    """Wilson's interval of sum ``top`` / sum ``bottom``, rows of one unit kept together.

    ``parted``: one row's ``top`` may be a part of its ``bottom``, as a tie is half a win: such rows
    vary less than coins. Taken for coins, win rates held in 0.99 to 1.00 of studies.
    """
    won, of = (np.bincount(unit, weights=part).astype(np.float64) for part in (top, bottom))
    return clustered_wilson(won, of, balanced=parted, level=level)


def expected_pf(series: ArmSeries, cells: Cells) -> float:
    """PF without any effect of the order: the mean over cells of the series' ``chance``."""
    if len(cells.set) == 0:
        return float("nan")
    chance = np.bincount(cells.of, weights=series.classes.chance, minlength=len(cells.set))
    return float((chance / cells.total[:, 3]).mean())


def common_candidate(members: Ints) -> int | None:
    """The one candidate that is in every set; None where there is none or only one set."""
    if len(members) < 2:
        return None
    common = set(members[0].tolist()).intersection(*(set(row) for row in members[1:].tolist()))
    return common.pop() if len(common) == 1 else None


# ------------------------------------------------------------------ tables of cells


def _group(name: str, cells: Cells, which: Ints, p: int) -> Group:
    total, rates = cells.total[which], rates_of(cells, which, p)
    return Group(
        name=name,
        series=int(total[:, 3].sum()),
        readable=int(total[:, 1].sum()),
        pc=rates.pc,
        pc_ci=rates.pc_ci,
        pf=rates.pf,
        pf_ci=rates.pf_ci,
        error=rates.error,
    )


def task_groups(run: RunCodes, cells: Cells, p: int) -> tuple[Group, ...]:
    return tuple(
        _group(run.tasks[task], cells, np.flatnonzero(cells.task == task), p) for task in np.unique(cells.task).tolist()
    )


def candidate_groups(run: RunCodes, series: ArmSeries, cells: Cells, baseline: int | None, p: int) -> tuple[Group, ...]:
    """One group a candidate; the baseline, which is in every cell, has none."""
    groups = []
    for code in np.unique(series.members[cells.set]).tolist() if len(cells.set) else []:
        if code != baseline:
            inside = (series.members[cells.set] == code).any(axis=1)
            groups.append(_group(run.names[code], cells, np.flatnonzero(inside), p))
    return tuple(groups)


def candidate_rates(run: RunCodes, series: ArmSeries, cells: Cells) -> tuple[WinRate, ...]:
    """Each candidate's overall win rate pooled over all series it was in, best first."""
    rates = []
    classes, p = series.classes, series.members.shape[1]
    readable = classes.kind != stats.UNREADABLE
    shared = (readable & ((classes.winner < 0) | (classes.winner == p))) / p
    for code in np.unique(series.members[cells.set]).tolist() if len(cells.set) else []:
        mine = (series.members[series.set] == code).any(axis=1)
        slot = (series.members[series.set] == code).argmax(axis=1)
        wins = ((classes.winner == slot) + shared)[mine]
        n = int(readable[mine].sum())
        owr = float(wins.sum() / n) if n else float("nan")
        ci = share_interval(wins, readable[mine], cells.unit[mine], parted=True)
        rates.append(WinRate(run.names[code], n, owr, ci))
    return tuple(sorted(rates, key=lambda row: (-np.nan_to_num(row.owr, nan=-1.0), row.candidate)))


def _set_name(run: RunCodes, members: Ints, baseline: int | None) -> str:
    """The other candidate of a pair with a baseline, else every name of the set."""
    codes = members.tolist()
    if baseline is not None and len(codes) == 2:
        codes = [code for code in codes if code != baseline]
    return " | ".join(run.names[code] for code in codes)


def cell_rows(run: RunCodes, series: ArmSeries, cells: Cells, baseline: int | None, p: int) -> tuple[Cell, ...]:
    pc, pf = stats.cell_rates(cells.total)
    gap = np.abs(stats.overall_win_rate(cells.total) - 1.0 / p)
    gaps = gap.max(axis=1) if len(gap) else np.empty(0)
    n = np.bincount(cells.of, minlength=len(cells.set))
    lengths = {
        name: np.bincount(cells.of, weights=values[series.item], minlength=len(cells.set)) / n
        for name, values in run.lengths.items()
    }
    return tuple(
        Cell(
            candidate=_set_name(run, series.members[cells.set[i]], baseline),
            task=run.tasks[cells.task[i]],
            series=int(cells.total[i, 3]),
            readable=int(cells.total[i, 1]),
            pc=float(pc[i]),
            pf=float(pf[i]),
            gap=float(gaps[i]),
            lengths={name: float(values[i]) for name, values in lengths.items()},
        )
        for i in range(len(cells.set))
    )


def against_win_rate(
    run: RunCodes, series: ArmSeries, cells: Cells, baseline: int | None, p: int, *, seed: int
) -> tuple[tuple[Point, ...], stats.Parabola, stats.Parabola]:
    """PC and PF of each cell against the overall win rate of its candidate, with parabolas.

    A pair gives one point (its candidate against the baseline, else the first by name); a
    list gives one for each of its candidates.
    """
    members = series.members[cells.set] if len(cells.set) else np.empty((0, p), dtype=np.int64)
    if p > 2:
        cell, column = np.repeat(np.arange(len(members)), p), np.tile(np.arange(p), len(members))
    else:
        cell = np.arange(len(members))
        column = np.zeros(len(members), dtype=np.int64)
        if baseline is not None:
            column = (members[:, 0] == baseline).astype(np.int64)
    owr = stats.overall_win_rate(cells.total)[cell, column]
    pc, pf = stats.cell_rates(cells.total)
    points = tuple(
        Point(
            candidate=run.names[members[i, j]],
            task=run.tasks[cells.task[i]],
            owr=float(owr[k]),
            gap=float(abs(owr[k] - 1.0 / p)),
            pc=float(pc[i]),
            pf=float(pf[i]),
        )
        for k, (i, j) in enumerate(zip(cell.tolist(), column.tolist(), strict=True))
    )
    at = stats.Point(
        cell, column, *(compress(part, int(part.max(initial=0)) + 1)[1] for part in (cells.set, cells.task))
    )
    fits = []
    for y in (pc, pf):
        fit = stats.parabola(owr, y[cell], centre=1.0 / p)
        if np.isfinite(fit.curvature):
            x, dealt_pc, dealt = stats.unrelated(cells.total, y, at, p=p, seed=seed)
            fit = stats.against_chance(fit, x, dealt_pc if y is pc else dealt)
        fits.append(fit)
    return points, fits[0], fits[1]
