"""Ask a judge that is a Python function of the user's.

``def judge(messages, item)`` stands in a file beside the study and runs in processes of its own
(``own_code``), never in the lab's: bounded in memory and time, without any key but the judge's own,
ended with all that it started. It returns a text, parsed like any judge's reply, a score, which
stands for its label, or ``{"text": ..., "probabilities": {label: p}}``.
"""

import asyncio
import hashlib
import inspect
import json
import marshal
import math
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rubriclab.data.limits import MAX_PLAIN, MB, checked_file, user_path
from rubriclab.data.worker import Worker
from rubriclab.judges import own_code, supervisor
from rubriclab.judges.faults import FINAL, Fault
from rubriclab.judges.keys import hide_environment, key_to_send, mask_reply
from rubriclab.judges.reply import MAX_TEXT
from rubriclab.model.consent import NO_CONSENTS, Consents
from rubriclab.model.data import Item
from rubriclab.model.judge import JudgeSettings, read_options
from rubriclab.model.judge_options import PythonOptions
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError, shorten, storable

START_SECONDS = 300.0
"""How long importing the file may take: some load a model."""
PASSED_ON = re.compile(
    r"VIRTUAL_ENV|CONDA_PREFIX|PYTHONPATH|XDG_\w+|CUDA_\w+|ROCR_\w+|HIP_\w+|OMP_\w+|MKL_\w+|OPENBLAS_\w+|HF_HOME|TORCH_HOME"
)
"""Variables that own code gets beside the worker's; any other may hold a secret."""


def with_code(settings: JudgeSettings, folder: str | Path, *, trust: bool = False) -> JudgeSettings:
    """The judge with ``folder``, where its file is, and the hash of that file: without a folder it
    cannot be opened.

    A study that names the hash was handed on by a lab: its code runs with ``trust`` alone, and only
    where the file is that one. Raises LabError, also where there is no such file.
    """
    options, name = read_options(PythonOptions, settings), f"Judge “{settings.name}”"
    if not options.path:
        raise LabError(
            f'{name} names no file: expected options = {{ path = "my_judge.py", entry = "judge" '
            f"}}. One that is a "
            "notebook's function is asked there: rl.run(..., judges={...})."
        )
    if not str(folder):
        raise LabError(
            f"{name} runs {options.path}: start the lab with --code FOLDER, say yes to it in Set "
            f"up."
        )
    path = user_path(Path(folder).resolve() / options.path)
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise LabError(f"{name} names “{shorten(options.path)}”; expected a file in {folder}.")
    sha256 = own_code.code_hash(checked_file(path, MAX_PLAIN))
    if options.sha256 not in ("", sha256):
        raise LabError(
            f"{name} was measured with another {options.path} (sha256 {options.sha256[:12]}…; the "
            f"file here has "
            f"{sha256[:12]}…). Put that file back, or take sha256 out of the study to measure this "
            f"one."
        )
    if options.sha256 and not trust:
        raise LabError(
            f"{name}, which was handed on, would run {options.entry}() of {path} on this machine. "
            f"Look at that file first; "
            "then say yes with --trust, or in step 3 of Set up."
        )
    named = {"path": options.path, "entry": options.entry, "sha256": sha256}
    model = (
        {} if "model" in settings.model_fields_set else {"model": f"{path.name}:{options.entry}"}
    )
    return settings.model_copy(update={"options": settings.options | named} | model).in_folder(
        folder
    )


def code_folder() -> Path | None:
    """The folder whose functions the pages offer: that of ``lab --code FOLDER``."""
    folder = os.environ.get("RUBRICLAB_CODE", "")
    return Path(folder) if folder and Path(folder).is_dir() else None


class PythonJudge:
    """The function of a file, in as many processes as calls are made at once, each begun anew where
    it hangs or dies.

    ``items``: the run's, whose texts the function gets; ``function``: one that a notebook hands
    over instead, called in threads of this process. Raises LabError for bad options and for a file
    that is not the one that was measured.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        items: Sequence[Item] = (),
        secrets: Mapping[str, str] | None = None,
        function: Callable[..., Any] | None = None,
        consents: Consents = NO_CONSENTS,
    ) -> None:
        self._settings, self._items, self._function = settings, items, function
        self._options = read_options(PythonOptions, settings)
        key = key_to_send(settings, secrets, consents)
        self._key = {str(settings.key_env): key} if key else {}
        self._all: list[Worker] = []
        self._idle: list[Worker] = []
        if function is None:
            hide_environment()
            sha256 = with_code(settings, settings.folder, trust=True).options["sha256"]
            file, memory = (
                Path(settings.folder).resolve() / self._options.path,
                self._options.memory * MB,
            )
            supervised = [
                sys.executable,
                "-I",
                supervisor.__file__,
                "0",
                "--speaking",
                sys.executable,
                "-P",
                "-B",
            ]
            self._command = [
                *supervised,
                own_code.__file__,
                str(file),
                self._options.entry,
                sha256,
                str(memory),
            ]

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply. A function that takes longer than the judge's timeout is given up,
        its process ended.
        """
        started = time.perf_counter()
        done: Future[dict[str, Any]] = Future()
        request = {
            "messages": [dict(message) for message in call.messages],
            "item": item_of(call, self._items),
        }

        def work() -> None:
            done.set_running_or_notify_cancel()  # a late answer has nobody who waits for it
            try:
                done.set_result(self._said(request))
            except BaseException as fault:
                done.set_exception(fault)

        threading.Thread(
            target=work, daemon=True
        ).start()  # never waited for: a notebook's function may hang
        limit = self._settings.timeout
        try:
            said = await asyncio.wait_for(
                asyncio.wrap_future(done), None if self._function is None else limit
            )
            if "error" in said:
                kind = next((kind for kind in FINAL if kind == said.get("kind")), "code_error")
                raise Fault(kind, f"The function {said['error']}", self._key.values())
            reply = reply_of(
                said["value"],
                call,
                model=self._settings.model,
                seconds=time.perf_counter() - started,
            )
        except TimeoutError:
            reply = Fault("code_timeout", f"The function gave no answer within {limit:g} s").reply(
                limit
            )
        except Fault as fault:
            reply = fault.reply(time.perf_counter() - started)
        return mask_reply(reply, tuple(self._key.values()))

    def _said(self, request: dict[str, Any]) -> dict[str, Any]:
        """The function's ``value``, or the ``error`` in its place with its ``kind``. Raises
        LabError for no function.
        """
        if self._function is not None:
            return own_code.answered(self._function, request, "<")
        worker = self._idle.pop() if self._idle else self._another()
        line, late = worker.exchange(json.dumps(request), self._settings.timeout)
        try:
            said = json.loads(line or worker.greeting)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, dict) and "failed" in said:
            raise LabError(
                f"{self._options.path} of “{self._settings.name}” is of no use: {said['failed']}. "
                f"Mend it."
            )
        if isinstance(said, dict) and {"value", "error"} & said.keys():
            self._idle.append(worker)
            return said
        worker.close()
        if late:
            raise TimeoutError
        return {"kind": "code_ended", "error": "ended its process, or was ended for want of memory"}

    def _another(self) -> Worker:
        passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        self._all.append(
            Worker(
                command=self._command, environment=passed | self._key, start_seconds=START_SECONDS
            )
        )
        return self._all[-1]

    async def close(self) -> None:
        """End all processes, with what they started; safe to call twice."""
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._all))


def function_settings(name: str, function: Callable[..., Any]) -> JudgeSettings:
    """A notebook's function as a judge; its identity is its source's, or its compiled code's where
    there is no source.
    """
    try:
        code = inspect.getsource(function).encode()
    except (OSError, TypeError):
        code = marshal.dumps(
            getattr(function, "__code__", None) or type(function).__call__.__code__
        )
    entry = getattr(function, "__name__", "judge")
    entry = entry if entry.isidentifier() else "judge"
    options = {"entry": entry[:100], "sha256": hashlib.sha256(code).hexdigest()}
    return JudgeSettings(name=name, kind="python", model=f"notebook:{entry[:100]}", options=options)


def item_of(call: Call, items: Sequence[Item]) -> dict[str, Any]:
    """What a function gets beside the messages: the texts that the call is about, and the list as
    it is shown.

    ``answers``: of a comparison, or those that one call scores together. What people said of them
    is left out.
    """
    about = [asdict(items[code]) for code in call.items if code < len(items)]
    facts: dict[str, Any] = {"answers": (), **(about[0] if about else {})}
    if len({answer["item_id"] for answer in about}) > 1:
        facts = {"answers": [dict(answer) for answer in about]}
    for answer in (facts, *facts["answers"]):
        answer.pop("ratings", None)
    shown, labels = list(call.ordering.shown), list(call.ordering.labels)
    return facts | {
        "shown": shown,
        "labels": labels,
        "scores": list(call.scores),
        "repeat": call.repeat,
    }


def reply_of(value: Any, call: Call, *, model: str, seconds: float) -> Reply:
    """The Reply that a returned value is. Raises Fault for what is none."""
    shown, labels = list(call.ordering.shown), call.ordering.labels
    given = value if isinstance(value, dict) else {"text": value}
    text, top = given.get("text"), given.get("probabilities") or {}
    if is_number(text):
        text = labels[shown.index(text)] if text in shown else f"{text:g}"
    fine = isinstance(top, dict) and all(is_number(p) and 0 <= p <= 1 for p in top.values())
    if not isinstance(text, str) or not fine or given.keys() - {"text", "probabilities"}:
        raise Fault("code_reply", f"The function returned {own_code.shown(value)}")
    if len(text) > MAX_TEXT:
        raise Fault(
            "too_large",
            f"The function's text has {len(text):,} signs; at most {MAX_TEXT:,} are read",
        )
    chances = tuple((storable(str(label)), math.log(p)) for label, p in top.items() if p > 0)
    return Reply(text=storable(text), top=chances, model=model, seconds=seconds)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
