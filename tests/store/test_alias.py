"""Check that one store under several names in one process is opened once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rubriclab as rl
from rubriclab.model.text import LabError
from rubriclab.store.store import Store
from tests.store.test_store import new_run
from tests.words import made


def alias(folder: Path, how: str) -> str:
    path = folder / "lab.duckdb"
    if how == "hard link":
        os.link(path, folder / "hard.duckdb")
        return str(folder / "hard.duckdb")
    if how == "symlink":
        (folder / "link.duckdb").symlink_to("lab.duckdb")
        return str(folder / "link.duckdb")
    if how == "linked folder":
        (folder.parent / "there").symlink_to(folder)
        return str(folder.parent / "there" / "lab.duckdb")
    (folder / "sub").mkdir()
    return str(folder / "sub" / ".." / "lab.duckdb")


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["hard link", "symlink", "linked folder", "dot-dot"])
def test_two_names_of_a_store_share_it(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "lab"
    folder.mkdir()
    with Store.open(folder / "lab.duckdb") as first:
        run = new_run(first)
        with Store.open(alias(folder, how)) as second:
            assert second._db is first._db
            second.rename(run, "renamed")
            assert first.run(run).name == "renamed"
        # A user's own code that closes the alias does not close the store.
        first.rename(run, "again")
    with Store.open(folder / "lab.duckdb") as store:
        assert store.run(run).name == "again"
    assert not list(folder.glob("*.wal"))


@pytest.mark.thorough
def test_an_open_store_is_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = (
        "from rubriclab.store.store import Store\n"
        "from rubriclab.model.text import LabError\n"
        "try:\n    Store.open('lab.duckdb')\nexcept LabError as fault:\n    print(fault)\n"
    )
    with Store.open("lab.duckdb") as store:
        store.add_table(made.options_table({"judge-7b": made.mostly_first}, items=4))
        for name in ("lab.duckdb", str(tmp_path / "lab.duckdb"), "./lab.duckdb"):
            with pytest.raises(LabError, match="is the store that this lab has open"):
                rl.read(name)
        # The lock stands: another process is refused, and told by whom.
        said = subprocess.run(
            [sys.executable, "-c", other], capture_output=True, text=True, timeout=120
        )
        assert f"process {os.getpid()}" in said.stdout, said.stderr


def test_what_a_killed_backup_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".saved.duckdb.0123456789abcdef.part"
    left.write_bytes(b"half a copy")
    (tmp_path / ".other.duckdb.0123.part").write_bytes(b"of another backup")
    with Store.open(tmp_path / "lab.duckdb") as store:
        new_run(store)
        store.backup(tmp_path / "saved.duckdb")
    assert not left.exists()
    assert (tmp_path / ".other.duckdb.0123.part").exists()
    with Store.open(tmp_path / "saved.duckdb") as copy:
        assert len(copy.runs()) == 1


def test_what_a_deleted_run_could_not_keep_never_becomes_another_runs(tmp_path: Path) -> None:
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = new_run(store)
        number = store.run(run).number
        store._db.unsaved[number] = ["a judgment"]
        store._db.unsaved_states[run] = ("paused", "the disk is full")
        store.delete(run)
        assert store._db.unsaved == {}
        assert store._db.unsaved_states == {}
