"""Check what a row of Runs says of a run's state, and that a deletion can be undone."""

from dataclasses import replace

import pytest

from rubriclab.app import doomed_runs, run_rows, state
from rubriclab.app.run_rows import Chip, chip_of, key_refused
from rubriclab.app.state import Lost
from rubriclab.judges.faults import advised
from rubriclab.store.read import RunInfo
from tests.app.conftest import Lab, healthy, kept, pressed, texts
from tests.words import made


def stopped(run_state: str, reason: str = "") -> RunInfo:
    """A run of 400 calls that has this state after 128."""
    run_id = kept(made.options_table({"j": made.always_first}, items=3))
    info = state.run_info(run_id)
    return replace(info, state=run_state, reason=reason, done=128, planned=400)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ({}, "✓ Done"),
        ({"j": Lost(5, 100)}, "✓ Done"),
        ({"j": Lost(6, 100)}, "6% unparsed: see why"),
        ({"j": Lost(480, 480), "k": Lost(0, 480)}, "50% unparsed: see why"),
        ({"j": Lost(6, 100), "k": Lost(0, 900)}, "Some replies unparsed: see why"),
    ],
)
def test_a_judge_with_many_lost_replies_is_never_under_done(
    lab: Lab, lost: dict[str, Lost], words: str
) -> None:
    assert lab is not None
    chip = chip_of(stopped("finished"), lost)
    assert chip.words.replace("\u00a0", " ") == words
    assert (chip.colour, chip.why) == (("gray", False) if "Done" in words else ("orange", True))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("run_state", "chip"),
    [
        ("paused", Chip("Paused at 128 of 400", "gray")),
        ("cancelled", Chip("Cancelled at 128 of 400", "gray")),
        ("interrupted", Chip("Stopped at 128 of 400", "gray")),
        ("planned", Chip("Not started", "gray")),
        ("failed", Chip("No reply parsed: see why", "orange", why=True)),
    ],
)
def test_each_state_has_its_chip(lab: Lab, run_state: str, chip: Chip) -> None:
    assert lab is not None
    assert chip_of(stopped(run_state), {}) == chip


def test_a_refused_key_is_said(lab: Lab) -> None:
    assert lab is not None
    info = stopped("paused", f"j: {advised('HTTP 401: no', 'auth')}")
    assert key_refused(info)
    assert chip_of(info, {}) == Chip("Stopped: key refused", "orange", why=True)


@pytest.mark.thorough
def test_a_deleted_run_comes_back_until_the_page_is_left(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doomed_runs, "_visit", lambda: "this visit")
    monkeypatch.setattr(doomed_runs, "_open", lambda visit: visit != "closed")
    run_id = kept(made.options_table({"j": made.always_first}, items=3, name="mine"))
    app = lab("runs")
    app.session_state["runs deleted"] = "mine"
    doomed_runs.doom(state.store_path(), run_id)
    app.run()
    assert "Deleted: mine. You can undo this until you leave the page." in texts(healthy(app))
    assert not any(button.key == f"open-{run_id}" for button in app.button)
    assert state.store().runs()  # nothing is gone yet
    app = pressed(app, "Undo")
    assert any(button.key == f"open-{run_id}" for button in app.button)
    doomed_runs.doom(state.store_path(), run_id)
    healthy(lab("learn"))
    assert state.store().runs() == []


@pytest.mark.thorough
@pytest.mark.parametrize(("visit", "gone"), [("closed", True), ("another", False)])
def test_a_deletion_is_carried_out_when_its_tab_is_closed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, visit: str, gone: bool
) -> None:
    monkeypatch.setattr(doomed_runs, "_open", lambda visit: visit != "closed")
    monkeypatch.setattr(doomed_runs, "_visit", lambda: visit)
    run_id = kept(made.options_table({"j": made.always_first}, items=3))
    doomed_runs.doom(state.store_path(), run_id)
    monkeypatch.setattr(doomed_runs, "_visit", lambda: "this visit")
    healthy(lab("learn"))
    assert (state.store().runs() == []) == gone
    doomed_runs.sweep(state.store_path(), state.store().delete, leaves=True, ends=True)
    assert state.store().runs() == []


@pytest.mark.thorough
def test_a_row_says_of_each_judge_its_word_and_what_is_lost(lab: Lab) -> None:
    def lost(*_: object) -> None:
        return None

    kept(made.options_table({"large": made.always_first, "mini": lost}, items=30))
    said = texts(healthy(lab("runs"))).replace("\u00a0", " ")
    assert "50% unparsed: see why" in said
    assert "large Biased: favours the option listed first." in said
    assert "mini: no score in any of" in said


@pytest.mark.thorough
def test_runs_are_sorted_as_asked(lab: Lab) -> None:
    for items, name in enumerate("bca", 1):
        kept(made.options_table({"j": made.always_first}, items=items, name=f"run {name}"))
    app = lab("runs").selectbox(key="runs-sort").set_value("By name").run()
    said = texts(healthy(app))
    assert said.index("run a") < said.index("run b") < said.index("run c")


@pytest.mark.thorough
def test_words_are_kept_in_the_store_for_this_content_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = kept(made.options_table({"large": made.always_first}, items=30, name="mine"))
    healthy(lab("runs"))
    info = state.run_info(run_id)
    (known,) = run_rows.kept_words([info]).values()
    assert known["large"][0] == "Biased"
    monkeypatch.setattr(run_rows, "_words", None)  # nothing is computed again
    said = texts(lab("runs")).replace("\u00a0", " ")
    assert "large Biased: favours the option listed first." in said
    assert run_rows.kept_words([replace(info, revision=info.revision + 1)]) == {}
    body = state.store().judge_words([run_id])[run_id]
    body["words"]["large"][0] = "No bias that matters"
    state.store().keep_judge_words({run_id: body})  # as a forged store would say
    assert run_rows.kept_words([info]) == {}
    state.store().delete(run_id)
    assert state.store().judge_words([run_id]) == {}
