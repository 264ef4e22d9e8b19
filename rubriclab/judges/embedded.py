"""The judge that needs no key, no GPU and no server: llama.cpp inside this process.

It listens on a free port of 127.0.0.1, behind a random key, and is asked through the same
client as every other judge.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import importlib
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from rubriclab.judges.client import ChatClient
from rubriclab.judges.hub_models import GGUF_HEAD, PREFIX, check_gguf, ensure_hub_model, hub_file
from rubriclab.judges.serving import local_only
from rubriclab.judges.weights import Progress, ensure_weights, file_sha256, find_weights
from rubriclab.judges.wire import MAX_PAGE_BYTES
from rubriclab.model import Call, Judge, LabError, Reply
from rubriclab.model.language import tr

CONTEXT_TOKENS = 2048
"""Room for prompt and answer. The server has one slot, and a context is split over slots."""

TOP_LOGPROBS = 200
"""Alternatives asked for. A small model likes to start chatting: of five labels the default
one's lie at ranks 7 to 107, so the usual 20 or 40 would cut off two of five and call them
impossible. 200 cost 2 ms a call, 1,000 cost 35 ms and add nothing."""

GENERATION_THREADS, BATCH_THREADS = 1, 2
"""Measured on two cores: reading a prompt gains from the second thread, one token does not."""

_IN_FLIGHT = 2
"""Calls under way at once: one is worked on, the next is already tokenised. More would only
wait inside the server, where the waiting counts against the judge's timeout."""

_IDLE_SECONDS, _DISCONNECT_SECONDS = 30.0, 2.0
"""How long a stop waits for the call under way, and for the connections to close."""

_KEY_NAME = "RUBRICLAB_EMBEDDED_API_KEY"
_OPTIONS = ("path", "sha256", "context", "threads", "served_model", "prefill", "logprobs")


@dataclass(eq=False)
class EmbeddedServer:
    """A handle on a running server; the server stops when its last handle is closed.

    ``url`` ends in /v1; ``key`` opens it; ``model`` is what it calls itself: the name and the
    first 12 digits of ``sha256``, the hash of the weights' file.
    """

    url: str
    key: str = field(repr=False)
    model: str
    sha256: str
    path: Path
    _release: Callable[[EmbeddedServer], None] = field(repr=False)
    disconnect: Callable[[], None] | None = field(default=None, repr=False)

    def close(self) -> None:
        """Let go of the server; safe to call twice and at interpreter exit.

        Set ``disconnect`` to what drops the connections of this handle: it is called at
        interpreter exit if the handle is still open then.
        """
        self._release(self)


def start_embedded(judge: Judge, *, progress: Progress | None = None) -> EmbeddedServer:
    """A server with the judge's weights: a running one of this process, else a new one.

    Blocks while weights are fetched (``progress``: bytes so far, in all, and from where) and loaded
    (about half a second). ``judge.model`` is one of the catalogue or ``hf:owner/repo/file.gguf``.
    ``judge.options``: ``path`` of an own GGUF file instead; ``sha256`` that the file must have;
    ``context`` in tokens; ``threads`` for reading prompts.

    Raises LabError saying what to do: unknown option or model, no weights, not a GGUF file,
    a context that does not fit into memory, a missing system library.
    """
    check_settings(judge)
    settings = _Settings(
        path=_weights_file(judge, progress),
        context=_count(judge, "context", CONTEXT_TOKENS),
        threads=_count(judge, "threads", BATCH_THREADS),
    )
    return _RUNNING.acquire(settings, judge)


def check_settings(judge: Judge) -> None:
    """Raises LabError for what can be seen to be wrong without fetching or loading anything."""
    for option in judge.options:
        if option not in _OPTIONS:
            raise LabError(
                tr(
                    "The embedded judge “{name}” has no option “{option}”. It has: {options}.",
                    name=judge.name,
                    option=option,
                    options=", ".join(_OPTIONS),
                )
            )
    if judge.options.get("path") is not None:
        local_only(tr("A model from a file of this machine"))
    if judge.options.get("path") is not None:
        _weights_file(judge, None)
    elif judge.model.startswith(PREFIX):
        local_only(tr("Fetching a model from Hugging Face"))
        hub_file(judge.model)
    else:
        find_weights(judge.model)


class EmbeddedJudge:
    """The embedded model as a judge; made inside the event loop that asks it."""

    def __init__(self, judge: Judge, *, progress: Progress | None = None) -> None:
        self.server = start_embedded(judge, progress=progress)
        self._turn = asyncio.Semaphore(_IN_FLIGHT)
        self._loop = asyncio.get_running_loop()
        self._leaving = False
        try:
            self._client = ChatClient(
                replace(judge, key_env=_KEY_NAME),
                secrets={_KEY_NAME: self.server.key},
                base_urls=[self.server.url],
                top_logprobs=TOP_LOGPROBS,
            )
        except BaseException:
            self.server.close()
            raise
        self.server.disconnect = self._disconnect

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply; calls wait their turn here."""
        async with self._turn:
            if not self._leaving:
                reply = await self._client.ask(call)
        # The interpreter is going: a fault made by that must not become a judgment. Unanswered,
        # the call is asked again when the run is resumed.
        while self._leaving:
            await asyncio.sleep(1)
        return reply

    async def close(self) -> None:
        """Close the connections and let go of the server; safe to call twice."""
        await self._client.close()
        self.server.close()

    def _disconnect(self) -> None:
        """Close the connections from another thread; without its loop nothing is under way."""
        self._leaving = True
        if self._loop.is_running():
            closing = asyncio.run_coroutine_threadsafe(self._client.close(), self._loop)
            wait([closing], timeout=_DISCONNECT_SECONDS)


# ---------------------------------------------------------------- which file


def _weights_file(judge: Judge, progress: Progress | None) -> Path:
    own = judge.options.get("path")
    if own is None:
        if judge.model.startswith(PREFIX):
            return ensure_hub_model(judge.model, progress=progress, sha256=judge.options.get("sha256"))
        return ensure_weights(judge.model, progress=progress)
    path = Path(str(own))
    cure = tr("Give judge “{name}” a GGUF file; other formats have to be converted first.", name=judge.name)
    try:
        path = path.expanduser().resolve()
        found = path.stat()
        # Opening a pipe or a device may wait for ever, so it is looked at from outside first.
        if not stat.S_ISREG(found.st_mode):
            raise LabError(tr("{path} is no regular file. {cure}", path=path, cure=cure))
        with path.open("rb") as file:
            head = file.read(GGUF_HEAD.size)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LabError(
            tr(
                "The weights of judge “{name}” cannot be read: {path}: {reason}. Give the path of a GGUF file.",
                name=judge.name,
                path=path,
                reason=reason,
            )
        ) from error
    check_gguf(head, str(path), found.st_size)
    return path


def _count(judge: Judge, option: str, default: int) -> int:
    value = judge.options.get(option, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise LabError(
            tr(
                "Option “{option}” of judge “{name}” must be a whole number from 1, not {value!r}.",
                option=option,
                name=judge.name,
                value=value,
            )
        )
    return value


# ---------------------------------------------------------------- running servers


@dataclass(frozen=True, slots=True)
class _Settings:
    """What makes two judges share one server."""

    path: Path
    context: int
    threads: int


@dataclass(slots=True)
class _Server:
    """``native`` is the running server: it stops when the last reference to it goes."""

    native: Any
    url: str
    key: str
    model: str
    sha256: str
    handles: list[EmbeddedServer] = field(default_factory=list)

    def stop(self) -> None:
        """Stop once it is idle.

        Stopping waits for the call under way while it holds the interpreter lock, and for ever
        if that call is in the middle of its answer: so wait here first, where it harms nobody.
        """
        deadline = time.monotonic() + _IDLE_SECONDS
        while self._busy():
            if time.monotonic() > deadline:
                # Somebody else keeps asking. Left running: stopping would freeze the process.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.native))
                break
            time.sleep(0.05)
        self.native = None

    def _busy(self) -> bool:
        request = Request(self.url.removesuffix("/v1") + "/slots", headers={"Authorization": f"Bearer {self.key}"})
        # Straight to this machine, whatever proxy the environment names.
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=_IDLE_SECONDS) as answer:
                slots = json.loads(answer.read(MAX_PAGE_BYTES))
        except (OSError, ValueError):
            return True
        return any(slot["is_processing"] for slot in slots)


class _Servers:
    """The servers of this process, each with the handles on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[_Settings, _Server] = {}

    def acquire(self, settings: _Settings, judge: Judge) -> EmbeddedServer:
        """A handle; two that ask for the same at the same time get the same server."""
        with self._lock:
            server = self._servers.get(settings)
            if server is None:
                server = self._servers[settings] = _start(settings, judge)
            _check_hash(server.sha256, settings, judge)
            handle = EmbeddedServer(
                url=server.url,
                key=server.key,
                model=server.model,
                sha256=server.sha256,
                path=settings.path,
                _release=lambda handle: self._release(settings, handle),
            )
            server.handles.append(handle)
        return handle

    def stop_all(self) -> None:
        """At interpreter exit, before the libraries the servers' threads run in are gone."""
        with self._lock:
            servers = list(self._servers.values())
            self._servers.clear()
        for server in servers:
            for handle in server.handles:
                if handle.disconnect is not None:
                    handle.disconnect()
            server.stop()

    def _release(self, settings: _Settings, handle: EmbeddedServer) -> None:
        with self._lock:
            server = self._servers.get(settings)
            if server is None or handle not in server.handles:
                return
            server.handles.remove(handle)
            if server.handles:
                return
            del self._servers[settings]
        # Not a daemon: at interpreter exit the stop under way is waited for.
        threading.Thread(target=server.stop, name="embedded-judge-stop").start()


# One registry a process, because what it counts is a resource of the process: weights in memory.
_RUNNING = _Servers()
atexit.register(_RUNNING.stop_all)


def _start(settings: _Settings, judge: Judge) -> _Server:
    llama = _library()
    sha256 = file_sha256(settings.path)
    _check_hash(sha256, settings, judge)
    own = judge.options.get("path") is not None or judge.model.startswith(PREFIX)
    name = settings.path.stem if own else judge.model
    model, key = f"{name}@{sha256[:12]}", secrets.token_urlsafe(24)
    try:
        native = llama.Server(_parameters(llama, settings, model, key))
    except RuntimeError as error:
        raise LabError(
            tr(
                "{path} could not be loaded as a model. The file may be cut short or of a kind that this "
                "llama.cpp does not know, or a context of {context} tokens does not fit into memory. Try another "
                "file or a smaller “context”.",
                path=settings.path,
                context=settings.context,
            )
        ) from error
    return _Server(native, f"{native.listening_address}/v1", key, model, sha256)


def _check_hash(sha256: str, settings: _Settings, judge: Judge) -> None:
    wanted = judge.options.get("sha256")
    if wanted and wanted != sha256:
        raise LabError(
            tr(
                "{path} has the sha256 {sha256}, not {wanted}, which judge “{name}” asks for.",
                path=settings.path,
                sha256=sha256,
                wanted=wanted,
                name=judge.name,
            )
        )


def _library() -> Any:
    # Threads that spin between two calls would take the second core from the rest of the lab;
    # the OpenMP library reads this once, when it is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        return importlib.import_module("xllamacpp")
    except ImportError as error:
        if "libgomp" in str(error):
            raise LabError(
                tr(
                    "The embedded judge needs the system library libgomp1, which is missing here: apt-get install "
                    "libgomp1 (on other systems the package may be called libgomp), then start the lab again."
                )
            ) from error
        raise LabError(
            tr(
                "The embedded judge needs the Python package xllamacpp, which cannot be loaded: {error}. Install "
                "it with “pip install xllamacpp”.",
                error=error,
            )
        ) from error


def _parameters(llama: Any, settings: _Settings, model: str, key: str) -> Any:
    """The server's settings: one slot, quiet, reachable from this machine with the key only."""
    parameters = llama.CommonParams()
    parameters.model.path = str(settings.path)
    parameters.model_alias = {model}
    parameters.n_ctx = settings.context
    parameters.n_parallel = 1
    # A cancelled call ends at the next batch; larger ones read a prompt no faster.
    parameters.n_batch = parameters.n_ubatch = 512
    parameters.cpuparams.n_threads = GENERATION_THREADS
    parameters.cpuparams_batch.n_threads = settings.threads
    # The slot's own memory holds the prefix that an item's calls share; a second cache of whole
    # prompts in RAM costs time and never hits.
    parameters.cache_ram_mib = 0
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.endpoint_slots = True
    parameters.verbosity = -1
    return parameters
