"""The section “What pulls?”: the plan before it is asked, one press, and the ranked bar with every change in words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import Dataset, Item, Judge
from rubriclab.runs.workshop import Bench, new_bench

ROOT = Path(__file__).resolve().parents[2]
JUDGE = Judge(
    "leaning", "simulated", "simulated", options={"quality_weight": 0.3, "wording_by_place": {"Excellent": 2.0}}
)


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield
    ui.manager().store.close()
    st.cache_resource.clear()


def opened(bench: Bench) -> AppTest:
    """What pulls? of a bench on the page Workshop."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.switch_page("pages/workshop.py")
    app.query_params["bench"] = bench.id
    app.query_params["section"] = "pulls"
    app.run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_one_press_and_the_changes_are_ranked() -> None:
    bench = new_bench(ui.store(), sample_dataset(), sample_rubrics()[0], JUDGE, items=16)
    app = opened(bench)
    assert "One change at a time" in " ".join(one.value for one in app.markdown)
    assert not [one for one in app.warning if "too few" in one.value], "its 16 items are of 10 prompts"
    app.button(key="pulls-start").click().run()
    run = next(info.run for info in ui.store().runs() if info.provenance.get("pulls"))
    going = ui.manager().get(run)
    assert going is not None
    assert going.wait(120).state == "finished"
    app.run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    told = " ".join(one.value for one in app.markdown)
    assert "“5” described in neutral words" in told
    app.multiselect(key="pulls-only-0").set_value(["even-lengths", "no-criterion"]).run()
    assert not app.exception
    assert any(one.value.startswith("2 changes in") for one in app.markdown), "asked again with fewer"


@pytest.mark.slow
def test_a_plan_that_can_settle_nothing_is_warned_of_before_the_start() -> None:
    texts = tuple(Item(f"i{k}", "q", f"r{k}", prompt=f"p{k // 4}") for k in range(20))
    bench = new_bench(ui.store(), Dataset("few prompts", texts), sample_rubrics()[0], JUDGE, items=16)
    app = opened(bench)
    (warned,) = [one.value for one in app.warning if "too few for an interval" in one.value]
    assert "8 prompts are needed" in warned
    assert app.button(key="pulls-start")
