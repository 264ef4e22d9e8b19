"""Check the tab Judges without a browser: how it is opened, left, and addressed."""

from streamlit.testing.v1 import AppTest

from tests.app.conftest import Lab, healthy, kept
from tests.figures.several import scored

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
