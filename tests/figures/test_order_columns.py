"""Check the sentences and columns of one answer in several orders."""

import pytest

from rubriclab.core.swings import OrderResult, Swing, Tried
from rubriclab.figures.order_columns import (
    asked_text,
    columns,
    comparison,
    marks_of,
    missing_text,
    order_address,
    order_from_address,
    place_text,
    result_text,
    swings_text,
    tally_text,
)
from rubriclab.model.text import LabError

UP = OrderResult((1, 2, 3), ((3,), (3,)))
DOWN = OrderResult((3, 2, 1), ((3,), (3,)))
TURNED = OrderResult((2, 3, 1), ((1,), (1,)))
NOISY = OrderResult((1, 3, 2), ((1,), (2,)))
LIVE = OrderResult((3, 1, 2), ((3,),), live=True)


def answer(*orders: OrderResult) -> Tried:
    return Tried("options", (1, 2, 3), orders)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_two_orders_are_compared_with_their_places() -> None:
    tried = answer(UP, DOWN, TURNED)
    compared = comparison(tried)
    assert plain(compared.title) == "Same answer, same words: 2 points apart"
    assert compared.caption == "The two recorded orders that differ most."
    assert [place_text(tried, column) for column in compared.columns] == [
        "listed last",
        "listed first",
    ]
    assert [cell.kind for cell in compared.columns[1].cells] == ["first", "", ""]
    assert [column.label for column in columns(tried)] == [
        "Listed 2 3 1: Score 1, recorded",
        "Listed 1 2 3: Score 3, recorded",
        "Listed 3 2 1: Score 3, recorded",
    ]
    assert comparison(answer(UP, DOWN)).title == "Same answer, 2 orders: always 3"
    assert comparison(answer(TURNED, LIVE)).caption.endswith("recorded or live.")
    assert comparison(answer()).title == "Not asked yet"
    assert comparison(answer(UP, NOISY)).title == "No two orders to compare"


def test_a_noisy_order_shows_both_scores_and_is_left_out_of_the_tally() -> None:
    tried = answer(UP, DOWN, NOISY)
    (noisy,) = [column for column in columns(tried) if "1 3 2" in column.label]
    assert noisy.result == "1, 2"
    marks = marks_of(tried, [NOISY])
    assert (marks[1].kind, marks[1].text) == ("first", "chosen in 1 of 2")
    assert (marks[2].kind, marks[2].text) == ("chosen", "chosen in 1 of 2")
    assert result_text(tried, [NOISY]) == "Scores 1 and 2"
    assert asked_text(tried, [NOISY]) == "Recorded. Asked twice: 1, then 2."
    assert tally_text(tried) == (
        "**2 recorded orders.** The option listed first was chosen in **1 of 2**; a judge that "
        "ignores the order would do so in 0 to 1. 1 order left out, because repeats differ or have "
        "no score."
    )


def test_marks_name_the_place_of_the_chosen_option() -> None:
    tried = answer(UP, DOWN)
    assert marks_of(tried, [DOWN])[3].text == "chosen, listed first"
    assert marks_of(tried, [UP])[3].text == "chosen, listed last"
    middle = OrderResult((1, 3, 2), ((3,),))
    assert marks_of(tried, [middle])[3].text == "chosen"
    assert marks_of(tried, []) == {}


def test_recorded_and_live_calls_of_one_order_are_counted_apart() -> None:
    again = OrderResult((3, 2, 1), ((3,), (3,), (3,)), live=True)
    assert asked_text(answer(DOWN, again), [DOWN, again]) == (
        "Recorded. Asked twice: 3 both times. Live. Asked 3 times: 3 each time."
    )
    assert result_text(answer(), [OrderResult((1, 2, 3), ((None,),))]) == "No score"
    half = OrderResult((1, 2, 3), ((2,), (None,)))
    assert result_text(answer(), [half]) == "Score 2, and no score"


def test_an_order_that_nobody_asked_names_the_nearest_one() -> None:
    assert missing_text(answer(UP, DOWN), (2, 1, 3)) == (
        "Nobody has asked this order yet: 2 of the 6 are recorded. Nearest recorded order 1 2 3: "
        "**score 3**. Yours may differ."
    )
    assert missing_text(answer(), (2, 1, 3)) == "Nobody has asked this order yet."
    assert "Nearest live order 3 1 2" in missing_text(answer(LIVE), (3, 2, 1))


def test_why_an_answer_is_shown() -> None:
    swings = [Swing("a", 2, 1), Swing("b", 1, 0), Swing("c", 0, 0)]
    rest = "Of the 3 sample answers, 1 moves by 2 points or more, 1 by 1, and 1 not at all."
    assert plain(swings_text("options", swings, "a")) == (
        f"We start with an answer that swings, on purpose. {rest}"
    )
    assert plain(swings_text("options", swings, "b")) == (
        f"Answer 2 of 3, from the widest swing to none. {rest}"
    )
    still = [Swing("c", 0, 0)]
    assert swings_text("options", still, "c").startswith("No sample answer changes")
    assert "no recorded replies" in swings_text("options", [], "c")


def test_pairs_and_criteria_have_their_own_words() -> None:
    one, two = (
        OrderResult(("draft-a", "draft-b"), (("draft-a",),)),
        OrderResult(("draft-b", "draft-a"), (("draft-b",),)),
    )
    pair = Tried("pairs", ("draft-a", "draft-b"), (one, two))
    assert comparison(pair).title == "Same answers, swapped: another winner"
    assert [cell.text for cell in columns(pair)[0].cells] == ["a", "b"]
    assert result_text(pair, [one]) == "draft-a wins"
    assert "won in **2 of 2**" in tally_text(pair)
    nobody = OrderResult(("draft-a", "draft-b"), ((None,),))
    assert asked_text(pair, [nobody]) == "Recorded. Asked once: no winner."
    names = ("Clarity", "Completeness")
    up, down = OrderResult(names, ((2, 4),)), OrderResult(names[::-1], ((3, None),))
    criteria = Tried("criteria", names, (up, down))
    assert comparison(criteria).title == "Same answer, same words: Clarity 2 and 3"
    assert [cell.text for cell in columns(criteria)[1].cells] == ["Co –", "Cl 3"]
    assert result_text(criteria, [up]) == "Mean 3.00"
    assert asked_text(criteria, [up]) == "Recorded. Asked once: mean 3.00."
    assert tally_text(criteria) == ""


@pytest.mark.parametrize(
    ("entries", "shown", "address"),
    [
        ((1, 2, 3, 4, 5), (5, 1, 2, 3, 4), "51234"),
        ((8, 9, 10), (10, 8, 9), "10.8.9"),
        ((-1, 0, 1), (1, -1, 0), "1.-1.0"),
        (("Clarity", "Tone"), ("Tone", "Clarity"), "21"),
    ],
)
def test_an_order_survives_its_address(
    entries: tuple[int | str, ...], shown: tuple[int | str, ...], address: str
) -> None:
    assert order_address(entries, shown) == address
    assert order_from_address(entries, address) == shown


@pytest.mark.parametrize(
    "address", ["", "5123", "55123", "51236", "5 1 2 3 4", "543210", "x" * 999]
)
def test_an_address_that_is_not_an_order_is_refused(address: str) -> None:
    with pytest.raises(LabError, match="once, for example 54321") as refused:
        order_from_address((1, 2, 3, 4, 5), address)
    assert len(str(refused.value)) < 250
