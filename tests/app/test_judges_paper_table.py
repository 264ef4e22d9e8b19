"""Draw judges by data sets as papers print them: measures, order of lines, links, and files."""

import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.app.judges_paper_table import _sorted
from rubriclab.core.topic import Findings
from rubriclab.exports.paper_table import paper_table
from rubriclab.model.judgment import Condition
from rubriclab.model.study import PaperPart
from rubriclab.words.paper_grid import SUMMARIES
from tests.app.conftest import HOSTILE, Lab, healthy, kept, texts
from tests.figures.several import chosen, criteria, scored
from tests.words import made

VIEW = {"tab": "Judges", "view": "Judges × data sets"}
PAPER = PaperPart(
    table="Table 2",
    measure="cramers_v",
    numbers={"GPT-4": {"Stories": 0.123}, "o9": {"Mails": 0.456}},
)


def table_of(app: AppTest) -> str:
    """The HTML of the page's table, without what only phones show."""
    (html,) = [part.proto.body for part in app.get("html") if 'class="paper"' in part.proto.body]
    return str(html).partition('<div class="paper-one">')[0]


def rows_of(html: str) -> list[list[str]]:
    """The cells of a table's lines as texts, a line break between our number and the paper's."""
    rows = []
    for line in re.findall(r"<tr.*?</tr>", html):
        cells = re.findall(r"<t[hd].*?</t[hd]>", line)
        texts_of = [re.sub(r"<[^>]+>", "", cell.replace("<small>", "\n")) for cell in cells]
        rows.append([unescape(text) for text in texts_of])
    return rows


@pytest.mark.thorough
@pytest.mark.papers(15, 74)
def test_every_number_of_the_table_is_on_the_page_with_the_papers_below_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings = scored(2, 2)
    run = kept(findings.judgments.table)
    monkeypatch.setattr(type(state.kept(run)), "papers", [PAPER])
    app = healthy(lab("results", run=run, **VIEW))
    assert "Judges by data sets" in texts(app)
    measures = ["chi2", "position_share:1", "position_share:3", "cramers_v", "pearson"]
    table = paper_table(findings, measures, papers=[PAPER])
    next(toggle for toggle in app.toggle if toggle.label == "Show 95% CI").set_value(True)
    over, under, *lines = rows_of(table_of(healthy(app.run())))
    assert over == ["", "Mean", "p < 0.05", "stories", "mails"]
    summed = sum(column.over in SUMMARIES for column in table.about)
    assert under[0] == "Judge"
    assert under[1 + summed : 6 + summed] == ["χ²", "Pos 1", "Pos 3", "V", "r"]
    first = [cell.brief if cell else "" for cell in table.lines[0][1]]
    shown = [cell.partition("\n")[0] for cell in lines[0][1:]]
    assert shown == first[-summed:] + first[:-summed]
    # The paper's number is on the paper's line, and our interval on a line of its own, named too.
    heads = lines[0][0].split("\n")
    assert heads == ["gpt-4", "GPT-4 (paper)", "95% CI"]
    with_interval = [cell.split("\n") for cell in lines[0][1:] if " to " in cell]
    assert with_interval
    assert all(cell[heads.index("95% CI")].count(" to ") == 1 for cell in with_interval)
    assert lines[0][4 + summed].split("\n")[heads.index("GPT-4 (paper)")] == "0.123"
    assert "In brackets" not in texts(app)
    named = [line[0].partition("\n")[0] for line in lines[1:]]
    assert named == ["gpt-4o", "o9 (paper)", "Mean", over[2]]
    assert "gpt-4 = GPT-4 in the paper" in texts(app)
    assert "Not matched with a judge in the paper: gpt-4o." in texts(app)
    assert 'href="?run=' in table_of(app)
    assert {button.label for button in app.get("download_button")} >= {"CSV", "LaTeX"}


def test_lines_are_sorted_by_a_column_and_each_keeps_the_papers() -> None:
    findings = scored(3)
    numbers = {"GPT-4": {"stories": 0.1}, "o9": {"stories": 0.2}}
    paper = PAPER.model_copy(update={"numbers": numbers})
    table = paper_table(findings, "cramers_v", papers=[paper])
    names = [key[0] for key, _ in table.lines]
    assert names == ["gpt-4", "GPT-4 (paper)", "gpt-4o", "o1-mini", "o9 (paper)", "Mean"]
    values = [cells[0].value for _, cells in table.lines if cells[0]]
    assert values[0] < values[2] < values[3]  # the judges lean more and more, by design
    assert _sorted(table, None) == [[0, 1], [2], [3], [4], [5]]
    assert _sorted(table, 0) == [[3], [2], [0, 1], [4], [5]]


@pytest.mark.thorough
@pytest.mark.papers(31, 32, 45)
@pytest.mark.parametrize(
    ("findings", "heads"),
    [
        (chosen(2), ["PC", "SD of PC", "PF", "Error"]),
        (criteria(2), ["Friedman", "Delta Pos"]),
        (scored(1, 4), ["χ²", "Pos 1", "Pos 3", "V", "r"]),
        (scored(15, 1), ["χ²", "Pos 1", "Pos 3", "V", "r"]),
    ],
    ids=["pairs", "criteria", "four data sets", "fifteen judges"],
)
def test_each_kind_of_run_opens_with_the_papers_measures(
    findings: Findings, heads: list[str], lab: Lab
) -> None:
    app = healthy(lab("results", run=kept(findings.judgments.table), **VIEW))
    html = table_of(app)
    assert [head for head in heads if f">{head}</th>" not in html] == []
    assert not re.search(r"condition \d", html)


@pytest.mark.thorough
@pytest.mark.papers(31, 32)
def test_means_stand_before_the_data_sets_they_are_of(lab: Lab) -> None:
    """The table is wider than the page: what sums it up must not be out of sight."""
    app = healthy(lab("results", run=kept(scored(3, 4).judgments.table), **VIEW))
    over = rows_of(table_of(app))[0]
    sets = ["stories", "mails", "notes", "news"]
    assert over[-4:] == sets
    assert "Mean" in over[:-4]


def test_names_from_outside_are_shown_as_they_are(lab: Lab) -> None:
    rules = {HOSTILE: made.mostly_first, "b|c": made.by_quality}
    app = healthy(lab("results", run=kept(made.options_table(rules, items=12)), **VIEW))
    html = table_of(app)
    assert "<img" not in html
    assert "&lt;img" in html


def test_one_judge_with_several_forms_has_the_table_among_its_forms(lab: Lab) -> None:
    levels = [
        Condition("a", "A", "balanced", variant={"temperature": level}) for level in (0.0, 1.0)
    ]
    found = made.several(*levels, rules={"a": made.mostly_first})
    html = table_of(healthy(lab("results", run=kept(found.judgments.table), **VIEW)))
    assert rows_of(html)[0] == ["", "0", "1"]  # levels side by side, several measures below each


@pytest.mark.thorough
@pytest.mark.papers(67)
def test_other_judges_are_yardsticks_where_they_are_chosen(lab: Lab) -> None:
    run = kept(scored(3).judgments.table)
    app = healthy(lab("results", run=run, **VIEW))
    yardsticks = next(box for box in app.multiselect if box.label == "r and rho with")
    yardsticks.set_value(["people", "against=gpt-4o"])
    html = table_of(healthy(app.run()))
    assert ">r</th>" in html
    assert ">r with gpt-4o</th>" in html
