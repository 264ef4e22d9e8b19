"""Hostile answers one by one, each by its name and within its bounds; and addresses that a served lab refuses."""

import ssl
import subprocess
from pathlib import Path

import pytest

from rubriclab.judges.client import ChatClient
from rubriclab.judges.faults import Fault
from rubriclab.judges.keys import mask_secrets
from rubriclab.judges.served import is_public, served
from rubriclab.judges.transport import fetch, trust
from rubriclab.model.text import LabError
from tests.hostile_server import FAMILIES, KEY, KINDS, MODEL, OTHER_TEXTS, WHOLE, HostileServer
from tests.judges.kit import ask, option_call, settings
from tests.servers import FakeServer

LENGTHY = {"gzip_bomb", "endless_chunks", "endless_error", "huge_text", "many_values", "many_choices", "drip"}
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
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
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
        "127.0.0.1", "localhost", "127.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1",
    ],
)  # fmt: skip
async def test_a_served_lab_sends_nothing_inwards(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(("address", "public"), [
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
])  # fmt: skip
def test_addresses_of_the_open_net(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("setting", "hosts", "expected"),
    [("", "", False), ("1", "", True), ("0", "lab.example", False), ("", "lab.example", True)],
)
def test_when_a_lab_is_served(setting: str, hosts: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", setting)
    monkeypatch.setenv("RUBRICLAB_HOSTS", hosts)
    assert served() is expected
