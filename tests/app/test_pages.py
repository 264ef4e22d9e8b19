"""Every page stands: empty, with hostile names, under strange addresses, and from set up to results."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.model.judgment import JUDGMENT_COLUMNS, Condition, JudgmentTable, Ordering
from tests.app.conftest import healthy

Lab = Callable[..., AppTest]
PAGES = ["home", "setup", "runs", "results", "export"]
SCORES = (1, 2, 3)
ORDERS = tuple(Ordering(order, tuple(map(str, order))) for order in ((1, 2, 3), (2, 3, 1), (3, 1, 2)))


def made_elsewhere(name: str, judge: str = "j", items: int = 12, status: int = 0) -> JudgmentTable:
    """Each item once in three orders, always with the score listed first: it stands at position 1 in all calls."""
    rows = [
        {"condition": 0, "item": item, "ordering": k, "slot": 0, "repeat": 0, "call": 3 * item + k, "status": status,
         "score": float("nan") if status else float(order.shown[0]), "position": 0 if status else 1}
        for item in range(items)
        for k, order in enumerate(ORDERS)
    ]  # fmt: skip
    frame = pd.DataFrame([row | {"expected": float("nan"), "mass": float("nan")} for row in rows])
    frame = frame[list(JUDGMENT_COLUMNS)] if rows else pd.DataFrame(columns=list(JUDGMENT_COLUMNS))
    people = [{"item_id": f"{name}{item}", "dataset": "d", "criterion": None, "block": None, "prompt": None,
               "candidate": None, "task": None, "ratings": {}, "unit_text": str(item)} for item in range(items)]  # fmt: skip
    condition = Condition(judge, "d", "custom", scores=(1.0, 2.0, 3.0), positions=3)
    return JudgmentTable("", name, (condition,), pd.DataFrame(people), ORDERS, frame, (len(rows),))


def words(app: AppTest) -> str:
    """All that the page says."""
    parts: list[Any] = [*app.title, *app.header, *app.subheader, *app.markdown, *app.caption, *app.button]
    return "\n".join(str(getattr(part, "value", "")) + str(getattr(part, "label", "")) for part in parts)


def plain(app: AppTest) -> str:
    """The same without the signs that keep texts from being markup."""
    return words(app).replace("\\", "")


def go(app: AppTest, page: str) -> AppTest:
    return app.switch_page(f"pages/{page}.py").run()


def test_pages_stand_on_an_empty_store_and_leave_no_file(lab: Lab) -> None:
    app = lab()
    for page in PAGES:
        assert len(healthy(go(app, page)).title) == 1
    assert not state.store_path().exists()


def test_a_strange_run_in_the_address_shows_the_run_that_would_stand_there_anyway(lab: Lab) -> None:
    expected = state.run_choice()
    assert expected is not None
    app = lab("results")
    for address in ["../../x", "/etc/passwd", "%00", "\0", "a" * 10_000, "<script>", "'; drop table runs"]:
        app.query_params["run"] = address
        assert go(healthy(app), "results").selectbox(key="results-run").value == expected.id


def test_the_run_in_the_address_is_shown_by_id_by_its_beginning_and_by_name(lab: Lab) -> None:
    first = state.store().add_table(made_elsewhere("first"))
    second = state.store().add_table(made_elsewhere("second"))
    for run_id, text in ((first, first), (first, first[:8]), (first, "first"), (second, "second")):
        assert lab("results", run=text).selectbox(key="results-run").value == run_id
    assert lab("results").selectbox(key="results-run").value == second  # the latest


HOSTILE = ["n" * 10_000, "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "$x^2$ :red[r]", "\u202eabc"]


def test_hostile_names_are_texts(lab: Lab) -> None:
    app = lab()
    for name in HOSTILE:
        run_id = state.store().add_table(made_elsewhere(name, judge=name[:5_000]))
        for page in ("home", "runs", "results", "export"):
            app.query_params["run"] = run_id
            said = words(healthy(go(app, page)))
            assert not re.search(r"(?<!\\)(<img|\]\(javascript|:red\[|\$x)", said)
            assert "\u202e" not in said
            assert "n" * 400 not in said


def test_a_run_of_which_nothing_was_read_stands(lab: Lab) -> None:
    state.store().add_table(made_elsewhere("all unparsed", status=1))
    app = lab()
    for page in PAGES:
        healthy(go(app, page))


def test_the_list_of_runs_has_twenty_a_page_and_is_searched_by_names_and_judges(lab: Lab) -> None:
    for number in range(22):
        state.store().add_table(made_elsewhere(f"run {number:02d}", judge=f"judge {number}", items=1))
    app = healthy(lab("runs"))
    rows = [button for button in app.button if str(button.key).startswith("open-")]
    assert len(rows) == 20 + len(state.examples().runs())  # twenty a page, and the recorded ones below
    app.text_input(key="runs-search").set_value("JUDGE 3").run()
    healthy(app)
    rows = [button for button in app.button if str(button.key).startswith("open-")]
    assert len(rows) == 1 + len(state.examples().runs())


def test_forty_judges_stand(lab: Lab) -> None:
    table = made_elsewhere("forty", items=2)
    conditions = tuple(replace(table.conditions[0], judge=f"judge {number}") for number in range(40))
    rows = pd.concat([table.rows.assign(condition=k, call=table.rows["call"] + 6 * k) for k in range(40)])
    many = replace(table, conditions=conditions, rows=rows.reset_index(drop=True), planned=(6,) * 40)
    state.store().add_table(many)
    app = lab()
    for page in PAGES:
        healthy(go(app, page))


def use_sample(app: AppTest, **planted: float) -> AppTest:
    """Set up on the sample with the simulated judge, ready to launch."""
    app.button_group(key="data-kind").set_value("sample").run()
    next(button for button in app.button if button.label == "Use the sample").click().run()
    app.button(key="step-3-change").click().run()
    app.button_group(key="judge-where").set_value("simulated").run()
    for name, value in planted.items():
        app.number_input(key=f"judge-planted-{name}").set_value(value)
    return app.run()


def ended(timeout: float = 60) -> None:
    for run in state.active():
        run.wait(timeout)


def test_from_set_up_to_results(lab: Lab) -> None:
    app = use_sample(healthy(lab("setup")), first=2.0)
    assert app.button(key="launch-go").label == "Launch: 1,200 calls"  # 60 answers, 10 orders, twice
    app.button(key="launch-go").click().run()
    healthy(app)
    assert app.title[0].value == "Runs"
    ended()
    go(app, "runs")
    run = state.store().runs()[0]
    assert (run.state, run.done, run.name) == ("finished", 1_200, "Sample, score order")
    assert "Position 1 chosen in" in plain(app)
    app.button(key=f"open-{run.id}").click().run()
    healthy(app)
    assert "favours the option listed first" in app.title[0].value
    assert "simulated" in app.title[0].value


def test_launching_in_two_tabs_starts_one_run(lab: Lab) -> None:
    tabs = [use_sample(lab("setup"), latency=0.02) for _ in range(2)]
    for tab in tabs:
        tab.button(key="launch-go").click().run()
    assert len(state.store().runs()) == 1
    assert len(state.active()) == 1
    ended()
    assert state.store().runs()[0].done == 1_200


def test_a_run_is_paused_resumed_cancelled_renamed_and_deleted(lab: Lab) -> None:
    app = use_sample(lab("setup"), latency=0.2)
    app.button(key="launch-go").click().run()
    run_id = state.active()[0].id
    go(app, "runs")
    app.button(key=f"runs-pause-{run_id}").click().run()
    ended()
    app.run()
    assert state.store().run(run_id).state == "paused"
    assert "paused by you" in plain(app)
    app.button(key=f"resume-{run_id}").click().run()
    assert [run.id for run in state.active()] == [run_id]
    state.active()[0].cancel()
    ended()
    app.run()
    assert state.store().run(run_id).state == "cancelled"
    healthy(app)


def test_why_nothing_can_be_launched_stands_under_the_button(lab: Lab) -> None:
    app = healthy(lab("setup"))
    assert app.button(key="launch-go").disabled
    assert "First add your answers in step 1." in plain(app)
    use_sample(app)
    assert not app.button(key="launch-go").disabled
    app.button(key="step-4-change").click().run()
    app.checkbox(key="orders-balanced").uncheck().run()
    assert app.button(key="launch-go").disabled
    assert any("at least one ordering strategy" in error.value for error in app.error)


def test_controls_keep_their_state_across_pages_and_steps(lab: Lab) -> None:
    app = use_sample(healthy(lab("setup")), first=1.5)
    app.button(key="step-4-change").click().run()
    app.checkbox(key="orders-random").check().run()
    app.number_input(key="orders-random-calls").set_value(7).run()
    before = app.button(key="launch-go").label
    app.switch_page("pages/runs.py").run()
    app.switch_page("pages/setup.py").run()
    assert healthy(app).button(key="launch-go").label == before == "Launch: 1,620 calls"  # 60 x (20 + 7)
    assert app.number_input(key="orders-random-calls").value == 7
    app.button(key="step-3-change").click().run()
    assert app.number_input(key="judge-planted-first").value == 1.5


def test_progress_tells_how_a_run_ended(lab: Lab) -> None:
    app = use_sample(lab("setup"))
    app.button(key="launch-go").click().run()
    until = time.monotonic() + 60
    while state.active() and time.monotonic() < until:
        time.sleep(0.05)
    assert "1,200 of 1,200 calls" in plain(go(app, "runs"))
