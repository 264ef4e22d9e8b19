"""Write a plan's calls as batch files, and keep the replies that come back in such files.

The files are for OpenAI's Batch API or ``vllm run-batch``. A request's ``custom_id`` is its call's
key, so replies may come back in any order, in pieces, and any number of times: a call gets one
final row, and each line of an answer file is counted once.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from rubriclab.data.limits import MB, checked_file, user_path
from rubriclab.judges.client import is_meant, request_body
from rubriclab.judges.faults import FINAL, Fault, from_response
from rubriclab.judges.reply import ABSENT, leniently, read_completion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judge_kind import OWN_KINDS
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, count, file_name
from rubriclab.runs.looking import Batch, open_batches
from rubriclab.runs.runner import keep_run
from rubriclab.store.database import in_words
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan

PIECE_CALLS, PIECE_BYTES = 50_000, 200 * MB
"""What the OpenAI Batch API takes in one file."""
MAX_LINE, MAX_ANSWERS = 16 * MB, 100_000 * MB
"""Bytes of one line, so that a file without line breaks does not fill memory, and of a file, which
is read line by line."""
FLUSH_EVERY = 10_000
"""Judgments that may wait to be committed, so that memory stays small however large the files."""
LINES_NAMED = 3


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
        """Return the reply. Raises the Fault that came in its place."""
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
    """What became of the lines of some answer files.

    kept: judgments. failed: those of them that are faults which would come again.
    known: calls that the store has a reply to already.
    doubled: further replies to a call.
    foreign: lines of no call of the study.
    unreadable: lines that are not answers, each by file and number.
    again: other faults, by kind. Their calls are still to be asked.
    left: calls to ask.
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
        """Say in one line what became of all lines."""
        words = {
            "of them errors": self.failed,
            "known already": self.known,
            "doubled": self.doubled,
            "of no call of this study": self.foreign,
        }
        for kind, number in self.again.items():
            words[f"to ask again ({kind})"] = number
        words["left to ask"] = self.left
        parts = [f"{count(self.kept, 'reply', 'replies')} kept"]
        parts += [f"{number:,} {word}" for word, number in words.items() if number]
        if self.unreadable:
            lines = ", ".join(self.unreadable[:LINES_NAMED])
            parts.append(f"{count(len(self.unreadable), 'line')} that cannot be read ({lines})")
        return f"{', '.join(parts)}."


@dataclass(frozen=True)
class _Found:
    """Where the reply to a call is: in which file, and at which byte its line begins."""

    fine: bool
    file: int
    offset: int


def write_batch(
    store: Store, plan: Plan, folder: Path, *, retry_failed: bool = False, ask_all: bool = False
) -> tuple[list[Path], int, list[str]]:
    """Write, in pieces, the calls that the store has no reply to.

    Of a study that stops early, these are the calls before the next look, unless ``ask_all``.
    Returns (the files, the number of their calls, judges that cannot be asked by files). No key is
    written. Raises LabError for a folder that holds anything, and if nothing is left to ask.
    """
    folder = user_path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LabError(
            f"{folder} is not empty. Older requests in it could be sent twice. Name a new folder."
        )
    known = next((info for info in store.runs() if info.identity == plan.identity), None)
    done = store.final_keys(known.id, retry_failed) if known else set()
    batches = open_batches(store, known.id if known else "", plan, done, ask_all=ask_all)
    files: list[Path] = []
    calls = 0
    for number, settings in enumerate(plan.study.judges, 1):
        lines = _requests(plan, settings, batches, done) if settings.about.chat else iter(())
        stem = f"{number:02}-{file_name(settings.name, '')}"
        for piece, requests in enumerate(_pieces(lines), 1):
            path = folder / f"{stem}-{piece:05}.jsonl"
            folder.mkdir(parents=True, exist_ok=True)
            # Written aside and renamed: a file with its name is whole, and can be sent.
            part = path.with_suffix(".part")
            with in_words(str(folder)), part.open("xb") as file:
                for request in requests:
                    file.write(request)
                    calls += 1
            part.rename(path)
            files.append(path)
    left_out = [judge.name for judge in plan.study.judges if not judge.about.chat]
    if not files:
        why = "all is answered"
        if left_out:
            able = " and ".join(sorted(kind.name for kind in OWN_KINDS.values() if kind.chat))
            why = f"only judges of the kinds {able} can be asked by files"
        raise LabError(f"There is nothing to write: {why}.")
    return files, calls, left_out


def _pieces(lines: Iterator[bytes]) -> Iterator[Iterator[bytes]]:
    """Yield the lines of each file. Each file must be used up before the next is asked for."""
    first = next(lines, None)
    while first is not None:
        rest: list[bytes] = []
        yield _piece(first, lines, rest)
        first = rest[0] if rest else None


def _piece(first: bytes, lines: Iterator[bytes], rest: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of one file; the line that no longer fits goes to ``rest``."""
    yield first
    number, size = 1, len(first)
    for line in lines:
        if number >= PIECE_CALLS or size + len(line) > PIECE_BYTES:
            rest.append(line)
            return
        yield line
        number, size = number + 1, size + len(line)


def _requests(
    plan: Plan, settings: JudgeSettings, batches: Sequence[Batch], done: set[str]
) -> Iterator[bytes]:
    """Yield a line for each call of a judge in these batches that has no reply yet."""
    own = [batch.calls(plan) for batch in batches if batch.judge == settings.name]
    for call in chain.from_iterable(own):
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
    """Keep the replies in answer and error files, given in any order and as often as you like.

    Returns (the run's ID, what became of each line). With ``retry_failed`` a call without a score
    takes the new reply. Raises LabError, and keeps nothing, for what is not a file, and if no line
    belongs to the study.
    """
    made = Answers()
    with ExitStack() as stack:
        files = [stack.enter_context(checked_file(path, MAX_ANSWERS).open("rb")) for path in paths]
        # Only where each line is: the replies themselves may be larger than memory.
        found = _find_lines(files, made)
        calls = (call for call in plan.calls() if call.key in found)
        first = next(calls, None)
        made.foreign = len(found)
        if first is None:
            raise LabError(
                f"No answer belongs to “{plan.study.name}”: data, rubric, judges, design or "
                "templates differ from those that the requests were written with. Use the study "
                f"that wrote them. The files: {made.sentence()}"
            )
        run = keep_run(store, plan)  # only now: files of another study make no run
        done = store.final_keys(run, retry_failed)
        writer = stack.enter_context(store.writer(run))
        for call in chain([first], calls):
            made.foreign -= 1
            if call.key in done:
                made.known += 1
                continue
            reply = _reply(plan, call, files, found[call.key], made)
            if reply is None:
                continue
            made.kept += 1
            writer.add(plan.judgment(call, reply))
            if made.kept % FLUSH_EVERY == 0:
                writer.flush()
    _keep_state(store, run, plan, made)
    return run, made


def _find_lines(files: Sequence[BinaryIO], made: Answers) -> dict[str, _Found]:
    """Return where the reply to each call is, by key: the first one without a fault if any has
    none, else the first.
    """
    found: dict[str, _Found] = {}
    for number, file in enumerate(files):
        for offset, line in _lines(file, made):
            known = found.get(line.custom_id)
            if known is not None:
                made.doubled += 1
            if known is None or (line.fine and not known.fine):
                found[line.custom_id] = _Found(line.fine, number, offset)
    return found


def _reply(
    plan: Plan, call: Call, files: Sequence[BinaryIO], found: _Found, made: Answers
) -> Reply | None:
    """Return the reply to a call; None, and count it, for a fault that asking again may cure."""
    file = files[found.file]
    file.seek(found.offset)
    judge = plan.conditions[call.condition].judge
    settings = {known.name: known for known in plan.study.judges}[judge]
    try:
        return leniently(LINE, file.readline(MAX_LINE), []).reply(settings)
    except Fault as fault:
        if fault.kind not in FINAL:
            made.again[fault.kind] += 1
            return None
        made.failed += 1
        return fault.reply(0.0)


def _keep_state(store: Store, run: str, plan: Plan, made: Answers) -> None:
    """Keep the run's state after these files: finished, failed, or paused with what is left."""
    info = store.run(run)
    made.left = len(plan) - info.done
    if plan.looks is not None:
        done = store.final_keys(run)
        batches = open_batches(store, run, plan, done, ask_all=False)
        missing = (call for batch in batches for call in batch.calls(plan) if call.key not in done)
        made.left = sum(1 for _ in missing)
    if made.left:
        store.set_state(run, "paused", made.sentence())
    elif info.failed < info.done:
        store.set_state(run, "finished")
    else:
        none = f"0 of {info.done:,} replies could be parsed."
        store.set_state(run, "failed", f"{none} {made.sentence()}")


def _lines(file: BinaryIO, made: Answers) -> Iterator[tuple[int, Line]]:
    """Yield (first byte, line) of each answer; count lines that are not answers."""
    offset = 0
    for number, raw in enumerate(iter(lambda: file.readline(MAX_LINE), b""), 1):
        try:
            yield offset, leniently(LINE, raw, [])
        except (ValueError, RecursionError):
            if raw.strip():
                made.unreadable.append(f"{Path(file.name).name}, line {number}")
        offset += len(raw)
