"""Check Results, Judgments, and Compare without a browser, for every state of a run."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from rubriclab import api as notebook
from rubriclab.app import state
from rubriclab.app.run_rows import judge_lines
from rubriclab.model.judgment import Condition, JudgmentTable
from rubriclab.store.store import Store
from rubriclab.words.answer import TITLES
from tests.app.conftest import HOSTILE, Lab, healthy, kept, pressed, texts
from tests.app.test_export import preview
from tests.app.test_pages import go
from tests.tables import comparisons, options, responses
from tests.words import made


def test_the_answer_comes_first_and_folds_are_computed_when_they_open(lab: Lab) -> None:
    run = kept(made.options_table({"judge-7b": made.mostly_first}, items=40))
    app = healthy(lab("results", run=run))
    title = app.title[0].value.replace("\\", "")
    assert title == "judge-7b favours the option listed first :orange-badge[Biased]"
    assert [part.value for part in app.header][1:4] == [*TITLES["options"].values()]
    assert "What to do. Average several orders, or" in texts(app)
    # One figure above the fold; the others are drawn when their fold opens.
    assert len(app.get("plotly_chart")) == 1
    assert len(healthy(lab("results", run=run, tab="Orders")).get("plotly_chart")) == 3
    assert not app.dataframe
    assert any("| Order | Bias Cost |" in said.value for said in app.markdown)
    app.session_state["more"] = app.session_state["how"] = True
    assert len(healthy(app.run()).dataframe) >= 4
    assert "Nothing is called an effect unless" in texts(app)


@pytest.mark.thorough
def test_judges_and_settings_are_chosen_only_among_several_and_none_hides_another(lab: Lab) -> None:
    """The second of either moves no answer."""
    forms = [
        Condition("first", "answers", "balanced", variant={"ids": ids})
        for ids in ("arabic", "letters")
    ]
    formed = made.several(*forms, rules={"first": made.always_first}, items=40).judgments.table
    steady = formed.rows["score"].mask(
        formed.rows["condition"].eq(1), 1.0 + formed.rows["item"] % 3
    )
    judged = made.options_table({"first": made.always_first, "fair": made.by_quality}, items=40)
    for table, query, label in (
        (judged, {"judge": "fair"}, "Judge"),
        (
            replace(formed, rows=formed.rows.assign(score=steady)),
            {"setting": "ids = letters"},
            "Condition",
        ),
    ):
        run = kept(table)
        assert (
            "first favours the option listed first"
            in healthy(lab("results", run=run)).title[0].value
        )
        app = healthy(lab("results", run=run, **query))
        assert "gave the same score in every order" in texts(app)
        assert header_choices(app) == [label]
    alone = kept(made.options_table({"only": made.always_first}, items=9))
    assert not header_choices(healthy(lab("results", run=alone)))


def header_choices(app: AppTest) -> list[str]:
    """The choices of the header: all groups of buttons but the switches of pictures."""
    return [group.label for group in app.get("button_group") if group.label != "Show as"]


def test_a_picture_turns_into_its_table_and_back(lab: Lab) -> None:
    """The first picture has the shares of three positions, above nine cells of score and position;
    its table has the same numbers.
    """
    run = kept(made.options_table({"judge-7b": made.always_first}, items=40))
    app = healthy(lab("results", run=run))
    charts = len(app.get("plotly_chart"))
    switch = next(group for group in app.get("button_group") if group.label == "Show as")
    assert not any("As written" in frame.value for frame in app.dataframe)
    app = healthy(app.button_group(key=switch.key).set_value("Table").run())
    assert len(app.get("plotly_chart")) == charts - 1
    (table,) = [frame.value for frame in app.dataframe if "As written" in frame.value]
    assert table["As written"].tolist()[:3] == ["100.0%", "0.0%", "0.0%"]
    assert table["Panel"].tolist() == ["All calls"] * 3 + ["By score"] * 9
    app = healthy(app.button_group(key=switch.key).set_value("Picture").run())
    assert len(app.get("plotly_chart")) == charts


def test_a_run_that_is_not_finished_has_no_verdict_and_a_simulated_judge_its_label(
    lab: Lab,
) -> None:
    table = made.options_table(
        {"judge-7b": made.always_first}, items=12, state="running", simulated=True
    )
    app = healthy(lab("results", run=kept(replace(table, planned=(200,)))))
    assert ":gray-badge[simulated]" in app.title[0].value
    said = texts(app)
    assert "of 200 calls. The verdict comes at the end." in said
    assert "so far" in said
    assert "What to do" not in said
    assert not re.search("Yes|Not seen|Can't tell|Biased", said)


@pytest.mark.thorough
def test_the_recorded_stories_open_in_the_tab_of_judges(lab: Lab) -> None:
    (run,) = (info.id for info in state.examples().runs() if info.name.startswith("HANNA"))
    app = healthy(lab("results", run=run, tab="Judges"))
    shown = app.dataframe[0].value
    assert set(shown["Judge"]) == {
        "smollm2-135m-q8, Q8_0",
        "smollm2-135m, Q4_1",
        "smollm2-135m-q8, temperature 1",
        "gemma-3-270m, Q4_K_M",
    }
    assert shown["r with people"].notna().all()


def test_nothing_parsed_shows_the_way_to_the_replies(lab: Lab) -> None:
    run = kept(made.options_table({"judge-7b": lambda *_: None}, items=4, state="failed"))
    app = healthy(lab("results", run=run))
    assert "could be read" in app.title[0].value
    judged = healthy(lab("results", run=run, tab="Judgments", view="Reply"))
    assert "No score could be parsed from this reply:" in texts(judged)
    assert judged.code[0].value == f"My score: {HOSTILE}"


def test_criteria_have_their_own_words_and_pictures(lab: Lab) -> None:
    run = kept(
        made.criteria_table(
            lambda text, slot, position: 2 + (text + slot) % 2 if position else 4, items=20
        )
    )
    app = healthy(lab("results", run=run))
    assert "scores a criterion higher when it is listed first" in app.title[0].value
    assert len(app.get("plotly_chart")) == 1
    orders = healthy(lab("results", run=run, tab="Orders"))
    assert "First minus last, by criterion" in texts(orders)
    judged = healthy(lab("results", run=run, tab="Judgments", criterion="Tone", position="1"))
    frame = judged.dataframe[0].value
    assert set(frame["Criterion"]) == {"Tone"}
    assert set(frame["Position"]) == {1}


def test_judgments_are_filtered_by_the_address_and_shown_word_for_word(lab: Lab) -> None:
    run = kept(made.options_table({"judge-7b": made.mostly_first}, items=12))
    app = healthy(lab("results", run=run, tab="Judgments", score="2", position="1"))
    frame = app.dataframe[0].value
    assert len(frame)
    assert set(frame["Score"]) == {2}
    assert set(frame["Position"]) == {1}
    assert sum("Listed " in card.proto.body for card in app.get("html")) == 2
    # A filter that the run does not know leaves all.
    assert (
        len(healthy(lab("results", run=run, tab="Judgments", score="17")).dataframe[0].value) == 144
    )


PAIRS = comparisons([[1, 1, 1, 1]] * 30 + [[1, 2, 1, 2], [2, 1, 2, 1]] * 5, [[0, 1], [1, 0]])
LISTS = comparisons(
    [[1, 3, 2], [1, 1, 1], [3, 3, 3], [0, 2, 2]] * 5, [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
)
BATCHES = responses(
    [[[4, 3, 3], [3, 4, 3], [3, 3, 4]]] * 12, [[0, 1, 2], [1, 2, 0], [2, 0, 1]], [[3, 3, 3]] * 12
)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("table", "headline", "picture"),
    [
        (
            PAIRS,
            "judge picks the answer shown first",
            "After the two answers swap places, who wins?",
        ),
        (LISTS, "", "Who wins in all orders"),
        (BATCHES, "", "Score by position in the call"),
    ],
)
def test_every_axis_has_its_picture_and_its_calls(
    lab: Lab, table: JudgmentTable, headline: str, picture: str
) -> None:
    run = kept(table)
    app = healthy(lab("results", run=run))
    assert headline in app.title[0].value
    assert picture in [part.value for part in app.header]
    assert app.get("plotly_chart")
    app.session_state["more"] = True
    healthy(app.run())
    judged = healthy(lab("results", run=run, tab="Judgments", position="1"))
    assert set(judged.dataframe[0].value["Position"]) == {1}
    assert healthy(lab("home")).title


def test_a_run_that_varies_a_level_shows_what_the_level_does(lab: Lab) -> None:
    levels = [
        Condition(judge, "A", "balanced", variant={"temperature": t})
        for judge in ("a", "b")
        for t in (0.0, 1.0)
    ]
    found = made.several(*levels, rules={"b": made.mostly_first})
    app = healthy(lab("results", run=kept(found.judgments.table)))
    assert "By temperature" in texts(app)
    # The first screen has one figure. V, reversing and spread by level are one of three panels.
    assert len(app.get("plotly_chart")) == 1 + 1


def test_no_run_leads_to_the_ways_in(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Store.open(tmp_path / "none.duckdb")
    monkeypatch.setattr(state, "examples", lambda: empty)
    app = healthy(lab("results"))
    assert "No finished run yet." in texts(app)
    assert [button.label for button in app.button] == ["Set up a run", "Run the sample"]
    assert "No finished run yet." in texts(healthy(lab("export")))


def test_options_change_what_matters(lab: Lab) -> None:
    run = kept(made.options_table({"judge-7b": made.by_quality}, items=200, repeats=2))
    assert "shows no bias that matters" in healthy(lab("results", run=run)).title[0].value
    app = healthy(lab("results", run=run, share="0.5", smallest="0.01"))
    assert "no bias that matters" not in app.title[0].value


def test_people_have_a_tab_where_they_rated_and_else_the_way_to_add_them(lab: Lab) -> None:
    table = made.options_table({"judge-7b": made.by_quality}, items=20)
    alone = kept(table)
    ratings = [
        {name: float(1 + (i + k) % 3) for k, name in enumerate((HOSTILE, "b", "c"))}
        for i in range(20)
    ]
    rated = kept(replace(table, items=table.items.assign(ratings=ratings)))
    app = healthy(lab("results", run=rated, tab="With people"))
    assert [tab.label for tab in app.tabs] == [
        "Bias",
        "Orders",
        "With people",
        "What helps",
        "Judgments",
    ]
    said = texts(app)
    assert "Undecided how judge-7b compares with another person" in said
    assert "May it replace a rater?" in said
    assert not app.info
    without = healthy(lab("results", run=alone, tab="With people"))
    assert [tab.label for tab in without.tabs] == ["Bias", "Orders", "What helps", "Judgments"]
    assert any("No human scores" in part.value for part in without.info)


def test_ways_to_choose_labels_are_listed_without_escapes(lab: Lab) -> None:
    """A list of choices shows its options as they are."""
    ratings = [{"gpt4_score 1": float(k % 2)} for k in range(20)]
    run = kept(options(np.tile([0.0, 1.0], (20, 1)), [[0, 1], [1, 0]], ratings=ratings))
    app = healthy(lab("results", run=run, tab="With people"))
    assert app.selectbox(key="results-labels").options == [
        "Not said",
        "At random",
        "By GPT-4's label: a set number of passes and of fails",
        "By the judge's verdict",
    ]


def test_what_helps_says_how_many_calls_and_which_remedies(lab: Lab) -> None:
    run = kept(made.options_table({HOSTILE: made.by_quality}, items=40))
    app = healthy(lab("results", run=run, tab="What helps"))
    said = texts(app)
    assert "calls" in said.lower()
    assert "Several orders, averaged" in said
    assert "One better order" in said
    folds = [fold.label for fold in app.expander]
    assert "All methods at equal cost" in folds
    assert "Correlation by number of orders" not in folds  # nobody rated


RULES = {"first": made.always_first, "fair": made.by_quality, "mostly": made.mostly_first}


def badges(app: AppTest) -> list[str]:
    return [line for line in texts(app).splitlines() if line in ("Differ", "Alike", "Undecided")]


def test_the_two_judges_of_the_latest_run_are_compared_in_the_words_of_the_command(
    lab: Lab,
) -> None:
    run = kept(made.options_table(RULES, items=40))
    app = healthy(lab("compare"))
    assert app.multiselect(key="compare-with").value == [f"{run}:0", f"{run}:1"]
    said = texts(app)
    assert len(app.get("plotly_chart")) == 2
    answer, rows = notebook.kept_run(state.store(), run).minus(1).answers[0]
    assert (
        app.header[0].value.replace("\\", "")
        == answer.headline
        == "first depends more on the order than fair"
    )
    for question in answer.questions:
        assert question.sentence in said
    assert (
        badges(app) == [question.badge for question in answer.questions] == ["Differ"] * len(rows)
    )
    app.button[0].click().run()  # Swap
    assert healthy(app).multiselect(key="compare-with").value == [f"{run}:1", f"{run}:0"]
    assert app.query_params["with"] == [f"{run}:1", f"{run}:0"]
    assert app.header[0].value.replace("\\", "") == answer.headline


def test_three_are_listed_in_a_table_and_one_waits_for_another(lab: Lab) -> None:
    run = kept(made.options_table(RULES, items=40))
    app = healthy(lab("compare", **{"with": [f"{run}:{code}" for code in range(3)]}))
    table = app.dataframe[0].value
    assert list(table["Name"]) == [f"Made run: {judge}" for judge in RULES]
    assert table["Top position"][0].startswith("1: 100%")
    assert not badges(app)
    assert "Choose two." in texts(
        healthy(app.multiselect(key="compare-with").set_value([f"{run}:0"]).run())
    )
    # An address that names nothing shows what would stand there.
    for wanted in (
        ["x", "", ":", "../x:0"],
        [f"{run}:7", f"{run}:-1"],
        [f"{run}:0"] * 3 + [f"{run}:1"],
    ):
        app = healthy(lab("compare", **{"with": wanted}))
        assert app.multiselect(key="compare-with").value == [f"{run}:0", f"{run}:1"]


@pytest.mark.thorough
def test_without_a_common_answer_and_before_the_end_only_sizes_are_shown(lab: Lab) -> None:
    run = kept(made.options_table(RULES, items=40))
    criteria = kept(
        made.criteria_table(
            lambda text, slot, position: 2 + (text + slot) % 2 if position else 4, items=20
        )
    )
    running = kept(made.options_table(RULES, items=41, state="paused", name="Paused"))
    for other, said in (
        (f"{criteria}:0", "only sizes are shown"),
        (f"{running}:1", "No answer before both runs have"),
    ):
        app = healthy(lab("compare", **{"with": [f"{run}:0", other]}))
        assert said in texts(app)
        assert not badges(app)


@pytest.mark.thorough
def test_a_run_of_bare_scores_has_no_number_in_the_list_of_runs(lab: Lab) -> None:
    table = made.options_table({"j": made.by_quality}, items=9)
    bare = tuple(
        replace(about, reorder="bare", positions=0, strategy="bare") for about in table.conditions
    )
    run = kept(replace(table, conditions=bare))
    assert judge_lines(state.run_info(run), {}) == ["j: no estimate yet."]
    healthy(lab("runs"))


@pytest.mark.thorough
def test_runs_that_are_ticked_are_compared(lab: Lab) -> None:
    runs = [
        kept(made.options_table({"j": rule}, items=20, name=name)) for name, rule in RULES.items()
    ]
    app = lab("runs")
    for run in runs[:2]:
        app.checkbox(key=f"tick-{run}").check().run()
    pressed(app, "Compare selected")
    assert {
        name.partition(":")[0] for name in healthy(app).multiselect(key="compare-with").value
    } == set(runs[:2])
    assert "Compared on the 20 answers" in texts(app)


def test_pages_keep_the_run_that_was_shown(lab: Lab) -> None:
    kept(made.options_table({"late": made.always_first}, items=12, name="Late"))
    early = kept(made.options_table({"early": made.always_first}, items=12, name="Early"))
    assert state.listed()[0].id == early
    shown = state.listed()[1].id
    app = healthy(lab("results", run=shown))
    assert "late favours" in app.title[0].value
    app = healthy(go(app, "export"))
    assert "late favours" in preview(app)
    app.query_params.pop("run", None)
    assert "late favours" in healthy(go(app, "results")).title[0].value


@pytest.mark.thorough
def test_any_slide_that_an_address_names_is_one_of_the_four(lab: Lab) -> None:
    """One of them has more digits than Python turns into a number."""
    for slide in ("0", "5", "-1", "9" * 5_000, "²", "<b>"):
        healthy(lab("results", present="1", slide=slide))
