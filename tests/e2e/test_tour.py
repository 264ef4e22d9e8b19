"""A first visit: a new store begins with the recorded runs, and every page of findings has something real to show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.model.places import EXAMPLE, TOUR
from tests.e2e.lab import OF_A_RUN

ROOT = Path(__file__).resolve().parents[2]
PAGES = [entry.file for group in OF_A_RUN for entry in ui.NAVIGATION[group] if entry.file != "compare"]


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(tmp_path_factory.mktemp("first") / "lab.duckdb"))
        st.cache_resource.clear()
        yield
        ui.manager().store.close()
        st.cache_resource.clear()


def test_a_new_store_begins_with_runs_of_real_judges() -> None:
    runs = ui.store().runs()
    assert len(runs) == len((EXAMPLE, *TOUR))
    assert all(info.name.startswith("Recorded") and not info.simulated for info in runs)
    assert all(info.done == info.planned for info in runs)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_findings_has_something_to_show(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    empty: list[str] = []
    monkeypatch.setattr(ui, "empty_state", lambda title, *_, **__: empty.append(title))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert [title for title in empty if title != "No data set kept"] == [], "the form for references has its own"


def test_from_the_example_a_page_that_it_leaves_empty_goes_on_with_a_run_that_does_not() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.switch_page("pages/position.py").run()
    assert "recorded-example" in app.session_state["run"]
    app.query_params.clear()  # as a browser does on a change of page
    app.switch_page("pages/perturbation.py").run()
    assert "recorded-prompt-forms" in app.session_state["run"]
    app.query_params.clear()
    app.switch_page("pages/ranking.py").run()
    assert "recorded-prompt-forms" in app.session_state["run"], "what was looked at last stays"
