"""Comparison charts: drawn from the result's own numbers, safe text, alt text, empty results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.pairs import read_pairs
from rubriclab.figures import comparison as figures
from rubriclab.figures import protocols as pairs_and_rubric
from rubriclab.figures.comparison_together import agreement_heatmap, disagreement_curve
from rubriclab.findings.comparison import ComparisonResult, comparison
from rubriclab.findings.protocols import ProtocolComparison, RankedCandidate, Sensitivity
from rubriclab.stats.inference import Interval

EVIL = "<b onclick=x>m&m</b>"


@pytest.fixture(scope="module")
def result() -> ComparisonResult:
    rng = np.random.default_rng(0)
    rows = []
    for judge in ("j", EVIL):
        for q in range(12):
            for name in ("x", "y", EVIL):
                win = rng.choice(["A", "B", "C"], p=[0.5, 0.4, 0.1])
                back = {"A": "B", "B": "A", "C": "C"}[win] if rng.random() < 0.7 else win
                rows.append((judge, q, f"task {q % 3}", name, "base", win))
                rows.append((judge, q, f"task {q % 3}", "base", name, back))
    columns = ["judge", "question_id", "task", "first", "second", "choice"]
    return comparison(read_pairs(pd.DataFrame(rows, columns=columns).astype(str), name="d"), n_boot=50)


def test_bars_show_values_and_intervals(result: ComparisonResult) -> None:
    advantage = figures.advantage_bars(result)
    shown = [judge.first_place.effect for judge in result.judges]
    assert list(advantage.figure.data[0].x) == [one.estimate for one in shown]
    assert all(one.verdict in advantage.alt for one in shown)
    for chart, measure in ((figures.consistency_bars(result), "pc"), (figures.fairness_bars(result), "pf")):
        bar = chart.figure.data[0]
        assert list(bar.x) == [getattr(judge, measure) for judge in result.judges]
        interval = getattr(result.judges[0], f"{measure}_ci")
        assert bar.x[0] + bar.error_x.array[0] == pytest.approx(interval.high)
        assert bar.x[0] - bar.error_x.arrayminus[0] == pytest.approx(interval.low)
        assert f"{bar.x[0]:.3f}" in chart.alt


def test_scatter_of_pc_and_pf_has_a_point_a_judge(result: ComparisonResult) -> None:
    figure = figures.pc_against_pf(result).figure
    large = [trace for trace in figure.data if trace.name]
    assert [(t.x[0], t.y[0]) for t in large] == [(j.pc, j.pf) for j in result.judges]
    assert len(figure.data[0].x) == len(result.judges[0].cells)


@pytest.mark.parametrize("measure", ["pc", "pf"])
def test_win_rate_chart_draws_the_fitted_parabola(result: ComparisonResult, measure: str) -> None:
    judge = result.judges[0]
    figure = figures.against_win_rate([judge], measure=measure).figure  # type: ignore[arg-type]
    points, line = figure.data
    assert list(points.x) == [point.owr for point in judge.points]
    fit = getattr(judge, f"{measure}_parabola")
    away = line.x[0] - fit.centre
    assert line.y[0] == pytest.approx(fit.level + fit.slope * away + fit.curvature * away**2)
    gap = figures.against_win_rate([judge], x="gap").figure
    assert len(gap.data) == 1
    assert list(gap.data[0].x) == [point.gap for point in judge.points]


def test_radar_closes_and_follows_the_tasks(result: ComparisonResult) -> None:
    trace = figures.task_radar(result).figure.data[0]
    by_task = {group.name: group.pc for group in result.judges[0].by_task}
    assert list(trace.theta) == ["task 0", "task 1", "task 2", "task 0"]
    assert list(trace.r) == [by_task[task] for task in trace.theta]


def test_agreement_and_disagreement(result: ComparisonResult) -> None:
    (together,) = result.together
    for ties, found in ((True, together.with_ties), (False, together.without_ties)):
        chart = agreement_heatmap(together, ties=ties)
        assert np.array(chart.figure.data[0].z, dtype=float) == pytest.approx(found.share)
        assert f"{found.share[0, 1]:.0%}" in chart.alt
    curve = disagreement_curve(together).figure.data[0]
    assert list(curve.y) == together.distribution.tolist()


def test_protocols_chart() -> None:
    rows = (RankedCandidate("x", 0.7, 1, 4.5, 1), RankedCandidate(EVIL, 0.3, 2, 2.0, 2))
    part = Sensitivity(10, 0.2, Interval(0.1, 0.3), 1.0, 0.8)
    found = ProtocolComparison("j", "balanced", "balanced", 5, (), rows, 1.0, Interval(0.5, 1.0), True, part, part, ())
    chart = pairs_and_rubric.protocols(found)
    assert list(chart.figure.data[0].x) == [4.5, 2.0]
    assert list(chart.figure.data[1].x) == [0.2, 0.2]
    assert "20%" in chart.alt
    assert "<b" not in chart.figure.to_json()


def test_names_are_escaped_everywhere(result: ComparisonResult) -> None:
    (together,) = result.together
    for chart in (
        figures.consistency_bars(result),
        figures.fairness_bars(result),
        figures.pc_against_pf(result),
        figures.against_win_rate(result.judges),
        figures.task_radar(result),
        agreement_heatmap(together),
    ):
        assert "<b onclick" not in chart.figure.to_json().replace("\\u003c", "<")
        assert chart.alt


def test_two_arms_of_one_judge_have_two_names(result: ComparisonResult) -> None:
    names = figures.judge_names([result.judges[0], result.judges[0]])
    assert len(set(names)) == 2


def test_empty_results_give_empty_charts() -> None:
    empty = ComparisonResult((), (), 0)
    for chart in (
        figures.consistency_bars(empty),
        figures.fairness_bars(empty),
        figures.pc_against_pf(empty),
        figures.against_win_rate(()),
        figures.task_radar(empty),
    ):
        assert chart.alt.endswith(".")
