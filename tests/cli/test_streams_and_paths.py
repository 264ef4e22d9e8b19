"""Check exit codes with broken streams, and that every strange path ends in a clear error."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import rubriclab as rl
from rubriclab.cli import local, main
from rubriclab.cli.main import run_command
from rubriclab.model.text import LabError
from rubriclab.store.bundle import bundle_bytes
from tests.integration.lab import ROOT
from tests.words import made

STRANGE = ["~nobody_of_that_name/a", "x" * 300, "a\0b", "a/" * 3_000]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small run's zip."""
    path = tmp_path_factory.mktemp("small") / "run.zip"
    path.write_bytes(bundle_bytes(made.options_table({"j": made.mostly_first}, items=6)))
    return str(path)


@pytest.mark.thorough
@pytest.mark.parametrize("stream", [">&-", "> /dev/full", ">&- 2>&-", "> /dev/full 2> /dev/full"])
def test_exit_code_does_not_depend_on_streams(tmp_path: Path, example: str, stream: str) -> None:
    gate = [sys.executable, "-m", "rubriclab", "gate", example, "--limit", "favours_positions=0.9"]
    line = " ".join([*(f"'{part}'" for part in gate), "--store", str(tmp_path / "s.duckdb")])
    done = subprocess.run(
        f"{line} {stream}", shell=True, cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 5
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("ending", ["", ".csv", ".zip"])
@pytest.mark.parametrize("name", STRANGE)
def test_impossible_paths_are_refused_without_a_traceback(
    tmp_path: Path, example: str, name: str, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "lab.duckdb")
    for command in (
        ["import", name + ending],
        ["results", name + ending],
        ["results", example, "--against", name + ending],
        ["runs", "--store", name + ending],
        ["plan", name + ending],
        ["run", name + ending],
        ["export", example, "--out", name + ".csv"],
        ["gate", example, "--limit", "favours_positions=0.9", "--junit", name + ending],
        ["run", "demo", "--batch-out", name + ending],
        ["run", "demo", "--batch-in", name + ending],
        ["run", "demo", "--store", name + ending],
        ["lab", "--code", name + ending],
    ):
        more = [] if "--store" in command or command[0] in ("lab", "plan") else ["--store", store]
        assert run_command([*command, *more]) == 1, command
        assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(LabError):
        rl.read(name + ending)
    with pytest.raises(LabError):
        rl.Judge(name + ending)
    with pytest.raises(LabError):
        rl.open(name + ending).runs()


@pytest.mark.parametrize("name", STRANGE)
def test_impossible_paths_in_a_study_are_refused(tmp_path: Path, name: str) -> None:
    written = name.replace("\0", "\\u0000")
    for part in (
        f'[[data]]\nfile = "{written}.csv"\n[rubric]\nfile = "r.yaml"\n',
        f'[[data]]\nsample = true\n[rubric]\nfile = "{written}.yaml"\n',
        f'[[data]]\nsample = true\n[prompt]\nfiles = ["{written}.toml"]\n',
        '[[data]]\nsample = true\n[[judges]]\nname = "j"\nkind = "openai"\nmodel = "m"\n'
        f'base_urls = ["http://127.0.0.1:9/v1"]\nca_file = "{written}"\n',
        '[[data]]\nsample = true\n[[judges]]\nname = "j"\nkind = "python"\n'
        f'options = {{ path = "{written}.py" }}\n',
        '[[data]]\nsample = true\n[[judges]]\nname = "j"\nmodel = "own"\n'
        f'options = {{ path = "{written}.gguf" }}\n',
    ):
        study = tmp_path / "study.toml"
        study.write_text(f'name = "S"\n{part}', "utf-8")
        with pytest.raises(LabError):
            rl.run(study, tmp_path / "lab.duckdb")
    assert not (tmp_path / "lab.duckdb").exists()


def test_a_path_may_begin_with_the_home_folder(
    tmp_path: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RUBRICLAB_STORE", str(tmp_path / "lab.duckdb"))
    assert run_command(["export", example, "--out", "~/table.csv"]) == 0
    assert os.path.getsize(tmp_path / "table.csv") > 100  # noqa: PTH202 - as a shell sees it


def test_a_study_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_bytes(b'\xef\xbb\xbfname = "S"\n[[data]]\nsample = true\n')
    assert run_command(["plan", str(study)]) == 0


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ([], ["lab"]),
        (["--no-browser"], ["lab", "--no-browser"]),
        (["--store", "x.duckdb"], ["lab", "--store", "x.duckdb"]),
        (["--help"], ["--help"]),
        (["--version"], ["--version"]),
        (["runs", "--json"], ["runs", "--json"]),
        (["resutls"], ["resutls"]),
    ],
)
def test_without_a_command_the_lab_starts(typed: list[str], meant: list[str]) -> None:
    assert main._with_command(typed) == meant


def test_a_port_that_is_taken_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr(local, "PORT", port)
        assert local.free_port() not in (0, port)
    assert local.free_port() == port


def test_no_browser_of_the_terminal_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.sys, "platform", "linux")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not local.can_show_pages()
    monkeypatch.setenv("DISPLAY", ":0")
    assert local.can_show_pages()
