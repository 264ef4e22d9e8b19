"""Check the reading check on pages: a clean one needs no click, a stopped run says why."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.model.consent import Consent, destination
from rubriclab.runs.manager import RunManager
from rubriclab.store.read import Reader
from rubriclab.study.plan import Plan
from tests.app.conftest import HOSTILE, Lab, healthy, pressed, texts
from tests.app.test_pages import ended, go, use_sample
from tests.app.test_setup import held
from tests.judges.kit import until
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


@pytest.mark.thorough
def test_a_clean_check_needs_no_click(lab: Lab) -> None:
    app = use_sample(lab("setup"))
    app.button(key="launch-go").click().run()
    ended()
    (run,) = state.store().runs()
    assert (run.state, run.done) == ("finished", 300)
    (check,) = state.reading_checks(run.id)
    assert (check.asked, check.parsed, check.stop) == (8, 8, None)


@pytest.mark.thorough
def test_a_stopped_check_says_why_and_shows_hostile_replies_as_text(lab: Lab) -> None:
    with running(FakeServer(text=f"No idea. {HOSTILE}")) as server:
        app = lab("runs")
        run = state.manager().start(plan_of(server), check="hold")
        run.wait(60)
        app = go(app, "runs")
        assert (state.store().run(run.id).state, server.asked) == ("paused", 8)
        assert "None of 8 replies could be parsed." in texts(app)
        labels = {button.label for button in app.button}
        assert {"Continue", "Check again", "Change"} <= labels
        shown = codes(opened(app, run.id))
        assert shown.count("No idea. <img src=x onerror=alert(1)> **b** $x^2$") == 8
        assert "\u202e" not in shown + texts(app)
        pressed(healthy(app), "Check again")
        ended()
        assert (state.store().run(run.id).state, server.asked) == ("paused", 16)
        pressed(healthy(go(app, "runs")), "Continue")
        ended()
        assert (state.store().run(run.id).state, server.asked) == ("failed", 88)


@pytest.mark.thorough
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
            pressed(app, "Continue")
            ended()
            assert state.store().run(run.id).done == 80


@pytest.mark.thorough
def test_a_held_run_can_be_changed(lab: Lab) -> None:
    with running(FakeServer(text="No idea.")) as server:
        app = lab("runs")
        RunManager(state.store()).start(plan_of(server), check="hold").wait(60)
        app = pressed(go(app, "runs"), "Change")
    assert healthy(app).title[0].value == "Set up a run"


@pytest.mark.thorough
def test_a_small_model_that_would_give_labels_gets_a_grammar_by_one_click(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the judge that gives the labels a high probability by itself is changed."""
    app = lab("runs")
    with running(FakeServer(text="No idea.")) as server:
        one = API.model_copy(
            update={"base_urls": (server.base_url,), "model": "test-model", "name": "a"}
        )
        judges = (one, one.model_copy(update={"name": "b"}))
        run = RunManager(state.store()).start(small_plan(2, judges=judges), check="hold")
        run.wait(60)
    small = [judge.model_copy(update={"kind": "embedded"}) for judge in judges]
    monkeypatch.setattr(state, "judges_of", lambda _: small)
    masses = {"a": (4, 0.9), "b": (4, 0.4)}
    monkeypatch.setattr(Reader, "free_masses", lambda *_: masses)
    assert state.helped_by_grammar(run.id) == {"a"}
    app = go(app, "runs")
    app = pressed(app, "Allow only labels")
    assert healthy(app).title[0].value == "Set up a run"
    assert [judge.constrain for judge in held(app).study.judges] == ["grammar", "free"]


def unread_at_times(first: int) -> Callable[[dict[str, Any], int], web.StreamResponse | None]:
    """A rule by which one in eight replies after the first ones names no score."""
    asked = count(1)

    def rule(_body: dict[str, Any], _nth: int) -> web.StreamResponse | None:
        number = next(asked)
        if number <= first or number % 8:
            return None
        return web.json_response(completion("Rather good.", model="test-model"))

    return rule


@pytest.mark.thorough
def test_a_run_with_some_unreadable_replies_is_paused_and_mended(lab: Lab) -> None:
    with running(FakeServer(rule=unread_at_times(8), latency=0.05)) as server:
        judge = API.model_copy(
            update={"base_urls": (server.base_url,), "model": "test-model", "concurrency": 1}
        )
        app = lab("runs")
        run = state.manager().start(small_plan(20, judges=(judge,), name="Held"), check="hold")
        assert until(lambda: sum(part.lost for part in run.snapshot().unread) >= 20, 60)
        app = go(app, "runs")
        assert "could not be parsed." in texts(app)
        assert "Rather good." in codes(app)
        app = healthy(pressed(app, "Pause and fix"))
        run.wait(60)
    info = state.store().run(run.id)
    assert info.state == "paused"
    assert info.done < 400, "the calls that were left are not asked"
    assert app.title[0].value == "Set up a run"
    assert held(app).study.judges[0].base_urls == (server.base_url,)


@pytest.mark.thorough
def test_a_key_that_was_refused_is_pasted_and_the_run_goes_on(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    right, wrong = "sk-the-right-key-55c1", "sk-an-old-key-0a77"
    monkeypatch.setenv("JUDGE_API_KEY", wrong)
    with running(FakeServer(text="3", key=right)) as server:
        state.store().agree({Consent("JUDGE_API_KEY", destination(server.base_url))})
        run = state.manager().start(plan_of(server, key_env="JUDGE_API_KEY"), check="hold")
        run.wait(60)
        app = healthy(go(lab("runs"), "runs"))
        assert "Stopped: key refused" in texts(app)
        field = next(box for box in app.text_input if box.label.startswith("Key instead of"))
        asked = server.asked
        app = field.set_value(right).run()
        assert server.asked == asked, "nothing is sent before the button is pressed"
        pressed(app, "Continue with this key")
        ended()
        assert server.headers[-1]["Authorization"] == f"Bearer {right}"
    info = state.store().run(run.id)
    assert (info.state, info.done, info.failed) == ("finished", 80, 0)
    state.store().close()
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert right.encode() not in file.read_bytes(), file
