"""The warm-up of the embedded judge: in the background, never a download, one at a time, let go again."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rubriclab.judges import embedded, warming
from rubriclab.judges.warming import Warmth, first_embedded
from rubriclab.judges.weights import CATALOGUE, weights_path
from rubriclab.model import Judge

SMALL = Judge("small", "embedded", "smollm2-135m")
OWN = Judge("own", "embedded", "own", options={"path": "model.gguf"})
API = Judge("api", "openai", "gpt")


class Handle:
    def __init__(self, judge: Judge) -> None:
        self.judge, self.open = judge, True

    def close(self) -> None:
        self.open = False


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Handle]:
    """Servers that were started, none of them real; an empty cache of weights."""
    monkeypatch.setenv("RUBRICLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    handles: list[Handle] = []

    def start(judge: Judge) -> Handle:
        handles.append(Handle(judge))
        return handles[-1]

    monkeypatch.setattr(embedded, "start_embedded", start)
    return handles


def test_nothing_is_fetched_and_nothing_loaded_for_weights_that_are_not_here(started: list[Handle]) -> None:
    warmth = Warmth()
    for judge in (SMALL, API, None):
        warmth.want(judge, lambda: pytest.fail("no call is wanted"))
        assert not warmth.wait(10)
    assert started == []


def test_damaged_weights_are_not_loaded_since_that_would_fetch_them(started: list[Handle]) -> None:
    path = weights_path(CATALOGUE["smollm2-135m"])
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(CATALOGUE["smollm2-135m"].size)  # of the right size, of another content
    warmth = Warmth()
    warmth.want(SMALL, lambda: None)
    assert not warmth.wait(30)
    assert started == []


def test_one_is_loaded_once_in_the_background_and_let_go_for_another_judge(started: list[Handle]) -> None:
    warmth, asked, go_on = Warmth(), [], threading.Event()

    def first_call() -> None:
        asked.append(threading.current_thread().name)
        go_on.wait(10)

    warmth.want(OWN, first_call)
    warmth.want(OWN, first_call)  # the page is drawn again while it loads: nobody waits
    go_on.set()
    assert warmth.wait(10)
    warmth.want(OWN, first_call)
    assert [handle.judge for handle in started] == [OWN]
    assert asked == ["embedded-judge-warm-up"]
    assert started[0].open
    warmth.want(API, first_call)
    assert not started[0].open
    assert not warmth.wait(0)


def test_a_model_that_nobody_asks_for_again_leaves_memory(started: list[Handle]) -> None:
    warmth = Warmth(idle=0.05)
    warmth.want(OWN, lambda: None)
    until = threading.Event()
    for _ in range(200):
        if started and not started[0].open:
            break
        until.wait(0.05)
    assert [handle.open for handle in started] == [False]


def test_the_first_judge_in_this_process_is_made_ready() -> None:
    assert first_embedded([API, OWN, SMALL]) is OWN
    assert first_embedded([API]) is None
    assert warming.IDLE > 60
