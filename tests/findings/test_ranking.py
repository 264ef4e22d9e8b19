"""Rank reversal from a run: denominators, the list of flips, best-of-N, JSON."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats as sp

from rubriclab.findings.ranking import RANKING, _mean, ranking
from rubriclab.findings.topic import Advice
from rubriclab.model import STATUSES, Arm, Ordering, RunData, Variant
from rubriclab.stats.proportions import clopper_pearson

SCORES = (1, 2, 3, 4, 5)


def make_run(
    tables: dict[str, np.ndarray],
    *,
    human: np.ndarray | None = None,
    criteria: int = 1,
    variant: Variant = Variant(),  # noqa: B008 (frozen)
) -> RunData:
    """``tables``: scores (prompts * criteria, candidates, reads) by strategy, NaN unread."""
    lines, wide, reads = next(iter(tables.values())).shape
    n = lines * wide
    items = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n)],
            "dataset": "d",
            "criterion": [f"c{(i // wide) % criteria}" for i in range(n)],
            "block": None,
            "prompt": [f"p{i // wide // criteria}" for i in range(n)],
            "candidate": [f"m{i % wide}" for i in range(n)],
            "human": np.full(n, np.nan) if human is None else human.ravel(),
            "raters": [()] * n,
        }
    )
    frames = []
    for code, scores in enumerate(tables.values()):
        flat = scores.reshape(-1)
        ok = np.isfinite(flat)
        frames.append(
            pd.DataFrame(
                {
                    "arm": code,
                    "item": np.repeat(np.arange(n), reads),
                    "ordering": 0,
                    "read": np.tile(np.arange(reads), n),
                    "repeat": 0,
                    "call": np.arange(len(flat)),
                    "status": np.where(ok, 0, STATUSES.index("unparsed")),
                    "score": flat,
                    "position": np.where(ok, np.nan_to_num(flat), -1).astype(int),
                    "expected": np.nan,
                    "mass": np.nan,
                }
            )
        )
    arms = tuple(Arm("j", "d", s, scores=SCORES, n_positions=5, variant=variant) for s in tables)
    return RunData("r", "r", arms, items, (Ordering(SCORES),), pd.concat(frames, ignore_index=True))


def random_scores(seed: int, lines: int = 60, wide: int = 4, reads: int = 6) -> np.ndarray:
    quality = np.random.default_rng(0).normal(size=(lines, wide, 1))
    noise = np.random.default_rng(seed).normal(size=(lines, wide, reads))
    return np.clip(np.round(3 + quality + noise), 1, 5)


def test_against_scipy_prompt_by_prompt() -> None:
    a, b = random_scores(1), random_scores(2)
    only = ranking(make_run({"fixed": b, "balanced": a})).pairs[0]
    assert (only.a, only.b) == ("balanced", "fixed")
    means = zip(a.mean(axis=2), b.mean(axis=2), strict=True)
    taus = [sp.kendalltau(x, y).statistic for x, y in means]
    assert only.kendall_tau.value == pytest.approx(np.nanmean(taus))
    assert only.kendall_tau.n == 60 - only.excluded
    winners = [
        ({*np.flatnonzero(x == x.max())}, {*np.flatnonzero(y == y.max())})
        for x, y in zip(a.mean(axis=2).round(9), b.mean(axis=2).round(9), strict=True)
    ]
    assert only.top1_flip.value == pytest.approx(np.mean([not (x & y) for x, y in winners]))
    assert only.top1_flip_strict.value == pytest.approx(np.mean([x != y for x, y in winners]))
    assert only.top1_flip.ci.low < only.top1_flip.value < only.top1_flip.ci.high
    assert only.flip_count == len(only.flips) == sum(not (x & y) for x, y in winners)


def test_interval_of_tau_is_that_of_its_mean() -> None:
    a, b = random_scores(1, lines=200), random_scores(2, lines=200)
    a, b = a[:60], b[:60]
    only = ranking(make_run({"balanced": a, "fixed": b})).pairs[0]
    taus = np.array([sp.kendalltau(x, y).statistic for x, y in zip(a.mean(2), b.mean(2), strict=True)])
    taus = taus[np.isfinite(taus)]
    half = sp.t.ppf(0.975, 59) * taus.std(ddof=1) / np.sqrt(len(taus))
    assert only.kendall_tau.ci == pytest.approx((taus.mean() - half, taus.mean() + half), abs=0.01)


def test_the_flips_are_listed_clearest_first_with_their_items() -> None:
    a = np.array([[[4.0], [2.0]], [[5.0], [1.0]], [[3.0], [3.0]]])
    b = np.array([[[2.0], [3.0]], [[1.0], [5.0]], [[3.0], [3.0]]])
    only = ranking(make_run({"balanced": a, "fixed": b})).pairs[0]
    assert [f.prompt for f in only.flips] == ["p1", "p0"]
    assert only.flips[0].winners_a == ("m0",)
    assert only.flips[0].winners_b == ("m1",)
    assert only.flips[0].items == (2, 3)
    assert [f.margin for f in only.flips] == [8.0, 3.0]
    assert (only.prompts, only.excluded) == (3, 1)
    assert only.kendall_tau.value == -1.0
    assert only.top1_flip.value == pytest.approx(2 / 3)


def test_best_of_n_in_human_points() -> None:
    human = np.tile([5.0, 1.0], (40, 1))
    right = np.tile([[4.0], [2.0]], (40, 1, 1))
    wrong = right.copy()
    wrong[:10] = wrong[:10, ::-1]
    found = ranking(make_run({"balanced": right, "fixed": wrong}, human=human)).pairs[0].best_of
    assert found.pick_change.value == pytest.approx(0.25)
    assert (found.human_a, found.human_b) == pytest.approx((5.0, 4.0))
    assert found.gain is not None
    assert found.gain.value == pytest.approx(1.0)
    assert 0.4 < found.gain.ci.low < 1.0 < found.gain.ci.high < 1.7
    assert (found.chance, found.best) == pytest.approx((3.0, 5.0))
    assert ranking(make_run({"a": right, "b": wrong})).pairs[0].best_of.gain is None


def test_criteria_are_ranked_apart_and_resampled_together() -> None:
    only = ranking(make_run({"balanced": random_scores(1), "fixed": random_scores(2)}, criteria=3)).pairs[0]
    assert only.prompts == 60
    assert {f.criterion for f in only.flips} == {"c0", "c1", "c2"}


def test_missing_and_too_few() -> None:
    a, b = random_scores(1, wide=2), random_scores(2, wide=2)
    a[0, 0] = np.nan
    a[1, 0, :2] = np.nan  # some reads unread: the mean of the others ranks it
    only = ranking(make_run({"balanced": a, "fixed": b})).pairs[0]
    assert (only.prompts, only.too_few) == (59, 1)
    assert any("one side only" in w for w in only.warnings)


def test_nothing_to_rank_is_said() -> None:
    lonely = ranking(make_run({"balanced": random_scores(1, wide=1), "fixed": random_scores(2, wide=1)}))
    assert lonely.pairs == ()
    assert "no ranking" in lonely.warnings[0]
    alone = ranking(make_run({"balanced": random_scores(1)}))
    assert "two strategies" in alone.warnings[0]


def test_chosen_strategies_and_json() -> None:
    tables = {"balanced": random_scores(1), "fixed": random_scores(2), "random": random_scores(3)}
    variant = Variant((("temperature", 0.5),))
    run = make_run(tables, variant=variant)
    assert len(ranking(run).pairs) == 3
    chosen = ranking(run, strategies=("random", "fixed"))
    assert [(p.a, p.b) for p in chosen.pairs] == [("random", "fixed")]
    entry = RANKING.document(chosen, run).beside["rank_reversal"][0]
    keys = {
        "judge",
        "dataset",
        "a",
        "b",
        "noise",
        "kendall_tau",
        "top1_flip",
        "top1_flip_strict",
        "prompts",
        "excluded",
        "variant",
    }
    assert set(entry) == keys
    assert 0 < entry["top1_flip"] <= entry["top1_flip_strict"] < 1


def advised(run: RunData) -> Advice:
    (line,) = RANKING.advice(ranking(run))
    return line


def cut(run: RunData, arm: int, reads: int) -> RunData:
    """``run`` with fewer reads of one arm."""
    rows = run.judgments
    return replace(run, judgments=rows[(rows["arm"] != arm) | (rows["read"] < reads)])


@pytest.mark.slow
def test_changes_are_not_the_orders_where_noise_makes_as_many() -> None:
    """No effect: 11.8 % changed, two runs of the same order 11.1 %, and “watch” was said."""
    verdicts = []
    for seed in range(5):
        run = make_run({"balanced": random_scores(seed), "fixed": random_scores(50 + seed)})
        pair = ranking(run).pairs[0]
        noise = pair.noise
        assert noise.control is not None
        assert noise.changed.value > 0.1
        assert noise.changed.value == pytest.approx(noise.control.value, abs=0.12)
        assert noise.reads == 3
        verdicts.append(advised(run).effect.verdict)
    assert verdicts.count("effect") <= 1


def test_one_fixed_read_leaves_the_noise_in_and_names_the_calls() -> None:
    """“The winner changes: act” was said in 15 of 25 such runs without any effect."""
    run = make_run({"balanced": random_scores(1), "fixed": random_scores(2)})
    rows = run.judgments
    shown = np.where(rows["arm"] == 0, rows["read"] % 2, 0)
    orders = (Ordering(SCORES), Ordering(SCORES[::-1]))
    run = replace(cut(run, 1, 1), orderings=orders)
    run = replace(run, judgments=cut(replace(run, judgments=rows.assign(ordering=shown)), 1, 1).judgments)
    run = replace(run, judgments=run.judgments[(run.judgments["arm"] == 1) | (run.judgments["read"] < 2)])
    line = advised(run)
    assert line.effect.verdict == "undecided"
    assert "noise included" in line.effect.why
    assert "240 more calls" in line.answer
    assert ranking(run).pairs[0].noise.calls == 240


def test_an_order_that_turns_winners_round_is_shown() -> None:
    turned = random_scores(2)[:, ::-1]
    line = advised(make_run({"balanced": random_scores(1), "fixed": turned}))
    assert line.effect.verdict == "effect"
    assert line.effect.unit == "percentage points of prompts"
    assert line.effect.low > 5


def test_where_all_tie_it_cannot_be_told() -> None:
    """“Fine” was said where every candidate ties."""
    tied = np.full((30, 3, 4), 3.0)
    line = advised(make_run({"balanced": tied, "fixed": tied}))
    assert line.effect.verdict == "undecided"
    assert "0 of 30 prompts have one winner" in line.effect.why


def test_no_change_on_nine_prompts_is_no_certainty() -> None:
    """The interval was [0 %, 0 %]."""
    clear = np.tile(np.array([[[5.0], [1.0]]]), (9, 1, 1))
    pair = ranking(make_run({"balanced": clear, "fixed": clear})).pairs[0]
    assert pair.top1_flip.value == 0
    z2 = 1.959964**2
    assert pair.top1_flip.ci.high == pytest.approx(z2 / (9 + z2), rel=1e-5)


def test_what_few_prompts_carry_is_bounded_by_how_many_might() -> None:
    """Of 30 prompts whose pick is worth a point in two of them the interval was half as wide."""
    gain = np.zeros((30, 2))
    gain[:, 0], gain[:2, 1] = 1.0, 1.0
    found = _mean(gain, 1, 0, 1.0)
    assert found.value == pytest.approx(2 / 30)
    assert found.ci.high == pytest.approx(clopper_pearson(2, 30).high)
    assert found.ci.low == pytest.approx(-clopper_pearson(0, 30).high)
    assert np.isnan(_mean(gain[:7], 1, 0, 1.0).ci.low)
