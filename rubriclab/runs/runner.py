"""A plan in, judgments in the store out: as fast as the judges allow, and nothing is lost on the
way.

One thread and one event loop a run. A pause, a crash and a finished run differ only in what is left
to ask: resuming is planning again and asking what has no final answer.
"""

import asyncio
import importlib.metadata
import platform
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any, Self

import numpy as np

from rubriclab.judges.keys import require_consents
from rubriclab.judges.kinds import Asker, Functions, checked_unopened, in_thread, open_judge
from rubriclab.model.consent import NO_CONSENTS, Consents, sent_by
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import RULES, Call, Judgment, Status
from rubriclab.model.text import LabError, count
from rubriclab.runs.asking import Asking, about_request
from rubriclab.runs.cluster import ClusterJudge, join_cluster
from rubriclab.runs.forecast import price_of_reply
from rubriclab.runs.reading_check import (
    CHECKED,
    CHECKS,
    LAST_CALLS,
    LOOK_EVERY,
    Checking,
    PromptSize,
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
from rubriclab.store.read import Reader
from rubriclab.store.store import Store
from rubriclab.store.writer import RunWriter
from rubriclab.study.decisions import packs
from rubriclab.study.plan import Plan

RATE_SECONDS = 15.0
"""Calls a second are those of the last so many seconds."""
TAKEN_AT_ONCE = 2_000
"""Calls whose answers in another run are looked up together."""
TRIED = "The calls that were to be tried are asked. Run the study to go on; no call is asked twice."


@dataclass(frozen=True)
class RunSnapshot(Snapshot):
    """A run at one moment.

    ``planned``, ``done`` (final answers, failures in), ``failed`` (of them without a score): calls
    of all sessions together; ``asked``: of this one. ``rate``: calls a second of late; ``money``:
    spent in this session at the judges' prices, by the signs where a server counts no tokens.
    ``early[c][p]``: parsed answers of condition c about position p + 1: those that chose it
    (options), or all about the criterion that stood there (criteria); no result: nothing here has
    an interval or a verdict. ``checks``: the reading checks of this session, one a judge.
    """

    run: str
    asked: int
    in_flight: int
    rate: float
    money: float
    early: tuple[tuple[int, ...], ...]
    checks: tuple[ReadingCheck, ...] = ()


class Run(Session[RunSnapshot]):
    """One run in a thread of its own; methods may be called from any thread. Made once a session:
    resuming makes another.

    ``secrets``: keys by the variables' names, before the environment's. ``max_calls``,
    ``max_money``: of this session; the run pauses there. ``retry_failed``: calls without a score
    are asked again. ``functions``: of judges that are a notebook's own code, by name; ``ray``: the
    address of a Ray cluster that asks the calls. ``known``: a run (its store and id) whose answers
    to the same calls are taken over, so that only the others are asked. ``check``: the first calls
    of each judge are asked before all others, and the judge pauses where its replies cannot be read
    (see ``reading_check``). ``tries``: ask no more than so many calls of each judge, look at them
    in the same way, and pause. ``agree``: the user says yes to sending this plan's keys to its
    addresses, which is kept. Raises LabError, before anything is kept, where no judge can be
    opened, and NoConsent where a key would go to an address that nobody has agreed to.
    """

    def __init__(
        self,
        store: Store,
        plan: Plan,
        *,
        secrets: Mapping[str, str] | None = None,
        max_calls: int | None = None,
        max_money: float | None = None,
        retry_failed: bool = False,
        functions: Functions | None = None,
        ray: str | None = None,
        known: tuple[Reader, str] | None = None,
        agree: bool = False,
        check: Checking = "off",
        tries: int | None = None,
    ) -> None:
        limits = {"calls": max_calls, "money": max_money, "tries": tries}
        for name, limit in limits.items():
            if limit is not None and not limit > 0:  # NaN would be no limit at all
                raise LabError(
                    f"The limit of {name} is {limit}; expected more than 0. Leave it out for none."
                )
        if max_money is not None and not any(
            judge.price_input or judge.price_output for judge in plan.study.judges
        ):
            raise LabError(
                "No judge has a price, so no limit of money would hold: give price_input and "
                "price_output."
            )
        kept = next((info for info in store.runs() if info.identity == plan.identity), None)
        self._consents = store.consents()
        if agree:
            given = [consent for judge in plan.study.judges for consent in sent_by(judge)]
            self._consents |= frozenset(given)
        if retry_failed or kept is None or kept.done < kept.planned:  # else it needs no judge
            asked = [judge for judge in plan.study.judges if judge.name not in (functions or {})]
            require_consents(asked, secrets, self._consents)
            check_judges(plan, secrets, functions, self._consents)
        if agree:
            store.agree(given)
        self.store, self.plan = store, plan
        self._secrets, self._max_calls, self._max_money = secrets, max_calls, max_money
        self._retry_failed, self._functions = retry_failed, functions or {}
        self._ray = join_cluster(ray) if ray else None
        self._known = known
        self._check, self._tries = check, tries
        self.id = kept_run(store, plan, known[1] if known else "")
        super().__init__(f"run {self.id}")
        info = store.run(self.id)
        self._done, self._failed = info.done, info.failed
        self._asked, self._in_flight = Counter[str](), Counter[str]()  # by judge, as what they cost
        self._money = {judge.name: 0.0 for judge in plan.study.judges}
        self._counts = [[0] * condition.positions for condition in plan.conditions]
        self._finished: deque[float] = deque(maxlen=2_000)
        self._last_error = ""
        self._waiting: dict[str, str] = {}
        self._remarks: list[str] = []
        self._writer: RunWriter | None = None
        self._checks: dict[str, ReadingCheck] = {}
        self._cutting: set[str] = set()  # judges whose server turned out to cut prompts
        self._recent = {
            judge.name: deque[Judgment](maxlen=LAST_CALLS) for judge in plan.study.judges
        }
        # By judge: reasons for which the run has paused before, and went on.
        self._checks_kept = kept_checks(store.made_with(self.id))
        # Whoever goes on has seen the reason. Of a cut context a command is told each time, for it
        # would count replies to prompts that the judge did not see; on a page somebody clicks.
        asked_back = frozenset() if check == "hold" else frozenset({"context"})
        self._let_pass = {
            name: frozenset(known.get("paused", ())) - asked_back
            for name, known in self._checks_kept.items()
        }

    # ------------------------------------------------------------ from any thread

    def start(self) -> Self:
        with suppress(LabError):  # a full disk is said by the run itself
            self.store.set_state(self.id, "running")
        return super().start()

    def snapshot(self) -> RunSnapshot:
        recent = [
            moment for moment in tuple(self._finished) if moment > time.monotonic() - RATE_SECONDS
        ]
        rate = (len(recent) - 1) / max(recent[-1] - recent[0], 1e-3) if len(recent) > 1 else 0.0
        left = max(0, len(self.plan) - self._done)
        return RunSnapshot(
            planned=len(self.plan),
            done=self._done,
            failed=self._failed,
            state=self._state,
            reason=self._reason,
            stage=self._stage_now(),
            seconds_left=left / rate if rate > 0 and self.active else None,
            run=self.id,
            asked=self._asked.total(),
            in_flight=self._in_flight.total(),
            rate=rate,
            money=sum(self._money.values()),
            early=tuple(map(tuple, self._counts)),
            checks=tuple(self._checks.values()),
        )

    def _stage_now(self) -> str:
        if not self.active:
            return ""
        if self._wanted is not None and (in_flight := self._in_flight.total()):
            return f"pausing: {count(in_flight, 'call')} in flight are waited for"
        askings = tuple(self._askings.values())
        for asking in askings:
            if (seconds := asking.resting()) >= 1.0:
                return f"{asking.settings.name} asks to be left alone for {seconds:,.0f} s more"
        troubles = [asking.trouble or getattr(asking.asker, "trouble", "") for asking in askings]
        return self._stage or next(filter(None, troubles), "")

    # ------------------------------------------------------------ the run's own thread

    def _finish(self, ended: tuple[str, str]) -> tuple[str, str]:
        if self._ray is not None:
            self._ray.shutdown()
        if self._writer is None:  # another session has the run, and says how it goes
            return ended
        try:
            self._writer.close()
        except LabError as fault:
            ended = "paused", str(fault)
        self.store.set_state(self.id, *ended)
        return ended

    def _count_kept(self) -> None:
        """What earlier sessions have left: calls done and failed, early counts."""
        info = self.store.run(self.id)
        self._done, self._failed = info.done, info.failed
        if self._retry_failed:
            self._done, self._failed = info.done - info.failed, 0
        if info.done:
            rows = self.store.table(self.id).rows
            rows = rows[(rows["status"] == Status.OK) & (rows["position"] > 0)]
            for code, condition in enumerate(self.plan.conditions):
                positions = rows.loc[rows["condition"] == code, "position"].to_numpy(dtype=int) - 1
                self._counts[code] = np.bincount(positions, minlength=condition.positions).tolist()

    async def _work(self) -> tuple[str, str]:
        self._writer = self.store.writer(self.id)
        self._writer.flush()  # what an earlier session could not commit
        if self._known is not None:
            await self._take_over(self._writer, *self._known)
        self._count_kept()
        done = self.store.final_keys(self.id, retry_failed=self._retry_failed)
        async with asyncio.TaskGroup() as group:
            for settings in self.plan.study.judges:
                group.create_task(self._ask_judge(settings, done))
        if self._wanted is not None and self._done < len(self.plan):
            return self._wanted
        if self._waiting:
            others = len(self.plan.study.judges) > len(self._waiting)
            reasons = " ".join(dict.fromkeys(self._waiting.values()))
            return "paused", f"{reasons} The other judges went on." if others else reasons
        if self._tries is not None and self._done < len(self.plan):
            return "paused", TRIED
        if self._done <= self._failed:
            last = f" The last error: {self._last_error}." if self._last_error else ""
            return (
                "failed",
                f"0 of {self._done:,} replies could be parsed.{last} Look at the replies under "
                f"Judgments.",
            )
        return "finished", " ".join(self._remarks)

    async def _take_over(self, writer: RunWriter, store: Reader, id: str) -> None:
        """Keep what another run was answered to calls of this one; a run that is gone has no
        answers.
        """
        self._stage = "taking over the answers that do not change"
        done, calls = self.store.final_keys(self.id), self.plan.calls()
        while self._wanted is None and (batch := list(islice(calls, TAKEN_AT_ONCE))):
            asked = {call.key: call for call in batch if call.key not in done}
            with suppress(LabError):
                for key, (reply, outcomes) in store.answers(id, [*asked]).items():
                    if "answered in run" not in reply.note:
                        reply = reply.noted(f"answered in run {id}")
                    items = asked[key].items
                    own = tuple(replace(outcome, item=items[outcome.slot]) for outcome in outcomes)
                    writer.add(Judgment(asked[key], reply, own))
            writer.flush()
            await asyncio.sleep(0)
        self._stage = ""

    async def _ask_judge(self, settings: JudgeSettings, done: set[str]) -> None:
        requests = packs(self.plan.calls(settings.name), done)
        calls = await next_request(requests)
        if calls is None or self._wanted is not None:
            return
        asker = await self._opened(settings)
        if asker is None:
            return
        asking = self._askings[settings.name] = Asking(settings, asker)
        if self._max_money is not None:
            asking.limit = 1.0  # what a call costs, the first answer tells
        if self._wanted is not None:
            asking.stop()
        try:
            await asking.check_constraint(self.plan.constraint(settings.name))
            if self._check == "off" and self._tries is None:
                await self._ask_requests(asking, chain([calls], requests))
            elif await self._reads_well(asking, done):
                await self._ask_requests(asking, packs(self.plan.calls(settings.name), done))
        finally:
            self._remarks += filter(None, [getattr(asker, "trouble", "")])
            self._remarks += [
                f"{settings.name}: {said}." for said in getattr(asker, "adaptations", ())
            ]
            await asker.close()
        if asking.reason:
            self._waiting[settings.name] = asking.reason

    async def _ask_requests(self, asking: Asking, requests: Iterator[list[Call]]) -> None:
        """Ask these requests, as many at once as the judge takes, and wait for the last reply."""
        name = asking.settings.name
        calls = await next_request(requests)
        async with asyncio.TaskGroup() as group:
            while calls is not None and await asking.enter():
                if self._budget_spent():
                    asking.leave()
                    break
                if self._max_calls is not None:
                    calls = calls[: self._max_calls - self._asked.total() - self._in_flight.total()]
                self._in_flight[name] += len(calls)
                self._track(group.create_task(self._ask(asking, calls)))
                calls = await next_request(requests)

    # ------------------------------------------------------------ how replies are read

    async def _reads_well(self, asking: Asking, done: set[str]) -> bool:
        """Ask a judge's first calls, look at their replies, and return whether to ask all others.

        ``done`` gets the keys of the calls that were asked. Calls of an earlier session count.
        Where these stopped the run, the server may have been mended: the next calls are looked at
        then.
        """
        name, number = asking.settings.name, self._tries or CHECKED
        requests = check_requests(self.plan, name, number)
        if self._tries is None and all(call.key in done for call in chain(*requests)):
            earlier = self._look(asking, list(chain(*requests)))
            seen = self._check == "hold" and name in self._checks_kept
            if seen or earlier is None or earlier.stop is None:
                return True
            requests = check_requests(self.plan, name, number, frozenset(done))
        calls = list(chain(*requests))
        self._stage = waiting_words(len(calls), name)
        missing = ([call for call in request if call.key not in done] for request in requests)
        await self._ask_requests(asking, filter(None, missing))
        self._stage = ""
        made = self._look(asking, calls)
        done.update(call.key for call in calls)
        if made is None:
            return False  # stopped before all were answered
        self._checks = self._checks | {name: made}  # other threads read the one that is there
        self._keep_check(
            name,
            calls=[call.key for call in calls],
            adapted=self._adapted(asking),
            warned=[remark.kind for remark in made.warnings],
        )
        if made.cut:
            self._leave_out([call for call in calls if call.key in made.cut])
        if self._tries is not None and made.stop is None:
            return False
        held = self._check == "hold" and made.holds and spends(asking.settings)
        if made.stop is None and not held:
            return True
        if await next_request(packs(self.plan.calls(name), done)) is None:
            return True  # nothing is left to be spared; the run ends, and says how
        kinds = [remark.kind for remark in (made.stop, *made.warnings) if remark is not None]
        self._keep_check(name, paused=kinds, reason=[made.reason()])
        asking.halt(made.reason())
        return False

    def _look(self, asking: Asking, calls: Sequence[Call]) -> ReadingCheck | None:
        """The check of these calls of a judge; None where not all of them have been answered."""
        assert self._writer is not None
        try:
            self._writer.flush()
        except LabError as fault:  # a full disk: what is kept is not all that was answered
            self.pause(str(fault))
            return None
        answers = self.store.answers(self.id, [call.key for call in calls], errors=True)
        asked = judged_again(calls, answers)
        if not asked or len(asked) < len(calls):
            return None
        settings = asking.settings
        return reading_check(
            settings,
            asked,
            self.plan.parse,
            planned=planned_of(self.plan, settings.name),
            adapted=self._adapted(asking),
        )

    @staticmethod
    def _adapted(asking: Asking) -> list[str]:
        return list(getattr(asking.asker, "adaptations", ()))

    def _keep_check(self, judge: str, **facts: list[str]) -> None:
        """Keep what a check was made of; reasons to pause are added to the earlier ones."""
        kept = self._checks_kept.setdefault(judge, {})
        facts["paused"] = sorted({*kept.get("paused", ()), *facts.get("paused", ())})
        self._checks_kept[judge] = kept | facts
        with suppress(LabError):  # a full disk is said by the writer
            self.store.keep_made_with(self.id, {CHECKS: self._checks_kept})

    def _leave_out(self, calls: Sequence[Call]) -> None:
        """Turn replies to cut prompts into failed calls: the judge did not see the whole prompt."""
        assert self._writer is not None
        with suppress(LabError):
            self._writer.flush()
        answers = self.store.answers(self.id, [call.key for call in calls])
        for judgment in judged_again(calls, answers):
            for outcome in judgment.outcomes:
                if outcome.status == Status.OK and outcome.position:
                    self._counts[judgment.call.condition][outcome.position - 1] -= 1
            self._failed += judgment.status == Status.OK
            self._last_error = "The server cut the prompt"
            reply = replace(judgment.reply, error=self._last_error, kind="context_cut")
            outcomes = self.plan.parse(judgment.call, reply)
            with suppress(LabError):
                self._writer.add(Judgment(judgment.call, reply, outcomes))

    def _watch(self, asking: Asking) -> None:
        """Pause a judge whose latest replies are lost or whose prompts are cut.

        A reason for which the run has paused before does not pause it again.
        """
        settings = asking.settings
        recent = self._recent[settings.name]
        passed = self._let_pass.get(settings.name, frozenset())
        reason: Remark | None = None
        if "unparsed" not in passed and not settings.simulated:
            reason = too_many_lost(recent)
        # Replies that come in while the judge is being halted for its context are each looked at.
        due = self._asked[settings.name] % LOOK_EVERY == 0 or settings.name in self._cutting
        if reason is None and "context" not in passed and due:
            sizes = [size for judgment in recent if (size := PromptSize.of(judgment)) is not None]
            reason, cut = cut_context(sizes)
            if cut:
                self._cutting.add(settings.name)
                self._leave_out([judgment.call for judgment in recent if judgment.call.key in cut])
        if reason is not None and not asking.reason:
            asking.halt(reason.text)
            self._keep_check(settings.name, paused=[reason.kind], reason=[reason.text])

    async def _opened(self, settings: JudgeSettings) -> Asker | None:
        """The judge, ready to be asked; None where it cannot be had, which is said."""
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

    async def _ask(self, asking: Asking, calls: Sequence[Call]) -> None:
        try:
            replies = await asking.final_replies(calls)
        finally:
            self._in_flight[asking.settings.name] -= len(calls)
            asking.leave()
        if replies is None or self._writer is None:
            return
        for call, reply in zip(calls, replies, strict=True):
            self._keep(
                asking.settings,
                self.plan.judgment(call, reply),
                len(calls),
                self._writer,
            )
        asking.watch(calls[0], about_request(replies))
        if self._check != "off" and self._tries is None:
            self._watch(asking)

    def _keep(
        self, settings: JudgeSettings, judgment: Judgment, together: int, writer: RunWriter
    ) -> None:
        """``together``: how many calls shared the request."""
        reply = judgment.reply
        self._asked[settings.name] += 1
        self._done += 1
        self._failed += judgment.status != Status.OK
        self._last_error = reply.error or self._last_error
        self._money[settings.name] += price_of_reply(settings, judgment.call, reply, together)
        self._finished.append(time.monotonic())
        if not reply.error:  # a judge whose calls fail is halted for that
            self._recent[settings.name].append(judgment)
        for outcome in judgment.outcomes:
            if outcome.status == Status.OK and outcome.position:
                self._counts[judgment.call.condition][outcome.position - 1] += 1
        try:
            writer.add(judgment)
        except LabError as fault:  # kept all the same, and committed once there is room
            self.pause(str(fault))

    def _budget_spent(self) -> bool:
        asked, in_flight = self._asked.total(), self._in_flight.total()
        if self._max_calls is not None and asked + in_flight >= self._max_calls:
            self.pause(f"the limit of {count(self._max_calls, 'call')} is reached")
            return True
        if self._max_money is not None:
            spent = sum(self._money.values())
            going = [
                paid / max(self._asked[name], 1) * self._in_flight[name]
                for name, paid in self._money.items()
            ]
            if spent + sum(going) >= self._max_money:
                self.pause(f"the limit of {self._max_money:g} is reached ({spent:.4g} spent)")
                return True
        return False


async def next_request(requests: Iterator[list[Call]]) -> list[Call] | None:
    """The next that has anything to ask, None where nothing is left; looking for it never blocks
    the loop for long.
    """
    for skipped, calls in enumerate(requests, 1):
        if calls:
            return calls
        if skipped % 200 == 0:
            await asyncio.sleep(0)
    return None


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


def kept_run(store: Store, plan: Plan, answers_of: str = "") -> str:
    """The id of the plan's run, which is kept with its data where it is new. ``answers_of``: the
    run it takes over from.
    """
    return store.create_run(
        name=plan.study.name,
        study=study_body(plan),
        identity=plan.identity,
        conditions=plan.conditions,
        planned=plan.planned,
        items=plan.items_frame(),
        dataset_id=" ".join(store.save_dataset(dataset) for dataset, _ in plan.sources),
        made_with=made_with()
        | kind_versions(plan.study.judges)
        | ({"answers_of": answers_of} if answers_of else {})
        | ({"note": " ".join(plan.notes)} if plan.notes else {}),
    )


def study_body(plan: Plan) -> dict[str, Any]:
    """The study as the store keeps it: JSON values, its rubrics written out, so that the run can be
    planned again.
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
    """The versions that a run was made with, and that of the rules of verdicts."""
    versions = {
        "rules": str(RULES),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for name in ("rubriclab", "openai", "xllamacpp", "duckdb", "numpy"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions
