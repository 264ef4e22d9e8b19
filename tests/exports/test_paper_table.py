"""Any measure as papers print it: judges by data sets, factors, criteria; means, marks, a paper's
own numbers.
"""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.core.estimate import plain
from rubriclab.core.topic import Row
from rubriclab.exports.paper_table import paper_table
from rubriclab.model.judgment import Condition
from rubriclab.model.study import PaperPart
from rubriclab.model.text import LabError
from rubriclab.words.paper_grid import NOT_SIGNIFICANT, OPEN, SMALL, VOID, axes_of, numbers_of
from tests.words import made


def rows_only(conditions: list[Condition], rows: list[Row]) -> Any:
    """Findings of given rows."""

    class Given:
        def select(self, measure: str | None = None, **_: Any) -> list[Row]:
            return [row for row in rows if measure in (None, row.measure)]

    given = Given()
    given.rows, given.conditions = rows, tuple(conditions)  # type: ignore[attr-defined]
    return given


def number_row(
    measure: str, condition: int, value: float, why: str = "as_in_paper", **of: Any
) -> Row:
    return Row(measure, plain(value, why), of, topic="made", condition=condition, unit="item")


DATA = [
    Condition(judge, data, "balanced", scores=(1.0, 2.0))
    for judge in ("j", "k")
    for data in ("A", "B")
]


@pytest.mark.papers(22)
def test_means_over_data_sets_and_judges_are_unweighted() -> None:
    values = (0.10, 0.30, 0.20, 0.60)  # j: A, B; k: A, B
    rows = [number_row("cramers_v", code, value) for code, value in enumerate(values)]
    table = paper_table(rows_only(DATA, rows), "cramers_v")
    assert table.columns == ("A", "B", "Mean")
    shown = table.frame().to_numpy().tolist()
    # j: (.1 + .3) / 2 = .2; k: (.2 + .6) / 2 = .4; judges: A (.1 + .2) / 2 = .15, B .45, of the
    # means .3. No verdict stands beside these rows: every number is left open.
    assert shown == [
        ["j", f"0.100{OPEN}", f"0.300{OPEN}", "0.200"],
        ["k", f"0.200{OPEN}", f"0.600{OPEN}", "0.400"],
        ["Mean", "0.150", "0.450", "0.300"],
    ]
    assert any("unweighted" in line for line in table.legend)


def test_no_mean_where_a_number_lacks_or_is_a_statistic() -> None:
    lacking = paper_table(
        rows_only(DATA, [number_row("cramers_v", code, 0.1) for code in (0, 1, 2)]), "cramers_v"
    )
    assert lacking.columns == ("A", "B", "Mean")
    assert list(lacking.frame()["Mean"]) == [
        "0.100",
        "",
        "",
    ]  # k has no B, so the judges have no mean of it either
    assert list(lacking.frame()["B"]) == [f"0.100{OPEN}", "", ""]
    statistic = [number_row("chi2", code, 9.0, "statistic") for code in range(4)]
    assert paper_table(rows_only(DATA, statistic), "chi2").columns == ("A", "B")


@pytest.mark.papers(74)
def test_a_papers_numbers_stand_below_the_judge_of_their_name() -> None:
    rows = [number_row("cramers_v", code, 0.1) for code in range(4)]
    numbers = {"j": {"A": 0.12}, "GPT": {"B": 0.5}}
    paper = PaperPart(
        table="Table 2", measure="cramers_v", numbers=numbers, note="Descriptions in other words."
    )
    other = PaperPart(
        table="Table 4", measure="cramers_v", across="scale", numbers={"j": {"A": 0.9}}
    )
    table = paper_table(rows_only(DATA, rows), "cramers_v", papers=[paper, other])
    assert "(paper): Table 2. Descriptions in other words." in table.legend
    frame = table.frame()
    assert list(frame["Judge"]) == ["j", "j (paper)", "k", "GPT (paper)", "Mean"]
    assert list(frame["A"]) == [
        f"0.100{OPEN}",
        "0.120",
        f"0.100{OPEN}",
        "",
        "0.100",
    ]  # the mean is of ours alone
    assert frame["B"][3] == "0.500"


def test_criteria_as_columns_have_mean_largest_and_how_many_tests_reject() -> None:
    one = [Condition("j", "A", "balanced", "criteria", targets=("Tone", "Facts"))]
    rows = [
        number_row("delta_pos", 0, 0.2, target="Tone"),
        number_row("delta_pos", 0, 0.5, target="Facts"),
    ]
    table = paper_table(rows_only(one, rows), "delta_pos", across="target")
    assert table.columns == ("Tone", "Facts", "Mean", "Largest")
    assert [cell.text for cell in table.lines[0][1] if cell][2:] == [
        "0.35",
        "0.50",
    ]  # (.2 + .5) / 2
    tests = [
        replace(number_row("friedman", 0, 9.0, "statistic", target=name), test=("Friedman", p))
        for name, p in (("Tone", 0.01), ("Facts", 0.3))
    ]
    table = paper_table(rows_only(one, tests), "friedman", across="target")
    assert [cell.text for cell in table.lines[0][1] if cell] == [
        "9.00 p\u00a0=\u00a00.010",
        f"9.00{NOT_SIGNIFICANT} p\u00a0=\u00a00.30",
        "1 of 2",
    ]


@pytest.mark.papers(25, 27, 28, 29, 68)
def test_levels_of_a_factor_are_columns_in_order_and_lines_of_other_factors_are_left_out() -> None:
    def condition(**changed: Any) -> Condition:
        return Condition(
            "j", "A", "balanced", variant={"temperature": 0.0, "ids": "arabic"} | changed
        )

    conditions = [
        condition(),
        condition(temperature=1.0),
        condition(temperature=0.5),
        condition(ids="letters"),
    ]
    rows = [number_row("cramers_v", code, value) for code, value in enumerate((0.1, 0.3, 0.2, 0.9))]
    by_temperature = paper_table(rows_only(conditions, rows), "cramers_v", across="temperature")
    assert by_temperature.columns == ("0", "0.5", "1")  # levels are not averaged
    # A shift from the default says its level; a variant's verdict does not take the cell of the
    # orders' own.
    shifts = [
        number_row("variant_shift", k, 0.1 * k, variant=f"temperature = {k / 2:g}") for k in (1, 2)
    ]
    letters = number_row(
        "variant_shift", 3, 0.9, variant="ids = letters"
    )  # at the temperature that is no column of it
    by_level = paper_table(rows_only(conditions, shifts), "variant_shift", across="temperature")
    assert by_level.columns == ("0.5", "1")
    single = paper_table(
        rows_only(conditions, [shifts[1], letters]), "variant_shift", across="temperature"
    )
    assert (single.columns, len(single.lines)) == (("0.5",), 1)
    own = [number_row("moves_mean", code, 0.1) for code in range(3)]
    form = number_row("moves_mean", 1, 0.9, variant="temperature = 1")
    by_order = paper_table(rows_only(conditions, [*own, form]), "moves_mean", across="temperature")
    assert {cell.value for _, cells in by_order.lines for cell in cells if cell} == {0.1}
    assert [cell.value for cell in by_temperature.lines[0][1] if cell] == [0.1, 0.2, 0.3]
    assert len(by_temperature.lines) == 1
    by_labels = paper_table(rows_only(conditions, rows), "cramers_v", across="ids")
    assert by_labels.columns == ("arabic", "letters")
    assert [cell.value for cell in by_labels.lines[0][1] if cell] == [0.1, 0.9]


def test_pairs_are_void_where_replies_or_repetitions_fail() -> None:
    pairs = [
        Condition(judge, "A", "balanced", "pairs", positions=2)
        for judge in ("good", "mute", "moody")
    ]
    rows = [number_row("cramers_v", code, 0.7) for code in range(3)]
    limits = [
        number_row(name, code, value)
        for name, values in (("error_rate", (0.01, 0.4, 0.0)), ("rs", (0.95, 0.95, 0.6)))
        for code, value in enumerate(values)
    ]
    given = rows_only(pairs, rows + limits)
    table = paper_table(given, "cramers_v")
    assert [cell.marks for _, cells in table.lines for cell in cells if cell] == [
        OPEN,
        OPEN + VOID,
        OPEN + VOID,
    ]
    assert any("name no winner" in line for line in table.legend)
    assert "Mean" not in set(table.frame()["Judge"])


def test_fairness_says_what_its_sign_means_and_shares_have_a_decimal() -> None:
    pairs = [Condition("j", "A", "balanced", "pairs")]
    rows = [number_row("pc", 0, 0.815), number_row("pf", 0, -0.25)]
    removed = number_row("aic_removed", 0, 3.0, term="quality_gap")
    table = paper_table(rows_only(pairs, rows), ["pc", "pf"])
    assert table.columns == ("Position consistency (PC)", "Preference fairness (PF)")
    assert [cell.text.rstrip(OPEN) for cell in table.lines[0][1] if cell] == [
        "81.5%",
        "\u22120.250",
    ]
    assert (
        "PF: plus, the later position is preferred (recency); minus, the earlier one (primacy)."
        in table.legend
    )
    table = paper_table(rows_only(pairs, [removed]), "aic_removed", across="term")
    assert table.columns == ("without the quality gap",)


@pytest.mark.papers(15)
def test_what_the_verdicts_leave_open_is_marked_and_the_rest_is_not() -> None:
    rules = {"first": made.always_first, "steady": made.by_quality}
    two = [Condition(judge, "A", "balanced") for judge in rules]
    found = made.several(*two, rules=rules)
    table = paper_table(found, ["cramers_v", "position_share:1"])
    assert table.columns == ("Cramér's V, as in the paper", "Share of each position (1)")
    marks = [[cell.marks for cell in cells if cell] for _, cells in table.lines]
    assert marks[0] == ["", ""]
    # 12 items that never move: the gate is closed, and Clopper-Pearson leaves up to .22 of lean
    # open.
    assert marks[1] == [OPEN, OPEN]
    words = {row.condition: row.verdict for row in found.select("favours_positions")}
    assert words == {0: "effect", 1: "undecided"}
    many = made.findings(made.options_table({"steady": made.by_quality}, items=120))
    assert [cells[0].marks for _, cells in paper_table(many, "cramers_v").lines if cells[0]] == [
        SMALL
    ]


def test_every_number_is_the_rows_own_and_strategies_are_lines_where_asked() -> None:
    two = [Condition("j", "A", "balanced"), Condition("j", "A", "random")]
    found = made.several(*two, rules={"j": made.mostly_first})
    row = found.select("line", condition=0)[0]
    cell = paper_table(found, "line").lines[0][1][0]
    assert cell.row is row
    assert (cell.value, *row.interval) == tuple(
        paper_table(found, "line").numbers().loc[0, ["value", "low", "high"]]
    )
    table = paper_table(found, "line", by_strategy=True)
    assert table.heads == ("Judge", "Ordering strategy")
    assert list(table.frame()["Ordering strategy"]) == ["balanced", "random"]
    assert paper_table(found, "line", across="strategy").columns == ("balanced", "random")


def test_what_is_not_settled_is_asked_for() -> None:
    found = made.several(Condition("j", "A", "balanced"))
    with pytest.raises(
        LabError, match=r"which number of position_share is .*position=1; position=2; position=3"
    ):
        paper_table(found, "position_share")
    with pytest.raises(LabError, match="no measure “nonsense”"):
        paper_table(found, "nonsense")
    with pytest.raises(
        LabError, match="No columns can be made of “colour”; expected one of dataset, strategy, pos"
    ):
        paper_table(found, "line", across="colour")
    assert numbers_of(found, "position_share", "dataset") == [
        "position=1",
        "position=2",
        "position=3",
    ]
    assert numbers_of(found, "position_share", "position") == []
    assert axes_of(found)[:2] == ["dataset", "strategy"]
    both = paper_table(found, "position_given_score:score=1", across="position")
    assert both.columns == ("1", "2", "3")


def test_files_of_a_table() -> None:
    name = "a_judge <b>\r\n\n\x1b]0;x\x07\u202eb"
    table = paper_table(
        made.several(Condition(name, "A & B\n| e", "balanced"), rules={name: made.mostly_first}),
        "line",
    )
    for text in (
        table.latex(),
        table.markdown(),
    ):  # names stay on their line and hold no signs of control
        assert not {"\x1b", "\u202e"} & {*text}
        assert any("u202e" in line and "(" in line for line in text.split("\n"))
    tex = table.latex()
    assert r"a\_judge" in tex
    assert r"A \& B" in tex
    assert "\u2212" not in tex
    numbers = table.numbers()
    assert list(numbers.columns) == [
        "Judge",
        "column",
        "value",
        "low",
        "high",
        "level",
        "p",
        "marks",
        "why",
    ]
    said = json.loads(json.dumps(table.document(), allow_nan=False))
    assert said["cells"][0]["value"] == pytest.approx(numbers["value"][0])
    assert "a_judge <b>" in table.text()


def test_one_measure_of_a_run_without_a_number_is_a_dash_with_its_reason() -> None:
    table = paper_table(
        made.findings(made.options_table({"j": lambda *_: None}, items=3)), "cramers_v"
    )
    cell = table.lines[0][1][0]
    assert cell.text == f"–{OPEN}"
    assert list(table.numbers()["why"]) == ["No reply could be parsed."]
    assert math.isnan(cell.value)
