"""Check that a store keeps runs and data sets through kills, full disks and damage."""

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from rubriclab.cli.main import run_command
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judgment import Call, Condition, Judgment, Ordering, Outcome, Reply, Status
from rubriclab.model.text import LabError
from rubriclab.store.database import in_words
from rubriclab.store.store import Store

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = (
    Condition("small", "drafts", "balanced", scores=(1, 2, 3), positions=3),
    Condition("large", "drafts", "balanced", scores=(1, 2, 3), positions=3),
)
ORDERS = (Ordering((1, 2, 3), ("1", "2", "3")), Ordering((3, 2, 1), ("3", "2", "1")))
DATA = DataSet(
    "drafts",
    (
        Item("a", "Hello there", "Greet", prompt="p1", ratings={"ann": 2.0, "bo": 3.0}),
        Item("b", "Go away", "Greet", prompt="p1", columns={"source": "web"}),
    ),
    "drafts.csv",
)
ITEMS = pd.DataFrame(
    {
        "item_id": ["a", "b"],
        "dataset": "drafts",
        "criterion": None,
        "block": None,
        "prompt": "p1",
        "candidate": None,
        "task": None,
        "ratings": [{"ann": 2.0, "bo": 3.0}, {}],
        "unit_text": ["u", "u"],
        "source": [0, 1],
    }
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "lab.duckdb") as store:
        yield store


def new_run(store: Store, name: str = "First", identity: str = "x") -> str:
    return store.create_run(
        name=name,
        study={"name": name, "reading": {"unit": "item"}},
        identity=identity,
        conditions=CONDITIONS,
        planned=(4, 4),
        items=ITEMS,
        dataset_id=store.save_dataset(DATA),
        made_with={"rubriclab": "test"},
    )


def answered(store: Store, run: str, *judgments: Judgment) -> str:
    """The run, with these answers committed."""
    with store.writer(run) as writer:
        for each in judgments:
            writer.add(each)
    return run


def judgment(
    key: int, item: int = 0, order: int = 0, condition: int = 0, text: str = "2", **reply: object
) -> Judgment:
    """An answer “2” at position 2, or an error where ``kind`` is given."""
    messages = ({"role": "user", "content": "?"},)
    call = Call(f"{key:064x}", condition, (item,), ORDERS[order], 0, messages, "t1", (1, 2, 3), 8)
    if "kind" in reply:
        outcome = Outcome(item, 0, Status.ERROR)
    else:
        outcome = Outcome(item, 0, Status.OK, 2.0, 2, 2.25, 0.75, (0.25, 0.5, 0.25))
    return Judgment(call, Reply(text, tokens_in=10, **reply), (outcome,))  # type: ignore[arg-type]


def test_a_run_comes_back_as_it_was_judged(store: Store) -> None:
    failed = judgment(3, kind="timeout", error="no answer")
    run = answered(
        store, new_run(store), judgment(1, condition=1), judgment(2, item=1, order=1), failed
    )
    table = store.table(run)
    expected = pd.DataFrame(
        {
            "condition": [0, 0, 1],
            "call": [1, 2, 0],
            "item": [1, 0, 0],
            "ordering": [1, 0, 0],
            "slot": 0,
            "repeat": 0,
            "status": [0, 4, 0],
            "score": [2.0, np.nan, 2.0],
            "position": [2, 0, 2],
            "expected": [2.25, np.nan, 2.25],
            "mass": [0.75, np.nan, 0.75],
        }
    )
    pd.testing.assert_frame_equal(
        table.rows, expected, check_dtype=False, check_like=True
    )  # sorted by condition
    np.testing.assert_array_equal(table.probabilities[:2], [[0.25, 0.5, 0.25], [np.nan] * 3])
    assert (table.orderings, table.conditions, table.planned) == (ORDERS, CONDITIONS, (4, 4))
    assert table.reading == {"unit": "item"}
    for column in ("ratings", "prompt", "criterion", "unit_text"):
        assert table.items[column].tolist() == ITEMS[column].tolist()


def test_judgments_in_words_and_one_call(store: Store) -> None:
    failed = judgment(3, item=1, kind="timeout", error="no answer")
    run = answered(
        store, new_run(store), judgment(1, text="Score: 2"), judgment(2, item=1, order=1), failed
    )
    shown = store.judgments(run)
    assert shown["ordering"].tolist() == ["1 2 3", "3 2 1", "1 2 3"]
    assert shown["status"].tolist() == ["ok", "ok", "error"]
    assert store.judgments(run, item="b", status="ok")["call"].tolist() == [1]
    assert store.judgments(run, status="failed")["error"].tolist() == ["no answer"]
    assert store.judgments(run, ordering="3 2 1")["call"].tolist() == [1]
    assert store.judgments(run, position=2, score=2, limit=1)["reply"].tolist() == ["Score: 2"]
    assert store.judgments(run, text="SCORE")["call"].tolist() == [0]
    assert store.judgments(run, text="go AWAY")["call"].tolist() == [1, 2]
    with pytest.raises(LabError, match="Unknown status"):
        store.judgments(run, status="bad")
    call = store.call(run, 0)
    assert (call["reply"], call["shown"], call["tokens_in"]) == ("Score: 2", [1, 2, 3], 10)
    assert (call["item"]["response"], call["outcomes"][0]["p"]) == (
        "Hello there",
        [0.25, 0.5, 0.25],
    )
    with pytest.raises(LabError, match="no call 9"):
        store.call(run, 9)
    assert store.call(run, 1)["item"]["columns"] == {"source": "web"}


def test_a_reader_is_noted_with_final_replies_alone(tmp_path: Path) -> None:
    """One call was asked twice: its first reply is kept, and is no longer the final one."""
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        run = answered(store, new_run(store), judgment(1, kind="timeout", error="no answer"))
        answered(store, run, judgment(1))
        store.set_reader(run, 7, [f"{1:064x}"])
    with duckdb.connect(path) as file:
        noted = file.sql(
            "SELECT final, reader FROM judgments JOIN calls USING (run, call) ORDER BY call"
        )
        assert noted.fetchall() == [(False, None), (True, 7)]


def test_resuming_asks_what_has_no_final_answer(store: Store) -> None:
    run = answered(store, new_run(store), judgment(1), judgment(2, kind="timeout"))
    assert store.final_keys(run) == {f"{1:064x}", f"{2:064x}"}
    assert store.final_keys(run, retry_failed=True) == {f"{1:064x}"}
    assert (store.run(run).done, store.run(run).failed) == (2, 1)
    answered(store, run, judgment(2))  # asked again, in another session
    assert store.final_keys(run, retry_failed=True) == {f"{1:064x}", f"{2:064x}"}
    assert store.table(run).rows["status"].tolist() == [0, 0]
    assert store.judgments(run)["call"].tolist() == [0, 2]
    assert (store.run(run).done, store.run(run).failed) == (2, 0)
    answered(
        store, run, judgment(1, text="second"), judgment(1, text="third")
    )  # the last counts, in a batch too
    assert store.judgments(run)["reply"].tolist() == ["2", "third"]
    assert store.run(run).done == 2


def test_answers_are_committed_without_waiting_for_the_end_and_change_the_revision(
    store: Store,
) -> None:
    run = new_run(store)
    with store.writer(run) as writer:
        before = store.run(run).revision
        writer.add(judgment(1))
        for _ in range(200):
            if store.run(run).done:
                break
            time.sleep(0.02)
        assert store.run(run).done == 1
        assert store.run(run).revision > before


def test_runs_go_on_are_named_and_deleted(store: Store) -> None:
    first = new_run(store)
    assert new_run(store, "Another name") == first
    second = new_run(store, "First", "y")
    assert store.run(second).name == store.rename(second, "First") == "First 2"
    assert store.rename(second, "Second") == "Second"
    assert (store.run("second").id, store.run(first[:6]).id) == (second, first)
    with pytest.raises(LabError, match=r"No run is called “Secnd”.*“Second”"):
        store.run("Secnd")
    with pytest.raises(LabError, match="new name is empty"):
        store.rename(first, "  ")
    assert [run.judges for run in store.runs()] == [("small", "large")] * 2
    for run in (first, second):
        answered(store, run, judgment(1))
    with store.writer(first), pytest.raises(LabError, match="Pause it"):
        store.delete(first)
    store.delete(first)
    assert [run.id for run in store.runs()] == [second]
    assert len(store.table(second).rows) == 1
    kept = store.run(second).dataset
    assert store.dataset(kept) == DATA
    assert store.save_dataset(DATA) == kept
    assert (
        store.save_dataset(DataSet("drafts", (replace(DATA.items[0], ratings={"cy": 1.0}),)))
        != kept
    )
    store.delete(second)
    with pytest.raises(LabError, match="no data set"):
        store.dataset(kept)


def test_looking_leaves_no_file_and_a_second_opening_shares(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "lab.duckdb"
    with Store.open(path) as store, Store.open(path) as second:
        assert store.runs() == []
        assert not path.parent.exists()
        new_run(store)
        assert [run.name for run in second.runs()] == ["First"]
        store.set_state(store.runs()[0].id, "running")
        with Store.open(path) as third:  # the run is this process's own, and goes on
            assert third.runs()[0].state == "running"
    assert path.exists()


def test_a_dead_process_leaves_an_interrupted_run(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        store.set_state(new_run(store), "running")
        with pytest.raises(LabError, match="Unknown state"):
            store.set_state("x", "odd")
    with Store.open(path, read_only=True) as store:
        assert store.runs()[0].state == "interrupted"
        with pytest.raises(LabError, match="reading only"):
            store.rename(store.runs()[0].id, "x")
    with Store.open(path) as store:
        assert store.runs()[0].state == "interrupted"


@pytest.mark.thorough
def test_a_second_process_is_told_who_has_the_store(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        new_run(store)
        code = f"from rubriclab.store.store import Store\nStore.open({str(path)!r})"
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
        )
    assert f"is in use by process {os.getpid()}" in other.stderr
    assert "--store" in other.stderr


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    newer, foreign, text = (
        tmp_path / "newer.duckdb",
        tmp_path / "foreign.duckdb",
        tmp_path / "text.duckdb",
    )
    with Store.open(newer) as store:
        new_run(store)
    with duckdb.connect(str(newer)) as db:
        db.execute("UPDATE lab SET version = 2")
    with duckdb.connect(str(foreign)) as db:
        db.execute("CREATE TABLE mine (x INTEGER)")
    text.write_text("hello")
    table = (
        tmp_path / "judgments.csv"
    )  # which DuckDB would show as a table, and keep what is written in memory alone
    table.write_text("judge,item_id\nj,1\n")
    with pytest.raises(LabError, match="No store found at"):
        Store.open(tmp_path / "none.duckdb", read_only=True)
    (tmp_path / "gone.duckdb.wal").write_bytes(b"a log")
    for path, words in (
        (newer, "newer rubriclab"),
        (foreign, "another program"),
        (text, "not a store"),
        (table, "a data file, not a store"),
        (tmp_path / "gone.duckdb", "a store whose own file .* is gone"),
        (tmp_path, "folder or a device"),
        ("s3://bucket/lab.duckdb", "on this computer"),
        ("", "on this computer"),
    ):
        with pytest.raises(LabError, match=words):
            Store.open(path)


@pytest.mark.parametrize("left", [0, 4_096, 8_192])
def test_a_file_that_a_full_disk_left_before_it_was_a_store_becomes_one(
    tmp_path: Path, left: int
) -> None:
    path = tmp_path / "lab.duckdb"
    duckdb.connect(str(path)).close()
    path.write_bytes(path.read_bytes()[:left])
    with Store.open(path) as store:
        answered(store, new_run(store), judgment(1))
    with Store.open(path) as store:
        assert [run.name for run in store.runs()] == ["First"]


def test_a_backup_is_a_store(store: Store, tmp_path: Path) -> None:
    run = new_run(store)
    with store.writer(run) as writer:
        writer.add(judgment(1))
        writer.flush()
        copy = store.backup(tmp_path / "copy.duckdb")
    with Store.open(copy) as other:
        assert other.table(run).rows.equals(store.table(run).rows)
        assert other.dataset(other.run(run).dataset) == DATA
    with pytest.raises(LabError, match="nothing is overwritten"):
        store.backup(copy)


def test_a_store_of_an_earlier_lab_that_held_more_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        new_run(store)
    with duckdb.connect(str(path)) as db:
        db.execute(
            'ALTER TABLE datasets ADD COLUMN listed BOOLEAN; CREATE TABLE "old; \'things" (id '
            "VARCHAR)"
        )
        db.execute("""INSERT INTO "old; 'things" VALUES ('kept')""")
    with Store.open(path) as store:
        other = store.save_dataset(DataSet("more", DATA.items))
        copy = store.backup(tmp_path / "copy.duckdb")
    with Store.open(copy) as store:
        assert store.dataset(other).items == DATA.items
    with duckdb.connect(str(copy)) as db:
        assert db.execute("""SELECT id FROM "old; 'things" """).fetchall() == [("kept",)]


def test_a_run_without_judgments_is_a_table_too(store: Store) -> None:
    run = new_run(store)
    table = store.table(run)
    assert (len(table.rows), len(table.items), table.probabilities) == (0, 2, None)
    assert store.judgments(run).empty
    assert Store.save_copy(store.path, Path(store.path).with_name("copy.duckdb")) is None


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: os.truncate(path, 0)])
def test_a_file_lost_while_open_is_told_and_its_content_kept(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        run = new_run(store)
        writer = store.writer(run)
        lose(path)
        writer.add(judgment(1))
        with pytest.raises(LabError, match="removed or replaced") as fault:
            writer.flush()
        writer.close()  # what was being answered goes to the other file
        store.set_state(run, "paused")
    (rescued,) = tmp_path.glob("*.rescued-*.duckdb")
    assert str(rescued) in str(fault.value)
    path.unlink(missing_ok=True)
    with Store.open(rescued) as kept:
        assert (kept.run(run).state, kept.run(run).done) == ("paused", 1)


# A writer that never closes: its log stays beside the file, as after a kill.
KILLED = """
import os, sys
from tests.store.test_store import LabError, Store, judgment, new_run
store = Store.open(sys.argv[1])
run = new_run(store)
store.checkpoint()
writer = store.writer(run)
for key in range(6):
    writer.add(judgment(key))
    writer.flush()
"""


def killed_writer(path: Path, then: str = "") -> str:
    code = f"{KILLED}{then}\nos._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_a_store_that_a_thread_still_holds_is_closed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    held = (
        f"{KILLED}import threading, time\nthreading.Thread(target=lambda: store.runs() and "
        f"time.sleep(60), "
        f"daemon=True).start()"
    )
    code = f"{held}\ntime.sleep(0.3)"
    done = subprocess.run(
        [sys.executable, "-c", code, path], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")  # DuckDB 2.0.0 said “leaked 28 instances”
    assert not Path(f"{path}.wal").exists()


@pytest.mark.thorough
def test_a_damaged_log_is_named_and_what_precedes_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, log = tmp_path / "lab.duckdb", tmp_path / "lab.duckdb.wal"
    killed_writer(path)
    content = bytearray(log.read_bytes())
    content[len(content) * 2 // 3] ^= 0xFF
    log.write_bytes(content)
    with pytest.raises(LabError, match=r"log of .* is damaged .*--backup saved.duckdb"):
        Store.open(path)
    with (
        pytest.raises(LabError, match=r"wal/lab.duckdb is damaged: it was cut"),
        in_words("wal/lab.duckdb"),
    ):
        raise duckdb.IOException("Corrupt database file wal/lab.duckdb")
    saved = tmp_path / "saved.duckdb"
    cut = Store.save_copy(path, saved)
    assert 0 < cut < len(content)
    assert log.read_bytes() == content  # the damaged ones stay as they are
    with Store.open(saved) as store:
        calls = store.table(store.runs()[0].id).rows["call"].tolist()
        assert calls == list(range(len(calls)))
        assert 0 < len(calls) < 6
    assert (
        run_command(["runs", "--backup", str(tmp_path / "again.duckdb"), "--store", str(path)]) == 0
    )
    assert f"byte {cut:,}" in capsys.readouterr().out, "the command that the message names"


FULL_DISK = """
import resource
size = os.path.getsize(sys.argv[1] + ".wal")
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
try:
    writer.add(judgment(6, text="x" * 10_000)); writer.flush(); print("no fault")
except LabError as fault:
    print(fault)
try:
    store.set_state(run, "paused", "the disk is full" * 1_000)
except LabError:
    print(store.run(run).state)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(store.table(run).rows))
writer.close()
print(len(store.table(run).rows))
"""


@pytest.mark.thorough
def test_a_full_disk_loses_nothing_and_what_was_committed_outlives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    words, state, during, after = killed_writer(path, FULL_DISK).splitlines()
    assert "disk is full" in words
    assert state == "paused"
    assert (during, after) == ("6", "7")
    with Store.open(path) as store:
        assert store.table(store.runs()[0].id).rows["call"].tolist() == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.integration
def test_flipped_bytes_are_named_or_without_effect(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store.open(path) as store:
        every = [judgment(key, item=key % 2, order=key // 2 % 2) for key in range(2_000)]
        run = answered(store, new_run(store), *every)
        whole = store.table(run)
    content, rng = path.read_bytes(), random.Random(1)
    for number in range(24):
        changed = bytearray(content)
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        copy = tmp_path / f"flipped{number}.duckdb"
        copy.write_bytes(changed)
        try:
            with Store.open(copy, read_only=True) as store:
                table = store.table(run)
        except LabError:
            continue
        assert table.rows.equals(whole.rows)
        assert table.items.equals(whole.items)


@pytest.mark.thorough
def test_the_first_write_and_the_end_wait_for_whoever_reads(tmp_path: Path) -> None:
    """DuckDB refuses to close a connection that another thread is asking: pages read while a run
    begins, or the lab ends.
    """
    for number in range(8):
        path, done = tmp_path / f"{number}.duckdb", threading.Event()
        store = Store.open(path)

        def read(store: Store = store, done: threading.Event = done) -> None:
            while not done.is_set():
                store.runs()

        with ThreadPoolExecutor(2) as pool:
            reading = [pool.submit(read) for _ in range(2)]
            store.save_dataset(DATA)  # the file is made: what was looked at in memory is let go
            done.set()
        assert [reader.result() for reader in reading] == [None, None]
        store.close()
        with duckdb.connect(str(path)) as alone:  # no longer held
            assert alone.execute("SELECT count(*) FROM datasets").fetchall() == [(1,)]
