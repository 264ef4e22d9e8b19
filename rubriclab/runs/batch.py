"""The same calls by another route: out as OpenAI batch files.

``write_batch`` writes the calls that a store has no judgment of as JSONL that
``vllm run-batch`` and the OpenAI Batch API take; ``answers.import_answers`` reads what they answered.

    vllm run-batch -i out/01-judge/part-00001.jsonl -o answers-00001.jsonl --model MODEL
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rubriclab import __version__
from rubriclab.datasets.outfiles import write_file
from rubriclab.judges.request import request_body
from rubriclab.model import Call, Judge
from rubriclab.model.wording import many
from rubriclab.runs.answer_files import BatchError
from rubriclab.runs.answers import done_keys, failed_keys, protocol_judges, unasked
from rubriclab.store import Store, run_name
from rubriclab.study.plan import Plan

ENDPOINT = "/v1/chat/completions"
PART_SIZE = 10_000
"""Calls a file: ``vllm run-batch`` writes its answers only when a whole file is done."""
MAX_PART_SIZE, MAX_PART_BYTES = 50_000, 190_000_000
"""The OpenAI Batch API takes 50,000 requests and 200 MB a file."""


@dataclass(frozen=True, slots=True)
class Part:
    """One batch file. ``file`` is relative to the export's folder."""

    file: str
    calls: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class JudgePart:
    """All files of one judge. ``model`` is the name that each request asks for."""

    judge: str
    model: str
    folder: str
    calls: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote. ``judged``: calls left out because the store has their answer;
    ``left_out``: judges that cannot be asked so, with the reason."""

    run: str
    study: str
    planned: int
    judged: int
    calls: int
    judges: tuple[JudgePart, ...]
    left_out: Mapping[str, str]


def write_batch(
    store: Store, prepared: Plan, folder: Path, *, part_size: int = PART_SIZE, again: bool = False
) -> Exported:
    """The unanswered calls as batch files, one folder a judge, and ``manifest.json``.

    ``again``: export only the calls that ended in an error instead. The manifest is written
    last, so a folder without one is half an export. No key and no header is written.

    Raises BatchError for a folder that is not empty, for a part size the API would refuse,
    and where no judge can be asked this way.
    """
    _check_part_size(part_size)
    judges = protocol_judges(prepared)
    done = done_keys(store, prepared)
    wanted = failed_keys(store, prepared) if again else None
    _empty_folder(folder)
    written = []
    for code in judges:
        judge = prepared.study.judges[code]
        calls: Iterable[Call] = unasked(prepared, code, done)
        if wanted is not None:
            calls = (call for call in prepared.calls(code) if call.key in wanted)
        written.append(_write_judge(judge, calls, folder, _folder_name(judge, code), part_size))
    exported = Exported(
        run=run_name(prepared.study),
        study=prepared.study.id,
        planned=len(prepared),
        judged=len(done),
        calls=sum(part.calls for part in written),
        judges=tuple(written),
        left_out=_left_out(prepared, judges),
    )
    _write_manifest(folder, exported)
    return exported


def _write_manifest(folder: Path, exported: Exported) -> None:
    manifest = {"rubriclab": __version__, "endpoint": ENDPOINT, **asdict(exported)}
    text = json.dumps(manifest, ensure_ascii=False, indent=1) + "\n"
    write_file(folder / "manifest.json", text, BatchError)


def _check_part_size(part_size: int) -> None:
    if not 1 <= part_size <= MAX_PART_SIZE:
        raise BatchError(
            f"Parts of {many(part_size, 'call')}: give 1 to {MAX_PART_SIZE:,}, the most that the OpenAI "
            "Batch API takes in one file."
        )


def _left_out(prepared: Plan, exported: tuple[int, ...]) -> dict[str, str]:
    """Judges whose calls are not in the files, with the reason."""
    return {
        judge.name: f"a judge of kind {judge.kind} answers inside the lab: run the study"
        for code, judge in enumerate(prepared.study.judges)
        if code not in exported
    }


def batch_line(judge: Judge, call: Call) -> bytes:
    """One request of a batch file: the body is what the lab itself would post."""
    line = {"custom_id": call.key, "method": "POST", "url": ENDPOINT, "body": request_body(judge, call)}
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _empty_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BatchError(
                f"{folder} is not empty: files of an earlier export would be asked twice. "
                "Choose a new folder, or empty this one."
            )
    except OSError as error:
        raise BatchError(f"{folder} cannot be written: {error.strerror}.") from error


def _folder_name(judge: Judge, code: int) -> str:
    name = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "-" for c in judge.name)
    return f"{code + 1:02}-{name.strip('-.')[:60] or 'judge'}"


def _write_judge(judge: Judge, calls: Iterable[Call], folder: Path, name: str, part_size: int) -> JudgePart:
    parts: list[Part] = []
    file: _PartFile | None = None
    try:
        for call in calls:
            line = batch_line(judge, call)
            if file is not None and not file.takes(line, part_size):
                parts.append(file.finish())
                file = None
            if file is None:
                file = _PartFile(folder, f"{name}/part-{len(parts) + 1:05}.jsonl")
            file.add(line)
        if file is not None:
            parts.append(file.finish())
    except OSError as error:
        raise BatchError(f"{folder / name} cannot be written: {error.strerror}.") from error
    finally:
        if file is not None:
            file.close()
    return JudgePart(judge.name, judge.model, name, sum(p.calls for p in parts), tuple(parts))


class _PartFile:
    """One batch file while it grows."""

    def __init__(self, folder: Path, name: str) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        self._name, self._file = name, (folder / name).open("wb")
        self._digest, self._calls, self._bytes = hashlib.sha256(), 0, 0

    def takes(self, line: bytes, part_size: int) -> bool:
        return self._calls < part_size and self._bytes + len(line) <= MAX_PART_BYTES

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self._digest.update(line)
        self._calls += 1
        self._bytes += len(line)

    def close(self) -> None:
        self._file.close()

    def finish(self) -> Part:
        self.close()
        return Part(self._name, self._calls, self._bytes, self._digest.hexdigest())
