"""The choice model on a run: recovery, denominators, and plain words where it cannot say."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.choice import choice
from rubriclab.findings.choice_words import choice_sentence
from rubriclab.findings.plain import plain
from rubriclab.model import STATUSES, Arm, Ordering, RunData

SCORES = (1, 2, 3, 4, 5)
POSITION = np.array([0.7, 0.1, -0.2, -0.3, -0.3])
FORWARD = [tuple(np.roll(SCORES, -k).tolist()) for k in range(5)]
ROTATIONS = [*FORWARD, *(line[::-1] for line in FORWARD)]


def run(
    lines: list[tuple[int, ...]],
    *,
    items: int = 300,
    seed: int = 0,
    strategy: str = "balanced",
    labels: str = "score",
    unread: float = 0.0,
    blocks: int = 0,
    probabilities: bool = False,
) -> RunData:
    """One arm: every item read under every line by a judge with POSITION planted."""
    rng = np.random.default_rng(seed)
    names = {"score": None, "place": tuple("ABCDE")}[labels]
    orderings = tuple(Ordering(line, names or tuple(map(str, line))) for line in lines)
    shown = np.array(lines) - 1
    item = np.repeat(np.arange(items), len(lines))
    ordering = np.tile(np.arange(len(lines)), items)
    content = rng.normal(0, 1.2, (items, 5))
    utility = content[item[:, None], shown[ordering]] + POSITION
    chances = np.exp(utility) / np.exp(utility).sum(axis=1, keepdims=True)
    place = np.argmax(utility + rng.gumbel(size=utility.shape), axis=1)
    lost = rng.random(len(item)) < unread
    judgments = pd.DataFrame(
        {
            "arm": 0,
            "item": item,
            "ordering": ordering,
            "read": ordering,
            "repeat": 0,
            "call": np.arange(len(item)),
            "status": np.where(lost, STATUSES.index("unparsed"), STATUSES.index("ok")),
            "score": np.where(lost, np.nan, shown[ordering, place] + 1.0),
            "position": np.where(lost, -1, place + 1),
            "expected": np.nan,
            "mass": np.nan,
        }
    )
    frame = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(items)],
            "dataset": "d",
            "block": [f"b{i % blocks}" for i in range(items)] if blocks else None,
            "human": np.nan,
        }
    )
    arm = Arm("judge", "d", strategy, scores=SCORES, n_positions=5)
    return RunData("r", "r", (arm,), frame, orderings, judgments, chances if probabilities else None)


def test_recovers_what_was_planted_and_names_levels() -> None:
    model = choice(run(ROTATIONS, items=1500)).arms[0]
    assert [level.position for level in model.position] == [1, 2, 3, 4, 5]
    for level, truth in zip(model.position, POSITION, strict=True):
        assert level.log_odds == pytest.approx(truth, abs=0.12)
        assert level.ci.low < level.log_odds < level.ci.high
        assert level.odds == pytest.approx(np.exp(level.log_odds))
    assert [level.name for level in model.neighbour] == ["1", "2", "3", "4", "5"]
    assert model.position_test is not None
    assert model.position_test.p < 1e-6
    assert model.converged
    assert (model.n_items, model.n_reads, model.unit) == (1500, 15_000, "item")


def test_unread_judgments_are_counted_not_used() -> None:
    model = choice(run(ROTATIONS, unread=0.1)).arms[0]
    assert model.excluded["unparsed"] == 3000 - model.n_reads
    assert 200 < model.excluded["unparsed"] < 400


def leaning_run(items: int, seed: int, sd: float = 1.3) -> RunData:
    """As ``run``, every item leaning to places by itself with standard deviation ``sd``."""
    data, rng = run(ROTATIONS, items=items, seed=seed), np.random.default_rng(seed + 1000)
    shown = np.array(ROTATIONS) - 1
    utility = rng.normal(0, 1.2, (items, 5))[:, shown] + POSITION
    utility = utility + rng.normal(0, sd, (items, 1, 5))
    place = np.argmax(utility + rng.gumbel(size=utility.shape), axis=2)
    score = np.take_along_axis(np.broadcast_to(shown, utility.shape), place[..., None], 2)[..., 0]
    frame = data.judgments.assign(score=score.ravel() + 1.0, position=place.ravel() + 1)
    return replace(data, judgments=frame)


def test_the_typical_item_is_said_where_items_lean_by_themselves() -> None:
    """One effect for all items is 30 % too small and covers .76; the typical item's covers."""
    covered, pooled, typical = [], [], []
    for seed in range(4):
        model = choice(leaning_run(100, seed)).arms[0]
        assert model.of_typical_item
        assert model.leaning == pytest.approx(1.3, abs=0.4)
        covered += [v.ci.low < t < v.ci.high for v, t in zip(model.position, POSITION, strict=True)]
        pooled.append([level.log_odds for level in model.pooled])
        typical.append([level.log_odds for level in model.position])
    assert np.mean(covered) >= 0.85
    reach = float(POSITION @ POSITION)
    assert np.mean(np.array(pooled) @ POSITION) / reach < 0.8
    assert np.mean(np.array(typical) @ POSITION) / reach == pytest.approx(1.0, abs=0.15)
    assert choice_sentence(model).startswith("On the typical item")


def test_an_unseen_pull_is_not_called_absent() -> None:
    data = run(ROTATIONS, items=25, seed=4)
    still = replace(
        data, judgments=data.judgments.assign(score=np.random.default_rng(5).integers(1, 6, 250).astype(float))
    )
    said = choice_sentence(choice(still).arms[0])
    assert "nor ruled out" in said
    assert "held equal" not in said


def test_few_items_take_one_effect_and_say_so() -> None:
    model = choice(run(ROTATIONS, items=12)).arms[0]
    assert not model.of_typical_item
    assert any("one effect of position for all items" in text for text in model.warnings)


def test_blocks_are_the_unit_where_there_are_any() -> None:
    model = choice(run(ROTATIONS, blocks=30)).arms[0]
    assert model.unit == "block"
    assert model.n_informative == 30


def test_probabilities_recover_exactly() -> None:
    data = run(ROTATIONS, items=40, probabilities=True)
    model = choice(data, source="probabilities").arms[0]
    found = [level.log_odds for level in model.position]
    assert found == pytest.approx(POSITION - POSITION.mean(), abs=1e-6)


def test_probabilities_that_are_not_there_leave_nothing() -> None:
    model = choice(run(ROTATIONS, items=40), source="probabilities").arms[0]
    assert model.n_reads == 0
    assert model.excluded["without probabilities"] == 400


def test_one_order_is_refused_in_words() -> None:
    model = choice(run([SCORES] * 1, strategy="fixed")).arms[0]
    assert model.position == ()
    assert "one order only" in model.warnings[0]
    assert not model.converged


def test_labels_by_place_are_part_of_the_position() -> None:
    model = choice(run(ROTATIONS, labels="place")).arms[0]
    assert model.identified["label"] == "tied to position"
    assert any("position and label together" in text for text in model.warnings)
    assert model.label == ()


def test_no_readable_reply_is_said() -> None:
    model = choice(run(ROTATIONS, items=5, unread=1.1)).arms[0]
    assert model.warnings == ("No judgment of this arm could be read.",)
    assert model.n_items == 0


def test_a_run_without_reordered_options_is_said() -> None:
    data = run(ROTATIONS, items=5)
    other = RunData("r", "r", (Arm("judge", "d", "x", axis="pairwise"),), data.items, data.orderings, data.judgments)
    found = choice(other)
    assert found.arms == ()
    assert found.n_arms_left_out == 1
    assert found.warnings


def test_all_orderings_and_json() -> None:
    found = choice(run([tuple(p) for p in permutations(SCORES)], items=12))
    text = json.dumps(plain(found))
    assert json.loads(text)["arms"][0]["position"][0]["position"] == 1
    assert any("too narrow" in w for w in found.arms[0].warnings)
