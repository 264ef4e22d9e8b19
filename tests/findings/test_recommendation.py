"""Advice: each answer follows from the numbers it quotes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.alignment import alignment
from rubriclab.findings.position import position
from rubriclab.findings.ranking import ranking
from rubriclab.findings.recommendation import enough_reads, recommendation
from rubriclab.model import Arm, Ordering, RunData
from rubriclab.stats.alignment import BudgetPoint

SCORES = (1, 2, 3, 4, 5)
ROTATIONS = [(*SCORES[k:], *SCORES[:k]) for k in range(5)]
CYCLES = tuple(ROTATIONS + [r[::-1] for r in ROTATIONS])


def run_with(pull: float, *, n: int = 120, human: bool = True, fixed_only: bool = False) -> RunData:
    """A judge that with probability ``pull`` takes whatever option stands first."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    strategies = ("fixed",) if fixed_only else ("balanced", "fixed")
    frames = []
    for arm, strategy in enumerate(strategies):
        ordering = np.tile(np.arange(10) if strategy == "balanced" else [0] * 10, n)
        raw = np.repeat(truth, 10) + rng.normal(scale=1.2, size=n * 10)
        score = np.clip(np.round(3 + raw), 1, 5)
        shown = np.array(CYCLES)[ordering]
        score = np.where(rng.random(n * 10) < pull, shown[:, 0], score)
        frames.append(
            pd.DataFrame(
                {
                    "arm": arm, "item": np.repeat(np.arange(n), 10), "ordering": ordering,
                    "read": np.tile(np.arange(10), n), "repeat": 0, "call": np.arange(n * 10),
                    "status": 0, "score": score,
                    "position": (shown == score[:, None]).argmax(axis=1) + 1,
                    "expected": np.nan, "mass": np.nan,
                }
            )
        )  # fmt: skip
    ratings = np.clip(np.round(3 + truth), 1, 5)
    items = pd.DataFrame(
        {
            "item_id": [f"i{i}" for i in range(n)], "dataset": "d", "criterion": "q",
            "block": None, "prompt": [f"p{i // 4}" for i in range(n)],
            "candidate": [f"m{i % 4}" for i in range(n)], "task": None,
            "human": ratings if human else np.nan,
            "raters": [(r,) for r in ratings] if human else [()] * n,
        }
    )  # fmt: skip
    arms = tuple(Arm("j", "d", s, scores=SCORES, n_positions=5) for s in strategies)
    return RunData(
        "r", "r", arms, items, tuple(map(Ordering, CYCLES)), pd.concat(frames, ignore_index=True)
    )


def advise(run: RunData) -> dict[str, tuple[str, str]]:
    (found,) = recommendation(
        position=position(run, n_boot=200),
        alignment=alignment(run, n_boot=200, n_paired=400),
        ranking=ranking(run, n_boot=200),
    )
    return {advice.question: (advice.level, advice.answer) for advice in found.advice}


def test_a_biased_judge_is_told_with_its_direction_and_its_cost() -> None:
    advice = advise(run_with(0.4))
    level, answer = advice["bias"]
    assert level == "act"
    assert "first option" in answer
    assert "20.0%" in answer
    assert "difference in r" in advice["mitigation"][1]
    assert "winner changes" in advice["ranking"][1]
    assert "human points" in advice["ranking"][1]
    assert "orders are enough" in advice["budget"][1]
    assert "single order" in advice


def test_an_even_judge_is_left_in_peace() -> None:
    assert advise(run_with(0.0))["bias"][0] in ("fine", "watch")
    assert "No position effect" in advise(run_with(0.0))["bias"][1]


def test_one_order_alone_cannot_tell() -> None:
    level, answer = advise(run_with(0.4, fixed_only=True))["bias"]
    assert level == "unknown"
    assert "one order" in answer


def test_without_humans_there_is_no_word_on_agreement() -> None:
    advice = advise(run_with(0.4, human=False))
    assert "mitigation" not in advice
    assert "budget" not in advice
    assert "humans" not in advice["single order"][1]


def test_nothing_in_nothing_out() -> None:
    assert recommendation() == ()


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        ([0.2, 0.3, 0.389, 0.4], 4),  # 95 % of the gain is at 0.2 + 0.19 = 0.39
        ([0.2, 0.3, 0.39, 0.4], 3),
        ([0.2, 0.3, 0.392, 0.4], 3),
        ([0.4, 0.39, 0.38], 1),
        ([0.3], 1),
        ([0.3, float("nan")], None),
        ([], None),
    ],
)
def test_enough_reads(means: list[float], expected: int | None) -> None:
    budget = [BudgetPoint(k, r, r, r, 1) for k, r in enumerate(means, start=1)]
    assert enough_reads(budget) == expected
