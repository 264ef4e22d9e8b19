"""vLLM started as a child that never outlives the lab, by a stand-in for the ``vllm`` command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rubriclab.judges.probe import models_of
from rubriclab.judges.vllm import VllmServer, serve_command, why_not
from rubriclab.model.text import LabError

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


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not state.startswith("Z")


def grandchild(lines: Callable[[], list[str]]) -> int:
    assert until(lambda: any(line.startswith("child ") for line in lines()))
    return int(next(line for line in lines() if line.startswith("child ")).split()[1])


@pytest.mark.usefixtures("fake_vllm")
def test_start_ask_stop() -> None:
    server = VllmServer.start("some/model", environment={"FAKE_VLLM": "--ready-after 0.3"})
    try:
        assert server.state == "starting"
        server.wait_ready(60)
        assert (server.ready, server.failed, server.exit_code) == (True, False, None)
        assert models_of(server.base_url) == ["some/model"]
        assert "--shutdown-timeout" in "\n".join(server.log)
        assert "serve some/model --host 127.0.0.1" in server.shown
        child = grandchild(lambda: server.log)
        assert alive(child)
    finally:
        code = server.stop()
    assert code == 128 + signal.SIGTERM
    assert server.state == "ended"
    assert until(lambda: not alive(child))
    assert server.stop() == code


@pytest.mark.usefixtures("fake_vllm")
def test_one_that_ends_by_itself_shows_its_last_lines_without_keys() -> None:
    server = VllmServer.start("some/model", environment={"FAKE_VLLM": "--fail"})
    with pytest.raises(LabError, match="code 3") as refused:
        server.wait_ready(60)
    assert "no such model" in str(refused.value)
    assert "abcdefghijkl" not in str(refused.value)
    assert server.failed


@pytest.mark.usefixtures("fake_vllm")
def test_one_that_does_not_heed_is_killed_with_its_children() -> None:
    server = VllmServer.start("some/model", environment={"FAKE_VLLM": "--ignore-term"}, grace=0.2)
    child = grandchild(lambda: server.log)
    assert server.stop() == 128 + signal.SIGKILL
    assert until(lambda: not alive(child))


def test_a_lab_that_is_killed_leaves_no_server_behind(fake_vllm: Path) -> None:
    script = (
        "import time\nfrom rubriclab.judges.vllm import VllmServer\n"
        "server = VllmServer.start('some/model')\nprint(server.log_file, flush=True)\ntime.sleep(60)\n"
    )
    lab = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    log = Path(lab.stdout.readline().strip())
    assert log.parent == fake_vllm
    child = grandchild(lambda: log.read_text().splitlines())
    lab.kill()
    lab.wait()
    lab.stdout.close()
    assert until(lambda: not alive(child))


def test_why_it_cannot_be_started_here(monkeypatch: pytest.MonkeyPatch, fake_vllm: Path) -> None:
    assert why_not() == ""
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    assert "served to others" in why_not()
    monkeypatch.delenv("RUBRICLAB_SERVED")
    monkeypatch.setenv("PATH", str(fake_vllm / "empty"))
    with pytest.raises(LabError, match="no vllm command"):
        VllmServer.start("some/model")


@pytest.mark.parametrize("model", ["", "  ", "--trust-remote-code", "a\0b"])
def test_what_is_no_model(model: str) -> None:
    with pytest.raises(LabError, match="is no model"):
        serve_command(model, port=1)
