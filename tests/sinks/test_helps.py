"""Sentences about what helps: the words that intervals and the gate allow, reasons where there is no number, the curve."""

from dataclasses import replace

import numpy as np

from rubriclab.core.topic import Findings
from rubriclab.model.judgment import JudgmentTable
from rubriclab.sinks.answer import Answer
from rubriclab.sinks.facts import facts_of
from rubriclab.sinks.helps import calls_curve, helps_answer
from rubriclab.sinks.terminal import findings_text
from rubriclab.sinks.text import NBSP
from tests.tables import ORDERS, choose, comparisons, findings, in_forms, options, study


def judged(first: float, items: int = 60, repeats: int = 2) -> JudgmentTable:
    return options(choose(np.random.default_rng(1), items, ORDERS, first=first, repeats=repeats), ORDERS)


def said(found: Findings) -> Answer:
    return helps_answer(found, facts_of(found))


def words(answer: Answer) -> dict[str, str]:
    return {asked.title: asked.badge for asked in answer.questions}


def test_a_judge_that_favours_a_position() -> None:
    answer = said(findings(judged(2.5)))
    assert answer.headline == "Average 32 calls in different orders"
    assert "95\u00a0% CI for the number of calls: 15 to 47" in answer.line
    assert "Repeating one order does not get there in 200 calls." in answer.line
    assert words(answer) == {
        "Several orders, averaged": "Helps", "Correct one call for its position": "Undecided", "One better order": "Helps",
    }  # fmt: skip
    nearer = "Scores come 0.50 points nearer to the mean over all orders at equal cost (95 % CI 0.23 to 0.71)."
    assert answer.questions[0].sentence.replace(NBSP, " ") == nearer


def test_a_judge_without_an_order_effect_is_told_no_remedy() -> None:
    answer = said(findings(judged(0.0)))
    assert answer.headline == "18 calls in one order are as good"
    assert "Helps" not in words(answer).values()
    assert words(answer)["Several orders, averaged"] == "No"


def test_nothing_is_claimed_outside_the_gate() -> None:
    """The same rows, but for a gate that stays shut."""
    found = findings(judged(2.5))
    shut = replace(facts_of(found), gate=0.2)
    answer = helps_answer(found, shut)
    assert answer.headline == "Average 32 calls"
    assert "Helps" not in words(answer).values()
    assert "The order itself is not shown to matter." in answer.questions[0].sentence


def test_r_is_said_where_people_rated() -> None:
    answer = said(findings(study(np.random.default_rng(0), 60, fixed=10)))
    assert answer.questions[0].sentence.startswith("No gain of 0.05 or more in r with the ratings at equal cost")


def test_reasons_and_unfinished_runs() -> None:
    few = said(findings(judged(1.0, items=12)))
    assert "(too few independent groups" in few.line
    assert "this run has 12" in few.questions[2].sentence
    once = said(findings(judged(1.0, repeats=1)))
    assert "No order was asked twice" in once.questions[0].sentence
    early = said(findings(replace(judged(1.0), state="paused")))
    assert (early.headline, early.questions) == ("How many calls are needed, so far", ())
    assert said(findings(options(np.full((30, 20), 4.0), ORDERS))).headline == "How many calls are needed is not known"


def test_of_pairs_winners_that_stand_and_the_commonest_one() -> None:
    """30 pairs whose first answer is gold: 20 take the first shown, 10 the gold one; so half a point a mover is lost."""
    gold = [{"gold": 1}] * 30
    made = said(findings(comparisons([[1, 1]] * 20 + [[1, 2]] * 10, [[0, 1], [1, 0]], ratings=gold)))
    assert made.headline == "Ask in both orders"
    stands, right = "33 % of pairs keep their winner in both orders (95 % CI", "it is the better answer in 100 % ("
    assert stands in made.line.replace(NBSP, " ")
    assert right in made.line.replace(NBSP, " ")
    (asked,) = made.questions
    # In the default order all 30 are right, over both 10 + 20 / 2.
    assert "No gain of 5 points or more at equal calls: 67 % against 100 %" in asked.sentence.replace(NBSP, " ")
    unnamed = said(findings(comparisons([[1, 1]] * 20 + [[1, 2]] * 10, [[0, 1], [1, 0]])))
    assert (unnamed.headline, unnamed.questions) == (made.headline, ())


def test_forms_have_a_gate_of_their_own() -> None:
    rng, one = np.random.default_rng(2), ORDERS[:1]
    base, other = (np.clip(rng.integers(2, 4, (60, 6)) + shift, 1, 5) for shift in (0, 2))
    answer = said(findings(in_forms({"arabic": options(base, one), "letters": options(other, one)})))
    assert words(answer)["Several forms of the prompt, averaged"] == "Helps"


def test_the_curve_and_the_command_line() -> None:
    found = findings(judged(2.5))
    curve = calls_curve(found, facts_of(found))
    assert [line.name for line in curve.series] == ["in different orders", "in one order"]
    assert curve.target == 0.9
    assert "judge: Average 32 calls in different orders" in findings_text(found)
