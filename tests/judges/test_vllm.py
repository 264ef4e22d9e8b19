"""Test that a started vLLM never outlives the lab, with a stand-in for the ``vllm`` command."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rubriclab.judges import vllm
from rubriclab.judges.probe import models_of
from rubriclab.judges.vllm import ServeFlags, VllmServer, command, require_same_start, why_not
from rubriclab.model.text import LabError
from tests.judges.kit import gone, install_fake_vllm, settings, until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command named ``vllm`` on the PATH, and its folder."""
    install_fake_vllm(tmp_path, monkeypatch)
    return tmp_path


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


@pytest.mark.thorough
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
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(fake_vllm / "no such folder"))
    with pytest.raises(LabError, match="no vllm command"):
        VllmServer("some/model")
    monkeypatch.setenv("RUBRICLAB_VLLM", "/no/such/vllm")
    assert "There is no command “/no/such/vllm”, which RUBRICLAB_VLLM names" in why_not()


@pytest.mark.usefixtures("fake_vllm")
@pytest.mark.parametrize("model", ["", "  ", "--trust-remote-code", "a\0b"])
def test_what_is_no_model(model: str) -> None:
    with pytest.raises(LabError, match=r"is not a model|Enter a model first"):
        VllmServer(model)


@pytest.mark.papers(9)
def test_the_command_beside_the_labs_python_is_found_without_the_path(
    monkeypatch: pytest.MonkeyPatch, fake_vllm: Path
) -> None:
    """README starts the lab without activating its environment."""
    monkeypatch.setenv("PATH", str(fake_vllm / "empty"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(fake_vllm))
    assert command() == str(fake_vllm / "vllm")
    assert why_not() == ""
    named = fake_vllm / "other-vllm"
    named.write_text("#!/bin/sh\n")
    named.chmod(0o755)
    monkeypatch.setenv("RUBRICLAB_VLLM", str(named))
    assert command() == str(named)


@pytest.mark.parametrize("card", [False, True])
def test_the_way_to_vllm_depends_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, card: bool
) -> None:
    monkeypatch.delenv("RUBRICLAB_VLLM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(vllm, "has_graphics_card", lambda: card)
    assert (f"pip install -e '{ROOT}[vllm]'" in why_not()) == card
    assert ("the lab's small model" in why_not()) != card
    assert str(tmp_path) in why_not()


@pytest.mark.usefixtures("fake_vllm")
def test_a_cause_far_above_the_last_lines_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--fail")
    server = VllmServer("some/model")
    assert until(lambda: server.state == "ended")
    traceback = '  File "/home/somebody/vllm/entrypoints/launchers/api_server/entry.py", line 177\n'
    server.log_file.write_text(
        f"ValueError: No available memory for the cache blocks.\n{traceback * 20_000}"
    )
    assert server.log_file.stat().st_size > 10 * vllm.LOG_BYTES
    assert "No available memory" not in "\n".join(server.log)
    assert "The memory is too small for “some/model”" in server.reason()


@pytest.mark.usefixtures("fake_vllm")
def test_what_it_printed_before_it_was_ready_did_not_end_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--say RepositoryNotFoundError")
    server = VllmServer("some/model", grace=0.2)
    assert until(lambda: server.state == "ready")
    server.stop()
    with server.log_file.open("a") as log:
        log.write("RuntimeError: the engine is gone\n")
    assert "RepositoryNotFoundError" in "\n".join(server.log)
    assert server.reason() == "vLLM ended: RuntimeError: the engine is gone"


@pytest.mark.usefixtures("fake_vllm")
def test_where_a_server_is_from_its_start_to_its_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM", "--ready-after 0.5")
    server = VllmServer("some/model")
    seen = [server.state]
    assert until(lambda: server.state == "ready")
    server.stop_in_background()
    seen.append(server.state)
    assert until(lambda: server.state == "stopped")
    assert seen in (["loading", "stopping"], ["loading", "stopped"])
    monkeypatch.setenv("FAKE_VLLM", "--fail")
    failed = VllmServer("some/model")
    assert until(lambda: failed.failed)
    assert failed.state == "ended"


@pytest.mark.usefixtures("fake_vllm")
def test_a_server_that_is_started_again_has_its_address_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        monkeypatch.setattr(vllm, "USUAL_PORTS", range(taken, taken + 10))
        first = VllmServer("some/model", port=taken)
        assert first.port in range(taken + 1, taken + 10)  # a usual one, since the first is taken
        first.stop()
    # The first usual port is free now; the run still knows the other one.
    second = VllmServer("some/model", port=first.port)
    assert second.base_url == first.base_url
    second.stop()


@pytest.mark.thorough
@pytest.mark.usefixtures("fake_vllm")
def test_what_is_started_is_shown_and_a_loading_one_stops_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vllm, "has_graphics_card", lambda: False)
    monkeypatch.setenv("FAKE_VLLM", "--ignore-term --ready-after 100")
    flags = ServeFlags(context_length="2048", more='--served-model-name "my judge"')
    server = VllmServer("some/model", flags)
    for part in ("--max-model-len 2048", "--dtype float32", "--enforce-eager", "'my judge'"):
        assert part in server.command_line
    child = grandchild(lambda: server.log)
    begun = time.monotonic()
    server.stop_in_background()
    assert server.stopping
    assert until(lambda: server.failed)
    assert time.monotonic() - begun < vllm.GRACE_SECONDS - 10
    assert gone(child)


def test_flags_become_arguments_and_others_are_refused() -> None:
    assert ServeFlags(context_length="").arguments() == ()
    flags = ServeFlags(
        "auto", memory=0.8, cards=2, quantization="fp8", reasoning_parser="qwen3", more="--seed 1"
    )
    assert " ".join(flags.arguments()) == (
        "--max-model-len auto --gpu-memory-utilization 0.8 --tensor-parallel-size 2 "
        "--quantization fp8 --reasoning-parser qwen3 --seed 1"
    )
    for more in ("seed 1", "--host 0.0.0.0", "--port=80", "--api-key x", "--seed 'x"):
        with pytest.raises(LabError, match=r"arguments|set by the lab"):
            ServeFlags(more=more).arguments()


@given(
    some.builds(
        ServeFlags,
        context_length=some.sampled_from(["", "2048", "auto"]),
        dtype=some.sampled_from(["", "float32", "half"]),
        memory=some.sampled_from([None, 0.1, 0.85, 1.0]),
        cards=some.sampled_from(vllm.CARDS_OFFERED),
        quantization=some.sampled_from(["", "fp8"]),
        reasoning_parser=some.sampled_from(["", "qwen3"]),
        more=some.sampled_from(
            ["", "--seed 1", "--hf-overrides '{\"a b\": 1}'", "--max-num-seqs 4"]
        ),
    ),
    some.booleans(),
)
def test_flags_are_read_back_from_the_note_of_a_run(flags: ServeFlags, on_cpu: bool) -> None:
    note = shlex.join([*(vllm.ON_CPU if on_cpu else ()), *flags.arguments()])
    assert ServeFlags.from_note(note) == flags


@pytest.mark.parametrize(
    "note",
    [
        "--gpu-memory-utilization 7",
        "--tensor-parallel-size 3",
        "--seed 1 --dtype half",
        "--max-model-len",
    ],
)
def test_what_no_field_can_hold_is_a_further_argument(note: str) -> None:
    assert ServeFlags.from_note(note) == ServeFlags(context_length="", more=note)


@pytest.mark.parametrize("note", ["rm -rf", "--dtype half --host 0.0.0.0", "a 'b"])
def test_a_note_that_nobody_would_type_is_refused_as_if_it_were_typed(note: str) -> None:
    with pytest.raises(LabError, match=r"arguments|set by the lab"):
        ServeFlags.from_note(note).arguments()


@pytest.mark.usefixtures("fake_vllm")
def test_a_run_does_not_go_on_with_a_server_that_was_started_with_other_flags() -> None:
    server = VllmServer("some/model", ServeFlags(dtype="bfloat16"))
    asked = {"kind": "vllm", "model": "some/model", "base_urls": (server.base_url,)}
    same = settings(**asked, options={"serve": server.note})
    found = settings(**asked)  # not started by a lab, so nothing is known of its flags
    elsewhere = settings(
        **asked | {"base_urls": ("http://127.0.0.1:9/v1",)}, options={"serve": "--dtype float32"}
    )
    require_same_start(server, [same, found, elsewhere])
    other = settings(**asked, options={"serve": "--dtype float32"})
    with pytest.raises(LabError, match="started with “--dtype float32”"):
        require_same_start(server, [same, other])
    server.stop()
