"""Start vLLM (``vllm serve``) as a child process that ends with the lab.

A server that already runs is found by ``probe`` and asked like any other. Two facts about vLLM 0.32
matter here. ``/health``, which is next to ``/v1``, answers 200 once the model is loaded. Without
``--shutdown-timeout``, a server that is stopped may return half a reply with status 200.
"""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from rubriclab.judges import supervisor
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask, without_keys
from rubriclab.judges.kinds import in_thread
from rubriclab.judges.served import served
from rubriclab.judges.transport import fetch
from rubriclab.model.text import LabError, shorten

ARGUMENTS = ("--enable-prompt-tokens-details", "--shutdown-timeout", "20")
"""Report cached tokens with every reply, and finish replies in progress before stopping."""
GRACE_SECONDS = 25.0
"""Seconds between SIGTERM and SIGKILL: the shutdown timeout above, and a few more."""
LOG_LINES = 40
"""How many of the log's last lines are shown."""
LOG_BYTES = 65_536
"""How much of the log's end is read for them; a log can grow to many MB."""


def why_not() -> str:
    """Say why vLLM cannot be started here, and what to do; empty if it can."""
    if served():
        return "This lab is served to others, so only its owner can start vLLM, on the machine."
    if os.name == "nt":
        return "vLLM does not run on Windows. Start it in WSL, then find it from here."
    if shutil.which("vllm") is None:
        return (
            "There is no vllm command on this machine's PATH. With a graphics card, install it "
            "with “pip install 'rubriclab[vllm]'”. Without one, give the address of a server that "
            "runs elsewhere."
        )
    return ""


class VllmServer:
    """Run ``vllm serve`` as a child process that only this machine can ask.

    All methods may be called from any thread. Raises LabError as ``why_not`` says, and if ``model``
    is not the name of a model.

    base_url: where the server answers once it is ready.
    log_file: everything that it prints.
    grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(self, model: str, *, grace: float = GRACE_SECONDS) -> None:
        reason = why_not()
        if reason:
            raise LabError(reason)
        self.model = model.strip()
        self._grace = grace
        self._was_ready = False
        # A name with a leading hyphen would be read as an option of the command.
        if not self.model or self.model.startswith("-") or "\0" in model:
            raise LabError(
                f"“{shorten(model)}” is not a model. Give a name from the hub, for example "
                f"Qwen/Qwen3-8B, or a folder."
            )
        with socket.socket() as free:  # port 0 makes the system choose a free one
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        command = [
            shutil.which("vllm") or "vllm",
            "serve",
            self.model,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        descriptor, name = tempfile.mkstemp(prefix="rubriclab-vllm-", suffix=".log")
        self.log_file = Path(name)
        with os.fdopen(descriptor, "wb") as log:
            self._child = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, f"{grace:g}", *command, *ARGUMENTS],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=without_keys(os.environ) | {"VLLM_NO_USAGE_STATS": "1"},
            )
        # Called in reverse order: first the server stops, then its log is deleted.
        atexit.register(self.log_file.unlink, missing_ok=True)
        atexit.register(self.stop)

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
        SIGKILL to the whole group.
        """
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            return self._child.wait(self._grace + 5.0)
        except subprocess.TimeoutExpired:
            self._child.kill()  # the supervisor hangs; its death sends the server SIGTERM on Linux
            return self._child.wait()
