"""The page Your pipeline: what a run lets one take along, and what keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views.adapters import examples
from rubriclab.model.places import EXAMPLE
from rubriclab.store.archive import read_archive
from tests.simulated_runs import run_into

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
    app.selectbox(key="card-arm").set_value(2).run()
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


def test_the_files_for_each_tool_are_shown_with_the_runs_own_card(runs: dict[str, str]) -> None:
    app = opened(runs["example"])
    shown = [block.value for block in app.code]
    card = f"{runs['example']}.card.json"
    for tool in examples().tools:
        assert [tab.label for tab in app.tabs].count(tool.title) == 1
        for _, text in tool.files:
            assert text.replace("judge.card.json", card).strip() in [block.strip() for block in shown]
    assert any(f"card {runs['example']} " in block and f"--out {card}" in block for block in shown)
