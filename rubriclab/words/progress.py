"""Say how far a run is, in the same words on the page and in the terminal."""

from typing import Protocol

from rubriclab.model.looks import NextLook
from rubriclab.model.text import count, duration

EXACT_BELOW, STEP = 10.0, 5
"""Seconds that are left are shown in steps, or they would change with every call."""


class Progress(Protocol):
    """What the words need to know of a piece of work. See ``Snapshot`` in ``runs/session.py``."""

    @property
    def done(self) -> int: ...

    @property
    def needed(self) -> int: ...

    @property
    def stage(self) -> str: ...

    @property
    def seconds_left(self) -> float | None: ...

    @property
    def next_look(self) -> NextLook | None: ...


def share_done(now: Progress) -> float:
    """Return how much is done of what ``progress_words`` names first, from 0 to 1."""
    goal = now.needed if now.next_look is None else now.next_look.calls
    return min(1.0, now.done / goal) if goal else 0.0


def progress_words(now: Progress, noun: str = "call") -> str:
    """Say how much is done, what it is a part of, and how long the rest takes.

    Of a run that may stop early the next look comes first, since it may be the end.
    """
    look = now.next_look
    # A pause or a check takes its own time, which the pace does not tell.
    unknown = bool(now.stage)
    if look is None:
        left = "" if unknown else _about(now.seconds_left, " · about {} left")
        words = f"{now.done:,} of {count(now.needed, noun)}{left}"
    else:
        until = "" if unknown else _about(look.seconds, ", about {}")
        left = "" if unknown else _about(now.seconds_left, ", about {}")
        words = (
            f"{now.done:,} of {count(look.calls, noun)} until {_name(look)}{until} · at most "
            f"{count(now.needed, noun)} in all{left}"
        )
    return f"{words} · {now.stage}" if now.stage else words


def _name(look: NextLook) -> str:
    which = "first" if look.first else "next"
    return f"each judge's {which} look" if look.several else f"the {which} look"


def _about(seconds: float | None, words: str) -> str:
    """Return the words with a rough time, or nothing while it is unknown."""
    if seconds is None:
        return ""
    if EXACT_BELOW <= seconds < 90:
        seconds = STEP * round(seconds / STEP)
    return words.format(duration(seconds))
