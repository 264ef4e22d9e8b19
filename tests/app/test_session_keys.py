"""Check that a pasted key is used at once, only at its address, and never written down."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from rubriclab.app import state
from rubriclab.app.browser_tab import Tab
from rubriclab.judges.keys import read_key, require_consents
from rubriclab.model.consent import Consent, NoConsent, destination, is_pasted, pasted_name
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from tests.app.conftest import Lab, healthy, pressed, texts
from tests.app.test_kept_draft import ID
from tests.app.test_setup import confirmed, held, step
from tests.servers import FakeServer, running

KEY = "sk-pasted-in-this-visit-9f27c1"
FIELD = "Paste a key for this session"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with running(FakeServer(text="3", key=KEY)) as made:
        yield made


def field_of(app: AppTest) -> TextInput:
    return next(box for box in app.text_input if box.label == FIELD)


def with_server(app: AppTest, url: str) -> AppTest:
    """The visit in step 3 with this address, and a file's columns confirmed."""
    app = step(confirmed(app), 3).segmented_control(key="judge-where").set_value("api").run()
    return app.text_input(key="judge-url").set_value(url).run()


def sent_keys(server: FakeServer) -> set[str]:
    return {headers.get("Authorization", "") for headers in server.headers}


def written(folder: Path) -> list[Path]:
    """Files of the store's folder in which the key stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.thorough
def test_a_pasted_key_is_used_at_once_and_never_written_down(
    lab: Lab, server: FakeServer, tmp_path: Path
) -> None:
    app = lab("setup")
    app.session_state["frame tab"] = Tab(ID)
    app = with_server(app, server.base_url)
    assert server.asked == 0
    app = field_of(app).set_value(KEY).run()
    assert server.asked == 0
    assert not app.exception
    assert "The key that you pasted would be sent to" in app.warning[0].value
    app = healthy(pressed(app, "Send the key"))
    assert app.selectbox(key="judge-model").options == [server.model]
    assert field_of(app).value == ""
    app = healthy(pressed(app, "Test the judge"))
    assert [said.value for said in app.success] != []
    app = healthy(pressed(app, "Done").button(key="launch-go").click().run())
    run = state.manager().get(state.store().runs()[0].id)
    assert run is not None
    assert run.wait(60).state == "finished"
    assert run._secrets is None
    assert sent_keys(server) == {f"Bearer {KEY}"}
    judge = JudgeSettings.model_validate(state.store().study(run.id)["judges"][0])
    assert is_pasted(judge.key_env or "")
    assert "PASTED" not in texts(app)
    state.store().checkpoint()
    assert written(tmp_path) == []
    assert KEY not in state.store().study(run.id).__repr__()
    content = state.kept(run.id).content(".zip")
    assert KEY.encode() not in content


@pytest.mark.thorough
def test_a_draft_has_no_key_and_a_reload_asks_for_it(
    lab: Lab, server: FakeServer, tmp_path: Path
) -> None:
    app = lab("setup")
    app.session_state["frame tab"] = Tab(ID)
    app = with_server(app, server.base_url)
    app = pressed(field_of(app).set_value(KEY).run(), "Send the key")
    assert (tmp_path / "drafts" / ID / "draft.json").exists()
    assert written(tmp_path) == []
    again = lab("setup")
    again.session_state["frame tab"] = Tab(ID)
    again = again.run()
    assert held(again).study.judges[0].base_urls == (server.base_url,)
    assert "A key was pasted here before. It is not kept over a reload" in texts(again)


def test_a_forgotten_key_is_sent_no_more(lab: Lab, server: FakeServer) -> None:
    app = with_server(lab("setup"), server.base_url)
    app = pressed(field_of(app).set_value(KEY).run(), "Send the key")
    app = pressed(app, "Forget")
    server.headers.clear()
    app = pressed(app, "Test the judge")
    assert sent_keys(server) == {""}
    assert app.session_state["frame keys"].keys == {}
    assert app.session_state["frame keys"].agreed == set()


def test_a_key_goes_to_no_other_address(lab: Lab, server: FakeServer) -> None:
    with running(FakeServer(text="3")) as other:
        app = with_server(lab("setup"), server.base_url)
        app = pressed(field_of(app).set_value(KEY).run(), "Send the key")
        app = app.text_input(key="judge-url").set_value(other.base_url).run()
        assert other.asked == 0
        pressed(pressed(app, "Ask for its models"), "Test the judge")
        assert sent_keys(other) == {""}


def test_what_is_no_key_is_refused_and_not_repeated(lab: Lab, server: FakeServer) -> None:
    app = with_server(lab("setup"), server.base_url)
    app = field_of(app).set_value("two words").run()
    assert "This is not a key" in texts(app)
    assert "two words" not in texts(app)
    assert app.session_state["frame keys"].keys == {}


def test_a_visitor_of_a_served_lab_agrees_for_the_own_key_only(
    lab: Lab, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    app = field_of(with_server(lab("setup"), server.base_url)).set_value(KEY).run()
    app = pressed(app, "Send the key")
    assert state.store().consents() == frozenset()  # it is the visit's, not the lab's
    assert len(app.session_state["frame keys"].agreed) == 1


def test_each_address_has_a_key_name_of_its_own() -> None:
    one, two = destination("https://a.example/v1"), destination("https://b.example/v1")
    assert pasted_name(one) == pasted_name(destination("https://A.example:443/other"))
    assert pasted_name(one) != pasted_name(two)
    settings = JudgeSettings(
        name="j", kind="openai", base_urls=("https://b.example/v1",), key_env=pasted_name(one)
    )
    with pytest.raises(NoConsent, match="the pasted key would be sent"):
        require_consents(
            [settings],
            {pasted_name(one): KEY},
            frozenset({Consent(pasted_name(one), one), Consent(pasted_name(two), two)}),
        )


def test_a_pasted_key_never_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    name = pasted_name("https://a.example:443")
    monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("RUBRICLAB_KEYS", name)
    settings = JudgeSettings(
        name="j", kind="openai", base_urls=("https://a.example/v1",), key_env=name
    )
    with pytest.raises(LabError, match="pasted in a visit that is over"):
        read_key(settings)
