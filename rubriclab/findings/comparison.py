"""Pairwise and list-wise runs: consistency, fairness, stability and agreement of judges.

Definitions: method, section 5 (Shi et al., Judging the Judges). Everything that cannot be used
is counted in ``Usable`` and said in ``warnings``.

Cells: a cell is candidate x task. With a fixed baseline (one candidate that is in every
comparison, found in the data) the candidate of a pair is the other one. Otherwise a cell's
candidate is the whole set compared ("a | b"), and tables per candidate pool the cells it is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from rubriclab.findings.frame import compress, status_counts
from rubriclab.model import Arm, Axis, RunData
from rubriclab.stats import comparison as stats
from rubriclab.stats.inference import (
    NO_INTERVAL,
    Floats,
    Interval,
    Ints,
    Test,
    bootstrap_sums,
    holm,
    percentile_interval,
)
from rubriclab.stats.stepwise import Stepwise, stepwise

NO_TASK = "(no task)"
HARDEST = 50
MAJORITY = "majority vote"
_FEW_QUESTIONS = 10
_COUNTABLE = 1 << 25
"""Key ranges up to here are counted (a table of 256 MB at most), larger ones sorted."""


@dataclass(frozen=True)
class Usable:
    """What became of an arm's calls and series (a series: one comparison in its p orders).

    ``series``: complete ones that PC and PF use, in five classes; ``consistent_ties`` are
    among ``consistent``. ``incomplete``: series with ``missing_calls`` orders never made.
    ``extra``: further repeats left to RS because repeats are unequal. ``single_candidate``:
    calls that show fewer than two candidates; ``other_size``: calls of another list length.
    ``queries`` repeat the same order; ``asked_once`` do not; ``unequal_repeats`` have fewer
    repeats than the most repeated one.
    """

    calls: int
    series: int
    consistent: int
    primacy: int
    recency: int
    neutral: int
    unreadable: int
    consistent_ties: int
    tie_calls: int
    unread_calls: int
    incomplete: int
    missing_calls: int
    extra: int
    single_candidate: int
    other_size: int
    queries: int
    asked_once: int
    unequal_repeats: int


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
class Place:
    """Share of decided replies that the candidate at one place won, against ``expected`` 1/p."""

    share: float
    ci: Interval
    expected: float
    test: Test


@dataclass(frozen=True)
class JudgeComparison:
    """One arm's result. +- values are the paper's spreads (method, section 5), not errors.

    ``pc_sd_readable`` leaves out the ``empty_cells`` that the paper's spread counts as PC 0.
    ``choices``: share of all calls per place shown, then ``tie`` and ``unread``. ``pf_p_holm``
    corrects ``pf_test`` over the judges of this view. ``pf_expected`` is the PF that the same
    winners would give if the order did not matter: 0 for pairs, not quite for lists.
    """

    judge: str
    dataset: str
    strategy: str
    variant: str
    axis: Axis
    n_positions: int
    simulated: bool
    n_questions: int
    n_cells: int
    baseline: str | None
    status: Mapping[str, int]
    usable: Usable
    pc: float
    pc_ci: Interval
    pc_sd: float
    pc_sd_readable: float
    empty_cells: int
    pf: float
    pf_ci: Interval
    pf_sd: float
    pf_expected: float
    pf_test: Test
    pf_p_holm: float
    error: float
    error_ci: Interval
    rs: float
    rs_ci: Interval
    rs_sd: float
    first_place: Place
    last_place: Place
    choices: Mapping[str, float]
    by_task: tuple[Group, ...]
    by_candidate: tuple[Group, ...]
    win_rates: tuple[WinRate, ...]
    cells: tuple[Cell, ...]
    points: tuple[Point, ...]
    pc_parabola: stats.Parabola
    pf_parabola: stats.Parabola
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Hard:
    """One call that judges disagree on. ``choices``: judge -> the candidate, tie or unread."""

    item: int
    item_id: str
    prompt: str
    task: str
    shown: tuple[str, ...]
    repeat: int
    disagreement: int
    judges: int
    choices: Mapping[str, str]


@dataclass(frozen=True)
class JudgesTogether:
    """Judges on the same calls of one data set: agreement, disagreement, majority vote.

    ``distribution[d]`` is the share of instances with a disagreement of at most d, over the
    ``n_instances`` that at least two judges could be read on; ``excluded`` are the others.
    ``majority_*``: the judges' modal choice scored like a judge; instances whose lead is
    shared (``no_majority``) count as unreadable.
    """

    dataset: str
    axis: Axis
    strategy: str
    variant: str
    judges: tuple[str, ...]
    with_ties: stats.Agreement
    without_ties: stats.Agreement
    n_instances: int
    excluded: int
    distribution: Floats
    hardest: tuple[Hard, ...]
    no_majority: int
    majority_pc: float
    majority_pc_ci: Interval
    majority_pf: float
    majority_pf_ci: Interval
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonResult:
    """``judges``: one entry an arm; ``together``: one a data set that several judges share."""

    judges: tuple[JudgeComparison, ...]
    together: tuple[JudgesTogether, ...]
    n_tests: int
    warnings: tuple[str, ...] = ()


def comparison(data: RunData, *, seed: int = 0, n_boot: int = 1000) -> ComparisonResult:
    """Every pairwise and list-wise finding of a run; intervals resample questions."""
    run = _Run.of(data)
    picked = [(code, arm) for code, arm in enumerate(data.arms)
              if arm.axis in ("pairwise", "listwise")]  # fmt: skip
    if not picked:
        note = "This run has no pairwise or list-wise arm: there is nothing to compare."
        return ComparisonResult((), (), 0, (note,))
    arms = [_Rows.of(data, run, code, arm) for code, arm in picked]
    results = [_judge(run, rows, seed=seed, n_boot=n_boot) for rows in arms]
    adjusted = holm(np.array([result["pf_test"].p for result in results]))
    judges = tuple(
        JudgeComparison(**result, pf_p_holm=float(p))
        for result, p in zip(results, adjusted, strict=True)
    )
    groups: dict[tuple[Any, ...], list[_Rows]] = {}
    for rows in arms:
        arm = rows.arm
        groups.setdefault((arm.dataset, arm.axis, rows.p, arm.strategy, arm.variant), []).append(
            rows
        )
    together = tuple(
        _together(data, run, members, seed=seed, n_boot=n_boot)
        for members in groups.values()
        if len(members) > 1
    )
    return ComparisonResult(judges, together, len(judges))


# ------------------------------------------------------------------ the run as codes


@dataclass(frozen=True)
class _Run:
    """Codes that all arms share: ``question`` and ``task`` of each item, candidates by ordering.

    ``shown``: (orderings, widest) candidate codes, -1 beyond an ordering's length.
    """

    question: Ints
    task: Ints
    tasks: tuple[str, ...]
    shown: Ints
    size: Ints
    names: tuple[str, ...]
    lengths: Mapping[str, Floats]

    @classmethod
    def of(cls, data: RunData) -> _Run:
        items = data.items
        own = np.arange(len(items), dtype=np.int64)
        prompt = pd.factorize(items["prompt"])[0].astype(np.int64)
        dataset = pd.factorize(items["dataset"])[0].astype(np.int64) if "dataset" in items else 0
        width = int(prompt.max(initial=0)) + 1
        top = (int(np.max(dataset, initial=0)) + 1) * width
        key = np.where(prompt >= 0, dataset * width + prompt, top + own)
        task, task_names = pd.factorize(items["task"])
        names = sorted({str(name) for ordering in data.orderings for name in ordering.shown})
        code = {name: index for index, name in enumerate(names)}
        size = np.array([len(o.shown) for o in data.orderings], dtype=np.int64)
        shown = np.full((len(size), int(size.max(initial=1))), -1, dtype=np.int64)
        for row, ordering in enumerate(data.orderings):
            shown[row, : size[row]] = [code[str(name)] for name in ordering.shown]
        return cls(
            question=np.unique(key, return_inverse=True)[1].astype(np.int64),
            task=np.where(task >= 0, task, len(task_names)).astype(np.int64),
            tasks=(*map(str, task_names), NO_TASK),
            shown=shown,
            size=size,
            names=tuple(names),
            lengths=_lengths(items),
        )


def _lengths(items: pd.DataFrame) -> dict[str, Floats]:
    """Numeric length columns of the items that are known and vary."""
    found = {}
    for column in map(str, items.columns):
        if column.endswith(("_chars", "_length")):
            values = pd.to_numeric(items[column], errors="coerce").to_numpy(dtype=np.float64)
            if np.isfinite(values).any() and np.nanmax(values) > np.nanmin(values):
                found[column] = values
    return found


@dataclass(frozen=True)
class _Rows:
    """One arm's calls as codes, those of another list length left out and counted.

    ``rank``: which of several calls with the same item, ordering and repeat this is.
    """

    arm: Arm
    p: int
    item: Ints
    ordering: Ints
    repeat: Ints
    rank: Ints
    position: Ints
    status: Mapping[str, int]
    single_candidate: int
    other_size: int

    @classmethod
    def of(cls, data: RunData, run: _Run, code: int, arm: Arm) -> _Rows:
        frame = data.judgments[data.judgments["arm"] == code]
        ordering = frame["ordering"].to_numpy().astype(np.int64)
        size = run.size[ordering]
        p = arm.n_positions or int(size.max(initial=2))
        keep = (size == p) & (size > 1)
        item = frame["item"].to_numpy().astype(np.int64)[keep]
        repeat = frame["repeat"].to_numpy().astype(np.int64)[keep]
        position = frame["position"].to_numpy().astype(np.int64)[keep]
        # A place that was not shown is no choice.
        position = np.where(position > p, stats.UNREAD, position)
        key = (item * len(run.size) + ordering[keep]) * (int(repeat.max(initial=0)) + 1) + repeat
        return cls(
            arm=arm,
            p=max(p, 2),
            item=item,
            ordering=ordering[keep],
            repeat=repeat,
            rank=_occurrence(key),
            position=position,
            status=status_counts(frame),
            single_candidate=int((size < 2).sum()),
            other_size=int(((size != p) & (size > 1)).sum()),
        )


def _dense(key: Ints) -> tuple[Ints, Ints]:
    """(the distinct keys ascending, each row's rank among them); counts instead of sorting."""
    top = int(key.max(initial=0)) + 1
    if top <= _COUNTABLE:
        return compress(key, top)
    known, code = np.unique(key, return_inverse=True)
    return known, code.astype(np.int64)


def _occurrence(key: Ints) -> Ints:
    """0, 1, 2, .. over the rows that share a key, in row order."""
    if int(key.max(initial=0)) < _COUNTABLE and np.bincount(key).max(initial=0) <= 1:
        return np.zeros(len(key), dtype=np.int64)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    new = np.ones(len(key), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    if new.all():
        return np.zeros(len(key), dtype=np.int64)
    start = np.maximum.accumulate(np.where(new, np.arange(len(key)), 0))
    out = np.empty(len(key), dtype=np.int64)
    out[order] = np.arange(len(key)) - start
    return out


# ------------------------------------------------------------------ series


@dataclass(frozen=True)
class _Series:
    """An arm's complete series and how they were chosen.

    ``members``: (sets, p) candidate codes of each set, ascending; ``set``: each series' set.
    ``classes.winner`` counts in that order.
    """

    classes: stats.Series
    item: Ints
    set: Ints
    members: Ints
    incomplete: int
    missing_calls: int
    extra: int


def _series(run: _Run, rows: _Rows) -> _Series:
    """Bring the p orders of each comparison together (see ``stats.classify``)."""
    p = rows.p
    used, ordering = compress(rows.ordering, len(run.size))
    shown = run.shown[used, :p]
    # Turned so that the smallest code leads: rotations of one circle become the same row.
    lead = shown.argmin(axis=1) if len(shown) else np.empty(0, dtype=np.int64)
    turned = shown[np.arange(len(shown))[:, None], (lead[:, None] + np.arange(p)) % p]
    circles, circle = np.unique(turned, axis=0, return_inverse=True)
    slot = (p - lead) % p
    members, circle_set = np.unique(np.sort(circles, axis=1), axis=0, return_inverse=True)
    of_circle = circle.ravel()[ordering]
    pair = rows.item * max(len(circles), 1) + of_circle
    depth = int(rows.rank.max(initial=0)) + 1
    again = rows.repeat * depth + rows.rank
    key = pair * (int(again.max(initial=0)) + 1) + again
    keys, series = _dense(key)
    table = np.full((len(keys), p), stats.ABSENT, dtype=np.int64)
    table[series, slot[ordering]] = rows.position
    absent = (table == stats.ABSENT).sum(axis=1)
    whole = np.flatnonzero(absent == 0)
    owner = keys // (int(again.max(initial=0)) + 1)
    kept, extra = _equal_repeats(owner[whole])
    whole = whole[kept]
    item = owner[whole] // max(len(circles), 1)
    at_circle = owner[whole] % max(len(circles), 1)
    classes = stats.classify(table[whole])
    return _Series(
        classes=classes._replace(winner=_in_set_order(classes.winner, circles, at_circle, p)),
        item=item,
        set=circle_set.ravel()[at_circle],
        members=members,
        incomplete=int((absent > 0).sum()),
        missing_calls=int(absent.sum()),
        extra=extra,
    )


def _equal_repeats(owner: Ints) -> tuple[Ints, int]:
    """Which series to use: all where every comparison has as many, else each one's first.

    ``owner`` (sorted) is the comparison of each complete series. Returns (rows kept, series
    left out).
    """
    counts = np.unique(owner, return_counts=True)[1]
    if len(owner) == 0 or counts.min() == counts.max():
        return np.arange(len(owner)), 0
    kept = np.flatnonzero(_occurrence(owner) == 0)
    return kept, len(owner) - len(kept)


def _in_set_order(winner: Ints, circles: Ints, at: Ints, p: int) -> Ints:
    """Winners by circle slot -> by place in the ascending set; ties and "none" stay."""
    if len(circles) == 0:
        return winner
    rank = circles.argsort(axis=1).argsort(axis=1)
    known = (winner >= 0) & (winner < p)
    return np.where(known, rank[at, np.where(known, winner, 0)], winner)


# ------------------------------------------------------------------ one judge


@dataclass(frozen=True)
class _Cells:
    """Cells of an arm: ``of`` series, their set and task, and counts per resampling unit."""

    of: Ints
    set: Ints
    task: Ints
    unit: Ints
    total: Floats
    boot: Floats
    n_questions: int


def _cells(run: _Run, series: _Series, p: int, *, seed: int, n_boot: int) -> _Cells:
    joint = series.set * len(run.tasks) + run.task[series.item]
    present, cell = compress(joint, max(len(series.members), 1) * len(run.tasks))
    questions, question = compress(run.question[series.item], int(run.question.max(initial=0)) + 1)
    n_columns = len(present) * (stats.SUMS + p)
    groups = stats.question_groups(len(questions), n_columns, seed=seed)
    unit = groups[question] if len(question) else question
    n_units = int(groups.max(initial=-1)) + 1
    sums = stats.cell_sums(series.classes, unit, cell, shape=(n_units, len(present), p))
    boot = np.full((n_boot, len(present), stats.SUMS + p), np.nan)
    if n_units > 1:
        boot = stats.resample_cells(sums, n_boot=n_boot, seed=seed)
    return _Cells(
        of=cell,
        set=present // len(run.tasks),
        task=present % len(run.tasks),
        unit=question,
        total=sums.sum(axis=0),
        boot=boot,
        n_questions=len(questions),
    )


def _judge(run: _Run, rows: _Rows, *, seed: int, n_boot: int) -> dict[str, Any]:
    """Everything of ``JudgeComparison`` but the correction over judges."""
    p, arm = rows.p, rows.arm
    series = _series(run, rows)
    cells = _cells(run, series, p, seed=seed, n_boot=n_boot)
    point, boot = stats.rates(cells.total, p=p), stats.rates(cells.boot, p=p)
    pc_sd, pc_sd_readable, pf_sd, empty = stats.cell_spread(cells.total)
    nets = stats.fairness_nets(series.classes, cells.unit, n_questions=cells.n_questions, p=p)
    rs = _stability(run, rows, seed=seed, n_boot=n_boot)
    usable = _usable(rows, series, rs)
    baseline = _baseline(series.members)
    first_place, last_place = _places(series, cells, p, seed=seed, n_boot=n_boot)
    points, pc_parabola, pf_parabola = _against_win_rate(run, series, cells, baseline, p)
    result: dict[str, Any] = {
        "judge": arm.judge,
        "dataset": arm.dataset,
        "strategy": arm.strategy,
        "variant": str(arm.variant),
        "axis": arm.axis,
        "n_positions": p,
        "simulated": arm.simulated,
        "n_questions": cells.n_questions,
        "n_cells": len(cells.set),
        "baseline": None if baseline is None else run.names[baseline],
        "status": rows.status,
        "usable": usable,
        "pc": float(point.pc),
        "pc_ci": percentile_interval(boot.pc),
        "pc_sd": pc_sd,
        "pc_sd_readable": pc_sd_readable,
        "empty_cells": empty,
        "pf": float(point.pf),
        "pf_ci": percentile_interval(boot.pf),
        "pf_sd": pf_sd,
        "pf_expected": _expected_pf(series, cells),
        "pf_test": stats.clustered_sign_test(nets),
        "error": float(point.error),
        "error_ci": percentile_interval(boot.error),
        "rs": rs.mean,
        "rs_ci": rs.ci,
        "rs_sd": rs.sd,
        "first_place": first_place,
        "last_place": last_place,
        "choices": _choice_shares(rows),
        "by_task": _by_task(run, cells, p),
        "by_candidate": _by_candidate(run, series, cells, baseline, p),
        "win_rates": _win_rates(run, series, cells),
        "cells": _cell_rows(run, series, cells, baseline, p),
        "points": points,
        "pc_parabola": pc_parabola,
        "pf_parabola": pf_parabola,
    }
    return {**result, "warnings": _warnings(result)}


@dataclass(frozen=True)
class _Repeats:
    mean: float
    ci: Interval
    sd: float
    queries: int
    once: int
    unequal: int


def _stability(run: _Run, rows: _Rows, *, seed: int, n_boot: int) -> _Repeats:
    """RS over the calls with the same item and order, whatever strategy made them."""
    codes, query = _dense(rows.item * len(run.size) + rows.ordering)
    found = stats.stability(query, rows.position, n_queries=len(codes), p=rows.p)
    repeated = found.trials > 1
    once = int((found.trials == 1).sum())
    if not repeated.any():
        return _Repeats(float("nan"), NO_INTERVAL, float("nan"), 0, once, 0)
    share, sd, trials = found.share[repeated], found.sd[repeated], found.trials[repeated]
    question = run.question[codes[repeated] // len(run.size)]
    unit = _dense(question)[1]
    sums = np.stack([np.bincount(unit, weights=share), np.bincount(unit)], axis=1)
    ci = NO_INTERVAL
    if len(sums) > 1:
        boot = bootstrap_sums(sums.astype(np.float64), n_boot=n_boot, seed=seed)
        ci = percentile_interval(boot[:, 0] / boot[:, 1])
    return _Repeats(
        mean=float(share.mean()),
        ci=ci,
        sd=float(sd.mean()),
        queries=len(share),
        once=once,
        unequal=int((trials < trials.max()).sum()),
    )


def _usable(rows: _Rows, series: _Series, rs: _Repeats) -> Usable:
    counts = np.bincount(series.classes.kind, minlength=5)
    return Usable(
        calls=len(rows.position),
        series=len(series.item),
        consistent=int(counts[stats.CONSISTENT]),
        primacy=int(counts[stats.PRIMACY]),
        recency=int(counts[stats.RECENCY]),
        neutral=int(counts[stats.NEUTRAL]),
        unreadable=int(counts[stats.UNREADABLE]),
        consistent_ties=int((series.classes.winner == rows.p).sum()),
        tie_calls=int((rows.position == stats.TIE).sum()),
        unread_calls=int((rows.position == stats.UNREAD).sum()),
        incomplete=series.incomplete,
        missing_calls=series.missing_calls,
        extra=series.extra,
        single_candidate=rows.single_candidate,
        other_size=rows.other_size,
        queries=rs.queries,
        asked_once=rs.once,
        unequal_repeats=rs.unequal,
    )


def _expected_pf(series: _Series, cells: _Cells) -> float:
    """PF without any effect of the order: the mean over cells of the series' ``chance``."""
    if len(cells.set) == 0:
        return float("nan")
    chance = np.bincount(cells.of, weights=series.classes.chance, minlength=len(cells.set))
    return float((chance / cells.total[:, 3]).mean())


def _baseline(members: Ints) -> int | None:
    """The one candidate that is in every set; None where there is none or only one set."""
    if len(members) < 2:
        return None
    common = set(members[0].tolist()).intersection(*(set(row) for row in members[1:].tolist()))
    return common.pop() if len(common) == 1 else None


def _places(
    series: _Series, cells: _Cells, p: int, *, seed: int, n_boot: int
) -> tuple[Place, Place]:
    """Wins of the first and of the last place among the decided replies of readable series."""
    classes, n = series.classes, cells.n_questions
    readable = classes.kind != stats.UNREADABLE
    counted = [part * readable for part in (classes.first, classes.last, classes.decided)]
    sums = np.stack([np.bincount(cells.unit, weights=w, minlength=n) for w in counted], axis=1)
    boot = np.full((n_boot, 3), np.nan)
    if n > 1:
        boot = bootstrap_sums(sums.astype(np.float64), n_boot=n_boot, seed=seed)
    decided, known = float(sums[:, 2].sum()), boot[:, 2] > 0
    found = []
    for column, name in enumerate(("first", "last")):
        nets = stats.place_nets(classes, cells.unit, n_questions=n, p=p, last=name == "last")
        title = f"exact sign-flip test of the {name} place against 1/p, by question"
        found.append(
            Place(
                share=float(sums[:, column].sum() / decided) if decided else float("nan"),
                ci=percentile_interval(boot[known, column] / boot[known, 2]),
                expected=1.0 / p,
                test=stats.clustered_sign_test(nets)._replace(name=title),
            )
        )
    return found[0], found[1]


def _choice_shares(rows: _Rows) -> dict[str, float]:
    """Share of calls by place ("1", "2", ..), "tie" and "unread"; empty without calls."""
    n = len(rows.position)
    if n == 0:
        return {}
    counts = np.bincount(rows.position + 1, minlength=rows.p + 2) / n
    places = {str(place): float(counts[place + 1]) for place in range(1, rows.p + 1)}
    return {**places, "tie": float(counts[1]), "unread": float(counts[0])}


# ------------------------------------------------------------------ tables of cells


def _group(name: str, cells: _Cells, which: Ints, p: int) -> Group:
    total = cells.total[which]
    point, boot = stats.rates(total, p=p), stats.rates(cells.boot[:, which], p=p)
    return Group(
        name=name,
        series=int(total[:, 3].sum()),
        readable=int(total[:, 1].sum()),
        pc=float(point.pc),
        pc_ci=percentile_interval(boot.pc),
        pf=float(point.pf),
        pf_ci=percentile_interval(boot.pf),
        error=float(point.error),
    )


def _by_task(run: _Run, cells: _Cells, p: int) -> tuple[Group, ...]:
    return tuple(
        _group(run.tasks[task], cells, np.flatnonzero(cells.task == task), p)
        for task in np.unique(cells.task).tolist()
    )


def _by_candidate(
    run: _Run, series: _Series, cells: _Cells, baseline: int | None, p: int
) -> tuple[Group, ...]:
    """One group a candidate; the baseline, which is in every cell, has none."""
    groups = []
    for code in np.unique(series.members[cells.set]).tolist() if len(cells.set) else []:
        if code != baseline:
            inside = (series.members[cells.set] == code).any(axis=1)
            groups.append(_group(run.names[code], cells, np.flatnonzero(inside), p))
    return tuple(groups)


def _win_rates(run: _Run, series: _Series, cells: _Cells) -> tuple[WinRate, ...]:
    """Each candidate's overall win rate pooled over all series it was in, best first."""
    found = []
    for code in np.unique(series.members[cells.set]).tolist() if len(cells.set) else []:
        at, column = np.nonzero(series.members[cells.set] == code)
        wins, readable = cells.total[at, stats.SUMS + column].sum(), cells.total[at, 1].sum()
        boot_wins = cells.boot[:, at, stats.SUMS + column].sum(axis=1)
        boot_n = cells.boot[:, at, 1].sum(axis=1)
        boot = np.divide(boot_wins, boot_n, out=np.full(len(boot_n), np.nan), where=boot_n > 0)
        owr = float(wins / readable) if readable else float("nan")
        found.append(WinRate(run.names[code], int(readable), owr, percentile_interval(boot)))
    return tuple(sorted(found, key=lambda row: (-np.nan_to_num(row.owr, nan=-1.0), row.candidate)))


def _set_name(run: _Run, members: Ints, baseline: int | None) -> str:
    """The other candidate of a pair with a baseline, else every name of the set."""
    codes = members.tolist()
    if baseline is not None and len(codes) == 2:
        codes = [code for code in codes if code != baseline]
    return " | ".join(run.names[code] for code in codes)


def _cell_rows(
    run: _Run, series: _Series, cells: _Cells, baseline: int | None, p: int
) -> tuple[Cell, ...]:
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


def _against_win_rate(
    run: _Run, series: _Series, cells: _Cells, baseline: int | None, p: int
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
    pc, pf = (values[cell] for values in stats.cell_rates(cells.total))
    points = tuple(
        Point(
            candidate=run.names[members[i, j]],
            task=run.tasks[cells.task[i]],
            owr=float(owr[k]),
            gap=float(abs(owr[k] - 1.0 / p)),
            pc=float(pc[k]),
            pf=float(pf[k]),
        )
        for k, (i, j) in enumerate(zip(cell.tolist(), column.tolist(), strict=True))
    )
    boot_owr = stats.overall_win_rate(cells.boot)[:, cell, column]
    boots = [values[:, cell] for values in stats.cell_rates(cells.boot)]
    fits = []
    for y, boot in zip((pc, pf), boots, strict=True):
        fit = stats.parabola(owr, y, centre=1.0 / p)
        if np.isfinite(fit.curvature) and cells.n_questions > 1:
            ci = stats.curvature_interval(boot_owr, boot, centre=1.0 / p)
            fit = fit._replace(curvature_ci=ci)
        fits.append(fit)
    return points, fits[0], fits[1]


def _warnings(result: Mapping[str, Any]) -> tuple[str, ...]:
    """In plain words: what was left out and what a reader could mistake."""
    usable: Usable = result["usable"]
    said = []
    if usable.single_candidate:
        said.append(f"{usable.single_candidate} calls show one candidate only: nothing to compare.")
    if usable.other_size:
        said.append(f"{usable.other_size} calls compare another number of candidates: left out.")
    if usable.incomplete:
        said.append(
            f"{usable.incomplete} comparisons lack {usable.missing_calls} of their swapped calls "
            "and are in no class."
        )
    if usable.unreadable:
        said.append(
            f"{usable.unreadable} of {usable.series} comparisons have a reply that cannot be "
            "read: in no class, but in the denominator of PF."
        )
    if usable.extra:
        said.append(
            f"Repeats are unequal: PC and PF use each comparison's first repeat, {usable.extra} "
            "further ones count for RS only."
        )
    if usable.unequal_repeats or (usable.queries and usable.asked_once):
        said.append(
            f"RS rests on {usable.queries} repeated queries; {usable.unequal_repeats} have fewer "
            f"repeats than the others and {usable.asked_once} were asked once and are left out."
        )
    if usable.queries == 0:
        said.append("No query was repeated, so there is no RS.")
    if usable.series == usable.unreadable:
        said.append("No comparison is complete and readable: there is no PC.")
    return (*said, *_cautions(result, usable))


def _cautions(result: Mapping[str, Any], usable: Usable) -> list[str]:
    said = []
    if result["empty_cells"]:
        said.append(
            f"{result['empty_cells']} of {result['n_cells']} cells have nothing readable; the "
            f"paper's spread of PC counts them as 0 (without them "
            f"{result['pc_sd_readable']:.3f})."
        )
    if 0 < result["n_questions"] < _FEW_QUESTIONS:
        said.append(
            f"Only {result['n_questions']} question(s): intervals are rough and tests weak."
        )
    if usable.calls and usable.tie_calls > 0.9 * usable.calls:
        said.append(
            "This judge nearly always says tie. Two ties count as consistent, so its PC says "
            "little."
        )
    if result["error"] > 0.2:
        said.append("More than a fifth of the replies cannot be read: PC describes the rest only.")
    if result["n_positions"] > 2 and usable.series:
        said.append(
            "List-wise PF counts series, the first place against all others. Without any effect "
            f"of the order these winners would give {result['pf_expected']:+.3f}: read PF against "
            "that, and trust its test and the shares of the first and last place."
        )
    if result["points"]:
        said.append(
            "Inconsistent comparisons count as ties in the win rate, so a gap above "
            "PC x (1 - 1/p) cannot occur: part of the parabola is arithmetic."
        )
    return said


# ------------------------------------------------------------------ several judges


def _together(
    data: RunData, run: _Run, members: Sequence[_Rows], *, seed: int, n_boot: int
) -> JudgesTogether:
    """Judges side by side on the calls (item, order, repeat) that any of them was asked."""
    instances, choices = _side_by_side(run, members)
    p, arm = members[0].p, members[0].arm
    unit = _dense(run.question[instances.item])[1]
    boots = {"n_boot": n_boot, "seed": seed}
    vote = stats.votes(choices, p=p)
    shared = np.flatnonzero(vote.judges > 1)
    majority = _Rows(
        arm=arm, p=p, item=instances.item, ordering=instances.ordering, repeat=instances.repeat,
        rank=instances.rank, position=vote.choice, status={}, single_candidate=0, other_size=0,
    )  # fmt: skip
    cells = _cells(run, _series(run, majority), p, seed=seed, n_boot=n_boot)
    point, boot = stats.rates(cells.total, p=p), stats.rates(cells.boot, p=p)
    judges = tuple(rows.arm.judge for rows in members)
    warnings = []
    if len(judges) == 2:
        warnings.append("With two judges a majority is their agreement; three or more vote.")
    excluded = len(choices) - len(shared)
    if excluded:
        warnings.append(f"{excluded} calls were read by fewer than two judges: left out.")
    return JudgesTogether(
        dataset=arm.dataset,
        axis=arm.axis,
        strategy=arm.strategy,
        variant=str(arm.variant),
        judges=judges,
        with_ties=stats.agreement(choices, unit, ties=True, **boots),
        without_ties=stats.agreement(choices, unit, ties=False, **boots),
        n_instances=len(shared),
        excluded=excluded,
        distribution=stats.cumulative(vote.disagreement[shared], n_judges=len(judges)),
        hardest=_hardest(data, run, instances, choices, vote, judges),
        no_majority=int(((vote.choice == stats.UNREAD) & (vote.judges > 0)).sum()),
        majority_pc=float(point.pc),
        majority_pc_ci=percentile_interval(boot.pc),
        majority_pf=float(point.pf),
        majority_pf_ci=percentile_interval(boot.pf),
        warnings=tuple(warnings),
    )


@dataclass(frozen=True)
class _Instances:
    item: Ints
    ordering: Ints
    repeat: Ints
    rank: Ints


def _side_by_side(run: _Run, members: Sequence[_Rows]) -> tuple[_Instances, Ints]:
    """The distinct calls and each judge's position, (instances, judges); ABSENT if not asked."""
    repeats = 1 + max(int(rows.repeat.max(initial=0)) for rows in members)
    ranks = 1 + max(int(rows.rank.max(initial=0)) for rows in members)
    keys = [
        ((rows.item * len(run.size) + rows.ordering) * repeats + rows.repeat) * ranks + rows.rank
        for rows in members
    ]
    known, code = _dense(np.concatenate(keys))
    choices = np.full((len(known), len(members)), stats.ABSENT, dtype=np.int64)
    start = 0
    for j, rows in enumerate(members):
        choices[code[start : start + len(rows.item)], j] = rows.position
        start += len(rows.item)
    rest, rank = np.divmod(known, ranks)
    rest, repeat = np.divmod(rest, repeats)
    item, ordering = np.divmod(rest, len(run.size))
    return _Instances(item, ordering, repeat, rank), choices


def _hardest(
    data: RunData,
    run: _Run,
    instances: _Instances,
    choices: Ints,
    vote: stats.Votes,
    judges: Sequence[str],
) -> tuple[Hard, ...]:
    """The HARDEST calls with most disagreement, those with none left out."""
    order = np.lexsort((np.arange(len(choices)), vote.judges, -vote.disagreement))[:HARDEST]
    found = []
    for row in order[vote.disagreement[order] > 0].tolist():
        item = int(instances.item[row])
        shown = tuple(map(str, data.orderings[int(instances.ordering[row])].shown))
        said = {stats.TIE: "tie", stats.UNREAD: "unread", stats.ABSENT: "not asked"}
        found.append(
            Hard(
                item=item,
                item_id=str(data.items["item_id"].iat[item]),
                prompt=str(data.items["prompt"].iat[item]),
                task=run.tasks[run.task[item]],
                shown=shown,
                repeat=int(instances.repeat[row]),
                disagreement=int(vote.disagreement[row]),
                judges=int(vote.judges[row]),
                choices={
                    judge: said.get(choice) or shown[choice - 1]
                    for judge, choice in zip(judges, choices[row].tolist(), strict=True)
                },
            )
        )
    return tuple(found)


# ------------------------------------------------------------------ what predicts PC and PF


@dataclass(frozen=True)
class Predictors:
    """Stepwise regressions over the cells of all judges with one protocol and list length."""

    axis: Axis
    n_positions: int
    judges: tuple[str, ...]
    pc: Stepwise
    pf: Stepwise
    warnings: tuple[str, ...] = field(default=())


def predictors(result: ComparisonResult) -> tuple[Predictors, ...]:
    """Which of judge, task, candidate, lengths and quality gap predict PC and PF (Appendix E)."""
    groups: dict[tuple[Axis, int], list[JudgeComparison]] = {}
    for judge in result.judges:
        groups.setdefault((judge.axis, judge.n_positions), []).append(judge)
    return tuple(_predict(axis, p, judges) for (axis, p), judges in groups.items())


def _predict(axis: Axis, p: int, judges: Sequence[JudgeComparison]) -> Predictors:
    rows = [(f"{j.judge} {j.variant}".strip(), cell) for j in judges for cell in j.cells]
    cells = [cell for _, cell in rows]
    variables: dict[str, Floats | Ints] = {
        "Judge": _codes([judge for judge, _ in rows]),
        "Task": _codes([cell.task for cell in cells]),
        "Candidate": _codes([cell.candidate for cell in cells]),
        "Quality gap": np.array([cell.gap for cell in cells], dtype=np.float64),
    }
    for name in sorted({name for cell in cells for name in cell.lengths}):
        label = name.replace("_", " ").capitalize()
        values = [cell.lengths.get(name, float("nan")) for cell in cells]
        variables[label] = np.array(values, dtype=np.float64)
    return Predictors(
        axis=axis,
        n_positions=p,
        judges=tuple(dict.fromkeys(judge for judge, _ in rows)),
        pc=stepwise(np.array([cell.pc for cell in cells], dtype=np.float64), variables),
        pf=stepwise(np.array([cell.pf for cell in cells], dtype=np.float64), variables),
        warnings=(
            "Cells share questions and candidates and hold different numbers of comparisons, "
            "while least squares takes them as independent and alike.",
            "The quality gap is computed from the same judgments as PC and cannot exceed "
            "PC x (1 - 1/p): its weight for PC is partly arithmetic.",
        ),
    )


def _codes(names: Sequence[str]) -> Ints:
    return np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64)


# ------------------------------------------------------------------ pairs against rubric scores


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate both ways: overall win rate and mean rubric score, with ranks (1 = best)."""

    candidate: str
    owr: float
    owr_rank: float
    score: float
    score_rank: float


@dataclass(frozen=True)
class Sensitivity:
    """How much a protocol's decisions between two candidates move with the order, and its price.

    ``flip_rate``: chance that two differently ordered looks at the same two answers disagree on
    which is better (tie is an answer of its own). ``decisions_per_call``: such decisions that
    one call buys (1 in a pair, (c - 1) / 2 where c candidates get a score of their own).
    ``stable_per_call`` = decisions_per_call x (1 - flip_rate).
    """

    decisions: int
    flip_rate: float
    flip_ci: Interval
    decisions_per_call: float
    stable_per_call: float


@dataclass(frozen=True)
class ProtocolComparison:
    """One judge on the same candidates by pairs and by rubric.

    ``tau`` is Kendall's tau-b of the two rankings, interval over the prompts that both runs
    share; ``same_best``: the same candidate (or candidates) on top. Only shared prompts and
    candidates are used; ``left_out`` names the others.
    """

    judge: str
    pair_strategy: str
    rubric_strategy: str
    n_prompts: int
    left_out: tuple[str, ...]
    candidates: tuple[RankedCandidate, ...]
    tau: float
    tau_ci: Interval
    same_best: bool
    pairs: Sensitivity
    rubric: Sensitivity
    warnings: tuple[str, ...]


def compare_protocols(
    pairs: RunData, rubric: RunData, *, seed: int = 0, n_boot: int = 1000
) -> tuple[ProtocolComparison, ...]:
    """The same candidates judged pairwise and by rubric, for every judge in both runs.

    Runs are matched by judge, prompt and candidate names. Each judge's first pairwise arm meets
    its balanced rubric arm (else its first one on the options axis). Judges without both are
    left out; none at all gives an empty tuple.
    """
    run = _Run.of(pairs)
    found = []
    for judge in dict.fromkeys(arm.judge for arm in pairs.arms):
        pair_arm = next(
            ((code, arm) for code, arm in enumerate(pairs.arms)
             if arm.judge == judge and arm.axis == "pairwise"), None,
        )  # fmt: skip
        options = [
            (code, arm) for code, arm in enumerate(rubric.arms)
            if arm.judge == judge and arm.axis == "options"
        ]  # fmt: skip
        options.sort(key=lambda pair: pair[1].strategy != "balanced")
        if pair_arm is not None and options:
            rows = _Rows.of(pairs, run, *pair_arm)
            scores = _Scores.of(rubric, *options[0])
            found.append(_protocols(pairs, run, rows, scores, seed=seed, n_boot=n_boot))
    return tuple(found)


@dataclass(frozen=True)
class _Scores:
    """A rubric arm as (texts, candidates, reads) scores; a text is a prompt x criterion."""

    arm: Arm
    values: Floats
    prompt: tuple[str, ...]
    candidates: tuple[str, ...]
    unread: int

    @classmethod
    def of(cls, data: RunData, code: int, arm: Arm) -> _Scores:
        items = data.items
        known = items["prompt"].notna().to_numpy() & items["candidate"].notna().to_numpy()
        candidate, names = pd.factorize(items["candidate"])
        criterion = pd.factorize(items["criterion"])[0] + 1
        prompt, prompts = pd.factorize(items["prompt"])
        width = int(criterion.max(initial=0)) + 1
        texts, text = np.unique(prompt * width + criterion, return_inverse=True)
        frame = data.judgments[data.judgments["arm"] == code]
        item = frame["item"].to_numpy().astype(np.int64)
        look = frame["repeat"].to_numpy().astype(np.int64)
        look = look * (int(frame["read"].max() if len(frame) else 0) + 1)
        look = look + frame["read"].to_numpy().astype(np.int64)
        score = frame["score"].to_numpy().astype(np.float64)
        keep = known[item]
        n_looks = int(look.max(initial=0)) + 1
        values = np.full((len(texts), max(len(names), 1), n_looks), np.nan)
        values[text[item[keep]], candidate[item[keep]], look[keep]] = score[keep]
        of_text = [str(prompts[t // width]) if t >= 0 and len(prompts) else "" for t in texts]
        return cls(arm, values, tuple(of_text), tuple(map(str, names)), int(np.isnan(score).sum()))


def _protocols(
    data: RunData, run: _Run, rows: _Rows, scores: _Scores, *, seed: int, n_boot: int
) -> ProtocolComparison:
    series = _series(run, rows)
    prompts = data.items["prompt"].astype(object).to_numpy()
    asked = [str(prompt) for prompt in prompts[series.item]]
    shared = sorted(set(asked) & set(scores.prompt))
    inside = {run.names[c] for c in np.unique(series.members).tolist()}
    names = [name for name in scores.candidates if name in inside]
    left_out = tuple(sorted(inside.symmetric_difference(scores.candidates)))
    index = {prompt: i for i, prompt in enumerate(shared)}
    unit = np.array([index.get(prompt, -1) for prompt in asked], dtype=np.int64)
    wins = _pair_sums(run, series, unit, names, len(shared))
    text_unit = np.array([index.get(prompt, -1) for prompt in scores.prompt], dtype=np.int64)
    columns = [scores.candidates.index(name) for name in names]
    values = scores.values[text_unit >= 0][:, columns]
    means = _score_sums(values, text_unit[text_unit >= 0], len(shared))
    sums = np.concatenate([wins, means], axis=1)
    owr, score = _two_scales(sums.sum(axis=0)[None, :])
    tau_ci = NO_INTERVAL
    if len(shared) > 1 and len(names) > 1:
        boot = bootstrap_sums(sums, n_boot=n_boot, seed=seed)
        tau_ci = percentile_interval(stats.kendall(*_two_scales(boot)))
    return ProtocolComparison(
        judge=rows.arm.judge,
        pair_strategy=rows.arm.strategy,
        rubric_strategy=scores.arm.strategy,
        n_prompts=len(shared),
        left_out=left_out,
        candidates=_ranked(names, owr[0], score[0]),
        tau=float(stats.kendall(owr, score)[0]),
        tau_ci=tau_ci,
        same_best=bool(_best(owr[0])) and _best(owr[0]) == _best(score[0]),
        pairs=_pair_sensitivity(series, unit, len(shared), seed=seed, n_boot=n_boot),
        rubric=_score_sensitivity(
            values, text_unit[text_unit >= 0], len(shared), seed=seed, n_boot=n_boot
        ),
        warnings=_protocol_warnings(shared, names, left_out, scores),
    )


def _pair_sums(run: _Run, series: _Series, unit: Ints, names: Sequence[str], n: int) -> Floats:
    """Per prompt: each candidate's wins (as in the overall win rate), then its readable pairs."""
    classes = series.classes
    usable = (unit >= 0) & (classes.kind != stats.UNREADABLE)
    shared = ((classes.winner < 0) | (classes.winner == 2)) / 2.0
    wins, seen = np.zeros((n, len(names))), np.zeros((n, len(names)))
    for column, name in enumerate(names):
        code = run.names.index(name)
        for place in (0, 1):
            mine = usable & (series.members[series.set, place] == code)
            won = (classes.winner == place) + shared
            wins[:, column] += np.bincount(unit[mine], weights=won[mine], minlength=n)
            seen[:, column] += np.bincount(unit[mine], minlength=n)
    return np.concatenate([wins, seen], axis=1)


def _score_sums(values: Floats, unit: Ints, n: int) -> Floats:
    """Per prompt: each candidate's summed mean scores, then how many texts gave one."""
    known = np.isfinite(values)
    count = known.sum(axis=2)
    total = np.where(known, values, 0.0).sum(axis=2)
    mean = np.divide(total, count, out=np.zeros(total.shape), where=count > 0)
    out = np.zeros((n, 2 * values.shape[1]))
    np.add.at(out, unit, np.concatenate([mean, (count > 0).astype(np.float64)], axis=1))
    return out


def _two_scales(totals: Floats) -> tuple[Floats, Floats]:
    """(win rates, mean scores), each (rows, candidates), of summed counts; NaN where none."""
    wins, seen, score, count = np.split(totals, 4, axis=1)
    pairs = [(wins, seen), (score, count)]
    owr, mean = (
        np.divide(top, below, out=np.full(top.shape, np.nan), where=below > 0)
        for top, below in pairs
    )
    return owr, mean


def _ranked(names: Sequence[str], owr: Floats, score: Floats) -> tuple[RankedCandidate, ...]:
    ranks = [rankdata(-values, nan_policy="omit") for values in (owr, score)]
    rows = [
        RankedCandidate(
            name, float(owr[i]), float(ranks[0][i]), float(score[i]), float(ranks[1][i])
        )
        for i, name in enumerate(names)
    ]
    return tuple(sorted(rows, key=lambda row: (row.owr_rank, row.candidate)))


def _best(values: Floats) -> set[int]:
    """The candidates that share the top; empty where nothing is known."""
    if not np.isfinite(values).any():
        return set()
    return set(np.flatnonzero(values == np.nanmax(values)).tolist())


def _pair_sensitivity(
    series: _Series, unit: Ints, n: int, *, seed: int, n_boot: int
) -> Sensitivity:
    """A decision is one call; two looks are the two orders of a pair."""
    readable = (unit >= 0) & (series.classes.kind != stats.UNREADABLE)
    flips = readable & (series.classes.kind != stats.CONSISTENT)
    counts = [np.bincount(unit[which], minlength=n) for which in (flips, readable)]
    sums = np.stack(counts, axis=1).astype(np.float64)
    return _sensitivity(sums, int(readable.sum()), 1.0, seed=seed, n_boot=n_boot)


def _score_sensitivity(
    values: Floats, unit: Ints, n: int, *, seed: int, n_boot: int
) -> Sensitivity:
    """A decision compares two candidates' scores in one read; two looks are two reads."""
    sums = np.zeros((n, 2))
    decisions = 0
    for i in range(values.shape[1]):
        for j in range(i + 1, values.shape[1]):
            sign = np.sign(values[:, i] - values[:, j])
            reads = np.isfinite(sign).sum(axis=1)
            same = sum(k * (k - 1) for k in ((sign == s).sum(axis=1) for s in (-1, 0, 1)))
            able = reads > 1
            flip = 1.0 - same[able] / (reads[able] * (reads[able] - 1))
            np.add.at(sums, unit[able], np.stack([flip, np.ones(len(flip))], axis=1))
            decisions += int(able.sum())
    per_text = np.isfinite(values).any(axis=2).sum(axis=1)
    per_text = per_text[per_text > 1]
    bought = float(((per_text - 1) / 2).mean()) if len(per_text) else float("nan")
    return _sensitivity(sums, decisions, bought, seed=seed, n_boot=n_boot)


def _sensitivity(
    sums: Floats, decisions: int, per_call: float, *, seed: int, n_boot: int
) -> Sensitivity:
    flips, seen = sums.sum(axis=0)
    rate = float(flips / seen) if seen else float("nan")
    ci = NO_INTERVAL
    if len(sums) > 1 and seen:
        boot = bootstrap_sums(sums, n_boot=n_boot, seed=seed)
        known = boot[boot[:, 1] > 0]
        ci = percentile_interval(known[:, 0] / known[:, 1])
    return Sensitivity(decisions, rate, ci, per_call, per_call * (1.0 - rate))


def _protocol_warnings(
    shared: Sequence[str], names: Sequence[str], left_out: Sequence[str], scores: _Scores
) -> tuple[str, ...]:
    said = []
    if not shared:
        said.append("The two runs share no prompt: judge the same prompts both ways.")
    if len(names) < 3:
        said.append(f"{len(names)} shared candidate(s): a ranking of so few says little.")
    if left_out:
        said.append(f"In one run only, left out: {', '.join(left_out)}.")
    if scores.unread:
        said.append(f"{scores.unread} rubric replies could not be read.")
    if scores.arm.strategy != "balanced":
        said.append(
            f"The rubric run has no balanced arm; “{scores.arm.strategy}” is used, whose reads may "
            "share one order: its flips are then the judge's own noise."
        )
    return tuple(said)
