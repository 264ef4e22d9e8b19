"""The alternative annotator test of a run: what it says, what it cannot say, what hangs on the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.replacement import REPLACEMENT, replacement, replacement_sentence
from rubriclab.findings.topics import Findings, document
from rubriclab.model import STATUSES, Arm, LabError, Ordering, RunData
from rubriclab.report.text import as_text

SCORES = (1, 2, 3, 4, 5)
ORDERS = (SCORES, SCORES[::-1])
NAN = np.nan


def run(scores: np.ndarray, ratings: np.ndarray, names: tuple[str, ...] = (), prompts: int = 1) -> RunData:
    """Every item read in two orders in turn, (items, reads), NaN unread; ``ratings``: (items, raters)."""
    n, reads = scores.shape
    known = [np.isfinite(row) for row in ratings]
    with np.errstate(invalid="ignore"):
        mean = [row[at].mean() if at.any() else NAN for row, at in zip(ratings, known, strict=True)]
    items = pd.DataFrame(
        {
            "item_id": [f"i{k}" for k in range(n)],
            "dataset": "d",
            "criterion": None,
            "block": None,
            "prompt": [f"p{k // prompts}" for k in range(n)] if prompts > 1 else None,
            "candidate": None,
            "human": mean,
            "raters": [tuple(row[at].tolist()) for row, at in zip(ratings, known, strict=True)],
            "rater_names": [tuple(w for w, k in zip(names, at, strict=True) if k) if names else () for at in known],
        }
    )
    flat, ordering = scores.ravel(), np.tile(np.arange(reads) % 2, n)
    shown = np.array(ORDERS)[ordering]
    read = np.isfinite(flat)
    judgments = pd.DataFrame(
        {
            "arm": 0,
            "item": np.repeat(np.arange(n), reads),
            "ordering": ordering,
            "read": np.tile(np.arange(reads), n),
            "repeat": 0,
            "call": np.arange(n * reads),
            "status": np.where(read, 0, STATUSES.index("unparsed")),
            "score": flat,
            "position": np.where(read, (shown == flat[:, None]).argmax(axis=1) + 1, -1),
            "expected": NAN,
            "mass": NAN,
        }
    )
    arm = Arm("j", "d", "custom", scores=SCORES, n_positions=5)
    return RunData("r", "r", (arm,), items, tuple(map(Ordering, ORDERS)), judgments)


def people(n: int = 60, raters: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = 3 + rng.normal(size=n)
    return truth, np.clip(np.rint(truth[:, None] + rng.normal(0, 0.8, (n, raters))), 1, 5)


def test_a_judge_that_is_near_in_one_order_alone() -> None:
    """Ascending it gives the truth, descending a 1: every number follows from the order."""
    truth, ratings = people()
    good = np.clip(np.rint(truth), 1, 5)
    scores = np.stack([good, np.ones(60)], axis=1)
    arm = replacement(run(scores, ratings, ("Ann", "Ben", "Cy"))).arms[0]
    up, down = arm.orders
    assert (up.name, down.name) == ("1 2 3 4 5", "5 4 3 2 1")
    assert up.passes
    assert not down.passes
    assert arm.passing_orders == 1
    assert arm.single.advantage == pytest.approx((up.advantage + down.advantage) / 2)
    assert arm.spread == pytest.approx(up.advantage - down.advantage, abs=0.02)
    assert arm.spread_ci.low > 0.3
    assert [one.name for one in arm.single.annotators] == ["Ann", "Ben", "Cy"]
    assert "passes in 1 of 2 orders" in replacement_sentence(arm)


def test_numbers_by_hand() -> None:
    """Everybody gives 3 but Cy, who gives 5; the judge gives 3: nearer than Cy, as near as Ann and Ben."""
    ratings = np.tile([3.0, 3.0, 5.0], (20, 1))
    arm = replacement(run(np.full((20, 2), 3.0), ratings, ("Ann", "Ben", "Cy"))).arms[0]
    assert [(one.judge, one.human) for one in arm.single.annotators] == [(1, 1), (1, 1), (1, 0)]
    assert arm.single.advantage == 1.0
    # 11/3 for all is nearer to 3 and 5 than Ann's 3 is (both 1.41 away, 1.05 against), and to 3 and 3 than 5 is.
    assert [one.judge for one in arm.constant.annotators] == [1.0, 1.0, 1.0]
    assert [one.human for one in arm.constant.annotators] == [0.0, 0.0, 0.0]


def test_slots_are_said_to_be_slots_and_persons_are_not() -> None:
    truth, ratings = people()
    scores = np.repeat(np.clip(np.rint(truth), 1, 5)[:, None], 2, axis=1)
    slots = replacement(run(scores, ratings)).arms[0]
    named = replacement(run(scores, ratings, ("Ann", "Ben", "Cy"))).arms[0]
    assert not slots.persons
    assert any("do not say who gave which rating" in text for text in slots.warnings)
    assert named.persons
    assert not any("who gave which" in text for text in named.warnings)
    assert named.single.advantage == slots.single.advantage


@pytest.mark.parametrize("raters", [0, 1, 2])
def test_fewer_than_three_raters_pass_nobody(raters: int) -> None:
    truth, ratings = people(raters=raters)
    found = replacement(run(np.clip(np.rint(truth), 1, 5)[:, None].repeat(2, axis=1), ratings))
    if raters < 2:
        assert found.arms == ()
        assert "two people" in found.warnings[0]
        return
    arm = found.arms[0]
    assert arm.single.passes is None
    assert np.isfinite(arm.single.advantage)
    assert "at least 3 annotators" in arm.why
    assert "is not said" in replacement_sentence(arm)


def test_an_unfinished_run_has_numbers_and_no_verdict() -> None:
    truth, ratings = people()
    data = run(np.clip(np.rint(truth), 1, 5)[:, None].repeat(2, axis=1), ratings, ("Ann", "Ben", "Cy"))
    whole, half = (replacement(replace(data, planned=(calls,))).arms[0] for calls in (120, 240))
    assert whole.single.passes
    assert (half.single.passes, half.averaged.passes, half.passing_orders) == (None, None, 0)
    assert half.single.advantage == whole.single.advantage
    assert "120 of 240 calls wait" in replacement_sentence(half)


def test_items_of_one_prompt_are_one_unit() -> None:
    truth, ratings = people(n=48)
    scores = np.clip(np.rint(truth), 1, 5)[:, None].repeat(2, axis=1)
    alone, grouped = (replacement(run(scores, ratings, prompts=k)).arms[0] for k in (1, 2))
    assert (alone.n_units, grouped.n_units) == (48, 24)
    assert alone.single.annotators[0].p != grouped.single.annotators[0].p
    few = replacement(run(scores, ratings, prompts=4)).arms[0]
    assert few.single.passes is None
    assert "0 of 3" in few.why


def test_a_judge_that_reads_nothing_is_named_where_it_would_pass() -> None:
    """Raters who disagree about everything: the middle is nearest to all of them."""
    ratings = np.random.default_rng(1).integers(1, 6, (80, 3)).astype(float)
    arm = replacement(run(np.full((80, 2), 3.0), ratings)).arms[0]
    assert arm.constant.passes
    assert any("does not show that a judge reads" in text for text in arm.warnings)


def test_passing_is_not_said_without_what_a_constant_does() -> None:
    """“May stand in for a rater” was said, and the constant that passes as well stood elsewhere."""
    ratings = np.random.default_rng(1).integers(1, 6, (80, 3)).astype(float)
    data = run(np.full((80, 2), 3.0), ratings)
    arm = replacement(data).arms[0]
    assert arm.single.passes
    assert "so would a judge that gave every item the mean" in replacement_sentence(arm)
    assert "does not show that a judge reads" in as_text(document(Findings(data)))


def test_unread_replies_and_missing_ratings_are_left_out_of_their_items_alone() -> None:
    truth, ratings = people(n=80)
    scores = np.clip(np.rint(truth), 1, 5)[:, None].repeat(2, axis=1)
    scores[0] = NAN
    scores[1, 0] = NAN
    ratings[2] = NAN
    ratings[3, 1:] = NAN
    arm = replacement(run(scores, ratings)).arms[0]
    assert arm.n_items == 77
    nothing = replacement(run(np.full((80, 2), NAN), ratings)).arms[0]
    assert nothing.single.passes is None


def test_epsilon_is_the_readers() -> None:
    truth, ratings = people(n=100)
    noisy = np.clip(np.rint(truth + np.random.default_rng(2).normal(0, 1.0, 100)), 1, 5)
    data = run(noisy[:, None].repeat(2, axis=1), ratings)
    strict, mild = (replacement(data.read_as(epsilon=e)).arms[0].single for e in (0.0, 0.4))
    assert strict.annotators[0].p > mild.annotators[0].p
    assert Findings(data).of(REPLACEMENT, epsilon=0.4).arms[0].single == mild
    with pytest.raises(LabError, match=r"0 to 0\.5"):
        data.read_as(epsilon=0.7)


@pytest.mark.slow
def test_the_document_has_it_under_its_arm() -> None:
    truth, ratings = people()
    scores = np.clip(np.rint(truth), 1, 5)[:, None].repeat(2, axis=1)
    found = Findings(run(scores, ratings))
    part = document(found)["arms"][0]["replacement"]
    assert part["epsilon"] == 0.15
    assert part["passes"] is True
    assert set(part["advantage"]) == {"value", "low", "high"}
    assert {"winning_rate", "annotators", "orders", "averaged", "corrected", "constant"} <= set(part)
    assert part["orders"][1]["ordering"] == [5, 4, 3, 2, 1]
    table = found.estimates()
    shown = table[(table["topic"] == "replacement") & (table["measure"] == "single.advantage")]
    assert shown["value"].tolist() == [part["advantage"]["value"]]
