"""Run the small model inside this process (llama.cpp), and ask it like any other server.

It listens on a free port of 127.0.0.1, behind a random key, and stops with the last judge that uses
it.
"""

import asyncio
import atexit
import ctypes
import importlib
import json
import os
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, Request, build_opener

from rubriclab.judges.client import ChatClient
from rubriclab.judges.decision_server import DecisionClient
from rubriclab.judges.weights import CATALOGUE, Progress, model_file, sha256_of
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_options import EmbeddedOptions
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, shorten

TOP_LOGPROBS = 200
"""Alternatives asked for: of five labels a small model's lie at ranks 7 to 107, so 40 would cut off
two of five and call them impossible. 200 cost 2 ms a call, 1,000 cost 35 ms and add nothing.
"""
GENERATION_THREADS = 1
"""Measured on two cores: reading a prompt gains from a second thread, one token does not."""
AT_ONCE = 2
"""Calls under way: one is worked on, the next is already tokenised. More would wait inside the
server, where the waiting counts against the judge's timeout.
"""
IDLE_SECONDS = 30.0
"""How long a stop waits for the call under way."""


class EmbeddedJudge:
    """The embedded model as a judge; made by ``open``, inside the event loop that asks it."""

    def __init__(self, settings: JudgeSettings, server: "LlamaServer") -> None:
        self._server = server
        self._turn = asyncio.Semaphore(AT_ONCE)
        own: dict[str, Any] = {"base_urls": [f"{server.url}/v1"], "key": server.key}
        settings = settings.model_copy(update={"key_env": None})
        if settings.about.typed_questions:
            settings = settings.model_copy(
                update={"options": settings.options | {"served_model": "*"}}
            )
            self._client: ChatClient = DecisionClient(settings, **own)
        else:
            self._client = ChatClient(settings, top_logprobs=TOP_LOGPROBS, **own)

    @classmethod
    async def open(cls, settings: JudgeSettings, *, progress: Progress | None = None) -> Self:
        """Fetches the weights on first use (``progress``: bytes so far, in all, from where) and
        loads them (0.5 s).

        Raises LabError saying what to do: unknown option or model, no weights, no GGUF file, a
        context that does not fit into memory, a missing library.
        """
        decides = settings.about.typed_questions  # whose options are others
        options = (
            EmbeddedOptions(path=settings.options["path"])
            if decides
            else read_options(EmbeddedOptions, settings)
        )
        server = await asyncio.to_thread(acquire, settings, options, progress)
        try:
            return cls(settings, server)
        except BaseException:
            release(server)
            raise

    @property
    def adaptations(self) -> list[str]:
        """What is sent otherwise than the settings say, in words."""
        return self._client.adaptations

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply; calls wait their turn here, outside of their timeout.

        Raises LabError where the interpreter ends meanwhile.
        """
        return (await self.ask_together([call]))[0]

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """As ``ask``, of calls that share a request where the model decides."""
        async with self._turn:
            client, replies = self._client, list[Reply]()
            if not self._server.leaving and isinstance(client, DecisionClient):
                replies = await client.ask_together(calls)
            elif not self._server.leaving:
                replies = [await client.ask(call) for call in calls]
        if not replies or self._server.leaving:
            # A fault made by that must not become a judgment. Unanswered, it is asked again.
            raise LabError("the lab was ended while it answered; resume the run")
        return replies

    async def close(self) -> None:
        """Close the connections and let go of the server; safe to call twice."""
        await self._client.close()
        server, self._server = self._server, STOPPED
        release(server)


def check_options(settings: JudgeSettings) -> None:
    """Raises LabError for what can be seen to be wrong without fetching or loading anything."""
    options = read_options(EmbeddedOptions, settings)
    if options.path is not None or settings.model not in CATALOGUE:
        model_file(settings.model, path=options.path)  # of the user's own: nothing is fetched


# ---------------------------------------------------------------- running servers
@dataclass(eq=False)
class LlamaServer:
    """A running server; ``native`` stops when the last reference to it goes. ``users``: open
    judges.
    """

    native: Any
    url: str
    key: str
    sha256: str
    identity: tuple[Any, ...]
    users: int = 0
    leaving: bool = False

    def stop(self) -> None:
        """Stop once it is idle.

        Stopping waits for the call under way while it holds the interpreter lock, and for ever if
        that call is in the middle of its answer: so wait here first, where it harms nobody.
        """
        deadline = time.monotonic() + IDLE_SECONDS
        while self.busy():
            if time.monotonic() > deadline:
                # Left running: stopping would freeze the process.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.native))
                break
            time.sleep(0.05)
        self.native = None

    def busy(self) -> bool:
        request = Request(f"{self.url}/slots", headers={"Authorization": f"Bearer {self.key}"})
        # Straight to this machine, whatever proxy the environment names.
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=IDLE_SECONDS) as answer:
                slots = json.loads(answer.read(1_000_000))
        except (OSError, ValueError):
            return True
        return any(slot["is_processing"] for slot in slots)


STOPPED = LlamaServer(None, "", "", "", ())
RUNNING: dict[tuple[Any, ...], LlamaServer] = {}
"""The servers of this process, one a model and setting: what they hold is the process's memory."""
LOCK = threading.Lock()


def acquire(
    settings: JudgeSettings, options: EmbeddedOptions, progress: Progress | None = None
) -> LlamaServer:
    """A running server of this process with these weights, else a new one. Blocks; raises
    LabError.
    """
    path = model_file(settings.model, path=options.path, progress=progress)
    identity = (path, options.context, options.threads)
    with LOCK:
        server = RUNNING.get(identity) or start(
            settings.model if options.path is None else path.stem, *identity
        )
        if options.sha256 not in ("", server.sha256):
            raise LabError(
                f"{path} has the sha256 {server.sha256}, not {shorten(options.sha256, 80)}, which "
                f"judge "
                f"“{settings.name}” asks for. Name the right file as path, or correct or leave out "
                f"sha256."
            )
        RUNNING[identity] = server
        server.users += 1
    return server


def release(server: LlamaServer) -> None:
    """Let go of a server; the last one stops it, in a thread that the interpreter's end waits
    for.
    """
    with LOCK:
        server.users -= 1
        if server.users > 0 or RUNNING.get(server.identity) is not server:
            return
        del RUNNING[server.identity]
    threading.Thread(target=server.stop, name="embedded-judge-stop").start()


@atexit.register
def stop_all() -> None:
    """At interpreter exit, before the libraries that the servers' threads run in are gone."""
    with LOCK:
        servers = list(RUNNING.values())
        RUNNING.clear()
    for server in servers:
        server.leaving = True
        server.stop()


def start(name: str, path: Path, context: int, threads: int) -> LlamaServer:
    """One slot, quiet, reachable from this machine with the key only; ``name``: the model's, of the
    catalogue or not.
    """
    llama = library()
    sha256 = sha256_of(path)
    key = secrets.token_urlsafe(24)
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {f"{name if name in CATALOGUE else path.stem}@{sha256[:12]}"}
    parameters.n_ctx = context
    parameters.n_parallel = 1
    # A cancelled call ends at the next batch; larger ones read a prompt no faster.
    parameters.n_batch = parameters.n_ubatch = 512
    parameters.cpuparams.n_threads = GENERATION_THREADS
    parameters.cpuparams_batch.n_threads = threads
    # The slot's own memory holds the prefix that an item's calls share; a second cache costs time
    # and never hits.
    parameters.cache_ram_mib = 0
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.endpoint_slots = True
    parameters.verbosity = -1
    try:
        native = llama.Server(parameters)
    except RuntimeError as error:
        raise LabError(
            f"{path} could not be loaded as a model. The file may be cut short or of a kind that "
            f"this llama.cpp does "
            f"not know, or a context of {context:,} tokens does not fit into memory. Try another "
            f"file or a smaller "
            "context."
        ) from error
    return LlamaServer(native, native.listening_address, key, sha256, (path, context, threads))


def library() -> Any:
    """The xllamacpp module. Raises LabError where it, or the system library that it needs, is
    missing.
    """
    # Threads that spin between two calls would take the second core from the rest of the lab; the
    # OpenMP library reads this once, when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        if "libgomp" in str(error):
            raise LabError(
                "The embedded judge needs the system library libgomp1, which is missing here: "
                "apt-get install libgomp1 "
                "(elsewhere the package may be called libgomp), then start the lab again."
            ) from error
        raise LabError(
            f"The embedded judge needs the Python package xllamacpp, which cannot be loaded: "
            f"{error}. Install it with "
            "“pip install xllamacpp”."
        ) from error
