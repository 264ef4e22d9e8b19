"""Which variables hold keys, and where keys may go: a bundle cannot carry one off."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.cli.common import EXIT_FAULT, EXIT_OK, consent
from rubriclab.judges import check_settings
from rubriclab.judges.addresses import read_key
from rubriclab.judges.client import ChatClient
from rubriclab.judges.keys import ConsentNeeded, Destination, destinations, unconsented
from rubriclab.judges.probe import check_judge_now
from rubriclab.model import Judge, LabError, Study
from rubriclab.runs.manager import RunManager
from rubriclab.runs.references import ReferenceJob
from rubriclab.runs.spread import spread
from rubriclab.runs.trial import start_trial
from rubriclab.store import Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from rubriclab.study.writing import study_parts
from tests.labkit import study
from tests.servers import SteadyServer, running

KEY = "carry0me0off0secret"
NAME = "PRECIOUS_API_KEY"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SteadyServer]:
    """An address that keeps what it is sent, and a key in the environment."""
    monkeypatch.setenv(NAME, KEY)
    monkeypatch.delenv("RUBRICLAB_KEYS", raising=False)
    with running(SteadyServer()) as made:
        yield made


def thief(server: SteadyServer, **more: object) -> Judge:
    judge = Judge("nice", "openai", "test-model", (server.base_url,), key_env=NAME)
    return replace(judge, **more)  # type: ignore[arg-type]


def sent(server: SteadyServer) -> list[str]:
    return [head["Authorization"] for head in server.headers if "Authorization" in head]


# ---------------------------------------------------------------- which variables


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "DATABASE_URL",
        "API_KEY_PATH",
        "OPENAI_API_KEY_FILE",
        "x_api_key",
        "_API_KEY",
        "OPENAI_API_KEYS",
    ],
)
def test_other_variables_are_refused_everywhere(
    name: str, server: SteadyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, KEY)
    judge = thief(server, key_env=name)
    for attempt in (
        lambda: check_settings(judge),
        lambda: check_settings(judge, {name: KEY}),
        lambda: read_key(judge, {name: KEY}),
        lambda: ChatClient(judge),
    ):
        with pytest.raises(LabError, match=f"RUBRICLAB_KEYS={name}"):
            attempt()
    report = check_judge_now(judge)
    assert not report.ok
    assert "RUBRICLAB_KEYS" in report.problems[0]
    with Store(":memory:") as store:
        store.save_judge(judge)
        with pytest.raises(LabError, match="none that keys are taken from"):
            RunManager(store).start(study(1, judges=(judge,)))
        assert store.runs() == ()
    assert sent(server) == []


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "API_KEY", "MY_2ND_API_KEY"])
def test_names_that_keys_go_by_pass(name: str, server: SteadyServer) -> None:
    assert read_key(thief(server, key_env=name), {name: KEY}) == KEY


def test_the_user_allows_a_name_before_the_start(server: SteadyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_KEYS", "LAB_TOKEN, OTHER")
    assert read_key(thief(server, key_env="LAB_TOKEN"), {"LAB_TOKEN": KEY}) == KEY
    with pytest.raises(LabError, match="none that keys"):
        read_key(thief(server, key_env="LAB"), {"LAB": KEY})
    monkeypatch.setenv("RUBRICLAB_KEYS", "sk-123 456")
    with pytest.raises(LabError, match="RUBRICLAB_KEYS holds") as caught:
        read_key(thief(server, key_env="LAB_TOKEN"), {"LAB_TOKEN": KEY})
    assert "sk-123" not in str(caught.value)


# ---------------------------------------------------------------- where keys go


def test_pairs_of_address_and_variable() -> None:
    judges = (
        Judge("a", "openai", "m", ("http://a/v1/", "http://b/v1"), key_env="A_API_KEY"),
        Judge("b", "vllm", "m", ("http://a/v1",), key_env="A_API_KEY"),
        Judge("c", "openai", "m", key_env="B_API_KEY"),
        Judge("d", "openai", "m", ("http://c/v1",)),
        Judge("e", "embedded", "m", ("http://evil/v1",), key_env="A_API_KEY"),
        Judge("f", "simulated", "m", key_env="A_API_KEY"),
    )
    assert destinations(judges) == (
        ("http://a/v1", "A_API_KEY"),
        ("http://b/v1", "A_API_KEY"),
        ("https://api.openai.com/v1", "B_API_KEY"),
    )


def test_a_kept_judge_is_a_yes_to_its_own_address_only(server: SteadyServer) -> None:
    kept = thief(server)
    with Store(":memory:") as store:
        assert unconsented((kept,), store) == (Destination(server.base_url, NAME),)
        store.save_judge(kept)
        assert unconsented((kept,), store) == ()
        moved = replace(kept, base_urls=("http://elsewhere.example/v1",))
        assert unconsented((moved,), store) == (("http://elsewhere.example/v1", NAME),)
        other = replace(kept, key_env="OTHER_API_KEY")
        assert unconsented((other,), store) == ((server.base_url, "OTHER_API_KEY"),)
        store.delete_judge(kept.name)
        assert unconsented((kept,), store) == (Destination(server.base_url, NAME),)


def test_a_yes_is_kept_with_the_store(tmp_path: Path) -> None:
    pair = Destination("http://a/v1", NAME)
    with Store(tmp_path / "s.duckdb") as store:
        store.consent([pair, pair])
    with Store(tmp_path / "s.duckdb") as store:
        assert store.consents() == {pair}


def test_in_a_served_lab_keys_go_where_its_owner_said(server: SteadyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever visits can write a judge, test it and list its models: none of it is a yes."""
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    monkeypatch.setenv("RUBRICLAB_PRIVATE_ADDRESSES", "127.0.0.1")
    judge = thief(server)
    with Store(":memory:") as store:
        store.save_judge(judge)
        store.consent(destinations((judge,)))
        with pytest.raises(LabError, match=f"RUBRICLAB_KEYS={NAME}@{server.base_url}"):
            RunManager(store).start(study(1, judges=(judge,)))
    assert f"{NAME}@" in check_judge_now(judge).problems[0]
    assert server.headers == []
    monkeypatch.setenv("RUBRICLAB_KEYS", f"{NAME}@{server.base_url}/")
    assert check_judge_now(judge).ok
    with Store(":memory:") as store:
        assert RunManager(store).start(study(1, judges=(judge,))).wait(30).state == "finished"
    elsewhere = replace(judge, base_urls=(server.base_url, "http://127.0.0.1:9/v1"))
    with pytest.raises(LabError, match="9/v1 unless its owner"):
        read_key(elsewhere)


def test_a_yes_before_the_start(server: SteadyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(":memory:") as store:
        assert unconsented((thief(server),), store)
        monkeypatch.setenv("RUBRICLAB_KEYS", f"LAB_TOKEN,{NAME}@{server.base_url}")
        assert unconsented((thief(server),), store) == ()
    monkeypatch.setenv("RUBRICLAB_KEYS", f"{NAME}@gpu.example.org")
    with pytest.raises(LabError, match="is not a base URL"):
        read_key(thief(server, key_env="LAB_TOKEN"))


# ---------------------------------------------------------------- a bundle


def bundle(about: Study) -> bytes:
    """A paused run as another lab exports it, with nothing judged yet."""
    with Store(":memory:") as store:
        prepared = plan(about)
        run = store.open_run(prepared, provenance(prepared)).run
        return write_archive(store, run)


def test_an_imported_run_cannot_carry_a_key_off(server: SteadyServer) -> None:
    """The way of the attack: import a paused run, go on with it."""
    about = study(1, judges=(thief(server),))
    with Store(":memory:") as store:
        (run,) = read_archive(store, bundle(about))
        assert store.run(run).state == "paused"
        manager = RunManager(store)
        for attempt in (
            lambda: manager.go_on(run),
            lambda: manager.go_on(run, only_failed=True),
            lambda: start_trial(manager, store.study(run)),
            lambda: manager.start(about, secrets={NAME: KEY}),
        ):
            with pytest.raises(ConsentNeeded, match=f"{NAME} to {server.base_url}") as asked:
                attempt()
        assert store.run(run).state == "paused"
        assert manager.active() == ()
        assert server.headers == []
        store.consent(asked.value.destinations)
        assert manager.go_on(run).wait(30).state == "finished"
        assert set(sent(server)) == {f"Bearer {KEY}"}


def test_nor_by_the_other_ways_that_ask(server: SteadyServer, tmp_path: Path) -> None:
    about = study(1, judges=(thief(server),))
    with Store(":memory:") as store:
        with pytest.raises(ConsentNeeded):
            spread(store, plan(about), tmp_path)
        job = ReferenceJob(about.dataset, about.rubric, writer=about.judges[0], reviewer=about.judges[0], store=store)
        ended = job.run()
        assert ended.state == "paused"
        assert NAME in ended.reason
    assert server.headers == []


def test_an_imported_run_that_is_finished_needs_no_yes(server: SteadyServer) -> None:
    about = study(1, judges=(thief(server),))
    with Store(":memory:") as store:
        store.consent(destinations(about.judges))
        manager = RunManager(store)
        assert manager.start(about).wait(30).state == "finished"
        with Store(":memory:") as other:
            (run,) = read_archive(other, write_archive(store, manager.start(about).info.run))
            assert RunManager(other).go_on(run).wait(30).state == "finished"


# ---------------------------------------------------------------- the command line


def file_of(about: Study, folder: Path) -> Path:
    for name, part in study_parts(about).items():
        (folder / name).write_text(str(part), encoding="utf-8")
    return folder / "study.toml"


def test_a_study_file_of_ones_own_is_a_yes(
    server: SteadyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(study(1, judges=(thief(server),)), tmp_path)
    store = str(tmp_path / "lab.duckdb")
    assert main(["run", str(file), "--store", store]) == EXIT_OK
    assert f"This sends the key in {NAME} to {server.base_url}" in capsys.readouterr().err
    assert set(sent(server)) == {f"Bearer {KEY}"}


def test_the_command_line_asks_before_it_goes_on_with_an_imported_run(
    server: SteadyServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    about = study(1, judges=(thief(server),))
    file = file_of(about, tmp_path)  # as it stands in the bundle; its run has another name
    path = str(tmp_path / "lab.duckdb")
    with Store(path) as store:
        read_archive(store, bundle(about))
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal: not read
    assert main(["run", str(file), "--store", path]) == EXIT_FAULT
    said = capsys.readouterr().err
    assert f"{NAME} to {server.base_url}" in said
    assert "--trust" in said
    assert KEY not in said
    assert server.headers == []
    assert main(["run", str(file), "--store", path, "--trust"]) == EXIT_OK
    assert set(sent(server)) == {f"Bearer {KEY}"}


@pytest.mark.parametrize(("typed", "given"), [("y\n", True), ("YES\n", True), ("n\n", False), ("", False)])
def test_on_a_terminal_it_is_a_question(
    typed: str, given: bool, server: SteadyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    with Store(":memory:") as store:
        read_archive(store, bundle(study(1, judges=(thief(server),))))
        if given:
            consent(store, (thief(server),), trust=False, terminal=True)
        else:
            with pytest.raises(LabError, match="Nothing was sent"):
                consent(store, (thief(server),), trust=False, terminal=True)
        assert bool(store.consents()) == given


def test_a_judge_without_a_name_yet_is_not_called_by_it() -> None:
    """The models of a server are listed before its judge is named."""
    nameless = Judge("", "openai", "", ("http://127.0.0.1:9/v1",), key_env="NOT_THERE_AT_ALL_API_KEY")
    with pytest.raises(LabError, match="The key is to come from NOT_THERE_AT_ALL_API_KEY, which is not set") as caught:
        read_key(nameless)
    assert "“”" not in str(caught.value)
