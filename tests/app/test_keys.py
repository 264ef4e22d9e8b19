"""Test keys on the pages: no stranger gets one before the user agreed.

Pages never show another run's numbers either.
"""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rubriclab.app import state
from rubriclab.app.run_rows import judge_lines
from rubriclab.app.setup_judge import Offered
from rubriclab.store.bundle import bundle_bytes, import_bundle
from rubriclab.store.store import Store
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_setup import held, step
from tests.servers import FakeServer, running
from tests.words import made

KEY = "the-users-own-key-0123456789"


def changed_zip(source: bytes, target: Path, **study: Any) -> Path:
    """A run's zip whose judge, state and so on are others: ``study`` replaces fields of its
    study.json.
    """
    target.write_bytes(source)
    with zipfile.ZipFile(target) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(parts["study.json"])
    judge = study.pop("judge", {})
    head |= study
    if judge:
        head["study"]["judges"][0] |= judge
    parts["study.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return target


def stolen(tmp_path: Path, url: str) -> Path:
    """What a stranger sends: a paused run whose judge asks the stranger's server with
    OPENAI_API_KEY.
    """
    import rubriclab as rl

    study = tmp_path / "study.toml"
    study.write_text(
        'name = "S"\n[[data]]\nsample = true\ntake = 4\n[design]\nrepeats = 1\n'
        '[[judges]]\nname = "j"\nkind = "openai"\nmodel = "test-model"\n'
        f'base_urls = ["{url}"]\nconcurrency = 1\n'
    )
    run = rl.run(study, tmp_path / "stranger.duckdb", max_calls=3)
    content = run.content(".zip")
    run.close()
    return changed_zip(
        content, tmp_path / "stolen.zip", state="paused", judge={"key_env": "OPENAI_API_KEY"}
    )


@pytest.mark.thorough
def test_an_imported_run_sends_no_key_before_the_user_agrees(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with running(FakeServer()) as stranger:
        path = stolen(tmp_path, stranger.base_url)
        asked = stranger.asked
        stranger.headers.clear()
        run = import_bundle(state.store(), path)
        app = healthy(lab("runs"))
        assert f"would ask {stranger.base_url}" in texts(app).replace("\u2060", "")
        assert "with the key in OPENAI_API_KEY" in texts(app)
        app.button(key=f"resume-{run}").click().run()
        assert stranger.asked == asked
        assert [error.value for error in app.error] == []
        assert "nobody has agreed to that on this machine" in app.warning[0].value
        app = healthy(lab("setup", again=run))
        step(app, 3)
        app.button(key="judge-change-0").click().run()
        assert not [button for button in app.button if button.key == "judge-models"]
        assert stranger.asked == asked
        assert not stranger.headers
        # The yes is for this variable and this address; then it goes on.
        app = lab("runs")
        app.button(key=f"resume-{run}").click().run()
        pressed(app, "Send the key")
        app = lab("runs")
        app.button(key=f"resume-{run}").click().run()
        assert [error.value for error in app.error] == []
        assert not app.warning
        state.manager().get(run).wait(60)
        assert state.store().run(run).state == "finished"
        assert stranger.asked > asked
        assert stranger.headers[-1]["Authorization"] == f"Bearer {KEY}"


def test_drawing_the_form_of_a_judge_asks_nobody(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRANGE_API_KEY", KEY)
    asked: list[str] = []

    def offered(settings: Any) -> Offered:
        asked.extend(settings.base_urls)
        return Offered(("m",))

    monkeypatch.setattr("rubriclab.app.setup_judge._offered", offered)
    with running(FakeServer()) as server:
        app = step(lab("setup"), 3)
        app.button_group(key="judge-where").set_value("api").run()
        app.text_input(key="judge-url").set_value(server.base_url).run()
        app.text_input(key="judge-key").set_value("STRANGE_API_KEY").run()
        assert not asked
        assert server.asked == 0
        pressed(app, "Send the key")
        assert not asked
        pressed(app, "Ask for its models")
        assert asked == [server.base_url]
        assert held(app).study.judges[0].model == "m"


@pytest.mark.usefixtures("lab")
def test_another_run_with_a_deleted_runs_id_shows_its_own_numbers() -> None:
    first = made.options_table({"judge-7b": made.mostly_first}, items=12, name="First")
    second = made.options_table({"judge-7b": made.by_quality}, items=12, name="Second")
    keep = lambda table: state.store().add_table(replace(table, run="same-id"))  # noqa: E731
    assert keep(first) == "same-id"
    before = judge_lines(state.run_info("same-id"), {})
    assert state.kept("same-id").table.name == "First"
    state.store().delete("same-id")
    assert keep(second) == "same-id"
    assert state.run_info("same-id").revision == 1
    assert judge_lines(state.run_info("same-id"), {}) != before
    assert state.kept("same-id").table.name == "Second"


@pytest.mark.thorough
@pytest.mark.usefixtures("lab")
def test_a_zip_with_the_id_of_the_recorded_example_stands_beside_it(tmp_path: Path) -> None:
    example = state.recorded()
    table = made.options_table({"judge-7b": made.always_first}, items=12, name="Impostor")
    path = tmp_path / "other.zip"
    path.write_bytes(bundle_bytes(replace(table, run=example)))
    shown = state.findings(example)
    run = import_bundle(state.store(), path)
    assert run != example
    assert state.kept(run).table.name == "Impostor"
    assert state.findings(example) is shown
    assert example in {info.id for info in state.shown_examples()}


def test_a_store_from_elsewhere_brings_no_consent(tmp_path: Path) -> None:
    from rubriclab.model.consent import Consent

    yes = Consent("OPENAI_API_KEY", "http://stranger:80")
    with Store.open(tmp_path / "lab.duckdb") as store:
        store.agree([yes])
        assert store.consents() == {yes}
        with store._db.transaction() as cursor:  # as whoever makes a store may write it
            cursor.execute(
                "UPDATE objects SET body = replace(body::VARCHAR, 'stranger', 'other')::JSON"
            )
        assert store.consents() == frozenset()
