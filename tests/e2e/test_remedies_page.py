"""The page Runs has remedies for a judge that waits: a key for this session, or the run goes on without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.model import Judge
from tests.e2e.lab import healthy
from tests.labkit import study

ROOT = Path(__file__).resolve().parents[2]
KEYED = Judge("api", "openai", "m", ("http://127.0.0.1:9/v1",), key_env="NOWHERE_API_KEY")
PLANTED = Judge("planted", "simulated", "simulated")
SECRET = "sk-for-this-session-only-12345"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "lab.duckdb"
    monkeypatch.setenv(ui.STORE_VARIABLE, str(path))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield path
    ui.manager().store.close()
    st.cache_resource.clear()


def waiting_run() -> str:
    ended = ui.manager().start(study(3, judges=(KEYED, PLANTED), name="Two")).wait(60.0)
    assert (ended.state, list(ended.waiting)) == ("paused", ["api"])
    return ended.run


def opened(page: str = "runs") -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.switch_page(f"pages/{page}.py").run()
    return app


def texts(app: AppTest) -> str:
    return "\n".join(str(part.value) for kind in (app.markdown, app.caption, app.warning) for part in kind)


def test_a_run_goes_on_without_the_judge_and_says_so_on_every_page() -> None:
    run = waiting_run()
    app = opened()
    assert "**api** waits" in texts(app)
    app.button(key=f"runs-{run}-api-drop").click().run()
    healthy(app)
    info = ui.store().run(run)
    assert (info.state, info.done, info.planned) == ("finished", 60, 60)
    assert "dropped from this run after 0 of its 60 calls" in texts(app)
    for page in ("position", "judgments"):
        found = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        found.query_params["run"] = run
        found.switch_page(f"pages/{page}.py").run()
        healthy(found)
        assert "dropped from this run" in texts(found), page
    app.button(key=f"runs-{run}-back-api").click().run()
    healthy(app)
    assert (ui.store().run(run).state, ui.store().run(run).planned) == ("paused", 120)


def test_a_key_for_this_session_is_used_and_kept_nowhere(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = waiting_run()
    seen: list[str] = []

    def go_on(name: str, *, secrets: dict[str, str], **more: object) -> None:
        del name, more
        seen.append(secrets["NOWHERE_API_KEY"])

    monkeypatch.setattr(ui.manager(), "go_on", go_on)
    app = opened()
    app.text_input(key=f"runs-{run}-api-key").input(f" {SECRET} ")
    app.button(key=f"FormSubmitter:runs-{run}-api-form-Use it and go on").click().run()
    healthy(app)
    assert seen == [SECRET]
    ui.store().close()
    assert all(SECRET.encode() not in file.read_bytes() for file in store.parent.iterdir() if file.is_file())


def test_an_empty_key_is_refused_in_its_place() -> None:
    run = waiting_run()
    app = opened()
    app.button(key=f"FormSubmitter:runs-{run}-api-form-Use it and go on").click().run()
    assert "NOWHERE" in app.error[0].value
