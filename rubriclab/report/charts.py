"""Which charts a run has, under which heading, with what they show in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from rubriclab.figures import alignment as align
from rubriclab.figures import choice as odds
from rubriclab.figures import comparison as compare
from rubriclab.figures import criteria as ordered
from rubriclab.figures import perturbation as forms
from rubriclab.figures import position as place
from rubriclab.figures import ranking as rank
from rubriclab.figures.debiasing import debiasing_curve
from rubriclab.figures.ordering import bias_cost
from rubriclab.figures.style import Chart
from rubriclab.findings.alignment import Sweep, SweepPoint
from rubriclab.findings.debiasing import Debiased
from rubriclab.findings.perturbation import PerturbationResult
from rubriclab.findings.sentences import choice_sentence, perturbation_sentence
from rubriclab.model import Arm
from rubriclab.report.gather import Gathered


class Drawn(NamedTuple):
    """A chart under its caption. ``terms``: what has to be known to read it, by glossary key."""

    caption: str
    chart: Chart
    terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One topic of a run: its charts, and sentences that no other part of the report says."""

    title: str
    drawn: tuple[Drawn, ...]
    said: tuple[str, ...] = ()


def sections(found: Gathered) -> Iterator[Section]:
    """Every topic that the run has a chart for, in the order of the pages."""
    if "options" in found.axes:
        yield Section("Where the judge picks", tuple(_position(found)))
        yield Section("Agreement with people", tuple(_alignment(found)))
        models = [model for model in found.choice.arms if model.position]
        said = tuple(dict.fromkeys(choice_sentence(model) for model in models))
        yield Section("Causes and cures", tuple(_causes(found)), said[:6])
    if found.perturbation is not None:
        yield _forms(found.perturbation)
    if "criteria" in found.axes:
        yield Section("Order of the criteria", tuple(_criteria(found)))
    if found.axes & {"options", "criteria"}:
        yield Section("Who wins", tuple(_ranking(found)))
    if found.axes & {"pairwise", "listwise"}:
        yield Section("Pairs and lists", tuple(_comparison(found)))


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


def _position(found: Gathered) -> Iterator[Drawn]:
    arms = found.position.arms
    moved = [arm for arm in arms if arm.moves_order and arm.n_used]
    if moved:
        yield Drawn("Position selected. Without a bias all bars touch the dotted line",
                    place.selection_bars(moved), ("share", "v"))  # fmt: skip
    for arm in moved:
        yield Drawn(f"Score × position: {arm.arm}", place.heatmap(arm), ("table",))
    if arms:
        yield Drawn("Scores given", place.score_distribution(arms), ("scores_given", "read"))
    if moved:
        yield Drawn("Bias Cost of single orders",
                    bias_cost({str(arm.arm): arm.bias_cost for arm in moved}),
                    ("bias_cost", "recommended_order"))  # fmt: skip


def _alignment(found: Gathered) -> Iterator[Drawn]:
    result = found.alignment
    if not result.arms:
        return
    yield Drawn("Correlation with human ratings, by strategy", align.forest(result.arms),
                ("pearson", "used"))  # fmt: skip
    if result.comparisons:
        yield Drawn("Difference of two strategies on the same items",
                    align.difference_forest(result.comparisons), ("paired",))  # fmt: skip
    if any(len(arm.budget) > 1 for arm in result.arms):
        yield Drawn("What averaging more orders buys", align.budget_curves(result.arms),
                    ("budget",))  # fmt: skip
    for arm in result.arms:
        if len(arm.ordering_rank) > 1:
            yield Drawn(f"Single orders: {arm.arm}", align.ordering_dots(arm), ("order_rank",))
    for factor in factors(found.data.arms):
        table, name = found.sweep(factor), factor.replace("_", " ")
        yield Drawn(f"Agreement by {name}", align.sweep_lines(drawable(table)), ("sweep",))
        yield Drawn(f"Position bias by {name}", align.sweep_lines(drawable(table), measure="v"),
                    ("sweep",))  # fmt: skip


def _causes(found: Gathered) -> Iterator[Drawn]:
    models = found.choice.arms
    if any(model.position for model in models):
        yield Drawn("Odds by position", odds.position_odds(models), ("odds", "informative_pairs"))
    if any(model.label for model in models):
        yield Drawn("Odds by label", odds.label_odds(models), ("label_odds",))
    if any(model.neighbour for model in models):
        yield Drawn("Odds by the score read just before", odds.neighbour_odds(models),
                    ("neighbour_odds",))  # fmt: skip
    groups: dict[str, list[Debiased]] = {}
    for entry in found.debiasing.entries:
        name = " · ".join(p for p in (entry.judge, entry.dataset, entry.variant, entry.source) if p)
        groups.setdefault(name, []).append(entry)
    for name, entries in groups.items():
        yield Drawn(f"One corrected call: {name}", debiasing_curve(entries),
                    ("prior", "debiased", "break_even"))  # fmt: skip


def _forms(result: PerturbationResult) -> Section:
    """Does the form of the prompt move the scores: all groups that have a form to compare."""
    groups = [group for group in result.groups if len(group.perturbations) > 1]
    said = [perturbation_sentence(group) for group in groups]
    said += [one.sentence for one in result.followed]
    drawn: list[Drawn] = []
    for group in groups:
        name = f"{group.judge} · {group.dataset}"
        if group.gold is not None:
            drawn.append(Drawn(f"Agreement with gold by form: {name}",
                               forms.agreement_forest(group), ("yardstick", "change")))  # fmt: skip
        drawn += [
            Drawn(f"Scores by form of the prompt: {name}", forms.distribution_heatmap(group),
                  ("scores_given",)),
            Drawn(f"Mean shift against the baseline: {name}", forms.shift_bars(group),
                  ("mean_shift", "stable_form")),
            Drawn(f"Scores that differ from the baseline's: {name}", forms.flip_bars(group),
                  ("flips",)),
        ]  # fmt: skip
    told = [group for group in result.groups if group.reference and group.gold]
    if told:
        drawn.append(
            Drawn("With a reference answer of each score", forms.reference_lines(told), ("pull",))
        )
    models = [one.model for one in result.followed]
    if any(model.label for model in models):
        drawn.append(
            Drawn("Odds by label, labels dealt out anew", odds.label_odds(models), ("label_odds",))
        )
    return Section("Scoring bias: the form of the prompt", tuple(drawn), tuple(said))


def _criteria(found: Gathered) -> Iterator[Drawn]:
    arms = [arm for arm in found.criteria.arms if arm.reads > 1]
    for arm in arms:
        yield Drawn(f"Shift by criterion and position: {arm.arm}", ordered.shift_heatmap(arm),
                    ("shift", "delta", "friedman"))  # fmt: skip
        if arm.carryover and arm.carryover_separable:
            yield Drawn(f"The criterion read just before: {arm.arm}",
                        ordered.carryover_forest(arm), ("carryover",))  # fmt: skip
    if found.criteria.comparisons:
        yield Drawn("Agreement with people: difference of two strategies",
                    align.difference_forest(found.criteria.comparisons),
                    ("macro", "paired"))  # fmt: skip


def _ranking(found: Gathered) -> Iterator[Drawn]:
    pairs = found.ranking.pairs
    if pairs:
        yield Drawn("Prompts whose winner changes", rank.flip_bars(pairs), ("flip", "strict_flip"))
        yield Drawn("How far the rankings agree", rank.tau_dots(pairs), ("tau",))


def _comparison(found: Gathered) -> Iterator[Drawn]:
    result = found.comparison
    if not result.judges:
        return
    yield Drawn("Position consistency", compare.consistency_bars(result), ("pc", "rs", "error"))
    yield Drawn("Preference fairness", compare.fairness_bars(result), ("pf", "primacy"))
    yield Drawn("Consistency and fairness", compare.pc_against_pf(result), ("pc", "pf"))
    yield Drawn("Consistency against the win rate", compare.against_win_rate(result.judges),
                ("win_rate", "gap"))  # fmt: skip
    yield Drawn("Fairness against the win rate",
                compare.against_win_rate(result.judges, measure="pf"), ("win_rate",))  # fmt: skip
    if any(len(judge.by_task) > 2 for judge in result.judges):
        yield Drawn("Consistency by task", compare.task_radar(result), ("pc",))
    for group in result.together:
        yield Drawn(f"Agreement of judges on {group.dataset}", compare.agreement_heatmap(group),
                    ("agreement",))  # fmt: skip
        yield Drawn(f"Disagreement on {group.dataset}", compare.disagreement_curve(group),
                    ("disagreement",))  # fmt: skip
