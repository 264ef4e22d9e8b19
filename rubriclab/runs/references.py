"""Reference answers for every score: one judge writes, another reviews, until they agree.

For each item and score the writer is asked for an answer that earns exactly that score; the
reviewer scores it without knowing which score was meant; the answer passes where the two
agree, else the writer is asked again up to a limit (Li et al., "Datasets" and Figure 4).
Every attempt is kept in the store as it is made, so a stopped job goes on where it stopped;
what never passes is kept as failed, counted and left out of the data set.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from rubriclab.datasets.comparisons import judged
from rubriclab.judges import Asking, open_judge
from rubriclab.judges.keys import require_consent
from rubriclab.model import (
    REVIEW_TEMPLATE,
    WRITE_TEMPLATE,
    Dataset,
    Item,
    Judge,
    LabError,
    Rubric,
    Study,
    StudyError,
    fingerprint,
)
from rubriclab.model.language import msg, tr
from rubriclab.runs.asking import Asker, Retries
from rubriclab.runs.pace import Pace
from rubriclab.runs.reference_answers import (
    AttemptStatus,
    Progress,
    References,
    Wanted,
    Work,
    answer_key,
    answers_wanted,
    attempt_outcome,
    judge_identity,
    judge_named,
    references_table,
    review_call,
    without_reasoning,
    write_call,
)
from rubriclab.runs.runner import Opener
from rubriclab.store import Store
from rubriclab.study.prompts.parse import parse_label

__all__ = ["LIMIT", "Progress", "ReferenceJob", "References", "references_table", "run_references"]

LIMIT = 5


class ReferenceJob:
    """Writes reference answers for a data set; :meth:`run` blocks, :meth:`start` does not.

    ``limit``: attempts per answer. ``scores``: which scores (default: all of the criterion).
    Raises StudyError for settings that cannot work. The same judges on the same data with the
    same rubric are the same job, whatever its limit: it goes on where it stopped.
    """

    def __init__(
        self,
        dataset: Dataset,
        rubric: Rubric | None,
        *,
        writer: Judge,
        reviewer: Judge,
        store: Store,
        limit: int = LIMIT,
        scores: Sequence[int] | None = None,
        secrets: Mapping[str, str] | None = None,
        progress: Callable[[Progress], None] | None = None,
        opener: Opener = open_judge,
    ) -> None:
        chosen = rubric or dataset.rubric
        if chosen is None:
            raise StudyError(tr("Data set “{name}” has no rubric to write answers for.", name=dataset.name))
        if limit < 1:
            raise StudyError(tr("The limit of attempts must be 1 or more, not {limit}.", limit=limit))
        self.dataset, self.rubric = judged(dataset, chosen), chosen
        self.writer, self.reviewer, self.limit = writer, reviewer, limit
        self._store, self._secrets, self._opener, self._tell = store, secrets, opener, progress
        self.source = dataset.id
        self.job = fingerprint(
            [self.source, chosen.id, judge_identity(writer), judge_identity(reviewer), WRITE_TEMPLATE, REVIEW_TEMPLATE]
        )
        self._wanted, self.existing, self.skipped = answers_wanted(self.dataset, chosen, scores)
        self._work = self._so_far()
        self._state, self._reason = "running", ""
        self._stop: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def check(self) -> None:
        """Raises ConsentNeeded where a key would go to an address nobody here said yes to."""
        require_consent((self.writer, self.reviewer), self._store)

    def start(self) -> ReferenceJob:
        """Work in a thread of its own; look at :meth:`snapshot` for how far it is."""
        self._thread = threading.Thread(target=self.run, name="reference answers", daemon=True)
        self._thread.start()
        return self

    @property
    def active(self) -> bool:
        """Whether its thread is at work."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Ask nothing more; what has been written stays, and the job can go on later."""
        self._end("stopped", msg("stopped by you"))

    def wait(self, timeout: float | None = None) -> Progress:
        """Until the thread has ended, or ``timeout`` seconds are over."""
        if self._thread is not None:
            self._thread.join(timeout)
        return self.snapshot()

    def snapshot(self) -> Progress:
        works = list(self._work.values())
        accepted = sum(work.text is not None for work in works)
        spent = sum(work.text is None and work.made >= self.limit for work in works)
        attempts = sum(work.made for work in works)
        return Progress(len(self._wanted), accepted, spent, attempts, self._state, self._reason)

    def run(self) -> Progress:
        """Write until every answer has passed or used up its limit; faults end as a reason."""
        try:
            self.check()
            asyncio.run(self._main())
        except LabError as fault:
            self._end("paused", str(fault))
        except Exception as fault:  # a bug of ours must end as a reason on the page, not in a log
            self._end("paused", f"The lab failed: {type(fault).__name__}: {fault}")
        if self._state == "running":
            self._state = "finished"
        self._report()
        return self.snapshot()

    def result(self) -> References:
        """The data set with all answers accepted so far, and what was left out and why."""
        texts: dict[int, dict[int, str]] = {}
        by_score: dict[int, Counter[str]] = {}
        for wanted in self._wanted:
            work = self._work[answer_key(wanted)]
            counted = by_score.setdefault(wanted.score, Counter())
            if work.text is not None:
                texts.setdefault(wanted.index, {})[wanted.score] = work.text
                counted["accepted"] += 1
            elif work.made >= self.limit:
                counted["failed"] += 1
        items = tuple(
            replace(item, references={**texts.get(i, {}), **item.references})
            for i, item in enumerate(self.dataset.items)
            if isinstance(item, Item)
        )
        dataset = Dataset(
            name=f"{self.dataset.name} + references",
            items=items,
            rubric=self.dataset.rubric or self.rubric,
            origin=f"references by {self.writer.name}, reviewed by {self.reviewer.name}",
        )
        counts = {score: (c["accepted"], c["failed"]) for score, c in sorted(by_score.items())}
        return References(dataset, self.snapshot(), counts, self.existing, self.skipped, tuple(self._notes()))

    # -------- steps

    def _so_far(self) -> dict[tuple[str, int], Work]:
        """What earlier sessions of this job left in the store."""
        by_key = {answer_key(wanted): Work() for wanted in self._wanted}
        frame = self._store.reference_attempts(self.source)
        for row in frame[frame["job"] == self.job].to_dict("records"):
            work = by_key.get((str(row["item_id"]), int(row["score"])))
            if work is None:
                continue
            work.made += 1
            verdict = row["verdict"]
            work.verdicts.append(None if pd.isna(verdict) else int(verdict))
            if row["status"] == "accepted":
                work.text = str(row["text"])
        return by_key

    async def _main(self) -> None:
        with self._lock:
            self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
            if self._state != "running":
                return
        open_ones = iter(
            [
                w
                for w in self._wanted
                if self._work[answer_key(w)].text is None and self._work[answer_key(w)].made < self.limit
            ]
        )
        writer = self._open(self.writer)
        same = judge_identity(self.writer) == judge_identity(self.reviewer)
        reviewer = writer if same else self._open(self.reviewer)
        askers = (self._asker(writer, self.writer, self._stop), self._asker(reviewer, self.reviewer, self._stop))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(asker.pace.ceiling for asker in askers)):
                    group.create_task(self._worker(open_ones, askers))
        finally:
            await writer.close()
            if not same:
                await reviewer.close()

    def _open(self, judge: Judge) -> Asking:
        study = Study("references", self.dataset, (judge,), rubric=self.rubric)
        return self._opener(judge, study, self._secrets, None)

    def _asker(self, asking: Asking, judge: Judge, stop: asyncio.Event) -> Asker:
        """A call whose attempts are used up pauses the job: an outage must not use up the limits
        of all answers."""
        return Asker(
            asking, Pace(judge), stop, halt=lambda reason, _: self._end("paused", reason), retries=Retries(halt=True)
        )

    async def _worker(self, todo: Iterator[Wanted], askers: tuple[Asker, Asker]) -> None:
        for wanted in todo:
            work = self._work[answer_key(wanted)]
            while work.text is None and work.made < self.limit and not self._stopped():
                if not await self._attempt(wanted, work, askers):
                    return
            if self._stopped():
                return

    async def _attempt(self, wanted: Wanted, work: Work, askers: tuple[Asker, Asker]) -> bool:
        """Write once and review once; False where the job stopped before it was through."""
        number = work.made + 1
        writer, reviewer = askers
        written = await writer.ask(write_call(self.job, self.writer, wanted, work, number))
        if written is None:
            return False
        text = without_reasoning(written.text)
        if written.error is not None or not text:
            reason = written.error or "the writer wrote nothing"
            await self._keep(wanted, work, number, "failed", text, None, "", f"writer: {reason}")
            return True
        review = await reviewer.ask(review_call(self.job, self.reviewer, wanted, text, number))
        if review is None:
            return False
        labels = tuple(map(str, wanted.criterion.scores))
        parsed = parse_label(review.text, labels, answer="score")
        verdict = None if parsed.index is None else wanted.criterion.scores[parsed.index]
        status, reason = attempt_outcome(wanted.score, verdict, review, written, str(parsed.reason))
        await self._keep(wanted, work, number, status, text, verdict, review.text, reason)
        return True

    async def _keep(
        self,
        wanted: Wanted,
        work: Work,
        number: int,
        status: AttemptStatus,
        text: str,
        verdict: int | None,
        review: str,
        reason: str,
    ) -> None:
        """Commit the attempt, then count it: what is counted cannot be lost."""
        row = {
            "job": self.job,
            "dataset": self.source,
            "item_id": wanted.item.item_id,
            "score": wanted.score,
            "attempt": number,
            "writer": self.writer.name,
            "reviewer": self.reviewer.name,
            "status": status,
            "verdict": verdict,
            "text": text,
            "review": review,
            "reason": reason,
        }
        await asyncio.to_thread(self._store.save_reference_attempt, row)
        work.made = number
        work.verdicts.append(verdict)
        if status == "accepted":
            work.text = text
        self._report()

    def _stopped(self) -> bool:
        return self._state != "running"

    def _end(self, state: str, reason: str) -> None:
        with self._lock:
            if self._state == "running":
                self._state, self._reason = state, reason
            loop, stop = self._loop, self._stop
        if loop is not None and stop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    def _report(self) -> None:
        if self._tell is not None:
            self._tell(self.snapshot())

    def _notes(self) -> Iterator[str]:
        shown = self.snapshot()
        if shown.failed:
            yield tr(
                "{failed} of {wanted} answers did not pass in {limit} attempts; they are left out, and every "
                "attempt is kept.",
                failed=shown.failed,
                wanted=shown.wanted,
                limit=self.limit,
            )
        if self.existing:
            yield tr("{existing} answers were there already and were kept as they are.", existing=self.existing)
        if self.skipped:
            yield tr("{skipped} items have no instruction, so no answer to it can be written.", skipped=self.skipped)
        if judge_identity(self.writer) == judge_identity(self.reviewer):
            yield tr("Writer and reviewer are the same judge: it passes its own work more easily.")


def run_references(
    study: Study,
    *,
    writer: str,
    reviewer: str,
    store: Store,
    limit: int = LIMIT,
    scores: Sequence[int] | None = None,
    secrets: Mapping[str, str] | None = None,
    progress: Callable[[Progress], None] | None = None,
    opener: Opener = open_judge,
    through: Callable[[ReferenceJob], object] = ReferenceJob.run,
) -> References:
    """Write reference answers for a study's data and keep the new data set in the store.

    ``writer`` and ``reviewer`` name judges of the study, else of the store. Raises StudyError
    for names that neither knows. A stopped or paused job has ``progress.state`` and
    ``progress.reason``; calling again goes on. ``through``: how the job is worked through, for
    a caller that wants to stop it.
    """
    job = ReferenceJob(
        study.dataset,
        study.rubric,
        writer=judge_named(writer, study, store),
        reviewer=judge_named(reviewer, study, store),
        store=store,
        limit=limit,
        scores=scores,
        secrets=secrets,
        progress=progress,
        opener=opener,
    )
    through(job)
    written = job.result()
    if written.progress.accepted:
        store.save_dataset(written.dataset)
    return written
