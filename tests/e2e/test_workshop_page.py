"""The Workshop: a bench made on the page, a version tried, its difference, its link, its mistakes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.forms.rubric import option_rows
from rubriclab.datasets.sample import sample_dataset, sample_rubrics
from rubriclab.model import Judge, Rubric
from rubriclab.runs.workshop import Bench, new_bench, open_bench, try_version
from rubriclab.store import Store
from tests.e2e.lab import healthy

ROOT = Path(__file__).resolve().parents[2]
LEANING = Judge("place lover", "simulated", "simulated", options={"position": {"first": 1.5}})
pytestmark = pytest.mark.slow
HELPFUL = sample_rubrics()[0]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(ui.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    ui.store().save_judge(LEANING)
    yield
    ui.manager().store.close()
    st.cache_resource.clear()


def opened(**address: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/workshop.py")
    for name, value in address.items():
        app.query_params[name] = value
    return healthy(app.run())


def asked_out(app: AppTest) -> AppTest:
    until = time.monotonic() + 120
    while ui.manager().active() and time.monotonic() < until:
        time.sleep(0.1)
    return healthy(app.run())


def shorter(rubric: Rubric) -> Rubric:
    (criterion,) = rubric.criteria
    first, *rest = criterion.options
    return replace(rubric, criteria=(replace(criterion, options=(replace(first, description="Useless."), *rest)),))


def worked() -> Bench:
    """A bench with its first version and a shorter one, both asked."""
    bench = new_bench(ui.store(), sample_dataset(), HELPFUL, LEANING, items=12)
    first = try_version(ui.manager(), bench, HELPFUL, name="x", parent=None)
    assert first.wait(60).state == "finished"
    second = try_version(ui.manager(), bench, shorter(HELPFUL), name="one word", parent=first.info.run)
    assert second.wait(60).state == "finished"
    return open_bench(ui.store(), bench.id)


def words(app: AppTest) -> str:
    return "\n".join(part.value for kind in (app.markdown, app.caption, app.info, app.warning) for part in kind)


def address(app: AppTest, name: str) -> str:
    held = app.query_params[name]
    return held if isinstance(held, str) else held[0]


def edited(app: AppTest, rows: pd.DataFrame, bench: Bench) -> AppTest:
    """The table of score options as if ``rows`` had been typed into it."""
    tag = f"bench-{bench.version(address(app, 'version')).run}"
    app.session_state[f"{tag}-options-base"] = rows
    app.session_state[f"{tag}-options-now"] = rows
    return app.run()


def test_from_an_empty_page_to_a_first_version() -> None:
    app = opened()
    app.selectbox(key="bench-judge").set_value(LEANING.name).run()
    app.number_input(key="bench-items").set_value(10).run()
    app = asked_out(healthy(app.button(key="bench-new").click().run()))
    assert address(app, "version") == "as it was"
    assert "120 of 120 calls answered" in words(app)
    assert "10 at random" in words(app) or "spread over the scores" in words(app)


def test_two_versions_are_set_against_each_other_and_every_state_is_in_the_address() -> None:
    bench = worked()
    app = opened(bench=bench.id, version="one word", against="as it was")
    said = words(app)
    assert "Paired: 120 reads of each on the same 12 items in the same orders" in said
    assert "“one word”" in said
    assert "~~" in said
    assert "**Useless.**" in said.replace("\\", "")  # what changed, word by word
    held = {name: address(app, name) for name in ("bench", "version", "against")}
    assert held == {"bench": bench.id, "version": "one word", "against": "as it was"}
    app.button(key=f"bench-open-{bench.versions[0].run}").click().run()
    assert address(app, "version") == "as it was"


def test_an_edit_says_what_it_takes_and_is_asked_once() -> None:
    bench = worked()
    app = opened(bench=bench.id, version="as it was")
    rows = option_rows(HELPFUL)
    rows.loc[0, "description"] = "Bad."
    app = healthy(edited(app, rows, bench))
    assert "144 calls: 144 to ask" in words(app)
    tag = f"bench-{bench.versions[0].run}"
    app.text_input(key=f"{tag}-version").set_value("bad").run()
    app = asked_out(healthy(app.button(key=f"{tag}-try").click().run()))
    assert address(app, "version") == "bad"
    made = open_bench(ui.store(), bench.id)
    assert [(depth, version.name) for depth, version in made.tree()] == [(0, "as it was"), (1, "one word"), (1, "bad")]
    # The same words again: the version that has them is opened, and nothing is asked.
    app = opened(bench=bench.id, version="as it was")
    app = healthy(edited(app, rows, made))
    assert "going back to it asks nothing twice" in words(app)


def test_a_rubric_that_cannot_be_asked_is_said_and_nothing_is_lost() -> None:
    bench = worked()
    app = opened(bench=bench.id, version="as it was")
    rows = option_rows(HELPFUL)
    rows.loc[1, "score"] = 1
    app = edited(app, rows, bench)
    assert any("more than once" in error.value for error in app.error)
    tag = f"bench-{bench.versions[0].run}"
    assert app.session_state[f"{tag}-options-now"].equals(rows)
    app.switch_page("pages/guide.py").run()
    app.switch_page("pages/workshop.py")
    app.query_params["bench"], app.query_params["version"] = bench.id, "as it was"
    app.run()
    assert any("more than once" in error.value for error in app.error), "the edit is still there"


def test_labels_of_options_are_edited_and_kept() -> None:
    bench = worked()
    app = opened(bench=bench.id, version="as it was")
    rows = option_rows(HELPFUL)
    rows["label"] = ["E", "D", "C", "B", "A"]
    app = healthy(edited(app, rows, bench))
    assert ":gray[Label of score 1]" in words(app)


def test_a_link_to_what_is_not_there_is_said() -> None:
    bench = worked()
    assert "which this bench does not have" in words(opened(bench=bench.id, version="gone"))


def test_the_list_of_benches_opens_none_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw of the page reads the versions of the bench that it shows; others are named from what was read once."""
    bench = worked()
    for seed in (1, 2, 3):
        new_bench(ui.store(), sample_dataset(), HELPFUL, LEANING, items=10, seed=seed)
    app = opened(bench=bench.id)
    listed = app.selectbox(key="workshop-bench").options
    assert len(listed) == 4
    assert f"Helpfulness · place lover · Sample, 12 items · 2 versions · {bench.id}" in listed
    asked: list[str] = []
    whole = Store.study
    monkeypatch.setattr(Store, "study", lambda store, run: asked.append(run) or whole(store, run))
    healthy(app.run())
    others = {info.run for info in ui.store().runs()} - {version.run for version in bench.versions}
    assert asked
    assert not others & set(asked)
