"""No page of findings draws a chart with nothing in it, whatever the recorded runs do not show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from tests.e2e.lab import OF_A_RUN, healthy

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The runs that a new store begins with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(tmp_path_factory.mktemp("tour") / "lab.duckdb"))
        st.cache_resource.clear()
        healthy(AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run())
        yield [info.run for info in ui.store().runs()]
        ui.manager().store.close()
        st.cache_resource.clear()


def shows_something(trace: dict[str, Any]) -> bool:
    """Has it a point whose place is known?"""
    drawn = [trace[name] for name in ("x", "y", "z", "r") if name in trace]
    return any(axis if isinstance(axis, dict) else any(one is not None for one in axis) for axis in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("page", [entry.file for group in OF_A_RUN for entry in ui.NAVIGATION[group]])
def test_every_chart_shows_something(tour: list[str], page: str) -> None:
    empty = []
    for run in tour:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
        app.switch_page(f"pages/{page}.py")
        app.query_params["run"] = run
        assert not app.run().exception  # a page may say in words that it shows no such run
        charts = [chart.proto for chart in app.get("plotly_chart")]
        empty += [c.id for c in charts if not any(map(shows_something, json.loads(c.spec)["data"]))]
    assert not empty
