"""Run a task on a stranger's file in a child process that is bounded in memory and time.

A parser may be led to take all memory, to run for ever or to crash. Then only the child ends. The
child gets JSON lines and gives JSON lines; large results go through a folder that the parent makes
and clears. The child has no key in its environment. It ends with its parent (at the end of input,
and by an alarm while it works), and is killed and started again when a task takes too long. On
macOS the memory limit is not enforced, so only the time limit holds there.
"""

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from rubriclab.data.limits import (
    LARGE,
    LARGE_SECONDS,
    MB,
    START_SECONDS,
    WORKER_MEMORY,
    WORKER_SECONDS,
)
from rubriclab.model.text import LabError, shorten

# The tasks that a child can run. A file or a message never names the function.
TASKS = {
    "table": ("rubriclab.data.tables", "table_task"),
    "rubric": ("rubriclab.data.rubrics", "rubric_task"),
    "render": ("rubriclab.study.sandbox", "render_task"),
    "log": ("rubriclab.logs.exchanges", "log_task"),
}
UPLOADS = ("table", "rubric")
# Variables that the child needs to start. No other is passed on: it may be a key.
PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
)
MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
"""Give freed memory back at once: holes between what is kept count against the memory limit."""
STOP_SECONDS = 5.0
"""Time for a child to end after SIGTERM, before it is killed."""
MAX_ANSWER = 64 * MB
"""Characters of an answer's line. Anything large goes through files."""
START = (
    "import sys; sys.path[:0] = [sys.argv[1]]; from rubriclab.data.worker import serve; "
    "serve(*sys.argv[2:])"
)


class Worker:
    """A child process that does one task at a time.

    seconds: how long a small task may take, without the child's start
    command: a program that speaks like ``serve``, to run instead
    environment: variables that it gets in addition to PASSED_ON
    start_seconds: how long it may take to print its first line, which is ``greeting``
    """

    def __init__(
        self,
        seconds: float = WORKER_SECONDS,
        *,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self.seconds, self.greeting = seconds, ""
        self._command, self._environment, self._start_seconds = (
            command,
            environment or {},
            start_seconds,
        )
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._closed = False

    def run(self, task: str, file: Path, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the task's result. Raises LabError in its words, or if it takes too much."""
        seconds = self.seconds if file.stat().st_size <= LARGE else max(LARGE_SECONDS, self.seconds)
        request = {
            "task": task,
            "file": str(file.absolute()),
            "name": name,
            "seconds": seconds,
            **arguments,
        }
        line, late = self.exchange(json.dumps(request), seconds)
        if not line:
            why = "takes more memory than the limit"
            if late:
                why = f"takes more than {seconds:g} seconds"
            raise LabError(
                f"“{shorten(name)}” {why} to read. Split it, or save it as CSV or Parquet."
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def exchange(self, request: str, seconds: float) -> tuple[str, bool]:
        """Return (the child's answer to a line, whether it took longer than ``seconds``).

        The answer is empty if the child ended or wrote no whole line. The next exchange then starts
        another child.
        """
        with self._lock:
            process = self._started()
            began = time.monotonic()
            line = _answered(process, request + "\n", seconds)
            if not line:
                self._end()
            return line, not line and time.monotonic() - began >= seconds

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            if self._closed:
                raise LabError("The process was closed and takes no more tasks.")
            root = str(Path(__file__).resolve().parents[2])
            environment = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
            self._process = subprocess.Popen(
                self._command or [sys.executable, "-c", START, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                errors="replace",
                start_new_session=bool(self._command),
                env=environment | MEMORY | dict(self._environment),
            )
            # Wait until its libraries are loaded. If it ended instead, the task finds that out.
            self.greeting = _answered(self._process, "", self._start_seconds)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _stop(process)
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def close(self) -> None:
        """End the child, also in the middle of a task, which then has no answer."""
        self._closed = bool(self._command)
        if (process := self._process) is not None:
            _stop(process)
        with self._lock:
            self._end()


def _answered(process: subprocess.Popen[str], request: str, seconds: float) -> str:
    """Return the child's next line; "" if it ended. It is stopped after ``seconds``."""
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(seconds, _stop, [process])
    timer.start()
    try:
        process.stdin.write(request)
        process.stdin.flush()
        line = process.stdout.readline(MAX_ANSWER)
        return line if line.endswith("\n") else ""
    except (OSError, ValueError):  # ValueError: closed meanwhile
        return ""
    finally:
        timer.cancel()


def _stop(process: subprocess.Popen[str]) -> None:
    """End a child with SIGTERM, or with SIGKILL if that does not help.

    SIGTERM lets a supervisor end all processes that it started.
    """
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


WORKER = Worker()
atexit.register(WORKER.close)


def program(memory: int, *tasks: str) -> tuple[str, ...]:
    """Return the command of a child for tasks other than uploads, within ``memory`` bytes."""
    return (
        sys.executable,
        "-c",
        START,
        str(Path(__file__).resolve().parents[2]),
        str(memory),
        *tasks,
    )


def serve(memory: str = str(WORKER_MEMORY), *names: str) -> None:
    """Run the child's side: print a line when ready, then answer each request until input ends."""
    tasks = {
        task: getattr(import_module(TASKS[task][0]), TASKS[task][1]) for task in names or UPLOADS
    }
    _limit_memory(int(memory))
    if not names:
        # Millions of cells make no cycles, and looking for them takes longer than reading.
        gc.disable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # Nothing but answers goes to the parent, whatever a library prints (DuckDB draws a progress
    # bar).
    os.dup2(2, 1)
    print(file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        _set_alarm(int(request.pop("seconds")) + 2)
        answer = _result(tasks[request.pop("task")], request)
        _set_alarm(0)
        if not names:
            gc.collect()
        print(json.dumps(answer), file=answers, flush=True)


def _limit_memory(size: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # Windows, macOS
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _set_alarm(seconds: int) -> None:
    """End this process after so many seconds, also if the parent no longer can; 0 for never."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _result(task: Callable[..., dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Return the task's result, or its error for a person."""
    name = shorten(request["name"])
    try:
        return task(**request)
    except LabError as fault:
        return {"error": str(fault)}
    except MemoryError:
        most = f"{WORKER_MEMORY // MB:,} MB"
        return {"error": f"“{name}” takes more memory than the limit ({most}) to read. Split it."}
    except RecursionError:
        return {"error": f"“{name}” is nested too deep to be read. Flatten it."}
    except Exception as fault:  # a parser raises whatever a hostile file leads it to
        words = shorten(f"{type(fault).__name__}: {fault}", 200)
        return {"error": f"“{name}” cannot be read: {words}. Save it again, or as CSV."}
