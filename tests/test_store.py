"""What is put comes back, once; what cannot be written is kept and said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubriclab.model import STATUSES, Dataset, Item, Judge, Judgment, Outcome, Reply, Rubric, Strategy, Study
from rubriclab.store import RunWriter, Store, StoreError
from rubriclab.store import lab as store_module
from rubriclab.store.journal import Journal, left_behind, read_journal
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from tests.labkit import answered, criteria_study, criterion, items, pairs_study, study

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(":memory:") as opened:
        yield opened


def keep(store: Store, about: Study, judgments: list[Judgment] | None = None) -> str:
    prepared = plan(about)
    info = store.open_run(prepared, provenance(prepared))
    with RunWriter(store, info.run) as writer:
        for judgment in answered(prepared) if judgments is None else judgments:
            writer.put(judgment)
    return info.run


def test_judgments_that_come_while_a_run_is_read_have_their_orderings(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a rule looks at a run that is being asked: the commit falls between two questions."""
    about = study()
    made = list(answered(plan(about)))
    run = keep(store, about, made[:1])
    read = store._numpy

    def after_a_commit(sql: str, values: Sequence[object]) -> dict[str, np.ndarray]:
        keep(store, about, made[1:])
        return read(sql, values)

    monkeypatch.setattr(store, "_numpy", after_a_commit)
    data = store.frame(run)
    assert len(data.judgments) == len(made)
    assert data.judgments["ordering"].max() < len(data.orderings)


# ---------------------------------------------------------------- data sets, rubrics, judges


texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)


@given(
    rows=st.lists(
        st.tuples(texts, texts, st.none() | texts, st.lists(st.floats(-5, 5), max_size=3)), min_size=1, max_size=5
    )
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_data_set_comes_back_as_it_was(store: Store, rows: list[tuple[str, str, str | None, list[float]]]) -> None:
    made = tuple(
        Item(f"i{n}", one, two, block=block, human=tuple(human), references={5: two})
        for n, (one, two, block, human) in enumerate(rows)
    )
    data = Dataset("d", made, rubric=Rubric("r", (criterion(),)), origin="a file")
    back = store.dataset(store.save_dataset(data))
    assert back == data
    assert back.id == data.id


def test_comparisons_come_back_as_they_were(store: Store) -> None:
    data = pairs_study().dataset
    assert store.dataset(store.save_dataset(data)) == data


def test_the_same_data_set_is_kept_once(store: Store) -> None:
    data = study().dataset
    assert store.save_dataset(data) == store.save_dataset(data)
    assert len(store.datasets()) == 1
    assert store._one("SELECT count(*) FROM items") == len(data)


def test_a_data_set_with_runs_stays(store: Store) -> None:
    run = keep(store, study())
    used = plan(study()).study.dataset.id
    with pytest.raises(StoreError, match=f"{run}.*has to stay"):
        store.delete_dataset(used)
    store.delete_run(run)
    store.delete_dataset(used)
    assert store.datasets().empty
    with pytest.raises(StoreError, match="no data set"):
        store.dataset(used)


def test_rubrics_and_judges_are_replaced_by_name(store: Store) -> None:
    for n in (5, 3):
        store.save_rubric(Rubric("r", (criterion(n),)))
        store.save_judge(Judge("j", "openai", f"m{n}", ("http://127.0.0.1:1/v1",), key_env="A_KEY"))
    assert store.rubrics() == (Rubric("r", (criterion(3),)),)
    assert [(judge.model, judge.key_env) for judge in store.judges()] == [("m3", "A_KEY")]
    store.delete_rubric("r")
    store.delete_judge("j")
    assert store.rubrics() == store.judges() == ()


# ---------------------------------------------------------------- judgments


outcomes = st.builds(
    dict,
    status=st.sampled_from(STATUSES),
    score=st.none() | st.integers(-3, 10),
    position=st.none() | st.integers(0, 10),
    probabilities=st.none() | st.just((0.25, 0.75)),
    mass=st.none() | st.floats(0, 1, width=32),
    kind=st.none() | texts,
)
replies = st.builds(
    Reply,
    text=texts,
    finish=st.sampled_from(["stop", "length"]),
    tokens_in=st.none() | st.integers(0, 10**6),
    latency=st.floats(0, 100, width=32),
    model=st.none() | texts,
    error=st.none() | texts,
    kind=st.none() | st.just("reset"),
    retryable=st.booleans(),
    attempts=st.integers(1, 20),
)


@pytest.mark.slow
@given(drawn=st.lists(st.tuples(outcomes, replies), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_put_comes_back(store: Store, drawn: list[tuple[dict[str, object], Reply]]) -> None:
    about = study(1, strategies=(Strategy("random", reads=len(drawn)),))
    prepared = plan(about)
    run = store.open_run(prepared, {}).run
    put = [
        Judgment(call, reply, (Outcome(item=0, **out),))  # type: ignore[arg-type]
        for call, (out, reply) in zip(prepared.calls(), drawn, strict=True)
    ]
    with RunWriter(store, run) as writer:
        for judgment in put:
            writer.put(judgment)
    data, words = store.frame(run, probabilities=True), store.archive_frame(run)
    for n, judgment in enumerate(put):
        row, word = data.judgments.iloc[n], words.iloc[n]
        (out,) = judgment.outcomes
        assert data.orderings[int(row["ordering"])] == judgment.call.ordering
        assert (row["arm"], row["item"], row["read"]) == (0, 0, judgment.call.read)
        assert STATUSES[int(row["status"])] == out.status
        assert row["position"] == (-1 if out.position is None else out.position)
        for name in ("score", "mass"):
            given_value = getattr(out, name)
            assert np.isnan(row[name]) if given_value is None else row[name] == np.float32(given_value)
        if data.probabilities is not None and out.probabilities:
            assert data.probabilities[n, :2].tolist() == [0.25, 0.75]
            assert np.isnan(data.probabilities[n, 2:]).all()
        assert word["key"] == judgment.call.key
        assert (word["text"], word["attempts"]) == (judgment.reply.text, judgment.reply.attempts)
        for name in ("tokens_in", "model", "error"):
            known = getattr(judgment.reply, name)
            assert (word[name] == known) if known is not None else word[[name]].isna().all()
    store.delete_run(run)


def test_no_probabilities_no_matrix(store: Store) -> None:
    run = keep(store, study())
    assert store.frame(run, probabilities=True).probabilities is None


def test_criteria_share_a_call(store: Store) -> None:
    about = criteria_study()
    text = "[a] 1\n[b] 2\n[c] 3"
    run = keep(store, about, answered(plan(about), lambda _: text))
    rows = store.frame(run).judgments
    assert len(rows) == 2 * 6 * 3
    assert rows.groupby("call").size().eq(3).all()
    assert store.run(run).done == 12


def test_counts_and_usage(store: Store) -> None:
    about = study(2)
    run = keep(store, about, answered(plan(about), lambda c: "?" if c.read == 0 else "2"))
    assert store.outcome_counts(run) == {"ok": 36, "unparsed": 4, "refused": 0, "truncated": 0, "error": 0}
    assert store.usage(run)["tokens_in"] == 40 * 9
    assert store.usage(run)["calls"] == 40


def test_the_judgments_behind_a_cell(store: Store) -> None:
    about = study(2, strategies=(Strategy("balanced"),))
    run = keep(store, about, answered(plan(about), lambda call: call.ordering.labels[1]))
    cell = store.judgments_behind(run, arm=0, score=3, position=2)
    assert len(cell) == 2 * 2  # shown second twice per item
    assert {tuple(json.loads(shown))[1] for shown in cell["shown"]} == {3}
    assert set(cell["status"]) == {"ok"}
    assert store.judgments_behind(run, position=1).empty
    assert len(store.judgments_behind(run, limit=5, offset=18)) == 2
    assert len(store.export_frame(run)) == 20


def test_a_failed_call_asked_again_is_superseded_and_stays_readable(store: Store) -> None:
    about = study(1, strategies=(Strategy("fixed", reads=3),))
    prepared = plan(about)
    calls = list(prepared.calls())
    lost = Reply(error="HTTP 500", kind="server_error", finish="error")
    run = keep(store, about, [prepared.read(c, lost if c.read == 2 else Reply(text="3")) for c in calls])
    assert store.failed_keys(run) == {calls[2].key}
    revision = store.revision(run)
    keep(store, about, [prepared.read(calls[2], Reply(text="5"))])
    assert not store.failed_keys(run)
    assert store.frame(run).judgments["score"].tolist() == [3, 3, 5]
    assert store._rows("SELECT key, error FROM superseded") == [(calls[2].key, "HTTP 500")]
    assert store.frame(run).judgments["call"].is_unique
    assert store.run(run).done == 3
    assert isinstance(revision, str)


def test_a_second_writer_of_a_run_is_refused(store: Store) -> None:
    run = keep(store, study())
    with RunWriter(store, run), pytest.raises(StoreError, match="right now"):
        RunWriter(store, run)
    with RunWriter(store, run):
        pass


# ---------------------------------------------------------------- runs


def test_a_study_is_found_again_by_its_run(store: Store) -> None:
    about = study(factors={"temperature": (0.0, 1.0)})
    run = keep(store, about)
    assert store.study(run).id == plan(about).study.id
    assert store.open_run(plan(about), {}).run == run
    assert len(store.runs()) == 1
    assert store.run(run[:4]).run == run
    with pytest.raises(StoreError, match="no run “nothing”"):
        store.run("nothing")


def test_a_run_that_was_going_is_interrupted_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with Store(path) as store:
        run = keep(store, study())
        store.set_state(run, "running")
    with Store(path) as store:
        assert (store.run(run).state, store.run(run).reason) == ("interrupted", "the lab was stopped")


# ---------------------------------------------------------------- files


@pytest.mark.slow
def test_open_in_another_process_names_it(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    code = "import sys; from rubriclab.store import Store; s = Store(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreError, match=rf"open in another process \(PID {holder.pid}\)"):
            Store(path)
        holder.communicate("")
    Store(path).close()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_text("these are my notes, not a store\n" * 500)
    with pytest.raises(StoreError, match="not a rubriclab store"):
        Store(path)
    assert path.read_text().startswith("these are my notes")


def test_a_database_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE mine (x INTEGER)")
    with pytest.raises(StoreError, match="not a rubriclab store"):
        Store(path)
    with duckdb.connect(str(path)) as db:
        assert db.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]


def test_a_store_of_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "new.duckdb"
    Store(path).close()
    with duckdb.connect(str(path)) as db:
        db.execute("UPDATE lab SET schema_version = 99")
    with pytest.raises(StoreError, match=r"newer rubriclab \(store version 99"):
        Store(path)


def test_migrations_run_once_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.duckdb"
    Store(path).close()

    following = store_module.SCHEMA + 1

    def second(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("ALTER TABLE runs ADD COLUMN note VARCHAR")
        db.execute(f"UPDATE lab SET schema_version = {following}")

    monkeypatch.setattr(store_module, "SCHEMA", store_module.SCHEMA + 1)
    monkeypatch.setattr(store_module, "MIGRATIONS", (*store_module.MIGRATIONS, second))
    for _ in range(2):  # the second start finds nothing to do
        with Store(path) as store:
            assert store._one("SELECT max(schema_version) FROM lab") == following
            assert store._one("SELECT count(note) FROM runs") == 0


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "old.duckdb"
    Store(path).close()

    def broken(db: duckdb.DuckDBPyConnection) -> None:
        db.execute("ALTER TABLE runs ADD COLUMN note VARCHAR")
        db.execute("SELECT no_such_column FROM runs")

    monkeypatch.setattr(store_module, "SCHEMA", store_module.SCHEMA + 1)
    monkeypatch.setattr(store_module, "MIGRATIONS", (*store_module.MIGRATIONS, broken))
    with pytest.raises(StoreError):
        Store(path)
    monkeypatch.undo()
    with Store(path) as store:
        assert "note" not in store._frame("SELECT * FROM runs").columns


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        Store(tmp_path / "file" / "s.duckdb")


# ---------------------------------------------------------------- journal


@cache
def left_by_a_kill(put: int) -> dict[str, bytes]:
    """The files of a process that put so many judgments of ``study(2)`` and died before any commit."""
    code = textwrap.dedent(
        """
        import os, sys
        from rubriclab.store import RunWriter, Store, writer
        from rubriclab.study.plan import plan
        from tests.labkit import answered, study
        writer.COMMIT_SECONDS = 60.0
        prepared = plan(study(2))
        opened = Store(sys.argv[1])
        writing = RunWriter(opened, opened.open_run(prepared, {}).run)
        for judgment in answered(prepared)[: int(sys.argv[2])]:
            writing.put(judgment)
        os.kill(os.getpid(), 9)
        """
    )
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, str(Path(folder) / "s.duckdb"), str(put)]
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == -9
        return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def killed_in_the_middle(path: Path, put: int) -> None:
    """What a kill leaves, at ``path``: the same files every time, made once."""
    assert path.name == "s.duckdb"
    for name, content in left_by_a_kill(put).items():
        path.with_name(name).write_bytes(content)


@pytest.mark.slow
def test_what_was_put_survives_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    about = study(2)
    killed_in_the_middle(path, 25)
    assert list(tmp_path.glob("*.journal"))
    with Store(path) as store:
        (info,) = store.runs()
        assert info.done == 25
        assert store.done_keys(info.run) == {c.key for c in list(plan(about).calls())[:25]}
        assert store.frame(info.run).judgments["score"].eq(3).all()
        assert not list(tmp_path.glob("*.journal"))
        left = answered(plan(about))[25:]
        keep(store, about, left)
        assert store.frame(info.run).judgments["call"].tolist() == list(range(40))


@pytest.mark.slow
def test_a_journal_beside_committed_rows_adds_nothing(tmp_path: Path) -> None:
    """A kill between the commit and the clearing of the journal must not double a row."""
    path = tmp_path / "s.duckdb"
    killed_in_the_middle(path, 10)
    journals = {p: p.read_bytes() for p in tmp_path.glob("*.journal")}
    Store(path).close()
    for journal, content in journals.items():
        journal.write_bytes(content)
    with Store(path) as store:
        assert store.runs()[0].done == 10
        assert store._one("SELECT count(*) FROM judgments") == 10
        assert store._one("SELECT count(*) FROM orderings") == 10


def test_journal_turns_and_forgets_only_the_old_side(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    journal = Journal(path, "run-1")
    journal.add([1], [2])
    journal.turn()
    journal.add([3])
    journal.clear_old()
    (found,) = left_behind(path).values()
    assert [record for p in found for record in read_journal(p)] == [[3]]
    journal.close(remove=True)
    assert left_behind(path) == {}


def test_half_a_line_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    path.write_bytes(b"[1]\n[2]\n[3")
    assert list(read_journal(path)) == [[1], [2]]


# ---------------------------------------------------------------- a full disk


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs resource limits")
def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path: Path) -> None:
    """A file size limit stands for the full disk: writing beyond it fails with an OS error."""
    code = textwrap.dedent(
        """
        import resource, signal, sys
        from rubriclab.store import RunWriter, Store, StoreError
        from rubriclab.study.plan import plan
        from tests.labkit import answered, study
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        about = plan(study(100))
        words = "x" * 3000
        with Store(sys.argv[1]) as store:
            run = store.open_run(about, {}).run
            writer = RunWriter(store, run)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, resource.RLIM_INFINITY))
            told, put = "", 0
            try:
                for judgment in answered(about, lambda call: "3 " + words):
                    writer.put(judgment)
                    put += 1
                writer.flush()
            except StoreError as fault:
                told = str(fault)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            print(put)
            print(told)
            try:
                writer.close()
                print("kept")
            except StoreError as fault:
                print(fault)
        """
    )
    path = tmp_path / "full.duckdb"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    put, told, end = done.stdout.splitlines()
    assert "disk is full" in told
    assert "Free some space" in told
    with Store(path) as store:
        (info,) = store.runs()
        frame = store.archive_frame(info.run)
        # Every call is whole, and once there is room again none that was put is missing.
        assert frame["key"].is_unique
        assert len(frame) == info.done >= int(put), end
        assert len(store.frame(info.run).judgments) == len(frame)


def test_a_batch_that_cannot_be_committed_waits_for_the_next_writer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = study(1)
    prepared = plan(about)
    run = store.open_run(prepared, {}).run
    writer = RunWriter(store, run)

    def no_room(*_: object) -> None:
        raise StoreError("no room")

    with monkeypatch.context() as broken:
        broken.setattr(Store, "_commit", no_room)
        for judgment in answered(prepared)[:12]:
            writer.put(judgment)
        with pytest.raises(StoreError, match="no room"):
            writer.close()
    assert store.run(run).done == 0
    with RunWriter(store, run) as following:
        for judgment in answered(prepared)[12:]:
            following.put(judgment)
    assert store.run(run).done == 20
    rows = store.frame(run).judgments
    assert rows["call"].tolist() == list(range(20))
    data = store.frame(run)
    shown = [data.orderings[code] for code in rows["ordering"]]
    assert shown == [call.ordering for call in prepared.calls()]


def test_imported_runs_come_back(store: Store) -> None:
    run = keep(store, study(2))
    data = store.frame(run)
    imported = store.import_run(replace(data, name="from elsewhere"), provenance={"file": "x"})
    again = store.import_run(replace(data, name="from elsewhere"), provenance={"file": "x"})
    assert imported == again != run
    back = store.frame(imported)
    assert back.arms == data.arms
    assert back.judgments["score"].tolist() == data.judgments["score"].tolist()
    assert back.items["human"].tolist() == [item.human[0] for item in items(2)]
    with pytest.raises(StoreError, match="imported from a file"):
        store.study(imported)


def test_the_list_of_runs_is_kept_in_memory_until_anybody_commits(tmp_path: Path) -> None:
    """Two stores of one process may have one file open: what one writes the other says."""
    asked: list[str] = []
    with Store(tmp_path / "lab.duckdb") as one, Store(tmp_path / "lab.duckdb") as other:
        run = keep(one, study())
        before = other.revision(run)
        question = other._rows
        other._rows = lambda sql, values=(): asked.append(sql) or question(sql, values)  # type: ignore[method-assign,func-returns-value]
        assert other.revision(run) == before
        assert [info.run for info in other.runs()] == [run] == [info.run for info in other.runs()]
        assert len(asked) == 1  # the list of all; the run by its name was known
        one.rename_run(run, "called otherwise")
        assert other.run(run).name == "called otherwise"
        assert other.revision(run) != before
        one.discard_run(run)
        assert other.runs() == ()
        with pytest.raises(StoreError, match="no run"):
            other.run("nobody")
