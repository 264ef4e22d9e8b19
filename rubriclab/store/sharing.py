"""Let commands read a store that another process of the same user has open for writing.

DuckDB lets one process write a file, and no other process may then open it. The process that holds
the file listens at a Unix socket beside it. A command asks there that nothing is written for a
moment, copies the file and its log itself, and reads the copy. No content, path or key crosses the
socket, and the copy ends with the command, so there is no second store.

Copying was chosen by measuring (DuckDB 2.0, 20 MB while a run commits): 0.05 s to copy the bytes
of the file, 1 s to write out all tables of one moment.
"""

import errno
import json
import os
import shutil
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from rubriclab.model.text import LabError

ENDING = ".sock"
LONGEST_PATH = 100
"""Bytes of a socket's path. Linux allows 107, macOS 103."""
OWNER_ONLY = 0o600
WORD_SECONDS = 2.0
"""Longest wait (s) for the other side's next word. A program that says nothing holds up nobody."""
STILL_SECONDS = 10.0
"""Longest time (s) for which nothing is written. Replies that come meanwhile wait in memory."""
ACCEPT_SECONDS = 1.0
"""How often (s) a listener notices that it was closed, where closing does not wake it."""
MOST_BYTES = 64_000
"""Bytes of one line on the socket. A line is a list of names of runs, or one word."""
MOST_RUNS = 20
"""Names of runs that a holder tells."""
WAITING_COMMANDS = 16
"""Commands that may stand in line for a copy."""
ANSWERS, BUSY, COPY, DONE, STILL, VALID = "runs", b"busy", b"copy", b"done", b"still", b"valid"

Hold = Callable[[float], AbstractContextManager[bool]]
"""``with hold(seconds) as still``: nothing is written inside the block, if ``still``."""


class NotShared(LabError):
    """The process that holds a store gives no copy of it. The text says why, as a sentence."""


def socket_path(store: str) -> str:
    return f"{store}{ENDING}"


class CopyServer:
    """Listens beside a store that this process holds, and gives copies until it is closed.

    Only the holder of the file's lock may make one: whatever socket is there then is a dead one's.
    """

    def __init__(self, store: str, hold: Hold, runs: Callable[[], Sequence[str]]) -> None:
        self._hold, self._runs = hold, runs
        self._path = socket_path(store)
        self._closed = threading.Event()
        self._listener: socket.socket | None = None

    def open(self) -> None:
        """Begin to listen, if the system and the folder allow it. Else commands wait instead."""
        if not hasattr(socket, "AF_UNIX") or len(os.fsencode(self._path)) > LONGEST_PATH:
            return
        try:
            _remove_socket(self._path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.bind(self._path)
                # Nobody can connect before ``listen``, so the mode is set in time.
                Path(self._path).chmod(OWNER_ONLY)
                listener.listen(WAITING_COMMANDS)
                listener.settimeout(ACCEPT_SECONDS)
            except OSError:
                listener.close()
                raise
        except OSError:  # a folder that cannot be written, a file system without sockets
            return
        self._listener = listener
        threading.Thread(target=self._serve, name="copies of the store", daemon=True).start()

    def close(self) -> None:
        """Stop listening. Call this before the file's lock is given up."""
        self._closed.set()
        if self._listener is None:
            return
        with suppress(OSError):
            _remove_socket(self._path)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        assert self._listener is not None
        while not self._closed.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed
                return
            # A client that fails or talks nonsense costs only itself.
            with client, suppress(OSError, LabError, ValueError):
                if _of_this_user(client):
                    self._answer(client)

    def _answer(self, client: socket.socket) -> None:
        _send(client, json.dumps({ANSWERS: list(self._runs())[:MOST_RUNS]}).encode())
        if _line(client, WORD_SECONDS) != COPY:
            return
        with self._hold(WORD_SECONDS) as still:
            if not still:
                _send(client, BUSY)
                return
            _send(client, STILL)
            if _line(client, STILL_SECONDS) == DONE:
                _send(client, VALID)


def runs_of_holder(store: str) -> tuple[str, ...]:
    """Return the names of the runs that the holder of a store asks; none if it does not answer."""
    try:
        with _connected(store) as server:
            return _holder(server)
    except (NotShared, OSError, ValueError):
        return ()


def copy_from_holder(store: str, folder: Path) -> Path:
    """Copy a store that another process holds into ``folder``, with its log. Return the copy.

    Raises NotShared with the reason if that process gives none.
    """
    target = folder / Path(store).name
    with _connected(store) as server:
        try:
            _holder(server)
            _send(server, COPY)
            if _line(server, STILL_SECONDS) != STILL:
                raise NotShared("That process is writing much at this moment.")
            # This process has no lock on the file, so closing it here drops none.
            shutil.copyfile(store, target)
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{store}.wal", f"{target}.wal")
            _send(server, DONE)
            if _line(server, WORD_SECONDS) != VALID:
                raise NotShared("That process could not wait until the copy was made.")
        except (OSError, ValueError) as fault:
            if isinstance(fault, OSError) and fault.errno == errno.ENOSPC:
                raise LabError(
                    f"The disk is full: {folder} has no room for a copy of {store}, which is "
                    "needed while another process writes it. Free some space and try again."
                ) from None
            raise NotShared("That process does not answer, or has just ended.") from None
    return target


def _connected(store: str) -> socket.socket:
    """Return a connection to the holder of a store. Raises NotShared, with the reason."""
    path = socket_path(store)
    if not hasattr(socket, "AF_UNIX"):
        raise NotShared("This system cannot read a store while another process writes it.")
    length = len(os.fsencode(path))
    if length > LONGEST_PATH:
        raise NotShared(
            f"The path of the store has {length - len(ENDING)} bytes. With at most "
            f"{LONGEST_PATH - len(ENDING)}, it could be read while another process writes it."
        )
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.settimeout(WORD_SECONDS)
        server.connect(path)
        if Path(path).lstat().st_uid != os.geteuid() or not _of_this_user(server):
            raise PermissionError(errno.EACCES, "another user's socket")
    except OSError as fault:
        server.close()
        raise NotShared(_why_not_connected(fault, path)) from None
    return server


def _why_not_connected(fault: OSError, path: str) -> str:
    if isinstance(fault, PermissionError):
        return "That process is another user's. Only that user can read the store meanwhile."
    if isinstance(fault, FileNotFoundError):
        return "That process lets no other one read the store meanwhile."
    if isinstance(fault, ConnectionRefusedError):
        return (
            f"Nobody listens at {path}: a process that was killed has left it behind. The next "
            "one that writes the store replaces it."
        )
    return "That process does not answer."


def _holder(server: socket.socket) -> tuple[str, ...]:
    """Return the names of the runs with which the holder begins each conversation."""
    said = json.loads(_line(server, WORD_SECONDS))
    return tuple(str(name) for name in said[ANSWERS])


def _of_this_user(connected: socket.socket) -> bool:
    """Return whether the process at the other end is this user's, as far as the system tells.

    A server of another user must not be believed: its “nothing is written” could be a lie.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    packed = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = struct.unpack("3i", packed)
    return bool(user == os.geteuid())


def _remove_socket(path: str) -> None:
    """Remove a socket of this name; leave a file that is none, which is somebody's own."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISSOCK(mode):
        Path(path).unlink(missing_ok=True)


def _send(connected: socket.socket, line: bytes) -> None:
    connected.sendall(line + b"\n")


def _line(connected: socket.socket, seconds: float) -> bytes:
    """Return the next line without its end. Raises OSError if it is not there in time."""
    until = time.monotonic() + seconds
    read = bytearray()
    while not read.endswith(b"\n"):
        connected.settimeout(max(0.001, until - time.monotonic()))
        part = connected.recv(1)
        if not part or len(read) > MOST_BYTES:
            raise ConnectionError("the other side has gone")
        read += part
    return bytes(read[:-1])
