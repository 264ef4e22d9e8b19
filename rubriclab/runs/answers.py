"""Answers that came by another route: read, matched to their calls by key, and kept.

``import_answers`` reads what a batch or a spread answered, through the client's reader and the
plan's parser. Keys tie answers to calls, so a study may be begun by one route and finished by
another.

What an answer says about a call that failed:

* a fault that the same call would meet again (context overflow, content filter, bad request)
  is recorded as an error row of that kind;
* anything else (server fault, rate limit, expired batch, wrong model, wrong key) says nothing
  about the call: it is counted by its kind and the call is left unasked, so that the next run,
  export or spread asks it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubriclab.judges import JUDGE_KINDS
from rubriclab.model import Call, Reply
from rubriclab.model.language import SOURCE, speaking, tr
from rubriclab.model.storable import storable_reply
from rubriclab.model.wording import many
from rubriclab.runs.answer_files import Answers, BatchError, says_nothing
from rubriclab.store import RunWriter, Store
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import Plan

# ---------------------------------------------------------------- what is left to ask


def done_keys(store: Store, prepared: Plan) -> set[str]:
    """Keys of the plan's calls that the store has a final reply to; empty without a run."""
    run = store.run_of(prepared.study)
    return store.done_keys(run) if store.holds(run) else set()


def failed_keys(store: Store, prepared: Plan) -> set[str]:
    """Keys of the plan's calls whose final reply is an error."""
    run = store.run_of(prepared.study)
    return store.failed_keys(run) if store.holds(run) else set()


def unasked(prepared: Plan, judge: int, done: Set[str]) -> Iterator[Call]:
    """The calls of one judge that are not in ``done``, in the plan's order."""
    return (call for call in prepared.calls(judge) if call.key not in done)


def protocol_judges(prepared: Plan) -> tuple[int, ...]:
    """Indexes of the judges that can be asked by another route.

    Raises BatchError where there is none: simulated and embedded judges live in this process.
    """
    judges = prepared.study.judges
    served = tuple(i for i, judge in enumerate(judges) if JUDGE_KINDS[judge.kind].served)
    if not served:
        kinds = ", ".join(sorted({judge.kind for judge in judges}))
        raise BatchError(
            f"Study “{prepared.study.name}” has only judges of kind {kinds}, which answer inside "
            "this process. Use “python -m rubriclab run”, or judges of kind openai or vllm."
        )
    return served


# ---------------------------------------------------------------- in


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of the answers in some files; every answer is counted exactly once.

    ``kept``: new judgments, ``failed`` of them errors by kind; ``replaced``: calls that had
    ended in an error and now have an answer (part of ``kept``); ``known``: the store had an
    answer already; ``duplicates``: a second answer to one call within the files; ``unasked``:
    faults that say nothing about the call, by kind; ``unknown``: answers that belong to no call
    of the study; ``unreadable``: lines that are no answer, with the place of the first few.
    ``left``: calls of the study without a final reply.
    """

    run: str
    answers: int
    kept: int
    replaced: int
    known: int
    duplicates: int
    unknown: int
    unreadable: int
    places: tuple[str, ...]
    failed: Mapping[str, int]
    unasked: Mapping[str, int]
    left: int

    @property
    def finished(self) -> bool:
        return self.left == 0


def import_answers(
    store: Store, prepared: Plan, files: Sequence[Path], *, made_with: Mapping[str, Any] | None = None
) -> Imported:
    """Store the judgments that these files hold and the store has not; see :class:`Imported`.

    ``files``: batch answers (JSONL) and answer tables (Parquet), in any mixture; a folder
    stands for the Parquet files and JSONL answers in it. Can be called again with the same or
    more files at any time: what is known stays as it is. ``made_with``: what the provenance of a
    new run says besides.

    Raises BatchError where a file cannot be read or none of the answers belongs to the study.
    """
    with Answers(_spread_folders(files)) as answers:
        intake = _Intake(store, prepared, answers, made_with)
        try:
            for call in prepared.calls():
                if call.key in answers:
                    intake.take(call)
        finally:
            intake.close()
        if answers.keys and not intake.matched:
            raise BatchError(
                tr(
                    "None of the answers ({answers:,}) belongs to study “{name}”: data, rubric, judges, design or "
                    "templates differ from those the calls were made with.",
                    answers=len(answers.keys),
                    name=prepared.study.name,
                )
            )
        taken = intake.result()
    if store.holds(taken.run):
        with speaking(SOURCE):  # stored
            store.set_state(taken.run, "finished" if taken.finished else "paused", reason_of(taken))
    return taken


def standing(store: Store, prepared: Plan) -> Imported:
    """How the study stands without any new answers."""
    with Answers(()) as answers:
        return _Intake(store, prepared, answers).result()


def reason_of(taken: Imported) -> str:
    """What the run's line says after an import; empty for a finished run without trouble."""
    parts = []
    if taken.left:
        parts.append(f"{many(taken.kept, 'answer')} read in; {many(taken.left, 'call', 'are')} left to ask")
    if taken.unasked:
        listed = ", ".join(f"{kind} {n:,}" for kind, n in sorted(taken.unasked.items()))
        parts.append(f"faults of the route, to be asked again: {listed}")
    if taken.unknown:
        parts.append(f"{many(taken.unknown, 'answer', 'belong')} to no call of this study")
    if taken.unreadable:
        parts.append(f"{many(taken.unreadable, 'line')} could not be read ({'; '.join(taken.places)})")
    return "; ".join(parts)


class _Intake:
    """Puts answers into the store, one call at a time, and counts what became of each."""

    def __init__(
        self, store: Store, prepared: Plan, answers: Answers, made_with: Mapping[str, Any] | None = None
    ) -> None:
        self._store, self._plan, self._answers = store, prepared, answers
        self._made_with = made_with or {}
        self._done, self._failed = done_keys(store, prepared), failed_keys(store, prepared)
        self._writer: RunWriter | None = None
        self._errors, self._unasked = Counter[str](), Counter[str]()
        self.matched = self._kept = self._known = self._replaced = 0

    def take(self, call: Call) -> None:
        self.matched += 1
        failed_before = call.key in self._failed
        if call.key in self._done and not failed_before:
            self._known += 1
            return
        reply = storable_reply(self._answers.reply(call, self._plan.study.judges[call.judge]))
        if reply.error is not None:
            if says_nothing(reply):
                self._unasked[str(reply.kind)] += 1
                return
            if failed_before:
                self._known += 1
                return
            self._errors[str(reply.kind)] += 1
        self._replaced += failed_before
        self._kept += 1
        self._put(call, reply)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def result(self) -> Imported:
        run, answers = self._store.run_of(self._plan.study), self._answers
        done = self._store.run(run).done if self._store.holds(run) else 0
        return Imported(
            run=run,
            answers=answers.lines,
            kept=self._kept,
            replaced=self._replaced,
            known=self._known,
            duplicates=answers.duplicates,
            unknown=len(answers.keys) - self.matched,
            unreadable=answers.unreadable,
            places=tuple(answers.places),
            failed=dict(self._errors),
            unasked=dict(self._unasked),
            left=len(self._plan) - done,
        )

    def _put(self, call: Call, reply: Reply) -> None:
        if self._writer is None:  # only now: files of another study must not make a run
            info = self._store.open_run(self._plan, {**provenance(self._plan), **self._made_with})
            self._writer = RunWriter(self._store, info.run)
        self._writer.put(self._plan.read(call, reply))


def _spread_folders(files: Sequence[Path]) -> tuple[Path, ...]:
    """Folders as the answer files in them, sorted by name."""
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = [*path.rglob("*.parquet"), *path.rglob("*.jsonl")]
            found.extend(sorted(inside))
        else:
            found.append(path)
    if not found:
        raise BatchError(f"No answer files in {', '.join(map(str, files))}: expected .jsonl or .parquet.")
    return tuple(found)
