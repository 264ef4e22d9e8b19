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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rubriclab.judges import supervisor
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask, without_keys
from rubriclab.judges.kinds import in_thread
from rubriclab.judges.served import served
from rubriclab.judges.transport import fetch
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
CARDS = ("/dev/nvidia0", "/dev/kfd", "/dev/accel0", "/dev/dri/renderD128")
"""What the system has where there is a graphics card of NVIDIA, AMD or another maker."""
REFUSED = ("--host", "--port", "--api-key", "--uds", "--ssl-keyfile", "--ssl-certfile", "--config")
"""Arguments that the lab sets itself, or that would open the server to others."""
COMMAND_VARIABLE = "RUBRICLAB_VLLM"
GRACE_SECONDS = 25.0
"""Seconds between SIGTERM and SIGKILL: the shutdown timeout above, and a few more."""
LOADING_GRACE_SECONDS = 3.0
"""The same for a server that was never ready: it has no reply to finish."""
MOST_REASON = 300
"""Characters of a line of the log that says why the server ended."""
LOG_LINES = 40
"""How many of the log's last lines are shown."""
LOG_BYTES = 65_536
"""How much of the log's end is read for them; a log can grow to many MB."""


CAUSES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        (
            r"is not a local folder and is not a valid model",
            r"couldn't connect to",
            r"LocalEntryNotFoundError",
            r"Repository ?Not ?Found",
            r"OfflineModeIsEnabled",
            r"Can't load the configuration",
        ),
        "vLLM could not find {model}: it is not on this machine, and could not be downloaded. "
        "Check the name and the network, or give a folder.",
    ),
    (
        (r"GatedRepoError", r"gated repo"),
        "{model} is gated: its owner must let you in. Log in to the hub in a terminal first, or "
        "give a folder.",
    ),
    (
        (r"unrecognized arguments: (.+)",),
        "This vLLM does not know {words}. Correct the further arguments.",
    ),
    (
        (r"argument (--[^:]+): ",),
        "vLLM does not accept the value of {words}. Correct it and start again.",
    ),
    (
        (
            r"No available memory for the cache blocks",
            r"less than desired GPU memory utilization",
            r"To serve at least one request with the model's max seq len",
            r"out of memory",
        ),
        "The memory is too small for {model}, or in use. Lower the context length, free memory, "
        "or take a smaller model.",
    ),
    ((r"No space left on device",), "The disk is full. Make room, then start again."),
    (
        (r"Failed to infer device type", r"No CUDA GPUs are available"),
        "vLLM found no graphics card. Use the lab's small model, or a server elsewhere.",
    ),
    (
        (r"Model architectures .+ are not supported", r"does not recognize this architecture"),
        "This vLLM does not know the kind of model that {model} is. Take another, or a newer vLLM.",
    ),
    ((r"Address already in use",), "Another program took the port. Start again."),
)
"""Words in the log of a server that ended, and what is told of them."""


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
    return shutil.which("nvidia-smi") is not None or any(Path(card).exists() for card in CARDS)


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
            f"{COMMAND_VARIABLE} names “{shorten(named, 200)}”, which is no command. Correct it, "
            f"and start the lab again."
        )
    looked = (
        f"There is no vllm command beside the lab's Python ({sysconfig.get_path('scripts')}) or "
        "on the PATH."
    )
    if not has_graphics_card():
        return (
            f"{looked} This machine has no graphics card, where vLLM is slow and hard to install: "
            "use the lab's small model, or give the address of a server elsewhere."
        )
    return (
        f"{looked} Install it with “{sys.executable} -m pip install -e '.[vllm]'” in the lab's "
        "folder (several GB). If it is in another environment, start the lab with "
        f"{COMMAND_VARIABLE}=/that/environment/bin/vllm."
    )


@dataclass(frozen=True)
class ServeFlags:
    """What ``vllm serve`` is started with. An empty field leaves the choice to vLLM.

    context_length: tokens of prompt and reply, or “auto” for the longest that fits. memory: share
    of the card's memory. cards: on how many the model is spread. more: further arguments, as in a
    terminal.
    """

    context_length: str = "8192"
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
            ("--gpu-memory-utilization", f"{self.memory:g}" if self.memory else ""),
            ("--tensor-parallel-size", str(self.cards) if self.cards > 1 else ""),
            ("--quantization", self.quantization.strip()),
            ("--reasoning-parser", self.reasoning_parser.strip()),
        ):
            if value:
                made += [name, value]
        return (*made, *self._further())

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
            if word.partition("=")[0] in REFUSED:
                raise LabError(f"“{shorten(word)}” is set by the lab. Leave it out.")
        return words


class VllmServer:
    """Run ``vllm serve`` as a child process that only this machine can ask.

    All methods may be called from any thread. Raises LabError as ``why_not`` says, and if ``model``
    is not the name of a model.

    base_url: where the server answers once it is ready.
    log_file: everything that it prints.
    command_line: what was started, to copy.
    grace: seconds between SIGTERM and SIGKILL, once it was ready.
    """

    def __init__(
        self, model: str, flags: ServeFlags | None = None, *, grace: float = GRACE_SECONDS
    ) -> None:
        reason = why_not()
        if reason:
            raise LabError(reason)
        self.model = model.strip()
        self.flags = flags or ServeFlags(context_length="")
        self.stopping = False
        self._grace = grace
        self._was_ready = False
        self._started = time.monotonic()
        # A name with a leading hyphen would be read as an option of the command.
        if not self.model or self.model.startswith("-") or "\0" in model:
            raise LabError(
                f"“{shorten(model)}” is not a model. Give a name from the hub, for example "
                f"Qwen/Qwen3-8B, or a folder."
            )
        chosen = self.flags.arguments()
        on_cpu = not has_graphics_card()
        program = command() or "vllm"
        with socket.socket() as free:  # port 0 makes the system choose a free one
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        started = [program, "serve", self.model, "--host", "127.0.0.1", "--port", str(port)]
        started += [*(ON_CPU if on_cpu else ()), *ARGUMENTS, *chosen]
        self.command_line = shlex.join(started)
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
        """Say why the server ended before it was ready, from the words of its log."""
        lines = self.log
        text = "\n".join(lines)
        for patterns, told in CAUSES:
            found = re.search("|".join(patterns), text, re.IGNORECASE)
            if found:
                words = found.group(found.lastindex or 0)
                model = f"“{shorten(self.model, 100)}”"
                return told.format(words=shorten(words, 120), model=model)
        errors = [line for line in lines if "Error" in line or "error:" in line]
        last = (errors or lines or ["it said nothing"])[-1].strip()
        return f"vLLM ended before it was ready: {shorten(last, MOST_REASON)}"

    @property
    def ready(self) -> bool:
        """Whether the server runs and has once said that it is ready."""
        if not (self.failed or self._was_ready):
            with suppress(Fault):
                in_thread(lambda: fetch(f"{self.base_url.removesuffix('/v1')}/health", timeout=1.0))
                self._was_ready = True
        return self._was_ready and not self.failed

    @property
    def failed(self) -> bool:
        """Whether the server has ended, by itself or by ``stop``."""
        return self._child.poll() is not None

    @property
    def log(self) -> list[str]:
        """The log's last lines, without keys."""
        try:
            with self.log_file.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return []
        return mask("\n".join(text.splitlines()[-LOG_LINES:])).splitlines()

    def stop(self) -> int:
        """Stop the server, and return its exit code (128 + N for signal N). Safe to call twice.

        The end of its input tells the supervisor to send SIGTERM and, after the grace period,
        SIGKILL to the whole group. A server that was never ready has no reply to finish: it gets
        SIGKILL after LOADING_GRACE_SECONDS.
        """
        self.stopping = True
        if self._child.stdin is not None:
            self._child.stdin.close()
        if not self._was_ready:
            with suppress(subprocess.TimeoutExpired):
                return self._child.wait(min(LOADING_GRACE_SECONDS, self._grace + 5.0))
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
