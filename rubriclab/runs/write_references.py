"""A data set in, the same with a reference answer for every score out: one judge writes, another
reviews.

For each instruction and score the writer is asked for an answer that earns exactly that score; the
reviewer scores it without knowing which one was meant. Where they agree the answer is taken, else
another one is written, up to a limit (Li et al., “Datasets” and figure 4). Every attempt is
committed as it is made, so a stopped job goes on where it stopped; what never passes is counted and
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
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.ending import ending_of
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
    """A job at one moment. ``planned`` answers are wanted; ``done`` = accepted + failed, which used
    up their attempts.

    ``attempts``: of all sessions.
    """

    accepted: int
    attempts: int


@dataclass(slots=True)
class Wanted:
    """One answer to write, with what was tried so far (over all sessions)."""

    task: Task
    score: int
    tries: int
    tried: list[Attempt]

    @property
    def text(self) -> str | None:
        """The answer that passed; None while none has."""
        return next((attempt.text for attempt in self.tried if attempt.status == "accepted"), None)

    @property
    def ended(self) -> str:
        return (
            "accepted"
            if self.text is not None
            else "failed"
            if len(self.tried) >= self.tries
            else "open"
        )


class ReferenceJob(Session[JobSnapshot]):
    """Writes a study's reference answers, in a thread of its own. ``[references]`` names the
    judges.

    Answers to one instruction under one criterion share their references. Those that the data have
    are kept; a plain reference counts as one of the highest score. The same data, rubric and judges
    are one job, whatever its ``tries``. Raises LabError, before anything is asked, where there is
    nothing to write or a name is not known.
    """

    def __init__(
        self,
        store: Store,
        study: Study,
        dataset: DataSet,
        rubric: Rubric,
        *,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.how = study.references
        named = {judge.name: judge for judge in study.judges}
        pair = (self.how.writer or study.judges[0].name, self.how.reviewer or study.judges[-1].name)
        for name in pair:
            if name not in named:
                raise LabError(
                    f"[references] names the judge “{shorten(name)}”; the study has "
                    f"{', '.join(named)}. Name one of its "
                    "[[judges]]."
                )
        self.judges = named[pair[0]], named[pair[1]]
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
                f"There is no reference answer to write for “{shorten(dataset.name)}”: no item has "
                f"an instruction, or all "
                "have their references, or [references] names no score of the rubric. Name the "
                "instruction's column, or "
                "other scores."
            )
        super().__init__("reference answers")

    # ------------------------------------------------------------ what is wanted

    def _missing(self, item: Item) -> list[int]:
        """The scores of which an item lacks a reference answer."""
        scores = self.rubric.criterion(item.criterion).scores
        has = {score for score in scores if item.columns.get(f"reference_{score}", "").strip()}
        has |= {scores[-1]} if item.reference.strip() else set()
        return [
            score for score in scores if score in (self.how.scores or scores) and score not in has
        ]

    def _all_wanted(self) -> Iterator[Wanted]:
        tried: dict[tuple[str, int], list[Attempt]] = {}
        for attempt in self.store.reference_attempts(self.id):
            tried.setdefault((attempt.task, attempt.score), []).append(attempt)
        tasks: dict[str, Task] = {}
        missing: dict[tuple[str, int], None] = {}
        for item in self.dataset.items:
            if item.instruction.strip():
                key = task_id(item)
                tasks.setdefault(
                    key,
                    Task(len(tasks), key, item.instruction, self.rubric.criterion(item.criterion)),
                )
                missing |= {(key, score): None for score in self._missing(item)}
        for key, score in missing:
            yield Wanted(tasks[key], score, self.how.tries, tried.get((key, score), []))

    # ------------------------------------------------------------ from any thread

    def snapshot(self) -> JobSnapshot:
        ended = Counter(wanted.ended for wanted in self.wanted)
        done, attempts = (
            ended["accepted"] + ended["failed"],
            sum(len(wanted.tried) for wanted in self.wanted),
        )
        return JobSnapshot(
            len(self.wanted),
            done,
            ended["failed"],
            self._state,
            self._reason,
            "",
            None,
            ended["accepted"],
            attempts,
        )

    def result(self) -> DataSet:
        """The data set with all answers that have passed so far."""
        texts = {(wanted.task.id, wanted.score): wanted.text for wanted in self.wanted}
        items = []
        for item in self.dataset.items:
            written = {score: texts.get((task_id(item), score)) for score in self._missing(item)}
            passed = {
                f"reference_{score}": text for score, text in written.items() if text is not None
            }
            items.append(replace(item, columns={**item.columns, **passed}))
        return replace(self.dataset, items=tuple(items))

    def document(self) -> dict[str, Any]:
        """Counts, by score too, and what has to be known of them, as JSON values."""
        now = self.snapshot()
        by_score: dict[int, Counter[str]] = {}
        for wanted in self.wanted:
            by_score.setdefault(wanted.score, Counter(accepted=0, failed=0, open=0))[
                wanted.ended
            ] += 1
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
        if failed := self.snapshot().failed:
            yield (
                f"{failed:,} of {count(len(self.wanted), 'answer')} did not pass in "
                f"{count(self.how.tries, 'attempt')}; "
                "they are left out, and every attempt is kept in the store."
            )
        if self.judges[0].identity() == self.judges[1].identity():
            yield (
                f"{self.judges[0].name} reviews what it wrote itself: "
                "it passes its own work more easily."
            )
        if without := sum(not item.instruction.strip() for item in self.dataset.items):
            yield (
                f"{count(without, 'item')} without an instruction: no answer to it can be written."
            )
        if any(judge.simulated for judge in self.judges):
            yield "Simulated judges wrote or reviewed: these are no answers."

    # ------------------------------------------------------------ the job's own thread

    def start(self) -> Self:
        """Ask. Raises NoConsent where nobody has agreed that the judges' keys go to their
        addresses.
        """
        require_consents(self.judges, self._secrets, self.store.consents())
        return super().start()

    async def _work(self) -> tuple[str, str]:
        todo = iter([wanted for wanted in self.wanted if wanted.ended == "open"])
        async with AsyncExitStack() as stack:
            for settings in {judge.name: judge for judge in self.judges}.values():
                asker = await open_judge(
                    settings,
                    secrets=self._secrets,
                    rubric=self.rubric,
                    consents=self.store.consents(),
                )
                stack.push_async_callback(asker.close)
                self._askings[settings.name] = Asking(settings, asker)
            async with asyncio.TaskGroup() as group:
                for _ in range(max(judge.concurrency for judge in self.judges)):
                    self._track(group.create_task(self._worker(todo)))
        return self._wanted or ("finished", "")

    async def _worker(self, todo: Iterator[Wanted]) -> None:
        for wanted in todo:
            while wanted.ended == "open":
                if self._wanted is not None or not await self._attempt(wanted):
                    return

    async def _attempt(self, wanted: Wanted) -> bool:
        """Write once, review once and keep it; False where the job stopped before it was
        through.
        """
        task, number = wanted.task, len(wanted.tried) + 1
        writer, reviewer = (self._askings[judge.name] for judge in self.judges)
        if (
            self.how.alternate and (task.number + number) % 2 == 0
        ):  # each begins with every second instruction
            writer, reviewer = reviewer, writer
        tried = Attempt(task.id, wanted.score, number, writer.settings.name, reviewer.settings.name)
        call = write_call(
            writer.settings, task, wanted.score, [attempt.verdict for attempt in wanted.tried]
        )
        written = await self._reply(writer, call)
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
        ended, why = "accepted", ""
        if review.error:
            ended, why = "failed", f"{reviewer.settings.name}: {review.error}"
        elif verdict is None:
            ended, why = "unparsed", f"the review names no score ({Status(status).name.lower()})"
        elif verdict != wanted.score:
            ended, why = "rejected", f"{reviewer.settings.name} gave it {verdict}"
        elif ending_of(written.finish) != "whole":
            ended, why = "rejected", "the answer was cut off"
        tried = replace(
            tried, status=ended, verdict=verdict, text=text, review=review.text, reason=why
        )
        return await self._keep(wanted, tried)

    async def _reply(self, asking: Asking, call: Call) -> Reply | None:
        """The final reply; None where the job stops. An outage stops it and uses up no attempt."""
        reply = await asking.answered(call)
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


def task_id(item: Item) -> str:
    """What names an instruction under a criterion."""
    return digest(item.instruction, item.criterion)[:32]


def items_csv(dataset: DataSet) -> bytes:
    """The items as a file that can be the data of a study: fields that none has left out, raters as
    ``human_1`` ...
    """
    raters = {
        name: k
        for k, name in enumerate(
            sorted({rater for item in dataset.items for rater in item.ratings}), 1
        )
    }
    rows = []
    for item in dataset.items:
        row = {name: value for name, value in asdict(item).items() if not isinstance(value, dict)}
        row |= {f"human_{raters[rater]}": score for rater, score in item.ratings.items()}
        rows.append(row | dict(sorted(item.columns.items())))
    frame, kept = (
        pd.DataFrame(rows).replace("", None),
        {name for item in dataset.items for name in item.columns},
    )
    return csv_text(
        frame[[name for name in frame if name in kept or frame[name].notna().any()]]
    ).encode()
