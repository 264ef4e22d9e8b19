"""Every table and figure of the two rubric papers, from plan to report, with planted effects.

Simulated judges with known position, criterion-position and carryover effects are asked
through plan, runner and store; what the findings say must hold what was planted within its
interval, and a judge without effects must not be accused.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rubriclab.figures.alignment import budget_curves, difference_forest, forest, ordering_dots, sweep_lines
from rubriclab.figures.criteria import carryover_forest, shift_heatmap
from rubriclab.figures.ordering import bias_cost
from rubriclab.figures.position import heatmap, selection_bars
from rubriclab.figures.ranking import flip_bars, tau_dots
from rubriclab.findings.alignment import ALIGNMENT, sweep
from rubriclab.findings.choice import CHOICE
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.position import POSITION
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.ranking import RANKING
from rubriclab.findings.topics import Findings, document
from rubriclab.judges.choice_model import item_quality, true_probabilities, utilities
from rubriclab.judges.effects import Effects, read_effects
from rubriclab.model import (
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    Rubric,
    RunData,
    Sampling,
    ScoreOption,
    Strategy,
    Study,
    designs,
)
from rubriclab.report import Source, as_text
from rubriclab.report.page import html_report
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store

SCORES = (1, 2, 3, 4, 5)
FRONT: dict[str, Any] = {"position": {"first": 1.2}, "quality_weight": 0.35, "quality_noise": 0.15, "seed": 4}
EVEN: dict[str, Any] = {"quality_weight": 0.35, "quality_noise": 0.15, "seed": 5}
NAMES = ("Style", "Depth", "Empathy", "Surprise")
FIRST, CARRIED = 0.6, 0.8
CARRIES: dict[str, Any] = {"criterion_position": {"first": FIRST}, "carryover": {"Style": CARRIED}, "seed": 3}


def simulated(name: str, options: Mapping[str, Any], **sampling: Any) -> Judge:
    return Judge(name, "simulated", "simulated", options=options, sampling=Sampling(**sampling))


def criterion(name: str = "Quality", n: int = 5) -> Criterion:
    options = tuple(ScoreOption(s, f"{name}, level {s} of {n}") for s in range(1, n + 1))
    return Criterion(name, options, f"How good the {name.lower()} is")


def rated_items(prompts: int, candidates: int = 5, *, seed: int = 0) -> tuple[Item, ...]:
    """Answers of several candidates to each prompt; three raters around a latent quality."""
    rng = random.Random(seed)
    items = []
    for p in range(prompts):
        for c in range(candidates):
            level = 1 + 4 * rng.random()
            human = tuple(float(min(5, max(1, round(level + rng.gauss(0, 0.6))))) for _ in range(3))
            items.append(
                Item(
                    f"p{p}c{c}", f"Task {p}", f"Answer {c} to task {p}", None, None, f"p{p}", f"writer {c}", None, human
                )
            )
    return tuple(items)


@dataclass(frozen=True)
class Done:
    """A finished run: what was asked and all that came of it."""

    study: Study
    data: RunData

    @cached_property
    def found(self) -> Findings:
        return Findings(self.data)

    @cached_property
    def document(self) -> dict[str, Any]:
        return document(self.found)

    def position(self, judge: str, strategy: str) -> PositionArm:
        return next(a for a in self.found.of(POSITION).arms if (a.arm.judge, a.arm.strategy) == (judge, strategy))


def finished(study: Study) -> Done:
    with Store(":memory:") as store:
        last = RunManager(store).start(study).wait(300)
        assert last.state == "finished"
        assert last.done == last.planned > 0
        return Done(study, store.frame(last.run, probabilities=True))


def criteria_items(texts: int, *, seed: int = 1) -> tuple[Item, ...]:
    """Texts in the middle of the scale, where a shift in points is a shift of the mean."""
    rng = random.Random(seed)
    return tuple(
        Item(
            f"t{t}:{name}",
            f"Write about {t}.",
            f"Text number {t}",
            name,
            f"t{t}",
            f"p{t // 4}",
            f"writer {t % 4}",
            None,
            (2.5 + rng.random(), 2.5 + rng.random(), 2.5 + rng.random()),
        )
        for t in range(texts)
        for name in NAMES
    )


@pytest.fixture(scope="module")
def options() -> Done:
    """Setting 1: a judge drawn to the first position and one that is not, three strategies."""
    return finished(
        Study(
            "setting 1",
            Dataset("answers", rated_items(24)),
            (simulated("front", FRONT), simulated("even", EVEN)),
            Design(strategies=(Strategy("balanced"), Strategy("random"), Strategy("fixed"))),
            Rubric("quality", (criterion(),)),
        )
    )


@pytest.fixture(scope="module")
def criteria() -> Done:
    """Setting 2: four criteria a call, shifted at the first place and after Style."""
    names = ("balanced", "williams", "random", "fixed")
    return finished(
        Study(
            "setting 2",
            Dataset("texts", criteria_items(60)),
            (simulated("carries", CARRIES), simulated("steady", {"seed": 9})),
            Design(axis="criteria", strategies=tuple(Strategy(n, reads=8) for n in names)),  # type: ignore[arg-type]
            Rubric("four", tuple(map(criterion, NAMES))),
        )
    )


@pytest.fixture(scope="module")
def scales() -> Done:
    """Four scales from one rubric, as one study."""
    return finished(
        Study(
            "scales",
            Dataset("answers", rated_items(12, seed=2)),
            (simulated("front", FRONT), simulated("even", EVEN)),
            Design(strategies=(Strategy("balanced"),), factors={"scale": (5, 2, 3, 9)}),
            Rubric("quality", (criterion(),)),
        )
    )


@pytest.fixture(scope="module")
def sweeps() -> Done:
    """Temperature and reasoning effort, one factor at a time."""
    return finished(
        Study(
            "sweeps",
            Dataset("answers", rated_items(12, seed=3)),
            (simulated("front", {**FRONT, "noise": "sampling", "seed": 14}, temperature=1.0),),
            Design(
                strategies=(Strategy("balanced"),),
                factors={"temperature": (1.0, 0.4, 2.5), "reasoning_effort": ("low", "high")},
            ),
            Rubric("quality", (criterion(),)),
        )
    )


def true_shares(
    done: Done, options: Mapping[str, Any], scores: Sequence[int], *, noise: float = 1.0
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How often each position is picked under the balanced design, by the planted model."""
    effects = read_effects(options)
    lines = designs.orderings(Strategy("balanced"), scores)
    total = np.zeros(len(scores))
    for code, item in enumerate(done.study.dataset.items):
        quality = float(item_quality(done.study)[code])
        quality += random.Random(f"perceived|{effects.seed}|{item.item_id}").gauss(0.0, effects.quality_noise)
        found = utilities(effects, shown=lines, scores=scores, quality=[quality] * len(lines))
        total += true_probabilities(found, noise=noise).mean(axis=0)
    return np.asarray(total / len(done.study.dataset.items))


# ---------------------------------------------------------------- setting 1


@pytest.mark.slow
def test_position_lines_and_the_chi2_table(options: Done) -> None:
    front, even = options.position("front", "balanced"), options.position("even", "balanced")
    for arm, planted in ((front, FRONT), (even, EVEN)):
        truth, where = true_shares(options, planted, SCORES), arm.position
        # Five intervals of 95 %; together they miss about one time in five, so one may.
        inside = [ci.low <= t <= ci.high for ci, t in zip(where.share_ci, truth, strict=True)]
        assert sum(inside) >= 4
        assert abs(where.share - truth).max() < 0.03
        expected = stats.chisquare(where.counts)
        assert where.chi2 == pytest.approx(expected.statistic)
        assert where.chi2_p == pytest.approx(expected.pvalue)
        n = int(where.counts.sum())
        assert where.cramers_v == pytest.approx(np.sqrt(where.chi2 / (n * 4)))
    assert front.shift.pulls[0].clear
    assert front.shift.pulls[0].value > 0
    assert front.position.p_holm < 1e-6
    assert even.shift.mean.verdict != "effect"
    bars = selection_bars([front, even])
    drawn = [np.asarray(trace.y, dtype=float) for trace in bars.figure.data if len(trace.y) == 5]
    assert any(np.allclose(y, front.position.share) for y in drawn)


@pytest.mark.slow
def test_score_by_position_of_several_judges_side_by_side(options: Done) -> None:
    effects = read_effects(FRONT)
    arm = options.position("front", "balanced")
    assert np.allclose(arm.table.share.sum(axis=1), 1.0)
    assert (arm.table.share[:, 0] > 0.2).all()
    assert effects.at_positions(5).argmax() == 0
    # The planted table: choices of each score at each position, expected over the design.
    lines = designs.orderings(Strategy("balanced"), SCORES)
    joint = np.zeros((5, 5))
    for code, item in enumerate(options.study.dataset.items):
        quality = float(item_quality(options.study)[code])
        name = f"perceived|{effects.seed}|{item.item_id}"
        quality += random.Random(name).gauss(0.0, effects.quality_noise)
        p = true_probabilities(utilities(effects, shown=lines, scores=SCORES, quality=[quality] * len(lines)))
        for line, row in zip(lines, p, strict=True):
            joint[[s - 1 for s in line], range(5)] += row
    truth = joint / joint.sum(axis=1, keepdims=True)
    inside = [arm.table.ci[s][p].low <= truth[s, p] <= arm.table.ci[s][p].high for s in range(5) for p in range(5)]
    assert sum(inside) >= 21
    for one in options.found.of(POSITION).arms:
        assert heatmap(one).figure.data
    rows = {a["judge"]: a["table"]["share"] for a in options.document["arms"]}
    assert set(rows) == {"front", "even"}


def test_bias_cost_and_ordering_recommendation(options: Done) -> None:
    arm = options.position("front", "balanced")
    cost, share = arm.bias_cost, arm.table.share

    def by_hand(order: Sequence[int]) -> float:
        return 100 * sum(abs(share[s - 1, p] - 0.2) for p, s in enumerate(order))

    assert cost.default.cost == pytest.approx(by_hand(SCORES))
    assert cost.best.cost == pytest.approx(min(map(by_hand, permutations(SCORES))))
    rotations = [np.roll(line, -k) for line in (SCORES, SCORES[::-1]) for k in range(5)]
    assert cost.cyclic_best.cost == pytest.approx(min(by_hand(line.tolist()) for line in rotations))
    even = options.position("even", "balanced").bias_cost
    assert cost.default.cost > even.default.cost + 10
    chart = bias_cost({"front": cost, "even": even})
    assert chart.figure.data


def test_every_named_ordering_has_its_rank_in_correlation_where_all_orders_were_read() -> None:
    done = finished(
        Study(
            "orders",
            Dataset("answers", rated_items(8, seed=6)),
            (simulated("front", FRONT),),
            Design(strategies=(Strategy("all"),)),
            Rubric("quality", (criterion(n=4),)),
        )
    )
    cost = done.found.of(POSITION).arms[0].bias_cost
    ranks = {o.ordering: o for o in done.found.of(ALIGNMENT).arms[0].ordering_rank}
    assert len(ranks) == 24
    for named in (cost.default, cost.cyclic_best, cost.best):
        assert ranks[named.ordering].rank is not None
    best = max(ranks.values(), key=lambda o: o.r)
    assert best.rank == 1
    rows = done.data.judgments
    human = done.data.items["human"].to_numpy()
    one = [i for i, o in enumerate(done.data.orderings) if o.shown == cost.best.ordering]
    mine = rows[rows["ordering"].isin(one)]
    r = stats.pearsonr(mine["score"].astype(float), human[mine["item"]]).statistic
    assert ranks[cost.best.ordering].r == pytest.approx(r)
    assert done.found.of(ALIGNMENT).arms[0].canonical_rank == ranks[(1, 2, 3, 4)].rank
    assert ordering_dots(done.found.of(ALIGNMENT).arms[0]).figure.data


def test_within_item_sigma_permuted_beside_fixed(options: Done) -> None:
    front, even = options.position("front", "balanced"), options.position("even", "balanced")
    fixed = options.position("front", "fixed")
    assert front.noise_floor is not None
    assert even.noise_floor is not None
    rows = options.data.judgments
    code = list(options.data.arms).index(fixed.arm)
    by_item = rows[rows["arm"] == code].groupby("item")["score"].std(ddof=1)
    assert fixed.within_item_sd.mean == pytest.approx(float(by_item.mean()), rel=1e-5)
    assert front.noise_floor.excess_ci.low > 0
    assert even.noise_floor.excess_ci.low <= 0 <= even.noise_floor.excess_ci.high


def test_alignment_by_strategy_paired_differences_and_budget(options: Done) -> None:
    found = options.found.of(ALIGNMENT)
    human = options.data.items["human"].to_numpy()
    for arm in found.arms:
        rows = options.data.judgments[options.data.judgments["arm"] == arm.code]
        mean = rows.groupby("item")["score"].mean()
        r = stats.pearsonr(mean.to_numpy(), human[mean.index]).statistic
        rho = stats.spearmanr(mean.to_numpy(), human[mean.index]).statistic
        assert arm.pearson.r == pytest.approx(r, abs=1e-6)
        assert arm.spearman.r == pytest.approx(rho, abs=1e-6)
        assert arm.pearson.ci.low < r < arm.pearson.ci.high
        assert [point.k for point in arm.budget] == list(range(1, 11))
        assert arm.budget[-1].mean_r == pytest.approx(arm.pearson.r)
        assert arm.budget[0].mean_r < arm.budget[2].mean_r < arm.budget[-1].mean_r
        assert arm.raters is not None
        assert 0.5 < arm.raters.alpha < 0.95
    pairs = {(c.judge, c.a, c.b): c for c in found.comparisons}
    assert {("front", "balanced", "random"), ("front", "balanced", "fixed")} <= set(pairs)
    lost = pairs["front", "balanced", "fixed"]
    assert lost.delta_r > 0
    assert lost.ci.low <= lost.delta_r <= lost.ci.high
    charts = (forest(found.arms), difference_forest(found.comparisons), budget_curves(found.arms))
    assert all(chart.figure.data and chart.alt for chart in charts)


def test_the_planted_log_odds_are_recovered(options: Done) -> None:
    planted = Effects(position={"first": 1.2}).at_positions(5)
    for model in options.found.of(CHOICE).arms:
        if model.strategy == "fixed":
            assert model.identified["position"] == "no"
            continue
        truth = planted - planted.mean() if model.judge == "front" else np.zeros(5)
        for level, value in zip(model.position, truth, strict=True):
            assert level.ci.low - 0.05 <= value <= level.ci.high + 0.05
            assert abs(level.log_odds - value) < 0.3


def test_rank_reversal_between_strategies(options: Done) -> None:
    items = options.data.items
    for pair in options.found.of(RANKING).pairs:
        means = []
        for strategy in (pair.a, pair.b):
            code = next(
                i for i, arm in enumerate(options.data.arms) if (arm.judge, arm.strategy) == (pair.judge, strategy)
            )
            rows = options.data.judgments[options.data.judgments["arm"] == code]
            means.append(rows.groupby("item")["score"].mean().reindex(items.index))
        taus, flips = [], 0
        for _, members in items.groupby("prompt", observed=True).groups.items():
            a, b = means[0].loc[members].to_numpy(), means[1].loc[members].to_numpy()
            taus.append(stats.kendalltau(a, b).statistic)
            flips += not set(np.flatnonzero(a == a.max())) & set(np.flatnonzero(b == b.max()))
        assert pair.kendall_tau.value == pytest.approx(float(np.nanmean(taus)))
        assert pair.flip_count == flips
        assert pair.top1_flip.value == pytest.approx(flips / 24)
        assert pair.top1_flip_strict.value >= pair.top1_flip.value
        assert len(pair.flips) == flips
        assert pair.best_of.candidates == 5
    assert flip_bars(options.found.of(RANKING).pairs).figure.data
    assert tau_dots(options.found.of(RANKING).pairs).figure.data


def test_a_judge_that_order_never_moves_reverses_nothing() -> None:
    done = finished(
        Study(
            "calm",
            Dataset("answers", rated_items(6, seed=8)),
            (simulated("calm", {"noise": 0.0}),),
            Design(),
            Rubric("quality", (criterion(),)),
        )
    )
    (pair,) = done.found.of(RANKING).pairs
    assert (pair.kendall_tau.value, pair.top1_flip.value, pair.flip_count) == (1.0, 0.0, 0)
    assert done.found.of(POSITION).arms[0].noise_floor is not None
    assert done.found.of(POSITION).arms[0].within_item_sd.mean == 0.0


# ---------------------------------------------------------------- scales and sweeps


def test_scales_from_one_rubric_in_one_study(scales: Done) -> None:
    table = sweep(scales.data, "scale")
    assert table.levels == (5, 2, 3, 9)
    for arm in scales.found.of(POSITION).arms:
        n = arm.arm.variant.get("scale")
        assert arm.arm.scores == tuple(range(1, n + 1))
        planted = FRONT if arm.arm.judge == "front" else EVEN
        truth = true_shares(scales, planted, arm.arm.scores)
        assert abs(arm.position.share - truth).max() < 0.06
        v = np.sqrt(n * ((truth - 1 / n) ** 2).sum() / (n - 1))
        assert arm.position.v_ci.low <= v <= arm.position.v_ci.high
    points = {(p.judge, p.level): p for p in table.points}
    assert all(p.n_options == level for (_, level), p in points.items())
    assert all(points["front", n].cramers_v > points["even", n].cramers_v for n in (2, 3, 5, 9))
    for measure in ("v", "r"):
        assert len(sweep_lines(table, measure=measure).figure.data) >= 2


@pytest.mark.slow
def test_sweeps_over_temperature_and_reasoning_effort(sweeps: Done) -> None:
    table = sweep(sweeps.data, "temperature")
    assert table.levels == (1.0, 0.4, 2.5)
    for arm in sweeps.found.of(POSITION).arms:
        noise = arm.arm.variant.get("temperature")
        truth = true_shares(sweeps, {**FRONT, "seed": 14}, SCORES, noise=noise)
        v = np.sqrt(5 * ((truth - 0.2) ** 2).sum() / 4)
        assert arm.position.v_ci.low <= v <= arm.position.v_ci.high
    effort = sweep(sweeps.data, "reasoning_effort")
    assert effort.levels == ("low", "high")
    base = {(p.level, p.others) for p in effort.points}
    assert ("low", "temperature=1.0") in base
    assert sweep_lines(effort).figure.data
    variants = [a["variant"] for a in sweeps.document["arms"]]
    assert {"temperature": 2.5, "reasoning_effort": "low"} in variants


# ---------------------------------------------------------------- setting 2


def planted_shift(name: str, lines: Sequence[Sequence[str]]) -> list[float]:
    """A criterion's expected mean at each place less its mean over places."""
    cells: list[list[float]] = [[] for _ in NAMES]
    for line in lines:
        place = list(line).index(name)
        after = place > 0 and line[place - 1] == "Style"
        cells[place].append(FIRST * (place == 0) + CARRIED * after)
    means = [float(np.mean(cell)) for cell in cells]
    overall = float(np.mean([x for cell in cells for x in cell]))
    return [mean - overall for mean in means]


@pytest.mark.parametrize("strategy", ["balanced", "williams"])
def test_criterion_heatmap_delta_pos_and_friedman(criteria: Done, strategy: str) -> None:
    lines = designs.orderings(Strategy(strategy), NAMES)  # type: ignore[arg-type]
    inside = 0
    for arm in criteria.found.of(CRITERIA).arms:
        if arm.arm.strategy != strategy:
            continue
        planted = arm.arm.judge == "carries"
        for effect in arm.criteria:
            truth = planted_shift(effect.criterion, lines) if planted else [0.0] * 4
            inside += sum(ci.low <= t <= ci.high for ci, t in zip(effect.shift_ci, truth, strict=True))
            assert np.abs(np.array(effect.shift) - truth).max() < 0.25
            spread = max(effect.shift) - min(effect.shift)
            assert effect.delta_pos == pytest.approx(spread)
            assert (effect.friedman.blocks, effect.friedman.df) == (60, 3)
        assert (arm.significant, arm.tested) == (4, 4) if planted else arm.significant <= 1
        assert arm.significant_holm <= arm.significant
        assert arm.delta_max >= arm.delta_mean
        assert shift_heatmap(arm).figure.data
    assert inside >= 28  # of 32 intervals of 95 %


def test_friedman_is_scipys(criteria: Done) -> None:
    arm = next(a for a in criteria.found.of(CRITERIA).arms if a.arm.strategy == "williams")
    rows = criteria.data.judgments
    rows = rows[(rows["arm"] == arm.code) & (rows["status"] == 0)]
    items = criteria.data.items
    for effect in arm.criteria:
        mine = rows[(items["criterion"] == effect.criterion).to_numpy()[rows["item"]]]
        table = mine.pivot_table(index="item", columns="position", values="score", aggfunc="mean")
        expected = stats.friedmanchisquare(*table.to_numpy().T)
        assert effect.friedman.statistic == pytest.approx(expected.statistic)
        assert effect.friedman.p == pytest.approx(expected.pvalue)


def test_carryover_shows_under_williams_and_is_not_claimed_elsewhere(criteria: Done) -> None:
    arms = {(a.arm.judge, a.arm.strategy): a for a in criteria.found.of(CRITERIA).arms}
    assert not arms["carries", "fixed"].carryover_separable
    found = arms["carries", "williams"]
    assert found.carryover_separable
    mean = CARRIED / len(NAMES)
    for row in found.carryover:
        truth = (CARRIED if row.before == "Style" else 0.0) - mean
        assert row.ci.low - 0.02 <= truth <= row.ci.high + 0.02
        assert abs(row.effect - truth) < 0.2
    assert min(found.carryover, key=lambda row: row.p_holm).before == "Style"
    assert all(row.p_holm > 0.05 for row in arms["steady", "williams"].carryover)
    assert carryover_forest(found).figure.data


@pytest.mark.slow
def test_macro_alignment_at_equal_budget(criteria: Done) -> None:
    items, rows = criteria.data.items, criteria.data.judgments
    for arm in criteria.found.of(CRITERIA).arms:
        assert arm.reads == 8
        assert arm.alignment is not None
        mine = rows[rows["arm"] == arm.code].groupby("item")["score"].mean()
        each = []
        for name in NAMES:
            codes = items.index[items["criterion"] == name]
            each.append(stats.pearsonr(mine.loc[codes], items.loc[codes, "human"]).statistic)
        assert arm.alignment.pearson.r == pytest.approx(float(np.mean(each)), abs=1e-6)
    pairs = {(c.judge, c.a, c.b) for c in criteria.found.of(CRITERIA).comparisons}
    assert {("carries", "balanced", "random"), ("carries", "balanced", "fixed")} <= pairs
    assert all(c.reads_a == c.reads_b == 8 for c in criteria.found.of(CRITERIA).comparisons)
    assert {(p.a, p.b) for p in criteria.found.of(RANKING).pairs} >= {("balanced", "fixed")}


def test_criteria_on_another_scale_than_the_rubrics() -> None:
    done = finished(
        Study(
            "nine",
            Dataset("texts", criteria_items(10)),
            (simulated("carries", CARRIES),),
            Design(axis="criteria", strategies=(Strategy("balanced"),), factors={"scale": (5, 9, 3)}),
            Rubric("four", tuple(map(criterion, NAMES))),
        )
    )
    for arm in done.found.of(CRITERIA).arms:
        n = arm.arm.variant.get("scale")
        given = done.data.judgments.loc[done.data.judgments["arm"] == arm.code, "score"]
        assert arm.unread == 0
        assert arm.arm.scores == tuple(range(1, n + 1))
        assert given.between(1, n).all()
        # Middling texts: the mean stands in the middle of whatever scale they were rated on.
        assert float(given.mean()) == pytest.approx((n + 1) / 2 + 0.3, abs=0.35)


# ---------------------------------------------------------------- results --json and the report

COMPARISON = {"judge", "dataset", "a", "b", "delta_r", "ci", "n_items"}
REVERSAL = {"judge", "dataset", "a", "b", "kendall_tau", "top1_flip", "top1_flip_strict", "prompts", "excluded"}


def arms_of(*runs: Done) -> Iterator[dict[str, Any]]:
    for run in runs:
        yield from run.document["arms"]


def test_results_have_the_agreed_keys(options: Done, criteria: Done) -> None:
    for arm in arms_of(options, criteria):
        assert {"alignment", "ordering_rank", "budget", "criteria"} <= set(arm)
        aligned = arm["alignment"]
        assert {"n_items", "excluded", "pearson", "spearman", "raters"} <= set(aligned)
        assert set(aligned["pearson"]) == set(aligned["spearman"]) == {"r", "ci"}
        assert set(aligned["raters"]) == {"alpha", "leave_one_out_r"}
        assert len(aligned["pearson"]["ci"]) == 2
    for arm in arms_of(options):
        assert all({"ordering", "r", "rank"} <= set(o) for o in arm["ordering_rank"])
        assert [set(b) for b in arm["budget"]] == [{"k", "mean_r", "low", "high"}] * 10
        assert len(arm["ordering_rank"]) >= 1
    for arm in arms_of(criteria):
        assert len(arm["criteria"]) == 4
        for one in arm["criteria"]:
            assert {"criterion", "positions", "shift", "delta_pos", "friedman"} <= set(one)
            assert set(one["friedman"]) == {"statistic", "df", "p", "p_holm", "blocks", "excluded"}
    for run in (options, criteria):
        assert run.document["comparisons"]
        assert run.document["rank_reversal"]
        assert all(set(c) >= COMPARISON for c in run.document["comparisons"])
        assert all(set(c) >= REVERSAL for c in run.document["rank_reversal"])


@pytest.mark.slow
def test_the_report_holds_the_tables_and_the_advice(options: Done, criteria: Done) -> None:
    for run in (options, criteria):
        text, page = as_text(run.document), html_report([Source(run.data)])
        for judge in run.study.judges:
            assert judge.name in text
            assert judge.name in page
        assert page.count('<figure class="chart"') >= 4
    advice = options.found.advice()
    assert {line.of[0] for line in advice} == {"front", "even"}
    front = {line.question: line for line in advice if line.of[0] == "front"}
    assert front["mean score"].effect.verdict == "effect"
    assert front["mean score"].effect.estimate != 0
    assert {"mean score", "single scores", "budget"} <= front.keys()
