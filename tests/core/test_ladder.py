"""The words of the ladder: exactly when each holds, and how many units a new run needs."""

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.ladder import (
    ladder_word,
    question_word,
    question_words,
    units_of_new_run,
)
from rubriclab.core.permutation import Gate
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import MeanVerdict, PositionVerdict, SingleVerdict, Verdict, Verdicts
from rubriclab.data.sample import data_path
from rubriclab.exports.table import ladder_document
from rubriclab.store.bundle import read_bundle
from rubriclab.words.answer import answers
from rubriclab.words.phrases import NBSP
from rubriclab.words.subject import subject_of

OPEN, CLOSED = Gate(p=0.01), Gate(p=0.4)

YES = PositionVerdict(word="effect", value=0.2, low=0.1, high=0.3, smallest=0.05, above_zero=True)
UNCLEAR = replace(YES, low=0.02)
NO = PositionVerdict(word="equivalent", value=0.01, low=0.0, high=0.03, smallest=0.05)
SMALL = replace(NO, low=0.005, above_zero=True)
UNSEEN = PositionVerdict(word="undecided", value=0.02, low=0.0, high=0.09, smallest=0.05)
LARGE = replace(UNSEEN, value=0.06)


def of(*questions: Verdict, gate: Gate = CLOSED, units: int = 10) -> Verdicts:
    named = dict(zip(("positions", "mean", "single"), questions, strict=False))
    return Verdicts(gate, named, 1.0, 0, units, units)


@pytest.mark.parametrize(
    ("verdict", "when_closed", "when_open"),
    [
        (YES, "Yes", "Yes"),
        (UNCLEAR, "Yes, size unclear", "Yes, size unclear"),
        (NO, "No", "No"),
        (SMALL, "Too small to matter", "Too small to matter"),
        (UNSEEN, "Not seen yet", "Can't tell yet"),
        # What was seen would matter, and may be chance.
        (LARGE, "Can't tell yet", "Can't tell yet"),
        # Without an interval anything is possible.
        (replace(UNSEEN, high=math.nan, why="too_few_units"), "Can't tell yet", "Can't tell yet"),
        (replace(UNSEEN, why="unparsed_by_order"), "Can't tell yet", "Can't tell yet"),
        (replace(UNSEEN, why="any_prompt"), "Can't tell yet", "Can't tell yet"),
        (replace(UNSEEN, why="few_deals"), "Can't tell yet", "Can't tell yet"),
        (replace(UNSEEN, why="one_order_an_item"), "Can't tell yet", "Can't tell yet"),
        (replace(UNSEEN, why="one_score"), "Can't tell yet", "Can't tell yet"),
        # Noise that may be part of the size only makes it larger.
        (replace(UNSEEN, why="noise_included"), "Not seen yet", "Can't tell yet"),
    ],
)
def test_the_word_of_one_question(verdict: Verdict, when_closed: str, when_open: str) -> None:
    assert question_word(verdict, gate_open=False) == when_closed
    assert question_word(verdict, gate_open=True) == when_open


@pytest.mark.parametrize(
    ("questions", "gate", "word"),
    [
        ((YES, NO, UNSEEN), OPEN, "Biased"),
        ((UNCLEAR, LARGE, NO), OPEN, "Biased"),
        ((NO, NO, SMALL), OPEN, "Bias too small to matter"),
        ((NO, NO, NO), CLOSED, "No bias that matters"),
        ((UNSEEN, NO, NO), CLOSED, "No bias seen yet"),
        ((UNSEEN, LARGE, NO), CLOSED, "Can't tell yet"),
        ((UNSEEN, NO, NO), OPEN, "Can't tell yet"),
        ((SMALL, UNSEEN, NO), OPEN, "Can't tell yet"),
        ((), CLOSED, None),
    ],
)
def test_the_word_of_a_judge(questions: tuple[Verdict, ...], gate: Gate, word: str | None) -> None:
    assert ladder_word(of(*questions, gate=gate)) == word


def test_two_orders_that_differ_deny_a_no_and_never_accuse() -> None:
    assert ladder_word(of(NO, NO, SMALL, gate=OPEN), gap_matters=True) == "Can't tell yet"
    assert ladder_word(of(YES, NO, SMALL, gate=OPEN), gap_matters=True) == "Biased"


def test_not_seen_yet_is_never_said_behind_an_open_gate() -> None:
    for questions in itertools.product((YES, UNCLEAR, NO, SMALL, UNSEEN, LARGE), repeat=3):
        open_gate = of(*questions, gate=OPEN)
        assert ladder_word(open_gate) != "No bias seen yet"
        assert "Not seen yet" not in question_words(open_gate).values()
        closed = of(*questions)
        assert (ladder_word(closed) == "Biased") == (YES in questions or UNCLEAR in questions)


def test_a_look_has_the_level_that_it_may_spend() -> None:
    """p = 0.02 is closed at the first of several looks, which may spend 0.0008 of the 5%."""
    early = Gate(p=0.02, spent=0.0008)
    assert ladder_word(of(UNSEEN, gate=early)) == "No bias seen yet"
    assert ladder_word(of(UNSEEN, gate=Gate(p=0.02))) == "Can't tell yet"


@pytest.mark.parametrize(
    ("more", "units", "needed"),
    [
        # 10 x ((.09 - .02) / (.05 - .02))^2 = 54.4
        ({}, 10, 55),
        # Few moved: the interval shrinks with the number of units, 10 x 7/3.
        ({"few_moved": True}, 10, 24),
        # Nothing changed at all: 10 x .31 / .05.
        ({"value": 0.0, "high": 0.31, "few_moved": True}, 10, 62),
        # At least as many as “No” needs at all, and a tenth more than here.
        ({"few_moved": True, "units_needed": 59}, 10, 59),
        ({"value": 0.0, "high": 0.0501}, 100, 110),
        ({"why": "any_prompt"}, 10, None),
        ({"why": "unparsed_by_order"}, 10, None),
        # What was seen would matter: the units at which its test would show it.
        ({"value": 0.06, "more_units": 15}, 10, 25),
        ({"value": 0.06, "more_units": None}, 10, None),
        ({"high": math.nan, "why": "too_few_units", "more_units": 5}, 3, 8),
    ],
)
def test_units_of_a_new_run(more: dict[str, Any], units: int, needed: int | None) -> None:
    assert units_of_new_run(of(replace(UNSEEN, **more), units=units)) == needed


def test_a_new_run_decides_every_open_question_or_says_no_number() -> None:
    few = replace(UNSEEN, few_moved=True)
    assert units_of_new_run(of(UNSEEN, few, NO)) == 55
    assert units_of_new_run(of(UNSEEN, LARGE, NO)) is None
    # Of whom we can't tell: what was seen would be an effect of 25 units, whatever else is open.
    assert units_of_new_run(of(UNSEEN, replace(LARGE, more_units=15), NO)) == 25
    assert units_of_new_run(of(NO, NO, NO)) is None


def recorded(name: str) -> Findings:
    return Findings(Judgments(read_bundle(data_path(f"{name}.zip"))))


@pytest.mark.thorough
def test_the_recorded_example_by_hand() -> None:
    """510 of 1,200 calls chose the option listed first: 42.5%, and 42.5 - 20.0 = 22.5."""
    found = recorded("example")
    rows = found.judgments.table.rows
    judge = [about.judge for about in found.conditions].index("smollm2-135m")
    own = rows[rows["condition"] == judge]
    assert ((own["position"] == 1).sum(), len(own)) == (510, 1_200)
    said = answers(found)[0]
    assert (said.word, said.headline) == (
        "Biased",
        "smollm2-135m favours the option listed first",
    )
    assert said.line == (
        "It chose the first option in 42.5% of 1,200 calls. Without position bias it would be "
        "20.0%."
    )
    assert [asked.badge for asked in said.questions] == ["Yes", "Yes, size unclear", "Yes"]
    assert said.questions[0].sentence == (
        f"Listed first: 22.5{NBSP}percentage points above even (95% CI 16.1 to 27.3)."
    )
    assert said.questions[2].sentence == (
        "40 in 100 change in another order (95% CI 32 to 48). Asked again in the same order, none "
        "did."
    )
    assert said.lines()[0] == f"Biased: {said.headline}"
    (first, _) = ladder_document(found)
    assert (first["word"], first["units"], first["units_of_new_run"]) == ("Biased", 60, None)
    assert first["questions"]["mean"] == "Yes, size unclear"


@pytest.mark.thorough
def test_the_recorded_pairs_by_hand() -> None:
    """Of 144 pairs in both orders the second answer wins both in 137, and the first in 2; 5 keep
    their winner: (2 x 137 + 5) / 288 = 96.9%.
    """
    found = recorded("example-pairs")
    subject = subject_of(found, 1)
    assert subject.judge == "qwen2.5-coder-0.5b"
    assert subject.shares[1] == pytest.approx((2 * 137 + 5) / 288)
    said = answers(found)[1]
    assert said.headline == "qwen2.5-coder-0.5b picks the answer shown second"
    assert "96.9% of 144 pairs, each shown both ways round" in said.line
    assert said.questions[0].sentence == (
        f"Shown second: 46.9{NBSP}percentage points above even (95% CI 23.0 to 50.0)."
    )
    assert [asked.badge for asked in said.questions] == ["Yes", "Yes, size unclear"]


def test_verdicts_of_single_scores_and_means_have_the_same_words() -> None:
    mean = MeanVerdict(word="undecided", value=0.1, low=0.0, high=0.4, smallest=0.25)
    single = SingleVerdict(word="undecided", value=-0.01, low=0.0, high=0.2, smallest=0.05)
    given = of(UNSEEN, mean, single)
    assert set(question_words(given).values()) == {"Not seen yet"}
    # 10 x ((.4 - .1) / .15)^2 = 40; 10 x (.21 / .05)^2 = 176.4, as nothing is seen below 0.
    assert units_of_new_run(of(mean)) == 40
    assert units_of_new_run(of(single)) == 177
