"""A run ends or pauses with a reason, asks nothing twice, and keeps what it paid for."""

# ruff: noqa: ARG001, ARG005  # scripts of judges share one signature
from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest

from rubriclab.model import Call, Judge, LabError, Reply, Strategy, Study
from rubriclab.runs.manager import RunManager
from rubriclab.runs.pace import Pace, _Minute
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import Limits, Snapshot, money
from rubriclab.store import Store, StoreError
from rubriclab.study.plan import plan
from tests.labkit import ScriptedJudge, failed, study

API = Judge("api", "openai", "m", ("http://127.0.0.1:9/v1",), concurrency=8)
WAIT = 60.0
"""For runs that end within a second or three, on a machine that has other things to do too."""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def api_study(count: int = 3, judge: Judge = API, **design: object) -> Study:
    return study(count, judges=(judge,), **design)


def run_through(store: Store, about: Study, judge: ScriptedJudge, limits: Limits | None = None) -> Snapshot:
    return Run(store, plan(about), limits=limits or Limits(), opener=judge.opener).start().wait(WAIT)


def test_a_run_finishes_and_every_call_has_one_row(store: Store) -> None:
    about = api_study(4)
    judge = ScriptedJudge()
    ended = run_through(store, about, judge)
    assert (ended.state, ended.reason, ended.done, ended.planned) == ("finished", "", 80, 80)
    assert set(judge.asked.values()) == {1}
    assert store.outcome_counts(ended.run) == {"ok": 80, "unparsed": 0, "refused": 0, "truncated": 0, "error": 0}
    assert store.done_keys(ended.run) == {call.key for call in plan(about).calls()}
    assert store.run(ended.run).state == "finished"


def test_calls_go_out_item_by_item(store: Store) -> None:
    about = api_study(5)
    judge = ScriptedJudge()
    run_through(store, about, judge)
    item_of = {call.key: call.items[0] for call in plan(about).calls()}
    shown = [item_of[key] for key in judge.order]
    # Eight workers may swap neighbours, never whole items.
    assert all(later >= earlier for earlier, later in zip(shown, shown[16:], strict=False))


def test_a_finished_run_again_asks_nothing(store: Store) -> None:
    about = api_study()
    run_through(store, about, ScriptedJudge())
    again = ScriptedJudge()
    ended = run_through(store, about, again)
    assert (ended.state, ended.asked, ended.done) == ("finished", 0, 60)
    assert not again.asked


def test_pause_and_go_on_asks_nothing_twice(store: Store) -> None:
    about = api_study(10)
    judge = ScriptedJudge(latency=0.05)
    run = Run(store, plan(about), opener=judge.opener).start()
    while run.snapshot().asked < 30:
        time.sleep(0.005)
    run.pause()
    paused = run.wait(WAIT)
    judge.latency = 0.0
    assert (paused.state, paused.reason) == ("paused", "paused by you")
    assert 30 <= paused.done < 200
    assert len(store.done_keys(paused.run)) == paused.done  # what was in flight was kept
    ended = run_through(store, about, judge)
    assert (ended.state, ended.done) == ("finished", 200)
    assert set(judge.asked.values()) == {1}


def test_cancel_does_not_wait_for_calls_in_flight(store: Store) -> None:
    run = Run(store, plan(api_study()), opener=ScriptedJudge(latency=60.0).opener).start()
    while run.snapshot().in_flight == 0:
        time.sleep(0.005)
    run.cancel()
    ended = run.wait(30.0)
    assert (ended.state, ended.done) == ("cancelled", 0)


def test_two_runs_at_once_do_not_mix(store: Store) -> None:
    one, two = api_study(5, name="one"), api_study(5, name="two", seed=1)
    judges = [
        ScriptedJudge(lambda call, nth: Reply(text="2"), latency=0.002),
        ScriptedJudge(lambda call, nth: Reply(text="4"), latency=0.002),
    ]
    runs = [
        Run(store, plan(about), opener=judge.opener).start() for about, judge in zip((one, two), judges, strict=True)
    ]
    names = [run.wait(WAIT).run for run in runs]
    assert names[0] != names[1]
    for name, score in zip(names, (2, 4), strict=True):
        frame = store.frame(name).judgments
        assert len(frame) == 100
        assert set(frame["score"]) == {score}


def test_a_budget_in_calls_stops_cleanly_and_exactly(store: Store) -> None:
    about = api_study(5)
    judge = ScriptedJudge(latency=0.001)
    ended = run_through(store, about, judge, Limits(max_calls=37))
    assert (ended.state, ended.done) == ("paused", 37)
    assert "budget of 37 calls" in ended.reason
    assert judge.asked.total() == 37
    assert run_through(store, about, judge).state == "finished"
    assert set(judge.asked.values()) == {1}


def test_a_budget_in_money(store: Store) -> None:
    dear = Judge("api", "openai", "m", API.base_urls, concurrency=4, price_input=1e6, price_output=0.0)
    judge = ScriptedJudge(lambda call, nth: Reply(text="3", tokens_in=1, tokens_out=5))
    ended = run_through(store, api_study(5, dear), judge, Limits(max_money=10.0))
    assert ended.state == "paused"
    assert "budget of 10" in ended.reason
    assert 10 <= ended.money <= 13  # at most the other workers' calls above it


def test_prices_are_per_million_tokens() -> None:
    judge = Judge("j", "openai", "m", price_input=2.0, price_output=8.0)
    assert money(judge, 500_000, 250_000) == pytest.approx(3.0)
    assert money(API, 500_000, 250_000) == 0.0


def test_a_wrong_key_pauses_at_once(store: Store) -> None:
    judge = ScriptedJudge(lambda call, nth: failed("auth", retryable=False))
    ended = run_through(store, api_study(5), judge)
    assert (ended.state, ended.done) == ("paused", 0)
    assert ended.reason == "api: a planted auth"
    assert judge.asked.total() <= API.concurrency  # type: ignore[operator]


OTHER = Judge("other", "openai", "m", API.base_urls, concurrency=4)


@pytest.mark.parametrize("kind", ["auth", "context"])
def test_a_judge_that_cannot_be_asked_does_not_stop_another(store: Store, kind: str) -> None:
    """A wrong key ends at once, call after call that fails after so many; the other judge is asked to its end."""
    about = study(5, judges=(API, OTHER))
    at_fault = ScriptedJudge(lambda call, nth: failed(kind, retryable=False) if call.judge == 0 else Reply(text="3"))
    ended = run_through(store, about, at_fault, Limits(max_failures=9))
    assert ended.state == "paused"
    assert ended.reason.startswith("api: ")
    assert ended.reason.endswith("The other judges went on.")
    assert list(ended.waiting) == ["api"]
    frame = store.frame(ended.run)
    named = {code for code, arm in enumerate(frame.arms) if arm.judge == "other"}
    judged = frame.judgments[frame.judgments["arm"].isin(named)]
    assert len(judged) == len(plan(about)) // 2
    assert set(judged["score"]) == {3}
    mended = ScriptedJudge()
    again = Run(store, plan(about), opener=mended.opener).start().wait(WAIT)
    left = len(plan(about)) // 2 - (0 if kind == "auth" else ended.counts["error"])
    assert (again.state, again.done, mended.asked.total()) == ("finished", len(plan(about)), left)


def test_a_judge_that_cannot_be_opened_does_not_stop_another(store: Store) -> None:
    answering = ScriptedJudge()

    def refuse(judge: Judge, *rest: object) -> ScriptedJudge:
        if judge.name == "api":
            raise LabError("no weights here; fetch them")
        return answering

    ended = Run(store, plan(study(3, judges=(API, OTHER))), opener=refuse).start().wait(WAIT)  # type: ignore[arg-type]
    assert (ended.state, ended.done) == ("paused", ended.planned // 2)
    assert ended.reason == "no weights here; fetch them. The other judges went on."


def test_all_that_waits_is_said_when_the_user_pauses(store: Store) -> None:
    slow = ScriptedJudge(
        lambda call, nth: failed("auth", retryable=False) if call.judge == 0 else Reply(text="3"), latency=0.02
    )
    run = Run(store, plan(study(40, judges=(API, OTHER))), opener=slow.opener).start()
    while not run.snapshot().waiting:
        time.sleep(0.01)
    run.pause()
    assert run.wait(WAIT).reason == "paused by you. api: a planted auth"


def test_a_judge_that_cannot_be_had_pauses(store: Store) -> None:
    def refuse(*_: object) -> ScriptedJudge:
        raise LabError("no weights here; fetch them")

    ended = Run(store, plan(api_study()), opener=refuse).start().wait(WAIT)
    assert (ended.state, ended.reason) == ("paused", "no weights here; fetch them")


def test_a_judge_that_breaks_in_the_middle_pauses_with_its_words(store: Store) -> None:
    def script(call: Call, nth: int) -> Reply:
        raise LabError("out of memory; choose a smaller model")

    ended = run_through(store, api_study(), ScriptedJudge(script))
    assert ended.state == "paused"
    assert "out of memory; choose a smaller model" in ended.reason


def test_a_bug_becomes_a_reason(store: Store) -> None:
    def script(call: Call, nth: int) -> Reply:
        raise ZeroDivisionError("planted")

    ended = run_through(store, api_study(), ScriptedJudge(script))
    assert (ended.state, ended.reason) == ("paused", "The lab failed: ZeroDivisionError: planted")


@pytest.mark.slow
def test_an_outage_is_waited_for_then_pauses_with_a_reason(store: Store) -> None:
    judge = ScriptedJudge(lambda call, nth: failed("connect"))
    started = time.monotonic()
    ended = run_through(store, api_study(), judge, Limits(patience=1.5))
    assert ended.state == "paused"
    assert "has not answered for 2 s" in ended.reason
    assert time.monotonic() - started > 1.5
    assert ended.done == 0  # nothing was recorded as an error of the item


@pytest.mark.slow
def test_an_outage_costs_no_attempts(store: Store) -> None:
    """More refused connections than attempts, and every call still gets its answer."""
    back = time.monotonic() + 1.2

    def script(call: Call, nth: int) -> Reply:
        return failed("connect") if time.monotonic() < back else Reply(text="3")

    judge = ScriptedJudge(script)
    few = api_study(1, strategies=(Strategy("fixed", reads=6),))
    ended = run_through(store, few, judge, Limits(max_attempts=1))
    assert (ended.state, ended.counts["ok"], ended.counts["error"]) == ("finished", 6, 0)


@pytest.mark.slow
def test_a_server_that_answers_with_faults_is_not_down(store: Store) -> None:
    def script(call: Call, nth: int) -> Reply:
        return failed("connect") if nth == 1 else failed("server_error") if nth < 3 else Reply(text="3")

    few = api_study(1, strategies=(Strategy("fixed", reads=6),))
    ended = run_through(store, few, ScriptedJudge(script), Limits(patience=5.0))
    assert (ended.state, ended.counts["ok"]) == ("finished", 6)


def test_faults_are_retried_up_to_the_limit_then_recorded(store: Store) -> None:
    about = api_study(1, strategies=(Strategy("fixed", reads=4),))
    hopeless = next(plan(about).calls()).key

    def script(call: Call, nth: int) -> Reply:
        return failed("reset") if call.key == hopeless or nth == 0 else Reply(text="3")

    judge = ScriptedJudge(script)
    ended = run_through(store, about, judge, Limits(max_attempts=3))
    assert (ended.state, ended.counts["ok"], ended.counts["error"]) == ("finished", 3, 1)
    assert judge.asked[hopeless] == 3
    rows = store.archive_frame(ended.run).set_index("key")
    assert rows.loc[hopeless, "reply_kind"] == "reset"
    assert rows.loc[hopeless, "attempts"] == 3
    assert sorted(rows["attempts"]) == [2, 2, 2, 3]


def test_a_fault_that_asking_again_cannot_mend_is_asked_once(store: Store) -> None:
    judge = ScriptedJudge(lambda call, nth: failed("context_overflow", retryable=False))
    ended = run_through(store, api_study(1), judge)
    assert (ended.state, ended.counts["error"]) == ("finished", 20)
    assert set(judge.asked.values()) == {1}


def test_call_after_call_failing_pauses(store: Store) -> None:
    judge = ScriptedJudge(lambda call, nth: failed("bad_request", retryable=False))
    ended = run_through(store, api_study(20), judge, Limits(max_failures=30))
    assert ended.state == "paused"
    assert "30 calls in a row failed, the last with: a planted bad_request" in ended.reason
    assert 30 <= ended.counts["error"] <= 30 + 8


def test_failed_calls_are_asked_again_alone(store: Store) -> None:
    about = api_study(3)
    lost = {call.key for call in plan(about).calls() if call.read == 2}

    def script(call: Call, nth: int) -> Reply:
        return failed("wrong_model", retryable=False) if call.key in lost and nth == 0 else Reply(text="3")

    judge = ScriptedJudge(script)
    first = run_through(store, about, judge)
    assert (first.counts["ok"], first.counts["error"]) == (54, 6)
    only = frozenset(store.failed_keys(first.run))
    assert only == lost
    run = Run(store, plan(about), only=only, opener=judge.opener).start()
    again = run.wait(WAIT)
    assert (again.state, again.asked, again.counts["ok"], again.counts["error"]) == ("finished", 6, 60, 0)
    assert {key for key, n in judge.asked.items() if n == 2} == lost
    assert store.outcome_counts(first.run)["ok"] == 60


def test_asking_failed_calls_again_does_not_finish_a_run_with_calls_left(store: Store) -> None:
    about = api_study(3)
    judge = ScriptedJudge(lambda call, nth: failed("wrong_model", retryable=False) if nth == 0 else Reply(text="3"))
    first = run_through(store, about, judge, Limits(max_calls=5))
    run = Run(store, plan(about), only=frozenset(store.failed_keys(first.run)), opener=judge.opener)
    again = run.start().wait(WAIT)
    assert again.state == "paused"
    assert "55 calls are left" in again.reason


def test_a_store_that_cannot_be_written_pauses_and_nothing_is_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = api_study(10)
    judge = ScriptedJudge(latency=0.002)
    commit = Store._commit
    full = threading.Event()
    full.set()

    def no_room(self: Store, *args: object) -> None:
        if full.is_set():
            raise StoreError("The disk is full")
        commit(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "_commit", no_room)
    paused = run_through(store, about, judge)
    assert (paused.state, paused.reason) == ("paused", "The disk is full")
    assert not store.done_keys(paused.run)
    full.clear()
    ended = run_through(store, about, judge)
    assert (ended.state, ended.counts["ok"]) == ("finished", 200)
    assert len(store.done_keys(ended.run)) == 200
    frame = store.archive_frame(ended.run)
    assert frame["key"].is_unique


@pytest.mark.slow
def test_the_manager_returns_the_run_that_is_going(store: Store) -> None:
    manager = RunManager(store)
    sim = Judge("sim", "simulated", "simulated", options={"latency_ms": 20})
    about = study(10, judges=(sim,))
    first = manager.start(about)
    assert manager.start(about) is first
    assert manager.active() == (first,)
    assert manager.get(first.info.run) is first
    first.pause()
    assert first.wait(WAIT).state == "paused"
    second = manager.go_on(first.info.run)
    assert second is not first
    assert second.wait(WAIT).state == "finished"
    assert manager.active() == ()


# ---------------------------------------------------------------- pace


@pytest.mark.slow
def test_concurrency_grows_to_the_ceiling(store: Store) -> None:
    wide = Judge("api", "openai", "m", API.base_urls, concurrency=40)
    judge = ScriptedJudge(latency=0.02)
    run_through(store, api_study(60, wide), judge)
    assert judge.most == 40


def test_concurrency_is_bounded(store: Store) -> None:
    narrow = Judge("api", "openai", "m", API.base_urls, concurrency=3)
    judge = ScriptedJudge(latency=0.002)
    run_through(store, api_study(5, narrow), judge)
    assert judge.most == 3


def test_pace_halves_on_pushback_once_a_second_then_grows_slowly() -> None:
    pace = Pace(Judge("api", "openai", "m", concurrency=32))
    for _ in range(24):
        pace._active = pace.limit
        pace.succeeded(Reply())
    assert pace.limit == 32
    for _ in range(32):  # one overload fails all that was in flight: still one halving
        pace.failed(failed("rate_limit"))
    assert pace.limit == 16
    pace._active = 16
    for _ in range(16):
        pace.succeeded(Reply())
    assert pace.limit == 17


def test_pace_never_falls_below_one() -> None:
    pace = Pace(Judge("api", "openai", "m", concurrency=2))
    for _ in range(5):
        pace._halved = 0.0
        pace.failed(failed("unavailable"))
    assert pace.limit == 1


def test_pace_falls_back_where_more_calls_only_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    still = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: still)
    pace = Pace(Judge("api", "openai", "m", concurrency=64))

    def window(limit: int, rate: float, latency: float) -> None:
        pace.limit, pace._credit = limit, -1e9  # no growth inside a window
        count = max(20, 4 * limit)
        pace._window = [latency] * (count - 1)
        pace._window_start = time.monotonic() - count / rate
        pace.succeeded(Reply(latency=latency))

    window(16, rate=100.0, latency=0.16)
    window(32, rate=100.0, latency=0.32)
    assert pace.limit == 16


def test_after_a_fall_back_the_limit_never_shrinks_by_successes() -> None:
    """It once went below zero here, and the run stood still for ever."""
    pace = Pace(Judge("api", "openai", "m", concurrency=64))
    pace.limit, pace._strained, pace._credit = 16, True, -16.0
    for _ in range(2_000):
        pace._active = pace.limit
        before = pace.limit
        pace._window_start = time.monotonic()  # no look back
        pace.succeeded(Reply())
        assert pace.limit >= before
    assert pace.limit > 40


@pytest.mark.slow
def test_a_call_that_rests_leaves_its_place_to_others(store: Store) -> None:
    one = Judge("api", "openai", "m", API.base_urls, concurrency=4)
    first = next(plan(api_study(3, one)).calls()).key

    def script(call: Call, nth: int) -> Reply:
        hold = call.key == first and nth == 0
        return failed("server_error", retry_after=1.5) if hold else Reply(text="3")

    judge = ScriptedJudge(script)
    run = Run(store, plan(api_study(3, one)), opener=judge.opener)
    assert run.start().wait(WAIT).state == "finished"
    assert run._askers[0].pace._active == 0
    assert judge.order[-1] == first  # everything else was asked during its rest


@pytest.mark.slow
def test_retry_after_is_honoured_by_all(store: Store) -> None:
    asked_at: list[float] = []

    def script(call: Call, nth: int) -> Reply:
        asked_at.append(time.monotonic())
        return failed("rate_limit", retry_after=1.0) if len(asked_at) == 1 else Reply(text="3")

    one = Judge("api", "openai", "m", API.base_urls, concurrency=1)
    ended = run_through(store, api_study(1, one), ScriptedJudge(script))
    assert ended.state == "finished"
    assert asked_at[1] - asked_at[0] >= 1.0


def test_a_minute_holds_its_budget() -> None:
    minute = _Minute(10)
    for _ in range(10):
        assert minute.wait(time.monotonic()) == 0
        minute.spend(1)
    assert 59 < minute.wait(time.monotonic()) <= 60
    assert minute.wait(time.monotonic() + 61) == 0
    assert _Minute(None).wait(0.0) == 0


def test_requests_per_minute_hold_a_run_back(store: Store) -> None:
    slow = Judge("api", "openai", "m", API.base_urls, concurrency=4, rpm=12)
    judge = ScriptedJudge()
    run = Run(store, plan(api_study(2, slow)), opener=judge.opener).start()
    until = time.monotonic() + WAIT
    while judge.asked.total() < 12 and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.3)  # in which the other 28 could be asked many times over
    assert judge.asked.total() == 12
    run.pause()
    assert run.wait(WAIT).done == 12


def test_a_snapshot_may_be_taken_at_any_time(store: Store) -> None:
    run = Run(store, plan(api_study(30)), opener=ScriptedJudge().opener)
    assert run.snapshot().state == "planned"
    run.start()
    while run.snapshot().active:
        seen = run.snapshot()
        assert 0 <= seen.done <= seen.planned
        assert sum(seen.counts.values()) <= seen.planned
    assert run.wait(WAIT).rate >= 0


# ---------------------------------------------------------------- a server that asks for time


def test_a_wait_beyond_patience_pauses_the_run_and_says_so(store: Store) -> None:
    first = next(plan(api_study(3)).calls()).key

    def script(call: Call, nth: int) -> Reply:
        hold = call.key == first and nth == 0
        return failed("rate_limit", retry_after=1e9) if hold else Reply(text="3")

    judge = ScriptedJudge(script)
    prepared = plan(api_study(3))
    started = time.monotonic()
    paused = Run(store, prepared, opener=judge.opener).start().wait(WAIT)
    assert time.monotonic() - started < 10
    assert paused.state == "paused"
    assert "asks to be left alone for 1,000,000,000 s" in paused.reason
    assert "longer than the 120 s that the lab waits" in paused.reason
    assert first not in store.done_keys(paused.run)
    ended = Run(store, prepared, opener=judge.opener).start().wait(WAIT)
    assert (ended.state, ended.counts["error"]) == ("finished", 0)
    assert judge.asked.pop(first) == 2
    assert set(judge.asked.values()) == {1}, "nothing answered is asked again"


@pytest.mark.slow
def test_while_a_server_is_left_alone_the_snapshot_says_so(store: Store) -> None:
    def script(call: Call, nth: int) -> Reply:
        first = sum(judge.asked.values()) == 1
        return failed("rate_limit", retry_after=1.2) if first else Reply(text="3")

    one = Judge("api", "openai", "m", API.base_urls, concurrency=1)
    judge = ScriptedJudge(script)
    run = Run(store, plan(api_study(2, one)), opener=judge.opener).start()
    stages = set()
    while run.snapshot().active:
        stages.add(run.snapshot().stage)
        time.sleep(0.05)
    assert any("api asks to be left alone for" in stage for stage in stages)
    assert run.snapshot().stage == ""
    assert run.snapshot().state == "finished"


def test_pace_waits_no_longer_than_patience() -> None:
    pace = Pace(Judge("api", "openai", "m"), patience=5.0)
    for asked in (1e308, 1e9, 7.0):
        pace.failed(failed("unavailable", retry_after=asked))
        assert 4.0 < pace._pause_needed() <= 5.0


@pytest.mark.slow
def test_a_clock_that_jumps_changes_neither_waits_nor_what_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock leaps by days, both ways, at every look; the steady clock does not."""
    rng = random.Random(3)
    now = time.time()

    def leap() -> float:
        return now + rng.uniform(-40, 40) * 86_400.0

    monkeypatch.setattr(time, "time", leap)
    monkeypatch.setattr(time, "time_ns", lambda: int(leap() * 1e9))
    about = api_study(10)
    judge = ScriptedJudge(
        lambda call, nth: failed("rate_limit", retry_after=0.1) if nth == 0 and call.read == 0 else Reply("3"),
        latency=0.005,
    )
    began = time.monotonic()
    run = Run(store, plan(about), opener=judge.opener).start()
    rates = []
    while run.snapshot().active and time.monotonic() - began < 30:
        rates.append(run.snapshot().rate)
        time.sleep(0.05)
    ended = run.wait(30)
    assert (ended.state, ended.counts["ok"]) == ("finished", 200)
    assert 0.2 < ended.elapsed < 30
    assert all(0 <= rate < 1e5 for rate in rates)
    frame = store.archive_frame(ended.run)
    assert frame["key"].is_unique
    assert len(frame) == 200
    asked = frame["asked"]
    assert asked.notna().all()
    assert (abs((asked.max() - asked.min()).days)) > 1, "the clock did not jump"
    assert frame["call"].is_monotonic_increasing
