"""Test the chat client against servers that refuse, move, wait, attack or are not there."""

import asyncio
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from rubriclab.judges.adapt import Manner
from rubriclab.judges.client import CALL_HEADER, ChatClient, base_url, request_body, same_model
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask_secrets
from rubriclab.judges.served import is_public, served
from rubriclab.judges.transport import fetch, trust
from rubriclab.model.judgment import Ordering
from rubriclab.model.text import LabError
from tests.hostile_server import FAMILIES, KEY, KINDS, MODEL, OTHER_TEXTS, WHOLE, HostileServer
from tests.integration.lab import free_port
from tests.judges.kit import ask, option_call, settings
from tests.servers import FakeServer, failure

API_KEY = "secret-key-of-the-test"
EXTRA = {"min_p": 0.1, "temperature": 0.7}
"""Has the last word over other settings."""


async def test_a_call_is_one_request_with_its_key_and_one_reply() -> None:
    async with FakeServer(text="4", key=API_KEY) as server:
        judge = settings(
            server.base_url, key_env="TEST_API_KEY", temperature=0.0, top_p=0.5, extra=EXTRA
        )
        (reply,) = await ask(judge, option_call(seed=7), secrets={"TEST_API_KEY": API_KEY})
    assert (reply.text, reply.error, reply.tokens_in, reply.cached) == ("4", "", 100, 40)
    assert dict(reply.top).keys() == {"4", "1", "2"}
    body, headers = server.bodies[-1], server.headers[-1]
    assert body == {
        "model": "test-model",
        "messages": [{"role": "user", "content": option_call().messages[0]["content"]}],
        "max_tokens": 8,
        "top_p": 0.5,
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 20,
        **EXTRA,
    }
    assert (headers[CALL_HEADER], headers["Authorization"]) == (
        option_call().key,
        f"Bearer {API_KEY}",
    )
    assert headers["Accept-Encoding"] == "identity"


async def test_nothing_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organization")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.example/v1")
    async with FakeServer(text="4") as server:
        (reply,) = await ask(settings(server.base_url))
    assert reply.text == "4"
    sent = str(server.headers[-1])
    assert API_KEY not in sent
    assert "my-organization" not in sent
    assert "Authorization" not in server.headers[-1]


@pytest.mark.parametrize(
    ("refused", "most", "words", "requests", "sent"),
    [
        (
            "max_tokens",
            0,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            4,
            ("max_completion_tokens", 8),
        ),
        ("top_logprobs", 5, "top_logprobs must be <= 5", 4, ("top_logprobs", 5)),
        ("top_logprobs", 0, "top_logprobs must be <= 0", 5, ("top_logprobs", None)),
    ],
)
async def test_what_a_server_refuses_is_sent_otherwise_from_then_on(
    refused: str, most: int, words: str, requests: int, sent: tuple[str, int | None]
) -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        return failure(400, words, param=refused) if body.get(refused, 0) > most else None

    async with FakeServer(text="4", rule=rule) as server:
        client = ChatClient(settings(server.base_url))
        assert [(await client.ask(option_call(number))).text for number in range(3)] == [
            "4",
            "4",
            "4",
        ]
        await client.close()
    assert (server.asked, server.bodies[-1].get(sent[0])) == (requests, sent[1])


async def test_why_a_call_has_no_answer() -> None:
    nobody = free_port()
    async with FakeServer(text="4", latency=30.0) as server:
        (late,) = await ask(settings(server.base_url, timeout=0.2))
        (no_tls,) = await ask(settings(server.base_url.replace("http:", "https:")))
    (gone,) = await ask(settings(f"http://127.0.0.1:{nobody}/v1"))
    kinds = [(reply.kind, reply.retryable) for reply in (late, no_tls, gone)]
    assert kinds == [("timeout", True), ("certificate", False), ("connect", True)]
    assert f"127.0.0.1:{server.port} within 0.2 s" in late.error
    assert f"127.0.0.1:{nobody}" in gone.error


async def test_calls_of_an_item_go_to_one_server_and_to_the_next_while_it_is_down() -> None:
    async with FakeServer(text="4") as first, FakeServer(text="4") as second:
        judge = settings(base_urls=(first.base_url, second.base_url))
        await ask(
            judge,
            *(option_call(number, repeat=repeat) for number in range(4) for repeat in range(3)),
        )
        assert (first.asked, second.asked) == (6, 6)
        assert {key[0] for key in first.keys} == {"0", "2"}
        down = settings(base_urls=(f"http://127.0.0.1:{free_port()}/v1", second.base_url))
        replies = await ask(down, *(option_call(number) for number in range(4)))
    assert [reply.text for reply in replies] == ["4"] * 4
    assert second.asked == 10


async def test_another_model_than_the_one_asked_for_where_that_is_meant() -> None:
    async with FakeServer(text="4", model="other-model") as server:
        (reply,) = await ask(settings(server.base_url, options={"served_model": "other-model"}))
    assert reply.text == "4"


async def test_a_cancelled_call_leaves_the_client_usable() -> None:
    async with FakeServer(text="4", latency=0.2) as server:
        client = ChatClient(settings(server.base_url))
        task = asyncio.create_task(client.ask(option_call()))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await client.ask(option_call(1))).text == "4"
        await client.close()
        await client.close()


# -------------------------------------------------------- what is sent, and settings that cannot be


def test_what_is_asked_of_calls_for_more_than_a_score_and_of_vllm() -> None:
    judge = settings()
    assert request_body(judge, option_call())["logprobs"] is True
    feedback = option_call(template="prometheus.v1")
    criteria = option_call(
        template="criteria.v1", ordering=Ordering(("style", "truth"), ("style", "truth"))
    )
    for call in (feedback, criteria):
        assert "logprobs" not in request_body(judge, call)
    assert "logprobs" not in request_body(judge, option_call(), manner=Manner(top_logprobs=0))
    judge = settings(kind="vllm")
    begun = option_call(
        messages=({"role": "user", "content": "?"}, {"role": "assistant", "content": "Score "}),
        labels=("1", "2", "3", "4", "5"),
        constrain="choice",
    )
    body = request_body(judge, begun)
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["structured_outputs"] == {"choice": ["1", "2", "3", "4", "5"]}
    assert "continue_final_message" not in request_body(judge, option_call())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"base_urls": ()}, "no address"),
        ({"key_env": "UNSET_TEST_API_KEY"}, "UNSET_TEST_API_KEY is not set"),
        ({"ca_file": "/no/such.pem"}, "/no/such.pem"),
    ],
)
async def test_settings_that_can_never_work_raise_before_the_first_call(
    fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(LabError, match=words):
        ChatClient(settings(**fields))


def test_base_urls_in_one_form() -> None:
    assert base_url(" http://h:8000/v1/ ") == "http://h:8000/v1"
    assert base_url("https://h/v1/chat/completions") == "https://h/v1"
    for wrong in ("ftp://h", "http://", "http://me:pw@h/v1", "http://h/v1?key=x"):
        with pytest.raises(LabError, match="not a base URL"):
            base_url(wrong)


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("gpt-4.1", "gpt-4.1-mini", False),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("llama3", "llama3:latest", True),
        ("m.gguf", "/models/m.gguf", True),
        ("claude-3", "claude-3.5", False),
        ("", "x", False),
    ],
)
def test_one_model_by_two_names(asked: str, answered: str, same: bool) -> None:
    assert same_model(asked, answered) is same


# --- Hostile answers one by one, each by its name and within its bounds; and addresses that a
# served lab refuses
LENGTHY = {
    "gzip_bomb",
    "endless_chunks",
    "endless_error",
    "huge_text",
    "many_values",
    "many_choices",
    "drip",
}
"""Those that take a second or many megabytes: in the integration tests."""


@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in LENGTHY])
async def test_every_hostile_answer_has_a_name(family: str) -> None:
    async with HostileServer(lambda *_: family) as server:
        judge = settings(server.base_url, model=MODEL, key_env="K_API_KEY")
        (reply,) = await ask(judge, option_call(), secrets={"K_API_KEY": KEY})
    assert reply.kind == KINDS[family], reply.error
    assert reply.text == (OTHER_TEXTS.get(family, "3") if family in WHOLE else "")
    assert mask_secrets(repr(reply), (KEY,)) == repr(reply)
    assert {asked.path for asked in server.asked} == {"/v1/chat/completions"}


async def test_the_second_copy_of_an_answer_is_never_the_next_call_s() -> None:
    families = iter(["twice", "tool_call_object", "good"])
    async with HostileServer(lambda *_: next(families)) as server:
        client = ChatClient(settings(server.base_url, model=MODEL))
        texts = [(await client.ask(option_call(number))).text for number in range(3)]
        await client.close()
    assert texts == ["3", '{"score": 3}', "3"]


async def test_a_byte_now_and_then_does_not_keep_a_call_alive() -> None:
    async with HostileServer(lambda *_: "drip") as server:
        (reply,) = await ask(settings(server.base_url, model=MODEL, timeout=0.3))
    assert (reply.kind, reply.retryable) == ("slow", True)


# ---------------------------------------------------------------- certificates


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 and its key, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=test",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            str(folder / "key.pem"),
            "-out",
            str(folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem"


async def test_a_certificate_counts_only_where_the_judge_names_it(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    async with FakeServer(text="4", tls=context) as server:
        (unknown,) = await ask(settings(server.base_url))
        (known,) = await ask(settings(server.base_url, ca_file=str(certificate)))
    assert (unknown.kind, unknown.retryable) == ("certificate", False)
    assert known.text == "4"


def test_a_file_of_certificates_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("no certificate")
    for path in ("/no/such.pem", str(tmp_path), str(tmp_path / "empty.pem"), "a\0b"):
        with pytest.raises(LabError, match="PEM"):
            trust(path)
    assert trust(None) is True


# ---------------------------------------------------------------- a lab that is served to others


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "10.0.0.1",
    ],
)
async def test_a_served_lab_sends_nothing_inwards(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")
    async with FakeServer(text="4") as server:
        (reply,) = await ask(settings(f"http://{host}:{server.port}/v1", timeout=2.0))
    assert (reply.kind, reply.retryable) in {("inward", False), ("not_found", False)}
    assert server.asked == 0


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "[64:ff9b::a00:1]"])
async def test_nor_has_a_proxy_send_it(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    with pytest.raises(Fault) as error:
        await fetch(f"http://{host}/", inward=False)
    assert error.value.kind == "inward"
    assert host.strip("[]") in error.value.message


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("100.64.0.1", False),
        ("192.168.1.1", False),
        ("224.0.0.1", False),
        ("2606:4700::1", True),
        ("64:ff9b::7f00:1", False),  # 127.0.0.1 behind NAT64
        ("64:ff9b::808:808", True),
        ("2002:7f00:1::", False),  # 127.0.0.1 by 6to4
        ("fe80::1", False),
        ("134744072", False),  # 8.8.8.8 to a socket, but who knows
    ],
)
def test_addresses_of_the_open_net(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("setting", "hosts", "expected"),
    [("", "", False), ("1", "", True), ("0", "lab.example", False), ("", "lab.example", True)],
)
def test_when_a_lab_is_served(
    setting: str, hosts: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", setting)
    monkeypatch.setenv("RUBRICLAB_HOSTS", hosts)
    assert served() is expected
