"""Reference answers: which are wanted, what each attempt came to, and what a job leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import pandas as pd

from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import (
    REVIEW_TEMPLATE,
    WRITE_TEMPLATE,
    Call,
    Criterion,
    Dataset,
    Item,
    Judge,
    Ordering,
    Reply,
    Rubric,
    Sampling,
    Study,
    StudyError,
    fingerprint,
)
from rubriclab.model.language import msg, tr
from rubriclab.store import Store
from rubriclab.study.prompts.references import render_review, render_write
from rubriclab.study.protocols.options import Options
from rubriclab.study.terms import answer_is_begun, with_answer_length

AttemptStatus = Literal["accepted", "rejected", "unread", "failed"]

WRITE_TOKENS = 800
WRITE_TEMPERATURE = 0.8
"""For a writer at temperature 0, which would write the same answer again at every attempt."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A job at one moment. ``wanted`` answers; ``done`` = ``accepted`` + ``failed``.

    ``failed``: (item, score) pairs that used up the limit; ``attempts`` of all sessions.
    ``state``: running, finished, stopped (by the user) or paused (``reason`` says why).
    """

    wanted: int
    accepted: int
    failed: int
    attempts: int
    state: str = "running"
    reason: str = ""

    @property
    def done(self) -> int:
        return self.accepted + self.failed


@dataclass(frozen=True)
class References:
    """What came of a job. ``dataset`` holds the accepted answers beside those it had before.

    ``by_score``: score -> (accepted, failed). ``existing`` answers were there already,
    ``skipped`` items have no instruction to answer. ``notes`` say it in words.
    """

    dataset: Dataset
    progress: Progress
    by_score: Mapping[int, tuple[int, int]]
    existing: int
    skipped: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """One answer to be written: an item (by its index), its criterion and the score."""

    index: int
    item: Item
    criterion: Criterion
    score: int


@dataclass
class Work:
    """What is known of one answer so far: attempts made, their verdicts, the accepted text."""

    made: int = 0
    verdicts: list[int | None] = field(default_factory=list)
    text: str | None = None


def answers_wanted(
    dataset: Dataset, rubric: Rubric, scores: Sequence[int] | None
) -> tuple[tuple[Wanted, ...], int, int]:
    """(answers to write, answers there already, items without an instruction)."""
    missing: list[Wanted] = []
    existing = skipped = 0
    for index, item in enumerate(dataset.items):
        if not isinstance(item, Item) or not item.instruction.strip():
            skipped += 1
            continue
        criterion = rubric.criterion(item.criterion)
        asked = [s for s in criterion.scores if scores is None or s in scores]
        existing += sum(score in item.references for score in asked)
        missing.extend(Wanted(index, item, criterion, s) for s in asked if s not in item.references)
    if not missing and not existing:
        raise StudyError(
            tr(
                "There is nothing to write for “{name}”: no item has an instruction, or no criterion has the "
                "scores {scores}.",
                name=dataset.name,
                scores=list(scores or ()),
            )
        )
    return tuple(missing), existing, skipped


def answer_key(wanted: Wanted) -> tuple[str, int]:
    return wanted.item.item_id, wanted.score


def without_reasoning(text: str) -> str:
    """The answer without the reasoning some models write before it."""
    return text.rsplit("</think>", 1)[-1].strip()


def attempt_outcome(
    meant: int, verdict: int | None, review: Reply, written: Reply, unread: str
) -> tuple[AttemptStatus, str]:
    """What an attempt came to, and why."""
    if review.error is not None:
        return "failed", f"reviewer: {review.error}"
    if verdict is None:
        return "unread", f"reviewer: {unread}"
    if verdict != meant:
        return "rejected", f"the reviewer gave it {verdict}"
    if written.finish == "length":
        return "rejected", msg("the answer was cut off")
    return "accepted", ""


def judge_named(name: str, study: Study, store: Store) -> Judge:
    """The judge of that name in the study, else in the store; StudyError where neither has it."""
    known = {judge.name: judge for judge in (*store.judges(), *study.judges)}
    if name not in known:
        raise StudyError(
            tr(
                "There is no judge “{name}”. The study and the store have: {known}.",
                name=name,
                known=", ".join(known) or tr("none"),
            )
        )
    return known[name]


def judge_identity(judge: Judge) -> dict[str, object]:
    return {**judge.identity(), "sampling": asdict(judge.sampling)}


def write_call(job: str, writer: Judge, wanted: Wanted, work: Work, number: int) -> Call:
    """Asks the writer for an answer that earns the score wanted."""
    messages = render_write(wanted.item, wanted.criterion, wanted.score, earlier=work.verdicts)
    sampling = writer.sampling
    if not sampling.temperature and sampling.temperature is not None:
        sampling = replace(sampling, temperature=WRITE_TEMPERATURE)
    if sampling.max_tokens is None:
        most = min(WRITE_TOKENS, JUDGE_KINDS[writer.kind].feedback_tokens)
        sampling = replace(sampling, max_tokens=most)
    return _call(job, wanted, WRITE_TEMPLATE, messages, sampling, number, wanted.score)


def review_call(job: str, reviewer: Judge, wanted: Wanted, text: str, number: int) -> Call:
    """Asks the reviewer for the score of an answer, without the score that was meant."""
    messages: tuple[Mapping[str, str], ...] = render_review(wanted.item, wanted.criterion, text)
    if answer_is_begun(reviewer):
        messages = (*messages, {"role": "assistant", "content": Options.begun})
    sampling = with_answer_length(reviewer.sampling, reviewer, "score")
    return _call(job, wanted, REVIEW_TEMPLATE, messages, sampling, number, None)


def _call(
    job: str,
    wanted: Wanted,
    template: str,
    messages: tuple[Mapping[str, str], ...],
    sampling: Sampling,
    number: int,
    reference: int | None,
) -> Call:
    """One question about ``wanted``; its key tells the job, the attempt and the words."""
    scores = wanted.criterion.scores
    key = [job, wanted.item.item_id, wanted.score, number, template, list(messages)]
    return Call(
        key=fingerprint(key),
        judge=0,
        arm=0,
        items=(wanted.index,),
        read=number,
        repeat=0,
        ordering=Ordering(scores, tuple(map(str, scores))),
        messages=messages,
        template=template,
        sampling=sampling,
        reference=reference,
    )


def references_table(dataset: Dataset) -> pd.DataFrame:
    """The items as a table that can be uploaded again: references as columns reference_1, ..."""
    rows = []
    for item in dataset.items:
        if isinstance(item, Item):
            apart = ("references", "human", "raters", "columns")
            row = {name: part for name, part in asdict(item).items() if name not in apart}
            row |= {name: text for name, text in item.columns.items() if name not in row}
            row |= {f"human_{i}": rating for i, rating in enumerate(item.human, 1)}
            row |= {f"reference_{s}": text for s, text in sorted(item.references.items())}
            rows.append(row)
    return pd.DataFrame(rows).dropna(axis=1, how="all")
