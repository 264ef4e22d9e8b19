"""The embedded model made ready while its user still reads: loaded, and its first prompt read once.

Nothing is fetched for it and nothing waits for it: only weights that lie on this machine whole are loaded, in a
thread of their own. One model a process is kept ready, until another judge is wanted, or nobody asked for
it in IDLE seconds; the server itself stops with the process, as all of them do.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rubriclab.judges.weights import CATALOGUE, file_sha256, is_cached, weights_path
from rubriclab.model import Call, Judge, LabError

if TYPE_CHECKING:
    from rubriclab.judges.embedded import EmbeddedServer

log = logging.getLogger("rubriclab")

IDLE = 600.0
"""Seconds that a model nobody asked for again stays in memory."""


class Warmth:
    """At most one embedded model, ready to answer."""

    def __init__(self, *, idle: float = IDLE) -> None:
        self._lock = threading.Lock()
        self._idle = idle
        self._judge: Judge | None = None
        self._server: EmbeddedServer | None = None
        self._end: threading.Timer | None = None
        self._thread: threading.Thread | None = None

    def want(self, judge: Judge | None, first_call: Callable[[], Call | None]) -> None:
        """Make ``judge`` ready, or let go of what is, where it is None, not embedded or not on this machine.

        Returns at once, and does nothing for the judge that is ready or becoming so. ``first_call``: made in
        the thread; what is likely to be asked first, whose prompt is then read already. Its answer is dropped.
        """
        with self._lock:
            if judge is None or not _on_disk(judge):
                self._let_go()
                return
            if self._judge is None or self._judge.identity() != judge.identity():
                self._let_go()
                self._judge = judge
                self._thread = threading.Thread(
                    target=self._make_ready, args=(judge, first_call), name="embedded-judge-warm-up", daemon=True
                )
                self._thread.start()
            self._count_anew()

    def wait(self, seconds: float) -> bool:
        """Wait for what was wanted last; is a model ready now?"""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        with self._lock:
            return self._server is not None

    def let_go(self) -> None:
        """Keep nothing ready."""
        with self._lock:
            self._let_go()

    def _count_anew(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = threading.Timer(self._idle, self.let_go)
        self._end.daemon = True
        self._end.start()

    def _let_go(self) -> None:
        if self._end is not None:
            self._end.cancel()
        if self._server is not None:
            self._server.close()
        self._judge = self._server = self._end = None

    def _make_ready(self, judge: Judge, first_call: Callable[[], Call | None]) -> None:
        from rubriclab.judges.embedded import start_embedded  # a second's import, which no page waits for

        try:
            if not _whole(judge):
                return  # to load it would mean to fetch it anew
            server = start_embedded(judge)
            with self._lock:
                kept = self._judge is judge
                if kept:
                    self._server = server
            if not kept:
                server.close()
                return
            call = first_call()
            if call is not None:
                asyncio.run(_read_once(judge, call))
        except LabError as fault:
            # The run that asks this judge will say so where its user looks.
            log.info("the judge %s could not be made ready: %s", judge.name, fault)


async def _read_once(judge: Judge, call: Call) -> None:
    from rubriclab.judges.embedded import EmbeddedJudge

    asked = EmbeddedJudge(judge)
    try:
        await asked.ask(call)
    finally:
        await asked.close()


def _on_disk(judge: Judge) -> bool:
    """Is it an embedded judge whose weights are here?"""
    if judge.kind != "embedded":
        return False
    own = judge.options.get("path")
    if own is not None:
        return Path(str(own)).expanduser().is_file()
    return judge.model in CATALOGUE and is_cached(judge.model)


def _whole(judge: Judge) -> bool:
    """Weights of the catalogue that are damaged would be fetched anew when they are used."""
    if judge.options.get("path") is not None:
        return True
    weights = CATALOGUE[judge.model]
    return file_sha256(weights_path(weights)) == weights.sha256


def first_embedded(judges: Sequence[Judge]) -> Judge | None:
    """The first of the judges that runs in this process, None where there is none."""
    return next((judge for judge in judges if judge.kind == "embedded"), None)
