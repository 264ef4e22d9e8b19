"""Check the tab Judges without a browser: how it is opened, left, and addressed."""

from streamlit.testing.v1 import AppTest

from rubriclab.app import compare, state
from rubriclab.app.compare import Side
from rubriclab.app.judges_tab import VIEWS
from rubriclab.core.joined import Side as Joinable
from rubriclab.core.joined import joined
from tests.app.conftest import Lab, healthy, kept, pressed, texts
from tests.figures.several import chosen, scored
from tests.words import made

TABS = ("Bias", "Judges", "With people", "What helps", "Judgments")


def choose(app: AppTest, judge: str) -> AppTest:
    """The visit after a click on a judge in the header."""
    return healthy(app.button_group(key="results-judge").set_value(judge).run())


def test_every_tab_opens_while_all_judges_are_chosen(lab: Lab) -> None:
    app = healthy(lab("results", run=kept(scored(3).judgments.table)))
    assert app.session_state["tab"] == "Bias"
    choose(app, "All 3 judges")
    assert app.session_state["tab"] == "Judges"
    for name in TABS:
        app.session_state["tab"] = app.query_params["tab"] = name  # as a click on a tab does
        healthy(app.run())
        assert app.session_state["tab"] == name
        assert "All 3 judges" in app.query_params["judge"]
    healthy(app.run())
    assert app.session_state["tab"] == TABS[-1]  # another redraw leaves it open


def test_a_link_opens_its_tab_whoever_is_chosen(lab: Lab) -> None:
    run = kept(scored(3).judgments.table)
    for tab in TABS:
        app = healthy(lab("results", run=run, judge="All 3 judges", tab=tab))
        assert app.session_state["tab"] == tab
    app = healthy(lab("results", run=run, judge="All 3 judges"))
    assert app.session_state["tab"] == "Bias"  # the first tab is not in the address


def test_first_screens_of_many_judges_speak_of_all(lab: Lab) -> None:
    run = kept(
        made.options_table({"a": made.always_first, "b": made.by_quality, "c": made.always_first})
    )
    said = "The order of the options matters for 2 of 3 judges"
    for app in (lab("home"), lab("results", run=run)):
        shown = texts(healthy(app))
        assert said in shown
        assert "a alone" in shown
    # The first judge always picks position 1, the second every position equally often.
    known = "3 judges: most chosen position in 33% to 100%"
    assert state.headline(state.run_info(run)) == known
    assert known in texts(healthy(lab("runs")))


def test_overview_names_its_data_set_where_there_are_several(lab: Lab) -> None:
    one = healthy(lab("results", run=kept(scored(3).judgments.table), tab="Judges"))
    assert not [part.value for part in one.header if "on stories" in part.value]
    two = kept(scored(3, datasets=2).judgments.table)
    app = healthy(lab("results", run=two, tab="Judges", view="overview", dataset="mails"))
    assert any("3 judges on mails." in part.value for part in app.header)


def test_numbers_of_choices_stand_before_their_verdicts(lab: Lab) -> None:
    app = healthy(lab("results", run=kept(chosen(6).judgments.table), tab="Judges"))
    table = app.dataframe[0].value
    names = list(table.columns)
    assert names.index("PC") < names.index("Favours positions?")
    assert "Changes winners?" in names
    assert "Changes single scores?" not in names
    known = sorted(100 * row.value for row in chosen(6).select("pc") if not row.of)
    assert sorted(table["PC"]) == known


def union_of(lab: Lab, runs: dict[str, int], **query: str) -> AppTest:
    """Compare with the first condition of each run, or with as many as are named."""
    names = [f"{run}:{code}" for run, codes in runs.items() for code in range(codes)]
    return healthy(lab("compare", **{"with": names}, **query))


def test_three_conditions_of_two_runs_open_the_views_of_judges(lab: Lab) -> None:
    runs = {
        kept(made.options_table({"a": made.always_first, "b": made.by_quality}, items=40)): 2,
        kept(made.options_table({"c": made.mostly_first}, items=40, name="Later")): 1,
    }
    app = union_of(lab, runs)
    assert "All of them together" in [part.value for part in app.header]
    slugs = app.button_group(key="compare-view").options
    assert [name for name in ("Overview", "Positions", "Agreement") if name not in slugs] == []
    assert list(app.dataframe[1].value["Judge"]) == ["a", "c", "b"]  # by how strong the bias is
    app.button_group(key="compare-view").set_value("positions")
    said = texts(healthy(app.run()))
    assert "Which position does each judge pick?" in said
    app = union_of(lab, runs, view="agreement")
    assert "Which judges give the same answers?" in texts(app)


def test_a_click_in_compare_opens_the_run_of_the_judge(lab: Lab) -> None:
    first = kept(made.options_table({"a": made.always_first, "b": made.by_quality}, items=9))
    later = kept(made.options_table({"a": made.mostly_first}, items=9, name="Later"))
    sides = [Side("", first, 0), Side("", first, 1), Side("", later, 0)]
    runs = ("Made run", "Made run", "Later")
    union = joined(
        [
            Joinable(name, state.findings(side.run), side.code)
            for name, side in zip(runs, sides, strict=True)
        ]
    )
    assert [about.judge for about in union.findings.conditions] == [
        "a (Made run)",
        "b",
        "a (Later)",
    ]
    place = {"judge": "a (Later)", "tab": "Judgments", "position": "1"}
    opened = compare.place_in_run(union, sides, place)
    assert opened == {**place, "run": later, "judge": "a", "dataset": "answers"}
    # The page that is drawn after the click goes there.
    app = union_of(lab, {first: 2, later: 1})
    app.session_state[compare.WANTED] = opened
    app.run()
    judged = healthy(lab("results", **opened))
    assert set(judged.dataframe[0].value["Position"]) == {1}


def test_whole_runs_are_compared_and_ticked(lab: Lab) -> None:
    runs = [
        kept(made.options_table({"a": rule, "b": made.by_quality}, items=9, name=name))
        for name, rule in (("One", made.always_first), ("Two", made.by_quality))
    ]
    app = healthy(lab("compare", **{"with": [f"{run}:all" for run in runs]}))
    assert list(app.dataframe[0].value["Name"]) == ["One: a", "One: b", "Two: a", "Two: b"]
    judges = list(app.dataframe[1].value["Judge"])
    assert sorted(judges) == ["a (One)", "a (Two)", "b (One)", "b (Two)"]
    runs.append(kept(made.options_table({"c": made.by_quality}, items=9, name="Three")))
    app = lab("runs")
    for run in runs:
        app.checkbox(key=f"tick-{run}").check().run()
    names = list(healthy(pressed(app, "Compare selected")).dataframe[0].value["Name"])
    assert sorted(names) == ["One: a", "One: b", "Three: c", "Two: a", "Two: b"]


def test_old_links_name_a_view_by_its_words(lab: Lab) -> None:
    run = kept(scored(3).judgments.table)
    for view in ("agreement", "Agreement"):
        app = healthy(lab("results", run=run, tab="Judges", view=view))
        assert "Which judges give the same answers?" in texts(app)
    app = healthy(lab("results", run=run, tab="Judges", view="no such view"))
    assert "The order of the options matters" in texts(app)
    app.button_group(key="results-view").set_value("positions").run()
    assert "positions" in app.query_params["view"]
    assert len({view.slug for view in VIEWS}) == len(VIEWS)
