"""A command in, its exit code out; ends it and all its children when whoever started this goes away.

    python -I supervisor.py GRACE_SECONDS COMMAND [ARGUMENT ...]

A program of its own, with the standard library only. The lab starts it with a pipe as standard input: the end of that
pipe is the order to stop, so a lab that is killed leaves no server behind. The command runs in a session of its own;
it gets SIGTERM, and its whole group SIGKILL after the grace period. Should this program itself be killed, Linux sends
the command SIGTERM. (The lab cannot ask for that itself: Linux means the thread that started a child, and the threads
of pages come and go.)
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
LOOK_SECONDS = 0.2


def main(grace: str, *command: str) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with_parent)
    while child.poll() is None:
        readable, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if readable and not os.read(0, 1024):
            break
    child.terminate()  # nothing where it has ended by itself
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(float(grace))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # whatever of its group is left
    code = child.wait()
    print(f"the server has ended with code {code}", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


def end_with_parent() -> None:
    """Between fork and exec, on Linux: ask for SIGTERM when this program dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
