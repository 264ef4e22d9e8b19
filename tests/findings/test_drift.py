"""What is said of two times of one judge: pairing, attribution, and how often it errs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rubriclab.findings.drift import Drift, drift, drift_json
from rubriclab.findings.drift_anchors import chosen, planned
from rubriclab.findings.drift_reads import arm_of, reads_of_setting
from rubriclab.findings.drift_words import markdown, sentences
from rubriclab.model import LabError, RunData
from tests.drift_rates import count, planted, raw
from tests.drifting import Plant, truth, two_times
from tests.simulated_runs import data_of

RUNS = int(os.environ.get("RUBRICLAB_DRIFT_RUNS", "60"))


def later(data: RunData, **change: object) -> RunData:
    return replace(data, run="later", **change)  # type: ignore[arg-type]


def verdicts(found: Drift) -> dict[str, str]:
    return {one.key: one.effect.verdict for one in found.answers}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["options", "criteria", "pairs"])
def test_the_same_answers_are_no_change_on_any_axis(kind: str) -> None:
    data = data_of(kind)
    found = drift(data, later(data), arm=0)
    assert [one.effect.estimate for one in found.answers if one.key != "spread"] == [0.0, 0.0, 0.0]
    assert "effect" not in verdicts(found).values()
    assert found.items == len(np.unique(data.judgments["item"]))
    assert all(turn.change == 0.0 for turn in found.turns)


def test_items_are_paired_by_who_they_are_and_orders_by_what_they_show() -> None:
    then, now = two_times("middling", Plant(), items=12, seed=3)
    turned = np.arange(12)[::-1]
    rows = now.judgments.assign(item=turned[now.judgments["item"].to_numpy()]).sample(frac=1.0, random_state=1)
    items = now.items.iloc[turned].reset_index(drop=True)
    shuffled = replace(now, items=items, judgments=rows)
    one, two = drift(then, now), drift(then, shuffled)
    assert one.answers[0].effect == two.answers[0].effect
    assert [turn.change for turn in one.turns] == pytest.approx([turn.change for turn in two.turns])


def test_unread_replies_are_left_out_of_both_times_and_too_many_leave_it_open() -> None:
    then, now = two_times("middling", Plant(), items=60, seed=4)
    low = now.judgments["score"].to_numpy() <= 2
    lost = now.judgments.assign(
        status=np.where(low, 1, 0), score=np.where(low, np.nan, now.judgments["score"]), position=np.where(low, -1, 1)
    )
    found = drift(then, replace(now, judgments=lost))
    assert found.unread[0] == 0.0
    assert found.unread[1] == pytest.approx(low.mean())
    assert low.mean() > 0.2
    assert set(verdicts(found).values()) == {"undecided"}
    assert "could not be read" in found.answers[0].effect.why


def test_texts_that_changed_are_no_anchors() -> None:
    then, now = two_times("middling", Plant(), items=20, seed=5)
    other = now.items.assign(n_chars=np.where(np.arange(20) < 4, 90, 100))
    found = drift(then, replace(now, items=other))
    assert (found.items, found.changed) == (16, 4)
    assert "4 items have another text" in " ".join(found.warnings)


def test_runs_that_do_not_fit_are_refused_in_words() -> None:
    then, _ = two_times("middling", Plant(), items=10, seed=6)
    with pytest.raises(LabError, match="same run and judge"):
        drift(then, then)
    with pytest.raises(LabError, match="share no item"):
        drift(then, later(then, items=then.items.assign(item_id=[f"x{k}" for k in range(10)])))


@pytest.mark.slow
def test_arms_that_do_not_fit_are_refused_in_words() -> None:
    then, _ = two_times("middling", Plant(), items=10, seed=6)
    with pytest.raises(LabError, match="score options, the other about pairs"):
        drift(then, data_of("pairs"))
    with pytest.raises(LabError, match="several judges or settings"):
        drift(data_of("options"), then)


def test_one_order_says_what_it_can() -> None:
    then, now = two_times("middling", Plant(level=0.5), items=40, seed=7)
    usual = [replace(one, judgments=one.judgments[one.judgments["arm"] == 1]) for one in (then, now)]
    found = drift(*usual)
    assert verdicts(found)["level"] == "effect"
    assert found.squared is None
    assert "one order" in found.answer("order").effect.why  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("plant", "accused"), [(Plant(level=0.5), "level"), (Plant(pull=1.5), "order"), (Plant(noise=2.0), "noise")]
)
def test_a_large_change_is_told_for_what_it_is(plant: Plant, accused: str) -> None:
    found = drift(*two_times("middling", plant, items=150, seed=8))
    said = verdicts(found)
    assert said[accused] == "effect"
    assert [key for key, verdict in said.items() if verdict == "effect"] == [accused]
    text = "\n".join(sentences(found))
    assert text.startswith("The judge has changed.")
    assert markdown(found).count("| effect |") == 1
    assert drift_json(found)["answers"][accused]["verdict"] == "effect"


def test_expected_scores_decide_where_both_times_have_them() -> None:
    found = drift(*two_times("mixed logit", Plant(level=0.6), items=40, seed=9))
    assert found.outcome == "expected score"
    assert found.by_choice is not None
    assert verdicts(found)["level"] == "effect"
    assert found.answer("noise").effect.estimate == pytest.approx(0.0)  # type: ignore[union-attr]


def test_a_run_on_newer_data_is_split() -> None:
    then, now = two_times("middling", Plant(level=0.5), items=80, seed=10)
    _, new = two_times("middling", Plant(level=1.0), items=80, seed=11)
    fresh = replace(new, run="new", items=new.items.assign(item_id=[f"n{k}" for k in range(80)]))
    found = drift(then, now, new=fresh)
    said = {one.key: one.effect.estimate for one in found.answers}
    assert said["total"] == pytest.approx(said["level"] + said["data"])
    assert said["level"] == pytest.approx(0.5, abs=0.2)
    assert said["data"] == pytest.approx(0.5, abs=0.3)
    assert any("is the judge's own and" in text for text in sentences(found))
    one_order = replace(fresh, judgments=fresh.judgments[fresh.judgments["ordering"] == 0])
    assert drift(then, now, new=one_order).newer.orders == 1  # type: ignore[union-attr]


# ---------------------------------------------------------------- anchors


def test_anchors_are_the_same_ones_whatever_the_file_s_order_and_spread_over_the_scores() -> None:
    rng = np.random.default_rng(12)
    scores, hashes = rng.normal(3, 1, 200), [f"{k:032x}" for k in rng.permutation(200)]
    scores[5] = np.nan
    picked = chosen(scores, hashes, 20)
    turned = rng.permutation(200)
    again = chosen(scores[turned], [hashes[k] for k in turned], 20)
    assert {hashes[k] for k in picked} == {hashes[turned[k]] for k in again}
    rank = np.argsort(np.argsort(scores))[picked]
    np.testing.assert_array_equal(np.sort(rank) * 20 // 199, np.arange(20))
    assert chosen(scores, hashes, 1_000).tolist() == [k for k in range(200) if k != 5]


def test_each_item_is_as_likely_an_anchor_as_any_other() -> None:
    scores, often = np.arange(10.0), np.zeros(10)
    for seed in range(1_000):
        often[chosen(scores, [f"{seed}-{k}" for k in range(10)], 3)] += 1
    assert (np.abs(often - 300) < 60).all()


def test_how_many_anchors_are_needed_is_said() -> None:
    then, _ = two_times("middling", Plant(), items=100, seed=13)
    reads = reads_of_setting(then, arm_of(then, 0))
    plan = planned(reads, available=100, asked=None, affordable=None)
    assert plan.source == "noise of repeated reads"
    assert plan.needed is not None
    assert plan.taken == min(max(plan.needed, 30), 100)
    assert planned(reads, available=100, asked=None, affordable=12).taken == 12
    assert planned(reads, available=100, asked=7, affordable=12).taken == 7
    assert "“undecided” is the likely answer" in planned(reads, available=100, asked=7, affordable=None).sentence


# ---------------------------------------------------------------- how often it errs


@pytest.mark.slow
@pytest.mark.parametrize("anchors", [15, 30, 60, 100])
@pytest.mark.parametrize("what", ["nothing", "level", "order", "noise", "data"])
@pytest.mark.parametrize("judge", ["latent trait", "middling"])
def test_planted_changes_go_to_the_right_part(
    judge: str, what: str, anchors: int, record_property: Callable[[str, object], None]
) -> None:
    """In so few runs a rate of 5 % lies within 5 % and four standard errors."""
    plant = planted(judge, what, {"nothing": 0.0, "data": 0.3}.get(what, 0.2))
    got, real = (
        count(judge, plant, anchors=anchors, runs=RUNS, newer=120 * (what == "data"), seed=99),
        truth(judge, plant),
    )
    record_property("counts", json.dumps({"judge": judge, "planted": what, "anchors": anchors} | raw(got)))
    slack = 4.0 * (0.05 * 0.95 / RUNS) ** 0.5
    changed = {"level": real.level, "spread": real.spread, "noise": real.noise, "data": real.data}
    changed["order"] = float(np.abs(real.contrasts).max())
    for part, by in changed.items():
        if got.given[part]:
            assert got.coverage(part) > 0.95 - slack, part
        if part == what:
            assert got.share(part, "equivalent") <= 0.05 + slack
        elif abs(by) < 0.01:  # a change of noise moves the mean too where the scale ends
            assert got.share(part, "effect") <= 0.05 + slack, part
