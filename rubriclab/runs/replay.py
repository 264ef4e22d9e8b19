"""A log's prompts asked again in other orders: its studies, as files or run, its replies as their first reads."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rubriclab.datasets.logs import LOGS, Source, detect
from rubriclab.datasets.logs.taken_apart import taken_apart
from rubriclab.datasets.outfiles import write_file
from rubriclab.model import DataError, Judge, LabError, Reply, Strategy
from rubriclab.model.language import tr
from rubriclab.runs.answer_files import answer_row, answer_table, write_answers
from rubriclab.runs.answers import Imported, import_answers
from rubriclab.store import Store
from rubriclab.store.provenance import import_provenance
from rubriclab.study.plan import Plan, plan
from rubriclab.study.replay import FirstRead, Replay, Replays, replays
from rubriclab.study.writing import study_parts

ANSWERS_FILE = "answers.parquet"
Same = Literal["named", "yes", "no"]
"""Whether a study's judge is the log's: where the log names its model, surely, or surely not."""


@dataclass(frozen=True)
class Prepared:
    """A study of a log's prompts, planned. ``answers``: the logged reply of each call (by key) that the log
    has answered already; ``unused``: replies of the same judge in orders that the design does not ask."""

    replay: Replay
    plan: Plan
    answers: dict[str, FirstRead]
    unused: int


def replays_of(
    source: Source,
    judges: Sequence[Judge],
    strategies: Sequence[Strategy],
    *,
    kind: str | None = None,
    name: str = "",
    items: int | None = None,
    seed: int = 0,
) -> Replays:
    """The studies that ask a log's prompts again (see ``study.replay``).

    ``kind``: a key of ``LOGS``, found by what the file holds without one. Raises DataError for no log, and
    for one of which no prompt can be asked again.
    """
    found = kind or detect(source)
    if found is None or found not in LOGS:
        raise DataError(
            tr("“{name}” is no log with prompts that is known. rubriclab import --kinds lists them.", name=source.name)
        )
    name = name or source.name.split(".")[0]
    records = LOGS[found].read(source)
    return replays(taken_apart(records), name=name, judges=judges, strategies=strategies, items=items, seed=seed)


def prepared(replay: Replay, same: Same = "named") -> Prepared:
    """The study planned, and which of its calls the log has answered: those of the same judge with the same
    messages, as often as it has them."""
    planned = plan(replay.study)
    answers: dict[str, FirstRead] = {}
    unused = 0
    for index, judge in enumerate(planned.study.judges):
        waiting: dict[tuple[tuple[str, str], ...], list[FirstRead]] = defaultdict(list)
        for read in reversed(replay.reads):
            if same == "yes" or (same == "named" and read.judge == judge.model):
                waiting[read.messages].append(read)
        for call in planned.calls(index) if waiting else ():
            if reads := waiting.get(tuple((message["role"], message["content"]) for message in call.messages)):
                answers[call.key] = reads.pop()
        unused += sum(map(len, waiting.values()))
    return Prepared(replay, planned, answers, unused)


def keep_logged(store: Store, one: Prepared, source: Source) -> Imported | None:
    """Keep the logged replies as answers of the study's run; None where there are none.

    Each says in its note which record of the log it is from, the run says in its provenance which log.
    """
    if not one.answers:
        return None
    with source.open() as file:
        made_with = import_provenance(source.name, file)
    log = {"file": made_with["file"], "sha256": made_with["sha256"], "answers": len(one.answers)}
    with tempfile.TemporaryDirectory(prefix="rubriclab-replay-") as folder:
        path = Path(folder) / ANSWERS_FILE
        write_logged(path, one, source.name)
        return import_answers(store, one.plan, [path], made_with={"replayed": log})


def write_logged(path: Path, one: Prepared, file: str) -> None:
    """The logged replies as an answer table, as of a batch."""
    rows = (
        answer_row(key, Reply(text=read.reply, note=f"logged: record {read.line} of {file}"))
        for key, read in one.answers.items()
    )
    write_answers(path, answer_table(list(rows)))


def write_study(folder: Path, one: Prepared, source: Source) -> Iterator[Path]:
    """The study as files in a new or empty folder, with the logged replies beside it where it has any.

    Raises LabError for a folder that holds anything.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(tr("{folder} is not empty: name a new folder.", folder=folder))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in study_parts(one.replay.study).items():
        write_file(folder / name, text.encode())
        yield folder / name
    if one.answers:
        write_logged(folder / ANSWERS_FILE, one, source.name)
        yield folder / ANSWERS_FILE


def in_numbers(one: Prepared) -> dict[str, Any]:
    """What a study of a log's prompts will take, and what the log brings along."""
    study = one.replay.study
    return {
        "study": study.name,
        "axis": study.design.axis,
        "things": one.plan.n_units,
        "calls": len(one.plan),
        "logged": len(one.answers),
        "unused": one.unused,
        "otherwise": one.replay.otherwise,
        "prompt": study.prompts[0].name,
    }
