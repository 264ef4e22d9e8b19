"""Start vLLM (``vllm serve``) as a child process that ends with the lab.

A server that runs already is found by ``probe`` and asked like any other. Facts are those of vLLM
0.32: ``/health`` stands beside ``/v1`` and answers 200 once the model is loaded; without
``--shutdown-timeout`` a server that is stopped may return a cut answer with status 200.
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
"""Cached tokens in every answer, and answers in progress finished at the end."""
GRACE_SECONDS = 25.0
LOG_LINES = 40
LOG_BYTES = 65_536


def why_not() -> str:
    """Why vLLM cannot be started here, and what to do; empty where it can."""
    if served():
        return "Starting vLLM is for whoever sits at the machine: this lab is served to others."
    if os.name == "nt":
        return "vLLM does not run on Windows itself: start it in WSL and find it from here."
    if shutil.which("vllm") is None:
        return (
            "There is no vllm command on this machine's PATH. With a graphics card: pip install "
            "'rubriclab[vllm]'; or "
            "give the address of a server that runs elsewhere."
        )
    return ""


class VllmServer:
    """A ``vllm serve`` child of this machine alone, with its log; ``ready`` and ``failed`` tell how
    it stands.

    ``base_url``: where it answers once it is ready; ``log_file``: everything it says; ``grace``:
    seconds between SIGTERM and SIGKILL. All methods may be called from any thread. Raises LabError
    as ``why_not`` says, and where ``model`` is no model's name.
    """

    def __init__(self, model: str, *, grace: float = GRACE_SECONDS) -> None:
        if reason := why_not():
            raise LabError(reason)
        self.model, self._grace, self._was_ready = model.strip(), grace, False
        if not self.model or self.model.startswith("-") or "\0" in model:
            raise LabError(
                f"“{shorten(model)}” is no model: give a name from the hub, as Qwen/Qwen3-8B, or a "
                f"folder."
            )
        with socket.socket() as free:  # a port that nobody listens on just now
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
        atexit.register(self.log_file.unlink, missing_ok=True)
        atexit.register(self.stop)  # called before what was registered before it

    @property
    def ready(self) -> bool:
        """Whether it runs and has said once that it is ready."""
        if not (self.failed or self._was_ready):
            with suppress(Fault):
                in_thread(lambda: fetch(f"{self.base_url.removesuffix('/v1')}/health", timeout=1.0))
                self._was_ready = True
        return self._was_ready and not self.failed

    @property
    def failed(self) -> bool:
        """Whether it has ended by itself or was stopped."""
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
        """SIGTERM, after the grace period SIGKILL to the whole group; the exit code, 128 + the
        signal's number.

        Safe to call twice.
        """
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            return self._child.wait(self._grace + 5.0)
        except subprocess.TimeoutExpired:
            self._child.kill()  # the supervisor hangs; its death sends the server SIGTERM on Linux
            return self._child.wait()
