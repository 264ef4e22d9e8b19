"""Replies that could not be parsed: what noise is still known, and which losses keep a judge from
being judged.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from rubriclab.core.cells import Answers, cells
from rubriclab.core.permutation import unparsed
from rubriclab.core.verdict import decide
from rubriclab.model.study import Smallest
from tests.tables import balanced_orders, choices

SMALLEST = Smallest()
ORDERS = balanced_orders(5) - 1
TWICE = np.tile(np.arange(10), 2)
SHOWN = ORDERS[TWICE]


def scores(seed: int, items: int = 40, *, first: float = 0.0) -> np.ndarray:
    """(items, 20): options chosen from a trait of heavy tails that noise of heavy tails blurs;
    ``first``: log-odds that the option listed first gains. Every order twice.
    """
    rng = np.random.default_rng(seed)
    trait = rng.standard_t(3, items) * 0.8 + 0.3
    below = special.stdtr(4, (np.linspace(-1.5, 1.5, 4) - trait[:, None]) / 0.6)
    chance = np.diff(below, axis=1, prepend=0.0, append=1.0)
    odds = np.log(chance + 1e-9)[:, None] + first * (SHOWN[:, :1] == np.arange(5))
    rng.random((items, len(ORDERS)))  # of a judge that answers each prompt by one fixed draw
    draw = rng.random((items, len(TWICE), 1))
    return (draw > special.softmax(odds, axis=2).cumsum(axis=2)).sum(axis=2).clip(0, 4) * 1.0


def lost(score: np.ndarray, chance: np.ndarray | float, seed: int = 4) -> Answers:
    gone = np.random.default_rng(seed).random(score.shape) < chance
    return choices(np.where(gone, np.nan, score), TWICE, ORDERS)


# -------------------------------------------------------------- noise of single scores (question 3)
def test_one_lost_reply_hides_no_noise() -> None:
    """Of 2,000 replies one is lost: changes beyond noise hardly differ, and nothing is said of
    noise included.
    """
    score = scores(1, items=100)
    whole = decide(choices(score, TWICE, ORDERS), SMALLEST).questions["single"]
    score[17, 3] = np.nan
    less = decide(choices(score, TWICE, ORDERS), SMALLEST).questions["single"]
    assert (whole.why, less.why) == ("", "")
    assert (whole.word, less.word) == ("equivalent", "equivalent")
    assert (whole.noise, less.noise) == ("all", "all")
    assert less.flips > 0.3, "noise included, far more change"
    assert (less.value, less.high) == pytest.approx((whole.value, whole.high), abs=0.002)


def test_an_order_read_once_has_the_noise_of_its_items_others() -> None:
    """Two orders, each twice. Item 1: 0 0 against 0 1; item 2: 0 0 against 1 and a lost reply.

    Item 1 changes in 1/2 of pairs of orders, its own noise is (0 + 1) / 2. Item 2 always changes,
    and its one order that was read twice has no noise: so has the other.
    """
    score = np.array([[0, 0, 0, 1], [0, 0, 1, np.nan]])
    answers = choices(np.tile(score, (8, 1)), [0, 0, 1, 1], [[0, 1], [1, 0]])
    made = decide(answers, SMALLEST).questions["single"]
    assert made.noise == "all"
    assert made.value == pytest.approx(((0.5 - 0.5) + (1 - 0)) / 2)
    assert made.own_noise == pytest.approx((0.5 + 0) / 2)


def test_an_item_without_any_order_read_twice_is_left_out() -> None:
    score = np.array([[0, 0, 0, 1], [0, np.nan, 1, np.nan]])
    answers = choices(np.tile(score, (8, 1)), [0, 0, 1, 1], [[0, 1], [1, 0]])
    made = decide(answers, SMALLEST).questions["single"]
    assert (made.noise, made.value) == ("all", 0.0)
    fewer = choices(np.tile(score, (8, 1))[1:], [0, 0, 1, 1], [[0, 1], [1, 0]])
    made = decide(fewer, SMALLEST).questions["single"]
    assert made.noise == "some", "7 of 15 items have one: fewer than half"


def test_orders_that_were_asked_once_stay_unknown() -> None:
    """The default order ten times, descending once: its noise is not that of the default order."""
    score = np.concatenate(
        [scores(1)[:, [0] * 5], scores(2)[:, [0] * 5], scores(3)[:, [5]]], axis=1
    )
    made = decide(choices(score, [0] * 10 + [5], ORDERS), SMALLEST).questions["single"]
    assert (made.noise, made.why) == ("some", "noise_partly_included")


def test_calls_that_were_sent_are_counted_with_those_that_were_lost() -> None:
    table = cells(choices([[0, np.nan, 1], [1, 1, np.nan]], [0, 0, 1], [[0, 1], [1, 0]]))
    sent = sorted(zip(table.orders[table.item], table.count, table.asked, strict=True))
    assert sent == [(1, 2, 2), (2, 1, 1), (2, 1, 2)]


# ------------------------------------------------------------------------------ losses by the order
@pytest.mark.thorough
def test_replies_lost_for_the_place_of_their_answer_are_told() -> None:
    """p of the same judge by another implementation, 1,999 deals; by the order's own losses the
    second was above .05.
    """
    score = scores(3)
    stood_first = SHOWN[:, 0] == score
    assert unparsed(lost(score, 0.1)) == 0.1185
    assert unparsed(lost(score, 0.3 * stood_first)) == 0.0005
    assert unparsed(lost(score, 0.4 * (score >= 3))) == 0.2795
    always_first = scores(3, first=30.0)
    assert unparsed(lost(always_first, 0.1)) == 0.0795


@pytest.mark.thorough
def test_a_judge_that_follows_the_order_may_lose_replies_at_random() -> None:
    """With the item's own scores, a lost reply lowers its own position's share: all of 20 such
    judges were blocked.
    """
    blocked = [
        unparsed(lost(scores(seed, items=20, first=30.0), 0.1, seed + 100)) <= 0.05
        for seed in range(20)
    ]
    assert sum(blocked) <= 3


@pytest.mark.thorough
def test_an_unbiased_judge_that_loses_last_answers_is_not_accused() -> None:
    """30% of the replies that pick the last option are lost: of 12 such judges the gate accused
    some, now none.
    """
    told = []
    for seed in range(12):
        score = scores(seed)
        found = decide(lost(score, 0.3 * (SHOWN[:, -1] == score), seed), SMALLEST)
        told.append(any(answer.word == "effect" for answer in found.questions.values()))
        assert {answer.why for answer in found.questions.values()} == {"unparsed_by_order"}
    assert not any(told)


def test_one_failure_asked_five_times_is_one() -> None:
    """Temperature 0: ten orders once, and the default one five times more. Three items fail in the
    default order, all six times alike; eleven other prompts fail once. One failure in six copies
    said that replies go with the order.
    """
    rng = np.random.default_rng(6)
    order = np.r_[np.arange(10), [0] * 5]
    score = scores(5, items=100)[:, :10][:, np.r_[np.arange(10), [0] * 5]]
    score[:3, order == 0] = np.nan
    for item in range(3, 14):
        score[item, order == rng.integers(1, 10)] = np.nan
    answers = choices(score, order, ORDERS)
    assert unparsed(answers) > 0.05
    assert decide(answers, SMALLEST).questions["positions"].why != "unparsed_by_order"
    # Of noisy replies, six losses in one order are six: each call is dealt by itself.
    apart = scores(5, items=100)[:, :10][:, np.r_[np.arange(10), [0] * 5]]
    # Of the default order's five calls, items lose the first, second, ... fifth, first, ...
    apart[np.arange(30), np.resize([10, 11, 12, 13, 14], 30)] = np.nan
    assert unparsed(choices(apart, order, ORDERS)) <= 0.05


def test_copies_that_never_fail_are_one_call_too() -> None:
    """Temperature 0, ten orders once and the default one ten times more; eight other prompts fail.
    Had each copy been a call of its own, more than half of the failures should have been of the
    default order.
    """
    rng = np.random.default_rng(2)
    order = np.r_[np.arange(10), [0] * 10]
    score = scores(5)[:, order]
    for item in range(8):
        score[item, order == rng.integers(1, 10)] = np.nan
    assert unparsed(choices(score, order, ORDERS)) > 0.05


def test_copies_that_go_with_the_order_are_still_told() -> None:
    """Temperature 0, every order twice: every fourth item fails in all descending lists, both
    times.
    """
    score = scores(7)[:, :10][:, TWICE]
    score[::4, TWICE >= 5] = np.nan
    assert unparsed(choices(score, TWICE, ORDERS)) <= 0.05


def test_names_and_rows_decide_nothing() -> None:
    for chance in (0.1, 1.0 * (np.arange(20) % 10 == 3)):
        score = scores(8, items=20)
        answers = lost(score, 0.5 * np.broadcast_to(chance, score.shape), 9)
        rng = np.random.default_rng(0)
        row, item = rng.permutation(len(answers.item)), rng.permutation(20)
        order = rng.permutation(10)
        other = replace(
            answers,
            item=item[answers.item][row],
            order=order[answers.order][row],
            code=answers.code[row],
            orders=ORDERS[np.argsort(order)],
        )
        assert unparsed(other) == unparsed(answers)


def test_a_chance_difference_of_repeats_is_not_said_to_be_any_prompt() -> None:
    """The judge does not care about the prompt, and its interval leaves out 0 as one in forty does:
    7 of the first 300 such judges were told that any small change of the prompt may change their
    scores.
    """
    found = decide(choices(scores(108, 30), TWICE, ORDERS), SMALLEST)
    single = found.questions["single"]
    assert found.gate.p > 0.05
    assert single.beyond_noise[1] > 0
    assert (single.word, single.why) == ("undecided", "")


# ------------------------------------------------------------------ pairs asked once in each order
def lost_pairs(lean: float, chance: float, seed: int) -> Answers:
    """400 pairs in both orders, once each; ``lean``: log-odds of the answer shown first; replies
    are lost at random.
    """
    rng = np.random.default_rng(seed)
    quality = rng.standard_t(3, 400)
    first = np.stack([quality, -quality], axis=1) + lean
    wins = rng.random((400, 2)) < special.expit(first)
    # In the order "0 1" winning first is candidate 0, in "1 0" it is candidate 1.
    winner = np.where(wins, [[0, 1]], [[1, 0]]).astype(float)
    winner[rng.random((400, 2)) < chance] = np.nan
    orders = np.array([[0, 1], [1, 0]])
    return replace(choices(winner, np.array([0, 1]), orders), choices=True)


@pytest.mark.thorough
@pytest.mark.parametrize("lean", [0.0, 0.5, 1.5])
def test_replies_of_pairs_lost_at_random_rarely_block_the_verdict(lean: float) -> None:
    """The other order of a lost call is known, that of the parsed one is not: this must not look
    like a loss by position. 60 studies: at most .05 + 3 se.
    """
    p = [unparsed(lost_pairs(lean, 0.03, seed)) for seed in range(60)]
    assert np.mean(np.array(p) <= 0.05) <= 0.13


def test_replies_of_pairs_lost_in_one_order_block_the_verdict() -> None:
    answers = lost_pairs(0.0, 0.0, seed=1)
    rng = np.random.default_rng(2)
    gone = (answers.order == 0) & (rng.random(len(answers.order)) < 0.05)
    code = np.where(gone[:, None], -1, answers.code)
    assert unparsed(replace(answers, code=code)) < 0.001
