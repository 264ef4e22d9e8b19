"""Check Home: the swing of one answer, the latest run with its badge, and three ways in."""

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from tests.app.conftest import HOSTILE, Lab, healthy, kept, pressed, texts
from tests.words import made


def said_by(app: AppTest) -> str:
    """All that a page says, with plain blanks."""
    return texts(app).replace("\u00a0", " ")


def test_home_shows_the_swing_of_a_recorded_answer_and_the_example(lab: Lab) -> None:
    app = healthy(lab("home"))
    said = said_by(app)
    assert "The same answer in two orders: 4 points apart" in said
    assert "Recorded with smollm2-135m, a small model" in said
    assert "Example run, recorded with a small model" in said
    assert "smollm2-135m favours the option listed first" in said
    assert "Biased" in said
    stacks = [part.proto.body for part in app.get("html") if 'class="stacks"' in part.proto.body]
    assert len(stacks) == 1
    assert re.findall(r"<strong>(\d)</strong>", stacks[0]) == ["1", "5"]  # as recorded
    assert stacks[0].count('class="first"') == 1


@pytest.mark.thorough
def test_the_latest_finished_run_takes_the_place_of_the_example(lab: Lab) -> None:
    kept(made.options_table({"reads": made.by_quality}, items=40, name="My answers"))
    said = said_by(healthy(lab("home")))
    assert "Latest run · My answers" in said
    assert "Example run" not in said
    assert "No bias seen yet" in said or "No bias that matters" in said
    assert "Biased" not in said
    assert "The same answer in two orders: 4 points apart" in said  # the swing stays


@pytest.mark.thorough
def test_a_run_that_stopped_has_no_badge(lab: Lab) -> None:
    table = made.options_table({"j": made.always_first}, items=12, name="Half", state="paused")
    kept(replace(table, planned=(500,)))
    said = said_by(healthy(lab("home")))
    assert "stopped after" in said
    assert "Biased" not in said


@pytest.mark.thorough
def test_hostile_names_of_the_latest_run_are_texts(lab: Lab) -> None:
    kept(made.options_table({HOSTILE: made.always_first}, items=12, name=HOSTILE))
    app = healthy(lab("home"))
    assert "<img" not in "\n".join(part.proto.body for part in app.get("html"))
    assert not any("](javascript" in part.value for part in app.markdown)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("button", "title"),
    [("Try it", "Same answer"), ("Set up a run", "Set up a run"), ("Learn", "four pictures")],
)
def test_each_door_opens_its_page(lab: Lab, button: str, title: str) -> None:
    app = pressed(lab("home"), button)
    assert title in healthy(app).title[0].value


def test_home_stands_without_its_example(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_example", lambda: (state.store(), ""))
    app = lab("home")
    assert not app.exception
    assert {"Try it", "Set up a run", "Learn"} <= {button.label for button in app.button}
