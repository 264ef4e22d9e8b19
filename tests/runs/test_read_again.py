"""Check that reading replies again says what changes first, and loses nothing."""

from pathlib import Path

import pytest

from rubriclab.model.judgment import BROKEN, Judgment, Outcome, Reply, Status
from rubriclab.model.text import LabError
from rubriclab.runs.read_again import read_again
from rubriclab.runs.runner import keep_run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from rubriclab.study.reading import READER
from tests.study.kit import API, small_plan

REPLIES = ["Score: 3", "The maximum score is 3.", "Score: 2", "3 points of 10", "1"]


def stored(store: Store, plan: Plan) -> str:
    """Keep a run as an earlier reader left it: every reply says 3, but the third, in which it read
    nothing.
    """
    run = keep_run(store, plan)
    with store.writer(run) as writer:
        for number, call in enumerate(plan.calls()):
            text = REPLIES[number % len(REPLIES)]
            at = call.ordering.shown.index(3) + 1
            outcome = Outcome(call.items[0], 0, Status.OK, 3.0, at)
            if text == "Score: 2":
                outcome = Outcome(call.items[0], 0, Status.UNPARSED)
            writer.add(Judgment(call, Reply(text), (outcome,)))
    store.set_state(run, "finished")
    return run


@pytest.mark.thorough
def test_another_reading_is_counted_first_and_written_only_then(tmp_path: Path) -> None:
    plan = small_plan(count=2)
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = stored(store, plan)
        asked = len(plan)
        each = [sum(k % len(REPLIES) == n for k in range(asked)) for n in range(len(REPLIES))]
        before = store.table(run).rows
        assert store.readers(run) == {None}
        said = read_again(store, run, plan, write=False)
        assert (said.judgments, said.gained, said.lost, said.changed) == (
            asked,
            each[2],
            each[1] + each[3],
            each[4],
        )
        assert "Nothing was written." in said.sentence()
        assert store.table(run).rows.equals(before)  # nothing yet

        read_again(store, run, plan, write=True)
        assert store.readers(run) == {READER}
        after = store.table(run).rows
        assert len(after) == asked
        assert (after["status"] == Status.UNPARSED).sum() == each[1] + each[3]
        assert read_again(store, run, plan, write=False).differing == 0
        # The earlier rows stay, no longer final.
        changed = each[1] + each[2] + each[3] + each[4]
        rows = store._db.rows("SELECT count(*), count(*) FILTER (NOT final) FROM calls")
        assert rows == [(asked + changed, changed)]
        assert store.not_read(run).startswith(f"{each[1] + each[3]} of {asked} not read: ")


@pytest.mark.thorough
def test_the_free_mass_of_a_constrained_call_is_kept(tmp_path: Path) -> None:
    """It came from a free token that no stored reply holds, so that no reading can give it again.

    Of twenty calls every fourth loses its score (“Score: 3” breaks the constraint), gets one, gets
    another one, or keeps its own.
    """
    judge = API.model_copy(update={"kind": "vllm", "constrain": "choice"})
    plan = small_plan(count=1, judges=(judge,))
    texts = ["Score: 3", "3", "2", "3"]
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = keep_run(store, plan)
        with store.writer(run) as writer:
            for number, call in enumerate(plan.calls()):
                at = call.ordering.shown.index(3) + 1
                known = Outcome(call.items[0], 0, Status.OK, 3.0, at, mass=0.02)
                if number % 4 == 1:
                    known = Outcome(call.items[0], 0, Status.UNPARSED, mass=0.02)
                writer.add(Judgment(call, Reply(texts[number % 4]), (known,)))
        store.set_state(run, "finished")
        made = read_again(store, run, plan, write=True)
        assert (made.lost, made.gained, made.changed) == (5, 5, 5)
        table = store.table(run)
        assert table.notes == {(0, BROKEN): 5}, "replies that the new reader finds broken"
        rows = table.rows
        assert rows["mass"].to_numpy() == pytest.approx([0.02] * 20)
        assert (rows["status"] == Status.OK).sum() == 15


@pytest.mark.thorough
def test_a_run_that_is_being_asked_is_not_read_again(tmp_path: Path) -> None:
    plan = small_plan(count=1)
    with Store.open(tmp_path / "lab.duckdb") as store:
        run = stored(store, plan)
        store.set_state(run, "running")
        with pytest.raises(LabError, match="Pause it before"):
            read_again(store, run, plan, write=True)
