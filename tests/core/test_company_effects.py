"""All criteria in one call, compared with each by itself: vectors, the gate, and each criterion."""

import numpy as np
import pytest

from benchmarks.foreign import company_answers, company_shift
from rubriclab.core import permutation
from rubriclab.core.cells import Answers
from rubriclab.core.company_effects import (
    WEIGHTS,
    as_many,
    company_gate,
    decide_company,
    regrouped,
    signed_ends,
    vector_cards,
    with_vectors,
)
from rubriclab.model.study import Smallest

SMALLEST = Smallest()
POINTS = np.arange(1.0, 6.0)


def calls(joint: list[list[list[int]]], alone: list[list[list[int]]]) -> Answers:
    """Scores (texts, calls, criteria) in one call, and by themselves, as answers in two orders."""
    together, single = (np.array(part) - 1 for part in (joint, alone))
    texts, number, criteria = together.shape
    every = Answers(
        item=np.repeat(np.arange(texts), number),
        order=np.zeros(texts * number, dtype=np.int64),
        code=together.reshape(-1, criteria),
        orders=np.arange(criteria)[None],
        unit=np.arange(texts),
        points=POINTS,
        criteria=True,
    )
    text = np.repeat(np.arange(texts), single.shape[1])
    return with_vectors(every, text, single.reshape(-1, criteria))


def test_one_text_by_hand() -> None:
    """Alone (3, 3), together (1, 5): the mean changes by 0, the criteria by -2 and +2, and their
    squares are 4 + 4 = 8.
    """
    cards = vector_cards(calls(joint=[[[1, 5]]], alone=[[[3, 3]]]))
    assert cards is not None
    seats = cards.seats()
    (sums,) = cards.sums(seats, seats[None])[0]
    np.testing.assert_allclose(sums[:4], [-2, 2, 4, 4])
    assert sums[:2].mean() == 0

    # Dealt the other way round everything has the other sign, so no deal is further away: p = 1.
    gate = company_gate(calls(joint=[[[1, 5]]], alone=[[[3, 3]]]))
    assert gate.p == 1.0
    assert gate.exact


def test_expected_squares_are_the_mean_over_all_deals() -> None:
    answers = calls(
        joint=[[[1, 5], [2, 4]], [[3, 3], [5, 1]]], alone=[[[3, 3], [4, 2]], [[1, 2], [2, 2]]]
    )
    cards = vector_cards(answers)
    assert cards is not None
    every = cards.every_deal()
    assert every is not None
    np.testing.assert_allclose(cards.expected(cards.seats()), every.mean(axis=0), atol=1e-8)


def test_vectors_hold_whole_calls() -> None:
    """The scores of one call stay together in every deal: two texts with (1, 1) and (5, 5) give
    differences of both criteria that are always equal.
    """
    same = [[[1, 1], [5, 5]], [[1, 1], [5, 5]]]
    cards = vector_cards(calls(joint=same, alone=same))
    assert cards is not None
    every = cards.every_deal()
    assert every is not None
    assert len(every) == 24 * 24
    np.testing.assert_allclose(every[:, 0], every[:, 1])


def test_a_lost_score_costs_one_vector_of_its_text() -> None:
    """Text 0 lost one score of each criterion in different calls: one vector is left, not none."""
    text = np.array([0, 0, 1, 1])
    code = np.array([[-1, 2], [3, -1], [0, 0], [1, 1]])
    kept, packed = regrouped(text, code)
    assert kept.tolist() == [0, 1, 1]
    assert packed.tolist() == [[3, 2], [0, 0], [1, 1]]


def test_no_more_single_calls_are_dealt_than_joint_ones() -> None:
    text = np.array([0, 0, 1, 1])
    assert as_many(text, np.array([1, 2])).tolist() == [0, 2, 3]
    assert as_many(text, np.array([0, 9])).tolist() == [2, 3]


def test_weights_share_the_five_percent() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)


def two_moved(seed: int) -> Answers:
    """60 texts, 4 criteria, 2 and 4 calls; company lowers the second and raises the third."""
    return company_answers(
        np.random.default_rng(seed),
        60,
        criteria=4,
        calls=(2, 4),
        shift=company_shift("two", 0.7, 4),
        mood=0.3,
    )


def test_criteria_that_move_apart_are_both_named() -> None:
    """The mean over criteria hides them: it is the same, and the gate opens by its own part."""
    verdicts, criteria = decide_company(two_moved(1), SMALLEST)
    assert verdicts.gate.open
    assert verdicts.mean is not None
    assert not verdicts.mean.above_zero
    assert [verdict.above_zero for verdict in criteria] == [False, True, True, False]
    assert criteria[1].signed < 0 < criteria[2].signed
    assert verdicts.gate.parts["criteria"] < 0.01 < verdicts.gate.parts["mean"]


@pytest.mark.thorough
def test_an_interval_leaves_out_0_exactly_where_a_criterion_is_named() -> None:
    for seed in range(6):
        _, criteria = decide_company(two_moved(seed), SMALLEST)
        for verdict in criteria:
            low, high = signed_ends(verdict)
            assert (low > 0 or high < 0) == verdict.above_zero
            assert low <= verdict.signed <= high


def test_nothing_is_named_behind_a_closed_gate() -> None:
    """Both criteria differ by themselves (t test), but no deal of one text can show it."""
    verdicts, criteria = decide_company(calls(joint=[[[1, 5]]], alone=[[[3, 3]]]), SMALLEST)
    assert not verdicts.gate.open
    assert not any(verdict.above_zero for verdict in criteria)


def test_one_call_a_way_has_no_question_about_single_scores() -> None:
    shift = company_shift("shift", 1.0, 3)
    rng = np.random.default_rng(2)
    answers = company_answers(rng, 40, criteria=3, calls=(1, 1), shift=shift)
    verdicts, _ = decide_company(answers, SMALLEST)
    assert verdicts.single is not None
    assert verdicts.single.why == "one_call_a_way"
    assert verdicts.single.word == "undecided"
    assert verdicts.mean is not None
    assert verdicts.mean.word == "effect"


def test_names_and_the_order_of_rows_decide_nothing() -> None:
    answers = two_moved(3)
    again = np.random.default_rng(0).permutation(len(answers.item))
    shuffled = Answers(
        **{
            **answers.__dict__,
            "item": answers.item[again],
            "order": answers.order[again],
            "code": answers.code[again],
        }
    )
    assert company_gate(answers).p == company_gate(shuffled).p


@pytest.mark.thorough
@pytest.mark.parametrize(("criteria", "lost"), [(4, 0.0), (8, 0.0), (4, 0.1)])
def test_a_shared_mood_is_no_effect(
    monkeypatch: pytest.MonkeyPatch, criteria: int, lost: float
) -> None:
    """Nine tenths of a call's noise are common to its criteria, and company changes nothing. Dealt
    score by score, 0.15 to 0.29 of such studies would be accused. Of 100, at most 12 are here: 0.05
    and 3 standard errors.
    """
    monkeypatch.setattr(permutation, "DEALS", 199)
    rng = np.random.default_rng(5)
    accused = 0
    for _ in range(100):
        answers = company_answers(
            rng,
            24,
            criteria=criteria,
            calls=(2, 2),
            shift=np.zeros(criteria),
            mood=0.9,
            lost=lost,
        )
        accused += company_gate(answers).open
    assert accused <= 11
