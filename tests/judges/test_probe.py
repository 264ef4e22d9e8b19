"""Test looking for servers, listing models, testing a judge, and opening judges by kind."""

import re
import socket
from typing import Any

import pytest
from aiohttp import web

from rubriclab.judges import probe
from rubriclab.judges.embedded import EmbeddedJudge
from rubriclab.judges.kinds import open_judge
from rubriclab.model.consent import Consent, NoConsent, destination
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judge_kind import OWN_KINDS
from rubriclab.model.text import LabError
from tests.judges.kit import option_call, settings
from tests.servers import FakeServer, Pages, failure, running


def consents(url: str) -> Any:
    return frozenset({Consent("TEST_API_KEY", destination(url))})


def nobody() -> str:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}/v1"


def test_servers_are_known_by_their_own_words_else_by_their_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with running(FakeServer(owned_by="vllm")) as first, running(FakeServer(model="m")) as second:
        addresses = {"Ollama": first.base_url, "LM Studio": second.base_url, "llama.cpp": nobody()}
        servers = probe.find_servers(addresses)
    assert [(s.base_url, s.models, s.program, s.kind) for s in servers] == [
        (first.base_url, ("test-model",), "vLLM", "vllm"),
        (second.base_url, ("m",), "LM Studio", "openai"),
    ]
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    with pytest.raises(LabError, match="served to others"):
        probe.find_servers()


def test_models_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "right-key")
    with running(FakeServer(key="right-key")) as server:
        with pytest.raises(NoConsent, match=rf"TEST_API_KEY would be sent to {server.url}"):
            probe.models_of(server.base_url, key_env="TEST_API_KEY")
        agreed = {"key_env": "TEST_API_KEY", "consents": consents(server.base_url)}
        assert probe.models_of(server.base_url, **agreed) == ["test-model"]
        assert probe.models_of(f"{server.base_url}/", **agreed) == ["test-model"]
        with pytest.raises(LabError, match=r"401.*Check the key"):
            probe.models_of(server.base_url)
        with pytest.raises(LabError, match=r"404.*base URL"):
            probe.models_of(f"{server.base_url}/wrong", **agreed)
    with pytest.raises(LabError, match="Check that the server is running"):
        probe.models_of(nobody())


@pytest.mark.parametrize(
    "body", [b"?", b"[]", b'{"data": 3}', b'{"data": [{"id": 3}, 4]}', b'{"data":' + b"[" * 9_999]
)
async def test_lists_of_models_that_are_none(body: bytes) -> None:
    async def models(_: web.Request) -> web.Response:
        return web.Response(body=body)

    async with Pages(models) as server:
        assert await probe.listed(f"{server.url}/v1", timeout=5.0) == []


@pytest.mark.parametrize(
    ("text", "score", "said"),
    [
        ("The score is 2.", 2.0, "Score read: 2."),
        ("<think>1 or 2</think>\n3", 3.0, "Score read: 3."),
        ("4 or 5", None, "No score"),
        ("good", None, "No score"),
        ("4.5", None, "No score"),
    ],
)
def test_a_judge_asked_once(text: str, score: float | None, said: str) -> None:
    with running(FakeServer(text=text, probabilities=score is not None)) as server:
        report = probe.test_judge(settings(server.base_url))
    assert (report.ok, report.reply.text, report.score, report.probabilities) == (
        True,
        text,
        score,
        score is not None,
    )
    assert said in report.sentence()
    assert ("It gives token probabilities." in report.sentence()) == report.probabilities
    assert (report.document()["model"], server.bodies[0]["max_tokens"]) == ("test-model", 1_024)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda *_: failure(404, "The model `x` does not exist."),
            r"does not exist\. Check .* It lists: test-model\.",
        ),
        (
            lambda *_: failure(400, "temperature must be 1"),
            r"Setting “temperature”.*Change the judge setting",
        ),
        (lambda *_: failure(503, "loading"), "overloaded or still starting"),
    ],
)
def test_a_judge_that_does_not_answer_says_why_and_what_to_do(answer: Any, words: str) -> None:
    with running(FakeServer(rule=answer)) as server:
        report = probe.test_judge(settings(server.base_url, model="x"))
    assert not report.ok
    assert re.search(words, report.error), report.error
    assert report.sentence() == report.error


# ---------------------------------------------------------------- kinds


async def test_every_kind_opens_answers_and_closes() -> None:
    async with FakeServer(text="4") as server:
        for judge in (
            settings(server.base_url),
            settings(server.base_url, kind="vllm"),
            JudgeSettings(name="sim", kind="simulated", options={"noise": 0}),
        ):
            asker = await open_judge(judge)
            assert (await asker.ask(option_call())).text in "12345"
            await asker.close()
        assert probe.test_judge(judge).ok  # also where an event loop runs
    asker = await open_judge(settings(kind="vllm", base_urls=()))
    assert asker._servers[0].url.startswith(OWN_KINDS["vllm"].default_address)  # type: ignore[attr-defined]
    await asker.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"paht": "x"}, "Option “paht” of the embedded judge “e”.*path, sha256"),
        ({"context": 0}, "Option “context” .* is 0: .*greater than or equal to 1"),
        ({"threads": True}, "valid integer"),
        ({"context": 10**9}, "less than or equal to 131072"),
        ({"path": "/no/such.gguf"}, "No such file"),
    ],
)
async def test_options_of_the_embedded_judge(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LabError, match=words):
        await EmbeddedJudge.open(JudgeSettings(name="e", options=options))


async def test_a_missing_system_library_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def missing(_: str) -> None:
        raise ImportError("libgomp.so.1: cannot open shared object file")

    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr("rubriclab.judges.embedded.importlib.import_module", missing)
    with pytest.raises(LabError, match="apt-get install libgomp1"):
        await EmbeddedJudge.open(
            JudgeSettings(name="e", options={"path": str(tmp_path / "own.gguf")})
        )
