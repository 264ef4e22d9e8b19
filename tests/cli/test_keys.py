"""Test keys on the command line: a key goes to a new address only after the user agreed."""

from pathlib import Path

import pytest

from rubriclab.cli.main import run_command
from rubriclab.model.consent import Consent, NoConsent, destination, require_consent, sent_by
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError
from rubriclab.store.store import Store
from tests.servers import FakeServer, running

KEY = "the-users-own-key-0123456789"
STUDY = """
name = "S"
[[data]]
sample = true
take = 2
[design]
repeats = 1
"""


def study(folder: Path, *judges: str) -> str:
    path = folder / "study.toml"
    path.write_text(STUDY + "\n".join(judges), "utf-8")
    return str(path)


def judge(url: str, name: str = "j", *, urls: tuple[str, ...] = (), more: str = "") -> str:
    listed = ", ".join(f'"{address}"' for address in (url, *urls))
    return (
        f'[[judges]]\nname = "{name}"\nkind = "openai"\nmodel = "test-model"\n'
        f'base_urls = [{listed}]\nkey_env = "OPENAI_API_KEY"\n{more}\n'
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RUBRICLAB_STORE", str(tmp_path / "lab.duckdb"))
    return tmp_path


@pytest.mark.thorough
def test_a_study_with_a_key_needs_one_yes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(FakeServer()) as server:
        path = study(here, judge(server.base_url))
        assert run_command(["run", path]) == 1
        said = capsys.readouterr().err
        assert f"the key in OPENAI_API_KEY would be sent to {server.url}" in said
        assert "--trust" in said
        assert server.asked == 0
        assert not (here / "lab.duckdb").exists()
        assert run_command(["run", path, "--trust", "--max-calls", "1"]) == 3
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
        assert run_command(["run", path]) == 0  # the yes is kept
        # Another port is another address.
        with running(FakeServer()) as stranger:
            path = study(here, judge(stranger.base_url))
            assert run_command(["run", path]) == 1
            # Of several addresses each needs its own.
            path = study(here, judge(server.base_url, urls=(stranger.base_url,)))
            assert run_command(["run", path]) == 1
            assert stranger.url in capsys.readouterr().err
            # And each judge; none is asked before all are agreed to.
            path = study(here, judge(server.base_url), judge(stranger.base_url, "k"))
            asked = server.asked
            assert run_command(["run", path]) == 1
            assert (server.asked, stranger.asked) == (asked, 0)


@pytest.mark.thorough
def test_what_is_typed_is_a_yes_to_just_that(here: Path) -> None:
    with running(FakeServer()) as server, running(FakeServer()) as stranger:
        path = study(here, judge(stranger.base_url))
        typed = ["--judge", f"test-model@{server.base_url}", "--key-env", "OPENAI_API_KEY"]
        assert run_command(["run", path, *typed]) == 0
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
        assert run_command(["run", path]) == 1
        test = ["judges", "--test", server.base_url, "--model", "test-model"]
        assert run_command([*test, "--key-env", "OPENAI_API_KEY"]) == 0
        assert stranger.asked == 0


def test_trying_a_judge_takes_the_same_yes_as_a_run(here: Path) -> None:
    with running(FakeServer()) as server:
        path = study(here, judge(server.base_url))
        assert run_command(["plan", path, "--try", "2"]) == 1
        assert server.asked == 0
        typed = ["--judge", f"test-model@{server.base_url}", "--key-env", "OPENAI_API_KEY"]
        assert run_command(["plan", path, "--try", "2", *typed]) == 0
    with running(FakeServer()) as other:
        path = study(here, judge(other.base_url))
        assert run_command(["plan", path, "--try", "2", "--trust"]) == 0
        assert other.headers[-1]["Authorization"] == f"Bearer {KEY}"


def test_plan_says_where_a_study_would_ask(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["plan", study(here, judge("https://gateway.example.org/v1"))]) == 0
    assert (
        "j would ask https://gateway.example.org/v1 with the key in OPENAI_API_KEY. Nothing is "
        "sent before you agree." in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://API.OpenAI.com/v1", "https://api.openai.com:443"),
        ("HTTPS://api.openai.com.:443/other", "https://api.openai.com:443"),
        ("http://api.openai.com/v1", "http://api.openai.com:80"),
        ("https://api.openai.com:8443/v1", "https://api.openai.com:8443"),
        ("http://2130706433:8000/v1", "http://127.0.0.1:8000"),
        ("http://0x7f.1:8000", "http://127.0.0.1:8000"),
        ("http://127.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/v1", "http://[::1]:8000"),
        ("http://[0:0::1]:8000/v1", "http://[::1]:8000"),
        ("http://[::ffff:127.0.0.1]:8000", "http://127.0.0.1:8000"),
        ("https://api.openai.com.evil.org/v1", "https://api.openai.com.evil.org:443"),
    ],
)
def test_one_address_has_one_spelling(url: str, address: str) -> None:
    assert destination(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com@evil.org/v1",
        "https://api.openai.com\\.evil.org/v1",
        "https://api.openai.com%2eevil.org/v1",
        "https://api.openai.com:443:80/v1",
        "https://[::1]evil.org/v1",
        "https://[fe80::1%25eth0]/v1",
        "https://ａpi.openai.com/v1",
        "https://straße.de/v1",
        "http://127.0.0.256/v1",
        "https:///v1",
        "https://-evil.org",
        "ftp://api.openai.com",
    ],
)
def test_an_address_that_could_be_read_in_two_ways_gets_no_key(url: str) -> None:
    with pytest.raises(LabError, match="not certain which host"):
        destination(url)


def test_a_consent_is_for_one_variable_one_address_and_its_certificates() -> None:
    settings = JudgeSettings(
        name="j", kind="openai", base_urls=("https://a.org/v1",), key_env="A_API_KEY"
    )
    given = frozenset({Consent("A_API_KEY", "https://a.org:443")})
    require_consent(settings, given)
    for change in (
        {"key_env": "B_API_KEY"},
        {"base_urls": ("http://a.org/v1",)},
        {"base_urls": ("https://a.org/v1", "https://b.org/v1")},
        {"ca_file": "their.pem"},
        {"base_urls": ()},
        {"kind": "vllm", "base_urls": ()},
        {"options": {"path": "x"}, "base_urls": ("https://b.org",)},
    ):
        with pytest.raises(NoConsent):
            require_consent(settings.model_copy(update=change), given)
    # A judge of this machine sends its key nowhere.
    assert sent_by(settings.model_copy(update={"kind": "embedded"})) == ()
    decides = {"kind": "decisions", "options": {"path": "model.gguf"}}
    assert sent_by(settings.model_copy(update=decides)) == ()


def test_keys_of_the_environment_may_be_agreed_to_before_the_start(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(FakeServer()) as server:
        path = study(here, judge(server.base_url))
        monkeypatch.setenv("RUBRICLAB_KEYS", f"OPENAI_API_KEY@{server.base_url}")
        assert run_command(["run", path]) == 0
    with Store.open(here / "lab.duckdb") as store:
        assert store.consents() == frozenset()
