"""A process that runs one function of a user's, from the lab's side: started, asked, ended.

Behind ``supervisor``, so that it ends with the lab however the lab ends, and takes with it what it
has started itself. What it says is read as a stranger's: by line, with bounds, as plain JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rubriclab.judges import code_worker, supervisor
from rubriclab.judges.bounded import load_json
from rubriclab.judges.code_entry import Entry
from rubriclab.model import LabError

START_SECONDS = 300.0
"""The longest that importing the module may take; some load a model meanwhile."""
CANCEL_SECONDS, STOP_SECONDS = 1.0, 5.0
"""How long a call that is given up has to end by itself, and a process that is told to end."""
MAX_REQUEST = 32 * 2**20
_LAST_WORDS = 2_000

_PASSED = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|TERM|VIRTUAL_ENV|CONDA_PREFIX|PYTHONPATH|"
    r"PYTHONUTF8|LD_LIBRARY_PATH|DYLD_\w+|XDG_\w+|CUDA_\w+|NVIDIA_VISIBLE_DEVICES|ROCR_\w+|HIP_\w+|OMP_\w+|MKL_\w+|"
    r"OPENBLAS_\w+|TOKENIZERS_PARALLELISM|HF_HOME|HF_HUB_CACHE|HF_ENDPOINT|HF_HUB_OFFLINE|TRANSFORMERS_CACHE|"
    r"TORCH_HOME|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(HTTPS?|NO|ALL)_PROXY",
    re.IGNORECASE,
)
"""Variables that the function sees. Any other may be a secret, which it gets only by its name."""


class CodeFault(Exception):
    """Why a call has no answer. ``kind``: one of ``judges.faults``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class CodeProcess:
    """One running worker. Made by ``start``; all calls in the event loop that started it."""

    def __init__(self, entry: Entry, process: asyncio.subprocess.Process) -> None:
        self.entry = entry
        self.asynchronous = False
        self._process = process
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._calls = 0
        self._last_words = b""
        self._fault: CodeFault | None = None
        self._readers: list[asyncio.Task[None]] = []

    @classmethod
    async def start(cls, entry: Entry, secrets: Mapping[str, str]) -> CodeProcess:
        """A worker that has imported the function. Raises LabError with the reason where it cannot."""
        command = [sys.executable, "-I", supervisor.__file__, "0", "--speaking"]
        command += [sys.executable, "-P", "-B", code_worker.__file__, str(entry.folder), entry.module, entry.function]
        passed = {name: value for name, value in os.environ.items() if _PASSED.fullmatch(name)}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**passed, **secrets},
            limit=code_worker.MAX_LINE,
        )
        made = cls(entry, process)
        made._readers.append(asyncio.create_task(made._overhear()))
        try:
            async with asyncio.timeout(START_SECONDS):
                first = await made._line()
        except TimeoutError:
            await made.stop()
            raise LabError(
                f"{entry.file} was not imported within {START_SECONDS:g} s. Something in it waits for ever, or loads "
                "too much: do that work in the function, at its first call."
            ) from None
        except BaseException as fault:
            await made.stop()
            if isinstance(fault, CodeFault):
                raise LabError(f"{entry.file} cannot be imported: {fault}.") from None
            raise
        if not first.get("ready"):
            await made.stop()
            raise LabError(f"{entry.file} cannot be imported: {str(first.get('failed'))[:800]}. Mend it there.")
        made.asynchronous = first.get("asynchronous") is True
        made._readers.append(asyncio.create_task(made._listen()))
        return made

    @property
    def alive(self) -> bool:
        """It can be asked."""
        return self._fault is None and self._process.returncode is None

    async def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """What the function returned, in JSON's types. Raises CodeFault; the process may be gone then."""
        self._calls += 1
        number = self._calls
        line = json.dumps({"id": number, **request}).encode() + b"\n"
        if len(line) > MAX_REQUEST:
            raise CodeFault("context_overflow", f"The call takes {len(line):,} bytes; at most {MAX_REQUEST:,} are sent")
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._send(line)
                said = await asyncio.shield(answer)
        except TimeoutError:
            raise CodeFault(
                "code_timeout", f"{self.entry} gave no answer within {seconds:g} s and was stopped"
            ) from None
        finally:
            if not answer.done():
                await asyncio.shield(self._give_up(number, answer))
            self._waiting.pop(number, None)
        if "fault" in said:
            raise _fault_of(said, self.entry)
        return said.get("value")

    async def stop(self) -> None:
        """End it, at once and with all its children; safe to call twice."""
        self._end(CodeFault("code_exit", f"{self.entry} was stopped"))
        if self._process.stdin is not None:
            self._process.stdin.close()  # to the supervisor the order to end all
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    # ------------------------------------------------------------ the pipes

    async def _send(self, line: bytes) -> None:
        if self._fault is not None:
            raise self._fault
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        except (ConnectionError, RuntimeError):
            # Its end is noticed by whoever listens, who knows its last words.
            await asyncio.sleep(0)

    async def _line(self) -> dict[str, Any]:
        """The next line, an object. Raises CodeFault for the end, and for whatever is none."""
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            raise await self._ended() from None
        except asyncio.LimitOverrunError:
            raise CodeFault("too_large", f"{self.entry} sent more than {code_worker.MAX_LINE:,} bytes") from None
        try:
            said = load_json(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise CodeFault("code_exit", f"{self.entry} wrote into the pipe to the lab, and was stopped")
        return said

    async def _ended(self) -> CodeFault:
        """Its end in words: the exit code, and the last that it wrote to standard error."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        code = self._process.returncode
        how = "" if code is None else f" with code {code}" if 0 <= code < 128 else f" by signal {abs(code) % 128}"
        await asyncio.sleep(0.05)  # what it wrote last may still be on its way
        lines = self._last_words.decode("utf-8", "replace").strip().splitlines()
        last = f": {lines[-1].strip()[:300]}" if lines else ""
        return CodeFault("code_exit", f"The process of {self.entry} ended{how} in the middle of its work{last}")

    async def _listen(self) -> None:
        """Answers to whom they belong, until the process ends or says what is none."""
        while True:
            try:
                said = await self._line()
            except CodeFault as fault:
                self._end(fault)
                if self._process.stdin is not None:
                    self._process.stdin.close()
                return
            answer = self._waiting.get(said["id"]) if isinstance(said.get("id"), int) else None
            if answer is not None and not answer.done():
                answer.set_result(said)

    async def _overhear(self) -> None:
        """All that the function prints, of which the end is kept."""
        assert self._process.stderr is not None
        while heard := await self._process.stderr.read(2**16):
            self._last_words = (self._last_words + heard)[-_LAST_WORDS:]

    def _end(self, fault: CodeFault) -> None:
        if self._fault is None:
            self._fault = fault
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._fault)

    async def _give_up(self, number: int, answer: asyncio.Future[dict[str, Any]]) -> None:
        """A call that nobody waits for: an asynchronous one is cancelled, any other ends the process."""
        if self.asynchronous and self.alive:
            with suppress(TimeoutError, CodeFault):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._send(json.dumps({"cancel": number}).encode() + b"\n")
                    await asyncio.shield(answer)
        if not answer.done():
            answer.cancel()
            await self.stop()
        elif not answer.cancelled():
            answer.exception()  # heard, so that nobody complains of it


def _fault_of(said: Mapping[str, Any], entry: Entry) -> CodeFault:
    message = str(said.get("message"))[:1_000]
    if said["fault"] == "nonsense":
        return CodeFault("code_reply", f"{entry} returned {message}")
    if said["fault"] == "too_large":
        return CodeFault("too_large", f"{entry} returned {message}, more than is read")
    return CodeFault("code_error", f"{entry} raised {message}")
