"""Run the small model inside this process (llama.cpp), and ask it like any other server.

The server listens on a free port of 127.0.0.1, behind a random key, so no other user of the machine
can ask it. It stops with the last judge that uses it.
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
"""Alternatives to ask for. A small model ranks its five labels 7th to 107th among all tokens. With
40 alternatives, two of the five would seem impossible. 200 cost 2 ms per call; 1,000 cost 35 ms and
add nothing."""
GENERATION_THREADS = 1
"""Measured on two cores: reading a prompt gains from a second thread, one token does not."""
AT_ONCE = 2
"""Calls under way: the server works on one, and the next is already tokenised. More would wait
inside the server, where waiting counts against the judge's timeout."""
IDLE_SECONDS = 30.0
"""How long a stop waits for the call under way. After that the server is left running."""
LOOK_SECONDS = 0.05
"""How often a stop looks whether that call has ended."""


class EmbeddedJudge:
    """Ask the embedded model. Made by ``open``, inside the event loop that asks it."""

    def __init__(self, settings: JudgeSettings, server: "LlamaServer") -> None:
        self._server = server
        self._turn = asyncio.Semaphore(AT_ONCE)
        own: dict[str, Any] = {"base_urls": [f"{server.url}/v1"], "key": server.key}
        # The user's key is not this server's business.
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
        """Download the weights on first use, load them (0.5 s), and return the judge.

        Raises LabError, saying what to do, for an unknown option or model, weights that cannot be
        downloaded, a file that is not GGUF, a context that does not fit into memory, and a missing
        library.
        """
        if settings.about.typed_questions:  # a kind with options of its own
            options = EmbeddedOptions(path=settings.options["path"])
        else:
            options = read_options(EmbeddedOptions, settings)
        server = await asyncio.to_thread(acquire, settings, options, progress)
        try:
            return cls(settings, server)
        except BaseException:
            release(server)
            raise

    @property
    def adaptations(self) -> list[str]:
        """Sentences about what the server refused and what it is sent instead."""
        return self._client.adaptations

    async def ask(self, call: Call) -> Reply:
        """Ask one call. Calls wait for their turn here, where waiting does not count as their time.

        Raises LabError if the interpreter ends in the meantime.
        """
        return (await self.ask_together([call]))[0]

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply]:
        """Ask several calls, in one request if the model answers typed questions."""
        replies: list[Reply] = []
        async with self._turn:
            client = self._client
            if not self._server.leaving and isinstance(client, DecisionClient):
                replies = await client.ask_together(calls)
            elif not self._server.leaving:
                replies = [await client.ask(call) for call in calls]
        # A server that is being stopped breaks its calls. Such a fault must not be kept as a
        # judgment: a call without a reply is asked again when the run is resumed.
        if not replies or self._server.leaving:
            raise LabError("the lab was ended while it answered; resume the run")
        return replies

    async def close(self) -> None:
        """Close the connections and let go of the server; safe to call twice."""
        await self._client.close()
        server = self._server
        self._server = STOPPED  # so that a second call releases nothing
        release(server)


def check_options(settings: JudgeSettings) -> None:
    """Raise LabError for whatever is wrong that shows without downloading or loading anything."""
    options = read_options(EmbeddedOptions, settings)
    # Only models of the catalogue are downloaded. The user's own file can be looked at.
    if options.path is not None or settings.model not in CATALOGUE:
        model_file(settings.model, path=options.path)


# ---------------------------------------------------------------- running servers
@dataclass(eq=False)
class LlamaServer:
    """A running server.

    native: the llama.cpp object; it stops when the last reference to it is dropped.
    key: what a request must carry.
    sha256: of the weights.
    identity: file, context and threads; judges with the same share a server.
    users: how many open judges use it.
    leaving: whether the interpreter is ending.
    """

    native: Any
    url: str
    key: str
    sha256: str
    identity: tuple[Any, ...]
    users: int = 0
    leaving: bool = False

    def stop(self) -> None:
        """Stop the server once it is idle.

        Dropping ``native`` waits for the call under way while it holds the interpreter lock, and
        for ever if that call is in the middle of its reply. So wait here first, without the lock.
        """
        deadline = time.monotonic() + IDLE_SECONDS
        while self.busy():
            if time.monotonic() > deadline:
                # Keep one more reference, so that the server goes on: stopping would freeze us.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.native))
                break
            time.sleep(LOOK_SECONDS)
        self.native = None

    def busy(self) -> bool:
        """Return whether the server works on a call. One that does not say counts as busy."""
        request = Request(f"{self.url}/slots", headers={"Authorization": f"Bearer {self.key}"})
        direct = build_opener(ProxyHandler({}))  # whatever proxy the environment names
        try:
            with direct.open(request, timeout=IDLE_SECONDS) as answer:
                slots = json.loads(answer.read(1_000_000))
        except (OSError, ValueError):
            return True
        return any(slot["is_processing"] for slot in slots)


STOPPED = LlamaServer(None, "", "", "", ())
RUNNING: dict[tuple[Any, ...], LlamaServer] = {}
"""The servers of this process, one for each identity, because each holds a model in memory."""
LOCK = threading.Lock()
"""Guards RUNNING and the servers' users: runs and pages open judges in several threads."""


def acquire(
    settings: JudgeSettings, options: EmbeddedOptions, progress: Progress | None = None
) -> LlamaServer:
    """Return a server with these weights, started if this process has none. Blocks.

    Raises LabError.
    """
    path = model_file(settings.model, path=options.path, progress=progress)
    identity = (path, options.context, options.threads)
    name = settings.model if options.path is None else path.stem
    with LOCK:
        server = RUNNING.get(identity) or start(name, *identity)
        if options.sha256 not in ("", server.sha256):
            raise LabError(
                f"{path} has the sha256 {server.sha256}, but judge “{settings.name}” asks for "
                f"{shorten(options.sha256, 80)}. Name the right file as path, correct sha256, or "
                f"leave it out."
            )
        RUNNING[identity] = server
        server.users += 1
    return server


def release(server: LlamaServer) -> None:
    """Let go of a server. The last user stops it."""
    with LOCK:
        server.users -= 1
        if server.users > 0 or RUNNING.get(server.identity) is not server:
            return
        del RUNNING[server.identity]
    # Stopping may take seconds. The thread is not a daemon, so the interpreter's end waits for it.
    threading.Thread(target=server.stop, name="embedded-judge-stop").start()


@atexit.register
def stop_all() -> None:
    """Stop all servers at interpreter exit, before their threads lose their libraries."""
    with LOCK:
        servers = list(RUNNING.values())
        RUNNING.clear()
    for server in servers:
        server.leaving = True
        server.stop()


def start(name: str, path: Path, context: int, threads: int) -> LlamaServer:
    """Start a server with one slot that answers only on this machine and only with the key.

    ``name`` is the model's. Raises LabError if the file cannot be loaded.
    """
    llama = library()
    sha256 = sha256_of(path)
    key = secrets.token_urlsafe(24)
    parameters = llama.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {f"{name if name in CATALOGUE else path.stem}@{sha256[:12]}"}
    parameters.n_ctx = context
    parameters.n_parallel = 1
    # A cancelled call ends at the next batch. Larger batches do not read a prompt any faster.
    parameters.n_batch = parameters.n_ubatch = 512
    parameters.cpuparams.n_threads = GENERATION_THREADS
    parameters.cpuparams_batch.n_threads = threads
    # The slot itself remembers the prefix that an item's calls share. A second cache would cost
    # time and never hit.
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
            f"{path} could not be loaded as a model. The file may be incomplete or of a kind that "
            f"this llama.cpp does not know, or a context of {context:,} tokens does not fit into "
            f"memory. Try another file or a smaller context."
        ) from error
    return LlamaServer(native, native.listening_address, key, sha256, (path, context, threads))


def library() -> Any:
    """Return the xllamacpp module. Raises LabError if it or its system library is missing."""
    # Threads that spin between two calls would take the second core from the rest of the lab. The
    # OpenMP library reads this variable once, when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        if "libgomp" in str(error):
            raise LabError(
                "The embedded judge needs the system library libgomp1, which is missing here. "
                "Install it with “apt-get install libgomp1” (other systems may call the package "
                "libgomp), and start the lab again."
            ) from error
        raise LabError(
            f"The embedded judge needs the Python package xllamacpp, which could not be loaded: "
            f"{error}. Install it with “pip install xllamacpp”."
        ) from error
