"""Test typed questions in both wire forms, and what servers do wrong with them."""

import asyncio
import json
import math
from dataclasses import replace
from typing import Any

import openai
import pytest

from rubriclab.judges.decision_server import (
    DecisionClient,
    decoded,
    read_answer,
    systemone_question,
)
from rubriclab.judges.faults import Fault
from rubriclab.judges.probe import test_judge as ask_once
from rubriclab.model.data import DataSet
from rubriclab.model.decision import most_probable
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.text import LabError
from rubriclab.study.plan import Plan
from tests.servers import DecisionServer, failure, running
from tests.study.kit import ABC, API, criterion, data, small_plan


def deciding(url: str = "http://127.0.0.1:9", **options: Any) -> JudgeSettings:
    return JudgeSettings(
        name="d",
        kind="decisions",
        model="m",
        base_urls=(f"{url}/v1",),
        timeout=5.0,
        options=options,
    )


def asked(plan: Plan, calls: list[Call]) -> list[Reply]:
    """The replies to calls that go out as one request."""

    async def together() -> list[Reply]:
        client = DecisionClient(plan.study.judges[0])
        try:
            return await client.ask_together(calls)
        finally:
            await client.close()

    return asyncio.run(together())


def first_two(url: str = "http://127.0.0.1:9", **options: Any) -> tuple[Plan, list[Call]]:
    """Both orders of two options of one item, by descending label."""
    plan = small_plan(1, criteria=(criterion(n=2),), repeats=1, judges=(deciding(url, **options),))
    return plan, sorted(plan.calls(), key=lambda call: call.ordering.shown, reverse=True)


@pytest.mark.parametrize("question", ["choice", "score"])
def test_the_openai_form_is_what_its_client_sends(question: str) -> None:
    with running(DecisionServer()) as server:
        plan, calls = first_two(server.url, form="openai", question=question)
        replies = asked(plan, calls)
        name, label = ("choices", "value") if question == "choice" else ("levels", "label")
        about = "Assess the quality of the response strictly based on this criterion: quality"
        listed = [
            [{label: str(score), "description": f"level {score}"} for score in shown]
            for shown in ((2, 1), (1, 2))
        ]
        questions: Any = [
            {"type": question, "instructions": about, name: options} for options in listed
        ]
        state = (
            "###The instruction to evaluate:\ninstruction 0\n\n###Response to evaluate:\nresponse 0"
        )
        with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
            theirs = client.decisions.create(model="m", input=state, questions=questions)
        assert server.bodies[0] == server.bodies[1]
        assert [reply.note for reply in replies] == [
            "question 1 of 2 of one request",
            "question 2 of 2 of one request",
        ]
        assert [(reply.tokens_in, reply.cached, reply.tokens_out) for reply in replies] == [
            (51, 20, 1),
            (50, 20, 1),
        ]
        assert theirs.usage.input_tokens == 101


def test_the_systemone_form_lists_options_as_shown_and_levels_by_their_descriptions() -> None:
    choice, score = (
        json.loads(first_two(question=name)[1][0].messages[1]["content"])
        for name in ("choice", "score")
    )
    assert list(systemone_question(choice)["criteria"].items()) == [
        ("2", "level 2"),
        ("1", "level 1"),
    ]
    assert systemone_question(score)["criteria"] == ["level 2", "level 1"]
    score["options"][0]["description"] = ""
    assert systemone_question(score)["criteria"] == ["2", "1: level 1"]


@pytest.mark.parametrize("form", ["systemone", "openai"])
@pytest.mark.parametrize("question", ["choice", "score"])
def test_probabilities_are_the_answer_by_position(form: str, question: str) -> None:
    with running(DecisionServer(lean=3.0, noise=0.0)) as server:
        plan, calls = first_two(server.url, form=form, question=question)
        for call, reply in zip(calls, asked(plan, calls), strict=True):
            (outcome,) = plan.parse(call, reply)
            assert outcome.p is not None
            first, last = outcome.p
            assert sum(outcome.p) == pytest.approx(1)
            assert (outcome.position == 1, outcome.score == call.ordering.shown[0]) == (
                first > last,
                first > last,
            )
            shown = call.ordering.shown
            assert outcome.expected == pytest.approx(first * int(shown[0]) + last * int(shown[1]))
            assert outcome.mass == pytest.approx(1)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"probabilities": {"2": math.nan, "1": 1.0}},
            "The probability of option “2” is nan; expected 0 to 1",
        ),
        ({"probabilities": {"2": True, "1": 0}}, "option “2” is True; expected 0 to 1"),
        (
            {"probabilities": {"2": 0.6, "1": 0.7}},
            "The probabilities of 2 options sum to 1.3; expected 1",
        ),
        (
            {"probabilities": {"2": 0.5, "1": 0.3, "c": 0.2}},
            "has the option “c”, which was not shown",
        ),
        ({"probabilities": [{"value": "2", "probability": 0.5}] * 2}, "lacks the option “1”"),
        (
            {"probabilities": [{"value": [], "probability": 1}, 7]},
            "has the option “[]”, which was not shown",
        ),
        ({"error": "no"}, 'The server reports an error for this question: "no"'),
        (None, "The server left a question without an answer"),
    ],
)
def test_an_answer_that_is_none_says_why_and_is_a_row(answer: Any, words: str) -> None:
    """Of that question alone: the other one of the request is answered."""
    with running(DecisionServer(edit=lambda answers: answers | {"q1": answer})) as server:
        plan, calls = first_two(server.url)
        bad, good = asked(plan, calls)
    assert words in bad.error
    assert (bad.kind, bad.retryable, good.error) == ("bad_answer", False, "")
    assert (plan.parse(calls[0], bad)[0].status, plan.parse(calls[1], good)[0].status) == (
        Status.ERROR,
        Status.OK,
    )


def test_a_name_that_stands_twice_is_no_answer() -> None:
    """Of two probabilities of one option neither is taken."""
    with pytest.raises(Fault, match="the name “1” appears twice"):
        decoded(b'{"answers": {"q1": {"probabilities": {"1": 0.9, "2": 0.5, "1": 0.5}}}}', {}, ())


def test_a_refusal_is_refused_and_mass_and_ties_are_what_they_are() -> None:
    refused = {"type": "refusal", "name": None}
    with running(DecisionServer(edit=lambda answers: [refused] * len(answers))) as server:
        plan, calls = first_two(server.url, form="openai")
        assert {plan.parse(calls[0], reply)[0].status for reply in asked(plan, calls)} == {
            Status.REFUSED
        }
    question = {"type": "choice", "options": [{"value": "a"}, {"value": "b"}]}
    even = {"probabilities": {"a": 0.5, "b": 0.5}}
    assert read_answer(question, (even, {"label_mass": 0.25})) == ((0.5, 0.5), 0.25)
    assert (
        150 < sum(most_probable((0.5, 0.5), str(k)) for k in range(400)) < 250
    )  # the first would be a lean of ours


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (401, "Incorrect API key provided", "auth"),
        (429, "slow down", "rate_limit"),
        (501, "not a decision model", "not_answered"),
        (400, "at most 26 options for this model", "bad_request"),
        (200, "the model is gone", "server_error"),
        (404, "no such path", "not_found"),
    ],
)
def test_a_fault_of_the_request_is_everyone_s(status: int, words: str, kind: str) -> None:
    with running(DecisionServer(rule=lambda *_: failure(status, words))) as server:
        plan, calls = first_two(server.url)
        replies = asked(plan, calls)
        said = ask_once(deciding(server.url))
    assert {(reply.kind, words in reply.error) for reply in replies} == {(kind, True)}
    assert words in said.error


def test_a_judge_is_tested_by_one_question() -> None:
    with running(DecisionServer()) as server:
        said = ask_once(deciding(server.url, form="openai"))
    assert (said.ok, said.probabilities, said.score in {1.0, 2.0, 3.0, 4.0, 5.0}) == (
        True,
        True,
        True,
    )


@pytest.mark.parametrize(
    ("judge", "design", "words"),
    [
        (deciding(), {"answer": "feedback"}, 'it cannot use answer = "feedback"'),
        (deciding(), {"reorder": "bare"}, 'it cannot use reorder = "bare"'),
        (
            deciding(),
            {"vary": {"temperature": [0.0, 1.0]}},
            "temperature has no effect on the decisions judge “d”",
        ),
        (deciding(form="other"), {}, "Option “form” of the decisions judge “d” is 'other'"),
        (
            API,
            {"vary": {"packing": ["packed", "alone"]}},
            "packing has no effect on the openai judge “api”",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(
    judge: JudgeSettings, design: dict[str, Any], words: str
) -> None:
    with pytest.raises(LabError, match=words):
        small_plan(judges=(judge,), **design)


def test_every_axis_is_asked_and_read() -> None:
    """Criteria and answers are a call's own questions, in the order shown; pairs a choice between
    letters.
    """
    texts = data(4, prompt="p")
    pairs = DataSet(
        "d",
        tuple(
            replace(item, instruction="?", candidate=f"c{k}") for k, item in enumerate(texts.items)
        ),
    )
    with running(DecisionServer(noise=0.0)) as server:
        judge = (deciding(server.url),)
        for plan, questions in (
            (small_plan(1, criteria=ABC, reorder="criteria", judges=judge), 3),
            (small_plan(4, reorder="responses", k=2, judges=judge), 2),
            (small_plan(dataset=pairs, reorder="pairs", judges=judge), 1),
            (small_plan(dataset=pairs, reorder="lists", k=3, judges=judge), 1),
        ):
            call = next(call for call in plan.calls() if len(call.ordering.shown) > 1)
            outcomes = plan.parse(call, asked(plan, [call])[0])
            assert len(server.bodies[-1]["questions"]) == len(outcomes) == questions
            assert {outcome.status for outcome in outcomes} == {Status.OK}
