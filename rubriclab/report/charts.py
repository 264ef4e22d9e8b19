"""Which charts a run has, under which heading: the HTML file's and anyone's who wants them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from rubriclab.figures import alignment as align
from rubriclab.figures import choice as odds
from rubriclab.figures import comparison as compare
from rubriclab.figures import criteria as ordered
from rubriclab.figures import position as place
from rubriclab.figures import ranking as rank
from rubriclab.figures.debiasing import debiasing_curve
from rubriclab.figures.ordering import bias_cost
from rubriclab.figures.style import Chart
from rubriclab.findings.alignment import Sweep, SweepPoint, sweep
from rubriclab.findings.debiasing import Debiased
from rubriclab.findings.position import PositionArm
from rubriclab.model import Arm
from rubriclab.report.gather import Gathered

CONFOUNDED = "position and score cannot be told apart"
Section = tuple[str, list[tuple[str, Chart]]]


def charts(found: Gathered) -> Iterator[Section]:
    """(heading, [(caption, chart)]) for every topic of the run, in the order of the pages."""
    if "options" in found.axes:
        yield "Where the judge picks", list(_position(found))
        yield "Agreement with humans", list(_alignment(found))
        yield "Causes and cures", list(_causes(found))
    if "criteria" in found.axes:
        yield "Order of the criteria", list(_criteria(found))
    if found.axes & {"options", "criteria"}:
        yield "Who wins", list(_ranking(found))
    if found.axes & {"pairwise", "listwise"}:
        yield "Pairs and lists", list(_comparison(found))


def factors(arms: tuple[Arm, ...]) -> tuple[str, ...]:
    """The factors that a run varies: those with more than one level among its arms."""
    levels: dict[str, set[str]] = {}
    for arm in arms:
        for name, level in arm.variant.levels:
            levels.setdefault(name, set()).add(str(level))
    return tuple(name for name, known in levels.items() if len(known) > 1)


def drawable(table: Sweep) -> Sweep:
    """The sweep's lines that have two levels or more, number levels in ascending order."""
    lines: dict[tuple[str, str, str, str], list[SweepPoint]] = {}
    for point in table.points:
        line = (point.judge, point.dataset, point.strategy, point.others)
        lines.setdefault(line, []).append(point)
    numbers = all(isinstance(level, int | float) for level in table.levels)
    levels = tuple(sorted(table.levels)) if numbers else table.levels
    kept = [sorted(line, key=lambda point: levels.index(point.level))
            for line in lines.values() if len(line) > 1]  # fmt: skip
    return replace(table, levels=levels, points=tuple(chain.from_iterable(kept)))


def _position(found: Gathered) -> Iterator[tuple[str, Chart]]:
    arms = found.position.arms
    moved = [arm for arm in arms if arm.position.verdict != CONFOUNDED and arm.n_used]
    if moved:
        yield (
            "Position selected; without a bias all bars touch the dotted line",
            place.selection_bars(moved),
        )
    for arm in moved:
        yield f"Score × position: {_label(arm)}", place.heatmap(arm)
    if arms:
        yield "Scores given", place.score_distribution(arms)
    if moved:
        yield "Bias Cost of orders", bias_cost({_label(arm): arm.bias_cost for arm in moved})


def _label(arm: PositionArm) -> str:
    return str(arm.arm)


def _alignment(found: Gathered) -> Iterator[tuple[str, Chart]]:
    result = found.alignment
    if not result.arms:
        return
    yield "Correlation with humans by strategy", align.forest(result.arms)
    if result.comparisons:
        yield "Paired differences", align.difference_forest(result.comparisons)
    if any(len(arm.budget) > 1 for arm in result.arms):
        yield "What averaging more orders buys", align.budget_curves(result.arms)
    for arm in result.arms:
        if len(arm.ordering_rank) > 1:
            yield f"Single orders: {arm.arm}", align.ordering_dots(arm)
    for factor in factors(found.data.arms):
        table = drawable(sweep(found.data, factor, seed=found.seed))
        yield f"Agreement by {factor.replace('_', ' ')}", align.sweep_lines(table)
        yield f"Position bias by {factor.replace('_', ' ')}", align.sweep_lines(table, measure="v")


def _causes(found: Gathered) -> Iterator[tuple[str, Chart]]:
    models = found.choice.arms
    if any(model.position for model in models):
        yield "Odds by position", odds.position_odds(models)
    if any(model.label for model in models):
        yield "Odds by label", odds.label_odds(models)
    if any(model.neighbour for model in models):
        yield "Odds by the score read just before", odds.neighbour_odds(models)
    groups: dict[str, list[Debiased]] = {}
    for entry in found.debiasing.entries:
        name = " · ".join(p for p in (entry.judge, entry.dataset, entry.variant, entry.source) if p)
        groups.setdefault(name, []).append(entry)
    for name, entries in groups.items():
        yield f"One corrected call: {name}", debiasing_curve(entries)


def _criteria(found: Gathered) -> Iterator[tuple[str, Chart]]:
    arms = [arm for arm in found.criteria.arms if arm.reads > 1]
    for arm in arms:
        yield f"Shift by criterion and position: {arm.arm}", ordered.shift_heatmap(arm)
        if arm.carryover and arm.carryover_separable:
            yield f"The criterion read just before: {arm.arm}", ordered.carryover_forest(arm)


def _ranking(found: Gathered) -> Iterator[tuple[str, Chart]]:
    pairs = found.ranking.pairs
    if pairs:
        yield "Prompts whose winner changes", rank.flip_bars(pairs)
        yield "How far the rankings agree", rank.tau_dots(pairs)


def _comparison(found: Gathered) -> Iterator[tuple[str, Chart]]:
    result = found.comparison
    if not result.judges:
        return
    yield "Position consistency", compare.consistency_bars(result)
    yield "Preference fairness", compare.fairness_bars(result)
    yield "Consistency and fairness", compare.pc_against_pf(result)
    yield "Consistency against the win rate", compare.against_win_rate(result.judges)
    yield "Fairness against the win rate", compare.against_win_rate(result.judges, measure="pf")
    if any(len(judge.by_task) > 2 for judge in result.judges):
        yield "Consistency by task", compare.task_radar(result)
    for group in result.together:
        yield f"Agreement of judges on {group.dataset}", compare.agreement_heatmap(group)
        yield f"Disagreement on {group.dataset}", compare.disagreement_curve(group)
