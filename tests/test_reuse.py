"""Answers that another run has are carried over, and only those: counted on a server that keeps what it is asked."""

# ruff: noqa: ARG005  # scripts of judges share one signature
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rubriclab.model import Criterion, Dataset, Item, Judge, Reply, Rubric, ScoreOption, Strategy, Study
from rubriclab.runs.manager import RunManager
from rubriclab.runs.reuse import known_answers
from rubriclab.runs.runner import Run
from rubriclab.runs.terms import Limits, Snapshot
from rubriclab.store import REUSED, Store, run_name
from rubriclab.study.plan import plan
from tests.labkit import ScriptedJudge, failed, study
from tests.servers import SteadyServer, running

WAIT = 60.0


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


@pytest.fixture
def server() -> Iterator[SteadyServer]:
    with running(SteadyServer(answer=answer)) as going:
        yield going


def answer(body: dict[str, Any]) -> str:
    return str(1 + len(json.dumps(body["messages"])) % 5)


def asking(server: SteadyServer, name: str = "api") -> Judge:
    return Judge(name, "openai", "test-model", (server.base_url,), options={"logprobs": True})


def started(store: Store, about: Study, **more: Any) -> Snapshot:
    return RunManager(store).start(about, reuse=True, **more).wait(WAIT)


def two_criteria(*texts: str) -> Rubric:
    """Clarity and Depth; ``texts``: what stands for their lowest score."""
    return Rubric(
        "two",
        tuple(
            Criterion(name, (ScoreOption(1, text), *(ScoreOption(s, f"{name} {s}") for s in range(2, 6))))
            for name, text in zip(("Clarity", "Depth"), texts, strict=True)
        ),
    )


def test_of_two_criteria_only_the_changed_one_is_asked_and_going_back_asks_nothing(
    store: Store, server: SteadyServer
) -> None:
    data = Dataset("d", tuple(Item(f"i{k}", f"question {k}", f"answer {k}") for k in range(3)))
    first = replace(study(1, judges=(asking(server),)), name="a", dataset=data, rubric=two_criteria("bad", "bad"))
    ended = started(store, first)
    calls = ended.planned
    assert (ended.state, ended.asked, len(server.keys)) == ("finished", calls, calls)
    second = replace(first, name="b", rubric=two_criteria("bad", "very bad"))
    changed = started(store, second)
    assert (changed.state, changed.asked, changed.done) == ("finished", calls // 2, calls)
    assert len(server.keys) == calls + calls // 2
    assert store.reused(changed.run) == calls // 2
    back = started(store, replace(first, name="c"))
    assert (back.state, back.asked, back.done) == ("finished", 0, calls)
    assert len(server.keys) == calls + calls // 2, "nothing was sent"
    # What was carried over is what was answered: scores, positions and probabilities alike.
    one, other = (store.frame(run, probabilities=True) for run in (ended.run, back.run))
    columns = ["arm", "item", "read", "repeat", "status", "score", "position"]
    tables = [
        data.judgments.sort_values(["arm", "item", "read"])[columns].reset_index(drop=True) for data in (one, other)
    ]
    assert tables[0].equals(tables[1])
    assert one.probabilities is not None
    assert other.probabilities is not None
    given = [
        sorted(map(tuple, np.nan_to_num(data, nan=-1.0).tolist())) for data in (one.probabilities, other.probabilities)
    ]
    assert given[0] == given[1]


def test_reuse_is_asked_for(store: Store, server: SteadyServer) -> None:
    about = study(2, judges=(asking(server),))
    started(store, about)
    before = len(server.keys)
    again = RunManager(store).start(replace(about, name="again")).wait(WAIT)
    assert again.asked == again.planned
    assert len(server.keys) == 2 * before


def test_a_carried_reply_says_whence_and_cost_nothing(store: Store, server: SteadyServer) -> None:
    about = study(2, judges=(asking(server),))
    origin = started(store, about).run
    copy = started(store, replace(about, name="copy")).run
    third = started(store, replace(about, name="third")).run
    for run in (copy, third):
        rows = store.judgments_behind(run, limit=100)
        assert set(rows["note"]) == {f"{REUSED}{origin}"}, "the run that asked it, also at third hand"
        assert store.usage(run)["tokens_in"] == 0
        assert store.usage(run)["seconds"] == 0
    assert store.usage(origin)["tokens_in"] > 0


def test_a_half_answered_run_gives_what_it_has(store: Store, server: SteadyServer) -> None:
    about = study(4, judges=(replace(asking(server), concurrency=1),))
    half = started(store, about, limits=Limits(max_calls=30))
    assert (half.state, half.done) == ("paused", 30)
    rest = started(store, replace(about, name="rest"))
    assert (rest.state, rest.asked, rest.done) == ("finished", rest.planned - 30, rest.planned)
    assert store.reused(rest.run) == 30
    # The half run itself goes on with what the other asked.
    whole = started(store, about)
    assert (whole.state, whole.asked, whole.done) == ("finished", 0, rest.planned)
    assert len(server.keys) == rest.planned


def test_another_judge_of_the_same_name_gives_nothing(store: Store, server: SteadyServer) -> None:
    started(store, study(2, judges=(asking(server),)))
    other = replace(asking(server), model="another-model")
    ended = started(store, study(2, judges=(other,), name="other"))
    assert ended.asked == ended.planned
    warm = replace(asking(server), sampling=replace(other.sampling, temperature=1.0))
    ended = started(store, study(2, judges=(warm,), name="warm"))
    assert ended.asked == ended.planned
    # The same judge under another name is the same judge.
    ended = started(store, study(2, judges=(asking(server, "renamed"),), name="renamed"))
    assert ended.asked == 0


def test_failed_replies_are_never_carried_over(store: Store) -> None:
    about = study(2, judges=(Judge("api", "openai", "m", ("http://127.0.0.1:9/v1",)),))
    prepared = plan(about)
    broken = ScriptedJudge(
        lambda call, nth: failed("bad_request", retryable=False) if call.items[0] else Reply(text="3")
    )
    ended = Run(store, prepared, opener=broken.opener).start().wait(WAIT)
    assert store.outcome_counts(ended.run)["error"] == len(prepared) // 2
    other = plan(replace(about, name="other"))
    known = known_answers(store, other, run_name(other.study))
    assert len(known) == len(prepared) // 2
    assert {answer.outcome.status for answer in known.values()} == {"ok"}


def test_the_same_words_asked_twice_are_two_questions(store: Store, server: SteadyServer) -> None:
    once = study(2, judges=(asking(server),), strategies=(Strategy("fixed", reads=1),))
    started(store, once)
    thrice = started(
        store, replace(once, name="thrice", design=replace(once.design, strategies=(Strategy("fixed", reads=3),)))
    )
    assert (thrice.planned, thrice.asked) == (6, 4)
    assert len(set(server.keys)) == len(server.keys)


def test_the_same_words_for_other_scores_are_scored_as_the_new_rubric_says(store: Store, server: SteadyServer) -> None:
    """Labels stand in the prompt, scores do not: A to E for 1 to 5 or for 11 to 15 is one question."""

    def lettered(first: int) -> Rubric:
        return Rubric("r", (Criterion("q", tuple(ScoreOption(first + k, f"level {k}", "abcde"[k]) for k in range(5))),))

    server.answer = lambda body: "d"
    low = replace(study(2, judges=(asking(server),)), rubric=lettered(1))
    origin = started(store, low)
    assert set(store.frame(origin.run).judgments["score"]) == {4.0}
    high = started(store, replace(low, name="high", rubric=lettered(11)))
    assert high.asked == 0
    assert set(store.frame(high.run).judgments["score"]) == {14.0}


def test_answers_of_a_run_that_does_not_count_are_asked_again(store: Store, server: SteadyServer) -> None:
    about = study(2, judges=(asking(server),))
    chosen_by = started(store, about).run
    carried = started(store, replace(about, name="carried"))
    assert carried.asked == 0
    fresh = started(store, replace(about, name="fresh"), not_from=(chosen_by,))
    assert fresh.asked == fresh.planned, "neither from the run nor from where it was carried on to"


def test_a_run_that_has_all_its_answers_needs_no_usable_judge(store: Store, server: SteadyServer) -> None:
    keyed = replace(asking(server), key_env="NO_SUCH_API_KEY")
    about = study(1, judges=(asking(server),))
    started(store, about)
    ended = started(store, replace(about, name="keyless", judges=(keyed,)))
    assert (ended.state, ended.asked) == ("finished", 0)
