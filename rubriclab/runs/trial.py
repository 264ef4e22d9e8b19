"""Try a judge on one text: its reply in the default order, reversed, again, and in all others.

A trial is an example, not a measurement. Its calls, their prompts and how replies are parsed are
those of a run's plan of this one text, but no store keeps them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.judges.keys import require_consents
from rubriclab.judges.kinds import open_judge
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import (
    JUDGMENT_COLUMNS,
    Call,
    Judgment,
    JudgmentTable,
    Reorder,
    Status,
)
from rubriclab.model.study import DataPart, DesignPart, Study
from rubriclab.runs.asking import Asking
from rubriclab.runs.session import Session, Snapshot
from rubriclab.store.read import FRACTIONS, Reader
from rubriclab.study.plan import Plan, plan

NAME = "Try it"


def plan_of_text(
    reorder: Reorder, answers: Sequence[Item], rubric: Rubric, judge: JudgeSettings
) -> Plan:
    """Return the plan of one answer (or two to compare) in every balanced order, each twice.

    Raises LabError.
    """
    data = DataSet(NAME, tuple(answers), NAME)
    study = Study(
        name=NAME,
        data=(DataPart(sample=True),),
        design=DesignPart(reorder=reorder),
        judges=(judge,),
    )
    return plan(study, data, rubric)


def trial_calls(planned: Plan) -> tuple[Call, ...]:
    """Return the plan's calls that a trial asks.

    They are the default order, its reverse, the default order again, then every other order.
    """
    part = planned.parts[0]
    subject = part.subjects[0]
    default: tuple[Any, ...] = tuple(subject.options)
    wanted = [(default, 0), (default[::-1], 0), (default, 1)]
    wanted += [(ordering.shown, 0) for ordering in part.orders(subject, part.strategies[0])]
    calls = {(call.ordering.shown, call.repeat): call for call in planned.calls()}
    return tuple(calls[order] for order in dict.fromkeys(wanted))


def recorded(planned: Plan, store: Reader) -> list[Judgment]:
    """Return the replies that runs of a store have to exactly a trial's calls of the same judge."""
    calls = {call.key: call for call in trial_calls(planned)}
    judgments = []
    for info in store.runs():
        for key, kept in store.answers(info.id, list(calls)).items():
            outcomes = planned.parse(calls[key], kept.reply)
            judgments.append(Judgment(calls[key], kept.reply, outcomes))
    return judgments


def trial_table(planned: Plan, judgments: Iterable[Judgment]) -> JudgmentTable:
    """Return judgments of a trial as a run's table has them.

    A call's number is its place in ``trial_calls``.
    """
    calls = trial_calls(planned)
    number = {call.key: code for code, call in enumerate(calls)}
    orderings = tuple(dict.fromkeys(call.ordering for call in calls))
    rows = [
        {
            "condition": made.call.condition,
            "item": outcome.item,
            "ordering": orderings.index(made.call.ordering),
            "slot": outcome.slot,
            "repeat": made.call.repeat,
            "call": number[made.call.key],
            "status": outcome.status,
            "score": outcome.score,
            "position": outcome.position or 0,
            "expected": outcome.expected,
            "mass": outcome.mass,
        }
        for made in judgments
        for outcome in made.outcomes
    ]
    frame = pd.DataFrame(rows, columns=[*JUDGMENT_COLUMNS])
    frame = frame.sort_values(["condition", "call", "slot"])
    frame = frame.astype(dict.fromkeys(FRACTIONS, np.float64)).reset_index(drop=True)
    return JudgmentTable(
        run=NAME,
        name=NAME,
        conditions=planned.conditions,
        items=planned.items_frame(),
        orderings=orderings,
        rows=frame,
        state="running",
    )


class Trial(Session[Snapshot]):
    """The calls of one text, asked in a thread of its own.

    judgments: by the call's key, as they come.

    Raises NoConsent if nobody has agreed that the judge's key goes to its addresses.
    """

    def __init__(self, planned: Plan, consents: Consents = NO_CONSENTS) -> None:
        super().__init__("trial")
        require_consents(planned.study.judges, consents=consents)
        self._consents = consents
        self.plan = planned
        self.calls = trial_calls(planned)
        self.judgments: dict[str, Judgment] = {}

    def snapshot(self) -> Snapshot:
        made = tuple(self.judgments.values())  # a copy: the trial's thread adds to it
        return Snapshot(
            planned=len(self.calls),
            done=len(made),
            failed=sum(judgment.status != Status.OK for judgment in made),
            state=self._state,
            reason=self._reason,
            stage=self._stage,
            seconds_left=None,
        )

    async def _work(self) -> tuple[str, str]:
        (settings,) = self.plan.study.judges
        self._stage = f"opening {settings.name}"
        asker = await open_judge(
            settings,
            progress=partial(self._fetched, settings.name),
            rubric=self.plan.rubric,
            items=self.plan.items,
            consents=self._consents,
        )
        asking = self._askings[settings.name] = Asking(settings, asker)
        self._stage = ""
        try:
            await asking.check_constraint(self.plan.constraint(settings.name))
            if self._wanted is None:  # not stopped while the judge was opened
                async with asyncio.TaskGroup() as group:
                    for call in self.calls:
                        self._track(group.create_task(self._ask(asking, call)))
        finally:
            await asker.close()
        if self._wanted is not None:
            return self._wanted
        if asking.reason:
            return "paused", asking.reason
        return "finished", ""

    async def _ask(self, asking: Asking, call: Call) -> None:
        reply = await asking.answered(call)
        if reply is not None:
            self.judgments[call.key] = self.plan.judgment(call, reply)
