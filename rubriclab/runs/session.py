"""Work for judges in, how it stands and ended out: a thread of its own, paused and cancelled from
any other.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from rubriclab.model.text import LabError
from rubriclab.runs.asking import Asking

ACTIVE = ("planned", "running")


@dataclass(frozen=True)
class Snapshot:
    """Work at one moment. ``done`` of ``planned`` are over, ``failed`` of them without a result.

    ``state``: planned, running, finished, failed, paused or cancelled; ``reason`` why; ``stage``:
    what is being waited for, in words; ``seconds_left``: None while unknown.
    """

    planned: int
    done: int
    failed: int
    state: str
    reason: str
    stage: str
    seconds_left: float | None

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


S = TypeVar("S", bound=Snapshot)


class Session(Generic[S]):
    """One thread with one event loop. Made once: going on with the work makes another one.

    What it does is ``_work``, how it stands ``snapshot``. ``_askings``: the judges that are open,
    by name; ``_tasks``: what is dropped when it is cancelled; ``_stage``: what is waited for;
    ``_wanted``: state and reason of whoever stopped it first.
    """

    def __init__(self, name: str) -> None:
        self._state, self._reason, self._stage = "planned", "", ""
        self._askings: dict[str, Asking] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wanted: tuple[str, str] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock, self._over = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    def snapshot(self) -> S:
        raise NotImplementedError

    async def _work(self) -> tuple[str, str]:
        """Returns how it ended: state and reason."""
        raise NotImplementedError

    def _finish(self, ended: tuple[str, str]) -> tuple[str, str]:
        """(state, reason) at the end, from what it ended as; kept where that is to be kept."""
        return ended

    def start(self) -> Self:
        self._state = "running"
        self._thread.start()
        return self

    def pause(self, reason: str = "paused by you") -> None:
        """Ask nothing more; calls in flight are waited for and kept."""
        with self._lock:
            self._wanted = self._wanted or ("paused", reason)
        self._in_loop(self._stop_all)

    def cancel(self, reason: str = "cancelled by you") -> None:
        """Stop at once: calls in flight are dropped; what has been kept stays."""
        with self._lock:
            self._wanted = ("cancelled", reason)  # also where it was only pausing so far
        self._in_loop(self._stop_all)
        self._in_loop(lambda: [task.cancel() for task in tuple(self._tasks)])

    def wait(self, timeout: float | None = None) -> S:
        """Block until the work has ended or paused, or ``timeout`` seconds are over."""
        # Not by joining the thread: after a KeyboardInterrupt in a join Python 3.11 takes the
        # thread for ended.
        self._over.wait(timeout)
        return self.snapshot()

    @property
    def active(self) -> bool:
        return self._state in ACTIVE

    def _fetched(self, name: str, done: int, total: int, source: str) -> None:
        """Says how far a judge's weights have come. Raises LabError where the work was stopped
        meanwhile.
        """
        share = f"{done / total:.0%} of {total / 1e6:,.0f} MB" if total else f"{done / 1e6:,.0f} MB"
        if self._wanted is not None:
            raise LabError("stopped while its weights were fetched; what has come is kept")
        self._stage = f"fetching the weights of {name}: {share} from {source}"

    def _in_loop(self, work: Callable[[], object]) -> None:
        if threading.current_thread() is self._thread:
            work()  # at once: no further call may go out
            return
        with suppress(RuntimeError):  # the loop has just closed: it is over
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)

    def _stop_all(self) -> None:
        for asking in self._askings.values():
            asking.stop()

    def _track(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _main(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                ended = runner.run(self._work())
        except BaseException as fault:  # ours must end as a reason on the page, not in a log
            ended = "paused", _in_words(fault)
        try:
            ended = self._finish(ended)
        except LabError as fault:
            ended = "paused", str(fault)
        self._reason, self._state = ended[1], ended[0]  # whoever sees the end has its reason
        self._over.set()


def _in_words(fault: Any) -> str:
    """The first real fault inside groups of them."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return (
        str(fault)
        if isinstance(fault, LabError)
        else f"The lab failed: {type(fault).__name__}: {fault}"
    )
