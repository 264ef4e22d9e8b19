"""A pipeline of the official client in front of a judge that leans: only its base URL is changed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
from math import sqrt

import openai
import pytest

from tests.proxies import Leaning, comparing, proxied, rating
from tests.servers import SteadyServer, running

ITEMS = int(os.environ.get("RUBRICLAB_PROXY_ITEMS", "150"))


def share_of_first(base_url: str, *, pairs: bool, items: int) -> float:
    """The pipeline: it asks every item once, in an order that it draws, parses the reply with a pattern of its own,
    and counts how often the first place won."""
    draw = random.Random(11)
    orders = [draw.sample(range(1, 6), 5) for _ in range(items)]
    prompts = [
        comparing(f"answer {k} of one", f"answer {k} of another") if pairs else rating(f"an answer, number {k}", order)
        for k, order in enumerate(orders)
    ]

    async def run() -> list[str]:
        room = asyncio.Semaphore(16)
        async with openai.AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:

            async def ask(prompt: str) -> str:
                async with room:
                    answer = await client.chat.completions.create(
                        model="judge", messages=[{"role": "user", "content": prompt}], temperature=0
                    )
                return answer.choices[0].message.content or ""

            return list(await asyncio.gather(*map(ask, prompts)))

    replies = asyncio.run(run())
    if pairs:
        winners = [re.findall(r"\[\[([AB])\]\]", reply)[-1] for reply in replies]
        return winners.count("A") / items
    scores = [int(re.findall(r"Score: (\d)", reply)[-1]) for reply in replies]
    return sum(score == order[0] for score, order in zip(scores, orders, strict=True)) / items


@pytest.mark.slow
@pytest.mark.parametrize(("pairs", "lean", "even"), [(False, 0.5, 0.2), (True, 0.2, 0.5)], ids=["scores", "pairs"])
def test_a_position_share_of_six_in_ten_becomes_an_even_one(pairs: bool, lean: float, even: float) -> None:
    """The judge takes the first place in ``lean`` of its calls and else any: in 0.6 of them all told."""
    items = ITEMS if not pairs else 3 * ITEMS
    with running(SteadyServer(answer=Leaning(lean), keep_bodies=0)) as judge, proxied(judge.base_url) as at:
        plain = share_of_first(judge.base_url, pairs=pairs, items=items)
        cured = share_of_first(at.base_url, pairs=pairs, items=items)
        status = at.proxy.status()
    print(f"share of the first place: {plain:.3f} plain, {cured:.3f} through the proxy, {even} even")
    assert abs(plain - 0.6) < 4 * sqrt(0.6 * 0.4 / items)
    assert abs(cured - even) < 4 * sqrt(even * (1 - even) / items)
    assert plain - cured > (0.25 if not pairs else 0.02)
    assert status["cured"] == items
    assert not status["plain"]
    assert not status["failed"]


@pytest.mark.slow
def test_the_command_says_its_address_and_stops_at_ctrl_c() -> None:
    with running(SteadyServer(text="Score: 4")) as judge:
        command = [sys.executable, "-m", "rubriclab", "proxy", "--upstream", judge.base_url, "--port", "0", "--json"]
        with subprocess.Popen(
            [*command, "--orders", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            told = json.loads(process.stdout.readline())
            assert told["upstream"] == judge.base_url
            with openai.OpenAI(base_url=told["base_url"], api_key="none") as client:
                answer = client.chat.completions.create(
                    model="judge", messages=[{"role": "user", "content": rating("x")}]
                )
            assert answer.choices[0].message.content == "Score: 4"
            process.send_signal(signal.SIGINT)
            rest, said = process.communicate(timeout=60)
    assert process.returncode == 0
    status = json.loads(rest)
    assert (status["cured"], status["calls_upstream"]) == (1, 2)
    assert "Give your pipeline the base URL" in said
    assert "Traceback" not in said
