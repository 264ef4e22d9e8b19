"""Check how far a run is said to be, and that its bar is about the same calls."""

from dataclasses import dataclass

import pytest

from rubriclab.model.looks import NextLook
from rubriclab.words.looks import progress_sentence
from rubriclab.words.progress import progress_words, share_done


@dataclass(frozen=True)
class Now:
    done: int
    needed: int = 320
    stage: str = ""
    seconds_left: float | None = None
    next_look: NextLook | None = None


def look(seconds: float | None = None, *, first: bool = True, several: bool = False) -> NextLook:
    return NextLook(first=first, several=several, calls=110, seconds=seconds)


def test_the_bar_and_the_words_are_about_the_calls_until_the_next_look() -> None:
    now = Now(83, next_look=look())
    assert progress_words(now) == "83 of 110 calls until the first look · at most 320 calls in all"
    assert share_done(now) == pytest.approx(83 / 110)
    now = Now(83, seconds_left=143.0, next_look=look(17.2))
    assert progress_words(now) == (
        "83 of 110 calls until the first look, about 15 s · at most 320 calls in all, about 2 min"
    )


def test_the_bar_and_the_words_are_about_all_calls_where_no_look_is_left() -> None:
    now = Now(200, seconds_left=61.0)
    assert progress_words(now) == "200 of 320 calls · about 60 s left"
    assert share_done(now) == pytest.approx(200 / 320)
    assert share_done(Now(0, needed=0)) == 0.0
    assert progress_words(Now(1, needed=2), "answer") == "1 of 2 answers"


@pytest.mark.parametrize(
    ("next_look", "name"),
    [
        (look(first=False), "the next look"),
        (look(several=True), "each judge's first look"),
        (look(first=False, several=True), "each judge's next look"),
    ],
)
def test_the_look_is_named(next_look: NextLook, name: str) -> None:
    assert f"until {name} · at most" in progress_words(Now(83, next_look=next_look))


def test_no_time_is_said_while_a_run_waits() -> None:
    now = Now(83, stage="cancelling", seconds_left=143.0, next_look=look(17.0))
    assert progress_words(now) == (
        "83 of 110 calls until the first look · at most 320 calls in all · cancelling"
    )


def test_a_look_is_named_in_units_and_in_calls() -> None:
    before = progress_sentence(
        units=0, next_units=11, all_units=32, calls=110, needless=0, noun="prompt"
    )
    assert before == "The first look is after 11 prompts (110 calls)."
    after = progress_sentence(
        units=11, next_units=32, all_units=32, calls=320, needless=0, noun="prompt"
    )
    assert after.endswith("The next look is after 32 (320 calls).")
