"""Run a command, and end it with all its children when the program that started it is gone.

    python -I supervisor.py GRACE_SECONDS [--speaking] COMMAND [ARGUMENT ...]

This is a program of its own and uses the standard library only. The lab starts it with a pipe as
its standard input. When that pipe ends, or on SIGTERM, the command is stopped. So a lab that is
killed leaves no server behind. With ``--speaking`` the pipe is the command's own input.

The command runs in a session of its own. To stop it, it gets SIGTERM. After the grace period its
whole group gets SIGKILL and, on Linux, so does what has left that group. If this program itself is
killed, Linux sends the command SIGTERM. (The lab cannot ask Linux for that: it would apply to the
thread that started the child, and the threads of pages come and go.)
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
"""Numbers of Linux' options, from <linux/prctl.h>."""
LOOK_MILLISECONDS = 100
"""How often we look whether the command has ended or has to end."""


def main(grace: str, *command: str) -> int:
    """Run the command until it ends or has to end. Return its exit code, 128 + N for signal N."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    # What the command leaves behind becomes a child of this program, which can then end it.
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    speaking = command[0] == "--speaking"
    if speaking:
        command = command[1:]
    lab = select.poll()
    # A pipe's end is reported in any case. What it holds belongs to a command that speaks.
    lab.register(0, 0 if speaking else select.POLLIN)
    child = subprocess.Popen(
        command,
        stdin=None if speaking else subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
    )
    while child.poll() is None and not stopped:
        heard = lab.poll(LOOK_MILLISECONDS)
        if heard and (heard[0][1] & ~select.POLLIN or not os.read(0, 1024)):
            break
    child.terminate()  # does nothing if it has ended by itself
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(float(grace))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # whatever is left of its group
    code = child.wait()
    end_what_is_left()
    print(f"the server has ended with code {code}", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


def prctl(option: int, value: int) -> None:
    """Set an option of this process, on Linux. Elsewhere there is no such call."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value)


def end_what_is_left() -> None:
    """Send SIGKILL, on Linux, to what the command started in sessions of their own.

    Each round may make further orphans ours, so it is repeated until none is left.
    """
    children = f"/proc/self/task/{os.getpid()}/children"
    while os.path.exists(children) and (left := open(children).read().split()):  # noqa: PTH110, PTH123, SIM115
        for pid in map(int, left):
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
