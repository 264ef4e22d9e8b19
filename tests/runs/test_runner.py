"""Check that a run ends or pauses with a reason, asks nothing twice, and keeps what it paid for."""

import asyncio
import math
import os
import random
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError
from rubriclab.runs import asking
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import Run, RunSnapshot, keep_run
from rubriclab.store import writer
from rubriclab.store.store import Store
from rubriclab.store.writer import RunWriter
from tests.runs.kit import WAIT, Scripted, ScriptedJudge, ended, failed, use
from tests.servers import FakeServer, failure, running
from tests.study.kit import API, EMBEDDED, criterion, small_plan

OTHER = API.model_copy(update={"name": "other"})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again at once: how long a backoff is has a test of its own."""
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)


def test_a_run_finishes_and_every_call_has_one_row(store: Store, scripted: Scripted) -> None:
    judge = scripted()
    made = small_plan(4)
    end = ended(Run(store, made))
    assert (end.state, end.reason, end.done, end.planned, end.failed, end.asked) == (
        "finished",
        "",
        80,
        80,
        0,
        80,
    )
    assert set(judge.asked.values()) == {1}
    assert judge.closed == 2  # once looked at before the run, once at its end
    assert store.final_keys(end.run) == {call.key for call in made.calls()}
    table = store.table(end.run)
    assert (len(table.rows), set(table.rows["score"]), table.planned) == (80, {3.0}, (80,))
    assert store.run(end.run).state == "finished"


def test_a_finished_run_again_asks_nothing_and_still_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge())
    first = ended(Run(store, small_plan()))
    use(monkeypatch, LabError("the key is gone"))
    end = ended(Run(store, small_plan()))
    assert (end.run, end.state, end.asked, end.done) == (first.run, "finished", 0, 60)
    assert end.early == first.early
    assert end.cells == first.cells
    assert sum(end.cells[0].values()) == sum(end.early[0]) == 60


@pytest.mark.parametrize("killed", [False, True])
def test_answers_of_another_run_are_taken_over_and_the_rest_is_asked(
    store: Store, scripted: Scripted, killed: bool
) -> None:
    lost = {call.key for call in list(small_plan().calls())[:2]}
    scripted(
        lambda call, _: (
            failed("refusal", retryable=False) if call.key in lost else Reply(text="2", tokens_in=7)
        )
    )
    first = ended(Run(store, small_plan()))  # three items of the four
    judge = scripted()
    if killed:  # before anything was taken over: whoever goes on with it takes over too
        run = keep_run(store, small_plan(4), first.run)
        end = RunManager(store).resume(run).wait(WAIT)
    else:
        end = ended(Run(store, small_plan(4), known=(store, first.run)))
    assert (end.state, end.done, end.asked, len(judge.asked)) == (
        "finished",
        80,
        22,
        22,
    )  # errors are no answers
    calls = store.calls(end.run)
    assert (calls["note"] == f"answered in run {first.run}").sum() == 58
    assert set(calls.loc[calls["note"] != "", "tokens_in"]) == {7}
    rows = store.table(end.run).rows
    assert rows.groupby("score").size().to_dict() == {2.0: 58, 3.0: 22}
    store.delete(first.run)
    assert ended(Run(store, small_plan(5), known=(store, first.run))).asked == 100


def test_calls_go_out_item_by_item(store: Store, scripted: Scripted) -> None:
    judge = scripted()
    ended(Run(store, small_plan(5)))
    shown = [call.items[0] for call in judge.calls]
    # Eight at once may swap neighbours, never whole items.
    assert all(later >= earlier for earlier, later in zip(shown, shown[16:], strict=False))


def test_calls_in_flight_are_awaited_by_a_pause_and_not_by_a_cancel(
    store: Store, scripted: Scripted
) -> None:
    scripted(latency=600.0)
    run = Run(store, small_plan()).start()
    while run.snapshot().in_flight == 0:
        time.sleep(0.005)
    run.pause()
    assert run.wait(0.05).active
    assert "in flight" in run.snapshot().stage
    run.cancel()
    end = run.wait(WAIT)
    assert (end.state, end.done) == ("cancelled", 0)
    assert store.run(end.run).state == "cancelled"
    scripted(latency=0.2)
    run = Run(store, small_plan(1, strategies=["fixed"])).start()
    while run.snapshot().in_flight < 2:
        time.sleep(0.005)
    run.pause()
    assert run.wait(WAIT).state == "finished"


def test_several_judges_are_asked_at_once_and_two_runs_do_not_mix(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    two, four = (
        ScriptedJudge(lambda *_, text=text: Reply(text=text), latency=0.01) for text in "24"
    )
    use(monkeypatch, None, api=two, other=four)
    runs = [Run(store, small_plan(3, judges=judges)).start() for judges in ((API,), (API, OTHER))]
    ends = [run.wait(WAIT) for run in runs]
    assert [(end.state, end.done) for end in ends] == [("finished", 60), ("finished", 120)]
    assert [sum(counts) for counts in ends[1].early] == [60, 60]
    assert [set(store.table(run.id).rows["score"]) for run in runs] == [{2.0}, {2.0, 4.0}]
    assert four.most > 1


def test_a_limit_of_calls_stops_exactly(store: Store, scripted: Scripted) -> None:
    judge = scripted(latency=0.001)
    end = ended(Run(store, small_plan(5), max_calls=37))
    assert (end.state, end.done, judge.asked.total()) == ("paused", 37, 37)
    assert "the limit of 37 calls" in end.reason
    assert (ended(Run(store, small_plan(5))).state, set(judge.asked.values())) == ("finished", {1})


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"max_calls": 0}, "The limit of calls is 0. Use a number above 0"),
        ({"max_calls": -1}, "The limit of calls is -1. Use a number above 0"),
        ({"max_money": math.nan}, "The limit of money is nan. Use a number above 0"),
        ({"max_money": 1.0}, "no judge has one. Set price_input"),
    ],
)
def test_a_limit_that_is_none_leaves_nothing(
    store: Store, scripted: Scripted, limit: dict[str, Any], words: str
) -> None:
    scripted()
    with pytest.raises(LabError, match=words):
        Run(store, small_plan(), **limit)
    assert store.runs() == []


def test_a_model_that_is_no_file_leaves_nothing(store: Store, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", "/dev/zero", "/etc/passwd"):
        own = EMBEDDED.model_copy(update={"options": {"path": str(path)}})
        with pytest.raises(LabError, match="Give the path of a GGUF file"):
            Run(store, small_plan(judges=(own,)))
    assert store.runs() == []


@pytest.mark.parametrize(("limit", "least", "most"), [(10.0, 10, 13), (0.5, 1, 1)])
def test_a_limit_of_money(
    store: Store, scripted: Scripted, limit: float, least: int, most: int
) -> None:
    """One a call, four at once: what is in flight is counted in, and nothing is in flight before a
    price a call is known.
    """
    dear = API.model_copy(update={"price_input": 1e6, "concurrency": 4})
    scripted(lambda *_: Reply(text="3", tokens_in=1, tokens_out=5), latency=0.001)
    end = ended(Run(store, small_plan(5, judges=(dear,)), max_money=limit))
    assert end.state == "paused"
    assert f"the limit of {limit:g}" in end.reason
    assert least <= end.money <= most


@pytest.mark.parametrize("counted", [{}, {"tokens_in": 0, "tokens_out": 0}])
def test_a_server_that_counts_no_tokens_does_not_outrun_the_limit(
    store: Store, scripted: Scripted, counted: dict[str, int]
) -> None:
    """They are guessed from the signs. A dear judge beside one for nothing is counted at its own
    price.
    """
    dear, free = (
        API.model_copy(update={"price_input": 4e6}),
        API.model_copy(update={"name": "free", "price_input": 0.0}),
    )
    judge = scripted(lambda *_: Reply(text="3", **counted), latency=0.001)
    plan = small_plan(5, judges=(dear, free))
    call = next(plan.calls("api"))
    price = sum(
        len(message["content"]) for message in call.messages
    )  # one a sign, four signs a token
    end = ended(Run(store, plan, max_money=3.5 * price))
    assert end.state == "paused"
    assert 3 * price < end.money < 4.5 * price
    assert sum(1 for call in judge.calls if plan.conditions[call.condition].judge == "api") == 4


@pytest.mark.parametrize(
    ("reply", "state", "words", "attempts", "most"),
    [
        (
            failed("bad_request", retryable=False),
            "paused",
            "a planted bad_request",
            1,
            8 + 3,
        ),  # three, and those in flight
        (failed("connect"), "paused", "the server does not answer", 5, 5 * 8 + 5),
        (Reply(text=""), "failed", "0 of 60 replies could be parsed", 1, 60),
        (
            failed("context_overflow", retryable=False),
            "failed",
            "a planted context_overflow",
            1,
            60,
        ),
        (
            LabError("out of memory; choose a smaller model"),
            "paused",
            "api: out of memory; choose a smaller model",
            1,
            8,
        ),
        (
            ZeroDivisionError("planted"),
            "paused",
            "The lab failed: ZeroDivisionError: planted",
            1,
            8,
        ),
    ],
)
def test_a_judge_that_gives_nothing_ends_its_run_with_the_reason(
    store: Store,
    scripted: Scripted,
    reply: Reply | Exception,
    state: str,
    words: str,
    attempts: int,
    most: int,
) -> None:
    def script(*_: object) -> Reply:
        if isinstance(reply, Exception):
            raise reply
        return reply

    judge = scripted(script, latency=0.01)
    end = ended(Run(store, small_plan()))
    assert (end.state, store.run(end.run).state, end.done) == (
        state,
        state,
        60 if state == "failed" else end.failed,
    )
    assert words in end.reason
    assert max(judge.asked.values()) == attempts
    assert judge.asked.total() <= most


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (
            ScriptedJudge(lambda *_: failed("auth", retryable=False)),
            "other: a planted auth. The server rejected the API key",
        ),
        (
            LabError("No weights here; fetch them."),
            "other: No weights here; fetch them. The other judges went on.",
        ),
    ],
)
def test_a_judge_that_cannot_be_had_does_not_stop_another(
    other: object, reason: str, store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ScriptedJudge(), other=other)
    made = small_plan(4, judges=(OTHER, API))
    end = ended(Run(store, made))
    assert (end.state, end.done) == ("paused", 80)
    assert end.reason.startswith(reason)
    assert end.reason.endswith("The other judges went on.")
    mended = scripted()
    again = ended(Run(store, made))
    assert (again.state, again.done, mended.asked.total()) == ("finished", 160, 80)


def test_a_study_whose_only_judge_cannot_be_had_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, LabError("give a base URL"))
    with pytest.raises(LabError, match="give a base URL"):
        Run(store, small_plan())
    assert store.runs() == []


def test_faults_that_pass_are_asked_again_and_counted(store: Store, scripted: Scripted) -> None:
    hopeless = next(small_plan(2).calls()).key

    def script(call: Call, nth: int) -> Reply:
        return failed("reset") if call.key == hopeless or nth == 0 else Reply(text="3")

    judge = scripted(script)
    end = ended(Run(store, small_plan(2)))
    assert (end.state, end.done, end.failed) == ("finished", 40, 1)
    assert judge.asked[hopeless] == asking.ATTEMPTS
    calls = store.calls(end.run).set_index("key")
    assert (calls.loc[hopeless, "attempt"], calls.loc[hopeless, "kind"]) == (5, "reset")
    assert sorted(calls["attempt"]) == [2] * 39 + [5]


def test_failed_calls_are_asked_again_where_that_is_wanted(
    store: Store, scripted: Scripted
) -> None:
    lost = {call.key for call in small_plan(3).calls() if call.ordering.shown[0] == 2}

    def script(call: Call, nth: int) -> Reply:
        return (
            failed("too_large", retryable=False)
            if call.key in lost and nth == 0
            else Reply(text="3")
        )

    judge = scripted(script)
    first = ended(Run(store, small_plan(3)))
    assert (first.done, first.failed) == (60, len(lost))
    end = ended(Run(store, small_plan(3), retry_failed=True))
    assert (end.state, end.asked, end.done, end.failed) == ("finished", len(lost), 60, 0)
    assert {key for key, n in judge.asked.items() if n == 2} == lost
    assert len(store.table(end.run).rows) == 60


def test_an_outage_of_a_server_that_answered_costs_no_attempts(
    store: Store, scripted: Scripted
) -> None:
    def script(_: Call, nth: int) -> Reply:
        return failed("connect") if len(judge.calls) > 10 and nth < 9 else Reply(text="3")

    judge = scripted(script)
    end = ended(Run(store, small_plan(2)))
    assert (end.state, end.failed) == ("finished", 0)
    assert (max(judge.asked.values()), set(store.calls(end.run)["attempt"])) == (10, {1})


@pytest.mark.thorough
def test_a_short_rest_is_kept_and_told(store: Store, scripted: Scripted) -> None:
    scripted(lambda _, nth: failed("rate_limit", retry_after=1.4) if nth == 0 else Reply(text="3"))
    run = Run(store, small_plan(1, strategies=["fixed"])).start()
    stages = set()
    while run.snapshot().active:
        stages.add(run.snapshot().stage[:25])
        time.sleep(0.05)
    assert run.wait(WAIT).state == "finished"
    assert "api asked for a pause: 1 " in stages


@pytest.mark.thorough
def test_a_full_disk_pauses_and_nothing_is_asked_twice(
    store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise LabError("The disk is full: make room, then resume.")

    judge = scripted(latency=0.002)
    with monkeypatch.context() as full:
        full.setattr(RunWriter, "_commit", no_room)
        end = ended(Run(store, small_plan(40)))
    assert end.state == "paused"
    assert "The disk is full" in end.reason
    received = judge.asked.total()
    assert 0 < received < 800
    again = ended(Run(store, small_plan(40)))
    assert (again.state, again.done, again.asked) == ("finished", 800, 800 - received)
    assert set(judge.asked.values()) == {1}


@pytest.mark.thorough
def test_stopped_again_and_again_nothing_is_lost_or_asked_twice(
    store: Store, scripted: Scripted
) -> None:
    rng = random.Random(3)
    judge = scripted(latency=0.003)
    for _ in range(6):
        run = Run(store, small_plan(20)).start()
        while run.snapshot().active and run.snapshot().asked < rng.randint(1, 40):
            time.sleep(0.001)
        run.pause()
        paused = run.wait(WAIT)
        assert (paused.state, paused.reason) == ("paused", "paused by you")
        assert (
            len(store.final_keys(paused.run)) == paused.done == judge.asked.total()
        )  # what was in flight was kept
    end = ended(Run(store, small_plan(20)))
    assert (end.state, end.done) == ("finished", 400)
    assert set(judge.asked.values()) == {1}


def test_a_run_is_not_asked_by_two_sessions_at_once(store: Store, scripted: Scripted) -> None:
    judge = scripted(latency=0.3)
    first = Run(store, small_plan(1)).start()
    while first.snapshot().in_flight == 0:
        time.sleep(0.005)
    first.pause()
    second = ended(Run(store, small_plan(1)))  # while answers to the first are still awaited
    assert (second.state, second.asked) == ("paused", 0)
    assert "asked already" in second.reason
    paused = first.wait(WAIT)
    assert (paused.state, paused.done) == ("paused", judge.asked.total())
    assert store.run(paused.run).state == "paused"


def test_clocks_that_jump_cost_nothing(
    store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, real = random.Random(8), writer.now
    monkeypatch.setattr(writer, "now", lambda: real() + timedelta(days=rng.uniform(-400, 400)))
    monkeypatch.setattr(time, "time", lambda: rng.uniform(0, 4e9))
    judge = scripted(
        lambda call, nth: (
            failed("rate_limit", retry_after=0.01) if call.repeat > nth else Reply(text="3")
        )
    )
    end = ended(Run(store, small_plan(5)))
    assert (end.state, end.done, end.failed, judge.asked.total()) == ("finished", 100, 0, 150)
    assert len(store.table(end.run).rows) == 100


def test_criteria_are_kept_one_row_each(store: Store, scripted: Scripted) -> None:
    scripted(lambda *_: Reply(text="[b] 4\n[a] 2\n[c] fine"))
    made = small_plan(
        2, criteria=(criterion("a"), criterion("b"), criterion("c")), reorder="criteria"
    )
    end = ended(Run(store, made))
    assert (end.state, end.done, end.failed) == ("finished", 24, 0)
    rows = store.table(end.run).rows
    assert len(rows) == 72
    assert dict(rows.groupby("slot")["status"].max()) == {0: 0, 1: 0, 2: 1}
    assert end.early[0] == (16, 16, 16)  # 24 calls x 2 criteria, over three positions


def test_the_pace_grows_and_is_halved_and_calls_a_minute_are_kept() -> None:
    async def go() -> list[int]:
        judge = asking.Asking(API.model_copy(update={"concurrency": 64}), ScriptedJudge())
        limits = []
        for _ in range(30):
            assert await judge.enter()
            while judge.active < int(judge.limit):
                assert await judge.enter()
            judge.adapt(Reply("3"))
            judge.leave()
        limits.append(int(judge.limit))
        judge.adapt(failed("rate_limit"))
        judge.adapt(failed("rate_limit"))  # of the same moment: halved once
        limits.append(int(judge.limit))
        return limits

    # 8, one more for each of 30 answers that found it full: 38; then 19.
    assert asyncio.run(go()) == [38, 19]

    async def go() -> bool:
        judge = asking.Asking(API.model_copy(update={"rpm": 1.0}), ScriptedJudge())
        assert await judge.enter()
        second = asyncio.create_task(judge.enter())
        await asyncio.sleep(0.05)
        assert not second.done()
        judge.stop()
        return await second

    assert asyncio.run(go()) is False


def test_backoff_doubles_up_to_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(random, "uniform", lambda _, high: high)
    assert [asking.backoff(attempt) for attempt in (1, 2, 3, 4, 5, 50)] == [
        0.5,
        1.0,
        2.0,
        4.0,
        5.0,
        5.0,
    ]


# ------------------------------------------------------------------------------------ over the wire
def judged(store: Store, **options: Any) -> tuple[RunSnapshot, FakeServer]:
    """A run of 60 calls against a server with these options, asked again at once."""
    with running(FakeServer(**options)) as server:
        judge = JudgeSettings(
            name="server", kind="openai", model="test-model", base_urls=(server.base_url,)
        )
        return ended(Run(store, small_plan(3, judges=(judge,)))), server


@pytest.mark.parametrize(
    "rule", [None, lambda *_: failure(503, "starting", headers={"Retry-After": "0"})]
)
def test_a_server_that_is_dead_or_down_leaves_its_calls_to_the_others_and_is_named(
    store: Store, rule: Any
) -> None:
    with running(FakeServer(rule=rule)) as down, running(FakeServer()) as fine:
        dead = down.base_url if rule else "http://127.0.0.1:9/v1"
        judge = JudgeSettings(
            name="two", kind="openai", model="test-model", base_urls=(dead, fine.base_url)
        )
        end = ended(Run(store, small_plan(4, judges=(judge,))))
    assert (end.state, end.done, end.failed, fine.answered) == ("finished", 80, 0, 80)
    assert end.reason == f"{dead} did not answer: its calls went to 1 other server."
    assert store.run(end.run).reason == end.reason


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("status", "message", "headers", "words"),
    [
        (
            400,
            "Unsupported value: 'temperature' does not support 0.0 with this model.",
            {},
            "Setting “temperature”",
        ),
        (401, "Incorrect API key", {}, "Check the key"),
        (302, "", {"Location": "http://127.0.0.1:9/"}, "moved to http://127.0.0.1:9/"),
        (429, "tomorrow", {"Retry-After": "86400"}, "a pause of 86,400 s"),
        (503, "in 2099", {"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, "asks for a pause of"),
    ],
)
def test_what_no_call_escapes_pauses_at_the_first_answers(
    status: int, message: str, headers: dict[str, str], words: str, store: Store
) -> None:
    end, server = judged(store, rule=lambda *_: failure(status, message, headers=headers))
    assert (end.state, end.done) == ("paused", 0)
    assert end.reason.startswith("server: ")
    assert words in end.reason
    assert server.asked <= 8


@pytest.mark.parametrize("status", [500, 200])
def test_a_server_that_always_fails_is_left(status: int, store: Store) -> None:
    """At most five attempts a call, and five calls in a row; the eight calls at once may all be in
    flight then.
    """

    def rule(*_: object) -> web.Response:
        return failure(status, "out of order", code=502)

    end, server = judged(store, rule=rule)
    assert end.state == "paused"
    assert "5 calls in a row failed. The last error: " in end.reason
    assert "out of order" in end.reason
    assert max(server.keys.count(key) for key in server.keys) == asking.ATTEMPTS
    assert server.asked <= 5 * (8 + 5)
    assert 5 <= end.failed == end.done <= 8 + 5
