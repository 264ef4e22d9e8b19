"""Check the tab Judges without a browser: how it is opened, left, and addressed."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from rubriclab import api as notebook
from rubriclab.app import compare, state
from rubriclab.app.compare import Side
from rubriclab.app.judges_tab import VIEWS
from rubriclab.core.joined import Side as Joinable
from rubriclab.core.joined import joined
from rubriclab.core.topic import Findings
from rubriclab.figures.choice_pictures import agreement_matrix
from rubriclab.runs.loading import plan_of_file
from tests.app.conftest import HOSTILE, ROOT, Lab, healthy, kept, pressed, texts
from tests.app.test_pages import ended
from tests.figures.several import chosen, orders_of_one, scored
from tests.words import made

TABS = ("Bias", "Judges", "With people", "What helps", "Judgments")


def choose(app: AppTest, judge: str) -> AppTest:
    """The visit after a click on a judge in the header."""
    return healthy(app.button_group(key="results-judge").set_value(judge).run())


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_link_opens_its_tab_whoever_is_chosen(lab: Lab) -> None:
    run = kept(scored(3).judgments.table)
    for tab in TABS:
        app = healthy(lab("results", run=run, judge="All 3 judges", tab=tab))
        assert app.session_state["tab"] == tab
    app = healthy(lab("results", run=run, judge="All 3 judges"))
    assert app.session_state["tab"] == "Bias"  # the first tab is not in the address


@pytest.mark.thorough
def test_first_screens_of_many_judges_speak_of_all(lab: Lab) -> None:
    run = kept(
        made.options_table({"a": made.always_first, "b": made.by_quality, "c": made.always_first})
    )
    said = "The order of the options matters for 2 of 3 judges"
    for app in (lab("home"), lab("results", run=run)):
        shown = texts(healthy(app))
        assert said in shown
        assert "a alone" in shown
    assert "a Biased: favours the option listed first." in texts(healthy(lab("runs")))


@pytest.mark.thorough
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
    assert "Unparsed" not in names  # every reply was parsed, so it would repeat the error
    known = sorted(100 * row.value for row in chosen(6).select("pc") if not row.of)
    assert sorted(table["PC"]) == known


def test_the_error_of_the_paper_has_the_plain_share_next_to_it(lab: Lab) -> None:
    """One reply in eight is lost. Shi et al. leave out the parsed one of its pair: 1 / (1 + 6)."""
    lines = []
    for judge, lost in (("steady", ()), ("losing", ((0, "b"),))):
        for question in range(4):
            for first, second in ("ab", "ba"):
                choice = "A" if first == "a" else "B"
                if (question, first) in lost:
                    choice = "N"
                lines.append(
                    {
                        "judge": judge,
                        "question_id": f"q{question}",
                        "first": first,
                        "second": second,
                        "choice": choice,
                    }
                )
    read = notebook.read(pd.DataFrame(lines), name="pairs")
    app = healthy(lab("results", run=kept(read.table), tab="Judges", view="overview"))
    table = app.dataframe[0].value.set_index("Judge")
    assert table.loc["losing †", "Error"] == pytest.approx(100 / 7)
    assert table.loc["losing †", "Unparsed"] == pytest.approx(100 / 8)
    assert table.loc["steady", "Error"] == table.loc["steady", "Unparsed"] == 0
    assert "Unparsed: that plain share" in texts(app)


def test_one_judge_has_views_of_its_forms_and_none_without_forms(lab: Lab) -> None:
    alone = made.options_table({"one": made.by_quality})
    app = healthy(lab("results", run=kept(alone)))
    assert "Judges" not in [tab.label for tab in app.tabs]
    table = orders_of_one().judgments.table
    app = healthy(lab("results", run=kept(table), tab="Judges", view="forms"))
    assert "What does each form change" in texts(app)


def union_of(lab: Lab, runs: dict[str, int], **query: str) -> AppTest:
    """Compare with the first condition of each run, or with as many as are named."""
    names = [f"{run}:{code}" for run, codes in runs.items() for code in range(codes)]
    return healthy(lab("compare", **{"with": names}, **query))


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


TWO_JUDGES = """
name = "One axis"
[[data]]
sample = true
take = 3
[rubric]
file = "{root}/data/rubrics/{rubric}"
[design]
reorder = "{reorder}"
[[judges]]
name = "leaning"
kind = "simulated"
options = {{ first = 1.0 }}
[[judges]]
name = "other"
kind = "simulated"
"""


def asked_in_the_lab(folder: Path, reorder: str, rubric: str = "writing.yaml") -> str:
    """A run of two simulated judges that the lab itself has made."""
    study = folder / "study.toml"
    study.write_text(TWO_JUDGES.format(root=ROOT, reorder=reorder, rubric=rubric), "utf-8")
    run = state.manager().start(plan_of_file(study))
    ended()
    return str(run.id)


@pytest.mark.thorough
@pytest.mark.parametrize(("done", "other"), [("options", "criteria"), ("criteria", "options")])
def test_the_other_axis_is_one_click_from_its_study(
    lab: Lab, tmp_path: Path, done: str, other: str
) -> None:
    lab()
    run = asked_in_the_lab(tmp_path, done)
    app = healthy(lab("results", run=run, tab="Judges", view="both-axes"))
    assert f"Only the {done} were reordered." in texts(app)
    held = healthy(pressed(app, "Run the other axis")).session_state["setup draft"]
    assert held.study.design.axes == (done, other)
    assert [judge.name for judge in held.study.judges] == ["leaning", "other"]
    assert app.radio(key="orders-axis").value == done
    assert app.multiselect(key="orders-also").value == [other]
    known = state.run_info(run).done
    assert f"Reuse replies for {known:,} of these calls" in [box.label for box in app.checkbox]
    app = lab("setup", again=run, also=other)  # where the button leads
    healthy(app.button(key="launch-go").click().run())
    ended()
    (both,) = [info.id for info in state.store().runs() if info.id != run]
    app = healthy(lab("results", run=both, tab="Judges", view="both-axes"))
    assert "Cured on one axis, biased on the other?" in texts(app)


@pytest.mark.thorough
def test_the_other_axis_is_offered_only_where_it_can_be_asked(lab: Lab, tmp_path: Path) -> None:
    lab()
    one = asked_in_the_lab(tmp_path, "options", "helpfulness.yaml")
    table = kept(scored(3).judgments.table)  # made elsewhere
    for run in (one, table):
        app = healthy(lab("results", run=run, tab="Judges"))
        assert "Both axes" not in app.button_group(key="results-view").options
    app = lab("setup", again=one, also="letters")
    assert "expected one of options, criteria" in app.error[0].value.replace("\\", "")


@pytest.mark.thorough
@pytest.mark.parametrize("findings", [scored(3, items=8), chosen(3)], ids=["scores", "pairs"])
def test_a_cell_of_agreement_opens_the_calls_on_which_two_judges_differ(
    lab: Lab, findings: Findings
) -> None:
    run = kept(findings.judgments.table)
    dataset = findings.conditions[0].dataset
    measures = ("judges_agree", "judges_agree_no_ties")
    if not findings.conditions[0].chooses:
        measures = ("exact", "kappa_quadratic")
    shown = agreement_matrix(findings, dataset, measures, ("a", "b"))
    assert shown.picture is not None
    point = shown.picture.series[0].points[0]
    place = {name: str(value) for name, value in point.of.items()}
    assert set(place) == {"judge", "dataset", "differ"}
    app = healthy(lab("results", run=run, tab="Judgments", **place))
    assert app.selectbox(key="differ").value == place["differ"]
    frame = app.dataframe[0].value
    assert len(frame)
    assert (frame["This judge"] != frame["The other"]).all()
    said = texts(app)
    assert f"{place['judge']}: {frame['This judge'].iloc[0]}" in said
    assert f"{place['differ']}: {frame['The other'].iloc[0]}" in said
    assert f"My score: {HOSTILE}" in [code.value for code in app.code[:2]]
    app.selectbox(key="differ").set_value("any")
    assert "The other" not in healthy(app.run()).dataframe[0].value


@pytest.mark.thorough
def test_two_judges_of_two_runs_have_no_calls_side_by_side(lab: Lab) -> None:
    lab()
    first = kept(made.options_table({"a": made.always_first, "b": made.by_quality}, items=9))
    later = kept(made.options_table({"c": made.mostly_first}, items=9, name="Later"))
    sides = [Side("", first, 0), Side("", first, 1), Side("", later, 0)]
    union = joined([Joinable("", state.findings(side.run), side.code) for side in sides])
    place = {"judge": "a", "dataset": "answers", "tab": "Judgments"}
    opened = compare.place_in_run(union, sides, {**place, "differ": "b"})
    assert opened == {**place, "run": first, "differ": "b"}
    assert compare.place_in_run(union, sides, {**place, "differ": "c"}) == {**place, "run": first}
