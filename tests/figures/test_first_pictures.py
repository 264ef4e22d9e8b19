"""The pictures of Results: what is orange, what is pale, and scores as they were measured."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.data.sample import data_path
from rubriclab.figures.charts import draw
from rubriclab.figures.evidence import order_or_noise, ruled_out, swing_example
from rubriclab.figures.first_pictures import (
    first_picture,
    mean_by_order,
    order_means,
    two_orders,
)
from rubriclab.figures.marks import DARK, LIGHT
from rubriclab.model.study import ReadingPart
from rubriclab.store.bundle import read_bundle
from rubriclab.words.subject import subject_of
from tests.tables import ORDERS, criteria, findings, options
from tests.words import made


def recorded(name: str) -> Findings:
    return Findings(Judgments(read_bundle(data_path(f"{name}.zip"))))


@pytest.mark.thorough
def test_bars_are_the_column_totals_of_the_cells_below() -> None:
    found = recorded("example")
    subject = subject_of(found)
    shown = first_picture(found, subject, subject.condition)
    assert shown.picture is not None
    bars, cells = shown.picture.panels
    assert [point.text for point in bars.points] == ["42.5%", "10.8%", "13.3%", "17.3%", "16.0%"]
    assert [point.decided for point in bars.points] == [True, False, False, False, False]
    assert [line.group for line in cells.series][::-1] == [
        "828 calls",
        "246 calls",
        "94 calls",
        "22 calls",
        "10 calls",
    ]
    calls = {line.name: int(line.group.split()[0]) for line in cells.series}
    for position, bar in enumerate(bars.points):
        total = sum(line.points[position].value * calls[line.name] for line in cells.series)
        assert total / 1_200 == pytest.approx(bar.value)
    # 63% of 246 calls is strong; 100% of 10 calls is pale.
    tone = {line.name: [point.tone for point in line.points] for line in cells.series}
    assert tone["4"][0] > 0.8 > tone["1"][4] > 0
    assert tone["3"][1] == -1
    for palette in (LIGHT, DARK):
        figure = draw(shown.picture, palette)
        assert len([trace for trace in figure.data if trace.type == "bar"]) == 1
        assert figure.layout.yaxis2.domain[0] > figure.layout.yaxis.domain[1]


def test_no_bar_is_orange_without_a_verdict_nor_below_even() -> None:
    found = made.findings(made.options_table({"j": made.by_quality}, items=40))
    shown = first_picture(found, subject_of(found), 0)
    assert shown.picture is not None
    assert not any(point.decided for point in shown.picture.panels[0].points)

    def never_first(item: int, shown: tuple[int, ...], repeat: int) -> int:  # noqa: ARG001
        return int(shown[1 + item % 2])

    avoids = made.findings(made.options_table({"j": never_first}, items=40))
    subject = subject_of(avoids)
    drawn = first_picture(avoids, subject, 0).picture
    assert drawn is not None
    assert subject.word == "Biased"
    assert not drawn.panels[0].points[0].decided


def test_pairs_are_counted_by_what_swapping_did() -> None:
    found = recorded("example-pairs")
    subject = subject_of(found, 1)
    shown = first_picture(found, subject, subject.condition)
    assert shown.picture is not None
    said = {point.label: (point.text, point.decided) for point in shown.picture.points}
    assert said == {
        "The one shown second, both times": ("137 of 144 pairs", True),
        "The one shown first, both times": ("2", False),
        "The same answer, both times": ("5", False),
    }


@pytest.mark.thorough
def test_the_example_swings_most_and_shows_the_bias_that_is_named() -> None:
    found = recorded("example")
    example = swing_example(found, subject_of(found), lambda call: f"text {call}")
    assert example is not None
    assert (example.item, example.apart) == ("lighthouse-letter", 4)
    assert (example.low.result, example.high.result) == ("1", "5")
    assert example.high.foot == "score 5 was listed first"
    assert example.sentence.startswith("One of the 5 widest of 60 answers. 31 move by 2")
    assert example.sentence.endswith("20 not at all.")
    pairs = recorded("example-pairs")
    second = swing_example(pairs, subject_of(pairs, 1), lambda _: "")
    assert second is not None
    assert (second.low.foot, second.high.foot) == ("shown second", "shown second")


def test_the_example_says_among_how_many_it_was_picked() -> None:
    """Of 40 answers the first 30 repeat themselves; a scale of two scores has no 2 points."""
    first = np.array([order[0] for order in ORDERS], dtype=float)
    noisy = np.where(first < 5, first + 1, first - 1)
    score = np.tile(np.concatenate([first, first]), (40, 1))
    score[30:, len(ORDERS) :] = noisy
    orders = np.tile(np.arange(len(ORDERS)), 2)
    found = findings(options(score, ORDERS, orders))
    example = swing_example(found, subject_of(found), lambda _: "")
    assert example is not None
    assert (
        "All 30 answers (of 40) whose repeats agree in two orders move as far." in example.sentence
    )
    shown = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]
    moved = np.array([[[2.0 if c == order[0] else 1.0 for c in range(3)] for order in shown]] * 30)
    narrow = criteria(moved, shown[:3], order=[0, 1, 2, 0])
    conditions = tuple(replace(one, scores=(1, 2)) for one in narrow.conditions)
    found = findings(replace(narrow, conditions=conditions))
    example = swing_example(found, subject_of(found), lambda _: "")
    assert example is not None
    assert example.sentence.startswith("All 30 texts move as far. 30 move, 0 not at all.")


def test_an_order_whose_repeats_differ_is_no_example() -> None:
    """Every second repeat differs, so no order of any answer is confirmed."""
    first = np.array([order[0] for order in ORDERS], dtype=float)
    moved = np.where(first < 5, first + 1, first - 1)
    score = np.tile(np.concatenate([first, moved]), (40, 1))
    found = findings(options(score, ORDERS, np.tile(np.arange(len(ORDERS)), 2)))
    subject = subject_of(found)
    assert subject.word == "Biased"
    assert swing_example(found, subject, lambda _: "") is None


def test_a_judge_that_is_not_biased_has_no_example() -> None:
    found = made.findings(made.options_table({"j": made.by_quality}, items=40))
    subject = subject_of(found)
    assert swing_example(found, subject, lambda _: "") is None
    limits = ruled_out(subject)
    assert limits is not None
    assert limits.matters == 5
    assert 5 < limits.possible == pytest.approx(100 * subject.questions["positions"].high)
    beside = order_or_noise(subject)
    assert beside is not None
    assert (beside.other, beside.again) == ("0", "0")
    assert beside.title == "Is it the order, or just noise?"
    of_form = order_or_noise(replace(subject, variant="ids = letters"))
    assert of_form is not None
    assert of_form.title == "Is it the form, or just noise?"
    assert of_form.other_words == "in 100 scores changed in another form"


@pytest.mark.thorough
def test_orders_show_measured_means_and_scores() -> None:
    """The scores of 1 to 5 and of 5 to 1 are 5 for all 60 answers, though a fitted line rises."""
    found = recorded("example")
    subject = subject_of(found)
    measured = order_means(found.judgments.arms[subject.condition])
    assert measured is not None
    assert measured.scores.shape == (60, 10)
    assert measured.orders[measured.harshest] == "3 4 5 1 2"
    shown = mean_by_order(subject, measured)
    assert shown.picture is not None
    means = {point.label: point.text for point in shown.picture.points}
    assert (means["3 4 5 1 2"], means["5 4 3 2 1"], means["2 3 4 5 1"]) == ("3.97", "5.00", "4.17")
    assert sum(point.decided for point in shown.picture.points) == 2
    assert "1.03" in shown.note
    assert "1.00" in shown.note
    reversed_list = two_orders(subject, measured, measured.ascending, measured.descending)
    assert "0 of 60 answers changed" in reversed_list.note
    assert reversed_list.picture is not None
    assert [(line.name, line.group) for line in reversed_list.picture.series] == [("5 to 5", "60")]
    widest = two_orders(subject, measured, measured.harshest, measured.orders.index("5 4 3 2 1"))
    assert widest.picture is not None
    lines = {line.name: (line.group, line.points[0].decided) for line in widest.picture.series}
    assert lines == {"3 to 5": ("31", True), "5 to 5": ("29", False)}
    for drawn in (shown.picture, widest.picture):
        assert draw(drawn).data


def test_means_of_orders_are_over_the_same_answers() -> None:
    score = np.full((20, 2 * len(ORDERS)), 3.0)
    score[0, :] = np.nan
    score[1, [0, 10]] = np.nan  # this answer lacks one order
    measured = order_means(findings(options(score, ORDERS)).judgments.arms[0])
    assert measured is not None
    assert len(measured.scores) == 18


def test_the_dotted_line_is_the_pass_rate_that_with_people_says() -> None:
    """Of 20 answers, people pass 12 and fail 4, and are evenly divided about 4."""
    ratings = [{"one": 1.0, "two": 1.0}] * 12 + [{"one": 0.0, "two": 0.0}] * 4
    ratings += [{"one": 1.0, "two": 0.0}] * 4
    score = np.random.default_rng(3).integers(0, 2, (20, 4)).astype(float)
    table = options(score, [[0, 1], [1, 0]], scores=(0, 1), ratings=ratings)
    found = findings(table)
    subject = subject_of(found)
    shown = first_picture(found, subject, subject.condition)
    (row,) = found.select("people_pass", topic="pass_fail")
    assert row.value == 12 / 16
    assert shown.picture is not None
    assert shown.picture.target == row.value
    assert "people pass 75.0%" in shown.note
    chosen = findings(table, reading=ReadingPart(labels="by label"))
    shown = first_picture(chosen, subject_of(chosen), subject.condition)
    assert "people pass" not in shown.note, "so many passes were labelled on purpose"
