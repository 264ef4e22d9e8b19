"""vLLM as a citizen: look at a running server, or start one and be sure that it ends.

Facts are those of vLLM 0.32: counters ``vllm:prefix_cache_queries_total`` and
``vllm:prefix_cache_hits_total`` count prompt tokens, ``/version``, ``/health`` and
``/metrics`` stand beside ``/v1``, and ``/v1/models`` names each model's ``max_model_len``.
Everything here is synchronous, so that a page or a worker thread can use it as it is.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp

from rubriclab.judges import supervisor
from rubriclab.judges.addresses import base_url as checked_url
from rubriclab.judges.bounded import TooLarge, load_json
from rubriclab.judges.faults import advice, redact
from rubriclab.judges.serving import local_only
from rubriclab.judges.transport import from_exception
from rubriclab.judges.vllm_flags import check_flags
from rubriclab.judges.wire import Damaged, fetch
from rubriclab.model import LabError
from rubriclab.model.language import msg, tr

_NO_COMMAND = msg(
    "There is no vllm command on the PATH. On a machine with a GPU: pip install 'rubriclab[vllm]'; "
    "or attach to a server that runs elsewhere."
)

# ---------------------------------------------------------------- attach


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model a server offers. ``max_length``: context in tokens, prompt and answer together."""

    name: str
    max_length: int | None = None
    owner: str = ""


@dataclass(frozen=True, slots=True)
class VllmMetrics:
    """A server's own counters at one moment, summed over its engines.

    ``prefix_queries`` and ``prefix_hits`` are tokens since the server's start; ``cache_use``
    is the share of the key-value cache in use (mean over engines).
    """

    running: int = 0
    waiting: int = 0
    prefix_queries: float = 0.0
    prefix_hits: float = 0.0
    cache_use: float | None = None
    prompt_tokens: float = 0.0
    generated_tokens: float = 0.0

    @property
    def hit_rate(self) -> float | None:
        """Share of prompt tokens found in the prefix cache; None before the first prompt."""
        return self.prefix_hits / self.prefix_queries if self.prefix_queries > 0 else None

    def since(self, before: VllmMetrics) -> VllmMetrics:
        """What happened after ``before``; the whole of it when the server was restarted since."""
        if before.prefix_queries > self.prefix_queries:
            return self
        return VllmMetrics(
            running=self.running,
            waiting=self.waiting,
            prefix_queries=self.prefix_queries - before.prefix_queries,
            prefix_hits=max(0.0, self.prefix_hits - before.prefix_hits),
            cache_use=self.cache_use,
            prompt_tokens=max(0.0, self.prompt_tokens - before.prompt_tokens),
            generated_tokens=max(0.0, self.generated_tokens - before.generated_tokens),
        )


@dataclass(frozen=True, slots=True)
class VllmStatus:
    """A running server: its version, models and, where it shows them, its metrics."""

    base_url: str
    version: str | None
    models: tuple[ServedModel, ...]
    metrics: VllmMetrics | None
    warnings: tuple[str, ...] = ()


def attach(base_url: str, *, key: str | None = None, timeout: float = 5.0) -> VllmStatus:
    """What runs at ``base_url``. Raises LabError, saying what to do, where nothing usable does."""
    url = checked_url(base_url)
    listed = get_json(f"{url}/models", key=key, timeout=timeout)
    models = models_of(listed)
    if not models:
        raise LabError(tr("The server at {url} lists no models; load one and try again.", url=redact(url)))
    warnings: list[str] = []
    version: str | None = None
    metrics: VllmMetrics | None = None
    try:
        version = version_of(get_json(f"{root_of(url)}/version", timeout=timeout))
    except LabError as error:
        warnings.append(tr("Version unknown. {error}", error=error))
    try:
        metrics = read_metrics(url, timeout=timeout)
    except LabError as error:
        warnings.append(tr("No live cache and queue figures. {error}", error=error))
    return VllmStatus(url, version, models, metrics, tuple(warnings))


def read_metrics(base_url: str, *, timeout: float = 2.0) -> VllmMetrics:
    """The counters at ``/metrics`` now. Raises LabError where there are none of vLLM's."""
    url = f"{root_of(checked_url(base_url))}/metrics"
    samples = parse_prometheus(_get(url, timeout=timeout).decode("utf-8", "replace"))
    if not any(name.startswith("vllm:") for name in samples):
        raise LabError(tr("{url} shows no figures of vLLM's; is this a vLLM server?", url=redact(url)))

    def total(name: str) -> float:
        return math.fsum(samples.get(f"vllm:{name}", ()))

    use = samples.get("vllm:kv_cache_usage_perc") or samples.get("vllm:gpu_cache_usage_perc")
    return VllmMetrics(
        running=round(total("num_requests_running")),
        waiting=round(total("num_requests_waiting")),
        prefix_queries=total("prefix_cache_queries_total"),
        prefix_hits=total("prefix_cache_hits_total"),
        cache_use=math.fsum(use) / len(use) if use else None,
        prompt_tokens=total("prompt_tokens_total"),
        generated_tokens=total("generation_tokens_total"),
    )


_SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)(?:\s+-?\d+)?\s*$')


def parse_prometheus(text: str) -> dict[str, tuple[float, ...]]:
    """Prometheus text: metric name to its samples, one for each set of labels.

    Comments, lines that are no samples and values that are no finite numbers are left out.
    """
    samples: dict[str, list[float]] = {}
    for line in text.splitlines():
        match = None if line.startswith("#") else _SAMPLE.match(line)
        if match is None:
            continue
        try:
            value = float(match[2])
        except ValueError:
            continue
        if math.isfinite(value):
            samples.setdefault(match[1], []).append(value)
    return {name: tuple(values) for name, values in samples.items()}


def models_of(listed: Any) -> tuple[ServedModel, ...]:
    """The models of a ``/v1/models`` answer; entries without a name are left out."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    found = []
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            length = entry.get("max_model_len")
            found.append(
                ServedModel(
                    name=entry["id"],
                    max_length=length if isinstance(length, int) else None,
                    owner=str(entry.get("owned_by") or ""),
                )
            )
    return tuple(found)


def version_of(answer: Any) -> str | None:
    """The version in a ``/version`` answer."""
    version = answer.get("version") if isinstance(answer, dict) else None
    return version if isinstance(version, str) else None


def root_of(base_url: str) -> str:
    """The server's own address, above its ``/v1``."""
    return base_url.rstrip("/").removesuffix("/v1")


def get_json(url: str, *, key: str | None = None, timeout: float = 5.0, ca_file: str | None = None) -> Any:
    """The JSON at ``url``. Raises LabError for no answer, an error status or no JSON."""
    body = _get(url, key=key, timeout=timeout, ca_file=ca_file)
    try:
        return load_json(body)
    except ValueError:
        raise LabError(
            tr("{url} answered with something that is not JSON; check the base URL (most end in /v1).", url=redact(url))
        ) from None


def _get(url: str, *, key: str | None = None, timeout: float, ca_file: str | None = None) -> bytes:
    """A page, from a thread without an event loop of its own."""
    shown, secrets = redact(url), (key,) if key else ()
    try:
        status, body = asyncio.run(fetch(url, key=key, timeout=timeout, ca_file=ca_file))
    except (TooLarge, Damaged) as error:
        raise LabError(tr("{url}: {error}; check the base URL.", url=shown, error=error)) from None
    except (aiohttp.ClientError, OSError) as error:
        found = from_exception(error, answering=False, timeout=timeout, secrets=secrets)
        cure = advice(found.kind) if found.kind == "certificate" else tr("Is the server running there?")
        raise LabError(
            tr("Nothing answers at {url} ({message}). {cure}", url=shown, message=found.message, cure=cure)
        ) from None
    if status in (401, 403):
        raise LabError(tr("{url} refuses the key (HTTP {status}); check it.", url=shown, status=status))
    if not 200 <= status < 300:
        raise LabError(tr("{url} answered HTTP {status}; check the base URL.", url=shown, status=status))
    return body


# ---------------------------------------------------------------- start and stop


DEFAULT_ARGUMENTS = ("--enable-prompt-tokens-details", "--shutdown-timeout", "20")
"""Cached tokens in every answer, and answers in progress finished at the end: without the
latter vLLM 0.32 may return a cut answer with status 200 when it is stopped."""

ServerState = Literal["starting", "ready", "ended"]


def vllm_path() -> str | None:
    """Where the ``vllm`` command is; None where it is not on the PATH."""
    return shutil.which("vllm")


def serve_command(
    model: str, *, port: int, arguments: Sequence[str] = DEFAULT_ARGUMENTS, executable: str = "vllm"
) -> tuple[str, ...]:
    """The command that serves ``model`` to this machine alone.

    Raises LabError for no model or for arguments that the lab does not pass on.
    """
    if not model.strip() or model.strip().startswith("-"):
        raise LabError(tr("“{model}” is no model: give a name from the hub or a folder.", model=model))
    check_flags(arguments)
    return (executable, "serve", model, "--host", "127.0.0.1", "--port", str(port), *arguments)


class VllmServer:
    """A ``vllm serve`` child with its log; ends with the lab, however the lab ends.

    Made by ``VllmServer.start``. ``command`` is what runs, ``shown`` the same for display;
    ``base_url`` is where it will answer. All methods may be called from any thread.
    """

    def __init__(self, model: str, command: tuple[str, ...], port: int, log: Path, grace: float) -> None:
        self.model, self.command, self.port, self.log = model, command, port, log
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self.grace = grace
        self.started = time.time()
        self._was_ready = False
        self._lock = threading.Lock()
        self._supervisor: subprocess.Popen[bytes] | None = None

    @classmethod
    def start(
        cls,
        model: str,
        *,
        arguments: Sequence[str] = DEFAULT_ARGUMENTS,
        port: int | None = None,
        environment: Mapping[str, str] | None = None,
        grace: float = 25.0,
    ) -> VllmServer:
        """Start serving; returns at once, ``wait_ready`` or ``state`` tell the rest.

        ``grace``: seconds between SIGTERM and SIGKILL at the end. Raises LabError where
        ``vllm`` is not on the PATH, on Windows, in a served lab, or for arguments that the lab
        does not pass on.
        """
        local_only(tr("Starting vLLM"))
        executable = vllm_path()
        if os.name == "nt":
            raise LabError(tr("vLLM does not run on Windows itself: start it in WSL and attach to it."))
        if executable is None:
            raise LabError(tr(_NO_COMMAND))
        port = port or _free_port()
        command = serve_command(model, port=port, arguments=arguments, executable=executable)
        descriptor, name = tempfile.mkstemp(prefix="rubriclab-vllm-", suffix=".log")
        server = cls(model, command, port, Path(name), grace)
        with os.fdopen(descriptor, "wb") as log:
            server._supervisor = subprocess.Popen(
                [sys.executable, "-I", supervisor.__file__, f"{grace:g}", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "VLLM_NO_USAGE_STATS": "1", **(environment or {})},
            )
        atexit.register(server._at_exit)
        return server

    @property
    def shown(self) -> str:
        """The command as one line, without keys."""
        return redact(shlex.join(self.command))

    @property
    def state(self) -> ServerState:
        """``ready`` once /health answers 200; ``ended`` when the process has gone."""
        if self.exit_code is not None:
            return "ended"
        if not self._was_ready:
            try:
                _get(f"{root_of(self.base_url)}/health", timeout=1.0)
            except LabError:
                return "starting"
            self._was_ready = True
        return "ready"

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + the signal's number where a signal ended it."""
        return None if self._supervisor is None else self._supervisor.poll()

    def wait_ready(self, timeout: float = 600.0) -> None:
        """Block until ready. Raises LabError with the log's end on an end or a time-out."""
        until = time.monotonic() + timeout
        while (state := self.state) != "ready":
            if state == "ended":
                ended = msg("vLLM ended with code {code} before it was ready. Its last words:\n{words}")
                raise LabError(tr(ended, code=self.exit_code, words=self.log_tail(15)))
            if time.monotonic() > until:
                late = msg("vLLM was not ready after {timeout:g} s; it is still loading. Its last words:\n{words}")
                raise LabError(tr(late, timeout=timeout, words=self.log_tail(15)))
            time.sleep(0.1)

    def log_tail(self, lines: int = 40) -> str:
        """The log's last lines, without keys."""
        try:
            with self.log.open("rb") as log:
                size = log.seek(0, os.SEEK_END)
                log.seek(max(0, size - 64 * 1024))
                text = log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return redact("\n".join(deque(text.splitlines(), maxlen=lines)))

    def status(self) -> VllmStatus:
        """As ``attach``, for this server. Raises LabError while it is not ready."""
        return attach(self.base_url)

    def stop(self, *, wait: bool = True) -> int | None:
        """SIGTERM, after ``grace`` seconds SIGKILL to the group; the exit code if waited for.

        Safe to call twice, and on a server that has ended by itself.
        """
        with self._lock:
            child = self._supervisor
            if child is None:
                return None
            if child.stdin is not None and not child.stdin.closed:
                child.stdin.close()
        if not wait:
            return child.poll()
        try:
            return child.wait(self.grace + 5.0)
        except subprocess.TimeoutExpired:
            # The supervisor hangs; its death sends the server SIGTERM on Linux.
            child.send_signal(signal.SIGKILL)
            return child.wait()

    def _at_exit(self) -> None:
        self.stop()
        self.log.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"VllmServer({self.model!r}, {self.base_url})"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
