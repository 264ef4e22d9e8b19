"""Check the reading check on pages: a clean one needs no click, a stopped run says why."""

from typing import Any

import pytest
from aiohttp import web
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.runs.manager import RunManager
from rubriclab.study.plan import Plan
from tests.app.conftest import HOSTILE, Lab, healthy, pressed, texts
from tests.app.test_pages import ended, go, use_sample
from tests.servers import FakeServer, completion, running
from tests.study.kit import API, small_plan


def plan_of(server: FakeServer, **more: Any) -> Plan:
    judge = API.model_copy(update={"base_urls": (server.base_url,), "model": "test-model", **more})
    return small_plan(4, judges=(judge,), name="Held")


def codes(app: AppTest) -> str:
    return "\n".join(block.value for block in app.code)


def opened(app: AppTest, run_id: str) -> AppTest:
    app.session_state[f"check-replies-{run_id}"] = True
    return app.run()


def test_a_clean_check_needs_no_click(lab: Lab) -> None:
    app = use_sample(lab("setup"))
    app.button(key="launch-go").click().run()
    ended()
    (run,) = state.store().runs()
    assert (run.state, run.done) == ("finished", 300)
    (check,) = state.reading_checks(run.id)
    assert (check.asked, check.parsed, check.stop) == (8, 8, None)


def test_a_stopped_check_says_why_and_shows_hostile_replies_as_text(lab: Lab) -> None:
    with running(FakeServer(text=f"No idea. {HOSTILE}")) as server:
        app = lab("runs")
        run = state.manager().start(plan_of(server), check="hold")
        run.wait(60)
        app = go(app, "runs")
        assert (state.store().run(run.id).state, server.asked) == ("paused", 8)
        assert "None of 8 replies could be parsed." in texts(app)
        labels = {button.label for button in app.button}
        assert {"Go on", "Check again", "Change"} <= labels
        shown = codes(opened(app, run.id))
        assert shown.count("No idea. <img src=x onerror=alert(1)> **b** $x^2$") == 8
        assert "\u202e" not in shown + texts(app)
        pressed(healthy(app), "Check again")
        ended()
        assert (state.store().run(run.id).state, server.asked) == ("paused", 16)
        pressed(healthy(go(app, "runs")), "Go on")
        ended()
        assert (state.store().run(run.id).state, server.asked) == ("failed", 88)


@pytest.mark.parametrize("paid", [False, True])
def test_warnings_are_shown_and_hold_only_a_judge_that_costs_money(lab: Lab, paid: bool) -> None:
    replies = iter([None, web.json_response(completion("Hard to tell."))])
    with running(FakeServer(rule=lambda *_: next(replies, None))) as server:
        app = lab("runs")
        run = state.manager().start(
            plan_of(server, price_input=1.0 if paid else None), check="hold"
        )
        run.wait(60)
        app = go(app, "runs")
        info = state.store().run(run.id)
        assert (info.state, info.done) == (("paused", 8) if paid else ("finished", 80))
        assert ("1 of 8 replies could not be parsed." in texts(app)) is paid
        app = healthy(opened(app, run.id))
        assert "1 of 8 replies could not be parsed." in texts(app)
        assert "   –  Hard to tell.  (no verdict in a form that is known)" in codes(app)
        if paid:
            pressed(app, "Go on")
            ended()
            assert state.store().run(run.id).done == 80


def test_a_held_run_can_be_changed(lab: Lab) -> None:
    with running(FakeServer(text="No idea.")) as server:
        app = lab("runs")
        RunManager(state.store()).start(plan_of(server), check="hold").wait(60)
        app = pressed(go(app, "runs"), "Change")
    assert healthy(app).title[0].value == "Set up a run"
