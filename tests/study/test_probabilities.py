"""Label probabilities from first tokens: hand-made log-probabilities."""

from __future__ import annotations

from math import inf, log, nan

import pytest

from rubriclab.study.outcomes import label_probabilities

FIVE = ("3", "1", "2", "5", "4")
TEN = tuple(str(score) for score in range(1, 11))
ROMAN = ("i", "ii", "iii", "iv", "v")
WORDS = ("poor", "good", "excellent")


@pytest.mark.parametrize(
    ("tokens", "labels", "probabilities", "mass"),
    [
        # Forms of one label add up in the order of the labels: 0.4, 0.2 and 0.1 on labels of 0.7 in all.
        ({"3": 0.3, " 3": 0.1, "▁1": 0.2, "The": 0.3, "5\n": 0.1}, FIVE, (4 / 7, 2 / 7, 0, 1 / 7, 0), 0.7),
        ({"３": 0.5}, FIVE, (1, 0, 0, 0, 0), 0.5),
        ({"The": 0.9, "6": 0.1}, FIVE, None, 0),
        ({}, FIVE, None, 0),
        ({"3": 1.000001, " 3": 0.01}, FIVE, (1, 0, 0, 0, 0), 1),
        # "b" is "B"; "a" starts a sentence more often than it is "A", as "I" is no "i".
        ({"A": 0.2, "a": 0.3, "b": 0.1, " B": 0.1}, ("B", "A"), (0.5, 0.5), 0.4),
        ({"I": 0.6, "v": 0.2}, ("i", "v"), (0, 1), 0.2),
        # A label that begins with another one, or with a piece that was seen, has to be seen whole itself.
        (dict.fromkeys(ROMAN, 0.1), ROMAN, (0.2,) * 5, 0.5),
        (dict.fromkeys(("i", "iii", "iv", "v"), 0.1), ROMAN, None, 0.4),
        (dict.fromkeys(("i", "ii", "iii", "v"), 0.1), ROMAN, None, 0.4),
        (dict.fromkeys(("i", "ii", "iii", "iv"), 0.1), ROMAN, (0.25, 0.25, 0.25, 0.25, 0), 0.4),
        ({"1": 0.5, "2": 0.25}, TEN, None, 0.75),
        ({"1": 0.5, "2": 0.25, "10": 0.25}, TEN, (0.5, 0.25, *(0,) * 7, 0.25), 1),
        ({"good": 0.5, "poor": 0.2, "ex": 0.2}, WORDS, None, 0.7),
        ({"good": 0.5, "poor": 0.2, "ex": 0.2, "excellent": 0.1}, WORDS, (0.25, 0.625, 0.125), 0.8),
    ],
)
def test_probabilities_of_labels(
    tokens: dict[str, float], labels: tuple[str, ...], probabilities: tuple[float, ...] | None, mass: float
) -> None:
    shares, fell = label_probabilities([(token, log(share)) for token, share in tokens.items()], labels)
    assert shares == (None if probabilities is None else pytest.approx(probabilities))
    assert fell == pytest.approx(mass)


def test_log_probabilities_that_are_none_are_left_out() -> None:
    tokens = [("3", nan), ("1", None), ("4", -inf), ("2", log(0.25)), ("5" * 41, 0.0)]
    assert label_probabilities(tokens, FIVE) == ((0, 0, 1, 0, 0), 0.25)  # type: ignore[arg-type]
