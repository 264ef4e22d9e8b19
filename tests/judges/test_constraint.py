"""Test replies that are constrained to their labels, and servers that ignore that."""

import json
import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from rubriclab.judges.client import ChatClient, request_body, ties
from rubriclab.judges.probe import test_judge as ask_once
from rubriclab.model.constraint import Constraint, constrained_label, constraint_fields
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import BROKEN, TIED, Call, Reply, Status
from rubriclab.model.study import Study
from rubriclab.study.outcomes import label_probabilities
from rubriclab.study.plan import Plan
from tests.judges.kit import option_call, settings
from tests.servers import FakeServer, Pages, completion, failure, running, token_entry
from tests.study.kit import ABC, API, EMBEDDED, small_plan

FIVE = ("1", "2", "3", "4", "5")
VLLM = API.model_copy(update={"kind": "vllm"})


def held(judge: JudgeSettings, rung: Constraint, **more: Any) -> JudgeSettings:
    return JudgeSettings.model_validate(judge.model_dump() | {"constrain": rung, **more})


# ---------------------------------------------------------------- what is sent


def test_each_rung_in_the_words_of_its_servers() -> None:
    assert constraint_fields("free", FIVE) == {}
    assert constraint_fields("choice", FIVE) == {"structured_outputs": {"choice": [*FIVE]}}
    assert constraint_fields("grammar", ("A", "B")) == {"grammar": 'root ::= ("A" | "B")'}
    quoted = constraint_fields("grammar", ('say "no"', "back\\slash"))["grammar"]
    assert quoted == 'root ::= ("say \\"no\\"" | "back\\\\slash")'
    sent = constraint_fields("schema", FIVE)["response_format"]
    assert (sent["type"], sent["json_schema"]["strict"]) == ("json_schema", True)
    assert sent["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"score": {"enum": [1, 2, 3, 4, 5]}},
        "required": ["score"],
        "additionalProperties": False,
    }
    letters = constraint_fields("schema", ("A", "B"))["response_format"]["json_schema"]
    assert letters["schema"]["properties"] == {"score": {"enum": ["A", "B"]}}
    # Behind “Verdict: Assistant” a label needs a blank, behind “The score is ” it has one.
    assert constraint_fields("grammar", ("A",), "Verdict: Assistant")["grammar"].startswith(
        'root ::= " "? ('
    )
    assert constraint_fields("grammar", ("A",), "The score is ")["grammar"] == 'root ::= ("A")'


@pytest.mark.parametrize(
    ("text", "rung", "begun", "label"),
    [
        ("3", "choice", "", "3"),
        (" 3\n", "grammar", "", "3"),
        ("The score is 3", "grammar", "The score is ", "3"),
        ('{\n  "score"\n\n:\n3\n\n}', "schema", "", "3"),
        ('{"score": "3"}', "schema", "", "3"),
        # What breaks the constraint is no label, however readable it is.
        ("Score: 3", "choice", "", None),
        ("3.", "choice", "", None),
        ("6", "choice", "", None),
        ("The score is 3.", "grammar", "The score is ", None),
        ("3", "schema", "", None),
        ('{"score": 6}', "schema", "", None),
        ('{"score": true}', "schema", "", None),
        ('{"score": [3]}', "schema", "", None),
        ('{"score": 3, "sure": 1}', "schema", "", None),
        ('{"score": 3', "schema", "", None),
        ("[" * 100_000, "schema", "", None),
        ("", "choice", "", None),
    ],
)
def test_a_reply_is_the_label_alone_or_breaks_the_constraint(
    text: str, rung: Constraint, begun: str, label: str | None
) -> None:
    assert constrained_label(text, rung, FIVE, begun) == label


def calls_of(judge: JudgeSettings, **design: Any) -> list[Call]:
    return list(small_plan(1, judges=(judge,), **design).calls())


@pytest.mark.parametrize(
    ("design", "labels"),
    [
        ({}, FIVE),
        ({"reorder": "bare"}, FIVE),
        ({"vary": {"ids": ["letters", "arabic"]}}, ("A", "B", "C", "D", "E")),
    ],
)
def test_the_labels_never_change_with_the_order(
    design: dict[str, Any], labels: tuple[str, ...]
) -> None:
    """Some servers show the schema to the model, so that only the order shown may change between
    two calls.
    """
    made = calls_of(held(API, "schema"), **design)
    own = [call for call in made if set(call.labels) == set(labels)]
    assert own
    assert {call.labels for call in own} == {labels}
    assert {call.constrain for call in made} == {"schema"}
    assert len({json.dumps(request_body(API, call)["response_format"]) for call in own}) == 1
    assert {call.max_tokens for call in made} == {32}  # 18 tokens were seen of one digit


def test_what_is_more_than_a_label_stays_free_and_that_is_said() -> None:
    for design in ({"answer": "feedback"}, {"reorder": "criteria"}):
        plan = small_plan(1, judges=(held(API, "choice"),), criteria=ABC, **design)
        bodies = [request_body(API, call) for call in plan.calls()]
        assert not any("structured_outputs" in body for body in bodies)
        assert {condition.constrain for condition in plan.conditions} == {"free"}
        assert "the replies of this study are longer" in " ".join(plan.notes)


def test_vllm_s_older_option_means_what_it_meant() -> None:
    older = VLLM.model_copy(update={"options": {"constrain": True}})
    body = request_body(older, calls_of(older)[0])
    assert body["structured_outputs"] == {"choice": [*FIVE]}
    bare = request_body(older, calls_of(older, reorder="bare")[0])
    assert "structured_outputs" not in bare
    deaf = API.model_copy(update={"options": {"constrain": True}})
    plan = small_plan(1, judges=(deaf,))
    assert "structured_outputs" not in request_body(deaf, next(plan.calls()))
    assert "options.constrain works only with vLLM, so it is not sent" in " ".join(plan.notes)


# ---------------------------------------------------------------- identity and settings


@pytest.mark.parametrize(
    ("judge", "identity", "first"),
    [
        (API, "0b8d8fbf7b90b9cde469e5e28da7dde2", "2c446b2c4b5a5cd6d8af9f44dbc1b6f4"),
        (EMBEDDED, "7117cbbf2a499bc5932e5a30fd3b8b37", "041173e8695bf908fab64e03c4581332"),
        (
            JudgeSettings(
                name="smol",
                kind="vllm",
                model="smollm2",
                base_urls=("http://127.0.0.1:9/v1",),
                options={"constrain": True},
            ),
            "4564f5c2344279b9c9b15e966c3938c9",
            "0204f18617830072d7f3ed73b61e8d35",
        ),
    ],
)
def test_runs_that_were_made_before_keep_their_keys(
    judge: JudgeSettings, identity: str, first: str
) -> None:
    """Identity and smallest key as earlier versions made them, so that a stored run resumed asks
    nothing twice.
    """
    plan = small_plan(1, judges=(judge,))
    assert (plan.identity, min(call.key for call in plan.calls())) == (identity, first)


def test_a_constraint_is_another_judge() -> None:
    keys = [
        {call.key for call in calls_of(held(API, rung))} for rung in ("free", "choice", "schema")
    ]
    assert not keys[0] & keys[1]
    assert not keys[1] & keys[2]
    assert len(set().union(*keys)) == 60


def test_a_study_file_says_how_replies_are_constrained() -> None:
    text = """
    name = "s"
    [[data]]
    sample = true
    [[judges]]
    name = "j"
    kind = "openai"
    model = "m"
    base_urls = ["http://127.0.0.1:9/v1"]
    constrain = "grammar"
    """
    (judge,) = Study.model_validate(tomllib.loads(text)).judges
    assert judge.constrain == "grammar"


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"kind": "simulated", "constrain": "choice"}, "nothing to a judge of the kind simulated"),
        ({"kind": "decisions", "constrain": "choice"}, "nothing to a judge of the kind decisions"),
        ({"constrain": "auto"}, "'free', 'choice', 'grammar' or 'schema'"),
        (
            {"constrain": "schema", "extra": {"response_format": {"type": "json_object"}}},
            "extra holds response_format: a reply is constrained once",
        ),
        ({"constrain": "choice", "options": {"constrain": True}}, "options holds the older"),
    ],
)
def test_a_constraint_that_cannot_be_is_refused(judge: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        JudgeSettings.model_validate({"name": "j", "kind": "openai", **judge})


# ---------------------------------------------------------------- what a reply says


def constrained_plan(rung: Constraint, judge: JudgeSettings = API) -> Plan:
    return small_plan(1, judges=(held(judge, rung),))


def test_a_constrained_reply_is_read_as_its_label_and_a_broken_one_is_not() -> None:
    plan = constrained_plan("schema")
    call = next(plan.calls())
    for text, status, score, note in (
        ('{"score": 4}', Status.OK, 4.0, ""),
        ("Score: 4", Status.UNPARSED, None, BROKEN),
        ('{"score": 4} and so on', Status.UNPARSED, None, BROKEN),
    ):
        made = plan.judgment(call, Reply(text=text))
        (outcome,) = made.outcomes
        assert (outcome.status, outcome.score, made.reply.note) == (status, score, note)
        assert made.reply.text == text  # kept as it came


@pytest.mark.parametrize(
    ("finish", "status", "why"),
    [
        ("length", Status.TRUNCATED, "cut at max_tokens"),
        ("MAX_TOKENS", Status.TRUNCATED, "cut at max_tokens"),
        ("content_filter", Status.REFUSED, "held back by the provider, or refused"),
        ("abort", Status.ERROR, "ended by the server: abort"),
    ],
)
def test_a_constrained_reply_that_is_not_whole_breaks_nothing(
    finish: str, status: Status, why: str
) -> None:
    plan = constrained_plan("schema")
    made = plan.judgment(next(plan.calls()), Reply(text='{"sco', finish=finish))
    (outcome,) = made.outcomes
    assert (outcome.status, outcome.why, made.reply.note) == (status, why, "")


def test_the_mass_of_a_constrained_reply_is_that_of_the_free_token() -> None:
    """The reply itself has all of it on the labels, since the server masks first."""
    plan = constrained_plan("choice", VLLM)
    call = next(plan.calls())
    masked = (("4", math.log(0.9)), ("5", math.log(0.1)))
    (outcome,) = plan.parse(call, Reply(text="4", top=masked))
    assert outcome.mass is None
    assert outcome.p is not None
    assert max(outcome.p) == pytest.approx(0.9)
    free = (("The", math.log(0.97)), ("4", math.log(0.02)), (" 4", math.log(0.01)))
    (outcome,) = plan.parse(call, Reply(text="4", top=masked, free_top=free))
    assert outcome.mass == pytest.approx(0.03)


def test_llama_cpp_says_the_free_mass_itself() -> None:
    plan = constrained_plan("grammar", EMBEDDED)
    calls = list(plan.calls())
    assert not any(call.sampled for call in calls)
    top = (("4", math.log(0.3)), ("The", math.log(0.7)))
    (outcome,) = plan.parse(calls[0], Reply(text="The score is 4", top=top))
    assert (outcome.score, outcome.mass) == (4.0, pytest.approx(0.3))


def test_a_sample_of_calls_is_asked_for_a_free_token() -> None:
    """Some 60 of a condition, by their keys: all of a small one, the same ones in every session."""
    small = list(constrained_plan("choice", VLLM).calls())
    assert all(call.sampled for call in small)
    plan = small_plan(30, judges=(held(VLLM, "choice"),))
    sampled = {call.key for call in plan.calls() if call.sampled}
    assert 40 <= len(sampled) <= 80
    assert sampled == {call.key for call in plan.calls() if call.sampled}
    assert len({call.items for call in plan.calls() if call.sampled}) > 20
    assert not any(call.sampled for call in small_plan(1).calls())
    assert "followed by a request for one free token" in " ".join(plan.notes)


@pytest.mark.parametrize(
    ("top", "tied"),
    [
        ((("4", -0.5), ("5", -0.5), ("3", -2.0)), True),
        ((("4", -0.5), (" 5", -0.5)), True),
        ((("4", -0.5), (" 4", -0.5), ("5", -0.75)), False),
        ((("The", -0.5), ("4", -0.5), ("5", -0.75)), False),
        ((("4", -0.5), ("5", -0.625), ("3", -0.625)), False),
        ((("4", -0.5),), False),
        ((), False),
    ],
)
def test_the_two_best_labels_tie(top: tuple[tuple[str, float], ...], tied: bool) -> None:
    assert ties(top, FIVE) is tied


# ---------------------------------------------------------------- servers


class Holding(Pages):
    """A server that holds replies by the fields named, refuses or ignores others, and says banana
    where it is free.

    ``mass``: what the labels get where nothing holds it; ``thinks``: what it says under a
    constraint goes into this field instead. ``bodies``: what it was asked; ``ids``: /tokenize
    numbers labels.
    """

    def __init__(
        self,
        fields: tuple[str, ...] = (),
        *,
        refuses: tuple[str, ...] = (),
        mass: float = 0.02,
        thinks: str = "",
        finish: str = "stop",
        ids: bool = False,
        rule: Callable[[dict[str, Any]], web.Response | None] = lambda _: None,
    ) -> None:
        super().__init__(self._page)
        self.fields, self.refuses, self.mass, self.rule = fields, refuses, mass, rule
        self.thinks, self.finish, self.ids = thinks, finish, ids
        self.bodies: list[dict[str, Any]] = []

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/models":
            return web.json_response({"data": [{"id": "test-model"}]})
        if request.method == "GET":
            return failure(404, "Not Found")
        body = json.loads(await request.read())
        if request.path == "/tokenize":
            if not self.ids:
                return failure(404, "Not Found")
            text = body["prompt"].strip()
            return web.json_response({"tokens": [30 + int(text)] if text.isdigit() else [1, 2]})
        if request.path != "/v1/chat/completions":
            return failure(404, "Not Found")
        self.bodies.append(body)
        if refused := next((name for name in self.refuses if name in body), ""):
            return failure(400, f"Unknown field {refused}")
        if (own := self.rule(body)) is not None:
            return own
        return web.json_response(self._answer(body))

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        field = next((name for name in self.fields if name in body), "")
        text = "banana"
        if field == "response_format":
            allowed = body[field]["json_schema"]["schema"]["properties"]["score"]["enum"]
            text = json.dumps({"score": allowed[-1]})
        elif field == "structured_outputs":
            text = body[field]["choice"][-1]
        elif field == "grammar":
            text = body[field].rpartition('| "')[2].removesuffix('")')
        logprobs = None
        if body.get("logprobs"):
            label = math.log(1.0 if field else self.mass)
            top = {text: label} if field else {"The": math.log(1 - self.mass), "5": label}
            logprobs = {"content": [token_entry(text, top)]}
        page = completion(text, finish=self.finish, logprobs=logprobs)
        if field and self.thinks:
            page["choices"][0]["message"] |= {"content": "", self.thinks: text}
        return page


@pytest.mark.parametrize(
    ("server", "words", "said"),
    [
        (
            Holding(("structured_outputs", "response_format")),
            {"choice": "held", "grammar": "ignored", "schema": "held"},
            'It holds constrain = "choice" and "schema". constrain = "grammar": the server ignores '
            "it (it answered “banana”).",
        ),
        (
            Holding(("response_format",), refuses=("structured_outputs", "grammar")),
            {"choice": "refused", "grammar": "refused", "schema": "held"},
            "the server refuses it (Setting “structured_outputs” is refused",
        ),
        (
            Holding(("grammar",), thinks="reasoning_content"),
            {"choice": "ignored", "grammar": "reasoning", "schema": "ignored"},
            "it went into the judge's reasoning, and the answer is empty",
        ),
        (
            Holding(("grammar",), thinks="reasoning"),
            {"choice": "ignored", "grammar": "reasoning", "schema": "ignored"},
            "It holds no constraint.",
        ),
        (
            Holding(("structured_outputs",), finish="length"),
            {"choice": "cut", "grammar": "cut", "schema": "cut"},
            "the answer was cut at the token limit",
        ),
        (
            Holding(),
            {"choice": "ignored", "grammar": "ignored", "schema": "ignored"},
            "It holds no constraint.",
        ),
    ],
)
def test_a_question_that_a_free_answer_breaks_tells_what_holds(
    server: Holding, words: dict[str, str], said: str
) -> None:
    with running(server):
        report = ask_once(settings(server.base_url))
    assert report.document()["constraints"] == words
    assert said in report.sentence()
    assert [body["max_tokens"] for body in server.bodies[1:]] == [64] * 3
    assert {body["temperature"] for body in server.bodies} == {0.0}


async def free_mass(server: Holding, tokens: int = 200, **judge: Any) -> float | None:
    """What one constrained call says of the mass on its labels, through the client and the plan.

    ``tokens``: of the prompt, which is paid for twice where the free token came.
    """
    own = held(settings(server.base_url, **judge), "choice")
    plan = small_plan(1, judges=(own,))
    client = ChatClient(own)
    call = next(plan.calls())
    try:
        reply = await client.ask(call)
    finally:
        await client.close()
    (outcome,) = plan.parse(call, reply)
    assert (outcome.score, reply.tokens_in) == (5.0, tokens)
    return outcome.mass


async def test_the_free_mass_comes_from_one_free_token() -> None:
    async with Holding(("structured_outputs",), ids=True) as server:
        assert await free_mass(server, kind="vllm") == pytest.approx(0.02)
    constrained, free = server.bodies
    assert "structured_outputs" in constrained
    assert "structured_outputs" not in free
    assert (free["max_tokens"], free["logprob_token_ids"]) == (1, [31, 32, 33, 34, 35])
    assert free["messages"] == constrained["messages"]
    # Without the server's own numbers, and on other servers, the likeliest alternatives have to do.
    for kind in ("vllm", "openai"):
        async with Holding(("structured_outputs",), mass=0.93) as server:
            assert await free_mass(server, kind=kind) == pytest.approx(0.93)
        assert server.bodies[1]["top_logprobs"] == 20


async def test_a_server_that_drops_the_numbers_of_tokens_is_asked_for_the_likeliest_ones() -> None:
    def older(body: dict[str, Any]) -> web.Response | None:
        return web.json_response(completion("The")) if "logprob_token_ids" in body else None

    async with Holding(("structured_outputs",), mass=0.93, ids=True, rule=older) as server:
        assert await free_mass(server, kind="vllm") == pytest.approx(0.93)
    assert ["logprob_token_ids" in body for body in server.bodies] == [False, True, False]


async def test_a_free_mass_that_cannot_be_had_is_not_known() -> None:
    def no_logprobs(body: dict[str, Any]) -> web.Response | None:
        return failure(403, "You may not: logprobs are not allowed") if "logprobs" in body else None

    async with Holding(("structured_outputs",), rule=no_logprobs) as server:
        assert await free_mass(server, tokens=100) is None
    broken = lambda body: None if "structured_outputs" in body else failure(500, "no")  # noqa: E731
    async with Holding(("structured_outputs",), rule=broken) as server:
        assert await free_mass(server, tokens=100) is None


async def test_a_tie_is_noted_on_its_call() -> None:
    top = {"3": -1.0, "4": -1.0, "The": -3.0}

    async def page(_: web.Request) -> web.StreamResponse:
        logprobs = {"content": [token_entry("3", top)]}
        return web.json_response(completion("3", logprobs=logprobs))

    async with Pages(page) as server:
        client = ChatClient(settings(f"{server.url}/v1"))
        tied = await client.ask(option_call(labels=FIVE))
        await client.close()
    assert (tied.text, tied.note) == ("3", TIED)
    assert label_probabilities(tied.top, FIVE)[1] == pytest.approx(2 * math.exp(-1.0))


async def test_a_server_with_a_plain_reply_has_no_notes() -> None:
    async with FakeServer(text="4") as server:
        client = ChatClient(settings(server.base_url))
        reply = await client.ask(replace(option_call(), labels=FIVE))
        await client.close()
    assert (reply.note, reply.free_top, client.adaptations) == ("", (), [])
