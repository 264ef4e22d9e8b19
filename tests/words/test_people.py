"""Sentences about people and about what helps: the words that intervals allow, the reasons where
there are none, the same on every way out.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.data.sample import data_path
from rubriclab.exports.table import advice_document
from rubriclab.exports.terminal import findings_text
from rubriclab.figures.tab_pictures import calls_curve, reach_forest
from rubriclab.measures.advice import advice_of
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart
from rubriclab.store.bundle import read_bundle
from rubriclab.words.answer import Answer, answers
from rubriclab.words.phrases import NBSP, number
from rubriclab.words.subject import subject_of, subjects_of_orders
from rubriclab.words.what_helps import helps_answer
from rubriclab.words.with_people import has_people, people_answer, people_answers
from rubriclab.words.yardstick import whom
from tests.tables import ORDERS, choose, comparisons, findings, in_forms, options, study


def found(seed: int, items: int = 60, **how: Any) -> Findings:
    return findings(study(np.random.default_rng(seed), items, **how))


def said(table: Findings) -> Answer:
    return people_answer(table, subject_of(table))


def words(answer: Answer) -> list[str]:
    return [f"{asked.badge} {asked.verdict}" for asked in answer.questions]


@pytest.mark.thorough
def test_a_judge_that_reads_what_people_read_and_one_that_does_not() -> None:
    good, poor = said(found(3, noise=0.2)), said(found(4, 80, link=0.0))
    assert words(good) == ["Yes good", "No good", "Yes good"]
    assert good.strong.replace("\u00a0", " ") == "r = 0.85"
    assert "One person's scores correlate with the same raters at 0.81." in good.line
    # Ten calls against all raters are no yardstick for one person: they stand apart, with their
    # number.
    assert good.line.endswith("The mean of its 10 calls reaches 0.92 with all ratings.")
    assert good.questions[2].sentence.startswith(
        f"It wins against 3 of 3 raters, with an allowance of 15{NBSP}percentage points for being "
        f"cheaper;"
    )
    assert poor.headline == "One call of judge agrees with people less than another person would"
    assert poor.questions[0].badge != "Yes"
    assert poor.questions[2].badge != "Yes"


@pytest.mark.thorough
def test_the_allowance_is_said_as_it_was_set() -> None:
    table = study(np.random.default_rng(3), 60, noise=0.2)
    none = said(findings(table, reading=ReadingPart(epsilon=0.0)))
    assert "without an allowance for being cheaper" in none.questions[2].sentence
    small = said(findings(table, reading=ReadingPart(epsilon=0.025)))
    assert f"an allowance of 2.5{NBSP}percentage points" in small.questions[2].sentence


@pytest.mark.thorough
def test_one_call_is_compared_with_the_raters_that_another_rater_is_compared_with() -> None:
    """A judge whose calls are drawn as ratings are: one call reaches what one person does, ten
    calls more.
    """
    rng = np.random.default_rng(8)
    trait = rng.normal(size=(400, 1))
    drawn = 1.0 + np.searchsorted([-1.2, -0.4, 0.4, 1.2], trait + 0.8 * rng.normal(size=(400, 13)))
    people = [{f"rater {k}": x for k, x in enumerate(row)} for row in drawn[:, :3].tolist()]
    made_up = findings(options(drawn[:, 3:], ORDERS, ratings=people))
    call, person, mean = (
        made_up.select(measure)[0].value
        for measure in ("call_pearson", "people_pearson", "pearson")
    )
    assert call == pytest.approx(person, abs=0.02)
    assert mean > person + 0.1
    # Each call against the two raters that the left one is compared with.
    by_hand = [
        np.corrcoef(drawn[:, 3 + order], np.delete(drawn[:, :3], rater, axis=1).mean(axis=1))[0, 1]
        for rater in range(3)
        for order in range(10)
    ]
    assert call == pytest.approx(np.mean(by_hand))


def test_one_rating_an_answer_says_what_was_compared() -> None:
    line = said(found(2, raters=1)).line
    assert line.startswith("One call correlates with the ratings at r")
    assert "Only one rating per answer" in line


@pytest.mark.thorough
def test_no_rater_is_replaced_by_a_judge_that_is_surely_farther_away() -> None:
    """The judge says 1 where people say 5 and the other way round: near on hardly any answer."""
    table = study(np.random.default_rng(5), 80, noise=0.1)
    far = replace(table, rows=table.rows.assign(score=6.0 - table.rows["score"]))
    answer = said(findings(far))
    assert words(answer)[::2] == ["No poor", "No poor"]
    milder = replace(
        table, rows=table.rows.assign(score=np.clip(table.rows["score"] + 1.0, 1.0, 5.0))
    )
    assert "points higher" in said(findings(milder)).questions[1].sentence


def test_the_smallest_r_decides_how_near_is_as_near() -> None:
    table = study(np.random.default_rng(3), 60, noise=0.2)
    wide = findings(table, reading=ReadingPart.model_validate({"smallest": {"r": 0.3}}))
    assert said(wide).headline == "judge agrees with people as well as another person, within 0.3"


@pytest.mark.parametrize(
    ("how", "line"), [({"raters": 1}, "Only one rating per answer"), ({"items": 6}, "too few")]
)
def test_too_little_is_undecided_and_says_why(how: dict[str, Any], line: str) -> None:
    answer = said(found(2, **how))
    assert (
        line.lower()
        in " ".join((answer.line, *(asked.sentence for asked in answer.questions))).lower()
    )
    assert answer.headline == "Undecided how judge compares with another person"
    assert answer.questions[2].badge == "Undecided"


def test_a_number_for_all_answers_that_would_pass_is_no_yes() -> None:
    table = study(np.random.default_rng(18), 80, link=0.0)
    guesses = np.random.default_rng(19).integers(1, 6, (80, 3)).astype(float)
    ratings = [{f"rater {k}": x for k, x in enumerate(row)} for row in guesses.tolist()]
    asked = said(findings(replace(table, items=table.items.assign(ratings=ratings)))).questions[2]
    assert (asked.badge, "One number for all answers would, too." in asked.sentence) == (
        "Undecided",
        True,
    )


def test_an_unfinished_run_has_numbers_and_no_words_and_one_without_ratings_nothing() -> None:
    table = study(np.random.default_rng(3), 60)
    early = said(findings(replace(table, state="running")))
    assert (early.questions, early.strong[:1]) == ((), "r")
    alone = findings(replace(table, items=table.items.assign(ratings=[{}] * 60)))
    assert not has_people(alone, 0)
    assert people_answers(alone) == []
    assert "another person" not in findings_text(alone)


def test_the_picture_and_the_terminal_say_the_rows() -> None:
    table = found(6, fixed=4)
    forest = reach_forest(table, subject_of(table))
    assert [point.label for point in forest.points] == [
        "balanced, 1 call",
        "balanced, 10 calls",
        "fixed, 1 call",
        "fixed, 4 calls",
        "1 call against others",
        "one person",
    ]
    assert forest.points[1].value == table.select("pearson", condition=0)[0].value
    text = findings_text(table)
    assert said(table).line in text
    assert said(table).questions[0].sentence in text


@pytest.mark.thorough
@pytest.mark.papers(73)
def test_the_recorded_example_has_intended_levels_and_calls_them_that() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example.zip"))))
    for answer in people_answers(recorded):
        text = "\n".join(answer.lines())
        assert "the levels that the sample's author aimed at" in text
        assert "No person rated these answers." in text
        assert not answer.questions
        assert "another person" not in text


@pytest.mark.thorough
@pytest.mark.papers(73)
@pytest.mark.parametrize("axis", ["criteria", "lists", "pairs"])
def test_each_axis_has_a_recorded_example_with_an_answer(axis: str) -> None:
    recorded = Findings(Judgments(read_bundle(data_path(f"example-{axis}.zip"))))
    given = answers(recorded)
    assert {recorded.conditions[answer.condition].reorder for answer in given} == {axis}
    assert all(answer.questions and not answer.simulated for answer in given)


@pytest.mark.thorough
@pytest.mark.papers(73)
def test_the_recorded_variants_are_held_against_the_default() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-variants.zip"))))
    said = {answer.about.rpartition(" · ")[2]: answer for answer in answers(recorded)}
    shuffled = said["ids = shuffled against ids = arabic"]
    assert shuffled.headline == "smollm2-135m: ids = shuffled lowers the mean score"
    assert [asked.badge for asked in shuffled.questions] == ["Yes", "Yes, size unclear"]


STORIES = 96
"""The stories of HANNA that people wrote."""


@pytest.mark.thorough
@pytest.mark.papers(73)
def test_the_recorded_stories_have_four_judges_and_ratings_by_people() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-hanna.zip"))))
    assert [condition.judge for condition in recorded.conditions] == [
        "smollm2-135m-q8, Q8_0",
        "smollm2-135m, Q4_1",
        "smollm2-135m-q8, temperature 1",
        "gemma-3-270m, Q4_K_M",
    ]
    table = recorded.judgments.table
    assert [len(ratings) for ratings in table.items["ratings"]] == [3] * STORIES
    calls = table.rows.groupby(["condition", "item"])["ordering"].agg(["size", "nunique"])
    assert len(calls) == 4 * STORIES
    assert (calls == 10).all(axis=None), "every balanced order once"
    given = people_answers(recorded)
    assert len(given) == 4
    for answer in given:
        assert answer.questions
        assert "the sample's author aimed at" not in "\n".join(answer.lines())


@pytest.mark.thorough
@pytest.mark.papers(73)
def test_the_recorded_forms_lower_the_mean_of_both_judges() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-forms.zip"))))
    assert whom(recorded) == "the intended levels"
    shifts = {
        recorded.conditions[row.condition].judge: row.value
        for row in recorded.select("variant_shift", variant="ids = shuffled")
    }
    assert shifts == pytest.approx({"smollm2-135m": -1.1667, "smollm2-135m-q8": -1.1167}, abs=5e-5)


@pytest.mark.papers(73)
def test_the_recorded_ways_to_ask_are_five_of_one_judge_with_intended_levels() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-ways.zip"))))
    ways = [condition.reorder for condition in recorded.conditions]
    assert ways == ["bare", "options", "criteria", "pairs", "lists"]
    assert {condition.judge for condition in recorded.conditions} == {"smollm2-135m-q8"}
    assert whom(recorded) == "the intended levels"
    changes = {ways[row.condition]: row.value for row in recorded.select("result_change")}
    assert (changes["options"], changes["pairs"], changes["lists"]) == (0.0, 1.0, 1.0)


@pytest.mark.papers(73)
def test_the_recorded_pairs_of_three_judges_have_their_agreement() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-agreement.zip"))))
    rows = recorded.judgments.table.rows
    first = {
        condition.judge: (rows["position"][rows["condition"] == code] == 1).mean()
        for code, condition in enumerate(recorded.conditions)
    }
    assert first == {
        "smollm2-135m-q8, Q8_0": 1.0,
        "smollm2-135m, Q4_1": 1.0,
        "smollm2-135m-q8, temperature 1": 0.7,
    }
    kept = [row.value for row in recorded.select("pc")]
    assert kept == [0.0, 0.0, 0.35]


@pytest.mark.papers(73)
def test_the_recorded_sweep_depends_less_on_the_position_when_it_is_warmer() -> None:
    recorded = Findings(Judgments(read_bundle(data_path("example-sweep.zip"))))
    rows = recorded.judgments.table.rows
    first = {
        condition.variant["temperature"]: (rows["position"][rows["condition"] == code] == 1).mean()
        for code, condition in enumerate(recorded.conditions)
        if condition.variant["scale"] == 5
    }
    assert first == {0.0: 0.455, 0.5: 0.38, 1.0: 0.275}


def test_pairs_stand_beside_the_winners_that_the_data_name() -> None:
    """x is better in all 12 pairs; ten times what stands first is taken, twice x in both orders: 10
    + 4 of 24 calls.
    """
    named = {"names": [("x", "y")] * 12, "ratings": [{"gold": 1}] * 12}
    found = findings(comparisons([[1, 1]] * 10 + [[1, 2]] * 2, [[0, 1], [1, 0]], **named))
    (answer,) = people_answers(found)
    assert answer.headline.endswith("beside the winners that the data name")
    assert not answer.questions
    assert answer.strong == number(14 / 24, ".0%")
    for said in (
        "of 24 calls",
        "100% where it stood at position 1",
        "In every order of a comparison: 17",
    ):
        assert said in answer.line.replace("\u00a0", " ")
    picture = reach_forest(found, subjects_of_orders(found)[0])
    assert picture is not None
    assert [point.value for point in picture.points] == pytest.approx([14 / 24, 1, 2 / 12, 2 / 12])


def judged(first: float, items: int = 60, repeats: int = 2) -> JudgmentTable:
    return options(
        choose(np.random.default_rng(1), items, ORDERS, first=first, repeats=repeats), ORDERS
    )


def remedies(found: Findings) -> Answer:
    return helps_answer(found, subject_of(found))


def badges(answer: Answer) -> dict[str, str]:
    return {asked.title: asked.badge for asked in answer.questions}


def test_a_judge_that_favours_a_position() -> None:
    answer = remedies(findings(judged(2.5)))
    # Ten orders were asked, so ten are advised, on the page as in the card; 32 calls would take
    # more of them.
    assert answer.headline == "Average 10 orders, one call in each"
    assert "That reaches a dependability of " in answer.line
    assert "takes 32 calls in different orders (95% CI 19 to 50)." in answer.line
    assert "Repeating one order does not get there in 200 calls." in answer.line
    assert badges(answer) == {
        "Several orders, averaged": "Helps",
        "Correct one call for its position": "Undecided",
        "One better order": "Helps",
    }
    nearer = (
        "Scores come 0.50 points nearer to the mean over all orders, with 10 calls each "
        "(95% CI 0.23 to 0.71)."
    )
    assert answer.questions[0].sentence.replace(NBSP, " ") == nearer


def test_a_judge_without_an_order_effect_is_told_no_remedy() -> None:
    found_fair = findings(judged(0.0))
    answer = remedies(found_fair)
    assert answer.headline == "One order is enough"
    assert answers(found_fair)[0].advice == "One order is enough."
    # A number of calls that was counted goes with its interval.
    assert re.search(
        r"takes 18 calls in different orders \(95% CI \d+ to \d+\)\. "
        r"In one order it takes \d+ \(95% CI \d+ (to \d+|or more)\)\.",
        answer.line,
    )
    assert "Helps" not in badges(answer).values()
    assert badges(answer)["Several orders, averaged"] == "No"


def test_nothing_helps_outside_the_gate() -> None:
    """The same rows, but for a gate that stays shut and verdicts that it leaves open."""
    found = findings(judged(2.5))
    subject = subject_of(found)
    shut = replace(
        subject.verdicts,
        gate=replace(subject.verdicts.gate, p=0.2),
        questions={
            name: replace(verdict, word="undecided", why="")
            for name, verdict in subject.questions.items()
        },
    )
    answer = helps_answer(found, replace(subject, verdicts=shut))
    assert "Helps" not in badges(answer).values()
    assert "The order itself is not shown to matter." in answer.questions[0].sentence


TEMPERATURE_0 = np.random.default_rng(11).choice([-1, 0, 0, 1], size=(60, len(ORDERS))) + np.repeat(
    2.0 + np.arange(60)[:, None] % 3, len(ORDERS), axis=1
)
"""(items, orders): a score that any change of the prompt moves, whatever it is, and that a repeat
gives again.
"""


def repeated(once: np.ndarray) -> JudgmentTable:
    return options(np.concatenate([once, once], axis=1), ORDERS, np.tile(np.arange(len(ORDERS)), 2))


def test_a_judge_at_temperature_0_is_never_told_to_repeat_a_prompt() -> None:
    found = findings(repeated(TEMPERATURE_0))
    assert found.select("gate")[0].p > 0.05
    (said_of_orders,) = answers(found)
    assert said_of_orders.advice == "Average several orders or wordings."
    answer = remedies(found)
    assert re.fullmatch(r"Average \d+ orders or wordings, one call in each", answer.headline)
    assert "Repeating one order gives the same score again, so it gains nothing." in answer.line
    assert badges(answer)["Several orders, averaged"] == "Helps"
    text = findings_text(found)
    for never in ("No gain", "not shown", "One call is enough", "One order is enough", "ask twice"):
        assert never not in text


@pytest.mark.thorough
@pytest.mark.parametrize("first", [0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("repeats", [1, 2])
def test_one_decision_gives_one_advice(first: float, repeats: int) -> None:
    """Page, tab, text, JSON and card speak of the same number of orders, and never against each
    other.
    """
    found = findings(judged(first, repeats=repeats))
    about = subject_of(found)
    advice = advice_of(found, 0)
    assert advice.action == about.action
    (document,) = advice_document(found)
    assert (document["action"], document["orders"]) == (advice.action, advice.orders)
    assert document["sentence"] == answers(found)[0].advice
    headline = remedies(found).headline
    assert advice.orders is not None
    if advice.one_will_do:
        assert (advice.orders, headline) in ((1, "One order is enough"), (1, "One call is enough"))
        assert "One order is enough" in document["sentence"] or advice.action == "small"
    else:
        assert f"average {advice.orders} orders" in headline.lower()
        assert advice.orders > 1
        assert "enough" not in document["sentence"]
    badge = badges(remedies(found))["Several orders, averaged"]
    assert badge != ("No" if advice.averages else "Helps" if advice.one_will_do else "-")


def test_r_is_said_where_people_rated() -> None:
    answer = remedies(findings(study(np.random.default_rng(0), 60, fixed=10)))
    assert answer.questions[0].sentence.startswith(
        f"A gain of less than 0.25{NBSP}points in distance from the mean over all orders, with 10 "
        f"calls each"
    )
    assert "r with the ratings changes by " in answer.questions[0].sentence


def test_reasons_and_unfinished_runs() -> None:
    few = remedies(findings(judged(1.0, items=12)))
    assert "(too few independent answers" in few.line
    assert "this run has 12" in few.questions[2].sentence
    once = remedies(findings(judged(1.0, repeats=1)))
    assert "were asked twice in the same order" in once.questions[0].sentence
    early = remedies(findings(replace(judged(1.0), state="paused")))
    assert (early.headline, early.questions) == ("How many calls are needed, so far", ())
    assert (
        remedies(findings(options(np.full((30, 20), 4.0), ORDERS))).headline
        == "How many calls are needed is not known"
    )


def test_of_pairs_winners_that_stand_and_the_commonest_one() -> None:
    """30 pairs whose first answer is gold: 20 take the first shown, 10 the gold one; so half a
    point a mover is lost.
    """
    gold = [{"gold": 1}] * 30
    made = remedies(
        findings(comparisons([[1, 1]] * 20 + [[1, 2]] * 10, [[0, 1], [1, 0]], ratings=gold))
    )
    assert made.headline == "Ask in both orders"
    stands, right = (
        "33% of pairs keep their winner in both orders (95% CI",
        "it is the better answer in 100% (",
    )
    assert stands in made.line.replace(NBSP, " ")
    assert right in made.line.replace(NBSP, " ")
    (asked,) = made.questions
    # In the default order all 30 are right, over both 10 + 20 / 2.
    assert "No gain of 5 points or more at equal calls: 67% against 100%" in asked.sentence.replace(
        NBSP, " "
    )
    unnamed = remedies(findings(comparisons([[1, 1]] * 20 + [[1, 2]] * 10, [[0, 1], [1, 0]])))
    assert (unnamed.headline, unnamed.questions) == (made.headline, ())


def test_forms_have_a_gate_of_their_own() -> None:
    rng, one = np.random.default_rng(2), ORDERS[:1]
    base, other = (np.clip(rng.integers(2, 4, (60, 6)) + shift, 1, 5) for shift in (0, 2))
    answer = remedies(
        findings(in_forms({"arabic": options(base, one), "letters": options(other, one)}))
    )
    assert badges(answer)["Several forms of the prompt, averaged"] == "Helps"


def test_the_curve_and_the_command_line() -> None:
    found = findings(judged(2.5))
    curve = calls_curve(found, subject_of(found))
    assert [line.name for line in curve.series] == ["in different orders", "in one order"]
    assert curve.target == 0.9
    assert "judge: Average 10 orders, one call in each" in findings_text(found)


@pytest.mark.thorough
def test_a_model_whose_scores_came_with_the_data_is_not_called_a_person() -> None:
    """Its scores lie where people's would: nothing on the tab may speak of a person or a rater."""
    table = study(np.random.default_rng(4), 80, link=0.0)
    by_model = [
        {f"gpt4_score {k}": score for k, score in enumerate(given.values(), 1)}
        for given in table.items["ratings"]
    ]
    renamed = replace(table, items=table.items.assign(ratings=by_model))
    given = findings(renamed)
    answer = said(given)
    expected = "One call of judge agrees with GPT-4's scores less than these agree with each other"
    assert answer.headline == expected
    shown = " ".join(
        [answer.headline, answer.line, *(f"{q.title} {q.sentence}" for q in answer.questions)]
    )
    forest = reach_forest(given, subject_of(given))
    assert forest is not None
    labels = [point.label for point in forest.points]
    assert "one score of GPT-4" in labels
    shown += " ".join([*labels, *forest.axes])
    assert not re.search(r"people|person|rater", shown)
    assert said(findings(table)).headline.endswith("than another person would")
