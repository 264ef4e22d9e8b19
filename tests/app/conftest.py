"""Give each test of a page its own lab: an empty store, nothing cached, no run left."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.testing.v1 import AppTest

from rubriclab.app import compare, state
from rubriclab.model.judgment import JudgmentTable

Lab = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]
COMPONENTS = BidiComponentManager()
"""Of all visits: each would read the metadata of every installed package anew."""
PAGES: dict[str, Any] = {}
"""What the first visit registered: the others go straight to their page, not by way of Home."""
HOSTILE = "<img src=x onerror=alert(1)> **b** $x^2$ [c](javascript:alert(1)) :red[r] \u202e"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """``lab("setup")``: a visit that stands on that page. All visits of a test share one server's
    store and runs.
    """
    monkeypatch.setenv(state.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    state._kept.clear()  # kept by run and revision, which another test's store may have too
    state._findings.clear()
    compare._pair.clear()
    compare._union.clear()
    st.cache_data.clear()

    def visit(page: str = "home", **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app._bidi_component_manager = COMPONENTS
        for name, value in query.items():
            app.query_params[name] = value
        if not PAGES:
            PAGES.update(app.run()._registered_pages)
        app._registered_pages = PAGES
        return app.switch_page(f"pages/{page}.py").run()

    yield visit
    state.manager().stop_all(seconds=20)
    state.store().close()


def healthy(app: AppTest) -> AppTest:
    """The page ran to its end and shows no error."""
    assert not app.exception
    assert [error.value for error in app.error] == []
    return app


def texts(app: AppTest) -> str:
    """All that a page says, as it is read: escapes and colour marks taken off."""
    prose = [
        part.value
        for kind in (app.title, app.header, app.subheader, app.markdown, app.caption)
        for part in kind
    ]
    plain = re.sub(r":[a-z]+(-badge|-background)?\[([^\]]*)\]", r"\2", "\n".join(prose))
    return re.sub(r"\\(.)", r"\1", plain).replace("**", "")


def pressed(app: AppTest, label: str) -> AppTest:
    """The visit after its first button of that label was pressed."""
    return next(button for button in app.button if button.label == label).click().run()


def kept(table: JudgmentTable) -> str:
    """A run of the visitor's store, with its replies."""
    calls = table.rows.drop_duplicates("call")[["call", "condition", "status"]].reset_index(
        drop=True
    )
    calls = calls.assign(key=calls["call"].astype(str), attempt=1, text=f"My score: {HOSTILE}")
    named = table.items.assign(unit_text=table.items.get("unit_text", table.items["item_id"]))
    return state.store().add_table(replace(table, items=named), calls)
