"""The Rubric page: a new rubric, its size, its name; nothing that is kept or typed is lost without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import ui
from rubriclab.app.forms.rubric import criteria_rows, option_rows
from rubriclab.app.forms.rubric_choice import BLANK, resized_criteria, resized_options
from rubriclab.datasets.sample import sample_rubrics
from rubriclab.model import Criterion, Rubric, ScoreOption
from tests.e2e.lab import healthy

ROOT = Path(__file__).resolve().parents[2]
WORDS = (ScoreOption(1, description="dull"), ScoreOption(2), ScoreOption(3, description="clear"))


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = tmp_path / "lab.duckdb"
    monkeypatch.setenv(ui.STORE_VARIABLE, str(path))
    monkeypatch.setenv("RUBRICLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("rubriclab.app.ui.runs.EXAMPLE", tmp_path / "none.zip")
    st.cache_resource.clear()
    yield path
    ui.manager().store.close()
    st.cache_resource.clear()


def opened() -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.switch_page("pages/rubric.py").run()
    return app


def new_one() -> AppTest:
    app = opened()
    app.selectbox(key="rubric-chosen").set_value(BLANK).run()
    return healthy(app)


def kept() -> dict[str, Rubric]:
    return {rubric.name: rubric for rubric in ui.store().rubrics()}


def keys(app: AppTest) -> set[str]:
    return {button.key for button in app.button if button.key and button.key.startswith("rubric-blank")}


def test_a_new_rubric_has_a_name_of_its_own() -> None:
    mine = Rubric("My rubric", (Criterion("Tone", WORDS),))
    ui.store().save_rubric(mine)
    app = new_one()
    assert app.text_input(key="rubric-blank-name").value == "My rubric 2"
    assert "rubric-blank-delete" not in keys(app)
    assert app.button(key="rubric-blank-keep").label == "Keep this rubric"
    app.button(key="rubric-blank-keep").click().run()
    healthy(app)
    assert set(kept()) == {"My rubric", "My rubric 2"}
    assert kept()["My rubric"] == mine
    app.selectbox(key="rubric-chosen").set_value(BLANK).run()
    assert app.text_input(key="rubric-blank-name").value == "My rubric 3"


def test_the_name_of_another_rubric_is_said_and_nothing_is_lost() -> None:
    mine = Rubric("Mine", (Criterion("Tone", WORDS),))
    ui.store().save_rubric(mine)
    app = new_one()
    app.text_input(key="rubric-blank-name").set_value("Mine").run()
    assert any("Another rubric is kept as “Mine”" in warning.value for warning in app.warning)
    assert "rubric-blank-delete" not in keys(app)
    app.button(key="rubric-blank-keep").click().run()
    healthy(app)
    assert set(kept()) == {"Mine", "Mine 2"}
    assert kept()["Mine"] == mine


def test_a_kept_rubric_that_takes_another_ones_name_replaces_it_only_when_told_to() -> None:
    one, two = (Rubric(name, (Criterion(name, WORDS),)) for name in ("One", "Two"))
    for rubric in (one, two):
        ui.store().save_rubric(rubric)
    app = opened()
    app.selectbox(key="rubric-chosen").set_value("One").run()
    app.text_input(key=f"rubric-{one.id}-name").set_value("Two").run()
    assert app.button(key=f"rubric-{one.id}-keep").label == "Keep as “Two 2”"
    app.button(key=f"rubric-{one.id}-replace").click().run()
    healthy(app)
    assert {name: rubric.criteria[0].name for name, rubric in kept().items()} == {"One": "One", "Two": "One"}


def test_a_kept_rubric_is_changed_and_deleted_where_it_is_open() -> None:
    shipped = sample_rubrics()[0]
    ui.store().save_rubric(Rubric(shipped.name, (Criterion("Tone", WORDS),)))
    app = opened()
    app.selectbox(key="rubric-chosen").set_value(shipped.name).run()
    tag = f"rubric-{kept()[shipped.name].id}"
    assert app.button(key=f"{tag}-keep").label == "Keep the changes"
    app.button(key=f"{tag}-delete").click().run()
    healthy(app)
    assert not kept()


def test_a_change_of_size_keeps_what_was_typed() -> None:
    app = new_one()
    app.text_input(key="rubric-blank-name").set_value("Mein Raster").run()
    start = Rubric("x", (Criterion("Klarheit", tuple(ScoreOption(n, description=f"d{n}") for n in range(1, 6))),))
    app.session_state["rubric-blank-criteria-now"] = criteria_rows(start)
    app.session_state["rubric-blank-options-now"] = option_rows(start)
    app.number_input(key="rubric-new-n").set_value(3).run()
    app.number_input(key="rubric-new-m").set_value(2).run()
    healthy(app)
    assert app.text_input(key="rubric-blank-name").value == "Mein Raster"
    app.button(key="rubric-blank-keep").click().run()
    healthy(app)
    (made,) = kept().values()
    assert [criterion.name for criterion in made.criteria] == ["Klarheit", "Criterion 2"]
    assert [option.description for option in made.criteria[0].options] == ["d1", "d2", "d3"]
    assert made.criteria[1].scores == (1, 2, 3)


def test_tables_of_another_size() -> None:
    rubric = Rubric("x", (Criterion("A", WORDS), Criterion("B", WORDS)))
    about = resized_criteria(criteria_rows(rubric), 3)
    assert about["criterion"].tolist() == ["A", "B", "Criterion 3"]
    downwards = option_rows(rubric)[::-1]
    fewer = resized_options(downwards, ["A"], 2)
    assert fewer[["criterion", "score"]].to_numpy().tolist() == [["A", 2], ["A", 1]]
    more = resized_options(downwards, ["A", "C"], 4)
    assert more["score"].tolist() == [3, 2, 1, 4, 1, 2, 3, 4]
    assert more["description"].tolist()[:3] == ["clear", "", "dull"]
    assert more.dtypes.equals(downwards.dtypes)


def test_a_name_that_is_too_long_is_cut_with_a_word() -> None:
    app = new_one()
    app.text_input(key="rubric-blank-name").set_value("n" * 100).run()
    assert [field.proto.max_chars for field in app.text_input] == [0] * len(app.text_input)
    assert any("at most 80 characters. This one has 100" in warning.value for warning in app.warning)
    app.button(key="rubric-blank-keep").click().run()
    healthy(app)
    assert set(kept()) == {"n" * 80}


def test_a_name_that_was_longer_before_stays() -> None:
    long = Rubric("n" * 100, (Criterion("Tone", WORDS),))
    ui.store().save_rubric(long)
    app = opened()
    app.selectbox(key="rubric-chosen").set_value(long.name).run()
    assert app.button(key=f"rubric-{long.id}-keep").label == "Keep the changes"
    assert not app.warning


def test_no_field_drops_a_pasted_text() -> None:
    inside = [path for path in (ROOT / "rubriclab").rglob("*.py") if "max_chars=" in path.read_text(encoding="utf-8")]
    assert not inside, "a browser drops what is longer, without a word: ui.name_input"


def test_a_rubric_is_added_beside_those_there_are() -> None:
    one = Rubric("R", (Criterion("Tone", WORDS),))
    other = Rubric("R", (Criterion("Clarity", WORDS),))
    added = [ui.store().add_rubric(rubric).name for rubric in (one, one, other, other, one)]
    assert added == ["R", "R", "R 2", "R 2", "R"]
    assert len(kept()) == 2
