"""Stop asking when enough is known: once V is known narrowly, or once a verdict is settled.

Both rules may be looked at as often as one likes. That of V (see
:func:`rubriclab.stats.planning.stop_rule`) pays a little for every look; its looks are counted by
the judgments there are, so a run that is gone on with later, or by somebody else, goes on counting
where it stopped. That of the verdicts (see :mod:`rubriclab.findings.settling`) pays nothing.

A run that may stop has to ask its items in an order that says nothing of them (``Mixed``): asked in
the order of a file that is sorted, it would stop having seen one end of the data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from rubriclab.findings import effects
from rubriclab.findings.frame import mixed
from rubriclab.findings.planning import planning
from rubriclab.findings.settling import Settling, settling
from rubriclab.model import Call, Judgment, LabError, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.runs.runner import Run
from rubriclab.stats.planning import STOP_METHOD, Stop
from rubriclab.store import Store
from rubriclab.study.plan import Plan

EVERY = 500
"""Judgments between two looks: each look costs a little of the error there is to spend."""
EVERY_SHIFT = 50
"""The same for the verdicts, whose looks are free but for the time they take."""


class Mixed:
    """An agenda: every call of a plan, its items in the mixed order that stop rules count on."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        held = [(getattr(item, "block", None), item.prompt) for item in plan.study.dataset.items]
        items = pd.DataFrame(held, columns=["block", "prompt"]).assign(dataset=plan.study.dataset.name)
        self._items: list[int] = mixed(items).tolist()

    def calls(self, judge: int) -> Iterator[Call]:
        return self._plan.calls(judge, items=self._items)

    def heard(self, judgment: Judgment) -> None:
        """The order is the same whatever is answered."""


@dataclass(frozen=True)
class Look:
    """What one look saw: the state of the rule for every arm that moves the order."""

    number: int
    judgments: int
    stops: dict[str, Stop]

    @property
    def enough(self) -> bool:
        """Every arm's interval is narrow enough; never without an arm to judge by."""
        return bool(self.stops) and all(stop.stop for stop in self.stops.values())

    def sentence(self) -> str:
        """Why the run may stop, with the widest interval."""
        widest = max(self.stops.values(), key=lambda stop: stop.half_width)
        return (
            f"stopped by the rule: every 95 % interval on V is at most {2 * widest.target:g} wide "
            f"(the widest {widest.interval.low:.3f} to {widest.interval.high:.3f}), after "
            f"{many(self.judgments, 'judgment')}, at look {self.number} ({STOP_METHOD})"
        )


def look(data: RunData, *, width: float, every: int = EVERY) -> Look:
    """Apply the rule to a run's judgments so far. Items not yet read in full are left out.

    ``width``: how wide the interval on V may be. Raises LabError for a width outside 0..1.
    """
    if not 0 < width < 1:
        raise LabError(tr("The interval on V lies in 0..1: a width of {width:g} cannot be asked for.", width=width))
    judgments = len(data.judgments)
    number = max(1, judgments // every)
    found = planning(_read_in_full(data), half_width=width / 2, look=number)
    return Look(number, judgments, dict(found.stops))


def _read_in_full(data: RunData) -> RunData:
    """The judgments of items that have as many reads in their arm as any item there has.

    A run is asked item by item: what is half read is at its edge, and still unbalanced.
    """
    rows = data.judgments
    items = max(1, len(data.items))
    code = rows["arm"].to_numpy().astype(np.int64) * items + rows["item"].to_numpy()
    reads = np.bincount(code, minlength=len(data.arms) * items).reshape(len(data.arms), items)
    whole = (reads == reads.max(axis=1, keepdims=True)).ravel()
    chosen = whole[code]
    chances = None if data.probabilities is None else data.probabilities[chosen]
    return replace(data, judgments=rows[chosen], probabilities=chances)


@dataclass(frozen=True)
class Settled:
    """What one look saw: a verdict, or none yet, for every judge and setting."""

    judgments: int
    of: tuple[Settling, ...]

    @property
    def enough(self) -> bool:
        return bool(self.of) and all(one.settled for one in self.of)

    def sentence(self) -> str:
        """Why the run may stop: every verdict with its interval."""
        parts = [
            f"{' · '.join(filter(None, one.of))}: {one.effect.verdict}, {one.question} {effects.words(one.effect)}"
            for one in self.of
        ]
        return (
            f"stopped by the rule after {many(self.judgments, 'judgment')}, every verdict on what the "
            f"order does being settled ({'; '.join(parts)}; intervals that hold at every look at once)"
        )


def look_at_verdicts(data: RunData) -> Settled:
    """The state of every verdict on what the order does. Raises LabError where none can be had."""
    return Settled(len(data.judgments), settling(data))


class StopRule:
    """Watches a run from a thread of its own and pauses it when a look says "enough".

    ``look``: what is looked at, every ``every`` judgments. ``last``: the latest look, None before
    the first. ``error``: what kept it from looking; the run then simply goes on to its end.
    """

    def __init__(self, run: Run, store: Store, look: Callable[[RunData], Look | Settled], *, every: int) -> None:
        self._run, self._store, self._look, self._every = run, store, look, max(1, every)
        self.last: Look | Settled | None = None
        self.error: str | None = None
        self._thread = threading.Thread(target=self._watch, name="stop rule", daemon=True)

    def start(self) -> StopRule:
        self._thread.start()
        return self

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def _watch(self) -> None:
        seen = 0
        try:
            while self._run.snapshot().active:
                if self._run.snapshot().done // self._every > seen:
                    seen = self._look_again(seen)
                if self.last is not None and self.last.enough:
                    self._run.pause(self.last.sentence())
                    return
                self._run.wait(0.2)
        except LabError as fault:
            self.error = str(fault)

    def _look_again(self, seen: int) -> int:
        """Look if so much has been committed; returns the number of the look."""
        data = self._store.frame(self._run.info.run)
        number = len(data.judgments) // self._every
        if number > seen:
            self.last = self._look(data)
        return max(seen, number)


class StopAtWidth(StopRule):
    """Stops once V is known narrowly enough."""

    def __init__(self, run: Run, store: Store, *, width: float, every: int = EVERY) -> None:
        if not 0 < width < 1:
            raise LabError(tr("The interval on V lies in 0..1: {width:g} is no width of one.", width=width))
        super().__init__(run, store, partial(look, width=width, every=max(1, every)), every=every)


class StopWhenSettled(StopRule):
    """Stops once every verdict on what the order does is settled."""

    def __init__(self, run: Run, store: Store, *, every: int = EVERY_SHIFT) -> None:
        super().__init__(run, store, look_at_verdicts, every=every)
