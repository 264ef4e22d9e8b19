"""The section “Suggestions”: what would be tried, one press, and a leaderboard on items that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views import suggestions as view
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import Judge
from rubriclab.runs.workshop import new_bench

ROOT = Path(__file__).resolve().parents[2]
JUDGE = Judge("sim", "simulated", "simulated", options={"quality_weight": 0.3})


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield
    ui.manager().store.close()
    st.cache_resource.clear()


def opened(bench: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.switch_page("pages/workshop.py")
    app.query_params["bench"] = bench
    app.query_params["section"] = "suggestions"
    app.run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_wordings_are_tried_and_stand_on_held_out_items() -> None:
    bench = new_bench(ui.store(), sample_dataset(), sample_rubrics()[0], JUDGE, items=8)
    app = opened(bench.id)
    assert "At most" in " ".join(one.value for one in app.caption)
    app.number_input(key="suggest-items").set_value(12).run()
    app.number_input(key="suggest-go-on").set_value(1).run()
    app.button(key="suggest-start").click().run()
    assert not app.exception
    going = view._rounds()[bench.id]
    going.wait(120)
    assert (going.active, going.fault) == (False, "")
    app = opened(bench.id)
    board = app.dataframe[0].value
    tested = board[board["verdict"] != "not asked there"]
    assert len(board) > 2
    assert len(tested) <= 1
    assert (tested["verdict"].str.startswith("undecided")).all(), "12 items of 10 prompts show nothing"
    answers = ui.store().outcome_counts
    before = {info.run: dict(answers(info.run)) for info in ui.store().runs()}
    app.button(key="suggest-start").click().run()
    view._rounds()[bench.id].wait(120)
    assert {info.run: dict(answers(info.run)) for info in ui.store().runs()} == before, "nothing is asked twice"


@pytest.mark.slow
def test_a_bench_of_all_items_says_why_nothing_can_be_tested() -> None:
    bench = new_bench(ui.store(), sample_dataset(), sample_rubrics()[0], JUDGE, items=40)
    app = opened(bench.id)
    assert "none is left to test a wording on" in " ".join(one.value for one in app.info)
    assert not [one for one in app.button if one.key == "suggest-start"]


@pytest.mark.slow
def test_a_round_is_stopped_and_goes_on() -> None:
    slow = Judge("slow", "simulated", "simulated", options={"latency_ms": 40}, concurrency=1)
    bench = new_bench(ui.store(), sample_dataset(), sample_rubrics()[0], slow, items=8)
    app = opened(bench.id)
    app.button(key="suggest-start").click().run()
    going = view._rounds()[bench.id]
    assert going.active
    going.stop()
    going.wait(30)
    assert not going.active
    app = opened(bench.id)
    assert "again to go on" in " ".join(one.value for one in app.warning)
