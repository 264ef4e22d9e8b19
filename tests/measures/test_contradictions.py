"""Scores against pairs of the same candidates: none found where none is, and what is planted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.topic import Findings
from rubriclab.model.judgment import JudgmentTable
from tests.tables import comparisons, findings, only, options

ORDERS = np.array([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
SWAPS = np.array([[0, 1], [1, 0]])
CANDIDATES = "abcd"


def both(score: np.ndarray, first_wins: np.ndarray) -> JudgmentTable:
    """``score`` (questions, 4 candidates, calls) and ``first_wins`` (questions, 6 pairs, calls):
    1 where the first candidate by name wins, 0 where the second does, .5 for a tie.
    """
    questions, rounds = len(score), first_wins.shape[2] // 2
    prompts = [f"question {q}" for q in range(questions)]
    scored = options(
        score.reshape(questions * 4, -1),
        ORDERS,
        prompt=np.repeat(prompts, 4),
        candidate=list(CANDIDATES) * questions,
    )
    pairs = [(CANDIDATES[i], CANDIDATES[j]) for i, j in zip(*np.triu_indices(4, 1), strict=True)]
    # In the second order the first candidate is at position 2.
    wins = np.where(np.tile([True, False], rounds), 2 - first_wins, 1 + first_wins)
    wins = np.where(first_wins == 0.5, 0, wins)
    compared = comparisons(
        wins.reshape(questions * 6, -1),
        SWAPS,
        names=pairs * questions,
        prompt=np.repeat(prompts, 6),
        candidate=["|".join(pair) for pair in pairs] * questions,
    )
    items, orders, calls = len(scored.items), len(scored.orderings), len(scored.rows)
    rows = compared.rows.assign(
        condition=1,
        item=compared.rows["item"] + items,
        ordering=compared.rows["ordering"] + orders,
        call=compared.rows["call"] + calls,
    )
    return replace(
        scored,
        conditions=(*scored.conditions, *compared.conditions),
        items=pd.concat([scored.items, compared.items], ignore_index=True),
        orderings=(*scored.orderings, *compared.orderings),
        rows=pd.concat([scored.rows, rows], ignore_index=True),
    )


def made(
    rng: np.random.Generator, questions: int, noise: float, other_taste: float = 0.0
) -> Findings:
    """A judge with one quality for scores and pairs; ``other_taste``: a share of the questions
    whose pairs it judges by another quality.
    """
    quality = rng.normal(3, 1, (questions, 4))
    score = np.rint(quality[..., None] + rng.normal(0, noise, (questions, 4, 4))).clip(1, 5)
    taste = np.where(
        rng.random((questions, 1)) < other_taste, rng.normal(3, 1, (questions, 4)), quality
    )
    i, j = np.triu_indices(4, 1)
    gap = (taste[:, i] - taste[:, j])[..., None] + rng.normal(0, noise, (questions, 6, 4))
    return findings(both(score, (gap > 0) * 1.0))


def value(found: Findings, measure: str) -> float:
    return only(found, measure, condition=1).value


def test_a_judge_without_noise_contradicts_nothing() -> None:
    found = made(np.random.default_rng(1), 40, 0.0)
    for measure in (
        "contradictions",
        "contradictions_stable",
        "contradictions_of_scores",
        "cycles",
    ):
        row = only(found, measure, condition=1)
        assert row.value == 0
        assert 0 < row.interval[1] < 0.15
        assert row.unit == "prompt"
        assert row.estimate.units == 40
        assert not row.verdict
    assert only(found, "contradictions", condition=1).of == {
        "against": 0,
        "way": "options",
    }
    assert only(found, "cycles", condition=1).counts["n"] == 160


@pytest.mark.thorough
def test_noise_alone_makes_contradictions_of_a_consistent_judge() -> None:
    found = made(np.random.default_rng(2), 150, 1.5)
    assert 0.08 < value(found, "contradictions") < 0.25
    assert 0.08 < value(found, "contradictions_of_scores") < 0.3
    assert value(found, "contradictions_stable") < 0.05
    assert value(found, "cycles") < 0.05


@pytest.mark.thorough
def test_planted_contradictions_are_stable() -> None:
    none = made(np.random.default_rng(3), 150, 0.8)
    some = made(np.random.default_rng(3), 150, 0.8, other_taste=0.5)
    assert value(some, "contradictions_stable") > 0.05
    assert value(none, "contradictions_stable") < 0.02
    # Scores against scores do not know of the pairs' other taste.
    assert value(some, "contradictions_of_scores") == pytest.approx(
        value(none, "contradictions_of_scores"), abs=0.03
    )


def test_contradictions_are_counted_by_hand() -> None:
    # One question in ten: scores say a > b > c > d, and its pairs say the reverse of all six.
    score = np.tile(np.array([5.0, 4, 3, 2])[:, None], (10, 1, 4))
    wins = np.ones((10, 6, 4))
    wins[0] = 0
    found = findings(both(score, wins))
    assert value(found, "contradictions") == pytest.approx(0.1)
    assert value(found, "contradictions_stable") == pytest.approx(0.1)
    assert value(found, "cycles") == 0


def test_one_round_has_no_stable_contradictions() -> None:
    found = findings(both(np.full((10, 4, 2), 3.0), np.ones((10, 6, 2))))
    assert value(found, "contradictions") == 0  # all scores tie
    assert only(found, "contradictions_stable", condition=1).why == "one_round"
    assert only(found, "contradictions_of_scores", condition=1).why == "one_round"


def test_scores_of_other_candidates_give_no_rows() -> None:
    table = both(np.full((10, 4, 2), 3.0), np.ones((10, 6, 2)))
    items = table.items.copy()
    items.loc[: 10 * 4 - 1, "candidate"] = "someone else"
    assert not findings(replace(table, items=items)).of_topic("contradictions")


def test_scores_on_a_bare_scale_are_compared_too() -> None:
    # A bare scale lists nothing, so its strategy is always "fixed".
    score = np.tile(np.array([5.0, 4, 3, 2])[:, None], (10, 1, 4))
    wins = np.ones((10, 6, 4))
    wins[0] = 0
    table = both(score, wins)
    scored, compared = table.conditions
    bare = replace(scored, reorder="bare", strategy="fixed")
    found = findings(replace(table, conditions=(bare, compared)))
    row = only(found, "contradictions", condition=1)
    assert row.value == pytest.approx(0.1)
    assert row.of == {"against": 0, "way": "bare"}


def test_the_default_order_again_and_again_is_no_other_way_to_ask() -> None:
    table = both(np.full((10, 4, 2), 3.0), np.ones((10, 6, 2)))
    scored, compared = table.conditions
    fixed = replace(scored, strategy="fixed")
    assert not findings(replace(table, conditions=(fixed, compared))).of_topic("contradictions")
