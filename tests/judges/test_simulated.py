"""Test that the planted effects come out of the simulated judge, by their own arithmetic."""

import math
from collections import Counter
from statistics import mean, pstdev
from typing import Any

import numpy as np
import pytest

from rubriclab.judges.simulated import MODEL, SimulatedJudge, softmax
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Ordering, Reply
from rubriclab.model.orders import balanced
from rubriclab.model.text import LabError
from tests.judges.kit import option_call

UP, DOWN = (1, 2, 3, 4, 5), (5, 4, 3, 2, 1)


def judge(**options: float) -> SimulatedJudge:
    return SimulatedJudge(JudgeSettings(name="sim", kind="simulated", options=options))


def positions(asked: SimulatedJudge, items: int) -> list[int]:
    """The position chosen, from 0, over all balanced orders of so many items."""
    chosen = []
    for item in range(items):
        for shown in balanced(UP):
            reply = asked.answer(option_call(item, shown=shown))
            chosen.append(shown.index(int(reply.text)))
    return chosen


def scores(asked: SimulatedJudge, shown: tuple[int, ...], items: int = 600) -> list[int]:
    return [int(asked.answer(option_call(item, shown=shown)).text) for item in range(items)]


@pytest.mark.thorough
@pytest.mark.parametrize("options", [{}, {"item_lean": 2.0, "noise": 0.0}])
def test_no_lean_and_leans_of_single_items_leave_positions_even(options: dict[str, float]) -> None:
    asked = judge(**options)
    counts = Counter(positions(asked, 300))
    # 3,000 calls, a fifth each: standard error sqrt(.2 * .8 / 3000) = 0.0073; some five of them
    # either side.
    assert all(abs(counts[p] / 3_000 - 0.2) < 0.04 for p in range(5))
    moved = sum(
        len({asked.answer(option_call(i, shown=s)).text for s in balanced(UP)}) > 1
        for i in range(50)
    )
    assert moved > 30


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("option", "gains"),
    [({"first": 1.0}, [1, 0, 0, 0, 0]), ({"slope": -0.5}, [0, -0.5, -1, -1.5, -2])],
)
def test_a_lean_is_log_odds_of_the_first_and_a_slope_of_each_position(
    option: Any, gains: list[float]
) -> None:
    chances, before = (
        dict(asked.answer(option_call()).top) for asked in (judge(**option), judge())
    )
    gained = np.array([chances[label] - before[label] for label in "12345"])
    assert gained - gained[-1] == pytest.approx(np.array(gains) - gains[-1], abs=1e-9)
    # Were all else equal, the first would have e / (e + 4) = 0.405, or 0.43; a judge that sees
    # quality gives it less.
    assert 0.3 < Counter(positions(judge(**option), 300))[0] / 3_000 < 0.41


def test_line_is_points_quality_spreads_the_items_and_noise_blurs_each() -> None:
    asked = judge(line=-0.8, quality=0.3)
    difference = mean(scores(asked, UP)) - mean(scores(asked, DOWN))
    # sd of one score about 0.75: the difference of two means of 600 has the standard error 0.043.
    assert difference == pytest.approx(-0.8, abs=0.15)
    assert pstdev(scores(judge(quality=0.0, noise=0.0), UP)) == 0.0
    assert pstdev(scores(judge(quality=1.0, noise=0.0), UP)) == pytest.approx(
        0.9, abs=0.15
    )  # 1, cut at the ends
    twice = [judge(noise=0.0).answer(option_call(3, repeat=repeat)).text for repeat in range(5)]
    assert len(set(twice)) == 1
    blurred = {
        judge(quality=0.0, noise=3.0).answer(option_call(3, repeat=repeat)).text
        for repeat in range(40)
    }
    assert len(blurred) > 2


def test_criteria_in_one_call() -> None:
    names = ("style", "truth", "length")
    rubric = Rubric(
        "r", tuple(Criterion(name, tuple(Option(score) for score in UP)) for name in names)
    )
    settings = JudgeSettings(
        name="sim", kind="simulated", options={"criteria_first": 1.0, "quality": 0.3}
    )
    asked = SimulatedJudge(settings, rubric)
    by_position: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for text in range(400):
        shown = names[text % 3 :] + names[: text % 3]
        items = (3 * text, 3 * text + 1, 3 * text + 2)
        call = option_call(
            text, ordering=Ordering(shown, shown), scores=UP, items=items, template="criteria.v1"
        )
        lines = asked.answer(call).text.splitlines()
        assert [line.rpartition("] ")[0] for line in lines] == [f"[{name}" for name in shown]
        for position, line in enumerate(lines):
            by_position[position].append(int(line.rpartition(" ")[2]))
    # sd of one score about 0.75: standard error of a difference of means of 400 is 0.053.
    assert mean(by_position[0]) - mean(by_position[1]) == pytest.approx(1.0, abs=0.2)
    assert mean(by_position[2]) - mean(by_position[1]) == pytest.approx(0.0, abs=0.2)


def test_the_same_call_gets_the_same_answer_and_a_share_names_no_score() -> None:
    calls = [option_call(item) for item in range(100)]
    first, again, other = (
        [judge(seed=seed).answer(call).text for call in calls] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    replies: list[Reply] = [judge(unparsed=0.3).answer(option_call(item)) for item in range(1_000)]
    # Standard error sqrt(.3 * .7 / 1000) = 0.0145.
    assert mean(reply.text not in "12345" for reply in replies) == pytest.approx(0.3, abs=0.06)


def test_the_form_of_its_answers_and_large_log_odds() -> None:
    reply = judge().answer(option_call())
    assert (reply.model, reply.error) == (MODEL, "")
    assert sum(math.exp(value) for token, value in reply.top if token in "12345") == pytest.approx(
        0.97
    )
    feedback = judge().answer(option_call(template="prometheus.v1"))
    assert feedback.text.startswith("Feedback: ")
    assert feedback.text.rpartition("[RESULT] ")[2] in "12345"
    labelled = judge().answer(option_call(ordering=Ordering(UP, tuple("ABCDE"))))
    assert labelled.text in "ABCDE"
    assert softmax([1_000.0, 1_000.0, -1_000.0]) == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    "options", [{"fisrt": 1.0}, {"noise": -1.0}, {"unparsed": 2}, {"first": "much"}]
)
def test_wrong_options_are_named(options: dict[str, object]) -> None:
    with pytest.raises(LabError, match=f"“{next(iter(options))}”.*first, slope"):
        judge(**options)  # type: ignore[arg-type]


def test_the_first_of_a_pair_gains_its_log_odds_and_ties_are_a_share() -> None:
    def asked(sim: SimulatedJudge, *shown: str) -> Reply:
        call = option_call(template="pairwise-brief.v1", ordering=Ordering(shown, ("A", "B")))
        return sim.answer(call)

    odds = {}
    for first in (0.0, 1.0):
        chances = dict(asked(judge(first=first), "ann", "bob").top)
        odds[first] = chances["A"] - chances["B"]
    assert odds[1.0] - odds[0.0] == pytest.approx(1.0, abs=1e-9)
    # A candidate keeps its quality wherever it stands.
    swapped = dict(asked(judge(), "bob", "ann").top)
    assert swapped["B"] - swapped["A"] == pytest.approx(odds[0.0], abs=1e-9)
    assert asked(judge(ties=1.0), "ann", "bob").text == "C"


def test_the_first_of_several_gets_its_points() -> None:
    def first(points: float) -> float:
        sim = judge(first_of_several=points, noise=0.0, quality=0.0)
        ordering = Ordering(("b", "a"), ("Response 1", "Response 2"))
        text = sim.answer(option_call(template="batch.v1", items=(3, 5), ordering=ordering)).text
        assert text.splitlines()[1] == "[Response 2] 3"  # quality 0: the middle of 1 to 5
        return float(text.splitlines()[0].removeprefix("[Response 1] "))

    assert (first(0.0), first(1.0)) == (3.0, 4.0)
