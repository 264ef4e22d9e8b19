"""One judge of pairs or lists: consistency, fairness, stability, and what limits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.findings.comparison_cautions import Usable, cautions_of
from rubriclab.findings.comparison_cells import (
    Cell,
    Cells,
    Group,
    Point,
    WinRate,
    against_win_rate,
    candidate_groups,
    candidate_rates,
    cell_rows,
    cells_of,
    common_candidate,
    expected_pf,
    rates_of,
    share_interval,
    task_groups,
)
from rubriclab.findings.comparison_effects import FirstPlace, OrderExcess, first_place, order_excess
from rubriclab.findings.series import ArmCalls, ArmSeries, RunCodes, arm_series, dense
from rubriclab.model import Arm, Axis, RunData
from rubriclab.model.language import tr
from rubriclab.stats import comparison as stats
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, Test


@dataclass(frozen=True)
class JudgeComparison:
    """The result of one arm, its ``code``. +- values are the paper's spreads (method, section 5), not errors.

    ``pc_sd_readable`` leaves out the ``empty_cells`` that the paper's spread counts as PC 0.
    ``choices``: share of all calls per place shown, then ``tie`` and ``unread``. ``pf_p_holm``
    corrects ``pf_test`` over the arms of this judge, whatever the other judges do.
    ``repeat_agreement``: the share of pairs of repeats that are alike, unbiased where ``rs`` is
    too high. ``first_place``, ``order_excess``: the lab's own numbers. ``pf_expected`` is the PF that the same
    winners would give if the order did not matter: 0 for pairs, not quite for lists.
    """

    code: int
    judge: str
    dataset: str
    strategy: str
    variant: str
    axis: Axis
    n_positions: int
    simulated: bool
    n_questions: int
    n_cells: int
    unit: str
    baseline: str | None
    first_place: FirstPlace
    order_excess: OrderExcess
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
    repeat_agreement: float
    repeat_agreement_ci: Interval
    choices: Mapping[str, float]
    by_task: tuple[Group, ...]
    by_candidate: tuple[Group, ...]
    win_rates: tuple[WinRate, ...]
    cells: tuple[Cell, ...]
    points: tuple[Point, ...]
    pc_parabola: stats.Parabola
    pf_parabola: stats.Parabola
    warnings: tuple[str, ...]


def judge_result(
    data: RunData, run: RunCodes, rows: ArmCalls, others: Sequence[ArmCalls], *, seed: int
) -> dict[str, Any]:
    """Everything of ``JudgeComparison`` but the correction over the judge's arms; ``others``: of the same setting."""
    p, arm = rows.p, rows.arm
    series = arm_series(run, rows)
    cells = cells_of(run, series, p)
    rs = _stability(run, rows)
    baseline = common_candidate(series.members)
    points, pc_parabola, pf_parabola = against_win_rate(run, series, cells, baseline, p, seed=seed)
    result: dict[str, Any] = {
        **_whom(arm),
        "n_positions": p,
        "n_questions": cells.n_questions,
        "n_cells": len(cells.set),
        "unit": run.unit,
        "baseline": None if baseline is None else run.names[baseline],
        "first_place": first_place(data, run, rows, series),
        "order_excess": order_excess(data, run, rows, others),
        "status": rows.status,
        "usable": _usable(rows, series, rs),
        **_rates(series, cells, p),
        "rs": rs.mean,
        "rs_ci": rs.ci,
        "rs_sd": rs.sd,
        "repeat_agreement": rs.agreement,
        "repeat_agreement_ci": rs.agreement_ci,
        "choices": _choice_shares(rows),
        "by_task": task_groups(run, cells, p),
        "by_candidate": candidate_groups(run, series, cells, baseline, p),
        "win_rates": candidate_rates(run, series, cells),
        "cells": cell_rows(run, series, cells, baseline, p),
        "points": points,
        "pc_parabola": pc_parabola,
        "pf_parabola": pf_parabola,
    }
    return {**result, "warnings": cautions_of(result)}


def _rates(series: ArmSeries, cells: Cells, p: int) -> dict[str, Any]:
    """Consistency, fairness and error rates with their intervals and their spread over cells."""
    rates = rates_of(cells, np.arange(len(cells.total)), p)
    pc_sd, pc_sd_readable, pf_sd, empty = stats.cell_spread(cells.total)
    return {
        "pc": rates.pc,
        "pc_ci": rates.pc_ci,
        "pc_sd": pc_sd,
        "pc_sd_readable": pc_sd_readable,
        "empty_cells": empty,
        "pf": rates.pf,
        "pf_ci": rates.pf_ci,
        "pf_sd": pf_sd,
        "pf_expected": expected_pf(series, cells),
        "pf_test": _fairness_test(series, cells, p),
        "error": rates.error,
        "error_ci": rates.error_ci,
    }


def _fairness_test(series: ArmSeries, cells: Cells, p: int) -> Test:
    """The test of PF = 0; no p-value where no comparison was read in every order."""
    nets = stats.fairness_nets(series.classes, cells.unit, n_questions=cells.n_questions, p=p)
    test = stats.clustered_sign_test(nets)
    if (series.classes.kind != stats.UNREADABLE).any():
        return test
    nan = float("nan")
    return Test(test.name, nan, nan, nan, tr("no comparison was read in every order: nothing to test"))


def _whom(arm: Arm) -> dict[str, Any]:
    names = ("judge", "dataset", "strategy", "axis", "simulated")
    return {name: getattr(arm, name) for name in names} | {"variant": str(arm.variant)}


@dataclass(frozen=True)
class _Repeats:
    mean: float = float("nan")
    ci: Interval = NO_INTERVAL
    sd: float = float("nan")
    agreement: float = float("nan")
    agreement_ci: Interval = NO_INTERVAL
    queries: int = 0
    once: int = 0
    unequal: int = 0


def stability_of(run: RunCodes, rows: ArmCalls) -> tuple[stats.Stability, Ints]:
    """Of every query (an item in one order) what its repeats say, and its item x ordering code."""
    codes, query = dense(rows.item * len(run.size) + rows.ordering)
    return stats.stability(query, rows.position, n_queries=len(codes), p=rows.p), codes


def repeats_alike(run: RunCodes, rows: ArmCalls) -> tuple[Floats, Ints]:
    """Of every repeated query: the share of pairs of its calls that are alike, and its unit."""
    stability, codes = stability_of(run, rows)
    repeated = stability.trials > 1
    return stability.agreement[repeated], _query_units(run, codes[repeated])


def _query_units(run: RunCodes, codes: Ints) -> Ints:
    return dense(run.question[codes // len(run.size)])[1]


def _stability(run: RunCodes, rows: ArmCalls) -> _Repeats:
    """RS over the calls with the same item and order, whatever strategy made them."""
    stability, codes = stability_of(run, rows)
    repeated = stability.trials > 1
    once = int((stability.trials == 1).sum())
    if not repeated.any():
        return _Repeats(once=once)
    share, alike, trials = (part[repeated] for part in (stability.share, stability.agreement, stability.trials))
    unit = _query_units(run, codes[repeated])
    each = np.ones(len(share))
    return _Repeats(
        mean=float(share.mean()),
        ci=share_interval(share, each, unit),
        sd=float(stability.sd[repeated].mean()),
        agreement=float(alike.mean()),
        agreement_ci=share_interval(alike, each, unit),
        queries=len(share),
        once=once,
        unequal=int((trials < trials.max()).sum()),
    )


def _usable(rows: ArmCalls, series: ArmSeries, rs: _Repeats) -> Usable:
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


def _choice_shares(rows: ArmCalls) -> dict[str, float]:
    """Share of calls by place ("1", "2", ..), "tie" and "unread"; empty without calls."""
    n = len(rows.position)
    if n == 0:
        return {}
    counts = np.bincount(rows.position + 1, minlength=rows.p + 2) / n
    places = {str(place): float(counts[place + 1]) for place in range(1, rows.p + 1)}
    return {**places, "tie": float(counts[1]), "unread": float(counts[0])}
