"""Open the tab and view where docs/papers.md says that a row of the papers is seen."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab import api as notebook
from rubriclab.app import call_browser, state
from rubriclab.app.run_rows import judge_lines
from rubriclab.model.judgment import Condition, JudgmentTable
from tests.app.conftest import Lab, healthy, kept, texts
from tests.figures.several import chosen, criteria, orders_of_one, scored
from tests.test_docs import LINES
from tests.words import made

ROOT = Path(__file__).resolve().parents[2]
PLACES = {int(line[0]): line[3] for line in LINES}
"""Where each row is seen."""
WAYS = """
name = "Ways"
[[data]]
file = "{root}/data/sample-drafts.csv"
columns = {{ human = "intended_quality" }}
[rubric]
file = "{root}/data/rubrics/writing.yaml"
[design]
reorder = ["bare", "options", "criteria", "pairs"]
[[judges]]
name = "leaning"
kind = "simulated"
options = {{ first = 1.0 }}
"""


def several_scores(_: Path) -> JudgmentTable:
    return scored(3, 2).judgments.table


def several_choices(_: Path) -> JudgmentTable:
    return chosen(6).judgments.table


def several_criteria(_: Path) -> JudgmentTable:
    return criteria(2).judgments.table


def forms(_: Path) -> JudgmentTable:
    """Two judges with two kinds of score IDs, and with references of two scores; rated."""
    variants = [{"ids": ids, "reference": 0} for ids in ("arabic", "letters")]
    variants.append({"ids": "arabic", "reference": 3})
    asked = [
        Condition(judge, "answers", "balanced", variant=variant)
        for judge in ("one", "other")
        for variant in variants
    ]
    table = made.several(*asked, items=12).judgments.table
    ratings = [{"a": float(1 + k % 3)} for k in range(len(table.items))]
    return replace(table, items=table.items.assign(ratings=ratings))


def forms_of_one(_: Path) -> JudgmentTable:
    return orders_of_one().judgments.table


def levels(_: Path) -> JudgmentTable:
    asked = [
        Condition("judge-7b", "answers", "balanced", variant={"temperature": level})
        for level in (0.0, 0.5, 1.0)
    ]
    return made.several(*asked, items=24, rules={"judge-7b": made.mostly_first}).judgments.table


def ways(folder: Path) -> JudgmentTable:
    study = folder / "ways.toml"
    study.write_text(WAYS.format(root=ROOT), "utf-8")
    return notebook.run(study, folder / "ways.duckdb", items=12).table


RUNS: dict[str, Callable[[Path], JudgmentTable]] = {
    run.__name__: run
    for run in (
        several_scores,
        several_choices,
        several_criteria,
        forms,
        forms_of_one,
        levels,
        ways,
    )
}
SEEN: dict[int, tuple[str, str]] = {
    1: ("ways", "ways to ask suffers least from order"),
    8: ("several_scores", "Judges by data sets"),
    14: ("several_scores", "Which position does each judge pick"),
    15: ("several_scores", "Judges by data sets"),
    16: ("several_scores", "How strong is the bias"),
    17: ("several_scores", "Where each score was listed when it was chosen"),
    18: ("several_scores", "has the least Bias Cost"),
    19: ("several_scores", "Single orders"),
    20: ("several_scores", "Judges by data sets"),
    21: ("several_scores", "Single orders"),
    22: ("several_scores", "Judges by data sets"),
    23: ("several_scores", "Does balancing the orders bring judges closer"),
    24: ("several_scores", "How many orders are enough"),
    25: ("levels", "By temperature"),
    27: ("levels", "By temperature"),
    28: ("levels", "By temperature"),
    29: ("levels", "By temperature"),
    30: ("several_scores", "lean in one direction on all data sets"),
    31: ("several_criteria", "Judges by data sets"),
    32: ("several_criteria", "Judges by data sets"),
    33: ("several_criteria", "What does listing a criterion first do"),
    35: ("ways", "Cured on one axis, biased on the other"),
    36: ("several_scores", "Does another order change who wins"),
    37: ("several_scores", "best of N worth to people"),
    38: ("several_scores", "permutation tests at 5% (1,999 random permutations, seed 20240607)"),
    45: ("several_choices", "Judges by data sets"),
    46: ("several_choices", "The order of the two answers matters"),
    47: ("several_choices", "The order of the two answers matters"),
    48: ("several_choices", "The order of the two answers matters"),
    49: ("several_choices", "How consistent is each judge, task by task"),
    50: ("several_choices", "PF| against PC"),
    51: ("several_choices", "less consistent where answers are close"),
    52: ("several_choices", "Win rate of each model"),
    53: ("several_choices", "Which judges give the same answers"),
    54: ("several_choices", "Families of judges"),
    55: ("several_choices", "How far do 6 judges disagree"),
    56: ("several_choices", "The majority of all judges"),
    57: ("several_choices", "Every judge against gpt-4, task by task"),
    58: ("several_choices", "What goes along with consistency"),
    59: ("several_choices", "What goes along with consistency"),
    60: ("forms_of_one", "What does each form change, compared with the default"),
    67: ("forms", "Does the form of the rubric change agreement"),
    68: ("forms", "Which reference answer helps"),
    69: ("forms", "Which scores does each form bring out"),
    70: ("forms", "Does the form of the rubric change agreement"),
    72: ("forms", "Does the form of the rubric change agreement"),
    74: ("several_scores", "Judges by data sets"),
}
"""Row of the papers -> a run that has it, and what its view says of it."""
VIEWS = sorted({(SEEN[row][0], PLACES[row]) for row in SEEN})


def opened(lab: Lab, run: str, place: str) -> AppTest:
    """Open a place in Results, “Results, TAB” or “Results, Judges, VIEW”."""
    _, tab, *view = place.split(", ")
    query = {"run": run, "tab": tab}
    if view:
        query["view"] = view[0]
    return healthy(lab("results", **query))


@pytest.mark.thorough
@pytest.mark.parametrize(("run", "place"), VIEWS)
def test_every_row_is_seen_where_the_papers_list_says(
    lab: Lab, tmp_path: Path, run: str, place: str
) -> None:
    """Nothing is opened but the tab and the view: no fold, no list of measures."""
    app = opened(lab, kept(RUNS[run](tmp_path)), place)
    said = texts(app)
    for row, (own, words) in SEEN.items():
        if (own, PLACES[row]) == (run, place):
            assert words in said, f"row {row}: {place}"
    drawn = [*app.get("plotly_chart"), *app.dataframe]
    assert drawn
    assert not re.search(r"condition \d", said)


@pytest.mark.thorough
def test_a_run_of_several_ways_to_ask_opens_on_their_comparison(lab: Lab, tmp_path: Path) -> None:
    app = healthy(lab("results", run=kept(ways(tmp_path))))
    assert "ways to ask suffers least from order" in texts(app)
    app = healthy(lab("results", run=kept(several_scores(tmp_path))))
    assert "ways to ask suffers least from order" not in texts(app)


@pytest.mark.thorough
def test_the_list_of_runs_shows_a_number_of_a_run_that_begins_with_bare_scores(
    lab: Lab, tmp_path: Path
) -> None:
    """Bare scores of several criteria have no order to count by."""
    run = kept(ways(tmp_path))
    (line,) = judge_lines(state.run_info(run), {})
    assert line == "leaning **Biased**: the order changes single scores of leaning."
    assert "Could not show" not in texts(healthy(lab("runs")))


@pytest.mark.thorough
def test_all_judges_is_a_choice_that_opens_their_tab(lab: Lab, tmp_path: Path) -> None:
    run = kept(several_scores(tmp_path))
    app = healthy(lab("results", run=run))
    app.button_group(key="results-judge").set_value("All 3 judges").run()
    assert "The order of the options matters" in texts(app)


def test_a_cell_of_several_judges_opens_the_calls_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = {"judge": "gpt-4o", "dataset": "mails", "position": 2, "against": "gpt-4"}
    points = SimpleNamespace(selection=SimpleNamespace(points=[{"customdata": of}]))
    page = SimpleNamespace(session_state={"cell": points, "score": 3}, query_params={"score": "3"})
    monkeypatch.setattr(call_browser, "st", page)
    call_browser.open_calls("cell")
    assert page.query_params == {"judge": "gpt-4o", "dataset": "mails", "position": "2"}
    assert page.session_state["tab"] == "Judgments"
    assert "score" not in page.session_state


def test_rows_in_results_are_opened_by_a_test_or_named_here() -> None:
    """Rows that other tests open: people's r, averages over forms, and criteria."""
    in_results = {row for row, place in PLACES.items() if place.startswith("Results, ")}
    assert in_results - set(SEEN) == {34, 66, 71}
