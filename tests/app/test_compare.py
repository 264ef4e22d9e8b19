"""Compare without a browser: two, three, none, hostile names, and the same words as on the command line."""

from streamlit.testing.v1 import AppTest

from rubriclab import notebook
from rubriclab.app import state
from tests.app.conftest import Lab, healthy, kept, pressed, texts
from tests.sinks import made

RULES = {"first": made.always_first, "fair": made.by_quality, "mostly": made.mostly_first}


def badges(app: AppTest) -> list[str]:
    return [line for line in texts(app).splitlines() if line in ("Differ", "Alike", "Undecided")]


def test_the_two_judges_of_the_latest_run_stand_there_in_the_words_of_the_command(lab: Lab) -> None:
    run = kept(made.options_table(RULES, items=40))
    app = healthy(lab("compare"))
    assert app.multiselect(key="compare-with").value == [f"{run}:0", f"{run}:1"]
    said = texts(app)
    assert len(app.get("plotly_chart")) == 2
    answer, rows = notebook.kept_run(state.store(), run).minus(1).answers[0]
    assert app.header[0].value.replace("\\", "") == answer.headline == "first depends more on the order than fair"
    for question in answer.questions:
        assert question.sentence in said
    assert badges(app) == [question.badge for question in answer.questions] == ["Differ"] * len(rows)
    app.button[0].click().run()  # Swap
    assert healthy(app).multiselect(key="compare-with").value == [f"{run}:1", f"{run}:0"]
    assert app.query_params["with"] == [f"{run}:1", f"{run}:0"]
    assert app.header[0].value.replace("\\", "") == answer.headline


def test_three_stand_in_a_table_and_one_waits_for_another(lab: Lab) -> None:
    run = kept(made.options_table(RULES, items=40))
    app = healthy(lab("compare", **{"with": [f"{run}:{code}" for code in range(3)]}))
    table = app.dataframe[0].value
    assert list(table["Name"]) == [f"Made run: {judge}" for judge in RULES]
    assert table["Top position"][0].startswith("1: 100\u00a0%")
    assert not badges(app)
    assert "Choose two." in texts(healthy(app.multiselect(key="compare-with").set_value([f"{run}:0"]).run()))
    # An address that names nothing shows what would stand there.
    for wanted in (["x", "", ":", "../x:0"], [f"{run}:7", f"{run}:-1"], [f"{run}:0"] * 3 + [f"{run}:1"]):
        app = healthy(lab("compare", **{"with": wanted}))
        assert app.multiselect(key="compare-with").value == [f"{run}:0", f"{run}:1"]


def test_without_a_common_answer_and_before_the_end_only_sizes_stand(lab: Lab) -> None:
    run = kept(made.options_table(RULES, items=40))
    criteria = kept(
        made.criteria_table(lambda text, slot, position: 2 + (text + slot) % 2 if position else 4, items=20)
    )
    running = kept(made.options_table(RULES, items=41, state="paused", name="Paused"))
    for other, said in ((f"{criteria}:0", "only sizes are shown"), (f"{running}:1", "No answer before both runs have")):
        app = healthy(lab("compare", **{"with": [f"{run}:0", other]}))
        assert said in texts(app)
        assert not badges(app)


def test_runs_that_are_ticked_are_compared(lab: Lab) -> None:
    runs = [kept(made.options_table({"j": rule}, items=20, name=name)) for name, rule in RULES.items()]
    app = lab("runs")
    for run in runs[:2]:
        app.checkbox(key=f"tick-{run}").check().run()
    pressed(app, "Compare selected")
    assert {name.partition(":")[0] for name in healthy(app).multiselect(key="compare-with").value} == set(runs[:2])
    assert "Compared on the 20 answers" in texts(app)
