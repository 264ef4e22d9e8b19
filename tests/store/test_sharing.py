"""Check that several processes can use one store: a file given free, waiting, and copies."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from rubriclab.model.text import LabError
from rubriclab.store import database, sharing
from rubriclab.store.database import StoreInUse
from rubriclab.store.sharing import LONGEST_PATH, NotShared, copy_from_holder, socket_path
from rubriclab.store.store import Store
from tests.store.test_store import new_run

RENAME = """
from rubriclab.store.store import Store
with Store.open_when_free({path!r}, told=print) as store:
    store.rename(store.runs()[0].id, {name!r})
print("done")
"""
NAMES = """
from rubriclab.store.store import Store
with Store.open_to_read({path!r}, told=print) as store:
    print([(run.name, run.state) for run in store.runs()])
"""
RENAME_AND_DIE = """
import os, signal
from rubriclab.store.store import Store
store = Store.open({path!r})
store.rename(store.runs()[0].id, {name!r})
os.kill(os.getpid(), signal.SIGKILL)
"""
HOLD = """
import sys, time
from rubriclab.store.store import Store
store = Store.open({path!r})
store.share()
print("held", flush=True)
time.sleep(60)
"""


def other_process(code: str, **values: object) -> subprocess.Popen[str]:
    given = {name: str(value) for name, value in values.items()}
    return subprocess.Popen(
        [sys.executable, "-c", code.format(**given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def answer_of(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=300)
    return said


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "this did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with one run, which this process holds and shares as the lab does."""
    monkeypatch.setattr(database, "REST_SECONDS", 0.2)
    with Store.open(tmp_path / "lab.duckdb") as store:
        new_run(store)
        store.share()
        yield store


@pytest.mark.thorough
def test_an_idle_lab_gives_its_file_free_and_sees_what_a_command_changed(held: Store) -> None:
    before = held.runs()[0]
    held.rest_when_idle()
    assert "done" in answer_of(other_process(RENAME, path=held.path, name="Renamed elsewhere"))
    assert [run.name for run in held.runs()] == ["Renamed elsewhere"]
    assert held.runs()[0].content != before.content


@pytest.mark.thorough
def test_a_change_right_after_the_file_was_given_free_is_seen(
    held: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = database._close

    def close_and_be_slow(db: duckdb.DuckDBPyConnection) -> None:
        close(db)
        monkeypatch.setattr(database, "_close", close)
        assert answer_of(other_process(RENAME, path=held.path, name="Second")) == "done\n"

    monkeypatch.setattr(database, "_close", close_and_be_slow)
    assert held.runs()[0].name == "First"
    held.rest_when_idle()
    until(lambda: held._db._resting, seconds=60)
    assert held.runs()[0].name == "Second"


@pytest.mark.thorough
def test_what_a_killed_process_has_left_in_its_log_is_seen(held: Store) -> None:
    assert held.runs()[0].name == "First"
    held.rest_when_idle()
    until(lambda: held._db._resting, seconds=60)
    killed = other_process(RENAME_AND_DIE, path=held.path, name="Second")
    assert answer_of(killed) == ""
    assert Path(f"{held.path}.wal").exists()
    assert held.runs()[0].name == "Second"


@pytest.mark.thorough
def test_a_command_that_only_reads_costs_the_lab_no_cache(held: Store) -> None:
    before = held.runs()[0].content
    held.rest_when_idle()
    until(lambda: held._db._resting)
    assert "First" in answer_of(other_process(NAMES, path=held.path))
    held.study(held.runs()[0].id)
    assert not held._db._resting
    assert held.runs()[0].content == before


@pytest.mark.thorough
def test_a_store_is_read_from_a_copy_while_its_holder_writes(held: Store) -> None:
    run = held.runs()[0]
    held.set_state(run.id, "running")
    with held.writer(run.id):
        said = answer_of(other_process(NAMES, path=held.path))
    assert said == "[('First', 'running')]\n"  # at once, and not taken for a dead process's run
    assert Path(socket_path(held.path)).stat().st_mode & 0o777 == 0o600


def test_a_copy_is_of_one_moment_whatever_is_committed_meanwhile(
    held: Store, tmp_path: Path
) -> None:
    with held._db.transaction() as cursor:
        cursor.execute("CREATE TABLE pairs (low INTEGER, high INTEGER)")
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            with held._db.transaction() as cursor:
                cursor.execute(f"INSERT INTO pairs SELECT {number}, NULL FROM range(200)")
                cursor.execute(f"INSERT INTO pairs SELECT NULL, {number} FROM range(200)")
            number += 1
            if number % 7 == 0:
                held.checkpoint()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    try:
        for number in range(8):
            folder = tmp_path / f"copy {number}"
            folder.mkdir()
            copy = copy_from_holder(held.path, folder)
            with Store.open(copy, read_only=True) as store:
                seen += store._db.rows("SELECT count(low), count(high), max(low) FROM pairs")
    finally:
        over.set()
        writer.join()
    assert all(low == high for low, high, _ in seen)
    assert seen[-1][0] > seen[0][0]


@pytest.mark.thorough
def test_a_command_that_writes_waits_and_says_for_whom(held: Store) -> None:
    run = held.runs()[0]
    held.rest_when_idle()
    with held.writer(run.id):
        waiting = other_process(RENAME, path=held.path, name="Second")
        assert waiting.stdout is not None
        said = waiting.stdout.readline()
    assert f"process {os.getpid()}" in said
    assert "“First”" in said
    assert answer_of(waiting) == "done\n"
    assert held.runs()[0].name == "Second"


@pytest.mark.thorough
def test_two_commands_at_once_both_get_their_turn(held: Store) -> None:
    held.rest_when_idle()
    both = [other_process(RENAME, path=held.path, name=name) for name in ("A", "B")]
    assert all(answer_of(process).endswith("done\n") for process in both)
    with held.writer(held.runs()[0].id):
        readers = [other_process(NAMES, path=held.path) for _ in range(3)]
        assert len({answer_of(process) for process in readers}) == 1


@pytest.mark.thorough
def test_a_killed_holder_leaves_a_socket_that_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        new_run(store)
    holder = other_process(HOLD, path=path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(StoreInUse):
        Store.open(path)
    with Store.open_to_read(path) as store:
        assert store.runs()[0].name == "First"
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=20)
    assert Path(socket_path(str(path))).exists()
    with pytest.raises(NotShared, match="killed has left it behind"):
        copy_from_holder(str(path), tmp_path)
    with Store.open_to_read(path) as store:  # the file itself: nobody holds it
        assert not store._db.copied
    with Store.open(path) as store:
        store.share()  # takes the place of the dead one's socket
        assert "First" in answer_of(other_process(NAMES, path=path))
    assert not Path(socket_path(str(path))).exists()


def test_a_command_that_dies_while_it_copies_stops_no_writing(held: Store) -> None:
    with sharing._connected(held.path) as client:
        sharing._holder(client)
        sharing._send(client, sharing.COPY)
        assert sharing._line(client, 5) == sharing.STILL
        changed = threading.Thread(target=held.rename, args=(held.runs()[0].id, "Later"))
        changed.start()
        changed.join(0.2)
        assert changed.is_alive()  # nothing is written while somebody copies
    changed.join(5)
    assert held.runs()[0].name == "Later"


@pytest.mark.thorough
def test_a_command_that_is_stopped_while_it_copies_gets_no_valid_copy(
    held: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "STILL_SECONDS", 0.2)
    monkeypatch.setattr(sharing.shutil, "copyfile", lambda *_: time.sleep(1))
    with pytest.raises(NotShared):
        copy_from_holder(held.path, tmp_path)
    held.rename(held.runs()[0].id, "Went on")


@pytest.mark.thorough
def test_a_path_too_long_for_a_socket_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rubriclab.store.store.WAIT_SECONDS", 0.3)
    path = tmp_path / ("long" * 30) / "lab.duckdb"
    with Store.open(path) as store:
        new_run(store)
    holder = other_process(HOLD, path=path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told: list[str] = []
        with pytest.raises(StoreInUse, match=rf"has {len(str(path))} bytes\. With at most 95"):
            Store.open_to_read(path, told=told.append)
        assert told == [f"Waiting up to 0.3 s for {path}: process {holder.pid} has it."]
    finally:
        holder.kill()
        holder.communicate()
    assert len(str(path)) > LONGEST_PATH


def test_another_users_socket_is_not_believed(held: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    monkeypatch.setattr(sharing.os, "geteuid", lambda: mine + 1)
    with pytest.raises(NotShared, match="another user's"):
        copy_from_holder(held.path, Path(held.path).parent)
    # The holder's side refuses too, before it says anything.
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(socket_path(held.path))
        assert client.recv(1) == b""


def test_a_file_with_the_sockets_name_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    own = Path(socket_path(str(path)))
    own.write_text("mine")
    with Store.open(path) as store:
        new_run(store)
        store.share()
    assert own.read_text() == "mine"


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_has_no_socket_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        new_run(store)
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    with Store.open(path) as store:
        store.share()
        assert not Path(socket_path(str(path))).exists()
        assert "First" in answer_of(other_process(NAMES, path=path))


@pytest.mark.thorough
def test_a_store_that_is_made_elsewhere_or_removed_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "REST_SECONDS", 0.1)
    path, away = tmp_path / "lab.duckdb", tmp_path / "away.duckdb"
    made = f"from tests.store.test_sharing import *\nnew_run(Store.open({str(path)!r}))"
    with Store.open(path) as store:
        store.rest_when_idle()
        assert store.runs() == []
        assert answer_of(other_process(made)) == ""
        assert [run.name for run in store.runs()] == ["First"]
        until(lambda: store._db._resting)
        path.rename(away)
        with pytest.raises(LabError, match="was removed or renamed"):
            store.runs()
        away.rename(path)
        assert [run.name for run in store.runs()] == ["First"]


@pytest.mark.thorough
def test_a_lab_waits_once_for_a_command_that_keeps_the_file(
    held: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_SECONDS", 1.0)
    held.rest_when_idle()
    until(lambda: held._db._resting)
    holder = other_process(HOLD, path=held.path)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        start = time.monotonic()
        for _ in range(5):
            with pytest.raises(StoreInUse, match=f"process {holder.pid}"):
                held.study("any")
        assert time.monotonic() - start < 3
    finally:
        holder.kill()
        holder.communicate()
    monkeypatch.setattr(database, "WAIT_SECONDS", 10.0)
    assert held.runs()[0].name == "First"
