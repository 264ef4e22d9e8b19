"""Drift between two runs: an exact gate by hand, each question told, the same answers said to be the same."""

import numpy as np
import pytest

from rubriclab.core.drift import Drift, drift
from rubriclab.core.judgments import Judgments
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from tests.tables import ORDERS, comparisons, options

PAIR = np.array([[1, 2], [2, 1]])
TWICE = np.tile(np.arange(10), 2)


def between(before: JudgmentTable, after: JudgmentTable) -> Drift:
    return drift(Judgments(before, "auto").arms, Judgments(after, "auto").arms, Smallest())


def test_the_gate_exchanges_units_exactly() -> None:
    """Six items whose score rises by one in both orders: of 2^6 exchanges only none and all are as far."""
    made = between(options(np.ones((6, 2)), PAIR), options(np.full((6, 2), 2.0), PAIR))
    assert (made.gate.p, made.gate.deals, made.gate.exact) == (2 / 64, 64, True)
    level = made.questions["level"]
    assert (level.value, level.verdict, level.why) == (1.0, "undecided", "too_few_units"), "six units have no interval"


@pytest.mark.parametrize("question", ["level", "order", "noise"])
def test_what_changed_is_told_and_nothing_else(question: str) -> None:
    rng = np.random.default_rng(5)
    shown = np.tile(ORDERS, (2, 1))
    quality = rng.normal(3, 1, (40, 1, 1))

    def judged(level: float = 0.0, order: float = 0.0, noise: float = 0.4) -> JudgmentTable:
        utility = -0.5 * (shown - quality - level) ** 2 + order * (np.arange(5) == 0)
        chosen = (utility + noise * rng.gumbel(size=utility.shape)).argmax(axis=2)
        return options(shown[np.arange(20), chosen].astype(float), ORDERS, TWICE)

    made = between(judged(), judged(**{question: {"level": 1.0, "order": 1.5, "noise": 1.6}[question]}))
    assert made.word == "effect"
    told = made.questions[question]
    assert told.verdict == "effect"
    assert told.value > 0
    assert told.low <= told.value <= told.high
    if question == "level":
        assert told.value == pytest.approx(1.0, abs=0.3)
    if question == "order":
        assert told.more["position"] == 1
    assert between(judged(), judged()).word != "effect"


def test_the_same_answers_are_unchanged_and_what_one_run_alone_has_is_left_out() -> None:
    scores = np.random.default_rng(1).integers(1, 6, (12, 20)).astype(float)
    made = between(options(scores, ORDERS, TWICE), options(scores, ORDERS, TWICE))
    assert (made.identical, made.word, made.gate.p) == (True, "equivalent", 1.0)
    one_more = scores.copy()
    one_more[0, 0] = 1 + one_more[0, 0] % 5
    assert not between(options(scores, ORDERS, TWICE), options(one_more, ORDERS, TWICE)).identical
    scores = np.random.default_rng(2).integers(1, 6, (20, 10)).astype(float)
    fewer = between(options(scores, ORDERS), options(scores[:15, :5], ORDERS[:5]))
    assert fewer.units == 15
    assert fewer.questions["level"].value == pytest.approx(0.0, abs=1e-12), "the five orders that both asked"
    assert fewer.questions["noise"].why == "no_repeats"
    other = between(options(scores, ORDERS), options(scores + 0.0, ORDERS, unit_text=[f"other {k}" for k in range(20)]))
    assert (other.word, other.questions["level"].why) == ("undecided", "nothing_shared")


def test_choices_have_no_level() -> None:
    first, second = np.ones((20, 2)), np.tile([1, 2], (20, 1))
    made = between(comparisons(first, PAIR - 1), comparisons(second, PAIR - 1))
    assert set(made.questions) == {"order", "noise"}
    assert (made.word, made.questions["order"].verdict) == ("effect", "effect")
    # All take the first, then all the better one: the first position's lean falls from 1/2 to 0.
    assert made.questions["order"].value == pytest.approx(-0.5)
