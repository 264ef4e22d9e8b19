"""Go through a plan in batches, and stop each judge at the look that has its answer.

A look is made of the store's rows alone (``core/looks.py``), so nothing has to be kept about it: a
run that was killed is looked at again when it is resumed, and finds the same.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import looks_at
from rubriclab.model.judgment import Call
from rubriclab.model.looks import JudgeLooks, NextLook, Scope
from rubriclab.runs.forecast import units_of_part
from rubriclab.store.read import Reader
from rubriclab.study.decisions import packs
from rubriclab.study.plan import Plan

SKIPPED_AT_ONCE = 200
"""Answered calls that are passed over before other tasks get a turn. Each has to be planned to know
its key, and a resumed run may begin with a million of them: its loop must hear of a pause."""


@dataclass(frozen=True)
class Batch:
    """Calls of one judge that are asked before the next look; all of them in a run without looks.

    scope, number: the data set and axis, and the number of the batch in it. None for all.
    """

    judge: str
    scope: Scope | None = None
    number: int | None = None

    def calls(self, plan: Plan) -> Iterator[Call]:
        """Yield the calls of the batch."""
        return plan.calls(self.judge, self.scope, self.number)

    def requests(self, plan: Plan, done: Container[str]) -> Iterator[list[Call]]:
        """Yield the requests of the batch without the calls that are done, so possibly empty."""
        return packs(self.calls(plan), done)


@dataclass(frozen=True)
class LookProgress:
    """Where one judge is in a data set and axis, between two looks.

    noun: what a unit is called.
    units: units at the last look; 0 before the first one.
    next_units: units at the next look; None if none will come.
    all_units: units at the last possible look.
    calls: planned calls up to the next look, or up to the one at which the judge stopped.
    needless: planned calls that will not be asked, because the answer is known.
    whole: every planned call is asked, whatever the looks say.
    """

    judge: str
    scope: Scope
    noun: str
    units: int
    next_units: int | None
    all_units: int
    calls: int
    needless: int
    whole: bool = False


def next_look(
    looks: Sequence[LookProgress], done: int, needed: int, rate: float
) -> NextLook | None:
    """Return the next look of a run, or None if none comes before its end.

    done, needed: calls that are in, and in the end. rate: calls per second; 0 while unknown.
    """
    ahead = [look for look in looks if look.next_units is not None and not look.whole]
    calls = sum(progress.calls for progress in looks)
    # Calls before an earlier look may be asked again, when all later ones are in.
    if not ahead or not done <= calls < needed:
        return None
    return NextLook(
        first=all(progress.units == 0 for progress in looks),
        several=len(ahead) > 1,
        calls=calls,
        seconds=(calls - done) / rate if rate else None,
    )


class Looking:
    """What to ask next in a run that may stop early, judge by judge.

    Args:
        ask_all: ask every planned call, whatever the looks say.
        before_look: is awaited before the store is read: it commits what is still waiting.
        before_batch: is awaited before a batch is asked. It takes over replies that are known, and
            returns whether there were any.
    """

    def __init__(
        self,
        store: Reader,
        run: str,
        plan: Plan,
        *,
        ask_all: bool,
        before_look: Callable[[], Awaitable[bool]],
        before_batch: Callable[[Batch], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._run = run
        self._plan = plan
        self._before_look = before_look
        self._before_batch = before_batch
        # Judges whose rest is asked although a look has the answer.
        self._asked_whole = {judge.name for judge in plan.study.judges} if ask_all else set[str]()
        # Replaced as a whole: other threads read it for a snapshot.
        self.progress: dict[tuple[str, Scope], LookProgress] = {}
        self.through: set[str] = set()
        self._asked: dict[str, Batch] = {}  # by judge: the batch that it was asked last

    async def batches(
        self, judge: str, done: set[str], final: Container[str]
    ) -> AsyncIterator[Batch]:
        """Yield the batches of a judge that have calls to ask, each when it is to be asked.

        The caller asks all calls of a batch before it takes the next one, and ends the iteration if
        it could not. After the last one the judge's name is in ``through``.

        done: keys of calls that are not asked. final: of all that have a final reply, also of those
        that failed and are asked again.
        """
        looks = self._plan.looks
        if looks is None:
            batch = Batch(judge)
            if await next_request(batch.requests(self._plan, done)) is not None:
                yield batch
            self.through.add(judge)
            return
        for scope in self._plan.scopes:
            looked = 0
            for number in range(len(looks.scopes[scope].units)):
                batch = Batch(judge, scope, number)
                open_calls, is_complete = await self._open_calls(batch, done, final)
                # Failed calls of a complete batch are asked again whatever a look says, since a
                # look says it with these calls.
                whole = judge in self._asked_whole
                if open_calls and number > 0 and not is_complete and not whole:
                    if not await self._before_look():
                        return
                    if await asyncio.to_thread(
                        stops, self._store, self._run, self._plan, judge, scope
                    ):
                        if not is_begun(batch, self._plan, final):
                            break
                        self._asked_whole.add(judge)
                if open_calls and await self._before_batch(batch):
                    # The last missing reply may have come.
                    open_calls, _ = await self._open_calls(batch, done, final)
                if open_calls:
                    self._note(judge, scope, looked=number, ahead=number + 1)
                    self._asked[judge] = batch
                    yield batch
                looked = number + 1
            self._note(judge, scope, looked=looked, ahead=None)
        self.through.add(judge)

    def look_after_stop(self) -> None:
        """Look at judges whose batch became complete just when the run was stopped.

        Without it a run would be called paused although its answer is known. The caller has
        committed all replies.
        """
        missing = {
            judge: asked for judge, asked in self._asked.items() if judge not in self.through
        }
        if not missing:
            return
        final = self._store.final_calls(self._run)
        for judge, batch in missing.items():
            scope, number = batch.scope, batch.number
            assert scope is not None
            assert number is not None
            own, _ = self._planned[judge, scope]
            in_full = own.planned[:, : number + 1].sum(axis=1)
            if [final.get(code, 0) for code in own.conditions] != in_full.tolist():
                continue
            clear = number + 1 == len(own.units)
            if not clear and judge not in self._asked_whole:
                clear = stops(self._store, self._run, self._plan, judge, scope)
            self._note(judge, scope, looked=number + 1, ahead=None if clear else number + 2)
            if clear and scope == self._plan.scopes[-1]:
                self.through.add(judge)

    async def _open_calls(
        self, batch: Batch, done: Container[str], final: Container[str]
    ) -> tuple[bool, bool]:
        """Return whether any call of a batch is to be asked, and whether all of them are final."""
        requests = batch.requests(self._plan, done)
        found = False
        while (calls := await next_request(requests)) is not None:
            found = True
            if any(call.key not in final for call in calls):
                return True, False
        return found, True

    def _note(self, judge: str, scope: Scope, *, looked: int, ahead: int | None) -> None:
        """Note where a judge is. ``looked``: batches that are done; ``ahead``: with the next one.

        ``ahead`` is None if no further batch will be asked.
        """
        own, noun = self._planned[judge, scope]
        calls = own.planned.sum(axis=0)
        asked = looked if ahead is None else ahead
        progress = LookProgress(
            judge=judge,
            scope=scope,
            noun=noun,
            units=own.units[looked - 1] if looked else 0,
            next_units=None if ahead is None else own.units[ahead - 1],
            all_units=own.units[-1],
            calls=int(calls[:asked].sum()),
            needless=int(calls[looked:].sum()) if ahead is None else 0,
            whole=judge in self._asked_whole,
        )
        self.progress = self.progress | {(judge, scope): progress}

    @cached_property
    def _planned(self) -> dict[tuple[str, Scope], tuple[JudgeLooks, str]]:
        """The looks at each judge in each data set and axis, and what a unit is called there."""
        plan = self._plan
        if plan.looks is None:
            return {}
        nouns = {scope: units_of_part(plan, plan.first_part(scope)).noun for scope in plan.scopes}
        every = plan.looks.by_judge(plan.conditions, len(plan.items))
        return {(own.judge, own.scope): (own, nouns[own.scope]) for own in every}


def stops(store: Reader, run: str, plan: Plan, judge: str, scope: Scope) -> bool:
    """Return whether the last look at a judge, data set and axis has the answer."""
    reading = plan.study.reading
    # By the code of a condition: an import's data set has another name in its plan.
    code = next(
        code
        for code, condition in enumerate(plan.conditions)
        if (condition.judge, condition.scope) == (judge, scope)
    )
    judgments = Judgments(store.table(run), reading.unit)
    looked = judgments.looked_of(code)
    if looked is None:
        return False
    looks = looks_at(judgments, looked, reading.smallest)
    return bool(looks) and looks[-1].stops


def is_begun(batch: Batch, plan: Plan, final: Container[str]) -> bool:
    """Return whether any call of a batch is final.

    Where the look before it has the answer, somebody asked for the rest of the calls. A run that
    stopped meanwhile goes on with them.
    """
    return any(call.key in final for call in batch.calls(plan))


def open_batches(
    store: Reader, run: str, plan: Plan, done: set[str], *, ask_all: bool
) -> list[Batch]:
    """Return the batches that are to be asked next: of each judge those before its next look.

    In a run without looks, and with ``ask_all``, a judge has one batch with all its calls.

    run: its ID, or "" for a study that has none yet. done: keys of calls that are not asked.
    """
    found: list[Batch] = []
    final = store.final_keys(run) if run else set()
    for judge in plan.study.judges:
        if plan.looks is None or ask_all:
            found.append(Batch(judge.name))
            continue
        for scope in plan.scopes:
            # As in ``Looking.batches``: failed calls of complete batches come before a look.
            complete, ahead = _open_in_scope(plan, judge.name, scope, done, final)
            found += complete
            if complete or ahead is None:
                continue
            begun = ahead.number == 0 or is_begun(ahead, plan, final)
            if begun or not stops(store, run, plan, judge.name, scope):
                found.append(ahead)
    return found


def _open_in_scope(
    plan: Plan, judge: str, scope: Scope, done: Container[str], final: Container[str]
) -> tuple[list[Batch], Batch | None]:
    """Return the complete batches with calls to ask again, and the first that is not complete."""
    assert plan.looks is not None
    complete: list[Batch] = []
    for number in range(len(plan.looks.scopes[scope].units)):
        batch = Batch(judge, scope, number)
        if any(batch.requests(plan, final)):
            return complete, batch
        if any(batch.requests(plan, done)):
            complete.append(batch)
    return complete, None


def has_calls_left(store: Reader, run: str, plan: Plan) -> bool:
    """Return whether a run that was stopped has anything to ask before or after its last look."""
    return bool(open_batches(store, run, plan, store.final_keys(run), ask_all=False))


async def next_request(requests: Iterator[list[Call]]) -> list[Call] | None:
    """Return the next request that has anything to ask; None if there is none.

    Most requests of a resumed run are empty. Other tasks get a turn every SKIPPED_AT_ONCE of them.
    """
    for skipped, calls in enumerate(requests, 1):
        if calls:
            return calls
        if skipped % SKIPPED_AT_ONCE == 0:
            await asyncio.sleep(0)
    return None
