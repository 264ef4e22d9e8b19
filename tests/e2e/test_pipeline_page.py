"""The page Your pipeline: what a run lets one take along, and what keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views.adapters import examples
from rubriclab.model.places import EXAMPLE
from rubriclab.store.archive import read_archive
from tests.proxies import comparing, rating
from tests.simulated_runs import run_into, studies

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    path = tmp_path_factory.mktemp("pipeline") / "lab.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(path))
        patch.setattr("rubriclab.app.ui.runs.EXAMPLE", path.parent / "none.zip")
        st.cache_resource.clear()
        made = run_into(ui.store(), "plain")
        yield {**made, "example": read_archive(ui.store(), EXAMPLE.read_bytes())[0]}
        ui.manager().store.close()
        st.cache_resource.clear()


def opened(run: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.run()
    app.query_params["run"] = run
    app.switch_page("pages/pipeline.py").run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    return app


def test_a_judge_card_is_measured_and_given_on_one_page(runs: dict[str, str]) -> None:
    app = opened(runs["example"])
    next(one for one in app.selectbox if str(one.key).startswith("card-arm")).set_value(2).run()
    app.button(key="card-make").click().run()
    assert not app.exception
    assert any("10 calls an item" in text.value for text in app.markdown)
    table = next(frame.value for frame in app.dataframe if "Way of asking" in frame.value)
    assert table.loc[table[""] == "chosen", "Calls"].tolist() == [10]
    assert len(table) == 7


def test_a_run_without_a_card_says_why(runs: dict[str, str]) -> None:
    app = opened(runs["plain"])
    app.button(key="card-make").click().run()
    assert not app.exception
    assert any("there is no model that a card could ask" in info.value for info in app.info)


@pytest.mark.slow
def test_two_times_of_a_judge_are_set_beside_each_other_on_the_page(runs: dict[str, str]) -> None:
    made = ui.manager().start(replace(studies()["plain"], name="Plain, asked again"))
    assert made.wait(60).state == "finished"
    app = opened(runs["plain"])
    assert any("drift judge.card.json --against" in text.value for text in app.code)
    app.selectbox(key="drift-now").set_value(made.info.run).run()
    app.button(key="drift-compare").click().run()
    assert not app.exception
    assert [info.value for info in app.info] == []
    assert any("the judge's own level" in text.value for text in app.markdown)
    assert any("highest score at place 1" in str(frame.value) for frame in app.dataframe)


def test_a_gate_is_decided_in_words_with_limits_from_the_address(runs: dict[str, str]) -> None:
    app = opened(runs["example"])
    table = next(frame.value for frame in app.dataframe if "Limit" in frame.value)
    assert set(table["Condition"]) == {"Cramér's V of places", "Shift of the mean score", "Answers that flip"}
    assert all(outcome.split(" ", 1)[1] in ("passes", "fails", "cannot tell") for outcome in table[""])
    assert any("max_v = 0.1" in code.value for code in app.code)
    assert any("name: judge gate" in code.value for code in app.code)
    app.select_slider(key="gate-max_v").set_value(0.5).run()
    assert app.query_params["max_v"] in ("0.5", ["0.5"])
    assert any("max_v = 0.5" in code.value for code in app.code)
    app.multiselect(key="gate-conditions").set_value([]).run()
    assert not app.exception
    assert any(info.value == "Choose a condition." for info in app.info)


def test_a_prompt_of_ones_own_is_shown_as_the_proxy_would_ask_it(runs: dict[str, str]) -> None:
    app = opened(runs["plain"])
    assert any("rubriclab proxy --upstream" in code.value for code in app.code)
    app.text_area(key="proxy-prompt").set_value(rating("a text")).run()
    assert not app.exception
    assert any("5 score options found: 10 calls" in text.value for text in app.markdown)
    orders = next(frame.value for frame in app.dataframe if "Place 5" in frame.value)
    assert orders["Place 1"].tolist() == ["1", "2", "3", "4", "5", "5", "4", "3", "2", "1"]
    app.selectbox(key="proxy-orders").set_value("2 orders, each the other's mirror image").run()
    assert any("--orders 2" in code.value for code in app.code)
    app.text_area(key="proxy-prompt").set_value(json.dumps({"messages": [{"role": "user", "content": "Hi"}]})).run()
    assert any("passes this on untouched" in info.value for info in app.info)
    app.text_area(key="proxy-prompt").set_value(comparing("one", "two")).run()
    assert any("Two responses found: 2 calls" in text.value for text in app.markdown)


def test_the_files_for_each_tool_are_shown_with_the_runs_own_card(runs: dict[str, str]) -> None:
    app = opened(runs["example"])
    shown = [block.value for block in app.code]
    card = f"{runs['example']}.card.json"
    for tool in examples().tools:
        assert [tab.label for tab in app.tabs].count(tool.title) == 1
        for _, text in tool.files:
            assert text.replace("judge.card.json", card).strip() in [block.strip() for block in shown]
    assert any(f"card {runs['example']} " in block and f"--out {card}" in block for block in shown)
