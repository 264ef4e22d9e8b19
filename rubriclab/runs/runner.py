"""A plan becomes judgments: as fast as the judges allow, and nothing is lost on the way.

One thread and one event loop a run. A pause, a crash and a finished run differ only in what
is left to ask: going on means planning again and asking what has no final reply.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping

from rubriclab.judges import Asking, open_judge
from rubriclab.model import Judge, Judgment, LabError, Reply, Study
from rubriclab.runs.asking import Asker, Retries
from rubriclab.runs.pace import Pace
from rubriclab.runs.terms import NO_LIMITS, Agenda, Feed, Limits, Snapshot, money
from rubriclab.store import RunWriter, Store, StoreError
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan

__all__ = ["AGENDA_DONE", "Agenda", "Limits", "Opener", "Run", "Snapshot"]

Opener = Callable[[Judge, Study, Mapping[str, str] | None, Callable[[int, int, str], None] | None], Asking]

AGENDA_DONE = "all that was wanted has been asked"
"""How the reason of a run begins that came to the end of its agenda."""


class Run:
    """One run in its own thread. All methods may be called from any thread."""

    def __init__(
        self,
        store: Store,
        plan: Plan,
        *,
        limits: Limits = NO_LIMITS,
        secrets: Mapping[str, str] | None = None,
        only: frozenset[str] | None = None,
        agenda: Agenda | None = None,
        opener: Opener = open_judge,
    ) -> None:
        self._store, self.plan, self._limits, self._secrets = store, plan, limits, secrets
        self._only, self._agenda, self._opener = only, agenda, opener
        self.info = store.open_run(plan, provenance(plan))
        self._counts = Counter(store.outcome_counts(self.info.run))
        self._done = self.info.done
        self._state, self._reason, self._stage = "planned", "", ""
        self._asked = self._in_flight = 0
        self._failed_in_a_row: Counter[str] = Counter()
        self._money = 0.0
        self._finished: deque[float] = deque(maxlen=2_000)
        self._started = time.monotonic()
        self._ended: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._stops: dict[int, asyncio.Event] = {}
        self._waiting: dict[str, str] = {}
        self._wanted: tuple[str, str] | None = None
        self._askers: list[Asker] = []
        self._workers: list[asyncio.Task[None]] = []
        self._writer: RunWriter | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._main, name=f"run {self.info.run}", daemon=True)

    def start(self) -> Run:
        self._state = "running"
        self._store.set_state(self.info.run, "running")
        self._thread.start()
        return self

    def pause(self, reason: str = "paused by you") -> None:
        """Ask nothing more; calls in flight are waited for and kept."""
        self._end("paused", reason)

    def cancel(self, reason: str = "cancelled by you") -> None:
        """Stop at once: calls in flight are dropped; what has been judged stays."""
        self._end("cancelled", reason)
        with self._lock:
            self._wanted = ("cancelled", reason)  # also where it was only pausing so far
            loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._drop_calls)

    def _drop_calls(self) -> None:
        for worker in self._workers:
            worker.cancel()

    def wait(self, timeout: float | None = None) -> Snapshot:
        """Block until the run has ended or paused, or ``timeout`` seconds are over.

        Not by joining the thread: a KeyboardInterrupt in the middle of a join makes Python 3.11
        take the thread for ended, and the next wait would not wait.
        """
        self._over.wait(timeout)
        return self.snapshot()

    def abandon(self) -> Snapshot:
        """Leave a cancelled run whose thread does not end (a judge that cannot be interrupted).

        What was received is committed and the store says how the run ended.
        """
        state, reason = self._wanted or ("cancelled", "cancelled by you")
        self._close(*self._save_rest(state, reason))
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        now = self._ended if self._ended is not None else time.monotonic()
        rate = self._rate(now)
        left = max(0, len(self.plan) - self._done)
        if self._only is not None:
            left = max(0, len(self._only) - self._asked)
        return Snapshot(
            run=self.info.run,
            name=self.info.name,
            state=self._state,
            reason=self._reason,
            planned=len(self.plan),
            done=self._done,
            asked=self._asked,
            counts=dict(self._counts),
            rate=rate,
            eta=left / rate if rate > 0 and self._state == "running" else None,
            in_flight=self._in_flight,
            concurrency=sum(asker.pace.limit for asker in self._askers),
            retries=sum(asker.retried for asker in self._askers),
            money=self._money,
            elapsed=now - self._started,
            waiting=dict(self._waiting),
            stage=self._stage or next(filter(None, (asker.pace.resting() for asker in self._askers)), ""),
        )

    # -------- the thread

    def _main(self) -> None:
        state, reason = "finished", ""
        try:
            self._writer = RunWriter(self._store, self.info.run)
            self._writer.flush()  # what an earlier writer had to leave is done, too
            self._counts = Counter(self._store.outcome_counts(self.info.run))
            self._done = self._store.run(self.info.run).done
            asyncio.run(self._ask_all())
            state, reason = self._wanted or self._outcome()
            state, reason = self._with_waiting(state, reason)
        except LabError as fault:
            state, reason = "paused", str(fault)
        except BaseException as fault:  # ours must end as a reason on the page, not in a log
            state, reason = "paused", f"The lab failed: {_innermost(fault)}"
        self._close(*self._save_rest(state, reason))

    def _close(self, state: str, reason: str) -> None:
        with self._lock:
            if not self._over.is_set():
                self._ended = time.monotonic()
                self._state, self._reason, self._stage = state, reason, ""
                self._over.set()

    def _outcome(self) -> tuple[str, str]:
        """How a run ended that nobody stopped."""
        left = len(self.plan) - self._done
        if self._only is not None and left > 0:
            return "paused", f"the failed calls were asked again; {left:,} calls are left to ask"
        if self._agenda is not None and left > 0:
            return "paused", f"{AGENDA_DONE}; {left:,} calls of the study are left"
        return "finished", ""

    def _with_waiting(self, state: str, reason: str) -> tuple[str, str]:
        """What judges that cannot be asked wait for, behind how the run ended otherwise."""
        if not self._waiting:
            return state, reason
        others = len(self.plan.study.judges) > len(self._waiting) and self._wanted is None
        told = [*filter(None, [reason]), *self._waiting.values(), *(["The other judges went on."] if others else [])]
        sentences = [part if part.endswith((".", "!", "?")) else f"{part}." for part in told[:-1]]
        return "paused" if state == "finished" else state, " ".join([*sentences, told[-1]])

    def _save_rest(self, state: str, reason: str) -> tuple[str, str]:
        """Commit what is left and write down how the run ended."""
        try:
            if self._writer is not None:
                self._writer.close()
                state, reason = self._with_replies_aside(state, reason)
            self._store.set_state(self.info.run, state, reason)
            moved = str(self._store.moved or "")
            if moved not in reason:  # noticed only now
                reason = f"{reason}. {moved}".removeprefix(". ")
                self._store.set_state(self.info.run, state, reason)
        except StoreError as fault:
            return "paused", str(fault)
        except Exception as fault:  # the run must end, and say that it could not be written down
            return "paused", f"The lab failed: {_innermost(fault)}"
        return state, reason

    def _with_replies_aside(self, state: str, reason: str) -> tuple[str, str]:
        """Answers that no store takes leave their calls unjudged: such a run is not finished."""
        notice = self._writer.aside.notice if self._writer is not None else ""
        if not notice or notice in reason:
            return state, reason
        reason = f"{reason}. {notice}".removeprefix(". ")
        if state != "finished":
            return state, reason
        return "paused", f"{reason} Going on with the run asks these calls again."

    def _end(self, state: str, reason: str) -> None:
        with self._lock:
            if self._wanted is None:
                self._wanted = (state, reason)
            loop, stop = self._loop, self._stop
        if loop is None or stop is None or loop.is_closed():
            return
        if threading.current_thread() is self._thread:
            self._stop_all()  # at once: no worker may take another call
        else:
            loop.call_soon_threadsafe(self._stop_all)

    def _stop_all(self) -> None:
        for stop in filter(None, (self._stop, *self._stops.values())):
            stop.set()

    def _wait_with(self, code: int, reason: str) -> None:
        """Ask this judge nothing more: the cause lies with it, and is none of the others'."""
        self._waiting.setdefault(self.plan.study.judges[code].name, reason)
        self._stops[code].set()

    async def _ask_all(self) -> None:
        with self._lock:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            if self._wanted is not None:
                self._stop.set()
        done = self._store.done_keys(self.info.run)
        async with asyncio.TaskGroup() as group:
            for code in range(len(self.plan.study.judges)):
                group.create_task(self._ask_judge(code, done))

    async def _ask_judge(self, code: int, done: set[str]) -> None:
        judge = self.plan.study.judges[code]
        calls = (self._agenda or self.plan).calls(code)
        waiting = Feed(calls, done, self._only)
        if not await waiting.fill():
            return
        if self._stop is None:
            raise LabError("A run was asked to work before it was started.")
        stop = self._stops[code] = asyncio.Event()
        if self._stop.is_set():
            return
        self._stage = f"starting {judge.name}"

        def fetched(done_bytes: int, all_bytes: int, source: str) -> None:
            share = f"{done_bytes / all_bytes if all_bytes else 0.0:.0%} of {all_bytes / 1e6:.0f} MB"
            self._stage = f"fetching {judge.name}: {share} from {source}"

        try:
            asking = self._opener(judge, self.plan.study, self._secrets, fetched)
        except LabError as fault:
            self._stage = ""
            self._wait_with(code, str(fault))
            return
        self._stage = ""
        asker = Asker(
            asking,
            Pace(judge, patience=self._limits.patience),
            stop,
            halt=lambda reason, _: self._wait_with(code, reason),
            retries=Retries(self._limits.max_attempts, wait_out=True),
        )
        self._askers.append(asker)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(asker.pace.ceiling, max(1, len(self.plan)))):
                    work = self._work(code, asker, waiting)
                    self._workers.append(group.create_task(work))
        finally:
            await asking.close()

    async def _work(self, code: int, asker: Asker, waiting: Feed) -> None:
        while not asker.stop.is_set():
            if not await asker.pace.enter(asker.stop):
                return
            call = await waiting.next()
            if call is None or self._budget_spent():
                asker.pace.leave()
                return
            self._in_flight += 1
            try:
                reply = await asker.reply(call)
            finally:
                self._in_flight -= 1
                asker.pace.leave()
            if reply is not None:
                self._keep(code, self.plan.read(call, reply))

    def _keep(self, code: int, judgment: Judgment) -> None:
        reply, judge = judgment.reply, self.plan.study.judges[code]
        for outcome in judgment.outcomes:
            self._counts[outcome.status] += 1
        if self._only is not None:
            self._counts["error"] -= len(judgment.outcomes)
        else:
            self._done += 1
        if self._agenda is not None:
            self._agenda.heard(judgment)
        self._asked += 1
        self._money += money(judge, reply.tokens_in or 0, reply.tokens_out or 0)
        self._finished.append(time.monotonic())
        if self._writer is not None:
            try:
                self._writer.put(judgment)
            except StoreError as fault:
                self._end("paused", str(fault))
        self._watch_failures(code, judge, reply)

    def _watch_failures(self, code: int, judge: Judge, reply: Reply) -> None:
        """Ask a judge nothing more where call after call fails: the cause is not in the calls."""
        if reply.error is None or judge.simulated:
            self._failed_in_a_row[judge.name] = 0
            return
        self._failed_in_a_row[judge.name] += 1
        most = self._limits.max_failures
        if most is not None and self._failed_in_a_row[judge.name] >= most:
            self._wait_with(
                code,
                f"{judge.name}: {most:,} calls in a row failed, the last with: {reply.error}. "
                "Mend the cause, then ask the failed calls again and go on.",
            )

    def _budget_spent(self) -> bool:
        limits = self._limits
        if limits.max_calls is not None and self._asked + self._in_flight >= limits.max_calls:
            self._end("paused", f"the budget of {limits.max_calls:,} calls is spent")
            return True
        if limits.max_money is not None and self._money >= limits.max_money:
            self._end("paused", f"the budget of {limits.max_money:g} is spent")
            return True
        return False

    def _rate(self, now: float) -> float:
        recent = [t for t in tuple(self._finished) if t > now - 15.0]  # the run appends meanwhile
        if len(recent) < 2 or now <= recent[0]:
            return 0.0
        return (len(recent) - 1) / max(recent[-1] - recent[0], 1e-3)


def _innermost(fault: BaseException) -> str:
    """The first real fault inside groups of them."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return str(fault) if isinstance(fault, LabError) else f"{type(fault).__name__}: {fault}"
