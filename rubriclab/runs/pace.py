"""Measure how fast calls end, while a run goes on and afterwards."""

import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable

import numpy as np
import pandas as pd

from rubriclab.model.judge import JudgeSettings

WARM_UP = 8
"""A judge's first calls tell nothing of its pace. A small model is loaded meanwhile, and the calls
of the reading check share little with each other: they took 1.3 s each, the 250 after them 0.4 s.
"""
ENOUGH_CALLS, ENOUGH_SECONDS = 20, 5.0
"""The pace is unknown before so many calls and seconds after the warm-up. Fewer calls are about one
answer or two, and a small model answers some of its calls four times as fast as others."""
WINDOW_SECONDS = 120.0
"""The pace is that of the last so many seconds. On a busy machine the time left of a run went
from 200 s to 310 s and back with 60 s; with more it kept falling."""
MOMENTS_KEPT = 20_000
"""Ends of calls that are remembered for the pace, so that memory does not grow with the run. Above
166 calls per second they span less than WINDOW_SECONDS."""


class Pace:
    """How fast the calls of one session end.

    Only the run's own thread adds calls. Others may ask for the rate.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked = Counter[str]()
        self._ended: deque[float] = deque(maxlen=MOMENTS_KEPT)  # after the warm-up, from its end
        self._began: float | None = None

    def add(self, settings: JudgeSettings) -> None:
        """Count a call of this judge that has just ended."""
        self._asked[settings.name] += 1
        warm_up = WARM_UP
        if settings.about.speed.at_once:
            warm_up += settings.concurrency  # the first calls at once end at once
        asked = self._asked[settings.name]
        if asked < warm_up or (asked == warm_up and self._began is not None):
            return
        now = self._clock()
        if self._began is None:
            self._began = now
        self._ended.append(now)

    def rate(self) -> float:
        """Return the calls per second of late; 0 while too few have ended to tell.

        It is measured up to now, so it falls slowly if no more calls end.
        """
        # A copy first: the run's thread appends meanwhile, and a deque that changes while it is
        # gone through raises RuntimeError.
        ended = tuple(self._ended)
        now = self._clock()
        if len(ended) <= ENOUGH_CALLS or self._began is None:
            return 0.0
        if now - self._began < ENOUGH_SECONDS:
            return 0.0
        # A slow judge may have fewer calls in the window than tell its pace.
        first = bisect_right(ended, now - WINDOW_SECONDS) - 1
        first = max(0, min(first, len(ended) - 1 - ENOUGH_CALLS))
        return (len(ended) - 1 - first) / max(now - ended[first], 1e-3)


def seconds_at_work(calls: pd.DataFrame) -> float:
    """Return the seconds in which at least one of these calls was under way.

    ``calls``: with ``asked``, when a reply came, and ``seconds``, how long it took. Calls of a
    small model overlap, and runs are paused, so neither their sum nor the clock would do.
    """
    if calls.empty:
        return 0.0
    asked = pd.to_datetime(calls["asked"])
    ends = (asked - asked.min()).dt.total_seconds().to_numpy()
    starts = ends - calls["seconds"].to_numpy(dtype=float)
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(ends)[:-1]])
    return float(np.maximum(0.0, ends - np.maximum(starts, reached)).sum())
