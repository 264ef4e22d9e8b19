"""Criterion order from a run: planted effects, denominators, agreement with humans, JSON."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats as sp

from rubriclab.findings.criteria import CRITERIA, criteria
from rubriclab.findings.criteria_order import order_effect
from rubriclab.findings.criteria_rows import Layout, arm_rows
from rubriclab.findings.topics import Findings
from rubriclab.model import STATUSES, Arm, Ordering, RunData
from rubriclab.report.words import answers
from rubriclab.stats.criteria_order import first_less_last
from rubriclab.stats.unit_means import intervals

NAMES = ("coherence", "empathy", "surprise", "style")
SCORES = (1, 2, 3, 4, 5)
CYCLIC = [tuple(NAMES[(i + k) % 4] for i in range(4)) for k in range(4)]
BALANCED = CYCLIC + [o[::-1] for o in CYCLIC]
WILLIAMS = [tuple(NAMES[i] for i in row) for row in ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))] * 2
FIXED = [NAMES] * 8


def nobody(*_):
    return 0.0


def make_run(
    arms: dict[str, tuple[list, object]],
    *,
    texts: int = 80,
    noise: float = 0.6,
    human: bool = True,
    blocks: bool = True,
    unread: float = 0.0,
) -> RunData:
    """``arms``: strategy -> (orders, add(criterion, position, before) in score points)."""
    truth = np.random.default_rng(0).normal(size=(texts, 4))
    ratings = np.clip(np.round(3 + truth + np.random.default_rng(1).normal(size=truth.shape)), 1, 5)
    items = pd.DataFrame(
        {
            "item_id": [f"t{t}/{name}" for t in range(texts) for name in NAMES],
            "dataset": "d",
            "criterion": list(NAMES) * texts,
            "block": [f"t{t}" if blocks else None for t in range(texts) for _ in NAMES],
            "prompt": None,
            "candidate": None,
            "human": ratings.ravel() if human else np.nan,
            "raters": [()] * (texts * 4),
        }
    )
    codes: dict[tuple[str, ...], int] = {}
    lines, call = [], 0
    rng = np.random.default_rng(2)
    for arm, (orders, add) in enumerate(arms.values()):
        for t in range(texts):
            for read, order in enumerate(orders):
                code = codes.setdefault(tuple(order), len(codes))
                for p, name in enumerate(order):
                    c = NAMES.index(name)
                    raw = 3 + truth[t, c] + add(name, p, order[p - 1] if p else None)
                    score = float(np.clip(np.round(raw + rng.normal(scale=noise)), 1, 5))
                    lost = rng.random() < unread
                    lines.append((arm, t * 4 + c, code, read, call, lost, score, p + 1))
                call += 1
    frame = pd.DataFrame(lines, columns=["arm", "item", "ordering", "read", "call", "lost", "score", "position"])
    frame["status"] = np.where(frame["lost"], STATUSES.index("unparsed"), 0)
    frame.loc[frame["lost"], "score"] = np.nan
    frame = frame.drop(columns="lost").assign(repeat=0, expected=np.nan, mass=np.nan)
    made = tuple(Arm("j", "d", s, axis="criteria", scores=SCORES, n_positions=4) for s in arms)
    return RunData("r", "r", made, items, tuple(map(Ordering, codes)), frame)


def first_bonus(name, p, _):
    return 0.6 if name == "empathy" and p == 0 else 0.0


def test_planted_position_effect_is_found_where_it_is() -> None:
    arm = criteria(make_run({"balanced": (BALANCED, first_bonus)})).arms[0]
    by_name = {effect.criterion: effect for effect in arm.criteria}
    empathy = by_name["empathy"]
    # 0.6 at one of four positions: +0.45 there against the mean, -0.15 elsewhere; the ends of
    # the scale take a little away.
    assert empathy.shift[0] == pytest.approx(0.42, abs=0.1)
    # All 16 cells hold at once.
    assert empathy.shift_ci[0].low > 0.2
    assert empathy.p_holm < 1e-6
    assert empathy.exposure == (160,) * 4
    assert arm.significant_holm == 1
    assert arm.delta_max == empathy.delta_pos
    assert arm.tested == 4


def test_friedman_averages_the_reads_that_share_a_position() -> None:
    run = make_run({"balanced": (BALANCED, first_bonus)}, texts=30)
    effect = criteria(run).arms[0].criteria[1]
    rows = run.judgments[run.items["criterion"].to_numpy()[run.judgments["item"]] == "empathy"]
    table = rows.pivot_table(index="item", columns="position", values="score", aggfunc="mean")
    expected = sp.friedmanchisquare(*table.to_numpy().round(9).T)
    assert effect.friedman.statistic == pytest.approx(expected.statistic)
    assert effect.friedman.p == pytest.approx(expected.pvalue)
    means = rows.groupby("position")["score"].mean().to_numpy()
    np.testing.assert_allclose(effect.shift, means - rows["score"].mean())
    assert effect.delta_pos == pytest.approx(np.ptp(means))


def test_no_effect_is_not_accused_and_not_acquitted() -> None:
    """20 texts fail to show a shift of 0.2 points as often as none: that is no “no effect”."""
    result = criteria(make_run({"balanced": (BALANCED, nobody)}, texts=20))
    (line,) = [line for line in CRITERIA.advice(result) if line.primary]
    assert line.effect.verdict == "undecided"
    assert "not settled" in line.answer
    assert "No effect" not in next(iter(CRITERIA.sentences(result))).text


def test_advice_is_in_points_and_simultaneous() -> None:
    result = criteria(make_run({"balanced": (BALANCED, first_bonus)}))
    arm = result.arms[0]
    (line,) = [line for line in CRITERIA.advice(result) if line.primary]
    found = arm.criteria[1].first_less_last
    assert line.effect == found
    assert found.verdict == "effect"
    # 0.6 at the first of four places: the line over places falls by 0.54, less the scale's ends.
    assert found.estimate == pytest.approx(0.48, abs=0.12)
    assert "empathy is scored" in line.answer
    assert "on 1 of 4 criteria" in line.answer
    # Four criteria in one family: each interval is wider than its own 95 % one.
    (alone,) = intervals(slope_of("empathy"))
    assert found.high - found.low > 1.15 * (alone.high - alone.low)


def slope_of(name):
    run = make_run({"balanced": (BALANCED, first_bonus)})
    rows = arm_rows(run, Layout.of(run), 0, run.arms[0], run.judgments)
    c = rows.names.index(name)
    return first_less_last(rows.sums[:, c : c + 1], rows.counts[:, c : c + 1], rows.unit)


def test_a_still_judge_of_many_texts_is_equivalent() -> None:
    result = criteria(make_run({"balanced": (BALANCED, nobody)}, texts=200, noise=0.01))
    (line,) = [line for line in CRITERIA.advice(result) if line.primary]
    assert line.effect.verdict == "equivalent"
    few = criteria(make_run({"balanced": (BALANCED, nobody)}, texts=15, noise=0.01))
    # 15 texts that never moved do not rule out that one in ten moves.
    (line,) = [line for line in CRITERIA.advice(few) if line.primary]
    assert line.effect.verdict == "undecided"


def test_what_the_middle_places_do_is_not_called_equivalent() -> None:
    def ends(_, p, __):
        return 1.0 if p in (0, 3) else 0.0

    arm = criteria(make_run({"balanced": (BALANCED, ends)}, texts=400, noise=0.3)).arms[0]
    assert all(abs(one.first_less_last.estimate) < 0.1 for one in arm.criteria)
    assert arm.rms.ci.low > 0.1
    assert order_effect(arm)[1].verdict == "undecided"


def test_the_same_order_twice_is_the_control() -> None:
    run = make_run({"balanced": (BALANCED, nobody), "fixed": (FIXED, nobody)})
    balanced, fixed = criteria(run).arms
    assert balanced.repeats.control == "fixed"
    assert balanced.repeats.texts == 80
    assert balanced.repeats.same == pytest.approx(fixed.repeats.same)
    assert balanced.repeats.excess.low < 0 < balanced.repeats.excess.high
    alone = criteria(make_run({"balanced": (BALANCED, nobody)})).arms[0].repeats
    assert alone.excess.verdict == "undecided"
    assert "noise" in alone.excess.why
    assert alone.different == pytest.approx(balanced.repeats.different)

    def first(_, p, __):
        return 1.5 * (p == 0)

    moved = make_run({"balanced": (BALANCED, first), "fixed": (FIXED, first)})
    assert criteria(moved).arms[0].repeats.excess.low > 0


def test_a_score_pulled_by_the_score_just_given_is_seen() -> None:
    arm = criteria(pulled_run(0.3)).arms[0]
    assert arm.pull.verdict == "effect"
    assert arm.pull.estimate == pytest.approx(0.3, abs=0.1)
    # Which criterion stood before says nothing of it: old page was silent here.
    assert all(row.p_holm > 0.01 for row in arm.carryover)
    still = criteria(pulled_run(0.0)).arms[0]
    assert still.pull.low < 0 < still.pull.high


def pulled_run(pull: float) -> RunData:
    """Williams orders; each score is drawn by ``pull`` of the score just given, less 3."""
    run = make_run({"williams": (WILLIAMS, nobody)})
    rng, frame = np.random.default_rng(9), run.judgments.sort_values(["call", "position"])
    truth = np.random.default_rng(0).normal(size=(80, 4)).ravel()
    scores, before = [], 3.0
    for item, position in zip(frame["item"], frame["position"], strict=True):
        raw = 3 + truth[item] + (pull * (before - 3) if position > 1 else 0.0)
        before = float(np.clip(np.round(raw + rng.normal(scale=0.6)), 1, 5))
        scores.append(before)
    return replace(run, judgments=frame.assign(score=scores).sort_index())


def test_unread_scores_are_counted() -> None:
    arm = criteria(make_run({"balanced": (CYCLIC, nobody)}, texts=60, unread=0.05)).arms[0]
    assert arm.scores == 60 * 16
    lost = arm.unread
    assert 20 < lost < 80
    assert sum(sum(e.exposure) for e in arm.criteria) == arm.scores - lost
    assert all(e.friedman.blocks + e.friedman.excluded == 60 for e in arm.criteria)
    assert any(e.friedman.excluded > 0 for e in arm.criteria)
    assert f"{lost} of 960" in arm.warnings[0]
    assert arm.alignment is not None
    assert arm.alignment.excluded > 0


def test_macro_r_is_the_mean_of_the_criteria() -> None:
    run = make_run({"balanced": (BALANCED, nobody)})
    arm = criteria(run).arms[0]
    mean = run.judgments.groupby("item")["score"].mean().to_numpy().reshape(-1, 4)
    human = run.items["human"].to_numpy().reshape(-1, 4)
    rs = [np.corrcoef(mean[:, c], human[:, c])[0, 1] for c in range(4)]
    rhos = [sp.spearmanr(mean[:, c], human[:, c]).statistic for c in range(4)]
    assert arm.alignment is not None
    assert [e.r for e in arm.criteria] == pytest.approx(rs)
    assert arm.alignment.pearson.r == pytest.approx(np.mean(rs))
    assert arm.alignment.spearman.r == pytest.approx(np.mean(rhos))
    rng = np.random.default_rng(5)
    draws, ranks = [], []
    for _ in range(200):
        i = rng.integers(0, 80, 80)
        draws.append(np.mean([np.corrcoef(mean[i, c], human[i, c])[0, 1] for c in range(4)]))
        ranks.append(np.mean([sp.spearmanr(mean[i, c], human[i, c]).statistic for c in range(4)]))
    assert arm.alignment.pearson.ci == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.025)
    assert arm.alignment.spearman.ci == pytest.approx(np.quantile(ranks, [0.025, 0.975]), abs=0.03)


def test_paired_comparison_of_strategies() -> None:
    worse = make_run({"balanced": (BALANCED, nobody), "fixed": (FIXED, nobody)})
    half = worse.judgments["score"].to_numpy().copy()
    second = (worse.judgments["arm"] == 1).to_numpy()
    half[second] = np.random.default_rng(4).integers(1, 6, second.sum())
    run = RunData("r", "r", worse.arms, worse.items, worse.orderings, worse.judgments.assign(score=half))
    only = criteria(run).comparisons[0]
    one, two = (arm.alignment.pearson.r for arm in criteria(run).arms)
    assert (only.a, only.b, only.n_items) == ("balanced", "fixed", 320)
    assert only.delta_r == pytest.approx(one - two)
    assert only.ci.low > 0.3


def test_carryover_needs_a_design_that_separates_it() -> None:
    def after_style(_, __, before):
        return 0.5 * (before == "style")

    result = criteria(make_run({"balanced": (BALANCED, after_style), "williams": (WILLIAMS, after_style)}))
    balanced, williams = result.arms
    assert not balanced.carryover_separable
    assert balanced.carryover == ()
    assert any("Williams" in w for w in balanced.warnings)
    style = next(row for row in williams.carryover if row.before == "style")
    # 0.5 against the mean of four neighbours: 0.375, less what the scale's ends take.
    assert style.effect == pytest.approx(0.35, abs=0.1)
    assert style.p_holm < 0.001
    assert all(row.p_holm > 0.001 for row in williams.carryover if row.effect > style.effect / 2 and row is not style)


def test_fixed_order_shows_no_position_effect_and_says_why() -> None:
    arm = criteria(make_run({"fixed": (FIXED, nobody)}, human=False)).arms[0]
    assert np.isnan(arm.delta_mean)
    assert arm.tested == 0
    assert arm.alignment is None
    assert any("one position only" in w for w in arm.warnings)


def test_texts_are_known_by_their_calls_without_blocks() -> None:
    with_blocks = criteria(make_run({"balanced": (BALANCED, first_bonus)}))
    without = criteria(make_run({"balanced": (BALANCED, first_bonus)}, blocks=False))
    assert without.arms[0].texts == 80
    assert [e.friedman for e in without.arms[0].criteria] == [e.friedman for e in with_blocks.arms[0].criteria]


def test_json_and_the_other_axis() -> None:
    run = make_run({"balanced": (BALANCED, nobody), "fixed": (FIXED, nobody)})
    out = CRITERIA.document(criteria(run), run)
    entry = out.arms[0]["criteria"][0]
    assert set(entry) == {"criterion", "first_less_last", "positions", "shift", "shift_ci", "delta_pos", "friedman"}
    assert entry["positions"] == [1, 2, 3, 4]
    assert set(entry["friedman"]) == {"statistic", "df", "p", "p_holm", "blocks", "excluded"}
    assert out.arms[1]["criteria"][0]["shift"][1:] == [None] * 3
    assert set(out.beside["comparisons"][0]) == {"judge", "dataset", "a", "b", "delta_r", "ci", "n_items"}
    run = make_run({"balanced": (BALANCED, nobody)}, texts=3)
    other = RunData("r", "r", (Arm("j", "d", "x", scores=SCORES),), run.items, run.orderings, run.judgments)
    assert "one criterion a call" in criteria(other).warnings[0]
    tiny = make_run({"balanced": (BALANCED, nobody)}, texts=1)
    assert criteria(tiny).arms[0].criteria[0].friedman.blocks == 1


def test_many_texts_take_the_linearised_rho(monkeypatch) -> None:
    run = make_run({"balanced": (CYCLIC, nobody)}, texts=100)
    anew = criteria(run).arms[0].alignment
    monkeypatch.setattr("rubriclab.stats.human_correlation.RANKED", 20)
    linear = criteria(run).arms[0].alignment
    assert anew is not None
    assert linear is not None
    assert linear.spearman.ci != anew.spearman.ci
    assert linear.spearman.ci == pytest.approx(anew.spearman.ci, abs=0.03)


def test_comparison_with_gaps_takes_the_shared_items() -> None:
    run = make_run({"balanced": (CYCLIC, nobody), "fixed": (FIXED[:4], nobody)}, unread=0.02)
    only = criteria(run).comparisons[0]
    table = run.judgments.groupby(["arm", "item"])["score"].agg(["mean", "count"])
    a, b = table.loc[0], table.loc[1]
    keep = ((a["count"] == 4) & (b["count"] == 4)).to_numpy()
    human, names = run.items["human"].to_numpy(), run.items["criterion"].to_numpy()
    deltas = []
    for name in NAMES:
        g = keep & (names == name)
        one = np.corrcoef(a["mean"].to_numpy()[g], human[g])[0, 1]
        deltas.append(one - np.corrcoef(b["mean"].to_numpy()[g], human[g])[0, 1])
    assert only.delta_r == pytest.approx(np.mean(deltas))
    assert (only.n_items, only.excluded) == (keep.sum(), 320 - keep.sum())
    assert only.ci.low < only.delta_r < only.ci.high


def test_agreement_with_people_does_not_hang_on_the_texts_of_other_arms() -> None:
    run = make_run({"balanced": (CYCLIC, nobody), "williams": (WILLIAMS, nobody)}, texts=14)
    few = run.judgments["item"].to_numpy() < 8 * 4
    arm = run.judgments["arm"].to_numpy()
    alone = criteria(replace(run, judgments=run.judgments[(arm == 0) & few].reset_index(drop=True))).arms[0]
    apart = run.judgments[(arm == 0) & few | (arm == 1) & ~few].reset_index(drop=True)
    beside = criteria(replace(run, judgments=apart)).arms[0]
    assert alone.alignment is not None
    assert np.isfinite(alone.alignment.spearman.ci).all()
    assert alone.alignment == beside.alignment


def test_scores_that_run_against_people_are_said_first() -> None:
    run = make_run({"balanced": (BALANCED, nobody)})
    assert Findings(run).alarms() == ()
    turned = replace(run, items=run.items.assign(human=6 - run.items["human"]))
    found = Findings(turned)
    (text,) = found.alarms()
    assert "runs against people: r = -0." in text
    assert answers(found)[0].sentences[0] == text
