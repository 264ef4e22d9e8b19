"""Run random schedules of sessions in virtual time, and hold them against an undisturbed run.

A schedule is a sequence of sessions of one study with two judges that stops early. Sessions are
killed, paused, cancelled, limited or end; replies are late or lost, and a server asks for pauses.
A loop with a clock of its own runs them, so that nothing sleeps.

RUBRICLAB_SCHEDULES is the number of schedules, 30 by default.
"""

import asyncio
import os
import random
import selectors
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import looks_at
from rubriclab.judges.simulated import SimulatedJudge
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import RULES, Call, Judgment, Reply, Status
from rubriclab.model.looks import Scope
from rubriclab.model.text import digest
from rubriclab.runs import asking, looking, runner, tally
from rubriclab.runs.pace import Pace
from rubriclab.runs.runner import Run, RunSnapshot
from rubriclab.store import store as store_module
from rubriclab.store.store import Store
from rubriclab.store.writer import RunWriter
from rubriclab.study.plan import Plan
from tests.runs.kit import WAIT, failed, use
from tests.study.kit import API, small_plan

SCHEDULES = int(os.environ.get("RUBRICLAB_SCHEDULES", "30"))
SESSIONS = 4
"""The longest schedule, before the session that ends it."""
COMPARED_IN_FULL = 10
"""The looks themselves are compared after every so many schedules; the judgments after each."""
OTHER = API.model_copy(update={"name": "other", "concurrency": 3})
LEANS = {"api": 3.0, "other": 0.0}
"""The first judge stops before its end, the second does not."""
LATE = 100.0
"""Seconds until a late reply, while others take one at most."""


class Killed(BaseException):
    """The process ends here: nothing that was not committed is left."""


class Clock:
    """Seconds that pass only while a loop would sleep."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class VirtualSelector(selectors.SelectSelector):
    """Sleeps by moving the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:  # nothing to wait for but another thread
            return super().select(WAIT)
        ready = super().select(0)
        if not ready:
            self._clock.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        super().__init__(VirtualSelector(clock))
        self._own_clock = clock

    def time(self) -> float:
        return self._own_clock.now


class World:
    """The servers, the disk and the fate of a session.

    kept: by key of a call, the status that the store has. received: keys of calls whose reply has
    come, which a kill may lose. asked: how often each call was asked. wrong: what must not happen
    and did.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.stopped_after: dict[tuple[str, int, frozenset[str]], bool] = {}

    def begin(self, made: Plan) -> None:
        """Begin another schedule."""
        self.plan = made
        self.kept: dict[str, Status] = {}
        self.asked: Counter[str] = Counter()
        self.wrong: list[str] = []

    def session(self, weather: str, seed: int, fate: str, moment: int, *, free: bool) -> None:
        """Begin another session.

        fate: kill, pause, cancel or none, at the ``moment``-th event. free: calls of later batches
        may be asked without a look.
        """
        self.weather, self.fate, self.moment, self.free = weather, fate, moment, free
        self.random = random.Random(seed)
        self.events = 0
        self.dead = False
        self.run: Run | None = None
        self.gone_on: set[tuple[str, int]] = set()  # judge, and batches at the look
        self.here: Counter[str] = Counter()
        self.received = set(self.kept)

    def event(self) -> None:
        """Let the fate of the session come, if this is its moment."""
        if self.dead:
            raise Killed
        self.events += 1
        if self.events != self.moment or self.run is None:
            return
        if self.fate == "kill":
            self.dead = True
            raise Killed
        if self.fate in ("pause", "cancel"):
            getattr(self.run, self.fate)()

    @cached_property
    def by_batch(self) -> dict[tuple[str, int], frozenset[str]]:
        """The keys of the calls of each judge's batches."""
        (scope,) = self.plan.scopes
        assert self.plan.looks is not None
        numbers = range(len(self.plan.looks.scopes[scope].units))
        return {
            (judge, number): frozenset(call.key for call in self.plan.calls(judge, scope, number))
            for judge in LEANS
            for number in numbers
        }

    @cached_property
    def place(self) -> dict[str, tuple[str, int]]:
        """The judge and batch of each call."""
        return {key: place for place, keys in self.by_batch.items() for key in keys}

    def complete(self, judge: str) -> int:
        """How many batches of a judge the store has."""
        number = 0
        while self.by_batch.get((judge, number), {""}) <= self.kept.keys():
            number += 1
        return number

    # ------------------------------------------------------------ the judges

    async def ask(self, call: Call) -> Reply:
        self.check_asked(call)
        nth = self.here[call.key]
        self.asked[call.key] += 1
        self.here[call.key] += 1
        self.event()
        late = self.weather == "late" and self.random.random() < 0.05
        await asyncio.sleep(LATE if late else self.random.random())
        self.event()
        return self.reply(call, nth)

    def check_asked(self, call: Call) -> None:
        """Note if this call must not be asked now."""
        judge, number = self.place[call.key]
        if self.kept.get(call.key) == Status.OK or (call.key in self.kept and not self.free):
            self.wrong.append(f"{call.key} is final and was asked again")
        if call.key in self.kept:
            return
        for earlier in range(number):
            if not self.by_batch[judge, earlier] <= self.received:
                self.wrong.append(f"batch {number} began before batch {earlier} was complete")
        if number and not self.free and (judge, number) not in self.gone_on:
            self.wrong.append(f"batch {number} of {judge} began without a look")

    def reply(self, call: Call, nth: int) -> Reply:
        chance = int(digest(call.key)[:4], 16) / 2**16
        if self.weather == "limits" and nth == 0 and self.random.random() < 0.1:
            return failed("rate_limit", retry_after=self.random.choice((0.5, 5.0, 30.0)))
        if self.weather == "resets" and nth < 2 and chance < 0.2:
            return failed("reset")
        if self.weather == "losses" and chance < 0.05:
            return failed("too_large", retryable=False)
        judge = self.plan.conditions[call.condition].judge
        return JUDGES[judge].answer(call)

    async def close(self) -> None:
        """Nothing is open."""

    # ------------------------------------------------------------ the looks

    def stops(
        self,
        real: Callable[..., bool],
        store: Store,
        run: str,
        made: Plan,
        judge: str,
        scope: Scope,
    ) -> bool:
        """Look, and remember it: the same judgments are looked at once in all schedules."""
        self.event()
        number = self.complete(judge)
        mine = frozenset[str]().union(*(self.by_batch[judge, k] for k in range(number)))
        lost = frozenset(key for key in mine if self.kept[key] != Status.OK)
        known = self.stopped_after.get((judge, number, lost))
        if known is None:
            judgments = Judgments(store.table(run))
            (looked,) = [each for each in judgments.looked if each.looks.judge == judge]
            if looked.complete != number:
                self.wrong.append(f"{looked.complete} batches were looked at, {number} are there")
            known = real(store, run, made, judge, scope)
            self.stopped_after[judge, number, lost] = known
        if not known:
            self.gone_on.add((judge, number))
        return known


JUDGES = {
    name: SimulatedJudge(JudgeSettings(name=name, kind="simulated", options={"first": lean}))
    for name, lean in LEANS.items()
}


class StepWriter(RunWriter):
    """Commits at moments that the schedule draws, in the thread of the run."""

    world: World

    def _work(self) -> None:
        """No thread: ``add`` and ``flush`` commit."""

    def add(self, judgment: Judgment) -> None:
        self._pending.append(judgment)
        self.world.received.add(judgment.call.key)
        if self.world.random.random() < 0.03:
            self.flush()

    def flush(self) -> None:
        self.world.event()
        waiting, self._pending = self._pending, []
        if waiting:
            self._commit(waiting)
            for judgment in waiting:
                self.world.kept[judgment.call.key] = judgment.status
        self.world.event()

    def close(self) -> None:
        try:
            if not self.world.dead:
                self.flush()
        except Killed:
            pass
        finally:
            self._db.writing.discard(self._run)


def planned_once(calls: Callable[..., Iterator[Call]]) -> Callable[..., Iterator[Call]]:
    """Plan each batch once: all schedules have one plan."""
    known: dict[tuple[Any, ...], list[Call]] = {}

    def again(made: Plan, *which: Any) -> Iterator[Call]:
        if which not in known:
            known[which] = list(calls(made, *which))
        return iter(known[which])

    return again


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    clock = Clock()
    made = World(clock)
    real = looking.stops
    StepWriter.world = made

    async def at_once(work: Callable[..., Any], *given: Any) -> Any:
        await asyncio.sleep(0)
        return work(*given)

    of_loops = asyncio.Runner
    with pytest.MonkeyPatch.context() as patch:
        use(patch, made)
        patch.setattr(Plan, "calls", planned_once(Plan.calls))
        patch.setattr(runner, "made_with", lambda: {"rules": str(RULES)})
        patch.setattr(asyncio, "Runner", partial(of_loops, loop_factory=lambda: VirtualLoop(clock)))
        patch.setattr(asyncio, "to_thread", at_once)
        patch.setattr(store_module, "RunWriter", StepWriter)
        patch.setattr(looking, "stops", partial(made.stops, real))
        patch.setattr(asking, "time", SimpleNamespace(monotonic=clock))
        patch.setattr(tally, "Pace", partial(Pace, clock))
        yield made


WEATHER = st.sampled_from(["calm", "late", "limits", "resets", "losses"])
SEED = st.integers(0, 2**16)
MOMENT = st.integers(1, 200)


class Schedules(RuleBasedStateMachine):
    """One schedule: sessions of one run, one after the other."""

    world: World
    store: Store
    made: Plan
    wanted: dict[str, list[tuple[Any, ...]]]
    """By judge: the judgments of the undisturbed run."""
    number = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).number += 1
        self.world.begin(self.made)
        self.run_id = ""
        self.all_asked = False
        self.ever_lost = False

    def session(
        self, weather: str, seed: int, *, fate: str = "none", moment: int = 0, **options: Any
    ) -> RunSnapshot:
        free = bool(options.get("ask_all") or options.get("retry_failed"))
        self.world.session(weather, seed, fate, moment, free=free)
        run = Run(self.store, self.made, **options)
        self.world.run = run
        end = run.start().wait(WAIT)
        assert not end.active, "the session hangs"
        assert "The lab failed" not in end.reason or self.world.dead, end.reason
        self.run_id = run.id
        if self.world.dead:
            self.store.set_state(run.id, "interrupted")
        self.all_asked |= bool(options.get("ask_all"))
        self.ever_lost |= any(status != Status.OK for status in self.world.kept.values())
        return end

    @rule(weather=WEATHER, seed=SEED, moment=MOMENT)
    def killed(self, weather: str, seed: int, moment: int) -> None:
        self.session(weather, seed, fate="kill", moment=moment)

    @rule(weather=WEATHER, seed=SEED, moment=MOMENT, fate=st.sampled_from(["pause", "cancel"]))
    def stopped(self, weather: str, seed: int, moment: int, fate: str) -> None:
        end = self.session(weather, seed, fate=fate, moment=moment)
        assert end.state in ("finished", "paused", "cancelled")

    @rule(weather=WEATHER, seed=SEED, calls=st.integers(1, 40))
    def limited(self, weather: str, seed: int, calls: int) -> None:
        end = self.session(weather, seed, max_calls=calls)
        assert end.asked <= calls

    @rule(weather=WEATHER, seed=SEED)
    def resumed(self, weather: str, seed: int) -> None:
        end = self.session(weather, seed)
        if weather != "losses":
            assert end.state == "finished", end.reason

    @rule(weather=WEATHER, seed=SEED, moment=MOMENT, fate=st.sampled_from(["none", "kill"]))
    def retried(self, weather: str, seed: int, moment: int, fate: str) -> None:
        self.session(weather, seed, fate=fate, moment=moment, retry_failed=True)

    @rule(seed=SEED, moment=st.integers(1, 150))
    def rest_asked_and_killed(self, seed: int, moment: int) -> None:
        self.session("calm", seed, fate="kill", moment=moment, ask_all=True)

    @invariant()
    def nothing_is_wrong(self) -> None:
        assert self.world.wrong == []
        if self.run_id:
            assert self.store.final_keys(self.run_id) == self.world.kept.keys()

    def teardown(self) -> None:
        """End the run in calm weather, and compare it with the undisturbed one."""
        try:
            end = self.session("calm", 0, retry_failed=True)
            assert (end.state, end.failed) == ("finished", 0), end.reason
            assert self.world.wrong == []
            self.compare()
            again = self.session("calm", 0)
            assert (again.state, again.asked) == ("finished", 0)
        finally:
            if self.run_id:
                self.store.delete(self.run_id)

    def compare(self) -> None:
        """Both runs have the same judgments up to the look at which the undisturbed one stopped.

        If lost replies kept a look from stopping, or the rest was asked, this run has more.
        """
        in_full = self.number % COMPARED_IN_FULL == 0
        found = judged(self.store, self.run_id)
        for judge, wanted in self.wanted.items():
            own = found[judge]
            if not (self.all_asked or self.ever_lost):
                assert len(own) == len(wanted)
            assert own[: len(wanted)] == wanted
        if in_full:
            for judge, wanted in self.wanted_looks.items():
                assert said(self.store, self.run_id, judge)[: len(wanted)] == wanted

    wanted_looks: dict[str, list[str]]


def judged(store: Store, run: str) -> dict[str, list[tuple[Any, ...]]]:
    """By judge, the judgments of each complete batch, sorted, one list a batch."""
    table = store.table(run)
    made = {}
    for known in Judgments(table).looked:
        rows = table.rows[table.rows["condition"].isin(known.looks.conditions)]
        batch = known.looks.batch[rows["item"].to_numpy()]
        columns = ["condition", "item", "ordering", "repeat", "status", "score"]
        shown = [table.orderings[code].shown for code in rows["ordering"]]
        lines = rows.assign(ordering=shown, batch=batch)[[*columns, "batch"]]
        made[known.looks.judge] = [
            tuple(sorted(map(tuple, lines[batch == number][columns].to_numpy(dtype=object))))
            for number in range(known.complete)
        ]
    return made


def said(store: Store, run: str, judge: str) -> list[str]:
    """What each look at a judge says, to the last bit. As text, where NaN is equal to NaN."""
    judgments = Judgments(store.table(run))
    (looked,) = [known for known in judgments.looked if known.looks.judge == judge]
    looks = looks_at(judgments, looked, Schedules.made.study.reading.smallest)
    return [
        f"{look.units} {look.stops} {look.verdicts.gate.p!r} "
        f"{[(name, said.word, *said.interval) for name, said in look.verdicts.questions.items()]}"
        for look in looks
    ]


@pytest.mark.thorough
def test_any_schedule_ends_as_an_undisturbed_run(world: World) -> None:
    orders = [{"kind": "random", "calls": 1}]
    made = small_plan(40, judges=(API, OTHER), stop="known", strategies=orders)
    with Store.open(":memory:") as store:
        world.begin(made)
        world.session("calm", 0, "none", 0, free=False)
        undisturbed = Run(store, made)
        end = undisturbed.start().wait(WAIT)
        assert (end.state, world.wrong) == ("finished", [])
        Schedules.world, Schedules.store, Schedules.made = world, store, made
        Schedules.wanted = judged(store, end.run)
        Schedules.wanted_looks = {judge: said(store, end.run, judge) for judge in LEANS}
        batches = {judge: len(looks) for judge, looks in Schedules.wanted_looks.items()}
        assert batches == {"api": 2, "other": 3}, "one judge stops early, the other does not"
        store.delete(end.run)
        run_state_machine_as_test(
            Schedules,
            settings=settings(
                max_examples=SCHEDULES,
                stateful_step_count=SESSIONS,
                database=None,
                # Not shrunk: a smaller schedule takes minutes to find and says no more.
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    assert Schedules.number >= SCHEDULES
    assert threading.active_count() < 20
