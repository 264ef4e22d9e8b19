"""Which charts a run has, under which heading, with what they show in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rubriclab.figures import alignment as align
from rubriclab.figures import choice as odds
from rubriclab.figures import comparison as compare
from rubriclab.figures import criteria as ordered
from rubriclab.figures import perturbation as forms
from rubriclab.figures import position as place
from rubriclab.figures import ranking as rank
from rubriclab.figures.comparison_together import agreement_heatmap, disagreement_curve
from rubriclab.figures.debiasing import debiasing_curve
from rubriclab.figures.leaderboard import win_rate_dots
from rubriclab.figures.ordering import bias_cost
from rubriclab.figures.ordinal import told_twice, twice_forest
from rubriclab.figures.pulls import pulls_bars
from rubriclab.figures.rasch import places_forest, ruler
from rubriclab.figures.style import once
from rubriclab.figures.wording import component_forest, share_bars, wording_forest
from rubriclab.findings.alignment import SWEEP, AlignmentResult, Sweep, SweepPoint
from rubriclab.findings.choice import ChoiceResult
from rubriclab.findings.choice_words import choice_sentence
from rubriclab.findings.comparison import ComparisonResult
from rubriclab.findings.criteria_results import CriteriaResult
from rubriclab.findings.debiasing_results import Debiased, Debiasing
from rubriclab.findings.leaderboard import Leaderboard
from rubriclab.findings.ordinal import OrdinalResult
from rubriclab.findings.perturbation import perturbation_sentence
from rubriclab.findings.perturbation_results import PerturbationGroup, PerturbationResult
from rubriclab.findings.position_results import PositionResult
from rubriclab.findings.pulls import PullsResult
from rubriclab.findings.ranking_results import RankingResult
from rubriclab.findings.rasch_results import RaschResult
from rubriclab.findings.rasch_words import no_ruler
from rubriclab.findings.topic import Topic
from rubriclab.findings.topics import Findings
from rubriclab.findings.wording import WordingResult
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.report.charts_batch import batch_charts
from rubriclab.report.charts_people import agreement_charts, agreement_said, corrected_charts, replacement_charts
from rubriclab.report.charts_reliability import generalisability_charts, jury_charts
from rubriclab.report.drawn import Drawn as Drawn


@dataclass(frozen=True)
class Section:
    """One topic of a run: its charts, and sentences that no other part of the report says."""

    title: str
    drawn: tuple[Drawn, ...]
    said: tuple[str, ...] = ()


def sections(findings: Findings) -> Iterator[Section]:
    """The charts of every topic of the run; topics of one title share a section."""
    by_title: dict[str, list[Topic[Any]]] = {}
    for topic in findings.topics:
        if topic.key in CHARTS:
            by_title.setdefault(topic.title, []).append(topic)
    for title, topics in by_title.items():
        drawn: list[Drawn] = []
        lines: list[str] = []
        for topic in topics:
            result = findings.of(topic)
            drawn += CHARTS[topic.key](result, findings)
            lines += SAID[topic.key](result) if topic.key in SAID else ()
        yield Section(tr(title), tuple(drawn), tuple(lines))


def factors(arms: tuple[Arm, ...]) -> tuple[str, ...]:
    """The factors that a run varies: those with more than one level among its arms."""
    levels: dict[str, set[str]] = {}
    for arm in arms:
        for name, level in arm.variant.levels:
            levels.setdefault(name, set()).add(str(level))
    return tuple(name for name, known in levels.items() if len(known) > 1)


@once  # the same table for the same sweep, so that its charts are drawn once too
def drawable(table: Sweep) -> Sweep:
    """The sweep's lines that have two levels or more, number levels in ascending order."""
    lines: dict[tuple[str, str, str, str], list[SweepPoint]] = {}
    for point in table.points:
        line = (point.judge, point.dataset, point.strategy, point.others)
        lines.setdefault(line, []).append(point)
    numbers = all(isinstance(level, int | float) for level in table.levels)
    levels = tuple(sorted(table.levels)) if numbers else table.levels
    kept = [sorted(line, key=lambda point: levels.index(point.level)) for line in lines.values() if len(line) > 1]
    return replace(table, levels=levels, points=tuple(chain.from_iterable(kept)))


def _position(result: PositionResult, findings: Findings) -> Iterator[Drawn]:
    judges = findings.data.judges
    arms = result.arms
    moved = [arm for arm in arms if arm.moves_order and arm.n_used]
    if moved:
        smallest = max(arm.shift.mean.sesoi for arm in moved)
        yield Drawn(
            tr("By how many points the order moves scores"),
            place.shift_forest(moved, smallest),
            ("order_shift", "extremes", "single_shift", "sesoi"),
        )
    for arm in moved:
        yield Drawn(
            tr("Pull of each place: {arm}", arm=arm.arm), place.pull_bars(arm, run_judges=judges), ("place_pull",)
        )
    if moved:
        yield Drawn(
            tr("Position selected. Without a bias all bars touch the dotted line"),
            place.selection_bars(moved, run_judges=judges),
            ("share", "v"),
        )
    for arm in moved:
        yield Drawn(tr("Score × position: {arm}", arm=arm.arm), place.heatmap(arm), ("table",))
    if arms:
        yield Drawn(tr("Scores given"), place.score_distribution(arms, run_judges=judges), ("scores_given", "read"))
    if moved:
        yield Drawn(
            tr("Bias Cost of single orders"),
            bias_cost({str(arm.arm): arm.bias_cost for arm in moved}),
            ("bias_cost", "recommended_order"),
        )


def _alignment(result: AlignmentResult, findings: Findings) -> Iterator[Drawn]:
    if not result.arms:
        return
    yield Drawn(tr("Correlation with human ratings, by strategy"), align.forest(result.arms), ("pearson", "used"))
    if result.comparisons:
        yield Drawn(
            tr("Difference of two strategies on the same items"),
            align.difference_forest(result.comparisons),
            ("paired",),
        )
    if any(len(arm.budget) > 1 and arm.correlates for arm in result.arms):
        yield Drawn(tr("What averaging more orders buys"), align.budget_curves(result.arms), ("budget",))
    if any(arm.reliability for arm in result.arms):
        yield Drawn(
            tr("How reliable a mean over so many reads is"), align.reliability_curves(result.arms), ("reliability",)
        )
    for arm in result.arms:
        if len(arm.ordering_rank) > 1:
            yield Drawn(tr("Single orders: {arm}", arm=arm.arm), align.ordering_dots(arm), ("order_rank",))
    for factor in factors(findings.data.arms):
        table, name = findings.of(SWEEP, factor=factor), tr(factor.replace("_", " "))
        yield Drawn(tr("Agreement by {name}", name=name), align.sweep_lines(drawable(table)), ("sweep",))
        yield Drawn(
            tr("Position bias by {name}", name=name), align.sweep_lines(drawable(table), measure="v"), ("sweep",)
        )


def _choice(result: ChoiceResult, findings: Findings) -> Iterator[Drawn]:
    judges = findings.data.judges
    models = result.arms
    if any(model.position for model in models):
        yield Drawn(
            tr("Odds by position"), odds.position_odds(models, run_judges=judges), ("odds", "informative_pairs")
        )
    if any(model.label for model in models):
        yield Drawn(tr("Odds by label"), odds.label_odds(models, run_judges=judges), ("label_odds",))
    if any(model.neighbour for model in models):
        yield Drawn(
            tr("Odds by the score read just before"),
            odds.neighbour_odds(models, run_judges=judges),
            ("neighbour_odds",),
        )


def _rasch(result: RaschResult, findings: Findings) -> Iterator[Drawn]:
    for scale in result.scales:
        if not no_ruler(scale):
            terms = ("rasch", "logit", "mean_squares", "separation")
            yield Drawn(
                tr("Ruler of texts, judges and places: {dataset}", dataset=scale.dataset),
                ruler(scale, run_judges=findings.data.judges),
                terms,
            )
    for arm in result.arms:
        if arm.places:
            yield Drawn(tr("Places by two models: {arm}", arm=arm.arm), places_forest(arm), ("rasch_place", "odds"))


def _ordinal(result: OrdinalResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    if told_twice(result):
        yield Drawn(
            tr("Conclusions with scores as numbers and as ranks"), twice_forest(result), ("ordinal", "dominance")
        )


def _debiasing(result: Debiasing, findings: Findings) -> Iterator[Drawn]:
    del findings
    groups: dict[str, list[Debiased]] = {}
    for entry in result.entries:
        name = " · ".join(p for p in (entry.judge, entry.dataset, entry.variant, entry.source) if p)
        groups.setdefault(name, []).append(entry)
    for name, entries in groups.items():
        yield Drawn(
            tr("One corrected call: {name}", name=name), debiasing_curve(entries), ("prior", "debiased", "break_even")
        )


def _perturbation(result: PerturbationResult, findings: Findings) -> Iterator[Drawn]:
    """All groups that have a form to compare."""
    judges = findings.data.judges
    groups = _with_forms(result)
    for group in groups:
        name = f"{group.judge} · {group.dataset}"
        if group.gold is not None and group.correlates:
            yield Drawn(
                tr("Agreement with gold by form: {name}", name=name),
                forms.agreement_forest(group),
                ("yardstick", "change"),
            )
        yield Drawn(
            tr("Scores by form of the prompt: {name}", name=name), forms.distribution_heatmap(group), ("scores_given",)
        )
        yield Drawn(
            tr("Mean shift against the baseline: {name}", name=name),
            forms.shift_bars(group),
            ("mean_shift", "stable_form"),
        )
        yield Drawn(tr("Scores that differ from the baseline's: {name}", name=name), forms.flip_bars(group), ("flips",))
    referred = [group for group in result.groups if group.reference and group.gold]
    if referred:
        yield Drawn(
            tr("With a reference answer of each score"), forms.reference_lines(referred, run_judges=judges), ("pull",)
        )
    models = [one.model for one in result.followed]
    if any(model.label for model in models):
        yield Drawn(
            tr("Odds by label, labels dealt out anew"), odds.label_odds(models, run_judges=judges), ("label_odds",)
        )


def _wording(result: WordingResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    known = [group for group in result.groups if group.components]
    if known:
        yield Drawn(tr("What the scores vary with"), share_bars(known), ("variance_component", "prompt_sensitivity"))
    for group in known:
        name = " · ".join(filter(None, (group.judge, group.dataset, group.setting)))
        yield Drawn(tr("Shares of the variance: {name}", name=name), component_forest(group), ("variance_component",))
        yield Drawn(tr("Mean score by wording: {name}", name=name), wording_forest(group), ("wording_shift", "sesoi"))


def _pulls(result: PullsResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    for group in result.groups:
        yield Drawn(
            tr("What makes the order matter: {about}", about=group.about), pulls_bars(group), ("pull_change", "sesoi")
        )


def _criteria(result: CriteriaResult, findings: Findings) -> Iterator[Drawn]:
    judges = findings.data.judges
    arms = [arm for arm in result.arms if arm.reads > 1]
    for arm in arms:
        if arm.varied:
            yield Drawn(
                tr("Read first instead of last: {arm}", arm=arm.arm),
                ordered.place_forest(arm, run_judges=judges),
                ("first_less_last", "rms_shift"),
            )
        yield Drawn(
            tr("Shift by criterion and position: {arm}", arm=arm.arm),
            ordered.shift_heatmap(arm),
            ("shift", "delta", "friedman"),
        )
        if arm.carryover and arm.carryover_separable:
            yield Drawn(
                tr("The criterion read just before: {arm}", arm=arm.arm),
                ordered.carryover_forest(arm, run_judges=judges),
                ("carryover",),
            )
    if result.comparisons:
        yield Drawn(
            tr("Agreement with people: difference of two strategies"),
            align.difference_forest(result.comparisons),
            ("macro", "paired"),
        )


def _ranking(result: RankingResult, findings: Findings) -> Iterator[Drawn]:
    del findings
    pairs = result.pairs
    if pairs:
        yield Drawn(
            tr("Prompts whose winner changes, and in the same order read twice"),
            rank.change_dots(pairs),
            ("winner_noise",),
        )
        yield Drawn(
            tr("Prompts whose winner changes, over all reads, noise included"),
            rank.flip_bars(pairs),
            ("flip", "strict_flip"),
        )
        yield Drawn(tr("How far the rankings agree"), rank.tau_dots(pairs), ("tau",))


def _comparison(result: ComparisonResult, findings: Findings) -> Iterator[Drawn]:
    judges = findings.data.judges
    if not result.judges:
        return
    yield Drawn(tr("Advantage of the first place"), compare.advantage_bars(result), ("advantage",))
    if all(judge.pc != judge.pc for judge in result.judges):
        return  # no comparison was read in every order
    yield Drawn(tr("Position consistency"), compare.consistency_bars(result), ("pc", "rs", "error"))
    yield Drawn(tr("Preference fairness"), compare.fairness_bars(result), ("pf", "primacy"))
    yield Drawn(tr("Consistency and fairness"), compare.pc_against_pf(result, run_judges=judges), ("pc", "pf"))
    yield Drawn(
        tr("Consistency against the win rate"),
        compare.against_win_rate(result.judges, run_judges=judges),
        ("win_rate", "gap"),
    )
    yield Drawn(
        tr("Fairness against the win rate"),
        compare.against_win_rate(result.judges, measure="pf", run_judges=judges),
        ("win_rate",),
    )
    if any(len(judge.by_task) > 2 for judge in result.judges):
        yield Drawn(tr("Consistency by task"), compare.task_radar(result, run_judges=judges), ("pc",))
    for group in result.together:
        yield Drawn(
            tr("Agreement of judges on {dataset}", dataset=group.dataset),
            agreement_heatmap(group),
            ("agreement", "beyond_chance"),
        )
        yield Drawn(
            tr("Disagreement on {dataset}", dataset=group.dataset), disagreement_curve(group), ("disagreement",)
        )


def _leaderboard(result: tuple[Leaderboard, ...], findings: Findings) -> Iterator[Drawn]:
    del findings
    for board in result:
        if board.design == "one random order":
            name = " · ".join(part for part in (board.judge, board.dataset, board.variant) if part)
            yield Drawn(tr("Win rates under both orders: {name}", name=name), win_rate_dots(board), ("both_orders",))


# ---------------------------------------------------------------- sentences beside the charts


def _with_forms(result: PerturbationResult) -> list[PerturbationGroup]:
    return [group for group in result.groups if len(group.perturbations) > 1]


def _choice_said(result: ChoiceResult) -> Iterable[str]:
    models = [model for model in result.arms if model.position]
    return list(dict.fromkeys(choice_sentence(model) for model in models))[:6]


def _perturbation_said(result: PerturbationResult) -> Iterable[str]:
    followed = [one.sentence for one in result.followed]
    return [*(perturbation_sentence(group) for group in _with_forms(result)), *followed]


CHARTS: Mapping[str, Callable[[Any, Findings], Iterable[Drawn]]] = {
    "position": _position,
    "alignment": _alignment,
    "agreement": agreement_charts,
    "choice": _choice,
    "rasch": _rasch,
    "ordinal": _ordinal,
    "debiasing": _debiasing,
    "perturbation": _perturbation,
    "wording": _wording,
    "pulls": _pulls,
    "generalisability": generalisability_charts,
    "jury": jury_charts,
    "criteria": _criteria,
    "batch": lambda result, findings: batch_charts(result, findings.data.judges),
    "ranking": _ranking,
    "comparison": _comparison,
    "leaderboard": _leaderboard,
    "replacement": replacement_charts,
    "corrected_means": corrected_charts,
}
"""The charts of a topic's result, by the topic's key."""
SAID: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "agreement": agreement_said,
    "choice": _choice_said,
    "perturbation": _perturbation_said,
}
"""What stands above a topic's charts, where no other part of the report says it."""
