"""Calls and judges for the tests of judges."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rubriclab.judges.client import ChatClient
from rubriclab.model.consent import NO_CONSENTS, sent_by
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Ordering, Reply


def option_call(
    number: int = 0, *, shown: Sequence[int] = (1, 2, 3, 4, 5), repeat: int = 0, **fields: Any
) -> Call:
    """A call that shows score options in this order."""
    listed = "\n".join(f"Score {score}: words about {score}" for score in shown)
    values: dict[str, Any] = {
        "key": f"{number}-{'.'.join(map(str, shown))}-{repeat}",
        "condition": 0,
        "items": (number,),
        "ordering": Ordering(tuple(shown), tuple(map(str, shown))),
        "repeat": repeat,
        "messages": (
            {"role": "user", "content": f"Item {number}\n{listed}\nAnswer with the score only:"},
        ),
        "template": "score.v1",
        "scores": tuple(sorted(shown)),
        "max_tokens": 8,
    }
    return Call(**{**values, **fields})


def settings(base_url: str = "http://127.0.0.1:9/v1", **fields: Any) -> JudgeSettings:
    """A judge of the kind ``openai`` at an address."""
    values = {
        "name": "judge",
        "kind": "openai",
        "model": "test-model",
        "base_urls": (base_url,),
        "timeout": 5.0,
    }
    return JudgeSettings(**{**values, **fields})


def gone(*pids: int, seconds: float = 20.0) -> bool:
    """Whether all these processes end within so long; one that has ended but was not collected
    has.
    """

    def alive(pid: int) -> bool:
        try:
            return not Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
        except OSError:
            return False

    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


async def ask(
    judge: JudgeSettings, *calls: Call, secrets: dict[str, str] | None = None
) -> list[Reply]:
    """The replies of a client of its own, all calls at once."""
    # Whoever hands a key over in a test has agreed that it goes to the test's own server.
    consents = frozenset(sent_by(judge)) if secrets else NO_CONSENTS
    client = ChatClient(judge, secrets=secrets, consents=consents)
    try:
        return await asyncio.gather(*(client.ask(call) for call in calls or (option_call(),)))
    finally:
        await client.close()


def install_fake_vllm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a command named ``vllm`` (``fake_vllm.py``) into the folder and onto the PATH."""
    fake = Path(__file__).with_name("fake_vllm.py")
    command = folder / "vllm"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("RUBRICLAB_VLLM", raising=False)


def until(done: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether this comes true within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.02)
    return done()
