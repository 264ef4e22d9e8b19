"""Addresses that pages had before: the server answers each with the page's address of today."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urljoin

import pytest
import streamlit as st
from starlette.applications import Starlette

from rubriclab.app.ui import MOVED, NAVIGATION, forwarding

FILES = {entry.file for entries in NAVIGATION.values() for entry in entries}
ADDRESSES = FILES - {"home"} | {""}
"""Of the pages of today: Home has the one without a name."""
QUERY = "run=a%20b&mark=1&mark=2&to=%0d%0ahttp%3A%2F%2Fevil.example"


def visit(path: str) -> tuple[int, str]:
    """The status that a visit gets, and where it is sent, as a browser works that out."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "",
        "scheme": "http",
        "query_string": QUERY.encode(),
        "headers": [(b"host", b"lab:1")],
    }
    asyncio.run(Starlette(routes=forwarding())(scope, receive, send))
    to = dict(sent[0]["headers"]).get(b"location", b"").decode()
    return sent[0]["status"], urljoin(f"http://lab:1{path}", to)


@pytest.mark.parametrize("before", MOVED)
def test_an_old_address_is_sent_on_with_all_it_asks(before: str) -> None:
    now = MOVED[before]
    assert now in ADDRESSES
    assert before not in ADDRESSES
    assert visit(f"/{before}") == (307, f"http://lab:1/{now}?{QUERY}")
    assert visit(f"/{before}/") == (307, f"http://lab:1/{now}?{QUERY}")
    assert visit(f"/{now}")[0] == 404, "the pages of today are Streamlit's to answer"


def test_home_typed_by_its_name_is_the_address_without_one() -> None:
    assert visit("/home") == (307, f"http://lab:1/?{QUERY}")


def test_a_lab_under_a_folder_keeps_its_visitors_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": "/our/lab/"}.__getitem__)
    assert visit("/our/lab/results") == (307, f"http://lab:1/our/lab/position?{QUERY}")
    assert visit("/our/lab/home") == (307, f"http://lab:1/our/lab/?{QUERY}")
    assert visit("/results")[0] == 404
