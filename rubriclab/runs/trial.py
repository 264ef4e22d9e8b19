"""One text and a judge in; what the judge says in the default order, in it reversed, in it again
and in all others out.

An example, not a measurement: its calls, their prompts and how replies are parsed are those of a
run's plan of this one text, but no store knows of them.
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
from rubriclab.store.read import Reader
from rubriclab.study.plan import Plan, plan

NAME = "Try it"


def plan_of_text(
    reorder: Reorder, answers: Sequence[Item], rubric: Rubric, judge: JudgeSettings
) -> Plan:
    """The plan of one answer (of two to compare) in every balanced order, each twice. Raises
    LabError.
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
    """The plan's calls that a trial asks: the default order, its reverse, the default order again,
    then every other one.
    """
    part = planned.parts[0]
    default: tuple[Any, ...] = tuple(part.subjects[0].options)
    calls = {(call.ordering.shown, call.repeat): call for call in planned.calls()}
    others = dict.fromkeys(
        ordering.shown for ordering in part.orders(part.subjects[0], part.strategies[0])
    )
    first = [(default, 0), (default[::-1], 0), (default, 1)]
    return tuple(
        calls[wanted] for wanted in dict.fromkeys([*first, *((shown, 0) for shown in others)])
    )


def recorded(planned: Plan, store: Reader) -> list[Judgment]:
    """What a trial's calls were answered in the runs of a store, word for word the same calls of
    the same judge.
    """
    calls = {call.key: call for call in trial_calls(planned)}
    known = [
        answer for info in store.runs() for answer in store.answers(info.id, list(calls)).items()
    ]
    return [
        Judgment(calls[key], reply, planned.parse(calls[key], reply)) for key, (reply, _) in known
    ]


def trial_table(planned: Plan, judgments: Iterable[Judgment]) -> JudgmentTable:
    """Judgments of a trial as a run's table has them; a call's number is its place in
    ``trial_calls``.
    """
    number = {call.key: code for code, call in enumerate(trial_calls(planned))}
    orderings = tuple(dict.fromkeys(call.ordering for call in trial_calls(planned)))
    rows = [
        (
            made.call.condition,
            outcome.item,
            orderings.index(made.call.ordering),
            outcome.slot,
            made.call.repeat,
            number[made.call.key],
            outcome.status,
            outcome.score,
            outcome.position or 0,
            outcome.expected,
            outcome.mass,
        )
        for made in judgments
        for outcome in made.outcomes
    ]
    frame = pd.DataFrame(rows, columns=[*JUDGMENT_COLUMNS]).sort_values(
        ["condition", "call", "slot"]
    )
    frame = frame.astype(dict.fromkeys(("score", "expected", "mass"), np.float64)).reset_index(
        drop=True
    )
    return JudgmentTable(
        NAME, NAME, planned.conditions, planned.items_frame(), orderings, frame, state="running"
    )


class Trial(Session[Snapshot]):
    """The calls of one text, asked in a thread of its own. ``judgments``: by the call's key, as
    they come.

    Raises NoConsent where nobody has agreed that the judge's key goes to its addresses.
    """

    def __init__(self, planned: Plan, consents: Consents = NO_CONSENTS) -> None:
        super().__init__("trial")
        require_consents(planned.study.judges, consents=consents)
        self._consents = consents
        self.plan, self.calls = planned, trial_calls(planned)
        self.judgments: dict[str, Judgment] = {}

    def snapshot(self) -> Snapshot:
        made = tuple(self.judgments.values())
        failed = sum(judgment.status != Status.OK for judgment in made)
        return Snapshot(
            len(self.calls), len(made), failed, self._state, self._reason, self._stage, None
        )

    async def _work(self) -> tuple[str, str]:
        (settings,) = self.plan.study.judges
        self._stage = f"opening {settings.name}"
        fetched = partial(self._fetched, settings.name)
        asker = await open_judge(
            settings,
            progress=fetched,
            rubric=self.plan.rubric,
            items=self.plan.items,
            consents=self._consents,
        )
        asking = self._askings[settings.name] = Asking(settings, asker)
        self._stage = ""
        try:
            await asking.check_constraint(self.plan.constraint(settings.name))
            async with asyncio.TaskGroup() as group:
                for call in self.calls if self._wanted is None else ():
                    self._track(group.create_task(self._ask(asking, call)))
        finally:
            await asker.close()
        return self._wanted or (("paused", asking.reason) if asking.reason else ("finished", ""))

    async def _ask(self, asking: Asking, call: Call) -> None:
        reply = await asking.answered(call)
        if reply is not None:
            self.judgments[call.key] = self.plan.judgment(call, reply)
