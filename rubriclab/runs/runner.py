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
from rubriclab.model.language import msg
from rubriclab.model.wording import many
from rubriclab.runs.arrivals import Arrivals
from rubriclab.runs.asking import Asker, Retries, innermost
from rubriclab.runs.pace import Pace
from rubriclab.runs.terms import NO_LIMITS, Agenda, Feed, Limits, Snapshot, Tally, money, rate_at
from rubriclab.store import RunWriter, Store, StoreError
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan

__all__ = ["AGENDA_DONE", "Agenda", "Limits", "Opener", "Run", "Snapshot"]

Opener = Callable[[Judge, Study, Mapping[str, str] | None, Callable[[int, int, str], None] | None], Asking]

AGENDA_DONE = msg("all that was wanted has been asked")
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
        faulty: Mapping[str, str] | None = None,
        opener: Opener = open_judge,
    ) -> None:
        """``faulty``: judges that can be seen to be unusable, each with its reason; they wait from the start."""
        self._store, self.plan, self._limits, self._secrets = store, plan, limits, secrets
        self._only, self._agenda, self._opener = only, agenda, opener
        self._faulty = dict(faulty or {})
        self.info = store.open_run(plan, provenance(plan))
        self._tally = Tally(plan)
        self._count_kept()
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
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._wanted: tuple[str, str] | None = None
        self._askers: list[Asker] = []
        self._workers: list[asyncio.Task[None]] = []
        self._writer: RunWriter | None = None
        self._arrivals = Arrivals(lambda reason: self._end("paused", reason))
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._main, name=f"run {self.info.run}", daemon=True)

    def start(self) -> Run:
        self._state = "running"
        self._store.set_state(self.info.run, "running")
        self._thread.start()
        return self

    def pause(self, reason: str = msg("paused by you")) -> None:
        """Ask nothing more; calls in flight are waited for and kept."""
        self._end("paused", reason)

    def cancel(self, reason: str = msg("cancelled by you")) -> None:
        """Stop at once: calls in flight are dropped; what has been judged stays."""
        self._end("cancelled", reason)
        with self._lock:
            self._wanted = ("cancelled", reason)  # also where it was only pausing so far
        self._in_loop(self._drop_calls)

    def drop(self, judge: str, reason: str = "") -> None:
        """Take a judge out of the run (see :meth:`Store.drop_judge`); the others go on."""
        self._store.drop_judge(self.info.run, judge, reason or self._waiting.get(judge, ""))
        code = self._tally.codes[judge]
        self._tally.dropped.add(code)
        self._waiting.pop(judge, None)
        self._in_loop(lambda: self._stops[code].set() if code in self._stops else None)

    def ask_again(self, judge: str, secrets: Mapping[str, str] | None = None) -> None:
        """Ask a judge that waits once more while the others go on, with these secrets.

        Where the run comes to its end first the judge waits on, and going on with the run asks it.
        """
        self._in_loop(lambda: self._revive(self._tally.codes[judge], secrets))

    def _in_loop(self, work: Callable[[], object]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(work)

    def _revive(self, code: int, secrets: Mapping[str, str] | None) -> None:
        judge = self.plan.study.judges[code].name
        group, ended = self._group, all(task.done() for task in self._tasks.values())
        if group is None or ended or self._wanted is not None or judge not in self._waiting:
            return
        self._secrets = secrets if secrets is not None else self._secrets
        for known in (self._waiting, self._faulty):
            known.pop(judge, None)
        self._failed_in_a_row[judge] = 0
        self._tasks[code] = group.create_task(self._once_more(code, self._tasks[code]))

    async def _once_more(self, code: int, before: asyncio.Task[None]) -> None:
        await asyncio.wait([before])  # its calls in flight are answers too
        self._arrivals.hand_on()
        if self._writer is not None:
            self._writer.flush()
        await self._ask_judge(code, self._store.done_keys(self.info.run))

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
        self._arrivals.hand_on()
        self._close(*self._save_rest(state, reason))
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        now = self._ended if self._ended is not None else time.monotonic()
        rate = rate_at(now, tuple(self._finished))  # the run appends meanwhile
        left = self._tally.left
        if self._only is not None:
            left = max(0, len(self._only) - self._asked)
        return Snapshot(
            run=self.info.run,
            name=self.info.name,
            state=self._state,
            reason=self._reason,
            planned=self._tally.done + self._tally.left,
            done=self._tally.done,
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

    def _count_kept(self) -> None:
        """What the store holds of this run: judgments by status, calls by judge."""
        self._counts = Counter(self._store.outcome_counts(self.info.run))
        for judge, (done, _) in self._store.by_judge(self.info.run_no).items():
            self._tally.kept[self._tally.codes[judge]] = done
        self._tally.dropped |= {self._tally.codes[one.judge] for one in self._store.run(self.info.run).dropped}

    # -------- the thread

    def _main(self) -> None:
        state, reason = "finished", ""
        try:
            self._writer = self._arrivals.writer = RunWriter(self._store, self.info.run)
            self._writer.flush()  # what an earlier writer had to leave is done, too
            self._count_kept()
            asyncio.run(self._ask_all())
            state, reason = self._wanted or self._outcome()
            state, reason = self._with_waiting(state, reason)
        except LabError as fault:
            state, reason = "paused", str(fault)
        except BaseException as fault:  # ours must end as a reason on the page, not in a log
            state, reason = "paused", f"The lab failed: {innermost(fault)}"
        self._close(*self._save_rest(state, reason))

    def _close(self, state: str, reason: str) -> None:
        with self._lock:
            if not self._over.is_set():
                self._ended = time.monotonic()
                self._state, self._reason, self._stage = state, reason, ""
                self._over.set()

    def _outcome(self) -> tuple[str, str]:
        """How a run ended that nobody stopped."""
        left = self._tally.left
        if self._only is not None and left > 0:
            return "paused", f"the failed calls were asked again; {many(left, 'call', 'are')} left to ask"
        if self._agenda is not None and left > 0:
            return "paused", f"{AGENDA_DONE}; {many(left, 'call')} of the study are left"
        return "finished", ""

    def _with_waiting(self, state: str, reason: str) -> tuple[str, str]:
        """What judges that cannot be asked wait for, behind how the run ended otherwise."""
        if not self._waiting:
            return state, reason
        asked = len(self.plan.study.judges) - len(self._tally.dropped)
        others = asked > len(self._waiting) and self._wanted is None
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
            return "paused", f"The lab failed: {innermost(fault)}"
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
        try:
            async with asyncio.TaskGroup() as self._group:
                for code in self._tally.codes.values():
                    self._tasks[code] = self._group.create_task(self._ask_judge(code, done))
        finally:
            self._arrivals.hand_on()

    async def _ask_judge(self, code: int, done: set[str]) -> None:
        judge = self.plan.study.judges[code]
        calls = (self._agenda or self.plan).calls(code)
        waiting = Feed(calls, done, self._only)
        if not await waiting.fill():
            return
        if self._stop is None:
            raise LabError("A run was asked to work before it was started.")
        stop = self._stops[code] = asyncio.Event()
        if self._stop.is_set() or code in self._tally.dropped:
            return
        asking = self._opened(code, judge)
        if asking is None:
            return
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

    def _opened(self, code: int, judge: Judge) -> Asking | None:
        """The judge, ready to be asked; None where it has to wait."""

        def fetched(done_bytes: int, all_bytes: int, source: str) -> None:
            share = f"{done_bytes / all_bytes if all_bytes else 0.0:.0%} of {all_bytes / 1e6:.0f} MB"
            self._stage = f"fetching {judge.name}: {share} from {source}"

        self._stage = f"starting {judge.name}"
        try:
            if reason := self._faulty.get(judge.name):
                raise LabError(reason)
            return self._opener(judge, self.plan.study, self._secrets, fetched)
        except LabError as fault:
            self._wait_with(code, str(fault))
            return None
        finally:
            self._stage = ""

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
            self._tally.kept[code] += 1
        if self._agenda is not None:
            self._agenda.heard(judgment)
        self._asked += 1
        self._money += money(judge, reply.tokens_in or 0, reply.tokens_out or 0)
        self._finished.append(time.monotonic())
        self._arrivals.add(judgment)
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
                f"{judge.name}: {many(most, 'call')} in a row failed, the last with: {reply.error}. "
                "Mend the cause, then ask the failed calls again and go on.",
            )

    def _budget_spent(self) -> bool:
        limits = self._limits
        if limits.max_calls is not None and self._asked + self._in_flight >= limits.max_calls:
            self._end("paused", f"the budget of {many(limits.max_calls, 'call')} is spent")
            return True
        if limits.max_money is not None and self._money >= limits.max_money:
            self._end("paused", f"the budget of {limits.max_money:g} is spent")
            return True
        return False
