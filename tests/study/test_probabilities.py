"""Label probabilities from first tokens: hand-made log-probabilities."""

from __future__ import annotations

from math import inf, log, nan

import pytest

from rubriclab.study.outcomes import label_probabilities

FIVE = ("3", "1", "2", "5", "4")


def test_forms_of_one_label_add_up_and_order_follows_the_labels() -> None:
    tokens = [("3", log(0.3)), (" 3", log(0.1)), ("▁1", log(0.2)), ("The", log(0.3)), ("5\n", log(0.1))]
    probabilities, mass = label_probabilities(tokens, FIVE)
    # 0.4, 0.2 and 0.1 on labels of 0.7 in all
    assert probabilities == pytest.approx((4 / 7, 2 / 7, 0, 1 / 7, 0))
    assert mass == pytest.approx(0.7)


def test_full_width_digits_count() -> None:
    assert label_probabilities([("３", log(0.5))], FIVE)[0] == pytest.approx((1, 0, 0, 0, 0))


def test_nothing_on_labels_gives_none() -> None:
    assert label_probabilities([("The", log(0.9)), ("6", log(0.1))], FIVE) == (None, 0.0)
    assert label_probabilities([], FIVE) == (None, 0.0)
    assert label_probabilities([("3", -inf)], FIVE) == (None, 0.0)


def test_missing_log_probabilities_are_left_out() -> None:
    tokens = [("3", nan), ("1", None), ("2", log(0.25))]
    assert label_probabilities(tokens, FIVE) == ((0, 0, 1, 0, 0), 0.25)  # type: ignore[arg-type]


def test_mass_is_never_above_one() -> None:
    assert label_probabilities([("3", 1e-6), (" 3", log(0.01))], FIVE)[1] == 1.0


def test_other_case_counts_but_english_words_do_not() -> None:
    tokens = [("A", log(0.2)), ("a", log(0.3)), ("b", log(0.1)), (" B", log(0.1))]
    probabilities, mass = label_probabilities(tokens, ("B", "A"))
    assert probabilities == pytest.approx((0.5, 0.5))
    assert mass == pytest.approx(0.4)
    assert label_probabilities([("I", log(0.6)), ("v", log(0.2))], ("i", "v"))[1] == pytest.approx(0.2)


def test_roman_numerals_need_their_longer_ones_whole() -> None:
    labels = ("i", "ii", "iii", "iv", "v")
    seen = [("i", log(0.1)), ("ii", log(0.1)), ("iii", log(0.1)), ("iv", log(0.1)), ("v", log(0.1))]
    assert label_probabilities(seen, labels)[0] == pytest.approx((0.2,) * 5)
    for hidden in ("ii", "iii", "iv"):
        partly = [pair for pair in seen if pair[0] != hidden]
        assert label_probabilities(partly, labels) == (None, pytest.approx(0.4))
    # "v" starts with no other label: unseen it simply has no probability
    assert label_probabilities(seen[:4], labels)[0] == pytest.approx((0.25,) * 4 + (0,))


def test_ten_needs_its_own_token() -> None:
    labels = tuple(str(score) for score in range(1, 11))
    digits = [("1", log(0.5)), ("2", log(0.25))]
    assert label_probabilities(digits, labels) == (None, pytest.approx(0.75))
    probabilities, _ = label_probabilities([*digits, ("10", log(0.25))], labels)
    assert probabilities == pytest.approx((0.5, 0.25, *(0,) * 7, 0.25))


def test_a_piece_of_an_unseen_label_makes_it_unknown() -> None:
    labels = ("poor", "good", "excellent")
    tokens = [("good", log(0.5)), ("poor", log(0.2)), ("ex", log(0.2))]
    assert label_probabilities(tokens, labels) == (None, pytest.approx(0.7))
    whole = [*tokens, ("excellent", log(0.1))]
    assert label_probabilities(whole, labels)[0] == pytest.approx((0.25, 0.625, 0.125))
