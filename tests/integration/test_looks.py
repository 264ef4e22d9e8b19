"""Check by what a server counts that runs stop early, and that a kill does not change the answer.

The server adds ``lean`` log-odds to the option listed first, and gives a prompt always the same
reply. So two runs of a study, killed or not, get the same replies.
"""

import multiprocessing
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import Look, looks_at
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.runs.runner import Run, RunSnapshot
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from tests.servers import FakeServer, running
from tests.study.kit import small_plan

pytestmark = pytest.mark.integration

AT_ONCE = 8
SETTLED = 3.0
"""Seconds after which an answer is committed on any machine: the store commits every 0.2 s."""
RUNS = 10
KILLS = int(os.environ.get("RUBRICLAB_KILLS", "20"))
PATIENCE = 300.0
"""Seconds for one run on a machine that has much else to do."""


def looked_plan(server: FakeServer, count: int, seed: int, repeats: int) -> Plan:
    """``count`` answers in ten orders, with texts that hang on the seed."""
    items = [Item(f"i{k}", f"response {seed}, {k}", f"question {seed}, {k}") for k in range(count)]
    judge = JudgeSettings(
        name="server",
        kind="openai",
        model="test-model",
        base_urls=(server.base_url,),
        concurrency=AT_ONCE,
    )
    dataset = DataSet("d", tuple(items))
    return small_plan(
        dataset=dataset, judges=(judge,), stop="known", repeats=repeats, name=f"run {seed}"
    )


def done(run: Run) -> RunSnapshot:
    end = run.start().wait(PATIENCE)
    assert end.state == "finished", end
    return end


def looks_of(store: Store, run: str, made: Plan) -> list[Look]:
    judgments = Judgments(store.table(run))
    (looked,) = judgments.looked
    return looks_at(judgments, looked, made.study.reading.smallest)


def what_is_said(looks: list[Look]) -> list[tuple[object, ...]]:
    """Everything that a look says, as text."""
    return [
        (
            look.units,
            look.stops,
            look.verdicts.gate.p,
            {name: (said.word, said.interval) for name, said in look.verdicts.questions.items()},
        )
        for look in looks
    ]


@pytest.mark.parametrize(("lean", "most"), [(1.0, 1 / 3), (0.0, 1.0)])
def test_a_plan_of_2000_calls_ends_after_a_third_of_them_or_asks_all(
    lean: float, most: float
) -> None:
    """+1.0 log-odds for the first option: the truth is 0.40 of calls where 0.20 would be even."""
    shares = []
    for seed in range(RUNS):
        with running(FakeServer(lean=lean)) as server, Store.open(":memory:") as store:
            made = looked_plan(server, count=100, seed=seed, repeats=2)
            end = done(Run(store, made))
            asked = Counter(server.keys)
        assert set(asked.values()) == {1}, "a call was asked twice"
        assert asked.total() == end.done
        shares.append(asked.total() / len(made))
    print(f"lean {lean}: asked {sorted(shares)} of {len(made):,} calls")
    if most < 1:
        assert max(shares) <= most
    else:
        assert sum(share == 1.0 for share in shares) >= RUNS - 1


def child(made: Plan, store: str) -> None:
    """Run the plan in a process of its own, which is killed."""
    with Store.open(store) as opened:
        Run(opened, made).start().wait(PATIENCE)


def test_killed_at_any_moment_a_run_gives_the_same_verdict(tmp_path: Path) -> None:
    # Children come from a server of forks, which imports the lab once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.test_looks"])
    rng = random.Random(5)
    kills_in_time = 0
    for seed in range(KILLS):
        path = tmp_path / f"{seed}.duckdb"
        with running(FakeServer(lean=(1.0, 0.6, 0.0)[seed % 3], latency=0.005)) as server:
            made = looked_plan(server, count=40, seed=seed, repeats=1)
            with Store.open(":memory:") as store:
                undisturbed = done(Run(store, made))
                wanted = what_is_said(looks_of(store, undisturbed.run, made))
            keys = set(server.keys)
            first = len(server.keys)
            moment = rng.randint(1, first)
            process = context.Process(target=child, args=(made, str(path)))
            process.start()
            until = time.monotonic() + PATIENCE
            while len(server.keys) < first + moment and time.monotonic() < until:
                time.sleep(0.001)
            process.kill()
            process.join()
            killed = time.monotonic()
            kills_in_time += len(server.keys) < 2 * first
            time.sleep(0.05)  # requests that were under way are counted
            times = dict(server.times)
            with Store.open(path) as store:
                (info,) = store.runs()
                final = store.final_keys(info.id)
                assert info.state in ("interrupted", "finished")
                end = done(Run(store, made))
                assert end.done == undisturbed.done
                assert what_is_said(looks_of(store, end.run, made)) == wanted
                assert store.final_keys(end.run) == keys
            asked = Counter(server.keys[first:])
        assert set(asked) == keys
        twice = {key for key, number in asked.items() if number > 1}
        assert max(asked.values()) <= 2
        assert not twice & final, "a call with a final reply was asked again"
        # Asked again: calls in flight, and answers that the store had not committed yet.
        answered = [key for key in twice if key in times]
        assert all(killed - times[key] < SETTLED for key in answered)
        assert len(twice) <= AT_ONCE + len(answered)
    assert kills_in_time >= KILLS // 2, "the kills came after the end"
