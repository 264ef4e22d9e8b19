"""Responses scored together: planted effects are found from a file, their absence is not an effect."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from rubriclab.datasets.batches import read_batches
from rubriclab.figures.batch import before_heatmap, effect_forest, place_dots
from rubriclab.findings.batch import batch
from rubriclab.findings.batch_results import ArmBatch
from rubriclab.findings.batch_words import batch_sentence, contrast_sentence, place_effect
from rubriclab.findings.topics import Findings, document
from rubriclab.model import Judge, RunData, Strategy
from rubriclab.report.text import as_text
from rubriclab.runs.simulated import run_simulated
from rubriclab.stats.batch import disagreements, place_parts, slope_parts, two_way
from tests.batch_judges import FAMILIES, SQUARE, BatchJudge
from tests.labkit import study
from tests.simulated_runs import data_of

RUNS = int(os.environ.get("RUBRICLAB_BATCH_RUNS", "60"))


def of(judge: BatchJudge, items: int, seed: int) -> tuple[RunData, ArmBatch]:
    data = read_batches(judge.table(items, seed), name="made")
    return data, batch(data).arms[0]


# ---------------------------------------------------------------- by hand


def test_place_and_drift_by_hand() -> None:
    """One batch of two, each response at both places: 1 then 3, and 3 then 5 lower by 2 at the second."""
    cell, place = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])
    score = np.array([5.0, 1.0, 3.0, 3.0])
    parts = place_parts(cell, place, score, 2)
    value = parts.top.sum(axis=0) / parts.bottom.sum(axis=0)
    np.testing.assert_allclose(value, [1.0, -1.0, -2.0])


def test_the_slope_is_that_of_least_squares_with_dummies() -> None:
    data, _ = of(BatchJudge(contrast=-0.3, drift=-0.5), 24, 3)
    rows = data.judgments[data.judgments["arm"] == data.judgments["arm"].iloc[0]].copy()
    human = data.items["human"].to_numpy()
    at = dict(zip(zip(rows["call"], rows["position"], strict=True), rows["item"], strict=True))
    rows["before"] = [at.get((c, p - 1), -1) for c, p in zip(rows["call"], rows["position"], strict=True)]
    rows = rows[rows["before"] >= 0]
    rows["z"] = human[rows["before"]]
    fit = smf.ols("score ~ z + C(item) + C(position)", rows).fit()
    parts = slope_parts(
        np.unique(rows["item"], return_inverse=True)[1],
        rows["position"].to_numpy() - 1,
        rows["score"].to_numpy(),
        rows["z"].to_numpy(),
    )
    assert parts.top.sum() / parts.bottom.sum() == pytest.approx(fit.params["z"])
    _, arm = of(BatchJudge(contrast=-0.3, drift=-0.5), 24, 3)
    assert arm.contrast_people.estimate == pytest.approx(fit.params["z"])


def test_clustered_two_ways_is_the_coarser_where_one_holds_the_other() -> None:
    rng = np.random.default_rng(0)
    top, one = rng.normal(size=(40, 1)), np.ones((40, 1))
    batches, items = np.arange(40) // 4, np.arange(40) // 2
    nested, alone = two_way(top, one, batches, items), two_way(top, one, batches, batches)
    assert nested.error == pytest.approx(alone.error)
    assert nested.groups.tolist() == [10]
    mean = top.reshape(10, 4).mean(axis=1)
    assert nested.error[0] == pytest.approx(mean.std(ddof=1) / np.sqrt(10))
    crossed = two_way(top, one, batches, np.arange(40) % 4)
    assert crossed.groups.tolist() == [4]
    assert crossed.error[0] >= max(nested.error[0] - 1e-12, 0.0)


def test_disagreements_by_hand() -> None:
    """Two reads of 1 and one of 2 in a batch, a 1 and a 2 alone: of six pairs three differ; of two alone all."""
    found = disagreements(np.array([[2.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found.apart, [0.5, np.nan])
    np.testing.assert_allclose(found.alone, [1.0, np.nan])


# ---------------------------------------------------------------- from file to heatmap


@pytest.mark.parametrize("family", FAMILIES)
def test_planted_contrast_and_drift_are_recovered_from_a_file(family: str) -> None:
    data, arm = of(BatchJudge(family, contrast=-0.5, drift=-1.2, shift=0.4), 160, 1)
    assert (arm.arm.strategy, arm.size, arm.batches, arm.items) == ("williams", 4, 40, 160)
    assert place_effect(arm)[1].verdict == arm.contrast.verdict == "effect"
    assert arm.contrast_people.low <= -0.5 <= arm.contrast_people.high
    assert -0.6 < arm.contrast.estimate < -0.15, "the noise of two single calls draws it towards 0"
    assert arm.drift.low <= -1.2 <= arm.drift.high
    assert arm.single is not None
    assert arm.single.level.low <= 0.4 <= arm.single.level.high
    assert "marked down after a better one" in batch_sentence(arm)
    after = {cell.before: cell.shift for cell in arm.before if cell.place == 2 and cell.scores >= 3}
    assert after[3] > after[7], "after a poor response higher than after a good one"
    for drawn in (before_heatmap(arm), place_dots(arm), effect_forest(arm)):
        assert drawn.alt.endswith(".")
    whole = document(Findings(data))
    assert json.loads(json.dumps(whole))["arms"][0]["batch_size"] == 4
    assert "just before" in as_text(whole)


def test_an_unmoved_judge_is_equivalent_and_one_order_says_nothing() -> None:
    table = BatchJudge().table(400, 2)
    table["score"] = table["human"].round().astype(int)
    arm = batch(read_batches(table, name="steady")).arms[0]
    assert place_effect(arm)[1].verdict == arm.contrast.verdict == "equivalent"
    assert arm.single is not None
    assert arm.single.exact == arm.single.exact_alone == 1.0
    fixed = table[table["order"].isna() | (table["order"] == "o0")]
    still = batch(read_batches(fixed, name="still")).arms[0]
    assert not still.varied
    assert "one place" in batch_sentence(still)
    assert still.contrast.verdict == "undecided"


def test_responses_that_are_alike_alone_are_the_reason_where_the_orders_were_turned() -> None:
    """Seen on a real judge: a 3 for everything alone, other scores together; the orders are Williams' all the same."""
    table = BatchJudge().table(40, 6)
    table.loc[table["batch"].isna(), "score"] = 3
    arm = batch(read_batches(table, name="alike")).arms[0]
    assert arm.varied
    assert "the mean score alone is 3 for every response just before" in contrast_sentence(arm)
    assert np.isfinite(arm.contrast_people.estimate)
    alike = batch(read_batches(table.assign(human=4.0), name="rated alike")).arms[0]
    assert "the rating by people is 4 for every response just before" in alike.contrast_people.why
    fixed = table[table["order"].isna() | (table["order"] == "o0")]
    assert "always followed the same one" in batch(read_batches(fixed, name="still")).arms[0].contrast.why


def test_what_a_score_takes_is_counted_over_the_replies_of_the_arm() -> None:
    """50 calls about four took 30,000 tokens in: 150 a score; 80 alone 16,000: 200. A quarter is saved."""
    data = read_batches(BatchJudge().table(40, 6), name="counted")
    none = batch(data).arms[0]
    assert none.cost is None
    (together,), (alone,) = (
        [code for code, arm in enumerate(data.arms) if (arm.n_positions > 1) == several] for several in (True, False)
    )
    used = [(together, 50, 30_000, 1_000, 20.0), (alone, 80, 16_000, 0, 8.0)]
    usage = pd.DataFrame(used, columns=["arm", "calls", "tokens_in", "tokens_out", "seconds"])
    counted = replace(data, usage=usage)
    assert batch(counted).arms[0].tokens_saved == pytest.approx(0.25)
    told = json.loads(json.dumps(document(Findings(counted))))["arms"][0]
    assert told["tokens_saved"] == pytest.approx(0.25)
    assert told["a_score"]["together"] == {"calls": 0.25, "tokens_in": 150.0, "tokens_out": 5.0, "seconds": 0.1}
    assert told["a_score"]["alone"] == {"calls": 1.0, "tokens_in": 200.0, "tokens_out": None, "seconds": 0.1}
    assert json.loads(json.dumps(document(Findings(data))))["arms"][0]["a_score"] == {"together": None, "alone": None}


def test_a_run_of_the_lab_brings_its_tokens_with_it() -> None:
    for arm in batch(data_of("batch")).arms:
        assert arm.cost is not None
        assert arm.cost_alone is not None
        assert arm.cost.calls == 1 / arm.size
        assert 0.0 < arm.tokens_saved < 1.0, "the rubric stands once in a batch"


def test_without_single_calls_batches_still_tell_of_places() -> None:
    table = BatchJudge(drift=-1.5).table(120, 4)
    arm = batch(read_batches(table[table["batch"].notna()], name="together")).arms[0]
    assert arm.single is None
    assert any("asked about alone" in text for text in arm.warnings)
    assert arm.drift.verdict == "effect"


def test_a_judge_that_never_answers_in_form_is_said_to() -> None:
    table = BatchJudge().table(24, 5)
    table["score"] = table["score"].where(table["batch"].isna())
    (arm, *_), data = batch(read_batches(table, name="mute")).arms, read_batches(table, name="mute")
    assert batch_sentence(arm) == "Nothing could be read of foreign's answers about 4 responses at once."
    assert [line["verdict"] for line in document(Findings(data))["advice"]] == ["undecided"]
    assert before_heatmap(arm).alt.endswith("nothing to show.")


def test_the_simulated_judges_plants_are_found() -> None:
    plants = {"batch_contrast": -0.6, "batch_drift": -1.0, "batch_shift": 0.3, "batch_position": [0.0, 0.0, 0.0, 0.0]}
    made = study(
        120,
        axis="batch",
        strategies=(Strategy("williams"), Strategy("fixed", reads=2)),
        judges=(Judge("sim", "simulated", "simulated", options=plants),),
    )
    arm = batch(run_simulated(made)).arms[0]
    assert arm.drift.verdict == arm.contrast.verdict == "effect"
    assert arm.drift.estimate < 0 > arm.contrast.estimate
    assert arm.repeats.control == "fixed"


@pytest.mark.slow
@pytest.mark.parametrize("items", [30, 60])
@pytest.mark.parametrize("family", ["normal", "prompts"])
def test_unbiased_judges_are_accused_in_one_run_of_twenty_at_most(family: str, items: int) -> None:
    """Any of the three primary questions; leanings to places that differ by item (or prompt) are no drift."""
    accused = covered = 0
    for seed in range(RUNS):
        _, arm = of(BatchJudge(family, slope_sd=0.5), items, seed)
        assert arm.single is not None
        verdicts = (place_effect(arm)[1].verdict, arm.contrast.verdict, arm.single.level.verdict)
        accused += "effect" in verdicts
        covered += arm.contrast_people.low <= 0 <= arm.contrast_people.high
    assert accused <= 0.05 * RUNS + 3 * np.sqrt(0.0475 * RUNS)
    assert covered >= 0.95 * RUNS - 3 * np.sqrt(0.0475 * RUNS)


def test_the_square_is_williams() -> None:
    follows = {(a, b) for line in SQUARE for a, b in pairwise(line)}
    assert len(follows) == 12
