"""A task and a file of others in, a small answer out: one child process, bounded in memory and
time, reads uploads.

The child gets JSON lines and gives JSON lines; what is large lies in a folder that the parent makes
and clears. It has no key in its environment, ends with its parent (end of input, and an alarm while
it works), and is killed and started anew when a task takes too long. On macOS the memory limit is
not enforced: the time limit holds alone there.
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
from collections.abc import Mapping, Sequence
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

# What the child may be asked for: never a name that a file or a message gives.
TASKS = {
    "table": ("rubriclab.data.tables", "table_task"),
    "rubric": ("rubriclab.data.rubrics", "rubric_task"),
    "render": ("rubriclab.study.sandbox", "render_task"),
    "log": ("rubriclab.logs.exchanges", "log_task"),
}
UPLOADS = ("table", "rubric")
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
"""What is large for a while leaves no holes between what is kept: holes count against the memory
limit.
"""
STOP_SECONDS = 5.0
MAX_ANSWER = 64 * MB
"""Signs of an answer's line; what is large goes through files."""
START = (
    "import sys; sys.path[:0] = [sys.argv[1]]; from rubriclab.data.worker import serve; "
    "serve(*sys.argv[2:])"
)


class Worker:
    """The child process; one task at a time. ``seconds``: how long a small task may take, the
    child's start apart.

    ``command``: a program that speaks as ``serve`` does, in its place; ``environment``: variables
    that it gets beside PASSED_ON; ``start_seconds``: how long it may take to say its first line,
    which is ``greeting``.
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
        """What the task makes of the file. Raises LabError in the task's words, or for one that
        takes too much.
        """
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
            why = (
                f"takes more than {seconds:g} seconds"
                if late
                else "takes more memory than a file may"
            )
            raise LabError(
                f"“{shorten(name)}” {why} to read. Split it, or save it as CSV or Parquet."
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def exchange(self, request: str, seconds: float) -> tuple[str, bool]:
        """(the child's answer to a line; empty where it ended, whether that was because it took
        longer than ``seconds``).

        One that ended, or said what is no whole line, is begun anew by the next exchange.
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
            # Until its libraries are loaded; where they are not, the task says that the child
            # ended.
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
    """The child's next line; empty where it ended, which it does at the latest after
    ``seconds``.
    """
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
    """SIGTERM, which ends a child at once and makes a supervisor end all that it started; else
    SIGKILL.
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
    """The command of a child for other tasks than uploads, within ``memory`` bytes."""
    return (
        sys.executable,
        "-c",
        START,
        str(Path(__file__).resolve().parents[2]),
        str(memory),
        *tasks,
    )


def serve(memory: str = str(WORKER_MEMORY), *names: str) -> None:
    """The child's side: a line when it is ready, then an answer to each request until the end of
    input.
    """
    tasks = {
        task: getattr(import_module(TASKS[task][0]), TASKS[task][1]) for task in names or UPLOADS
    }
    with suppress(ImportError, ValueError, OSError):  # Windows, macOS
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    if not names:
        # millions of cells make no circles; looking for them takes longer than reading
        gc.disable()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(
        2,
        1,
        # nothing but answers goes to the parent, whatever a library prints (DuckDB draws a progress
        # bar)
    )
    print(file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        seconds = request.pop("seconds")
        if hasattr(signal, "alarm"):
            signal.alarm(
                int(seconds) + 2
            )  # its default ends the process, also where the parent cannot any more
        name = shorten(request["name"])
        try:
            answer = tasks[request.pop("task")](**request)
        except LabError as fault:
            answer = {"error": str(fault)}
        except MemoryError:
            much = (
                f"“{name}” takes more memory to read than a file may ({WORKER_MEMORY // MB:,} "
                f"MB). Split it."
            )
            answer = {"error": much}
        except RecursionError:
            answer = {"error": f"“{name}” is nested too deep to be read. Flatten it."}
        except Exception as fault:
            words = shorten(f"{type(fault).__name__}: {fault}", 200)
            answer = {"error": f"“{name}” cannot be read: {words}. Save it again, or as CSV."}
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        if not names:
            gc.collect()
        print(json.dumps(answer), file=answers, flush=True)
