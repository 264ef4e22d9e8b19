"""A command in, its exit code out; ends it and all its children when whoever started this goes away.

    python -I supervisor.py GRACE_SECONDS COMMAND [ARGUMENT ...]

A program of its own, with the standard library only. The lab starts it with a pipe as standard input: the end of that
pipe is the order to stop, so a lab that is killed leaves no server behind. The command runs in a session of its own;
it gets SIGTERM, and its whole group SIGKILL after the grace period. Should this program itself be killed, Linux sends
the command SIGTERM.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
LOOK_SECONDS = 0.2


def main(arguments: list[str]) -> int:
    grace, command = float(arguments[0]), arguments[1:]
    parent = os.getppid()
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: asked.append(received))
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with_parent)
    except OSError as error:
        print(f"cannot start {command[0]}: {error}", file=sys.stderr, flush=True)
        return 127
    while child.poll() is None and not asked and os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], LOOK_SECONDS)
        if readable and not os.read(0, 1024):
            break
    code = end(child, grace)
    print(f"the server has ended with code {code}", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


def end_with_parent() -> None:
    """Between fork and exec, on Linux: ask for SIGTERM when the supervisor dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end(child: subprocess.Popen[bytes], grace: float) -> int:
    """SIGTERM to the command, then SIGKILL to whatever of its group is left."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
        until = time.monotonic() + grace
        while child.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
