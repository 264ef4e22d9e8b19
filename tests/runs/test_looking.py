"""Check that a run asks batch after batch, stops at the look that has the answer, and never lies.

Judges are simulated: ``first`` is the log-odds that they add to the option listed first.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from rubriclab import api
from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import Look, looks_at
from rubriclab.judges.simulated import SimulatedJudge
from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, JudgmentTable, Reply
from rubriclab.model.study import Smallest, Study
from rubriclab.model.text import LabError
from rubriclab.runs import asking, runner
from rubriclab.runs.batch import read_batch, write_batch
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import Run, RunSnapshot, keep_run
from rubriclab.store.bundle import bundle_bytes, import_bundle, read_bundle
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan, plan
from rubriclab.words.looks import progress_sentence, stop_words
from tests.runs.kit import WAIT, Script, Scripted, ScriptedJudge, ended, failed, use
from tests.runs.test_batch import answer, answers_file, requests_of
from tests.servers import FakeServer, running
from tests.store.damage import packed, unpacked
from tests.study.kit import API, EMBEDDED, criterion, data, small_plan

OTHER = API.model_copy(update={"name": "other"})
A_BATCH = 100
"""Calls of the first batch of ``looked_plan``: 10 answers in 10 orders."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)


def looked_plan(count: int = 40, **design: Any) -> Plan:
    """Looks after 10, 20 and 40 answers; 100, 100 and 200 calls of a judge."""
    return small_plan(count, **({"stop": "known", "repeats": 1} | design))


def leaning(first: float, seed: int = 0) -> Script:
    """Return the script of a judge that favours the first option by ``first`` log-odds."""
    options = {"first": first, "seed": seed}
    judge = SimulatedJudge(JudgeSettings(name="sim", kind="simulated", options=options))
    return lambda call, _: judge.answer(call)


BIASED, EVEN = leaning(0.7), leaning(0.0)
"""The first stops at the second look at ``looked_plan``, the second at none."""


def looks_of(store: Store, run: str, judge: str = "api") -> list[Look]:
    judgments = Judgments(store.table(run))
    (looked,) = [known for known in judgments.looked if known.looks.judge == judge]
    return looks_at(judgments, looked, Smallest())


def asked_by_batch(made: Plan, judge: ScriptedJudge, name: str = "api") -> list[int]:
    """How many calls of each batch a judge was asked."""
    assert made.looks is not None
    (scope,) = made.scopes
    batch = made.looks.scopes[scope].batch
    counts = [0] * len(made.looks.scopes[scope].units)
    for call in judge.calls:
        if made.conditions[call.condition].judge == name:
            counts[batch[call.items[0]]] += 1
    return counts


@pytest.mark.thorough
def test_a_biased_judge_stops_and_an_unbiased_one_asks_all(
    store: Store, scripted: Scripted
) -> None:
    judge = scripted(BIASED)
    end = ended(Run(store, looked_plan()))
    assert (end.state, end.done, asked_by_batch(looked_plan(), judge)) == (
        "finished",
        200,
        [100, 100, 0],
    )
    assert [(look.units, look.stops) for look in looks_of(store, end.run)] == [
        (10, False),
        (20, True),
    ]
    (progress,) = end.looks
    assert (progress.units, progress.next_units, progress.all_units) == (20, None, 40)
    assert (progress.calls, progress.needless) == (200, 200)
    store.delete(end.run)
    judge = scripted(EVEN)
    end = ended(Run(store, looked_plan()))
    assert (end.state, end.done, set(judge.asked.values())) == ("finished", 400, {1})
    assert [look.stops for look in looks_of(store, end.run)] == [False, False, False]
    assert end.looks[0].needless == 0


def test_no_call_goes_out_before_the_batch_before_it_is_final(
    store: Store, scripted: Scripted
) -> None:
    """The slowest reply of a batch, asked again four times, comes before the next batch's first."""
    made = looked_plan()
    assert made.looks is not None
    batch = made.looks.scopes["d", "options"].batch
    slow = next(made.calls()).key

    def script(call: Call, nth: int) -> Reply:
        if call.key == slow and nth < 4:
            return failed("reset")
        return EVEN(call, nth)

    judge = scripted(script)
    assert ended(Run(store, made)).done == 400
    numbers = [batch[call.items[0]] for call in judge.calls]
    assert numbers == sorted(numbers)
    assert judge.asked[slow] == 5


def test_the_noise_of_a_deterministic_judge_is_known_where_it_stops(
    store: Store, scripted: Scripted
) -> None:
    """Its repeats are those of the answers that are asked first, wherever these are in the file."""
    judge = scripted(lambda call, _: Reply(text=call.ordering.labels[0]))
    made = looked_plan(40, judges=(EMBEDDED,), repeats=2)
    end = ended(Run(store, made))
    assert (end.state, end.done, judge.asked.total()) == ("finished", 200, 200)
    (look,) = looks_of(store, end.run, "small")
    assert (look.units, look.stops) == (10, True)
    single = look.verdicts.single
    assert single is not None
    assert (single.noise, single.own_noise) == ("all", 0.0)
    assert max(call.items[0] for call in judge.calls) > 20


def test_progress_is_counted_until_the_next_look(store: Store, scripted: Scripted) -> None:
    """50 of 100 calls, then 150 of 200, and all 400 at the end, where no other look is left."""
    seen: dict[int, tuple[int, bool] | None] = {}

    def script(call: Call, nth: int) -> Reply:
        look = run.snapshot().next_look
        seen[len(judge.calls)] = None if look is None else (look.calls, look.first)
        return EVEN(call, nth)

    judge = scripted(script)
    run = Run(store, looked_plan(judges=(API.model_copy(update={"concurrency": 1}),)))
    assert ended(run).done == 400
    assert (seen[50], seen[150], seen[350]) == ((100, True), (200, False), None)
    assert run.snapshot().next_look is None


def test_an_answer_that_is_known_takes_its_calls_off(store: Store, scripted: Scripted) -> None:
    scripted(BIASED)
    end = ended(Run(store, looked_plan()))
    assert (end.planned, end.needed, end.done, end.next_look) == (400, 200, 200, None)


def test_a_run_that_asks_all_has_no_next_look(store: Store, scripted: Scripted) -> None:
    seen = []

    def script(call: Call, nth: int) -> Reply:
        seen.append(run.snapshot().next_look)
        return EVEN(call, nth)

    scripted(script)
    run = Run(store, looked_plan(20), ask_all=True)
    ended(run)
    assert set(seen) == {None}


@pytest.mark.thorough
def test_judges_stop_apart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    biased, even = ScriptedJudge(BIASED), ScriptedJudge(EVEN)
    use(monkeypatch, None, api=biased, other=even)
    made = looked_plan(judges=(API, OTHER))
    end = ended(Run(store, made))
    assert (end.state, end.done) == ("finished", 600)
    assert (biased.asked.total(), even.asked.total()) == (200, 400)
    assert {p.judge: (p.units, p.needless) for p in end.looks} == {
        "api": (20, 200),
        "other": (40, 0),
    }
    again = ended(Run(store, made))
    assert (again.state, again.asked, again.done) == ("finished", 0, 600)


def test_data_sets_stop_apart(store: Store, scripted: Scripted) -> None:
    """The judge favours the first option in one data set only; the other has one look."""
    study = Study.model_validate(
        {
            "name": "two",
            "data": [{"file": "a.csv"}, {"file": "b.csv"}],
            "design": {"stop": "known", "repeats": 1},
            "judges": [API.model_dump()],
        }
    )
    rubric = Rubric("r", (criterion(),))
    few = DataSet("e", tuple(Item(f"e{k}", f"text {k}", f"task {k}") for k in range(12)))
    made = plan(study, data(40), rubric, [(few, rubric)])
    judge = scripted(
        lambda call, nth: (BIASED if call.items[0] < 40 else EVEN)(call, nth), latency=0.0
    )
    end = ended(Run(store, made))
    assert (end.state, judge.asked.total()) == ("finished", 200 + 120)
    assert [(p.scope[0], p.units, p.needless) for p in end.looks] == [
        ("d", 20, 200),
        ("e", 12, 0),
    ]


def test_the_rest_is_asked_where_that_is_wanted(store: Store, scripted: Scripted) -> None:
    judge = scripted(BIASED)
    first = ended(Run(store, looked_plan()))
    before = looks_of(store, first.run)
    end = ended(Run(store, looked_plan(), ask_all=True))
    assert (end.state, end.asked, end.done) == ("finished", 200, 400)
    assert set(judge.asked.values()) == {1}
    after = looks_of(store, first.run)
    assert [look.units for look in after] == [10, 20, 40]
    assert_same_looks(before, after[:2])
    words = {name: verdict.word for name, verdict in before[-1].verdicts.questions.items()}
    assert all(
        after[-1].verdicts.questions[name].word == word
        for name, word in words.items()
        if word == "none"
    )


def test_the_rest_goes_on_after_a_pause_without_being_asked_for_again(
    store: Store, scripted: Scripted
) -> None:
    """The looks have the answer after 20 answers, and 19 calls of the rest were made."""
    judge = scripted(BIASED)
    run = ended(Run(store, looked_plan())).run
    paused = ended(Run(store, looked_plan(), ask_all=True, max_calls=19))
    assert (paused.state, paused.done) == ("paused", 219)
    assert [progress.whole for progress in paused.looks] == [True]
    (look,) = api.Run(store.table(run)).findings.last_looks
    assert (look.units, look.early, look.needless) == (20, True, 181)
    said = "181 calls were not asked. 19 calls made since then count in no number yet."
    assert said in stop_words(look)
    end = ended(Run(store, looked_plan()))
    assert (end.run, end.state, end.done, end.asked) == (run, "finished", 400, 181)
    assert set(judge.asked.values()) == {1}


def test_while_the_rest_is_asked_no_look_is_said_to_be_open() -> None:
    said = progress_sentence(
        units=20, next_units=40, all_units=40, calls=400, needless=0, noun="answer", whole=True
    )
    assert said == "Every planned call is asked, also where the answer is clear before."


def assert_same_looks(one: list[Look], other: list[Look]) -> None:
    """Compare what is said, to the last bit."""
    for left, right in zip(one, other, strict=True):
        assert (left.units, left.alpha, left.stops) == (right.units, right.alpha, right.stops)
        assert left.verdicts.gate.p == right.verdicts.gate.p
        assert {name: said.word for name, said in left.verdicts.questions.items()} == {
            name: said.word for name, said in right.verdicts.questions.items()
        }


@pytest.mark.thorough
@pytest.mark.parametrize(
    "limits", [{"max_calls": 130}, {"max_money": 130.0}], ids=["calls", "money"]
)
def test_a_limit_in_the_middle_of_a_batch_leaves_the_last_verdict(
    store: Store, scripted: Scripted, limits: dict[str, float]
) -> None:
    dear = API.model_copy(update={"price_output": 1e6, "concurrency": 1})
    judge = scripted(BIASED, latency=0.0)
    end = ended(Run(store, looked_plan(judges=(dear,)), **limits))
    assert (end.state, end.done) == ("paused", 130)
    assert "the limit of" in end.reason
    assert_counts_no_unfinished_batch(store, end.run)
    end = ended(Run(store, looked_plan(judges=(dear,))))
    assert (end.state, end.done, set(judge.asked.values())) == ("finished", 200, {1})


def assert_counts_no_unfinished_batch(store: Store, run: str) -> None:
    """All numbers of the run are those of its first batch alone."""
    table = store.table(run)
    assert len(table.rows) > A_BATCH
    judgments = Judgments(table)
    (looked,) = judgments.looked
    assert (looked.complete, len(judgments.counted.rows)) == (1, A_BATCH)
    assert [look.units for look in looks_of(store, run)] == [10]
    assert judgments.has_verdict(0)


def numbers_of(table: JudgmentTable) -> list[tuple[Any, ...]]:
    """Every number that the run has, as text: NaN is equal to NaN here."""
    found = api.Run(table).findings.rows
    return [(row.measure, str(row.of), str(row.value), str(row.interval)) for row in found]


def test_rows_of_an_unfinished_batch_count_in_no_number(store: Store, scripted: Scripted) -> None:
    scripted(BIASED)
    table = store.table(ended(Run(store, looked_plan(), max_calls=150)).run)
    first = Judgments(table).counted
    assert (len(table.rows), len(first.rows)) == (150, A_BATCH)
    numbers = numbers_of(table)
    assert len(numbers) > 30
    assert numbers == numbers_of(first)


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["pause", "cancel"])
def test_stopped_by_hand_in_the_middle_of_a_batch(
    store: Store, scripted: Scripted, how: str
) -> None:
    judge = scripted(BIASED, latency=0.002)
    run = Run(store, looked_plan()).start()
    until = time.monotonic() + WAIT
    while run.snapshot().done < A_BATCH + 20 and time.monotonic() < until:
        time.sleep(0.002)
    getattr(run, how)()
    end = run.wait(WAIT)
    assert end.state == {"pause": "paused", "cancel": "cancelled"}[how]
    assert_counts_no_unfinished_batch(store, end.run)
    end = ended(Run(store, looked_plan()))
    assert (end.state, end.done) == ("finished", 200)
    if how == "pause":  # a cancel drops what is in flight
        assert set(judge.asked.values()) == {1}


def test_before_the_first_look_there_is_no_verdict(store: Store, scripted: Scripted) -> None:
    scripted(BIASED)
    end = ended(Run(store, looked_plan(), max_calls=60))
    judgments = Judgments(store.table(end.run))
    assert (len(judgments.counted.rows), judgments.finished) == (0, False)
    assert looks_of(store, end.run) == []


def test_a_pause_after_the_last_call_is_a_finished_run(store: Store, scripted: Scripted) -> None:
    """Where everything is asked there is nothing to resume."""
    run = Run(store, looked_plan())

    def script(call: Call, nth: int) -> Reply:
        if judge.asked.total() == 400:
            run.pause()
        return EVEN(call, nth)

    judge = scripted(script)
    assert (ended(run).state, judge.asked.total()) == ("finished", 400)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("calls", "first", "state"),
    [
        (200, 0.7, "finished"),  # the look after 20 answers has the answer
        (100, 0.7, "paused"),  # the look after 10 does not have it yet
        (199, 0.7, "paused"),  # one call is missing, so no look is made
        (200, 0.0, "paused"),
        (201, 0.0, "paused"),
    ],
)
def test_a_run_that_is_stopped_after_a_whole_batch_says_what_its_look_says(
    store: Store, scripted: Scripted, calls: int, first: float, state: str
) -> None:
    judge = scripted(leaning(first))
    end = ended(Run(store, looked_plan(), max_calls=calls))
    assert (end.state, end.done, store.run(end.run).state) == (state, calls, state)
    looks = looks_of(store, end.run)
    assert [look.units for look in looks] == [10, 20][: calls // 100]
    assert looks[-1].stops == (state == "finished")
    (progress,) = end.looks
    # In the middle of a batch the progress is that of the batch before.
    assert progress.units == looks[-1].units
    assert progress.next_units == {"finished": None, "paused": 2 * progress.units}[state]
    assert progress.needless == (200 if state == "finished" else 0)
    assert set(judge.asked.values()) == {1}


def test_paused_by_hand_at_the_last_call_of_a_batch_that_is_clear(
    store: Store, scripted: Scripted
) -> None:
    run = Run(store, looked_plan())

    def script(call: Call, nth: int) -> Reply:
        if judge.asked.total() == 200:
            run.pause()
        return BIASED(call, nth)

    judge = scripted(script)
    assert (ended(run).state, judge.asked.total()) == ("finished", 200)


def test_a_judge_that_is_clear_does_not_end_a_run_of_two(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = API.model_copy(update={"concurrency": 1})
    made = looked_plan(judges=(slow, OTHER))
    biased, even = ScriptedJudge(BIASED), ScriptedJudge(EVEN, latency=0.005)
    use(monkeypatch, biased, other=even)
    run = Run(store, made).start()
    until = time.monotonic() + WAIT
    while biased.asked.total() < 200 and time.monotonic() < until:
        time.sleep(0.002)
    run.pause()
    end = run.wait(WAIT)
    assert (end.state, end.reason) == ("paused", "paused by you")
    assert looks_of(store, end.run, "api")[-1].stops


@pytest.mark.thorough
def test_a_run_that_was_killed_before_a_look_needs_no_judge_to_end(
    store: Store, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All replies of the second batch are kept, and nobody has looked at them yet."""
    scripted(BIASED)
    made = looked_plan()
    run = ended(Run(store, made, max_calls=200)).run
    store.set_state(run, "interrupted")
    (said,) = api.Run(store.table(run)).findings.last_looks
    assert (said.units, said.stops, stop_words(said)[:30]) == (
        20,
        True,
        "Stopped after 20 of 40 answers",
    )

    def none(*_: object, **__: object) -> None:
        raise LabError("no server")

    monkeypatch.setattr(runner, "check_judges", none)
    end = ended(Run(store, made))
    assert (end.state, end.done, end.asked) == ("finished", 200, 0)
    for more in ({"ask_all": True}, {"retry_failed": True}):
        with pytest.raises(LabError, match="no server"):
            Run(store, made, **more)
    store.delete(run)
    monkeypatch.undo()
    scripted(BIASED)
    run = ended(Run(store, made, max_calls=199)).run
    monkeypatch.setattr(runner, "check_judges", none)
    with pytest.raises(LabError, match="no server"):
        Run(store, made)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("calls", "first", "ask_all", "state"),
    [
        (200, 0.7, False, "finished"),  # the look after 20 answers has the answer
        (199, 0.7, False, "interrupted"),
        (210, 0.7, True, "interrupted"),  # the rest was being asked
        (200, 0.0, False, "interrupted"),
        (60, 0.7, False, "interrupted"),  # before the first look
        (400, 0.0, False, "finished"),
    ],
)
def test_a_store_that_is_opened_takes_the_look_that_a_kill_prevented(
    tmp_path: Path, scripted: Scripted, calls: int, first: float, ask_all: bool, state: str
) -> None:
    path = tmp_path / "lab.duckdb"
    scripted(leaning(first))
    with Store.open(path) as store:
        run = ended(Run(store, looked_plan(), max_calls=calls, ask_all=ask_all)).run
        store.set_state(run, "running")
    with Store.open(path) as store:
        info = store.run(run)
        assert (info.state, info.done) == (state, calls)
        assert ("the lab was ended" in info.reason) == (state == "interrupted")


def failing(keys: set[str], script: Script) -> Script:
    """These calls fail the first time they are asked, for good."""
    return lambda call, nth: (
        failed("too_large", retryable=False) if call.key in keys and nth == 0 else script(call, nth)
    )


@pytest.mark.thorough
@pytest.mark.parametrize("batch", [0, 1])
def test_failed_calls_of_any_batch_are_asked_again_before_a_look(
    store: Store, scripted: Scripted, batch: int
) -> None:
    made = looked_plan()
    lost = {call.key for call in list(made.calls("api", ("d", "options"), batch))[:3]}
    judge = scripted(failing(lost, BIASED))
    end = ended(Run(store, made))
    assert (end.state, end.done, end.failed) == ("finished", 200, 3)
    end = ended(Run(store, made, retry_failed=True))
    assert (end.state, end.asked, end.done, end.failed) == ("finished", 3, 200, 0)
    assert {key for key, times in judge.asked.items() if times == 2} == lost
    assert asked_by_batch(made, judge)[2] == 0
    assert end.looks[0].needless == 200


@pytest.mark.thorough
def test_a_run_goes_on_where_its_look_no_longer_stops(store: Store, scripted: Scripted) -> None:
    """Some answers that speak against a lean fail at first. With them the look is not sure."""
    weak = leaning(0.5)

    def script(call: Call, nth: int) -> Reply:
        reply = weak(call, nth)
        speaks_against = reply.text != call.ordering.labels[0]
        if nth == 0 and speaks_against and int(call.key[:2], 16) < 60:
            return failed("too_large", retryable=False)
        return reply

    judge = scripted(script)
    made = looked_plan()
    end = ended(Run(store, made))
    assert (end.state, end.done, end.failed) == ("finished", 200, 30)
    assert looks_of(store, end.run)[-1].stops
    again = ended(Run(store, made, retry_failed=True))
    # 30 again, and the 200 of the last batch.
    assert (again.state, again.asked, again.done) == ("finished", 230, 400)
    assert not looks_of(store, end.run)[1].stops
    assert asked_by_batch(made, judge) == [100 + 15, 100 + 15, 200]


@pytest.mark.thorough
def test_replies_of_another_run_enter_batch_by_batch(store: Store, scripted: Scripted) -> None:
    """The other run has all replies. What a look makes needless is not taken over."""
    scripted(BIASED)
    first = ended(Run(store, looked_plan(stop=None)))
    assert first.done == 400
    judge = scripted(BIASED)
    end = ended(Run(store, looked_plan(), known=(store, first.run)))
    assert (end.state, end.asked, end.done, judge.asked.total()) == ("finished", 0, 200, 0)
    assert [look.units for look in looks_of(store, end.run)] == [10, 20]
    rest = ended(Run(store, looked_plan(), known=(store, first.run), ask_all=True))
    assert (rest.state, rest.asked, rest.done) == ("finished", 0, 400)


@pytest.mark.thorough
def test_replies_taken_over_and_asked_make_one_batch(store: Store, scripted: Scripted) -> None:
    scripted(BIASED)
    first = ended(Run(store, small_plan(25, repeats=1)))
    judge = scripted(BIASED)
    end = ended(Run(store, looked_plan(), known=(store, first.run)))
    assert (end.state, end.done, end.asked) == ("finished", 200, judge.asked.total())
    taken = (store.calls(end.run)["note"] != "").sum()
    assert taken + end.asked == 200
    assert taken > 50
    # Killed while it took over: whoever goes on with it takes over too, batch by batch.
    run = keep_run(store, looked_plan(name="killed"), first.run)
    resumed = RunManager(store).resume(run).wait(WAIT)
    assert (resumed.state, resumed.done) == ("finished", 200)


def test_the_reading_check_comes_before_the_first_batch(store: Store, scripted: Scripted) -> None:
    judge = scripted(BIASED)
    made = looked_plan()
    end = ended(Run(store, made, check="stop"))
    assert (end.state, end.done, end.checks[0].asked) == ("finished", 200, 8)
    assert asked_by_batch(made, judge) == [100, 100, 0]
    assert set(judge.asked.values()) == {1}
    store.delete(end.run)
    scripted(lambda *_: Reply(text="no score"))
    end = ended(Run(store, made, check="stop"))
    assert (end.state, end.done) == ("paused", 8)


def test_trial_calls_of_a_small_study_that_are_all_of_it(store: Store, scripted: Scripted) -> None:
    scripted(BIASED)
    made = looked_plan(12, strategies=["fixed"])
    end = ended(Run(store, made, tries=50))
    assert (end.state, end.done) == ("finished", 12)


@pytest.mark.thorough
def test_batch_files_go_look_by_look(store: Store, tmp_path: Path) -> None:
    made = looked_plan()
    sizes = []
    for number in range(2):
        requests = requests_of(store, made, tmp_path / f"out{number}")
        sizes.append(len(requests))
        by_key = {call.key: call for call in made.calls()}
        lines = [answer(line, BIASED(by_key[line["custom_id"]], 0).text) for line in requests]
        # In two pieces, the second half first: half a batch makes no look.
        half = len(lines) // 2
        run, about = read_batch(
            store, made, [answers_file(tmp_path / f"a{number}.jsonl", lines[half:])]
        )
        assert (about.left, store.run(run).state) == (half, "paused")
        assert len(requests_of(store, made, tmp_path / f"rest{number}")) == half
        run, about = read_batch(
            store, made, [answers_file(tmp_path / f"b{number}.jsonl", lines[:half])]
        )
    assert sizes == [100, 100]
    assert (about.left, store.run(run).state) == (0, "finished")
    with pytest.raises(LabError, match="nothing to write: all is answered"):
        write_batch(store, made, tmp_path / "none")
    files, calls, _ = write_batch(store, made, tmp_path / "all", ask_all=True)
    assert (len(files), calls) == (1, 200)


@pytest.mark.thorough
def test_failed_calls_go_into_a_batch_file_before_a_look(store: Store, tmp_path: Path) -> None:
    made = looked_plan()
    by_key = {call.key: call for call in made.calls()}
    lost: set[str] = set()
    for number in range(2):
        requests = requests_of(store, made, tmp_path / f"out{number}")
        lines = [answer(line, BIASED(by_key[line["custom_id"]], 0).text) for line in requests[2:]]
        lines += [answer(line, status=400) for line in requests[:2]]
        lost |= {line["custom_id"] for line in requests[:2]}
        run, about = read_batch(store, made, [answers_file(tmp_path / f"a{number}.jsonl", lines)])
    assert (about.left, store.run(run).failed, store.run(run).state) == (0, 4, "finished")
    files, calls, _ = write_batch(store, made, tmp_path / "again", retry_failed=True)
    assert calls == 4
    again = [json.loads(line) for line in files[0].read_text("utf-8").splitlines()]
    assert {line["custom_id"] for line in again} == lost
    lines = [answer(line, BIASED(by_key[line["custom_id"]], 0).text) for line in again]
    run, about = read_batch(
        store, made, [answers_file(tmp_path / "c.jsonl", lines)], retry_failed=True
    )
    assert (about.kept, store.run(run).failed, store.run(run).state) == (4, 0, "finished")


@pytest.mark.thorough
def test_a_server_that_counts_is_asked_half_or_all(store: Store) -> None:
    """The long version, with plans of 2,000 calls, is in tests/integration/test_looks.py."""
    for lean, calls in ((1.0, 100), (0.0, 200)):
        with running(FakeServer(lean=lean)) as server:
            judge = API.model_copy(update={"base_urls": (server.base_url,), "model": "test-model"})
            end = ended(Run(store, looked_plan(20, judges=(judge,), name=f"lean {lean}")))
            assert (end.state, end.reason, end.done) == ("finished", "", calls)
            assert Counter(Counter(server.keys).values()) == {1: calls}


# ------------------------------------------------------------------------------- files and zips


@pytest.fixture
def stopped(store: Store, scripted: Scripted) -> RunSnapshot:
    scripted(BIASED)
    return ended(Run(store, looked_plan()))


@pytest.mark.thorough
def test_a_zip_keeps_the_looks(store: Store, stopped: RunSnapshot, tmp_path: Path) -> None:
    table = store.table(stopped.run)
    path = tmp_path / "run.zip"
    path.write_bytes(bundle_bytes(table, store, stopped.run))
    read = read_bundle(path)
    assert (read.looks, read.state) == (table.looks, "finished")
    before = looks_of(store, stopped.run)
    with Store.open(":memory:") as other:
        run = import_bundle(other, path)
        assert_same_looks(looks_of(other, run), before)


@pytest.mark.thorough
def test_an_import_goes_on_as_its_study_would(
    store: Store, scripted: Scripted, tmp_path: Path
) -> None:
    """Its plan calls the data set by the name of the run; the looks are the same ones."""
    scripted(BIASED)
    end = ended(Run(store, looked_plan(), max_calls=150))
    path = tmp_path / "run.zip"
    path.write_bytes(bundle_bytes(store.table(end.run), store, end.run))
    with Store.open(":memory:") as other:
        run = import_bundle(other, path)
        resumed = RunManager(other).resume(run).wait(WAIT)
        assert (resumed.state, resumed.reason, resumed.done) == ("finished", "", 200)
        rest = RunManager(other).resume(run, ask_all=True).wait(WAIT)
        assert (rest.state, rest.done) == ("finished", 400)


def doctored(path: Path, change: Callable[[dict[str, Any]], None], to: Path) -> Path:
    parts = unpacked(path.read_bytes())
    head = json.loads(parts["study.json"])
    change(head)
    return packed(parts | {"study.json": json.dumps(head).encode()}, to)


def scope(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return lambda head: head["looks"]["scopes"][0].update(changes)


def planned(*calls: int) -> Callable[[dict[str, Any]], None]:
    return lambda head: head["looks"].update(planned=[list(calls)])


def another_batch(head: dict[str, Any]) -> None:
    """Call an answer of the first batch one of the last, and the other way round."""
    batches = head["looks"]["scopes"][0]["batches"]
    first, last = batches.index(0), batches.index(2)
    batches[first], batches[last] = 2, 0


def fewer_planned(head: dict[str, Any]) -> None:
    """Say that a batch has fewer calls than are there, in all places."""
    head["planned"] = [350]
    head["looks"]["planned"] = [[50, 100, 200]]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (scope(batches=[7] * 40), "do not fit the run's 40 items"),
        (scope(batches=[-1] * 40), r"cannot be read \(scopes.0.batches.0"),
        (scope(batches=[0] * 39), "do not fit the run's 40 items"),
        (scope(batches=[0] * 40), "do not fit the calls of “api”"),
        (scope(items=list(range(1, 41))), "do not fit the run's 40 items"),
        (scope(items=[0] * 40), "do not fit the run's 40 items"),
        (scope(items=["x"] * 40), r"cannot be read \(scopes.0.items.0"),
        (scope(units=[10, 40]), "do not fit the run's 40 items"),
        (scope(units=[10, 20, 40, 80]), "do not fit the 400 planned calls of “api”"),
        (scope(units=[50, 100, 200]), "do not fit the run's 40 items"),
        (scope(units=[]), "do not fit the run's 40 items"),
        (scope(units=[19]), "do not fit the run's 40 items"),
        (scope(dataset="e"), "do not fit the 400 planned calls of “api”"),
        (scope(reorder="pairs"), "do not fit the 400 planned calls of “api”"),
        (planned(50, 100, 250), "do not fit the calls of “api”"),
        (planned(0, 200, 200), "have fewer calls of “api” in a batch than new units"),
        (planned(100, 100, 100), "do not fit the 400 planned calls of “api”"),
        (planned(100, 300), "do not fit the 400 planned calls of “api”"),
        (planned(100, 100, 200, 0), "do not fit the 400 planned calls of “api”"),
        (planned(-1, 201, 200), r"cannot be read \(planned.0.0"),
        (fewer_planned, "do not fit the calls of “api”"),
        (another_batch, ""),
        (lambda head: head["looks"].update(planned=[]), "are about 0 conditions; the run has 1"),
        (lambda head: head["looks"].update(planned=[[1], [2]]), "are about 2 conditions"),
        (lambda head: head["looks"].update(stop="soon"), r"cannot be read \(stop"),
        (lambda head: head["looks"].update(more=1), r"cannot be read \(more"),
        (lambda head: head.update(looks={}), r"cannot be read \(stop"),
        (lambda head: head.update(looks=[1]), r"cannot be read"),
        (lambda head: head.update(planned=[]), "do not fit the 0 planned calls of “api”"),
        (
            lambda head: head["looks"]["scopes"].append(head["looks"]["scopes"][0]),
            "do not fit the run's 40 items",
        ),
    ],
)
def test_doctored_looks_are_refused_or_cannot_lie(
    store: Store,
    stopped: RunSnapshot,
    tmp_path: Path,
    change: Callable[[dict[str, Any]], None],
    words: str,
) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(bundle_bytes(store.table(stopped.run), store, stopped.run))
    bad = doctored(path, change, tmp_path / "bad.zip")
    if words:
        with pytest.raises(LabError, match=words) as refused:
            read_bundle(bad)
        assert "Export the run again" in str(refused.value)
        return
    # An answer in another batch: the first batch is not complete, so nothing is said at all.
    table = read_bundle(bad)
    judgments = Judgments(table)
    assert [known.complete for known in judgments.looked] == [0]
    assert (table.state, judgments.finished) == ("interrupted", False)
    run = import_bundle(store, bad)
    assert run != stopped.run, "a zip with other looks is another run"
    with pytest.raises(LabError, match="its looks differ from those of its study"):
        RunManager(store).resume(run)


def test_a_zip_without_its_looks_is_no_finished_run(
    store: Store, stopped: RunSnapshot, tmp_path: Path
) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(bundle_bytes(store.table(stopped.run), store, stopped.run))
    bare = doctored(path, lambda head: head.pop("looks"), tmp_path / "bare.zip")
    table = read_bundle(bare)
    assert (table.looks, table.state) == (None, "interrupted")
    assert not Judgments(table).finished


@pytest.mark.thorough
def test_a_store_from_before_the_looks_opens(tmp_path: Path, scripted: Scripted) -> None:
    path = tmp_path / "old.duckdb"
    scripted(EVEN)
    with Store.open(path) as store:
        old = ended(Run(store, small_plan(4, repeats=1))).run
    with duckdb.connect(str(path)) as database:
        database.execute("ALTER TABLE runs DROP COLUMN looks")
    with Store.open(path, read_only=True) as store:
        table = store.table(old)
        assert (table.looks, len(table.rows)) == (None, 40)
    with Store.open(path) as store:
        assert store.table(old).looks is None
        scripted(BIASED)
        assert ended(Run(store, looked_plan())).done == 200


@pytest.mark.thorough
def test_a_store_that_is_only_read_shows_the_looks(tmp_path: Path, scripted: Scripted) -> None:
    path = tmp_path / "lab.duckdb"
    scripted(BIASED)
    with Store.open(path) as store:
        run = ended(Run(store, looked_plan())).run
        before = looks_of(store, run)
    with Store.open(path, read_only=True) as store:
        assert_same_looks(looks_of(store, run), before)
        assert np.isin(store.table(run).rows["item"], range(40)).all()
        assert Counter(store.table(run).rows["condition"]) == {0: 200}
