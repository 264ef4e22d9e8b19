"""Who may drive the lab: Host and Origin names, and what a served lab leaves to its owner."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.browsing import served
from rubriclab.app.ui.guard import Guard, check_visitor, openness
from rubriclab.judges import check_settings
from rubriclab.judges.client import ChatClient
from rubriclab.judges.outward import PublicResolver
from rubriclab.judges.serving import (
    address_refused,
    allowed_hosts,
    check_address,
    host_allowed,
    local_only,
    origin_allowed,
)
from rubriclab.judges.serving import served as is_served
from rubriclab.judges.vllm import VllmServer, attach, get_json
from rubriclab.model import Judge, LabError
from rubriclab.model.places import APP
from rubriclab.study.plan import plan
from tests.labkit import study
from tests.servers import SteadyServer, running

OURS = ["localhost", "localhost:8501", "127.0.0.1", "127.0.0.1:1", "[::1]:8501", "LocalHost.", "[::1]"]
FOREIGN = [
    "evil.example",
    "evil.example:8501",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "",
    "localhost@evil.example",
    "evil.example#localhost",
    "localhost, evil.example",
    "localhost:x",
    "localhost:99999",
    "localhost/",
    "localhost?",
    " localhost",
    "127.0.0.2",
    "0.0.0.0",
    "[::2]",
    "[localhost]",
    "2130706433",
    "localhost\t",
    "*",
]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUBRICLAB_HOSTS", "RUBRICLAB_SERVED", "RUBRICLAB_PRIVATE_ADDRESSES"):
        monkeypatch.delenv(name, raising=False)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("host", OURS)
def test_names_of_this_machine_are_ours(host: str) -> None:
    assert host_allowed(host)
    assert origin_allowed(f"http://{host}")
    assert origin_allowed(f"https://{host}")


@pytest.mark.parametrize("host", FOREIGN)
def test_other_names_are_foreign(host: str) -> None:
    assert not host_allowed(host)
    assert not origin_allowed(f"http://{host}")


@pytest.mark.parametrize("origin", ["null", "", "localhost", "file://", "chrome-extension://localhost", "javascript:"])
def test_an_origin_that_is_no_page_of_ours(origin: str) -> None:
    assert not origin_allowed(origin)


def test_the_user_names_further_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_HOSTS", "Lab.example.org, 192.168.1.20,bücher.example")
    assert host_allowed("lab.example.org:443")
    assert host_allowed("192.168.1.20:8501")
    assert host_allowed("xn--bcher-kva.example")
    assert host_allowed("localhost")
    assert not host_allowed("sub.lab.example.org")


@pytest.mark.parametrize("text", ["*", "*.example.org", "http://lab.example.org", "a b", "lab/x"])
def test_a_pattern_is_no_host(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_HOSTS", text)
    with pytest.raises(LabError, match="is no host name"):
        allowed_hosts()


# ---------------------------------------------------------------- the guard


def answered(scope: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What the guard sends; [] where it let the request through."""
    sent: list[Mapping[str, Any]] = []

    async def inner(*_: Any) -> None:
        return None

    async def receive() -> Any:
        raise AssertionError("the guard reads nothing")

    async def send(message: Mapping[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Guard(inner)(dict(scope), receive, send))
    return sent


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", b"evil.example")],
        [],
        [(b"host", b"localhost"), (b"host", b"evil.example")],
        [(b"host", b"localhost"), (b"origin", b"http://evil.example")],
        [(b"host", b"localhost"), (b"origin", b"null")],
        [(b"host", b"localhost"), (b"Origin", b"http://localhost"), (b"origin", b"http://e.example")],
        [(b"host", b"\xff\xfe")],
    ],
)
def test_the_guard_answers_foreigners_itself(headers: list[tuple[bytes, bytes]]) -> None:
    start, body = answered({"type": "http", "headers": headers})
    assert start["status"] == 403
    assert b"RUBRICLAB_HOSTS" in body["body"]
    assert b"evil" not in body["body"]
    (closed,) = answered({"type": "websocket", "headers": headers})
    assert closed["type"] == "websocket.close"


def test_the_guard_lets_our_own_through() -> None:
    own = [(b"host", b"127.0.0.1:8501"), (b"origin", b"http://127.0.0.1:8501")]
    for kind in ("http", "websocket"):
        assert answered({"type": kind, "headers": own}) == []
    assert answered({"type": "lifespan"}) == []


class Headers:
    """What Streamlit shows a script of its visitor's headers."""

    def __init__(self, **headers: str) -> None:
        self.headers = self
        self._headers = headers

    def get_all(self, name: str) -> list[str]:
        return [self._headers[name]] if name in self._headers else []


class Stopped(Exception):
    """The page's script was stopped."""


@pytest.mark.parametrize(
    ("headers", "stopped"),
    [
        ({"Host": "localhost:8501", "Origin": "http://localhost:8501"}, False),
        ({}, False),  # no visitor: a test without a server
        ({"Host": "evil.example"}, True),
        ({"Host": "localhost", "Origin": "http://evil.example"}, True),
        ({"Host": "localhost", "Origin": "null"}, True),
    ],
)
def test_a_page_stops_for_foreigners_by_itself(
    headers: dict[str, str], stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def stop() -> None:
        raise Stopped

    monkeypatch.setattr("streamlit.context", Headers(**headers))
    monkeypatch.setattr("streamlit.error", lambda text, **_: said.append(text))
    monkeypatch.setattr("streamlit.stop", stop)
    if stopped:
        with pytest.raises(Stopped):
            check_visitor()
    else:
        check_visitor()
    assert bool(said) == stopped


def test_an_open_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "server.address": "127.0.0.1",
        "server.enableXsrfProtection": True,
        "server.enableCORS": True,
    }
    monkeypatch.setattr("streamlit.get_option", options.__getitem__)
    assert openness() is None
    for name, value, words in (
        ("server.enableXsrfProtection", False, "not protected"),
        ("server.enableCORS", False, "any site"),
        ("server.address", "0.0.0.0", "0.0.0.0, so whoever"),
        ("server.address", None, "every address, so whoever"),
    ):
        with monkeypatch.context() as one:
            one.setitem(options, name, value)
            assert words in (openness() or "")
    monkeypatch.setitem(options, "server.address", "0.0.0.0")
    monkeypatch.setenv("RUBRICLAB_HOSTS", "lab.example.org")
    assert openness() is None


# ---------------------------------------------------------------- a real, cold server

SOCKET = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


def status(port: int, path: str, host: str, method: str = "GET", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Host": host, **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    store = tmp_path_factory.mktemp("hosts") / "lab.duckdb"
    with served(APP, store) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.integration
def test_a_cold_server_refuses_foreigners_everywhere(port: int) -> None:
    """Nobody has visited yet, so no page has run: the server itself refuses."""
    upload = "/_stcore/upload_file/session/file"
    for path in ("/", "/judges", "/media/x.png", "/static/js/x.js", "/_stcore/health", "/_stcore/host-config"):
        assert status(port, path, "evil.example") == 403, path
        assert status(port, path, f"evil.example:{port}") == 403, path
        assert status(port, path, "localhost", Origin="http://evil.example") == 403, path
    for method in ("PUT", "POST", "DELETE", "OPTIONS"):
        assert status(port, upload, "evil.example", method) == 403, method
        assert status(port, upload, "localhost", method, Origin="http://evil.example") == 403
    stream = "/_stcore/stream"
    assert status(port, stream, "evil.example", **SOCKET) == 403
    assert status(port, stream, "evil.example", **SOCKET, Origin="http://evil.example") == 403
    for origin in ("http://evil.example", f"http://evil.example:{port}", "null"):
        assert status(port, stream, f"localhost:{port}", **SOCKET, Origin=origin) == 403


@pytest.mark.integration
def test_it_answers_its_own(port: int) -> None:
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "localhost"):
        assert status(port, "/", host) == 200
        own = status(port, "/_stcore/stream", host, **SOCKET, Origin=f"http://{host}")
        assert own == 101, host


@pytest.mark.integration
def test_an_upload_needs_the_token_of_its_page(port: int) -> None:
    path = "/_stcore/upload_file/session/file"
    assert status(port, path, "localhost", "PUT", **{"Content-Length": "0"}) == 403


# ---------------------------------------------------------------- a served lab


def test_a_host_of_its_own_makes_a_lab_served(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_served()
    local_only("Anything")
    monkeypatch.setenv("RUBRICLAB_HOSTS", "localhost")
    assert not is_served()
    monkeypatch.setenv("RUBRICLAB_HOSTS", "lab.example.org")
    assert is_served()
    monkeypatch.setenv("RUBRICLAB_SERVED", "0")
    assert not is_served()
    monkeypatch.setenv("RUBRICLAB_SERVED", "yes")
    with pytest.raises(LabError, match="set it to 1"):
        is_served()


@pytest.fixture
def served_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")


INNER = [
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "172.16.0.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "fe80::1%eth0",
    "fd00::1",
    "::ffff:127.0.0.1",
    "64:ff9b::10.0.0.1",
    "2002:7f00:1::",
]


@pytest.mark.usefixtures("served_lab")
@pytest.mark.parametrize("address", INNER)
def test_a_served_lab_sends_nothing_inside(address: str) -> None:
    assert "RUBRICLAB_PRIVATE_ADDRESSES" in (address_refused("api.example", [address]) or "")
    both = ["8.8.8.8", address]
    assert address_refused("api.example", both), "one inner address among outer ones"


@pytest.mark.usefixtures("served_lab")
def test_what_the_owner_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address_refused("api.example", ["8.8.8.8", "2606:4700::1111"]) is None
    monkeypatch.setenv("RUBRICLAB_PRIVATE_ADDRESSES", "gpu.internal, 10.1.0.0/16,[fd00::1]")
    assert address_refused("gpu.internal", ["192.168.0.9"]) is None
    assert address_refused("other", ["10.1.9.9"]) is None
    assert address_refused("other", ["fd00::1"]) is None
    assert address_refused("other", ["10.2.0.1"]) is not None
    monkeypatch.setenv("RUBRICLAB_PRIVATE_ADDRESSES", "http://gpu")
    with pytest.raises(LabError, match="no host, address or network"):
        address_refused("other", ["8.8.8.8"])


def test_alone_nothing_is_refused() -> None:
    for address in INNER:
        assert address_refused("h", [address]) is None
    check_address("http://127.0.0.1:8000/v1", resolve=True)


def ask_once(judge: Judge) -> None:
    """Open a client and connect."""

    async def work() -> None:
        async with ChatClient(judge) as client:
            await client.ask(next(iter(plan(study(1, judges=(judge,))).calls())))

    asyncio.run(work())


@pytest.mark.usefixtures("served_lab")
def test_every_way_out_looks_at_the_address() -> None:
    """Settings, the client's connection, the list of models: by figures, by name, in disguise."""
    with running(SteadyServer()) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:7f00:1]"):
            url = f"http://{host}:{port}/v1"
            judge = Judge("j", "openai", "test-model", base_urls=(url,))
            with pytest.raises(LabError, match="sends nothing there"):
                check_settings(judge)
            with pytest.raises(LabError, match="sends nothing there"):
                ask_once(judge)
            with pytest.raises(LabError, match="sends nothing there"):
                attach(url)
            with pytest.raises(LabError, match="sends nothing there"):
                get_json(f"{url}/models")
        assert server.keys == []


@pytest.mark.usefixtures("served_lab")
def test_a_name_that_changes_is_looked_at_when_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebinding: what the name stood for at the check does not count."""

    async def rebound(*_: Any, **__: Any) -> Any:
        return [{"hostname": "h", "host": "127.0.0.1", "port": 1, "family": 2, "proto": 6, "flags": 0}]

    monkeypatch.setattr("aiohttp.resolver.ThreadedResolver.resolve", rebound)

    async def work() -> None:
        with pytest.raises(LabError, match="sends nothing there"):
            await PublicResolver().resolve("api.example", 1)

    asyncio.run(work())


@pytest.mark.usefixtures("served_lab")
def test_what_is_the_owners_alone(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="served to others"):
        VllmServer.start("tiny")
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    own = Judge("own", "embedded", "m", options={"path": str(file)})
    with pytest.raises(LabError, match="served to others"):
        check_settings(own)
