"""A chat server that answers every call after a fixed time, as cheaply as Python can.

``python -m benchmarks.server --latency-ms 20`` prints one line of JSON with its
``base_url`` and serves on 127.0.0.1 until its standard input closes. A bare protocol instead
of a web framework: the clients are measured, so the server must not be what limits them. Its
answers are made beforehand and differ as a judge's do, in identifier, score, probabilities and
tokens, with as many alternatives as real servers give: no client gains by having read one before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

MODEL = "bench-model"
ANSWERS = 997
"""Answers made beforehand; a prime, so that no run of calls meets them in step."""
LABELS = ("1", "2", "3", "4", "5")
WORDS = (" 3", "The", "Score", " The", "I", "Based", "**", "Feedback", "To", " 4", "Answer", "A", "0", "Given", "\n")
"""What else a first token may be: with the labels 20 alternatives, the most that vLLM gives."""


def completion(text: str, *, logprobs: bool, number: int = 1) -> bytes:
    """The body of a chat completion; with label probabilities where they were asked for."""
    chance = random.Random(number)
    others = [token for token in (*LABELS, *WORDS) if token != text]
    falling = sorted((round(chance.uniform(-9.0, -1.0), 7) for _ in others), reverse=True)
    pairs = [(text, round(chance.uniform(-0.7, -0.1), 7)), *zip(others, falling, strict=True)]
    top = [{"token": t, "logprob": v, "bytes": list(t.encode())} for t, v in pairs[: len(LABELS) + len(WORDS)]]
    content = [{**top[0], "top_logprobs": top}]
    return json.dumps(
        {
            "id": f"chatcmpl-{chance.getrandbits(64):016x}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                    "logprobs": {"content": content} if logprobs else None,
                }
            ],
            "usage": {"prompt_tokens": 250 + number % 50, "completion_tokens": 1, "total_tokens": 251 + number % 50},
        }
    ).encode()


def _response(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Answers:
    """The responses of a server by whether probabilities were asked for, in turn; ``text`` fixes what they say."""

    def __init__(self, text: str | None) -> None:
        texts = [text if text is not None else LABELS[number * 7 % 5] for number in range(ANSWERS)]
        self.of = {
            wanted: cycle([_response(completion(t, logprobs=wanted, number=n)) for n, t in enumerate(texts)])
            for wanted in (False, True)
        }
        self.models = _response(json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]}).encode())


class Answerer(asyncio.Protocol):
    """One connection: requests in, the next of the ``answers`` out after ``latency`` seconds each."""

    def __init__(self, latency: float, answers: Answers) -> None:
        self._latency, self._buffer, self._answers = latency, b"", answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            _, _, rest = head.partition(b"content-length:")
            length = int(rest.split(b"\r\n", 1)[0] or 0)
            if len(self._buffer) < end + 4 + length:
                return
            body, self._buffer = (self._buffer[end + 4 : end + 4 + length], self._buffer[end + 4 + length :])
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"get"):
            self._write(self._answers.models)
            return
        wanted = b'"logprobs": true' in body or b'"logprobs":true' in body
        self._loop.call_later(self._latency, self._write, next(self._answers.of[wanted]))

    def _write(self, answer: bytes) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(answer)


@contextmanager
def served(latency_ms: float, *, text: str | None = None) -> Iterator[str]:
    """The base URL of a server in a process of its own, which ends with the block. ``text``: its every answer."""
    command = [sys.executable, "-m", "benchmarks.server", "--latency-ms", str(latency_ms)]
    command += [] if text is None else ["--text", text]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise OSError("The bench server has no output to read its address from.")
            yield json.loads(process.stdout.readline())["base_url"]
        finally:
            if process.stdin is not None:
                process.stdin.close()
            process.wait(10)


async def _serve(latency: float, text: str | None, port: int) -> None:
    loop, answers = asyncio.get_running_loop(), Answers(text)
    server = await loop.create_server(lambda: Answerer(latency, answers), "127.0.0.1", port, backlog=1024)
    found = server.sockets[0].getsockname()[1]
    print(json.dumps({"base_url": f"http://127.0.0.1:{found}/v1"}), flush=True)
    stop = asyncio.Event()

    def until_closed() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=until_closed, daemon=True).start()
    await stop.wait()
    server.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server", description=__doc__)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--text", help="the answer to every call; default: scores from 1 to 5")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    asyncio.run(_serve(options.latency_ms / 1000, options.text, options.port))


if __name__ == "__main__":
    main()
