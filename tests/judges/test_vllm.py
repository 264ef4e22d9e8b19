"""Test that a started vLLM never outlives the lab, with a stand-in for the ``vllm`` command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rubriclab.judges.probe import models_of
from rubriclab.judges.vllm import VllmServer, why_not
from rubriclab.model.text import LabError
from tests.judges.kit import gone

FAKE = Path(__file__).with_name("fake_vllm.py")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command named ``vllm`` on the PATH, and its folder."""
    command = tmp_path / "vllm"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def until(done: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.02)
    return done()


def grandchild(lines: Callable[[], list[str]]) -> int:
    assert until(lambda: any(line.startswith("child ") for line in lines()))
    return int(next(line for line in lines() if line.startswith("child ")).split()[1])


@pytest.mark.usefixtures("fake_vllm")
def test_start_ask_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--ready-after 0.3")
    server = VllmServer(" some/model ")
    try:
        assert not server.ready
        assert until(lambda: server.ready)
        assert models_of(server.base_url) == [server.model] == ["some/model"]
        assert "--shutdown-timeout" in "\n".join(server.log)
        child = grandchild(lambda: server.log)
        assert not gone(child, seconds=0)
    finally:
        code = server.stop()
    assert code == 128 + signal.SIGTERM
    assert (server.ready, server.failed) == (False, True)
    assert gone(child)
    assert server.stop() == code


@pytest.mark.usefixtures("fake_vllm")
@pytest.mark.usefixtures("fake_vllm")
def test_one_that_fails_shows_why_without_keys_and_one_that_does_not_heed_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--fail")
    server = VllmServer("some/model")
    assert until(lambda: server.failed)
    assert server.stop() == 3
    assert "no such model" in "\n".join(server.log)
    assert "abcdefghijkl" not in "\n".join(server.log)
    monkeypatch.setenv("FAKE_VLLM", "--ignore-term")
    server = VllmServer("some/model", grace=0.2)
    child = grandchild(lambda: server.log)
    assert server.stop() == 128 + signal.SIGKILL
    assert gone(child)


@pytest.mark.parametrize("victim", ["lab", "supervisor"])
def test_a_lab_that_is_killed_leaves_no_server_behind(fake_vllm: Path, victim: str) -> None:
    script = (
        "import time\nfrom rubriclab.judges.vllm import VllmServer\nserver = "
        "VllmServer('some/model')\n"
        "print(server.log_file, server._child.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as lab:
        log, supervisor = lab.stdout.readline().split()
        assert Path(log).parent == fake_vllm
        child = grandchild(lambda: Path(log).read_text().splitlines())
        server = int(Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split()[1])
        os.kill(lab.pid if victim == "lab" else int(supervisor), signal.SIGKILL)
        assert gone(server)
        lab.kill()
    if victim == "lab":
        assert gone(child)
    else:
        os.kill(child, signal.SIGKILL)  # the stand-in does not end its children; the real one does


def test_why_it_cannot_be_started_here(monkeypatch: pytest.MonkeyPatch, fake_vllm: Path) -> None:
    assert why_not() == ""
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    assert "served to others" in why_not()
    monkeypatch.delenv("RUBRICLAB_SERVED")
    monkeypatch.setenv("PATH", str(fake_vllm / "empty"))
    with pytest.raises(LabError, match="no vllm command"):
        VllmServer("some/model")


@pytest.mark.usefixtures("fake_vllm")
@pytest.mark.parametrize("model", ["", "  ", "--trust-remote-code", "a\0b"])
def test_what_is_no_model(model: str) -> None:
    with pytest.raises(LabError, match="is not a model"):
        VllmServer(model)
