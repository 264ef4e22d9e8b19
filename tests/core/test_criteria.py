"""Criteria of one call that move against each other: sizes, tests and words that their mean would
hide.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rubriclab as rl
from rubriclab.core import permutation as gates
from rubriclab.core.cells import Answers, cells
from rubriclab.core.judgments import Judgments
from rubriclab.core.lengths import squared_length_test
from rubriclab.core.verdict import PositionVerdict, decide, verdicts
from rubriclab.model.study import Smallest
from tests.tables import choices, criteria, responses

ORDERS = np.array([[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]])
ORDERS = np.vstack([ORDERS, ORDERS[:, ::-1]])
POINTS = np.arange(1.0, 6.0)
SMALLEST = Smallest()

# What each of four criteria gains where it is listed first, in points.
NONE = np.zeros(4)
COMMON = np.ones(4)
OPPOSITE = np.array([1.0, -1.0, 1.0, -1.0])
ONE = np.array([1.0, 0.0, 0.0, 0.0])


def scores(gain: np.ndarray, texts: int = 40, seed: int = 3) -> np.ndarray:
    """(texts, 16, 4): scores 1 to 5 of a judge whose criteria gain so much where they stand first;
    every order twice.

    Texts differ, criteria differ within a text, all scores of a call share a part, and each has its
    own noise.
    """
    rng = np.random.default_rng(seed)
    order = np.tile(ORDERS, (2, 1))
    stands_first = np.argsort(order, axis=1) == 0
    trait = rng.normal(0, 0.7, (texts, 1)) + rng.standard_t(4, (texts, 4)) * 0.5 + 0.3
    of_call = rng.normal(0, 0.25, (texts, len(order), 1))
    noise = 0.5 * rng.normal(size=(texts, len(order), 4))
    return np.rint(3 + trait[:, None] + gain * stands_first + of_call + noise).clip(1, 5)


def judge(gain: np.ndarray, texts: int = 40, seed: int = 3) -> Answers:
    return choices(scores(gain, texts, seed) - 1, np.tile(np.arange(8), 2), ORDERS, points=POINTS)


def positions(answers: Answers, smallest: Smallest = SMALLEST) -> PositionVerdict:
    return decide(answers, smallest).questions["positions"]


def test_a_squared_length_and_its_ends_by_hand() -> None:
    """Ten units (.5, -.5, -.5, .5) + i / 100: the mean is .5 + .045 or -.5 + .045, so |mean|^2 = 2
    (.545^2 + .455^2) = 1.0081; each of four numbers has the variance .0000825 / .09 = .000917, so
    noise adds .00367 / 10.
    """
    rows = np.tile([0.5, -0.5, -0.5, 0.5], (10, 1)) + np.arange(10)[:, None] * 0.01
    made = squared_length_test(rows, np.ones(10), 2)
    assert made[:3] == pytest.approx((1.007733, 0.922992, 1.096961), abs=5e-7)
    assert made.value == pytest.approx(1.0081 - 4 * (0.01**2 * 82.5 / 9) / 10)
    assert np.isnan(squared_length_test(rows[:7], np.ones(7), 2).high), "too few units"
    still = squared_length_test(np.tile([0.5, -0.5], (8, 1)), np.ones(8), 1)
    assert still == (0.5, 0.5, 0.5, 2.0**-7), "no noise at all: eight units that agree"


@pytest.mark.parametrize(
    ("gain", "gate", "size", "ends", "word"),
    [
        (NONE, 0.6305, 0.0, (0, 0.144315), "equivalent"),
        (0.2 * COMMON, 0.001, 0.097866, (0.044564, 0.160145), "equivalent"),
        (0.2 * OPPOSITE, 0.002, 0.124322, (0.070969, 0.179585), "equivalent"),
        (0.4 * OPPOSITE, 0.002, 0.262574, (0.206898, 0.320529), "effect"),
        (0.8 * ONE, 0.0015, 0.223791, (0.176066, 0.273694), "effect"),
    ],
)
def test_what_criteria_do_against_each_other_is_told(
    gain: np.ndarray, gate: float, size: float, ends: tuple[float, float], word: str
) -> None:
    """Numbers of another implementation, 1,999 deals. Pooled, opposite gains of .4 points were
    called none.
    """
    found = decide(judge(gain), SMALLEST)
    answer = found.questions["positions"]
    assert found.gate.p == gate
    assert answer.value == pytest.approx(size, abs=5e-7)
    assert (answer.low, answer.high) == pytest.approx(ends, abs=5e-7)
    assert answer.word == word
    assert answer.above_zero == gain.any()


def test_the_gate_has_a_part_for_each_criterion() -> None:
    parts = decide(judge(0.2 * OPPOSITE), SMALLEST).gate.parts
    assert parts == {"positions": 0.533, "criteria": 0.0005, "mean": 0.8895, "single": 0.1025}


def test_sizes_name_the_criterion_that_moves_most() -> None:
    answer = positions(judge(0.4 * OPPOSITE))
    assert answer.criteria.sizes == pytest.approx([0.2080, 0.2898, 0.2299, 0.3093], abs=5e-5)
    assert (answer.criteria.criterion, answer.furthest) == (3, max(answer.criteria.sizes))
    # The mean over criteria says nothing of it: its own test is not even near.
    assert answer.criteria.p_pooled > 0.05 > answer.criteria.p_criteria


def test_one_criterion_that_reaches_the_limit_leaves_no_no() -> None:
    """One criterion of four gains: on average far below the limit, alone above it."""
    answers = judge(0.4 * ONE, texts=100, seed=1)
    answer = positions(answers)
    assert answer.value < answer.high < answer.smallest == 0.25 < answer.furthest
    assert answer.word == "effect"
    higher = Smallest(mean=answer.furthest * 1.01)
    assert positions(answers, higher).word == "equivalent"


def test_where_nothing_is_shown_one_criterion_is_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind a closed gate there is no effect, and no "No" of a criterion that moves by as much as
    matters.
    """
    monkeypatch.setattr("rubriclab.core.verdict.gate", lambda _: gates.Gate(p=0.2))
    answer = positions(judge(0.4 * ONE, texts=100, seed=1))
    assert (answer.word, answer.why) == ("undecided", "one_criterion")


def test_answers_of_one_call_are_no_criteria() -> None:
    """Which of several answers is the first of a file says nothing: they are told by position
    alone, as before.
    """
    table = responses(scores(0.4 * OPPOSITE)[:, :8], ORDERS)
    found = verdicts(Judgments(table, "auto").arms, SMALLEST)
    assert set(found.gate.parts) == {"positions", "mean", "single"}
    assert found.positions.criteria is None
    table = criteria(scores(0.4 * OPPOSITE)[:, :8], ORDERS)
    assert verdicts(Judgments(table, "auto").arms, SMALLEST).positions.criteria is not None


def test_the_leans_of_criteria_have_the_pooled_lean_as_their_mean() -> None:
    lost = scores(0.4 * OPPOSITE)
    lost[::3, 5] = np.nan
    for drawn in (False, True):
        table = cells(
            replace(choices(lost - 1, np.tile(np.arange(8), 2), ORDERS, points=POINTS), drawn=drawn)
        )
        assert table.lean_of_criteria.mean(axis=1) == pytest.approx(table.lean)


def test_names_and_rows_decide_nothing() -> None:
    answers = judge(0.3 * OPPOSITE, texts=20)
    rng = np.random.default_rng(0)
    row, item, order = rng.permutation(len(answers.item)), rng.permutation(20), rng.permutation(8)
    other = replace(
        answers,
        item=item[answers.item][row],
        order=order[answers.order][row],
        code=answers.code[row],
        orders=ORDERS[np.argsort(order)],
    )
    assert repr(decide(other, SMALLEST)) == repr(decide(answers, SMALLEST))


def test_a_deal_of_criteria_is_summed_by_position_and_criterion() -> None:
    """A text in two orders of two criteria: 4 and 2 points as listed first and last, 3 each the
    other way round.
    """
    table = cells(
        choices(np.array([[[4, 2], [3, 3]]]) - 1.0, [0, 1], [[0, 1], [1, 0]], points=POINTS)
    )
    # Criterion 1 has 3.5 on average, 4 where it stands first; criterion 2 has 2.5, and 3 where it
    # does.
    assert table.lean_of_criteria.tolist() == [[[0.5, -0.5], [0.5, -0.5]]]
    cards = gates.order_cards(table)
    assert cards is not None
    seats = np.array([[0, 1]])
    sums = cards.sums(seats, gates.every_hand(seats, np.array([2])))
    # By position and criterion, as parts of the lean of .5, as seen and with the two answers
    # exchanged.
    assert sums[0, 0, :4].tolist() == [0.25, 0.25, -0.25, -0.25]
    assert sums[1, 0, :4].tolist() == [-0.25, -0.25, 0.25, 0.25]


@pytest.mark.thorough
def test_the_recorded_judge_whose_criteria_move_and_whose_mean_does_not() -> None:
    """Real replies: every criterion moves with its position, and pooled they were called undecided
    (0.025 points).
    """
    run = rl.read(Path(__file__).parents[2] / "data" / "example-criteria.zip")
    words = {
        row.measure: row for row in run.findings.select(topic="verdict", condition=1) if row.verdict
    }
    moved = words["favours_positions"]
    assert run.table.conditions[1].judge == "qwen2.5-coder-0.5b"
    assert (moved.verdict, round(moved.value, 3)) == ("effect", 0.169)
    assert words["moves_mean"].verdict == "equivalent"
