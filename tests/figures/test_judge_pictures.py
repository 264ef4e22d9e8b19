"""Check the pictures of several judges: their numbers are the rows', and they can be drawn."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest

from rubriclab.core.joined import Side, joined
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import Word
from rubriclab.exports.table import picture_frame
from rubriclab.figures import charts
from rubriclab.figures import choice_pictures as choices
from rubriclab.figures import judge_pictures as scores
from rubriclab.figures.axis_pictures import axes_sentences, ways_beside
from rubriclab.figures.charts import draw
from rubriclab.figures.marks import DARK, LIGHT, Picture, Point, Series
from rubriclab.figures.pictures import Shown
from rubriclab.words.compact import hard_lines, win_lines
from rubriclab.words.phrases import row_text
from rubriclab.words.several import distinct_names, headline, is_biased, line, one_a_judge
from rubriclab.words.subject import Subject
from tests.figures.several import NAMES, chosen, criteria, scored
from tests.tables import findings
from tests.words import made

AGREE = ("judges_agree", "judges_agree_no_ties")
OF_SCORES: dict[str, Callable[[Findings], Shown]] = {
    "positions": lambda found: scores.positions_by_dataset(found),
    "positions by data set": lambda found: scores.positions_by_dataset(found, panel="dataset"),
    "strength": lambda found: scores.strength_by_dataset(found),
    "balancing": lambda found: scores.balancing_helps(found, "stories"),
    "fixed": lambda found: scores.balanced_against_fixed(found, "options", "stories"),
    "enough": lambda found: scores.orders_enough(found, "options", "stories"),
    "agreement": lambda found: choices.agreement_matrix(
        found, "stories", ("exact", "kappa_quadratic"), ("same", "kappa")
    ),
}
OF_CHOICES: dict[str, Callable[[Findings], Shown]] = {
    "tasks": lambda found: choices.by_task(found, "pairs"),
    "leans": lambda found: choices.by_task(found, "pairs", fairness=True, sort="name"),
    "fairness": lambda found: choices.fairness_plane(found, "pairs"),
    "disagreement": lambda found: choices.disagreement_steps(found, "pairs"),
    "agreement": lambda found: choices.agreement_matrix(found, "pairs", AGREE, ("a", "b")),
    "gap": lambda found: choices.quality_gap(found, "pairs"),
    "gap of preference": lambda found: choices.quality_gap(found, "pairs", "PF"),
    "gap of all": lambda found: choices.quality_gap_together(found, "pairs"),
    "baseline": lambda found: choices.against_baseline(found, "pairs"),
    "baseline of preference": lambda found: choices.against_baseline(found, "pairs", fairness=True),
}


def checked(picture: Picture) -> None:
    """The picture can be drawn in both themes, and every number is in its table."""
    for palette in (LIGHT, DARK):
        assert draw(picture, palette).data
    table = picture_frame(picture)
    shown = [point.text for point in picture.points if math.isfinite(point.value)]
    assert sorted(table["As written"].dropna().astype(str)) == sorted(
        point.text for point in picture.points
    )
    assert shown
    assert picture.alt
    said = "\n".join([picture.alt, *(part for point in picture.points for part in point.hover)])
    assert not re.search(r"condition \d", said)


@pytest.mark.thorough
@pytest.mark.papers(14, 16, 23, 24, 53)
@pytest.mark.parametrize(("judges", "datasets"), [(1, 4), (2, 1), (6, 1), (15, 1)])
@pytest.mark.parametrize("name", OF_SCORES)
def test_pictures_of_scores_are_drawn_for_few_and_many(
    name: str, judges: int, datasets: int
) -> None:
    found = scored(judges, datasets, items=8)
    shown = OF_SCORES[name](found)
    assert shown.title.startswith("**")
    if shown.picture is None:
        assert judges == 1  # nothing to compare
        return
    checked(shown.picture)


@pytest.mark.thorough
@pytest.mark.papers(49, 50, 51, 53, 54, 55, 57)
@pytest.mark.parametrize("judges", [1, 2, 6, 15])
@pytest.mark.parametrize("name", OF_CHOICES)
def test_pictures_of_choices_are_drawn_for_few_and_many(name: str, judges: int) -> None:
    shown = OF_CHOICES[name](chosen(judges))
    if shown.picture is None:
        assert judges == 1
        return
    checked(shown.picture)


@pytest.mark.thorough
@pytest.mark.papers(33)
@pytest.mark.parametrize("judges", [1, 2, 15])
def test_criteria_of_all_judges_share_one_scale(judges: int) -> None:
    found = criteria(judges)
    dataset = found.conditions[0].dataset
    picture = scores.criteria_of_judges(found, dataset).picture
    assert picture is not None
    checked(picture)
    assert len({panel.span for panel in picture.panels}) == 1
    rows = {
        (found.conditions[row.condition].judge, row.of["target"], row.of["position"]): row.value
        for row in found.select("position_shift")
        if "target" in row.of
    }
    for panel in picture.panels:
        for point in panel.points:
            key = (panel.title, point.of["target"], point.of["position"])
            assert point.value == rows[key]


@pytest.mark.thorough
@pytest.mark.papers(14)
def test_positions_are_the_rows_and_the_judge_that_leans_most_comes_first() -> None:
    found = scored(3, 2, items=40)
    picture = scores.positions_by_dataset(found).picture
    assert picture is not None
    assert [panel.title for panel in picture.panels] == ["o1-mini", "gpt-4o", "gpt-4"]
    assert [series.name for series in picture.panels[0].series] == ["stories", "mails"]
    subjects = one_a_judge(found, "options", "stories")
    (first,) = [subject for subject in subjects if subject.judge == "o1-mini"]
    rows = found.select("position_share", condition=first.condition)
    drawn = picture.panels[0].series[0].points
    assert [point.value for point in drawn] == [row.value for row in rows]
    assert drawn[0].decided
    assert drawn[0].of["judge"] == "o1-mini"
    assert "o1-mini" in picture.alt


@pytest.mark.thorough
def test_the_sentence_over_judges_counts_verdicts_and_says_that_each_is_alone() -> None:
    subjects = one_a_judge(scored(3, 2, items=40), "options", "stories")
    biased = sum(is_biased(subject) for subject in subjects)
    assert biased >= 2
    much = "all 3" if biased == 3 else "2 of 3"
    assert headline(subjects) == f"The order of the options matters for {much} judges"
    said = line(subjects)
    assert "o1-mini leans most: it favours position 1" in said
    assert "not corrected for the number of judges" in said


@pytest.mark.thorough
def test_pictures_of_positions_name_the_judges_that_they_leave_out() -> None:
    many = scores.positions_by_dataset(scored(15, 1, items=8))
    assert many.picture is not None
    drawn = {panel.title for panel in many.picture.panels}
    left = [name for name in NAMES if name not in drawn]
    assert len(left) == 3
    said = re.search(r"Not drawn: (.*) \(only 12 panels fit, and these lean least", many.note)
    assert said is not None
    assert set(re.split(r", | and ", said[1])) == set(left)
    lines = scores.positions_by_dataset(scored(15, 1, items=8), panel="dataset")
    assert "(only 6 lines fit in a panel)" in lines.note
    union = joined([Side("A", scored(2, 1), 0), Side("B", criteria(3), 2)]).findings
    positions = scores.positions_by_dataset(union)
    assert "Not drawn: o1-mini (no call lists score options)." in positions.note
    cells = scores.criteria_of_judges(union, criteria(3).conditions[0].dataset)
    assert "Mean gap: the mean of Delta Pos." in cells.note
    assert "The verdict's size takes the noise off" in cells.note
    assert "Not drawn: gpt-4 (no call about these answers lists criteria)." in cells.note
    assert "Not drawn" not in scores.positions_by_dataset(scored(2, 1)).note


@pytest.mark.papers(49, 54)
def test_families_stand_together_with_the_best_first() -> None:
    found = chosen(6)
    picture = choices.by_task(found, "pairs").picture
    assert picture is not None
    groups = [series.group.partition(" · ")[0] for series in picture.series]
    assert groups == ["GPT", "GPT", "GPT", "Claude", "Claude", "Gemini"]
    whole = {found.conditions[row.condition].judge: row.value for row in found.select("pc")}
    for series in picture.series:
        assert series.points[0].value == whole[series.name]
    (family,) = found.select("family_pc", family="gpt")
    mean = sum(whole[name] for name in ("gpt-4", "gpt-4o", "o1-mini")) / 3
    assert family.value == pytest.approx(mean)


@pytest.mark.papers(51)
def test_all_judges_together_have_the_cells_of_each_and_two_curves() -> None:
    """Three tasks by three pairs are nine cells a judge; each of four questions weighs one."""
    found = chosen(6)
    each, together = (
        shown.picture
        for shown in (
            choices.quality_gap(found, "pairs"),
            choices.quality_gap_together(found, "pairs"),
        )
    )
    assert each is not None
    assert together is not None
    (panel,) = together.panels
    marks, parabola, chance = panel.series
    assert len(marks.points) == 6 * 9
    assert {point.weight for point in marks.points} == {4.0}
    assert sorted(point.x for point in marks.points) == sorted(
        point.x for own in each.panels for point in own.series[0].points
    )
    level, slope, curvature = (row.value for row in found.select("parabola_of_all", outcome="PC"))
    z = parabola.points[0].x - 0.5
    assert parabola.points[0].value == pytest.approx(level + slope * z + curvature * z * z)
    of_chance = [row.counts["by_chance"] for row in found.select("parabola_of_all", outcome="PC")]
    assert chance.points[0].value == pytest.approx(
        sum(term * z**power for power, term in enumerate(of_chance))
    )
    assert (parabola.dash, chance.dash) == ("solid", "dash")
    assert "6 judges together" in together.alt


@pytest.mark.papers(51)
def test_the_quality_gap_of_15_judges_names_its_axes() -> None:
    picture = choices.quality_gap(chosen(15), "pairs").picture
    assert picture is not None
    assert len(picture.panels) == 15
    figure = draw(picture, LIGHT)
    assert figure.layout.yaxis.title.text == "PC"
    # A parabola ends at the panel's edge: consistency is a share.
    assert figure.layout.yaxis.range[1] <= 1.04
    assert figure.layout.yaxis.tickformat == figure.layout.xaxis.tickformat == ".0%"


@pytest.mark.papers(52)
def test_win_rates_are_one_line_a_model_with_its_gap() -> None:
    found = chosen(6)
    lines = win_lines(found, "pairs")
    assert sorted(line.candidate for line in lines) == ["alpha", "beta", "gamma"]
    rates = [row.value for row in found.select("win_rate", candidate=lines[0].candidate)]
    assert list(lines[0].by_judge.values()) == rates
    assert lines[0].mean == pytest.approx(sum(rates) / 6)
    assert lines[0].gap == pytest.approx(sum(rates) / 6 - 0.5)
    assert sum(line.gap for line in lines) == pytest.approx(0)


def test_the_area_of_a_mark_shows_its_weight() -> None:
    """40 comparisons beside 10: half the diameter; a mark of 1 keeps the smallest one."""
    points = [
        Point(name, 0.5, "50%", x=0.5, hover=("",), weight=weight)
        for name, weight in (("a", 40.0), ("b", 10.0), ("c", 1.0))
    ]
    panel = Picture("curves", (Series("cells", tuple(points)),), "")
    figure = draw(Picture("multiples", (), "", panels=(panel,)), LIGHT)
    assert list(figure.data[0].marker.size) == [8.0, 4.0, 3.0]


@pytest.mark.papers(55)
def test_disagreement_rises_to_all_comparisons() -> None:
    picture = choices.disagreement_steps(chosen(6), "pairs").picture
    assert picture is not None
    values = [point.value for point in picture.points]
    assert values == sorted(values)
    assert values[-1] == 1.0


@pytest.mark.papers(53)
def test_agreement_is_above_and_below_the_diagonal() -> None:
    found = chosen(3)
    picture = choices.agreement_matrix(found, "pairs", AGREE, ("all", "no ties")).picture
    assert picture is not None
    cells = {(line.name, p.label): p.value for line in picture.series for p in line.points}
    rows = {
        frozenset(
            (found.conditions[row.condition].judge, found.conditions[row.of["against"]].judge)
        ): row
        for row in found.select("judges_agree")
    }
    assert len(cells) == 6
    assert cells["gpt-4", "gpt-4o"] == rows[frozenset(("gpt-4", "gpt-4o"))].value
    assert "Most similar: gpt-4" in picture.alt


@pytest.mark.parametrize(
    "shown", [OF_SCORES["balancing"](scored(6, 1)), OF_CHOICES["fairness"](chosen(6))]
)
def test_a_plane_says_its_lowest_and_its_highest_mark(shown: Shown) -> None:
    assert shown.picture is not None
    low, *_, high = sorted(shown.picture.points, key=lambda point: point.value)
    ends = f": from {low.text} ({low.label}) to {high.text} ({high.label})."
    assert shown.picture.alt.endswith(ends)


def test_long_names_that_begin_alike_stay_apart() -> None:
    names = [f"a-judge-with-a-very-long-name-{number}-of-one-family" for number in range(3)]
    table = scored(3, items=8).judgments.table
    judges = dict(zip(("gpt-4", "gpt-4o", "o1-mini"), names, strict=True))
    conditions = tuple(replace(about, judge=judges[about.judge]) for about in table.conditions)
    shown = OF_SCORES["agreement"](findings(replace(table, conditions=conditions)))
    assert shown.picture is not None
    checked(shown.picture)
    assert len(set(shown.picture.levels)) == 3
    assert distinct_names(["x" * 30, "x" * 31], 24) == {
        "x" * 30: f"{'x' * 15}…{'x' * 8}",
        "x" * 31: f"{'x' * 15}…{'x' * 8} 2",
    }


@pytest.mark.papers(54)
def test_families_have_frames_and_the_last_name_has_room() -> None:
    """Plotly leaves out a label that would reach beyond the figure."""
    picture = choices.agreement_matrix(chosen(15), "pairs", AGREE, ("all", "no ties")).picture
    assert picture is not None
    # In the order of families: claude, deepseek, gemini, gpt (with o1), llama, mistral, phi, qwen
    assert picture.frames == (
        ("Claude", 0, 1),
        ("Gemini", 3, 4),
        ("GPT", 5, 7),
        ("Llama", 8, 9),
        ("Qwen", 12, 13),
    )
    figure = draw(picture, LIGHT)
    assert len(figure.layout.shapes) == len(picture.frames)
    assert figure.layout.margin.r >= 6 * len(picture.levels[-1])


@pytest.mark.papers(54)
def test_differences_of_shares_are_percentage_points() -> None:
    (row,) = chosen(6).select("family_difference")
    said = row_text(row)
    assert "%" not in said.replace("95%", "")
    assert "percentage points (" in said


@pytest.mark.papers(50)
def test_a_plane_keeps_directions_and_its_names_apart() -> None:
    shown = choices.fairness_plane(chosen(15), "pairs")
    assert shown.picture is not None
    # Each judge leans to the answer shown first, the later ones surely.
    assert {point.tone for point in shown.picture.points} == {-1.0, 0.0}
    assert "prefers the answer shown first" in shown.note
    figure = draw(shown.picture, LIGHT)
    assert set(figure.data[0].marker.symbol) == {"triangle-left", "circle"}
    names = figure.layout.annotations
    assert len(names) == 15
    boxes = []
    spots = charts.spots_of(shown.picture.points)
    for (x, y), name in zip(spots, names, strict=True):
        near, middle = x + name.ax, y - name.ay
        far = near + (1 if name.ax > 0 else -1) * charts.NAME_WIDE * len(name.text)
        boxes.append((min(near, far), max(near, far), middle - 6, middle + 6))
    assert not [(one, other) for one, other in combinations(boxes, 2) if charts.overlap(one, other)]


@pytest.mark.papers(55)
def test_hard_comparisons_say_what_was_shown_and_who_chose_it() -> None:
    hardest = hard_lines(chosen(6), "pairs")[0]
    first, second = hardest.shown.split(", then ")
    assert {first, second} < {"alpha", "beta", "gamma"}
    counts = dict(part.rsplit(" ", 1) for part in hardest.tally.split(" · "))
    assert set(counts) == {first, second}
    assert sum(map(int, counts.values())) == 6
    assert hardest.differ == f"{min(map(int, counts.values()))} of 6"


@pytest.mark.papers(24)
def test_the_band_over_subsets_is_not_called_an_interval() -> None:
    shown = scores.orders_enough(scored(2, 1), "options", "stories")
    assert "not a confidence interval" in shown.note
    assert "CI" not in "".join(part for point in shown.picture.points for part in point.hover)


@pytest.mark.papers(23)
def test_captions_with_people_name_only_what_is_drawn() -> None:
    """Without the fixed order nothing is compared, and no dotted line is drawn."""
    table = made.options_table({"one": made.mostly_first, "other": made.by_quality}, items=16)
    ratings = [{"a": float(1 + item % 3)} for item in range(len(table.items))]
    balanced = findings(replace(table, items=table.items.assign(ratings=ratings)))
    for found, dataset, compared in ((scored(2, 1), "stories", True), (balanced, "answers", False)):
        shown = scores.balanced_against_fixed(found, "options", dataset)
        assert shown.picture is not None
        assert ("Does balancing" in shown.title) == compared
        assert ("Green" in shown.note) == compared
        assert ("One ordering strategy was asked" in shown.note) != compared
        assert ("Dotted" in scores.orders_enough(found, "options", dataset).note) == compared


@pytest.mark.papers(23)
@pytest.mark.parametrize("judges", [1, 2])
def test_strips_of_one_line_keep_their_axis_above_the_legend(judges: int) -> None:
    """The legend lies 58 px below the panel, whose axis has its numbers there."""
    shown = scores.balanced_against_fixed(scored(judges, 1), "options", "stories")
    assert shown.picture is not None
    layout = draw(shown.picture, LIGHT).layout
    inside = layout.height - layout.margin.t - layout.margin.b
    assert inside >= 110
    assert layout.legend.y * inside == pytest.approx(-58)
    assert layout.legend.y > -2, "Plotly moves a legend that is further away"
    for sentence in re.findall(r"Balanced [^.]*\.", shown.note):
        assert "from people" in sentence or judges == 1
        assert "of 1 judge" not in sentence


@pytest.mark.papers(35)
def test_both_axes_have_their_limits_and_names_keep_off_intervals() -> None:
    """A judge may lean by 13 points where its criteria hardly move: that is not small on both."""
    points = [
        replace(Point("first", 0.42, "0.42", 0.4, 0.44), x=5.0, x_low=1.0, x_high=12.0),
        replace(Point("second", 0.1, "0.10", 0.0, 0.2), x=13.0, x_low=12.0, x_high=14.0),
    ]
    picture = scores.plane_of(points, "two", axes=("x", "y"), smallest=0.25, smallest_x=5.0)
    figure = draw(picture, LIGHT)
    filled = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert [(shape.x0, shape.x1, shape.y0, shape.y1) for shape in filled] == [(0, 5.0, 0, 0.25)]
    lines = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert {(shape.x0, shape.x1) for shape in lines} >= {(5.0, 5.0)}
    assert {(shape.y0, shape.y1) for shape in lines} >= {(0.25, 0.25)}
    across = charts.intervals_of(points)[0]
    (left, right, below, above) = across
    assert right - left == pytest.approx(560 * 11 / (13 + 2 * 0.06 * 13))
    assert above - below == 4


def with_word(subject: Subject, word: Word) -> Subject:
    """A subject whose verdict about positions has this word."""
    assert subject.verdicts is not None
    assert subject.positions is not None
    questions = {
        **subject.verdicts.questions,
        "positions": replace(subject.positions, word=word),
    }
    return replace(subject, verdicts=replace(subject.verdicts, questions=questions))


@pytest.mark.thorough
@pytest.mark.papers(35)
def test_judges_that_depend_on_one_axis_alone_share_a_sentence() -> None:
    free, leaning = (
        [with_word(subject, word) for subject in one_a_judge(scored(3), "options")]
        for word in ("equivalent", "effect")
    )
    said = axes_sentences([(leaning[k], free[k]) for k in range(3)])
    assert said == (
        "The position of a criterion does not matter to gpt-4, gpt-4o and o1-mini, but each of "
        "them leans to a position of the options."
    )
    alone = axes_sentences([(leaning[2], free[2]), (leaning[0], leaning[0])])
    assert alone.startswith("The position of a criterion does not matter to o1-mini, but it ")
    assert axes_sentences([(leaning[0], leaning[0])]) == ""


@pytest.mark.papers(1)
def test_ways_to_ask_are_lines_of_one_picture() -> None:
    shown = ways_beside(scored(2, 1), "stories")
    assert shown.picture is not None
    checked(shown.picture)
    assert shown.picture.levels == ("One answer, score options",)
    assert "agrees most with people" in shown.title


@pytest.mark.papers(1)
def test_ways_to_ask_speak_of_people_only_where_they_rated() -> None:
    table = scored(2, 1).judgments.table
    nobody = replace(table, items=table.items.assign(ratings=[None] * len(table.items)))
    shown = ways_beside(findings(nobody), "stories")
    assert shown.picture is not None
    assert [panel.title for panel in shown.picture.panels] == ["Another order, another result"]
    assert "people" not in shown.title + shown.note
    assert " r." not in shown.note
