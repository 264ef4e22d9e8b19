"""Check where the time of an estimate is taken from, and what is said of a busy machine."""

import os
import platform

import pytest

from rubriclab.model.judgment import Reply
from rubriclab.runs.forecast import MachinePace, Pilot, calls_per_second, estimate
from rubriclab.runs.machine_pace import BUSY_WORDS, busy_words, machine_paces
from rubriclab.runs.pace import seconds_at_work
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.runs.kit import Scripted, ended
from tests.study.kit import API, EMBEDDED, small_plan


def test_a_pilot_of_a_small_model_counts_calls_that_overlap_once() -> None:
    """It is asked 8 calls at once and answers one after the other, so 8 / 4 s would be too fast."""
    seen = Pilot("pilot", None, {"small": 4.0}, {}, {"small": 0.5})
    assert calls_per_second(EMBEDDED, seen, long_answer=False) == 2.0


def test_the_pace_of_an_earlier_run_is_used(store: Store, scripted: Scripted) -> None:
    """100 calls of 0.5 s, each of which reads 302 tokens or 1,208 characters: twice the 604."""
    plan = small_plan(10, judges=(EMBEDDED,), repeats=1)
    assert machine_paces(store, plan.study.judges) == {}
    reply = Reply(text="3", tokens_in=302, cached=0, tokens_out=3, seconds=0.5)
    scripted(lambda *_: reply)
    ended(Run(store, plan))
    (pace,) = machine_paces(store, plan.study.judges).values()
    assert pace.run == "small"
    calls = store.calls(store.runs()[0].id)
    assert pace.rate == pytest.approx(2 * len(calls) / seconds_at_work(calls))
    other = EMBEDDED.model_copy(update={"model": "qwen2.5-coder-0.5b"})
    assert machine_paces(store, (other, API)) == {}


def test_the_pace_of_another_machine_is_not_used(
    store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(10, judges=(EMBEDDED,), repeats=1)
    scripted(lambda *_: Reply(text="3", tokens_in=302, tokens_out=3, seconds=0.5))
    ended(Run(store, plan))
    assert machine_paces(store, plan.study.judges)
    monkeypatch.setattr(platform, "platform", lambda: "another")
    assert machine_paces(store, plan.study.judges) == {}


def test_an_estimate_says_where_its_time_comes_from() -> None:
    plan = small_plan(12, judges=(EMBEDDED,))
    guessed = estimate(plan)
    assert guessed.rests_on == "as on a quiet machine with 2 cores"
    slow = guessed.calls / guessed.seconds / 5
    known = estimate(plan, paces={"small": MachinePace("Monday", slow)})
    assert known.seconds == pytest.approx(5 * guessed.seconds)
    assert known.rests_on == "taken from the pace of “Monday”"
    assert estimate(small_plan(12)).rests_on == "assumed, not measured"
    own = EMBEDDED.model_copy(update={"model": "a model of my own"})
    assert estimate(small_plan(12, judges=(own,))).rests_on == "assumed, not measured"


@pytest.mark.parametrize(("load", "said"), [(1.9, ""), (2.9, ""), (6.5, BUSY_WORDS)])
def test_a_busy_machine_is_named(load: float, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert busy_words((API, EMBEDDED)) == said
    assert busy_words((API,)) == ""
    plan = small_plan(12, judges=(EMBEDDED,))
    assert (BUSY_WORDS in estimate(plan).sentences(busy_words((EMBEDDED,)))) == bool(said)
