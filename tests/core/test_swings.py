"""Check what is compared between orders of one answer, by tables that can be checked by eye."""

import pytest

from rubriclab.core.swings import (
    TIE,
    OrderResult,
    Swing,
    SwingCounts,
    Tally,
    Tried,
    count_swings,
    ranked,
)

SCORES = (1, 2, 3)


def options(*orders: tuple[str, tuple[int | None, ...]], live: str = "") -> Tried:
    """Return an answer on the scale 1 to 3: ("312", (3, 3)) is one order, asked twice.

    ``live``: the order that was asked in this visit.
    """
    results = [
        OrderResult(tuple(map(int, order)), tuple((score,) for score in scores), order == live)
        for order, scores in orders
    ]
    return Tried("options", SCORES, tuple(results))


BALANCED = options(
    ("123", (1, 1)),
    ("231", (3, 3)),
    ("312", (3, 3)),
    ("321", (3, 3)),
    ("213", (2, 2)),
    ("132", (1, 1)),
)
"""First chosen in 123, 312, 321, 213, 132 (not in 231). Each score is first in two of six."""


def test_the_widest_pair_is_the_first_lowest_and_the_last_highest_order() -> None:
    widest = BALANCED.widest
    assert widest is not None
    assert (widest.low.shown, widest.high.shown, widest.apart) == ((1, 2, 3), (3, 2, 1), 2)
    listed = ["".join(map(str, result.shown)) for result in BALANCED.in_columns]
    assert listed == ["123", "132", "213", "231", "312", "321"]


def test_a_score_that_ignores_the_order_is_expected_as_often_as_its_option_is_first() -> None:
    assert BALANCED.tally == Tally(first=5, orders=6, expected=(2, 2))
    # Without 321 and 132, score 2 is first twice (231, 213), scores 1 and 3 once.
    four = Tried("options", SCORES, tuple(BALANCED.orders[k] for k in (0, 1, 2, 4)))
    assert four.tally == Tally(first=3, orders=4, expected=(1, 2))


def test_an_order_with_two_results_or_an_unparsed_reply_is_not_compared() -> None:
    answer = options(("123", (1, 3)), ("231", (2, None)), ("312", (2, 2)), ("321", (3, 3)))
    assert [result.shown for result in answer.settled] == [(3, 1, 2), (3, 2, 1)]
    assert answer.widest is not None
    assert answer.widest.apart == 1
    assert answer.tally == Tally(first=1, orders=2, expected=(0, 2))
    assert options(("123", (1, 2)), ("321", (3, 3))).widest is None


def test_live_orders_can_be_widest_but_are_not_in_the_tally_of_recorded_ones() -> None:
    answer = options(("123", (2, 2)), ("321", (2, 2)), ("312", (3,)), live="312")
    assert answer.widest is not None
    assert answer.widest.high.live
    assert answer.tally == Tally(first=0, orders=2, expected=(0, 1))
    assert options(("312", (3,)), live="312").tally == Tally(first=1, orders=1, expected=(0, 1))


def test_an_order_whose_live_result_differs_from_the_recorded_one_is_not_compared() -> None:
    recorded = OrderResult((1, 2, 3), ((1,), (1,)))
    live = OrderResult((1, 2, 3), ((2,),), live=True)
    other = OrderResult((3, 2, 1), ((3,),))
    assert Tried("options", SCORES, (recorded, live, other)).settled == (other,)
    same = OrderResult((1, 2, 3), ((1,),), live=True)
    assert Tried("options", SCORES, (recorded, same, other)).settled == (recorded, same, other)


@pytest.mark.parametrize(
    ("order", "nearest"),
    [
        ("132", "123"),  # moved: 0 + 1 + 1 from 123; 1 + 0 + 1 from 231; 2 + 1 + 1 from 321
        ("213", "123"),  # two moved places from both 123 and 231: the first by order
        ("312", "321"),  # 2 from 321, 4 from 123 and from 231
        ("321", "321"),
    ],
)
def test_the_nearest_order_has_the_least_sum_of_moved_places(order: str, nearest: str) -> None:
    answer = options(("321", (3,)), ("231", (2,)), ("123", (1,)), ("213", (None,)))
    found = answer.nearest(tuple(map(int, order)))
    assert found is not None
    assert "".join(map(str, found.shown)) == nearest


def test_nothing_asked_has_nothing_near_and_nothing_to_compare() -> None:
    answer = options()
    assert (answer.nearest((1, 2, 3)), answer.widest, answer.tally, answer.in_columns) == (
        None,
        None,
        None,
        [],
    )


def test_a_pair_changes_its_winner_or_keeps_it() -> None:
    first, second = ("a", "b"), ("b", "a")

    def pair(one: str | None, two: str | None) -> Tried:
        return Tried(
            "pairs", ("a", "b"), (OrderResult(first, ((one,),)), OrderResult(second, ((two,),)))
        )

    changed, kept, tie = pair("b", "a"), pair("a", "a"), pair("a", TIE)
    assert [answer.widest.apart for answer in (changed, kept, tie) if answer.widest] == [1, 0, 1]
    assert changed.tally == Tally(first=0, orders=2, expected=(1, 1))
    assert kept.tally == Tally(first=1, orders=2, expected=(1, 1))
    assert tie.tally == Tally(first=1, orders=2, expected=(1, 1))
    assert pair("a", None).widest is None


def test_criteria_are_compared_under_the_one_that_moves_most() -> None:
    """Clarity moves from 2 to 3, Tone from 1 to 4; the third order has no score for Tone."""
    names = ("Clarity", "Tone")
    orders = (
        OrderResult(names, ((2, 4), (2, 4))),
        OrderResult(names[::-1], ((3, 1), (3, 1))),
        OrderResult(names, ((2, None), (2, None)), live=True),
    )
    answer = Tried("criteria", names, orders[:2])
    assert answer.widest is not None
    assert (answer.widest.target, answer.widest.apart) == (1, 3)
    assert answer.widest.low == orders[1]
    assert answer.tally is None
    assert orders[2].settled == (2, None)


def test_answers_are_ranked_by_swing_then_by_first_choices_then_by_name() -> None:
    wide = options(("123", (1,)), ("321", (3,)))
    same = options(("123", (2,)), ("321", (2,)))
    last = options(("123", (3,)), ("321", (1,)))
    near = options(("123", (1,)), ("321", (2,)))
    swings = ranked({"z": same, "b": wide, "a": wide, "0": last, "n": near, "none": options()})
    assert swings == [
        Swing("a", 2, 2),
        Swing("b", 2, 2),
        Swing("0", 2, 0),
        Swing("n", 1, 1),
        Swing("z", 0, 0),
    ]
    assert count_swings(swings) == SwingCounts(two_or_more=3, less=1, none=1)
