"""Serve what a hostile server could: replies that hardly fit, and replies that never end.

Bytes are written by hand, since no server library would send most of this. ``WHOLE`` has the
families whose answer is a judgment all the same, ``KINDS`` every family with the kind of fault that
it is (empty for an answer). 127.0.0.1 only.
"""

import asyncio
import base64
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote

from tests.servers import CALL_HEADER, completion, token_entry

MODEL = "test-model"
KEY = "sk-very-secret-key+1234"
"""What the families that echo a key send back, in every way of writing it."""
ECHO = " ".join(
    (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), KEY.replace("+", "\\u002b"))
)
MB = 2**20


def said(text: Any = "3", **more: Any) -> bytes:
    """A completion with any text, and any other field replaced."""
    payload = completion("x", model=MODEL)
    payload["choices"][0]["message"]["content"] = text
    return json.dumps({**payload, **more}).encode()


def http(body: bytes, *headers: str, status: str = "200 OK", length: int | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def edited(**fields: Any) -> bytes:
    """A completion whose choice or message has other fields."""
    payload = completion("3", model=MODEL, logprobs=None)
    choice = payload["choices"][0]
    for name, value in fields.items():
        (choice if name in choice else choice["message"])[name] = value
    return http(json.dumps(payload).encode())


def with_alternatives(top: list[Any]) -> bytes:
    return edited(logprobs={"content": [{**token_entry("3", {}), "top_logprobs": top}]})


def with_counts(cached: Any, prompt: Any, answered: Any, **more: Any) -> bytes:
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": answered,
        "prompt_tokens_details": cached,
    }
    return http(said(usage=usage, **more))


HINT = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
WHOLE = {
    "good": http(said()),
    "half_an_emoji": http(said("3 \ud83d", system_fingerprint="\udc00")),
    "half_names": edited(finish_reason="st\udc00op"),
    "odd_counts": with_counts({"cached_tokens": -1}, 2**31, True),
    "odd_finish": edited(finish_reason=["stop", {"a": 1}]),
    "list_content": edited(content=[{"type": "text", "text": "3"}, {"text": {"a": 1}}, 7, None]),
    "tool_calls": edited(
        content=None, tool_calls=[{"function": {"name": "rm", "arguments": "{}"}}]
    ),
    "tool_call_object": edited(
        content=None, tool_calls=[{"function": {"name": "f", "arguments": {"score": 3}}}]
    ),
    "null_content": edited(content=None),
    "nul_text": http(said("3\x00\x01")),
    "long_text": http(said("wordy " * 50_000)),
    "many_choices": http(said(choices=completion("3")["choices"] * 10_000)),
    "duplicate_keys": http(b'{"choices": [], ' + said()[1:]),
    "byte_order_mark": http(b"\xef\xbb\xbf" + said()),
    "utf16": http(said().decode().encode("utf-16")),
    "many_alternatives": with_alternatives([{"token": "3", "logprob": -1}] * 20_000),
    "half_tokens": with_alternatives(
        [{"token": "\ud83d", "logprob": -1}, {"token": 3, "logprob": -2}]
    ),
    "huge_logprobs": with_alternatives(
        [{"token": "3", "logprob": 10**400}, {"token": "2", "logprob": 1e308}]
    ),
    "echoed_key": edited(
        content=f"3\n{ECHO}",
        finish_reason=KEY,
        logprobs={"content": [token_entry("3", {KEY: -0.1})]},
    ),
    "hints_first": b"HTTP/1.1 100 Continue\r\n\r\n" + 5 * HINT + http(said()),
    "http_1_0": b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + said(),
    "twice": 2 * http(said()),
    "rather_deep_json": http(said(extra=json.loads("[" * 200 + "]" * 200))),
}
"""Odd as they are, each is an answer: 3 but for those of OTHER_TEXTS."""
OTHER_TEXTS = {
    "half_an_emoji": "3 �",
    "tool_calls": "{}",
    "tool_call_object": '{"score": 3}',
    "null_content": "",
    "nul_text": "3\x01",
    "long_text": "wordy " * 50_000,
    "echoed_key": "3\n*** *** ***= ***",
}
BROKEN = {
    "many_values": ("too_large", http(b'{"choices": [' + b"[]," * 3_000_000 + b"[]]}")),
    "huge_text": ("too_large", http(said("x" * (15 * MB)))),
    "deep_json": ("empty_choices", http(b'{"choices":' + b"[" * 500_000)),
    "long_integer": ("empty_choices", http(b'{"choices": [], "n": ' + b"9" * 5_000 + b"}")),
    "latin_1": (
        "empty_choices",
        http('{"choices": "é"}'.encode("latin-1"), "Content-Type: text/plain; charset=x"),
    ),
    "web_page": ("html", http(b"<!doctype html><title>Sign in</title>")),
    "events": (
        "bad_json",
        http(b"data: " + said() + b"\n\ndata: [DONE]\n\n", "Content-Type: text/event-stream"),
    ),
    "brotli": ("bad_json", http(said(), "Content-Encoding: br")),
    "gzip_answer": ("bad_json", http(gzip.compress(said()), "Content-Encoding: gzip")),
    "length_too_long": ("reset", http(said(), length=10_000)),
    "length_too_short": ("bad_gateway", http(said(), length=50)),
    "no_content": ("bad_json", b"HTTP/1.1 204 No Content\r\n\r\n"),
    "only_hints": ("reset", 50 * HINT),
    "wrapped_502": ("bad_gateway", http(b'{"error": {"message": "no upstream", "code": 502}}')),
    "other_model": ("wrong_model", http(said(model="m" * 100_000))),
    "refused_key": (
        "auth",
        http(json.dumps({"error": f"Wrong key: {ECHO}"}).encode(), status="401 Unauthorized"),
    ),
    "moved": ("not_found", http(b"", f"Location: /v1/elsewhere?key={KEY}", status="302 Found")),
    "long_wait": (
        "rate_limit",
        http(b"{}", f"Retry-After: {10**9}", status="429 Too Many Requests"),
    ),
}
"""Whole as they are, none is an answer: the kind of fault, and the bytes."""
STOPPING = frozenset({"other_model", "refused_key", "moved", "long_wait"})
"""What no further call of the judge would escape."""
CLOSING = frozenset({"http_1_0", "length_too_long", "only_hints", "no_content"})


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came, and which family answered."""

    key: str
    family: str
    path: str
    headers: dict[str, str] = field(repr=False, default_factory=dict)


class HostileServer:
    """Answers by ``rule(key, nth)``: the family of the nth request (from 0) of a call. ``asked``
    lists every request.

    The public methods are the families whose bytes come bit by bit.
    """

    def __init__(self, rule: Callable[[str, int], str]) -> None:
        self.rule = rule
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
        self.asked.append(Asked(key, family, first.split()[1], headers))
        if family in SLOW:
            await getattr(self, family)(writer)
            return False
        writer.write(WHOLE[family] if family in WHOLE else BROKEN[family][1])
        await writer.drain()
        return family not in CLOSING

    async def gzip_bomb(self, writer: asyncio.StreamWriter) -> None:
        """10 GB of spaces as 10 MB, sent as long as it is taken."""
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        packer = zlib.compressobj(9, wbits=31)
        block = packer.compress(b" " * MB) + packer.flush(zlib.Z_FULL_FLUSH)
        writer.write(b"%x\r\n%s\r\n" % (len(block), block))
        many = 64 * (packer.compress(b" " * MB) + packer.flush(zlib.Z_FULL_FLUSH))
        await self._endless(writer, b"%x\r\n%s\r\n" % (len(many), many), 160)

    async def endless_chunks(self, writer: asyncio.StreamWriter) -> None:
        """A gigabyte."""
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self._endless(writer, b"10000\r\n" + b" " * 2**16 + b"\r\n", 16_384)

    async def endless_error(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n")
        await self._endless(writer, b"10000\r\n" + b"no " * 21_845 + b"!\r\n", 16_384)

    async def endless_header(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        await self._endless(writer, b"x" * 2**16, 1_024)

    async def endless_headers(self, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        await self._endless(
            writer, b"".join(b"X-%d: %s\r\n" % (n, b"x" * 900) for n in range(100)), 1_000
        )

    async def half_close(self, writer: asyncio.StreamWriter) -> None:
        writer.write(http(said(), length=10_000))
        writer.write_eof()
        await asyncio.sleep(0.2)

    async def reset_in_the_middle(self, writer: asyncio.StreamWriter) -> None:
        writer.write(http(said(), length=10_000))
        await writer.drain()
        writer.transport.abort()

    async def drip(self, writer: asyncio.StreamWriter) -> None:
        """A byte each 50 ms."""
        writer.write(http(b"", length=100_000)[:-1])
        await self._endless(writer, b"\n", 600, pause=0.05)

    async def _endless(
        self, writer: asyncio.StreamWriter, block: bytes, times: int, pause: float = 0.0
    ) -> None:
        for _ in range(times):
            writer.write(block)
            await writer.drain()
            await asyncio.sleep(pause)


SLOW = {
    "gzip_bomb": "bad_json",
    "endless_chunks": "too_large",
    "endless_error": "server_error",
    "endless_header": "bad_gateway",
    "endless_headers": "bad_gateway",
    "half_close": "reset",
    "reset_in_the_middle": "reset",
    "drip": "slow",
}
KINDS = {
    **dict.fromkeys(WHOLE, ""),
    **{family: kind for family, (kind, _) in BROKEN.items()},
    **SLOW,
}
FAMILIES = tuple(KINDS)
