"""Try a judge on one text, in the orders that a visitor chooses or in all balanced ones.

A trial is an example, not a measurement. Its calls, their prompts and how replies are parsed are
those of a run's plan of this one text, but no store keeps them.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from rubriclab.judges.keys import require_consents
from rubriclab.judges.kinds import open_judge
from rubriclab.model.consent import NO_CONSENTS, Consents, judges_of
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Judgment, Reorder, Status
from rubriclab.model.orders import balanced
from rubriclab.model.study import DataPart, DesignPart, StrategyPart, Study
from rubriclab.runs.asking import Asking
from rubriclab.runs.session import Session, Snapshot
from rubriclab.store.read import Reader
from rubriclab.study.plan import Plan, plan

NAME = "Try it"
REPEATS = 2
"""How often each balanced order is asked: a score that changes between the two is noise."""


def plan_of_texts(
    reorder: Reorder,
    answers: Sequence[Item],
    rubric: Rubric,
    judge: JudgeSettings,
    orders: Sequence[Sequence[int | str]] = (),
) -> Plan:
    """Return the plan of one answer (or two to compare), or of the whole sample.

    ``orders``: each is asked once. Without them, every balanced order is asked REPEATS times, also
    of a judge whose replies never change. Raises LabError.
    """
    size = 2
    if reorder == "options":
        size = len(rubric.criteria[0].options)
    elif reorder == "criteria":
        size = len(rubric.criteria)
    if orders:
        strategy = StrategyPart(
            kind="custom",
            orders=tuple(tuple(order) for order in orders),
            calls=len(orders),
        )
    else:
        strategy = StrategyPart(kind="balanced", calls=REPEATS * len(balanced(range(size))))
    study = Study(
        name=NAME,
        data=(DataPart(sample=True),),
        design=DesignPart(reorder=reorder, strategies=(strategy,)),
        judges=(judge,),
    )
    return plan(study, DataSet(NAME, tuple(answers), NAME), rubric)


def entries_of(planned: Plan) -> dict[str, tuple[int | str, ...]]:
    """Return what is listed about each answer, in the default order, by its item's id."""
    return {
        planned.items[subject.items[0]].item_id: subject.options
        for subject in planned.parts[0].subjects
    }


def recorded(planned: Plan, store: Reader, runs: Sequence[str]) -> dict[str, list[Judgment]]:
    """Return the replies that runs of a store have to exactly a plan's calls, by answer.

    ``runs``: ids; of a call in several of them, the first one counts. The name of an answer is its
    item's id.
    """
    (judge,) = planned.study.judges
    calls: dict[str, Call] = {}
    judgments: dict[str, Judgment] = {}
    for run in runs:
        # Planning the calls of the whole sample takes a moment, so other judges are left out first.
        asked = judges_of(store.study(run))
        if all(known.identity() != judge.identity() for known in asked):
            continue
        calls = calls or {call.key: call for call in planned.calls()}
        if len(judgments) == len(calls):
            break
        for key, kept in store.answers(run, [*calls.keys() - judgments.keys()]).items():
            judgments[key] = planned.judgment(calls[key], kept.reply)
    by_answer: dict[str, list[Judgment]] = {}
    for judgment in judgments.values():
        name = planned.items[judgment.call.items[0]].item_id
        by_answer.setdefault(name, []).append(judgment)
    return by_answer


class Trial(Session[Snapshot]):
    """The calls of a plan of one text, asked in a thread of its own.

    judgments: by the call's key, as they come.

    Raises NoConsent if nobody has agreed that the judge's key goes to its addresses.
    """

    def __init__(self, planned: Plan, consents: Consents = NO_CONSENTS) -> None:
        super().__init__("trial")
        require_consents(planned.study.judges, consents=consents)
        self._consents = consents
        self.plan = planned
        self.calls = tuple(planned.calls())
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
