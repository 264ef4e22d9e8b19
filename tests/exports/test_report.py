"""The report, one file without a script or network, strangers' texts only when asked for; cards;
every axis from judgments to sentences and pictures.
"""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.exports.report import INCLUDE, report_html
from rubriclab.figures.cards import card_of, example_of, pair_of
from rubriclab.figures.charts import draw
from rubriclab.figures.pictures import main_picture, share_bars, winner_classes, winner_stacks
from rubriclab.model.text import LabError
from rubriclab.words.answer import answers
from rubriclab.words.phrases import NBSP
from rubriclab.words.subject import subject_of
from tests.tables import comparisons, findings, responses
from tests.words import made

HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x>"


@pytest.mark.papers(38)
def test_the_report_holds_the_answer_and_its_picture() -> None:
    page = report_html(made.findings(made.options_table({"judge-7b": made.mostly_first}, items=40)))
    assert "Does judge-7b depend on the order of the rubric?" in page
    assert "judge-7b favours the option listed first" in page
    assert page.count("<svg") == 2
    assert '<span class="badge effect">Biased</span>' in page
    assert len(re.findall(r'class="badge (effect|equivalent|undecided)"', page)) == 4
    assert "What to do:" in page
    assert "A dependability of 0.9 takes" in page, "what else helps stands beside it"
    assert "Method and limits" in page
    assert "<details>" in page
    assert len(page) < 100_000


def test_points_of_criteria_are_not_drawn_as_shares() -> None:
    page = report_html(made.findings(made.criteria_table(lambda *where: 1 + where[2], items=12)))
    assert page.count("<svg") == 1, "the heatmap"
    assert "How often each position was chosen" not in page
    assert "no bias: 0" not in page


def test_the_report_needs_no_network_and_runs_nothing() -> None:
    table = made.options_table({HOSTILE: made.mostly_first}, items=12, name=HOSTILE)
    table.items["ratings"] = [{HOSTILE: 3.0}] * 12
    told = {"title": HOSTILE, "descriptions": {1: HOSTILE, 2: "", 3: ""}}
    page = report_html(made.findings(table), texts=True, text_of=lambda _: HOSTILE, **told)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "<img" not in page
    assert not re.search(r"<(link|script|img|iframe|object|a)\b", page)
    assert page.count("&lt;script&gt;") >= 4


def test_texts_and_raters_stand_in_it_only_when_asked_for() -> None:
    table = made.options_table({"j": made.mostly_first, "k": made.always_first}, items=12)
    table.items["ratings"] = [{"Rater Jane": 3.0}] * 12
    findings = made.findings(table)
    secrets = [f"secret text of call {example_of(arm)[0].call}" for arm in findings.judgments.arms]
    for texts in (False, True):
        page = report_html(findings, texts=texts, text_of="secret text of call {}".format)
        assert [secret in page for secret in ("Rater Jane", *secrets)] == [
            texts,
            texts,
            False,
        ]  # one example


def test_parts_are_left_out_by_name() -> None:
    table = made.options_table({"j": made.mostly_first}, items=12)
    findings = made.findings(replace(table, made_with={"note": "Two <rows> left out."}))
    assert "Two &lt;rows&gt; left out." in report_html(findings, include=("method",))
    assert "<svg" not in report_html(findings, include=("answer",))
    assert "What to do" not in report_html(findings, include=("charts", "numbers"))
    assert "Method and limits" not in report_html(
        findings, include=[part for part in INCLUDE if part != "method"]
    )
    with pytest.raises(LabError, match="no part “pictures”"):
        report_html(findings, include=("pictures",))


@pytest.mark.parametrize(
    ("state", "words"), [("running", "The verdict comes at the end."), ("failed", "could be read")]
)
def test_a_run_without_an_answer_has_a_report_that_says_so(state: str, words: str) -> None:
    rule = made.always_first if state == "running" else lambda *_: None
    page = report_html(made.findings(made.options_table({"j": rule}, items=3, state=state)))
    assert words in page
    assert "badge" not in page.split("<body>")[1]


def test_cards_show_the_list_as_it_was_and_what_was_chosen() -> None:
    (arm,) = made.findings(made.options_table({"j": made.always_first}, items=3)).judgments.arms
    upwards, downwards = example_of(arm, {1: "Bad.", 3: "Good."})
    assert (upwards.title, upwards.score, upwards.foot) == (
        "Listed 1 to 3",
        "Score 1",
        "position 1",
    )
    assert (downwards.title, downwards.score) == ("Listed 3 to 1", "Score 3")
    assert [(line.position, line.label, line.text, line.chosen) for line in upwards.lines] == [
        (1, "1", "Bad.", True),
        (2, "2", "", False),
        (3, "3", "Good.", False),
    ]
    assert card_of(arm, 99_999) is None


def test_cards_of_criteria_hold_every_score() -> None:
    (arm,) = made.findings(made.criteria_table(lambda *where: 1 + where[2], items=2)).judgments.arms
    card = card_of(arm, 0)
    assert card.title == "Listed Tone | Length | Facts"
    assert [line.text for line in card.lines] == ["1", "2", "3"]
    assert card.score == "Mean 2.00"


NAN = float("nan")
BOTH = [[0, 1], [1, 0]]


def pairs(first: int, same: int, **more: Any) -> Any:
    """``first`` pairs in which the first answer always wins, ``same`` in which one answer does;
    each order twice.
    """
    fair = [[1, 2, 1, 2], [2, 1, 2, 1]] * (same // 2)
    return comparisons([[1, 1, 1, 1]] * first + fair, BOTH, **more)


def test_classes_of_swapped_pairs_are_those_of_the_paper() -> None:
    # By position: the same winner (1 then 2), first twice, second twice, a tie beside the first
    # (primacy), beside the second (recency), two ties (consistent), and one order alone, which says
    # nothing.
    table = comparisons(
        [[1, 2], [1, 1], [2, 2], [0, 1], [2, 0], [0, 0], [1, NAN]], BOTH, task=["x"] * 3 + ["y"] * 4
    )
    (arm,) = Judgments(table).arms
    assert winner_classes(arm).tolist() == [0, 1, 2, 1, 2, 0, -1]
    picture = winner_stacks(arm)
    shares = {stack.name: [part.value for part in stack.points] for stack in picture.series}
    assert shares == {"all": [2 / 6] * 3, "x": [1 / 3] * 3, "y": [1 / 3] * 3}
    bars = draw(picture).data
    assert [bar.name for bar in bars] == ["same winner", "first twice", "second twice"]
    assert sum(bar.x[-1] for bar in bars) == pytest.approx(1)
    assert "same winner 33%" in picture.alt


def test_lists_have_a_class_for_other_changes() -> None:
    orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    # Candidate 0 wins all; the first position; the last; 0 then 2 then 0.
    table = comparisons([[1, 3, 2], [1, 1, 1], [3, 3, 3], [1, 2, 2]], orders)
    found = findings(table)
    assert winner_classes(found.judgments.arms[0]).tolist() == [0, 1, 2, 3]
    shown = main_picture(found, subject_of(found))
    assert shown.picture is not None
    assert shown.picture.kind == "stacks"
    assert shown.picture.levels[-1] == "other changes"
    assert "Does it favour positions?" in [asked.title for asked in answers(found)[0].questions]


def test_shares_of_sides_are_the_verdicts_own() -> None:
    found = findings(pairs(30, 10))
    picture, row = share_bars(found, subject_of(found)), found.select("favours_positions")[0]
    assert picture is not None
    assert [point.value for point in picture.points] == row.counts["shares"]
    low, high = row.counts["intervals"][0]
    assert (picture.points[0].low, picture.points[0].high) == (
        0.5 + low,
        min(1, 0.5 + high),
    )  # a share ends at 1
    assert [point.decided for point in picture.points] == [True, True]
    assert picture.reference == "no bias: 50.0%"


def test_answers_in_one_call_have_a_curve_in_points_and_alone_nothing_is_asked() -> None:
    orders = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    position = np.argsort(orders, axis=1)  # of each slot in each order
    rng = np.random.default_rng(1)
    quality = rng.integers(2, 4, (40, 1, 3)).astype(float)
    score = quality + (position == 0)[None]  # one point more when first
    found = findings(
        responses(np.tile(score, (1, 2, 1)), np.tile(orders, (2, 1)), alone=quality[:, 0])
    )
    together, alone = answers(found)
    assert together.about == "3 in a list"
    assert together.headline == "judge scores an answer higher when it is listed first"
    # One point at the first of three positions: 1 - 1/3 above the answers' own mean.
    assert together.questions[0].sentence.startswith(
        f"Listed first, answers score 0.67{NBSP}points higher than the"
    )
    assert (alone.questions, alone.advice) == ((), "")
    picture = main_picture(found, subject_of(found)).picture
    assert picture.kind == "curves"
    assert [round(point.value, 2) for point in picture.series[0].points] == [0.67, -0.33, -0.33]
    assert draw(picture).data[0].error_y.visible is not False
    card = card_of(found.judgments.arms[0], 1)
    assert card.title == "3 answers in one call"
    assert [line.label for line in card.lines] == ["item 1", "item 2", "item 0"]  # the second order


def test_cards_of_a_pair_name_the_candidates_and_the_winner() -> None:
    table = comparisons([[1, 1], [0, NAN]], BOTH, names=[("gpt", "alpaca"), ("x", "y")])
    arm = findings(table).judgments.arms[0]
    first, second = pair_of(arm, 0)
    # In order of names alpaca is 0, gpt is 1.
    assert (first.title, first.score, first.foot) == (
        "Shown alpaca first",
        "alpaca wins",
        "position 1",
    )
    assert (second.title, second.score) == ("Shown gpt first", "gpt wins")
    assert [line.chosen for line in first.lines] == [True, False]
    tie, unparsed = card_of(arm, 2), card_of(arm, 3)
    assert (tie.score, unparsed.score) == ("Tie", "No winner parsed")


def test_a_report_of_pairs_is_whole() -> None:
    html = report_html(
        findings(pairs(30, 10)), include=("answer", "charts", "example", "method", "numbers")
    )
    assert "judge picks the answer shown first" in html
    assert "wins" in html
    assert "Each pair of answers was shown in both orders" in html
    assert html.count("<svg") == 1
