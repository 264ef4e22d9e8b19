"""Check the part of Set up that finds a server or starts vLLM, with a stand-in for its command."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import setup_vllm, setup_vllm_flags, state
from rubriclab.app.draft import Draft
from rubriclab.judges import vllm
from rubriclab.judges.vllm import ServeFlags
from rubriclab.model.judge import JudgeSettings
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_setup import confirmed, held, step
from tests.judges.kit import install_fake_vllm, settings, until
from tests.servers import FakeServer, running
from tests.study.kit import small_plan

LAST_MODEL_LINE = "ValueError: no such model"


@pytest.fixture
def form(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    """A visit with data, at vLLM's form, on a machine without a graphics card."""
    install_fake_vllm(tmp_path, monkeypatch)
    for module in (vllm, setup_vllm, setup_vllm_flags):
        monkeypatch.setattr(module, "has_graphics_card", lambda: False)
    app = step(confirmed(lab("setup")), 3)
    yield app.button_group(key="judge-here").set_value("vllm").run()
    for server in state.servers().values():
        server.stop()
    state.servers().clear()


def started(app: AppTest, model: str = "some/model", more: str = "") -> AppTest:
    app.text_input(key="judge-vllm-model").set_value(model).run()
    app.text_input(key="judge-vllm-more").set_value(more).run()
    return pressed(app, "Start vLLM")


@pytest.mark.thorough
def test_a_started_server_is_judged_with_and_the_form_is_back_after_stop(form: AppTest) -> None:
    app = started(form, more="--seed 1")
    server = state.servers()["vllm"]
    assert until(lambda: server.state == "ready")
    (judge,) = held(app.run()).study.judges
    assert (judge.kind, judge.model, judge.base_urls) == (
        "vllm",
        "some/model",
        (server.base_url,),
    )
    assert judge.options["serve"].endswith("--max-model-len 2048 --seed 1")
    assert judge.options["serve"] == server.note
    pressed(app, "Stop")
    assert until(lambda: server.state == "stopped")
    assert "vLLM has stopped. It served some/model." in texts(healthy(app.run()))
    assert app.text_input(key="judge-vllm-model").value == "some/model"
    assert app.text_input(key="judge-vllm-more").value == "--seed 1"
    assert held(app).problems[3] == "First find a running server, or start one."
    pressed(app, "Start vLLM")
    assert state.servers()["vllm"].base_url == server.base_url
    assert "vLLM has stopped" not in texts(app.run())


@pytest.mark.thorough
def test_a_server_that_ended_says_why_and_can_be_changed(
    form: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--fail")
    app = started(form)
    assert until(lambda: state.servers()["vllm"].state == "ended")
    (error,) = app.run().error
    assert "vLLM ended before it was ready" in error.value
    assert LAST_MODEL_LINE in app.code[0].value
    assert "is loading" not in texts(app)
    assert held_problem(app) == "vLLM has ended. Start it again, or change the model."
    assert not [button for button in app.button if button.label == "Stop"]
    app.button(key="judge-start-change").click().run()
    assert healthy(app).text_input(key="judge-vllm-model").value == "some/model"
    assert state.servers() == {}


def held_problem(app: AppTest) -> str:
    draft: Draft = app.session_state["setup draft"]
    return draft.problems[3]


@pytest.mark.thorough
def test_stop_while_it_loads_does_not_wait(form: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--ignore-term --ready-after 100")
    app = started(form)
    assert held_problem(app) == "vLLM is loading the model."
    # One that has not come that far would obey the signal and be gone before the page is drawn.
    assert until(lambda: any("child" in line for line in state.servers()["vllm"].log))
    pressed(app, "Stop")
    assert held_problem(app) == "vLLM is stopping."
    assert until(lambda: state.servers()["vllm"].state == "stopped")
    assert "First find a running server" in held_problem(app.run())


def test_what_cannot_be_started_is_refused_where_it_was_typed(form: AppTest) -> None:
    app = started(form, model="")
    assert "Enter a model first" in app.error[0].value
    app = started(app, more="--host 0.0.0.0")
    assert "is set by the lab" in app.error[0].value.replace("\\", "")
    assert state.servers() == {}


def test_find_says_where_it_looked_and_takes_another_address(
    form: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_vllm, "LOCAL", {"vLLM": "http://127.0.0.1:9/v1"})
    app = pressed(form, "Find running servers")
    assert "at the usual ports, 9 (vLLM): no server answers." in texts(healthy(app))
    with running(FakeServer(owned_by="vllm")) as server:
        app.text_input(key="judge-find-address").set_value(server.base_url)
        app = pressed(app, "Find running servers")
        assert "9 (vLLM): 1 server found." in texts(healthy(app))
        (judge,) = held(app).study.judges
        assert (judge.kind, judge.model, judge.base_urls) == (
            "vllm",
            "test-model",
            (server.base_url,),
        )


def test_without_a_card_the_small_model_is_one_click_away(
    form: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "This machine has no graphics card" in texts(form)
    monkeypatch.setenv("RUBRICLAB_VLLM", "/no/such/vllm")
    app = form.run()
    assert "There is no command “/no/such/vllm”" in texts(app)
    assert not [button for button in app.button if button.label == "Start vLLM"]
    pressed(app, "Use the small model")
    assert held(app).study.judges[0].kind == "embedded"


def test_a_study_s_server_can_be_started_again_as_it_was(form: AppTest) -> None:
    """Its address and its flags are part of its judge, so its runs go on only with the same."""
    note = "--dtype float32 --enforce-eager --block-size 32 --max-model-len 4096 --seed 3"
    judge = JudgeSettings(
        name="kept",
        kind="vllm",
        model="some/model",
        base_urls=("http://127.0.0.1:8603/v1",),
        options={"serve": note},
    )
    held(form).change(judges=(judge,))
    app = form.run()
    assert "some/model at http://127.0.0.1:8603/v1, started with" in texts(healthy(app)).replace(
        "\u2060", ""
    )
    pressed(app, "Start it here again")
    pressed(app, "Start vLLM")
    server = state.servers()["vllm"]
    assert (server.note, server.port, server.model) == (note, 8603, "some/model")
    assert server.flags == ServeFlags(context_length="4096", more="--seed 3")


@pytest.mark.thorough
def test_a_run_is_not_resumed_with_a_server_of_other_flags(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = lab("runs")
    with running(FakeServer(latency=0.1, owned_by="vllm")) as server:
        judge = settings(server.base_url, kind="vllm", options={"serve": "--dtype float32"})
        run = state.manager().start(small_plan(judges=(judge,)))
        run.pause()
        assert run.wait(60).state == "paused"
        ours = SimpleNamespace(base_url=server.base_url, note="--dtype half")
        monkeypatch.setattr(state, "servers", lambda: {"vllm": ours})
        app.run().button(key=f"resume-{run.id}").click().run()
        assert "was started with “--dtype half”" in app.error[0].value.replace("\\", "")
        assert not state.active()
        ours.note = "--dtype float32"
        healthy(app.button(key=f"resume-{run.id}").click().run())
        # On a slow machine it has ended before the page is drawn.
        assert state.active() or state.store().run(run.id).state == "finished"
