"""A task and a file of others in, a small answer out: one child process, bounded in memory and time, reads uploads.

The child gets JSON lines and gives JSON lines; what is large lies in a folder that the parent makes and clears. It has
no key in its environment, ends with its parent (end of input, and an alarm while it works), and is killed and started
anew when a task takes too long. On macOS the memory limit is not enforced: the time limit holds alone there.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

from rubriclab.data.limits import LARGE, LARGE_SECONDS, MB, WORKER_MEMORY, WORKER_SECONDS
from rubriclab.model.text import LabError, shorten

# What the child may be asked for: never a name that a file or a message gives.
TASKS = {"table": "rubriclab.data.tables:table_task", "rubric": "rubriclab.data.rubrics:rubric_task"}
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP")
START = "import sys; sys.path[:0] = [sys.argv[1]]; from rubriclab.data.worker import serve; serve()"


class Worker:
    """The child process; one task at a time. ``seconds``: how long a small task may take."""

    def __init__(self, seconds: float = WORKER_SECONDS) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def run(self, task: str, file: Path, name: str, **arguments: Any) -> dict[str, Any]:
        """What the task makes of the file. Raises LabError in the task's words, or for one that takes too much."""
        seconds = self.seconds if file.stat().st_size <= LARGE else max(LARGE_SECONDS, self.seconds)
        request = {"task": task, "file": str(file), "name": name, "seconds": seconds, **arguments}
        with self._lock:
            process = self._started()
            late = threading.Event()

            def kill() -> None:
                late.set()
                process.kill()

            timer = threading.Timer(seconds, kill)
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except OSError:
                line = ""
            finally:
                timer.cancel()
            if not line:
                self._end()
                why = f"takes more than {seconds:g} seconds" if late.is_set() else "takes more memory than a file may"
                raise LabError(f"“{shorten(name)}” {why} to read. Split it, or save it as CSV or Parquet.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise LabError(answer["error"])
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._end()
            root = str(Path(__file__).resolve().parents[2])
            environment = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
            self._process = subprocess.Popen(
                [sys.executable, "-c", START, root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env=environment | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        continue

    def close(self) -> None:
        with self._lock:
            self._end()


WORKER = Worker()
atexit.register(WORKER.close)


def serve() -> None:
    """The child's side: a request a line until the end of input."""
    _bound_memory()
    gc.disable()  # millions of cells make no circles; looking for them takes longer than reading
    answers, sys.stdout = sys.stdout, sys.stderr  # nothing but answers goes to the parent
    for line in sys.stdin:
        request = json.loads(line)
        seconds = request.pop("seconds")
        if hasattr(signal, "alarm"):
            signal.alarm(int(seconds) + 2)  # its default ends the process, also where the parent cannot any more
        module, _, function = TASKS[request.pop("task")].partition(":")
        name = shorten(request["name"])
        try:
            answer = getattr(import_module(module), function)(**request)
        except LabError as fault:
            answer = {"error": str(fault)}
        except MemoryError:
            answer = {
                "error": f"“{name}” takes more memory to read than a file may ({WORKER_MEMORY // MB:,} MB). Split it."
            }
        except RecursionError:
            answer = {"error": f"“{name}” is nested too deep to be read. Flatten it."}
        except Exception as fault:
            words = shorten(f"{type(fault).__name__}: {fault}", 200)
            answer = {"error": f"“{name}” cannot be read: {words}. Save it again, or as CSV."}
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        gc.collect()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _bound_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (WORKER_MEMORY, WORKER_MEMORY))
    except (ImportError, ValueError, OSError):  # Windows, macOS
        return
