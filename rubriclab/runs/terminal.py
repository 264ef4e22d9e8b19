"""A run before a person: its progress, the question before a key is sent, and how it is stopped.

The command line and a notebook run studies through this. All that it says goes to standard
error. Ctrl-C and SIGTERM are a wish first, an order the second time.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from rubriclab.model import Judge, LabError
from rubriclab.model.wording import many

if TYPE_CHECKING:
    from rubriclab.runs.logs import Progress
    from rubriclab.runs.runner import Run
    from rubriclab.runs.terms import Snapshot

LOOK = 0.2
"""Seconds between looks for a signal."""
PATIENCE = 10.0
"""Seconds that dropped calls get to end, before the run is left as it is."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def consent(store: Any, judges: Iterable[Judge], *, trust: bool, terminal: bool | None = None) -> None:
    """See to it that keys go, and code runs, only where somebody here has said yes to, before it does.

    Starting a study file of one's own is a yes. Where a run that was imported into this store
    has the same address and variable it is none: then ``trust`` is one, or an answer on the
    terminal. Raises ConsentNeeded, or LabError for a no.
    """
    from rubriclab.judges.keys import ConsentNeeded, destinations, unconsented

    missing = unconsented(judges, store)
    if not missing:
        return
    # What was started here has its yes: without one, a run's judge came from elsewhere (or was
    # deleted here, which takes the yes back).
    foreign = set(missing) & set(destinations(store.judges_of_runs()))
    for pair in missing:
        if trust or pair not in foreign:
            say(f"This {pair}.")
    if trust or not foreign:
        pass
    elif sys.stdin.isatty() and sys.stderr.isatty() if terminal is None else terminal:
        for pair in sorted(foreign):
            say(f"This {pair}.")
            print("Yes or no? [y/N] ", end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise LabError("Nothing was sent or run. Nothing goes to an address, and no code runs, without a yes.")
    else:
        raise ConsentNeeded(sorted(foreign))
    store.consent(missing)


class Signals:
    """Counts SIGINT and SIGTERM instead of letting them break into whatever is being done.

    An exception out of a handler can strike anywhere: in the middle of a wait it makes
    ``threading`` take a thread for ended that is still at work, and the process leaves with
    the answers that were on their way. So a signal is only counted here, and looked at between
    two waits. Does nothing outside the main thread, where no handler may be set.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.count += 1


def reading_progress(signals: Signals) -> Callable[[Progress], bool]:
    """What a long reading says on its way: at first what it will take, then how far it is, ever more rarely.

    The reading ends at the first signal.
    """
    spoken = [2.0]

    def show(at: Progress) -> bool:
        if at.seconds >= spoken[0]:
            share = f"{at.done / 1e6:,.0f} of {at.size / 1e6:,.0f} MB"
            say(
                f"{share}, {many(at.records, 'record')} after {at.seconds:.0f} s; about {at.left:,.0f} s to go. Ctrl-C stops."
            )
            spoken[0] = 2.0 * at.seconds
        return signals.count == 0

    return show


def watch(run: Run, signals: Signals, show: Callable[[Snapshot], None] | None = None) -> Snapshot:
    """Wait for a run. The first signal pauses it, the second drops the calls in flight.

    Either way the store says so: paused or cancelled, never running.
    """
    heeded, told = 0, set[str]()
    while True:
        shown = run.wait(LOOK)
        for name in shown.waiting.keys() - told if shown.active else ():
            told.add(name)
            say(f"\n{shown.waiting[name]} The other judges go on.")
        if show is not None:
            show(shown)
        if not shown.active:
            return shown
        if signals.count > heeded and heeded == 0:
            heeded = 1
            run.pause("stopped by Ctrl-C or a signal")
            say(
                f"\nPausing: {run.snapshot().in_flight:,} calls in flight are waited for and kept. "
                "Ctrl-C again stops at once and drops them."
            )
        elif signals.count > heeded:
            run.cancel("stopped at once by a second Ctrl-C or signal")
            say("\nStopping at once: the calls in flight are dropped, what was received is kept.")
            ended = run.wait(PATIENCE)
            return run.abandon() if ended.active else ended


def show_progress(shown: Snapshot) -> None:
    """One line on standard error, written over by the next."""
    end = "" if shown.active else "\n"
    print("\r" + _progress_line(shown) + "\x1b[K", end=end, file=sys.stderr, flush=True)


def _progress_line(shown: Snapshot) -> str:
    if shown.stage:
        return shown.stage
    width = 28
    share = shown.done / shown.planned if shown.planned else 1.0
    bar = "█" * round(width * share) + "░" * (width - round(width * share))
    eta = f", {shown.eta:.0f} s left" if shown.eta is not None else ""
    unread = sum(n for name, n in shown.counts.items() if name != "ok")
    return f"{bar} {shown.done:,}/{shown.planned:,}  {shown.rate:.1f}/s{eta}, {unread} unread"
