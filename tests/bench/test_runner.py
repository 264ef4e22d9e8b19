"""The bench measures what it says; its server answers many requests on one connection."""

from __future__ import annotations

import asyncio
import json
import time

import aiohttp
import pytest

from benchmarks.contenders import Measured, bench_study, by_aiohttp, by_rubriclab
from benchmarks.peers import _bar_seconds
from benchmarks.runner import fixed_cost, table, verdicts
from benchmarks.server import Answers, served
from rubriclab.model import LabError
from rubriclab.study.plan import plan

LAB = Measured("rubriclab", 2000, 1.0, 0.3, "all")


def test_the_server_waits_and_answers() -> None:
    async def ask(url: str) -> tuple[float, dict[str, object]]:
        async with aiohttp.ClientSession() as session:
            started = time.perf_counter()
            async with session.post(f"{url}/chat/completions", json={"logprobs": True}) as response:
                return time.perf_counter() - started, json.loads(await response.read())

    with served(50, text="4") as url:
        took, payload = asyncio.run(ask(url))
    assert 0.05 <= took < 10.0, "milliseconds, not seconds"
    choice = payload["choices"][0]  # type: ignore[index]
    assert choice["message"]["content"] == "4"
    assert choice["logprobs"]["content"][0]["top_logprobs"][0]["token"] == "4"


def test_contenders_ask_every_call() -> None:
    with served(1) as url:
        for way in (by_rubriclab, by_aiohttp):
            found = way(url, 100, 8)
            assert (found.calls, found.rate > 0, found.cpu_ms > 0) == (100, True, True)


def test_the_study_has_the_calls_it_was_asked_for() -> None:
    assert len(plan(bench_study("http://127.0.0.1:1/v1", 2000, 64))) == 2000
    assert len(plan(bench_study("http://127.0.0.1:1/v1", 30, 64))) == 40


def test_bars() -> None:
    bare = Measured("aiohttp", 2000, 0.95, 0.14)
    slow = Measured("lm-eval", 2000, 1.25, 0.0)
    inspect = Measured("inspect-ai", 2000, 9.0, 20.0)
    assert verdicts([LAB, bare, slow, inspect]) == {
        "0.95 times the calls per second of aiohttp, at least 0.9": True,
        "2.14 times the processor time a call of aiohttp, at most 2": False,
        "1.25 times the calls per second of lm-eval, at least 1": True,
        "9.00 times the calls per second of inspect-ai, at least 10": False,
    }


def test_the_longer_run_counts() -> None:
    short = [Measured("rubriclab", 2000, 9.0, 9.0), Measured("aiohttp", 2000, 0.9, 0.15)]
    long = [Measured("rubriclab", 10_000, 5.0, 0.3), Measured("aiohttp", 10_000, 4.0, 0.15)]
    for found in (short + long, long + short):
        assert list(verdicts(found).values()) == [False, True]
        assert "0.80 times the calls per second of aiohttp, at least 0.9" in verdicts(found)


def test_the_table_names_ratios_of_runs_of_one_length() -> None:
    found = [
        LAB,
        Measured("openai", 2000, 4.0, 1.5),
        Measured("rubriclab", 10_000, 4.0, 0.2),
        Measured("aiohttp", 10_000, 2.0, 0.1),
        Measured("rubriclab", 20, 0.25, 5.0),
    ]
    lines = table(found, ceiling=3200).splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["aiohttp", "10,000"],
        ["rubriclab", "10,000"],
        ["rubriclab", "2,000"],
        ["openai", "2,000"],
    ]
    assert "0.50x     2.00x" in lines[1]
    assert "4.00x     0.20x" in lines[4]
    assert len(lines) == 6, "the run that is all beginning is told in a sentence"
    assert fixed_cost(found).startswith("a run of 20 calls takes the lab 0.25 s, 0.10 s on the processor")


def test_answers_differ_and_have_as_many_alternatives_as_real_ones() -> None:
    answers = Answers(None).of[True]
    read = [json.loads(next(answers).partition(b"\r\n\r\n")[2]) for _ in range(50)]
    assert len({payload["id"] for payload in read}) == 50
    assert {payload["choices"][0]["message"]["content"] for payload in read} == {"1", "2", "3", "4", "5"}
    for payload in read:
        top = payload["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        assert len({one["token"] for one in top}) == len(top) == 20
        assert top[0]["token"] == payload["choices"][0]["message"]["content"]


def test_seconds_from_a_progress_bar() -> None:
    said = "Requesting API:  50%| 1000/2000 [00:00<00:00, 900.00it/s]\rRequesting API: 100%|##| 2000/2000 [00:01<00:00, 1600.00it/s]"
    assert _bar_seconds(said, 2000) == pytest.approx(1.25)
    assert _bar_seconds("2/2 [00:05<00:00,  2.50s/it]", 2) == pytest.approx(5.0)
    with pytest.raises(LabError, match="no progress"):
        _bar_seconds("nothing", 5)
