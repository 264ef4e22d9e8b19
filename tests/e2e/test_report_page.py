"""The Report page: which runs, which parts, what it promises, and what its buttons give."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.views import report as views
from rubriclab.datasets.logs import Source
from rubriclab.report.page import PARTS
from rubriclab.runs.importing import import_file
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from tests.simulated_runs import run_into

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    path = tmp_path_factory.mktemp("report") / "lab.duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ui.STORE_VARIABLE, str(path))
        patch.setattr("rubriclab.app.ui.runs.EXAMPLE", path.parent / "none.zip")
        st.cache_resource.clear()
        yield run_into(ui.store(), "plain", "criteria")
        ui.manager().store.close()
        st.cache_resource.clear()


def opened(**query: str | list[str]) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.run()
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("pages/report.py").run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    return app


def promised(app: AppTest) -> str:
    return next(m.value for m in app.markdown if m.value.startswith("- "))


def test_the_run_looked_at_last_is_chosen(runs: dict[str, str]) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["run"] = runs["criteria"]
    app.run()
    app.switch_page("pages/report.py").run()
    assert app.multiselect(key="report-runs").value == [runs["criteria"]]
    assert app.query_params["run"] == runs["criteria"]
    assert "shifts by criterion" in promised(app)
    assert any("simulated" in warning.value for warning in app.warning)


def test_parts_and_several_runs_change_what_is_promised(runs: dict[str, str]) -> None:
    app = opened(run=[runs["plain"], runs["criteria"]])
    assert "A comparison of 2 runs" in promised(app)
    assert any(caption.value.startswith("About 5 MB") for caption in app.caption)
    app.multiselect(key="report-parts").set_value(["methods"]).run()
    assert "Charts" not in promised(app)
    assert any(caption.value.startswith("Less than 1 MB") for caption in app.caption)
    assert app.query_params["with"] == "methods"
    app.multiselect(key="report-runs").set_value([]).run()
    assert "Choose at least one run." in [info.value for info in app.info]


@pytest.mark.slow
def test_the_buttons_give_a_document_and_a_bundle(runs: dict[str, str]) -> None:
    both = list(runs.values())
    made = views.html_maker(ui.store(), both, title="Two", parts=("charts",))()
    assert made.startswith(b"<!doctype html>")
    assert b"<title>Two" in made
    assert b"How this was worked out" not in made
    bundle = views.bundle_maker(ui.store(), both)()
    with Store(":memory:") as other:
        assert set(read_archive(other, bundle)) == set(both)
    taken = import_file(ui.store, Source(bundle, name="both.zip"))
    assert set(taken.runs) == set(both), "the Data page reads a bundle of several runs"


def test_names_of_files_and_parts(runs: dict[str, str]) -> None:
    assert views.PART_NAMES.keys() == PARTS.keys()
    infos = [ui.store().run(run) for run in runs.values()]
    assert views.file_name("", infos[:1], ".html") == f"{infos[0].run}.html"
    assert views.file_name("v1.2 <b>/..", infos, ".zip") == "v1-2--b.zip"
    assert views.file_name("", infos, ".zip") == "comparison.zip"


def test_an_empty_store_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "empty.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    app = opened()
    assert [head.value for head in app.subheader] == ["Nothing to report yet"]
    ui.manager().store.close()


def test_a_paper_is_written_on_the_page(runs: dict[str, str]) -> None:
    app = opened(run=runs["plain"])
    app.button(key="paper-make").click().run()
    assert not app.exception
    assert [error.value for error in app.error] == []
    shown = " ".join(block.value for block in app.code)
    assert "5 prompts [@cameron2015]" in shown
    assert "\\toprule" in shown
    assert "@article{cameron2015," in shown


@pytest.mark.slow
def test_pages_for_a_web_server_are_a_zip_without_texts_unless_asked(
    runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Callable[[], bytes]]] = []
    real = st.download_button
    monkeypatch.setattr(
        st, "download_button", lambda label, data, **more: asked.append((label, data)) or real(label, data, **more)
    )
    for ticked in (False, True):
        app = opened(run=runs["plain"])
        if ticked:
            app.checkbox(key="share-texts").check().run()
        made = dict(asked)["Pages (zip)"]()
        with zipfile.ZipFile(BytesIO(made)) as archive:
            names = archive.namelist()
        assert "index.html" in names
        assert (f"{runs['plain']}/data/texts.csv" in names) is ticked
