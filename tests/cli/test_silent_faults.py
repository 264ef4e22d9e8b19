"""Check cases that once went wrong silently: proxies, numbers in YAML, XML, and full disks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rubriclab.cli.main import run_command
from rubriclab.data.rubrics import rubric_of, yaml_value
from rubriclab.exports.gate_lines import junit
from rubriclab.judges.faults import Fault
from rubriclab.judges.transport import proxy_of
from rubriclab.model.text import LabError
from rubriclab.store.store import Store

SIMULATED = (
    'name = "S"\n[[data]]\nsample = true\ntake = 2\n[design]\nrepeats = 1\n'
    '[[judges]]\nname = "j"\nkind = "simulated"\nmodel = "simulated"\n'
)


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name.upper()}_PROXY", raising=False)


@pytest.mark.usefixtures("no_proxies")
def test_proxy_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_of("https", "api.example.org") is None
    monkeypatch.setenv("ALL_PROXY", "http://proxy:3128")
    assert proxy_of("https", "api.example.org") == "http://proxy:3128"
    monkeypatch.setenv("HTTPS_PROXY", "other:3128")
    assert proxy_of("https", "api.example.org") == "http://other:3128"
    assert proxy_of("http", "api.example.org") == "http://proxy:3128"
    assert proxy_of("https", "127.0.0.1") is None
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert proxy_of("https", "api.example.org") is None


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize("variable", ["ALL_PROXY", "HTTPS_PROXY"])
@pytest.mark.parametrize("kind", ["socks5", "socks5h", "SOCKS4"])
def test_a_socks_proxy_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, variable: str, kind: str
) -> None:
    monkeypatch.setenv(variable, f"{kind}://someone:password@proxy:1080")
    with pytest.raises(Fault, match=rf"is a {kind} proxy") as refused:
        proxy_of("https", "api.example.org")
    assert "password" not in str(refused.value)
    assert refused.value.kind == "proxy"


@pytest.mark.usefixtures("no_proxies")
def test_a_run_behind_a_socks_proxy_stops_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    monkeypatch.setenv("RUBRICLAB_STORE", str(tmp_path / "lab.duckdb"))
    study = tmp_path / "study.toml"
    openai = 'kind = "openai"\nbase_urls = ["http://gateway.invalid/v1"]'
    study.write_text(SIMULATED.replace('kind = "simulated"', openai))
    assert run_command(["run", str(study)]) == 3
    said = capsys.readouterr()
    assert "is a socks5 proxy" in said.out + said.err
    assert "HTTPS_PROXY" in said.out + said.err


@pytest.mark.parametrize("score", ["010", "1:30", "1_000", "0x10", "yes", "0b11", "08", "Off"])
def test_scores_that_yaml_changes_are_refused_with_their_value(score: str) -> None:
    text = f"name: Tone\noptions:\n  - score: {score}\n    description: kind\n"
    with pytest.raises(LabError, match=rf"line 3.*“{score}” is another value in YAML"):
        yaml_value(text, "x.yaml")
    with pytest.raises(LabError, match=f"“{score}” is another value in YAML"):
        yaml_value(f"name: Tone\noptions: {{{score}: kind, 2: rude}}\n", "x.yaml")
    # As a text, in quotes, it is what it says.
    quoted = text.replace("score: " + score, "score: 1").replace("kind", f'"{score}"')
    body = yaml_value(quoted + "  - score: 2\n    description: rude\n", "x.yaml")
    assert rubric_of(body).criteria[0].options[0].description == score


@pytest.mark.parametrize("score", ["0", "10", "-1", "1.0"])
def test_plain_scores_in_yaml_are_read(score: str) -> None:
    text = (
        f"name: T\noptions:\n  - {{score: {score}, description: a}}\n  - {{score: 20, "
        f"description: b}}\n"
    )
    assert rubric_of(yaml_value(text, "x.yaml")).criteria[0].options[0].score == int(float(score))


def test_junit_is_valid_xml_for_every_name() -> None:
    name = "run \ufffe\uffff\x01\ud800 \U0001f600"
    made = ElementTree.fromstring(junit(name, [(name, "fails", name)]))
    assert "\ufffd" in made.attrib["name"]
    assert "\U0001f600" in made.attrib["name"]


def test_a_full_disk_at_the_end_exits_with_3_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, path = tmp_path / "study.toml", tmp_path / "lab.duckdb"
    study.write_text(SIMULATED)
    whole = Store.set_state

    @contextmanager
    def full() -> Iterator[Any]:
        raise LabError("The disk is full: it cannot be written.")
        yield

    def set_state(self: Store, run: str, state: str, reason: str = "") -> None:
        if state == "finished":
            with monkeypatch.context() as patch:
                patch.setattr(self._db, "transaction", full)
                whole(self, run, state, reason)
        whole(self, run, state, reason)

    monkeypatch.setattr(Store, "set_state", set_state)
    assert run_command(["run", str(study), "--store", str(path)]) == 3
    said = capsys.readouterr()
    assert "The disk is full" in said.out + said.err
    monkeypatch.undo()
    # All was answered: the same command only has to say so.
    assert run_command(["run", str(study), "--store", str(path)]) == 0
    with Store.open(path) as store:
        assert [info.state for info in store.runs()] == ["finished"]


@pytest.mark.thorough
def test_a_run_without_a_reply_has_results_that_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        """name = "no server"
[[data]]
sample = true
take = 4
[[judges]]
name = "gone"
kind = "openai"
model = "x"
base_urls = ["http://127.0.0.1:9/v1"]
""",
        "utf-8",
    )
    store = str(tmp_path / "lab.duckdb")
    assert run_command(["run", str(study), "--store", store]) == 3
    capsys.readouterr()
    # 4 answers, 10 balanced orders of five options, each asked twice.
    assert run_command(["results", "no server", "--store", store]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gone has not replied yet\n0 of 80 calls are done.")
    assert run_command(["results", "no server", "--json", "--topic", "all", "--store", store]) == 0
