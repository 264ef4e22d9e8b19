"""Write a reference answer for every score of a data set: one judge writes, another reviews.

For each instruction and score the writer is asked for an answer that earns exactly that score. The
reviewer scores it without knowing which score was meant. If they agree the answer is accepted, else
another one is written, up to a limit (Li et al., “Datasets” and figure 4). Every attempt is
committed as it is made, so a stopped job goes on where it stopped. What never passes is counted and
left out.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import pandas as pd

from rubriclab.data.safe_files import csv_text
from rubriclab.judges.keys import require_consents
from rubriclab.judges.kinds import open_judge
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.ending import ending_of
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply, Status
from rubriclab.model.study import Study
from rubriclab.model.text import LabError, count, digest, shorten
from rubriclab.runs.asking import Asking
from rubriclab.runs.session import Session, Snapshot
from rubriclab.store.store import Attempt, Store
from rubriclab.study.references import (
    REVIEW_TEMPLATE,
    WRITE_TEMPLATE,
    Task,
    review_call,
    review_score,
    write_call,
    written_answer,
)
from rubriclab.study.subjects import rated_items


@dataclass(frozen=True)
class JobSnapshot(Snapshot):
    """A job at one moment.

    planned: answers that are wanted. done: accepted ones and failed ones, which used up their
        attempts.
    attempts: of all sessions.
    """

    accepted: int
    attempts: int


@dataclass(slots=True)
class Wanted:
    """One answer to write, with what all sessions have tried so far. ``tries``: the limit."""

    task: Task
    score: int
    tries: int
    tried: list[Attempt]

    @property
    def text(self) -> str | None:
        """Return the answer that passed; None while none has."""
        for attempt in self.tried:
            if attempt.status == "accepted":
                return attempt.text
        return None

    @property
    def ended(self) -> str:
        """Return accepted, failed (all attempts are used up) or open."""
        if self.text is not None:
            return "accepted"
        return "failed" if len(self.tried) >= self.tries else "open"


@dataclass(frozen=True)
class Review:
    """How an attempt ended: a status and reason of ``Attempt``."""

    status: str
    reason: str = ""


class ReferenceJob(Session[JobSnapshot]):
    """Write a study's reference answers, in a thread of its own. ``[references]`` names the judges.

    Answers to one instruction under one criterion share their references. Those that the data have
    are kept; a plain reference counts as one of the highest score. The same data, rubric and judges
    are one job, whatever its ``tries``.

    Raises LabError, before anything is asked, if there is nothing to write or a name is not known.
    """

    def __init__(
        self,
        store: Store,
        study: Study,
        dataset: DataSet,
        rubric: Rubric,
        *,
        secrets: Mapping[str, str] | None = None,
        consents: Consents = NO_CONSENTS,
    ) -> None:
        self._consents = store.consents() | consents
        self.how = study.references
        writer = _judge_of(study, self.how.writer or study.judges[0].name)
        reviewer = _judge_of(study, self.how.reviewer or study.judges[-1].name)
        self.judges = writer, reviewer
        self.store, self.rubric, self._secrets = store, rubric, secrets
        items, *_ = rated_items(dataset, rubric)
        self.dataset = DataSet(f"{dataset.name} + references", items, dataset.origin)
        self.id = digest(
            dataset.id,
            rubric.id,
            [judge.identity() for judge in self.judges],
            self.how.alternate,
            WRITE_TEMPLATE,
            REVIEW_TEMPLATE,
        )[:32]
        self.wanted = list(self._all_wanted())
        if not self.wanted:
            raise LabError(
                f"“{shorten(dataset.name)}” needs no reference answers: no item has an "
                "instruction, or all have their references, or [references] names no score of the "
                "rubric. Name the instruction's column, or other scores."
            )
        super().__init__("reference answers")

    # ------------------------------------------------------------ what is wanted

    def _missing(self, item: Item) -> list[int]:
        """Return the scores for which an item has no reference answer yet."""
        scores = self.rubric.criterion(item.criterion).scores
        has = {score for score in scores if item.columns.get(f"reference_{score}", "").strip()}
        if item.reference.strip():
            has.add(scores[-1])
        asked = self.how.scores or scores
        return [score for score in scores if score in asked and score not in has]

    def _all_wanted(self) -> Iterator[Wanted]:
        """Yield every answer to write, once for all items that share an instruction."""
        tried: dict[tuple[str, int], list[Attempt]] = {}
        for attempt in self.store.reference_attempts(self.id):
            tried.setdefault((attempt.task, attempt.score), []).append(attempt)
        tasks: dict[str, Task] = {}
        missing: dict[tuple[str, int], None] = {}
        for item in self.dataset.items:
            if not item.instruction.strip():
                continue
            key = task_id(item)
            if key not in tasks:
                criterion = self.rubric.criterion(item.criterion)
                tasks[key] = Task(len(tasks), key, item.instruction, criterion)
            missing |= {(key, score): None for score in self._missing(item)}
        for key, score in missing:
            yield Wanted(tasks[key], score, self.how.tries, tried.get((key, score), []))

    # ------------------------------------------------------------ from any thread

    def snapshot(self) -> JobSnapshot:
        ended = Counter(wanted.ended for wanted in self.wanted)
        return JobSnapshot(
            planned=len(self.wanted),
            done=ended["accepted"] + ended["failed"],
            failed=ended["failed"],
            state=self._state,
            reason=self._reason,
            stage="",
            seconds_left=None,
            accepted=ended["accepted"],
            attempts=sum(len(wanted.tried) for wanted in self.wanted),
        )

    def result(self) -> DataSet:
        """Return the data set with all answers that have passed so far."""
        texts = {(wanted.task.id, wanted.score): wanted.text for wanted in self.wanted}
        items = []
        for item in self.dataset.items:
            columns = dict(item.columns)
            for score in self._missing(item):
                text = texts.get((task_id(item), score))
                if text is not None:
                    columns[f"reference_{score}"] = text
            items.append(replace(item, columns=columns))
        return replace(self.dataset, items=tuple(items))

    def document(self) -> dict[str, Any]:
        """Return the counts, by score too, and what to know about them, as JSON values."""
        now = self.snapshot()
        by_score: dict[int, Counter[str]] = {}
        for wanted in self.wanted:
            ended = by_score.setdefault(wanted.score, Counter(accepted=0, failed=0, open=0))
            ended[wanted.ended] += 1
        return {
            "job": self.id,
            "state": now.state,
            "reason": now.reason,
            "wanted": now.planned,
            "accepted": now.accepted,
            "failed": now.failed,
            "attempts": now.attempts,
            "tries": self.how.tries,
            "by_score": {str(score): dict(ended) for score, ended in sorted(by_score.items())},
            "notes": list(self._notes()),
        }

    def _notes(self) -> Iterator[str]:
        """Yield what a reader of the counts has to know."""
        failed = self.snapshot().failed
        if failed:
            yield (
                f"{failed:,} of {count(len(self.wanted), 'answer')} did not pass in "
                f"{count(self.how.tries, 'attempt')}. They are left out, and every attempt is kept "
                "in the store."
            )
        if self.judges[0].identity() == self.judges[1].identity():
            yield (
                f"{self.judges[0].name} reviews what it wrote itself, and may pass its own work "
                "more easily."
            )
        without = sum(not item.instruction.strip() for item in self.dataset.items)
        if without:
            yield f"No answer can be written for {count(without, 'item')} without an instruction."
        if any(judge.simulated for judge in self.judges):
            yield "Simulated judges wrote or reviewed, so these are not real answers."

    # ------------------------------------------------------------ the job's own thread

    def start(self) -> Self:
        """Start asking.

        Raises NoConsent if nobody has agreed that the judges' keys go to their addresses.
        """
        require_consents(self.judges, self._secrets, self._consents)
        return super().start()

    async def _work(self) -> tuple[str, str]:
        todo = iter([wanted for wanted in self.wanted if wanted.ended == "open"])
        async with AsyncExitStack() as stack:
            for settings in {judge.name: judge for judge in self.judges}.values():
                asker = await open_judge(
                    settings,
                    secrets=self._secrets,
                    rubric=self.rubric,
                    consents=self._consents,
                )
                stack.push_async_callback(asker.close)
                self._askings[settings.name] = Asking(settings, asker)
            # Each worker has one answer at a time, from writing to review. They share one iterator:
            # in one event loop no two can take the same.
            async with asyncio.TaskGroup() as group:
                for _ in range(max(judge.concurrency for judge in self.judges)):
                    self._track(group.create_task(self._worker(todo)))
        return self._wanted or ("finished", "")

    async def _worker(self, todo: Iterator[Wanted]) -> None:
        """Write answers, each until it is accepted or its attempts are used up."""
        for wanted in todo:
            while wanted.ended == "open":
                if self._wanted is not None or not await self._attempt(wanted):
                    return

    async def _attempt(self, wanted: Wanted) -> bool:
        """Write once, review once, and keep it. Return False if the job stopped before the end."""
        task, number = wanted.task, len(wanted.tried) + 1
        writer, reviewer = self._askings_for(task, number)
        tried = Attempt(
            task=task.id,
            score=wanted.score,
            attempt=number,
            writer=writer.settings.name,
            reviewer=reviewer.settings.name,
        )
        earlier = [attempt.verdict for attempt in wanted.tried]
        written = await self._reply(
            writer, write_call(writer.settings, task, wanted.score, earlier)
        )
        if written is None:
            return False
        text = written_answer(written)
        if written.error or not text:
            why = f"{writer.settings.name}: {written.error or 'it wrote nothing'}"
            return await self._keep(wanted, replace(tried, text=text, reason=why))
        call = review_call(reviewer.settings, task, text, number)
        review = await self._reply(reviewer, call)
        if review is None:
            return False
        verdict, status = review_score(call, review)
        ended = _review(wanted, tried, written, review, verdict, Status(status))
        tried = replace(
            tried,
            status=ended.status,
            verdict=verdict,
            text=text,
            review=review.text,
            reason=ended.reason,
        )
        return await self._keep(wanted, tried)

    def _askings_for(self, task: Task, number: int) -> tuple[Asking, Asking]:
        """Return who writes and who reviews an attempt.

        With ``alternate`` they swap after each attempt, and each begins with every second task.
        """
        writer, reviewer = (self._askings[judge.name] for judge in self.judges)
        if self.how.alternate and (task.number + number) % 2 == 0:
            return reviewer, writer
        return writer, reviewer

    async def _reply(self, asking: Asking, call: Call) -> Reply | None:
        """Return the final reply; None if the job stops."""
        reply = await asking.answered(call)
        # An outage stops the job, so that it uses up no attempt.
        if reply is not None and reply.error and reply.retryable:
            asking.halt(reply.error)
        if asking.reason:
            self.pause(asking.reason)
            return None
        return reply

    async def _keep(self, wanted: Wanted, attempt: Attempt) -> bool:
        """Commit the attempt, then count it: what is counted cannot be lost."""
        await asyncio.to_thread(self.store.keep_attempt, self.id, attempt)
        wanted.tried.append(attempt)
        return True


def _judge_of(study: Study, name: str) -> JudgeSettings:
    for judge in study.judges:
        if judge.name == name:
            return judge
    known = ", ".join(judge.name for judge in study.judges)
    raise LabError(
        f"[references] names the judge “{shorten(name)}”, and the study has {known}. Name one of "
        "its [[judges]]."
    )


def _review(
    wanted: Wanted,
    tried: Attempt,
    written: Reply,
    review: Reply,
    verdict: int | None,
    status: Status,
) -> Review:
    """Return how an attempt ended. ``verdict``, ``status``: what was parsed from the review."""
    if review.error:
        return Review("failed", f"{tried.reviewer}: {review.error}")
    if verdict is None:
        return Review("unparsed", f"the review names no score ({status.name.lower()})")
    if verdict != wanted.score:
        return Review("rejected", f"{tried.reviewer} gave it {verdict}")
    if ending_of(written.finish) != "whole":
        return Review("rejected", "the answer was cut off")
    return Review("accepted")


def task_id(item: Item) -> str:
    """Return what names an instruction under a criterion."""
    return digest(item.instruction, item.criterion)[:32]


def items_csv(dataset: DataSet) -> bytes:
    """Return the items as a file that can be the data of a study.

    Fields that no item has are left out, and raters become ``human_1``, ``human_2`` and so on.
    """
    names = sorted({rater for item in dataset.items for rater in item.ratings})
    numbers = {name: number for number, name in enumerate(names, 1)}
    rows = []
    for item in dataset.items:
        row = {name: value for name, value in asdict(item).items() if not isinstance(value, dict)}
        row |= {f"human_{numbers[rater]}": score for rater, score in item.ratings.items()}
        rows.append(row | dict(sorted(item.columns.items())))
    frame = pd.DataFrame(rows).replace("", None)
    own = {name for item in dataset.items for name in item.columns}
    kept = [name for name in frame if name in own or frame[name].notna().any()]
    return csv_text(frame[kept]).encode()
