"""Run work for judges in a thread of its own, which any other thread can pause or cancel.

``Session`` is what a run, a trial and a reference job have in common.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

from rubriclab.model.looks import NextLook
from rubriclab.model.text import LabError
from rubriclab.runs.asking import Asking

ACTIVE = ("planned", "running")
"""States in which a session may still ask calls."""


@dataclass(frozen=True)
class Snapshot:
    """A piece of work at one moment.

    planned, done, failed: calls (of a reference job, answers). Failed ones are part of ``done``.
    state: planned, running, finished, failed, paused or cancelled; ``reason`` says why.
    stage: what is being waited for, as a text.
    seconds_left: until all ``needed`` calls are in; None while unknown.
    next_look: of a run that may stop before its end.
    """

    planned: int
    done: int
    failed: int
    state: str
    reason: str
    stage: str
    seconds_left: float | None
    next_look: NextLook | None = field(default=None, kw_only=True)

    @property
    def needed(self) -> int:
        """The planned calls without those whose answer is known."""
        return self.planned

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


S = TypeVar("S", bound=Snapshot)


class Session(ABC, Generic[S]):
    """One thread with one event loop. It is used once: going on with the work makes another.

    Subclasses say what the work is (``_work``) and where it stands (``snapshot``). Only the
    session's own thread changes its fields, with one exception: whoever pauses or cancels sets
    ``_wanted``, under the lock. Other threads only read fields that are replaced as a whole.

    _askings: the open judges, by name.
    _tasks: what a cancel drops.
    _stage: what is being waited for.
    _wanted: state and reason of whoever stopped it first.
    """

    def __init__(self, name: str) -> None:
        self._state, self._reason, self._stage = "planned", "", ""
        self._askings: dict[str, Asking] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wanted: tuple[str, str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        # A daemon: an interpreter that ends does not wait for replies. ``RunManager`` gives them a
        # bounded time first.
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    @abstractmethod
    def snapshot(self) -> S:
        """Return where the work is now."""

    @abstractmethod
    async def _work(self) -> tuple[str, str]:
        """Do the work, and return how it ended: state and reason."""

    def _finish(self, ended: tuple[str, str]) -> tuple[str, str]:
        """Clean up after ``_work``, and return the state and reason that are shown."""
        return ended

    def start(self) -> Self:
        self._state = "running"
        self._thread.start()
        return self

    def pause(self, reason: str = "paused by you") -> None:
        """Ask nothing more. Calls in flight go on, and their replies are kept."""
        with self._lock:
            self._wanted = self._wanted or ("paused", reason)
        self._in_loop(self._stop_all)

    def cancel(self, reason: str = "cancelled by you") -> None:
        """Stop at once. Calls in flight are dropped; what has been kept stays."""
        with self._lock:
            self._wanted = ("cancelled", reason)  # also if it was only pausing so far
        self._in_loop(self._stop_all)
        self._in_loop(self._drop_all)

    def wait(self, timeout: float | None = None) -> S:
        """Block until the work has ended or paused, or ``timeout`` seconds are over."""
        # Not by joining the thread: after a KeyboardInterrupt in a join Python 3.11 takes the
        # thread for ended.
        self._over.wait(timeout)
        return self.snapshot()

    @property
    def active(self) -> bool:
        return self._state in ACTIVE

    @property
    def stopping(self) -> str:
        """The state in which somebody wants it to end: “paused”, “cancelled”, or empty."""
        return self._wanted[0] if self._wanted is not None else ""

    def _fetched(self, name: str, done: int, total: int, source: str) -> None:
        """Say how far the download of a judge's weights is. Raises LabError to stop it.

        The download runs in the loop's thread pool, where raising is the only way to end it.
        """
        if self._wanted is not None:
            raise LabError("stopped during the download of its weights. What has come is kept.")
        share = f"{done / 1e6:,.0f} MB"
        if total:
            share = f"{done / total:.0%} of {total / 1e6:,.0f} MB"
        self._stage = f"downloading the weights of {name}: {share} from {source}"

    def _in_loop(self, work: Callable[[], object]) -> None:
        """Do this in the session's loop, where the judges' events live."""
        if threading.current_thread() is self._thread:
            work()  # at once: queued behind other tasks, a further call could go out before it
            return
        with suppress(RuntimeError):  # the loop has just closed: the work is over
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)

    def _stop_all(self) -> None:
        for asking in self._askings.values():
            asking.stop()

    def _drop_all(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()

    def _track(self, task: asyncio.Task[None]) -> None:
        """Hold a task until it is done: the loop itself holds tasks only weakly."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _main(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                ended = runner.run(self._work())
        except BaseException as fault:  # it must end as a reason on the page, not in a log
            ended = "paused", _reason_of(fault)
        try:
            ended = self._finish(ended)
        except LabError as fault:
            ended = "paused", str(fault)
        # The reason first: whoever sees that the work has ended finds its reason too.
        state, self._reason = ended
        self._state = state
        self._over.set()


def _reason_of(fault: BaseException) -> str:
    """Return the words for a fault; of a group, for its first real one."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, LabError):
        return str(fault)
    return f"The lab failed: {type(fault).__name__}: {fault}"
