"""Start vLLM (``vllm serve``) as a child process that ends with the lab.

A server that already runs is found by ``probe`` and asked like any other. Two facts about vLLM 0.32
matter here. ``/health``, which is next to ``/v1``, answers 200 once the model is loaded. Without
``--shutdown-timeout``, a server that is stopped may return half a reply with status 200.
"""

import atexit
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, Self

from rubriclab.judges import supervisor
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask, without_keys
from rubriclab.judges.kinds import in_thread
from rubriclab.judges.served import served
from rubriclab.judges.transport import fetch
from rubriclab.judges.vllm_causes import why_ended
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.text import LabError, shorten

ARGUMENTS = (
    "--enable-prompt-tokens-details",
    "--logprobs-mode",
    "raw_logprobs",
    "--shutdown-timeout",
    "20",
)
"""Report cached tokens with every reply, give probabilities to typed questions, and finish replies
in progress before stopping.
"""
ON_CPU = ("--dtype", "float32", "--enforce-eager", "--block-size", "32")
"""Without a graphics card. bfloat16, which vLLM would take, is four times slower there and ties
labels; compiling the model takes minutes.
"""
CPU_SETTINGS = {
    "CUDA_VISIBLE_DEVICES": "",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
"""Settings without a graphics card: 1 GB of cache, and no thread bound to a processor."""
CARDS = ("/dev/nvidia0", "/dev/kfd", "/dev/accel0")
"""What the system has where there is a card of NVIDIA, AMD or another maker. ``/dev/dri`` is no
sign: graphics that are part of a processor have it too.
"""
CARDS_OFFERED = (1, 2, 4, 8)
"""On how many cards a model can be spread: the heads of most models divide by these."""
CARD_TOOLS = ("nvidia-smi", "xpu-smi")
REFUSED = (
    "--host",
    "--port",
    "--api-key",
    "--uds",
    "--root-path",
    "--ssl-keyfile",
    "--ssl-certfile",
    "--config",
)
"""Arguments that the lab sets itself, or that would open the server to others."""
SECRET = "--hf-token"
"""An argument that would be kept with the study."""
COMMAND_VARIABLE = "RUBRICLAB_VLLM"
USUAL_PORTS = range(8600, 8610)
"""Tried in this order, because a server's address is part of its judge's identity: a run goes on
after vLLM was stopped and started again. Several labs on one machine take several of them.
"""
ServerState = Literal["loading", "ready", "stopping", "stopped", "ended"]
"""Where a server is: “stopped” by the user, or “ended” by itself."""
GRACE_SECONDS = 25.0
"""Seconds between SIGTERM and SIGKILL: the shutdown timeout above, and a few more."""
LOADING_GRACE_SECONDS = 3.0
"""The same for a server that was never ready: it has no reply to finish."""
LOG_LINES = 40
"""How many of the log's last lines are shown. The cause of an end may be further up: the engine
writes it before the server's own long traceback.
"""
LOG_BYTES = 65_536
"""How much of the log's end is read to show its last lines."""
CAUSE_BYTES = 16_777_216
"""How much of the log's end is searched for the cause. A log of many days can be larger, but its
beginning did not end the server.
"""


def command() -> str | None:
    """Return the vllm command: RUBRICLAB_VLLM, else beside the lab's Python, else on the PATH.

    The lab's own environment need not be activated, so the PATH alone would not find it.
    """
    named = os.environ.get(COMMAND_VARIABLE, "")
    if named:
        return shutil.which(named)
    return shutil.which("vllm", path=sysconfig.get_path("scripts")) or shutil.which("vllm")


@cache
def has_graphics_card() -> bool:
    """Return whether this machine has a graphics card that vLLM might use."""
    return any(map(shutil.which, CARD_TOOLS)) or any(Path(card).exists() for card in CARDS)


def why_not() -> str:
    """Say why vLLM cannot be started here, and what to do; empty if it can."""
    if served():
        return "This lab is served to others, so only its owner can start vLLM, on the machine."
    if os.name == "nt":
        return "vLLM does not run on Windows. Start it in WSL, then find it from here."
    if command() is not None:
        return ""
    named = os.environ.get(COMMAND_VARIABLE, "")
    if named:
        return (
            f"There is no command “{shorten(named, 200)}”, which {COMMAND_VARIABLE} names. Correct "
            "it, and start the lab again."
        )
    looked = (
        "There is no vllm command next to the lab's Python "
        f"({sysconfig.get_path('scripts')}) or on the PATH."
    )
    elsewhere = (
        f"If it is in another environment, start the lab with {COMMAND_VARIABLE}=/that/environment"
        "/bin/vllm."
    )
    if not has_graphics_card():
        return (
            f"{looked} {elsewhere} This machine has no graphics card. Without one, vLLM is slow "
            "and hard to install. Use the lab's small model, or give the address of a server "
            "elsewhere."
        )
    install = f"{sys.executable} -m pip install {_wanted()}"
    return f"{looked} Install it with “{install}” (several GB). {elsewhere}"


def _wanted() -> str:
    """Return what pip has to install: the extra of a clone, else the package."""
    clone = Path(__file__).parents[2]
    if (clone / "pyproject.toml").exists():
        return f"-e {shlex.quote(f'{clone}[vllm]')}"
    return "'vllm>=0.20,<1'"


@dataclass(frozen=True)
class ServeFlags:
    """What ``vllm serve`` is started with. An empty field leaves the choice to vLLM.

    context_length: tokens of prompt and reply, or “auto” for the longest that fits. dtype: the type
    of the numbers. memory: share of the card's memory. cards: on how many the model is spread.
    more: further arguments, as in a terminal.
    """

    context_length: str = "8192"
    dtype: str = ""
    memory: float | None = None
    cards: int = 1
    quantization: str = ""
    reasoning_parser: str = ""
    more: str = ""

    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of the command.

        Raises LabError for a further argument that does not begin with “--”, that the lab sets
        itself, or whose quotes do not close.
        """
        made: list[str] = []
        for name, value in (
            ("--max-model-len", self.context_length.strip()),
            ("--dtype", self.dtype),
            ("--gpu-memory-utilization", f"{self.memory:g}" if self.memory else ""),
            ("--tensor-parallel-size", str(self.cards) if self.cards > 1 else ""),
            ("--quantization", self.quantization.strip()),
            ("--reasoning-parser", self.reasoning_parser.strip()),
        ):
            if value:
                made += [name, value]
        return (*made, *self._further())

    @classmethod
    def from_note(cls, note: str) -> Self:
        """Return the flags whose note this is (``VllmServer.note``).

        A study file may hold any note. What no field can hold becomes a further argument, which
        ``arguments`` checks as if it were typed.
        """
        try:
            words = shlex.split(note)
        except ValueError:
            return cls(context_length="", more=note)
        if tuple(words[: len(ON_CPU)]) == ON_CPU:
            words = words[len(ON_CPU) :]
        values: dict[str, str] = {}
        while len(words) > 1 and _has_field(words[0], words[1]) and words[0] not in values:
            values[words[0]] = words[1]
            words = words[2:]
        memory = values.get("--gpu-memory-utilization")
        return cls(
            context_length=values.get("--max-model-len", ""),
            dtype=values.get("--dtype", ""),
            memory=float(memory) if memory else None,
            cards=int(values.get("--tensor-parallel-size", "1")),
            quantization=values.get("--quantization", ""),
            reasoning_parser=values.get("--reasoning-parser", ""),
            more=shlex.join(words),
        )

    def _further(self) -> list[str]:
        try:
            words = shlex.split(self.more)
        except ValueError as error:
            raise LabError(
                f"Further arguments “{shorten(self.more)}”: {error}. Close the quotes."
            ) from error
        if words and not words[0].startswith("--"):
            raise LabError(
                f"Further arguments begin with “{shorten(words[0])}”. Each must begin with “--”, "
                f"for example --seed 1."
            )
        for word in words:
            # vLLM takes underscores for hyphens, and an argument's beginning for its name.
            name = word.partition("=")[0].replace("_", "-")
            if not name.startswith("--") or len(name) < 4:
                continue
            if SECRET.startswith(name):
                raise LabError(
                    f"{SECRET} would be kept with the study. Log in to the hub in a terminal "
                    f"instead."
                )
            if any(refused.startswith(name) for refused in REFUSED):
                raise LabError(f"“{shorten(word)}” is set by the lab. Leave it out.")
        return words

    def served_name(self) -> str:
        """Return the name that the further arguments give to the model; empty if none."""
        words = iter(self._further())
        for word in words:
            name, _, value = word.partition("=")
            if name.replace("_", "-") == "--served-model-name":
                return value or next(words, "")
        return ""


def _has_field(flag: str, value: str) -> bool:
    """Return whether ``ServeFlags`` has a field that can hold this value of this flag."""
    if flag == "--gpu-memory-utilization":
        return re.fullmatch(r"0\.[1-9]\d*|1", value) is not None
    if flag == "--tensor-parallel-size":
        return value in map(str, CARDS_OFFERED)
    return flag in ("--max-model-len", "--dtype", "--quantization", "--reasoning-parser")


class VllmServer:
    """Run ``vllm serve`` as a child process that only this machine can ask.

    All methods may be called from any thread. Raises LabError as ``why_not`` says, and if ``model``
    is not the name of a model.

    name: what the server calls the model.
    base_url: where the server answers once it is ready.
    log_file: everything that it prints.
    command_line: what was started, to copy.
    note: the part of it that may change what the judge replies.
    port: is taken if it is free, else the first of USUAL_PORTS that is; 0 takes any.
    grace: seconds between SIGTERM and SIGKILL, once it was ready.
    """

    def __init__(
        self,
        model: str,
        flags: ServeFlags | None = None,
        *,
        port: int = 0,
        grace: float = GRACE_SECONDS,
    ) -> None:
        reason = why_not()
        if reason:
            raise LabError(reason)
        self.model = model.strip()
        self.flags = flags or ServeFlags(context_length="")
        self.stopping = False
        self._grace = grace
        self._was_ready = False
        self._log_when_ready = 0
        self._started = time.monotonic()
        if not self.model:
            raise LabError(
                "Enter a model first: a name from the hub, for example Qwen/Qwen3-8B, or a folder."
            )
        # A name with a leading hyphen would be read as an option of the command.
        if self.model.startswith("-") or "\0" in model:
            raise LabError(
                f"“{shorten(model)}” is not a model. Give a name from the hub, for example "
                f"Qwen/Qwen3-8B, or a folder."
            )
        on_cpu = not has_graphics_card()
        # An argument that is given twice counts as given last.
        chosen = [*(ON_CPU if on_cpu else ()), *self.flags.arguments()]
        self.name = self.flags.served_name() or self.model
        program = command() or "vllm"
        self.port = _free_port(port)
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        started = [program, "serve", self.model, "--host", "127.0.0.1", "--port", str(self.port)]
        started += [*ARGUMENTS, *chosen]
        self.command_line = shlex.join(started)
        self.note = shlex.join(chosen)
        descriptor, name = tempfile.mkstemp(prefix="rubriclab-vllm-", suffix=".log")
        self.log_file = Path(name)
        with os.fdopen(descriptor, "wb") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, f"{grace:g}", *started],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._environment(program, on_cpu=on_cpu),
            )
        # Called in reverse order: first the server stops, then its log is deleted.
        atexit.register(self.log_file.unlink, missing_ok=True)
        atexit.register(self.stop)

    def _environment(self, program: str, *, on_cpu: bool) -> Mapping[str, str]:
        """Return the server's environment: the lab's, without keys.

        The PATH begins with the command's folder: vLLM runs tools such as ninja from there, and
        its environment need not be activated. Python's own variables of the lab are left out.
        """
        environment = without_keys(os.environ) | {"VLLM_NO_USAGE_STATS": "1"}
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
        folder = str(Path(program).parent)
        environment["PATH"] = os.pathsep.join([folder, environment.get("PATH", os.defpath)])
        if on_cpu:
            environment = CPU_SETTINGS | environment
        return environment

    @property
    def seconds(self) -> float:
        """How long ago the server was started."""
        return time.monotonic() - self._started

    def reason(self) -> str:
        """Say why the server ended by itself, from the words of its log.

        What it wrote before it was ready did not end a server that was.
        """
        log = self._log_from(max(self._log_when_ready, self._log_size() - CAUSE_BYTES))
        return why_ended(log, self.model, was_ready=self._was_ready)

    @property
    def state(self) -> ServerState:
        """Where the server is now. A page asks once, so that all it shows belongs together."""
        if self.failed:
            return "stopped" if self.stopping else "ended"
        if self.stopping:
            return "stopping"
        if self.ready:
            return "ready"
        # It may have ended while it was asked.
        return "ended" if self.failed else "loading"

    @property
    def ready(self) -> bool:
        """Whether the server runs and has once said that it is ready."""
        if not (self.failed or self._was_ready):
            with suppress(Fault):
                in_thread(lambda: fetch(f"{self.base_url.removesuffix('/v1')}/health", timeout=1.0))
                self._log_when_ready = self._log_size()
                self._was_ready = True
        return self._was_ready and not self.failed

    @property
    def failed(self) -> bool:
        """Whether the server has ended, by itself or by ``stop``."""
        return self._child.poll() is not None

    @property
    def log(self) -> list[str]:
        """The log's last lines, without keys."""
        return self._log_from(self._log_size() - LOG_BYTES).splitlines()[-LOG_LINES:]

    def _log_size(self) -> int:
        """Return how many bytes the server has printed; 0 if its log is gone."""
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def _log_from(self, start: int) -> str:
        """Return the log from this byte to its end, without keys."""
        try:
            with self.log_file.open("rb") as file:
                file.seek(max(0, start))
                return mask(file.read().decode("utf-8", "replace"))
        except FileNotFoundError:
            return ""

    @property
    def stop_seconds(self) -> float:
        """How long ``stop`` may take. A server that was never ready has no reply to finish."""
        return self._grace if self._was_ready else min(LOADING_GRACE_SECONDS, self._grace)

    def stop(self) -> int:
        """Stop the server, and return its exit code (128 + N for signal N). Safe to call twice.

        The end of its input tells the supervisor to send SIGTERM and, after the grace period,
        SIGKILL to the whole group. A server that was never ready gets SIGKILL sooner.
        """
        self.stopping = True
        if self._child.stdin is not None:
            self._child.stdin.close()
        if not self._was_ready:
            with suppress(subprocess.TimeoutExpired):
                return self._child.wait(self.stop_seconds)
            self._kill_group()
        try:
            return self._child.wait(self._grace + 5.0)
        except subprocess.TimeoutExpired:
            self._child.kill()  # the supervisor hangs; its death sends the server SIGTERM on Linux
            return self._child.wait()

    def stop_in_background(self) -> None:
        """Stop the server in a thread, so that a page need not wait for it."""
        self.stopping = True
        threading.Thread(target=self.stop, name="stop vllm", daemon=True).start()

    def _kill_group(self) -> None:
        """Send SIGKILL to what the supervisor started; it then ends by itself, with their code."""
        children = Path(f"/proc/{self._child.pid}/task/{self._child.pid}/children")
        with suppress(OSError, ValueError):
            for pid in map(int, children.read_text().split()):
                os.killpg(pid, signal.SIGKILL)


def require_same_start(server: VllmServer, judges: Iterable[JudgeSettings]) -> None:
    """Raise LabError if a run would go on with a server that was started in another way.

    A judge keeps what its server was started with. Replies of another number type would be mixed
    with those that the run has.
    """
    for judge in judges:
        kept = judge.options.get("serve")
        if kept and server.base_url in judge.base_urls and kept != server.note:
            raise LabError(
                f"The run's first calls went to a vLLM that was started with “{shorten(kept, 300)}”"
                f". The one at {server.base_url} was started with “{shorten(server.note, 300)}”. "
                "Stop it and start it as before, or launch a new run."
            )


def _free_port(wanted: int) -> int:
    """Return ``wanted`` if nothing listens there, else a usual port, else one that is free.

    0 is no wish: the system chooses.
    """
    for port in (wanted, *USUAL_PORTS, 0) if wanted else (0,):
        with socket.socket() as free, suppress(OSError):
            # As the server will: a port is free although connections to it were closed just now.
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", port))
            return int(free.getsockname()[1])
    raise LabError("This machine has no free port. End a program that listens, and start again.")
