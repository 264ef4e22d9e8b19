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
from rubriclab.data.sample import presets
from rubriclab.exports.paper_table import paper_table
from rubriclab.model.judgment import Condition
from rubriclab.model.study import PaperPart, read_study
from rubriclab.model.text import LabError
from rubriclab.words.paper_grid import (
    NOT_SIGNIFICANT,
    OPEN,
    REJECTED,
    SMALL,
    VOID,
    axes_of,
    numbers_of,
    yardsticks_of,
)
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


def share_row(code: int, share: float, low: float, high: float) -> Row:
    """The share of position 1 with an interval given by hand."""
    return Row(
        "position_share", plain(share, "counted"), {"position": 1}, condition=code, ends=(low, high)
    )


def chi2_row(code: int, value: float, p: float) -> Row:
    return replace(number_row("chi2", code, value, "statistic"), test=("chi-square", p))


def side_by_side() -> Any:
    """Chi-square and the share of position 1 of two positions, of two judges on two data sets."""
    two = [replace(condition, positions=2) for condition in DATA]
    tests = [chi2_row(code, 4.0 + code, p) for code, p in enumerate((0.04, 0.30, 0.02, 0.01))]
    shares = [
        share_row(0, 0.60, 0.51, 0.69),
        share_row(1, 0.55, 0.45, 0.65),
        share_row(2, 0.40, 0.31, 0.49),
        share_row(3, 0.50, 0.40, 0.60),
    ]
    return rows_only(two, [*tests, *shares])


@pytest.mark.papers(15)
def test_measures_stand_side_by_side_below_each_data_set() -> None:
    table = paper_table(side_by_side(), ["chi2", "position_share:1"])
    assert [(column.over, column.under) for column in table.about] == [
        ("A", "χ²"),
        ("A", "Pos 1"),
        ("B", "χ²"),
        ("B", "Pos 1"),
        ("Mean", "Pos 1"),
        (REJECTED, "χ²"),
    ]
    # j's chi-square: p = 0.04 and 0.30, one below 0.05; k's: 0.02 and 0.01, both. On A (0.04, 0.02)
    # both reject, on B (0.30, 0.01) one. Shares: j (60 + 55) / 2 = 57.5, k (40 + 50) / 2 = 45.
    # No verdict stands beside the shares: each is left open. Chi-square has a mark of its own p.
    assert table.frame().to_numpy().tolist() == [
        ["j", "4.00", f"60.0%{OPEN}", f"5.00{NOT_SIGNIFICANT}", f"55.0%{OPEN}", "57.5%", "1 of 2"],
        ["k", "6.00", f"40.0%{OPEN}", "7.00", f"50.0%{OPEN}", "45.0%", "2 of 2"],
        ["Mean", "", "50.0%", "", "52.5%", "51.2%", ""],
        [REJECTED, "2 of 2", "", "1 of 2", "", "", ""],
    ]
    # Bold: (51, 69) and (31, 49) leave out an even share of 50%, (45, 65) and (40, 60) do not.
    bold = [[cell.bold for cell in cells if cell] for _, cells in table.lines[:2]]
    assert bold == [
        [False, True, False, False, False, False],
        [False, True, False, False, False, False],
    ]
    assert "leaves out an even share" in table.emphasis
    assert any("χ² takes calls as independent" in line for line in table.legend)
    assert any("Pos 1: Share of each position (1)" in line for line in table.legend)


@pytest.mark.papers(15)
def test_files_of_measures_side_by_side() -> None:
    paper = PaperPart(table="Table 2", measure="chi2", numbers={"J": {"a": 9.5}, "L": {"B": 1.5}})
    shares = PaperPart(table="Pos1", measure="position_share:1", numbers={"J": {"B": 0.6}})
    table = paper_table(side_by_side(), ["chi2", "position_share:1"], papers=[paper, shares])
    tex = table.latex()
    assert r"\multicolumn{2}{c}{A} & \multicolumn{2}{c}{B}" in tex
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in tex
    assert r"Judge & $\chi^2$ & Pos 1" in tex
    assert r"\textbf{60.0\%$^{\circ}$}" in tex
    grey = r"\textcolor{gray}{\footnotesize "
    # The paper's second line: chi-square on A, nothing, nothing, the share on B.
    own = rf"\quad {grey}J (paper)}} & {grey}9.50}} &  &  & {grey}60.0\%}} &"
    assert own in tex
    other = rf"{chr(10)}{grey}L (paper)}} &"  # a judge that the run lacks stands apart
    assert rf"\midrule{other}" in tex
    assert tex.index(r"\midrule" + other) > tex.index("\nk &")
    assert "Needs \\usepackage{booktabs} and \\usepackage{xcolor}." in tex
    assert table.markdown().count("**60.0%") == 1
    numbers = table.numbers()
    assert list(numbers.columns)[:4] == ["Judge", "column", "measure", "value"]
    mine = numbers[(numbers["Judge"] == "j") & (numbers["column"] == "A")]
    assert list(mine["measure"]) == ["chi2", "position_share:1"]
    assert mine["p"].iloc[0] == 0.04
    assert mine["low"].iloc[1] == 0.51
    assert {"measure", "low", "p"} <= set(table.document()["cells"][0])
    assert "A" in table.text().splitlines()[1]
    assert "Pos 1" in table.text().splitlines()[2]


@pytest.mark.papers(74)
def test_what_was_matched_what_was_not_and_what_the_paper_lacks_are_told_apart() -> None:
    conditions = [
        Condition(judge, data, "balanced", scores=(1.0, 2.0))
        for judge in ("openai/gpt-oss-20b", "gpt-4o-2024-05-13", "gpt-4o-mini", "my-judge-7b")
        for data in ("hanna", "Topical-Chat")
    ]
    rows = [number_row("cramers_v", code, 0.1) for code in range(len(conditions))]
    rows += [number_row("v_without_noise", code, 0.1) for code in range(len(conditions))]
    numbers = {"GPT-OSS-20B": {"HANNA": 0.2}, "GPT-4o": {"HANNA": 0.3}}
    paper = PaperPart(table="Table 2", measure="cramers_v", numbers=numbers)
    given = rows_only(conditions, rows)
    table = paper_table(given, ["cramers_v", "v_without_noise"], papers=[paper])
    assert (
        "Matched: hanna = HANNA in the paper; openai/gpt-oss-20b = GPT-OSS-20B in the paper; "
        "gpt-4o-2024-05-13 = GPT-4o in the paper." in table.legend
    )
    assert "Not matched with a judge in the paper: gpt-4o-mini; my-judge-7b." in table.legend
    lacking = "The study file has no number of the paper for: Topical-Chat; V without noise."
    assert lacking in table.legend
    names = [key[0] for key, _ in table.lines]
    assert names[:4] == [
        "openai/gpt-oss-20b",
        "GPT-OSS-20B (paper)",
        "gpt-4o-2024-05-13",
        "GPT-4o (paper)",
    ]
    assert not any("paper" in line for line in paper_table(given, "cramers_v").legend)


@pytest.mark.papers(74)
def test_a_papers_judge_stands_below_each_of_ours_that_it_means() -> None:
    conditions = [
        Condition(judge, "A", "balanced") for judge in ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06")
    ]
    rows = [number_row("cramers_v", code, 0.1) for code in range(2)]
    paper = PaperPart(table="Table 2", measure="cramers_v", numbers={"GPT-4o": {"A": 0.3}})
    table = paper_table(rows_only(conditions, rows), "cramers_v", papers=[paper])
    assert [key[0] for key, _ in table.lines][:4] == [
        "gpt-4o-2024-05-13",
        "GPT-4o (paper)",
        "gpt-4o-2024-08-06",
        "GPT-4o (paper)",
    ]


@pytest.mark.papers(74)
def test_another_number_of_items_than_the_papers_is_said() -> None:
    found = made.several(Condition("j", "hanna", "balanced"), items=12)
    paper = PaperPart(
        table="Table 2", measure="cramers_v", numbers={"j": {"HANNA": 0.3}}, items={"HANNA": 576}
    )
    table = paper_table(found, "cramers_v", papers=[paper])
    assert "hanna: 12 items here, 576 in the paper." in table.legend
    same = paper.model_copy(update={"items": {"HANNA": 12}})
    assert "items here" not in " ".join(paper_table(found, "cramers_v", papers=[same]).legend)


@pytest.mark.papers(66, 67)
def test_another_judge_is_a_yardstick_by_its_name() -> None:
    asked = [
        Condition(judge, data, "balanced") for data in ("A", "B") for judge in ("j", "gpt-4", "k")
    ]
    rows = []
    for code, (people, gold) in enumerate(
        ((0.5, 0.7), (0.6, None), (0.4, 0.8), (0.3, 0.9), (0.2, None), (0.1, 0.6))
    ):
        rows += [number_row(name, code, people) for name in ("pearson", "spearman")]
        if gold is not None:
            other = 3 * (code // 3) + 1
            rows += [number_row(name, code, gold, against=other) for name in ("pearson",)]
            rows.append(number_row("pearson", code, 0.0, against=3 * (code // 3) + 2 - code % 3))
    given = rows_only(asked, rows)
    table = paper_table(given, ["pearson", "spearman", "pearson:against=gpt-4"])
    assert [column.under for column in table.about[:3]] == ["r", "rho", "r with gpt-4"]
    frame = table.frame().set_index("Judge")
    assert list(frame.loc["j"])[:6] == ["+0.50", "+0.50", "+0.70", "+0.30", "+0.30", "+0.90"]
    assert list(frame.loc["gpt-4"])[:3] == ["+0.60", "+0.60", ""]
    assert yardsticks_of(given, "pearson") == ["against=gpt-4", "against=k", "against=j"]
    with pytest.raises(LabError, match="against=gpt-4; against=k; against=j"):
        paper_table(given, "pearson:against=nobody")


@pytest.mark.papers(25)
def test_levels_of_a_factor_have_a_mean_over_data_sets_and_the_papers_number_below_it() -> None:
    asked = [
        Condition("j", data, "balanced", variant={"scale": scale})
        for data in ("A", "B")
        for scale in (2, 5)
    ]
    values = (0.10, 0.20, 0.30, 0.60)
    rows = [number_row("cramers_v", code, value) for code, value in enumerate(values)]
    paper = PaperPart(
        table="Table 4", measure="cramers_v", across="scale", numbers={"J": {"2": 0.15, "5": 0.25}}
    )
    table = paper_table(rows_only(asked, rows), "cramers_v", across="scale", papers=[paper])
    # Scale 2: (.10 + .30) / 2 = .20; scale 5: (.20 + .60) / 2 = .40.
    assert table.frame().to_numpy().tolist() == [
        ["j", "A", f"0.100{OPEN}", f"0.200{OPEN}"],
        ["j", "B", f"0.300{OPEN}", f"0.600{OPEN}"],
        ["j", "Mean", "0.200", "0.400"],
        ["J (paper)", "Mean", "0.150", "0.250"],
    ]


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
    assert any("error rate of Shi et al. is above 20%" in line for line in table.legend)
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


THREE_STRATEGIES = [
    Condition(judge, "HANNA", strategy, scores=(1.0, 2.0))
    for judge in ("gpt-oss-20b", "gemma-3-27b-it")
    for strategy in ("balanced", "random", "fixed")
]


@pytest.mark.papers(23)
def test_columns_of_what_rows_are_compared_with_have_names_that_judges_share() -> None:
    """Conditions 0 to 2 are of one judge, 3 to 5 of the other: balanced less random, and less
    fixed, with what Xu et al. v2 print in Table 3 below each judge.
    """
    values = {(0, 1): 0.01, (0, 2): 0.02, (3, 4): 0.03, (3, 5): 0.04}
    rows = [
        number_row("pearson_difference", code, value, calls=10, against=against)
        for (code, against), value in values.items()
    ]
    (paper,) = [
        part for part in read_study(presets()["hanna-options"]).paper if part.across == "against"
    ]
    table = paper_table(
        rows_only(THREE_STRATEGIES, rows), paper.measure, across="against", papers=[paper]
    )
    assert table.columns == ("random", "fixed")
    lines = [(key[0], [cell.value for cell in cells if cell]) for key, cells in table.lines]
    assert lines[:4] == [
        ("gpt-oss-20b", [0.01, 0.02]),
        ("GPT-OSS-20B (paper)", [-0.002, -0.025]),
        ("gemma-3-27b-it", [0.03, 0.04]),
        ("Gemma-3-27B (paper)", [0.009, 0.07]),
    ]


@pytest.mark.parametrize(
    ("other", "column"),
    [
        (Condition("k", "A", "balanced", scores=(1.0, 2.0)), "k"),
        (Condition("j", "B", "balanced", scores=(1.0, 2.0)), "B"),
        (Condition("k", "B", "fixed", scores=(1.0, 2.0)), "k, B, fixed"),
        (Condition("j", "A", "balanced", scores=(1.0, 2.0)), "j (second)"),
    ],
)
def test_a_column_says_as_much_as_differs(other: Condition, column: str) -> None:
    rows = [number_row("pearson", 0, 0.5, against=1)]
    table = paper_table(rows_only([DATA[0], other], rows), "pearson", across="against")
    assert table.columns == (column,)


@pytest.mark.papers(36)
def test_table_7_has_a_line_for_each_of_several_judges() -> None:
    """tau-b and t1 side by side for each data set, with the paper's numbers below each judge."""
    two = [
        Condition(judge, "MT-Bench", strategy, scores=(1.0, 2.0))
        for judge in ("gpt-oss-20b", "gemma-3-27b-it")
        for strategy in ("balanced", "fixed")
    ]
    values = {"kendall_tau": (0.5, 0.6), "top1_changed": (0.1, 0.2)}
    rows = [
        number_row(measure, 2 * judge, value, against=2 * judge + 1)
        for measure, both in values.items()
        for judge, value in enumerate(both)
    ]
    papers = [
        part for part in read_study(presets()["mt-bench-options"]).paper if part.measure in values
    ]
    table = paper_table(rows_only(two, rows), list(values), papers=papers)
    lines = [(key[0], [cell.value for cell in cells if cell]) for key, cells in table.lines]
    assert lines[:4] == [
        ("gpt-oss-20b", [0.5, 0.1]),
        ("GPT-OSS-20B (paper)", [0.68, 0.238]),
        ("gemma-3-27b-it", [0.6, 0.2]),
        ("Gemma-3-27B (paper)", [0.77, 0.175]),
    ]
    assert [column.under for column in table.about] == ["tau-b", "t1"]
