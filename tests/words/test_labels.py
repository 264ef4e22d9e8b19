"""A scale of two scores is read by its labels, wherever an order or a score is named."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rubriclab.cli.show import _calls
from rubriclab.core.topic import Caution, Findings
from rubriclab.exports.terminal import findings_text
from rubriclab.figures.cards import example_of
from rubriclab.figures.first_pictures import mean_by_order, order_means, orders_captions, two_orders
from rubriclab.figures.tab_pictures import pass_fail_forest
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.passing import PassRate
from rubriclab.model.study import ReadingPart
from rubriclab.words.card import expected_error_text, orders_text
from rubriclab.words.compact import order_lines, order_sentence
from rubriclab.words.phrases import NBSP, caution_text, in_order, name, order_name, score_name
from rubriclab.words.subject import subject_of
from tests.tables import ORDERS, findings, options

NAMES = {0: "Fail", 1: "Pass"}
RATE = PassRate(passes="Pass", fails="Fail", score=1.0, other=0.0)


def labelled(table: JudgmentTable) -> JudgmentTable:
    named = tuple(
        replace(order, labels=tuple(NAMES[score] for score in order.shown))
        for order in table.orderings
    )
    return replace(table, orderings=named)


def judged(**more: Any) -> JudgmentTable:
    """40 answers that people pass or fail in turn. With Fail first the judge agrees with people;
    with Pass first it passes the first 10 whatever people say.
    """
    label = np.tile([1.0, 0.0], 20)
    score = np.stack([label, np.where(np.arange(40) < 10, 1.0, label)], axis=1)
    ratings = [{"rater": x} for x in label.tolist()]
    return options(score, [[0, 1], [1, 0]], ratings=ratings, **more)


@pytest.fixture(scope="module")
def found() -> Findings:
    return findings(labelled(judged()))


def test_rows_say_which_label_is_listed_first(found: Findings) -> None:
    said = findings_text(found, "all")
    assert "Sensitivity when Fail is listed first: 100.0%" in said
    # With Pass first it passes 5 of the 20 that people fail.
    assert "Specificity when Pass is listed first: 75.0%" in said
    assert "Bias Cost when Pass is listed first" in said
    assert "r when Fail is listed first" in said
    assert "Pass at position 1" in said
    assert "Pass, rating Fail" in said
    assert not re.search(r"(?:Sensitivity|Specificity|Cost|order|Score|r) [01]\b(?!\.)", said)


def test_longer_scales_keep_their_orders() -> None:
    level = np.arange(40.0)[:, None] % 5 + 1
    ratings = [{"rater": float(x)} for x in level[:, 0]]
    score = np.broadcast_to(level, (40, len(ORDERS)))
    found = findings(options(score, ORDERS, ratings=ratings), reading=ReadingPart(cut=4.0))
    said = findings_text(found, "all")
    assert "Sensitivity in order 1 2 3 4 5: 100.0%" in said
    assert "Rank of r in order 5 4 3 2 1" in said
    assert "Score 4 at position 1" in said


def test_scores_without_labels_are_called_by_their_number() -> None:
    found = findings(judged())
    said = findings_text(found, "all")
    assert "Sensitivity when score 0 is listed first" in said
    assert "Score 1 at position 2" in said
    (card, _) = example_of(found.judgments.arms[0], rate=found.pass_rate(0))
    assert (card.title, card.score) == ("Score 0 listed first", "Score 0")
    assert [line.label for line in card.lines] == ["0", "1"]


def test_a_files_orders_stay_codes(found: Findings) -> None:
    """Files and limits of gates name an order by its scores."""
    orders = [row.of["order"] for row in found.select("sensitivity") if "order" in row.of]
    assert orders == ["0 1", "1 0"]


def test_the_names_of_orders_and_scores() -> None:
    assert order_name("1 0", RATE) == "Pass first"
    assert order_name("1 2 3", None) == "1 2 3"
    assert in_order("0 1", RATE) == "when Fail is listed first"
    assert in_order("1 2 3", None) == "in order 1 2 3"
    assert (score_name(1, RATE), score_name(0, RATE)) == ("Pass", "Fail")
    # An expected score is neither.
    assert score_name(0.25, RATE) == "score 0.25"


def test_cards_show_labels(found: Findings) -> None:
    arm = found.judgments.arms[0]
    first, second = example_of(arm, {0: "Wrong.", 1: "Right."}, found.pass_rate(0))
    assert (first.title, second.title) == ("Fail listed first", "Pass listed first")
    assert (first.score, second.score) == ("Fail", "Pass")
    assert [(line.label, line.text, line.chosen) for line in first.lines] == [
        ("Fail", "Wrong.", True),
        ("Pass", "Right.", False),
    ]


def test_the_tab_orders_is_about_pass_rates(found: Findings) -> None:
    """20 of 40 pass with Fail first, 25 of 40 with Pass first."""
    subject = subject_of(found)
    measured = order_means(found.judgments.arms[0], found.pass_rate(0))
    assert measured is not None
    assert measured.orders == ("Fail first", "Pass first")
    assert measured.means.tolist() == [50.0, 62.5]
    shown = mean_by_order(subject, measured)
    assert shown.title == "Pass rate in each order"
    assert shown.picture is not None
    assert {point.label: point.text for point in shown.picture.points} == {
        "Fail first": "50.0",
        "Pass first": "62.5",
    }
    assert shown.picture.scale == (0, 100)
    assert f"12.5{NBSP}percentage points apart" in shown.note
    assert "points" not in shown.note.replace("percentage points", "")
    both = two_orders(subject, measured, 0, 1)
    assert "5 of 40 answers changed" in both.note
    assert both.picture is not None
    assert "0 to 100" in [line.name for line in both.picture.series]
    assert all("mean" not in caption for caption in orders_captions(subject, measured))


def test_where_the_lower_score_passes_rates_are_its_share() -> None:
    found = findings(labelled(judged()), reading=ReadingPart(passes="Fail"))
    measured = order_means(found.judgments.arms[0], found.pass_rate(0))
    assert measured is not None
    assert measured.means.tolist() == [50.0, 37.5]
    assert "when Fail is listed first" in findings_text(found, "all")


def test_the_picture_of_error_rates_names_orders(found: Findings) -> None:
    picture = pass_fail_forest(found, 0)
    assert picture is not None
    labels = [point.label for point in picture.points]
    assert "passes, Fail first" in labels
    assert "fails, Pass first" in labels


def test_single_orders_are_named(found: Findings) -> None:
    lines = order_lines(found, [0])
    assert [line.name for line in lines] == ["Fail first", "Pass first"]
    said = order_sentence(lines)
    assert said.startswith("Agreement is highest when Fail is listed first (r 1.00), and lowest")


def test_the_terminal_lists_judgments_by_label(found: Findings) -> None:
    frame = found.judgments.table.rows.head(1).assign(
        item_id="a1", ordering="1 0", score=1.0, reply="Pass", condition=0, status="ok"
    )
    assert _calls(frame, {0: RATE}).output == "a1 · listed Pass first · Pass · Pass"
    assert _calls(frame, {0: None}).output == "a1 · listed 1 0 · score 1 · Pass"


def test_a_caution_names_orders_and_scores() -> None:
    ends = {"least": 0.5, "most": 0.9, "order": "0 1", "against": "1 0"}
    caution = Caution("unparsed_by_order", of=ends, rate=RATE)
    assert "50% for Fail first, 90% for Pass first" in caution_text(caution)
    assert "50% for 0 1" in caution_text(replace(caution, rate=None))
    constant = Caution("constant_judge", of={"share": 1.0, "score": 1}, rate=RATE)
    assert "are the same (Pass)" in caution_text(constant)


def test_a_card_promises_percentage_points_of_the_pass_rate() -> None:
    promise = {
        "distance": 0.1,
        "low": 0.05,
        "high": 0.152,
        "margin": 0.5,
        "one_order": 0.2,
        "level": 0.95,
        "items": 40,
    }
    said = expected_error_text(promise, several=True, rate=RATE)
    assert said == (
        f"An answer's pass rate is typically 10.0{NBSP}percentage points away from its pass rate "
        f"over all orders (95% CI 5.0 to 15.2, 40 items). For each of these, 95 of 100 pass rates "
        f"are within 50.0{NBSP}percentage points. With one order alone, it is "
        f"20.0{NBSP}percentage points."
    )
    assert f"typically 0.10{NBSP}points" in expected_error_text(promise, several=False, rate=None)
    assert orders_text([[0, 1], [1, 0]], RATE) == "Fail first; Pass first"
    assert orders_text([[1, 2, 3], [3, 2, 1], [1, 3, 2], [2, 1, 3]], None).endswith("…")


def test_a_row_of_another_condition_keeps_its_scores(found: Findings) -> None:
    """A row is read by its own condition: without a pass rate it keeps the scores."""
    (row,) = found.select("sensitivity", order="0 1")
    assert name(replace(row, rate=None)) == "Sensitivity in order 0 1"
