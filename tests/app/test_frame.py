"""Check that other people's text stays text, and that foreign requests stay outside."""

import asyncio
import re
from typing import Any

import pytest

from rubriclab.app import guard
from rubriclab.app.frame import PAGES, safe
from rubriclab.app.navigation import ENTRIES
from rubriclab.app.runs import early
from rubriclab.figures.charts import draw
from rubriclab.figures.live_cells import cells_so_far
from rubriclab.figures.marks import LIGHT
from rubriclab.judges.served import served
from rubriclab.model.text import duration

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![picture](http://evil.example/x.png)",
    "| a | b |",
    "**bold** and _slanted_",
    "$x^2$ and $$y$$",
    ":red[red] :material/home: :smile:",
    "a\u202eb\u200bc",
    "`code` ~~gone~~",
    "# head\n- list\n> quote",
    "www.evil.example and https://evil.example",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_hostile_text_is_markup(text: str) -> None:
    shown = safe(text)
    bare = re.sub(r"\\[\W_]", "", shown)  # what is left when all escaped signs are taken out
    assert not re.search(r"[<>\[\]()*_`$:#|~!]", bare)
    assert not re.search("[\u0000-\u001f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    assert not re.search(r"www\.|://\w", shown.replace("\\", ""))


def test_names_are_bounded_and_durations_have_a_readable_unit() -> None:
    assert safe("Tone & style 3") == "Tone \\& style 3"
    assert len(safe("x" * 10_000, 60)) == 60
    assert [duration(s) for s in (0, 0.2, 40, 240, 300, 8_000)] == [
        "1 s",
        "1 s",
        "40 s",
        "4 min",
        "5 min",
        "2.2 h",
    ]
    assert duration(9_000) == "2.5 h"


def test_the_bar_lists_every_page() -> None:
    doors = ["Home", "Try it", "Set up", "Runs", "Results", "Compare", "Export", "Learn"]
    assert [entry.title for entry in ENTRIES.values()] == doors
    assert {path.stem for path in PAGES.glob("*.py")} == set(ENTRIES)


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost:8501", "localhost"),
        ("LAB.example.org.", "lab.example.org"),
        ("[::1]:8501", "::1"),
        ("evil@localhost", None),
        ("localhost/path", None),
        ("local host", None),
        ("localhost:99999", None),
        ("*.example.org", None),
        ("", None),
    ],
)
def test_only_valid_host_headers_have_a_name(header: str, name: str | None) -> None:
    assert guard.host_name(header) == name


def test_a_name_given_before_the_start_is_allowed_and_makes_the_lab_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not served()
    monkeypatch.setenv(guard.HOSTS_VARIABLE, "lab.example.org")
    assert guard.host_allowed("lab.example.org:443")
    assert served()
    monkeypatch.setenv(guard.SERVED_VARIABLE, "0")
    assert not served()
    for variable, setting in (
        (guard.SERVED_VARIABLE, "maybe"),
        (guard.HOSTS_VARIABLE, "*.example.org"),
    ):
        monkeypatch.setenv(variable, setting)
        with pytest.raises(SystemExit, match=re.escape(setting)):
            guard.middleware()
        monkeypatch.delenv(variable)


def _answer(headers: list[tuple[bytes, bytes]], kind: str = "http") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def inner(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing may be read before the door")

    async def send(message: Any) -> None:
        sent.append(dict(message))

    asyncio.run(guard.Guard(inner)({"type": kind, "headers": headers}, receive, send))
    return sent


def test_the_door_lets_the_labs_own_pages_in_and_keeps_them_out_of_frames() -> None:
    start = _answer([(b"host", b"127.0.0.1:8501"), (b"origin", b"http://127.0.0.1:8501")])[0]
    assert start["status"] == 200
    assert (b"content-security-policy", b"frame-ancestors 'self'") in start["headers"]


FOREIGN = (
    b"null",
    b"file://",
    b"https://evil.example",
    b"ftp://localhost",
    b"javascript:localhost",
)


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", b"evil.example")],
        *([(b"host", b"localhost"), (b"origin", origin)] for origin in FOREIGN),
        [(b"host", b"localhost"), (b"host", b"localhost")],
        [],
    ],
)
def test_the_door_refuses_before_anything_is_read(headers: list[tuple[bytes, bytes]]) -> None:
    assert _answer(headers)[0]["status"] == 403
    assert _answer(headers, "websocket") == [{"type": "websocket.close", "code": 1008}]


def test_an_early_estimate_has_a_number_and_no_verdict() -> None:
    sentence, bars = early((57, 9, 6, 12, 16))  # 57 of 100
    assert "Position 1" in sentence
    assert "57%" in sentence
    assert "20%" in sentence
    assert not re.search(r"\b(Yes|No|Not seen|Can't tell|Biased)\b", sentence)
    assert not any(point.decided or point.has_interval for point in bars.points)
    assert early((0, 0, 0)) == early(()) == ("", None)
    level = early((25, 18, 20, 19, 18))[0].replace("\u00a0", " ")
    assert level.startswith(
        "No position leads so far: **18% to 25%** of 100 scores. An even share would be 20%."
    )


def test_live_cells_are_shares_of_each_score_without_a_verdict() -> None:
    counts = {(1.0, 1): 3, (1.0, 2): 1, (2.0, 2): 5}
    drawn = cells_so_far(counts, (1.0, 2.0, 3.0), 2)
    texts = {line.name: [point.text for point in line.points] for line in drawn.series}
    assert texts == {"1": ["75%", "25%"], "2": ["0%", "100%"], "3": ["–", "–"]}
    assert "of 9 scores so far" in drawn.alt.replace("\u00a0", " ")
    assert not any(point.decided or point.has_interval for point in drawn.points)
    heat = draw(drawn).data[0]
    grey = {colour for _, colour in heat.colorscale}
    assert not grey & {LIGHT.low, LIGHT.high}  # no colour of an effect
    empty = cells_so_far({}, (1.0, 2.0), 2)  # drawn before the first reply
    assert {point.text for point in empty.points} == {"–"}
    assert set(draw(empty).data[0].z[0]) == {0.0}
