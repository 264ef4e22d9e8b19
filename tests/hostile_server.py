"""A server that wishes the lab ill: whole answers that hardly fit, and answers that never end.

Bytes are written by hand, since no server library would send most of this. Each family is a method; ``WHOLE`` names
those whose answer is a judgment all the same, ``KINDS`` the fault that each other one is. 127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from tests.servers import CALL_HEADER, completion, token_entry

MODEL = "test-model"
MB = 2**20
ASKED_WAIT = 1_000_000_000


def body_of(payload: Any) -> bytes:
    return json.dumps(payload).encode()


def said(text: Any = "3", **more: Any) -> bytes:
    """A completion with any text, and any other field replaced."""
    payload = completion("x", model=MODEL)
    payload["choices"][0]["message"]["content"] = text
    return body_of({**payload, **more})


def http(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def with_logprobs(top: list[Any]) -> bytes:
    payload = completion("3", model=MODEL, logprobs={"content": [token_entry("3", {"3": -0.1})]})
    payload["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = top
    return http(body_of(payload))


def edited(**fields: Any) -> bytes:
    """A completion whose choice or message has other fields."""
    payload = completion("3", model=MODEL)
    choice = payload["choices"][0]
    for name, value in fields.items():
        (choice if name in choice else choice["message"])[name] = value
    return http(body_of(payload))


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came, at a second of the monotonic clock, and which family answered."""

    key: str
    family: str
    path: str
    at: float
    headers: dict[str, str] = field(repr=False, default_factory=dict)


class HostileServer:
    """Answers by ``rule(key, nth)``: the family of the nth request (from 0) of a call.

    ``key`` is what the families that echo a key send back. ``asked`` lists every request.
    """

    def __init__(self, rule: Callable[[str, int], str], *, key: str = "") -> None:
        self.rule, self.key = rule, key
        self.asked: list[Asked] = []
        self.port = 0
        self._seen: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._answer(reader, writer):
                pass
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; whether the connection may be used again."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        await reader.readexactly(int(headers.get("content-length", 0)))
        key = headers.get(CALL_HEADER.lower(), "")
        family = self.rule(key, self._seen[key])
        self._seen[key] += 1
        self.asked.append(Asked(key, family, first.split()[1], time.monotonic(), headers))
        answer = await getattr(self, family)(writer)
        if answer is None:
            return False
        writer.write(answer)
        await writer.drain()
        return family not in CLOSING

    # ------------------------------------------------ whole answers, odd as they are

    async def good(self, _: Any) -> bytes:
        return http(said())

    async def half_an_emoji(self, _: Any) -> bytes:
        return http(said("3 \ud83d", system_fingerprint="\udc00"))

    async def half_names(self, _: Any) -> bytes:
        payload = completion("3", finish="st\udc00op", model=MODEL)
        return http(body_of(payload))

    async def odd_counts(self, _: Any) -> bytes:
        usage = {"prompt_tokens": 2**31, "completion_tokens": True}
        return http(said(usage={**usage, "prompt_tokens_details": {"cached_tokens": -1}}))

    async def odder_counts(self, _: Any) -> bytes:
        usage = {"prompt_tokens": 1.5, "completion_tokens": [1], "prompt_tokens_details": 7}
        return http(said(usage=usage, timings={"cache_n": 10**300}))

    async def odd_finish(self, _: Any) -> bytes:
        return edited(finish_reason=["stop", {"a": 1}])

    async def long_names(self, _: Any) -> bytes:
        return http(body_of(completion("3", model="m" * 100_000, finish="f" * 100_000)))

    async def list_content(self, _: Any) -> bytes:
        return edited(content=[{"type": "text", "text": "3"}, {"text": {"a": 1}}, 7, None])

    async def tool_calls(self, _: Any) -> bytes:
        call = {"id": "1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
        return edited(content=None, tool_calls=[call])

    async def null_content(self, _: Any) -> bytes:
        return edited(content=None)

    async def nul_text(self, _: Any) -> bytes:
        return http(said("3\x00\x01"))

    async def long_text(self, _: Any) -> bytes:
        return http(said("wordy " * 50_000))

    async def many_choices(self, _: Any) -> bytes:
        payload = completion("3", model=MODEL)
        return http(body_of({**payload, "choices": payload["choices"] * 10_000}))

    async def duplicate_keys(self, _: Any) -> bytes:
        return http(b'{"choices": [], ' + said()[1:])

    async def byte_order_mark(self, _: Any) -> bytes:
        return http(b"\xef\xbb\xbf" + said())

    async def utf16(self, _: Any) -> bytes:
        return http(said().decode().encode("utf-16"))

    async def many_alternatives(self, _: Any) -> bytes:
        return with_logprobs([{"token": "3", "logprob": -1}] * 20_000)

    async def half_tokens(self, _: Any) -> bytes:
        return with_logprobs([{"token": "\ud83d", "logprob": -1}, {"token": 3, "logprob": -2}])

    async def nan_logprobs(self, _: Any) -> bytes:
        return with_logprobs([{"token": "3", "logprob": float("nan")}])

    async def huge_logprobs(self, _: Any) -> bytes:
        return with_logprobs([{"token": "3", "logprob": 10**400}, {"token": "2", "logprob": 1e308}])

    async def echoed_key(self, _: Any) -> bytes:
        payload = completion(f"3\n{self.key}", model=MODEL, finish=self.key)
        payload["choices"][0]["logprobs"] = {"content": [token_entry("3", {self.key: -0.1})]}
        return http(body_of(payload), f"X-Echo: {self.key}")

    async def hints_first(self, _: Any) -> bytes:
        hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        return b"HTTP/1.1 100 Continue\r\n\r\n" + 5 * hint + http(said())

    async def http_1_0(self, _: Any) -> bytes:
        return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + said()

    async def twice(self, _: Any) -> bytes:
        return 2 * http(said())

    async def rather_deep_json(self, _: Any) -> bytes:
        return http(said(extra=json.loads("[" * 200 + "]" * 200)))

    async def latin_1_text(self, _: Any) -> bytes:
        return http(said("3 e").replace(b"3 e", b"3 \xe9"))

    async def tool_call_object(self, _: Any) -> bytes:
        return edited(content=None, tool_calls=[{"function": {"name": "score", "arguments": {"score": 3}}}])

    # ------------------------------------------------ too much of it

    async def huge_text(self, _: Any) -> bytes:
        return http(said("x" * (15 * MB)))

    async def many_values(self, _: Any) -> bytes:
        return http(b'{"choices": [' + b"[]," * 3_000_000 + b"[]]}")

    async def gzip_bomb(self, writer: asyncio.StreamWriter) -> None:
        """10 GB of spaces as 10 MB, sent as long as it is taken."""
        head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        packer = zlib.compressobj(9, wbits=31)
        block = packer.compress(b" " * MB) + packer.flush(zlib.Z_FULL_FLUSH)
        again = packer.compress(b" " * MB) + packer.flush(zlib.Z_FULL_FLUSH)
        writer.write(b"%x\r\n%s\r\n" % (len(block), block))
        many = again * 64
        for _ in range(160):
            writer.write(b"%x\r\n%s\r\n" % (len(many), many))
            await writer.drain()

    async def endless_chunks(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        block = b"10000\r\n" + b" " * 2**16 + b"\r\n"
        for _ in range(16_384):  # a gigabyte
            writer.write(block)
            await writer.drain()

    async def endless_error(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n")
        block = b"10000\r\n" + b"no " * 21_845 + b"!\r\n"
        for _ in range(16_384):
            writer.write(block)
            await writer.drain()

    # ------------------------------------------------ no answer at all

    async def deep_json(self, _: Any) -> bytes:
        return http(b'{"choices":' + b"[" * 500_000)

    async def long_integer(self, _: Any) -> bytes:
        return http(b'{"choices": [], "n": ' + b"9" * 5_000 + b"}")

    async def latin_1(self, _: Any) -> bytes:
        return http('{"choices": "é"}'.encode("latin-1"), "Content-Type: text/plain; charset=x")

    async def brotli(self, _: Any) -> bytes:
        return http(said(), "Content-Encoding: br")

    async def gzip_answer(self, _: Any) -> bytes:
        return http(gzip.compress(said()), "Content-Encoding: gzip")

    async def length_too_long(self, _: Any) -> bytes:
        return http(said(), length=10_000)

    async def length_too_short(self, _: Any) -> bytes:
        return http(said(), length=50)

    async def no_content(self, _: Any) -> bytes:
        return b"HTTP/1.1 204 No Content\r\n\r\n"

    async def only_hints(self, _: Any) -> bytes:
        return 50 * b"HTTP/1.1 103 Early Hints\r\n\r\n"

    async def half_close(self, writer: asyncio.StreamWriter) -> None:
        writer.write(http(said(), length=10_000))
        writer.write_eof()
        await asyncio.sleep(0.2)

    async def reset_in_the_middle(self, writer: asyncio.StreamWriter) -> None:
        writer.write(http(said(), length=10_000))
        await writer.drain()
        writer.transport.abort()

    async def drip(self, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"", length=100_000)[:-1])
        for _ in range(600):
            writer.write(b"\n")
            await writer.drain()
            await asyncio.sleep(0.05)

    async def endless_header(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(1_024):
            writer.write(b"x" * 2**16)
            await writer.drain()

    async def endless_headers(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for n in range(100_000):
            writer.write(b"X-%d: %s\r\n" % (n, b"x" * 900))
            await writer.drain()

    # ------------------------------------------------ what stops a run

    async def moved(self, _: Any) -> bytes:
        to = f"Location: {self.base_url}/elsewhere?key={self.key}"
        return http(b"", to, status="302 Found")

    async def long_wait(self, _: Any) -> bytes:
        return http(b"{}", f"Retry-After: {ASKED_WAIT}", status="429 Too Many Requests")


def named(after: str, before: str | None) -> tuple[str, ...]:
    """The families from ``after`` up to and without ``before``."""
    names = [n for n in vars(HostileServer) if not n.startswith("_") and n != "base_url"]
    return tuple(names[names.index(after) : names.index(before) if before else None])


WHOLE = named("good", "huge_text")
FAMILIES = named("good", None)
KINDS = {
    **dict.fromkeys(WHOLE, ""),
    "long_names": "wrong_model",
    "huge_text": "too_large",
    "many_values": "too_large",
    "gzip_bomb": "bad_json",
    "endless_chunks": "too_large",
    "endless_error": "server_error",
    "deep_json": "empty_choices",
    "long_integer": "empty_choices",
    "latin_1": "empty_choices",
    "gzip_answer": "bad_json",
    "brotli": "bad_json",
    "length_too_long": "reset",
    "length_too_short": "bad_gateway",
    "no_content": "bad_json",
    "only_hints": "reset",
    "half_close": "reset",
    "reset_in_the_middle": "reset",
    "drip": "slow",
    "endless_header": "bad_gateway",
    "endless_headers": "bad_gateway",
    "moved": "not_found",
    "long_wait": "rate_limit",
}
"""The kind of fault that each family is; empty for an answer."""
CLOSING = frozenset({"http_1_0", "length_too_long", "only_hints", "no_content"})
