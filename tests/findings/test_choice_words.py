"""What is said of odds: a value, a bound, or why there is neither; the same in every place."""

from __future__ import annotations

import math
from dataclasses import replace

from rubriclab.figures.choice import position_odds
from rubriclab.findings.choice import UNLIMITED, ChoiceModel, PositionLevel
from rubriclab.findings.choice_words import choice_sentence, ends_said, odds_said, p_said
from rubriclab.stats import inference
from rubriclab.stats.inference import NO_INTERVAL, Interval
from tests.figures.test_choice import model

NO_TEST = inference.Test("T2", math.nan, math.nan, math.nan, "these reads cannot carry the test")


def strict() -> ChoiceModel:
    """A judge that follows the order without exception: its odds are bounds."""
    levels = (PositionLevel(1, math.log(73.6), NO_INTERVAL, 73.6), PositionLevel(2, -2.3, NO_INTERVAL, 0.1))
    return replace(model(), held_back=True, position=levels, pooled=levels, position_test=NO_TEST)


def test_odds_without_a_limit_are_bounds_everywhere() -> None:
    found = strict()
    assert odds_said(found, 73.6) == "at least 73.60"
    assert odds_said(found, 73.6, short=True) == "≥ 73.60"
    assert odds_said(found, 0.1) == "at most 0.10"
    assert ends_said(found, NO_INTERVAL) == f"no interval: {UNLIMITED}"
    assert p_said(found, NO_TEST) == "at least; no test"
    assert choice_sentence(found).endswith(f"with judge by at least 73.60: {UNLIMITED}.")
    chart = position_odds([found])
    assert "odds at least 73.60" in chart.alt
    assert "at most 0.10" in chart.figure.data[0].hovertext[1]


def test_odds_with_an_interval_are_values() -> None:
    found = model()
    assert odds_said(found, 1.2214) == "1.22"
    assert ends_said(found, Interval(0.1, 0.3)) == "1.11 to 1.35"
    assert p_said(found, replace_p(0.01)) == "p = 0.010"
    assert p_said(found, NO_TEST) == "no test: these reads cannot carry the test"
    assert "nan" not in choice_sentence(replace(found, position_test=NO_TEST))
    assert odds_said(found, math.nan) == "not defined"


def replace_p(p: float) -> inference.Test:
    return NO_TEST._replace(p=p)
