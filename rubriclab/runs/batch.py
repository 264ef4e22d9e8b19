"""A plan in, OpenAI batch files of its calls out, for the Batch API or ``vllm run-batch``; their
answers in, judgments out.

A request's ``custom_id`` is its call's key, so answers come back in any order, in pieces, and any
number of times: a call gets one final row, and each line of an answer file is counted once.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from rubriclab.data.limits import MB, checked_file, user_path
from rubriclab.judges.client import is_meant, request_body
from rubriclab.judges.faults import FINAL, Fault, from_response
from rubriclab.judges.reply import ABSENT, leniently, read_completion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judge_kind import OWN_KINDS
from rubriclab.model.judgment import Reply
from rubriclab.model.text import LabError, count, file_name
from rubriclab.runs.runner import kept_run
from rubriclab.store.database import in_words
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan

PIECE_CALLS, PIECE_BYTES = 50_000, 200 * MB
"""What the OpenAI Batch API takes in one file."""
MAX_LINE, MAX_ANSWERS = 16 * MB, 100_000 * MB


class Response(msgspec.Struct):
    status_code: int = 200
    body: msgspec.Raw = ABSENT


class Line(msgspec.Struct):
    """A line of an answer file or an error file."""

    custom_id: str
    response: Response | None = None
    error: msgspec.Raw = ABSENT

    @property
    def fine(self) -> bool:
        return (
            self.response is not None and self.response.status_code < 300 and self.error == ABSENT
        )

    def reply(self, settings: JudgeSettings) -> Reply:
        """The answer. Raises the Fault in its place."""
        response = self.response or Response(503)
        if not self.fine:  # vLLM says what is wrong beside the response, OpenAI inside
            said = self.error if response.body == ABSENT else response.body
            raise from_response(
                response.status_code if response.status_code >= 300 else 503, {}, bytes(said)
            )
        return read_completion(
            bytes(response.body), {}, is_meant=lambda name: is_meant(settings, name)
        )


LINE = msgspec.json.Decoder(Line)


@dataclass
class Answers:
    """What became of the lines of some answer files. ``kept``: judgments, ``failed`` of them faults
    that would come again; ``doubled``: further answers of a call; ``known``: calls that the store
    has an answer of; ``foreign``: of no call of the study; ``again``: other faults by kind, whose
    calls stay unasked; ``left``: calls to ask.
    """

    kept: int = 0
    failed: int = 0
    known: int = 0
    doubled: int = 0
    foreign: int = 0
    unreadable: list[str] = field(default_factory=list)
    again: Counter[str] = field(default_factory=Counter)
    left: int = 0

    def sentence(self) -> str:
        words = {
            "of them errors": self.failed,
            "known already": self.known,
            "doubled": self.doubled,
        }
        words |= {
            "of no call of this study": self.foreign,
            **{f"to ask again ({k})": n for k, n in self.again.items()},
        }
        words["left to ask"] = self.left
        parts = [
            count(self.kept, "answer") + " kept",
            *(f"{number:,} {word}" for word, number in words.items() if number),
        ]
        if self.unreadable:
            parts.append(
                f"{count(len(self.unreadable), 'line')} that cannot be read "
                f"({', '.join(self.unreadable[:3])})"
            )
        return f"{', '.join(parts)}."


def write_batch(
    store: Store, plan: Plan, folder: Path, *, retry_failed: bool = False
) -> tuple[list[Path], int, list[str]]:
    """(the files, their calls in all, judges that cannot be asked so): what the store has no answer
    of, in pieces.

    No key is written. Raises LabError for a folder that holds anything, and where nothing is left
    to ask.
    """
    folder = user_path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(
            f"{folder} is not empty: requests of another time in it could be sent twice. Name a "
            f"new folder."
        )
    known = next((info for info in store.runs() if info.identity == plan.identity), None)
    done = store.final_keys(known.id, retry_failed) if known else set()
    files: list[Path] = []
    calls = 0
    for number, settings in enumerate(plan.study.judges, 1):
        lines = _requests(plan, settings, done) if settings.about.chat else iter(())
        line, piece = next(lines, None), 0
        while line is not None:
            piece += 1
            folder.mkdir(parents=True, exist_ok=True)
            files.append(folder / f"{number:02}-{file_name(settings.name, '')}-{piece:05}.jsonl")
            size = written = 0
            with in_words(str(folder)), files[-1].with_suffix(".part").open("xb") as file:
                while (
                    line is not None
                    and written < PIECE_CALLS
                    and size + len(line) <= max(PIECE_BYTES, len(line))
                ):
                    size, written, line = size + file.write(line), written + 1, next(lines, None)
            files[-1].with_suffix(".part").rename(files[-1])
            calls += written
    left_out = [judge.name for judge in plan.study.judges if not judge.about.chat]
    if not files:
        why = "all is answered"
        if left_out:
            able = " and ".join(sorted(kind.name for kind in OWN_KINDS.values() if kind.chat))
            why = f"only judges of the kinds {able} can be asked by files"
        raise LabError(f"There is nothing to write: {why}.")
    return files, calls, left_out


def _requests(plan: Plan, settings: JudgeSettings, done: set[str]) -> Iterator[bytes]:
    for call in plan.calls(settings.name):
        if call.key not in done:
            body = request_body(settings, call)
            request = {
                "custom_id": call.key,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": body,
            }
            yield msgspec.json.encode(request) + b"\n"


def read_batch(
    store: Store, plan: Plan, paths: Sequence[Path], *, retry_failed: bool = False
) -> tuple[str, Answers]:
    """(the run's id, what became of each line) of answer and error files, in any order and as often
    as one likes.

    ``retry_failed``: a call without a score takes the new answer. Raises LabError, and keeps
    nothing, for what is no file and where no line belongs to the study.
    """
    made, judges, run = Answers(), {judge.name: judge for judge in plan.study.judges}, ""
    with ExitStack() as stack:
        files = [stack.enter_context(checked_file(path, MAX_ANSWERS).open("rb")) for path in paths]
        where: dict[
            str, tuple[bool, int, int]
        ] = {}  # by key: whether it is an answer, the file, the line's first byte
        for number, file in enumerate(files):
            for offset, line in _lines(file, made):
                made.doubled += line.custom_id in where
                if line.custom_id not in where or (line.fine and not where[line.custom_id][0]):
                    where[line.custom_id] = line.fine, number, offset
        made.foreign = len(where)
        for call in plan.calls():
            if call.key not in where:
                continue
            made.foreign -= 1
            if not run:  # only now: files of another study make no run
                run = kept_run(store, plan)
                done, writer = (
                    store.final_keys(run, retry_failed),
                    stack.enter_context(store.writer(run)),
                )
            if call.key in done:
                made.known += 1
                continue
            _, number, offset = where[call.key]
            files[number].seek(offset)
            try:
                settings = judges[plan.conditions[call.condition].judge]
                reply = leniently(LINE, files[number].readline(MAX_LINE), []).reply(settings)
            except Fault as fault:
                if fault.kind not in FINAL:
                    made.again[fault.kind] += 1
                    continue
                made.failed += 1
                reply = fault.reply(0.0)
            made.kept += 1
            writer.add(plan.judgment(call, reply))
            if (
                made.kept % 10_000 == 0
            ):  # what waits to be committed stays small, however large the files are
                writer.flush()
    if not run:
        raise LabError(
            f"No answer belongs to “{plan.study.name}”: data, rubric, judges, design or templates "
            f"are not those that the "
            f"requests were written with. Of the files: {made.sentence()}"
        )
    info = store.run(run)
    made.left = len(plan) - info.done
    state = "paused" if made.left else "finished" if info.failed < info.done else "failed"
    none = f"0 of {info.done:,} replies could be parsed. " if state == "failed" else ""
    store.set_state(run, state, "" if state == "finished" else none + made.sentence())
    return run, made


def _lines(file: BinaryIO, made: Answers) -> Iterator[tuple[int, Line]]:
    """(first byte, line) of all that is an answer; what is none is counted."""
    offset = 0
    for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
        try:
            yield offset, leniently(LINE, raw, [])
        except (ValueError, RecursionError):
            if raw.strip():
                made.unreadable.append(f"{Path(file.name).name}, line {number}")
        offset += len(raw)
