"""A judge that cannot be asked has remedies: a key for this session, or the run goes on without it."""

# ruff: noqa: ARG001, ARG005  # scripts of judges share one signature
from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import pytest

from rubriclab.findings.topics import Findings
from rubriclab.model import Judge, LabError, Reply, Study
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import Run
from rubriclab.store import Store, StoreError
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive
from rubriclab.study.plan import plan
from tests.labkit import ScriptedJudge, failed, study

API = Judge("api", "openai", "m", ("http://127.0.0.1:9/v1",), concurrency=8, key_env="NOWHERE_API_KEY")
OTHER = Judge("other", "openai", "m", API.base_urls, concurrency=4)
FIRST, SECOND = Judge("one", "simulated", "simulated"), Judge("two", "simulated", "simulated")
WAIT = 60.0


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def wrong_key(latency: float = 0.0) -> ScriptedJudge:
    """The judge “api” is refused, the other answers 3."""
    return ScriptedJudge(
        lambda call, nth: failed("auth", retryable=False) if call.judge == 0 else Reply(text="3"), latency=latency
    )


def paused(store: Store, judge: ScriptedJudge | None = None) -> Run:
    """A run of two judges in which “api” waits."""
    run = Run(store, plan(study(3, judges=(API, OTHER))), opener=(judge or wrong_key()).opener).start()
    assert run.wait(WAIT).state == "paused"
    return run


def test_a_run_is_finished_without_the_judge_that_was_dropped(store: Store) -> None:
    run = paused(store)
    assert (store.run(run.info.run).done, store.run(run.info.run).planned) == (60, 120)
    run.drop("api")
    info = store.run(run.info.run)
    assert (info.state, info.done, info.planned) == ("finished", 60, 60)
    (dropped,) = info.dropped
    assert (dropped.judge, dropped.done, dropped.planned, dropped.reason) == ("api", 0, 60, "api: a planted auth")
    assert "dropped from this run after 0 of its 60 calls" in str(dropped)


def test_going_on_does_not_ask_the_judge_that_was_dropped(store: Store) -> None:
    about = study(3, judges=(API, OTHER))
    store.drop_judge(store.open_run(plan(about), {}).run, "api")
    answering = ScriptedJudge()
    ended = Run(store, plan(about), opener=answering.opener).start().wait(WAIT)
    assert (ended.state, ended.done, ended.planned, answering.asked.total()) == ("finished", 60, 60, 60)
    assert {store.frame(ended.run).arms[arm].judge for arm in store.frame(ended.run).judgments["arm"]} == {"other"}


def test_what_a_dropped_judge_has_judged_stays_in_the_findings_which_say_so(store: Store) -> None:
    """Who drops a judge may have seen what it found: nothing that was asked is put out of sight."""

    def script(call: object, nth: int) -> Reply:
        late = call.judge == 0 and call.items[0] == 2  # type: ignore[attr-defined]
        return failed("auth", retryable=False) if late else Reply(text="3")

    run = paused(store, ScriptedJudge(script))
    before = store.frame(run.info.run)
    kept = len(before.judgments)
    assert before.unanswered == 20
    run.drop("api")
    data = store.frame(run.info.run)
    assert (len(data.judgments), data.unanswered) == (kept, 0)
    assert [(one.judge, one.done, one.planned) for one in data.dropped] == [("api", 40, 60)]
    (alarm,) = [text for text in Findings(data).alarms() if "dropped" in text]
    assert alarm == str(data.dropped[0])
    assert "What it judged stays" in alarm


def test_a_dropped_judge_can_be_taken_back(store: Store) -> None:
    run = paused(store)
    run.drop("api")
    store.restore_judge(run.info.run, "api")
    info = store.run(run.info.run)
    assert (info.state, info.planned, info.dropped) == ("paused", 120, ())
    assert info.reason == "60 calls are left to ask"
    mended = Run(store, run.plan, opener=ScriptedJudge().opener).start().wait(WAIT)
    assert (mended.state, mended.done) == ("finished", 120)


def test_the_last_judge_cannot_be_dropped(store: Store) -> None:
    run = paused(store)
    run.drop("api")
    with pytest.raises(StoreError, match="last judge"):
        store.drop_judge(run.info.run, "other")
    with pytest.raises(StoreError, match=r"no judge “none”.*Its judges: api, other"):
        store.drop_judge(run.info.run, "none")


def test_a_judge_is_dropped_while_the_others_are_asked(store: Store) -> None:
    run = Run(store, plan(study(40, judges=(API, OTHER))), opener=wrong_key(0.01).opener).start()
    while not run.snapshot().waiting:
        time.sleep(0.01)
    run.drop("api")
    assert run.snapshot().planned == 800
    ended = run.wait(WAIT)
    assert (ended.state, ended.reason, ended.done, ended.planned, dict(ended.waiting)) == ("finished", "", 800, 800, {})


def test_a_key_for_this_session_is_used_while_the_others_are_asked(store: Store) -> None:
    """The judge waits for a key; the one that is given goes to the judge, and nowhere that is kept."""
    secret = "sk-of-this-session-only"
    answering = ScriptedJudge(latency=0.005)

    def opener(judge: Judge, about: Study, secrets: Mapping[str, str] | None, progress: object) -> ScriptedJudge:
        if judge.name == "api" and (secrets or {}).get("NOWHERE_API_KEY") != secret:
            raise LabError("Judge “api” takes its key from NOWHERE_API_KEY, which is not set.")
        return answering

    run = Run(store, plan(study(20, judges=(API, OTHER))), opener=opener).start()  # type: ignore[arg-type]
    while not run.snapshot().waiting:
        time.sleep(0.01)
    run.ask_again("api", {"NOWHERE_API_KEY": secret})
    ended = run.wait(WAIT)
    assert (ended.state, ended.done, ended.planned) == ("finished", 800, 800)
    assert set(answering.asked.values()) == {1}
    for table in ("runs", "arms", "replies", "judges", "consents"):
        assert secret not in str(store._rows(f"SELECT * FROM {table}", []))
    assert secret.encode() not in write_archive(store, ended.run)


def test_an_archive_tells_who_was_dropped(store: Store) -> None:
    run = paused(store)
    run.drop("api")
    with Store(":memory:") as other:
        (name,) = read_archive(other, write_archive(store, run.info.run))
        info = other.run(name)
        assert (info.state, info.done, info.planned) == ("finished", 60, 60)
        assert info.dropped == store.run(name).dropped


def test_a_start_asks_the_sound_judges_and_the_faulty_one_waits(store: Store) -> None:
    ended = RunManager(store).start(study(3, judges=(API, FIRST))).wait(WAIT)
    assert (ended.state, ended.done, ended.planned) == ("paused", 60, 120)
    assert list(ended.waiting) == ["api"]
    assert "takes its key from NOWHERE_API_KEY, which is not set" in ended.reason
    assert ended.reason.endswith("The other judges went on.")


def test_a_start_is_refused_where_all_judges_are_faulty(store: Store) -> None:
    with pytest.raises(LabError, match="NOWHERE_API_KEY, which is not set"):
        RunManager(store).start(study(3, judges=(API,)))
    assert store.runs() == ()


@pytest.mark.parametrize("again", [False, True])
def test_a_judge_is_dropped_at_the_start(store: Store, again: bool) -> None:
    manager, about = RunManager(store), study(3, judges=(API, FIRST))
    ended = manager.start(about, drop=["api"]).wait(WAIT)
    if again:
        ended = manager.start(about).wait(WAIT)
    assert (ended.state, ended.done, ended.planned) == ("finished", 60, 60)
    (dropped,) = store.run(ended.run).dropped
    assert "NOWHERE_API_KEY" in dropped.reason


def test_a_judge_is_restored_at_the_start(store: Store) -> None:
    manager, about = RunManager(store), study(3, judges=(FIRST, SECOND))
    assert manager.start(about, drop=["one"]).wait(WAIT).done == 60
    ended = manager.start(about, restore=["one"]).wait(WAIT)
    assert (ended.state, ended.done, store.run(ended.run).dropped) == ("finished", 120, ())
