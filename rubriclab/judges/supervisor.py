"""Run a command, and end it with all its children when whoever started it goes away.

    python -I supervisor.py GRACE_SECONDS [--speaking] COMMAND [ARGUMENT ...]

A program of its own, with the standard library only. The lab starts it with a pipe as standard
input: the end of that pipe is the order to stop, as SIGTERM is, so a lab that is killed leaves no
server behind. With ``--speaking`` that pipe is the command's own input. The command runs in a
session of its own; it gets SIGTERM, and its whole group, on Linux also what left that group,
SIGKILL after the grace period. Should this program itself be killed, Linux sends the command
SIGTERM. (The lab cannot ask for that itself: Linux means the thread that started a child, and the
threads of pages come and go.)
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36
LOOK_MILLISECONDS = 100


def main(grace: str, *command: str) -> int:
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    prctl(
        PR_SET_CHILD_SUBREAPER, 1
    )  # what the command leaves behind becomes a child of this program
    speaking = command[0] == "--speaking"
    lab = select.poll()
    lab.register(0, 0 if speaking else select.POLLIN)  # the end of a pipe is always heard of
    child = subprocess.Popen(
        command[speaking:],
        stdin=None if speaking else subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
    )
    while child.poll() is None and not stopped:
        heard = lab.poll(LOOK_MILLISECONDS)
        if heard and (heard[0][1] & ~select.POLLIN or not os.read(0, 1024)):
            break
    child.terminate()  # nothing where it has ended by itself
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(float(grace))
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # whatever of its group is left
    code = child.wait()
    end_what_is_left()
    print(f"the server has ended with code {code}", file=sys.stderr, flush=True)
    return code if code >= 0 else 128 - code


def prctl(option: int, value: int) -> None:
    """On Linux: ask for SIGTERM when this program dies (between fork and exec), or for orphans."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value)


def end_what_is_left() -> None:
    """On Linux: SIGKILL to what the command started in sessions of their own."""
    children = f"/proc/self/task/{os.getpid()}/children"
    while os.path.exists(children) and (left := open(children).read().split()):  # noqa: PTH110, PTH123, SIM115
        for pid in map(int, left):
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
