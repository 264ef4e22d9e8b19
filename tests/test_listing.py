"""Runs are renamed, tagged, archived, deleted and restored; nothing that names them breaks."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rubriclab.model import LabError
from rubriclab.runs.listed import RunFilter, local
from rubriclab.runs.manager import RunManager
from rubriclab.runs.terms import Limits
from rubriclab.store import RunWriter, Store, StoreError
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_checks import ArchiveError
from rubriclab.store.archive_writing import CALLED, write_archive
from rubriclab.store.listing import MAX_TAGS, MAX_TITLE
from rubriclab.store.salvage import backup_store, salvage_store
from rubriclab.study.plan import plan
from tests.golden.kept import unpacked
from tests.labkit import pairs_study, study
from tests.test_archive import stored, three

MARKUP = "<script>alert(1)</script> **bold** [a](javascript:b) $x$ `c` :red[d] | ☃ مرحبا"


@pytest.fixture
def kept() -> Iterator[tuple[Store, str]]:
    store, run = stored(study(3, name="Drafts"), three)
    with store:
        yield store, run


# ---------------------------------------------------------------- titles


def test_a_title_is_words_alone_and_an_unfinished_run_goes_on_under_its_name() -> None:
    with Store(":memory:") as store:
        manager = RunManager(store)
        first = manager.start(study(3, name="Drafts"), limits=Limits(max_calls=5)).wait(60.0)
        assert first.state == "paused"
        before = store.revision(first.run)
        store.rename_run(first.run, "  The drafts of May  ")
        info = store.run(first.run)
        assert (info.run, info.name, info.made_as) == (first.run, "The drafts of May", "Drafts")
        assert store.frame(first.run).name == "The drafts of May"
        assert store.revision(first.run) != before, "findings say the title: they must be worked out anew"
        assert store.study(first.run).name == "Drafts"
        again = manager.start(study(3, name="Drafts")).wait(60.0)
        assert (again.run, again.state, again.asked) == (first.run, "finished", again.planned - first.done)
        store.rename_run(first.run, "")
        assert store.run(first.run).name == "Drafts"


@pytest.mark.parametrize("text", ["x" * 50_000, "two\nlines", "a\x1b[31mred", "nul\0", "half \ud800", "turn \u202e"])
def test_a_title_that_is_no_line_of_words_is_refused(kept: tuple[Store, str], text: str) -> None:
    store, run = kept
    store.rename_run(run, "before")
    with pytest.raises(StoreError, match=r"characters|one line"):
        store.rename_run(run, text)
    with pytest.raises(StoreError, match=r"characters|one line"):
        store.tag_run(run, add=["good", text])
    assert (store.run(run).name, store.run(run).tags) == ("before", ())


def test_markup_is_kept_as_it_is(kept: tuple[Store, str]) -> None:
    store, run = kept
    store.rename_run(run, MARKUP)
    assert store.run(run).name == MARKUP
    store.rename_run(run, " \u200b\u200d ")
    assert store.run(run).name == "Drafts", "what nobody could see or click is no title"
    store.rename_run(run, "e" * MAX_TITLE)
    assert len(store.run(run).name) == MAX_TITLE


def test_a_run_that_the_lab_has_in_hand_is_called_by_its_title_at_once() -> None:
    with Store(":memory:") as store:
        manager = RunManager(store)
        run = manager.start(study(2))
        run.wait(60.0)
        manager.rename(run.info.run, "May")
        assert (run.snapshot().name, store.run(run.info.run).name) == ("May", "May")


# ---------------------------------------------------------------- tags


def test_tags_are_free_words_each_once(kept: tuple[Store, str]) -> None:
    store, run = kept
    store.tag_run(run, add=["pilot", "for the paper", "Pilot"])
    store.tag_run(run, add=["PILOT", "b"], remove=["FOR THE PAPER", "not there"])
    assert store.run(run).tags == ("b", "pilot")
    assert store.tags() == ("b", "pilot")
    with pytest.raises(StoreError, match="is no tag"):
        store.tag_run(run, add=["  "])
    with pytest.raises(StoreError, match=f"{MAX_TAGS} at most"):
        store.tag_run(run, add=[f"tag {n}" for n in range(MAX_TAGS)])
    assert store.run(run).tags == ("b", "pilot")


def test_who_tag_one_run_at_once_lose_no_tag(kept: tuple[Store, str]) -> None:
    store, run = kept
    fault: list[BaseException] = []

    def tag(mine: str) -> None:
        try:
            for n in range(5):
                store.tag_run(run, add=[f"{mine}{n}"])
        except BaseException as raised:
            fault.append(raised)

    threads = [threading.Thread(target=tag, args=(mine,)) for mine in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not fault
    assert store.run(run).tags == tuple(f"{mine}{n}" for mine in "abc" for n in range(5))


@pytest.mark.slow
def test_two_labs_on_one_store_keep_each_others_tags(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store(path) as store:
        run = RunManager(store).start(study(2)).wait(60.0).run
        store.tag_run(run, add=["first"])
        with pytest.raises(StoreError, match="open in"):  # one lab at a time, and said
            _elsewhere(path)
    with Store(path) as store:
        store.tag_run(run, add=["second"])
        store.rename_run(run, "Both")
    with Store(path) as store:
        assert (store.run(run).name, store.run(run).tags) == ("Both", ("first", "second"))


def _elsewhere(path: Path) -> None:
    """Open the store in another process. Raises StoreError with what that one said."""

    code = f"from rubriclab.store import Store; Store({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise StoreError(done.stderr)


# ---------------------------------------------------------------- archived and deleted


def test_a_deleted_run_is_kept_until_it_is_deleted_for_good(kept: tuple[Store, str]) -> None:
    store, run = kept
    store.tag_run(run, add=["t"])
    before = store.archive_frame(run)
    store.archive_run(run)
    assert [info.run for info in store.runs()] == [run], "an archived run still counts; lists leave it out"
    store.discard_run(run)
    assert (store.runs(), store.tags()) == ((), ())
    assert store.run(run).deleted is not None
    store.undelete_run(run)
    assert (store.run(run).deleted, store.run(run).archived is not None) == (None, True)
    store.discard_run(run)
    store.restore_run(run)
    info = store.run(run)
    assert (info.deleted, info.archived, info.tags) == (None, None, ("t",))
    assert store.archive_frame(run).equals(before)
    store.delete_run(run)
    assert not store.holds(run)
    assert store._one("SELECT count(*) FROM run_tags") == 0


def test_a_run_that_is_going_cannot_be_deleted(kept: tuple[Store, str]) -> None:
    store, run = kept
    with RunWriter(store, run):
        for delete in (store.discard_run, store.delete_run):
            with pytest.raises(StoreError, match="being judged right now; pause or cancel it first"):
                delete(run)
    assert store.run(run).deleted is None
    manager = RunManager(store)
    manager.delete(run)
    assert store.run(run).deleted is not None


def test_a_run_that_waits_for_its_first_answer_cannot_be_deleted() -> None:
    class Going:
        def snapshot(self) -> Any:
            return type("Shown", (), {"active": True})

    with Store(":memory:") as store:
        manager = RunManager(store)
        manager._runs["going"] = Going()  # type: ignore[assignment]
        with pytest.raises(LabError, match=r"“going” is being asked just now. Pause or cancel it first"):
            manager.delete("going")


def test_started_or_brought_again_a_deleted_run_is_back(kept: tuple[Store, str]) -> None:
    store, run = kept
    store.discard_run(run)
    asked = RunManager(store).start(study(3, name="Drafts")).wait(60.0)
    assert (asked.run, asked.asked, store.run(run).deleted) == (run, 0, None)
    content = write_archive(store, run)
    store.discard_run(run)
    assert read_archive(store, content) == (run,)
    assert store.run(run).deleted is None


def test_what_is_deleted_is_not_taken_over_into_other_runs(kept: tuple[Store, str]) -> None:
    store, run = kept
    keys = store.done_keys(run)
    assert len(store.answered(keys)) == len(keys)
    store.discard_run(run)
    assert store.answered(keys) == {}


def test_the_beginning_of_a_name_means_a_run_that_is_not_deleted() -> None:
    store, run = stored(study(3, name="Same"), three)
    with store:
        other = RunManager(store).start(study(2, name="Same")).wait(60.0).run
        store.discard_run(run)
        assert store.run("same").run == other
        assert store.run(run).run == run
        store.delete_run(other)
        assert store.run("same").run == run


def test_a_run_is_found_whatever_its_capitals_and_by_its_title() -> None:
    store, run = stored(study(3, name="ueA21"), three)
    with store:
        assert run.startswith("uea21-")
        assert [store.run(asked).run for asked in ("ueA21", "UEA21", run.upper(), run[:6])] == [run] * 4
        store.rename_run(run, "Größe, zweiter Versuch")
        assert store.run("größe, Zweiter Versuch").run == run
        other = RunManager(store).start(study(2, name="Other")).wait(60.0).run
        store.rename_run(other, "Größe, zweiter Versuch")
        with pytest.raises(StoreError, match="2 runs with the title") as caught:
            store.run("Größe, zweiter Versuch")
        assert run in str(caught.value)
        assert other in str(caught.value)
        store.discard_run(other)
        assert store.run("Größe, zweiter Versuch").run == run
        with pytest.raises(StoreError, match="has no run “Größe”"):
            store.run("Größe")


# ---------------------------------------------------------------- archives and old stores


@pytest.mark.parametrize("imported", [False, True])
def test_an_archive_carries_title_and_tags(kept: tuple[Store, str], imported: bool) -> None:
    store, run = kept
    if imported:
        run = store.import_run(store.frame(run), provenance={}, run="from-elsewhere")
    store.rename_run(run, MARKUP)
    store.tag_run(run, add=["pilot", "für die Arbeit"])
    content = write_archive(store, run)
    with Store(":memory:") as other:
        assert read_archive(other, content) == (run,)
        info = other.run(run)
        assert (info.name, info.made_as, info.tags) == (MARKUP, "Drafts", ("für die Arbeit", "pilot"))
        other.rename_run(run, "Mine")
        other.tag_run(run, add=["own"], remove=["pilot"])
        read_archive(other, content)
        assert (other.run(run).name, other.run(run).tags) == ("Mine", ("für die Arbeit", "own", "pilot"))


def test_of_a_run_without_title_the_archive_is_what_it_was(kept: tuple[Store, str]) -> None:
    store, run = kept
    with zipfile.ZipFile(io.BytesIO(write_archive(store, run))) as archive:
        assert CALLED not in archive.namelist()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"title": "x" * 50_000, "tags": []}, "50,000 characters"),
        ({"title": 3, "tags": []}, "is text"),
        ({"title": "a", "tags": ["two\nlines"]}, "one line"),
        ({"title": "a", "tags": [f"{n}" for n in range(500)]}, "at most"),
        ({"title": "a", "tags": {"b": 1}}, "as a list"),
        (["a"], "table of values"),
    ],
)
def test_an_archive_with_a_hostile_title_is_refused_whole(kept: tuple[Store, str], value: object, why: str) -> None:
    store, run = kept
    content = io.BytesIO(write_archive(store, run))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(CALLED, json.dumps(value))
    with Store(":memory:") as other:
        with pytest.raises((ArchiveError, StoreError), match=why):
            read_archive(other, content.getvalue())
        assert other.runs(deleted=True) == ()


def test_a_store_of_before_titles_opens_and_takes_them(tmp_path: Path) -> None:
    path = unpacked(tmp_path)

    with duckdb.connect(str(path)) as db:
        ((version,),) = db.execute("SELECT max(schema_version) FROM lab").fetchall()
    assert version < 7
    with Store(path) as store:
        runs = store.runs()
        assert len(runs) == 3
        assert all(
            (info.name, info.tags, info.archived, info.deleted) == (info.made_as, (), None, None) for info in runs
        )
        store.rename_run(runs[0].run, "New")
        store.tag_run(runs[0].run, add=["t"])
        store.archive_run(runs[1].run)
    with Store(path) as store:
        assert (store.run(runs[0].run).name, store.run(runs[0].run).tags) == ("New", ("t",))
        assert store.run(runs[1].run).archived is not None


@pytest.mark.slow
def test_a_copy_and_a_salvaged_store_have_titles_and_tags(tmp_path: Path) -> None:
    path = tmp_path / "lab.duckdb"
    with Store(path) as store:
        run = RunManager(store).start(study(2)).wait(60.0).run
        store.rename_run(run, "Kept")
        store.tag_run(run, add=["t"])
    for name, copy in (("copy", backup_store), ("saved", salvage_store)):
        out = tmp_path / f"{name}.duckdb"
        copy(str(path), str(out))
        with Store(out) as store:
            assert (store.run(run).name, store.run(run).tags) == ("Kept", ("t",)), name


# ---------------------------------------------------------------- looked for


def test_runs_are_found_by_words_tags_states_kinds_and_days(kept: tuple[Store, str]) -> None:
    store, run = kept
    pairs = store.open_run(plan(pairs_study()), {}).run
    store.rename_run(run, "Straße und Größe")
    store.tag_run(run, add=["Pilot"])
    judges = store.judges_by_run()

    def found(**wanted: Any) -> list[str]:
        return [info.run for info in RunFilter(**wanted).found(store.runs(deleted=True), judges)]

    assert found() == [pairs, run]
    assert found(words="STRASSE größe") == [run]
    assert found(words="drafts sim") == [run], "also the name that it was made with, and a judge"
    assert found(words="straße pairs") == []
    assert found(tags=["pilot"]) == [run]
    assert found(tags=["pilot", "other"]) == []
    assert found(states=["planned"]) == [pairs]
    assert found(kinds=["pairwise", "listwise"]) == [pairs]
    today = local(store.run(run).created).date()
    assert found(since=today, until=today) == [pairs, run]
    assert found(since=today + timedelta(days=1)) == found(until=today - timedelta(days=1)) == []
    store.archive_run(run)
    store.discard_run(pairs)
    assert (found(), found(shelf="archived"), found(shelf="deleted")) == ([], [run], [pairs])
    assert found(shelf="all") == [pairs, run]
