"""An OpenAI-compatible endpoint on this machine that asks its upstream in several orders and answers once.

What is asked and how replies are put together is ``study.proxied_request`` and ``study.proxied_reply``; here is the
server around them. Nothing of a request is kept or logged but what was done with it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from yarl import URL

from rubriclab.datasets.logs.prompted import ListReader
from rubriclab.judges.serving import LOOPBACK_HOSTS, host_allowed, host_name, origin_allowed
from rubriclab.judges.transport import from_exception
from rubriclab.model import LabError
from rubriclab.runs.proxy_upstream import HEADER, Answer, Failure, Upstream, asking_headers, upstream
from rubriclab.study.proxied_reply import Read, Result, as_it_came, combined, read, undecided
from rubriclab.study.proxied_request import Orders, Spec, Untouched, in_orders

STATUS_PATH = "/rubriclab/status"
CHAT = "/chat/completions"
MAX_BODY = 2 * 2**20
"""Bytes of a request that are looked into; a larger one is passed on as it comes."""
MAX_HELD = 256 * 2**20
"""Bytes of all requests that are held at once; beyond it the next is told to come again."""
AT_ONCE = 2_000
"""Requests under way."""
LONG_BODY = 16_000
"""Bytes from which a request is looked into beside the event loop."""
TOO_LARGE = f"its body has more than {MAX_BODY // 2**20} MB"
ENCODED = "its body is compressed"
NO_CHAT = "it is no request for a chat completion"
FEW_READ = "too few of its replies could be read"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """``upstream``: the base URL that the pipeline used until now. ``host``: what is listened on. ``log``: a text
    file for a line of JSON a request, without prompts, replies and keys. ``learnt``: of a log of the pipeline's."""

    upstream: str
    orders: Spec = "balanced"
    host: str = "127.0.0.1"
    port: int = 0
    concurrency: int = 64
    timeout: float = 600.0
    ca_file: str | None = None
    log: IO[str] | None = None
    learnt: ListReader | None = None


@dataclass
class Counts:
    """What became of the requests. ``cured``: put together from several calls; ``plain``: asked so, and answered
    with a single reply, by why; ``passed``: untouched, by why; ``failed``: the upstream's error or our own, by status."""

    cured: int = 0
    plain: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    edited: int = 0


class Proxy:
    """The endpoint's requests, one by one (``handle``), in front of ``behind``."""

    def __init__(self, settings: Settings, behind: Upstream) -> None:
        self.settings, self.behind = settings, behind
        self.counts = Counts()
        self.token = secrets.token_hex(8)
        self._active = self._held = 0
        self._names = {settings.host} - {"0.0.0.0", "::"}

    def status(self) -> dict[str, Any]:
        counts = self.counts
        return {
            "rubriclab_proxy": self.token,
            "upstream": self.behind.url,
            "orders": self.settings.orders,
            "cured": counts.cured,
            "edited": counts.edited,
            "plain": dict(counts.plain),
            "passed": dict(counts.passed),
            "failed": dict(counts.failed),
            "faults": dict(self.behind.faults),
            "calls_upstream": self.behind.calls,
            "active": self._active,
            "cpu_seconds": round(time.process_time(), 3),
        }

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request. Foreign names and pages are refused before anything is read."""
        if not self._welcome(request):
            return self._refused(403, "This proxy does not answer under that name or to that page.")
        if request.path == STATUS_PATH:
            return web.json_response(self.status())
        if self._active >= AT_ONCE or self._held > MAX_HELD:
            return self._refused(503, "Too many requests at once.", {"Retry-After": "1"})
        try:
            url = self.behind.address(request.raw_path)
            _sendable(request)
        except ValueError:
            return self._refused(400, "The request has no path, or a header that cannot be sent on.")
        self._active += 1
        started = time.perf_counter()
        try:
            answer = await self._answer(request, url)
        finally:
            self._active -= 1
        self._log(request, answer, time.perf_counter() - started)
        return answer

    def _welcome(self, request: web.BaseRequest) -> bool:
        """One Host, which is ours, and no page of another site behind it."""
        hosts, origins = request.headers.getall("Host", []), request.headers.getall("Origin", [])
        ours = len(hosts) == 1 and (host_allowed(hosts[0]) or host_name(hosts[0]) in self._names)
        return ours and all(map(origin_allowed, origins))

    async def _answer(self, request: web.BaseRequest, url: URL) -> web.StreamResponse:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        if request.method != "POST" or not request.path.rstrip("/").endswith(CHAT):
            return await self._pass(request, url, None, NO_CHAT)
        if request.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
            return await self._pass(request, url, None, ENCODED)
        if (request.content_length or 0) > MAX_BODY:
            return await self._pass(request, url, None, TOO_LARGE)
        body = await _read(request)
        if len(body) > MAX_BODY:
            return await self._pass(request, url, body, TOO_LARGE)
        self._held += len(body)
        try:
            if len(body) > LONG_BODY:
                asked = await asyncio.to_thread(in_orders, body, self.settings.orders, self.settings.learnt)
            else:
                asked = in_orders(body, self.settings.orders, self.settings.learnt)
            if isinstance(asked, Untouched):
                return await self._pass(request, url, body, asked.why)
            return await self._cured(request, url, body, asked)
        finally:
            self._held -= len(body)

    # ------------------------------------------------------------ as it came

    async def _pass(
        self, request: web.BaseRequest, url: URL, held: bytes | None, why: str, *, plain: bool = False
    ) -> web.StreamResponse:
        note = f"plain; reason={_quoted(why)}" if plain else f"untouched; reason={_quoted(why)}"
        if not plain:
            self.counts.passed[why] += 1
        try:
            return await self.behind.relay(request, url, held, note)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            failed = from_exception(error, answering=False, timeout=self.settings.timeout)
            self.behind.faults[failed.kind] += 1
            return self._refused(502, f"The upstream did not answer. {failed.message}")

    def _refused(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
        """An error of the proxy's own, in the form of the protocol."""
        self.counts.failed[str(status)] += 1
        error = {"message": message, "type": "rubriclab_proxy", "code": status}
        return web.json_response(
            {"error": error}, status=status, headers={**(headers or {}), HEADER: "error; by=rubriclab"}
        )

    # ------------------------------------------------------------ in several orders

    async def _cured(self, request: web.BaseRequest, url: URL, body: bytes, asked: Orders) -> web.StreamResponse:
        headers = asking_headers(request)

        async def ask(order: tuple[int, ...]) -> Answer | Failure:
            result = await self.behind.ask(url, headers, asked.asked(order))
            if isinstance(result, Failure) and result.final:
                raise _Final(result)
            return result

        try:
            results = await _together(ask, asked.orders)
            reads = [
                read(asked, order, result.payload)
                for order, result in zip(asked.orders, results, strict=True)
                if isinstance(result, Answer)
            ]
            if (again := undecided(asked, reads)) is not None:
                results.append(await ask(again))
                reads += [read(asked, again, result.payload) for result in results[-1:] if isinstance(result, Answer)]
        except _Final as refused:
            return self._error(refused.failure)
        answers = [result for result in results if isinstance(result, Answer)]
        failures = [result for result in results if isinstance(result, Failure)]
        if not answers:
            return self._error(failures[-1])
        result = combined(asked, reads, faults=len(failures))
        if result.payload is None:
            return await self._plain(request, url, body, asked, reads, answers, result)
        self.counts.cured += 1
        self.counts.edited += bool(result.about.get("edited"))
        about = {**result.about, "calls": len(results)}
        return _completion({**result.payload, "rubriclab": about}, answers[0], _header(about))

    async def _plain(
        self,
        request: web.BaseRequest,
        url: URL,
        body: bytes,
        asked: Orders,
        reads: Sequence[Read],
        answers: Sequence[Answer],
        result: Result,
    ) -> web.StreamResponse:
        """The reply in the usual order, where several cannot be put together; asked for where it is not there."""
        short = result.about["read"] < result.about["orders"]
        self.counts.plain[FEW_READ if short else result.why] += 1
        usual = next((one for one in reads if one.order == asked.usual), None)
        if usual is None:
            return await self._pass(request, url, body, result.why, plain=True)
        about = {**result.about, "reason": result.why}
        payload = as_it_came(usual.payload, about, reads)
        return _completion(payload, answers[0], f"plain; {_header(result.about)}; reason={_quoted(result.why)}")

    def _error(self, failure: Failure) -> web.Response:
        """The upstream's error as it is; our own where it said nothing."""
        if failure.status is None or failure.headers is None or 200 <= failure.status < 300:
            return self._refused(502, f"The upstream gave no completion: {failure.fault.message}")
        self.counts.failed[str(failure.status)] += 1
        failure.headers[HEADER] = f"upstream error; kind={failure.fault.kind}"
        return web.Response(status=failure.status, headers=failure.headers, body=failure.body)

    def _log(self, request: web.BaseRequest, answer: web.StreamResponse, seconds: float) -> None:
        if self.settings.log is not None:
            line = {
                "time": round(time.time(), 3),
                "method": request.method,
                "path": request.path,
                "status": answer.status,
                "seconds": round(seconds, 4),
                "did": answer.headers.get(HEADER, ""),
            }
            print(json.dumps(line), file=self.settings.log, flush=True)


class _Final(Exception):
    """A failure that every order would meet."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.fault.kind)
        self.failure = failure


async def _together(ask: Callable[[tuple[int, ...]], Any], orders: Sequence[tuple[int, ...]]) -> list[Answer | Failure]:
    """All at once; the first that is final, or a pipeline that hangs up, ends the others."""
    tasks = [asyncio.ensure_future(ask(order)) for order in orders]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _sendable(request: web.BaseRequest) -> None:
    """Raises ValueError (UnicodeEncodeError) for a header whose bytes are no text."""
    for name, value in request.headers.items():
        (name + value).encode()


async def _read(request: web.BaseRequest) -> bytes:
    """The body, or what there is of it as soon as that is more than MAX_BODY bytes."""
    held = bytearray()
    async for chunk in request.content.iter_any():
        held += chunk
        if len(held) > MAX_BODY:
            break
    return bytes(held)


def _completion(payload: Mapping[str, Any], answer: Answer, note: str) -> web.Response:
    headers = answer.headers
    headers["Content-Type"] = "application/json"
    headers[HEADER] = note
    return web.Response(status=200, headers=headers, body=json.dumps(payload).encode())


_IN_HEADER = ("orders", "read", "calls", "faults", "score", "probabilities", "share", "disagree", "returned", "edited")


def _header(about: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}={_quoted(about[name])}" for name in _IN_HEADER if name in about)


def _quoted(value: Any) -> str:
    """A value as a header may hold it: ASCII in one line, in quotes where it is no plain word."""
    text = str(value).encode("ascii", "backslashreplace").decode()
    text = "".join(sign if sign.isprintable() else " " for sign in text)[:300]
    plain = text.replace(".", "").replace("-", "").isalnum()
    return text if plain else '"' + text.replace("\\", "\\\\").replace('"', "'") + '"'


# ---------------------------------------------------------------- serving


async def serve(settings: Settings, ready: Callable[[str, Proxy], None], stop: asyncio.Event) -> dict[str, Any]:
    """Serve until ``stop``; ``ready`` gets the base URL for the pipeline. Returns the last status.

    Raises LabError for an upstream that is none, or the proxy itself, or a port that is taken.
    """
    async with upstream(
        settings.upstream, concurrency=settings.concurrency, timeout=settings.timeout, ca_file=settings.ca_file
    ) as behind:
        proxy = Proxy(settings, behind)
        server = web.Server(proxy.handle, handler_cancellation=True, auto_decompress=False, access_log=None)
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        try:
            port = await _listen(runner, settings)
            await _check_other(proxy, port)
            shown = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "localhost") else settings.host
            ready(f"http://{f'[{shown}]' if ':' in shown else shown}:{port}{behind.path}", proxy)
            await stop.wait()
        finally:
            await runner.cleanup()
        return proxy.status()


async def _listen(runner: web.ServerRunner, settings: Settings) -> int:
    try:
        await web.TCPSite(runner, settings.host, settings.port, backlog=1024).start()
    except (OSError, OverflowError) as error:
        raise LabError(
            f"{settings.host}:{settings.port} cannot be listened on: {error}. Name another --port."
        ) from error
    return int(runner.addresses[0][1])


async def _check_other(proxy: Proxy, port: int) -> None:
    """Raises LabError where the upstream is this proxy, or another one: calls would multiply without end."""
    parts = urlsplit(proxy.behind.url)
    usual = 443 if parts.scheme == "https" else 80
    same = (parts.hostname or "") in LOOPBACK_HOSTS | {proxy.settings.host} and (parts.port or usual) == port
    answered: Any = None
    # An upstream that is not there yet, or answers anything else, is none of ours.
    with suppress(TimeoutError, aiohttp.ClientError, OSError, ValueError):
        if not same:
            answered = await proxy.behind.page(STATUS_PATH)
    if same or (isinstance(answered, dict) and "rubriclab_proxy" in answered):
        raise LabError(
            f"The upstream {proxy.behind.url} is a rubriclab proxy itself: each call would become several again. "
            "Name the server behind it."
        )


def run(settings: Settings, ready: Callable[[str, Proxy], None]) -> dict[str, Any]:
    """Serve until Ctrl-C or SIGTERM; the process is the proxy's."""
    gc.freeze()  # what importing made stays to the end: no collection between two answers need go through it
    return asyncio.run(_until_told(settings, ready))


async def _until_told(settings: Settings, ready: Callable[[str, Proxy], None]) -> dict[str, Any]:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows: Ctrl-C raises KeyboardInterrupt, which ends the run too
            loop.add_signal_handler(name, partial(loop.call_soon_threadsafe, stop.set))
    return await serve(settings, ready, stop)
