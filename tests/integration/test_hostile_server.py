"""A server that wishes the lab ill: its whole list, eight calls at once, each named, in less than 100 MB."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile_server import FAMILIES, KINDS, MODEL, HostileServer
from tests.judges.kit import option_call, settings
from tests.servers import running

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
KEY = "sk-very-secret-key-1234"
ROUNDS, AT_ONCE, MOST_MB = 3, 8, 100


def test_the_whole_list_in_bounded_memory() -> None:
    with running(HostileServer(lambda key, _: key.partition("-")[0], key=KEY)) as server:
        done = subprocess.run(
            [sys.executable, "-m", "tests.integration.test_hostile_server", server.base_url],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    print(
        f"{len(report['kinds'])} calls: {report['before']:.0f} MB before, {report['after'] - report['before']:.0f} more"
    )
    wrong = {key: kind for key, kind in report["kinds"].items() if kind != KINDS[key.partition("-")[0]]}
    assert not wrong
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}
    assert report["after"] - report["before"] < MOST_MB


def megabytes() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def ask_everything(base_url: str) -> dict[str, object]:
    from rubriclab.judges.client import ChatClient

    judge = settings(base_url, model=MODEL, key_env="K_API_KEY", timeout=20.0)
    client = ChatClient(judge, secrets={"K_API_KEY": KEY})
    assert (await client.ask(option_call(key="good-first"))).text == "3"
    before = megabytes()
    room, kinds = asyncio.Semaphore(AT_ONCE), {}

    async def ask(key: str) -> None:
        async with room:
            reply = await client.ask(option_call(key=key))
        assert KEY not in repr(reply)
        kinds[key] = reply.kind

    await asyncio.gather(*(ask(f"{family}-{n}") for n in range(ROUNDS) for family in FAMILIES))
    # The largest all at the same time, too.
    large = ("huge_text", "many_values", "endless_chunks", "many_choices", "endless_error")
    await asyncio.gather(*(ask(f"{family}-again-{n}") for n in range(4) for family in large))
    await client.close()
    return {"kinds": kinds, "before": before, "after": megabytes()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask_everything(sys.argv[1]))))
