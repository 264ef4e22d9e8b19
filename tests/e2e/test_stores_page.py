"""Several stores in one lab: chosen by name, one never in another's pages, and never a path from an address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.judges.serving import SERVED_VARIABLE
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from tests.simulated_runs import run_into

ROOT = Path(__file__).resolve().parents[2]
OPENED: list[RunManager] = []


@pytest.fixture(scope="module")
def archive() -> bytes:
    with Store(":memory:") as store:
        run_into(store, "plain")
        return write_archive(store, "plain")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, archive: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A lab's folder: a first store with a run, an empty second one; outside of it a third."""
    inside = tmp_path / "lab"
    inside.mkdir()
    monkeypatch.setenv(ui.STORE_VARIABLE, str(inside / "first.duckdb"))
    monkeypatch.delenv(ui.STORES_VARIABLE, raising=False)
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    with Store(inside / "first.duckdb") as store:
        read_archive(store, archive)
    for path in (inside / "second.duckdb", tmp_path / "outside.duckdb"):
        Store(path).close()
    st.cache_resource.clear()
    yield inside
    for manager in OPENED:
        manager.store.close()
    OPENED.clear()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def _noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember what the pages open, so that the files can be let go."""
    monkeypatch.setattr(st, "switch_page", switched)
    real = RunManager

    def noted(store: Store) -> object:
        OPENED.append(real(store))
        return OPENED[-1]

    monkeypatch.setattr("rubriclab.app.ui.runs.RunManager", noted)


def switched(_page: str, *, query_params: dict[str, str]) -> None:
    """Another page in a script that has only one."""
    st.query_params.from_dict(query_params)
    st.rerun()


def one_page() -> None:
    """What app.py draws on each run, and a page that lists the runs. (AppTest runs app.py itself only once.)"""
    import streamlit as st

    from rubriclab.app import ui

    st.session_state["entered"] = True
    ui.follow_store()
    ui.store_chooser()
    with ui.page("runs", "Runs", "All of them."):
        for info in ui.store().runs():
            st.markdown(f"Run: {info.name}")


def opened(**query: str) -> AppTest:
    app = AppTest.from_function(one_page, default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    return "\n".join(part.value for kind in (app.markdown, app.info, app.caption) for part in kind)


def names(app: AppTest) -> list[str]:
    return [str(b.key).removeprefix("store-open-") for b in app.button if str(b.key).startswith("store-open-")]


def test_the_stores_of_the_folder_are_offered_and_another_is_opened() -> None:
    app = opened()
    assert names(app) == ["first", "second"]
    assert "Plain" in words(app)
    assert "store" not in app.query_params
    app.session_state["run"] = "of the first"
    app.button(key="store-open-second").click().run()
    assert not app.exception
    assert "Plain" not in words(app)
    assert app.query_params["store"] == "second"
    assert "run" not in app.session_state


def test_a_link_opens_the_store_it_names_with_its_run(folder: Path, archive: bytes) -> None:
    with Store(folder / "second.duckdb") as store:
        (run,) = read_archive(store, archive)
    (folder / "first.duckdb").unlink()
    app = opened(store="second", run=run)
    assert app.query_params["store"] == "second"
    assert "Plain" in words(app)
    assert app.query_params["run"] == run
    assert {Path(one.store.path).name for one in OPENED} == {"second.duckdb"}


@pytest.mark.parametrize("asked", ["../outside", "/etc/passwd", "outside", "..", "first.duckdb", "second\x00"])
def test_no_address_reaches_a_file_that_is_not_offered(asked: str) -> None:
    app = opened(store=asked)
    assert "Plain" in words(app), "the first store is shown"
    assert any("There is no store" in warning.value for warning in app.warning)
    assert {Path(one.store.path).name for one in OPENED} == {"first.duckdb"}


def test_two_sessions_look_at_two_stores() -> None:
    one, other = opened(), opened(store="second")
    one.run()
    assert "Plain" in words(one)
    assert "Plain" not in words(other)


@pytest.mark.parametrize("kind", ["broken", "newer", "foreign", "elsewhere"])
def test_a_store_that_cannot_be_opened_says_so_and_the_chooser_stays(folder: Path, kind: str) -> None:
    path = folder / f"{kind}.duckdb"
    held = None
    if kind == "broken":
        path.write_bytes(os.urandom(5000))
    elif kind == "foreign":
        duckdb.connect(str(path)).execute("CREATE TABLE t (a INT)").close()
    else:
        Store(path).close()
        held = duckdb.connect(str(path))
        if kind == "newer":
            held.execute("UPDATE lab SET schema_version = 999")
            held.close()
    app = opened(store=kind)
    if kind != "elsewhere":
        assert len(app.error) == 1, [e.value for e in app.error]
        assert kind in app.error[0].value
    if held is not None:
        held.close()
    app.button(key="store-open-first").click().run()
    assert not app.error
    assert "Plain" in words(app)


@pytest.mark.parametrize("typed", ["../escape", "a/b", ".hidden", "", "/tmp/x"])
def test_a_new_store_has_a_name_and_no_path(folder: Path, typed: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    app = opened()
    app.text_input(key="store-name").set_value(typed)
    next(b for b in app.button if b.label == "Make it").click().run()
    assert not app.exception
    assert any("is no name for a store" in error.value for error in app.error)
    assert sorted(folder.parent.rglob("*")) == before


def test_a_new_store_is_made_and_opened_and_none_is_overwritten(folder: Path) -> None:
    app = opened()
    app.text_input(key="store-name").set_value("second")
    next(b for b in app.button if b.label == "Make it").click().run()
    assert any("already" in error.value for error in app.error)
    app.text_input(key="store-name").set_value("third study")
    next(b for b in app.button if b.label == "Make it").click().run()
    assert not app.exception
    assert (folder / "third study.duckdb").is_file()
    assert app.query_params["store"] == "third study"


def test_a_served_lab_offers_only_what_its_owner_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SERVED_VARIABLE, "1")
    app = opened(store="second")
    assert names(app) == []
    assert "Plain" in words(app)
    assert not any(box.key == "store-name" for box in app.text_input)
    monkeypatch.setenv(ui.STORES_VARIABLE, str(folder.parent / "outside.duckdb"))
    app = opened(store="outside")
    assert names(app) == ["first", "outside"]
    assert "Plain" not in words(app)
    assert not any(box.key == "store-name" for box in app.text_input)
