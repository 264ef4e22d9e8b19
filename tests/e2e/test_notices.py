"""That a run has ended is said once, on whatever page, in a toast and in the title of the tab."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.model import TRIAL_ORIGIN


class Lab:
    """Runs whose states a test sets."""

    def __init__(self) -> None:
        self.runs: dict[str, Any] = {}

    def add(self, name: str, *, origin: str = "file") -> None:
        self.runs[name] = SimpleNamespace(info=SimpleNamespace(run=name, name=name, origin=origin), state="running")
        self.runs[name].snapshot = lambda: SimpleNamespace(
            state=self.runs[name].state,
            active=self.runs[name].state == "running",
            done=3,
            planned=8,
            reason="The budget is spent." if self.runs[name].state == "paused" else "",
        )

    def active(self) -> tuple[Any, ...]:
        return tuple(run for run in self.runs.values() if run.state == "running")

    def get(self, name: str) -> Any:
        return self.runs.get(name)


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    made = Lab()
    monkeypatch.setattr("rubriclab.app.ui.notices.manager", lambda: made)
    return made


def script() -> None:
    import streamlit as st

    from rubriclab.app import ui

    st.session_state["entered"] = True
    st.session_state["title"] = ui.tab_title()
    ui.watch_runs()
    with ui.page("home", "Home", "A page."):
        pass


def test_the_end_is_said_once(lab: Lab) -> None:
    app = AppTest.from_function(script)
    lab.add("my *run*")
    app.run()
    assert app.session_state["title"] == "rubriclab"
    assert not app.toast
    lab.runs["my *run*"].state = "finished"
    app.run()
    assert app.session_state["title"] == "✓ my *run* · rubriclab"
    assert [one.value for one in app.toast] == ["“my \\*run\\*” has finished\\: 3 of 8 calls."]
    app.run()
    assert app.session_state["title"] == "rubriclab"
    assert not app.toast


def test_a_pause_says_why_and_several_ends_are_all_said(lab: Lab) -> None:
    app = AppTest.from_function(script)
    lab.add("one")
    lab.add("two")
    app.run()
    lab.runs["one"].state, lab.runs["two"].state = "paused", "interrupted"
    app.run()
    assert app.session_state["title"] == "⏸ one and 1 more · rubriclab"
    said = [one.value for one in app.toast]
    assert len(said) == 2
    assert "is paused" in said[0]
    assert "The budget is spent." in said[0]
    assert "has stopped" in said[1]


def test_a_text_that_is_tried_and_a_run_that_ended_before_are_not_told(lab: Lab) -> None:
    app = AppTest.from_function(script)
    lab.add("tried", origin=TRIAL_ORIGIN)
    lab.add("old")
    lab.runs["old"].state = "finished"
    app.run()
    lab.runs["tried"].state = "finished"
    app.run()
    assert app.session_state["title"] == "rubriclab"
    assert not app.toast
