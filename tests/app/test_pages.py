"""Check every page: empty, with hostile names, at strange addresses, from Set up to Results."""

import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import runs, state
from rubriclab.model.judge import JudgeSettings
from tests.app.conftest import Lab, healthy, kept, pressed, texts
from tests.judges.kit import until
from tests.study.kit import small_plan
from tests.words import made

PAGES = ["home", "try", "setup", "runs", "results", "compare", "export", "learn"]
FIRST = {"judge-7b": made.always_first}


def words(app: AppTest) -> str:
    """All that the page says."""
    parts: list[Any] = [
        *app.title,
        *app.header,
        *app.subheader,
        *app.markdown,
        *app.caption,
        *app.button,
    ]
    return "\n".join(
        str(getattr(part, "value", "")) + str(getattr(part, "label", "")) for part in parts
    )


def go(app: AppTest, page: str) -> AppTest:
    return app.switch_page(f"pages/{page}.py").run()


@pytest.mark.thorough
def test_pages_work_with_an_empty_store_and_leave_no_file(lab: Lab) -> None:
    app = lab()
    for page in PAGES:
        assert len(healthy(go(app, page)).title) == 1
    assert not state.store_path().exists()


@pytest.mark.thorough
def test_the_run_in_the_address_is_shown_by_id_beginning_or_name_else_the_latest(lab: Lab) -> None:
    first = state.store().add_table(made.options_table(FIRST, items=9, name="first"))
    second = state.store().add_table(made.options_table(FIRST, items=10, name="second"))
    for run_id, text in ((first, first), (first, first[:8]), (first, "first"), (second, "second")):
        assert lab("results", run=text).selectbox(key="results-run").value == run_id
    app = lab("results")
    for address in [
        "",
        "../../x",
        "/etc/passwd",
        "%00",
        "\0",
        "a" * 10_000,
        "<script>",
        "'; drop table runs",
    ]:
        app.query_params["run"] = address
        assert go(healthy(app), "results").selectbox(key="results-run").value == second


HOSTILE = [
    "n" * 10_000,
    "\u202e<img src=x onerror=alert(1)> $x^2$",
    "**b** :red[r] [a](javascript:alert(1)) ![](http://evil.example)",
]


@pytest.mark.thorough
@pytest.mark.parametrize("reorder", ["options", "criteria"])
def test_hostile_names_are_texts(lab: Lab, reorder: str) -> None:
    app = lab()
    for name in HOSTILE:
        if reorder == "options":
            judges = {name[:5_000]: made.always_first, f"b{name[:4_990]}": made.by_quality}
            table = made.options_table(judges, items=9, name=name)
        else:
            table = made.criteria_table(
                lambda *at: 4 - (at[2] > 0), items=9, names=(name, "B", "C")
            )
        table.items["item_id"] = [f"{k} {name[:900]}" for k in range(len(table.items))]
        app.query_params["run"] = state.store().add_table(table)
        app.query_params["tab"] = "Judgments"
        for page in ("home", "runs", "results", "export", "compare"):
            said = words(healthy(go(app, page)))
            assert not re.search(r"(?<!\\)(<img|\]\(|:red\[|\$x|\*\*b)", said)
            assert "\u202e" not in said
            assert "n" * 400 not in said


@pytest.mark.thorough
def test_a_run_without_any_parsed_reply_is_shown(lab: Lab) -> None:
    run_id = kept(made.options_table({"j": lambda *_: None}, items=4, state="failed"))
    app = lab()
    for page in PAGES:
        labels = {button.label for button in healthy(go(app, page)).button}
        assert not labels & {"Continue", "Retry failed calls"}  # all was asked, and elsewhere
    go(app, "runs").button(key=f"open-{run_id}").click().run()
    assert healthy(app).title[0].value == "No score of j could be read"


@pytest.mark.thorough
def test_a_recorded_example_in_the_users_own_store_is_listed_once(lab: Lab) -> None:
    examples = state.examples()
    for info in examples.runs():
        state.store().add_table(examples.table(info.id))
    app = healthy(go(lab(), "runs"))
    assert sum(str(button.key).startswith("open-") for button in app.button) == len(examples.runs())
    said = texts(app)
    assert "No estimate yet" not in said
    assert "Biased: picks the answer shown first." in said
    assert said.count("answer order") == 3  # two of pairs, one of lists


@pytest.mark.thorough
def test_the_list_of_runs_has_twenty_a_page_and_is_searched_by_names_and_judges(lab: Lab) -> None:
    def rows(app: AppTest) -> int:
        return sum(str(button.key).startswith("open-") for button in healthy(app).button) - len(
            state.examples().runs()
        )

    for number in range(22):
        table = made.options_table(
            {f"judge {number}": made.always_first}, items=1, name=f"run {number}"
        )
        state.store().add_table(table)
    app = lab("runs")
    assert rows(app) == 20
    assert rows(app.text_input(key="runs-search").set_value("JUDGE 3").run()) == 1


@pytest.mark.integration
def test_pages_work_with_forty_judges(lab: Lab) -> None:
    table = made.options_table(
        {f"judge {number}": made.always_first for number in range(40)}, items=2, repeats=1
    )
    state.store().add_table(table)
    app = lab()
    for page in PAGES:
        healthy(go(app, page))


def use_sample(app: AppTest, **planted: float) -> AppTest:
    """Set up on the sample with the simulated judge, ready to launch."""
    app.button_group(key="data-kind").set_value("sample").run()
    pressed(app, "Use the sample")
    app.button(key="step-3-change").click().run()
    app.button_group(key="judge-where").set_value("simulated").run()
    for name, value in planted.items():
        app.number_input(key=f"judge-planted-{name}").set_value(value)
    return app.run()


def ended(timeout: float = 60) -> None:
    for run in state.active():
        run.wait(timeout)


@pytest.mark.thorough
def test_from_set_up_to_results(lab: Lab) -> None:
    app = use_sample(healthy(lab("setup")), first=2.0)
    assert (
        app.button(key="launch-go").label == "Launch at most 1,200 calls"
    )  # 60 answers, 10 orders, twice
    app.button(key="launch-go").click().run()
    healthy(app)
    assert app.title[0].value == "Runs"
    ended()
    go(app, "runs")
    run = state.store().runs()[0]
    assert (run.state, run.done, run.name) == ("finished", 300, "Sample, score order")
    assert "simulated Biased: favours the option listed first" in texts(app)
    assert "300 of 1,200 calls" in texts(app)
    assert "answer clear, stopped early" in texts(app)
    app.button(key=f"open-{run.id}").click().run()
    healthy(app)
    assert "favours the option listed first" in app.title[0].value
    stopped = "Stopped after 15 of 60 answers: whether the order matters is clear."
    assert f"{stopped} 900 calls were not asked." in texts(app)
    assert app.button(key="ask-rest").label == "Ask the rest (900 calls)"
    assert "simulated" in app.title[0].value
    state.store().set_state(run.id, "failed", "0 of 1,200 could be read")
    assert "Retry failed calls" in {button.label for button in healthy(go(app, "home")).button}


@pytest.mark.integration
def test_launching_in_two_tabs_starts_one_run(lab: Lab) -> None:
    tabs = [use_sample(lab("setup"), latency=0.3) for _ in range(2)]
    for tab in tabs:
        tab.button(key="launch-go").click().run()
    assert len(state.store().runs()) == 1
    assert len(state.active()) == 1
    ended()
    assert state.store().runs()[0].done == 300  # its answer is clear at the first look


@pytest.mark.thorough
def test_a_run_is_paused_resumed_and_cancelled(lab: Lab) -> None:
    app = use_sample(lab("setup"), latency=2.0)
    app.button(key="launch-go").click().run()
    run_id = state.active()[0].id
    go(app, "runs")
    app.button(key=f"runs-pause-{run_id}").click().run()
    ended()
    app.run()
    assert state.store().run(run_id).state == "paused"
    assert "Paused by you. Nothing is asked twice when you continue." in texts(app)
    app.button(key=f"resume-{run_id}").click().run()
    assert [run.id for run in state.active()] == [run_id]
    state.active()[0].cancel()
    ended()
    healthy(app.run())
    assert state.store().run(run_id).state == "cancelled"


@pytest.mark.thorough
def test_a_click_on_cancel_shows_at_once(lab: Lab) -> None:
    """The run ends within the click, and the page has no control of it left."""
    judge = JudgeSettings(name="sim", kind="simulated", options={"latency": 0.2}, concurrency=1)
    app = lab("runs")
    run = state.manager().start(small_plan(20, judges=(judge,)))
    app = go(app, "runs")
    app.button(key=f"runs-cancel-{run.id}").click().run()
    assert state.store().run(run.id).state == "cancelled"
    healthy(app)
    assert not [button for button in app.button if str(button.key).startswith("runs-cancel")]


@pytest.mark.thorough
def test_a_run_that_is_stopping_cannot_be_stopped_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "STOP_SECONDS", 0.0)
    judge = JudgeSettings(name="sim", kind="simulated", options={"latency": 3.0}, concurrency=1)
    app = lab("runs")
    run = state.manager().start(small_plan(20, judges=(judge,)))
    assert until(lambda: run.snapshot().in_flight > 0, 30)
    app = go(app, "runs")
    app.button(key=f"runs-pause-{run.id}").click().run()
    assert run.stopping == "paused"
    assert app.button(key=f"runs-pause-{run.id}").disabled
    assert not app.button(key=f"runs-cancel-{run.id}").disabled
    run.cancel()
    ended()
    assert run.snapshot().stage == ""


@pytest.mark.thorough
def test_controls_keep_their_state_across_pages_and_steps(lab: Lab) -> None:
    app = healthy(lab("setup"))
    assert app.button(key="launch-go").disabled
    assert "Add your answers in step 1 first." in texts(app)
    use_sample(app, first=1.5).button(key="step-4-change").click().run()
    app.checkbox(key="orders-random").check().run()
    app.number_input(key="orders-random-calls").set_value(7).run()
    before = app.button(key="launch-go").label
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/setup.py").run()
    assert (
        healthy(app).button(key="launch-go").label == before == "Launch at most 1,620 calls"
    )  # 60 x (20 + 7)
    assert app.number_input(key="orders-random-calls").value == 7
    app.button(key="step-3-change").click().run()
    assert app.number_input(key="judge-planted-first").value == 1.5
    app.button(key="step-4-change").click().run()
    app.checkbox(key="orders-random").uncheck().run()
    app.checkbox(key="orders-balanced").uncheck().run()
    assert app.button(key="launch-go").disabled
    assert any("at least one ordering strategy" in error.value for error in app.error)
