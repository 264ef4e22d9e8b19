"""A proxy in a thread, pipelines' prompts, and a judge with a lean of its own behind it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rubriclab.runs.proxy import Proxy, Settings, serve

WORDS = {1: "Useless.", 2: "Of little use.", 3: "Of some use.", 4: "Useful.", 5: "Very useful."}


def rating(text: str, order: Sequence[int] = (1, 2, 3, 4, 5), words: Mapping[int, str] = WORDS) -> str:
    options = "\n".join(f"Score {score}: {words[score]}" for score in order)
    return f"Rate this answer.\n\nAnswer: {text}\n\nScores:\n{options}\n\nEnd with “Score: ” and the score."


def comparing(one: str, other: str, end: str = "End with [[A]] or [[B]].") -> str:
    return (
        "Which answer is better?\n\n[The Start of Assistant A's Answer]\n"
        f"{one}\n[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\n{other}\n"
        f"[The End of Assistant B's Answer]\n\n{end}"
    )


def request(prompt: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **more}


def body(prompt: str, **more: Any) -> bytes:
    return json.dumps(request(prompt, **more)).encode()


@dataclass(frozen=True)
class Leaning:
    """A judge that takes what stands first in ``lean`` of its calls, else what it thinks; always the same of one
    prompt. Reads prompts by its own patterns, knows nothing of the lab."""

    lean: float

    def __call__(self, sent: dict[str, Any]) -> str:
        text = sent["messages"][-1]["content"]
        draw = random.Random(hashlib.sha256(text.encode()).digest())
        first = draw.random() < self.lean
        shown = re.findall(r"^Score (\d):", text, re.MULTILINE)
        if shown:
            return f"Some reasons. Score: {shown[0] if first else draw.choice(shown)}"
        return f"Some reasons. [[{'A' if first else draw.choice('AB')}]]"


@dataclass
class Running:
    base_url: str
    proxy: Proxy

    @property
    def root(self) -> str:
        return self.base_url.removesuffix("/v1")


@contextmanager
def proxied(upstream: str, **settings: Any) -> Iterator[Running]:
    """The proxy in a thread with its own loop."""
    ready = threading.Event()
    made: list[Running] = []
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    failed: list[BaseException] = []

    def started(address: str, proxy: Proxy) -> None:
        made.append(Running(address, proxy))
        ready.set()

    async def main() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        try:
            await serve(Settings(upstream=upstream, **settings), started, stop)
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            await asyncio.sleep(0.01)  # closed connections are told so in the loop's next rounds

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    if not ready.wait(10) or failed:
        raise failed[0] if failed else RuntimeError("the proxy did not start within 10 s")
    try:
        yield made[0]
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
