"""Run again with changes: every step filled in from the run, only changed calls asked, changed words beside the old ones."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from rubriclab.app import state
from rubriclab.judges import simulated
from rubriclab.judges.kinds import judge_named
from rubriclab.model.judgment import Call
from rubriclab.notebook import read
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_pages import ended, go
from tests.app.test_setup import confirmed, held, step

ROWS = {"item_id": ["a", "a"], "ordering": ["1 2", "2 1"], "score": ["1", "2"]}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the calls that reached the simulated judge."""
    keys: list[str] = []
    ask = simulated.SimulatedJudge.ask

    async def counted(self: Any, call: Call) -> Any:
        keys.append(call.key)
        return await ask(self, call)

    monkeypatch.setattr(simulated.SimulatedJudge, "ask", counted)
    return keys


def launched(app: AppTest) -> str:
    app.button(key="launch-go").click().run()
    ended()
    healthy(app)
    return state.store().runs()[0].id


def test_changed_words_become_a_wording_of_the_same_study_and_only_they_are_asked(lab: Lab, asked: list[str]) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    first = launched(app)
    assert len(asked) == 180  # 9 answers, 10 orders, twice

    app = lab("setup", again=first)  # a visit that never saw the file
    assert "Nothing is changed yet" in texts(healthy(app))
    assert app.button(key="launch-go").disabled
    assert held(app).dataset() == state.store().dataset(state.store().run(first).dataset)
    for number in (1, 3, 4):  # opening a step changes nothing
        step(app, number)
    assert app.button(key="launch-go").disabled

    step(app, 2).button_group(key="rubric-kind").set_value("own").run()
    app.text_input(key="rubric-about-0").set_value("Is the story told well?").run()
    assert app.button(key="launch-go").label == "Launch: 180 calls"
    assert "Asked in these wordings: Helpfulness; Helpfulness, changed." in texts(app)
    assert "180 of these calls" in app.checkbox(key="launch-known").label
    second = launched(app)
    assert len(asked) == len({*asked}) == 360  # the other wording alone

    run = state.store().run(second)
    assert (run.state, run.done, run.failed) == ("finished", 360, 0)
    old, new = (state.kept(run_id).table.rows for run_id in (first, second))
    taken = new[new["condition"] == 0].sort_values(["item", "ordering", "repeat"])
    assert taken["score"].tolist() == old.sort_values(["item", "ordering", "repeat"])["score"].tolist()
    assert set(state.store().calls(second)["note"]) == {"", f"answered in run {first}"}
    (shift,) = state.findings(second).select("variant_shift")
    assert shift.counts["n"] == 9
    assert "changed" in shift.of["variant"]
    assert "Setting" in {box.label for box in healthy(lab("results", run=second)).selectbox}

    app = lab("setup", again=second)  # a third wording stands beside both
    app.button_group(key="rubric-kind").set_value("own").run()
    app.text_input(key="rubric-about-0").set_value("Is it short?").run()
    assert app.button(key="launch-go").label == "Launch: 180 calls"
    app.checkbox(key="launch-known").uncheck().run()
    assert app.button(key="launch-go").label == "Launch: 540 calls"
    app.checkbox(key="rubric-beside").uncheck().run()
    assert app.button(key="launch-go").label == "Launch: 360 calls"  # in place of the first, all anew


@pytest.mark.parametrize("change", ["scores", "judge", "orders"])
def test_other_changes_make_a_study_of_their_own(lab: Lab, change: str) -> None:
    app = step(confirmed(lab("setup")), 3)
    app.button_group(key="judge-where").set_value("simulated").run()
    app = lab("setup", again=launched(app))
    if change == "scores":
        app.button_group(key="rubric-kind").set_value("own").run()
        app.session_state["rubric-options-0 base"] = app.session_state["rubric-options-0 base"].iloc[:4]
        app.run()
        assert app.button(key="launch-go").label == "Launch: 144 calls"  # 8 orders of four
        assert not held(app).checked().design.vary.wording
    elif change == "judge":
        step(app, 3).button(key="judge-change-0").click().run()
        app.number_input(key="judge-planted-noise").set_value(0.5).run()
        assert app.button(key="launch-go").label == "Launch: 180 calls"
    else:
        step(app, 4).checkbox(key="orders-random").check().run()
        app.number_input(key="orders-random-calls").set_value(5).run()
        assert int(app.button(key="launch-go").label.split()[1]) <= 9 * 5  # some drawn orders are known, too
    healthy(app)


def test_a_run_that_cannot_be_asked_again_says_why(lab: Lab) -> None:
    app = lab("setup", again="nothing")
    assert "no run" in app.error[0].value.replace("\\", "")
    app = confirmed(lab("setup"))
    app.query_params["again"] = state.recorded()  # of the store that came with the lab
    assert "Nothing is changed yet" in texts(healthy(go(app, "setup")))
    assert held(pressed(app, "Back to what was being set up")).study.data[0].file == "answers.csv"


def test_an_imported_logs_prompts_are_asked_in_other_orders(lab: Lab, asked: list[str]) -> None:
    log = Path(__file__).parents[1] / "logs" / "samples" / "inspect.eval"
    lab()
    id = state.store().add_table(read(log).table)
    page = healthy(lab("results", run=id, tab="Judgments", view="Prompt as sent"))
    assert any("The answer says no useful thing." in block.value for block in page.code)  # as the log has it
    page.button(key=f"results-logged-{id}").click().run()
    app = healthy(lab("setup", again=id))
    assert "We found this list; its order will change" in texts(app)
    assert "4 prompts" in texts(app)
    held(app).change(judges=(judge_named("simulated:planted"),))
    run = state.store().run(launched(app.run()))
    assert (run.state, run.done, run.failed) == ("finished", len(asked), 0)
    without = lab("results", run=state.store().add_table(read(pd.DataFrame(ROWS)).table))
    assert not [button for button in without.button if button.label == "Run these prompts in other orders"]
