"""Ask a judge that is a Python function of the user's.

``def judge(messages, item)`` is in a file next to the study. It runs in processes of its own
(``own_code``), never in the lab's. They are limited in memory and time, get no key but the judge's
own, and are ended with everything that they started.

The function returns a text, which is parsed like any judge's reply; a score, which is taken for its
label; or ``{"text": ..., "probabilities": {label: p}}``.
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
"""How long importing the file may take. Some files load a model."""
PASSED_ON = re.compile(
    r"VIRTUAL_ENV|CONDA_PREFIX|PYTHONPATH|XDG_\w+|CUDA_\w+|ROCR_\w+|HIP_\w+|OMP_\w+|MKL_\w+|OPENBLAS_\w+|HF_HOME|TORCH_HOME"
)
"""Variables that own code gets besides the worker's. Any other variable may hold a secret."""


def with_code(settings: JudgeSettings, folder: str | Path, *, trust: bool = False) -> JudgeSettings:
    """Return the judge with the folder of its file and the file's hash, as it can be opened.

    A study that names the hash was made by another lab. Its code runs only with ``trust``, and only
    if the file here has that hash. Raises LabError for that, and if there is no such file.
    """
    options, name = read_options(PythonOptions, settings), f"Judge “{settings.name}”"
    if not options.path:
        raise LabError(
            f'{name} names no file. Set options = {{ path = "my_judge.py", entry = "judge" }}. To '
            f"ask a notebook's function, use rl.run(..., judges={{...}}) in the notebook."
        )
    if not str(folder):
        raise LabError(
            f"{name} runs {options.path}. Start the lab with --code FOLDER, and say yes to the "
            f"file in Set up."
        )
    # A study file may come from anybody, so it may not name files outside of the folder.
    path = user_path(Path(folder).resolve() / options.path)
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise LabError(f"{name} names “{shorten(options.path)}”. Name a file in {folder}.")
    sha256 = own_code.code_hash(checked_file(path, MAX_PLAIN))
    if options.sha256 not in ("", sha256):
        raise LabError(
            f"{name} was measured with another {options.path} (sha256 {options.sha256[:12]}…; the "
            f"file here has {sha256[:12]}…). Put that file back, or take sha256 out of the study "
            f"to measure this one."
        )
    if options.sha256 and not trust:
        raise LabError(
            f"{name} comes from another lab and would run {options.entry}() of {path} on this "
            f"machine. Look at that file first. Then say yes with --trust, or in step 3 of Set up."
        )
    named = {"path": options.path, "entry": options.entry, "sha256": sha256}
    changes: dict[str, Any] = {"options": settings.options | named}
    if "model" not in settings.model_fields_set:
        changes["model"] = f"{path.name}:{options.entry}"
    return settings.model_copy(update=changes).in_folder(folder)


def code_folder() -> Path | None:
    """Return the folder whose functions the pages offer: that of ``lab --code FOLDER``."""
    folder = os.environ.get("RUBRICLAB_CODE", "")
    return Path(folder) if folder and Path(folder).is_dir() else None


class PythonJudge:
    """Ask the function of a file, in one process for each call at a time.

    A process that hangs or dies is replaced. Raises LabError for bad options, and for a file that
    is not the one that was measured.

    items: the run's; the function gets their texts.
    function: a notebook's, which is called in threads of this process instead.
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
            self._command = self._program()

    def _program(self) -> list[str]:
        """Return the command of a process that runs the function."""
        sha256 = with_code(self._settings, self._settings.folder, trust=True).options["sha256"]
        file = Path(self._settings.folder).resolve() / self._options.path
        memory = self._options.memory * MB
        supervised = [sys.executable, "-I", supervisor.__file__, "0", "--speaking"]
        # -P keeps this package's folder from shadowing the libraries that the function imports; -B
        # writes no compiled files next to the user's.
        python = [sys.executable, "-P", "-B"]
        own = [own_code.__file__, str(file), self._options.entry, sha256, str(memory)]
        return [*supervised, *python, *own]

    async def ask(self, call: Call) -> Reply:
        """Ask one call. A function that takes longer than the judge's timeout is given up."""
        started = time.perf_counter()
        done: Future[dict[str, Any]] = Future()
        request = {
            "messages": [dict(message) for message in call.messages],
            "item": item_of(call, self._items),
        }

        def work() -> None:
            # From here on ``done`` cannot be cancelled, so a late result raises nothing.
            done.set_running_or_notify_cancel()
            try:
                done.set_result(self._said(request))
            except BaseException as fault:
                done.set_exception(fault)

        # A notebook's function may hang for ever. A daemon thread keeps no program from ending.
        threading.Thread(target=work, daemon=True).start()
        limit = self._settings.timeout
        # A process of our own is ended at its timeout by ``_said``; a thread cannot be ended.
        patience = None if self._function is None else limit
        try:
            said = await asyncio.wait_for(asyncio.wrap_future(done), patience)
            if "error" in said:
                kind = str(said.get("kind"))
                if kind not in FINAL:  # own code may say anything
                    kind = "code_error"
                raise Fault(kind, f"The function {said['error']}", self._key.values())
            reply = reply_of(
                said["value"],
                call,
                model=self._settings.model,
                seconds=time.perf_counter() - started,
            )
        except TimeoutError:
            late = Fault("code_timeout", f"The function gave no answer within {limit:g} s")
            reply = late.reply(limit)
        except Fault as fault:
            reply = fault.reply(time.perf_counter() - started)
        return mask_reply(reply, tuple(self._key.values()))

    def _said(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the function's ``value``, or an ``error`` with its ``kind``.

        Raises LabError if the file has no such function, and TimeoutError.
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
                f"{self._options.path} of judge “{self._settings.name}” cannot be used: "
                f"{said['failed']}. Fix the file."
            )
        if isinstance(said, dict) and {"value", "error"} & said.keys():
            self._idle.append(worker)
            return said
        worker.close()
        if late:
            raise TimeoutError
        return {"kind": "code_ended", "error": "ended its process, or ran out of memory"}

    def _another(self) -> Worker:
        """Start one more process."""
        passed = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        worker = Worker(
            command=self._command, environment=passed | self._key, start_seconds=START_SECONDS
        )
        self._all.append(worker)
        return worker

    async def close(self) -> None:
        """End all processes and everything that they started; safe to call twice."""
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in self._all))


def function_settings(name: str, function: Callable[..., Any]) -> JudgeSettings:
    """Return a notebook's function as a judge.

    Its identity is the hash of its source or, if there is none, of its compiled code.
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
    """Return what a function gets besides the messages: the texts, and the list as it is shown.

    A comparison, or a call that scores several answers, has them in ``answers``. People's ratings
    are left out, because a judge must not see them.
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
    """Return the reply that a function's value stands for. Raises Fault if it stands for none."""
    shown, labels = list(call.scored.shown), call.scored.labels
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
            f"The function's text has {len(text):,} characters; the limit is {MAX_TEXT:,}",
        )
    chances = tuple((storable(str(label)), math.log(p)) for label, p in top.items() if p > 0)
    return Reply(text=storable(text), top=chances, model=model, seconds=seconds)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
