"""Check runs against servers that apply a constraint, ignore it, or refuse part of a request."""

import asyncio
import json
import time
from typing import Any

import pytest
from aiohttp import web

import rubriclab.measures  # noqa: F401  # registers what findings hold
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import LOWERED
from rubriclab.runs import asking
from rubriclab.runs.runner import Run
from rubriclab.store.bundle import bundle_bytes, read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from rubriclab.words.answer import answers
from tests.judges.kit import settings
from tests.judges.test_constraint import Holding
from tests.runs.kit import ScriptedJudge, ended
from tests.servers import FakeServer, failure, running
from tests.study.kit import small_plan

NOT_ALLOWED = "You are not allowed to request logprobs from this model."


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)


def plan_of(server: Any, count: int = 2, **judge: Any) -> Plan:
    own = settings(server.base_url, **judge)
    return small_plan(count, judges=(JudgeSettings.model_validate(own.model_dump()),))


def findings_of(store: Store, run: str) -> Findings:
    return Findings(Judgments(store.table(run)))


def sentences(found: Findings) -> str:
    return " ".join(caution.sentence for caution in found.cautions)


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize(
    ("server", "rung", "words"),
    [
        (
            Holding(),
            "choice",
            'constrain = "choice": the server ignores it (it answered “banana”).',
        ),
        (Holding(refuses=("grammar",)), "grammar", "Setting “grammar” is refused"),
        (
            Holding(("grammar",), thinks="reasoning"),
            "grammar",
            "it went into the judge's reasoning",
        ),
    ],
)
def test_a_constraint_that_is_not_held_stops_the_run_before_any_call(
    store: Store, server: Holding, rung: str, words: str
) -> None:
    with running(server):
        end = ended(Run(store, plan_of(server, constrain=rung)))
    assert (end.state, end.done, len(server.bodies)) == ("paused", 0, 1)
    assert words in end.reason
    assert "est the judge to see which constraint" in end.reason


def test_the_probe_of_a_constraint_takes_part_in_rpm() -> None:
    """600 calls per minute are one every 0.1 s, the probe among them."""

    async def seconds_until_the_first_call() -> float:
        judge = settings("http://127.0.0.1:1/v1", constrain="choice", rpm=600)
        begun = asking.Asking(judge, ScriptedJudge())  # it replies 3, which is a label
        started = time.monotonic()
        await begun.check_constraint("choice")
        assert await begun.enter()
        return time.monotonic() - started

    assert asyncio.run(seconds_until_the_first_call()) >= 0.1


def test_a_held_constraint_asks_each_call_once_and_goes_on_after_a_pause(store: Store) -> None:
    with running(Holding(("structured_outputs",), mass=0.95)) as server:
        plan = plan_of(server, kind="vllm", constrain="choice")
        first = ended(Run(store, plan, max_calls=11))
        assert (first.state, first.done) == ("paused", 11)
        end = ended(Run(store, plan))
        assert (end.state, end.done, end.failed, end.asked) == ("finished", 40, 0, 29)
        held = [body for body in server.bodies if "structured_outputs" in body]
        free = [body for body in server.bodies if "structured_outputs" not in body]
        # A probe a session, each call, and one free token for each of so small a condition.
        assert (len(held), len(free)) == (2 + 40, 40)
    assert store.study(end.run)["judges"][0]["constrain"] == "choice"
    table = store.table(end.run)
    assert {condition.constrain for condition in table.conditions} == {"choice"}
    assert table.rows["mass"].to_numpy() == pytest.approx([0.95] * 40)
    (judge,) = store.study(end.run)["judges"]
    assert store.free_masses(end.run) == {judge["name"]: (0, pytest.approx(0.95))}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("mass", "caution", "line"),
    [
        (0.02, "what is left of its guess", "a probability of 0.02 (median of 40 calls)"),
        (0.7, "some of its free replies would differ", "a probability of 0.70"),
        (0.95, "", "a probability of 0.95"),
    ],
)
def test_the_free_mass_stands_beside_what_a_constrained_judge_says(
    store: Store, mass: float, caution: str, line: str
) -> None:
    with running(Holding(("response_format",), mass=mass)) as server:
        end = ended(Run(store, plan_of(server, constrain="schema")))
    found = findings_of(store, end.run)
    (answer,) = answers(found)
    assert line in answer.line
    assert caution in sentences(found)
    assert ("probability" in sentences(found)) == bool(caution)
    assert found.select("label_mass")[0].value == pytest.approx(mass)
    assert "mass_off_labels" not in {part.kind for part in found.cautions}


def test_a_server_that_stops_holding_on_the_way_is_not_read_as_if_it_did(store: Store) -> None:
    def later(body: dict[str, Any]) -> web.Response | None:
        from tests.servers import completion

        asked = json.dumps(body["messages"])
        return web.json_response(completion("Score: 4")) if "instruction 1" in asked else None

    with running(Holding(("structured_outputs",), rule=later)) as server:
        end = ended(Run(store, plan_of(server, kind="vllm", constrain="choice")))
    assert (end.state, end.done, end.failed) == ("finished", 40, 20)
    assert "In 20 calls the reply breaks the constraint" in sentences(findings_of(store, end.run))


# ---------------------------------------------------------------- servers that refuse part of it


def refusing(body: dict[str, Any], _: int) -> web.Response | None:
    """No log-probabilities, no system message, and a context of 2,048 tokens."""
    if "logprobs" in body:
        return failure(403, NOT_ALLOWED)
    if body["max_tokens"] > 2_048:
        most = body["max_tokens"]
        return failure(400, f"max_tokens={most} cannot be greater than max_model_len=2048.")
    if any(message["role"] == "system" for message in body["messages"]):
        return failure(400, "System role not supported")
    return None


def test_a_server_that_refuses_part_of_it_is_asked_otherwise_and_that_is_said(store: Store) -> None:
    with running(FakeServer(rule=refusing)) as server:
        end = ended(Run(store, plan_of(server, reasoning_effort="low", concurrency=1)))
        assert server.asked == 42  # two refusals, each met once
    assert (end.state, end.done, end.failed) == ("finished", 40, 0)
    assert end.reason == (
        "judge: token probabilities are not asked for: the server refuses them. "
        "judge: max_tokens was brought down from 16,384 to 2,048: the server takes no more."
    )
    assert set(store.calls(end.run)["note"]) == {f"{LOWERED} to 2,048"}
    found = findings_of(store, end.run)
    assert "In 40 calls the longest reply was shorter than max_tokens of the study" in sentences(
        found
    )


@pytest.mark.thorough
def test_pairs_are_possible_where_a_server_refuses_system_messages(
    store: Store, tmp_path: Any
) -> None:
    from rubriclab.model.data import DataSet, Item

    rows = tuple(
        Item(f"{name}{k}", f"answer {name} {k}", f"question {k}", candidate=name, prompt=f"q{k}")
        for k in range(3)
        for name in "xy"
    )
    with running(FakeServer(text="A", rule=refusing)) as server:
        own = settings(server.base_url)
        plan = small_plan(judges=(own,), dataset=DataSet("d", rows), reorder="pairs")
        end = ended(Run(store, plan))
        assert {message["role"] for message in server.bodies[-1]["messages"]} == {"user"}
    assert (end.state, end.failed) == ("finished", 0)
    said = "calls the system message was sent inside the user's message"
    assert said in sentences(findings_of(store, end.run))
    # It goes along with the run's file, and comes back with it.
    path = tmp_path / "run.zip"
    path.write_bytes(bundle_bytes(store.table(end.run), store, end.run))
    assert read_bundle(path).notes == store.table(end.run).notes != {}
    other = Store.open(":memory:")
    with other:
        from rubriclab.store.bundle import import_bundle

        again = import_bundle(other, path)
        assert other.table(again).notes == store.table(end.run).notes


def test_a_refused_temperature_pauses_and_says_what_to_set(store: Store) -> None:
    words = "Unsupported value: 'temperature' does not support 0 with this model."
    with running(FakeServer(rule=lambda *_: failure(400, words))) as server:
        end = ended(Run(store, plan_of(server)))
    assert (end.state, end.done) == ("paused", 0)
    assert 'Set temperature = "server"' in end.reason


def test_a_judge_that_thinks_beside_its_answer_is_read_by_its_answer(store: Store) -> None:
    def rule(*_: Any) -> web.Response:
        from tests.servers import completion

        page = completion("4")
        page["choices"][0]["message"]["reasoning_content"] = "5 would be too much, 2 too little"
        return web.json_response(page)

    with running(FakeServer(rule=rule)) as server:
        end = ended(Run(store, plan_of(server)))
    assert (end.state, end.failed) == ("finished", 0)
    assert set(store.table(end.run).rows["score"]) == {4.0}
