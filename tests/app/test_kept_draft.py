"""Check that a set-up is kept for its browser tab, and that a broken one is refused in words."""

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rubriclab.app import browser_tab, kept_draft, setup, state
from rubriclab.app.browser_tab import Tab, claimed
from rubriclab.app.draft import Draft
from rubriclab.app.kept_draft import Kept, Numbers, draft_of, keep, kept_of, read_text, text_of
from rubriclab.data.tables import read_table
from rubriclab.model.study import DataPart
from rubriclab.model.text import LabError
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_setup import confirmed, held, step

ID, OTHER = "0123456789abcdef" * 2, "fedcba9876543210" * 2
CELLS = read_table(b"response,score\nA long answer to a question.,3\nAnother one.,4\n", "a.csv")


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STORE_VARIABLE, str(tmp_path / "lab.duckdb"))
    kept_draft._in_memory().clear()


def in_tab(app: AppTest, id: str = ID) -> AppTest:
    """The visit after its browser has told its tab."""
    app.session_state["frame tab"] = Tab(id)
    return app.run()


def some_draft() -> Kept:
    numbers, draft = Numbers(), Draft()
    draft.uploads.tables["a.csv"] = CELLS
    draft.change(data=(DataPart(file="a.csv"),))
    text = text_of(draft, opened=2, typed={"rubric-pasted": "5: Good"}, files=numbers)
    return Kept(text.model_dump_json(), {0: CELLS.data})


@pytest.mark.thorough
def test_a_reloaded_page_has_its_set_up_again(lab: Lab, tmp_path: Path) -> None:
    first = in_tab(confirmed(lab("setup")))
    first = step(first, 3)
    study = held(first).study
    folder = tmp_path / "drafts" / ID
    assert (folder.stat().st_mode & 0o777, (folder / "draft.json").stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    again = in_tab(lab("setup"))
    said = texts(healthy(again))
    assert "is back. answers.csv, the rubric and the judge are as you left them." in said
    assert held(again).study == study
    assert (
        held(again).uploads.tables["answers.csv"].data
        == held(first).uploads.tables["answers.csv"].data
    )
    assert again.session_state["setup step"] == 3
    assert not again.button(key="launch-go").disabled


def test_a_reloaded_page_has_the_score_that_passes_again(lab: Lab) -> None:
    first = step(in_tab(confirmed(lab("setup"))), 2)
    first.number_input(key="rubric-cut").set_value(4).run()
    again = in_tab(lab("setup"))
    assert held(again).study.reading.cut == 4
    assert again.number_input(key="rubric-cut").value == 4


def test_another_tab_begins_with_an_empty_set_up(lab: Lab) -> None:
    in_tab(confirmed(lab("setup")))
    other = in_tab(lab("setup"), OTHER)
    assert "is back" not in texts(healthy(other))
    assert held(other).study.data == ()


@pytest.mark.thorough
def test_start_over_and_launch_remove_what_was_kept(lab: Lab, tmp_path: Path) -> None:
    in_tab(confirmed(lab("setup")))
    again = pressed(in_tab(lab("setup")), "Start over")
    assert held(again).study.data == ()
    assert "is back" not in texts(again)
    assert not (tmp_path / "drafts" / ID).exists()
    app = in_tab(confirmed(again))
    assert (tmp_path / "drafts" / ID).exists()
    app.button(key="launch-go").click().run()
    assert not (tmp_path / "drafts" / ID).exists()


def test_nothing_is_kept_before_the_first_change(lab: Lab, tmp_path: Path) -> None:
    in_tab(lab("setup")).run()
    assert not (tmp_path / "drafts").exists()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "draft.json").write_text("{"),
        lambda folder: (folder / "draft.json").write_bytes(b"\xff\xfe"),
        lambda folder: (folder / "draft.json").write_text("[" * 100_000),
        lambda folder: (folder / "draft.json").write_text('{"form": 1}'),
        lambda folder: (folder / "0.arrow").unlink(),
        lambda folder: (folder / "0.arrow").write_bytes(b"ARROW1\0\0 not a table"),
        lambda folder: (folder / "0.arrow").write_bytes((folder / "0.arrow").read_bytes()[:-40]),
        lambda folder: (folder / "draft.json").write_text(
            (folder / "draft.json").read_text().replace('"repeats":2', '"repeats":-2')
        ),
        lambda folder: (folder / "draft.json").write_text(
            (folder / "draft.json").read_text().replace('"file":0', '"file":"../../x"')
        ),
    ],
)
def test_a_broken_draft_is_refused_in_words(lab: Lab, tmp_path: Path, damage: object) -> None:
    in_tab(confirmed(lab("setup")))
    assert callable(damage)
    damage(tmp_path / "drafts" / ID)
    app = in_tab(lab("setup"))
    assert not app.exception
    (said,) = [error.value for error in app.error]
    assert said.startswith("Your earlier set\\-up could not be restored")
    assert held(app.run()).study.data == ()  # and the page goes on
    assert not (tmp_path / "drafts" / ID).exists()


def test_a_table_of_numbers_is_refused() -> None:
    keep(ID, Kept(some_draft().text, {0: pa.table({"response": [1]})}))
    with pytest.raises(LabError, match="damaged"):
        kept_of(ID)


def test_a_draft_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_draft, "MOST_TABLES", 10)
    with pytest.raises(LabError, match="too large to be kept"):
        keep(ID, some_draft())
    monkeypatch.setattr(kept_draft, "MOST_TABLES", 10_000)
    keep(ID, some_draft())
    monkeypatch.setattr(kept_draft, "MOST_TEXT", 10)
    with pytest.raises(LabError, match="larger than the lab writes"):
        kept_of(ID)


@pytest.mark.parametrize(
    "id", ["", "..", "../" + "a" * 29, ID.upper(), ID[:-1], f"{ID}/x", ID + "\n"]
)
def test_what_is_no_id_opens_no_folder(id: str) -> None:
    for use in (kept_of, kept_draft.forget_draft, lambda id: keep(id, some_draft())):
        with pytest.raises(LabError, match="no valid id"):
            use(id)


def test_a_draft_is_gone_after_a_day(tmp_path: Path) -> None:
    keep(ID, some_draft())
    assert kept_of(ID) is not None
    old = time.time() - kept_draft.KEPT_SECONDS - 60
    os.utime(tmp_path / "drafts" / ID / "draft.json", (old, old))
    keep(OTHER, some_draft())
    assert kept_of(ID) is None
    assert [place.name for place in (tmp_path / "drafts").iterdir()] == [OTHER]


def test_a_served_lab_keeps_drafts_in_memory_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    keep(ID, some_draft())
    kept = kept_of(ID)
    assert kept is not None
    assert not (tmp_path / "drafts").exists()
    draft = draft_of(read_text(kept.text), kept.tables, Draft())
    assert draft.uploads.tables["a.csv"].data == CELLS.data
    kept_draft._in_memory()[ID] = time.time() - kept_draft.KEPT_SECONDS - 60, kept
    assert kept_of(ID) is None


def test_a_duplicated_tab_gets_an_id_of_its_own(lab: Lab, tmp_path: Path) -> None:
    browser_tab._holders.clear()
    open_visits = {"first", "second"}
    first = claimed(ID, "first", open_visits.__contains__)
    second = claimed(ID, "second", open_visits.__contains__)
    assert first == Tab(ID)
    assert second.copied_from == ID
    assert browser_tab.ID.fullmatch(second.id)
    assert claimed(ID, "first", open_visits.__contains__) == first
    reloaded = claimed(ID, "third", {"second", "third"}.__contains__)  # the first one was closed
    assert reloaded == Tab(ID)
    in_tab(confirmed(lab("setup")))
    copy = lab("setup")
    copy.session_state["frame tab"] = second
    assert "is back" in texts(copy.run())
    assert {place.name for place in (tmp_path / "drafts").iterdir()} == {ID, second.id}


def test_a_typed_text_comes_back_as_it_was(lab: Lab) -> None:
    keep(ID, some_draft())
    app = in_tab(lab("setup"))
    assert app.session_state["rubric-pasted"] == "5: Good"


def interrupted_once(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """The list of calls of a function of Set up, the first of which the page does not survive.

    So it is on a slow machine: the browser tells its tab while the first drawing still loads.
    """
    calls, whole = list[object](), getattr(setup, name)

    def interrupted(*given: object) -> object:
        calls.append(given)
        if len(calls) == 1:
            st.rerun()
        return whole(*given)

    monkeypatch.setattr(setup, name, interrupted)
    return calls


def test_a_run_is_loaded_though_the_page_was_drawn_anew_meanwhile(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = interrupted_once(monkeypatch, "load_run")
    app = healthy(lab("setup", again=state.recorded()))
    assert len(held(app).study.judges) == 2
    assert len(calls) == 2
    healthy(step(app, 3))
    assert len(calls) == 2, "what was changed since is not overwritten"


def test_a_draft_is_back_though_the_page_was_drawn_anew_meanwhile(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = step(in_tab(confirmed(lab("setup"))), 3)
    calls = interrupted_once(monkeypatch, "draft_of")
    again = in_tab(lab("setup"))
    assert "are as you left them" in texts(healthy(again))
    assert held(again).study == held(first).study
    assert len(calls) == 2
