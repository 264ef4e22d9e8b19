"""Run a plan: ask its judges as fast as they allow, and keep every reply in the store.

A run has one thread with one event loop, and its writer has a second thread. Who may touch what:

- the run's thread: the judges, the tally, the plan's iterators;
- the writer's thread: commits, every 0.2 s or 500 replies (see ``store/writer.py``);
- any other thread: ``pause``, ``cancel``, ``wait`` and ``snapshot`` (see ``session.py``).

A pause, a crash and a finished run differ only in what is left to ask. To resume is to plan again
and ask the calls that have no final reply. So a hard kill loses at most the replies in flight and
those that the writer had not committed, and these are asked again.
"""

import asyncio
import importlib.metadata
import platform
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Self

from rubriclab.judges.keys import require_consents
from rubriclab.judges.kinds import Asker, Functions, checked_unopened, in_thread, open_judge
from rubriclab.model.consent import NO_CONSENTS, Consent, Consents, sent_by
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import RULES, Call, Judgment, Outcome, Reply
from rubriclab.model.text import LabError, count
from rubriclab.runs.asking import Asking, about_request
from rubriclab.runs.cluster import ClusterJudge, join_cluster
from rubriclab.runs.looking import (
    Batch,
    Looking,
    LookProgress,
    has_calls_left,
    next_look,
    next_request,
)
from rubriclab.runs.prompt_size import sizes_of
from rubriclab.runs.reading_check import (
    CHECKED,
    CHECKS,
    LAST_CALLS,
    LOOK_EVERY,
    Checking,
    ReadingCheck,
    Remark,
    check_requests,
    cut_context,
    judged_again,
    kept_checks,
    planned_of,
    reading_check,
    spends,
    too_many_lost,
    waiting_words,
)
from rubriclab.runs.session import Session, Snapshot
from rubriclab.runs.tally import Cells, Tally, Unread
from rubriclab.store.read import Reader
from rubriclab.store.store import Store
from rubriclab.store.writer import RunWriter
from rubriclab.study.decisions import packs
from rubriclab.study.plan import Plan

TAKEN_AT_ONCE = 2_000
"""Calls whose replies in another run are looked up together: enough that queries are few, while
2,000 replies of 10 kB still take only 20 MB of memory."""
SHORTEST_REST_SHOWN = 1.0
"""Pauses that a server asks for are shown from this many seconds on; shorter ones would flicker."""
TRIED = "The trial calls are done. Run the study to ask the rest; no call is asked twice."
CONTEXT_CUT = "The server cut the prompt"


@dataclass(frozen=True)
class RunSnapshot(Snapshot):
    """A run at one moment.

    planned, done, failed: calls of all sessions together.
    asked, in_flight: calls of this session.
    rate: calls per second of late; 0 while too few have ended to tell.
    money: spent in this session at the judges' prices; guessed from the characters if a server
        counts no tokens.
    early: ``early[c][p]`` counts the parsed answers of condition c about position p + 1: those that
        chose it (options), or all about the criterion that was there (criteria). These are no
        results: nothing here has an interval or a verdict.
    cells: by condition, how often each score was given with each position; no results either.
    checks: the reading checks of this session, one a judge.
    looks: of a run that may stop early, where each judge is in each data set and axis.
    unread: replies of this session without a score, one record a judge.
    """

    run: str
    asked: int
    in_flight: int
    rate: float
    money: float
    early: tuple[tuple[int, ...], ...]
    cells: tuple[Cells, ...] = ()
    checks: tuple[ReadingCheck, ...] = ()
    looks: tuple[LookProgress, ...] = ()
    unread: tuple[Unread, ...] = ()

    @property
    def needed(self) -> int:
        """The planned calls without those that will not be asked, as their answer is known."""
        return self.planned - sum(progress.needless for progress in self.looks)


class Run(Session[RunSnapshot]):
    """One session of a run, in a thread of its own. Resuming makes another.

    Any thread may call its public methods.

    Args:
        secrets: keys by the names of their variables; they come before the environment's. They
            are let go of when the session ends.
        consents: what the user agreed to for this session alone, besides what the store keeps.
        max_calls, max_money: limits of this session. The run pauses when one is reached.
        retry_failed: ask calls without a score again.
        functions: judges that are a notebook's own code, by name.
        ray: the address of a Ray cluster that asks the calls.
        known: another run (its store and ID) whose replies to the same calls are taken over.
        check: ask the first calls of each judge before all others, and pause the judge if its
            replies cannot be parsed (see ``reading_check``).
        tries: ask no more than this many calls of each judge, check them, and pause.
        ask_all: ask every planned call, although a look has the answer already.
        agree: the user agrees that this plan's keys go to its addresses. This is kept.

    Raises LabError, before anything is kept, if no judge can be opened, and NoConsent if a key
    would go to an address that nobody has agreed to.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        *,
        secrets: Mapping[str, str] | None = None,
        consents: Consents = NO_CONSENTS,
        max_calls: int | None = None,
        max_money: float | None = None,
        retry_failed: bool = False,
        functions: Functions | None = None,
        ray: str | None = None,
        known: tuple[Reader, str] | None = None,
        agree: bool = False,
        check: Checking = "off",
        tries: int | None = None,
        ask_all: bool = False,
    ) -> None:
        check_limits(plan, max_calls=max_calls, max_money=max_money, tries=tries)
        self.store = store
        self.plan = plan
        self._secrets = dict(secrets) if secrets else None
        self._max_calls = max_calls
        self._max_money = max_money
        self._retry_failed = retry_failed
        self._functions = functions or {}
        self._known = known
        self._check = check
        self._tries = tries
        self._ask_all = ask_all
        self._consents = store.consents() | consents
        agreed: list[Consent] = []
        if agree:
            agreed = [consent for judge in plan.study.judges for consent in sent_by(judge)]
            self._consents |= frozenset(agreed)
        # All refusals come before the first write: what is refused leaves nothing behind.
        if self._has_calls_left():
            try:
                self._require_judges()
            except LabError:
                if retry_failed or not self._look_has_answer():
                    raise
        if agree:
            store.agree(agreed)
        self._ray = join_cluster(ray) if ray else None
        self.id = keep_run(store, plan, known[1] if known else "")
        super().__init__(f"run {self.id}")
        info = store.run(self.id)
        self._tally = Tally(plan)
        self._tally.start_from(info.done, info.failed)
        self._writer: RunWriter | None = None
        self._looking = Looking(
            store,
            self.id,
            plan,
            ask_all=ask_all,
            before_look=self._committed,
            before_batch=self._take_over_batch,
        )
        self._waiting: dict[str, str] = {}  # by judge: why it was asked nothing more
        self._remarks: list[str] = []  # what judges have to say at the end
        self._start_checking()

    def _has_calls_left(self) -> bool:
        """Return whether this session has anything to ask. If not, it needs no judge."""
        if self._retry_failed:
            return True
        for info in self.store.runs():
            if info.identity == self.plan.identity:
                stopped_early = info.state == "finished" and self.plan.looks is not None
                if stopped_early and not self._ask_all:
                    return False
                return info.done < info.planned
        return True

    def _look_has_answer(self) -> bool:
        """Return whether the run was stopped, or killed, just before a look that ends it."""
        if self._ask_all or self.plan.looks is None:
            return False
        runs = self.store.runs()
        kept = [info for info in runs if info.identity == self.plan.identity]
        return bool(kept) and not has_calls_left(self.store, kept[0].id, self.plan)

    def _require_judges(self) -> None:
        own_code = self._functions
        asked = [judge for judge in self.plan.study.judges if judge.name not in own_code]
        require_consents(asked, self._secrets, self._consents)
        check_judges(self.plan, self._secrets, own_code, self._consents)

    def _start_checking(self) -> None:
        """Set up the fields of the reading check."""
        self._checks: dict[str, ReadingCheck] = {}
        self._checks_kept = kept_checks(self.store.made_with(self.id))
        self._cutting: set[str] = set()  # judges whose server turned out to cut prompts
        self._recent = {
            judge.name: deque[Judgment](maxlen=LAST_CALLS) for judge in self.plan.study.judges
        }
        # By judge: reasons for which the run has paused before, and went on. Whoever resumed has
        # seen them, so they do not pause it again. A cut context is the exception on the command
        # line, where nobody clicks: its replies answer prompts that the judge did not see in full.
        always_pauses = frozenset() if self._check == "hold" else frozenset({"context"})
        self._let_pass = {
            name: frozenset(facts.get("paused", ())) - always_pauses
            for name, facts in self._checks_kept.items()
        }

    # ------------------------------------------------------------ from any thread

    def start(self) -> Self:
        with suppress(LabError):  # a full disk: the run itself pauses and says so
            self.store.set_state(self.id, "running")
        return super().start()

    def snapshot(self) -> RunSnapshot:
        tally, looks = self._tally, tuple(self._looking.progress.values())
        rate = tally.pace.rate() if self.active and not self.stopping else 0.0
        made = RunSnapshot(
            planned=len(self.plan),
            done=tally.done,
            failed=tally.failed,
            state=self._state,
            reason=self._reason,
            stage=self._stage_now(),
            seconds_left=None,
            run=self.id,
            asked=tally.asked.total(),
            in_flight=tally.in_flight.total(),
            rate=rate,
            money=tally.spent(),
            early=tuple(tuple(counts) for counts in tally.early),
            cells=tuple(tally.cells),
            checks=tuple(self._checks.values()),
            looks=looks,
            unread=tuple(tally.unread.values()),
        )
        seconds_left = max(0, made.needed - made.done) / rate if rate else None
        # A run that asks every call comes to no end before the last one.
        look = None if self._ask_all else next_look(looks, made.done, made.needed, rate)
        return replace(made, seconds_left=seconds_left, next_look=look)

    def _stage_now(self) -> str:
        """Return what the run is waiting for; empty while calls go out and come back."""
        if not self.active:
            return ""
        in_flight = self._tally.in_flight.total()
        if self.stopping == "cancelled":
            return "cancelling"
        if self.stopping and in_flight:
            return f"pausing: finishing {count(in_flight, 'call')} in flight"
        askings = tuple(self._askings.values())
        for asking in askings:
            seconds = asking.resting()
            if seconds >= SHORTEST_REST_SHOWN:
                return f"{asking.settings.name} asked for a pause: {seconds:,.0f} s left"
        if self._stage:
            return self._stage
        for asking in askings:
            trouble = asking.trouble or _trouble_of(asking.asker)
            if trouble:
                return trouble
        return ""

    # ------------------------------------------------------------ the run's own thread

    async def _work(self) -> tuple[str, str]:
        self._writer = self.store.writer(self.id)
        self._writer.flush()  # what an earlier session could not commit
        self._count_earlier_sessions()
        if self._known is not None and self.plan.looks is None:
            await self._take_over(self._writer, *self._known, self.plan.calls())
        done = self._done = self.store.final_keys(self.id, retry_failed=self._retry_failed)
        self._final = self.store.final_keys(self.id) if self._retry_failed else done
        # Judges are asked side by side. They share the set of answered calls, the tally and the
        # writer, and one that halts does not stop the others.
        async with asyncio.TaskGroup() as group:
            for judges in _asked_in_turn(self.plan.study.judges):
                group.create_task(self._ask_judges(judges, done))
        # Failed calls that wait for another try are final for a look, so it would say too much.
        if self.plan.looks is not None and not self._retry_failed:
            with suppress(LabError):  # a full disk: the writer says so at its end
                # Nothing else goes on in this thread, and Python may be ending: then it starts no
                # others.
                self._writer.flush()
                self._looking.look_after_stop()
        return self._ended_as()

    async def _ask_judges(self, judges: Sequence[JudgeSettings], done: set[str]) -> None:
        """Ask these judges, one after the other."""
        for settings in judges:
            await self._ask_judge(settings, done)

    def _ended_as(self) -> tuple[str, str]:
        """Return the run's state and reason, now that no judge is asked any more."""
        done, failed = self._tally.done, self._tally.failed
        complete = done >= len(self.plan)
        if self.plan.looks is not None and not complete:
            judges = {judge.name for judge in self.plan.study.judges}
            complete = judges <= self._looking.through
        if self._wanted is not None and not complete:
            return self._wanted
        if self._waiting:
            reasons = " ".join(dict.fromkeys(self._waiting.values()))
            if len(self.plan.study.judges) > len(self._waiting):
                reasons += " The other judges went on."
            return "paused", reasons
        if self._tries is not None and not complete:
            return "paused", TRIED
        if done <= failed:
            last = ""
            if self._tally.last_error:
                last = f" The last error: {self._tally.last_error}."
            return (
                "failed",
                f"0 of {done:,} replies could be parsed.{last} Look at the replies under "
                "Judgments.",
            )
        return "finished", " ".join(self._remarks)

    def _finish(self, ended: tuple[str, str]) -> tuple[str, str]:
        self._secrets = None  # a run that is over has no use for keys
        if self._ray is not None:
            self._ray.shutdown()
        if self._writer is None:  # another session has the run, and its state is that one's
            return ended
        try:
            self._writer.close()
        except LabError as fault:
            ended = "paused", str(fault)
        # The state last: a crash before this line leaves the run “running” in the file, and the
        # next opening of the store turns that into “interrupted”. A run is never “finished” before
        # its last reply is committed.
        state, reason = ended
        self.store.set_state(self.id, state, reason)
        return ended

    def _count_earlier_sessions(self) -> None:
        info = self.store.run(self.id)
        done, failed = info.done, info.failed
        if self._retry_failed:  # failed calls are to be asked again
            done, failed = done - failed, 0
        self._tally.start_from(done, failed)
        if info.done:
            self._tally.start_early_from(self.store.table(self.id), self.plan.conditions)

    async def _take_over_batch(self, batch: Batch) -> bool:
        """Keep another run's replies to the calls of a batch, before the rest of it is asked.

        Return whether there were any.
        """
        if self._known is None or self._writer is None:
            return False
        taken = await self._take_over(self._writer, *self._known, batch.calls(self.plan))
        self._done |= taken
        return bool(taken)

    async def _take_over(
        self, writer: RunWriter, store: Reader, id: str, calls: Iterator[Call]
    ) -> set[str]:
        """Keep the replies of another run to ``calls`` of this one, and return their keys.

        A run that is gone has none.
        """
        self._stage = "taking over replies that do not change"
        done = self.store.final_keys(self.id)
        taken: set[str] = set()
        while self._wanted is None:
            some = list(islice(calls, TAKEN_AT_ONCE))
            if not some:
                break
            missing = {call.key: call for call in some if call.key not in done}
            with suppress(LabError):
                for key, (reply, outcomes) in store.answers(id, list(missing)).items():
                    judgment = _taken_over(missing[key], reply, outcomes, id)
                    self._tally.take_over(judgment)
                    writer.add(judgment)
                    taken.add(key)
            # Flushing after each batch bounds what a kill loses, and what waits in memory.
            writer.flush()
            await asyncio.sleep(0)  # a pause comes in here
        self._stage = ""
        return taken

    async def _committed(self) -> bool:
        """Commit all replies, so that a look finds them. Return False if that is not possible."""
        assert self._writer is not None
        try:
            await asyncio.to_thread(self._writer.flush)
        except LabError as fault:
            self.pause(str(fault))
            return False
        return self._wanted is None

    async def _ask_judge(self, settings: JudgeSettings, done: set[str]) -> None:
        """Ask one judge all its calls that are not ``done``, from opening it to closing it."""
        batches = self._looking.batches(settings.name, done, self._final)
        # The first batch before the judge: loading a model for nothing would take a minute.
        first = await anext(batches, None)
        if first is None or self._wanted is not None:
            return
        asker = await self._opened(settings)
        if asker is None:
            return
        asking = self._askings[settings.name] = Asking(settings, asker)
        if self._max_money is not None:
            # Nobody knows yet what a call costs. With one in flight the first reply tells, before
            # others can pass the limit.
            asking.limit = 1.0
        if self._wanted is not None:  # stopped while the judge was opened
            asking.stop()
        try:
            await asking.check_constraint(self.plan.constraint(settings.name))
            unchecked = self._check == "off" and self._tries is None
            if unchecked or await self._reads_well(asking, done):
                batch: Batch | None = first
                while batch is not None:
                    await self._ask_requests(asking, batch.requests(self.plan, done))
                    if asking.stopped or self._wanted is not None:
                        break  # the batch may not be complete
                    batch = await anext(batches, None)
        finally:
            trouble = _trouble_of(asker)
            if trouble:
                self._remarks.append(trouble)
            self._remarks += [f"{settings.name}: {part}." for part in _adaptations_of(asker)]
            await asker.close()
        if asking.reason:
            self._waiting[settings.name] = asking.reason

    async def _opened(self, settings: JudgeSettings) -> Asker | None:
        """Return the judge, ready to be asked; None, with the reason noted, if it cannot be had."""
        self._stage = f"opening {settings.name}"
        try:
            if self._ray is not None:
                return ClusterJudge(
                    self._ray, settings, self.plan.rubric, self.plan.items, self._consents
                )
            return await open_judge(
                settings,
                secrets=self._secrets,
                progress=partial(self._fetched, settings.name),
                rubric=self.plan.rubric,
                items=self.plan.items,
                function=self._functions.get(settings.name),
                consents=self._consents,
            )
        except LabError as fault:
            self._waiting[settings.name] = f"{settings.name}: {fault}"
            return None
        finally:
            self._stage = ""

    async def _ask_requests(self, asking: Asking, requests: Iterator[list[Call]]) -> None:
        """Ask these requests, as many at once as the judge takes, and wait for the last reply.

        A task is made only when there is room for its request, so that a plan of a million calls
        never has more tasks than calls in flight.
        """
        name = asking.settings.name
        calls = await next_request(requests)
        async with asyncio.TaskGroup() as group:
            while calls is not None and await asking.enter():
                if self._budget_spent():
                    asking.leave()
                    break
                if self._max_calls is not None:
                    # A request of several orders must not pass the limit either.
                    tally = self._tally
                    left = self._max_calls - tally.asked.total() - tally.in_flight.total()
                    calls = calls[:left]
                self._tally.in_flight[name] += len(calls)
                self._track(group.create_task(self._ask(asking, calls)))
                calls = await next_request(requests)

    async def _ask(self, asking: Asking, calls: Sequence[Call]) -> None:
        """Ask one request, and keep its replies."""
        try:
            replies = await asking.final_replies(calls)
        finally:
            self._tally.in_flight[asking.settings.name] -= len(calls)
            asking.leave()
        if replies is None or self._writer is None:
            return
        for call, reply in zip(calls, replies, strict=True):
            judgment = self.plan.judgment(call, reply)
            self._keep(asking.settings, judgment, len(calls), self._writer)
        asking.watch(calls[0], about_request(replies))
        if self._check != "off" and self._tries is None:
            self._watch(asking)

    def _keep(
        self, settings: JudgeSettings, judgment: Judgment, together: int, writer: RunWriter
    ) -> None:
        """Count a judgment and hand it to the writer.

        ``together``: how many calls shared the request. A kill before the writer's next commit
        loses the judgment, and the call is asked again on resuming.
        """
        self._tally.add(settings, judgment, together)
        if not judgment.reply.error:  # a judge whose calls fail is halted for that
            self._recent[settings.name].append(judgment)
        try:
            writer.add(judgment)
        except LabError as fault:  # the writer has it, and commits it once there is room
            self.pause(str(fault))

    def _budget_spent(self) -> bool:
        """Pause the run, and return True, if one more call would pass a limit."""
        tally = self._tally
        sent = tally.asked.total() + tally.in_flight.total()
        if self._max_calls is not None and sent >= self._max_calls:
            self.pause(f"the limit of {count(self._max_calls, 'call')} is reached")
            return True
        if self._max_money is not None and tally.committed() >= self._max_money:
            spent = tally.spent()
            self.pause(f"the limit of {self._max_money:g} is reached ({spent:.4g} spent)")
            return True
        return False

    # ------------------------------------------------------------ how replies are read

    async def _reads_well(self, asking: Asking, done: set[str]) -> bool:
        """Ask a judge's first calls, check their replies, and return whether to ask all others.

        ``done`` gets the keys of the calls that were asked. Calls of an earlier session count. If
        these stopped the run, the server may have been repaired since: the next calls are checked
        instead.
        """
        name = asking.settings.name
        number = self._tries or CHECKED
        requests = check_requests(self.plan, name, number)
        calls = list(chain(*requests))
        if self._tries is None and all(call.key in done for call in calls):
            earlier = self._look(asking, calls)
            seen = self._check == "hold" and name in self._checks_kept
            if seen or earlier is None or earlier.stop is None:
                return True
            requests = check_requests(self.plan, name, number, frozenset(done))
            calls = list(chain(*requests))
        await self._ask_first(asking, requests, done)
        made = self._look(asking, calls)
        done.update(call.key for call in calls)
        if made is None:
            return False  # stopped before all were answered
        # A new dict instead of a changed one: other threads may be reading the old one.
        self._checks = self._checks | {name: made}
        self._keep_check(
            name,
            calls=[call.key for call in calls],
            adapted=_adaptations_of(asking.asker),
            warned=[remark.kind for remark in made.warnings],
        )
        if made.cut:
            self._leave_out([call for call in calls if call.key in made.cut])
        return await self._goes_on_after(asking, made, done)

    async def _ask_first(
        self, asking: Asking, requests: Sequence[list[Call]], done: set[str]
    ) -> None:
        """Ask those calls of the check that have no reply yet."""
        number = sum(len(request) for request in requests)
        self._stage = waiting_words(number, asking.settings.name)
        missing = []
        for request in requests:
            calls = [call for call in request if call.key not in done]
            if calls:
                missing.append(calls)
        await self._ask_requests(asking, iter(missing))
        self._stage = ""

    async def _goes_on_after(self, asking: Asking, made: ReadingCheck, done: set[str]) -> bool:
        """Return whether to go on after this check; halt the judge, with the reason, if not."""
        name = asking.settings.name
        if self._tries is not None and made.stop is None:
            return False
        held = self._check == "hold" and made.holds and spends(asking.settings)
        if made.stop is None and not held:
            return True
        if await next_request(packs(self.plan.calls(name), done)) is None:
            return True  # nothing is left to save; the run ends, and says how
        kinds = [remark.kind for remark in (made.stop, *made.warnings) if remark is not None]
        self._keep_check(name, paused=kinds, reason=[made.reason()])
        asking.halt(made.reason())
        return False

    def _look(self, asking: Asking, calls: Sequence[Call]) -> ReadingCheck | None:
        """Return the check of these calls; None if not all of them have a reply."""
        assert self._writer is not None
        try:
            self._writer.flush()
        except LabError as fault:  # a full disk: the store does not have all replies
            self.pause(str(fault))
            return None
        answers = self.store.answers(self.id, [call.key for call in calls], errors=True)
        asked = judged_again(calls, answers)
        if not asked or len(asked) < len(calls):
            return None
        return reading_check(
            asking.settings,
            asked,
            self.plan.parse,
            planned=planned_of(self.plan, asking.settings.name),
            adapted=_adaptations_of(asking.asker),
        )

    def _keep_check(self, judge: str, **facts: list[str]) -> None:
        """Keep what a check was made of. Reasons to pause are added to the earlier ones."""
        kept = self._checks_kept.setdefault(judge, {})
        facts["paused"] = sorted({*kept.get("paused", ()), *facts.get("paused", ())})
        self._checks_kept[judge] = kept | facts
        with suppress(LabError):  # a full disk: the writer says so
            self.store.keep_made_with(self.id, {CHECKS: self._checks_kept})

    def _leave_out(self, calls: Sequence[Call]) -> None:
        """Turn replies to cut prompts into failed calls: the judge did not see the whole prompt."""
        assert self._writer is not None
        with suppress(LabError):
            self._writer.flush()
        answers = self.store.answers(self.id, [call.key for call in calls])
        for judgment in judged_again(calls, answers):
            self._tally.take_back(judgment, CONTEXT_CUT)
            reply = replace(judgment.reply, error=CONTEXT_CUT, kind="context_cut")
            outcomes = self.plan.parse(judgment.call, reply)
            with suppress(LabError):
                self._writer.add(Judgment(judgment.call, reply, outcomes))

    def _watch(self, asking: Asking) -> None:
        """Halt a judge whose latest replies are lost, or whose server cuts prompts.

        A reason for which the run has paused before does not pause it again.
        """
        settings = asking.settings
        recent = self._recent[settings.name]
        passed = self._let_pass.get(settings.name, frozenset())
        reason: Remark | None = None
        if "unparsed" not in passed and not settings.simulated:
            reason = too_many_lost(settings, recent)
        # Replies that come in while the judge is being halted for its context are all looked at.
        due = self._tally.asked[settings.name] % LOOK_EVERY == 0 or settings.name in self._cutting
        if reason is None and due and "context" not in passed:
            reason = self._cut_prompts(settings.name)
        if reason is not None and not asking.reason:
            asking.halt(reason.text)
            self._keep_check(settings.name, paused=[reason.kind], reason=[reason.text])

    def _cut_prompts(self, judge: str) -> Remark | None:
        """Return why a judge's server is known to cut prompts, and leave out what it cut."""
        recent = self._recent[judge]
        reason, cut = cut_context(sizes_of(recent))
        if cut:
            self._cutting.add(judge)
            self._leave_out([judgment.call for judgment in recent if judgment.call.key in cut])
        return reason


def _trouble_of(asker: Asker) -> str:
    """Return which of a judge's servers do not answer. Only judges behind servers can say so."""
    return str(getattr(asker, "trouble", ""))


def _adaptations_of(asker: Asker) -> list[str]:
    """Return what a judge's server refused and is sent in another form."""
    return list(getattr(asker, "adaptations", ()))


def _asked_in_turn(judges: Sequence[JudgeSettings]) -> list[list[JudgeSettings]]:
    """Return the judges in groups. Groups are asked side by side, the judges of one in turn.

    A group has more than one judge only where a server would get typed questions and chats at once.
    vLLM 0.32 batches the two together, and then loses the probabilities of the chats.
    """
    groups: list[list[JudgeSettings]] = []
    for settings in judges:
        joined = [settings]
        apart = []
        for group in groups:
            if any(_must_take_turns(settings, other) for other in group):
                joined = group + joined
            else:
                apart.append(group)
        groups = [*apart, joined]
    return groups


def _must_take_turns(one: JudgeSettings, other: JudgeSettings) -> bool:
    """Return whether one of two judges at one address asks typed questions and the other chats."""
    if one.about.typed_questions == other.about.typed_questions:
        return False
    return not set(one.addresses).isdisjoint(other.addresses)


def _taken_over(call: Call, reply: Reply, outcomes: Sequence[Outcome], id: str) -> Judgment:
    """Return another run's reply as this run's judgment, with a note that says where it is from."""
    if "answered in run" not in reply.note:  # else it names the run that asked first
        reply = reply.noted(f"answered in run {id}")
    own = tuple(replace(outcome, item=call.items[outcome.slot]) for outcome in outcomes)
    return Judgment(call, reply, own)


def check_limits(
    plan: Plan, *, max_calls: int | None, max_money: float | None, tries: int | None
) -> None:
    """Raise LabError for a limit that would not hold."""
    for name, limit in (("calls", max_calls), ("money", max_money), ("tries", tries)):
        if limit is not None and not limit > 0:  # written so that NaN, which limits nothing, fails
            raise LabError(
                f"The limit of {name} is {limit}. Use a number above 0, or leave it out."
            )
    priced = any(judge.price_input or judge.price_output for judge in plan.study.judges)
    if max_money is not None and not priced:
        raise LabError(
            "A limit of money needs a price, and no judge has one. Set price_input and "
            "price_output."
        )


def check_judges(
    plan: Plan,
    secrets: Mapping[str, str] | None = None,
    functions: Functions | None = None,
    consents: Consents = NO_CONSENTS,
) -> None:
    """Raises LabError where none of a plan's judges can be opened, as far as that shows without
    loading a model.

    Where only some cannot, the run asks the others and says what these wait for.
    """

    async def opened(settings: JudgeSettings) -> None:
        if checked_unopened(settings):
            return
        asker = await open_judge(
            settings,
            secrets=secrets,
            rubric=plan.rubric,
            function=(functions or {}).get(settings.name),
            consents=consents,
        )
        await asker.close()

    faults = []
    for settings in plan.study.judges:
        try:
            # The caller may be in an event loop already, as a notebook is.
            in_thread(partial(opened, settings))
            return
        except LabError as fault:
            faults.append(fault)
    raise faults[0]


def keep_run(store: Store, plan: Plan, answers_of: str = "") -> str:
    """Keep the plan's run with its data, unless the store has it, and return its ID.

    ``answers_of``: the run whose replies it takes over.
    """
    facts = made_with() | kind_versions(plan.study.judges)
    if answers_of:
        facts["answers_of"] = answers_of
    if plan.notes:
        facts["note"] = " ".join(plan.notes)
    return store.create_run(
        name=plan.study.name,
        study=study_body(plan),
        identity=plan.identity,
        conditions=plan.conditions,
        planned=plan.planned,
        items=plan.items_frame(),
        dataset_id=" ".join(store.save_dataset(dataset) for dataset, _ in plan.sources),
        made_with=facts,
        looks=plan.looks,
    )


def study_body(plan: Plan) -> dict[str, Any]:
    """Return the study as the store keeps it: JSON values with the rubrics written out.

    So the run can be planned again without the files that the study names.
    """
    body = plan.study.model_dump(mode="json")
    written = [rubric.document() for _, rubric in plan.sources]
    body["rubric"] = written[0]
    for part, rubric in zip(body["data"], written, strict=True):
        part["rubric"] = None if rubric == written[0] else rubric
    body["rubrics"] = {name: rubric.document() for name, rubric in plan.wordings.items()}
    return body


def kind_versions(judges: Iterable[JudgeSettings]) -> dict[str, str]:
    """Return the packages that bring the kinds of these judges, and what is part of an identity."""
    versions: dict[str, str] = {}
    for about in [judge.about for judge in judges]:
        if about.package:
            versions[f"package of judge kind {about.name}"] = about.package
        if about.version:
            versions[f"judge kind {about.name}"] = about.version
    return versions


def made_with() -> dict[str, str]:
    """Return the versions that a run is made with, and that of the rules of verdicts."""
    versions = {
        "rules": str(RULES),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in ("rubriclab", "openai", "xllamacpp", "duckdb", "numpy"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
